/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile/warn.c: warnings about what the figures do not show. */
#include "profile/profile_priv.h"

#include "base/clock.h"
#include "base/text.h"
#include "store/limits.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define FEW_SAMPLES 100

static void warn_of_file(struct us_profile *p, const struct us_profile_recording *r)
{
	const char *which = p->n_file > 1 ? r->name : "the recording";
	if (r->file.cut)
		us_profile_warn(p,
				"%s is cut: what follows its first %" PRIu64
				" bytes is missing or damaged",
				which, r->file.bytes);
	else if (!r->file.ended)
		us_profile_warn(p,
				"%s has no end: uniscope was killed, or is still "
				"recording",
				which);
	if (r->file.more)
		us_profile_warn(p,
				"%s ends after %" PRIu64
				" bytes, and what follows was not read: several "
				"recordings go to uniscope report as several files",
				which, r->file.bytes);
	/* uniscope boot ends its recordings itself, which needs no warning. */
	if (r->file.ended && r->end != US_RECORD_DONE && *r->end_words && !p->n_phase)
		us_profile_warn(p, "%s ended early: %s", which, r->end_words);
}

/* The outermost function of a cut stack; NULL: there is none. */
static const struct us_profile_func *outermost(struct us_profile *p, uint32_t stack,
					       bool *ret_user)
{
	const struct us_trie_node *v = p->trie.nodes.v;
	stack = us_profile_guest_node(p, stack);
	uint32_t up = v[stack].parent;
	bool is_return = false;
	if (!stack || v[stack].flags & US_PROFILE_NO_FRAME)
		return NULL;
	for (; up && !(v[up].flags & US_PROFILE_NO_FRAME); up = v[up].parent) {
		stack = up;
		is_return = !(v[up].flags & US_PC_EXACT);
	}
	*ret_user = v[stack].flags & US_PC_USER;
	const struct us_profile_site *site = us_profile_site(p, stack, is_return);
	return site && site->n
		       ? &p->funcs.v[p->frames.v[site->first + site->n - 1].func]
		       : NULL;
}

#define MAX_CUT_PLACES 64

/* A function; or all code of a module that has no names, such as [jit]. */
struct cut_place {
	const char *name;
	bool is_module;
	uint64_t weight;
};

/* Where stacks are cut: in programs without a file, and otherwise the place with most
 * of them. */
struct cut_places {
	uint64_t ends[US_N_END], programs;
	struct cut_place v[MAX_CUT_PLACES];
	const struct cut_place *most;
};

/* If there are too many, the least one is replaced by the new one, which takes over its
 * weight: so one with a large part of the whole stays, whatever the order. */
static void add_place(struct cut_places *c, const struct us_profile_func *f,
		      uint64_t weight)
{
	const bool is_module = !f->known;
	const char *name = is_module ? f->module : f->name;
	struct cut_place *place = c->v;
	for (size_t k = 0; k < MAX_CUT_PLACES; k++) {
		struct cut_place *x = &c->v[k];
		bool same = x->name == name ||
			    (is_module && x->name && !strcmp(x->name, name));
		if (x->is_module == is_module && same) {
			x->weight += weight;
			return;
		}
		if (x->weight < place->weight)
			place = x;
	}
	*place = (struct cut_place){ name, is_module, place->weight + weight };
}

/* One place is worth a word only if it has a good part of what is cut, and programs
 * without a file, of which the warning tells anyway, have not more. */
static void find_most(struct cut_places *c, uint64_t cut)
{
	const struct cut_place *most = c->v;
	for (size_t k = 1; k < MAX_CUT_PLACES; k++)
		if (c->v[k].weight > most->weight)
			most = &c->v[k];
	if (most->weight && most->weight * 3 >= cut && most->weight >= c->programs)
		c->most = most;
}

static void find_places(struct us_profile *p, struct cut_places *c, uint64_t cut)
{
	memcpy(c->ends, p->sum.ends, sizeof(c->ends));
	for (size_t i = 0; i < p->key_ends.cap; i++) {
		const struct us_pair_slot x = p->key_ends.v[i];
		bool user = false;
		if (!x.value || x.b >= US_N_END || x.b == US_END_ROOT ||
		    x.b == US_END_NONE)
			continue;
		const struct us_profile_func *f = outermost(
			p, (uint32_t)(x.a / US_N_KIND), &user);
		if (!f)
			continue;
		if (user && !f->known &&
		    (!f->module || !strcmp(f->module, US_MODULE_USER))) {
			uint64_t take = x.value < c->ends[x.b] ? x.value : c->ends[x.b];
			c->ends[x.b] -= take;
			c->programs += take;
		} else if (f->known || f->module) {
			add_place(c, f, x.value);
		}
	}
	find_most(c, cut);
}

