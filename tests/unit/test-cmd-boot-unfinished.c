/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is said of a boot that did not get to its end. */
#include "cmd/boot/unfinished.h"

#include "unit.h"

#include <errno.h>
#include <string.h>

#define CHATTER                                                                        \
	"qemu: module ui-ui-gtk not found, do you want to install qemu-system-gui "    \
	"package?\n"                                                                   \
	"VNC server running on 127.0.0.1:5900\n"
#define EXITED(code) ((code) << 8) /* as waitpid() has it */

static struct us_boot_variant v;
static struct us_boot_plan plan;
static struct us_boot_run run;
static struct us_err e;

static void add(enum us_boot_kind kind, const char *name, bool wanted)
{
	struct us_boot_point *p = &plan.point[plan.n++];
	*p = (struct us_boot_point){ .kind = kind, .wanted = wanted };
	snprintf(p->name, sizeof(p->name), "%s", name);
}

/* A boot by the plugin until serial:hello, which does not come. */
static int begin(void **state)
{
	(void)state;
	memset(&v, 0, sizeof(v));
	memset(&plan, 0, sizeof(plan));
	memset(&run, 0, sizeof(run));
	memset(&e, 0, sizeof(e));
	strcpy(v.vmm, "qemu");
	v.way = US_BOOT_BY_PLUGIN;
	v.timeout_ns = 5000000000;
	add(US_BOOT_LAUNCH, "VMM launched", false);
	add(US_BOOT_START, "first instruction", false);
	add(US_BOOT_SYMBOL, "kmain", false);
	add(US_BOOT_TEXT, "serial:hello", true);
	add(US_BOOT_IDLE, "first idle", false);
	run.at[0].seen = true;
	return 0;
}

static void says(struct us_boot_tail *t, const char *text, size_t n)
{
	memcpy(t->text, text, n);
	t->n = n;
}
#define SAYS(tail, text) says(tail, text, sizeof(text) - 1)

static void ends(int status)
{
	run.ended = true;
	run.status = status;
	assert_int_equal(us_boot_unfinished(&v, &plan, &run, &e), -ECHILD);
}

static void ends_late(void)
{
	assert_int_equal(us_boot_unfinished(&v, &plan, &run, &e), -ETIMEDOUT);
}

static void passes(size_t point, uint64_t wall_ns)
{
	run.at[point].seen = true;
	run.at[point].wall_ns = wall_ns;
}

/* ---- The last words ---- */

static void a_guest_that_ends_has_the_last_word(void **state)
{
	(void)state;
	SAYS(&run.said, "hello\nbye\r\n");
	SAYS(&run.complained, "some warning\n");
	ends(EXITED(0));
	assert_non_null(strstr(e.msg, "(status 0)"));
	assert_non_null(strstr(e.msg, ": hello/bye"));
}

static void a_vmm_that_fails_says_why(void **state)
{
	(void)state;
	SAYS(&run.said, "hello\n");
	SAYS(&run.complained, CHATTER "cannot open it\n");
	ends(EXITED(1));
	assert_non_null(
		strstr(e.msg, "(status 1) before serial:hello: cannot open it"));
	ends(9);
	assert_non_null(
		strstr(e.msg, "(signal 9) before serial:hello: cannot open it"));
}

/* The guest can end its VMM with a status of its own. */
static void chatter_is_no_error(void **state)
{
	(void)state;
	SAYS(&run.said, "panic\n");
	SAYS(&run.complained, CHATTER);
	ends(EXITED(3));
	assert_non_null(strstr(e.msg, ": panic"));
	assert_null(strstr(e.msg, "VNC"));
}

static void chatter_is_no_word(void **state)
{
	(void)state;
	SAYS(&run.complained, CHATTER);
	ends_late();
	assert_non_null(strstr(e.msg, ": it wrote nothing"));
	SAYS(&run.complained, CHATTER "a warning\n" CHATTER);
	ends_late();
	assert_non_null(strstr(e.msg, "in 5 s: a warning"));
	assert_null(strstr(e.msg, "VNC"));
}

