/* SPDX-License-Identifier: GPL-2.0-or-later */
/* No line of a report is wider than 100 columns, whatever names and paths are. */
#include "unit.h"
#include "toolchain.h"

#include "base/clock.h"
#include "base/text.h"
#include "report/annotate.h"
#include "report/columns.h"

#include <fcntl.h>
#include <sys/mman.h>

#define N_FUNC	 24
#define N_NAMED	 40
#define NAMED_AT 0xffff800000000000ULL

static uint64_t seed = 1;

static unsigned below(unsigned n)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned)(seed >> 33) % n;
}

/* Letters of one to four bytes, wide ones, marks, spaces, what is not UTF-8, and what
 * would move a terminal's cursor. */
static void hostile(char *dst, size_t size, size_t n)
{
	static const char *const letters[] = { "a",
					       "Z",
					       "_",
					       "::",
					       "<",
					       " ",
					       "\xc3\xa9",
					       "\xe2\x82\xac",
					       "\xe6\xbc\xa2",
					       "\xf0\x9f\x98\x80",
					       "e\xcc\x81",
					       "\x1b[2J",
					       "\xff",
					       "\n",
					       "/",
					       "%" };
	dst[0] = '\0';
	while (n--) {
		const char *c = letters[below(sizeof(letters) / sizeof(letters[0]))];
		if (strlen(dst) + strlen(c) + 1 < size)
			strcat(dst, c);
	}
}

static void two_columns_fit(void **state)
{
	(void)state;
	for (int round = 0; round < 2000; round++) {
		char name[US_CELL_SIZE], place[US_CELL_SIZE], raw[US_CELL_SIZE], *text;
		struct us_report_opts o = { .width = round & 1 ? 70 + below(90) : 0 };
		struct us_two_columns c = { 0 };
		size_t size, used = below(45), all = us_report_columns(&o);
		hostile(raw, sizeof(raw), below(round % 7 ? 40 : 400));
		us_printable(name, sizeof(name), raw);
		hostile(raw, sizeof(raw), below(round % 5 ? 30 : 300));
		us_printable(place, sizeof(place), raw);
		bool fits = used + us_columns(name) + 2 + us_columns(place) <= all &&
			    us_columns(name) >= 16;
		char *before = strdup(name);
		us_two_columns_measure(&c, name, place);
		us_two_columns_fit(&c, &o, used);
		FILE *out = open_memstream(&text, &size);
		assert_non_null(out);
		us_two_columns_print(&c, &o, name, place, out);
		fclose(out);
		assert_true(used + us_columns(text) <= all);
		assert_int_equal(strncmp(text, name, strlen(name)), 0);
		if (fits)
			assert_string_equal(name, before);
		for (const char *s = text; *s; s += us_utf8_len(s))
			assert_true(us_utf8_len(s));
		free(before);
		free(text);
	}
}

static void ends_of_paths_and_names_stay(void **state)
{
	(void)state;
	char s[64] = "arch/x86/kernel/apic/vector.c:12";
	assert_string_equal(us_shorten_left(s, sizeof(s), 20),
			    "\xe2\x80\xa6/apic/vector.c:12");
	assert_string_equal(us_shorten_left(s, sizeof(s), 8), "\xe2\x80\xa6or.c:12");
	strcpy(s, "begin_of_a_name_and_end");
	assert_string_equal(us_shorten_middle(s, sizeof(s), 11), "begin\xe2\x80\xa6"
								 "d_end");
	assert_string_equal(us_shorten_middle(s, sizeof(s), 1), "\xe2\x80\xa6");
	assert_string_equal(us_shorten_middle(s, sizeof(s), 0), "");
	assert_int_equal(us_columns("a\xe6\xbc\xa2"
				    "e\xcc\x81"),
			 4);
	strcpy(s, "\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2");
	assert_string_equal(us_shorten_left(s, sizeof(s), 4),
			    "\xe2\x80\xa6\xe6\xbc\xa2");
	/* A buffer that is full. */
	char tight[8] = "abcdefg";
	us_shorten_middle(tight, sizeof(tight), 6);
	assert_true(us_columns(tight) <= 6);
}

