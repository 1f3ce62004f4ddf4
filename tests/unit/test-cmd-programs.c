/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which files a guest's programs map while it is recorded: when each came and went, and
 * that nothing is said of what no sample was in. */
#include "unit.h"

#include "base/clock.h"
#include "cmd/record/programs.h"
#include "linux-mappings.h"
#include "silent-disk.h"
#include "symbol/root_file.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define S	 1000000000ULL
#define N_BYTES	 65536U
#define TASK(n)	 (TEST_MM + 4096 + 256 * (n))
#define MM(n)	 (TEST_MM + 8192 + 256 * (n))
#define VMA(n)	 (TEST_MM + 16384 + 64 * (n))
#define FILE(n)	 (TEST_MM + 20480 + 64 * (n))
#define NAME(n)	 (TEST_MM + 24576 + 512 * (n))
#define MOUNT	 (TEST_MM + 40960)
#define USER	 0x400000U /* where programs are: one of them has its header there */
#define OTHER	 0x500000U /* likewise, for a second file */
#define PROGRAMS 4U	   /* that there may be */
#define MM_OF	 96U
#define TGID_OF	 60U

static uint8_t memory[N_BYTES], user[4096], behind[4096];
static struct us_mem mem;
static struct us_paging paging;
static struct us_linux l;
static struct us_linux_task task[PROGRAMS];
static struct us_programs programs;
static struct us_writer *w;
static int fd;
static struct us_mapping heard[16];
static char path[16][64];
static bool deleted[16];
static size_t n_heard;

static bool read_guest(void *ctx, us_gpa at, void *buf, size_t len)
{
	(void)ctx;
	if (at >= USER && at - USER <= sizeof(user) - len && user[0]) {
		memcpy(buf, user + (at - USER), len);
		return true;
	}
	if (at >= OTHER && at - OTHER <= sizeof(behind) - len && behind[0]) {
		memcpy(buf, behind + (at - OTHER), len);
		return true;
	}
	if (at < TEST_MM || at - TEST_MM > sizeof(memory) - len)
		return false;
	memcpy(buf, memory + (at - TEST_MM), len);
	return true;
}

static void put64(us_gva at, uint64_t v)
{
	memcpy(memory + (at - TEST_MM), &v, sizeof(v));
}

static void make_file(unsigned n, const char *name)
{
	const struct us_linux_mappings_layout *m = &l.mappings;
	uint32_t len = (uint32_t)strlen(name);
	put64(NAME(n) + m->parent, NAME(0));
	put64(NAME(n) + m->name, NAME(n) + 256);
	memcpy(memory + (NAME(n) + m->name_length - TEST_MM), &len, 4);
	memcpy(memory + (NAME(n) + 256 - TEST_MM), name, len);
	put64(FILE(n) + m->dentry, NAME(n));
	put64(FILE(n) + m->mount, MOUNT + m->mounted);
}

/* Code of one page of a file (0: of none), the only mapping of the n-th program. */
static void make_program(unsigned n, us_gpa root, uint32_t pid, unsigned file)
{
	const struct us_linux_mappings_layout *m = &l.mappings;
	uint32_t one = 1;
	task[n] = (struct us_linux_task){ .at = TASK(n),
					  .root = root,
					  .pid = (int32_t)pid,
					  .tgid = (int32_t)pid,
					  .mm = MM(n) };
	put64(TASK(n) + MM_OF, MM(n));
	memcpy(memory + (TASK(n) + TGID_OF - TEST_MM), &pid, 4);
	put64(MM(n) + m->first, VMA(n));
	memcpy(memory + (MM(n) + m->count - TEST_MM), &one, 4);
	put64(VMA(n) + m->start, USER);
	put64(VMA(n) + m->end, USER + 4096);
	put64(VMA(n) + m->flags, 5);
	put64(VMA(n) + m->file, file ? FILE(file) : 0);
}

int __real_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);

/* What is read in a turn is limited by CPU time, and a busy host's own time counts for
 * that: here each look at this clock takes a microsecond. */
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	static uint64_t ns;
	if (clock != CLOCK_THREAD_CPUTIME_ID)
		return __real_clock_gettime(clock, ret);
	ns += US_NS_PER_US;
	*ret = (struct timespec){ (time_t)(ns / US_NS_PER_SEC),
				  (long)(ns % US_NS_PER_SEC) };
	return 0;
}

