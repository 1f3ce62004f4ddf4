/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reader.c: what the chunks of a recording say; see store.h and docs/format.md. */
#include "store/format.h"
#include "store/reader_priv.h"
#include "store/varint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- Chunks: each payload has the right checksum, but may still be invalid ---- */

int us_reader_bad(struct reader *r, const char *what)
{
	char name[5];
	us_put_le32((uint8_t *)name, r->type);
	name[4] = '\0';
	return us_fail(r->e, -EBADMSG, "read a recording: %s chunk at byte %llu: %s",
		       name, (unsigned long long)r->offset, what);
}

/* The string at p, or NULL if it does not end before end. */
static const char *string(const uint8_t *p, const uint8_t *end)
{
	return p < end && memchr(p, '\0', (size_t)(end - p)) ? (const char *)p : NULL;
}

static int fact(struct reader *r, const uint8_t *p, const uint8_t *end)
{
	const char *key = string(p, end);
	if (!key || !*key || strlen(key) > US_FACT_KEY_MAX)
		return us_reader_bad(r, "a fact without a valid name");
	const char *value = string(p + strlen(key) + 1, end);
	if (!value)
		return us_reader_bad(r, "a fact without a value");
	return r->ops->fact ? r->ops->fact(r->ctx, key, value) : 0;
}

/* The fields after the path; the oldest recordings have none. */
static void module_tail(const uint8_t *p, const uint8_t *end, struct us_module *m)
{
	if (end - p < (int)US_MODULE_TAIL)
		return;
	uint64_t from = us_get_le64(p + 12), until = us_get_le64(p + 20);
	m->number = us_get_le32(p);
	m->root = us_get_le64(p + 4);
	m->from_ns = from > UINT64_MAX / US_TIME_UNIT_NS ? UINT64_MAX
							 : from * US_TIME_UNIT_NS;
	m->until_ns = until > UINT64_MAX / US_TIME_UNIT_NS ? 0
							   : until * US_TIME_UNIT_NS;
	if (end - p >= (int)US_MODULE_TAIL_HASH)
		m->code_hash = us_get_le64(p + US_MODULE_TAIL);
}

static int module(struct reader *r, const uint8_t *p, const uint8_t *end)
{
	struct us_module m = { 0 };
	if (end - p < 26 || p[25] > US_BUILD_ID_MAX || end - p < 26 + p[25])
		return us_reader_bad(r, "too short for its fields");
	m.start = us_get_le64(p);
	m.end = us_get_le64(p + 8);
	m.bias = us_get_le64(p + 16);
	m.match = p[24];
	m.build_id_len = p[25];
	memcpy(m.build_id, p + 26, m.build_id_len);
	m.path = string(p + 26 + m.build_id_len, end);
	if (!m.path || strlen(m.path) >= US_STORE_MAX_PATH)
		return us_reader_bad(r, "a module without a valid path");
	if (m.start > m.end || m.match > US_MATCH_NO)
		return us_reader_bad(r, "a module with impossible values");
	module_tail((const uint8_t *)m.path + strlen(m.path) + 1, end, &m);
	return r->ops->module ? r->ops->module(r->ctx, &m) : 0;
}

static uint64_t time_of(const uint8_t *p)
{
	uint64_t t = us_get_le64(p);
	return t > UINT64_MAX / US_TIME_UNIT_NS ? UINT64_MAX : t * US_TIME_UNIT_NS;
}

static int process(struct reader *r, const uint8_t *p, const uint8_t *end)
{
	if (end - p <= (int)US_PROCESS_HEAD)
		return us_reader_bad(r, "a process without a name");
	const struct us_process s = { .root = us_get_le64(p),
				      .from_ns = time_of(p + 8),
				      .until_ns = time_of(p + 16),
				      .pid = us_get_le32(p + 24),
				      .pair = p[28] & 1,
				      .name = string(p + US_PROCESS_HEAD, end) };
	if (!s.name || strlen(s.name) > US_PROCESS_NAME_MAX)
		return us_reader_bad(r, "a process without a valid name");
	if (s.until_ns && s.until_ns < s.from_ns)
		return us_reader_bad(r, "a process that ended before it began");
	return r->ops->process ? r->ops->process(r->ctx, &s) : 0;
}

