/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Steps by tables: what they restore, and when they are not believed. */
#include "flat-guest.h"
#include "unwind/walk.h"

#define NOPS "\x90\x90\x90\x90\x90\xc3"

/* CFA = reg + off, the return address right below it. */
static struct us_cfi_rule plain(uint8_t reg, int32_t off, uint8_t n_saved)
{
	return (struct us_cfi_rule){ .cfa_reg = reg,
				     .cfa_off = off,
				     .pc = US_CFI_AT_CFA,
				     .pc_off = -8,
				     .n_saved = n_saved };
}

static const struct us_cfi_rule nobody = { .cfa_reg = US_X86_RSP, .pc = US_CFI_LOST };

/* The caller's frame is based on rbx, which the callee saved; its caller's on the word
 * that r12 points at. */
static void any_register_may_be_a_base(void **state)
{
	(void)state;
	static const struct us_cfi_saved rbx = { -16, US_X86_RBX, US_CFI_AT_CFA, 0 };
	struct us_cfi_rule deref = plain(US_X86_R12, 8, 0);
	deref.cfa = US_CFI_CFA_MEM;
	deref.cfa_add = 16;
	FUNCTION(0x1000, NOPS);
	calls(0x2000, 0x1000);
	calls(0x3000, 0x2000);
	calls(0x4000, 0x3000);
	row(0x1000, plain(US_X86_RSP, 24, 1), &rbx);
	row(0x2000, plain(US_X86_RBX, 32, 0), NULL);
	row(0x3000, deref, NULL);
	row(0x4000, nobody, NULL);
	finish_table();
	put(STACK + 8, STACK + 0x100);
	put(STACK + 16, 0x2005);
	put(STACK + 0x118, 0x3005);
	put(STACK + 0x508, STACK + 0x200);
	put(STACK + 0x208, 0x4005);
	regs.gpr[US_X86_R12] = STACK + 0x500;
	for (int i = 0; i < 2; i++) { /* the second time remembered */
		unwind(0x1001, STACK);
		assert_int_equal(out.n, 4);
		assert_int_equal(out.end, US_END_ROOT);
		assert_int_equal(out.pc[3], 0x4005);
		assert_int_equal(out.how[3], US_HOW_CFI);
	}
	/* Without the register, the table gives nothing. */
	regs.valid &= (uint16_t) ~(1U << US_X86_R12);
	put(STACK + 0x120, 0x77);
	unwind(0x1001, STACK);
	assert_int_equal(out.n, 3);
	assert_int_equal(out.end, US_END_NO_RULE);
}

static const struct us_cfi_rule freed = { .cfa_reg = US_X86_RSP,
					  .pc = US_CFI_LOST,
					  .flags = US_CFI_GONE };

/* The CALL was the last instruction of its function: the next one does not begin. */
static void gone_behind_its_end(void **state)
{
	(void)state;
	FUNCTION(0x2000, "\x55\x48\x89\xe5\x90\x90\x5d\xc3");
	FUNCTION(0x3000, NOPS);
	FUNCTION(0x4005, "");
	row(0x3000, plain(US_X86_RSP, 8, 0), NULL);
	row(0x4000, freed, NULL);
	finish_table();
	put(STACK, STACK + 0x40);
	put(STACK + 8, 0x4005);
	regs.gpr[US_X86_RBP] = STACK;
	unwind(0x2004, STACK); /* by its code */
	assert_int_equal(out.end, US_END_ROOT);
	assert_int_equal(out.n, 2);
	assert_int_equal(out.pc[1], 0x4005);
	assert_int_equal(out.flags[1], 0); /* a return address */
	put(STACK, 0x4005);
	unwind(0x3001, STACK); /* by the table */
	assert_int_equal(out.end, US_END_ROOT);
	assert_int_equal(out.n, 2);
	assert_int_equal(out.pc[1], 0x4005);
	assert_int_equal(out.flags[1], 0);
}

/* Linux frees the code that it started with, and that a stack of the idle task begins
 * in.  Only the table can tell; what lies there by now cannot, unless it is a CALL. */
