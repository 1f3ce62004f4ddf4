/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trace_html.c: one file with the time of each function, as bars by vCPU, over time and
 * as a table.  The time of any trace is divided into the same number of pieces, so that
 * the page stays small.
 */
#include "report/page.h"
#include "report/report.h"
#include "report/trace_durations.h"
#include "report/trace_format.h"

#include "backend/backend.h"
#include "base/json.h"
#include "base/text.h"
#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BINS	    1024
#define FIRST_BIN   1024.0 /* ns; doubled as the trace goes on */
#define MAX_SHOWN   23	   /* functions with a colour */
#define MAX_ROWS    20000  /* of the table */
#define NO_FUNCTION UINT32_MAX

struct bins {
	float ns[BINS];
};

struct function {
	struct us_trace_durations d;
	double self_ns; /* on all vCPUs */
	double self_on[US_MAX_VCPUS];
	struct bins *bins[US_MAX_VCPUS]; /* NULL: never on that vCPU */
};

struct open_stack {
	uint32_t *v;
	size_t n, cap;
};

struct page {
	struct {
		struct function **v;
		size_t n, cap;
	} function; /* by number; NULL: never seen */
	struct open_stack stack[US_REPLAY_STACKS];
	uint16_t on[US_MAX_VCPUS];
	uint64_t last_ns[US_MAX_VCPUS];
	bool seen[US_MAX_VCPUS];
	uint64_t end_ns;
	double bin_ns;
};

static int begin(struct us_trace_out *o)
{
	struct page *g = calloc(1, sizeof(*g));
	o->state = g;
	if (!g)
		return -ENOMEM;
	g->bin_ns = FIRST_BIN;
	return 0;
}

static struct function *function_of(struct page *g, uint32_t number)
{
	while (g->function.n <= number) {
		struct function **slot = us_vec_push(&g->function);
		if (!slot)
			return NULL;
	}
	if (!g->function.v[number])
		g->function.v[number] = calloc(1, sizeof(struct function));
	return g->function.v[number];
}

static void halve(struct page *g)
{
	g->bin_ns *= 2;
	for (size_t f = 0; f < g->function.n; f++)
		for (unsigned v = 0; g->function.v[f] && v < US_MAX_VCPUS; v++) {
			struct bins *b = g->function.v[f]->bins[v];
			for (unsigned i = 0; b && i < BINS; i++)
				b->ns[i] = i < BINS / 2
						   ? b->ns[2 * i] + b->ns[2 * i + 1]
						   : 0;
		}
}

static void add(struct page *g, struct bins *b, double from, double to)
{
	for (unsigned i = (unsigned)(from / g->bin_ns); i < BINS && from < to; i++) {
		double end = (i + 1) * g->bin_ns;
		double part = (to < end ? to : end) - from;
		b->ns[i] += part > 0 ? (float)part : 0;
		from = from > end ? from : end;
	}
}

/* Add the time since the last event to the function on top.  After the part that is
 * shown, that may be wrong: calls that begin there are not put on a stack. */
static int charge(const struct us_trace_out *o, unsigned vcpu, uint64_t t_ns)
{
	struct page *g = o->state;
	uint64_t to_ns = o->opts->to_ns ? o->opts->to_ns : UINT64_MAX;
	uint64_t now = t_ns < to_ns ? t_ns : to_ns;
	const struct open_stack *s = &g->stack[g->on[vcpu]];
	uint64_t from = g->last_ns[vcpu];
	bool seen = g->seen[vcpu];
	if (!us_replay_shows_vcpu(o->opts, vcpu))
		return 0;
	if (now > g->end_ns)
		g->end_ns = now;
	while ((double)now >= BINS * g->bin_ns)
		halve(g);
	g->seen[vcpu] = true;
	g->last_ns[vcpu] = now > from ? now : from;
	if (!seen || !s->n || now <= from)
		return 0;
	struct function *f = function_of(g, s->v[s->n - 1]);
	if (f && !f->bins[vcpu])
		f->bins[vcpu] = calloc(1, sizeof(struct bins));
	if (!f || !f->bins[vcpu])
		return -ENOMEM;
	f->self_ns += (double)(now - from);
	f->self_on[vcpu] += (double)(now - from);
	add(g, f->bins[vcpu], (double)from, (double)now);
	return 0;
}

