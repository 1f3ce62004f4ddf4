/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test-store-hostile.c: a recording that is cut, damaged or forged. */
#include "store-file.h"

#include "store/crc32c.h"
#include "store/varint.h"

#include <errno.h>

static struct heard whole, h;

/* A small recording with every kind of chunk, and several of samples. */
static uint8_t *make_recording(size_t *ret_len)
{
	int fd = memfd_create("recording", MFD_CLOEXEC);
	struct us_writer *w;
	struct us_record_stats stats = { .due = 60, .running = 60 };
	struct us_module m = { .start = 16, .end = 32, .path = "kernel" };
	us_gva pc[8];
	static const uint8_t flags[8] = { [2] = US_PC_EXACT, [7] = US_PC_USER };
	static const uint8_t host[8] = {
		[4] = US_PC_HOST, US_PC_HOST, US_PC_HOST, US_PC_HOST
	};
	assert_int_equal(us_writer_open(fd, &w, NULL), 0);
	assert_int_equal(us_writer_fact(w, "target", "fake", NULL), 0);
	assert_int_equal(us_writer_module(w, &m, NULL), 0);
	struct us_process process = { .root = 4096, .pid = 7, .name = "sh" };
	assert_int_equal(us_writer_process(w, &process, NULL), 0);
	struct us_task task = { .id = 1,
				.pid = 7,
				.tgid = 7,
				.name = "sh",
				.process = "sh",
				.cgroup = "/" };
	assert_int_equal(us_writer_task(w, &task, NULL), 0);
	struct us_waiter waiter = {
		.number = 1, .pid = 8, .process = 7, .name = "w", .process_name = "sh"
	};
	assert_int_equal(us_writer_waiter(w, &waiter, NULL), 0);
	struct us_program_file file = { .number = 1, .path = "/bin/sh" };
	assert_int_equal(us_writer_program_file(w, &file, NULL), 0);
	struct us_mapping mapping = { .file = 1, .root = 4096, .end = 4096 };
	assert_int_equal(us_writer_mapping(w, &mapping, NULL), 0);
	struct us_program_name name = { 1, 16, 32, "main" };
	assert_int_equal(us_writer_program_names(w, &name, 1, NULL), 0);
	for (unsigned i = 0; i < 60; i++) {
		struct us_sample s = { .t_ns = i * 1003000ULL, .weight = 1 + !(i % 9) };
		for (unsigned k = 0; k < 8; k++)
			pc[k] = 0xffffffff81000000 + (i % (9 - k)) * 0x321;
		const uint8_t *which = i % 9 == 8 ? host : flags;
		assert_int_equal(us_writer_sample(w, &s, pc, which, i % 9, NULL), 0);
		struct us_wait wait = { .t_ns = s.t_ns, .waiter = 1 };
		if (i % 3 == 0)
			assert_int_equal(
				us_writer_wait(w, &wait, pc, flags, i % 9, NULL), 0);
		if (i % 20 == 19)
			assert_int_equal(us_writer_stats(w, &stats, NULL), 0);
	}
	assert_int_equal(us_writer_end(w, &stats, US_RECORD_DONE, "done", NULL), 0);
	us_writer_close(w);
	uint8_t *p = file_bytes(fd, ret_len);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(hear(fd, &whole), 0);
	assert_true(whole.result.ended && whole.n_sample == 60);
	assert_true(whole.n_waiter == 1 && whole.n_wait == 20);
	assert_true(whole.n_host > 4 && whole.sample[8].host && !whole.sample[9].host);
	close(fd);
	return p;
}

/* What was heard is a beginning of what is in the whole. */
static void assert_beginning(void)
{
	assert_true(h.n_sample <= whole.n_sample && h.n_stack <= whole.n_stack);
	assert_memory_equal(h.node, whole.node, (1 + h.n_stack) * sizeof(h.node[0]));
	for (unsigned i = 0; i < h.n_sample; i++)
		assert_memory_equal(&h.sample[i], &whole.sample[i],
				    offsetof(struct us_sample, weight) + 4);
}

