/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vmx-types.h: BTF of some of what arch/x86/kvm/vmx/vmx.h says. */
#ifndef US_TEST_VMX_TYPES_H
#define US_TEST_VMX_TYPES_H

#include "unit.h"

#include <bpf/btf.h>

/* Of the struct or union that was added last. at: in bytes. */
static inline void member(struct btf *b, const char *name, int type, uint32_t at)
{
	assert_int_equal(btf__add_field(b, name, type, at * 8, 0), 0);
}

/* Its type: what a vCPU keeps of its segments. */
static inline int add_segment_cache(struct btf *b)
{
	int u32 = btf__add_int(b, "unsigned int", 4, 0);
	int u64 = btf__add_int(b, "unsigned long", 8, 0);
	int segment = btf__add_struct(b, "kvm_save_segment", 24);
	member(b, "base", u64, 8);
	member(b, "ar", u32, 20);
	int segments = btf__add_array(b, u32, segment, 8);
	int cache = btf__add_struct(b, NULL, 200);
	member(b, "bitmask", u32, 0);
	member(b, "seg", segments, 8);
	return cache;
}

static inline int add_exit_reason(struct btf *b)
{
	int u32 = btf__find_by_name_kind(b, "unsigned int", BTF_KIND_INT);
	int reason = btf__add_union(b, "vmx_exit_reason", 4);
	member(b, "full", u32, 0);
	return reason;
}

#endif
