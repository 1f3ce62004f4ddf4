/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * x86_own.c: has the code right before a CALL loaded the stack pointer?  See
 * x86_rule.h.
 *
 * In a firmware, code that the processor or a loader enters has no symbol, and nothing
 * says where it begins.  But it takes a stack of its own, and then calls what runs on
 * it.  The code before the CALL is decoded in one sweep that has to come to the place;
 * only the last instructions matter.
 */
#include "unwind/x86_flow.h"
#include "unwind/x86_rule.h"

#define RANGE  256 /* bytes before the place */
#define SHIFTS 8   /* starts of a sweep that are tried */
#define SAVED  4   /* words: entries push more registers, what begins pushes fewer */
#define BEHIND 128 /* instructions that are followed behind the CALL */
#define ARMS   8   /* of branches among them */

/* A straight piece of code, up to where the sweep is. */
struct piece {
	us_gva from;	/* where it begins */
	bool begins;	/* no code falls through into its first instruction */
	bool used;	/* rsp was used, so it was a stack before */
	bool called;	/* the last instruction was a CALL */
	bool taken;	/* what was loaded is not an earlier stack */
	bool loaded;	/* another stack than the one that the code was entered with */
	bool kept;	/* since it was loaded, rsp was copied, or written through */
	bool resumes;	/* it leaves a stack with what it needs to go on there later */
	int32_t pushed; /* words, since rsp was loaded, and not popped again */
	enum us_x86_own own;
	us_gva sp; /* of US_X86_OWN_AT: what was loaded */
};

static bool ends_flow(const struct us_x86_insn *insn)
{
	return insn->kind == US_X86_RET || insn->kind == US_X86_JUMP ||
	       insn->kind == US_X86_JUMP_INDIRECT || insn->kind == US_X86_STOP ||
	       insn->kind == US_X86_FAR_RET || insn->kind == US_X86_IRET ||
	       insn->kind == US_X86_SYSRET;
}

static bool is_constant(const struct us_x86_insn *insn)
{
	return insn->stack == US_X86_STACK_LOADS && insn->general == US_X86_CODE_RSP;
}

/* mov %rax,%rsp: right behind a CALL, this is the result of the function called. */
static bool is_result(const uint8_t *code, size_t len)
{
	return len >= 2 && code[len - 2] == 0x89 && code[len - 1] == 0xc4;
}

/*
 * The registers were saved on the old stack: an entry, which is to go back to what was
 * interrupted, although its code does not show how.  If it is known where the function
 * begins, its first stack is somebody's if anything of it was kept, or might have been.
 */
static bool resumes(const struct piece *p, us_gva start)
{
	if (p->pushed >= SAVED || (p->pushed > 0 && p->kept))
		return true;
	return start && !p->loaded && (p->pushed > 0 || p->kept || p->from > start);
}

static void load(struct piece *p, us_gva start, const uint8_t *code,
		 const struct us_x86_insn *insn)
{
	p->resumes |= resumes(p, start);
	p->loaded = true;
	p->kept = false;
	p->pushed = 0;
	p->taken = (p->begins && !p->used) || (p->called && is_result(code, insn->len));
	p->own = is_constant(insn) ? US_X86_OWN_AT
		 : p->taken	   ? US_X86_OWN_SOME
				   : US_X86_OWN_NOT;
	p->sp = insn->value;
}

/* Its place is no longer known. */
static void lose(struct piece *p)
{
	p->own = p->own && p->taken ? US_X86_OWN_SOME : US_X86_OWN_NOT;
}

/* What is left on the stack, for later. */
static void note(const struct us_x86_flow *f, struct piece *p,
		 const struct us_x86_insn *insn)
{
	bool moves = insn->kind == US_X86_MOVE && insn->base == US_X86_CODE_RSP &&
		     insn->reg == US_X86_CODE_RSP && insn->imm > 0;
	if (insn->kind == US_X86_PUSH)
		p->pushed++;
	else if (insn->kind == US_X86_PUSH_ALL)
		p->pushed += 8;
	else if (insn->kind == US_X86_POP)
		p->pushed--;
	else if (insn->kind == US_X86_POP_ALL)
		p->pushed -= 8;
	else if (moves)
		p->pushed -= insn->imm / f->word;
	else if (insn->kind != US_X86_CALL && insn->kind != US_X86_CALL_INDIRECT)
		p->kept |= insn->stack != US_X86_STACK_NOT;
	if (p->pushed < 0) /* of what was there before the sweep began */
		p->pushed = 0;
}

