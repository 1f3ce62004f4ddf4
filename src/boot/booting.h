/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * booting.h: a boot while it runs (run.c), for those who see when it passes a point:
 * moments.c notes them, watch.c asks the plugin, output.c reads what the VMM writes.
 */
#ifndef US_BOOT_BOOTING_H
#define US_BOOT_BOOTING_H

#include "boot/breakpoints.h"
#include "boot/device_trace.h"
#include "boot/run.h"
#include "boot/stuck.h"
#include "vmm/launch.h"
#include "vmm/plugin_boot.h"

#include <time.h>

#define US_BOOTING_LINE 512 /* bytes of a line that are matched at once */
/* Of the stub, with the one before the first instruction. */
#define US_BOOTING_HOLDS (US_BREAKPOINT_MAX_STOP + 1)

struct us_booting {
	const struct us_boot_plan *plan;
	const struct us_boot_how *how;
	struct us_boot_run *run;
	struct us_launch *launch;
	struct us_boot_file *file; /* NULL: there is no plugin */
	unsigned n_watch;
	uint32_t n_called;		  /* that were reported */
	struct us_boot_breakpoints *stub; /* NULL: none, or not yet */
	struct us_boot_trace trace;
	struct us_boot_stuck *stuck; /* NULL: nobody asks */
	bool sampling;		     /* the sampler has begun */
	/* When, and for how long, we stopped the guest. */
	struct {
		uint64_t at_ns, ns;
	} hold[US_BOOTING_HOLDS];
	size_t n_hold;
	uint64_t start_ns;
	uint64_t done_ns;  /* when all wanted points were passed; 0: not yet */
	uint64_t lost_ns;  /* when the stub's connection ended; 0: it has not */
	uint64_t quiet_ns; /* when the VMM had ended, or its output's last byte came */
	int out, error;	   /* the VMM's output; -1: it has ended */
	clockid_t cpu;	   /* the CPU time of its process */
	char line[US_BOOTING_LINE];
	size_t line_n;
	bool line_cut;	   /* it began earlier */
	unsigned sequence; /* where a control sequence of the output is (output.c) */
};

/* Times are those of CLOCK_MONOTONIC, in ns. */

/* We had stopped the guest between these times. */
void us_booting_hold(struct us_booting *b, uint64_t from_ns, uint64_t to_ns);
/* For how long, until then, we had stopped the guest. */
uint64_t us_booting_stood_until(const struct us_booting *b, uint64_t t_ns);
/* CPU time of the VMM's process; 0: not known. */
uint64_t us_booting_cpu_now(const struct us_booting *b);

/* The point of this index was passed (SIZE_MAX: not in this plan).  Only the first time
 * counts, and only one within the boot.  m->wall_ns is a time of the clock here. */
void us_booting_pass(struct us_booting *b, size_t point,
		     const struct us_boot_moment *m);
/* The same, with the CPU time when we learn of it. */
void us_booting_pass_point(struct us_booting *b, size_t point, uint64_t wall_ns,
			   enum us_boot_way way);
void us_booting_pass_now(struct us_booting *b, enum us_boot_kind kind, uint64_t wall_ns,
			 enum us_boot_way way);

/* Make the file through which the plugin is told what to watch, if how->file names one.
 * 0 or -errno. */
int us_booting_watch_open(struct us_booting *b, struct us_err *e);
void us_booting_watch_read(struct us_booting *b);
/* Tell the plugin that this point was passed then, unless the guest is farther. */
void us_booting_watch_mark(struct us_booting *b, size_t point, uint64_t wall_ns);
/* Note what was seen for the last time, and remove the file. */
void us_booting_watch_close(struct us_booting *b);

/* Read what the VMM has written to its standard output and error; without waiting once
 * poll() has said so. */
void us_booting_hear(struct us_booting *b);
void us_booting_hear_complaints(struct us_booting *b);

#endif
