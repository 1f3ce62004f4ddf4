/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The invented guest is what fake.h says, and backends are chosen as promised. */
#include "unit.h"

#include "backend/fake/fake.h"
#include "base/clock.h"

#include <errno.h>

static struct us_backend *open_fake(const struct us_fake_opts *o,
				    const struct us_schedule *s)
{
	struct us_target t = { .fake = o };
	struct us_backend *b = NULL;
	struct us_err e;
	assert_int_equal(us_backend_open(&t, "fake", &b, NULL, 0, &e), 0);
	assert_int_equal(b->ops->start(b, s, &e), 0);
	return b;
}

/* A walk of the page tables and frames by hand, sharing no code with the tools. */
static uint64_t word_at(const struct us_backend *b, us_gva va)
{
	const uint8_t *ram = b->mem->region[0].host;
	uint64_t table = 0x1000, entry, word;
	for (int shift = 39; shift >= 12; shift -= 9) {
		memcpy(&entry, ram + table + (va >> shift & 511) * 8, 8);
		assert_true(entry & 1);
		table = entry & ~0xfffULL;
		assert_true(table + 4096 <= b->mem->region[0].size);
	}
	memcpy(&word, ram + table + (va & 4095), 8);
	return word;
}

static unsigned walk(const struct us_backend *b, const struct us_capture *c, us_gva *pc)
{
	unsigned n = 0;
	us_gva fp = c->regs.fp;
	for (us_gva at = c->regs.pc; at && n < US_FAKE_MAX_DEPTH; fp = word_at(b, fp)) {
		pc[n++] = at;
		at = word_at(b, fp + 8);
	}
	return n;
}

static void stacks_are_as_told(void **state)
{
	(void)state;
	struct us_fake_opts o = { .depth = 12, .n_stack = 3000, .n_vcpu = 2 };
	struct us_schedule s = { .hz = 1e6, .seed = 4 };
	struct us_backend *b = open_fake(&o, &s);
	bool seen[2] = { false };
	for (int i = 0; i < 2000; i++) {
		struct us_capture c;
		us_gva want[US_FAKE_MAX_DEPTH], got[US_FAKE_MAX_DEPTH];
		assert_int_equal(b->ops->next(b, UINT64_MAX, &c), 1);
		seen[c.vcpu] = true;
		assert_int_equal(c.form, US_CAPTURE_LIVE);
		assert_int_equal(us_fake_truth(b, &c, want), 12);
		assert_int_equal(walk(b, &c, got), 12);
		assert_memory_equal(want, got, 12 * sizeof(*want));
		b->ops->release(b, &c);
	}
	assert_true(seen[0] && seen[1]);
	us_backend_close(b);
}

static void distinct_stacks_are_counted(void **state)
{
	(void)state;
	enum { N = 100000 };
	struct us_fake_opts o = { .n_stack = N, .depth = 5 };
	struct us_schedule s = { .seed = 4 };
	struct us_backend *b = open_fake(&o, &s);
	uint8_t *seen = calloc(256, 1024);
	size_t distinct = 0;
	for (int i = 0; i < 20 * N; i++) {
		struct us_capture c;
		assert_int_equal(b->ops->next(b, UINT64_MAX, &c), 1);
		size_t variant = (c.regs.pc - US_FAKE_BASE - US_FAKE_TEXT) & 255;
		size_t chain = (c.regs.fp >> 4) / 10 % 1024; /* 5 frames of 32 bytes */
		distinct += !seen[chain * 256 + variant];
		seen[chain * 256 + variant] = 1;
		b->ops->release(b, &c);
	}
	assert_int_equal(distinct, N);
	free(seen);
	us_backend_close(b);
}

