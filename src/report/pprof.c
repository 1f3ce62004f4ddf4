/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pprof.c: for `go tool pprof` and other readers of its format: message Profile of
 * google/pprof's proto/profile.proto, packed with gzip.
 *
 * Samples have labels: vcpu, state (guest, exit, ready), kind (kernel, user), guest
 * and, for a Linux guest, process, thread, comm and container.  Locations are addresses
 * in the guest's memory.  Names are included, so that no viewer has to look them up in
 * an image that it may not have.
 */
#include "report/report.h"

#include "base/cleanup.h"
#include "base/gzip.h"
#include "base/name_set.h"
#include "base/protobuf.h"
#include "base/text.h"
#include "profile/stacks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum profile_field {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING_TABLE = 6,
	PROFILE_TIME_NANOS = 9,
	PROFILE_DURATION_NANOS = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_SAMPLE_TYPE = 14,
};
enum value_type { TYPE_TYPE = 1, TYPE_UNIT = 2 };
enum sample_field { SAMPLE_LOCATION_ID = 1, SAMPLE_VALUE = 2, SAMPLE_LABEL = 3 };
enum label { LABEL_KEY = 1, LABEL_STR = 2 };
enum mapping {
	MAPPING_ID = 1,
	MAPPING_START = 2,
	MAPPING_LIMIT = 3,
	MAPPING_FILENAME = 5,
	MAPPING_BUILD_ID = 6,
	MAPPING_HAS_FUNCTIONS = 7,
	MAPPING_HAS_FILENAMES = 8,
	MAPPING_HAS_LINE_NUMBERS = 9,
	MAPPING_HAS_INLINE_FRAMES = 10,
};
enum location {
	LOCATION_ID = 1,
	LOCATION_MAPPING_ID = 2,
	LOCATION_ADDRESS = 3,
	LOCATION_LINE = 4,
};
enum line { LINE_FUNCTION_ID = 1, LINE_LINE = 2 };
enum function {
	FUNCTION_ID = 1,
	FUNCTION_NAME = 2,
	FUNCTION_SYSTEM_NAME = 3,
	FUNCTION_FILENAME = 4,
	FUNCTION_START_LINE = 5,
};

/* Strings are numbered in the order in which they are written. */
struct pprof {
	const struct us_profile *p;
	struct us_gzip zip;
	struct us_protobuf part, inner, item;
	uint64_t n_string;
	bool failed;
};

/* Fields of Profile, the file's one message. */
static void put(struct pprof *x, const struct us_protobuf *m)
{
	x->failed = x->failed || m->failed;
	if (!x->failed)
		us_gzip_write(&x->zip, m->v, m->n);
}

static void put_number(struct pprof *x, uint32_t field, uint64_t value)
{
	us_protobuf_u64(us_protobuf_clear(&x->part), field, value);
	put(x, &x->part);
}

static void put_inner(struct pprof *x, uint32_t field)
{
	us_protobuf_message(us_protobuf_clear(&x->part), field, &x->inner);
	put(x, &x->part);
}

static uint64_t put_string(struct pprof *x, const char *text)
{
	_cleanup_free_ char *safe = malloc(4 * strlen(text) + 1);
	if (safe)
		us_printable(safe, 4 * strlen(text) + 1, text);
	x->failed = x->failed || !safe;
	us_protobuf_str(us_protobuf_clear(&x->part), PROFILE_STRING_TABLE,
			safe ? safe : "");
	put(x, &x->part);
	return x->n_string++;
}

/* A string that may be missing: 0 is the empty string. */
static uint64_t put_if_any(struct pprof *x, const char *text)
{
	return text && *text ? put_string(x, text) : 0;
}

static void put_value_type(struct pprof *x, uint32_t field, const char *type,
			   const char *unit)
{
	uint64_t a = put_string(x, type), b = put_string(x, unit);
	us_protobuf_u64(us_protobuf_clear(&x->inner), TYPE_TYPE, a);
	us_protobuf_u64(&x->inner, TYPE_UNIT, b);
	put_inner(x, field);
}

static void put_types(struct pprof *x, uint64_t period)
{
	if (us_profile_is_counted(x->p)) {
		put_value_type(x, PROFILE_SAMPLE_TYPE, "calls", "count");
		if (!us_profile_is_calls_only(x->p))
			put_value_type(x, PROFILE_SAMPLE_TYPE, "instructions", "count");
		return;
	}
	put_value_type(x, PROFILE_SAMPLE_TYPE, "samples", "count");
	if (!period)
		return;
	put_value_type(x, PROFILE_SAMPLE_TYPE, "cpu", "nanoseconds");
	put_value_type(x, PROFILE_PERIOD_TYPE, "cpu", "nanoseconds");
	put_number(x, PROFILE_PERIOD, period);
}

