/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * devices.h: which ports and devices' memory a guest accesses during its boot, and how
 * often since which point: us_boot_use of plugin_boot.h.
 *
 * Memory: each access of the guest calls back, and QEMU tells whether it is a device's,
 * and which.  Ports: by the instruction, by what its block has loaded into dx, or by dx
 * itself: QEMU 9.0 and later tell registers; of older ones it is read in the state that
 * program_regs.h speaks of, if the block has not changed it.
 */
#ifndef US_TRACE_PLUGIN_DEVICES_H
#define US_TRACE_PLUGIN_DEVICES_H

#include "trace/plugin/qemu_api.h"
#include "vmm/plugin_boot.h"

/* The file outlives it. */
void us_devices_start(struct us_boot_file *f, const char *target);
/* In the callback that a vCPU starts with. */
void us_devices_on_vcpu(unsigned vcpu);
/* In this block; called by one thread at a time. */
void us_devices_translate(struct qemu_plugin_tb *tb);

#endif
