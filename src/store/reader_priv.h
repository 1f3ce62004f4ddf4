/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * reader_priv.h: a recording that is being read: its bytes (reader_file.c) and the
 * contents of its chunks (reader.c; reader_samples.c for samples).
 */
#ifndef US_STORE_READER_PRIV_H
#define US_STORE_READER_PRIV_H

#include "store/event_chunk.h"
#include "store/store.h"

/* The nodes of a trie that were read. */
struct nodes {
	uint8_t *depth;	   /* of each node; [0] is the empty stack */
	size_t n, room;	   /* used and allocated in depth */
	uint8_t max_depth; /* of any stack */
};

#define US_READER_SAMPLES 64 /* samples that are delivered at a time */
#define US_READER_STACKS  64 /* the same for stacks */

struct reader {
	const struct us_reader_ops *ops;
	void *ctx;
	struct us_err *e;
	int fd, copy_fd; /* copy_fd -1: none */
	uint8_t *buf;	 /* bytes [at, n) are read but not yet used */
	size_t at, n, cap;
	uint64_t offset; /* in the file, of buf[at] */
	uint32_t type;	 /* of the chunk that is being delivered */
	struct nodes guest, host;
	uint8_t *flags; /* the last FLAG chunk; bytes [at, n) are not yet used */
	size_t flags_at, flags_n;
	uint64_t flagged; /* the node that the next flag is for; 0: no more */
	struct {
		uint8_t *v; /* the last HSAM chunk; bytes [at, n) are not yet used */
		size_t at, n;
		bool due;      /* the next of them is for */
		uint64_t next; /* this sample of the next chunk */
	} hosts;
	struct us_sample sample[US_READER_SAMPLES]; /* to be delivered */
	size_t n_sample;
	struct us_stack_node stack[US_READER_STACKS]; /* to be delivered, too */
	size_t n_stack;
	uint32_t n_counted[US_MAX_VCPUS];
	uint32_t n_event_function, n_waiter;
	struct us_event_unpacker *unpacker; /* NULL: no events so far */
	bool begun;			    /* the header was read */
	bool broken; /* the next chunk is there, but cannot be valid */
	bool ended;
};

/* Deliver a chunk of r->type: its checksum is right, but its contents are not trusted.
 * 0 or -errno, with r->e filled in here or by a callback. */
US_MUST_CHECK int us_reader_deliver(struct reader *r, const uint8_t *p, size_t size);

/* Returns -EBADMSG and reports what is wrong with the chunk. */
int us_reader_bad(struct reader *r, const char *what);

/* reader_samples.c: decode chunks, as above: of samples; of their host stacks, which
 * are kept until the samples come; and of samples for us_reader_ops.busy_at alone. */
US_MUST_CHECK int us_reader_samples(struct reader *r, const uint8_t *p,
				    const uint8_t *end);
US_MUST_CHECK int us_reader_host_samples(struct reader *r, const uint8_t *p,
					 const uint8_t *end);
US_MUST_CHECK int us_reader_busy_at(struct reader *r, const uint8_t *p,
				    const uint8_t *end);

#endif
