/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xen/ctrl.c: see xen/calls.h; with libxenctrl, for a libxen that has nothing else
 * (before 4.7).  The library is linked, and supports only the version of domctl that it
 * was built for.
 */
#define XC_WANT_COMPAT_MAP_FOREIGN_API
#include "vmm/xen/calls.h"
#include "vmm/xen/regs.h"

#include <xenctrl.h>

#include <xen/hvm/save.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct handle {
	xc_interface *xc;
	xentoollog_logger silent;
	vcpu_guest_context_any_t context;
	uint8_t save[4096]; /* of a save record */
};

static void say_nothing(struct xentoollog_logger *l, xentoollog_level level, int code,
			const char *context, const char *format, va_list args)
{
	(void)l, (void)level, (void)code, (void)context, (void)format, (void)args;
}

static int result(int r)
{
	return r < 0 ? -errno : 0;
}

static int ctrl_pause(void *ctx, uint32_t domain)
{
	return result(xc_domain_pause(((struct handle *)ctx)->xc, domain));
}

static int ctrl_unpause(void *ctx, uint32_t domain)
{
	return result(xc_domain_unpause(((struct handle *)ctx)->xc, domain));
}

static int ctrl_domain(void *ctx, uint32_t domain, struct us_xen_domain *ret)
{
	struct handle *h = ctx;
	xc_domaininfo_t info;
	int r = xc_domain_getinfolist(h->xc, domain, 1, &info);
	if (r < 0)
		return -errno;
	if (r != 1 || info.domain != domain)
		return -ESRCH;
	*ret = (struct us_xen_domain){
		.id = domain,
		/* Older interfaces do not distinguish PVH from HVM. */
		.kind = info.flags & XEN_DOMINF_hvm_guest ? US_XEN_HVM : US_XEN_PV,
		.dying = info.flags & XEN_DOMINF_dying,
		.shut_down = info.flags & XEN_DOMINF_shutdown,
		.paused = info.flags & XEN_DOMINF_paused,
		.reason = (uint8_t)(info.flags >> XEN_DOMINF_shutdownshift),
		.n_vcpu = info.max_vcpu_id == XEN_INVALID_MAX_VCPU_ID
				  ? 0
				  : info.max_vcpu_id + 1,
		.memory = info.tot_pages * US_XEN_PAGE,
	};
	return 0;
}

static int ctrl_width(void *ctx, uint32_t domain)
{
	unsigned bytes = 0;
	int r = xc_domain_get_guest_width(((struct handle *)ctx)->xc, domain, &bytes);
	return r < 0 ? -errno : (int)bytes * 8;
}

static int ctrl_vcpu(void *ctx, uint32_t domain, unsigned vcpu, struct us_xen_vcpu *ret)
{
	xc_vcpuinfo_t info;
	int r = xc_vcpu_getinfo(((struct handle *)ctx)->xc, domain, vcpu, &info);
	if (r < 0)
		return -errno;
	*ret = (struct us_xen_vcpu){ .online = info.online,
				     .blocked = info.blocked,
				     .running = info.running,
				     .ran_ns = info.cpu_time };
	return 0;
}

#ifdef __x86_64__
static int ctrl_regs(void *ctx, const struct us_xen_domain *d, unsigned vcpu,
		     struct us_regs *ret)
{
	struct handle *h = ctx;
	if (d->kind != US_XEN_PV) {
		int r = xc_domain_hvm_getcontext_partial(h->xc, d->id,
							 HVM_SAVE_CODE(CPU), vcpu,
							 h->save, sizeof(h->save));
		if (r < 0)
			return -errno;
		us_xen_regs_of_hvm((const struct hvm_hw_cpu *)h->save, ret);
		return 0;
	}
	if (xc_vcpu_getcontext(h->xc, d->id, vcpu, &h->context) < 0)
		return -errno;
	us_xen_regs_of_pv(&h->context.c, ret);
	return 0;
}
#else
static int ctrl_regs(void *ctx, const struct us_xen_domain *d, unsigned vcpu,
		     struct us_regs *ret)
{
	struct handle *h = ctx;
	if (xc_vcpu_getcontext(h->xc, d->id, vcpu, &h->context) < 0)
		return -errno;
	us_xen_regs_of_arm64(&h->context.c, ret);
	return 0;
}
#endif

static const void *ctrl_map(void *ctx, uint32_t domain, const uint64_t *frame,
			    unsigned n)
{
	return xc_map_foreign_pages(((struct handle *)ctx)->xc, domain, PROT_READ,
				    (const xen_pfn_t *)frame, (int)n);
}

static void ctrl_unmap(void *ctx, const void *pages, unsigned n)
{
	(void)ctx;
	munmap((void *)(uintptr_t)pages, (size_t)n * US_XEN_PAGE);
}

static const char *ctrl_how(void *ctx)
{
	(void)ctx;
	return "libxenctrl";
}

static void ctrl_close(void *ctx)
{
	struct handle *h = ctx;
	if (h && h->xc)
		xc_interface_close(h->xc);
	free(h);
}

static int ctrl_open(void **ret, struct us_err *e)
{
	struct handle *h = calloc(1, sizeof(*h));
	if (!h)
		return us_fail(e, -ENOMEM, "open Xen: out of memory");
	h->silent.vmessage = say_nothing;
	h->xc = xc_interface_open(&h->silent, NULL, 0);
	if (!h->xc) {
		int code = -errno;
		free(h);
		us_fail(e, code, "open Xen's control interface: %s", strerror(-code));
		us_hint(e, "run uniscope as root, in dom0");
		return code;
	}
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
		.open = ctrl_open,
		.close = ctrl_close,
		.pause = ctrl_pause,
		.unpause = ctrl_unpause,
		.domain = ctrl_domain,
		.width = ctrl_width,
		.vcpu = ctrl_vcpu,
		.regs = ctrl_regs,
		.map = ctrl_map,
		.unmap = ctrl_unmap,
		.how = ctrl_how,
	};
	return &calls;
}