static int task(struct reader *r, const uint8_t *p, const uint8_t *end)
{
	if (end - p <= (int)US_TASK_HEAD)
		return us_reader_bad(r, "a thread without a name");
	struct us_task t = { .id = us_get_le64(p),
			     .stack = us_get_le64(p + 8),
			     .from_ns = time_of(p + 16),
			     .until_ns = time_of(p + 24),
			     .started_ns = us_get_le64(p + 32),
			     .stack_size = us_get_le32(p + 40),
			     .pid = us_get_le32(p + 44),
			     .tgid = us_get_le32(p + 48),
			     .inner = us_get_le32(p + 52),
			     .kernel_thread = p[56] & US_TASK_KERNEL };
	const char **const text[] = { &t.name, &t.process, &t.cgroup };
	static const size_t most[] = { US_PROCESS_NAME_MAX, US_PROCESS_NAME_MAX,
				       US_TASK_CGROUP_MAX };
	p += US_TASK_HEAD;
	for (size_t k = 0; k < sizeof(text) / sizeof(*text); k++) {
		*text[k] = string(p, end);
		if (!*text[k] || strlen(*text[k]) > most[k])
			return us_reader_bad(r, "a thread without a valid name");
		p += strlen(*text[k]) + 1;
	}
	if ((t.until_ns && t.until_ns < t.from_ns) ||
	    t.stack > UINT64_MAX - t.stack_size)
		return us_reader_bad(r, "a thread with an impossible time or stack");
	return r->ops->task ? r->ops->task(r->ctx, &t) : 0;
}

static int waiter(struct reader *r, const uint8_t *p, const uint8_t *end)
{
	if (end - p <= (int)US_WAITER_HEAD)
		return us_reader_bad(r, "a task without a name");
	struct us_waiter s = { .number = us_get_le32(p),
			       .pid = us_get_le32(p + 4),
			       .process = us_get_le32(p + 8),
			       .kernel_thread = p[12] & 1,
			       .name = string(p + US_WAITER_HEAD, end) };
	if (s.name)
		s.process_name = string((const uint8_t *)s.name + strlen(s.name) + 1,
					end);
	if (!s.process_name || strlen(s.name) > US_PROCESS_NAME_MAX ||
	    strlen(s.process_name) > US_PROCESS_NAME_MAX)
		return us_reader_bad(r, "a task without valid names");
	if (r->n_waiter == UINT32_MAX || s.number != r->n_waiter + 1)
		return us_reader_bad(
			r, "does not continue where the tasks before it ended");
	r->n_waiter++;
	return r->ops->waiter ? r->ops->waiter(r->ctx, &s) : 0;
}

static int program_file(struct reader *r, const uint8_t *p, const uint8_t *end)
{
	struct us_program_file f = { 0 };
	if (end - p < 6 || p[5] > US_BUILD_ID_MAX || end - p < 6 + p[5])
		return us_reader_bad(r, "too short for its fields");
	f.number = us_get_le32(p);
	f.kind = p[4];
	f.build_id_len = p[5];
	memcpy(f.build_id, p + 6, f.build_id_len);
	f.path = string(p + 6 + f.build_id_len, end);
	if (!f.path || strlen(f.path) >= US_STORE_MAX_PATH)
		return us_reader_bad(r, "a file without a valid path");
	const uint8_t *more = (const uint8_t *)f.path + strlen(f.path) + 1;
	f.deleted = more < end && *more & 1;
	if (!f.number || f.kind >= US_N_PROGRAM_KIND)
		return us_reader_bad(r, "a file with impossible values");
	return r->ops->program_file ? r->ops->program_file(r->ctx, &f) : 0;
}

static int mapping(struct reader *r, const uint8_t *p, const uint8_t *end)
{
	if (end - p < (int)US_MAPPING_SIZE)
		return us_reader_bad(r, "too short for a mapping");
	const struct us_mapping m = { .file = us_get_le32(p),
				      .pid = us_get_le32(p + 4),
				      .root = us_get_le64(p + 8),
				      .start = us_get_le64(p + 16),
				      .end = us_get_le64(p + 24),
				      .offset = us_get_le64(p + 32),
				      .bias = us_get_le64(p + 40),
				      .from_ns = time_of(p + 48),
				      .until_ns = time_of(p + 56),
				      .pair = p[US_MAPPING_SIZE - 1] & 1,
				      .has_bias = p[US_MAPPING_SIZE - 1] & 2 };
	if (!m.file || m.start >= m.end || (m.until_ns && m.until_ns < m.from_ns))
		return us_reader_bad(r, "a mapping with impossible values");
	return r->ops->mapping ? r->ops->mapping(r->ctx, &m) : 0;
}

