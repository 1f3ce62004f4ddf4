/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Exits of a boot: what KVM's programs counted by code, told by reason and phase.  The
 * programs are these functions here. */
#include "unit.h"

#include "boot/exits.h"

#include <errno.h>
#include <string.h>

static struct us_boot_seen seen;
static bool has_exits;
static uint64_t ports[US_N_EXITS], pages[US_N_EXITS];

volatile struct us_boot_seen *us_boot_events_seen(struct us_boot_events *b)
{
	(void)b;
	return &seen;
}

bool us_boot_events_has_exits(const struct us_boot_events *b)
{
	(void)b;
	return has_exits;
}

/* Codes 0 to 3 and all from 100 on are port I/O, the others HLT. */
enum us_exit_reason us_boot_events_reason(const struct us_boot_events *b, uint32_t code)
{
	(void)b;
	return code < 4 || code >= 100 ? US_EXIT_PORT_IO : US_EXIT_HALT;
}

static uint64_t most(const uint64_t *sum, enum us_exit_phase phase,
		     struct us_boot_access *ret, size_t max)
{
	memset(ret, 0, max * sizeof(*ret));
	ret[0] = (struct us_boot_access){ .address = 0x3f8 + phase, .n = sum[phase] };
	return sum[phase];
}

uint64_t us_boot_events_ports(struct us_boot_events *b, enum us_exit_phase phase,
			      struct us_boot_access *ret, size_t max)
{
	(void)b;
	return most(ports, phase, ret, max);
}

uint64_t us_boot_events_pages(struct us_boot_events *b, enum us_exit_phase phase,
			      struct us_boot_access *ret, size_t max)
{
	(void)b;
	return most(pages, phase, ret, max);
}

/* Nobody else's: these stand for the whole of boot_events.h. */
int us_boot_events_open(struct us_boot_events **ret, struct us_err *e)
{
	*ret = NULL;
	return us_fail(e, -ENOTSUP, "none");
}

int us_boot_events_begin(struct us_boot_events *b, const struct us_boot_code *code,
			 struct us_err *e)
{
	(void)b;
	(void)code;
	return us_fail(e, -ENOTSUP, "none");
}

void us_boot_events_end(struct us_boot_events *b)
{
	(void)b;
}

void us_boot_events_close(struct us_boot_events *b)
{
	(void)b;
}

static void fresh(bool real)
{
	memset(&seen, 0, sizeof(seen));
	memset(ports, 0, sizeof(ports));
	memset(pages, 0, sizeof(pages));
	has_exits = real;
}

static void codes_are_added_by_reason(void **state)
{
	struct us_boot_exits e;
	(void)state;
	fresh(true);
	seen.exits[US_EXITS_FIRMWARE][0] = 3;
	seen.exits[US_EXITS_FIRMWARE][3] = 4;
	seen.exits[US_EXITS_FIRMWARE][US_BOOT_CODES - 1] = 5;
	seen.exits[US_EXITS_KERNEL][50] = 7;
	us_boot_exits_read(NULL, &e);
	assert_true(e.known);
	assert_false(e.emulated);
	assert_int_equal(e.n[US_EXITS_FIRMWARE][US_EXIT_PORT_IO], 12);
	assert_int_equal(e.n[US_EXITS_LOADER][US_EXIT_PORT_IO], 0);
	assert_int_equal(e.n[US_EXITS_KERNEL][US_EXIT_HALT], 7);
}

/* Ports and pages are told of beside the exits, and are not counted twice. */
static void ports_are_no_more_exits(void **state)
{
	struct us_boot_exits e;
	(void)state;
	fresh(true);
	seen.exits[US_EXITS_KERNEL][0] = 9;
	ports[US_EXITS_KERNEL] = 8;
	pages[US_EXITS_LOADER] = 2;
	us_boot_exits_read(NULL, &e);
	assert_int_equal(e.n[US_EXITS_KERNEL][US_EXIT_PORT_IO], 9);
	assert_int_equal(e.n[US_EXITS_LOADER][US_EXIT_MEMORY], 0);
	assert_int_equal(e.port[US_EXITS_KERNEL][0].n, 8);
	assert_int_equal(e.port[US_EXITS_KERNEL][0].address, 0x3fa);
	assert_int_equal(e.page[US_EXITS_LOADER][0].n, 2);
}

/* Where instructions are emulated there are no exits: what devices are asked is all. */
static void emulated_guests_have_accesses_alone(void **state)
{
	struct us_boot_exits e;
	(void)state;
	fresh(false);
	seen.exits[US_EXITS_KERNEL][0] = 9;
	ports[US_EXITS_KERNEL] = 8;
	pages[US_EXITS_FIRMWARE] = 2;
	us_boot_exits_read(NULL, &e);
	assert_true(e.emulated);
	assert_int_equal(e.n[US_EXITS_KERNEL][US_EXIT_PORT_IO], 8);
	assert_int_equal(e.n[US_EXITS_FIRMWARE][US_EXIT_MEMORY], 2);
	assert_int_equal(e.n[US_EXITS_KERNEL][US_EXIT_HALT], 0);
}

static void phases_have_names(void **state)
{
	(void)state;
	assert_string_equal(us_exit_phase_name(US_EXITS_FIRMWARE), "firmware");
	assert_string_equal(us_exit_phase_name(US_EXITS_LOADER), "loader");
	assert_string_equal(us_exit_phase_name(US_EXITS_KERNEL), "kernel");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(codes_are_added_by_reason),
		cmocka_unit_test(ports_are_no_more_exits),
		cmocka_unit_test(emulated_guests_have_accesses_alone),
		cmocka_unit_test(phases_have_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
