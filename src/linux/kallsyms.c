/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kallsyms.c: decode the table, once kallsyms_find.c has its parts. */
#include "linux/kallsyms.h"

#include "base/search.h"
#include "linux/kallsyms_find.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_HEAD   (1U << 20) /* bytes of code before _text */
#define PAGE	   4096U
#define NAMES_MOST (96U << 20) /* bytes of names that are kept */

static uint64_t align(uint64_t v, unsigned to)
{
	return (v + to - 1) & ~(uint64_t)(to - 1);
}

/* --- names --- */

static int reserve(struct us_kallsyms *k, size_t *cap)
{
	size_t want = k->n_bytes + US_KALLSYMS_NAME_MAX + 2;
	if (want <= *cap)
		return 0;
	size_t bigger = *cap ? *cap * 2 : 64U << 10;
	if (bigger > NAMES_MOST)
		return -E2BIG;
	char *p = realloc(k->names, bigger);
	if (!p)
		return -ENOMEM;
	k->names = p;
	*cap = bigger;
	return 0;
}

/* Expand one name from its tokens; the first character is the type.  The caller has
 * reserved the room. */
static bool expand(const struct us_kallsyms_parts *p, const uint8_t *code, size_t n,
		   struct us_kallsyms *k, struct us_kallsym *ret)
{
	char *to = k->names + k->n_bytes;
	size_t len = 0, skip = 1;
	for (size_t i = 0; i < n; i++) {
		const char *token = p->token[code[i]];
		size_t add = p->token_len[code[i]];
		if (skip && add) {
			ret->type = *token++;
			add--;
			skip = 0;
		}
		if (add > US_KALLSYMS_NAME_MAX - len)
			return false;
		memcpy(to + len, token, add);
		len += add;
	}
	to[len] = '\0';
	ret->name = (uint32_t)k->n_bytes;
	k->n_bytes += len + 1;
	return !skip && len && (isalpha((unsigned char)ret->type) || ret->type == '?');
}

static int read_names(const struct us_kallsyms_parts *p, struct us_kallsyms *k)
{
	size_t cap = 0, at = 0;
	for (size_t i = 0; i < p->n; i++) {
		size_t len;
		int r = reserve(k, &cap);
		if (r < 0)
			return r;
		if (i % 256 == 0 && us_kallsyms_marker(p, i / 256) != at)
			return -EBADMSG;
		size_t head = us_kallsyms_length(p->names, p->names_size, at, &len);
		if (!head || !expand(p, p->names + at + head, len, k, &k->v[i]))
			return -EBADMSG;
		at += head + len;
	}
	k->n = p->n;
	return 0;
}

/* --- addresses --- */

struct addresses {
	uint8_t form;
	bool late;
	us_gva at;   /* of the table */
	us_gva base; /* of the word with the base, if the form has one */
};

static us_gva address(const struct addresses *a, const uint8_t *table, uint64_t base,
		      size_t i)
{
	uint64_t word;
	int32_t off;
	memcpy(&off, table + 4 * i, sizeof(off));
	switch (a->form) {
	case US_KALLSYMS_RELATIVE:
		return base + (uint32_t)off;
	case US_KALLSYMS_PERCPU:
		return off >= 0 ? (us_gva)off : base - 1 - (uint64_t)(int64_t)off;
	case US_KALLSYMS_PLACE:
		return a->at + 4 * i + (uint64_t)(int64_t)off;
	default:
		memcpy(&word, table + 8 * i, sizeof(word));
		return word;
	}
}

static bool is_start(const char *name)
{
	return !strcmp(name, "_text") || !strcmp(name, "_stext");
}

/* Do the addresses ascend, and does the kernel begin at a page of its image? */
static bool try_addresses(struct us_linux_image *img, const struct addresses *a,
			  struct us_kallsyms *k)
{
	size_t word = a->form == US_KALLSYMS_ABSOLUTE ? 8 : 4, inside = 0;
	const uint8_t *table = us_linux_image_at(img, a->at, k->n * word);
	uint64_t base = 0;
	bool starts = false;
	if (!table)
		return false;
	if (a->base) {
		const uint8_t *p = us_linux_image_at(img, a->base, sizeof(base));
		if (!p)
			return false;
		memcpy(&base, p, sizeof(base));
	}
	for (size_t i = 0; i < k->n; i++) {
		us_gva addr = address(a, table, base, i);
		if (i && addr < k->v[i - 1].addr)
			return false;
		k->v[i].addr = addr;
		if (addr - img->start >= img->size)
			continue;
		inside++;
		starts |= addr % PAGE == 0 && is_start(us_kallsym_name(k, &k->v[i]));
	}
	return starts && inside >= k->n / 2;
}

