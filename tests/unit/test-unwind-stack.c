/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How stacks end, and that a stack or a text that lies does no harm. */
#include "unit.h"

#include "unwind/site.h"
#include "unwind/unwind.h"

#define RAM_SIZE 0x10000
#define STACK	 0x8000

static uint8_t ram[RAM_SIZE];
static struct us_region region = { .size = RAM_SIZE, .host = ram };
static struct us_mem mem;
static struct us_paging paging;
static struct us_unwinder *unwinder;
static struct us_stack out;
static us_gva start[4];
static struct us_code_map map = { .start = start };

static int fresh(void **state)
{
	(void)state;
	memset(ram, 0xcc, sizeof(ram));
	memset(ram + STACK, 0, RAM_SIZE - STACK);
	memset(&mem, 0, sizeof(mem));
	map.n = 0;
	mem.region = &region;
	mem.n_region = 1;
	us_mem_init(&mem);
	us_paging_init(&paging, &mem);
	return us_unwinder_new(US_ARCH_X86_64, NULL, NULL, &unwinder);
}

static int done(void **state)
{
	(void)state;
	us_unwinder_free(unwinder);
	us_unwinder_free(NULL);
	return 0;
}

static void put(us_gva at, uint64_t word)
{
	memcpy(ram + at, &word, 8);
}

/* Code at an address: a function of the map. */
static void function(us_gva at, const char *bytes, size_t n)
{
	memcpy(ram + at, bytes, n);
	start[map.n++] = at;
	us_unwinder_set_code(unwinder, &map, NULL);
}
#define FUNCTION(at, bytes) function(at, bytes, sizeof(bytes) - 1)

static void unwind_in(uint8_t bits, us_gva pc, us_gva sp, us_gva fp)
{
	struct us_regs regs = {
		.pc = pc, .sp = sp, .fp = fp, .bits = bits, .space.mode = US_PAGING_OFF
	};
	us_paging_new_sample(&paging);
	us_unwind(unwinder, &paging, &regs, &out);
	assert_int_equal(out.pc[0], pc);
	assert_int_equal(out.how[0], US_HOW_PC);
}

static void unwind(us_gva pc, us_gva sp, us_gva fp)
{
	unwind_in(64, pc, sp, fp);
}

/* push rbp; mov rbp, rsp; call itself; pop rbp; ret */
#define RECURSIVE "\x55\x48\x89\xe5\xe8\xf7\xff\xff\xff\x5d\xc3"
/* ret */
#define LEAF "\x90\x90\x90\xc3"

static void too_deep(void **state)
{
	(void)state;
	FUNCTION(0x1000, RECURSIVE);
	for (us_gva i = 0; i < 300; i++) {
		put(STACK + i * 16, STACK + (i + 1) * 16);
		put(STACK + i * 16 + 8, 0x1009);
	}
	unwind(0x1004, STACK, STACK);
	assert_int_equal(out.n, US_MAX_FRAMES);
	assert_int_equal(out.end, US_END_DEPTH);
	assert_int_equal(out.pc[127], 0x1009);
	assert_int_equal(out.how[1], US_HOW_FP);
}

/* Stacks begin at any address: by frame pointer, by the code, by a word that was only
 * found; and where a word lies in two pages. */
static void odd_stacks(void **state)
{
	(void)state;
	FUNCTION(0x1000, RECURSIVE);
	FUNCTION(0x1100, LEAF);
	memcpy(ram + 0x1200, "\xe8\xfb\xfe\xff\xff", 5); /* call 0x1100 */
	for (us_gva sp = STACK + 0xff0; sp < STACK + 0x1010; sp++) {
		memset(ram + STACK, 0, RAM_SIZE - STACK);
		put(sp, sp + 16);
		put(sp + 8, 0x1009);
		put(sp + 16, 0);
		unwind(0x1004, sp, sp); /* rbp */
		assert_int_equal(out.n, 2);
		assert_int_equal(out.end, US_END_ROOT);
		unwind(0x1000, sp + 8, sp + 16); /* before the push */
		assert_int_equal(out.n, 2);
		assert_int_equal(out.pc[1], 0x1009);
		assert_int_equal(out.end, US_END_ROOT);
		put(sp, 0x1205);
		unwind(0x1100, sp, 0);
		assert_true(out.n >= 2);
		assert_int_equal(out.pc[1], 0x1205);
		map.n = 0; /* nobody knows where functions start */
		us_unwinder_set_code(unwinder, NULL, NULL);
		unwind(0x1102, sp, 0);
		assert_true(out.n >= 2);
		assert_int_equal(out.pc[1], 0x1205);
		map.n = 2;
		us_unwinder_set_code(unwinder, &map, NULL);
	}
}

