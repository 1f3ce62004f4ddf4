/* SPDX-License-Identifier: GPL-2.0-or-later */
/* writer.c: see store.h and docs/format.md. */
#include "store/crc32c.h"
#include "store/event_chunk.h"
#include "store/format.h"
#include "store/intern.h"
#include "store/program_chunks.h"
#include "store/task_chunks.h"
#include "store/varint.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A chunk being made: its head is filled in when it is sent. */
struct chunk {
	uint8_t head[US_CHUNK_HEAD];
	uint8_t payload[US_CHUNK_WRITE_MAX];
};

/* Stacks, and how many of them were written, named and passed to the seer. */
struct stacks {
	struct us_intern intern;
	uint32_t sent, named, seen; /* of intern.n */
};

/* Functions that have a name. */
struct names {
	uint32_t type; /* of the chunk */
	struct us_namer namer;
	us_gva also[US_STORE_MOST_ALSO]; /* addresses in no stack */
	size_t n_also, also_named;
	struct chunk chunk;
	size_t n; /* bytes in it; 0: none begun */
	us_gva last;
	char module[US_SYMBOL_MODULE_MAX + 1];
};

struct us_writer {
	int fd;
	struct us_err failed; /* the first failed write: nothing is written after it */
	uint64_t bytes, good;
	struct stacks guest, host;
	uint64_t last_time; /* of the sample before, in time units */
	size_t n_samples;   /* bytes in samples.payload */
	/* The samples among these that have a host stack. */
	uint32_t sample_at, last_host_at; /* numbers in the chunk */
	size_t n_host_samples;		  /* bytes in host_samples.payload */
	struct chunk samples, host_samples, other, flags, waits;
	uint64_t last_wait; /* time of the one before, in time units */
	size_t n_waits;	    /* bytes in waits.payload */
	uint32_t n_waiter;
	struct names symbols, host_symbols;
	struct us_program_seer seer;
	struct us_event_packer *packer; /* NULL: no events so far */
};

static int wait_writable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	return poll(&p, 1, -1) < 0 && errno != EINTR ? -errno : 0;
}

static int put_all(struct us_writer *w, const uint8_t *p, size_t len)
{
	while (len) {
		ssize_t n = write(w->fd, p, len);
		if (n < 0 && errno == EAGAIN && !wait_writable(w->fd))
			continue;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		len -= (size_t)n;
		w->bytes += (uint64_t)n;
	}
	w->good = w->bytes;
	return 0;
}

/* Part of a chunk may have been written, so anything written after it would be lost,
 * too: the writer stops for good. */
static int give_up(struct us_writer *w, int code, struct us_err *e)
{
	us_fail(&w->failed, code, "write the recording after %llu bytes: %s",
		(unsigned long long)w->bytes, strerror(-code));
	if (code == -ENOSPC || code == -EDQUOT)
		us_hint(&w->failed, "free some space, or record elsewhere with -o");
	if (e)
		*e = w->failed;
	return code;
}

static int failed_before(const struct us_writer *w, struct us_err *e)
{
	if (w->failed.code && e)
		*e = w->failed;
	return w->failed.code;
}

static int send_chunk(struct us_writer *w, struct chunk *c, uint32_t type, size_t size,
		      struct us_err *e)
{
	us_put_le32(c->head, type);
	us_put_le32(c->head + 4, (uint32_t)size);
	uint32_t sum = us_crc32c(0, c->head, 8);
	us_put_le32(c->head + 8, us_crc32c(sum, c->payload, size));
	int r = put_all(w, c->head, US_CHUNK_HEAD + size);
	return r ? give_up(w, r, e) : 0;
}

