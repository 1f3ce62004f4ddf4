/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a server listens, and whose requests it takes. */
#include "unit.h"

#include "http/address.h"
#include "http/origin.h"

#include <errno.h>

static const char *parsed(const char *text)
{
	static char told[US_HTTP_ADDRESS_MAX];
	struct us_http_address a;
	struct us_err e = { 0 };
	int rc = us_http_address_parse(text, &a, &e);
	if (rc) {
		assert_int_equal(rc, -EINVAL);
		assert_non_null(strstr(e.msg, "not an address with a port"));
		return "";
	}
	us_http_address_text(&a, told);
	return told;
}

static void addresses(void **state)
{
	(void)state;
	assert_string_equal(parsed("127.0.0.1:9090"), "127.0.0.1:9090");
	assert_string_equal(parsed(":9090"), "127.0.0.1:9090");
	assert_string_equal(parsed("9090"), "127.0.0.1:9090");
	assert_string_equal(parsed(":0"), "127.0.0.1:0");
	assert_string_equal(parsed("localhost:80"), "127.0.0.1:80");
	assert_string_equal(parsed("0.0.0.0:65535"), "0.0.0.0:65535");
	assert_string_equal(parsed("[::1]:9090"), "[::1]:9090");
	assert_string_equal(parsed("[::]:1"), "[::]:1");
	static const char *const bad[] = {
		"",
		":",
		"127.0.0.1",
		"127.0.0.1:",
		"a.example:80",
		"::1:80",
		"[::1]",
		"[::1:80",
		"[]:80",
		"1.2.3:80",
		":65536",
		":-1",
		":+1",
		": 1",
		":1x",
		"[1.2.3.4]:1",
		":000080",
		"127.0.0.1:80:90",
		"1111111111111111111111111111111111111111111111111111111111111111:1",
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_string_equal(parsed(bad[i]), "");
}

static bool loopback(const char *text)
{
	struct us_http_address a;
	assert_int_equal(us_http_address_parse(text, &a, NULL), 0);
	return us_http_address_is_loopback(&a);
}

static void loopback_is_known(void **state)
{
	(void)state;
	assert_true(loopback("127.0.0.1:1"));
	assert_true(loopback("127.9.9.9:1"));
	assert_true(loopback("[::1]:1"));
	assert_false(loopback("0.0.0.0:1"));
	assert_false(loopback("[::]:1"));
	assert_false(loopback("192.168.0.1:1"));
}

/* A name may be anybody's, whatever it is resolved to. */
static void hosts(void **state)
{
	(void)state;
	static const char *const ours[] = { "127.0.0.1",      "127.0.0.1:9090",
					    "localhost",      "LocalHost:9090",
					    "[::1]:9090",     "[::1]",
					    "192.168.0.7:80", "[fe80::1]:80" };
	static const char *const others[] = {
		"",
		"evil.example",
		"evil.example:9090",
		"127.0.0.1.example",
		"localhost.evil.example",
		"localhost@evil",
		"127.0.0.1:9090x",
		"[::1",
		"[::1]x",
		"::1",
		"[evil]:9090",
		"127.1:80x",
		"0x7f000001",
	};
	assert_true(us_http_host_is_ours(NULL));
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		assert_true(us_http_host_is_ours(ours[i]));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_false(us_http_host_is_ours(others[i]));
}

/* With or without a port, and the dot of the DNS root. */
static void names(void **state)
{
	(void)state;
	static const char *const own[] = { "vm.example", "VM.Example:80", "vm.example.",
					   "vm.example.:80" };
	static const char *const others[] = { "",
					      ".",
					      "vm",
					      "vm.example..",
					      "vm.example:x",
					      "vm.example.evil",
					      "vm.example.:8x" };
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		assert_true(us_http_host_is_named(own[i], "vm.example"));
		assert_true(us_http_host_is_named(own[i], "vm.example."));
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_false(us_http_host_is_named(others[i], "vm.example"));
	assert_false(us_http_host_is_named(NULL, "vm.example"));
	assert_false(us_http_host_is_named("vm.example", ""));
	assert_true(us_http_host_is_ours("localhost."));
	assert_true(us_http_host_is_ours("localhost.:9090"));
	assert_false(us_http_host_is_ours("localhost.."));
}

/* As clients of a proxy send it. */
static void absolute_targets(void **state)
{
	static const char *const t[][3] = {
		{ "/", "/", "" },
		{ "/data", "/data", "" },
		{ "//data", "//data", "" },
		{ "*", "*", "" },
		{ "http://127.0.0.1:90/data", "/data", "127.0.0.1:90" },
		{ "HTTP://[::1]:90/", "/", "[::1]:90" },
		{ "http://localhost", "/", "localhost" },
		{ "http://evil@localhost/x", "/x", "evil@localhost" },
		{ "https://localhost/x", "https://localhost/x", "" },
	};
	char host[16];
	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		assert_string_equal(us_http_target_path(t[i][0], host, sizeof(host)),
				    t[i][1]);
		assert_string_equal(host, t[i][2]);
	}
	assert_null(us_http_target_path("http://", host, sizeof(host)));
	assert_null(us_http_target_path("http:///data", host, sizeof(host)));
	assert_null(us_http_target_path("http://a.very.long.name.of.an.example/", host,
					sizeof(host)));
}