static void code_that_is_gone(void **state)
{
	(void)state;
	FUNCTION(0x2000, "\x55\x48\x89\xe5\x90\x90\x5d\xc3"); /* with a frame */
	put(STACK, STACK + 0x40);
	put(STACK + 8, 0x4005);
	regs.gpr[US_X86_RBP] = STACK;
	unwind(0x2004, STACK);
	assert_int_equal(out.end, US_END_NO_RULE);
	assert_int_equal(out.n, 1);
	row(0x4000, nobody, NULL);
	finish_table();
	for (int i = 0; i < 2; i++) { /* the second time remembered */
		unwind(0x2004, STACK);
		assert_int_equal(out.end, US_END_ROOT);
		assert_int_equal(out.n, 2);
		assert_int_equal(out.pc[1], 0x4005);
	}
	/* A word that is none of its addresses is none. */
	put(STACK + 8, 0x3f05);
	unwind(0x2004, STACK);
	assert_int_equal(out.n, 1);
	/* Nor is one that nothing but a guess leads to: the function is not known. */
	put(STACK + 8, 0x4005);
	map.n = 0;
	unwind(0x6004, STACK);
	assert_int_not_equal(out.end, US_END_ROOT);
}

/* Registers that a function may destroy are not its caller's. */
static void scratch_registers_are_lost(void **state)
{
	(void)state;
	FUNCTION(0x1000, NOPS);
	calls(0x2000, 0x1000);
	calls(0x3000, 0x2000);
	row(0x1000, plain(US_X86_RSP, 8, 0), NULL);
	row(0x2000, plain(US_X86_R10, 8, 0), NULL);
	finish_table();
	put(STACK, 0x2005);
	put(STACK + 0x40, 0x3005);
	regs.gpr[US_X86_R10] = STACK + 0x40;
	unwind(0x1001, STACK);
	assert_int_equal(out.n, 2);
	unwind(0x2005 - 5, STACK + 0x20); /* its own r10 */
	assert_int_equal(out.n, 2);
	assert_int_equal(out.pc[1], 0x3005);
}

/* push rax; nop; pop rax; ret.  The table forgot the push. */
static void the_code_corrects_a_table(void **state)
{
	(void)state;
	FUNCTION(0x1000, "\x50\x90\x58\xc3");
	calls(0x2000, 0x1000);
	calls(0x3000, 0x2000);
	row(0x1000, plain(US_X86_RSP, 8, 0), NULL);
	row(0x3000, nobody, NULL);
	finish_table();
	put(STACK, 0x3005); /* rax happens to be a return address */
	put(STACK + 8, 0x2005);
	put(STACK + 16, 0x3005);
	for (int i = 0; i < 2; i++) {
		unwind(0x1001, STACK);
		assert_int_equal(out.n, 3);
		assert_int_equal(out.pc[1], 0x2005);
		assert_int_equal(out.how[1], US_HOW_CODE);
		assert_int_equal(out.pc[2], 0x3005);
		assert_int_equal(out.end, US_END_ROOT);
	}
}

/* The same; that return address is behind a CALL that does not say where it goes. */
static void the_code_wins_where_a_table_is_not_sure(void **state)
{
	(void)state;
	FUNCTION(0x1000, "\x50\x90\x58\xc3");
	calls(0x2000, 0x1000);
	FUNCTION(0x3000, "\x90\x90\x90\xff\xd0\xc3"); /* call rax */
	row(0x1000, plain(US_X86_RSP, 8, 0), NULL);
	finish_table();
	put(STACK, 0x3005);
	put(STACK + 8, 0x2005);
	unwind(0x1001, STACK);
	assert_int_equal(out.pc[1], 0x2005);
	put(STACK + 8, 0x7777); /* now the code gives nothing either */
	unwind(0x1001, STACK);
	assert_int_equal(out.n, 1);
}

