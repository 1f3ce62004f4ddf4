/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ram_bundled.h: the RAM of a guest whose kernel is a library of its VMM.
 *
 * libkrun does not copy a kernel into RAM.  It gives the guest the mapping of
 * libkrunfw, which contains one, and RAM has a gap there (x86-64;
 * src/arch/src/x86_64/mod.rs):
 *   0            16 MiB
 *   16 MiB       the kernel, in as many 64 KiB as it has
 *   behind it    RAM, up to 0xd0000000
 *   4 GiB        the rest
 * Then follows the memory of virtio-fs, 512 MiB in a GiB of its own.  Each is a
 * mapping.  They are made in this order, so that each is below the one before.  The
 * size of RAM is in the boot parameters that the VMM has left at 0x7000
 * (Documentation/arch/x86/zero-page.rst).
 */
#ifndef US_VMM_RAM_BUNDLED_H
#define US_VMM_RAM_BUNDLED_H

#include "vmm/ram_layout.h"

#include <sys/types.h>

#define US_RAM_BUNDLED 2 /* layouts: with the memory of virtio-fs, and without */

/* Reads the boot parameters in the VMM's memory.  0: pid is no such VMM, or it may not
 * be read; else the number of possible layouts, the better first. */
unsigned us_ram_bundled(pid_t pid, const struct us_maps *maps,
			struct us_ram_layout ret[US_RAM_BUNDLED]);

#endif
