/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/boot/unfinished.c: see cmd/boot/unfinished.h. */
#include "cmd/boot/unfinished.h"

#include "base/clock.h"
#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#define LAST_WORDS 400 /* bytes to show */

/* We make QEMU put a time before its trace, and so before each message: drop it. */
static void drop_times(char *text)
{
	static const char form[] = "0000-00-00T00:00:00.000000Z ";
	char *to = text;
	while (*text) {
		size_t n = 0;
		while (form[n] && (form[n] == '0' ? text[n] >= '0' && text[n] <= '9'
						  : text[n] == form[n]))
			n++;
		if (form[n])
			*to++ = *text++;
		else
			text += n;
	}
	*to = '\0';
}

/* What a user would look at first: the error of a VMM that ended, otherwise the guest's
 * last words.  Falls back to the other one. */
static const char *last_words(const struct us_boot_run *run, char *text, size_t size)
{
	const struct us_boot_tail *t = run->ended ? &run->complained : &run->said;
	if (!t->n)
		t = run->ended ? &run->said : &run->complained;
	size_t end = t->n;
	while (end && strchr(" \r\n", t->text[end - 1]))
		end--;
	size_t skip = end >= size ? end - size + 1 : 0;
	char copy[US_BOOT_TAIL];
	snprintf(copy, sizeof(copy), "%.*s", (int)(end - skip), t->text + skip);
	drop_times(copy);
	for (char *c = copy; *c; c++)
		if (*c == '\r' || *c == '\n')
			*c = *c == '\r' ? ' ' : '/';
	us_printable(text, size, copy);
	return text;
}

/* What may help when a point was not reached in time. */
static void hint_late(const struct us_boot_variant *v, const struct us_boot_run *run,
		      enum us_boot_kind missing, struct us_err *e)
{
	bool is_code = missing == US_BOOT_SYMBOL || missing == US_BOOT_ENTRY;
	if (run->n_start > 1)
		us_hint(e, "the guest resets itself: -no-reboot ends it at the reset");
	else if (is_code && v->way & US_BOOT_BY_SAMPLES)
		us_hint(e,
			"a function that returns soon may be on none of the stacks of "
			"%" PRIu64 " samples",
			run->n_sample);
	else if (is_code)
		us_hint(e, "-t TIME waits longer; a kernel that moves itself has its "
			   "functions at other addresses (-e ELF@BIAS)");
	else if (missing == US_BOOT_IDLE)
		us_hint(e, "-t TIME waits longer; a guest that never waits for an "
			   "interrupt never becomes idle");
	else
		us_hint(e, "-t TIME waits longer");
}

static int fail_late(const struct us_boot_variant *v,
		     const struct us_boot_point *missing, const char *words,
		     const struct us_boot_run *run, struct us_err *e)
{
	char often[64] = "";
	if (run->n_start > 1)
		snprintf(often, sizeof(often), ", the guest started %" PRIu64 " times",
			 run->n_start);
	us_fail(e, -ETIMEDOUT, "%s: %s was not reached in %.0f s%s: %s",
		v->name ? v->name : "boot", missing->name,
		(double)v->timeout_ns / US_NS_PER_SEC, often, words);
	hint_late(v, run, missing->kind, e);
	return -ETIMEDOUT;
}

/* The first wanted point that was not passed; otherwise the last wanted one. */
static const struct us_boot_point *missing_of(const struct us_boot_plan *plan,
					      const struct us_boot_run *run)
{
	for (size_t i = 0; i < plan->n; i++)
		if (plan->point[i].wanted && !run->at[i].seen)
			return &plan->point[i];
	return &plan->point[us_boot_goal(plan)];
}

int us_boot_unfinished(const struct us_boot_variant *v,
			   const struct us_boot_plan *plan,
			   const struct us_boot_run *run, struct us_err *e)
{
	char words[LAST_WORDS], how[32];
	const struct us_boot_point *missing = missing_of(plan, run);
	last_words(run, words, sizeof(words));
	if (!words[0])
		strcpy(words, "it wrote nothing");
	if (!run->ended)
		return fail_late(v, missing, words, run, e);
	if (WIFEXITED(run->status))
		snprintf(how, sizeof(how), "status %d", WEXITSTATUS(run->status));
	else
		snprintf(how, sizeof(how), "signal %d", WTERMSIG(run->status));
	us_fail(e, -ECHILD, "%s: the VMM ended (%s) before %s: %s",
		v->name ? v->name : "boot", how, missing->name, words);
	if (!WIFEXITED(run->status) || WEXITSTATUS(run->status))
		return -ECHILD;
	us_hint(e,
		"%sa VMM that goes to the background cannot be watched: keep it in the "
		"foreground",
		run->said.n && !run->held ? "the guest ended before it; or else, "
					  : "");
	return -ECHILD;
}