/* Where the loaded stack pointer is after this instruction. */
static void move(const struct us_x86_flow *f, struct piece *p,
		 const struct us_x86_insn *insn)
{
	bool from_sp = insn->kind == US_X86_MOVE && insn->base == US_X86_CODE_RSP;
	bool to_sp = insn->reg == US_X86_CODE_RSP;
	if (insn->kind == US_X86_CALL || insn->kind == US_X86_CALL_INDIRECT)
		return;
	if (insn->kind == US_X86_PUSH)
		p->sp -= insn->half ? 2 : f->word;
	else if (insn->kind == US_X86_POP && !to_sp)
		p->sp += insn->half ? 2 : f->word;
	else if (from_sp && to_sp)
		p->sp += (us_gva)(int64_t)insn->imm;
	else if (to_sp && (insn->kind == US_X86_SET || insn->kind == US_X86_MOVE))
		lose(p); /* aligned, or room was made */
	else if (to_sp && insn->kind != US_X86_STORE)
		p->own = US_X86_OWN_NOT;
	else if (insn->kind == US_X86_SWAP && insn->base == US_X86_CODE_RSP)
		p->own = US_X86_OWN_NOT;
	else if (insn->kind >= US_X86_ENTER && insn->kind <= US_X86_PUSH_PC)
		p->own = US_X86_OWN_NOT;
}

/* start: of the function; 0: not known.  at: of the instruction. */
static void go_on(const struct us_x86_flow *f, us_gva start, us_gva at, struct piece *p,
		  const uint8_t *code, const struct us_x86_insn *insn)
{
	bool pads = insn->kind == US_X86_NOP || insn->kind == US_X86_BREAK;
	if (ends_flow(insn)) {
		*p = (struct piece){ .from = at + insn->len, .begins = true };
		return;
	}
	if (pads)
		return;
	if (insn->stack == US_X86_STACK_LOADS) {
		load(p, start, code, insn);
	} else {
		note(f, p, insn);
		move(f, p, insn);
	}
	p->used |= insn->stack != US_X86_STACK_NOT;
	p->called = insn->kind == US_X86_CALL || insn->kind == US_X86_CALL_INDIRECT;
}

/* The n bytes of code before pc. */
static bool sweep(struct us_x86_flow *f, us_gva start, us_gva pc, const uint8_t *code,
		  size_t n, struct piece *p)
{
	struct us_x86_insn insn;
	size_t at = 0;
	*p = (struct piece){ .from = pc - n };
	for (; at < n && f->path.budget; at += insn.len, f->path.budget--) {
		if (!us_x86_decode(code + at, n - at, f->word * 8U, &insn))
			return false;
		go_on(f, start, pc - n + at, p, code + at, &insn);
	}
	return at == n && p->called;
}

enum us_x86_own us_x86_own_stack(struct us_x86_flow *f, us_gva pc, us_gva start,
				 us_gva *ret_sp)
{
	uint8_t code[RANGE];
	struct piece p;
	size_t n = us_x86_before(f, pc, code, RANGE);
	for (size_t shift = 0; shift < SHIFTS && shift < n; shift++) {
		if (!sweep(f, start, pc, code + RANGE - n + shift, n - shift, &p))
			continue;
		*ret_sp = f->word == 4 ? (uint32_t)p.sp : p.sp;
		return p.resumes ? US_X86_OWN_NOT : p.own;
	}
	return US_X86_OWN_NOT;
}

/* --- behind the CALL --- */

/* Arms that are still to be followed. */
struct arms {
	us_gva pc[ARMS];
	unsigned n;
	unsigned left; /* instructions */
};

static bool sets_sp(const struct us_x86_insn *insn)
{
	bool to_sp = insn->reg == US_X86_CODE_RSP && insn->base != US_X86_CODE_RSP &&
		     insn->kind != US_X86_PUSH && insn->kind != US_X86_STORE;
	bool swaps = insn->kind == US_X86_SWAP && insn->base == US_X86_CODE_RSP;
	return insn->stack == US_X86_STACK_LOADS || to_sp || swaps;
}

/* Follow one arm to where it leads elsewhere; true: it restores an earlier stack. */
static bool arm_goes_back(struct us_x86_flow *f, struct arms *a, us_gva pc)
{
	struct us_x86_insn insn;
	bool framed = false; /* rbp is of this stack: another function's frame */
	for (; a->left; a->left--) {
		size_t len;
		const uint8_t *code = us_code_path_bytes(&f->path, pc, US_X86_MAX_INSN,
							 &len);
		if (!us_x86_decode(code, len, f->word * 8U, &insn) ||
		    is_constant(&insn))
			return false;
		us_gva to = pc + insn.len + (us_gva)(int64_t)insn.imm;
		framed |= insn.kind == US_X86_MOVE && insn.reg == US_X86_CODE_RBP &&
			  insn.base == US_X86_CODE_RSP;
		bool leaves = insn.kind == US_X86_IRET || insn.kind == US_X86_SYSRET;
		bool by_fp = insn.kind == US_X86_LEAVE || insn.base == US_X86_CODE_RBP;
		if (leaves || insn.kind == US_X86_LEAVE || sets_sp(&insn))
			return leaves || !(framed && by_fp);
		if (insn.kind == US_X86_BRANCH && a->n < ARMS)
			a->pc[a->n++] = to;
		if (ends_flow(&insn) && insn.kind != US_X86_JUMP)
			return false;
		pc = insn.kind == US_X86_JUMP ? to : pc + insn.len;
	}
	return false;
}

