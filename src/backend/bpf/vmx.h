/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmx.h: what a host with Intel's VMX needs beside the programs: that KVM reads the
 * instruction pointer on each exit, and now and then a sample of a stopped vCPU, which
 * alone tells what the kernel does not copy: the root of the page tables, segments.
 *
 * Such a sample is one of the kvm backend (kvm/vcpu.h): the vCPU stops for some tens of
 * microseconds.  A vCPU that sleeps is left alone.
 */
#ifndef US_BACKEND_BPF_VMX_H
#define US_BACKEND_BPF_VMX_H

#include "backend/bpf/shared.h"
#include "base/err.h"
#include "vmm/guest_list.h"

/* The first samples of a vCPU come one behind the other, to learn whether it changes
 * its address space at all; then one each second. */
#define US_VMX_FIRST_SAMPLES 8

struct us_bpf_vmx;
struct kvm_sregs; /* linux/kvm.h */

/* row: of each of the guest's vCPUs; they outlive *ret.  -EOPNOTSUPP: encrypted, ... */
US_MUST_CHECK int us_bpf_vmx_open(const struct us_guest *g, int pidfd,
				  struct us_bpf_row *const *row,
				  struct us_bpf_vmx **ret, struct us_err *e);
void us_bpf_vmx_close(struct us_bpf_vmx *x); /* accepts NULL */

/* Hot path, several times a second: take the samples that are due.  How long vCPUs were
 * stopped for it, in all.  By one thread: that of ptrace.  Accepts NULL. */
uint64_t us_bpf_vmx_refresh(struct us_bpf_vmx *x, uint64_t now_ns);

/* A sample's registers: what is not as it was moves, from now on. */
void us_bpf_seen_note(struct us_bpf_seen *seen, const struct kvm_sregs *s);

/* Does KVM walk the page tables of its guests itself (kvm_intel's ept=0)? */
bool us_bpf_shadow_paging(void);

#endif
