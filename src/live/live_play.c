/* SPDX-License-Identifier: GPL-2.0-or-later */
/* live_play.c: profiles of what was taken in, as if it were a recording. */
#include "live/live_priv.h"

#include "base/cleanup.h"
#include "store/crc32c.h"
#include "store/format.h"
#include "store/varint.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* What is delivered, and to whom. */
struct play {
	struct us_live *l;
	const struct us_reader_ops *ops;
	void *ctx;
	uint64_t from_ns, to_ns, vcpu_mask;
	const struct us_sample *one; /* only this sample; NULL: those in the times */
	bool from_file;
	bool waits; /* what tasks waited for, not the samples */
};

static int give_node(struct play *p, struct us_live_nodes *t, struct us_live_node *n,
		     us_stack_id parent)
{
	bool host = t == &p->l->host;
	n->asked = p->l->play;
	n->was = ++t->given;
	if (host)
		return p->ops->host_stack
			       ? p->ops->host_stack(p->ctx, n->was, parent, n->pc)
			       : 0;
	return p->ops->stack ? p->ops->stack(p->ctx, n->was, parent, n->pc, n->flags)
			     : 0;
}

/* The number of a stack in this play.  Delivers the stack now if that was not done yet.
 * 0: it is not there any more. */
static int give_stack(struct play *p, struct us_live_nodes *t, us_stack_id id,
		      us_stack_id *ret)
{
	struct us_live_node *path[US_MAX_FRAMES + US_MAX_HOST_FRAMES];
	unsigned depth = 0;
	int rc = 0;
	*ret = 0;
	while (id && depth < sizeof(path) / sizeof(*path)) {
		struct us_live_node *n = (struct us_live_node *)us_live_node(t, id);
		if (!n)
			return 0;
		if (n->asked == p->l->play) {
			*ret = n->was;
			break;
		}
		path[depth++] = n;
		/* A parent's number is lower.  If not, the parent was overwritten. */
		id = n->parent < id ? n->parent : 0;
	}
	while (depth-- && !rc) {
		rc = give_node(p, t, path[depth], *ret);
		*ret = path[depth]->was;
	}
	return rc;
}

static bool is_wanted(const struct play *p, const struct us_sample *s)
{
	if (p->vcpu_mask && (s->vcpu > 63 || !(p->vcpu_mask >> s->vcpu & 1)))
		return false;
	return s->t_ns >= p->from_ns && s->t_ns < p->to_ns;
}

static int give_sample(struct play *p, const struct us_sample *s)
{
	struct us_sample x = *s;
	int rc = give_stack(p, &p->l->guest, s->stack, &x.stack);
	if (!rc)
		rc = give_stack(p, &p->l->host, s->host, &x.host);
	return rc ? rc : p->ops->sample(p->ctx, &x);
}

static int give_facts(struct play *p)
{
	int rc = 0;
	for (size_t i = 0; p->ops->fact && i < p->l->facts.n && !rc; i++)
		rc = p->ops->fact(p->ctx, p->l->facts.v[i].key, p->l->facts.v[i].value);
	return rc;
}

static int give_modules(struct play *p)
{
	int rc = 0;
	for (size_t i = 0; p->ops->module && i < p->l->modules.n && !rc; i++)
		rc = p->ops->module(p->ctx, &p->l->modules.v[i]);
	return rc;
}

static int give_programs(struct play *p)
{
	const struct us_live *l = p->l;
	int rc = 0;
	for (size_t i = 0; p->ops->program_file && i < l->programs.n && !rc; i++)
		rc = p->ops->program_file(p->ctx, &l->programs.v[i]);
	for (size_t i = 0; p->ops->mapping && i < l->mappings.n && !rc; i++)
		rc = p->ops->mapping(p->ctx, &l->mappings.v[i]);
	for (size_t i = 0; p->ops->program_name && i < l->program_names.n && !rc; i++)
		rc = p->ops->program_name(p->ctx, &l->program_names.v[i]);
	return rc;
}