static int enter(void *ctx, const struct us_replay_span *s)
{
	struct us_trace_out *o = ctx;
	struct page *g = o->state;
	int rc = charge(o, s->vcpu, s->begin_ns);
	uint32_t *slot = rc ? NULL : us_vec_push(&g->stack[s->stack]);
	if (!slot)
		return -ENOMEM;
	*slot = s->function;
	g->on[s->vcpu] = s->stack;
	struct function *f = function_of(g, s->function);
	return f ? us_trace_durations_enter(&f->d, s) : -ENOMEM;
}

static int leave(void *ctx, const struct us_replay_span *s)
{
	struct us_trace_out *o = ctx;
	struct page *g = o->state;
	struct open_stack *stack = &g->stack[s->stack];
	int rc = charge(o, s->vcpu, s->end_ns);
	struct function *f = function_of(g, s->function);
	if (stack->n)
		stack->n--;
	if (!f || rc)
		return -ENOMEM;
	us_trace_durations_leave(&f->d, s);
	return 0;
}

static int move(void *ctx, unsigned vcpu, uint16_t from, uint16_t to, uint64_t t_ns)
{
	struct us_trace_out *o = ctx;
	struct page *g = o->state;
	int rc = charge(o, vcpu, t_ns);
	(void)from;
	g->on[vcpu] = to;
	return rc;
}

/* ---- The page ---- */

static int compare_self(const void *a, const void *b, void *ctx)
{
	const struct page *g = ctx;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	double x = g->function.v[i]->self_ns, y = g->function.v[j]->self_ns;
	return x > y ? -1 : x < y ? 1 : i < j ? -1 : 1;
}

static void text(struct us_json *j, const char *key, const char *value)
{
	char safe[2048];
	us_json_str(j, key, value ? us_printable(safe, sizeof(safe), value) : "");
}

static const char *fact(const struct us_trace_out *o, const char *key)
{
	return o->profile ? us_profile_fact(o->profile, key) : NULL;
}

static void facts(const struct us_trace_out *o, struct us_json *j, size_t left_out)
{
	static const char *const keys[] = { "target",  "how",  "vcpus",
					    "started", "host", "trace_insn_ns" };
	char line[1100];
	const char *guest = fact(o, "guest");
	const char *target = fact(o, "target");
	const char *caution = fact(o, "caution");
	text(j, "title", guest ? guest : target ? target : "Trace");
	us_json_array(j, "facts");
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const char *value = fact(o, keys[i]);
		if (!value || (!strcmp(keys[i], "target") && !guest))
			continue;
		snprintf(line, sizeof(line), "%s%.1000s%s",
			 !strcmp(keys[i], "vcpus") ? "vCPUs: " : "", value,
			 !strcmp(keys[i], "trace_insn_ns") ? " ns an instruction" : "");
		text(j, NULL, line);
	}
	us_json_end(j);
	us_json_array(j, "warnings");
	if (caution)
		text(j, NULL, caution);
	us_json_end(j);
	snprintf(line, sizeof(line),
		 "Times are those of the emulation, with the tracing in them.%s",
		 left_out ? " Functions with the least time are left out." : "");
	text(j, "summaryLine", line);
}

static void columns(const struct us_trace_out *o, struct us_json *j,
		    const uint32_t *order, size_t n)
{
	const struct page *g = o->state;
	us_json_object(j, "func");
	us_json_array(j, "name");
	for (size_t i = 0; i < n; i++)
		text(j, NULL, o->name[order[i]]);
	us_json_end(j);
#define COLUMN(key, value)                                                             \
	do {                                                                           \
		us_json_array(j, key);                                                 \
		for (size_t i = 0; i < n; i++) {                                       \
			const struct function *f = g->function.v[order[i]];            \
			us_json_u64(j, NULL, value);                                   \
		}                                                                      \
		us_json_end(j);                                                        \
	} while (0)
	COLUMN("self", (uint64_t)f->self_ns);
	COLUMN("total", f->d.total_ns);
	COLUMN("calls", f->d.calls);
	COLUMN("mean", f->d.calls ? f->d.sum_ns / f->d.calls : 0);
	COLUMN("max", f->d.max_ns);
#undef COLUMN
	us_json_end(j);
}

