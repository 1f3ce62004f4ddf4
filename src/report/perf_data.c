/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf_data.c: for perf report, perf script and perf annotate, and all other readers of
 * perf.data (Linux, tools/perf/Documentation/perf.data-file-format.txt).
 *
 * A guest is a process, its vCPUs are threads.  A Linux guest whose threads are known
 * has its own processes and threads, with their numbers.  Images, also those of a
 * kernel, are mapped in them with their build-ids, so that perf finds symbols and code
 * itself.  The states of vCPUs are separate events: guest, exit, ready.  Each sample
 * has its time.  If there are more than TIMES_MOST, each distinct stack of a vCPU is
 * one sample, whose period is the number of samples with it.
 *
 * Images in only one of several address spaces are left out: perf knows only one.
 */
#include "report/report.h"

#include "base/cleanup.h"
#include "base/pair_map.h"
#include "base/text.h"
#include "profile/stacks.h"
#include "profile/timeline.h"
#include "symbol/elf_file.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#define PID_OF(recording) (1000U * ((recording) + 1U))
/* If the guest's own numbers are shown, the pid of samples without an owner: above all
 * others (include/linux/threads.h, PID_MAX_LIMIT). */
#define PID_OF_NOBODY  (4U << 20)
#define PAGE	       4096U
#define ALIGNED(n, to) (((n) + (to)-1) / (to) * (to))
#define NAME_ALIGN     64U /* of perf's strings */
#define BUILD_ID_SIZED (1U << 15)
#define MMAP_BUILD_ID  (1U << 14)
#define CONTEXT_USER   ((uint64_t)-512)
#define SAMPLE_TYPE                                                                    \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |                   \
	 PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |                     \
	 PERF_SAMPLE_CALLCHAIN)
#define FEATURE_BUILD_ID   2
#define FEATURE_ARCH	   6
#define FEATURE_EVENT_DESC 12
#define N_EVENT		   3
#define TIMES_MOST	   (1U << 20) /* samples: some 200 bytes each */

struct section {
	uint64_t offset, size;
};

struct file_header {
	char magic[8];
	uint64_t size, attr_size;
	struct section attrs, data, event_types;
	uint64_t features[4];
};

struct file_attr {
	struct perf_event_attr attr;
	struct section ids;
};

/* A record, or a part of a section, that is being put together. */
struct part {
	uint8_t v[8192];
	size_t n;
};

struct perf_data {
	const struct us_profile *p;
	struct us_profile_stacks all;
	FILE *out; /* NULL: only count the bytes */
	uint64_t bytes;
	bool has_event[N_EVENT]; /* by the state of vCPUs */
	const struct us_profile_recording *recording;
	const struct us_profile_module *module;
	const struct us_profile_lane *lane;
	size_t n_recording, n_module, n_lane;
	/* If samples have times: the stack of each key, and the position in each lane.
	 */
	uint32_t *stack_of; /* + 1; 0: none that is shown */
	size_t n_stack_of;
	struct turn {
		struct us_timeline_cursor at;
		struct us_timeline_sample next;
		bool some;
	} * turn;
};

static const struct {
	const char *name;
	uint8_t state;
} events[N_EVENT] = { { "guest", US_VCPU_GUEST },
		      { "exit", US_VCPU_EXIT },
		      { "ready", US_VCPU_READY } };

static void add(struct part *r, const void *bytes, size_t n)
{
	if (n > sizeof(r->v) - r->n)
		n = sizeof(r->v) - r->n;
	memcpy(r->v + r->n, bytes, n);
	r->n += n;
}

static void add_u32(struct part *r, uint32_t value)
{
	add(r, &value, sizeof(value));
}

static void add_u64(struct part *r, uint64_t value)
{
	add(r, &value, sizeof(value));
}

/* A name with its NUL and zeros up to a multiple. */
static void add_padded(struct part *r, const char *text, size_t to)
{
	static const char zeros[NAME_ALIGN];
	size_t n = strlen(text) + 1;
	add(r, text, n);
	add(r, zeros, ALIGNED(n, to) - n);
}

static void put(struct perf_data *x, const struct part *r)
{
	if (x->out)
		fwrite(r->v, 1, r->n, x->out);
	x->bytes += r->n;
}

/* The first eight bytes of a record are its type and length. */
static void put_record(struct perf_data *x, struct part *r, uint32_t type,
		       uint16_t misc)
{
	struct perf_event_header h = { type, misc, (uint16_t)r->n };
	memcpy(r->v, &h, sizeof(h));
	put(x, r);
}

