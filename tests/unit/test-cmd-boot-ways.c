/* SPDX-License-Identifier: GPL-2.0-or-later */
/* By what a boot is seen: which ways are taken, best first, and what is said of the
 * others.  What there is on this host is what a test says. */
#include "cmd/boot/samples.h"
#include "cmd/boot/ways.h"

#include "unit.h"

#include "vmm/host.h"

#include <errno.h>
#include <string.h>

static struct {
	bool plugin, events, samples;
	const char *kvm; /* the host's module */
} here;

int us_plugin_command_make(struct us_plugin_command *c, char *const argv[],
			   struct us_err *e)
{
	if (!here.plugin)
		return us_fail(e, -ENOTSUP, "no plugin");
	c->argv = calloc(2, sizeof(*c->argv));
	c->argv[0] = argv[0];
	return 0;
}

void us_plugin_run_path(const struct us_plugin_run *r, const char *name,
			char ret[static US_PLUGIN_PATH])
{
	(void)r;
	snprintf(ret, US_PLUGIN_PATH, "/dir/%s", name);
}

int us_boot_samples_ready(struct us_err *e)
{
	return here.samples ? 0 : us_fail(e, -ENOTSUP, "no samples");
}

int us_boot_events_open(struct us_boot_events **ret, struct us_err *e)
{
	*ret = NULL;
	return here.events ? 0 : us_fail(e, -EPERM, "no events");
}

void us_host_read(struct us_host *ret)
{
	memset(ret, 0, sizeof(*ret));
	snprintf(ret->kvm, sizeof(ret->kvm), "%s", here.kvm);
}

/* As boot_variant.c has it. */
bool us_boot_variant_has(char *const *argv, const char *const *options)
{
	for (; *argv; argv++)
		for (const char *const *o = options; *o; o++)
			if ((*argv)[0] == '-' && !strcmp(*argv + 1, *o))
				return true;
	return false;
}

static struct us_boot_variant v;
static struct us_err e;
static char *words[16];

#define TCG	"qemu-system-x86_64"
#define KVM	"qemu-system-x86_64", "-accel", "kvm"
#define N(argv) (sizeof(argv) / sizeof((argv)[0]))

static void forget_variant(void)
{
	free(v.with.argv);
	free(v.stubbed);
	free(v.logged);
	memset(&v, 0, sizeof(v));
}

static int choose(const char *vmm, const char *const *argv, size_t n, const char *by)
{
	memset(words, 0, sizeof(words));
	for (size_t i = 0; i < n; i++)
		words[i] = (char *)(uintptr_t)argv[i];
	forget_variant();
	memset(&e, 0, sizeof(e));
	snprintf(v.vmm, sizeof(v.vmm), "%s", vmm);
	v.plain = words;
	v.by = by;
	return us_boot_ways_choose(&v, &e);
}
#define CHOOSE(by, ...)                                                                \
	choose("qemu", (const char *const[]){ __VA_ARGS__ },                           \
	       N(((const char *const[]){ __VA_ARGS__ })), by)

static int forget(void **state)
{
	(void)state;
	memset(&here, 0, sizeof(here));
	here.kvm = "kvm_amd";
	return 0;
}

static void the_plugin_is_best(void **state)
{
	(void)state;
	here.plugin = here.events = here.samples = true;
	assert_int_equal(CHOOSE(NULL, TCG), 0);
	assert_int_equal(v.way, US_BOOT_BY_PLUGIN);
	assert_string_equal(v.unseen, "");
	assert_null(v.stubbed);
}

/* Without it, a guest that QEMU emulates has breakpoints, and no KVM. */
static void without_a_plugin_there_is_the_stub(void **state)
{
	(void)state;
	here.events = here.samples = true;
	assert_int_equal(CHOOSE(NULL, TCG), 0);
	assert_int_equal(v.way, US_BOOT_BY_BREAKPOINTS);
	assert_string_equal(v.unseen, "no plugin");
	assert_non_null(strstr(v.unseen_kvm, "without KVM"));
	assert_non_null(v.stubbed);
	assert_string_equal(v.stubbed[0], TCG);
	assert_string_equal(v.stubbed[1], "-gdb");
	assert_string_equal(v.stubbed[2], "unix:/dir/stub,server=on,wait=off");
	assert_string_equal(v.stubbed[3], "-S");
	assert_null(v.stubbed[4]);
}

