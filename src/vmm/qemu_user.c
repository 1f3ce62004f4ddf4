/* SPDX-License-Identifier: GPL-2.0-or-later */
/* qemu_user.c: see qemu_user.h. */
#include "vmm/qemu_user.h"

#include "base/cleanup.h"
#include "vmm/proc.h"

#include <string.h>

/* QEMU: configs/targets, TARGET-linux-user.mak and TARGET-bsd-user.mak, up to 9.1. */
static const char *const targets[] = {
	"aarch64", "aarch64_be",   "alpha",  "arm",	    "armeb",	"cris",
	"hexagon", "hppa",	   "i386",   "loongarch64", "m68k",	"microblaze",
	"mips",	   "microblazeel", "mips64", "mips64el",    "mipsel",	"mipsn32",
	"nios2",   "mipsn32el",	   "or1k",   "ppc",	    "ppc64",	"ppc64le",
	"riscv32", "riscv64",	   "s390x",  "sh4",	    "sh4eb",	"sparc",
	"sparc64", "sparc32plus",  "x86_64", "xtensa",	    "xtensaeb",
};

bool us_qemu_user_is_name(const char *name)
{
	const char *slash = strrchr(name, '/');
	const char *base = slash ? slash + 1 : name;
	if (strncmp(base, "qemu-", 5) != 0)
		return false;
	base += 5;
	size_t n = strlen(base);
	if (n > 7 && !strcmp(base + n - 7, "-static"))
		n -= 7;
	for (size_t i = 0; i < sizeof(targets) / sizeof(*targets); i++)
		if (strlen(targets[i]) == n && !memcmp(targets[i], base, n))
			return true;
	return false;
}

bool us_qemu_user_is(pid_t pid)
{
	_cleanup_close_ int proc = us_proc_open(pid);
	char exe[PATH_MAX];
	return proc >= 0 && us_proc_link(proc, "exe", exe, sizeof(exe)) > 0 &&
	       us_qemu_user_is_name(exe);
}
