/* SPDX-License-Identifier: GPL-2.0-or-later */
/* entry_path.c: see entry_path.h. */
#include "boot/entry_path.h"

#include <elf.h>
#include <string.h>

static const uint8_t *within(const struct us_elf_file *f,
			     const struct us_elf_segment *s, uint64_t offset, size_t *n)
{
	if (s->type != PT_LOAD || offset >= s->filesz)
		return NULL;
	*n = (size_t)(s->filesz - offset);
	return f->bytes + s->offset + offset;
}

const uint8_t *us_boot_code_at(const struct us_elf_file *f, uint64_t address,
			       size_t *ret_n)
{
	const uint8_t *p = NULL;
	for (size_t i = 0; !p && i < f->n_segment; i++)
		p = within(f, &f->segment[i], address - f->segment[i].vaddr, ret_n);
	for (size_t i = 0; !p && i < f->n_segment; i++)
		p = within(f, &f->segment[i], address - f->segment[i].paddr, ret_n);
	return p;
}

bool us_boot_number_at(const struct us_elf_file *f, uint64_t address, size_t size,
		       uint64_t *ret)
{
	size_t n;
	const uint8_t *p = us_boot_code_at(f, address, &n);
	*ret = 0;
	if (!p || n < size || size > sizeof(*ret))
		return false;
	memcpy(ret, p, size);
	return true;
}

static bool is_skipped(const struct us_boot_path *p)
{
	for (size_t i = 0; i < p->n_ahead; i++)
		if (p->ahead[i] > p->pc)
			return true;
	return false;
}

void us_boot_path_call(struct us_boot_path *p, uint64_t to, bool jump)
{
	struct us_boot_calls *c = p->calls;
	for (size_t i = 0; i < c->n; i++)
		if (c->v[i].to == to && c->v[i].jump == jump)
			return;
	if (c->n < US_BOOT_MAX_CALLS)
		c->v[c->n++] = (struct us_boot_call){ .to = to,
						      .jump = jump,
						      .skipped = is_skipped(p),
						      .narrow = p->narrow };
}

void us_boot_path_branch(struct us_boot_path *p, uint64_t to)
{
	size_t kept = 0;
	for (size_t i = 0; i < p->n_ahead; i++)
		if (p->ahead[i] > p->pc)
			p->ahead[kept++] = p->ahead[i];
	p->n_ahead = kept;
	if (to > p->pc && p->n_ahead < US_BOOT_MAX_AHEAD)
		p->ahead[p->n_ahead++] = to;
}

bool us_boot_path_end(struct us_boot_path *p)
{
	uint64_t nearest = UINT64_MAX;
	for (size_t i = 0; i < p->n_ahead; i++)
		if (p->ahead[i] > p->pc && p->ahead[i] < nearest)
			nearest = p->ahead[i];
	if (nearest == UINT64_MAX)
		return false;
	p->pc = nearest;
	return true;
}

/* A jump that a branch may skip ends an error path, or a loop. */
bool us_boot_path_jump(struct us_boot_path *p, uint64_t to)
{
	us_boot_path_call(p, to, true);
	if (is_skipped(p))
		return us_boot_path_end(p);
	p->n_ahead = 0;
	p->pc = to;
	return true;
}

void us_boot_follow_entry(const struct us_elf_file *f, uint64_t entry,
			  struct us_boot_calls *ret)
{
	struct us_boot_path p = {
		.file = f, .calls = ret, .steps = US_BOOT_MAX_STEPS, .pc = entry
	};
	ret->n = 0;
	if (f->machine == EM_X86_64 || f->machine == EM_386)
		us_boot_follow_x86(&p);
	else if (f->machine == EM_AARCH64 || f->machine == EM_RISCV)
		us_boot_follow_link(&p);
}
