/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the host is: as /proc and the folders of PATH have it. */
#include "unit.h"

#include "vmm/host.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#define CALL "qemu_plugin_register_vcpu_tb_trans_cb"

static void the_host_is_this_one(void **state)
{
	(void)state;
	struct us_host h;
	struct utsname name;
	us_host_read(&h);
	assert_int_equal(uname(&name), 0);
	assert_string_equal(h.release, name.release);
	assert_string_equal(h.machine, name.machine);
	assert_int_equal(h.n_cpu, sysconf(_SC_NPROCESSORS_ONLN));
	assert_int_equal(h.has_kvm, access("/dev/kvm", F_OK) == 0);
	assert_true(h.has_kvm || !h.may_run);
}

/* 0: it may trace all; 1: its own user's; 2: none; in a child, as another user. */
static int trace_right_of(uid_t uid)
{
	int status;
	pid_t pid = fork();
	if (!pid) {
		struct us_err why = { 0 };
		if (setresuid(uid, uid, uid))
			_exit(9);
		int r = us_host_may_trace(&why);
		_exit(r < 0 ? 2 : why.msg[0] != 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void rights_are_told(void **state)
{
	(void)state;
	int scope = us_host_ptrace_scope();
	if (geteuid() != 0 || !us_host_capable(CAP_SYS_PTRACE)) {
		print_message("SKIP: it takes root to be somebody else\n");
		skip();
	}
	assert_int_equal(trace_right_of(0), scope >= 3 ? 2 : 0);
	assert_int_equal(trace_right_of(12345), scope ? 2 : 1);
}

static void put_file(const char *folder, const char *name, const char *text, int mode)
{
	char path[128];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	assert_int_equal(chmod(path, (mode_t)mode), 0);
}

static void qemus_are_found_once(void **state)
{
	(void)state;
	char folder[] = "/tmp/uniscope-XXXXXX", again[64], path[256], command[64];
	struct us_host_qemu q[4];
	assert_non_null(mkdtemp(folder));
	put_file(folder, "qemu-system-with", "\177ELF " CALL, 0755);
	put_file(folder, "qemu-system-alone", "\177ELF", 0755);
	put_file(folder, "qemu-system-data", CALL, 0644);
	put_file(folder, "qemu-img", CALL, 0755);
	put_file(folder, "qemu-system-empty", "", 0755);
	snprintf(again, sizeof(again), "%s/again", folder);
	assert_int_equal(symlink(folder, again), 0);
	snprintf(path, sizeof(path), ":%s:%s:/not/there:", folder, again);
	assert_int_equal(us_host_qemus(path, q, 4), 2);
	assert_non_null(strstr(q[0].path, "qemu-system-alone"));
	assert_non_null(strstr(q[1].path, "qemu-system-with"));
	assert_false(q[0].has_plugins);
	assert_true(q[1].has_plugins);
	assert_int_equal(us_host_qemus(path, q, 1), 1);
	assert_int_equal(us_host_qemus("", q, 4), 0);
	assert_int_equal(us_host_qemus(NULL, q, 4), 0);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	assert_int_equal(system(command), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_host_is_this_one),
		cmocka_unit_test(rights_are_told),
		cmocka_unit_test(qemus_are_found_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
