/* SPDX-License-Identifier: GPL-2.0-or-later */
/* riscv.c: the flow of RV64GC code (RISC-V unprivileged architecture, 2.5 and 16); see
 * arch.h. */
#include "guest/regs.h"
#include "trace/plugin/arch.h"
#include "trace/plugin/link_flow.h"

#include <string.h>

#define T0    5
#define ECALL 0x00000073U
#define WFI   0x10500073U

/* The registers show whether it is a call or a return (2.5.1). */
static void by_registers(const struct us_link_insn *x, uint64_t end,
			 struct us_flow_insn *ret)
{
	bool call = x->kind == US_LINK_CALL || x->kind == US_LINK_CALL_INDIRECT;
	ret->alternate = call && x->reg2 == T0;
	if (call && x->reg2 != US_RISCV_RA && x->reg2 != T0)
		ret->flow = US_FLOW_JUMP;
	if (call && ret->has_target && ret->target == end) { /* reads its own pc */
		ret->flow = US_FLOW_ON;
		ret->has_target = false;
		ret->link = x->reg2 == US_RISCV_RA ? US_FLOW_LINK_SET
						   : US_FLOW_LINK_KEPT;
	}
	if (x->kind == US_LINK_JUMP_INDIRECT && x->reg == T0) {
		ret->flow = US_FLOW_RETURN;
		ret->alternate = true;
	}
}

void us_riscv_flow(const uint8_t *code, size_t n, uint64_t pc, struct us_flow_insn *ret)
{
	struct us_link_insn x;
	uint32_t insn = 0;
	*ret = (struct us_flow_insn){ .flow = US_FLOW_ON };
	if (!us_link_riscv.decode(code, n, &x) || x.len != n)
		return;
	us_link_flow_of(&us_link_riscv, &x, pc, ret);
	by_registers(&x, pc + n, ret);
	memcpy(&insn, code, n);
	if (insn == ECALL)
		ret->flow = US_FLOW_TRAP;
	ret->halts = insn == WFI;
}

/* auipc and jalr together name a target that is far away. */
void us_riscv_far_flow(const uint8_t before[static 4], const uint8_t *code, size_t n,
		       uint64_t pc, struct us_flow_insn *ret)
{
	uint32_t auipc, jalr = 0;
	memcpy(&auipc, before, sizeof(auipc));
	memcpy(&jalr, code, n < sizeof(jalr) ? n : sizeof(jalr));
	if ((ret->flow != US_FLOW_CALL && ret->flow != US_FLOW_JUMP) ||
	    ret->has_target || n != 4 || (auipc & 0x7f) != 0x17 ||
	    (auipc >> 7 & 31) != (jalr >> 15 & 31))
		return;
	ret->has_target = true;
	ret->target = pc - 4 + (uint64_t)(int64_t)(int32_t)(auipc & 0xfffff000) +
		      (uint64_t)(int64_t)((int32_t)jalr >> 20);
}

bool us_riscv_may_jump_to(const uint8_t *code, size_t n, uint64_t pc, uint64_t to)
{
	const struct us_plugin_arch *a = us_plugin_arch_find("riscv64");
	for (size_t i = 0; i + 2 <= n; i += 2) {
		size_t len = (code[i] & 3) == 3 ? 4 : 2;
		if (i + len <= n && us_plugin_jumps_to(a, code + i, len, pc + i, to))
			return true;
	}
	return false;
}

/* Privileged architecture, 4.1.11: satp's page number; without translation there is
 * only one address space.  QEMU's "priv" is 0 in user mode, and has the virtualization
 * mode above it. */
uint64_t us_riscv_program_root(uint64_t satp, uint64_t priv)
{
	return priv & 3 ? 0 : (satp & 0x00000fffffffffff) << 12;
}

/* RISC-V privileged architecture, 3.1.7: the lowest bits are the mode; if that is 1, an
 * interrupt of cause n enters 4 * n bytes after the base. */
bool us_riscv_is_vector(uint64_t tvec, uint64_t pc)
{
	uint64_t base = tvec & ~3ULL, far = (tvec & 3) == 1 ? 4 * 64 : 4;
	return base && pc >= base && pc - base < far && (pc - base) % 4 == 0;
}

static uint64_t extend(uint32_t v, unsigned bits)
{
	return (uint64_t)((int64_t)((uint64_t)v << (64 - bits)) >> (64 - bits));
}

/* addi, and c.addi, of the register to itself (unprivileged architecture, 2.4.1 and
 * 16.5): what is added.  False: it is another instruction. */
static bool adds(const struct us_arch_address *a, uint32_t insn, size_t n,
		 uint64_t *ret)
{
	if (n == 4 && (insn & 0x707f) == 0x13 && (insn >> 7 & 31) == a->reg &&
	    (insn >> 15 & 31) == a->reg) {
		*ret = extend(insn >> 20, 12);
		return true;
	}
	if (n == 2 && (insn & 0xe003) == 1 && (insn >> 7 & 31) == a->reg) {
		*ret = extend((insn >> 7 & 0x20) | (insn >> 2 & 0x1f), 6);
		return true;
	}
	return false;
}

/* Perhaps: true if any field that may name the changed register names it. */
static bool may_change(const struct us_arch_address *a, uint32_t insn, size_t n)
{
	return (insn >> 7 & 31) == a->reg ||
	       (n == 2 &&
		(8 + (insn >> 7 & 7) == a->reg || 8 + (insn >> 2 & 7) == a->reg));
}

/* auipc or lui, then addi: "la"; then "csrw stvec", or mtvec (privileged architecture,
 * 2.2 and 3.1.7). */
bool us_riscv_sets_vector(struct us_arch_address *a, const uint8_t *code, size_t n,
			  uint64_t pc, uint64_t *ret)
{
	uint32_t insn = 0;
	uint64_t more;
	memcpy(&insn, code, n < sizeof(insn) ? n : sizeof(insn));
	uint32_t opcode = insn & 0x7f, csr = insn >> 20;
	if (n == 4 && (opcode == 0x17 || opcode == 0x37)) {
		a->known = true;
		a->reg = insn >> 7 & 31;
		a->value = extend(insn & 0xfffff000, 32) + (opcode == 0x17 ? pc : 0);
	} else if (a->known && adds(a, insn, n, &more)) {
		a->value += more;
	} else if (a->known && n == 4 && opcode == 0x73 && (insn >> 12 & 7) == 1 &&
		   (csr == 0x105 || csr == 0x305) && (insn >> 15 & 31) == a->reg) {
		*ret = a->value & ~3ULL;
		return true;
	} else if (may_change(a, insn, n)) {
		a->known = false;
	}
	return false;
}
