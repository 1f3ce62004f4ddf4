/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * machine.h: what a guest finds ready when its kmain() runs, and what a processor's
 * folder (x86, aarch64, riscv64) has to give.
 *
 * boot_main() sets up the boot vCPU, starts the others, measures the clocks, calls the
 * guest's guest_setup(), prints READY, and lets every vCPU into kmain() on its own
 * stack.  Interrupts are off, except within halt_until_interrupt().
 *
 * Times are in ticks of a counter that is called tsc, as on x86: CNTVCT_EL0 on aarch64,
 * time on riscv64.
 */
#ifndef GUEST_MACHINE_H
#define GUEST_MACHINE_H

#include "cpu.h"

/* The guest's own part. */
void guest_setup(void); /* on the boot vCPU, alone: print the tree, measure */
NORETURN void kmain(u32 vcpu);
/* Does it run elsewhere than it was linked for?  The library says no. */
bool guest_slides(void);

extern u32 vcpu_count;
extern u64 tsc_hz;     /* 0: not known */
extern u64 tsc_second; /* tsc_hz, or a guess that is good enough for pacing */

/* Asked by boot.S for a vCPU that starts: returns its number when it may go on. */
u32 vcpu_init(u32 vcpu);
NORETURN void start_vcpu(u32 vcpu);
NORETURN void boot_main(void);

/* The processor's part of boot_main() and vcpu_init(). */
void map_devices(void);
void interrupts_init(void); /* of this vCPU; a fault prints where and stops it */
void timer_init(void);	    /* of this vCPU */
void measure_clocks(void);
/* Makes the others come to start_vcpu(), each of which counts itself in vcpu_arrivals.
 * How many vCPUs there are then, with this one; 0: nobody knows. */
u32 start_other_vcpus(void);
extern u32 vcpu_arrivals;

/* Paging: one small page; top of the mapped stack of a thread (slot 0: boot stack). */
void map_page(u64 gva, u64 gpa);
u64 *page_entry(u64 gva); /* its last-level entry; makes the tables above it */
u64 gpa_of(const volatile void *image_object);
extern u64 stack_area; /* STACK_AREA, unless there are more or fewer levels */
void map_stacks(u32 vcpu);
/* Map the image a second time, some pages further; the code is then run there by
 * go_to_slide(), in this function and all that it calls. */
void slide_image(void);
void hide_linked_text(void);
extern u64 image_slide;
HIDDEN void go_to_slide(void)
{
	jump_further(image_slide);
}
u64 stack_top(u32 vcpu, u32 slot);

/* The timer of this vCPU: an interrupt after so many ticks, or each time so many went
 * by. One that came before the halt ends it.  A short wait is for one: where interrupts
 * are emulated slowly, a period may be over before its interrupt is served. */
enum timer_kind { TIMER_ONCE, TIMER_PERIODIC };
void timer_start(u64 tsc_ticks, enum timer_kind kind);
void timer_stop(void);

/* Console.  A whole line goes out at once, from whichever vCPU. */
void console_init(void);
VISIBLE void serial_write(const char *text, u64 len);
void print_line(const char *text);
void print_fault(const char *const *names, const u64 *values); /* names: up to NULL */

/* Context switch (switch.S). */
void switch_context(u64 *save_rsp, u64 load_rsp);
u64 new_context(u64 stack, void (*function)(void *), void *arg);

#endif
