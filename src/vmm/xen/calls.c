/* SPDX-License-Identifier: GPL-2.0-or-later */
/* xen/calls.c: see xen/calls.h; by libxencall and libxenforeignmemory. */
#define __XEN_TOOLS__ /* domctl is the toolstack's */
#include "vmm/xen/calls.h"
#include "base/cleanup.h"
#include "vmm/xen/libs.h"
#include "vmm/xen/regs.h"

#include <xen/xen.h>

#include <xen/domctl.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define BUFFER_PAGES 4
#define OLDEST	     0x12
#define NEWEST	     0x17
#define BUILT_WITH   XEN_DOMCTL_INTERFACE_VERSION
/* The first version whose getdomaininfo tells which devices are emulated. */
#define HAS_DEVICES 0x15

struct handle {
	struct us_xen_libs *libs;
	xencall_handle *call;
	xenforeignmemory_handle *memory;
	/* Memory that Xen can reach, and at any time: */
	struct buffer {
		struct xen_domctl op;
		struct xen_domctl first; /* of two in one call */
		multicall_entry_t both[2];
		union {
			struct vcpu_guest_context context;
#ifdef __x86_64__
			struct hvm_hw_cpu hvm;
#endif
		} regs __attribute__((aligned(64)));
	} * buffer;
	uint32_t version; /* of the domctl interface */
	char how[64];
};

_Static_assert(sizeof(struct buffer) <= BUFFER_PAGES * US_XEN_PAGE, "buffer");
_Static_assert(sizeof(xen_pfn_t) == sizeof(uint64_t), "a frame number");

static void fill(const struct handle *h, struct xen_domctl *op, uint32_t cmd,
		 uint32_t domain)
{
	memset(op, 0, sizeof(*op));
	op->cmd = cmd;
	op->interface_version = h->version;
	op->domain = (domid_t)domain;
}

static struct xen_domctl *prepare(struct handle *h, uint32_t cmd, uint32_t domain)
{
	fill(h, &h->buffer->op, cmd, domain);
	return &h->buffer->op;
}

static int domctl(struct handle *h)
{
	int r = h->libs->call1(h->call, __HYPERVISOR_domctl,
			       (uint64_t)(uintptr_t)&h->buffer->op);
	return r < 0 ? -errno : 0;
}

static int call_pause(void *ctx, uint32_t domain)
{
	prepare(ctx, XEN_DOMCTL_pausedomain, domain);
	return domctl(ctx);
}

static int call_unpause(void *ctx, uint32_t domain)
{
	prepare(ctx, XEN_DOMCTL_unpausedomain, domain);
	return domctl(ctx);
}

#ifdef __x86_64__
static uint8_t kind_of(const struct handle *h,
		       const struct xen_domctl_getdomaininfo *info)
{
	if (!(info->flags & XEN_DOMINF_hvm_guest))
		return US_XEN_PV;
	if (h->version < HAS_DEVICES)
		return US_XEN_HVM;
	bool devices = info->arch_config.emulation_flags & XEN_X86_EMU_IOAPIC;
	return devices ? US_XEN_HVM : US_XEN_PVH;
}
#else
/* Xen's documentation calls the one kind of domain that arm64 has PVH. */
static uint8_t kind_of(const struct handle *h,
		       const struct xen_domctl_getdomaininfo *info)
{
	(void)h, (void)info;
	return US_XEN_PVH;
}
#endif

static int call_domain(void *ctx, uint32_t domain, struct us_xen_domain *ret)
{
	struct handle *h = ctx;
	const struct xen_domctl *op = prepare(h, XEN_DOMCTL_getdomaininfo, domain);
	const struct xen_domctl_getdomaininfo *info = &op->u.getdomaininfo;
	int r = domctl(h);
	if (r < 0)
		return r;
	if (info->domain != domain) /* older Xen answers for the next one */
		return -ESRCH;
	*ret = (struct us_xen_domain){
		.id = domain,
		.kind = kind_of(h, info),
		.dying = info->flags & XEN_DOMINF_dying,
		.shut_down = info->flags & XEN_DOMINF_shutdown,
		.paused = info->flags & XEN_DOMINF_paused,
		.reason = (uint8_t)(info->flags >> XEN_DOMINF_shutdownshift),
		.n_vcpu = info->max_vcpu_id == XEN_INVALID_MAX_VCPU_ID
				  ? 0
				  : info->max_vcpu_id + 1,
		.memory = info->tot_pages * US_XEN_PAGE,
	};
	return 0;
}

