/* SPDX-License-Identifier: GPL-2.0-or-later */
/* trace_report.c: see trace_format.h. */
#include "report/trace_format.h"

#include "base/vec.h"
#include "report/syscall_text.h"
#include "report/report.h"
#include "store/store.h"
#include "symbol/symbol.h"

#include <errno.h>
#include <inttypes.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_INLINED    32
#define FIRST_FUNCTION 16 /* lower numbers are not functions: vmm/plugin_counts.h */

const struct us_trace_format *const us_trace_formats[] = {
	&us_trace_format_graph,	    &us_trace_format_html,
	&us_trace_format_perfetto,  &us_trace_format_chrome,
	&us_trace_format_csv,	    &us_trace_format_uftrace,
	&us_trace_format_strace,    &us_trace_format_calls,
	&us_trace_format_functions, NULL,
};

const struct us_trace_format *us_trace_format_by_name(const char *name)
{
	for (size_t i = 0; us_trace_formats[i]; i++)
		if (!strcmp(us_trace_formats[i]->name, name))
			return us_trace_formats[i];
	return NULL;
}

static bool ends_with(const char *path, const char *suffix)
{
	size_t len = strlen(path), n = suffix ? strlen(suffix) : len;
	return len > n && !strcmp(path + len - n, suffix);
}

const struct us_trace_format *us_trace_format_by_suffix(const char *path)
{
	for (size_t i = 0; us_trace_formats[i]; i++)
		if (ends_with(path, us_trace_formats[i]->suffix) ||
		    ends_with(path, us_trace_formats[i]->also))
			return us_trace_formats[i];
	return NULL;
}

struct us_trace_printer {
	const struct us_trace_report_opts *o;
	struct us_trace_out out;
	struct us_replay_opts replay_opts;
	struct us_replay *replay;
	struct us_symbols *symbols;
	regex_t filter, hide;
	bool has_filter, has_hide, begun;
	bool passed;	/* some name passed the filters */
	uint64_t vcpus; /* with events; those above 63 count as 63 */
	struct {
		char **v;
		size_t n, cap;
	} names;
	struct {
		bool *v;
		size_t n, cap;
	} shown;
};

static bool is_shown(struct us_trace_printer *p, const char *name)
{
	bool shown = (!p->has_filter || !regexec(&p->filter, name, 0, NULL, 0)) &&
		     (!p->has_hide || regexec(&p->hide, name, 0, NULL, 0));
	p->passed |= shown;
	return shown;
}

static bool is_call_shown(void *printer, const struct us_syscall *c)
{
	char name[US_SYSCALL_NAME];
	return is_shown(printer, us_syscall_shown_name(c, name));
}

static char *name_of(const struct us_trace_printer *p, us_gva address)
{
	struct us_frame f[MAX_INLINED];
	char text[24];
	if (address < FIRST_FUNCTION)
		return strdup(US_FRAME_UNNAMED);
	size_t n = us_symbols_lookup(p->symbols, address, false, f, MAX_INLINED);
	if (n && f[n - 1].func)
		return strdup(f[n - 1].func);
	snprintf(text, sizeof(text), "0x%" PRIx64, address);
	return strdup(text);
}

static void publish(struct us_trace_printer *p)
{
	p->out.name = (const char *const *)p->names.v;
	p->out.n_name = (uint32_t)p->names.n;
	p->replay_opts.shown = p->shown.v;
	p->replay_opts.n_shown = p->shown.n;
}

/* Name the function with this number; takes ownership of name. */
static int set_name(struct us_trace_printer *p, uint32_t number, char *name)
{
	while (name && p->names.n <= number) {
		char **slot = us_vec_push(&p->names);
		bool *shown = slot ? us_vec_push(&p->shown) : NULL;
		if (!shown) {
			free(name);
			return -ENOMEM;
		}
	}
	if (!name)
		return -ENOMEM;
	free(p->names.v[number]);
	p->names.v[number] = name;
	p->shown.v[number] = is_shown(p, name);
	publish(p);
	return 0;
}

int us_trace_printer_function(struct us_trace_printer *p, uint32_t number,
			      us_gva address)
{
	return set_name(p, number, name_of(p, address));
}

/* Functions come before the records that refer to them; otherwise the trace is damaged.
 */
