/* SPDX-License-Identifier: GPL-2.0-or-later */
/* 32-bit x86: entries that go to a stack of their own, and come back by a register. */
#include "link-guest.h"

static void put_narrow(us_gva at, uint32_t word)
{
	memcpy(ram + at, &word, sizeof(word));
}

/* Interrupted at 0x1081, which 0x10c0 has called; the interrupts' stack is above. */
static void narrow_interrupt(us_gva frame)
{
	static const uint32_t pushed[] = { 0x1081, 8, 0x202, 0x10c5, 0 };
	for (us_gva at = STACK; at < 0xf000; at += 8)
		put(at, 0x777700007777);
	for (unsigned i = 0; i < sizeof(pushed) / sizeof(*pushed); i++)
		put_narrow(frame + i * 4, pushed[i]);
	FUNCTION(0x1040, "\x90\xc3");
	FUNCTION(0x1080, "\x90\xc3");
	calls(0x10c0, 0x1080);
	regs.bits = 32;
}

/* push %ebp; mov %esp,%ebp; push %eax; push %ecx; push %edx; mov $0xf000,%esp;
 * push %ebp; call 0x1040; lea -12(%ebp),%esp; pop %edx; pop %ecx; pop %eax; pop %ebp;
 * iret */
static void narrow_by_frame_pointer(void **state)
{
	static const us_gva at[][2] = { { 0x1006, 0x8ff0 },
					{ 0x100b, 0xf000 },
					{ 0x100c, 0xeffc },
					{ 0x1011, 0xeffc } };
	(void)state;
	FUNCTION(0x1000,
		 "\x55\x89\xe5\x50\x51\x52\xbc\x00\xf0\x00\x00\x55\xe8\x2f\0\0\0"
		 "\x8d\x65\xf4\x5a\x59\x58\x5d\xcf");
	narrow_interrupt(0x9000);
	put_narrow(0x8ffc, 0x7777);
	put_narrow(0xeff8, 0x1011);
	regs.gpr[US_X86_RBP] = 0x8ffc;
	unwind(0x1040, 0xeff8);
	EXPECT(US_END_ROOT, 0x1040, 0x1011, 0x1081, 0x10c5);
	for (unsigned i = 0; i < sizeof(at) / sizeof(*at); i++) {
		unwind(at[i][0], at[i][1]);
		EXPECT(US_END_ROOT, at[i][0], 0x1081, 0x10c5);
	}
}

/* pusha; mov %esp,%ebx (%esi, %edi); mov $0xf000,%esp; call 0x1040; mov %ebx,%esp;
 * popa; iret.  The processor may have pushed an error code. */
static void narrow_by_register(void **state)
{
	static const struct {
		uint8_t in, back, reg;
	} cases[] = { { 0xe3, 0xdc, US_X86_RBX },
		      { 0xe6, 0xf4, US_X86_RSI },
		      { 0xe7, 0xfc, US_X86_RDI } };
	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		map.n = 0;
		FUNCTION(0x1000, "\x60\x89\xe3\xbc\x00\xf0\x00\x00\xe8\x33\0\0\0\x89"
				 "\xdc\x61\xcf");
		ram[0x1002] = cases[i].in;
		ram[0x100e] = cases[i].back;
		narrow_interrupt(0x9000);
		put_narrow(0xeffc, 0x100d);
		regs.gpr[cases[i].reg] = 0x9000 - 32;
		unwind(0x1040, 0xeffc);
		EXPECT(US_END_ROOT, 0x1040, 0x100d, 0x1081, 0x10c5);
		unwind(0x100d, 0xf000);
		EXPECT(US_END_ROOT, 0x100d, 0x1081, 0x10c5);
		/* What is there is no interrupt's frame. */
		put_narrow(0x9004, 0x7777);
		unwind(0x1040, 0xeffc);
		EXPECT(US_END_NO_RULE, 0x1040, 0x100d);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(narrow_by_frame_pointer),
		TEST(narrow_by_register),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
