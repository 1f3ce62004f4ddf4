/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An image that was built again, or is gone, after it was recorded: no wrong name, and
 * the names that the recording holds. */
#include "unit.h"
#include "toolchain.h"

#include "cmd/record/image_names.h"
#include "report/report.h"
#include "symbol/elf_image.h"

#include <fcntl.h>
#include <sys/mman.h>

/* more: what the linker and the source have in addition. */
static void build(const char *name, const char *flags, const char *source)
{
	static const char *const parts[] = {
		"int x;\n", "__attribute__((noinline)) void first(void) { x++; }\n"
			    "__attribute__((noinline)) void second(void) { x += 3; }\n"
			    "void _start(void) { first(); second(); }\n"
	};
	char text[1024];
	snprintf(text, sizeof(text), "%s%s%s", parts[0], source, parts[1]);
	write_file("k.c", text, strlen(text));
	need("gcc -O1 -g -nostdlib -static -no-pie -fcf-protection=none %s k.c -o %s",
	     flags, name);
}

#define NO_ID "-Wl,--build-id=none"
#define NEW   "__attribute__((noinline)) void new(void) { x -= 5; x *= x; }\n"

static us_gva address_of(const char *elf, const char *symbol)
{
	struct us_elf_image *i;
	struct us_err e;
	us_gva found = 0;
	size_t n;
	assert_int_equal(us_elf_image_open(in_work_dir(elf), &i, &e), 0);
	const struct us_elf_symbol *s = us_elf_image_symbols(i, &n);
	for (size_t k = 0; k < n; k++)
		if (!strcmp(s[k].name, symbol))
			found = s[k].addr;
	us_elf_image_close(i);
	assert_true(found);
	return found;
}

/* A recording with the image as it is now, at a bias, and a sample in each of the two
 * functions, which symbols has.  names: it holds theirs. */
static int record_at(uint64_t bias, const char *elf, const char *symbols, bool names)
{
	static struct us_images images;
	struct us_err e;
	struct us_writer *w;
	struct us_module m;
	struct us_record_stats s = { .elapsed_ns = 100 };
	const us_gva pc[] = { address_of(symbols, "first") + bias,
			      address_of(symbols, "second") + bias };
	int fd = memfd_create("recording", MFD_CLOEXEC);
	memset(&images, 0, sizeof(images));
	assert_int_equal(us_writer_open(fd, &w, &e), 0);
	assert_int_equal(us_elf_image_open(in_work_dir(elf), &images.v[0].elf, &e), 0);
	images.n = images.n_place = 1;
	us_elf_image_text(images.v[0].elf, &images.v[0].text_start,
			  &images.v[0].text_end);
	images.place[0].match = US_MATCH_YES;
	images.place[0].bias = bias;
	us_images_module(&images, &images.place[0], 0, &m);
	assert_int_equal(us_writer_module(w, &m, &e), 0);
	for (unsigned i = 0; i < 2; i++) {
		const struct us_sample x = { .t_ns = i,
					     .state = US_VCPU_GUEST,
					     .end = US_END_ROOT,
					     .weight = 1 };
		assert_int_equal(us_writer_sample(w, &x, &pc[i], NULL, 1, &e), 0);
	}
	if (names)
		assert_int_equal(us_images_write_names(&images, w, &e), 0);
	assert_int_equal(us_writer_end(w, &s, US_RECORD_DONE, "", &e), 0);
	us_writer_close(w);
	us_elf_image_close(images.v[0].elf);
	return fd;
}

static int record(const char *elf, bool names)
{
	return record_at(0, elf, elf, names);
}

/* How many functions have a name; with_lines: with a source file. */
static unsigned n_named(const struct us_profile *p, unsigned *ret_lines)
{
	unsigned n_known = 0;
	size_t n;
	const struct us_profile_func *f = us_profile_funcs(p, &n);
	*ret_lines = 0;
	for (size_t i = 0; i < n; i++) {
		n_known += !strcmp(f[i].name, "first") || !strcmp(f[i].name, "second");
		*ret_lines += f[i].file != NULL;
	}
	return n_known;
}

