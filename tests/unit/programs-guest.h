/* SPDX-License-Identifier: GPL-2.0-or-later */
/* programs-guest.h: a guest's programs and the files that they map, in memory that is
 * made up; what us_programs reads of them, and the recording of it. */
#ifndef US_TEST_PROGRAMS_GUEST_H
#define US_TEST_PROGRAMS_GUEST_H

#include "unit.h"

#include "base/clock.h"
#include "cmd/record/programs.h"
#include "linux-mappings.h"

#include <elf.h>
#include <stdio.h>
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
static int recording;
static struct us_mapping heard[16];
static char heard_path[16][64];
static bool deleted[16];
static size_t n_heard;

static inline bool read_guest(void *ctx, us_gpa at, void *buf, size_t len)
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

static inline void put64(us_gva at, uint64_t v)
{
	memcpy(memory + (at - TEST_MM), &v, sizeof(v));
}

static inline void make_file(unsigned n, const char *name)
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
static inline void make_program(unsigned n, us_gpa root, uint32_t pid, unsigned file)
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

static inline int set_up(void **state)
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
	recording = memfd_create("recording", MFD_CLOEXEC);
	assert_int_equal(us_writer_open(recording, &w, NULL), 0);
	return 0;
}

static inline int tear_down(void **state)
{
	(void)state;
	us_programs_fini(&programs);
	us_writer_close(w);
	close(recording);
	return 0;
}

/* The list of tasks is read from begin on, for a tenth of a second. */
static inline void look(uint64_t begin_ns, size_t n, bool pair)
{
	const struct us_linux_tasks t = { .v = task, .n = n };
	const struct us_programs_time at = { 0, begin_ns, begin_ns + S / 10 };
	us_programs_read(&programs, &l, &paging, &t, pair, &at);
	assert_int_equal(us_programs_write(&programs, w), 0);
}

static inline int on_file(void *ctx, const struct us_program_file *f)
{
	(void)ctx;
	snprintf(heard_path[f->number], sizeof(heard_path[0]), "%s", f->path);
	deleted[f->number] = f->deleted;
	return 0;
}

static inline int on_mapping(void *ctx, const struct us_mapping *m)
{
	(void)ctx;
	assert_true(n_heard < 16);
	heard[n_heard++] = *m;
	return 0;
}

/* "PATH PID FROM-UNTIL" in tenths of seconds, as they were written. */
static inline void expect(const char *want)
{
	static const struct us_reader_ops ops = { .program_file = on_file,
						  .mapping = on_mapping };
	const struct us_record_stats none = { 0 };
	struct us_reader_result r;
	char got[512] = "";
	n_heard = 0;
	assert_int_equal(us_writer_end(w, &none, US_RECORD_DONE, "", NULL), 0);
	lseek(recording, 0, SEEK_SET);
	assert_int_equal(us_read(recording, &ops, NULL, &r, NULL), 0);
	for (size_t k = 0; k < n_heard; k++) {
		size_t n = strlen(got);
		snprintf(got + n, sizeof(got) - n, "%s%s %u %u-%u", n ? ", " : "",
			 heard_path[heard[k].file], heard[k].pid,
			 (unsigned)(heard[k].from_ns / (S / 10)),
			 (unsigned)(heard[k].until_ns / (S / 10)));
	}
	assert_string_equal(got, want);
}

#define CODE	256U /* a function of 16 bytes, in the page at USER */
#define RECORDS 1024U

static inline void put32_of_user(size_t at, uint32_t v)
{
	memcpy(user + at, &v, sizeof(v));
}

/* A file with call frame information of one function. */
static inline void make_rules(void)
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
static inline bool take(const struct us_cfi **ret)
{
	struct us_code_set *s = us_program_code_next(&programs.code);
	if (!s)
		return false;
	*ret = s->block;
	us_program_code_taken(&programs.code, s);
	return true;
}

static inline bool has_rule(const struct us_cfi *c, us_gpa root)
{
	struct us_cfi_row row;
	return us_cfi_find(c, root, USER + CODE + 4, &row) &&
	       row.start == USER + CODE && row.rule->cfa_off == 8;
}

static inline void put_id(uint8_t first)
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

#endif
