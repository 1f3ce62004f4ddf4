/* SPDX-License-Identifier: GPL-2.0-or-later */
/* xen/calls.c: see xen/calls.h; with libxencall and libxenforeignmemory. */
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

#define MAX_OPS	   (1 + US_MAX_VCPUS + 1 + US_XEN_LOOK_REGS)
#define OLDEST	   0x12
#define NEWEST	   0x17
#define BUILT_WITH XEN_DOMCTL_INTERFACE_VERSION
/* The first version whose getdomaininfo tells which devices are emulated. */
#define HAS_DEVICES 0x15

/* What Xen fills in for a vCPU. */
union vcpu_regs {
	struct vcpu_guest_context context;
#ifdef __x86_64__
	struct hvm_hw_cpu hvm;
#endif
} __attribute__((aligned(64)));

/* Memory that Xen can access at any time.  A sample takes what it needs from `bytes` in
 * order, so few vCPUs touch few pages. */
struct buffer {
	struct xen_domctl op;
	struct xen_domctl unpause; /* Xen does not change it */
	uint8_t bytes[MAX_OPS *
			      (sizeof(multicall_entry_t) + sizeof(struct xen_domctl)) +
		      (US_XEN_LOOK_REGS + 1) * sizeof(union vcpu_regs)]
		__attribute__((aligned(64)));
};
#define BUFFER_PAGES ((sizeof(struct buffer) + US_XEN_PAGE - 1) / US_XEN_PAGE)

/* The requests of a sample, in the buffer. */
struct script {
	unsigned n, at; /* requests; the next whose answer is taken */
	multicall_entry_t *entry;
	struct xen_domctl *op;
	union vcpu_regs *regs;
	/* What they ask for: the next sample mostly asks for the same.  n 0: no
	 * requests. */
	bool state, pause;
	uint8_t kind;
	uint32_t domain;
	uint64_t vcpus, of_regs;
};

struct handle {
	struct us_xen_libs *libs;
	xencall_handle *call;
	xenforeignmemory_handle *memory;
	struct buffer *buffer;
	struct script script;
	uint32_t version; /* of the domctl interface */
	char how[64];
};

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

static int call(struct handle *h, struct xen_domctl *op)
{
	int r = h->libs->call1(h->call, __HYPERVISOR_domctl, (uint64_t)(uintptr_t)op);
	return r < 0 ? -errno : 0;
}

static int domctl(struct handle *h)
{
	return call(h, &h->buffer->op);
}

static int call_pause(void *ctx, uint32_t domain)
{
	prepare(ctx, XEN_DOMCTL_pausedomain, domain);
	return domctl(ctx);
}

