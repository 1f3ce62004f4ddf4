/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kvm/match.c: which thread of a VMM runs which vCPU; see kvm/match.h. */
#include "backend/kvm/match.h"
#include "backend/kvm/late_stop.h"
#include "backend/kvm/thread.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/job_stop.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#define ROUNDS	     20
#define ROUNDS_NONE  200 /* ... if none was found: it may idle in the VMM */
#define ROUND_US     5000
#define STOP_WAIT_NS (200 * US_NS_PER_MS)
#define LATE_WAIT_NS (2 * US_NS_PER_SEC)  /* ... more, after all were asked */
#define LAST_WAIT_NS (10 * US_NS_PER_SEC) /* ... before uniscope detaches */
#define POLL_US	     20

static ssize_t read_thread_file(pid_t pid, pid_t tid, const char *name, char *text,
				size_t size)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", pid, tid, name);
	return us_read_file(AT_FDCWD, path, text, size);
}

/*
 * A kernel thread in the VMM's process (kvm-nx-lpage-recovery) has the registers of the
 * thread that created it, so it seems to be in KVM_RUN.  It blocks every signal that
 * can be blocked, and would never stop for us.
 */
static bool is_kernel_worker(pid_t pid, pid_t tid)
{
	char status[4096];
	if (read_thread_file(pid, tid, "status", status, sizeof(status)) <= 0)
		return true;
	const char *blocked = strstr(status, "\nSigBlk:");
	return blocked && strtoull(blocked + 8, NULL, 16) == 0xfffffffffffbfeffULL;
}

static void note_fd(struct us_guest *g, pid_t tid, long fd)
{
	for (unsigned i = 0; i < g->n_vcpu; i++)
		if (us_vcpu_has_fd(&g->vcpu[i], fd) && !g->vcpu[i].tid)
			g->vcpu[i].tid = tid;
}

/* Take the answer of a stopped thread, and resume it.  False: it was killed meanwhile,
 * and must be reaped, or its VMM cannot be. */
static bool take_answer(struct us_guest *g, pid_t tid, int status)
{
	char line[128] = "";
	/* A signal that came before the stop is passed on. */
	int signal = status >> 16 ? 0 : WSTOPSIG(status);
	ssize_t n = read_thread_file(g->pid, tid, "syscall", line, sizeof(line));
	if (ptrace(PTRACE_DETACH, tid, NULL, (void *)(long)signal))
		return false;
	if (n > 0)
		note_fd(g, tid, us_kvm_fd_of_run(line));
	return true;
}

/* True: it is not traced any more. */
static bool settle_one(struct us_guest *g, pid_t tid)
{
	int status;
	pid_t r = waitpid(tid, &status, __WALL | WNOHANG);
	if (r == tid)
		return !WIFSTOPPED(status) || take_answer(g, tid, status);
	return r < 0 && errno != EINTR;
}

bool us_kvm_match_settle(struct us_kvm_match *m, struct us_guest *g)
{
	for (unsigned i = m->n_asked; i-- > 0;)
		if (settle_one(g, m->asked[i])) {
			m->asked[i] = m->asked[--m->n_asked];
			us_job_let_go();
		}
	return m->n_asked > 0;
}

static bool is_asked(const struct us_kvm_match *m, pid_t tid)
{
	for (unsigned i = 0; i < m->n_asked; i++)
		if (m->asked[i] == tid)
			return true;
	return false;
}

static void match_running(struct us_kvm_match *m, struct us_guest *g, pid_t tid)
{
	if (m->n_asked == US_KVM_MAX_ASKED || !us_job_hold())
		return;
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL)) {
		m->refused = errno == EPERM ? tid : m->refused;
		us_job_let_go();
		return;
	}
	m->asked[m->n_asked++] = tid;
	/* This fails if the thread has ended: then waitpid() reaps it. */
	ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
	uint64_t end = us_now_ns() + STOP_WAIT_NS;
	while (us_kvm_match_settle(m, g) && is_asked(m, tid) && us_now_ns() < end)
		usleep(POLL_US);
}

static void match_one(struct us_kvm_match *m, struct us_guest *g, pid_t tid)
{
	char line[128];
	if (is_asked(m, tid) || is_kernel_worker(g->pid, tid) ||
	    read_thread_file(g->pid, tid, "syscall", line, sizeof(line)) <= 0)
		return;
	if (!strncmp(line, "running", 7))
		match_running(m, g, tid);
	else
		note_fd(g, tid, us_kvm_fd_of_run(line));
}

static unsigned count_unmatched(const struct us_guest *g)
{
	unsigned n = 0;
	for (unsigned i = 0; i < g->n_vcpu; i++)
		n += !g->vcpu[i].tid;
	return n;
}

static bool is_matched(const struct us_guest *g, pid_t tid)
{
	for (unsigned i = 0; i < g->n_vcpu; i++)
		if (g->vcpu[i].tid == tid)
			return true;
	return false;
}

static int match_round(struct us_kvm_match *m, struct us_guest *g, struct us_err *e)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task", g->pid);
	DIR *d = opendir(path);
	if (!d)
		return us_fail(e, -errno, "list the threads of pid %d: %s", g->pid,
			       strerror(errno));
	for (struct dirent *f; (f = readdir(d));) {
		pid_t tid = atoi(f->d_name);
		if (tid > 0 && !is_matched(g, tid))
			match_one(m, g, tid);
	}
	closedir(d);
	return 0;
}

static void settle_within(struct us_kvm_match *m, struct us_guest *g, uint64_t limit_ns)
{
	uint64_t end = us_now_ns() + limit_ns;
	while (us_kvm_match_settle(m, g) && us_now_ns() < end)
		usleep(POLL_US);
}

void us_kvm_match_again(struct us_kvm_match *m, struct us_guest *g)
{
	int r = match_round(m, g, NULL);
	(void)r; /* if the VMM has ended, its other threads show that */
}

static bool is_worth(const struct us_kvm_match *m, const struct us_guest *g, int rounds)
{
	unsigned n = count_unmatched(g);
	bool long_one = n == g->n_vcpu && !m->refused;
	return n && rounds < (long_one ? ROUNDS_NONE : ROUNDS);
}

int us_kvm_match_threads(struct us_kvm_match *m, struct us_guest *g, struct us_err *e)
{
	/* A vCPU thread may be outside KVM_RUN at this moment: look again. */
	for (int round = 0; is_worth(m, g, round); round++) {
		if (round)
			usleep(ROUND_US);
		us_kvm_match_settle(m, g);
		int r = match_round(m, g, e);
		if (r < 0)
			return r;
	}
	settle_within(m, g, LATE_WAIT_NS);
	return 0;
}

void us_kvm_match_close(struct us_kvm_match *m, struct us_guest *g)
{
	settle_within(m, g, LAST_WAIT_NS);
	for (; m->n_asked; m->n_asked--)
		if (!us_late_stop_expect(m->asked[m->n_asked - 1]))
			us_job_let_go(); /* our exit releases it */
}