static int give_owners(struct play *p)
{
	const struct us_live *l = p->l;
	int rc = 0;
	for (size_t i = 0; p->ops->process && i < l->processes.n && !rc; i++)
		rc = p->ops->process(p->ctx, &l->processes.v[i]);
	for (size_t i = 0; p->ops->task && i < l->tasks.n && !rc; i++)
		rc = p->ops->task(p->ctx, &l->tasks.v[i]);
	return rc;
}

static int give_samples(struct play *p)
{
	struct us_live *l = p->l;
	int rc = 0;
	l->play++;
	l->guest.given = l->host.given = 0;
	if (p->one)
		return give_sample(p, p->one);
	for (uint64_t i = l->first; i < l->n && !rc; i++)
		if (is_wanted(p, us_live_sample_at(l, i)))
			rc = give_sample(p, us_live_sample_at(l, i));
	return rc;
}

static int give_waits(struct play *p)
{
	struct us_live *l = p->l;
	const struct us_live_waits *w = &l->waits;
	int rc = 0;
	l->play++;
	l->guest.given = l->host.given = 0;
	for (size_t i = 0; i < l->waiters.n && !rc; i++)
		rc = p->ops->waiter(p->ctx, &l->waiters.v[i]);
	for (uint64_t i = w->first; i < w->n && !rc; i++) {
		struct us_wait x = *us_live_wait_at(w, i);
		if (x.t_ns < p->from_ns || x.t_ns >= p->to_ns)
			continue;
		rc = give_stack(p, &l->guest, x.stack, &x.stack);
		if (!rc)
			rc = p->ops->wait(p->ctx, &x);
	}
	return rc;
}

/* Deliver from the file: what it had when it was followed last, and what came since. */
static int give_file(struct play *p, struct us_err *e)
{
	struct us_reader_ops some = { .stack = p->ops->stack,
				      .sample = p->ops->sample,
				      .host_stack = p->ops->host_stack };
	if (p->waits)
		some = (struct us_reader_ops){ .stack = p->ops->stack,
					       .waiter = p->ops->waiter,
					       .wait = p->ops->wait };
	struct us_reader_result r;
	if (lseek(p->l->again_fd, 0, SEEK_SET) < 0)
		return us_fail(e, -errno, "read the recording again: %s",
			       strerror(errno));
	return us_read(p->l->again_fd, &some, p->ctx, &r, e);
}

/* The recording goes on, so it is not reported as cut, or as ended early. */
static int play(void *ctx, const struct us_reader_ops *ops, void *ops_ctx,
		struct us_reader_result *ret, struct us_err *e)
{
	struct play *p = ctx;
	struct us_live *l = p->l;
	p->ops = ops;
	p->ctx = ops_ctx;
	*ret = (struct us_reader_result){ .bytes = l->read.bytes, .ended = true };
	int rc = give_facts(p);
	if (!rc)
		rc = give_modules(p);
	if (!rc)
		rc = give_programs(p);
	if (!rc)
		rc = give_owners(p);
	if (!rc && ops->sample)
		rc = p->from_file ? give_file(p, e)
		     : p->waits	  ? give_waits(p)
				  : give_samples(p);
	if (!rc && ops->wait_stats && us_live_waits_known(l))
		rc = ops->wait_stats(ops_ctx, &l->waits.stats);
	if (!rc && ops->stats && l->has_stats)
		rc = ops->stats(ops_ctx, &l->stats);
	if (!rc && ops->end)
		rc = ops->end(ops_ctx, l->over ? l->end : US_RECORD_DONE,
			      l->words ? l->words : "");
	return rc && e && !e->code
		       ? us_fail(e, rc, "follow the recording: %s", strerror(-rc))
		       : rc;
}

