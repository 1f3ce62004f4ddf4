/* SPDX-License-Identifier: GPL-2.0-or-later */
/* import/perf.c: a guest's samples in a perf.data as a recording; see import.h. */
#include "import/import.h"
#include "import/kallsyms.h"
#include "import/perf_file.h"
#include "import/perf_images.h"
#include "import/perf_maps.h"

#include "base/cleanup.h"
#include "base/vec.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_PIDS     64
#define MOST_EVENTS   8 /* that are told apart */
#define MOST_THREADS  65536
#define PLACES	      (2 * MOST_THREADS)
#define CONTEXT_FIRST ((uint64_t)-4095) /* markers in call chains */
#define CONTEXT_USER  ((uint64_t)-512)
#define GUEST_USER    ((uint64_t)-2560)

struct import {
	const struct us_import_opts *o;
	struct us_import_result *ret;
	struct us_writer *w;
	struct us_err *e;
	struct us_perf_file *file;
	/* Samples in the order of the file, to be sorted by their times. */
	struct {
		struct due {
			uint64_t time_ns;
			size_t number; /* in the file */
			const uint8_t *record;
		} * v;
		size_t n, cap;
	} due;
	bool disordered;
	size_t n_record; /* read so far, of those whose order matters */
	/* What is mapped in the host's processes; what in all of them, or in the guest.
	 */
	struct us_perf_maps *maps;
	struct {
		struct area {
			struct us_perf_area a;
			bool of_process; /* so it is in maps, too */
		} * v;
		size_t n, cap;
	} areas;
	bool by_process; /* programs have their own mappings */
	struct us_perf_images images;
	uint32_t pid[MOST_PIDS]; /* that have samples */
	size_t n_pid;
	const struct us_perf_event *event[MOST_EVENTS]; /* that have samples */
	size_t n_event;
	struct {
		struct vcpu {
			uint32_t pid, tid;
			uint16_t number;
			bool told; /* by its thread's name; else in the order seen */
			bool used;
		} * v;
		size_t n, cap;
	} vcpus;
	uint32_t *place; /* PLACES, by hash: index in vcpus + 1; 0: free */
	unsigned n_vcpu; /* numbers that were assigned */
};

static int no_memory(struct us_err *e)
{
	us_fail(e, -ENOMEM, "import: out of memory");
	return -ENOMEM;
}

static bool is_guest(uint8_t mode)
{
	return mode == PERF_RECORD_MISC_GUEST_KERNEL ||
	       mode == PERF_RECORD_MISC_GUEST_USER;
}

static struct vcpu *vcpu_of(struct import *x, uint32_t pid, uint32_t tid)
{
	if (!x->place)
		x->place = calloc(PLACES, sizeof(*x->place));
	uint64_t hash = ((uint64_t)pid << 32 | tid) * 0x9e3779b97f4a7c15;
	size_t at = hash >> 32 & (PLACES - 1);
	for (; x->place && x->place[at]; at = (at + 1) & (PLACES - 1)) {
		struct vcpu *v = &x->vcpus.v[x->place[at] - 1];
		if (v->tid == tid && v->pid == pid)
			return v;
	}
	bool room = x->place && x->vcpus.n < MOST_THREADS;
	struct vcpu *v = room ? us_vec_push(&x->vcpus) : NULL;
	if (v) {
		*v = (struct vcpu){ .pid = pid, .tid = tid };
		x->place[at] = (uint32_t)x->vcpus.n;
	}
	return v;
}

/* QEMU's threads are "CPU 1/KVM". */
static void know_vcpu(struct import *x, const struct us_perf_comm *c)
{
	unsigned number;
	char rest[4];
	if (sscanf(c->name, "CPU %4u/%3s", &number, rest) != 2 ||
	    number >= US_MAX_VCPUS)
		return;
	struct vcpu *v = vcpu_of(x, c->pid, c->tid);
	if (v) {
		v->number = (uint16_t)number;
		v->told = true;
	}
}

