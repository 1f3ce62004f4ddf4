/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A VMM is started, watched, let run and ended; and outlives us if we are killed. */
#include "qemu.h"
#include "toolchain.h"

#include "vmm/launch.h"
#include "vmm/launch_args.h"
#include "vmm/qemu_user.h"
#include "vmm/qmp.h"

#include <errno.h>

static void adds_what_is_needed(void **state)
{
	(void)state;
	static const struct {
		const char *argv[8];
		bool qemu, gdb, stop, daemon;
	} t[] = {
		{ { QEMU }, true, true, true, false },
		{ { "/opt/bin/" QEMU, "-accel", "tcg" }, true, true, true, false },
		{ { QEMU, "-enable-kvm" }, true, false, true, false },
		{ { QEMU, "-accel", "kvm", "-accel", "tcg" }, true, true, true, false },
		{ { QEMU, "-machine", "q35,accel=kvm:tcg" }, true, true, true, false },
		{ { QEMU, "-s" }, true, false, true, false },
		{ { QEMU, "-S" }, true, true, false, false },
		{ { QEMU, "-append", "-S" }, true, true, true, false },
		{ { QEMU, "-daemonize" }, true, true, true, true },
		{ { "kvm", "-m", "1" }, true, false, true, false },
		{ { QEMU, "-qmp", "tcp::4444,server=on" }, true, true, true, false },
		{ { QEMU, "-version" }, false, false, false, false },
		{ { "firecracker", "--id", "x" }, false, false, false, false },
		{ { "sh", "-c", QEMU }, false, false, false, false },
	};
	for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++) {
		struct us_launch_args a;
		assert_int_equal(
			us_launch_args_make((char **)(uintptr_t)t[i].argv, "/d", &a),
			0);
		unsigned n = 0;
		for (; t[i].argv[n]; n++)
			assert_string_equal(a.argv[n], t[i].argv[n]);
		if (a.qemu != t[i].qemu || a.gdb != t[i].gdb || a.stop != t[i].stop ||
		    a.daemon != t[i].daemon)
			fail_msg("case %zu: qemu %d gdb %d stop %d daemon %d", i,
				 a.qemu, a.gdb, a.stop, a.daemon);
		assert_int_equal(a.argv[n] != NULL, t[i].qemu);
		assert_int_equal(a.owned, n > 1 && !strcmp(t[i].argv[1], "-qmp"));
		if (t[i].qemu) {
			assert_string_equal(a.argv[n + 1],
					    "unix:/d/qmp.sock,server=on,wait=off");
			assert_string_equal(a.argv[n + 3],
					    "unix:/d/start.sock,server=on,wait=off");
		}
		us_launch_args_fini(&a);
	}
}

static int start(const char *const argv[], struct us_launch **l, struct us_err *e)
{
	*e = (struct us_err){ 0 };
	return us_launch_start((char **)(uintptr_t)argv, l, e);
}

static void needs_a_folder(void **state)
{
	(void)state;
	struct us_launch *l;
	struct us_err e;
	const char *before = getenv("TMPDIR");
	char *kept = before ? strdup(before) : NULL;
	setenv("TMPDIR", "/proc", 1);
	assert_true(start((const char *[]){ "true", NULL }, &l, &e) < 0);
	assert_non_null(strstr(e.msg, "make the folder /proc/uniscope-"));
	assert_non_null(strstr(e.hint, "TMPDIR=DIR"));
	if (kept)
		setenv("TMPDIR", kept, 1);
	else
		unsetenv("TMPDIR");
	free(kept);
}

static void says_why_it_does_not_start(void **state)
{
	(void)state;
	static struct us_guest g;
	struct us_launch *l;
	struct us_err e;
	int status;
	assert_int_equal(start((const char *[]){ NULL }, &l, &e), -EINVAL);
	assert_int_equal(start((const char *[]){ "us-no-such-vmm", NULL }, &l, &e),
			 -ENOENT);
	assert_non_null(strstr(e.msg, "us-no-such-vmm"));
	assert_true(e.hint[0]);
	assert_int_equal(start((const char *[]){ "/dev/null", NULL }, &l, &e), -EACCES);
	assert_int_equal(start((const char *[]){ QEMU, "-daemonize", NULL }, &l, &e),
			 -EINVAL);
	assert_int_equal(start((const char *[]){ "sh", "-c", "exit 7", NULL }, &l, &e),
			 0);
	assert_int_equal(us_launch_wait(l, 20000, &g, &e), -ECHILD);
	assert_non_null(strstr(e.msg, "status 7"));
	assert_true(us_launch_ended(l, &status));
	assert_int_equal(WEXITSTATUS(status), 7);
	us_launch_close(l);
	/* It runs, but is no VMM; and does not end when asked politely. */
	const char *stubborn[] = { "sh", "-c",
				   "trap '' TERM; while :; do sleep 1; done", NULL };
	assert_int_equal(start(stubborn, &l, &e), 0);
	assert_int_equal(us_launch_wait(l, 300, &g, &e), -ETIMEDOUT);
	assert_int_equal(us_launch_go(l, &e), 0);
	pid_t pid = us_launch_pid(l);
	assert_int_equal(getsid(pid), pid);
	us_launch_close(l);
	assert_int_equal(kill(pid, 0), -1);
	us_launch_close(NULL);
}

