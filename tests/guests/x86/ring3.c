/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ring3.c: a kernel with a program in ring 3, which calls it by syscall and by an
 * interrupt gate, faults in pages and is interrupted by a timer; so is the kernel's own
 * work, on a stack of the timer's own.
 */
#include "ring3.h"
#include "x86.h"
#include "text.h"
#include "truth.h"

#define TICKS_HZ	   100
#define PAGE_SIZE	   4096
#define PAGE_USER	   4
#define MSR_EFER	   0xc0000080
#define EFER_SCE	   1
#define MSR_STAR	   0xc0000081
#define MSR_LSTAR	   0xc0000082
#define MSR_FMASK	   0xc0000084
#define MSR_KERNEL_GS_BASE 0xc0000102
#define FLAGS_MASK	   0x47700 /* interrupts, traps, direction, nesting, alignment */

#define FUNCTIONS(X) X(user_main) X(kernel_work) X(tick_work)
TRUTH_FUNCTIONS(FUNCTIONS);

/* A tick at this depth; work of the kernel, with ticks; a line. */
#define TICK(in)                                                                       \
	LINE(in, "timer_entry")                                                        \
	LINE(in "  ", "timer_tick")                                                    \
	LINE(in "    ", "timer_eoi") LINE(in "    ", "tick_work")
#define WORK(in)       LINE(in, "kernel_work") TICK(in "  ")
#define LINE(in, name) in name "\n"
#define IN_2	       "    "
#define IN_3	       "      "
#define IN_4	       "        "
#define IN_5	       "          "

/* clang-format off */
static const char tree[] =
	LINE("", "user_start")
	LINE("  ", "user_main")
	TICK(IN_2)
	LINE(IN_2, "compute")
	TICK(IN_3)
	LINE(IN_3, "mix")
	TICK(IN_4)
	LINE(IN_2, "by_gate")
	TICK(IN_3)
	LINE(IN_3, "gate_entry")
	LINE(IN_4, "system_call")
	WORK(IN_5)
	LINE(IN_2, "touch")
	TICK(IN_3)
	LINE(IN_3, "fault_entry")
	LINE(IN_4, "page_fault")
	LINE(IN_5, "gpa_of")
	LINE(IN_5, "page_entry")
	WORK(IN_5)
	LINE(IN_2, "by_syscall")
	TICK(IN_3)
	LINE(IN_3, "syscall_entry")
	LINE(IN_4, "system_call")
	LINE(IN_5, "page_entry")
	WORK(IN_5)
	LINE(IN_5, "report")
	LINE(IN_5 "  ", "print_truth")
	LINE(IN_5 "    ", "serial_write")
	LINE(IN_5 "  ", "print_beat")
	LINE(IN_5 "    ", "serial_write");
/* clang-format on */

struct tss {
	u32 reserved;
	u64 rsp[3];
	u64 reserved_2;
	u64 ist[7];
	u64 reserved_3;
	u16 reserved_4, io_map;
} __attribute__((packed));

static struct cpu {
	u64 user_rsp, kernel_rsp, frame[8];
	struct tss tss;
	u64 gdt[9];
} cpus[MAX_VCPUS] __attribute__((aligned(64)));
static struct truth truths[MAX_VCPUS];
static u64 unit;

extern char user_image[], user_image_end[];
void syscall_entry(void);
void gate_entry(void);
void timer_entry(void);
void fault_entry(void);
NORETURN void enter_user(u64 stack, u64 vcpu, u64 unit);
u64 system_call(u64 call, u64 arg, u64 frame);
void page_fault(u64 frame);
void timer_tick(u64 frame);

/* Every stack of a vCPU lies in its part of the stack area. */
HIDDEN u32 vcpu_of(u64 stack)
{
	return (u32)((stack - STACK_AREA) >> STACK_VCPU_SHIFT);
}

HIDDEN void copy_bytes(u8 *to, const char *from, u64 n)
{
	while (n--)
		*to++ = (u8)*from++;
}

HIDDEN void spin(u64 iterations)
{
	u64 x = iterations;

	for (u64 i = 0; i < iterations; i++)
		keep(x = x * 3 + i);
}

VISIBLE void kernel_work(u64 n)
{
	WITH_FRAME();
	__asm__ volatile("sti" ::: "memory");
	spin(n);
	__asm__ volatile("cli" ::: "memory");
}

VISIBLE void tick_work(u64 n)
{
	WITH_FRAME();
	spin(n);
}

VISIBLE void timer_tick(u64 frame)
{
	struct truth *t = &truths[vcpu_of(frame)];
	u32 before = t->current;

	truth_call(t, IN(tick_work));
	tick_work(unit / 4 * 5);
	timer_eoi();
	truth_enter(t, before);
}

HIDDEN void timed_work(struct truth *t)
{
	u32 before = t->current;

	truth_call(t, IN(kernel_work));
	kernel_work(unit);
	truth_enter(t, before);
}

static void map_user_page(u64 gva, u64 gpa)
{
	extern u64 top_table[512];
	u64 *table = top_table;

	*page_entry(gva) = gpa | 3 | PAGE_USER;
	for (int shift = 39; shift > 12; shift -= 9) {
		u64 *entry = &table[gva >> shift & 511];

		*entry |= PAGE_USER;
		table = (u64 *)((*entry & 0x000ffffffffff000) + IMAGE_BASE);
	}
	flush_tlb_page(gva);
}

VISIBLE void page_fault(u64 frame)
{
	static u8 memory[MAX_VCPUS][PAGE_SIZE] __attribute__((aligned(PAGE_SIZE)));
	u32 vcpu = vcpu_of(frame);
	u64 gva = USER_PAGE + (u64)vcpu * USER_SLOT;

	*page_entry(gva) = gpa_of(memory[vcpu]) | 3 | PAGE_USER;
	timed_work(&truths[vcpu]);
}

