/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile.c: the profile's parts for its readers, and its end. */
#include "profile/profile_priv.h"

#include "base/cleanup.h"
#include "base/nearest.h"
#include "base/vec.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void us_profile_warn(struct us_profile *p, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;
	va_start(ap, fmt);
	int n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	char **slot = us_vec_push(&p->warnings);
	if (slot)
		*slot = text;
	else
		free(text);
}

void us_profile_free(struct us_profile *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->warnings.n; i++)
		free(p->warnings.v[i]);
	for (size_t i = 0; i < p->modules.n; i++)
		free((char *)p->modules.v[i].m.path);
	for (size_t i = 0; i < p->names.n; i++)
		free(p->names.v[i]);
	free(p->warnings.v);
	free(p->modules.v);
	free(p->names.v);
	us_paths_fini(&p->paths);
	us_trie_fini(&p->trie);
	us_trie_fini(&p->host_trie);
	us_pair_map_fini(&p->host_of);
	us_slices_fini(&p->running);
	us_slices_fini(&p->idle);
	us_stretches_fini(&p->stretches);
	us_moments_fini(&p->moments);
	free(p->funcs.v);
	free(p->func_slot);
	us_pair_map_fini(&p->known_sites);
	us_pair_map_fini(&p->epoch_nodes);
	us_pair_map_fini(&p->view_of);
	free(p->cuts.v);
	free(p->views.v);
	free(p->sites.v);
	free(p->frames.v);
	free(p->nodes.v);
	free(p->keys.v);
	free(p->keys.weight);
	free(p->repeats.v);
	free(p->key_node);
	free(p->lines.v);
	free(p->filters);
	us_naming_unref(p->naming);
	us_profile_free_timeline(p);
	us_profile_free_programs(p);
	free(p->epoch_of_kernel);
	us_profile_free_processes(p);
	us_profile_free_tasks(p);
	us_profile_free_waiters(p);
	us_profile_free_files(p);
	us_pair_map_fini(&p->key_ends);
	us_pair_map_fini(&p->key_late);
	us_profile_free_vcpus(p);
	us_pair_map_fini(&p->call_of);
	free(p->calls.v);
	free(p);
}

const struct us_profile_func *us_profile_funcs(const struct us_profile *p,
					       size_t *ret_n)
{
	*ret_n = p->funcs.n;
	return p->funcs.v;
}

/* Is that the name in the image, or the shown one without what tells it from others? */
static bool is_called(const struct us_profile_func *f, const char *word)
{
	return !strcmp(f->raw, word) || !strcmp(f->base, word);
}

int us_profile_named(const struct us_profile *p, const char *word,
		     const struct us_profile_func **ret, struct us_err *e)
{
	struct us_nearest all = us_nearest_to(word), called = us_nearest_to(word);
	const struct us_profile_func *shown = NULL, *some = NULL;
	char question[128];
	for (size_t i = 0; i < p->funcs.n; i++) {
		const struct us_profile_func *f = &p->funcs.v[i];
		if (!f->total)
			continue;
		us_nearest_try(&all, f->name);
		if (!strcmp(f->name, word) && (!shown || f->total > shown->total))
			shown = f;
		if (is_called(f, word)) {
			us_nearest_try(&called, f->name);
			some = f;
		}
	}
	*ret = shown ? shown : some;
	if (shown || called.n == 1)
		return 0;
	if (!some) {
		us_fail(e, -ENOENT, "no function called %s is in a stack%s", word,
			us_nearest_question(&all, question, sizeof(question)));
		if (!all.best && all.n)
			us_hint(e, "one of %s", all.list);
		return -ENOENT;
	}
	us_fail(e, -EINVAL, "%u functions are called %s", called.n, word);
	us_hint(e, "choose one of them: %s", called.list);
	return -EINVAL;
}

const struct us_profile_node *us_profile_nodes(const struct us_profile *p,
					       size_t *ret_n)
{
	*ret_n = p->nodes.n;
	return p->nodes.v;
}

const struct us_profile_line *us_profile_lines(const struct us_profile *p,
					       size_t *ret_n)
{
	*ret_n = p->lines.n;
	return p->lines.v;
}

const struct us_profile_module *us_profile_modules(const struct us_profile *p,
						   size_t *ret_n)
{
	*ret_n = p->modules.n;
	return p->modules.v;
}

struct us_symbols *us_profile_symbols(const struct us_profile *p)
{
	return p->symbols;
}

const struct us_profile_summary *us_profile_summary(const struct us_profile *p)
{
	return &p->sum;
}

const char *us_profile_filters(const struct us_profile *p)
{
	return p->filters;
}

size_t us_profile_n_warning(const struct us_profile *p)
{
	return p->warnings.n;
}

const char *us_profile_warning(const struct us_profile *p, size_t i)
{
	return i < p->warnings.n ? p->warnings.v[i] : NULL;
}

const char *us_profile_warning_of_images(const struct us_profile *p)
{
	static const char none[] = "no names:";
	for (size_t i = 0; i < p->warnings.n; i++)
		if (i < p->n_image_warning ||
		    !strncmp(p->warnings.v[i], none, sizeof(none) - 1))
			return p->warnings.v[i];
	return NULL;
}
