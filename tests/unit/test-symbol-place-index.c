/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The index finds the places that a look at each of them finds. */
#include "unit.h"

#include "symbol/place_index.h"

#include <stdlib.h>

enum { N = 400, ROOTS = 4 };

static struct us_symbol_place place[N];

struct seen {
	unsigned n[N], steps;
};

static void see(void *ctx, size_t number)
{
	struct seen *s = ctx;
	assert_true(number < N);
	s->n[number]++;
	s->steps++;
}

static bool is_at(const struct us_symbol_place *p, us_gpa root, us_gva pc)
{
	return p->root == root && (!p->end || (pc >= p->start && pc < p->end));
}

static void index_of(struct us_place_index *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		assert_int_equal(us_place_index_add(x, &place[i]), 0);
	us_place_index_sort(x);
}

static us_gva edge(unsigned i)
{
	static const us_gva edges[] = { 0, 1, UINT64_MAX - 1, UINT64_MAX };
	return i < 4 ? edges[i] : (us_gva)rand() % 256;
}

/* Ranges that overlap, are empty, reach to the end of all addresses, or are all. */
static void as_each(void **state)
{
	(void)state;
	srand(7);
	for (unsigned round = 0; round < 50; round++) {
		struct us_place_index x = { 0 };
		for (size_t i = 0; i < N; i++)
			place[i] = (struct us_symbol_place){
				.root = (us_gpa)(rand() % ROOTS),
				.start = edge((unsigned)rand() % 64),
				.end = edge((unsigned)rand() % 64),
			};
		index_of(&x, N);
		for (unsigned i = 0; i < 300; i++) {
			us_gva pc = edge(i);
			us_gpa root = i % ROOTS;
			struct seen s = { 0 };
			us_place_index_at(&x, root, pc, see, &s);
			for (size_t k = 0; k < N; k++)
				assert_int_equal(s.n[k], is_at(&place[k], root, pc));
		}
		us_place_index_fini(&x);
	}
}

static void none(void **state)
{
	(void)state;
	struct us_place_index x = { 0 };
	struct seen s = { 0 };
	us_place_index_sort(&x);
	us_place_index_at(&x, 0, 5, see, &s);
	assert_int_equal(s.steps, 0);
	us_place_index_fini(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_each),
		cmocka_unit_test(none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
