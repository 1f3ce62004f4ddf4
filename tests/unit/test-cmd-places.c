/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where images lie: found, moved, replaced, in several address spaces. Against made-up
 * guest memory, a look at a time. */
#include "placed-guest.h"

static void where_it_was_linked(void **state)
{
	(void)state;
	struct guest g;
	begin(&g, 1, "");
	load(&g, 1, LINKED);
	run(&g, LINKED, 0, 1); /* at the first look */
	assert_int_equal(place_of(&g, 0)->bias, 0);
	assert_int_equal(place_of(&g, 0)->from_ns, 0);
	assert_int_equal(g.images.changes % 2, 0);
	end(&g, 1);
}

static void found_where_it_runs(void **state)
{
	(void)state;
	struct guest g;
	begin(&g, 1, "");
	load(&g, 1, LINKED + 0x7c3000);
	run(&g, LINKED + 0x7c3000, 0, 100);
	assert_int_equal(place_of(&g, 0)->bias, 0x7c3000);
	assert_int_equal(place_of(&g, 0)->from_ns,
			 0); /* its code was, from the first */
	end(&g, 1);
	/* At an odd address it takes a search at every byte. */
	begin(&g, 1, "");
	load(&g, 1, LINKED + 0x7c3123);
	run(&g, LINKED + 0x7c3123, 0, 3000);
	assert_int_equal(place_of(&g, 0)->bias, 0x7c3123);
	end(&g, 1);
	/* The user says that it is elsewhere: then it is nowhere. */
	begin(&g, 1, "@0x100000");
	load(&g, 1, LINKED + 0x7c3000);
	run(&g, LINKED + 0x7c3000, 0, 1000);
	assert_true(is_nowhere(&g, 0));
	end(&g, 1);
}

static void another_image_is_not_found(void **state)
{
	(void)state;
	struct guest g;
	begin(&g, 1, "");
	load(&g, 2, LINKED);
	run(&g, LINKED, 0, 1000);
	assert_true(is_nowhere(&g, 0));
	assert_int_equal(g.images.n_place, 1);
	assert_int_equal(g.images.place[0].match, US_MATCH_NO);
	end(&g, 1);
}

static void it_moves_and_leaves_its_old_self(void **state)
{
	(void)state;
	struct guest g;
	begin(&g, 1, "");
	load(&g, 1, LINKED);
	run(&g, LINKED, 0, 1000);
	load(&g, 1, LINKED + 0x1000000);
	uint64_t moved = g.t_ns;
	run(&g, LINKED + 0x1000000, 0, 3000);
	assert_int_equal(g.images.n_place, 2);
	assert_int_equal(g.images.place[0].until_ns, 0);
	assert_int_equal(g.images.place[1].bias, 0x1000000);
	assert_true(g.images.place[1].from_ns >= moved);
	end(&g, 1);
}

static void one_kernel_after_the_other(void **state)
{
	(void)state;
	struct guest g;
	begin(&g, 2, "");
	load(&g, 1, LINKED);
	run(&g, LINKED, 0, 2000);
	assert_true(place_of(&g, 0) && is_nowhere(&g, 1));
	uint64_t replaced = g.t_ns;
	load(&g, 2, LINKED);
	run(&g, LINKED, 0, 2000);
	assert_true(is_nowhere(&g, 0));
	const struct us_place *first = &g.images.place[0], *second = place_of(&g, 1);
	assert_int_equal(first->match, US_MATCH_YES);
	assert_true(first->until_ns && first->until_ns <= replaced);
	assert_true(replaced - first->until_ns <= 1100 * MS);
	assert_true(second->from_ns >= replaced &&
		    second->from_ns <= replaced + 1100 * MS);
	/* And back: a place of its own, with a time of its own. */
	replaced = g.t_ns;
	load(&g, 1, LINKED);
	run(&g, LINKED, 0, 3000);
	assert_true(is_nowhere(&g, 1));
	assert_true(place_of(&g, 0)->from_ns >= replaced);
	end(&g, 2);
}

static bool tells_a_change(const struct guest *g)
{
	char text[800];
	return us_images_changed(&g->images, text, sizeof(text)) &&
	       strstr(text, us_elf_image_path(g->images.v[0].elf));
}

