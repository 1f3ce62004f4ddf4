/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A guest that is about to suspend, by the waking vector in its ACPI tables. */
#include "unit.h"

#include "base/clock.h"
#include "guest/acpi_sleep.h"

#define RAM    0x110000
#define RSDP   0xf5a20
#define RSDT   0x101000
#define FADT   0x101200
#define FACS   0x1011c0 /* crosses the end of a line of fetched bytes */
#define VECTOR (FACS + 12)

static uint8_t ram[RAM];
static struct us_region region = { .size = RAM, .host = ram };

static void put32(us_gpa at, uint32_t value)
{
	memcpy(ram + at, &value, 4);
}

static void sum_rsdp(void)
{
	uint8_t sum = 0;
	ram[RSDP + 8] = 0;
	for (int i = 0; i < 20; i++)
		sum = (uint8_t)(sum + ram[RSDP + i]);
	ram[RSDP + 8] = (uint8_t)-sum;
}

/* As SeaBIOS lays them out for QEMU's "pc": ACPI 1.0, the FADT behind another table. */
static void setup(struct us_mem *m)
{
	memset(ram, 0, sizeof(ram));
	memcpy(ram + RSDP, "RSD PTR ", 8);
	put32(RSDP + 16, RSDT);
	sum_rsdp();
	memcpy(ram + RSDT, "RSDT", 4);
	put32(RSDT + 4, 36 + 2 * 4);
	put32(RSDT + 36, 0x100800);
	put32(RSDT + 40, FADT);
	memcpy(ram + 0x100800, "APIC", 4);
	memcpy(ram + FADT, "FACP", 4);
	put32(FADT + 4, 116);
	put32(FADT + 36, FACS);
	memcpy(ram + FACS, "FACS", 4);
	put32(FACS + 4, 64);
	memset(m, 0, sizeof(*m));
	m->region = &region;
	m->n_region = 1;
	us_mem_init(m);
}

static void vector_tells(void **state)
{
	(void)state;
	struct us_acpi_sleep s = { 0 };
	struct us_mem m;
	setup(&m);
	assert_false(us_acpi_suspends(&s, &m, 1));
	put32(VECTOR, 0x9a000);
	assert_true(us_acpi_suspends(&s, &m, 2));
	put32(VECTOR, 0);
	assert_false(us_acpi_suspends(&s, &m, 3));
	put32(FACS + 24, 0x9a000); /* the long one */
	assert_true(us_acpi_suspends(&s, &m, 4));
}

/* By the long addresses of ACPI 2.0. */
static void long_tables(void **state)
{
	(void)state;
	struct us_acpi_sleep s = { 0 };
	struct us_mem m;
	setup(&m);
	ram[RSDP + 15] = 2;
	put32(RSDP + 24, 0x102000);
	sum_rsdp();
	put32(0x102004, 36 + 8);
	put32(0x102000 + 36, FADT);
	put32(FADT + 4, 244);
	put32(FADT + 36, 0);
	put32(FADT + 132, FACS);
	put32(RSDP + 16, 0);
	sum_rsdp();
	put32(VECTOR, 1);
	assert_true(us_acpi_suspends(&s, &m, 1));
}

/* A guest that never clears it, or that is asleep, is sampled after a while; and is
 * looked after again once it has. */
static void not_for_ever(void **state)
{
	(void)state;
	struct us_acpi_sleep s = { 0 };
	struct us_mem m;
	setup(&m);
	put32(VECTOR, 1);
	assert_true(us_acpi_suspends(&s, &m, US_NS_PER_SEC));
	assert_true(us_acpi_suspends(&s, &m, 10 * US_NS_PER_SEC));
	assert_false(us_acpi_suspends(&s, &m, 12 * US_NS_PER_SEC));
	put32(VECTOR, 0);
	assert_false(us_acpi_suspends(&s, &m, 13 * US_NS_PER_SEC));
	put32(VECTOR, 1);
	assert_true(us_acpi_suspends(&s, &m, 14 * US_NS_PER_SEC));
}

/* The firmware has not built the tables yet, then resets and builds them again. */
static void tables_come_and_go(void **state)
{
	(void)state;
	struct us_acpi_sleep s = { 0 };
	struct us_mem m;
	setup(&m);
	put32(VECTOR, 1);
	ram[RSDP] = 0;
	assert_false(us_acpi_suspends(&s, &m, 1));
	ram[RSDP] = 'R';
	assert_false(us_acpi_suspends(&s, &m, 2)); /* not searched at each sample */
	assert_true(us_acpi_suspends(&s, &m, 2 * US_NS_PER_SEC));
	ram[FACS] = 0;
	assert_false(us_acpi_suspends(&s, &m, 3 * US_NS_PER_SEC));
	ram[FACS] = 'F';
	assert_true(us_acpi_suspends(&s, &m, 30 * US_NS_PER_SEC));
}

/* Lengths and addresses are the guest's: whatever they are, it ends and reads nothing
 * else. */
static void hostile_tables(void **state)
{
	(void)state;
	static const struct {
		us_gpa at;
		uint32_t value;
	} bad[] = { { RSDT + 4, 0 },	    { RSDT + 4, UINT32_MAX },
		    { RSDP + 16, RAM - 4 }, { RSDP + 16, UINT32_MAX },
		    { RSDT + 40, RAM - 1 }, { FADT + 4, 3 },
		    { FADT + 36, RAM - 8 }, { FADT + 36, UINT32_MAX },
		    { FACS + 4, 0 } };
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct us_acpi_sleep s = { 0 };
		struct us_mem m;
		setup(&m);
		put32(VECTOR, 1);
		put32(bad[i].at, bad[i].value);
		if (bad[i].at < RSDT)
			sum_rsdp();
		bool found = us_acpi_suspends(&s, &m, 1);
		assert_int_equal(found,
				 bad[i].value == UINT32_MAX && bad[i].at == RSDT + 4);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(vector_tells),	  cmocka_unit_test(long_tables),
		cmocka_unit_test(not_for_ever),	  cmocka_unit_test(tables_come_and_go),
		cmocka_unit_test(hostile_tables),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
