/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A boot whose VMM never gets to its guest still ends, and one whose guest ends is a
 * boot. */
#include "unit.h"

#include "base/clock.h"
#include "boot/booting.h"
#include "boot/breakpoints.h"
#include "boot/run.h"
#include "vmm/plugin_boot.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static bool is_stopped;
static unsigned n_begin, n_go;
static int stub_fd = -1; /* what is heard is its end; -1: nothing */

/* ---- A stub that waits for us ---- */

int __wrap_us_boot_breakpoints_open(const char *path, struct us_boot_breakpoints **ret,
				    struct us_err *e);
int __wrap_us_boot_breakpoints_set(struct us_boot_breakpoints *b,
				   const struct us_boot_plan *p, struct us_err *e);
int __wrap_us_boot_breakpoints_go(struct us_boot_breakpoints *b, struct us_err *e);
int __wrap_us_boot_breakpoints_fd(const struct us_boot_breakpoints *b);
uint64_t __wrap_us_boot_breakpoints_ready_ns(const struct us_boot_breakpoints *b);
uint64_t __wrap_us_boot_breakpoints_start_ns(const struct us_boot_breakpoints *b);
int __wrap_us_boot_breakpoints_hear(struct us_boot_breakpoints *b,
				    struct us_boot_hit *ret, struct us_err *e);
void __wrap_us_boot_breakpoints_close(struct us_boot_breakpoints *b);

int __wrap_us_boot_breakpoints_open(const char *path, struct us_boot_breakpoints **ret,
				    struct us_err *e)
{
	(void)path;
	(void)e;
	*ret = (void *)&n_go;
	return 0;
}

int __wrap_us_boot_breakpoints_set(struct us_boot_breakpoints *b,
				   const struct us_boot_plan *p, struct us_err *e)
{
	(void)b;
	(void)p;
	(void)e;
	return 0;
}

int __wrap_us_boot_breakpoints_go(struct us_boot_breakpoints *b, struct us_err *e)
{
	(void)b;
	(void)e;
	n_go++;
	return 0;
}

int __wrap_us_boot_breakpoints_fd(const struct us_boot_breakpoints *b)
{
	(void)b;
	return stub_fd;
}

uint64_t __wrap_us_boot_breakpoints_ready_ns(const struct us_boot_breakpoints *b)
{
	(void)b;
	return us_now_ns();
}

uint64_t __wrap_us_boot_breakpoints_start_ns(const struct us_boot_breakpoints *b)
{
	(void)b;
	return us_now_ns();
}

int __wrap_us_boot_breakpoints_hear(struct us_boot_breakpoints *b,
				    struct us_boot_hit *ret, struct us_err *e)
{
	(void)b;
	*ret = (struct us_boot_hit){ .point = SIZE_MAX };
	return us_fail(e, -ECONNRESET, "it closed the connection");
}

void __wrap_us_boot_breakpoints_close(struct us_boot_breakpoints *b)
{
	(void)b;
}

/* ---- A sampler that finds no vCPUs ---- */

static int begin_never(void *ctx, pid_t pid, struct us_err *e)
{
	(void)ctx;
	(void)pid;
	(void)e;
	n_begin++;
	return -EAGAIN;
}

static bool saw_none(void *ctx, size_t point, struct us_boot_moment *ret)
{
	(void)ctx;
	(void)point;
	(void)ret;
	return false;
}

static int check_none(void *ctx, uint64_t *ret, struct us_err *e)
{
	(void)ctx;
	(void)e;
	*ret = 0;
	return 0;
}

static void end_none(void *ctx)
{
	(void)ctx;
}

static bool stopped(void)
{
	return is_stopped;
}

/* ---- The tests ---- */

static int boot(uint64_t timeout_ns, struct us_boot_run *ret)
{
	static char *argv[] = { "sleep", "100", NULL };
	static const struct us_boot_sampler sampler = { .begin = begin_never,
							.saw = saw_none,
							.check = check_none,
							.end = end_none };
	static const struct us_boot_plan plan = {
		.point = { { .kind = US_BOOT_LAUNCH },
			   { .kind = US_BOOT_IDLE, .wanted = true } },
		.n = 2,
	};
	const struct us_boot_how how = { .argv = argv,
					 .stub = "/nowhere",
					 .sampler = &sampler,
					 .timeout_ns = timeout_ns,
					 .stopped = stopped };
	struct us_err e;
	n_begin = n_go = 0;
	alarm(60); /* it used to wait for ever */
	int r = us_boot_run(&plan, &how, ret, &e);
	alarm(0);
	assert_true(n_begin > 0);
	assert_int_equal(n_go, 0);
	return r;
}