/* The guest has one other byte in the code of a file that was written just now. */
static bool tells_of_one_byte(uint64_t vmm_start, uint64_t id)
{
	const struct us_guest vmm = { .pid = 1, .start_time = vmm_start };
	struct guest g;
	build_id = id;
	begin_of(&g, 1, "", &vmm);
	g.build_id = id;
	load(&g, 1, LINKED);
	run(&g, LINKED, 0, 100);
	assert_non_null(place_of(&g, 0));
	assert_false(tells_a_change(&g));
	g.ram[LINKED + 0x2345] ^= 1;
	for (unsigned n = 0; n < 100; n++)
		look_in(&g, LINKED + 0x2340, 0);
	assert_non_null(place_of(&g, 0));
	bool tells = tells_a_change(&g);
	end(&g, 1);
	build_id = 0;
	return tells;
}

/* A kernel patches itself, but it is older than its VMM. */
static void built_again_while_it_runs(void **state)
{
	(void)state;
	struct timespec up;
	clock_gettime(CLOCK_BOOTTIME, &up);
	uint64_t now = (uint64_t)(up.tv_sec * sysconf(_SC_CLK_TCK));
	assert_true(tells_of_one_byte(1, 0));
	assert_false(tells_of_one_byte(now, 0));
	assert_false(tells_of_one_byte(0, 0));
	assert_false(tells_of_one_byte(1, 0x123456789abcdef));
}

/* The same functions as a list alone, far from where the kernel runs or not. */
static bool tells_a_miss(us_gva runs_at, unsigned looks)
{
	const char list[] = "0000000000200000 T first\n0000000000210000 T second\n"
			    "0000000000220000 T third\n";
	char path[64], text[800];
	const struct us_symbol_files given = { .image = { path }, .n_image = 1 };
	struct us_err e = { 0 };
	struct guest g;
	int fd = memfd_create("list", 0);
	assert_int_equal(write(fd, list, sizeof(list) - 1), sizeof(list) - 1);
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), fd);
	begin(&g, 0, "");
	us_images_fini(&g.images);
	assert_int_equal(us_images_open(&g.images, &given, NULL, &e), 0);
	run(&g, runs_at, 0, looks);
	bool tells = us_images_missed(&g.images, text, sizeof(text));
	end(&g, 0);
	close(fd);
	return tells;
}

static void a_list_of_other_addresses(void **state)
{
	(void)state;
	assert_true(tells_a_miss(LINKED + 0x1000000, 100));
	assert_false(tells_a_miss(LINKED, 100));
	assert_false(tells_a_miss(LINKED + 0x1000000, 5));
}

/* At work for long in code that was patched: in places of the text far apart. */
static void run_in_patched(struct guest *g)
{
	enum { N = 2 * US_MAX_DIFFER };
	load(g, 1, LINKED);
	run(g, LINKED, 0, 100);
	for (size_t k = 1; k <= N; k++)
		memset(g->ram + LINKED + k * 0x4000, 0x90, 0x200);
	for (unsigned n = 0; n < 1000; n++)
		look_in(g, LINKED + (1 + n % N) * 0x4000 + 0x100, 0);
}

static void a_build_id_outweighs_patches(void **state)
{
	(void)state;
	struct guest g;
	begin(&g, 1, "");
	run_in_patched(&g);
	assert_true(is_nowhere(&g, 0)); /* another build, for all that one can tell */
	end(&g, 1);
	build_id = 0x123456789abcdef;
	for (uint64_t off = 0; off < 2; off++) {
		begin(&g, 1, "");
		g.build_id = build_id + off;
		run_in_patched(&g);
		assert_int_equal(is_nowhere(&g, 0), off != 0);
		end(&g, 1);
	}
	build_id = 0;
}