static struct part record(void)
{
	struct part r;
	r.n = sizeof(struct perf_event_header);
	memset(r.v, 0, r.n);
	return r;
}

/* ---- Processes and what is mapped in them ---- */

static void put_comm(struct perf_data *x, uint32_t pid, uint32_t tid, const char *name)
{
	char comm[16];
	struct part r = record();
	us_printable(comm, sizeof(comm), name);
	add_u32(&r, pid);
	add_u32(&r, tid);
	add_padded(&r, comm, 8);
	put_record(x, &r, PERF_RECORD_COMM, 0);
}

static void put_mapping(struct perf_data *x, uint32_t pid, const struct us_module *m,
			const char *path, uint64_t start, uint64_t end, uint64_t offset)
{
	uint64_t before = start % PAGE; /* perf rounds as the kernel maps: to pages */
	struct part r = record();
	before = before < offset ? before : offset;
	add_u32(&r, pid);
	add_u32(&r, pid);
	add_u64(&r, start - before);
	add_u64(&r, end - start + before);
	add_u64(&r, offset - before);
	uint8_t id[24] = { m->build_id_len };
	memcpy(id + 4, m->build_id, US_BUILD_ID_MAX);
	add(&r, id, sizeof(id));
	add_u32(&r, 5); /* readable, executable */
	add_u32(&r, 2); /* private */
	add_padded(&r, path, 8);
	put_record(x, &r, PERF_RECORD_MMAP2,
		   PERF_RECORD_MISC_USER | (m->build_id_len ? MMAP_BUILD_ID : 0));
}

/* The current path of an image's file, as far as it is known. */
static void path_of(const struct us_module *m, char dst[static US_STORE_MAX_PATH])
{
	char *whole = realpath(m->path, NULL);
	snprintf(dst, US_STORE_MAX_PATH, "%s", whole ? whole : m->path);
	free(whole);
}

static void put_image(struct perf_data *x, uint32_t pid, const struct us_module *m)
{
	char path[US_STORE_MAX_PATH];
	struct us_elf_image *image = NULL;
	path_of(m, path);
	if (us_elf_image_open(path, &image, NULL)) {
		put_mapping(x, pid, m, path, m->start, m->end, 0);
		return;
	}
	const struct us_elf_file *f = us_elf_image_file(image);
	for (size_t i = 0; i < f->n_code; i++)
		put_mapping(x, pid, m, path, f->code[i].start + m->bias,
			    f->code[i].end + m->bias, f->code[i].offset);
	us_elf_image_close(image);
}

static bool is_mapped(const struct perf_data *x, const struct us_profile_module *m,
		      size_t recording)
{
	if (m->m.root || m->m.match == US_MATCH_NO || m->m.end <= m->m.start)
		return false;
	return m->recording == US_PROFILE_ANY_RECORDING ||
	       x->recording[m->recording].layout == x->recording[recording].layout;
}

static uint32_t nobody(const struct perf_data *x, uint32_t recording)
{
	return PID_OF(recording) + (us_profile_owners_known(x->p) ? PID_OF_NOBODY : 0);
}

/* The process of a lane's samples without an owner. */
static uint32_t pid_of_lane(const struct perf_data *x, size_t lane)
{
	if (lane >= x->n_lane)
		return nobody(x, 0);
	return nobody(x, x->lane[lane].others ? (uint32_t)x->n_recording
					      : x->lane[lane].recording);
}

/* Of several guests, so nothing is mapped in it. */
static void put_others(struct perf_data *x)
{
	size_t last = x->n_lane - 1;
	if (!x->n_lane || !x->lane[last].others)
		return;
	uint32_t pid = pid_of_lane(x, last);
	put_comm(x, pid, pid, us_profile_lane_guest(x->p, last));
	put_comm(x, pid, pid + 1 + x->lane[last].vcpu, "other vCPUs");
}

static void put_processes(struct perf_data *x)
{
	put_others(x);
	for (size_t i = 0; i < x->n_recording; i++) {
		uint32_t pid = nobody(x, (uint32_t)i);
		const char *guest = x->n_recording > 1 ? x->recording[i].guest
						       : us_report_title(x->p);
		guest = guest ? guest : "a guest";
		put_comm(x, pid, pid, guest);
		for (size_t k = 0; k < x->n_lane; k++)
			if (x->lane[k].recording == i && !x->lane[k].others)
				put_comm(x, pid, pid + 1 + x->lane[k].vcpu, guest);
		if (!x->n_lane) /* of counts */
			put_comm(x, pid, pid + 1, guest);
		for (size_t k = 0; k < x->n_module; k++)
			if (is_mapped(x, &x->module[k], i))
				put_image(x, pid, &x->module[k].m);
	}
}

