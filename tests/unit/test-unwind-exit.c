/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How kernels leave what an interrupt entered: behind a label with a name of its own
 * (xv6, ucore, Zephyr), with the stack pointer from the frame (FreeBSD), by a swap with
 * a scratch register (FreeBSD, rCore), from EL2 and EL3; and functions with a shadow
 * stack.
 */
#include "link-guest.h"

#define STP_PRE	 0xa9be7bfd /* stp x29, x30, [sp, #-32]! */
#define MOV_FP	 0x910003fd /* mov x29, sp */
#define LDP_POST 0xa8c27bfd /* ldp x29, x30, [sp], #32 */
#define NOP	 0xd503201f
#define RET	 0xd65f03c0
#define ERET	 0xd69f03e0

static void words(us_gva at, const uint32_t *code, size_t n)
{
	memcpy(ram + at, code, n * 4);
}
#define CODE(at, ...)                                                                  \
	words(at, (const uint32_t[]){ __VA_ARGS__ },                                   \
	      sizeof((const uint32_t[]){ __VA_ARGS__ }) / 4)

static void halves(us_gva at, const uint16_t *code, size_t n)
{
	memcpy(ram + at, code, n * 2);
}
#define HALVES(at, ...)                                                                \
	halves(at, (const uint16_t[]){ __VA_ARGS__ },                                  \
	       sizeof((const uint16_t[]){ __VA_ARGS__ }) / 2)

static uint32_t jal(us_gva from, us_gva to)
{
	uint32_t d = (uint32_t)(to - from);
	return (d >> 20 & 1) << 31 | (d >> 1 & 0x3ff) << 21 | (d >> 11 & 1) << 20 |
	       (d >> 12 & 0xff) << 12 | 1 << 7 | 0x6f;
}
#define JAL(from, to) jal(from, to) & 0xffff, jal(from, to) >> 16

static void symbol(us_gva at)
{
	start[map.n++] = at;
	us_unwinder_set_code(unwinder, &map, &cfi);
}

/* --- x86 --- */

/* push rax; push rcx; mov rdi, rsp; call 0x1000; pop rcx; pop rax; add rsp, 16; iretq
 */
static const char entry[] = "\x50\x51\x48\x89\xe7\xe8\xf6\xef\xff\xff"
			    "\x59\x58\x48\x83\xc4\x10\x48\xcf";

/* An interrupt's frame at STACK + 40, of a leaf that 0x4000 has called. */
static void interrupted(us_gva label)
{
	FUNCTION(0x1000, "\xc3");
	FUNCTION(0x2000, entry);
	if (label)
		symbol(label);
	FUNCTION(0x3000, "\x90\x90\xc3");
	calls(0x4000, 0x3000);
	put(STACK, 0x200a);
	put(STACK + 40, 0x3001);
	put(STACK + 48, 8);
	put(STACK + 56, 0x202);
	put(STACK + 64, STACK + 80);
	put(STACK + 72, 16);
	put(STACK + 80, 0x4005);
}

static void x86_label(void **state)
{
	/* None; where the CALL returns to; an instruction behind that. */
	static const us_gva label[] = { 0, 0x200a, 0x200b };
	for (unsigned i = 0; i < 3; i++) {
		done(state);
		fresh(state);
		interrupted(label[i]);
		for (unsigned again = 0; again < 2; again++) {
			unwind(0x1000, STACK);
			assert_true(out.n >= 4);
			assert_int_equal(out.pc[1], 0x200a);
			assert_int_equal(out.pc[2], 0x3001);
			assert_int_equal(out.how[2], US_HOW_INTERRUPT);
			assert_int_equal(out.pc[3], 0x4005);
		}
	}
}

/* The entry itself is what runs, at sp below the frame at STACK + 40. */
static void x86_at(us_gva pc, us_gva sp)
{
	for (unsigned again = 0; again < 2; again++) {
		unwind(pc, sp);
		assert_true(out.n >= 3);
		assert_int_equal(out.pc[1], 0x3001);
		assert_int_equal(out.how[1], US_HOW_INTERRUPT);
		assert_int_equal(out.pc[2], 0x4005);
	}
}

