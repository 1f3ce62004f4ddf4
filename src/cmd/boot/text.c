/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/boot/text.c: see cmd/boot/text.h. */
#include "cmd/boot/text.h"

#include "base/text.h"
#include "cmd/boot/exits.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MS	  1e6 /* ns */
#define TAIL	  6   /* last lines of its output to show */
#define PLURAL(n) (n), (n) == 1 ? "" : "s"

/* "61.2-62.0"; "": one run has no interval. */
static const char *range(const struct us_estimate *e, size_t n, char *text, size_t size)
{
	text[0] = '\0';
	if (n > 1)
		snprintf(text, size, "%.1f-%.1f", e->low / MS, e->high / MS);
	return text;
}

static const char *way_name(const struct us_boot_report *r, size_t point)
{
	enum us_boot_way way = US_BOOT_BY_OUTPUT;
	for (size_t i = 0; i < r->n; i++)
		if (r->run[i].at[point].seen)
			way = r->run[i].at[point].way;
	return point ? us_boot_way_name(way) : "";
}

/* How much earlier a point may have been passed, in ns: in any case, and if it was the
 * function's first call that was seen.  The maxima of all runs. */
static void errors_of(const struct us_boot_report *r, size_t point, uint64_t *ret,
		      uint64_t *ret_first)
{
	*ret = *ret_first = 0;
	for (size_t i = 0; i < r->n; i++) {
		const struct us_boot_moment *m = &r->run[i].at[point];
		if (m->seen && m->error_ns > *ret)
			*ret = m->error_ns;
		if (m->seen && m->first_error_ns > *ret_first)
			*ret_first = m->first_error_ns;
	}
}

static bool is_code(enum us_boot_kind kind)
{
	return kind == US_BOOT_SECTOR || kind == US_BOOT_ENTRY ||
	       kind == US_BOOT_SYMBOL;
}

/* How it was seen: "samples, up to 0.1 before", or "samples, up to 90.5 before; 0.1 if
 * that is the first call".  An emulated guest is slow on pages
 * with breakpoints: "breakpoint, at the latest". */
static const char *way_of(const struct us_boot_report *r, size_t point, char *text,
			  size_t size)
{
	uint64_t error, first;
	const char *name = way_name(r, point);
	errors_of(r, point, &error, &first);
	if (first && first < error && r->plan->point[point].kind == US_BOOT_SYMBOL)
		snprintf(text, size,
			 "%s, up to %.1f before; %.1f if that is the first call", name,
			 (double)error / MS, (double)first / MS);
	else if (error)
		snprintf(text, size, "%s, up to %.1f before", name, (double)error / MS);
	else if (r->emulated && r->way & US_BOOT_BY_BREAKPOINTS &&
		 is_code(r->plan->point[point].kind))
		snprintf(text, size, "%s, at the latest", name);
	else
		snprintf(text, size, "%s", name);
	return text;
}

static void print_row(const struct us_boot_report *r, size_t i)
{
	const struct us_boot_row *x = &r->summary.row[i];
	const struct us_boot_point *p = &r->plan->point[x->point];
	char name[US_BOOT_NAME], at[32], phase[32], seen[64] = "", cpu[16] = "";
	char insns[24] = "", step[16] = "", way[96];
	us_printable(name, sizeof(name), p->name);
	us_shorten_left(name, sizeof(name), 24);
	if (i)
		snprintf(step, sizeof(step), "%.1f", x->phase.value / MS);
	if (x->cpu.value > 0)
		snprintf(cpu, sizeof(cpu), "%.1f", x->cpu.value / MS);
	if (x->insns.value > 0)
		snprintf(insns, sizeof(insns), "%.0f", x->insns.value);
	if (x->n_seen < r->n)
		snprintf(seen, sizeof(seen), "  in %zu of %zu", x->n_seen, r->n);
	printf("%-24s %9.1f  %-15s %9s  %-15s %9s %13s  %s%s\n", name, x->at.value / MS,
	       range(&x->at, x->n_seen, at, sizeof(at)), step,
	       i ? range(&x->phase, x->n_seen, phase, sizeof(phase)) : "", cpu, insns,
	       way_of(r, x->point, way, sizeof(way)), seen);
}

