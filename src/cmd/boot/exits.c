/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/boot/exits.c: see cmd/boot/exits.h. */
#include "cmd/boot/exits.h"

#include "base/cleanup.h"
#include "base/rank.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define REASON_WIDTH 20

static double median_of(const struct us_boot_run *run, size_t n, int phase, int reason)
{
	_cleanup_free_ double *v = calloc(n, sizeof(*v));
	for (size_t i = 0; v && i < n; i++)
		v[i] = (double)run[i].exits.n[phase][reason];
	return v ? us_rank_median(v, n).value : 0;
}

static bool has_any(const struct us_boot_run *run, size_t n, int reason)
{
	for (size_t i = 0; i < n; i++)
		for (int p = 0; p < US_N_EXITS; p++)
			if (run[i].exits.n[p][reason])
				return true;
	return false;
}

static void print_most(const char *what, const struct us_boot_access most[US_BOOT_MOST])
{
	for (size_t i = 0; i < US_BOOT_MOST && most[i].n; i++)
		printf("%s0x%" PRIx64 " %" PRIu64, i ? ", " : what, most[i].address,
		       most[i].n);
}

static void print_details(const struct us_boot_exits *e)
{
	for (int p = 0; p < US_N_EXITS; p++) {
		if (!e->port[p][0].n && !e->page[p][0].n)
			continue;
		printf("%s:", us_exit_phase_name((enum us_exit_phase)p));
		print_most(" ports ", e->port[p]);
		print_most(e->port[p][0].n ? "; device memory at "
					   : " device memory at ",
			   e->page[p]);
		puts("");
	}
}

void us_boot_print_exits(const struct us_boot_run *run, size_t n, bool detailed)
{
	if (!n || !run[n - 1].exits.known)
		return;
	printf("%-*s", REASON_WIDTH, run[0].exits.emulated ? "devices' use" : "exits");
	for (int p = 0; p < US_N_EXITS; p++)
		printf(" %10s", us_exit_phase_name((enum us_exit_phase)p));
	puts("");
	for (int reason = 0; reason < US_N_EXIT; reason++) {
		if (!has_any(run, n, reason))
			continue;
		printf("%-*s", REASON_WIDTH,
		       us_exit_reason_name((enum us_exit_reason)reason));
		for (int p = 0; p < US_N_EXITS; p++)
			printf(" %10.0f", median_of(run, n, p, reason));
		puts("");
	}
	if (detailed)
		print_details(&run[n - 1].exits);
	puts("");
}

static void json_most(struct us_json *j, const char *key,
		      const struct us_boot_access most[US_BOOT_MOST])
{
	us_json_array(j, key);
	for (size_t i = 0; i < US_BOOT_MOST && most[i].n; i++) {
		us_json_object(j, NULL);
		us_json_u64(j, "address", most[i].address);
		us_json_u64(j, "n", most[i].n);
		us_json_end(j);
	}
	us_json_end(j);
}

static void json_details(struct us_json *j, const struct us_boot_exits *e)
{
	us_json_object(j, "used_most");
	for (int p = 0; p < US_N_EXITS; p++) {
		us_json_object(j, us_exit_phase_name((enum us_exit_phase)p));
		json_most(j, "ports", e->port[p]);
		json_most(j, "device_memory", e->page[p]);
		us_json_end(j);
	}
	us_json_end(j);
}

void us_boot_json_exits(struct us_json *j, const struct us_boot_run *run, size_t n,
			bool detailed)
{
	if (!n || !run[n - 1].exits.known)
		return;
	us_json_object(j, "exits");
	for (int p = 0; p < US_N_EXITS; p++) {
		us_json_object(j, us_exit_phase_name((enum us_exit_phase)p));
		for (int reason = 0; reason < US_N_EXIT; reason++)
			if (has_any(run, n, reason))
				us_json_double(j,
					       us_exit_reason_name(
						       (enum us_exit_reason)reason),
					       median_of(run, n, p, reason), 0);
		us_json_end(j);
	}
	us_json_end(j);
	if (detailed)
		json_details(j, &run[n - 1].exits);
}
