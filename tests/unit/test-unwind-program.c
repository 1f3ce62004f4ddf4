/* SPDX-License-Identifier: GPL-2.0-or-later */
/* RISC-V: from a kernel with page tables of its own to the program below it, whose
 * registers are in a page that only the program's tables have. */
#include "flat-guest.h"
#include "unwind/walk.h"

#define KERNEL_ROOT  0xf000 /* one large page: all memory where it is */
#define PROGRAM_ROOT 0xc000 /* and the tables below it */
#define OTHER_ROOT   0xb000
#define AREA	     0x7000 /* at 0x10000 in the program's space, where no RAM is */
#define LEAF(pa)     ((pa) >> 2 | 0xcf)
#define TABLE(pa)    ((pa) >> 2 | 1)
#define USER	     0x10

#define HANDLER	 0x2000
#define ENTRY	 0x3000
#define BEHIND	 0x301c /* the CALL of the handler */
#define PROGRAM	 0x5000
#define CALLED	 0x5100
#define USER_FP	 0x9100
#define USER_SP	 0x9000
#define STACK_AT (STACK + 0x800)

static int fresh_program(void **state)
{
	int r = fresh(state);
	us_unwinder_free(unwinder);
	memset(ram, 0, sizeof(ram));
	regs.arch = US_ARCH_RISCV64;
	regs.valid = UINT32_MAX;
	regs.space.mode = US_PAGING_RISCV_39;
	return r || us_unwinder_new(US_ARCH_RISCV64, NULL, NULL, &unwinder);
}
#define PROGRAM_TEST(f) cmocka_unit_test_setup_teardown(f, fresh_program, done)

static void words(us_gva at, const uint32_t *code, size_t n)
{
	memcpy(ram + at, code, n * 4);
	start[map.n++] = at;
	us_unwinder_set_code(unwinder, &map, &cfi);
}
#define WORDS(at, ...)                                                                 \
	words(at, (const uint32_t[]){ __VA_ARGS__ },                                   \
	      sizeof((const uint32_t[]){ __VA_ARGS__ }) / 4)

static void put_tables(us_gpa root)
{
	put(root, TABLE(0xd000));
	put(0xd000, TABLE(0xe000));
	for (unsigned page = 2; page < 10; page++)
		put(0xe000 + page * 8,
		    LEAF(page << 12) | (page == 5 || page == 9 ? USER : 0));
	put(0xe000 + 0x10 * 8, LEAF(AREA));
}

static void put_area(us_gva sp, us_gva fp, us_gva pc)
{
	put(AREA, sp);
	put(AREA + 8, PROGRAM + 4);
	put(AREA + 16, USER_SP);
	put(AREA + 24, fp);
	put(AREA + 32, pc);
}

/* The handler: addi sp, sp, -16; sd ra, 8(sp); csrr t1, sepc; sd t1, 32(a0); nop; ...
 * The entry: lui a0, 0x10; sd ra, 8; sd sp, 16; sd s0, 24; sd gp, 40; ld sp, 0; jalr
 * t0; sret */
static void put_code(uint32_t third)
{
	put(KERNEL_ROOT, LEAF(0));
	put_tables(PROGRAM_ROOT);
	WORDS(HANDLER, 0xe4061141, 0x14102373, 0x02653023, 0x00000013, 0x014160a2,
	      0x00018082);
	WORDS(ENTRY, 0x00010537, 0x00153423, 0x00253823, third, 0x02353423, 0x00053103,
	      0x000280e7);
	WORDS(BEHIND, 0x10200073);
	WORDS(PROGRAM, 0x100000ef, 0x0000006f); /* jal 0x5100 */
	WORDS(CALLED, 0x00018082);
	put_area(STACK_AT + 16, USER_FP, CALLED);
	put(STACK_AT + 8, BEHIND);
}
#define KEEPS_FP 0x00853c23