bool us_x86_goes_back(struct us_x86_flow *f, us_gva pc)
{
	struct arms a = { .pc = { pc }, .n = 1, .left = BEHIND };
	while (a.n)
		if (arm_goes_back(f, &a, a.pc[--a.n]))
			return true;
	return false;
}

#define MAX_BEFORE_TRAP 8 /* instructions */

/* syscall, sysenter, int n; behind any prefix. */
static bool enters_kernel(const uint8_t *code, const struct us_x86_insn *insn)
{
	if (insn->len < 2)
		return false;
	const uint8_t *b = code + insn->len - 2;
	return b[0] == 0xcd || (b[0] == 0x0f && (b[1] == 0x05 || b[1] == 0x34));
}

bool us_x86_traps(struct us_x86_flow *f, us_gva pc)
{
	struct us_x86_insn insn;
	for (unsigned i = 0; i < MAX_BEFORE_TRAP; i++) {
		size_t len;
		const uint8_t *code = us_code_path_bytes(&f->path, pc, US_X86_MAX_INSN,
							 &len);
		if (!us_x86_decode(code, len, f->word * 8U, &insn))
			return false;
		if (insn.kind == US_X86_BREAK)
			return true;
		if (insn.kind == US_X86_STOP)
			return code[0] == 0x0f; /* ud2, not a far jump */
		if (insn.kind == US_X86_JUMP)
			return insn.imm == -(int32_t)insn.len;
		if (insn.kind >= US_X86_PUSH_PC || enters_kernel(code, &insn))
			return false;
		pc += insn.len;
	}
	return false;
}

#define MAX_BEFORE_PUSH 8 /* instructions */

bool us_x86_goes_in(struct us_x86_flow *f, us_gva pc)
{
	struct us_x86_insn insn;
	for (unsigned i = 0; i < MAX_BEFORE_PUSH; i++) {
		size_t len;
		const uint8_t *code = us_code_path_bytes(&f->path, pc, US_X86_MAX_INSN,
							 &len);
		if (!us_x86_decode(code, len, f->word * 8U, &insn))
			return false;
		if (insn.kind == US_X86_PUSH || insn.kind == US_X86_PUSH_ALL)
			return true;
		if (insn.kind == US_X86_POP || insn.kind == US_X86_POP_ALL ||
		    ends_flow(&insn))
			return false;
		pc += insn.len;
	}
	return false;
}

#define MAX_SAVES 32 /* instructions */

/* The register, by its number in the code, that the instruction pushes or stores at
 * rsp; else US_X86_NO_REG. */
static uint8_t saves(const uint8_t *code, const struct us_x86_insn *insn, bool wide)
{
	size_t at = us_x86_prefixes(code, insn->len);
	uint8_t rex = wide && (code[at] & 0xf0) == 0x40 ? code[at++] : 0;
	if ((code[at] & 0xf8) == 0x50)
		return (uint8_t)((code[at] & 7) | (rex & 1) << 3);
	if (code[at] != 0x89 || insn->len < at + 3 || (wide && !(rex & 8)))
		return US_X86_NO_REG;
	uint8_t modrm = code[at + 1], mod = modrm >> 6;
	bool on_stack = mod < 3 && (modrm & 7) == 4 && code[at + 2] == 0x24 &&
			!(rex & 3);
	return on_stack ? (uint8_t)((modrm >> 3 & 7) | (rex & 4) << 1) : US_X86_NO_REG;
}

/* May come before registers are saved: it changes none but rsp. */
static bool leaves_all(const uint8_t *code, const struct us_x86_insn *insn)
{
	bool moves_sp = insn->kind == US_X86_MOVE && insn->reg == US_X86_CODE_RSP &&
			insn->base == US_X86_CODE_RSP;
	bool flag = insn->len == 1 && code[0] >= 0xfa && code[0] <= 0xfd; /* cld */
	return moves_sp || flag || insn->kind == US_X86_NOP ||
	       insn->kind == US_X86_ENDBR;
}

bool us_x86_saves_all(struct us_x86_flow *f, us_gva start)
{
	enum { NEEDED = 7, PUSHF = 0x9c }; /* rax, rcx, rdx */
	struct us_x86_insn insn;
	uint32_t saved = 0;
	us_gva pc = start;
	for (unsigned i = 0; i < MAX_SAVES; i++, pc += insn.len) {
		size_t len;
		const uint8_t *code = us_code_path_bytes(&f->path, pc, US_X86_MAX_INSN,
							 &len);
		if (!us_x86_decode(code, len, f->word * 8U, &insn))
			return false;
		if (insn.kind == US_X86_PUSH_ALL ||
		    (insn.kind == US_X86_PUSH && code[insn.len - 1] == PUSHF))
			return true;
		uint8_t reg = saves(code, &insn, f->word == 8);
		if (reg == US_X86_NO_REG && !leaves_all(code, &insn))
			return false;
		saved |= reg < US_X86_N_CODE ? 1U << reg : 0;
		if ((saved & NEEDED) == NEEDED)
			return true;
	}
	return false;
}
