/* SPDX-License-Identifier: GPL-2.0-or-later */
/* import/folded.c: folded stacks as a recording; see import.h. */
#include "import/import.h"
#include "import/other.h"

#include "base/cleanup.h"
#include "base/packed.h"
#include "base/vec.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define FUNCTION_BYTES 64U /* invented size of each name's code */
#define FIRST_ADDRESS  0x10000U
#define NAME_MAX_BYTES 1023U
#define MOST_NAMES     (1U << 24)
#define STEP_NS	       1000000U /* an invented time */
/* Samples that are written one by one: at most so many, and above a number that costs
 * little at most so many for each line.  Counts can be microseconds. */
#define MOST_SINGLE   (1U << 24)
#define ALWAYS_SINGLE (1U << 20)
#define LINE_SINGLE   4U
#define DECIMALS      3	    /* digits of fractions that are kept */
#define ONE	      1000U /* 10 to the power of that */

struct name {
	const uint8_t *text;
	uint32_t len;
	bool told;
};

/* A line's stack, and its count. */
struct line {
	size_t first; /* in path: innermost first */
	uint32_t n;
	bool cut; /* it was deeper than a recording allows */
	uint64_t count;
	uint32_t part; /* of a count, in 1 / ONE; at most ONE */
};

struct folded {
	struct {
		struct name *v;
		size_t n, cap;
	} names;
	uint32_t *slot; /* hash table of index + 1 */
	size_t n_slot;
	uint64_t seed;
	struct {
		uint32_t *v;
		size_t n, cap;
	} path; /* names' indices */
	struct {
		struct line *v;
		size_t n, cap;
	} lines;
	uint64_t total;
	unsigned scale; /* what counts with fractions were multiplied by */
	struct us_import_result *ret;
	char text[NAME_MAX_BYTES + 1]; /* the name that the writer asked for last */
};

static void folded_fini(struct folded *f)
{
	free(f->names.v);
	free(f->slot);
	free(f->path.v);
	free(f->lines.v);
}

static int no_memory(struct us_err *e)
{
	us_fail(e, -ENOMEM, "import: out of memory");
	return -ENOMEM;
}

/* With a secret seed, so that a hostile file cannot make all names collide. */
static uint64_t hash(uint64_t seed, const uint8_t *text, size_t n)
{
	uint64_t h = seed;
	for (size_t i = 0; i < n; i++)
		h = (h ^ text[i]) * 0x9e3779b97f4a7c15 + (h >> 29);
	return h ^ h >> 32;
}

static uint32_t *slot_of(const struct folded *f, const uint8_t *text, size_t n)
{
	size_t i = hash(f->seed, text, n) & (f->n_slot - 1);
	for (; f->slot[i]; i = (i + 1) & (f->n_slot - 1)) {
		const struct name *have = &f->names.v[f->slot[i] - 1];
		if (have->len == n && !memcmp(have->text, text, n))
			break;
	}
	return &f->slot[i];
}

static bool grow(struct folded *f)
{
	size_t n = f->n_slot ? 2 * f->n_slot : 1024;
	uint32_t *slot = calloc(n, sizeof(*slot));
	if (!slot)
		return false;
	free(f->slot);
	f->slot = slot;
	f->n_slot = n;
	for (size_t i = 0; i < f->names.n; i++)
		*slot_of(f, f->names.v[i].text, f->names.v[i].len) = (uint32_t)i + 1;
	return true;
}

/* The name's index; UINT32_MAX: out of memory, or out of indices. */
static uint32_t name_of(struct folded *f, const uint8_t *text, size_t n)
{
	if (f->names.n * 2 >= f->n_slot && !grow(f))
		return UINT32_MAX;
	uint32_t *slot = slot_of(f, text, n);
	if (*slot)
		return *slot - 1;
	if (f->names.n == MOST_NAMES || n > UINT32_MAX)
		return UINT32_MAX;
	struct name *name = us_vec_push(&f->names);
	if (!name)
		return UINT32_MAX;
	*name = (struct name){ text, (uint32_t)n, false };
	f->ret->cut_names += n > NAME_MAX_BYTES;
	return (*slot = (uint32_t)f->names.n) - 1;
}

