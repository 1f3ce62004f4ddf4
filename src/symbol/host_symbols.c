/* SPDX-License-Identifier: GPL-2.0-or-later */
/* host_symbols.c: see host_symbols.h. */
#include "symbol/host_symbols.h"

#include "base/cleanup.h"
#include "base/search.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SYMBOLS (4U << 20)
#define MAX_NAME    512
#define LAST_SIZE   4096 /* of the last function, a guess */

static bool add_text(struct us_host_symbols *k, const char *s, uint32_t *ret)
{
	size_t n = strlen(s) + 1;
	if (k->text_n + n > k->text_cap) {
		size_t cap = 2 * k->text_cap + (1 << 20);
		char *p = cap < UINT32_MAX ? realloc(k->text, cap) : NULL;
		if (!p)
			return false;
		k->text = p;
		k->text_cap = cap;
	}
	memcpy(k->text + k->text_n, s, n);
	*ret = (uint32_t)k->text_n;
	k->text_n += n;
	return true;
}

/* Symbols of a module are adjacent. */
static bool add(struct us_host_symbols *k, us_hva start, const char *name,
		const char *module)
{
	if (k->n == k->cap) {
		size_t cap = k->cap ? 2 * k->cap : 1 << 16;
		void *p = cap <= MAX_SYMBOLS ? realloc(k->v, cap * sizeof(*k->v))
					     : NULL;
		if (!p)
			return false;
		k->v = p;
		k->cap = cap;
	}
	struct us_host_symbol s = { .start = start };
	const struct us_host_symbol *before = k->n ? &k->v[k->n - 1] : NULL;
	if (before && !strcmp(k->text + before->module, module))
		s.module = before->module;
	else if (!add_text(k, module, &s.module))
		return false;
	if (!add_text(k, name, &s.name))
		return false;
	k->v[k->n++] = s;
	return true;
}

/* "ffffffff81000000 T name\t[module]" */
static int add_line(struct us_host_symbols *k, const char *line)
{
	char name[MAX_NAME], module[MAX_NAME] = "[kernel]", type;
	unsigned long long start;
	int n = sscanf(line, "%llx %c %511s %511s", &start, &type, name, module);
	if (n < 3 || !start || !strchr("tTwW", type))
		return 0;
	return add(k, start, name, module) ? 0 : -ENOMEM;
}

static int by_start(const void *a, const void *b)
{
	const struct us_host_symbol *x = a, *y = b;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

/* Of several names at one address, keep the last: the first ones are of sections. */
static void close_up(struct us_host_symbols *k)
{
	size_t to = 0;
	if (k->n)
		qsort(k->v, k->n, sizeof(*k->v), by_start);
	for (size_t i = 0; i < k->n; i++) {
		if (to && k->v[to - 1].start == k->v[i].start)
			to--;
		k->v[to++] = k->v[i];
	}
	k->n = to;
	for (size_t i = 0; i < k->n; i++)
		k->v[i].size = i + 1 < k->n ? k->v[i + 1].start - k->v[i].start
					    : LAST_SIZE;
}

int us_host_symbols_read(struct us_host_symbols *k, const char *path, struct us_err *e)
{
	int r = 0;
	memset(k, 0, sizeof(*k));
	FILE *f = fopen(path, "re");
	if (!f)
		return us_fail(e, -errno, "read %s: %s", path, strerror(errno));
	_cleanup_free_ char *line = NULL;
	size_t cap = 0;
	while (!r && getline(&line, &cap, f) > 0)
		r = add_line(k, line);
	fclose(f);
	close_up(k);
	if (!r && !k->n)
		r = -EPERM;
	if (!r)
		return 0;
	us_host_symbols_fini(k);
	us_fail(e, r, "read %s: %s", path,
		r == -EPERM ? "it hides its addresses from this process"
			    : "out of memory");
	if (r == -EPERM)
		us_hint(e, "run uniscope with sudo");
	return r;
}

void us_host_symbols_fini(struct us_host_symbols *k)
{
	free(k->v);
	free(k->text);
	memset(k, 0, sizeof(*k));
}

const struct us_host_symbol *us_host_symbols_find(const struct us_host_symbols *k,
						  us_hva pc)
{
	size_t next = us_first_not(k->n, mid, k->v[mid].start <= pc);
	return next && pc - k->v[next - 1].start < k->v[next - 1].size ? &k->v[next - 1]
								       : NULL;
}

const struct us_host_symbol *us_host_symbols_named(const struct us_host_symbols *k,
						   const char *name)
{
	for (size_t i = 0; i < k->n; i++)
		if (!strcmp(k->text + k->v[i].name, name))
			return &k->v[i];
	return NULL;
}