int us_writer_open(int fd, struct us_writer **ret, struct us_err *e)
{
	struct us_writer *w = calloc(1, sizeof(*w));
	if (!w || us_intern_init(&w->guest.intern) || us_intern_init(&w->host.intern)) {
		us_writer_close(w);
		return us_fail(e, -ENOMEM, "begin a recording: out of memory");
	}
	w->fd = fd;
	w->symbols.type = US_CHUNK_SYMBOLS;
	w->host_symbols.type = US_CHUNK_HOST_SYMBOLS;
	uint8_t head[US_STORE_HEAD] = US_STORE_MAGIC;
	us_put_le32(head + 8, US_STORE_VERSION);
	us_put_le32(head + 12, 0);
	int r = put_all(w, head, sizeof(head));
	if (r) {
		give_up(w, r, e);
		us_writer_close(w);
		return r;
	}
	*ret = w;
	return 0;
}

void us_writer_close(struct us_writer *w)
{
	if (!w)
		return;
	us_intern_fini(&w->guest.intern);
	us_intern_fini(&w->host.intern);
	us_event_packer_free(w->packer);
	free(w);
}

int us_writer_fact(struct us_writer *w, const char *key, const char *value,
		   struct us_err *e)
{
	if (failed_before(w, e))
		return w->failed.code;
	size_t k = strlen(key) + 1, v = strlen(value) + 1;
	if (k == 1 || k - 1 > US_FACT_KEY_MAX)
		return us_fail(e, -EINVAL, "record the fact \"%.80s\": bad name", key);
	if (v > US_CHUNK_WRITE_MAX - k)
		return us_fail(e, -E2BIG,
			       "record the fact \"%s\": %zu bytes are too long", key,
			       v);
	memcpy(w->other.payload, key, k);
	memcpy(w->other.payload + k, value, v);
	return send_chunk(w, &w->other, US_CHUNK_FACT, k + v, e);
}

bool us_module_same_image(const struct us_module *a, const struct us_module *b)
{
	return a->build_id_len == b->build_id_len && a->code_hash == b->code_hash &&
	       !memcmp(a->build_id, b->build_id, a->build_id_len) &&
	       !strcmp(a->path, b->path);
}

int us_writer_module(struct us_writer *w, const struct us_module *m, struct us_err *e)
{
	if (failed_before(w, e))
		return w->failed.code;
	size_t path = strlen(m->path) + 1;
	if (path > US_STORE_MAX_PATH || m->build_id_len > US_BUILD_ID_MAX ||
	    m->start > m->end || m->match > US_MATCH_NO)
		return us_fail(e, -EINVAL, "record the module \"%.200s\": bad values",
			       m->path);
	uint8_t *p = w->other.payload;
	us_put_le64(p, m->start);
	us_put_le64(p + 8, m->end);
	us_put_le64(p + 16, m->bias);
	p[24] = m->match;
	p[25] = m->build_id_len;
	memcpy(p + 26, m->build_id, m->build_id_len);
	memcpy(p + 26 + m->build_id_len, m->path, path);
	p += 26 + m->build_id_len + path;
	us_put_le32(p, m->number);
	us_put_le64(p + 4, m->root);
	us_put_le64(p + 12, m->from_ns / US_TIME_UNIT_NS);
	us_put_le64(p + 20, m->until_ns / US_TIME_UNIT_NS);
	us_put_le64(p + US_MODULE_TAIL, m->code_hash);
	return send_chunk(w, &w->other, US_CHUNK_MODULE,
			  26 + m->build_id_len + path + US_MODULE_TAIL_HASH, e);
}

int us_writer_process(struct us_writer *w, const struct us_process *s, struct us_err *e)
{
	size_t n = us_pack_process(s, w->other.payload);
	if (failed_before(w, e))
		return w->failed.code;
	return n ? send_chunk(w, &w->other, US_CHUNK_PROCESS, n, e)
		 : us_fail(e, -EINVAL, "record the process %u: bad values", s->pid);
}

