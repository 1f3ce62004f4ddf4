/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * html.c: one file with a flame graph and tables, which loads nothing.
 *
 * The page (page/) is constant, and its policy has the hashes of its own script and
 * style.  Data from the recording is in it as JSON, and is shown only as text.
 */
#include "report/html.h"

#include "report/columns.h"
#include "report/html_priv.h"
#include "report/page.h"

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/gzip.h"
#include "base/json.h"
#include "base/text.h"

#include <errno.h>
#include <string.h>

#define MAX_NODES    50000     /* more would be narrower than a pixel */
#define PACKED_BYTES (1 << 19) /* of JSON: more is packed */

/* What is shown: nodes that are heavy enough, and their functions. */
struct page {
	const struct us_profile *p;
	const struct us_report_opts *o;
	const struct us_profile_node *node;
	const struct us_profile_func *func;
	size_t n_node, n_func, n_left_out;
	uint64_t least;	   /* total of the lightest node that is shown */
	uint32_t *node_id; /* of a hidden node: that of its nearest shown caller */
	uint32_t *func_id;
	bool *has_func;
	struct us_json j;
};

static int compare_totals(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x > y ? -1 : x < y;
}

/* A child is never heavier than its parent, so what is kept is a tree. */
static int choose_least(struct page *g)
{
	if (g->n_node <= MAX_NODES)
		return 0;
	_cleanup_free_ uint64_t *total = malloc(g->n_node * sizeof(*total));
	if (!total)
		return -ENOMEM;
	for (size_t i = 0; i < g->n_node; i++)
		total[i] = g->node[i].total;
	qsort(total, g->n_node, sizeof(*total), compare_totals);
	g->least = total[MAX_NODES] + 1;
	return 0;
}

static bool is_shown(const struct page *g, size_t i)
{
	return i == 0 || g->node[i].total >= g->least;
}

static int choose(struct page *g)
{
	uint32_t nodes = 0, funcs = 0;
	g->node_id = calloc(g->n_node, sizeof(*g->node_id));
	g->func_id = calloc(g->n_func + 1, sizeof(*g->func_id));
	g->has_func = calloc(g->n_func + 1, sizeof(*g->has_func));
	if (!g->node_id || !g->func_id || !g->has_func || choose_least(g))
		return -ENOMEM;
	for (size_t i = 0; i < g->n_node; i++) {
		if (!is_shown(g, i)) {
			g->node_id[i] = g->node_id[g->node[i].parent];
			continue;
		}
		g->node_id[i] = nodes++;
		if (i)
			g->has_func[g->node[i].func] = true;
	}
	for (size_t f = 0; f < g->n_func; f++)
		if (g->has_func[f])
			g->func_id[f] = funcs++;
	g->n_left_out = g->n_node - nodes;
	return 0;
}

/* Terminal escapes do nothing in a browser, but characters that reverse text do. */
static void text(struct us_json *j, const char *key, const char *value)
{
	char safe[2048];
	us_json_str(j, key, value ? us_printable(safe, sizeof(safe), value) : NULL);
}

#define EACH_FUNC(g, key, ...)                                                         \
	do {                                                                           \
		us_json_array(&(g)->j, key);                                           \
		for (size_t i = 0; i < (g)->n_func; i++) {                             \
			const struct us_profile_func *f = &(g)->func[i];               \
			if ((g)->has_func[i])                                          \
				__VA_ARGS__;                                           \
		}                                                                      \
		us_json_end(&(g)->j);                                                  \
	} while (0)

#define EACH_NODE(g, key, ...)                                                         \
	do {                                                                           \
		us_json_array(&(g)->j, key);                                           \
		for (size_t i = 0; i < (g)->n_node; i++) {                             \
			const struct us_profile_node *n = &(g)->node[i];               \
			if (is_shown(g, i))                                            \
				__VA_ARGS__;                                           \
		}                                                                      \
		us_json_end(&(g)->j);                                                  \
	} while (0)

/* Bits: seen in ring 0, in ring 3, on the host. */
static uint64_t rings_of(const struct us_profile_func *f)
{
	return (uint64_t)f->kernel | (uint64_t)f->user << 1 | (uint64_t)f->host << 2;
}