typedef int us_on_program_name(void *ctx, const struct us_program_name *n);

static int program_names(struct reader *r, const uint8_t *p, const uint8_t *end,
			 size_t most, us_on_program_name *tell)
{
	struct us_program_name n = { 0 };
	uint64_t file, delta;
	p = us_varint_get(p, end, &file);
	if (!p || !file || file > UINT32_MAX)
		return us_reader_bad(r, "names without a file");
	n.file = (uint32_t)file;
	while (p < end) {
		p = us_varint_get(p, end, &delta);
		p = us_varint_get(p, end, &n.size);
		n.name = p ? string(p, end) : NULL;
		n.address += (uint64_t)us_unzigzag(delta);
		if (!n.name || !*n.name || strlen(n.name) > most)
			return us_reader_bad(r, "a function with an impossible name");
		p += strlen(n.name) + 1;
		int rc = tell ? tell(r->ctx, &n) : 0;
		if (rc)
			return rc;
	}
	return 0;
}

static int symbols(struct reader *r, const uint8_t *p, const uint8_t *end,
		   int (*named)(void *ctx, const struct us_named *n))
{
	struct us_named s = { .module = string(p, end) };
	if (!s.module || !*s.module || strlen(s.module) > US_SYMBOL_MODULE_MAX)
		return us_reader_bad(r, "names without a valid module");
	for (p += strlen(s.module) + 1; p < end;) {
		uint64_t delta;
		p = us_varint_get(p, end, &delta);
		p = us_varint_get(p, end, &s.size);
		s.name = p ? string(p, end) : NULL;
		s.start += (uint64_t)us_unzigzag(delta);
		if (!s.name || !*s.name || strlen(s.name) > US_SYMBOL_NAME_MAX ||
		    !s.size || s.start > UINT64_MAX - s.size)
			return us_reader_bad(
				r, "a function with an impossible name or address");
		p += strlen(s.name) + 1;
		int rc = named ? named(r->ctx, &s) : 0;
		if (rc)
			return rc;
	}
	return 0;
}

/* Room for one more node.  Each node took at least two bytes of the file, so the bytes
 * read bound this. */
static int grow_depth(struct reader *r, struct nodes *t)
{
	size_t bigger = t->room ? 2 * t->room : 4096;
	uint8_t *p = realloc(t->depth, bigger);
	if (!p)
		return us_fail(r->e, -ENOMEM, "read a recording: out of memory");
	p[0] = 0;
	t->depth = p;
	t->room = bigger;
	return 0;
}

/* The next node that has flags; it must be above the one before. */
static bool next_flagged(struct reader *r, uint64_t before)
{
	const uint8_t *p = r->flags + r->flags_at, *end = r->flags + r->flags_n;
	uint64_t delta;
	bool first = r->flags_at == US_STACKS_FIRST;
	r->flagged = 0;
	if (p == end)
		return true;
	p = us_varint_get(p, end, &delta);
	if (!p || p == end || (!delta && !first) || delta > UINT32_MAX)
		return false;
	r->flagged = before + delta;
	r->flags_at = (size_t)(p - r->flags);
	return true;
}

/* Kept until the nodes arrive that it describes. */
static int flags(struct reader *r, const uint8_t *p, const uint8_t *end)
{
	size_t size = (size_t)(end - p);
	if (r->flagged || size < US_STACKS_FIRST || us_get_le32(p) != r->guest.n)
		return us_reader_bad(r, "does not belong to the stacks that follow");
	uint8_t *copy = malloc(size);
	if (!copy)
		return us_fail(r->e, -ENOMEM, "read a recording: out of memory");
	memcpy(copy, p, size);
	free(r->flags);
	r->flags = copy;
	r->flags_n = size;
	r->flags_at = US_STACKS_FIRST;
	return next_flagged(r, r->guest.n) ? 0 : us_reader_bad(r, "flags of no node");
}

/* The flags of the current node; false: the entry after them is invalid. */
static bool take_flags(struct reader *r, uint8_t *ret)
{
	*ret = 0;
	if (r->flagged != r->guest.n)
		return true;
	*ret = r->flags[r->flags_at++] & US_PC_FLAGS;
	return next_flagged(r, r->guest.n);
}

