/* SPDX-License-Identifier: GPL-2.0-or-later */
/* program-recording.h: recordings of processes that map a program and a library, and
 * the profiles that they become. */
#ifndef US_TEST_PROGRAM_RECORDING_H
#define US_TEST_PROGRAM_RECORDING_H

#include "unit.h"

#include "base/clock.h"
#include "profile/profile.h"
#include "store/store.h"
#include "symbol/build_id.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define S	US_NS_PER_SEC
#define ROOT	0x10000
#define PROGRAM 0x401010
#define LIBRARY 0x7f0000001100 /* 0x1100 of its file */
/* Between the page tables of two processes, and their libraries. */
#define NEXT_ROOT    0x10000
#define NEXT_LIBRARY 0x12345000

struct given {
	struct us_mapping mapping[4];
	size_t n_mapping;
	struct us_task task[2];
	size_t n_task;
	struct us_program_name name[4];
	size_t n_name;
	us_gpa root; /* of all samples: one each 10 ms, for 10 s */
	us_gva pc;
	us_gva pc_of_odd;	/* what processes 1, 3, ... do; 0: the same */
	unsigned processes;	/* that take turns; 0: one */
	const char *root_dir;	/* --root */
	struct us_build_id id;	/* of /bin/sh */
	bool deleted;		/* the program's file */
	struct us_module image; /* with a path: that of -e */
};

static const struct us_mapping program = { .file = 1,
					   .pid = 7,
					   .root = ROOT,
					   .start = 0x400000,
					   .end = 0x402000,
					   .has_bias = true };
static const struct us_mapping library = { .file = 2,
					   .pid = 7,
					   .root = ROOT,
					   .start = 0x7f0000001000,
					   .end = 0x7f0000002000,
					   .offset = 0x1000,
					   .bias = 0x7f0000000000,
					   .has_bias = true };

static inline void write_samples(struct us_writer *w, const struct given *g)
{
	for (unsigned ms = 0; ms < 10000; ms += 10) {
		struct us_sample s = { .t_ns = ms * US_NS_PER_MS,
				       .weight = 1,
				       .end = US_END_ROOT,
				       .state = US_VCPU_GUEST };
		unsigned k = g->processes ? ms / 10 % g->processes : 0;
		us_gva at = k % 2 && g->pc_of_odd ? g->pc_of_odd : g->pc;
		const us_gva pc[] = { at + k * NEXT_LIBRARY, g->root + k * NEXT_ROOT };
		const uint8_t flags[] = { US_PC_USER | US_PC_EXACT, US_PC_SPACE };
		assert_int_equal(us_writer_sample(w, &s, pc, flags, 2, NULL), 0);
	}
}

static inline int record(const struct given *g)
{
	struct us_program_file file[] = {
		{ .number = 1, .deleted = g->deleted, .path = "/bin/sh" },
		{ .number = 2,
		  .path = "/lib/\033[1mc.so",
		  .build_id = { 0xff },
		  .build_id_len = 20 },
		{ .number = 3, .kind = US_PROGRAM_NONE, .path = "[jit]" },
		{ .number = 4, .path = "/bin/sh" }, /* another container's */
	};
	const struct us_record_stats stats = {
		.elapsed_ns = 10 * S, .vcpu_ns = 10 * S, .due = 1000, .running = 1000
	};
	struct us_writer *w;
	int fd = memfd_create("recording", MFD_CLOEXEC);
	assert_int_equal(us_writer_open(fd, &w, NULL), 0);
	write_samples(w, g);
	for (size_t k = 0; k < g->n_task; k++)
		assert_int_equal(us_writer_task(w, &g->task[k], NULL), 0);
	for (size_t k = 0; k < g->n_mapping; k++)
		assert_int_equal(us_writer_mapping(w, &g->mapping[k], NULL), 0);
	if (g->image.path)
		assert_int_equal(us_writer_module(w, &g->image, NULL), 0);
	file[0].build_id_len = (uint8_t)g->id.len;
	if (g->id.len)
		memcpy(file[0].build_id, g->id.bytes, g->id.len);
	for (size_t k = 0; k < 4; k++)
		assert_int_equal(us_writer_program_file(w, &file[k], NULL), 0);
	for (size_t k = 0; k < g->n_name; k++)
		assert_int_equal(us_writer_program_names(w, &g->name[k], 1, NULL), 0);
	assert_int_equal(us_writer_end(w, &stats, US_RECORD_DONE, "", NULL), 0);
	us_writer_close(w);
	lseek(fd, 0, SEEK_SET);
	return fd;
}

static inline struct us_profile *profile_of(const struct given *g)
{
	const struct us_profile_opts o = { .dirs.root = g->root_dir };
	struct us_profile *p = NULL;
	struct us_err e = { 0 };
	int fd = record(g);
	if (us_profile_read(fd, &o, &p, &e))
		fail_msg("%s", e.msg);
	close(fd);
	return p;
}

static inline void add_text(char got[512], const struct us_profile_func *f)
{
	size_t n = strlen(got);
	snprintf(got + n, 512 - n, "%s%s:%s %u", n ? ", " : "",
		 f->module ? f->module : "-", f->known ? f->name : "?",
		 (unsigned)f->self);
}

/* "module:name samples, ..." of what ran, most first; a name that is none is "?". */
static inline void check(const struct us_profile *p, const char *want)
{
	size_t n;
	const struct us_profile_func *f = us_profile_funcs(p, &n);
	char got[512] = "";
	for (unsigned most = 1000; most; most--)
		for (size_t k = 0; k < n; k++)
			if (f[k].self == most)
				add_text(got, &f[k]);
	assert_string_equal(got, want);
}

static inline void expect(const struct given *g, const char *want)
{
	struct us_profile *p = profile_of(g);
	check(p, want);
	us_profile_free(p);
}

#endif
