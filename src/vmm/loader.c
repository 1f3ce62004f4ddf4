/* SPDX-License-Identifier: GPL-2.0-or-later */
/* loader.c: see loader.h. */
#include "vmm/loader.h"

#include "vmm/cmdline.h"

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

/* Programs that set something and then become the program that they are given.  Not
 * those that start it as another process, such as time or sudo. */
static bool becomes_another(const char *word)
{
	static const char *const names[] = { "env",	"nice",	 "ionice",  "nohup",
					     "taskset", "chrt",	 "numactl", "setarch",
					     "stdbuf",	"choom", "prlimit", "setpriv" };
	const char *slash = strrchr(word, '/');
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(slash ? slash + 1 : word, names[i]))
			return true;
	return false;
}

/* Their options are not worth a table: the VMM is known by its name. */
static char *const *skip_prefixes(char *const *argv)
{
	char *const *at = argv;
	char vmm[32];
	if (!*argv || !becomes_another(*argv))
		return argv;
	while (*++at) {
		us_vmm_name(*at, vmm, sizeof(vmm));
		/* In env's A=B, a VMM may be B. */
		if (us_is_loader(*at) || (us_vmm_is_known(vmm) && !strchr(*at, '=')))
			return at;
	}
	return argv;
}

char *const *us_loader_program(char *const *argv)
{
	unsigned argc = 0;
	argv = skip_prefixes(argv);
	while (argv[argc])
		argc++;
	return argv + us_loader_skip(argc, (const char *const *)argv);
}
