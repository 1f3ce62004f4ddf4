/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hostile lists of tasks: the input is the kernel's half of a guest's memory, again and
 * again. */
#include "../unit/linux-tasks.h"
#include "linux/wait.h"

#include <string.h>

#define MOST 4096

struct input {
	const uint8_t *bytes;
	size_t size;
};

static volatile size_t sink;

static bool read_guest(void *ctx, us_gpa at, void *buf, size_t len)
{
	const struct input *in = ctx;
	uint8_t *to = buf;
	for (size_t k = 0; k < len; k++)
		to[k] = in->bytes[(at - TEST_TASKS + k) % in->size];
	return at % 65536 < 60000;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* What was copied of a task may be anything, and so may where it lies. */
static void read_copy(struct us_paging *p, const struct us_space *s,
		      const uint8_t *data, size_t size)
{
	struct us_pointed of;
	struct us_linux_who who;
	memset(&of, 0, sizeof(of));
	memcpy(&of, data, size < sizeof(of) ? size : sizeof(of));
	if (!us_linux_who_pointed(&test_who_layout, p, s, &of, &who))
		return;
	us_linux_who_complete(&test_who_layout, p, s, &who);
	sink += strlen(who.cgroup) + strlen(who.comm) + strlen(who.process);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct us_paging p;
	struct input in = { data, size };
	struct us_mem mem = { .read = read_guest, .ctx = &in };
	const struct us_space space = { .mode = US_PAGING_OFF };
	struct us_linux_tasks t;
	struct us_linux_task_now now;
	struct us_regs r;
	if (!size || size > MOST)
		return 0;
	us_mem_init(&mem);
	us_paging_init(&p, &mem);
	read_copy(&p, &space, data, size);
	if (us_linux_tasks_read(&test_tasks_layout, &p, &space, &t) < 0)
		return 0;
	for (size_t k = 0; k < t.n && k < 64; k++) {
		sink += us_linux_task_regs(&test_tasks_layout, &p, &space, &t.v[k], &r);
		sink += us_linux_task_look(&test_tasks_layout, &p, &space, &t.v[k],
					   &now);
		sink += us_linux_task_of(&test_tasks_layout, &t, &r) != NULL;
	}
	for (size_t k = 0; k < t.n && k < 64; k++) {
		struct us_linux_who who = { 0 };
		sink += us_linux_who_read(&test_who_layout, &p, &space, t.v[k].at,
					  &who);
		sink += strlen(who.cgroup) + strlen(who.comm) + strlen(who.process);
		sink += us_linux_current(&test_who_layout, &p, &space, (unsigned)k);
	}
	us_linux_tasks_fini(&t);
	return 0;
}
