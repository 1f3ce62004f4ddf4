/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * image.h: a Linux kernel's image in the memory of a guest.
 *
 * On x86-64 Linux maps its image at 0xffffffff80000000 and up (Documentation/arch/x86/
 * x86_64/mm.rst, "kernel text mapping"), in one piece of physical memory, on a border
 * of 2 MiB that is drawn by lot at each boot (KASLR).  Where it lies is seen in the
 * page tables of any vCPU, or, where a stub reads virtual addresses only or the guest's
 * memory is scattered over the machine's, by trying.
 * Elsewhere it may lie anywhere in the kernel's half: there it is what is mapped around
 * a vCPU that is in the kernel, as one piece of physical memory.
 * Its bytes are then copied as they are asked for, a block at a time.
 */
#ifndef US_LINUX_IMAGE_H
#define US_LINUX_IMAGE_H

#include "guest/paging.h"
#include "linux/arch.h"

#define US_LINUX_MAP_START     0xffffffff80000000ULL
#define US_LINUX_MAP_END       0xffffffffc0000000ULL /* from here on: modules, with KASLR */
#define US_LINUX_MODULES_START 0xffffffffa0000000ULL /* if it has no KASLR */
#define US_LINUX_MODULES_END   0xffffffffff000000ULL
#define US_LINUX_MAP_STEP      (2ULL << 20)
#define US_LINUX_LINKED_AT     0xffffffff81000000ULL /* where it lies without KASLR */
#define US_LINUX_MAX_IMAGE     (256U << 20)

/* Where the image lies. */
struct us_linux_place {
	us_gva start;
	uint64_t size; /* bytes; there may be holes: what was freed after the boot */
	bool physical; /* phys is known: the bytes can be read without page tables */
	us_gpa phys;   /* of start */
	const struct us_linux_arch *arch;
	struct us_space space; /* that maps the whole kernel; unknown mode: a stub */
};

/* Can registers tell at all?  Where the kernel may be anywhere, only its own do. */
bool us_linux_may_locate(const struct us_regs *regs);
/*
 * Look for it while a capture is held: 512 translations at most, a few hundred reads by
 * a stub; 5,000 translations where it may lie anywhere.  False: nothing is mapped
 * there, in this address space; or the vCPU would have to be in the kernel.
 */
bool us_linux_locate(struct us_paging *p, const struct us_regs *regs,
		     struct us_linux_place *ret);

/* How bytes of the kernel are read; false: not mapped. */
struct us_linux_memory {
	bool (*read)(void *ctx, us_gva va, void *buf, size_t len);
	void *ctx;
};

struct us_linux_image {
	us_gva start;
	uint64_t size;
	struct us_linux_memory memory;
	uint8_t *bytes; /* size of them; only what was read costs memory */
	uint8_t *state; /* of each page: enum */
};

/* -E2BIG: the place is larger than US_LINUX_MAX_IMAGE; -ENOMEM. */
int us_linux_image_init(struct us_linux_image *i, us_gva start, uint64_t size,
			const struct us_linux_memory *memory);
void us_linux_image_fini(struct us_linux_image *i); /* accepts a zeroed one */

/* The len bytes at va, the image's; NULL: not all of them are there. */
const uint8_t *us_linux_image_at(struct us_linux_image *i, us_gva va, uint64_t len);

#endif
