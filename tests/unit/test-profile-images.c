/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which images name the samples of a profile: where they were, and when. */
#include "profile-recording.h"

#include "symbol/elf_image.h"

#include <unistd.h>

/* Cut stacks are a fault, but not where a program's file would have been needed. */
static void cut_stacks_of_programs_are_told_apart(void **state)
{
	(void)state;
	const us_gva pc[] = { 0xffffffff81000010, 0x401000, 0x402000, 0x123000 };
	const uint8_t flags[] = { 0, US_PC_USER, US_PC_USER, US_PC_SPACE };
	for (unsigned kernel = 0; kernel <= 10; kernel += 10) {
		struct recording r;
		begin(&r);
		for (unsigned i = 0; i < 100; i++) {
			if (i < kernel)
				add_cut(&r, i * MS / 2, 1, pc, flags);
			else if (i < 50)
				add_cut(&r, i * MS / 2, 4, pc, flags);
			else
				add(&r, i * MS / 2, US_VCPU_GUEST, 1, 1, pc);
		}
		end(&r, US_RECORD_DONE, "");
		struct us_profile *p = profile_of(&r, NULL);
		/* Once, however many reasons there are. */
		assert_true(warned(p, "50.0 % of the stacks are cut, outer callers"));
		assert_true(warned(p, kernel ? "40.0 % in programs without a file"
					     : "50.0 % in programs without a file"));
		assert_int_equal(warned(p, "10.0 % where neither symbols"),
				 kernel != 0);
		us_profile_free(p);
		close(r.fd);
	}
}

/* bpf's copy of a stack ends somewhere, and looks like memory that is not there. */
static void stacks_beyond_a_copy_are_told(void **state)
{
	(void)state;
	static const char *const backends[] = { "bpf", "gdb" };
	const us_gva pc[] = { 0xffffffff81000010 };
	for (size_t i = 0; i < 4; i++) {
		struct recording r;
		struct us_err e;
		struct us_sample s = { .end = i < 2 ? US_END_FAULT : US_END_NO_RULE,
				       .weight = 1 };
		begin(&r);
		assert_int_equal(us_writer_fact(r.w, "backend", backends[i % 2], &e),
				 0);
		assert_int_equal(us_writer_sample(r.w, &s, pc, NULL, 1, &e), 0);
		end(&r, US_RECORD_DONE, "");
		struct us_profile *p = profile_of(&r, NULL);
		assert_int_equal(warned(p, "beyond bpf's copy of the stack"), i == 0);
		assert_int_equal(warned(p, "memory that could not be read"), i < 2);
		us_profile_free(p);
		close(r.fd);
	}
}

static void images_that_are_not_right_give_no_names(void **state)
{
	(void)state;
	static const struct {
		const char *path;
		enum us_match match;
		const char *warning;
	} cases[] = {
		{ "/proc/self/exe", US_MATCH_NO, "NOT what ran" },
		{ "/nowhere/kernel.elf", US_MATCH_YES, "/nowhere/kernel.elf" },
		{ "/dev/null", US_MATCH_YES, "/dev/null" },
		{ "/etc", US_MATCH_UNKNOWN, "/etc" },
	};
	us_gva pc[] = { COPY };
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct recording r;
		size_t n;
		begin(&r);
		module(&r, cases[i].path, cases[i].match);
		add(&r, 0, US_VCPU_GUEST, 1, 1, pc);
		end(&r, US_RECORD_DONE, "");
		struct us_profile *p = profile_of(&r, NULL);
		assert_true(warned(p, cases[i].warning));
		assert_false(us_profile_modules(p, &n)->used);
		assert_false(us_profile_funcs(p, &n)->known);
		us_profile_free(p);
		close(r.fd);
	}
}

/* This program itself, loaded at a bias. */
static void placed(struct recording *r, uint32_t number, uint64_t bias, us_gpa root,
		   uint64_t from_ns, uint64_t until_ns)
{
	struct us_err e;
	struct us_module m = { .start = bias,
			       .end = bias + (1 << 24),
			       .bias = bias,
			       .match = US_MATCH_YES,
			       .path = "/proc/self/exe",
			       .number = number,
			       .root = root,
			       .from_ns = from_ns,
			       .until_ns = until_ns };
	assert_int_equal(us_writer_module(r->w, &m, &e), 0);
}

