/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * student.h: Student's t distribution (W. S. Gosset 1908), for whole degrees of freedom
 * from 1 on, with the finite sums of Abramowitz and Stegun, 26.7.3 and 26.7.4.
 */
#ifndef US_BASE_STUDENT_H
#define US_BASE_STUDENT_H

/* Probability that the absolute value is at least t (0 or more); accurate to 1e-15. */
double us_student_tail(double t, unsigned df);

/* The t that the absolute value exceeds with this probability, 0 < tail < 1. */
double us_student_limit(double tail, unsigned df);

#endif
