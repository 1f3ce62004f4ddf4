/* SPDX-License-Identifier: GPL-2.0-or-later */
/* watchdog.c: see watchdog.h. */
#include "backend/watchdog.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/job_stop.h"
#include "base/rights.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define END_NS (2 * US_NS_PER_SEC)

/* Values of shared.held_since that are not times. */
#define FREE  0
#define FIRED UINT64_MAX

/* The page that parent and child both see. */
struct shared {
	_Atomic uint64_t held_since;
	_Atomic uint64_t fired_ns; /* when it stepped in; 0: not yet */
	atomic_bool quiet;	   /* the parent has detached: its exit is no alarm */
};

struct us_watchdog {
	struct shared *shared;
	pid_t pid;
	int pipe;	/* our end; the child waits until it closes; -1: closed */
	uint64_t since; /* what we last put into held_since */
	bool holds;	/* this process must not be stopped */
	uint64_t let_go_ns;
};

/* Standard streams too: somebody may wait for end of file on our output. */
static void close_all_but(const int *keep, size_t n_keep, int pipe_fd)
{
	unsigned from = 0;
	for (;;) {
		unsigned next = ~0u;
		for (size_t i = 0; i < n_keep; i++)
			if (keep[i] >= 0 && (unsigned)keep[i] >= from &&
			    (unsigned)keep[i] < next)
				next = (unsigned)keep[i];
		if ((unsigned)pipe_fd >= from && (unsigned)pipe_fd < next)
			next = (unsigned)pipe_fd;
		if (next > from)
			us_close_range(from, next == ~0u ? next : next - 1);
		if (next == ~0u)
			return;
		from = next + 1;
	}
}

static void become_watchdog(void)
{
	static const int deaf[] = { SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGPIPE,
				    SIGTSTP, SIGTTIN, SIGTTOU, SIGUSR1, SIGUSR2 };
	for (size_t i = 0; i < sizeof(deaf) / sizeof(*deaf); i++)
		signal(deaf[i], SIG_IGN);
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setsid();
	prctl(PR_SET_NAME, "uniscope-watch");
	/* The guest stays stopped until this process gets a CPU.  Without the right to
	 * real-time priority it waits its turn. */
	sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){ .sched_priority = 1 });
}

/* Held for too long?  Then take over, unless the parent has just resumed the guest. */
static bool overdue(struct shared *shared, unsigned limit_ms)
{
	uint64_t since = atomic_load(&shared->held_since);
	if (since == FIRED) /* the parent asked for a rescue */
		return true;
	if (since == FREE || us_now_ns() < since + limit_ms * US_NS_PER_MS)
		return false;
	return atomic_compare_exchange_strong(&shared->held_since, &since, FIRED);
}

static _Noreturn void watch(const struct us_watchdog_opts *o, struct shared *shared,
			    int pipe_fd)
{
	become_watchdog();
	close_all_but(o->keep, o->n_keep, pipe_fd);
	if (o->prepare)
		o->prepare(o->ctx);
	/* uniscope itself still attaches, and gives its own up later. */
	us_rights_keep(o->rights);
	int wake_ms = o->limit_ms ? (int)(o->limit_ms / 4) + 1 : -1;
	bool held = false;
	for (;;) {
		struct pollfd p = { .fd = pipe_fd };
		int r = poll(&p, 1, wake_ms);
		if (r > 0) {
			if (atomic_load(&shared->quiet))
				_exit(0);
			held = atomic_exchange(&shared->held_since, FIRED) != FREE;
			break;
		}
		if (o->limit_ms && overdue(shared, o->limit_ms)) {
			held = true;
			break;
		}
	}
	atomic_store(&shared->fired_ns, us_now_ns());
	o->resume(o->ctx, held);
	_exit(0);
}

