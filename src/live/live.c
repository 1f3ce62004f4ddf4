/* SPDX-License-Identifier: GPL-2.0-or-later */
/* live.c: follow a recording; see live.h. */
#include "live/live_priv.h"

#include "base/cleanup.h"
#include "base/vec.h"
#include "profile/kernels.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

_Static_assert(US_LIVE_NODES >= 2U << 19, "twice what a writer remembers");
#define FIRST_NODES   4096
#define FIRST_SAMPLES 4096

static int on_fact(void *ctx, const char *key, const char *value)
{
	struct us_live *l = ctx;
	size_t i = 0;
	char *copy = strdup(value);
	if (!copy)
		return -ENOMEM;
	while (i < l->facts.n && strcmp(l->facts.v[i].key, key))
		i++;
	if (i < l->facts.n) {
		free(l->facts.v[i].value);
		l->facts.v[i].value = copy;
		return 0;
	}
	char *name = strdup(key);
	struct us_live_fact *f = name ? us_vec_push(&l->facts) : NULL;
	if (!f) {
		free(name);
		free(copy);
		return -ENOMEM;
	}
	*f = (struct us_live_fact){ name, copy };
	return 0;
}

static bool same_module(const struct us_module *a, const struct us_module *b)
{
	return a->start == b->start && a->end == b->end && a->bias == b->bias &&
	       a->match == b->match && a->number == b->number && a->root == b->root &&
	       a->from_ns == b->from_ns && a->until_ns == b->until_ns &&
	       us_module_same_image(a, b);
}

/* Replaces the module with the same number or, in old recordings without numbers, with
 * the same start. */
static int on_module(void *ctx, const struct us_module *m)
{
	struct us_live *l = ctx;
	struct us_module *slot = NULL;
	for (size_t i = 0; i < l->modules.n; i++)
		if (m->number ? l->modules.v[i].number == m->number
			      : l->modules.v[i].start == m->start)
			slot = &l->modules.v[i];
	if (slot && same_module(slot, m))
		return 0;
	char *path = strdup(m->path);
	if (path && !slot)
		slot = us_vec_push(&l->modules);
	if (!path || !slot) {
		free(path);
		return -ENOMEM;
	}
	free((char *)slot->path);
	*slot = *m;
	slot->path = path;
	l->images_changed = true;
	return 0;
}

static int grow_nodes(struct us_live_nodes *t)
{
	size_t cap = t->cap ? 2 * t->cap : FIRST_NODES;
	struct us_live_node *v = realloc(t->v, cap * sizeof(*v));
	if (!v)
		return -ENOMEM;
	t->v = v;
	t->cap = cap;
	return 0;
}

/* Numbers begin at 1, without gaps. */
static int add_node(struct us_live_nodes *t, us_stack_id id, us_stack_id parent,
		    us_gva pc, uint8_t flags)
{
	t->n = t->n ? t->n : 1;
	if (id != t->n)
		return -EBADMSG;
	if (id >= t->cap && t->cap < US_LIVE_NODES && grow_nodes(t))
		return -ENOMEM;
	t->v[id & (t->cap - 1)] =
		(struct us_live_node){ .pc = pc, .parent = parent, .flags = flags };
	t->n++;
	return 0;
}

static int on_stack(void *ctx, us_stack_id id, us_stack_id parent, us_gva pc,
		    uint8_t flags)
{
	return add_node(&((struct us_live *)ctx)->guest, id, parent, pc, flags);
}

static int on_host_stack(void *ctx, us_stack_id id, us_stack_id parent, us_hva pc)
{
	return add_node(&((struct us_live *)ctx)->host, id, parent, pc, 0);
}

static int grow_samples(struct us_live *l)
{
	size_t cap = l->cap ? 2 * l->cap : FIRST_SAMPLES;
	struct us_sample *v = malloc(cap * sizeof(*v));
	if (!v)
		return -ENOMEM;
	for (uint64_t i = l->first; i < l->n; i++)
		v[i & (cap - 1)] = *us_live_sample_at(l, i);
	free(l->v);
	l->v = v;
	l->cap = cap;
	return 0;
}