static char *traced[] = { (char *)(uintptr_t)TCG, (char *)(uintptr_t) "-trace", NULL };

/* QEMU's log holds nothing up, but takes the pipe of its trace. */
static void its_log_is_better(void **state)
{
	static struct us_boot_plan plan = { .n = 2,
					    .point = { { .n_address = 0 },
						       { .address = { 0x7c00 },
							 .n_address = 1 } } };
	(void)state;
	here.samples = true;
	assert_int_equal(CHOOSE("output", TCG), 0);
	v.by = NULL;
	v.traced = traced;
	assert_int_equal(us_boot_ways_choose(&v, &e), 0);
	assert_int_equal(v.way, US_BOOT_BY_LOG | US_BOOT_BY_TRACE);
	assert_string_equal(v.unseen_code, "");
	assert_null(v.stubbed);
	us_boot_ways_filter(&v, &plan);
	assert_string_equal(v.logged[1], "-trace");
	assert_string_equal(v.logged[2], "-d");
	assert_string_equal(v.logged[4], "-dfilter");
	assert_string_equal(v.logged[5], "0xfffffff0+0x1,0x7c00+0x1");
	assert_null(v.logged[6]);
	/* It is asked for, and not there. */
	strcpy(v.unseen_device, "a -d of its own");
	v.traced = NULL;
	v.by = "log";
	assert_int_equal(us_boot_ways_choose(&v, &e), -ENOTSUP);
	assert_string_equal(e.msg, "a -d of its own");
	assert_int_equal(CHOOSE("log", KVM), -ENOTSUP);
}

static void under_kvm_there_are_both(void **state)
{
	(void)state;
	here.events = here.samples = true;
	assert_int_equal(CHOOSE(NULL, KVM), 0);
	assert_int_equal(v.way, US_BOOT_BY_EVENTS | US_BOOT_BY_BREAKPOINTS);
	assert_string_equal(v.unseen_kvm, "");
}

/* A KVM that emulates knows no breakpoints: samples stand in, and it is said why. */
static void where_breakpoints_fail_there_are_samples(void **state)
{
	(void)state;
	here.events = here.samples = true;
	here.kvm = "kvm_pvm";
	assert_int_equal(CHOOSE(NULL, KVM), 0);
	assert_int_equal(v.way, US_BOOT_BY_EVENTS | US_BOOT_BY_SAMPLES);
	assert_non_null(strstr(v.unseen_code, "no breakpoints"));
	assert_non_null(v.stubbed); /* it waits for the sampler */
	here.samples = false;
	assert_int_equal(CHOOSE(NULL, KVM), 0);
	assert_int_equal(v.way, US_BOOT_BY_EVENTS);
}

/* What turns out in a boot. */
static void breakpoints_may_be_given_up(void **state)
{
	struct us_err why = { 0 };
	(void)state;
	here.events = here.samples = true;
	us_fail(&why, -ENOTSUP, "they do not stop it");
	assert_int_equal(CHOOSE(NULL, KVM), 0);
	assert_true(us_boot_ways_fall_back(&v, &why));
	assert_int_equal(v.way, US_BOOT_BY_EVENTS | US_BOOT_BY_SAMPLES);
	assert_string_equal(v.unseen_code, "they do not stop it");
	assert_false(us_boot_ways_fall_back(&v, &why)); /* there are none any more */
	assert_int_equal(CHOOSE("breakpoints", KVM), 0);
	assert_false(us_boot_ways_fall_back(&v, &why)); /* they are asked for */
	here.samples = false;
	assert_int_equal(CHOOSE(NULL, KVM), 0);
	assert_false(us_boot_ways_fall_back(&v, &why));
}