int us_writer_task(struct us_writer *w, const struct us_task *t, struct us_err *e)
{
	size_t n = us_pack_task(t, w->other.payload);
	if (failed_before(w, e))
		return w->failed.code;
	return n ? send_chunk(w, &w->other, US_CHUNK_TASK, n, e)
		 : us_fail(e, -EINVAL, "record the thread %u: bad values", t->pid);
}

int us_writer_waiter(struct us_writer *w, const struct us_waiter *s, struct us_err *e)
{
	size_t n = us_pack_waiter(s, w->other.payload);
	if (failed_before(w, e))
		return w->failed.code;
	if (!n || s->number != w->n_waiter + 1)
		return us_fail(e, -EINVAL, "record the task %u: bad values", s->pid);
	w->n_waiter = s->number;
	return send_chunk(w, &w->other, US_CHUNK_WAITER, n, e);
}

int us_writer_program_file(struct us_writer *w, const struct us_program_file *f,
			   struct us_err *e)
{
	size_t n = us_pack_program_file(f, w->other.payload);
	if (failed_before(w, e))
		return w->failed.code;
	return n ? send_chunk(w, &w->other, US_CHUNK_PROGRAM_FILE, n, e)
		 : us_fail(e, -EINVAL, "record the file \"%.200s\": bad values",
			   f->path);
}

int us_writer_mapping(struct us_writer *w, const struct us_mapping *m, struct us_err *e)
{
	size_t n = us_pack_mapping(m, w->other.payload);
	if (failed_before(w, e))
		return w->failed.code;
	return n ? send_chunk(w, &w->other, US_CHUNK_MAPPING, n, e)
		 : us_fail(e, -EINVAL, "record a mapping of %u: bad values", m->pid);
}

static int send_names(struct us_writer *w, uint32_t type, size_t most,
		      const struct us_program_name *v, size_t n, struct us_err *e)
{
	int r = failed_before(w, e) ? w->failed.code : 0;
	for (size_t i = 0; i < n && !r;) {
		size_t size = us_pack_program_names(v, n, &i, most, w->other.payload);
		r = send_chunk(w, &w->other, type, size, e);
	}
	return r;
}

int us_writer_program_names(struct us_writer *w, const struct us_program_name *v,
			    size_t n, struct us_err *e)
{
	return send_names(w, US_CHUNK_PROGRAM_SYMBOLS, US_PROGRAM_NAME_MAX, v, n, e);
}

int us_writer_image_names(struct us_writer *w, const struct us_program_name *v,
			  size_t n, struct us_err *e)
{
	return send_names(w, US_CHUNK_IMAGE_SYMBOLS, US_SYMBOL_NAME_MAX, v, n, e);
}

/* Nodes from *i on, as many as fit, and the flags of those that have some. */
static void encode_nodes(struct us_writer *w, const struct us_intern *in, uint32_t *i,
			 size_t *ret_nodes, size_t *ret_flags)
{
	uint8_t *p = w->other.payload, *f = w->flags.payload;
	const uint8_t *full = p + sizeof(w->other.payload) - US_NODE_MAX;
	const uint8_t *full_flags = f + sizeof(w->flags.payload) - US_FLAG_MAX;
	us_gva last = 0;
	uint32_t last_flagged = *i;
	us_put_le32(p, in->base + *i);
	us_put_le32(f, in->base + *i);
	p += US_STACKS_FIRST;
	f += US_STACKS_FIRST;
	for (; *i <= in->n && p <= full && f <= full_flags; ++*i) {
		uint32_t parent = in->parent[*i];
		p = us_varint_put(p, parent ? *i - parent : 0);
		p = us_varint_put(p, us_zigzag((int64_t)(in->pc[*i] - last)));
		last = in->pc[*i];
		if (in->flags[*i]) {
			f = us_varint_put(f, *i - last_flagged);
			*f++ = in->flags[*i];
			last_flagged = *i;
		}
	}
	*ret_nodes = (size_t)(p - w->other.payload);
	*ret_flags = (size_t)(f - w->flags.payload);
}

