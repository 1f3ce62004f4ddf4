/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a guest's programs did has the names of the files that they had mapped, in their
 * own address spaces and only while they were seen there. */
#include "unit.h"

#include "base/clock.h"
#include "profile/profile.h"
#include "store/store.h"
#include "symbol/build_id.h"
#include "symbol/root_file.h"

#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define S	US_NS_PER_SEC
#define ROOT	0x10000
#define PROGRAM 0x401010
#define LIBRARY 0x7f0000001100 /* 0x1100 of its file */
/* Between the page tables of two processes, and their libraries. */
#define NEXT_ROOT    0x10000
#define NEXT_LIBRARY 0x12345000

struct given {
	struct us_mapping mapping[4];
	size_t n_mapping;
	struct us_task task[2];
	size_t n_task;
	struct us_program_name name[4];
	size_t n_name;
	us_gpa root; /* of all samples: one each 10 ms, for 10 s */
	us_gva pc;
	us_gva pc_of_odd;      /* what processes 1, 3, ... do; 0: the same */
	unsigned processes;    /* that take turns; 0: one */
	const char *root_dir;  /* --root */
	struct us_build_id id; /* of /bin/sh */
	bool deleted;	       /* the program's file */
};

static const struct us_mapping program = { .file = 1,
					   .pid = 7,
					   .root = ROOT,
					   .start = 0x400000,
					   .end = 0x402000,
					   .has_bias = true };
static const struct us_mapping library = { .file = 2,
					   .pid = 7,
					   .root = ROOT,
					   .start = 0x7f0000001000,
					   .end = 0x7f0000002000,
					   .offset = 0x1000,
					   .bias = 0x7f0000000000,
					   .has_bias = true };

static void write_samples(struct us_writer *w, const struct given *g)
{
	for (unsigned ms = 0; ms < 10000; ms += 10) {
		struct us_sample s = { .t_ns = ms * US_NS_PER_MS,
				       .weight = 1,
				       .end = US_END_ROOT,
				       .state = US_VCPU_GUEST };
		unsigned k = g->processes ? ms / 10 % g->processes : 0;
		us_gva at = k % 2 && g->pc_of_odd ? g->pc_of_odd : g->pc;
		const us_gva pc[] = { at + k * NEXT_LIBRARY, g->root + k * NEXT_ROOT };
		const uint8_t flags[] = { US_PC_USER | US_PC_EXACT, US_PC_SPACE };
		assert_int_equal(us_writer_sample(w, &s, pc, flags, 2, NULL), 0);
	}
}

static int record(const struct given *g)
{
	struct us_program_file file[] = {
		{ .number = 1, .deleted = g->deleted, .path = "/bin/sh" },
		{ .number = 2,
		  .path = "/lib/\033[1mc.so",
		  .build_id = { 0xff },
		  .build_id_len = 20 },
		{ .number = 3, .kind = US_PROGRAM_NONE, .path = "[jit]" },
		{ .number = 4, .path = "/bin/sh" }, /* another container's */
	};
	const struct us_record_stats stats = {
		.elapsed_ns = 10 * S, .vcpu_ns = 10 * S, .due = 1000, .running = 1000
	};
	struct us_writer *w;
	int fd = memfd_create("recording", MFD_CLOEXEC);
	assert_int_equal(us_writer_open(fd, &w, NULL), 0);
	write_samples(w, g);
	for (size_t k = 0; k < g->n_task; k++)
		assert_int_equal(us_writer_task(w, &g->task[k], NULL), 0);
	for (size_t k = 0; k < g->n_mapping; k++)
		assert_int_equal(us_writer_mapping(w, &g->mapping[k], NULL), 0);
	file[0].build_id_len = (uint8_t)g->id.len;
	if (g->id.len)
		memcpy(file[0].build_id, g->id.bytes, g->id.len);
	for (size_t k = 0; k < 4; k++)
		assert_int_equal(us_writer_program_file(w, &file[k], NULL), 0);
	for (size_t k = 0; k < g->n_name; k++)
		assert_int_equal(us_writer_program_names(w, &g->name[k], 1, NULL), 0);
	assert_int_equal(us_writer_end(w, &stats, US_RECORD_DONE, "", NULL), 0);
	us_writer_close(w);
	lseek(fd, 0, SEEK_SET);
	return fd;
}