/* call 1f; 2: pause; lfence; jmp 2b; 1: mov rax, (rsp); ret: a jump to rax. */
#define RETPOLINE "\xe8\x07\0\0\0\xf3\x90\x0f\xae\xe8\xeb\xf9\x48\x89\x04\x24\xc3"

static void a_jump_through_the_stack_may_lead_anywhere(void **state)
{
	(void)state;
	FUNCTION(0x1000, NOPS);
	FUNCTION(0x1800, RETPOLINE);
	FUNCTION(0x1900, "\x90\xc3");
	FUNCTION(0x1a00, "\xe9\xfb\xfd\xff\xff"); /* jmp there */
	calls(0x2000, 0x1800);
	calls(0x3000, 0x1900);
	calls(0x3800, 0x1a00);
	row(0x1000, plain(US_X86_RSP, 8, 0), NULL);
	finish_table();
	for (int with = 0; with < 2; with++) {
		put(STACK, 0x2005);
		unwind(0x1001, STACK);
		assert_int_equal(out.n, 2);
		put(STACK, 0x3805);
		unwind(0x1001, STACK);
		assert_int_equal(out.n, 2);
		put(STACK, 0x3005); /* a CALL to another function is none to this */
		unwind(0x1001, STACK);
		assert_int_equal(out.n, 1);
		us_unwinder_set_code(unwinder, &map, NULL);
	}
}

/* Linux's tables say of such code that nobody called it: it is patched in. */
static void a_jump_through_the_stack_has_a_caller(void **state)
{
	(void)state;
	FUNCTION(0x1000, NOPS);
	FUNCTION(0x1800, RETPOLINE);
	FUNCTION(0x1a00, "\xe9\xfb\xfd\xff\xff"); /* jmp there */
	calls(0x2000, 0x1800);
	calls(0x3000, 0x1a00);
	FUNCTION(0x3800, "\x90\x90\x90\xff\xd0\xc3"); /* call rax */
	row(0x1800, nobody, NULL);
	finish_table();
	for (us_gva caller = 0x2005; caller <= 0x3005; caller += 0x1000) {
		put(STACK, caller);
		put(STACK + 8, 0);
		put(STACK + 16, 0);
		unwind(0x1800, STACK);
		assert_int_equal(out.n, 2);
		assert_int_equal(out.pc[1], caller);
		put(STACK, 0x1805); /* behind the CALL that is none */
		put(STACK + 8, caller);
		unwind(0x180c, STACK);
		assert_int_equal(out.n, 2);
		assert_int_equal(out.pc[1], caller);
		put(STACK, 0x1000); /* where it leads */
		unwind(0x1810, STACK);
		assert_int_equal(out.n, 2);
		assert_int_equal(out.pc[1], caller);
	}
	put(STACK, 0x3805); /* that proves nothing */
	unwind(0x1800, STACK);
	assert_int_equal(out.n, 1);
	assert_int_equal(out.end, US_END_ROOT);
	put(STACK, 0x2005);
	put(STACK + 8, 0);
	unwind(0x1800, STACK);
	assert_int_equal(out.n, 2);
	us_unwinder_set_code(unwinder, NULL, NULL); /* nobody knows a function */
	put(STACK, 0x1805);
	unwind(0x180c, STACK);
	assert_true(out.n == 1 || out.pc[1] == 0x2005);
}

/*
 * push rbp; mov rsp, [rsi]; call 1f; int3; 1: call 2f; int3; 2: add rsp, 16; pop rbp;
 * jmp 0x1000: a switch of stacks that fills the buffer of return addresses.
 */
#define SWITCH                                                                         \
	"\x55\x48\x8b\x26\xe8\x01\0\0\0\xcc\xe8\x01\0\0\0\xcc\x48\x83\xc4\x10\x5d"     \
	"\xe9\xe6\xef\xff\xff"

