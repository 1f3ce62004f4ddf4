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

/* A command, up to the program that it becomes. */
static void becomes(const char *line, const char *want)
{
	char text[256], *argv[MAX_WORDS + 1] = { NULL }, *rest;
	unsigned argc = 0;
	snprintf(text, sizeof(text), "%s", line);
	for (char *w = strtok_r(text, " ", &rest); w && argc < MAX_WORDS;
	     w = strtok_r(NULL, " ", &rest))
		argv[argc++] = w;
	assert_string_equal(us_loader_program(argv)[0], want);
}

static void prefixes(void **state)
{
	(void)state;
	becomes("env A=B qemu-system-x86_64 -m 64", "qemu-system-x86_64");
	becomes("/usr/bin/env -u X QEMU=/bin/qemu-kvm kvm -m 64", "kvm");
	becomes("taskset -c 0,1 nice -n 5 /opt/qemu-system-aarch64",
		"/opt/qemu-system-aarch64");
	becomes("numactl --membind 0 firecracker --id x", "firecracker");
	becomes("nice ld.so --argv0 q /opt/qemu-system-x86_64",
		"/opt/qemu-system-x86_64");
	/* Another process would be the VMM, or none is known. */
	becomes("time qemu-system-x86_64", "time");
	becomes("sh -c qemu-system-x86_64", "sh");
	becomes("env ./run.sh", "env");
	becomes("nice", "nice");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(programs),
		cmocka_unit_test(words_that_are_none),
		cmocka_unit_test(prefixes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
