/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the plugin knows of an architecture's instructions. */
#include "unit.h"

#include "trace/plugin/arch.h"

#include <elf.h>
#include <string.h>

static bool loops(const uint8_t *code, size_t n)
{
	return us_plugin_may_jump_to(us_plugin_arch_of_machine(EM_X86_64), code, n,
				     0x1000, 0x1000);
}
#define LOOPS(...)                                                                     \
	loops((const uint8_t[]){ __VA_ARGS__ }, sizeof((uint8_t[]){ __VA_ARGS__ }))

static void loops_to_the_entry_are_found(void **state)
{
	(void)state;
	assert_true(LOOPS(0xff, 0xcf, 0x75, 0xfc, 0xc3));	      /* dec; jne */
	assert_true(LOOPS(0x90, 0xeb, 0xfd));			      /* nop; jmp */
	assert_true(LOOPS(0x90, 0xe9, 0xfa, 0xff, 0xff, 0xff));	      /* jmp, 4 bytes */
	assert_true(LOOPS(0x90, 0x0f, 0x85, 0xf9, 0xff, 0xff, 0xff)); /* jne */
	assert_true(LOOPS(0x90, 0xe2, 0xfd));			      /* loop */
	assert_true(LOOPS(0xf3, 0xa4, 0xc3));			      /* rep movsb */
	assert_true(LOOPS(0xf3, 0x48, 0xab, 0xc3));		      /* rep stosq */
}

static void others_are_not(void **state)
{
	(void)state;
	assert_false(LOOPS(0x90, 0xf3, 0xa4, 0xc3));	   /* not the first */
	assert_false(LOOPS(0xa4, 0xc3));		   /* movsb, once */
	assert_false(LOOPS(0x90, 0x90, 0x75, 0xfd));	   /* to the second */
	assert_false(LOOPS(0xe8, 0xfb, 0xff, 0xff, 0xff)); /* a call */
	assert_false(LOOPS(0x90, 0x75));		   /* cut off */
	assert_false(LOOPS(0x90, 0xe9, 0xfa, 0xff, 0xff));
	assert_false(loops(NULL, 0));
}

static void an_instruction_jumps(void **state)
{
	static const uint8_t jne[] = { 0x75, 0xfc }, rep[] = { 0xf3, 0xa4 },
			     call[] = { 0xe8, 0xfb, 0xff, 0xff, 0xff };
	const struct us_plugin_arch *a = us_plugin_arch_find("x86_64");
	(void)state;
	assert_true(us_plugin_jumps_to(a, jne, 2, 0x1002, 0x1000));
	assert_false(us_plugin_jumps_to(a, jne, 2, 0x1003, 0x1000));
	assert_true(us_plugin_jumps_to(a, rep, 2, 0x1000, 0x1000));
	assert_false(us_plugin_jumps_to(a, call, 5, 0x1000, 0x1000));
	assert_null(us_plugin_arch_find("vax"));
	assert_null(us_plugin_arch_of_machine(EM_VAX));
}

/* ---- Where a register has the return address ---- */

static struct us_flow_insn flow_of(const char *target, uint32_t insn, size_t n)
{
	struct us_flow_insn f;
	us_plugin_arch_find(target)->flow((const uint8_t *)&insn, n, 0x10000, &f);
	return f;
}

static struct us_flow_insn a64(uint32_t insn)
{
	return flow_of("aarch64", insn, 4);
}

static struct us_flow_insn rv(uint32_t insn)
{
	return flow_of("riscv64", insn, (insn & 3) == 3 ? 4 : 2);
}

/* What becomes of the link register, "stored+8 by stack". */
static void expect_link(struct us_flow_insn f, const char *want)
{
	static const char *const words[] = { "kept", "stored", "loaded", "set" };
	char text[32];
	snprintf(text, sizeof(text), "%s+%u%s", words[f.link], f.link_bytes,
		 f.by_stack ? " by stack" : "");
	assert_string_equal(text, want);
}

