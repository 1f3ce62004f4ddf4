/* SPDX-License-Identifier: GPL-2.0-or-later */
/* entry_link.c: the path of a kernel from its entry, where calls leave the return
 * address in a register: aarch64, riscv. */
#include "boot/entry_path.h"

#include "unwind/link_insn.h"

#include <elf.h>
#include <string.h>

struct link {
	struct us_boot_path *path;
	const struct us_link_machine *machine;
	struct {
		uint64_t v;
		bool known;
	} reg[US_LINK_N_REG];
	uint64_t exit_pc; /* where an exception return leads; 0: not known */
};

static void learn(struct link *l, uint8_t reg, uint64_t v)
{
	if (reg >= US_LINK_N_REG)
		return;
	l->reg[reg].v = v;
	l->reg[reg].known = true;
}

static void forget(struct link *l, uint8_t reg)
{
	if (reg < US_LINK_N_REG)
		l->reg[reg].known = false;
}

static bool knows(const struct link *l, uint8_t reg)
{
	return reg < US_LINK_N_REG && l->reg[reg].known;
}

static int64_t signed_bits(uint32_t insn, unsigned at, unsigned n)
{
	return (int64_t)((uint64_t)insn << (64 - at - n)) >> (64 - n);
}

/* Instructions relative to their own address, which an unwinder does not need: adr,
 * adrp, ldr of a literal (Arm ARM, C4.1), auipc (RISC-V ISA, 2.4); and msr of the
 * address to which EL2 or EL3 returns.  False: none of these. */
static bool aarch64_place(struct link *l, uint32_t insn)
{
	uint64_t pc = l->path->pc, v;
	uint8_t rd = insn & 31;
	int64_t imm = (int64_t)((uint64_t)signed_bits(insn, 5, 19) << 2 |
				(insn >> 29 & 3));
	if ((insn & 0x9f000000) == 0x10000000)
		learn(l, rd, pc + (uint64_t)imm);
	else if ((insn & 0x9f000000) == 0x90000000)
		learn(l, rd, (pc & ~0xfffULL) + ((uint64_t)imm << 12));
	else if ((insn & 0xbf000000) == 0x18000000) {
		forget(l, rd);
		if (us_boot_number_at(l->path->file,
				      pc + ((uint64_t)signed_bits(insn, 5, 19) << 2),
				      insn >> 30 & 1 ? 8 : 4, &v))
			learn(l, rd, v);
	} else if ((insn & 0xfffdffe0) == 0xd51c4020) /* msr elr_el2, elr_el3 */
		l->exit_pc = knows(l, rd) ? l->reg[rd].v : 0;
	else
		return false;
	return true;
}

static bool riscv_place(struct link *l, uint32_t insn)
{
	uint8_t rd = insn >> 7 & 31;
	if ((insn & 0x7f) != 0x17 || !rd)
		return false;
	learn(l, rd, l->path->pc + (uint64_t)(int64_t)(int32_t)(insn & 0xfffff000));
	return true;
}

static bool is_place(struct link *l, const uint8_t *code, size_t n)
{
	uint32_t insn;
	if (n < sizeof(insn))
		return false;
	memcpy(&insn, code, sizeof(insn));
	return l->machine == &us_link_aarch64 ? aarch64_place(l, insn)
					      : riscv_place(l, insn);
}

static void compute(struct link *l, const struct us_link_insn *i)
{
	bool base = knows(l, i->base);
	uint64_t v = base ? l->reg[i->base].v : 0, at;
	switch (i->kind) {
	case US_LINK_CONST:
		learn(l, i->reg, (uint64_t)i->imm);
		break;
	case US_LINK_MOVE:
		forget(l, i->reg);
		if (base)
			learn(l, i->reg, v + (uint64_t)i->imm);
		break;
	case US_LINK_SHIFT:
		forget(l, i->reg);
		if (base && i->imm >= 0 && i->imm < 64)
			learn(l, i->reg, v << i->imm);
		break;
	case US_LINK_INSERT:
		if (knows(l, i->reg) && i->reg2 < 64)
			learn(l, i->reg,
			      (l->reg[i->reg].v & ~(0xffffULL << i->reg2)) |
				      (uint64_t)i->imm << i->reg2);
		break;
	case US_LINK_LOAD:
		forget(l, i->reg);
		forget(l, i->reg2);
		at = v + (uint64_t)i->imm;
		if (base && us_boot_number_at(l->path->file, at, 8, &v))
			learn(l, i->reg, v);
		break;
	case US_LINK_EXIT_PC:
		l->exit_pc = knows(l, i->reg) ? l->reg[i->reg].v : 0;
		break;
	case US_LINK_ADD:
	case US_LINK_SET:
	case US_LINK_BACK:
	case US_LINK_SWAP:
		forget(l, i->reg);
		break;
	default:
		break;
	}
}

static void call(struct link *l, uint64_t to)
{
	us_boot_path_call(l->path, to, false);
	for (uint8_t k = 0; k < US_LINK_N_REG; k++)
		if (!(l->machine->preserved >> k & 1) && k != l->machine->sp)
			forget(l, k);
}

/* A jump that leaves the return address in a register is a call, even if nothing uses
 * that address. */
static bool step(struct link *l, const struct us_link_insn *i)
{
	struct us_boot_path *p = l->path;
	uint64_t to = p->pc + (uint64_t)i->imm;
	switch (i->kind) {
	case US_LINK_CALL:
		call(l, to);
		break;
	case US_LINK_CALL_INDIRECT:
		/* riscv: reg + imm */
		if (knows(l, i->reg))
			call(l, l->reg[i->reg].v + (uint64_t)i->imm);
		break;
	case US_LINK_BRANCH:
		us_boot_path_branch(p, to);
		break;
	case US_LINK_JUMP:
		return us_boot_path_jump(p, to);
	case US_LINK_JUMP_INDIRECT:
	case US_LINK_RET:
		return knows(l, i->reg) ? us_boot_path_jump(p, l->reg[i->reg].v +
								       (uint64_t)i->imm)
					: us_boot_path_end(p);
	case US_LINK_EXIT:
		return l->exit_pc ? us_boot_path_jump(p, l->exit_pc)
				  : us_boot_path_end(p);
	case US_LINK_STOP:
		return us_boot_path_end(p);
	default:
		compute(l, i);
		break;
	}
	p->pc += i->len;
	return true;
}

/* What jalr adds (RISC-V ISA, 2.5), which an unwinder does not need. */
static void add_offset(const struct link *l, const uint8_t *code,
		       struct us_link_insn *i)
{
	uint32_t insn;
	if (l->machine != &us_link_riscv || i->len != sizeof(insn))
		return;
	memcpy(&insn, code, sizeof(insn));
	if ((insn & 0x7f) == 0x67)
		i->imm = (int32_t)insn >> 20;
}

void us_boot_follow_link(struct us_boot_path *p)
{
	struct link l = { .path = p,
			  .machine = p->file->machine == EM_RISCV ? &us_link_riscv
								  : &us_link_aarch64 };
	for (bool on = true; on && p->steps; p->steps--) {
		struct us_link_insn i = { 0 };
		size_t n;
		const uint8_t *code = us_boot_code_at(p->file, p->pc, &n);
		if (!code || !l.machine->decode(code, n, &i) || !i.len) {
			on = us_boot_path_end(p);
		} else if (is_place(&l, code, n)) {
			p->pc += i.len;
		} else {
			add_offset(&l, code, &i);
			on = step(&l, &i);
		}
	}
}
