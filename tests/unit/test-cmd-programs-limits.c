/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is left out of a guest's programs when there is too much, and that it is said.
 */
#include "programs-guest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct us_linux_task *crowd;

/* So many processes by these page tables, with all in common but those. */
static struct us_linux_task *make_crowd(unsigned n)
{
	struct us_linux_task *v = calloc(n, sizeof(*v));
	assert_non_null(v);
	for (unsigned k = 0; k < n; k++) {
		v[k] = task[0];
		v[k].root = (k + 1) * 0x10000ULL;
	}
	return v;
}

static void read_hungry(void)
{
	do {
		atomic_store(&programs.hungry, false);
		us_programs_unwind(&programs, &l, &paging);
	} while (atomic_load(&programs.hungry));
}

/* A sample in each, and all is read that there is. */
static void read_crowd(unsigned n)
{
	crowd = make_crowd(n);
	const struct us_linux_tasks t = { .v = crowd, .n = n };
	const struct us_programs_time at = { 0, 0, S / 10 };
	us_programs_read(&programs, &l, &paging, &t, true, &at);
	for (unsigned k = 0; k < n; k++)
		us_programs_see(&programs, crowd[k].root, USER + CODE);
	read_hungry();
	free(crowd);
}

static int on_limit(void *ctx, const char *key, const char *value)
{
	char(*got)[64] = ctx;
	for (unsigned k = 0; k < US_N_LIMITS; k++)
		if (!strcmp(key, us_limit_key(k)))
			snprintf(got[k], sizeof(got[k]), "%s", value);
	return 0;
}

/* It is counted, is in the recording, and no other is. */
static void told_alone(enum us_limit k, const char *bound)
{
	static const struct us_reader_ops ops = { .fact = on_limit };
	char got[US_N_LIMITS][64] = { 0 };
	struct us_reader_result r;
	assert_int_equal(us_programs_write(&programs, w), 0);
	assert_int_equal(us_writer_flush(w, NULL), 0);
	lseek(recording, 0, SEEK_SET);
	assert_int_equal(us_read(recording, &ops, got, &r, NULL), 0);
	for (unsigned i = 0; i < US_N_LIMITS; i++) {
		const char *second = strchr(got[i], ' ');
		if (i == k)
			assert_string_equal(second ? second + 1 : "none", bound);
		else
			assert_string_equal(got[i], "");
	}
}

static void too_many_places(void **state)
{
	(void)state;
	make_rules();
	make_program(0, 0x10000, 7, 1);
	read_crowd(US_CODE_MOST_PLACES / 2 + 1); /* of each two */
	told_alone(US_LIMIT_PLACES, "4096");
}

static void no_limit_is_invented(void **state)
{
	(void)state;
	make_rules();
	make_program(0, 0x10000, 7, 1);
	read_crowd(US_CODE_MOST_PLACES / 2);
	told_alone(US_N_LIMITS, "");
}

static void too_many_rules(void **state)
{
	(void)state;
	const struct us_cfi *c;
	make_rules();
	make_program(0, 0x1000000, 7, 1);
	programs.code.bytes = US_CODE_MOST_TABLES; /* of others */
	look(0, 1, false);
	us_programs_see(&programs, 0x1000000, USER + CODE);
	us_programs_unwind(&programs, &l, &paging);
	assert_false(take(&c));
	told_alone(US_LIMIT_RULES, "67108864");
}

/* Mappings of code, one after the other. */
static void make_mappings(unsigned n)
{
	const struct us_linux_mappings_layout *m = &l.mappings;
	memcpy(memory + (MM(0) + m->count - TEST_MM), &n, 4);
	for (unsigned k = 0; k < n; k++) {
		put64(VMA(k) + m->start, USER + k * 8192ULL);
		put64(VMA(k) + m->end, USER + k * 8192ULL + 4096);
		put64(VMA(k) + m->flags, 5);
		put64(VMA(k) + m->file, FILE(1));
		put64(VMA(k) + m->next, k + 1 < n ? VMA(k + 1) : 0);
	}
}

static void too_many_mappings(void **state)
{
	(void)state;
	make_program(0, 0x10000, 7, 1);
	make_mappings(64);
	read_crowd(US_PROGRAMS_MOST_MAPPINGS / 64 + 1);
	assert_int_equal(programs.mappings.n, US_PROGRAMS_MOST_MAPPINGS);
	told_alone(US_LIMIT_MAPPINGS, "65536");
}

/* Then those that wait alone get no more, but one that was sampled does. */
static void too_many_mappings_wait(void **state)
{
	(void)state;
	const struct us_programs_time at = { 0, 0, S / 10 };
	const unsigned n = US_PROGRAMS_MOST_MAPPINGS / 64 / 2 + 2;
	make_program(0, 0x10000, 7, 1);
	make_mappings(64);
	crowd = make_crowd(n);
	const struct us_linux_tasks t = { .v = crowd, .n = n };
	us_programs_read(&programs, &l, &paging, &t, false, &at);
	for (unsigned k = 0; k < n; k++)
		(void)us_programs_wait(&programs, &crowd[k]);
	read_hungry();
	assert_int_equal(programs.mappings.n, US_PROGRAMS_MOST_MAPPINGS / 2);
	us_programs_see(&programs, crowd[n - 1].root, USER);
	read_hungry();
	assert_int_equal(programs.mappings.n, US_PROGRAMS_MOST_MAPPINGS / 2 + 64);
	free(crowd);
	told_alone(US_LIMIT_MAPPINGS, "32768");
}

/* A list of mappings of no file, made up where memory ends. */
#define LONG_LIST (US_PROGRAMS_MOST_OF_ONE + 1)
static bool read_endless(void *ctx, us_gpa at, void *buf, size_t len)
{
	const us_gva first = TEST_MM + sizeof(memory);
	const struct us_linux_mappings_layout *m = &l.mappings;
	uint8_t vma[64] = { 0 };
	if (at < first)
		return read_guest(ctx, at, buf, len);
	uint64_t n = (at - first) / 64, v = USER + n * 8192,
		 next = first + (n + 1) * 64;
	memcpy(vma + m->start, &v, 8);
	v += 4096;
	memcpy(vma + m->end, &v, 8);
	if (n + 1 < LONG_LIST)
		memcpy(vma + m->next, &next, 8);
	vma[m->flags] = 5;
	if ((at - first) % 64 + len > sizeof(vma))
		return false;
	memcpy(buf, vma + (at - first) % 64, len);
	return true;
}

static void too_many_mappings_of_one(void **state)
{
	(void)state;
	const uint32_t n = LONG_LIST;
	mem.read = read_endless;
	make_program(0, 0x1000000, 7, 1);
	put64(MM(0) + l.mappings.first, TEST_MM + sizeof(memory));
	memcpy(memory + (MM(0) + l.mappings.count - TEST_MM), &n, 4);
	look(0, 1, false);
	us_programs_see(&programs, 0x1000000, USER + CODE);
	us_programs_unwind(&programs, &l, &paging);
	assert_int_equal(programs.mappings.n, US_PROGRAMS_MOST_OF_ONE);
	told_alone(US_LIMIT_MAPPINGS_OF_ONE, "4096");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(too_many_places, set_up, tear_down),
		cmocka_unit_test_setup_teardown(no_limit_is_invented, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(too_many_rules, set_up, tear_down),
		cmocka_unit_test_setup_teardown(too_many_mappings, set_up, tear_down),
		cmocka_unit_test_setup_teardown(too_many_mappings_wait, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(too_many_mappings_of_one, set_up,
						tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