static void bottom(void **state)
{
	(void)state;
	FUNCTION(0x1000, RECURSIVE);
	put(STACK, STACK + 16);
	put(STACK + 8, 0x1009);
	unwind(0x1004, STACK, STACK); /* a return address of 0 */
	assert_int_equal(out.n, 2);
	assert_int_equal(out.end, US_END_ROOT);
	put(STACK, 0); /* no next frame, and rubbish above */
	put(STACK + 24, 0x1234);
	unwind(0x1004, STACK, STACK);
	assert_int_equal(out.n, 2);
	assert_int_equal(out.end, US_END_ROOT);
}

static void cycle(void **state)
{
	(void)state;
	FUNCTION(0x1000, RECURSIVE);
	put(STACK + 0x20, STACK + 0x20);
	put(STACK + 0x28, 0x1009);
	unwind(0x1004, STACK + 0x20, STACK + 0x20);
	assert_int_equal(out.n, 2);
	assert_int_equal(out.end, US_END_CYCLE);
	put(STACK + 0x20, STACK); /* downwards */
	unwind(0x1004, STACK + 0x20, STACK + 0x20);
	assert_int_equal(out.n, 2);
	assert_int_equal(out.end, US_END_CYCLE);
}

static void no_memory(void **state)
{
	(void)state;
	FUNCTION(0x1000, LEAF);
	unwind(0x1000, RAM_SIZE + 0x100, 0);
	assert_int_equal(out.n, 1);
	assert_int_equal(out.end, US_END_FAULT);
	unwind(0x1000, UINT64_MAX - 7, UINT64_MAX);
	assert_int_equal(out.n, 1);
	unwind(UINT64_MAX, UINT64_MAX, UINT64_MAX);
	assert_int_equal(out.n, 1);
	unwind(0xdead0000, STACK, STACK); /* code that is not there */
	assert_int_equal(out.n, 1);
	assert_int_equal(out.end, US_END_NO_RULE);
	unwind(0x1000, STACK + 1, STACK); /* not aligned */
	assert_int_equal(out.n, 1);
}

static void mode(void **state)
{
	(void)state;
	struct us_regs regs = { .pc = 0x1000, .sp = STACK, .bits = 16 };
	FUNCTION(0x1000, LEAF);
	us_unwind(unwinder, &paging, &regs, &out);
	assert_int_equal(out.n, 1);
	assert_int_equal(out.end, US_END_MODE);
	/* A stack segment that does not begin at 0. */
	regs.bits = 32;
	regs.valid = 1 << US_X86_RSP;
	regs.gpr[US_X86_RSP] = STACK - 0x100;
	us_unwind(unwinder, &paging, &regs, &out);
	assert_int_equal(out.n, 1);
	assert_int_equal(out.end, US_END_MODE);
	assert_int_equal(out.pc[0], 0x1000);
}

/* A word that is no return address must not become a frame. */
static void no_call_before(void **state)
{
	(void)state;
	FUNCTION(0x1000, LEAF);
	FUNCTION(0x2000, RECURSIVE);
	put(STACK, 0x2004);
	unwind(0x1000, STACK, STACK + 8);
	assert_int_equal(out.n, 1);
	assert_int_equal(out.end, US_END_NO_RULE);
	put(STACK, 0x2009); /* behind a CALL, but of another function */
	unwind(0x1000, STACK, STACK + 8);
	assert_int_equal(out.n, 1);
	assert_int_equal(out.end, US_END_NO_RULE);
}