static void drop_first(struct us_live *l)
{
	const struct us_sample *s = us_live_sample_at(l, l->first++);
	if (l->dropped_ns < s->t_ns)
		l->dropped_ns = s->t_ns;
}

static int on_sample(void *ctx, const struct us_sample *s)
{
	struct us_live *l = ctx;
	while (l->first < l->n &&
	       s->t_ns > us_live_sample_at(l, l->first)->t_ns + l->opts.keep_ns)
		drop_first(l);
	if (l->n - l->first == US_LIVE_SAMPLES)
		drop_first(l);
	if (l->n - l->first == l->cap && grow_samples(l))
		return -ENOMEM;
	l->v[l->n++ & (l->cap - 1)] = *s;
	l->last[s->vcpu] = *s;
	if (l->n_vcpu <= s->vcpu)
		l->n_vcpu = s->vcpu + 1U;
	if (l->now_ns < s->t_ns)
		l->now_ns = s->t_ns;
	return 0;
}

static int on_stats(void *ctx, const struct us_record_stats *s)
{
	struct us_live *l = ctx;
	l->stats = *s;
	l->has_stats = true;
	if (l->now_ns < s->elapsed_ns)
		l->now_ns = s->elapsed_ns;
	return 0;
}

static int on_end(void *ctx, enum us_record_end end, const char *words)
{
	struct us_live *l = ctx;
	free(l->words);
	l->words = strdup(words);
	l->end = end;
	l->over = true;
	return l->words ? 0 : -ENOMEM;
}

static int on_named(void *ctx, const struct us_named *n)
{
	struct us_live *l = ctx;
	struct us_kernels kernels;
	us_kernels_parse(us_live_fact(l, "linux_changed"), &kernels);
	return us_naming_add(l->naming, kernels.n, n, false);
}

static int on_program_file(void *ctx, const struct us_program_file *f)
{
	struct us_live *l = ctx;
	char *path = strdup(f->path);
	struct us_program_file *to = path ? us_vec_push(&l->programs) : NULL;
	if (!to) {
		free(path);
		return -ENOMEM;
	}
	*to = *f;
	to->path = path;
	return 0;
}

static int on_mapping(void *ctx, const struct us_mapping *m)
{
	struct us_live *l = ctx;
	struct us_mapping *to = us_vec_push(&l->mappings);
	if (!to)
		return -ENOMEM;
	*to = *m;
	return 0;
}

/* An image of its file may already have been made without this name. */
static int on_program_name(void *ctx, const struct us_program_name *n)
{
	struct us_live *l = ctx;
	char *name = strdup(n->name);
	struct us_program_name *to = name ? us_vec_push(&l->program_names) : NULL;
	if (!to) {
		free(name);
		return -ENOMEM;
	}
	*to = *n;
	to->name = name;
	l->images_changed = true;
	return 0;
}

static int on_process(void *ctx, const struct us_process *s)
{
	return us_live_process(ctx, s);
}

static int on_task(void *ctx, const struct us_task *t)
{
	return us_live_task(ctx, t);
}

static int on_waiter(void *ctx, const struct us_waiter *s)
{
	return us_live_waiter(ctx, s);
}

static int on_wait(void *ctx, const struct us_wait *s)
{
	return us_live_wait(ctx, s);
}

static int on_wait_stats(void *ctx, const struct us_wait_stats *s)
{
	struct us_live *l = ctx;
	l->waits.stats = *s;
	return 0;
}

static int on_host_named(void *ctx, const struct us_named *n)
{
	struct us_live *l = ctx;
	return l->opts.host ? us_naming_add(l->naming, 0, n, true) : 0;
}

static const struct us_reader_ops ops = {
	.fact = on_fact,
	.module = on_module,
	.stack = on_stack,
	.sample = on_sample,
	.stats = on_stats,
	.end = on_end,
	.named = on_named,
	.host_stack = on_host_stack,
	.host_named = on_host_named,
	.program_file = on_program_file,
	.mapping = on_mapping,
	.program_name = on_program_name,
	.process = on_process,
	.task = on_task,
	.waiter = on_waiter,
	.wait = on_wait,
	.wait_stats = on_wait_stats,
};

