/* SPDX-License-Identifier: GPL-2.0-or-later */
/* images.c: see images.h. */
#include "cmd/images.h"

#include "base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* "FILE@0x1000" to a path and a bias; a file whose name has an @ is taken whole. */
static int split_bias(const char *text, char path[US_STORE_MAX_PATH],
		      uint64_t *ret_bias, struct us_err *e)
{
	size_t len = strlen(text);
	*ret_bias = 0;
	if (len >= US_STORE_MAX_PATH)
		return us_fail(e, -ENAMETOOLONG, "-e %.60s...: the name is too long",
			       text);
	memcpy(path, text, len + 1);
	char *at = strrchr(path, '@');
	if (!at || access(text, F_OK) == 0)
		return 0;
	char *end;
	errno = 0;
	*ret_bias = strtoull(at + 1, &end, 0);
	if (end == at + 1 || *end || errno)
		return us_fail(e, -EINVAL, "-e %s: %s is no bias such as 0x1000000",
			       text, at + 1);
	*at = '\0';
	return 0;
}

static int add(struct us_images *i, const char *path, uint64_t bias, bool given,
	       struct us_err *e)
{
	struct us_elf_image *elf;
	if (i->n == US_MAX_IMAGES)
		return us_fail(e, -E2BIG, "open %s: more than %d images", path,
			       US_MAX_IMAGES);
	int r = us_elf_image_open(path, &elf, e);
	if (r < 0)
		return r;
	r = us_symbols_add(i->symbols, elf, bias, e);
	if (r < 0) {
		us_elf_image_close(elf);
		return r;
	}
	i->v[i->n++] = (struct us_image){ .elf = elf, .bias = bias, .given = given };
	return 0;
}

static int add_given(struct us_images *i, const char *text, struct us_err *e)
{
	char path[US_STORE_MAX_PATH];
	uint64_t bias;
	int r = split_bias(text, path, &bias, e);
	if (r < 0)
		return r;
	char *whole = realpath(path, NULL); /* the report may run elsewhere */
	r = add(i, whole ? whole : path, bias, true, e);
	free(whole);
	if (r == 0)
		return 0;
	us_wrap(e, "-e %s", text);
	/* Not the codes that mean the guest (us_exit_code): a file is at fault. */
	return r == -ENOENT || r == -EACCES || r == -EPERM ? -EIO : r;
}

/* The kernel that the VMM was started with; not having it is no error. */
static void add_kernel(struct us_images *i, const struct us_guest *g)
{
	struct us_err e = { 0 };
	if (!g || !g->kernel[0])
		snprintf(i->note, sizeof(i->note),
			 "no kernel image is known: addresses only; -e ELF names it");
	else if (add(i, g->kernel, 0, false, &e) < 0)
		snprintf(i->note, sizeof(i->note),
			 "no symbols: %.150s; -e ELF names another file", e.msg);
}

static int make_map(struct us_images *i, struct us_err *e)
{
	if (us_symbols_function_starts(i->symbols, &i->start, &i->n_start) < 0)
		return us_fail(e, -ENOMEM, "out of memory for function starts");
	i->map = (struct us_code_map){ .start = i->start, .n = i->n_start };
	for (size_t k = 0; k < i->n; k++) {
		uint64_t start, end, bias = i->v[k].bias;
		if (!us_elf_image_text(i->v[k].elf, &start, &end))
			continue;
		if (!i->map.text_end || start + bias < i->map.text_start)
			i->map.text_start = start + bias;
		if (end + bias > i->map.text_end)
			i->map.text_end = end + bias;
	}
	return 0;
}

int us_images_open(struct us_images *i, const char *const *given, size_t n_given,
		   const struct us_guest *g, struct us_err *e)
{
	memset(i, 0, sizeof(*i));
	int r = us_symbols_new(&i->symbols, e);
	for (size_t k = 0; r == 0 && k < n_given; k++)
		r = add_given(i, given[k], e);
	if (r == 0 && !n_given)
		add_kernel(i, g);
	if (r == 0)
		r = make_map(i, e);
	if (r < 0)
		us_images_fini(i);
	return r;
}

void us_images_fini(struct us_images *i)
{
	us_symbols_free(i->symbols);
	free(i->start);
	i->symbols = NULL;
	i->start = NULL;
	i->n = i->n_start = 0;
}

/* One image against the memory of this capture; true: the two are the same. */
static bool compare(struct us_image *m, const struct us_capture *c, struct us_paging *p)
{
	struct us_image_match counts;
	bool same;
	if (!us_elf_image_compare(m->elf, m->bias, c->regs.pc, p, &c->regs.space,
				  &counts, &same))
		return false;
	m->match = same ? US_MATCH_YES : US_MATCH_NO;
	return same;
}

bool us_images_look(struct us_images *i, const struct us_capture *c,
		    struct us_paging *p)
{
	uint64_t now = us_now_ns();
	bool settled = true;
	if (now < i->next_ns)
		return false;
	if (!i->first_ns)
		i->first_ns = now;
	for (size_t k = 0; k < i->n; k++)
		if (i->v[k].match != US_MATCH_YES && !compare(&i->v[k], c, p))
			settled = false;
	if (settled && i->n && i->unwinder)
		us_unwinder_set_code(i->unwinder, &i->map, NULL);
	i->next_ns = now + (now - i->first_ns) + 10 * US_NS_PER_MS;
	__atomic_add_fetch(&i->changes, 1, __ATOMIC_RELEASE);
	return settled;
}

void us_images_module(const struct us_images *i, size_t at, struct us_module *ret)
{
	const struct us_image *m = &i->v[at];
	uint64_t start = 0, end = 0;
	size_t len;
	const uint8_t *id = us_elf_image_build_id(m->elf, &len);
	us_elf_image_text(m->elf, &start, &end);
	*ret = (struct us_module){ .start = start + m->bias,
				   .end = end + m->bias,
				   .bias = m->bias,
				   .match = (uint8_t)m->match,
				   .path = us_elf_image_path(m->elf) };
	if (len > sizeof(ret->build_id))
		len = sizeof(ret->build_id);
	if (len)
		memcpy(ret->build_id, id, len);
	ret->build_id_len = (uint8_t)len;
}