static void cut_at_every_byte(void **state)
{
	(void)state;
	size_t len;
	uint8_t *p = make_recording(&len);
	unsigned last = 0, at_border = 0;
	for (size_t n = 0; n < len; n++) {
		int fd = memory_file(p, n);
		int r = hear(fd, &h);
		close(fd);
		if (n < US_STORE_HEAD) {
			assert_int_equal(r, -ENOEXEC);
			assert_true(h.e.msg[0]);
			continue;
		}
		assert_int_equal(r, 0);
		assert_false(h.result.ended);
		assert_true(h.result.bytes <= n);
		assert_int_equal(h.result.cut, h.result.bytes < n);
		at_border += !h.result.cut;
		assert_true(h.n_sample >= last);
		last = h.n_sample;
		assert_beginning();
	}
	assert_int_equal(last, 60);
	assert_true(at_border > 8);
	free(p);
}

static void any_bit_wrong(void **state)
{
	(void)state;
	size_t len;
	uint8_t *p = make_recording(&len);
	for (size_t bit = 0; bit < 8 * len; bit++) {
		p[bit / 8] ^= (uint8_t)(1U << bit % 8);
		int fd = memory_file(p, len);
		int r = hear(fd, &h);
		close(fd);
		if (bit < 8 * 8) {
			assert_int_equal(r, -ENOEXEC);
		} else if (bit < 8 * US_STORE_HEAD) {
			assert_int_equal(r, -ENOTSUP);
		} else {
			assert_int_equal(r, 0);
			assert_true(h.result.cut && !h.result.ended);
			assert_true(h.result.bytes <= bit / 8);
		}
		assert_beginning();
		p[bit / 8] ^= (uint8_t)(1U << bit % 8);
	}
	free(p);
}

/* ---- Forged: the sums are right, what is said is not ---- */

static uint8_t forged[1 << 16];
static size_t forged_len;

static void forge_begin(void)
{
	memset(forged, 0, sizeof(forged));
	memcpy(forged, US_STORE_MAGIC, 8);
	us_put_le32(forged + 8, US_STORE_VERSION);
	forged_len = US_STORE_HEAD;
}

static void forge(uint32_t type, const void *payload, size_t size)
{
	uint8_t *head = forged + forged_len;
	us_put_le32(head, type);
	us_put_le32(head + 4, (uint32_t)size);
	memcpy(head + US_CHUNK_HEAD, payload, size);
	uint32_t sum = us_crc32c(0, head, 8);
	us_put_le32(head + 8, us_crc32c(sum, payload, size));
	forged_len += US_CHUNK_HEAD + size;
}

static int read_forged(void)
{
	int fd = memory_file(forged, forged_len);
	int r = hear(fd, &h);
	close(fd);
	return r;
}

static void refused(const char *what, uint32_t type, const void *payload, size_t size)
{
	forge_begin();
	forge(US_CHUNK_STACKS, "\1\0\0\0\0\4\1\4", 8); /* two nodes: pc 2, then pc 4 */
	forge(type, payload, size);
	int r = read_forged();
	if (r != -EBADMSG || !strstr(h.e.msg, "byte 36"))
		fail_msg("%s: %d (%s)", what, r, h.e.msg);
	assert_true(h.n_stack >= 2 && h.n_sample == 0 && h.n_fact == 0);
}

#define LIT(s) (s), sizeof(s) - 1

/* A module as the first recordings had it: nothing behind the path. */
static void old_modules_are_read(void **state)
{
	(void)state;
	uint8_t m[26 + 7] = { [8] = 5, [16] = 9, [24] = US_MATCH_YES };
	memcpy(m + 26, "kernel", 7);
	forge_begin();
	forge(US_CHUNK_MODULE, m, sizeof(m));
	assert_int_equal(read_forged(), 0);
	assert_int_equal(h.n_module, 1);
	assert_string_equal(h.module.path, "kernel");
	assert_int_equal(h.module.bias, 9);
	assert_true(!h.module.number && !h.module.root);
	assert_true(!h.module.from_ns && !h.module.until_ns);
}

