/* SPDX-License-Identifier: GPL-2.0-or-later */
/* xen/none.c: xen/calls.h for builds without Xen's headers. */
#include "vmm/xen/calls.h"

#include <errno.h>

static int none_open(void **ret, struct us_err *e)
{
	(void)ret;
	us_fail(e, -ENOTSUP, "this uniscope was built without Xen");
	us_hint(e, "apt install libxen-dev, then rebuild uniscope");
	return -ENOTSUP;
}

const struct us_xen_calls *us_xen_calls(void)
{
	/* open() fails, so no handle exists to call the others with. */
	static const struct us_xen_calls calls = { .open = none_open };
	return &calls;
}
