/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A recording that is converted at once says all that a report of it would. */
#include "unit.h"
#include "toolchain.h"

#include "base/clock.h"
#include "cmd/record/output.h"

/* Samples of two threads of a Linux guest. */
static void write_recording(int fd)
{
	struct us_record_stats stats = { .due = 100, .running = 100 };
	static const uint8_t flags[2] = { 0, US_PC_TASK };
	struct us_writer *w;
	assert_int_equal(us_writer_open(fd, &w, NULL), 0);
	for (unsigned n = 0; n < 100; n++) {
		const struct us_sample s = { .t_ns = n * US_NS_PER_MS,
					     .weight = 1,
					     .end = US_END_ROOT,
					     .state = US_VCPU_GUEST };
		const us_gva pc[2] = { 0xffffffff81000000, 1 + n % 2 };
		assert_int_equal(us_writer_sample(w, &s, pc, flags, 2, NULL), 0);
	}
	for (unsigned k = 1; k < 3; k++) {
		const struct us_task t = { .id = k,
					   .pid = 100 + k,
					   .tgid = 100 + k,
					   .name = k == 1 ? "red" : "blue",
					   .process = k == 1 ? "reader" : "bluebird",
					   .cgroup = "" };
		assert_int_equal(us_writer_task(w, &t, NULL), 0);
	}
	assert_int_equal(us_writer_end(w, &stats, US_RECORD_DONE, "", NULL), 0);
	us_writer_close(w);
}

/* The file that a recording becomes; it is gone itself. */
static char *converted(const char *name)
{
	struct us_output o;
	struct us_err e = { 0 };
	if (us_output_open(&o, in_work_dir(name), &e))
		fail_msg("%s", e.msg);
	assert_non_null(o.format);
	write_recording(o.fd);
	if (us_output_convert(&o, true, &e))
		fail_msg("%s", e.msg);
	assert_int_not_equal(access(o.path, F_OK), 0);
	us_output_close(&o);
	size_t len;
	return (char *)load_file(name, &len);
}

static void the_page_has_processes(void **state)
{
	(void)state;
	char *page = converted("x.html");
	assert_non_null(strstr(page, "bluebird (102)"));
	assert_non_null(strstr(page, "reader (101)"));
	free(page);
}

static void folded_stacks_have_none(void **state)
{
	(void)state;
	char *text = converted("x.folded");
	assert_null(strstr(text, "bluebird"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_page_has_processes),
		cmocka_unit_test(folded_stacks_have_none),
	};
	return cmocka_run_group_tests(tests, enter_work_dir, leave_work_dir);
}
