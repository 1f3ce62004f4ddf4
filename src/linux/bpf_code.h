/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bpf_code.h: the names of the BPF programs that a Linux kernel has compiled.
 *
 * They are in a list (kernel/bpf/core.c, "bpf_kallsyms"; Linux 5.7 and later) with the
 * names that /proc/kallsyms shows: bpf_prog_TAG_NAME, bpf_trampoline_ID, ...  The
 * member offsets come from the kernel's type information (BTF).  Programs come and go;
 * this is what there was when the list was read.
 */
#ifndef US_LINUX_BPF_CODE_H
#define US_LINUX_BPF_CODE_H

#include "linux/modules.h"

/* Their module's name, as in /proc/kallsyms. */
#define US_LINUX_BPF	 "bpf"
#define US_LINUX_MAX_BPF 16384

/* Add each as a module of one function to those that were read (or none).  What lies,
 * because it overlaps with another, is left out.  0; -ENOENT: no list, or the types are
 * not known; -ENOMEM. */
US_MUST_CHECK int us_linux_bpf_read(const struct us_btf *b, const struct us_kallsyms *k,
				    const struct us_linux_arch *arch,
				    const struct us_linux_memory *m,
				    struct us_linux_modules *add_to);

#endif
