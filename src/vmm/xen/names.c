/* SPDX-License-Identifier: GPL-2.0-or-later */
/* xen/names.c: words of xen/calls.h. */
#include "vmm/xen/calls.h"

const char *us_xen_kind_name(uint8_t kind)
{
	static const char *const names[] = { "PV", "PVH", "HVM" };
	return kind < sizeof(names) / sizeof(*names) ? names[kind] : "?";
}