static struct us_profile *profile_of(const struct given *g)
{
	const struct us_profile_opts o = { .dirs.root = g->root_dir };
	struct us_profile *p = NULL;
	struct us_err e = { 0 };
	int fd = record(g);
	if (us_profile_read(fd, &o, &p, &e))
		fail_msg("%s", e.msg);
	close(fd);
	return p;
}

static void add_text(char got[512], const struct us_profile_func *f)
{
	size_t n = strlen(got);
	snprintf(got + n, 512 - n, "%s%s:%s %u", n ? ", " : "",
		 f->module ? f->module : "-", f->known ? f->name : "?",
		 (unsigned)f->self);
}

/* "module:name samples, ..." of what ran, most first; a name that is none is "?". */
static void check(const struct us_profile *p, const char *want)
{
	size_t n;
	const struct us_profile_func *f = us_profile_funcs(p, &n);
	char got[512] = "";
	for (unsigned most = 1000; most; most--)
		for (size_t k = 0; k < n; k++)
			if (f[k].self == most)
				add_text(got, &f[k]);
	assert_string_equal(got, want);
}

static void expect(const struct given *g, const char *want)
{
	struct us_profile *p = profile_of(g);
	check(p, want);
	us_profile_free(p);
}

static void files_are_modules(void **state)
{
	(void)state;
	struct given g = { .mapping = { program, library },
			   .n_mapping = 2,
			   .root = ROOT,
			   .pc = PROGRAM };
	expect(&g, "/bin/sh:? 1000");
	g.pc = LIBRARY;
	expect(&g, "/lib/\033[1mc.so:? 1000");
	g.pc = 0x402000;
	expect(&g, "-:? 1000");
	g.pc = PROGRAM;
	g.root = ROOT + 0x5000; /* another program's */
	expect(&g, "-:? 1000");
	g.root = ROOT + 0x1000; /* its own, if they are a pair */
	expect(&g, "-:? 1000");
	g.mapping[0].pair = true;
	expect(&g, "/bin/sh:? 1000");
}

static void names_are_the_recordings(void **state)
{
	(void)state;
	struct given g = { .mapping = { program, library },
			   .n_mapping = 2,
			   .name = { { 2, 0x1100, 16, "qsort" },
				     { 1, 0x401000, 64, "main" },
				     { 2, 0x1200, 16, "qsort_r" } },
			   .n_name = 3,
			   .root = ROOT,
			   .pc = LIBRARY };
	expect(&g, "/lib/\033[1mc.so:qsort 1000");
	g.pc = LIBRARY + 15;
	expect(&g, "/lib/\033[1mc.so:qsort 1000");
	g.pc = LIBRARY + 16; /* behind its end */
	expect(&g, "/lib/\033[1mc.so:? 1000");
	g.pc = PROGRAM;
	expect(&g, "/bin/sh:main 1000");
	/* Without a bias nobody knows where in the file it is. */
	g.mapping[0].has_bias = false;
	expect(&g, "/bin/sh:? 1000");
}

/* Each process has the library at another address. */
static void one_function_of_several_processes(void **state)
{
	(void)state;
	struct given g = { .name = { { 2, 0x1100, 16, "qsort" },
				     { 2, 0x1110, 16, "init" },
				     { 2, 0x1120, 16, "init" } },
			   .n_mapping = 4,
			   .n_name = 3,
			   .root = ROOT,
			   .pc = LIBRARY,
			   .processes = 4 };
	for (unsigned k = 0; k < 4; k++) {
		g.mapping[k] = library;
		g.mapping[k].pid += k;
		g.mapping[k].root += k * NEXT_ROOT;
		g.mapping[k].start += k * NEXT_LIBRARY;
		g.mapping[k].end += k * NEXT_LIBRARY;
		g.mapping[k].bias += k * NEXT_LIBRARY;
	}
	expect(&g, "/lib/\033[1mc.so:qsort 1000");
	/* Those with one name are still two. */
	g.pc = LIBRARY + 0x10;
	g.pc_of_odd = LIBRARY + 0x20;
	expect(&g, "/lib/\033[1mc.so:init (0x7f0000001110) 500, "
		   "/lib/\033[1mc.so:init (0x7f0012346120) 500");
}

