/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trampoline.c: a program in user mode, with page tables of its own, that calls the
 * kernel; it enters and leaves it by a page that is mapped elsewhere than where it was
 * linked.
 */
#include "trampoline.h"
#include "machine.h"
#include "paging.h"
#include "truth.h"

#define FUNCTIONS(X) X(user_main) X(kernel_work)
TRUTH_FUNCTIONS(FUNCTIONS);

static const char tree[] = "user_start\n"
			   "  user_main\n"
			   "    compute\n"
			   "    call_kernel\n"
			   "      user_return\n"
			   "      user_vector\n"
			   "        user_trap\n"
			   "          system_call\n"
			   "            kernel_work\n"
			   "            report\n"
			   "              print_truth\n"
			   "                serial_write\n"
			   "              print_beat\n"
			   "                serial_write\n";

#define ENTRIES	    512
#define ENTRY_USER  0x10ul
#define USER_BYTES  4096
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
static u64 unit;

extern char trampoline[], user_vector[], user_return[], user_image[], user_image_end[];

VISIBLE void kernel_work(u64 n)
{
	u64 x = n;

	WITH_FRAME();
	for (u64 i = 0; i < n; i++)
		keep(x = x * 3 + i);
}

VISIBLE void system_call(struct vcpu *v)
{
	WITH_FRAME();
	if (v->frame.a[0] == CALL_REPORT) {
		report(&v->truth);
	} else {
		truth_call(&v->truth, IN(kernel_work));
		kernel_work(unit);
	}
	truth_call(&v->truth, IN(user_main));
}

/* On the kernel's stack and in its address space.  Returns the program's. */
u64 user_trap(void);
VISIBLE u64 user_trap(void)
{
	u64 here;

	__asm__ volatile("" : "=m"(here));
	struct vcpu *v = &vcpus[((u64)&here - stack_area) >> STACK_VCPU_SHIFT];

	v->frame.epc = read_csr("sepc");
	if (read_csr("scause") != CAUSE_ECALL) {
		print_line("FATAL the program failed");
		for (;;)
			__asm__ volatile("wfi");
	}
	v->frame.epc += 4;
	system_call(v);
	write_csr("sepc", v->frame.epc);
	return v->satp;
}

static void map(u64 *tables[4], u64 gva, u64 gpa, u64 flags)
{
	for (u32 i = 0; i < 3; i++)
		tables[i][gva >> (39 - 9 * i) & (ENTRIES - 1)] = entry_of_table(
			gpa_of(tables[i + 1]));
	tables[3][gva >> 12 & (ENTRIES - 1)] = entry_of_page(gpa) | flags;
}

static NORETURN void leave_kernel(u64 satp, u64 by)
{
	register u64 a0 __asm__("a0") = satp;

	__asm__ volatile("jr %0" ::"r"(by), "r"(a0) : "memory");
	__builtin_unreachable();
}

void guest_setup(void)
{
	print_tree(tree);
	unit = measure_iterations(5000, 1000);
	map_page(TRAMPOLINE, gpa_of(trampoline));
}

NORETURN void kmain(u32 vcpu)
{
	struct vcpu *v = &vcpus[vcpu];
	u64 *low[] = { v->top, v->upper, v->low[0], v->low[1] };
	u64 *high[] = { v->top, v->upper, v->high[0], v->high[1] };

	for (u64 i = 0; i < (u64)(user_image_end - user_image); i++)
		v->code[i] = (u8)user_image[i];
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
	v->frame.a[0] = unit;
	truth_init(&v->truth, vcpu, truth_names);
	write_csr("stvec", TRAMPOLINE + (u64)(user_vector - trampoline));
	write_csr("sepc", v->frame.epc);
	write_csr("sstatus", read_csr("sstatus") & ~SSTATUS_SPP);
	leave_kernel(v->satp, TRAMPOLINE + (u64)(user_return - trampoline));
}
