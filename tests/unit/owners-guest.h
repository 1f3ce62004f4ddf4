/* SPDX-License-Identifier: GPL-2.0-or-later */
/* owners-guest.h: the tasks of a guest in memory that is made up, of which each CPU
 * runs one; and whose a sample is. */
#ifndef US_TEST_OWNERS_GUEST_H
#define US_TEST_OWNERS_GUEST_H

#include "unit.h"

#include "cmd/record/owners.h"
#include "linux-tasks.h"

#include <string.h>

#define STEP	4096U /* from one task to the next */
#define MM	3072U
#define SET	2048U /* a css_set, a cgroup, its nodes and a pid, of each task */
#define GROUP	2112U
#define NODE	2176U
#define PARENT	2240U
#define NAME	2304U
#define PID	2560U
#define CSS	2688U /* of controllers, their group, its node and name */
#define OTHER	2752U
#define INNER	2816U
#define LABEL	2880U
#define N_TASKS 7U
#define AREA	(TEST_TASKS + 7 * STEP) /* of CPU 0; of CPU 1: + 128 */
#define STACKS	(TEST_TASKS + 0x100000)

static const struct us_linux_who_layout *const w = &test_who_layout;
static const struct us_space space = { .mode = US_PAGING_OFF };
static uint8_t memory[8 * STEP];
static unsigned reads;
static struct us_mem mem;
static struct us_paging paging;
static struct us_linux kernel;
static struct us_owners owners;
static struct us_capture capture;

static inline us_gva task(unsigned n)
{
	return TEST_TASKS + n * STEP;
}

static inline us_gva stack(unsigned n)
{
	return STACKS + n * 0x4000;
}

static inline void put(us_gva at, const void *bytes, size_t n)
{
	memcpy(memory + (at - TEST_TASKS), bytes, n);
}

static inline void put64(us_gva at, uint64_t v)
{
	put(at, &v, sizeof(v));
}

static inline void put32(us_gva at, uint32_t v)
{
	put(at, &v, sizeof(v));
}

static inline bool read_guest(void *ctx, us_gpa at, void *buf, size_t len)
{
	(void)ctx;
	reads++;
	if (at < TEST_TASKS || at - TEST_TASKS > sizeof(memory) - len)
		return false;
	memcpy(buf, memory + (at - TEST_TASKS), len);
	return true;
}

static inline void make_task(unsigned n, uint32_t pid, unsigned leader,
			     const char *comm)
{
	char name[US_LINUX_COMM] = "";
	memcpy(name, comm, strnlen(comm, US_LINUX_COMM - 1));
	put32(task(n) + w->pid, pid);
	put32(task(n) + w->tgid, leader == n ? pid : 100 + leader);
	put64(task(n) + w->leader, task(leader));
	put64(task(n) + w->start, 1000 + n);
	put(task(n) + w->comm, name, sizeof(name));
	put64(task(n) + w->stack, stack(n));
	put64(task(n) + w->cgroups, task(n) + SET);
	put64(task(n) + SET + w->dfl_cgrp, task(n) + GROUP);
	put64(task(n) + GROUP + w->kn, task(n) + NODE);
}

static inline void make_program(unsigned n, uint64_t root)
{
	put64(task(n) + w->mm, task(n) + MM);
	put64(task(n) + MM + w->pgd, TEST_TASKS + root);
}

static inline void run(unsigned cpu, unsigned n)
{
	put64(AREA + 128 * cpu + w->current, task(n));
}

/* Two CPUs; a process of two threads, another one, a thread of the kernel. */
static inline int set_up(void **state)
{
	(void)state;
	memset(memory, 0, sizeof(memory));
	memset(&owners, 0, sizeof(owners));
	mem = (struct us_mem){ .read = read_guest };
	us_mem_init(&mem);
	us_paging_init(&paging, &mem);
	kernel = (struct us_linux){ .space = space,
				    .tasks = test_tasks_layout,
				    .who = test_who_layout,
				    .has_tasks = true,
				    .has_who = true };
	put64(w->per_cpu, AREA);
	put64(w->per_cpu + 8, AREA + 128);
	make_task(0, 100, 0, "server");
	make_task(1, 140, 0, "worker");
	make_task(2, 102, 2, "other");
	make_task(3, 103, 3, "kworker/0:1");
	put32(task(3) + w->flags, 0x200000);
	make_program(0, 0x2000);
	make_program(1, 0x2000);
	make_program(2, 0x4000);
	run(0, 0);
	run(1, 2);
	return 0;
}

/* Of vCPU 0 or 1, in the kernel on a stack, or in a program by its page tables. */
static inline uint64_t look(unsigned vcpu, us_gva sp, us_gpa root)
{
	capture = (struct us_capture){ .form = US_CAPTURE_LIVE,
				       .vcpu = (uint16_t)vcpu };
	capture.regs.bits = 64;
	capture.regs.user = root != 0;
	capture.regs.sp = sp;
	capture.regs.space.root = root;
	us_paging_new_sample(&paging);
	return us_owners_of(
		&owners, &kernel,
		&(struct us_live_sample){ .capture = &capture, .paging = &paging });
}

static inline us_gpa root_of(unsigned n)
{
	return us_linux_who_root(w, &paging, &space, task(n));
}

static inline const struct us_linux_who *told(void)
{
	const struct us_linux_who *who = us_owners_peek(&owners);
	assert_non_null(who);
	us_owners_pop(&owners);
	return who;
}

#endif
