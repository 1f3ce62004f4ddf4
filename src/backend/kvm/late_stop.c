/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kvm/late_stop.c: see kvm/late_stop.h. */
#include "backend/kvm/late_stop.h"
#include "base/job_stop.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST 128

/* A signal handler needs them, so they cannot be anything but global.  Only the main
 * thread uses them, and with SIGCHLD blocked, or in its handler. */
static pid_t expected[MOST];
static volatile size_t n_expected;

/* True: it is not traced any more. */
static bool resume(pid_t tid)
{
	int status;
	pid_t r = waitpid(tid, &status, __WALL | WNOHANG);
	if (r != tid)
		return r < 0 && errno != EINTR;
	if (!WIFSTOPPED(status))
		return true;
	/* A signal that came before the stop is passed on. */
	int signal = status >> 16 ? 0 : WSTOPSIG(status);
	/* If it was killed meanwhile, its end is still to be waited for. */
	return !ptrace(PTRACE_DETACH, tid, NULL, (void *)(long)signal);
}

static void resume_all(void)
{
	for (size_t i = n_expected; i-- > 0;)
		if (resume(expected[i])) {
			expected[i] = expected[--n_expected];
			us_job_let_go();
		}
}

/* In another thread, or in a process that was forked, waitpid() would take the news and
 * could not resume anybody. */
static bool is_main_thread(void)
{
	return syscall(SYS_gettid) == getpid();
}

static pid_t owner;

static void on_child(int sig)
{
	int saved = errno;
	(void)sig;
	if (is_main_thread() && getpid() == owner)
		resume_all();
	errno = saved;
}

/* False: somebody else wants this signal. */
static bool catch_it(void)
{
	const struct sigaction a = { .sa_handler = on_child, .sa_flags = SA_RESTART };
	struct sigaction now;
	if (sigaction(SIGCHLD, NULL, &now))
		return false;
	if (now.sa_handler == on_child)
		return true;
	return now.sa_handler == SIG_DFL && sigaction(SIGCHLD, &a, NULL) == 0;
}

bool us_late_stop_expect(pid_t tid)
{
	sigset_t child, before;
	/* Other threads of uniscope end soon after they have detached. */
	if (!is_main_thread() || n_expected == MOST || !catch_it())
		return false;
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, &before);
	owner = getpid();
	expected[n_expected++] = tid;
	resume_all(); /* it may have stopped before this was caught */
	sigprocmask(SIG_SETMASK, &before, NULL);
	return true;
}
