/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whose code it is that the guest executes: of several images at the same addresses, or
 * of none. */
#include "unit.h"

#include "trace/plugin/image_code.h"

#include <errno.h>
#include <string.h>

#define PAGE  4096
#define FIRST 0x400000ULL
#define SIZE  256

/* As uniscope writes it: two images with one function each, at the same address. */
struct file {
	struct us_functions_head head;
	struct us_function_range range[2];
	struct us_function_code code[2];
	uint8_t bytes[2][SIZE];
};

static struct file file;
static struct us_functions functions;
static uint8_t page[PAGE];

static int set_up(void **state)
{
	(void)state;
	file = (struct file){ .head = { .n = 2, .n_code = 2, .layers = 1 } };
	memcpy(file.head.magic, US_FUNCTIONS_MAGIC, 8);
	for (unsigned k = 0; k < 2; k++) {
		uint64_t start = us_layer_address(FIRST, k);
		file.range[k] = (struct us_function_range){ .start = start,
							    .end = start + SIZE,
							    .entry = start };
		file.code[k] = (struct us_function_code){
			.start = start,
			.end = start + SIZE,
			.offset = offsetof(struct file, bytes) + k * SIZE,
		};
		for (unsigned i = 0; i < SIZE; i++)
			file.bytes[k][i] = (uint8_t)(i * (5 + 2 * k) + k + 1);
	}
	memset(page, 0, sizeof(page));
	return us_functions_parse((const uint8_t *)&file, sizeof(file), &functions);
}

/* -1: none. */
static int whose(const uint8_t *code, uint64_t pc)
{
	const struct us_code_window w = { FIRST, page, PAGE };
	memcpy(page, code, SIZE);
	struct us_code_of of = us_code_of(&functions, &w, pc);
	return of.other ? -1 : (int)of.layer;
}

static void the_code_tells(void **state)
{
	uint8_t none[SIZE];
	(void)state;
	memset(none, 0x90, sizeof(none));
	assert_int_equal(functions.n_layer, 2);
	for (uint64_t pc = FIRST; pc < FIRST + SIZE; pc += 50) {
		assert_int_equal(whose(file.bytes[0], pc), 0);
		assert_int_equal(whose(file.bytes[1], pc), 1);
		assert_int_equal(whose(none, pc), -1);
	}
}

/* Less than half of it, wherever that is. */
static void a_guest_may_change_its_code(void **state)
{
	uint8_t code[SIZE];
	(void)state;
	for (unsigned at = 0; at <= SIZE; at += SIZE / 4) {
		memcpy(code, file.bytes[1], SIZE);
		for (unsigned i = 0; i < SIZE * 2 / 5; i++)
			code[(at + i) % SIZE] ^= 0x55;
		assert_int_equal(whose(code, FIRST), 1);
	}
	for (unsigned i = 0; i < SIZE; i++)
		code[i] = file.bytes[1][i] ^ (i % 5 < 3 ? 0x55 : 0);
	assert_int_equal(whose(code, FIRST), -1);
}

/* What the image has no bytes for does not count: a stack in its code, say. */
static void room_for_data_does_not_count(void **state)
{
	uint8_t code[SIZE];
	(void)state;
	memset(file.bytes[0] + 32, 0, SIZE - 32);
	memset(code, 0x77, sizeof(code));
	memcpy(code, file.bytes[0], 32);
	assert_int_equal(whose(code, FIRST), 0);
}

/* Of two builds of a program the one that is more alike. */
static void the_most_alike_is_taken(void **state)
{
	uint8_t code[SIZE];
	(void)state;
	memcpy(file.bytes[1], file.bytes[0], SIZE);
	memset(file.bytes[1] + 100, 0x11, 4);
	memcpy(code, file.bytes[1], SIZE);
	assert_int_equal(whose(code, FIRST), 1);
	code[50] ^= 1;
	assert_int_equal(whose(code, FIRST), 1);
	memcpy(code, file.bytes[0], SIZE);
	assert_int_equal(whose(code, FIRST), 0);
}

/* Names alone, without code, cannot be compared. */
static void names_alone_are_believed(void **state)
{
	(void)state;
	functions.n_code = 0;
	assert_int_equal(whose(file.bytes[1], FIRST), 0);
	assert_int_equal(whose(file.bytes[1], FIRST + PAGE / 2), -1);
}

static void addresses_have_a_layer(void **state)
{
	static const uint64_t gva[] = {
		0,	   FIRST, (1ULL << 56) - 1, -(1ULL << 56), 0xffffffff81000000,
		UINT64_MAX
	};
	(void)state;
	for (unsigned i = 0; i < sizeof(gva) / sizeof(*gva); i++)
		for (unsigned k = 0; k < US_LAYERS; k++) {
			uint64_t at = us_layer_address(gva[i], k);
			assert_int_equal(us_layer_of(at), k);
			assert_int_equal(us_layer_gva(at), gva[i]);
		}
	assert_true(us_layer_of(US_NO_LAYER) >= US_LAYERS);
}

static int parsed(size_t size)
{
	struct us_functions f;
	return us_functions_parse((const uint8_t *)&file, size, &f);
}

static void a_wrong_file_is_refused(void **state)
{
	(void)state;
	assert_int_equal(parsed(sizeof(file)), 0);
	assert_int_equal(parsed(sizeof(file) - 1), -EBADMSG);
	assert_int_equal(parsed(sizeof(file.head) + 8), -EBADMSG);
	assert_int_equal(parsed(0), -EBADMSG);
	file.code[1].offset = UINT64_MAX;
	assert_int_equal(parsed(sizeof(file)), -EBADMSG);
	set_up(NULL);
	file.code[1].end = UINT64_MAX;
	assert_int_equal(parsed(sizeof(file)), -EBADMSG);
	set_up(NULL);
	file.code[1].start = file.code[0].end - 1;
	assert_int_equal(parsed(sizeof(file)), -EBADMSG);
	set_up(NULL);
	file.head.n = UINT64_MAX / 2;
	assert_int_equal(parsed(sizeof(file)), -EBADMSG);
	set_up(NULL);
	file.head.n_code = UINT64_MAX / 4;
	assert_int_equal(parsed(sizeof(file)), -EBADMSG);
	set_up(NULL);
	file.head.magic[7]++;
	assert_int_equal(parsed(sizeof(file)), -EPROTO);
	file.head.magic[0]++;
	assert_int_equal(parsed(sizeof(file)), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(the_code_tells, set_up),
		cmocka_unit_test_setup(a_guest_may_change_its_code, set_up),
		cmocka_unit_test_setup(room_for_data_does_not_count, set_up),
		cmocka_unit_test_setup(the_most_alike_is_taken, set_up),
		cmocka_unit_test_setup(names_alone_are_believed, set_up),
		cmocka_unit_test_setup(addresses_have_a_layer, set_up),
		cmocka_unit_test_setup(a_wrong_file_is_refused, set_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