static void refuses_qemus_user_mode(void **state)
{
	(void)state;
	static const char *const are[] = { "qemu-x86_64", "/usr/bin/qemu-arm-static",
					   "./qemu-mips64el" };
	static const char *const are_not[] = { "qemu-system-x86_64", "qemu-img",
					       "qemu-kvm",	     "qemu-",
					       "qemu-static",	     "x86_64",
					       "/qemu-arm/vmm" };
	struct us_launch *l;
	struct us_err e;
	for (size_t i = 0; i < sizeof(are) / sizeof(*are); i++)
		assert_true(us_qemu_user_is_name(are[i]));
	for (size_t i = 0; i < sizeof(are_not) / sizeof(*are_not); i++)
		assert_false(us_qemu_user_is_name(are_not[i]));
	need("cp /bin/sleep qemu-riscv64");
	const char *program = in_work_dir("qemu-riscv64");
	assert_int_equal(start((const char *[]){ program, "60", NULL }, &l, &e),
			 -EINVAL);
	assert_non_null(strstr(e.msg, "user mode"));
	/* What counts is what is executed: a script of that name may start a guest. */
	need("printf '#!/bin/sh\\nexit 7\\n' >qemu-i386 && chmod +x qemu-i386");
	program = in_work_dir("qemu-i386");
	assert_int_equal(start((const char *[]){ program, NULL }, &l, &e), 0);
	us_launch_close(l);
}

static pid_t number_in(const char *path)
{
	int pid = 0;
	FILE *f = fopen(path, "r");
	if (f && fscanf(f, "%d", &pid) != 1)
		pid = 0;
	if (f)
		fclose(f);
	return pid;
}

/* Whoever inherits it may be slow to reap it. */
static bool is_running(pid_t pid)
{
	char path[64], text[256] = "";
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	FILE *f = fopen(path, "r");
	if (!f)
		return false;
	bool there = fgets(text, sizeof(text), f) && !strstr(text, ") Z ");
	fclose(f);
	return there;
}

/* Nobody else would end the helpers of a VMM that has ended itself. */
static void ends_what_has_lost_its_parent(void **state)
{
	(void)state;
	struct us_launch *l;
	struct us_err e;
	int status;
	char path[] = "/tmp/us-test-launch-XXXXXX", script[128];
	close(mkstemp(path));
	snprintf(script, sizeof(script), "sleep 600 & echo $! > %s; exit 3", path);
	assert_int_equal(start((const char *[]){ "sh", "-c", script, NULL }, &l, &e),
			 0);
	while (!us_launch_ended(l, &status))
		usleep(1000);
	assert_int_equal(WEXITSTATUS(status), 3);
	pid_t helper = number_in(path);
	assert_true(helper > 0);
	assert_int_equal(kill(helper, 0), 0);
	us_launch_close(l);
	for (int i = 0; i < 2000 && is_running(helper); i++)
		usleep(5000);
	assert_false(is_running(helper));
	unlink(path);
}

static void query_status(const char *endpoint, char *ret, size_t size)
{
	struct us_qmp *q;
	json_t *reply;
	struct us_err e = { 0 };
	int r = us_qmp_open(endpoint, &q, &e);
	if (r < 0)
		fail_msg("%s", e.msg);
	assert_int_equal(us_qmp_run(q, "query-status", NULL, &reply, &e), 0);
	snprintf(ret, size, "%s", json_string_value(json_object_get(reply, "status")));
	json_decref(reply);
	us_qmp_close(q);
}

static void need_qemu(bool kvm)
{
	if (!have_program(QEMU) || (kvm && !have_kvm())) {
		print_message("# SKIP: no " QEMU "%s here\n",
			      kvm ? " or /dev/kvm" : "");
		skip();
	}
}

