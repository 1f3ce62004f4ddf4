/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ELF files where a program has them mapped: those of this program, against what its
 * loader says of them; and such as lie. */
#include "unit.h"

#include "linux/program_elf.h"
#include "linux/program_pages.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/uio.h>
#include <unistd.h>

static const struct us_space space = { .mode = US_PAGING_OFF };
static struct us_mem mem;
static struct us_paging paging;
static uint8_t made[8192]; /* at 0x400000, if it has a first byte */
static us_gva hole;	   /* a page that is not in memory */

static bool read_self(void *ctx, us_gpa at, void *buf, size_t len)
{
	struct iovec to = { buf, len }, from = { (void *)(uintptr_t)at, len };
	(void)ctx;
	if (made[0]) {
		if (at < 0x400000 || at - 0x400000 > sizeof(made) - len)
			return false;
		memcpy(buf, made + (at - 0x400000), len);
		return true;
	}
	if (hole && at < hole + 4096 && at + len > hole)
		return false;
	return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == (ssize_t)len;
}

static int set_up(void **state)
{
	(void)state;
	memset(made, 0, sizeof(made));
	hole = 0;
	mem = (struct us_mem){ .read = read_self };
	us_mem_init(&mem);
	us_paging_init(&paging, &mem);
	return 0;
}

struct wanted {
	const char *name;
	uint64_t address;
	size_t n, found;
};

static int look(void *ctx, const struct us_program_symbol *s)
{
	struct wanted *w = ctx;
	w->n++;
	w->found += s->address == w->address && !strcmp(s->name, w->name);
	return 0;
}

/* How often the name is there, at its address; -1: there is no table. */
#define PAGES(f) (&(struct us_program_pages){ &paging, &space, f, NULL })

static int count(const struct us_program_elf *f, const char *name, uint64_t at,
		 size_t *ret_missing)
{
	struct wanted w = { .name = name, .address = at - f->slide };
	int r = us_program_elf_symbols(PAGES(f), look, &w, ret_missing);
	return r == 0 && w.n ? (int)w.found : -1;
}

/* A function of the C library, there: in a program that may be anywhere in memory or
 * not, and that a sanitizer is linked into, which has some of that library's names. */
static void *of_library(void)
{
	void *ret = dlsym(RTLD_NEXT, "tsearch");
	assert_non_null(ret);
	return ret;
}

static void test_library(void **state)
{
	(void)state;
	Dl_info i;
	struct us_program_elf f;
	uint64_t slide;
	size_t missing;
	assert_true(dladdr(of_library(), &i));
	us_gva base = (uintptr_t)i.dli_fbase;
	assert_true(us_program_elf_read(&paging, &space, base, NULL, &f));
	assert_true(f.slide == base && f.whole && f.n_segment >= 2);
	assert_true(f.build_id_len == 0 || f.build_id_len == 20);
	assert_int_equal(count(&f, "tsearch", (uintptr_t)of_library(), &missing), 1);
	assert_int_equal(missing, 0);
	assert_int_equal(
		count(&f, "no_such_function", (uintptr_t)of_library(), &missing), 0);
	/* Where a mapping of its code would be. */
	for (unsigned k = 0; k < f.n_segment; k++)
		if (f.segment[k].code) {
			uint64_t at = f.segment[k].address & ~4095ULL;
			assert_true(us_program_elf_slide(
				&f, base + at, f.segment[k].offset & ~4095ULL, &slide));
			assert_true(slide == base);
		}
	assert_false(us_program_elf_slide(&f, base, UINT64_MAX, &slide));
}

static void test_vdso(void **state)
{
	(void)state;
	struct us_program_elf f;
	size_t missing;
	us_gva at = getauxval(AT_SYSINFO_EHDR);
	if (!at)
		skip();
	assert_true(us_program_elf_read(&paging, &space, at, NULL, &f));
	assert_true(count(&f, "-", 0, &missing) == 0);
	assert_true(f.build_id_len == 20);
}

