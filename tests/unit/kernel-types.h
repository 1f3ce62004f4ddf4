/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kernel-types.h: load the programs as into a kernel with other types than this one. */
#ifndef US_TEST_KERNEL_TYPES_H
#define US_TEST_KERNEL_TYPES_H

#include "unit.h"

#include "backend/bpf/programs.h"

#include <bpf/btf.h>
#include <unistd.h>

static inline void skip_unless(bool possible, const char *why)
{
	if (possible)
		return;
	print_message("# SKIP %s\n", why);
	skip();
}

static inline struct btf *kernel_types(void)
{
	struct us_err e;
	skip_unless(us_bpf_ready(&e) == 0, e.msg);
	struct btf *kernel = btf__load_vmlinux_btf();
	assert_non_null(kernel);
	return kernel;
}

/* The number of what it adds in place of the type; 0: add the type itself. */
typedef int type_changer(struct btf *to, const struct btf *from,
			 const struct btf_type *t);

/* In the same order all keep their numbers. */
static inline struct btf *changed_copy_of(const struct btf *from, type_changer *change)
{
	struct btf *b = btf__new_empty();
	assert_non_null(b);
	for (__u32 i = 1; i < btf__type_cnt(from); i++) {
		const struct btf_type *t = btf__type_by_id(from, i);
		int id = change ? change(b, from, t) : 0;
		if (!id)
			id = btf__add_type(b, from, t);
		assert_int_equal(id, i);
	}
	return b;
}

static inline struct btf *copy_of(const struct btf *from)
{
	return changed_copy_of(from, NULL);
}

static inline int load_with(enum us_bpf_host kind, struct btf *types, struct us_err *e)
{
	char path[] = "/tmp/uniscope-types-XXXXXX";
	struct us_bpf_programs *p = NULL;
	__u32 size;
	const void *bytes = btf__raw_data(types, &size);
	int fd = mkstemp(path);
	assert_true(bytes && fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	close(fd);
	int r = us_bpf_load_as(kind, path, &p, e);
	unlink(path);
	us_bpf_unload(r < 0 ? NULL : p);
	return r;
}

#endif
