/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pv.c: a paravirtual Xen domain with one call path, on which it is all the time.  It
 * has no console: what it shows is known.
 */
#define VISIBLE __attribute__((noinline, noclone))

void leaf_spin(unsigned long n);
void work_b(unsigned long n);
void work_a(unsigned long n);
void kmain(void);

static volatile unsigned long counter;

VISIBLE void leaf_spin(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		counter++;
}

VISIBLE void work_b(unsigned long n)
{
	leaf_spin(n);
	counter ^= 1;
}

VISIBLE void work_a(unsigned long n)
{
	work_b(n);
	counter ^= 2;
}

VISIBLE void kmain(void)
{
	for (;;)
		work_a(3000);
}