/* What else can have ended these stacks, and what helps: docs/backends.md. */
static const char *about_faults(const struct us_profile *p, uint64_t faults,
				uint64_t cut)
{
	const char *backend = us_profile_fact(p, "backend");
	/* kvm may know only a part of the guest's memory. */
	if (backend && !strcmp(backend, "kvm") && faults * 2 >= cut)
		return " (--backend bpf learns from KVM where memory is)";
	/* To the unwinder, what was not copied is not there. */
	if (backend && !strcmp(backend, "bpf"))
		return " or is beyond bpf's copy of the stack, 16 KiB at most "
		       "(--backend kvm has no such limit)";
	return "";
}

static void warn_of_cut_stacks(struct us_profile *p)
{
	struct cut_places c = { 0 };
	uint64_t all = 0;
	char why[768] = "";
	const char *then = "";
	for (int i = 0; i < US_N_END; i++)
		all += p->sum.ends[i];
	uint64_t cut = all - p->sum.ends[US_END_ROOT] - p->sum.ends[US_END_NONE];
	if (!all || cut * 20 < all)
		return;
	find_places(p, &c, cut);
	if (c.programs) {
		us_append(why, sizeof(why),
			  "%.1f %% in programs without a file (-e FILE)",
			  100.0 * (double)c.programs / (double)all);
		then = "; ";
	}
	for (int i = US_END_DEPTH; i < US_N_END; i++) {
		if (!c.ends[i])
			continue;
		us_append(why, sizeof(why), "%s%.1f %% %s", then,
			  100.0 * (double)c.ends[i] / (double)all,
			  us_unwind_end_words((enum us_unwind_end)i));
		if (i == US_END_FAULT)
			us_append(why, sizeof(why), "%s",
				  about_faults(p, c.ends[i], cut));
		then = "; ";
	}
	if (c.most)
		us_append(why, sizeof(why), "; most %s %.100s",
			  c.most->is_module ? "in" : "at", c.most->name);
	us_profile_warn(p,
			"%.1f %% of the stacks are cut, outer callers are missing: %s",
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

/* kvm samples a vCPU that waits for a host CPU, at the stack that it had then: one wait
 * is many samples at one place, which intervals take for independent. */
static void warn_of_ready(struct us_profile *p)
{
	const char *backend = us_profile_fact(p, "backend");
	const struct us_profile_summary *s = &p->sum;
	if (!backend || !strstr(backend, "kvm") || s->ready * 10 <= s->running)
		return;
	us_profile_warn(p,
			"%.1f %% of the samples are of vCPUs that waited for a host "
			"CPU, and by kvm these count in the functions where the "
			"vCPUs waited: the intervals of functions are too narrow. For "
			"samples on a CPU alone: --filter state=guest; or record with "
			"--backend bpf",
			100.0 * (double)s->ready / (double)s->running);
}

static void warn_of_limits(struct us_profile *p)
{
	char text[512];
	for (unsigned k = 0; k < US_N_LIMITS; k++) {
		const char *value = us_profile_fact(p, us_limit_key(k));
		if (value && us_limit_words(k, value, text, sizeof(text)))
			us_profile_warn(p, "%s", text);
	}
}

static void warn_of_kernels(struct us_profile *p)
{
	const struct us_kernels *k = &p->kernels;
	if (!k->n && us_profile_fact(p, "linux_changed"))
		us_profile_warn(p,
				"the guest's kernel was replaced by another one during "
				"the recording: where both have code at the same "
				"address, the report shows the later one's names");
	if (k->n)
		us_profile_warn(p,
				"the guest's kernel was replaced by another one, or "
				"restarted, %u time%s during the recording, first "
				"between %.1f and %.1f s: in between, kernel addresses "
				"have no names; afterwards they have the later "
				"kernel's names, if its memory has them",
				k->n, k->n == 1 ? "" : "s",
				(double)k->from_ns[0] / US_NS_PER_SEC,
				(double)k->until_ns[0] / US_NS_PER_SEC);
}

/* Why there are no names, or no owners of samples. */
static void warn_of_names(struct us_profile *p)
{
	const char *note = us_profile_fact(p, "symbols_note");
	bool named = us_naming_has_names(p->naming);
	if (note && *note && !p->modules.n && !named)
		us_profile_warn(p, "no names: %s", note);
	if (*p->stripped && !named)
		us_profile_warn(
			p,
			"no names: %s is stripped, and no file with its symbols was "
			"found: addresses are shown; give one with -e FILE",
			p->stripped);
	if (p->opts.processes && !p->opts.if_known && !p->processes.n && !p->tasks.n)
		us_profile_warn(p,
				"the recording knows no processes: uniscope reads them "
				"from Linux guests that have type information (BTF), "
				"or whose kernel's ELF file has it (record -e "
				"vmlinux), if more than a GDB stub can read their "
				"memory; page tables still distinguish programs");
}

/* What of the images' debug information could not be read. */
static void warn_of_lines(struct us_profile *p)
{
	const char *incomplete = us_symbols_incomplete(p->symbols);
	const char *unreadable = us_symbols_unreadable(p->symbols);
	const char *split = us_symbols_split(p->symbols);
	const char *changed = us_symbols_changed(p->symbols);
	if (changed)
		us_profile_warn(p,
				"%s was changed after it was opened: lines and inlined "
				"calls are missing; report again",
				changed);
	if (incomplete)
		us_profile_warn(p,
				"the line tables of %s are too large or broken: some "
				"lines and inlined calls are missing",
				incomplete);
	if (unreadable)
		us_profile_warn(
			p,
			"the debug information of %s is compressed with zstd, "
			"which uniscope cannot read: lines and inlined calls are "
			"missing (objcopy --decompress-debug-sections)",
			unreadable);
	if (split)
		us_profile_warn(
			p,
			"%s was compiled with -gsplit-dwarf, and .dwo and .dwp "
			"files are not read: lines are right, but inlined calls are "
			"missing and their time counts for their callers; build it "
			"with -gno-split-dwarf (Linux: no CONFIG_DEBUG_INFO_SPLIT)",
			split);
}

/* What of a recording's parts is not there. */
static void warn_of_files(struct us_profile *p)
{
	if (p->opts.host && p->host_trie.nodes.n < 2)
		us_profile_warn(p, "the recording has no stacks of the host: record "
				   "--host takes them, with the bpf backend");
	for (size_t i = 0; i < p->n_file; i++)
		warn_of_file(p, &p->recording[i]);
}

/* Of several recordings, or of one by somebody who means ill. */
static void warn_of_programs(struct us_profile *p)
{
	const char *what = p->mappings.full	   ? "mappings of program code"
			   : p->program_names.full ? "names of functions"
			   : p->image_names.full   ? "names of functions"
			   : p->cuts_full ? "times at which programs came and went"
					  : NULL;
	if (what)
		us_profile_warn(
			p,
			"the recordings have more %s than a report takes: some "
			"code has no names, or its process is not known; report "
			"fewer at a time, or less of the time",
			what);
}

static void warn_of_lanes(struct us_profile *p)
{
	if (p->lanes.n == US_MAX_LANES)
		us_profile_warn(p,
				"only %u vCPUs are told apart: %u of the last "
				"recordings are together as \"other vCPUs\"; report "
				"fewer recordings at a time",
				US_MAX_LANES - 1, p->lanes.v[US_MAX_LANES - 1].others);
}

static void warn_of_filters(struct us_profile *p)
{
	if (p->sum.other_part && !p->sum.unfocused)
		us_profile_warn(p, "no sample is in the part that was asked for");
	else if (p->sum.focus_only)
		us_profile_warn(p, "no stack has a function that the focus matches");
	else
		us_profile_warn(p, "no sample passes the filters");
}

/* Of filters, or of what the guest did. */
static void warn_of_few(struct us_profile *p)
{
	const struct us_profile_summary *s = &p->sum;
	if (!s->running && (s->other_part || s->unfocused))
		warn_of_filters(p);
	else if (p->opts.waits)
		return;
	else if (!s->running && s->idle)
		us_profile_warn(p, "the guest was idle in every sample");
	else if (!s->running && s->off)
		us_profile_warn(p, "every sample found the guest paused, or its vCPUs "
				   "off");
	else if (!s->running)
		us_profile_warn(p, "there are no samples");
	else if (s->running < FEW_SAMPLES)
		us_profile_warn(p,
				"only %" PRIu64 " samples of running code: record for "
				"longer to narrow the intervals",
				s->running);
}

void us_profile_warn_of_quality(struct us_profile *p)
{
	const char *caution = us_profile_fact(p, "caution");
	const char *changed = us_profile_fact(p, "image_changed");
	const char *missed = us_profile_fact(p, "image_missed");
	p->n_image_warning = p->warnings.n;
	if (caution && *caution && !p->opts.waits)
		us_profile_warn(p, "%s", caution);
	if (changed && *changed)
		us_profile_warn(p, "%s", changed);
	if (missed && *missed)
		us_profile_warn(p, "%s", missed);
	if (!p->opts.waits)
		us_profile_warn_of_gathers(p);
	warn_of_names(p);
	warn_of_limits(p);
	warn_of_kernels(p);
	warn_of_lines(p);
	warn_of_files(p);
	warn_of_programs(p);
	warn_of_lanes(p);
	if (us_profile_is_counted(p))
		return;
	if (p->opts.waits) {
		us_profile_warn_of_waits(p);
	} else {
		warn_of_loss(p);
		warn_of_ready(p);
	}
	warn_of_cut_stacks(p);
	warn_of_few(p);
}
