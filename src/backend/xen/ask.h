/* SPDX-License-Identifier: GPL-2.0-or-later */
/* xen/ask.h: everything that a sample asks of Xen in one call, or in parts if that
 * fails. */
#ifndef US_BACKEND_XEN_ASK_H
#define US_BACKEND_XEN_ASK_H

#include "vmm/xen/calls.h"

/* l as in us_xen_calls.sample().  *by_parts remembers whether that call is missing;
 * false at first.  0, or -errno: then nothing was done. */
US_MUST_CHECK int us_xen_ask(const struct us_xen_calls *calls, void *handle,
			     const struct us_xen_domain *d, struct us_xen_sample *l,
			     bool *by_parts);

#endif