static void lies_are_refused(void **state)
{
	(void)state;
	static const uint8_t one[26] = { [0] = 2, [8] = 1 }; /* start 2, end 1 */
	uint8_t m[40] = { [24] = 3 };
	refused("number gap", US_CHUNK_STACKS, LIT("\4\0\0\0\0\2"));
	refused("number again", US_CHUNK_STACKS, LIT("\1\0\0\0\0\2"));
	refused("no number", US_CHUNK_STACKS, LIT("\3\0\0"));
	refused("caller too far", US_CHUNK_STACKS, LIT("\3\0\0\0\3\2"));
	refused("half a node", US_CHUNK_STACKS, LIT("\3\0\0\0\1"));
	refused("endless varint", US_CHUNK_STACKS, LIT("\3\0\0\0\1\x80\x80\x80"));
	refused("flags of others", US_CHUNK_FLAGS, LIT("\4\0\0\0\0\1"));
	refused("no number of flags", US_CHUNK_FLAGS, LIT("\3\0\0"));
	refused("half a flag", US_CHUNK_FLAGS, LIT("\3\0\0\0\0"));
	refused("flags of a far node", US_CHUNK_FLAGS,
		LIT("\3\0\0\0\x80\x80\x80\x80\x10\1"));
	refused("unknown stack", US_CHUNK_SAMPLES, LIT("\2\1\6"));
	refused("far stack", US_CHUNK_SAMPLES, LIT("\2\1\x80\x80\x80\x80\x80\x01"));
	refused("before time", US_CHUNK_SAMPLES, LIT("\1\1\2"));
	refused("no weight", US_CHUNK_SAMPLES, LIT("\2\1\3"));
	refused("great weight", US_CHUNK_SAMPLES, LIT("\2\1\3\x80\x80\x80\x80\x10"));
	refused("half a sample", US_CHUNK_SAMPLES, LIT("\2\1"));
	refused("unknown end", US_CHUNK_SAMPLES, LIT("\2\x0f\2"));
	refused("unknown state", US_CHUNK_SAMPLES, LIT("\2\x51\2"));
	refused("unknown vcpu", US_CHUNK_SAMPLES, LIT("\2\x81\x40\2"));
	refused("no key", US_CHUNK_FACT, LIT("\0b\0"));
	refused("endless key", US_CHUNK_FACT, LIT("ab"));
	refused("no value", US_CHUNK_FACT, LIT("a\0"));
	refused("endless value", US_CHUNK_FACT, LIT("a\0bc"));
	refused("empty fact", US_CHUNK_FACT, LIT(""));
	refused("short module", US_CHUNK_MODULE, one, 25);
	refused("no path", US_CHUNK_MODULE, one, 26);
	refused("unknown match", US_CHUNK_MODULE, m, 40);
	m[24] = 0, m[25] = 20;
	refused("long id", US_CHUNK_MODULE, m, 45 - 12);
	m[25] = 21;
	refused("too long id", US_CHUNK_MODULE, m, 40);
	m[25] = 0, m[0] = 1;
	refused("upside down", US_CHUNK_MODULE, m, 40);
	uint8_t process[US_PROCESS_HEAD + 66] = { 0 };
	refused("no process", US_CHUNK_PROCESS, process, US_PROCESS_HEAD);
	memset(process + US_PROCESS_HEAD, 'x', 64);
	refused("endless name", US_CHUNK_PROCESS, process, US_PROCESS_HEAD + 64);
	refused("long name", US_CHUNK_PROCESS, process, US_PROCESS_HEAD + 65);
	process[US_PROCESS_HEAD + 3] = '\0';
	process[8] = 2, process[16] = 1; /* from 2, until 1 */
	refused("end before begin", US_CHUNK_PROCESS, process, sizeof(process));
	uint8_t task[US_TASK_HEAD + 400] = { 0 };
	refused("no thread", US_CHUNK_TASK, task, US_TASK_HEAD);
	refused("one name", US_CHUNK_TASK, task, US_TASK_HEAD + 1);
	refused("two names", US_CHUNK_TASK, task, US_TASK_HEAD + 2);
	memset(task + US_TASK_HEAD, 'x', 64);
	refused("endless name", US_CHUNK_TASK, task, US_TASK_HEAD + 64);
	refused("long name", US_CHUNK_TASK, task, US_TASK_HEAD + 67);
	task[US_TASK_HEAD] = task[US_TASK_HEAD + 1] = '\0';
	memset(task + US_TASK_HEAD + 2, 'x', 256);
	refused("long cgroup", US_CHUNK_TASK, task, sizeof(task));
	task[US_TASK_HEAD + 2] = '\0';
	task[16] = 2, task[24] = 1; /* from 2, until 1 */
	refused("end before begin", US_CHUNK_TASK, task, sizeof(task));
	task[16] = 0, task[40] = 1;
	memset(task + 8, 0xff, 8);
	refused("stack behind the end", US_CHUNK_TASK, task, sizeof(task));
	uint8_t waiter[US_WAITER_HEAD + 4] = { [0] = 1, [US_WAITER_HEAD] = 'a' };
	refused("no task", US_CHUNK_WAITER, waiter, US_WAITER_HEAD);
	refused("one name", US_CHUNK_WAITER, waiter, US_WAITER_HEAD + 2);
	waiter[US_WAITER_HEAD + 2] = 'b';
	refused("endless second name", US_CHUNK_WAITER, waiter, US_WAITER_HEAD + 3);
	waiter[0] = 2;
	refused("task left out", US_CHUNK_WAITER, waiter, sizeof(waiter));
	refused("nobody waits", US_CHUNK_WAITS, LIT("\2\1\0\0\1"));
	refused("an unknown one waits", US_CHUNK_WAITS, LIT("\2\1\0\1\1"));
	refused("short sums of waits", US_CHUNK_WAIT_STATS, waiter, sizeof(waiter));
	refused("short stats", US_CHUNK_STATS, m, 40);
	refused("no end", US_CHUNK_END, LIT(""));
	refused("no words", US_CHUNK_END, LIT("\1"));
	refused("end of what", US_CHUNK_END, LIT("\5\0"));
	refused("cut as end", US_CHUNK_END, LIT("\0\0"));
}

