/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/boot/list.c: see cmd/boot/list.h. */
#include "cmd/boot/list.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "base/json_line.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FILE (1U << 20) /* bytes */
#define KEYS	 "name, command, until, elf, by"

struct reading {
	const char *path;
	char *text;
	size_t len;
	struct us_boot_list *list;
};

/* ---- Mistakes ---- */

static int mistake(const struct reading *f, size_t variant, const char *key,
		   const char *what, struct us_err *e)
{
	return us_fail(e, -EINVAL, "%s, line %zu: variant %zu, %s: %s", f->path,
		       us_json_line(f->text, f->len, "variants", variant, key),
		       variant + 1, key, what);
}

static int mistake_above(const struct reading *f, const char *key, const char *what,
			 struct us_err *e)
{
	return us_fail(e, -EINVAL, "%s, line %zu: %s: %s", f->path,
		       us_json_line(f->text, f->len, key, SIZE_MAX, NULL), key, what);
}

/* ---- A variant ---- */

/* The strings of a list, n at most; -EINVAL: it is no list of strings. */
static int read_list(const json_t *list, const char **ret, size_t most, size_t *ret_n)
{
	size_t n = json_array_size(list);
	*ret_n = 0;
	if (!list)
		return 0;
	if (!json_is_array(list) || n > most)
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		ret[i] = json_string_value(json_array_get(list, i));
		if (!ret[i])
			return -EINVAL;
	}
	*ret_n = n;
	return 0;
}

static int check_keys(const struct reading *f, const json_t *object, size_t variant,
		      struct us_err *e)
{
	static const char *const known[] = { "name", "command", "until", "elf", "by" };
	const char *key;
	json_t *value;
	json_object_foreach((json_t *)(uintptr_t)object, key, value)
	{
		bool good = false;
		for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
			good |= !strcmp(key, known[i]);
		if (!good)
			return mistake(f, variant, key, "no such key; keys are: " KEYS,
				       e);
	}
	return 0;
}

static int read_command(const struct reading *f, const json_t *object, size_t i,
			struct us_err *e)
{
	struct us_boot_listed *v = &f->list->v[i];
	const char *argv[US_BOOT_MAX_ARGS];
	size_t n;
	if (read_list(json_object_get(object, "command"), argv, US_BOOT_MAX_ARGS, &n) ||
	    !n)
		return mistake(f, i, "command", "must be a list of texts", e);
	for (size_t k = 0; k < n; k++)
		v->argv[k] = (char *)(uintptr_t)argv[k];
	v->boot.asked.argv = v->argv;
	v->boot.asked.symbols = &v->symbols;
	return 0;
}

static int read_variant(const struct reading *f, const json_t *object, size_t i,
			struct us_err *e)
{
	struct us_boot_listed *v = &f->list->v[i];
	const json_t *by = json_object_get(object, "by");
	int r = json_is_object(object)
			? check_keys(f, object, i, e)
			: mistake(f, i, "variants", "must be objects", e);
	if (r < 0)
		return r;
	v->boot.name = json_string_value(json_object_get(object, "name"));
	v->boot.by = json_string_value(by);
	if (!v->boot.name || !v->boot.name[0])
		return mistake(f, i, "name", "must be a text", e);
	if (by && !v->boot.by)
		return mistake(f, i, "by", "must be a text", e);
	if (read_list(json_object_get(object, "until"), v->boot.until,
		      US_BOOT_MAX_UNTIL, &v->boot.n_until))
		return mistake(f, i, "until", "must be a list of texts", e);
	if (read_list(json_object_get(object, "elf"), v->symbols.image, US_MAX_IMAGES,
		      &v->symbols.n_image))
		return mistake(f, i, "elf", "must be a list of texts", e);
	return read_command(f, object, i, e);
}

static int check_names(const struct reading *f, struct us_err *e)
{
	const struct us_boot_listed *v = f->list->v;
	for (size_t i = 0; i < f->list->n; i++)
		for (size_t k = 0; k < i; k++)
			if (!strcmp(v[i].boot.name, v[k].boot.name))
				return mistake(f, i, "name",
					       "another variant has the same name", e);
	return 0;
}

/* ---- The file ---- */

static int read_text(struct reading *f, struct us_err *e)
{
	_cleanup_close_ int fd = open(f->path, O_RDONLY | O_CLOEXEC);
	f->text = fd < 0 ? NULL : malloc(MAX_FILE);
	if (fd < 0) {
		us_fail(e, -EIO, "--compare %s: %s", f->path, strerror(errno));
		us_hint(e, "a JSON file with the name and command of each variant: see "
			   "man uniscope-boot");
		return -EIO;
	}
	if (!f->text)
		return us_fail(e, -ENOMEM, "out of memory");
	ssize_t n = us_read_full(fd, f->text, MAX_FILE);
	if (n < 0)
		return us_fail(e, (int)n, "%s: %s", f->path, strerror((int)-n));
	f->len = (size_t)n;
	if (f->len == MAX_FILE)
		return us_fail(e, -EFBIG, "%s: must be below 1 MiB", f->path);
	return 0;
}

static int read_runs(const struct reading *f, struct us_err *e)
{
	const json_t *runs = json_object_get(f->list->json, "runs");
	json_int_t n = json_integer_value(runs);
	if (runs && (n < 1 || n > US_BOOT_MAX_RUNS))
		return mistake_above(f, "runs", "must be a number from 1 to 1000", e);
	f->list->n_run = (size_t)n;
	return 0;
}

static int read_all(const struct reading *f, struct us_err *e)
{
	struct us_boot_list *l = f->list;
	const json_t *list = json_object_get(l->json, "variants");
	l->n = json_array_size(list);
	if (l->n < 1 || l->n > US_BOOT_MAX_VARIANTS)
		return mistake_above(f, "variants", "must be a list of 1 to 16 objects",
				     e);
	l->v = calloc(l->n, sizeof(*l->v));
	if (!l->v)
		return us_fail(e, -ENOMEM, "out of memory for %zu variants", l->n);
	int r = read_runs(f, e);
	for (size_t i = 0; r == 0 && i < l->n; i++)
		r = read_variant(f, json_array_get(list, i), i, e);
	return r < 0 ? r : check_names(f, e);
}

int us_boot_list_read(const char *path, struct us_boot_list *ret, struct us_err *e)
{
	struct reading f = { .path = path, .list = ret };
	json_error_t where;
	*ret = (struct us_boot_list){ 0 };
	int r = read_text(&f, e);
	if (r == 0)
		ret->json = json_loadb(f.text, f.len, JSON_REJECT_DUPLICATES, &where);
	if (r == 0 && !ret->json)
		r = us_fail(e, -EINVAL, "%s, line %d: %s", path,
			    where.line > 0 ? where.line : 1, where.text);
	if (r == 0)
		r = read_all(&f, e);
	free(f.text);
	return r;
}

void us_boot_list_fini(struct us_boot_list *l)
{
	for (size_t i = 0; i < l->n && l->v; i++)
		us_boot_variant_fini(&l->v[i].boot);
	free(l->v);
	json_decref(l->json);
}
