/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ELF files that lie: each is refused with a reason or read as far as it is good. */
#include "unit.h"
#include "toolchain.h"

#include "symbol/elf_file.h"
#include "symbol/symbol.h"

#include <elf.h>
#include <errno.h>
#include <sys/mman.h>

static const char source[] =
	"static inline __attribute__((always_inline)) int in(int a) { return a * 3; }\n"
	"int leaf(volatile int *p) { *p = in(*p) + in(7); return *p; }\n"
	"void _start(void) { volatile int x = 3; leaf(&x); }\n";

static unsigned good, refused;

/* The path of a file with these bytes, the same one each time. */
static const char *in_memory(const uint8_t *b, size_t len)
{
	static int fd = -1;
	static char path[64];
	if (fd < 0)
		fd = memfd_create("probe", 0);
	assert_int_equal(ftruncate(fd, (off_t)len), 0);
	assert_int_equal(pwrite(fd, b, len, 0), (ssize_t)len);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return path;
}

static void visited(void *ctx, us_gva pc)
{
	(void)ctx;
	(void)pc;
}

/* Open what is in the buffer and look all over it. */
static int probe(const uint8_t *b, size_t len)
{
	struct us_elf_image *i = NULL;
	struct us_symbols *s;
	struct us_err e = { 0 };
	struct us_frame f[8];
	struct us_source_line near = { 0 };
	int r = us_elf_image_open(in_memory(b, len), &i, &e);
	if (r < 0) {
		/* -EINVAL: big-endian */
		assert_true(r == -ENOEXEC || r == -EBADMSG || r == -EINVAL);
		assert_int_equal(e.code, r);
		assert_true(e.msg[0] != '\0');
		refused++;
		return r;
	}
	good++;
	const struct us_elf_file *file = us_elf_image_file(i);
	assert_int_equal(us_symbols_new(&s, &e), 0);
	assert_int_equal(us_symbols_add(s, i, 0, &e), 0);
	for (size_t k = 0; k < file->n_code; k++) {
		const struct us_elf_code *c = &file->code[k];
		uint64_t step = (c->end - c->start) / 8 + 1;
		for (uint64_t n = 0; n < 8; n++) {
			size_t n_frame = us_symbols_lookup(s, c->start + n * step,
							   false, f, 8);
			for (size_t j = 0; j < n_frame; j++)
				assert_true(!f[j].func || strlen(f[j].func) < 20000);
			if (n_frame && f[0].file)
				us_symbols_around(s, f[0].file, f[0].line + 1, visited,
						  NULL, &near);
		}
	}
	us_symbols_free(s);
	return 0;
}

static void change_field(uint8_t *b, size_t len, size_t at, size_t width)
{
	uint64_t old = 0;
	memcpy(&old, b + at, width);
	const uint64_t values[] = { 0,
				    1,
				    2,
				    old + 1,
				    old - 1,
				    old * 2,
				    len - 1,
				    len,
				    len + 1,
				    0x7f,
				    0x7fffffff,
				    0x80000000,
				    0xffffffff,
				    0xfffffff0,
				    0x7fffffffffffffff,
				    0x8000000000000000,
				    0xfffffffffffffff0,
				    UINT64_MAX };
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		memcpy(b + at, &values[i], width);
		probe(b, len);
	}
	memcpy(b + at, &old, width);
}

/* Each field of a table of n structs, whose widths are given as a string. */
static void change_table(uint8_t *b, size_t len, size_t at, size_t n,
			 const char *widths)
{
	for (size_t i = 0; i < n; i++)
		for (const char *w = widths; *w; w++) {
			size_t width = (size_t)(*w - '0');
			if (at + width <= len)
				change_field(b, len, at, width);
			at += width;
		}
}

static void build(void)
{
	write_file("h.c", source, sizeof(source) - 1);
	write_file("h.s", ".globl _start\n_start: nop\nf: ret\n", 33);
	need("cc -O2 -g -static -nostdlib -Wl,--build-id -o h64 h.c && "
	     "as --32 -g -o h.o h.s && ld -m elf_i386 -o h32 h.o");
}