/* push rax; call handler; pop rax; iretq: what lies above is the interrupted code,
 * which did not call, even if it was interrupted right behind a CALL. */
static void interrupt(void **state)
{
	(void)state;
	FUNCTION(0x1000, LEAF);
	FUNCTION(0x2000, "\x50\xe8\xfa\xef\xff\xff\x58\x48\xcf");
	FUNCTION(0x3000, RECURSIVE);
	put(STACK, 0x2006);
	put(STACK + 16, 0x3009);
	unwind(0x1000, STACK, STACK + 0x100);
	assert_int_equal(out.n, 2);
	assert_int_equal(out.pc[1], 0x2006);
	assert_int_equal(out.end, US_END_NO_RULE);
}

/* hlt; jmp back: never returns, has no frame, and its caller is still found. */
static void idle_loop(void **state)
{
	(void)state;
	static const char caller[] = "\x48\x83\xec\x08\xe8\xf7\xef\xff\xff\xeb\xfe";
	memcpy(ram + 0x1000, "\xf4\xeb\xfd", 3);
	memcpy(ram + 0x2000, caller, sizeof(caller) - 1);
	put(STACK, 0x2009);
	unwind(0x1001, STACK, 0); /* no map */
	assert_int_equal(out.n, 2);
	assert_int_equal(out.pc[1], 0x2009);
	assert_int_equal(out.how[1], US_HOW_GUESS);
	unwind(0x1001, STACK, 0); /* remembered */
	assert_int_equal(out.n, 2);
	assert_int_equal(out.how[1], US_HOW_GUESS);
}

/* Called by name, and jumped to at the end of another: both callers are believed,
 * whichever is met first, without a map too. */
static void jumped_to(void **state)
{
	(void)state;
	memcpy(ram + 0x1000, LEAF, sizeof(LEAF) - 1);
	memcpy(ram + 0x1040, "\xe9\xbb\xff\xff\xff", 5);     /* jmp 0x1000 */
	memcpy(ram + 0x1080, "\xe8\xbb\xff\xff\xff\xc3", 6); /* call 0x1040 */
	memcpy(ram + 0x10c0, "\xe8\x3b\xff\xff\xff\xc3", 6); /* call 0x1000 */
	for (unsigned i = 0; i < 2; i++) {
		put(STACK, 0x1085);
		unwind(0x1001, STACK, 0);
		assert_int_equal(out.n, 2);
		assert_int_equal(out.pc[1], 0x1085);
		put(STACK, 0x10c5);
		unwind(0x1001, STACK, 0);
		assert_int_equal(out.n, 2);
		assert_int_equal(out.pc[1], 0x10c5);
	}
}

/* Without a map, in a prologue, behind a CALL that never returns: what rbp leads to is
 * the caller's return address, and the code before seems to come here. */
static void prologue_behind(void **state)
{
	(void)state;
	memcpy(ram + 0x1000, "\x55\x48\x89\xe5\xe8\x07\0\0\0", 9); /* call 0x1010 */
	memset(ram + 0x1009, 0x90, 7);
	memcpy(ram + 0x1010, "\x55\x48\x89\xe5\xeb\xfe", 6);
	memcpy(ram + 0x1100, "\xe8\xfb\xfe\xff\xff\xc3", 6); /* call 0x1000 */
	put(STACK - 8, STACK + 8);
	put(STACK, 0x1009);
	put(STACK + 16, 0x1105);
	for (unsigned pushed = 0; pushed < 2; pushed++) {
		unwind(0x1010 + pushed, STACK - 8 * pushed, STACK + 8);
		assert_true(out.n >= 3);
		assert_int_equal(out.pc[1], 0x1009);
		assert_int_equal(out.pc[2], 0x1105);
	}
}