static void put_time(struct pprof *x)
{
	const struct us_profile_summary *s = us_profile_summary(x->p);
	uint64_t started = us_report_started(x->p);
	if (started)
		put_number(x, PROFILE_TIME_NANOS, started * 1000000000);
	if (s->has_stats)
		put_number(x, PROFILE_DURATION_NANOS, s->stats.elapsed_ns);
}

static void put_comments(struct pprof *x)
{
	char line[1024];
	for (unsigned i = 0; us_report_header_line(x->p, i, line, sizeof(line)); i++)
		put_number(x, PROFILE_COMMENT, put_string(x, line));
	for (size_t i = 0; i < us_profile_n_warning(x->p); i++) {
		snprintf(line, sizeof(line), "warning: %s",
			 us_profile_warning(x->p, i));
		put_number(x, PROFILE_COMMENT, put_string(x, line));
	}
	us_report_summary_line(x->p, line, sizeof(line));
	put_number(x, PROFILE_COMMENT, put_string(x, line));
}

static uint64_t put_build_id(struct pprof *x, const struct us_module *m)
{
	char hex[2 * US_BUILD_ID_MAX + 1] = "";
	for (unsigned i = 0; i < m->build_id_len && i < US_BUILD_ID_MAX; i++)
		snprintf(hex + 2 * i, sizeof(hex) - 2 * i, "%02x", m->build_id[i]);
	return put_if_any(x, hex);
}

static void put_mappings(struct pprof *x)
{
	size_t n;
	const struct us_profile_module *m = us_profile_modules(x->p, &n);
	for (size_t i = 0; i < n; i++) {
		uint64_t file = put_if_any(x, m[i].m.path);
		uint64_t id = put_build_id(x, &m[i].m);
		struct us_protobuf *f = us_protobuf_clear(&x->inner);
		us_protobuf_u64(f, MAPPING_ID, i + 1);
		us_protobuf_u64(f, MAPPING_START, m[i].m.start);
		us_protobuf_u64(f, MAPPING_LIMIT, m[i].m.end);
		us_protobuf_u64(f, MAPPING_FILENAME, file);
		us_protobuf_u64(f, MAPPING_BUILD_ID, id);
		for (uint32_t has = MAPPING_HAS_FUNCTIONS;
		     has <= MAPPING_HAS_INLINE_FRAMES; has++)
			us_protobuf_u64(f, has, 1);
		put_inner(x, PROFILE_MAPPING);
	}
}

static void put_functions(struct pprof *x)
{
	size_t n;
	const struct us_profile_func *v = us_profile_funcs(x->p, &n);
	char full[US_PATH_SIZE];
	for (size_t i = 0; i < n; i++) {
		uint64_t name = put_string(x, v[i].name);
		/* If name and system name are equal, pprof removes parts in <>. */
		bool same = v[i].raw && !strcmp(v[i].raw, v[i].name);
		uint64_t raw = same ? 0 : put_if_any(x, v[i].raw);
		uint64_t file = put_if_any(
			x, v[i].file ? us_path_full(v[i].dir, v[i].file, full) : NULL);
		struct us_protobuf *f = us_protobuf_clear(&x->inner);
		us_protobuf_u64(f, FUNCTION_ID, i + 1);
		us_protobuf_u64(f, FUNCTION_NAME, name);
		us_protobuf_u64(f, FUNCTION_SYSTEM_NAME, raw);
		us_protobuf_u64(f, FUNCTION_FILENAME, file);
		us_protobuf_u64(f, FUNCTION_START_LINE, v[i].line);
		put_inner(x, PROFILE_FUNCTION);
	}
}

static void put_locations(struct pprof *x, const struct us_profile_stacks *all)
{
	for (size_t i = 0; i < all->n_place; i++) {
		const struct us_profile_place *at = &all->place[i];
		struct us_protobuf *f = us_protobuf_clear(&x->inner);
		us_protobuf_u64(f, LOCATION_ID, i + 1);
		if (at->module != US_STACK_NO_MODULE)
			us_protobuf_u64(f, LOCATION_MAPPING_ID, at->module + 1ULL);
		us_protobuf_u64(f, LOCATION_ADDRESS, at->pc);
		for (uint32_t k = 0; k < at->n; k++) {
			const struct us_profile_place_frame *s =
				&all->frame[at->first + k];
			us_protobuf_u64(us_protobuf_clear(&x->item), LINE_FUNCTION_ID,
					s->func + 1ULL);
			us_protobuf_u64(&x->item, LINE_LINE, s->line);
			us_protobuf_message(f, LOCATION_LINE, &x->item);
		}
		put_inner(x, PROFILE_LOCATION);
	}
}

