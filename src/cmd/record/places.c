/* SPDX-License-Identifier: GPL-2.0-or-later */
/* places.c: where the images lie in the guest's memory; see images.h. */
#include "cmd/record/images.h"

#include "base/clock.h"
#include "symbol/elf_file.h"

#include <string.h>

#define FIRST_NS	 (10 * US_NS_PER_MS) /* between comparisons; doubles */
#define CHECK_NS	 US_NS_PER_SEC
#define MOST_NS		 (4 * US_NS_PER_SEC)  /* ... up to this */
#define COLLECT_NS	 (50 * US_NS_PER_MS)  /* at most, for one search */
#define TURN_NS		 (200 * US_NS_PER_MS) /* at most, for another root */
#define COLLECT_SAMPLES	 32
#define WINDOWS_A_SAMPLE 4
#define ENOUGH_WINDOWS	 8

/* The address space of a capture in user code; 0 for the kernel, which is in all. */
static us_gpa root_of(const struct us_capture *c)
{
	bool own = c->regs.user && c->regs.space.mode != US_PAGING_OFF;
	return own ? c->regs.space.root & US_ROOT_MASK : 0;
}

/* The address space of an image that was seen at this bias. */
static us_gpa key_of(const struct us_images *i, size_t image, uint64_t bias,
		     const struct us_capture *c)
{
	const struct us_image *m = &i->v[image];
	bool in = us_elf_file_code(us_elf_image_file(m->elf), c->regs.pc - bias);
	us_gva at = in ? c->regs.pc : m->home + bias;
	if (at >> 63 || c->regs.space.mode == US_PAGING_OFF)
		return 0;
	return in ? root_of(c) : c->regs.space.root & US_ROOT_MASK;
}

static bool is_active(const struct us_place *p)
{
	return p->match == US_MATCH_YES && !p->until_ns;
}

static bool covers(const struct us_images *i, const struct us_place *p, us_gva pc)
{
	const struct us_elf_image *elf = i->v[p->image].elf;
	if (p->end && (pc < p->start || pc >= p->end))
		return false;
	return us_elf_file_code(us_elf_image_file(elf), pc - p->bias) != NULL;
}

/* Only kernel code has seen what a kernel has in the lower half: programs may have
 * anything at the same addresses. */
static bool holds_in(const struct us_images *i, const struct us_place *p, us_gpa root)
{
	return p->root == root || (!p->root && !us_images_is_kernels(i, p));
}

/* Is pc in an image that is known to be there? */
static bool is_known(const struct us_images *i, us_gpa root, us_gva pc)
{
	for (size_t k = 0; k < i->n_place; k++) {
		const struct us_place *p = &i->place[k];
		if (is_active(p) && holds_in(i, p, root) && covers(i, p, pc))
			return true;
	}
	return false;
}

static struct us_place *active_at(struct us_images *i, size_t image, us_gpa root)
{
	for (size_t k = 0; k < i->n_place; k++) {
		struct us_place *p = &i->place[k];
		if (p->image == image && is_active(p) && !p->end &&
		    holds_in(i, p, root))
			return p;
	}
	return NULL;
}

/* --- changes --- */

/* A sequence count: readers read again if it is odd or has changed. */
static void begin_change(struct us_images *i)
{
	atomic_fetch_add_explicit(&i->changes, 1, memory_order_acq_rel);
}

static void give_code(struct us_images *i)
{
	const struct us_code_map *next = i->own_map;
	i->cfi.n = 0;
	for (size_t k = 0; k < i->n_place; k++) {
		const struct us_place *p = &i->place[k];
		const struct us_image *m = &i->v[p->image];
		if (!is_active(p))
			continue;
		bool piece = p->end;
		i->map[k] = (struct us_code_map){
			.start = m->start,
			.n = m->n_start,
			.part = m->part,
			.n_part = m->n_part,
			.text_start = piece ? p->start - p->bias : m->text_start,
			.text_end = piece ? p->end - p->bias : m->text_end,
			.bias = p->bias,
			.root = p->root,
			.next = next
		};
		next = &i->map[k];
		/* There are fewer places than it can hold; an image that wraps round
		 * has no rules. */
		if (!piece)
			us_cfi_place(&i->cfi, m->cfi, p->bias, p->root);
	}
	if (i->own_cfi)
		us_cfi_place(&i->cfi, i->own_cfi, 0, US_CFI_ANY_ROOT);
	if (i->unwinder)
		us_unwinder_set_code(i->unwinder, next, &i->cfi);
}

