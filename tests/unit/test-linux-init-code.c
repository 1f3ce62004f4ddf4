/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Is a kernel's first code still there? Calls as assemblers encode them. */
#include "unit.h"

#include "linux/init_code.h"

#define CODE_SIZE 0x60

/* Behind the last function there is an end. */
static struct us_kallsym symbol[4] = { [3] = { UINT64_MAX, 0, 'T' } };
static char names[] = "start_kernel\0b\0c";
static struct us_kallsyms table = { .v = symbol, .n = 4, .names = names };

/* Sorted, as the table is. */
static void put(size_t i, us_gva addr, const char *name)
{
	const char *at = names;
	while (strcmp(at, name))
		at += strlen(at) + 1;
	symbol[i] = (struct us_kallsym){ addr, (uint32_t)(at - names), 'T' };
}

static void x86(void **state)
{
	(void)state;
	static const uint8_t code[] = {
		0xe8, 0xfb, 0x00, 0x00, 0x00, /* call b */
		0x90,			      /* nop */
		0xe8, 0x35, 0x01, 0x00, 0x00, /* call c */
		0xff, 0xd0,		      /* call *%rax */
		0xe8, 0xee, 0x00, 0x00, 0x00, /* call b */
		0xe9, 0xe9, 0x00, 0x00, 0x00, /* jmp b */
		0xe8, 0xe5, 0x00, 0x00, 0x00, /* call b+1 */
		0x90, 0x90, 0x90,
	};
	const us_gva at = 0xffffffff82000000;
	put(0, at, "start_kernel");
	put(1, at + 0x100, "b");
	put(2, at + 0x140, "c");
	assert_int_equal(
		us_linux_count_calls(&table, US_ARCH_X86_64, at, code, sizeof(code)),
		3);
	assert_int_equal(us_linux_count_calls(&table, US_ARCH_X86_64, at, code, 8), 1);
	assert_int_equal(us_linux_count_calls(&table, US_ARCH_X86_64, at, code, 7), 0);
}

static void aarch64(void **state)
{
	(void)state;
	static const uint32_t code[] = {
		0x94000040, /* bl b */
		0xd503201f, /* nop */
		0x9400004e, /* bl c */
		0xd63f0000, /* blr x0 */
		0x9400003c, /* bl b */
		0x1400003b, /* b b */
		0x9400003b, /* bl b+4 */
		0x97ffffc9, /* bl start_kernel - 0xc0, where nothing is */
		0xd503201f,
	};
	const us_gva at = 0xffff800008000000;
	put(0, at, "start_kernel");
	put(1, at + 0x100, "b");
	put(2, at + 0x140, "c");
	assert_int_equal(us_linux_count_calls(&table, US_ARCH_AARCH64, at,
					      (const uint8_t *)code, sizeof(code)),
			 3);
}

static void riscv(void **state)
{
	(void)state;
	static const uint32_t code[] = {
		0xf01ff0ef, /* jal b */
		0x00000013, /* nop */
		0x00000097, /* auipc ra, 0 */
		0xf38080e7, /* jalr ra, -0xc8(ra): c */
		0x000500e7, /* jalr a0 */
		0x0ec020ef, /* jal d */
		0xee9ff06f, /* j b */
		0xee9ff0ef, /* jal b+4 */
		0x00000013,
	};
	const us_gva b = 0xffffffff80000000;
	put(0, b, "b");
	put(1, b + 0x40, "c");
	put(2, b + 0x100, "start_kernel");
	assert_int_equal(us_linux_count_calls(&table, US_ARCH_RISCV64, b + 0x100,
					      (const uint8_t *)code, sizeof(code)),
			 2);
	put(1, b + 0x100, "start_kernel");
	put(2, b + 0x2200, "c");
	assert_int_equal(us_linux_count_calls(&table, US_ARCH_RISCV64, b + 0x100,
					      (const uint8_t *)code, sizeof(code)),
			 2);
}

static uint8_t memory[CODE_SIZE];
static bool mapped;

static bool read_memory(void *ctx, us_gva at, void *buf, size_t len)
{
	us_gva start = *(const us_gva *)ctx;
	if (!mapped || at < start || at - start > CODE_SIZE ||
	    len > CODE_SIZE - (at - start))
		return false;
	memcpy(buf, memory + (at - start), len);
	return true;
}

static void has_gone(void **state)
{
	(void)state;
	us_gva at = 0xffffffff82000000;
	put(0, at, "start_kernel");
	put(1, at + CODE_SIZE, "b");
	put(2, at + CODE_SIZE + 16, "c");
	for (size_t i = 0; i < CODE_SIZE; i += 16) {
		int32_t to = (int32_t)(CODE_SIZE - i - 5);
		memory[i] = 0xe8;
		memcpy(memory + i + 1, &to, sizeof(to));
	}
	mapped = true;
	assert_true(us_linux_has_init_code(&table, US_ARCH_X86_64, read_memory, &at));
	mapped = false;
	assert_false(us_linux_has_init_code(&table, US_ARCH_X86_64, read_memory, &at));
	mapped = true;
	memset(memory, 0xcc, sizeof(memory)); /* POISON_FREE_INITMEM */
	assert_false(us_linux_has_init_code(&table, US_ARCH_X86_64, read_memory, &at));
	memset(memory, 0xe8, sizeof(memory));
	assert_false(us_linux_has_init_code(&table, US_ARCH_X86_64, read_memory, &at));
	put(0, at, "b"); /* no start_kernel */
	assert_false(us_linux_has_init_code(&table, US_ARCH_X86_64, read_memory, &at));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(x86),
		cmocka_unit_test(aarch64),
		cmocka_unit_test(riscv),
		cmocka_unit_test(has_gone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
