/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * behind.c: the first interrupt of a kind comes right behind a call or a jump by
 * pointer, before the first instruction of what that leads to (behind.S).  Under QEMU's
 * emulation that takes -d nochain, so that it looks for interrupts behind each block.
 */
#include "addresses.h"
#include "machine.h"
#include "text.h"
#include "x86.h"

/* Of the local APIC: which interrupts wait to be taken, 32 vectors a register. */
#define LAPIC_IRR(vector) (0x200 + (vector) / 32 * 0x10)

void call_behind(void (*to)(void));
void jump_behind(void (*to)(void));
void stray(void);
void entry_a(void);
void entry_b(void);
void work_a(void);
void work_b(void);

static volatile u64 n_a, n_b, n_landing;

VISIBLE void work_a(void)
{
	n_a++;
	timer_eoi();
}

VISIBLE void work_b(void)
{
	n_b++;
	timer_eoi();
}

VISIBLE void landing(void)
{
	n_landing++;
}

void guest_gates(void)
{
}

void guest_setup(void)
{
}

/* Interrupts are off; from here on there is one to come, however late the host is. */
VISIBLE void let_one_come(void (*entry)(void))
{
	const volatile u32 *waiting = (const volatile u32 *)(LAPIC_BASE +
							     LAPIC_IRR(TIMER_VECTOR));

	set_entry(TIMER_VECTOR, (u64)entry, 0, false);
	timer_start(tsc_second / 1000, TIMER_ONCE);
	while (!(*waiting & 1u << TIMER_VECTOR % 32))
		;
}

VISIBLE void state(void)
{
	static struct text line;

	text_string(&line, "BEHIND {\"work_a\":");
	text_number(&line, n_a);
	text_string(&line, ",\"work_b\":");
	text_number(&line, n_b);
	text_string(&line, ",\"landing\":");
	text_number(&line, n_landing);
	text_string(&line, "}");
	text_char(&line, 0);
	print_line(line.data);
}

NORETURN void kmain(u32 vcpu)
{
	(void)vcpu;
	__asm__ volatile("cli" ::: "memory");
	let_one_come(entry_a);
	call_behind(landing);
	let_one_come(entry_b);
	jump_behind(landing);
	__asm__ volatile("cli" ::: "memory");
	stray();
	state();
	for (;;)
		__asm__ volatile("pause");
}
