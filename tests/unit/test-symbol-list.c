/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What nm prints, as an image: its forms, and whether it is the guest's. */
#include "symbol/symbol_list.h"

#include "base/io.h"

#include "unit.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#define N    100
#define STEP 64 /* bytes from function to function */

static uint8_t ram[0x10000];
static struct us_region region = { .size = sizeof(ram), .host = ram };

/* Open a list by us_elf_image_open(), as all images are. */
static int open_or_say(const char *text, struct us_elf_image **ret, struct us_err *e)
{
	char path[64];
	int fd = memfd_create("list", MFD_CLOEXEC);
	assert_int_equal(us_write_all(fd, text, strlen(text)), 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	int r = us_elf_image_open(path, ret, e);
	close(fd);
	return r;
}

static int open_text(const char *text, struct us_elf_image **ret)
{
	struct us_err e;
	return open_or_say(text, ret, &e);
}

static void must_be(const struct us_elf_image *i, uint64_t at, const char *name)
{
	const struct us_elf_symbol *s = us_elf_image_find(i, at);
	if (!name)
		assert_null(s);
	else
		assert_string_equal(s->name, name);
}

static void forms_of_nm_are_read(void **state)
{
	struct us_elf_image *i;
	(void)state;
	/* nm -n */
	assert_int_equal(open_text("                 U outside\n"
				   "0000000000000020 a constant\n"
				   "ffffffff80100000 T start\n"
				   "ffffffff80100040 t inner\n"
				   "ffffffff80100060 D data\n"
				   "ffffffff80100080 W weak(int, char)\n",
				   &i),
			 0);
	must_be(i, 0xffffffff80100000, "start");
	must_be(i, 0xffffffff8010003f, "start");
	must_be(i, 0xffffffff80100040, "inner");
	must_be(i, 0xffffffff80100060, NULL);
	must_be(i, 0xffffffff80100081, "weak(int, char)");
	us_elf_image_close(i);
	/* nm -S, not sorted; one letter that is a digit, too */
	assert_int_equal(open_text("80100040 00000010 t inner\n"
				   "80200000 b zeroes\r\n"
				   "80100000 00000008 T start\n",
				   &i),
			 0);
	must_be(i, 0x80100007, "start");
	must_be(i, 0x80100008, NULL);
	must_be(i, 0x8010004f, "inner");
	must_be(i, 0x80100050, NULL);
	us_elf_image_close(i);
	/* what other tools write, and kinds that nm does not know */
	assert_int_equal(open_text("0x80100000 T \303\244ndern\n"
				   "0x80100010 ? odd\n"
				   "0x80100020 - stab\n",
				   &i),
			 0);
	must_be(i, 0x8010000f, "\303\244ndern");
	must_be(i, 0x80100010, NULL);
	us_elf_image_close(i);
	/* code for the boot, linked low */
	assert_int_equal(open_text("0000000000100000 T boot\n"
				   "ffffffff80100000 T start\n"
				   "ffffffff80100040 T next\t[module]\n",
				   &i),
			 0);
	must_be(i, 0x100000, NULL);
	must_be(i, 0xffffffff80100050, "next");
	us_elf_image_close(i);
}

/* The same of several names at one address as of the ELF file that nm was given. */
static void the_global_name_is_chosen(void **state)
{
	struct us_elf_image *i;
	(void)state;
	assert_int_equal(open_text("80100000 t a_local\n"
				   "80100000 W a_weak\n"
				   "80100000 T global\n"
				   "80100040 W weak\n"
				   "80100040 t local\n",
				   &i),
			 0);
	must_be(i, 0x80100000, "global");
	assert_string_equal(us_elf_image_other_name(i, 0x80100000, 0), "a_local");
	assert_string_equal(us_elf_image_other_name(i, 0x80100000, 1), "a_weak");
	assert_null(us_elf_image_other_name(i, 0x80100000, 2));
	must_be(i, 0x80100040, "local");
	us_elf_image_close(i);
}

/* As xv6's Makefile makes kernel.sym of what objdump -t prints. */
static void lists_without_types_are_read(void **state)
{
	struct us_elf_image *i;
	(void)state;
	assert_int_equal(open_text("80100000 .text\n"
				   "00000000 bio.c\n"
				   "00001000 PGSIZE\n"
				   "80100080 bget\n"
				   "8010000c entry\n"
				   "801000c0 binit\n\n",
				   &i),
			 0);
	must_be(i, 0x80100000, NULL);
	must_be(i, 0x8010000c, "entry");
	must_be(i, 0x8010007f, "entry");
	must_be(i, 0x80100080, "bget");
	must_be(i, 0x801000c0, "binit");
	must_be(i, 0, NULL);
	must_be(i, 0x1000, NULL);
	us_elf_image_close(i);
	assert_int_equal(open_text("00000000 bio.c\n", &i), -ENOEXEC);
}

static void other_text_is_refused(void **state)
{
	static const char *const texts[] = {
		"a file of sixteen bytes and more\n",
		"ffffffff80100000 T \nffffffff80100000 T  \n",
		"                 U outside\n\n\n\n",
		"0000000000000020 a constant\n",
		"10000000000000000 T too_wide\n",
		"/* \377\200 */ ffffffff80100000 T x\n",
	};
	struct us_elf_image *i;
	(void)state;
	for (size_t k = 0; k < sizeof(texts) / sizeof(*texts); k++)
		assert_int_equal(open_text(texts[k], &i), -ENOEXEC);
	struct us_err e;
	assert_int_equal(open_or_say("80100000 T start\n\nthat was all\n", &i, &e),
			 -EINVAL);
	assert_non_null(strstr(e.msg, "line 3 is not as those before"));
	assert_int_equal(open_text("80100000 start\n80100040 T x\n", &i), -EINVAL);
	assert_int_equal(open_text("80100000 T start\n80100040 x\n", &i), -EINVAL);
	assert_int_equal(open_or_say("0000 T start\n0000 T next\n", &i, &e), -EINVAL);
	assert_non_null(strstr(e.msg, "all addresses are 0"));
	/* An end beyond all addresses is none. */
	assert_int_equal(open_text("fffffffffffffff0 0000000000000020 T wraps\n", &i),
			 -ENOEXEC);
}

/* Each function calls the next but one. */
static void put_calls(void)
{
	for (uint32_t k = 0; k < N; k++) {
		uint32_t at = 0x1000 + k * STEP + 8, to = 0x1000 + (k + 2) % N * STEP;
		uint32_t by = to - at - 5;
		ram[at] = 0xe8;
		memcpy(ram + at + 1, &by, 4);
	}
}

static bool is_right(const struct us_elf_image *i, uint64_t bias)
{
	struct us_mem mem = { .region = &region, .n_region = 1 };
	struct us_space s = { .mode = US_PAGING_OFF };
	struct us_image_match m;
	struct us_paging p;
	bool same = false;
	us_mem_init(&mem);
	us_paging_init(&p, &mem);
	assert_true(us_elf_image_compare(i, bias, 0x1000 + bias, &p, &s, &m, &same));
	return same;
}

static void calls_show_whether_it_is_the_guests(void **state)
{
	char text[N * 40];
	size_t n = 0;
	struct us_elf_image *i;
	(void)state;
	for (unsigned k = 0; k < N; k++)
		n += (size_t)snprintf(text + n, sizeof(text) - n,
				      "%016x T function_%u\n", 0x1000 + k * STEP, k);
	assert_int_equal(open_text(text, &i), 0);
	put_calls();
	assert_true(is_right(i, 0));
	/* All is 16 bytes off: as of another build. */
	assert_false(is_right(i, 16));
	us_elf_image_close(i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forms_of_nm_are_read),
		cmocka_unit_test(the_global_name_is_chosen),
		cmocka_unit_test(lists_without_types_are_read),
		cmocka_unit_test(other_text_is_refused),
		cmocka_unit_test(calls_show_whether_it_is_the_guests),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
