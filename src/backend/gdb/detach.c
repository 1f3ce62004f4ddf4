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
/* As long as it takes: if the peer disconnects, QEMU may lose what it has not read. */
#define QEMU_RESCUE_NS (24 * 3600 * US_NS_PER_SEC)

/* Read until a reply begins with text, or refuses (an error, or empty).  Other replies
 * answer earlier questions, or are stop replies, which set *stopped.  at_stop: return
 * at the first stop reply. */
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
 * QEMU may take a question for a request to stop, and does not answer it then.  If no
 * answer comes, another question follows.  Each has a different answer: the answer to
 * the last one shows that no other is under way, however late the others were.
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

/* Other stubs get no packet after the request.  If the guest is stopped already, the
 * stub may not answer. */
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
 * The guest is stopped, and no reply is under way.  After a detach that may have
 * worked, nothing may be sent: it would stop the guest again.  A second detach follows
 * only if the stub refused the first, or if QEMU took the first for a request to stop,
 * because somebody else had resumed the guest.
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
	/* Restart the watchdog's time.  If it has stepped in, detaching is its task. */
	if (!us_watchdog_renew(s->watchdog))
		us_watchdog_hold(s->watchdog); /* not held: its owner has paused it */
	bool ours = !us_watchdog_fired(s->watchdog);
	s->client.no_ack |= s->qemu; /* a running QEMU would take an ack for a stop */
	/* Other stubs may have detached without an answer; do not stop them again. */
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
