/* SPDX-License-Identifier: GPL-2.0-or-later */
/* student.c: see student.h. */
#include "base/student.h"

#include <math.h>

#define MANY 1000 /* degrees of freedom: more are as good as these */

/* cosine^first (1 + f/(f+1) cosine^2 + ...): terms below cosine^df. */
static double sum_of(double cosine, unsigned first, unsigned df)
{
	double term = first ? cosine : 1, sum = 0;
	for (unsigned k = first; k + 2 <= df; k += 2) {
		sum += term;
		term *= cosine * cosine * (double)(k + 1) / (double)(k + 2);
	}
	return sum;
}

double us_student_tail(double t, unsigned df)
{
	df = df < 1 ? 1 : df > MANY ? MANY : df;
	if (!(t > 0))
		return 1;
	double angle = atan(t / sqrt(df)), sine = sin(angle), cosine = cos(angle);
	double inside = df % 2 ? 2 / M_PI * (angle + sine * sum_of(cosine, 1, df))
			       : sine * sum_of(cosine, 0, df);
	return fmax(0, 1 - inside);
}

double us_student_limit(double tail, unsigned df)
{
	double low = 0, high = 1;
	while (us_student_tail(high, df) > tail && high < 1e9)
		high *= 2;
	for (unsigned i = 0; i < 60; i++) {
		double mid = (low + high) / 2;
		if (us_student_tail(mid, df) > tail)
			low = mid;
		else
			high = mid;
	}
	return high;
}
