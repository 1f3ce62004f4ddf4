/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kallsyms_find.c: see kallsyms_find.h.
 *
 * The index of the tokens is the easiest part to recognize: 256 ascending numbers, each
 * of which points behind a NUL of the table before it.  The markers come before the
 * tokens and ascend as well.  The names come before the markers, and the number of
 * names before the names.
 */
#include "linux/kallsyms_find.h"

#include "linux/kallsyms.h"

#include <errno.h>

#define PAGE	     4096U
#define INDEX_SIZE   512U
#define TOKEN_MOST   64U
#define TABLE_MOST   (256 * (TOKEN_MOST + 1))
#define PAD	     8U		 /* tables are aligned to that at most */
#define BACK_MOST    (32U << 20) /* from the tokens back to the markers */
#define PER_MARKER   256U
#define LEAST_MARKER 3U
#define NAME_MOST    600U   /* bytes of a name as stored, on average */
#define NUMBERS_MOST 65536U /* candidates tried for one run of markers */
#define WORK_MOST    (256U << 20)

static uint32_t le32(const uint8_t *p)
{
	uint32_t v;
	memcpy(&v, p, sizeof(v));
	return v;
}

static uint16_t le16(const uint8_t *p)
{
	uint16_t v;
	memcpy(&v, p, sizeof(v));
	return v;
}

static bool spend(struct us_kallsyms_parts *p, uint64_t work)
{
	bool left = p->work >= work;
	p->work = left ? p->work - work : 0;
	return left;
}

/* --- tokens --- */

static bool index_rises(const uint8_t *index)
{
	for (unsigned k = 1; k < 256; k++)
		if (le16(index + 2 * k) <= le16(index + 2 * k - 2) ||
		    le16(index + 2 * k) > TABLE_MOST)
			return false;
	return true;
}

static bool is_name_char(char c)
{
	return c > ' ' && c < 0x7f;
}

/* Read the tokens of a table of size bytes; false: it is no such table. */
static bool take_tokens(const uint8_t *table, size_t size, const uint8_t *index,
			struct us_kallsyms_parts *ret)
{
	unsigned some = 0;
	for (unsigned k = 0; k < 256; k++) {
		size_t at = le16(index + 2 * k);
		size_t end = k < 255 ? le16(index + 2 * k + 2) : size;
		const char *token = (const char *)table + at;
		size_t len = strnlen(token, end - at);
		if (len == end - at || len > TOKEN_MOST ||
		    (k < 255 && len + 1 < end - at))
			return false;
		for (size_t c = 0; c < len; c++)
			if (!is_name_char(token[c]))
				return false;
		for (size_t c = len; c < end - at; c++)
			if (token[c])
				return false; /* not padding */
		ret->token[k] = token;
		ret->token_len[k] = (uint8_t)len;
		some += len > 0;
	}
	return some >= 64;
}

/* The table ends before its index, with padding, so the length of its last token is not
 * known. */
static bool find_table(struct us_linux_image *i, const uint8_t *index, us_gva at,
		       struct us_kallsyms_parts *ret)
{
	uint32_t last = le16(index + 2 * 255);
	for (unsigned size = last + 1; size <= last + 1 + TOKEN_MOST + PAD; size++) {
		if ((at - size) % 4)
			continue;
		const uint8_t *table = us_linux_image_at(i, at - size, size);
		if (!table)
			return false;
		if (table[le16(index + 2) - 1] || table[last - 1] || table[size - 1])
			continue;
		if (take_tokens(table, size, index, ret)) {
			ret->table_at = at - size;
			ret->index_at = at;
			return true;
		}
	}
	return false;
}

/* --- names and markers --- */

/* Skip n names from byte `from`; returns where they end, or 0. */
static size_t pass_names(const uint8_t *names, size_t size, size_t from, size_t n)
{
	for (size_t k = 0; k < n; k++) {
		size_t len, head = us_kallsyms_length(names, size, from, &len);
		if (!head)
			return 0;
		from += head + len;
	}
	return from;
}

/* Do the names that begin at `at` fit the first and the last of the markers? */
static bool names_fit(struct us_linux_image *i, us_gva at, us_gva markers_at,
		      struct us_kallsyms_parts *p)
{
	size_t size = markers_at - at, last = us_kallsyms_marker(p, p->n_marker - 1);
	const uint8_t *names = us_linux_image_at(i, at, size);
	if (!names || !spend(p, 2 * PER_MARKER) ||
	    pass_names(names, size, 0, PER_MARKER) != us_kallsyms_marker(p, 1))
		return false;
	size_t end = pass_names(names, size, last,
				p->n - PER_MARKER * (p->n_marker - 1));
	p->names = names;
	p->names_size = size;
	return end && size - end < PAD;
}

