/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * chrome.c: the Trace Event Format (JSON), which ui.perfetto.dev, speedscope and others
 * open: a timeline of vCPUs.  A guest is a process, a vCPU a thread.  What the vCPU did
 * (guest code, an exit and its reason, idle, waiting) is a slice; in guest code, the
 * innermost function is a slice within it.  Each lasts to the next sample.
 *
 * For a Linux guest, a second track has the threads that the vCPU ran.
 *
 * With more than EVENTS_MOST samples, those of an interval become one slice, named
 * after the majority.  A profile without times is shown as its call tree, with one unit
 * of time for each sample.
 */
#include "report/report.h"

#include "base/json.h"
#include "base/text.h"
#include "report/away.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define EVENTS_MOST 400000

struct chrome {
	struct us_json j;
	const struct us_profile *p;
	const struct us_profile_func *func;
	const struct us_profile_node *node;
	size_t n_func, n_node;
	uint32_t *func_of; /* + 1, by node; 0: none */
	unsigned pid, tid; /* of the current track */
	uint64_t slot_ns;  /* of a slot: one slice; 0: a slice for each sample */
};

static void metadata(struct chrome *x, const char *what, const char *name)
{
	us_json_object(&x->j, NULL);
	us_json_str(&x->j, "ph", "M");
	us_json_str(&x->j, "name", what);
	us_json_u64(&x->j, "pid", x->pid);
	us_json_u64(&x->j, "tid", x->tid);
	us_json_object(&x->j, "args");
	us_json_str(&x->j, "name", name);
	us_json_end(&x->j);
	us_json_end(&x->j);
}

static void event(struct chrome *x, const char *phase, uint64_t at_ns)
{
	us_json_object(&x->j, NULL);
	us_json_str(&x->j, "ph", phase);
	us_json_u64(&x->j, "pid", x->pid);
	us_json_u64(&x->j, "tid", x->tid);
	us_json_fixed(&x->j, "ts", at_ns, 3);
}

static void begin(struct chrome *x, const char *name, const char *category,
		  uint64_t at_ns)
{
	event(x, "B", at_ns);
	us_json_str(&x->j, "name", name);
	us_json_str(&x->j, "cat", category);
	us_json_end(&x->j);
}

/* End the innermost slice.  No args: speedscope takes functions with different args for
 * different functions, so the number of samples is a member next to them. */
static void end(struct chrome *x, const char *name, uint64_t at_ns, uint64_t samples)
{
	event(x, "E", at_ns);
	us_json_str(&x->j, "name", name);
	us_json_u64(&x->j, "samples", samples);
	us_json_end(&x->j);
}

/* A run of samples with the same kind and function. */
struct run {
	struct us_away_kind kind;
	uint32_t func; /* function + 1, for GUEST; 0: none */
	uint64_t samples;
	bool open;
};

static const char *words(const struct chrome *x, const struct run *r, char *dst,
			 size_t size)
{
	return r->func ? x->func[r->func - 1].name : us_away_words(&r->kind, dst, size);
}

static void open_run(struct chrome *x, struct run *r, struct us_away_kind kind,
		     uint32_t func, uint64_t at_ns)
{
	char text[96];
	*r = (struct run){ kind, func, 0, true };
	begin(x, words(x, r, text, sizeof(text)), func ? "function" : "state", at_ns);
}

static void close_run(struct chrome *x, struct run *r, uint64_t at_ns)
{
	char text[96];
	if (r->open)
		end(x, words(x, r, text, sizeof(text)), at_ns, r->samples);
	r->open = false;
}

/* Boyer and Moore's majority vote over the samples of a slot. */
struct vote {
	struct us_timeline_sample m;
	uint64_t lead;
};

static bool alike(const struct chrome *x, const struct us_timeline_sample *a,
		  const struct us_timeline_sample *b)
{
	return a->state == b->state && a->exit == b->exit &&
	       x->func_of[a->node] == x->func_of[b->node];
}

static void cast(const struct chrome *x, struct vote *v,
		 const struct us_timeline_sample *m)
{
	if (!v->lead) {
		v->m = *m;
		v->lead = m->weight;
	} else if (alike(x, &v->m, m)) {
		v->lead += m->weight;
	} else if (v->lead >= m->weight) {
		v->lead -= m->weight;
	} else {
		v->lead = m->weight - v->lead;
		v->m = *m;
	}
}

/* The next slot's samples as one; without slots, the next sample. */
static bool next_slot(struct chrome *x, struct us_timeline_cursor *c,
		      struct us_timeline_sample *ahead, bool *have,
		      struct us_timeline_sample *ret)
{
	struct vote v = { 0 };
	uint64_t weight = 0, from = ahead->t_ns;
	if (!*have)
		return false;
	do {
		cast(x, &v, ahead);
		weight += ahead->weight;
		*have = us_timeline_next(c, ahead);
	} while (*have && x->slot_ns && ahead->t_ns - from < x->slot_ns);
	*ret = v.m;
	ret->t_ns = from;
	ret->weight = weight < UINT32_MAX ? (uint32_t)weight : UINT32_MAX;
	return true;
}

static void take(struct chrome *x, struct run *outer, struct run *inner,
		 const struct us_timeline_sample *m)
{
	struct us_away_kind kind = { m->state, m->exit };
	bool guest = m->state == US_VCPU_GUEST;
	uint32_t func = guest ? x->func_of[m->node] : 0;
	bool same = outer->open && us_away_same(&outer->kind, &kind);
	if (inner->open && (!same || inner->func != func))
		close_run(x, inner, m->t_ns);
	if (!same) {
		close_run(x, outer, m->t_ns);
		open_run(x, outer, kind, 0, m->t_ns);
	}
	if (func && !inner->open)
		open_run(x, inner, kind, func, m->t_ns);
	outer->samples += m->weight;
	if (func)
		inner->samples += m->weight;
}

