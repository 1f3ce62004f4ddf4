/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When a kernel that is in use is read again: if a sample is where its modules are, and
 * their list has changed.  And when there is none. */
#include "unit.h"

#include "cmd/record/kernel.h"

#include <string.h>

#define MS	1000000ULL
#define TEXT	0xffffffff81000000ULL
#define LIST	0xffffffff82000000ULL
#define MODULES 0xffffffffc0000000ULL /* one of a page; the rest is nobody's */

static uint64_t links[2];
static bool hidden; /* the list: the tables of user mode do not map it */
static struct us_mem mem;
static struct us_paging paging;
static struct us_linux guest;
static struct us_linux_module module;
static struct us_linux_module_orc orc;
static struct us_kernel kernel;
static struct us_capture capture;
static struct us_stack stack;

/* Page tables, if there are any: the kernel with one large page, and one page of
 * elsewhere at ENTRY. */
#define ENTRY 0xfffffe0000006000ULL
#define PHYS  0x1000000ULL
#define LARGE 0x80

static struct {
	us_gpa at;
	uint64_t v;
} entry[] = {
	{ 0x2000 + 8 * 511, 0x3003 },
	{ 0x3000 + 8 * 510, 0x4003 },
	{ 0x4000 + 8 * 8, PHYS | LARGE | 3 },
	{ 0x2000 + 8 * 508, 0x5003 },
	{ 0x5000, 0x6003 },
	{ 0x6000, 0x7003 },
	{ 0x7000 + 8 * 6, 0 }, /* of ENTRY */
};

static bool read_tables(void *ctx, us_gpa at, void *buf, size_t len)
{
	(void)ctx;
	memset(buf, 0, len);
	for (size_t k = 0; k < sizeof(entry) / sizeof(*entry); k++)
		if (entry[k].at >= at && entry[k].at + 8 <= at + len)
			memcpy((uint8_t *)buf + (entry[k].at - at), &entry[k].v, 8);
	return true;
}

static bool read_guest(void *ctx, us_gpa at, void *buf, size_t len)
{
	(void)ctx;
	memset(buf, 0, len);
	for (us_gpa k = 0; k < sizeof(links); k++)
		if (LIST + k - at < len)
			((uint8_t *)buf)[LIST + k - at] = ((uint8_t *)links)[k];
	return !hidden;
}

static int set_up(void **state)
{
	(void)state;
	hidden = false;
	links[0] = MODULES + 0x4000;
	links[1] = MODULES + 0x4000;
	mem = (struct us_mem){ .read = read_guest };
	us_mem_init(&mem);
	us_paging_init(&paging, &mem);
	module = (struct us_linux_module){ .start = MODULES, .end = MODULES + 4096 };
	guest = (struct us_linux){
		.modules = { .v = &module, .n = 1, .orc = &orc, .head = LIST }
	};
	memcpy(guest.modules.links, links, sizeof(links));
	memset(&kernel, 0, sizeof(kernel));
	static struct us_images images;
	kernel.images = &images;
	kernel.read[0] = &guest;
	atomic_store(&kernel.n, 1);
	atomic_store(&kernel.state, US_KERNEL_IN_USE);
	kernel.check_ns = UINT64_MAX;
	kernel.source.mem = &mem;
	kernel.source.place = (struct us_linux_place){
		.start = TEXT, .size = 1U << 24, .arch = us_linux_arch(US_ARCH_X86_64)
	};
	sem_init(&kernel.wake, 0, 0);
	capture.regs = (struct us_regs){ .bits = 64, .arch = US_ARCH_X86_64 };
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sem_destroy(&kernel.wake);
	return 0;
}

/* A sample with this caller: is the kernel being read now? */
static bool is_read(uint64_t t_ns, us_gva caller)
{
	const struct us_live_sample l = {
		.capture = &capture, .stack = &stack, .paging = &paging, .t_ns = t_ns
	};
	stack.n = 2;
	stack.pc[0] = TEXT + 16;
	stack.pc[1] = caller;
	us_paging_new_sample(&paging);
	us_kernel_sample(&kernel, &l);
	return atomic_load(&kernel.state) == US_KERNEL_READ;
}

/* Compiled BPF programs and trampolines are where modules are, and in no list. */
static void code_of_no_module(void **state)
{
	(void)state;
	for (unsigned k = 1; k < 1000; k++)
		assert_false(is_read(k * 100 * MS, MODULES + 0x2000));
	assert_int_equal(kernel.pause_ns, 0); /* a new module is noticed at once */
	links[0] = MODULES + 0x8000;
	assert_true(is_read(100000 * MS, MODULES + 0x2000));
}

/* It is where another one was. */
static void a_module_is_replaced(void **state)
{
	(void)state;
	assert_false(is_read(100 * MS, MODULES + 16));
	links[0] = MODULES + 0x8000;
	assert_false(is_read(200 * MS, TEXT + 32)); /* nothing to name there */
	assert_false(is_read(201 * MS, TEXT + (1U << 25)));
	assert_true(is_read(300 * MS, MODULES + 16));
}

static void the_list_cannot_be_read(void **state)
{
	(void)state;
	links[0] = MODULES + 0x8000;
	hidden = true;
	assert_false(is_read(100 * MS, MODULES + 0x2000));
	hidden = false;
	assert_true(is_read(200 * MS, MODULES + 0x2000));
}

