/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where images lie: found, moved, replaced, in several address spaces. Against made-up
 * guest memory, a look at a time. */
#include "unit.h"

#include "base/clock.h"
#include "cmd/record/images.h"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#define LINKED	 0x200000
#define TEXT_LEN 0x40000
#define RAM_SIZE 0x2000000
#define MS	 US_NS_PER_MS

/* A guest with its own RAM; paging is off unless a root is given. */
struct guest {
	uint8_t *ram;
	struct us_region region;
	struct us_mem mem;
	struct us_paging paging;
	struct us_images images;
	uint64_t t_ns;
	uint64_t build_id; /* in what is loaded; 0: as it comes */
	int fd[2];
};

/* A build-id at the start of the text. */
struct note {
	Elf64_Nhdr header;
	char name[4];
	uint64_t id;
};

static uint64_t build_id; /* of the images that are made; 0: none */

static struct note note_of(uint64_t id)
{
	return (struct note){ { 4, 8, NT_GNU_BUILD_ID }, "GNU", id };
}

static void make_text(uint8_t *text, uint32_t seed)
{
	for (size_t i = 0; i < TEXT_LEN; i++) {
		seed = seed * 1103515245 + 12345;
		text[i] = seed >> 24 & 0x7f;
	}
}

/* One segment of code, no sections; *ret_path is good as long as the fd. */
static int make_elf(uint32_t seed, char ret_path[64])
{
	static uint8_t text[TEXT_LEN];
	Elf64_Ehdr h = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1 },
			 .e_type = ET_EXEC,
			 .e_machine = EM_X86_64,
			 .e_phoff = sizeof(h),
			 .e_phentsize = sizeof(Elf64_Phdr),
			 .e_phnum = build_id ? 2 : 1 };
	Elf64_Phdr p[2] = { { .p_type = PT_LOAD,
			      .p_flags = PF_R | PF_X,
			      .p_offset = sizeof(h) + sizeof(p),
			      .p_vaddr = LINKED,
			      .p_filesz = TEXT_LEN,
			      .p_memsz = TEXT_LEN },
			    { .p_type = PT_NOTE,
			      .p_offset = sizeof(h) + sizeof(p),
			      .p_vaddr = LINKED,
			      .p_filesz = sizeof(struct note),
			      .p_align = 4 } };
	const struct note note = note_of(build_id);
	int fd = memfd_create("image", 0);
	make_text(text, seed);
	if (build_id)
		memcpy(text, &note, sizeof(note));
	assert_int_equal(write(fd, &h, sizeof(h)), sizeof(h));
	assert_int_equal(write(fd, p, sizeof(p)), sizeof(p));
	assert_int_equal(write(fd, text, TEXT_LEN), TEXT_LEN);
	snprintf(ret_path, 64, "/proc/%d/fd/%d", (int)getpid(), fd);
	return fd;
}

/* Images are named by their seeds, as "-e FILE" or with a bias. */
static void begin_of(struct guest *g, unsigned n, const char *suffix,
		     const struct us_guest *vmm)
{
	static char path[2][64], spec[2][80];
	const struct us_symbol_files given = { .image = { spec[0], spec[1] },
					       .n_image = n };
	struct us_err e = { 0 };
	memset(g, 0, sizeof(*g));
	g->ram = calloc(1, RAM_SIZE);
	assert_non_null(g->ram);
	for (unsigned i = 0; i < n; i++) {
		g->fd[i] = make_elf(i + 1, path[i]);
		snprintf(spec[i], sizeof(spec[i]), "%s%s", path[i], suffix);
	}
	if (us_images_open(&g->images, &given, vmm, &e) < 0)
		fail_msg("%s", e.msg);
	g->region = (struct us_region){ .size = RAM_SIZE, .host = g->ram };
	g->mem = (struct us_mem){ .region = &g->region, .n_region = 1 };
	us_mem_init(&g->mem);
	us_paging_init(&g->paging, &g->mem);
}