static void expect_flow(struct us_flow_insn f, enum us_flow flow, uint64_t target)
{
	assert_int_equal(f.flow, flow);
	assert_int_equal(f.has_target, target != 0);
	if (target)
		assert_int_equal(f.target, target);
}

static void a64_stores_and_loads(void **state)
{
	(void)state;
	expect_link(a64(0xa9bf7bfd),
		    "stored+8 by stack"); /* stp x29, x30, [sp, #-16]! */
	expect_link(a64(0xa9017bfd), "stored+8 by stack"); /* stp x29, x30, [sp, #16] */
	expect_link(a64(0xa9be53fe),
		    "stored+0 by stack"); /* stp x30, x20, [sp, #-32]! */
	expect_link(a64(0xf81f0ffe), "stored+0 by stack"); /* str x30, [sp, #-16]! */
	expect_link(a64(0xf90007fe), "stored+0 by stack"); /* str x30, [sp, #8] */
	expect_link(a64(0xa9057801), "stored+8");	   /* stp x1, x30, [x0, #80] */
	expect_link(a64(0xf900011e), "stored+0");	   /* str x30, [x8] */
	expect_link(a64(0xa8c17bfd), "loaded+8 by stack"); /* ldp x29, x30, [sp], #16 */
	expect_link(a64(0xf84107fe), "loaded+0 by stack"); /* ldr x30, [sp], #16 */
	expect_link(a64(0xf940011e), "loaded+0");	   /* ldr x30, [x8] */
	expect_link(a64(0xa9bf7bf3), "stored+8 by stack"); /* stp x19, x30, ... */
	expect_link(a64(0xa9bf53f3), "kept+0");		   /* stp x19, x20, ... */
}

static void a64_sets(void **state)
{
	(void)state;
	expect_link(a64(0xaa0903fe), "set+0");	/* mov x30, x9 */
	expect_link(a64(0x1000001e), "set+0");	/* adr x30, . */
	expect_link(a64(0xd280003e), "set+0");	/* mov x30, #1 */
	expect_link(a64(0xaa1e03e9), "kept+0"); /* mov x9, x30 */
	expect_link(a64(0xd503233f), "kept+0"); /* paciasp */
	expect_link(a64(0xd50323bf), "kept+0"); /* autiasp */
	expect_link(a64(0xdac103fe), "kept+0"); /* pacia x30, sp */
	expect_link(a64(0xdac143fe), "kept+0"); /* xpaci x30 */
	expect_link(a64(0xd503245f), "kept+0"); /* bti c */
}

static void a64_flow(void **state)
{
	(void)state;
	expect_flow(a64(0x94000001), US_FLOW_CALL, 0x10004);   /* bl */
	expect_flow(a64(0xd63f0100), US_FLOW_CALL, 0);	       /* blr x8 */
	expect_flow(a64(0xd73f0909), US_FLOW_CALL, 0);	       /* blraa x8, x9 */
	expect_flow(a64(0xd63f091f), US_FLOW_CALL, 0);	       /* blraaz x8 */
	expect_flow(a64(0x17ffffff), US_FLOW_JUMP, 0xfffc);    /* b */
	expect_flow(a64(0x54000041), US_FLOW_BRANCH, 0x10008); /* b.ne */
	expect_flow(a64(0xb4000040), US_FLOW_BRANCH, 0x10008); /* cbz */
	expect_flow(a64(0x36000040), US_FLOW_BRANCH, 0x10008); /* tbz */
	expect_flow(a64(0xd61f0200), US_FLOW_JUMP, 0);	       /* br x16 */
	expect_flow(a64(0xd71f0a11), US_FLOW_JUMP, 0);	       /* braa x16, x17 */
	expect_flow(a64(0xd65f03c0), US_FLOW_RETURN, 0);       /* ret */
	expect_flow(a64(0xd65f0bff), US_FLOW_RETURN, 0);       /* retaa */
	expect_flow(a64(0xd61f03c0), US_FLOW_RETURN, 0);       /* br x30 */
	expect_link(a64(0xd65f03c0), "kept+0");
	expect_link(a64(0xd65f0bff), "kept+0");
	expect_flow(a64(0xd65f0120), US_FLOW_RETURN, 0); /* ret x9 */
	expect_link(a64(0xd65f0120), "set+0");
	expect_flow(a64(0xd69f03e0), US_FLOW_LEAVE, 0); /* eret */
	expect_flow(a64(0xd69f0bff), US_FLOW_LEAVE, 0); /* eretaa */
	expect_flow(a64(0xd4000001), US_FLOW_TRAP, 0);	/* svc */
	expect_flow(a64(0xd4000002), US_FLOW_TRAP, 0);	/* hvc */
	expect_flow(a64(0xd4000003), US_FLOW_TRAP, 0);	/* smc */
	expect_flow(a64(0xd4200000), US_FLOW_TRAP, 0);	/* brk */
	assert_true(a64(0xd503207f).halts);		/* wfi */
	assert_false(a64(0xd503203f).halts);		/* yield */
}