static void in_program(us_gpa root)
{
	regs.user = true;
	regs.space.root = root;
	regs.pc = CALLED;
	regs.sp = regs.gpr[US_RISCV_SP] = USER_SP;
	regs.fp = regs.gpr[US_RISCV_FP] = USER_FP;
	regs.gpr[US_RISCV_RA] = PROGRAM + 4;
	us_paging_new_sample(&paging);
	us_unwind(unwinder, &paging, &regs, &out);
	assert_int_equal(out.pc[1], PROGRAM + 4);
}

static void in_kernel_any(us_gva pc)
{
	regs.user = false;
	regs.space.root = KERNEL_ROOT;
	regs.pc = pc;
	regs.sp = regs.gpr[US_RISCV_SP] = STACK_AT + (pc == HANDLER) * 16;
	regs.fp = regs.gpr[US_RISCV_FP] = USER_FP;
	regs.gpr[US_RISCV_RA] = HANDLER + 8;
	us_paging_new_sample(&paging);
	us_unwind(unwinder, &paging, &regs, &out);
}

static void in_kernel_at(us_gva pc)
{
	in_kernel_any(pc);
	assert_true(out.n >= 2);
	assert_int_equal(out.pc[1], BEHIND);
}

#define KEPT (HANDLER + 12) /* the handler has the program counter by then */

static void in_kernel(void)
{
	in_kernel_at(KEPT);
}

static void expect_cut(void)
{
	in_kernel();
	assert_int_equal(out.n, 2);
	assert_int_not_equal(out.end, US_END_ROOT);
	assert_int_equal(out.root, 0);
}

static void it_goes_on(void **state)
{
	(void)state;
	put_code(KEEPS_FP);
	expect_cut(); /* no program was seen yet */
	in_program(PROGRAM_ROOT);
	for (int i = 0; i < 2; i++) {
		in_kernel();
		assert_int_equal(out.n, 4);
		assert_int_equal(out.pc[2], CALLED);
		assert_int_equal(out.pc[3], PROGRAM + 4);
		assert_int_equal(out.flags[1] & US_PC_USER, 0);
		assert_int_equal(out.flags[2] & US_PC_USER, US_PC_USER);
		assert_int_equal(out.flags[3] & US_PC_USER, US_PC_USER);
		assert_int_equal(out.root, PROGRAM_ROOT);
	}
}

/* Its registers are those of another time, or of another program. */
static void what_does_not_fit(void **state)
{
	(void)state;
	put_code(KEEPS_FP);
	in_program(PROGRAM_ROOT);
	put_area(STACK_AT + 16, USER_FP + 16, CALLED);
	expect_cut();
	put_area(STACK_AT, USER_FP, CALLED);
	expect_cut();
	put_area(STACK_AT + 16, USER_FP, 0);
	expect_cut();
	put_area(STACK_AT + 16, USER_FP, CALLED + 1);
	expect_cut();
	put_area(STACK_AT + 16, USER_FP, 0x20000); /* nothing is there */
	expect_cut();
	put_area(STACK_AT + 16, USER_FP, CALLED);
	in_kernel();
	assert_int_equal(out.n, 4);
}

static void two_that_fit(void **state)
{
	(void)state;
	put_code(KEEPS_FP);
	put_tables(OTHER_ROOT);
	in_program(PROGRAM_ROOT);
	in_program(OTHER_ROOT);
	expect_cut();
}

/* An entry that changes the frame pointer before it calls, or keeps none. */
static void entries_that_tell_less(void **state)
{
	(void)state;
	put_code(0x01040413); /* addi s0, s0, 16 */
	in_program(PROGRAM_ROOT);
	expect_cut();
	map.n = 0;
	put_code(0x0000006f); /* a jump: nobody knows */
	in_program(PROGRAM_ROOT);
	expect_cut();
}

