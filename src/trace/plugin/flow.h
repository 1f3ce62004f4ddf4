/* SPDX-License-Identifier: GPL-2.0-or-later */
/* flow.h: how an instruction moves a vCPU in the tree of calls. */
#ifndef US_TRACE_FLOW_H
#define US_TRACE_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum us_flow {
	US_FLOW_ON, /* to the next instruction */
	US_FLOW_CALL,
	US_FLOW_RETURN,
	US_FLOW_JUMP,
	US_FLOW_BRANCH, /* a jump, or to the next instruction */
	US_FLOW_TRAP,	/* enters the kernel */
	US_FLOW_IRET,	/* leaves the kernel; loads the return address from the stack */
	US_FLOW_LEAVE,	/* leaves the kernel; return address from a register */
};

/* What happens to the link register. */
enum us_flow_link {
	US_FLOW_LINK_KEPT, /* unchanged, or only signed or checked */
	US_FLOW_LINK_STORED,
	US_FLOW_LINK_LOADED,
	US_FLOW_LINK_SET, /* it gets another value */
};

struct us_flow_insn {
	enum us_flow flow;
	bool far;	  /* a call or return of x86 with a code segment */
	bool has_target;  /* a call, jump or branch: to target */
	bool loads_stack; /* the stack pointer gets an unrelated value */
	bool halts;	  /* waits for an interrupt: hlt, mwait, wfi */
	uint64_t target;
	/* x86: 1 + the number of the register that a word is popped into, and of the
	 * one that is jumped to; 0: none. */
	uint8_t popped, jumps_by;
	bool keeps; /* changes no general register but the stack pointer */
	/* For architectures with a link register. */
	enum us_flow_link link;
	bool alternate;	    /* a call or return with another register (RISC-V: t0) */
	bool by_stack;	    /* stored or loaded at the stack pointer + a constant */
	uint8_t link_bytes; /* offset of its word from the access's address */
};

#endif
