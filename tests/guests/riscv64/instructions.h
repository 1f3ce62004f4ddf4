/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * instructions.h: single instructions of riscv64, and what other processors do in
 * another way.  Included by cpu.h.
 */
#ifndef GUEST_INSTRUCTIONS_H
#define GUEST_INSTRUCTIONS_H

/* The saved frame pointer is so many bytes below where the frame pointer points; the
 * return address is behind it. */
#define FRAME_POINTER_ABOVE 16

/* A register that a function has to save before it uses it. */
#define SAVED_REGISTER "s1"

/* No interrupt is ever taken: see halt_until_interrupt(). */
#define TREE_TIMER(in) ""

#define read_csr(name)                                                                 \
	({                                                                             \
		u64 value_;                                                            \
		__asm__ volatile("csrr %0, " name : "=r"(value_)::"memory");           \
		value_;                                                                \
	})
#define write_csr(name, value)                                                         \
	__asm__ volatile("csrw " name ", %0" ::"r"((u64)(value)) : "memory")

HIDDEN u64 read_tsc(void)
{
	return read_csr("time");
}

HIDDEN void relax(void)
{
	__asm__ volatile(".insn 0x0100000f" ::: "memory"); /* pause */
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
	__asm__ volatile("sfence.vma %0" ::"r"(address) : "memory");
}

HIDDEN volatile u8 *device_register(u64 gva)
{
	return (volatile u8 *)gva;
}

/* Calls of what is below the guest (RISC-V SBI): the error that it returns. */
#define SBI_TIME       0x54494d45
#define SBI_HART_STATE 0x48534d
#define SBI_RESET      0x53525354

HIDDEN u64 sbi_call(u64 extension, u64 function, u64 a, u64 b, u64 c)
{
	register u64 a0 __asm__("a0") = a;
	register u64 a1 __asm__("a1") = b;
	register u64 a2 __asm__("a2") = c;
	register u64 a6 __asm__("a6") = function;
	register u64 a7 __asm__("a7") = extension;

	__asm__ volatile("ecall"
			 : "+r"(a0), "+r"(a1)
			 : "r"(a2), "r"(a6), "r"(a7)
			 : "memory");
	return a0;
}

HIDDEN void timer_again(u64 ticks)
{
	sbi_call(SBI_TIME, 0, read_tsc() + ticks, 0, 0);
}

/* Interrupts are masked and wake the processor all the same.  Setting the timer again,
 * a period from now, takes the interrupt back. */
HIDDEN void halt_until_interrupt(void)
{
	__asm__ volatile("wfi" ::: "memory");
	timer_again(read_csr("sscratch"));
}

/* Go on with the next instruction in the mapping that is so much further. */
HIDDEN void jump_further(u64 slide)
{
	u64 at;

	__asm__ volatile("lla %0, 1f\n\tadd %0, %0, %1\n\tjr %0\n1:"
			 : "=&r"(at)
			 : "r"(slide)
			 : "memory");
}

#endif
