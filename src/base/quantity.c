/* SPDX-License-Identifier: GPL-2.0-or-later */
/* quantity.c: see quantity.h. */
#include "base/quantity.h"

#include <ctype.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define MOST_NS	   1e18
#define MOST_BYTES 0x1p60

/* strtod() alone would also take a sign, hexadecimal digits, "inf" and "nan". */
static bool plain(const char *text, const char **ret_end, double *ret)
{
	char *end;
	if (!isdigit((unsigned char)*text) && *text != '.')
		return false;
	*ret = strtod(text, &end);
	*ret_end = end;
	return end != text && !memchr(text, 'x', (size_t)(end - text)) &&
	       !memchr(text, 'X', (size_t)(end - text)) && isfinite(*ret);
}

/* The power of a prefix: 1 for k; 0 if there is none. */
static int power_of(char c)
{
	static const char prefixes[] = "kMGT";
	const char *at = c ? strchr(prefixes, c == 'K' ? 'k' : c) : NULL;
	return at ? (int)(at - prefixes) + 1 : 0;
}

bool us_quantity_number(const char *text, const char *unit, double *ret)
{
	const char *end;
	double v;
	if (!plain(text, &end, &v))
		return false;
	int power = power_of(*end);
	if (power > 3)
		return false;
	end += power > 0;
	if (*end && (!unit || strcasecmp(end, unit) != 0))
		return false;
	v *= pow(1000, power);
	if (!isfinite(v))
		return false;
	*ret = v;
	return true;
}

static const struct time_unit {
	const char *name;
	double ns;
} time_units[] = {
	{ "d", 86400e9 }, { "h", 3600e9 }, { "min", 60e9 },
	{ "m", 60e9 },	  { "sec", 1e9 },  { "s", 1e9 },
	{ "ms", 1e6 },	  { "us", 1e3 },   { "ns", 1 },
};

static const struct time_unit *time_unit(const char *name, size_t n)
{
	for (size_t i = 0; i < sizeof(time_units) / sizeof(*time_units); i++)
		if (strlen(time_units[i].name) == n &&
		    !memcmp(time_units[i].name, name, n))
			return &time_units[i];
	return NULL;
}

bool us_quantity_time(const char *text, uint64_t *ret_ns)
{
	double sum = 0, below = INFINITY, v;
	const char *at = text, *end;
	do {
		if (!plain(at, &end, &v))
			return false;
		size_t n = 0;
		while (isalpha((unsigned char)end[n]))
			n++;
		/* Of several parts each says its unit: 1m30 may be minutes or 1.5 of
		 * them. */
		bool alone = at == text && !*end;
		const struct time_unit *u = alone ? time_unit("s", 1)
						  : time_unit(end, n);
		if (!u || u->ns >= below)
			return false;
		sum += v * u->ns;
		below = u->ns;
		at = end + n;
	} while (*at);
	if (sum > MOST_NS)
		return false;
	*ret_ns = (uint64_t)sum;
	return true;
}

bool us_quantity_bytes(const char *text, uint64_t *ret)
{
	const char *end;
	double v;
	if (!plain(text, &end, &v))
		return false;
	int power = power_of(*end);
	end += power > 0;
	if (*end && strcmp(end, "B") != 0 && (!power || strcmp(end, "iB") != 0))
		return false;
	v *= pow(1024, power);
	if (v > MOST_BYTES)
		return false;
	*ret = (uint64_t)v;
	return true;
}
