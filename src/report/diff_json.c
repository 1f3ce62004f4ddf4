/* SPDX-License-Identifier: GPL-2.0-or-later */
/* diff_json.c: differences as JSON: docs/report-json.md. */
#include "report/diff.h"

#include "base/json.h"

static void write_side(struct us_json *j, const char *key,
		       const struct us_compare_side *s)
{
	us_json_array(j, key);
	for (size_t i = 0; i < s->n; i++) {
		const struct us_profile_summary *sum = us_profile_summary(s->v[i]);
		us_json_object(j, NULL);
		us_json_str(j, "title", us_report_title(s->v[i]));
		us_json_str(j, "started", us_profile_fact(s->v[i], "started"));
		us_json_u64(j, "running", sum->running);
		us_json_u64(j, "idle", sum->idle);
		us_json_end(j);
	}
	us_json_end(j);
}

static void write_row(struct us_json *j, const struct us_compare_row *r)
{
	us_json_object(j, NULL);
	us_json_str(j, "name", r->name);
	us_json_str(j, "file", r->func->file);
	us_json_str(j, "module", r->func->module);
	us_json_bool(j, "changed", r->changed);
	us_json_bool(j, "was", r->was);
	us_json_bool(j, "is", r->is);
	us_json_double(j, "before", r->before, 6);
	us_json_double(j, "after", r->after, 6);
	us_json_double(j, "difference", r->diff, 6);
	us_json_array(j, "interval");
	us_json_double(j, NULL, r->low, 6);
	us_json_double(j, NULL, r->high, 6);
	us_json_end(j);
	us_json_double(j, "chance", r->chance, 6);
	us_json_end(j);
}

/* Each behind the side and the number of its recording. */
static void write_warnings(struct us_json *j, const struct us_diff *d)
{
	char text[1024];
	us_json_array(j, "warnings");
	for (unsigned side = 0; side < 2; side++)
		for (size_t i = 0; i < d->side[side]->n; i++) {
			const struct us_profile *p = d->side[side]->v[i];
			for (size_t k = 0; k < us_profile_n_warning(p); k++) {
				snprintf(text, sizeof(text), "%s %zu: %s",
					 side ? "after" : "before", i + 1,
					 us_profile_warning(p, k));
				us_json_str(j, NULL, text);
			}
		}
	us_json_end(j);
}

int us_diff_json(const struct us_diff *d, FILE *out, struct us_err *e)
{
	static const char *const by[] = { [US_COMPARE_SHARE] = "share",
					  [US_COMPARE_TIME] = "time",
					  [US_COMPARE_PER] = "per" };
	char text[1024];
	const char *filters = us_profile_filters(d->side[0]->v[0]);
	struct us_json j = us_json_to(out);
	us_json_object(&j, NULL);
	us_json_u64(&j, "version", 1);
	us_json_str(&j, "by", by[d->opts->by]);
	us_json_str(&j, "per", d->opts->per);
	us_json_str(&j, "of", d->opts->total ? "total" : "self");
	us_json_bool(&j, "exact", d->result->exact);
	us_json_u64(&j, "changed", d->result->n_changed);
	us_json_str(&j, "filters", *filters ? filters : NULL);
	us_json_str(&j, "says", us_diff_sentence(d, text, sizeof(text)));
	write_side(&j, "before", d->side[0]);
	write_side(&j, "after", d->side[1]);
	write_warnings(&j, d);
	us_json_array(&j, "functions");
	for (size_t i = 0; i < d->result->n; i++)
		write_row(&j, &d->result->row[i]);
	us_json_end(&j);
	us_json_array(&j, "changed_with_callees");
	for (size_t i = 0; us_diff_hidden(d) && i < d->totals->n_changed; i++)
		write_row(&j, &d->totals->row[i]);
	us_json_end(&j);
	us_json_end(&j);
	fputc('\n', out);
	return us_report_flush(out, "JSON", e);
}