static int bad(size_t number, const char *what, struct us_err *e)
{
	us_fail(e, -EBADMSG, "import: line %zu: %s", number, what);
	us_hint(e, "each line is \"outermost;...;innermost COUNT\"");
	return -EBADMSG;
}

static int bad_form(size_t number, const uint8_t *line, size_t n, struct us_err *e)
{
	if (!us_import_is_script(line, n))
		return bad(number, "has no count at its end", e);
	us_fail(e, -EBADMSG, "import: this is the text of perf script");
	us_hint(e, "import the perf.data itself, or fold the text first "
		   "(stackcollapse-perf.pl)");
	return -EBADMSG;
}

/* Where the digits begin that end before `end`. */
static size_t digits_before(const uint8_t *line, size_t end)
{
	while (end && line[end - 1] >= '0' && line[end - 1] <= '9')
		end--;
	return end;
}

/* A fraction's digits, rounded. */
static uint32_t part_of(const uint8_t *digit, size_t n)
{
	uint32_t value = 0;
	for (size_t i = 0; i < DECIMALS; i++)
		value = value * 10 + (i < n ? digit[i] - (uint32_t)'0' : 0);
	return value + (n > DECIMALS && digit[DECIMALS] >= '5');
}

/* The number after the last blank; false: none, or too large. */
static bool count_of(const uint8_t *line, size_t *n, struct line *ret)
{
	size_t end = *n, at;
	uint64_t *count = &ret->count;
	while (end &&
	       (line[end - 1] == ' ' || line[end - 1] == '\r' || line[end - 1] == '\t'))
		end--;
	at = digits_before(line, end);
	size_t whole = end;
	if (at && line[at - 1] == '.') {
		whole = at - 1;
		at = digits_before(line, whole);
	}
	if (at == whole || !at || (line[at - 1] != ' ' && line[at - 1] != '\t'))
		return false;
	for (size_t i = at; i < whole; i++)
		if (__builtin_mul_overflow(*count, 10, count) ||
		    __builtin_add_overflow(*count, (uint64_t)(line[i] - '0'), count))
			return false;
	if (whole < end)
		ret->part = part_of(line + whole + 1, end - whole - 1);
	while (at && (line[at - 1] == ' ' || line[at - 1] == '\t'))
		at--;
	*n = at;
	return true;
}

/* Innermost first, as many frames as a recording allows. */
static int add_path(struct folded *f, const uint8_t *line, size_t n, struct line *ret)
{
	size_t end = n;
	ret->first = f->path.n;
	while (end && !ret->cut) {
		size_t at = end;
		while (at && line[at - 1] != ';')
			at--;
		if (ret->n == US_MAX_FRAMES) {
			ret->cut = true;
			break;
		}
		uint32_t name = name_of(f, line + at, end - at);
		uint32_t *slot = name == UINT32_MAX ? NULL : us_vec_push(&f->path);
		if (!slot)
			return -ENOMEM;
		*slot = name;
		ret->n++;
		end = at ? at - 1 : 0;
	}
	return 0;
}

static int read_line(struct folded *f, const uint8_t *line, size_t n, size_t number,
		     struct us_err *e)
{
	struct line l = { 0 };
	while (n && (line[n - 1] == ' ' || line[n - 1] == '\r' || line[n - 1] == '\t'))
		n--;
	if (!n || *line == '#')
		return 0;
	if (memchr(line, '\0', n))
		return bad(number, "has a NUL byte: this is not text", e);
	if (!count_of(line, &n, &l))
		return bad_form(number, line, n, e);
	if (__builtin_add_overflow(f->total, l.count, &f->total) || f->total >> 62)
		return bad(number, "the counts add up to more than fits", e);
	if (!l.count && !l.part)
		return 0;
	struct line *slot = us_vec_push(&f->lines);
	if (!slot || add_path(f, line, n, &l))
		return no_memory(e);
	*slot = l;
	return 0;
}

