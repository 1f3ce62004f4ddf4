/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A trace in a recording: what is written is read; what lies is refused. */
#include "unit.h"

#include "store/event_chunk.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#define MANY 300000

struct heard {
	us_gva function[4096];
	uint32_t n_function;
	uint64_t *record[2];
	size_t n[2];
	uint64_t until[4];
	unsigned n_until;
};

static int hear_function(void *ctx, uint32_t number, us_gva address)
{
	struct heard *h = ctx;
	assert_int_equal(number, h->n_function);
	h->function[h->n_function++] = address;
	return 0;
}

static int hear_events(void *ctx, unsigned vcpu, const uint64_t *record, size_t n)
{
	struct heard *h = ctx;
	assert_true(vcpu < 2 && h->n[vcpu] + n <= MANY);
	memcpy(h->record[vcpu] + h->n[vcpu], record, n * sizeof(*record));
	h->n[vcpu] += n;
	return 0;
}

static int hear_until(void *ctx, uint64_t t_ns)
{
	struct heard *h = ctx;
	h->until[h->n_until++] = t_ns;
	return 0;
}

static const struct us_reader_ops hear = { .event_function = hear_function,
					   .events = hear_events,
					   .events_until = hear_until };

static uint64_t lot(void)
{
	static uint64_t x = 88172645463325252;
	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x;
}

/* Like those of a guest, or any at all. */
static void make(uint64_t *v, size_t n, bool wild)
{
	uint64_t insns = 0;
	for (size_t i = 0; i < n; i++) {
		insns += lot() % 50;
		v[i] = wild ? lot() : (1 + lot() % 3) << 61 | lot() % 300 << 41 | insns;
	}
}

static void is_read_as_written(bool wild)
{
	static uint64_t made[2][MANY], read_[2][MANY];
	static struct heard h;
	us_gva function[4096];
	struct us_writer *w;
	struct us_reader_result result;
	struct us_err e;
	int fd = memfd_create("events", MFD_CLOEXEC);
	h = (struct heard){ .record = { read_[0], read_[1] } };
	make(made[0], MANY, wild);
	make(made[1], MANY, wild);
	for (unsigned i = 0; i < 4096; i++)
		function[i] = lot();
	assert_int_equal(us_writer_open(fd, &w, &e), 0);
	assert_int_equal(us_writer_event_functions(w, 0, function, 1000, &e), 0);
	assert_int_equal(us_writer_events(w, 0, made[0], MANY / 2, &e), 0);
	assert_int_equal(us_writer_events(w, 1, made[1], MANY, &e), 0);
	assert_int_equal(us_writer_events_until(w, 12345678901234, &e), 0);
	assert_int_equal(us_writer_event_functions(w, 1000, function + 1000, 3096, &e),
			 0);
	assert_int_equal(us_writer_events(w, 0, made[0] + MANY / 2, MANY / 2, &e), 0);
	assert_int_equal(us_writer_events(w, 1, made[1], 0, &e), 0);
	assert_int_equal(us_writer_events_until(w, UINT64_MAX, &e), 0);
	us_writer_close(w);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(us_read(fd, &hear, &h, &result, &e), 0);
	close(fd);
	assert_false(result.cut);
	assert_int_equal(h.n_function, 4096);
	assert_memory_equal(h.function, function, sizeof(function));
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(h.n[i], MANY);
		assert_memory_equal(h.record[i], made[i], sizeof(made[i]));
	}
	assert_int_equal(h.n_until, 2);
	assert_int_equal(h.until[0], 12345678901234);
	assert_true(h.until[1] == UINT64_MAX);
}

static void of_a_guest(void **state)
{
	(void)state;
	is_read_as_written(false);
}

static void any_at_all(void **state)
{
	(void)state;
	is_read_as_written(true);
}

static void lies_are_refused(void **state)
{
	(void)state;
	static const struct {
		uint8_t bytes[8];
		size_t n;
	} bad[] = {
		{ { 0 }, 0 },				    /* nothing */
		{ { 0x80 }, 1 },			    /* half a vCPU */
		{ { 0 }, 1 },				    /* no coding */
		{ { 0, 9, 0, 0 }, 4 },			    /* an unknown one */
		{ { 0, 0, 1 }, 3 },			    /* half a record */
		{ { 0, 0, 0xff, 0xff, 0xff, 0x7f, 0 }, 7 }, /* too large a number */
		{ { 0, 1, 1, 2, 3, 4 }, 6 },	/* nothing that zstd has made */
		{ { 0xff, 0xff, 0x7f, 0 }, 4 }, /* no such vCPU */
	};
	struct us_event_unpacker *u;
	const uint64_t *v;
	unsigned vcpu;
	size_t n;
	assert_int_equal(us_event_unpacker_new(&u), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int r = us_event_unpack(u, bad[i].bytes, bad[i].n, &vcpu, &v, &n);
		assert_true(r == -EBADMSG || (r == -ENOTSUP && bad[i].bytes[1] == 1));
	}
	us_event_unpacker_free(u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_a_guest),
		cmocka_unit_test(any_at_all),
		cmocka_unit_test(lies_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
