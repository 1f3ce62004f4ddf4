/* SPDX-License-Identifier: GPL-2.0-or-later */
/* xen/none.c: xen/calls.h where Xen's headers were not at hand. */
#include "vmm/xen/calls.h"

#include <errno.h>

static int none_open(void **ret, struct us_err *e)
{
	(void)ret;
	us_fail(e, -ENOTSUP, "this uniscope was built without Xen");
	us_hint(e, "apt install libxen-dev, and build it anew");
	return -ENOTSUP;
}

const struct us_xen_calls *us_xen_calls(void)
{
	/* There is no handle that the others could be called with. */
	static const struct us_xen_calls calls = { .open = none_open };
	return &calls;
}
