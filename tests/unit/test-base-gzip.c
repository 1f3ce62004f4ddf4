/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is packed is unpacked by zlib as it was, numbers and other text in turns. */
#include "unit.h"

#include "base/gzip.h"
#include "base/huffman.h"
#include "base/json.h"

#include <inttypes.h>
#include <string.h>
#include <zlib.h>

#define MOST (1U << 20)

static void unpacks_to(unsigned char *packed, size_t n_packed, const void *bytes,
		       size_t n)
{
	static unsigned char got[MOST + 1];
	z_stream z = { .next_in = packed,
		       .avail_in = (unsigned)n_packed,
		       .next_out = got,
		       .avail_out = sizeof(got) };
	assert_int_equal(inflateInit2(&z, MAX_WBITS + 16),
			 Z_OK); /* with its checksum */
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	assert_int_equal(z.avail_in, 0); /* one member, and nothing behind it */
	assert_int_equal(z.total_out, n);
	assert_memory_equal(got, bytes, n);
	inflateEnd(&z);
}

/* The first part as text, the next as numbers, and so on. */
static size_t packed_and_back(const unsigned char *bytes, size_t n, size_t part)
{
	char *packed = NULL;
	size_t n_packed;
	struct us_gzip g;
	FILE *out = open_memstream(&packed, &n_packed);
	assert_int_equal(us_gzip_begin(&g, out), 0);
	for (size_t at = 0; at < n; at += part) {
		us_gzip_numbers(&g, at / part % 2);
		us_gzip_write(&g, bytes + at, n - at < part ? n - at : part);
	}
	us_gzip_end(&g);
	fclose(out);
	unpacks_to((unsigned char *)packed, n_packed, bytes, n);
	free(packed);
	return n_packed;
}

static size_t by_huffman(const unsigned char *bytes, size_t n)
{
	static unsigned char end[] = { 3, 0 }; /* an empty block that is the last */
	static unsigned char to[US_HUFFMAN_ROOM + sizeof(end)],
		got[US_HUFFMAN_MOST + 1];
	struct us_huffman *h = us_huffman_open();
	size_t len = us_huffman_pack(h, bytes, n, to);
	memcpy(to + len, end, sizeof(end));
	z_stream z = { .next_in = to,
		       .avail_in = (unsigned)(len + sizeof(end)),
		       .next_out = got,
		       .avail_out = sizeof(got) };
	assert_int_equal(inflateInit2(&z, -MAX_WBITS), Z_OK);
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	assert_int_equal(z.avail_in, 0);
	assert_int_equal(z.total_out, n);
	assert_memory_equal(got, bytes, n);
	inflateEnd(&z);
	us_huffman_close(h);
	return len;
}

static void numbers_of_all_lengths(void **state)
{
	unsigned char text[600];
	(void)state;
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (unsigned char)"0123456789,."[i * 7 % 11];
	assert_int_equal(by_huffman(text, 0), 0);
	for (size_t n = 1; n <= sizeof(text); n++)
		by_huffman(text, n);
}

static void any_bytes(void **state)
{
	static unsigned char bytes[US_HUFFMAN_MOST];
	uint32_t random = 1;
	(void)state;
	for (unsigned value = 0; value < 256; value += 51) {
		memset(bytes, (int)value, sizeof(bytes));
		by_huffman(bytes, 1);
		assert_true(by_huffman(bytes, sizeof(bytes)) < sizeof(bytes) / 7);
	}
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)i;
	by_huffman(bytes, 256);
	by_huffman(bytes, sizeof(bytes));
	for (size_t i = 0; i < sizeof(bytes); i++) {
		random = random * 1664525 + 1013904223;
		bytes[i] = (unsigned char)(random >> 24);
	}
	assert_true(by_huffman(bytes, sizeof(bytes)) < sizeof(bytes) + 512);
}

/* As often as Fibonacci's numbers say: codes as long as there can be, were they not
 * bounded. */
static void the_longest_codes(void **state)
{
	static unsigned char bytes[US_HUFFMAN_MOST];
	size_t n = 0, one = 1, two = 1;
	(void)state;
	for (unsigned value = 0; n + one < sizeof(bytes); value++) {
		memset(bytes + n, (int)(value * 11), one);
		n += one;
		size_t next = one + two;
		one = two;
		two = next;
	}
	by_huffman(bytes, n);
}

