/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile/facts.c: the facts of a recording, and those of several joined. */
#include "profile/profile_priv.h"

#include "base/vec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_JOINED 200 /* bytes; then "..." */

void us_profile_free_facts(struct us_profile_facts *f)
{
	for (size_t i = 0; i < f->n; i++) {
		free(f->v[i].key);
		free(f->v[i].value);
	}
	free(f->v);
	*f = (struct us_profile_facts){ 0 };
}

static struct us_profile_fact *find(const struct us_profile_facts *f, const char *key)
{
	for (size_t i = 0; i < f->n; i++)
		if (!strcmp(f->v[i].key, key))
			return &f->v[i];
	return NULL;
}

static int push(struct us_profile_facts *to, const char *key, const char *value)
{
	struct us_profile_fact *f = us_vec_push(to);
	if (!f)
		return -ENOMEM;
	f->differs = false;
	f->key = strdup(key);
	f->value = strdup(value);
	if (f->key && f->value)
		return 0;
	free(f->key);
	free(f->value);
	to->n--;
	return -ENOMEM;
}

int us_profile_add_fact(struct us_profile *p, const char *key, const char *value)
{
	struct us_profile_fact *f = find(&p->file_facts, key);
	if (!f)
		return push(&p->file_facts, key, value);
	char *copy = strdup(value);
	if (!copy)
		return -ENOMEM;
	free(f->value);
	f->value = copy;
	return 0;
}

/* Different values of these facts are all listed; of other facts the first value is
 * kept. */
static bool is_listed(const char *key)
{
	static const char *const listed[] = { "target",	 "guest",   "kernel",
					      "pid",	 "command", "backend",
					      "started", "host",    "vmm" };
	for (size_t i = 0; i < sizeof(listed) / sizeof(*listed); i++)
		if (!strcmp(key, listed[i]))
			return true;
	return false;
}

/* Is it one of "a, b, c"? */
static bool has_item(const char *list, const char *item)
{
	size_t n = strlen(item);
	for (const char *at = list; at;) {
		if (!strncmp(at, item, n) && (!at[n] || !strncmp(at + n, ", ", 2)))
			return true;
		at = strstr(at, ", ");
		at = at ? at + 2 : NULL;
	}
	return false;
}

static int add_item(struct us_profile_fact *f, const char *item)
{
	char *joined;
	if (!strcmp(f->value, item) || has_item(f->value, item) ||
	    has_item(f->value, "..."))
		return 0;
	if (strlen(f->value) + strlen(item) > MOST_JOINED)
		item = "...";
	if (asprintf(&joined, "%s, %s", f->value, item) < 0)
		return -ENOMEM;
	free(f->value);
	f->value = joined;
	return 0;
}

int us_profile_join_facts(struct us_profile *p)
{
	int rc = 0;
	for (size_t i = 0; i < p->file_facts.n && rc == 0; i++) {
		const struct us_profile_fact *own = &p->file_facts.v[i];
		struct us_profile_fact *f = find(&p->facts, own->key);
		if (!f)
			rc = push(&p->facts, own->key, own->value);
		else if (is_listed(own->key))
			rc = add_item(f, own->value);
		else
			f->differs = f->differs || strcmp(f->value, own->value) != 0;
	}
	us_profile_free_facts(&p->file_facts);
	return rc;
}

const char *us_profile_fact(const struct us_profile *p, const char *key)
{
	const struct us_profile_fact *f = find(&p->facts, key);
	return f ? f->value : NULL;
}

bool us_profile_fact_differs(const struct us_profile *p, const char *key)
{
	const struct us_profile_fact *f = find(&p->facts, key);
	return f && f->differs;
}

bool us_profile_fact_at(const struct us_profile *p, size_t i, const char **ret_key,
			const char **ret_value)
{
	if (i >= p->facts.n)
		return false;
	*ret_key = p->facts.v[i].key;
	*ret_value = p->facts.v[i].value;
	return true;
}
