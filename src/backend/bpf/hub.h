/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hub.h: the programs in the host's kernel, shared by all guests that are observed.
 *
 * They are loaded for the first guest and unloaded after the last; there is one ring.
 * Each guest has its own thread (the one that calls its backend's next()).  Whichever
 * thread comes to the ring takes out everything that is there: it uses its own samples
 * at once and puts the others into their guests' queues.  Each thread may therefore
 * sleep as long as it likes, and no extra thread is needed.
 */
#ifndef US_BACKEND_BPF_HUB_H
#define US_BACKEND_BPF_HUB_H

#include "backend/bpf/programs.h"

struct us_bpf_client; /* a guest */

/* -ENOSPC: US_BPF_MAX_GUESTS are observed already. */
US_MUST_CHECK int us_bpf_client_open(struct us_bpf_client **ret, struct us_err *e);
/* Call it after the guest's timers were closed.  Accepts NULL. */
void us_bpf_client_close(struct us_bpf_client *c);

struct us_bpf_programs *us_bpf_client_programs(const struct us_bpf_client *c);
uint32_t us_bpf_client_index(const struct us_bpf_client *c); /* among the guests */

/* Reserve a row of the programs, all zeroes, for a vCPU: samples with this row are its
 * own.  -ENOSPC: all of US_BPF_MAX_ROWS are taken. */
US_MUST_CHECK int us_bpf_client_add_row(struct us_bpf_client *c, unsigned vcpu,
					uint32_t *ret, struct us_err *e);

/* Hot path, for one thread: copy the next sample of this guest to *to, which holds
 * US_BPF_MAX_SAMPLE bytes; false: there is none now. */
bool us_bpf_client_take(struct us_bpf_client *c, struct us_bpf_sample *to,
			unsigned *ret_vcpu);
/* From now on keep what the host did at this guest's samples; 0 or -ENOMEM. */
US_MUST_CHECK int us_bpf_client_keep_host(struct us_bpf_client *c);
/* Hot path: what the host did at the sample that was taken last; NULL: not known, or
 * another guest's thread took it. */
const struct us_bpf_host_sample *us_bpf_client_host(const struct us_bpf_client *c);

/* Hot path: sleep until there are many samples, or until t_ns; false: a signal came. */
bool us_bpf_client_wait(struct us_bpf_client *c, uint64_t t_ns);

/* Samples lost since it was opened, because the guest's queue was full, as parts of
 * mean periods: US_BPF_WHOLE is one. */
uint64_t us_bpf_client_lost(const struct us_bpf_client *c);

#endif