/* Each recording has the names of what ran then, whichever comes first. */
static void names_of_several_recordings(void **state)
{
	(void)state;
	struct given g[] = { { .mapping = { library },
			       .n_mapping = 1,
			       .name = { { 2, 0x1100, 16, "malloc" } },
			       .n_name = 1,
			       .root = ROOT,
			       .pc = LIBRARY },
			     { .mapping = { library },
			       .n_mapping = 1,
			       .name = { { 2, 0x1200, 16, "memcpy" } },
			       .n_name = 1,
			       .root = ROOT,
			       .pc = LIBRARY + 0x100 } };
	for (unsigned first = 0; first < 2; first++) {
		struct us_profile_input in[] = { { "a", record(&g[first]) },
						 { "b", record(&g[!first]) } };
		struct us_profile *p = NULL;
		assert_int_equal(us_profile_read_all(in, 2, NULL, &p, NULL), 0);
		check(p, first ? "/lib/\033[1mc.so:memcpy 1000, "
				 "/lib/\033[1mc.so:malloc 1000"
			       : "/lib/\033[1mc.so:malloc 1000, "
				 "/lib/\033[1mc.so:memcpy 1000");
		us_profile_free(p);
		close(in[0].fd);
		close(in[1].fd);
	}
}

static void times_count(void **state)
{
	(void)state;
	struct given g = { .mapping = { program, program },
			   .n_mapping = 2,
			   .name = { { 1, 0x401000, 64, "main" },
				     { 2, 0x401000, 64, "other" } },
			   .n_name = 2,
			   .root = ROOT,
			   .pc = PROGRAM };
	g.mapping[0].until_ns = 3 * S;
	g.mapping[1].file = 2;
	g.mapping[1].from_ns = 5 * S;
	expect(&g, "/lib/\033[1mc.so:other 500, /bin/sh:main 300, -:? 200");
	/* One that is told again ends earlier. */
	g.mapping[1] = g.mapping[0];
	g.mapping[1].until_ns = 2 * S;
	expect(&g, "-:? 800, /bin/sh:main 200");
}

/* They have no build-id, and the recorder saw that they differ. */
static void files_of_one_path(void **state)
{
	(void)state;
	struct given g = { .mapping = { program, program },
			   .n_mapping = 2,
			   .name = { { 1, 0x401000, 64, "main" },
				     { 4, 0x401000, 64, "other" } },
			   .n_name = 2,
			   .root = ROOT,
			   .pc = PROGRAM };
	g.mapping[0].until_ns = 3 * S;
	g.mapping[1].file = 4;
	g.mapping[1].from_ns = 5 * S;
	expect(&g, "/bin/sh:other 500, /bin/sh:main 300, -:? 200");
}

/* So many processes in turn, as in a build, each with times of its own. */
#define SHORT_LIVED 5000

