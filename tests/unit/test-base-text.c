/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names from files and guests are made fit for a terminal and for JSON. */
#include "unit.h"

#include "base/err.h"
#include "base/json.h"
#include "base/text.h"

#include <regex.h>

#include <errno.h>

static void utf8_lengths(void **state)
{
	(void)state;
	assert_int_equal(us_utf8_len("a"), 1);
	assert_int_equal(us_utf8_len("\xc3\xa9"), 2);
	assert_int_equal(us_utf8_len("\xe2\x82\xac"), 3);
	assert_int_equal(us_utf8_len("\xf0\x9f\x98\x80"), 4);
	assert_int_equal(us_utf8_len("\xc0\x80"), 0);	  /* overlong NUL */
	assert_int_equal(us_utf8_len("\xed\xa0\x80"), 0); /* surrogate */
	assert_int_equal(us_utf8_len("\xe2\x82"), 0);	  /* cut */
	assert_int_equal(us_utf8_len("\xff"), 0);
}

static void printable_disarms(void **state)
{
	(void)state;
	char out[32];
	assert_string_equal(us_printable(out, sizeof(out), "a\x1b[2Jb\n\x7f"),
			    "a?[2Jb??");
	assert_string_equal(us_printable(out, sizeof(out), "x\xe2\x80\xaey"), "x?y");
	assert_string_equal(us_printable(out, sizeof(out),
					 "\xc2\x9b"
					 "1m\xff"),
			    "?1m?");
	assert_string_equal(us_printable(out, 3, "\xc3\xa9\xc3\xa9"), "\xc3\xa9");
}

static void words_are_for_a_shell(void **state)
{
	(void)state;
	static const char *const words[][2] = {
		{ "a/b-1.data", "a/b-1.data" },
		{ "my file", "'my file'" },
		{ "it's", "'it'\\''s'" },
		{ "-o", "./-o" },
		{ "-a b", "'./-a b'" },
		{ "", "''" },
		{ "$(reboot)", "'$(reboot)'" },
		{ "~", "'~'" },
		{ "\xc3\xa9", "\xc3\xa9" },
		{ "a\x1b[2J", "'a?[2J'" },
		{ "a\xff", "'a?'" },
	};
	char out[32];
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		assert_string_equal(us_shell_word(out, sizeof(out), words[i][0]),
				    words[i][1]);
	assert_string_equal(us_shell_word(out, 5, "a b c d"), "'a '");
	assert_string_equal(us_shell_word(out, 5, "it's"), "'it'");
	assert_string_equal(us_shell_word(out, 4, "abcdef"), "ab");
	assert_string_equal(us_shell_word(out, 1, "abcdef"), "");
}

static void json_is_valid(void **state)
{
	(void)state;
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);
	assert_non_null(f);
	struct us_json j = us_json_to(f);
	us_json_object(&j, NULL);
	us_json_str(&j, "a\"b", "</script>\x01\xff");
	us_json_str(&j, "c", "\033[m\302\233\342\200\256\177\303\251");
	us_json_array(&j, "l");
	us_json_u64(&j, NULL, 1);
	us_json_double(&j, NULL, 0.5, 2);
	us_json_hex(&j, NULL, 255);
	us_json_end(&j);
	us_json_bool(&j, "t", true);
	us_json_end(&j);
	fclose(f);
	assert_string_equal(text, "{\"a\\\"b\":\"\\u003c/script>\\u0001\\ufffd\","
				  "\"c\":\"\\u001b[m\\u009b\\u202e\\u007f\303\251\","
				  "\"l\":[1,0.50,\"0xff\"],\"t\":true}");
	free(text);
}

static void errors_gain_context(void **state)
{
	(void)state;
	struct us_err e;
	assert_int_equal(us_fail(&e, -ENOENT, "no file %d", 7), -ENOENT);
	us_hint(&e, "make one");
	assert_int_equal(us_wrap(&e, "open %s", "x"), -ENOENT);
	assert_string_equal(e.msg, "open x: no file 7");
	assert_string_equal(e.hint, "make one");
}

/* It matches itself and nothing else, whatever is in it. */
static void test_regex_of(void **state)
{
	static const char *const texts[] = { "sh (12)", "[kernel]", "a.b*c+?{2}|^$\\",
					     "" };
	char dst[64];
	regex_t re;
	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		us_regex_of(dst, sizeof(dst), texts[i]);
		assert_int_equal(regcomp(&re, dst, REG_EXTENDED | REG_NOSUB), 0);
		assert_int_equal(regexec(&re, texts[i], 0, NULL, 0), 0);
		if (*texts[i])
			assert_int_equal(regexec(&re, "shh 12 kernel axb", 0, NULL, 0),
					 REG_NOMATCH);
		regfree(&re);
	}
	/* Never cut in two. */
	assert_string_equal(us_regex_of(dst, 5, "ab..."), "ab\\.");
	assert_string_equal(us_regex_of(dst, 4, "ab..."), "ab");
	assert_string_equal(us_regex_of(dst, 1, "ab"), "");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(utf8_lengths),
		cmocka_unit_test(printable_disarms),
		cmocka_unit_test(words_are_for_a_shell),
		cmocka_unit_test(json_is_valid),
		cmocka_unit_test(errors_gain_context),
		cmocka_unit_test(test_regex_of),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
