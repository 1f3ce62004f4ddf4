/* SPDX-License-Identifier: GPL-2.0-or-later */
/* x86.c: the flow of x86 code; see arch.h. */
#include "trace/plugin/arch.h"

#include "unwind/x86_decode.h"

#include <string.h>

static size_t skip_prefixes(const uint8_t *code, size_t n)
{
	size_t i = us_x86_prefixes(code, n);
	/* REX, unless it is a whole 32-bit instruction: inc, dec. */
	if (i + 1 < n && (code[i] & 0xf0) == 0x40)
		i++;
	return i;
}

static void set_target(struct us_flow_insn *ret, uint64_t end, int64_t distance)
{
	ret->has_target = true;
	ret->target = end + (uint64_t)distance;
	/* Code below 4 GiB does not jump out of that range: it is 32-bit code, or the
	 * jump is near. */
	if (end >> 32 == 0)
		ret->target &= UINT32_MAX;
}

/* In 16-bit code, as in firmware: calls and jumps with a distance of 2 bytes. */
static void short_distance(const uint8_t *op, size_t n, uint64_t end,
			   struct us_flow_insn *ret)
{
	int16_t distance;
	if (n != 3 && !(n == 4 && op[0] == 0x0f))
		return;
	memcpy(&distance, op + n - 2, sizeof(distance));
	if (op[0] == 0xe8 || op[0] == 0xe9)
		ret->flow = op[0] == 0xe8 ? US_FLOW_CALL : US_FLOW_JUMP;
	else if (n == 4 && (op[1] & 0xf0) == 0x80)
		ret->flow = US_FLOW_BRANCH;
	else
		return;
	set_target(ret, end, distance);
}

static bool halts(const uint8_t *op, size_t n)
{
	return op[0] == 0xf4 ||
	       (n == 3 && op[0] == 0x0f && op[1] == 0x01 && op[2] == 0xc9);
}

/* A string instruction with a repeat prefix, which QEMU executes once for each element.
 */
static bool repeats(const uint8_t *code, size_t at)
{
	uint8_t op = code[at];
	bool string = (op >= 0xa4 && op <= 0xa7) || (op >= 0xaa && op <= 0xaf) ||
		      (op >= 0x6c && op <= 0x6f);
	for (size_t i = 0; string && i < at; i++)
		if (code[i] == 0xf2 || code[i] == 0xf3)
			return true;
	return false;
}

/* A call or return that also stores or loads the code segment, which may begin
 * anywhere: the target is not known. */
static bool is_far(const uint8_t *op, size_t n, struct us_flow_insn *ret)
{
	bool call = op[0] == 0x9a || (op[0] == 0xff && n > 1 && (op[1] >> 3 & 7) == 3);
	ret->far = call || op[0] == 0xca || op[0] == 0xcb;
	if (ret->far)
		ret->flow = call ? US_FLOW_CALL : US_FLOW_RETURN;
	return ret->far;
}

/* Instructions that the unwinder's decoder does not distinguish. */
static bool by_opcode(const uint8_t *op, size_t n, struct us_flow_insn *ret)
{
	bool two = n > 1 && op[0] == 0x0f;
	unsigned reg = n > 1 ? op[1] >> 3 & 7 : 0;
	if (op[0] == 0xcf)
		ret->flow = US_FLOW_IRET;
	else if (op[0] == 0xcc || op[0] == 0xcd || op[0] == 0xce ||
		 (two && op[1] == 0x05) || (two && op[1] == 0x34))
		ret->flow = US_FLOW_TRAP;
	else if (two && (op[1] == 0x07 || op[1] == 0x35))
		ret->flow = US_FLOW_LEAVE;
	else if (op[0] == 0xea || (op[0] == 0xff && n > 1 && reg == 5))
		ret->flow = US_FLOW_JUMP; /* far: any target */
	else
		return is_far(op, n, ret);
	return true;
}

/* Does the stack pointer get a value from elsewhere?  A frame pointer, or a register
 * that replaces it after the stack was aligned, does not count: it leads back within
 * the same stack. */
static bool loads_stack(const struct us_x86_insn *x, uint8_t op)
{
	bool by_frame = x->base == US_X86_CODE_RBP || x->base == US_X86_CODE_R10 ||
			x->base == US_X86_CODE_R13;
	if (x->stack == US_X86_STACK_LOADS)
		return x->kind != US_X86_MOVE || !by_frame;
	if (x->reg != US_X86_CODE_RSP)
		return false;
	return x->kind == US_X86_POP || x->kind == US_X86_LOAD ||
	       x->kind == US_X86_SWAP ||
	       (x->kind == US_X86_SET && (op == 0x87 || op == 0x94)); /* xchg */
}

