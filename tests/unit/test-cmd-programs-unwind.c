/* SPDX-License-Identifier: GPL-2.0-or-later */
/* By what the stacks of a guest's programs are unwound: the rules of the files that
 * they map, from the guest's memory or from the host's copies. */
#include "programs-guest.h"
#include "silent-disk.h"

#include "symbol/root_file.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

int main(void)
{
	const struct CMUnitTest tests[] = {
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
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