static void end_change(struct us_images *i)
{
	atomic_fetch_add_explicit(&i->changes, 1, memory_order_release);
}

void us_images_own(struct us_images *i, const struct us_code_map *map,
		   const struct us_cfi_table *cfi)
{
	begin_change(i);
	i->own_map = map;
	i->own_names |= map && map->n;
	i->own_cfi = cfi;
	give_code(i);
	end_change(i);
}

void us_images_programs(struct us_images *i, const struct us_cfi *more)
{
	begin_change(i);
	i->cfi.next = more;
	give_code(i);
	end_change(i);
}

size_t us_images_places(const struct us_images *i, struct us_place ret[US_MAX_PLACES])
{
	for (;;) {
		unsigned before = atomic_load_explicit(&i->changes,
						       memory_order_acquire);
		size_t n = i->n_place;
		memcpy(ret, i->place, sizeof(i->place));
		atomic_thread_fence(memory_order_acquire);
		if (before % 2 == 0 &&
		    before == atomic_load_explicit(&i->changes, memory_order_relaxed))
			return n;
	}
}

/* The entry of an image whose place is not known yet; NULL: it has a place. */
static struct us_place *guess_of(struct us_images *i, size_t image)
{
	for (size_t k = 0; k < i->n_place; k++)
		if (i->place[k].image == image && i->place[k].match != US_MATCH_YES &&
		    !i->place[k].refused)
			return &i->place[k];
	return NULL;
}

static bool is_refused(const struct us_images *i, size_t image, uint64_t bias)
{
	for (size_t k = 0; k < i->n_place; k++)
		if (i->place[k].refused && i->place[k].image == image &&
		    i->place[k].bias == bias)
			return true;
	return false;
}

/* The image is there, and was at from_ns.  If the table is full, the place stays
 * unknown. */
static void set_place(struct us_images *i, size_t image, uint64_t bias, us_gpa root,
		      uint64_t from_ns, uint64_t now_ns)
{
	struct us_place *p = guess_of(i, image);
	const struct us_place *same = active_at(i, image, root);
	if ((same && same->bias == bias) || is_refused(i, image, bias))
		return;
	if (!p && i->n_place == US_MAX_PLACES) {
		i->full = true;
		return;
	}
	begin_change(i);
	if (!p)
		p = &i->place[i->n_place++];
	*p = (struct us_place){ .image = (uint8_t)image,
				.match = US_MATCH_YES,
				.bias = bias,
				.root = root,
				.from_ns = from_ns,
				.ok_ns = now_ns };
	give_code(i);
	end_change(i);
}

void us_images_set_piece(struct us_images *i, const struct us_place *p)
{
	if (i->n_place == US_MAX_PLACES) {
		i->full = true;
		return;
	}
	begin_change(i);
	i->place[i->n_place++] = *p;
	give_code(i);
	end_change(i);
}

/* Something else is there by now.  Samples since the image was last seen there are in
 * doubt, so it does not name them. */
static void end_place(struct us_images *i, struct us_place *p)
{
	size_t image = p->image;
	begin_change(i);
	p->until_ns = p->ok_ns ? p->ok_ns : 1;
	if (!p->end && !active_at(i, image, 0) && !guess_of(i, image) &&
	    i->n_place < US_MAX_PLACES)
		i->place[i->n_place++] = (struct us_place){ .image = (uint8_t)image,
							    .match = US_MATCH_NO,
							    .bias = i->v[image].bias };
	give_code(i);
	end_change(i);
	i->compare_ns = i->compare_pause_ns = 0;
	i->search.next_ns = i->search.pause_ns = 0;
}

/* The image never was there: it names nothing. */
static void refuse_place(struct us_images *i, struct us_place *p)
{
	begin_change(i);
	p->match = US_MATCH_NO;
	p->refused = true;
	give_code(i);
	end_change(i);
	i->search.next_ns = i->search.pause_ns = 0;
}

static void set_match(struct us_images *i, struct us_place *p, enum us_match match)
{
	if (p->match == match)
		return;
	begin_change(i);
	p->match = (uint8_t)match;
	end_change(i);
}

