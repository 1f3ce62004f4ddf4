/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/top/guest.c: see cmd/top/guest.h. */
#include "cmd/top/guest.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Wait this many times as long as a profile took before the next one; with many guests,
 * for each of them. */
#define PAUSE	   60
#define PAUSE_EACH 25

int us_top_guest_begin(struct us_top_guest *g, struct us_err *e)
{
	const struct us_recording *r = g->member->r;
	const struct us_live_opts o = {
		.dirs = r->set->symbols.dirs,
		.raw_names = r->set->raw_names,
	};
	if (g->live)
		return 0;
	us_printable(g->name, sizeof(g->name), g->member->text);
	snprintf(g->how, sizeof(g->how), "%s, %g Hz", g->member->backend.ops->name,
		 r->set->schedule.hz);
	g->begun_ns = us_now_ns();
	g->cpu = US_VMM_CPU_UNKNOWN;
	return us_live_open(r->output.fd, &o, &g->live, e);
}

void us_top_guest_end(struct us_top_guest *g)
{
	const struct us_member *m = g->member;
	g->over = true;
	if (m->code < 0) {
		/* The hint first: the reason seldom fits the line. */
		char text[sizeof(m->e.hint) + sizeof(m->e.msg) + 2];
		snprintf(text, sizeof(text), "%s%s%s", m->e.hint,
			 m->e.hint[0] ? ": " : "", m->e.msg);
		us_printable(g->words, sizeof(g->words), text);
	} else if (m->end_words[0])
		us_printable(g->words, sizeof(g->words), m->end_words);
	else
		snprintf(g->words, sizeof(g->words), "the recording has ended");
	g->due_ns = 0;
	if (!g->name[0])
		us_printable(g->name, sizeof(g->name), m->text);
	g->member = NULL; /* the fleet may forget it */
}

void us_top_guest_fini(struct us_top_guest *g)
{
	us_profile_free(g->profile);
	us_profile_free(g->waits);
	us_profile_free(g->stack);
	us_live_close(g->live);
	*g = (struct us_top_guest){ 0 };
}

const struct us_profile *us_top_guest_shown(const struct us_top_guest *g,
					    const struct us_top_state *state)
{
	return state->waits ? g->waits : g->profile;
}

static int renew_one(struct us_top_guest *g, const struct us_live_view *v,
		     struct us_profile **to, struct us_err *e)
{
	struct us_profile *p = NULL;
	int rc = us_live_profile(g->live, v, &p, e);
	if (rc)
		return rc;
	us_profile_free(*to);
	*to = p;
	return 0;
}

/* Renew the profile of the kind that v shows, or those of both kinds. */
static int renew_profile(struct us_top_guest *g, const struct us_live_view *v,
			 bool both, uint64_t pause, struct us_err *e)
{
	struct us_live_view waits = *v;
	uint64_t before = us_thread_cpu_ns();
	waits.waits = true;
	int rc = v->waits && !both ? 0 : renew_one(g, v, &g->profile, e);
	if (!rc && (v->waits || both))
		rc = renew_one(g, &waits, &g->waits, e);
	g->due_ns = us_now_ns() + pause * (us_thread_cpu_ns() - before);
	if (rc)
		return rc;
	g->glanced = v->no_intervals;
	g->grouped = v->by_vcpu;
	return 0;
}

/* Choose whose samples to show: the user's choice, and the row that was entered.  *only
 * and regex hold it. */
static void choose_owners(const struct us_top_state *state,
			  struct us_profile_opts *only, char *regex, size_t size,
			  struct us_live_view *v)
{
	if (state->only)
		*only = *state->only;
	if (state->of[0] && only->n_filter < US_PROFILE_MAX_FILTERS) {
		regex[0] = '^';
		us_regex_of(regex + 1, size - 2, state->of);
		us_append(regex, size, "$");
		only->filter[only->n_filter++] =
			(struct us_profile_filter){ state->of_by, regex };
	}
	v->only = only;
	v->by_vcpu = state->rows != US_BY_NONE;
	v->processes = v->by_vcpu || only->n_filter || only->n_pid;
}

static int renew_stack(struct us_top_guest *g, unsigned vcpu, struct us_err *e)
{
	us_profile_free(us_take(g->stack));
	int rc = us_live_stack(g->live, vcpu, &g->stack, e);
	return rc == -ENOENT ? 0 : rc;
}

/* Returns 0 also if there is nothing new. */
static int follow(struct us_top_guest *g, const struct us_live_view *v,
		  struct us_err *e)
{
	int rc = us_live_follow(g->live, e);
	unsigned n = us_live_n_vcpu(g->live);
	g->n_vcpu = n < US_MAX_VCPUS ? n : US_MAX_VCPUS;
	us_live_vcpus(g->live, v, g->vcpu, g->n_vcpu);
	if (g->member)
		us_vmm_cpu_renew(&g->cpu, g->member->pid, g->member->start_time);
	return rc;
}

void us_top_guest_renew(struct us_top_guest *g, struct us_top_state *state, bool now)
{
	struct us_live_view v = { .last_ns = state->window_ns, .waits = state->waits };
	struct us_profile_opts only = { 0 };
	char regex[2 * US_OWNER_NAME + 4];
	struct us_err e = { 0 };
	if (!g->live || (state->frozen && !now))
		return;
	int rc = follow(g, &v, &e);
	if (state->vcpu >= 0 && state->vcpu < 64)
		v.vcpu_mask = 1ULL << state->vcpu;
	choose_owners(state, &only, regex, sizeof(regex), &v);
	if (!rc && (now || g->glanced || us_now_ns() >= g->due_ns))
		rc = renew_profile(g, &v, state->both, PAUSE, &e);
	if (!rc && state->page == US_TOP_STACK)
		rc = renew_stack(g, state->stack_vcpu, &e);
	if (rc)
		us_top_say(state, true, "%s", e.msg);
}

void us_top_guest_glance(struct us_top_guest *g, uint64_t window_ns, size_t guests)
{
	const struct us_live_view v = { .last_ns = window_ns, .no_intervals = true };
	uint64_t pause = guests * PAUSE_EACH > PAUSE ? guests * PAUSE_EACH : PAUSE;
	struct us_err e = { 0 };
	if (!g->live || g->over)
		return;
	if (!follow(g, &v, &e) && us_now_ns() >= g->due_ns)
		(void)!renew_profile(g, &v, false, pause,
				     &e); /* the next time, perhaps */
}

struct us_top_guest_row us_top_guest_row(const struct us_top_guest *g)
{
	struct us_top_guest_row r = { .name = g->name,
				      .cpu = g->cpu.share,
				      .idle = -1 };
	uint64_t idle = 0, all = 0, best = 0;
	size_t n;
	if (g->over)
		r.words = g->words;
	else if (!g->live)
		r.words = "starting";
	for (unsigned i = 0; i < g->n_vcpu; i++) {
		const struct us_live_vcpu *v = &g->vcpu[i];
		idle += v->idle;
		all += v->guest + v->idle + v->ready + v->exit;
	}
	if (all)
		r.idle = (double)idle / (double)all;
	if (!g->profile)
		return r;
	const struct us_profile_func *f = us_profile_funcs(g->profile, &n);
	uint64_t running = us_profile_summary(g->profile)->running;
	for (size_t i = 0; i < n; i++) {
		bool is_state = !f[i].known && f[i].name[0] == '[';
		if (is_state || f[i].self <= best)
			continue;
		best = f[i].self;
		r.hottest = f[i].name;
		r.hottest_share = (double)best / (double)running;
	}
	return r;
}
