/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmx_rule.h: which registers of a guest on Intel's VMX are known at a tick.
 *
 * On an exit KVM stores the general registers except rsp (arch/x86/kvm/vmx/vmenter.S).
 * Everything else stays in the processor's VMCS, and arch.regs_avail says what KVM has
 * read from it since (VMX_REGS_LAZY_LOAD_SET in vmx.h).  A copy whose bit is not set
 * belongs to an earlier exit, and is never shown.  For each register, uniscope thus has
 * this exit's value, or one that cannot have changed, or none.
 *
 * KVM itself controls CR0.PG, CR4.PAE, CR4.LA57 and EFER: the guest changes them only
 * through an exit, so their copies are right at any time.
 *
 * Not verified on Intel: derived only from the kernel's source and the types of its
 * modules.  Compiled for the kernel and for user space, like guest/page_table_x86.h.
 */
#ifndef US_BACKEND_BPF_VMX_RULE_H
#define US_BACKEND_BPF_VMX_RULE_H

#include "backend/bpf/shared.h"

#include <stdbool.h>

#define US_VMX_EXTERNAL_INTERRUPT 1 /* Intel SDM volume 3, appendix C */
#define US_VMX_BASIC_REASON	  0xffff

/* Access rights of a segment in a VMCS: SDM volume 3, table 25-2. */
#define US_VMX_AR_DPL(ar) ((ar) >> 5 & 3)
#define US_VMX_AR_L	  (1U << 13)
#define US_VMX_AR_DB	  (1U << 14)

/* The bit of a field in KVM's cache of segments: vmx.c, enum segment_cache_field and
 * vmx_segment_cache_test_set(). */
#define US_VMX_SEGMENT_BASE(n) (1U << ((n)*4 + 1))
#define US_VMX_SEGMENT_AR(n)   (1U << ((n)*4 + 3))
#define US_VMX_CS	       1
#define US_VMX_SS	       2

/* What KVM keeps in addition to the sample's contents, and which of it is from this
 * exit. */
struct us_vmx_kept {
	bool has_rip, has_rsp, has_cr3;
	uint32_t segments; /* bits as above; 0: none is from this exit */
	uint64_t cs_base, ss_base;
	uint32_t cs_ar, ss_ar;
	uint32_t exit_reason; /* with its flags */
};

/* Did the guest leave for an interrupt of the host? */
static inline bool us_vmx_is_interrupt(uint32_t exit_reason)
{
	return (exit_reason & US_VMX_BASIC_REASON) == US_VMX_EXTERNAL_INTERRUPT;
}

static inline bool us_vmx_has_segments(const struct us_vmx_kept *k, uint32_t wanted)
{
	return (k->segments & wanted) == wanted;
}

/* Was it the same in all samples of the stopped vCPU? */
static inline bool us_vmx_is_constant(const struct us_bpf_seen *seen, uint8_t what)
{
	return seen->n && !(seen->moves & what);
}

static inline bool us_vmx_same_root(uint64_t a, uint64_t b)
{
	return ((a ^ b) & US_BPF_ROOT_BITS) == 0;
}

/*
 * The root of the page tables.  If this exit's value differs from the one that was
 * seen, it changes; from then on only values of this exit count.
 */
static inline void us_vmx_root(struct us_bpf_sample *l, const struct us_vmx_kept *k,
			       struct us_bpf_seen *seen)
{
	if (k->has_cr3) {
		if (seen->n && !us_vmx_same_root(l->cr3, seen->cr3))
			seen->moves |= US_BPF_MOVES_ROOT;
		return;
	}
	if (!us_vmx_is_constant(seen, US_BPF_MOVES_ROOT))
		l->flags |= US_BPF_NO_STACK;
	l->cr3 = seen->cr3;
}

/* Long mode: is the code 64-bit or 32-bit?  32-bit code has no addresses above 4 GiB.
 */
static inline void us_vmx_long_code(struct us_bpf_sample *l,
				    const struct us_vmx_kept *k,
				    const struct us_bpf_seen *seen)
{
	l->cs_l = 1;
	l->cs_db = l->ss_db = 0;
	l->cs_base = l->ss_base = 0;
	if (us_vmx_has_segments(k, US_VMX_SEGMENT_AR(US_VMX_CS)))
		l->cs_l = (k->cs_ar & US_VMX_AR_L) != 0;
	else if (l->reg[16] >> 32)
		return;
	else if (us_vmx_is_constant(seen, US_BPF_MOVES_CODE))
		l->cs_l = seen->cs_l;
	else
		l->flags |= US_BPF_NO_STACK;
	if (!l->cs_l) /* in long mode all segments are taken to begin at 0 */
		l->cs_db = l->ss_db = 1;
}

/* Not long mode: addresses mean nothing without the segments. */
static inline void us_vmx_short_code(struct us_bpf_sample *l,
				     const struct us_vmx_kept *k,
				     const struct us_bpf_seen *seen)
{
	l->cs_l = 0;
	if (us_vmx_has_segments(k, US_VMX_SEGMENT_BASE(US_VMX_CS) |
					   US_VMX_SEGMENT_AR(US_VMX_CS) |
					   US_VMX_SEGMENT_BASE(US_VMX_SS) |
					   US_VMX_SEGMENT_AR(US_VMX_SS))) {
		l->cs_base = k->cs_base;
		l->ss_base = k->ss_base;
		l->cs_db = (k->cs_ar & US_VMX_AR_DB) != 0;
		l->ss_db = (k->ss_ar & US_VMX_AR_DB) != 0;
		return;
	}
	l->cs_base = seen->cs_base;
	l->ss_base = seen->ss_base;
	l->cs_db = seen->cs_db;
	l->ss_db = seen->ss_db;
	if (!us_vmx_is_constant(seen, US_BPF_MOVES_CODE))
		l->flags |= US_BPF_NO_PC;
}

/* If both rings were seen, assume that the kernel is in the upper half of all
 * addresses. */
static inline void us_vmx_ring(struct us_bpf_sample *l, const struct us_vmx_kept *k,
			       const struct us_bpf_seen *seen)
{
	if (us_vmx_has_segments(k, US_VMX_SEGMENT_AR(US_VMX_SS)))
		l->cpl = US_VMX_AR_DPL(k->ss_ar);
	else if (us_vmx_is_constant(seen, US_BPF_MOVES_RING))
		l->cpl = seen->cpl;
	else
		l->cpl = l->reg[16] >> 63 || !l->cs_l ? 0 : 3;
}

/*
 * Complete the sample: reg, cr0, cr3, cr4 and efer are KVM's copies, right or not.  The
 * flags say what is not known.  *seen: of this vCPU; the program writes it too.
 */
static inline void us_vmx_rule(struct us_bpf_sample *l, const struct us_vmx_kept *k,
			       struct us_bpf_seen *seen)
{
	l->reason = k->exit_reason;
	if (!k->has_rip)
		l->flags |= US_BPF_NO_PC;
	if (!k->has_rsp)
		l->flags |= US_BPF_NO_SP;
	if (l->cr0 & US_BPF_CR0_PG)
		us_vmx_root(l, k, seen);
	if (l->efer & US_BPF_EFER_LMA)
		us_vmx_long_code(l, k, seen);
	else
		us_vmx_short_code(l, k, seen);
	us_vmx_ring(l, k, seen);
}

#endif
