/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a kernel's code says that a CPU's current task is: what kernels do there, and
 * what is only like it. */
#include "unit.h"

#include "linux/who_code.h"

#include <string.h>

#define START	0xffff800008000000ULL
#define SIZE	(4U << 20)
#define ENTRY	(START + 0x11354) /* across a page, as in Debian's 6.1 */
#define SECOND	(START + 0x11ff0)
#define TASK	(START + 0x2b82c8)
#define OFFSETS (START + 0x3b4f68)

#define NOP	   0xd503201f
#define RET	   0xd65f03c0
#define CALL	   0x94000100
#define JUMP	   0x14000100
#define MRS_EL1	   0xd538d080
#define MRS_EL2	   0xd53cd040
#define MSR_EL1	   0xd518d080
#define MSR_EL2	   0xd51cd040
#define MSR_SP_EL0 0xd5184100
#define MOV_ZERO   0xaa1f03e0 /* mov x, xzr */
#define STP	   0xa9000000 /* stp x, ., [sp] */

static uint8_t bytes[SIZE];
static us_gva pc;
static struct us_linux_who_layout layout;
static char names[128];
static struct us_kallsym symbols[4];
static struct us_kallsyms table;

static void emit(uint32_t word)
{
	memcpy(bytes + (pc - START), &word, sizeof(word));
	pc += 4;
}

static uint32_t ldr(unsigned to, unsigned base, unsigned index)
{
	return 0xf8606800 | index << 16 | base << 5 | to;
}

static uint32_t ldr_element(unsigned to, unsigned base, unsigned index)
{
	return ldr(to, base, index) | 0x1000;
}

static uint32_t mov(unsigned to, unsigned from)
{
	return 0xaa0003e0 | from << 16 | to;
}

static void address(unsigned to, us_gva at)
{
	uint64_t pages = (at >> 12) - (pc >> 12);
	emit(0x90000000 | (uint32_t)(pages & 3) << 29 |
	     (uint32_t)(pages >> 2 & 0x7ffff) << 5 | to);
	emit(0x91000000 | (uint32_t)(at & 0xfff) << 10 | to << 5 | to);
}

static void function(const char *name, us_gva at)
{
	struct us_kallsym *s = &symbols[table.n++];
	s->addr = at;
	s->type = 't';
	s->name = (uint32_t)table.n_bytes;
	memcpy(names + table.n_bytes, name, strlen(name) + 1);
	table.n_bytes += strlen(name) + 1;
	pc = at;
}

static int set_up(void **state)
{
	(void)state;
	memset(bytes, 0, sizeof(bytes));
	table = (struct us_kallsyms){ .v = symbols, .names = names };
	layout = (struct us_linux_who_layout){ .arch = US_ARCH_AARCH64 };
	return 0;
}

static bool read_image(void *ctx, us_gva va, void *buf, size_t len)
{
	(void)ctx;
	if (va < START || va - START > SIZE - len)
		return false;
	memcpy(buf, bytes + (va - START), len);
	return true;
}

static bool look(void)
{
	const struct us_linux_memory m = { read_image, NULL };
	struct us_linux_image i;
	assert_int_equal(us_linux_image_init(&i, START, SIZE, &m), 0);
	bool found = us_linux_who_by_code(&layout, &table, &i);
	us_linux_image_fini(&i);
	return found;
}

/* What is saved and cleared first. */
static void begin_entry(const char *name)
{
	function(name, ENTRY);
	for (unsigned n = 0; n < 15; n++)
		emit(STP | n << 16 | 31 << 5 | n * 2);
	for (unsigned n = 0; n < 30; n++)
		emit(MOV_ZERO | n);
	emit(0xd5384115); /* mrs x21, sp_el0 */
}

static void entry(const char *name, uint32_t mrs)
{
	begin_entry(name);
	address(28, TASK);
	emit(mrs | 20);
	emit(ldr(28, 28, 20));
	emit(MSR_SP_EL0 | 28);
	emit(RET);
}

static void second(uint32_t msr)
{
	function("__secondary_switched", SECOND);
	emit(mov(0, 20));
	emit(CALL);
	address(5, START + 0x10800);
	emit(0xd518c005); /* msr vbar_el1, x5 */
	emit(0xf9402441); /* ldr x1, [x2, #72] */
	emit(0x9140103f); /* add sp, x1, #0x4000 */
	address(1, OFFSETS);
	emit(0xb9401043); /* ldr w3, [x2, #16] */
	emit(ldr_element(1, 1, 3));
	emit(msr | 1);
}

static void assert_found(void)
{
	assert_true(look());
	assert_true(layout.current == TASK);
	assert_true(layout.per_cpu == OFFSETS);
}

static void assert_not_found(void)
{
	layout.current = 7;
	layout.per_cpu = 9;
	assert_false(look());
	assert_int_equal(layout.current, 7);
	assert_int_equal(layout.per_cpu, 9);
}

static void as_kernels_do(void **state)
{
	entry("el0t_64_sync", MRS_EL1);
	second(MSR_EL1);
	assert_found();
	/* One that runs in EL2. */
	set_up(state);
	entry("el0t_64_sync", MRS_EL2);
	second(MSR_EL2);
	assert_found();
}

/* Before 5.14, and 5.17: what a compiler made of C, which keeps the address over calls.
 */
