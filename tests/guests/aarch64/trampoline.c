/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trampoline.c: the guest trampoline on aarch64: while the program runs, of the upper
 * half (TTBR1_EL1) nothing but that page is mapped.
 */
#include "trampoline.h"
#include "machine.h"
#include "paging.h"

#define ENTRIES	   512
#define ENTRY_EL0  (1ul << 6)
#define ENTRY_PXN  (1ul << 53)
#define ENTRY_UXN  (1ul << 54)
#define SYSTEM_SVC 0x15ul /* of ESR_EL1, from bit 26 on */

/* As trampoline.S has it. */
struct frame {
	u64 x[31], sp, pc, flags;
};

static struct vcpu {
	u64 kernel_top[ENTRIES], top[ENTRIES]; /* in this order */
	u64 high[3][ENTRIES], low[4][ENTRIES];
	u8 code[USER_BYTES], stack[USER_BYTES];
	struct truth truth;
} __attribute__((aligned(4096))) vcpus[MAX_VCPUS];

extern char trampoline[];
NORETURN void enter_program(struct frame *frame);

/* On the kernel's stack, in its half. */
void user_trap(struct frame *frame);
VISIBLE void user_trap(struct frame *frame)
{
	struct vcpu *v = &vcpus[((u64)frame - stack_area) >> STACK_VCPU_SHIFT];

	if (read_system_register("esr_el1") >> 26 != SYSTEM_SVC) {
		print_line("FATAL the program failed");
		for (;;)
			__asm__ volatile("wfi");
	}
	system_call(&v->truth, frame->x[0]);
}

static void map(u64 *tables[4], u64 gva, u64 gpa, u64 flags)
{
	for (u32 i = 0; i < 3; i++)
		tables[i][gva >> (39 - 9 * i) & (ENTRIES - 1)] = entry_of_table(
			gpa_of(tables[i + 1]));
	tables[3][gva >> 12 & (ENTRIES - 1)] = entry_of_page(gpa) | flags;
}

static void build_spaces(struct vcpu *v)
{
	u64 *low[] = { v->low[0], v->low[1], v->low[2], v->low[3] };
	u64 *high[] = { v->top, v->high[0], v->high[1], v->high[2] };

	for (u32 i = 0; i < ENTRIES; i++)
		v->kernel_top[i] = top_table[i];
	map(low, USER_BASE, gpa_of(v->code), ENTRY_EL0 | ENTRY_PXN);
	map(low, USER_STACK - USER_BYTES, gpa_of(v->stack),
	    ENTRY_EL0 | ENTRY_PXN | ENTRY_UXN);
	map(high, TRAMPOLINE, gpa_of(trampoline), ENTRY_UXN);
	write_system_register("ttbr1_el1", gpa_of(v->kernel_top));
	write_system_register("ttbr0_el1", gpa_of(v->low[0]));
	__asm__ volatile(
		"isb\n\ttlbi vmalle1\n\tdsb nsh\n\tic iallu\n\tdsb nsh\n\tisb" ::
			: "memory");
}

NORETURN void kmain(u32 vcpu)
{
	struct vcpu *v = &vcpus[vcpu];
	struct frame *frame = (struct frame *)stack_top(vcpu, 1) - 1;

	copy_program(v->code);
	build_spaces(v);
	*frame = (struct frame){ .x[0] = work_unit, .sp = USER_STACK, .pc = USER_BASE };
	frame->flags = 0x3c0; /* EL0, all masked */
	begin_truth(&v->truth, vcpu);
	write_system_register("vbar_el1", TRAMPOLINE);
	synchronize();
	enter_program(frame);
}