static void many_short_processes(void **state)
{
	(void)state;
	const struct us_program_file file = { .number = 1, .path = "/bin/sh" };
	const struct us_program_name name = { 1, 0x401000, 64, "main" };
	const struct us_record_stats stats = { .elapsed_ns = 10 * S,
					       .vcpu_ns = 10 * S };
	struct us_profile *p = NULL;
	struct us_writer *w;
	size_t n;
	int fd = memfd_create("recording", MFD_CLOEXEC);
	assert_int_equal(us_writer_open(fd, &w, NULL), 0);
	assert_int_equal(us_writer_program_file(w, &file, NULL), 0);
	assert_int_equal(us_writer_program_names(w, &name, 1, NULL), 0);
	for (unsigned k = 0; k < SHORT_LIVED; k++) {
		struct us_mapping m = program;
		struct us_sample s = { .t_ns = k * US_NS_PER_MS + 2000,
				       .weight = 1,
				       .end = US_END_ROOT,
				       .state = US_VCPU_GUEST };
		const us_gva pc[] = { PROGRAM, ROOT + k * NEXT_ROOT };
		const uint8_t flags[] = { US_PC_USER | US_PC_EXACT, US_PC_SPACE };
		m.pid += k;
		m.root = pc[1];
		m.from_ns = k * US_NS_PER_MS + 1000;
		m.until_ns = k * US_NS_PER_MS + 3000;
		assert_int_equal(us_writer_mapping(w, &m, NULL), 0);
		assert_int_equal(us_writer_sample(w, &s, pc, flags, 2, NULL), 0);
	}
	assert_int_equal(us_writer_end(w, &stats, US_RECORD_DONE, "", NULL), 0);
	us_writer_close(w);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(us_profile_read(fd, NULL, &p, NULL), 0);
	close(fd);
	const struct us_profile_func *f = us_profile_funcs(p, &n);
	assert_int_equal(n, 1);
	assert_string_equal(f->name, "main");
	assert_int_equal(f->self, SHORT_LIVED);
	us_profile_free(p);
}

static void code_without_a_file(void **state)
{
	(void)state;
	char dir[] = "/tmp/uniscope-XXXXXX", tmp[64], map[80];
	struct given g = { .mapping = { { .file = 3,
					  .pid = 7,
					  .root = ROOT,
					  .start = 0x400000,
					  .end = 0x402000 } },
			   .n_mapping = 1,
			   .root = ROOT,
			   .pc = PROGRAM };
	expect(&g, "[jit]:? 1000");
	g.root_dir = mkdtemp(dir);
	assert_non_null(g.root_dir);
	expect(&g, "[jit]:? 1000");
	snprintf(tmp, sizeof(tmp), "%s/tmp", dir);
	snprintf(map, sizeof(map), "%s/perf-7.map", tmp);
	assert_int_equal(mkdir(tmp, 0700), 0);
	FILE *f = fopen(map, "w");
	assert_non_null(f);
	fputs("no address\n400000 0 empty\nffffffffffffffff 10 round\n"
	      "401000 40 LazyCompile:~work /a b.js:7\n",
	      f);
	fclose(f);
	expect(&g, "[jit]:LazyCompile:~work /a b.js:7 1000");
	/* In a pid namespace it is 7, and to all others 104, whose file is not its. */
	g.task[0] = (struct us_task){ .id = 1,
				      .pid = 104,
				      .tgid = 104,
				      .inner = 7,
				      .name = "node",
				      .process = "node",
				      .cgroup = "/a" };
	g.n_task = 1;
	g.mapping[0].pid = 104;
	expect(&g, "[jit]:LazyCompile:~work /a b.js:7 1000");
	g.task[0].inner = 8;
	expect(&g, "[jit]:? 1000");
	/* Another one has that number, and code without a file: whose file is it? */
	g.task[0].inner = 7;
	g.mapping[1] = (struct us_mapping){ .file = 3,
					    .pid = 7,
					    .root = ROOT + 0x1000,
					    .start = 0x400000,
					    .end = 0x402000 };
	g.n_mapping = 2;
	expect(&g, "[jit]:? 1000");
	unlink(map);
	rmdir(tmp);
	rmdir(dir);
}

/* Paths lead out of the folder neither by ".." nor by links. */
static void nothing_outside_of_the_root(void **state)
{
	(void)state;
	char dir[] = "/tmp/uniscope-XXXXXX", bin[64], sh[80], self[4096];
	struct given g = {
		.mapping = { program }, .n_mapping = 1, .root = ROOT, .pc = PROGRAM
	};
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	assert_true(n > 0);
	self[n] = '\0';
	g.root_dir = mkdtemp(dir);
	assert_non_null(g.root_dir);
	snprintf(bin, sizeof(bin), "%s/bin", dir);
	snprintf(sh, sizeof(sh), "%s/sh", bin);
	assert_int_equal(mkdir(bin, 0700), 0);
	assert_int_equal(symlink(self, sh), 0);
	struct us_profile *p = profile_of(&g);
	for (size_t k = 0; k < us_profile_n_warning(p); k++)
		assert_null(strstr(us_profile_warning(p, k), "--root is"));
	us_profile_free(p);
	unlink(sh);
	rmdir(bin);
	rmdir(dir);
}

