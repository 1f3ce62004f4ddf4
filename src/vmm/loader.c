/* SPDX-License-Identifier: GPL-2.0-or-later */
/* loader.c: see loader.h. */
#include "vmm/loader.h"

#include <stddef.h>
#include <string.h>

/* Options of the loaders of glibc (elf/rtld.c) and musl (ldso/dynlink.c) that take an
 * argument.  All other options take none. */
static const char *const with_value[] = {
	"--library-path", "--inhibit-rpath",	    "--preload",	  "--audit",
	"--argv0",	  "--glibc-hwcaps-prepend", "--glibc-hwcaps-mask"
};

static bool has_value(const char *word)
{
	for (size_t i = 0; i < sizeof(with_value) / sizeof(with_value[0]); i++)
		if (!strcmp(word, with_value[i]))
			return true;
	return false;
}

/* "ld-linux-x86-64.so.2", "ld-2.31.so", "ld.so", "ld-musl-x86_64.so.1". */
bool us_is_loader(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	return (!strncmp(base, "ld-", 3) || !strncmp(base, "ld.", 3) ||
		!strncmp(base, "ld64.", 5)) &&
	       strstr(base, ".so");
}

unsigned us_loader_skip(unsigned argc, const char *const argv[])
{
	unsigned i = 1;
	if (!argc || !us_is_loader(argv[0]))
		return 0;
	while (i < argc && argv[i][0] == '-') {
		if (!strcmp(argv[i], "--")) {
			i++;
			break;
		}
		i += has_value(argv[i]) ? 2 : 1;
	}
	return i < argc && argv[i][0] ? i : 0;
}

char *const *us_loader_program(char *const *argv)
{
	unsigned argc = 0;
	while (argv[argc])
		argc++;
	return argv + us_loader_skip(argc, (const char *const *)argv);
}
