/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kvm/probe.c: see kvm/probe.h. */
#include "backend/kvm/probe.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "vmm/host.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STATUS_SIZE 4096
#define MOMENT_US   2000

/* The number after "Name:" in the text of a status file; 0 if it is not there. */
static unsigned long long status_field(const char *status, const char *name, int base)
{
	char key[32];
	snprintf(key, sizeof(key), "\n%s:", name);
	const char *at = strstr(status, key);
	return at ? strtoull(at + strlen(key), NULL, base) : 0;
}

static pid_t tracer_now(const struct us_guest *g, pid_t tid)
{
	char path[64], status[STATUS_SIZE];
	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", g->pid, tid);
	if (us_read_file(AT_FDCWD, path, status, sizeof(status)) <= 0)
		return 0;
	return (pid_t)status_field(status, "TracerPid", 10);
}

/* 0: nobody, or only for a moment, as another uniscope does. */
static pid_t tracer_of(const struct us_guest *g, pid_t tid)
{
	pid_t tracer = tracer_now(g, tid);
	if (!tracer)
		return 0;
	usleep(MOMENT_US);
	return tracer_now(g, tid) == tracer ? tracer : 0;
}

static int refuse_tracer(pid_t tid, pid_t tracer, struct us_err *e)
{
	char path[64], name[32] = "?";
	snprintf(path, sizeof(path), "/proc/%d/comm", tracer);
	us_read_file(AT_FDCWD, path, name, sizeof(name));
	name[strcspn(name, "\n")] = '\0';
	us_fail(e, -EBUSY, "attach to thread %d: pid %d (%s) traces it already", tid,
		tracer, name);
	us_hint(e, "end pid %d, or detach it", tracer);
	return -EBUSY;
}

int us_kvm_refuse_tracer(const struct us_guest *g, pid_t tid, struct us_err *e)
{
	unsigned unknown = 0;
	pid_t tracer;
	for (unsigned i = 0; i < g->n_vcpu; i++) {
		pid_t its = g->vcpu[i].tid;
		unknown += !its;
		if (its && (tracer = tracer_of(g, its)))
			return refuse_tracer(its, tracer, e);
	}
	if (unknown && tid && (tracer = tracer_of(g, tid)))
		return refuse_tracer(tid, tracer, e);
	return 0;
}

/* Does KVM store registers in the shared page at all?  If we may not ask, assume that
 * it does: Linux has done so since 4.17. */
static int refuse_old_kvm(struct us_err *e)
{
	_cleanup_close_ int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	if (kvm < 0)
		return 0;
	int wanted = KVM_SYNC_X86_REGS | KVM_SYNC_X86_SREGS;
	int has = ioctl(kvm, KVM_CHECK_EXTENSION, KVM_CAP_SYNC_REGS);
	if (has >= 0 && (has & wanted) == wanted)
		return 0;
	return us_fail(e, -EOPNOTSUPP,
		       "this host's KVM does not share registers "
		       "(KVM_CAP_SYNC_REGS is 0x%x)",
		       has < 0 ? 0 : (unsigned)has);
}

static bool module_says_yes(const char *path)
{
	char text[8];
	return us_read_file(AT_FDCWD, path, text, sizeof(text)) > 0 &&
	       (text[0] == 'Y' || text[0] == '1');
}

static bool mentions(const char *text, size_t len, const char *word)
{
	return memmem(text, len, word, strlen(word)) != NULL;
}

static bool is_sev(const char *link)
{
	return !strcmp(link, "/dev/sev");
}

/* guest_memfd, without which there is no guest of TDX or SEV-SNP.  How the kernel
 * begins its name differs: "anon_inode:[kvm-gmem]", "/[kvm-gmem]". */
static bool is_guest_memfd(const char *link)
{
	return strstr(link, "[kvm-gmem]") != NULL;
}

static bool has_open(const struct us_guest *g, bool (*is)(const char *link))
{
	char path[64], link[64];
	snprintf(path, sizeof(path), "/proc/%d/fd", g->pid);
	DIR *d = opendir(path);
	if (!d)
		return false;
	bool found = false;
	for (struct dirent *f; !found && (f = readdir(d));) {
		ssize_t n = readlinkat(dirfd(d), f->d_name, link, sizeof(link) - 1);
		if (n < 0)
			continue;
		link[n] = '\0';
		found = is(link);
	}
	closedir(d);
	return found;
}