static int call_width(void *ctx, uint32_t domain)
{
	struct xen_domctl *op = prepare(ctx, XEN_DOMCTL_get_address_size, domain);
	int r = domctl(ctx);
	return r < 0 ? r : (int)op->u.address_size.size;
}

static int call_vcpu(void *ctx, uint32_t domain, unsigned vcpu, struct us_xen_vcpu *ret)
{
	struct xen_domctl *op = prepare(ctx, XEN_DOMCTL_getvcpuinfo, domain);
	op->u.getvcpuinfo.vcpu = vcpu;
	int r = domctl(ctx);
	if (r < 0)
		return r;
	*ret = (struct us_xen_vcpu){
		.online = op->u.getvcpuinfo.online,
		.blocked = op->u.getvcpuinfo.blocked,
		.running = op->u.getvcpuinfo.running,
		.ran_ns = op->u.getvcpuinfo.cpu_time,
	};
	return 0;
}

static void ask_context(struct handle *h, uint32_t domain, unsigned vcpu)
{
	struct xen_domctl *op = prepare(h, XEN_DOMCTL_getvcpucontext, domain);
	op->u.vcpucontext.vcpu = vcpu;
	set_xen_guest_handle_raw(op->u.vcpucontext.ctxt, &h->buffer->regs.context);
}

#ifdef __x86_64__
/* The record of a save file: the only one that has EFER and the segments. */
static void ask_record(struct handle *h, uint32_t domain, unsigned vcpu)
{
	struct xen_domctl *op = prepare(h, XEN_DOMCTL_gethvmcontext_partial, domain);
	op->u.hvmcontext_partial.type = HVM_SAVE_CODE(CPU);
	op->u.hvmcontext_partial.instance = vcpu;
	op->u.hvmcontext_partial.bufsz = sizeof(h->buffer->regs);
	set_xen_guest_handle_raw(op->u.hvmcontext_partial.buffer,
				 (uint8_t *)&h->buffer->regs);
}

static void ask_regs(struct handle *h, const struct us_xen_domain *d, unsigned vcpu)
{
	if (d->kind == US_XEN_PV)
		ask_context(h, d->id, vcpu);
	else
		ask_record(h, d->id, vcpu);
}

static void take_regs(const struct handle *h, const struct us_xen_domain *d,
		      struct us_regs *ret)
{
	if (d->kind == US_XEN_PV)
		us_xen_regs_of_pv(&h->buffer->regs.context, ret);
	else
		us_xen_regs_of_hvm(&h->buffer->regs.hvm, ret);
}

#else
static void ask_regs(struct handle *h, const struct us_xen_domain *d, unsigned vcpu)
{
	ask_context(h, d->id, vcpu);
}

static void take_regs(const struct handle *h, const struct us_xen_domain *d,
		      struct us_regs *ret)
{
	(void)d;
	us_xen_regs_of_arm64(&h->buffer->regs.context, ret);
}
#endif

static int call_regs(void *ctx, const struct us_xen_domain *d, unsigned vcpu,
		     struct us_regs *ret)
{
	struct handle *h = ctx;
	ask_regs(h, d, vcpu);
	int r = domctl(h);
	if (r == 0)
		take_regs(h, d, ret);
	return r;
}

/* xen/include/public/xen.h, HYPERVISOR_multicall: each has a result of its own. */
static int call_pause_and_regs(void *ctx, const struct us_xen_domain *d, unsigned vcpu,
			       struct us_regs *ret, int *ret_regs)
{
	struct handle *h = ctx;
	struct buffer *b = h->buffer;
	struct xen_domctl *const op[] = { &b->first, &b->op };
	fill(h, &b->first, XEN_DOMCTL_pausedomain, d->id);
	ask_regs(h, d, vcpu);
	for (int i = 0; i < 2; i++) {
		b->both[i] = (multicall_entry_t){ .op = __HYPERVISOR_domctl };
		b->both[i].args[0] = (uintptr_t)op[i];
	}
	if (h->libs->call2(h->call, __HYPERVISOR_multicall, (uintptr_t)b->both, 2) < 0)
		return -errno;
	int paused = (int)b->both[0].result;
	*ret_regs = (int)b->both[1].result;
	if (paused == 0 && *ret_regs == 0)
		take_regs(h, d, ret);
	return paused;
}

