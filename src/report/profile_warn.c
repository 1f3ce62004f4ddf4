/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile_warn.c: what the figures cannot say for themselves. */
#include "report/profile_priv.h"

#include <inttypes.h>
#include <stdio.h>

#define FEW_SAMPLES 100

static void warn_of_file(struct us_profile *p)
{
	const struct us_profile_summary *s = &p->sum;
	if (s->file.cut)
		us_profile_warn(p,
				"the recording is cut: what follows its first %" PRIu64
				" bytes is missing or damaged",
				s->file.bytes);
	else if (!s->file.ended)
		us_profile_warn(p, "the recording has no end: uniscope was killed, or "
				   "is still recording");
	if (s->file.ended && s->end != US_RECORD_DONE && *s->end_words)
		us_profile_warn(p, "the recording ended early: %s", s->end_words);
}

static void warn_of_cut_stacks(struct us_profile *p)
{
	const struct us_profile_summary *s = &p->sum;
	uint64_t all = 0, cut;
	for (int i = 0; i < US_N_END; i++)
		all += s->ends[i];
	cut = all - s->ends[US_END_ROOT] - s->ends[US_END_NONE];
	if (!all || cut * 20 < all)
		return;
	char why[160] = "";
	size_t at = 0;
	for (int i = US_END_DEPTH; i < US_N_END && at < sizeof(why); i++)
		if (s->ends[i])
			at += (size_t)snprintf(why + at, sizeof(why) - at,
					       "%s%s %" PRIu64, at ? ", " : "",
					       us_unwind_end_name(i), s->ends[i]);
	us_profile_warn(p,
			"%.1f %% of the stacks are cut (%s): their callers are missing",
			100.0 * (double)cut / (double)all, why);
}

static void warn_of_loss(struct us_profile *p)
{
	const struct us_record_stats *s = &p->sum.stats;
	uint64_t missed = s->late + s->backed_off + s->failed;
	if (s->lost)
		us_profile_warn(p,
				"%" PRIu64 " samples were taken but lost: the disk "
				"could not keep up",
				s->lost);
	if (missed * 10 <= s->due)
		return;
	us_profile_warn(p,
			"%.1f %% of the samples due were not taken (%" PRIu64
			" late, %" PRIu64 " for the time budget, %" PRIu64
			" failed): %s",
			100.0 * (double)missed / (double)s->due, s->late, s->backed_off,
			s->failed,
			s->backed_off > s->late ? "more would take too much of the "
						  "guest's time (record --budget)"
						: "ask for a lower rate (record -F)");
}

void us_profile_warn_of_quality(struct us_profile *p)
{
	const struct us_profile_summary *s = &p->sum;
	const char *caution = us_profile_fact(p, "caution");
	const char *note = us_profile_fact(p, "symbols_note");
	const char *incomplete = us_symbols_incomplete(p->symbols);
	if (caution && *caution)
		us_profile_warn(p, "%s", caution);
	if (note && *note && !p->modules.n)
		us_profile_warn(p, "no names: %s", note);
	if (incomplete)
		us_profile_warn(p,
				"the line tables of %s are too large or broken: some "
				"lines and inlined calls are missing",
				incomplete);
	warn_of_file(p);
	warn_of_loss(p);
	warn_of_cut_stacks(p);
	if (!s->running && s->unfocused)
		us_profile_warn(p, "no stack has a function that the focus matches");
	else if (!s->running && s->idle)
		us_profile_warn(p, "the guest was idle in every sample");
	else if (!s->running)
		us_profile_warn(p, "there are no samples");
	else if (s->running < FEW_SAMPLES)
		us_profile_warn(p,
				"only %" PRIu64 " samples of running code: record for "
				"longer to narrow the intervals",
				s->running);
}
