/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bpf.h: the part of the bpf backend that benchmarks use. */
#ifndef US_BACKEND_BPF_BPF_H
#define US_BACKEND_BPF_BPF_H

#include "backend/backend.h"
#include "backend/bpf/programs.h"

/* The programs of an open backend called "bpf"; the backend still owns them. */
struct us_bpf_programs *us_bpf_programs_of(const struct us_backend *b);

#endif
