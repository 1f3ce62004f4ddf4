/* SPDX-License-Identifier: GPL-2.0-or-later */
/* x86-64: entries on a stack that the processor has loaded (IST), which leave by a copy
 * of the frame, while that copy is not made yet. */
#include "link-guest.h"

#define FRAME	    0x9008 /* on the stack of the interrupt */
#define INTERRUPTED 0x1181
#define CALLER	    0x11c5

/* push %rdx; sub $88,%rsp; five of pushq 128(%rsp); push %rdi; call 0x1100; pop %rdi;
 * mov 128(%rsp),%rdx; iretq: so Linux keeps the frame from the next NMI */
#define AGAIN "\xff\xb4\x24\x80\0\0\0"
#define NMI                                                                            \
	"\x52\x48\x83\xec\x58" AGAIN AGAIN AGAIN AGAIN AGAIN                           \
	"\x57\xe8\xd2\0\0\0\x5f\x48\x8b\x94\x24\x80\0\0\0\x48\xcf"
/* push %rsi; push %rdi; mov 40(%rsp),%rdi; sub $256,%rdi; mov %rsp,%rsi;
 * mov %rdi,%rax; mov $7,%ecx; rep movsq; mov %rax,%rsp; call 0x1100; pop %rdi;
 * pop %rsi; iretq: to the interrupted stack */
#define MOVES                                                                          \
	"\x56\x57\x48\x8b\x7c\x24\x28\x48\x81\xef\0\x01\0\0\x48\x89\xe6\x48\x89\xf8"   \
	"\xb9\x07\0\0\0\xf3\x48\xa5\x48\x89\xc4\xe8\x5c\0\0\0\x5f\x5e\x48\xcf"

static void put_frame(us_gva at, us_gva pc, us_gva sp, uint16_t cs, uint16_t ss)
{
	put(at, pc);
	put(at + 8, cs);
	put(at + 16, 0x202);
	put(at + 24, sp);
	put(at + 32, ss);
}

static void interrupt(void)
{
	map.n = 0;
	FUNCTION(0x1000, NMI);
	FUNCTION(0x1080, MOVES);
	FUNCTION(0x1100, "\x90\xc3");
	FUNCTION(0x1180, "\x90\xc3");
	calls(0x11c0, 0x1180);
	put(STACK, CALLER);
	put(STACK + 8, 0);
	put_frame(FRAME, INTERRUPTED, STACK, 8, 0x10);
	/* What an interrupt of a program before this one has left there. */
	put_frame(FRAME - 88, 0x3000, 0x4000, 0x33, 0x2b);
}

static void copy_for_the_way_out(void **state)
{
	static const us_gva at[][2] = {
		{ 0x1000, FRAME },	 { 0x1001, FRAME - 8 },
		{ 0x1005, FRAME - 96 },	 { 0x100c, FRAME - 104 },
		{ 0x1013, FRAME - 112 }, { 0x101a, FRAME - 120 },
		{ 0x1021, FRAME - 128 }, { 0x1028, FRAME - 136 },
	};
	(void)state;
	interrupt();
	for (unsigned i = 0; i < sizeof(at) / sizeof(*at); i++) {
		for (us_gva to = FRAME - 104; to >= at[i][1]; to -= 8) {
			us_gva n = (FRAME - 104 - to) / 8;
			memcpy(ram + to, ram + FRAME + 32 - 8 * n, 8);
		}
		unwind(at[i][0], at[i][1]);
		EXPECT(US_END_ROOT, at[i][0], INTERRUPTED, CALLER);
	}
}

static void copy_on_the_interrupted_stack(void **state)
{
	static const us_gva at[] = { 0x1080, 0x1081, 0x1082, 0x1087, 0x108e,
				     0x1091, 0x1094, 0x1099, 0x109c };
	(void)state;
	interrupt();
	for (unsigned i = 0; i < sizeof(at) / sizeof(*at); i++) {
		unwind(at[i], FRAME - (i < 2 ? i * 8 : 16));
		EXPECT(US_END_ROOT, at[i], INTERRUPTED, CALLER);
	}
}

/* Nothing that fits is where the processor has pushed it. */
static void frame_that_does_not_fit(void **state)
{
	(void)state;
	interrupt();
	put_frame(FRAME - 88, 0, 0, 0, 0);
	for (unsigned i = 0; i < 4; i++) {
		put_frame(FRAME, INTERRUPTED, STACK, 8, 0x10);
		if (i == 0)
			put(FRAME, 0x800); /* of no function */
		else if (i == 1)
			put(FRAME + 24, 0x123456789);
		else
			put(FRAME + (i == 2 ? 8 : 32), 0x12345);
		unwind(0x1080, FRAME);
		EXPECT(US_END_NO_RULE, 0x1080);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(copy_for_the_way_out),
		TEST(copy_on_the_interrupted_stack),
		TEST(frame_that_does_not_fit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