/* The number of names comes before the names.  If tables are aligned to 8, a word of
 * padding may be in between. */
static bool number_before(struct us_linux_image *i, us_gva at,
			  struct us_kallsyms_parts *p)
{
	const uint8_t *w = us_linux_image_at(i, at - 8, 8);
	if (!w)
		return false;
	bool padded = at % 8 == 0 && le32(w + 4) == 0;
	p->n = padded ? le32(w) : le32(w + 4);
	p->num_at = at - (padded ? 8 : 4);
	return p->n >= US_KALLSYMS_LEAST && p->n <= US_KALLSYMS_MOST &&
	       (p->n + PER_MARKER - 1) / PER_MARKER == p->n_marker;
}

/* How much the last marker's names take is not known: try each possible place. */
static bool find_names(struct us_linux_image *i, us_gva markers_at,
		       struct us_kallsyms_parts *p)
{
	us_gva at = (markers_at - us_kallsyms_marker(p, p->n_marker - 1) - 1) & ~3ULL;
	for (unsigned k = 0; k < NUMBERS_MOST && at > i->start + 8; k++, at -= 4) {
		if (number_before(i, at, p) && names_fit(i, at, markers_at, p))
			return true;
		if (!us_linux_image_at(i, at - 8, 8) || !spend(p, 1))
			return false;
	}
	return false;
}

/* How many ascending numbers of `size` bytes begin at p; the first is 0. */
static size_t count_markers(const uint8_t *p, size_t most, unsigned size)
{
	size_t n = 1;
	uint32_t before = 0;
	for (; n < most; n++) {
		uint32_t v = le32(p + size * n), high = le32(p + size * (n + 1) - 4);
		if (v < before + 2 * PER_MARKER || v > before + NAME_MOST * PER_MARKER)
			break;
		if (size > 4 && high)
			break;
		before = v;
	}
	return n;
}

static bool markers_at(struct us_linux_image *i, us_gva at, unsigned size,
		       struct us_kallsyms_parts *p)
{
	size_t most = (p->table_at - at) / size, cap = US_KALLSYMS_MOST / PER_MARKER;
	most = most < cap ? most : cap;
	const uint8_t *m = us_linux_image_at(i, at, size * most);
	if (!m)
		return false;
	p->markers = m;
	p->marker_size = size;
	p->n_marker = count_markers(m, most, size);
	return p->n_marker >= LEAST_MARKER && spend(p, p->n_marker) &&
	       find_names(i, at, p);
}

/* Do the words at w begin like markers of that size? */
static bool may_be_markers(const uint8_t *w, unsigned size)
{
	return (size == 4 || le32(w + 4) == 0) && count_markers(w, 3, size) == 3;
}

/* Search backwards from the tokens. */
static bool find_markers(struct us_linux_image *i, struct us_kallsyms_parts *p)
{
	us_gva at = p->table_at - 4 * LEAST_MARKER;
	for (; at > i->start && p->table_at - at < BACK_MOST; at -= 4) {
		const uint8_t *w = us_linux_image_at(i, at, 24);
		if (!w || !spend(p, 1))
			return false;
		if (le32(w))
			continue;
		if (may_be_markers(w, 4) && markers_at(i, at, 4, p))
			return true;
		if (at % 8 == 0 && may_be_markers(w, 8) && markers_at(i, at, 8, p))
			return true;
	}
	return false;
}

int us_kallsyms_find_parts(struct us_linux_image *i, struct us_kallsyms_parts *ret)
{
	us_gva end = i->start + i->size;
	memset(ret, 0, sizeof(*ret));
	ret->work = WORK_MOST;
	for (us_gva page = i->start; page < end; page += PAGE) {
		const uint8_t *p = us_linux_image_at(i, page, PAGE);
		for (us_gva at = page; p && at < page + PAGE; at += 4, p += 4) {
			/* The last word of a page tells only half of this. */
			bool may = le16(p) == 0 && le16(p + 2) > 0 &&
				   le16(p + 2) <= TOKEN_MOST + 1;
			if (!may)
				continue;
			const uint8_t *index = us_linux_image_at(i, at, INDEX_SIZE);
			if (index && index_rises(index) &&
			    find_table(i, index, at, ret) && find_markers(i, ret))
				return 0;
		}
	}
	return -ENOENT;
}