static void call_unmap(void *ctx, const void *pages, unsigned n)
{
	struct handle *h = ctx;
	h->libs->memory_unmap(h->memory, (void *)(uintptr_t)pages, n);
}

static const void *call_map(void *ctx, uint32_t domain, const uint64_t *frame,
			    unsigned n)
{
	struct handle *h = ctx;
	int err[US_XEN_RUN] = { 0 };
	void *pages = h->libs->memory_map(h->memory, domain, PROT_READ, n,
					  (const xen_pfn_t *)frame, err);
	for (unsigned i = 0; pages && i < n; i++) {
		if (!err[i])
			continue;
		call_unmap(h, pages, n);
		pages = NULL;
	}
	return pages;
}

static const char *call_how(void *ctx)
{
	return ((struct handle *)ctx)->how;
}

static void call_close(void *ctx)
{
	struct handle *h = ctx;
	if (!h)
		return;
	if (h->buffer)
		h->libs->free_pages(h->call, h->buffer, BUFFER_PAGES);
	if (h->memory)
		h->libs->memory_close(h->memory);
	if (h->call)
		h->libs->call_close(h->call);
	free(h);
}

/* Ask for dom0, which there always is: Xen refuses a version that it does not speak
 * before anything else.  -EACCES: it speaks none of ours. */
static int find_version(struct handle *h)
{
	int r = -EACCES;
	for (uint32_t i = 0; i <= NEWEST - OLDEST + 1 && r == -EACCES; i++) {
		h->version = i ? OLDEST + i - 1 : BUILT_WITH;
		prepare(h, XEN_DOMCTL_getdomaininfo, 0);
		r = domctl(h);
	}
	return r;
}

static int fail_open(int code, struct us_err *e)
{
	us_fail(e, code, "open /dev/xen/privcmd: %s", strerror(-code));
	us_hint(e, "run uniscope as root");
	return code;
}

static int open_libs(struct handle *h, struct us_err *e)
{
	h->call = h->libs->call_open(&h->libs->silent, 0);
	if (!h->call)
		return fail_open(-errno, e);
	h->memory = h->libs->memory_open(&h->libs->silent, 0);
	if (!h->memory)
		return fail_open(-errno, e);
	h->buffer = h->libs->alloc_pages(h->call, BUFFER_PAGES);
	if (!h->buffer)
		return us_fail(e, -ENOMEM, "no memory that Xen can reach");
	int r = find_version(h);
	if (r == -EACCES)
		return us_fail(e, -ENOTSUP,
			       "this Xen speaks none of the versions 0x%x to 0x%x of "
			       "its domctl interface",
			       OLDEST, NEWEST);
	if (r < 0)
		return us_fail(e, r, "ask Xen for a domain: %s", strerror(-r));
	return 0;
}

static int call_open(void **ret, struct us_err *e)
{
	struct us_xen_libs *libs;
	int r = us_xen_libs(&libs, e);
	if (r < 0)
		return r;
	struct handle *h = calloc(1, sizeof(*h));
	if (!h)
		return us_fail(e, -ENOMEM, "open Xen: out of memory");
	h->libs = libs;
	r = open_libs(h, e);
	if (r < 0) {
		call_close(h);
		return r;
	}
	snprintf(h->how, sizeof(h->how), "libxencall, domctl 0x%x", h->version);
	*ret = h;
	return 0;
}

const struct us_xen_calls *us_xen_calls(void)
{
	static const struct us_xen_calls calls = {
#ifdef __x86_64__
		.arch = US_ARCH_X86_64,
#else
		.arch = US_ARCH_AARCH64,
#endif
		.open = call_open,
		.close = call_close,
		.pause = call_pause,
		.unpause = call_unpause,
		.domain = call_domain,
		.width = call_width,
		.vcpu = call_vcpu,
		.regs = call_regs,
		.pause_and_regs = call_pause_and_regs,
		.map = call_map,
		.unmap = call_unmap,
		.how = call_how,
	};
	return &calls;
}
