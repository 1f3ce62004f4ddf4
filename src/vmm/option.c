/* SPDX-License-Identifier: GPL-2.0-or-later */
/* option.c: text of options, see cmdline.h. */
#include "vmm/cmdline.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Copy up to the first single comma; ",," stands for a comma in the text.  *p moves
 * behind it.  Returns the length that was needed, or size if it did not fit. */
static size_t take_value(const char **p, char *ret, size_t size)
{
	const char *s = *p;
	size_t n = 0;
	for (; *s; s++) {
		if (*s == ',' && *++s != ',')
			break;
		if (n + 1 < size)
			ret[n] = *s;
		n++;
	}
	*p = s;
	if (n >= size)
		return size;
	ret[n] = '\0';
	return n;
}

/* Cut one item off *p. false: it is too long to be of interest. */
static bool take_item(const char **p, const char *implied, char *key, size_t key_size,
		      char *value, size_t size)
{
	size_t n = strcspn(*p, "=,");
	if ((*p)[n] == '=') {
		bool fits = n < key_size;
		memcpy(key, *p, fits ? n : 0);
		key[fits ? n : 0] = '\0';
		*p += n + 1;
		return take_value(p, value, size) < size && fits;
	}
	if (implied) {
		snprintf(key, key_size, "%s", implied);
		return take_value(p, value, size) < size;
	}
	if (take_value(p, key, key_size) >= key_size)
		return false;
	bool off = !strncmp(key, "no", 2);
	if (off)
		memmove(key, key + 2, strlen(key + 2) + 1);
	snprintf(value, size, "%s", off ? "off" : "on");
	return true;
}

/* Libraries that start QEMU write some options as JSON. */
static bool get_json(const char *text, const char *key, char *ret, size_t size)
{
	json_t *o = json_loads(text, 0, NULL);
	const json_t *v = json_object_get(o, key);
	int n = -1;
	if (json_is_string(v))
		n = snprintf(ret, size, "%s", json_string_value(v));
	else if (json_is_integer(v))
		n = snprintf(ret, size, "%" JSON_INTEGER_FORMAT, json_integer_value(v));
	else if (json_is_boolean(v))
		n = snprintf(ret, size, "%s", json_is_true(v) ? "on" : "off");
	json_decref(o);
	return n >= 0 && (size_t)n < size;
}

bool us_option_get(const char *text, const char *implied, const char *key, char *ret,
		   size_t size)
{
	bool found = false;
	if (*text == '{')
		return get_json(text, key, ret, size);
	while (*text) {
		char k[64], v[PATH_MAX];
		bool whole = take_item(&text, implied, k, sizeof(k), v, sizeof(v));
		implied = NULL;
		if (!whole || strcmp(k, key) || strlen(v) >= size)
			continue;
		memcpy(ret, v, strlen(v) + 1);
		found = true;
	}
	return found;
}

static bool unit_of(const char *suffix, uint64_t *unit)
{
	static const char letters[] = "bkmgtpe";
	if (!*suffix)
		return true;
	const char *at = strchr(letters, tolower((unsigned char)*suffix));
	if (!at || !*at)
		return false;
	/* VMMs other than QEMU have "512MiB" and "512MB". */
	if (suffix[1] && strcasecmp(suffix + 1, "b") && strcasecmp(suffix + 1, "ib"))
		return false;
	*unit = 1ULL << (10 * (at - letters));
	return true;
}

bool us_option_size(const char *text, uint64_t unit, uint64_t *ret)
{
	if (!isdigit((unsigned char)*text))
		return false;
	char *end;
	errno = 0;
	bool hex = text[0] == '0' && tolower((unsigned char)text[1]) == 'x';
	unsigned long long whole = strtoull(text, &end, hex ? 16 : 10);
	if (errno)
		return false;
	uint64_t fraction = 0, scale = 1;
	if (*end == '.')
		for (end++; isdigit((unsigned char)*end); end++)
			if (scale < 1000000) {
				fraction = fraction * 10 + (uint64_t)(*end - '0');
				scale *= 10;
			}
	uint64_t bytes;
	if (!unit_of(end, &unit) || __builtin_mul_overflow(whole, unit, &bytes))
		return false;
	uint64_t part = (uint64_t)((unsigned __int128)fraction * unit / scale);
	return !__builtin_add_overflow(bytes, part, ret);
}