static void by_decoder(const struct us_x86_insn *x, uint64_t end,
		       struct us_flow_insn *ret)
{
	static const uint8_t flow[] = {
		[US_X86_PUSH_PC] = US_FLOW_CALL,       [US_X86_CALL] = US_FLOW_CALL,
		[US_X86_CALL_INDIRECT] = US_FLOW_CALL, [US_X86_JUMP] = US_FLOW_JUMP,
		[US_X86_JUMP_INDIRECT] = US_FLOW_JUMP, [US_X86_BRANCH] = US_FLOW_BRANCH,
		[US_X86_RET] = US_FLOW_RETURN,
	};
	if (x->kind < sizeof(flow))
		ret->flow = flow[x->kind];
	if (x->kind == US_X86_CALL || x->kind == US_X86_JUMP ||
	    x->kind == US_X86_BRANCH || x->kind == US_X86_PUSH_PC)
		set_target(ret, end, x->imm);
}

/* op[0] to op[n - 1] is behind the prefixes; high: REX.B. */
static void note_popped(const uint8_t *op, size_t n, bool high,
			struct us_flow_insn *ret)
{
	uint8_t reg = (uint8_t)(1 + 8 * high + (op[n - 1] & 7));
	bool add = (n == 3 && op[0] == 0x83) || (n == 6 && op[0] == 0x81);
	if (n == 1 && (op[0] & 0xf8) == 0x58 && reg != 1 + US_X86_CODE_RSP)
		ret->popped = reg;
	else if (n == 2 && op[0] == 0xff && (op[1] & 0xf8) == 0xe0)
		ret->jumps_by = reg;
	else if (n == 3 && op[0] == 0x0f && op[1] == 0xae && op[2] == 0xe8)
		ret->keeps = true; /* lfence */
	else if (add && op[1] == 0xc4 && !high)
		ret->keeps = true; /* add $.., %rsp */
}

void us_x86_flow(const uint8_t *code, size_t n, uint64_t pc, struct us_flow_insn *ret)
{
	struct us_x86_insn x;
	size_t at = skip_prefixes(code, n);
	*ret = (struct us_flow_insn){ .flow = US_FLOW_ON };
	ret->halts = at < n && halts(code + at, n - at);
	if (at < n)
		note_popped(code + at, n - at, at && (code[at - 1] & 0xf1) == 0x41,
			    ret);
	if (at >= n || by_opcode(code + at, n - at, ret))
		return;
	if (repeats(code, at)) {
		ret->flow = US_FLOW_BRANCH;
		set_target(ret, pc, 0);
		return;
	}
	bool wide = us_x86_decode(code, n, 64, &x) && x.len == n;
	if (wide) {
		by_decoder(&x, pc + n, ret);
		ret->loads_stack = loads_stack(&x, code[at]);
	}
	/* Nothing shows whether it is 64-bit or 32-bit code.  Assuming a load of the
	 * stack pointer does no harm: its next use shows whether that was another
	 * stack. */
	if ((!wide || !ret->loads_stack) && us_x86_decode(code, n, 32, &x) &&
	    x.len == n) {
		if (!wide)
			by_decoder(&x, pc + n, ret);
		ret->loads_stack = loads_stack(&x, code[at]);
	} else if (!wide) {
		short_distance(code + at, n - at, pc + n, ret);
	}
}

/* Where the shortest instruction code[0] to code[n - 1] would jump; false: nowhere. */
static bool jump_target(const uint8_t *code, size_t n, uint64_t pc, uint64_t *ret)
{
	bool two = n > 1 && code[0] == 0x0f && (code[1] & 0xf0) == 0x80;
	int32_t distance;
	if (n >= 2 &&
	    (code[0] == 0xeb || (code[0] & 0xf0) == 0x70 || (code[0] & 0xfc) == 0xe0)) {
		*ret = pc + 2 + (uint64_t)(int8_t)code[1];
		return true;
	}
	if (n < 5U + two || (!two && code[0] != 0xe9))
		return false;
	memcpy(&distance, code + 1 + two, sizeof(distance));
	*ret = pc + 5 + two + (uint64_t)(int64_t)distance;
	return true;
}

bool us_x86_may_jump_to(const uint8_t *code, size_t n, uint64_t pc, uint64_t to)
{
	size_t first = n ? skip_prefixes(code, n) : 0;
	uint64_t at;
	if (n && pc == to && first < n && repeats(code, first))
		return true;
	for (size_t i = 0; i < n; i++)
		if (jump_target(code + i, n - i, pc + i, &at) && at == to)
			return true;
	return false;
}

/* Intel SDM volume 3, 4.5: the low 12 bits are flags or an identifier. */
uint64_t us_x86_program_root(uint64_t cr3, uint64_t cs)
{
	return (cs & 3) == 3 ? cr3 & 0x000ffffffffff000 : 0;
}
