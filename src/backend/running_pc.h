/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * running_pc.h: reads the program counters of a TCG guest's vCPUs while they run, and
 * checks whether stops fall at the same places.
 *
 * A vCPU that accesses a device waits for QEMU's big lock, and whoever stops the guest
 * takes that lock first.  A vCPU that comes to a device within some three microseconds
 * before a stop is therefore held there.  Stops gather behind device accesses, and the
 * functions before them are seen too seldom.
 *
 * TCG keeps the registers of each vCPU in QEMU's heap and stores the program counter at
 * the end of each translation block (target/i386/cpu.h, target/arm/cpu.h: the general
 * registers, then the program counter).  uniscope finds them in the heap by the values
 * that a stop has shown.  After that, one word says where the vCPU is at any time.
 * Running and stopped program counters are both counted, and the difference is
 * reported.
 */
#ifndef US_BACKEND_RUNNING_PC_H
#define US_BACKEND_RUNNING_PC_H

#include "vmm/guest_list.h"

#define US_RUNNING_PC_PLACES 512

struct us_running_pc {
	pid_t pid; /* 0: not in use */
	us_hva heap, heap_end;
	uint8_t *buf; /* owned */
	unsigned n_vcpu;
	struct us_running_place {
		us_hva at;	/* of the program counter; 0: not found yet */
		uint8_t size;	/* bytes */
		uint8_t tried;	/* how often the heap was searched for it */
		uint8_t agreed; /* how often in a row it agreed with a stop */
		bool fresh;	/* pc was read for this stop */
		us_gva pc;
	} place[US_MAX_VCPUS];
	/* Counts for each program counter: the first US_RUNNING_PC_PLACES that came. */
	struct us_running_count {
		us_gva pc;
		uint32_t running, stopped;
	} count[US_RUNNING_PC_PLACES];
	uint32_t n_pair;
};

/* Setup path.  Does nothing if the VMM may not be read, or has no heap. */
void us_running_pc_open(struct us_running_pc *r, const struct us_guest *g);
void us_running_pc_close(struct us_running_pc *r);

/* Hot path, while the guest runs: where are the vCPUs in mask? */
void us_running_pc_read(struct us_running_pc *r, uint64_t mask);
/* Hot path, at the stop that followed; the vCPU runs code of the guest.  If need be it
 * searches for the registers, up to three times for each vCPU: some milliseconds. */
void us_running_pc_stopped(struct us_running_pc *r, unsigned vcpu,
			   const struct us_regs *regs);

/*
 * As text, for a fact of the recording: how many stops were compared, and the places
 * whose shares of stops and of readings differ by a point or more, the largest
 * difference first: "1000; ffffffff80101119 993 31; ..." (address, stops, readings).
 * "" if there are none.
 */
void us_running_pc_text(const struct us_running_pc *r, char *ret, size_t size);

#endif