static int on_comm(void *ctx, const struct us_perf_comm *c)
{
	struct import *x = ctx;
	know_vcpu(x, c);
	if (x->o->all && us_perf_maps_comm(x->maps, c, x->n_record++))
		return no_memory(x->e);
	return 0;
}

static int on_fork(void *ctx, const struct us_perf_fork *f)
{
	struct import *x = ctx;
	if (x->o->all && us_perf_maps_fork(x->maps, f, x->n_record++))
		return no_memory(x->e);
	return 0;
}

static int on_lost(void *ctx, uint64_t samples)
{
	struct import *x = ctx;
	x->ret->stats.lost += samples < UINT32_MAX ? samples : 0;
	return 0;
}

static int on_arch(void *ctx, const char *name)
{
	struct import *x = ctx;
	char arch[33];
	snprintf(arch, sizeof(arch), "%.32s", name);
	return us_writer_fact(x->w, "arch", arch, x->e);
}

static void know_pid(struct import *x, uint32_t pid)
{
	for (size_t i = 0; i < x->n_pid; i++)
		if (x->pid[i] == pid)
			return;
	if (x->n_pid < MOST_PIDS)
		x->pid[x->n_pid++] = pid;
}

static void know_event(struct import *x, const struct us_perf_event *event)
{
	for (size_t i = 0; i < x->n_event; i++)
		if (x->event[i]->number == event->number)
			return;
	if (x->n_event < MOST_EVENTS)
		x->event[x->n_event++] = event;
}

static int on_sample(void *ctx, const struct us_perf_sample *s, const uint8_t *record)
{
	struct import *x = ctx;
	if ((!x->o->all && !is_guest(s->mode)) || (x->o->pid && s->pid != x->o->pid) ||
	    (x->o->event && s->event->number != x->o->event)) {
		x->ret->left_out++;
		return 0;
	}
	know_pid(x, s->pid);
	know_event(x, s->event);
	struct due *d = us_vec_push(&x->due);
	if (!d)
		return no_memory(x->e);
	*d = (struct due){ s->time_ns, x->n_record++, record };
	x->disordered |= x->due.n > 1 && x->due.v[x->due.n - 2].time_ns > s->time_ns;
	return 0;
}

/* ---- Images ---- */

static int on_mapping(void *ctx, const struct us_perf_mapping *m)
{
	struct import *x = ctx;
	const struct us_perf_area area = { .start = m->start,
					   .end = m->start + m->len,
					   .offset = m->offset,
					   .path = m->path,
					   .build_id = m->build_id,
					   .build_id_len = m->build_id_len };
	size_t number = x->n_record++;
	bool of_process = x->o->all && m->mode == PERF_RECORD_MISC_USER &&
			  m->pid != UINT32_MAX;
	int rc = of_process ? us_perf_maps_mapping(x->maps, m, number) : 0;
	if (!rc && (x->o->all || is_guest(m->mode)) && m->executable &&
	    us_perf_area_has_file(&area) && area.end >= area.start) {
		struct area *slot = us_vec_push(&x->areas);
		rc = slot ? 0 : -ENOMEM;
		if (slot)
			*slot = (struct area){ area, of_process };
	}
	return rc ? no_memory(x->e) : 0;
}

/* ---- Samples, in the order of time ---- */

