/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/top/layout.h: what `top` knows, laid out on a screen of any size. */
#ifndef US_CMD_TOP_LAYOUT_H
#define US_CMD_TOP_LAYOUT_H

#include "cmd/top/screen.h"
#include "cmd/top/keys.h"
#include "cmd/top/rows.h"
#include "live/live.h"

/* A row of --all. */
struct us_top_guest_row {
	const char *name;
	/* Instead of figures: how it ended, or why it is not recorded; NULL: it
	 * runs. */
	const char *words;
	double cpu; /* of one host CPU; negative: not known yet, as below */
	double idle;
	const char *hottest;
	double hottest_share;
};

struct us_top_picture {
	const struct us_top_state *state;
	/* For all guests. */
	const struct us_top_guest_row *guest;
	size_t n_guest;
	/* For one guest. */
	const char *name, *how;		  /* "demo (qemu 4711)", "kvm, 997 Hz" */
	const char *over;		  /* how it ended; NULL: it runs */
	const struct us_profile *profile; /* NULL: none yet */
	const struct us_top_rows *rows;
	/* The same for waiting tasks, if both are printed; else NULL. */
	const struct us_profile *waits;
	const struct us_top_rows *waits_rows;
	const struct us_wait_stats *tasks; /* NULL: no looks at tasks */
	const struct us_live_vcpu *vcpu;
	unsigned n_vcpu;
	uint64_t now_ns;
	const struct us_record_stats *stats;
	double own_cpu; /* host CPU that top itself takes; negative: not known */
};

/* Number of rows that fit on a page of this screen. */
size_t us_top_page_rows(const struct us_top_picture *p, unsigned rows);
void us_top_layout(const struct us_top_picture *p, struct us_screen *s);

/* "guest 61.2 %  idle 20.0 %  exits 12.4 %: port I/O 10.0 %": a vCPU in the displayed
 * window.  Returns dst. */
char *us_top_vcpu_line(const struct us_live_vcpu *v, char *dst, size_t size);
/* What the observation costs.  Returns dst. */
char *us_top_cost_line(const struct us_record_stats *s, double own_cpu, char *dst,
		       size_t size);

/* Append the part of looks at tasks. */
void us_top_append_tasks(const struct us_wait_stats *t, uint64_t elapsed_ns, char *dst,
			 size_t size);

#endif
