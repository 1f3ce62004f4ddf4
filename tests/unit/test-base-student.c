/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Against the tables of Abramowitz and Stegun (26.10) and what R prints. */
#include "unit.h"

#include "base/student.h"

#include <math.h>

static void is(double got, double want)
{
	if (fabs(got - want) > 5e-4 * fmax(1, fabs(want)))
		fail_msg("%g, not %g", got, want);
}

static void limits_as_in_tables(void **state)
{
	(void)state;
	is(us_student_limit(0.05, 1), 12.706);
	is(us_student_limit(0.05, 2), 4.303);
	is(us_student_limit(0.05, 3), 3.182);
	is(us_student_limit(0.05, 8), 2.306);
	is(us_student_limit(0.01, 5), 4.032);
	is(us_student_limit(0.001, 10), 4.587);
	is(us_student_limit(0.05, 30), 2.042);
	is(us_student_limit(0.05, 1000000), 1.962);
}

static void tails(void **state)
{
	(void)state;
	is(us_student_tail(0, 4), 1);
	is(us_student_tail(-3, 4), 1);
	is(us_student_tail(1, 1), 0.5);
	is(us_student_tail(2.306, 8), 0.05);
	is(us_student_tail(INFINITY, 8), 0);
	is(us_student_tail(3, 0), us_student_tail(3, 1));
	for (unsigned df = 1; df < 40; df++)
		for (double t = 0.5; t < 20; t *= 2) {
			double p = us_student_tail(t, df);
			if (p < 1e-9)
				continue; /* of a difference from 1 */
			assert_true(p < 1);
			assert_true(p > us_student_tail(2 * t, df));
			is(us_student_limit(p, df), t);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits_as_in_tables),
		cmocka_unit_test(tails),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
