/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where tasks have their members, by types of kernels whose task_struct was shuffled
 * when they were built (CONFIG_RANDSTRUCT), that lack a member, or that lie. */
#include "unit.h"

#include "linux-btf.h"
#include "linux/tasks.h"

#include <string.h>

#define SHUFFLES 200
#define SP_AT	 24U /* in thread_struct */
#define NOBODY	 UINT32_MAX
#define ON_CPU	 11U /* in members */

enum { U8, U32, WORD, LINK, THREAD, N_TYPE };

static const struct member {
	const char *name;
	uint32_t size;
	uint8_t type;
	bool wanted; /* without it nothing can be read */
	size_t in_layout;
} members[] = {
#define AT(member) offsetof(struct us_linux_tasks_layout, member)
	{ "tasks", 16, LINK, true, AT(tasks) },
	{ "thread_node", 16, LINK, true, AT(thread_node) },
	{ "signal", 8, WORD, true, AT(signal) },
	{ "pid", 4, U32, true, AT(pid) },
	{ "tgid", 4, U32, true, AT(tgid) },
	{ "comm", 16, LINK, true, AT(comm) },
	{ "flags", 4, U32, true, AT(flags) },
	{ "stack", 8, WORD, true, AT(stack) },
	{ "mm", 8, WORD, true, AT(mm) },
	{ "__state", 4, U32, true, AT(state) },
	{ "exit_state", 4, U32, true, AT(exit_state) },
	{ "on_cpu", 4, U32, false, AT(on_cpu) }, /* as in 7.0: see below */
	{ "cpu", 4, U32, false, AT(cpu) },
	{ "start_time", 8, WORD, false, AT(start) },
	{ "worker_private", 8, WORD, false, AT(kthread) },
	{ "thread", 64, THREAD, true, AT(sp) },
#undef AT
};
#define N_MEMBER (sizeof(members) / sizeof(*members))

static struct test_btf t;
static bool short_on_cpu;
static uint32_t at[N_MEMBER], random_state;

static uint32_t next_random(uint32_t n)
{
	random_state = random_state * 1664525 + 1013904223;
	return (random_state >> 8) % n;
}

/* In another order each time, with gaps. */
static void shuffle(void)
{
	uint32_t order[N_MEMBER], offset = 0;
	for (uint32_t k = 0; k < N_MEMBER; k++) {
		uint32_t other = next_random(k + 1);
		order[k] = order[other];
		order[other] = k;
	}
	for (uint32_t k = 0; k < N_MEMBER; k++) {
		offset += 8 * next_random(40);
		at[order[k]] = offset;
		offset += (members[order[k]].size + 7) & ~7U;
	}
}

static void put_struct(const char *name, uint32_t size, const char *member,
		       uint32_t type, uint32_t offset)
{
	btf_type(&t, name, 4, 1, size);
	btf_member(&t, member, type, offset);
}

/* All but one of the members. */
static bool layout_without(uint32_t one, struct us_linux_tasks_layout *ret)
{
	const struct us_kallsyms none = { 0 };
	uint32_t type[N_TYPE];
	struct us_btf b;
	btf_begin(&t);
	type[U32] = btf_type(&t, "unsigned int", 1, 0, 4);
	btf_put(&t, 32);
	type[U8] = btf_type(&t, "unsigned char", 1, 0, 1);
	btf_put(&t, 8);
	type[WORD] = btf_type(&t, "", 2, 0, 0);
	type[LINK] = btf_type(&t, "list_head", 4, 2, 16);
	btf_member(&t, "next", type[WORD], 0);
	btf_member(&t, "prev", type[WORD], 8);
	put_struct("thread_struct", 64, "sp", type[WORD], SP_AT);
	type[THREAD] = t.n;
	put_struct("signal_struct", 1024, "thread_head", type[LINK], 16);
	put_struct("mm_struct", 1024, "pgd", type[WORD], 72);
	put_struct("kthread", 64, "full_name", type[WORD], 40);
	btf_type(&t, "thread_union", 5, 0, 32768);
	btf_type(&t, "task_struct", 4, N_MEMBER - (one < N_MEMBER), 16384);
	for (uint32_t k = 0; k < N_MEMBER; k++)
		if (k != one)
			btf_member(&t, members[k].name,
				   type[k == ON_CPU && short_on_cpu ? U8
								    : members[k].type],
				   at[k]);
	assert_int_equal(us_btf_open(t.all, btf_end(&t), &b), 0);
	bool ok = us_linux_tasks_layout(&b, &none, us_linux_arch(US_ARCH_X86_64), ret);
	us_btf_close(&b);
	return ok;
}

static void is_where(const struct us_linux_tasks_layout *l, uint32_t k)
{
	uint32_t offset, more = members[k].type == THREAD ? SP_AT : 0;
	memcpy(&offset, (const uint8_t *)l + members[k].in_layout, sizeof(offset));
	assert_int_equal(offset, at[k] + more);
	if (members[k].type != THREAD)
		assert_true(offset >= l->first &&
			    offset + members[k].size <= l->first + l->span);
}

static void test_shuffled(void **state)
{
	(void)state;
	struct us_linux_tasks_layout l;
	random_state = 1;
	for (unsigned n = 0; n < SHUFFLES; n++) {
		shuffle();
		short_on_cpu = n % 2;
		assert_true(layout_without(NOBODY, &l));
		for (uint32_t k = 0; k < N_MEMBER; k++)
			is_where(&l, k);
		assert_true(l.has_cpu && l.has_names && l.thread_head == 16);
		assert_int_equal(l.on_cpu_mask, short_on_cpu ? 0xff : UINT32_MAX);
		assert_true(l.pgd == 72 && l.full_name == 40 && l.state_bytes == 4);
		assert_int_equal(l.stack_size, 32768);
	}
}

/* What is not there cannot be read; that alone. */
static void test_missing(void **state)
{
	(void)state;
	struct us_linux_tasks_layout l;
	random_state = 2;
	for (uint32_t without = 0; without < N_MEMBER; without++) {
		shuffle();
		assert_int_equal(layout_without(without, &l), !members[without].wanted);
		for (uint32_t k = 0; k < N_MEMBER && !members[without].wanted; k++)
			if (members[k].wanted)
				is_where(&l, k);
	}
	assert_true(layout_without(11, &l) && !l.has_cpu && l.has_names);
	assert_true(layout_without(13, &l) && !l.start && l.has_cpu);
	assert_true(layout_without(14, &l) && !l.has_names && l.start);
}

/* A task_struct is read in one piece: it is not as large as they say. */
static void test_too_large(void **state)
{
	(void)state;
	struct us_linux_tasks_layout l;
	random_state = 3;
	shuffle();
	at[0] = US_LINUX_MOST_OF_TASK + 4096;
	assert_false(layout_without(NOBODY, &l));
	at[0] = 0x1ffffff8; /* the largest that bits of 32 bits say */
	assert_false(layout_without(NOBODY, &l));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shuffled),
		cmocka_unit_test(test_missing),
		cmocka_unit_test(test_too_large),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
