/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xen/regs.h: converts registers as Xen provides them to struct us_regs.
 *
 * Formats: xen/include/public/arch-x86/xen-x86_64.h (PV), arch-x86/hvm/save.h (PVH and
 * HVM), arch-arm.h.  Only for files that are built with Xen's headers; those of x86 are
 * built on x86 alone.
 */
#ifndef US_VMM_XEN_REGS_H
#define US_VMM_XEN_REGS_H

#include "guest/regs.h"

struct vcpu_guest_context;
struct hvm_hw_cpu;

/* A vCPU of a 64-bit PV domain.  Elements of ret->gpr that are not in ret->valid stay
 * unchanged. */
void us_xen_regs_of_pv(const struct vcpu_guest_context *c, struct us_regs *ret);
/* A vCPU of a PVH or HVM domain, in any mode. */
void us_xen_regs_of_hvm(const struct hvm_hw_cpu *c, struct us_regs *ret);

/* context: a struct vcpu_guest_context of arm64. */
void us_xen_regs_of_arm64(const void *context, struct us_regs *ret);

#endif