/* The text changes: at the latest US_SITE_TRUST samples on, the rule is another. */
static void changed_text(void **state)
{
	(void)state;
	FUNCTION(0x1000, "\x90\x90\xc3");
	FUNCTION(0x2000, "\xe8\xfb\xef\xff\xff\xc3"); /* call 0x1000 */
	put(STACK, 0x2005);
	unwind(0x1001, STACK, 0x77);
	assert_int_equal(out.n, 2);
	memcpy(ram + 0x1000, "\x53\x90\x5b\xc3", 4); /* push rbx; nop; pop rbx; ret */
	put(STACK + 8, 0x2005);
	put(STACK, 0x7777);
	for (int i = 0; i < US_SITE_TRUST; i++)
		us_paging_new_sample(&paging);
	unwind(0x1001, STACK, 0x77);
	assert_int_equal(out.n, 2);
	assert_int_equal(out.pc[1], 0x2005);
}

/* More code than an analysis remembers, behind an indirect jump. */
static void too_much_code(void **state)
{
	(void)state;
	memset(ram + 0x1000, 0x90, 0x3000);
	FUNCTION(0x1000, "\x74\x03\xff\xe0\x90"); /* je +3; jmp rax; nop */
	unwind(0x3fff, STACK, STACK);
	assert_int_equal(out.n, 1);
}

static void put_32(us_gva at, uint32_t word)
{
	memcpy(ram + at, &word, 4);
}

/* push ebp; mov ebp, esp; call itself; pop ebp; ret */
#define RECURSIVE_32 "\x55\x89\xe5\xe8\xf8\xff\xff\xff\x5d\xc3"

static void narrow_frames(void **state)
{
	(void)state;
	FUNCTION(0x1000, RECURSIVE_32);
	for (us_gva i = 0; i < 20; i++) {
		put_32(STACK + i * 8, (uint32_t)(STACK + (i + 1) * 8));
		put_32(STACK + i * 8 + 4, i < 19 ? 0x1008 : 0);
	}
	unwind_in(32, 0x1003, STACK, STACK);
	assert_int_equal(out.n, 20);
	assert_int_equal(out.end, US_END_ROOT);
	assert_int_equal(out.how[1], US_HOW_FP);
	assert_int_equal(out.pc[19], 0x1008);
	/* In the prologue ebp is still the caller's. */
	unwind_in(32, 0x1000, STACK + 4, STACK + 8);
	assert_int_equal(out.n, 20);
}

/* The same bytes are other code in the other width: 45h is inc %ebp, or a prefix. */
static void both_widths(void **state)
{
	(void)state;
	FUNCTION(0x1000, "\x45\x31\xc0\xc3");
	FUNCTION(0x2000, "\xe8\xfb\xef\xff\xff\xc3"); /* call 0x1000 */
	put(STACK, 0x2005);
	for (int i = 0; i < 3; i++) {
		unwind(0x1003, STACK, 0x77);
		assert_int_equal(out.n, 2);
		assert_int_equal(out.pc[1], 0x2005);
		unwind_in(32, 0x1003, STACK, 0x77);
		assert_int_equal(out.n, 2);
		assert_int_equal(out.pc[1], 0x2005);
	}
}

/* lea 4(%esp),%ecx; and $-16,%esp; push -4(%ecx); push %ebp; mov %esp,%ebp; push %ecx;
 * lea 8(%esp),%ecx; call leaf; pop %ecx; pop %ebp; lea -4(%ecx),%esp; ret */
#define ALIGNED_32                                                                     \
	"\x8d\x4c\x24\x04\x83\xe4\xf0\xff\x71\xfc\x55\x89\xe5\x51\x8d\x4c\x24\x08"     \
	"\xe8\xe9\xef\xff\xff\x59\x5d\x8d\x61\xfc\xc3"

static void narrow_alignment(void **state)
{
	(void)state;
	FUNCTION(0x1000, LEAF);
	FUNCTION(0x2000, ALIGNED_32);
	FUNCTION(0x3000, "\x83\xec\x0c\xe8\xf8\xef\xff\xff\x83\xc4\x0c\xc3");
	put_32(STACK, 0x2017);		 /* to the aligned one */
	put_32(STACK + 4, STACK + 0x28); /* ecx: its CFA */
	put_32(STACK + 8, 0);		 /* ebp */
	put_32(STACK + 12, 0x3008);	 /* the copy */
	put_32(STACK + 0x24, 0x3008);	 /* the true one */
	put_32(STACK + 0x28 + 12, 0);	 /* nobody called 0x3000 */
	unwind_in(32, 0x1000, STACK, STACK + 8);
	assert_int_equal(out.n, 3);
	assert_int_equal(out.pc[1], 0x2017);
	assert_int_equal(out.pc[2], 0x3008);
	assert_int_equal(out.end, US_END_ROOT);
}