static void a_megahertz_is_delivered_in_schedule_time(void **state)
{
	(void)state;
	struct us_fake_opts o = { .halted_permille = 250, .held_ns = 100 };
	struct us_schedule s = { .hz = 1e6, .seed = 9 };
	struct us_backend *b = open_fake(&o, &s);
	uint64_t start = us_now_ns(), first = 0, last = 0, n = 0, halted = 0;
	struct us_capture c;
	while (b->ops->next(b, start + US_NS_PER_SEC / 4, &c) == 1) {
		assert_true(c.t_ns >= last);
		last = c.t_ns;
		first = first ? first : last;
		n++;
		halted += c.state == US_VCPU_HALTED;
		b->ops->release(b, &c);
	}
	assert_in_range(n, (last - first) / 1000 - 1, (last - first) / 1000 + 2);
	assert_true(n > 100000);
	assert_in_range(halted, n / 4 - 1500, n / 4 + 1500);
	struct us_backend_counts k;
	b->ops->counts(b, &k);
	assert_int_equal(k.due, n);
	assert_int_equal(k.stolen_ns, (n - halted) * 100);
	assert_int_equal(k.late + k.failed + k.backed_off, 0);
	us_backend_close(b);
}

static void slow_schedules_keep_to_the_clock(void **state)
{
	(void)state;
	struct us_fake_opts o = { .n_vcpu = 4, .end_after = 40 };
	struct us_schedule s = { .hz = 1000, .seed = 9, .vcpu_mask = 5 };
	struct us_backend *b = open_fake(&o, &s);
	struct us_capture c;
	assert_int_equal(b->ops->next(b, us_now_ns(), &c), 0);
	int r;
	while ((r = b->ops->next(b, UINT64_MAX, &c)) == 1) {
		assert_true(c.vcpu == 0 || c.vcpu == 2);
		assert_true(us_now_ns() >= c.t_ns);
		b->ops->release(b, &c);
	}
	assert_int_equal(r, -ESRCH);
	struct us_err e;
	b->ops->explain(b, r, &e);
	assert_string_equal(e.msg, "the invented guest ended after 40 samples");
	us_backend_close(b);
}

static void the_table_is_searched(void **state)
{
	(void)state;
	assert_string_equal(us_backend_by_name("fake")->name, "fake");
	assert_null(us_backend_by_name("no such"));
	struct us_fake_opts o = { 0 };
	struct us_target t = { .fake = &o };
	struct us_backend *b = NULL;
	struct us_err e;
	char why[256];
	assert_int_equal(us_backend_open(&t, "no such", &b, NULL, 0, &e), -EINVAL);
	assert_non_null(strstr(e.msg, "no such"));
	assert_int_equal(us_backend_open(&t, "auto", &b, why, sizeof(why), &e), 0);
	assert_string_equal(b->ops->name, "fake");
	assert_int_equal(strncmp(why, "fake", 4), 0);
	us_backend_close(b);
	us_backend_close(NULL);
}

static void another_backend_is_named(void **state)
{
	(void)state;
	struct us_fake_opts o = { 0 };
	struct us_target t = { .fake = &o };
	struct us_backend *b = NULL;
	struct us_err e;
	assert_true(us_backend_open(&t, "kvm", &b, NULL, 0, &e) < 0);
	assert_string_equal(e.hint, "use --backend fake, which can sample this guest");
	t.fake = NULL;
	assert_true(us_backend_open(&t, "kvm", &b, NULL, 0, &e) < 0);
	assert_string_equal(e.hint, "");
}

static void nothing_serves_nothing(void **state)
{
	(void)state;
	struct us_target t = { .guest = NULL };
	struct us_backend *b = NULL;
	struct us_err e;
	assert_true(us_backend_open(&t, NULL, &b, NULL, 0, &e) < 0);
	assert_null(b);
	assert_non_null(strstr(e.msg, "no backend can sample this guest"));
	assert_true(us_backend_open(&t, "fake", &b, NULL, 0, &e) < 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_are_as_told),
		cmocka_unit_test(distinct_stacks_are_counted),
		cmocka_unit_test(a_megahertz_is_delivered_in_schedule_time),
		cmocka_unit_test(slow_schedules_keep_to_the_clock),
		cmocka_unit_test(the_table_is_searched),
		cmocka_unit_test(another_backend_is_named),
		cmocka_unit_test(nothing_serves_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
