/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which word of a command is the program that a dynamic loader is told to execute. */
#include "unit.h"

#include "vmm/loader.h"

#include <string.h>

#define MAX_WORDS 16

/* Words, with '|' between them. */
static const char *program_of(const char *line)
{
	static char text[256];
	static const char *argv[MAX_WORDS];
	unsigned argc = 0;
	char *rest;
	snprintf(text, sizeof(text), "%s", line);
	for (char *w = strtok_r(text, "|", &rest); w && argc < MAX_WORDS;
	     w = strtok_r(NULL, "|", &rest))
		argv[argc++] = w;
	return argv[us_loader_skip(argc, argv)];
}

static void programs(void **state)
{
	(void)state;
	static const char *const t[][2] = {
		{ "/lib64/ld-linux-x86-64.so.2|/opt/qemu|-m|64", "/opt/qemu" },
		{ "ld-linux-aarch64.so.1|--library-path|/a:/b|--argv0|vm|q|-S", "q" },
		{ "ld-2.31.so|--inhibit-cache|--preload|x.so|q|--argv0|z", "q" },
		{ "ld-musl-x86_64.so.1|--library-path=/a|--|q", "q" },
		{ "ld64.so.2|q", "q" },
		{ "qemu|--library-path|/a|b", "qemu" },
		{ "/usr/bin/ld|-o|a.out|x.o", "/usr/bin/ld" },
		{ "/usr/bin/ld.bfd|x.so", "/usr/bin/ld.bfd" },
		/* It executes nothing. */
		{ "ld.so", "ld.so" },
		{ "ld.so|--list-diagnostics", "ld.so" },
		{ "ld.so|--argv0", "ld.so" },
		{ "ld.so|--argv0|q", "ld.so" },
		{ "ld.so|--", "ld.so" },
	};
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		assert_string_equal(program_of(t[i][0]), t[i][1]);
}

static void words_that_are_none(void **state)
{
	(void)state;
	static const char *const empty[] = { "ld.so", "", "" };
	static char loader[] = "ld.so", option[] = "--inhibit-cache", name[] = "q";
	char *const command[] = { loader, option, name, NULL };
	char *const none[] = { NULL };
	assert_int_equal(us_loader_skip(0, NULL), 0);
	assert_int_equal(us_loader_skip(3, empty), 0);
	assert_ptr_equal(us_loader_program(command), command + 2);
	assert_ptr_equal(us_loader_program(none), none);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(programs),
		cmocka_unit_test(words_that_are_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