static void x86_before_label(void **state)
{
	/* None; where the CALL returns to; an instruction behind that; a push. */
	static const us_gva label[] = { 0, 0x200a, 0x200b, 0x2001 };
	for (unsigned i = 0; i < 4; i++) {
		done(state);
		fresh(state);
		interrupted(label[i]);
		ram[STACK + 24] = 7; /* what the vector's stub has pushed */
		x86_at(0x2000, STACK + 24);
		x86_at(0x2001, STACK + 16);
		x86_at(0x2002, STACK + 8);
		x86_at(0x2005, STACK + 8);
		x86_at(0x200a, STACK + 8);
	}
}

/* push rax; mov rax, rsp; mov rsp, 0x9000; push rax; cld; call 0x1000; nop; and behind
 * the label: pop rsp; pop rax; iretq */
static void x86_before_label_on_its_stack(void **state)
{
	for (unsigned labelled = 0; labelled < 2; labelled++) {
		done(state);
		fresh(state);
		interrupted(0);
		map.n = 1;
		FUNCTION(0x2000, "\x50\x48\x89\xe0\x48\xc7\xc4\x00\x90\x00\x00\x50"
				 "\xfc\xe8\xee\xef\xff\xff\x90\x5c\x58\x48\xcf");
		if (labelled)
			symbol(0x2013);
		symbol(0x3000);
		symbol(0x4000);
		put(0x9000 - 8, STACK + 32);
		x86_at(0x2000, STACK + 40);
		x86_at(0x2001, STACK + 32);
		x86_at(0x2004, STACK + 32);
		x86_at(0x200c, 0x9000 - 8);
		x86_at(0x200d, 0x9000 - 8);
		x86_at(0x2012, 0x9000 - 8);
	}
}

/* A frame that is not there once may be there the next time. */
static void x86_label_again(void **state)
{
	(void)state;
	interrupted(0x200a);
	put(STACK + 48, 0);
	unwind(0x1000, STACK);
	assert_int_equal(out.n, 2);
	put(STACK + 48, 8);
	unwind(0x1000, STACK);
	assert_true(out.n >= 4);
	assert_int_equal(out.pc[2], 0x3001);
}

/* What a CALL at the end of a function is followed by is another function: one that
 * returns, or that has a prologue of its own. */
static void x86_no_label(void **state)
{
	(void)state;
	FUNCTION(0x1000, "\xc3");
	FUNCTION(0x2000, "\x50\x51\x48\x89\xe7\xe8\xf6\xef\xff\xff");
	FUNCTION(0x200a, "\x55\x48\x89\xe5\x5d\x59\x58\x48\x83\xc4\x10\x48\xcf");
	put(STACK, 0x200a);
	put(STACK + 40, 0x3001);
	put(STACK + 48, 8);
	put(STACK + 56, 0x202);
	put(STACK + 64, STACK + 80);
	put(STACK + 72, 16);
	unwind(0x1000, STACK);
	assert_int_equal(out.n, 2);
	memcpy(ram + 0x200a, "\x59\x58\x85\xc0\x74\x06\x48\x83\xc4\x10\x48\xcf\xc3",
	       13);
	us_unwinder_set_code(unwinder, &map, &cfi);
	unwind(0x1000, STACK); /* jz to a ret */
	assert_int_equal(out.n, 2);
	unwind(0x2002, STACK + 8);
	assert_int_equal(out.n, 1);
}

/* Behind boot code that calls the kernel lies another way in: push rax; push rcx; call;
 * pop rcx; pop rax; iretq.  What is on the stack may look like a frame. */
