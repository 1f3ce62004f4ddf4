/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * programs.h: the programs in the host's kernel, and what they can report.
 *
 * They are part of uniscope and are loaded when needed.  Nothing is pinned: what the
 * kernel holds for us (programs, maps, events, iterators) is freed with the last of our
 * file descriptors, also if uniscope is killed.
 *
 * us_bpf_take() is for one thread at a time; all other functions are for any.
 */
#ifndef US_BACKEND_BPF_PROGRAMS_H
#define US_BACKEND_BPF_PROGRAMS_H

#include "backend/bpf/host_kind.h"
#include "backend/bpf/shared.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct us_bpf_programs;

/* How this host runs its guests.  US_BPF_HOST_UNKNOWN, with an explanation in *why: in
 * a way that the programs cannot read. */
enum us_bpf_host us_bpf_host_kind(struct us_err *why);

/* May this process load the programs, and does this kernel have what they need?  0, or
 * why not. */
US_MUST_CHECK int us_bpf_ready(struct us_err *why);

/* Load the programs.  If the kernel's verifier refused them, *e has its last words. */
US_MUST_CHECK int us_bpf_load(struct us_bpf_programs **ret, struct us_err *e);
/* As if this host were of that kind, and its kernel's types were those in a BTF file
 * (NULL: its own): to test what no host here has. */
US_MUST_CHECK int us_bpf_load_as(enum us_bpf_host kind, const char *types,
				 struct us_bpf_programs **ret, struct us_err *e);
void us_bpf_unload(struct us_bpf_programs *p); /* accepts NULL */

/* Shared with the programs: us_bpf_row[US_BPF_MAX_ROWS], us_bpf_guest[...]. */
struct us_bpf_row *us_bpf_rows(struct us_bpf_programs *p);
struct us_bpf_guest *us_bpf_guests(struct us_bpf_programs *p);

/*
 * Attach tick() to a perf event of a thread, with a row's number; with US_BPF_NO_ROW,
 * attach a program that does nothing, for comparison.  The link belongs to the caller;
 * when it is freed, the event is as it was.
 */
#define US_BPF_NO_ROW UINT32_MAX
struct us_bpf_link;
US_MUST_CHECK int us_bpf_attach(struct us_bpf_programs *p, int event_fd, uint32_t row,
				struct us_bpf_link **ret, struct us_err *e);
void us_bpf_detach(struct us_bpf_link *l); /* accepts NULL */

/* A VMM's vCPUs, at most max; returns their number, or -errno. */
US_MUST_CHECK int us_bpf_find_vcpus(struct us_bpf_programs *p, pid_t pid,
				    struct us_bpf_found_vcpu *ret, size_t max,
				    struct us_err *e);
/* The memory slots of the machine of one of its vCPUs. */
US_MUST_CHECK int us_bpf_find_slots(struct us_bpf_programs *p, pid_t pid, uint64_t vcpu,
				    struct us_bpf_found_slot *ret, size_t max,
				    struct us_err *e);

/* Hot path: copy the next sample to *to, which holds US_BPF_MAX_SAMPLE bytes; false:
 * there is none.  Its contents were checked to fit. */
bool us_bpf_take(struct us_bpf_programs *p, struct us_bpf_sample *to);
/* From now on keep what the host did, for the first n_row rows; 0 or -ENOMEM. */
US_MUST_CHECK int us_bpf_keep_hosts(struct us_bpf_programs *p, uint32_t n_row);
/* Hot path: what the host did at a sample that was taken just now; NULL: not known. */
const struct us_bpf_host_sample *us_bpf_host_of(const struct us_bpf_programs *p,
						const struct us_bpf_sample *l);
/* To poll: readable when there is much in the ring.  It remains p's. */
int us_bpf_ring_fd(const struct us_bpf_programs *p);

/* How often tick() or the empty program ran, and for how long, from the kernel's own
 * statistics (bpf_enable_stats() or kernel.bpf_stats_enabled switches them on).  0 or
 * -errno. */
int us_bpf_run_time(const struct us_bpf_programs *p, bool empty, uint64_t *ret_runs,
		    uint64_t *ret_ns);

#endif
