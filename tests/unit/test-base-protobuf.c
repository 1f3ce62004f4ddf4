/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages as Protocol Buffers' documentation has them. */
#include "unit.h"

#include "base/protobuf.h"

static void is(const struct us_protobuf *m, const char *bytes, size_t n)
{
	assert_false(m->failed);
	assert_int_equal(m->n, n);
	assert_memory_equal(m->v, bytes, n);
}

/* The examples of protobuf.dev/programming-guides/encoding. */
static void examples(void **state)
{
	struct us_protobuf m = { 0 }, outer = { 0 };
	(void)state;
	us_protobuf_u64(&m, 1, 150);
	is(&m, "\x08\x96\x01", 3);
	us_protobuf_message(&outer, 3, &m);
	is(&outer, "\x1a\x03\x08\x96\x01", 5);
	us_protobuf_clear(&m);
	us_protobuf_str(&m, 2, "testing");
	is(&m, "\x12\x07testing", 9);
	us_protobuf_free(&m);
	us_protobuf_free(&outer);
}

static void limits(void **state)
{
	struct us_protobuf m = { 0 };
	char much[5000] = { 0 };
	(void)state;
	us_protobuf_u64(&m, 536870911, UINT64_MAX);
	is(&m, "\xf8\xff\xff\xff\x0f\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 15);
	us_protobuf_bytes(&m, 1, NULL, 0);
	assert_int_equal(m.n, 17);
	us_protobuf_bytes(&m, 1, much, sizeof(much));
	assert_int_equal(m.n, 17 + 3 + sizeof(much));
	us_protobuf_bytes(&m, 1, much, SIZE_MAX / 2);
	assert_true(m.failed);
	us_protobuf_clear(&m);
	us_protobuf_u64(&m, 1, 0);
	is(&m, "\x08\x00", 2);
	us_protobuf_free(&m);
}

/* A part that had no memory spoils the whole. */
static void failures_are_kept(void **state)
{
	struct us_protobuf m = { 0 }, outer = { 0 };
	(void)state;
	us_protobuf_bytes(&m, 1, "", SIZE_MAX);
	us_protobuf_message(&outer, 1, &m);
	assert_true(outer.failed);
	us_protobuf_u64(&outer, 1, 1);
	assert_true(outer.failed);
	us_protobuf_free(&m);
	us_protobuf_free(&outer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(examples),
		cmocka_unit_test(limits),
		cmocka_unit_test(failures_are_kept),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