/* Whatever the guest does with its list, it is read only so many times. */
static void not_for_ever(void **state)
{
	(void)state;
	for (unsigned n = 2; n <= 8; n++) {
		kernel.read[n - 1] = &guest;
		atomic_store(&kernel.n, n);
		atomic_store(&kernel.state, US_KERNEL_IN_USE);
		links[0] += 64;
		assert_int_equal(is_read(n * 10000 * MS, MODULES + 16), n < 8);
	}
}

/* May the next sample show where the kernel is? */
static bool is_unseen_after(enum us_arch arch, bool user)
{
	static uint64_t t_ns;
	capture.regs.arch = arch;
	capture.regs.user = user;
	capture.regs.pc = user ? 0x400000 : 0xfffffbfffdbf7c80;
	t_ns += 100000 * MS;
	assert_false(is_read(t_ns, 0x400000));
	return us_kernel_unseen(&kernel);
}

/* A busy program's samples do not show it, and those of its kernel's entry by the
 * tables of user mode neither. */
static void programs_hide_the_kernel(void **state)
{
	(void)state;
	atomic_store(&kernel.state, US_KERNEL_WANTED);
	for (unsigned k = 0; k < 200; k++)
		assert_true(is_unseen_after(US_ARCH_AARCH64, true));
	assert_true(is_unseen_after(US_ARCH_AARCH64, false));
	kernel.read[0] = NULL;
	atomic_store(&kernel.n, 0);
	assert_non_null(strstr(us_kernel_no_tasks(&kernel), "only programs"));
	/* None of many: it is another kernel. */
	for (unsigned k = 0; k < 22; k++)
		assert_true(is_unseen_after(US_ARCH_AARCH64, false));
	assert_false(is_unseen_after(US_ARCH_AARCH64, false));
	assert_non_null(strstr(us_kernel_no_tasks(&kernel), "no 64-bit Linux"));
}

static void any_sample_shows_that_of_x86(void **state)
{
	(void)state;
	atomic_store(&kernel.state, US_KERNEL_WANTED);
	assert_false(is_unseen_after(US_ARCH_X86_64, true));
}

/* The name at pc after a sample there, or NULL. */
static const char *name_at(us_gva pc, uint64_t leaf, struct us_linux_name *ret)
{
	const struct us_live_sample l = {
		.capture = &capture, .stack = &stack, .paging = &paging, .t_ns = MS
	};
	mem.read = read_tables;
	us_mem_init(&mem);
	us_paging_init(&paging, &mem);
	entry[6].v = leaf;
	guest.space = (struct us_space){ .mode = US_PAGING_X86_4, .root = 0x2000 };
	kernel.n_tried = 0;
	kernel.n_alias = 0;
	memset(kernel.alias_tried, 0, sizeof(kernel.alias_tried));
	stack.n = 1;
	stack.pc[0] = capture.regs.pc = pc;
	us_kernel_sample(&kernel, &l);
	return us_kernel_alias_name(&kernel, 0, pc, ret) ? ret->name : NULL;
}

/* Where programs enter a kernel with page-table isolation. */
static void a_page_of_the_image(void **state)
{
	(void)state;
	static char names[] = "first\0tramp\0last";
	struct us_kallsym v[] = { { TEXT, 0, 'T' }, { TEXT + 0x9000, 12, 'T' }, { 0 } };
	struct us_linux_name n;
	kernel.source.place.size = 1U << 21;
	guest.symbols = (struct us_kallsyms){ .v = v, .n = 2, .names = names };
	assert_string_equal(name_at(ENTRY + 0x20, PHYS + 0x5003, &n), "[kernel entry]");
	assert_true(n.start == ENTRY && n.end == ENTRY + 0x1000);
	assert_string_equal(n.module, "linux");
	v[2] = v[1];
	v[1] = (struct us_kallsym){ TEXT + 0x5010, 6, 't' };
	guest.symbols.n = 3;
	assert_string_equal(name_at(ENTRY + 0x20, PHYS + 0x5003, &n), "tramp");
	assert_true(n.start == ENTRY + 0x10 && n.end == ENTRY + 0x1000);
	assert_string_equal(name_at(ENTRY + 8, PHYS + 0x5003, &n), "[kernel entry]");
	assert_true(n.start == ENTRY && n.end == ENTRY + 0x10);
}

static void a_page_of_others(void **state)
{
	(void)state;
	struct us_linux_name n;
	kernel.source.place.size = 1U << 21;
	assert_null(name_at(ENTRY, 0, &n));
	assert_null(name_at(ENTRY, PHYS + (1 << 21) + 3, &n));
	assert_null(name_at(ENTRY, PHYS - 0x1000 + 3, &n));
	assert_null(name_at(ENTRY, 1ULL << 63 | (PHYS + 0x5003), &n)); /* no code */
	assert_null(name_at(TEXT + 0x5000, 0, &n));
	capture.regs.user = true;
	assert_null(name_at(ENTRY, PHYS + 0x5003, &n));
	/* The whole kernel once more is no entry. */
	capture.regs.user = false;
	entry[5] = (__typeof__(entry[5])){ 0x6000, PHYS | LARGE | 3 };
	assert_null(name_at(ENTRY + 0x80000, 0, &n));
	entry[5].v = 0x7003;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(code_of_no_module, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_module_is_replaced, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_list_cannot_be_read, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(not_for_ever, set_up, tear_down),
		cmocka_unit_test_setup_teardown(programs_hide_the_kernel, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(any_sample_shows_that_of_x86, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_page_of_the_image, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_page_of_others, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
