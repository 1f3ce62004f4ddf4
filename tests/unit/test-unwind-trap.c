/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * RISC-V: a handler that keeps the stack pointer in its frame and takes it from there
 * last, as Linux's does.  Its code is executed here, instruction by instruction, and at
 * each the stack has to go on with what was broken off, or end there.
 */
#include "link-guest.h"

#define ROOT	 0xc000
#define KERNEL	 0xffffffc000000000ULL /* one large page, for all memory */
#define LEAF(p)	 ((p) >> 2 | 0xcf)
#define TABLE(p) ((p) >> 2 | 1)
#define USER	 0x10

#define VECTOR	  (KERNEL + 0x2000)
#define BEHIND	  (KERNEL + 0x2052) /* its CALL of the handler */
#define EXIT	  (KERNEL + 0x2200)
#define SRET	  (KERNEL + 0x2234)
#define FORK	  (KERNEL + 0x2400)
#define HANDLER	  (KERNEL + 0x3000)
#define INSIDE	  (KERNEL + 0x3100) /* of the kernel, broken off in places */
#define CALLS_IT  (KERNEL + 0x3204)
#define PROGRAM	  0x5100
#define CALLS_PRG 0x5004
#define THREAD	  (KERNEL + 0x7000) /* tp of the kernel */
#define USER_SP	  0x9f00
#define USER_FP	  0x9f80
#define TOP	  (KERNEL + STACK + 0x3800) /* of the thread's stack */

static struct us_entered entered;

static bool read_entered(void *ctx, struct us_entered *ret)
{
	(void)ctx;
	*ret = entered;
	return entered.valid;
}

static void halves(us_gva at, const uint16_t *code, size_t n)
{
	memcpy(ram + (at & 0xffff), code, n * 2);
	start[map.n++] = at;
	us_unwinder_set_code(unwinder, &map, &cfi);
}
#define HALVES(at, ...)                                                                \
	halves(at, (const uint16_t[]){ __VA_ARGS__ },                                  \
	       sizeof((const uint16_t[]){ __VA_ARGS__ }) / 2)

/* csrrw tp, sscratch, tp; bnez tp, 1f; csrr tp, sscratch; sd sp, 16(tp); 1: sd sp,
 * 24(tp); ld sp, 16(tp); addi sp, sp, -288; sd ra, 8; gp, 24; t0, 40; s0, 64; s1, 72;
 * a0, 80; s2, 144; li t0, 0x46600; ld s0, 24(tp); csrrc s1, sstatus, t0; csrr s2, sepc;
 * csrr t0, sscratch; sd s0, 16; s1, 256; s2, 0; t0, 32; csrw sscratch, 0; mv a0, sp;
 * jal HANDLER; j EXIT */
static void put_entry(void)
{
	HALVES(VECTOR, 0x1273, 0x1402, 0x1663, 0x0002, 0x2273, 0x1400, 0x3823, 0x0022,
	       0x3c23, 0x0022, 0x3103, 0x0102, 0x712d, 0xe406, 0xec0e, 0xf416, 0xe0a2,
	       0xe4a6, 0xe8aa, 0xe94a, 0x62b7, 0x0004, 0x829b, 0x6002, 0x3403, 0x0182,
	       0xb4f3, 0x1002, 0x2973, 0x1410, 0x22f3, 0x1400, 0xe822, 0xe226, 0xe04a,
	       0xf016, 0x1073, 0x1400, 0x850a, 0x00ef, 0x7b30, 0xa27d);
}

/* ld s0, 256(sp); andi s0, s0, 0x100; bnez s0, 1f; addi s0, sp, 288; sd s0, 16(tp);
 * csrw sscratch, tp; 1: ld a0, 256(sp); ld a2, 0(sp); sc.d zero, a2, (sp); csrw
 * sstatus, a0; csrw sepc, a2; ld ra, 8; gp, 24; tp, 32; t0, 40; s0, 64; s1, 72; a0, 80;
 * s2, 144; ld sp, 16(sp); sret */
static void put_exit(void)
{
	HALVES(EXIT, 0x6412, 0x7413, 0x1004, 0xe411, 0x1200, 0x3823, 0x0082, 0x1073,
	       0x1402, 0x6512, 0x6602, 0x302f, 0x18c1, 0x1073, 0x1005, 0x1073, 0x1416,
	       0x60a2, 0x61e2, 0x7202, 0x72a2, 0x6406, 0x64a6, 0x6546, 0x694a, 0x6142,
	       0x0073, 0x1020);
}