static void programs_have_their_own_space(void **state)
{
	(void)state;
	struct guest g;
	begin(&g, 2, "");
	load(&g, 1, 0x1000000);
	load(&g, 2, 0x1200000);
	/* One program by its linked address, twice; another one moved, by lot. */
	map(&g, 0x10000, LINKED, 0x1000000);
	map(&g, 0x20000, LINKED, 0x1200000);
	map(&g, 0x30000, 0x555500000000, 0x1200000);
	for (int i = 0; i < 200; i++) {
		run(&g, LINKED, 0x10000, 1);
		run(&g, LINKED, 0x20000, 1);
		run(&g, 0x555500000000, 0x30000, 1);
	}
	const struct us_place *one = place_of(&g, 0);
	assert_true(one->bias == 0 && one->root == 0x10000);
	unsigned seen = 0;
	for (size_t k = 0; k < g.images.n_place; k++) {
		const struct us_place *p = &g.images.place[k];
		if (p->image != 1 || p->match != US_MATCH_YES)
			continue;
		seen |= p->root == 0x20000 && p->bias == 0 ? 1 : 0;
		seen |= p->root == 0x30000 && p->bias == 0x555500000000 - LINKED ? 2
										 : 0;
		assert_true(p->root == 0x20000 || p->root == 0x30000);
	}
	assert_int_equal(seen, 3);
	end(&g, 2);
}

/* Tables at root that map two MiB at va to pa (RISC-V privileged architecture, 4.4). */
static void map_sv39(struct guest *g, us_gpa root, us_gva va, us_gpa pa)
{
	const uint64_t entry[2] = { (root + 0x1000) >> 2 | 1, pa >> 2 | 0xcf };
	const us_gpa at[2] = { root + (va >> 30 & 511) * 8,
			       root + 0x1000 + (va >> 21 & 511) * 8 };
	for (int i = 0; i < 2; i++)
		memcpy(g->ram + at[i], &entry[i], 8);
}

/* Firmware is seen at work for the kernel; by its own memory no kernel is there. */
static void a_kernel_below_firmware(void **state)
{
	(void)state;
	const uint64_t satp = 8ULL << 60 | 0x10000 >> 12;
	const us_gva kernel = LINKED + 0xffffffff80000000;
	struct guest g;
	struct us_stack stack = { .n = 3,
				  .pc = { 0x1000, 0x1100, kernel + 0x100 },
				  .how = { [2] = US_HOW_INTERRUPT } };
	struct us_capture c = { .regs = { .arch = US_ARCH_RISCV64,
					  .pc = 0x1000,
					  .bits = 64,
					  .space = us_riscv_space(satp, true) } };
	const struct us_live_sample l = { .capture = &c,
					  .stack = &stack,
					  .paging = &g.paging };
	for (int loaded = 0; loaded < 2; loaded++) {
		begin(&g, 1, "@0xffffffff80000000");
		map_sv39(&g, 0x10000, kernel, 0x1000000);
		load(&g, loaded ? 1 : 2, 0x1000000);
		us_paging_new_sample(&g.paging);
		us_images_sample(&g.images, &l);
		if (loaded)
			assert_int_equal(place_of(&g, 0)->root, 0);
		else
			assert_true(is_nowhere(&g, 0));
		end(&g, 1);
	}
}

/* A kernel that was linked low, and a program with other code at the same addresses. */
static void a_low_kernel_names_no_program(void **state)
{
	(void)state;
	struct guest g;
	struct us_frame f[4];
	const struct us_symbol_when kernel = { .root = 0x10000 };
	const struct us_symbol_when program = { .root = 0x20000, .user = true };
	begin(&g, 1, "");
	load(&g, 1, 0x1000000);
	load(&g, 2, 0x1200000);
	map(&g, 0x10000, LINKED, 0x1000000);
	map(&g, 0x20000, LINKED, 0x1200000);
	for (int i = 0; i < 20; i++) {
		look_by(&g, LINKED + 0x1000, 0x10000, false);
		look_by(&g, LINKED + 0x1000, 0x20000, true);
		g.t_ns += 300 * MS;
	}
	const struct us_place *p = place_of(&g, 0);
	assert_true(p->bias == 0 && p->root == 0 && p->until_ns == 0);
	assert_true(us_images_cover(&g.images, 0, LINKED + 0x1000));
	assert_false(us_images_cover(&g.images, 0x20000, LINKED + 0x1000));
	assert_int_equal(us_images_name_places(&g.images), 0);
	assert_int_equal(us_symbols_lookup_at(g.images.symbols, &kernel,
					      LINKED + 0x1000, false, f, 4),
			 1);
	assert_int_equal(us_symbols_lookup_at(g.images.symbols, &program,
					      LINKED + 0x1000, false, f, 4),
			 0);
	/* One that runs the kernel's own code is seen to. */
	map(&g, 0x30000, LINKED, 0x1000000);
	run(&g, LINKED, 0x30000, 20);
	assert_true(us_images_cover(&g.images, 0x30000, LINKED + 0x1000));
	end(&g, 1);
}