/* One node of the trie; *pc is the address of the one before. */
static const uint8_t *node(struct reader *r, struct nodes *t, const uint8_t *p,
			   const uint8_t *end, us_gva *pc, us_stack_id *ret_parent)
{
	uint64_t up, delta;
	p = us_varint_get(p, end, &up);
	p = us_varint_get(p, end, &delta);
	if (!p || up >= t->n || t->n > UINT32_MAX) {
		us_reader_bad(r, "a stack with an impossible caller");
		return NULL;
	}
	if (t->n >= t->room && grow_depth(r, t))
		return NULL;
	us_stack_id parent = up ? (us_stack_id)(t->n - up) : 0;
	if (t->depth[parent] >= t->max_depth) {
		us_reader_bad(r, "a stack with too many frames");
		return NULL;
	}
	t->depth[t->n] = (uint8_t)(t->depth[parent] + 1);
	*pc += (uint64_t)us_unzigzag(delta);
	*ret_parent = parent;
	return p;
}

static bool goes_on(const struct nodes *t, const uint8_t *p, const uint8_t *end)
{
	return end - p >= (int)US_STACKS_FIRST && us_get_le32(p) == t->n;
}

/* end: the number of the next one. */
static int deliver_stacks(struct reader *r, size_t end)
{
	size_t n = r->n_stack;
	r->n_stack = 0;
	return n ? r->ops->stacks(r->ctx, (us_stack_id)(end - n), r->stack, n) : 0;
}

static int guest_stack(struct reader *r, us_stack_id id, us_stack_id parent, us_gva pc)
{
	uint8_t pc_flags;
	if (!take_flags(r, &pc_flags))
		return us_reader_bad(r, "flags of no node");
	if (!r->ops->stacks)
		return r->ops->stack ? r->ops->stack(r->ctx, id, parent, pc, pc_flags)
				     : 0;
	r->stack[r->n_stack++] = (struct us_stack_node){ pc, parent, pc_flags };
	return r->n_stack == US_READER_STACKS ? deliver_stacks(r, (size_t)id + 1) : 0;
}

static int host_stack(struct reader *r, us_stack_id id, us_stack_id parent, us_gva pc)
{
	return r->ops->host_stack ? r->ops->host_stack(r->ctx, id, parent, pc) : 0;
}

/* Calls each() for every node of a chunk. */
static int
stacks(struct reader *r, struct nodes *t, const uint8_t *p, const uint8_t *end,
       int (*each)(struct reader *r, us_stack_id id, us_stack_id parent, us_gva pc))
{
	us_stack_id parent;
	us_gva pc = 0;
	if (!goes_on(t, p, end))
		return us_reader_bad(
			r, "does not continue where the stacks before it ended");
	for (p += US_STACKS_FIRST; p < end; t->n++) {
		p = node(r, t, p, end, &pc, &parent);
		if (!p)
			return r->e->code;
		int rc = each(r, (us_stack_id)t->n, parent, pc);
		if (rc)
			return rc;
	}
	return 0;
}

static int guest_stacks(struct reader *r, const uint8_t *p, const uint8_t *end)
{
	int rc = stacks(r, &r->guest, p, end, guest_stack);
	if (!rc)
		rc = deliver_stacks(r, r->guest.n);
	if (rc)
		return rc;
	return r->flagged ? us_reader_bad(r, "flags of nodes that do not follow") : 0;
}

/* One waiting task; NULL: it is invalid. */
static const uint8_t *one_wait(const struct reader *r, const uint8_t *p,
			       const uint8_t *end, uint64_t *t, struct us_wait *ret)
{
	uint64_t delta, tag, inside, number, stack;
	p = us_varint_get(p, end, &delta);
	p = us_varint_get(p, end, &tag);
	p = us_varint_get(p, end, &inside);
	p = us_varint_get(p, end, &number);
	p = us_varint_get(p, end, &stack);
	if (!p)
		return NULL;
	*t += (uint64_t)us_unzigzag(delta);
	uint64_t state = tag >> US_TAG_END_BITS;
	if (*t > UINT64_MAX / US_TIME_UNIT_NS || state >= US_N_WAIT_STATE ||
	    inside > US_MAX_FRAMES || !number || number > r->n_waiter ||
	    stack >= r->guest.n)
		return NULL;
	*ret = (struct us_wait){ .t_ns = *t * US_TIME_UNIT_NS,
				 .stack = (us_stack_id)stack,
				 .waiter = (uint32_t)number,
				 .end = tag & ((1U << US_TAG_END_BITS) - 1),
				 .state = (uint8_t)state,
				 .inside = (uint8_t)inside };
	return ret->end < US_N_END ? p : NULL;
}