static int fresh_trap(void **state)
{
	int r = fresh(state);
	us_unwinder_free(unwinder);
	memset(ram, 0, sizeof(ram));
	regs.arch = US_ARCH_RISCV64;
	regs.valid = UINT32_MAX;
	regs.space.mode = US_PAGING_RISCV_39;
	regs.space.root = ROOT;
	r = r || us_unwinder_new(US_ARCH_RISCV64, NULL, NULL, &unwinder);
	put(ROOT, TABLE(0xd000));
	put(ROOT + 256 * 8, LEAF(0));
	put(0xd000, TABLE(0xe000));
	put(0xe000 + 5 * 8, LEAF(0x5000) | USER);
	put(0xe000 + 9 * 8, LEAF(0x9000) | USER);
	HALVES(0x5000, 0x00ef, 0x1000, 0xa001); /* jal PROGRAM; j . */
	HALVES(PROGRAM, 0x0001, 0x0001, 0x8082);
	put_entry();
	put_exit();
	/* jal HANDLER; beqz s0, 1f; mv a0, s1; jalr s0; 1: mv a0, sp; jal HANDLER; j
	 * EXIT */
	HALVES(FORK, 0x00ef, 0x4010, 0xc019, 0x8526, 0x9402, 0x850a, 0x00ef, 0x3f50,
	       0xbbc5);
	/* addi sp, sp, -16; sd ra, 8; sd s0, 0; addi s0, sp, 16; nop; ld; ld; addi; ret
	 */
	HALVES(HANDLER, 0x1141, 0xe406, 0xe022, 0x0800, 0x0001, 0x60a2, 0x6402, 0x0141,
	       0x8082);
	HALVES(INSIDE, 0x0001, 0x0001, 0x8082);
	HALVES(CALLS_IT - 4, 0xf0ef, 0xf01f, 0xa001); /* jal INSIDE; j . */
	mem.read_entered = read_entered;
	return r;
}
#define TRAP(f) cmocka_unit_test_setup_teardown(f, fresh_trap, done)

/* --- a processor --- */

static struct {
	uint64_t x[32], scratch, epc, status;
	us_gva pc;
} cpu;

static uint64_t *csr_of(unsigned number)
{
	return number == 0x140	 ? &cpu.scratch
	       : number == 0x141 ? &cpu.epc
				 : &cpu.status;
}

static void do_system(uint32_t insn)
{
	unsigned rd = insn >> 7 & 31, rs = insn >> 15 & 31, kind = insn >> 12 & 3;
	uint64_t *csr = csr_of(insn >> 20), was = *csr;
	if (kind == 1)
		*csr = cpu.x[rs];
	else if (kind == 3)
		*csr &= ~cpu.x[rs];
	cpu.x[rd] = rd ? was : 0;
}

/* sc.d aside, which is without effect here, and andi. */
static void do_other(uint32_t insn)
{
	if ((insn & 0x707f) == 0x7013)
		cpu.x[insn >> 7 & 31] = cpu.x[insn >> 15 & 31] & (insn >> 20);
}

static bool branches(const uint8_t *code)
{
	uint16_t half;
	uint32_t insn;
	memcpy(&half, code, 2);
	memcpy(&insn, code, 4);
	if ((half & 3) != 3) /* c.bnez, c.beqz */
		return (cpu.x[8 + (half >> 7 & 7)] != 0) == (half >> 13 == 7);
	return cpu.x[insn >> 15 & 31] != 0; /* bne rs1, zero */
}

static void execute(void)
{
	const uint8_t *code = ram + (cpu.pc & 0xffff);
	struct us_link_insn i;
	uint32_t insn;
	memcpy(&insn, code, 4);
	assert_true(us_link_riscv.decode(code, 4, &i));
	uint64_t to = cpu.pc + i.len, at = cpu.x[i.base & 31] + (uint64_t)i.imm;
	if ((insn & 0x7f) == 0x73)
		do_system(insn);
	else if (i.kind == US_LINK_MOVE || i.kind == US_LINK_CONST)
		cpu.x[i.reg] = i.kind == US_LINK_MOVE ? at : (uint64_t)i.imm;
	else if (i.kind == US_LINK_LOAD)
		memcpy(&cpu.x[i.reg], ram + (at & 0xffff), 8);
	else if (i.kind == US_LINK_STORE)
		put(at & 0xffff, i.reg < 32 ? cpu.x[i.reg] : 0);
	else if (i.kind == US_LINK_CALL)
		cpu.x[US_RISCV_RA] = to; /* it has come back */
	else if (i.kind == US_LINK_JUMP || (i.kind == US_LINK_BRANCH && branches(code)))
		to = cpu.pc + (uint64_t)i.imm;
	else
		do_other(insn);
	cpu.pc = to;
}

