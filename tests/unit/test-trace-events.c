/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rings of a trace, and who reads them: nothing of a stream is lost. */
#include "unit.h"

#include "store/store.h"
#include "trace/events_last.h"
/* The plugin's side, which the program does not have. */
#include "trace/plugin/event_file.c"  // NOLINT(bugprone-suspicious-include)
#include "trace/plugin/shared_file.c" // NOLINT(bugprone-suspicious-include)

#include <pthread.h>

#define RECORDS US_EVENTS_MIN_RECORD

struct both {
	char path[64];
	struct us_events_head *head;
	struct us_events events;
	struct us_events_file file;
	struct us_writer *w;
	struct us_err e;
};

static void start_vcpus(struct both *b, bool stream, uint32_t n, uint32_t n_started)
{
	int fd = memfd_create("recording", MFD_CLOEXEC);
	strcpy(b->path, "/tmp/uniscope-events-XXXXXX");
	int made = mkstemp(b->path);
	uint64_t size;
	assert_true(fd >= 0 && made >= 0);
	close(made);
	struct us_event_options o = US_EVENT_OPTIONS_DEFAULT;
	o.path = b->path;
	o.n_record = RECORDS;
	o.stream = stream;
	assert_int_equal(us_event_file_make(&o, n, &b->head, &size), 0);
	assert_int_equal(size, b->head->size);
	us_event_file_vcpu(b->head, &o, 0, &b->events);
	us_event_file_started(b->head, n_started - 1);
	assert_int_equal(us_events_open(b->path, &b->file, &b->e), 0);
	assert_int_equal(us_writer_open(fd, &b->w, &b->e), 0);
}

static void start(struct both *b, bool stream)
{
	start_vcpus(b, stream, 1, 1);
}

static void end(struct both *b)
{
	us_writer_close(b->w);
	us_events_close(&b->file);
	munmap(b->head, b->head->size);
	unlink(b->path);
}

static void write_some(struct both *b, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		us_events_write(&b->events,
				(uint64_t)US_EVENT_ENTER << US_EVENT_KIND_SHIFT | i);
}

static void read_all(struct both *b)
{
	assert_int_equal(us_events_record(&b->file, b->w, &b->e), 0);
}

/* To the last record, and there is no room for one more: the writer would wait. */
static void a_full_stream_is_read(void **state)
{
	struct both b = { 0 };
	(void)state;
	start(&b, true);
	for (unsigned i = 1; i <= 3; i++) {
		write_some(&b, RECORDS);
		read_all(&b);
		assert_int_equal(b.file.n_call, i * RECORDS);
		assert_int_equal(b.file.n_lost, 0);
	}
	assert_int_equal(b.events.vcpu->waited_ns, 0);
	end(&b);
}

/* Calls and system calls, not what else the stream has; a message is several records,
 * which may come in two readings. */
static void what_a_user_counts(void **state)
{
	struct both b = { 0 };
	uint8_t message[40] = { 0 };
	struct us_events_last l = { .n_call = 9 };
	(void)state;
	start(&b, false);
	for (unsigned type = 1; type <= 4; type++) {
		message[0] = (uint8_t)type;
		us_events_put_data(&b.events, UINT64_MAX >> 8, message,
				   sizeof(message));
	}
	for (uint64_t kind = US_EVENT_ENTER; kind <= US_EVENT_STACK; kind++)
		us_events_write(&b.events, kind << US_EVENT_KIND_SHIFT);
	b.events.vcpu->written -= 30; /* within a message */
	read_all(&b);
	b.events.vcpu->written += 30;
	read_all(&b);
	assert_int_equal(b.file.n_call, 3);
	assert_int_equal(b.file.n_syscall, 1);
	us_events_close(&b.file);
	assert_int_equal(us_events_open(b.path, &b.file, &b.e), 0);
	assert_int_equal(us_events_last_record(&b.file, b.w, &l, &b.e), 0);
	assert_int_equal(l.n_call, 3);
	assert_int_equal(l.n_syscall, 1);
	end(&b);
}

