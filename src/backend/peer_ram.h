/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * peer_ram.h: memory of a guest that is sampled through a stub or a monitor (the peer).
 *
 * The peer can read the guest's memory, slowly.  Reading the VMM's process is fast, but
 * needs a VMM on this host, permission, and a known memory layout.  That layout is
 * trusted once the page tables lead to the same bytes as the peer reads.  Until then
 * the peer reads.
 *
 * A vCPU that uses memory which the layout lacks, because it was plugged in later, is
 * read by the peer.
 *
 * While paging is off, the layout is checked separately, and only code in RAM above 1
 * MiB counts: firmware is not all RAM, and copies of it are below 1 MiB.
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
	unsigned doubts;       /* how often they did not */
	bool flat_sure;	       /* the same while paging is off */
	unsigned flat_doubts;
	bool (*read_gva)(void *ctx, us_gva va, void *buf, size_t len);
	void *ctx;
	const char *peer; /* "the stub" */
};

/* read_gva reads with the translation of the current capture's vCPU.  guest may be NULL
 * (not on this host), monitor too.  Never fails: at worst the peer reads. */
void us_peer_ram_open(struct us_peer_ram *m, const struct us_guest *guest,
		      struct us_qmp *monitor, const char *peer,
		      bool (*read_gva)(void *, us_gva, void *, size_t), void *ctx);
/* To be called before: if only the peer could read, *why says why.  Asks nothing of the
 * peer. */
void us_peer_ram_explain(const struct us_guest *guest, const char *peer,
			 struct us_err *why);
void us_peer_ram_close(struct us_peer_ram *m);

struct us_mem *us_peer_ram_mem(struct us_peer_ram *m);
/* "process_vm_readv, 1 region, ...", "by the stub". */
const char *us_peer_ram_how(const struct us_peer_ram *m);

/* Between samples: us_ram_look_again(). */
void us_peer_ram_look_again(struct us_peer_ram *m);

/* Hot path, while the guest is stopped: decide who reads for this capture.  If it is
 * the peer, *regs gets US_PAGING_UNKNOWN. */
void us_peer_ram_prepare(struct us_peer_ram *m, struct us_regs *regs);

#endif
