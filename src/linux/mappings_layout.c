/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mappings_layout.c: where a kernel's mappings have the members that are read; see
 * mappings.h. */
#include "linux/mappings.h"

#include <string.h>

#define MOST_SIZE 1024U /* the bytes of a mapping that are read */

static bool at(const struct us_btf *b, const char *type, const char *path,
	       uint32_t *ret)
{
	struct us_btf_member m;
	if (!us_btf_path(b, type, path, &m))
		return false;
	*ret = m.offset;
	return true;
}

static bool find_node(const struct us_btf *b, const char *type,
		      struct us_maple_layout *l)
{
	struct us_btf_member pivot, slot;
	if (!us_btf_path(b, type, "pivot", &pivot) ||
	    !us_btf_path(b, type, "slot", &slot))
		return false;
	l->pivot = pivot.offset;
	l->slot = slot.offset;
	l->n_slot = slot.size / 8;
	return l->n_slot >= 2 && slot.size <= US_MAPLE_NODE &&
	       pivot.size == 8 * (l->n_slot - 1) &&
	       slot.offset <= US_MAPLE_NODE - slot.size &&
	       pivot.offset <= US_MAPLE_NODE - pivot.size;
}

/* Since 6.1 (include/linux/mm_types.h, mm_mt); before, a list. */
static bool find_all(const struct us_btf *b, struct us_linux_mappings_layout *l)
{
	l->tree = at(b, "mm_struct", "mm_mt.ma_root", &l->first);
	if (l->tree)
		return find_node(b, "maple_range_64", &l->range) &&
		       find_node(b, "maple_arange_64", &l->arange);
	return at(b, "mm_struct", "mmap", &l->first) &&
	       at(b, "vm_area_struct", "vm_next", &l->next);
}

static bool find_mapping(const struct us_btf *b, struct us_linux_mappings_layout *l)
{
	const uint32_t *const all[] = { &l->start,  &l->end,  &l->flags,
					&l->offset, &l->file, &l->next };
	if (!at(b, "vm_area_struct", "vm_start", &l->start) ||
	    !at(b, "vm_area_struct", "vm_end", &l->end) ||
	    !at(b, "vm_area_struct", "vm_flags", &l->flags) ||
	    !at(b, "vm_area_struct", "vm_pgoff", &l->offset) ||
	    !at(b, "vm_area_struct", "vm_file", &l->file))
		return false;
	for (size_t k = 0; k < sizeof(all) / sizeof(*all); k++)
		if (*all[k] + 8 > l->size)
			l->size = *all[k] + 8;
	return l->size <= MOST_SIZE;
}

static bool find_names(const struct us_btf *b, struct us_linux_mappings_layout *l)
{
	return at(b, "file", "f_path.dentry", &l->dentry) &&
	       at(b, "file", "f_path.mnt", &l->mount) &&
	       at(b, "dentry", "d_parent", &l->parent) &&
	       at(b, "dentry", "d_name.name", &l->name) &&
	       at(b, "dentry", "d_name.len", &l->name_length) &&
	       at(b, "vfsmount", "mnt_root", &l->mount_root) &&
	       at(b, "mount", "mnt", &l->mounted) &&
	       at(b, "mount", "mnt_parent", &l->mount_parent) &&
	       at(b, "mount", "mnt_mountpoint", &l->mount_point);
}

bool us_linux_mappings_layout(const struct us_btf *b,
			      struct us_linux_mappings_layout *l)
{
	memset(l, 0, sizeof(*l));
	l->has_vdso = at(b, "mm_struct", "context.vdso", &l->vdso);
	l->has_hashed = at(b, "dentry", "d_hash.pprev", &l->hashed);
	l->has_uprobes = at(b, "mm_struct", "uprobes_state.xol_area", &l->uprobes) &&
			 at(b, "xol_area", "vaddr", &l->uprobes_at);
	return at(b, "mm_struct", "map_count", &l->count) && find_all(b, l) &&
	       find_mapping(b, l) && find_names(b, l);
}
