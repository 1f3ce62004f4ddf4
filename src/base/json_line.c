/* SPDX-License-Identifier: GPL-2.0-or-later */
/* json_line.c: see json_line.h. */
#include "base/json_line.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct place {
	const char *at, *end;
};

static bool is_at(const struct place *p, char c)
{
	return p->at < p->end && *p->at == c;
}

static void skip_space(struct place *p)
{
	while (p->at < p->end && strchr(" \t\r\n", *p->at) && *p->at)
		p->at++;
}

/* Skip a string; p is at its first quotation mark. */
static void skip_string(struct place *p)
{
	for (p->at++; p->at < p->end && *p->at != '"'; p->at++)
		if (*p->at == '\\' && p->end - p->at > 1)
			p->at++;
	if (p->at < p->end)
		p->at++;
}

/* Skip a value, to what follows it on the same level. */
static void skip_value(struct place *p)
{
	for (size_t depth = 0; p->at < p->end;) {
		char c = *p->at;
		if (c == '"') {
			skip_string(p);
			continue;
		}
		if (depth == 0 && (c == ',' || c == ']' || c == '}'))
			return;
		depth += c == '[' || c == '{';
		depth -= c == ']' || c == '}';
		p->at++;
	}
}

/* Go to the next member or element. */
static bool skip_comma(struct place *p)
{
	skip_space(p);
	if (!is_at(p, ','))
		return false;
	p->at++;
	skip_space(p);
	return true;
}

static bool enter(struct place *p, char bracket)
{
	if (!is_at(p, bracket))
		return false;
	p->at++;
	skip_space(p);
	return true;
}

/* Go from an object to the value of a member; false: *p is unchanged. */
static bool go_to_member(struct place *p, const char *name)
{
	struct place q = *p;
	size_t len = strlen(name);
	if (!enter(&q, '{'))
		return false;
	while (is_at(&q, '"')) {
		const char *begin = q.at + 1;
		skip_string(&q);
		bool it = (size_t)(q.at - begin) == len + 1 &&
			  !memcmp(begin, name, len);
		skip_space(&q);
		if (!is_at(&q, ':'))
			return false;
		q.at++;
		skip_space(&q);
		if (it) {
			*p = q;
			return true;
		}
		skip_value(&q);
		if (!skip_comma(&q))
			return false;
	}
	return false;
}

static bool go_to_element(struct place *p, size_t i)
{
	struct place q = *p;
	if (!enter(&q, '['))
		return false;
	for (; i && q.at < q.end; i--) {
		skip_value(&q);
		if (!skip_comma(&q))
			return false;
	}
	if (q.at == q.end || is_at(&q, ']'))
		return false;
	*p = q;
	return true;
}

size_t us_json_line(const char *text, size_t len, const char *list, size_t i,
		    const char *member)
{
	struct place p = { text, text + len };
	size_t line = 1;
	skip_space(&p);
	if (!go_to_member(&p, list))
		return 1;
	if (i != SIZE_MAX && go_to_element(&p, i) && member)
		(void)go_to_member(&p, member);
	for (const char *c = text; c < p.at; c++)
		line += *c == '\n';
	return line;
}
