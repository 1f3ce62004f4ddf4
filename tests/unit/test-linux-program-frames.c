/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Call frame information where a program has it mapped: that of this program's C
 * library against what its file says, with pages that are missing; and such as lies. */
#include "unit.h"

#include "linux/program_frames.h"
#include "symbol/elf_cfi.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define MADE	0x400000U
#define HDR	256U  /* in made: the search table */
#define RECORDS 1024U /* ... and what it leads to */
#define CODE	4096U

static const struct us_space space = { .mode = US_PAGING_OFF };
static struct us_mem mem;
static struct us_paging paging;
static uint8_t made[8192]; /* at MADE, if it has a first byte */
static us_gva hole;	   /* a page that is not in memory */

static bool read_self(void *ctx, us_gpa at, void *buf, size_t len)
{
	struct iovec to = { buf, len }, from = { (void *)(uintptr_t)at, len };
	(void)ctx;
	if (hole && at < hole + 4096 && at + len > hole)
		return false;
	if (made[0]) {
		if (at < MADE || at - MADE > sizeof(made) - len)
			return false;
		memcpy(buf, made + (at - MADE), len);
		return true;
	}
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

static int read_frames(struct us_program_elf *f, us_gva at, struct us_cfi_table **ret,
		       size_t *missing)
{
	us_paging_new_sample(&paging);
	*ret = NULL;
	if (!us_program_elf_read(&paging, &space, at, NULL, f))
		return -EIO;
	return us_program_frames_read(&paging, &space, f, NULL, ret, missing);
}

/* --- a file that is true --- */

struct library {
	us_gva base;
	struct us_elf_file file;
	struct us_cfi_table *of_file;
};

/* A function of the C library, there: in a program that may be anywhere in memory or
 * not, and that a sanitizer is linked into, which has some of that library's names. */
static void *of_library(void)
{
	void *ret = dlsym(RTLD_NEXT, "tsearch");
	assert_non_null(ret);
	return ret;
}

static void open_library(struct library *l)
{
	Dl_info i;
	struct us_err e;
	assert_true(dladdr(of_library(), &i));
	l->base = (uintptr_t)i.dli_fbase;
	assert_int_equal(us_elf_file_open(i.dli_fname, &l->file, &e), 0);
	assert_int_equal(us_elf_cfi_read(&l->file, NULL, &l->of_file, NULL, &e), 0);
}

static void close_library(struct library *l)
{
	us_cfi_table_free(l->of_file);
	us_elf_file_close(&l->file);
}

static bool same(const struct us_cfi_row *x, const struct us_cfi_row *y)
{
	struct us_cfi_rule a = *x->rule, b = *y->rule;
	a.first = b.first = 0;
	return !memcmp(&a, &b, sizeof(a)) && x->word == y->word &&
	       (!a.n_saved ||
		!memcmp(x->saved, y->saved, a.n_saved * sizeof(*x->saved)));
}

/* How many of the addresses that the file has a rule for have the same; any other is a
 * failure.  *ret_n: how many there are. */
static size_t compare(const struct library *l, const struct us_cfi_table *t,
		      size_t *ret_n)
{
	struct us_cfi_table_info info;
	size_t got = 0;
	us_cfi_table_info(l->of_file, &info);
	*ret_n = 0;
	for (uint64_t at = info.start; at < info.end; at += 7) {
		struct us_cfi_row want, row;
		bool wanted = us_cfi_table_find(l->of_file, at, &want);
		bool found = us_cfi_table_find(t, at, &row);
		*ret_n += wanted;
		if (found) {
			assert_true(wanted && same(&want, &row));
			got++;
		}
	}
	return got;
}

static void test_library(void **state)
{
	(void)state;
	struct library l;
	struct us_program_elf f;
	struct us_cfi_table *t;
	size_t missing, n;
	open_library(&l);
	assert_int_equal(read_frames(&f, l.base, &t, &missing), 0);
	assert_int_equal(missing, 0);
	size_t got = compare(&l, t, &n);
	print_message("# %zu of %zu addresses have the file's rule\n", got, n);
	assert_true(n > 1000 && got == n);
	us_cfi_table_free(t);
	close_library(&l);
}

/* Pages that are missing cost the functions that are told there, and no others.  The
 * first has the records that all go by. */
static void test_missing(void **state)
{
	(void)state;
	struct library l;
	struct us_program_elf f;
	struct us_cfi_table *t;
	size_t missing, n;
	open_library(&l);
	assert_true(us_program_elf_read(&paging, &space, l.base, NULL, &f));
	us_gva hdr = f.frames + f.slide, end = hdr + f.frames_size;
	size_t got;
	for (unsigned k = 1; k < 8; k++) {
		hole = (end & ~4095ULL) + 4096ULL * k;
		assert_int_equal(read_frames(&f, l.base, &t, &missing), 0);
		got = compare(&l, t, &n);
		print_message("# without page %u: %zu of %zu\n", k, got, n);
		assert_int_equal(missing, 4096);
		assert_true(got < n && got > n / 2);
		us_cfi_table_free(t);
	}
	/* Of the table: what is behind it is found, record by record. */
	hole = (hdr & ~4095ULL) + 4096;
	assert_int_equal(read_frames(&f, l.base, &t, &missing), 0);
	got = compare(&l, t, &n);
	assert_true(missing == 0 && got == n);
	us_cfi_table_free(t);
	hole = hdr & ~4095ULL; /* its begin: the records are looked for */
	assert_int_equal(read_frames(&f, l.base, &t, &missing), 0);
	got = compare(&l, t, &n);
	assert_true(got == n);
	us_cfi_table_free(t);
	close_library(&l);
}

/* --- such as lies --- */

static void put32(size_t at, uint32_t v)
{
	memcpy(made + at, &v, sizeof(v));
}

/* "zR", and the rule of a CALL; 4 has the sizes of an address and of a segment. */
static void make_cie(uint8_t version)
{
	static const uint8_t sizes[] = { 8, 0 },
			     rest[] = { 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1 };
	uint8_t *at = made + RECORDS;
	memset(at, 0, 24);
	at[0] = 20;
	at[8] = version;
	memcpy(at + 9, "zR", 3);
	at += 12;
	if (version == 4) {
		memcpy(at, sizes, sizeof(sizes));
		at += sizeof(sizes);
	}
	memcpy(at, rest, sizeof(rest));
}

/* A CIE, and a function of 16 bytes at CODE.  The CIE is of a version that is not
 * looked for, so that the search table alone leads to it. */
static void make_records(void)
{
	make_cie(4);
	put32(RECORDS + 24, 16);
	put32(RECORDS + 28, 28);
	put32(RECORDS + 32, CODE - (RECORDS + 32));
	put32(RECORDS + 36, 16);
	put32(RECORDS + 44, 0); /* the end */
}

static void make_table(uint32_t n)
{
	static const uint8_t kinds[] = { 1, 0x1b, 0x03, 0x3b };
	memcpy(made + HDR, kinds, sizeof(kinds));
	put32(HDR + 4, RECORDS - (HDR + 4));
	put32(HDR + 8, n);
	put32(HDR + 12, CODE - HDR);
	put32(HDR + 16, RECORDS + 24 - HDR);
}

static Elf64_Phdr *make_file(void)
{
	Elf64_Ehdr *e = (Elf64_Ehdr *)made;
	memset(made, 0, sizeof(made));
	memcpy(e->e_ident, ELFMAG, SELFMAG);
	e->e_ident[EI_CLASS] = ELFCLASS64;
	e->e_ident[EI_DATA] = ELFDATA2LSB;
	e->e_machine = EM_X86_64;
	e->e_phoff = sizeof(*e);
	e->e_phentsize = sizeof(Elf64_Phdr);
	e->e_phnum = 2;
	Elf64_Phdr *h = (Elf64_Phdr *)(e + 1);
	h[0] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_X, .p_memsz = 8192 };
	h[1] = (Elf64_Phdr){ .p_type = PT_GNU_EH_FRAME, .p_vaddr = HDR, .p_memsz = 20 };
	make_table(1);
	make_records();
	return h;
}