void us_boot_tell(size_t i, size_t n, bool quiet)
{
	if (isatty(STDERR_FILENO) && !quiet)
		fprintf(stderr, "\rboot %zu of %zu%s", i + 1, n,
			i + 1 == n ? "\n" : "");
}

static bool was_seen(const struct us_boot_report *r, size_t point)
{
	for (size_t i = 0; i < r->summary.n; i++)
		if (r->summary.row[i].point == point)
			return true;
	return false;
}

static const char *why_missed(const struct us_boot_report *r,
			      const struct us_boot_point *p)
{
	if (p->kind == US_BOOT_SERIAL)
		return " (nothing came to standard output: -serial stdio)";
	if (p->kind == US_BOOT_DEVICE && r->way & US_BOOT_BY_TRACE)
		return " (of virtio)";
	if (p->kind == US_BOOT_SYMBOL && r->way & US_BOOT_BY_SAMPLES)
		return " (on none of the sampled stacks: it runs too briefly)";
	return "";
}

/* Why a point cannot be seen. */
static const char *why_unseen(const struct us_boot_report *r, enum us_boot_kind kind)
{
	const char *why = is_code(kind) ? r->unseen_code : r->unseen_kvm;
	if (kind == US_BOOT_DEVICE && r->unseen_device[0])
		return r->unseen_device;
	return why[0] ? why : r->unseen;
}

/* It is none that the ways show, and was not seen beside them: with samples, the stub
 * that holds the guest until the sampler is ready shows the first instruction. */
static bool is_hidden(const struct us_boot_report *r, size_t point)
{
	return !was_seen(r, point) && !us_boot_is_seen(&r->plan->point[point], r->way);
}

/* Print all points from i on that cannot be seen for the same reason, in one line. */
static void print_hidden(const struct us_boot_report *r, size_t i, bool *told)
{
	const char *why = why_unseen(r, r->plan->point[i].kind);
	bool first = true;
	for (; i < r->plan->n; i++) {
		const struct us_boot_point *p = &r->plan->point[i];
		if (told[i] || !is_hidden(r, i) ||
		    strcmp(why, why_unseen(r, p->kind)) != 0)
			continue;
		printf("%s%s", first ? "cannot be seen here: " : ", ", p->name);
		first = false;
		told[i] = true;
	}
	printf("%s%s\n", why[0] ? ": " : "", why);
}

static void print_unseen(const struct us_boot_report *r)
{
	bool told[US_BOOT_MAX_POINT] = { false };
	for (size_t i = 0; i < r->plan->n; i++) {
		const struct us_boot_point *p = &r->plan->point[i];
		char name[US_BOOT_NAME];
		if (was_seen(r, i) || !us_boot_is_seen(p, r->way))
			continue;
		us_printable(name, sizeof(name), p->name);
		printf("not seen: %s%s\n", name, why_missed(r, p));
	}
	for (size_t i = 0; i < r->plan->n; i++)
		if (!told[i] && is_hidden(r, i))
			print_hidden(r, i, told);
}

/* NULL: they are, or no run says. */
static const char *why_uncounted(const struct us_boot_report *r)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->run[i].uncounted)
			return "QEMU before 9.0 counts those of a single vCPU only";
	return NULL;
}

static void print_cost(const struct us_boot_report *r)
{
	const struct us_estimate *c = &r->cost;
	if (!r->n_alone)
		return;
	printf("the observer: the first serial byte comes %.1f ms later (95 %%: %.1f "
	       "to "
	       "%.1f), %.1f %% of %.1f ms; %zu run%s without it\n",
	       c->value / MS, c->low / MS, c->high / MS,
	       100 * c->value / r->alone.value, r->alone.value / MS,
	       PLURAL(r->n_alone));
}

/* The most in one run; 0: not known. */
static uint64_t starts_of(const struct us_boot_report *r)
{
	uint64_t n = 0;
	for (size_t i = 0; i < r->n; i++)
		if (r->run[i].n_start > n)
			n = r->run[i].n_start;
	return n;
}

/* A point may be one of a later boot than the one before it. */
static void print_starts(const struct us_boot_report *r)
{
	uint64_t n = starts_of(r);
	if (n > 1)
		printf("the guest started %s%llu times: it was reset, and the times "
		       "are those of all its boots together\n",
		       r->n > 1 ? "up to " : "", (unsigned long long)n);
}

