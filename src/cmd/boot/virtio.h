/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/boot/virtio.h: which virtio devices a guest of QEMU uses. */
#ifndef US_CMD_BOOT_VIRTIO_H
#define US_CMD_BOOT_VIRTIO_H

#include "cmd/boot/variant.h"

/* Make the command with which QEMU traces this: v->traced, from v->plain; or
 * v->unseen_device, which says why that is impossible.  -ENOMEM. */
US_MUST_CHECK int us_boot_virtio_command(struct us_boot_variant *v, struct us_err *e);

/* Call it before the VMM is ended (us_boot_how.done): ask its monitor which devices
 * have a status other than 0, into v->device.  ctx: the variant. */
void us_boot_virtio_ask(void *ctx);

#endif