/* Two words of which nothing is known, and none. */
static void which_is_the_program_counter(void **state)
{
	(void)state;
	put_code(KEEPS_FP);
	in_program(PROGRAM_ROOT);
	const uint32_t far = 0x02353823; /* sd gp, 48(a0) */
	memcpy(ram + ENTRY + 16, &far, 4);
	us_unwinder_set_code(unwinder, &map, &cfi);
	expect_cut();
	const uint32_t next = 0x02353023; /* sd gp, 32(a0) */
	memcpy(ram + ENTRY + 16, &next, 4);
	us_unwinder_set_code(unwinder, &map, &cfi);
	expect_cut();
}

/* --- the entry's first and last instructions, by what the processor tells --- */

#define LEAVE	0x4000
#define ON_EXIT 7 /* instructions of it */

static struct us_entered entered;
static unsigned n_asked;

static bool read_entered(void *ctx, struct us_entered *ret)
{
	(void)ctx;
	n_asked++;
	*ret = entered;
	return entered.valid;
}

/* csrw satp, a0; lui a0, 0x10; ld ra, 8; ld sp, 16; ld s0, 24; ld gp, 40; sret */
static void put_exit(uint32_t third)
{
	map.n = 0;
	put_code(KEEPS_FP);
	mem.read_entered = read_entered;
	entered = (struct us_entered){ .pc = CALLED, .valid = true, .user = true };
	const uint32_t code[ON_EXIT] = { 0x18051073, 0x00010537, third,	    0x01053103,
					 0x01853403, 0x02853183, 0x10200073 };
	memcpy(ram + LEAVE, code, sizeof(code));
	us_unwinder_set_code(unwinder, &map, &cfi);
}
#define GIVES_RA 0x00853083

/* The vCPU is at instruction n of the way out. */
static void on_exit_at(unsigned n)
{
	in_kernel();
	regs.space.root = n ? PROGRAM_ROOT : KERNEL_ROOT;
	regs.pc = LEAVE + 4 * n;
	regs.gpr[10] = n < 2 ? 8ULL << 60 | PROGRAM_ROOT >> 12 : 0x10000;
	regs.gpr[US_RISCV_RA] = n < 3 ? BEHIND : PROGRAM + 4;
	regs.sp = regs.gpr[US_RISCV_SP] = n < 4 ? STACK_AT + 16 : USER_SP;
	regs.fp = regs.gpr[US_RISCV_FP] = n < 5 ? 0x7777 : USER_FP;
	us_paging_new_sample(&paging);
	us_unwind(unwinder, &paging, &regs, &out);
	assert_int_equal(out.pc[0], LEAVE + 4 * n);
}

static void expect_program(void)
{
	assert_int_equal(out.n, 3);
	assert_int_equal(out.pc[1], CALLED);
	assert_int_equal(out.pc[2], PROGRAM + 4);
	assert_int_equal(out.flags[0] & US_PC_USER, 0);
	assert_int_equal(out.flags[1], US_PC_USER | US_PC_EXACT);
	assert_int_equal(out.flags[2], US_PC_USER);
	assert_int_equal(out.root, PROGRAM_ROOT);
}

static void expect_nothing(void)
{
	assert_int_equal(out.n, 1);
	assert_int_not_equal(out.end, US_END_ROOT);
}

static void on_the_way_out(void **state)
{
	(void)state;
	put_exit(GIVES_RA);
	for (unsigned n = 0; n < ON_EXIT; n++) {
		n_asked = 0;
		on_exit_at(n);
		expect_program();
		assert_int_equal(n_asked, 1);
	}
}

static void ways_out_that_tell_less(void **state)
{
	(void)state;
	put_exit(GIVES_RA);
	entered.user = false;
	on_exit_at(3);
	expect_nothing();
	entered.user = true;
	entered.pc = HANDLER; /* not a program's page */
	on_exit_at(3);
	expect_nothing();
	entered.pc = CALLED;
	put(AREA + 16, 0x8800); /* nor is this */
	on_exit_at(3);
	expect_nothing();
	put_exit(0x00050463); /* a branch: nobody knows */
	on_exit_at(1);
	expect_nothing();
	put_exit(0x00a53023); /* what a store changes is not read back */
	on_exit_at(1);
	expect_nothing();
	put_exit(GIVES_RA);
	entered.valid = false;
	on_exit_at(3);
	expect_nothing();
	mem.read_entered = NULL;
	on_exit_at(3);
	expect_nothing();
}

