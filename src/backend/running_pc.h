/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * running_pc.h: where the vCPUs of a guest under TCG are, read while they run; and
 * whether stops fall there as well.
 *
 * A vCPU that asks a device waits for QEMU's big lock, which whoever stops the guest
 * takes first: within some three microseconds before a stop, one that comes to a device
 * is held there.  So stops gather behind device accesses, and the functions before them
 * are seen too seldom.  TCG keeps the registers of each vCPU in QEMU's heap and stores
 * the program counter at the end of each translation block (target/i386/cpu.h,
 * target/arm/cpu.h: the general registers, then the program counter).  They are found
 * there by the values that a stop has shown; then one word says where the vCPU is at
 * any time.  Both are counted, and the difference is reported.
 */
#ifndef US_BACKEND_RUNNING_PC_H
#define US_BACKEND_RUNNING_PC_H

#include "vmm/guest_list.h"

#define US_RUNNING_PC_PLACES 512

struct us_running_pc {
	pid_t pid; /* 0: none of this */
	us_hva heap, heap_end;
	uint8_t *buf; /* owned */
	unsigned n_vcpu;
	struct us_running_place {
		us_hva at;	/* of the program counter; 0: not found yet */
		uint8_t size;	/* bytes */
		uint8_t tried;	/* how often it was looked for */
		uint8_t agreed; /* with what a stop has shown, in a row */
		bool fresh;	/* pc was read for this stop */
		us_gva pc;
	} place[US_MAX_VCPUS];
	/* By program counter, the first that came. */
	struct us_running_count {
		us_gva pc;
		uint32_t running, stopped;
	} count[US_RUNNING_PC_PLACES];
	uint32_t n_pair;
};

/* Setup path.  A guest whose VMM may not be read, or has no heap, is left alone. */
void us_running_pc_open(struct us_running_pc *r, const struct us_guest *g);
void us_running_pc_close(struct us_running_pc *r);

/* Hot path, while the guest runs: where are the vCPUs in mask? */
void us_running_pc_read(struct us_running_pc *r, uint64_t mask);
/* Hot path, at the stop that followed; the vCPU runs code of the guest.  Looks for the
 * registers if need be, up to three times for each vCPU: some milliseconds. */
void us_running_pc_stopped(struct us_running_pc *r, unsigned vcpu,
			   const struct us_regs *regs);

/*
 * As text, for a fact of the recording: how many stops were compared, and the places
 * where their share differs by a point or more, the largest first:
 * "1000; ffffffff80101119 993 31; ..." (address, stops, readings).  "" if there are
 * none.
 */
void us_running_pc_text(const struct us_running_pc *r, char *ret, size_t size);

#endif
