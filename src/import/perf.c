/* SPDX-License-Identifier: GPL-2.0-or-later */
/* import/perf.c: a guest's samples in a perf.data as a recording; see import.h. */
#include "import/import.h"
#include "import/kallsyms.h"
#include "import/perf_file.h"

#include "base/cleanup.h"
#include "base/vec.h"
#include "symbol/elf_file.h"
#include "symbol/elf_image.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_PIDS     64
#define MOST_EVENTS   8 /* that are told apart */
#define MOST_MODULES  4096
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
	unsigned n_module;
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
static int on_comm(void *ctx, uint32_t pid, uint32_t tid, const char *name)
{
	struct import *x = ctx;
	unsigned number;
	char rest[4];
	if (sscanf(name, "CPU %4u/%3s", &number, rest) != 2 || number >= US_MAX_VCPUS)
		return 0;
	struct vcpu *v = vcpu_of(x, pid, tid);
	if (v) {
		v->number = (uint16_t)number;
		v->told = true;
	}
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
	*d = (struct due){ s->time_ns, x->due.n, record };
	x->disordered |= x->due.n > 1 && x->due.v[x->due.n - 2].time_ns > s->time_ns;
	return 0;
}

/* ---- Images ---- */

/* The distance of a file from its linked addresses; m maps a part of it. */
static uint64_t bias_of(const struct us_elf_file *f, const struct us_perf_mapping *m)
{
	for (size_t i = 0; i < f->n_code; i++) {
		const struct us_elf_code *c = &f->code[i];
		if (c->offset >= m->offset && c->offset - m->offset < m->len)
			return m->start + (c->offset - m->offset) - c->start;
	}
	return m->start - m->offset;
}

static void look_at_file(const struct us_perf_mapping *m, struct us_module *ret)
{
	struct us_elf_image *image = NULL;
	size_t len = 0;
	if (us_elf_image_open(m->path, &image, NULL))
		return;
	ret->bias = bias_of(us_elf_image_file(image), m);
	const uint8_t *id = us_elf_image_build_id(image, &len);
	if (ret->build_id_len && len == ret->build_id_len &&
	    !memcmp(id, ret->build_id, len))
		ret->match = US_MATCH_YES;
	us_elf_image_close(image);
}

static int on_mapping(void *ctx, const struct us_perf_mapping *m)
{
	struct import *x = ctx;
	struct us_module out = { .start = m->start,
				 .end = m->start + m->len,
				 .bias = m->start - m->offset,
				 .build_id_len = m->build_id_len,
				 .path = m->path };
	if ((!x->o->all && !is_guest(m->mode)) || !m->executable || m->path[0] != '/' ||
	    m->path[1] == '/' || out.end < out.start ||
	    strlen(m->path) >= US_STORE_MAX_PATH || x->n_module == MOST_MODULES)
		return 0;
	if (m->build_id_len)
		memcpy(out.build_id, m->build_id, m->build_id_len);
	look_at_file(m, &out);
	out.number = ++x->n_module;
	return us_writer_module(x->w, &out, x->e);
}

/* ---- Samples, in the order of time ---- */

static int by_time(const void *a, const void *b)
{
	const struct due *x = a, *y = b;
	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* Innermost first, each with its flags. */
static size_t stack_of(const struct import *x, const struct us_perf_sample *s,
		       us_gva pc[US_MAX_FRAMES], uint8_t flags[US_MAX_FRAMES],
		       bool *ret_cut)
{
	bool user = s->mode == PERF_RECORD_MISC_GUEST_USER ||
		    s->mode == PERF_RECORD_MISC_USER;
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
		flags[n++] = user && !x->o->all ? US_PC_USER : 0;
	}
	if (!n && s->ip) {
		pc[0] = s->ip;
		flags[0] = user && !x->o->all ? US_PC_USER : 0;
		n = 1;
	}
	return n;
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
	if (!rc && !x->n_module && !x->o->kallsyms)
		rc = us_writer_fact(x->w, "symbols_note",
				    "perf knew no image of the guest; name it with "
				    "-e ELF, or import --kallsyms FILE",
				    x->e);
	snprintf(text, sizeof(text), "%u", x->n_pid ? x->pid[0] : 0);
	if (!rc && x->n_pid == 1)
		rc = us_writer_fact(x->w, "pid", text, x->e);
	return rc;
}

static int import(struct import *x)
{
	static const struct us_perf_ops ops = { .sample = on_sample,
						.mapping = on_mapping,
						.comm = on_comm,
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
		rc = write_facts(x);
	if (rc)
		return rc;
	if (names)
		us_writer_name_by(x->w,
				  &(struct us_namer){ us_kallsyms_text_name, names });
	rc = write_samples(x);
	if (!rc)
		rc = us_writer_flush(x->w, x->e);
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
	int rc = import(&x);
	free(x.due.v);
	free(x.vcpus.v);
	free(x.place);
	us_perf_fini(file);
	free(file);
	return rc;
}
