/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Code that Linux changes while it runs, or splits: returns by a CALL, live patches,
 * return addresses that a tracer replaces, what is split off a function. */
#include "link-guest.h"

#define NOP_A64 0xd503201f
#define RET_A64 0xd65f03c0

static us_gva part[4];

static void code(us_gva at, const void *bytes, size_t n)
{
	memcpy(ram + at, bytes, n);
}
#define CODE(at, bytes) code(at, bytes, sizeof(bytes) - 1)

static void rel32(us_gva at, uint8_t opcode, us_gva to)
{
	uint8_t insn[5] = { opcode };
	int32_t off = (int32_t)(to - at - 5);
	memcpy(insn + 1, &off, 4);
	code(at, insn, sizeof(insn));
}

static void call(us_gva at, us_gva to)
{
	rel32(at, 0xe8, to);
}

static void parts(size_t n)
{
	map.part = part;
	map.n_part = n;
	us_unwinder_set_code(unwinder, &map, &cfi);
}

/* A table that has the return address on top of each function's stack. */
static void table_of(const us_gva *at, size_t n)
{
	struct us_cfi_rule r = {
		.cfa_reg = US_X86_RSP, .cfa_off = 8, .pc = US_CFI_AT_CFA, .pc_off = -8
	};
	for (size_t i = 0; i < n; i++)
		row(at[i], r, NULL);
	finish_table();
}

/* jmp to a thunk: "call f; ud2", with f: "lea 8(%rsp), %rsp; ret". */
static void returns_by_a_call(void **state)
{
	(void)state;
	CODE(0x1000, "\x90\x5b");
	rel32(0x1002, 0xe9, 0x3000);
	call(0x3000, 0x3800);
	CODE(0x3005, "\x0f\x0b");
	CODE(0x3800, "\x48\x8d\x64\x24\x08\xc3");
	CODE(0x5000, "\xff\xd0\xc3");
	put(STACK, 0x11);
	put(STACK + 8, 0x5002);
	unwind(0x1000, STACK);
	EXPECT(US_END_ROOT, 0x1000, 0x5002);
}

/* The start of foo calls a tracer, which goes on in another function: its return
 * address is behind a CALL of foo. */
static void a_function_is_replaced(void **state)
{
	static const us_gva all[] = { 0x1000, 0x2000, 0x3000 };
	for (int with = 0; with < 2; with++) {
		FUNCTION(0x1000, "");
		call(0x1000, 0x6000);
		CODE(0x1005, "\x48\x83\xec\x08\x48\x83\xc4\x08\xc3");
		FUNCTION(0x2000, "\x90\xc3");
		calls(0x3000, 0x1000);
		FUNCTION(0x4000, "\x0f\x1f\x44\x00\x00\x48\x83\xec\x08");
		call(0x4009, 0x2000);
		CODE(0x400e, "\x48\x83\xc4\x08\xc3");
		if (with)
			table_of(all, 3);
		put(STACK, 0x400e);
		put(STACK + 16, 0x3005);
		put(STACK + 24, 0);
		unwind(0x2000, STACK);
		EXPECT(US_END_ROOT, 0x2000, 0x400e, 0x3005);
		done(NULL);
		fresh(state);
	}
}

static void a_function_is_replaced_on_arm(void **state)
{
	const uint32_t foo[] = { 0xaa1e03e9, bl(0x1004, 0x6000), NOP_A64, RET_A64 };
	const uint32_t leaf[] = { NOP_A64, RET_A64 };
	const uint32_t caller[] = { NOP_A64, bl(0x3004, 0x1000), RET_A64 };
	const uint32_t other[] = {
		0xaa1e03e9,	    NOP_A64,	0xa9bf7bfd, 0x910003fd,
		bl(0x4010, 0x2000), 0xa8c17bfd, RET_A64
	};
	(void)state;
	function(0x1000, (const char *)foo, sizeof(foo));
	function(0x2000, (const char *)leaf, sizeof(leaf));
	function(0x3000, (const char *)caller, sizeof(caller));
	function(0x4000, (const char *)other, sizeof(other));
	put(STACK, STACK + 0x40);
	put(STACK + 8, 0x3008);
	look_with_link(0x2000, STACK, 0x4014);
	look(0x2000, STACK, STACK);
	assert_true(out.n >= 3);
	assert_int_equal(out.pc[2], 0x3008);
}

/* In the place of foo's return address is a trampoline's start: a tracer knows the
 * caller, and the stack does not end there. */
