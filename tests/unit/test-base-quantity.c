/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers with units, as people type them. */
#include "unit.h"

#include "base/quantity.h"

#define REFUSED UINT64_MAX

static uint64_t ns(const char *text)
{
	uint64_t got = REFUSED;
	bool ok = us_quantity_time(text, &got);
	assert_true(ok == (got != REFUSED));
	return got;
}

static uint64_t bytes(const char *text)
{
	uint64_t got = REFUSED;
	bool ok = us_quantity_bytes(text, &got);
	assert_true(ok == (got != REFUSED));
	return got;
}

static double number(const char *text, const char *unit)
{
	double got = -1;
	bool ok = us_quantity_number(text, unit, &got);
	assert_true(ok == (got >= 0));
	return got;
}

static void times(void **state)
{
	(void)state;
	assert_int_equal(ns("5"), 5000000000);
	assert_int_equal(ns("0"), 0);
	assert_int_equal(ns(".5"), 500000000);
	assert_int_equal(ns("2.5s"), 2500000000);
	assert_int_equal(ns("300ms"), 300000000);
	assert_int_equal(ns("7us"), 7000);
	assert_int_equal(ns("9ns"), 9);
	assert_int_equal(ns("1e3ns"), 1000);
	assert_int_equal(ns("1h30m"), 5400000000000);
	assert_int_equal(ns("1m30s"), 90000000000);
	assert_int_equal(ns("1min30sec"), 90000000000);
	assert_int_equal(ns("1d2h3m4s5ms6us7ns"), 93784005006007);
	assert_int_equal(ns("1s500ms"), 1500000000);
}

static void no_times(void **state)
{
	static const char *const texts[] = {
		"",	 "s",	 "h1",	   "-1",     "+1",   " 1",     "1 ",	"1m30",
		"30s1m", "1m1m", "1m1min", "1h-5m",  "0x5",  "0x1p3s", "inf",	"nan",
		"5x",	 "5S",	 "5e",	   "1h 30m", "1:30", "1e300",  "1e18s", "5ss",
	};
	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (ns(texts[i]) != REFUSED)
			fail_msg("%s was taken", texts[i]);
}

static void numbers(void **state)
{
	(void)state;
	assert_true(number("997", NULL) == 997);
	assert_true(number("0.01", NULL) == 0.01);
	assert_true(number("1e3", NULL) == 1000);
	assert_true(number("10k", NULL) == 10000);
	assert_true(number("10K", "Hz") == 10000);
	assert_true(number("1M", "Hz") == 1e6);
	assert_true(number("1.5G", NULL) == 1.5e9);
	assert_true(number("997Hz", "Hz") == 997);
	assert_true(number("10kHz", "Hz") == 10000);
	assert_true(number("10khz", "Hz") == 10000);
	assert_true(number("5%", "%") == 5);
	static const char *const texts[] = { "",    "k",    "-1",     "+1",    "1m",
					     "1T",  "10kk", "1 k",    "5%",    "0x10",
					     "inf", "nan",  "1e308k", "10kHz2" };
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (number(texts[i], "Hz") >= 0)
			fail_msg("%s was taken", texts[i]);
	assert_true(number("10Hz", NULL) < 0);
	assert_true(number("10kHz", "%") < 0);
}

static void sizes(void **state)
{
	(void)state;
	assert_int_equal(bytes("0"), 0);
	assert_int_equal(bytes("4096"), 4096);
	assert_int_equal(bytes("100B"), 100);
	assert_int_equal(bytes("8K"), 8192);
	assert_int_equal(bytes("8k"), 8192);
	assert_int_equal(bytes("64M"), 64 << 20);
	assert_int_equal(bytes("64MB"), 64 << 20);
	assert_int_equal(bytes("64MiB"), 64 << 20);
	assert_int_equal(bytes("1.5G"), 3ULL << 29);
	assert_int_equal(bytes("2T"), 2ULL << 40);
	static const char *const texts[] = { "",     "M",    "-1",    "64m",
					     "64iB", "64Mi", "64x",   "0x8",
					     "8 K",  "64MM", "1e300", "1e9T" };
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (bytes(texts[i]) != REFUSED)
			fail_msg("%s was taken", texts[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times),
		cmocka_unit_test(no_times),
		cmocka_unit_test(numbers),
		cmocka_unit_test(sizes),
	};
	return cmocka_run_group_tests_name("quantity", tests, NULL, NULL);
}
