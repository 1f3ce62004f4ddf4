/* SPDX-License-Identifier: GPL-2.0-or-later */
/* import/other.c: see other.h. */
#include "import/other.h"

#include "store/varint.h"

/* From pprof's profile.proto. */
#define FIELD_STRINGS 6U
#define LAST_FIELD    15U
enum { WIRE_NUMBER = 0, WIRE_BYTES = 2 };

bool us_import_is_pprof(const uint8_t *bytes, size_t n)
{
	const uint8_t *at = bytes, *end = bytes + n;
	uint64_t tag, value;
	while (at < end) {
		at = us_varint_get(at, end, &tag);
		at = us_varint_get(at, end, &value);
		uint64_t field = tag >> 3, wire = tag & 7;
		if (!at || !field || field > LAST_FIELD ||
		    (wire != WIRE_NUMBER && wire != WIRE_BYTES))
			return false;
		if (wire == WIRE_NUMBER)
			continue;
		if (value > (uint64_t)(end - at))
			return false;
		/* All text is in a table, which begins with the empty string. */
		if (field == FIELD_STRINGS)
			return !value;
		at += value;
	}
	return false;
}

static size_t digits_at(const uint8_t *line, size_t n)
{
	size_t i = 0;
	while (i < n && line[i] >= '0' && line[i] <= '9')
		i++;
	return i;
}

/* "comm PID SECONDS.FRACTION: ...": perf prints the time so, whatever else is there. */
bool us_import_is_script(const uint8_t *line, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		if (line[i - 1] != ' ')
			continue;
		size_t whole = digits_at(line + i, n - i), at = i + whole;
		if (!whole || at == n || line[at] != '.')
			continue;
		size_t part = digits_at(line + at + 1, n - at - 1);
		at += 1 + part;
		if (part && at < n && line[at] == ':')
			return true;
	}
	return false;
}
