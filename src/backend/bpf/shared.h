/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shared.h: data shared by the programs in the kernel and uniscope.
 *
 * Compiled on both sides: fixed widths, no pointers.  Addresses are us_gva, us_gpa and
 * us_hva as in guest/regs.h; times are CLOCK_MONOTONIC in ns.
 */
#ifndef US_BACKEND_BPF_SHARED_H
#define US_BACKEND_BPF_SHARED_H

#include "guest/pointed.h"

#include <stdint.h>

#define US_BPF_MAX_ROWS	   1024 /* vCPUs, of all guests */
#define US_BPF_MAX_GUESTS  128
#define US_BPF_MAX_REGIONS 64	 /* of one guest; further ones are not readable */
#define US_BPF_MAX_CHAIN   128	 /* frames that are followed */
#define US_BPF_MAX_WINDOW  16384 /* bytes of a stack */
#define US_BPF_MAX_WINDOWS 6	 /* on that many stacks */
#define US_BPF_MAX_BYTES   24576 /* in all of them */
#define US_BPF_MAX_LINKS   4
#define US_BPF_HOST_FRAMES 48	/* of the host's kernel */
#define US_BPF_HOST_BYTES  8192 /* of the VMM's stack; read a page at a time */
#define US_BPF_RING_BYTES  (8U << 20)
/* Words that an entry into the host's kernel saves: x86's struct pt_regs
 * (arch/x86/include/asm/ptrace.h), arm64's struct user_pt_regs. */
#if defined(__TARGET_ARCH_x86) || defined(__x86_64__)
#define US_BPF_HOST_WORDS 21
#define US_BPF_HOST_SP	  19 /* the stack pointer */
#else
#define US_BPF_HOST_WORDS 34
#define US_BPF_HOST_SP	  31
#endif

/* What was seen of a vCPU while it was stopped, if the kernel does not have right
 * copies of all registers (vmx_rule.h).  A register that was once seen to change is not
 * trusted again. */
enum us_bpf_moves {
	US_BPF_MOVES_ROOT = 1 << 0, /* the root of the page tables */
	US_BPF_MOVES_CODE = 1 << 1, /* the code's width, its segments' bases */
	US_BPF_MOVES_RING = 1 << 2,
};

struct us_bpf_seen {
	uint64_t cr3, cs_base, ss_base;
	uint8_t cs_l, cs_db, ss_db, cpl;
	uint8_t n;     /* samples; it stays at 255 */
	uint8_t moves; /* enum us_bpf_moves */
	uint16_t pad;
};

#define US_BPF_ROOT_BITS 0x000ffffffffff000ULL
#define US_BPF_CR0_PG	 (1ULL << 31)
#define US_BPF_EFER_LMA	 (1ULL << 10)

#define US_BPF_WHOLE (1U << 16)

/* What a program is told about a vCPU.  The event's cookie is the row's number. */
struct us_bpf_row {
	uint64_t vcpu;	   /* struct kvm_vcpu, in the kernel; 0: do not sample it */
	uint64_t slots_at; /* address of its pointer to the machine's memory slots */
	uint32_t guest;	   /* index of its guest */
	/*
	 * The vCPU's time that samples may take: in any second no more than budget_ppm
	 * of it (plus the sample that is under way); 0: no limit.  The credit grows
	 * with time, up to US_BPF_BURST_NS, and each sample is paid from it.
	 */
	uint32_t budget_ppm;
	int64_t credit_ns;
	uint64_t credited_ns; /* when credit_ns was last updated */
	/* Ticks without a sample, each as the row's beat_part: */
	uint64_t skipped;   /* there was no credit left */
	uint64_t foreign;   /* the thread runs another vCPU, its registers cannot be
			       read, or its place in the guest is not known */
	uint64_t full;	    /* the ring was full */
	uint64_t beat_part; /* what a tick stands for now, as parts of the mean period:
			       US_BPF_WHOLE is one */
	uint64_t ran_ns;  /* how long the thread had had a host CPU when it was read */
	uint64_t tick_ns; /* the last tick; 0: the timer was set anew since */
	/* Since a sample last said so, as in us_bpf_sample; and how many ticks there
	 * had been when ran_ns was read. */
	uint64_t unsent_ran_ns, unsent_n_tick, unsent_n_new, read_n_tick, read_n_new;
	uint64_t near_ns; /* mostly, no tick was skipped if the one before is as near */
	uint64_t pointer_at; /* us_gva of the pointer to start from; 0: none */
	struct us_bpf_seen seen;
};

/* Saved credit and the credit that a second adds are together the budget of a second.
 */
#define US_BPF_BURST_NS	 20000000ULL
#define US_BPF_SECOND_NS 1000000000ULL

/* One slot of memory (KVM_SET_USER_MEMORY_REGION). */
struct us_bpf_region {
	uint64_t start, size, hva;
};

/* Where a guest's memory is.  There are two copies: the inactive one is filled, then
 * activated. */
struct us_bpf_guest {
	uint32_t active;
	uint32_t window; /* bytes of stack to copy, from the stack pointer upwards */
	/* If a page ends after this many bytes, stop there: what follows is mostly no
	 * stack. */
	uint32_t enough;
	uint32_t host; /* not 0: report what the host does, too */
	/*
	 * Where the pointer to another stack is, as an offset in its page: at the end
	 * of a stack on which interrupts are handled, or where a processor pushed the
	 * stack pointer of the program that it interrupted.  0: none.
	 */
	uint32_t link[US_BPF_MAX_LINKS];
	struct us_pointed_plan plan; /* what to copy besides the stack */
	struct us_bpf_slots {
		uint64_t generation; /* of KVM's table when it was read */
		uint32_t n, pad;
		struct us_bpf_region region[US_BPF_MAX_REGIONS]; /* largest first */
	} slots[2];
};

