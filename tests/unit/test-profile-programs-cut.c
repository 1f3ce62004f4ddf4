/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where cut stacks of programs end: in code of which file. */
#include "program-recording.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define JIT	0x500010
#define NO_FILE 0x600010
#define OTHERS	100 /* functions of the program beside main */

/* Stacks of one frame that are cut: how many of code without a file, of the program's
 * main, in no mapping, and of each other function of the program. */
struct cut {
	unsigned jit, main, no_file, others;
	const char *most; /* where the warning says that most are; NULL: nowhere */
};

static void write_cut(struct us_writer *w, us_gva at, unsigned n)
{
	const struct us_sample s = { .weight = 1, .end = US_END_NO_RULE };
	const us_gva pc[] = { at, ROOT };
	const uint8_t flags[] = { US_PC_USER | US_PC_EXACT, US_PC_SPACE };
	for (; n; n--)
		assert_int_equal(us_writer_sample(w, &s, pc, flags, 2, NULL), 0);
}

static void write_names(struct us_writer *w)
{
	char text[16];
	for (unsigned k = 0; k <= OTHERS; k++) {
		struct us_program_name name = { 1, 0x401000 + 16 * k, 16, text };
		snprintf(text, sizeof(text), k ? "other%u" : "main", k);
		assert_int_equal(us_writer_program_names(w, &name, 1, NULL), 0);
	}
}

static int record_cut(const struct cut *c)
{
	const struct us_program_file sh = { .number = 1, .path = "/bin/sh" };
	const struct us_program_file none = { .number = 3,
					      .kind = US_PROGRAM_NONE,
					      .path = "[jit]" };
	const struct us_record_stats stats = { .elapsed_ns = S, .vcpu_ns = S };
	struct us_mapping jit = program;
	struct us_writer *w;
	int fd = memfd_create("recording", MFD_CLOEXEC);
	jit.file = 3;
	jit.start = 0x500000;
	jit.end = 0x502000;
	assert_int_equal(us_writer_open(fd, &w, NULL), 0);
	assert_int_equal(us_writer_mapping(w, &program, NULL), 0);
	assert_int_equal(us_writer_mapping(w, &jit, NULL), 0);
	assert_int_equal(us_writer_program_file(w, &sh, NULL), 0);
	assert_int_equal(us_writer_program_file(w, &none, NULL), 0);
	write_names(w);
	for (unsigned k = 1; k <= OTHERS; k++)
		write_cut(w, 0x401000 + 16 * k, c->others);
	write_cut(w, 0x401000, c->main);
	write_cut(w, JIT, c->jit);
	write_cut(w, NO_FILE, c->no_file);
	assert_int_equal(us_writer_end(w, &stats, US_RECORD_DONE, "", NULL), 0);
	us_writer_close(w);
	lseek(fd, 0, SEEK_SET);
	return fd;
}

/* Code without names takes part, and a place with a small part is not named. */
static void places_of_cut_stacks(void **state)
{
	(void)state;
	static const struct cut cases[] = {
		{ .jit = 90, .main = 2, .most = "; most in [jit]" },
		{ .jit = 40, .main = 60, .most = "; most at main" },
		{ .main = 60, .others = 1, .most = "; most at main" },
		{ .jit = 60, .others = 1, .most = "; most in [jit]" },
		{ .main = 20, .others = 1 },
		{ .main = 40, .no_file = 60 },
	};
	for (size_t k = 0; k < sizeof(cases) / sizeof(*cases); k++) {
		const char *said = "", *most;
		struct us_profile *p = NULL;
		int fd = record_cut(&cases[k]);
		assert_int_equal(us_profile_read(fd, NULL, &p, NULL), 0);
		close(fd);
		for (size_t i = 0; i < us_profile_n_warning(p); i++)
			if (strstr(us_profile_warning(p, i), "stacks are cut"))
				said = us_profile_warning(p, i);
		print_message("# %zu: %s\n", k, said);
		assert_string_not_equal(said, "");
		most = strstr(said, "; most");
		assert_string_equal(most ? most : "",
				    cases[k].most ? cases[k].most : "");
		us_profile_free(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(places_of_cut_stacks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