/* --- comparisons --- */

static bool is_same(struct us_image *m, uint64_t bias, const struct us_live_sample *l,
		    bool *ret_judged)
{
	const struct us_capture *c = l->capture;
	struct us_image_match counts;
	bool same = false;
	*ret_judged = us_elf_image_compare(m->elf, bias, c->regs.pc, l->paging,
					   &c->regs.space, &counts, &same);
	/* Nobody patches the text of a program. */
	if ((same || !*ret_judged) && c->regs.user &&
	    us_elf_image_check_at(m->elf, bias, c->regs.pc, l->paging,
				  &c->regs.space) == US_CHECK_DIFFERS) {
		*ret_judged = true;
		same = false;
	}
	if (*ret_judged && same && counts.patched)
		us_image_note_patched(m, bias, l);
	return *ret_judged && same;
}

/* The start of the recording, if the image is there at the first sample. */
static uint64_t from_of(const struct us_images *i, const struct us_live_sample *l)
{
	return i->looked ? l->t_ns : 0;
}

/* With page-table isolation the same process has two roots, on Linux a page apart: what
 * was seen through one of them was there for the other, too. */
static uint64_t from_of_pair(struct us_images *i, size_t image, us_gpa root,
			     const struct us_live_sample *l)
{
	uint64_t from_ns = from_of(i, l);
	const struct us_place *other = root && !i->no_pairs
					       ? active_at(i, image,
							   root ^ US_ROOT_OF_USER)
					       : NULL;
	if (other && other->root && other->bias == i->v[image].bias &&
	    other->from_ns < from_ns)
		return other->from_ns;
	return from_ns;
}

static void compare_guess(struct us_images *i, size_t image,
			  const struct us_live_sample *l)
{
	bool judged;
	struct us_image *m = &i->v[image];
	if (is_same(m, m->bias, l, &judged)) {
		us_gpa root = key_of(i, image, m->bias, l->capture);
		set_place(i, image, m->bias, root, from_of_pair(i, image, root, l),
			  l->t_ns);
	} else if (judged && guess_of(i, image)) {
		set_match(i, guess_of(i, image), US_MATCH_NO);
	}
}

static uint64_t next_pause(uint64_t pause_ns)
{
	if (pause_ns < FIRST_NS)
		return FIRST_NS;
	return 2 * pause_ns < MOST_NS ? 2 * pause_ns : MOST_NS;
}

/* Is this code of no known image, where the image would be? */
static bool runs_at_guess(const struct us_images *i, size_t image,
			  const struct us_capture *c)
{
	const struct us_place at = { .image = (uint8_t)image,
				     .bias = i->v[image].bias };
	return covers(i, &at, c->regs.pc) && !is_known(i, root_of(c), c->regs.pc);
}

/* What RISC-V's firmware interrupted, as if it had been captured: there page tables
 * count that do not count for the firmware.  False: there is no such frame. */
static bool find_below(const struct us_live_sample *l, struct us_capture *ret)
{
	const struct us_regs *own = &l->capture->regs;
	const struct us_stack *s = l->stack;
	struct us_space space;
	uint8_t byte;
	if (own->arch != US_ARCH_RISCV64 || !us_riscv_space_below(&own->space, &space))
		return false;
	for (unsigned k = 1; k < s->n; k++) {
		if (s->how[k] != US_HOW_INTERRUPT ||
		    !us_paging_read(l->paging, &space, s->pc[k], &byte, 1))
			continue;
		ret->regs = (struct us_regs){ .arch = own->arch,
					      .bits = own->bits,
					      .pc = s->pc[k],
					      .user = s->flags[k] & US_PC_USER,
					      .space = space };
		return true;
	}
	return false;
}

/* Compare images without a place, at doubling intervals; at once if the vCPU runs where
 * the image would be. */