static bool copy_self(const char *to)
{
	char buf[4096];
	size_t n;
	FILE *in = fopen("/proc/self/exe", "re"), *out = fopen(to, "we");
	while (in && out && (n = fread(buf, 1, sizeof(buf), in)) > 0)
		fwrite(buf, 1, n, out);
	return in && out && !fclose(in) && !fclose(out);
}

#define BIAS 0x7f0000000000

int main(void);

/* This program's code as a guest with pages of 64 KiB maps it: ctx, and a place in it.
 */
static int map_self(struct dl_phdr_info *self, size_t size, void *ctx)
{
	struct given *g = ctx;
	(void)size;
	for (unsigned k = 0; k < self->dlpi_phnum; k++) {
		const ElfW(Phdr) *h = &self->dlpi_phdr[k];
		if (h->p_type != PT_LOAD || !(h->p_flags & PF_X))
			continue;
		struct us_mapping m = program;
		m.has_bias = false;
		m.offset = h->p_offset & ~65535ULL;
		m.start = BIAS + h->p_vaddr - (h->p_offset - m.offset);
		m.end = BIAS + h->p_vaddr + h->p_memsz;
		g->mapping[0] = m;
	}
	g->pc = BIAS + (uintptr_t)main - self->dlpi_addr;
	return 1; /* the program itself is the first */
}

static bool has_warning(const struct us_profile *p, const char *words)
{
	for (size_t k = 0; k < us_profile_n_warning(p); k++)
		if (strstr(us_profile_warning(p, k), words))
			return true;
	return false;
}

static void tells_of_root(const struct given *g, const char *words)
{
	struct us_profile *p = profile_of(g);
	assert_true(has_warning(p, words));
	us_profile_free(p);
}

/* This program's file is in --root.  false: it cannot be opened there: Linux before
 * 5.6, or valgrind. */
static bool expect_of_self(bool deleted, const char *want, const char *warning)
{
	char dir[] = "/tmp/uniscope-XXXXXX", bin[64], sh[80];
	struct given g = { .n_mapping = 1, .root = ROOT, .deleted = deleted };
	dl_iterate_phdr(map_self, &g);
	g.root_dir = mkdtemp(dir);
	assert_non_null(g.root_dir);
	snprintf(bin, sizeof(bin), "%s/bin", dir);
	snprintf(sh, sizeof(sh), "%s/sh", bin);
	assert_int_equal(mkdir(bin, 0700), 0);
	assert_true(copy_self(sh));
	int file = us_root_file_open(dir, "/bin/sh");
	struct us_profile *p = file >= 0 ? profile_of(&g) : NULL;
	unlink(sh);
	rmdir(bin);
	rmdir(dir);
	if (file == -ENOSYS)
		return false;
	assert_true(file >= 0);
	close(file);
	check(p, want);
	assert_true(has_warning(p, warning));
	us_profile_free(p);
	return true;
}

/* The guest's header could not be read, but its file can be. */
static void large_pages(void **state)
{
	(void)state;
	if (!expect_of_self(false, "/bin/sh:main 1000", "/bin/sh: no build-id shows"))
		skip();
}

/* Then what is at its path may be what took its place. */
static void no_names_for_deleted_files(void **state)
{
	(void)state;
	if (!expect_of_self(true, "/bin/sh:? 1000", "/bin/sh: deleted or replaced"))
		skip();
}

/* A container's file is at another path on the disk: it is known by its build-id, and
 * what has the path is another. */
