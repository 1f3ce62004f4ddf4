/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * interrupts.c: the interrupt table: a timer that ends a hlt, and faults, which are
 * bugs.
 */
#include "x86.h"

#define N_VECTORS      256
#define N_FAULTS       32
#define FAULT_STUB_LEN 16
#define GATE_INTERRUPT 0x8e00
#define PIC_1_MASK     0x21
#define PIC_2_MASK     0xa1

struct gate {
	u16 offset_low, selector, flags, offset_middle;
	u32 offset_high, reserved;
};

void timer_interrupt(void);
void report_fault(const u64 *frame);
extern char fault_stubs[];

static struct gate gates[N_VECTORS] __attribute__((aligned(16)));

static void set_gate(u32 vector, u64 handler)
{
	handler += image_slide;
	gates[vector] = (struct gate){
		.offset_low = (u16)handler,
		.selector = SELECTOR_CODE64,
		.flags = GATE_INTERRUPT,
		.offset_middle = (u16)(handler >> 16),
		.offset_high = (u32)(handler >> 32),
	};
}

void set_entry(u32 vector, u64 handler, u32 ist, bool user)
{
	set_gate(vector, handler);
	gates[vector].flags |= (u16)(ist | (user ? 3u << 13 : 0));
}

__attribute__((weak)) void guest_gates(void)
{
}

void interrupts_init(void)
{
	struct {
		u16 limit;
		u64 base;
	} __attribute__((packed)) pointer = { sizeof(gates) - 1, (u64)gates };

	for (u32 vector = 0; vector < N_FAULTS; vector++)
		set_gate(vector, (u64)fault_stubs + vector * FAULT_STUB_LEN);
	set_gate(TIMER_VECTOR, (u64)timer_interrupt);
	set_gate(SPURIOUS_VECTOR, (u64)timer_interrupt);
	guest_gates();
	/* The firmware's timer is not ours. */
	out8(PIC_1_MASK, 0xff);
	out8(PIC_2_MASK, 0xff);
	__asm__ volatile("lidt %0" ::"m"(pointer));
}

void report_fault(const u64 *frame)
{
	static const char *const names[] = { "vector", "cr2", "stack", "",  "",
					     "",       "",    "",      NULL };
	u64 values[ARRAY_LEN(names)] = { frame[0] };

	__asm__ volatile("movq %%cr2, %0" : "=r"(values[1]));
	for (u32 i = 1; i < 7; i++)
		values[i + 1] = frame[i];
	print_fault(names, values);
}

void map_devices(void)
{
	map_page(LAPIC_BASE, LAPIC_GPA | 0x10); /* not cached */
}
