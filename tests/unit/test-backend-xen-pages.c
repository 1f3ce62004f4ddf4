/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pages of a domain, on a hypervisor that is made up: kept, renewed, bounded. */
#include "fake-xen.h"

#include "backend/xen/pages.h"

static void pages_are_renewed_and_dropped(void **state)
{
	(void)state;
	static struct us_xen_pages p;
	fake_setup(1);
	us_xen_pages_init(&p, &fake_calls, fake_xen, FAKE_DOMAIN);
	uint64_t now = us_now_ns();
	assert_ptr_equal(us_xen_pages_get(&p, machine(3) + 5), fake_xen->memory[3]);
	assert_ptr_equal(us_xen_pages_get(&p, machine(4)), fake_xen->memory[4]);
	assert_int_equal(p.n, 2);
	assert_int_equal(fake_xen->n_map, 2);
	/* Both were used in the first second, one in the next, none in the third. */
	us_xen_pages_settle(&p, now + US_XEN_PAGE_NS * 3 / 2);
	assert_int_equal(fake_xen->n_map, 4);
	assert_non_null(us_xen_pages_get(&p, machine(3)));
	us_xen_pages_settle(&p, now + US_XEN_PAGE_NS * 3);
	assert_int_equal(p.n, 1);
	us_xen_pages_settle(&p, now + US_XEN_PAGE_NS * 5);
	assert_int_equal(p.n, 0);
	assert_int_equal(fake_xen->n_map, fake_xen->n_unmap);
	us_xen_pages_fini(&p);
}

static void a_look_maps_so_many_pages_only(void **state)
{
	(void)state;
	static struct us_xen_pages p;
	fake_setup(1);
	us_xen_pages_init(&p, &fake_calls, fake_xen, FAKE_DOMAIN);
	/* A guest that leads elsewhere each time: what fails counts as well. */
	for (unsigned i = 0; i < 10 * US_XEN_MAX_MAPS; i++)
		assert_null(us_xen_pages_get(&p, (uint64_t)i << 12));
	assert_int_equal(p.n_maps, US_XEN_MAX_MAPS);
	assert_null(us_xen_pages_get(&p, machine(0)));
	us_xen_pages_settle(&p, us_now_ns());
	assert_non_null(us_xen_pages_get(&p, machine(0)));
	us_xen_pages_fini(&p);
	assert_int_equal(fake_xen->n_map, fake_xen->n_unmap);
}

static void long_reads_map_runs(void **state)
{
	(void)state;
	static struct us_xen_pages p;
	static uint8_t got[3 * US_XEN_RUN * US_XEN_PAGE];
	struct us_mem m = { .page = us_xen_pages_get, .read = us_xen_pages_read };
	fake_setup(1);
	us_xen_pages_init(&p, &fake_calls, fake_xen, FAKE_DOMAIN);
	m.ctx = &p;
	us_mem_init(&m);
	uint8_t *all = fake_xen->memory[0];
	for (size_t i = 0; i < sizeof(fake_xen->memory); i++)
		all[i] = (uint8_t)(i * 7 + i / US_XEN_PAGE);
	assert_true(us_mem_read(&m, machine(0) + 5, got, sizeof(got)));
	assert_memory_equal(got, all + 5, sizeof(got));
	assert_int_equal(fake_xen->n_map, 3 * US_XEN_RUN + 1);
	assert_int_equal(p.n, 0);
	/* Its end is not there. */
	size_t left = (FAKE_FRAMES - 40) * US_XEN_PAGE;
	assert_true(us_mem_read(&m, machine(40), got, left));
	assert_false(us_mem_read(&m, machine(40), got, left + 1));
	assert_false(us_mem_read(&m, ~0ull - left, got, left + 2));
	us_xen_pages_fini(&p);
	assert_int_equal(fake_xen->n_map, fake_xen->n_unmap);
}

static const void *map_any(void *h, uint32_t domain, const uint64_t *frame, unsigned n)
{
	struct fake_xen *x = h;
	(void)domain;
	x->n_map += n;
	return x->memory[*frame % FAKE_FRAMES];
}

static void pages_are_bounded(void **state)
{
	(void)state;
	static struct us_xen_pages p;
	struct us_xen_calls calls = fake_calls;
	calls.map = map_any;
	fake_setup(1);
	us_xen_pages_init(&p, &calls, fake_xen, FAKE_DOMAIN);
	for (uint64_t i = 0; i < 20 * US_XEN_PAGES; i++) {
		uint64_t frame = i * 0x9e3779b9;
		assert_ptr_equal(us_xen_pages_get(&p, frame << 12),
				 fake_xen->memory[frame % FAKE_FRAMES]);
		assert_true(p.n <= US_XEN_PAGES);
		if (i % 100 == 0)
			us_xen_pages_settle(&p, p.settled_ns);
	}
	assert_int_equal(fake_xen->n_map - fake_xen->n_unmap, p.n);
	us_xen_pages_fini(&p);
	assert_int_equal(fake_xen->n_map, fake_xen->n_unmap);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_are_renewed_and_dropped),
		cmocka_unit_test(a_look_maps_so_many_pages_only),
		cmocka_unit_test(pages_are_bounded),
		cmocka_unit_test(long_reads_map_runs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
