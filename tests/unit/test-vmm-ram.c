/* SPDX-License-Identifier: GPL-2.0-or-later */
/* RAM is found and read: made-up maps, made-up VMMs, and real QEMU. */
#include "made-up-vmm.h"
#include "qemu.h"

#include "vmm/qmp.h"
#include "vmm/ram.h"
#include "vmm/ram_file.h"
#include "vmm/ram_layout.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/mman.h>

#define MIB (1ULL << 20)
#define GIB (1ULL << 30)

static void hole_follows_the_machine(void **state)
{
	(void)state;
	/* As QEMU 7.2's `info mtree -f` showed for each. */
	static const struct {
		const char *machine;
		unsigned mib;
		uint64_t low; /* bytes below the hole */
	} t[] = {
		{ "", 3583, 3583 * MIB },	    { "pc", 3584, 3 * GIB },
		{ "pc-i440fx-7.2", 5000, 3 * GIB }, { "q35", 2815, 2815 * MIB },
		{ "pc-q35-7.2", 2816, 2 * GIB },    { "q35", 5000, 2 * GIB },
		{ "microvm", 3072, 3 * GIB },	    { "microvm", 3583, 3 * GIB },
	};
	for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++) {
		struct us_ram_query q = { .vmm = "qemu",
					  .machine = t[i].machine,
					  .memory = t[i].mib * MIB };
		uint64_t hole = us_ram_hole(&q);
		uint64_t low = q.memory < hole ? q.memory : hole;
		assert_int_equal(low, t[i].low);
	}
	struct us_ram_query q = {
		.vmm = "qemu", .machine = "q35", .memory = 8 * GIB, .below_4g = GIB
	};
	assert_int_equal(us_ram_hole(&q), GIB);
}

/* Maps in the making: addresses rise, `gap` bytes lie before each. */
static struct us_map maps_v[200];
static struct us_maps maps = { .v = maps_v };

static us_hva add_map(uint64_t gap, uint64_t size, const char *rights, const char *name)
{
	us_hva at = (maps.n ? maps_v[maps.n - 1].end : 0x7f0000000000) + gap;
	struct us_map *m = &maps_v[maps.n++];
	*m = (struct us_map){ .start = at,
			      .end = at + size,
			      .read = rights[0] == 'r',
			      .write = rights[1] == 'w',
			      .exec = rights[2] == 'x',
			      .shared = rights[3] == 's' };
	snprintf(m->name, sizeof(m->name), "%s", name);
	return at;
}

static unsigned guess(const char *vmm, const char *machine, uint64_t memory,
		      struct us_ram_layout *l)
{
	struct us_ram_query q = { .vmm = vmm, .machine = machine, .memory = memory };
	return us_ram_guess(&q, &maps, l);
}

static void check_piece(const struct us_ram_piece *p, us_gpa gpa, uint64_t size,
			us_hva hva)
{
	assert_int_equal(p->gpa, gpa);
	assert_int_equal(p->size, size);
	assert_int_equal(p->hva, hva);
}