static void calls_that_only_push_are_none(void **state)
{
	(void)state;
	FUNCTION(0x1000, NOPS);
	FUNCTION(0x2000, SWITCH);
	calls(0x3000, 0x2000);
	FUNCTION(0x4000, NOPS);
	row(0x1000, plain(US_X86_RSP, 8, 0), NULL);
	row(0x2000, plain(US_X86_RSP, 16, 0), NULL); /* wrong in the middle */
	row(0x4000, nobody, NULL);
	finish_table();
	put(STACK, 0x3005);
	unwind(0x1000, STACK); /* the jump leads here */
	assert_int_equal(out.n, 2);
	assert_int_equal(out.pc[1], 0x3005);
	put(STACK, 0x2009);
	put(STACK + 8, STACK + 0x100);
	put(STACK + 16, 0x3005);
	unwind(0x200a, STACK);
	assert_int_equal(out.n, 2);
	assert_int_equal(out.pc[1], 0x3005);
	put(STACK, 0x200f);
	put(STACK + 8, 0x2009);
	put(STACK + 16, STACK + 0x100);
	put(STACK + 24, 0x3005);
	unwind(0x2010, STACK);
	assert_int_equal(out.n, 2);
	assert_int_equal(out.pc[1], 0x3005);
	put(STACK + 24, 0x4000); /* to a thread that has not run yet */
	unwind(0x2010, STACK);
	assert_int_equal(out.n, 2);
	assert_int_equal(out.pc[1], 0x4000);
	assert_int_equal(out.flags[1], US_PC_EXACT);
	assert_int_equal(out.end, US_END_ROOT);
}

/* It has the start of a function for a return address, behind no CALL. */
static void a_thread_that_has_not_run_yet(void **state)
{
	(void)state;
	FUNCTION(0x1000, NOPS);
	FUNCTION(0x2000, NOPS);
	FUNCTION(0x3000, NOPS);
	row(0x1000, plain(US_X86_RSP, 8, 0), NULL);
	row(0x2000, nobody, NULL);
	row(0x3000, plain(US_X86_RSP, 8, 0), NULL);
	finish_table();
	put(STACK, 0x2000);
	unwind(0x1001, STACK);
	assert_int_equal(out.n, 2);
	assert_int_equal(out.pc[1], 0x2000);
	assert_int_equal(out.flags[1], US_PC_EXACT);
	assert_int_equal(out.end, US_END_ROOT);
	put(STACK, 0x3000); /* one that is called */
	unwind(0x1001, STACK);
	assert_int_equal(out.n, 1);
}

static void what_is_not_trusted_comes_last(void **state)
{
	(void)state;
	us_cfi_builder_distrust(builder);
	FUNCTION(0x1000, NOPS);
	FUNCTION(0x1100, "\xeb\xfe"); /* no way out, no rule from the start either */
	calls(0x2000, 0x1000);
	calls(0x2100, 0x1100);
	row(0x1000, plain(US_X86_RSP, 16, 0), NULL);
	row(0x1100, plain(US_X86_RSP, 0x200, 0), NULL);
	finish_table();
	put(STACK, 0x2005);
	put(STACK + 8, 0x2005);
	unwind(0x1001, STACK);
	assert_int_equal(out.pc[1], 0x2005);
	assert_int_equal(out.how[1], US_HOW_CODE);
	put(STACK, 0);
	put(STACK + 8, 0);
	put(STACK + 0x1f8, 0x2105);
	unwind(0x1100, STACK);
	assert_int_equal(out.n, 2);
	assert_int_equal(out.how[1], US_HOW_CFI);
}

/* A table may know of another stack; a rule that goes round in a circle ends. */
static void stacks_may_change_but_not_for_ever(void **state)
{
	(void)state;
	FUNCTION(0x1000, NOPS);
	FUNCTION(0x2000, "\xe8\xfb\xff\xff\xff\xc3"); /* call itself */
	calls(0x3000, 0x1000);
	row(0x1000, plain(US_X86_RBP, 16, 0), NULL);
	row(0x2000, plain(US_X86_RBX, 16, 0), NULL);
	finish_table();
	regs.gpr[US_X86_RBP] = STACK + 0x100; /* below rsp */
	put(STACK + 0x108, 0x3005);
	unwind(0x1001, STACK + 0x800);
	assert_int_equal(out.n, 2);
	assert_int_equal(out.pc[1], 0x3005);
	regs.gpr[US_X86_RBX] = STACK + 0x100;
	put(STACK + 0x108, 0x2005);
	put(STACK + 0x110, 0x77);
	unwind(0x2005 - 5, STACK + 0x800);
	assert_in_range(out.n, 2, 2 + US_MAX_SWITCHES);
	assert_int_equal(out.end, US_END_CYCLE);
}

