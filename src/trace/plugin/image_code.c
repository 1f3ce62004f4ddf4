/* SPDX-License-Identifier: GPL-2.0-or-later */
/* image_code.c: see image_code.h. */
#include "trace/plugin/image_code.h"

#include <string.h>

/* Versions 1 and 2 return a pointer to the bytes, later ones copy them. */
const uint8_t *us_insn_bytes(const struct qemu_plugin_insn *insn, size_t n,
			     uint8_t copy[static US_MAX_INSN])
{
	uintptr_t got = qemu_plugin_insn_data(insn, copy, n);
	return us_plugin.api < 3 ? (const uint8_t *)got : copy;
}

/* Has Linux replaced the first instruction with a nop?  It does so for calls of
 * __fentry__, which its tracer puts back (arch/x86/kernel/ftrace.c), and for the
 * endbr64 of functions that have no pointers to them (alternative.c,
 * apply_ibt_endbr()).  Such a difference does not count. */
static bool is_written_over(const uint8_t *image, const uint8_t *code, size_t n)
{
	static const uint8_t nop5[] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };
	static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	static const uint8_t nop4[] = { 0x66, 0x0f, 0x1f, 0x00 };
	if (n == sizeof(nop5))
		return image[0] == 0xe8 && !memcmp(code, nop5, n);
	return n == sizeof(nop4) && !memcmp(image, endbr, n) && !memcmp(code, nop4, n);
}

void us_compare_code(const struct us_function_range *r, struct us_track_function *f,
		     const uint8_t *bytes, size_t n)
{
	static const uint8_t unknown[sizeof(r->code)];
	if (f->seen || !memcmp(r->code, unknown, sizeof(unknown)))
		return;
	f->seen = true;
	if (is_written_over(r->code, bytes, n))
		return;
	if (!memcmp(r->code, bytes, n < sizeof(r->code) ? n : sizeof(r->code)))
		us_plugin.counts->n_same++;
	else
		us_plugin.counts->n_differ++;
}

void us_look_for_slide(struct qemu_plugin_tb *tb, size_t n)
{
	uint8_t code[sizeof(uint64_t)];
	size_t at = 0;
	uint64_t pc = n ? qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, 0)) : 0;
	if (!us_plugin.slide.n || us_functions_find(&us_plugin.points.functions, pc))
		return;
	for (size_t i = 0; i < n && at < sizeof(code); i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		uint8_t copy[US_MAX_INSN];
		size_t size = qemu_plugin_insn_size(insn);
		if (size > US_MAX_INSN)
			return;
		const uint8_t *bytes = us_insn_bytes(insn, size, copy);
		for (size_t k = 0; k < size && at < sizeof(code); k++)
			code[at++] = bytes[k];
	}
	const struct us_slide_place *found =
		at == sizeof(code) ? us_slide_see(&us_plugin.slide, pc, code) : NULL;
	if (!found || found->votes < us_plugin.counts->n_slid)
		return;
	us_plugin.counts->slide = found->distance;
	us_plugin.counts->n_slid = found->votes;
}