static int make(struct play *p, const struct us_live_view *v, struct us_profile **ret,
		struct us_err *e)
{
	struct us_live *l = p->l;
	struct us_err sink = { 0 };
	struct us_profile_opts o = {
		.vcpu_mask = v->vcpu_mask,
		.from_ns = p->from_ns,
		.to_ns = p->to_ns == UINT64_MAX ? 0 : p->to_ns,
		.focus = v->focus,
		.part = v->part,
		.images = l->opts.images,
		.n_image = l->opts.n_image,
		.dirs = l->opts.dirs,
		.raw_names = l->opts.raw_names,
		.host = l->opts.host && !v->waits,
		.by_vcpu = v->by_vcpu,
		.by_time = v->by_time && !v->waits,
		.no_intervals = v->no_intervals,
		.waits = v->waits,
		.processes = !v->waits && (v->processes || v->if_known),
		.if_known = !v->waits && v->if_known && !v->processes,
		.roots = v->waits ? US_BY_NONE : v->roots,
	};
	int rc = 0;
	if (v->only) {
		memcpy(o.filter, v->only->filter, sizeof(o.filter));
		memcpy(o.pid, v->only->pid, sizeof(o.pid));
		o.n_filter = v->only->n_filter;
		o.n_pid = v->only->n_pid;
	}
	if (l->images_changed) {
		struct us_naming *fresh;
		rc = us_naming_again(l->naming, &fresh, e);
		if (rc)
			return rc;
		us_naming_unref(l->naming);
		l->naming = fresh;
		l->images_changed = false;
	}
	const struct us_profile_source s = { .play = play,
					     .ctx = p,
					     .naming = l->naming };
	return us_profile_make(&s, &o, ret, e ? e : &sink);
}

int us_live_profile(struct us_live *l, const struct us_live_view *v,
		    struct us_profile **ret, struct us_err *e)
{
	struct play p = { .l = l, .vcpu_mask = v->vcpu_mask, .waits = v->waits };
	us_live_times(l, v, &p.from_ns, &p.to_ns);
	p.from_file = v->waits ? l->waits.first > 0 && p.from_ns <= l->waits.dropped_ns
			       : l->first > 0 && p.from_ns <= l->dropped_ns;
	return make(&p, v, ret, e);
}

int us_live_stack(struct us_live *l, unsigned vcpu, struct us_profile **ret,
		  struct us_err *e)
{
	static const struct us_live_view all;
	struct play p = { .l = l, .to_ns = UINT64_MAX };
	if (vcpu >= US_MAX_VCPUS || !l->last[vcpu].weight)
		return us_fail(e, -ENOENT, "no sample of vCPU %u yet", vcpu);
	p.one = &l->last[vcpu];
	return make(&p, &all, ret, e);
}

static int copy_bytes(int from, int to, uint64_t n, struct us_err *e)
{
	char buf[65536];
	uint64_t at = 0;
	while (at < n) {
		size_t want = n - at < sizeof(buf) ? (size_t)(n - at) : sizeof(buf);
		ssize_t got = pread(from, buf, want, (off_t)at);
		if (got <= 0)
			return us_fail(e, got ? -errno : -EIO, "read the recording: %s",
				       got ? strerror(errno) : "it was truncated");
		for (ssize_t done = 0; done < got;) {
			ssize_t x = write(to, buf + done, (size_t)(got - done));
			if (x < 0 && errno != EINTR)
				return us_fail(e, -errno, "write: %s", strerror(errno));
			done += x > 0 ? x : 0;
		}
		at += (uint64_t)got;
	}
	return 0;
}

/* The end chunk of docs/format.md: how it ended, without words. */
static int write_end(int fd, struct us_err *e)
{
	uint8_t chunk[US_CHUNK_HEAD + 2] = { 0 };
	us_put_le32(chunk, US_CHUNK_END);
	us_put_le32(chunk + 4, 2);
	chunk[US_CHUNK_HEAD] = US_RECORD_DONE;
	us_put_le32(chunk + 8,
		    us_crc32c(us_crc32c(0, chunk, 8), chunk + US_CHUNK_HEAD, 2));
	ssize_t n = write(fd, chunk, sizeof(chunk));
	return n == (ssize_t)sizeof(chunk)
		       ? 0
		       : us_fail(e, n < 0 ? -errno : -ENOSPC, "write: %s",
				 strerror(n < 0 ? errno : ENOSPC));
}

int us_live_save(const struct us_live *l, int fd, struct us_err *e)
{
	int rc = copy_bytes(l->again_fd, fd, l->read.bytes, e);
	if (!rc && !l->over)
		rc = write_end(fd, e);
	return rc;
}