static int set_up(void **state)
{
	(void)state;
	memset(memory, 0, sizeof(memory));
	memset(user, 0, sizeof(user));
	memset(behind, 0, sizeof(behind));
	mem = (struct us_mem){ .read = read_guest };
	us_mem_init(&mem);
	us_paging_init(&paging, &mem);
	l = (struct us_linux){ .space = { .mode = US_PAGING_OFF },
			       .has_tasks = true,
			       .has_mappings = true,
			       .tasks = { .mm = MM_OF, .tgid = TGID_OF },
			       .mappings = test_mappings_layout };
	l.mappings.tree = l.mappings.has_vdso = false;
	put64(MOUNT + l.mappings.mounted + l.mappings.mount_root, NAME(0));
	put64(MOUNT + l.mappings.mount_parent, MOUNT);
	make_file(1, "one");
	make_file(2, "two");
	us_programs_init(&programs);
	fd = memfd_create("recording", MFD_CLOEXEC);
	assert_int_equal(us_writer_open(fd, &w, NULL), 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	us_programs_fini(&programs);
	us_writer_close(w);
	close(fd);
	return 0;
}

/* The list of tasks is read from begin on, for a tenth of a second. */
static void look(uint64_t begin_ns, size_t n, bool pair)
{
	const struct us_linux_tasks t = { .v = task, .n = n };
	const struct us_programs_time at = { 0, begin_ns, begin_ns + S / 10 };
	us_programs_read(&programs, &l, &paging, &t, pair, &at);
	assert_int_equal(us_programs_write(&programs, w), 0);
}

static int on_file(void *ctx, const struct us_program_file *f)
{
	(void)ctx;
	snprintf(path[f->number], sizeof(path[0]), "%s", f->path);
	deleted[f->number] = f->deleted;
	return 0;
}

static int on_mapping(void *ctx, const struct us_mapping *m)
{
	(void)ctx;
	assert_true(n_heard < 16);
	heard[n_heard++] = *m;
	return 0;
}

/* "PATH PID FROM-UNTIL" in tenths of seconds, as they were written. */
static void expect(const char *want)
{
	static const struct us_reader_ops ops = { .program_file = on_file,
						  .mapping = on_mapping };
	const struct us_record_stats none = { 0 };
	struct us_reader_result r;
	char got[512] = "";
	n_heard = 0;
	assert_int_equal(us_writer_end(w, &none, US_RECORD_DONE, "", NULL), 0);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(us_read(fd, &ops, NULL, &r, NULL), 0);
	for (size_t k = 0; k < n_heard; k++) {
		size_t n = strlen(got);
		snprintf(got + n, sizeof(got) - n, "%s%s %u %u-%u", n ? ", " : "",
			 path[heard[k].file], heard[k].pid,
			 (unsigned)(heard[k].from_ns / (S / 10)),
			 (unsigned)(heard[k].until_ns / (S / 10)));
	}
	assert_string_equal(got, want);
}

static void only_what_samples_were_in(void **state)
{
	(void)state;
	make_program(0, 0x1000000, 7, 1);
	make_program(1, 0x2000000, 8, 2);
	look(0, 2, false);
	us_programs_see(&programs, 0x2000000, USER + 16);
	us_programs_see(&programs, 0x2000000, USER + 4096); /* nothing is there */
	us_programs_see(&programs, 0x3000000, USER);	    /* nobody's */
	look(S, 2, false);
	expect("/two 8 1-0");
}

/* Of a guest with many processes that sleep, what they have mapped is not read. */
static void only_sampled_ones_are_read(void **state)
{
	(void)state;
	make_program(0, 0x1000000, 7, 1);
	make_program(1, 0x2000000, 8, 2);
	look(0, 2, false);
	look(S, 2, false);
	assert_int_equal(programs.mappings.n, 0);
	us_programs_see(&programs, 0x2000000, USER + 16);
	assert_true(atomic_load(&programs.hungry));
	us_programs_unwind(&programs, &l, &paging);
	assert_int_equal(programs.mappings.n, 1);
	look(2 * S, 2, false);
	assert_int_equal(programs.mappings.n, 1);
	expect("/two 8 1-0");
}

/* It has other mappings than when it was seen first: since when is known, and of the
 * time before that nothing is. */
static void what_changed_before_the_first_sample(void **state)
{
	(void)state;
	const struct us_linux_tasks t = { .v = task, .n = 1 };
	struct us_programs_time at = { us_now_ns() - 100 * S, S, S };
	make_program(0, 0x1000000, 7, 1);
	us_programs_read(&programs, &l, &paging, &t, false, &at);
	put64(VMA(0) + l.mappings.file, FILE(2));
	memcpy(memory + (VMA(1) - TEST_MM), memory + (VMA(0) - TEST_MM), 64);
	put64(MM(0) + l.mappings.first, VMA(1)); /* its mark */
	at.begin_ns = at.end_ns = 2 * S;
	us_programs_read(&programs, &l, &paging, &t, false, &at);
	us_programs_see(&programs, 0x1000000, USER + 16);
	us_programs_unwind(&programs, &l, &paging);
	assert_int_equal(programs.mappings.n, 1);
	assert_true(programs.mappings.v[0].m.from_ns >= 100 * S);
}

/* Between the list and the first sample another process has taken its task_struct. */
static void what_is_gone_is_not_read(void **state)
{
	(void)state;
	make_program(0, 0x1000000, 7, 1);
	look(0, 1, false);
	memory[TASK(0) + TGID_OF - TEST_MM] = 9;
	us_programs_see(&programs, 0x1000000, USER + 16);
	us_programs_unwind(&programs, &l, &paging);
	assert_int_equal(programs.mappings.n, 0);
	memory[TASK(0) + TGID_OF - TEST_MM] = 7;
	put64(TASK(0) + MM_OF, MM(1)); /* it called exec() */
	us_programs_unwind(&programs, &l, &paging);
	assert_int_equal(programs.mappings.n, 0);
	put64(TASK(0) + MM_OF, MM(0));
	us_programs_unwind(&programs, &l, &paging);
	assert_int_equal(programs.mappings.n, 1);
}

/* It is met before it is known what is there. */
static void samples_wait(void **state)
{
	(void)state;
	us_programs_see(&programs, 0x1001000, USER + 16);
	make_program(0, 0x1000000, 7, 1);
	look(2 * S, 1, true);
	expect("/one 7 21-0");
}

static void no_pair(void **state)
{
	(void)state;
	us_programs_see(&programs, 0x1001000, USER + 16);
	make_program(0, 0x1000000, 7, 1);
	look(2 * S, 1, false);
	expect("");
}

static void what_goes_is_ended(void **state)
{
	(void)state;
	make_program(0, 0x1000000, 7, 1);
	look(0, 1, false);
	us_programs_see(&programs, 0x1000000, USER);
	look(S, 1, false);
	look(2 * S, 1, false);
	look(3 * S, 0, false);
	expect("/one 7 1-0, /one 7 1-20");
}

/* Another process has its page tables; what was sampled between is of nobody. */
static void a_root_is_used_again(void **state)
{
	(void)state;
	make_program(0, 0x1000000, 7, 1);
	look(0, 1, false);
	us_programs_see(&programs, 0x1000000, USER);
	look(S, 1, false);
	make_program(0, 0x1000000, 9, 2);
	look(4 * S, 1, false);
	us_programs_see(&programs, 0x1000000, USER);
	look(5 * S, 1, false);
	expect("/one 7 1-0, /one 7 1-10, /two 9 41-0");
}

/* In the same process, at the same place.  It was not there at the time before. */
static void a_file_takes_anothers_place(void **state)
{
	(void)state;
	make_program(0, 0x1000000, 7, 1);
	look(0, 1, false);
	us_programs_see(&programs, 0x1000000, USER);
	look(S, 1, false);
	put64(VMA(0) + l.mappings.file, FILE(2));
	put64(VMA(1), 0);
	memcpy(memory + (VMA(1) - TEST_MM), memory + (VMA(0) - TEST_MM), 64);
	put64(MM(0) + l.mappings.first, VMA(1)); /* its mark */
	look(3 * S, 1, false);
	expect("/one 7 1-0, /one 7 1-10");
}

static void torn_mappings_change_nothing(void **state)
{
	(void)state;
	make_program(0, 0x1000000, 7, 1);
	look(0, 1, false);
	us_programs_see(&programs, 0x1000000, USER);
	look(S, 1, false);
	memory[MM(0) + l.mappings.count - TEST_MM] = 5;
	put64(VMA(0) + l.mappings.file, FILE(2));
	look(2 * S, 1, false);
	expect("/one 7 1-0");
}

static void code_of_no_file(void **state)
{
	(void)state;
	make_program(0, 0x1000000, 7, 0);
	look(0, 1, false);
	us_programs_see(&programs, 0x1000000, USER);
	look(S, 1, false);
	expect("[jit] 7 1-0");
}

/* It is the kernel's: nothing in it has to be waited for, or searched for. */
static void copies_of_instructions_with_uprobes(void **state)
{
	(void)state;
	make_program(0, 0x1000000, 7, 0);
	put64(MM(0) + l.mappings.uprobes, MM(0) + 128);
	put64(MM(0) + 128 + l.mappings.uprobes_at, USER);
	look(0, 1, false);
	us_programs_see(&programs, 0x1000000, USER + 128);
	look(S, 1, false);
	us_programs_see(&programs, 0x1000000, USER + 128);
	assert_false(programs.spaces.v[0].again);
	expect("[uprobes] 7 1-0");
}

/* The page with the header comes into memory later: then where it lies is known. */
static void a_header_that_comes_late(void **state)
{
	(void)state;
	make_program(0, 0x1000000, 7, 1);
	for (unsigned k = 0; k < 8; k++)
		look(k * S, 1, false);
	Elf64_Ehdr *e = (Elf64_Ehdr *)user;
	memcpy(e->e_ident, ELFMAG, SELFMAG);
	e->e_ident[EI_CLASS] = ELFCLASS64;
	e->e_ident[EI_DATA] = ELFDATA2LSB;
	e->e_phoff = sizeof(*e);
	e->e_phentsize = sizeof(Elf64_Phdr);
	e->e_phnum = 1;
	*(Elf64_Phdr *)(e + 1) = (Elf64_Phdr){
		.p_type = PT_LOAD, .p_flags = PF_X, .p_vaddr = 0x1000, .p_memsz = 4096
	};
	us_programs_see(&programs, 0x1000000, USER);
	look(9 * S, 1, false);
	expect("/one 7 1-0");
	assert_true(heard[0].has_bias && heard[0].bias == USER - 0x1000);
}

/* --- by what their stacks are unwound --- */

#define CODE	256U /* a function of 16 bytes, in the page at USER */
#define RECORDS 1024U

static void put32_of_user(size_t at, uint32_t v)
{
	memcpy(user + at, &v, sizeof(v));
}

/* A file with call frame information of one function. */
static void make_rules(void)
{
	static const uint8_t hdr[] = { 1, 0x1b, 0xff, 0xff };
	static const uint8_t cie[] = { 20,   0,	   0,	0, 0,	 0,    0,  0,
				       1,    'z',  'R', 0, 1,	 0x78, 16, 1,
				       0x1b, 0x0c, 7,	8, 0x90, 1,    0,  0 };
	Elf64_Ehdr *e = (Elf64_Ehdr *)user;
	memcpy(e->e_ident, ELFMAG, SELFMAG);
	e->e_ident[EI_CLASS] = ELFCLASS64;
	e->e_ident[EI_DATA] = ELFDATA2LSB;
	e->e_machine = EM_X86_64;
	e->e_phoff = sizeof(*e);
	e->e_phentsize = sizeof(Elf64_Phdr);
	e->e_phnum = 2;
	Elf64_Phdr *h = (Elf64_Phdr *)(e + 1);
	e->e_type = ET_DYN;
	e->e_version = EV_CURRENT;
	e->e_ident[EI_VERSION] = EV_CURRENT;
	h[0] = (Elf64_Phdr){
		.p_type = PT_LOAD, .p_flags = PF_X, .p_filesz = 4096, .p_memsz = 4096
	};
	h[1] = (Elf64_Phdr){ .p_type = PT_GNU_EH_FRAME,
			     .p_offset = RECORDS - 8,
			     .p_vaddr = RECORDS - 8,
			     .p_filesz = 8,
			     .p_memsz = 8 };
	memcpy(user + RECORDS - 8, hdr, sizeof(hdr));
	put32_of_user(RECORDS - 4, 4);
	memcpy(user + RECORDS, cie, sizeof(cie));
	put32_of_user(RECORDS + 24, 16);
	put32_of_user(RECORDS + 28, 28);
	put32_of_user(RECORDS + 32, CODE - (RECORDS + 32));
	put32_of_user(RECORDS + 36, 16);
}

/* The sampler takes what is offered; *ret: the places.  false: nothing new. */
static bool take(const struct us_cfi **ret)
{
	struct us_code_set *s = us_program_code_next(&programs.code);
	if (!s)
		return false;
	*ret = s->block;
	us_program_code_taken(&programs.code, s);
	return true;
}

static bool has_rule(const struct us_cfi *c, us_gpa root)
{
	struct us_cfi_row row;
	return us_cfi_find(c, root, USER + CODE + 4, &row) &&
	       row.start == USER + CODE && row.rule->cfa_off == 8;
}

/* Two containers' files, both /one; by how much the second one's code is larger. */
static void sample_two_files(uint64_t larger)
{
	make_rules();
	make_file(2, "one");
	memcpy(behind, user, sizeof(behind));
	((Elf64_Phdr *)(behind + sizeof(Elf64_Ehdr)))->p_memsz += larger;
	make_program(0, 0x1000000, 7, 1);
	make_program(1, 0x2000000, 8, 2);
	put64(VMA(1) + l.mappings.start, OTHER);
	put64(VMA(1) + l.mappings.end, OTHER + 4096);
	look(0, 2, false);
	us_programs_see(&programs, 0x1000000, USER + CODE);
	us_programs_see(&programs, 0x2000000, OTHER + CODE);
	look(S, 2, false);
	expect("/one 7 1-0, /one 8 1-0");
}

static void files_of_one_path(void **state)
{
	(void)state;
	sample_two_files(4096);
	assert_int_not_equal(heard[0].file, heard[1].file);
	tear_down(state);
	set_up(state);
	sample_two_files(0); /* the same program from two images */
	assert_int_equal(heard[0].file, heard[1].file);
}

static void put_id(uint8_t first)
{
	static const uint32_t note[] = { 4, 8, NT_GNU_BUILD_ID, 0x554e47, 1, 2 };
	Elf64_Ehdr *e = (Elf64_Ehdr *)user;
	Elf64_Phdr *h = (Elf64_Phdr *)(e + 1);
	e->e_phnum = 3;
	h[2] = (Elf64_Phdr){ .p_type = PT_NOTE,
			     .p_offset = 496,
			     .p_vaddr = 496,
			     .p_filesz = sizeof(note),
			     .p_memsz = sizeof(note) };
	memcpy(user + 496, note, sizeof(note));
	user[512] = first;
}

/* A file is deleted, at the start or after two seconds; then a program maps what took
 * its place. */
static void sample_replaced(bool before, uint8_t id)
{
	l.mappings.has_hashed = true;
	l.mappings.hashed = 8;
	make_rules();
	if (id)
		put_id(id);
	make_file(2, "one"); /* of the same headers */
	memcpy(behind, user, sizeof(behind));
	put64(NAME(1) + l.mappings.hashed, before ? 0 : TEST_MM);
	put64(NAME(2) + l.mappings.hashed, TEST_MM);
	make_program(0, 0x1000000, 7, 1);
	make_program(1, 0x2000000, 8, 2);
	put64(VMA(1) + l.mappings.start, OTHER);
	put64(VMA(1) + l.mappings.end, OTHER + 4096);
	look(0, 1, false);
	us_programs_see(&programs, 0x1000000, USER + CODE);
	look(S, 1, false);
	put64(NAME(1) + l.mappings.hashed, 0);
	look(2 * S, 1, false);
	look(3 * S, 2, false);
	us_programs_see(&programs, 0x2000000, OTHER + CODE);
	look(4 * S, 2, false);
}

/* What is at its path then is another file. */
static void files_that_are_replaced(void **state)
{
	for (unsigned before = 0; before < 2; before++) {
		sample_replaced(before, 0);
		expect(before ? "/one 7 1-0, /one 8 31-0"
			      : "/one 7 1-0, /one 7 1-0, /one 8 31-0");
		assert_true(deleted[heard[0].file]);
		assert_int_not_equal(heard[0].file, heard[n_heard - 1].file);
		assert_false(deleted[heard[n_heard - 1].file]);
		tear_down(state);
		set_up(state);
	}
	sample_replaced(true, 9); /* a build-id tells enough */
	expect("/one 7 1-0, /one 8 31-0");
	assert_false(deleted[heard[0].file]);
	assert_int_equal(heard[0].file, heard[1].file);
}

/* Which file it is stays known when its headers have left the memory. */
static void headers_that_leave(void **state)
{
	(void)state;
	make_rules();
	make_program(0, 0x1000000, 7, 1);
	look(0, 1, false);
	us_programs_see(&programs, 0x1000000, USER + CODE);
	look(S, 1, false);
	user[0] = 0;
	memcpy(memory + (VMA(1) - TEST_MM), memory + (VMA(0) - TEST_MM), 64);
	put64(MM(0) + l.mappings.first, VMA(1)); /* its mark */
	look(2 * S, 1, false);
	expect("/one 7 1-0");
	assert_true(heard[0].has_bias);
	assert_int_equal(programs.mappings.n, 1);
}

static void sampled_ones_are_unwound(void **state)
{
	(void)state;
	const struct us_cfi *c = NULL;
	make_rules();
	make_program(0, 0x1000000, 7, 1);
	make_program(1, 0x2000000, 8, 2);
	look(0, 2, true);
	us_programs_unwind(&programs, &l, &paging);
	assert_false(take(&c));
	assert_false(atomic_load(&programs.hungry));
	us_programs_see(&programs, 0x1001000, USER + CODE);
	assert_true(atomic_load(&programs.hungry));
	us_programs_unwind(&programs, &l, &paging);
	assert_true(take(&c));
	assert_true(has_rule(c, 0x1000000) && has_rule(c, 0x1001000));
	assert_false(has_rule(c, 0x2000000));
	us_programs_unwind(&programs, &l, &paging); /* the same is not offered again */
	assert_false(take(&c));
	us_programs_see(&programs, 0x2000000, USER + CODE);
	us_programs_unwind(&programs, &l, &paging);
	assert_true(take(&c) && has_rule(c, 0x1000000) && has_rule(c, 0x2000000));
	look(S, 1, true); /* the second has ended */
	us_programs_unwind(&programs, &l, &paging);
	assert_true(take(&c) && has_rule(c, 0x1000000) && !has_rule(c, 0x2000000));
	look(2 * S, 0, true);
	us_programs_unwind(&programs, &l, &paging);
	assert_true(take(&c) && !has_rule(c, 0x1000000));
}

/* While the sampler has not taken what was offered, nothing else is, and nothing that
 * it may go by is freed. */
static void the_sampler_is_waited_for(void **state)
{
	(void)state;
	const struct us_cfi *c = NULL, *late;
	make_rules();
	make_program(0, 0x1000000, 7, 1);
	make_program(1, 0x2000000, 8, 2);
	look(0, 2, false);
	us_programs_see(&programs, 0x1000000, USER + CODE);
	us_programs_unwind(&programs, &l, &paging);
	assert_true(take(&c));
	us_programs_see(&programs, 0x2000000, USER + CODE);
	us_programs_unwind(&programs, &l, &paging);
	look(S, 0, false);
	us_programs_unwind(&programs, &l, &paging);
	us_programs_unwind(&programs, &l, &paging);
	assert_true(has_rule(c, 0x1000000));
	assert_true(take(&late) && has_rule(late, 0x2000000));
	assert_true(has_rule(c, 0x1000000));
	us_programs_unwind(&programs, &l, &paging);
	assert_true(take(&late) && !has_rule(late, 0x2000000));
}

static bool has_waiting_rule(us_gpa root)
{
	const struct us_code_set *s = atomic_load(&programs.waiting.offered);
	return s && s->n && has_rule(s->block, root);
}

/* By rules of their own, which the sampler does not go by. */
static void those_that_wait_are_unwound(void **state)
{
	(void)state;
	const struct us_cfi *c = NULL;
	struct us_linux_task other;
	make_rules();
	make_program(0, 0x1000000, 7, 1);
	make_program(1, 0x2000000, 8, 2);
	look(0, 2, true);
	assert_false(us_programs_wait(&programs, &task[0]));
	assert_true(atomic_load(&programs.hungry));
	us_programs_unwind(&programs, &l, &paging);
	assert_true(us_programs_wait(&programs, &task[0]));
	assert_int_equal(programs.waiting.n_change, 1);
	assert_true(has_waiting_rule(0x1000000));
	assert_false(has_waiting_rule(0x1001000) || has_waiting_rule(0x2000000));
	assert_false(take(&c));
	/* Another process by now, and a thread of the kernel. */
	other = task[0];
	other.mm += 64;
	assert_false(us_programs_wait(&programs, &other));
	other.root = 0;
	assert_false(us_programs_wait(&programs, &other));
	us_programs_unwind(&programs, &l, &paging);
	assert_int_equal(programs.waiting.n_change, 1);
	us_programs_see(&programs, 0x1000000, USER + CODE);
	us_programs_unwind(&programs, &l, &paging);
	assert_true(take(&c) && has_rule(c, 0x1000000) && has_rule(c, 0x1001000));
	assert_true(has_waiting_rule(0x1000000) && !has_waiting_rule(0x1001000));
	look(S, 0, true);
	us_programs_unwind(&programs, &l, &paging);
	assert_false(us_programs_wait(&programs, &task[0]));
	assert_false(has_waiting_rule(0x1000000));
}

/* Those that wait leave room for what samples were in. */
static void those_that_wait_come_last(void **state)
{
	(void)state;
	const struct us_cfi *c = NULL;
	make_rules();
	make_program(0, 0x1000000, 7, 1);
	programs.code.bytes = US_CODE_MOST_TABLES / 2; /* of others */
	look(0, 1, false);
	us_programs_wait(&programs, &task[0]);
	us_programs_unwind(&programs, &l, &paging);
	assert_false(has_waiting_rule(0x1000000));
	us_programs_see(&programs, 0x1000000, USER + CODE);
	us_programs_unwind(&programs, &l, &paging);
	assert_true(take(&c) && has_rule(c, 0x1000000));
	assert_true(has_waiting_rule(0x1000000));
}

/* What comes into memory later is better than what was there at first. */
static void rules_get_better(void **state)
{
	(void)state;
	const struct us_cfi *c = NULL;
	make_program(0, 0x1000000, 7, 1);
	look(0, 1, false);
	us_programs_see(&programs, 0x1000000, USER + CODE);
	us_programs_unwind(&programs, &l, &paging);
	assert_false(take(&c));
	make_rules();
	look(S, 1, false);
	us_programs_see(&programs, 0x1000000, USER + CODE);
	look(2 * S, 1, false);
	us_programs_unwind(&programs, &l, &paging);
	assert_true(take(&c) && has_rule(c, 0x1000000));
}

/* The guest's page as a file of the host's, /one in a folder; then it goes from memory.
 */
static void move_to_file(const char *folder)
{
	char name[64];
	snprintf(name, sizeof(name), "%s/one", folder);
	FILE *f = fopen(name, "we");
	assert_non_null(f);
	assert_int_equal(fwrite(user, 1, sizeof(user), f), sizeof(user));
	assert_int_equal(fclose(f), 0);
	memset(user + RECORDS - 8, 0, 128);
}

/* Until what is in the user's folders is known, if anybody asked. */
static void wait_for_index(void)
{
	while (us_programs_pending(&programs))
		usleep(1000);
}

/* Do rules come of a file?  id: of the guest's; of_file: of the file's; 0: none. */
static bool comes_of_file(uint8_t id, uint8_t of_file, bool as_root)
{
	char folder[] = "/tmp/uniscope-XXXXXX", name[64];
	const struct us_cfi *c = NULL;
	assert_non_null(mkdtemp(folder));
	const char *dir[] = { folder };
	const struct us_debug_dirs dirs = { .dir = dir,
					    .n = !as_root,
					    .root = as_root ? folder : NULL };
	make_rules();
	if (of_file)
		put_id(of_file);
	move_to_file(folder);
	((Elf64_Ehdr *)user)->e_phnum = 2;
	if (id)
		put_id(id);
	programs.dirs = &dirs;
	make_program(0, 0x1000000, 7, 1);
	look(0, 1, false);
	us_programs_see(&programs, 0x1000000, USER + CODE);
	for (unsigned k = 0; k < 2; k++) { /* the folders, then what is in them */
		us_programs_unwind(&programs, &l, &paging);
		wait_for_index();
	}
	us_programs_unwind(&programs, &l, &paging);
	bool known = take(&c) && has_rule(c, 0x1000000);
	snprintf(name, sizeof(name), "%s/one", folder);
	assert_int_equal(unlink(name), 0);
	assert_int_equal(rmdir(folder), 0);
	return known;
}

static char silent[] = "/tmp/uniscope-XXXXXX";

/* The folder of --root does not answer: all goes on, ends, and says so. */
static int ask_silent_root(void)
{
	const struct us_debug_dirs dirs = { .root = silent };
	if (!mount_silent(silent))
		return CANNOT;
	programs.dirs = &dirs;
	look(0, 1, false);
	us_programs_see(&programs, 0x1000000, USER + CODE);
	for (unsigned k = 0; k < 3; k++)
		us_programs_unwind(&programs, &l, &paging);
	if (!us_programs_pending(&programs) || programs.files.v[0].file_tried)
		return WRONG;
	us_programs_tell_pending(&programs);
	bool told = programs.limits.hit[US_LIMIT_ROOT_TIME].n == 1 &&
		    !programs.limits.hit[US_LIMIT_SYMBOL_TIME].n;
	us_programs_fini(&programs); /* comes back */
	return told ? GOOD : WRONG;
}

static void a_root_that_does_not_answer(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(silent));
	make_program(0, 0x1000000, 7, 1);
	make_rules();
	memset(user + RECORDS - 8, 0, 128); /* its file has them */
	int said = on_silent_disk(ask_silent_root);
	assert_int_equal(rmdir(silent), 0);
	if (said == CANNOT)
		skip();
	assert_int_equal(said, GOOD);
}

