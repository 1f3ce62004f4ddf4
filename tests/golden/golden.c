/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * golden.c: make recordings with fixed content, and report them.
 *
 *	golden record KIND ELF >FILE	KIND: whole, cut, wrong, changed, unchecked,
 *					big, block, waits, boot, counted-boot, slower
 *(in checksum) golden report FORMAT FILE
 *[children|total|name|file|width=N|colour|limit=N|
 *		focus=RE|vcpu=N|to=MS|elf=ELF|full-paths|by-vcpu|by-time|code|bottom-up|around=F|least=P]...
 *	golden annotate text|json FILE FUNCTION [callers|colour|to=MS|full-paths]...
 *					with the source in this directory; 77: no
 *capstone
 */
#include "base/clock.h"
#include "base/cleanup.h"
#include "report/annotate.h"
#include "report/report.h"
#include "vmm/plugin_counts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define ITEMS(a) (sizeof(a) / sizeof((a)[0]))

/* Addresses in guest.S, innermost first; return addresses are those after a call. */
static const struct stack {
	us_gva pc[6];
	uint8_t state, end;
} stacks[] = {
	/* in put_byte, inlined into naive_copy, twice */
	{ { 0x10000d, 0x100309, 0x100409 }, US_VCPU_GUEST, US_END_ROOT },
	{ { 0x100015, 0x100309, 0x100409 }, US_VCPU_GUEST, US_END_ROOT },
	/* in naive_copy itself */
	{ { 0x100029, 0x100309, 0x100409 }, US_VCPU_GUEST, US_END_ROOT },
	{ { 0x100115, 0x10030e, 0x100409 }, US_VCPU_GUEST, US_END_ROOT },
	/* walk, three deep */
	{ { 0x10020d, 0x100223, 0x100223, 0x100313, 0x100409 },
	  US_VCPU_GUEST,
	  US_END_ROOT },
	{ { 0x100313, 0x100409 }, US_VCPU_GUEST, US_END_ROOT },
	/* a name that wants to be more, a name that is not known, a cut stack */
	{ { 0x100500, 0x100313, 0x100409 }, US_VCPU_GUEST, US_END_ROOT },
	{ { 0xffff800000001234, 0x100313 }, US_VCPU_GUEST, US_END_FAULT },
	{ { 0xffff800000001236 }, US_VCPU_GUEST, US_END_NO_RULE },
	/* not in guest code */
	{ { 0x100015, 0x100309, 0x100409 }, US_VCPU_EXIT, US_END_ROOT },
	{ { 0 }, US_VCPU_READY, US_END_NONE },
	{ { 0 }, US_VCPU_HALTED, US_END_NONE },
	{ { 0 }, US_VCPU_OFF, US_END_NONE },
};

#define IN_CHECKSUM 3 /* of them */

/* How often each is seen in a millisecond of the two kinds of phases. */
static const unsigned often[2][ITEMS(stacks)] = {
	{ 10, 4, 2, 3, 1, 1, 0, 0, 0, 1, 0, 4, 1 },
	{ 2, 1, 1, 6, 3, 0, 1, 1, 1, 0, 1, 12, 1 },
};

static const char *const facts[][2] = {
	{ "target", "4242" },
	{ "guest", "demo <b>\033[31m</script>" },
	{ "vmm", "qemu" },
	{ "backend", "kvm" },
	{ "how", "sync-regs, memfd mapped, 2 regions" },
	{ "hz", "16000" },
	{ "vcpus", "2" },
	{ "started", "2026-11-21 03:00:00 +0000" },
	{ "host", "lab" },
	{ "command", "uniscope record demo" },
	{ "caution", "figures of a golden test" },
};

/* Of a boot: the last one's name is no good one. */
static const char *const phases[][2] = {
	{ "phase:1", "0 20000000 firmware" },
	{ "phase:2", "20000000 55000000 kernel" },
	{ "phase:3", "55000000 100000000 from \033[31m</script>" },
};

