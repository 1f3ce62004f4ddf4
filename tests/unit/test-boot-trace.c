/* SPDX-License-Identifier: GPL-2.0-or-later */
/* QEMU's trace of virtio devices: what is a use, and what is none. */
#include "unit.h"

#include "base/clock.h"
#include "boot/device_trace.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static bool hear(struct us_boot_trace *t, const char *text)
{
	return us_boot_trace_bytes(t, text, strlen(text));
}

static void a_status_is_a_use(void **state)
{
	struct us_boot_trace t = { .fd = -1 };
	(void)state;
	assert_true(hear(&t, "virtio_set_status vdev 0x561097938980 val 3\n"));
	assert_true(hear(&t, "7@1.2:virtio_set_status vdev 0x561097938980 val 15\n"));
}

static void a_reset_is_none(void **state)
{
	struct us_boot_trace t = { .fd = -1 };
	(void)state;
	assert_false(hear(&t, "virtio_set_status vdev 0x561097938980 val 0\n"));
	assert_false(hear(&t, "virtio_notify vdev 0x1 vq 0x2 val 3\n"));
	assert_false(hear(&t, " val 3 virtio_set_status vdev 0x1\n"));
	assert_false(hear(&t, "\n\n"));
}

static void a_line_may_come_in_pieces(void **state)
{
	struct us_boot_trace t = { .fd = -1 };
	(void)state;
	assert_false(hear(&t, "virtio_set_st"));
	assert_false(hear(&t, "atus vdev 0x1 val 1"));
	assert_true(hear(&t, "1\nvirtio_set"));
	assert_false(hear(&t, "_status vdev 0x1 val 0\n"));
}

/* As QEMU writes it; a time that is none, or lies far away, is not believed. */
static void its_own_time_counts(void **state)
{
	struct us_boot_trace t = { .fd = -1 };
	(void)state;
	assert_true(hear(&t,
			 "4711@1732000000.000123:virtio_set_status vdev 0x1 val 1\n"
			 "4711@1732000001.000123:virtio_set_status vdev 0x1 val 3\n"));
	assert_int_equal(t.real_ns, 1732000000000123000);
	assert_true(hear(&t, "4711@1.1000000:virtio_set_status vdev 0x1 val 1\n"));
	assert_int_equal(t.real_ns, 0);
	assert_true(hear(&t, "4711@99999999999.1:virtio_set_status vdev 0x1 val 1\n"));
	assert_int_equal(t.real_ns, 0);
	assert_true(hear(&t, "virtio_set_status vdev 0x1 val 1\n"));
	assert_int_equal(t.real_ns, 0);
}

static uint64_t executed[4];
static unsigned n_executed;
static struct us_boot_block last;

static void take(void *ctx, const struct us_boot_block *b)
{
	assert_ptr_equal(ctx, executed);
	executed[n_executed++ % 4] = b->pc;
	last = *b;
}

/* As QEMU 7.2 and 10.0 write it, of 64-bit guests and others. */
static void blocks_that_were_executed(void **state)
{
	struct us_boot_trace t = { .fd = -1, .executed = take, .ctx = executed };
	(void)state;
	assert_false(hear(&t, "Trace 0: 0x7f9a6c000100 [00000000ffff0000/"
			      "00000000fffffff0/00000040/ff000200] \n"));
	assert_false(
		hear(&t, "Trace 1: 0x7f9a [00000000/ffffffff80001000/1/2] kmain\n"));
	assert_false(hear(&t, "Linking TBs 0x7f9a index 0 -> 0x7f9b\n"));
	assert_false(hear(&t, "Trace 1: 0x7f9a [00000000\nTrace : [1/2/3/4]\n\n"));
	assert_true(hear(&t, "Trace 0: 0x1 [0/7c00/0/0]\n"
			     "virtio_set_status vdev 0x1 val 1\n"));
	assert_int_equal(n_executed, 3);
	assert_int_equal(executed[0], 0xfffffff0);
	assert_int_equal(executed[1], 0xffffffff80001000);
	assert_int_equal(executed[2], 0x7c00);
	t.executed = NULL; /* it is not wanted */
	assert_false(hear(&t, "Trace 0: 0x1 [0/7c00/0/0]\n"));
}

/* As QEMU 7.2 writes them: a block is translated again when other code is there. */
static void blocks_have_their_code(void **state)
{
	static const uint8_t loader[] = { 0x89, 0x8e, 0x41, 0, 0, 0, 0x89, 0xbe,
					  0x45, 0,    0,    0, 0, 0, 0,	   0xf3 };
	static const uint8_t kernel[] = { 0x89, 0xc3, 0xf4 };
	static const char run[] = "Trace 0: 0x7f [0/0000000000100000/b0/0] \n";
	static struct us_boot_trace t = { .fd = -1, .executed = take, .ctx = executed };
	(void)state;
	n_executed = 0;
	hear(&t, "----------------\nIN: \n"
		 "0x00100000:  89 8e 41 00 00 00        movl     %ecx, 0x41(%esi)\n"
		 "0x00100006:  89 be 45 00 00 00 00 00  movl     $0, 0x45(%esi)\n"
		 "0x0010000e:  00\n"
		 "0x0010000f:  f3 a4                    rep movsb (%esi)\n\n");
	hear(&t, "IN: main\n0x00200000:  55                       pushl    %ebp\n");
	hear(&t, run);
	assert_int_equal(last.n, US_WATCH_CODE);
	assert_memory_equal(last.code, loader, sizeof(loader));
	hear(&t, "IN: \n0x00100000:  89 c3                    movl     %eax, %ebx\n"
		 "0x00100002:  f4                       hlt      \n");
	hear(&t, run);
	assert_int_equal(last.n, sizeof(kernel));
	assert_memory_equal(last.code, kernel, sizeof(kernel));
	hear(&t, "Trace 0: 0x7f [0/0000000000200000/b0/0] \n");
	assert_int_equal(last.n, 1);
	assert_int_equal(n_executed, 3);
}