static void guesses_from_maps(void **state)
{
	(void)state;
	static struct us_ram_layout l[US_RAM_LAYOUTS];
	/* One mapping among others; a stack of the same size comes first in memory. */
	maps.n = 0;
	add_map(4096, 64 * MIB, "rw-p", "[heap]");
	us_hva stack = add_map(12288, 64 * MIB, "rw-p", "");
	add_map(4096, 64 * MIB, "rwxp", "");
	us_hva ram = add_map((2 * MIB) - (maps_v[2].end % (2 * MIB)), 64 * MIB, "rw-p",
			     "");
	add_map(0, 4096, "---p", "");
	assert_int_equal(guess("qemu", "", 64 * MIB, l), 2);
	assert_int_equal(l[0].n, 1);
	check_piece(&l[0].piece[0], 0, 64 * MIB, ram);
	check_piece(&l[1].piece[0], 0, 64 * MIB, stack);
	assert_int_equal(guess("qemu", "", 65 * MIB, l), 0);

	/* One mapping for both sides of the hole. */
	maps.n = 0;
	ram = add_map(4096, 5 * GIB, "rw-s", "/memfd:x");
	assert_true(guess("qemu", "pc-q35-7.2", 5 * GIB, l) > 1);
	assert_int_equal(l[0].n, 2);
	check_piece(&l[0].piece[0], 0, 2 * GIB, ram);
	check_piece(&l[0].piece[1], 4 * GIB, 3 * GIB, ram + 2 * GIB);

	/* Two mappings: kvmtool, Firecracker. */
	maps.n = 0;
	ram = add_map(4096, 0xd0000000, "rwxp", "");
	add_map(0, 0x30000000, "---p", "");
	us_hva high = add_map(0, GIB, "rwxp", "");
	assert_int_equal(guess("lkvm", "", 0xd0000000 + GIB, l), 1);
	assert_int_equal(l[0].n, 2);
	check_piece(&l[0].piece[0], 0, 0xd0000000, ram);
	check_piece(&l[0].piece[1], 4 * GIB, GIB, high);
	/* ... and when nobody says how much there is. */
	assert_true(guess("own-vmm", "", 0, l) > 0);
	check_piece(&l[0].piece[0], 0, 0xd0000000, ram);
	check_piece(&l[0].piece[1], 4 * GIB, GIB, high);

	/* RAM whose parts have different rights (Solo5 protects its guest's text). */
	maps.n = 0;
	ram = add_map(4096, MIB, "rw-p", "");
	add_map(0, MIB, "r-xp", "");
	add_map(0, 30 * MIB, "rw-p", "");
	assert_int_equal(guess("solo5-hvt", "", 32 * MIB, l), 1);
	assert_int_equal(l[0].n, 1);
	check_piece(&l[0].piece[0], 0, 32 * MIB, ram);

	/* Unknown size: the largest comes first. */
	maps.n = 0;
	add_map(4096, 8 * MIB, "rw-p", "");
	ram = add_map(4096, 100 * MIB, "rw-p", "");
	assert_true(guess("own-vmm", "", 0, l) > 0);
	check_piece(&l[0].piece[0], 0, 100 * MIB, ram);

	/* Many of the same size: bounded. */
	maps.n = 0;
	for (int i = 0; i < 150; i++)
		add_map(4096, 8 * MIB, "rw-p", "");
	assert_int_equal(guess("qemu", "", 8 * MIB, l), US_RAM_LAYOUTS);
}

static bool has_layout(const struct us_ram_layout *l, unsigned n,
		       const struct us_ram_layout *want)
{
	for (unsigned i = 0; i < n; i++)
		if (l[i].n == want->n &&
		    !memcmp(l[i].piece, want->piece, want->n * sizeof(want->piece[0])))
			return true;
	return false;
}

/* RAM mapped part by part, as rust-vmm does, by a kernel that gives addresses as it
 * likes: whatever it makes of it must be among the guesses. */
static void check_parts(const char *vmm, bool told, int fd, const uint64_t *size,
			const us_gpa *at, unsigned n)
{
	static struct us_ram_layout l[US_RAM_LAYOUTS];
	struct us_ram_layout want = { 0 };
	struct us_maps all;
	uint64_t sum = 0;
	void *p[4];
	int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
	for (unsigned i = 0; i < n; i++) {
		p[i] = mmap(NULL, size[i], PROT_READ | PROT_WRITE,
			    flags | MAP_NORESERVE, fd, (off_t)(fd < 0 ? 0 : sum));
		assert_true(p[i] != MAP_FAILED);
		assert_true(us_ram_layout_add(&want, at[i], size[i], (uintptr_t)p[i]));
		sum += size[i];
	}
	struct us_ram_query q = { .vmm = vmm, .machine = "", .memory = told ? sum : 0 };
	assert_int_equal(us_maps_read(getpid(), &all, NULL), 0);
	unsigned found = us_ram_guess(&q, &all, l);
	us_maps_fini(&all);
	for (unsigned i = 0; i < n; i++)
		munmap(p[i], size[i]);
	assert_true(has_layout(l, found, &want));
}

