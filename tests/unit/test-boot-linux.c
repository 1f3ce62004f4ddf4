/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Boot images of Linux that are none, or are broken: each says so.  Real ones are in
 * conformance/boot_kernels.py. */
#include "unit.h"

#include "boot/linux_file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static char path[64];
static uint8_t image[4096];

static void put_file(size_t n)
{
	strcpy(path, "/tmp/uniscope-test-XXXXXX");
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, image, n), n);
	close(fd);
}

static struct us_boot_linux *take(bool moves, int code)
{
	struct us_boot_linux *l;
	struct us_err e = { 0 };
	assert_int_equal(us_boot_linux_open(path, moves, &l, &e), code);
	if (!strncmp(path, "/tmp/uniscope-", 14))
		unlink(path); /* and nothing else that was tried, as root */
	return l;
}

static void others_are_none(void **state)
{
	(void)state;
	put_file(0);
	assert_null(take(true, -ENOENT));
	put_file(100);
	assert_null(take(true, -ENOENT));
	memset(image, 0, sizeof(image));
	put_file(sizeof(image));
	assert_null(take(true, -ENOENT));
	strcpy(path, "/tmp");
	assert_null(take(true, -ENOENT));
	strcpy(path, "/nowhere/at/all");
	assert_null(take(true, -ENOENT));
	strcpy(path, "/dev/zero");
	assert_null(take(true, -ENOENT));
}

static void make_header(void)
{
	static const uint8_t start[] = { 0, 0, 0x10, 0 };
	memset(image, 0, sizeof(image));
	image[0x1f1] = 1;
	memcpy(image + 0x202, "HdrS", 4);
	image[0x211] = 1;
	memcpy(image + 0x214, start, sizeof(start));
	image[0x234] = 1;
	image[0x262] = 0x20;
}

static void an_entry_is_known_without_functions(void **state)
{
	(void)state;
	make_header();
	put_file(sizeof(image));
	struct us_boot_linux *l = take(true, 0);
	assert_non_null(l);
	assert_int_equal(us_boot_linux_entry(l), 0x100000);
	assert_true(us_boot_linux_moves(l));
	const struct us_boot_code code = us_boot_linux_code_of(l);
	assert_int_equal(code.range[0].start, 0x100000);
	assert_int_equal(code.range[0].end, 0x300000);
	assert_true(code.range[1].start <= 0xffffffff81000000);
	assert_true(us_boot_linux_why(l)[0]);
	assert_int_equal(us_boot_linux_function(l, "start_kernel"), 0);
	us_boot_linux_close(l);
	/* nokaslr; and one that cannot move. */
	put_file(sizeof(image));
	l = take(false, 0);
	assert_false(us_boot_linux_moves(l));
	us_boot_linux_close(l);
	image[0x234] = 0;
	put_file(sizeof(image));
	l = take(true, 0);
	assert_false(us_boot_linux_moves(l));
	us_boot_linux_close(l);
}

static void put(size_t at, uint32_t v, size_t size)
{
	memcpy(image + at, &v, size);
}

/* PE's entry 0x20 bytes behind the begin of a section that the file has elsewhere; and
 * the handover's. */
static void make_stub(void)
{
	make_header();
	put(0x236, 1U << 3, 2); /* of 64-bit firmware */
	put(0x264, 0x30, 4);
	put(0x3c, 0x40, 4);
	memcpy(image + 0x40, "PE\0", 4);
	put(0x46, 1, 2);
	put(0x54, 0x20, 2);
	put(0x68, 0x5120, 4);
	put(0x78 + 12, 0x5100, 4);
	put(0x78 + 16, 0x100, 4);
	put(0x78 + 20, 0x800, 4);
	memset(image + 0x820, 0x11, US_WATCH_CODE);
	memset(image + 0x400 + 0x200 + 0x30, 0x22, US_WATCH_CODE);
}

static size_t stub_of(struct us_boot_linux_efi efi[US_BOOT_LINUX_EFI])
{
	put_file(sizeof(image));
	struct us_boot_linux *l = take(true, 0);
	assert_non_null(l);
	size_t n = us_boot_linux_efi(l, efi);
	us_boot_linux_close(l);
	return n;
}

static void entries_of_the_efi_stub_are_known(void **state)
{
	struct us_boot_linux_efi efi[US_BOOT_LINUX_EFI];
	(void)state;
	make_stub();
	assert_int_equal(stub_of(efi), 2);
	assert_int_equal(efi[0].offset, 0x120);
	assert_int_equal(efi[0].code[US_WATCH_CODE - 1], 0x11);
	assert_int_equal(efi[1].offset, 0x230);
	assert_int_equal(efi[1].code[0], 0x22);
	put(0x236, 1U << 2, 2); /* of 32-bit firmware */
	assert_int_equal(stub_of(efi), 2);
	assert_int_equal(efi[1].offset, 0x30);
	put(0x236, 0, 2);
	assert_int_equal(stub_of(efi), 1);
	make_header();
	assert_int_equal(stub_of(efi), 0);
}

static void hostile_stubs_are_harmless(void **state)
{
	static const size_t fields[] = {
		0x3c, 0x46, 0x54, 0x68, 0x84, 0x8c, 0x264, 0x88
	};
	struct us_boot_linux_efi efi[US_BOOT_LINUX_EFI];
	(void)state;
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		make_stub();
		put(fields[i], UINT32_MAX, 4);
		assert_true(stub_of(efi) <= 2);
		put(fields[i], sizeof(image) - US_WATCH_CODE + 1, 4);
		assert_true(stub_of(efi) <= 2);
	}
}

/* Sizes and offsets that lead out of the file, and what is no ELF file. */
static void hostile_headers_are_harmless(void **state)
{
	static const uint8_t lz4[] = { 2, 0x21, 0x4c, 0x18, 6,	 0,   0,
				       0, 0x50, 'h',  'e',  'l', 'l', 'o' };
	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		make_header();
		memset(image + 0x248, i == 0 ? 0xff : 0, 4);
		memset(image + 0x24c, i == 1 ? 0xff : 0x7f, 4);
		if (i == 2)
			memcpy(image + 1024, lz4, sizeof(lz4));
		put_file(sizeof(image));
		struct us_boot_linux *l = take(true, 0);
		assert_non_null(l);
		assert_true(us_boot_linux_why(l)[0]);
		us_boot_linux_close(l);
	}
	us_boot_linux_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(others_are_none),
		cmocka_unit_test(an_entry_is_known_without_functions),
		cmocka_unit_test(entries_of_the_efi_stub_are_known),
		cmocka_unit_test(hostile_stubs_are_harmless),
		cmocka_unit_test(hostile_headers_are_harmless),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
