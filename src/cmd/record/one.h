/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd/record/one.h: the recording of one guest, from the target to the file.
 *
 * us_recording_attach()     open images and backend
 * us_output_open(&r.output) before or after that
 * us_recording_begin()      drop rights, begin the file, read a Linux kernel
 * us_recording_sample()     until it is over; then detach from the guest
 * us_recording_close()
 *
 * Call all but close() in one thread; several recordings may be made at once.
 */
#ifndef US_CMD_RECORD_ONE_H
#define US_CMD_RECORD_ONE_H

#include "cmd/record/code_bits.h"
#include "cmd/record/host.h"
#include "cmd/record/images.h"
#include "cmd/record/kernel.h"
#include "cmd/options.h"
#include "cmd/record/output.h"
#include "cmd/progress.h"
#include "cmd/record/summary.h"
#include "cmd/target.h"
#include "vmm/launch.h"

struct us_serving;

/* What the user asks for. */
struct us_record_settings {
	struct us_schedule schedule;
	uint64_t duration_ns;
	const char *out, *backend;
	const char *prepare; /* a folder for --prepare: nothing is recorded */
	struct us_symbol_files symbols;
	bool json, raw_names, full_paths, all;
	double tasks_hz;	    /* looks at waiting tasks per second; 0: none */
	struct us_serving *serving; /* serves it live; NULL: nobody */
	bool rate_given;	    /* by the user */
	bool budget_given; /* else schedule's budget is not valid: see budget.h */
	int argc;	   /* after the options: TARGET, or the command after -- */
	char **argv;
	bool launch;
};

struct us_recording {
	/* Set by the caller; the rest is zero.  Large: paths and tables. */
	const struct us_record_settings *set;
	struct us_launch *launch; /* NULL: the guest was already running */
	struct us_found found;
	struct us_output output;
	uint64_t duration_ns;	 /* 0: until stopped */
	uint64_t begin_ns;	 /* when the user started the command */
	const atomic_bool *stop; /* or NULL */
	/* Gets the sums about ten times a second, in another thread, instead of the
	 * progress line on the terminal.  May be NULL. */
	void (*sums)(void *ctx, const struct us_record_stats *s);
	void *sums_ctx;
	/* Gets each capture with registers, and its stack.  Hot path.  May be NULL. */
	void (*see)(void *ctx, const struct us_live_sample *l);
	void *see_ctx;
	/* Called last before the recording ends, in the sampler's thread.  May be
	 * NULL. */
	void (*finish)(void *ctx, struct us_writer *w);
	void *finish_ctx;
	bool from_start; /* as with launch, but another launched it */

	struct us_images images;
	struct us_kernel kernel;
	const struct us_linux *tables_told; /* kernel that the user was told about */
	bool names_told;
	struct us_unwinder *unwinder;
	struct us_host_stacks *host; /* NULL: not asked for */
	char host_note[256];	     /* what is missing of host; "" if nothing */
	struct us_backend *backend;
	uint32_t budget_ppm; /* the user's, or the accelerator's default */
	char why[512];	     /* why this backend was chosen */
	struct us_writer *writer;
	struct us_progress progress;
	unsigned changes_written, vcpus_written;
	bool changed_written; /* that an image may be another build */
	struct us_code_bits code_bits;
	unsigned vcpu_threads; /* number of the VMM's vCPU threads at first */
	uint64_t first_ns;     /* of the first capture */
	struct us_summary summary;
	char end_words[sizeof(((struct us_err *)0)->msg)];
	char slide[320]; /* the guest runs its image elsewhere; "" if not known */
};

/* found and set must be set. */
US_MUST_CHECK int us_recording_attach(struct us_recording *r, struct us_err *e);
/* output must be open.  The calling thread loses its rights (rights.h). */
US_MUST_CHECK int us_recording_begin(struct us_recording *r, struct us_err *e);
/* Fills summary, also on failure. */
US_MUST_CHECK int us_recording_sample(struct us_recording *r, struct us_err *e);
void us_recording_close(struct us_recording *r);

/* Print to standard error what is recorded, and with which backend. */
void us_recording_tell_start(const struct us_recording *r);
/* Print where the names come from, or why there are none; again if that has changed. */
void us_recording_tell_names(struct us_recording *r, FILE *out);
/* Print what was recorded to standard output, and warnings to standard error. */
void us_recording_tell_end(struct us_recording *r);

#endif
