/* SPDX-License-Identifier: GPL-2.0-or-later */
/* trace_report.c: see trace_format.h. */
#include "report/trace_format.h"

#include "base/vec.h"
#include "report/report.h"
#include "store/store.h"
#include "symbol/symbol.h"

#include <errno.h>
#include <inttypes.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#define MAX_INLINED    32
#define FIRST_FUNCTION 16 /* below are no functions: trace/counts.h */

const struct us_trace_format *const us_trace_formats[] = {
	&us_trace_format_graph, &us_trace_format_html,	  &us_trace_format_chrome,
	&us_trace_format_csv,	&us_trace_format_uftrace, NULL,
};

const struct us_trace_format *us_trace_format_by_name(const char *name)
{
	for (size_t i = 0; us_trace_formats[i]; i++)
		if (!strcmp(us_trace_formats[i]->name, name))
			return us_trace_formats[i];
	return NULL;
}

const struct us_trace_format *us_trace_format_by_suffix(const char *path)
{
	size_t len = strlen(path);
	for (size_t i = 0; us_trace_formats[i]; i++) {
		const char *suffix = us_trace_formats[i]->suffix;
		if (len > strlen(suffix) &&
		    !strcmp(path + len - strlen(suffix), suffix))
			return us_trace_formats[i];
	}
	return NULL;
}

struct reading {
	const struct us_trace_report_opts *o;
	struct us_trace_out out;
	struct us_replay_opts replay_opts;
	struct us_replay *replay;
	struct us_symbols *symbols;
	regex_t filter, hide;
	struct {
		char **v;
		size_t n, cap;
	} names;
	struct {
		bool *v;
		size_t n, cap;
	} shown;
};

static bool is_shown(const struct reading *r, const char *name)
{
	return (!r->o->filter || !regexec(&r->filter, name, 0, NULL, 0)) &&
	       (!r->o->hide || regexec(&r->hide, name, 0, NULL, 0));
}

static char *name_of(struct reading *r, us_gva address)
{
	struct us_frame f[MAX_INLINED];
	char text[24];
	if (address < FIRST_FUNCTION)
		return strdup(US_FRAME_UNNAMED);
	size_t n = us_symbols_lookup(r->symbols, address, false, f, MAX_INLINED);
	if (n && f[n - 1].func)
		return strdup(f[n - 1].func);
	snprintf(text, sizeof(text), "0x%" PRIx64, address);
	return strdup(text);
}

static void publish(struct reading *r)
{
	r->out.name = (const char *const *)r->names.v;
	r->out.n_name = (uint32_t)r->names.n;
	r->replay_opts.shown = r->shown.v;
	r->replay_opts.n_shown = r->shown.n;
}

/* A function by this number, called that; name is taken. */
static int set_name(struct reading *r, uint32_t number, char *name)
{
	while (name && r->names.n <= number) {
		char **slot = us_vec_push(&r->names);
		bool *shown = slot ? us_vec_push(&r->shown) : NULL;
		if (!shown) {
			free(name);
			return -ENOMEM;
		}
	}
	if (!name)
		return -ENOMEM;
	free(r->names.v[number]);
	r->names.v[number] = name;
	r->shown.v[number] = is_shown(r, name);
	publish(r);
	return 0;
}

static int on_function(void *ctx, uint32_t number, us_gva address)
{
	struct reading *r = ctx;
	return set_name(r, number, name_of(r, address));
}

/* Functions stand before the records that name them: others are damage. */
static int check_names(struct reading *r, const uint64_t *record, size_t n)
{
	int rc = 0;
	for (size_t i = 0; i < n && !rc; i++) {
		unsigned kind = (unsigned)(record[i] >> US_EVENT_KIND_SHIFT);
		uint32_t number = record[i] >> US_EVENT_NUMBER_SHIFT &
				  US_EVENT_NUMBER_MASK;
		if (kind < US_EVENT_ENTER || kind > US_EVENT_OPEN)
			continue;
		while (number >= r->names.n && !rc)
			rc = set_name(r, (uint32_t)r->names.n, strdup("?"));
	}
	return rc;
}

