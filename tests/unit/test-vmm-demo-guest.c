/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The guest of our own: what it says of itself, and that it runs and ends. */
#include "vmm/demo_guest.h"
#include "vmm/guest_list.h"

#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static void its_truth_agrees_with_itself(void **state)
{
	const us_gva *start;
	size_t n = us_demo_starts(&start);
	double sum = 0;
	(void)state;
	for (size_t i = 0; i < n; i++) {
		const struct us_demo_function *f = us_demo_find(start[i]);
		assert_non_null(f);
		assert_int_equal(f->start, start[i]);
		assert_true(f->end > f->start);
		assert_ptr_equal(us_demo_find(f->end - 1), f);
		assert_true(i == 0 || start[i] > start[i - 1]);
		/* Its caller's callers are those of the caller's function. */
		for (unsigned k = 0; k < f->n_caller; k++) {
			const struct us_demo_function *c = us_demo_find(f->caller[k]);
			assert_non_null(c);
			assert_int_equal(c->n_caller, f->n_caller - k - 1);
		}
	}
	assert_null(us_demo_find(0));
	for (unsigned i = 0; i < US_DEMO_CHAINS; i++)
		sum += us_demo_chains[i].share;
	assert_true(sum > 0.999 && sum < 1.001);
}

#if defined(__x86_64__)
extern const uint8_t us_demo_code[], us_demo_code_end[];

/* Intel's erratum SKX102: a jump, with what it is fused with, that crosses or ends at
 * a 32-byte boundary is slow. */
static void its_loops_take_equal_time(void **state)
{
	static const uint8_t loop[] = { 0xff, 0xc9, 0x75, 0xfc }; /* dec, jnz */
	const uint8_t *at = us_demo_code;
	unsigned n = 0;
	(void)state;
	while ((at = memmem(at, (size_t)(us_demo_code_end - at), loop, sizeof(loop)))) {
		size_t first = (size_t)(at - us_demo_code), end = first + sizeof(loop);
		assert_int_equal(first / 32, end / 32);
		at += sizeof(loop);
		n++;
	}
	assert_int_equal(n, US_DEMO_CHAINS);
}
#endif

static void it_runs_and_ends(void **state)
{
	(void)state;
	for (int two = 0; two < 2; two++) {
		struct us_demo_guest d;
		struct us_guest g;
		struct us_err e;
		if (us_demo_start(&d, two, &e) < 0) {
			print_message("# SKIP %s\n", e.msg);
			assert_true(access("/dev/kvm", R_OK | W_OK) ||
				    e.code == -ENOTSUP);
			skip();
		}
		pid_t pid = d.pid;
		unsigned long rounds = us_demo_rounds(&d);
		for (int i = 0; i < 20000 && us_demo_rounds(&d) < rounds + 3; i++)
			usleep(1000);
		assert_true(us_demo_rounds(&d) >= rounds + 3);
		assert_int_equal(us_guest_inspect(pid, &g, &e), 0);
		assert_int_equal(g.n_vcpu, 1);
		us_demo_stop(&d);
		assert_int_equal(kill(pid, 0), -1);
		us_demo_stop(&d);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(its_truth_agrees_with_itself),
#if defined(__x86_64__)
		cmocka_unit_test(its_loops_take_equal_time),
#endif
		cmocka_unit_test(it_runs_and_ends),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