static void origins(void **state)
{
	const char *host = "127.0.0.1:9090";
	(void)state;
	assert_true(us_http_origin_is_ours(host, NULL, NULL));
	assert_true(us_http_origin_is_ours(NULL, NULL, NULL));
	assert_true(us_http_origin_is_ours(host, "http://127.0.0.1:9090", NULL));
	assert_true(us_http_origin_is_ours(host, NULL, "same-origin"));
	assert_true(us_http_origin_is_ours(host, NULL, "none"));
	assert_false(us_http_origin_is_ours(host, "null", NULL));
	assert_false(us_http_origin_is_ours(host, "http://evil.example", NULL));
	assert_false(us_http_origin_is_ours(host, "http://127.0.0.1:80", NULL));
	assert_false(us_http_origin_is_ours(host, "https://127.0.0.1:9090", NULL));
	assert_false(us_http_origin_is_ours(NULL, "http://127.0.0.1:9090", NULL));
	assert_false(us_http_origin_is_ours(host, NULL, "cross-site"));
	assert_false(us_http_origin_is_ours(host, NULL, "same-site"));
	assert_false(us_http_origin_is_ours(host, NULL, ""));
}

static void senders(void **state)
{
	struct us_http_sender s = { .host = "127.0.0.1:9970" };
	(void)state;
	assert_true(us_http_sender_is_ours(&s)); /* a program */
	s.site = "same-origin";
	assert_true(us_http_sender_is_ours(&s));
	s.site = "cross-site";
	assert_false(us_http_sender_is_ours(&s));
	s.mode = "navigate"; /* into a frame, or who knows where */
	assert_false(us_http_sender_is_ours(&s));
	s.dest = "iframe";
	assert_false(us_http_sender_is_ours(&s));
	s.dest = "document";
	assert_true(us_http_sender_is_ours(&s));
	s.mode = "no-cors";
	assert_false(us_http_sender_is_ours(&s));
	s.mode = "navigate";
	s.origin = "http://evil.example";
	assert_false(us_http_sender_is_ours(&s));
	s.origin = "http://127.0.0.1:9970";
	assert_true(us_http_sender_is_ours(&s));
}

static void own_names(void **state)
{
	(void)state;
	assert_true(us_http_host_is_named("web-1", "web-1"));
	assert_true(us_http_host_is_named("WEB-1:9970", "web-1"));
	static const char *const bad[] = { "",		 "web",	      "web-12",
					   "web-1.evil", "web-1:80x", "web-1:80:1",
					   ":80",	 "evil" };
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(us_http_host_is_named(bad[i], "web-1"));
	assert_false(us_http_host_is_named(NULL, "web-1"));
	assert_false(us_http_host_is_named("", ""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_names),	     cmocka_unit_test(addresses),
		cmocka_unit_test(loopback_is_known), cmocka_unit_test(hosts),
		cmocka_unit_test(absolute_targets),  cmocka_unit_test(origins),
		cmocka_unit_test(senders),	     cmocka_unit_test(names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
