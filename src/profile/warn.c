/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile/warn.c: what the figures cannot say for themselves. */
#include "profile/profile_priv.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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

/* Is the outermost frame that of a program for which no file was given? */
static bool ends_in_unknown_program(struct us_profile *p, uint32_t stack)
{
	const struct us_trie_node *v = p->trie.nodes.v;
	stack = us_profile_guest_node(p, stack);
	uint32_t up = v[stack].parent;
	if (!stack || v[stack].flags & US_PROFILE_NO_FRAME)
		return false;
	bool is_return = false;
	for (; up && !(v[up].flags & US_PROFILE_NO_FRAME); up = v[up].parent) {
		stack = up;
		is_return = !(v[up].flags & US_PC_EXACT);
	}
	if (!(v[stack].flags & US_PC_USER))
		return false;
	const struct us_profile_site *site = us_profile_site(p, stack, is_return);
	if (!site || !site->n)
		return false;
	const struct us_profile_func *f =
		&p->funcs.v[p->frames.v[site->first + site->n - 1].func];
	return !f->known && (!f->module || !strcmp(f->module, US_MODULE_USER));
}

/* Of the stacks that are cut, by how: take those away that end in such a program. */
static uint64_t take_unknown_programs(struct us_profile *p, uint64_t ends[US_N_END])
{
	uint64_t n = 0;
	for (size_t i = 0; i < p->key_ends.cap; i++) {
		const struct us_pair_slot x = p->key_ends.v[i];
		if (!x.value || x.b >= US_N_END || x.b == US_END_ROOT ||
		    x.b == US_END_NONE ||
		    !ends_in_unknown_program(p, (uint32_t)(x.a / US_N_KIND)))
			continue;
		uint64_t take = x.value < ends[x.b] ? x.value : ends[x.b];
		ends[x.b] -= take;
		n += take;
	}
	return n;
}

static void warn_of_cut_stacks(struct us_profile *p)
{
	uint64_t ends[US_N_END], all = 0, cut, in_programs;
	memcpy(ends, p->sum.ends, sizeof(ends));
	for (int i = 0; i < US_N_END; i++)
		all += ends[i];
	cut = all - ends[US_END_ROOT] - ends[US_END_NONE];
	if (!all || cut * 20 < all)
		return;
	in_programs = take_unknown_programs(p, ends);
	cut -= in_programs;
	if (in_programs * 20 >= all)
		us_profile_warn(
			p,
			"%.1f %% of the stacks are cut in programs for which no "
			"file was given: record -e FILE finds their callers",
			100.0 * (double)in_programs / (double)all);
	if (cut * 20 < all)
		return;
	char why[160] = "";
	size_t at = 0;
	for (int i = US_END_DEPTH; i < US_N_END && at < sizeof(why); i++)
		if (ends[i])
			at += (size_t)snprintf(why + at, sizeof(why) - at,
					       "%s%s %" PRIu64, at ? ", " : "",
					       us_unwind_end_name(i), ends[i]);
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
	const char *unreadable = us_symbols_unreadable(p->symbols);
	if (caution && *caution)
		us_profile_warn(p, "%s", caution);
	us_profile_warn_of_gathers(p);
	if (note && *note && !p->modules.n && !p->guest_names.n)
		us_profile_warn(p, "no names: %s", note);
	if (us_profile_fact(p, "linux_changed"))
		us_profile_warn(p,
				"the guest's kernel was replaced by another one during "
				"the recording: where both have code at one address, "
				"names of the later one are shown");
	if (incomplete)
		us_profile_warn(p,
				"the line tables of %s are too large or broken: some "
				"lines and inlined calls are missing",
				incomplete);
	if (unreadable)
		us_profile_warn(p,
				"the debug information of %s is compressed with zstd, "
				"which is not read here: lines and inlined calls are "
				"missing (objcopy --decompress-debug-sections)",
				unreadable);
	if (p->opts.host && p->host_trie.nodes.n < 2)
		us_profile_warn(p, "the recording has no stacks of the host: they are "
				   "taken with record --host, by the backend bpf");
	warn_of_file(p);
	warn_of_loss(p);
	warn_of_cut_stacks(p);
	if (!s->running && s->other_part && !s->unfocused)
		us_profile_warn(p, "no sample is of the part that is asked for");
	else if (!s->running && s->unfocused)
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