/* The newest stay; the first reading loses nothing that somebody had waited for. */
static void a_flight_recorder_keeps_the_newest(void **state)
{
	struct both b = { 0 };
	(void)state;
	start(&b, false);
	write_some(&b, 3 * RECORDS);
	read_all(&b);
	assert_int_equal(b.file.n_call, RECORDS - 1);
	assert_int_equal(b.file.n_lost, 0);
	write_some(&b, RECORDS + 10);
	read_all(&b);
	assert_int_equal(b.file.n_lost, 11);
	assert_int_equal(b.file.n_call, 2 * (RECORDS - 1));
	end(&b);
}

static void write_at(struct both *b, uint64_t t_ns, uint64_t insns)
{
	us_events_write(&b->events,
			(uint64_t)US_EVENT_TIME << US_EVENT_KIND_SHIFT | t_ns);
	us_events_write(&b->events,
			(uint64_t)US_EVENT_ENTER << US_EVENT_KIND_SHIFT | insns);
}

/* Of events at 0, 100 ... 99900 ns, or 10 instructions apart. */
static uint64_t n_last(uint64_t insn_ns, uint64_t last_ns, uint64_t *ret_from)
{
	struct both b = { 0 };
	struct us_events_last l = { .insn_ns = insn_ns, .n_call = 1 };
	start(&b, false);
	for (unsigned i = 0; i < 1000; i++)
		write_at(&b, 100ULL * i, 10ULL * i);
	*ret_from = l.from_ns = us_events_last_from(&b.file, insn_ns, last_ns);
	assert_int_equal(us_events_last_record(&b.file, b.w, &l, &b.e), 0);
	assert_int_equal(b.file.n_call, 512); /* what the ring has room for */
	end(&b);
	return l.n_call;
}

/* However long ago that was: QEMU takes its time to end. */
static void the_last_part_is_counted_from_the_last_event(void **state)
{
	uint64_t from;
	(void)state;
	assert_int_equal(n_last(0, 1000, &from), 11);
	assert_int_equal(from, 98900);
	assert_int_equal(n_last(8, 1000, &from), 13); /* 80 ns apart */
	assert_int_equal(from, 9990 * 8 - 1000);
	assert_int_equal(n_last(0, 1, &from), 1);
	assert_int_equal(n_last(0, 200000, &from), 511);
	assert_int_equal(from, 0);
	struct both b = { 0 };
	start(&b, false); /* nothing was executed */
	assert_int_equal(us_events_last_from(&b.file, 0, 1), 0);
	end(&b);
}

static void *write_many(void *arg)
{
	write_some(arg, 200 * RECORDS);
	return NULL;
}

/* A guest that is far too fast, and the reader beside it. */
static void a_stream_waits(void **state)
{
	struct both b = { 0 };
	pthread_t writer;
	(void)state;
	start(&b, true);
	assert_int_equal(pthread_create(&writer, NULL, write_many, &b), 0);
	while (b.file.n_call < 200 * RECORDS && !b.file.n_lost)
		read_all(&b);
	assert_int_equal(b.file.n_lost, 0);
	assert_int_equal(pthread_join(writer, NULL), 0);
	assert_int_equal(b.file.n_call, 200 * RECORDS);
	end(&b);
}

/* The guest goes on, and what was lost is told when a reader is there again. */
static void a_stream_does_not_wait_for_the_dead(void **state)
{
	struct both b = { 0 };
	(void)state;
	start(&b, true);
	write_some(&b, RECORDS);
	b.head->reader_ns = 0;
	write_some(&b, 5);
	assert_int_equal(b.head->abandoned, 1);
	uint32_t epoch = b.head->epoch;
	b.file.at[0] = 1; /* it had begun */
	read_all(&b);
	assert_int_equal(b.file.n_lost, 5);
	assert_int_equal(b.file.n_call, RECORDS - 1);
	assert_int_equal(b.head->abandoned, 0);
	assert_int_not_equal(b.head->epoch, epoch);
	end(&b);
}

