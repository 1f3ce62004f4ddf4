/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The watchdog speaks when its parent dies or hangs, and only then. */
#include "unit.h"

#include "backend/watchdog.h"
#include "base/clock.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/rights.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define SKIPPED 77

/* Says on the kept descriptor that it was called. */
static void tell(void *ctx, bool held)
{
	int fd = *(int *)ctx;
	ssize_t n = write(fd, held ? "H" : "F", 1);
	(void)n;
}

static struct us_watchdog *start(int *fd, unsigned limit_ms)
{
	struct us_watchdog_opts o = {
		.resume = tell, .ctx = fd, .limit_ms = limit_ms, .keep = fd, .n_keep = 1
	};
	struct us_watchdog *w = NULL;
	struct us_err e;
	assert_int_equal(us_watchdog_start(&o, &w, &e), 0);
	return w;
}

/* The word that came within the time; 0: the pipe ended without one, -1: nothing. */
static int heard(int fd, int timeout_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	if (poll(&p, 1, timeout_ms) != 1)
		return -1;
	char c = 0;
	return read(fd, &c, 1) == 1 ? c : 0;
}

static void is_quiet_when_stopped(void **state)
{
	(void)state;
	int p[2];
	assert_int_equal(pipe(p), 0);
	struct us_watchdog *w = start(&p[1], 60000);
	for (int i = 0; i < 1000; i++) {
		assert_true(us_watchdog_hold(w));
		assert_true(us_watchdog_release(w));
	}
	assert_false(us_watchdog_fired(w));
	us_watchdog_stop(w);
	us_watchdog_stop(NULL);
	close(p[1]);
	assert_int_equal(heard(p[0], 10000), 0);
	close(p[0]);
}

/* A parent that is killed, holding the guest or not. */
static void speaks_when_the_parent_is_killed(void **state)
{
	(void)state;
	for (int held = 0; held < 2; held++) {
		int p[2], ready[2];
		assert_int_equal(pipe(p), 0);
		assert_int_equal(pipe(ready), 0);
		pid_t parent = fork();
		if (!parent) {
			struct us_watchdog *w = start(&p[1], 0);
			us_watchdog_hold(w);
			if (!held)
				us_watchdog_release(w);
			ssize_t n = write(ready[1], "r", 1);
			(void)n;
			for (;;)
				pause();
		}
		close(p[1]);
		assert_int_equal(heard(ready[0], 10000), 'r');
		assert_int_equal(kill(parent, SIGKILL), 0);
		assert_int_equal(waitpid(parent, NULL, 0), parent);
		assert_int_equal(heard(p[0], 10000), held ? 'H' : 'F');
		assert_int_equal(heard(p[0], 10000), 0); /* and has ended */
		close(p[0]);
		close(ready[0]);
		close(ready[1]);
	}
}

static void steps_in_when_held_too_long(void **state)
{
	(void)state;
	int p[2];
	assert_int_equal(pipe(p), 0);
	struct us_watchdog *w = start(&p[1], 20);
	assert_true(us_watchdog_hold(w));
	assert_int_equal(heard(p[0], 10000), 'H');
	assert_true(us_watchdog_fired(w));
	/* It is not charged with what passes from then on. */
	usleep(200000);
	assert_true(us_watchdog_let_go_ns(w) < us_now_ns() - 190 * US_NS_PER_MS);
	assert_false(us_watchdog_release(w));
	assert_true(us_watchdog_let_go_ns(w) < us_now_ns() - 190 * US_NS_PER_MS);
	assert_false(us_watchdog_hold(w));
	us_watchdog_stop(w);
	close(p[0]);
	close(p[1]);
}

/* Also while another process has a copy of the parent's end of the pipe, as one does
 * that was forked later. */
static void takes_over_when_asked(void **state)
{
	(void)state;
	for (int copied = 0; copied < 2; copied++) {
		int p[2];
		assert_int_equal(pipe(p), 0);
		struct us_watchdog *w = start(&p[1], 400);
		assert_true(us_watchdog_hold(w));
		close(p[1]);
		pid_t copy = copied ? fork() : 0;
		if (copied && !copy)
			for (;;)
				pause();
		us_watchdog_alarm(w);
		assert_true(us_watchdog_fired(w));
		assert_false(us_watchdog_renew(w));
		assert_int_equal(heard(p[0], 10000), 'H');
		assert_int_equal(heard(p[0], 10000), 0);
		us_watchdog_stop(w);
		if (copied) {
			kill(copy, SIGKILL);
			assert_int_equal(waitpid(copy, NULL, 0), copy);
		}
		close(p[0]);
	}
}