static void another_path_below_the_root(void **state)
{
	(void)state;
	char dir[] = "/tmp/uniscope-XXXXXX", layer[64], file[80], bin[64];
	struct given g = { .n_mapping = 1, .root = ROOT };
	struct us_elf_file self;
	dl_iterate_phdr(map_self, &g);
	assert_int_equal(us_elf_file_open("/proc/self/exe", &self, NULL), 0);
	us_build_id_read(&self, &g.id);
	if (!g.id.len) {
		us_elf_file_close(&self);
		skip();
	}
	g.root_dir = mkdtemp(dir);
	assert_non_null(g.root_dir);
	snprintf(layer, sizeof(layer), "%s/.layer", dir);
	snprintf(file, sizeof(file), "%s/other", layer);
	snprintf(bin, sizeof(bin), "%s/bin", dir);
	assert_int_equal(mkdir(layer, 0700), 0);
	assert_int_equal(mkdir(bin, 0700), 0);
	assert_true(copy_self(file));
	int way = us_root_file_open(dir, "/.layer/other");
	if (way >= 0)
		expect(&g, "/bin/sh:main 1000");
	unlink(file);
	if (way >= 0)
		tells_of_root(&g, "neither at this path nor by build-id");
	rmdir(layer);
	rmdir(bin);
	rmdir(dir);
	us_elf_file_close(&self);
	if (way == -ENOSYS)
		skip();
	close(way);
}

/* Of two programs, whose files are in this folder; is a limit told? */
static bool is_limited(const char *root, size_t most_symbols)
{
	const struct us_program_file file[] = { { .number = 1, .path = "/a" },
						{ .number = 2, .path = "/b" } };
	const struct us_record_stats stats = { .elapsed_ns = S,
					       .due = 1,
					       .running = 1 };
	const struct us_profile_opts o = { .dirs.root = root,
					   .most_symbols = most_symbols };
	struct us_mapping m[] = { program, library };
	struct us_profile *p = NULL;
	struct us_writer *w;
	bool told = false;
	int fd = memfd_create("recording", MFD_CLOEXEC);
	assert_int_equal(us_writer_open(fd, &w, NULL), 0);
	write_samples(w, &(struct given){ .root = ROOT, .pc = PROGRAM });
	write_samples(w, &(struct given){ .root = ROOT, .pc = LIBRARY });
	for (size_t k = 0; k < 2; k++) {
		assert_int_equal(us_writer_mapping(w, &m[k], NULL), 0);
		assert_int_equal(us_writer_program_file(w, &file[k], NULL), 0);
	}
	assert_int_equal(us_writer_end(w, &stats, US_RECORD_DONE, "", NULL), 0);
	us_writer_close(w);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(us_profile_read(fd, &o, &p, NULL), 0);
	close(fd);
	for (size_t k = 0; k < us_profile_n_warning(p); k++)
		told |= strstr(us_profile_warning(p, k), "more than 1 symbols ") !=
			NULL;
	us_profile_free(p);
	return told;
}

/* The first file is read, whatever it has; then it is enough. */
static void files_with_many_symbols(void **state)
{
	(void)state;
	char dir[] = "/tmp/uniscope-XXXXXX", path[2][64];
	assert_non_null(mkdtemp(dir));
	for (unsigned k = 0; k < 2; k++) {
		snprintf(path[k], sizeof(path[k]), "%s/%c", dir, 'a' + (int)k);
		assert_true(copy_self(path[k]));
	}
	int root = us_root_file_open(dir, "/a");
	bool all = !is_limited(dir, 0), one = is_limited(dir, 1);
	for (unsigned k = 0; k < 2; k++)
		unlink(path[k]);
	rmdir(dir);
	if (root == -ENOSYS) /* Linux before 5.6, or valgrind */
		skip();
	close(root);
	assert_true(all && one);
}

#define JIT	0x500010
#define NO_FILE 0x600010
#define OTHERS	100 /* functions of the program beside main */

/* Stacks of one frame that are cut: how many of code without a file, of the program's
 * main, in no mapping, and of each other function of the program. */
struct cut {
	unsigned jit, main, no_file, others;
	const char *most; /* where the warning says that most are; NULL: nowhere */
};