/* Samples are whole: multiply all counts by the power of ten that makes them so. */
static int scale(struct folded *f, struct us_err *e)
{
	f->total = 0;
	f->scale = 1;
	for (size_t i = 0; i < f->lines.n; i++)
		while (f->lines.v[i].part * f->scale % ONE)
			f->scale *= 10;
	for (size_t i = 0; i < f->lines.n; i++) {
		struct line *l = &f->lines.v[i];
		if (__builtin_mul_overflow(l->count, f->scale, &l->count) ||
		    __builtin_add_overflow(l->count, l->part * f->scale / ONE,
					   &l->count) ||
		    __builtin_add_overflow(f->total, l->count, &f->total) ||
		    f->total >> 62)
			return us_fail(e, -EBADMSG,
				       "import: the counts, which are fractions, "
				       "add up to more than fits");
		f->ret->cut_stacks += l->cut ? l->count : 0;
	}
	return 0;
}

static int read_lines(struct folded *f, const uint8_t *bytes, size_t n,
		      struct us_err *e)
{
	static const uint8_t mark[] = { 0xef, 0xbb, 0xbf }; /* of UTF-8 */
	size_t number = 0;
	bool has_mark = n >= sizeof(mark) && !memcmp(bytes, mark, sizeof(mark));
	for (size_t at = has_mark ? sizeof(mark) : 0; at < n;) {
		const uint8_t *end = memchr(bytes + at, '\n', n - at);
		size_t len = end ? (size_t)(end - bytes) - at : n - at;
		int rc = read_line(f, bytes + at, len, ++number, e);
		if (rc)
			return rc;
		at += len + 1;
	}
	if (f->lines.n)
		return scale(f, e);
	us_fail(e, -ENODATA, "import: there are no stacks");
	return -ENODATA;
}

/* us_namer.name */
static bool name_at(void *ctx, us_gva pc, struct us_named *ret)
{
	struct folded *f = ctx;
	if (pc < FIRST_ADDRESS || (pc - FIRST_ADDRESS) / FUNCTION_BYTES >= f->names.n)
		return false;
	uint64_t number = (pc - FIRST_ADDRESS) / FUNCTION_BYTES;
	struct name *name = &f->names.v[number];
	if (name->told)
		return false;
	name->told = true;
	size_t len = name->len < NAME_MAX_BYTES ? name->len : NAME_MAX_BYTES;
	memcpy(f->text, name->text, len);
	f->text[len] = '\0';
	*ret = (struct us_named){ FIRST_ADDRESS + number * FUNCTION_BYTES,
				  FUNCTION_BYTES, len ? f->text : "[empty]", "folded" };
	return true;
}

static int write_stack(const struct folded *f, const struct line *l, uint64_t weight,
		       uint64_t t_ns, struct us_writer *w, struct us_err *e)
{
	us_gva pc[US_MAX_FRAMES];
	uint8_t flags[US_MAX_FRAMES];
	struct us_sample s = { .t_ns = t_ns,
			       .end = l->cut ? US_END_DEPTH : US_END_ROOT,
			       .state = US_VCPU_GUEST };
	int rc = 0;
	for (uint32_t i = 0; i < l->n; i++) {
		pc[i] = FIRST_ADDRESS +
			(us_gva)f->path.v[l->first + i] * FUNCTION_BYTES;
		flags[i] = i ? US_PC_EXACT : 0;
	}
	while (weight && !rc) {
		s.weight = weight < UINT32_MAX ? (uint32_t)weight : UINT32_MAX;
		rc = us_writer_sample(w, &s, pc, flags, l->n, e);
		weight -= s.weight;
	}
	return rc;
}

/* One by one, shuffled, at equal intervals, for views of single samples.  In the order
 * of the lines it would look as if each function had run for long. */
