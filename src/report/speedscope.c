/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * speedscope.c: for www.speedscope.app, in the format of its file-format-spec.ts:
 * frames, and lists of stacks with weights, first for all vCPUs, then for each.
 *
 * The stacks of a vCPU are in the order of time, for the view "Time Order"; equal ones
 * in succession are joined.  With more than TIMES_MOST samples, and for all vCPUs
 * together, each distinct stack appears once.
 */
#include "report/report.h"

#include "base/json.h"
#include "profile/stacks.h"
#include "profile/timeline.h"

#include <errno.h>
#include <stdlib.h>

#define TIMES_MOST 100000 /* samples: each may be a whole stack of text */

static void write_frames(struct us_json *j, const struct us_profile *p)
{
	size_t n;
	const struct us_profile_func *f = us_profile_funcs(p, &n);
	us_json_object(j, "shared");
	us_json_array(j, "frames");
	for (size_t i = 0; i < n; i++) {
		us_json_object(j, NULL);
		us_json_str(j, "name", f[i].name);
		if (f[i].file || f[i].module)
			us_json_str(j, "file", f[i].file ? f[i].path : f[i].module);
		if (f[i].file && f[i].line)
			us_json_u64(j, "line", f[i].line);
		us_json_end(j);
	}
	us_json_end(j);
	us_json_end(j);
}

static bool is_of(const struct us_profile_stack *s, uint16_t lane)
{
	return s->weight && (lane == US_STACK_NO_LANE || s->lane == lane);
}

/* Outermost first. */
static void write_stack(struct us_json *j, const struct us_profile_stacks *all,
			const struct us_profile_stack *s)
{
	us_json_array(j, NULL);
	for (uint32_t i = s->n; i-- > 0;) {
		const struct us_profile_place *x = &all->place[all->path[s->first + i]];
		for (uint32_t k = x->n; k-- > 0;)
			us_json_u64(j, NULL, all->frame[x->first + k].func);
	}
	us_json_end(j);
}

/* Runs of a vCPU's successive samples with the same stack. */
struct runs {
	struct run {
		uint32_t stack;
		uint64_t weight;
	} * v;
	size_t n;
};

/* By key: index of its stack + 1; 0: none.  NULL: out of memory. */
static uint32_t *stacks_by_key(const struct us_profile_stacks *all, size_t *ret_n)
{
	size_t n = 0;
	for (size_t i = 0; i < all->n_stack; i++)
		n = all->stack[i].key >= n ? all->stack[i].key + (size_t)1 : n;
	uint32_t *of = calloc(n + 1, sizeof(*of));
	for (size_t i = 0; of && i < all->n_stack; i++)
		of[all->stack[i].key] = (uint32_t)i + 1;
	*ret_n = n;
	return of;
}

/* 0 or -ENOMEM; no runs if the profile has no times. */
static int runs_of(const struct us_profile *p, const struct us_profile_stacks *all,
		   size_t lane, struct runs *ret)
{
	struct us_timeline_cursor c = us_timeline_of(p, lane);
	struct us_timeline_sample m;
	uint64_t most = us_timeline_count(p, lane);
	size_t n_of;
	*ret = (struct runs){ 0 };
	if (!most)
		return 0;
	uint32_t *of = stacks_by_key(all, &n_of);
	ret->v = of ? malloc(most * sizeof(*ret->v)) : NULL;
	while (ret->v && us_timeline_next(&c, &m)) {
		if (!m.node || m.key >= n_of || !of[m.key])
			continue;
		uint32_t stack = of[m.key] - 1;
		if (!ret->n || ret->v[ret->n - 1].stack != stack)
			ret->v[ret->n++] = (struct run){ stack, 0 };
		ret->v[ret->n - 1].weight += m.weight;
	}
	free(of);
	return ret->v ? 0 : -ENOMEM;
}

static void begin_profile(struct us_json *j, const char *name)
{
	us_json_object(j, NULL);
	us_json_str(j, "type", "sampled");
	us_json_str(j, "name", name);
	us_json_str(j, "unit", "none");
}

static void end_profile(struct us_json *j, uint64_t sum)
{
	us_json_u64(j, "startValue", 0);
	us_json_u64(j, "endValue", sum);
	us_json_end(j);
}