/* A page of names that is not in memory costs those names, and no others. */
static void test_missing(void **state)
{
	(void)state;
	Dl_info i;
	struct us_program_elf f;
	struct wanted all = { .name = "-" }, some = { .name = "-" };
	size_t missing;
	assert_true(dladdr(of_library(), &i));
	us_gva base = (uintptr_t)i.dli_fbase;
	assert_true(us_program_elf_read(&paging, &space, base, NULL, &f));
	assert_int_equal(us_program_elf_symbols(PAGES(&f), look, &all, &missing), 0);
	const ElfW(Sym) * symbol;
	assert_true(dladdr1(of_library(), &i, (void **)&symbol, RTLD_DL_SYMENT));
	hole = (uintptr_t)symbol & ~4095ULL;
	us_paging_new_sample(&paging);
	assert_int_equal(us_program_elf_symbols(PAGES(&f), look, &some, &missing), 0);
	assert_int_equal(missing, 4096);
	assert_true(some.n < all.n && some.n + 4096 / sizeof(*symbol) + 2 >= all.n);
	hole = base;
	us_paging_new_sample(&paging);
	assert_false(us_program_elf_read(&paging, &space, base, NULL, &f));
}

static Elf64_Ehdr *make_header(void)
{
	Elf64_Ehdr *e = (Elf64_Ehdr *)made;
	memset(made, 0, sizeof(made));
	memcpy(e->e_ident, ELFMAG, SELFMAG);
	e->e_ident[EI_CLASS] = ELFCLASS64;
	e->e_ident[EI_DATA] = ELFDATA2LSB;
	e->e_phoff = sizeof(*e);
	e->e_phentsize = sizeof(Elf64_Phdr);
	e->e_phnum = 3;
	Elf64_Phdr *h = (Elf64_Phdr *)(made + sizeof(*e));
	h[0] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_X, .p_memsz = 8192 };
	h[1] = (Elf64_Phdr){ .p_type = PT_NOTE, .p_vaddr = 512, .p_memsz = 32 };
	h[2] = (Elf64_Phdr){ .p_type = PT_DYNAMIC, .p_vaddr = 1024, .p_memsz = 512 };
	return e;
}

static void put_note(uint32_t name, uint32_t size)
{
	const uint32_t head[4] = { name, size, NT_GNU_BUILD_ID, 0x554e47 };
	memcpy(made + 512, head, sizeof(head));
}

static bool is_read(struct us_program_elf *f)
{
	us_paging_new_sample(&paging);
	return us_program_elf_read(&paging, &space, 0x400000, NULL, f);
}

static void test_hostile_headers(void **state)
{
	(void)state;
	struct us_program_elf f;
	Elf64_Ehdr *e = make_header();
	Elf64_Phdr *h = (Elf64_Phdr *)(e + 1);
	put_note(4, 16);
	assert_true(is_read(&f) && f.build_id_len == 16 && f.slide == 0x400000);
	put_note(4, UINT32_MAX); /* longer than the notes */
	assert_true(is_read(&f) && f.build_id_len == 0);
	put_note(UINT32_MAX - 3, 16);
	assert_true(is_read(&f) && f.build_id_len == 0);
	put_note(4, 0);
	assert_true(is_read(&f) && f.build_id_len == 0);
	h[1].p_vaddr = UINT64_MAX - 64; /* notes of the kernel's half */
	assert_true(is_read(&f) && !f.whole);
	e->e_phnum = UINT16_MAX;
	assert_false(is_read(&f));
	e->e_phnum = 3;
	e->e_phoff = UINT64_MAX - 8;
	assert_false(is_read(&f));
	e->e_phoff = sizeof(*e);
	e->e_phentsize = 1;
	assert_false(is_read(&f));
	e->e_phentsize = sizeof(Elf64_Phdr);
	h[0].p_vaddr = UINT64_MAX - 4096; /* wraps round: it is none */
	assert_false(is_read(&f));
}

