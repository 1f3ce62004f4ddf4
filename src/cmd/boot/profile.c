/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/boot/profile.c: see cmd/boot/profile.h. */
#include "cmd/boot/profile.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "cmd/boot/ways.h"
#include "cmd/trace/plugin_names.h"
#include "report/bars.h"
#include "vmm/cmdline.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <unistd.h>

#define FUNCTIONS 5 /* of each phase, in JSON */

/* ---- Phases ---- */

struct phase {
	size_t point; /* the point that begins it */
	uint64_t at_ns, clock_ns;
};

/* That the VMM made a vCPU does not change what the guest executes. */
static bool begins_phase(const struct us_boot_point *p)
{
	return p->kind != US_BOOT_LAUNCH && p->kind != US_BOOT_VM &&
	       p->kind != US_BOOT_VCPU && p->kind != US_BOOT_PORT &&
	       p->kind != US_BOOT_DEVICE;
}

/* The profile ends at the last point that the user asked for; without any it has all
 * points. */
static uint64_t last_ns(const struct us_boot_plan *plan, const struct us_boot_run *run)
{
	uint64_t last = 0;
	if (!plan->asked || !run->whole)
		return UINT64_MAX;
	for (size_t i = 0; i < plan->n; i++)
		if (plan->point[i].wanted && run->at[i].clock_ns > last)
			last = run->at[i].clock_ns;
	return last;
}

static bool is_told(const struct us_boot_plan *plan, const struct us_boot_run *run,
		    size_t point)
{
	return run->at[point].seen && run->at[point].clock_ns <= last_ns(plan, run);
}

static int by_time(const void *a, const void *b)
{
	const struct phase *x = a, *y = b;
	if (x->clock_ns != y->clock_ns)
		return x->clock_ns < y->clock_ns ? -1 : 1;
	return x->point < y->point ? -1 : x->point > y->point;
}

static size_t find_phases(const struct us_boot_plan *plan,
			  const struct us_boot_run *run,
			  struct phase ret[static US_BOOT_MAX_POINT])
{
	size_t n = 0;
	for (size_t i = 0; i < plan->n; i++)
		if (is_told(plan, run, i) && begins_phase(&plan->point[i]))
			ret[n++] = (struct phase){ i, run->at[i].wall_ns,
						   run->at[i].clock_ns };
	qsort(ret, n, sizeof(*ret), by_time);
	return n < US_COUNTS_MAX_PHASE ? n : US_COUNTS_MAX_PHASE;
}

static void name_phase(const struct us_boot_plan *plan, const struct us_boot_run *run,
		       size_t point, char *text, size_t size)
{
	size_t entry = us_boot_point_of(plan, US_BOOT_ENTRY);
	bool entered = entry != SIZE_MAX && run->at[entry].seen;
	switch (plan->point[point].kind) {
	case US_BOOT_START:
		snprintf(text, size, "%s",
			 entered ? "firmware" : "from the first instruction");
		break;
	case US_BOOT_SECTOR:
		snprintf(text, size, "loader");
		break;
	case US_BOOT_ENTRY:
		snprintf(text, size, "kernel");
		break;
	default:
		snprintf(text, size, "from %.60s", plan->point[point].name);
	}
}

/* "phase:2" = "31200000 93100000 firmware". */
static int write_fact(const struct us_boot_profile *p, struct us_writer *w,
		      unsigned number, size_t point, uint64_t from, uint64_t to,
		      struct us_err *e)
{
	char key[16], name[US_PROFILE_PHASE_NAME], value[160];
	name_phase(&p->variant->plan, &p->run, point, name, sizeof(name));
	snprintf(key, sizeof(key), "phase:%u", number);
	snprintf(value, sizeof(value), "%" PRIu64 " %" PRIu64 " %s", from,
		 to > from ? to : from, name);
	return us_writer_fact(w, key, value, e);
}

/* ---- Counted ---- */

