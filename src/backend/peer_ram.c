/* SPDX-License-Identifier: GPL-2.0-or-later */
/* peer_ram.c: see peer_ram.h. */
#include "backend/peer_ram.h"

#include "base/clock.h"
#include "guest/paging.h"
#include "vmm/ram.h"

#include <stdio.h>
#include <string.h>

#define MAX_DOUBTS 3
#define LOW_END	   0x100000 /* below: firmware's copies, and holes */

void us_peer_ram_open(struct us_peer_ram *m, const struct us_guest *guest,
		      struct us_qmp *monitor, const char *peer,
		      bool (*read_gva)(void *, us_gva, void *, size_t), void *ctx)
{
	memset(m, 0, sizeof(*m));
	m->peer = peer;
	m->read_gva = read_gva;
	m->ctx = ctx;
	if (guest && us_ram_open(guest, monitor, &m->ram, NULL) < 0)
		m->ram = NULL;
	if (!m->ram)
		us_mem_init(&m->by_peer);
	us_peer_ram_mem(m)->read_gva = read_gva;
	us_peer_ram_mem(m)->ctx = ctx;
}

void us_peer_ram_explain(const struct us_guest *guest, const char *peer,
			 struct us_err *why)
{
	struct us_ram *ram;
	struct us_err e = { 0 };
	if (!guest || us_ram_check_right(guest, &e) == 0)
		return;
	/* Reading the file that holds the RAM needs no such right. */
	if (us_ram_open(guest, NULL, &ram, NULL) == 0) {
		us_ram_close(ram);
		return;
	}
	us_wrap(&e, "memory will be read %s, slowly", peer);
	if (why)
		*why = e;
}

void us_peer_ram_close(struct us_peer_ram *m)
{
	us_ram_close(m->ram);
	m->ram = NULL;
}

struct us_mem *us_peer_ram_mem(struct us_peer_ram *m)
{
	return m->ram ? us_ram_mem(m->ram) : &m->by_peer;
}

void us_peer_ram_look_again(struct us_peer_ram *m)
{
	if (m->ram)
		us_ram_look_again(m->ram, us_now_ns());
}

const char *us_peer_ram_how(const struct us_peer_ram *m)
{
	return m->ram && m->doubts < MAX_DOUBTS ? us_ram_how(m->ram) : m->peer;
}

enum agreement { SAME, DIFFERENT, UNREADABLE };

static enum agreement compare(struct us_peer_ram *m, const struct us_space *space,
			      us_gva va)
{
	struct us_paging paging;
	uint8_t ours[64], theirs[64];
	us_paging_init(&paging, us_ram_mem(m->ram));
	va &= ~63ull;
	if (!m->read_gva(m->ctx, va, theirs, sizeof(theirs)))
		return UNREADABLE;
	bool same = us_paging_read(&paging, space, va, ours, sizeof(ours)) &&
		    !memcmp(ours, theirs, sizeof(ours));
	return same ? SAME : DIFFERENT;
}

/* Code must be the same in both; the stack may be unreadable, but not different. */
static void check(struct us_peer_ram *m, const struct us_regs *regs)
{
	bool tried;
	if (compare(m, &regs->space, regs->pc) == UNREADABLE)
		return;
	m->sure = us_ram_verify(m->ram, regs, &tried, NULL) == 0 &&
		  compare(m, &regs->space, regs->pc) == SAME &&
		  compare(m, &regs->space, regs->sp) != DIFFERENT;
	m->doubts += !m->sure;
}

/* Without page tables: may this vCPU's memory be read from the VMM's process? */
static bool is_flat_ram(struct us_peer_ram *m, const struct us_regs *regs)
{
	uint8_t byte;
	struct us_mem *mem = us_ram_mem(m->ram);
	if (regs->pc < LOW_END || !us_mem_read(mem, regs->pc, &byte, 1))
		return false;
	/* M-mode is entered with the stack pointer of what it has interrupted, which
	 * may be another space's. */
	if (!us_mem_read(mem, regs->sp, &byte, 1))
		return regs->machine && m->flat_sure;
	if (m->flat_sure || m->flat_doubts >= MAX_DOUBTS)
		return m->flat_sure;
	m->flat_sure = compare(m, &regs->space, regs->pc) == SAME &&
		       compare(m, &regs->space, regs->sp) == SAME;
	m->flat_doubts += !m->flat_sure;
	return m->flat_sure;
}

static bool peer_has_more(struct us_peer_ram *m, struct us_paging *paging,
			  const struct us_space *space, us_gva va)
{
	uint8_t byte;
	return !us_paging_read(paging, space, va, &byte, 1) &&
	       m->read_gva(m->ctx, va, &byte, 1);
}

/* Memory that was plugged in since the layout was read is not in it; a guest may use it
 * for page tables, too.  The peer knows it. */
static bool is_beyond(struct us_peer_ram *m, const struct us_regs *regs)
{
	struct us_paging paging;
	us_paging_init(&paging, us_ram_mem(m->ram));
	return peer_has_more(m, &paging, &regs->space, regs->pc) ||
	       peer_has_more(m, &paging, &regs->space, regs->sp);
}

void us_peer_ram_prepare(struct us_peer_ram *m, struct us_regs *regs)
{
	us_mem_new_sample(us_peer_ram_mem(m));
	if (m->ram && regs->space.mode == US_PAGING_OFF && is_flat_ram(m, regs))
		return;
	bool paged = regs->space.mode != US_PAGING_OFF &&
		     regs->space.mode != US_PAGING_UNKNOWN;
	if (m->ram && paged && !m->sure && m->doubts < MAX_DOUBTS)
		check(m, regs);
	if (!m->ram || !paged || !m->sure || is_beyond(m, regs))
		regs->space.mode = US_PAGING_UNKNOWN;
}
