/* SPDX-License-Identifier: GPL-2.0-or-later */
/* diff_html.c: differences as a page: one file that loads nothing (page/diff.js). */
#include "report/diff.h"

#include "base/json.h"
#include "base/text.h"
#include "profile/compare_tree.h"
#include "report/columns.h"
#include "report/page.h"

#include <stdio.h>
#include <string.h>

static void text(struct us_json *j, const char *key, const char *value)
{
	char safe[2048];
	us_json_str(j, key, value ? us_printable(safe, sizeof(safe), value) : NULL);
}

static void write_side(struct us_json *j, const char *key,
		       const struct us_compare_side *s)
{
	char line[1024];
	us_json_array(j, key);
	for (size_t i = 0; i < s->n; i++) {
		us_report_header_line(s->v[i], 0, line, sizeof(line));
		text(j, NULL, line);
	}
	us_json_end(j);
}

#define EACH_ROW(j, d, key, ...)                                                       \
	do {                                                                           \
		us_json_array(j, key);                                                 \
		for (size_t i = 0; i < (d)->result->n; i++) {                          \
			const struct us_compare_row *r = &(d)->result->row[i];         \
			__VA_ARGS__;                                                   \
		}                                                                      \
		us_json_end(j);                                                        \
	} while (0)

#define EACH_NODE(j, t, key, ...)                                                      \
	do {                                                                           \
		us_json_array(j, key);                                                 \
		for (size_t i = 0; i < (t)->n; i++) {                                  \
			const struct us_compare_node *n = &(t)->node[i];               \
			__VA_ARGS__;                                                   \
		}                                                                      \
		us_json_end(j);                                                        \
	} while (0)

static void write_rows(struct us_json *j, const struct us_diff *d,
		       const struct us_report_opts *o)
{
	char path[US_PATH_SIZE];
	us_json_object(j, "row");
	EACH_ROW(j, d, "name", text(j, NULL, r->name));
	EACH_ROW(j, d, "file", text(j, NULL, us_report_path(r->func, o, path)));
	EACH_ROW(j, d, "module", text(j, NULL, r->func->module));
	EACH_ROW(j, d, "line", us_json_u64(j, NULL, r->func->line));
	EACH_ROW(j, d, "was", us_json_u64(j, NULL, r->was));
	EACH_ROW(j, d, "is", us_json_u64(j, NULL, r->is));
	EACH_ROW(j, d, "before", us_json_double(j, NULL, r->before, 6));
	EACH_ROW(j, d, "after", us_json_double(j, NULL, r->after, 6));
	EACH_ROW(j, d, "low", us_json_double(j, NULL, r->low, 6));
	EACH_ROW(j, d, "high", us_json_double(j, NULL, r->high, 6));
	EACH_ROW(j, d, "changed", us_json_u64(j, NULL, r->changed));
	us_json_end(j);
}

static void write_tree(struct us_json *j, const struct us_compare_tree *t)
{
	us_json_object(j, "node");
	EACH_NODE(j, t, "name", text(j, NULL, n->name));
	EACH_NODE(j, t, "parent", us_json_u64(j, NULL, n->parent));
	EACH_NODE(j, t, "before", us_json_double(j, NULL, n->before, 6));
	EACH_NODE(j, t, "after", us_json_double(j, NULL, n->after, 6));
	EACH_NODE(j, t, "low", us_json_double(j, NULL, n->low, 6));
	EACH_NODE(j, t, "high", us_json_double(j, NULL, n->high, 6));
	EACH_NODE(j, t, "changed", us_json_u64(j, NULL, n->changed));
	us_json_end(j);
}

static void write_data(const struct us_diff *d, const struct us_report_opts *o,
		       const struct us_compare_tree *t, FILE *out)
{
	struct us_json j = us_json_to(out);
	char words[1024];
	us_json_object(&j, NULL);
	text(&j, "title", us_report_title(d->side[1]->v[0]));
	text(&j, "says", us_diff_sentence(d, words, sizeof(words)));
	us_json_str(&j, "unit", us_diff_unit(d));
	us_json_str(&j, "of", us_diff_of(d));
	text(&j, "filters", us_profile_filters(d->side[0]->v[0]));
	us_json_bool(&j, "exact", d->result->exact);
	us_json_bool(&j, "total", d->opts->total);
	us_json_u64(&j, "changed", d->result->n_changed);
	write_side(&j, "before", d->side[0]);
	write_side(&j, "after", d->side[1]);
	write_rows(&j, d, o);
	write_tree(&j, t);
	us_json_end(&j);
}

int us_diff_html(const struct us_diff *d, const struct us_report_opts *o, FILE *out,
		 struct us_err *e)
{
	struct us_compare_tree t;
	int rc = us_compare_trees(d->side[0], d->side[1], d->opts, &t, e);
	if (rc)
		return rc;
	fputs((const char *)us_diff_page_head, out);
	write_data(d, o, &t, out);
	fputs((const char *)us_diff_page_tail, out);
	us_compare_tree_fini(&t);
	return us_report_flush(out, "page", e);
}
