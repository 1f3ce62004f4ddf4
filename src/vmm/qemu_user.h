/* SPDX-License-Identifier: GPL-2.0-or-later */
/* qemu_user.h: QEMU's user mode, which runs a program and never has a guest. */
#ifndef US_VMM_QEMU_USER_H
#define US_VMM_QEMU_USER_H

#include <stdbool.h>
#include <sys/types.h>

/* Is this the name of such a program: qemu-x86_64, qemu-arm-static?  A path counts by
 * its last part. */
bool us_qemu_user_is_name(const char *name);
/* Does the process execute such a program, whatever its command line says?  false if
 * that is not known. */
bool us_qemu_user_is(pid_t pid);

#endif
