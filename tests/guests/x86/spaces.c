/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spaces.c: a kernel with two programs in ring 3, each in an address space of its own:
 * the same code at the same addresses, on stacks at the same addresses.  They give way
 * to each other by themselves, and by a timer.  Runs on one vCPU.
 *
 * Prints "COUNTS [{...},{...}]" when both have done, and stands still.
 */
#include "paging.h"
#include "scheduler.h"
#include "spaces.h"
#include "text.h"
#include "x86.h"

#define TICKS_HZ  1000
#define PAGE_USER 4

struct tss {
	u32 reserved;
	u64 rsp[3];
	u64 reserved_2;
	u64 ist[7];
	u64 reserved_3;
	u16 reserved_4, io_map;
} __attribute__((packed));

static struct program {
	u64 top[512] __attribute__((aligned(PAGE_SIZE)));
	u8 memory[3][PAGE_SIZE]; /* two stacks, and what it counts */
	u64 kernel_stack;
	bool done;
} programs[N_PROGRAM] __attribute__((aligned(PAGE_SIZE)));
static struct program *current;
static struct scheduler scheduler;
static struct tss tss;
static u64 gdt[9];
static struct spaces_counts counts[N_PROGRAM];

extern char user_image[], user_image_end[];
void syscall_entry(void);
void gate_entry(void);
void timer_entry(void);
void fault_entry(void);
NORETURN void enter_user(u64 stack, u64 program, u64 unused);
u64 system_call(u64 call, u64 arg, u64 frame);
void page_fault(u64 frame);
void report_fault(const u64 *frame);
void timer_tick(u64 frame);

static void map_user_page(u64 gva, u64 gpa)
{
	u64 *table = top_table;

	*page_entry(gva) = gpa | PAGE_PRESENT_WRITE | PAGE_USER;
	for (int shift = 39; shift > 12; shift -= 9) {
		u64 *entry = &table[gva >> shift & 511];

		*entry |= PAGE_USER;
		table = table_of_entry(*entry);
	}
}

/* Its part of the top-level table is its own, all others are the kernel's. */
static void map_program(struct program *p, const u8 *text)
{
	u64 boot = top_table[0];

	top_table[0] = 0;
	for (u32 i = 0; i < USER_TEXT_PAGES; i++)
		map_user_page(USER_TEXT + i * PAGE_SIZE, gpa_of(text + i * PAGE_SIZE));
	map_user_page(USER_STACK - PAGE_SIZE, gpa_of(p->memory[0]));
	map_user_page(USER_THREAD - PAGE_SIZE, gpa_of(p->memory[1]));
	map_user_page(USER_PAGE, gpa_of(p->memory[2]));
	for (u32 i = 0; i < 512; i++)
		p->top[i] = top_table[i];
	top_table[0] = boot;
}

HIDDEN void go_to_space(struct program *p)
{
	current = p;
	tss.rsp[0] = p->kernel_stack;
	__asm__ volatile("movq %0, %%cr3" ::"r"(gpa_of(p->top)) : "memory");
}

VISIBLE void give_way(void)
{
	struct program *p = current;

	yield(&scheduler);
	go_to_space(p);
}

VISIBLE void timer_tick(u64 frame)
{
	(void)frame;
	timer_eoi();
	give_way();
}

VISIBLE void page_fault(u64 frame)
{
	report_fault((const u64 *)frame);
}

static void add_count(struct text *t, const char *name, u64 value)
{
	text_string(t, t->data[t->len - 1] == '{' ? "\"" : ",\"");
	text_string(t, name);
	text_string(t, "\":");
	text_number(t, value);
}

static void print_counts(void)
{
	static struct text line;

	text_string(&line, "COUNTS [");
	for (u32 i = 0; i < N_PROGRAM; i++) {
		text_string(&line, i ? ",{" : "{");
#define ADD(name) add_count(&line, #name, counts[i].name);
		SPACES_COUNTED(ADD)
		text_char(&line, '}');
	}
	text_char(&line, ']');
	text_char(&line, 0);
	print_line(line.data);
}

static void program_is_done(struct program *p)
{
	p->done = true;
	counts[p - programs] = *(const struct spaces_counts *)p->memory[2];
	if (programs[0].done && programs[1].done) {
		print_counts();
		for (;;)
			__asm__ volatile("cli\n\thlt" ::: "memory");
	}
	for (;;)
		give_way();
}

VISIBLE u64 system_call(u64 call, u64 arg, u64 frame)
{
	(void)arg;
	(void)frame;
	if (call == CALL_DONE)
		program_is_done(current);
	give_way();
	return 0;
}

void guest_gates(void)
{
	set_entry(TIMER_VECTOR, (u64)timer_entry, 0, false);
	set_entry(FAULT_VECTOR, (u64)fault_entry, 0, false);
	set_entry(GATE_VECTOR, (u64)gate_entry, 0, true);
}

void guest_setup(void)
{
}

static void load_segments(void)
{
	struct {
		u16 limit;
		u64 base;
	} __attribute__((packed)) pointer = { sizeof(gdt) - 1, (u64)gdt };
	u64 at = (u64)&tss;

	gdt[1] = 0x00cf9b000000ffff;
	gdt[2] = gdt[4] = 0x00cf93000000ffff;
	gdt[3] = 0x00af9b000000ffff;
	gdt[5] = 0x00cff3000000ffff;
	gdt[6] = 0x00affb000000ffff;
	gdt[7] = (sizeof(tss) - 1) | (at & 0xffffff) << 16 | 0x89ul << 40 |
		 (at >> 24 & 0xff) << 56;
	gdt[8] = at >> 32;
	tss.io_map = sizeof(tss);
	__asm__ volatile("lgdt %0\n\tltr %w1" ::"m"(pointer), "r"(SELECTOR_TSS));
}

static void program_thread(void *arg)
{
	struct program *p = arg;

	go_to_space(p);
	enter_user(USER_STACK, (u64)(p - programs), 0);
}

NORETURN void kmain(u32 vcpu)
{
	static u8 text[USER_TEXT_PAGES * PAGE_SIZE] __attribute__((aligned(PAGE_SIZE)));

	for (u64 i = 0; i < (u64)(user_image_end - user_image); i++)
		text[i] = (u8)user_image[i];
	scheduler_init(&scheduler, vcpu);
	for (u32 i = 0; i < N_PROGRAM; i++) {
		map_program(&programs[i], text);
		thread_start(&scheduler, program_thread, &programs[i]);
		programs[i].kernel_stack = stack_top(vcpu, i + 1);
	}
	load_segments();
	timer_start(tsc_second / TICKS_HZ, TIMER_PERIODIC);
	scheduler_run(&scheduler);
}