static void it_ends_in_time(void **state)
{
	struct us_boot_run run;
	(void)state;
	is_stopped = false;
	assert_int_equal(boot(US_NS_PER_SEC, &run), 0);
	assert_false(run.whole || run.ended);
	assert_in_range(run.end_ns, US_NS_PER_SEC, 50 * US_NS_PER_SEC);
}

static void it_ends_when_stopped(void **state)
{
	struct us_boot_run run;
	(void)state;
	is_stopped = true;
	assert_int_equal(boot(100 * US_NS_PER_SEC, &run), -EINTR);
}

/* ---- A guest that ends ---- */

/* The stub is closed at once, and this goes on. */
static void boot_closed(const char *script, bool wanted, struct us_boot_run *ret)
{
	char *argv[] = { "sh", "-c", (char *)(uintptr_t)script, NULL };
	const struct us_boot_plan plan = {
		.point = { { .kind = US_BOOT_LAUNCH },
			   { .kind = US_BOOT_SERIAL, .wanted = true },
			   { .kind = US_BOOT_IDLE, .wanted = wanted } },
		.n = 3,
	};
	const struct us_boot_how how = { .argv = argv,
					 .ways = US_BOOT_BY_BREAKPOINTS,
					 .stub = "/nowhere",
					 .timeout_ns = 50 * US_NS_PER_SEC,
					 .linger_ns = 40 * US_NS_PER_SEC,
					 .stopped = stopped };
	struct us_err e;
	int closed[2];
	is_stopped = false;
	assert_int_equal(pipe(closed), 0);
	close(closed[1]);
	stub_fd = closed[0];
	assert_int_equal(us_boot_run(&plan, &how, ret, &e), 0);
	close(stub_fd);
	stub_fd = -1;
}

/* QEMU closes its stub first, and then writes its disks. */
static void the_stub_ends_before_the_vmm(void **state)
{
	struct us_boot_run run;
	(void)state;
	boot_closed("echo up; sleep 0.5; exit 3", true, &run);
	assert_true(run.at[1].seen);
	assert_true(run.ended && !run.whole);
	assert_int_equal(WEXITSTATUS(run.status), 3);
	boot_closed("echo up; sleep 0.5", false, &run);
	assert_true(run.whole && !run.ended);
}

/* ---- The point that the plugin counts for ---- */

enum { KERNEL = 2 }; /* its point in the plan below */

/* The plugin passes the kernel's entry at this time; then the VMM writes. */
static uint32_t point_after_output(const char *wall_ns)
{
	char dir[] = "/tmp/boot-run-XXXXXX", file[64], script[1024];
	assert_non_null(mkdtemp(dir));
	snprintf(file, sizeof(file), "%s/file", dir);
	snprintf(script, sizeof(script),
		 "put() { printf \"$2\" | dd of=%s bs=1 seek=$1 conv=notrunc "
		 "status=none; }\n"
		 "put %zu '%s'; put %zu '\\002'; echo x; sleep 0.3; cp %s %s/copy",
		 file, offsetof(struct us_boot_file, watch[0].wall_ns), wall_ns,
		 offsetof(struct us_boot_file, point), file, dir);
	char *argv[] = { "sh", "-c", script, NULL };
	static const struct us_boot_plan plan = {
		.point = { { .kind = US_BOOT_LAUNCH },
			   { .kind = US_BOOT_SERIAL },
			   { .kind = US_BOOT_ENTRY,
			     .address = { 0x100000 },
			     .n_address = 1 },
			   { .kind = US_BOOT_IDLE, .wanted = true } },
		.n = 4,
	};
	const struct us_boot_how how = { .argv = argv,
					 .file = file,
					 .timeout_ns = 20 * US_NS_PER_SEC,
					 .stopped = stopped };
	struct us_boot_run run;
	struct us_err e;
	static struct us_boot_file copy;
	is_stopped = false;
	assert_int_equal(us_boot_run(&plan, &how, &run, &e), 0);
	snprintf(file, sizeof(file), "%s/copy", dir);
	FILE *f = fopen(file, "r");
	assert_non_null(f);
	assert_int_equal(fread(&copy, sizeof(copy), 1, f), 1);
	fclose(f);
	unlink(file);
	rmdir(dir);
	assert_true(run.at[1].seen);
	return copy.point;
}

