/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The list of a kernel's modules in its memory, and lists that lie. */
#include "unit.h"

#include "linux-btf.h"
#include "linux-image.h"
#include "linux/bpf_code.h"
#include "linux/modules.h"

#include <elf.h>
#include <errno.h>

#define REGION 0xffffffffc0100000ULL
#define BYTES  (64U << 10)

static struct test_image image;
static struct test_btf btf;
static uint8_t region[BYTES];
static us_gva head;	/* of the list, in the image */
static us_gva programs; /* head of that of the BPF programs */
static int bpf;		/* what reading them gave */

static bool read_guest(void *ctx, us_gva va, void *buf, size_t len)
{
	if (va < REGION || va - REGION > BYTES || len > BYTES - (va - REGION))
		return test_image_read(ctx, va, buf, len);
	memcpy(buf, region + (va - REGION), len);
	return true;
}

static void put(us_gva at, const void *p, size_t len)
{
	uint8_t *to = at >= REGION ? region + (at - REGION)
				   : image.bytes + (at - image.start);
	memcpy(to, p, len);
}

static void put64(us_gva at, uint64_t v)
{
	put(at, &v, sizeof(v));
}

static void put32(us_gva at, uint32_t v)
{
	put(at, &v, sizeof(v));
}

/* One page each: struct module, its symbols, and code that follows it. */
static void put_module(us_gva at, us_gva next, const char *name, int pieces)
{
	static const char strings[] = "\0alpha\0beta\0gamma\0$x\0$d.7\0.L0 \0L0\1";
	const Elf64_Sym symbols[] = {
		{ 0 },
		/* Labels, as gcc and clang write them for aarch64 and riscv64. */
		{ .st_name = 18, .st_shndx = 1, .st_value = at + 0x1000 },
		{ .st_name = 21, .st_shndx = 1, .st_value = at + 0x1040 },
		{ .st_name = 26, .st_shndx = 1, .st_value = at + 0x1080 },
		{ .st_name = 31, .st_shndx = 1, .st_value = at + 0x10c0 },
		{ .st_name = 7, .st_shndx = 1, .st_value = at + 0x1100 },
		{ .st_name = 1, .st_shndx = 1, .st_value = at + 0x1000 },
		{ .st_name = 12, .st_shndx = 1, .st_value = at + 0x1000 },
		{ .st_name = 12, .st_shndx = SHN_UNDEF, .st_value = at + 0x1040 },
		{ .st_name = 12, .st_shndx = 2, .st_value = at + 0x3000 },
	};
	put64(at + TEST_LIST, next);
	put(at + TEST_NAME, name, strlen(name) + 1);
	put64(at + TEST_CODE, at + 0x1000);
	put32(at + TEST_CODE + 8, pieces ? 0x1000 : 0x2000);
	put32(at + TEST_CODE + 12, pieces ? 0 : 0x1000);
	put64(at + TEST_KALLSYMS, at + 0x400);
	put64(at + 0x400, at + 0x500);
	put32(at + 0x408, sizeof(symbols) / sizeof(symbols[0]));
	put64(at + 0x410, at + 0x800);
	put(at + 0x500, symbols, sizeof(symbols));
	put(at + 0x800, strings, sizeof(strings));
	put32(at + TEST_ARCH, 2);
	put64(at + TEST_ARCH + 8, at + 0x900);
	put64(at + TEST_ARCH + 16, at + 0xa00);
}

/* An image whose kallsyms know the list and the type information, behind them. */
static void make_image(int pieces)
{
	const struct test_form form = {
		US_KALLSYMS_PLACE, true, 3, 8, false, 700, false
	};
	size_t size = btf_module(&btf, pieces);
	memset(&image, 0, sizeof(image));
	memset(region, 0, sizeof(region));
	image.start = TEST_START;
	image.at = TEST_RODATA;
	us_gva at = image.start + TEST_BYTES - 16384;
	head = at + 12288;
	programs = head + 64;
	test_symbols(&image, &form);
	test_symbol(&image, at, 'R', "__start_BTF");
	test_symbol(&image, at + size, 'R', "__stop_BTF");
	test_symbol(&image, head, 'D', "modules");
	test_symbol(&image, programs, 'd', "bpf_kallsyms");
	test_kallsyms(&image, &form);
	put(at, btf.all, size);
	put64(programs, programs);
	put64(head, head);
}