/* Is CODE all that it tells a rule for, or nothing? */
static bool tells(void)
{
	struct us_program_elf f;
	struct us_cfi_table *t;
	struct us_cfi_row row;
	size_t missing;
	int r = read_frames(&f, MADE, &t, &missing);
	assert_true(r == 0 || r == -ENOENT);
	if (r)
		return false;
	bool known = us_cfi_table_find(t, CODE, &row);
	assert_true(!known || (row.start == CODE && row.rule->cfa_off == 8));
	assert_false(us_cfi_table_find(t, CODE - 1, &row));
	us_cfi_table_free(t);
	return known;
}

static void test_hostile(void **state)
{
	(void)state;
	Elf64_Phdr *h = make_file();
	assert_true(tells());
	put32(HDR + 8, UINT32_MAX); /* more than there is room for */
	assert_true(tells());
	h[1].p_memsz = UINT64_MAX;
	assert_true(tells());
	h[1].p_memsz = 4; /* no room for a header */
	assert_false(tells());
	make_file()[1].p_vaddr = UINT64_MAX - 8; /* wraps round */
	assert_false(tells());
	make_file()[1].p_vaddr = 1ULL << 63; /* the kernel's half */
	assert_false(tells());
	make_file();
	made[HDR] = 2; /* of another version */
	assert_false(tells());
	make_file();
	made[HDR + 1] = 0x9b; /* by a pointer to a pointer */
	assert_false(tells());
	make_file();
	put32(HDR + 4, 0x7fffffff); /* records where nothing is mapped */
	assert_false(tells());
	make_file();
	put32(HDR + 16, 0x80000000); /* ... by the table alone, which is for hints */
	assert_true(tells());
	put32(HDR + 16, RECORDS + 26 - HDR); /* in the middle of one: it is cut off */
	assert_false(tells());
}

