/* SPDX-License-Identifier: GPL-2.0-or-later */
/* event_file.h: the plugin's side of the file of events.h: its options and its
 * creation. */
#ifndef US_TRACE_EVENT_FILE_H
#define US_TRACE_EVENT_FILE_H

#include "trace/events.h"

struct us_event_options {
	const char *path;  /* NULL: nothing is traced */
	uint64_t n_record; /* for each vCPU */
	uint16_t depth;	   /* largest depth of functions */
	bool stream, insns_only, begin_off;
};
#define US_EVENT_OPTIONS_DEFAULT                                                       \
	{                                                                              \
		.n_record = 1U << 20, .depth = UINT16_MAX                              \
	}

/* Parse an option of a trace, "name=value"; false: not an option, or a bad value. */
bool us_event_option(struct us_event_options *o, const char *text);

/* Create the file (shared_file.h).  *ret_size: its bytes, also on failure. */
int us_event_file_make(const struct us_event_options *o, uint32_t n_vcpu,
		       struct us_events_head **ret, uint64_t *ret_size);
/* Where addresses of functions are stored; *ret_n: points to their number. */
uint64_t *us_event_file_table(struct us_events_head *h, uint32_t **ret_n);
void us_event_file_vcpu(struct us_events_head *h, const struct us_event_options *o,
			uint32_t vcpu, struct us_events *ret);
/* h NULL: nothing is traced. */
void us_event_file_started(struct us_events_head *h, uint32_t vcpu);

#endif