void us_boot_print(const struct us_boot_report *r)
{
	printf("%s, %zu run%s; medians, in ms since the VMM was launched%s\n\n", r->vmm,
	       PLURAL(r->n), r->n > 1 ? ", and their 95 % intervals" : "");
	printf("%-24s %9s  %-15s %9s  %-15s %9s %13s  %s\n", "", "at", "", "phase", "",
	       "CPU", "instructions", "by");
	for (size_t i = 0; i < r->summary.n; i++)
		print_row(r, i);
	puts("");
	us_boot_print_exits(r->run, r->n, r->profile != NULL);
	if (r->n_device)
		printf("first device use: %s%s\n", r->n_device > 1 ? "one of " : "",
		       r->device);
	if (r->first[0]) {
		char text[300];
		us_printable(text, sizeof(text), r->first);
		puts(text);
	}
	print_unseen(r);
	print_starts(r);
	if (why_uncounted(r))
		printf("instructions are not counted: %s\n", why_uncounted(r));
	print_cost(r);
	if (r->n > 1 && r->n < 6)
		puts("fewer than 6 runs give no 95 % interval: each range covers all "
		     "runs (-n)");
}

void us_boot_json_estimate(struct us_json *j, const char *key,
			   const struct us_estimate *e)
{
	us_json_object(j, key);
	us_json_double(j, "median", e->value, 0);
	us_json_double(j, "low", e->low, 0);
	us_json_double(j, "high", e->high, 0);
	us_json_bool(j, "interval", e->sure);
	us_json_end(j);
}

static void json_point(struct us_json *j, const struct us_boot_report *r, size_t i)
{
	const struct us_boot_row *x = &r->summary.row[i];
	uint64_t error, first;
	errors_of(r, x->point, &error, &first);
	us_json_object(j, NULL);
	us_json_str(j, "name", r->plan->point[x->point].name);
	us_json_u64(j, "seen", x->n_seen);
	us_json_str(j, "by", way_name(r, x->point));
	us_json_u64(j, "error_ns", error);
	us_json_u64(j, "first_call_error_ns", first);
	us_boot_json_estimate(j, "at_ns", &x->at);
	if (i)
		us_boot_json_estimate(j, "phase_ns", &x->phase);
	if (x->cpu.value > 0)
		us_boot_json_estimate(j, "cpu_ns", &x->cpu);
	if (x->insns.value > 0)
		us_boot_json_estimate(j, "instructions", &x->insns);
	us_json_array(j, "runs_ns");
	for (size_t k = 0; k < r->n; k++)
		if (r->run[k].at[x->point].seen)
			us_json_u64(j, NULL, r->run[k].at[x->point].wall_ns);
	us_json_end(j);
	us_json_end(j);
}

void us_boot_print_json(const struct us_boot_report *r)
{
	struct us_json j = us_json_to(stdout);
	j.pretty = true;
	us_json_object(&j, NULL);
	us_json_str(&j, "vmm", r->vmm);
	us_json_u64(&j, "runs", r->n);
	us_json_str(&j, "unseen", r->unseen[0] ? r->unseen : NULL);
	us_json_str(&j, "unseen_kvm", r->unseen_kvm[0] ? r->unseen_kvm : NULL);
	us_json_str(&j, "unseen_functions", r->unseen_code[0] ? r->unseen_code : NULL);
	us_json_str(&j, "unseen_instructions", why_uncounted(r));
	us_json_str(&j, "device", r->n_device ? r->device : NULL);
	us_json_str(&j, "first_function", r->first[0] ? r->first : NULL);
	us_json_u64(&j, "starts", starts_of(r));
	us_json_array(&j, "points");
	for (size_t i = 0; i < r->summary.n; i++)
		json_point(&j, r, i);
	us_json_end(&j);
	us_boot_json_exits(&j, r->run, r->n, r->profile != NULL);
	if (r->n_alone) {
		us_boot_json_estimate(&j, "observer_ns", &r->cost);
		us_boot_json_estimate(&j, "serial_alone_ns", &r->alone);
	}
	if (r->profile)
		us_boot_profile_json(&j, r->profile);
	us_json_end(&j);
	puts("");
}