static void runs_qemu(const char *accel, enum us_accel want)
{
	static struct us_guest g;
	struct us_launch *l;
	struct us_err e;
	char status[32], dir[128];
	const char *argv[] = { QEMU,	 "-display", "none", "-nodefaults",
			       "-accel", accel,	     "-smp", "2",
			       "-m",	 "16",	     NULL };
	assert_int_equal(start(argv, &l, &e), 0);
	if (us_launch_wait(l, 30000, &g, &e) < 0)
		fail_msg("%s", e.msg);
	assert_int_equal(g.pid, us_launch_pid(l));
	assert_int_equal(g.accel, want);
	assert_int_equal(g.n_vcpu, 2);
	assert_true(g.vcpu[0].tid > 0 && g.vcpu[1].tid > 0);
	assert_int_not_equal(g.vcpu[0].tid, g.vcpu[1].tid);
	assert_string_equal(g.qmp + 4, us_launch_qmp(l));
	assert_true(g.qmp_is_ours);
	assert_int_equal(us_launch_gdb(l)[0] != '\0', want == US_ACCEL_TCG);
	if (want == US_ACCEL_TCG)
		assert_string_equal(g.gdb + 4, us_launch_gdb(l));
	/* Nothing was missed: it has not begun. */
	query_status(us_launch_qmp(l), status, sizeof(status));
	assert_string_equal(status, "prelaunch");
	assert_int_equal(us_launch_go(l, &e), 0);
	assert_int_equal(us_launch_go(l, &e), 0);
	query_status(us_launch_qmp(l), status, sizeof(status));
	assert_string_equal(status, "running");
	assert_false(us_launch_ended(l, NULL));
	snprintf(dir, sizeof(dir), "%s", us_launch_qmp(l));
	*strrchr(dir, '/') = '\0';
	struct stat st;
	assert_int_equal(stat(dir, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	us_launch_close(l);
	assert_int_equal(stat(dir, &st), -1);
	assert_false(us_guest_alive(&g));
}

static void runs_qemu_tcg(void **state)
{
	(void)state;
	need_qemu(false);
	runs_qemu("tcg", US_ACCEL_TCG);
}

static void runs_qemu_kvm(void **state)
{
	(void)state;
	need_qemu(true);
	runs_qemu("kvm", US_ACCEL_KVM);
}

static void leaves_the_users_own_stop(void **state)
{
	(void)state;
	need_qemu(false);
	static struct us_guest g;
	struct us_launch *l;
	struct us_err e;
	char status[32];
	const char *argv[] = { QEMU, "-display", "none", "-nodefaults", "-S", NULL };
	assert_int_equal(start(argv, &l, &e), 0);
	assert_int_equal(us_launch_wait(l, 30000, &g, &e), 0);
	assert_int_equal(us_launch_go(l, &e), 0);
	query_status(us_launch_qmp(l), status, sizeof(status));
	assert_string_equal(status, "prelaunch");
	us_launch_close(l);
}

static void finds_a_guest_behind_a_script(void **state)
{
	(void)state;
	need_qemu(false);
	static struct us_guest g;
	struct us_launch *l;
	struct us_err e;
	const char *argv[] = { "sh", "-c",
			       QEMU " -display none -nodefaults -m 7 & wait", NULL };
	assert_int_equal(start(argv, &l, &e), 0);
	assert_int_equal(us_launch_wait(l, 30000, &g, &e), 0);
	assert_int_equal(g.memory, 7 << 20);
	assert_int_not_equal(g.pid, us_launch_pid(l));
	assert_string_equal(us_launch_qmp(l), "");
	us_launch_close(l);
	for (int i = 0; i < 1000 && us_guest_alive(&g); i++)
		usleep(10000);
	assert_false(us_guest_alive(&g));
}

/* In a child: start QEMU, tell where it is, and wait to be killed. */
static void be_killed(int report)
{
	static struct us_guest g;
	struct us_launch *l;
	struct us_err e;
	char line[200];
	const char *argv[] = { QEMU, "-display", "none", "-nodefaults", NULL };
	if (start(argv, &l, &e) < 0 || us_launch_wait(l, 30000, &g, &e) < 0)
		_exit(1);
	int n = snprintf(line, sizeof(line), "%d %s\n", g.pid, us_launch_qmp(l));
	if (write(report, line, (size_t)n) != n)
		_exit(1);
	for (;;)
		pause();
}

static void the_guest_outlives_us(void **state)
{
	(void)state;
	need_qemu(false);
	int report[2];
	char line[200] = "", qmp[160], status[32] = "";
	pid_t vmm = 0;
	assert_int_equal(pipe2(report, O_CLOEXEC), 0);
	pid_t child = fork();
	if (child == 0)
		be_killed(report[1]);
	assert_true(read(report[0], line, sizeof(line) - 1) > 0);
	assert_int_equal(sscanf(line, "%d %159s", &vmm, qmp), 2);
	query_status(qmp, status, sizeof(status));
	assert_string_equal(status, "prelaunch");
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	for (int i = 0; i < 1000 && strcmp(status, "running"); i++) {
		usleep(10000);
		query_status(qmp, status, sizeof(status));
	}
	kill(vmm, SIGKILL);
	*strrchr(qmp, '/') = '\0';
	char cmd[200];
	snprintf(cmd, sizeof(cmd), "rm -rf %s", qmp);
	assert_int_equal(system(cmd), 0);
	close(report[0]);
	close(report[1]);
	assert_string_equal(status, "running");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(adds_what_is_needed),
		cmocka_unit_test(needs_a_folder),
		cmocka_unit_test(says_why_it_does_not_start),
		cmocka_unit_test(refuses_qemus_user_mode),
		cmocka_unit_test(ends_what_has_lost_its_parent),
		cmocka_unit_test(runs_qemu_tcg),
		cmocka_unit_test(runs_qemu_kvm),
		cmocka_unit_test(leaves_the_users_own_stop),
		cmocka_unit_test(finds_a_guest_behind_a_script),
		cmocka_unit_test(the_guest_outlives_us),
	};
	return cmocka_run_group_tests(tests, enter_work_dir, leave_work_dir);
}
