/* SPDX-License-Identifier: GPL-2.0-or-later */
/* paging.c: see paging.h. */
#include "guest/paging.h"

#include "guest/paging_walk.h"

#include <string.h>

/* Bits of an entry (paging_x86.c and the others name the specifications). */
#define X86_MOVING     (3ULL << 5) /* accessed, dirty */
#define X86_NX	       (1ULL << 63)
#define X86_USER       (1ULL << 2)
#define AARCH64_MOVING (1ULL << 10 | 1ULL << 7) /* accessed; read-only: not dirty */
#define AARCH64_NEVER  (3ULL << 53)		/* PXN and UXN */
#define AARCH64_EL0    (1ULL << 6)
#define AARCH64_READ   (1ULL << 7)  /* only */
#define AARCH64_PXN    (1ULL << 53) /* of EL1 */
#define X86_ANY	       X86_USER	    /* without SMEP the kernel may execute any page */
#define RISCV_MOVING   (3ULL << 6)  /* accessed, dirty */
#define RISCV_X	       (1ULL << 3)
#define RISCV_U	       (1ULL << 4)
#define ADDRESS_52     0x000ffffffffff000ULL
#define ROOT_AS_IT_IS  UINT64_MAX

/* In the order of the members; the x86 modes differ only in their widths. */
#define X86(mask, size)                                                                \
	{                                                                              \
		us_page_walk_x86, mask, X86_MOVING, X86_NX, X86_NX, size, X86_USER,    \
			X86_ANY, 0, false                                              \
	}
#define RISCV                                                                          \
	{                                                                              \
		us_page_walk_riscv, ROOT_AS_IT_IS, RISCV_MOVING, RISCV_X, 0, 8,        \
			RISCV_U, 0, 0, false                                           \
	}

static const struct us_page_walk walks[US_PAGING_UNKNOWN] = {
	[US_PAGING_X86_32] = X86(0xfffff000, 4),
	[US_PAGING_X86_PAE] = X86(0xffffffe0, 8),
	[US_PAGING_X86_4] = X86(ADDRESS_52, 8),
	[US_PAGING_X86_5] = X86(ADDRESS_52, 8),
	[US_PAGING_AARCH64] = { us_page_walk_aarch64, ROOT_AS_IT_IS, AARCH64_MOVING,
				AARCH64_NEVER, AARCH64_NEVER, 8, AARCH64_EL0,
				AARCH64_READ, AARCH64_PXN, true },
	[US_PAGING_RISCV_39] = RISCV,
	[US_PAGING_RISCV_48] = RISCV,
	[US_PAGING_RISCV_57] = RISCV,
};

void us_paging_init(struct us_paging *p, struct us_mem *mem)
{
	memset(p, 0, sizeof(*p));
	p->mem = mem;
	p->epoch = 1;
}

void us_paging_new_sample(struct us_paging *p)
{
	us_mem_new_sample(p->mem);
	if (++p->epoch == 0)
		us_paging_init(p, p->mem);
}

static bool still_true(struct us_paging *p, const struct us_page_walk *w,
		       struct us_tlb_slot *slot)
{
	uint64_t entry = 0; /* low half first, in guests and hosts alike */
	if (slot->epoch == p->epoch)
		return true;
	if (!us_mem_read(p->mem, slot->entry_at, &entry, w->entry_size) ||
	    (entry ^ slot->entry) & ~w->moving)
		return false;
	slot->epoch = p->epoch;
	return true;
}

static bool slot_has(const struct us_tlb_slot *slot, us_gva va, us_gpa root,
		     const struct us_space *s)
{
	return va >= slot->page && va - slot->page < slot->size && slot->root == root &&
	       slot->control == s->control && slot->mode == s->mode;
}

static struct us_tlb_slot *translate(struct us_paging *p, const struct us_space *s,
				     us_gva va)
{
	const struct us_page_walk *w = &walks[s->mode];
	bool upper = w->split && va >> 55 & 1;
	us_gpa root = (upper ? s->root_upper : s->root) & w->root_mask;
	struct us_tlb_slot *slot = &p->tlb[(va >> 12 ^ va >> 18) % US_TLB_SLOTS];

	if (slot_has(slot, va, root, s) && still_true(p, w, slot))
		return slot;
	struct us_tlb_slot fresh = {
		.root = root, .control = s->control, .mode = s->mode, .epoch = p->epoch
	};
	if (!w->walk(p->mem, s, va, &fresh))
		return NULL;
	*slot = fresh;
	return slot;
}

bool us_paging_translate(struct us_paging *p, const struct us_space *s, us_gva va,
			 us_gpa *ret_pa, uint64_t *ret_left)
{
	us_gpa pa = va;
	uint64_t left = va ? -va : UINT64_MAX;

	if (s->mode >= US_PAGING_UNKNOWN)
		return false;
	if (s->mode != US_PAGING_OFF) {
		const struct us_tlb_slot *slot = translate(p, s, va);
		if (!slot)
			return false;
		pa = slot->frame + (va - slot->page);
		left = slot->size - (va - slot->page);
	}
	*ret_pa = pa;
	if (ret_left)
		*ret_left = left;
	return true;
}

const struct us_tlb_slot *us_paging_slot(struct us_paging *p, const struct us_space *s,
					 us_gva va)
{
	if (s->mode == US_PAGING_OFF || s->mode >= US_PAGING_UNKNOWN)
		return NULL;
	return translate(p, s, va);
}

bool us_paging_is_data(struct us_paging *p, const struct us_space *s, us_gva va)
{
	if (s->mode == US_PAGING_OFF || s->mode >= US_PAGING_UNKNOWN)
		return false;
	const struct us_tlb_slot *slot = translate(p, s, va);
	const struct us_page_walk *w = &walks[s->mode];
	return slot && (slot->entry & w->code_mask) == w->data;
}

bool us_paging_is_user(struct us_paging *p, const struct us_space *s, us_gva va)
{
	if (s->mode == US_PAGING_OFF || s->mode >= US_PAGING_UNKNOWN)
		return false;
	const struct us_tlb_slot *slot = translate(p, s, va);
	return slot && (slot->entry & walks[s->mode].user);
}

bool us_paging_is_user_only(struct us_paging *p, const struct us_space *s, us_gva va)
{
	if (s->mode == US_PAGING_OFF || s->mode >= US_PAGING_UNKNOWN)
		return false;
	const struct us_page_walk *w = &walks[s->mode];
	const struct us_tlb_slot *slot = translate(p, s, va);
	return slot && (slot->entry & w->user) &&
	       ((slot->entry & w->apart) || !(slot->entry & w->shared));
}

void us_paging_forget(struct us_paging *p, const struct us_space *s, us_gva va)
{
	us_gpa pa;
	if (us_paging_translate(p, s, va, &pa, NULL))
		us_mem_forget(p->mem, pa);
}

bool us_paging_read(struct us_paging *p, const struct us_space *s, us_gva va, void *buf,
		    size_t len)
{
	uint8_t *to = buf;
	if (s->mode >= US_PAGING_UNKNOWN)
		return us_mem_read_gva(p->mem, va, buf, len);
	if (len && va + (len - 1) < va)
		return false;
	while (len > 0) {
		us_gpa pa;
		uint64_t left;
		if (!us_paging_translate(p, s, va, &pa, &left))
			return false;
		size_t n = len < left ? len : left;
		if (!us_mem_read(p->mem, pa, to, n))
			return false;
		va += n;
		to += n;
		len -= n;
	}
	return true;
}