static void a64_stacks(void **state)
{
	(void)state;
	assert_true(a64(0x9100003f).loads_stack);  /* mov sp, x1 */
	assert_true(a64(0x9100413f).loads_stack);  /* add sp, x9, #16 */
	assert_true(a64(0xd50041bf).loads_stack);  /* msr spsel, #1 */
	assert_false(a64(0x910003bf).loads_stack); /* mov sp, x29 */
	assert_false(a64(0xd10083ff).loads_stack); /* sub sp, sp, #32 */
	assert_false(a64(0xcb2063ff).loads_stack); /* sub sp, sp, x0 */
	assert_false(a64(0xa8c17bfd).loads_stack); /* ldp x29, x30, [sp], #16 */
}

static void rv_link(void **state)
{
	(void)state;
	expect_link(rv(0x00113423), "stored+0 by stack"); /* sd ra, 8(sp) */
	expect_link(rv(0xe406), "stored+0 by stack");	  /* c.sdsp ra, 8(sp) */
	expect_link(rv(0x00153023), "stored+0");	  /* sd ra, 0(a0) */
	expect_link(rv(0x00813083), "loaded+0 by stack"); /* ld ra, 8(sp) */
	expect_link(rv(0x60a2), "loaded+0 by stack");	  /* c.ldsp ra, 8(sp) */
	expect_link(rv(0x00053083), "loaded+0");	  /* ld ra, 0(a0) */
	expect_link(rv(0x8096), "set+0");		  /* c.mv ra, t0 */
	expect_link(rv(0x00008093), "set+0");		  /* addi ra, ra, 0 */
	expect_link(rv(0x00000097), "kept+0");		  /* auipc ra: of a call */
	expect_link(rv(0x000080e7), "kept+0");		  /* jalr ra */
	expect_link(rv(0xe022), "kept+0");		  /* c.sdsp s0, 0(sp) */
	assert_true(rv(0x812e).loads_stack);		  /* c.mv sp, a1 */
	assert_true(rv(0x06853103).loads_stack);	  /* ld sp, 104(a0) */
	assert_true(rv(0x14011173).loads_stack);	  /* csrrw sp, sscratch, sp */
	assert_false(rv(0x1141).loads_stack);		  /* c.addi sp, -16 */
	assert_false(rv(0xfc040113).loads_stack);	  /* addi sp, s0, -64 */
	assert_false(rv(0x911a).loads_stack);		  /* c.add sp, t1 */
}

