/* SPDX-License-Identifier: GPL-2.0-or-later */
/* memory.c: see memory.h. */
#include "guest/memory.h"

#include "base/search.h"

#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* Documentation/admin-guide/mm/pagemap.rst */
#define PM_PRESENT (1ULL << 63)
#define PM_SWAP	   (1ULL << 62)
#define PM_UFFD_WP (1ULL << 57) /* with PM_SWAP it may be only a mark, and no page */

void us_mem_init(struct us_mem *m)
{
	memset(m->line, 0, sizeof(m->line));
	if (m->pages)
		memset(m->pages->page, 0, sizeof(m->pages->page));
	m->last = 0;
	m->epoch = 1; /* lines of epoch 0 are empty */
}

void us_mem_new_sample(struct us_mem *m)
{
	if (++m->epoch == 0)
		us_mem_init(m);
}

uint64_t us_mem_size(const struct us_mem *m)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < m->n_region; i++)
		sum += m->region[i].size;
	return sum;
}

static bool region_has(const struct us_region *r, us_gpa pa)
{
	return pa >= r->start && pa - r->start < r->size;
}

/* The region that pa is in, or NULL. */
static const struct us_region *region_of(struct us_mem *m, us_gpa pa)
{
	if (m->last < m->n_region && region_has(&m->region[m->last], pa))
		return &m->region[m->last];
	size_t next = us_first_not(m->n_region, mid, m->region[mid].start <= pa);
	if (next == 0 || !region_has(&m->region[next - 1], pa))
		return NULL;
	m->last = next - 1;
	return &m->region[next - 1];
}

/* Is each page present?  If one goes right after that, reading it waits for whoever
 * brings it. */
static bool is_present(int pagemap, us_hva hva, size_t len)
{
	/* There is an entry for each page of the host, which may be larger than ours.
	 */
	uint64_t size = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t entry[64], page = hva / size, end = (hva + len - 1) / size;
	while (page <= end) {
		size_t n = end - page + 1 < 64 ? end - page + 1 : 64;
		if (pread(pagemap, entry, n * 8, (off_t)(page * 8)) != (ssize_t)(n * 8))
			return false;
		for (size_t i = 0; i < n; i++)
			if (!(entry[i] & PM_PRESENT) &&
			    (entry[i] & (PM_SWAP | PM_UFFD_WP)) != PM_SWAP)
				return false;
		page += n;
	}
	return true;
}

static bool fetch_from_process(const struct us_mem *m, const struct us_region *r,
			       us_gpa pa, void *buf, size_t len)
{
	us_hva hva = r->hva + (pa - r->start);
	pid_t pid = m->pid;
	struct iovec here = { .iov_base = buf, .iov_len = len };
	struct iovec there = { .iov_base = (void *)(uintptr_t)hva, .iov_len = len };
	return process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)len;
}

static bool has_source(const struct us_mem *m, const struct us_region *r)
{
	return r && (r->file || (m->pid > 0 && r->hva));
}

/* A mapping of the file would be faster, but its page faults fill holes. */
static bool fetch_from_region(const struct us_mem *m, const struct us_region *r,
			      us_gpa pa, void *buf, size_t len)
{
	if (!has_source(m, r))
		return false;
	if (__atomic_load_n(&r->lazy, __ATOMIC_RELAXED) &&
	    !is_present(m->pagemap, r->hva + (pa - r->start), len))
		return false;
	if (!r->file)
		return fetch_from_process(m, r, pa, buf, len);
	off_t at = (off_t)(r->file_at + (pa - r->start));
	return pread(r->file, buf, len, at) == (ssize_t)len;
}

/* Copy len bytes within one region; r is NULL if no region is known. */
static bool fetch(struct us_mem *m, const struct us_region *r, us_gpa pa, void *buf,
		  size_t len)
{
	if (fetch_from_region(m, r, pa, buf, len))
		return true;
	return m->read && m->read(m->ctx, pa, buf, len);
}

static struct us_mem_line *line_of(struct us_mem *m, uint64_t start, bool virt)
{
	/* Virtual and physical lines of an identity-mapped page must not evict each
	 * other. */
	size_t i = (start / US_MEM_LINE + (virt ? US_MEM_LINES / 2 : 0)) % US_MEM_LINES;
	return &m->line[i];
}

static bool line_holds(const struct us_mem *m, const struct us_mem_line *l,
		       uint64_t start, bool virt)
{
	return l->epoch == m->epoch && l->start == start && l->virt == virt;
}

static bool read_line(struct us_mem *m, const struct us_region *r, us_gpa pa, void *buf,
		      size_t len)
{
	us_gpa start = pa & ~(us_gpa)(US_MEM_LINE - 1);
	struct us_mem_line *l = line_of(m, start, false);
	if (!line_holds(m, l, start, false)) {
		bool whole = !r || (region_has(r, start) &&
				    region_has(r, start + (US_MEM_LINE - 1)));
		l->epoch = m->epoch - 1;
		if (!whole || !fetch(m, r, start, l->bytes, US_MEM_LINE))
			return fetch(m, r, pa, buf, len);
		l->start = start;
		l->virt = false;
		l->epoch = m->epoch;
	}
	memcpy(buf, l->bytes + (pa - start), len);
	return true;
}

static struct us_mem_page *page_slot(struct us_mem *m, us_gpa start, uint8_t **ret)
{
	size_t k = (size_t)((start / US_MEM_PAGE) * 0x9e3779b97f4a7c15 >> 32) %
		   US_MEM_PAGES;
	*ret = m->pages->bytes[k];
	return &m->pages->page[k];
}

