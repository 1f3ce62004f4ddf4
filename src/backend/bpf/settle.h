/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * settle.h: samples without a tick.  A vCPU that sleeps, waits for a host CPU or is in
 * the VMM runs no timer.  About 20 times a second its clock is read, and what was due
 * in that time is delivered, each state's share as one sample with a weight.
 */
#ifndef US_BACKEND_BPF_SETTLE_H
#define US_BACKEND_BPF_SETTLE_H

#include "backend/bpf/session.h"

/*
 * Read the clocks of all chosen vCPUs and what the programs counted, follow the budget,
 * and look for new vCPUs.  Afterwards us_bpf_deliver_rest() has what is due, stamped
 * before the deadline.  Samples may still be in the ring if b->overdue.  If the guest
 * has ended, b->ended is set (b->why).
 */
void us_bpf_settle(struct us_bpf_session *b, uint64_t now_ns, uint64_t deadline_ns);

/* The next of these samples.  False: there is none. */
bool us_bpf_deliver_rest(struct us_bpf_session *b, struct us_capture *c);

#endif
