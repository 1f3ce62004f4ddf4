/* SPDX-License-Identifier: GPL-2.0-or-later */
/* PE/COFF files as images: their symbols and DWARF, and what is hostile in them. */
#include "symbol/pe_file.h"

#include "base/io.h"
#include "boot/entry.h"
#include "boot/entry_path.h"
#include "symbol/elf_image.h"

#include "unit.h"

#include <elf.h>
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#define HEADER	0x80 /* "PE", 0, 0 */
#define BASE	0x140000000
#define TEXT	0x400
#define INFO	0x600
#define SYMBOLS 0x700
#define N	7
#define STRINGS (SYMBOLS + 18 * N)
#define SIZE	(STRINGS + 64)

static uint8_t file[SIZE];

static void put(size_t at, uint64_t value, size_t n)
{
	memcpy(file + at, &value, n);
}

static void put_section(size_t i, const char *name, uint32_t addr, uint32_t offset,
			uint32_t flags)
{
	size_t at = HEADER + 24 + 240 + 40 * i;
	memcpy(file + at, name, strlen(name));
	put(at + 8, 0x100, 4);
	put(at + 12, addr, 4);
	put(at + 16, 0x200, 4);
	put(at + 20, offset, 4);
	put(at + 36, flags, 4);
}

static void put_symbol(size_t i, const char *name, uint32_t value, uint16_t section,
		       uint16_t type, uint8_t kind, uint8_t n_aux)
{
	size_t at = SYMBOLS + 18 * i;
	if (name)
		memcpy(file + at, name, strlen(name));
	put(at + 8, value, 4);
	put(at + 12, section, 2);
	put(at + 14, type, 2);
	put(at + 16, kind, 1);
	put(at + 17, n_aux, 1);
}

/* As lld-link and GNU ld write it. */
static void make(uint16_t machine, uint16_t magic)
{
	memset(file, 0, sizeof(file));
	memcpy(file, "MZ", 2);
	put(0x3c, HEADER, 4);
	memcpy(file + HEADER, "PE", 2);
	put(HEADER + 4, machine, 2);
	put(HEADER + 6, 2, 2);
	put(HEADER + 12, SYMBOLS, 4);
	put(HEADER + 16, N, 4);
	put(HEADER + 20, 240, 2);
	put(HEADER + 24, magic, 2);
	put(HEADER + 24 + 16, 0x1040, 4);
	if (magic == 0x20b)
		put(HEADER + 24 + 24, BASE, 8);
	else
		put(HEADER + 24 + 28, 0x400000, 4);
	put_section(0, ".text", 0x1000, TEXT, 0x60000020);
	put_section(1, "/4", 0x2000, INFO - 0x100, 0x42000040);
	put_symbol(0, ".text", 0, 1, 0, 3, 1); /* the section, and one more entry */
	put_symbol(2, "_eight_8", 0, 1, 0x20, 2, 0);
	put_symbol(3, NULL, 0x40, 1, 0x20, 3, 0);
	put(SYMBOLS + 18 * 3 + 4, 16, 4);
	put_symbol(4, "label", 0x80, 1, 0, 3, 0);
	put_symbol(5, "data", 0, 2, 0, 2, 0);
	put_symbol(6, "outside", 0, 0, 0x20, 2, 0);
	put(STRINGS, 64, 4);
	memcpy(file + STRINGS + 4, ".debug_info", 12);
	memcpy(file + STRINGS + 16, "a_longer_name", 14);
}