/* csrw sepc, ra on the way: there it goes, whatever the processor has now. */
static void it_goes_where_the_code_says(void **state)
{
	(void)state;
	put_exit(0x14109073);
	entered.pc = PROGRAM;
	on_exit_at(2);
	expect_nothing(); /* ra is the kernel's */
	on_exit_at(3);
	assert_int_equal(out.pc[1], PROGRAM); /* that is done */
	regs.pc -= 4;
	regs.gpr[US_RISCV_RA] = CALLED;
	us_unwind(unwinder, &paging, &regs, &out);
	assert_int_equal(out.pc[1], CALLED);
}

static void on_the_way_in(void **state)
{
	(void)state;
	put_exit(GIVES_RA);
	for (unsigned n = 0; n < 7; n++) {
		regs.user = false;
		regs.space.root = PROGRAM_ROOT;
		regs.pc = ENTRY + 4 * n;
		regs.gpr[US_RISCV_RA] = PROGRAM + 4;
		regs.sp = regs.gpr[US_RISCV_SP] = n < 6 ? USER_SP : STACK_AT + 16;
		regs.fp = regs.gpr[US_RISCV_FP] = USER_FP;
		us_paging_new_sample(&paging);
		us_unwind(unwinder, &paging, &regs, &out);
		expect_program();
	}
	/* The same code, where no program's stack is. */
	regs.pc = ENTRY + 4 * 3;
	regs.sp = regs.gpr[US_RISCV_SP] = 0x8800;
	us_paging_new_sample(&paging);
	us_unwind(unwinder, &paging, &regs, &out);
	expect_nothing();
}

/* Behind the change of page tables, what the handler keeps is of another time. */
static void the_word_is_old(void **state)
{
	(void)state;
	put_exit(GIVES_RA);
	in_program(PROGRAM_ROOT);
	put_area(STACK_AT + 16, USER_FP, PROGRAM);
	in_kernel();
	regs.pc = BEHIND - 4;
	regs.sp = regs.gpr[US_RISCV_SP] = STACK_AT + 16;
	us_paging_new_sample(&paging);
	us_unwind(unwinder, &paging, &regs, &out);
	expect_program();
}

static void expect_called_by(us_gva pc, us_gva from)
{
	in_kernel_at(pc);
	assert_int_equal(out.n, from == CALLED ? 4 : 3);
	assert_int_equal(out.pc[2], from);
	assert_int_equal(out.root, PROGRAM_ROOT);
}

/* Until the handler keeps what the processor has. */
static void the_word_is_old_in_the_handler(void **state)
{
	(void)state;
	put_exit(GIVES_RA);
	in_program(PROGRAM_ROOT);
	put_area(STACK_AT + 16, USER_FP, PROGRAM);
	expect_called_by(HANDLER + 4, CALLED);
	expect_called_by(HANDLER + 8, CALLED);
	expect_called_by(KEPT, PROGRAM);
	entered.user = false; /* an exception of the kernel's came in between */
	expect_called_by(KEPT, PROGRAM);
	in_kernel_at(HANDLER + 8);
	assert_int_equal(out.n, 2);
	mem.read_entered = NULL; /* nor can it be asked */
	in_kernel_at(HANDLER + 8);
	assert_int_equal(out.n, 2);
	expect_called_by(KEPT, PROGRAM);
}

/* An entry that jumps to the handler, by a word beside the others; stvec is asked of
 * the program.  What the handler finds as its return address is the program's. */