static int send_new_nodes(struct us_writer *w, struct stacks *s, uint32_t type,
			  struct us_err *e)
{
	while (s->sent < s->intern.n) {
		uint32_t i = s->sent + 1;
		size_t nodes, flags;
		int r = 0;
		encode_nodes(w, &s->intern, &i, &nodes, &flags);
		if (flags > US_STACKS_FIRST)
			r = send_chunk(w, &w->flags, US_CHUNK_FLAGS, flags, e);
		if (!r)
			r = send_chunk(w, &w->other, type, nodes, e);
		if (r)
			return r;
		s->sent = i - 1;
	}
	return 0;
}

/* ---- Names ---- */

static int send_symbols(struct us_writer *w, struct names *s, struct us_err *e)
{
	size_t n = s->n;
	s->n = 0;
	return n ? send_chunk(w, &s->chunk, s->type, n, e) : 0;
}

static bool may_name(const struct us_named *s)
{
	size_t name = strlen(s->name), module = strlen(s->module);
	return s->size && s->start <= UINT64_MAX - s->size && name &&
	       name <= US_SYMBOL_NAME_MAX && module && module <= US_SYMBOL_MODULE_MAX;
}

static int put_symbol(struct us_writer *w, struct names *to, const struct us_named *s,
		      struct us_err *e)
{
	size_t name = strlen(s->name) + 1;
	size_t room = sizeof(to->chunk.payload) - to->n;
	if (to->n &&
	    (room < 2 * US_VARINT_MAX + name || strcmp(to->module, s->module))) {
		int r = send_symbols(w, to, e);
		if (r)
			return r;
	}
	uint8_t *p = to->chunk.payload + to->n;
	if (!to->n) {
		size_t module = strlen(s->module) + 1;
		memcpy(to->module, s->module, module);
		memcpy(p, s->module, module);
		p += module;
		to->last = 0;
	}
	p = us_varint_put(p, us_zigzag((int64_t)(s->start - to->last)));
	p = us_varint_put(p, s->size);
	memcpy(p, s->name, name);
	to->last = s->start;
	to->n = (size_t)(p + name - to->chunk.payload);
	return 0;
}

static int name_address(struct us_writer *w, struct names *to, us_gva pc,
			struct us_err *e)
{
	struct us_named s;
	if (!to->namer.name(to->namer.ctx, pc, &s) || !may_name(&s))
		return 0;
	return put_symbol(w, to, &s, e);
}

/* For a return address, the function of the call before it counts.  The address may
 * also be the first instruction of another function, so name both: a few extra names do
 * no harm. */
static int name_nodes(struct us_writer *w, struct stacks *s, struct names *to,
		      struct us_err *e)
{
	int r = 0;
	while (to->namer.name && !r && s->named < s->intern.n) {
		us_gva pc = s->intern.pc[++s->named];
		r = name_address(w, to, pc, e);
		if (!r)
			r = name_address(w, to, pc - 1, e);
	}
	while (to->namer.name && !r && to->also_named < to->n_also)
		r = name_address(w, to, to->also[to->also_named++], e);
	return r ? r : send_symbols(w, to, e);
}

void us_writer_name_also(struct us_writer *w, us_gva pc)
{
	if (w->symbols.n_also < US_STORE_MOST_ALSO)
		w->symbols.also[w->symbols.n_also++] = pc;
}

void us_writer_see_programs(struct us_writer *w, const struct us_program_seer *s)
{
	w->seer = *s;
	w->guest.seen = 0;
}

/* The page-table root is outermost, except for the reason why the vCPU left the
 * guest. */
static void see_programs(struct us_writer *w)
{
	const struct us_intern *in = &w->guest.intern;
	while (w->seer.see && w->guest.seen < in->n) {
		uint32_t i = ++w->guest.seen, k = i;
		if (!(in->flags[i] & US_PC_USER))
			continue;
		while (k && !(in->flags[k] & US_PC_SPACE))
			k = in->parent[k];
		if (k)
			w->seer.see(w->seer.ctx, in->pc[k], in->pc[i]);
	}
}

