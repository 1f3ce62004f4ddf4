/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pieces.c: single pages of an image that are at another address too; see images.h.
 *
 * The guest's page tables show that it is the same page, or it has the bytes of exactly
 * one page of the file.
 */
#include "cmd/record/images.h"

#include "base/clock.h"
#include "symbol/elf_file.h"

#include <string.h>

#define FIRST_NS   (10 * US_NS_PER_MS) /* between two attempts; doubles ... */
#define MOST_NS	   (4 * US_NS_PER_SEC) /* ... up to this */
#define MAX_PIECES 4		       /* of one image */
#define LEAST	   16		       /* bytes of a page that are not 0 */

/* The page of the image's file for this address; NULL: the file does not have all of
 * it. */
static const uint8_t *page_in_file(const struct us_image *m, us_gva at)
{
	const struct us_elf_file *f = us_elf_image_file(m->elf);
	const struct us_elf_code *c = us_elf_file_code(f, at);
	uint64_t off = c ? at - c->start : 0;
	if (!c || off > c->filesz || c->filesz - off < US_PIECE_SIZE)
		return NULL;
	return f->bytes + c->offset + off;
}

/* From the page tables: most kernels are contiguous in memory. */
static bool is_mapped_twice(const struct us_images *i, const struct us_place *p,
			    const struct us_live_sample *l, us_gva page, us_gva *ret_at)
{
	const struct us_space *s = &l->capture->regs.space;
	const struct us_image *m = &i->v[p->image];
	us_gva home = m->home + p->bias, va;
	us_gpa here, there, again;
	if (s->mode == US_PAGING_OFF ||
	    !us_paging_translate(l->paging, s, page, &here, NULL) ||
	    !us_paging_translate(l->paging, s, home, &there, NULL))
		return false;
	va = home + (here - there);
	*ret_at = va - p->bias;
	return va != page && us_paging_translate(l->paging, s, va, &again, NULL) &&
	       again == here &&
	       us_elf_file_code(us_elf_image_file(m->elf), *ret_at) != NULL;
}

static bool tells_something(const uint8_t bytes[US_PIECE_SIZE])
{
	unsigned n = 0;
	for (size_t k = 0; k < US_PIECE_SIZE; k++)
		n += bytes[k] != 0 && bytes[k] != bytes[0];
	return n >= LEAST;
}

/* From its bytes. */
static bool is_copied(struct us_images *i, const struct us_place *p,
		      const struct us_live_sample *l, us_gva page, us_gva *ret_at)
{
	const struct us_image *m = &i->v[p->image];
	const struct us_elf_file *f = us_elf_image_file(m->elf);
	unsigned n = 0;
	if (!us_paging_read(l->paging, &l->capture->regs.space, page, i->pieces.bytes,
			    US_PIECE_SIZE) ||
	    !tells_something(i->pieces.bytes))
		return false;
	for (size_t k = 0; k < f->n_code; k++) {
		us_gva first = (f->code[k].start + US_PIECE_SIZE - 1) &
			       ~(us_gva)(US_PIECE_SIZE - 1);
		for (us_gva at = first; at >= f->code[k].start && at < f->code[k].end;
		     at += US_PIECE_SIZE) {
			const uint8_t *bytes = page_in_file(m, at);
			if (!bytes || memcmp(bytes, i->pieces.bytes, US_PIECE_SIZE))
				continue;
			*ret_at = at;
			n++;
		}
	}
	return n == 1;
}

static bool was_tried(struct us_images *i, us_gva page)
{
	for (unsigned k = 0; k < US_MAX_TRIED; k++)
		if (i->pieces.tried[k] == page)
			return true;
	return false;
}

/* Does this very stack run the image at this place?  If the image moved, it does not,
 * and the page tables prove nothing. */
static bool is_at_work(const struct us_images *i, const struct us_place *p,
		       const struct us_stack *s)
{
	const struct us_image *m = &i->v[p->image];
	for (unsigned k = 0; k < s->n; k++)
		if (us_elf_file_code(us_elf_image_file(m->elf), s->pc[k] - p->bias))
			return true;
	return false;
}

/* Do the neighbouring pages differ from the image?  If not, the whole image is there
 * once more. */