/* A segment is mapped from the page on that it begins in, and those of some kernels
 * have 64 KiB. */
static void test_pages(void **state)
{
	(void)state;
	struct us_program_elf f = { .page = 4096, .n_segment = 1 };
	const struct us_program_segment code = { 0x2fdb8, 0x100, 0x1fdb8, true, false };
	uint64_t slide;
	f.segment[0] = code;
	assert_true(us_program_elf_slide(&f, 0x702f000, 0x1f000, &slide));
	assert_int_equal(slide, 0x7000000);
	assert_false(us_program_elf_slide(&f, 0x7020000, 0x10000, &slide));
	f.page = 65536;
	assert_true(us_program_elf_slide(&f, 0x7020000, 0x10000, &slide));
	assert_int_equal(slide, 0x7000000);
}

/* Builds without a build-id differ in their headers, or in what Go notes. */
static void test_marks(void **state)
{
	(void)state;
	struct us_program_elf f, g;
	Elf64_Ehdr *e = make_header();
	const uint32_t go[] = { 4, 8, 4, 0x6f47 };
	memcpy(made + 512, go, sizeof(go));
	assert_true(is_read(&f) && is_read(&g) && f.go && !f.build_id_len);
	assert_true(f.mark == g.mark);
	made[512 + sizeof(go)]++;
	assert_true(is_read(&g) && f.mark != g.mark);
	made[512 + sizeof(go)]--;
	((Elf64_Phdr *)(e + 1))->p_memsz++;
	assert_true(is_read(&g) && f.mark != g.mark);
}

static void put_dynamic(unsigned k, int64_t tag, uint64_t value)
{
	const Elf64_Dyn d = { .d_tag = tag, .d_un.d_val = value };
	memcpy(made + 1024 + k * sizeof(d), &d, sizeof(d));
}

static int visit_all(size_t *missing)
{
	struct us_program_elf f;
	struct wanted w = { .name = "-" };
	assert_true(is_read(&f));
	return us_program_elf_symbols(PAGES(&f), look, &w, missing);
}

/* Tables that are larger than all memory, that have no end, or lie elsewhere. */
static void test_hostile_tables(void **state)
{
	(void)state;
	size_t missing;
	make_header();
	assert_int_equal(visit_all(&missing), -ENOENT);
	put_dynamic(0, DT_SYMTAB, 2048);
	put_dynamic(1, DT_STRTAB, 3072);
	put_dynamic(2, DT_STRSZ, UINT64_MAX);
	put_dynamic(3, DT_GNU_HASH, 4096);
	assert_int_equal(visit_all(&missing), -ENOENT); /* no bucket */
	const uint32_t hash[] = { 1, 1, 0, 0, 5 };
	memcpy(made + 4096, hash, sizeof(hash)); /* chains end nowhere but at 0 */
	assert_int_equal(visit_all(&missing), 0);
	const uint32_t many[] = { UINT32_MAX, 1, UINT32_MAX, 0 };
	memcpy(made + 4096, many, sizeof(many));
	assert_int_equal(visit_all(&missing), -ENOENT);
	put_dynamic(3, DT_HASH, 4096);
	const uint32_t old[] = { 1, UINT32_MAX };
	memcpy(made + 4096, old, sizeof(old));
	assert_int_equal(visit_all(&missing), 0);
	assert_true(missing > 0);
	put_dynamic(0, DT_SYMTAB, UINT64_MAX - 100);
	assert_int_equal(visit_all(&missing), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_library, set_up),
		cmocka_unit_test_setup(test_vdso, set_up),
		cmocka_unit_test_setup(test_missing, set_up),
		cmocka_unit_test_setup(test_hostile_headers, set_up),
		cmocka_unit_test_setup(test_pages, set_up),
		cmocka_unit_test_setup(test_marks, set_up),
		cmocka_unit_test_setup(test_hostile_tables, set_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
