/* SPDX-License-Identifier: GPL-2.0-or-later */
/* limits.c: see limits.h. */
#include "store/limits.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHORTER "; record for a shorter time (-d)"
#define BETTER	"; -e FILE names programs that matter"

struct words {
	const char *key, *before, *behind; /* of the bound */
	bool mib;			   /* the bound is shown in MiB */
};

static const struct words limits[US_N_LIMITS] = {
	[US_LIMIT_TASKS] = {
		.key = "limit_tasks",
		.before = "the guest had more than ",
		.behind = " tasks at once: those further down in its list, and "
			  "what they wait for, are not known",
	},
	[US_LIMIT_PROCESSES] = {
		.key = "limit_processes",
		.before = "more than ",
		.behind = " processes were seen: the time of later ones may be "
			  "[not known]" SHORTER,
	},
	[US_LIMIT_THREADS] = {
		.key = "limit_threads",
		.before = "more than ",
		.behind = " threads were seen: the time of later ones may be "
			  "[not known]" SHORTER,
	},
	[US_LIMIT_SPACES] = {
		.key = "limit_spaces",
		.before = "more than ",
		.behind = " processes were seen: the code of later ones "
			  "has no names" SHORTER,
	},
	[US_LIMIT_FILES] = {
		.key = "limit_files",
		.before = "more than ",
		.behind = " program files were seen: the code of later "
			  "ones has no names" SHORTER,
	},
	[US_LIMIT_MAPPINGS] = {
		.key = "limit_mappings",
		.before = "more than ",
		.behind = " mappings of program code were seen: the code of "
			  "later ones has no names" SHORTER,
	},
	[US_LIMIT_MAPPINGS_OF_ONE] = {
		.key = "limit_mappings_of_one",
		.before = "a process has more than ",
		.behind = " mappings: code at its highest addresses has no "
			  "names" BETTER,
	},
	[US_LIMIT_NAMES] = {
		.key = "limit_names",
		.before = "more than ",
		.behind = " MiB of dynamic symbols are in the memory of the "
			  "guest's programs: functions in the remaining files have "
			  "no names; report --symbols DIR, --root DIR or "
			  "--debuginfod URL may find them",
		.mib = true,
	},
	[US_LIMIT_RULES] = {
		.key = "limit_rules",
		.before = "more than ",
		.behind = " MiB of rules are needed to unwind the guest's "
			  "programs: stacks in the remaining files "
			  "may end early" BETTER,
		.mib = true,
	},
	[US_LIMIT_PLACES] = {
		.key = "limit_places",
		.before = "the guest's programs have code in more than ",
		.behind = " places at once (a file in a process): stacks in "
			  "the remaining ones may end early" BETTER,
	},
	[US_LIMIT_SYMBOL_FILES] = {
		.key = "limit_symbol_files",
		.before = "--symbols has more than ",
		.behind = " files: the build-ids of the remaining ones were not "
			  "read; name a smaller folder, or one with "
			  ".build-id in it, which is not walked",
	},
	[US_LIMIT_SYMBOL_DEPTH] = {
		.key = "limit_symbol_depth",
		.before = "--symbols has folders more than ",
		.behind = " deep: the build-ids of files in these were not read; "
			  "name one of these folders, too",
	},
	[US_LIMIT_SYMBOL_TIME] = {
		.key = "limit_symbol_time",
		.before = "the folders of --symbols were not read to their end in ",
		.behind = " s, when the recording ended: stacks in programs whose "
			  "unwind records are there may end early; check "
			  "whether their disk responds",
	},
	[US_LIMIT_ROOT_TIME] = {
		.key = "limit_root_time",
		.before = "the folder of --root could not be opened in ",
		.behind = " s, when the recording ended: stacks in programs whose "
			  "unwind records are there may end early; check "
			  "whether its disk responds",
	},
	[US_LIMIT_VCPUS] = {
		.key = "limit_vcpus",
		.before = "the guest got further vCPUs while it was recorded: only the "
			  "first ",
		.behind = " are in the samples; record again to sample all",
	},
	[US_LIMIT_SYMBOLS] = {
		.key = "limit_symbols",
		.before = "more than ",
		.behind = " symbols are in the files of the guest's programs: "
			  "the remaining files were not read, and their functions "
			  "have only the names in the recording; name a "
			  "smaller folder with --symbols",
	},
	[US_LIMIT_IMPORTED] = {
		.key = "limit_imported",
		.before = "the perf.data has more than ",
		.behind = " mappings of code: the code of the remaining ones has "
			  "no names",
	},
	[US_LIMIT_IMPORTED_OF_ONE] = {
		.key = "limit_imported_of_one",
		.before = "a process of the perf.data has more than ",
		.behind = " mappings of code: the code of the remaining ones has "
			  "no names",
	},
};

void us_limit_reached(struct us_limits *l, enum us_limit k, uint64_t bound)
{
	atomic_store_explicit(&l->hit[k].bound, bound, memory_order_relaxed);
	atomic_fetch_add_explicit(&l->hit[k].n, 1, memory_order_release);
}

void us_limits_copy(struct us_limits *to, const struct us_limits *from)
{
	for (unsigned k = 0; k < US_N_LIMITS; k++) {
		atomic_store(&to->hit[k].n, atomic_load(&from->hit[k].n));
		atomic_store(&to->hit[k].bound, atomic_load(&from->hit[k].bound));
	}
}

const char *us_limit_key(enum us_limit k)
{
	return limits[k].key;
}

void us_limit_value(const struct us_limits *l, enum us_limit k, char *ret, size_t size)
{
	uint64_t n = atomic_load_explicit(&l->hit[k].n, memory_order_acquire);
	snprintf(ret, size, "%" PRIu64 " %" PRIu64, n,
		 atomic_load_explicit(&l->hit[k].bound, memory_order_relaxed));
}

/* "1,234,567". */
static void group(uint64_t n, char ret[32])
{
	char digits[24];
	size_t len = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, n), at = 0;
	for (size_t k = 0; k < len; k++) {
		if (k && (len - k) % 3 == 0)
			ret[at++] = ',';
		ret[at++] = digits[k];
	}
	ret[at] = '\0';
}

/* Recordings are not trusted: accept exactly two numbers. */
static bool parse(const char *value, uint64_t *ret_n, uint64_t *ret_bound)
{
	char *end;
	if (value[strspn(value, "0123456789 ")])
		return false;
	*ret_n = strtoull(value, &end, 10);
	if (*end != ' ')
		return false;
	*ret_bound = strtoull(end + 1, &end, 10);
	return *ret_n && *ret_bound && !*end;
}

bool us_limit_words(enum us_limit k, const char *value, char *ret, size_t size)
{
	const struct words *w = &limits[k];
	uint64_t n, bound;
	char text[32];
	if (!parse(value, &n, &bound))
		return false;
	group(w->mib ? bound >> 20 : bound, text);
	snprintf(ret, size, "%s%s%s", w->before, text, w->behind);
	return true;
}
