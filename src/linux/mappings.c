/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mappings.c: see mappings.h. */
#include "linux/mappings.h"

#include "base/vec.h"
#include "linux/arch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TRIES	  3
#define MOST_SIZE 1024U /* mappings_layout.c checks this */
#define CODE	  0x4U	/* include/linux/mm.h, VM_EXEC */
/* lib/maple_tree.c: a tree of the whole address space has six levels. */
#define MOST_DEPTH 12U
#define MOST_NODES (2 * US_LINUX_MOST_MAPPINGS)
#define MOST_NAMES 256U /* folders of a path, and mounts */
#define MOST_NAME  255U

enum { LEAF = 1, RANGE = 2, ARANGE = 3 }; /* include/linux/maple_tree.h */

struct walk {
	const struct us_linux_mappings_layout *l;
	struct us_paging *p;
	const struct us_space *s;
	struct us_linux_mappings *ret;
	us_gva mm, vdso, uprobes;
	uint64_t page; /* bytes */
	uint64_t end;  /* of the last mapping */
	unsigned seen, nodes;
};

static bool read_at(const struct walk *w, us_gva va, void *buf, size_t len)
{
	return va >> 63 && us_paging_read(w->p, w->s, va, buf, len);
}

static bool read_word(const struct walk *w, us_gva va, uint64_t *ret)
{
	return read_at(w, va, ret, sizeof(*ret));
}

/* Read the current contents, to check that nothing changed since the walk began. */
static bool read_now(const struct walk *w, us_gva va, void *buf, size_t len)
{
	us_paging_forget(w->p, w->s, va);
	return read_at(w, va, buf, len);
}

static uint64_t word_at(const uint8_t *bytes, uint32_t offset)
{
	uint64_t v;
	memcpy(&v, bytes + offset, sizeof(v));
	return v;
}

/* 0; 1: there are too many mappings; -EAGAIN: it is not a mapping; -ENOMEM. */
static int add(struct walk *w, const uint8_t *bytes)
{
	const struct us_linux_mappings_layout *l = w->l;
	struct us_linux_mapping m = {
		.start = word_at(bytes, l->start),
		.end = word_at(bytes, l->end),
		.offset = word_at(bytes, l->offset) * w->page,
		.file = word_at(bytes, l->file),
		.code = word_at(bytes, l->flags) & CODE,
	};
	if (m.start >= m.end || m.start < w->end || m.end >> 63 ||
	    (m.start | m.end) % w->page)
		return -EAGAIN;
	w->end = m.end;
	m.vdso = w->vdso && m.start == w->vdso;
	m.uprobes = w->uprobes && m.start == w->uprobes && !m.file;
	if (w->seen++ == US_LINUX_MOST_MAPPINGS) {
		w->ret->full = true;
		return 1;
	}
	if (!m.code && (!m.file || m.offset))
		return 0;
	if (m.file && !read_word(w, m.file + l->dentry, &m.dentry))
		return -EAGAIN;
	struct us_linux_mapping *slot = us_vec_push(w->ret);
	if (!slot)
		return -ENOMEM;
	*slot = m;
	return 0;
}

/* --- the list --- */

static int walk_list(struct walk *w)
{
	uint8_t bytes[MOST_SIZE];
	uint64_t at;
	if (!read_word(w, w->mm + w->l->first, &at))
		return -EAGAIN;
	while (at) {
		if (!read_at(w, at, bytes, w->l->size))
			return -EAGAIN;
		int r = add(w, bytes);
		if (r)
			return r < 0 ? r : 0;
		at = word_at(bytes, w->l->next);
	}
	return 0;
}

/* --- the tree --- */

/* The addresses that a node covers, last included. */
struct span {
	uint64_t first, last;
};

static int add_entry(struct walk *w, us_gva at, struct span s)
{
	uint8_t bytes[MOST_SIZE];
	if (!at || at & 3) /* a gap, or reserved by the kernel */
		return 0;
	if (!read_at(w, at, bytes, w->l->size) ||
	    word_at(bytes, w->l->start) != s.first ||
	    word_at(bytes, w->l->end) - 1 != s.last)
		return -EAGAIN;
	return add(w, bytes);
}

