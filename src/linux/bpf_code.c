/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bpf_code.c: see bpf_code.h. */
#include "linux/bpf_code.h"

#include "base/cleanup.h"
#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CODE (16U << 20) /* bytes of one program */
#define MAX_NAME 512U	     /* KSYM_NAME_LEN, with the NUL */

struct layout {
	uint32_t start, end, node, name, name_size;
};

/* Members of struct bpf_ksym. */
static bool find_layout(const struct us_btf *b, struct layout *l)
{
	struct us_btf_member start, end, node, name;
	uint32_t type = us_btf_struct(b, "bpf_ksym");
	if (!type || !us_btf_member(b, type, "start", &start) ||
	    !us_btf_member(b, type, "end", &end) ||
	    !us_btf_member(b, type, "lnode", &node) ||
	    !us_btf_member(b, type, "name", &name) || !name.size)
		return false;
	*l = (struct layout){ start.offset, end.offset, node.offset, name.offset,
			      name.size < MAX_NAME ? name.size : MAX_NAME };
	return true;
}

struct reader {
	const struct us_linux_arch *arch;
	const struct us_linux_memory *m;
	struct layout at;
	struct us_linux_modules *ret;
};

static bool read_at(const struct reader *r, us_gva va, void *buf, size_t len)
{
	return va >> 63 && r->m->read(r->m->ctx, va, buf, len);
}

/* A list that changes while it is read may lead anywhere.  All of the kernel's names
 * begin like this. */
static bool is_name(const char *name, size_t size)
{
	size_t n = strnlen(name, size);
	for (size_t k = 0; k < n; k++)
		if (name[k] <= ' ' || name[k] >= 0x7f)
			return false;
	return n < size && !strncmp(name, "bpf_", 4);
}

static bool in_region(const struct reader *r, uint64_t start, uint64_t end)
{
	return start >= r->arch->modules_start && start < end &&
	       end <= r->arch->modules_end && end - start <= MAX_CODE;
}

static int add_name(struct us_linux_modules *m, const char *name, uint32_t *ret)
{
	*ret = (uint32_t)m->names.n;
	for (size_t k = 0; k <= strlen(name); k++) {
		char *to = us_vec_push(&m->names);
		if (!to)
			return -ENOMEM;
		*to = name[k];
	}
	return 0;
}

static int add(const struct reader *r, us_gva ksym)
{
	struct us_linux_modules *m = r->ret;
	char name[MAX_NAME];
	uint64_t start, end;
	uint32_t name_at;
	if (!read_at(r, ksym + r->at.start, &start, sizeof(start)) ||
	    !read_at(r, ksym + r->at.end, &end, sizeof(end)) ||
	    !read_at(r, ksym + r->at.name, name, r->at.name_size) ||
	    !in_region(r, start, end) || !is_name(name, r->at.name_size))
		return 0;
	if (add_name(m, name, &name_at))
		return -ENOMEM;
	struct us_linux_function *f = us_vec_push(&m->functions);
	struct us_linux_module *module = f ? us_vec_push(m) : NULL;
	if (!module)
		return -ENOMEM;
	*f = (struct us_linux_function){ start, end, name_at };
	*module = (struct us_linux_module){ .name = US_LINUX_BPF,
					    .start = start,
					    .end = end,
					    .first = m->functions.n - 1,
					    .n = 1,
					    .number = US_LINUX_NO_ORC };
	return 0;
}

static int walk(const struct reader *r, us_gva head)
{
	uint64_t at;
	int ret = 0;
	if (!read_at(r, head, &at, sizeof(at)))
		return -ENOENT;
	for (size_t n = 0; ret == 0 && at != head && n < US_LINUX_MAX_BPF; n++) {
		ret = add(r, at - r->at.node);
		if (!read_at(r, at, &at, sizeof(at)))
			break;
	}
	return ret;
}

static bool is_bpf(const struct us_linux_module *m)
{
	return m->number == US_LINUX_NO_ORC;
}

/* Modules first: what is in their code is no program. */
static int by_start(const void *a, const void *b)
{
	const struct us_linux_module *x = a, *y = b;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return is_bpf(x) - is_bpf(y);
}

/* Is it in the code of another, or does it reach into a module's, which is next? */
static bool lies(const struct us_linux_module *m, us_gva before, us_gva module)
{
	return is_bpf(m) && (m->start < before || m->end > module);
}

/* Where the next module begins, of each; NULL: out of memory. */
static us_gva *next_modules(const struct us_linux_modules *m)
{
	us_gva next = UINT64_MAX, *ret = calloc(m->n + 1, sizeof(*ret));
	for (size_t k = m->n; ret && k-- > 0;) {
		ret[k] = next;
		if (!is_bpf(&m->v[k]))
			next = m->v[k].start;
	}
	return ret;
}

/* A circular list has each many times. */
static int sort(struct us_linux_modules *m)
{
	size_t kept = 0;
	us_gva end = 0; /* of those that were kept */
	if (m->n)
		qsort(m->v, m->n, sizeof(*m->v), by_start);
	_cleanup_free_ us_gva *module = next_modules(m);
	if (!module)
		return -ENOMEM;
	for (size_t k = 0; k < m->n; k++) {
		if (lies(&m->v[k], end, module[k]))
			continue;
		m->n_bpf += is_bpf(&m->v[k]);
		end = m->v[k].end > end ? m->v[k].end : end;
		m->v[kept++] = m->v[k];
	}
	m->n = kept;
	return 0;
}

int us_linux_bpf_read(const struct us_btf *b, const struct us_kallsyms *k,
		      const struct us_linux_arch *arch, const struct us_linux_memory *m,
		      struct us_linux_modules *add_to)
{
	struct reader r = { .arch = arch, .m = m, .ret = add_to };
	us_gva head = us_kallsyms_address(k, "bpf_kallsyms");
	if (!head || !find_layout(b, &r.at))
		return -ENOENT;
	int ret = walk(&r, head);
	int sorted = sort(add_to);
	return ret ? ret : sorted;
}