/* Of QEMU g->protection is enough: no name and no path misleads it. */
static bool says_protected(const struct us_guest *g)
{
	static const char *const words[] = { "confidential-guest", "tdx", "sev-" };
	char path[64];
	_cleanup_free_ char *line = malloc(1 << 17);
	bool says = g->protection[0] || !line;
	if (says || !strcmp(g->vmm, "qemu"))
		return says;
	snprintf(path, sizeof(path), "/proc/%d/cmdline", g->pid);
	ssize_t n = us_read_file(AT_FDCWD, path, line, 1 << 17);
	for (size_t i = 0; n > 0 && i < sizeof(words) / sizeof(*words); i++)
		says |= mentions(line, (size_t)n, words[i]);
	return says;
}

int us_kvm_refuse_protected(const struct us_guest *g, struct us_err *e)
{
	if (says_protected(g) || has_open(g, is_sev))
		return us_fail(e, -EOPNOTSUPP,
			       "pid %d looks like a protected guest (SEV or TDX): its "
			       "registers and memory are encrypted and cannot be read",
			       g->pid);
	if (has_open(g, is_guest_memfd))
		return us_fail(
			e, -EOPNOTSUPP,
			"pid %d may be a protected guest (SEV or TDX), as it has "
			"a guest_memfd: to sample one would end it",
			g->pid);
	return 0;
}

/*
 * For a guest with encrypted registers, Linux 6.10 and newer fail KVM_RUN if
 * kvm_valid_regs is set, and the VMM would end.  If the host can have such guests,
 * uniscope therefore refuses everything that looks like one.
 */
static int refuse_protected(const struct us_guest *g, struct us_err *e)
{
	bool sev = module_says_yes("/sys/module/kvm_amd/parameters/sev_es");
	bool tdx = module_says_yes("/sys/module/kvm_intel/parameters/tdx");
	return sev || tdx ? us_kvm_refuse_protected(g, e) : 0;
}

int us_kvm_probe(const struct us_target *t, struct us_err *why)
{
	const struct us_guest *g = t->guest;
	if (!g)
		return us_fail(why, -ENODEV, "the target names no process");
	if (g->accel == US_ACCEL_TCG)
		return us_fail(why, -ENODEV, "pid %d runs its guest without KVM",
			       g->pid);
	if (g->limited)
		return us_kvm_may_look(g, why);
	if (g->several)
		return us_fail(
			why, -ENOTUNIQ,
			"pid %d runs more than one machine: uniscope cannot tell "
			"which vCPU belongs to which",
			g->pid);
	if (!g->n_vcpu)
		return us_fail(why, -ENODEV, "pid %d has no KVM vCPU", g->pid);
	for (unsigned i = 0; i < g->n_vcpu; i++)
		if (g->vcpu[i].fd < 0)
			return us_fail(why, -ENODEV, "vCPU %u of pid %d has no file",
				       g->vcpu[i].index, g->pid);
	int r = refuse_old_kvm(why);
	if (!r)
		r = refuse_protected(g, why);
	if (!r)
		r = us_kvm_may_look(g, why);
	return r ? r : us_kvm_refuse_tracer(g, 0, why);
}

static int refuse_no_kvm(const struct us_host *h, struct us_err *why)
{
	us_fail(why, -ENODEV, "there is no /dev/kvm");
	if (h->wanted[0] && !h->kvm[0])
		us_hint(why, "modprobe %s", h->wanted);
	else if (h->is_guest)
		us_hint(why, "this host is a virtual machine: enable nested KVM on its "
			     "host");
	else
		us_hint(why, "enable virtualization in the firmware's setup");
	return -ENODEV;
}

int us_kvm_ready(struct us_err *why)
{
	struct us_host h;
	us_host_read(&h);
	if (!h.has_kvm)
		return refuse_no_kvm(&h, why);
	int r = refuse_old_kvm(why);
	return r < 0 ? r : us_host_may_trace(why);
}
