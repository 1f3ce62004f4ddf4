/* SPDX-License-Identifier: GPL-2.0-or-later */
/* guest_threads.c: see guest_threads.h. */
#include "vmm/guest_threads.h"

#include "base/io.h"
#include "vmm/proc.h"
#include "vmm/qmp.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_THREADS 4096u
#define KVM_RUN	    0xae80

int us_thread_vcpu(const char *comm)
{
	unsigned n;
	char slash;
	if (sscanf(comm, "CPU %4u%c", &n, &slash) == 2 && slash == '/')
		return (int)n;
	if (!strncmp(comm, "ALL CPUs/", 9))
		return US_THREAD_ALL;
	const char *at = strcasestr(comm, "vcpu");
	if (!at)
		return -1;
	at += 4 + strspn(at + 4, " _:-");
	size_t digits = strspn(at, "0123456789");
	if (!digits || digits > 4 || at[digits])
		return -1;
	sscanf(at, "%4u", &n);
	return (int)n;
}

int us_thread_kvm_run(const char *syscall)
{
	unsigned nr, fd, op;
	if (sscanf(syscall, "%u 0x%x 0x%x", &nr, &fd, &op) != 3 || op != KVM_RUN ||
	    (nr != 16 && nr != 29) || fd > INT_MAX)
		return -1;
	return (int)fd;
}

/* A kernel worker of KVM that shows the registers of the thread that created it. */
static bool is_decoy(const char *comm)
{
	return !strncmp(comm, "kvm-", 4) && strncmp(comm, "kvm-vcpu", 8);
}

/* The result of one pass over all threads. */
struct look {
	pid_t by_rank[US_MAX_VCPUS]; /* named ones, by their number */
	unsigned number[US_MAX_VCPUS], n_named;
	pid_t all, last;
	unsigned n_thread;
};

static struct us_vcpu *vcpu_by_fd(struct us_guest *g, int fd)
{
	for (unsigned i = 0; i < g->n_vcpu; i++)
		if (us_vcpu_has_fd(&g->vcpu[i], fd))
			return &g->vcpu[i];
	return NULL;
}

static struct us_vcpu *vcpu_by_index(struct us_guest *g, unsigned index)
{
	for (unsigned i = 0; i < g->n_vcpu; i++)
		if (g->vcpu[i].index == index)
			return &g->vcpu[i];
	return NULL;
}

static void note_name(struct look *l, int number, pid_t tid)
{
	if (number == US_THREAD_ALL)
		l->all = tid;
	if (number < 0 || l->n_named == US_MAX_VCPUS)
		return;
	unsigned at = l->n_named++;
	for (; at && l->number[at - 1] > (unsigned)number; at--) {
		l->number[at] = l->number[at - 1];
		l->by_rank[at] = l->by_rank[at - 1];
	}
	l->number[at] = (unsigned)number;
	l->by_rank[at] = tid;
}

static void look_at_thread(int proc, const char *tid_text, struct us_guest *g,
			   struct look *l)
{
	char path[48], comm[32], call[256];
	pid_t tid = (pid_t)strtol(tid_text, NULL, 10);
	snprintf(path, sizeof(path), "task/%d/comm", tid);
	if (us_read_file(proc, path, comm, sizeof(comm)) <= 0)
		return;
	comm[strcspn(comm, "\n")] = '\0';
	if (is_decoy(comm))
		return;
	l->n_thread++;
	l->last = tid;
	note_name(l, us_thread_vcpu(comm), tid);
	if (g->accel != US_ACCEL_KVM)
		return;
	snprintf(path, sizeof(path), "task/%d/syscall", tid);
	if (us_read_file(proc, path, call, sizeof(call)) <= 0)
		return;
	struct us_vcpu *v = vcpu_by_fd(g, us_thread_kvm_run(call));
	if (v && !v->tid)
		v->tid = tid;
}

/*
 * Thread names contain the VMM's own number, fds the APIC id.  If these differ, the
 * order decides, provided that there is one name for each vCPU.
 */
static void match_names(struct us_guest *g, const struct look *l)
{
	bool same = true;
	for (unsigned i = 0; i < l->n_named; i++) {
		same = same && vcpu_by_index(g, l->number[i]);
		if (i && l->number[i] == l->number[i - 1])
			return; /* two machines, or forged names */
	}
	for (unsigned i = 0; i < l->n_named; i++) {
		struct us_vcpu *v = NULL;
		if (same)
			v = vcpu_by_index(g, l->number[i]);
		else if (l->n_named == g->n_vcpu)
			v = &g->vcpu[i];
		if (v && !v->tid)
			v->tid = l->by_rank[i];
	}
}

