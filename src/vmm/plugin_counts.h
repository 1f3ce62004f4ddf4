/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plugin_counts.h: the file that QEMU's plugin counts in, and that uniscope reads while
 * the guest runs and after it has ended, however it ended.
 *
 * It is a shared mapping of a file of fixed size.  Its blocks are allocated before the
 * guest starts: a full file system must not kill a running guest.  Little-endian.  A
 * reader trusts nothing in it: QEMU may have been killed, or be counting at that
 * moment.
 *
 *	struct us_counts_head
 *	struct us_counts_vcpu  [head.n_vcpu], each with its tree:
 *	struct us_counts_node  [head.n_node] for each vCPU
 *
 * Node 0 of a tree is its root.  Node i is valid if i < vcpu.n_node; parents have lower
 * numbers.  Instructions that were executed since the last change of node (insns -
 * charged) belong to vcpu.node.  A vCPU's place says where it is at any instant: it is
 * updated at each change, so that a reader needs only this one word from QEMU.
 */
#ifndef US_VMM_PLUGIN_COUNTS_H
#define US_VMM_PLUGIN_COUNTS_H

#include <stdint.h>

#define US_COUNTS_MAGIC	   "USCOUNTS" /* 8 bytes, no NUL */
#define US_COUNTS_VERSION  4U
#define US_COUNTS_MAX_VCPU 256U
#define US_COUNTS_MAX_NODE (1U << 26)
#define US_COUNTS_N_NODE   (1U << 19) /* unless asked otherwise */
#define US_COUNTS_PAGE	   4096U

/* A node's address is that of a function, or one of these. */
enum us_counts_special {
	US_COUNTS_ROOT = 0,	  /* node 0 */
	US_COUNTS_UNNAMED = 1,	  /* code of which nothing is known */
	US_COUNTS_INTERRUPTS = 2, /* parent of what interrupts and faults entered */
	US_COUNTS_FULL = 3, /* the tree was full: everything that found no space */
	/* In recordings of boots: parent of what was executed in a phase.  The phases
	 * have the numbers from this one on, in their order. */
	US_COUNTS_PHASE = 4,
	US_N_COUNTS_SPECIAL = 16, /* no function begins at a lower address */
};
#define US_COUNTS_MAX_PHASE ((unsigned)(US_N_COUNTS_SPECIAL - US_COUNTS_PHASE))

/* What a vCPU is doing at this moment. */
enum us_counts_doing {
	US_COUNTS_OFF,	  /* has not run yet, or the guest is paused */
	US_COUNTS_RUNS,	  /* executes guest code, or QEMU works for it */
	US_COUNTS_PLUGIN, /* in the plugin: node may be the one before or after */
	US_COUNTS_HALTED, /* waits for an interrupt */
	US_N_COUNTS_DOING,
};

/* What nodes are. */
enum us_counts_flat {
	US_COUNTS_PATHS,     /* paths of calls */
	US_COUNTS_CALLS,     /* functions, all below the root, without instructions */
	US_COUNTS_FUNCTIONS, /* likewise, with those that are in the function's code;
				the root has those in no function */
};

struct us_counts_node {
	uint64_t address; /* of the function's first instruction, or a special one */
	uint64_t calls;	  /* how often it was entered */
	uint64_t self;	  /* instructions */
	uint32_t parent;
	uint32_t function; /* used by the plugin's engine only, not by readers */
};

/* One for each vCPU, on a page of its own. */
struct us_counts_vcpu {
	uint64_t insns;	  /* executed; 0 if they are only known once charged */
	uint64_t charged; /* instructions that are in the tree */
	union {
		struct {
			uint32_t node;	/* now */
			uint32_t doing; /* enum us_counts_doing */
		};
		uint64_t place; /* both, to be read as one */
	};
	/* Events that show how far to trust the counts. */
	uint64_t returns;
	uint64_t unmatched;  /* returns to a place that no call came from */
	uint64_t interrupts; /* entries without a call, interrupts and faults */
	uint64_t switches;   /* from one stack to another */
	uint64_t resyncs;    /* a call from another function than expected */
	uint64_t lost;	     /* calls that the full tree has no node for */
	uint64_t too_deep;   /* calls that did not fit on the stack */
	uint64_t resets;     /* of the machine */
	uint32_t n_node;
	uint32_t reserved;
	uint64_t insns_at; /* hva of the counter of executed instructions; 0: it is
			      insns */
	uint64_t stray;	   /* memory accesses that QEMU attributed to the wrong vCPU */
};

struct us_counts_head {
	char magic[8];
	uint32_t version;
	uint32_t api; /* of the plugins in this QEMU */
	uint32_t n_vcpu, n_node;
	uint64_t vcpu_offset, vcpu_stride; /* bytes from the start, and between two */
	uint64_t node_offset;		   /* bytes from a vCPU's start to its nodes */
	uint64_t size;			   /* of the file */
	uint32_t ended;			   /* 1: QEMU ended in good order */
	uint32_t n_seen;		   /* vCPUs that were started */
	/* Several vCPUs take turns in one thread, and this QEMU does not say which of
	 * them executes: nothing is counted. */
	uint32_t mixed;
	uint16_t in_turns; /* 1: all vCPUs are in one thread, as far as is known */
	uint16_t turn;	   /* then: the vCPU that ran last */
	uint32_t flat;	   /* enum us_counts_flat */
	char target[16];   /* QEMU's name of the architecture */
	/* Functions that were executed with code like the image's, and those at whose
	 * addresses other code was executed: does the guest run this image? */
	uint64_t n_same, n_differ;
	/* If flat: functions that jump to their own first instruction
	 * although the image's code does not.  Each such jump counts as a call. */
	uint64_t n_unforeseen;
	/* n_slid of the images' functions were seen slide bytes away from their
	 * addresses in the images (gva, wraps around). */
	uint64_t slide, n_slid;
	uint32_t begun; /* 1: the guest has begun to execute */
	uint32_t reserved;
	/* Times that the plugin had no room for one more place in the code or function:
	 * what happens there is not counted, or has no name. */
	uint64_t n_full;
	/* Of the file of functions (trace/functions.h): nodes have the addresses of
	 * that choice of layers. */
	uint64_t layers;
};

#endif