static bool warns(const struct us_profile *p, const char *text)
{
	for (size_t i = 0; i < us_profile_n_warning(p); i++)
		if (strstr(us_profile_warning(p, i), text))
			return true;
	for (size_t i = 0; i < us_profile_n_warning(p); i++)
		print_message("# there is: %s\n", us_profile_warning(p, i));
	return false;
}

/* named, with_lines: how many of the two functions.  words: of a warning, or NULL:
 * there is none. */
static void check_with(int fd, const struct us_profile_opts *o, unsigned named,
		       unsigned with_lines, const char *words)
{
	struct us_profile *p;
	struct us_err e = { 0 };
	unsigned lines;
	lseek(fd, 0, SEEK_SET);
	if (us_profile_read(fd, o, &p, &e))
		fail_msg("%s", e.msg);
	assert_int_equal(n_named(p, &lines), named);
	assert_int_equal(lines, with_lines);
	if (words)
		assert_true(warns(p, words));
	else
		assert_false(warns(p, "/k"));
	us_profile_free(p);
}

static void check(int fd, unsigned named, unsigned with_lines, const char *words)
{
	check_with(fd, NULL, named, with_lines, words);
}

static void the_same(void **state)
{
	(void)state;
	build("k", NO_ID, "");
	int fd = record("k", true);
	check(fd, 2, 2, NULL);
	build("k", NO_ID, ""); /* once more: the code is the same */
	check(fd, 2, 2, NULL);
	close(fd);
}

static void other_code(void **state)
{
	(void)state;
	build("k", NO_ID, "");
	int fd = record("k", true), bare = record("k", false);
	build("k", NO_ID, NEW);
	check(fd, 2, 0, "has changed since the recording (other code): functions have");
	check(bare, 0, 0, "(other code): addresses are shown instead of wrong names");
	build("k", "-Wl,--build-id", ""); /* which the other had not */
	check(bare, 0, 0, "(other code): addresses are shown");
	close(fd);
	close(bare);
}

static void another_build_id(void **state)
{
	(void)state;
	build("k", "-Wl,--build-id", "");
	int fd = record("k", true);
	build("k", "-Wl,--build-id", NEW);
	check(fd, 2, 0, "(another build-id): functions have the names");
	close(fd);
}

static void gone(void **state)
{
	(void)state;
	build("k", NO_ID, "");
	int fd = record("k", true), bare = record("k", false);
	unlink(in_work_dir("k"));
	check(fd, 2, 0, "; functions have the names that the recording holds");
	check(bare, 0, 0, "no names: ");
	close(fd);
	close(bare);
}

/* A recording holds 20 bytes of it. */
static void long_build_id(void **state)
{
	(void)state;
	build("k",
	      "-Wl,--build-id=0x"
	      "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
	      "");
	int fd = record("k", false);
	check(fd, 2, 2, NULL);
	close(fd);
}

static void check_given(int fd, const char *elf, unsigned named, const char *words)
{
	const char *path = in_work_dir(elf);
	struct us_profile_opts o = { .images = &path, .n_image = 1 };
	print_message("# -e %s\n", elf);
	check_with(fd, &o, named, named, words);
}

/* What has the symbols has another name, and the image was moved. */
static void given_for_a_stripped_one(void **state)
{
	(void)state;
	static const uint64_t moved[] = { 0x10000000, 0x10 };
	build("whole", NO_ID, "");
	need("strip -o k whole && objcopy --only-keep-debug whole debug");
	need("sed 's/+= 3/+= 4/' k.c >other.c && gcc -O1 -g -nostdlib -static -no-pie "
	     "-fcf-protection=none " NO_ID " other.c -o other");
	for (unsigned i = 0; i < 2; i++) {
		int fd = record_at(moved[i], "k", "whole", false);
		check_given(fd, "whole", 2, NULL);
		check_given(fd, "debug", 2, "debug (given by -e) was not compared");
		close(fd);
	}
	/* As large, at the same addresses, but with other code. */
	int fd = record_at(moved[0], "k", "whole", false);
	check_given(fd, "other", 0, "other (given by -e) was not compared");
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same),
		cmocka_unit_test(other_code),
		cmocka_unit_test(another_build_id),
		cmocka_unit_test(gone),
		cmocka_unit_test(long_build_id),
		cmocka_unit_test(given_for_a_stripped_one),
	};
	return cmocka_run_group_tests(tests, enter_work_dir, leave_work_dir);
}
