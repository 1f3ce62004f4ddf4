/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ram_bundled.c: see ram_bundled.h. */
#include "vmm/ram_bundled.h"

#include <string.h>
#include <sys/uio.h>

#define KERNEL_AT   (16ULL << 20)
#define KERNEL_UNIT (64ULL << 10)
#define MIN_KERNEL  (4ULL << 20)
#define HOLE	    0xd0000000ULL
#define GIB	    (1ULL << 30)
#define GIB_4	    (4 * GIB)
#define SHARED_SIZE (GIB / 2)
#define PAGE	    4096ULL
#define HUGE_PAGE   (2ULL << 20)
#define ARENA	    (64ULL << 20)

/* The address of the boot parameters, and offsets in them. */
#define PARAMETERS   0x7000
#define E820_ENTRIES 0x1e8
#define BOOT_FLAG    0x1fe
#define HEADER	     0x202
#define E820_TABLE   0x2d0
#define E820_ENTRY   20
#define E820_MAX     128
#define E820_RAM     1
#define HIGH_MEMORY  (1ULL << 20) /* where the entry of RAM above 1 MiB begins */

struct parts {
	const struct us_map *kernel;
	uint64_t kernel_size, low_end; /* low_end: end of RAM below the hole */
	uint64_t high_size;	       /* of RAM from 4 GiB on */
	us_hva first, second, high;    /* of the three parts of RAM */
};

static bool is_anonymous(const struct us_map *m)
{
	return !m->inode && !m->shared && m->read && m->write && !m->exec;
}

static uint64_t size_of(const struct us_map *m)
{
	return m->end - m->start;
}

/* The largest writable private mapping of a file. */
static const struct us_map *find_kernel(const struct us_maps *maps)
{
	const struct us_map *best = NULL;
	for (size_t i = 0; i < maps->n; i++) {
		const struct us_map *m = &maps->v[i];
		if (m->inode && !m->shared && m->read && m->write && !m->exec &&
		    size_of(m) >= MIN_KERNEL && (!best || size_of(m) > size_of(best)))
			best = m;
	}
	return best;
}

static uint64_t number(const uint8_t *at, size_t n)
{
	uint64_t v = 0;
	memcpy(&v, at, n);
	return v;
}

/* Read the page at hva, if it holds boot parameters that fit a kernel with this end. */
static bool read_parameters(pid_t pid, us_hva hva, uint64_t kernel_end, struct parts *p)
{
	uint8_t page[PAGE];
	struct iovec here = { page, sizeof(page) };
	struct iovec there = { (void *)(uintptr_t)hva, sizeof(page) };
	if (process_vm_readv(pid, &here, 1, &there, 1, 0) != sizeof(page) ||
	    number(page + BOOT_FLAG, 2) != 0xaa55 || memcmp(page + HEADER, "HdrS", 4) ||
	    page[E820_ENTRIES] > E820_MAX)
		return false;
	p->low_end = p->high_size = 0;
	for (unsigned i = 0; i < page[E820_ENTRIES]; i++) {
		const uint8_t *e = page + E820_TABLE + i * E820_ENTRY;
		uint64_t start = number(e, 8), size = number(e + 8, 8);
		if (number(e + 16, 4) != E820_RAM || size > 1ULL << 48)
			continue;
		/* Sizes are a byte too large. */
		if (start == HIGH_MEMORY)
			p->low_end = (start + size) & ~(PAGE - 1);
		else if (start == GIB_4)
			p->high_size = size & ~(PAGE - 1);
	}
	return p->low_end > kernel_end && p->low_end <= HOLE;
}

/* The part that was mapped next, below hva, or 0.  Adjacent parts look like one
 * mapping; large ones begin at a multiple of 2 MiB. */
static us_hva next_below(const struct us_maps *maps, us_hva hva, uint64_t size)
{
	for (size_t i = maps->n; i-- > 0;) {
		const struct us_map *m = &maps->v[i];
		if (m->start >= hva)
			continue;
		us_hva end = m->end < hva ? m->end : hva;
		return is_anonymous(m) && hva - end < HUGE_PAGE &&
				       end - m->start >= size
			       ? end - size
			       : 0;
	}
	return 0;
}

/* A part elsewhere: a mapping of its size, or one that ends with an arena of malloc(),
 * which begins at a multiple of 64 MiB.  0: none, or more than one. */
static us_hva find_alone(const struct us_maps *maps, uint64_t size)
{
	us_hva found[2] = { 0 };
	unsigned n[2] = { 0 };
	for (size_t i = 0; i < maps->n; i++) {
		const struct us_map *m = &maps->v[i];
		bool exact = size_of(m) == size;
		if (!is_anonymous(m) || size_of(m) < size ||
		    (!exact && (m->start + size) % ARENA))
			continue;
		found[exact] = m->start;
		n[exact]++;
	}
	return n[1] == 1 ? found[1] : !n[1] && n[0] == 1 ? found[0] : 0;
}

static us_hva find_part(const struct us_maps *maps, us_hva above, uint64_t size)
{
	us_hva below = next_below(maps, above, size);
	return below ? below : find_alone(maps, size);
}

static bool find_first(pid_t pid, const struct us_maps *maps, uint64_t kernel_end,
		       struct parts *p)
{
	for (size_t i = maps->n; i-- > 0;) {
		const struct us_map *m = &maps->v[i];
		if (!is_anonymous(m) || size_of(m) < KERNEL_AT)
			continue;
		const us_hva at[] = { m->end - KERNEL_AT, m->start };
		for (size_t k = 0; k < sizeof(at) / sizeof(*at); k++) {
			p->first = at[k];
			if (read_parameters(pid, at[k] + PARAMETERS, kernel_end, p))
				return true;
		}
	}
	return false;
}

static bool find_ram(pid_t pid, const struct us_maps *maps, struct parts *p)
{
	uint64_t kernel_end = KERNEL_AT + p->kernel_size;
	if (!find_first(pid, maps, kernel_end, p))
		return false;
	p->second = find_part(maps, p->first, p->low_end - kernel_end);
	p->high = p->high_size ? find_part(maps, p->second, p->high_size) : 0;
	return p->second && (p->high || !p->high_size);
}

static bool lay_out(const struct parts *p, struct us_ram_layout *ret)
{
	uint64_t kernel_end = KERNEL_AT + p->kernel_size;
	*ret = (struct us_ram_layout){ 0 };
	return us_ram_layout_add(ret, 0, KERNEL_AT, p->first) &&
	       us_ram_layout_add(ret, KERNEL_AT, p->kernel_size, p->kernel->start) &&
	       us_ram_layout_add(ret, kernel_end, p->low_end - kernel_end, p->second) &&
	       (!p->high || us_ram_layout_add(ret, GIB_4, p->high_size, p->high));
}

unsigned us_ram_bundled(pid_t pid, const struct us_maps *maps,
			struct us_ram_layout ret[US_RAM_BUNDLED])
{
	struct parts p = { .kernel = find_kernel(maps) };
	if (!p.kernel)
		return 0;
	p.kernel_size = size_of(p.kernel) & ~(KERNEL_UNIT - 1);
	if (!find_ram(pid, maps, &p) || !lay_out(&p, &ret[0]))
		return 0;
	ret[1] = ret[0];
	us_gpa at = p.high_size ? (GIB_4 + p.high_size) / GIB * GIB + GIB : GIB_4;
	us_hva shared = next_below(maps, p.high ? p.high : p.second, SHARED_SIZE);
	return shared && us_ram_layout_add(&ret[0], at, SHARED_SIZE, shared) ? 2 : 1;
}
