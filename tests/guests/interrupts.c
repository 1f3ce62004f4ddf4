/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * interrupts.c: the interrupt table: a timer that ends a hlt, and faults, which are
 * bugs.
 */
#include "machine.h"
#include "text.h"

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
	gates[vector] = (struct gate){
		.offset_low = (u16)handler,
		.selector = SELECTOR_CODE64,
		.flags = GATE_INTERRUPT,
		.offset_middle = (u16)(handler >> 16),
		.offset_high = (u32)(handler >> 32),
	};
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
	/* The firmware's timer is not ours. */
	out8(PIC_1_MASK, 0xff);
	out8(PIC_2_MASK, 0xff);
	__asm__ volatile("lidt %0" ::"m"(pointer));
}

void report_fault(const u64 *frame)
{
	static struct text line;
	u64 cr2;

	__asm__ volatile("movq %%cr2, %0" : "=r"(cr2));
	line.len = 0;
	text_string(&line, "FAULT ");
	text_number(&line, frame[0]);
	text_string(&line, " cr2 ");
	text_hex(&line, cr2);
	text_string(&line, " stack");
	for (u32 i = 1; i < 7; i++) {
		text_char(&line, ' ');
		text_hex(&line, frame[i]);
	}
	text_char(&line, '\n');
	serial_write(line.data, line.len);
}