static void x86_way_in(void **state)
{
	(void)state;
	FUNCTION(0x1000, "\xc3");
	FUNCTION(0x2000, "\x90\x90\x90\x90\x90\xe8\xf6\xef\xff\xff");
	FUNCTION(0x200a, "\x50\x51\xe8\xef\xef\xff\xff\x59\x58\x48\xcf");
	FUNCTION(0x3000, "\x90\x90\xc3");
	put(STACK, 0x200a);
	put(STACK + 8, 0x3001);
	put(STACK + 16, 8);
	put(STACK + 24, 0x202);
	put(STACK + 32, STACK + 48);
	put(STACK + 40, 16);
	unwind(0x1000, STACK);
	assert_int_equal(out.n, 2);
	unwind(0x2002, STACK + 8);
	assert_int_equal(out.n, 1);
}

/* --- aarch64 --- */

/* 0x1000 calls 0x2000, which calls the leaf 0x3000. */
static void arm_chain(void)
{
	CODE(0x1000, STP_PRE, MOV_FP, bl(0x1008, 0x2000), LDP_POST, RET);
	CODE(0x2000, STP_PRE, MOV_FP, bl(0x2008, 0x3000), LDP_POST, RET);
	CODE(0x3000, NOP, NOP, RET);
	CODE(0x5000, RET);
}

/* The chain's stack from here on, and what an entry's frame has of the leaf. */
static void arm_stack(us_gva at, us_gva x29, us_gva x30, us_gva elr)
{
	put(at, at + 0x20);
	put(at + 8, 0x100c);
	put(at + 0x20, 0);
	put(at + 0x28, 0);
	put(x29, at);
	put(x30, 0x200c);
	put(elr, 0x3004);
}

/* mov x18, sp; sub sp, sp, #64; stp x0, x29, [sp, #32]; stp x18, x30, [sp]; mrs x10,
 * elr_el1; mrs x11, spsr_el1; stp x10, x11, [sp, #16]; bl; ldp x18, x30, [sp]; ldp x10,
 * x11, [sp, #16]; msr spsr_el1, x11; msr elr_el1, x10; ldp x0, x29, [sp, #32]; mov sp,
 * x18; eret */
static void arm_stack_from_frame(void **state)
{
	(void)state;
	static const us_gva stacks[] = { STACK + 64, STACK + 0x400 };
	arm_chain();
	CODE(0x4000, 0x910003f2, 0xd10103ff, 0xa90277e0, 0xa9007bf2, 0xd538402a,
	     0xd538400b, 0xa9012fea, bl(0x401c, 0x5000), 0xa9407bf2, 0xa9412fea,
	     0xd518400b, 0xd518402a, 0xa94277e0, 0x9100025f, ERET);
	symbol(0x1000);
	symbol(0x2000);
	symbol(0x3000);
	symbol(0x4000);
	symbol(0x5000);
	for (unsigned i = 0; i < 2; i++) { /* on this stack, and on another */
		arm_stack(stacks[i], STACK + 40, STACK + 8, STACK + 16);
		put(STACK, stacks[i]);
		regs.gpr[US_AARCH64_LR] = 0x4020;
		look(0x5000, STACK, stacks[i]);
		EXPECT(US_END_ROOT, 0x5000, 0x4020, 0x3004, 0x200c, 0x100c);
		assert_int_equal(out.how[2], US_HOW_INTERRUPT);
	}
}

/* sub sp, sp, #32; stp x29, x30, [sp]; mrs x0, elr_el2; str x0, [sp, #16]; bl; ldr x0,
 * [sp, #16]; msr elr_el2, x0; ldp x29, x30, [sp]; add sp, sp, #32; eret */
static void arm_levels(void **state)
{
	(void)state;
	/* EL1, EL2, EL3, and the register that EL2 has of EL1's. */
	static const uint32_t level[] = { 0, 4, 6, 5 };
	for (unsigned i = 0; i < 4; i++) {
		uint32_t bits = level[i] << 16;
		arm_chain();
		arm_stack(STACK + 32, STACK, STACK + 8, STACK + 16);
		CODE(0x4000, 0xd10083ff, 0xa9007bfd, 0xd5384020 | bits, 0xf9000be0,
		     bl(0x4010, 0x5000), 0xf9400be0, 0xd5184020 | bits, 0xa9407bfd,
		     0x910083ff, ERET);
		us_unwinder_set_code(unwinder, &map, &cfi);
		regs.gpr[US_AARCH64_LR] = 0x4014;
		look(0x5000, STACK, STACK + 32);
		if (level[i] == 5)
			assert_int_equal(out.n, 2);
		else
			EXPECT(US_END_ROOT, 0x5000, 0x4014, 0x3004, 0x200c, 0x100c);
	}
}