/* Linux 5.6 or later, and not below valgrind. */
static void need_openat2(void)
{
	int root = us_root_file_open("/", "/");
	if (root == -ENOSYS)
		skip();
	assert_true(root >= 0);
	close(root);
}

static void rules_of_the_guests_files(void **state)
{
	(void)state;
	need_openat2();
	assert_true(comes_of_file(7, 7, true));
}

static void rules_by_build_id(void **state)
{
	(void)state;
	assert_true(comes_of_file(7, 7, false));
}

static void no_rules_of_another_build(void **state)
{
	(void)state;
	assert_false(comes_of_file(7, 8, true));
	tear_down(state);
	set_up(state);
	assert_false(comes_of_file(7, 8, false));
	tear_down(state);
	set_up(state);
	assert_false(comes_of_file(7, 0, true));
	tear_down(state);
	set_up(state);
	assert_false(comes_of_file(0, 7, true));
}

static void rules_without_build_ids(void **state)
{
	(void)state;
	need_openat2();
	assert_true(comes_of_file(0, 0, true)); /* the user says that it is the file */
	tear_down(state);
	set_up(state);
	assert_false(comes_of_file(0, 0, false));
	tear_down(state);
	set_up(state);
	l.mappings.has_hashed = true; /* and the guest that it is not */
	l.mappings.hashed = 8;
	assert_false(comes_of_file(0, 0, true));
}

