/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which devices a guest uses in which phase: by the instruction, and by the table that
 * the plugin leaves. */
#include "unit.h"

#include "boot/uses.h"
#include "trace/plugin/port_insn.h"

/* Instructions of a block, one after the other; what the last one accesses. */
static int32_t port_of(const char *const *insn)
{
	int32_t dx = US_PORT_AT_START, port = US_PORT_NONE;
	for (; *insn; insn++) {
		uint8_t code[15];
		size_t n = 0;
		unsigned byte;
		for (const char *c = *insn; sscanf(c, "%2x", &byte) == 1; c += 2)
			code[n++] = (uint8_t)byte;
		port = us_port_insn(code, n, &dx);
	}
	return port;
}

#define PORT(want, ...)                                                                \
	assert_int_equal(port_of((const char *const[]){ __VA_ARGS__, NULL }), want)

/* Bytes as GNU as makes them. */
static void ports_by_the_instruction(void **state)
{
	(void)state;
	PORT(0x80, "e680");		/* out %al,$0x80 */
	PORT(0x71, "e471");		/* in $0x71,%al */
	PORT(0x42, "66e542");		/* in $0x42,%ax, of 32-bit code */
	PORT(US_PORT_AT_START, "ee");	/* out %al,(%dx) */
	PORT(US_PORT_AT_START, "f36d"); /* rep insl */
	PORT(US_PORT_NONE, "90");
	PORT(US_PORT_NONE, "baf8030000");
	PORT(US_PORT_NONE, "66");		       /* nothing but a prefix */
	PORT(0x3f8, "baf8030000", "ee");	       /* mov $0x3f8,%edx */
	PORT(0x3f8, "66baf803", "ec");		       /* mov $0x3f8,%dx */
	PORT(0x1f0, "baf001", "f36d");		       /* the same of 16-bit code */
	PORT(0xcfc, "bafc0c0000", "89c8", "ef");       /* mov %ecx,%eax between */
	PORT(0xcfc, "bafc0c0000", "b041", "ee", "ec"); /* and another access */
	PORT(0xcfc, "bafc0c0000", "0fb645f8", "ee");   /* movzbl -8(%ebp),%eax */
	PORT(0xcfc, "bafc0c0000", "83e0fc", "ef");     /* and $-4,%eax */
}

/* What may change dx, or is not understood. */
static void ports_that_are_not_known(void **state)
{
	(void)state;
	PORT(US_PORT_UNKNOWN, "baf8030000", "89c2", "ee");	 /* mov %eax,%edx */
	PORT(US_PORT_UNKNOWN, "baf8030000", "8b5508", "ee");	 /* mov 8(%ebp),%edx */
	PORT(US_PORT_UNKNOWN, "baf8030000", "83c205", "ee");	 /* add $5,%edx */
	PORT(US_PORT_UNKNOWN, "baf8030000", "b2f9", "ee");	 /* mov $0xf9,%dl */
	PORT(US_PORT_UNKNOWN, "baf8030000", "b603", "ee");	 /* mov $3,%dh */
	PORT(US_PORT_UNKNOWN, "baf8030000", "0fb6d0", "ee");	 /* movzbl %al,%edx */
	PORT(US_PORT_UNKNOWN, "baf8030000", "01c2", "ee");	 /* add %eax,%edx */
	PORT(US_PORT_UNKNOWN, "baf8030000", "03d0", "ee");	 /* the same */
	PORT(US_PORT_UNKNOWN, "baf8030000", "5a", "ee");	 /* pop %edx */
	PORT(US_PORT_UNKNOWN, "baf8030000", "42", "ee");	 /* inc %edx */
	PORT(US_PORT_UNKNOWN, "baf8030000", "f7e1", "ee");	 /* mul %ecx */
	PORT(US_PORT_UNKNOWN, "baf8030000", "99", "ee");	 /* cltd */
	PORT(US_PORT_UNKNOWN, "baf8030000", "8d5001", "ee");	 /* lea 1(%eax),%edx */
	PORT(US_PORT_UNKNOWN, "baf8030000", "e800000000", "ee"); /* call */
}

static void instructions_with_rounds(void **state)
{
	static const uint8_t rep_insl[] = { 0xf3, 0x6d }, outsb[] = { 0x6e },
			     rep_outsw[] = { 0x66, 0xf3, 0x6f }, in[] = { 0xec },
			     prefix[] = { 0xf3 };
	(void)state;
	assert_true(us_port_has_rounds(rep_insl, sizeof(rep_insl)));
	assert_true(us_port_has_rounds(outsb, sizeof(outsb)));
	assert_true(us_port_has_rounds(rep_outsw, sizeof(rep_outsw)));
	assert_false(us_port_has_rounds(in, sizeof(in)));
	assert_false(us_port_has_rounds(prefix, sizeof(prefix)));
}

static void add(struct us_boot_file *f, const char *device, uint64_t address,
		unsigned point, uint64_t n)
{
	struct us_boot_use *u = &f->use[f->n_use++];
	snprintf(u->device, sizeof(u->device), "%s", device);
	u->address = address;
	u->n[point] = n;
}

static void those_used_most(void **state)
{
	static struct us_boot_file f;
	static struct us_boot_uses u;
	struct us_boot_used used[US_N_USED];
	(void)state;
	add(&f, "", 0x80, 2, 5);
	add(&f, "", US_USE_UNKNOWN, 2, 9);
	add(&f, "vga", 0xb9000, 2, 30);
	add(&f, "hpet", 0xfed00000, 2, 40);
	add(&f, "vga", 0xb8000, 2, 20);
	add(&f, "vga", 0xa0000, 3, 100); /* since another point */
	for (unsigned i = 0; i < 6; i++)
		add(&f, "", 0x100 + i, 2, 10 + i);
	us_boot_uses_read(&f, &u);
	us_boot_uses_since(&u, 2, used);
	const struct us_boot_used *m = &used[US_USED_MEMORY], *p = &used[US_USED_PORTS];
	assert_int_equal(m->n, 90);
	assert_string_equal(m->most[0].use->device, "vga");
	assert_int_equal(m->most[0].use->address, 0xb8000);
	assert_int_equal(m->most[0].n, 50);
	assert_int_equal(m->most[1].n, 40);
	assert_int_equal(m->most[2].n, 0);
	assert_int_equal(p->n, 5 + 9 + 75);
	for (unsigned i = 0; i < US_BOOT_USES_MOST; i++)
		assert_int_equal(p->most[i].use->address, 0x105 - i);
	us_boot_uses_since(&u, 1, used);
	assert_int_equal(used[US_USED_PORTS].n + used[US_USED_MEMORY].n, 0);
	us_boot_uses_since(&u, 999, used);
	assert_int_equal(used[US_USED_PORTS].n + used[US_USED_MEMORY].n, 0);
}

/* QEMU's process has written it. */
static void a_table_that_lies(void **state)
{
	static struct us_boot_file f;
	static struct us_boot_uses u;
	struct us_boot_used used[US_N_USED];
	(void)state;
	memset(&f, 0xff, sizeof(f));
	us_boot_uses_read(&f, &u);
	assert_int_equal(u.n, US_MAX_USE);
	us_boot_uses_since(&u, 0, used);
	assert_int_equal(strlen(used[US_USED_MEMORY].most[0].use->device), 31);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ports_by_the_instruction),
		cmocka_unit_test(ports_that_are_not_known),
		cmocka_unit_test(instructions_with_rounds),
		cmocka_unit_test(those_used_most),
		cmocka_unit_test(a_table_that_lies),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
