/* SPDX-License-Identifier: GPL-2.0-or-later */
/* flat-guest.h: 64 KiB of memory with code and a stack, without paging. */
#ifndef US_TEST_FLAT_GUEST_H
#define US_TEST_FLAT_GUEST_H

#include "unit.h"
#include "unwind/cfi_build.h"
#include "unwind/unwind.h"

#define RAM_SIZE 0x10000
#define STACK	 0x8000 /* from here on zeroes, below int3 */

static uint8_t ram[RAM_SIZE];
static struct us_region region = { .size = RAM_SIZE, .host = ram };
static struct us_mem mem;
static struct us_paging paging;
static struct us_unwinder *unwinder;
static struct us_stack out;
static us_gva start[8];
static struct us_code_map map = { .start = start };
static struct us_cfi cfi;
static struct us_cfi_builder *builder;
static struct us_cfi_table *table;
static struct us_regs regs;

static int fresh(void **state)
{
	(void)state;
	memset(ram, 0xcc, sizeof(ram));
	memset(ram + STACK, 0, RAM_SIZE - STACK);
	memset(&mem, 0, sizeof(mem));
	memset(&cfi, 0, sizeof(cfi));
	map.n = 0;
	map.narrow_cs = 0;
	map.text_start = map.text_end = 0;
	mem.region = &region;
	mem.n_region = 1;
	us_mem_init(&mem);
	us_paging_init(&paging, &mem);
	regs = (struct us_regs){ .bits = 64,
				 .valid = 0xffff,
				 .space.mode = US_PAGING_OFF };
	return us_cfi_builder_new(8, &builder) ||
	       us_unwinder_new(US_ARCH_X86_64, NULL, NULL, &unwinder);
}

static int done(void **state)
{
	(void)state;
	us_unwinder_free(unwinder);
	us_cfi_builder_free(builder);
	us_cfi_table_free(table);
	table = NULL;
	return 0;
}

static void put(us_gva at, uint64_t word)
{
	memcpy(ram + at, &word, 8);
}

/* Code at an address, a function of the map.  Ascending. */
static void function(us_gva at, const char *bytes, size_t n)
{
	if (n)
		memcpy(ram + at, bytes, n);
	start[map.n++] = at;
	us_unwinder_set_code(unwinder, &map, &cfi);
}
#define FUNCTION(at, bytes) function(at, bytes, sizeof(bytes) - 1)

/* Code without a symbol. */
#define AT(at, bytes) memcpy(ram + (at), bytes, sizeof(bytes) - 1)

/* A function that consists of a CALL to another, at its start. */
static inline void calls(us_gva at, us_gva to)
{
	uint8_t code[6] = { 0xe8, [5] = 0xc3 };
	int32_t off = (int32_t)(to - at - 5);
	memcpy(code + 1, &off, 4);
	function(at, (const char *)code, sizeof(code));
}

/* A rule for the function there. */
static inline void row(us_gva at, struct us_cfi_rule rule,
		       const struct us_cfi_saved *saved)
{
	uint32_t id;
	assert_int_equal(us_cfi_builder_rule(builder, &rule, saved, &id), 0);
	assert_int_equal(us_cfi_builder_row(builder, at, id, US_CFI_START), 0);
	assert_int_equal(us_cfi_builder_row(builder, at + 0x100, US_CFI_NO_RULE, 0), 0);
}

static inline void finish_table(void)
{
	assert_int_equal(us_cfi_builder_finish(builder, &table), 0);
	assert_int_equal(us_cfi_place(&cfi, table, 0, US_CFI_ANY_ROOT), 0);
	us_unwinder_set_code(unwinder, &map, &cfi);
}

static inline void unwind(us_gva pc, us_gva sp)
{
	regs.pc = pc;
	regs.sp = regs.gpr[US_X86_RSP] = sp;
	regs.fp = regs.gpr[US_X86_RBP];
	us_paging_new_sample(&paging);
	us_unwind(unwinder, &paging, &regs, &out);
	assert_int_equal(out.pc[0], pc);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fresh, done)

#endif