static bool read_entered(void *ctx, struct us_entered *ret)
{
	*ret = *(struct us_entered *)ctx;
	return true;
}

static void entered_from(us_gva pc)
{
	static struct us_entered at;
	at = (struct us_entered){ .pc = pc, .valid = true };
	mem.ctx = &at;
	mem.read_entered = read_entered;
}

/* sub sp, sp, #32; stp x29, x30, [sp]; mrs x0, elr_el1; str x0, [sp, #16]; bl; and
 * behind the label: ldr x0, [sp, #16]; msr elr_el1, x0; ldp x29, x30, [sp]; add sp, sp,
 * #32; eret.  The entry itself is what runs. */
static void arm_before_label(void **state)
{
	(void)state;
	arm_chain();
	arm_stack(STACK + 32, STACK, STACK + 8, STACK + 16);
	CODE(0x4000, 0xd10083ff, 0xa9007bfd, 0xd5384020, 0xf9000be0, bl(0x4010, 0x5000),
	     0xf9400be0, 0xd5184020, 0xa9407bfd, 0x910083ff, ERET);
	symbol(0x1000);
	symbol(0x2000);
	symbol(0x3000);
	symbol(0x4000);
	symbol(0x4014);
	symbol(0x5000);
	entered_from(0x3004);
	regs.gpr[US_AARCH64_LR] = 0x200c;
	for (us_gva pc = 0x4000; pc <= 0x4010; pc += 4) {
		look(pc, pc == 0x4000 ? STACK + 32 : STACK, STACK + 32);
		EXPECT(US_END_ROOT, pc, 0x3004, 0x200c, 0x100c);
	}
}

#define TABLE	  0xe000 /* of 512 pages of 4 KiB, as they are */
#define PAGE	  0x403	 /* valid, accessed */
#define EL0	  0x40
#define READ_ONLY 0x80
#define PXN	  (1ULL << 53)

static void map_pages(us_gva from, us_gva to, uint64_t bits)
{
	for (us_gva at = from; at < to; at += 0x1000)
		put(TABLE + (at >> 12) * 8, at | PAGE | bits);
}

/* A kernel in the lower half: where the kernel cannot execute, a program was
 * interrupted.  Its stack pointer is not known, but its frame pointer is. */
static void arm_program_beside_its_kernel(void **state)
{
	static const struct {
		uint64_t code;
		bool user;
	} ways[] = {
		{ EL0 | READ_ONLY | PXN, true },
		{ EL0, true }, /* what programs write to, the kernel cannot execute */
		{ EL0 | READ_ONLY, false }, /* either may have */
		{ 0, false },
	};
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		done(state);
		fresh_arm(state);
		arm_chain();
		arm_stack(STACK + 0x1000, STACK, STACK + 8, STACK + 16);
		CODE(0x4000, 0xd10083ff, 0xa9007bfd, 0xd5384020, 0xf9000be0,
		     bl(0x4010, 0x5000), 0xf9400be0, 0xd5184020, 0xa9407bfd, 0x910083ff,
		     ERET);
		map_pages(0, 0x10000, 0);
		map_pages(0x1000, 0x4000, ways[i].code);
		map_pages(STACK + 0x1000, STACK + 0x2000, EL0 | PXN);
		us_unwinder_set_code(unwinder, &map, &cfi);
		regs.space = (struct us_space){ .root = TABLE,
						.control = (64 - 21) | 1ULL << 23,
						.mode = US_PAGING_AARCH64 };
		regs.gpr[US_AARCH64_LR] = 0x4014;
		look(0x5000, STACK, STACK + 0x1000);
		print_message("# %zu: %u frames\n", i, out.n);
		assert_true(out.n >= 3);
		assert_int_equal(out.pc[2], 0x3004);
		assert_int_equal(out.flags[1] & US_PC_USER, 0);
		assert_int_equal(!!(out.flags[2] & US_PC_USER), ways[i].user);
		if (!ways[i].user)
			continue;
		EXPECT(out.end, 0x5000, 0x4014, 0x3004, 0x200c, 0x100c);
		assert_true(out.flags[4] & US_PC_USER);
	}
}