static bool is_alone(struct us_images *i, const struct us_image *m,
		     const struct us_live_sample *l, us_gva page, us_gva at)
{
	const int64_t beside[] = { -US_PIECE_SIZE, US_PIECE_SIZE };
	for (unsigned k = 0; k < 2; k++) {
		us_gva off = (us_gva)beside[k];
		const uint8_t *bytes = page_in_file(m, at + off);
		if (bytes &&
		    us_paging_read(l->paging, &l->capture->regs.space, page + off,
				   i->pieces.bytes, US_PIECE_SIZE) &&
		    !memcmp(bytes, i->pieces.bytes, US_PIECE_SIZE))
			return false;
	}
	return true;
}

static bool has_enough(const struct us_images *i, uint8_t image)
{
	unsigned n = 0;
	for (size_t k = 0; k < i->n_place; k++)
		n += i->place[k].image == image && i->place[k].end;
	return n >= MAX_PIECES;
}

/* Only for kernels, which are in all address spaces. */
static bool find(struct us_images *i, const struct us_live_sample *l, us_gva page)
{
	for (size_t k = 0; k < i->n_place; k++) {
		const struct us_place p = i->place[k];
		us_gva at;
		if (p.match != US_MATCH_YES || p.until_ns || p.end || p.root ||
		    has_enough(i, p.image))
			continue;
		bool twice = is_at_work(i, &p, l->stack) &&
			     is_mapped_twice(i, &p, l, page, &at);
		if (!twice && (!is_copied(i, &p, l, page, &at) ||
			       !is_alone(i, &i->v[p.image], l, page, at)))
			continue;
		us_images_set_piece(i,
				    &(struct us_place){ .image = p.image,
							.match = US_MATCH_YES,
							.bias = page - at,
							.from_ns = p.from_ns,
							.ok_ns = l->t_ns,
							.start = page,
							.end = page + US_PIECE_SIZE });
		return true;
	}
	return false;
}

static bool is_kernel_placed(const struct us_images *i)
{
	for (size_t k = 0; k < i->n_place; k++)
		if (i->place[k].match == US_MATCH_YES && !i->place[k].until_ns &&
		    !i->place[k].root && !i->place[k].end)
			return true;
	return false;
}

/* How many frames, counted from the outermost, were in images the last time. */
static unsigned n_known(const struct us_images *i, const struct us_stack *s)
{
	const us_gva *known = i->pieces.known + US_MAX_FRAMES;
	unsigned n = 0, most = i->pieces.n_known < s->n ? i->pieces.n_known : s->n;
	if (i->pieces.known_changes !=
	    atomic_load_explicit(&i->changes, memory_order_relaxed))
		return 0;
	while (n < most && *--known == s->pc[s->n - 1 - n])
		n++;
	return n;
}

static void set_known(struct us_images *i, const struct us_stack *s, unsigned n_new)
{
	memcpy(i->pieces.known + US_MAX_FRAMES - s->n, s->pc, n_new * sizeof(s->pc[0]));
	i->pieces.n_known = s->n;
	i->pieces.known_changes = atomic_load_explicit(&i->changes,
						       memory_order_relaxed);
}

bool us_images_find_piece(struct us_images *i, const struct us_live_sample *l)
{
	const struct us_stack *s = l->stack;
	if (l->t_ns < i->pieces.next_ns || !is_kernel_placed(i))
		return false;
	unsigned n = s->n - n_known(i, s);
	bool all = true;
	for (unsigned k = 0; k < n; k++) {
		us_gva page = s->pc[k] & ~(us_gva)(US_PIECE_SIZE - 1);
		bool user = k ? s->flags[k] & US_PC_USER : l->capture->regs.user;
		bool tried = !user && was_tried(i, page);
		all &= !user && !tried;
		if (user || tried || us_images_cover(i, 0, s->pc[k]))
			continue;
		i->pieces.tried[i->pieces.n_tried++ % US_MAX_TRIED] = page;
		if (find(i, l, page))
			return true;
		uint64_t pause = 2 * i->pieces.pause_ns;
		pause = pause < FIRST_NS ? FIRST_NS : pause > MOST_NS ? MOST_NS : pause;
		i->pieces.pause_ns = i->hasty ? 0 : pause;
		i->pieces.next_ns = l->t_ns + i->pieces.pause_ns;
		return false;
	}
	if (all)
		set_known(i, s, n);
	return false;
}
