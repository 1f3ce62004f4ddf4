/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cfi_build.c: sort the rows, and share equal rules; see cfi_build.h. */
#include "unwind/cfi_build.h"

#include "base/cleanup.h"
#include "base/vec.h"
#include "unwind/cfi_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PARTS   64
#define MAX_ENDS    64 /* gaps beyond US_CFI_MAX_ROWS */
#define BUCKET_ROWS 16 /* average rows in a bucket: the offsets fill a cache line */

struct row {
	uint64_t addr;
	uint32_t id;
	uint32_t tag; /* flags, and above them the row's number: later rows win */
};
#define FLAG_BITS 3
#define FLAGS	  7U
#define MARKS	  (US_CFI_START | US_CFI_BORDER)

struct us_cfi_builder {
	struct {
		struct row *v;
		size_t n, cap;
	} rows;
	struct {
		struct us_cfi_rule *v;
		size_t n, cap;
	} rules;
	struct {
		struct us_cfi_saved *v;
		size_t n, cap;
	} saved;
	uint32_t *slot; /* hash table of rules: number + 1; 0: empty */
	size_t n_slot;	/* a power of two */
	bool unsorted, untrusted;
	uint8_t word;
};

int us_cfi_builder_new(uint8_t word, struct us_cfi_builder **ret)
{
	struct us_cfi_builder *b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	b->n_slot = 256;
	b->slot = calloc(b->n_slot, sizeof(*b->slot));
	if (!b->slot) {
		free(b);
		return -ENOMEM;
	}
	b->word = word;
	*ret = b;
	return 0;
}

void us_cfi_builder_free(struct us_cfi_builder *b)
{
	if (!b)
		return;
	free(b->rows.v);
	free(b->rules.v);
	free(b->saved.v);
	free(b->slot);
	free(b);
}

void us_cfi_builder_distrust(struct us_cfi_builder *b)
{
	b->untrusted = true;
}

/* --- rules --- */

/* len is a multiple of 8. */
static uint64_t mix(uint64_t h, const void *p, size_t len)
{
	const uint8_t *at = p;
	for (; len >= 8; at += 8, len -= 8) {
		uint64_t word;
		memcpy(&word, at, 8);
		h = (h ^ word) * 0x9e3779b97f4a7c15ULL;
		h ^= h >> 32;
	}
	return h;
}

_Static_assert(sizeof(struct us_cfi_rule) % 8 == 0 && sizeof(struct us_cfi_saved) == 8,
	       "rules are hashed by words, padding and all");

static uint64_t hash_rule(const struct us_cfi_rule *r, const struct us_cfi_saved *saved)
{
	return mix(mix(1, r, sizeof(*r)), saved, r->n_saved * sizeof(*saved));
}

static const struct us_cfi_saved *saved_of(const struct us_cfi_builder *b,
					   const struct us_cfi_rule *r)
{
	return r->n_saved ? b->saved.v + r->first : NULL;
}

/* a->first is 0. */
static bool is_equal(const struct us_cfi_builder *b, const struct us_cfi_rule *a,
		     const struct us_cfi_saved *saved, uint32_t id)
{
	struct us_cfi_rule other = b->rules.v[id];
	const struct us_cfi_saved *of_other = saved_of(b, &other);
	other.first = 0;
	return !memcmp(a, &other, sizeof(other)) &&
	       (!a->n_saved || !memcmp(saved, of_other, a->n_saved * sizeof(*saved)));
}

static int grow_slots(struct us_cfi_builder *b)
{
	size_t n = b->n_slot * 2;
	uint32_t *slot = calloc(n, sizeof(*slot));
	if (!slot)
		return -ENOMEM;
	for (size_t i = 0; i < b->rules.n; i++) {
		struct us_cfi_rule r = b->rules.v[i];
		const struct us_cfi_saved *saved = saved_of(b, &r);
		r.first = 0;
		size_t at = hash_rule(&r, saved) & (n - 1);
		while (slot[at])
			at = (at + 1) & (n - 1);
		slot[at] = (uint32_t)i + 1;
	}
	free(b->slot);
	b->slot = slot;
	b->n_slot = n;
	return 0;
}

static int add_rule(struct us_cfi_builder *b, const struct us_cfi_rule *rule,
		    const struct us_cfi_saved *saved, uint32_t *slot, uint32_t *ret_id)
{
	size_t n_saved = b->saved.n;
	if (b->rules.n == US_CFI_MAX_RULES)
		return -E2BIG;
	for (size_t i = 0; i < rule->n_saved; i++) {
		struct us_cfi_saved *s = us_vec_push(&b->saved);
		if (!s) {
			b->saved.n = n_saved;
			return -ENOMEM;
		}
		*s = saved[i];
	}
	struct us_cfi_rule *r = us_vec_push(&b->rules);
	if (!r) {
		b->saved.n = n_saved;
		return -ENOMEM;
	}
	*r = *rule;
	r->first = (uint32_t)n_saved;
	*ret_id = (uint32_t)b->rules.n - 1;
	*slot = *ret_id + 1;
	return b->rules.n * 2 > b->n_slot ? grow_slots(b) : 0;
}