/* str x30, [x18], #8; stp; mov; bl; ldp; ldr x30, [x18, #-8]!; ret: stopped at each
 * instruction. */
static void arm_shadow_stack(void **state)
{
	(void)state;
	arm_chain();
	CODE(0x2000, 0xf800865e, STP_PRE, MOV_FP, bl(0x200c, 0x3000), LDP_POST,
	     0xf85f8e5e, RET);
	put(STACK, STACK + 0x20);
	put(STACK + 8, 0x100c);
	put(STACK + 0x20, 0);
	put(STACK + 0x28, 0);
	symbol(0x1000);
	symbol(0x2000);
	symbol(0x3000);
	for (us_gva pc = 0x2000; pc <= 0x2018; pc += 4) {
		bool in = pc >= 0x2008 && pc <= 0x2010;
		regs.gpr[US_AARCH64_LR] = pc == 0x2010 ? 0x2010 : 0x100c;
		look(pc, in ? STACK : STACK + 0x20,
		     pc == 0x200c || pc == 0x2010 ? STACK : STACK + 0x20);
		EXPECT(US_END_ROOT, pc, 0x100c);
	}
}

/* gcc's functions load x30 from the shadow stack alone.  Behind a blr it holds what
 * that has left: that the function has called itself is not to be believed. */
static void arm_shadow_stack_alone(void **state)
{
	(void)state;
	arm_chain();
	CODE(0x2000, 0xf800865e, STP_PRE, MOV_FP, 0xd63f0020, /* blr x1 */
	     0xf84207fd,				      /* ldr x29, [sp], #32 */
	     0xf85f8e5e, RET);
	put(STACK, STACK + 0x20);
	put(STACK + 8, 0x100c);
	symbol(0x1000);
	symbol(0x2000);
	symbol(0x3000);
	regs.gpr[US_AARCH64_LR] = 0x2010;
	look(0x2014, STACK + 0x20, STACK + 0x20);
	assert_true(out.n == 1 || out.pc[1] != 0x2010);
}

/* Boot code sets x29 to 0 and calls the kernel; behind it lies an entry's way out, and
 * above its stack the address of code. */
static void arm_root_before_exit(void **state)
{
	(void)state;
	arm_chain();
	CODE(0x4000, 0xaa1f03fd, bl(0x4004, 0x5000), 0xf9400be0, 0xd5184020, 0xa9407bfd,
	     0x910083ff, ERET);
	symbol(0x1000);
	symbol(0x2000);
	symbol(0x3000);
	symbol(0x4000);
	symbol(0x4008);
	symbol(0x5000);
	put(STACK + 16, 0x3004);
	regs.gpr[US_AARCH64_LR] = 0x4008;
	look(0x5000, STACK, 0);
	EXPECT(US_END_ROOT, 0x5000, 0x4008);
}

/* --- RISC-V --- */

/* 0x1000 calls 0x2000, which calls the leaf 0x3000, each with a frame of 16 bytes. */
static void riscv_chain(us_gva stack)
{
	HALVES(0x1000, 0x1141, 0xe406, JAL(0x1004, 0x2000), 0x60a2, 0x0141, 0x8082);
	HALVES(0x2000, 0x1141, 0xe406, JAL(0x2004, 0x3000), 0x60a2, 0x0141, 0x8082);
	HALVES(0x3000, 0x0001, 0x0001, 0x8082);
	HALVES(0x5000, 0x0001, 0x8082);
	put(stack + 8, 0x1008);
	put(stack + 24, 0);
	symbol(0x1000);
	symbol(0x2000);
	symbol(0x3000);
	symbol(0x4000);
}