/* The kernel, by the other root of the same program. */
static void the_kernel_has_another_root(void **state)
{
	(void)state;
	struct guest g;
	begin(&g, 1, "");
	load(&g, 1, 0x1000000);
	/* Two roots, a page apart, and the tables below them. */
	map(&g, 0x60000, LINKED, 0x1000000);
	memcpy(g.ram + 0x51000, g.ram + 0x60000, 4096);
	memcpy(g.ram + 0x50000, g.ram + 0x60000, 4096);
	memcpy(g.ram + 0x54000, g.ram + 0x60000, 4096);
	run(&g, LINKED, 0x51000, 10);
	assert_int_equal(place_of(&g, 0)->root, 0x51000);
	for (int i = 0; i < 3; i++) {
		g.t_ns += 1100 * MS;
		look_by(&g, 0xffffffff81000000, 0x54000, false); /* another program's */
		g.t_ns += 1100 * MS;
		look_by(&g, 0xffffffff81000000, 0x50000, false);
	}
	assert_int_equal(g.images.n_place, 2);
	assert_int_equal(g.images.place[1].root, 0x50000);
	assert_int_equal(g.images.place[1].from_ns, g.images.place[0].from_ns);
	end(&g, 1);
}

/* The kernel runs first.  Of the code by which it is entered, which still runs with the
 * program's root, samples may be older than those of the program itself. */
static void a_program_is_seen_after_its_kernel(void **state)
{
	(void)state;
	for (int entry = 0; entry < 2; entry++) {
		struct guest g;
		begin(&g, 1, "");
		load(&g, 1, 0x1000000);
		map(&g, 0x60000, LINKED, 0x1000000);
		memcpy(g.ram + 0x51000, g.ram + 0x60000, 4096);
		memcpy(g.ram + 0x50000, g.ram + 0x60000, 4096);
		look_by(&g, 0xffffffff81000000, 0x50000, false);
		assert_int_equal(place_of(&g, 0)->root, 0x50000);
		g.t_ns += 100 * MS;
		look_by(&g, entry ? 0xffffffff81000000 : LINKED + 0x1000, 0x51000,
			!entry);
		assert_int_equal(g.images.n_place, 2);
		assert_int_equal(g.images.place[1].root, 0x51000);
		assert_int_equal(g.images.place[1].from_ns, g.images.place[0].from_ns);
		end(&g, 1);
	}
}

/* Without page-table isolation, roots a page apart are two processes'. */
static void two_programs_are_no_pair(void **state)
{
	(void)state;
	struct guest g;
	begin(&g, 1, "");
	load(&g, 1, 0x1000000);
	map(&g, 0x60000, LINKED, 0x1000000);
	memcpy(g.ram + 0x51000, g.ram + 0x60000, 4096);
	memcpy(g.ram + 0x50000, g.ram + 0x60000, 4096);
	look_by(&g, LINKED + 0x1000, 0x50000, true);
	g.t_ns += 100 * MS;
	look_by(&g, 0xffffffff81000000, 0x51000, false);
	assert_int_equal(g.images.n_place, 1);
	uint64_t now = g.t_ns;
	look_by(&g, LINKED + 0x1000, 0x51000, true);
	assert_int_equal(g.images.n_place, 2);
	assert_int_equal(g.images.place[1].from_ns, now);
	end(&g, 1);
}

