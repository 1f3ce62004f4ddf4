/* SPDX-License-Identifier: GPL-2.0-or-later */
/* acpi_sleep.c: see acpi_sleep.h. */
#include "guest/acpi_sleep.h"

#include "base/clock.h"

#include <string.h>

#define FIRST	      0xe0000
#define END	      0x100000
#define MOST_TABLES   64
#define LEAST_LOOK_NS US_NS_PER_SEC
#define MOST_LOOK_NS  (16 * US_NS_PER_SEC)
#define MOST_HELD_NS  (10 * US_NS_PER_SEC)

/* Root System Description Pointer, ACPI 6.5, 5.2.5.3. */
struct rsdp {
	char signature[8];
	uint8_t checksum, oem[6], revision;
	uint32_t rsdt, length;
	uint64_t xsdt;
} __attribute__((packed));

/* What all tables begin with, 5.2.6. */
struct header {
	char signature[4];
	uint32_t length;
	uint8_t rest[28];
} __attribute__((packed));

/* 5.2.9: of the Fixed ACPI Description Table, where the FACS is. */
#define FADT_FACS   36	/* 4 bytes */
#define FADT_X_FACS 132 /* 8 bytes */

struct facs {
	char signature[4];
	uint32_t length, hardware, waking_vector, lock, flags;
	uint64_t x_waking_vector;
} __attribute__((packed));

static bool is_rsdp(const struct rsdp *r)
{
	uint8_t sum = 0;
	for (size_t i = 0; i < 20; i++) /* as it was in ACPI 1.0 */
		sum = (uint8_t)(sum + ((const uint8_t *)r)[i]);
	return !memcmp(r->signature, "RSD PTR ", 8) && !sum;
}

static bool find_rsdp(struct us_mem *m, struct rsdp *ret)
{
	uint8_t part[US_MEM_PAGE + sizeof(*ret)];
	for (us_gpa at = FIRST; at < END; at += US_MEM_PAGE) {
		size_t n = at + sizeof(part) <= END ? sizeof(part) : US_MEM_PAGE;
		if (!us_mem_read(m, at, part, n))
			continue;
		for (size_t i = 0; i + sizeof(*ret) <= n; i += 16) {
			memcpy(ret, part + i, sizeof(*ret));
			if (is_rsdp(ret))
				return true;
		}
	}
	return false;
}

static us_gpa facs_of(struct us_mem *m, us_gpa fadt, uint32_t length)
{
	uint64_t x = 0;
	uint32_t at = 0;
	if (length >= FADT_X_FACS + sizeof(x))
		us_mem_read(m, fadt + FADT_X_FACS, &x, sizeof(x));
	if (!x && length >= FADT_FACS + sizeof(at))
		us_mem_read(m, fadt + FADT_FACS, &at, sizeof(at));
	return x ? x : at;
}

/* Of the table of tables at root, whose entries have that many bytes. */
static us_gpa find_facs(struct us_mem *m, us_gpa root, size_t entry)
{
	struct header h;
	if (!us_mem_read(m, root, &h, sizeof(h)) || h.length < sizeof(h))
		return 0;
	size_t n = (h.length - sizeof(h)) / entry;
	for (size_t i = 0; i < n && i < MOST_TABLES; i++) {
		uint64_t table = 0;
		if (us_mem_read(m, root + sizeof(h) + i * entry, &table, entry) &&
		    us_mem_read(m, table, &h, sizeof(h)) &&
		    !memcmp(h.signature, "FACP", 4))
			return facs_of(m, table, h.length);
	}
	return 0;
}

static us_gpa look(struct us_mem *m)
{
	struct rsdp r;
	us_gpa facs = 0;
	if (!find_rsdp(m, &r))
		return 0;
	if (r.revision >= 2 && r.xsdt)
		facs = find_facs(m, r.xsdt, 8);
	return facs || !r.rsdt ? facs : find_facs(m, r.rsdt, 4);
}

/* Not from a line that was fetched before: the guest has run since. */
static bool read_facs(struct us_mem *m, us_gpa at, struct facs *ret)
{
	uint8_t line[2 * US_MEM_LINE];
	size_t offset = at % US_MEM_LINE;
	size_t n = offset + sizeof(*ret) > US_MEM_LINE ? sizeof(line) : US_MEM_LINE;
	if (!us_mem_read(m, at - offset, line, n))
		return false;
	memcpy(ret, line + offset, sizeof(*ret));
	return !memcmp(ret->signature, "FACS", 4) && ret->length >= 24;
}

/* A guest that boots has no tables yet, and other guests never have. */
static void look_for_it(struct us_acpi_sleep *s, struct us_mem *m, uint64_t now_ns)
{
	if (now_ns < s->look_ns)
		return;
	s->facs = look(m);
	s->pause_ns = s->pause_ns ? 2 * s->pause_ns : LEAST_LOOK_NS;
	s->pause_ns = s->pause_ns < MOST_LOOK_NS ? s->pause_ns : MOST_LOOK_NS;
	s->look_ns = now_ns + s->pause_ns;
}

bool us_acpi_suspends(struct us_acpi_sleep *s, struct us_mem *m, uint64_t now_ns)
{
	struct facs f;
	if (!s->facs)
		look_for_it(s, m, now_ns);
	if (!s->facs)
		return false;
	if (!read_facs(m, s->facs, &f)) { /* the guest has been reset */
		s->facs = s->since_ns = 0;
		return false;
	}
	bool set = f.waking_vector || (f.length >= 32 && f.x_waking_vector);
	s->since_ns = !set ? 0 : s->since_ns ? s->since_ns : now_ns;
	return set && now_ns - s->since_ns < MOST_HELD_NS;
}
