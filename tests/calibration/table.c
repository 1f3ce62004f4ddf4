/* SPDX-License-Identifier: GPL-2.0-or-later */
/* table.c: the table of docs/accuracy.md, from guests that are invented. */
#include "calibration.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS 1e6

static const struct guest_kind guests[] = {
	{ "steady", STEADY, 1 * MS, 0, 0 },
	{ "cycle of 1 ms", CYCLE, 1 * MS, 0, 0.05 },
	{ "cycle of 3 ms", CYCLE, 3 * MS, 0, 0.05 },
	{ "cycle of 10 ms", CYCLE, 10 * MS, 0, 0.05 },
	{ "cycle of 100 ms", CYCLE, 100 * MS, 0, 0.05 },
	{ "cycle of 1 s", CYCLE, 1000 * MS, 0, 0.05 },
	{ "cycle of 3 s", CYCLE, 3000 * MS, 0, 0.05 },
	{ "cycle of one period", CYCLE, 0, 0, 0 },
	{ "bursts of 5 ms", BURSTS, 15 * MS, 0, 0 },
	{ "bursts of 50 ms", BURSTS, 150 * MS, 0, 0 },
	{ "idle 5 %, cycle of 10 ms", CYCLE, 10 * MS, 0.05, 0.05 },
	{ "idle 50 %, cycle of 10 ms", CYCLE, 10 * MS, 0.5, 0.05 },
	{ "idle 95 %, cycle of 10 ms", CYCLE, 10 * MS, 0.95, 0.05 },
	{ "idle 50 %, cycle of 1 s", CYCLE, 1000 * MS, 0.5, 0.05 },
};

/* By bpf's ticks; seconds are those that the vCPU has a CPU. */
static const struct guest_kind ticked[] = {
	{ "steady, bpf", STEADY, 1 * MS, 0, 0 },
	{ "cycle of 1.4 ms, bpf", CYCLE, 1.4 * MS, 0, 0.05 },
	{ "cycle of 3 ms, bpf", CYCLE, 3 * MS, 0, 0.05 },
	{ "cycle of 10 ms, bpf", CYCLE, 10 * MS, 0, 0.05 },
	{ "cycle of 100 ms, bpf", CYCLE, 100 * MS, 0, 0.05 },
	{ "cycle of one period, bpf", CYCLE, 0, 0, 0 },
	{ "bursts of 5 ms, bpf", BURSTS, 15 * MS, 0, 0 },
	{ "steady, bpf, busy host", STEADY, 1 * MS, 0, 0 },
	{ "cycle of 1.4 ms, bpf, busy host", CYCLE, 1.4 * MS, 0, 0.05 },
	{ "cycle of 3 ms, bpf, busy host", CYCLE, 3 * MS, 0, 0.05 },
	{ "cycle of 10 ms, bpf, busy host", CYCLE, 10 * MS, 0, 0.05 },
	{ "cycle of 100 ms, bpf, busy host", CYCLE, 100 * MS, 0, 0.05 },
	{ "cycle of one period, bpf, busy host", CYCLE, 0, 0, 0 },
	{ "bursts of 5 ms, bpf, busy host", BURSTS, 15 * MS, 0, 0 },
};
#define BUSY_CPU 0.15 /* of the time a vCPU has one */

static void row(const struct trial *t)
{
	struct verdict v;
	char idle[64] = "";
	if (!calibrate(t, &v)) {
		fprintf(stderr, "out of memory, or no recording\n");
		exit(1);
	}
	if (v.idle_width > 0)
		snprintf(idle, sizeof(idle), "%.1f %%, %.2f", 100 * v.idle_inside,
			 v.idle_width);
	printf("| %s | %.0f | %.0f | %.1f %% | %.2f | %.2f | %s | %.1f %% | %.2f |\n",
	       t->guest.name, t->hz, t->seconds, 100 * v.span_inside, v.span_width,
	       100 * v.half, idle, 100 * v.long_inside, v.long_width);
	fflush(stdout);
}

static void ticked_rows(unsigned n_run)
{
	size_t n = sizeof(ticked) / sizeof(*ticked);
	for (size_t g = 0; g < n; g++)
		for (double seconds = 1; seconds <= 5; seconds += 4)
			row(&(struct trial){ .guest = ticked[g],
					     .hz = 997,
					     .seconds = seconds,
					     .n_vcpu = 1,
					     .n_run = n_run,
					     .seed = 1,
					     .cpu = g < n / 2 ? 1 : BUSY_CPU });
}

int main(int argc, char **argv)
{
	static const double rates[] = { 100, 997, 10000 }, seconds[] = { 1, 5, 30 };
	unsigned n_run = argc > 1 ? (unsigned)atoi(argv[1]) : 200;
	if (argc > 2 && !strcmp(argv[2], "bpf")) {
		ticked_rows(n_run);
		return 0;
	}
	double max_samples = argc > 2 ? atof(argv[2]) : 1e9;
	for (size_t g = 0; g < sizeof(guests) / sizeof(*guests); g++)
		for (int r = 0; r < 3; r++)
			for (int s = 0; s < 3; s++) {
				struct trial t = { .guest = guests[g],
						   .hz = rates[r],
						   .seconds = seconds[s],
						   .n_vcpu = 1,
						   .n_run = n_run,
						   .late_ns = 20000,
						   .held_ns = 0,
						   .seed = 1 };
				if (t.hz * t.seconds <= max_samples)
					row(&t);
			}
	return 0;
}
