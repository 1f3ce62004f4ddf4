/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is kept of replies, and what that takes. */
#include "unit.h"

#include "serve/cache.h"

#include <stdbool.h>

static void put(struct us_cache *c, const char *key, size_t size)
{
	struct us_http_body *b = us_http_body_new(calloc(1, size), size);
	assert_non_null(b);
	us_cache_put(c, key, b);
	us_http_body_drop(b);
}

static bool has(struct us_cache *c, const char *key)
{
	struct us_http_body *b = us_cache_get(c, key);
	us_http_body_drop(b);
	return b != NULL;
}

static void oldest_makes_room(void **state)
{
	struct us_cache c = { .most = 100 };
	(void)state;
	put(&c, "a", 40);
	put(&c, "b", 40);
	assert_true(has(&c, "a"));
	put(&c, "c", 40);
	assert_true(has(&c, "a"));
	assert_false(has(&c, "b"));
	assert_int_equal(c.size, 80);
	put(&c, "large", 51);
	assert_false(has(&c, "large"));
	assert_true(has(&c, "c"));
	us_cache_fini(&c);
	assert_int_equal(c.size, 0);
}

static void entries_are_bounded(void **state)
{
	struct us_cache c = { .most = 1000 };
	char key[US_CACHE_KEY + 1];
	(void)state;
	for (unsigned i = 0; i < 3 * US_CACHE_ENTRIES; i++) {
		snprintf(key, sizeof(key), "%u", i);
		put(&c, key, 1);
	}
	assert_int_equal(c.size, US_CACHE_ENTRIES);
	assert_true(has(&c, key));
	assert_false(has(&c, "0"));
	memset(key, 'x', sizeof(key) - 1);
	key[sizeof(key) - 1] = '\0';
	put(&c, key, 1);
	assert_false(has(&c, key));
	us_cache_fini(&c);
}

/* Who sends one has it until it is sent. */
static void users_keep_what_they_have(void **state)
{
	struct us_cache c = { .most = 100 };
	(void)state;
	put(&c, "a", 50);
	struct us_http_body *b = us_cache_get(&c, "a");
	assert_non_null(b);
	us_cache_fini(&c);
	memset(b->data, 1, b->size);
	us_http_body_drop(b);
	us_http_body_drop(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(oldest_makes_room),
		cmocka_unit_test(entries_are_bounded),
		cmocka_unit_test(users_keep_what_they_have),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