/* Its reader loses nothing by one beside it, nor does that one make the guest wait. */
static void one_reads_beside(void **state)
{
	struct both b = { 0 };
	struct us_events_file beside;
	(void)state;
	start(&b, true);
	write_some(&b, 10);
	assert_int_equal(us_events_open(b.path, &beside, &b.e), 0);
	uint32_t epoch = b.head->epoch;
	us_events_beside(&beside, true);
	assert_int_not_equal(b.head->epoch, epoch);
	write_some(&b, 5);
	assert_int_equal(us_events_record(&beside, b.w, &b.e), 0);
	assert_int_equal(beside.n_call, 5);
	assert_int_equal(b.events.vcpu->read, 0);
	read_all(&b);
	assert_int_equal(b.file.n_call, 15);
	write_some(&b, RECORDS);
	read_all(&b);
	write_some(&b, RECORDS);
	epoch = b.head->epoch;
	assert_int_equal(us_events_record(&beside, b.w, &b.e), 0);
	/* The one that may be being written just now, too. */
	assert_int_equal(beside.n_lost, RECORDS + 1);
	assert_int_not_equal(b.head->epoch, epoch);
	read_all(&b);
	assert_int_equal(b.file.n_lost, 0);
	us_events_close(&beside);
	end(&b);
}

/* A machine to which vCPUs could be added, but were not. */
static void few_of_many_vcpus_are_read(void **state)
{
	struct both b = { 0 };
	(void)state;
	start_vcpus(&b, true, 2 * US_MAX_VCPUS, 4);
	assert_int_equal(us_events_n_vcpu(&b.file), 4);
	write_some(&b, 10);
	read_all(&b);
	assert_int_equal(b.file.n_call, 10);
	end(&b);
}

/* They are not recorded, but do not wait for ever, either. */
static void vcpus_beyond_do_not_wait(void **state)
{
	struct both b = { 0 };
	const struct us_event_options o = US_EVENT_OPTIONS_DEFAULT;
	(void)state;
	start_vcpus(&b, true, US_MAX_VCPUS + 1, US_MAX_VCPUS + 1);
	assert_int_equal(us_events_n_vcpu(&b.file), US_MAX_VCPUS);
	us_event_file_vcpu(b.head, &o, US_MAX_VCPUS, &b.events);
	write_some(&b, RECORDS);
	read_all(&b);
	assert_int_equal(b.file.n_call, 0);
	assert_int_equal(b.events.vcpu->read, RECORDS);
	end(&b);
}

/* A reader is not to take it for a file. */
static void what_has_no_room_leaves_nothing(void **state)
{
	char path[] = "/tmp/uniscope-events-XXXXXX";
	int fd = mkstemp(path);
	void *p;
	(void)state;
	assert_true(fd >= 0);
	close(fd);
	assert_true(us_shared_file_make(path, 1ULL << 62, &p) < 0);
	assert_null(p);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(us_shared_file_make("/tmp", 4096, &p), -EISDIR);
}

static void another_version_says_so(void **state)
{
	struct both b = { 0 };
	struct us_events_file file;
	(void)state;
	start(&b, false);
	b.head->version++;
	assert_int_equal(us_events_open(b.path, &file, &b.e), -EBADMSG);
	assert_non_null(strstr(b.e.msg, "of another version of uniscope"));
	end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_has_no_room_leaves_nothing),
		cmocka_unit_test(a_full_stream_is_read),
		cmocka_unit_test(what_a_user_counts),
		cmocka_unit_test(a_flight_recorder_keeps_the_newest),
		cmocka_unit_test(the_last_part_is_counted_from_the_last_event),
		cmocka_unit_test(a_stream_waits),
		cmocka_unit_test(a_stream_does_not_wait_for_the_dead),
		cmocka_unit_test(one_reads_beside),
		cmocka_unit_test(few_of_many_vcpus_are_read),
		cmocka_unit_test(vcpus_beyond_do_not_wait),
		cmocka_unit_test(another_version_says_so),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