static void rv_flow(void **state)
{
	static const uint8_t auipc[4] = { 0x97, 0x10, 0x00, 0x00 }; /* ra, 1 */
	uint32_t jalr = 0xff8080e7;				    /* -8(ra) */
	struct us_flow_insn f = rv(jalr);
	(void)state;
	expect_flow(f, US_FLOW_CALL, 0);
	us_riscv_far_flow(auipc, (const uint8_t *)&jalr, 4, 0x10004, &f);
	expect_flow(f, US_FLOW_CALL, 0x10ff8);
	expect_flow(rv(0x008000ef), US_FLOW_CALL, 0x10008);   /* jal ra */
	expect_flow(rv(0x9502), US_FLOW_CALL, 0);	      /* c.jalr a0 */
	expect_flow(rv(0x8082), US_FLOW_RETURN, 0);	      /* c.jr ra */
	expect_flow(rv(0x00008067), US_FLOW_RETURN, 0);	      /* ret */
	expect_flow(rv(0x8782), US_FLOW_JUMP, 0);	      /* c.jr a5 */
	expect_flow(rv(0x0080006f), US_FLOW_JUMP, 0x10008);   /* j */
	expect_flow(rv(0xa011), US_FLOW_JUMP, 0x10004);	      /* c.j */
	expect_flow(rv(0xc111), US_FLOW_BRANCH, 0x10004);     /* c.beqz a0 */
	expect_flow(rv(0x00050463), US_FLOW_BRANCH, 0x10008); /* beqz a0 */
	expect_flow(rv(0x0080036f), US_FLOW_JUMP, 0x10008);   /* jal t1: no call's */
	f = rv(0x008002ef);				      /* jal t0 */
	expect_flow(f, US_FLOW_CALL, 0x10008);
	assert_true(f.alternate);
	f = rv(0x8282); /* c.jr t0 */
	expect_flow(f, US_FLOW_RETURN, 0);
	assert_true(f.alternate);
	f = rv(0x004000ef); /* jal ra, .+4: where is it? */
	expect_flow(f, US_FLOW_ON, 0);
	expect_link(f, "set+0");
	expect_flow(rv(0x10200073), US_FLOW_LEAVE, 0); /* sret */
	expect_flow(rv(0x30200073), US_FLOW_LEAVE, 0); /* mret */
	expect_flow(rv(0x00000073), US_FLOW_TRAP, 0);  /* ecall */
	expect_flow(rv(0x9002), US_FLOW_TRAP, 0);      /* c.ebreak */
	assert_true(rv(0x10500073).halts);	       /* wfi */
}

/* Entries of interrupts that have one symbol together. */
static void program_roots(void **state)
{
	(void)state;
	assert_int_equal(us_x86_program_root(0x8000000012345fff, 0x33), 0x12345000);
	assert_int_equal(us_x86_program_root(0x12345000, 0x10), 0);
	assert_int_equal(us_aarch64_program_root(0x00070000abcde001, 0x60000000),
			 0xabcde000);
	assert_int_equal(us_aarch64_program_root(0xabcde000, 0x5), 0);
	assert_int_equal(us_riscv_program_root(0x8000100000080123, 0), 0x80123000);
	assert_int_equal(us_riscv_program_root(0x8000100000080123, 1), 0);
	assert_int_equal(us_riscv_program_root(0, 0), 0);
}

/* What a block says of where interrupts enter; 0: nothing. */
static uint64_t vector_of(const uint32_t *insn, size_t n)
{
	const struct us_plugin_arch *a = us_plugin_arch_find("riscv64");
	struct us_arch_address address = { 0 };
	uint64_t pc = 0x80000000, ret = 0;
	for (size_t i = 0; i < n; i++) {
		size_t size = (insn[i] & 3) == 3 ? 4 : 2;
		if (a->sets_vector(&address, (const uint8_t *)&insn[i], size, pc, &ret))
			return ret;
		pc += size;
	}
	return 0;
}
#define VECTOR_OF(...)                                                                 \
	vector_of((const uint32_t[]){ __VA_ARGS__ },                                   \
		  sizeof((uint32_t[]){ __VA_ARGS__ }) / 4)