static void every_field(void **state)
{
	(void)state;
	build();
	size_t len;
	uint8_t *b = load_file("h64", &len);
	Elf64_Ehdr h;
	memcpy(&h, b, sizeof(h));
	good = refused = 0;
	change_table(b, len, 0, 1,
		     "1111111111111111224888"
		     "4222222");
	change_table(b, len, h.e_phoff, h.e_phnum, "44888888");
	change_table(b, len, h.e_shoff, h.e_shnum, "4488884488");
	free(b);
	b = load_file("h32", &len);
	Elf32_Ehdr n;
	memcpy(&n, b, sizeof(n));
	change_table(b, len, 0, 1, "11111111111111112244444222222");
	change_table(b, len, n.e_phoff, n.e_phnum, "44444444");
	change_table(b, len, n.e_shoff, n.e_shnum, "4444444444");
	free(b);
	print_message("# %u read, %u refused\n", good, refused);
	assert_true(good > 1000 && refused > 300);
}

static void every_byte(void **state)
{
	(void)state;
	static const uint8_t flips[] = { 0xff, 0x01, 0x80 };
	static const char *const files[] = { "h64", "h32" };
	need("test -e h64 && test -e h32");
	for (size_t f = 0; f < 2; f++) {
		size_t len;
		uint8_t *b = load_file(files[f], &len);
		for (size_t at = 0; at < len; at++)
			for (size_t k = 0; k < sizeof(flips); k++) {
				/* The padding between segments is long and dull. */
				if (b[at] == 0 && at > 0x400 && at % 64)
					continue;
				b[at] ^= flips[k];
				probe(b, len);
				b[at] ^= flips[k];
			}
		free(b);
	}
}

static void every_length(void **state)
{
	(void)state;
	need("test -e h64");
	size_t len;
	uint8_t *b = load_file("h64", &len);
	for (size_t cut = 0; cut < len;
	     cut += cut < 0x200 || cut > len - 0x900 ? 1 : 61)
		assert_true(probe(b, cut) < 0);
	assert_int_equal(probe(b, len), 0);
	free(b);
}

/* The section header of the given type in an ELF64 file. */
static Elf64_Shdr *section_of(uint8_t *b, uint32_t type)
{
	Elf64_Ehdr *h = (void *)b;
	Elf64_Shdr *s = (void *)(b + h->e_shoff);
	size_t i = 0;
	while (i < h->e_shnum && s[i].sh_type != type)
		i++;
	assert_true(i < h->e_shnum);
	return &s[i];
}

static void expect_lie(const uint8_t *b, size_t len, const char *words)
{
	struct us_elf_image *i = NULL;
	struct us_err e = { 0 };
	assert_int_equal(us_elf_image_open(in_memory(b, len), &i, &e), -EBADMSG);
	if (!strstr(e.msg, words))
		fail_msg("'%s' says nothing of '%s'", e.msg, words);
}

static Elf64_Shdr *section_named(uint8_t *b, const char *name)
{
	Elf64_Ehdr *h = (void *)b;
	Elf64_Shdr *s = (void *)(b + h->e_shoff);
	const char *names = (const char *)b + s[h->e_shstrndx].sh_offset;
	size_t i = 0;
	while (i < h->e_shnum && strcmp(names + s[i].sh_name, name) != 0)
		i++;
	assert_true(i < h->e_shnum);
	return &s[i];
}

/* The file opens, and has n symbols; words: of what is said of it, "": nothing is. */
static void expect_left_out(const uint8_t *b, size_t len, const char *words, size_t n)
{
	struct us_elf_image *i;
	struct us_err e = { 0 };
	char what[400] = "";
	size_t have;
	assert_int_equal(us_elf_image_open(in_memory(b, len), &i, &e), 0);
	assert_int_equal(us_elf_image_damage(i, what, sizeof(what)), *words != '\0');
	if (!strstr(what, words))
		fail_msg("'%s' says nothing of '%s'", what, words);
	us_elf_image_symbols(i, &have);
	assert_int_equal(have, n);
	us_elf_image_close(i);
}

