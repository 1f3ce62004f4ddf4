/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gdb/session.c: see gdb/session.h. */
#include "backend/gdb/session.h"

#include "backend/gdb/detach.h"
#include "backend/qmp/reply.h"
#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define SAMPLE_NS    (2500 * US_NS_PER_MS)
#define REGAIN_NS    (400 * US_NS_PER_MS)
#define RESUME_NS    (500 * US_NS_PER_MS)
#define MIGRATE_TEXT 4096
#define OFTEN_NS     (50 * US_NS_PER_MS)
#define RARELY_NS    (2 * US_NS_PER_SEC)
#define USUAL_NS     US_NS_PER_MS /* most holds are shorter */
#define RESUME_TRIES 8		  /* at least */
#define MOST_OUTPUT  64		  /* packets, in one stop */
#define LEAST_NAP_NS (10 * US_NS_PER_US)
#define MOST_NAP_NS  (500 * US_NS_PER_US)

static const char watchdog_why[] = "the watchdog had to resume the guest";

static int lost(struct us_gdb_session *s, int code, const char *why)
{
	s->client.why = why;
	return code;
}

/* Its owner (a monitor's cont) let the guest go while we held it. */
static int resumed_by_other(struct us_gdb_session *s)
{
	return lost(s, -EAGAIN, "somebody else resumed the guest");
}

/* A reply where a stop reply may come first. 1: it is one; 0: it is not. */
static int get_or_stop(struct us_gdb_session *s, uint64_t deadline_ns)
{
	struct us_gdb *g = &s->client;
	int r = us_gdb_get(g, deadline_ns);
	if (r < 0)
		return r;
	switch (us_gdb_stop_kind(g->parser.body, g->parser.len)) {
	case US_GDB_GONE:
		return lost(s, -ESRCH, "the guest has exited");
	case US_GDB_STOPPED:
		return 1;
	default:
		return 0;
	}
}

/* What came while we were away: a stop that we did not ask for is not ours to end. */
static int drain(struct us_gdb_session *s)
{
	for (;;) {
		int r = get_or_stop(s, 0);
		if (r == -ETIMEDOUT)
			return 0;
		if (r < 0)
			return r;
		if (r == 1 && s->run == US_GDB_RUNS)
			us_gdb_set_run(s, US_GDB_PAUSED);
	}
}

int us_gdb_session_sleep(struct us_gdb_session *s, uint64_t t_ns)
{
	for (;;) {
		int r = drain(s);
		uint64_t now = us_now_ns();
		if (r < 0 || now >= t_ns)
			return r;
		uint64_t left = t_ns - now;
		struct timespec t = { .tv_sec = (time_t)(left / US_NS_PER_SEC),
				      .tv_nsec = (long)(left % US_NS_PER_SEC) };
		struct pollfd p = { .fd = s->client.fd, .events = POLLIN };
		if (ppoll(&p, 1, &t, NULL) < 0)
			return -errno;
	}
}

/* What is asked of each vCPU at each sample.  QEMU does not answer EXTRA for a vCPU
 * that was unplugged: the answer to a later request, which there always is, shows that.
 */
enum request {
	SELECT,
	EXTRA,
	REGISTERS,
	APART,
	ENTRY = APART + US_GDB_ENTRY - US_GDB_APART, /* not at each sample */
	N_REQUEST = ENTRY,
};

static bool applies(const struct us_gdb_session *s, enum request what, unsigned vcpu)
{
	switch (what) {
	case SELECT:
		return s->n_vcpu > 1 && s->thread[vcpu][0];
	case EXTRA:
		return s->extra && s->thread[vcpu][0];
	case REGISTERS:
		return true;
	default:
		return s->layout.reg[US_GDB_APART + what - APART].size;
	}
}

static int put_request(struct us_gdb_session *s, enum request what, unsigned vcpu)
{
	static const char *const verb[] = { "Hg", "qThreadExtraInfo,", "g" };
	char text[48];
	if (what >= APART) {
		snprintf(text, sizeof(text), "p%x",
			 s->layout.reg[US_GDB_APART + what - APART].at);
		return us_gdb_put(&s->client, text);
	}
	char *end = stpcpy(text, verb[what]);
	if (what != REGISTERS)
		stpcpy(end, s->thread[vcpu]);
	if (what == SELECT)
		s->selected = vcpu;
	return us_gdb_put(&s->client, text);
}