static void vectors_are_set(void **state)
{
	(void)state;
	/* auipc a5, 5; addi a5, a5, -16; csrw stvec, a5 */
	assert_int_equal(VECTOR_OF(0x00005797, 0xff078793, 0x10579073), 0x80004ff0);
	/* with c.addi a5, -16; nop; csrw mtvec, a5 */
	assert_int_equal(VECTOR_OF(0x00005797, 0x17c1, 0x0001, 0x30579073), 0x80004ff0);
	/* lui a5, 0x80005 */
	assert_int_equal(VECTOR_OF(0x800057b7, 0xff078793, 0x10579073),
			 0xffffffff80004ff0);
	/* with 1 added: by a vector for each cause */
	assert_int_equal(VECTOR_OF(0x00005797, 0x00178793, 0x10579073), 0x80005000);
	/* Another register; another instruction's value; from memory; sscratch. */
	assert_int_equal(VECTOR_OF(0x00005797, 0xff078793, 0x10571073), 0);
	assert_int_equal(VECTOR_OF(0x00005797, 0x00a787b3, 0x10579073), 0);
	assert_int_equal(VECTOR_OF(0x00005797, 0x87aa, 0x10579073), 0);
	assert_int_equal(VECTOR_OF(0x00005797, 0x639c, 0x10579073), 0);
	assert_int_equal(VECTOR_OF(0x00005797, 0xff078793, 0x14079073), 0);
	assert_int_equal(VECTOR_OF(0x10579073), 0);
	assert_null(us_plugin_arch_find("x86_64")->sets_vector);
}

static void vectors(void **state)
{
	static uint32_t table[16 * 32];
	const struct us_plugin_arch *a = us_plugin_arch_of_machine(EM_AARCH64);
	const uint8_t *code = (const uint8_t *)table;
	(void)state;
	for (unsigned i = 0; i < 16; i++)
		table[32 * i] = 0x14000100; /* b */
	assert_true(us_plugin_is_vectors(a, code, sizeof(table), 0x1000));
	assert_false(us_plugin_is_vectors(a, code, sizeof(table), 0x1400));
	assert_false(us_plugin_is_vectors(a, code, 0x380, 0x1000));
	table[32 * 3 - 1] = 0x910003fd; /* mov x29, sp: it goes on */
	assert_false(us_plugin_is_vectors(a, code, sizeof(table), 0x1000));
	for (unsigned i = 0; i < 16; i++)
		table[i] = 0x0400006f; /* j */
	a = us_plugin_arch_of_machine(EM_RISCV);
	assert_true(us_plugin_is_vectors(a, code, 64, 0x1000));
	table[1] = 0x00008067;
	table[2] = 0x00113423; /* a function */
	assert_false(us_plugin_is_vectors(a, code, 64, 0x1000));
	a = us_plugin_arch_of_machine(EM_X86_64);
	assert_false(us_plugin_is_vectors(a, code, 64, 0x1000));
}

static uint8_t text[4096];
#define TEXT_PC 0xffffffff80100000
#define COMMON	0xc00 /* what the stubs in text jump to */

/* push $number; jmp to. */
static size_t put_stub(size_t at, int number, size_t to)
{
	bool near = number >= -128 && number < 128;
	text[at] = near ? 0x6a : 0x68;
	memcpy(text + at + 1, &number, near ? 1 : 4);
	at += near ? 2 : 5;
	int32_t distance = (int32_t)to - (int32_t)at - 5;
	text[at] = 0xe9;
	memcpy(text + at + 1, &distance, 4);
	return at + 5;
}

static bool find_stubs(size_t from, size_t to, struct us_stubs *ret)
{
	struct us_stub_code c = { text, sizeof(text), TEXT_PC, from, to };
	return us_x86_find_stubs(&c, ret);
}