/* True on the first call for each pair. */
static bool is_new(struct us_pair_map *seen, uint32_t pid, uint64_t tid)
{
	uint32_t *slot = us_pair_map_at(seen, pid, tid);
	if (!slot || *slot)
		return false;
	*slot = 1;
	return true;
}

/* Each process of the guest with what is mapped in all of them, and its named threads.
 */
static void put_owners(struct perf_data *x)
{
	struct us_pair_map seen = { 0 };
	struct us_profile_owner w;
	for (size_t i = 0; i < x->all.n_stack; i++) {
		if (!us_profile_owner_of(x->p, x->all.stack[i].node, &w))
			continue;
		if (is_new(&seen, w.tgid, UINT64_MAX)) {
			put_comm(x, w.tgid, w.tgid, w.process);
			for (size_t k = 0; k < x->n_module; k++)
				if (is_mapped(x, &x->module[k], 0))
					put_image(x, w.tgid, &x->module[k].m);
		}
		if (w.comm && w.pid != w.tgid && is_new(&seen, w.tgid, w.pid))
			put_comm(x, w.tgid, w.pid, w.comm);
	}
	us_pair_map_fini(&seen);
}

/* ---- Samples ---- */

static size_t event_of(uint8_t state)
{
	return state == US_VCPU_EXIT ? 1 : state == US_VCPU_READY ? 2 : 0;
}

/* Events that do not occur get no number. */
static uint64_t id_of(const struct perf_data *x, size_t event)
{
	uint64_t id = 1;
	for (size_t i = 0; i < event; i++)
		id += x->has_event[i];
	return id;
}

