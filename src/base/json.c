/* SPDX-License-Identifier: GPL-2.0-or-later */
/* json.c: see json.h. */
#include "base/json.h"

#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

struct us_json us_json_to(FILE *out)
{
	return (struct us_json){ .out = out };
}

/* Printable ASCII that stands for itself. */
static bool is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\' && c != '<';
}

static void string(FILE *out, const char *s)
{
	putc_unlocked('"', out);
	while (*s) {
		size_t plain = 0;
		while (is_plain((unsigned char)s[plain]))
			plain++;
		fwrite_unlocked(s, 1, plain, out);
		s += plain;
		if (!*s)
			break;
		unsigned char c = (unsigned char)*s;
		size_t len = us_utf8_len(s);
		if (c == '"' || c == '\\')
			fprintf(out, "\\%c", c);
		else if (c == '<' || len == 0 || !us_utf8_shows(s, len))
			fprintf(out, "\\u%04x", !len ? 0xfffdU : us_utf8_code(s, len));
		else
			fwrite_unlocked(s, 1, len, out);
		s += len ? len : 1;
	}
	putc_unlocked('"', out);
}

/* The beginning of a member, which is written together with a short value: one stdio
 * call for each piece would take most of the time of a large report. */
struct piece {
	char v[192];
	size_t n;
};

static void put(struct piece *t, const char *bytes, size_t n)
{
	memcpy(t->v + t->n, bytes, n);
	t->n += n;
}

static void write_piece(struct piece *t, FILE *out)
{
	fwrite_unlocked(t->v, 1, t->n, out);
	t->n = 0;
}

#define SHORT_KEY 64

static void put_key(struct us_json *j, struct piece *t, const char *key)
{
	size_t n = 0;
	while (n <= SHORT_KEY && is_plain((unsigned char)key[n]))
		n++;
	if (n > SHORT_KEY || key[n]) {
		write_piece(t, j->out);
		string(j->out, key);
	} else {
		t->v[t->n++] = '"';
		put(t, key, n);
		t->v[t->n++] = '"';
	}
	t->v[t->n++] = ':';
	if (j->pretty)
		t->v[t->n++] = ' ';
}

static void put_newline(const struct us_json *j, struct piece *t)
{
	t->v[t->n++] = '\n';
	memset(t->v + t->n, ' ', 2 * (size_t)j->depth);
	t->n += 2 * (size_t)j->depth;
}

/* Leaves space for FIXED_MOST more. */
static void put_member(struct us_json *j, struct piece *t, const char *key)
{
	t->n = 0;
	if (j->some[j->depth])
		t->v[t->n++] = ',';
	j->some[j->depth] = true;
	if (j->pretty && j->depth)
		put_newline(j, t);
	if (key)
		put_key(j, t, key);
}

static void member(struct us_json *j, const char *key)
{
	struct piece t;
	put_member(j, &t, key);
	write_piece(&t, j->out);
}

static void open_container(struct us_json *j, const char *key, char open, char close)
{
	struct piece t;
	put_member(j, &t, key);
	t.v[t.n++] = open;
	write_piece(&t, j->out);
	if (j->depth < US_JSON_DEPTH)
		j->depth++;
	j->some[j->depth] = false;
	j->close[j->depth] = close;
}

void us_json_object(struct us_json *j, const char *key)
{
	open_container(j, key, '{', '}');
}

void us_json_array(struct us_json *j, const char *key)
{
	open_container(j, key, '[', ']');
}

void us_json_end(struct us_json *j)
{
	struct piece t = { .n = 0 };
	if (!j->depth)
		return;
	bool some = j->some[j->depth];
	char close = j->close[j->depth--];
	if (j->pretty && some)
		put_newline(j, &t);
	t.v[t.n++] = close;
	if (j->pretty && !j->depth)
		t.v[t.n++] = '\n';
	write_piece(&t, j->out);
}

void us_json_str(struct us_json *j, const char *key, const char *value)
{
	member(j, key);
	if (value)
		string(j->out, value);
	else
		fputs_unlocked("null", j->out);
}

#define FIXED_MOST   24 /* characters */
#define COLUMN_PIECE 65536
#define AT_A_TIME    256

/* Write a number that ends at end; returns where it begins.  A large report is mostly
 * numbers, and printf() takes three times as long. */
static char *fixed(char *end, uint64_t value, int decimals)
{
	for (int i = 0; value || i <= decimals; i++) {
		if (i == decimals && decimals)
			*--end = '.';
		*--end = (char)('0' + value % 10);
		value /= 10;
	}
	return end;
}

