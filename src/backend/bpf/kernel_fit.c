/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kernel_fit.c: see kernel_fit.h. */
#include "backend/bpf/kernel_fit.h"

#include <bpf/btf.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

/* base: NULL for the kernel itself; a module's types refer to those. */
static struct btf *read_types(const char *sys, const char *name, struct btf *base)
{
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s/btf/%s", sys, name);
	return base ? btf__parse_raw_split(path, base) : btf__parse_raw(path);
}

static const struct btf_type *type_called(const struct btf *b, const char *name,
					  uint32_t kind)
{
	int id = btf__find_by_name_kind(b, name, kind);
	return id < 0 ? NULL : btf__type_by_id(b, (uint32_t)id);
}

static bool is_called(const struct btf *b, uint32_t name_off, const char *name)
{
	const char *is = btf__name_by_offset(b, name_off);
	return is && !strcmp(is, name);
}

/* NULL: the struct is not known, or has no such member. */
static const struct btf_member *
member_called(const struct btf *b, const struct btf_type *t, const char *name)
{
	for (unsigned i = 0; t && i < btf_vlen(t); i++)
		if (is_called(b, btf_members(t)[i].name_off, name))
			return &btf_members(t)[i];
	return NULL;
}

static bool lacks_helper(const struct btf *b, const char *name)
{
	const struct btf_type *t = type_called(b, "bpf_func_id", BTF_KIND_ENUM);
	for (unsigned i = 0; t && i < btf_vlen(t); i++)
		if (is_called(b, btf_enum(t)[i].name_off, name))
			return false;
	return t != NULL;
}

static bool lacks_member(const struct btf *b, const char *of, const char *name)
{
	const struct btf_type *t = type_called(b, of, BTF_KIND_STRUCT);
	return t && !member_called(b, t, name);
}

/* Both came with 5.17.  kvm has the types of KVM, if it is a module, and all others. */
static int refuse_old(const struct btf *kernel, const struct btf *kvm,
		      struct us_err *why)
{
	struct utsname host = { 0 };
	if (!lacks_helper(kernel, "BPF_FUNC_loop") &&
	    !lacks_member(kvm, "kvm_memory_slot", "id_node"))
		return 0;
	uname(&host);
	return us_fail(why, -EOPNOTSUPP,
		       "Linux 5.17 or newer is needed; this host has %s", host.release);
}

int us_bpf_kernel_fits(const char *sys, struct us_err *why)
{
	struct btf *kernel = read_types(sys, "vmlinux", NULL);
	if (!kernel)
		return 0;
	struct btf *module = read_types(sys, "kvm", kernel);
	int r = refuse_old(kernel, module ? module : kernel, why);
	btf__free(module);
	btf__free(kernel);
	return r;
}