/* Owners of samples: the numbers of their names in the string table. */
struct owner_labels {
	struct us_name_set names;
	uint64_t *number; /* of each name; 0: not written yet */
	size_t n;
};

/* The numbers of the strings in labels.  A vCPU is a string, too, because readers take
 * the number 0 for none. */
struct labels {
	uint64_t by[US_N_BY]; /* keys of the owner; 0: not known for any sample */
	struct owner_labels *owners;
	uint64_t vcpu, state, kind, guest; /* keys */
	uint64_t vcpus[US_MAX_VCPUS], states[US_N_VCPU_STATE], kinds[2];
	uint64_t title[US_PROFILE_MAX_RECORDINGS]; /* of each recording */
	uint64_t other_guests, other_vcpus;
};

static const char *title_of(const struct us_profile_recording *r)
{
	return r->guest ? r->guest : "a guest";
}

static struct labels put_labels(struct pprof *x)
{
	size_t n;
	struct labels l = { 0 };
	uint64_t seen = us_profile_summary(x->p)->vcpu_mask;
	char number[8];
	for (unsigned i = 0; i < US_MAX_VCPUS; i++) {
		snprintf(number, sizeof(number), "%u", i);
		if (seen >> i & 1)
			l.vcpus[i] = put_string(x, number);
	}
	l.vcpu = put_string(x, "vcpu");
	l.state = put_string(x, "state");
	l.kind = put_string(x, "kind");
	l.guest = put_string(x, "guest");
	l.states[US_VCPU_GUEST] = l.guest;
	l.states[US_VCPU_EXIT] = put_string(x, "exit");
	l.states[US_VCPU_READY] = put_string(x, "ready");
	for (int by = US_BY_PROCESS; by <= US_BY_CONTAINER; by++)
		if (us_profile_owners_known(x->p))
			l.by[by] = put_string(
				x, us_profile_by_name((enum us_profile_by)by));
	l.kinds[false] = put_string(x, "kernel");
	l.kinds[true] = put_string(x, "user");
	const struct us_profile_recording *rec = us_profile_recordings(x->p, &n);
	l.title[0] = put_string(x, n > 1 ? title_of(&rec[0]) : us_report_title(x->p));
	for (size_t i = 1; i < n; i++) {
		size_t same = 0;
		while (same < i && strcmp(title_of(&rec[same]), title_of(&rec[i])) != 0)
			same++;
		l.title[i] = same < i ? l.title[same]
				      : put_string(x, title_of(&rec[i]));
	}
	us_profile_lanes(x->p, &n);
	if (n == US_MAX_LANES) {
		l.other_guests = put_string(x, us_profile_lane_guest(x->p, n - 1));
		l.other_vcpus = put_string(x, "other");
	}
	return l;
}

static void add_label(struct pprof *x, uint64_t key, uint64_t value)
{
	us_protobuf_u64(us_protobuf_clear(&x->item), LABEL_KEY, key);
	us_protobuf_u64(&x->item, LABEL_STR, value);
	us_protobuf_message(&x->inner, SAMPLE_LABEL, &x->item);
}

static void add_values(struct pprof *x, const struct us_profile_stack *s,
		       uint64_t period)
{
	if (us_profile_is_counted(x->p)) {
		us_protobuf_u64(&x->inner, SAMPLE_VALUE, s->calls);
		if (!us_profile_is_calls_only(x->p))
			us_protobuf_u64(&x->inner, SAMPLE_VALUE, s->weight);
		return;
	}
	us_protobuf_u64(&x->inner, SAMPLE_VALUE, s->weight);
	if (period)
		us_protobuf_u64(&x->inner, SAMPLE_VALUE, s->weight * period);
}

static bool make_room(struct owner_labels *o, uint32_t at)
{
	size_t n = 2 * (at + 16ULL);
	if (at < o->n)
		return true;
	uint64_t *bigger = reallocarray(o->number, n, sizeof(*bigger));
	if (!bigger)
		return false;
	memset(bigger + o->n, 0, (n - o->n) * sizeof(*bigger));
	o->number = bigger;
	o->n = n;
	return true;
}