/* The VMM's output arrives here; the plugin does not see it. */
static void passed(void *ctx, size_t point)
{
	struct us_boot_profile *p = ctx;
	const struct us_boot_point *x = &p->variant->plan.point[point];
	struct us_err why;
	if (x->kind != US_BOOT_SERIAL && x->kind != US_BOOT_TEXT)
		return;
	if (!p->c.map && us_counts_open(p->counts, &p->c, &why) < 0)
		return;
	if (p->marks < 0)
		p->marks = open(p->phases, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (p->marks >= 0)
		(void)!us_phases_mark(&p->c, p->marks, (uint32_t)point);
}

/* The boot is over at the last point that was passed.  Of a boot that did not get that
 * far, everything is of interest. */
static bool goes_to_end(const struct us_boot_run *run, size_t n)
{
	return !run->whole || n < 2;
}

static int write_phases(const struct us_boot_profile *p, const struct us_phases *ph,
			struct us_writer *w, struct us_err *e)
{
	bool to_end = goes_to_end(&p->run, ph->n);
	int r = 0;
	for (unsigned i = 0; r == 0 && i + !to_end < ph->n; i++) {
		const struct us_boot_moment *at = p->run.at;
		uint64_t to = i + 1 < ph->n ? at[ph->point[i + 1]].wall_ns
					    : p->run.end_ns;
		r = write_fact(p, w, i + 1, ph->point[i], at[ph->point[i]].wall_ns, to,
			       e);
	}
	return r;
}

/* Only points that this process has seen, too. */
static bool is_known(void *ctx, uint32_t point)
{
	const struct us_boot_profile *p = ctx;
	return point < p->variant->plan.n && is_told(&p->variant->plan, &p->run, point);
}

static int write_facts(const struct us_boot_profile *p, const struct us_counts *c,
		       const struct us_counts_sums *sums, struct us_writer *w,
		       struct us_err *e)
{
	char caution[US_PLUGIN_CAUTION] = "";
	us_plugin_caution_of_trees(caution, sums, false);
	if (sums->slide)
		us_plugin_caution_of_places(caution, sums);
	const struct us_plugin_facts f = {
		.backend = "count",
		.how = "QEMU's plugin, from the first instruction on: each call, each "
		       "instruction, by phase",
		.caution = caution,
		.n_vcpu = sums->n_vcpu,
		.arch = c->head.target,
		.match = us_counts_match(c),
	};
	return us_plugin_run_facts(&p->variant->run, &f, w, e);
}

static int write_counted(struct us_boot_profile *p, const struct us_counts *c,
			 struct us_phases *ph, struct us_err *e)
{
	struct us_writer *w = NULL;
	struct us_counts_sums sums;
	struct us_record_stats stats = { .elapsed_ns = p->run.end_ns };
	int r = us_writer_open(p->output.fd, &w, e);
	if (r == 0)
		r = us_phases_record(ph, c, goes_to_end(&p->run, ph->n),
				     p->variant->run.images.symbols, w, &sums, e);
	if (r == 0)
		r = write_phases(p, ph, w, e);
	if (r == 0)
		r = write_facts(p, c, &sums, w, e);
	if (r == 0)
		r = us_plugin_names_write(&p->variant->run, c, NULL, w, e);
	if (r == 0)
		r = us_writer_end(w, &stats, US_RECORD_DONE, "", e);
	us_writer_close(w);
	return r;
}

/* Fail now: the boot would run until the timeout and count nothing. */
static int check_mixed(void *ctx, struct us_err *e)
{
	const struct us_boot_profile *p = ctx;
	return us_plugin_run_check_mixed(&p->variant->run, "--profile", e);
}

static int run_counted(struct us_boot_profile *p, struct us_err *e)
{
	struct us_boot_variant *v = p->variant;
	struct us_counts c;
	struct us_phases ph = { 0 };
	const struct us_boot_recorded how = {
		.argv = p->with.argv, .passed = passed, .check = check_mixed, .ctx = p
	};
	us_plugin_run_path(&v->run, "counts", p->counts);
	us_plugin_run_path(&v->run, "phases", p->phases);
	int r = us_boot_variant_boot_recorded(v, &how, &p->run, e);
	if (r < 0)
		return r;
	struct us_err why;
	if (us_counts_open(p->counts, &c, &why) < 0) {
		/* A VMM that ended early reports its own error. */
		if (p->run.ended || !p->run.whole)
			return 0;
		*e = why;
		return why.code;
	}
	r = check_mixed(p, e);
	if (r == 0)
		r = us_phases_open(p->phases, is_known, p, &ph, e);
	if (r == 0)
		r = write_counted(p, &c, &ph, e);
	p->made = r == 0;
	us_phases_close(&ph);
	us_counts_close(&c);
	return r;
}

/* ---- Sampled ---- */

static void finish(void *ctx, uint64_t start_ns, struct us_writer *w)
{
	struct us_boot_profile *p = ctx;
	struct phase phase[US_BOOT_MAX_POINT];
	size_t n = find_phases(&p->variant->plan, &p->run, phase);
	bool to_end = goes_to_end(&p->run, n);
	for (size_t i = 0; i + !to_end < n; i++) {
		uint64_t from = phase[i].clock_ns, to = p->run.end_clock_ns;
		if (i + 1 < n)
			to = phase[i + 1].clock_ns;
		(void)!write_fact(p, w, (unsigned)i + 1, phase[i].point,
				  from > start_ns ? from - start_ns : 0,
				  to > start_ns ? to - start_ns : 0, NULL);
	}
}

static int copy_to_output(void *ctx, const char *path, struct us_err *e)
{
	struct us_boot_profile *p = ctx;
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : 1;
	while (n > 0)
		n = sendfile(p->output.fd, fd, NULL, 1 << 20);
	return n < 0 ? us_fail(e, -errno, "write %s: %s", p->output.path,
			       strerror(errno))
		     : 0;
}

static int run_sampled(struct us_boot_profile *p, struct us_err *e)
{
	const struct us_boot_recorded how = { .finish = finish,
					      .take = copy_to_output,
					      .ctx = p };
	int r = us_boot_variant_boot_recorded(p->variant, &how, &p->run, e);
	if (r < 0)
		return r;
	p->made = p->run.n_sample > 0;
	if (p->made || !p->run.whole)
		return 0;
	us_fail(e, -ENODATA,
		"--profile: no vCPU of %s under KVM was seen, so nothing was sampled",
		p->variant->vmm);
	us_hint(e, "a guest that boots in less than a few ms may end before uniscope "
		   "sees it");
	return -ENODATA;
}

/* ---- Its life ---- */

int us_boot_profile_open(struct us_boot_profile *p, const char *out, struct us_err *e)
{
	p->marks = -1;
	if (out && !strcmp(out, "-"))
		return us_fail(e, -EINVAL,
			       "-o -: the results of boot go to standard output; name "
			       "a file for the profile");
	if (out && us_bars_format_by_suffix(out) && !us_format_by_suffix(out)) {
		us_fail(e, -EINVAL, "-o %s: the suffix names no profile", out);
		us_hint(e, "-o FILE.html has the flame graph; without --profile it is "
			   "a picture of the times");
		return -EINVAL;
	}
	return us_output_open(&p->output, out, e);
}

/* With QEMU's TCG only the plugin will do.  Other guests are sampled. */
static int choose(struct us_boot_profile *p, struct us_err *e)
{
	struct us_boot_variant *v = p->variant;
	p->with = (struct us_plugin_command){ .verb = "--profile: count",
					      .dir = v->run.dir,
					      .boot = true,
					      .phases = true,
					      .functions = v->run.n_function > 0 };
	if (us_boot_ways_is_emulated(v))
		return us_plugin_command_make(&p->with,
					      v->traced ? v->traced : v->plain, e);
	int r = us_boot_ways_sample(v, e);
	if (r < 0)
		us_wrap(e, "--profile");
	return r;
}

static int read_profile(struct us_boot_profile *p, struct us_err *e)
{
	const struct us_profile_opts all = { .dirs = p->variant->asked.symbols->dirs };
	if (!p->made)
		return 0;
	if (lseek(p->output.fd, 0, SEEK_SET) < 0)
		return us_fail(e, -errno, "rewind %s: %s", p->output.path,
			       strerror(errno));
	return us_profile_read(p->output.fd, &all, &p->profile, e);
}

int us_boot_profile_run(struct us_boot_profile *p, struct us_boot_variant *v,
			struct us_err *e)
{
	p->variant = v;
	int r = choose(p, e);
	if (r == 0)
		r = p->with.argv ? run_counted(p, e) : run_sampled(p, e);
	if (r == 0)
		r = read_profile(p, e);
	if (r == 0 && p->with.argv && p->run.whole) {
		r = us_boot_devices_run(&p->devices, v, e);
		p->has_devices = r == 0;
	}
	return r;
}

/* The phases of the boot in which devices were watched. */
struct device_phases {
	struct us_boot_devices_phase v[US_BOOT_MAX_POINT];
	char name[US_BOOT_MAX_POINT][US_PROFILE_PHASE_NAME];
	size_t n;
};

static void find_device_phases(const struct us_boot_profile *p,
			       struct device_phases *ret)
{
	const struct us_boot_plan *plan = &p->variant->plan;
	const struct us_boot_run *run = &p->devices.run;
	struct phase phase[US_BOOT_MAX_POINT];
	size_t n = find_phases(plan, run, phase);
	ret->n = 0;
	for (size_t i = 0; i + !goes_to_end(run, n) < n; i++) {
		name_phase(plan, run, phase[i].point, ret->name[i],
			   sizeof(ret->name[i]));
		ret->v[ret->n++] = (struct us_boot_devices_phase){ ret->name[i],
								   phase[i].point };
	}
}

/* How many times as long it took to the last point asked for. */
static double slower(const struct us_boot_profile *p,
		     const struct us_boot_summary *timed, double *ret_timed)
{
	size_t goal = us_boot_goal(&p->variant->plan);
	*ret_timed = 0;
	for (size_t i = 0; timed && i < timed->n; i++)
		if (timed->row[i].point == goal)
			*ret_timed = timed->row[i].at.value;
	if (goal >= p->variant->plan.n || !p->run.at[goal].seen || *ret_timed <= 0)
		return 0;
	return (double)p->run.at[goal].wall_ns / *ret_timed;
}

int us_boot_profile_print(const struct us_boot_profile *p,
			  const struct us_boot_summary *timed, struct us_err *e)
{
	char file[US_STORE_MAX_PATH];
	us_shell_word(file, sizeof(file), p->output.path);
	const struct us_report_opts o = { .sort = US_SORT_SELF,
					  .colour = us_output_colour(stdout),
					  .width = us_output_columns(stdout),
					  .file = file };
	const struct us_boot_plan *plan = &p->variant->plan;
	size_t goal = us_boot_goal(plan);
	double ms, times = slower(p, timed, &ms);
	if (!p->profile)
		return 0;
	if (p->with.argv)
		puts("profile of one more boot, with each call and instruction "
		     "counted by QEMU's plugin");
	else
		printf("profile of one more boot, by %" PRIu64 " samples\n",
		       p->run.n_sample);
	if (times > 0) {
		char name[US_BOOT_NAME];
		us_printable(name, sizeof(name), plan->point[goal].name);
		printf("its cost: %s after %.1f ms, %.1f times as long as the %.1f ms "
		       "above\n",
		       name, (double)p->run.at[goal].wall_ns / 1e6, times, ms / 1e6);
	}
	puts("");
	int r = us_report(p->profile, us_format_by_name("phases"), &o, stdout, e);
	puts("");
	if (p->has_devices) {
		struct device_phases d;
		find_device_phases(p, &d);
		us_boot_devices_print(&p->devices, d.v, d.n);
	}
	return r;
}

static void json_phase(struct us_json *j, const struct us_profile *p,
		       const struct us_profile_phase *phase)
{
	struct us_profile_share row[FUNCTIONS];
	size_t n, n_node;
	const struct us_profile_node *node = us_profile_nodes(p, &n_node);
	us_json_object(j, NULL);
	us_json_str(j, "name", phase->name);
	us_json_u64(j, "ns", phase->to_ns - phase->from_ns);
	us_json_u64(j, us_profile_unit(p), phase->node ? node[phase->node].total : 0);
	us_json_array(j, "functions");
	if (us_profile_phase_functions(p, phase, FUNCTIONS, row, &n))
		n = 0;
	for (size_t i = 0; i < n; i++) {
		us_json_object(j, NULL);
		us_json_str(j, "name", row[i].func->name);
		us_json_u64(j, "self", row[i].self);
		us_json_end(j);
	}
	us_json_end(j);
	us_json_end(j);
}

void us_boot_profile_json(struct us_json *j, const struct us_boot_profile *p)
{
	size_t n = 0, goal = us_boot_goal(&p->variant->plan);
	const struct us_profile_phase *phase = NULL;
	if (p->profile)
		phase = us_profile_phases(p->profile, &n);
	us_json_object(j, "profile");
	us_json_str(j, "by", p->with.argv ? "plugin" : "samples");
	if (goal < p->variant->plan.n && p->run.at[goal].seen)
		us_json_u64(j, "goal_ns", p->run.at[goal].wall_ns);
	if (p->profile)
		us_json_u64(j, us_profile_unit(p->profile),
			    us_profile_summary(p->profile)->running);
	us_json_array(j, "phases");
	for (size_t i = 0; i < n; i++)
		json_phase(j, p->profile, &phase[i]);
	us_json_end(j);
	if (p->has_devices) {
		struct device_phases d;
		find_device_phases(p, &d);
		us_boot_devices_json(j, &p->devices, d.v, d.n);
	}
	us_json_end(j);
}

int us_boot_profile_save(struct us_boot_profile *p, bool quiet, struct us_err *e)
{
	static const struct us_debug_dirs none;
	p->output.dirs = p->variant ? &p->variant->asked.symbols->dirs : &none;
	return p->made ? us_output_convert(&p->output, quiet, e) : 0;
}

void us_boot_profile_close(struct us_boot_profile *p)
{
	us_profile_free(p->profile);
	us_counts_close(&p->c);
	if (p->output.open && p->marks >= 0)
		close(p->marks);
	us_output_close(&p->output);
	us_boot_devices_fini(&p->devices);
	free(p->with.argv);
}