static void take_registers(struct us_gdb_session *s, unsigned vcpu,
			   struct us_gdb_sample *ret)
{
	const struct us_gdb *g = &s->client;
	struct us_regs *regs = &ret->regs[vcpu];
	uint8_t *state = &ret->state[vcpu];
	ret->apart.got = 0;
	if (*state == US_GDB_UNPLUGGED) { /* they are another's */
		memset(regs, 0, sizeof(*regs));
		memset(&ret->code[vcpu], 0, sizeof(ret->code[vcpu]));
		ret->refused &= ~(1ull << vcpu);
	} else if (us_gdb_decode(&s->layout, g->parser.body, g->parser.len, regs,
				 &ret->code[vcpu]))
		ret->refused |= 1ull << vcpu;
	else if (us_x86_at_reset(regs) ||
		 (*state == US_GDB_HALTED && us_aarch64_is_off(regs)))
		*state = US_GDB_OFF;
}

static void take_reply(struct us_gdb_session *s, enum request what, unsigned vcpu,
		       struct us_gdb_sample *ret)
{
	const struct us_gdb *g = &s->client;
	struct us_regs *regs = &ret->regs[vcpu];
	switch (what) {
	case SELECT:
		ret->refused |= (uint64_t)!us_gdb_said(g, "OK") << vcpu;
		break;
	case EXTRA:
		/* "halted" in hexadecimal: QEMU says "CPU#1 [halted ]". */
		if (strstr(g->parser.body, "68616c746564"))
			ret->state[vcpu] = US_GDB_HALTED;
		break;
	case REGISTERS:
		take_registers(s, vcpu, ret);
		break;
	default:
		if (ret->state[vcpu] == US_GDB_UNPLUGGED)
			break;
		us_gdb_decode_apart(&s->layout, what - APART, g->parser.body,
				    g->parser.len, &ret->apart);
		us_gdb_set_space(&s->layout, &ret->apart, &ret->code[vcpu], regs);
	}
}

/* after: how many packets were sent behind this one, and not in turn. */
static int take_answer(struct us_gdb_session *s, enum request what, unsigned vcpu,
		       unsigned after, uint64_t deadline_ns, struct us_gdb_sample *ret)
{
	int r = get_or_stop(s, deadline_ns);
	if (r == 1)
		return resumed_by_other(s);
	if (r < 0)
		return r;
	if (what != EXTRA || !us_gdb_answers_later(&s->client, after))
		take_reply(s, what, vcpu, ret);
	else if (ret->refused >> vcpu & 1) /* nor can it be selected */
		ret->state[vcpu] = US_GDB_UNPLUGGED;
	else
		ret->refused |= 1ull << vcpu;
	return 0;
}

/* Ask, or take the answers, or both in turn: one exchange after the other. */
static int exchange(struct us_gdb_session *s, uint64_t mask, bool put, bool take,
		    uint64_t deadline_ns, struct us_gdb_sample *ret)
{
	unsigned after = put ? 0 : s->client.out_packets;
	for (unsigned k = 0; k < s->n_vcpu * N_REQUEST; k++) {
		unsigned vcpu = k / N_REQUEST;
		enum request what = k % N_REQUEST;
		if (!(mask >> vcpu & 1) || !applies(s, what, vcpu))
			continue;
		int r = put ? put_request(s, what, vcpu) : 0;
		if (r == 0 && put && take)
			r = us_gdb_flush(&s->client, deadline_ns);
		after -= after > 0;
		if (r == 0 && take)
			r = take_answer(s, what, vcpu, after, deadline_ns, ret);
		if (r < 0)
			return r;
	}
	return 0;
}