/* Rules that say something of the kernel's half are nobody's. */
static void no_rules_of_the_kernel(void **state)
{
	(void)state;
	const struct us_cfi *c = NULL;
	make_rules();
	make_program(0, 0x1000000, 7, 1);
	look(0, 1, false);
	us_programs_see(&programs, 0x1000000, USER + CODE);
	us_programs_unwind(&programs, &l, &paging);
	assert_true(take(&c));
	us_program_code_begin(&programs.code);
	us_program_code_add(&programs.code, c->place[0].table, 1ULL << 63, 0x1000000);
	us_program_code_add(&programs.code, c->place[0].table, -4096ULL, 0x1000000);
	us_program_code_add(&programs.code, c->place[0].table, (1ULL << 63) - CODE - 8,
			    0x1000000);
	us_program_code_offer(&programs.code);
	assert_true(take(&c) && c->n == 0);
}

/* More places than a block has, and more than are kept. */
static void many_places(void **state)
{
	(void)state;
	const struct us_cfi *c = NULL;
	make_rules();
	make_program(0, 0x1000000, 7, 1);
	look(0, 1, false);
	us_programs_see(&programs, 0x1000000, USER + CODE);
	us_programs_unwind(&programs, &l, &paging);
	assert_true(take(&c));
	const struct us_cfi_table *t = c->place[0].table;
	us_program_code_begin(&programs.code);
	for (unsigned k = 1; k <= US_CODE_MOST_PLACES + 9; k++)
		assert_true(us_program_code_add(&programs.code, t, USER,
						k * 0x1000000ULL) ==
			    (k <= US_CODE_MOST_PLACES));
	us_program_code_offer(&programs.code);
	assert_true(take(&c));
	for (unsigned k = 1; k <= US_CODE_MOST_PLACES + 9; k++)
		assert_true(has_rule(c, k * 0x1000000ULL) ==
			    (k <= US_CODE_MOST_PLACES));
}

