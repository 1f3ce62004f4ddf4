/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * speedscope.c: for www.speedscope.app, as its file-format-spec.ts has it: frames, and
 * a list of stacks with their weights for each vCPU, and first for all of them.
 *
 * Stacks are in no order of time: each stands once.
 */
#include "report/report.h"

#include "base/json.h"
#include "profile/stacks.h"

#include <errno.h>

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

static void write_profile(struct us_json *j, const struct us_profile *p,
			  const struct us_profile_stacks *all, uint16_t lane)
{
	char name[256] = "all vCPUs";
	uint64_t sum = 0;
	if (lane != US_STACK_NO_LANE)
		us_profile_lane_name(p, lane, name, sizeof(name));
	us_json_object(j, NULL);
	us_json_str(j, "type", "sampled");
	us_json_str(j, "name", name);
	us_json_str(j, "unit", "none");
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
	us_json_u64(j, "startValue", 0);
	us_json_u64(j, "endValue", sum);
	us_json_end(j);
}

/* One by one, if there are several. */
static void write_vcpus(struct us_json *j, const struct us_profile *p,
			const struct us_profile_stacks *all)
{
	bool seen[256] = { 0 };
	unsigned n = 0;
	for (size_t i = 0; i < all->n_stack; i++) {
		uint16_t lane = all->stack[i].lane;
		if (lane < 256 && !seen[lane]) {
			seen[lane] = true;
			n++;
		}
	}
	for (unsigned turn = 0; n > 1 && turn < 256; turn++) {
		size_t lane = us_profile_lane_at(p, turn);
		if (lane < 256 && seen[lane])
			write_profile(j, p, all, (uint16_t)lane);
	}
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
	write_profile(&j, p, &all, US_STACK_NO_LANE);
	write_vcpus(&j, p, &all);
	us_json_end(&j);
	us_json_end(&j);
	fputc('\n', out);
	us_profile_stacks_fini(&all);
	return 0;
}

const struct us_format us_format_speedscope = {
	.name = "speedscope",
	.suffix = ".speedscope.json",
	.summary = "for speedscope, by vCPU",
	.by_vcpu = true,
	.waits = true,
	.write = write_speedscope,
};
