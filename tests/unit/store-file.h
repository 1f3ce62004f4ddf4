/* SPDX-License-Identifier: GPL-2.0-or-later */
/* store-file.h: recordings in memory, for the tests of the store. */
#ifndef US_TEST_STORE_FILE_H
#define US_TEST_STORE_FILE_H

#include "store/format.h"
#include "unit.h"

#include <sys/mman.h>
#include <unistd.h>

/* All that a reader was told, with stacks unfolded. */
struct heard {
	unsigned n_fact, n_module, n_stack, n_sample, n_stats, n_end;
	char last_key[80], last_value[200], last_path[200], words[200];
	struct us_module module;
	struct us_process process;
	char process_name[80];
	struct us_task task;
	char task_names[400];
	unsigned n_task;
	unsigned n_process, n_waiter, n_wait, n_wait_stats;
	struct us_waiter waiter; /* the last one; its strings are below */
	char waiter_text[160];	 /* "process/name" */
	struct us_wait wait[256];
	struct us_wait_stats wait_stats;
	struct us_record_stats stats;
	enum us_record_end end;
	struct {
		us_stack_id parent;
		us_gva pc;
		uint8_t flags;
	} node[65536];
	struct {
		us_stack_id parent;
		us_hva pc;
	} host[1024];
	size_t n_host, n_host_named;
	char host_text[1100]; /* "module:name" of the last one */
	size_t n_named;
	struct us_named named[16]; /* the last ones; their strings are gone */
	char text[16][1100];	   /* "module:name" of each */
	struct us_sample sample[65536];
	uint64_t weight[US_N_VCPU_STATE]; /* sums of the samples, by state */
	struct us_reader_result result;
	struct us_err e;
};

static inline int hear_fact(void *ctx, const char *key, const char *value)
{
	struct heard *h = ctx;
	snprintf(h->last_key, sizeof(h->last_key), "%s", key);
	snprintf(h->last_value, sizeof(h->last_value), "%s", value);
	h->n_fact++;
	return 0;
}

static inline int hear_module(void *ctx, const struct us_module *m)
{
	struct heard *h = ctx;
	h->module = *m;
	snprintf(h->last_path, sizeof(h->last_path), "%s", m->path);
	h->module.path = h->last_path;
	h->n_module++;
	return 0;
}

static inline int hear_task(void *ctx, const struct us_task *t)
{
	struct heard *h = ctx;
	h->task = *t;
	snprintf(h->task_names, sizeof(h->task_names), "%s %s %s", t->name, t->process,
		 t->cgroup);
	h->n_task++;
	return 0;
}

static inline int hear_process(void *ctx, const struct us_process *s)
{
	struct heard *h = ctx;
	h->process = *s;
	snprintf(h->process_name, sizeof(h->process_name), "%s", s->name);
	h->process.name = h->process_name;
	h->n_process++;
	return 0;
}

static inline int hear_waiter(void *ctx, const struct us_waiter *s)
{
	struct heard *h = ctx;
	h->waiter = *s;
	snprintf(h->waiter_text, sizeof(h->waiter_text), "%s/%s", s->process_name,
		 s->name);
	assert_int_equal(s->number, ++h->n_waiter);
	return 0;
}

static inline int hear_wait(void *ctx, const struct us_wait *s)
{
	struct heard *h = ctx;
	assert_true(s->stack <= h->n_stack && s->waiter && s->waiter <= h->n_waiter);
	assert_true(s->state < US_N_WAIT_STATE && s->end < US_N_END);
	h->wait[h->n_wait++ % 256] = *s;
	return 0;
}

static inline int hear_wait_stats(void *ctx, const struct us_wait_stats *s)
{
	struct heard *h = ctx;
	h->wait_stats = *s;
	h->n_wait_stats++;
	return 0;
}

static inline int hear_stack(void *ctx, us_stack_id id, us_stack_id parent, us_gva pc,
			     uint8_t flags)
{
	struct heard *h = ctx;
	assert_int_equal(id, h->n_stack + 1);
	assert_true(parent < id);
	h->n_stack++;
	if (id < 65536) {
		h->node[id].parent = parent;
		h->node[id].pc = pc;
		h->node[id].flags = flags;
	}
	return 0;
}

static inline int hear_sample(void *ctx, const struct us_sample *s)
{
	struct heard *h = ctx;
	assert_true(s->stack <= h->n_stack);
	assert_true(s->host <= h->n_host);
	assert_true(s->state < US_N_VCPU_STATE && s->end < US_N_END);
	if (h->n_sample < 65536)
		h->sample[h->n_sample] = *s;
	h->n_sample++;
	h->weight[s->state] += s->weight;
	return 0;
}

static inline int hear_stats(void *ctx, const struct us_record_stats *s)
{
	struct heard *h = ctx;
	h->stats = *s;
	h->n_stats++;
	return 0;
}

static inline int hear_end(void *ctx, enum us_record_end end, const char *words)
{
	struct heard *h = ctx;
	h->end = end;
	snprintf(h->words, sizeof(h->words), "%s", words);
	h->n_end++;
	return 0;
}

static inline int hear_named(void *ctx, const struct us_named *n)
{
	struct heard *h = ctx;
	struct us_named *to = &h->named[h->n_named++ % 16];
	*to = *n;
	snprintf(h->text[(h->n_named - 1) % 16], sizeof(h->text[0]), "%s:%s", n->module,
		 n->name);
	return 0;
}

static inline int hear_host_stack(void *ctx, us_stack_id id, us_stack_id parent,
				  us_hva pc)
{
	struct heard *h = ctx;
	assert_int_equal(id, h->n_host + 1);
	assert_true(parent < id);
	h->n_host++;
	if (id < 1024) {
		h->host[id].parent = parent;
		h->host[id].pc = pc;
	}
	return 0;
}

static inline int hear_host_named(void *ctx, const struct us_named *n)
{
	struct heard *h = ctx;
	h->n_host_named++;
	snprintf(h->host_text, sizeof(h->host_text), "%s:%s", n->module, n->name);
	return 0;
}

static const struct us_reader_ops hear_all = {
	.fact = hear_fact,
	.process = hear_process,
	.task = hear_task,
	.waiter = hear_waiter,
	.wait = hear_wait,
	.wait_stats = hear_wait_stats,
	.module = hear_module,
	.stack = hear_stack,
	.sample = hear_sample,
	.stats = hear_stats,
	.end = hear_end,
	.named = hear_named,
	.host_stack = hear_host_stack,
	.host_named = hear_host_named,
};

static inline int hear(int fd, struct heard *h)
{
	memset(h, 0, offsetof(struct heard, sample));
	memset(h->weight, 0, sizeof(h->weight));
	return us_read(fd, &hear_all, h, &h->result, &h->e);
}

/* Frames of a stack as it was read, innermost first; the count. */
static inline size_t unfold(const struct heard *h, us_stack_id id, us_gva *pc)
{
	size_t n = 0;
	for (; id; id = h->node[id].parent)
		pc[n++] = h->node[id].pc;
	return n;
}

static inline int memory_file(const void *bytes, size_t len)
{
	int fd = memfd_create("recording", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), len);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

/* The whole of fd in memory of the heap. */
static inline uint8_t *file_bytes(int fd, size_t *ret_len)
{
	off_t len = lseek(fd, 0, SEEK_END);
	uint8_t *p = malloc((size_t)len + 1);
	assert_non_null(p);
	assert_int_equal(pread(fd, p, (size_t)len, 0), len);
	*ret_len = (size_t)len;
	return p;
}

#endif