/* Other processors' code is in words; whatever is not bytes is not known. */
static void code_in_another_form_is_not_known(void **state)
{
	static struct us_boot_trace t = { .fd = -1, .executed = take, .ctx = executed };
	char line[128];
	(void)state;
	hear(&t, "0x00100000:  89 c3  before any block\nIN: \n"
		 "0x40080000:  580000c0          ldr x0, #0x40080018\n"
		 "Trace 0: 0x7f [0/0000000040080000/b0/0] \n");
	assert_int_equal(last.pc, 0x40080000);
	assert_int_equal(last.n, 0);
	hear(&t, "IN: \n0x00001000:  add\nIN: \n0x\nIN:\n0x1000:\nIN:\n0x1000: 5");
	hear(&t, "\nTrace 0: 0x7f [0/0000000000001000/b0/0] \n");
	assert_int_equal(last.n, 0);
	/* More blocks than are remembered. */
	for (unsigned i = 0; i < 3 * US_BOOT_BLOCKS; i++) {
		snprintf(line, sizeof(line), "IN: \n0x%08x:  f4  hlt\n", i * 16);
		hear(&t, line);
	}
	hear(&t, "Trace 0: 0x7f [0/0000000000000bf0/b0/0] \n");
	assert_int_equal(last.n, 1);
	hear(&t, "Trace 0: 0x7f [0/0000000000000000/b0/0] \n");
	assert_int_equal(last.n, 0);
}

/* A reader that is late hears when it was; one that lies in the future was now. */
static void a_late_reader_is_no_harm(void **state)
{
	char folder[] = "/tmp/uniscope-test-XXXXXX", path[64], line[100];
	struct us_boot_trace t;
	struct us_err e;
	struct timespec real;
	uint64_t at;
	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/trace", folder);
	assert_int_equal(us_boot_trace_open(&t, path, &e), 0);
	int fd = open(path, O_WRONLY);
	for (int late = -5; late <= 5; late += 10) {
		clock_gettime(CLOCK_REALTIME, &real);
		int n = snprintf(line, sizeof(line),
				 "1@%lld.%06ld:virtio_set_status vdev 0x1 val 1\n",
				 (long long)real.tv_sec - late, real.tv_nsec / 1000);
		uint64_t written = us_now_ns();
		assert_int_equal(write(fd, line, (size_t)n), n);
		assert_true(us_boot_trace_hear(&t, &at));
		if (late > 0)
			assert_true(at + 4 * US_NS_PER_SEC < written);
		else
			assert_true(at >= written);
	}
	close(fd);
	us_boot_trace_close(&t);
	unlink(path);
	rmdir(folder);
}

/* One that is too long is cut, and the next one is heard again. */
static void a_long_line_is_no_harm(void **state)
{
	struct us_boot_trace t = { .fd = -1 };
	char text[5000];
	(void)state;
	memset(text, 'x', sizeof(text));
	assert_false(us_boot_trace_bytes(&t, text, sizeof(text)));
	assert_true(t.n < sizeof(t.line));
	assert_false(hear(&t, "virtio_set_status vdev 0x1 val 3\n"));
	assert_true(hear(&t, "virtio_set_status vdev 0x1 val 3\n"));
}

static void the_pipe_is_heard(void **state)
{
	char folder[] = "/tmp/uniscope-test-XXXXXX", path[64];
	struct us_boot_trace t;
	struct us_err e;
	uint64_t at, before = us_now_ns();
	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/trace", folder);
	assert_int_equal(us_boot_trace_open(&t, path, &e), 0);
	int fd = open(path, O_WRONLY);
	assert_true(fd >= 0);
	assert_false(us_boot_trace_hear(&t, &at)); /* nothing yet */
	assert_int_equal(write(fd, "virtio_set_status vdev 0x1 val 1\n", 33), 33);
	assert_true(us_boot_trace_hear(&t, &at));
	assert_true(at >= before && at <= us_now_ns());
	close(fd);
	assert_false(us_boot_trace_hear(&t, &at)); /* its end */
	assert_int_equal(t.fd, -1);
	us_boot_trace_close(&t);
	/* One that is there already is not taken. */
	assert_int_equal(us_boot_trace_open(&t, path, &e), -EEXIST);
	us_boot_trace_close(&t);
	unlink(path);
	rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_status_is_a_use),
		cmocka_unit_test(a_reset_is_none),
		cmocka_unit_test(a_line_may_come_in_pieces),
		cmocka_unit_test(its_own_time_counts),
		cmocka_unit_test(blocks_that_were_executed),
		cmocka_unit_test(blocks_have_their_code),
		cmocka_unit_test(code_in_another_form_is_not_known),
		cmocka_unit_test(a_late_reader_is_no_harm),
		cmocka_unit_test(a_long_line_is_no_harm),
		cmocka_unit_test(the_pipe_is_heard),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
