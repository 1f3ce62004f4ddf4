/* SPDX-License-Identifier: GPL-2.0-or-later */
/* image.c: see image.h. */
#include "linux/image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE	  4096U
#define BLOCK	  (64U << 10) /* what one read fetches */
#define HOLE_MOST 8	      /* steps that a stub may find unmapped inside */
#define GRAIN	  (64U << 10) /* step where the kernel may be at any address */
#define GAP_MOST  256	      /* of these steps may be unmapped inside */

enum {
	UNREAD,
	READ,
	MISSING,
};

/* --- where --- */

static bool translate(struct us_paging *p, const struct us_space *s, us_gva va,
		      us_gpa *ret)
{
	return us_paging_translate(p, s, va, ret, NULL);
}

/* Holes are skipped: what the kernel freed after boot is no longer mapped.  The image
 * is one piece of physical memory, so what is elsewhere is not part of it. */
static bool locate_by_tables(struct us_paging *p, const struct us_space *s,
			     struct us_linux_place *ret)
{
	us_gpa at;
	ret->size = 0;
	for (us_gva va = US_LINUX_MAP_START; va < US_LINUX_MAP_END;
	     va += US_LINUX_MAP_STEP) {
		if (!translate(p, s, va, &at))
			continue;
		if (!ret->size) {
			ret->start = va;
			ret->phys = at;
		}
		if (at - ret->phys == va - ret->start)
			ret->size = va - ret->start + US_LINUX_MAP_STEP;
	}
	ret->physical = true;
	ret->space = *s;
	return ret->size != 0;
}

static bool is_mapped(struct us_paging *p, const struct us_space *s, us_gva va)
{
	uint64_t word;
	return us_paging_read(p, s, va, &word, sizeof(word));
}

static bool in_map(us_gva va)
{
	return va >= US_LINUX_MAP_START && va < US_LINUX_MAP_END;
}

/* Search down and up from pc, which is certainly mapped. */
static bool locate_by_trying(struct us_paging *p, const struct us_space *s, us_gva pc,
			     struct us_linux_place *ret)
{
	us_gva low = pc & ~(US_LINUX_MAP_STEP - 1), high = low;
	if (!in_map(pc))
		return false;
	for (us_gva va = low; in_map(va) && low - va <= HOLE_MOST * US_LINUX_MAP_STEP;
	     va -= US_LINUX_MAP_STEP)
		if (is_mapped(p, s, va))
			low = va;
	for (us_gva va = high; in_map(va) && va - high <= HOLE_MOST * US_LINUX_MAP_STEP;
	     va += US_LINUX_MAP_STEP)
		if (is_mapped(p, s, va))
			high = va;
	ret->start = low;
	ret->size = high - low + US_LINUX_MAP_STEP;
	ret->space = *s;
	return true;
}

/* How far the piece of physical memory around pc extends, in steps of that sign.  What
 * was freed after boot leaves a gap in it. */
static us_gva end_of_piece(struct us_paging *p, const struct us_space *s, us_gva pc,
			   us_gpa phys, int64_t step)
{
	us_gva end = pc;
	us_gpa at;
	unsigned gap = 0;
	for (us_gva va = pc; gap <= GAP_MOST; va += (us_gva)step, gap++) {
		uint64_t size = step < 0 ? pc - va : va - pc;
		if (size > US_LINUX_MAX_IMAGE / 2)
			return end;
		if (!translate(p, s, va, &at) || at - phys != va - pc)
			continue;
		end = va;
		gap = 0;
	}
	return end;
}

static bool locate_around(struct us_paging *p, const struct us_space *s, us_gva pc,
			  struct us_linux_place *ret)
{
	us_gva va = pc & ~(us_gva)(GRAIN - 1);
	us_gpa phys;
	if (!(va >> 63) || !translate(p, s, va, &phys))
		return false;
	us_gva low = end_of_piece(p, s, va, phys, -(int64_t)GRAIN);
	us_gva high = end_of_piece(p, s, va, phys, GRAIN);
	ret->start = low;
	ret->size = high - low + GRAIN;
	ret->physical = true;
	ret->phys = phys - (va - low);
	ret->space = *s;
	return true;
}