/* --- what is left out --- */

static struct us_linux_task *crowd;

/* So many processes by these page tables, with all in common but those. */
static struct us_linux_task *make_crowd(unsigned n)
{
	struct us_linux_task *v = calloc(n, sizeof(*v));
	assert_non_null(v);
	for (unsigned k = 0; k < n; k++) {
		v[k] = task[0];
		v[k].root = (k + 1) * 0x10000ULL;
	}
	return v;
}

static void read_hungry(void)
{
	do {
		atomic_store(&programs.hungry, false);
		us_programs_unwind(&programs, &l, &paging);
	} while (atomic_load(&programs.hungry));
}

/* A sample in each, and all is read that there is. */
static void read_crowd(unsigned n)
{
	crowd = make_crowd(n);
	const struct us_linux_tasks t = { .v = crowd, .n = n };
	const struct us_programs_time at = { 0, 0, S / 10 };
	us_programs_read(&programs, &l, &paging, &t, true, &at);
	for (unsigned k = 0; k < n; k++)
		us_programs_see(&programs, crowd[k].root, USER + CODE);
	read_hungry();
	free(crowd);
}

static int on_limit(void *ctx, const char *key, const char *value)
{
	char(*got)[64] = ctx;
	for (unsigned k = 0; k < US_N_LIMITS; k++)
		if (!strcmp(key, us_limit_key(k)))
			snprintf(got[k], sizeof(got[k]), "%s", value);
	return 0;
}

