/* SPDX-License-Identifier: GPL-2.0-or-later */
/* link.c: calls and returns of architectures where a register has the return address;
 * see block.h. */
#include "trace/plugin/block.h"

/* ---- What QEMU calls when the guest executes an instruction ---- */

static void on_call(unsigned i, void *data)
{
	const struct us_point *p = data;
	struct us_plugin_vcpu *v = us_plugin_begin(i);
	us_track_link_call(&v->tracker, &p->site);
	us_plugin_end(v);
}

static void on_return(unsigned i, void *data)
{
	const struct us_point *p = data;
	struct us_plugin_vcpu *v = us_plugin_begin(i);
	us_track_link_return(&v->tracker, &p->site);
	us_plugin_end(v);
}

static void on_set(unsigned i, void *data)
{
	const struct us_point *p = data;
	us_track_link_set(&us_plugin_vcpu(i)->tracker, &p->site);
}

static void before_access(unsigned i, void *data)
{
	(void)data;
	us_plugin_vcpu(i)->armed++;
}

/*
 * Version 1: when two registers are stored or loaded at once, QEMU reports each access,
 * and also what a helper accesses later.  Only the first access counts.
 */
static bool is_first(struct us_plugin_vcpu *v)
{
	if (us_plugin.api > 1)
		return true;
	bool first = v->armed;
	v->armed = 0;
	v->tracker.vcpu->stray += !first;
	return first;
}

static void on_stored(unsigned i, qemu_plugin_meminfo_t info, uint64_t gva, void *data)
{
	const struct us_point *p = data;
	struct us_plugin_vcpu *v = us_plugin_begin(i);
	us_plugin_access(v, info, gva);
	if (qemu_plugin_mem_is_store(info) && is_first(v))
		us_track_link_saved(&v->tracker, &p->site, gva + p->bytes);
	us_plugin_end(v);
}

static void on_loaded(unsigned i, qemu_plugin_meminfo_t info, uint64_t gva, void *data)
{
	const struct us_point *p = data;
	struct us_plugin_vcpu *v = us_plugin_begin(i);
	us_plugin_access(v, info, gva);
	if (!qemu_plugin_mem_is_store(info) && is_first(v))
		us_track_link_loaded(&v->tracker, &p->site, gva + p->bytes);
	us_plugin_end(v);
}

static void on_loaded_to_return(unsigned i, qemu_plugin_meminfo_t info, uint64_t gva,
				void *data)
{
	const struct us_point *p = data;
	struct us_plugin_vcpu *v = us_plugin_begin(i);
	us_plugin_access(v, info, gva);
	if (!qemu_plugin_mem_is_store(info) && is_first(v)) {
		us_track_link_loaded(&v->tracker, &p->site, gva + p->bytes);
		us_track_link_return(&v->tracker, &p->site);
	}
	us_plugin_end(v);
}

/* ---- Where QEMU should call us ---- */

/* Count the instruction when it is executed: is_first(). */
static void arm(struct qemu_plugin_insn *insn)
{
	if (us_plugin.one_counter)
		qemu_plugin_register_vcpu_insn_exec_inline(
			insn, QEMU_PLUGIN_INLINE_ADD_U64, &us_plugin.vcpu[0].armed, 1);
	else if (us_plugin.api == 1)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, before_access,
						       QEMU_PLUGIN_CB_NO_REGS, NULL);
}

static void on_memory(struct qemu_plugin_insn *insn, us_vcpu_mem *cb,
		      struct us_point *p)
{
	arm(insn);
	qemu_plugin_register_vcpu_mem_cb(insn, cb, us_plugin_reads(),
					 QEMU_PLUGIN_MEM_RW, p);
}

void us_link_flush(struct us_block *b)
{
	if (b->load)
		on_memory(b->load, on_loaded, b->load_point);
	b->load = NULL;
}

void us_link_add_call(const struct us_block *b)
{
	const struct us_flow_insn *f = &b->flow;
	if (f->has_target && f->target == b->end) { /* reads its own pc */
		us_block_before_here(b, on_set);
		return;
	}
	bool local = f->has_target && us_is_no_call(b, f->target);
	struct us_point *p = us_block_point(b, f->has_target && !local ? f->target : 0);
	if (!p)
		return;
	p->site.local = local;
	us_block_before(b, on_call, p);
}

void us_link_add_return(struct us_block *b)
{
	bool plain = !b->flow.alternate && b->flow.link == US_FLOW_LINK_KEPT;
	if (b->load && plain) {
		on_memory(b->load, on_loaded_to_return, b->load_point);
		b->load = NULL;
		return;
	}
	us_link_flush(b);
	us_block_before_here(b, on_return);
}

void us_link_add(struct us_block *b)
{
	struct us_point *p = NULL;
	switch (b->flow.link) {
	case US_FLOW_LINK_STORED:
		if (b->flow.by_stack)
			p = us_block_point(b, 0);
		if (p)
			on_memory(b->insn, on_stored, p);
		break;
	case US_FLOW_LINK_LOADED:
		b->load_point = us_block_point(b, 0);
		b->load = b->load_point ? b->insn : NULL;
		break;
	case US_FLOW_LINK_SET:
		us_block_before_here(b, on_set);
		break;
	default:
		break;
	}
}