/* Functions with sources in deep folders of two programs. */
static void build(void)
{
	FILE *f = fopen(in_work_dir("deep.c"), "we");
	char folder[120];
	assert_non_null(f);
	for (int i = 0; i < N_FUNC; i++) {
		memset(folder, 'a' + i % 3, sizeof(folder));
		folder[40 + 3 * i] = '\0';
		fprintf(f,
			"#line %d \"/home/somebody/%s/\xc3\xa9t\xc3\xa9/%.*s.c\"\n"
			"__attribute__((noinline)) int f%d_%.*s(int x) "
			"{ return x * %d; }\n",
			100 + i, folder, 1 + 4 * (i % 20), folder, i, 1 + 5 * (i % 20),
			folder, i + 3);
	}
	fputs("int main(void) { return 0; }\n", f);
	fclose(f);
	need("gcc -O1 -g -no-pie deep.c -o deep");
}

static bool name_them(void *ctx, us_gva pc, struct us_named *ret)
{
	static char names[N_NAMED][900];
	static bool told[N_NAMED];
	size_t i = (size_t)((pc - NAMED_AT) / 64);
	(void)ctx;
	if (pc < NAMED_AT || i >= N_NAMED || told[i])
		return false;
	told[i] = true;
	hostile(names[i], sizeof(names[i]), 1 + below(250));
	*ret = (struct us_named){ NAMED_AT + i * 64, 64, names[i], "linux" };
	return true;
}

static void sample(struct us_writer *w, us_gva pc, unsigned state)
{
	struct us_err e = { 0 };
	static uint64_t t;
	struct us_sample x = {
		.t_ns = t++, .state = (uint8_t)state, .end = US_END_ROOT, .weight = 1
	};
	assert_int_equal(us_writer_sample(w, &x, &pc, NULL, 1, &e), 0);
}