static void another_vmm_has_no_stub(void **state)
{
	const char *const argv[] = { "firecracker" };
	(void)state;
	here.events = true;
	assert_int_equal(choose("firecracker", argv, 1, NULL), 0);
	assert_int_equal(v.way, US_BOOT_BY_EVENTS);
	assert_true(choose("firecracker", argv, 1, "breakpoints") < 0);
	assert_non_null(strstr(e.msg, "no QEMU"));
}

static void nothing_is_no_error(void **state)
{
	const char *const argv[] = { "sh" };
	(void)state;
	assert_int_equal(choose("sh", argv, 1, NULL), 0);
	assert_int_equal(v.way, US_BOOT_BY_OUTPUT);
	assert_string_equal(v.unseen_kvm, "no events");
}

static void the_user_may_choose(void **state)
{
	(void)state;
	here.plugin = here.events = here.samples = true;
	assert_int_equal(CHOOSE("plugin", TCG), 0);
	assert_int_equal(v.way, US_BOOT_BY_PLUGIN);
	assert_int_equal(CHOOSE("output", TCG), 0);
	assert_int_equal(v.way, US_BOOT_BY_OUTPUT);
	assert_int_equal(CHOOSE("kvm", KVM), 0);
	assert_int_equal(v.way, US_BOOT_BY_EVENTS);
	assert_int_equal(CHOOSE("samples", KVM), 0);
	assert_int_equal(v.way, US_BOOT_BY_EVENTS | US_BOOT_BY_SAMPLES);
	assert_int_equal(CHOOSE("breakpoints", TCG), 0);
	assert_int_equal(v.way, US_BOOT_BY_BREAKPOINTS);
}

static void what_is_not_there_is_refused(void **state)
{
	(void)state;
	assert_int_equal(CHOOSE("plugin", TCG), -ENOTSUP);
	assert_string_equal(e.msg, "no plugin");
	assert_int_equal(CHOOSE("samples", KVM), -ENOTSUP);
	assert_string_equal(e.msg, "no samples");
	here.samples = true; /* but not of a guest that QEMU emulates */
	assert_int_equal(CHOOSE("samples", TCG), -ENOTSUP);
	assert_non_null(strstr(e.msg, "without KVM"));
	assert_int_equal(CHOOSE("kvm", KVM), -EPERM);
	assert_int_equal(CHOOSE("kvm", TCG), -ENOTSUP);
	assert_int_equal(CHOOSE("by magic", TCG), -EINVAL);
	assert_int_equal(CHOOSE("", TCG), -EINVAL);
	assert_int_equal(CHOOSE("breakpoints", TCG, "-gdb", "tcp::1"), -ENOTSUP);
	assert_int_equal(CHOOSE("breakpoints", TCG, "-s"), -ENOTSUP);
}

/* The trace of devices is in both commands, and one of the ways then. */
static void devices_are_traced_besides(void **state)
{
	(void)state;
	assert_int_equal(CHOOSE("output", TCG), 0);
	v.by = "breakpoints";
	v.traced = traced;
	assert_int_equal(us_boot_ways_choose(&v, &e), 0);
	assert_int_equal(v.way, US_BOOT_BY_BREAKPOINTS | US_BOOT_BY_TRACE);
	assert_string_equal(v.stubbed[1], "-trace");
	assert_string_equal(v.stubbed[2], "-gdb");
	free(v.stubbed);
	v.stubbed = NULL;
	v.by = "output"; /* the command as it is */
	assert_int_equal(us_boot_ways_choose(&v, &e), 0);
	assert_int_equal(v.way, US_BOOT_BY_OUTPUT);
}

#define TEST(name) cmocka_unit_test_setup(name, forget)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_plugin_is_best),
		TEST(without_a_plugin_there_is_the_stub),
		TEST(its_log_is_better),
		TEST(under_kvm_there_are_both),
		TEST(where_breakpoints_fail_there_are_samples),
		TEST(breakpoints_may_be_given_up),
		TEST(another_vmm_has_no_stub),
		TEST(nothing_is_no_error),
		TEST(the_user_may_choose),
		TEST(what_is_not_there_is_refused),
		TEST(devices_are_traced_besides),
	};
	int r = cmocka_run_group_tests(tests, NULL, NULL);
	forget_variant();
	return r;
}