static int waits(struct reader *r, const uint8_t *p, const uint8_t *end)
{
	struct us_wait s;
	uint64_t t = 0;
	while (p < end) {
		p = one_wait(r, p, end, &t, &s);
		if (!p)
			return us_reader_bad(r, "an invalid record of a waiting task");
		int rc = r->ops->wait ? r->ops->wait(r->ctx, &s) : 0;
		if (rc)
			return rc;
	}
	return 0;
}

static int wait_stats(struct reader *r, const uint8_t *p, const uint8_t *end)
{
	uint64_t field[US_WAIT_STATS_FIELDS];
	struct us_wait_stats s;
	if ((size_t)(end - p) < sizeof(field))
		return us_reader_bad(r, "too short");
	for (size_t i = 0; i < US_WAIT_STATS_FIELDS; i++)
		field[i] = us_get_le64(p + 8 * i);
	memcpy(&s, field, sizeof(s));
	return r->ops->wait_stats ? r->ops->wait_stats(r->ctx, &s) : 0;
}

/* One node; NULL: it is invalid. */
static const uint8_t *counted_node(const uint8_t *p, const uint8_t *end,
				   uint32_t number, us_gva last, struct us_counted *ret)
{
	uint64_t up, delta;
	p = us_varint_get(p, end, &up);
	p = us_varint_get(p, end, &delta);
	p = us_varint_get(p, end, &ret->calls);
	p = us_varint_get(p, end, &ret->self);
	if (!p || !up || up > number)
		return NULL;
	ret->parent = number - (uint32_t)up;
	ret->address = last + (uint64_t)us_unzigzag(delta);
	return p;
}

static int counted(struct reader *r, const uint8_t *p, const uint8_t *end)
{
	uint64_t vcpu, first;
	struct us_counted c = { 0 };
	p = us_varint_get(p, end, &vcpu);
	p = us_varint_get(p, end, &first);
	if (!p || vcpu >= US_MAX_VCPUS)
		return us_reader_bad(r, "calls of an invalid vCPU");
	uint32_t *n = &r->n_counted[vcpu];
	if (first != *n + 1ULL)
		return us_reader_bad(
			r, "does not continue where the calls before it ended");
	while (p < end) {
		if (*n == UINT32_MAX - 1)
			return us_reader_bad(r, "too many calls");
		p = counted_node(p, end, *n + 1, c.address, &c);
		if (!p)
			return us_reader_bad(r, "an invalid call");
		++*n;
		int rc = r->ops->counted
				 ? r->ops->counted(r->ctx, (unsigned)vcpu, *n, &c)
				 : 0;
		if (rc)
			return rc;
	}
	return 0;
}

#define MAX_EVENT_FUNCTION (1U << 20) /* what a record has room for */

static int event_functions(struct reader *r, const uint8_t *p, const uint8_t *end)
{
	uint64_t first, delta;
	us_gva address = 0;
	p = us_varint_get(p, end, &first);
	if (!p || first != r->n_event_function)
		return us_reader_bad(
			r, "does not continue where the functions before it ended");
	while (p < end) {
		p = us_varint_get(p, end, &delta);
		if (!p || r->n_event_function == MAX_EVENT_FUNCTION)
			return us_reader_bad(r, "an invalid function");
		address += (uint64_t)us_unzigzag(delta);
		int rc = r->ops->event_function
				 ? r->ops->event_function(r->ctx, r->n_event_function,
							  address)
				 : 0;
		if (rc)
			return rc;
		r->n_event_function++;
	}
	return 0;
}

static int events(struct reader *r, const uint8_t *p, size_t size)
{
	const uint64_t *record;
	unsigned vcpu;
	size_t n;
	if (!r->ops->events)
		return 0;
	if (!r->unpacker && us_event_unpacker_new(&r->unpacker))
		return -ENOMEM;
	int rc = us_event_unpack(r->unpacker, p, size, &vcpu, &record, &n);
	if (rc == -EBADMSG)
		return us_reader_bad(r, "invalid events");
	if (rc == -ENOTSUP)
		return us_fail(r->e, rc,
			       "read a recording: its events are compressed with zstd, "
			       "which this uniscope was built without");
	return rc ? rc : r->ops->events(r->ctx, vcpu, record, n);
}