/* false: not in one whole page of the region, or it cannot be copied. */
static bool read_whole_page(struct us_mem *m, const struct us_region *r, us_gpa pa,
			    void *buf, size_t len)
{
	us_gpa start = pa & ~(us_gpa)(US_MEM_PAGE - 1);
	uint8_t *bytes;
	if (!m->pages || !has_source(m, r) || !region_has(r, start) ||
	    !region_has(r, start + (US_MEM_PAGE - 1)))
		return false;
	struct us_mem_page *p = page_slot(m, start, &bytes);
	if (p->epoch != m->epoch || p->start != start) {
		p->epoch = m->epoch - 1;
		if (!fetch_from_region(m, r, start, bytes, US_MEM_PAGE))
			return false;
		p->start = start;
		p->epoch = m->epoch;
	}
	memcpy(buf, bytes + (pa - start), len);
	return true;
}

void us_mem_forget(struct us_mem *m, us_gpa pa)
{
	us_gpa line = pa & ~(us_gpa)(US_MEM_LINE - 1);
	us_gpa start = pa & ~(us_gpa)(US_MEM_PAGE - 1);
	struct us_mem_line *l = line_of(m, line, false);
	uint8_t *bytes;
	if (line_holds(m, l, line, false))
		l->epoch = m->epoch - 1;
	struct us_mem_page *p = m->pages ? page_slot(m, start, &bytes) : NULL;
	if (p && p->start == start)
		p->epoch = m->epoch - 1;
}

void us_mem_use_pages(struct us_mem *m, struct us_mem_pages *pages)
{
	m->pages = pages;
	if (pages)
		memset(pages->page, 0, sizeof(pages->page));
}

/* How much of a read of len bytes at addr one line can serve; all, if it is long. */
static size_t in_line(uint64_t addr, size_t len)
{
	size_t left = US_MEM_LINE - (addr & (US_MEM_LINE - 1));
	return len >= US_MEM_LINE || len < left ? len : left;
}

static size_t read_page(struct us_mem *m, us_gpa pa, void *buf, size_t len)
{
	size_t at = pa % US_MEM_PAGE;
	if (m->read && len > US_MEM_PAGE && m->read(m->ctx, pa, buf, len))
		return len;
	const uint8_t *page = m->page(m->ctx, pa);
	if (!page)
		return 0;
	if (len > US_MEM_PAGE - at)
		len = US_MEM_PAGE - at;
	memcpy(buf, page + at, len);
	return len;
}

/* Read some of len bytes at pa; returns how many, 0 if it cannot be read. */
static size_t read_some(struct us_mem *m, us_gpa pa, void *buf, size_t len)
{
	const struct us_region *r = region_of(m, pa);
	if (!r && m->n_region > 0)
		return 0;
	if (!r && m->page)
		return read_page(m, pa, buf, len);
	if (r && len > r->size - (pa - r->start))
		len = r->size - (pa - r->start);
	if (r && r->host) {
		memcpy(buf, r->host + (pa - r->start), len);
		return len;
	}
	len = in_line(pa, len);
	bool ok = len >= US_MEM_LINE ? fetch(m, r, pa, buf, len)
				     : read_whole_page(m, r, pa, buf, len) ||
					       read_line(m, r, pa, buf, len);
	return ok ? len : 0;
}

/* The fast path, for backends that map pages one by one. */
static bool read_in_page(struct us_mem *m, us_gpa pa, void *buf, size_t len)
{
	size_t at = pa % US_MEM_PAGE;
	if (m->n_region || !m->page || len > US_MEM_PAGE - at)
		return false;
	const uint8_t *page = m->page(m->ctx, pa);
	if (page && len == 8) /* a word, or an entry: needs no call */
		memcpy(buf, page + at, 8);
	else if (page)
		memcpy(buf, page + at, len);
	return page;
}

bool us_mem_read(struct us_mem *m, us_gpa pa, void *buf, size_t len)
{
	uint8_t *to = buf;
	if (read_in_page(m, pa, buf, len))
		return true;
	if (len && pa + (len - 1) < pa)
		return false;
	while (len > 0) {
		size_t n = read_some(m, pa, to, len);
		if (n == 0)
			return false;
		pa += n;
		to += n;
		len -= n;
	}
	return true;
}

static bool read_gva_line(struct us_mem *m, us_gva va, void *buf, size_t len)
{
	us_gva start = va & ~(us_gva)(US_MEM_LINE - 1);
	struct us_mem_line *l = line_of(m, start, true);
	if (!line_holds(m, l, start, true)) {
		l->epoch = m->epoch - 1;
		/* The backend may have less than the line, such as a copied window. */
		if (!m->read_gva(m->ctx, start, l->bytes, US_MEM_LINE))
			return m->read_gva(m->ctx, va, buf, len);
		l->start = start;
		l->virt = true;
		l->epoch = m->epoch;
	}
	memcpy(buf, l->bytes + (va - start), len);
	return true;
}

bool us_mem_read_gva(struct us_mem *m, us_gva va, void *buf, size_t len)
{
	uint8_t *to = buf;
	if (!m->read_gva || (len && va + (len - 1) < va))
		return false;
	if (len >= US_MEM_LINE)
		return m->read_gva(m->ctx, va, buf, len);
	while (len > 0) {
		size_t n = in_line(va, len);
		if (!read_gva_line(m, va, to, n))
			return false;
		va += n;
		to += n;
		len -= n;
	}
	return true;
}