/* What tells what an exception broke off. */
static int ask_entry(struct us_gdb_session *s, unsigned vcpu, uint64_t deadline_ns,
		     struct us_gdb_sample *ret)
{
	enum request what[1 + US_GDB_N_ENTRY];
	unsigned n = 0;
	memset(&ret->apart, 0, sizeof(ret->apart)); /* it is the last vCPU's */
	if (applies(s, SELECT, vcpu))
		what[n++] = SELECT;
	uint64_t needs = us_gdb_entry_needs(&s->layout, &ret->regs[vcpu]) |
			 us_gdb_entry_also(&s->layout);
	for (unsigned k = ENTRY; k < ENTRY + US_GDB_N_ENTRY; k++)
		if ((needs >> (k - APART) & 1) && applies(s, k, vcpu))
			what[n++] = k;
	int r = 0;
	for (unsigned i = 0; r == 0 && i < n; i++)
		r = put_request(s, what[i], vcpu);
	if (r == 0)
		r = us_gdb_flush(&s->client, deadline_ns);
	for (unsigned i = 0; r == 0 && i < n; i++) {
		r = get_or_stop(s, deadline_ns);
		if (r == 1)
			return resumed_by_other(s);
		if (r == 0)
			take_reply(s, what[i], vcpu, ret);
	}
	return r;
}

/* Of a vCPU that may be where an exception enters: what it was at before. */
static int ask_entered(struct us_gdb_session *s, unsigned vcpu, uint64_t deadline_ns,
		       struct us_gdb_sample *ret)
{
	int r = ask_entry(s, vcpu, deadline_ns, ret);
	if (r != 0)
		return r;
	us_gdb_set_entered(&s->layout, &ret->apart, &ret->regs[vcpu]);
	us_gdb_learn_entry(&s->layout, &ret->regs[vcpu]);
	return 0;
}

static int ask_all_entered(struct us_gdb_session *s, uint64_t mask,
			   uint64_t deadline_ns, struct us_gdb_sample *ret)
{
	int r = 0;
	for (unsigned k = 0; r == 0 && s->qemu && k < s->n_vcpu; k++)
		if (mask >> k & 1 && ret->state[k] == US_GDB_RUNNING &&
		    us_gdb_may_be_entering(&s->layout, &ret->regs[k]))
			r = ask_entered(s, k, deadline_ns, ret);
	return r;
}

static bool is_output(const struct us_gdb *g)
{
	return g->parser.len && g->parser.body[0] == 'O' && !us_gdb_said(g, "OK");
}

/*
 * The reply to the stop.  QEMU gives none if the guest stands already: then its owner
 * has paused it; or the owner has let a paused guest go, and now it is us who stopped
 * it.
 */
static int take_stop(struct us_gdb_session *s, uint64_t deadline_ns)
{
	unsigned n = 0;
	if (!s->qemu && s->run == US_GDB_PAUSED)
		return 0;
	int r = get_or_stop(s, deadline_ns);
	/* What the target prints may come before. */
	while (r == 0 && !s->qemu && is_output(&s->client) && n++ < MOST_OUTPUT)
		r = get_or_stop(s, deadline_ns);
	if (r < 0)
		return r;
	if (r == 0 && !s->qemu)
		return lost(s, -EPROTO, "it answers a stop with something else");
	s->client.pending = r == 0;
	us_gdb_set_run(s, r == 1 ? US_GDB_HELD : US_GDB_PAUSED);
	return 0;
}

/*
 * QEMU sends each acknowledgement and each reply by itself, and each would wake us up,
 * who are let run before it: three vCPUs' 17 took 0.28 ms so.  So sleep for as long as
 * they take, by what the last ones took.
 */
static void nap(struct us_gdb_session *s)
{
	struct timespec t = { .tv_nsec = (long)s->nap_ns };
	if (s->qemu && s->nap_ns >= LEAST_NAP_NS)
		clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
	s->client.waits = 0;
}

static void learn_nap(struct us_gdb_session *s)
{
	uint64_t ns = s->nap_ns;
	ns = s->client.waits ? ns + ns / 8 + LEAST_NAP_NS / 4 : ns - ns / 32;
	s->nap_ns = ns < MOST_NAP_NS ? ns : MOST_NAP_NS;
}