int us_cfi_builder_rule(struct us_cfi_builder *b, const struct us_cfi_rule *rule,
			const struct us_cfi_saved *saved, uint32_t *ret_id)
{
	struct us_cfi_rule r = *rule;
	if (r.n_saved > US_CFI_MAX_SAVED)
		return -EINVAL;
	r.first = 0;
	size_t at = hash_rule(&r, saved) & (b->n_slot - 1);
	for (; b->slot[at]; at = (at + 1) & (b->n_slot - 1)) {
		if (!is_equal(b, &r, saved, b->slot[at] - 1))
			continue;
		*ret_id = b->slot[at] - 1;
		return 0;
	}
	return add_rule(b, &r, saved, &b->slot[at], ret_id);
}

/* --- rows --- */

int us_cfi_builder_row(struct us_cfi_builder *b, uint64_t addr, uint32_t id,
		       unsigned flags)
{
	/* There is always room for a row that ends what was begun. */
	size_t most = US_CFI_MAX_ROWS + (id == US_CFI_NO_RULE ? MAX_ENDS : 0);
	if (b->rows.n >= most)
		return -E2BIG;
	struct row *row = us_vec_push(&b->rows);
	if (!row)
		return -ENOMEM;
	row->addr = addr;
	row->id = id;
	row->tag = (uint32_t)(b->rows.n - 1) << FLAG_BITS | (flags & FLAGS);
	if (b->rows.n > 1 && row[-1].addr > addr)
		b->unsorted = true;
	return 0;
}

static int by_address(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return x->tag < y->tag ? -1 : x->tag > y->tag;
}

/* What holds at one address: [1] is from rows that fill gaps, [0] from all others. */
struct layers {
	struct row row[2];
	bool here[2]; /* a row at this address says so, not an earlier one */
};

/* Choose the rows that count at the address of row `from`; returns the row after
 * them. */
static size_t choose(const struct us_cfi_builder *b, size_t from, struct layers *l)
{
	uint64_t addr = b->rows.v[from].addr;
	size_t i = from;
	l->here[0] = l->here[1] = false;
	for (; i < b->rows.n && b->rows.v[i].addr == addr; i++) {
		const struct row *row = &b->rows.v[i];
		unsigned k = (row->tag & US_CFI_FILL) != 0;
		if (!l->here[k] || row->id != US_CFI_NO_RULE ||
		    l->row[k].id == US_CFI_NO_RULE)
			l->row[k] = *row;
		l->here[k] = true;
	}
	return i;
}

/* Keep only the rows that change something. */
static void merge_rows(struct us_cfi_builder *b)
{
	struct layers l = { .row = { { .id = US_CFI_NO_RULE },
				     { .id = US_CFI_NO_RULE } } };
	struct row last = { .id = US_CFI_NO_RULE };
	size_t n = 0, next;
	unsigned last_use = 0;
	for (size_t i = 0; i < b->rows.n; i = next) {
		uint64_t addr = b->rows.v[i].addr;
		next = choose(b, i, &l);
		unsigned use = l.row[0].id == US_CFI_NO_RULE;
		unsigned flags = l.here[use]	   ? l.row[use].tag & MARKS
				 : use != last_use ? US_CFI_BORDER
						   : 0;
		last_use = use;
		if (l.row[use].id == US_CFI_NO_RULE)
			flags = 0;
		if (l.row[use].id == last.id && !flags)
			continue;
		last = (struct row){ addr, l.row[use].id, flags };
		b->rows.v[n++] = last;
	}
	if (n)
		b->rows.v[n - 1].id = US_CFI_NO_RULE;
	b->rows.n = n;
}

/* --- parts --- */

/* The rules of one part: its own numbers for the builder's rules. */
struct numbering {
	uint32_t *local; /* the part's number + 1; 0: not in this part */
	uint32_t *id;	 /* the builder's number of each rule of the part */
	uint32_t n;
};

/* How many rows from `from` fit in one part; their ids become the part's own
 * numbers. */
