/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmx.h: what a host with Intel's VMX needs in addition to the programs: KVM must read
 * the instruction pointer on each exit, and now and then a vCPU must be stopped for a
 * sample.  Only a stopped vCPU shows what the kernel does not copy: the root of the
 * page tables, segments.
 *
 * Such a sample is one of the kvm backend (kvm/vcpu.h): the vCPU stops for some tens of
 * microseconds.  A vCPU that sleeps is left alone.
 */
#ifndef US_BACKEND_BPF_VMX_H
#define US_BACKEND_BPF_VMX_H

#include "backend/bpf/shared.h"
#include "base/err.h"
#include "vmm/guest_list.h"

/* The first samples of a vCPU follow each other directly, to learn whether it changes
 * its address space at all; then there is one each second. */
#define US_VMX_FIRST_SAMPLES 8

struct us_bpf_vmx;
struct kvm_sregs; /* linux/kvm.h */

/* row: the rows of the guest's vCPUs; they outlive *ret.  -EOPNOTSUPP: encrypted, ...
 */
US_MUST_CHECK int us_bpf_vmx_open(const struct us_guest *g, int pidfd,
				  struct us_bpf_row *const *row,
				  struct us_bpf_vmx **ret, struct us_err *e);
void us_bpf_vmx_close(struct us_bpf_vmx *x); /* accepts NULL */

/* Hot path, several times a second: take the samples that are due.  Returns how long
 * vCPUs were stopped for it, in all.  Always the same thread, the one that uses ptrace.
 * Accepts NULL. */
uint64_t us_bpf_vmx_refresh(struct us_bpf_vmx *x, uint64_t now_ns);

/* Compare a sample's registers with *seen: those that differ are marked as changing
 * from now on. */
void us_bpf_seen_note(struct us_bpf_seen *seen, const struct kvm_sregs *s);

/* Does KVM walk the page tables of its guests itself (kvm_intel's ept=0)? */
bool us_bpf_shadow_paging(void);

#endif
