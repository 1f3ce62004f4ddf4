/* SPDX-License-Identifier: GPL-2.0-or-later */
/* arch.c: see arch.h. */
#include "trace/plugin/arch.h"

#include <elf.h>
#include <string.h>

#define X86_RESET_VECTOR 0xfffffff0ULL

static const struct us_plugin_arch archs[] = {
	{ "x86_64", .flow = us_x86_flow, .reset_vector = X86_RESET_VECTOR,
	  .machine = EM_X86_64, .may_jump_to = us_x86_may_jump_to,
	  .find_stubs = us_x86_find_stubs, .root = "cr3", .mode = "cs",
	  .program_root = us_x86_program_root, .ports = true },
	{ "i386", .flow = us_x86_flow, .reset_vector = X86_RESET_VECTOR,
	  .machine = EM_386, .may_jump_to = us_x86_may_jump_to,
	  .find_stubs = us_x86_find_stubs, .root = "cr3", .mode = "cs",
	  .program_root = us_x86_program_root, .ports = true },
	{ "aarch64", .flow = us_aarch64_flow, .machine = EM_AARCH64, .link = true,
	  .vector_stride = 0x80, .vector_align = 0x800, .vector_min = 8,
	  .root = "TTBR0_EL1", .mode = "cpsr", .program_root = us_aarch64_program_root,
	  .vectors = { "VBAR", "VBAR_EL2" }, .is_vector = us_aarch64_is_vector },
	{ "riscv64", .flow = us_riscv_flow, .machine = EM_RISCV,
	  .may_jump_to = us_riscv_may_jump_to, .far_flow = us_riscv_far_flow,
	  .link = true, .halts_inside = true, .vector_stride = 4, .vector_align = 4,
	  .vector_min = 4, .root = "satp", .mode = "priv",
	  .program_root = us_riscv_program_root, .vectors = { "stvec", "mtvec" },
	  .is_vector = us_riscv_is_vector, .sets_vector = us_riscv_sets_vector },
};

const struct us_plugin_arch *us_plugin_arch_find(const char *target)
{
	for (size_t i = 0; i < sizeof(archs) / sizeof(archs[0]); i++)
		if (!strcmp(target, archs[i].target))
			return &archs[i];
	return NULL;
}

const struct us_plugin_arch *us_plugin_arch_of_machine(uint16_t machine)
{
	for (size_t i = 0; i < sizeof(archs) / sizeof(archs[0]); i++)
		if (machine == archs[i].machine)
			return &archs[i];
	return NULL;
}

bool us_plugin_jumps_to(const struct us_plugin_arch *a, const uint8_t *code, size_t n,
			uint64_t pc, uint64_t to)
{
	struct us_flow_insn f;
	a->flow(code, n, pc, &f);
	return (f.flow == US_FLOW_JUMP || f.flow == US_FLOW_BRANCH) && f.has_target &&
	       f.target == to;
}

bool us_plugin_may_jump_to(const struct us_plugin_arch *a, const uint8_t *code,
			   size_t n, uint64_t pc, uint64_t to)
{
	if (a->may_jump_to)
		return a->may_jump_to(code, n, pc, to);
	for (size_t i = 0; i + 4 <= n; i += 4)
		if (us_plugin_jumps_to(a, code + i, 4, pc + i, to))
			return true;
	return false;
}

/* The code after it is executed only after a jump there. */
static bool ends(const struct us_plugin_arch *a, const uint8_t *code, uint64_t pc)
{
	static const uint8_t padding[4], nop[] = { 0x1f, 0x20, 0x03, 0xd5 };
	struct us_flow_insn f;
	a->flow(code, 4, pc, &f);
	return f.flow == US_FLOW_JUMP || f.flow == US_FLOW_RETURN ||
	       f.flow == US_FLOW_LEAVE || !memcmp(code, padding, 4) ||
	       (a->vector_stride > 4 && !memcmp(code, nop, 4));
}

bool us_plugin_is_vectors(const struct us_plugin_arch *a, const uint8_t *code, size_t n,
			  uint64_t pc)
{
	size_t stride = a->vector_stride;
	if (!stride || pc % a->vector_align || n < (a->vector_min - 1) * stride + 4)
		return false;
	for (size_t at = stride; at <= (a->vector_min - 1) * stride; at += stride)
		if (!ends(a, code + at - 4, pc + at - 4))
			return false;
	return true;
}

bool us_plugin_begins(const struct us_plugin_arch *a, const struct us_function_range *r,
		      uint64_t pc)
{
	if (pc == r->entry || !(r->choice & US_FUNCTION_VECTORS))
		return pc == r->entry;
	return pc == r->start ||
	       (a->vector_stride && (pc - r->entry) % a->vector_stride == 0);
}