static void compare_guesses(struct us_images *i, const struct us_live_sample *l)
{
	struct us_capture capture;
	struct us_live_sample below = *l;
	bool due = l->t_ns >= i->compare_ns;
	bool near = i->hasty || l->t_ns >= i->near_ns;
	below.capture = (due || near) && find_below(l, &capture) ? &capture : NULL;
	for (size_t k = 0; k < i->n; k++) {
		bool here = near && (runs_at_guess(i, k, l->capture) ||
				     (below.capture && runs_at_guess(i, k, &capture)));
		if (!here && (!due || !guess_of(i, k)))
			continue;
		compare_guess(i, k, l);
		if (below.capture)
			compare_guess(i, k, &below);
		i->near_ns = i->hasty ? 0 : l->t_ns + FIRST_NS;
	}
	if (due) {
		i->compare_ns = i->hasty ? 0 : l->t_ns + i->compare_pause_ns;
		i->compare_pause_ns = next_pause(i->compare_pause_ns);
	}
}

static void check_piece(struct us_images *i, struct us_place *p,
			const struct us_live_sample *l)
{
	const struct us_capture *c = l->capture;
	us_gva at = covers(i, p, c->regs.pc) ? c->regs.pc : p->start;
	enum us_image_check found = us_elf_image_check_at(
		i->v[p->image].elf, p->bias, at, l->paging, &c->regs.space);
	if (found == US_CHECK_DIFFERS)
		end_place(i, p);
	else if (found != US_CHECK_UNKNOWN)
		p->ok_ns = l->t_ns;
}

static void check_place(struct us_images *i, struct us_place *p,
			const struct us_live_sample *l)
{
	const struct us_capture *c = l->capture;
	struct us_image *m = &i->v[p->image];
	bool judged;
	us_gva at = covers(i, p, c->regs.pc) ? c->regs.pc : 0;
	if (p->end) {
		check_piece(i, p, l);
		return;
	}
	enum us_image_check found = us_elf_image_check(m->elf, p->bias, at, i->turn,
						       l->paging, &c->regs.space);
	if (found == US_CHECK_UNKNOWN)
		return;
	if (found == US_CHECK_PATCHED)
		us_image_note_patched(m, p->bias, l);
	if (found != US_CHECK_DIFFERS) {
		p->ok_ns = l->t_ns;
		return;
	}
	/* Perhaps this is only code that the kernel has patched, or freed after its
	 * start. */
	if (is_same(m, p->bias, l, &judged))
		p->ok_ns = l->t_ns;
	else if (judged || (p->root && at))
		end_place(i, p);
}

/* Is a program's frame of this stack in the image, at its place in another space? */
static bool has_frame_in(const struct us_images *i, const struct us_place *p,
			 const struct us_stack *s)
{
	for (unsigned k = 0; k < s->n; k++)
		if ((s->flags[k] & US_PC_USER) && covers(i, p, s->pc[k]))
			return true;
	return false;
}

/* With page-table isolation a process has two roots, on Linux a page apart.  The
 * process runs with one of them; the kernel works for it, and reads the user part of
 * its stack, with the other.  They count as a pair only if the image is seen through
 * the other one, too. */
static void pair_spaces(struct us_images *i, const struct us_live_sample *l)
{
	const struct us_capture *c = l->capture;
	us_gpa root = c->regs.space.root & US_ROOT_MASK;
	size_t n = i->n_place;
	bool judged, tried = false;
	/* Of other processors the roots are as the kernel likes: one way, by a look. */
	bool may_pair = c->regs.arch != US_ARCH_X86_64 && !(root & US_ROOT_OF_USER);
	if (c->regs.user || c->regs.space.mode == US_PAGING_OFF || l->stack->root ||
	    l->t_ns < i->pair_ns)
		return;
	for (size_t k = 0; k < n; k++) {
		const struct us_place p = i->place[k];
		bool linux_pair = i->no_pairs ? may_pair && p.root == (root |
								       US_ROOT_OF_USER)
					      : p.root == (root ^ US_ROOT_OF_USER);
		if (!is_active(&p) || p.end || !p.root || p.root == root ||
		    active_at(i, p.image, root) ||
		    (!linux_pair && !has_frame_in(i, &p, l->stack)))
			continue;
		tried = true;
		if (is_same(&i->v[p.image], p.bias, l, &judged)) {
			set_place(i, p.image, p.bias, root, p.from_ns, l->t_ns);
			i->pair_pause_ns = 0;
		}
	}
	if (!tried)
		return;
	i->pair_pause_ns = next_pause(i->pair_pause_ns);
	i->pair_ns = i->hasty ? 0 : l->t_ns + i->pair_pause_ns;
}

