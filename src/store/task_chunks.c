/* SPDX-License-Identifier: GPL-2.0-or-later */
/* task_chunks.c: see task_chunks.h. */
#include "store/task_chunks.h"

#include "store/varint.h"

#include <string.h>

static bool is_name(const char *name)
{
	return strlen(name) <= US_PROCESS_NAME_MAX;
}

/* Copies text with its NUL; returns the number of bytes. */
static size_t put_text(uint8_t *p, const char *text)
{
	size_t size = strlen(text) + 1;
	memcpy(p, text, size);
	return size;
}

size_t us_pack_process(const struct us_process *s, uint8_t *p)
{
	if (!is_name(s->name) || (s->until_ns && s->until_ns < s->from_ns))
		return 0;
	us_put_le64(p, s->root);
	us_put_le64(p + 8, s->from_ns / US_TIME_UNIT_NS);
	us_put_le64(p + 16, s->until_ns / US_TIME_UNIT_NS);
	us_put_le32(p + 24, s->pid);
	p[28] = s->pair;
	return US_PROCESS_HEAD + put_text(p + US_PROCESS_HEAD, s->name);
}

static bool may_write(const struct us_task *t)
{
	return is_name(t->name) && is_name(t->process) &&
	       strlen(t->cgroup) <= US_TASK_CGROUP_MAX &&
	       (!t->until_ns || t->until_ns >= t->from_ns) &&
	       t->stack <= UINT64_MAX - t->stack_size;
}

size_t us_pack_task(const struct us_task *t, uint8_t *p)
{
	if (!may_write(t))
		return 0;
	us_put_le64(p, t->id);
	us_put_le64(p + 8, t->stack);
	us_put_le64(p + 16, t->from_ns / US_TIME_UNIT_NS);
	us_put_le64(p + 24, t->until_ns / US_TIME_UNIT_NS);
	us_put_le64(p + 32, t->started_ns);
	us_put_le32(p + 40, t->stack_size);
	us_put_le32(p + 44, t->pid);
	us_put_le32(p + 48, t->tgid);
	us_put_le32(p + 52, t->inner);
	p[56] = t->kernel_thread ? US_TASK_KERNEL : 0;
	size_t n = US_TASK_HEAD;
	n += put_text(p + n, t->name);
	n += put_text(p + n, t->process);
	return n + put_text(p + n, t->cgroup);
}

size_t us_pack_waiter(const struct us_waiter *s, uint8_t *p)
{
	if (!is_name(s->name) || !is_name(s->process_name))
		return 0;
	us_put_le32(p, s->number);
	us_put_le32(p + 4, s->pid);
	us_put_le32(p + 8, s->process);
	p[12] = s->kernel_thread;
	size_t n = US_WAITER_HEAD;
	n += put_text(p + n, s->name);
	return n + put_text(p + n, s->process_name);
}
