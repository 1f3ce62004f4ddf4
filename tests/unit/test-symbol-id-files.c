/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files of a folder by their build-ids: all of them, and what is left out is said.
 */
#include "unit.h"

#include "symbol/id_files.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[32];
static const char *dir[] = { folder };
static const struct us_debug_dirs dirs = { .dir = dir, .n = 1 };

/* An ELF file that is nothing but its build-id: four bytes of this letter. */
static void make(const char *name, char letter)
{
	struct {
		Elf64_Ehdr e;
		Elf64_Phdr h;
		uint32_t note[3];
		char owner[4], id[4];
	} f = { .e = { .e_type = ET_DYN,
		       .e_machine = EM_X86_64,
		       .e_version = EV_CURRENT,
		       .e_phoff = sizeof(Elf64_Ehdr),
		       .e_ehsize = sizeof(Elf64_Ehdr),
		       .e_phentsize = sizeof(Elf64_Phdr),
		       .e_phnum = 1 },
		.note = { 4, 4, NT_GNU_BUILD_ID },
		.owner = "GNU" };
	char path[256];
	size_t at = offsetof(typeof(f), note);
	memcpy(f.e.e_ident, ELFMAG, SELFMAG);
	f.e.e_ident[EI_CLASS] = ELFCLASS64;
	f.e.e_ident[EI_DATA] = ELFDATA2LSB;
	f.e.e_ident[EI_VERSION] = EV_CURRENT;
	f.h = (Elf64_Phdr){ .p_type = PT_NOTE,
			    .p_offset = at,
			    .p_vaddr = at,
			    .p_filesz = sizeof(f) - at,
			    .p_memsz = sizeof(f) - at };
	memset(f.id, letter, sizeof(f.id));
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	FILE *out = fopen(path, "we");
	assert_non_null(out);
	assert_int_equal(fwrite(&f, sizeof(f), 1, out), 1);
	assert_int_equal(fclose(out), 0);
}

static void make_folder(const char *name)
{
	char path[256];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	assert_int_equal(mkdir(path, 0700), 0);
}

static int set_up(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/uniscope-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
	char cmd[96];
	(void)state;
	snprintf(cmd, sizeof(cmd), "rm -r --one-file-system %s", folder);
	return system(cmd);
}

static const char *found(const struct us_id_files *f, char letter, unsigned number)
{
	uint8_t id[4];
	memset(id, letter, sizeof(id));
	const char *path = us_id_files_find(f, id, sizeof(id), number);
	return path ? path + strlen(folder) + 1 : NULL;
}

static void by_their_ids(void **state)
{
	(void)state;
	struct us_id_files f = { 0 };
	make_folder("a");
	make("a/one", 'x');
	make("two", 'y');
	make("a/same", 'y');
	make(".hidden", 'z');
	assert_int_equal(us_id_files_read(&f, &dirs, NULL), 0);
	assert_int_equal(f.n, 3);
	assert_string_equal(found(&f, 'x', 0), "a/one");
	assert_null(found(&f, 'x', 1));
	assert_true(found(&f, 'y', 0) && found(&f, 'y', 1) && !found(&f, 'y', 2));
	assert_string_not_equal(found(&f, 'y', 0), found(&f, 'y', 1));
	assert_null(found(&f, 'z', 0));
	assert_null(us_id_files_find(&f, (const uint8_t *)"xxx", 3, 0));
	assert_null(us_id_files_find(&f, (const uint8_t *)"", 0, 0));
	assert_null(us_id_files_find(&f, (const uint8_t *)folder, 65, 0));
	assert_false(f.full || f.deep);
	us_id_files_fini(&f);
}

static void what_is_left_out_is_said(void **state)
{
	(void)state;
	struct us_id_files f = { .most = 2 };
	make("one", 'x');
	make("two", 'y');
	assert_int_equal(us_id_files_read(&f, &dirs, NULL), 0);
	assert_true(f.n == 2 && !f.full);
	us_id_files_fini(&f);
	make("three", 'z');
	f.most = 2;
	assert_int_equal(us_id_files_read(&f, &dirs, NULL), 0);
	assert_true(f.n == 2 && f.full && !f.deep);
	us_id_files_fini(&f);
}

static void deep_folders(void **state)
{
	(void)state;
	struct us_id_files f = { 0 };
	char name[32] = "d";
	for (unsigned k = 1; k < US_ID_FILES_DEPTH; k++, strcat(name, "/d"))
		make_folder(name);
	strcpy(name + strlen(name) - 1, "last");
	make(name, 'x');
	assert_int_equal(us_id_files_read(&f, &dirs, NULL), 0);
	assert_true(f.n == 1 && !f.deep);
	us_id_files_fini(&f);
	strcpy(name + strlen(name) - strlen("last"), "d");
	make_folder(name);
	assert_int_equal(us_id_files_read(&f, &dirs, NULL), 0);
	assert_true(f.n == 1 && f.deep && !f.full);
	us_id_files_fini(&f);
}

/* Containers are deep in a guest's files, and in folders with a dot. */
static void as_asked(void **state)
{
	(void)state;
	struct us_id_files f = { .depth = 2, .hidden = true };
	make_folder(".h");
	make_folder(".h/d");
	make(".h/one", 'x');
	make(".h/d/two", 'y');
	assert_int_equal(us_id_files_read(&f, &dirs, NULL), 0);
	assert_true(f.n == 1 && f.deep && !f.late);
	assert_string_equal(found(&f, 'x', 0), ".h/one");
	us_id_files_fini(&f);
	f = (struct us_id_files){ .hidden = true, .limit_ns = 1 };
	assert_int_equal(us_id_files_read(&f, &dirs, NULL), 0);
	assert_true(f.n == 0 && f.late && !f.full);
	us_id_files_fini(&f);
}

static void it_ends_when_told(void **state)
{
	(void)state;
	const atomic_bool stop = true;
	struct us_id_files f = { 0 };
	make("one", 'x');
	assert_int_equal(us_id_files_read(&f, &dirs, &stop), -ECANCELED);
	assert_int_equal(f.n, 0);
	us_id_files_fini(&f);
}

/* None of these may stop it, or be taken for a file. */
static void odd_things(void **state)
{
	(void)state;
	struct us_id_files f = { 0 };
	char path[64], to[64];
	snprintf(path, sizeof(path), "%s/pipe", folder);
	assert_int_equal(mkfifo(path, 0600), 0);
	snprintf(path, sizeof(path), "%s/round", folder);
	assert_int_equal(symlink(".", path), 0);
	make("one", 'x');
	snprintf(path, sizeof(path), "%s/one", folder);
	assert_int_equal(truncate(path, 70), 0); /* cut */
	snprintf(to, sizeof(to), "%s/empty", folder);
	fclose(fopen(to, "we"));
	assert_int_equal(us_id_files_read(&f, &dirs, NULL), 0);
	assert_int_equal(f.n, 0);
	us_id_files_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(by_their_ids, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_left_out_is_said, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(deep_folders, set_up, tear_down),
		cmocka_unit_test_setup_teardown(as_asked, set_up, tear_down),
		cmocka_unit_test_setup_teardown(it_ends_when_told, set_up, tear_down),
		cmocka_unit_test_setup_teardown(odd_things, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
