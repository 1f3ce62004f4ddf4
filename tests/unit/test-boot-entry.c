/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a kernel calls from its entry on, as its code says: short pieces of code. */
#include "unit.h"

#include "boot/entry_path.h"

#include <elf.h>
#include <string.h>

#define LINKED 0xffffffff80000000ULL
#define LOADED 0x100000ULL

static uint8_t bytes[8192];
static struct us_elf_segment segment = { .type = PT_LOAD,
					 .flags = PF_X,
					 .vaddr = LINKED,
					 .paddr = LOADED,
					 .memsz = 4096,
					 .filesz = 4096 };
static struct us_boot_calls calls;

static void follow(uint16_t machine, uint64_t entry, const uint8_t *code, size_t n)
{
	const struct us_elf_file f = { .bytes = bytes,
				       .size = sizeof(bytes),
				       .is64 = machine != EM_386,
				       .machine = machine,
				       .segment = &segment,
				       .n_segment = 1 };
	memset(bytes, 0, sizeof(bytes));
	memcpy(bytes, code, n);
	us_boot_follow_entry(&f, entry, &calls);
}
#define FOLLOW(machine, entry, ...)                                                    \
	follow(machine, entry, (const uint8_t[]){ __VA_ARGS__ },                       \
	       sizeof((uint8_t[]){ __VA_ARGS__ }))

/* None: of no call. */
static struct us_boot_call call_to(uint64_t to)
{
	for (size_t i = 0; i < calls.n; i++)
		if (calls.v[i].to == to && !calls.v[i].jump)
			return calls.v[i];
	return (struct us_boot_call){ 0 };
}

static bool called(uint64_t to)
{
	return call_to(to).to == to;
}

static void a_call_is_found(void **state)
{
	(void)state;
	FOLLOW(EM_X86_64, LINKED, 0x31, 0xed, 0xe8, 0x10, 0, 0, 0, 0xf4, 0xeb, 0xfd);
	assert_true(called(LINKED + 0x17));
	assert_false(call_to(LINKED + 0x17).skipped);
	assert_false(call_to(LINKED + 0x17).narrow);
	FOLLOW(EM_386, LOADED, 0x31, 0xed, 0xe8, 0x10, 0, 0, 0, 0xf4, 0xeb, 0xfd);
	assert_true(called(LOADED + 0x17));
	assert_false(call_to(LOADED + 0x17).narrow);
}

/* jnz 1f; call; 1: call */
static void what_a_branch_may_skip_is_known(void **state)
{
	(void)state;
	FOLLOW(EM_X86_64, LINKED, 0x75, 0x05, 0xe8, 0x10, 0, 0, 0, 0xe8, 0x20, 0, 0, 0,
	       0xf4, 0xeb, 0xfd);
	assert_true(call_to(LINKED + 0x17).skipped);
	assert_false(call_to(LINKED + 0x2c).skipped);
}

/* jz 1f; jmp .; 1: call: an error that ends is gone round. */
static void an_error_is_gone_round(void **state)
{
	(void)state;
	FOLLOW(EM_X86_64, LINKED, 0x74, 0x02, 0xeb, 0xfe, 0xe8, 0x20, 0, 0, 0);
	assert_true(called(LINKED + 0x29));
	FOLLOW(EM_X86_64, LINKED, 0x74, 0x02, 0x0f, 0x0b, 0xe8, 0x20, 0, 0, 0);
	assert_true(called(LINKED + 0x29));
}

/* mov $LINKED + 0x40, %rax; call *%rax.  lea 0x20(%rip), %rcx; call *%rcx */
static void registers_with_constants_are_known(void **state)
{
	(void)state;
	FOLLOW(EM_X86_64, LINKED, 0x48, 0xc7, 0xc0, 0x40, 0, 0, 0x80, 0xff, 0xd0, 0x48,
	       0x8d, 0x0d, 0x20, 0, 0, 0, 0xff, 0xd1, 0x41, 0xff, 0xd4);
	assert_true(called(LINKED + 0x40));
	assert_true(called(LINKED + 0x30));
	assert_int_equal(calls.n, 2);
}

/* mov then add: it is not known any more. */
static void changed_registers_are_not(void **state)
{
	(void)state;
	FOLLOW(EM_X86_64, LINKED, 0x48, 0xc7, 0xc0, 0x40, 0, 0, 0x80, 0x48, 0x01, 0xd8,
	       0xff, 0xd0, 0xf4);
	assert_int_equal(calls.n, 0);
}

