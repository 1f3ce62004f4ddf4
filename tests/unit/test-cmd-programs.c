/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which files a guest's programs map while it is recorded: when each came and went, and
 * that nothing is said of what no sample was in. */
#include "programs-guest.h"

#include <elf.h>
#include <string.h>

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
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
