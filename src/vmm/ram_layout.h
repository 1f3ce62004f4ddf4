/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ram_layout.h: where a guest's RAM may be, according to the maps of its VMM or its
 * monitor.
 *
 * RAM begins at 0 and leaves a hole below 4 GiB for devices; what does not fit below
 * the hole continues at 4 GiB.  The hole begins at, all measured or read from source:
 *   QEMU pc       0xe0000000; 0xc0000000 if there is that much RAM or more
 *   QEMU q35      0xb0000000; 0x80000000 if there is that much RAM or more
 *   QEMU microvm  0xc0000000
 *   (hw/i386/pc_piix.c, pc_q35.c, microvm.c; 7.2; -machine max-ram-below-4g)
 *   Firecracker   0xd0000000 (arch/x86_64/layout.rs), newer ones 0xc0000000; these have
 *                 a second hole, from 256 to 512 GiB
 *   kvmtool       0xd0000000 (x86/include/kvm/kvm-arch.h), crosvm the same
 *   cloud-hypervisor 0xc0000000 (arch/src/x86_64/layout.rs)
 * QEMU's machine "virt" has all RAM in one run: on aarch64 from 0x40000000, on RISC-V
 * from 0x80000000 (hw/arm/virt.c, hw/riscv/virt.c; 7.2).
 *
 * A VMM may map the part below the hole first, and then the part above it.  Linux
 * assigns addresses from high to low, and shows adjacent private memory as one mapping:
 * the upper part then comes first in it (Firecracker, cloud-hypervisor).
 */
#ifndef US_VMM_RAM_LAYOUT_H
#define US_VMM_RAM_LAYOUT_H

#include "guest/regs.h"
#include "vmm/proc.h"

#include <stdbool.h>
#include <stddef.h>

#define US_RAM_PIECES  32
#define US_RAM_LAYOUTS 24

/* Runs of guest-physical memory, each one run in the VMM; sorted by gpa. */
struct us_ram_layout {
	struct us_ram_piece {
		us_gpa gpa;
		uint64_t size;
		us_hva hva;
	} piece[US_RAM_PIECES];
	unsigned n;
};

/* Append a piece; it is merged with the last one if it continues both its gpa and its
 * hva.  false: it is out of order, empty, overflows, or there is no space left. */
bool us_ram_layout_add(struct us_ram_layout *l, us_gpa gpa, uint64_t size, us_hva hva);

struct us_ram_query {
	const char *vmm, *machine; /* as us_guest.vmm and -machine have it */
	uint64_t memory;	   /* bytes; 0: not known */
	uint64_t below_4g;	   /* -machine max-ram-below-4g; 0: not given */
	us_gpa base;		   /* where RAM begins; if not at 0, there is no hole */
	const uint64_t *piece;	   /* of RAM made of several mappings, in order */
	unsigned n_piece;
};

/* Where RAM begins on aarch64 under a VMM other than QEMU; 0 if that is not known. */
us_gpa us_ram_base_aarch64(const char *vmm);

/*
 * The same for QEMU, by the path of its program and by its -machine; false if it is not
 * known.  A program whose name does not tell what it emulates, such as qemu-kvm, runs
 * guests of the host's kind: "x86_64", "aarch64" or "riscv64".
 */
bool us_ram_base_qemu(const char *exe, const char *host, const char *machine,
		      us_gpa *ret);

/* Where the hole begins for a guest with this much memory. */
uint64_t us_ram_hole(const struct us_ram_query *q);

/* Layouts that the maps allow, the most likely first; returns their number. */
unsigned us_ram_guess(const struct us_ram_query *q, const struct us_maps *maps,
		      struct us_ram_layout ret[US_RAM_LAYOUTS]);

/* RAM and ROM of the CPUs' address space in the text of `info mtree -f`; hva is 0.
 * The number of pieces, 0 if there is no such view. */
unsigned us_ram_parse_mtree(const char *text, struct us_ram_layout *ret);

/* The address in the answer to gpa2hva; 0 if it has none. */
us_hva us_ram_parse_hva(const char *text);

#endif