static void waits_that_lie(void **state)
{
	(void)state;
	static const struct {
		const char *wait;
		size_t n;
	} all[] = {
		{ LIT("\2\x31\0\1\1") },   /* a state that there is not */
		{ LIT("\2\x0f\0\1\1") },   /* an end */
		{ LIT("\2\1\x81\1\1\1") }, /* deep in the scheduler */
		{ LIT("\2\1\0\2\1") },	   /* a second task */
		{ LIT("\2\1\0\1\3") },	   /* a third node */
		{ LIT("\1\1\0\1\1") },	   /* before the start */
		{ LIT("\2\1\0\1") },
	};
	static const uint8_t waiter[US_WAITER_HEAD + 4] = {
		[0] = 1, [13] = 'a', [15] = 'b'
	};
	for (size_t k = 0; k <= sizeof(all) / sizeof(*all); k++) {
		forge_begin();
		forge(US_CHUNK_STACKS, "\1\0\0\0\0\4\1\4", 8);
		forge(US_CHUNK_WAITER, waiter, sizeof(waiter));
		if (k)
			forge(US_CHUNK_WAITS, all[k - 1].wait, all[k - 1].n);
		else
			forge(US_CHUNK_WAITS, LIT("\2\x21\2\1\2\2\1\0\1\1"));
		int r = read_forged();
		if (r != (k ? -EBADMSG : 0) || h.n_wait != (k ? 0 : 2))
			fail_msg("wait %zu: %d (%s)", k, r, h.e.msg);
	}
}

