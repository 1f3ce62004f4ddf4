/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/boot/virtio.h: which virtio devices a guest of QEMU uses. */
#ifndef US_CMD_BOOT_VIRTIO_H
#define US_CMD_BOOT_VIRTIO_H

#include "cmd/boot/variant.h"

/* How QEMU is to be told to trace that: v->traced, of v->plain, or why it cannot be:
 * v->unseen_device.  -ENOMEM. */
US_MUST_CHECK int us_boot_virtio_command(struct us_boot_variant *v, struct us_err *e);

/* Before the VMM is ended (us_boot_how.done): ask its monitor which have a status that
 * is not 0; v->device.  ctx: the variant. */
void us_boot_virtio_ask(void *ctx);

#endif
