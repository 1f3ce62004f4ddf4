/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bpf.h: of the bpf backend, what benchmarks ask. */
#ifndef US_BACKEND_BPF_BPF_H
#define US_BACKEND_BPF_BPF_H

#include "backend/backend.h"
#include "backend/bpf/programs.h"

/* Of an open backend called "bpf"; they remain its own. */
struct us_bpf_programs *us_bpf_programs_of(const struct us_backend *b);

#endif