/* The same counted: trees of two vCPUs, below a node for each phase. */
static const struct us_counted trees[2][8] = {
	{ { .address = US_COUNTS_PHASE },
	  { .parent = 1, .address = US_COUNTS_UNNAMED, .self = 1200 },
	  { .parent = 1, .address = 0xfff0, .calls = 3, .self = 800 },
	  { .address = US_COUNTS_PHASE + 1 },
	  { .parent = 4, .address = 0x100300, .calls = 1, .self = 40 },
	  { .parent = 5, .address = 0x100200, .calls = 900, .self = 63000 },
	  { .address = US_COUNTS_PHASE + 2 },
	  { .parent = 7, .address = 0x100100, .calls = 12, .self = 99 } },
	{ { .address = US_COUNTS_PHASE + 2 },
	  { .parent = 1, .address = US_COUNTS_INTERRUPTS },
	  { .parent = 2, .address = 0x100500, .calls = 7, .self = 70 } },
};

static void fail(const struct us_err *e)
{
	fprintf(stderr, "golden: %s\n", e->msg);
	exit(1);
}

static void write_facts(struct us_writer *w, const char *kind, const char *elf)
{
	struct us_err e;
	struct us_module m = { .start = 0x100000,
			       .end = 0x101000,
			       .build_id = "golden-guest-of-test",
			       .build_id_len = US_BUILD_ID_MAX,
			       .match = US_MATCH_YES,
			       .path = elf };
	if (!strcmp(kind, "wrong"))
		m.match = US_MATCH_NO;
	if (!strcmp(kind, "unchecked"))
		m.match = US_MATCH_UNKNOWN;
	if (!strcmp(kind, "changed"))
		m.build_id[0] = 0xff;
	for (size_t i = 0; i < ITEMS(facts); i++)
		if (us_writer_fact(w, facts[i][0], facts[i][1], &e))
			fail(&e);
	if (!strcmp(kind, "block") && us_writer_fact(w, "resolution", "block", &e))
		fail(&e);
	if (us_writer_module(w, &m, &e))
		fail(&e);
	for (size_t i = 0; strstr(kind, "boot") && i < ITEMS(phases); i++)
		if (us_writer_fact(w, phases[i][0], phases[i][1], &e))
			fail(&e);
}

static void write_trees(struct us_writer *w)
{
	struct us_err e;
	for (unsigned i = 0; i < ITEMS(trees); i++) {
		uint32_t n = 0;
		while (n < ITEMS(trees[i]) && trees[i][n].address)
			n++;
		if (us_writer_counted(w, i, 1, trees[i], n, &e))
			fail(&e);
	}
}

static void count(struct us_record_stats *s, const struct stack *k)
{
	s->due++;
	s->idle += k->state == US_VCPU_HALTED;
	s->off += k->state == US_VCPU_OFF;
	s->running += k->state != US_VCPU_HALTED && k->state != US_VCPU_OFF;
	s->truncated += k->end > US_END_ROOT;
}

/* A tenth of a second in phases of ten milliseconds. */
static void write_samples(struct us_writer *w, struct us_record_stats *stats,
			  bool slower)
{
	struct us_err e;
	uint64_t n = 0;
	for (unsigned ms = 0; ms < 100; ms++) {
		for (size_t k = 0; k < ITEMS(stacks); k++) {
			unsigned times = slower && k == IN_CHECKSUM ? 4 : 1;
			times *= often[ms / 10 % 2][k];
			for (unsigned i = 0; i < times; i++) {
				const struct stack *v = &stacks[k];
				struct us_sample s = { .t_ns = ms * US_NS_PER_MS +
							       (n++ % 30) * 30000,
						       .vcpu = (uint16_t)(k % 2),
						       .end = v->end,
						       .state = v->state,
						       .weight = 1 };
				size_t depth = 0;
				while (depth < ITEMS(v->pc) && v->pc[depth])
					depth++;
				if (us_writer_sample(w, &s, v->pc, NULL, depth, &e))
					fail(&e);
				count(stats, v);
			}
		}
	}
}

/* More distinct stacks than a page shows. */
static void write_big(struct us_writer *w)
{
	struct us_err e;
	uint64_t random = 1;
	for (unsigned i = 0; i < 150000; i++) {
		struct us_sample s = { .t_ns = i * 1000ULL,
				       .state = US_VCPU_GUEST,
				       .end = US_END_ROOT,
				       .weight = 1 };
		us_gva pc[40];
		random = random * 6364136223846793005 + 1442695040888963407;
		size_t depth = 4 + (random >> 60) * 2;
		/* One in eight frames from the outermost on turns off the common way.
		 */
		for (size_t k = 0; k < depth; k++) {
			uint64_t r = (random >> (k % 20 * 3)) & 7;
			pc[depth - 1 - k] = 0x400000 + k * 0x1000 + (r << 8);
		}
		if (us_writer_sample(w, &s, pc, NULL, depth, &e))
			fail(&e);
	}
}

