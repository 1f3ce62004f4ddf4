/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples of programs by the files that they map, of one or several recordings. */
#include "program-recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

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
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
