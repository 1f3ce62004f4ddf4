/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is said of processes between two readings of the list: nothing that a third may
 * not take back. */
#include "unit.h"

#include "base/clock.h"
#include "cmd/record/processes.h"
#include "linux-tasks.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define STEP   4096U
#define SIGNAL 2048U
#define MM     3072U
#define ROOT   0x2000U

static const struct us_linux_tasks_layout *const l = &test_tasks_layout;
static uint8_t memory[8 * STEP];
static struct us_mem mem;
static struct us_linux kernel;
static struct us_processes processes;
static struct us_writer *writer;
static int fd;
static uint64_t start_ns;

static us_gva task(unsigned n)
{
	return TEST_TASKS + n * STEP;
}

static void put(us_gva at, const void *bytes, size_t n)
{
	memcpy(memory + (at - TEST_TASKS), bytes, n);
}

static void put64(us_gva at, uint64_t v)
{
	put(at, &v, sizeof(v));
}

static void link_to(us_gva from, us_gva to)
{
	put64(from, to);
	put64(to + 8, from);
}

static bool endless; /* the list of tasks: all is made up, word by word */

static void read_endless(us_gva at, uint8_t *to, size_t len)
{
	for (size_t k = 0; k < len; k++, at++) {
		us_gva word = at & ~7ULL;
		us_gva link = (at - TEST_TASKS) / STEP * STEP + TEST_TASKS + l->tasks;
		uint64_t v = word == link	? link + STEP
			     : word == link + 8 ? link - STEP
						: 0;
		to[k] = (uint8_t)(v >> 8 * (at & 7));
	}
}

static bool read_guest(void *ctx, us_gpa at, void *buf, size_t len)
{
	(void)ctx;
	if (endless && at >= TEST_TASKS) {
		read_endless(at, buf, len);
		return true;
	}
	if (at < TEST_TASKS || at - TEST_TASKS > sizeof(memory) - len)
		return false;
	memcpy(buf, memory + (at - TEST_TASKS), len);
	return true;
}

/* The only process besides init_task; 0: none. */
static void run(uint32_t pid, const char *comm)
{
	char name[US_LINUX_COMM] = "";
	us_gva signal = task(1) + SIGNAL;
	memcpy(name, comm, strnlen(comm, US_LINUX_COMM - 1));
	put(task(1) + l->pid, &pid, 4);
	put(task(1) + l->tgid, &pid, 4);
	put(task(1) + l->comm, name, sizeof(name));
	put64(task(1) + l->stack, TEST_TASKS + 0x100000);
	put64(task(1) + test_who_layout.leader, task(1));
	put64(task(1) + l->signal, signal);
	put64(task(1) + l->mm, task(1) + MM);
	put64(task(1) + MM + l->pgd, TEST_TASKS + ROOT);
	link_to(signal + l->thread_head, task(1) + l->thread_node);
	link_to(task(1) + l->thread_node, signal + l->thread_head);
	link_to(task(0) + l->tasks, pid ? task(1) + l->tasks : task(0) + l->tasks);
	link_to(pid ? task(1) + l->tasks : task(0) + l->tasks, task(0) + l->tasks);
}

/* One more thread of the process: behind the last in its list. */
static void thread(unsigned n, uint32_t pid)
{
	us_gva head = task(1) + SIGNAL + l->thread_head;
	us_gva last = task(n - 1) + l->thread_node;
	memcpy(memory + n * STEP, memory + STEP, SIGNAL);
	put(task(n) + l->pid, &pid, 4);
	put64(task(n) + l->stack, TEST_TASKS + 0x100000 + n * 0x4000);
	link_to(last, task(n) + l->thread_node);
	link_to(task(n) + l->thread_node, head);
}

/* The list is read, and what is known by now is written. */
static void look(void)
{
	usleep(2000); /* times in the file are whole microseconds */
	us_processes_read(&processes, &kernel, &mem, start_ns);
	assert_int_equal(us_processes_write(&processes, writer), 0);
}

static int set_up(void **state)
{
	bool by_stack = *state != NULL;
	memset(memory, 0, sizeof(memory));
	mem = (struct us_mem){ .read = read_guest };
	us_mem_init(&mem);
	kernel = (struct us_linux){ .space = { .mode = US_PAGING_OFF },
				    .tasks = test_tasks_layout,
				    .who = test_who_layout,
				    .has_tasks = true,
				    .has_who = true };
	us_processes_init(&processes, by_stack);
	atomic_store(&processes.wanted, true);
	fd = memfd_create("recording", MFD_CLOEXEC);
	start_ns = us_now_ns();
	return us_writer_open(fd, &writer, NULL);
}

static int tear_down(void **state)
{
	(void)state;
	us_writer_close(writer);
	us_processes_fini(&processes);
	close(fd);
	return 0;
}

struct heard {
	unsigned n;
	struct us_process last;
	struct us_task task;
	char name[64];
};

static int on_process(void *ctx, const struct us_process *s)
{
	struct heard *h = ctx;
	h->n++;
	h->last = *s;
	snprintf(h->name, sizeof(h->name), "%s", s->name);
	return 0;
}

static int on_task(void *ctx, const struct us_task *t)
{
	struct heard *h = ctx;
	h->n++;
	h->task = *t;
	snprintf(h->name, sizeof(h->name), "%s", t->name);
	return 0;
}

static struct heard hear(bool tasks)
{
	const struct us_reader_ops ops = { .process = tasks ? NULL : on_process,
					   .task = tasks ? on_task : NULL };
	struct us_reader_result r;
	struct heard h = { 0 };
	assert_int_equal(us_writer_flush(writer, NULL), 0);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(us_read(fd, &ops, &h, &r, NULL), 0);
	lseek(fd, 0, SEEK_END);
	return h;
}