void us_writer_name_by(struct us_writer *w, const struct us_namer *n)
{
	w->symbols.namer = *n;
	w->guest.named = 0;
	w->symbols.also_named = 0;
}

void us_writer_name_host_by(struct us_writer *w, const struct us_namer *n)
{
	w->host_symbols.namer = *n;
	w->host.named = 0;
}

static int send_samples(struct us_writer *w, struct us_err *e)
{
	int r = 0;
	if (w->n_host_samples)
		r = send_chunk(w, &w->host_samples, US_CHUNK_HOST_SAMPLES,
			       w->n_host_samples, e);
	if (!r)
		r = send_chunk(w, &w->samples, US_CHUNK_SAMPLES, w->n_samples, e);
	w->n_samples = w->n_host_samples = 0;
	w->sample_at = w->last_host_at = 0;
	w->last_time = 0;
	return r;
}

static int send_waits(struct us_writer *w, struct us_err *e)
{
	size_t n = w->n_waits;
	w->n_waits = 0;
	w->last_wait = 0;
	return n ? send_chunk(w, &w->waits, US_CHUNK_WAITS, n, e) : 0;
}

int us_writer_flush(struct us_writer *w, struct us_err *e)
{
	if (failed_before(w, e))
		return w->failed.code;
	if (name_nodes(w, &w->guest, &w->symbols, e) ||
	    name_nodes(w, &w->host, &w->host_symbols, e))
		return w->failed.code;
	see_programs(w);
	/* A sample may refer to any node so far, so these go first. */
	int r = send_new_nodes(w, &w->guest, US_CHUNK_STACKS, e);
	if (!r)
		r = send_new_nodes(w, &w->host, US_CHUNK_HOST_STACKS, e);
	if (!r)
		r = send_waits(w, e);
	return r || !w->n_samples ? r : send_samples(w, e);
}

static int intern(struct us_writer *w, struct stacks *s, const us_gva *pc,
		  const uint8_t *flags, size_t n, us_stack_id *ret, struct us_err *e)
{
	int r = us_intern_stack(&s->intern, pc, flags, n, ret);
	if (r == -ENOSPC) {
		r = us_writer_flush(w, e);
		if (r)
			return r;
		us_intern_forget(&s->intern);
		s->sent = s->named = s->seen = 0;
		r = us_intern_stack(&s->intern, pc, flags, n, ret);
	}
	if (r)
		return us_fail(e, r, "record a stack: %s",
			       r == -EOVERFLOW
				       ? "the recording already holds 2^32 stacks"
				       : strerror(-r));
	return 0;
}

static void put_host(struct us_writer *w, us_stack_id host)
{
	uint8_t *p = w->host_samples.payload + w->n_host_samples;
	p = us_varint_put(p, w->sample_at - w->last_host_at);
	p = us_varint_put(p, host);
	w->last_host_at = w->sample_at;
	w->n_host_samples = (size_t)(p - w->host_samples.payload);
}

static void put_sample(struct us_writer *w, const struct us_sample *s, us_stack_id id,
		       us_stack_id host)
{
	bool one = s->weight == 1;
	uint64_t t = s->t_ns / US_TIME_UNIT_NS;
	uint8_t *p = w->samples.payload + w->n_samples;
	p = us_varint_put(p, us_zigzag((int64_t)(t - w->last_time)));
	p = us_varint_put(p, s->end | s->state << US_TAG_END_BITS |
				     (unsigned)s->vcpu << US_TAG_VCPU_SHIFT);
	p = us_varint_put(p, (uint64_t)id << 1 | !one);
	if (!one)
		p = us_varint_put(p, s->weight);
	w->last_time = t;
	w->n_samples = (size_t)(p - w->samples.payload);
	if (host)
		put_host(w, host);
	w->sample_at++;
}

