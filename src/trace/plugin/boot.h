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

/* Answer what the file of vmm/plugin_boot.h at path asks; devices: and how they are
 * used (devices.h), which is slow.  0 or -errno. */
int us_boot_start(qemu_plugin_id_t id, const qemu_info_t *info, const char *path,
		  bool devices);

/* The same beside the trees of calls (us_plugin.boot), which are marked in the file of
 * phases.h at each point; what QEMU calls is theirs, and they call these: */
int us_boot_start_beside(const qemu_info_t *info, const char *path, const char *phases);
void us_boot_on_vcpu(unsigned i);
void us_boot_on_idle(unsigned i);
/* Before theirs: a function's entry comes behind the point that it is. */
void us_boot_translate(struct qemu_plugin_tb *tb);

#endif
