/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kernel.bpf.h: the members of the host kernel's structures that are read.
 *
 * Only names count: libbpf fills in the offsets of the running kernel (CO-RE), from its
 * BTF and that of its modules, and refuses to load if one is missing.  The programs
 * check first for members that only some kernels have (bpf_core_field_exists,
 * bpf_core_type_exists).  Nothing here depends on a kernel's headers.
 */
#ifndef US_BACKEND_BPF_KERNEL_H
#define US_BACKEND_BPF_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

/* Types that libbpf's headers expect from the kernel's. */
typedef uint8_t __u8;
typedef uint16_t __u16;
typedef uint32_t __u32;
typedef uint64_t __u64;
typedef int16_t __s16;
typedef int32_t __s32;
typedef int64_t __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;

/* include/uapi/linux/bpf.h: compiled into programs, so they never change. */
#define BPF_MAP_TYPE_ARRAY	  2
#define BPF_MAP_TYPE_PERCPU_ARRAY 6
#define BPF_MAP_TYPE_RINGBUF	  27
#define BPF_F_MMAPABLE		  (1U << 10)
#define BPF_RB_NO_WAKEUP	  1
#define BPF_RB_FORCE_WAKEUP	  2
#define BPF_RB_AVAIL_DATA	  0

struct bpf_perf_event_value {
	uint64_t counter, enabled, running;
};

#include <bpf/bpf_helpers.h>
/* Must come after it. */
#include <bpf/bpf_core_read.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct pid_namespace;

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

struct task_struct {
	unsigned int flags;
	int pid, tgid;
	struct pid *thread_pid;
	unsigned long nvcsw, nivcsw;
};

struct qstr {
	const unsigned char *name;
};

struct dentry {
	struct qstr d_name;
};

struct path {
	struct dentry *dentry;
};

struct file {
	struct path f_path;
	void *private_data;
};

struct seq_file {
	int count;
};

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	uint32_t fd;
	struct file *file;
};

struct hlist_node {
	struct hlist_node *next, **pprev;
};

struct hlist_head {
	struct hlist_node *first;
};

/* Since 5.17; a slot is in two such lists, one for each copy of the table. */
struct kvm_memory_slot {
	struct hlist_node id_node[2];
	uint64_t base_gfn;
	unsigned long npages;
	unsigned long userspace_addr;
	uint32_t flags;
	int16_t id;
};

struct kvm_memslots {
	uint64_t generation;
	struct hlist_head id_hash[128];
	int node_idx;
};

struct kvm {
	struct kvm_memslots *memslots[1];
};

#if defined(__TARGET_ARCH_x86)

struct pt_regs {
	unsigned long si, orig_ax, cs;
};

struct kvm_vcpu_arch {
	unsigned long regs[17];
	uint32_t regs_avail;
	unsigned long cr0, cr3, cr4;
	uint64_t efer;
	int mp_state;
	uint8_t handling_intr_from_guest;
	bool guest_state_protected;
};

struct vmcb_seg {
	uint16_t selector, attrib;
	uint32_t limit;
	uint64_t base;
};

struct vmcb_save_area {
	struct vmcb_seg cs, ss;
	uint8_t cpl;
	uint64_t efer, cr4, cr3, cr0, rip, rsp;
};

struct vmcb_control_area {
	uint32_t exit_code;
	uint64_t nested_ctl;
};

struct vmcb {
	struct vmcb_control_area control;
	struct vmcb_save_area save;
};

struct kvm_segment { /* include/uapi/linux/kvm.h: the order is its own */
	uint64_t base;
	uint32_t limit;
	uint16_t selector;
	uint8_t type;
	uint8_t present, dpl, db, s, l, g, avl;
};

#elif defined(__TARGET_ARCH_arm64)

struct pt_regs {
	uint64_t regs[31];
	int syscallno;
};

struct kvm_mp_state {
	uint32_t mp_state;
};

struct user_pt_regs { /* include/uapi/asm/ptrace.h: the order is its own */
	uint64_t regs[31], sp, pc, pstate;
};

struct kvm_cpu_context {
	struct user_pt_regs regs;
	uint64_t sys_regs[1];
};

struct kvm_vcpu_fault_info {
	uint64_t esr_el2;
};

struct kvm_vcpu_arch {
	struct kvm_cpu_context ctxt;
	struct kvm_vcpu_fault_info fault;
	struct kvm_mp_state mp_state;
};

/* The numbers differ between kernels (CO-RE). */
enum vcpu_sysreg {
	SCTLR_EL1 = 1,
	TTBR0_EL1,
	TTBR1_EL1,
	TCR_EL1,
	VBAR_EL1,
	SP_EL1,
	ELR_EL1,
	SPSR_EL1,
};

#endif

/* Shared with the VMM: include/uapi/linux/kvm.h. */
struct kvm_run {
	uint32_t exit_reason;
};

struct kvm_vcpu {
	struct kvm *kvm;
	int vcpu_id;
	struct kvm_run *run;
	struct pid *pid;
	struct kvm_vcpu_arch arch;
};

#if defined(__TARGET_ARCH_x86)

/* AMD: of the module kvm_amd. */
struct vcpu_svm {
	struct kvm_vcpu vcpu;
	struct vmcb *vmcb;
};

/* A host that emulates its guests (pagetable-based virtual machines). */
struct vcpu_pvm {
	struct kvm_vcpu vcpu;
	struct kvm_segment seg[8];
	int cpl;
};

#endif

#pragma clang attribute pop

#endif
