/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the plugin knows of an architecture's instructions. */
#include "unit.h"

#include "trace/plugin/arch.h"

#include <elf.h>

static bool loops(const uint8_t *code, size_t n)
{
	return us_plugin_may_jump_to(us_plugin_arch_of_machine(EM_X86_64), code, n,
				     0x1000, 0x1000);
}
#define LOOPS(...)                                                                     \
	loops((const uint8_t[]){ __VA_ARGS__ }, sizeof((uint8_t[]){ __VA_ARGS__ }))

static void loops_to_the_entry_are_found(void **state)
{
	(void)state;
	assert_true(LOOPS(0xff, 0xcf, 0x75, 0xfc, 0xc3));	      /* dec; jne */
	assert_true(LOOPS(0x90, 0xeb, 0xfd));			      /* nop; jmp */
	assert_true(LOOPS(0x90, 0xe9, 0xfa, 0xff, 0xff, 0xff));	      /* jmp, 4 bytes */
	assert_true(LOOPS(0x90, 0x0f, 0x85, 0xf9, 0xff, 0xff, 0xff)); /* jne */
	assert_true(LOOPS(0x90, 0xe2, 0xfd));			      /* loop */
	assert_true(LOOPS(0xf3, 0xa4, 0xc3));			      /* rep movsb */
	assert_true(LOOPS(0xf3, 0x48, 0xab, 0xc3));		      /* rep stosq */
}

static void others_are_not(void **state)
{
	(void)state;
	assert_false(LOOPS(0x90, 0xf3, 0xa4, 0xc3));	   /* not the first */
	assert_false(LOOPS(0xa4, 0xc3));		   /* movsb, once */
	assert_false(LOOPS(0x90, 0x90, 0x75, 0xfd));	   /* to the second */
	assert_false(LOOPS(0xe8, 0xfb, 0xff, 0xff, 0xff)); /* a call */
	assert_false(LOOPS(0x90, 0x75));		   /* cut off */
	assert_false(LOOPS(0x90, 0xe9, 0xfa, 0xff, 0xff));
	assert_false(loops(NULL, 0));
}

static void an_instruction_jumps(void **state)
{
	static const uint8_t jne[] = { 0x75, 0xfc }, rep[] = { 0xf3, 0xa4 },
			     call[] = { 0xe8, 0xfb, 0xff, 0xff, 0xff };
	const struct us_plugin_arch *a = us_plugin_arch_find("x86_64");
	(void)state;
	assert_true(us_plugin_jumps_to(a, jne, 2, 0x1002, 0x1000));
	assert_false(us_plugin_jumps_to(a, jne, 2, 0x1003, 0x1000));
	assert_true(us_plugin_jumps_to(a, rep, 2, 0x1000, 0x1000));
	assert_false(us_plugin_jumps_to(a, call, 5, 0x1000, 0x1000));
	assert_null(us_plugin_arch_find("vax"));
	assert_null(us_plugin_arch_of_machine(EM_VAX));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loops_to_the_entry_are_found),
		cmocka_unit_test(others_are_not),
		cmocka_unit_test(an_instruction_jumps),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
