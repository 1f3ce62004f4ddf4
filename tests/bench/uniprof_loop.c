/* SPDX-License-Identifier: GPL-2.0-or-later */
/* uniprof_loop.c: see uniprof_loop.h. */
#define __XEN_TOOLS__
#include "uniprof_loop.h"
#include "bench.h"
#include "vmm/xen/libs.h"
#include "vmm/xen/regs.h"

#include <xen/xen.h>

#include <xen/domctl.h>

#include <inttypes.h>
#include <string.h>

#define MOST_FRAMES 1000 /* it has no bound: a chain that loops would never end */

#ifdef __aarch64__
typedef struct vcpu_guest_core_regs core_regs_t;
#define FRAME_POINTER	x29
#define PROGRAM_COUNTER pc64
#define regs_of		us_xen_regs_of_arm64
#else
typedef struct cpu_user_regs core_regs_t;
#define FRAME_POINTER	rbp
#define PROGRAM_COUNTER rip
#define regs_of		us_xen_regs_of_pv
#endif

struct uniprof {
	const struct us_xen_calls *calls;
	void *handle;
	struct us_xen_libs *libs;
	xencall_handle *call;
	uint32_t domain, version;
	struct us_paging *paging;
	struct us_space space;
	FILE *out;
	struct page {
		uint64_t base;
		const uint8_t *bytes;
		struct page *next;
	} * pages;
	core_regs_t last;
};

static int domctl(struct uniprof *u, uint32_t cmd, vcpu_guest_context_t *context)
{
	struct xen_domctl op;
	op.cmd = cmd;
	op.interface_version = u->version;
	op.domain = (domid_t)u->domain;
	if (context) {
		op.u.vcpucontext.vcpu = 0;
		set_xen_guest_handle_raw(op.u.vcpucontext.ctxt, context);
	}
	return u->libs->call1(u->call, __HYPERVISOR_domctl, (uintptr_t)&op);
}

struct uniprof *uniprof_new(const struct us_xen_calls *calls, void *handle,
			    uint32_t domain, struct us_paging *paging, FILE *out)
{
	struct us_err e;
	struct uniprof *u = calloc(1, sizeof(*u));
	if (!u)
		return NULL;
	*u = (struct uniprof){ .calls = calls,
			       .handle = handle,
			       .domain = domain,
			       .paging = paging,
			       .out = out };
	need(us_xen_libs(&u->libs, &e), &e);
	u->call = u->libs->call_open(NULL, 0);
	/* "libxencall, domctl 0x15" */
	const char *version = strstr(calls->how(handle), "0x");
	u->version = version ? (uint32_t)strtoul(version, NULL, 16) : 0;
	if (u->call && u->version)
		return u;
	free(u);
	return NULL;
}

static const uint8_t *map(struct uniprof *u, uint64_t va)
{
	us_gpa pa;
	if (!us_paging_translate(u->paging, &u->space, va, &pa, NULL))
		return NULL;
	uint64_t frame = pa / US_XEN_PAGE;
	return u->calls->map(u->handle, u->domain, &frame, 1);
}

static const uint8_t *find(struct uniprof *u, uint64_t va)
{
	uint64_t base = va & ~(uint64_t)(US_XEN_PAGE - 1);
	struct page **at = &u->pages;
	for (; *at; at = &(*at)->next)
		if ((*at)->base == base)
			return (*at)->bytes + (va - base);
	const uint8_t *bytes = map(u, base);
	*at = bytes ? calloc(1, sizeof(**at)) : NULL;
	if (!*at)
		return NULL;
	**at = (struct page){ .base = base, .bytes = bytes };
	return bytes + (va - base);
}

static unsigned walk(struct uniprof *u, const vcpu_guest_context_t *c)
{
	uint64_t fp = c->user_regs.FRAME_POINTER, pc = c->user_regs.PROGRAM_COUNTER;
	unsigned n = 0;
	for (; fp && n < MOST_FRAMES; n++) {
		fprintf(u->out, "%#" PRIx64 "\n", pc);
		const uint8_t *frame = find(u, fp), *ret = NULL;
		if (frame)
			ret = fp % US_XEN_PAGE + 8 < US_XEN_PAGE ? frame + 8
								 : find(u, fp + 8);
		if (!ret) {
			fprintf(u->out, "0\n\n");
			return n;
		}
		memcpy(&fp, frame, 8);
		memcpy(&pc, ret, 8);
	}
	fprintf(u->out, "1\n\n");
	return n;
}

int uniprof_trace(struct uniprof *u, unsigned *ret_frames, bool *ret_same)
{
	vcpu_guest_context_t c;
	struct us_regs r;
	if (domctl(u, XEN_DOMCTL_pausedomain, NULL) < 0)
		return -1;
	int code = domctl(u, XEN_DOMCTL_getvcpucontext, &c);
	if (code == 0 && !u->pages) { /* the addresses of its pages, once */
		regs_of(&c, &r);
		u->space = r.space;
	}
	*ret_frames = code == 0 ? walk(u, &c) : 0;
	if (domctl(u, XEN_DOMCTL_unpausedomain, NULL) < 0 || code < 0)
		return -1;
	*ret_same = memcmp(&c.user_regs, &u->last, sizeof(u->last)) == 0;
	u->last = c.user_regs;
	return 0;
}
