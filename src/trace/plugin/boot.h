/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * boot.h: when a guest comes to instructions for the first time, and nothing else.
 *
 * The guest runs nearly as fast as without: instructions are counted by QEMU's own
 * code, and what calls is only what is waited for.
 */
#ifndef US_TRACE_PLUGIN_BOOT_H
#define US_TRACE_PLUGIN_BOOT_H

#include "trace/plugin/qemu_api.h"

/* Answer what the file of vmm/plugin_boot.h at path asks.  0 or -errno. */
int us_boot_start(qemu_plugin_id_t id, const qemu_info_t *info, const char *path);

#endif