enum us_bpf_kind {
	US_BPF_GUEST,  /* the tick interrupted the guest */
	US_BPF_EXIT,   /* in KVM: another exit was just over, or under way */
	US_BPF_HALTED, /* KVM polls for an interrupt on behalf of a halted vCPU */
	US_BPF_VMM,    /* in the VMM: a program of the host */
	US_BPF_KERNEL, /* in the host's kernel, not for KVM_RUN */
	US_BPF_OFF,    /* never started, or stopped by its owner */
};

enum us_bpf_flag {
	US_BPF_STALE = 1 << 0,	/* KVM's memory slots have changed: read them again */
	US_BPF_NESTED = 1 << 1, /* a guest of the guest was running */
	/* The kernel had no right copy of: */
	US_BPF_NO_PC = 1 << 2,	  /* its program counter */
	US_BPF_NO_SP = 1 << 3,	  /* its stack pointer: reg[4] is undefined */
	US_BPF_NO_STACK = 1 << 4, /* how its addresses are translated */
	/* A struct us_bpf_host_sample of this row and time precedes it. */
	US_BPF_HAS_HOST = 1 << 5,
	/* arm64: EL1's own registers are still in the processor.  The sample has the
	 * values from when the thread last gave up its CPU or left KVM. */
	US_BPF_OLD_EL1 = 1 << 6,
};

/* A frame of the chain of frame pointers: the words at the frame pointer. */
struct us_bpf_frame {
	uint64_t at, caller_fp, return_address;
};

/*
 * A sample.  Behind it in the ring are the bytes of its windows, each aligned to 8
 * bytes, and the n_frame frames of the chain that are outside of the first window.
 */
struct us_bpf_sample {
	uint64_t t_ns;
	union {
		struct {		  /* x86 */
			uint64_t reg[17]; /* in KVM's order: rax rcx rdx rbx rsp rbp rsi
					     rdi, r8 to r15, rip */
			uint64_t cr0, cr3, cr4, efer;
			uint64_t cs_base, ss_base;
			uint8_t cs_l, cs_db, ss_db, cpl;
		};
		struct us_bpf_aarch64 {
			uint64_t x[31], sp_el0, pc, pstate; /* as user_pt_regs */
			uint64_t sp_el1, ttbr0, ttbr1, tcr, sctlr;
			uint64_t vbar, elr, spsr;
			uint64_t saves; /* how often the thread gave its CPU up */
		} arm;
	};
	uint8_t kind;  /* enum us_bpf_kind */
	uint8_t flags; /* enum us_bpf_flag */
	uint16_t n_frame;
	uint32_t row;
	/* The last exit, in the processor's numbers (arm64: ESR_EL2; not set for host
	 * interrupts); ~0: unknown. */
	uint32_t reason;
	uint32_t vmm_reason; /* the same, as KVM told the VMM (KVM_EXIT_...) */
	/* How long the thread had had a host CPU when this was last read, since a
	 * sample last said so, up to ~0; 0: not read since. */
	uint32_t ran_ns;
	uint32_t cost_ns; /* of the program up to this point */
	uint32_t n_window;
	/* Ticks in ran_ns, the last one included, whether they made samples or not; and
	 * those of them since the timer was set; up to ~0. */
	uint16_t n_tick, n_new;
	struct us_bpf_window {
		uint64_t at;
		uint32_t len;
		uint32_t offset; /* of its bytes, counted from the sample's end */
	} window[US_BPF_MAX_WINDOWS];
	uint32_t frames_at; /* of the frames, counted from the sample's end */
	uint32_t size;	    /* of all data behind the sample */
	struct us_pointed pointed;
};

/* What the host did at a sample taken outside the guest. */
struct us_bpf_host_sample {
	uint64_t no_sample; /* 0, where a sample has its t_ns */
	uint64_t t_ns;	    /* of the sample */
	uint32_t row;
	uint32_t n_kernel;
	uint64_t kernel[US_BPF_HOST_FRAMES]; /* innermost first */
	/* The VMM's registers, where it entered the kernel. */
	uint64_t reg[US_BPF_HOST_WORDS];
	uint32_t with_tick; /* the innermost ones belong to the tick's own interrupt */
	uint32_t n_bytes;   /* of the stack */
	uint8_t stack[US_BPF_HOST_BYTES];
};

#define US_BPF_MAX_SAMPLE                                                              \
	(sizeof(struct us_bpf_sample) + US_BPF_MAX_BYTES +                             \
	 US_BPF_MAX_CHAIN * sizeof(struct us_bpf_frame))

#define US_BPF_ELSEWHERE -1

/* What the iterators write, one after the other. */
struct us_bpf_found_vcpu {
	uint64_t vcpu, slots_at; /* as in us_bpf_row */
	uint64_t machine;	 /* struct kvm, in the kernel */
	uint32_t fd;		 /* of the VMM */
	int32_t vcpu_id;	 /* as the VMM numbers them */
	int32_t tid; /* the thread that ran it last, in uniscope's PID namespace; 0:
			none has, US_BPF_ELSEWHERE: not in there */
	int32_t mp_state;   /* KVM_MP_STATE_... */
	uint32_t readable;  /* sample has its registers, from its last exit */
	uint32_t protected; /* they are encrypted: SEV-ES, TDX */
	struct us_bpf_sample sample;
	struct us_bpf_seen seen; /* seen and span: only for the program */
	uint8_t span[512];
};

struct us_bpf_found_slot {
	uint64_t generation; /* of the table, the same for all slots */
	uint64_t start, size, hva;
};

#endif