static int events_until(struct reader *r, const uint8_t *p, const uint8_t *end)
{
	if (end - p < 8)
		return us_reader_bad(r, "too short");
	return r->ops->events_until ? r->ops->events_until(r->ctx, us_get_le64(p)) : 0;
}

static int stats(struct reader *r, const uint8_t *p, const uint8_t *end)
{
	uint64_t field[US_STATS_FIELDS];
	struct us_record_stats s;
	if ((size_t)(end - p) < sizeof(field))
		return us_reader_bad(r, "too short");
	for (size_t i = 0; i < US_STATS_FIELDS; i++)
		field[i] = us_get_le64(p + 8 * i);
	memcpy(&s, field, sizeof(s));
	return r->ops->stats ? r->ops->stats(r->ctx, &s) : 0;
}

static int end_of_recording(struct reader *r, const uint8_t *p, const uint8_t *end)
{
	const char *words = p < end ? string(p + 1, end) : NULL;
	if (!words || *p == US_RECORD_CUT || *p >= US_N_RECORD_END)
		return us_reader_bad(r, "an unknown end");
	r->ended = true;
	return r->ops->end ? r->ops->end(r->ctx, *p, words) : 0;
}

/* Does the caller want samples or stacks?  If not, they are not decoded.  Their
 * checksums are right, and a caller that wants them will find any other error. */
static bool wants_samples(const struct us_reader_ops *o)
{
	return o->sample || o->samples || o->stack || o->stacks || o->host_stack ||
	       o->wait;
}

static bool is_of_samples(uint32_t type)
{
	return type == US_CHUNK_FLAGS || type == US_CHUNK_STACKS ||
	       type == US_CHUNK_HOST_STACKS || type == US_CHUNK_HOST_SAMPLES ||
	       type == US_CHUNK_SAMPLES || type == US_CHUNK_WAITS;
}

int us_reader_deliver(struct reader *r, const uint8_t *p, size_t size)
{
	if (is_of_samples(r->type) && !wants_samples(r->ops))
		return r->type == US_CHUNK_SAMPLES && r->ops->busy_at
			       ? us_reader_busy_at(r, p, p + size)
			       : 0;
	switch (r->type) {
	case US_CHUNK_FACT:
		return fact(r, p, p + size);
	case US_CHUNK_MODULE:
		return module(r, p, p + size);
	case US_CHUNK_PROCESS:
		return process(r, p, p + size);
	case US_CHUNK_TASK:
		return task(r, p, p + size);
	case US_CHUNK_WAITER:
		return waiter(r, p, p + size);
	case US_CHUNK_WAITS:
		return waits(r, p, p + size);
	case US_CHUNK_WAIT_STATS:
		return wait_stats(r, p, p + size);
	case US_CHUNK_PROGRAM_FILE:
		return program_file(r, p, p + size);
	case US_CHUNK_MAPPING:
		return mapping(r, p, p + size);
	case US_CHUNK_PROGRAM_SYMBOLS:
		return program_names(r, p, p + size, US_PROGRAM_NAME_MAX,
				     r->ops->program_name);
	case US_CHUNK_IMAGE_SYMBOLS:
		return program_names(r, p, p + size, US_SYMBOL_NAME_MAX,
				     r->ops->image_name);
	case US_CHUNK_FLAGS:
		return flags(r, p, p + size);
	case US_CHUNK_SYMBOLS:
		return symbols(r, p, p + size, r->ops->named);
	case US_CHUNK_HOST_STACKS:
		return stacks(r, &r->host, p, p + size, host_stack);
	case US_CHUNK_HOST_SAMPLES:
		return us_reader_host_samples(r, p, p + size);
	case US_CHUNK_HOST_SYMBOLS:
		return symbols(r, p, p + size, r->ops->host_named);
	case US_CHUNK_STACKS:
		return guest_stacks(r, p, p + size);
	case US_CHUNK_SAMPLES:
		return us_reader_samples(r, p, p + size);
	case US_CHUNK_COUNTED:
		return counted(r, p, p + size);
	case US_CHUNK_EVENT_FUNCTIONS:
		return event_functions(r, p, p + size);
	case US_CHUNK_EVENTS:
		return events(r, p, size);
	case US_CHUNK_EVENTS_UNTIL:
		return events_until(r, p, p + size);
	case US_CHUNK_STATS:
		return stats(r, p, p + size);
	case US_CHUNK_END:
		return end_of_recording(r, p, p + size);
	default:
		return 0; /* from a newer format: ignored */
	}
}
