/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * machine.h: what a guest finds ready when its kmain() runs.
 *
 * boot_main() sets up the boot vCPU, starts the others, measures the clocks, calls the
 * guest's guest_setup(), prints READY, and lets every vCPU into kmain() on its own
 * stack.  Interrupts are off, except within halt_until_interrupt().
 */
#ifndef GUEST_MACHINE_H
#define GUEST_MACHINE_H

#include "cpu.h"

/* The guest's own part. */
void guest_setup(void); /* on the boot vCPU, alone: print the tree, measure */
NORETURN void kmain(u32 vcpu);

extern u32 vcpu_count;
extern u64 tsc_hz;     /* 0: not known */
extern u64 tsc_second; /* tsc_hz, or a guess that is good enough for pacing */

/* Asked by boot.S for a vCPU that starts: returns its number when it may go on. */
u32 vcpu_init(u32 vcpu);
NORETURN void start_vcpu(u32 vcpu);
NORETURN void boot_main(void);
void start_other_vcpus(void);

/* Paging: one 4 KiB page; top of the mapped stack of a thread (slot 0: boot stack). */
void map_page(u64 gva, u64 gpa);
u64 *page_entry(u64 gva); /* its last-level entry; makes the tables above it */
u64 gpa_of(const volatile void *image_object);
void map_stacks(u32 vcpu);
u64 stack_top(u32 vcpu, u32 slot);

/* Clocks.  A timer that shall end one hlt has to be periodic: where KVM emulates
 * instructions, the interrupt may come between sti and hlt. */
void measure_tsc(void);
void measure_timer(void);
void timer_start(u64 tsc_ticks); /* an interrupt each so many ticks */
void timer_stop(void);
void lapic_enable(void);
void lapic_start_others(void);

/* Interrupts: the timer ends a hlt; a fault prints where and stops the vCPU. */
void interrupts_init(void);

/* Console.  A whole line goes out at once, from whichever vCPU. */
void console_init(void);
VISIBLE void serial_write(const char *text, u64 len);
void print_line(const char *text);

/* Context switch (switch.S). */
void switch_context(u64 *save_rsp, u64 load_rsp);
u64 new_context(u64 stack, void (*function)(void *), void *arg);

#endif
