/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copies of stacks, on a hypervisor that is made up: each is what a walk of the tables
 * reads at that moment, whatever was mapped for the one before. */
#include "fake-xen.h"

#include "backend/xen/stacks.h"
#include "base/random.h"

#define N_ROOT	 2
#define N_DATA	 6 /* frames that may be a page of the stack */
#define STACK	 0xffffffff80101000ull
#define ROUNDS	 20000
#define PER_ROOT 4 /* tables, one for each level */

/* Frames: the tables of each root, then the data. */
static unsigned table_of(unsigned root, unsigned level)
{
	return root * PER_ROOT + level;
}

static unsigned data(unsigned n)
{
	return N_ROOT * PER_ROOT + n;
}

static void put_entry(unsigned table, unsigned index, uint64_t entry)
{
	memcpy(&fake_xen->memory[table][index * 8], &entry, 8);
}

/* Two pages of stack; frame N_DATA: not there. */
static void put_page(unsigned root, unsigned page, unsigned frame, uint64_t flags)
{
	put_entry(table_of(root, 3), 0x101 + page,
		  frame < N_DATA ? machine(data(frame)) | flags : 0);
}

static void put_tables(void)
{
	for (unsigned r = 0; r < N_ROOT; r++) {
		put_entry(table_of(r, 0), 511, machine(table_of(r, 1)) | 7);
		put_entry(table_of(r, 1), 510, machine(table_of(r, 2)) | 7);
		put_entry(table_of(r, 2), 0, machine(table_of(r, 3)) | 7);
		put_page(r, 0, r, 7);
		put_page(r, 1, r + 2, 7);
	}
}

/* Each mapping has an address of its own, where nothing is once it is gone. */
static const void *map_apart(void *h, uint32_t domain, const uint64_t *frame,
			     unsigned n)
{
	void *page = (void *)(uintptr_t)fake_map(h, domain, frame, n);
	void *alias = page ? mremap(page, 0, US_XEN_PAGE, MREMAP_MAYMOVE) : NULL;
	return alias == MAP_FAILED ? NULL : alias;
}

static void unmap_apart(void *h, const void *pages, unsigned n)
{
	fake_unmap(h, pages, n);
	munmap((void *)(uintptr_t)pages, US_XEN_PAGE);
}

struct fixture {
	struct us_xen_calls calls;
	struct us_xen_pages pages;
	struct us_mem mem;
	struct us_xen_stacks stacks;
	struct us_paging
		plain; /* what the copies are held against, by pages of its own */
	struct us_xen_pages plain_pages;
	struct us_mem plain_mem;
	uint64_t now_ns, random;
	unsigned n_short;
};

static struct us_mem memory_of(struct us_xen_pages *p)
{
	struct us_mem m = { .page = us_xen_pages_get, .ctx = p };
	us_mem_init(&m);
	return m;
}

static void open_it(struct fixture *f)
{
	fake_setup(1);
	put_tables();
	f->calls = fake_calls;
	f->calls.map = map_apart;
	f->calls.unmap = unmap_apart;
	us_xen_pages_init(&f->pages, &f->calls, fake_xen, FAKE_DOMAIN);
	us_xen_pages_init(&f->plain_pages, &f->calls, fake_xen, FAKE_DOMAIN);
	f->mem = memory_of(&f->pages);
	f->plain_mem = memory_of(&f->plain_pages);
	us_paging_init(&f->plain, &f->plain_mem);
	f->now_ns = us_now_ns();
	f->random = 1;
	assert_int_equal(us_xen_stacks_init(&f->stacks, &f->mem, &f->pages, 1, NULL),
			 0);
}

static void close_it(struct fixture *f)
{
	us_xen_stacks_fini(&f->stacks);
	us_xen_pages_fini(&f->pages);
	us_xen_pages_fini(&f->plain_pages);
	assert_int_equal(fake_xen->n_map, fake_xen->n_unmap);
}

static unsigned below(struct fixture *f, unsigned n)
{
	return (unsigned)(us_random_share(&f->random) * n);
}

static struct us_regs regs_at(us_gva sp, unsigned root)
{
	return (struct us_regs){ .sp = sp,
				 .space = { .root = machine(table_of(root, 0)),
					    .mode = US_PAGING_X86_4 } };
}

