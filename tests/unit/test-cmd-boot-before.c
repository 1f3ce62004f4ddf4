/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much earlier a function may have been called than a sample shows it. */
#include "cmd/boot/before.h"

#include "unit.h"

#include <string.h>

#define KERNEL	 0x100000
#define FUNCTION (KERNEL + 0x800)
#define FIRMWARE 0xf0000

static struct us_boot_before b;

static int begin(void **state)
{
	(void)state;
	memset(&b, 0, sizeof(b));
	b.kernel.range[0].start = KERNEL;
	b.kernel.range[0].end = KERNEL + 0x1000;
	return 0;
}

static void sample(unsigned vcpu, uint64_t now_ns, bool has_kernel)
{
	us_boot_before_begin(&b, vcpu, has_kernel);
	us_boot_before_end(&b, vcpu, now_ns);
}

static struct us_boot_error seen(unsigned vcpu, uint64_t now_ns, uint64_t address)
{
	us_boot_before_begin(&b, vcpu, true);
	struct us_boot_error e = us_boot_before_error(&b, vcpu, now_ns, address);
	us_boot_before_end(&b, vcpu, now_ns);
	return e;
}

/* The kernel's first sample shows it: nothing can have been missed. */
static void the_first_of_a_kernel_is_certain(void **state)
{
	(void)state;
	sample(0, 1000, false);
	sample(0, 1100, false);
	struct us_boot_error entry = seen(0, 1200, 0);
	assert_int_equal(entry.ns, 100);
	assert_int_equal(entry.first_ns, 100);
	assert_int_equal(seen(0, 1300, FUNCTION).ns, 200);
}

/* It may have been called and have returned, between any two samples. */
static void a_later_call_may_not_be_the_first(void **state)
{
	(void)state;
	sample(0, 1000, false);
	for (uint64_t at = 1100; at < 9000; at += 100)
		sample(0, at, true);
	struct us_boot_error e = seen(0, 9000, FUNCTION);
	assert_int_equal(e.ns, 8000);
	assert_int_equal(e.first_ns, 100);
}

/* A reset brings the firmware back. */
static void firmware_that_returns_proves_nothing(void **state)
{
	(void)state;
	sample(0, 1000, false);
	sample(0, 1100, true);
	sample(0, 5000, false);
	assert_int_equal(seen(0, 5100, FUNCTION).ns, 4100);
}

static void another_vcpu_says_nothing(void **state)
{
	(void)state;
	sample(0, 1000, false);
	sample(1, 1190, false);
	struct us_boot_error e = seen(0, 1200, FUNCTION);
	assert_int_equal(e.ns, 200);
	assert_int_equal(e.first_ns, 200);
}

static void without_a_sample_before_nothing_is_known(void **state)
{
	(void)state;
	struct us_boot_error e = seen(0, 1200, FUNCTION);
	assert_true(e.ns == UINT64_MAX);
	assert_int_equal(e.first_ns, 0);
	e = seen(US_MAX_VCPUS, 1300, FUNCTION);
	assert_true(e.ns == UINT64_MAX);
}

/* It may run before the kernel. */
static void firmware_may_have_run_from_the_start(void **state)
{
	(void)state;
	sample(0, 1000, false);
	struct us_boot_error e = seen(0, 1100, FIRMWARE);
	assert_true(e.ns == UINT64_MAX);
	assert_int_equal(e.first_ns, 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(the_first_of_a_kernel_is_certain, begin),
		cmocka_unit_test_setup(a_later_call_may_not_be_the_first, begin),
		cmocka_unit_test_setup(firmware_that_returns_proves_nothing, begin),
		cmocka_unit_test_setup(another_vcpu_says_nothing, begin),
		cmocka_unit_test_setup(without_a_sample_before_nothing_is_known, begin),
		cmocka_unit_test_setup(firmware_may_have_run_from_the_start, begin),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