/* An entry of the list of BPF programs, at a place in the region. */
static void put_program(us_gva at, us_gva next, us_gva start, us_gva end,
			const char *name)
{
	char field[64] = "";
	snprintf(field, sizeof(field), "%s", name);
	put64(at, start);
	put64(at + 8, end);
	put(at + TEST_KSYM_NAME, field, sizeof(field));
	put64(at + TEST_KSYM_NODE, next);
}

static int read_modules(struct us_linux_modules *m)
{
	const struct us_linux_memory memory = { read_guest, &image };
	struct us_linux_image i;
	struct us_kallsyms k;
	struct us_err e;
	test_image_open(&image, &i);
	assert_int_equal(us_kallsyms_read(&i, &k, &e), 0);
	struct us_btf b;
	int r = us_btf_of_kernel(&i, &k, &b);
	if (r == 0)
		r = us_linux_modules_read(&b, &k, us_linux_arch(US_ARCH_X86_64),
					  &memory, m);
	else
		memset(m, 0, sizeof(*m));
	bpf = us_linux_bpf_read(&b, &k, us_linux_arch(US_ARCH_X86_64), &memory, m);
	us_btf_close(&b);
	us_kallsyms_fini(&k);
	us_linux_image_fini(&i);
	return r;
}

static const char *function_at(const struct us_linux_modules *m, us_gva pc)
{
	const struct us_linux_module *at = us_linux_module_at(m, pc);
	const struct us_linux_function *f = at ? us_linux_module_function(m, at, pc)
					       : NULL;
	return f ? m->names.v + f->name : NULL;
}

static void test_list(void **state)
{
	(void)state;
	for (int pieces = 0; pieces < 2; pieces++) {
		struct us_linux_modules m;
		us_gva one = REGION + 0x4000, two = REGION;
		make_image(pieces);
		us_gva last = two + TEST_LIST;
		put64(head, one + TEST_LIST);
		put64(head + 8, last);
		put_module(one, two + TEST_LIST, "virtio_one", pieces);
		put_module(two, head, "two", pieces);
		assert_int_equal(read_modules(&m), 0);
		assert_int_equal(m.n, 2);
		assert_true(m.head == head && m.links[0] == one + TEST_LIST);
		assert_true(m.links[1] == last);
		assert_string_equal(m.v[0].name, "two");
		assert_string_equal(m.v[1].name, "virtio_one");
		assert_int_equal(m.v[1].start, one + 0x1000);
		assert_int_equal(m.v[1].end, one + 0x2000);
		assert_int_equal(m.orc[m.v[1].number].n, 2);
		assert_int_equal(m.orc[m.v[1].number].ip_at, one + 0x900);
		/* Of two at one address the first; what is not its code is left out. */
		assert_string_equal(function_at(&m, one + 0x1000), "alpha");
		assert_string_equal(function_at(&m, one + 0x10ff), "alpha");
		assert_string_equal(function_at(&m, one + 0x1100), "beta");
		assert_null(us_linux_module_at(&m, one + 0x2000));
		assert_null(us_linux_module_at(&m, one));
		assert_true(!m.v[1].init_start && !m.v[1].init_end);
		us_linux_modules_fini(&m);
	}
}

/* While it runs; afterwards the kernel has no address of it. */
static void test_init_code(void **state)
{
	(void)state;
	struct us_linux_modules m;
	us_gva one = REGION + 0x4000;
	make_image(0);
	put64(head, one + TEST_LIST);
	put_module(one, head, "one", 0);
	put64(one + TEST_INIT, one + 0x3000);
	put32(one + TEST_INIT + 12, 0x800);
	assert_int_equal(read_modules(&m), 0);
	assert_true(m.v[0].init_start == one + 0x3000 &&
		    m.v[0].init_end == one + 0x3800);
	us_linux_modules_fini(&m);
	put64(one + TEST_INIT, 0x1234); /* nowhere */
	assert_int_equal(read_modules(&m), 0);
	assert_true(m.n == 1 && !m.v[0].init_start && !m.v[0].init_end);
	us_linux_modules_fini(&m);
}

