/* SPDX-License-Identifier: GPL-2.0-or-later */
/* guest_list.c: see guest_list.h. */
#include "vmm/guest_list.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "base/nearest.h"
#include "base/text.h"
#include "base/vec.h"
#include "vmm/host.h"
#include "vmm/proc.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int by_pid(const void *a, const void *b)
{
	const struct us_guest *x = a, *y = b;
	return (x->pid > y->pid) - (x->pid < y->pid);
}

static int scan_into(DIR *d, struct us_guest_list *l, struct us_guest *g)
{
	for (struct dirent *ent; (ent = readdir(d));) {
		if (!isdigit((unsigned char)ent->d_name[0]))
			continue;
		int r = us_guest_inspect((pid_t)strtol(ent->d_name, NULL, 10), g, NULL);
		if (r == -EMFILE || r == -ENFILE)
			return r; /* all others would be missing, too */
		if (r < 0)
			continue;
		struct us_guest *slot = us_vec_push(l);
		if (!slot)
			return -ENOMEM;
		*slot = *g;
	}
	return 0;
}

static int fail_scan(int r, struct us_err *e)
{
	us_fail(e, r, "search /proc for guests: %s", strerror(-r));
	if (r == -EMFILE)
		us_hint(e, "raise 'ulimit -n'");
	return r;
}

int us_guest_list_scan(struct us_guest_list *ret, struct us_err *e)
{
	int r = us_proc_check(e);
	if (r < 0)
		return r;
	DIR *d = opendir("/proc");
	if (!d)
		return fail_scan(-errno, e);
	struct us_guest_list l = { 0 };
	_cleanup_free_ struct us_guest *g = malloc(sizeof(*g));
	r = g ? scan_into(d, &l, g) : -ENOMEM;
	closedir(d);
	if (r < 0) {
		us_guest_list_fini(&l);
		return fail_scan(r, e);
	}
	if (l.n)
		qsort(l.v, l.n, sizeof(*l.v), by_pid);
	*ret = l;
	return 0;
}

void us_guest_list_fini(struct us_guest_list *l)
{
	free(l->v);
	*l = (struct us_guest_list){ 0 };
}

/* "4711 (qemu 'web'), 4712 (firecracker)"; cut with "..." */
static void list_guests(const struct us_guest_list *l, const char *name, char *ret,
			size_t size)
{
	size_t at = 0;
	ret[0] = '\0';
	for (size_t i = 0; i < l->n; i++) {
		const struct us_guest *g = &l->v[i];
		if (name && strcmp(g->name, name))
			continue;
		char one[160];
		snprintf(one, sizeof(one), "%s%d (%s%s%s%s)", at ? ", " : "", g->pid,
			 g->vmm, g->name[0] ? " '" : "", g->name,
			 g->name[0] ? "'" : "");
		size_t n = strlen(one);
		if (at + n + 6 > size) {
			snprintf(ret + at, size - at, ", ...");
			return;
		}
		memcpy(ret + at, one, n + 1);
		at += n;
	}
}

/* Name as many of the guests as fit. */
static void hint_guests(const struct us_guest_list *l, struct us_err *e)
{
	char all[160];
	list_guests(l, NULL, all, sizeof(all));
	if (l->n)
		us_hint(e, "one of %s ('uniscope ps' says more)", all);
	else
		us_hint(e, "no guest runs on this host, or you have no right to see "
			   "it: start one with "
			   "'uniscope record -- VMM ARGS...'");
}

static int fail_several(const struct us_guest_list *l, const char *name,
			struct us_err *e)
{
	char all[360];
	list_guests(l, name, all, sizeof(all));
	if (name)
		us_fail(e, -EEXIST,
			"find the guest '%s': several guests have this name: %s", name,
			all);
	else
		us_fail(e, -EEXIST, "find the guest: %zu run on this host: %s", l->n,
			all);
	us_hint(e, "name one by its pid: uniscope record PID");
	return -EEXIST;
}

