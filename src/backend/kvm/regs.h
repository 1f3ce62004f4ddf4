/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kvm/regs.h: converts KVM's registers to struct us_regs (include/uapi/asm/kvm.h). */
#ifndef US_BACKEND_KVM_REGS_H
#define US_BACKEND_KVM_REGS_H

#include "guest/regs.h"

#include <linux/kvm.h>

/* Of s it uses the code and stack segments, the control registers and EFER. */
void us_kvm_regs(const struct kvm_regs *r, const struct kvm_sregs *s,
		 struct us_regs *ret);

#endif