static void test_hostile(void **state)
{
	(void)state;
	struct us_linux_modules m;
	us_gva one = REGION + 0x4000;
	/* Round and round, without the head. */
	make_image(1);
	put64(head, one + TEST_LIST);
	put_module(one, one + TEST_LIST, "one", 1);
	assert_int_equal(read_modules(&m), 0);
	assert_int_equal(m.n, 1);
	us_linux_modules_fini(&m);
	/* Out of the region, nowhere, and a name that is none. */
	put_module(one, 0x1234, "one", 1);
	assert_int_equal(read_modules(&m), 0);
	assert_int_equal(m.n, 1);
	us_linux_modules_fini(&m);
	put_module(one, head, "\x1b[31m", 1);
	assert_int_equal(read_modules(&m), 0);
	assert_int_equal(m.n, 0);
	us_linux_modules_fini(&m);
	/* Code where no module is; more symbols than there may be. */
	put_module(one, head, "one", 1);
	put64(one + TEST_CODE, 0xffffffff81000000);
	assert_int_equal(read_modules(&m), 0);
	assert_int_equal(m.n, 0);
	us_linux_modules_fini(&m);
	put_module(one, head, "one", 1);
	put32(one + 0x408, UINT32_MAX);
	assert_int_equal(read_modules(&m), 0);
	assert_int_equal(m.n, 1);
	assert_int_equal(m.v[0].n, 0);
	us_linux_modules_fini(&m);
}

#define ENTRY(n) (REGION + 0x8000 + (n)*0x100ULL)
#define NODE(n)	 (ENTRY(n) + TEST_KSYM_NODE)

static void test_bpf(void **state)
{
	(void)state;
	struct us_linux_modules m;
	us_gva one = REGION + 0x2000, code = REGION + 0x6000;
	make_image(1);
	put64(head, one + TEST_LIST);
	put_module(one, head, "one", 1); /* code at one + 0x1000 */
	put64(programs, NODE(0));
	put_program(ENTRY(0), NODE(1), code, code + 0x80,
		    "bpf_prog_0123456789abcdef_a");
	put_program(ENTRY(1), NODE(2), REGION, REGION + 0x40, "bpf_trampoline_7");
	put_program(ENTRY(2), NODE(3), code + 0x80, code + 0x90, "bpf_prog_b");
	/* Those that lie: in another's code, in a module's, around one, too large, with
	 * a name that is none or has no end, nowhere, backwards. */
	put_program(ENTRY(3), NODE(4), code + 0x10, code + 0x20, "bpf_prog_in");
	put_program(ENTRY(4), NODE(5), one + 0x1080, one + 0x1090, "bpf_prog_m");
	put_program(ENTRY(5), NODE(6), one + 0xf00, one + 0x1010, "bpf_prog_n");
	put_program(ENTRY(6), NODE(7), code + 0x1000, code + (1 << 28), "bpf_prog_l");
	put_program(ENTRY(7), NODE(8), code + 0x200, code + 0x210, "bpf_\x1b[31m");
	put_program(ENTRY(8), NODE(9), code + 0x210, code + 0x220, "evil");
	put_program(ENTRY(9), NODE(10), 0x1000, 0x2000, "bpf_prog_u");
	put_program(ENTRY(10), NODE(11), code + 0x240, code + 0x230, "bpf_prog_r");
	put_program(ENTRY(11), NODE(0), code + 0x250, code + 0x260, "");
	uint8_t field[64];
	memset(field, 'b', sizeof(field));
	memcpy(field, "bpf_", 4);
	put(ENTRY(11) + TEST_KSYM_NAME, field, sizeof(field));
	/* The last one leads back to the first, not to the head: round and round. */
	assert_int_equal(read_modules(&m), 0);
	assert_int_equal(bpf, 0);
	assert_int_equal(m.n_bpf, 3);
	assert_int_equal(m.n, 4);
	for (size_t k = 1; k < m.n; k++)
		assert_true(m.v[k - 1].end <= m.v[k].start);
	assert_string_equal(function_at(&m, code), "bpf_prog_0123456789abcdef_a");
	assert_string_equal(function_at(&m, code + 0x7f),
			    "bpf_prog_0123456789abcdef_a");
	assert_string_equal(function_at(&m, code + 0x80), "bpf_prog_b");
	assert_string_equal(function_at(&m, REGION + 0x3f), "bpf_trampoline_7");
	assert_string_equal(function_at(&m, one + 0x1080), "alpha");
	assert_null(us_linux_module_at(&m, code + 0x90));
	assert_string_equal(us_linux_module_at(&m, code)->name, "bpf");
	us_linux_modules_fini(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_init_code),
		cmocka_unit_test(test_bpf),
		cmocka_unit_test(test_hostile),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