/* What the processor pushed, all registers kept: as .cfi_signal_frame has it. */
static void put_broken_off(us_gva at, us_gva pc, uint64_t cs, us_gva sp)
{
	put(at, pc);
	put(at + 8, cs);
	put(at + 16, 0x202);
	put(at + 24, sp);
	put(at + 32, cs ? cs - 8 : 0);
}

static void a_signal_row_restores_all(void **state)
{
	(void)state;
	static const struct us_cfi_saved saved[] = {
		{ -16, US_X86_R10, US_CFI_AT_CFA, 0 },
		{ 24, US_X86_RSP, US_CFI_AT_CFA, 0 },
	};
	struct us_cfi_rule entry = plain(US_X86_RSP, 16, 2);
	entry.pc_off = 0;
	entry.flags = US_CFI_SIGNAL;
	FUNCTION(0x1000, NOPS);
	FUNCTION(0x2000, NOPS);
	calls(0x3000, 0x2000);
	row(0x1000, entry, saved);
	row(0x2000, plain(US_X86_R10, 8, 0), NULL);
	row(0x3000, nobody, NULL);
	finish_table();
	put(STACK, STACK + 0x400); /* r10 */
	put_broken_off(STACK + 16, 0x2000, 0x10, STACK + 0x300);
	put(STACK + 0x400, 0x3005);
	unwind(0x1001, STACK);
	assert_int_equal(out.n, 3);
	assert_int_equal(out.pc[1], 0x2000);
	assert_int_equal(out.flags[1], US_PC_EXACT);
	assert_int_equal(out.how[1], US_HOW_INTERRUPT);
	assert_int_equal(out.pc[2], 0x3005);
	assert_int_equal(out.flags[2], 0);
	assert_int_equal(out.end, US_END_ROOT);
	put(STACK + 24, 0x33); /* cs: from ring 3 */
	put(STACK + 48, 0x2b);
	unwind(0x1001, STACK);
	assert_int_equal(out.n, 3);
	assert_int_equal(out.flags[1], US_PC_EXACT | US_PC_USER);
	assert_int_equal(out.flags[2], US_PC_USER);
	put(STACK + 16, 0); /* a kernel thread: its frame says that nothing was */
	unwind(0x1001, STACK);
	assert_int_equal(out.n, 1);
	assert_int_equal(out.end, US_END_ROOT);
}

/* Paging that forbids to execute the stack and from; what can be run is below. */
static void no_execute(us_gva from)
{
	const uint64_t present = 1, no_execute = 1ULL << 63;
	for (unsigned level = 0; level < 3; level++)
		put(0xc000 + level * 0x1000, (0xd000 + level * 0x1000) | present);
	for (us_gva at = 0; at < RAM_SIZE; at += 0x1000)
		put(0xf000 + at / 0x1000 * 8,
		    at | present | (at < from && at < STACK ? 0 : no_execute));
	regs.space.mode = US_PAGING_X86_4;
	regs.space.root = 0xc000;
}

