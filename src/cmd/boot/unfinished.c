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

/* What QEMU says of a guest without a window, where all goes well. */
static bool is_chatter(const char *line)
{
	return !strncmp(line, "VNC server running on ", 22) ||
	       (strstr(line, ": module ui-") && strstr(line, " not found"));
}

static void drop_chatter(char *text)
{
	char *to = text, *end;
	for (char *line = text; *line; line = end) {
		end = strchr(line, '\n');
		end = end ? end + 1 : line + strlen(line);
		char next = *end;
		*end = '\0';
		bool keep = !is_chatter(line);
		*end = next;
		if (keep) {
			memmove(to, line, (size_t)(end - line));
			to += end - line;
		}
	}
	*to = '\0';
}

/* Without what is no word at the end. */
static void copy_tail(const struct us_boot_tail *t, char ret[static US_BOOT_TAIL])
{
	for (size_t i = 0; i < t->n; i++)
		ret[i] = t->text[i] ? t->text[i] : ' ';
	ret[t->n] = '\0';
	drop_times(ret);
	drop_chatter(ret);
	size_t end = strlen(ret);
	while (end && strchr(" \r\n", ret[end - 1]))
		end--;
	ret[end] = '\0';
}

static bool has_failed(const struct us_boot_run *run)
{
	return run->ended && (!WIFEXITED(run->status) || WEXITSTATUS(run->status));
}

/* KVM's error is followed by all registers; NULL: it says nothing. */
static char *of_kvm(char *text)
{
	static const char *const begins[] = { "KVM internal error",
					      "KVM: ", "error: kvm" };
	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++) {
		char *at = strstr(text, begins[i]);
		if (at)
			return at;
	}
	return NULL;
}

/* What a user would look at first: the error of a VMM that failed, otherwise the
 * guest's last words.  Falls back to the other one. */
static const char *last_words(const struct us_boot_run *run, char *text, size_t size)
{
	char own[US_BOOT_TAIL], guests[US_BOOT_TAIL];
	copy_tail(&run->complained, own);
	copy_tail(&run->said, guests);
	bool failed = has_failed(run) || run->stuck;
	char *kvm = run->stuck ? of_kvm(own) : NULL;
	char *words = failed ? own : guests;
	if (!*words)
		words = failed ? guests : own;
	size_t n = strlen(words);
	if (kvm)
		words = kvm;
	else
		words += n >= size ? n - size + 1 : 0;
	for (char *c = words; *c; c++)
		if (*c == '\r' || *c == '\n')
			*c = *c == '\r' ? ' ' : '/';
	us_printable(text, size, words);
	return text;
}

/* What may help when a point was not reached in time. */
static void hint_late(const struct us_boot_variant *v, const struct us_boot_run *run,
		      enum us_boot_kind missing, struct us_err *e)
{
	bool is_code = missing == US_BOOT_SYMBOL || missing == US_BOOT_ENTRY;
	if (us_boot_is_output(missing) && v->elsewhere)
		us_hint(e, US_BOOT_ELSEWHERE);
	else if (run->n_start > 1)
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
		us_hint(e, "-t TIME waits longer%s",
			run->said.n ? "" : "; nothing came to standard output yet");
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

static void hint_stuck(const char *state, struct us_err *e)
{
	static const struct {
		const char *state, *hint;
	} hints[] = {
		{ "internal-error", "KVM cannot go on with this guest: an instruction "
				    "that it does not emulate, or a triple fault; "
				    "without KVM QEMU emulates all (-accel tcg)" },
		{ "guest-panicked", "the guest said that it panicked" },
		{ "io-error", "a disk's file could not be read or written" },
		{ "shutdown", "the guest ended itself (a power-off, a reset or a "
			      "triple fault), and -no-shutdown keeps QEMU" },
		{ "watchdog", "the guest's watchdog timer expired" },
	};
	for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++)
		if (!strcmp(state, hints[i].state))
			us_hint(e, "%s", hints[i].hint);
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

/* The last point in the guest's own code that was passed, as far as that is seen; NULL:
 * none.  A vCPU is also idle when the machine ends. */
static const struct us_boot_point *last_in_guest(const struct us_boot_plan *plan,
						 const struct us_boot_run *run)
{
	size_t last = plan->n;
	for (size_t i = 0; i < plan->n; i++) {
		enum us_boot_kind kind = plan->point[i].kind;
		bool in_guest = kind == US_BOOT_START || kind == US_BOOT_SECTOR ||
				kind == US_BOOT_ENTRY || kind == US_BOOT_SYMBOL;
		if (in_guest && run->at[i].seen &&
		    (last == plan->n || run->at[i].wall_ns >= run->at[last].wall_ns))
			last = i;
	}
	return last == plan->n ? NULL : &plan->point[last];
}

/* QEMU leaves us only with -daemonize, which was refused. */
static void hint_ended(const struct us_boot_variant *v, const struct us_boot_run *run,
		       enum us_boot_kind missing, bool guest_ran, struct us_err *e)
{
	if (us_boot_is_output(missing) && v->elsewhere)
		us_hint(e, US_BOOT_ELSEWHERE);
	else if (guest_ran)
		us_hint(e, "the guest ended itself: a power-off, or a reset where that "
			   "ends the VMM");
	else if (strcmp(v->vmm, "qemu") != 0)
		us_hint(e,
			"%sa VMM that goes to the background cannot be watched: keep "
			"it in the foreground",
			run->said.n && !run->held
				? "the guest ended before it; or else, "
				: "");
}

static int fail_ended(const struct us_boot_variant *v, const struct us_boot_plan *plan,
		      const struct us_boot_point *missing, const char *words,
		      const struct us_boot_run *run, struct us_err *e)
{
	char how[32], after[US_BOOT_NAME + 16] = "";
	const struct us_boot_point *last = last_in_guest(plan, run);
	if (WIFEXITED(run->status))
		snprintf(how, sizeof(how), "status %d", WEXITSTATUS(run->status));
	else
		snprintf(how, sizeof(how), "signal %d", WTERMSIG(run->status));
	if (last)
		snprintf(after, sizeof(after), " after %s,", last->name);
	us_fail(e, -ECHILD, "%s: the VMM ended (%s)%s before %s: %s",
		v->name ? v->name : "boot", how, after, missing->name, words);
	if (!has_failed(run))
		hint_ended(v, run, missing->kind, last, e);
	return -ECHILD;
}

static int fail_stuck(const struct us_boot_variant *v, const struct us_boot_plan *plan,
		      const struct us_boot_point *missing, const char *words,
		      const struct us_boot_run *run, struct us_err *e)
{
	char after[US_BOOT_NAME + 16] = "";
	const struct us_boot_point *last = last_in_guest(plan, run);
	if (last)
		snprintf(after, sizeof(after), " after %s,", last->name);
	us_fail(e, -ECHILD, "%s: QEMU stopped the guest for good (%s)%s before %s: %s",
		v->name ? v->name : "boot", run->stuck, after, missing->name, words);
	hint_stuck(run->stuck, e);
	return -ECHILD;
}

int us_boot_unfinished(const struct us_boot_variant *v, const struct us_boot_plan *plan,
		       const struct us_boot_run *run, struct us_err *e)
{
	char words[LAST_WORDS];
	const struct us_boot_point *missing = missing_of(plan, run);
	last_words(run, words, sizeof(words));
	if (!words[0])
		strcpy(words, "it wrote nothing");
	if (run->stuck)
		return fail_stuck(v, plan, missing, words, run, e);
	return run->ended ? fail_ended(v, plan, missing, words, run, e)
			  : fail_late(v, missing, words, run, e);
}
