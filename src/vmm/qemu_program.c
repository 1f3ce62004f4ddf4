/* SPDX-License-Identifier: GPL-2.0-or-later */
/* qemu_program.c: see qemu_program.h. */
#include "vmm/qemu_program.h"

#include "base/cleanup.h"
#include "base/io.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

/* Code and constants come first in a file, debug information behind them. */
#define MAX_FILE  (64u << 20)
#define READ_SIZE (256u << 10)

/* What -version prints (QEMU: softmmu/vl.c, system/vl.c), without the "Q" that it
 * begins with: so this program's own file does not have it. */
static const char mark[] = "EMU emulator version ";
#define MARK_SIZE (sizeof(mark) - 1)

/* Options that few other programs have, or that no guest is without. */
static bool is_qemu_option(const char *word)
{
	static const char *const options[] = {
		"accel",  "machine", "M",	"cpu",	      "smp",	    "kernel",
		"bios",	  "drive",   "hda",	"cdrom",      "blockdev",   "device",
		"netdev", "nic",     "chardev", "serial",     "monitor",    "mon",
		"qmp",	  "display", "vga",	"nographic",  "nodefaults", "gdb",
		"plugin", "pflash",  "loadvm",	"enable-kvm", "no-reboot",
	};
	if (word[0] != '-')
		return false;
	word += word[1] == '-' ? 2 : 1;
	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++)
		if (!strcmp(word, options[i]))
			return true;
	return false;
}

/* The mark may lie across two reads: the end of each is kept before the next. */
static bool has_mark(int fd)
{
	_cleanup_free_ char *buf = malloc(MARK_SIZE + READ_SIZE);
	size_t kept = 0;
	for (size_t done = 0; buf && done < MAX_FILE; done += READ_SIZE) {
		ssize_t n = us_read_full(fd, buf + kept, READ_SIZE);
		if (n <= 0)
			return false;
		size_t have = kept + (size_t)n;
		const char *at = buf;
		while ((at = memmem(at, have - (size_t)(at - buf), mark, MARK_SIZE))) {
			if (at > buf && at[-1] == 'Q')
				return true;
			at++;
		}
		kept = have < MARK_SIZE ? have : MARK_SIZE;
		memmove(buf, buf + have - kept, kept);
	}
	return false;
}

bool us_qemu_program_is(int proc, unsigned argc, const char *const argv[])
{
	unsigned i = 1;
	while (i < argc && !is_qemu_option(argv[i]))
		i++;
	if (i >= argc)
		return false;
	_cleanup_close_ int fd = openat(proc, "exe", O_RDONLY | O_CLOEXEC);
	return fd >= 0 && has_mark(fd);
}