/* Where an interrupt broke code off is no data, whatever the frame says. */
static void data_is_never_broken_off(void **state)
{
	(void)state;
	static const struct us_cfi_saved rsp = { 24, US_X86_RSP, US_CFI_AT_CFA, 0 };
	struct us_cfi_rule entry = plain(US_X86_RSP, 16, 1);
	entry.pc_off = 0;
	entry.flags = US_CFI_SIGNAL;
	FUNCTION(0x1000, NOPS);
	put(0x37f8, 0x9090909090909090);
	row(0x1000, entry, &rsp);
	finish_table();
	map.text_end = 0x3000;
	us_unwinder_set_code(unwinder, &map, &cfi);
	no_execute(0x4000);
	for (int i = 0; i < 2; i++) {
		put_broken_off(STACK + 16, 0x9000, 0x10, STACK + 0x300);
		unwind(0x1001, STACK);
		assert_int_equal(out.n, 1);
		assert_int_equal(out.end, US_END_NO_RULE);
		put_broken_off(STACK + 16, 0x3800, 0x10, STACK + 0x300);
		unwind(0x1001, STACK);
		assert_int_equal(out.n, 2);
		assert_int_equal(out.pc[1], 0x3800);
		assert_int_equal(out.flags[1], US_PC_EXACT);
	}
	map.text_end = 0;
}

/* Nor what no processor could have been at, in a program or not. */
static void nothing_is_broken_off_nowhere(void **state)
{
	(void)state;
	static const struct us_cfi_saved rsp = { 24, US_X86_RSP, US_CFI_AT_CFA, 0 };
	static const us_gva nowhere[] = { 0xd0d0d0d0d0d0d0d0, 0x0100000000000000,
					  0xfeffffffffffffff };
	struct us_cfi_rule entry = plain(US_X86_RSP, 16, 1);
	entry.pc_off = 0;
	entry.flags = US_CFI_SIGNAL;
	FUNCTION(0x1000, NOPS);
	row(0x1000, entry, &rsp);
	finish_table();
	for (unsigned cs = 0x10; cs <= 0x33; cs += 0x23)
		for (unsigned i = 0; i < 3; i++) {
			put_broken_off(STACK + 16, nowhere[i], cs, STACK + 0x300);
			unwind(0x1001, STACK);
			assert_int_equal(out.n, 1);
			assert_int_equal(out.end, US_END_NO_RULE);
		}
	put_broken_off(STACK + 16, 0x00ffffffffffff00, 0x33, STACK + 0x300);
	unwind(0x1001, STACK);
	assert_int_equal(out.n, 2);
	assert_int_equal(out.pc[1], 0x00ffffffffffff00);
}

/* Linux calls from the text of its start, and frees it: the tables still know. */
static void code_that_was_given_up_is_in_the_stack(void **state)
{
	(void)state;
	FUNCTION(0x1000, NOPS);
	calls(0x5000, 0x1000);
	row(0x1000, plain(US_X86_RSP, 8, 0), NULL);
	row(0x5000, plain(US_X86_RSP, 8, 0), NULL);
	row(0x6000, nobody, NULL);
	finish_table();
	no_execute(0x5000);
	put(STACK, 0x5005);
	put(STACK + 8, 0x6005);
	unwind(0x1001, STACK);
	assert_int_equal(out.n, 3);
	assert_int_equal(out.pc[1], 0x5005);
	assert_int_equal(out.pc[2], 0x6005);
	assert_int_equal(out.end, US_END_ROOT);
}

static void a_table_that_is_gone_is_forgotten(void **state)
{
	(void)state;
	FUNCTION(0x1000, "\x50\x90\x58\xc3");
	calls(0x2000, 0x1000);
	row(0x1000, plain(US_X86_RSP, 16, 0), NULL);
	finish_table();
	put(STACK + 8, 0x2005);
	unwind(0x1001, STACK);
	assert_int_equal(out.how[1], US_HOW_CFI);
	us_cfi_remove(&cfi, table);
	us_unwinder_set_code(unwinder, &map, &cfi);
	us_cfi_table_free(table);
	table = NULL;
	unwind(0x1001, STACK);
	assert_int_equal(out.how[1], US_HOW_CODE);
	for (int i = 0; i < 2100; i++) /* more often than generations are told apart */
		us_unwinder_set_code(unwinder, &map, NULL);
	unwind(0x1001, STACK);
	assert_int_equal(out.n, 2);
}

/* --- entries without a table: by the way out --- */