static void write_cut(struct us_writer *w, us_gva at, unsigned n)
{
	const struct us_sample s = { .weight = 1, .end = US_END_NO_RULE };
	const us_gva pc[] = { at, ROOT };
	const uint8_t flags[] = { US_PC_USER | US_PC_EXACT, US_PC_SPACE };
	for (; n; n--)
		assert_int_equal(us_writer_sample(w, &s, pc, flags, 2, NULL), 0);
}

static void write_names(struct us_writer *w)
{
	char text[16];
	for (unsigned k = 0; k <= OTHERS; k++) {
		struct us_program_name name = { 1, 0x401000 + 16 * k, 16, text };
		snprintf(text, sizeof(text), k ? "other%u" : "main", k);
		assert_int_equal(us_writer_program_names(w, &name, 1, NULL), 0);
	}
}

static int record_cut(const struct cut *c)
{
	const struct us_program_file sh = { .number = 1, .path = "/bin/sh" };
	const struct us_program_file none = { .number = 3,
					      .kind = US_PROGRAM_NONE,
					      .path = "[jit]" };
	const struct us_record_stats stats = { .elapsed_ns = S, .vcpu_ns = S };
	struct us_mapping jit = program;
	struct us_writer *w;
	int fd = memfd_create("recording", MFD_CLOEXEC);
	jit.file = 3;
	jit.start = 0x500000;
	jit.end = 0x502000;
	assert_int_equal(us_writer_open(fd, &w, NULL), 0);
	assert_int_equal(us_writer_mapping(w, &program, NULL), 0);
	assert_int_equal(us_writer_mapping(w, &jit, NULL), 0);
	assert_int_equal(us_writer_program_file(w, &sh, NULL), 0);
	assert_int_equal(us_writer_program_file(w, &none, NULL), 0);
	write_names(w);
	for (unsigned k = 1; k <= OTHERS; k++)
		write_cut(w, 0x401000 + 16 * k, c->others);
	write_cut(w, 0x401000, c->main);
	write_cut(w, JIT, c->jit);
	write_cut(w, NO_FILE, c->no_file);
	assert_int_equal(us_writer_end(w, &stats, US_RECORD_DONE, "", NULL), 0);
	us_writer_close(w);
	lseek(fd, 0, SEEK_SET);
	return fd;
}

/* Code without names takes part, and a place with a small part is not named. */
static void places_of_cut_stacks(void **state)
{
	(void)state;
	static const struct cut cases[] = {
		{ .jit = 90, .main = 2, .most = "; most in [jit]" },
		{ .jit = 40, .main = 60, .most = "; most at main" },
		{ .main = 60, .others = 1, .most = "; most at main" },
		{ .jit = 60, .others = 1, .most = "; most in [jit]" },
		{ .main = 20, .others = 1 },
		{ .main = 40, .no_file = 60 },
	};
	for (size_t k = 0; k < sizeof(cases) / sizeof(*cases); k++) {
		const char *said = "", *most;
		struct us_profile *p = NULL;
		int fd = record_cut(&cases[k]);
		assert_int_equal(us_profile_read(fd, NULL, &p, NULL), 0);
		close(fd);
		for (size_t i = 0; i < us_profile_n_warning(p); i++)
			if (strstr(us_profile_warning(p, i), "stacks are cut"))
				said = us_profile_warning(p, i);
		print_message("# %zu: %s\n", k, said);
		assert_string_not_equal(said, "");
		most = strstr(said, "; most");
		assert_string_equal(most ? most : "",
				    cases[k].most ? cases[k].most : "");
		us_profile_free(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_are_modules),
		cmocka_unit_test(names_are_the_recordings),
		cmocka_unit_test(one_function_of_several_processes),
		cmocka_unit_test(names_of_several_recordings),
		cmocka_unit_test(times_count),
		cmocka_unit_test(files_of_one_path),
		cmocka_unit_test(many_short_processes),
		cmocka_unit_test(code_without_a_file),
		cmocka_unit_test(nothing_outside_of_the_root),
		cmocka_unit_test(large_pages),
		cmocka_unit_test(another_path_below_the_root),
		cmocka_unit_test(no_names_for_deleted_files),
		cmocka_unit_test(files_with_many_symbols),
		cmocka_unit_test(places_of_cut_stacks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