static int by_time(const void *a, const void *b)
{
	const struct due *x = a, *y = b;
	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* perf's samples of programs belong to their processes. */
static bool is_of_process(const struct import *x, const struct us_perf_sample *s)
{
	return x->by_process && !is_guest(s->mode) && s->pid && s->pid != UINT32_MAX;
}

/* Innermost first, each with its flags. */
static size_t stack_of(const struct import *x, const struct us_perf_sample *s,
		       us_gva pc[US_MAX_FRAMES], uint8_t flags[US_MAX_FRAMES],
		       bool *ret_cut)
{
	bool user = s->mode == PERF_RECORD_MISC_GUEST_USER ||
		    s->mode == PERF_RECORD_MISC_USER;
	bool told = !x->o->all || is_of_process(x, s);
	size_t n = 0;
	*ret_cut = false;
	for (uint64_t i = 0; i < s->n_chain; i++) {
		uint64_t at = us_perf_frame(s, i);
		if (at >= CONTEXT_FIRST) {
			user = at == CONTEXT_USER || at == GUEST_USER;
			continue;
		}
		if (n == US_MAX_FRAMES) {
			*ret_cut = true;
			break;
		}
		pc[n] = at;
		flags[n++] = user && told ? US_PC_USER : 0;
	}
	if (!n && s->ip) {
		pc[0] = s->ip;
		flags[0] = user && told ? US_PC_USER : 0;
		n = 1;
	}
	return n;
}

/* Add whose the stack is, also where the kernel alone ran for it. */
static int mark_space(struct import *x, const struct us_perf_sample *s, size_t number,
		      us_gva pc[US_MAX_FRAMES], uint8_t flags[US_MAX_FRAMES], size_t *n,
		      bool *ret_cut)
{
	us_gpa root = us_perf_maps_root(x->maps, s->pid, s->time_ns, number);
	if (!root)
		return no_memory(x->e);
	*ret_cut |= *n == US_MAX_FRAMES;
	size_t at = *n < US_MAX_FRAMES ? (*n)++ : US_MAX_FRAMES - 1;
	pc[at] = root;
	flags[at] = US_PC_SPACE;
	return 0;
}

/* A sample taken at a frequency counts as one; else one of several periods counts as
 * that many. */
static uint32_t weight_of(const struct us_perf_sample *s)
{
	uint64_t unit = s->event->period ? s->event->period : 1;
	uint64_t n = s->event->freq ? 1 : s->period / unit;
	return n < 1 ? 1 : n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

/* A number that no other thread has, if there is one. */
static uint16_t number_of(struct import *x, struct vcpu *v)
{
	if (!v->used && !v->told)
		v->number = (uint16_t)(x->n_vcpu < US_MAX_VCPUS ? x->n_vcpu
								: US_MAX_VCPUS - 1);
	if (v->number >= x->n_vcpu)
		x->n_vcpu = v->number + 1U;
	v->used = true;
	return v->number;
}

static int write_sample(struct import *x, const struct due *d, uint64_t first_ns)
{
	struct us_perf_sample s;
	us_gva pc[US_MAX_FRAMES];
	uint8_t flags[US_MAX_FRAMES];
	bool cut;
	int rc = us_perf_again(x->file, d->record, &s);
	if (rc)
		return rc;
	struct vcpu *v = vcpu_of(x, s.pid, s.tid);
	if (!v)
		return no_memory(x->e);
	size_t n = stack_of(x, &s, pc, flags, &cut);
	if (n && is_of_process(x, &s))
		rc = mark_space(x, &s, d->number, pc, flags, &n, &cut);
	if (rc)
		return rc;
	struct us_sample out = { .t_ns = s.time_ns - first_ns,
				 .vcpu = number_of(x, v),
				 .state = US_VCPU_GUEST,
				 .end = !n    ? US_END_NONE
					: cut ? US_END_DEPTH
					      : US_END_ROOT,
				 .weight = weight_of(&s) };
	x->ret->samples += out.weight;
	x->ret->cut_stacks += cut ? out.weight : 0;
	return us_writer_sample(x->w, &out, pc, flags, n, x->e);
}

static int write_samples(struct import *x)
{
	struct us_record_stats *stats = &x->ret->stats;
	int rc = 0;
	if (x->disordered)
		qsort(x->due.v, x->due.n, sizeof(*x->due.v), by_time);
	uint64_t first = x->due.v[0].time_ns;
	for (size_t i = 0; i < x->due.n && !rc; i++)
		rc = write_sample(x, &x->due.v[i], first);
	stats->elapsed_ns = x->due.v[x->due.n - 1].time_ns - first;
	stats->running = x->ret->samples;
	stats->truncated = x->ret->cut_stacks;
	stats->due = stats->running + stats->lost;
	return rc;
}

/* ---- Which guest ---- */

static int no_samples(const struct import *x)
{
	const char *hint = "perf kvm --guest record takes them";
	if (x->ret->left_out)
		hint = us_perf_is_by_perf(x->file)
			       ? "perf kvm --guest record takes them; --all imports "
				 "the host's samples"
			       : "perf itself did not write it; if uniscope report -f "
				 "perf did, --all imports all of it";
	us_fail(x->e, -ENODATA, "import: the file has no samples of a guest");
	us_hint(x->e, "%s", hint);
	return -ENODATA;
}

static int check_pids(const struct import *x)
{
	char list[256] = "";
	size_t at = 0;
	if (!x->due.n)
		return no_samples(x);
	if (x->n_pid < 2 || x->o->all)
		return 0;
	for (size_t i = 0; i < x->n_pid && at < sizeof(list) - 16; i++)
		at += (size_t)snprintf(list + at, sizeof(list) - at, "%s%u",
				       i ? ", " : "", x->pid[i]);
	us_fail(x->e, -EINVAL,
		"import: the file has several guests in it: processes %s", list);
	us_hint(x->e, "choose one with --pid PID");
	return -EINVAL;
}

static void name_event(const struct us_perf_event *event, char *ret, size_t size)
{
	static const char *const hardware[] = {
		"cycles",   "instructions",  "cache-references", "cache-misses",
		"branches", "branch-misses", "bus-cycles",
	};
	static const char *const software[] = {
		"cpu-clock",	    "task-clock",     "page-faults",
		"context-switches", "cpu-migrations",
	};
	bool hard = event->kind == PERF_TYPE_HARDWARE;
	const char *const *names = hard ? hardware : software;
	size_t n = hard ? sizeof(hardware) / sizeof(*hardware)
			: sizeof(software) / sizeof(*software);
	if ((hard || event->kind == PERF_TYPE_SOFTWARE) && event->config < n)
		snprintf(ret, size, "%u (%s)", event->number, names[event->config]);
	else
		snprintf(ret, size, "%u (type %u, config 0x%" PRIx64 ")", event->number,
			 event->kind, event->config);
}

/* What they count is not the same, so it cannot be added. */
static int check_events(const struct import *x)
{
	char list[384] = "", name[64];
	size_t at = 0;
	if (x->n_event < 2)
		return 0;
	for (size_t i = 0; i < x->n_event && at < sizeof(list) - sizeof(name) - 2;
	     i++) {
		name_event(x->event[i], name, sizeof(name));
		at += (size_t)snprintf(list + at, sizeof(list) - at, "%s%s",
				       i ? ", " : "", name);
	}
	us_fail(x->e, -EINVAL, "import: the file has samples of several events: %s",
		list);
	us_hint(x->e, "choose one with --event NUMBER");
	return -EINVAL;
}

static int write_facts(struct import *x)
{
	char text[16];
	int rc = us_writer_fact(x->w, "target", x->o->name, x->e);
	if (!rc)
		rc = us_writer_fact(x->w, "backend", "perf", x->e);
	if (!rc)
		rc = us_writer_fact(x->w, "how", "imported", x->e);
	/* perf knows images of a guest only if the user named them, and only those of
	 * Linux. */
	if (!rc && !x->areas.n && !x->o->kallsyms)
		rc = us_writer_fact(x->w, "symbols_note",
				    "perf knew no image of the guest; name it with "
				    "-e ELF, or import --kallsyms FILE",
				    x->e);
	snprintf(text, sizeof(text), "%u", x->n_pid ? x->pid[0] : 0);
	if (!rc && x->n_pid == 1)
		rc = us_writer_fact(x->w, "pid", text, x->e);
	return rc;
}

/* What has no process, or where all have the same. */
static int write_areas(struct import *x)
{
	int rc = 0;
	for (size_t i = 0; i < x->areas.n && !rc; i++)
		if (!x->by_process || !x->areas.v[i].of_process)
			rc = us_perf_images_write(&x->images, &x->areas.v[i].a, 0, x->w,
						  x->e);
	return rc;
}

static int write_limits(struct import *x)
{
	char text[64];
	int rc = 0;
	for (unsigned k = 0; k < US_N_LIMITS && !rc; k++) {
		if (!x->ret->limits.hit[k].n)
			continue;
		us_limit_value(&x->ret->limits, k, text, sizeof(text));
		rc = us_writer_fact(x->w, us_limit_key(k), text, x->e);
	}
	return rc;
}

/* perf's own files tell who had which mappings, and so does one that cannot be read
 * otherwise; what `uniscope report -f perf` makes of a guest is as one program. */
static int choose_by_process(struct import *x)
{
	us_perf_maps_sort(x->maps);
	x->by_process = x->o->all && us_perf_is_by_perf(x->file);
	if (x->o->all && !x->by_process && us_perf_maps_clash(x->maps, &x->by_process))
		return no_memory(x->e);
	return 0;
}

static int write_all(struct import *x)
{
	int rc = write_areas(x);
	if (!rc && x->by_process)
		us_writer_see_programs(
			x->w, &(struct us_program_seer){ us_perf_maps_see, x->maps });
	if (!rc)
		rc = write_samples(x);
	if (!rc)
		rc = us_writer_flush(x->w, x->e);
	us_writer_see_programs(x->w, &(struct us_program_seer){ 0 });
	if (!rc && x->by_process)
		rc = us_perf_maps_write(x->maps, &x->images, x->w, x->e);
	return rc ? rc : write_limits(x);
}

static int import(struct import *x)
{
	static const struct us_perf_ops ops = { .sample = on_sample,
						.mapping = on_mapping,
						.comm = on_comm,
						.fork = on_fork,
						.lost = on_lost,
						.arch = on_arch };
	_cleanup_(us_kallsyms_text_freep) struct us_kallsyms_text *names = NULL;
	int rc = x->o->kallsyms ? us_kallsyms_text_read(x->o->kallsyms, &names, x->e)
				: 0;
	if (!rc)
		rc = us_perf_read(x->file, &ops, x, x->e);
	if (!rc)
		rc = check_pids(x);
	if (!rc)
		rc = check_events(x);
	if (!rc)
		rc = choose_by_process(x);
	if (!rc)
		rc = write_facts(x);
	if (rc)
		return rc;
	if (names)
		us_writer_name_by(x->w,
				  &(struct us_namer){ us_kallsyms_text_name, names });
	rc = write_all(x);
	us_writer_name_by(x->w, &(struct us_namer){ 0 });
	return rc;
}

bool us_import_is_perf(const uint8_t *bytes, size_t n)
{
	return n >= 8 &&
	       (!memcmp(bytes, "PERFILE2", 8) || !memcmp(bytes, "2ELIFREP", 8));
}

int us_import_perf(const uint8_t *bytes, size_t n, const struct us_import_opts *o,
		   struct us_writer *w, struct us_import_result *ret, struct us_err *e)
{
	struct us_err sink;
	*ret = (struct us_import_result){ 0 };
	e = e ? e : &sink;
	struct us_perf_file *file = calloc(1, sizeof(*file));
	if (!file)
		return no_memory(e);
	file->bytes = bytes;
	file->n = n;
	struct import x = { .o = o, .ret = ret, .w = w, .e = e, .file = file };
	x.images.limits = &ret->limits;
	int rc = us_perf_maps_new(&ret->limits, &x.maps) ? no_memory(e) : import(&x);
	us_perf_maps_free(x.maps);
	us_perf_images_fini(&x.images);
	free(x.areas.v);
	free(x.due.v);
	free(x.vcpus.v);
	free(x.place);
	us_perf_fini(file);
	free(file);
	return rc;
}
