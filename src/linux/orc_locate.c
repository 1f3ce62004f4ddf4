/* SPDX-License-Identifier: GPL-2.0-or-later */
/* orc_locate.c: where a kernel's ORC tables are, and whether they are valid. */
#include "linux/orc.h"

#include "base/search.h"

#include <errno.h>
#include <string.h>

#define PAGE	     4096U
#define LEAST	     512U /* entries of a table, at least */
#define SHIFTS	     3	  /* words before the table that may look like places */
#define LEAST_CHECKS 64U

/* The entry for addr: the last one at or below it. */
static const uint8_t *entry_at(const struct us_orc *o, us_gva addr)
{
	size_t next = us_first_not(o->n, mid, us_orc_place(o, mid) <= addr);
	return next ? o->entry + US_ORC_ENTRY * (next - 1) : NULL;
}

/* At a function's first instruction the return address is on top of the stack. */
static bool fits_functions(const struct us_orc *o, const struct us_orc_format *f,
			   const struct us_kallsyms *k)
{
	size_t seen = 0, fit = 0, step = k->n / 4096 + 1;
	unsigned sp = f->registers_of_7 ? 3 : 5;
	if (!o->n)
		return false;
	us_gva first = us_orc_place(o, 0), last = us_orc_place(o, o->n - 1);
	for (size_t i = 0; i < k->n; i += step) {
		const struct us_kallsym *s = &k->v[i];
		int16_t off;
		if (s->addr < first || s->addr > last || !us_kallsym_is_code(s))
			continue;
		const uint8_t *e = entry_at(o, s->addr);
		if (!e)
			continue;
		memcpy(&off, e, sizeof(off));
		seen++;
		fit += (e[4] & 15) == sp && off == 8;
	}
	return seen >= LEAST_CHECKS && fit * 10 >= seen * 8;
}

static bool believe(const struct us_orc *o, const struct us_kallsyms *k,
		    struct us_orc_format *ret)
{
	return us_orc_detect(o, ret) && fits_functions(o, ret, k);
}

static bool by_symbols(struct us_linux_image *i, const struct us_kallsyms *k,
		       struct us_orc *ret)
{
	us_gva ip = us_kallsyms_address(k, "__start_orc_unwind_ip");
	us_gva ip_end = us_kallsyms_address(k, "__stop_orc_unwind_ip");
	us_gva entry = us_kallsyms_address(k, "__start_orc_unwind");
	us_gva entry_end = us_kallsyms_address(k, "__stop_orc_unwind");
	if (!ip || ip_end <= ip || entry_end <= entry)
		return false;
	ret->n = (ip_end - ip) / 4;
	if (ret->n > US_ORC_MOST || ret->n > (entry_end - entry) / US_ORC_ENTRY)
		return false;
	ret->ip_at = ip;
	ret->ip = us_linux_image_at(i, ip, 4 * ret->n);
	ret->entry = us_linux_image_at(i, entry, US_ORC_ENTRY * ret->n);
	return ret->ip && ret->entry;
}

/* How many ascending places begin at `at`, all within the image. */
static size_t count_places(struct us_linux_image *i, us_gva at, size_t most)
{
	us_gva last = i->start;
	size_t n = 0;
	for (; n < most; n++) {
		int32_t off;
		const uint8_t *p = us_linux_image_at(i, at + 4 * n, 4);
		if (!p)
			break;
		memcpy(&off, p, sizeof(off));
		us_gva place = at + 4 * n + (uint64_t)(int64_t)off;
		if (place < last || place - i->start >= i->size)
			break;
		last = place;
	}
	return n;
}

/* By chance the run of places may begin a word or two early, or end late. */
static bool try_run(struct us_linux_image *i, us_gva at, size_t n,
		    const struct us_kallsyms *k, struct us_orc *ret,
		    struct us_orc_format *f)
{
	for (unsigned early = 0; early < SHIFTS; early++)
		for (unsigned late = 0; late < SHIFTS; late++) {
			us_gva end = at + 4 * (n - late);
			ret->n = n - early - late;
			ret->ip_at = at + 4 * early;
			ret->ip = us_linux_image_at(i, ret->ip_at, 4 * ret->n);
			ret->entry = us_linux_image_at(i, end, US_ORC_ENTRY * ret->n);
			if (ret->ip && ret->entry && believe(ret, k, f))
				return true;
		}
	return false;
}

static bool by_form(struct us_linux_image *i, const struct us_kallsyms *k,
		    struct us_orc *ret, struct us_orc_format *f)
{
	us_gva end = i->start + i->size;
	for (us_gva page = i->start; page < end; page += PAGE) {
		if (!us_linux_image_at(i, page, PAGE))
			continue;
		for (us_gva at = page; at < page + PAGE; at += 4) {
			size_t n = count_places(i, at, US_ORC_MOST);
			if (n >= LEAST && try_run(i, at, n, k, ret, f))
				return true;
			/* A run that begins inside this one ends where it ends. */
			at += n > 1 ? 4 * (n - 1) : 0;
			if (at >= page + PAGE)
				page = at & ~(us_gva)(PAGE - 1);
		}
	}
	return false;
}

int us_orc_locate(struct us_linux_image *i, const struct us_kallsyms *k,
		  struct us_orc *ret, struct us_orc_format *ret_format)
{
	if (by_symbols(i, k, ret) && believe(ret, k, ret_format))
		return 0;
	return by_form(i, k, ret, ret_format) ? 0 : -ENOENT;
}
