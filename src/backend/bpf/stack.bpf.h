/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stack.bpf.h: copies the parts of a guest's stack that are needed to unwind it later:
 * the bytes from the stack pointer on, and beyond them the words that frame pointers
 * lead to.
 *
 * Nothing here is trusted: uniscope unwinds the copy by the same rules as a stopped
 * guest.
 */
#ifndef US_BACKEND_BPF_STACK_H
#define US_BACKEND_BPF_STACK_H

#include "backend/bpf/guest_memory.bpf.h"

#define WINDOW_PAGES 5
#define MAX_JUMPS    8 /* of a chain to lower addresses: into other stacks */

/* Copy wanted bytes at sp into the tail, from offset on; or fewer, up to the end of a
 * page, if these are enough.  Returns how many were copied. */
__noinline uint32_t copy_bytes(struct scratch *s, us_gva sp, uint32_t wanted,
			       uint32_t offset)
{
	uint32_t done = 0;
	if (!s || wanted > US_BPF_MAX_WINDOW || offset > US_BPF_MAX_BYTES)
		return 0;
	if (wanted > US_BPF_MAX_BYTES - offset)
		wanted = US_BPF_MAX_BYTES - offset;
	for (unsigned i = 0; i < WINDOW_PAGES; i++) {
		uint64_t at = sp + done, in_page = at & (PAGE - 1);
		uint64_t n = PAGE - in_page;
		if (done >= wanted || (done && done >= s->enough))
			break;
		if (n > wanted - done)
			n = wanted - done;
		uint64_t hva = hva_of_page(s, at - in_page);
		uint64_t to = offset + done;
		if (!hva)
			break;
		barrier_var(n);
		barrier_var(to);
		if (n > PAGE || to > TAIL_BYTES - PAGE)
			break;
		if (bpf_probe_read_user(s->tail + to, n, (const void *)(hva + in_page)))
			break;
		done += n;
	}
	return done;
}

static __always_inline bool has_window(const struct us_bpf_sample *l, us_gva sp)
{
	for (unsigned i = 0; i < US_BPF_MAX_WINDOWS; i++)
		if (i < l->n_window && sp - l->window[i].at < l->window[i].len)
			return true;
	return false;
}

/* Add the bytes from sp on as another window. */
__noinline int add_window(struct scratch *s, us_gva sp, uint32_t wanted)
{
	if (!s || has_window(&s->sample, sp))
		return 0;
	uint64_t n = s->sample.n_window;
	uint32_t offset = s->sample.frames_at;
	barrier_var(n);
	if (n >= US_BPF_MAX_WINDOWS)
		return 0;
	uint32_t len = copy_bytes(s, sp, wanted, offset);
	if (!len) /* it did not point to a stack */
		return 0;
	struct us_bpf_window *w = &s->sample.window[n];
	w->at = sp;
	w->len = len;
	w->offset = offset;
	s->sample.frames_at = offset + ((len + 7) & ~7U);
	s->sample.n_window = n + 1;
	return 0;
}

/* At the offset of a link, other stacks may have return addresses.  If a kernel's
 * stacks are not executable, an address of code is no stack. */
static __always_inline bool is_return_address(struct scratch *s, us_gva word)
{
	return is_code_of_kernel(s, word) &&
	       !is_code_of_kernel(s, s->sample.window[0].at);
}

/* Copy the other stacks that window n leads to through links at this offset in a page.
 */
/* n is as wide as a register: the verifier knows bounds only of whole registers. */
__noinline int follow_link(struct scratch *s, uint64_t n, uint32_t link,
			   uint32_t wanted)
{
	if (!s || n >= US_BPF_MAX_WINDOWS)
		return 0;
	us_gva at = s->sample.window[n].at, in_page = at & (PAGE - 1);
	uint32_t len = s->sample.window[n].len, offset = s->sample.window[n].offset;
	for (unsigned i = 0; i < WINDOW_PAGES; i++) {
		uint64_t ahead = i * PAGE + link - in_page;
		if (ahead > US_BPF_MAX_WINDOW || ahead + 8 > len)
			continue;
		uint64_t from = offset + ahead;
		barrier_var(from);
		if (from > TAIL_BYTES - 8)
			continue;
		us_gva sp = *(uint64_t *)(s->tail + from);
		if (sp && !is_return_address(s, sp))
			add_window(s, sp, wanted);
	}
	return 0;
}

static __always_inline void copy_windows(struct scratch *s,
					 const struct us_bpf_guest *g, us_gva sp,
					 uint32_t wanted)
{
	add_window(s, sp, wanted);
	for (unsigned n = 0; n < US_BPF_MAX_WINDOWS - 1 && n < s->sample.n_window; n++)
		for (unsigned i = 0; i < US_BPF_MAX_LINKS; i++)
			if (g->link[i])
				follow_link(s, n, g->link[i] & (PAGE - 1), wanted);
}

struct chain {
	struct scratch *s;
	us_gva at;
	uint32_t n, jumps;
};

/* Skip the part of the chain inside the first window; returns the first frame outside.
 */
__noinline uint64_t skip_window(struct scratch *s, us_gva at)
{
	if (!s)
		return 0;
	uint64_t start = s->sample.window[0].at, len = s->sample.window[0].len;
	for (unsigned i = 0; i < US_BPF_MAX_CHAIN; i++) {
		uint64_t off = at - start;
		if (off + 16 > len) /* both words, else the frame is copied */
			break;
		barrier_var(off);
		if (off > US_BPF_MAX_WINDOW)
			break;
		us_gva next = *(uint64_t *)(s->tail + off);
		if (next <= at)
			return next;
		at = next;
	}
	return at;
}

static long follow(uint32_t i, void *ctx)
{
	struct chain *c = ctx;
	struct scratch *s = my_scratch();
	uint64_t word[2] = { 0, 0 };
	if (!s || !c->at)
		return 1;
	uint32_t off = s->sample.frames_at +
		       s->sample.n_frame * sizeof(struct us_bpf_frame);
	if (off > TAIL_BYTES - sizeof(struct us_bpf_frame))
		return 1;
	if (!read_words(s, c->at, word))
		return 1;
	struct us_bpf_frame *f = (void *)(s->tail + off);
	f->at = c->at;
	f->caller_fp = word[0];
	f->return_address = word[1];
	s->sample.n_frame++;
	if (word[0] <= c->at && ++c->jumps > MAX_JUMPS)
		return 1;
	c->at = skip_window(s, word[0]);
	return 0;
}

static __always_inline void copy_chain(struct scratch *s, us_gva fp)
{
	struct chain c = { .at = skip_window(s, fp) };
	if (c.at)
		bpf_loop(US_BPF_MAX_CHAIN, follow, &c, 0);
}

#endif