static void lies_of_programs_are_refused(void **state)
{
	(void)state;
	uint8_t file[64] = { 1, [5] = 20 }, mapping[US_MAPPING_SIZE] = { 1 };
	refused("short file", US_CHUNK_PROGRAM_FILE, file, 5);
	refused("short id", US_CHUNK_PROGRAM_FILE, file, 25);
	refused("no path", US_CHUNK_PROGRAM_FILE, file, 26);
	file[5] = 21;
	refused("long id", US_CHUNK_PROGRAM_FILE, file, sizeof(file));
	file[5] = 0, file[4] = US_N_PROGRAM_KIND;
	refused("unknown kind", US_CHUNK_PROGRAM_FILE, file, sizeof(file));
	file[4] = 0, file[0] = 0;
	refused("no number", US_CHUNK_PROGRAM_FILE, file, sizeof(file));
	refused("empty mapping", US_CHUNK_MAPPING, mapping, sizeof(mapping));
	mapping[24] = 1; /* an end behind its begin */
	refused("short mapping", US_CHUNK_MAPPING, mapping, sizeof(mapping) - 1);
	mapping[48] = 2, mapping[56] = 1;
	refused("end before begin", US_CHUNK_MAPPING, mapping, sizeof(mapping));
	mapping[48] = 0, mapping[0] = 0;
	refused("mapping of nothing", US_CHUNK_MAPPING, mapping, sizeof(mapping));
	refused("no file", US_CHUNK_PROGRAM_SYMBOLS, LIT(""));
	refused("file 0", US_CHUNK_PROGRAM_SYMBOLS, LIT("\0\2\1a\0"));
	refused("half a place", US_CHUNK_PROGRAM_SYMBOLS, LIT("\1\2"));
	refused("endless name", US_CHUNK_PROGRAM_SYMBOLS, LIT("\1\2\1ab"));
	refused("empty name", US_CHUNK_PROGRAM_SYMBOLS, LIT("\1\2\1\0"));
}

/* A FLAG chunk must fit the STAK chunk behind it. */
static int with_flags(const void *flags, size_t size)
{
	forge_begin();
	forge(US_CHUNK_FLAGS, flags, size);
	forge(US_CHUNK_STACKS, "\1\0\0\0\0\4\1\4", 8); /* nodes 1 and 2 */
	return read_forged();
}

static void flags_fit_their_stacks(void **state)
{
	(void)state;
	assert_int_equal(with_flags(LIT("\1\0\0\0\0\xff\1\1")), 0);
	assert_int_equal(h.node[1].flags, US_PC_USER | US_PC_EXACT | US_PC_SPACE |
						  US_PC_EXIT | US_PC_TASK);
	assert_int_equal(h.node[2].flags, US_PC_USER);
	assert_int_equal(with_flags(LIT("\1\0\0\0")), 0);
	assert_int_equal(with_flags(LIT("\1\0\0\0\2\1")), -EBADMSG); /* node 3 */
	assert_int_equal(with_flags(LIT("\1\0\0\0\0\1\0\1")), -EBADMSG);
	assert_int_equal(with_flags(LIT("\1\0\0\0\0\1\1")), -EBADMSG);
	forge_begin();
	forge(US_CHUNK_FLAGS, "\1\0\0\0\0\1", 6);
	forge(US_CHUNK_FLAGS, "\1\0\0\0\0\1", 6);
	assert_int_equal(read_forged(), -EBADMSG);
}

/* An HSAM chunk must fit the stacks before it and the SAMP chunk behind it. */
static int with_hosts(const void *hosts, size_t size)
{
	forge_begin();
	forge(US_CHUNK_HOST_STACKS, "\1\0\0\0\0\4\1\4", 8); /* nodes 1 and 2 */
	forge(US_CHUNK_HOST_SAMPLES, hosts, size);
	forge(US_CHUNK_SAMPLES, "\2\0\0\2\0\0\2\0\0", 9); /* three */
	return read_forged();
}