static void lies_are_named(void **state)
{
	(void)state;
	need("test -e h64");
	size_t len;
	uint8_t *b = load_file("h64", &len);
	Elf64_Shdr *s = section_of(b, SHT_SYMTAB), old = *s;
	s->sh_size = len;
	expect_left_out(b, len, ".symtab claims", 0);
	s->sh_size = UINT64_MAX;
	expect_left_out(b, len, ".symtab claims", 0);
	*s = old;
	s->sh_entsize = 0;
	expect_left_out(b, len, "", 2);
	s->sh_entsize = 23;
	expect_lie(b, len, "entries of 23 bytes");
	*s = old;
	s->sh_link = 0x10000;
	expect_lie(b, len, "names");
	*s = old;
	Elf64_Ehdr *h = (void *)b;
	Elf64_Phdr *p = (void *)(b + h->e_phoff);
	h->e_shnum = 0xfff0;
	expect_lie(b, len, "section header table");
	h->e_shnum = 0; /* then section 0 has the count */
	Elf64_Shdr *zero = (void *)(b + h->e_shoff);
	zero->sh_size = UINT64_MAX / 8;
	expect_lie(b, len, "section header table");
	zero->sh_size = 1;
	p->p_memsz = UINT64_MAX;
	expect_lie(b, len, "impossible size");
	free(b);
}

/* Names come from what is good. */
static void bad_sections_are_left_out(void **state)
{
	(void)state;
	need("test -e h64");
	size_t len;
	uint8_t *b = load_file("h64", &len);
	Elf64_Shdr *s = section_named(b, ".comment"), old = *s;
	s->sh_offset = 1ULL << 40;
	expect_left_out(b, len, ".comment claims", 2);
	Elf64_Shdr *line = section_named(b, ".debug_line"), old_line = *line;
	line->sh_size = len + 1;
	expect_left_out(b, len, "1 more", 2);
	*s = old;
	*line = old_line;
	s = section_named(b, ".strtab");
	old = *s;
	s->sh_size = UINT64_MAX;
	expect_left_out(b, len, ".strtab claims", 0);
	*s = old;
	/* The code's bytes are in a segment, too. */
	s = section_named(b, ".text");
	uint64_t offset = s->sh_offset;
	s->sh_offset = UINT64_MAX;
	expect_left_out(b, len, ".text claims", 2);
	struct us_elf_file f;
	struct us_err e;
	assert_int_equal(us_elf_file_open(in_memory(b, len), &f, &e), 0);
	assert_int_equal(f.n_code, 1);
	assert_int_equal(f.code[0].offset, offset);
	us_elf_file_close(&f);
	free(b);
}

/* A segment of zeros has no bytes in the file, wherever they are said to begin. */
static void zeros_behind_the_end(void **state)
{
	(void)state;
	need("test -e h64");
	size_t len;
	uint8_t *b = load_file("h64", &len);
	struct us_elf_image *i = NULL;
	struct us_err e = { 0 };
	Elf64_Ehdr *h = (void *)b;
	Elf64_Phdr *p = (void *)(b + h->e_phoff);
	unsigned k = 0;
	while (k < h->e_phnum && p[k].p_type != PT_LOAD)
		k++;
	assert_true(k < h->e_phnum);
	p[k].p_offset = len + 4096;
	expect_lie(b, len, "claims bytes");
	p[k].p_filesz = 0;
	assert_int_equal(us_elf_image_open(in_memory(b, len), &i, &e), 0);
	us_elf_image_close(i);
	free(b);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_field),
		cmocka_unit_test(every_byte),
		cmocka_unit_test(bad_sections_are_left_out),
		cmocka_unit_test(every_length),
		cmocka_unit_test(lies_are_named),
		cmocka_unit_test(zeros_behind_the_end),
	};
	return cmocka_run_group_tests(tests, enter_work_dir, leave_work_dir);
}