/* By columns: a third of the size of rows with names. */
static void functions(struct page *g)
{
	struct us_json *j = &g->j;
	char path[US_PATH_SIZE];
	us_json_object(j, "func");
	EACH_FUNC(g, "name", text(j, NULL, f->name));
	EACH_FUNC(g, "file", text(j, NULL, us_report_path(f, g->o, path)));
	EACH_FUNC(g, "module", text(j, NULL, f->module));
	EACH_FUNC(g, "line", us_json_u64(j, NULL, f->line));
	EACH_FUNC(g, "known", us_json_u64(j, NULL, f->known));
	EACH_FUNC(g, "inlined", us_json_u64(j, NULL, f->inlined));
	EACH_FUNC(g, "ring", us_json_u64(j, NULL, rings_of(f)));
	EACH_FUNC(g, "self", us_json_u64(j, NULL, f->self));
	EACH_FUNC(g, "total", us_json_u64(j, NULL, f->total));
	if (us_profile_is_counted(g->p))
		EACH_FUNC(g, "calls", us_json_u64(j, NULL, f->calls));
	EACH_FUNC(g, "sl", us_json_double(j, NULL, f->self_low, 5));
	EACH_FUNC(g, "sh", us_json_double(j, NULL, f->self_high, 5));
	EACH_FUNC(g, "tl", us_json_double(j, NULL, f->total_low, 5));
	EACH_FUNC(g, "th", us_json_double(j, NULL, f->total_high, 5));
	us_json_end(j);
}

static void nodes(struct page *g)
{
	struct us_json *j = &g->j;
	us_json_object(j, "node");
	EACH_NODE(g, "func", us_json_u64(j, NULL, i ? g->func_id[n->func] : 0));
	EACH_NODE(g, "parent", us_json_u64(j, NULL, g->node_id[n->parent]));
	EACH_NODE(g, "line", us_json_u64(j, NULL, n->line));
	EACH_NODE(g, "self", us_json_u64(j, NULL, n->self));
	EACH_NODE(g, "total", us_json_u64(j, NULL, n->total));
	if (us_profile_is_counted(g->p))
		EACH_NODE(g, "calls", us_json_u64(j, NULL, n->calls));
	EACH_NODE(g, "low", us_json_double(j, NULL, (double)n->low, 5));
	EACH_NODE(g, "high", us_json_double(j, NULL, (double)n->high, 5));
	us_json_end(j);
}

static void summary(struct page *g)
{
	const struct us_profile_summary *s = us_profile_summary(g->p);
	struct us_json *j = &g->j;
	us_json_object(j, "summary");
	us_json_u64(j, "running", s->running);
	us_json_u64(j, "exit", s->exit);
	us_json_u64(j, "ready", s->ready);
	us_json_u64(j, "idle", s->idle);
	us_json_u64(j, "unfocused", s->unfocused);
	us_json_u64(j, "otherPart", s->other_part);
	us_json_double(j, "idleLow", s->idle_low, 5);
	us_json_double(j, "idleHigh", s->idle_high, 5);
	us_json_end(j);
}

static void header(struct page *g)
{
	struct us_json *j = &g->j;
	char line[1024];
	const char *title = us_report_title(g->p);
	size_t title_len = title ? strlen(title) : 0;
	text(j, "title", title);
	us_json_array(j, "facts");
	us_report_header_line(g->p, 0, line, sizeof(line));
	if (strlen(line) > title_len + 2)
		text(j, NULL, line + title_len + 2);
	us_report_header_line(g->p, 1, line, sizeof(line));
	text(j, NULL, line);
	if (*us_profile_filters(g->p))
		text(j, NULL, us_profile_filters(g->p));
	if (*us_report_time_line(g->p, line, sizeof(line)))
		text(j, NULL, line);
	if (*us_report_interval_line(g->p, line, sizeof(line)))
		text(j, NULL, line);
	us_json_end(j);
	us_json_array(j, "warnings");
	for (size_t i = 0; i < us_profile_n_warning(g->p); i++)
		text(j, NULL, us_profile_warning(g->p, i));
	us_json_end(j);
	us_report_summary_line(g->p, line, sizeof(line));
	us_json_str(j, "summaryLine", line);
	us_json_str(j, "unit", us_profile_unit(g->p));
	us_json_bool(j, "counted", us_profile_is_counted(g->p));
	if (us_profile_waits(g->p)->shown)
		us_json_bool(j, "waiting", true);
	us_json_u64(j, "leftOut", g->n_left_out);
}