/* Open the file again, with an offset of its own, whatever its name is now. */
static int reopen(int fd, int *ret, struct us_err *e)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	*ret = open(path, O_RDONLY | O_CLOEXEC);
	return *ret < 0 ? us_fail(e, -errno, "open the recording to follow it: %s",
				  strerror(errno))
			: 0;
}

int us_live_open(int fd, const struct us_live_opts *o, struct us_live **ret,
		 struct us_err *e)
{
	struct us_live *l = calloc(1, sizeof(*l));
	if (!l)
		return us_fail(e, -ENOMEM, "follow a recording: out of memory");
	l->fd = l->again_fd = -1;
	if (o)
		l->opts = *o;
	if (!l->opts.keep_ns)
		l->opts.keep_ns = US_LIVE_KEEP_NS;
	int rc = us_naming_new(l->opts.raw_names, &l->naming, e);
	if (!rc)
		rc = reopen(fd, &l->fd, e);
	if (!rc)
		rc = reopen(fd, &l->again_fd, e);
	if (!rc)
		rc = us_reader_open(l->fd, &ops, l, &l->reader, e);
	if (rc) {
		us_live_close(l);
		return rc;
	}
	*ret = l;
	return 0;
}

void us_live_close(struct us_live *l)
{
	if (!l)
		return;
	us_reader_close(l->reader);
	us_closep(&l->fd);
	us_closep(&l->again_fd);
	for (size_t i = 0; i < l->facts.n; i++) {
		free(l->facts.v[i].key);
		free(l->facts.v[i].value);
	}
	for (size_t i = 0; i < l->modules.n; i++)
		free((char *)l->modules.v[i].path);
	for (size_t i = 0; i < l->programs.n; i++)
		free((char *)l->programs.v[i].path);
	for (size_t i = 0; i < l->program_names.n; i++)
		free((char *)l->program_names.v[i].name);
	us_live_free_owners(l);
	us_live_free_waits(l);
	free(l->programs.v);
	free(l->mappings.v);
	free(l->program_names.v);
	free(l->facts.v);
	free(l->modules.v);
	us_naming_unref(l->naming);
	free(l->guest.v);
	free(l->host.v);
	free(l->v);
	free(l->words);
	free(l);
}

int us_live_follow(struct us_live *l, struct us_err *e)
{
	int rc = us_reader_follow(l->reader, &l->read, e);
	return rc ? us_wrap(e, "follow the recording") : 0;
}

uint64_t us_live_now_ns(const struct us_live *l)
{
	return l->now_ns;
}

uint64_t us_live_bytes(const struct us_live *l)
{
	return l->read.bytes;
}

const struct us_record_stats *us_live_stats(const struct us_live *l)
{
	return &l->stats;
}

bool us_live_ended(const struct us_live *l, enum us_record_end *ret_end,
		   const char **ret_words)
{
	if (ret_end)
		*ret_end = l->end;
	if (ret_words)
		*ret_words = l->words ? l->words : "";
	return l->over;
}

const char *us_live_fact(const struct us_live *l, const char *key)
{
	for (size_t i = 0; i < l->facts.n; i++)
		if (!strcmp(l->facts.v[i].key, key))
			return l->facts.v[i].value;
	return NULL;
}

unsigned us_live_n_vcpu(const struct us_live *l)
{
	const char *fact = us_live_fact(l, "vcpus");
	unsigned long n = fact ? strtoul(fact, NULL, 10) : 0;
	n = n < US_MAX_VCPUS ? n : US_MAX_VCPUS;
	return n > l->n_vcpu ? (unsigned)n : l->n_vcpu;
}

void us_live_times(const struct us_live *l, const struct us_live_view *v,
		   uint64_t *ret_from, uint64_t *ret_to)
{
	*ret_from = v->from_ns;
	*ret_to = v->to_ns ? v->to_ns : UINT64_MAX;
	if (v->last_ns) {
		*ret_from = l->now_ns > v->last_ns ? l->now_ns - v->last_ns : 0;
		*ret_to = UINT64_MAX;
	}
}