/* It is counted, is in the recording, and no other is. */
static void told_alone(enum us_limit k, const char *bound)
{
	static const struct us_reader_ops ops = { .fact = on_limit };
	char got[US_N_LIMITS][64] = { 0 };
	struct us_reader_result r;
	assert_int_equal(us_programs_write(&programs, w), 0);
	assert_int_equal(us_writer_flush(w, NULL), 0);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(us_read(fd, &ops, got, &r, NULL), 0);
	for (unsigned i = 0; i < US_N_LIMITS; i++) {
		const char *second = strchr(got[i], ' ');
		if (i == k)
			assert_string_equal(second ? second + 1 : "none", bound);
		else
			assert_string_equal(got[i], "");
	}
}

static void too_many_places(void **state)
{
	(void)state;
	make_rules();
	make_program(0, 0x10000, 7, 1);
	read_crowd(US_CODE_MOST_PLACES / 2 + 1); /* of each two */
	told_alone(US_LIMIT_PLACES, "4096");
}

static void no_limit_is_invented(void **state)
{
	(void)state;
	make_rules();
	make_program(0, 0x10000, 7, 1);
	read_crowd(US_CODE_MOST_PLACES / 2);
	told_alone(US_N_LIMITS, "");
}

static void too_many_rules(void **state)
{
	(void)state;
	const struct us_cfi *c;
	make_rules();
	make_program(0, 0x1000000, 7, 1);
	programs.code.bytes = US_CODE_MOST_TABLES; /* of others */
	look(0, 1, false);
	us_programs_see(&programs, 0x1000000, USER + CODE);
	us_programs_unwind(&programs, &l, &paging);
	assert_false(take(&c));
	told_alone(US_LIMIT_RULES, "67108864");
}

