/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * behind.c: the first interrupt of a kind comes right behind a call or a jump by
 * pointer, before the first instruction of what that leads to (behind.S).  Under QEMU's
 * emulation that takes -d nochain, so that it looks for interrupts behind each block.
 */
#include "machine.h"
#include "text.h"
#include "x86.h"

void call_behind(void (*to)(void));
void jump_behind(void (*to)(void));
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

/* Interrupts are off; from here on there is one to come. */
VISIBLE void let_one_come(void (*entry)(void))
{
	u64 begin = read_tsc();

	set_entry(TIMER_VECTOR, (u64)entry, 0, false);
	timer_start(tsc_second / 1000, TIMER_ONCE);
	while (read_tsc() - begin < tsc_second / 100)
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
	state();
	for (;;)
		__asm__ volatile("pause");
}