/* If it is not known, migrations are asked for often. */
static bool threads_changed(struct us_gdb_session *s)
{
	return s->threads.tasks && us_vmm_threads_changed(&s->threads);
}

/*
 * A guest that stands as its migration ends would stay paused where it goes, and QEMU
 * aborts if it is let go just then.  So while one goes on the guest is not stopped.  It
 * has a thread of its own: whether there is one, or it is over, is asked when there are
 * other threads than before; and now and then.
 */
static bool may_stop(struct us_gdb_session *s, uint64_t now)
{
	/* A guest that migrates is stopped for it. */
	uint64_t soon = s->migrates ? now + OFTEN_NS : 0;
	if (threads_changed(s) && s->ask_migrate_ns != UINT64_MAX &&
	    soon < s->ask_migrate_ns)
		s->ask_migrate_ns = soon;
	return !s->migrates || now >= s->ask_migrate_ns;
}

static int ask_migrates(struct us_gdb_session *s, struct us_gdb_sample *ret)
{
	char text[MIGRATE_TEXT];
	uint64_t now = ret->asked_ns;
	if (!s->qemu || s->run != US_GDB_HELD || now < s->ask_migrate_ns)
		return 0;
	int r = us_gdb_ask_monitor(&s->client, "info migrate", text, sizeof(text),
				   now + SAMPLE_NS);
	s->migrates = r == 0 && us_qmp_migrates(text, strlen(text));
	bool rarely = s->migrates || s->threads.tasks;
	s->ask_migrate_ns = r == -ENOTSUP ? UINT64_MAX
			    : rarely	  ? now + RARELY_NS
					  : now + OFTEN_NS;
	if (s->migrates)
		ret->refused = UINT64_MAX;
	return r == -ENOTSUP ? 0 : r;
}

/* Has a migration come to its end while we held it? Then it is not ours any more. */
static int ask_migrated(struct us_gdb_session *s)
{
	char text[128];
	if (!s->qemu || s->ask_migrate_ns == UINT64_MAX ||
	    (!s->migrates && us_now_ns() - s->asked_ns < USUAL_NS))
		return 0;
	if (!s->migrates && !threads_changed(s))
		return 0;
	s->ask_migrate_ns = s->migrates ? s->ask_migrate_ns : 0;
	int r = us_gdb_ask_monitor(&s->client, "info status", text, sizeof(text),
				   us_now_ns() + SAMPLE_NS);
	if (r == 0 && strstr(text, "migrate")) {
		us_gdb_set_run(s, US_GDB_PAUSED);
		us_watchdog_release(s->watchdog);
	}
	return r == -ENOTSUP || r == -EAGAIN ? 0 : r;
}

static int stop_and_read(struct us_gdb_session *s, uint64_t mask,
			 struct us_gdb_sample *ret)
{
	uint64_t deadline_ns = ret->asked_ns + SAMPLE_NS;
	us_gdb_put_break(&s->client);
	int r = s->qemu ? exchange(s, mask, true, false, deadline_ns, ret) : 0;
	if (r == 0)
		r = us_gdb_flush(&s->client, deadline_ns);
	if (r == 0)
		r = take_stop(s, deadline_ns);
	ret->t_ns = us_now_ns();
	if (r == 0) {
		nap(s);
		r = exchange(s, mask, !s->qemu, true, deadline_ns, ret);
		learn_nap(s);
	}
	if (r == 0)
		r = us_gdb_codes_settle(&s->codes, &s->client, mask & ~ret->refused,
					ret->code, ret->regs, deadline_ns);
	if (r == 0)
		r = ask_all_entered(s, mask & ~ret->refused, deadline_ns, ret);
	if (r == 0)
		r = ask_migrates(s, ret);
	return r;
}

/* QEMU has taken a question of ours for a request to stop: the guest stands again, by
 * us.  What it was asked of before is of no use. */
static int regain(struct us_gdb_session *s, struct us_gdb_sample *ret)
{
	bool stopped;
	if (!s->qemu || !us_gdb_halt_qemu(&s->client, REGAIN_NS, &stopped))
		return lost(s, -EPROTO, "somebody else resumed the guest");
	us_gdb_set_run(s, US_GDB_HELD);
	ret->refused = UINT64_MAX;
	return 0;
}

