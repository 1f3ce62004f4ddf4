/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hub.h: the programs in the host's kernel, shared by all guests that are observed.
 *
 * They are loaded for the first guest and unloaded after the last; there is one ring.
 * Each guest has its own thread (that of its backend's next()), and whichever comes to
 * the ring takes out all that is there: its own samples at once, the others' into their
 * queues.  So each may sleep as long as it likes, and there is no thread between.
 */
#ifndef US_BACKEND_BPF_HUB_H
#define US_BACKEND_BPF_HUB_H

#include "backend/bpf/programs.h"

struct us_bpf_client; /* a guest */

/* -ENOSPC: US_BPF_MAX_GUESTS are observed already. */
US_MUST_CHECK int us_bpf_client_open(struct us_bpf_client **ret, struct us_err *e);
/* After its timers were closed.  Accepts NULL. */
void us_bpf_client_close(struct us_bpf_client *c);

struct us_bpf_programs *us_bpf_client_programs(const struct us_bpf_client *c);
uint32_t us_bpf_client_index(const struct us_bpf_client *c); /* among the guests */

/* A row of the programs', all zeroes, for a vCPU: samples by it are its.  -ENOSPC: all
 * of US_BPF_MAX_ROWS are taken. */
US_MUST_CHECK int us_bpf_client_add_row(struct us_bpf_client *c, unsigned vcpu,
					uint32_t *ret, struct us_err *e);

/* Hot path, for one thread: copy the next sample of this guest to *to, which holds
 * US_BPF_MAX_SAMPLE bytes; false: there is none now. */
bool us_bpf_client_take(struct us_bpf_client *c, struct us_bpf_sample *to,
			unsigned *ret_vcpu);
/* From now on keep what is reported of the host with its samples; 0 or -ENOMEM. */
US_MUST_CHECK int us_bpf_client_keep_host(struct us_bpf_client *c);
/* Hot path: what the host did at the sample that was taken last; NULL: not known, or it
 * came by another guest's thread. */
const struct us_bpf_host_sample *us_bpf_client_host(const struct us_bpf_client *c);

/* Hot path: sleep until there is much to take, or until t_ns; false: a signal came. */
bool us_bpf_client_wait(struct us_bpf_client *c, uint64_t t_ns);

/* Samples that were lost, as the guest's queue was full, since it was opened. */
uint64_t us_bpf_client_lost(const struct us_bpf_client *c);

#endif
