/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test-store-numbers.c: the checksum and the varints. */
#include "unit.h"

#include "store/crc32c.h"
#include "store/varint.h"

/* RFC 3720 appendix B.4 and the customary check value. */
static void crc_of_known_vectors(void **state)
{
	(void)state;
	uint8_t buf[32];
	assert_int_equal(us_crc32c(0, "123456789", 9), 0xe3069283);
	memset(buf, 0, sizeof(buf));
	assert_int_equal(us_crc32c(0, buf, sizeof(buf)), 0x8a9136aa);
	memset(buf, 0xff, sizeof(buf));
	assert_int_equal(us_crc32c(0, buf, sizeof(buf)), 0x62a8ab43);
	for (unsigned i = 0; i < sizeof(buf); i++)
		buf[i] = (uint8_t)i;
	assert_int_equal(us_crc32c(0, buf, sizeof(buf)), 0x46dd794e);
}

static void crc_same_with_and_without_instruction(void **state)
{
	(void)state;
	uint8_t buf[100];
	for (unsigned i = 0; i < sizeof(buf); i++)
		buf[i] = (uint8_t)(i * 37 + 11);
	for (size_t len = 0; len <= sizeof(buf); len++) {
		uint32_t whole = us_crc32c(0, buf, len);
		assert_int_equal(whole, us_crc32c_portable(0, buf, len));
		uint32_t half = us_crc32c(0, buf, len / 2);
		assert_int_equal(whole, us_crc32c(half, buf + len / 2, len - len / 2));
	}
}

static void varints_come_back(void **state)
{
	(void)state;
	uint8_t buf[US_VARINT_MAX];
	for (unsigned bit = 0; bit < 64; bit++) {
		for (int add = -1; add <= 1; add++) {
			uint64_t v = (1ULL << bit) + (uint64_t)add, back;
			uint8_t *end = us_varint_put(buf, v);
			assert_true(end - buf <= US_VARINT_MAX);
			assert_ptr_equal(us_varint_get(buf, end, &back), end);
			assert_true(back == v);
			assert_null(us_varint_get(buf, end - 1, &back));
			assert_true(us_unzigzag(us_zigzag((int64_t)v)) == (int64_t)v);
		}
	}
	assert_int_equal(us_zigzag(-1), 1);
	assert_int_equal(us_zigzag(1), 2);
}

static void varints_too_long_are_refused(void **state)
{
	(void)state;
	uint64_t v;
	const uint8_t endless[12] = { 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
				      0x80, 0x80, 0x80, 0x80, 0x80, 0 };
	const uint8_t bits65[10] = { 0xff, 0xff, 0xff, 0xff, 0xff,
				     0xff, 0xff, 0xff, 0xff, 2 };
	assert_null(us_varint_get(endless, endless + 12, &v));
	assert_null(us_varint_get(bits65, bits65 + 10, &v));
	assert_null(us_varint_get(NULL, bits65, &v));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(crc_of_known_vectors),
		cmocka_unit_test(crc_same_with_and_without_instruction),
		cmocka_unit_test(varints_come_back),
		cmocka_unit_test(varints_too_long_are_refused),
	};
	return cmocka_run_group_tests_name("store-numbers", tests, NULL, NULL);
}