static int write_single(const struct folded *f, struct us_writer *w, struct us_err *e)
{
	_cleanup_free_ uint32_t *line = malloc(f->total * sizeof(*line));
	uint64_t n = 0, random = 1;
	int rc = 0;
	if (!line)
		return no_memory(e);
	for (size_t i = 0; i < f->lines.n; i++)
		for (uint64_t k = 0; k < f->lines.v[i].count; k++)
			line[n++] = (uint32_t)i;
	for (uint64_t i = n; i-- > 1;) {
		random = random * 6364136223846793005 + 1442695040888963407;
		uint64_t other = (random >> 32) * (i + 1) >> 32;
		uint32_t was = line[i];
		line[i] = line[other];
		line[other] = was;
	}
	for (uint64_t i = 0; i < n && !rc; i++)
		rc = write_stack(f, &f->lines.v[line[i]], 1, i * STEP_NS, w, e);
	return rc;
}

/* What the figures need: the order of samples is not known, so they are taken to be
 * independent of each other, and fractions are not what was seen. */
static int write_facts(const struct folded *f, const struct us_import_opts *o,
		       struct us_writer *w, struct us_err *e)
{
	char caution[160];
	int rc = us_writer_fact(w, "target", o->name, e);
	snprintf(caution, sizeof(caution),
		 "the counts were fractions, and were multiplied by %u: intervals are "
		 "as narrow as if so many samples had been taken",
		 f->scale);
	if (!rc)
		rc = us_writer_fact(w, "backend", "folded", e);
	if (!rc)
		rc = us_writer_fact(w, "how",
				    "imported: without times, taken to be independent",
				    e);
	if (!rc && f->scale > 1)
		rc = us_writer_fact(w, "caution", caution, e);
	if (!rc)
		rc = us_writer_fact(w, "weights", "independent", e);
	return rc;
}

static bool are_single(const struct folded *f)
{
	return f->total <= ALWAYS_SINGLE ||
	       (f->total <= MOST_SINGLE && f->total / LINE_SINGLE <= f->lines.n);
}

static int write_all(const struct folded *f, struct us_writer *w, struct us_err *e)
{
	int rc = 0;
	if (are_single(f))
		return write_single(f, w, e);
	for (size_t i = 0; i < f->lines.n && !rc; i++)
		rc = write_stack(f, &f->lines.v[i], f->lines.v[i].count, 0, w, e);
	return rc;
}

static uint64_t random_seed(void)
{
	uint64_t seed = 1;
	return getrandom(&seed, sizeof(seed), 0) == sizeof(seed) ? seed : 1;
}

/* What cannot be lines of text. */
static int check_bytes(const uint8_t *bytes, size_t n, struct us_err *e)
{
	const char *unpacker = us_unpacker(bytes, n);
	if (unpacker) {
		us_fail(e, -EBADMSG, "import: the file is compressed");
		us_hint(e, "%s it; a profile of pprof (.pb.gz) is not read", unpacker);
		return -EBADMSG;
	}
	if (us_import_is_pprof(bytes, n)) {
		us_fail(e, -EBADMSG,
			"import: this is a profile of pprof, which is not read");
		us_hint(e, "import takes perf.data and folded stacks; pprof itself "
			   "compares profiles: go tool pprof -diff_base BEFORE AFTER");
		return -EBADMSG;
	}
	return 0;
}

int us_import_folded(const uint8_t *bytes, size_t n, const struct us_import_opts *o,
		     struct us_writer *w, struct us_import_result *ret,
		     struct us_err *e)
{
	struct us_err sink;
	struct folded *f = calloc(1, sizeof(*f));
	*ret = (struct us_import_result){ 0 };
	e = e ? e : &sink;
	if (!f)
		return no_memory(e);
	f->ret = ret;
	f->seed = random_seed();
	int rc = check_bytes(bytes, n, e);
	if (!rc)
		rc = read_lines(f, bytes, n, e);
	if (!rc)
		rc = write_facts(f, o, w, e);
	us_writer_name_by(w, &(struct us_namer){ name_at, f });
	if (!rc)
		rc = write_all(f, w, e);
	if (!rc)
		rc = us_writer_flush(w, e);
	us_writer_name_by(w, &(struct us_namer){ 0 });
	ret->samples = ret->stats.due = ret->stats.running = f->total;
	ret->stats.truncated = ret->cut_stacks;
	folded_fini(f);
	free(f);
	return rc;
}