int us_gdb_session_sample(struct us_gdb_session *s, uint64_t mask,
			  struct us_gdb_sample *ret)
{
	int r = s->detached ? -ECONNRESET : drain(s);
	ret->asked_ns = ret->t_ns = us_now_ns();
	ret->got = 0;
	if (r < 0 || !may_stop(s, ret->asked_ns))
		return r;
	if (!us_watchdog_hold(s->watchdog))
		return lost(s, -ECONNRESET, watchdog_why);
	ret->asked_ns = s->asked_ns = us_now_ns();
	ret->refused = 0;
	memset(ret->state, US_GDB_RUNNING, sizeof(ret->state));
	s->ran_on = false;
	if (s->n_vcpu < 64)
		mask &= (1ull << s->n_vcpu) - 1;
	r = stop_and_read(s, mask, ret);
	if (r == -EAGAIN)
		r = regain(s, ret);
	ret->got = mask & ~ret->refused;
	if (r < 0) {
		const char *why = us_watchdog_fired(s->watchdog) ? watchdog_why
								 : s->client.why;
		if (r == -ETIMEDOUT && s->qemu)
			us_gdb_session_leave(s);
		else
			us_gdb_session_let_go(s);
		s->client.why = why;
	}
	/* A paused guest is held as well: its owner may let it go, and what reads its
	 * memory then would stop it. */
	if (r < 0)
		us_watchdog_release(s->watchdog);
	return r;
}

/*
 * Somebody else (a monitor's cont) has let the guest go while we held it: QEMU then
 * takes the first byte of our command for a request to stop it, drops the rest, and
 * says that it has stopped instead of acknowledging.  That stop is ours.
 */
static bool was_taken_for_stop(struct us_gdb_session *s)
{
	struct us_gdb *g = &s->client;
	if (!s->qemu || g->no_ack || !g->pending || !g->sent ||
	    us_gdb_stop_kind(g->parser.body, g->parser.len) != US_GDB_STOPPED)
		return false;
	g->pending = false;
	return true;
}

/* An owner that does so all the time may be faster than we are many times in a row, on
 * a busy host. */
static int tell_resume(struct us_gdb_session *s)
{
	uint64_t deadline_ns = us_now_ns() + RESUME_NS;
	for (unsigned i = 0; i < RESUME_TRIES || us_now_ns() < deadline_ns; i++) {
		int r = us_gdb_put(&s->client, s->resume);
		if (r == 0)
			r = us_gdb_flush(&s->client, us_now_ns() + SAMPLE_NS);
		if (r == 0)
			r = us_gdb_wait_ack(&s->client);
		if (r < 0 || !was_taken_for_stop(s))
			return r;
	}
	return lost(s, -EPROTO, "somebody else resumed the guest, again and again");
}

static int keep_paused(struct us_gdb_session *s)
{
	us_watchdog_release(s->watchdog); /* if it was held: not for a migration */
	return us_watchdog_fired(s->watchdog)
		       ? lost(s, -ECONNRESET, "uniscope was held up for too long")
		       : 0;
}

int us_gdb_session_resume(struct us_gdb_session *s)
{
	if (s->run == US_GDB_PAUSED)
		return keep_paused(s);
	/* One byte to a guest that it has let go, as we were held up for longer than
	 * its time, would stop that again, and nobody would let it go. */
	if (s->run == US_GDB_HELD && !us_watchdog_renew(s->watchdog))
		return lost(s, -ECONNRESET, watchdog_why);
	int r = s->run == US_GDB_HELD ? ask_migrated(s) : 0;
	if (r == 0 && s->run == US_GDB_HELD)
		r = tell_resume(s);
	/* It reads what comes on this connection, too: then nothing seems to come. */
	if (r == -ETIMEDOUT && us_watchdog_fired(s->watchdog))
		return lost(s, -ECONNRESET, watchdog_why);
	if (r < 0 || s->run != US_GDB_HELD)
		return r;
	s->run = US_GDB_RUNS;
	if (!us_watchdog_release(s->watchdog))
		return lost(s, -ECONNRESET, watchdog_why);
	return 0;
}