static void check_places(struct us_images *i, const struct us_live_sample *l)
{
	us_gpa root = root_of(l->capture);
	if (l->t_ns < i->check_ns)
		return;
	i->check_ns = l->t_ns + CHECK_NS;
	i->turn++;
	for (size_t k = 0; k < i->n_place; k++)
		if (is_active(&i->place[k]) && holds_in(i, &i->place[k], root))
			check_place(i, &i->place[k], l);
}

/* Does enough of the sampled code differ?  A kernel patches its own text and may run
 * there most of the time.  Its build-id decides; without one the answer takes different
 * places and a quarter of the samples. */
static bool is_another_build(const struct us_place *p)
{
	return p->root ||
	       (p->differ_at[US_MAX_DIFFER - 1] && p->n_differ * 3 > p->n_same);
}

static void note_differs(struct us_place *p, us_gva pc)
{
	p->n_differ++;
	for (size_t k = 0; k < US_MAX_DIFFER; k++) {
		if (p->differ_at[k] == pc)
			return;
		if (!p->differ_at[k]) {
			p->differ_at[k] = pc;
			return;
		}
	}
}

static void check_here(struct us_images *i, const struct us_live_sample *l)
{
	const struct us_capture *c = l->capture;
	us_gpa root = root_of(c);
	if (l->t_ns < i->here_ns)
		return;
	i->here_ns = l->t_ns + FIRST_NS;
	for (size_t k = 0; k < i->n_place; k++) {
		struct us_place *p = &i->place[k];
		if (!is_active(p) || p->root != root || !covers(i, p, c->regs.pc))
			continue;
		const struct us_elf_image *elf = i->v[p->image].elf;
		switch (us_elf_image_check_at(elf, p->bias, c->regs.pc, l->paging,
					      &c->regs.space)) {
		case US_CHECK_UNKNOWN:
			break;
		case US_CHECK_PATCHED:
			us_image_note_patched(&i->v[p->image], p->bias, l);
			/* fall through */
		case US_CHECK_SAME:
			p->n_same++;
			break;
		case US_CHECK_DIFFERS:
			if (!p->root && us_elf_image_is_build(elf, p->bias, l->paging,
							      &c->regs.space))
				return;
			note_differs(p, c->regs.pc & ~127ULL);
			if (is_another_build(p))
				refuse_place(i, p);
			return;
		}
	}
}

/* --- the search --- */

static bool has_window(const struct us_search *s, us_gva pc)
{
	for (size_t k = 0; k < s->n_window; k++)
		if (pc - s->window[k].start < US_FIND_WINDOW)
			return true;
	return false;
}

static void collect_windows(struct us_images *i, const struct us_live_sample *l,
			    us_gpa root)
{
	struct us_search *s = &i->search;
	const struct us_stack *stack = l->stack;
	unsigned added = 0;
	for (unsigned k = 0;
	     k < stack->n && added < WINDOWS_A_SAMPLE && s->n_window < US_FIND_WINDOWS;
	     k++) {
		bool user = k ? stack->flags[k] & US_PC_USER : l->capture->regs.user;
		if (user != l->capture->regs.user || has_window(s, stack->pc[k]) ||
		    is_known(i, root, stack->pc[k]))
			continue;
		added++;
		s->n_window += us_find_window_read(&s->window[s->n_window], l->paging,
						   &l->capture->regs.space,
						   stack->pc[k]);
	}
}

static bool may_move(const struct us_images *i)
{
	for (size_t k = 0; k < i->n; k++)
		if (!i->v[k].fixed)
			return true;
	return false;
}

/* After a search that found nothing, other address spaces go first, if there are any: a
 * kernel may run most of the time while the image is a program's. */
static bool is_others_turn(struct us_search *s, us_gpa root, uint64_t now_ns)
{
	if (root != s->root)
		s->other_ns = now_ns;
	return root == s->root && s->rounds && !s->n_found && s->other_ns &&
	       now_ns < s->other_ns + TURN_NS && now_ns < s->next_ns + TURN_NS;
}