static struct us_profile *make_profile(void)
{
	struct us_err e = { 0 };
	struct us_writer *w;
	struct us_profile *p = NULL;
	struct us_record_stats s = { .elapsed_ns = 100,
				     .held_max_ns = 9,
				     .vcpu_ns = 9 };
	struct us_module m = { .start = 1,
			       .end = 1ULL << 32,
			       .match = US_MATCH_YES,
			       .path = in_work_dir("deep") };
	static const struct us_namer namer = { name_them, NULL };
	char line[512], guest[2000];
	int fd = memfd_create("recording", MFD_CLOEXEC);
	assert_int_equal(us_writer_open(fd, &w, &e), 0);
	us_writer_name_by(w, &namer);
	hostile(guest, sizeof(guest), 300);
	assert_int_equal(us_writer_fact(w, "guest", guest, &e), 0);
	assert_int_equal(us_writer_fact(w, "caution", guest, &e), 0);
	assert_int_equal(us_writer_module(w, &m, &e), 0);
	assert_true(run("nm deep | awk '$3 ~ /^f[0-9]+_/ {print $1}' >found"));
	FILE *f = fopen(in_work_dir("found"), "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		for (unsigned k = 0; k < 3; k++)
			sample(w, strtoull(line, NULL, 16),
			       k ? US_VCPU_GUEST : US_VCPU_EXIT);
	fclose(f);
	for (unsigned i = 0; i < 3 * N_NAMED; i++)
		sample(w, NAMED_AT + i / 3 * 64, i % 3 ? US_VCPU_GUEST : US_VCPU_EXIT);
	assert_int_equal(us_writer_end(w, &s, US_RECORD_DONE, "", &e), 0);
	us_writer_close(w);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(us_profile_read(fd, NULL, &p, &e), 0);
	close(fd);
	return p;
}

static size_t count_lines(char *text, const struct us_report_opts *o)
{
	char *rest, *line;
	size_t n = 0;
	for (line = strtok_r(text, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest), n++) {
		if (us_columns(line) > us_report_columns(o))
			fail_msg("%zu columns: %s", us_columns(line), line);
	}
	return n;
}

static size_t check_lines(const struct us_profile *p, const struct us_format *format,
			  const struct us_report_opts *o)
{
	struct us_err e = { 0 };
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	assert_non_null(out);
	assert_int_equal(us_report(p, format, o, out, &e), 0);
	fclose(out);
	size_t n = count_lines(text, o);
	free(text);
	return n;
}

/* Without its sources: they are shown as they are. */
static void check_annotation(const struct us_profile *p, const char *name,
			     const struct us_report_opts *o)
{
	static const struct us_annotate_opts nowhere;
	struct us_err e = { 0 };
	struct us_function *f = NULL;
	struct us_annotation *a = NULL;
	char *text;
	size_t size, n;
	FILE *out = open_memstream(&text, &size);
	assert_non_null(out);
	assert_int_equal(us_annotate_find(p, name, &f, &n, &e), 0);
	assert_int_equal(us_annotate(p, f, &nowhere, &a, &e), 0);
	assert_int_equal(us_annotation_text(a, o, o->children, out, &e), 0);
	fclose(out);
	assert_true(count_lines(text, o) > 5);
	us_annotation_free(a);
	free(f);
	free(text);
}

static void reports_fit(void **state)
{
	(void)state;
	char file[600];
	build();
	hostile(file, sizeof(file), 100);
	struct us_profile *p = make_profile();
	for (unsigned round = 0; round < 200; round++) {
		struct us_report_opts o = { .sort = (enum us_sort)(round % 4),
					    .children = round & 1,
					    .limit = round % 5 ? 0 : 1 + below(9),
					    .width = round % 3 ? 0 : 80 + below(80),
					    .file = file };
		size_t n = check_lines(p, &us_format_text, &o);
		assert_true(o.limit ? n > o.limit : n > N_FUNC + N_NAMED);
		check_lines(p, &us_format_exits, &o);
		o.width = 40 + below(40); /* a narrow terminal */
		check_lines(p, &us_format_text, &o);
	}
	us_profile_free(p);
}

static void annotations_fit(void **state)
{
	(void)state;
	build();
	struct us_profile *p = make_profile();
	size_t n, seen = 0;
	const struct us_profile_func *f = us_profile_funcs(p, &n);
	for (size_t i = 0; i < n; i++) {
		struct us_report_opts o = { .children = i & 1,
					    .width = i % 3 ? 0 : 80 + below(80) };
		if (!f[i].file)
			continue;
		check_annotation(p, f[i].name, &o);
		seen++;
	}
	assert_int_equal(seen, N_FUNC);
	us_profile_free(p);
}

/* With all of the path, but the figures and names where they were. */
static void full_paths_are_whole(void **state)
{
	(void)state;
	struct us_err e = { 0 };
	char *text = NULL;
	size_t size = 0;
	const struct us_report_opts o = { .full_paths = true };
	build();
	struct us_profile *p = make_profile();
	FILE *out = open_memstream(&text, &size);
	assert_non_null(out);
	assert_int_equal(us_report(p, &us_format_text, &o, out, &e), 0);
	fclose(out);
	size_t n, seen = 0;
	const struct us_profile_func *f = us_profile_funcs(p, &n);
	for (size_t i = 0; i < n; i++) {
		char place[US_PATH_SIZE + 16];
		if (!f[i].file)
			continue;
		snprintf(place, sizeof(place), "%s:%u\n", f[i].file, f[i].line);
		assert_int_equal(strncmp(place, "/home/somebody/", 15), 0);
		assert_non_null(strstr(text, place));
		assert_int_equal(strncmp(f[i].path, "/home", 5) == 0, 0);
		seen++;
	}
	assert_int_equal(seen, N_FUNC);
	free(text);
	us_profile_free(p);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_columns_fit),
		cmocka_unit_test(ends_of_paths_and_names_stay),
		cmocka_unit_test_setup_teardown(reports_fit, enter_work_dir,
						leave_work_dir),
		cmocka_unit_test_setup_teardown(annotations_fit, enter_work_dir,
						leave_work_dir),
		cmocka_unit_test_setup_teardown(full_paths_are_whole, enter_work_dir,
						leave_work_dir),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
