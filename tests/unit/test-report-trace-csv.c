/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names in CSV: quoted where they must be, and always UTF-8 in one line. */
#include "report/trace_format.h"

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

static void check(const char *name, const char *line)
{
	const char *const names[] = { name };
	char *text = NULL;
	size_t size;
	struct us_trace_out o = { .out = open_memstream(&text, &size),
				  .name = names,
				  .n_name = 1 };
	const struct us_replay_span s = { .known = true,
					  .ended = true,
					  .stack = 2,
					  .begin_ns = 1000,
					  .end_ns = 3500,
					  .self_ns = 7 };
	const struct us_trace_format *f = us_trace_format_by_name("csv");
	assert_non_null(o.out);
	assert_int_equal(f->ops.leave(&o, &s), 0);
	fclose(o.out);
	assert_string_equal(text, line);
	free(text);
}

static void names_can_be_read(void **state)
{
	(void)state;
	check("main", "main,2,2.500,0.007\n");
	check("f(int, char)", "\"f(int, char)\",2,2.500,0.007\n");
	check("operator\"\" s", "\"operator\"\"\"\" s\",2,2.500,0.007\n");
	check("naïve", "naïve,2,2.500,0.007\n");
	check("bad\xff\xfe"
	      "bytes",
	      "bad??bytes,2,2.500,0.007\n");
	check("tab\tand\nline", "tab?and?line,2,2.500,0.007\n");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_can_be_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
