/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz-store.c: the reader of recordings against any bytes.
 *
 * Random bytes never have a right checksum, so nothing behind it would be reached:
 * if the input's last byte is odd, the sums of all chunks are set right first.
 */
#include "store/crc32c.h"
#include "store/format.h"
#include "store/varint.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
	us_stack_id host_stacks;
	uint32_t functions, waiters;
	uint64_t stacks, samples, bytes_of_text;
	bool ended;
};

static void must(bool holds)
{
	if (!holds)
		__builtin_trap();
}

static int fact(void *ctx, const char *key, const char *value)
{
	struct seen *s = ctx;
	s->bytes_of_text += strlen(key) + strlen(value);
	must(key[0]);
	return 0;
}

static int module(void *ctx, const struct us_module *m)
{
	struct seen *s = ctx;
	s->bytes_of_text += strlen(m->path) + m->build_id_len;
	must(m->start <= m->end && m->match <= US_MATCH_NO);
	return 0;
}

static int stack(void *ctx, us_stack_id id, us_stack_id parent, us_gva pc,
		 uint8_t flags)
{
	struct seen *s = ctx;
	(void)pc;
	must(id == ++s->stacks && parent < id && !(flags & ~US_PC_FLAGS));
	return 0;
}

static int sample(void *ctx, const struct us_sample *sample)
{
	struct seen *s = ctx;
	s->samples++;
	must(sample->stack <= s->stacks && sample->vcpu < US_MAX_VCPUS);
	must(sample->host <= s->host_stacks);
	must(sample->end < US_N_END && sample->state < US_N_VCPU_STATE);
	return 0;
}

static int stats(void *ctx, const struct us_record_stats *st)
{
	(void)ctx;
	(void)st;
	return 0;
}

static int end(void *ctx, enum us_record_end e, const char *words)
{
	struct seen *s = ctx;
	s->bytes_of_text += strlen(words);
	s->ended = true;
	must(e > US_RECORD_CUT && e < US_N_RECORD_END);
	return 0;
}

static int named(void *ctx, const struct us_named *n)
{
	struct seen *s = ctx;
	s->bytes_of_text += strlen(n->name) + strlen(n->module);
	must(n->name[0] && n->module[0] && n->start + n->size > n->start);
	return 0;
}

static int host_stack(void *ctx, us_stack_id id, us_stack_id parent, us_hva pc)
{
	struct seen *s = ctx;
	(void)pc;
	must(id == s->host_stacks + 1 && parent < id);
	s->host_stacks = id;
	return 0;
}

static int counted(void *ctx, unsigned vcpu, uint32_t number,
		   const struct us_counted *c)
{
	struct seen *s = ctx;
	must(vcpu < US_MAX_VCPUS && number && c->parent < number);
	s->bytes_of_text += number == 1;
	return 0;
}

static int function(void *ctx, uint32_t number, us_gva address)
{
	struct seen *s = ctx;
	(void)address;
	must(number == s->functions++);
	return 0;
}

static int events(void *ctx, unsigned vcpu, const uint64_t *record, size_t n)
{
	struct seen *s = ctx;
	must(vcpu < US_MAX_VCPUS);
	for (size_t i = 0; i < n; i++)
		s->bytes_of_text += record[i] == 0;
	return 0;
}

static int until(void *ctx, uint64_t t_ns)
{
	struct seen *s = ctx;
	s->bytes_of_text += t_ns == 0;
	return 0;
}

static int process(void *ctx, const struct us_process *s)
{
	struct seen *seen = ctx;
	must(!s->until_ns || s->until_ns >= s->from_ns);
	seen->bytes_of_text += strlen(s->name);
	return 0;
}

static int task(void *ctx, const struct us_task *t)
{
	struct seen *seen = ctx;
	must(!t->until_ns || t->until_ns >= t->from_ns);
	must(t->stack + t->stack_size >= t->stack);
	seen->bytes_of_text += strlen(t->name) + strlen(t->process) + strlen(t->cgroup);
	return 0;
}

static int waiter(void *ctx, const struct us_waiter *s)
{
	struct seen *seen = ctx;
	must(s->number == ++seen->waiters);
	seen->bytes_of_text += strlen(s->name) + strlen(s->process_name);
	return 0;
}