int us_watchdog_start(const struct us_watchdog_opts *o, struct us_watchdog **ret,
		      struct us_err *e)
{
	_cleanup_free_ struct us_watchdog *w = calloc(1, sizeof(*w));
	if (!w)
		return us_fail(e, -ENOMEM, "start the watchdog: out of memory");
	w->shared = mmap(NULL, sizeof(*w->shared), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (w->shared == MAP_FAILED)
		return us_fail(e, -errno, "start the watchdog: no shared page: %s",
			       strerror(errno));
	int fd[2] = { -1, -1 };
	w->pid = pipe2(fd, O_CLOEXEC) ? -1 : fork();
	if (w->pid < 0) {
		int code = -errno;
		us_closep(&fd[0]);
		us_closep(&fd[1]);
		munmap(w->shared, sizeof(*w->shared));
		return us_fail(e, code, "start the watchdog: fork: %s",
			       strerror(-code));
	}
	if (!w->pid) {
		struct shared *shared = w->shared;
		free(us_take(w));
		watch(o, shared, fd[0]);
	}
	close(fd[0]);
	w->pipe = fd[1];
	*ret = us_take(w);
	return 0;
}

bool us_watchdog_hold(struct us_watchdog *w)
{
	uint64_t now_ns = us_now_ns();
	return us_watchdog_hold_since(w, &now_ns);
}

/* The guest runs, or the watchdog sees to that.  The terminal may stop this process in
 * here for hours, for which the guest was not held: so the time is read before.  Nor
 * was it held while this process was stopped (SIGSTOP) after the watchdog fired. */
static uint64_t held_until(const struct us_watchdog *w)
{
	uint64_t fired_ns = atomic_load(&w->shared->fired_ns);
	return fired_ns ? fired_ns : us_now_ns();
}

static void let_go(struct us_watchdog *w)
{
	if (!w->holds)
		return;
	w->let_go_ns = held_until(w);
	w->holds = false;
	us_job_let_go();
}

bool us_watchdog_hold_since(struct us_watchdog *w, uint64_t *now_ns)
{
	uint64_t word = FREE;
	if (!w->holds && !us_job_hold()) {
		us_job_hold_wait();
		*now_ns = us_now_ns();
	}
	w->holds = true;
	w->since = *now_ns;
	if (atomic_compare_exchange_strong(&w->shared->held_since, &word, w->since))
		return true;
	if (word == FIRED)
		let_go(w);
	return false;
}

bool us_watchdog_renew(struct us_watchdog *w)
{
	uint64_t since = w->since;
	w->since = us_now_ns();
	return atomic_compare_exchange_strong(&w->shared->held_since, &since, w->since);
}

bool us_watchdog_release(struct us_watchdog *w)
{
	uint64_t since = w->since;
	bool ours = atomic_compare_exchange_strong(&w->shared->held_since, &since,
						   FREE);
	let_go(w);
	return ours;
}

uint64_t us_watchdog_let_go_ns(const struct us_watchdog *w)
{
	return w->holds ? held_until(w) : w->let_go_ns;
}

bool us_watchdog_fired(const struct us_watchdog *w)
{
	return atomic_load(&w->shared->held_since) == FIRED;
}

pid_t us_watchdog_pid(const struct us_watchdog *w)
{
	return w->pid;
}

void us_watchdog_alarm(struct us_watchdog *w)
{
	uint64_t since = w->since;
	atomic_compare_exchange_strong(&w->shared->held_since, &since, FIRED);
	us_closep(&w->pipe);
	w->pipe = -1;
	let_go(w);
}

/* If this gives up waiting, init adopts the child once this process has ended. */
static void wait_for_end(pid_t pid, bool forever)
{
	uint64_t last_ns = us_now_ns() + END_NS;
	for (;;) {
		pid_t r = waitpid(pid, NULL, forever ? 0 : WNOHANG);
		if (r == pid || (r < 0 && errno != EINTR) ||
		    (!forever && us_now_ns() >= last_ns))
			return;
		if (r == 0)
			usleep(1000);
	}
}

void us_watchdog_stop(struct us_watchdog *w)
{
	if (!w)
		return;
	bool acts = w->pipe < 0 || us_watchdog_fired(w);
	if (!acts)
		atomic_store(&w->shared->quiet, true);
	us_closep(&w->pipe);
	let_go(w);
	wait_for_end(w->pid, !acts);
	munmap(w->shared, sizeof(*w->shared));
	free(w);
}