/*
 * Send the question that was put, get its answer.  Its owner may have let a paused
 * guest go: QEMU then takes the question's first byte for a request to stop, and that
 * stop is ours to end.
 */
static bool get_answer(struct us_gdb_session *s)
{
	uint64_t deadline_ns = us_now_ns() + SAMPLE_NS;
	int r = us_gdb_flush(&s->client, deadline_ns);
	if (r == 0)
		r = get_or_stop(s, deadline_ns);
	if (r == 1) {
		us_gdb_set_run(s, US_GDB_HELD);
		s->ran_on = true;
	}
	return r == 0;
}

static bool select_vcpu(struct us_gdb_session *s, unsigned vcpu)
{
	if (s->selected == vcpu || !applies(s, SELECT, vcpu))
		return true;
	if (put_request(s, SELECT, vcpu) == 0 && get_answer(s) &&
	    us_gdb_said(&s->client, "OK"))
		return true;
	s->selected = US_MAX_VCPUS;
	return false;
}

static bool read_some(struct us_gdb_session *s, us_gva va, uint8_t *buf, size_t len)
{
	struct us_gdb *g = &s->client;
	char text[48];
	snprintf(text, sizeof(text), "m%llx,%zx", (unsigned long long)va, len);
	if (us_gdb_put(g, text) || !get_answer(s) || g->parser.len != len * 2)
		return false;
	for (size_t i = 0; i < len; i++) {
		int high = us_gdb_hex(g->parser.body[i * 2]);
		int low = us_gdb_hex(g->parser.body[i * 2 + 1]);
		if (high < 0 || low < 0)
			return false;
		buf[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

static bool may_be_asked(const struct us_gdb_session *s, unsigned vcpu)
{
	return s->run != US_GDB_RUNS && !s->detached && !s->ran_on &&
	       vcpu < s->n_vcpu && !us_watchdog_fired(s->watchdog);
}

bool us_gdb_session_read(struct us_gdb_session *s, unsigned vcpu, us_gva va, void *buf,
			 size_t len)
{
	if (!may_be_asked(s, vcpu))
		return false;
	if (!select_vcpu(s, vcpu))
		return false;
	uint8_t *to = buf;
	for (size_t n; len; va += n, to += n, len -= n) {
		n = len < s->packet_size / 4 ? len : s->packet_size / 4;
		if (!read_some(s, va, to, n))
			return false;
	}
	return true;
}

/* Of one reply to a request for the list of vCPUs. */
static unsigned count_ids(const struct us_gdb *g)
{
	unsigned n = 1;
	for (size_t i = 1; i < g->parser.len; i++)
		n += g->parser.body[i] == ',';
	return n;
}

unsigned us_gdb_session_late(struct us_gdb_session *s)
{
	unsigned had = s->n_vcpu + s->n_over, n = 0;
	const char *what = "qfThreadInfo";
	if (!may_be_asked(s, 0))
		return 0;
	for (unsigned i = 0; i < US_GDB_MAX_LISTS; i++) {
		if (us_gdb_put(&s->client, what) || !get_answer(s))
			return 0;
		if (s->client.parser.body[0] != 'm')
			return n > had ? n - had : 0;
		n += count_ids(&s->client);
		what = "qsThreadInfo";
	}
	return 0;
}

bool us_gdb_session_left(struct us_gdb_session *s, unsigned vcpu,
			 struct us_gdb_sample *sample, struct us_entered *ret)
{
	if (!s->qemu || !may_be_asked(s, vcpu))
		return false;
	int r = ask_entry(s, vcpu, us_now_ns() + SAMPLE_NS, sample);
	s->ran_on |= r == -EAGAIN;
	if (r == -EAGAIN && regain(s, sample) < 0)
		us_gdb_session_let_go(s);
	return r == 0 &&
	       us_gdb_get_left(&s->layout, &sample->apart, &sample->regs[vcpu], ret);
}