static void as_older_ones(void **state)
{
	(void)state;
	entry("el0_sync", MRS_EL1);
	function("secondary_start_kernel", SECOND);
	address(19, OFFSETS - 16);
	emit(0x91004273); /* add x19, x19, #16 */
	emit(CALL);
	emit(mov(2, 19));
	emit(ldr_element(0, 2, 0));
	emit(MSR_EL1 | 0);
	assert_found();
}

static void in_another_order(void **state)
{
	(void)state;
	begin_entry("el0t_64_sync");
	emit(MRS_EL1 | 20);
	address(28, TASK);
	emit(ldr(3, 20, 28));
	emit(NOP);
	emit(MSR_SP_EL0 | 3);
	second(MSR_EL1);
	assert_found();
}

/* The same, with this word before the last two. */
static void broken_by(uint32_t word)
{
	void *state = NULL;
	set_up(&state);
	begin_entry("el0t_64_sync");
	address(28, TASK);
	emit(MRS_EL1 | 20);
	emit(word);
	emit(ldr(28, 28, 20));
	emit(MSR_SP_EL0 | 28);
	second(MSR_EL1);
}

static void what_is_only_like_it(void **state)
{
	(void)state;
	broken_by(NOP);
	assert_found();
	broken_by(MOV_ZERO | 20); /* the registers are others by then */
	assert_not_found();
	broken_by(0xf9400ffc); /* ldr x28, [sp, #24] */
	assert_not_found();
	broken_by(0xa9415ff4); /* ldp x20, x23, [sp, #16] */
	assert_not_found();
	broken_by(0xa8c157dc); /* ldp x28, x21, [x30], #16 */
	assert_not_found();
	broken_by(0xcb2063f4); /* sub x20, sp, x0 */
	assert_not_found();
	broken_by(0x91000694); /* add x20, x20, #1 */
	assert_not_found();
	broken_by(JUMP);
	assert_not_found();
	broken_by(RET);
	assert_not_found();
	broken_by(0); /* udf */
	assert_not_found();
	broken_by(CALL); /* functions preserve both */
	assert_found();
}

static void over_a_call(void **state)
{
	(void)state;
	begin_entry("el0t_64_sync");
	address(3, TASK);
	emit(MRS_EL1 | 20);
	emit(CALL);
	emit(ldr(28, 3, 20));
	emit(MSR_SP_EL0 | 28);
	second(MSR_EL1);
	assert_not_found();
}

static void one_of_both(void **state)
{
	entry("el0t_64_sync", MRS_EL1);
	assert_not_found();
	set_up(state);
	second(MSR_EL1);
	assert_not_found();
	set_up(state);
	assert_not_found();
	entry("el0t_64_sync", MRS_EL1);
	second(MSR_EL1);
	layout.arch = US_ARCH_RISCV64;
	assert_not_found();
}

static void too_far(void **state)
{
	begin_entry("el0t_64_sync");
	for (unsigned n = 0; n < 300; n++)
		emit(NOP);
	address(28, TASK);
	emit(MRS_EL1 | 20);
	emit(ldr(28, 28, 20));
	emit(MSR_SP_EL0 | 28);
	second(MSR_EL1);
	assert_not_found();
	/* A function that the image ends in, and one that is not in it. */
	set_up(state);
	second(MSR_EL1);
	function("el0t_64_sync", START + SIZE - 8);
	emit(NOP);
	emit(NOP);
	assert_not_found();
	set_up(state);
	second(MSR_EL1);
	function("el0t_64_sync", START - 0x1000);
	assert_not_found();
	symbols[1].addr = UINT64_MAX - 3;
	assert_not_found();
}

static void nowhere_in_the_kernel(void **state)
{
	static const us_gva at[] = { TASK + 4, START - 8, START + SIZE, 0 };
	for (unsigned n = 0; n < sizeof(at) / sizeof(*at); n++) {
		set_up(state);
		begin_entry("el0t_64_sync");
		address(28, at[n]);
		emit(MRS_EL1 | 20);
		emit(ldr(28, 28, 20));
		emit(MSR_SP_EL0 | 28);
		second(MSR_EL1);
		assert_not_found();
	}
}

/* Any words are borne. */
static void noise(void **state)
{
	uint32_t word = 1;
	for (unsigned n = 0; n < 200; n++) {
		set_up(state);
		function("el0t_64_sync", ENTRY);
		for (unsigned k = 0; k < 256; k++) {
			word = word * 1664525 + 1013904223;
			/* Often of the kinds that are looked at. */
			emit(k % 3   ? word ^ word >> 16
			     : k % 2 ? ldr(word >> 27, word >> 22 & 31, word >> 17 & 31)
				     : MRS_EL1 | word >> 27);
		}
		second(MSR_EL1);
		(void)look();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(as_kernels_do, set_up),
		cmocka_unit_test_setup(as_older_ones, set_up),
		cmocka_unit_test_setup(in_another_order, set_up),
		cmocka_unit_test_setup(what_is_only_like_it, set_up),
		cmocka_unit_test_setup(over_a_call, set_up),
		cmocka_unit_test_setup(one_of_both, set_up),
		cmocka_unit_test_setup(too_far, set_up),
		cmocka_unit_test_setup(nowhere_in_the_kernel, set_up),
		cmocka_unit_test_setup(noise, set_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
