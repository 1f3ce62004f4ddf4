/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trampoline.c: the guest trampoline on riscv64: the program's registers are kept in a
 * page of its own address space, and the kernel's stack pointer is there too.
 */
#include "trampoline.h"
#include "machine.h"
#include "paging.h"

#define ENTRIES	    512
#define ENTRY_USER  0x10ul
#define SSTATUS_SPP 0x100ul
#define CAUSE_ECALL 8

/* As trampoline.S has it. */
struct trap_frame {
	u64 kernel_satp, kernel_sp, kernel_trap, epc, hart;
	u64 ra, sp, gp, tp, t[3], s[2], a[8];
};

static struct vcpu {
	/* Of the program: down to the page of its code and stack, and of the
	 * trampoline. */
	u64 top[ENTRIES], upper[ENTRIES], low[2][ENTRIES], high[2][ENTRIES];
	u8 code[USER_BYTES], stack[USER_BYTES];
	union {
		struct trap_frame frame;
		u8 page[PAGE_SIZE];
	};
	struct truth truth;
	u64 satp;
} __attribute__((aligned(4096))) vcpus[MAX_VCPUS];

extern char trampoline[], user_vector[], user_return[];

static NORETURN void leave_kernel(u64 satp, u64 by)
{
	register u64 a0 __asm__("a0") = satp;

	__asm__ volatile("jr %0" ::"r"(by), "r"(a0) : "memory");
	__builtin_unreachable();
}

/* Where the program is to go on, the kernel does not keep at once: in the frame is
 * still what the trap before has left there. */
VISIBLE struct vcpu *before_store(u64 stack)
{
	u64 x = stack;

	WITH_FRAME();
	for (u64 i = 0; i < work_unit / 4; i++)
		keep(x = x * 3 + i);
	return &vcpus[(stack - stack_area) >> STACK_VCPU_SHIFT];
}

/* On the kernel's stack and in its address space.  Returns the program's. */
u64 user_trap(void);
VISIBLE u64 user_trap(void)
{
	u64 here;

	__asm__ volatile("" : "=m"(here));
	struct vcpu *v = before_store((u64)&here);

	v->frame.epc = read_csr("sepc");
	if (read_csr("scause") != CAUSE_ECALL) {
		print_line("FATAL the program failed");
		for (;;)
			__asm__ volatile("wfi");
	}
	v->frame.epc += 4;
	system_call(&v->truth, v->frame.a[0]);
	write_csr("sepc", v->frame.epc);
#ifdef JUMPS
	leave_kernel(v->satp, TRAMPOLINE + (u64)(user_return - trampoline));
#endif
	return v->satp;
}

static void map(u64 *tables[4], u64 gva, u64 gpa, u64 flags)
{
	for (u32 i = 0; i < 3; i++)
		tables[i][gva >> (39 - 9 * i) & (ENTRIES - 1)] = entry_of_table(
			gpa_of(tables[i + 1]));
	tables[3][gva >> 12 & (ENTRIES - 1)] = entry_of_page(gpa) | flags;
}

NORETURN void kmain(u32 vcpu)
{
	struct vcpu *v = &vcpus[vcpu];
	u64 *low[] = { v->top, v->upper, v->low[0], v->low[1] };
	u64 *high[] = { v->top, v->upper, v->high[0], v->high[1] };

	copy_program(v->code);
	__asm__ volatile("fence.i");
	map(low, USER_BASE, gpa_of(v->code), ENTRY_USER);
	map(low, USER_STACK - USER_BYTES, gpa_of(v->stack), ENTRY_USER);
	map(high, TRAMPOLINE, gpa_of(trampoline), 0);
	map(high, TRAP_FRAME, gpa_of(&v->frame), 0);
	v->satp = (9ul << 60) | gpa_of(v->top) >> PAGE_SHIFT;
	v->frame.kernel_satp = read_csr("satp");
	v->frame.kernel_sp = stack_top(vcpu, 0);
	v->frame.kernel_trap = (u64)user_trap;
	v->frame.epc = USER_BASE;
	v->frame.sp = USER_STACK;
	v->frame.a[0] = work_unit;
	begin_truth(&v->truth, vcpu);
	write_csr("stvec", TRAMPOLINE + (u64)(user_vector - trampoline));
	write_csr("sepc", v->frame.epc);
	write_csr("sstatus", read_csr("sstatus") & ~SSTATUS_SPP);
	leave_kernel(v->satp, TRAMPOLINE + (u64)(user_return - trampoline));
}
