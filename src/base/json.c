/* SPDX-License-Identifier: GPL-2.0-or-later */
/* json.c: see json.h. */
#include "base/json.h"

#include "base/text.h"

#include <inttypes.h>
#include <math.h>

struct us_json us_json_to(FILE *out)
{
	return (struct us_json){ .out = out };
}

static void string(FILE *out, const char *s)
{
	putc('"', out);
	while (*s) {
		unsigned char c = (unsigned char)*s;
		size_t len = us_utf8_len(s);
		if (c == '"' || c == '\\')
			fprintf(out, "\\%c", c);
		else if (c < 0x20 || c == 0x7f || c == '<' || len == 0)
			fprintf(out, "\\u%04x", len == 0 ? 0xfffdU : c);
		else
			fwrite(s, 1, len, out);
		s += len ? len : 1;
	}
	putc('"', out);
}

static void member(struct us_json *j, const char *key)
{
	if (j->some[j->depth])
		putc(',', j->out);
	j->some[j->depth] = true;
	if (j->pretty && j->depth)
		fprintf(j->out, "\n%*s", (int)j->depth * 2, "");
	if (key) {
		string(j->out, key);
		fputs(j->pretty ? ": " : ":", j->out);
	}
}

static void open_container(struct us_json *j, const char *key, char open, char close)
{
	member(j, key);
	putc(open, j->out);
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
	if (!j->depth)
		return;
	bool some = j->some[j->depth];
	char close = j->close[j->depth--];
	if (j->pretty && some)
		fprintf(j->out, "\n%*s", (int)j->depth * 2, "");
	putc(close, j->out);
	if (j->pretty && !j->depth)
		putc('\n', j->out);
}

void us_json_str(struct us_json *j, const char *key, const char *value)
{
	member(j, key);
	if (value)
		string(j->out, value);
	else
		fputs("null", j->out);
}

void us_json_u64(struct us_json *j, const char *key, uint64_t value)
{
	member(j, key);
	fprintf(j->out, "%" PRIu64, value);
}

void us_json_double(struct us_json *j, const char *key, double value, int decimals)
{
	member(j, key);
	if (isfinite(value))
		fprintf(j->out, "%.*f", decimals, value);
	else
		fputs("null", j->out);
}

void us_json_bool(struct us_json *j, const char *key, bool value)
{
	member(j, key);
	fputs(value ? "true" : "false", j->out);
}

void us_json_hex(struct us_json *j, const char *key, uint64_t value)
{
	member(j, key);
	fprintf(j->out, "\"0x%" PRIx64 "\"", value);
}
