/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plugin_boot.h: the file in which uniscope asks QEMU's plugin when the guest comes to
 * an instruction for the first time, and the plugin answers.
 *
 * uniscope makes it, with what is asked for, before QEMU starts; the plugin writes the
 * rest, wall_ns last.  Little-endian.  Neither trusts what the other writes.
 */
#ifndef US_VMM_PLUGIN_BOOT_H
#define US_VMM_PLUGIN_BOOT_H

#include <stdint.h>

#define US_BOOT_MAGIC	  "USBOOT05" /* 8 bytes, no NUL */
#define US_MAX_WATCH	  64U
#define US_WATCH_AT_ONCE  UINT32_MAX
#define US_MAX_BOOT_POINT 24U
#define US_MAX_USE	  512U
#define US_USE_UNKNOWN	  UINT64_MAX
#define US_WATCH_CODE	  16U	/* bytes of code that are compared */
#define US_WATCH_LEAST	  4U	/* fewer in a block tell nothing */
#define US_MAX_CALLED	  256U	/* targets of calls and jumps */
#define US_MAX_FOLLOWED	  8192U /* blocks of code that are followed for them */

enum us_watch_event {
	US_WATCH_INSN,	/* the instruction at this address */
	US_WATCH_START, /* any instruction: the first of all */
	US_WATCH_IDLE,	/* a vCPU has nothing to do */
	US_N_WATCH_EVENT,
};

struct us_boot_watch {
	uint64_t address; /* gva */
	uint32_t event;	  /* enum us_watch_event */
	uint32_t point;	  /* what it is for; several may be for the same */
	/* Counts once one for this point was seen; US_WATCH_AT_ONCE: any time. */
	uint32_t after;
	/*
	 * 0: at this very address.  Else a power of two: a kernel that may be anywhere
	 * is somewhere else by a multiple of it, and has this code there, but for so
	 * many bytes: one may write over some of its instructions when it starts.
	 */
	uint32_t period;
	uint8_t code[US_WATCH_CODE];
	uint32_t unequal, reserved;
	/* Written by the plugin, when it is seen for the first time: */
	uint64_t cpu_ns;  /* of the VMM's process */
	uint64_t insns;	  /* executed before it, by all vCPUs; 0: not known */
	uint64_t wall_ns; /* CLOCK_MONOTONIC; 0: not seen */
};

/* Of a port, or of a page of a device's memory. */
struct us_boot_use {
	char device[32]; /* QEMU's name of it, NUL-terminated; "": a port */
	uint64_t
		address; /* the port; the page's gpa; US_USE_UNKNOWN: not known which */
	uint64_t n[US_MAX_BOOT_POINT]; /* accesses after this point, before the next */
};

/* Where the code led that the guest executed from its kernel's entry on. */
struct us_boot_called {
	uint64_t to;   /* gva */
	uint32_t jump; /* it was no call */
	uint32_t reserved;
};

struct us_boot_file {
	char magic[8];
	uint32_t n_watch;
	uint32_t api;		    /* of the plugins in this QEMU */
	uint64_t made_ns, made_cpu; /* when the first vCPU was made; as above */
	/* How often vCPU 0 came to the guest's first instruction: a machine that is
	 * reset begins there again. */
	uint64_t n_start;
	struct us_boot_watch watch[US_MAX_WATCH];
	/* Where calls are counted, too (plugin_phases.h): */
	uint32_t point; /* that was passed last; uniscope writes it as well */
	uint32_t n_use;
	struct us_boot_use use[US_MAX_USE];
	/* Of the first vCPU that comes to a watch of this point, and from then on: to
	 * where it calls and jumps, each place once.  US_WATCH_AT_ONCE: of none. */
	uint32_t follow;
	uint32_t n_called; /* written last */
	struct us_boot_called called[US_MAX_CALLED];
};

#endif