static void a_return_address_is_replaced(void **state)
{
	static const us_gva all[] = { 0x1800, 0x2000, 0x3000 };
	for (int with = 0; with < 2; with++) {
		FUNCTION(0x1000, "\x48\x83\xec\x08");
		call(0x1004, 0x2000);
		CODE(0x1009, "\x48\x83\xc4\x08\xc3");
		FUNCTION(0x1800, "\x6a\x00\x54\x9d\xc3");
		FUNCTION(0x2000, "\x90\xc3");
		calls(0x3000, 0x1000);
		part[0] = 0x1800;
		parts(1);
		if (with)
			table_of(all, 3);
		put(STACK, 0x1009);
		put(STACK + 16, 0x1800);
		put(STACK + 24, 0x3005);
		unwind(0x2000, STACK);
		EXPECT(US_END_NO_RULE, 0x2000, 0x1009);
		done(NULL);
		fresh(state);
	}
	map.n_part = 0;
}

static void a_return_address_is_replaced_on_arm(void **state)
{
	const uint32_t foo[] = { 0xa9bf7bfd, 0x910003fd, bl(0x1008, 0x2000), 0xa8c17bfd,
				 RET_A64 };
	const uint32_t other[] = { NOP_A64, RET_A64 };
	(void)state;
	function(0x1000, (const char *)foo, sizeof(foo));
	function(0x1800, (const char *)other, sizeof(other));
	function(0x2000, (const char *)other, sizeof(other));
	part[0] = 0x1800;
	parts(1);
	put(STACK, STACK + 0x100);
	put(STACK + 8, 0x1800);
	look_with_link(0x2000, STACK, 0x100c);
	look(0x2000, STACK, STACK);
	assert_int_not_equal(out.end, US_END_ROOT);
	assert_int_equal(out.n, 2);
	map.n_part = 0;
}

/* foo.cold ends in the CALL of a function that never returns; it is a part of foo, and
 * has foo's frame. */
static void a_part_is_no_function(void **state)
{
	(void)state;
	for (uint64_t local = 0; local < 2; local++) {
		map.n = 0;
		FUNCTION(0x2000, "\x48\x83\xec\x28\x85\xff\x0f\x85\xf4\x0f\x00\x00"
				 "\x48\x83\xc4\x28\xc3");
		calls(0x3000, 0x4000);
		FUNCTION(0x4000, "\xeb\xfe");
		FUNCTION(0x5000, "\xff\xd0\xc3");
		part[0] = 0x3000;
		parts(1);
		put(STACK, 0x3005);
		for (int i = 1; i <= 5; i++)
			put(STACK + 8 * i, local * (0x1234 + i));
		put(STACK + 48, 0x5002);
		unwind(0x4000, STACK);
		assert_int_not_equal(out.end, US_END_ROOT);
		assert_int_equal(out.pc[1], 0x3005);
	}
	map.n_part = 0;
}

/* 0x3000 calls 0x2000, whose part at 0x4000 ends in a CALL that never returns; behind
 * it, and padding, begins a part of another function, or another function, which jumps
 * to 0x1000.  No code leads there from 0x2000; but there is, if what looks like parts
 * are labels. */
static void behind_a_part_is_no_way(void **state)
{
	(void)state;
	for (us_gva i = 0; i < 6; i++) {
		us_gva next = 0x4005 + (i & 1);
		map.n = 0;
		FUNCTION(0x1000, "\x90\xc3");
		FUNCTION(0x2000, "\x0f\x85\xfa\x1f\0\0\xc3");
		FUNCTION(0x3000, "\x53\xe8\xfa\xef\xff\xff\x5b\xc3");
		calls(0x4000, 0x5000);
		CODE(0x4005, "\x90");
		FUNCTION(next, "");
		rel32(next, 0xe9, 0x1000);
		FUNCTION(0x5000, "\xeb\xfe");
		part[0] = 0x4000;
		part[1] = next;
		parts(2 - i / 2);
		put(STACK, 0x3006);
		put(STACK + 16, 0x11);
		unwind(0x1000, STACK);
		assert_int_equal(out.n, i < 4 ? 1 : 2);
	}
	map.n_part = 0;
}

static void behind_a_part_is_no_way_on_arm(void **state)
{
	const uint32_t calls_it[] = { 0xa9bf7bfd, 0x910003fd, bl(0x3008, 0x2000),
				      0xa8c17bfd, RET_A64 };
	const uint32_t leaf[] = { NOP_A64, RET_A64 };
	const uint32_t to_part[] = { 0x54010001, RET_A64 }; /* b.ne 0x4000 */
	const uint32_t cold[] = { bl(0x4000, 0x5000), bl(0x4004, 0x1000) & 0x7fffffff };
	const uint32_t stays[] = { 0x14000000 };
	(void)state;
	function(0x1000, (const char *)leaf, sizeof(leaf));
	function(0x2000, (const char *)to_part, sizeof(to_part));
	function(0x3000, (const char *)calls_it, sizeof(calls_it));
	function(0x4000, (const char *)cold, sizeof(cold));
	function(0x4004, NULL, 0);
	function(0x5000, (const char *)stays, sizeof(stays));
	part[0] = 0x4000;
	part[1] = 0x4004;
	for (size_t n = 0; n < 3; n++) {
		parts(n);
		look_with_link(0x1000, STACK, 0x300c);
		assert_int_equal(out.n, n ? 1 : 2);
	}
	map.n_part = 0;
}