static void guesses_parts_as_they_are_mapped(void **state)
{
	(void)state;
	const us_gpa at[] = { 0, 4 * GIB, 512 * GIB };
	const uint64_t new_gap[] = { 3 * GIB, 2 * GIB };
	const uint64_t old_gap[] = { 0xd0000000, GIB };
	const uint64_t far_gap[] = { 3 * GIB, 252 * GIB, 8 * GIB };
	int fd = memfd_create("guest_mem", MFD_CLOEXEC);
	assert_int_equal(ftruncate(fd, (off_t)(5 * GIB)), 0);
	for (int told = 0; told < 2; told++) {
		check_parts("firecracker", told, -1, new_gap, at, 2);
		check_parts("firecracker", told, -1, old_gap, at, 2);
		check_parts("firecracker", told, -1, far_gap, at, 3);
		check_parts("cloud-hypervisor", told, -1, new_gap, at, 2);
		check_parts("firecracker", told, fd, new_gap, at, 2);
		check_parts("crosvm", told, fd, old_gap, at, 2);
	}
	close(fd);
	/* Without a hole below 4 GiB. */
	assert_int_equal(us_ram_base_aarch64("firecracker"), 0x80000000);
	assert_int_equal(us_ram_base_aarch64("own-vmm"), 0);
	static struct us_ram_layout l[US_RAM_LAYOUTS];
	maps.n = 0;
	us_hva ram = add_map(4096, 300 * GIB, "rw-p", "");
	struct us_ram_query q = { .vmm = "firecracker",
				  .machine = "",
				  .memory = 300 * GIB,
				  .base = 0x80000000 };
	assert_int_equal(us_ram_guess(&q, &maps, l), 2);
	assert_int_equal(l[0].n, 2);
	check_piece(&l[0].piece[0], 2 * GIB, 254 * GIB, ram);
	check_piece(&l[0].piece[1], 512 * GIB, 46 * GIB, ram + 254 * GIB);
}

static void guesses_pieces(void **state)
{
	(void)state;
	static struct us_ram_layout l[US_RAM_LAYOUTS];
	maps.n = 0;
	us_hva b = add_map(4096, GIB, "rw-s", "/memfd:b");
	us_hva a = add_map(4096, 2 * GIB, "rw-s", "/memfd:a");
	uint64_t piece[] = { 2 * GIB, GIB };
	struct us_ram_query q = { .vmm = "qemu",
				  .machine = "q35",
				  .memory = 3 * GIB,
				  .piece = piece,
				  .n_piece = 2 };
	assert_true(us_ram_guess(&q, &maps, l) > 0);
	assert_int_equal(l[0].n, 2);
	check_piece(&l[0].piece[0], 0, 2 * GIB, a);
	check_piece(&l[0].piece[1], 4 * GIB, GIB, b);
	/* On a pc they lie side by side below the hole. */
	q.machine = "pc";
	assert_true(us_ram_guess(&q, &maps, l) > 0);
	check_piece(&l[0].piece[1], 2 * GIB, GIB, b);
}

/* Of two nodes of one size, the first is the higher one; else the lower one. */
static void guesses_pieces_of_one_size(void **state)
{
	(void)state;
	static struct us_ram_layout l[US_RAM_LAYOUTS];
	maps.n = 0;
	us_hva low = add_map(4096, 4 * GIB, "rw-s", "/memfd:x");
	us_hva high = add_map(4096, 4 * GIB, "rw-s", "/memfd:y");
	uint64_t piece[] = { 4 * GIB, 4 * GIB };
	struct us_ram_query q = { .vmm = "qemu",
				  .machine = "q35",
				  .memory = 8 * GIB,
				  .piece = piece,
				  .n_piece = 2 };
	unsigned n = us_ram_guess(&q, &maps, l), n_low = 0;
	assert_true(low < high && n > 1);
	check_piece(&l[0].piece[0], 0, 2 * GIB, high);
	for (unsigned i = 0; i < n; i++)
		n_low += l[i].piece[0].hva == low;
	assert_true(n_low > 0);
}