/* Collect windows of code that the guest runs outside of known images. */
static void collect(struct us_images *i, const struct us_live_sample *l)
{
	struct us_search *s = &i->search;
	us_gpa root = root_of(l->capture);
	if (!may_move(i) || (!s->samples && is_known(i, root, l->capture->regs.pc)))
		return;
	if (!s->samples && is_others_turn(s, root, l->t_ns))
		return;
	if (l->t_ns < s->next_ns)
		return;
	if (!s->samples) {
		s->n_window = 0;
		s->root = root;
		s->begun_ns = from_of(i, l);
	}
	if (s->root == root)
		collect_windows(i, l, root);
	s->samples++;
	if (!i->hasty && s->n_window < ENOUGH_WINDOWS && s->samples < COLLECT_SAMPLES &&
	    l->t_ns < s->begun_ns + COLLECT_NS)
		return;
	s->samples = 0;
	s->next_ns = i->hasty ? 0 : l->t_ns + s->pause_ns;
	/* Searches of the warm-up must not make the first ones that count rare. */
	if (!i->hasty)
		s->pause_ns = next_pause(s->pause_ns);
	s->rounds++;
	if (s->n_window)
		atomic_store_explicit(&s->state, US_SEARCH_RUN, memory_order_release);
}

void us_images_search(struct us_images *i)
{
	struct us_search *s = &i->search;
	struct us_image_found f;
	if (atomic_load_explicit(&s->state, memory_order_acquire) != US_SEARCH_RUN)
		return;
	/* Mostly search likely places, and now and then every byte. */
	bool anywhere = s->rounds % 4 == 3;
	s->n_found = 0;
	for (size_t k = 0; k < i->n; k++) {
		if (i->v[k].fixed || !us_elf_image_search(i->v[k].elf, s->window,
							  s->n_window, anywhere, &f))
			continue;
		s->ambiguous |= f.ambiguous;
		if (f.ambiguous)
			continue;
		s->found[s->n_found].image = (uint8_t)k;
		s->found[s->n_found++].bias = f.bias;
	}
	atomic_store_explicit(&s->state,
			      s->n_found ? US_SEARCH_VERIFY : US_SEARCH_COLLECT,
			      memory_order_release);
}

/* In a sample: compare the whole image at the place that its windows gave. */
static void verify(struct us_images *i, const struct us_live_sample *l)
{
	struct us_search *s = &i->search;
	bool judged;
	if (s->root && s->root != root_of(l->capture)) {
		/* Another program runs: wait, but not forever. */
		if (l->t_ns > s->next_ns + US_NS_PER_SEC)
			atomic_store_explicit(&s->state, US_SEARCH_COLLECT,
					      memory_order_release);
		return;
	}
	for (size_t k = 0; k < s->n_found; k++) {
		size_t image = s->found[k].image;
		uint64_t bias = s->found[k].bias;
		if (is_same(&i->v[image], bias, l, &judged))
			set_place(i, image, bias, s->root, s->begun_ns, l->t_ns);
	}
	atomic_store_explicit(&s->state, US_SEARCH_COLLECT, memory_order_release);
}

/* A program that runs with an even root: this kernel has no pairs of them, and roots
 * that are a page apart are two processes'. */
static void look_for_pairs(struct us_images *i, const struct us_regs *regs)
{
	bool runs = regs->user && !regs->space_old &&
		    regs->space.mode != US_PAGING_OFF &&
		    regs->space.mode != US_PAGING_UNKNOWN;
	i->no_pairs |= regs->arch != US_ARCH_X86_64 ||
		       (runs && !(regs->space.root & US_ROOT_OF_USER));
}

void us_images_sample(struct us_images *i, const struct us_live_sample *l)
{
	if (!i->n)
		return;
	look_for_pairs(i, &l->capture->regs);
	check_places(i, l);
	check_here(i, l);
	compare_guesses(i, l);
	pair_spaces(i, l);
	us_images_find_piece(i, l);
	us_images_note_missed(i, l);
	switch (atomic_load_explicit(&i->search.state, memory_order_acquire)) {
	case US_SEARCH_COLLECT:
		collect(i, l);
		break;
	case US_SEARCH_VERIFY:
		verify(i, l);
		break;
	}
	i->looked = true;
}

bool us_images_cover(const struct us_images *i, us_gpa root, us_gva pc)
{
	return is_known(i, root, pc);
}

bool us_images_know(const struct us_images *i, const struct us_capture *c)
{
	return !i->n || is_known(i, root_of(c), c->regs.pc);
}
