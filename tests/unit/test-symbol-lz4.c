/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LZ4 blocks, made by hand, and by lz4 itself where it is installed. */
#include "unit.h"

#include "symbol/lz4.h"
#include "symbol/payload.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static uint8_t out[64];

static size_t block(const char *from, size_t n)
{
	memset(out, 0, sizeof(out));
	return us_lz4_block((const uint8_t *)from, n, out, sizeof(out) - 1);
}
#define BLOCK(text) block(text, sizeof(text) - 1)

static void literals_are_copied(void **state)
{
	(void)state;
	assert_int_equal(BLOCK("\x50hello"), 5);
	assert_string_equal((char *)out, "hello");
	assert_int_equal(BLOCK("\xf0\x01"
			       "0123456789abcdef"),
			 16);
	assert_string_equal((char *)out, "0123456789abcdef");
}

/* "ab", then 6 bytes from 2 before: they repeat themselves. */
static void matches_repeat(void **state)
{
	(void)state;
	assert_int_equal(BLOCK("\x22"
			       "ab\x02\x00\x10!"),
			 9);
	assert_string_equal((char *)out, "abababab!");
	assert_int_equal(BLOCK("\x41"
			       "abcd\x04\x00\x10!"),
			 10);
	assert_string_equal((char *)out, "abcdabcda!");
}

static void damaged_blocks_are_refused(void **state)
{
	(void)state;
	assert_int_equal(BLOCK(""), SIZE_MAX);
	assert_int_equal(BLOCK("\x50hell"), SIZE_MAX);	       /* cut short */
	assert_int_equal(BLOCK("\xf0\xff\xff\xff"), SIZE_MAX); /* no end */
	assert_int_equal(BLOCK("\x22"
			       "ab\x03\x00\x10!"),
			 SIZE_MAX); /* from before the start */
	assert_int_equal(BLOCK("\x22"
			       "ab\x00\x00\x10!"),
			 SIZE_MAX); /* from nowhere */
	assert_int_equal(BLOCK("\x22"
			       "ab\x02"),
			 SIZE_MAX);
	assert_int_equal(BLOCK("\x2f"
			       "ab\x02\x00\x40\x10!"),
			 SIZE_MAX); /* no room */
}

/* Bytes that a compressor finds something in, over several blocks. */
static void all_of_lz4_is_read_again(void **state)
{
	char name[] = "/tmp/uniscope-lz4-XXXXXX", command[200], packed[64];
	size_t n = 9U << 20;
	uint8_t *data = malloc(n), *image = malloc(n), *back = malloc(n);
	uint64_t seed = 1;
	(void)state;
	assert_true(data && image && back);
	if (system("lz4 --version >/dev/null 2>&1")) {
		free(data);
		free(image);
		free(back);
		skip();
	}
	for (size_t i = 0; i < n; i++) {
		seed = seed * 6364136223846793005 + 1442695040888963407;
		data[i] = i > 5000 && seed >> 61 ? data[i - 5000]
						 : (uint8_t)(seed >> 33);
	}
	int fd = mkstemp(name);
	assert_int_equal(write(fd, data, n), n);
	close(fd);
	snprintf(packed, sizeof(packed), "%s.lz4", name);
	snprintf(command, sizeof(command), "lz4 -lqf %s %s", name, packed);
	assert_int_equal(system(command), 0);
	FILE *f = fopen(packed, "rb");
	assert_non_null(f);
	size_t got = fread(image, 1, n, f);
	fclose(f);
	unlink(name);
	unlink(packed);
	memcpy(image + got, "\0\0\x90", 4); /* Linux: how many bytes it all is */
	fd = us_payload_unpack(image, got + 4);
	assert_true(fd >= 0);
	assert_int_equal(pread(fd, back, n, 0), n);
	assert_memory_equal(back, data, n);
	assert_int_equal(lseek(fd, 0, SEEK_END), n);
	close(fd);
	free(data);
	free(image);
	free(back);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(literals_are_copied),
		cmocka_unit_test(matches_repeat),
		cmocka_unit_test(damaged_blocks_are_refused),
		cmocka_unit_test(all_of_lz4_is_read_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