/* Multiboot: a call in 32-bit code; wrmsr; ljmp into 64-bit code, that calls. */
static void long_mode_is_entered(void **state)
{
	const uint8_t code[] = { 0xe8, 0x60, 0,	   0, 0, 0x0f, 0x30, 0xea,
				 0x20, 0,    0x10, 0, 8, 0,    0xf4 };
	const uint8_t wide[] = { 0x48, 0xb8, 0x80, 0,	 0,    0x80,
				 0xff, 0xff, 0xff, 0xff, 0xff, 0xd0 };
	uint8_t both[0x40] = { 0 };
	(void)state;
	memcpy(both, code, sizeof(code));
	memcpy(both + 0x20, wide, sizeof(wide));
	follow(EM_X86_64, LOADED, both, sizeof(both));
	assert_true(call_to(LOADED + 0x65).narrow);
	assert_true(called(LINKED + 0x80));
	assert_false(call_to(LINKED + 0x80).narrow);
	/* The same in an image of 32 bits, as multiboot loaders want it. */
	follow(EM_386, LOADED, both, sizeof(both));
	assert_true(called(LINKED + 0x80));
}

/* push $8; push $LOADED + 0x20; lret: as a far jump; without wrmsr still 32-bit. */
static void far_returns_are_jumps(void **state)
{
	uint8_t code[0x40] = { 0x6a, 8, 0x68, 0x20, 0, 0x10, 0, 0xcb };
	(void)state;
	memcpy(code + 0x20, "\xe8\x10\0\0\0", 5);
	follow(EM_386, LOADED, code, sizeof(code));
	assert_true(called(LOADED + 0x35));
}

/* adrp x0, .; add x0, x0, #0x80; blr x0; bl +0x40; ldr x1, +0x14; br x1 */
static void aarch64_is_followed(void **state)
{
	const uint32_t code[] = { 0x90000000, 0x91020000, 0xd63f0000, 0x94000010,
				  0x580000a1, 0xd61f0020, 0,	      0,
				  0,	      0x80000200, 0xffffffff };
	(void)state;
	follow(EM_AARCH64, LINKED, (const uint8_t *)code, sizeof(code));
	assert_true(called(LINKED + 0x80));
	assert_true(called(LINKED + 0x4c));
	assert_int_equal(calls.n, 3);
	assert_true(calls.v[2].jump);
	assert_int_equal(calls.v[2].to, 0xffffffff80000200);
}

/* msr elr_el2, x0; eret */
static void aarch64_leaves_el2(void **state)
{
	const uint32_t code[] = { 0x90000000, 0x91010000, 0xd51c4020, 0xd69f03e0 };
	uint8_t all[0x60] = { 0 };
	(void)state;
	memcpy(all, code, sizeof(code));
	memcpy(all + 0x40, "\x04\0\0\x94", 4);
	follow(EM_AARCH64, LINKED, all, sizeof(all));
	assert_true(called(LINKED + 0x50));
}

/* auipc t0, 0; jalr ra, 0x40(t0); jal ra, +0x20 */
static void riscv_is_followed(void **state)
{
	const uint32_t code[] = { 0x00000297, 0x040280e7, 0x020000ef, 0x0000006f };
	(void)state;
	follow(EM_RISCV, LINKED, (const uint8_t *)code, sizeof(code));
	assert_true(called(LINKED + 0x40));
	assert_true(called(LINKED + 0x28));
}

/* Whatever it is, it ends, and stays within the image. */
static void hostile_code_ends(void **state)
{
	static const uint16_t machines[] = { EM_X86_64, EM_386, EM_AARCH64, EM_RISCV,
					     EM_PPC64 };
	uint64_t seed = 1;
	(void)state;
	for (unsigned t = 0; t < 2000; t++) {
		uint8_t code[4096];
		for (size_t i = 0; i < sizeof(code); i++) {
			seed = seed * 6364136223846793005 + 1442695040888963407;
			code[i] = (uint8_t)(seed >> 56);
		}
		follow(machines[t % 5], LINKED + seed % 4096, code, sizeof(code));
		assert_true(calls.n <= US_BOOT_MAX_CALLS);
	}
	follow(EM_X86_64, 0, bytes, 0);
	assert_int_equal(calls.n, 0);
	follow(EM_X86_64, UINT64_MAX, bytes, 0);
	assert_int_equal(calls.n, 0);
}

/* The last bytes of the image are an instruction that is cut short. */
static void code_ends_with_the_image(void **state)
{
	uint8_t code[4096] = { 0 };
	(void)state;
	memcpy(code + 4092, "\xe8\x10\0\0", 4);
	follow(EM_X86_64, LINKED + 4092, code, sizeof(code));
	assert_int_equal(calls.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_is_found),
		cmocka_unit_test(what_a_branch_may_skip_is_known),
		cmocka_unit_test(an_error_is_gone_round),
		cmocka_unit_test(registers_with_constants_are_known),
		cmocka_unit_test(changed_registers_are_not),
		cmocka_unit_test(long_mode_is_entered),
		cmocka_unit_test(far_returns_are_jumps),
		cmocka_unit_test(aarch64_is_followed),
		cmocka_unit_test(aarch64_leaves_el2),
		cmocka_unit_test(riscv_is_followed),
		cmocka_unit_test(hostile_code_ends),
		cmocka_unit_test(code_ends_with_the_image),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
