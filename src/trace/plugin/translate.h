/* SPDX-License-Identifier: GPL-2.0-or-later */
/* translate.h: at which instructions of a block, while QEMU translates it, the plugin
 * requests callbacks. */
#ifndef US_TRACE_TRANSLATE_H
#define US_TRACE_TRANSLATE_H

#include "trace/plugin/arch.h"
#include "trace/plugin/points.h"
#include "trace/plugin/qemu_api.h"
#include "trace/plugin/registers.h"
#include "trace/plugin/slide.h"

/* A vCPU, as the callbacks see it.  What each call needs comes first. */
struct us_plugin_vcpu {
	/* Executed loads and stores of a link register that were not reported yet. */
	uint64_t armed;
	struct us_tracker tracker;
	struct us_events events; /* the tracker's, if tracing */
	uint64_t step, back;	 /* calls.h */
	uint64_t halted_at;	 /* instructions executed when it last halted */
	bool iret;		 /* the first load of an iret is still to come */
	uint8_t far;		 /* accesses of a far call or return still to come */
	bool was_reset;	   /* reset with the machine; its thread does not know yet */
	uint64_t reset_at; /* valid if it has executed this many instructions, or: */
#define US_RESET_ANYWAY UINT64_MAX
	bool started;
	struct us_registers space; /* space.h */
	/* The access of the current callback, for cases that are not simple. */
	struct {
		qemu_plugin_meminfo_t info;
		uint64_t gva;
	} access;
} __attribute__((__aligned__(64)));

struct us_plugin {
	const struct us_plugin_arch *arch;
	bool begun;		/* reset_vector is known */
	bool has_vectors;	/* a function with a name is where interrupts enter */
	uint64_t reset_vector;	/* gva */
	const void *reset_code; /* there, in QEMU's memory; NULL: not known */
	struct us_points points;
	struct us_slide slide;
	struct us_plugin_vcpu vcpu[US_COUNTS_MAX_VCPU];
	unsigned n_vcpu;
	unsigned api;
	/* How instructions are counted.  One vCPU and version 1: by QEMU, into the
	 * file; version 2: by QEMU, in `score`; else by a callback. */
	bool one_counter;
	struct qemu_plugin_scoreboard *score;
	struct us_track_stacks stacks;
	struct us_counts_head *counts;
	struct us_events_head *events; /* NULL: no tracing */
	bool syscalls, syscalls_alone; /* trace system calls; trace nothing else */
	bool boot; /* note the boot's points, and mark the trees there */
};

extern struct us_plugin us_plugin;

/* Called by QEMU: a vCPU with a thread of its own has nothing to do; has work again. */
void us_on_idle(qemu_plugin_id_t id, unsigned i);
void us_on_resume(qemu_plugin_id_t id, unsigned i);
/* Call it before the first block, when the rest of us_plugin is set. */
void us_translate_init(void);
/* Called by QEMU, with its own lock or in several threads at once. */
void us_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb);

/* For callbacks that read registers which QEMU always keeps in memory.  Since version 5
 * they have to be registered for reading; before that this is not checked, and costs
 * time. */
static inline enum qemu_plugin_cb_flags us_plugin_reads(void)
{
	return us_plugin.api >= 5 ? QEMU_PLUGIN_CB_R_REGS : QEMU_PLUGIN_CB_NO_REGS;
}

static inline struct us_plugin_vcpu *us_plugin_vcpu(unsigned i)
{
	return &us_plugin.vcpu[i % US_COUNTS_MAX_VCPU];
}

/* For samplers: the order of these stores relative to what is between them matters. */
static inline void us_plugin_say_there(struct us_counts_vcpu *v,
				       enum us_counts_doing doing)
{
	__atomic_store_n(&v->doing, doing, __ATOMIC_RELEASE);
}

static inline void us_plugin_say(struct us_plugin_vcpu *v, enum us_counts_doing doing)
{
	us_plugin_say_there(v->tracker.vcpu, doing);
}

static inline void us_plugin_take_turn(unsigned i)
{
	if (us_plugin.counts->in_turns)
		us_plugin.counts->turn = (uint16_t)i;
}

/* From here to us_plugin_end(), the vCPU's time is the plugin's, not the guest's. */
static inline struct us_plugin_vcpu *us_plugin_begin(unsigned i)
{
	struct us_plugin_vcpu *v = us_plugin_vcpu(i);
	us_plugin_say(v, US_COUNTS_PLUGIN);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	us_plugin_take_turn(i);
	return v;
}

static inline void us_plugin_access(struct us_plugin_vcpu *v,
				    qemu_plugin_meminfo_t info, uint64_t gva)
{
	v->access.info = info;
	v->access.gva = gva;
}

static inline void us_plugin_end(struct us_plugin_vcpu *v)
{
	us_plugin_say(v, US_COUNTS_RUNS);
}

#endif
