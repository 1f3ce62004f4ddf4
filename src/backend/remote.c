/* SPDX-License-Identifier: GPL-2.0-or-later */
/* remote.c: see remote.h. */
#include "backend/remote.h"

#include "base/clock.h"
#include "base/text.h"
#include "vmm/ram.h"
#include "vmm/socket_peer.h"

static struct us_remote *of(struct us_backend *b)
{
	return (struct us_remote *)b;
}

static const struct us_remote *of_const(const struct us_backend *b)
{
	return (const struct us_remote *)b;
}

void us_remote_learn_guest(struct us_remote *r, const struct us_target *t, int fd)
{
	pid_t pid = us_socket_peer_pid(fd);
	if (t->guest)
		r->guest = *t->guest;
	else if (pid <= 0 || us_guest_inspect(pid, &r->guest, NULL) < 0)
		r->guest.pid = 0;
}

void us_remote_describe(struct us_remote *r, enum us_accel accel,
			const struct us_whole_stop_ops *ops)
{
	struct us_backend *base = &r->base;
	base->accel = accel;
	base->caps = US_CAP_FREEZE | US_CAP_ALL_GPRS | US_CAP_WATCHDOG;
	base->mem = us_peer_ram_mem(&r->ram);
	r->stop.ops = ops;
	r->stop.ctx = r; /* the first member of the structure that embeds it */
	r->stop.n_vcpu = base->n_vcpu;
	r->stop.runs_halted = base->arch == US_ARCH_AARCH64 && accel == US_ACCEL_KVM;
	r->stop.sleeps_stopped = accel == US_ACCEL_TCG;
	bool blocks = accel == US_ACCEL_TCG;
	if (blocks)
		base->caps |= US_CAP_BLOCKS;
	us_append(base->caution, sizeof(base->caution), "%s",
		  blocks ? "TCG stops at the start of the next translation block: a "
			   "caller and its callee swap shares, but their sum is right; "
			   "uniscope count is exact"
			 : "");
	us_append(base->hazard, sizeof(base->hazard), "%s",
		  r->guest.libvirt ? "libvirt takes each stop for a pause: a virsh "
				     "suspend during a stop may be lost, or while it "
				     "lags behind many (a lower -F, bpf or kvm "
				     "help)"
				   : "");
}

bool us_remote_suspends(struct us_remote *r)
{
	return r->base.arch == US_ARCH_X86_64 && r->ram.ram &&
	       us_acpi_suspends(&r->acpi_sleep, us_ram_mem(r->ram.ram), us_now_ns());
}

int us_remote_start(struct us_backend *b, const struct us_schedule *s, struct us_err *e)
{
	return us_whole_stop_start(&of(b)->stop, s, &of(b)->guest, e);
}

int us_remote_next(struct us_backend *b, uint64_t deadline_ns, struct us_capture *c)
{
	us_peer_ram_look_again(&of(b)->ram);
	return us_whole_stop_next(&of(b)->stop, deadline_ns, c);
}

void us_remote_release(struct us_backend *b, struct us_capture *c)
{
	us_whole_stop_release(&of(b)->stop, c);
}

void us_remote_let_go(struct us_backend *b)
{
	us_whole_stop_let_go(&of(b)->stop);
}

void us_remote_counts(const struct us_backend *b, struct us_backend_counts *ret)
{
	us_whole_stop_counts(&of_const(b)->stop, ret);
}

void us_remote_gathers(const struct us_backend *b, char *ret, size_t size)
{
	us_running_pc_text(&of_const(b)->stop.running, ret, size);
}

void us_remote_close(struct us_remote *r)
{
	us_peer_ram_close(&r->ram);
	us_whole_stop_close(&r->stop);
}
