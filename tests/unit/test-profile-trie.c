/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Each path is one node, whether its numbers are added one by one or many at once. */
#include "unit.h"

#include "profile/trie.h"

#include <errno.h>

#define NUMBERS 5000

/* Paths of few addresses, so that many come again; some nodes are no frames. */
static void make_numbers(struct us_stack_node *v, uint64_t random)
{
	for (uint32_t i = 0; i < NUMBERS; i++) {
		random = random * 6364136223846793005 + 1442695040888963407;
		uint32_t near = (uint32_t)(random >> 33) % 100;
		v[i].parent = i >= near ? i - near : 0;
		v[i].pc = 0x1000 + (random >> 40) % 7;
		v[i].flags = (random >> 50) % 5 == 0 ? US_PC_SPACE : 0;
	}
}

static void assert_same(const struct us_trie *a, const struct us_trie *b)
{
	assert_int_equal(a->nodes.n, b->nodes.n);
	assert_int_equal(a->numbers.n, b->numbers.n);
	assert_int_equal(a->renumbered, b->renumbered);
	for (uint32_t i = 0; i < a->numbers.n; i++)
		assert_int_equal(us_trie_node_of(a, i), us_trie_node_of(b, i));
	for (size_t i = 0; i < a->nodes.n; i++) {
		assert_int_equal(a->nodes.v[i].pc, b->nodes.v[i].pc);
		assert_int_equal(a->nodes.v[i].parent, b->nodes.v[i].parent);
		assert_int_equal(a->nodes.v[i].flags, b->nodes.v[i].flags);
	}
}

static void many_at_once_are_the_same(void **state)
{
	(void)state;
	static struct us_stack_node v[NUMBERS];
	for (size_t at_once = 1; at_once < 300; at_once += 37) {
		struct us_trie one, all;
		make_numbers(v, at_once);
		assert_int_equal(us_trie_init(&one), 0);
		assert_int_equal(us_trie_init(&all), 0);
		for (size_t i = 0; i < NUMBERS; i++)
			assert_int_equal(
				us_trie_add(&one, v[i].parent, v[i].pc, v[i].flags), 0);
		for (size_t i = 0; i < NUMBERS; i += at_once)
			assert_int_equal(us_trie_add_all(&all, v + i,
							 NUMBERS - i < at_once
								 ? NUMBERS - i
								 : at_once),
					 0);
		assert_true(one.renumbered && one.nodes.n < NUMBERS);
		assert_same(&one, &all);
		us_trie_fini(&one);
		us_trie_fini(&all);
	}
}

static void a_node_knows_its_nearest_that_is_no_frame(void **state)
{
	(void)state;
	static struct us_stack_node v[NUMBERS];
	struct us_trie t;
	make_numbers(v, 1);
	assert_int_equal(us_trie_init(&t), 0);
	assert_int_equal(us_trie_add_all(&t, v, NUMBERS), 0);
	for (uint32_t i = 0; i < t.nodes.n; i++) {
		uint32_t up = i;
		while (up && !(t.nodes.v[up].flags & US_TRIE_NO_FRAME))
			up = t.nodes.v[up].parent;
		assert_int_equal(t.nodes.v[i].no_frame, up);
	}
	us_trie_fini(&t);
}

static void marks_are_the_callers_once_it_is_sealed(void **state)
{
	(void)state;
	static struct us_stack_node v[NUMBERS];
	struct us_trie t;
	make_numbers(v, 2);
	assert_int_equal(us_trie_init(&t), 0);
	assert_int_equal(us_trie_add_all(&t, v, NUMBERS), 0);
	us_trie_seal(&t);
	assert_int_equal(t.nodes.v[0].mark, 0);
	for (size_t i = 1; i < t.nodes.n; i++)
		assert_int_equal(t.nodes.v[i].mark, US_TRIE_NONE);
	assert_int_equal(us_trie_child(&t, 0, 1, 0), US_TRIE_NONE);
	us_trie_fini(&t);
}

/* A number that does not come before, also among those added with it. */
static void impossible_callers_are_refused(void **state)
{
	(void)state;
	static const uint32_t bad[] = { 3, 4, 1000, UINT32_MAX };
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct us_stack_node v[] = { { 1, 0, 0 }, { 2, 1, 0 }, { 3, 0, 0 } };
		struct us_trie t;
		v[2].parent = bad[i];
		assert_int_equal(us_trie_init(&t), 0);
		assert_int_equal(us_trie_add_all(&t, v, 3), -EBADMSG);
		us_trie_fini(&t);
	}
}

static void too_deep_is_refused(void **state)
{
	(void)state;
	struct us_stack_node v[US_MAX_FRAMES + 1] = { 0 };
	for (uint32_t i = 0; i <= US_MAX_FRAMES; i++)
		v[i] = (struct us_stack_node){ 7, i, 0 };
	struct us_trie t;
	assert_int_equal(us_trie_init(&t), 0);
	assert_int_equal(us_trie_add_all(&t, v, US_MAX_FRAMES + 1), -EBADMSG);
	assert_int_equal(t.numbers.n, US_MAX_FRAMES + 1);
	us_trie_fini(&t);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_at_once_are_the_same),
		cmocka_unit_test(a_node_knows_its_nearest_that_is_no_frame),
		cmocka_unit_test(marks_are_the_callers_once_it_is_sealed),
		cmocka_unit_test(impossible_callers_are_refused),
		cmocka_unit_test(too_deep_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