static void write_lane(struct chrome *x, size_t lane)
{
	struct us_timeline_cursor c = us_timeline_of(x->p, lane);
	struct us_timeline_sample ahead, m;
	struct run outer = { 0 }, inner = { 0 };
	bool have = us_timeline_next(&c, &ahead);
	uint64_t last = 0;
	while (next_slot(x, &c, &ahead, &have, &m)) {
		last = m.t_ns;
		/* A sample that a filter excluded is a gap. */
		if (!m.node && m.state != US_VCPU_HALTED && m.state != US_VCPU_OFF) {
			close_run(x, &inner, m.t_ns);
			close_run(x, &outer, m.t_ns);
			continue;
		}
		take(x, &outer, &inner, &m);
	}
	last += us_profile_period_ns(x->p);
	close_run(x, &inner, last);
	close_run(x, &outer, last);
}

/* The threads of a Linux guest that the vCPU ran, one after the other. */
static void write_owners(struct chrome *x, size_t lane)
{
	struct us_timeline_cursor c = us_timeline_of(x->p, lane);
	struct us_timeline_sample ahead, m;
	char name[US_OWNER_NAME], last[US_OWNER_NAME] = "";
	bool have = us_timeline_next(&c, &ahead);
	uint64_t t_ns = 0, samples = 0;
	while (next_slot(x, &c, &ahead, &have, &m)) {
		t_ns = m.t_ns;
		name[0] = '\0';
		if (m.node)
			us_profile_owner_name(x->p, us_profile_stack_of(x->p, m.key),
					      US_BY_THREAD, name, sizeof(name));
		if (last[0] && strcmp(name, last) != 0)
			end(x, last, t_ns, samples);
		if (name[0] && strcmp(name, last) != 0) {
			begin(x, name, "thread", t_ns);
			samples = 0;
		}
		memcpy(last, name, sizeof(last));
		samples += m.weight;
	}
	if (last[0])
		end(x, last, t_ns + us_profile_period_ns(x->p), samples);
}

static void begin_lane(struct chrome *x, size_t lane, unsigned tid, const char *what)
{
	size_t n;
	char name[256];
	const struct us_profile_lane *l = &us_profile_lanes(x->p, &n)[lane];
	x->pid = l->recording + 1U + (l->others > 0);
	x->tid = tid;
	metadata(x, "process_name", us_profile_lane_guest(x->p, lane));
	us_profile_lane_name(x->p, lane, name, sizeof(name));
	us_append(name, sizeof(name), "%s", what);
	metadata(x, "thread_name", name);
}

/* The tree as if it had run once, from left to right: depth first, a node's own samples
 * after its children. */
static void write_tree(struct chrome *x)
{
	uint64_t at = 0;
	x->pid = x->tid = 1;
	metadata(x, "process_name", us_report_title(x->p));
	metadata(x, "thread_name", "all vCPUs");
	for (uint32_t i = 1; i < x->n_node; i++) {
		begin(x, x->func[x->node[i].func].name, "function", at * 1000);
		for (uint32_t up = i; up && (up != i || !x->node[i].child);
		     up = x->node[up].parent) {
			at += x->node[up].self;
			end(x, x->func[x->node[up].func].name, at * 1000,
			    x->node[up].self);
			if (x->node[up].next)
				break;
		}
	}
}

static void write_lanes(struct chrome *x)
{
	const struct us_profile_summary *s = us_profile_summary(x->p);
	uint64_t samples = 0, span = s->last_ns - s->first_ns;
	unsigned tid = 0;
	size_t n_lane;
	us_profile_lanes(x->p, &n_lane);
	for (size_t lane = 0; lane < n_lane; lane++)
		samples += us_timeline_count(x->p, lane);
	if (samples > EVENTS_MOST)
		x->slot_ns = span / (EVENTS_MOST / n_lane) + 1;
	for (size_t place = 0;; place++) {
		size_t lane = us_profile_lane_at(x->p, place);
		if (lane == SIZE_MAX)
			break;
		if (!us_timeline_count(x->p, lane))
			continue;
		begin_lane(x, lane, ++tid, "");
		write_lane(x, lane);
		if (!us_profile_owners_known(x->p))
			continue;
		begin_lane(x, lane, ++tid, ": threads");
		write_owners(x, lane);
	}
	if (!tid)
		write_tree(x);
}

static int write_chrome(const struct us_profile *p, const struct us_report_opts *o,
			FILE *out, struct us_err *e)
{
	struct chrome x = { .j = us_json_to(out), .p = p };
	(void)o;
	x.func = us_profile_funcs(p, &x.n_func);
	x.node = us_profile_nodes(p, &x.n_node);
	x.func_of = calloc(x.n_node + 1, sizeof(*x.func_of));
	if (!x.func_of)
		return us_fail(e, -ENOMEM, "report: out of memory");
	for (size_t i = 1; i < x.n_node; i++)
		x.func_of[i] = x.node[i].func + 1;
	us_json_object(&x.j, NULL);
	us_json_str(&x.j, "displayTimeUnit", "ms");
	us_json_array(&x.j, "traceEvents");
	write_lanes(&x);
	us_json_end(&x.j);
	us_json_end(&x.j);
	fputc('\n', out);
	free(x.func_of);
	return 0;
}

const struct us_format us_format_chrome = {
	.name = "chrome",
	.suffix = ".trace.json",
	.summary = "vCPUs over time, for ui.perfetto.dev and speedscope",
	.timeline = true,
	.owners = true,
	.write = write_chrome,
};
