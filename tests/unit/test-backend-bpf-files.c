/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The vCPUs that are found are those of the process asked for, also on Linux
 * before 6.1, whose iterators list the files of all processes: this kernel's do so
 * without options.
 */
#include "unit.h"

#include "backend/bpf/programs.h"

#include <bpf/libbpf.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST 16

struct bpf_link *__wrap_bpf_program__attach_iter(const struct bpf_program *program,
						 const struct bpf_iter_attach_opts *o);
struct bpf_link *__real_bpf_program__attach_iter(const struct bpf_program *program,
						 const struct bpf_iter_attach_opts *o);
static bool old_kernel;

struct bpf_link *__wrap_bpf_program__attach_iter(const struct bpf_program *program,
						 const struct bpf_iter_attach_opts *o)
{
	return __real_bpf_program__attach_iter(program, old_kernel ? NULL : o);
}

/* A file by which the kernel's file structure leads somewhere, as a vCPU's does. */
static char folder[] = "/tmp/uniscope-files-XXXXXX", path[64];

static pid_t other(int at)
{
	int ready[2];
	char c;
	assert_int_equal(pipe(ready), 0);
	pid_t pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		int fd = open(path, O_RDWR);
		if (dup2(fd, at) == at && write(ready[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	return pid;
}

static bool finds(struct us_bpf_programs *p, pid_t pid, uint32_t fd, uint32_t not_fd)
{
	static struct us_bpf_found_vcpu found[MOST];
	struct us_err e;
	bool is = false;
	int n = us_bpf_find_vcpus(p, pid, found, MOST, &e);
	if (n < 0)
		fail_msg("%s", e.msg);
	for (int i = 0; i < n; i++) {
		is |= found[i].fd == fd;
		assert_int_not_equal(found[i].fd, not_fd);
	}
	return is;
}

static void files_of_others_are_left_out(void **state)
{
	struct us_bpf_programs *p = NULL;
	struct us_err e;
	(void)state;
	if (us_bpf_ready(&e) < 0 || us_bpf_load(&p, &e) < 0) {
		print_message("# SKIP %s\n", e.msg);
		skip();
	}
	pid_t a = other(100), b = other(101);
	for (int old = 0; old < 2; old++) {
		old_kernel = old;
		assert_true(finds(p, a, 100, 101));
		assert_true(finds(p, b, 101, 100));
	}
	kill(a, SIGKILL);
	kill(b, SIGKILL);
	waitpid(a, NULL, 0);
	waitpid(b, NULL, 0);
	us_bpf_unload(p);
}

static int make_file(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/kvm-vcpu:0", folder);
	return mkfifo(path, 0600);
}

static int remove_file(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_of_others_are_left_out),
	};
	return cmocka_run_group_tests(tests, make_file, remove_file);
}