static int open_file(struct us_elf_image **ret, struct us_err *e)
{
	char path[64];
	int fd = memfd_create("pe", MFD_CLOEXEC);
	assert_int_equal(us_write_all(fd, file, sizeof(file)), 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	int r = us_elf_image_open(path, ret, e);
	close(fd);
	return r;
}

static void must_be(const struct us_elf_image *i, uint64_t at, const char *name)
{
	const struct us_elf_symbol *s = us_elf_image_find(i, at);
	assert_non_null(s);
	assert_string_equal(s->name, name);
}

static void functions_and_dwarf_are_found(void **state)
{
	struct us_elf_image *i;
	struct us_err e;
	size_t n;
	(void)state;
	make(0x8664, 0x20b);
	assert_int_equal(open_file(&i, &e), 0);
	us_elf_image_symbols(i, &n);
	assert_int_equal(n, 3);
	must_be(i, BASE + 0x1000, "_eight_8");
	must_be(i, BASE + 0x107f, "a_longer_name");
	must_be(i, BASE + 0x1080, "label");
	const struct us_elf_file *f = us_elf_image_file(i);
	assert_int_equal(f->machine, EM_X86_64);
	assert_int_equal(f->n_code, 1);
	assert_int_equal(f->code[0].end, BASE + 0x1100);
	assert_memory_equal(f->bytes + f->code[0].offset, file + TEXT, 0x100);
	const struct us_elf_section *info = us_elf_file_section(f, ".debug_info");
	assert_non_null(info);
	assert_int_equal(info->size, 0x100);
	us_elf_image_close(i);
}

static void narrow_names_lose_their_underscore(void **state)
{
	struct us_elf_image *i;
	struct us_err e;
	(void)state;
	make(0x14c, 0x10b);
	assert_int_equal(open_file(&i, &e), 0);
	must_be(i, 0x401000, "eight_8");
	must_be(i, 0x401040, "a_longer_name");
	assert_false(us_elf_image_file(i)->is64);
	us_elf_image_close(i);
}

static void refused(int code, const char *why)
{
	struct us_elf_image *i;
	struct us_err e = { 0 };
	assert_int_equal(open_file(&i, &e), code);
	assert_non_null(strstr(e.msg, why));
}

/* What follows the entry, and what compares code, needs them as ELF has them. */
static void entry_and_segments_are_found(void **state)
{
	static const struct {
		uint16_t machine, magic;
		uint64_t base;
	} kind[] = { { 0x8664, 0x20b, BASE }, { 0x14c, 0x10b, 0x400000 } };
	(void)state;
	for (size_t k = 0; k < 2; k++) {
		struct us_elf_image *i;
		struct us_err e;
		uint64_t entry[US_BOOT_MAX_ENTRY], base = kind[k].base;
		size_t n = 0;
		make(kind[k].machine, kind[k].magic);
		assert_int_equal(open_file(&i, &e), 0);
		const struct us_elf_file *f = us_elf_image_file(i);
		assert_int_equal(us_boot_entries(f, entry), 1);
		assert_int_equal(entry[0], base + 0x1040);
		assert_true(us_boot_is_anywhere(f));
		const uint8_t *code = us_boot_code_at(f, entry[0], &n);
		assert_ptr_equal(code, f->bytes + f->code[0].offset + 0x40);
		assert_int_equal(n, 0x100 - 0x40);
		assert_int_equal(f->n_segment, 1); /* debug sections are not loaded */
		us_elf_image_close(i);
	}
}

static void others_are_refused(void **state)
{
	(void)state;
	make(0x8664, 0x20b);
	put(HEADER + 16, 0, 4);
	put(HEADER + 12, 0, 4); /* no symbols, so no name of .debug_info */
	refused(-ENOEXEC, "without symbols");
	make(0x1c0, 0x20b);
	refused(-EINVAL, "processor 0x1c0");
	make(0x8664, 0x20b);
	memcpy(file + 0x202, "HdrS", 4);
	refused(-ENOEXEC, "Linux");
}

static void false_claims_are_refused(void **state)
{
	(void)state;
	make(0x8664, 0x20b);
	put(HEADER + 16, 0xffffffff, 4);
	refused(-EBADMSG, "symbols");
	make(0x8664, 0x20b);
	put(HEADER + 6, 0xffff, 2);
	refused(-EBADMSG, "sections");
	make(0x8664, 0x20b);
	put(STRINGS, 65, 4);
	refused(-EBADMSG, "string table");
	make(0x8664, 0x20b);
	put(HEADER + 24 + 240 + 20, SIZE - 0xff, 4);
	refused(-EBADMSG, "section 1 is cut");
}

/* No claim of any byte leads out of the file; the sanitizers see it. */
static void no_byte_leads_astray(void **state)
{
	struct us_elf_image *i;
	struct us_err e;
	(void)state;
	for (size_t at = 0; at < SIZE; at++) {
		make(0x8664, 0x20b);
		file[at] ^= 0xff;
		if (open_file(&i, &e) == 0)
			us_elf_image_close(i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_and_dwarf_are_found),
		cmocka_unit_test(narrow_names_lose_their_underscore),
		cmocka_unit_test(entry_and_segments_are_found),
		cmocka_unit_test(others_are_refused),
		cmocka_unit_test(false_claims_are_refused),
		cmocka_unit_test(no_byte_leads_astray),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