static void parses_mtree(void **state)
{
	(void)state;
	static const char text[] =
		"FlatView #1\n AS \"cpu-smm-0\", root: memory\n"
		"  0000000000000000-00000000000bffff (prio 0, ram): smm\n"
		"\nFlatView #2\n AS \"memory\", root: system\n Root memory region: x\n"
		"  0000000000000000-000000000009ffff (prio 0, ram): pc.ram KVM\n"
		"  00000000000a0000-00000000000bffff (prio 1, i/o): vga-lowmem\n"
		"  00000000000c0000-00000000000dffff (prio 1, rom): pc.rom\n"
		"  0000000000100000-0000000003ffffff (prio 0, ram): pc.ram @00100000\n"
		"  00000000fd000000-00000000fdffffff (prio 1, ramd): vfio\n"
		"  00000000fffc0000-00000000ffffffff (prio 0, romd): flash\n"
		"\nFlatView #3\n AS \"x\", root: y\n"
		"  0000000100000000-00000001ffffffff (prio 0, ram): not ours\n";
	static struct us_ram_layout l;
	assert_int_equal(us_ram_parse_mtree(text, &l), 4);
	check_piece(&l.piece[0], 0, 0xa0000, 0);
	check_piece(&l.piece[2], 0x100000, 0x3f00000, 0);
	check_piece(&l.piece[3], 0xfffc0000, 0x40000, 0);
	static const char *const bad[] = {
		"",
		"\n\n",
		"FlatView",
		" AS \"memory\"\n  5-4 (prio 0, ram): x\n",
		" AS \"memory\"\n  0-ffffffffffffffff (prio 0, ram): x\n",
		" AS \"memory\"\n  zz (prio\n",
		"unknown command: 'info mtree'\n",
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(us_ram_parse_mtree(bad[i], &l), 0);
	/* Ranges that go back, and more of them than there is room for. */
	char many[8192] = " AS \"memory\"\n";
	for (int i = 0; i < 60; i++)
		snprintf(many + strlen(many), 128, "  %x000-%x7ff (prio 0, ram): r\n",
			 i, i);
	assert_int_equal(us_ram_parse_mtree(many, &l), US_RAM_PIECES);
	assert_int_equal(us_ram_parse_mtree(" AS \"memory\"\n  1000-1fff (prio 0, ram)"
					    "\n  0-fff (prio 0, ram)\n",
					    &l),
			 1);
	assert_int_equal(us_ram_parse_hva("Host virtual address for 0x0 (pc.ram) is "
					  "0x7f9773e00000\r\n"),
			 0x7f9773e00000);
	assert_int_equal(us_ram_parse_hva("No memory is mapped at address 0xa0000\n"),
			 0);
	assert_int_equal(us_ram_parse_hva("Memory at 0x1 is 0x5"), 0);
}

/* The mapping of ours that begins at p. */
static struct us_map own_map(const void *p)
{
	struct us_maps all;
	struct us_map found = { 0 };
	assert_int_equal(us_maps_read(getpid(), &all, NULL), 0);
	for (size_t i = 0; i < all.n; i++)
		if (all.v[i].start == (uintptr_t)p)
			found = all.v[i];
	us_maps_fini(&all);
	assert_true(found.end > 0);
	return found;
}

static void reads_only_files_that_stay(void **state)
{
	(void)state;
	int fd = memfd_create("us-test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 65536), 0);
	assert_int_equal(pwrite(fd, "guest", 5, 8192), 5);
	char *shared = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	char *private = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	char *anon = mmap(NULL, 65536, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct us_ram_file f;
	struct us_map m = own_map(shared);

	us_ram_file_open(getpid(), &m, &f); /* ours alone */
	assert_true(f.fd > 0);
	assert_string_equal(f.kind, "memfd");
	char text[5];
	assert_int_equal(pread(f.fd, text, 5, (off_t)f.offset + 8192), 5);
	assert_memory_equal(text, "guest", 5);
	assert_true(us_ram_file_is_whole(&f));
	assert_int_equal(ftruncate(fd, 4096), 0);
	assert_false(us_ram_file_is_whole(&f));
	us_ram_file_close(&f);
	us_ram_file_open(getpid(), &m, &f); /* too short by now */
	assert_int_equal(f.fd, -1);
	us_ram_file_close(&f);
	assert_int_equal(ftruncate(fd, 65536), 0);

	/* A stranger's file may be cut by him, unless it is sealed. */
	if (getuid() == 0) {
		assert_int_equal(fchown(fd, 12345, 12345), 0);
		us_ram_file_open(getpid(), &m, &f);
		assert_int_equal(f.fd, -1);
		assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
		us_ram_file_open(getpid(), &m, &f);
		assert_true(f.fd > 0);
		us_ram_file_close(&f);
	}

	m = own_map(private);
	us_ram_file_open(getpid(), &m, &f);
	assert_int_equal(f.fd, -1);
	m = own_map(anon);
	us_ram_file_open(getpid(), &m, &f);
	assert_int_equal(f.fd, -1);
	munmap(shared, 65536);
	close(fd);

	/* A file with a name that anybody may write to. */
	char path[] = "/tmp/us-test-XXXXXX";
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 65536), 0);
	shared = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	m = own_map(shared);
	us_ram_file_open(getpid(), &m, &f);
	assert_true(f.fd > 0);
	assert_string_equal(f.kind, "file");
	us_ram_file_close(&f);
	assert_int_equal(fchmod(fd, 0666), 0);
	us_ram_file_open(getpid(), &m, &f);
	assert_int_equal(f.fd, -1);
	unlink(path);
	munmap(shared, 65536);
	munmap(private, 65536);
	munmap(anon, 65536);
	close(fd);
}

/*
 * A guest image of 64 KiB for address BASE: page tables for an identity map of the
 * first GiB at its begin, "code" after them, a pattern up to its end.
 */
#define BASE	   0x200000ULL
#define IMAGE_SIZE 65536
#define CODE	   (BASE + 0x4000)
#define STACK	   (BASE + 0x8000)

static void make_image(uint8_t *image)
{
	uint64_t *pml4 = (uint64_t *)image, *pdpt = pml4 + 512, *pd = pdpt + 512;
	memset(image, 0, IMAGE_SIZE);
	pml4[0] = (BASE + 0x1000) | 3;
	pdpt[0] = (BASE + 0x2000) | 3;
	for (uint64_t i = 0; i < 512; i++)
		pd[i] = i * 2 * MIB | 0x83;
	for (unsigned i = 0x4000; i < IMAGE_SIZE; i++)
		image[i] = (uint8_t)(i * 7 + i / 256);
}

static struct us_regs make_regs(us_gpa root)
{
	return (struct us_regs){ .pc = CODE,
				 .sp = STACK,
				 .bits = 64,
				 .space = { .root = root, .mode = US_PAGING_X86_4 } };
}

static void check_verify(struct us_ram *r)
{
	struct us_err e = { 0 };
	bool tried;
	struct us_regs regs = make_regs(BASE);
	assert_int_equal(us_ram_verify(r, &regs, &tried, &e), 0);
	assert_true(tried);
	regs = make_regs(BASE + 0x9000); /* the pattern is no page table */
	assert_int_equal(us_ram_verify(r, &regs, &tried, &e), -EILSEQ);
	assert_true(e.hint[0]);
	regs = make_regs(0x4000); /* and neither are zeroes */
	assert_int_equal(us_ram_verify(r, &regs, &tried, &e), -EILSEQ);
	regs.space.mode = US_PAGING_OFF;
	assert_int_equal(us_ram_verify(r, &regs, &tried, &e), 0);
	assert_false(tried);
}

static void check_reads(struct us_ram *r, const uint8_t *image, us_gpa at)
{
	static uint8_t got[IMAGE_SIZE];
	us_mem_new_sample(us_ram_mem(r));
	assert_true(us_mem_read(us_ram_mem(r), at, got, sizeof(got)));
	assert_memory_equal(got, image, sizeof(got));
}

struct made_up {
	uint64_t decoy, size;
	const uint8_t *image;
};

/* Guards keep the two apart from each other and from the rest. */
static bool be_made_up(const void *what)
{
	const struct made_up *m = what;
	int prot = PROT_READ | PROT_WRITE;
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	char *p = mmap(NULL, m->decoy + m->size + 3 * 4096, PROT_NONE, flags, -1, 0);
	if (p == MAP_FAILED || (m->decoy && mprotect(p + 4096, m->decoy, prot) < 0) ||
	    mprotect(p + m->decoy + 8192, m->size, prot) < 0)
		return false;
	memcpy(p + m->decoy + 8192 + BASE, m->image, IMAGE_SIZE);
	return true;
}

static struct us_guest start_made_up(const char *vmm, uint64_t told, uint64_t decoy,
				     const uint8_t *image, uint64_t size)
{
	struct us_guest g = { .accel = US_ACCEL_KVM, .memory = told };
	struct made_up m = { .decoy = decoy, .size = size, .image = image };
	snprintf(g.vmm, sizeof(g.vmm), "%s", vmm);
	assert_true(begin_made_up(&g, be_made_up, &m));
	return g;
}

static void verify_picks_the_layout_that_holds(void **state)
{
	(void)state;
	static uint8_t image[IMAGE_SIZE];
	make_image(image);
	/* An odd size, that nothing else in the process has. */
	uint64_t size = 34 * MIB + 8192;
	struct us_guest g = start_made_up("own-vmm", size, size, image, size);
	struct us_ram *r;
	struct us_err e = { 0 };
	assert_int_equal(us_ram_open(&g, NULL, &r, &e), 0);
	check_verify(r);
	struct us_regs regs = make_regs(BASE);
	bool tried;
	assert_int_equal(us_ram_verify(r, &regs, &tried, &e), 0);
	check_reads(r, image, BASE);
	us_ram_close(r);

	g.memory = size + 4096; /* the command line lies */
	assert_int_equal(us_ram_open(&g, NULL, &r, &e), -ENOENT);
	g.memory = size;
	g.start_time++; /* the pid was reused */
	assert_int_equal(us_ram_open(&g, NULL, &r, &e), -ESRCH);
	end_made_up(&g);
	assert_int_equal(us_ram_open(&g, NULL, &r, &e), -ENOENT);
}

static void guesses_when_nobody_says(void **state)
{
	(void)state;
	static uint8_t image[IMAGE_SIZE];
	make_image(image);
	/* The largest mapping is not RAM: it takes the check to find that out. */
	struct us_guest g = start_made_up("own-vmm", 0, 4 * GIB, image, GIB + 8192);
	struct us_ram *r;
	struct us_err e = { 0 };
	assert_int_equal(us_ram_open(&g, NULL, &r, &e), 0);
	struct us_regs regs = make_regs(BASE);
	bool tried;
	assert_int_equal(us_ram_verify(r, &regs, &tried, &e), 0);
	assert_false(us_ram_is_file(r));
	check_reads(r, image, BASE);
	us_ram_close(r);
	end_made_up(&g);
}

/* Compare with what QEMU's own monitor reads, 64 bytes. */
static void check_xp(struct us_ram *r, struct us_qmp *q, us_gpa at)
{
	char line[64], text[4096];
	struct us_err e;
	uint8_t ours[64];
	snprintf(line, sizeof(line), "xp /64xb 0x%" PRIx64, at);
	assert_int_equal(us_qmp_human(q, line, -1, text, sizeof(text), &e), 0);
	us_mem_new_sample(us_ram_mem(r));
	assert_true(us_mem_read(us_ram_mem(r), at, ours, sizeof(ours)));
	const char *p = text;
	for (unsigned i = 0; i < sizeof(ours); i++) {
		unsigned v;
		p = strstr(p, " 0x");
		assert_non_null(p);
		assert_int_equal(sscanf(p, " 0x%x", &v), 1);
		assert_int_equal(v, ours[i]);
		p += 3;
	}
}

static void reads_qemu(const char *args, bool memfd, us_gpa high)
{
	static uint8_t image[IMAGE_SIZE];
	struct qemu vm;
	struct us_qmp *q;
	struct us_err e = { 0 };
	static struct us_guest g;
	make_image(image);
	/* Into a folder of its own, which QEMU finds as its working directory. */
	char here[PATH_MAX], folder[] = "/tmp/us-test-XXXXXX";
	assert_non_null(getcwd(here, sizeof(here)));
	assert_non_null(mkdtemp(folder));
	assert_int_equal(chdir(folder), 0);
	FILE *f = fopen("image.bin", "w");
	assert_non_null(f);
	assert_int_equal(fwrite(image, 1, sizeof(image), f), sizeof(image));
	fclose(f);
	qemu_start(&vm, args);
	assert_true(qemu_wait_file(&vm, vm.qmp));
	assert_int_equal(us_qmp_open(vm.qmp, &q, &e), 0);
	assert_int_equal(us_guest_inspect(vm.pid, &g, &e), 0);
	unlink("image.bin");
	assert_int_equal(chdir(here), 0);
	rmdir(folder);
	for (int with_monitor = 0; with_monitor < 2; with_monitor++) {
		struct us_ram *r;
		assert_int_equal(us_ram_open(&g, with_monitor ? q : NULL, &r, &e), 0);
		assert_non_null(strstr(us_ram_how(r),
				       with_monitor ? "the monitor" : "the maps"));
		assert_non_null(
			strstr(us_ram_how(r), memfd ? "memfd," : "process_vm_readv"));
		if (!with_monitor)
			assert_int_equal(us_mem_size(us_ram_mem(r)), g.memory);
		check_reads(r, image, BASE);
		if (high)
			check_reads(r, image, high);
		check_xp(r, q, BASE + 12345);
		check_xp(r, q, 0x1000);
		if (with_monitor) /* the BIOS is no RAM: the maps do not have it */
			check_xp(r, q, 0xfffffff0 - 48);
		check_verify(r);
		us_ram_close(r);
	}
	us_qmp_close(q);
	qemu_stop(&vm);
}

#define LOAD "file=image.bin,force-raw=on"
#define COMMON                                                                         \
	" -S -qmp unix:%s/qmp,server=on,wait=off"                                      \
	" -device loader,addr=0x200000," LOAD
#define HIGH " -m 5000 -device loader,addr=0x140000000," LOAD

static void need_qemu(void)
{
	if (!have_program(QEMU)) {
		print_message("# SKIP: no " QEMU " here\n");
		skip();
	}
}

static void reads_qemu_anonymous(void **state)
{
	(void)state;
	need_qemu();
	reads_qemu("-m 64" COMMON, false, 0);
}

static void reads_qemu_memfd(void **state)
{
	(void)state;
	need_qemu();
	reads_qemu("-m 64 -object memory-backend-memfd,id=m,size=64M,share=on"
		   " -machine q35,memory-backend=m" COMMON,
		   true, 0);
}

static void reads_qemu_beyond_the_hole(void **state)
{
	(void)state;
	need_qemu();
	/* RAM from 4 GiB on is another offset into QEMU's memory on each machine. */
	reads_qemu("-machine pc" COMMON HIGH, false, 0x140000000);
	reads_qemu("-machine q35" COMMON HIGH, false, 0x140000000);
}

static void reads_qemu_nodes(void **state)
{
	(void)state;
	need_qemu();
	reads_qemu("-machine q35 -object memory-backend-memfd,id=a,size=2000M,share=on"
		   " -object memory-backend-memfd,id=b,size=3000M,share=on"
		   " -numa node,memdev=a -numa node,memdev=b -smp 2" COMMON HIGH,
		   true, 0x140000000);
}

static void reads_qemu_kvm(void **state)
{
	(void)state;
	need_qemu();
	if (!have_kvm()) {
		print_message("# SKIP: no /dev/kvm here\n");
		skip();
	}
	reads_qemu("-accel kvm -m 64" COMMON, false, 0);
}

/* A distribution's qemu-kvm says nothing of what it runs: it is the host's kind. */
static void the_base_is_told_by_name_or_host(void **state)
{
	(void)state;
	static const struct {
		const char *exe, *host, *machine;
		us_gpa base;
		bool known;
	} cases[] = {
		{ "/usr/libexec/qemu-kvm", "aarch64", "virt-rhel9.6.0", GIB, true },
		{ "/usr/libexec/qemu-kvm", "riscv64", "virt", 2 * GIB, true },
		{ "/usr/libexec/qemu-kvm", "x86_64", "pc-q35-rhel9.6.0", 0, true },
		{ "/usr/libexec/qemu-kvm", "aarch64", "sbsa-ref", 0, false },
		{ "/usr/bin/qemu-system-x86_64", "aarch64", "q35", 0, true },
		{ "/usr/bin/qemu-system-i386", "aarch64", "", 0, true },
		{ "/usr/bin/qemu-system-aarch64", "x86_64", "virt,gic-version=3", GIB,
		  true },
		{ "/usr/bin/qemu-system-aarch64", "aarch64", "raspi3b", 0, false },
		{ "/nix/.qemu-system-riscv64-wrapped", "x86_64", "virt", 2 * GIB,
		  true },
		{ "/usr/bin/qemu-system-ppc64", "x86_64", "virt", 0, false },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		us_gpa base = 1;
		assert_int_equal(us_ram_base_qemu(cases[i].exe, cases[i].host,
						  cases[i].machine, &base),
				 cases[i].known);
		if (cases[i].known)
			assert_int_equal(base, cases[i].base);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_base_is_told_by_name_or_host),
		cmocka_unit_test(hole_follows_the_machine),
		cmocka_unit_test(guesses_from_maps),
		cmocka_unit_test(guesses_parts_as_they_are_mapped),
		cmocka_unit_test(guesses_pieces),
		cmocka_unit_test(guesses_pieces_of_one_size),
		cmocka_unit_test(parses_mtree),
		cmocka_unit_test(reads_only_files_that_stay),
		cmocka_unit_test(verify_picks_the_layout_that_holds),
		cmocka_unit_test(guesses_when_nobody_says),
		cmocka_unit_test(reads_qemu_anonymous),
		cmocka_unit_test(reads_qemu_memfd),
		cmocka_unit_test(reads_qemu_beyond_the_hole),
		cmocka_unit_test(reads_qemu_nodes),
		cmocka_unit_test(reads_qemu_kvm),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
