/* SPDX-License-Identifier: GPL-2.0-or-later */
/* launch_guard.c: see launch_guard.h. */
#include "vmm/launch_guard.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "vmm/qmp.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define TRIES	 500
#define RETRY_US 20000

/* Nobody may notice the guard: it keeps no terminal and no stream that somebody waits
 * for. */
static void hide(int keep_a, int keep_b)
{
	static const int ignored[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE };
	for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
		signal(ignored[i], SIG_IGN);
	setsid();
	prctl(PR_SET_NAME, "uniscope-guard");
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; fd < 3 && null >= 0; fd++)
		dup2(null, fd);
	int low = keep_a < keep_b ? keep_a : keep_b;
	int high = keep_a < keep_b ? keep_b : keep_a;
	if (low > 3)
		us_close_range(3, (unsigned)low - 1);
	if (high > low + 1)
		us_close_range((unsigned)low + 1, (unsigned)high - 1);
	us_close_range((unsigned)high + 1, ~0U);
}

static void let_run(const char *endpoint)
{
	for (int i = 0; i < TRIES; i++) {
		struct us_qmp *q;
		if (us_qmp_open(endpoint, &q, NULL) == 0) {
			int r = us_qmp_run(q, "cont", NULL, NULL, NULL);
			us_qmp_close(q);
			if (r == 0)
				return;
		}
		usleep(RETRY_US);
	}
}

static void guard(int dismissal, int parent, const char *endpoint)
{
	hide(dismissal, parent);
	/* Other children may hold the parent's end of the pipe, so watch the parent
	 * itself, too. */
	struct pollfd p[] = { { .fd = dismissal, .events = POLLIN },
			      { .fd = parent, .events = POLLIN } };
	char byte;
	while (poll(p, 2, -1) < 0)
		;
	bool dismissed = p[0].revents && recv(dismissal, &byte, 1, MSG_DONTWAIT) == 1;
	if (!dismissed)
		let_run(endpoint);
	_exit(0);
}

struct us_launch_guard us_launch_guard_none(void)
{
	return (struct us_launch_guard){ .pipe = -1 };
}

int us_launch_guard_start(struct us_launch_guard *g, const char *endpoint)
{
	int pair[2];
	*g = us_launch_guard_none();
	_cleanup_close_ int parent = (int)syscall(SYS_pidfd_open, getpid(), 0);
	if (parent < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	pid_t pid = fork();
	if (pid == 0)
		guard(pair[0], parent, endpoint);
	int code = errno;
	close(pair[0]);
	if (pid < 0) {
		close(pair[1]);
		return -code;
	}
	g->pid = pid;
	g->pipe = pair[1];
	return 0;
}

void us_launch_guard_dismiss(struct us_launch_guard *g)
{
	if (g->pid <= 0)
		return;
	send(g->pipe, "g", 1, MSG_NOSIGNAL);
	close(g->pipe);
	waitpid(g->pid, NULL, 0);
	*g = us_launch_guard_none();
}