/* How many frames of the stack are the guest's. */
static size_t guest_part(const uint8_t *flags, size_t n)
{
	while (flags && n && flags[n - 1] & US_PC_HOST)
		n--;
	return n;
}

int us_writer_sample(struct us_writer *w, const struct us_sample *s, const us_gva *pc,
		     const uint8_t *flags, size_t n, struct us_err *e)
{
	us_stack_id id, host = 0;
	size_t own = guest_part(flags, n);
	if (failed_before(w, e))
		return w->failed.code;
	if (own > US_MAX_FRAMES || n - own > US_MAX_HOST_FRAMES || s->end >= US_N_END ||
	    s->state >= US_N_VCPU_STATE || s->vcpu >= US_MAX_VCPUS)
		return us_fail(e, -EINVAL, "record a sample: bad values");
	int r = intern(w, &w->guest, pc, flags, own, &id, e);
	if (!r && n > own)
		r = intern(w, &w->host, pc + own, NULL, n - own, &host, e);
	if (r)
		return r;
	put_sample(w, s, id, host);
	if (w->n_samples > sizeof(w->samples.payload) - US_SAMPLE_MAX ||
	    w->n_host_samples > sizeof(w->host_samples.payload) - US_HOST_MAX)
		return us_writer_flush(w, e);
	return 0;
}

static void put_wait(struct us_writer *w, const struct us_wait *s, us_stack_id id)
{
	uint64_t t = s->t_ns / US_TIME_UNIT_NS;
	uint8_t *p = w->waits.payload + w->n_waits;
	p = us_varint_put(p, us_zigzag((int64_t)(t - w->last_wait)));
	p = us_varint_put(p, s->end | s->state << US_TAG_END_BITS);
	p = us_varint_put(p, s->inside);
	p = us_varint_put(p, s->waiter);
	p = us_varint_put(p, id);
	w->last_wait = t;
	w->n_waits = (size_t)(p - w->waits.payload);
}

int us_writer_wait(struct us_writer *w, const struct us_wait *s, const us_gva *pc,
		   const uint8_t *flags, size_t n, struct us_err *e)
{
	us_stack_id id;
	if (failed_before(w, e))
		return w->failed.code;
	if (n > US_MAX_FRAMES || s->inside > n || s->end >= US_N_END ||
	    s->state >= US_N_WAIT_STATE || !s->waiter || s->waiter > w->n_waiter)
		return us_fail(e, -EINVAL, "record a task that waits: bad values");
	int r = intern(w, &w->guest, pc, flags, n, &id, e);
	if (r)
		return r;
	put_wait(w, s, id);
	return w->n_waits > sizeof(w->waits.payload) - US_WAIT_MAX
		       ? us_writer_flush(w, e)
		       : 0;
}

int us_writer_wait_stats(struct us_writer *w, const struct us_wait_stats *s,
			 struct us_err *e)
{
	int r = us_writer_flush(w, e);
	uint64_t field[US_WAIT_STATS_FIELDS];
	memcpy(field, s, sizeof(field));
	for (size_t i = 0; i < US_WAIT_STATS_FIELDS; i++)
		us_put_le64(w->other.payload + 8 * i, field[i]);
	return r ? r : send_chunk(w, &w->other, US_CHUNK_WAIT_STATS, sizeof(field), e);
}

static uint8_t *put_counted(uint8_t *p, uint32_t number, const struct us_counted *c,
			    us_gva last)
{
	p = us_varint_put(p, number - c->parent);
	p = us_varint_put(p, us_zigzag((int64_t)(c->address - last)));
	p = us_varint_put(p, c->calls);
	return us_varint_put(p, c->self);
}

