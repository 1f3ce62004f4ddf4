/* SPDX-License-Identifier: GPL-2.0-or-later */
/* flow.h: what an instruction does to where a vCPU is in the tree of calls. */
#ifndef US_TRACE_FLOW_H
#define US_TRACE_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum us_flow {
	US_FLOW_ON, /* to the next one */
	US_FLOW_CALL,
	US_FLOW_RETURN,
	US_FLOW_JUMP,
	US_FLOW_BRANCH, /* a jump, or on */
	US_FLOW_TRAP,	/* into the kernel */
	US_FLOW_IRET,	/* out of it; loads what it returns to from the stack */
	US_FLOW_LEAVE,	/* the same, from registers */
};

/* What becomes of the register that calls leave the return address in. */
enum us_flow_link {
	US_FLOW_LINK_KEPT, /* nothing; or it is only signed, or checked */
	US_FLOW_LINK_STORED,
	US_FLOW_LINK_LOADED,
	US_FLOW_LINK_SET, /* it gets another value */
};

struct us_flow_insn {
	enum us_flow flow;
	bool has_target;  /* a call, jump or branch: to target */
	bool loads_stack; /* the stack pointer gets a value that has nothing of the old
			   */
	bool halts;	  /* waits for an interrupt: hlt, mwait, wfi */
	uint64_t target;
	/* Of architectures with such a register. */
	enum us_flow_link link;
	bool alternate;	    /* a call or return by another one (RISC-V: t0) */
	bool by_stack;	    /* stored or loaded at the stack pointer + a constant */
	uint8_t link_bytes; /* its word is so far above the access's address */
};

#endif
