/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * placed-guest.h: a guest with made-up memory, images that are loaded into it, and
 * looks at it, one at a time: what us_images finds is compared with where they were
 * put.
 */
#ifndef US_TEST_PLACED_GUEST_H
#define US_TEST_PLACED_GUEST_H

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
/* Their first part is linked here, for the kernel, and the rest at LINKED; 0: not. */
#define KERNEL_LEN (TEXT_LEN / 4 * 3)
static us_gva kernel_at;

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
	if (kernel_at) {
		h.e_phnum = 2;
		p[0].p_vaddr = kernel_at;
		p[0].p_filesz = p[0].p_memsz = KERNEL_LEN;
		p[1] = p[0];
		p[1].p_filesz = p[1].p_memsz = TEXT_LEN - KERNEL_LEN;
		p[1].p_offset += KERNEL_LEN;
		p[1].p_vaddr = LINKED;
	}
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
static inline void begin_of(struct guest *g, unsigned n, const char *suffix,
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

static inline void begin(struct guest *g, unsigned n, const char *suffix)
{
	begin_of(g, n, suffix, NULL);
}

static inline void end(struct guest *g, unsigned n)
{
	us_images_fini(&g->images);
	for (unsigned i = 0; i < n; i++)
		close(g->fd[i]);
	free(g->ram);
}

static inline void load(struct guest *g, uint32_t seed, us_gpa at)
{
	const struct note note = note_of(g->build_id);
	make_text(g->ram + at, seed);
	if (g->build_id)
		memcpy(g->ram + at, &note, sizeof(note));
}

/* One look at a vCPU at pc; then what the writer's thread does. */
static inline void look_by(struct guest *g, us_gva pc, us_gpa root, bool user)
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

static inline void look_in(struct guest *g, us_gva pc, us_gpa root)
{
	look_by(g, pc, root, root != 0);
}

/* So many looks at code that begins there. */
static inline void run(struct guest *g, us_gva at, us_gpa root, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		look_in(g, at + 0x1000 + i * 0x777 % (TEXT_LEN - 0x2000), root);
}

/* The only place of an image that holds. */
static inline const struct us_place *place_of(const struct guest *g, unsigned image)
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

static inline bool is_nowhere(const struct guest *g, unsigned image)
{
	for (size_t k = 0; k < g->images.n_place; k++)
		if (g->images.place[k].image == image &&
		    g->images.place[k].match == US_MATCH_YES &&
		    !g->images.place[k].until_ns)
			return false;
	return true;
}

/* Tables at root that map two MiB at va to pa (Intel SDM volume 3, 4.5). */
static inline void map(struct guest *g, us_gpa root, us_gva va, us_gpa pa)
{
	const uint64_t entry[3] = { (root + 0x1000) | 7, (root + 0x2000) | 7,
				    pa | 0x87 };
	const us_gpa at[3] = { root + (va >> 39 & 511) * 8,
			       root + 0x1000 + (va >> 30 & 511) * 8,
			       root + 0x2000 + (va >> 21 & 511) * 8 };
	for (int i = 0; i < 3; i++)
		memcpy(g->ram + at[i], &entry[i], 8);
}

#endif