/* What a trap finds. */
static void trap_in(bool user)
{
	memset(&cpu, 0, sizeof(cpu));
	cpu.epc = user ? PROGRAM + 2 : INSIDE + 2;
	cpu.status = user ? 0 : 0x100;
	cpu.scratch = user ? THREAD : 0;
	cpu.x[4] = user ? 0x9800 : THREAD;
	cpu.x[US_RISCV_SP] = user ? USER_SP : TOP - 0x400;
	cpu.x[US_RISCV_FP] = user ? USER_FP : TOP - 0x300;
	cpu.x[US_RISCV_RA] = user ? CALLS_PRG : CALLS_IT;
	cpu.pc = VECTOR;
	put((THREAD + 16) & 0xffff, TOP);
	entered = (struct us_entered){
		.pc = cpu.epc, .user = user, .valid = true, .vector = VECTOR
	};
}

static void look_at_cpu(void)
{
	memcpy(regs.gpr, cpu.x, sizeof(cpu.x));
	look(cpu.pc, cpu.x[US_RISCV_SP], cpu.x[US_RISCV_FP]);
}

/* Frame number at is what was broken off, and its caller is behind it. */
static void expect_below(unsigned at, bool user)
{
	uint8_t flags = user ? US_PC_USER : 0;
	assert_true(out.n >= at + 2);
	assert_int_equal(out.pc[at], user ? PROGRAM + 2 : INSIDE + 2);
	assert_int_equal(out.flags[at], flags | US_PC_EXACT);
	assert_int_equal(out.how[at], US_HOW_INTERRUPT);
	assert_int_equal(out.pc[at + 1], user ? CALLS_PRG : CALLS_IT);
	assert_int_equal(out.flags[at + 1], flags);
}

/* Where the stack pointer that the program had is in a word that only the thread's
 * pointer leads to: nobody knows it. */
static bool is_between(us_gva pc)
{
	return pc > VECTOR + 0x14 && pc < VECTOR + 0x34;
}

static void at_each_instruction(void **state)
{
	(void)state;
	for (int user = 0; user < 2; user++) {
		unsigned n = 0;
		trap_in(user);
		for (; cpu.pc != SRET; n++) {
			look_at_cpu();
			if (is_between(cpu.pc) && out.n == 1)
				assert_int_not_equal(out.end, US_END_ROOT);
			else
				expect_below(1, user);
			assert_true(n < 100);
			execute();
		}
		assert_true(n > 40);
		look_at_cpu();
		if (user)
			expect_below(1, user);
		else
			assert_int_equal(out.n, 1);
		assert_int_equal(cpu.x[US_RISCV_SP], user ? USER_SP : TOP - 0x400);
		assert_int_equal(cpu.epc, user ? PROGRAM + 2 : INSIDE + 2);
	}
}

/* What the processor says is not needed for what is behind a CALL. */
static void in_the_handler(void **state)
{
	(void)state;
	for (int user = 0; user < 2; user++) {
		trap_in(user);
		while (cpu.pc != BEHIND)
			execute();
		entered.valid = false;
		cpu.pc = HANDLER;
		for (unsigned n = 0; n < 4; n++) {
			look_at_cpu();
			assert_int_equal(out.pc[1], BEHIND);
			expect_below(2, user);
			execute();
		}
		look_at_cpu();
		expect_below(2, user);
	}
}

/* A program's page that is away is where the frame says, nevertheless; in the kernel
 * nothing is. */
static void a_page_that_is_away(void **state)
{
	(void)state;
	for (int user = 0; user < 2; user++) {
		trap_in(user);
		cpu.epc = user ? 0x6100 : 0xffffffd000000100;
		while (cpu.pc != BEHIND)
			execute();
		cpu.pc = HANDLER;
		look_at_cpu();
		assert_int_equal(out.pc[1], BEHIND);
		assert_int_equal(out.n, user ? 3 : 2);
		assert_int_not_equal(out.end, US_END_ROOT);
		if (user) {
			assert_int_equal(out.pc[2], 0x6100);
			assert_true(out.flags[2] & US_PC_USER);
		}
	}
}