static void begin(struct guest *g, unsigned n, const char *suffix)
{
	begin_of(g, n, suffix, NULL);
}

static void end(struct guest *g, unsigned n)
{
	us_images_fini(&g->images);
	for (unsigned i = 0; i < n; i++)
		close(g->fd[i]);
	free(g->ram);
}

static void load(struct guest *g, uint32_t seed, us_gpa at)
{
	const struct note note = note_of(g->build_id);
	make_text(g->ram + at, seed);
	if (g->build_id)
		memcpy(g->ram + at, &note, sizeof(note));
}

/* One look at a vCPU at pc; then what the writer's thread does. */
static void look_by(struct guest *g, us_gva pc, us_gpa root, bool user)
{
	static struct us_stack stack;
	static struct us_capture c;
	c = (struct us_capture){ .regs = { .pc = pc,
					   .space = { .root = root,
						      .mode = root ? US_PAGING_X86_4
								   : US_PAGING_OFF },
					   .user = user,
					   .bits = 64 } };
	stack = (struct us_stack){ .n = 1, .pc = { pc } };
	stack.flags[0] = user ? US_PC_USER : 0;
	us_paging_new_sample(&g->paging);
	us_images_sample(&g->images, &(struct us_live_sample){ .capture = &c,
							       .stack = &stack,
							       .paging = &g->paging,
							       .t_ns = g->t_ns });
	us_images_search(&g->images);
	g->t_ns += 2 * MS;
}

static void look_in(struct guest *g, us_gva pc, us_gpa root)
{
	look_by(g, pc, root, root != 0);
}

/* So many looks at code that begins there. */
static void run(struct guest *g, us_gva at, us_gpa root, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		look_in(g, at + 0x1000 + i * 0x777 % (TEXT_LEN - 0x2000), root);
}

/* The only place of an image that holds. */
static const struct us_place *place_of(const struct guest *g, unsigned image)
{
	const struct us_place *found = NULL;
	for (size_t k = 0; k < g->images.n_place; k++) {
		const struct us_place *p = &g->images.place[k];
		if (p->image != image || p->match != US_MATCH_YES || p->until_ns)
			continue;
		assert_null(found);
		found = p;
	}
	assert_non_null(found);
	return found;
}

static bool is_nowhere(const struct guest *g, unsigned image)
{
	for (size_t k = 0; k < g->images.n_place; k++)
		if (g->images.place[k].image == image &&
		    g->images.place[k].match == US_MATCH_YES &&
		    !g->images.place[k].until_ns)
			return false;
	return true;
}

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