static int wait_once(void *ctx, const struct us_wait *s)
{
	const struct seen *seen = ctx;
	must(s->stack <= seen->stacks && s->waiter && s->waiter <= seen->waiters);
	must(s->state < US_N_WAIT_STATE && s->end < US_N_END);
	return 0;
}

static int wait_stats(void *ctx, const struct us_wait_stats *s)
{
	struct seen *seen = ctx;
	seen->bytes_of_text += s->looks == 1;
	return 0;
}

static int program_file(void *ctx, const struct us_program_file *f)
{
	struct seen *seen = ctx;
	must(f->number && f->kind < US_N_PROGRAM_KIND);
	seen->bytes_of_text += strlen(f->path);
	return 0;
}

static int mapping(void *ctx, const struct us_mapping *m)
{
	struct seen *seen = ctx;
	must(m->file && m->start < m->end);
	must(!m->until_ns || m->until_ns >= m->from_ns);
	seen->bytes_of_text += m->pair;
	return 0;
}

static int program_name(void *ctx, const struct us_program_name *n)
{
	struct seen *seen = ctx;
	must(n->file && *n->name);
	seen->bytes_of_text += strlen(n->name);
	return 0;
}

static void set_sums_right(uint8_t *p, size_t size)
{
	size_t at = US_STORE_HEAD;
	while (at + US_CHUNK_HEAD <= size) {
		uint8_t *head = p + at;
		uint32_t len = us_get_le32(head + 4);
		if (len > size - at - US_CHUNK_HEAD)
			break;
		uint32_t sum = us_crc32c(0, head, 8);
		us_put_le32(head + 8, us_crc32c(sum, head + US_CHUNK_HEAD, len));
		at += US_CHUNK_HEAD + len;
	}
}

static int several(void *ctx, const struct us_sample *s, size_t n)
{
	must(n > 0);
	for (size_t i = 0; i < n; i++)
		sample(ctx, &s[i]);
	return 0;
}

static int busy_at(void *ctx, uint64_t t_ns)
{
	*(uint64_t *)ctx += t_ns;
	return 0;
}

static const struct us_reader_ops ops = {
	.fact = fact,
	.module = module,
	.stack = stack,
	.sample = sample,
	.stats = stats,
	.end = end,
	.named = named,
	.host_stack = host_stack,
	.host_named = named,
	.counted = counted,
	.event_function = function,
	.events = events,
	.events_until = until,
	.process = process,
	.task = task,
	.waiter = waiter,
	.wait = wait_once,
	.wait_stats = wait_stats,
	.program_file = program_file,
	.mapping = mapping,
	.program_name = program_name,
	.image_name = program_name,
};

/* Several at a time they are as many, or more where the reading ended at something that
 * nobody asks for now; looked at only for their times they are no error. */
static void read_in_other_ways(int fd, uint64_t n_sample, int want)
{
	static const struct us_reader_ops at_once = { .stack = stack,
						      .samples = several,
						      .host_stack = host_stack };
	static const struct us_reader_ops busy = { .busy_at = busy_at };
	struct seen seen = { 0 };
	struct us_reader_result result;
	uint64_t sum = 0;
	lseek(fd, 0, SEEK_SET);
	int r = us_read(fd, &at_once, &seen, &result, NULL);
	must(want ? seen.samples >= n_sample : !r && seen.samples == n_sample);
	lseek(fd, 0, SEEK_SET);
	r = us_read(fd, &busy, &sum, &result, NULL);
	must(want || !r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	struct seen seen = { 0 };
	struct us_reader_result result;
	struct us_err e;
	if (fd < 0)
		fd = memfd_create("fuzz-store", MFD_CLOEXEC);
	uint8_t *copy = malloc(size + 1);
	must(fd >= 0 && copy);
	memcpy(copy, data, size);
	if (size && data[size - 1] & 1)
		set_sums_right(copy, size);
	must(!ftruncate(fd, 0) && pwrite(fd, copy, size, 0) == (ssize_t)size);
	lseek(fd, 0, SEEK_SET);
	int r = us_read(fd, &ops, &seen, &result, &e);
	must(r <= 0 && result.bytes <= size);
	must(r < 0 || result.ended == seen.ended);
	must(r == 0 || (e.code == r && e.msg[0]));
	must(!(result.cut && result.ended));
	must((seen.stacks + seen.host_stacks) * 2 + seen.samples * 3 +
		     seen.bytes_of_text <=
	     size);
	read_in_other_ways(fd, seen.samples, r);
	free(copy);
	return 0;
}
