/* SPDX-License-Identifier: GPL-2.0-or-later */
/* entered.c: see entered.h. */
#include "trace/plugin/entered.h"

#include "trace/plugin/program_regs.h"
#include "trace/plugin/translate.h"
#include "trace/plugin/x86_entered.h"
#include "trace/reserve.h"

#include <errno.h>

#define MAX_TRIES 10000 /* to find a vCPU's registers: each is a system call */

struct vcpu {
	struct us_program_regs regs; /* x86 */
	struct us_registers vectors; /* others */
	uint32_t tries;
};

static struct {
	struct vcpu *vcpu;
	unsigned n_vcpu, n_found;
} all;

int us_entered_init(unsigned n_vcpu)
{
	all.n_vcpu = n_vcpu;
	all.vcpu = us_reserve(n_vcpu * sizeof(*all.vcpu));
	return all.vcpu ? 0 : -ENOMEM;
}

bool us_entered_wants_env(void)
{
	return US_ENV_IN_REGISTER && us_plugin.api == 1 && !us_plugin.arch->link &&
	       __atomic_load_n(&all.n_found, __ATOMIC_RELAXED) < all.n_vcpu;
}

void us_entered_learn(unsigned vcpu, const uint64_t *env, uint64_t pc)
{
	struct vcpu *v = &all.vcpu[vcpu % all.n_vcpu];
	if (v->regs.env || v->tries == MAX_TRIES)
		return;
	v->tries++;
	if (us_program_regs_begin(&v->regs, env, pc) || v->tries == MAX_TRIES)
		__atomic_fetch_add(&all.n_found, 1, __ATOMIC_RELAXED);
}

static int find_gate(const struct us_program_regs *r, uint64_t pc)
{
	uint8_t table[US_MEMORY_MAX];
	uint64_t base;
	size_t n;
	if (!us_program_regs_gates(r, &base, &n) || !n)
		return -1;
	n = n < sizeof(table) ? n : sizeof(table);
	if (!us_program_memory_is_there(r) ||
	    !us_program_memory_read(r, base, table, n))
		return -1;
	return us_x86_has_gate(table, n, pc);
}

static enum us_track_how by_stack(const struct us_tracker *t,
				  const struct us_track_entering *e)
{
	struct us_program_regs *r = &all.vcpu[t->number].regs;
	uint64_t pc = us_layer_gva(e->function->address);
	struct us_x86_entered x = { .e = e };
	if (!us_program_regs_begin(r, r->env, pc) || !us_program_regs_sp(r, &x.sp))
		return US_HOW_UNKNOWN;
	x.has_words = us_program_memory_is_there(r) &&
		      us_program_memory_read(r, x.sp, x.word, sizeof(x.word));
	x.gate = find_gate(r, pc);
	return us_x86_entered(&x);
}

static enum us_track_how by_vectors(const struct us_tracker *t,
				    const struct us_track_entering *e)
{
	const struct us_registers *r = &all.vcpu[t->number].vectors;
	bool known = false;
	for (unsigned i = 0; i < US_ARCH_VECTORS; i++) {
		uint64_t base;
		if (!us_register_read(r, i, &base) || !base)
			continue;
		known = true;
		if (us_plugin.arch->is_vector(base, us_layer_gva(e->function->address)))
			return US_HOW_INTERRUPT;
	}
	return known ? US_HOW_SAID : US_HOW_UNKNOWN;
}

/* Without registers, but by where vectors can be, or if code was seen to set the
 * vector, and that has a name. */
static enum us_track_how by_code(const struct us_tracker *t,
				 const struct us_track_entering *e)
{
	(void)t;
	const size_t stride = us_plugin.arch->vector_stride;
	bool is_off = stride && us_layer_gva(e->function->address) % stride;
	if (!e->resumed)
		return US_HOW_UNKNOWN;
	if (e->function->by_interrupt)
		return US_HOW_INTERRUPT;
	return is_off || __atomic_load_n(&us_plugin.has_vectors, __ATOMIC_RELAXED)
		       ? US_HOW_SAID
		       : US_HOW_UNKNOWN;
}

void us_entered_start(unsigned vcpu)
{
	struct vcpu *v = &all.vcpu[vcpu];
	const struct us_plugin_arch *a = us_plugin.arch;
	if (!a->link) {
		us_program_regs_init(&v->regs, a->target, vcpu);
		us_plugin.vcpu[vcpu].tracker.how = by_stack;
	} else if (us_registers_find(&v->vectors, a->vectors, US_ARCH_VECTORS) == 0) {
		us_plugin.vcpu[vcpu].tracker.how = by_vectors;
	} else {
		us_plugin.vcpu[vcpu].tracker.how = by_code;
	}
}
