/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * peer_ram.h: memory of a guest that is looked at through a stub or a monitor.
 *
 * The peer can read the guest's memory, slowly.  The VMM's process can be read fast, if
 * it is on this host, may be read, and its layout is understood.  That is trusted once
 * the page tables lead to the same bytes as the peer reads; until then the peer reads.
 * While paging is off that is asked anew, and of code in RAM above 1 MiB only: firmware
 * is not all RAM, and below lie copies of it.
 */
#ifndef US_BACKEND_PEER_RAM_H
#define US_BACKEND_PEER_RAM_H

#include "guest/memory.h"
#include "vmm/guest_list.h"

struct us_qmp;
struct us_ram;

struct us_peer_ram {
	struct us_ram *ram;    /* NULL: only the peer reads */
	struct us_mem by_peer; /* used if there is no ram */
	bool sure;	       /* the two have been seen to agree */
	unsigned doubts;       /* times that they did not */
	bool flat_sure;	       /* the same while paging is off */
	unsigned flat_doubts;
	bool (*read_gva)(void *ctx, us_gva va, void *buf, size_t len);
	void *ctx;
	const char *peer; /* "the stub" */
};

/* read_gva reads as the vCPU of the current capture does.  guest may be NULL (not on
 * this host), and monitor too.  Never fails: at worst the peer reads. */
void us_peer_ram_open(struct us_peer_ram *m, const struct us_guest *guest,
		      struct us_qmp *monitor, const char *peer,
		      bool (*read_gva)(void *, us_gva, void *, size_t), void *ctx);
/* Before that: if only the peer could read, *why says why.  Asks nothing of the peer.
 */
void us_peer_ram_explain(const struct us_guest *guest, const char *peer,
			 struct us_err *why);
void us_peer_ram_close(struct us_peer_ram *m);

struct us_mem *us_peer_ram_mem(struct us_peer_ram *m);
bool us_peer_ram_is_mapped(const struct us_peer_ram *m);
/* "process_vm_readv, 1 region, ...", "by the stub". */
const char *us_peer_ram_how(const struct us_peer_ram *m);

/* Hot path, while the guest stands: decide who reads for this capture; if it is the
 * peer, *regs gets US_PAGING_UNKNOWN. */
void us_peer_ram_prepare(struct us_peer_ram *m, struct us_regs *regs);

#endif
