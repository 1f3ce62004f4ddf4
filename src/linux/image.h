/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * image.h: a Linux kernel's image in the memory of a guest.
 *
 * On x86-64 Linux maps its image at 0xffffffff80000000 and up (Documentation/arch/x86/
 * x86_64/mm.rst, "kernel text mapping"), in one piece of physical memory.  The address
 * is a multiple of 2 MiB, chosen at random at each boot (KASLR).  uniscope finds it in
 * the page tables of any vCPU.  If a stub reads virtual addresses only, or the guest's
 * memory is scattered over the machine's, uniscope tries addresses instead.
 *
 * On other architectures the image can be anywhere in the kernel's half.  There, the
 * image is the piece of physical memory that is mapped around the pc of a vCPU in
 * kernel mode.
 *
 * The image's bytes are copied when they are first used, a block at a time.
 */
#ifndef US_LINUX_IMAGE_H
#define US_LINUX_IMAGE_H

#include "guest/paging.h"
#include "linux/arch.h"

#define US_LINUX_MAP_START     0xffffffff80000000ULL
#define US_LINUX_MAP_END       0xffffffffc0000000ULL /* modules start here with KASLR */
#define US_LINUX_MODULES_START 0xffffffffa0000000ULL /* without KASLR */
#define US_LINUX_MODULES_END   0xffffffffff000000ULL
#define US_LINUX_MAP_STEP      (2ULL << 20)
#define US_LINUX_LINKED_AT     0xffffffff81000000ULL /* _text without KASLR */
#define US_LINUX_MAX_IMAGE     (256U << 20)

/* Where the image is. */
struct us_linux_place {
	us_gva start;
	uint64_t size; /* bytes; memory that was freed after the boot leaves holes */
	bool physical; /* phys is known: the image can be read without page tables */
	us_gpa phys;   /* the physical address of start */
	const struct us_linux_arch *arch;
	struct us_space space; /* maps the whole kernel; unknown mode: a stub */
};

/* Can these registers help to locate it?  Where the kernel can be at any address, only
 * registers taken in kernel mode help. */
bool us_linux_may_locate(const struct us_regs *regs);
/*
 * Locate the image while a capture is held.  Cost: at most 512 translations, or a few
 * hundred reads through a stub; 5,000 translations where the image can be anywhere.
 * False: nothing is mapped there in this address space, or the vCPU is not in kernel
 * mode where it must be.
 */
bool us_linux_locate(struct us_paging *p, const struct us_regs *regs,
		     struct us_linux_place *ret);

/* Reads bytes of the kernel; false: not mapped. */
struct us_linux_memory {
	bool (*read)(void *ctx, us_gva va, void *buf, size_t len);
	void *ctx;
};

struct us_linux_image {
	us_gva start;
	uint64_t size;
	struct us_linux_memory memory;
	uint8_t *bytes; /* `size` of them; only pages that were read cost memory */
	uint8_t *state; /* of each page: enum in image.c */
};

/* -E2BIG: the place is larger than US_LINUX_MAX_IMAGE; -ENOMEM. */
int us_linux_image_init(struct us_linux_image *i, us_gva start, uint64_t size,
			const struct us_linux_memory *memory);
void us_linux_image_fini(struct us_linux_image *i); /* accepts a zeroed one */

/* The len bytes at va; the image owns them.  NULL: some cannot be read. */
const uint8_t *us_linux_image_at(struct us_linux_image *i, us_gva va, uint64_t len);

#endif