#ifdef STATES_CALLS
static void state_calls(u32 vcpu, const u64 *n)
{
	static struct text lines[MAX_VCPUS];
	struct text *line = &lines[vcpu];

	line->len = 0;
	text_string(line, "CALLS {\"vcpu\":");
	text_number(line, vcpu);
	for (u32 i = 0; i <= N_CALL; i++) {
		text_string(line, ",\"");
		text_number(line, i);
		text_string(line, "\":");
		text_number(line, n[i]);
	}
	text_string(line, "}\n");
	serial_write(line->data, line->len);
}

/* Each is counted, whatever comes of it. */
HIDDEN u64 stated_call(u32 vcpu, u64 call, u64 arg)
{
	static u64 n[MAX_VCPUS][N_CALL + 1];

	n[vcpu][call < N_CALL ? call : N_CALL]++;
	if (call == CALL_STATE)
		state_calls(vcpu, n[vcpu]);
	return call < N_CALL ? call * CALL_VALUE + arg : -(u64)NO_CALL;
}
#else
HIDDEN u64 stated_call(u32 vcpu, u64 call, u64 arg)
{
	(void)vcpu;
	(void)arg;
	return call;
}
#endif

VISIBLE u64 system_call(u64 call, u64 arg, u64 frame)
{
	struct truth *t = &truths[vcpu_of(frame)];
	u64 gva = USER_PAGE + (u64)t->vcpu * USER_SLOT;

	switch (call) {
	case CALL_WORK:
		timed_work(t);
		break;
	case CALL_REPORT:
		truth_call(t, IN(user_main));
		report(t);
		break;
	case CALL_UNMAP:
		*page_entry(gva) = 0;
		flush_tlb_page(gva);
		break;
	default:
		break;
	}
	return stated_call(t->vcpu, call, arg);
}

#ifdef KEEPS_FRAME
NORETURN void frame_return(u64 value);
NORETURN void run_call(u64 call, u64 arg, u64 stack);

NORETURN void run_call(u64 call, u64 arg, u64 stack)
{
	frame_return(system_call(call, arg, stack));
}
#endif

void guest_gates(void)
{
	set_entry(TIMER_VECTOR, (u64)timer_entry, 1, false);
	set_entry(FAULT_VECTOR, (u64)fault_entry, 0, false);
	set_entry(GATE_VECTOR, (u64)gate_entry, 0, true);
}

void guest_setup(void)
{
	static u8 program[USER_TEXT_PAGES][PAGE_SIZE]
		__attribute__((aligned(PAGE_SIZE)));
	static u8 stacks[MAX_VCPUS][PAGE_SIZE] __attribute__((aligned(PAGE_SIZE)));

	print_tree(tree);
	unit = measure_iterations(5000, 2500);
	copy_bytes((u8 *)program, user_image, (u64)(user_image_end - user_image));
	for (u32 i = 0; i < USER_TEXT_PAGES; i++)
		map_user_page(USER_TEXT + i * PAGE_SIZE, gpa_of(program[i]));
	for (u32 i = 0; i < MAX_VCPUS; i++) {
		map_user_page(USER_STACK + i * USER_SLOT - PAGE_SIZE,
			      gpa_of(stacks[i]));
		map_user_page(USER_PAGE + i * USER_SLOT, 0);
		*page_entry(USER_PAGE + i * USER_SLOT) = 0;
	}
}

HIDDEN void load_segments(struct cpu *c)
{
	struct {
		u16 limit;
		u64 base;
	} __attribute__((packed)) gdt = { sizeof(c->gdt) - 1, (u64)c->gdt };
	u64 tss = (u64)&c->tss;

	c->gdt[1] = 0x00cf9b000000ffff;
	c->gdt[2] = c->gdt[4] = 0x00cf93000000ffff; /* syscall's ss: cs + 8 */
	c->gdt[3] = 0x00af9b000000ffff;
	c->gdt[5] = 0x00cff3000000ffff;
	c->gdt[6] = 0x00affb000000ffff;
	c->gdt[7] = (sizeof(c->tss) - 1) | (tss & 0xffffff) << 16 | 0x89ul << 40 |
		    (tss >> 24 & 0xff) << 56;
	c->gdt[8] = tss >> 32;
	__asm__ volatile("lgdt %0\n\tltr %w1" ::"m"(gdt), "r"(SELECTOR_TSS));
}

NORETURN void kmain(u32 vcpu)
{
	struct truth *t = &truths[vcpu];
	struct cpu *c = &cpus[vcpu];

	c->kernel_rsp = c->tss.rsp[0] = stack_top(vcpu, 1);
	c->tss.ist[0] = stack_top(vcpu, 2);
	c->tss.io_map = sizeof(c->tss);
	load_segments(c);
	write_msr(MSR_EFER, read_msr(MSR_EFER) | EFER_SCE);
	write_msr(MSR_STAR, 0x23ul << 48 | (u64)SELECTOR_CODE64 << 32);
	write_msr(MSR_LSTAR, (u64)syscall_entry);
	write_msr(MSR_FMASK, FLAGS_MASK);
	write_msr(MSR_KERNEL_GS_BASE, (u64)c);
	truth_init(t, vcpu, truth_names);
	truth_with_callees(t, IN(user_main));
	t->current = IN(user_main);
	timer_start(tsc_second / TICKS_HZ, TIMER_PERIODIC);
	enter_user(USER_STACK + (u64)vcpu * USER_SLOT, vcpu, unit);
}