static int on_events(void *ctx, unsigned vcpu, const uint64_t *record, size_t n)
{
	struct reading *r = ctx;
	int rc = check_names(r, record, n);
	return rc ? rc
		  : us_timeline_add(us_replay_timeline(r->replay), vcpu, record, n);
}

static int on_until(void *ctx, uint64_t t_ns)
{
	struct reading *r = ctx;
	return us_timeline_until(us_replay_timeline(r->replay), t_ns);
}

static const struct us_reader_ops read_trace = { .event_function = on_function,
						 .events = on_events,
						 .events_until = on_until };

static int compile(const char *text, regex_t *re, struct us_err *e)
{
	char why[128];
	int rc = text ? regcomp(re, text, REG_EXTENDED | REG_NOSUB) : 0;
	if (!rc)
		return 0;
	regerror(rc, re, why, sizeof(why));
	return us_fail(e, -EINVAL, "%s: %s", text, why);
}

static uint64_t insn_ns(const struct us_profile *p)
{
	const char *text = us_profile_fact(p, "trace_insn_ns");
	uint64_t n = text ? strtoull(text, NULL, 10) : 0;
	return n > 1000000 ? 0 : n;
}

static void fini(struct reading *r)
{
	us_replay_free(r->replay);
	for (size_t i = 0; i < r->names.n; i++)
		free(r->names.v[i]);
	free(r->names.v);
	free(r->shown.v);
}

static int read_all(struct reading *r, int fd, const struct us_profile *p,
		    struct us_trace_report_result *ret, struct us_err *e)
{
	const struct us_trace_format *f = r->o->format;
	struct us_reader_result result = { 0 };
	int rc = us_replay_new(insn_ns(p), &f->ops, &r->out, &r->replay_opts,
			       &r->replay);
	if (rc)
		return us_fail(e, rc, "replay: out of memory");
	r->out.replay = r->replay;
	rc = f->begin ? f->begin(&r->out) : 0;
	if (!rc)
		rc = us_read(fd, &read_trace, r, &result, e);
	/* Of one that was cut, what is there. */
	if (!rc)
		rc = us_timeline_until(us_replay_timeline(r->replay), UINT64_MAX);
	ret->n_event = us_replay_n_event(r->replay);
	ret->n_function = r->names.n;
	ret->cut = !result.ended;
	int ended = f->end ? f->end(&r->out) : 0;
	rc = rc ? rc : ended;
	return rc && !e->code ? us_fail(e, rc, "replay: %s", strerror(-rc)) : rc;
}

int us_trace_report(int fd, const struct us_profile *p,
		    const struct us_trace_report_opts *o, FILE *out,
		    struct us_trace_report_result *ret, struct us_err *e)
{
	struct reading r = { .o = o,
			     .replay_opts = o->replay,
			     .symbols = us_profile_symbols(p),
			     .out = { .out = out, .folder = o->folder, .profile = p } };
	*ret = (struct us_trace_report_result){ 0 };
	int rc = compile(o->filter, &r.filter, e);
	if (rc)
		return rc;
	rc = compile(o->hide, &r.hide, e);
	if (!rc) {
		rc = read_all(&r, fd, p, ret, e);
		if (o->hide)
			regfree(&r.hide);
	}
	if (o->filter)
		regfree(&r.filter);
	fini(&r);
	if (!rc && !ret->n_event) {
		us_fail(e, -ENODATA, "replay: the recording has no trace");
		us_hint(e, "uniscope trace makes one; uniscope report shows profiles");
		return -ENODATA;
	}
	return rc || !out ? rc : us_report_flush(out, "trace", e);
}

const char *us_trace_stack_name(const struct us_trace_out *o, uint16_t stack)
{
	uint32_t root = us_replay_root(o->replay, stack);
	return root < o->n_name ? o->name[root] : "?";
}