static void hosts_stacks_fit_their_samples(void **state)
{
	(void)state;
	assert_int_equal(with_hosts(LIT("\0\2\2\1")), 0);
	assert_int_equal(h.n_sample, 3);
	assert_int_equal(h.sample[0].host, 2);
	assert_int_equal(h.sample[1].host, 0);
	assert_int_equal(h.sample[2].host, 1);
	assert_int_equal(with_hosts(LIT("")), 0);
	assert_int_equal(with_hosts(LIT("\0\3")), -EBADMSG); /* unknown */
	assert_int_equal(with_hosts(LIT("\0\0")), -EBADMSG); /* none */
	assert_int_equal(with_hosts(LIT("\3\1")), -EBADMSG); /* of a fourth one */
	assert_int_equal(with_hosts(LIT("\1\1\0\1")), -EBADMSG);
	assert_int_equal(with_hosts(LIT("\1")), -EBADMSG);
	assert_int_equal(with_hosts(LIT("\0\1\1")), -EBADMSG);
	forge_begin();
	forge(US_CHUNK_HOST_STACKS, "\1\0\0\0\0\4", 6);
	forge(US_CHUNK_HOST_SAMPLES, "\0\1", 2);
	forge(US_CHUNK_HOST_SAMPLES, "\0\1", 2);
	assert_int_equal(read_forged(), -EBADMSG);
	forge_begin();
	forge(US_CHUNK_HOST_STACKS, "\2\0\0\0\0\4", 6);
	assert_int_equal(read_forged(), -EBADMSG);
	uint8_t nodes[4 + 2 * (US_MAX_HOST_FRAMES + 1)] = { 1 };
	for (unsigned i = 0; i <= US_MAX_HOST_FRAMES; i++)
		nodes[4 + 2 * i] = i > 0;
	forge_begin();
	forge(US_CHUNK_HOST_STACKS, nodes, sizeof(nodes));
	assert_int_equal(read_forged(), -EBADMSG);
	assert_int_equal(h.n_host, US_MAX_HOST_FRAMES);
}

static void no_stack_is_deeper_than_the_limit(void **state)
{
	(void)state;
	uint8_t nodes[4 + 2 * (US_MAX_FRAMES + 1)] = { 1 };
	for (unsigned i = 0; i <= US_MAX_FRAMES; i++)
		nodes[4 + 2 * i] = i > 0;
	forge_begin();
	forge(US_CHUNK_STACKS, nodes, sizeof(nodes) - 2);
	assert_int_equal(read_forged(), 0);
	assert_int_equal(h.n_stack, US_MAX_FRAMES);
	forge_begin();
	forge(US_CHUNK_STACKS, nodes, sizeof(nodes));
	assert_int_equal(read_forged(), -EBADMSG);
	assert_int_equal(h.n_stack, US_MAX_FRAMES);
}

static void unknown_chunks_and_longer_stats_are_skipped(void **state)
{
	(void)state;
	uint8_t stats[8 * US_STATS_FIELDS + 16] = { [8] = 7 };
	forge_begin();
	forge(US_FOURCC('N', 'E', 'W', '!'), "anything", 8);
	forge(US_CHUNK_STATS, stats, sizeof(stats));
	forge(US_CHUNK_END, "\2words\0more", 11);
	size_t good = forged_len;
	forge(US_CHUNK_FACT, "after\0end", 10);
	assert_int_equal(read_forged(), 0);
	assert_int_equal(h.n_stats, 1);
	assert_int_equal(h.stats.due, 7);
	assert_int_equal(h.end, US_RECORD_INTERRUPTED);
	assert_string_equal(h.words, "words");
	assert_int_equal(h.n_fact, 0);
	assert_int_equal(h.result.bytes, good);
}

/* A claim of 16 MiB, or of 4 GiB, over a few bytes. */
static void claimed_sizes_cost_nothing(void **state)
{
	(void)state;
	static const uint32_t claims[] = { 100, 16U << 20, (16U << 20) + 1,
					   UINT32_MAX };
	for (unsigned i = 0; i < 4; i++) {
		forge_begin();
		forge(US_CHUNK_FACT, "a\0b", 4);
		us_put_le32(forged + forged_len + 4, claims[i]);
		forged_len += 50;
		assert_int_equal(read_forged(), 0);
		assert_true(h.result.cut);
		assert_int_equal(h.n_fact, 1);
		assert_int_equal(h.result.bytes, 16 + 12 + 4);
	}
}