static int fail_none(const struct us_guest_list *l, const char *target,
		     struct us_err *e)
{
	if (!target) {
		us_fail(e, -ENOENT,
			"find the guest: none runs on this host, or you have no right "
			"to see it");
		us_hint(e, "start one with 'uniscope record -- VMM ARGS...', or name a "
			   "monitor or stub: qmp:PATH, gdb:HOST:PORT");
		return -ENOENT;
	}
	char shown[64], question[96];
	struct us_nearest near = us_nearest_to(target);
	for (size_t i = 0; i < l->n; i++)
		us_nearest_try(&near, l->v[i].name);
	us_nearest_question(&near, question, sizeof(question));
	us_fail(e, -ENOENT, "find the guest '%s': none has this name%s",
		us_printable(shown, sizeof(shown), target),
		us_printable_inplace(question));
	hint_guests(l, e);
	return -ENOENT;
}

/* Does uniscope run in a user namespace below the host's?  Rights there have no effect
 * outside. */
static bool has_own_user_ns(void)
{
	char map[256];
	unsigned inside = 0, outside = 0, n = UINT_MAX;
	if (us_read_file(AT_FDCWD, "/proc/self/uid_map", map, sizeof(map)) > 0)
		(void)!sscanf(map, "%u %u %u", &inside, &outside, &n);
	return inside || outside || n != UINT_MAX;
}

/* Explain why the guest's files in /proc could not be read. */
static int refuse_limited(const struct us_guest *g, struct us_err *e)
{
	bool sees = us_host_capable(CAP_SYS_PTRACE),
	     reads = us_host_capable(CAP_DAC_READ_SEARCH);
	if (has_own_user_ns()) {
		us_fail(e, -EACCES,
			"inspect guest %d (%s): uniscope runs in a user namespace of "
			"its own, and has no rights outside of it",
			g->pid, g->vmm);
		us_hint(e, "run it outside, with sudo: uniscope record %d", g->pid);
	} else if ((geteuid() == 0 || sees || reads) && !(sees && reads)) {
		us_fail(e, -EACCES,
			"inspect guest %d (%s): it belongs to user %u, and uniscope "
			"runs as user %u without %s%s%s",
			g->pid, g->vmm, g->uid, geteuid(), sees ? "" : "CAP_SYS_PTRACE",
			sees || reads ? "" : " and ",
			reads ? "" : "CAP_DAC_READ_SEARCH");
		us_hint(e, "give uniscope both capabilities (in a container: --cap-add "
			   "SYS_PTRACE --cap-add DAC_READ_SEARCH)");
	} else {
		us_fail(e, -EACCES,
			"inspect guest %d (%s): it belongs to user %u, and user %u has "
			"no right to inspect it",
			g->pid, g->vmm, g->uid, geteuid());
		us_hint(e, "sudo uniscope record %d", g->pid);
	}
	return -EACCES;
}

/* May we connect there?  Of a port only the attempt tells. */
static bool lets_us_in(const char *endpoint)
{
	const char *address = endpoint + strlen("gdb:"); /* or qmp: */
	return endpoint[0] && (address[0] != '/' ||
			       faccessat(AT_FDCWD, address, W_OK, AT_EACCESS) == 0);
}

int us_guest_check(const struct us_guest *g, struct us_err *e)
{
	if (g->limited && !lets_us_in(g->gdb) && !lets_us_in(g->qmp))
		return refuse_limited(g, e);
	if (g->several) {
		us_fail(e, -ENOTSUP,
			"inspect guest %d (%s): this process runs several virtual "
			"machines, whose vCPUs cannot be told apart",
			g->pid, g->vmm);
		us_hint(e, "run each machine in a process of its own");
		return -ENOTSUP;
	}
	return 0;
}

/* Pick one of the list, or explain why not. */
static int take(const struct us_guest *g, struct us_guest *ret, struct us_err *e)
{
	int r = us_guest_check(g, e);
	if (r == 0)
		*ret = *g;
	return r;
}

static const struct us_guest *find_pid(const struct us_guest_list *l,
				       const char *target, pid_t *ret_pid)
{
	char *end;
	errno = 0;
	long pid = strtol(target, &end, 10);
	*ret_pid = 0;
	if (errno || *end || end == target || pid <= 0 || pid > INT_MAX)
		return NULL;
	*ret_pid = (pid_t)pid;
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].pid == *ret_pid)
			return &l->v[i];
	return NULL;
}