/* At each 16 bytes; padding before some, and the stub's own nop in others. */
static void aligned_stubs_are_found(void **state)
{
	static const uint8_t nop4[] = { 0x0f, 0x1f, 0x40, 0x00 };
	struct us_stubs stubs;
	(void)state;
	memset(text, 0xcc, sizeof(text));
	for (int i = 0; i < 100; i++) {
		size_t at = 0x100 + 16 * (size_t)i;
		text[at] = 0x90;
		size_t end = put_stub(at + i % 2, i + 100, COMMON);
		if (i % 2)
			memcpy(text + end, nop4, end % 16 == 12 ? 4 : 0);
	}
	assert_true(find_stubs(0x100, 0x100 + 1600, &stubs));
	assert_int_equal(stubs.n, 100);
	assert_true(stubs.first);
	assert_int_equal(stubs.target, TEXT_PC + COMMON);
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(stubs.start[i], TEXT_PC + 0x100 + 16 * i);
	/* A part that begins with other code. */
	text[0xf0] = 0xf4;
	assert_true(find_stubs(0xf0, 0x100 + 1600, &stubs));
	assert_false(stubs.first);
	assert_int_equal(stubs.n, 100);
	/* Not so if other code is between them. */
	assert_true(find_stubs(0x100, 0x140, &stubs));
	text[0x12f] = 0xc3;
	assert_false(find_stubs(0x100, 0x140, &stubs));
}

/* One right after the other, as numbers and distances come; numbers go down. */
static void packed_stubs_are_found(void **state)
{
	struct us_stubs stubs;
	size_t begins[40], at = 0x301;
	(void)state;
	memset(text, 0xf4, sizeof(text));
	for (int i = 0; i < 40; i++) {
		begins[i] = at;
		text[at] = 0x6a; /* push $0 */
		text[at + 1] = 0;
		at = put_stub(at + 2, -110 - i, COMMON);
	}
	assert_true(find_stubs(0x301, at, &stubs));
	assert_int_equal(stubs.n, 40);
	assert_int_equal(stubs.end, TEXT_PC + at);
	for (unsigned i = 0; i < 40; i++)
		assert_int_equal(stubs.start[i], TEXT_PC + begins[i]);
	assert_true(find_stubs(0x200, at, &stubs));
	assert_int_equal(stubs.start[0], TEXT_PC + begins[0]);
}

static void others_are_no_stubs(void **state)
{
	struct us_stubs stubs;
	size_t at = 0x100;
	(void)state;
	/* Links to a library's functions: what they jump to pushes memory. */
	memset(text, 0x90, sizeof(text));
	for (int i = 0; i < 20; i++)
		put_stub(0x100 + 16 * (size_t)i, i, 0x80);
	text[0x80] = 0xff;
	text[0x81] = 0x35;
	assert_false(find_stubs(0x100, 0x300, &stubs));
	text[0x81] = 0x30;
	assert_true(find_stubs(0x100, 0x300, &stubs));
	/* Cases of a switch. */
	memset(text, 0xf4, sizeof(text));
	for (int i = 0; i < 10; i++)
		at = put_stub(at, i, 0x400);
	assert_false(find_stubs(0xf0, 0x500, &stubs));
	assert_true(find_stubs(0xf0, 0x400, &stubs));
	/* The same number again; too few; none. */
	for (int i = 0; i < 10; i++)
		put_stub(0x100 + 7 * (size_t)i, 5, COMMON);
	assert_false(find_stubs(0x100, 0x400, &stubs));
	assert_false(find_stubs(0x100, 0x100, &stubs));
	for (size_t to = 0x100; to < 0x11c; to++)
		assert_false(find_stubs(0x100, to, &stubs));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loops_to_the_entry_are_found),
		cmocka_unit_test(others_are_not),
		cmocka_unit_test(an_instruction_jumps),
		cmocka_unit_test(a64_stores_and_loads),
		cmocka_unit_test(a64_sets),
		cmocka_unit_test(a64_flow),
		cmocka_unit_test(a64_stacks),
		cmocka_unit_test(rv_link),
		cmocka_unit_test(rv_flow),
		cmocka_unit_test(program_roots),
		cmocka_unit_test(vectors_are_set),
		cmocka_unit_test(vectors),
		cmocka_unit_test(aligned_stubs_are_found),
		cmocka_unit_test(packed_stubs_are_found),
		cmocka_unit_test(others_are_no_stubs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
