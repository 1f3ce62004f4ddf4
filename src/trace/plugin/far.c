/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * far.c: x86's far calls and returns, and jumps to what was popped; see block.h.
 *
 * A far call stores cs and then its return address, below; a far return loads the
 * address and then cs.  QEMU also reports what they access besides: the pointer,
 * descriptors.  In protected mode all of it comes from a function of QEMU's, as strays
 * do, so the instruction itself says which accesses are to come.
 */
#include "trace/plugin/block.h"

static void before_call(unsigned i, void *data)
{
	(void)data;
	us_plugin_vcpu(i)->far = 2;
}

static void before_return(unsigned i, void *data)
{
	(void)data;
	us_plugin_vcpu(i)->far = 1;
}

/* Is this the access that is waited for?  The last one counts. */
static bool is_last(struct us_plugin_vcpu *v)
{
	return v->far && !--v->far;
}

/* Version 1: the next access by a helper, behind the instruction. */
static void hear_other(struct us_plugin_vcpu *v)
{
	v->tracker.vcpu->stray++;
	if (us_plugin.api == 1)
		us_track_interrupted(&v->tracker);
}

static void on_call(unsigned i, qemu_plugin_meminfo_t info, uint64_t sp, void *data)
{
	const struct us_point *p = data;
	if (!qemu_plugin_mem_is_store(info))
		return;
	struct us_plugin_vcpu *v = us_plugin_begin(i);
	bool waits = v->far;
	if (is_last(v)) {
		us_plugin_access(v, info, sp);
		us_track_call(&v->tracker, &p->site, sp);
	} else if (!waits) {
		hear_other(v);
	}
	us_plugin_end(v);
}

/* What a far return or a pop loads, the last of it: tell the tracker. */
static void hear_load(unsigned i, qemu_plugin_meminfo_t info, uint64_t sp,
		      const struct us_point *p,
		      void (*tell)(struct us_tracker *, const struct us_track_site *,
				   uint64_t, unsigned))
{
	struct us_plugin_vcpu *v = us_plugin_begin(i);
	if (qemu_plugin_mem_is_store(info)) {
		hear_other(v);
	} else if (is_last(v)) {
		us_plugin_access(v, info, sp);
		tell(&v->tracker, &p->site, sp, 1U << qemu_plugin_mem_size_shift(info));
	}
	us_plugin_end(v);
}

static void on_return(unsigned i, qemu_plugin_meminfo_t info, uint64_t sp, void *data)
{
	hear_load(i, info, sp, data, us_track_far_return);
}

static void on_popped(unsigned i, qemu_plugin_meminfo_t info, uint64_t sp, void *data)
{
	hear_load(i, info, sp, data, us_track_pop_jump);
}

/* Nothing between the pop and the jump can fail, so both are heard of at once. */
bool us_pop_add_jump(const struct us_block *b)
{
	if (!b->pop || b->flow.jumps_by != b->popped)
		return false;
	struct us_point *p = us_block_point(b, 0);
	struct us_block at = *b;
	at.insn = b->pop;
	if (!p)
		return false;
	us_block_before(&at, before_return, p);
	us_block_at_access(&at, on_popped, p);
	return true;
}

void us_pop_note(struct us_block *b)
{
	if (b->flow.popped)
		b->pop = b->insn;
	else if (!b->flow.keeps)
		b->pop = NULL;
	b->popped = b->flow.popped ? b->flow.popped : b->popped;
}

void us_far_add_call(const struct us_block *b)
{
	struct us_point *p = us_block_point(b, 0);
	if (!p)
		return;
	us_block_before(b, before_call, p);
	us_block_at_access(b, on_call, p);
}

void us_far_add_return(const struct us_block *b)
{
	struct us_point *p = us_block_point(b, 0);
	if (!p)
		return;
	us_block_before(b, before_return, p);
	us_block_at_access(b, on_return, p);
}