int us_writer_counted(struct us_writer *w, unsigned vcpu, uint32_t first,
		      const struct us_counted *v, size_t n, struct us_err *e)
{
	const uint8_t *full = w->other.payload + sizeof(w->other.payload) -
			      US_COUNTED_MAX;
	int r = us_writer_flush(w, e);
	for (size_t i = 0; i < n && !r;) {
		us_gva last = 0;
		uint8_t *p = us_varint_put(w->other.payload, vcpu);
		p = us_varint_put(p, first + i);
		for (; i < n && p <= full; i++) {
			uint32_t number = first + (uint32_t)i;
			if (vcpu >= US_MAX_VCPUS || v[i].parent >= number)
				return us_fail(e, -EINVAL, "record calls: bad values");
			p = put_counted(p, number, &v[i], last);
			last = v[i].address;
		}
		r = send_chunk(w, &w->other, US_CHUNK_COUNTED,
			       (size_t)(p - w->other.payload), e);
	}
	return r;
}

int us_writer_event_functions(struct us_writer *w, uint32_t first, const us_gva *v,
			      size_t n, struct us_err *e)
{
	const uint8_t *full = w->other.payload + sizeof(w->other.payload) -
			      US_VARINT_MAX;
	int r = us_writer_flush(w, e);
	for (size_t i = 0; i < n && !r;) {
		us_gva last = 0;
		uint8_t *p = us_varint_put(w->other.payload, first + i);
		for (; i < n && p <= full; last = v[i++])
			p = us_varint_put(p, us_zigzag((int64_t)(v[i] - last)));
		r = send_chunk(w, &w->other, US_CHUNK_EVENT_FUNCTIONS,
			       (size_t)(p - w->other.payload), e);
	}
	return r;
}

int us_writer_events(struct us_writer *w, unsigned vcpu, const uint64_t *record,
		     size_t n, struct us_err *e)
{
	int r = us_writer_flush(w, e);
	if (vcpu >= US_MAX_VCPUS)
		return us_fail(e, -EINVAL, "record a trace: bad values");
	if (!r && !w->packer && us_event_packer_new(&w->packer))
		return us_fail(e, -ENOMEM, "record a trace: out of memory");
	for (size_t taken; n && !r; record += taken, n -= taken) {
		size_t size = us_event_pack(w->packer, vcpu, record, n,
					    w->other.payload, &taken);
		r = send_chunk(w, &w->other, US_CHUNK_EVENTS, size, e);
	}
	return r;
}

int us_writer_events_until(struct us_writer *w, uint64_t t_ns, struct us_err *e)
{
	int r = us_writer_flush(w, e);
	us_put_le64(w->other.payload, t_ns);
	return r ? r : send_chunk(w, &w->other, US_CHUNK_EVENTS_UNTIL, 8, e);
}

int us_writer_stats(struct us_writer *w, const struct us_record_stats *s,
		    struct us_err *e)
{
	int r = us_writer_flush(w, e);
	if (r)
		return r;
	uint64_t field[US_STATS_FIELDS];
	memcpy(field, s, sizeof(field));
	for (size_t i = 0; i < US_STATS_FIELDS; i++)
		us_put_le64(w->other.payload + 8 * i, field[i]);
	return send_chunk(w, &w->other, US_CHUNK_STATS, sizeof(field), e);
}

int us_writer_end(struct us_writer *w, const struct us_record_stats *s,
		  enum us_record_end end, const char *words, struct us_err *e)
{
	int r = us_writer_stats(w, s, e);
	if (r)
		return r;
	size_t len = strnlen(words, sizeof(w->other.payload) - 2);
	w->other.payload[0] = (uint8_t)end;
	memcpy(w->other.payload + 1, words, len);
	w->other.payload[1 + len] = '\0';
	return send_chunk(w, &w->other, US_CHUNK_END, len + 2, e);
}

uint64_t us_writer_bytes(const struct us_writer *w)
{
	return w->bytes;
}

uint64_t us_writer_good_bytes(const struct us_writer *w)
{
	return w->good;
}