static bool read_addresses(struct us_linux_image *img,
			   const struct us_kallsyms_parts *p, struct us_kallsyms *k)
{
	us_gva after = p->index_at + 512, late = align(after, 8);
	us_gva early = p->num_at - 8 - align(4 * p->n, 8);
	const struct addresses all[] = {
		{ US_KALLSYMS_PERCPU, false, early, p->num_at - 8 },
		{ US_KALLSYMS_RELATIVE, false, early, p->num_at - 8 },
		{ US_KALLSYMS_ABSOLUTE, false, p->num_at - 8 * p->n, 0 },
		{ US_KALLSYMS_PERCPU, true, late, align(late + 4 * p->n, 8) },
		{ US_KALLSYMS_RELATIVE, true, late, align(late + 4 * p->n, 8) },
		{ US_KALLSYMS_ABSOLUTE, true, late, 0 },
		{ US_KALLSYMS_PLACE, true, align(after, 4), 0 },
		{ US_KALLSYMS_RELATIVE, true, align(after, 4),
		  align(after, 4) + 4 * p->n },
	};
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (!try_addresses(img, &all[i], k))
			continue;
		k->form = all[i].form;
		k->late = all[i].late;
		return true;
	}
	return false;
}

/* --- the whole --- */

int us_kallsyms_read(struct us_linux_image *i, struct us_kallsyms *ret,
		     struct us_err *e)
{
	struct us_kallsyms_parts p;
	memset(ret, 0, sizeof(*ret));
	int r = us_kallsyms_find_parts(i, &p);
	if (r < 0)
		return us_fail(e, r,
			       "read the guest's kallsyms: its kernel's memory has "
			       "no such table");
	ret->at = p.num_at;
	ret->token_index_at = p.index_at;
	ret->v = calloc(p.n, sizeof(*ret->v));
	r = ret->v ? read_names(&p, ret) : -ENOMEM;
	if (r == 0 && !read_addresses(i, &p, ret))
		r = -EBADMSG;
	if (r == 0)
		return 0;
	us_kallsyms_fini(ret);
	return us_fail(e, r, "read the guest's kallsyms: %s",
		       r == -EBADMSG ? "its parts do not fit together" : strerror(-r));
}

void us_kallsyms_fini(struct us_kallsyms *k)
{
	free(k->v);
	free(k->names);
	memset(k, 0, sizeof(*k));
}

const struct us_kallsym *us_kallsyms_named(const struct us_kallsyms *k,
					   const char *name)
{
	for (size_t i = 0; i < k->n; i++)
		if (!strcmp(us_kallsym_name(k, &k->v[i]), name))
			return &k->v[i];
	return NULL;
}

us_gva us_kallsyms_address(const struct us_kallsyms *k, const char *name)
{
	const struct us_kallsym *s = us_kallsyms_named(k, name);
	return s ? s->addr : 0;
}

bool us_kallsym_is_code(const struct us_kallsym *s)
{
	return s->type == 't' || s->type == 'T' || s->type == 'w' || s->type == 'W';
}

us_gva us_kallsyms_code(const struct us_kallsyms *k, us_gva text)
{
	us_gva first = text;
	for (size_t i = 0; i < k->n; i++)
		if (us_kallsym_is_code(&k->v[i]) && k->v[i].addr < first &&
		    text - k->v[i].addr <= MAX_HEAD)
			first = k->v[i].addr;
	return first;
}

const struct us_kallsym *us_kallsyms_find(const struct us_kallsyms *k, us_gva addr,
					  us_gva *ret_end)
{
	size_t next = us_first_not(k->n, mid, k->v[mid].addr <= addr);
	if (next == 0 || next == k->n)
		return NULL;
	*ret_end = k->v[next].addr;
	us_gva start = k->v[--next].addr;
	while (next > 0 && k->v[next - 1].addr == start)
		next--;
	return us_kallsym_is_code(&k->v[next]) ? &k->v[next] : NULL;
}