static void in_turns(void **state)
{
	static unsigned char text[MOST];
	static const size_t parts[] = { 1000, 65535, 65536, 65537, 300000, MOST };
	(void)state;
	for (unsigned i = 0, n = 0; n < MOST; i++)
		n += (unsigned)snprintf((char *)text + n, MOST - n, "%u,",
					i * 2654435761U >> 16);
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		assert_true(packed_and_back(text, sizeof(text), parts[i]) < MOST);
	for (size_t n = 0; n < 20; n++) /* nothing at all, too */
		packed_and_back(text, n, 3);
}

static void a_full_disk(void **state)
{
	static const char text[200000];
	struct us_gzip *g;
	FILE *full = fopen("/dev/full", "w");
	(void)state;
	if (!full)
		skip();
	FILE *f = us_gzip_stream(full, &g);
	assert_non_null(f);
	for (unsigned i = 0; i < 100; i++) {
		fwrite(text, 1, sizeof(text), f);
		fflush(f);
		us_gzip_numbers(g, i % 2);
	}
	fclose(f);
	assert_true(fflush(full) || ferror(full));
	fclose(full);
}

static void numbers(void *ctx, size_t from, size_t n, uint64_t *ret)
{
	for (size_t i = from; i < from + n; i++)
		*ret++ = i * i % *(uint64_t *)ctx;
}

/* Of each length there is. */
static void long_numbers(void *ctx, size_t from, size_t n, uint64_t *ret)
{
	const uint64_t *all = ctx;
	for (size_t i = 0; i < n; i++)
		ret[i] = all[from + i];
}

/* Longer than the pieces that it is written in, which end wherever in a number. */
static void a_long_column(void **state)
{
	char *text, *want;
	size_t n_text, n_want, n = 100000;
	uint64_t below = 99991;
	FILE *out = open_memstream(&text, &n_text);
	FILE *plain = open_memstream(&want, &n_want);
	struct us_json j = us_json_to(out);
	(void)state;
	us_json_object(&j, NULL);
	us_json_column(&j, "none", 0, 0, numbers, &below);
	us_json_column(&j, "whole", n, 0, numbers, &below);
	us_json_column(&j, "parts", n, 3, numbers, &below);
	us_json_end(&j);
	fclose(out);
	fputs("{\"none\":[],\"whole\":[", plain);
	for (size_t i = 0; i < n; i++)
		fprintf(plain, "%s%zu", i ? "," : "", i * i % below);
	fputs("],\"parts\":[", plain);
	for (size_t i = 0; i < n; i++)
		fprintf(plain, "%s%zu.%03zu", i ? "," : "", i * i % below / 1000,
			i * i % below % 1000);
	fputs("]}", plain);
	fclose(plain);
	assert_int_equal(strcspn(text, "\n"), n_want);
	assert_memory_equal(text, want, n_want);
	free(text);
	free(want);
}

static void columns_of_any_numbers(void **state)
{
	char *text, *want;
	size_t n_text, n_want, n = 0;
	uint64_t all[64];
	FILE *out = open_memstream(&text, &n_text);
	FILE *plain = open_memstream(&want, &n_want);
	struct us_json j = us_json_to(out);
	(void)state;
	for (uint64_t power = 1; n < 60; power *= 10) {
		all[n++] = power - 1;
		all[n++] = power;
		all[n++] = power / 7 * 13;
	}
	all[n++] = UINT64_MAX;
	us_json_array(&j, NULL);
	us_json_column(&j, NULL, n, 0, long_numbers, all);
	us_json_column(&j, NULL, n, 3, long_numbers, all);
	for (size_t i = 0; i < n; i++)
		us_json_fixed(&j, NULL, all[i], 1);
	us_json_end(&j);
	fclose(out);
	fputs("[[", plain);
	for (size_t i = 0; i < n; i++)
		fprintf(plain, "%s%" PRIu64, i ? "," : "", all[i]);
	fputs("],[", plain);
	for (size_t i = 0; i < n; i++)
		fprintf(plain, "%s%" PRIu64 ".%03" PRIu64, i ? "," : "", all[i] / 1000,
			all[i] % 1000);
	fputs("]", plain);
	for (size_t i = 0; i < n; i++)
		fprintf(plain, ",%" PRIu64 ".%" PRIu64, all[i] / 10, all[i] % 10);
	fputs("]", plain);
	fclose(plain);
	assert_string_equal(text, want);
	free(text);
	free(want);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_of_all_lengths),
		cmocka_unit_test(any_bytes),
		cmocka_unit_test(the_longest_codes),
		cmocka_unit_test(in_turns),
		cmocka_unit_test(a_full_disk),
		cmocka_unit_test(a_long_column),
		cmocka_unit_test(columns_of_any_numbers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
