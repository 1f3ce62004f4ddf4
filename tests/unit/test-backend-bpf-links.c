/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a guest keeps the pointers to its other stacks, by copies that were too short.
 */
#include "unit.h"

#include "backend/bpf/links.h"

static void a_link_is_learned_when_seen(void **state)
{
	uint64_t words[512] = { 0 };
	struct us_bpf_links links = { 0 };
	static struct us_bpf_guest g;
	(void)state;
	words[510] = 0x17000; /* at 0xff0 of its page */
	words[3] = 0x16f00;
	struct us_stack_copy c = {
		.window = { { 0x10000, sizeof(words), (uint8_t *)words } },
		.n_window = 1,
		.missed = true,
		.missed_at = 0x17010,
	};
	for (unsigned i = 0; i < 3; i++) {
		us_bpf_links_learn(&links, &c, &g);
		assert_int_equal(g.link[0], 0xff0);
		assert_int_equal(g.link[1], 0);
	}
	/* Without room, it takes two. */
	struct us_bpf_guest full = { .link = { 1, 2, 3, 4 } };
	links = (struct us_bpf_links){ .used = { 9, 9, 0, 9 } };
	us_bpf_links_learn(&links, &c, &full);
	assert_int_equal(full.link[2], 3);
	us_bpf_links_learn(&links, &c, &full);
	assert_int_equal(full.link[2], 0xff0);
}

static void guesses_take_no_room_from_what_is_learned(void **state)
{
	struct us_bpf_links links = { 0 };
	struct us_bpf_guest g = { 0 };
	(void)state;
	us_bpf_links_guess(&links, &g);
	us_bpf_links_guess(&links, &g);
	assert_int_equal(g.link[0], 0xff0);
	assert_int_equal(g.link[1], 0xff8);
	assert_int_equal(g.link[2], 0);
	/* Not longer than the first stacks of which none needs them. */
	struct us_stack_copy c = { .n_window = 1 };
	for (unsigned i = 0; i < US_BPF_LINK_TRIAL; i++)
		us_bpf_links_count(&links, &c, &g);
	assert_int_equal(g.link[0] | g.link[1], 0);
	us_bpf_links_guess(&links, &g);
	assert_int_equal(g.link[0] | g.link[1], 0);
	links = (struct us_bpf_links){ 0 };
	us_bpf_links_guess(&links, &g);
	links.used[0] = 1;
	for (unsigned i = 0; i < US_BPF_LINK_TRIAL; i++)
		us_bpf_links_count(&links, &c, &g);
	assert_int_equal(g.link[0], 0xff0);
	assert_int_equal(g.link[1], 0);
	links = (struct us_bpf_links){ 0 };
	struct us_bpf_guest learned = { .link = { 0x10, 0x20, 0x30, 0xff8 } };
	us_bpf_links_guess(&links, &learned);
	assert_int_equal(learned.link[0], 0x10);
	assert_int_equal(learned.link[1], 0x20);
	assert_int_equal(learned.link[2], 0x30);
	assert_int_equal(learned.link[3], 0xff8);
}

/* On another stack that is off a word; whole words away goes before near. */
static void a_link_may_be_odd(void **state)
{
	uint64_t words[512] = { 0 };
	struct us_bpf_links links = { 0 };
	static struct us_bpf_guest g;
	struct us_stack_copy c = {
		.window = { { 0x10001, sizeof(words), (uint8_t *)words } },
		.n_window = 1,
		.missed = true,
		.missed_at = 0x17013,
	};
	(void)state;
	words[100] = 0x17003;
	words[200] = 0x1700e;
	us_bpf_links_learn(&links, &c, &g);
	us_bpf_links_learn(&links, &c, &g);
	assert_int_equal(g.link[0], 0x321);
}

/* missed, with a word of that value at each offset. */
static void learn_at(struct us_bpf_links *links, struct us_bpf_guest *g, us_gva missed,
		     uint32_t offset)
{
	uint64_t words[512] = { 0 };
	const struct us_stack_copy c = {
		.window = { { 0x10000, sizeof(words), (uint8_t *)words } },
		.n_window = 1,
		.missed = true,
		.missed_at = missed,
	};
	words[offset / 8] = missed - 8;
	us_bpf_links_learn(links, &c, g);
	us_bpf_links_learn(links, &c, g);
}

static void a_number_is_no_link(void **state)
{
	struct us_bpf_links links = { 0 };
	static struct us_bpf_guest g;
	(void)state;
	learn_at(&links, &g, 0x18, 0xfe8);
	assert_int_equal(g.link[0], 0);
	assert_int_equal(links.n, 0);
}

/* There is room for so many; and what stacks need is kept. */
static void a_useless_link_is_replaced(void **state)
{
	struct us_bpf_links links = { 0 };
	static struct us_bpf_guest g;
	uint64_t words[4] = { 0, 0x20000, 0, 0 }, stack[4] = { 0 };
	struct us_stack_copy c = {
		.window = { { 0x10000, sizeof(words), (uint8_t *)words },
			    { 0x20000, sizeof(stack), (uint8_t *)stack } },
		.n_window = 2,
	};
	uint64_t got;
	(void)state;
	for (uint32_t i = 1; i <= US_BPF_MAX_LINKS; i++)
		learn_at(&links, &g, 0x20000 + i * 0x1000, i * 8);
	assert_int_equal(g.link[0], 8);
	us_bpf_links_count(&links, &c, &g); /* nothing was read of it */
	assert_int_equal(links.used[0], 0);
	assert_true(us_stack_copy_read(&c, 0x20008, &got, 8));
	us_bpf_links_count(&links, &c, &g);
	assert_int_equal(links.used[0], 1);
	for (uint32_t i = 20; i < 40; i++)
		learn_at(&links, &g, 0x20000 + i * 0x1000, i * 8);
	assert_int_equal(g.link[0], 8);
	for (unsigned i = 1; i < US_BPF_MAX_LINKS; i++)
		assert_in_range(g.link[i], 20 * 8, 39 * 8);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_link_is_learned_when_seen),
		cmocka_unit_test(guesses_take_no_room_from_what_is_learned),
		cmocka_unit_test(a_link_may_be_odd),
		cmocka_unit_test(a_number_is_no_link),
		cmocka_unit_test(a_useless_link_is_replaced),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
