/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf_file.h: reads the records of a perf.data file, checked and decoded.
 *
 * The format is in tools/perf/Documentation/perf.data-file-format.txt and
 * linux/perf_event.h.  Also supported: output to a pipe, files of a machine with the
 * other byte order, and compressed ones (perf record -z).
 */
#ifndef US_IMPORT_PERF_FILE_H
#define US_IMPORT_PERF_FILE_H

#include "base/err.h"
#include "import/perf_unpack.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define US_PERF_MAX_EVENTS 4096

/* What is counted, and the format of an event's samples. */
struct us_perf_event {
	uint32_t kind; /* enum perf_type_id, or what a PMU of its own has */
	/* From 1 on.  The same for events that count the same: of each CPU, or of each
	 * kind of CPU that a hybrid processor has. */
	uint32_t number;
	uint64_t config;
	uint64_t sample_type, read_format, period;
	bool freq; /* period is a frequency: each sample counts one */
	/* Behind the fields of a record that is no sample; 0: it has none. */
	uint8_t time_from_end;
};

struct us_perf_sample {
	uint64_t ip, time_ns, period;
	uint32_t pid, tid;
	uint8_t mode; /* PERF_RECORD_MISC_CPUMODE_MASK of the record */
	const struct us_perf_event *event;
	const uint8_t *chain; /* n_chain of them: us_perf_frame() */
	uint64_t n_chain;
	bool swapped;
};

/* Times of what is no sample: 0: before the recording, or not known.  Texts and
 * build-ids lie in the file's bytes or in what was decompressed: valid until
 * us_perf_fini(). */
struct us_perf_mapping {
	uint64_t time_ns, start, len, offset;
	uint32_t pid; /* UINT32_MAX: of the kernel */
	const char *path;
	const uint8_t *build_id;
	uint8_t build_id_len; /* 0: not given */
	uint8_t mode;
	bool executable;
};

struct us_perf_comm {
	uint64_t time_ns;
	uint32_t pid, tid;
	const char *name;
	bool exec; /* another program: the mappings of the former are gone */
};

struct us_perf_fork {
	uint64_t time_ns;
	uint32_t pid, parent; /* the same: a thread of it */
	bool empty; /* not seen, but made up by perf: the parent's mappings are not its
		       own */
};

struct us_perf_ops {
	int (*sample)(void *ctx, const struct us_perf_sample *s, const uint8_t *record);
	int (*mapping)(void *ctx, const struct us_perf_mapping *m);
	int (*comm)(void *ctx, const struct us_perf_comm *c);
	int (*fork)(void *ctx, const struct us_perf_fork *f);
	int (*lost)(void *ctx, uint64_t samples);
	int (*arch)(void *ctx, const char *name);
};

struct us_perf_file {
	const uint8_t *bytes;
	size_t n;
	struct us_perf_event event[US_PERF_MAX_EVENTS];
	size_t n_event;
	struct us_perf_id {
		uint64_t id;
		uint32_t event;
	} * ids;
	size_t n_id, cap_id;
	/* At a sample, from all events so far: ids are sorted, and these known. */
	bool indexed;
	bool alike;    /* no event differs from another in what it counts */
	uint8_t id_at; /* in a sample; UINT8_MAX: not at one place in all */
	bool same_end; /* all have the same time_from_end */
	bool ends_with_id;
	bool swapped; /* in the other byte order */
	/* Record that contains the current ones in compressed form. */
	const uint8_t *packed;
	struct us_perf_unpack unpack;
	bool cut; /* it ends in the middle of a record */
	struct us_err *e;
};

/* Read the whole file.  0; -EBADMSG, -ENOTSUP, -ENOEXEC, -ENOMEM; or what an op
 * returned. */
US_MUST_CHECK int us_perf_read(struct us_perf_file *f, const struct us_perf_ops *ops,
			       void *ctx, struct us_err *e);
void us_perf_fini(struct us_perf_file *f);
/* After us_perf_read(): false: it has no name of a host, which perf always writes (at
 * the end), so another program made it, such as `uniscope report -f perf`. */
bool us_perf_is_by_perf(const struct us_perf_file *f);
/* Decode again a record that was passed to ops.sample. */
US_MUST_CHECK int us_perf_again(struct us_perf_file *f, const uint8_t *record,
				struct us_perf_sample *ret);
/* Frame i of its call chain, innermost first; includes markers (PERF_CONTEXT_...). */
uint64_t us_perf_frame(const struct us_perf_sample *s, uint64_t i);

#endif