static int write_data(struct page *g)
{
	bool waits = us_profile_waits(g->p)->shown;
	int rc = 0;
	header(g);
	summary(g);
	functions(g);
	nodes(g);
	if (!waits)
		rc = us_html_time(&g->j, g->p, g->node_id, g->least);
	if (!rc && !waits && !g->o->no_code)
		rc = us_html_code(&g->j, g->p, g->o->sources);
	return rc;
}

/* Write the members of an object. */
static int write_profile(const struct us_profile *p, const struct us_report_opts *o,
			 struct us_json *j)
{
	struct page g = { .p = p, .o = o, .j = *j };
	g.node = us_profile_nodes(p, &g.n_node);
	g.func = us_profile_funcs(p, &g.n_func);
	int rc = choose(&g);
	if (!rc)
		rc = write_data(&g);
	*j = g.j;
	free(g.node_id);
	free(g.func_id);
	free(g.has_func);
	return rc;
}

static int write_json(const struct us_profile *p, const struct us_report_opts *o,
		      FILE *out)
{
	struct us_json j = us_json_to(out);
	us_json_object(&j, NULL);
	int rc = write_profile(p, o, &j);
	if (!rc && o->waits) {
		us_json_object(&j, "waits");
		rc = write_profile(o->waits, o, &j);
		us_json_end(&j);
	}
	if (!rc && o->owners) {
		struct us_report_opts without_code = *o;
		without_code.no_code = true;
		us_json_object(&j, "byProcess");
		rc = write_profile(o->owners, &without_code, &j);
		us_json_end(&j);
	}
	us_json_end(&j);
	return rc;
}

int us_html_data(const struct us_profile *p, const struct us_report_opts *o, FILE *out,
		 struct us_err *e)
{
	int rc = write_json(p, o, out);
	return rc ? us_fail(e, rc, "report: out of memory") : 0;
}

/* A large one is packed: {"gzip": base64}. */
static int write_packed(const char *json, size_t n, FILE *out)
{
	struct us_gzip z;
	_cleanup_free_ char *packed = NULL;
	size_t n_packed = 0;
	FILE *to = open_memstream(&packed, &n_packed);
	if (!to)
		return -ENOMEM;
	int rc = us_gzip_begin(&z, to);
	if (!rc) {
		us_gzip_write(&z, json, n);
		us_gzip_end(&z);
	}
	if (fclose(to) != 0 || rc)
		return -ENOMEM;
	fputs("{\"gzip\":\"", out);
	us_base64_write(out, packed, n_packed);
	fputs("\"}", out);
	return 0;
}

static int write_html(const struct us_profile *p, const struct us_report_opts *o,
		      FILE *out, struct us_err *e)
{
	_cleanup_free_ char *json = NULL;
	size_t n = 0;
	FILE *to = open_memstream(&json, &n);
	int rc = to ? write_json(p, o, to) : -ENOMEM;
	if (to && fclose(to) != 0)
		rc = -ENOMEM;
	if (rc)
		return us_fail(e, rc, "report: out of memory");
	fputs((const char *)us_page_head, out);
	if (n > PACKED_BYTES)
		rc = write_packed(json, n, out);
	else
		fwrite(json, 1, n, out);
	fputs((const char *)us_page_tail, out);
	return rc ? us_fail(e, rc, "report: out of memory") : 0;
}

const struct us_format us_format_html = {
	.name = "html",
	.suffix = ".html",
	.summary = "flame graph and tables in one file that loads nothing",
	.by_time = true,
	.waits = true,
	.both = true,
	.owners = true,
	.warns = true,
	.write = write_html,
};