static int call_unpause(void *ctx, uint32_t domain)
{
	struct handle *h = ctx;
	struct xen_domctl *op = &h->buffer->unpause;
	/* The guest is paused until this is done, so reuse the last request if
	 * possible. */
	if (op->cmd != XEN_DOMCTL_unpausedomain || op->domain != domain)
		fill(h, op, XEN_DOMCTL_unpausedomain, domain);
	return call(h, op);
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
/* arm64 has one kind of domain, which Xen's documentation calls PVH. */
static uint8_t kind_of(const struct handle *h,
		       const struct xen_domctl_getdomaininfo *info)
{
	(void)h, (void)info;
	return US_XEN_PVH;
}
#endif

static int take_domain(const struct handle *h, const struct xen_domctl *op,
		       uint32_t domain, struct us_xen_domain *ret)
{
	const struct xen_domctl_getdomaininfo *info = &op->u.getdomaininfo;
	if (info->domain != domain) /* older Xen answers for the next domain */
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

static int call_domain(void *ctx, uint32_t domain, struct us_xen_domain *ret)
{
	struct handle *h = ctx;
	const struct xen_domctl *op = prepare(h, XEN_DOMCTL_getdomaininfo, domain);
	int r = domctl(h);
	return r < 0 ? r : take_domain(h, op, domain, ret);
}

static int call_width(void *ctx, uint32_t domain)
{
	struct xen_domctl *op = prepare(ctx, XEN_DOMCTL_get_address_size, domain);
	int r = domctl(ctx);
	return r < 0 ? r : (int)op->u.address_size.size;
}

static struct us_xen_vcpu take_vcpu(const struct xen_domctl *op)
{
	return (struct us_xen_vcpu){
		.online = op->u.getvcpuinfo.online,
		.blocked = op->u.getvcpuinfo.blocked,
		.running = op->u.getvcpuinfo.running,
		.ran_ns = op->u.getvcpuinfo.cpu_time,
	};
}

static int call_vcpu(void *ctx, uint32_t domain, unsigned vcpu, struct us_xen_vcpu *ret)
{
	struct xen_domctl *op = prepare(ctx, XEN_DOMCTL_getvcpuinfo, domain);
	op->u.getvcpuinfo.vcpu = vcpu;
	int r = domctl(ctx);
	if (r == 0)
		*ret = take_vcpu(op);
	return r;
}

static void ask_context(struct xen_domctl *op, unsigned vcpu, union vcpu_regs *to)
{
	op->cmd = XEN_DOMCTL_getvcpucontext;
	op->u.vcpucontext.vcpu = vcpu;
	set_xen_guest_handle_raw(op->u.vcpucontext.ctxt, &to->context);
}

#ifdef __x86_64__
/* A record of the save format: only this has EFER and the segments. */
static void ask_record(struct xen_domctl *op, unsigned vcpu, union vcpu_regs *to)
{
	op->cmd = XEN_DOMCTL_gethvmcontext_partial;
	op->u.hvmcontext_partial.type = HVM_SAVE_CODE(CPU);
	op->u.hvmcontext_partial.instance = vcpu;
	op->u.hvmcontext_partial.bufsz = sizeof(*to);
	set_xen_guest_handle_raw(op->u.hvmcontext_partial.buffer, (uint8_t *)to);
}

static void ask_regs(struct xen_domctl *op, const struct us_xen_domain *d,
		     unsigned vcpu, union vcpu_regs *to)
{
	if (d->kind == US_XEN_PV)
		ask_context(op, vcpu, to);
	else
		ask_record(op, vcpu, to);
}

static void take_regs(const union vcpu_regs *from, const struct us_xen_domain *d,
		      struct us_regs *ret)
{
	if (d->kind == US_XEN_PV)
		us_xen_regs_of_pv(&from->context, ret);
	else
		us_xen_regs_of_hvm(&from->hvm, ret);
}

#else
static void ask_regs(struct xen_domctl *op, const struct us_xen_domain *d,
		     unsigned vcpu, union vcpu_regs *to)
{
	(void)d;
	ask_context(op, vcpu, to);
}

static void take_regs(const union vcpu_regs *from, const struct us_xen_domain *d,
		      struct us_regs *ret)
{
	(void)d;
	us_xen_regs_of_arm64(&from->context, ret);
}
#endif

static int call_regs(void *ctx, const struct us_xen_domain *d, unsigned vcpu,
		     struct us_regs *ret)
{
	struct handle *h = ctx;
	union vcpu_regs *to = (union vcpu_regs *)h->buffer->bytes;
	h->script.n = 0; /* they are overwritten */
	ask_regs(prepare(h, 0, d->id), d, vcpu, to);
	int r = domctl(h);
	if (r == 0)
		take_regs(to, d, ret);
	return r;
}

static unsigned n_bits(uint64_t mask)
{
	return (unsigned)__builtin_popcountll(mask);
}

static void begin_script(struct handle *h, const struct us_xen_domain *d,
			 const struct us_xen_sample *l, uint64_t regs)
{
	unsigned n = l->state + n_bits(l->vcpus) + l->pause + n_bits(regs);
	struct script *s = &h->script;
	*s = (struct script){ .state = l->state,
			      .pause = l->pause,
			      .kind = d->kind,
			      .domain = d->id,
			      .vcpus = l->vcpus,
			      .of_regs = regs };
	s->entry = (multicall_entry_t *)h->buffer->bytes;
	s->op = (struct xen_domctl *)(s->entry + n);
	uintptr_t behind = (uintptr_t)(s->op + n), size = __alignof__(union vcpu_regs);
	s->regs = (union vcpu_regs *)((behind + size - 1) & ~(size - 1));
}

/* Xen writes answers next to requests and does not change the requests. */
static bool has_script(const struct script *s, const struct us_xen_domain *d,
		       const struct us_xen_sample *l, uint64_t regs)
{
	return s->n && s->state == l->state && s->pause == l->pause &&
	       s->vcpus == l->vcpus && s->of_regs == regs && s->domain == d->id &&
	       s->kind == d->kind;
}

static struct xen_domctl *add(struct handle *h, uint32_t cmd)
{
	struct xen_domctl *op = &h->script.op[h->script.n++];
	fill(h, op, cmd, h->script.domain);
	return op;
}

/* The next answer. */
static const struct xen_domctl *take(struct script *s, int *ret_code)
{
	*ret_code = (int)s->entry[s->at].result;
	return &s->op[s->at++];
}

/* Each bit of the mask, the lowest first: *v. */
static bool next_bit(uint64_t *mask, unsigned *v)
{
	if (!*mask)
		return false;
	*v = (unsigned)__builtin_ctzll(*mask);
	*mask &= *mask - 1;
	return true;
}

static void write_script(struct handle *h, const struct us_xen_domain *d,
			 const struct us_xen_sample *l, uint64_t regs)
{
	unsigned v, n = 0;
	begin_script(h, d, l, regs);
	if (l->state)
		add(h, XEN_DOMCTL_getdomaininfo);
	for (uint64_t left = l->vcpus; next_bit(&left, &v);)
		add(h, XEN_DOMCTL_getvcpuinfo)->u.getvcpuinfo.vcpu = v;
	if (l->pause)
		add(h, XEN_DOMCTL_pausedomain);
	while (next_bit(&regs, &v))
		ask_regs(add(h, 0), d, v, &h->script.regs[n++]);
}

/* xen/include/public/xen.h, HYPERVISOR_multicall: each call has its own result.  Xen
 * rewrites a call that was preempted. */
static void begin_answers(struct script *s)
{
	s->at = 0;
	for (unsigned i = 0; i < s->n; i++) {
		s->entry[i].op = __HYPERVISOR_domctl;
		s->entry[i].args[0] = (uintptr_t)&s->op[i];
	}
}

static void take_all(struct handle *h, const struct us_xen_domain *d,
		     struct us_xen_sample *l, uint64_t regs)
{
	struct script *s = &h->script;
	unsigned v, n = 0;
	int code;
	const struct xen_domctl *op = l->state ? take(s, &l->domain_code) : NULL;
	if (op && l->domain_code == 0)
		l->domain_code = take_domain(h, op, d->id, &l->domain);
	l->vcpus_known = l->regs_read = 0;
	for (uint64_t left = l->vcpus; next_bit(&left, &v);) {
		op = take(s, &code);
		l->vcpu[v] = take_vcpu(op);
		l->vcpus_known |= (uint64_t)(code == 0) << v;
	}
	if (l->pause)
		take(s, &l->pause_code);
	for (uint64_t left = regs; next_bit(&left, &v); n++) {
		take(s, &l->regs_code[v]);
		if (l->regs_code[v] == 0)
			take_regs(&s->regs[n], d, &l->reg[v]);
	}
	l->regs_read = l->pause && l->pause_code == 0 ? regs : 0;
}

static int call_sample(void *ctx, const struct us_xen_domain *d,
		       struct us_xen_sample *l)
{
	struct handle *h = ctx;
	uint64_t regs = l->pause ? l->regs : 0, more = regs;
	for (unsigned i = 0; more && i < US_XEN_LOOK_REGS; i++)
		more &= more - 1;
	regs &= ~more;
	struct script *s = &h->script;
	if (!has_script(s, d, l, regs))
		write_script(h, d, l, regs);
	begin_answers(s);
	if (h->libs->call2(h->call, __HYPERVISOR_multicall, (uintptr_t)s->entry, s->n) <
	    0)
		return -errno;
	take_all(h, d, l, regs);
	return 0;
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

/* Ask for dom0, which always exists.  Xen checks the interface version before anything
 * else.  -EACCES: it supports none of ours. */
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
		return us_fail(e, -ENOMEM, "open Xen: no memory that Xen can access");
	int r = find_version(h);
	if (r == -EACCES)
		return us_fail(e, -ENOTSUP,
			       "this Xen supports none of the versions 0x%x to 0x%x of "
			       "the domctl interface",
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
		.sample = call_sample,
		.map = call_map,
		.unmap = call_unmap,
		.how = call_how,
	};
	return &calls;
}
