/* SPDX-License-Identifier: GPL-2.0-or-later */
/* translate.h: where in a block of code, as QEMU translates it, the plugin wants to
 * hear of what is executed. */
#ifndef US_TRACE_TRANSLATE_H
#define US_TRACE_TRANSLATE_H

#include "trace/plugin/arch.h"
#include "trace/plugin/points.h"
#include "trace/plugin/qemu_api.h"
#include "trace/plugin/registers.h"
#include "trace/plugin/slide.h"

/* A vCPU, as the callbacks see it.  What each call needs comes first. */
struct us_plugin_vcpu {
	/* Loads and stores of a link register executed that were not heard of. */
	uint64_t armed;
	struct us_tracker tracker;
	struct us_events events; /* the tracker's, where it is traced */
	uint64_t step, back;	 /* calls.h */
	uint64_t halted_at;	 /* instructions, when it began to wait last */
	bool iret;		 /* its first load is yet to come */
	bool was_reset;		 /* with the machine; it is not told yet */
	uint64_t reset_at;	 /* if it has executed so much by then; or: */
#define US_RESET_ANYWAY UINT64_MAX
	bool started;
	struct us_registers space; /* space.h */
	/* The access that is told of now, where what follows from it is not simple. */
	struct {
		qemu_plugin_meminfo_t info;
		uint64_t gva;
	} access;
} __attribute__((__aligned__(64)));

struct us_plugin {
	const struct us_plugin_arch *arch;
	bool begun; /* reset_vector is known */
	uint64_t reset_vector;
	struct us_points points;
	struct us_slide slide;
	struct us_plugin_vcpu vcpu[US_COUNTS_MAX_VCPU];
	unsigned n_vcpu;
	unsigned api;
	/* How instructions are counted: one vCPU and version 1: by QEMU, into the file;
	 * version 2: by QEMU, here; else by a callback. */
	bool one_counter;
	struct qemu_plugin_scoreboard *score;
	struct us_track_stacks stacks;
	struct us_counts_head *counts;
	struct us_events_head *events; /* NULL: it is not traced */
	bool syscalls, syscalls_alone; /* are traced; and nothing else */
	bool boot; /* its points are noted, and the trees marked there */
};

extern struct us_plugin us_plugin;

/* Called by QEMU: a vCPU that has a thread of its own has nothing to do; has again. */
void us_on_idle(qemu_plugin_id_t id, unsigned i);
void us_on_resume(qemu_plugin_id_t id, unsigned i);
/* Before the first block; the rest of us_plugin is set. */
void us_translate_init(void);
/* Called by QEMU, with its own lock or several threads at once. */
void us_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb);

static inline struct us_plugin_vcpu *us_plugin_vcpu(unsigned i)
{
	return &us_plugin.vcpu[i % US_COUNTS_MAX_VCPU];
}

/* For who samples: the order of these and of what lies between them counts. */
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

/* What a vCPU does from here to the end is the plugin's, not the guest's. */
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