static void an_entry_that_jumps(void **state)
{
	(void)state;
	const uint32_t code[] = { 0x03053283, 0x00028067 }; /* ld t0, 48(a0); jr t0 */
	put_exit(GIVES_RA);
	memcpy(ram + ENTRY + 24, code, sizeof(code));
	us_unwinder_set_code(unwinder, &map, &cfi);
	put(AREA + 48, HANDLER);
	put(STACK_AT + 8, PROGRAM + 4);
	in_program(PROGRAM_ROOT); /* it does not say where it enters */
	in_kernel_any(KEPT);
	assert_int_equal(out.n, 1);
	us_unwinder_free(unwinder);
	assert_int_equal(us_unwinder_new(US_ARCH_RISCV64, &map, &cfi, &unwinder), 0);
	entered.vector = ENTRY;
	in_program(PROGRAM_ROOT);
	for (us_gva pc = HANDLER; pc <= KEPT; pc += 4) {
		in_kernel_any(pc);
		assert_int_equal(out.n, 3);
		assert_int_equal(out.pc[1], CALLED);
		assert_int_equal(out.pc[2], PROGRAM + 4);
		assert_int_equal(out.root, PROGRAM_ROOT);
	}
	put(AREA + 48, HANDLER + 4); /* to another function */
	in_kernel_any(KEPT);
	assert_int_equal(out.n, 1);
	put(AREA + 48, HANDLER);
	put(AREA, STACK_AT + 24); /* on another stack */
	in_kernel_any(KEPT);
	assert_int_equal(out.n, 1);
}

/* A handler of which the code does not tell: both have to agree. */
static void nobody_knows_whether_it_is_kept(void **state)
{
	(void)state;
	put_exit(GIVES_RA);
	const uint32_t nop = 0x00000013;
	memcpy(ram + HANDLER + 4, &nop, 4);
	us_unwinder_set_code(unwinder, &map, &cfi);
	in_program(PROGRAM_ROOT);
	expect_called_by(KEPT, CALLED);
	put_area(STACK_AT + 16, USER_FP, CALLED + 4);
	in_kernel();
	assert_int_equal(out.pc[2], CALLED + 4); /* behind what entered the kernel */
	put_area(STACK_AT + 16, USER_FP, PROGRAM);
	in_kernel();
	assert_int_equal(out.n, 2);
	mem.read_entered = NULL;
	in_kernel();
	assert_int_equal(out.n, 2);
}

static enum us_call call_before(us_gva pc, us_gpa root)
{
	regs.space.root = root;
	us_paging_new_sample(&paging);
	us_sites_begin(unwinder->sites, &paging, &regs.space, 8);
	return us_sites_find(unwinder->sites, pc, true, NULL)->call;
}

/* The link register still has an address of the kernel when the tables are the
 * program's again: nothing is there then, but that is true of these tables alone. */
static void kernel_is_away(void **state)
{
	(void)state;
	const us_gva high = 0xffffffc000000000;
	put_code(KEEPS_FP);
	put(KERNEL_ROOT + 256 * 8, LEAF(0));
	assert_int_equal(call_before(high + BEHIND, PROGRAM_ROOT), US_CALL_NONE);
	assert_int_equal(call_before(high + BEHIND, KERNEL_ROOT), US_CALL_INDIRECT);
	assert_int_equal(call_before(high + BEHIND, PROGRAM_ROOT), US_CALL_INDIRECT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PROGRAM_TEST(it_goes_on),
		PROGRAM_TEST(what_does_not_fit),
		PROGRAM_TEST(two_that_fit),
		PROGRAM_TEST(entries_that_tell_less),
		PROGRAM_TEST(which_is_the_program_counter),
		PROGRAM_TEST(on_the_way_out),
		PROGRAM_TEST(ways_out_that_tell_less),
		PROGRAM_TEST(it_goes_where_the_code_says),
		PROGRAM_TEST(on_the_way_in),
		PROGRAM_TEST(the_word_is_old),
		PROGRAM_TEST(the_word_is_old_in_the_handler),
		PROGRAM_TEST(nobody_knows_whether_it_is_kept),
		PROGRAM_TEST(an_entry_that_jumps),
		PROGRAM_TEST(kernel_is_away),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
