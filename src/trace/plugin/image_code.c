/* SPDX-License-Identifier: GPL-2.0-or-later */
/* image_code.c: see image_code.h. */
#include "trace/plugin/image_code.h"

#include "base/search.h"

#include <string.h>

/* Versions 1 and 2 return a pointer to the bytes, later ones copy them. */
const uint8_t *us_insn_bytes(const struct qemu_plugin_insn *insn, size_t n,
			     uint8_t copy[static US_MAX_INSN])
{
	uintptr_t got = qemu_plugin_insn_data(insn, copy, n);
	return us_plugin.api < 3 ? (const uint8_t *)got : copy;
}

/* The block's code, at most max bytes; returns how many. */
static size_t block_bytes(struct qemu_plugin_tb *tb, uint8_t *ret, size_t max)
{
	size_t n = qemu_plugin_tb_n_insns(tb), at = 0;
	for (size_t i = 0; i < n && at < max; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		uint8_t copy[US_MAX_INSN];
		size_t size = qemu_plugin_insn_size(insn);
		if (size > US_MAX_INSN)
			break;
		const uint8_t *bytes = us_insn_bytes(insn, size, copy);
		for (size_t k = 0; k < size && at < max; k++)
			ret[at++] = bytes[k];
	}
	return at;
}

/* ---- Whose code it is ---- */

#define PAGE 4096U
#define ONE  (1U << 16) /* all bytes are the same */

struct likeness {
	size_t n, same; /* bytes */
};

static unsigned share_of(const struct likeness *x)
{
	return x->n ? (unsigned)(x->same * (uint64_t)ONE / x->n) : 0;
}

/* Zeros in an image may be room for data, which change. */
static void compare_bytes(const uint8_t *image, const uint8_t *there, size_t n,
			  struct likeness *x)
{
	for (size_t i = 0; i < n; i++) {
		x->n += image[i] != 0;
		x->same += image[i] && image[i] == there[i];
	}
}

/* The part of r that is in the window. */
static void compare_range(const struct us_functions *f, const struct us_code_window *w,
			  unsigned layer, const struct us_function_range *r,
			  struct likeness *x)
{
	uint64_t begin = us_layer_address(w->start, layer), n;
	uint64_t from = r->start > begin ? r->start : begin;
	uint64_t to = r->end < begin + w->n ? r->end : begin + w->n;
	const uint8_t *code = from < to ? us_functions_bytes(f, from, &n) : NULL;
	if (code)
		compare_bytes(code, w->bytes + (from - begin),
			      n < to - from ? n : to - from, x);
}

/* How much of the window's functions is the layer's code. */
static unsigned compare_layer(const struct us_functions *f,
			      const struct us_code_window *w, unsigned layer,
			      bool *ret_known)
{
	struct likeness x = { 0 };
	uint64_t begin = us_layer_address(w->start, layer), end = begin + w->n;
	size_t i = us_first_not(f->n, mid, f->v[mid].end <= begin);
	for (; i < f->n && f->v[i].start < end; i++)
		compare_range(f, w, layer, &f->v[i], &x);
	*ret_known = x.n;
	return share_of(&x);
}

struct us_code_of us_code_of(const struct us_functions *f,
			     const struct us_code_window *w, uint64_t pc)
{
	struct us_code_of ret = { .other = true };
	unsigned most = 0;
	bool named = false;
	for (unsigned k = 0; k == 0 || k < f->n_layer; k++) {
		const struct us_function_range *r = us_functions_find(
			f, us_layer_address(pc, k));
		bool known;
		unsigned share = compare_layer(f, w, k, &known);
		if (!known && r && ret.other) /* a file of names alone */
			ret = (struct us_code_of){ k, false };
		if (share < ONE / 2 || share < most || (share == most && (named || !r)))
			continue;
		ret = (struct us_code_of){ k, false };
		most = share;
		named = r;
	}
	return ret;
}

/* The page's functions, or the block's own bytes if the code is in no memory. */
struct us_code_of us_code_of_block(struct qemu_plugin_tb *tb)
{
	const struct us_functions *f = &us_plugin.points.functions;
	const struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, 0);
	uint64_t pc = qemu_plugin_insn_vaddr(insn);
	const uint8_t *there = qemu_plugin_insn_haddr(insn);
	uint8_t copy[64];
	size_t offset = there ? pc % PAGE : 0;
	struct us_code_window w = { pc - offset, there - offset, PAGE };
	if (!f->n)
		return (struct us_code_of){ 0 };
	if (!there) {
		w.bytes = copy;
		w.n = block_bytes(tb, copy, sizeof(copy));
	}
	return us_code_of(f, &w, pc);
}

void us_count_code(struct us_code_of of, uint64_t pc)
{
	const struct us_points *ps = &us_plugin.points;
	uint64_t n, at = us_layer_address(pc, of.layer);
	const struct us_function_range *r = us_functions_find(&ps->functions, at);
	if (!r || r->entry != at || !us_functions_bytes(&ps->functions, at, &n))
		return;
	uint8_t *done = &ps->compared[r - ps->functions.v];
	uint8_t what = of.other ? US_POINT_DIFFER : US_POINT_SAME;
	if (*done & what)
		return;
	*done |= what;
	us_plugin.counts->n_differ += of.other;
	us_plugin.counts->n_same += !of.other;
}

/* ---- Is it elsewhere? ---- */

void us_look_for_slide(struct qemu_plugin_tb *tb, size_t n)
{
	uint8_t code[sizeof(uint64_t)];
	uint64_t pc = n ? qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, 0)) : 0;
	if (!us_plugin.slide.n || us_points_any_at(&us_plugin.points, pc))
		return;
	size_t at = block_bytes(tb, code, sizeof(code));
	const struct us_slide_place *found =
		at == sizeof(code) ? us_slide_see(&us_plugin.slide, pc, code) : NULL;
	if (!found || found->votes < us_plugin.counts->n_slid)
		return;
	us_plugin.counts->slide = found->distance;
	us_plugin.counts->n_slid = found->votes;
}
