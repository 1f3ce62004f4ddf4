/* SPDX-License-Identifier: GPL-2.0-or-later */
/* annotate_json.c: an annotation as JSON (uniscope-annotate(1)). */
#include "report/annotate.h"

#include "base/json.h"

static void lines(struct us_json *j, const struct us_annotation *a)
{
	us_json_array(j, "lines");
	for (size_t i = 0; i < a->lines.n; i++) {
		const struct us_annotated_line *l = &a->lines.v[i];
		us_json_object(j, NULL);
		j->pretty = false;
		us_json_str(j, "file", l->file);
		us_json_str(j, "dir", l->dir);
		us_json_u64(j, "line", l->line);
		us_json_str(j, "inlined", l->func);
		us_json_bool(j, "code", l->has_code);
		us_json_u64(j, "self", l->self);
		us_json_u64(j, "called", l->called);
		us_json_str(j, "text", l->text);
		us_json_end(j);
		j->pretty = true;
	}
	us_json_end(j);
}

static void instructions(struct us_json *j, const struct us_annotation *a)
{
	us_json_array(j, "instructions");
	for (size_t k = 0; k < a->insns.n; k++) {
		const struct us_annotated_insn *i = &a->insns.v[k];
		char bytes[2 * US_INSN_BYTES + 1] = "";
		for (unsigned b = 0; b < i->i.len; b++)
			snprintf(bytes + 2 * b, 3, "%02x", i->i.bytes[b]);
		us_json_object(j, NULL);
		j->pretty = false;
		us_json_hex(j, "address", i->i.addr);
		us_json_str(j, "bytes", bytes);
		us_json_str(j, "text", i->i.text[0] ? i->i.text : NULL);
		us_json_u64(j, "line", i->line);
		us_json_u64(j, "call_line", i->call_line);
		us_json_u64(j, "block", i->block);
		us_json_u64(j, "self", i->self);
		us_json_u64(j, "called", i->called);
		us_json_end(j);
		j->pretty = true;
	}
	us_json_end(j);
}

int us_annotation_json(const struct us_annotation *a, FILE *out, struct us_err *e)
{
	struct us_json j = us_json_to(out);
	const char *filters = us_profile_filters(a->p);
	j.pretty = true;
	us_json_object(&j, NULL);
	us_json_str(&j, "format", "uniscope-annotation");
	us_json_u64(&j, "version", 1);
	us_json_str(&j, "function", a->name);
	us_json_str(&j, "raw", a->raw);
	us_json_str(&j, "module", a->module);
	us_json_str(&j, "file", a->file);
	us_json_u64(&j, "line", a->line);
	us_json_hex(&j, "start", a->start);
	us_json_u64(&j, "size", a->size);
	us_json_str(&j, "filters", *filters ? filters : NULL);
	us_json_u64(&j, "running", us_profile_summary(a->p)->running);
	us_json_u64(&j, "self", a->self);
	us_json_bool(&j, "cut", a->cut);
	us_json_bool(&j, "blocks", a->blocks);
	us_json_bool(&j, "source_newer", a->source_newer);
	us_json_str(&j, "no_source", a->no_source);
	us_json_array(&j, "warnings");
	for (size_t i = 0; i < us_profile_n_warning(a->p); i++)
		us_json_str(&j, NULL, us_profile_warning(a->p, i));
	us_json_end(&j);
	lines(&j, a);
	instructions(&j, a);
	us_json_end(&j);
	return us_report_flush(out, "annotation", e);
}
