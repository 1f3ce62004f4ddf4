/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * boot.h: notes when a guest reaches instructions for the first time, and nothing else.
 *
 * The guest runs nearly as fast as without the plugin.  QEMU's own code counts
 * instructions, and only the awaited instructions cause callbacks.
 */
#ifndef US_TRACE_PLUGIN_BOOT_H
#define US_TRACE_PLUGIN_BOOT_H

#include "trace/plugin/qemu_api.h"

/* Find what the file of vmm/plugin_boot.h at path asks for; devices: also how devices
 * are used (devices.h), which is slow.  0 or -errno. */
int us_boot_start(qemu_plugin_id_t id, const qemu_info_t *info, const char *path,
		  bool devices);

/* The same in addition to the trees of calls (us_plugin.boot), which are marked at each
 * point in the file of phases.h.  The trees' code gets QEMU's callbacks, and calls
 * these functions: */
int us_boot_start_beside(const qemu_info_t *info, const char *path, const char *phases);
void us_boot_on_vcpu(unsigned i);
void us_boot_on_idle(unsigned i);
/* Call it before the trees' own function: a point must come before the entry of its
 * function. */
void us_boot_translate(struct qemu_plugin_tb *tb);

#endif
