/* SPDX-License-Identifier: GPL-2.0-or-later */
/* qemu_program.h: QEMU's system emulators under other names than their own. */
#ifndef US_VMM_QEMU_PROGRAM_H
#define US_VMM_QEMU_PROGRAM_H

#include <stdbool.h>

/* Does the process with this folder of /proc execute a system emulator of QEMU?  Its
 * program's file tells; argv says whether it is worth reading: it must have an option
 * of QEMU.  argv[0] is skipped.  false if the file cannot be read. */
bool us_qemu_program_is(int proc, unsigned argc, const char *const argv[]);

#endif