/* call handler; add rsp, 8; pop rbp; add rsp, 8; iretq */
#define HANDLER "\xe8\xfb\xef\xff\xff\x48\x83\xc4\x08\x5d\x48\x83\xc4\x08\x48\xcf"

static void the_way_out_tells_the_frame(void **state)
{
	(void)state;
	FUNCTION(0x1000, NOPS);
	FUNCTION(0x2000, HANDLER);
	FUNCTION(0x3000, "\x55\x48\x89\xe5\x90\x5d\xc3"); /* with a frame */
	calls(0x4000, 0x3000);
	put(STACK, 0x2005);
	put(STACK + 16, STACK + 0x300); /* rbp; an error code above it */
	put_broken_off(STACK + 32, 0x3004, 0x10, STACK + 0x300); /* another stack */
	put(STACK + 0x308, 0x4005);
	for (int i = 0; i < 2; i++) {
		unwind(0x1000, STACK);
		assert_int_equal(out.n, 4);
		assert_int_equal(out.pc[1], 0x2005);
		assert_int_equal(out.pc[2], 0x3004);
		assert_true(out.flags[2] & US_PC_EXACT);
		assert_int_equal(out.pc[3], 0x4005);
		put(STACK + 40, 0x1b); /* the same from ring 3 */
		put(STACK + 64, 0x23);
	}
	assert_int_equal(out.flags[2], US_PC_EXACT | US_PC_USER);
	assert_int_equal(out.flags[3], US_PC_USER);
	put(STACK + 48, 0); /* no flags: no frame */
	unwind(0x1000, STACK);
	assert_int_equal(out.n, 2);
}

/* Compilers fill the gap before a function with int3, and another function may end in
 * a system call: whose start is not known yet may be at its first instruction. */
static void a_gap_is_no_breakpoint(void **state)
{
	(void)state;
	memset(ram, 0x90, STACK);
	FUNCTION(0x1000, NOPS);
	FUNCTION(0x2000, HANDLER);
	map.text_end = 0x2100;
	us_unwinder_set_code(unwinder, &map, &cfi);
	memcpy(ram + 0x2ffe, "\xcc\xcc" NOPS, 2 + sizeof(NOPS) - 1);
	memcpy(ram + 0x3ffe, "\x0f\x05" NOPS, 2 + sizeof(NOPS) - 1); /* syscall */
	memcpy(ram + 0x5000, "\xe8\xfb\xdf\xff\xff", 5);
	memcpy(ram + 0x5100, "\xe8\xfb\xee\xff\xff", 5);
	put(STACK, 0x2005);
	for (int i = 0; i < 2; i++) { /* not known, and known */
		put_broken_off(STACK + 32, 0x3000, 0x33, STACK + 0x300);
		put(STACK + 64, 0x2b);
		put(STACK + 0x300, i ? 0x5005 : 0); /* called or not */
		unwind(0x1000, STACK);
		assert_int_equal(out.pc[2], 0x3000);
		assert_int_equal(out.flags[2], US_PC_EXACT | US_PC_USER);
		put_broken_off(STACK + 32, 0x4000, 0x33, STACK + 0x300);
		put(STACK + 0x300, 0x5105);
		unwind(0x1000, STACK);
		assert_int_equal(out.n, 4);
		assert_int_equal(out.flags[2], US_PC_EXACT | US_PC_USER);
		assert_int_equal(out.flags[3], US_PC_USER);
	}
	/* In the middle of a function it is one. */
	memcpy(ram + 0x1000, "\x90\xcc\x90\x90\x90\xc3", 6);
	put_broken_off(STACK + 32, 0x1002, 0x33, STACK + 0x300);
	unwind(0x1000, STACK);
	assert_int_equal(out.flags[2], US_PC_USER);
	map.text_end = 0;
}

static void put_32(us_gva at, uint32_t word)
{
	memcpy(ram + at, &word, 4);
}

/* The segment tells that the program below the kernel is 32-bit, if the kernel is
 * known; both by the code and by a table. */