static void seen_once_is_not_known(void **state)
{
	(void)state;
	run(7, "sh");
	look();
	assert_int_equal(hear(false).n, 0);
	run(9, "dd"); /* on the same page tables */
	look();
	assert_int_equal(hear(false).n, 0);
	look();
	struct heard h = hear(false);
	assert_int_equal(h.n, 1);
	assert_string_equal(h.name, "dd");
	assert_true(h.last.from_ns && !h.last.until_ns);
}

static void what_was_said_is_taken_back(void **state)
{
	(void)state;
	run(7, "sh");
	look();
	look();
	uint64_t from = hear(false).last.from_ns;
	assert_int_equal(hear(false).last.until_ns, 0);
	run(0, "");
	look();
	struct heard h = hear(false);
	assert_int_equal(h.n, 2);
	assert_string_equal(h.name, "sh");
	assert_true(h.last.from_ns == from && h.last.until_ns > from);
	look();
	assert_int_equal(hear(false).n, 2);
}

/* Page-table isolation: the only process has a second root in the page after its own.
 */
static void one_process_shows_isolation(void **state)
{
	(void)state;
	run(7, "sh");
	put64(TEST_TASKS + ROOT + 8, 0x8000000012345067);
	look();
	look();
	assert_false(hear(false).last.pair);
	put64(TEST_TASKS + ROOT + STEP + 8, 0x12345067);
	look();
	assert_true(hear(false).last.pair);
}

/* Before the recording both times are 0, and until 0 would be to the end. */
static void gone_before_the_start(void **state)
{
	(void)state;
	uint64_t start = start_ns;
	start_ns = 0;
	run(7, "sh");
	look();
	start_ns = start;
	look();
	run(0, "");
	look();
	struct heard h = hear(false);
	assert_int_equal(h.last.from_ns, 0);
	assert_true(h.last.until_ns);
}

static void stacks_change_hands(void **state)
{
	(void)state;
	run(7, "sh");
	look();
	look();
	struct heard h = hear(true);
	assert_int_equal(h.n, 1); /* of init_task nothing can be read */
	run(9, "dd");
	look();
	h = hear(true);
	assert_int_equal(h.n, 2);
	assert_string_equal(h.name, "sh");
	assert_true(h.task.stack == TEST_TASKS + 0x100000 && h.task.until_ns);
	look();
	h = hear(true);
	assert_string_equal(h.name, "dd");
	assert_true(h.task.from_ns && !h.task.until_ns && !h.task.id);
}

/* Samples tell their threads: the list of tasks says how many a process has, with two
 * of many, and nothing of kernel threads. */
static void two_tell_several(void **state)
{
	(void)state;
	kernel.who.current = TEST_TASKS;
	run(7, "sh");
	look();
	look();
	struct heard h = hear(true);
	assert_int_equal(h.n, 1);
	assert_true(h.task.stack && h.task.pid == 7 && !h.task.id);
	thread(2, 9);
	thread(3, 8);
	thread(4, 10);
	look();
	look();
	h = hear(true);
	assert_int_equal(h.n, 2);
	assert_int_equal(h.task.pid, 8);
	assert_int_equal(h.task.tgid, 7);
	run(12, "kworker");
	put64(task(1) + l->mm, 0);
	look();
	look();
	assert_int_equal(hear(true).task.tgid, 7);
}

/* Another kernel runs: what was read since it was seen last is what it left behind. The
 * next one's process of that number, on those page tables, is another. */
static void kernel_is_gone(void **state)
{
	(void)state;
	run(7, "sh");
	look();
	uint64_t good_ns = us_now_ns() - start_ns;
	look();
	look();
	us_processes_end(&processes, good_ns);
	assert_int_equal(us_processes_write(&processes, writer), 0);
	struct heard h = hear(false);
	assert_string_equal(h.name, "sh");
	assert_true(h.last.until_ns && h.last.until_ns <= good_ns);
	run(7, "dd");
	look();
	look();
	h = hear(false);
	assert_string_equal(h.name, "dd");
	assert_true(h.last.from_ns > good_ns && !h.last.until_ns);
	/* Said too early, of one that was never seen twice until then. */
	us_processes_end(&processes, 0);
	assert_int_equal(us_processes_write(&processes, writer), 0);
	h = hear(false);
	assert_int_equal(h.last.from_ns, h.last.until_ns);
}

static int on_fact(void *ctx, const char *key, const char *value)
{
	if (!strcmp(key, us_limit_key(US_LIMIT_TASKS)))
		snprintf(ctx, 64, "%s", value);
	return 0;
}

static void too_many_tasks(void **state)
{
	(void)state;
	static const struct us_reader_ops ops = { .fact = on_fact };
	struct us_reader_result r;
	char got[64] = "";
	endless = true;
	look();
	endless = false;
	assert_int_equal(us_writer_flush(writer, NULL), 0);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(us_read(fd, &ops, got, &r, NULL), 0);
	assert_string_equal(got, "1 100000");
	assert_int_equal(processes.stats.scans, 1);
	assert_int_equal(processes.stats.tasks, US_LINUX_MAX_TASKS);
}

int main(void)
{
	static char by_stack[] = "by stack";
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(seen_once_is_not_known, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_was_said_is_taken_back, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(one_process_shows_isolation, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(gone_before_the_start, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(kernel_is_gone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(two_tell_several, set_up, tear_down),
		cmocka_unit_test_setup_teardown(too_many_tasks, set_up, tear_down),
		cmocka_unit_test_prestate_setup_teardown(stacks_change_hands, set_up,
							 tear_down, by_stack),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
