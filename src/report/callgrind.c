/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * callgrind.c: the profile in the format of Valgrind's Callgrind ("Callgrind Format
 * Specification" in its manual), for KCachegrind and callgrind_annotate.
 *
 * The format has functions and calls between them, but no paths, so nodes of the call
 * tree are added up.  A sampled profile has no calls; each pair of functions counts as
 * one.
 */
#include "report/report.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "symbol/demangle.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

/* Calls from one function to another. */
struct arc {
	uint32_t from, to;
	uint64_t calls, total;
};

struct graph {
	const struct us_profile *p;
	const struct us_profile_node *node;
	const struct us_profile_func *func;
	size_t n_node, n_func, n_arc;
	struct arc *arc;
};

static int compare_arcs(const void *a, const void *b)
{
	const struct arc *x = a, *y = b;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->to < y->to ? -1 : x->to > y->to;
}

/* The cost of a recursive call is already in the outer call's total, so the sum of a
 * function's calls must not include it twice. */
static bool is_outermost(const struct graph *g, uint32_t i)
{
	for (uint32_t up = g->node[i].parent; up; up = g->node[up].parent)
		if (g->node[up].func == g->node[i].func)
			return false;
	return true;
}

static int find_arcs(struct graph *g)
{
	g->arc = calloc(g->n_node + 1, sizeof(*g->arc));
	if (!g->arc)
		return -ENOMEM;
	for (uint32_t i = 1; i < g->n_node; i++) {
		const struct us_profile_node *n = &g->node[i];
		if (!n->parent)
			continue;
		g->arc[g->n_arc++] = (struct arc){
			.from = g->node[n->parent].func,
			.to = n->func,
			.calls = n->calls,
			.total = is_outermost(g, i) ? n->total : 0,
		};
	}
	qsort(g->arc, g->n_arc, sizeof(*g->arc), compare_arcs);
	size_t n = 0;
	for (size_t i = 0; i < g->n_arc; i++) {
		if (n && !compare_arcs(&g->arc[n - 1], &g->arc[i])) {
			g->arc[n - 1].calls += g->arc[i].calls;
			g->arc[n - 1].total += g->arc[i].total;
		} else {
			g->arc[n++] = g->arc[i];
		}
	}
	g->n_arc = n;
	return 0;
}

/* A name that looks like a compressed one, "(12)", which stands for one that was
 * defined before: readers take it for a reference. */
static bool looks_compressed(const char *name)
{
	return name[0] == '(' && name[1] >= '0' && name[1] <= '9';
}

static void print_name(FILE *out, const char *key, uint32_t number, const char *name)
{
	char safe[US_DEMANGLED_MAX];
	us_printable(safe, sizeof(safe), name);
	if (looks_compressed(safe)) /* define it under a number of its own */
		fprintf(out, "%s=(%" PRIu32 ") %s\n", key, number, safe);
	else
		fprintf(out, "%s=%s\n", key, safe);
}

/* The function's number serves for all of its names: a name may have several. */
static void print_place(const struct graph *g, uint32_t i, const char *prefix,
			FILE *out)
{
	const struct us_profile_func *f = &g->func[i];
	uint32_t number = i + 1;
	char key[8];
	snprintf(key, sizeof(key), "%sob", prefix);
	print_name(out, key, number, f->module ? f->module : "???");
	snprintf(key, sizeof(key), "%s%s", prefix, *prefix ? "fi" : "fl");
	print_name(out, key, number, f->file ? f->file : "???");
	snprintf(key, sizeof(key), "%sfn", prefix);
	print_name(out, key, number, f->name);
}

static void print_function(const struct graph *g, uint32_t i, size_t *arc, FILE *out)
{
	const struct us_profile_func *f = &g->func[i];
	bool called = *arc < g->n_arc && g->arc[*arc].from == i;
	if (!f->self && !called)
		return;
	fputc('\n', out);
	print_place(g, i, "", out);
	fprintf(out, "%u %" PRIu64 "\n", f->line, f->self);
	for (; *arc < g->n_arc && g->arc[*arc].from == i; ++*arc) {
		const struct arc *a = &g->arc[*arc];
		const struct us_profile_func *to = &g->func[a->to];
		print_place(g, a->to, "c", out);
		fprintf(out, "calls=%" PRIu64 " %u\n%u %" PRIu64 "\n",
			a->calls ? a->calls : 1, to->line, f->line, a->total);
	}
}

static int write_callgrind(const struct us_profile *p, const struct us_report_opts *o,
			   FILE *out, struct us_err *e)
{
	struct graph g = { .p = p };
	char title[1024];
	size_t arc = 0;
	(void)o;
	g.node = us_profile_nodes(p, &g.n_node);
	g.func = us_profile_funcs(p, &g.n_func);
	if (find_arcs(&g))
		return us_fail(e, -ENOMEM, "report: out of memory");
	us_report_header_line(p, 0, title, sizeof(title));
	static const char *const events[][2] = {
		{ "Samples : Samples that ran", "Samples" },
		{ "Ir : Instructions", "Ir" },
		{ "Calls : Calls", "Calls" },
	};
	const char *const *event =
		events[us_profile_is_counted(p) + us_profile_is_calls_only(p)];
	fprintf(out,
		"# callgrind format\nversion: 1\ncreator: uniscope " US_VERSION "\n");
	fprintf(out, "# guest=%s\n", us_printable_inplace(title));
	fprintf(out, "positions: line\nevent: %s\nevents: %s\n", event[0], event[1]);
	fprintf(out, "summary: %" PRIu64 "\n", us_profile_summary(p)->running);
	for (uint32_t i = 0; i < g.n_func; i++)
		print_function(&g, i, &arc, out);
	free(g.arc);
	return 0;
}

const struct us_format us_format_callgrind = {
	.name = "callgrind",
	.suffix = ".callgrind",
	.summary = "for KCachegrind and callgrind_annotate",
	.waits = true,
	.write = write_callgrind,
};