/* Tables at root that map two MiB at va to pa (Intel SDM volume 3, 4.5). */
static void map(struct guest *g, us_gpa root, us_gva va, us_gpa pa)
{
	const uint64_t entry[3] = { (root + 0x1000) | 7, (root + 0x2000) | 7,
				    pa | 0x87 };
	const us_gpa at[3] = { root + (va >> 39 & 511) * 8,
			       root + 0x1000 + (va >> 30 & 511) * 8,
			       root + 0x2000 + (va >> 21 & 511) * 8 };
	for (int i = 0; i < 3; i++)
		memcpy(g->ram + at[i], &entry[i], 8);
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

/* ---- A page of the kernel that is at another address as well ---- */

#define PAGE   0x1000
#define COPIED (LINKED + 0x5000) /* the page */
#define COPY   0x1800000	 /* where it is, too */

/* In a sample: at pc, called by the kernel's own code or by nobody. */
static bool find_piece(struct guest *g, us_gva pc, us_gpa root, bool kernel_calls)
{
	static struct us_stack stack;
	static struct us_capture c;
	c = (struct us_capture){ .regs = { .pc = pc,
					   .space = { .root = root,
						      .mode = root ? US_PAGING_X86_4
								   : US_PAGING_OFF },
					   .bits = 64 } };
	stack = (struct us_stack){ .n = kernel_calls ? 2 : 1,
				   .pc = { pc, LINKED + 0x100 } };
	g->t_ns += 5000 * MS; /* whatever the pause after an attempt */
	us_paging_new_sample(&g->paging);
	return us_images_find_piece(&g->images,
				    &(struct us_live_sample){ .capture = &c,
							      .stack = &stack,
							      .paging = &g->paging,
							      .t_ns = g->t_ns });
}

static void begin_kernel(struct guest *g)
{
	begin(g, 1, "");
	load(g, 1, LINKED);
	run(g, LINKED, 0, 1);
	assert_int_equal(place_of(g, 0)->bias, 0);
	memcpy(g->ram + COPY, g->ram + COPIED, PAGE);
}

static void expect_piece(const struct guest *g, us_gva page)
{
	assert_int_equal(g->images.n_place, 2);
	const struct us_place *p = &g->images.place[1];
	assert_int_equal(p->match, US_MATCH_YES);
	assert_int_equal(p->start, page);
	assert_int_equal(p->end, page + PAGE);
	assert_int_equal(p->bias, page - COPIED);
	assert_true(us_images_cover(&g->images, 0, page));
	assert_true(us_images_cover(&g->images, 0, page + PAGE - 1));
	assert_false(us_images_cover(&g->images, 0, page - 1));
	assert_false(us_images_cover(&g->images, 0, page + PAGE));
}

static void a_page_that_was_copied(void **state)
{
	(void)state;
	struct guest g;
	begin_kernel(&g);
	assert_true(find_piece(&g, COPY + 0x123, 0, true));
	expect_piece(&g, COPY);
	assert_false(find_piece(&g, COPY + 0x456, 0, true)); /* it is known */
	end(&g, 1);
}

static void a_page_that_differs_is_none(void **state)
{
	(void)state;
	struct guest g;
	begin_kernel(&g);
	g.ram[COPY + 0xfff] ^= 1;
	assert_false(find_piece(&g, COPY + 0x123, 0, true));
	g.ram[COPY + 0xfff] ^= 1; /* it was tried: not in each sample again */
	assert_false(find_piece(&g, COPY + 0x123, 0, true));
	assert_int_equal(g.images.n_place, 1);
	end(&g, 1);
}

/* What says nothing: zeros; and a page of a kernel that is there as a whole, too. */
static void a_page_without_a_sign_is_none(void **state)
{
	(void)state;
	struct guest g;
	begin_kernel(&g);
	assert_false(find_piece(&g, COPY + PAGE, 0, true));
	memcpy(g.ram + COPY - PAGE, g.ram + COPIED - PAGE, PAGE);
	assert_false(find_piece(&g, COPY, 0, true));
	assert_false(find_piece(&g, COPY + 8, 0, false));
	assert_int_equal(g.images.n_place, 1);
	end(&g, 1);
}

/* The first sample of a program that enters may be there, in tables of its own. */
static void a_page_without_a_caller(void **state)
{
	(void)state;
	struct guest g;
	begin_kernel(&g);
	assert_true(find_piece(&g, COPY, 0, false));
	expect_piece(&g, COPY);
	end(&g, 1);
}

/* The same page by the tables of the guest, whatever its bytes. */
static void a_page_that_is_mapped_twice(void **state)
{
	(void)state;
	const us_gva again = 0x3fe00000 + (COPIED - LINKED);
	struct guest g;
	begin_kernel(&g);
	map(&g, 0x10000, LINKED, LINKED);
	map(&g, 0x10000, 0x3fe00000, LINKED);
	g.ram[COPIED + 0x10] ^= 1; /* the guest has patched it */
	assert_true(find_piece(&g, again + 0x123, 0x10000, true));
	expect_piece(&g, again);
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
		cmocka_unit_test(a_page_that_was_copied),
		cmocka_unit_test(a_page_that_differs_is_none),
		cmocka_unit_test(a_page_without_a_sign_is_none),
		cmocka_unit_test(a_page_without_a_caller),
		cmocka_unit_test(a_page_that_is_mapped_twice),
		cmocka_unit_test(names_without_a_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