static bool locate_x86(struct us_paging *p, const struct us_regs *regs,
		       struct us_linux_place *ret)
{
	/* With page-table isolation a process has two page-table roots.  The one for
	 * user mode, in the page after the other, maps little of the kernel. */
	const us_gpa user_root = 1ULL << 12;
	struct us_space s = regs->space;
	if (s.mode == US_PAGING_UNKNOWN || regs->scattered)
		return locate_by_trying(p, &s, regs->pc, ret);
	if (s.mode != US_PAGING_X86_4 && s.mode != US_PAGING_X86_5)
		return false;
	if (regs->user && s.root & user_root) {
		s.root &= ~user_root;
		if (locate_by_tables(p, &s, ret))
			return true;
		s = regs->space;
	}
	return locate_by_tables(p, &s, ret);
}

bool us_linux_may_locate(const struct us_regs *regs)
{
	return regs->arch == US_ARCH_X86_64 || !regs->user;
}

bool us_linux_locate(struct us_paging *p, const struct us_regs *regs,
		     struct us_linux_place *ret)
{
	*ret = (struct us_linux_place){ .arch = us_linux_arch(regs->arch) };
	if (!ret->arch || regs->space.mode == US_PAGING_OFF)
		return false;
	if (regs->arch == US_ARCH_X86_64)
		return locate_x86(p, regs, ret);
	return us_linux_may_locate(regs) &&
	       locate_around(p, &regs->space, regs->pc, ret);
}

/* --- its bytes --- */

int us_linux_image_init(struct us_linux_image *i, us_gva start, uint64_t size,
			const struct us_linux_memory *memory)
{
	memset(i, 0, sizeof(*i));
	if (!size || size > US_LINUX_MAX_IMAGE || start % PAGE || start > -size)
		return -E2BIG;
	size = (size + PAGE - 1) & ~(uint64_t)(PAGE - 1);
	/* Not from the heap: untouched pages cost nothing, and all go back at once. */
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return -ENOMEM;
	i->bytes = p;
	i->size = size;
	i->start = start;
	i->memory = *memory;
	i->state = calloc(size / PAGE, 1);
	if (i->state)
		return 0;
	us_linux_image_fini(i);
	return -ENOMEM;
}

void us_linux_image_fini(struct us_linux_image *i)
{
	if (i->bytes)
		munmap(i->bytes, i->size);
	free(i->state);
	i->bytes = i->state = NULL;
}

static void fetch_page(struct us_linux_image *i, size_t page)
{
	size_t at = page * PAGE;
	bool got = i->memory.read(i->memory.ctx, i->start + at, i->bytes + at, PAGE);
	i->state[page] = got ? READ : MISSING;
}

/* Read the block around a page at once, or else page by page what there is of it. */
static void fetch_block(struct us_linux_image *i, size_t page)
{
	size_t per = BLOCK / PAGE, first = page - page % per;
	size_t end = first + per < i->size / PAGE ? first + per : i->size / PAGE;
	bool fresh = true;
	for (size_t k = first; k < end; k++)
		fresh &= i->state[k] == UNREAD;
	size_t at = first * PAGE;
	if (fresh && i->memory.read(i->memory.ctx, i->start + at, i->bytes + at,
				    (end - first) * PAGE)) {
		memset(i->state + first, READ, end - first);
		return;
	}
	for (size_t k = first; k < end; k++)
		if (i->state[k] == UNREAD)
			fetch_page(i, k);
}

const uint8_t *us_linux_image_at(struct us_linux_image *i, us_gva va, uint64_t len)
{
	uint64_t at = va - i->start;
	if (va < i->start || at > i->size || len > i->size - at)
		return NULL;
	for (size_t page = at / PAGE; page * PAGE < at + len; page++) {
		if (i->state[page] == UNREAD)
			fetch_block(i, page);
		if (i->state[page] == MISSING)
			return NULL;
	}
	return i->bytes + at;
}