/* Behind the CALL of a function that never returns comes another function, whose way
 * out does not say where this one's return address is. */
static void a_zero_in_another_frame_is_no_end(void **state)
{
	(void)state;
	call(0x1000, 0x4000);
	CODE(0x1005, "\x48\x83\xec\x18\x90\x90\x48\x83\xc4\x18\xc3");
	CODE(0x4000, "\xeb\xfe");
	CODE(0x5000, "\xff\xd0\xc3");
	put(STACK, 0x1005);
	put(STACK + 8, 0);
	put(STACK + 16, 0x77);
	put(STACK + 24, 0x5002);
	unwind(0x4000, STACK);
	EXPECT(US_END_NO_RULE, 0x4000, 0x1005);
}

/* The only symbol of a program is of a function before it, which does not lead there.
 */
static void a_zero_behind_a_stranger_is_no_end(void **state)
{
	(void)state;
	regs.user = true;
	FUNCTION(0x0f00, "\x31\xc0\xc3");
	call(0x1000, 0x4000);
	CODE(0x1005, "\x48\x83\xec\x18\x90\x90\x48\x83\xc4\x18\xc3");
	CODE(0x4000, "\x90\xc3");
	put(STACK, 0x1005);
	put(STACK + 8, 0);
	unwind(0x4000, STACK);
	assert_int_not_equal(out.end, US_END_ROOT);
}

/* An event of FRED's, with its vector above ss: back by erets, over the error code. */
static void an_event_of_fred(void **state)
{
	(void)state;
	FUNCTION(0x1000, "\x90\x90\x90\x90\x90\xc3");
	CODE(0x2000, "\x50\x48\x83\xec\x10");
	call(0x2005, 0x3000);
	CODE(0x200a, "\x48\x83\xc4\x10\x58\xf2\x0f\x01\xca");
	start[map.n++] = 0x2000;
	FUNCTION(0x3000, "\x90\xc3");
	CODE(0x5000, "\xff\xd0\xc3");
	us_gva sp = STACK + 0x200, frame = sp - 64;
	put(sp, 0x5002);
	put(frame, 0); /* the error code */
	put(frame + 8, 0x1002);
	put(frame + 16, 0x10);
	put(frame + 24, 0x202);
	put(frame + 32, sp);
	put(frame + 40, 0x18 | 1ULL << 58 | 0x20ULL << 32);
	put(frame - 8, 0x77);
	put(frame - 32, 0x200a);
	unwind(0x3000, frame - 32);
	EXPECT(US_END_ROOT, 0x3000, 0x200a, 0x1002, 0x5002);
}

/* addvl sp, sp, #-1: only the frame pointer says where the frame is. */
static void a_frame_of_vectors(void **state)
{
	const uint32_t foo[] = { 0xa9bf7bfd, 0x910003fd, 0x043f57ff, bl(0x100c, 0x2000),
				 0x043f503f, 0xa8c17bfd, RET_A64 };
	const uint32_t leaf[] = { NOP_A64, RET_A64 };
	const uint32_t caller[] = { NOP_A64, 0xd63f0000, NOP_A64 };
	(void)state;
	function(0x1000, (const char *)foo, sizeof(foo));
	function(0x2000, (const char *)leaf, sizeof(leaf));
	function(0x3000, (const char *)caller, sizeof(caller));
	put(STACK, 0x55);
	put(STACK + 8, 0x3008); /* left by another call */
	put(STACK + 32, STACK + 0x200);
	put(STACK + 40, 0x3008);
	regs.gpr[US_AARCH64_LR] = 0x1010;
	look(0x2000, STACK, STACK + 32);
	assert_true(out.n >= 3);
	assert_int_equal(out.pc[1], 0x1010);
	assert_int_equal(out.how[2], US_HOW_FP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(returns_by_a_call),
		TEST(a_function_is_replaced),
		ARM(a_function_is_replaced_on_arm),
		TEST(a_return_address_is_replaced),
		ARM(a_return_address_is_replaced_on_arm),
		TEST(a_part_is_no_function),
		TEST(behind_a_part_is_no_way),
		ARM(behind_a_part_is_no_way_on_arm),
		TEST(a_zero_in_another_frame_is_no_end),
		TEST(a_zero_behind_a_stranger_is_no_end),
		TEST(an_event_of_fred),
		ARM(a_frame_of_vectors),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