static void write_runs(struct us_json *j, const struct us_profile_stacks *all,
		       const char *name, const struct runs *r)
{
	uint64_t sum = 0;
	begin_profile(j, name);
	us_json_array(j, "samples");
	for (size_t i = 0; i < r->n; i++)
		write_stack(j, all, &all->stack[r->v[i].stack]);
	us_json_end(j);
	us_json_array(j, "weights");
	for (size_t i = 0; i < r->n; i++) {
		us_json_u64(j, NULL, r->v[i].weight);
		sum += r->v[i].weight;
	}
	us_json_end(j);
	end_profile(j, sum);
}

static void write_profile(struct us_json *j, const struct us_profile_stacks *all,
			  const char *name, uint16_t lane)
{
	uint64_t sum = 0;
	begin_profile(j, name);
	us_json_array(j, "samples");
	for (size_t i = 0; i < all->n_stack; i++)
		if (is_of(&all->stack[i], lane))
			write_stack(j, all, &all->stack[i]);
	us_json_end(j);
	us_json_array(j, "weights");
	for (size_t i = 0; i < all->n_stack; i++) {
		if (!is_of(&all->stack[i], lane))
			continue;
		us_json_u64(j, NULL, all->stack[i].weight);
		sum += all->stack[i].weight;
	}
	us_json_end(j);
	end_profile(j, sum);
}

static int write_lane(struct us_json *j, const struct us_profile *p,
		      const struct us_profile_stacks *all, size_t lane)
{
	char name[256];
	struct runs r;
	int rc = runs_of(p, all, lane, &r);
	us_profile_lane_name(p, lane, name, sizeof(name));
	if (!rc && r.n)
		write_runs(j, all, name, &r);
	else if (!rc)
		write_profile(j, all, name, (uint16_t)lane);
	free(r.v);
	return rc;
}

/* Each vCPU, if there are several, or the times of the only one. */
static int write_vcpus(struct us_json *j, const struct us_profile *p,
		       const struct us_profile_stacks *all)
{
	bool seen[US_MAX_LANES] = { 0 };
	unsigned n = 0;
	for (size_t i = 0; i < all->n_stack; i++) {
		uint16_t lane = all->stack[i].lane;
		if (lane < US_MAX_LANES && !seen[lane]) {
			seen[lane] = true;
			n++;
		}
	}
	int rc = 0;
	for (unsigned turn = 0; !rc; turn++) {
		size_t lane = us_profile_lane_at(p, turn);
		if (lane == SIZE_MAX)
			break;
		if (seen[lane] && (n > 1 || us_timeline_count(p, lane)))
			rc = write_lane(j, p, all, lane);
	}
	return rc;
}

static int write_speedscope(const struct us_profile *p, const struct us_report_opts *o,
			    FILE *out, struct us_err *e)
{
	struct us_profile_stacks all;
	char title[256];
	(void)o;
	if (us_profile_stacks(p, &all))
		return us_fail(e, -ENOMEM, "report: out of memory for the stacks");
	us_report_header_line(p, 0, title, sizeof(title));
	struct us_json j = us_json_to(out);
	us_json_object(&j, NULL);
	us_json_str(&j, "$schema",
		    "https://www.speedscope.app/file-format-schema.json");
	us_json_str(&j, "name", title);
	us_json_str(&j, "exporter", "uniscope " US_VERSION);
	us_json_u64(&j, "activeProfileIndex", 0);
	write_frames(&j, p);
	us_json_array(&j, "profiles");
	write_profile(&j, &all, "all vCPUs", US_STACK_NO_LANE);
	int rc = write_vcpus(&j, p, &all);
	us_json_end(&j);
	us_json_end(&j);
	fputc('\n', out);
	us_profile_stacks_fini(&all);
	return rc ? us_fail(e, rc, "report: out of memory for the samples") : 0;
}

const struct us_format us_format_speedscope = {
	.name = "speedscope",
	.suffix = ".speedscope.json",
	.summary = "for speedscope, by vCPU",
	.by_vcpu = true,
	.timeline = true,
	.timeline_most = TIMES_MOST,
	.waits = true,
	.write = write_speedscope,
};
