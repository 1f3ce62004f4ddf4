/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kvm backend on a host whose KVM shares no registers with the VMM: it refuses. */
#include "backend/backend.h"

#include <errno.h>

extern const struct us_backend_ops us_backend_kvm;

static int refuse(struct us_err *why)
{
	return us_fail(why, -EOPNOTSUPP,
		       "KVM shares vCPU registers with the VMM on x86 only: use gdb or "
		       "qmp");
}

static int none_probe(const struct us_target *t, struct us_err *why)
{
	(void)t;
	refuse(why);
	return 0;
}

static int none_open(const struct us_target *t, struct us_backend **ret,
		     struct us_err *e)
{
	(void)t;
	*ret = NULL;
	return refuse(e);
}

const struct us_backend_ops us_backend_kvm = {
	.name = "kvm",
	.summary = "KVM guests on x86 hosts; not on this one",
	.probe = none_probe,
	.ready = refuse,
	.open = none_open,
};
