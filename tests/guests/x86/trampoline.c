/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trampoline.c: the guest trampoline on x86-64: while the program runs, of the kernel
 * nothing is mapped but the page by which it is entered, the table of interrupts, and
 * of the vCPU its own page and a stack.
 */
#include "trampoline.h"
#include "paging.h"
#include "x86.h"

#define ENTRIES	      512
#define ENTRY_USER    4
#define MSR_EFER      0xc0000080
#define EFER_SCE      1
#define MSR_STAR      0xc0000081
#define MSR_LSTAR     0xc0000082
#define MSR_FMASK     0xc0000084
#define MSR_GS_BASE   0xc0000101
#define MSR_KERNEL_GS 0xc0000102
#define FLAGS_MASK    0x47700 /* interrupts, traps, direction, nesting, alignment */
#define TICKS_HZ      100

/* As trampoline.S pushes it. */
struct frame {
	u64 r15, r14, r13, r12, rbp, rbx, r11, r10, r9, r8, rax, rcx, rdx, rsi, rdi;
	u64 vector, rip, cs, rflags, rsp, ss;
};

struct tss {
	u32 reserved;
	u64 rsp[3];
	u64 reserved_2;
	u64 ist[7];
	u64 reserved_3;
	u16 reserved_4, io_map;
} __attribute__((packed));

/* The page at VCPU_PAGE. */
struct vcpu_page {
	u64 user_rsp, kernel_rsp;
	struct tss tss;
	u64 gdt[9];
};

static struct vcpu {
	u64 pair[3][ENTRIES]; /* the kernel's, and behind it the program's */
	u64 low[3][ENTRIES], high[3][ENTRIES];
	u8 code[USER_BYTES], stack[USER_BYTES], entry_stack[PAGE_SIZE];
	union {
		struct vcpu_page own;
		u8 page[PAGE_SIZE];
	};
	struct truth truth;
} __attribute__((aligned(4096))) vcpus[MAX_VCPUS];
static u8 table[PAGE_SIZE] __attribute__((aligned(4096)));

extern char trampoline[], syscall_vector[], gate_vector[], timer_vector[];
NORETURN void enter_program(u64 *frame, u64 unit);

void user_trap(struct frame *frame);
VISIBLE void user_trap(struct frame *frame)
{
	struct vcpu *v = &vcpus[((u64)frame - stack_area) >> STACK_VCPU_SHIFT];

	WITH_FRAME();
	if (frame->vector == TIMER_VECTOR)
		timer_eoi();
	else
		system_call(&v->truth, frame->rax);
}

static u64 alias_of(const char *code)
{
	return TRAMPOLINE + (u64)(code - trampoline);
}

static void map(u64 *tables[4], u64 gva, u64 gpa, u64 flags)
{
	for (u32 i = 0; i < 3; i++)
		tables[i][gva >> (39 - 9 * i) & (ENTRIES - 1)] =
			entry_of_table(gpa_of(tables[i + 1])) | flags;
	tables[3][gva >> 12 & (ENTRIES - 1)] = entry_of_page(gpa) | flags;
}

static void build_spaces(struct vcpu *v)
{
	bool odd = gpa_of(v->pair[0]) & PAIR_BIT;
	u64 *kernel_top = v->pair[odd], *top = v->pair[odd + 1];
	u64 *low[] = { top, v->low[0], v->low[1], v->low[2] };
	u64 *high[] = { top, v->high[0], v->high[1], v->high[2] };

	map(low, USER_BASE, gpa_of(v->code), ENTRY_USER);
	map(low, USER_STACK - USER_BYTES, gpa_of(v->stack), ENTRY_USER);
	map(high, TRAMPOLINE, gpa_of(trampoline), 0);
	map(high, TABLE_PAGE, gpa_of(table), 0);
	map(high, VCPU_PAGE, gpa_of(v->page), 0);
	map(high, ENTRY_STACK - PAGE_SIZE, gpa_of(v->entry_stack), 0);
	for (u32 i = 0; i < ENTRIES; i++)
		kernel_top[i] = top[i] ? top[i] : top_table[i];
	__asm__ volatile("movq %0, %%cr3" ::"r"(gpa_of(kernel_top)) : "memory");
}

static void load_segments(void)
{
	struct vcpu_page *own = (struct vcpu_page *)VCPU_PAGE;
	struct {
		u16 limit;
		u64 base;
	} __attribute__((packed)) gdt = { sizeof(own->gdt) - 1, (u64)own->gdt };
	u64 tss = (u64)&own->tss;

	own->gdt[1] = 0x00cf9b000000ffff;
	own->gdt[2] = own->gdt[4] = 0x00cf93000000ffff; /* syscall's ss: cs + 8 */
	own->gdt[3] = 0x00af9b000000ffff;
	own->gdt[5] = 0x00cff3000000ffff;
	own->gdt[6] = 0x00affb000000ffff;
	own->gdt[7] = (sizeof(own->tss) - 1) | (tss & 0xffffff) << 16 | 0x89ul << 40 |
		      (tss >> 24 & 0xff) << 56;
	own->gdt[8] = tss >> 32;
	own->tss.rsp[0] = ENTRY_STACK;
	own->tss.io_map = sizeof(own->tss);
	__asm__ volatile("lgdt %0\n\tltr %w1" ::"m"(gdt), "r"(SELECTOR_TSS));
}

static void load_gates(void)
{
	struct {
		u16 limit;
		u64 base;
	} __attribute__((packed)) pointer;

	set_entry(TIMER_VECTOR, alias_of(timer_vector), 0, false);
	set_entry(GATE_VECTOR, alias_of(gate_vector), 0, true);
	__asm__ volatile("sidt %0" : "=m"(pointer));
	for (u32 i = 0; i < PAGE_SIZE; i++)
		table[i] = ((u8 *)pointer.base)[i];
	pointer.base = TABLE_PAGE;
	__asm__ volatile("lidt %0" ::"m"(pointer));
}

static void load_syscall(void)
{
	write_msr(MSR_EFER, read_msr(MSR_EFER) | EFER_SCE);
	write_msr(MSR_STAR, 0x23ul << 48 | (u64)SELECTOR_CODE64 << 32);
	write_msr(MSR_LSTAR, alias_of(syscall_vector));
	write_msr(MSR_FMASK, FLAGS_MASK);
	write_msr(MSR_GS_BASE, VCPU_PAGE);
}

NORETURN void kmain(u32 vcpu)
{
	struct vcpu *v = &vcpus[vcpu];
	u64 frame[] = { USER_BASE, SELECTOR_USER_CODE, 0x202, USER_STACK,
			SELECTOR_USER_DATA };

	copy_program(v->code);
	build_spaces(v);
	load_segments();
	load_gates();
	load_syscall();
	v->own.kernel_rsp = stack_top(vcpu, 1);
	begin_truth(&v->truth, vcpu);
	timer_start(tsc_second / TICKS_HZ, TIMER_PERIODIC);
	enter_program(frame, work_unit);
}