/* Per mille of each piece of time, for one function, or for all from first on. */
static void row_of_bins(const struct page *g, struct us_json *j, const uint32_t *order,
			size_t first, size_t end, unsigned vcpu)
{
	us_json_array(j, NULL);
	for (unsigned b = 0; b < BINS; b++) {
		double ns = 0;
		for (size_t i = first; i < end; i++) {
			const struct bins *x = g->function.v[order[i]]->bins[vcpu];
			ns += x ? (double)x->ns[b] : 0;
		}
		us_json_u64(j, NULL, (uint64_t)(1000 * ns / g->bin_ns + 0.5));
	}
	us_json_end(j);
}

static void cpu(const struct page *g, struct us_json *j, const uint32_t *order,
		size_t n, unsigned vcpu)
{
	size_t shown = n < MAX_SHOWN ? n : MAX_SHOWN;
	double others = 0;
	us_json_object(j, NULL);
	us_json_u64(j, "vcpu", vcpu);
	us_json_array(j, "self");
	for (size_t i = 0; i < n; i++) {
		double ns = g->function.v[order[i]]->self_on[vcpu];
		if (i < shown)
			us_json_u64(j, NULL, (uint64_t)ns);
		else
			others += ns;
	}
	if (n > shown)
		us_json_u64(j, NULL, (uint64_t)others);
	us_json_end(j);
	us_json_array(j, "time");
	for (size_t i = 0; i < shown; i++)
		row_of_bins(g, j, order, i, i + 1, vcpu);
	if (n > shown)
		row_of_bins(g, j, order, shown, n, vcpu);
	us_json_end(j);
	us_json_end(j);
}

static void print(struct us_trace_out *o, const uint32_t *order, size_t n)
{
	const struct page *g = o->state;
	struct us_json j = us_json_to(o->out);
	size_t rows = n < MAX_ROWS ? n : MAX_ROWS;
	fputs((const char *)us_trace_page_head, o->out);
	us_json_object(&j, NULL);
	facts(o, &j, n - rows);
	us_json_u64(&j, "ns", g->end_ns);
	us_json_double(&j, "binNs", g->bin_ns, 1);
	us_json_u64(&j, "bins", (uint64_t)((double)g->end_ns / g->bin_ns) + 1);
	us_json_array(&j, "shown");
	for (size_t i = 0; i < n && i < MAX_SHOWN; i++)
		us_json_u64(&j, NULL, i);
	if (n > MAX_SHOWN)
		us_json_double(&j, NULL, -1, 0);
	us_json_end(&j);
	columns(o, &j, order, rows);
	us_json_array(&j, "cpus");
	for (unsigned v = 0; v < US_MAX_VCPUS; v++)
		if (g->seen[v])
			cpu(g, &j, order, n, v);
	us_json_end(&j);
	us_json_end(&j);
	fputs((const char *)us_trace_page_tail, o->out);
}

static void fini(struct us_trace_out *o)
{
	struct page *g = o->state;
	for (size_t f = 0; g && f < g->function.n; f++) {
		for (unsigned v = 0; g->function.v[f] && v < US_MAX_VCPUS; v++)
			free(g->function.v[f]->bins[v]);
		if (g->function.v[f])
			us_trace_durations_fini(&g->function.v[f]->d);
		free(g->function.v[f]);
	}
	for (unsigned i = 0; g && i < US_REPLAY_STACKS; i++)
		free(g->stack[i].v);
	if (g)
		free(g->function.v);
	free(g);
	o->state = NULL;
}

static int end(struct us_trace_out *o)
{
	const struct page *g = o->state;
	size_t n = 0;
	uint32_t *order = g ? malloc((g->function.n + 1) * sizeof(*order)) : NULL;
	int rc = order ? 0 : -ENOMEM;
	for (size_t f = 0; order && f < g->function.n; f++)
		if (g->function.v[f])
			order[n++] = (uint32_t)f;
	if (order) {
		qsort_r(order, n, sizeof(*order), compare_self, o->state);
		print(o, order, n);
	}
	free(order);
	fini(o);
	return rc;
}

const struct us_trace_format us_trace_format_html = {
	.name = "html",
	.suffix = ".html",
	.summary = "bars, a timeline and a table, in one file that loads nothing",
	.begin = begin,
	.ops = { .enter = enter, .leave = leave, .move = move },
	.end = end,
};