static int check_names(struct us_trace_printer *p, const uint64_t *record, size_t n)
{
	int rc = 0;
	for (size_t i = 0; i < n && !rc; i++) {
		unsigned kind = (unsigned)(record[i] >> US_EVENT_KIND_SHIFT);
		uint32_t number = record[i] >> US_EVENT_NUMBER_SHIFT &
				  US_EVENT_NUMBER_MASK;
		if (kind < US_EVENT_ENTER || kind > US_EVENT_OPEN)
			continue;
		while (number >= p->names.n && !rc)
			rc = set_name(p, (uint32_t)p->names.n, strdup("?"));
	}
	return rc;
}

int us_trace_printer_events(struct us_trace_printer *p, unsigned vcpu,
			    const uint64_t *record, size_t n)
{
	int rc = check_names(p, record, n);
	p->vcpus |= 1ULL << (vcpu > 63 ? 63 : vcpu);
	return rc ? rc
		  : us_timeline_add(us_replay_timeline(p->replay), vcpu, record, n);
}

int us_trace_printer_until(struct us_trace_printer *p, uint64_t t_ns)
{
	return us_timeline_until(us_replay_timeline(p->replay), t_ns);
}

static int compile(const char *text, regex_t *re, bool *ret_has, struct us_err *e)
{
	char why[128];
	int rc = text ? regcomp(re, text, REG_EXTENDED | REG_NOSUB) : 0;
	*ret_has = text && !rc;
	if (!rc)
		return 0;
	regerror(rc, re, why, sizeof(why));
	return us_fail(e, -EINVAL, "%s: %s", text, why);
}

int us_trace_printer_new(const struct us_trace_source *s,
			 const struct us_trace_report_opts *o, FILE *out,
			 struct us_trace_printer **ret, struct us_err *e)
{
	const struct us_trace_format *f = o->format;
	struct us_trace_printer *p = calloc(1, sizeof(*p));
	*ret = p;
	if (!p)
		return us_fail(e, -ENOMEM, "replay: out of memory");
	p->o = o;
	p->replay_opts = o->replay;
	p->replay_opts.is_call_shown = is_call_shown;
	p->replay_opts.filter = p;
	p->symbols = s->symbols;
	p->out = (struct us_trace_out){ .out = out,
					.folder = o->folder,
					.profile = s->profile,
					.opts = &p->replay_opts };
	int rc = compile(o->filter, &p->filter, &p->has_filter, e);
	if (!rc)
		rc = compile(o->hide, &p->hide, &p->has_hide, e);
	if (!rc &&
	    (us_replay_new(s->insn_ns, &f->ops, &p->out, &p->replay_opts, &p->replay)))
		rc = us_fail(e, -ENOMEM, "replay: out of memory");
	p->out.replay = p->replay;
	p->begun = !rc;
	if (!rc && f->begin && f->begin(&p->out))
		rc = us_fail(e, -ENOMEM, "replay: out of memory");
	if (rc) {
		us_trace_printer_free(p);
		*ret = NULL;
	}
	return rc;
}

/* end() frees what begin() made. */
static int end_format(struct us_trace_printer *p)
{
	bool begun = p->begun;
	p->begun = false;
	return begun && p->o->format->end ? p->o->format->end(&p->out) : 0;
}

int us_trace_printer_end(struct us_trace_printer *p, bool whole,
			 struct us_trace_report_result *ret)
{
	int rc = whole ? us_trace_printer_until(p, UINT64_MAX) : 0;
	if (!rc && whole)
		rc = us_replay_end(p->replay);
	ret->n_call = us_syscalls_n(us_replay_syscalls(p->replay));
	ret->n_call_unknown = us_syscalls_n_unknown(us_replay_syscalls(p->replay));
	ret->n_event = us_replay_n_event(p->replay);
	ret->n_function = p->names.n;
	int ended = end_format(p);
	return rc ? rc : ended;
}

void us_trace_printer_free(struct us_trace_printer *p)
{
	if (!p)
		return;
	end_format(p);
	us_replay_free(p->replay);
	for (size_t i = 0; i < p->names.n; i++)
		free(p->names.v[i]);
	free(p->names.v);
	free(p->shown.v);
	if (p->has_filter)
		regfree(&p->filter);
	if (p->has_hide)
		regfree(&p->hide);
	free(p);
}

/* ---- From a recording ---- */

static int on_function(void *ctx, uint32_t number, us_gva address)
{
	return us_trace_printer_function(ctx, number, address);
}

static int on_events(void *ctx, unsigned vcpu, const uint64_t *record, size_t n)
{
	return us_trace_printer_events(ctx, vcpu, record, n);
}