/* It may have passed one while uniscope had no CPU to read the output on. */
static void output_does_not_lead_back(void **state)
{
	(void)state;
	assert_int_equal(point_after_output("\\377\\377\\377\\377\\377\\377\\177"),
			 KERNEL);
	assert_int_equal(point_after_output("\\001"), 1);
}

/* ---- What the guest writes ---- */

/* Is there a line of the output, as printf has it, that matches? */
static bool is_matched(const char *output, const char *regex)
{
	char script[256];
	char *argv[] = { "sh", "-c", script, NULL };
	struct us_boot_plan plan = {
		.point = { { .kind = US_BOOT_LAUNCH },
			   { .kind = US_BOOT_TEXT, .wanted = true } },
		.n = 2,
	};
	const struct us_boot_how how = { .argv = argv,
					 .timeout_ns = 50 * US_NS_PER_SEC,
					 .stopped = stopped };
	struct us_boot_run run;
	struct us_err e;
	snprintf(script, sizeof(script), "printf '%s'", output);
	assert_int_equal(regcomp(&plan.point[1].text, regex, REG_EXTENDED | REG_NOSUB),
			 0);
	is_stopped = false;
	assert_int_equal(us_boot_run(&plan, &how, &run, &e), 0);
	regfree(&plan.point[1].text);
	return run.at[1].seen;
}

static void a_screen_has_lines(void **state)
{
	(void)state;
	assert_true(
		is_matched("\\033[2J\\033[01;01HMENU\\033[25;01HREADY>", "^READY>$"));
	assert_true(is_matched("MENU\\033[25;01HREADY>", "^MENU$"));
	assert_false(is_matched("MENU\\033[25;01HREADY>", "MENU.*READY"));
	assert_true(is_matched("[\\033[0;32m  OK  \\033[0m] up", "^\\[  OK  ] up$"));
	assert_true(is_matched("one\\033[3Ctwo", "^one two$"));
	assert_true(is_matched("\\033]0;title\\007root#", "^root#$"));
	/* A sequence that comes in two parts; and one that is broken off. */
	assert_true(is_matched("\\033[3'; sleep 0.2; printf '1mred", "^red$"));
	assert_true(is_matched("\\033[3\\nnext", "^next$"));
}

/* What comes late in it is found, and does not count as its begin. */
static void a_line_has_any_length(void **state)
{
	(void)state;
	assert_true(is_matched("begin %3000s late", "late$"));
	assert_true(is_matched("begin %3000s late", "^begin"));
	assert_false(is_matched("begin %3000s late", "^ "));
	assert_false(is_matched("begin %3000s late", "begin  *$"));
	assert_true(is_matched("%3000s\\nnext", "^next$"));
}

/* ---- Stops of the stub ---- */

/* A loader that passes each breakpoint as often as it may. */
static void each_stop_is_left_out(void **state)
{
	static struct us_booting b;
	const uint64_t n = US_MAX_BREAKPOINT * 64 + 1;
	(void)state;
	for (uint64_t i = 0; i < n; i++)
		us_booting_hold(&b, 10 * i, 10 * i + 1);
	assert_int_equal(us_booting_stood_until(&b, 10 * n), n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(output_does_not_lead_back),
		cmocka_unit_test(it_ends_in_time),
		cmocka_unit_test(it_ends_when_stopped),
		cmocka_unit_test(the_stub_ends_before_the_vmm),
		cmocka_unit_test(each_stop_is_left_out),
		cmocka_unit_test(a_screen_has_lines),
		cmocka_unit_test(a_line_has_any_length),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
