/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gdb/detach.c: see gdb/detach.h. */
#include "backend/gdb/detach.h"

#include "base/clock.h"

#include <errno.h>
#include <string.h>

#define STOP_REPLY_NS	(250 * US_NS_PER_MS)
#define MOST_SLICE_NS	(2500 * US_NS_PER_MS)
#define DETACH_TRIES	8 /* at least */
#define OTHER_RESCUE_NS (10 * US_NS_PER_SEC)
/* As long as it takes: what QEMU has not read when its peer hangs up it may forget. */
#define QEMU_RESCUE_NS (24 * 3600 * US_NS_PER_SEC)

/* Read on until a reply that begins with text, or one that refuses (an error, or
 * nothing).  What else comes answers questions of before, or is a stop reply, which
 * *stopped says; at_stop: the first of these ends it. */
enum answer { NONE, WANTED, REFUSED, LOST };

static enum answer wait_for(struct us_gdb *g, const char *text, uint64_t deadline_ns,
			    bool *stopped, bool at_stop)
{
	for (unsigned i = 0; i < 1000; i++) {
		int r = us_gdb_get(g, deadline_ns);
		if (r == -EPROTO) { /* the rest of a packet whose start was lost */
			g->parser.junk = 0;
			continue;
		}
		if (r < 0)
			return r == -ETIMEDOUT ? NONE : LOST;
		const char *body = g->parser.body;
		if (!strncmp(body, text, strlen(text)))
			return WANTED;
		if (us_gdb_stop_kind(body, g->parser.len) == US_GDB_STOPPED) {
			*stopped = true;
			if (at_stop)
				return NONE;
		} else if (!g->parser.len || us_gdb_said_error(g))
			return REFUSED;
	}
	return NONE;
}

static bool tell(struct us_gdb *g, const char *packet, uint64_t deadline_ns)
{
	return us_gdb_put(g, packet) == 0 && us_gdb_flush(g, deadline_ns) == 0;
}

/*
 * A question that was taken for a request to stop gets no answer, so another follows
 * if none comes.  Each has an answer of its own: that of the last one says that none
 * is under way any more, however late the others were.
 */
bool us_gdb_halt_qemu(struct us_gdb *g, uint64_t patience_ns, bool *stopped)
{
	static const struct {
		const char *ask, *answer;
	} q[] = {
		{ "qC", "QC" },
		{ "vCont?", "vCont" },
		{ "qqemu.sstepbits", "ENABLE" },
		{ "qSupported", "PacketSize" },
	};
	uint64_t now = us_now_ns(), last_ns = now + patience_ns;
	uint64_t slice_ns = patience_ns / 4;
	slice_ns = slice_ns < MOST_SLICE_NS ? slice_ns : MOST_SLICE_NS;
	*stopped = false;
	us_gdb_put_break(g);
	for (size_t i = 0; i < sizeof(q) / sizeof(*q); i++, now = us_now_ns()) {
		bool last = i + 1 == sizeof(q) / sizeof(*q);
		uint64_t deadline_ns = last ? last_ns : now + slice_ns;
		if (!tell(g, q[i].ask, deadline_ns))
			return false;
		enum answer a = wait_for(g, q[i].answer, deadline_ns, stopped, false);
		if (a == WANTED || a == LOST)
			return a == WANTED;
	}
	return false;
}

/* Others are not sent a packet behind the request; one that stands may be silent. */
static bool halt_other(struct us_gdb *g)
{
	bool stopped = false;
	uint64_t deadline_ns = us_now_ns() + STOP_REPLY_NS;
	us_gdb_put_break(g);
	if (us_gdb_flush(g, deadline_ns) == 0)
		for (unsigned i = 0; i < 16 && !stopped; i++)
			if (wait_for(g, "?", deadline_ns, &stopped, false) == NONE)
				break;
	return stopped;
}

/*
 * Of a guest that stands, with no reply under way.  After a detach that may have worked
 * nothing may be sent: it would stop the guest again.  So a second one follows only a
 * refusal, or QEMU's word that the first was a request to stop to it: somebody had let
 * the guest go.
 */
static bool detach(struct us_gdb *g, struct us_gdb_shared *shared, uint64_t patience_ns)
{
	const char *form[] = { shared->detach[0] ? shared->detach : "D", "D;1" };
	bool qemu = atomic_load(&shared->qemu);
	uint64_t last_ns = us_now_ns() + patience_ns;
	for (size_t i = 0, n = 0; i < sizeof(form) / sizeof(*form);) {
		uint64_t deadline_ns = us_now_ns() + patience_ns;
		bool again = false;
		if (!tell(g, form[i], deadline_ns))
			return false;
		enum answer a = wait_for(g, "OK", deadline_ns, &again, qemu);
		if (a == NONE && again && qemu &&
		    (++n < DETACH_TRIES || us_now_ns() < last_ns)) /* at once */
			continue;
		if (a != REFUSED)
			return a == WANTED;
		i++;
	}
	return tell(g, "c", us_now_ns() + patience_ns) && us_gdb_wait_ack(g) == 0;
}

bool us_gdb_let_go(struct us_gdb *g, struct us_gdb_shared *shared, uint64_t patience_ns)
{
	bool stopped;
	if (!atomic_load(&shared->qemu))
		stopped = halt_other(g);
	else if (!us_gdb_halt_qemu(g, patience_ns, &stopped))
		return false;
	if (atomic_load(&shared->paused) && !stopped)
		return true;
	return detach(g, shared, patience_ns);
}

bool us_gdb_rescue(struct us_gdb *g, struct us_gdb_shared *shared)
{
	return us_gdb_let_go(g, shared,
			     atomic_load(&shared->qemu) ? QEMU_RESCUE_NS
							: OTHER_RESCUE_NS);
}

void us_gdb_session_leave(struct us_gdb_session *s)
{
	us_watchdog_alarm(s->watchdog);
	s->run = US_GDB_RUNS;
	s->detached = true;
}

void us_gdb_session_let_go(struct us_gdb_session *s)
{
	/* The watchdog's time begins anew; if it has stepped in, it is its turn. */
	if (!us_watchdog_renew(s->watchdog))
		us_watchdog_hold(s->watchdog); /* its owner's, paused: not held */
	bool ours = !us_watchdog_fired(s->watchdog);
	s->client.no_ack |= s->qemu; /* nothing that a running QEMU would hear */
	/* Others may have done it without a word, and would be stopped again. */
	if (ours && !us_gdb_let_go(&s->client, s->shared, US_GDB_PATIENCE_NS) &&
	    s->qemu)
		us_watchdog_alarm(s->watchdog);
	s->run = US_GDB_RUNS;
	s->detached = true;
}

void us_gdb_set_run(struct us_gdb_session *s, enum us_gdb_run run)
{
	s->run = run;
	atomic_store(&s->shared->paused, run == US_GDB_PAUSED);
}