static int walk_node(struct walk *w, uint64_t entry, us_gva parent, struct span s,
		     unsigned depth);

static int walk_slots(struct walk *w, const uint8_t *bytes, uint64_t entry,
		      struct span s, unsigned depth)
{
	unsigned type = entry >> 3 & 15;
	const struct us_maple_layout *l = type == ARANGE ? &w->l->arange : &w->l->range;
	uint64_t first = s.first;
	for (uint32_t k = 0; k < l->n_slot; k++) {
		uint64_t last = k + 1 < l->n_slot ? word_at(bytes, l->pivot + 8 * k)
						  : s.last;
		if (k && !last) /* after the last one in use */
			last = s.last;
		if (last < first || last > s.last)
			return -EAGAIN;
		uint64_t slot = word_at(bytes, l->slot + 8 * k);
		const struct span part = { first, last };
		int r = type == LEAF ? add_entry(w, slot, part)
				     : walk_node(w, slot, entry, part, depth + 1);
		if (r || last == s.last)
			return r;
		first = last + 1;
	}
	return -EAGAIN; /* the node does not cover its span */
}

/* entry: the node's address and kind; parent: those of its parent; 0: it is the
 * root. */
static int walk_node(struct walk *w, uint64_t entry, us_gva parent, struct span s,
		     unsigned depth)
{
	const uint64_t mask = ~(uint64_t)(US_MAPLE_NODE - 1);
	uint8_t bytes[US_MAPLE_NODE];
	unsigned type = entry >> 3 & 15;
	if (depth == MOST_DEPTH || w->nodes++ == MOST_NODES || type < LEAF ||
	    type > ARANGE || !read_at(w, entry & mask, bytes, sizeof(bytes)))
		return -EAGAIN;
	/* A dead node points to itself. */
	uint64_t up = word_at(bytes, 0) & mask;
	if (parent ? up != (parent & mask) : up == (entry & mask))
		return -EAGAIN;
	return walk_slots(w, bytes, entry, s, depth);
}

static int walk_tree(struct walk *w)
{
	uint64_t root, again;
	if (!read_word(w, w->mm + w->l->first, &root))
		return -EAGAIN;
	if (!root)
		return 0;
	if ((root & 3) != 2) /* include/linux/xarray.h, xa_is_node() */
		return -EAGAIN;
	int r = walk_node(w, root, 0, (struct span){ 0, UINT64_MAX }, 0);
	if (r)
		return r < 0 ? r : 0;
	return read_now(w, w->mm + w->l->first, &again, sizeof(again)) && again == root
		       ? 0
		       : -EAGAIN;
}

/* --- all of them --- */

/* A program gets the area when it first meets a uprobe. */
static bool find_own(struct walk *w)
{
	const struct us_linux_mappings_layout *l = w->l;
	us_gva area = 0;
	w->vdso = w->uprobes = 0;
	return (!l->has_vdso || read_word(w, w->mm + l->vdso, &w->vdso)) &&
	       (!l->has_uprobes || read_word(w, w->mm + l->uprobes, &area)) &&
	       (!area || read_word(w, area + l->uprobes_at, &w->uprobes));
}

static int read_once(struct walk *w)
{
	const struct us_linux_mappings_layout *l = w->l;
	uint32_t count;
	w->ret->n = w->seen = w->nodes = 0;
	w->end = 0;
	w->ret->full = false;
	us_paging_new_sample(w->p); /* use nothing from before its mark was read */
	if (!find_own(w))
		return -EAGAIN;
	int r = l->tree ? walk_tree(w) : walk_list(w);
	if (r == 0 && !w->ret->full &&
	    (!read_now(w, w->mm + l->count, &count, sizeof(count)) || count != w->seen))
		return -EAGAIN;
	return r;
}

int us_linux_mappings_read(const struct us_linux_mappings_layout *l,
			   struct us_paging *p, const struct us_space *s, us_gva mm,
			   struct us_linux_mappings *ret)
{
	struct walk w = { .l = l,
			  .p = p,
			  .s = s,
			  .ret = ret,
			  .mm = mm,
			  .page = us_linux_page_size(s) };
	int r = -EAGAIN;
	memset(ret, 0, sizeof(*ret));
	for (unsigned k = 0; r == -EAGAIN && k < TRIES; k++)
		r = read_once(&w);
	ret->torn = r == -EAGAIN;
	if (r < 0)
		ret->n = 0;
	return r == -ENOMEM ? r : 0;
}

