/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of programs from the files below --root: those alone, and the right ones. */
#include "program-recording.h"

#include "symbol/root_file.h"

#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* -e names a file: no other is needed for it.  Its dynamic symbols are in the recording
 * or not. */
static void named_by_an_image(void **state)
{
	(void)state;
	struct given g = { .n_mapping = 1, .root = ROOT };
	dl_iterate_phdr(map_self, &g);
	for (g.n_name = 0; g.n_name < 2; g.n_name++) {
		struct us_profile *p = profile_of(&g);
		assert_true(has_warning(p, g.n_name ? "/bin/sh: named only from the"
						    : "/bin/sh: no symbols were"));
		us_profile_free(p);
		g.name[0] = (struct us_program_name){ 1, 0x10, 16, "other" };
	}
	g.image = (struct us_module){ .start = BIAS,
				      .end = BIAS + (1 << 24),
				      .bias = BIAS,
				      .match = US_MATCH_YES,
				      .path = "/proc/self/exe",
				      .number = 1,
				      .root = ROOT };
	for (g.n_name = 0; g.n_name < 2; g.n_name++) {
		struct us_profile *p = profile_of(&g);
		assert_false(has_warning(p, "/bin/sh: n"));
		us_profile_free(p);
	}
	g.image.bias += 1 << 28; /* elsewhere: it names nothing of it */
	g.image.start = g.image.bias;
	g.image.end = g.image.bias + (1 << 24);
	g.n_name = 0;
	tells_of_root(&g, "/bin/sh: no symbols were");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_outside_of_the_root),
		cmocka_unit_test(large_pages),
		cmocka_unit_test(another_path_below_the_root),
		cmocka_unit_test(no_names_for_deleted_files),
		cmocka_unit_test(files_with_many_symbols),
		cmocka_unit_test(named_by_an_image),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