void us_json_fixed(struct us_json *j, const char *key, uint64_t value, int decimals)
{
	char text[FIXED_MOST], *end = text + sizeof(text);
	char *p = fixed(end, value, decimals);
	struct piece t;
	put_member(j, &t, key);
	put(&t, p, (size_t)(end - p));
	write_piece(&t, j->out);
}

void us_json_u64(struct us_json *j, const char *key, uint64_t value)
{
	us_json_fixed(j, key, value, 0);
}

/* The value as printf() rounds it, in units of the last decimal.  False: the rounding
 * is in doubt, or the number is large or negative. */
static bool rounded(double value, int decimals, uint64_t *ret)
{
	static const double scale[] = { 1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6 };
	if (decimals < 1 || decimals > 6 || !(value >= 0 && value < 1e6) ||
	    signbit(value))
		return false;
	double scaled = value * scale[decimals];
	uint64_t whole = (uint64_t)scaled;
	double rest = scaled - (double)whole;
	*ret = whole + (rest > 0.5);
	return fabs(rest - 0.5) >= 1e-3;
}

void us_json_double(struct us_json *j, const char *key, double value, int decimals)
{
	uint64_t n;
	if (rounded(value, decimals, &n)) {
		us_json_fixed(j, key, n, decimals);
		return;
	}
	member(j, key);
	if (isfinite(value))
		fprintf(j->out, "%.*f", decimals, value);
	else
		fputs_unlocked("null", j->out);
}

/* "000" to "999", each in four bytes. */
struct threes {
	char v[4 * 1000 + 4];
};

static void fill_threes(struct threes *t)
{
	for (unsigned i = 0; i < 1000; i++) {
		t->v[4 * i] = (char)('0' + i / 100);
		t->v[4 * i + 1] = (char)('0' + i / 10 % 10);
		t->v[4 * i + 2] = (char)('0' + i % 10);
	}
}

static char *three(char *to, const struct threes *t, uint64_t value)
{
	memcpy(to, t->v + 4 * value, 4);
	return to + 3;
}

/* Write a number, fast if it is small; returns where it ends.  May write up to three
 * bytes after it. */
static char *column_fixed(char *to, const struct threes *t, uint64_t value,
			  int decimals)
{
	uint64_t thousands = value / 1000, rest = value % 1000;
	bool point = decimals == 3;
	if (thousands >= 1000 || (decimals && !point)) {
		char digits[FIXED_MOST], *end = digits + sizeof(digits);
		char *p = fixed(end, value, decimals);
		return mempcpy(to, p, (size_t)(end - p));
	}
	if (thousands || point) {
		unsigned n = 1 + (thousands >= 10) + (thousands >= 100);
		memcpy(to, t->v + 4 * thousands + 3 - n, 4);
		to += n;
		*to = '.';
		return three(to + point, t, rest);
	}
	unsigned n = 1 + (rest >= 10) + (rest >= 100);
	memcpy(to, t->v + 4 * rest + 3 - n, 4);
	return to + n;
}

void us_json_column(struct us_json *j, const char *key, size_t n, int decimals,
		    void (*values)(void *ctx, size_t from, size_t n, uint64_t *ret),
		    void *ctx)
{
	char text[COLUMN_PIECE + 1 + FIXED_MOST], *end = text;
	uint64_t value[AT_A_TIME];
	struct threes t = { 0 };
	fill_threes(&t);
	us_json_array(j, key);
	fflush_unlocked(j->out); /* then stdio does not copy whole pieces */
	for (size_t i = 0; i < n; i++) {
		if (i % AT_A_TIME == 0)
			values(ctx, i, n - i < AT_A_TIME ? n - i : AT_A_TIME, value);
		if (i)
			*end++ = ',';
		end = column_fixed(end, &t, value[i % AT_A_TIME], decimals);
		if (end - text < COLUMN_PIECE)
			continue;
		fwrite_unlocked(text, 1, COLUMN_PIECE, j->out);
		end -= COLUMN_PIECE;
		memcpy(text, text + COLUMN_PIECE, (size_t)(end - text));
	}
	fwrite_unlocked(text, 1, (size_t)(end - text), j->out);
	us_json_end(j);
}

void us_json_bool(struct us_json *j, const char *key, bool value)
{
	member(j, key);
	fputs_unlocked(value ? "true" : "false", j->out);
}

void us_json_hex(struct us_json *j, const char *key, uint64_t value)
{
	member(j, key);
	fprintf(j->out, "\"0x%" PRIx64 "\"", value);
}
