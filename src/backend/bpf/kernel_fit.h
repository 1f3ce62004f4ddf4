/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kernel_fit.h: can the programs run in this host's kernel?
 *
 * Its type information tells, which anybody may read, and not its release:
 * distributions port back what the programs need.
 */
#ifndef US_BACKEND_BPF_KERNEL_FIT_H
#define US_BACKEND_BPF_KERNEL_FIT_H

#include "base/err.h"

/* 0, or -EOPNOTSUPP and why not.  sys: the folder of the kernel's own files,
 * "/sys/kernel".  What cannot be read there is taken to be as it should. */
US_MUST_CHECK int us_bpf_kernel_fits(const char *sys, struct us_err *why);

#endif
