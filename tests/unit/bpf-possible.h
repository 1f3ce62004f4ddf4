/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bpf-possible.h: skip where no guest of KVM can be sampled by the backend bpf. */
#ifndef US_TEST_BPF_POSSIBLE_H
#define US_TEST_BPF_POSSIBLE_H

#include "unit.h"

#include "backend/bpf/programs.h"

#include <unistd.h>

static inline void must_be_possible(void)
{
	struct us_err e;
	if (access("/dev/kvm", R_OK | W_OK))
		skip();
	if (us_bpf_ready(&e) < 0) {
		print_message("# SKIP %s\n", e.msg);
		skip();
	}
}

#endif