/* More spaces than there is room for: the first are kept, and nothing breaks. */
static void many_spaces(void **state)
{
	(void)state;
	struct guest g;
	begin(&g, 1, "");
	load(&g, 1, 0x1000000);
	for (unsigned i = 0; i < 100; i++)
		map(&g, 0x10000 + i * 0x3000, LINKED, 0x1000000);
	for (unsigned round = 0; round < 4; round++)
		for (unsigned i = 0; i < 100; i++) {
			run(&g, LINKED, 0x10000 + i * 0x3000, 1);
			g.t_ns += 20 * MS;
		}
	assert_true(g.images.full);
	assert_int_equal(g.images.n_place, US_MAX_PLACES);
	for (size_t k = 0; k < US_MAX_PLACES; k++)
		assert_int_equal(g.images.place[k].root, 0x10000 + k * 0x3000);
	end(&g, 1);
}

/* An image of a kernel that includes its first program, below: that has it in its own
 * space, and another program something else at the same addresses. */
static void a_kernel_with_its_program(void **state)
{
	(void)state;
	enum { KERNEL = 0x10000, FIRST = 0x20000, OTHER = 0x30000, AT = 0x400000 };
	struct guest g;
	kernel_at = 0xffffffff80400000;
	begin(&g, 1, "");
	kernel_at = 0;
	load(&g, 1, AT);
	memcpy(g.ram + 0x800000, g.ram + AT + KERNEL_LEN, TEXT_LEN - KERNEL_LEN);
	load(&g, 7, 0xa00000);
	for (us_gpa root = KERNEL; root <= OTHER; root += FIRST - KERNEL)
		map(&g, root, 0xffffffff80400000, AT);
	map(&g, FIRST, LINKED, 0x800000);
	map(&g, OTHER, LINKED, 0xa00000);
	for (unsigned i = 0; i < 20; i++) {
		us_gva off = 0x1000 + i * 0x777;
		look_by(&g, 0xffffffff80400000 + off, KERNEL, false);
		look_by(&g, LINKED + off, FIRST, true);
		look_by(&g, LINKED + off, OTHER, true);
	}
	assert_int_equal(g.images.n_place, 2);
	assert_int_equal(g.images.place[0].root, 0);
	assert_int_equal(g.images.place[1].root, FIRST);
	assert_int_equal(g.images.place[1].bias, 0);
	assert_true(us_images_cover(&g.images, 0, 0xffffffff80401000));
	assert_true(us_images_cover(&g.images, FIRST, LINKED + 0x1000));
	assert_false(us_images_cover(&g.images, OTHER, LINKED + 0x1000));
	end(&g, 1);
}

/* Files beside the kernel's are tried, in vain; then its own tables name it. */
static void names_without_a_file(void **state)
{
	(void)state;
	static const us_gva start[] = { LINKED };
	const struct us_code_map own = { .start = start, .n = 1 };
	struct guest g;
	char text[400] = "";
	FILE *out = fmemopen(text, sizeof(text), "w");
	begin(&g, 1, "");
	g.images.v[0].guessed = true;
	us_images_judge(&g.images, US_MATCH_NO);
	assert_true(us_images_guessed_wrong(&g.images));
	us_images_own(&g.images, &own, NULL);
	us_images_own(&g.images, NULL, NULL); /* the guest has ended */
	assert_false(us_images_guessed_wrong(&g.images));
	us_images_tell(&g.images, out);
	fclose(out);
	assert_string_equal(text, "");
	end(&g, 1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(where_it_was_linked),
		cmocka_unit_test(found_where_it_runs),
		cmocka_unit_test(another_image_is_not_found),
		cmocka_unit_test(it_moves_and_leaves_its_old_self),
		cmocka_unit_test(one_kernel_after_the_other),
		cmocka_unit_test(a_build_id_outweighs_patches),
		cmocka_unit_test(built_again_while_it_runs),
		cmocka_unit_test(a_list_of_other_addresses),
		cmocka_unit_test(programs_have_their_own_space),
		cmocka_unit_test(a_kernel_below_firmware),
		cmocka_unit_test(a_low_kernel_names_no_program),
		cmocka_unit_test(the_kernel_has_another_root),
		cmocka_unit_test(a_program_is_seen_after_its_kernel),
		cmocka_unit_test(two_programs_are_no_pair),
		cmocka_unit_test(many_spaces),
		cmocka_unit_test(a_kernel_with_its_program),
		cmocka_unit_test(names_without_a_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