/* A sample: the copy, byte by byte against the tables of now; then it was unwound. */
static struct us_stack_copy check_copy(struct fixture *f, us_gva sp, unsigned root,
				       uint32_t used)
{
	struct us_regs r = regs_at(sp, root);
	struct us_stack_copy c;
	uint8_t want[US_XEN_STACK_MOST];
	us_xen_stacks_new_sample(&f->stacks);
	us_xen_stacks_copy(&f->stacks, 0, &r, &c);
	const struct us_stack_window *w = &c.window[0];
	assert_int_equal(w->base, sp);
	assert_false(c.missed);
	us_paging_new_sample(&f->plain);
	if (w->len) {
		assert_true(us_paging_read(&f->plain, &r.space, sp, want, w->len));
		assert_memory_equal(w->bytes, want, w->len);
	}
	/* It ends where it should, or where there is no memory. */
	if (w->len < f->stacks.vcpu[0].size)
		assert_false(us_paging_read(&f->plain, &r.space, sp + w->len, want, 1));
	f->n_short += w->len < f->stacks.vcpu[0].size;
	c.deepest = used < w->len ? used : w->len;
	us_xen_stacks_learn(&f->stacks, 0, &c);
	f->now_ns += 20000;
	us_xen_pages_settle(&f->pages, f->now_ns);
	us_xen_pages_settle(&f->plain_pages, f->now_ns);
	return c;
}

/* What a guest, or time, can do between two samples. */
static void change_something(struct fixture *f, us_gva *sp, unsigned *root)
{
	switch (below(f, 12)) {
	case 0:
		put_page(below(f, N_ROOT), below(f, 2), below(f, N_DATA), 7);
		break;
	case 1: /* only what the processor sets */
		put_page(*root, 0, *root, 0x67);
		break;
	case 2:
		*root = below(f, N_ROOT);
		break;
	case 3:
		*sp = STACK + 8 * below(f, 1000);
		break;
	case 4:
		put_page(*root, below(f, 2), N_DATA, 0);
		break;
	case 5: /* mappings are renewed, or dropped */
		f->now_ns += below(f, 3) * US_XEN_PAGE_NS;
		us_xen_pages_settle(&f->pages, f->now_ns);
		break;
	default:
		fake_xen->memory[data(below(f, N_DATA))][below(f, US_XEN_PAGE)]++;
		break;
	}
}

static void copies_are_what_the_tables_say(void **state)
{
	(void)state;
	static struct fixture f;
	us_gva sp = STACK + 0xf00;
	unsigned root = 0;
	open_it(&f);
	for (unsigned i = 0; i < ROUNDS; i++) {
		change_something(&f, &sp, &root);
		check_copy(&f, sp, root, 8 * below(&f, 60));
	}
	print_message("# %u of %u ended where there was no memory; %u maps\n",
		      f.n_short, ROUNDS, f.pages.n_change);
	assert_true(f.n_short);
	close_it(&f);
}

static const uint8_t *no_page(void *ctx, us_gpa pa)
{
	(void)ctx, (void)pa;
	return NULL;
}

/* What it is for: a stack that stays is found without a walk, and its pages count as
 * used. */
static void a_stack_that_stays_keeps_its_pages(void **state)
{
	(void)state;
	static struct fixture f;
	open_it(&f);
	for (unsigned i = 0; i < 500; i++)
		check_copy(&f, STACK + 0xf00, 0, 0x100);
	assert_int_equal(f.stacks.vcpu[0].size, 0x100);
	f.mem.page = no_page; /* a walk would find nothing */
	for (unsigned i = 0; i < 500; i++) {
		fake_xen->memory[data(0)][0xf00 + i % 0x100]++;
		assert_int_equal(check_copy(&f, STACK + 0xf00, 0, 0x100).window[0].len,
				 0x100);
	}
	f.mem.page = us_xen_pages_get;
	/* Used by the sample that was settled last: others make room. */
	const struct us_xen_stack_page *page = &f.stacks.vcpu[0].page;
	assert_int_equal(page->bytes->used + 1, f.pages.settled);
	assert_int_equal(page->entries->used + 1, f.pages.settled);
	unsigned n = f.pages.n;
	for (unsigned i = 0; i < 5; i++) {
		check_copy(&f, STACK + 0xf00, 0, 0x100);
		f.now_ns += US_XEN_PAGE_NS;
		us_xen_pages_settle(&f.pages, f.now_ns);
	}
	assert_in_range(f.pages.n, 2, n); /* the table and the page are there */
	close_it(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies_are_what_the_tables_say),
		cmocka_unit_test(a_stack_that_stays_keeps_its_pages),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