static void what_is_no_recording_is_told(void **state)
{
	(void)state;
	int fd = memory_file("\177ELF and more than sixteen bytes", 31);
	assert_int_equal(hear(fd, &h), -ENOEXEC);
	assert_non_null(strstr(h.e.msg, "no recording"));
	close(fd);
	fd = memory_file("", 0);
	assert_int_equal(hear(fd, &h), -ENOEXEC);
	assert_non_null(strstr(h.e.msg, "empty"));
	close(fd);
	assert_int_equal(hear(-1, &h), -EBADF);
	assert_non_null(strstr(h.e.msg, "Bad file descriptor"));
	forge_begin();
	us_put_le32(forged + 8, US_STORE_VERSION + 1);
	assert_int_equal(read_forged(), -ENOTSUP);
	assert_non_null(strstr(h.e.msg, "format 2"));
}

static int stop_here(void *ctx, const struct us_sample *s)
{
	(void)s;
	return ++*(int *)ctx == 5 ? -ECANCELED : 0;
}

static void a_callback_ends_the_reading(void **state)
{
	(void)state;
	size_t len;
	int n = 0;
	uint8_t *p = make_recording(&len);
	int fd = memory_file(p, len);
	struct us_reader_result result;
	struct us_err e;
	const struct us_reader_ops ops = { .sample = stop_here };
	assert_int_equal(us_read(fd, &ops, &n, &result, &e), -ECANCELED);
	assert_int_equal(n, 5);
	assert_int_equal(e.code, -ECANCELED);
	close(fd);
	free(p);
}

static int count_them(void *ctx, const struct us_sample *s, size_t n)
{
	(void)s;
	*(size_t *)ctx += n;
	return 0;
}

static int busy_at(void *ctx, uint64_t t_ns)
{
	*(uint64_t *)ctx = t_ns;
	return 0;
}

/* Those before one that cannot be are delivered; where samples are only looked at for
 * their times, such a one ends the look, and no more. */
static void samples_before_a_wrong_one(void **state)
{
	(void)state;
	static const char wrong[] = "\2\040\0\2\0\0\2\0\0\2\0\376\1\2\0\0";
	const struct us_reader_ops several = { .samples = count_them };
	const struct us_reader_ops busy = { .busy_at = busy_at };
	struct us_reader_result r;
	size_t n = 0;
	uint64_t busy_ns = 0;
	forge_begin();
	forge(US_CHUNK_SAMPLES, wrong, sizeof(wrong) - 1);
	forge(US_CHUNK_SAMPLES, "\200", 1);
	forge(US_CHUNK_SAMPLES, "", 0);
	int fd = memory_file(forged, forged_len);
	assert_int_equal(us_read(fd, &several, &n, &r, NULL), -EBADMSG);
	assert_int_equal(n, 3);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(us_read(fd, &busy, &busy_ns, &r, NULL), 0);
	assert_true(!r.cut && r.bytes == forged_len);
	/* The first one is halted; the second was a unit of time later. */
	assert_int_equal(busy_ns, 2 * US_TIME_UNIT_NS);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cut_at_every_byte),
		cmocka_unit_test(any_bit_wrong),
		cmocka_unit_test(old_modules_are_read),
		cmocka_unit_test(lies_are_refused),
		cmocka_unit_test(waits_that_lie),
		cmocka_unit_test(lies_of_programs_are_refused),
		cmocka_unit_test(flags_fit_their_stacks),
		cmocka_unit_test(hosts_stacks_fit_their_samples),
		cmocka_unit_test(no_stack_is_deeper_than_the_limit),
		cmocka_unit_test(unknown_chunks_and_longer_stats_are_skipped),
		cmocka_unit_test(claimed_sizes_cost_nothing),
		cmocka_unit_test(what_is_no_recording_is_told),
		cmocka_unit_test(a_callback_ends_the_reading),
		cmocka_unit_test(samples_before_a_wrong_one),
	};
	return cmocka_run_group_tests_name("store-hostile", tests, NULL, NULL);
}
