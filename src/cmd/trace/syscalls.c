/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/trace/syscalls.c: see cmd/trace/syscalls.h. */
#include "cmd/trace/syscalls.h"

#include "base/nearest.h"
#include "cmd/options.h"
#include "trace/syscall_message.h"

#include <stdio.h>
#include <string.h>

static bool is_call(const char *name)
{
	uint64_t number;
	for (unsigned abi = 0; abi < US_N_ABI; abi++)
		if (us_syscall_number(abi, name, &number))
			return true;
	return false;
}

static bool refuse(const char *name)
{
	struct us_nearest near = us_nearest_to(name);
	char question[64];
	for (unsigned abi = 0; abi < US_N_ABI; abi++)
		for (size_t i = 0; i < us_syscall_numbers[abi].n; i++)
			if (us_syscall_numbers[abi].name[i])
				us_nearest_try(&near, us_syscall_numbers[abi].name[i]);
	us_usage(
		&us_cmd_trace,
		"--syscalls=%s: no such system call of x86_64, i386 or aarch64 Linux%s",
		name, us_nearest_question(&near, question, sizeof(question)));
	return false;
}

bool us_trace_syscalls_set(struct us_trace_syscalls *s, const char *list)
{
	s->on = true;
	if (!list)
		return true;
	for (const char *p = list; *p;) {
		char name[64];
		size_t n = strcspn(p, ","), at = strlen(s->list);
		snprintf(name, sizeof(name), "%.*s", (int)n, p);
		if (!is_call(name))
			return refuse(name);
		if (at + n + 2 > sizeof(s->list)) {
			us_usage(&us_cmd_trace, "--syscalls: too many names");
			return false;
		}
		snprintf(s->list + at, sizeof(s->list) - at, "%s%s", at ? "+" : "",
			 name);
		p += n + (p[n] == ',');
	}
	return true;
}

bool us_trace_syscalls_set_text(struct us_trace_syscalls *s, const char *value)
{
	uint64_t n;
	if (!us_parse_size("-s", value, 0, US_SYSCALL_TEXT, &n))
		return false;
	s->text = (int)n;
	return true;
}

void us_trace_syscalls_options(const struct us_trace_syscalls *s, char *ret,
			       size_t size)
{
	char text[24] = "";
	*ret = '\0';
	if (s->text >= 0)
		snprintf(text, sizeof(text), ",text=%d", s->text);
	if (s->on)
		snprintf(ret, size, ",syscalls=%s%s%s%s", s->alone ? "alone" : "on",
			 text, *s->list ? ",calls=" : "", s->list);
}