/* The string of a name, which is written once. */
static uint64_t put_once(struct pprof *x, struct owner_labels *o, const char *name)
{
	uint32_t at = us_name_set_at(&o->names, name);
	if (at == US_NAME_NONE || !make_room(o, at)) {
		x->failed = true;
		return 0;
	}
	if (!o->number[at])
		o->number[at] = put_string(x, name);
	return o->number[at];
}

/* Write the owner's strings before the sample that has them as labels. */
static void find_owner(struct pprof *x, const struct labels *l, uint32_t node,
		       uint64_t number[static US_N_BY])
{
	char name[US_OWNER_NAME];
	for (int by = US_BY_PROCESS; by <= US_BY_CONTAINER; by++)
		if (l->by[by])
			number[by] = put_once(
				x, l->owners,
				us_profile_owner_name(x->p, node,
						      (enum us_profile_by)by, name,
						      sizeof(name)));
}

static void put_samples(struct pprof *x, const struct us_profile_stacks *all,
			const struct labels *l, uint64_t period)
{
	bool counted = us_profile_is_counted(x->p);
	size_t n_lane;
	const struct us_profile_lane *lane = us_profile_lanes(x->p, &n_lane);
	for (size_t i = 0; i < all->n_stack; i++) {
		const struct us_profile_stack *s = &all->stack[i];
		uint64_t owner[US_N_BY] = { 0 };
		if (!counted)
			find_owner(x, l, s->node, owner);
		us_protobuf_clear(&x->inner);
		for (uint32_t k = 0; k < s->n; k++)
			us_protobuf_u64(&x->inner, SAMPLE_LOCATION_ID,
					all->path[s->first + k] + 1ULL);
		add_values(x, s, period);
		bool others = s->lane < n_lane && lane[s->lane].others;
		size_t recording = s->lane < n_lane ? lane[s->lane].recording : 0;
		add_label(x, l->guest, others ? l->other_guests : l->title[recording]);
		if (s->vcpu < US_MAX_VCPUS)
			add_label(x, l->vcpu,
				  others ? l->other_vcpus : l->vcpus[s->vcpu]);
		if (!counted) {
			add_label(x, l->state, l->states[s->state]);
			add_label(x, l->kind, l->kinds[s->user]);
		}
		for (int by = US_BY_PROCESS; by <= US_BY_CONTAINER; by++)
			if (owner[by])
				add_label(x, l->by[by], owner[by]);
		put_inner(x, PROFILE_SAMPLE);
	}
}

static void put_profile(struct pprof *x, const struct us_profile_stacks *all)
{
	uint64_t period = us_profile_period_ns(x->p);
	put_string(x, ""); /* number 0 */
	put_types(x, period);
	put_time(x);
	put_mappings(x);
	put_functions(x);
	put_locations(x, all);
	struct owner_labels owners = { 0 };
	struct labels l = put_labels(x);
	l.owners = &owners;
	put_samples(x, all, &l, period);
	us_name_set_fini(&owners.names);
	free(owners.number);
	put_comments(x);
	put_number(x, PROFILE_DEFAULT_SAMPLE_TYPE,
		   put_string(x, us_profile_unit(x->p)));
}

static int write_pprof(const struct us_profile *p, const struct us_report_opts *o,
		       FILE *out, struct us_err *e)
{
	struct pprof x = { .p = p };
	struct us_profile_stacks all;
	(void)o;
	if (us_profile_stacks(p, &all))
		return us_fail(e, -ENOMEM, "report: out of memory for the stacks");
	if (us_gzip_begin(&x.zip, out)) {
		us_profile_stacks_fini(&all);
		return us_fail(e, -ENOMEM, "report: out of memory");
	}
	put_profile(&x, &all);
	us_gzip_end(&x.zip);
	us_profile_stacks_fini(&all);
	us_protobuf_free(&x.part);
	us_protobuf_free(&x.inner);
	us_protobuf_free(&x.item);
	return x.failed ? us_fail(e, -ENOMEM, "report: out of memory") : 0;
}

const struct us_format us_format_pprof = {
	.name = "pprof",
	.suffix = ".pb.gz",
	.summary = "for go tool pprof, with vCPUs, states and threads as labels",
	.by_vcpu = true,
	.owners = true,
	.binary = true,
	.waits = true,
	.warns = true,
	.write = write_pprof,
};