/* pusha; call handler; popa; iret: eip, cs and eflags are all that was pushed. */
static void narrow_interrupt(void **state)
{
	(void)state;
	FUNCTION(0x1000, LEAF);
	FUNCTION(0x2000, "\x60\xe8\xfa\xef\xff\xff\x61\xcf");
	FUNCTION(0x3000, RECURSIVE_32);
	put_32(STACK, 0x2006);
	memset(ram + STACK + 4, 0x11, 32);
	put_32(STACK + 36, 0x3003); /* eip, cs, eflags */
	put_32(STACK + 40, 0x10);
	put_32(STACK + 44, 0x202);
	put_32(STACK + 48, 0); /* the frame that was interrupted */
	put_32(STACK + 52, 0x3008);
	put_32(STACK + 60, 0);
	unwind_in(32, 0x1000, STACK, STACK + 48);
	assert_int_equal(out.n, 4);
	assert_int_equal(out.pc[1], 0x2006);
	assert_int_equal(out.pc[2], 0x3003);
	assert_int_equal(out.how[2], US_HOW_INTERRUPT);
	assert_int_equal(out.pc[3], 0x3008);
	put_32(STACK + 44, 0x200); /* these were never eflags */
	unwind_in(32, 0x1000, STACK, STACK + 48);
	assert_int_equal(out.n, 2);
}

/* A CALL of 32-bit code can go round at 4 GiB, a stack cannot. */
static void round_the_end(void **state)
{
	(void)state;
	FUNCTION(0x1000, LEAF);
	unwind_in(32, 0xffffffff, 0xfffffffc, 0xfffffffc);
	assert_int_equal(out.n, 1);
	unwind_in(32, 0x1000, 0xfffffffc, 0xfffffffc);
	assert_int_equal(out.n, 1);
	unwind_in(32, 0x1000, STACK + 2, STACK);
	assert_int_equal(out.n, 1);
}

/* Any words for a stack and any bytes for code: it ends, and within bounds. */
static void rubbish(void **state)
{
	(void)state;
	uint32_t seed = 3;
	for (int round = 0; round < 300; round++) {
		for (size_t i = 0; i < sizeof(ram); i += 4) {
			seed = seed * 1664525 + 1013904223;
			uint32_t v = seed ^ seed >> 13;
			memcpy(ram + i, &v, 4);
		}
		for (us_gva at = STACK; at < STACK + 0x400; at += 8)
			put(at,
			    ram[at] & 1 ? STACK + ram[at + 1] * 8U : ram[at + 1] * 16U);
		us_unwinder_set_code(unwinder, NULL, NULL);
		unwind_in(round & 1 ? 32 : 64, (seed >> 8) % STACK, STACK, STACK + 32);
		assert_in_range(out.n, 1, US_MAX_FRAMES);
		assert_in_range(out.end, US_END_ROOT, US_N_END - 1);
	}
}

static void names(void **state)
{
	(void)state;
	for (unsigned i = 0; i < US_N_END; i++)
		assert_string_not_equal(us_unwind_end_name((enum us_unwind_end)i),
					"unknown");
	assert_string_equal(us_unwind_end_name(US_N_END), "unknown");
	assert_string_equal(us_frame_how_name(US_HOW_GUESS), "guess");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fresh, done)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(too_deep),
		TEST(odd_stacks),
		TEST(bottom),
		TEST(cycle),
		TEST(no_memory),
		TEST(mode),
		TEST(no_call_before),
		TEST(interrupt),
		TEST(idle_loop),
		TEST(changed_text),
		TEST(too_much_code),
		TEST(rubbish),
		TEST(names),
		TEST(narrow_frames),
		TEST(both_widths),
		TEST(narrow_alignment),
		TEST(narrow_interrupt),
		TEST(round_the_end),
		TEST(jumped_to),
		TEST(prologue_behind),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