static int on_until(void *ctx, uint64_t t_ns)
{
	return us_trace_printer_until(ctx, t_ns);
}

static const struct us_reader_ops read_trace = { .event_function = on_function,
						 .events = on_events,
						 .events_until = on_until };

static uint64_t insn_ns(const struct us_profile *p)
{
	const char *text = us_profile_fact(p, "trace_insn_ns");
	uint64_t n = text ? strtoull(text, NULL, 10) : 0;
	return n > 1000000 ? 0 : n;
}

static int on_any(void *ctx, unsigned vcpu, const uint64_t *record, size_t n)
{
	(void)ctx, (void)vcpu, (void)record;
	return n ? -ECANCELED : 0;
}

static int fail_no_events(struct us_err *e)
{
	us_fail(e, -ENODATA, "replay: the recording has no trace");
	us_hint(e, "uniscope trace makes one; uniscope report shows profiles");
	return -ENODATA;
}

/* asked: the system calls that were to be traced; NULL: none.  when: there was none. */
static int fail_no_calls(const char *asked, const char *when, struct us_err *e)
{
	if (asked)
		return us_fail(e, -ENODATA, "replay: no system call was made %s", when);
	us_fail(e, -ENODATA, "replay: the trace has no system calls");
	us_hint(e, "uniscope trace --syscalls records them");
	return -ENODATA;
}

/* A format writes its header before the first event comes: look first whether there is
 * one. */
static int check_trace(int fd, const struct us_profile *p,
		       const struct us_trace_format *f, struct us_err *e)
{
	static const struct us_reader_ops any = { .events = on_any };
	struct us_reader_result result = { 0 };
	struct us_err why = { 0 };
	const char *calls = us_profile_fact(p, "trace_syscalls");
	int rc = us_read(fd, &any, NULL, &result, &why);
	if (lseek(fd, 0, SEEK_SET) < 0)
		return us_fail(e, -errno, "replay: rewind: %s", strerror(errno));
	bool alone = calls && !strcmp(calls, "alone");
	if (!rc && !alone && !(calls && f->of_calls))
		return fail_no_events(e);
	if (!rc || (f->of_calls && !calls))
		return fail_no_calls(calls, "while it was traced", e);
	return 0;
}

static int read_all(struct us_trace_printer *p, int fd,
		    struct us_trace_report_result *ret, struct us_err *e)
{
	struct us_reader_result result = { 0 };
	int rc = us_read(fd, &read_trace, p, &result, e);
	/* If the recording was cut, show what is there. */
	int ended = us_trace_printer_end(p, !rc, ret);
	ret->cut = !result.ended;
	rc = rc ? rc : ended;
	if (p->out.failed) { /* whatever us_read() calls it */
		us_fail(e, p->out.failed, "write the trace: %s",
			strerror(-p->out.failed));
		us_report_hint_space(-p->out.failed, e);
		return p->out.failed;
	}
	return rc && !e->code ? us_fail(e, rc, "replay: %s", strerror(-rc)) : rc;
}

int us_trace_report(int fd, const struct us_profile *p,
		    const struct us_trace_report_opts *o, FILE *out,
		    struct us_trace_report_result *ret, struct us_err *e)
{
	const struct us_trace_source s = { .symbols = us_profile_symbols(p),
					   .insn_ns = insn_ns(p),
					   .profile = p };
	struct us_trace_printer *printer;
	*ret = (struct us_trace_report_result){ 0 };
	int rc = check_trace(fd, p, o->format, e);
	if (!rc)
		rc = us_trace_printer_new(&s, o, out, &printer, e);
	if (rc)
		return rc;
	rc = read_all(printer, fd, ret, e);
	ret->none_passes = !printer->passed;
	ret->no_vcpu = o->replay.vcpu_mask && !(o->replay.vcpu_mask & printer->vcpus);
	us_trace_printer_free(printer);
	if (!rc && !ret->n_event)
		return fail_no_events(e);
	if (!rc && o->format->of_calls && !ret->n_call)
		return fail_no_calls(us_profile_fact(p, "trace_syscalls"),
				     "in what is shown", e);
	return rc || !out ? rc : us_report_flush(out, "trace", e);
}

const char *us_trace_stack_name(const struct us_trace_out *o, uint16_t stack)
{
	uint32_t root = us_replay_root(o->replay, stack);
	return root < o->n_name ? o->name[root] : "?";
}
