/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd/boot/samples.h: when a guest comes to functions, by samples of its stacks.
 *
 * A thread of its own records the guest from its start.  A function was passed between
 * the last sample in which it was on no stack and the first in which it is on one: the
 * latter is its time, the distance its error.  One that returns sooner than the next
 * sample comes may not be seen at all.
 */
#ifndef US_CMD_BOOT_SAMPLES_H
#define US_CMD_BOOT_SAMPLES_H

#include "boot/run.h"
#include "cmd/symbol_files.h"
#include "store/store.h"

#define US_BOOT_HZ 10000

struct us_boot_samples;

/* 0, or why no guest can be sampled here. */
US_MUST_CHECK int us_boot_samples_ready(struct us_err *e);
/* All is the caller's, and stays. */
struct us_boot_sampled {
	const struct us_boot_plan *plan;
	struct us_boot_code code;
	const struct us_symbols *symbols;
	const struct us_symbol_files *files;
	char **argv;	     /* the user's command */
	const char *monitor; /* path of QEMU's, if it waits with the guest; else NULL */
	const char *path;    /* of the recording */
	/* The sampler has been ended, the recording is about to: more can be written.
	 * NULL: it is of no interest. */
	void (*finish)(void *ctx, uint64_t start_ns, struct us_writer *w);
	void *finish_ctx;
};

US_MUST_CHECK int us_boot_samples_new(const struct us_boot_sampled *what,
				      struct us_boot_samples **ret, struct us_err *e);
const struct us_boot_sampler *us_boot_samples_sampler(struct us_boot_samples *s);
/* "bpf", "kvm": by what it was done; "" if it was not. */
const char *us_boot_samples_backend(const struct us_boot_samples *s);
/* CLOCK_MONOTONIC, ns: 0 of the recording's times. */
uint64_t us_boot_samples_start_ns(const struct us_boot_samples *s);
void us_boot_samples_free(struct us_boot_samples *s); /* accepts NULL */

#endif