/* Mappings of code, one after the other. */
static void make_mappings(unsigned n)
{
	const struct us_linux_mappings_layout *m = &l.mappings;
	memcpy(memory + (MM(0) + m->count - TEST_MM), &n, 4);
	for (unsigned k = 0; k < n; k++) {
		put64(VMA(k) + m->start, USER + k * 8192ULL);
		put64(VMA(k) + m->end, USER + k * 8192ULL + 4096);
		put64(VMA(k) + m->flags, 5);
		put64(VMA(k) + m->file, FILE(1));
		put64(VMA(k) + m->next, k + 1 < n ? VMA(k + 1) : 0);
	}
}

static void too_many_mappings(void **state)
{
	(void)state;
	make_program(0, 0x10000, 7, 1);
	make_mappings(64);
	read_crowd(US_PROGRAMS_MOST_MAPPINGS / 64 + 1);
	assert_int_equal(programs.mappings.n, US_PROGRAMS_MOST_MAPPINGS);
	told_alone(US_LIMIT_MAPPINGS, "65536");
}

/* Then those that wait alone get no more, but one that was sampled does. */
static void too_many_mappings_wait(void **state)
{
	(void)state;
	const struct us_programs_time at = { 0, 0, S / 10 };
	const unsigned n = US_PROGRAMS_MOST_MAPPINGS / 64 / 2 + 2;
	make_program(0, 0x10000, 7, 1);
	make_mappings(64);
	crowd = make_crowd(n);
	const struct us_linux_tasks t = { .v = crowd, .n = n };
	us_programs_read(&programs, &l, &paging, &t, false, &at);
	for (unsigned k = 0; k < n; k++)
		(void)us_programs_wait(&programs, &crowd[k]);
	read_hungry();
	assert_int_equal(programs.mappings.n, US_PROGRAMS_MOST_MAPPINGS / 2);
	us_programs_see(&programs, crowd[n - 1].root, USER);
	read_hungry();
	assert_int_equal(programs.mappings.n, US_PROGRAMS_MOST_MAPPINGS / 2 + 64);
	free(crowd);
	told_alone(US_LIMIT_MAPPINGS, "32768");
}