/* A thread of the kernel begins with a frame that is zero; another has forked. */
static void where_threads_begin(void **state)
{
	(void)state;
	us_gva frame = TOP - 288;
	trap_in(true);
	entered.valid = false;
	cpu.pc = HANDLER;
	cpu.x[US_RISCV_SP] = frame;
	for (us_gva behind = FORK + 4; behind <= FORK + 16; behind += 6) {
		cpu.x[US_RISCV_RA] = behind;
		memset(ram + (frame & 0xffff), 0, 288);
		put((frame + 256) & 0xffff, 0x120);
		look_at_cpu();
		assert_int_equal(out.n, 2);
		assert_int_equal(out.pc[1], behind);
		assert_int_equal(out.end, US_END_ROOT);
		/* A stack pointer without an address is no frame. */
		put((frame + 16) & 0xffff, USER_SP);
		look_at_cpu();
		assert_int_equal(out.n, 2);
		assert_int_not_equal(out.end, US_END_ROOT);
		put(frame & 0xffff, PROGRAM + 2);
		put((frame + 8) & 0xffff, CALLS_PRG);
		look_at_cpu();
		expect_below(2, true);
	}
}

/* The processor enters elsewhere: what its registers are here says nothing. */
static void another_vector(void **state)
{
	(void)state;
	trap_in(false);
	execute();
	entered.vector = HANDLER;
	look_at_cpu();
	assert_int_equal(out.n, 1);
	entered.vector = VECTOR;
	entered.user = true; /* but no program is there */
	look_at_cpu();
	assert_int_equal(out.n, 1);
	entered.user = false;
	look_at_cpu();
	expect_below(1, false);
}

/* --- M-mode, which has no page tables --- */

#define MTVEC 0x1000

/* csrrw a0, mscratch, a0; sd a1, 0(a0); li a1, 2; csrw sip, a1; ld a1, 0(a0); csrrw a0,
 * mscratch, a0; mret: xv6's timervec, which uses no stack */
static const uint32_t timer[] = { 0x34051573, 0x00b53023, 0x00200593, 0x14459073,
				  0x00053583, 0x34051573, 0x30200073 };

/* Where the program's page is for the program, M-mode has something else. */
static void enter_machine(bool user, bool named)
{
	trap_in(user);
	map.n = 0;
	memcpy(ram + MTVEC, timer, sizeof(timer));
	put(0xe000 + 5 * 8, LEAF(0x6000) | USER);
	memcpy(ram + 0x6000, ram + 0x5000, 0x200);
	memset(ram + 0x5000, 0xcc, 0x200);
	map.text_start = MTVEC;
	map.text_end = MTVEC + sizeof(timer);
	if (named)
		start[map.n++] = MTVEC;
	us_unwinder_set_code(unwinder, &map, &cfi);
	regs.space.control = US_PAGING_RISCV_39;
	regs.space.mode = US_PAGING_OFF;
	regs.machine = true;
	entered.vector = MTVEC;
	entered.below = true;
	cpu.pc = MTVEC;
}

static void from_machine(bool found, bool user)
{
	look_at_cpu();
	if (found)
		expect_below(1, user);
	else
		assert_int_equal(out.n, 1);
}

static void each_of_the_timer(void **state)
{
	for (unsigned i = 0; i < 4; i++) {
		bool user = i & 1;
		done(state);
		fresh_trap(state);
		enter_machine(user, i & 2);
		for (; cpu.pc < MTVEC + sizeof(timer); cpu.pc += 4)
			from_machine(true, user);
	}
	map.text_end = 0;
}

static void not_from_below(void **state)
{
	(void)state;
	enter_machine(true, false);
	cpu.pc = MTVEC + 8;
	entered.below = false; /* M-mode itself, in what M-mode has there */
	entered.user = false;
	look_at_cpu();
	assert_int_equal(out.n, 2);
	assert_int_equal(out.flags[1], US_PC_EXACT);
	entered.below = true; /* the kernel, which has no such page */
	from_machine(false, false);
	entered.user = true;
	from_machine(true, true);
	entered.vector = 0x1800;
	from_machine(false, true);
	entered.vector = MTVEC + 4; /* csrrw was not on the way */
	from_machine(true, true);
	entered.vector = MTVEC;
	regs.space.control = US_PAGING_OFF; /* nobody has page tables */
	from_machine(false, true);
	regs.space.control = US_PAGING_RISCV_39;
	/* mv sp, a1: it may be anywhere */
	memcpy(ram + MTVEC + 4, (uint32_t[]){ 0x00058113 }, 4);
	us_unwinder_set_code(unwinder, &map, &cfi);
	from_machine(false, true);
	map.text_end = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TRAP(at_each_instruction), TRAP(in_the_handler),
		TRAP(a_page_that_is_away), TRAP(where_threads_begin),
		TRAP(another_vector),	   TRAP(each_of_the_timer),
		TRAP(not_from_below),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
