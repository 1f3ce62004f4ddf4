/* SPDX-License-Identifier: GPL-2.0-or-later */
/* space.c: see space.h. */
#include "trace/plugin/space.h"

#include "trace/plugin/translate.h"

enum { ROOT, MODE };

static struct us_track_memory by_access(const struct us_tracker *t, uint64_t sp)
{
	const struct us_plugin_vcpu *v = &us_plugin.vcpu[t->number];
	const struct qemu_plugin_hwaddr *at = NULL;
	/* A return address may be after what was accessed together with it. */
	if (sp >> US_TRACK_PAGE_BITS == v->access.gva >> US_TRACK_PAGE_BITS)
		at = qemu_plugin_get_hwaddr(v->access.info, v->access.gva);
	if (!at || qemu_plugin_hwaddr_is_io(at))
		return (struct us_track_memory){ 0 };
	uint64_t gpa = qemu_plugin_hwaddr_phys_addr(at);
	return (struct us_track_memory){ .page = gpa >> US_TRACK_PAGE_BITS
								<< US_TRACK_PAGE_BITS };
}

/* A block of code does not keep these registers elsewhere: they are valid in any
 * callback that may read them. */
static struct us_track_memory by_registers(const struct us_tracker *t, uint64_t sp)
{
	const struct us_registers *r = &us_plugin.vcpu[t->number].space;
	uint64_t root, mode;
	if (!us_register_read(r, ROOT, &root) || !us_register_read(r, MODE, &mode))
		return by_access(t, sp);
	return (struct us_track_memory){ .root = us_plugin.arch->program_root(root,
									      mode) };
}

void us_space_start(unsigned vcpu)
{
	struct us_plugin_vcpu *v = &us_plugin.vcpu[vcpu];
	const struct us_plugin_arch *a = us_plugin.arch;
	const char *const names[] = { [ROOT] = a->root, [MODE] = a->mode };
	if (us_plugin.api == 1)
		v->tracker.memory = by_access;
	else if (a->program_root && us_registers_find(&v->space, names, 2) == 0)
		v->tracker.memory = by_registers;
}
