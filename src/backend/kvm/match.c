/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kvm/match.c: which thread of a VMM runs which vCPU; see kvm/probe.h. */
#include "backend/kvm/probe.h"
#include "backend/kvm/vcpu.h"
#include "base/clock.h"
#include "base/io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#define ROUNDS	     20
#define ROUND_US     5000
#define STOP_WAIT_NS (200 * US_NS_PER_MS)

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

static bool wait_for_stop(pid_t tid, int *ret_status)
{
	uint64_t end = us_now_ns() + STOP_WAIT_NS;
	while (us_now_ns() < end) {
		pid_t r = waitpid(tid, ret_status, __WALL | WNOHANG);
		if (r == tid)
			return WIFSTOPPED(*ret_status);
		if (r < 0 && errno != EINTR)
			return false;
		usleep(20);
	}
	return false;
}

/* The system call of a running thread can be read only while it is stopped. */
static long fd_of_running(pid_t pid, pid_t tid)
{
	char line[128] = "";
	int status;
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL))
		return -1;
	if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) || !wait_for_stop(tid, &status))
		return -1;
	ssize_t n = read_thread_file(pid, tid, "syscall", line, sizeof(line));
	int signal = status >> 16 ? 0 : WSTOPSIG(status);
	ptrace(PTRACE_DETACH, tid, NULL, (void *)(long)signal);
	return n > 0 ? us_kvm_fd_of_run(line) : -1;
}

static void match_one(struct us_guest *g, pid_t tid)
{
	char line[128];
	if (is_kernel_worker(g->pid, tid) ||
	    read_thread_file(g->pid, tid, "syscall", line, sizeof(line)) <= 0)
		return;
	long fd = !strncmp(line, "running", 7) ? fd_of_running(g->pid, tid)
					       : us_kvm_fd_of_run(line);
	for (unsigned i = 0; fd >= 0 && i < g->n_vcpu; i++)
		if (g->vcpu[i].fd == fd && !g->vcpu[i].tid)
			g->vcpu[i].tid = tid;
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

static int match_round(struct us_guest *g, struct us_err *e)
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
			match_one(g, tid);
	}
	closedir(d);
	return 0;
}

void us_kvm_match_again(struct us_guest *g)
{
	int r = match_round(g, NULL);
	(void)r; /* if the VMM has ended, its other threads show that */
}

int us_kvm_match_threads(struct us_guest *g, struct us_err *e)
{
	/* A vCPU thread may be outside KVM_RUN at this moment: look again. */
	for (int round = 0; count_unmatched(g) && round < ROUNDS; round++) {
		if (round)
			usleep(ROUND_US);
		int r = match_round(g, e);
		if (r < 0)
			return r;
	}
	if (count_unmatched(g) < g->n_vcpu)
		return 0;
	us_fail(e, -ESRCH,
		"no thread runs any of the %u vCPUs of pid %d (the guest may be "
		"paused)",
		g->n_vcpu, g->pid);
	us_hint(e, "if it is not paused, its threads may take turns with the vCPUs: "
		   "use --backend bpf, as root");
	return -ESRCH;
}
