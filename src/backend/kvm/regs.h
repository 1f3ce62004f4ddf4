/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kvm/regs.h: registers as KVM has them, in our terms (include/uapi/asm/kvm.h). */
#ifndef US_BACKEND_KVM_REGS_H
#define US_BACKEND_KVM_REGS_H

#include "guest/regs.h"

#include <linux/kvm.h>

/* Of s, the code and stack segments, the control registers and EFER count. */
void us_kvm_regs(const struct kvm_regs *r, const struct kvm_sregs *s,
		 struct us_regs *ret);

#endif
