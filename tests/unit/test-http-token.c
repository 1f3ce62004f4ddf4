/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The secret in a server's URLs, and values in their query. */
#include "unit.h"

#include "http/token.h"

static void tokens(void **state)
{
	char a[US_HTTP_TOKEN_SIZE], b[US_HTTP_TOKEN_SIZE];
	(void)state;
	assert_int_equal(us_http_token_make(a, NULL), 0);
	assert_int_equal(us_http_token_make(b, NULL), 0);
	assert_int_equal(strspn(a, "0123456789abcdef"), US_HTTP_TOKEN_SIZE - 1);
	assert_string_not_equal(a, b);
	assert_true(us_http_token_is(a, a));
	assert_false(us_http_token_is(a, b));
	assert_false(us_http_token_is(a, NULL));
	assert_false(us_http_token_is(a, ""));
	strcpy(b, a);
	b[US_HTTP_TOKEN_SIZE - 2] ^= 1;
	assert_false(us_http_token_is(a, b));
	b[US_HTTP_TOKEN_SIZE - 2] = '\0';
	assert_false(us_http_token_is(a, b));
}

static const char *meant(const char *raw)
{
	static char value[16];
	return us_http_unescape(raw, value, sizeof(value)) ? value : NULL;
}

static void values(void **state)
{
	static const char *const bad[] = {
		"%",
		"%2",
		"%zz",
		"%00",
		"a%",
		"%0a",
		"\n",
		"%7f",
		"%ff",
		"%c3",
		"%ed%a0%80",
		"0123456789abcdef",
		"%30123456789abcdef",
	};
	char text[8];
	(void)state;
	assert_string_equal(meant(""), "");
	assert_string_equal(meant("a%2Fb%2fc"), "a/b/c");
	assert_string_equal(meant("%C3%a9"), "\xc3\xa9");
	assert_string_equal(meant("%2500"), "%00");
	assert_string_equal(meant("0123456789abcde"), "0123456789abcde");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_null(meant(bad[i]));
	assert_false(us_http_unescape("", text, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tokens),
		cmocka_unit_test(values),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
