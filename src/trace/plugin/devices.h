/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * devices.h: counts which ports and device memory a guest accesses during its boot, and
 * since which point: us_boot_use of plugin_boot.h.
 *
 * Memory: each access of the guest causes a callback, and QEMU tells whether it is to a
 * device, and which one.  Ports: the number is in the instruction, or in what its block
 * loaded into dx, or in dx itself.  QEMU 9.0 and later give registers to plugins.  With
 * older versions dx is read from the state that program_regs.h describes, if the block
 * has not changed it.
 */
#ifndef US_TRACE_PLUGIN_DEVICES_H
#define US_TRACE_PLUGIN_DEVICES_H

#include "trace/plugin/qemu_api.h"
#include "vmm/plugin_boot.h"

/* The file must outlive all callbacks. */
void us_devices_start(struct us_boot_file *f, const char *target);
/* Call this in the callback for a vCPU's start. */
void us_devices_on_vcpu(unsigned vcpu);
/* Instrument this block; only one thread at a time. */
void us_devices_translate(struct qemu_plugin_tb *tb);

#endif