/* Tasks that wait, in places of the guest's; one has a name that wants to be more. */
static void write_waits(struct us_writer *w)
{
	static const struct us_waiter tasks[] = {
		{ 1, 40, 40, false, "server", "server" },
		{ 2, 41, 40, false, "\033[31m</b>", "server" },
		{ 3, 9, 9, true, "kworker/0:1", "kworker/0:1" },
	};
	static const us_gva pc[3][4] = {
		{ 0x100029, 0x100115, 0x10030e, 0x100409 },
		{ 0x100029, 0x10020d, 0x100223, 0x100313 },
		{ 0x100029, 0x100313, 0x100409 },
	};
	static const struct us_wait_stats sums = { .looks = 20,
						   .late = 2,
						   .tasks = 100,
						   .running = 20,
						   .idle = 18,
						   .other = 1,
						   .due = 61,
						   .taken = 60,
						   .moved = 1,
						   .truncated = 20,
						   .cost_ns = 400000,
						   .cost_max_ns = 90000 };
	struct us_err e;
	if (us_writer_fact(w, "tasks_hz", "200", &e))
		fail(&e);
	for (size_t k = 0; k < ITEMS(tasks); k++)
		if (us_writer_waiter(w, &tasks[k], &e))
			fail(&e);
	for (unsigned i = 0; i < 60; i++) {
		const struct us_wait s = { .t_ns = i / 3 * 5 * US_NS_PER_MS,
					   .waiter = i % 3 + 1,
					   .end = i % 3 ? US_END_ROOT : US_END_NO_RULE,
					   .state = (uint8_t)((i + i / 9) % 3),
					   .inside = 1 };
		if (us_writer_wait(w, &s, pc[i % 3], NULL, i % 3 == 2 ? 3 : 4, &e))
			fail(&e);
	}
	if (us_writer_wait_stats(w, &sums, &e))
		fail(&e);
}

static void record(const char *kind, const char *elf)
{
	struct us_err e;
	struct us_writer *w;
	struct us_record_stats s = { .elapsed_ns = 100 * US_NS_PER_MS,
				     .stolen_ns = 600000,
				     .vcpu_ns = 200 * US_NS_PER_MS,
				     .late = 12,
				     .due = 12,
				     .held_p50_ns = 11000,
				     .held_p99_ns = 38400,
				     .held_max_ns = 90000 };
	if (us_writer_open(STDOUT_FILENO, &w, &e))
		fail(&e);
	write_facts(w, kind, elf);
	if (!strcmp(kind, "big"))
		write_big(w);
	else if (!strcmp(kind, "counted-boot"))
		write_trees(w);
	else
		write_samples(w, &s, !strcmp(kind, "slower"));
	if (!strcmp(kind, "waits"))
		write_waits(w);
	if (!strcmp(kind, "cut") ? us_writer_flush(w, &e)
				 : us_writer_end(w, &s, US_RECORD_DONE, "", &e))
		fail(&e);
	us_writer_close(w);
}

static bool value_of(const char *word, const char *key, const char **ret)
{
	size_t n = strlen(key);
	if (strncmp(word, key, n))
		return false;
	*ret = word + n;
	return true;
}

