/* SPDX-License-Identifier: GPL-2.0-or-later */
/* phases.h: writes the call trees at points of a boot: plugin_phases.h. */
#ifndef US_TRACE_PLUGIN_PHASES_H
#define US_TRACE_PLUGIN_PHASES_H

#include <stdint.h>

int us_phases_start(const char *path); /* 0 or -errno */
/* This vCPU has reached the point; before: instructions of its block that are counted
 * already but not executed yet. */
void us_phases_mark(uint32_t point, unsigned vcpu, uint64_t before);

#endif
