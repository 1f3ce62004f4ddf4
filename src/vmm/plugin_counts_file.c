/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plugin_counts_file.c: see plugin_counts_file.h. */
#include "vmm/plugin_counts_file.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_others(const struct us_counts_head *h)
{
	return !memcmp(h->magic, US_COUNTS_MAGIC, sizeof(h->magic)) &&
	       h->version != US_COUNTS_VERSION;
}

static bool is_possible(const struct us_counts_head *h, uint64_t size)
{
	uint64_t nodes = (uint64_t)h->n_node * sizeof(struct us_counts_node);
	return !memcmp(h->magic, US_COUNTS_MAGIC, sizeof(h->magic)) &&
	       h->version == US_COUNTS_VERSION && h->flat <= US_COUNTS_FUNCTIONS &&
	       h->n_vcpu && h->n_vcpu <= US_COUNTS_MAX_VCPU && h->n_node >= 2 &&
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
	ret->stays_whole = (st.st_uid == 0 || st.st_uid == geteuid()) &&
			   !(st.st_mode & (S_IWGRP | S_IWOTH));
	memcpy(&ret->head, p, sizeof(ret->head));
	if (is_possible(&ret->head, ret->size))
		return 0;
	bool others = is_others(&ret->head);
	us_counts_close(ret);
	return us_fail(e, -EBADMSG,
		       others ? "read %s: the plugin that wrote it is of another "
				"version of uniscope"
			      : "read %s: this is no file of counts",
		       path);
}

void us_counts_close(struct us_counts *c)
{
	if (c->map)
		munmap((void *)(uintptr_t)c->map, c->size);
	*c = (struct us_counts){ 0 };
}

static bool read_head(const char *path, struct us_counts_head *ret)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	return fd >= 0 && pread(fd, ret, sizeof(*ret), 0) == sizeof(*ret) &&
	       !memcmp(ret->magic, US_COUNTS_MAGIC, sizeof(ret->magic));
}

bool us_counts_are_mixed(const char *path)
{
	struct us_counts_head h;
	return read_head(path, &h) && h.mixed;
}

bool us_counts_have_begun(const char *path)
{
	struct us_counts_head h;
	return read_head(path, &h) && h.begun;
}

const struct us_counts_head *us_counts_now(const struct us_counts *c)
{
	return (const void *)c->map;
}

unsigned us_counts_started(const struct us_counts *c)
{
	uint32_t n = __atomic_load_n(&us_counts_now(c)->n_seen, __ATOMIC_ACQUIRE);
	return n < c->head.n_vcpu ? n : c->head.n_vcpu;
}

const struct us_counts_vcpu *us_counts_vcpu(const struct us_counts *c, unsigned i)
{
	return (const void *)(c->map + c->head.vcpu_offset + i * c->head.vcpu_stride);
}

const struct us_counts_node *us_counts_nodes(const struct us_counts *c, unsigned i,
					     uint32_t *ret_n)
{
	const struct us_counts_vcpu *v = us_counts_vcpu(c, i);
	uint32_t n = __atomic_load_n(&v->n_node, __ATOMIC_ACQUIRE);
	*ret_n = n < c->head.n_node ? n : c->head.n_node;
	return (const void *)((const char *)v + c->head.node_offset);
}

/* Kernels patch the first instructions of some of their functions. */
int us_counts_are_of_images(const struct us_counts *c)
{
	uint64_t same = us_counts_now(c)->n_same, differ = us_counts_now(c)->n_differ;
	return !same && !differ ? 0 : same >= differ ? 1 : -1;
}

/* Is over a hundredth of what was executed in no function?  Node 0 stands for unknown
 * code. */
static bool is_much_unnamed(const struct us_counts *c)
{
	uint64_t all = 0, unnamed = 0;
	for (unsigned i = 0; i < us_counts_started(c); i++) {
		uint32_t n;
		const struct us_counts_node *node = us_counts_nodes(c, i, &n);
		for (uint32_t k = 0; k < n; k++) {
			all += node[k].self;
			if (!k || node[k].address == US_COUNTS_UNNAMED)
				unnamed += node[k].self;
		}
	}
	return unnamed > all / 100;
}

uint64_t us_counts_slide(const struct us_counts *c)
{
	const struct us_counts_head *h = us_counts_now(c);
	/* Kernels execute a little code before they are mapped at their final address.
	 */
	bool slid = h->slide && h->n_slid > h->n_same / 6;
	return slid && (c->head.flat || is_much_unnamed(c)) ? h->slide : 0;
}

bool us_counts_ended(const struct us_counts *c)
{
	return __atomic_load_n(&us_counts_now(c)->ended, __ATOMIC_ACQUIRE) == 1;
}
