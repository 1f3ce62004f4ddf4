/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd/boot/samples.h: when a guest reaches functions, from samples of its stacks.
 *
 * A thread records the guest from its start.  A function's time is that of the first
 * sample with it on a stack.  A function that returns before the next sample may not be
 * seen at all, or only in a later call: cmd/boot/before.h has its error.
 */
#ifndef US_CMD_BOOT_SAMPLES_H
#define US_CMD_BOOT_SAMPLES_H

#include "boot/run.h"
#include "cmd/symbol_files.h"
#include "store/store.h"

#define US_BOOT_HZ 10000

struct us_boot_samples;

/* 0; -errno: no guest can be sampled here, and *e says why. */
US_MUST_CHECK int us_boot_samples_ready(struct us_err *e);
/* Everything stays owned by the caller, and valid. */
struct us_boot_sampled {
	const struct us_boot_plan *plan;
	struct us_boot_code code;
	const struct us_symbols *symbols;
	const struct us_symbol_files *files;
	char **argv; /* the user's command */
	/* Path of QEMU's monitor, if QEMU waits before it starts the guest; else
	 * NULL. */
	const char *monitor;
	const char *path; /* path of the recording */
	/* Called after the sampler, before the recording ends: more can be written.
	 * May be NULL. */
	void (*finish)(void *ctx, uint64_t start_ns, struct us_writer *w);
	void *finish_ctx;
};

US_MUST_CHECK int us_boot_samples_new(const struct us_boot_sampled *what,
				      struct us_boot_samples **ret, struct us_err *e);
const struct us_boot_sampler *us_boot_samples_sampler(struct us_boot_samples *s);
/* The backend that was used: "bpf", "kvm"; "" if none was. */
const char *us_boot_samples_backend(const struct us_boot_samples *s);
/* Start of the recording: CLOCK_MONOTONIC, ns. */
uint64_t us_boot_samples_start_ns(const struct us_boot_samples *s);
void us_boot_samples_free(struct us_boot_samples *s); /* accepts NULL */

#endif