static void test_hostile_records(void **state)
{
	(void)state;
	make_file();
	put32(RECORDS, UINT32_MAX);
	assert_false(tells());
	make_file();
	put32(RECORDS + 24, 0x7fffffff); /* longer than all memory */
	assert_false(tells());
	make_file();
	put32(RECORDS + 36,
	      0x7fffffff); /* a function beyond the segment is cut there */
	assert_true(tells());
	make_file();
	put32(RECORDS + 32, 0x40000000); /* no code is there */
	assert_false(tells());
	make_file()[0].p_flags = PF_R; /* likewise */
	assert_false(tells());
	make_file();
	((Elf64_Ehdr *)made)->e_machine = EM_S390; /* none that is unwound */
	assert_false(tells());
	make_file();
	((Elf64_Ehdr *)made)->e_phnum = 1; /* none at all */
	assert_false(tells());
}

/* Records of static programs are looked for; such as look like them are not taken. */
static void test_search(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 12; i++) {
		unsigned wrong = i / 2;
		Elf64_Phdr *h = make_file();
		((Elf64_Ehdr *)made)->e_phnum = 1;
		make_cie(i % 2 ? 3 : 1); /* 3: RISC-V's compilers */
		switch (wrong) {
		case 0:
			break;
		case 1:
			h[0].p_flags |= PF_W; /* data may be anything */
			break;
		case 2:
			made[RECORDS + 9] = 'y';
			break;
		case 3:
			put32(RECORDS + 28, 24); /* of none of those */
			break;
		case 4:
			put32(RECORDS + 24, 0x7fffffff);
			break;
		case 5:
			h[0].p_memsz = UINT64_MAX; /* larger than all memory */
			break;
		}
		assert_true(tells() == (wrong == 0 || wrong == 5));
	}
}

/* The C library's, as if nothing led to its records, and with pages that are missing.
 */
static void test_search_library(void **state)
{
	(void)state;
	struct library l;
	struct us_program_elf f;
	struct us_cfi_table *t;
	size_t missing, n, got;
	open_library(&l);
	assert_true(us_program_elf_read(&paging, &space, l.base, NULL, &f));
	us_gva end = f.frames + f.slide + f.frames_size;
	f.frames = 0;
	assert_int_equal(
		us_program_frames_read(&paging, &space, &f, NULL, &t, &missing), 0);
	got = compare(&l, t, &n);
	assert_int_equal(got, n);
	us_cfi_table_free(t);
	hole = (end & ~4095ULL) + 4 * 4096ULL;
	us_paging_new_sample(&paging);
	assert_int_equal(
		us_program_frames_read(&paging, &space, &f, NULL, &t, &missing), 0);
	got = compare(&l, t, &n);
	print_message("# without a page: %zu of %zu\n", got, n);
	assert_true(missing == 4096 && got < n && got > n / 10 * 9);
	us_cfi_table_free(t);
	close_library(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_library, set_up),
		cmocka_unit_test_setup(test_missing, set_up),
		cmocka_unit_test_setup(test_hostile, set_up),
		cmocka_unit_test_setup(test_hostile_records, set_up),
		cmocka_unit_test_setup(test_search, set_up),
		cmocka_unit_test_setup(test_search_library, set_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