static void survives_the_terminals_signals(void **state)
{
	(void)state;
	int p[2];
	assert_int_equal(pipe(p), 0);
	struct us_watchdog *w = start(&p[1], 60000);
	pid_t pid = us_watchdog_pid(w);
	for (;;) { /* until it has a session of its own, its signals may kill it */
		char name[32] = "", path[64];
		snprintf(path, sizeof(path), "/proc/%d/comm", pid);
		assert_true(us_read_file(AT_FDCWD, path, name, sizeof(name)) > 0);
		if (!strcmp(name, "uniscope-watch\n"))
			break;
		usleep(1000);
	}
	assert_int_equal(getsid(pid), pid);
	kill(pid, SIGINT);
	kill(pid, SIGTERM);
	kill(pid, SIGHUP);
	assert_int_equal(heard(p[0], 50), -1);
	assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
	us_watchdog_stop(w);
	assert_int_equal(waitpid(pid, NULL, WNOHANG), -1);
	close(p[0]);
	close(p[1]);
}

/* A reader of our output must see its end though the watchdog lives on. */
static void holds_no_other_file(void **state)
{
	(void)state;
	int p[2], other[2];
	assert_int_equal(pipe(p), 0);
	assert_int_equal(pipe(other), 0);
	struct us_watchdog *w = start(&p[1], 60000);
	close(other[1]);
	assert_int_equal(heard(other[0], 10000), 0);
	us_watchdog_stop(w);
	close(other[0]);
	close(p[0]);
	close(p[1]);
}

/* A line of /proc/PID/status: a number of this base. */
static uint64_t status_of(pid_t pid, const char *key, int base)
{
	char path[64], text[8192] = "";
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	assert_true(us_read_file(AT_FDCWD, path, text, sizeof(text)) > 0);
	const char *at = strstr(text, key);
	assert_non_null(at);
	return strtoull(at + strlen(key), NULL, base);
}

static void must_keep(uint64_t rights)
{
	int p[2];
	assert_int_equal(pipe(p), 0);
	struct us_watchdog_opts o = { .resume = tell,
				      .ctx = &p[1],
				      .keep = &p[1],
				      .n_keep = 1,
				      .rights = rights };
	struct us_watchdog *w = NULL;
	struct us_err e;
	uint64_t ours = status_of(getpid(), "\nCapPrm:", 16);
	assert_int_equal(us_watchdog_start(&o, &w, &e), 0);
	pid_t pid = us_watchdog_pid(w);
	for (int i = 0; i < 20000; i++) {
		if (status_of(pid, "\nNoNewPrivs:", 10) == 1 &&
		    status_of(pid, "\nCapPrm:", 16) == (ours & rights))
			break;
		usleep(1000);
	}
	assert_int_equal(status_of(pid, "\nNoNewPrivs:", 10), 1);
	assert_int_equal(status_of(pid, "\nCapPrm:", 16), ours & rights);
	assert_int_equal(status_of(pid, "\nCapEff:", 16), ours & rights);
	assert_int_equal(status_of(pid, "\nCapInh:", 16), 0);
	/* It still does what it is for, and uniscope has what it had. */
	assert_int_equal(status_of(getpid(), "\nCapPrm:", 16), ours);
	us_watchdog_hold(w);
	us_watchdog_alarm(w);
	assert_int_equal(heard(p[0], 10000), 'H');
	us_watchdog_stop(w);
	close(p[0]);
	close(p[1]);
}

static void keeps_only_the_rights_it_needs(void **state)
{
	(void)state;
	must_keep(0);
	must_keep(US_RIGHT(CAP_SYS_PTRACE) | US_RIGHT(CAP_BPF));
}

/* close_range() fails from now on, as before Linux 5.9. */
static int refuse_close_range(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { .len = sizeof(code) / sizeof(*code),
				   .filter = code };
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
}

static void stops_on_an_old_kernel_too(void **state)
{
	(void)state;
	int status;
	pid_t pid = fork();
	if (!pid) {
		int p[2];
		alarm(20); /* it used to wait for itself for ever */
		if (pipe(p) || refuse_close_range())
			_exit(SKIPPED);
		struct us_watchdog *w = start(&p[1], 60000);
		us_watchdog_stop(w);
		close(p[1]);
		_exit(heard(p[0], 10000) != 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == SKIPPED)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_quiet_when_stopped),
		cmocka_unit_test(speaks_when_the_parent_is_killed),
		cmocka_unit_test(steps_in_when_held_too_long),
		cmocka_unit_test(takes_over_when_asked),
		cmocka_unit_test(survives_the_terminals_signals),
		cmocka_unit_test(holds_no_other_file),
		cmocka_unit_test(keeps_only_the_rights_it_needs),
		cmocka_unit_test(stops_on_an_old_kernel_too),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