int us_guest_select(const struct us_guest_list *l, const char *target,
		    struct us_guest *ret, struct us_err *e)
{
	if (!target) {
		if (l->n > 1)
			return fail_several(l, NULL, e);
		return l->n ? take(&l->v[0], ret, e) : fail_none(l, NULL, e);
	}
	const struct us_guest *found = NULL;
	for (size_t i = 0; target[0] && i < l->n; i++) {
		if (strcmp(l->v[i].name, target))
			continue;
		if (found)
			return fail_several(l, target, e);
		found = &l->v[i];
	}
	pid_t pid = 0;
	if (!found)
		found = find_pid(l, target, &pid);
	if (found)
		return take(found, ret, e);
	if (!pid)
		return fail_none(l, target, e);
	/* A process that is no guest, or one that started after the scan. */
	_cleanup_free_ struct us_guest *g = malloc(sizeof(*g));
	if (!g)
		return us_fail(e, -ENOMEM, "inspect pid %d: out of memory", pid);
	int r = us_guest_inspect(pid, g, e);
	if (r == -ENOENT)
		hint_guests(l, e);
	return r < 0 ? r : take(g, ret, e);
}

int us_guest_fail_lost(const struct us_guest *g, const char *scheme, struct us_err *e)
{
	const char *lost = strcmp(scheme, "gdb") ? g->lost_qmp : g->lost_gdb;
	char shown[US_ENDPOINT_SIZE];
	us_printable(shown, sizeof(shown), lost);
	const char *colon = strrchr(shown, ':');
	if (colon && isdigit((unsigned char)colon[1])) {
		us_fail(e, -ENODEV, "it listens at %s of another network namespace",
			shown);
		us_hint(e, "run uniscope there: nsenter -t %d -n uniscope ...",
			(int)g->pid);
	} else {
		us_fail(e, -ENODEV,
			"its socket %s is relative to a folder that is not known",
			shown);
		us_hint(e, "name it with its path: %s:/PATH/%s", scheme, shown);
	}
	return -ENODEV;
}

bool us_guest_is_stopped(const struct us_guest *g, struct us_err *why)
{
	struct us_proc_stat s;
	_cleanup_close_ int proc = g && g->pid > 0 ? us_proc_open(g->pid) : -1;
	if (proc < 0 || us_proc_stat(proc, &s) < 0 || s.state != 'T')
		return false;
	us_fail(why, -EBUSY, "pid %d is stopped by a signal, and answers nobody",
		(int)g->pid);
	us_hint(why, "kill -CONT %d lets it go on", (int)g->pid);
	return true;
}

bool us_guest_alive(const struct us_guest *g)
{
	_cleanup_close_ int proc = us_proc_open(g->pid);
	struct us_proc_stat s;
	return proc >= 0 && us_proc_stat(proc, &s) == 0 &&
	       s.start_time == g->start_time && s.state != 'Z' && s.state != 'X';
}

static bool path_of(const struct us_guest *g, const char *path, char *ret, size_t size)
{
	_cleanup_close_ int proc = us_proc_open(g->pid);
	char root[32] = "";
	if (!path[0])
		return false;
	if (proc >= 0 && !us_proc_same_paths(proc, g->jailed))
		snprintf(root, sizeof(root), "/proc/%d/root", g->pid);
	return (size_t)snprintf(ret, size, "%s%s", root, path) < size;
}

bool us_guest_kernel_path(const struct us_guest *g, char *ret, size_t size)
{
	return path_of(g, g->kernel, ret, size);
}

bool us_guest_boot_path(const struct us_guest *g, char *ret, size_t size)
{
	return path_of(g, g->boot, ret, size);
}

bool us_guest_counts_path(const struct us_guest *g, char *ret, size_t size)
{
	return path_of(g, g->counts, ret, size);
}

const char *us_accel_name(enum us_accel a)
{
	switch (a) {
	case US_ACCEL_KVM:
		return "kvm";
	case US_ACCEL_TCG:
		return "tcg";
	case US_ACCEL_UNKNOWN:
		break;
	}
	return "unknown";
}