/* vCPUs under TCG have no fds, and the command line does not include hot-plugged ones,
 * so count them by their threads' names. */
static void add_named(struct us_guest *g, const struct look *l)
{
	for (unsigned i = 1; i < l->n_named; i++)
		if (l->number[i] == l->number[i - 1])
			return;
	if (g->accel != US_ACCEL_TCG || l->n_named <= g->n_vcpu)
		return;
	for (g->n_vcpu = 0; g->n_vcpu < l->n_named; g->n_vcpu++)
		g->vcpu[g->n_vcpu] = (struct us_vcpu){ .index = l->number[g->n_vcpu],
						       .fd = -1 };
}

void us_guest_find_threads(int proc, struct us_guest *g)
{
	DIR *d = us_proc_folder(proc, "task");
	if (!d)
		return;
	struct look l = { 0 };
	for (struct dirent *ent; l.n_thread < MAX_THREADS && (ent = readdir(d));)
		if (isdigit((unsigned char)ent->d_name[0]))
			look_at_thread(proc, ent->d_name, g, &l);
	closedir(d);
	add_named(g, &l);
	if (!g->several)
		match_names(g, &l);
	for (unsigned i = 0; l.all && i < g->n_vcpu; i++)
		g->vcpu[i].tid = l.all;
	if (l.n_thread == 1 && g->n_vcpu == 1 && g->accel == US_ACCEL_KVM)
		g->vcpu[0].tid = l.last;
}

pid_t us_thread_by_inner_id(int proc, pid_t inner)
{
	DIR *d = us_proc_folder(proc, "task");
	if (!d)
		return 0;
	pid_t found = 0;
	for (struct dirent *ent; !found && (ent = readdir(d));) {
		char path[48], text[4096];
		pid_t tid = (pid_t)strtol(ent->d_name, NULL, 10);
		snprintf(path, sizeof(path), "task/%d/status", tid);
		if (tid <= 0 || us_read_file(proc, path, text, sizeof(text)) <= 0)
			continue;
		/* "NSpid: 4711 12": from our namespace to the innermost. */
		char *line = strstr(text, "\nNSpid:");
		if (!line)
			continue;
		line[1 + strcspn(line + 1, "\n")] = '\0';
		const char *last = strrchr(line, '\t');
		if (last && strtol(last, NULL, 10) == inner)
			found = tid;
	}
	closedir(d);
	return found;
}

static int take_vcpu(struct us_guest *g, int proc, const json_t *cpu, size_t rank,
		     size_t n)
{
	json_int_t index = json_integer_value(json_object_get(cpu, "cpu-index"));
	json_int_t inner = json_integer_value(json_object_get(cpu, "thread-id"));
	if (inner <= 0 || inner > INT_MAX || index < 0 || index > INT_MAX)
		return -EPROTO;
	pid_t tid = us_thread_by_inner_id(proc, (pid_t)inner);
	if (!tid)
		return -EPROTO;
	struct us_vcpu *v = NULL;
	if (n == g->n_vcpu)
		v = &g->vcpu[rank]; /* both are sorted: QEMU lists by cpu-index */
	else
		v = vcpu_by_index(g, (unsigned)index);
	if (v)
		v->tid = tid;
	return 0;
}

int us_guest_vcpus_from_monitor(struct us_guest *g, struct us_qmp *q, struct us_err *e)
{
	json_t *list;
	int r = us_qmp_run(q, "query-cpus-fast", NULL, &list, e);
	if (r < 0)
		return r;
	int proc = us_proc_open(g->pid);
	struct us_guest next = *g;
	size_t n = json_array_size(list), i;
	json_t *cpu;
	if (g->accel == US_ACCEL_TCG && n) {
		next.n_vcpu = n < US_MAX_VCPUS ? (unsigned)n : US_MAX_VCPUS;
		next.n_vcpu_beyond = (unsigned)n - next.n_vcpu;
		for (i = 0; i < next.n_vcpu; i++)
			next.vcpu[i] = (struct us_vcpu){ .index = (unsigned)i,
							 .fd = -1 };
	}
	r = proc < 0 || !n ? -EPROTO : 0;
	json_array_foreach(list, i, cpu)
	{
		if (r == 0 && i < US_MAX_VCPUS)
			r = take_vcpu(&next, proc, cpu, i, n);
	}
	json_decref(list);
	if (proc >= 0)
		close(proc);
	if (r < 0)
		return us_fail(
			e, r,
			"find the vCPU threads of pid %d: the monitor does not name "
			"this process's threads, so it belongs to another guest",
			g->pid);
	*g = next;
	return 0;
}
