/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A page of the kernel that is at another address as well. */
#include "placed-guest.h"

#define PAGE   0x1000
#define COPIED (LINKED + 0x5000) /* the page */
#define COPY   0x1800000	 /* where it is, too */

/* In a sample: at pc, called by the kernel's own code or by nobody. */
static bool find_piece(struct guest *g, us_gva pc, us_gpa root, bool kernel_calls)
{
	static struct us_stack stack;
	static struct us_capture c;
	c = (struct us_capture){ .regs = { .pc = pc,
					   .space = { .root = root,
						      .mode = root ? US_PAGING_X86_4
								   : US_PAGING_OFF },
					   .bits = 64 } };
	stack = (struct us_stack){ .n = kernel_calls ? 2 : 1,
				   .pc = { pc, LINKED + 0x100 } };
	g->t_ns += 5000 * MS; /* whatever the pause after an attempt */
	us_paging_new_sample(&g->paging);
	return us_images_find_piece(&g->images,
				    &(struct us_live_sample){ .capture = &c,
							      .stack = &stack,
							      .paging = &g->paging,
							      .t_ns = g->t_ns });
}

static void begin_kernel(struct guest *g)
{
	begin(g, 1, "");
	load(g, 1, LINKED);
	run(g, LINKED, 0, 1);
	assert_int_equal(place_of(g, 0)->bias, 0);
	memcpy(g->ram + COPY, g->ram + COPIED, PAGE);
}

static void expect_piece(const struct guest *g, us_gva page)
{
	assert_int_equal(g->images.n_place, 2);
	const struct us_place *p = &g->images.place[1];
	assert_int_equal(p->match, US_MATCH_YES);
	assert_int_equal(p->start, page);
	assert_int_equal(p->end, page + PAGE);
	assert_int_equal(p->bias, page - COPIED);
	assert_true(us_images_cover(&g->images, 0, page));
	assert_true(us_images_cover(&g->images, 0, page + PAGE - 1));
	assert_false(us_images_cover(&g->images, 0, page - 1));
	assert_false(us_images_cover(&g->images, 0, page + PAGE));
}

static void a_page_that_was_copied(void **state)
{
	(void)state;
	struct guest g;
	begin_kernel(&g);
	assert_true(find_piece(&g, COPY + 0x123, 0, true));
	expect_piece(&g, COPY);
	assert_false(find_piece(&g, COPY + 0x456, 0, true)); /* it is known */
	end(&g, 1);
}

static void a_page_that_differs_is_none(void **state)
{
	(void)state;
	struct guest g;
	begin_kernel(&g);
	g.ram[COPY + 0xfff] ^= 1;
	assert_false(find_piece(&g, COPY + 0x123, 0, true));
	g.ram[COPY + 0xfff] ^= 1; /* it was tried: not in each sample again */
	assert_false(find_piece(&g, COPY + 0x123, 0, true));
	assert_int_equal(g.images.n_place, 1);
	end(&g, 1);
}

/* What says nothing: zeros; and a page of a kernel that is there as a whole, too. */
static void a_page_without_a_sign_is_none(void **state)
{
	(void)state;
	struct guest g;
	begin_kernel(&g);
	assert_false(find_piece(&g, COPY + PAGE, 0, true));
	memcpy(g.ram + COPY - PAGE, g.ram + COPIED - PAGE, PAGE);
	assert_false(find_piece(&g, COPY, 0, true));
	assert_false(find_piece(&g, COPY + 8, 0, false));
	assert_int_equal(g.images.n_place, 1);
	end(&g, 1);
}

/* The first sample of a program that enters may be there, in tables of its own. */
static void a_page_without_a_caller(void **state)
{
	(void)state;
	struct guest g;
	begin_kernel(&g);
	assert_true(find_piece(&g, COPY, 0, false));
	expect_piece(&g, COPY);
	end(&g, 1);
}

/* The same page by the tables of the guest, whatever its bytes. */
static void a_page_that_is_mapped_twice(void **state)
{
	(void)state;
	const us_gva again = 0x3fe00000 + (COPIED - LINKED);
	struct guest g;
	begin_kernel(&g);
	map(&g, 0x10000, LINKED, LINKED);
	map(&g, 0x10000, 0x3fe00000, LINKED);
	g.ram[COPIED + 0x10] ^= 1; /* the guest has patched it */
	assert_true(find_piece(&g, again + 0x123, 0x10000, true));
	expect_piece(&g, again);
	end(&g, 1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_page_that_was_copied),
		cmocka_unit_test(a_page_that_differs_is_none),
		cmocka_unit_test(a_page_without_a_sign_is_none),
		cmocka_unit_test(a_page_without_a_caller),
		cmocka_unit_test(a_page_that_is_mapped_twice),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
