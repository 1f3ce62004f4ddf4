/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The instruction decoder against objdump on real programs, and by hand. */
#include "unit.h"

#include "unwind/x86_decode.h"

#include <limits.h>
#include <unistd.h>

struct tally {
	unsigned long same, skipped, wrong, call_missed;
	unsigned bits; /* of the code */
	unsigned long kinds[US_X86_BREAK + 1];
};

/* "  addr:\t48 89 e5 \tmov %rsp,%rbp" (objdump -w): bytes and text. */
static bool parse_line(char *line, uint8_t code[16], size_t *ret_n, char **ret_text)
{
	char *tab = strchr(line, '\t');
	char *text = tab ? strchr(tab + 1, '\t') : NULL;
	if (!text || tab == line || tab[-1] != ':')
		return false;
	*text++ = '\0';
	size_t n = 0;
	for (char *p = tab + 1, *end; n < 16; p = end) {
		unsigned long v = strtoul(p, &end, 16);
		if (end == p)
			break;
		code[n++] = (uint8_t)v;
	}
	*ret_n = n;
	*ret_text = text;
	return n > 0;
}

static bool starts(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

/* What objdump prints as a line of its own though it is a prefix, or the reverse;
 * and data in the text section. */
static bool is_odd(const char *text, const uint8_t *code)
{
	return strstr(text, "(bad)") || starts(text, "rex") ||
	       starts(text, "data16\n") || starts(text, "fwait") ||
	       starts(text, ".byte") || code[0] == 0x9b || starts(text, "data16 \n") ||
	       strlen(text) < 3;
}

static const char *skip_prefix_words(const char *t)
{
	static const char *const words[] = { "bnd ",  "notrack ", "repz ", "repnz ",
					     "rep ",  "data16 ",  "cs ",   "ds ",
					     "lock ", "addr32 " };
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (starts(t, words[i]))
			return skip_prefix_words(t + strlen(words[i]));
	return t;
}

/* Of a register that is written, as the decoder has it; -1: of none that is followed.
 */
static int number_of(const char *operand)
{
	static const struct {
		const char *name;
		int number;
	} regs[] = { { ",%r10", 10 }, { ",%r13", 13 }, { ",%ecx", 10 }, { ",%edi", 13 },
		     { ",%rbx", 3 },  { ",%ebx", 3 },  { ",%esi", 6 },	{ ",%r12", 12 },
		     { ",%r14", 14 }, { ",%r15", 15 } };
	for (size_t i = 0; i < sizeof(regs) / sizeof(*regs); i++)
		if (starts(operand, regs[i].name))
			return regs[i].number;
	return -1;
}

/* The kind must fit what objdump calls it. */
static bool kind_fits(const char *text, const struct us_x86_insn *i)
{
	const char *t = skip_prefix_words(text);
	const char *star_at = strchr(t, '*'), *name = strchr(t, '<');
	bool star = star_at && (!name || star_at < name);
	unsigned k = i->kind;
	if (starts(t, "call"))
		return k == (star ? US_X86_CALL_INDIRECT : US_X86_CALL);
	if (starts(t, "ljmp") || starts(t, "lcall"))
		return k == US_X86_STOP;
	if (starts(t, "jmp"))
		return k == (star ? US_X86_JUMP_INDIRECT : US_X86_JUMP);
	if (t[0] == 'j' || starts(t, "loop"))
		return k == US_X86_BRANCH;
	if (starts(t, "ret"))
		return k == US_X86_RET;
	if (starts(t, "pusha"))
		return k == US_X86_PUSH_ALL;
	if (starts(t, "popa"))
		return k == US_X86_POP_ALL;
	if (starts(t, "push"))
		return k == US_X86_PUSH || strstr(text, "pushw");
	if (starts(t, "pop") && !starts(t, "popcnt"))
		return k == US_X86_POP || strstr(text, "popw");
	if (starts(t, "leave"))
		return k == US_X86_LEAVE;
	if (starts(t, "enter"))
		return k == US_X86_ENTER;
	if (starts(t, "endbr64") || starts(t, "endbr32"))
		return k == US_X86_ENDBR;
	if (starts(t, "sysret"))
		return k == US_X86_SYSRET;
	if (starts(t, "iret"))
		return k == US_X86_IRET;
	if (starts(t, "lret"))
		return k == US_X86_FAR_RET || k == US_X86_STOP;
	if (starts(t, "ud2"))
		return k == US_X86_STOP;
	if (starts(t, "int3"))
		return k == US_X86_BREAK;
	/* AT&T: the last operand is the one written. */
	const char *last = strrchr(t, ',');
	bool reads_only = starts(t, "cmp") || starts(t, "test") || starts(t, "bt ") ||
			  starts(t, "nop") || starts(t, "xchg %ax") || starts(t, "out");
	bool to_stack_reg = last && (starts(last, ",%rsp") || starts(last, ",%rbp") ||
				     starts(last, ",%esp") || starts(last, ",%ebp"));
	if (to_stack_reg && !reads_only)
		return k == US_X86_MOVE || k == US_X86_LOAD || k == US_X86_SET ||
		       k == US_X86_ZERO || (k == US_X86_SWAP && starts(t, "xchg"));
	/* Of registers that align or keep a stack pointer, or are saved. */
	int reg = last ? number_of(last) : -1;
	if (k == US_X86_SWAP)
		return starts(t, "xchg") && strstr(t, "%rsp");
	if (reg >= 0 && k == US_X86_MOVE)
		return i->reg == reg && i->base == 4;
	if (reg >= 0 && reg != 10 && k == US_X86_LOAD)
		return i->reg == reg && (i->base == 4 || i->base == 5);
	if (last && starts(last, ",%rcx") && k == US_X86_LOAD)
		return i->reg == 1 && i->base == 4;
	return k == US_X86_OTHER || k == US_X86_NOP || k == US_X86_STORE ||
	       k == US_X86_SET;
}

static void check_one(struct tally *t, const char *text, const uint8_t *code, size_t n)
{
	struct us_x86_insn i;
	if (is_odd(text, code)) {
		t->skipped++;
		return;
	}
	bool ok = us_x86_decode(code, n, t->bits, &i) && i.len == n &&
		  kind_fits(text, &i);
	t->same += ok;
	t->wrong += !ok;
	if (ok)
		t->kinds[i.kind]++;
	if (!ok && t->wrong < 20) {
		print_message("len %zu, decoded %u kind %u:", n, i.len, i.kind);
		for (size_t b = 0; b < n; b++)
			print_message(" %02x", code[b]);
		print_message(" %s", text);
	}
	bool direct, call = i.kind == US_X86_CALL || i.kind == US_X86_CALL_INDIRECT;
	int32_t imm;
	uint8_t before[8] = { 0 };
	if (!ok || !call)
		return;
	memcpy(before + 8 - (n < 8 ? n : 8), code + n - (n < 8 ? n : 8), n < 8 ? n : 8);
	if (!us_x86_call_before(before, &direct, &imm) ||
	    direct != (i.kind == US_X86_CALL) || imm != i.imm)
		t->call_missed++;
}

static void check_file(const char *path, unsigned long max, struct tally *t)
{
	char command[256], line[512];
	uint8_t code[16];
	size_t n;
	char *text;
	if (access(path, R_OK) != 0)
		return;
	snprintf(command, sizeof(command), "objdump -dw --insn-width=16 %s 2>/dev/null",
		 path);
	FILE *f = popen(command, "r");
	assert_non_null(f);
	unsigned long before = t->same + t->wrong;
	while (t->same + t->wrong - before < max && fgets(line, sizeof(line), f))
		if (parse_line(line, code, &n, &text))
			check_one(t, text, code, n);
	pclose(f);
}

static void compare(const char *const files[], size_t n, unsigned bits,
		    const char *more)
{
	struct tally t = { .bits = bits };
	for (size_t i = 0; i < n; i++)
		check_file(files[i], 300000, &t);
	if (more)
		check_file(more, ULONG_MAX, &t);
	print_message("# %lu same, %lu wrong, %lu skipped, %lu calls missed\n", t.same,
		      t.wrong, t.skipped, t.call_missed);
	if (t.same + t.wrong == 0) {
		print_message("# SKIP: no objdump or no program to disassemble\n");
		return;
	}
	assert_int_equal(t.wrong, 0);
	assert_int_equal(t.call_missed, 0);
	assert_true(t.kinds[US_X86_CALL] > 0 && t.kinds[US_X86_RET] > 0);
}

static void agrees_with_objdump(void **state)
{
	(void)state;
	static const char *const files[] = { "/lib/x86_64-linux-gnu/libc.so.6",
					     "/lib/x86_64-linux-gnu/libm.so.6",
					     "/bin/busybox", "/bin/bash" };
	/* For a longer run by hand. */
	compare(files, sizeof(files) / sizeof(*files), 64,
		getenv("US_TEST_DECODE_FILE"));
}

static void agrees_with_objdump_32(void **state)
{
	(void)state;
	static const char *const files[] = { "/lib32/libc.so.6", "/lib32/libm.so.6",
					     "/lib32/libstdc++.so.6",
					     "/lib/i386-linux-gnu/libc.so.6" };
	compare(files, sizeof(files) / sizeof(*files), 32,
		getenv("US_TEST_DECODE_FILE_32"));
}

#define CODE(...)                                                                      \
	(const uint8_t[])                                                              \
	{                                                                              \
		__VA_ARGS__                                                            \
	}

static struct us_x86_insn decoded(const uint8_t *code, size_t n, unsigned bits)
{
	struct us_x86_insn i = { 0 };
	assert_true(us_x86_decode(code, n, bits, &i));
	assert_int_equal(i.len, n);
	for (size_t cut = 0; cut < n; cut++) {
		struct us_x86_insn none;
		assert_false(us_x86_decode(code, cut, bits, &none));
	}
	return i;
}

#define EXPECT(...)    EXPECT_IN(64, __VA_ARGS__)
#define EXPECT_32(...) EXPECT_IN(32, __VA_ARGS__)
#define EXPECT_IN(bits, kind_, reg_, base_, imm_, ...)                                 \
	do {                                                                           \
		static const uint8_t code[] = { __VA_ARGS__ };                         \
		struct us_x86_insn i = decoded(code, sizeof(code), bits);              \
		assert_int_equal(i.kind, kind_);                                       \
		assert_int_equal(i.reg, reg_);                                         \
		assert_int_equal(i.base, base_);                                       \
		assert_int_equal(i.imm, imm_);                                         \
	} while (0)
#define NO  US_X86_NO_REG
#define RSP 4
#define RBP 5

static void stack_effects(void **state)
{
	(void)state;
	EXPECT(US_X86_PUSH, RBP, NO, 0, 0x55);
	EXPECT(US_X86_PUSH, 12, NO, 0, 0x41, 0x54);
	EXPECT(US_X86_PUSH, NO, NO, 0, 0x6a, 0x7f);
	EXPECT(US_X86_PUSH, NO, 10, -8, 0x41, 0xff, 0x72, 0xf8);
	EXPECT(US_X86_MOVE, 10, RSP, 8, 0x4c, 0x8d, 0x54, 0x24, 8);
	EXPECT(US_X86_POP, RBP, NO, 0, 0x5d);
	EXPECT(US_X86_POP, NO, NO, 0, 0x9d);
	EXPECT(US_X86_PUSH, RBP, NO, 0, 0x66, 0x55);
	EXPECT(US_X86_MOVE, RBP, RSP, 0, 0x48, 0x89, 0xe5);
	EXPECT(US_X86_MOVE, RBP, RSP, 0, 0x48, 0x8b, 0xec);
	EXPECT(US_X86_MOVE, RSP, RBP, 0, 0x48, 0x89, 0xec);
	EXPECT(US_X86_MOVE, RSP, RSP, -16, 0x48, 0x83, 0xec, 0x10);
	EXPECT(US_X86_MOVE, RSP, RSP, 128, 0x48, 0x83, 0xec, 0x80);
	EXPECT(US_X86_MOVE, RSP, RSP, 0x100, 0x48, 0x81, 0xc4, 0, 1, 0, 0);
	EXPECT(US_X86_MOVE, RSP, RBP, -24, 0x48, 0x8d, 0x65, 0xe8);
	EXPECT(US_X86_MOVE, RBP, RSP, 8, 0x48, 0x8d, 0x6c, 0x24, 0x08);
	EXPECT(US_X86_MOVE, RSP, 10, -8, 0x49, 0x8d, 0x62, 0xf8);
	EXPECT(US_X86_LOAD, RBP, RSP, 16, 0x48, 0x8b, 0x6c, 0x24, 0x10);
	EXPECT(US_X86_STORE, RBP, RSP, 16, 0x48, 0x89, 0x6c, 0x24, 0x10);
	EXPECT(US_X86_LOAD, RSP, 6, 0, 0x48, 0x8b, 0x26);
	EXPECT(US_X86_LOAD, 1, RSP, 16, 0x48, 0x8b, 0x4c, 0x24, 0x10);
	EXPECT(US_X86_STORE, 1, RSP, 16, 0x48, 0x89, 0x4c, 0x24, 0x10);
	EXPECT(US_X86_SET, 1, NO, 0, 0x48, 0x8b, 0x4d, 0x10);
	EXPECT(US_X86_SET, 1, NO, 0, 0x31, 0xc9);
	EXPECT(US_X86_OTHER, NO, NO, 0, 0x85, 0xc9);		/* test ecx, ecx */
	EXPECT(US_X86_SET, RSP, NO, 0, 0x48, 0x83, 0xe4, 0xc0); /* and rsp, -64 */
	EXPECT(US_X86_SET, RSP, NO, 0, 0x48, 0x29, 0xc4);	/* sub rsp, rax */
	EXPECT(US_X86_ZERO, RBP, RBP, 0, 0x31, 0xed);		/* xor ebp, ebp */
	EXPECT(US_X86_SET, RBP, NO, 0, 0x89, 0xe5);		/* mov ebp, esp */
	EXPECT(US_X86_SWAP, RSP, RBP, 0, 0x48, 0x87, 0xec);	/* xchg */
	EXPECT(US_X86_SWAP, RSP, 15, 0, 0x49, 0x87, 0xe7);
	EXPECT(US_X86_SWAP, RSP, 15, 0, 0x4c, 0x87, 0xfc);
	EXPECT(US_X86_SET, RSP, NO, 0, 0x48, 0x87, 0xfc); /* with rdi */
	EXPECT(US_X86_SET, RSP, NO, 0, 0x48, 0x87, 0x26); /* with memory */
	EXPECT(US_X86_SET, RSP, RBP, 0, 0x87, 0xec);	  /* 32 bits */
	EXPECT(US_X86_SET, RSP, NO, 0, 0x48, 0x94);
	EXPECT(US_X86_SET, RBP, NO, 0, 0xbd, 1, 2, 3, 4);
	EXPECT(US_X86_OTHER, NO, NO, 0, 0xb5, 1);	   /* mov ch, 1 */
	EXPECT(US_X86_SET, RBP, NO, 0, 0x40, 0xb5, 1);	   /* mov bpl, 1 */
	EXPECT(US_X86_OTHER, NO, NO, 0, 0x48, 0x39, 0xe5); /* cmp rbp, rsp */
	EXPECT(US_X86_OTHER, NO, NO, 0, 0x48, 0x85, 0xed); /* test rbp, rbp */
	EXPECT(US_X86_LEAVE, NO, NO, 0, 0xc9);
	EXPECT(US_X86_ENTER, NO, NO, 0x20, 0xc8, 0x20, 0, 0);
}

static void flow(void **state)
{
	(void)state;
	EXPECT(US_X86_CALL, NO, NO, -5, 0xe8, 0xfb, 0xff, 0xff, 0xff);
	EXPECT(US_X86_CALL_INDIRECT, NO, NO, 0, 0xff, 0xd0);
	EXPECT(US_X86_CALL_INDIRECT, NO, NO, 0, 0x41, 0xff, 0x54, 0x24, 8);
	EXPECT(US_X86_JUMP, NO, NO, 16, 0xeb, 0x10);
	EXPECT(US_X86_JUMP_INDIRECT, NO, NO, 0, 0x3e, 0xff, 0xe0);
	EXPECT(US_X86_BRANCH, NO, NO, 16, 0x0f, 0x84, 0x10, 0, 0, 0);
	EXPECT(US_X86_RET, NO, NO, 0, 0xf3, 0xc3);
	EXPECT(US_X86_RET, NO, NO, 0xfff0, 0xc2, 0xf0, 0xff);
	EXPECT(US_X86_IRET, NO, NO, 0, 0x48, 0xcf);
	EXPECT(US_X86_FAR_RET, NO, NO, 0, 0x48, 0xcb);
	EXPECT(US_X86_FAR_RET, NO, NO, 16, 0x48, 0xca, 16, 0);
	EXPECT(US_X86_STOP, NO, NO, 0, 0xcb); /* pops two words of 4 bytes */
	EXPECT(US_X86_SYSRET, NO, NO, 0, 0x48, 0x0f, 0x07);
	EXPECT(US_X86_OTHER, NO, NO, 0, 0xf4);
	EXPECT(US_X86_STOP, NO, NO, 0, 0x0f, 0x0b);
	EXPECT(US_X86_ENDBR, NO, NO, 0, 0xf3, 0x0f, 0x1e, 0xfa);
	EXPECT(US_X86_NOP, NO, NO, 0, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0);
}

static void narrow_stack_effects(void **state)
{
	(void)state;
	EXPECT_32(US_X86_PUSH, RBP, NO, 0, 0x55);
	EXPECT_32(US_X86_PUSH, NO, NO, 0, 0x1e); /* push %ds */
	EXPECT_32(US_X86_PUSH, NO, NO, 0, 0x68, 1, 2, 3, 4);
	EXPECT_32(US_X86_PUSH, NO, 10, -4, 0xff, 0x71, 0xfc); /* push -4(%ecx) */
	EXPECT_32(US_X86_POP, NO, NO, 0, 0x07);
	EXPECT_32(US_X86_PUSH_ALL, NO, NO, 0, 0x60);
	EXPECT_32(US_X86_POP_ALL, NO, NO, 0, 0x61);
	EXPECT_32(US_X86_SET, RSP, RBP, 0, 0x66, 0x60);
	EXPECT_32(US_X86_MOVE, RBP, RSP, 0, 0x89, 0xe5);
	EXPECT_32(US_X86_MOVE, RSP, RBP, 0, 0x8b, 0xe5);
	EXPECT_32(US_X86_MOVE, RSP, RSP, -12, 0x83, 0xec, 0x0c);
	EXPECT_32(US_X86_MOVE, RSP, RSP, 0x100, 0x81, 0xc4, 0, 1, 0, 0);
	EXPECT_32(US_X86_MOVE, 10, RSP, 4, 0x8d, 0x4c, 0x24, 4); /* lea 4(%esp),%ecx */
	EXPECT_32(US_X86_MOVE, RSP, 10, -4, 0x8d, 0x61, 0xfc);
	EXPECT_32(US_X86_MOVE, RSP, RBP, -8, 0x8d, 0x65, 0xf8);
	EXPECT_32(US_X86_LOAD, RBP, RSP, 16, 0x8b, 0x6c, 0x24, 0x10);
	EXPECT_32(US_X86_STORE, RBP, RSP, 16, 0x89, 0x6c, 0x24, 0x10);
	EXPECT_32(US_X86_SET, RSP, NO, 0, 0x83, 0xe4, 0xf0);
	EXPECT_32(US_X86_SET, RBP, NO, 0, 0x66, 0x89, 0xe5);
	EXPECT_32(US_X86_SET, RSP, NO, 0, 0x4c); /* dec %esp */
	EXPECT_32(US_X86_SET, RBP, NO, 0, 0x45);
	EXPECT_32(US_X86_SET, 10, NO, 0, 0x41);
	EXPECT_32(US_X86_ZERO, RBP, RBP, 0, 0x31, 0xed);
	EXPECT_32(US_X86_LEAVE, NO, NO, 0, 0xc9);
	EXPECT_32(US_X86_ENTER, NO, NO, 0x20, 0xc8, 0x20, 0, 0);
}

static void narrow_flow(void **state)
{
	(void)state;
	EXPECT_32(US_X86_CALL, NO, NO, -5, 0xe8, 0xfb, 0xff, 0xff, 0xff);
	EXPECT_32(US_X86_CALL_INDIRECT, NO, NO, 0, 0xff, 0x15, 1, 2, 3, 4);
	EXPECT_32(US_X86_RET, NO, NO, 4, 0xc2, 4, 0);
	EXPECT_32(US_X86_STOP, NO, NO, 0, 0x66, 0xe9, 1, 2); /* truncates eip */
	EXPECT_32(US_X86_STOP, NO, NO, 0, 0x9a, 1, 2, 3, 4, 8, 0);
	EXPECT_32(US_X86_STOP, NO, NO, 0, 0x66, 0xea, 1, 2, 8, 0);
	EXPECT_32(US_X86_ENDBR, NO, NO, 0, 0xf3, 0x0f, 0x1e, 0xfb);
	EXPECT_32(US_X86_IRET, NO, NO, 0, 0xcf);
	EXPECT_32(US_X86_FAR_RET, NO, NO, 0, 0xcb);
	EXPECT_32(US_X86_STOP, NO, NO, 0, 0x66, 0xcb);
	/* Other lengths than in 64-bit code: addresses of 16 bits, moffs, les, aam. */
	EXPECT_32(US_X86_OTHER, NO, NO, 0, 0x67, 0x8b, 0x06, 1, 2);
	EXPECT_32(US_X86_OTHER, NO, NO, 0, 0x67, 0x8b, 0x44, 1);
	EXPECT_32(US_X86_OTHER, NO, NO, 0, 0x67, 0x8b, 0x84, 1, 2);
	EXPECT_32(US_X86_OTHER, NO, NO, 0, 0x67, 0x8b, 0x04);
	EXPECT_32(US_X86_OTHER, NO, NO, 0, 0xa1, 1, 2, 3, 4);
	EXPECT_32(US_X86_OTHER, NO, NO, 0, 0x67, 0xa1, 1, 2);
	EXPECT_32(US_X86_SET, 13, NO, 0, 0xc4, 0x3a);	      /* les to edi */
	EXPECT_32(US_X86_OTHER, NO, NO, 0, 0x62, 0x50, 0x08); /* bound */
	EXPECT_32(US_X86_OTHER, NO, NO, 0, 0xc5, 0xf8, 0x77); /* vzeroupper */
	EXPECT_32(US_X86_OTHER, NO, NO, 0, 0xd4, 0x0a);
	EXPECT_32(US_X86_OTHER, NO, NO, 0, 0x63, 0xc0); /* arpl */
	EXPECT_32(US_X86_OTHER, NO, NO, 0, 0xb8, 1, 2, 3, 4);
}

static void rubbish(void **state)
{
	(void)state;
	struct us_x86_insn i;
	static const uint8_t prefixes[20] = { [0 ... 19] = 0x66 };
	assert_false(us_x86_decode(prefixes, sizeof(prefixes), 64, &i));
	assert_false(us_x86_decode(CODE(0x06), 1, 64, &i));
	assert_false(us_x86_decode(CODE(0x48, 0x48, 0x90), 3, 64, &i));
	assert_false(us_x86_decode(CODE(0x62), 1, 64, &i));
	assert_false(us_x86_decode(prefixes, sizeof(prefixes), 32, &i));
	assert_false(us_x86_decode(CODE(0x62), 1, 32, &i));
	assert_false(us_x86_decode(CODE(0xc4), 1, 32, &i));
	uint32_t seed = 7;
	for (int n = 0; n < 500000; n++) {
		uint8_t code[16];
		for (int b = 0; b < 16; b += 4) {
			seed = seed * 1664525 + 1013904223;
			memcpy(code + b, &(uint32_t){ seed ^ seed >> 15 }, 4);
		}
		if (us_x86_decode(code, 1 + n % 16, n & 16 ? 32 : 64, &i)) {
			assert_in_range(i.len, 1, 1 + n % 16);
			assert_in_range(i.kind, 0, US_X86_BREAK);
		}
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(stack_effects),
		cmocka_unit_test(flow),
		cmocka_unit_test(narrow_stack_effects),
		cmocka_unit_test(narrow_flow),
		cmocka_unit_test(rubbish),
		cmocka_unit_test(agrees_with_objdump),
		cmocka_unit_test(agrees_with_objdump_32),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
