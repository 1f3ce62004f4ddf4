/* SPDX-License-Identifier: GPL-2.0-or-later */
/* counts_read.c: see counts_read.h. */
#include "trace/counts_read.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define BATCH 256U /* nodes */

static bool is_possible(const struct us_counts_head *h, uint64_t size)
{
	uint64_t nodes = (uint64_t)h->n_node * sizeof(struct us_counts_node);
	return !memcmp(h->magic, US_COUNTS_MAGIC, sizeof(h->magic)) &&
	       h->version == US_COUNTS_VERSION && h->n_vcpu &&
	       h->n_vcpu <= US_COUNTS_MAX_VCPU && h->n_node >= 2 &&
	       h->n_node <= US_COUNTS_MAX_NODE && h->size <= size &&
	       h->vcpu_offset >= sizeof(*h) && h->vcpu_offset <= US_COUNTS_PAGE &&
	       h->node_offset >= sizeof(struct us_counts_vcpu) &&
	       h->node_offset <= US_COUNTS_PAGE && !(h->node_offset % 8) &&
	       !(h->vcpu_offset % 8) && !(h->vcpu_stride % 8) &&
	       h->vcpu_stride >= h->node_offset + nodes &&
	       h->vcpu_stride <= h->size / h->n_vcpu &&
	       h->vcpu_offset + h->n_vcpu * h->vcpu_stride <= h->size;
}

int us_counts_open(const char *path, struct us_counts *ret, struct us_err *e)
{
	struct stat st;
	*ret = (struct us_counts){ 0 };
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) < 0)
		return us_fail(e, -errno, "read the counts in %s: %s", path,
			       strerror(errno));
	if ((uint64_t)st.st_size < sizeof(ret->head) || !S_ISREG(st.st_mode))
		return us_fail(e, -EBADMSG, "read %s: this is no file of counts", path);
	void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return us_fail(e, -errno, "map %s: %s", path, strerror(errno));
	ret->map = p;
	ret->size = (size_t)st.st_size;
	memcpy(&ret->head, p, sizeof(ret->head));
	if (is_possible(&ret->head, ret->size))
		return 0;
	us_counts_close(ret);
	return us_fail(e, -EBADMSG, "read %s: this is no file of counts", path);
}

void us_counts_close(struct us_counts *c)
{
	if (c->map)
		munmap((void *)(uintptr_t)c->map, c->size);
	*c = (struct us_counts){ 0 };
}

bool us_counts_are_mixed(const char *path)
{
	struct us_counts_head h;
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	return fd >= 0 && pread(fd, &h, sizeof(h), 0) == sizeof(h) &&
	       !memcmp(h.magic, US_COUNTS_MAGIC, sizeof(h.magic)) && h.mixed;
}

bool us_counts_ended(const struct us_counts *c)
{
	const struct us_counts_head *h = (const void *)c->map;
	return __atomic_load_n(&h->ended, __ATOMIC_ACQUIRE) == 1;
}

/* Kernels patch the first instructions of some of their functions. */
enum us_match us_counts_match(const struct us_counts *c)
{
	const struct us_counts_head *h = &c->head;
	if (!h->n_same && !h->n_differ)
		return US_MATCH_UNKNOWN;
	return h->n_same >= h->n_differ ? US_MATCH_YES : US_MATCH_NO;
}

/* A vCPU's tree at this moment. */
struct tree {
	struct us_counts_vcpu vcpu;
	const struct us_counts_node *node; /* in the file: it changes */
	uint32_t n;
	uint64_t rest; /* executed since the last change, by vcpu.node */
	bool calls_only;
};

static struct tree tree_of(const struct us_counts *c, unsigned i)
{
	const char *p = c->map + c->head.vcpu_offset + i * c->head.vcpu_stride;
	struct tree t = { .node = (const void *)(p + c->head.node_offset),
			  .calls_only = c->head.calls_only };
	const struct us_counts_vcpu *v = (const void *)p;
	t.n = __atomic_load_n(&v->n_node, __ATOMIC_ACQUIRE);
	if (t.n > c->head.n_node)
		t.n = c->head.n_node;
	memcpy(&t.vcpu, p, sizeof(t.vcpu));
	if (t.vcpu.insns > t.vcpu.charged)
		t.rest = t.vcpu.insns - t.vcpu.charged;
	return t;
}

static struct us_counted counted_of(const struct tree *t, uint32_t i)
{
	struct us_counts_node n = t->node[i];
	if (t->calls_only)
		n.self = n.calls;
	return (struct us_counted){
		.parent = n.parent < i ? n.parent : 0,
		.address = n.address,
		.calls = n.calls,
		.self = n.self + (i == t->vcpu.node ? t->rest : 0),
	};
}

static int write_tree(const struct tree *t, unsigned vcpu, struct us_writer *w,
		      struct us_counts_sums *sums, struct us_err *e)
{
	struct us_counted batch[BATCH];
	/* What no function is known for hangs below the root, too. */
	struct us_counted root = { .address = US_COUNTS_UNNAMED };
	int r = 0;
	if (t->n)
		root.self = counted_of(t, 0).self;
	for (uint32_t i = 1; i < t->n && !r;) {
		uint32_t n = 0, first = i;
		for (; n < BATCH && i < t->n; n++, i++) {
			batch[n] = counted_of(t, i);
			sums->insns += batch[n].self;
			sums->calls += batch[n].calls;
		}
		r = us_writer_counted(w, vcpu, first, batch, n, e);
	}
	sums->insns += root.self;
	return r || !root.self ? r : us_writer_counted(w, vcpu, t->n, &root, 1, e);
}

int us_counts_record(const struct us_counts *c, struct us_writer *w,
		     struct us_counts_sums *ret, struct us_err *e)
{
	const struct us_counts_head *h = (const void *)c->map;
	uint32_t n = __atomic_load_n(&h->n_seen, __ATOMIC_ACQUIRE);
	*ret = (struct us_counts_sums){ .n_vcpu = n < c->head.n_vcpu ? n
								     : c->head.n_vcpu };
	for (unsigned i = 0; i < ret->n_vcpu; i++) {
		struct tree t = tree_of(c, i);
		int r = write_tree(&t, i, w, ret, e);
		if (r)
			return r;
		ret->lost += t.vcpu.lost;
		ret->too_deep += t.vcpu.too_deep;
		ret->resets += t.vcpu.resets;
		ret->interrupts += t.vcpu.interrupts;
	}
	return 0;
}