/* What the handler's caller's frame, of 64 bytes at STACK, has of the leaf. */
static void riscv_look(us_gva stack, us_gva behind)
{
	put(STACK + 8, 0x2008);
	put(STACK + 16, stack);
	put(STACK + 40, 0x3002);
	regs.gpr[US_RISCV_RA] = behind;
	look(0x5000, STACK, 0);
	assert_true(out.n >= 5);
	assert_int_equal(out.pc[1], behind);
	assert_int_equal(out.pc[2], 0x3002);
	assert_int_equal(out.how[2], US_HOW_INTERRUPT);
	assert_int_equal(out.pc[3], 0x2008);
	assert_int_equal(out.pc[4], 0x1008);
}

/* csrw sscratch, sp; addi sp, sp, -64; sd ra, 8(sp); sd s0, 24(sp); csrrw s0, sscratch,
 * zero; csrr s1, sstatus; csrr s2, sepc; sd s0, 16(sp); sd s1, 32(sp); sd s2, 40(sp);
 * mv a0, sp; jal; and behind the label: ld s1, 32(sp); ld s2, 40(sp); csrw sstatus, s1;
 * csrw sepc, s2; ld ra, 8(sp); ld s0, 24(sp); ld sp, 16(sp); sret */
static void riscv_label(void **state)
{
	(void)state;
	riscv_chain(STACK + 64);
	HALVES(0x4000, 0x1073, 0x1401, 0x7139, 0xe406, 0xec22, 0x1473, 0x1400, 0x24f3,
	       0x1000, 0x2973, 0x1410, 0xe822, 0xf026, 0xf44a, 0x850a,
	       JAL(0x401e, 0x5000), 0x7482, 0x7922, 0x9073, 0x1004, 0x1073, 0x1419,
	       0x60a2, 0x6462, 0x6142, 0x0073, 0x1020);
	symbol(0x4022);
	symbol(0x5000);
	riscv_look(STACK + 64, 0x4022);
	riscv_look(STACK + 64, 0x4022);
}

/* addi sp, sp, -64; sd ra, 8(sp); csrr t0, sepc; sd t0, 40(sp); jal; and behind the
 * label: ld t0, 40(sp); csrw sepc, t0; ld ra, 8(sp); addi sp, sp, 64; sret.  The entry
 * itself is what runs. */
static void riscv_before_label(void **state)
{
	static const us_gva pc[] = { 0x4000, 0x4002, 0x4004, 0x4008, 0x400a };
	(void)state;
	riscv_chain(STACK + 64);
	HALVES(0x4000, 0x7139, 0xe406, 0x22f3, 0x1410, 0xf416, JAL(0x400a, 0x5000),
	       0x72a2, 0x9073, 0x1412, 0x60a2, 0x6121, 0x0073, 0x1020);
	symbol(0x400e);
	symbol(0x5000);
	put(STACK + 8, 0x2008);
	put(STACK + 40, 0x3002);
	entered_from(0x3002);
	for (unsigned i = 0; i < sizeof(pc) / sizeof(*pc); i++) {
		regs.gpr[US_RISCV_RA] = 0x2008;
		look(pc[i], i ? STACK : STACK + 64, 0);
		assert_true(out.n >= 3);
		assert_int_equal(out.pc[1], 0x3002);
		assert_int_equal(out.pc[2], 0x2008);
	}
}

/* The same way out as the return address of a handler that the entry jumps to. */
static void riscv_way_out(us_gva way_out)
{
	map.n = 0;
	riscv_chain(STACK + 64);
	HALVES(0x4000, 0x1073, 0x1401, 0x7139, 0xe406, 0xec22, 0x1473, 0x1400, 0x24f3,
	       0x1000, 0x2973, 0x1410, 0xe822, 0xf026, 0xf44a, 0x850a, 0x0001, 0x0001,
	       0x7482, 0x7922, 0x9073, 0x1004, 0x1073, 0x1419, 0x60a2, 0x6462, 0x6142,
	       0x0073, 0x1020);
	/* addi sp, sp, -16; sd ra, 8(sp); nop; ld ra, 8(sp); addi sp, sp, 16; ret */
	HALVES(0x6000, 0x1141, 0xe406, 0x0001, 0x60a2, 0x0141, 0x8082);
	if (way_out)
		symbol(way_out);
	symbol(0x5000);
	symbol(0x6000);
}

