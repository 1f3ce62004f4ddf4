/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * instructions.h: single instructions of aarch64, and what other processors do in
 * another way.  Included by cpu.h.
 */
#ifndef GUEST_INSTRUCTIONS_H
#define GUEST_INSTRUCTIONS_H

/* The saved frame pointer is so many bytes below where the frame pointer points; the
 * return address is behind it. */
#define FRAME_POINTER_ABOVE 0

/* A register that a function has to save before it uses it. */
#define SAVED_REGISTER "x19"

/* No interrupt is ever taken: see halt_until_interrupt(). */
#define TREE_TIMER(in) ""

#define read_system_register(name)                                                     \
	({                                                                             \
		u64 value_;                                                            \
		__asm__ volatile("mrs %0, " name : "=r"(value_));                      \
		value_;                                                                \
	})
#define write_system_register(name, value)                                             \
	__asm__ volatile("msr " name ", %0" ::"r"((u64)(value)) : "memory")

HIDDEN void synchronize(void)
{
	__asm__ volatile("isb" ::: "memory");
}

HIDDEN u64 read_tsc(void)
{
	u64 value;

	__asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(value)::"memory");
	return value;
}

HIDDEN void relax(void)
{
	__asm__ volatile("yield" ::: "memory");
}

/* Divide in place, the rest is returned. */
HIDDEN u32 divide(u64 *value, u32 by)
{
	u32 rest = (u32)(*value % by);

	*value /= by;
	return rest;
}

HIDDEN void flush_tlb_page(u64 address)
{
	__asm__ volatile("dsb ishst\n\ttlbi vaae1is, %0\n\tdsb ish\n\tisb" ::"r"(
				 address >> 12 & 0xfffffffffff)
			 : "memory");
}

HIDDEN volatile u32 *device_register(u64 gva)
{
	return (volatile u32 *)gva;
}

/* Interrupts are masked and wake the processor all the same: it takes note of the one
 * that did, without a handler. */
#define GICC_ACKNOWLEDGE (GIC_CPU + 0x0c)
#define GICC_END	 (GIC_CPU + 0x10)
extern u64 gic_version;

HIDDEN u32 gic_acknowledge(void)
{
	if (gic_version == 2)
		return *device_register(GICC_ACKNOWLEDGE);
	return (u32)read_system_register("s3_0_c12_c12_0"); /* ICC_IAR1_EL1 */
}

HIDDEN void gic_end(u32 interrupt)
{
	if (gic_version == 2)
		*device_register(GICC_END) = interrupt;
	else
		write_system_register("s3_0_c12_c12_1", interrupt); /* ICC_EOIR1_EL1 */
}

/* The timer is set again, a period from now, before the interrupt is let go: its line
 * is low by then. */
HIDDEN void timer_again(u64 ticks)
{
	write_system_register("cntv_tval_el0", ticks);
	write_system_register("cntv_ctl_el0", 1);
	synchronize();
}

HIDDEN void halt_until_interrupt(void)
{
	u32 interrupt;

	__asm__ volatile("dsb sy\n\twfi" ::: "memory");
	interrupt = gic_acknowledge();
	timer_again(read_system_register("tpidr_el1"));
	gic_end(interrupt);
}

/* Go on with the next instruction in the mapping that is so much further. */
HIDDEN void jump_further(u64 slide)
{
	u64 at;

	__asm__ volatile("adr %0, 1f\n\tadd %0, %0, %1\n\tbr %0\n1:"
			 : "=&r"(at)
			 : "r"(slide)
			 : "memory");
}

#endif
