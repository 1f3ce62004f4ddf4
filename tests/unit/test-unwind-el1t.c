/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Exceptions that interrupt code of an aarch64 kernel on SP_EL0: its stack is another
 * than the one that has the exception's frame. */
#include "link-code.h"

#define TASK	  (STACK + 0x800) /* its stack pointer */
#define EL1T	  0x80000344
#define EL1H	  0x80000345
#define RET	  0xd65f03c0
#define SUB_SP_48 0xd100c3ff
#define ADD_SP_48 0x9100c3ff
#define STR_LR_40 0xf90017fe /* str x30, [sp, #40] */
#define LDR_LR_40 0xf94017fe

/* 0x1000 calls 0x2000, which is interrupted at 0x200c; its handler, at 0x4000, calls
 * 0x5000.  Above the handler's frame is nothing but zeroes. */
static void interrupted_task(void)
{
	WORDS(0x1000, SUB_SP_48, STR_LR_40, bl(0x1008, 0x2000), LDR_LR_40, ADD_SP_48,
	      RET);
	WORDS(0x2000, SUB_SP_48, STR_LR_40, bl(0x2008, 0x5000), LDR_LR_40, ADD_SP_48,
	      RET);
	WORDS(0x4000, 0xd10083ff,	      /* sub sp, sp, #32 */
	      0xa9007bfd,		      /* stp x29, x30, [sp] */
	      0xd5384020, 0xd5384001,	      /* mrs x0, elr_el1; mrs x1, spsr_el1 */
	      0xa90107e0,		      /* stp x0, x1, [sp, #16] */
	      bl(0x4014, 0x5000), 0xa94107e0, /* ldp x0, x1, [sp, #16] */
	      0xd5184020, 0xd5184001,	      /* msr elr_el1, x0; msr spsr_el1, x1 */
	      0xa9407bfd,		      /* ldp x29, x30, [sp] */
	      0x910083ff,		      /* add sp, sp, #32 */
	      0xd69f03e0);		      /* eret */
	WORDS(0x5000, RET);
	put(STACK, 0x1234567);
	put(STACK + 8, 0x200c);
	put(STACK + 16, 0x200c);
	put(STACK + 24, EL1T);
	put(TASK + 40, 0x100c);
	put(TASK + 48 + 40, 0);
	entered = (struct us_entered){
		.pc = 0x200c, .sp = TASK, .valid = true, .other_sp = true
	};
	mem.read_entered = read_entered;
}

static void processor_has_the_stack(void **state)
{
	(void)state;
	interrupted_task();
	look_with_link(0x5000, STACK, 0x4018);
	EXPECT(US_END_ROOT, 0x5000, 0x4018, 0x200c, 0x100c);
	/* At each instruction of the handler: the frame, or the processor, tells. */
	for (us_gva pc = 0x4000; pc <= 0x402c; pc += 4) {
		bool whole = pc > 0x4000 && pc < 0x402c, ra = pc < 0x4018 || !whole;
		look_with_link(pc, whole ? STACK : STACK + 32, ra ? 0x200c : 0x4018);
		EXPECT(US_END_ROOT, pc, 0x200c, 0x100c);
	}
}

/* The zero above the handler's frame is not the end of the task's stack. */
static void task_is_cut(void)
{
	look_with_link(0x5000, STACK, 0x4018);
	EXPECT(US_END_NO_RULE, 0x5000, 0x4018, 0x200c);
}

static void stack_is_not_known(void **state)
{
	(void)state;
	interrupted_task();
	entered.valid = false; /* the processor cannot be asked */
	task_is_cut();
	entered.valid = true;
	entered.pc = 0x1008; /* another exception has come since */
	task_is_cut();
	entered.pc = 0x200c;
	entered.other_sp = false;
	task_is_cut();
	entered.other_sp = true;
	entered.user = true;
	task_is_cut();
	entered.user = false;
	entered.sp = STACK; /* the handler itself has gone to that stack */
	task_is_cut();
}

/* Nothing told: the same of EL2 and EL3. */
static void other_levels(void **state)
{
	(void)state;
	interrupted_task();
	mem.read_entered = NULL;
	put(STACK + 24, 0x8);
	task_is_cut();
	put(STACK + 24, 0xc);
	task_is_cut();
}

/* The handler's own stack is that of what it has interrupted. */
static void same_stack(void **state)
{
	(void)state;
	interrupted_task();
	for (unsigned told = 0; told < 2; told++) {
		entered =
			(struct us_entered){ .pc = 0x200c, .sp = STACK, .valid = told };
		put(STACK + 24, EL1H);
		put(STACK + 32 + 40, 0x100c);
		put(STACK + 32 + 48 + 40, 0);
		put(TASK + 40, 0);
		look_with_link(0x5000, STACK, 0x4018);
		EXPECT(US_END_ROOT, 0x5000, 0x4018, 0x200c, 0x100c);
	}
}

/* Without the stack pointer, frame records lead on. */
static void frame_records(void **state)
{
	(void)state;
	interrupted_task();
	mem.read_entered = NULL;
	map.n = 0;
	/* stp x29, x30, [sp, #-16]!; mov x29, sp; bl; ldp x29, x30, [sp], #16; ret */
	WORDS(0x1000, 0xa9bf7bfd, 0x910003fd, bl(0x1008, 0x2000), 0xa8c17bfd, RET);
	WORDS(0x2000, 0xa9bf7bfd, 0x910003fd, 0xd503201f, 0xd503201f, 0xa8c17bfd, RET);
	start[map.n++] = 0x4000;
	start[map.n++] = 0x5000;
	us_unwinder_set_code(unwinder, &map, &cfi);
	put(STACK, TASK);
	put(TASK, TASK + 16);
	put(TASK + 8, 0x100c);
	put(TASK + 16, 0);
	put(TASK + 24, 0);
	look_with_link(0x5000, STACK, 0x4018);
	EXPECT(US_END_ROOT, 0x5000, 0x4018, 0x200c, 0x100c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ARM(processor_has_the_stack),
		ARM(stack_is_not_known),
		ARM(other_levels),
		ARM(same_stack),
		ARM(frame_records),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