static void riscv_handed_way_out(void **state)
{
	(void)state;
	riscv_way_out(0x4022);
	for (unsigned again = 0; again < 2; again++) {
		riscv_look(STACK + 64, 0x4022);
		assert_true(out.flags[1] & US_PC_EXACT);
	}
	put(STACK - 8, 0x4022); /* once the handler has stored it */
	look(0x6004, STACK - 16, 0);
	assert_int_equal(out.pc[1], 0x4022);
	assert_int_equal(out.pc[2], 0x3002);
	assert_int_equal(out.pc[4], 0x1008);
}

static void no_way_out(us_gva ra)
{
	regs.gpr[US_RISCV_RA] = ra;
	look(0x5000, STACK, 0);
	assert_int_equal(out.n, 1);
}

static void riscv_no_way_out(void **state)
{
	(void)state;
	riscv_way_out(0);
	no_way_out(0x4022); /* no function */
	riscv_way_out(0x4022);
	no_way_out(0x4024); /* not its start */
	no_way_out(0x6000); /* an ordinary one */
	regs.user = true;
	no_way_out(0x4022);
	regs.user = false;
	/* Its frame is elsewhere: mv sp, a1 */
	HALVES(0x4022, 0x812e);
	us_unwinder_set_code(unwinder, &map, &cfi);
	no_way_out(0x4022);
	riscv_way_out(0x4022);
	HALVES(0x4034, 0x8082, 0x0001); /* ret, not sret */
	us_unwinder_set_code(unwinder, &map, &cfi);
	no_way_out(0x4022);
	riscv_way_out(0x4022); /* csrw sepc is missing */
	HALVES(0x402a, 0x0001, 0x0001);
	us_unwinder_set_code(unwinder, &map, &cfi);
	no_way_out(0x4022);
}

/* Two ways out behind the label, of which one is on another stack: nobody knows. */
static void riscv_two_ways(void **state)
{
	(void)state;
	riscv_chain(STACK + 64);
	/* jal; beqz a0, 1f; ld sp, 0(sp); 1: ld t0, 40(sp); csrw sepc, t0; addi sp, sp,
	 * 64; mret */
	HALVES(0x4000, 0x7139, 0xe406, JAL(0x4004, 0x5000), 0xc111, 0x6102, 0x72a2,
	       0x9073, 0x1412, 0x6121, 0x0073, 0x3020);
	symbol(0x4008);
	symbol(0x5000);
	put(STACK + 8, 0x2008);
	put(STACK + 40, 0x3002);
	regs.gpr[US_RISCV_RA] = 0x4008;
	look(0x5000, STACK, 0);
	assert_int_equal(out.n, 2);
}

/* la sp, ...; jal; and behind boot code's label another way in: addi sp, sp, -64; sd
 * ra, 8(sp); csrr t0, sepc; sd t0, 40(sp); jal; ld t0, 40(sp); csrw sepc, t0; ld ra,
 * 8(sp); addi sp, sp, 64; sret. */
static void riscv_way_in(void **state)
{
	(void)state;
	riscv_chain(STACK + 64);
	HALVES(0x4000, 0x6141, 0x0001, JAL(0x4004, 0x5000), 0x7139, 0xe406, 0x22f3,
	       0x1410, 0xf416, JAL(0x4012, 0x5000), 0x72a2, 0x9073, 0x1412, 0x60a2,
	       0x6121, 0x0073, 0x1020);
	symbol(0x4008);
	symbol(0x5000);
	put(STACK + 8, 0x2008);
	put(STACK + 40, 0x3002);
	regs.gpr[US_RISCV_RA] = 0x4008;
	entered_from(0x3002);
	look(0x5000, STACK, 0);
	assert_int_equal(out.n, 2);
	assert_int_equal(out.pc[1], 0x4008);
	regs.gpr[US_RISCV_RA] = 0;
	look(0x4002, STACK, 0);
	assert_int_equal(out.n, 1);
}