/* A sample of a vCPU; lane and weight may differ from the stack's. */
static void put_sample(struct perf_data *x, const struct us_profile_stack *s,
		       size_t lane, uint64_t weight, uint64_t time)
{
	uint64_t chain[US_MAX_FRAMES + US_MAX_HOST_FRAMES + 2] = { CONTEXT_USER };
	uint64_t n = 1;
	struct part r = record();
	for (uint32_t i = 0; i < s->n && n < sizeof(chain) / sizeof(*chain); i++) {
		us_gva pc = x->all.place[x->all.path[s->first + i]].pc;
		if (pc)
			chain[n++] = pc;
	}
	bool known = lane < x->n_lane;
	uint32_t vcpu = known ? x->lane[lane].vcpu : 0;
	uint32_t pid = pid_of_lane(x, lane);
	struct us_profile_owner w;
	bool owned = us_profile_owners_known(x->p) &&
		     us_profile_owner_of(x->p, s->node, &w);
	add_u64(&r, id_of(x, event_of(s->state)));
	add_u64(&r, n > 1 ? chain[1] : 0);
	add_u32(&r, owned ? w.tgid : pid);
	add_u32(&r, owned ? w.comm ? w.pid : w.tgid : pid + 1 + vcpu);
	add_u64(&r, time);
	add_u32(&r, vcpu);
	add_u32(&r, 0);
	add_u64(&r, weight);
	add_u64(&r, n);
	add(&r, chain, n * sizeof(*chain));
	put_record(x, &r, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
}

/* Without times, increasing numbers keep the order. */
static void put_stacks(struct perf_data *x)
{
	for (size_t i = 0; i < x->all.n_stack; i++) {
		const struct us_profile_stack *s = &x->all.stack[i];
		if (s->weight)
			put_sample(x, s, s->lane, s->weight, i + 1);
	}
}

static void take_turn(struct perf_data *x, size_t lane)
{
	struct turn *t = &x->turn[lane];
	do
		t->some = us_timeline_next(&t->at, &t->next);
	while (t->some && !t->next.node);
}

/* The samples of all vCPUs, in the order of their times. */
static void put_samples(struct perf_data *x)
{
	for (size_t i = 0; i < x->n_lane; i++) {
		x->turn[i].at = us_timeline_of(x->p, i);
		take_turn(x, i);
	}
	for (;;) {
		size_t first = x->n_lane;
		for (size_t i = 0; i < x->n_lane; i++)
			if (x->turn[i].some &&
			    (first == x->n_lane ||
			     x->turn[i].next.t_ns < x->turn[first].next.t_ns))
				first = i;
		if (first == x->n_lane)
			return;
		const struct us_timeline_sample *m = &x->turn[first].next;
		uint32_t s = m->key < x->n_stack_of ? x->stack_of[m->key] : 0;
		if (s)
			put_sample(x, &x->all.stack[s - 1], first, m->weight, m->t_ns);
		take_turn(x, first);
	}
}

static void put_data(struct perf_data *x)
{
	put_processes(x);
	if (us_profile_owners_known(x->p))
		put_owners(x);
	if (x->turn)
		put_samples(x);
	else
		put_stacks(x);
}

/* 0 or -ENOMEM; x->turn stays NULL if there are no times. */
static int know_times(struct perf_data *x)
{
	uint64_t n = 0;
	for (size_t i = 0; i < x->n_lane; i++)
		n += us_timeline_count(x->p, i);
	for (size_t i = 0; i < x->all.n_stack; i++)
		if (x->all.stack[i].key >= x->n_stack_of)
			x->n_stack_of = (size_t)x->all.stack[i].key + 1;
	if (!n || !x->n_stack_of)
		return 0;
	x->stack_of = calloc(x->n_stack_of, sizeof(*x->stack_of));
	x->turn = x->stack_of ? calloc(x->n_lane, sizeof(*x->turn)) : NULL;
	if (!x->turn)
		return -ENOMEM;
	for (size_t i = 0; i < x->all.n_stack; i++)
		x->stack_of[x->all.stack[i].key] = (uint32_t)i + 1;
	return 0;
}

/* ---- The file around them ---- */

static struct perf_event_attr attr(void)
{
	return (struct perf_event_attr){ .type = PERF_TYPE_SOFTWARE,
					 .size = sizeof(struct perf_event_attr),
					 .config = PERF_COUNT_SW_CPU_CLOCK,
					 .sample_period = 1,
					 .sample_type = SAMPLE_TYPE,
					 .mmap = 1,
					 .mmap2 = 1,
					 .comm = 1 };
}

static void put_build_ids(struct perf_data *x)
{
	char path[US_STORE_MAX_PATH];
	for (size_t i = 0; i < x->n_module; i++) {
		const struct us_module *m = &x->module[i].m;
		struct part r = record();
		uint8_t id[24] = { 0 };
		if (!m->build_id_len || m->build_id_len > US_BUILD_ID_MAX)
			continue;
		path_of(m, path);
		memcpy(id, m->build_id, m->build_id_len);
		id[20] = m->build_id_len;
		add_u32(&r, UINT32_MAX); /* -1: of any process */
		add(&r, id, sizeof(id));
		add_padded(&r, path, NAME_ALIGN);
		put_record(x, &r, 0, PERF_RECORD_MISC_USER | BUILD_ID_SIZED);
	}
}

static void add_string(struct part *r, const char *text)
{
	add_u32(r, (uint32_t)ALIGNED(strlen(text) + 1, NAME_ALIGN));
	add_padded(r, text, NAME_ALIGN);
}

static void put_arch(struct perf_data *x)
{
	struct part r = { .n = 0 };
	const char *arch = us_profile_fact(x->p, "arch");
	char safe[NAME_ALIGN];
	add_string(&r, us_printable(safe, sizeof(safe), arch ? arch : "x86_64"));
	put(x, &r);
}

static void put_event_names(struct perf_data *x)
{
	struct part r = { .n = 0 };
	struct perf_event_attr a = attr();
	add_u32(&r, (uint32_t)(id_of(x, N_EVENT) - 1));
	add_u32(&r, sizeof(a));
	for (size_t i = 0; i < N_EVENT; i++) {
		if (!x->has_event[i])
			continue;
		add(&r, &a, sizeof(a));
		add_u32(&r, 1);
		add_string(&r, events[i].name);
		add_u64(&r, id_of(x, i));
	}
	put(x, &r);
}

static const struct {
	unsigned number; /* ascending, as the file has them */
	void (*put)(struct perf_data *x);
} features[] = { { FEATURE_BUILD_ID, put_build_ids },
		 { FEATURE_ARCH, put_arch },
		 { FEATURE_EVENT_DESC, put_event_names } };
#define N_FEATURE (sizeof(features) / sizeof(*features))

static uint64_t size_of(struct perf_data *x, void (*what)(struct perf_data *x))
{
	FILE *out = x->out;
	uint64_t before = x->bytes;
	x->out = NULL;
	what(x);
	uint64_t size = x->bytes - before;
	x->out = out;
	x->bytes = before;
	return size;
}

/* The header, each event with its number, and the numbers. */
static void put_head(struct perf_data *x)
{
	uint64_t n = id_of(x, N_EVENT) - 1;
	uint64_t ids = sizeof(struct file_header) + n * sizeof(struct file_attr);
	struct file_header h = {
		.magic = "PERFILE2",
		.size = sizeof(h),
		.attr_size = sizeof(struct file_attr),
		.attrs = { sizeof(h), n * sizeof(struct file_attr) },
		.data = { ids + n * sizeof(uint64_t), size_of(x, put_data) },
	};
	struct part r = { .n = 0 };
	for (size_t i = 0; i < N_FEATURE; i++)
		h.features[0] |= 1ULL << features[i].number;
	add(&r, &h, sizeof(h));
	for (uint64_t i = 0; i < n; i++) {
		struct file_attr a = {
			attr(), { ids + i * sizeof(uint64_t), sizeof(uint64_t) }
		};
		add(&r, &a, sizeof(a));
	}
	for (uint64_t i = 0; i < n; i++)
		add_u64(&r, i + 1);
	put(x, &r);
}

static void put_features(struct perf_data *x)
{
	struct part r = { .n = 0 };
	uint64_t at = x->bytes + N_FEATURE * sizeof(struct section);
	for (size_t i = 0; i < N_FEATURE; i++) {
		struct section s = { at, size_of(x, features[i].put) };
		add(&r, &s, sizeof(s));
		at += s.size;
	}
	put(x, &r);
	for (size_t i = 0; i < N_FEATURE; i++)
		features[i].put(x);
}

static int write_perf_data(const struct us_profile *p, const struct us_report_opts *o,
			   FILE *out, struct us_err *e)
{
	struct perf_data x = { .p = p, .out = out };
	(void)o;
	if (us_profile_stacks(p, &x.all))
		return us_fail(e, -ENOMEM, "report: out of memory for the stacks");
	x.recording = us_profile_recordings(p, &x.n_recording);
	x.module = us_profile_modules(p, &x.n_module);
	x.lane = us_profile_lanes(p, &x.n_lane);
	if (know_times(&x)) {
		us_profile_stacks_fini(&x.all);
		free(x.stack_of);
		return us_fail(e, -ENOMEM, "report: out of memory for the samples");
	}
	x.has_event[0] = true; /* a file needs at least one event */
	for (size_t i = 0; i < x.all.n_stack; i++)
		x.has_event[event_of(x.all.stack[i].state)] = true;
	put_head(&x);
	put_data(&x);
	put_features(&x);
	us_profile_stacks_fini(&x.all);
	free(x.stack_of);
	free(x.turn);
	return 0;
}

/* Does perf find a name for it?  It reads names from files that are mapped. */
static bool has_image(const struct perf_data *x, const struct us_profile_stack *s)
{
	size_t recording = s->lane < x->n_lane ? x->lane[s->lane].recording : 0;
	us_gva pc = x->all.place[x->all.path[s->first]].pc;
	bool others = s->lane < x->n_lane && x->lane[s->lane].others;
	for (size_t i = 0; i < x->n_module && !others; i++) {
		const struct us_module *m = &x->module[i].m;
		if (pc >= m->start && pc < m->end &&
		    is_mapped(x, &x->module[i], recording))
			return true;
	}
	return false;
}

static bool tell_nameless(const struct us_profile *p, char *dst, size_t size)
{
	struct perf_data x = { .p = p };
	uint64_t all = 0, nameless = 0;
	size_t n_func;
	if (us_profile_stacks(p, &x.all))
		return false;
	x.recording = us_profile_recordings(p, &x.n_recording);
	x.module = us_profile_modules(p, &x.n_module);
	x.lane = us_profile_lanes(p, &x.n_lane);
	const struct us_profile_func *func = us_profile_funcs(p, &n_func);
	for (size_t i = 0; i < x.all.n_stack; i++) {
		const struct us_profile_stack *s = &x.all.stack[i];
		if (!s->n)
			continue;
		const struct us_profile_place *at = &x.all.place[x.all.path[s->first]];
		bool known = at->n && func[x.all.frame[at->first].func].known;
		all += s->weight;
		nameless += known && !has_image(&x, s) ? s->weight : 0;
	}
	us_profile_stacks_fini(&x.all);
	if (nameless)
		snprintf(dst, size,
			 "%.1f %% of the samples have names that no file has, and perf "
			 "finds names in files alone: -o x.folded and -o x.json.gz "
			 "have them",
			 100.0 * (double)nameless / (double)all);
	return nameless > 0;
}

const struct us_format us_format_perf_data = {
	.name = "perf",
	.suffix = ".perf.data",
	.summary = "perf.data, for perf report, perf script and perf annotate",
	.by_vcpu = true,
	.owners = true,
	.timeline = true,
	.timeline_most = TIMES_MOST,
	.binary = true,
	.caution = tell_nameless,
	.write = write_perf_data,
};