static void read_word(const char *word, struct us_profile_opts *p,
		      struct us_report_opts *r, const char **image)
{
	static const char *const sorts[] = { "self", "total", "name", "file" };
	const char *v;
	for (size_t i = 0; i < ITEMS(sorts); i++)
		if (!strcmp(word, sorts[i]))
			r->sort = (enum us_sort)i;
	r->children |= !strcmp(word, "children");
	r->colour |= !strcmp(word, "colour");
	r->full_paths |= !strcmp(word, "full-paths");
	if (!strcmp(word, "code"))
		r->no_code = false;
	p->waits |= !strcmp(word, "waits");
	if (!strcmp(word, "user"))
		p->part = US_PART_USER;
	p->by_vcpu |= !strcmp(word, "by-vcpu");
	p->by_time |= !strcmp(word, "by-time");
	p->timeline |= !strcmp(word, "timeline");
	r->bottom_up |= !strcmp(word, "bottom-up");
	if (value_of(word, "width=", &v))
		r->width = (unsigned)atoi(v);
	else if (value_of(word, "limit=", &v))
		r->limit = (size_t)atoi(v);
	else if (value_of(word, "vcpu=", &v))
		p->vcpu_mask = 1ULL << atoi(v);
	else if (value_of(word, "to=", &v))
		p->to_ns = (uint64_t)atoi(v) * US_NS_PER_MS;
	else if (value_of(word, "pid=", &v))
		p->pid[p->n_pid++] = (uint32_t)atoi(v);
	else if (value_of(word, "comm=", &v))
		p->filter[p->n_filter++] = (struct us_profile_filter){ US_BY_COMM, v };
	else if (value_of(word, "focus=", &v))
		p->focus = v;
	else if (value_of(word, "around=", &v))
		r->around = v;
	else if (value_of(word, "least=", &v))
		r->least_percent = atof(v);
	else if (value_of(word, "elf=", &v))
		*image = v;
}

static void report(const char *format, const char *file, int n, char **words)
{
	struct us_err e;
	struct us_profile *p = NULL, *waits = NULL;
	const char *image = NULL;
	struct us_profile_opts po = { .images = &image };
	static const char *const here = ".";
	static const struct us_annotate_opts ao = { .dirs = &here, .n_dir = 1 };
	struct us_report_opts ro = { .file = "uniscope.data",
				     .no_code = true,
				     .sources = &ao };
	for (int i = 0; i < n; i++)
		read_word(words[i], &po, &ro, &image);
	po.n_image = image != NULL;
	_cleanup_close_ int fd = open(file, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || us_profile_read(fd, &po, &p, &e))
		fail(&e);
	const struct us_format *f = us_format_by_name(format);
	if (f && f->both && us_profile_waits(p)->n) {
		po.waits = true;
		po.by_time = false;
		if (lseek(fd, 0, SEEK_SET) < 0 || us_profile_read(fd, &po, &waits, &e))
			fail(&e);
		ro.waits = waits;
	}
	if (!f || us_report(p, f, &ro, stdout, &e))
		fail(&e);
	us_profile_free(p);
	us_profile_free(waits);
}

/* The text, or why there is none. */
static int annotate(bool json, const char *file, const char *function, int n,
		    char **words)
{
	static const char *const here = ".";
	static const struct us_annotate_opts ao = { .dirs = &here, .n_dir = 1 };
	struct us_err e = { 0 };
	struct us_profile *p = NULL;
	struct us_annotation *a = NULL;
	struct us_function *f = NULL;
	const char *image = NULL;
	struct us_profile_opts po = { 0 };
	struct us_report_opts ro = { 0 };
	size_t n_func = 0;
	bool callers = n && !strcmp(words[n - 1], "callers");
	for (int i = 0; i < n; i++)
		read_word(words[i], &po, &ro, &image);
	_cleanup_close_ int fd = open(file, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || us_profile_read(fd, &po, &p, &e))
		fail(&e);
	int r = us_annotate_find(p, function, &f, &n_func, &e);
	if (r == 0 && n_func == 1)
		r = us_annotate(p, f, &ao, &a, &e);
	bool skip = a && a->bytes_only;
	for (size_t i = 0; r == 0 && n_func > 1 && i < n_func; i++)
		printf("%s\n", f[i].raw);
	if (a && !skip)
		r = json ? us_annotation_json(a, stdout, &e)
			 : us_annotation_text(a, &ro, callers, stdout, &e);
	if (r < 0)
		printf("%s\n  try: %s\n", e.msg, e.hint);
	free(f);
	us_annotation_free(a);
	us_profile_free(p);
	return skip ? 77 : 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "record"))
		record(argv[2], argv[3]);
	else if (argc >= 4 && !strcmp(argv[1], "report"))
		report(argv[2], argv[3], argc - 4, argv + 4);
	else if (argc >= 5 && !strcmp(argv[1], "annotate"))
		return annotate(!strcmp(argv[2], "json"), argv[3], argv[4], argc - 5,
				argv + 5);
	else
		return 2;
	return 0;
}