/* Without page tables all is memory: what is no code that the map knows is not what was
 * broken off. */
static void riscv_no_code(void **state)
{
	riscv_label(state);
	map.text_start = 0x1000;
	map.text_end = 0x5100;
	us_unwinder_set_code(unwinder, &map, &cfi);
	put(STACK + 40, 0x7002);
	look(0x5000, STACK, 0);
	assert_int_equal(out.n, 2);
	map.text_start = map.text_end = 0;
}

/* csrrw sp, sscratch, sp; addi sp, sp, -64; sd ra, 8(sp); sd s0, 24(sp); csrr t0,
 * sscratch; sd t0, 16(sp); csrr t0, sepc; sd t0, 40(sp); mv a0, sp; jal; ld t0, 40(sp);
 * csrw sepc, t0; ld t0, 16(sp); csrw sscratch, t0; ld ra, 8(sp); ld s0, 24(sp); addi
 * sp, sp, 64; csrrw sp, sscratch, sp; sret */
static void riscv_swap(void **state)
{
	(void)state;
	static const us_gva stacks[] = { STACK + 64, STACK + 0x400 };
	for (unsigned i = 0; i < 2; i++) {
		map.n = 0;
		riscv_chain(stacks[i]);
		HALVES(0x4000, 0x1173, 0x1401, 0x7139, 0xe406, 0xec22, 0x22f3, 0x1400,
		       0xe816, 0x22f3, 0x1410, 0xf416, 0x850a, JAL(0x4018, 0x5000),
		       0x72a2, 0x9073, 0x1412, 0x62c2, 0x9073, 0x1402, 0x60a2, 0x6462,
		       0x6121, 0x1173, 0x1401, 0x0073, 0x1020);
		symbol(0x5000);
		riscv_look(stacks[i], 0x401c);
	}
}

/* c.sspush is c.mop.1, and would be lui ra, 0 to older processors; stopped at each
 * instruction. */
static void riscv_shadow_stack(void **state)
{
	(void)state;
	riscv_chain(STACK + 16);
	HALVES(0x2000, 0x6081, 0x1141, 0xe406, JAL(0x2006, 0x3000), 0x60a2, 0x0141,
	       0x8082);
	symbol(0x5000);
	put(STACK + 8, 0x1008);
	put(STACK + 24, 0);
	for (us_gva pc = 0x2000; pc <= 0x200e; pc += pc == 0x2006 ? 4 : 2) {
		bool in = pc >= 0x2004 && pc <= 0x200c;
		regs.gpr[US_RISCV_RA] = pc == 0x200a ? 0x200a : 0x1008;
		look(pc, in ? STACK : STACK + 16, 0);
		assert_true(out.n >= 2);
		assert_int_equal(out.pc[1], 0x1008);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(x86_label_again),
		ARM(arm_shadow_stack_alone),
		ARM(arm_program_beside_its_kernel),
		ARM(arm_root_before_exit),
		TEST(x86_way_in),
		RISCV(riscv_way_in),
		RISCV(riscv_no_code),
		TEST(x86_label),
		TEST(x86_before_label),
		TEST(x86_before_label_on_its_stack),
		TEST(x86_no_label),
		ARM(arm_stack_from_frame),
		ARM(arm_levels),
		ARM(arm_before_label),
		ARM(arm_shadow_stack),
		RISCV(riscv_label),
		RISCV(riscv_before_label),
		RISCV(riscv_two_ways),
		RISCV(riscv_handed_way_out),
		RISCV(riscv_no_way_out),
		RISCV(riscv_swap),
		RISCV(riscv_shadow_stack),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
