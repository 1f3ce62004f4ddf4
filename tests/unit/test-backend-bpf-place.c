/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples of a guest whose memory is elsewhere than its page tables say are refused. */
#include "unit.h"

#include "backend/bpf/place.h"

#define PRESENT	   3 /* and writable */
#define CODE	   0x4000ULL
#define NEVER	   0x5000ULL /* of zeros */
#define MANY	   1000
#define ROOT	   0x0ULL
#define WRONG_ROOT 0x5000ULL

static uint8_t ram[0x6000];
static struct us_region region = { .size = sizeof(ram), .host = ram };
static struct us_mem mem;

static void put(us_gpa at, uint64_t word)
{
	memcpy(ram + at, &word, sizeof(word));
}

static int with_tables(void **state)
{
	(void)state;
	memset(ram, 0, sizeof(ram));
	put(0x0000, 0x1000 | PRESENT);
	put(0x1000, 0x2000 | PRESENT);
	put(0x2000, 0x3000 | PRESENT);
	put(0x3000 + 8 * 4, CODE | PRESENT);
	put(0x3000 + 8 * 5, NEVER | PRESENT);
	put(CODE, 0xc390909090ULL);
	put(CODE + 0xff8, 0xc390909090909090ULL);
	mem = (struct us_mem){ .region = &region, .n_region = 1 };
	us_mem_init(&mem);
	return 0;
}

static struct us_capture capture_at(us_gva pc, us_gpa root)
{
	return (struct us_capture){
		.form = US_CAPTURE_WINDOW,
		.regs = { .pc = pc,
			  .bits = 64,
			  .space = { .mode = US_PAGING_X86_4, .root = root } },
	};
}

/* After how many such captures it is refused; 0: never. */
static unsigned refused_after(struct us_bpf_place *p, const struct us_capture *c)
{
	for (unsigned i = 1; i <= MANY; i++)
		if (!us_bpf_place_fits(p, &mem, c))
			return i;
	return 0;
}

static void one_that_leads_to_code_is_enough(void **state)
{
	struct us_bpf_place p = { 0 };
	struct us_capture good = capture_at(CODE, ROOT);
	struct us_capture bad = capture_at(CODE, WRONG_ROOT);
	(void)state;
	assert_true(us_bpf_place_fits(&p, &mem, &bad));
	assert_false(p.sure);
	assert_true(us_bpf_place_fits(&p, &mem, &good));
	assert_true(p.sure);
	assert_int_equal(refused_after(&p, &bad), 0);
	/* And at the very end of a page whose neighbour is not there. */
	p = (struct us_bpf_place){ 0 };
	good.regs.pc = CODE + 0xfff;
	assert_true(us_bpf_place_fits(&p, &mem, &good));
	assert_true(p.sure);
}

static void so_is_a_stack(void **state)
{
	struct us_bpf_place p = { 0 };
	struct us_capture c = capture_at(CODE, WRONG_ROOT);
	(void)state;
	c.window.n_window = 1;
	assert_true(us_bpf_place_fits(&p, &mem, &c));
	assert_true(p.sure);
}

static void many_that_lead_nowhere_are_refused(void **state)
{
	struct us_bpf_place p = { 0 };
	struct us_capture nowhere = capture_at(CODE, WRONG_ROOT);
	struct us_capture outside = capture_at(CODE, 0x100000);
	struct us_capture zeros = capture_at(NEVER, ROOT);
	(void)state;
	assert_in_range(refused_after(&p, &nowhere), 16, 500);
	p = (struct us_bpf_place){ 0 };
	assert_in_range(refused_after(&p, &outside), 16, 500);
	p = (struct us_bpf_place){ 0 };
	assert_in_range(refused_after(&p, &zeros), 16, 500);
}

static void what_tells_nothing_does_not_count(void **state)
{
	struct us_bpf_place p = { 0 };
	struct us_capture c = capture_at(CODE, WRONG_ROOT);
	(void)state;
	c.regs.space_old = true;
	assert_int_equal(refused_after(&p, &c), 0);
	c.regs.space_old = false;
	c.regs.bits = 0;
	assert_int_equal(refused_after(&p, &c), 0);
	c.regs.bits = 64;
	c.regs.space.mode = US_PAGING_UNKNOWN;
	assert_int_equal(refused_after(&p, &c), 0);
	c.regs.space.mode = US_PAGING_OFF;
	assert_int_equal(refused_after(&p, &c), 0);
	assert_false(p.sure);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(one_that_leads_to_code_is_enough, with_tables),
		cmocka_unit_test_setup(so_is_a_stack, with_tables),
		cmocka_unit_test_setup(many_that_lead_nowhere_are_refused, with_tables),
		cmocka_unit_test_setup(what_tells_nothing_does_not_count, with_tables),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
