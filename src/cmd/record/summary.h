/* SPDX-License-Identifier: GPL-2.0-or-later */
/* summary.h: a recording's results and cost, as text and as JSON. */
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
	double hz;	     /* requested, for each vCPU */
	uint32_t budget_ppm; /* 0: no limit */
	unsigned n_vcpu;     /* vCPUs sampled */
	uint64_t bytes;
	uint64_t attach_ns; /* from the start of the program to the first capture */
	enum us_record_end end;
	const char *words; /* about the end; may be "" */
	struct us_record_stats stats;
	double tasks_hz; /* looks at tasks per second; 0: not requested */
	struct us_wait_stats waits;
	const char *no_tasks;	    /* why tasks were not read; NULL: they were */
	struct us_scan_stats scans; /* readings of a Linux guest's tasks; zero: none */
	struct us_limits limits;    /* limits that were reached */
};

/* How many vCPUs the schedule samples. */
unsigned us_summary_vcpus(const struct us_schedule *s, const struct us_backend *b);

/* Print the line that ends every recording, one line if the rate was too low, and one
 * about looks at tasks. */
void us_summary_print(const struct us_summary *s, FILE *out);
void us_summary_json(const struct us_summary *s, FILE *out);
/* Only its members, into an open object. */
void us_summary_json_members(const struct us_summary *s, struct us_json *j);

#endif
