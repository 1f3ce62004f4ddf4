/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plugin_boot.h: the file in which uniscope asks QEMU's plugin when the guest first
 * reaches certain instructions, and in which the plugin answers.
 *
 * uniscope creates it, with its questions, before QEMU starts.  The plugin writes the
 * rest, wall_ns last.  Little-endian.  Neither trusts what the other writes.
 */
#ifndef US_VMM_PLUGIN_BOOT_H
#define US_VMM_PLUGIN_BOOT_H

#include <stdint.h>

#define US_BOOT_MAGIC	  "USBOOT08" /* 8 bytes, no NUL */
#define US_MAX_WATCH	  64U
#define US_WATCH_AT_ONCE  UINT32_MAX
#define US_MAX_BOOT_POINT 24U
#define US_MAX_USE	  512U
#define US_USE_UNKNOWN	  UINT64_MAX
#define US_WATCH_CODE	  16U	/* bytes of code that are compared */
#define US_WATCH_LEAST	  4U	/* of a block, for a kernel that moves */
#define US_MAX_CALLED	  256U	/* targets of calls and jumps */
#define US_MAX_FOLLOWED	  8192U /* blocks of code that are followed for them */

enum us_watch_event {
	US_WATCH_INSN,	/* the instruction at this address */
	US_WATCH_START, /* any instruction: the first of all */
	US_WATCH_IDLE,	/* a vCPU has nothing to do, or halts */
	US_N_WATCH_EVENT,
};

struct us_boot_watch {
	uint64_t address; /* gva */
	uint32_t event;	  /* enum us_watch_event */
	uint32_t point; /* the boot's point that it marks; several may mark the same */
	/* Counts only after a watch for this point was seen; US_WATCH_AT_ONCE: at any
	 * time. */
	uint32_t after;
	/* Does not count any more after a later point's instruction was seen. */
	uint32_t only_before;
	uint32_t reserved;
	/*
	 * 0: at exactly this address, and if `exact` is set only if this code is there:
	 * before the kernel, its loader may have run at the address.  Else a power of
	 * two, for a kernel that may be at any address: it is moved by a multiple of
	 * this, and has this code there.  Up to `unequal` bytes of the code may differ,
	 * because a kernel may overwrite some of its instructions when it starts.
	 */
	uint32_t period;
	uint8_t code[US_WATCH_CODE];
	uint32_t unequal, exact;
	/* Written by the plugin, when it is first seen: */
	uint64_t cpu_ns;  /* of the VMM's process */
	uint64_t insns;	  /* executed before it, by all vCPUs; 0: not known */
	uint64_t wall_ns; /* CLOCK_MONOTONIC; 0: not seen */
};

/* Accesses to a port, or to a page of a device's memory. */
struct us_boot_use {
	char device[32];  /* QEMU's name of it, NUL-terminated; "": a port */
	uint64_t address; /* the port; the page's gpa; US_USE_UNKNOWN: not known */
	uint64_t n[US_MAX_BOOT_POINT]; /* accesses after this point, before the next */
};

/* Targets of calls and jumps that the guest executed from its kernel's entry on. */
struct us_boot_called {
	uint64_t to;   /* gva */
	uint32_t jump; /* it was a jump, not a call */
	uint32_t reserved;
};

struct us_boot_file {
	char magic[8];
	uint32_t n_watch;
	uint32_t api;		    /* of the plugins in this QEMU */
	uint64_t made_ns, made_cpu; /* when the first vCPU was made; CPU time */
	/* How often vCPU 0 reached the guest's first instruction: a machine that is
	 * reset begins there again. */
	uint64_t n_start;
	uint32_t uncounted; /* not 0: insns of all watches will not be known */
	uint32_t reserved;
	struct us_boot_watch watch[US_MAX_WATCH];
	/* Used if calls are counted, too (plugin_phases.h): */
	uint32_t point; /* the last point that was passed; uniscope writes it as well */
	uint32_t n_use;
	struct us_boot_use use[US_MAX_USE];
	/* The first vCPU that reaches a watch of this point is followed from then on:
	 * where it calls and jumps, each target once.  US_WATCH_AT_ONCE: no vCPU is. */
	uint32_t follow;
	uint32_t n_called; /* written last */
	struct us_boot_called called[US_MAX_CALLED];
};

#endif
