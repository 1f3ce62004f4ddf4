/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The bpf backend if clang, bpftool or libbpf was missing at build time: it refuses. */
#include "backend/backend.h"

#include <errno.h>

extern const struct us_backend_ops us_backend_bpf;

static int refuse(struct us_err *why)
{
	us_fail(why, -EOPNOTSUPP, "this uniscope was built without the bpf backend");
	us_hint(why, "apt install clang libbpf-dev bpftool, and rebuild uniscope");
	return -EOPNOTSUPP;
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

const struct us_backend_ops us_backend_bpf = {
	.name = "bpf",
	.summary = "any KVM guest, from inside the host's kernel; not in this build",
	.probe = none_probe,
	.ready = refuse,
	.open = none_open,
};