/* A list of mappings of no file, made up where memory ends. */
#define LONG_LIST (US_PROGRAMS_MOST_OF_ONE + 1)
static bool read_endless(void *ctx, us_gpa at, void *buf, size_t len)
{
	const us_gva first = TEST_MM + sizeof(memory);
	const struct us_linux_mappings_layout *m = &l.mappings;
	uint8_t vma[64] = { 0 };
	if (at < first)
		return read_guest(ctx, at, buf, len);
	uint64_t n = (at - first) / 64, v = USER + n * 8192,
		 next = first + (n + 1) * 64;
	memcpy(vma + m->start, &v, 8);
	v += 4096;
	memcpy(vma + m->end, &v, 8);
	if (n + 1 < LONG_LIST)
		memcpy(vma + m->next, &next, 8);
	vma[m->flags] = 5;
	if ((at - first) % 64 + len > sizeof(vma))
		return false;
	memcpy(buf, vma + (at - first) % 64, len);
	return true;
}

static void too_many_mappings_of_one(void **state)
{
	(void)state;
	const uint32_t n = LONG_LIST;
	mem.read = read_endless;
	make_program(0, 0x1000000, 7, 1);
	put64(MM(0) + l.mappings.first, TEST_MM + sizeof(memory));
	memcpy(memory + (MM(0) + l.mappings.count - TEST_MM), &n, 4);
	look(0, 1, false);
	us_programs_see(&programs, 0x1000000, USER + CODE);
	us_programs_unwind(&programs, &l, &paging);
	assert_int_equal(programs.mappings.n, US_PROGRAMS_MOST_OF_ONE);
	told_alone(US_LIMIT_MAPPINGS_OF_ONE, "4096");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(only_what_samples_were_in, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(only_sampled_ones_are_read, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_changed_before_the_first_sample,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_gone_is_not_read, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(samples_wait, set_up, tear_down),
		cmocka_unit_test_setup_teardown(no_pair, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_goes_is_ended, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_root_is_used_again, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_file_takes_anothers_place, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(torn_mappings_change_nothing, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(code_of_no_file, set_up, tear_down),
		cmocka_unit_test_setup_teardown(copies_of_instructions_with_uprobes,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_header_that_comes_late, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(files_of_one_path, set_up, tear_down),
		cmocka_unit_test_setup_teardown(files_that_are_replaced, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(headers_that_leave, set_up, tear_down),
		cmocka_unit_test_setup_teardown(sampled_ones_are_unwound, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_sampler_is_waited_for, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(those_that_wait_are_unwound, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(those_that_wait_come_last, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(rules_get_better, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_root_that_does_not_answer, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(rules_of_the_guests_files, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(rules_by_build_id, set_up, tear_down),
		cmocka_unit_test_setup_teardown(no_rules_of_another_build, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(rules_without_build_ids, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(no_rules_of_the_kernel, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(many_places, set_up, tear_down),
		cmocka_unit_test_setup_teardown(too_many_places, set_up, tear_down),
		cmocka_unit_test_setup_teardown(no_limit_is_invented, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(too_many_rules, set_up, tear_down),
		cmocka_unit_test_setup_teardown(too_many_mappings, set_up, tear_down),
		cmocka_unit_test_setup_teardown(too_many_mappings_wait, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(too_many_mappings_of_one, set_up,
						tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