static size_t number_rules(struct us_cfi_builder *b, size_t from, struct numbering *num)
{
	size_t i = from;
	for (; i < b->rows.n; i++) {
		struct row *row = &b->rows.v[i];
		if (row->addr - b->rows.v[from].addr > UINT32_MAX)
			break;
		if (row->id == US_CFI_NO_RULE) {
			row->id = US_CFI_PART_GAP;
			continue;
		}
		if (!num->local[row->id]) {
			if (num->n == US_CFI_PART_RULES)
				break;
			num->id[num->n++] = row->id;
			num->local[row->id] = num->n;
		}
		row->id = num->local[row->id] - 1;
	}
	return i - from;
}

static void fill_buckets(struct us_cfi_part *p)
{
	uint32_t row = 0;
	for (uint32_t k = 0; k <= p->n_bucket; k++) {
		uint64_t limit = (uint64_t)k << p->shift;
		while (row < p->n && p->off[row] < limit)
			row++;
		p->bucket[k] = row;
	}
	p->bucket[p->n_bucket] = p->n;
}

static int make_buckets(struct us_cfi_part *p)
{
	uint32_t span = p->off[p->n - 1];
	while (p->shift < 31 && span >> p->shift > p->n / BUCKET_ROWS)
		p->shift++;
	p->n_bucket = (span >> p->shift) + 1;
	p->bucket = calloc(p->n_bucket + 1ULL, sizeof(*p->bucket));
	if (!p->bucket)
		return -ENOMEM;
	fill_buckets(p);
	return 0;
}

static int make_part(const struct us_cfi_builder *b, size_t from, size_t n,
		     const struct numbering *num, struct us_cfi_part *p)
{
	const struct row *row = b->rows.v + from;
	size_t words = (n + 63) / 64;
	p->start = row->addr;
	p->end = from + n < b->rows.n ? row[n].addr : row[n - 1].addr;
	p->n = (uint32_t)n;
	p->n_rule = num->n;
	p->off = calloc(n, sizeof(*p->off));
	p->rule = calloc(n, sizeof(*p->rule));
	p->border = calloc(words, sizeof(*p->border));
	p->entry = calloc(words, sizeof(*p->entry));
	p->rules = calloc(num->n + 1ULL, sizeof(*p->rules));
	if (!p->off || !p->rule || !p->border || !p->entry || !p->rules)
		return -ENOMEM;
	for (size_t i = 0; i < num->n; i++)
		p->rules[i] = b->rules.v[num->id[i]];
	for (size_t i = 0; i < n; i++) {
		p->off[i] = (uint32_t)(row[i].addr - p->start);
		p->rule[i] = (uint16_t)row[i].id;
		p->border[i / 64] |= (uint64_t)(row[i].tag != 0) << i % 64;
		p->entry[i / 64] |= (uint64_t)(row[i].tag & US_CFI_START) << i % 64;
		p->has_entry |= (row[i].tag & US_CFI_START) != 0;
	}
	return make_buckets(p);
}

static int make_parts(struct us_cfi_builder *b, struct numbering *num,
		      struct us_cfi_table *t)
{
	size_t cap = 0, n;
	int r = 0;
	for (size_t at = 0; r == 0 && at < b->rows.n; at += n) {
		if (t->n_part == MAX_PARTS) {
			t->n_left_out = b->rows.n - at;
			return 0;
		}
		if (us_vec_grow((void **)&t->part, t->n_part, &cap, sizeof(*t->part)))
			return -ENOMEM;
		num->n = 0;
		n = number_rules(b, at, num);
		r = make_part(b, at, n, num, &t->part[t->n_part++]);
		for (uint32_t i = 0; i < num->n; i++)
			num->local[num->id[i]] = 0;
	}
	return r;
}

int us_cfi_builder_finish(struct us_cfi_builder *b, struct us_cfi_table **ret)
{
	struct us_cfi_table *t = calloc(1, sizeof(*t));
	_cleanup_free_ uint32_t *local = calloc(b->rules.n + 1, sizeof(*local));
	size_t most = b->rules.n < US_CFI_PART_RULES ? b->rules.n : US_CFI_PART_RULES;
	_cleanup_free_ uint32_t *id = calloc(most + 1, sizeof(*id));
	struct numbering num = { .local = local, .id = id };
	if (!t || !local || !id) {
		free(t);
		return -ENOMEM;
	}
	t->word = b->word;
	t->untrusted = b->untrusted;
	if (b->unsorted)
		qsort(b->rows.v, b->rows.n, sizeof(*b->rows.v), by_address);
	merge_rows(b);
	int r = make_parts(b, &num, t);
	b->rows.n = b->rules.n = 0;
	memset(b->slot, 0, b->n_slot * sizeof(*b->slot));
	if (r < 0) {
		b->saved.n = 0;
		us_cfi_table_free(t);
		return r;
	}
	t->saved = us_take(b->saved.v);
	t->n_saved = b->saved.n;
	b->saved.n = b->saved.cap = 0;
	*ret = t;
	return 0;
}
