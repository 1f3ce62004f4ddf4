/* SPDX-License-Identifier: GPL-2.0-or-later */
/* x86 functions and entries that keep the stack pointer in a register which functions
 * preserve, on one stack: around room for the FPU's registers, say. */
#include "link-guest.h"

#define TOP    (STACK + 0x400)
#define HANDLE 0x2000

/* An entry at 0x1000 that calls the handler at the end of code, and what is behind; the
 * interrupted code is at 0x3101, called from 0x3000. */
static us_gva entry(const char *code, size_t n, const char *behind, size_t n_behind)
{
	us_gva next = 0x1000 + n + 5;
	int32_t off = (int32_t)(HANDLE - next);
	map.n = 0;
	function(0x1000, code, n);
	ram[next - 5] = 0xe8;
	memcpy(ram + next - 4, &off, 4);
	memcpy(ram + next, behind, n_behind);
	FUNCTION(HANDLE, "\x90\xc3");
	calls(0x3000, 0x3100);
	FUNCTION(0x3100, "\x90\x90\xc3");
	put(TOP - 40, 0x3101);
	put(TOP - 32, 8);
	put(TOP - 24, 0x202);
	put(TOP - 16, TOP);
	put(TOP - 8, 0x10);
	put(TOP, 0x3005);
	put(TOP + 8, 0);
	regs.gpr[US_X86_RBX] = TOP - 56;
	return next;
}

/* push %rax; push %rbx; mov %rsp,%rbx; sub $512,%rsp */
#define SAVE  "\x50\x53\x48\x89\xe3\x48\x81\xec\x00\x02\x00\x00"
#define ALIGN "\x48\x83\xe4\xf0" /* and $-16,%rsp */
/* mov %rbx,%rsp; pop %rbx; pop %rax; iretq */
#define BACK "\x48\x89\xdc\x5b\x58\x48\xcf"

static void entry_on_one_stack(void **state)
{
	(void)state;
	for (unsigned aligns = 0; aligns < 2; aligns++) {
		us_gva sp = aligns ? TOP - 576 : TOP - 568;
		us_gva next = aligns ? entry(SAVE ALIGN, sizeof(SAVE ALIGN) - 1, BACK,
					     7)
				     : entry(SAVE, sizeof(SAVE) - 1, BACK, 7);
		put(sp - 8, next);
		unwind(HANDLE, sp - 8);
		EXPECT(US_END_ROOT, HANDLE, next, 0x3101, 0x3005);
		/* In the entry itself. */
		unwind(next, sp);
		EXPECT(US_END_ROOT, next, 0x3101, 0x3005);
	}
	/* rbx is something else, and only rbx tells: no frame is there. */
	regs.gpr[US_X86_RBX] = TOP - 96;
	put(TOP - 80, 0x7777);
	unwind(HANDLE, TOP - 584);
	EXPECT(US_END_NO_RULE, HANDLE, 0x1015);
}

int main(void)
{
	const struct CMUnitTest tests[] = { TEST(entry_on_one_stack) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