/* Address of main() in the file. */
static uint64_t main_in_file(void)
{
	struct us_elf_image *i;
	struct us_err e;
	size_t n;
	uint64_t ret = 0;
	assert_int_equal(us_elf_image_open("/proc/self/exe", &i, &e), 0);
	const struct us_elf_symbol *s = us_elf_image_symbols(i, &n);
	for (size_t k = 0; k < n; k++)
		if (!strcmp(s[k].name, "main"))
			ret = s[k].addr;
	us_elf_image_close(i);
	assert_true(ret);
	return ret;
}

/* An image that came, went, and came again elsewhere: named while it was there; the
 * recording says so only after the samples. */
static void names_hold_for_their_time(void **state)
{
	(void)state;
	const uint64_t at = main_in_file(), low = 1 << 28, high = 0xffffffff90000000;
	struct recording r;
	size_t n;
	begin(&r);
	for (unsigned i = 0; i < 100; i++)
		add(&r, i * MS, US_VCPU_GUEST, 1, 2,
		    (us_gva[]){ at + (i < 60 ? low : high), LOOP + 9 });
	placed(&r, 1, low, 0, 10 * MS, 30 * MS);
	placed(&r, 2, high, 0, 50 * MS, 0);
	end(&r, US_RECORD_DONE, "");
	struct us_profile *p = profile_of(&r, NULL);
	assert_int_equal(func_named(p, "main")->self, 20 + 40);
	assert_int_equal(func_at(p, (at + low) & -64ULL)->self, 40);
	assert_int_equal(func_at(p, LOOP)->total, 100);
	assert_true(warned(p, "was in the guest at 0.0-0.0 s, 0.1- only"));
	check_tree(p);
	us_profile_free(p);
	/* The same from a pipe: it is read twice all the same. */
	int fd[2];
	char bytes[65536];
	assert_int_equal(pipe(fd), 0);
	assert_int_equal(lseek(r.fd, 0, SEEK_SET), 0);
	ssize_t len = read(r.fd, bytes, sizeof(bytes));
	assert_int_equal(write(fd[1], bytes, (size_t)len), len);
	assert_int_equal(us_profile_read(fd[0], NULL, &p, NULL),
			 0); /* not at its end */
	assert_int_equal(func_named(p, "main")->self, 60);
	assert_int_equal(us_profile_modules(p, &n)->m.until_ns, 30 * MS);
	us_profile_free(p);
	close(fd[0]);
	close(fd[1]);
	close(r.fd);
}

/* Two programs at the same address, each in its own address space. */
static void names_hold_for_their_space(void **state)
{
	(void)state;
	const us_gva at = main_in_file() + 0x10000000;
	const uint8_t flags[] = { US_PC_USER, US_PC_USER, US_PC_SPACE };
	struct recording r;
	begin(&r);
	for (unsigned i = 0; i < 30; i++)
		add_flagged(&r, i * MS, 3,
			    (us_gva[]){ at, LOOP + 9, i % 3 ? 0x123000 : 0x456000 },
			    flags);
	add_flagged(&r, 40 * MS, 2, (us_gva[]){ at, LOOP + 9 }, flags);
	placed(&r, 1, 0x10000000, 0x123000, 0, 0);
	end(&r, US_RECORD_DONE, "");
	struct us_profile *p = profile_of(&r, NULL);
	assert_int_equal(func_named(p, "main")->self, 20);
	assert_int_equal(func_at(p, at & -64ULL)->self, 11);
	assert_int_equal(func_at(p, LOOP)->total, 31);
	assert_false(warned(p, "was in the guest"));
	check_tree(p);
	us_profile_free(p);
	close(r.fd);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_hold_for_their_time),
		cmocka_unit_test(names_hold_for_their_space),
		cmocka_unit_test(stacks_beyond_a_copy_are_told),
		cmocka_unit_test(cut_stacks_of_programs_are_told_apart),
		cmocka_unit_test(images_that_are_not_right_give_no_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
