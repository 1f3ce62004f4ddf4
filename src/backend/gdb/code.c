/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gdb/code.c: see gdb/code.h. */
#include "backend/gdb/code.h"

#include "backend/qmp/reply.h"

#include <errno.h>
#include <stdlib.h>

#define VCPU_TEXT  8192 /* of `info registers`: 6.4 kB with AVX-512 */
#define OTHER_TEXT 1024

int us_gdb_codes_init(struct us_gdb_codes *c, unsigned n_vcpu, struct us_err *e)
{
	c->n_vcpu = n_vcpu;
	c->text_size = OTHER_TEXT + (size_t)n_vcpu * VCPU_TEXT;
	c->text = malloc(c->text_size);
	c->slot = calloc(n_vcpu, sizeof(*c->slot));
	return c->text && c->slot ? 0 : us_fail(e, -ENOMEM, "out of memory");
}

void us_gdb_codes_fini(struct us_gdb_codes *c)
{
	free(c->text);
	free(c->slot);
	*c = (struct us_gdb_codes){ 0 };
}

static struct us_gdb_code_slot *slot_of(struct us_gdb_codes *c, unsigned vcpu,
					const struct us_gdb_code *code)
{
	return &c->slot[vcpu][(code->selector >> 3) % US_GDB_CODE_SLOTS];
}

/* Correct the registers if the segment is known. */
static bool apply(struct us_gdb_code_slot *slot, const struct us_gdb_code *code,
		  struct us_regs *regs)
{
	if (!slot->known || slot->selector != code->selector ||
	    slot->mode != code->mode || slot->age >= US_GDB_CODE_TRUST)
		return false;
	slot->age++;
	regs->bits = slot->bits;
	regs->pc = slot->bits == 64 ? code->ip : (uint32_t)(slot->base + code->ip);
	return true;
}

static bool wants(uint64_t mask, unsigned vcpu, const struct us_gdb_code *code)
{
	return mask >> vcpu & 1 && code[vcpu].open;
}

/* What the monitor says about all vCPUs.  They are stopped, so it matches registers
 * read before. */
static void learn(struct us_gdb_codes *c, uint64_t mask, const struct us_gdb_code *code)
{
	const char *at = c->text;
	struct us_qmp_vcpu v;
	while (us_qmp_next_vcpu(&at, &v) == 1) {
		if (v.index >= c->n_vcpu || !wants(mask, v.index, code))
			continue;
		const struct us_gdb_code *of = &code[v.index];
		us_gva pc = v.code_base + of->ip;
		if (v.regs.pc != (v.regs.bits == 64 ? pc : (uint32_t)pc))
			continue; /* not the same vCPU */
		*slot_of(c, v.index, of) = (struct us_gdb_code_slot){
			.known = true,
			.mode = of->mode,
			.bits = v.regs.bits,
			.selector = of->selector,
			.base = v.code_base,
		};
	}
}

int us_gdb_codes_settle(struct us_gdb_codes *c, struct us_gdb *g, uint64_t mask,
			const struct us_gdb_code *code, struct us_regs *regs,
			uint64_t deadline_ns)
{
	bool missing = false;
	for (unsigned i = 0; i < c->n_vcpu; i++)
		missing |= wants(mask, i, code) &&
			   !apply(slot_of(c, i, &code[i]), &code[i], &regs[i]);
	if (!missing)
		return 0;
	int r = us_gdb_ask_monitor(g, "info registers -a", c->text, c->text_size,
				   deadline_ns);
	if (r == -ENOTSUP) {
		us_gdb_codes_fini(c);
		return 0;
	}
	if (r < 0)
		return r;
	learn(c, mask, code);
	for (unsigned i = 0; i < c->n_vcpu; i++)
		if (wants(mask, i, code))
			apply(slot_of(c, i, &code[i]), &code[i], &regs[i]);
	return 0;
}
