/* SPDX-License-Identifier: GPL-2.0-or-later */
/* aarch64.c: the flow of A64 code (Arm ARM, C4 and C6); see arch.h. */
#include "guest/regs.h"
#include "trace/plugin/arch.h"
#include "trace/plugin/link_flow.h"

#include <string.h>

static bool is_trap(uint32_t insn) /* svc, hvc, smc */
{
	return (insn & 0xffe0001c) == 0xd4000000 && insn & 3;
}

static bool halts(uint32_t insn) /* wfi, wfit */
{
	return insn == 0xd503207f || (insn & 0xffffffe0) == 0xd5031020;
}

static bool selects_stack(uint32_t insn) /* msr spsel */
{
	return (insn & 0xfffff0ff) == 0xd50040bf || (insn & 0xffffffe0) == 0xd5184200;
}

/* pacia, autia, xpaci and similar: the address stays the same, with or without a
 * signature. */
static bool signs(uint32_t insn)
{
	return (insn & 0xffff0000) == 0xdac10000;
}

void us_aarch64_flow(const uint8_t *code, size_t n, uint64_t pc,
		     struct us_flow_insn *ret)
{
	struct us_link_insn x;
	uint32_t insn = 0;
	*ret = (struct us_flow_insn){ .flow = US_FLOW_ON };
	if (!us_link_aarch64.decode(code, n, &x))
		return;
	us_link_flow_of(&us_link_aarch64, &x, pc, ret);
	memcpy(&insn, code, sizeof(insn));
	if (is_trap(insn))
		ret->flow = US_FLOW_TRAP;
	ret->halts = halts(insn);
	ret->loads_stack |= selects_stack(insn);
	if (signs(insn))
		ret->link = US_FLOW_LINK_KEPT;
	/* ret with another register is a return, too, and so is a jump with the link
	 * register. */
	if (x.kind == US_LINK_RET && x.reg != US_AARCH64_LR)
		ret->link = US_FLOW_LINK_SET;
	if (x.kind == US_LINK_JUMP_INDIRECT && x.reg == US_AARCH64_LR)
		ret->flow = US_FLOW_RETURN;
}

/* Arm ARM D19.2: TTBR0_EL1.BADDR, below the identifier; D1.4: PSTATE's mode. */
uint64_t us_aarch64_program_root(uint64_t ttbr0, uint64_t cpsr)
{
	return cpsr & 0xf ? 0 : ttbr0 & 0x0000fffffffffffe;
}

/* Arm ARM, D1.3.1: 16 entries of 0x80 bytes. */
bool us_aarch64_is_vector(uint64_t vbar, uint64_t pc)
{
	return vbar && pc >= vbar && pc - vbar < 0x800 && (pc - vbar) % 0x80 == 0;
}
