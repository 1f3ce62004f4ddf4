/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz-http.c: any bytes as an address to listen on, and as the fields of a request
 * that say where it comes from, and as a value in its query: three texts, each until a
 * NUL. */
#include "http/address.h"
#include "http/origin.h"
#include "http/token.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		__builtin_trap();
}

/* What was parsed is parsed again as what it was. */
static void check_address(const char *text)
{
	struct us_http_address a, again;
	char told[US_HTTP_ADDRESS_MAX], twice[US_HTTP_ADDRESS_MAX];
	struct us_err e = { 0 };
	if (us_http_address_parse(text, &a, &e)) {
		must(e.msg[0]);
		return;
	}
	us_http_address_text(&a, told);
	must(!us_http_address_parse(told, &again, NULL));
	us_http_address_text(&again, twice);
	must(!strcmp(told, twice));
	must(us_http_address_is_loopback(&a) == us_http_address_is_loopback(&again));
	must(us_http_host_is_ours(told));
}

/* What it means is text, and is as long as it may be. */
static void check_value(const char *raw)
{
	char value[512], less[16];
	bool is_value = us_http_unescape(raw, value, sizeof(value));
	must(us_http_unescape(raw, less, sizeof(less)) ==
	     (is_value && strlen(value) < sizeof(less)));
	for (const char *c = value; is_value && *c; c++)
		must((unsigned char)*c >= 0x20 && *c != 0x7f);
	if (is_value && !strchr(raw, '%'))
		must(!strcmp(value, raw));
}

/* Nobody else's page sees what it may not change, but for links that are followed. */
static void check_sender(const char *host, const char *origin, const char *site)
{
	struct us_http_sender s = { host, origin, site, NULL, NULL };
	must(us_http_sender_is_ours(&s) == us_http_origin_is_ours(host, origin, site));
	s.mode = s.dest = site;
	must(us_http_sender_is_ours(&s) == us_http_origin_is_ours(host, origin, site));
	s.mode = "navigate";
	s.dest = "document";
	must(us_http_sender_is_ours(&s) == us_http_origin_is_ours(host, origin, NULL));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > 1000)
		return 0;
	char *text = calloc(1, size + 3);
	must(text != NULL);
	memcpy(text, data, size);
	const char *host = text, *origin = host + strlen(host) + 1;
	if (origin > text + size)
		origin = text + size;
	const char *site = origin + strlen(origin) + 1;
	if (site > text + size)
		site = text + size;
	check_address(host);
	us_http_host_is_ours(host);
	check_value(host);
	check_value(origin);
	check_sender(host, origin, *site ? site : NULL);
	must(us_http_token_is(host, origin) == !strcmp(host, origin));
	if (us_http_origin_is_ours(host, origin, *site ? site : NULL))
		must(!strncmp(origin, "http://", 7) &&
		     strlen(origin) == strlen(host) + 7);
	free(text);
	return 0;
}
