/* SPDX-License-Identifier: GPL-2.0-or-later */
/* summary.h: what a recording took and cost, in words and as JSON. */
#ifndef US_CMD_SUMMARY_H
#define US_CMD_SUMMARY_H

#include "backend/backend.h"
#include "base/json.h"
#include "cmd/record/processes.h"
#include "store/store.h"

#include <stdio.h>

struct us_summary {
	const char *path; /* of the recording */
	const char *backend;
	double hz;	     /* asked for, at each vCPU */
	uint32_t budget_ppm; /* 0: no bound */
	unsigned n_vcpu;     /* that were sampled */
	uint64_t bytes;
	uint64_t attach_ns; /* from the start of the program to the first capture */
	enum us_record_end end;
	const char *words; /* about the end; may be "" */
	struct us_record_stats stats;
	double tasks_hz; /* of looks at tasks; 0: not asked for */
	struct us_wait_stats waits;
	const char *no_tasks;	    /* why there was no look; NULL: there was */
	struct us_scan_stats scans; /* of a Linux guest's tasks; zero: of none */
	struct us_limits limits;    /* that were reached */
};

/* How many vCPUs the schedule samples. */
unsigned us_summary_vcpus(const struct us_schedule *s, const struct us_backend *b);

/* The line that ends every recording, one if the rate fell short, and one of looks at
 * tasks. */
void us_summary_print(const struct us_summary *s, FILE *out);
void us_summary_json(const struct us_summary *s, FILE *out);
/* Its members only, into an object that is open. */
void us_summary_json_members(const struct us_summary *s, struct us_json *j);

#endif