void us_linux_mappings_fini(struct us_linux_mappings *m)
{
	free(m->v);
	memset(m, 0, sizeof(*m));
}

bool us_linux_mappings_mark(const struct us_linux_mappings_layout *l,
			    struct us_paging *p, const struct us_space *s, us_gva mm,
			    uint64_t ret[2])
{
	const struct walk w = { .l = l, .p = p, .s = s };
	uint32_t count;
	if (!read_at(&w, mm + l->count, &count, sizeof(count)) ||
	    !read_word(&w, mm + l->first, &ret[0]))
		return false;
	ret[1] = count;
	return true;
}

/* --- names --- */

/* Put a name before what is already there; false: no room. */
static bool put_before(char *buf, size_t *at, const void *name, size_t len)
{
	if (*at < len + 1)
		return false;
	*at -= len;
	memcpy(buf + *at, name, len);
	buf[--*at] = '/';
	return true;
}

static bool put_name(const struct walk *w, us_gva dentry, char *buf, size_t *at)
{
	char name[MOST_NAME];
	uint32_t len;
	uint64_t where;
	return read_at(w, dentry + w->l->name_length, &len, sizeof(len)) && len &&
	       len <= MOST_NAME && read_word(w, dentry + w->l->name, &where) &&
	       read_at(w, where, name, len) && !memchr(name, '\0', len) &&
	       put_before(buf, at, name, len);
}

/* Go from the root of a mount to its mount point; false: it has none, it is the topmost
 * mount. */
static bool cross(const struct walk *w, us_gva *mount, us_gva *dentry, bool *ok)
{
	us_gva whole = *mount - w->l->mounted, parent;
	*ok = read_word(w, whole + w->l->mount_parent, &parent) &&
	      read_word(w, whole + w->l->mount_point, dentry);
	*mount = parent + w->l->mounted;
	return *ok && parent != whole;
}

static bool climb(const struct walk *w, us_gva dentry, us_gva mount, char *buf,
		  size_t *at)
{
	for (unsigned n = 0; n < MOST_NAMES; n++) {
		us_gva root, up;
		bool ok;
		if (!read_word(w, mount + w->l->mount_root, &root))
			return false;
		if (dentry == root) {
			if (!cross(w, &mount, &dentry, &ok))
				return ok;
			continue;
		}
		if (!read_word(w, dentry + w->l->parent, &up))
			return false;
		if (up == dentry) /* has no parent directory */
			return buf[*at] || put_name(w, dentry, buf, at);
		if (!put_name(w, dentry, buf, at))
			return false;
		dentry = up;
	}
	return false;
}

/* include/linux/dcache.h, d_unlinked() */
bool us_linux_mapping_deleted(const struct us_linux_mappings_layout *l,
			      struct us_paging *p, const struct us_space *s,
			      us_gva dentry)
{
	const struct walk w = { .l = l, .p = p, .s = s };
	uint64_t hashed, parent;
	return l->has_hashed && read_now(&w, dentry + l->hashed, &hashed, 8) &&
	       !hashed && read_word(&w, dentry + l->parent, &parent) &&
	       parent != dentry;
}

bool us_linux_mapping_path(const struct us_linux_mappings_layout *l,
			   struct us_paging *p, const struct us_space *s, us_gva file,
			   char ret[US_LINUX_MAPPED_NAME])
{
	const struct walk w = { .l = l, .p = p, .s = s };
	char buf[US_LINUX_MAPPED_NAME];
	size_t at = sizeof(buf) - 1;
	us_gva dentry, mount;
	buf[at] = '\0';
	if (!read_word(&w, file + l->dentry, &dentry) ||
	    !read_word(&w, file + l->mount, &mount) ||
	    !climb(&w, dentry, mount, buf, &at) || !buf[at])
		return false;
	memcpy(ret, buf + at, sizeof(buf) - at);
	return true;
}
