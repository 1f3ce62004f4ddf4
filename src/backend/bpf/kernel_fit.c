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

/* A member's struct, behind other names of it. */
static const struct btf_type *struct_of(const struct btf *b, const struct btf_member *m)
{
	const struct btf_type *t = m ? btf__type_by_id(b, m->type) : NULL;
	while (t && btf_is_typedef(t))
		t = btf__type_by_id(b, t->type);
	return t && btf_is_struct(t) ? t : NULL;
}

/* With PREEMPT_RT a spinlock_t is a mutex, which has had two names. */
static bool is_mutex(const struct btf *b, const struct btf_type *lock)
{
	for (unsigned i = 0; lock && i < btf_vlen(lock); i++) {
		const struct btf_type *t = struct_of(b, &btf_members(lock)[i]);
		if (t && (is_called(b, t->name_off, "rt_mutex_base") ||
			  is_called(b, t->name_off, "rt_mutex")))
			return true;
	}
	return false;
}

/* Until 6.12 (8b62645b09f8) the ring had a spinlock_t.  The timer's program runs in
 * hard interrupt context, with PREEMPT_RT as well. */
static int refuse_sleeping_ring(const struct btf *kernel, struct us_err *why)
{
	const struct btf_type *ring = type_called(kernel, "bpf_ringbuf",
						  BTF_KIND_STRUCT);
	const struct btf_member *lock = member_called(kernel, ring, "spinlock");
	if (!is_mutex(kernel, struct_of(kernel, lock)))
		return 0;
	us_fail(why, -EOPNOTSUPP,
		"this PREEMPT_RT kernel's BPF ring buffer may sleep where the timer "
		"must not");
	us_hint(why, "boot Linux 6.12 or newer, or a stable release with its fix");
	return -EOPNOTSUPP;
}

int us_bpf_kernel_fits(const char *sys, struct us_err *why)
{
	struct btf *kernel = read_types(sys, "vmlinux", NULL);
	if (!kernel)
		return 0;
	struct btf *module = read_types(sys, "kvm", kernel);
	int r = refuse_old(kernel, module ? module : kernel, why);
	if (!r)
		r = refuse_sleeping_ring(kernel, why);
	btf__free(module);
	btf__free(kernel);
	return r;
}