/* With our trace QEMU puts the time before each message. */
static void the_time_is_dropped(void **state)
{
	(void)state;
	SAYS(&run.complained, "2026-01-02T03:04:05.678901Z VNC server running on ::1\n"
			      "2026-01-02T03:04:05.678902Z qemu: no such file\n");
	ends(EXITED(1));
	assert_non_null(strstr(e.msg, ": qemu: no such file"));
}

static void a_byte_0_ends_nothing(void **state)
{
	(void)state;
	SAYS(&run.said, "\0one\0two\n");
	ends_late();
	assert_non_null(strstr(e.msg, "one two"));
}

/* ---- Who ended ---- */

/* Whoever runs a guest has not gone to the background. */
static void a_guest_that_ran_has_ended_itself(void **state)
{
	(void)state;
	passes(1, 1000);
	ends(EXITED(0));
	assert_non_null(strstr(e.msg, "(status 0) after first instruction, before "
				      "serial:hello: it wrote nothing"));
	assert_non_null(strstr(e.hint, "the guest ended itself"));
	assert_null(strstr(e.hint, "background"));
	passes(2, 2000);
	passes(4, 3000); /* idle because it ends */
	ends(EXITED(3));
	assert_non_null(strstr(e.msg, "(status 3) after kmain, before serial:hello"));
}

static void qemu_stays_in_the_foreground(void **state)
{
	(void)state;
	ends(EXITED(0));
	assert_non_null(strstr(e.msg, "(status 0) before serial:hello"));
	assert_string_equal(e.hint, "");
}

static void another_vmm_may_go_away(void **state)
{
	(void)state;
	strcpy(v.vmm, "sh");
	v.way = US_BOOT_BY_OUTPUT;
	ends(EXITED(0));
	assert_non_null(strstr(e.hint, "keep it in the foreground"));
	assert_null(strstr(e.hint, "the guest ended"));
	SAYS(&run.said, "hello\n");
	ends(EXITED(0));
	assert_non_null(strstr(e.hint, "the guest ended before it; or else, a VMM"));
	memset(&e, 0, sizeof(e));
	ends(EXITED(1));
	assert_string_equal(e.hint, "");
}

/* ---- Where the port is ---- */

static void a_port_elsewhere_is_told(void **state)
{
	(void)state;
	v.elsewhere = true;
	ends_late();
	assert_string_equal(e.hint, US_BOOT_ELSEWHERE);
	passes(1, 1000);
	ends(EXITED(0));
	assert_string_equal(e.hint, US_BOOT_ELSEWHERE);
}

static void only_for_what_is_written_there(void **state)
{
	(void)state;
	v.elsewhere = true;
	plan.point[2].wanted = true;
	ends_late();
	assert_non_null(strstr(e.msg, "kmain was not reached in 5 s"));
	assert_null(strstr(e.hint, "-serial"));
}

static void silence_is_told(void **state)
{
	(void)state;
	ends_late();
	assert_non_null(strstr(e.hint, "nothing came to standard output"));
	SAYS(&run.said, "hell\n");
	ends_late();
	assert_string_equal(e.hint, "-t TIME waits longer");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_guest_that_ends_has_the_last_word, begin),
		cmocka_unit_test_setup(a_vmm_that_fails_says_why, begin),
		cmocka_unit_test_setup(chatter_is_no_error, begin),
		cmocka_unit_test_setup(chatter_is_no_word, begin),
		cmocka_unit_test_setup(the_time_is_dropped, begin),
		cmocka_unit_test_setup(a_byte_0_ends_nothing, begin),
		cmocka_unit_test_setup(a_guest_that_ran_has_ended_itself, begin),
		cmocka_unit_test_setup(qemu_stays_in_the_foreground, begin),
		cmocka_unit_test_setup(another_vmm_may_go_away, begin),
		cmocka_unit_test_setup(a_port_elsewhere_is_told, begin),
		cmocka_unit_test_setup(only_for_what_is_written_there, begin),
		cmocka_unit_test_setup(silence_is_told, begin),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
