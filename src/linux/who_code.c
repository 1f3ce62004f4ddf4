/* SPDX-License-Identifier: GPL-2.0-or-later */
/* who_code.c: see who_code.h. */
#include "linux/who_code.h"

#include "unwind/link_insn.h"

#include <string.h>

#define MOST_CODE 256 /* instructions followed; the first 60 have what is wanted */

/* Arm ARM C5.2 and C6.2; the lowest five bits are the register.  A kernel that runs in
 * EL2 uses that level's own register (alternatives of get_this_cpu_offset). */
#define MRS_TPIDR_EL1 0xd538d080
#define MRS_TPIDR_EL2 0xd53cd040
#define MSR_TPIDR_EL1 0xd518d080
#define MSR_TPIDR_EL2 0xd51cd040
#define MSR_SP_EL0    0xd5184100
#define SYSTEM_MASK   0xffffffe0
#define LDR_SUM	      0xf8606800 /* ldr Xt, [Xn, Xm] */
#define LDR_ELEMENT   0xf8607800 /* ldr Xt, [Xn, Xm, lsl #3] */
#define LDR_MASK      0xffe0fc00
#define CALLER_SAVES  0x4007ffffU /* AAPCS64, 6.1.1: x0 to x18, and the link */

/* What a register holds. */
enum held {
	HELD_UNKNOWN,
	HELD_ADDRESS,
	HELD_OWN,     /* where this CPU's area is */
	HELD_OF_CPU,  /* what is at v in this CPU's area */
	HELD_ELEMENT, /* an element of the array at v */
};

struct follow {
	us_gva pc;
	struct {
		enum held is;
		uint64_t v;
	} reg[US_LINK_N_REG];
};

static void hold(struct follow *f, uint8_t reg, enum held is, uint64_t v)
{
	if (reg >= US_LINK_N_REG)
		return;
	f->reg[reg].is = is;
	f->reg[reg].v = v;
}

static void forget(struct follow *f, uint32_t regs)
{
	for (uint8_t k = 0; k < US_LINK_N_REG; k++)
		if (regs >> k & 1)
			f->reg[k].is = HELD_UNKNOWN;
}

/* Only a sum with an address is still known. */
static void hold_sum(struct follow *f, uint8_t reg, uint8_t base, uint64_t add)
{
	if (base >= US_LINK_N_REG)
		hold(f, reg, HELD_UNKNOWN, 0);
	else if (!add || f->reg[base].is == HELD_ADDRESS)
		hold(f, reg, f->reg[base].is, f->reg[base].v + add);
	else
		hold(f, reg, HELD_UNKNOWN, 0);
}

/* One of the two must be an address, the other where this CPU's area is. */
static void load_sum(struct follow *f, uint8_t to, uint8_t a, uint8_t b)
{
	if (f->reg[a].is == HELD_ADDRESS && f->reg[b].is == HELD_OWN)
		hold(f, to, HELD_OF_CPU, f->reg[a].v);
	else if (f->reg[a].is == HELD_OWN && f->reg[b].is == HELD_ADDRESS)
		hold(f, to, HELD_OF_CPU, f->reg[b].v);
	else
		hold(f, to, HELD_UNKNOWN, 0);
}

/* Handle what the unwinder has no use for.  false: it is none of that. */
static bool follow_special(struct follow *f, uint32_t word)
{
	uint8_t to = word & 31, base = word >> 5 & 31, index = word >> 16 & 31;
	if ((word & SYSTEM_MASK) == MRS_TPIDR_EL1 ||
	    (word & SYSTEM_MASK) == MRS_TPIDR_EL2)
		hold(f, to, HELD_OWN, 0);
	else if ((word & LDR_MASK) == LDR_SUM)
		load_sum(f, to, base, index);
	else if ((word & LDR_MASK) == LDR_ELEMENT)
		hold(f, to,
		     f->reg[base].is == HELD_ADDRESS ? HELD_ELEMENT : HELD_UNKNOWN,
		     f->reg[base].v);
	else
		return false;
	return true;
}

static void follow_insn(struct follow *f, uint32_t word)
{
	struct us_link_insn i;
	if (follow_special(f, word) ||
	    !us_link_aarch64.decode((const uint8_t *)&word, sizeof(word), &i))
		return;
	us_link_insn_place(&i, f->pc);
	switch (i.kind) {
	case US_LINK_CONST:
		hold(f, i.reg, HELD_ADDRESS, (uint64_t)i.imm);
		break;
	case US_LINK_MOVE:
		hold_sum(f, i.reg, i.base, (uint64_t)i.imm);
		break;
	case US_LINK_STORE:
	case US_LINK_WRITE:
		break;
	case US_LINK_CALL:
	case US_LINK_CALL_INDIRECT:
		forget(f, CALLER_SAVES);
		break;
	case US_LINK_JUMP: /* what follows is reached from elsewhere */
	case US_LINK_JUMP_INDIRECT:
	case US_LINK_RET:
	case US_LINK_EXIT:
	case US_LINK_STOP:
		forget(f, UINT32_MAX);
		break;
	default:
		hold(f, i.reg, HELD_UNKNOWN, 0);
		if (i.kind == US_LINK_LOAD)
			hold(f, i.reg2, HELD_UNKNOWN, 0);
		break;
	}
	if (i.write)
		hold_sum(f, i.base, i.base, (uint64_t)(int64_t)i.write);
}

/* Does the instruction load a system register with what is wanted? */
static bool is_wanted(const struct follow *f, uint32_t word, enum held wanted)
{
	uint32_t system = word & SYSTEM_MASK;
	bool loads = wanted == HELD_OF_CPU
			     ? system == MSR_SP_EL0
			     : system == MSR_TPIDR_EL1 || system == MSR_TPIDR_EL2;
	return loads && f->reg[word & 31].is == wanted;
}

/* 0: not found, or it is outside the kernel. */
static us_gva find(const struct us_kallsyms *k, struct us_linux_image *i,
		   const char *function, enum held wanted)
{
	struct follow f = { .pc = us_kallsyms_address(k, function) };
	for (unsigned n = 0; f.pc && n < MOST_CODE; n++, f.pc += 4) {
		const uint8_t *code = us_linux_image_at(i, f.pc, 4);
		uint32_t word;
		if (!code)
			return 0;
		memcpy(&word, code, sizeof(word));
		if (is_wanted(&f, word, wanted)) {
			us_gva at = f.reg[word & 31].v;
			return at % 8 == 0 && at - i->start < i->size ? at : 0;
		}
		follow_insn(&f, word);
	}
	return 0;
}

bool us_linux_who_by_code(struct us_linux_who_layout *l, const struct us_kallsyms *k,
			  struct us_linux_image *i)
{
	/* First the names since 5.14, then those before. */
	static const char *const entries[] = { "el0t_64_sync", "el0_sync" };
	static const char *const starts[] = { "__secondary_switched",
					      "secondary_start_kernel" };
	us_gva current = 0, per_cpu = 0;
	if (l->arch != US_ARCH_AARCH64)
		return false;
	for (unsigned n = 0; !current && n < sizeof(entries) / sizeof(*entries); n++)
		current = find(k, i, entries[n], HELD_OF_CPU);
	for (unsigned n = 0; !per_cpu && n < sizeof(starts) / sizeof(*starts); n++)
		per_cpu = find(k, i, starts[n], HELD_ELEMENT);
	if (!current || !per_cpu)
		return false;
	l->current = current;
	l->per_cpu = per_cpu;
	return true;
}