static void a_narrow_program_below_a_wide_kernel(void **state)
{
	(void)state;
	static const struct us_cfi_saved rsp = { 24, US_X86_RSP, US_CFI_AT_CFA, 0 };
	static const struct us_cfi_saved rbp = { -16, US_X86_RBP, US_CFI_AT_CFA, 0 };
	const struct us_cfi_saved saved[] = { rbp, rsp };
	struct us_cfi_rule entry = plain(US_X86_RSP, 24, 2);
	entry.pc_off = 0;
	entry.flags = US_CFI_SIGNAL;
	FUNCTION(0x1000, NOPS);
	FUNCTION(0x2000, HANDLER);
	FUNCTION(0x3000, "\x55\x89\xe5\x90\x5d\xc3"); /* push ebp; mov ebp, esp; nop */
	calls(0x4000, 0x3000);
	calls(0x5000, 0x4000);
	put(STACK, 0x2005);
	put(STACK + 16, STACK + 0x304);
	put_broken_off(STACK + 32, 0x3003, 0x23, STACK + 0x304);
	put(STACK + 64, 0x2b);
	put_32(STACK + 0x308, 0x4005);
	put_32(STACK + 0x30c, 0x5005);
	map.narrow_cs = 0x23;
	us_unwinder_set_code(unwinder, &map, NULL);
	for (int i = 0; i < 3; i++) {
		unwind(0x1000, STACK);
		assert_int_equal(out.n, 5);
		assert_int_equal(out.pc[2], 0x3003);
		assert_int_equal(out.flags[2], US_PC_EXACT | US_PC_USER);
		assert_int_equal(out.pc[3], 0x4005);
		assert_int_equal(out.pc[4], 0x5005);
		if (i != 1)
			continue;
		row(0x2000, entry, saved);
		finish_table();
	}
	put(STACK + 40, 0x33); /* of the 64-bit ones */
	unwind(0x1000, STACK);
	assert_int_equal(out.n, 3);
	put(STACK + 40, 0x23);
	put(STACK + 56, 0x100000000 + STACK); /* no stack of 32-bit code */
	unwind(0x1000, STACK);
	assert_int_equal(out.n, 3);
	put(STACK + 56, STACK + 0x304);
	map.narrow_cs = 0;
	us_unwinder_set_code(unwinder, &map, &cfi);
	unwind(0x1000, STACK);
	assert_int_equal(out.n, 3);
}

/* In ring 3 nothing is taken for an entry. */
static void programs_have_no_entries(void **state)
{
	(void)state;
	FUNCTION(0x1000, NOPS);
	FUNCTION(0x2000, HANDLER);
	put(STACK, 0x2005);
	put_broken_off(STACK + 32, 0x1000, 0x10, STACK + 72);
	regs.user = true;
	unwind(0x1000, STACK);
	assert_int_equal(out.n, 2);
	assert_int_equal(out.flags[0], US_PC_USER);
	assert_int_equal(out.flags[1], US_PC_USER);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(any_register_may_be_a_base),
		TEST(code_that_is_gone),
		TEST(gone_behind_its_end),
		TEST(scratch_registers_are_lost),
		TEST(the_code_corrects_a_table),
		TEST(the_code_wins_where_a_table_is_not_sure),
		TEST(a_jump_through_the_stack_may_lead_anywhere),
		TEST(a_jump_through_the_stack_has_a_caller),
		TEST(calls_that_only_push_are_none),
		TEST(a_thread_that_has_not_run_yet),
		TEST(what_is_not_trusted_comes_last),
		TEST(stacks_may_change_but_not_for_ever),
		TEST(a_signal_row_restores_all),
		TEST(data_is_never_broken_off),
		TEST(nothing_is_broken_off_nowhere),
		TEST(code_that_was_given_up_is_in_the_stack),
		TEST(a_table_that_is_gone_is_forgotten),
		TEST(the_way_out_tells_the_frame),
		TEST(a_gap_is_no_breakpoint),
		TEST(a_narrow_program_below_a_wide_kernel),
		TEST(programs_have_no_entries),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
