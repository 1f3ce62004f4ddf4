/* SPDX-License-Identifier: GPL-2.0-or-later */
/* programs_file.c: call frame information of programs from files of the host, where the
 * guest does not have it in memory: see programs.h. */
#include "cmd/record/programs_priv.h"

#include "base/cleanup.h"
#include "symbol/build_id.h"
#include "symbol/elf_cfi.h"
#include "symbol/root_file.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* It has the build-id that was seen, or neither has one and the user says that it is
 * the guest's file. */
static bool is_it(const struct us_elf_file *elf, const struct us_known_file *f,
		  bool by_path)
{
	struct us_build_id id;
	us_build_id_read(elf, &id);
	if (!id.len || !f->build_id_len)
		return by_path && !id.len && !f->build_id_len;
	return id.len == f->build_id_len && !memcmp(id.bytes, f->build_id, id.len);
}

/* NULL: it is not the file, or it has no call frame information. */
static struct us_cfi_table *read_file(const char *path, const struct us_known_file *f,
				      bool by_path)
{
	struct us_elf_file elf;
	struct us_cfi_table_info info;
	struct us_cfi_table *t = NULL;
	if (us_elf_file_open_notes(path, &elf, NULL) < 0)
		return NULL;
	if (is_it(&elf, f, by_path) && us_elf_cfi_read(&elf, NULL, &t, NULL, NULL) < 0)
		t = NULL;
	us_elf_file_close(&elf);
	if (!t)
		return NULL;
	us_cfi_table_info(t, &info);
	if (info.start != info.end && !info.untrusted)
		return t;
	us_cfi_table_free(t);
	return NULL;
}

static void tell_limits(struct us_programs *p, const struct us_id_files *ids)
{
	const struct us_limit_hit *hit = p->limits.hit;
	if (ids->full && !hit[US_LIMIT_SYMBOL_FILES].n)
		us_limit_reached(&p->limits, US_LIMIT_SYMBOL_FILES, US_ID_FILES_MOST);
	if (ids->deep && !hit[US_LIMIT_SYMBOL_DEPTH].n)
		us_limit_reached(&p->limits, US_LIMIT_SYMBOL_DEPTH, US_ID_FILES_DEPTH);
}

bool us_programs_pending(struct us_programs *p)
{
	return us_id_index_pending(&p->ids) || us_id_index_pending(&p->root);
}

void us_programs_tell_pending(struct us_programs *p)
{
	unsigned symbols = us_id_index_pending(&p->ids);
	unsigned root = us_id_index_pending(&p->root);
	if (symbols)
		us_limit_reached(&p->limits, US_LIMIT_SYMBOL_TIME, symbols);
	if (root)
		us_limit_reached(&p->limits, US_LIMIT_ROOT_TIME, root);
}

/* A thread opens the root first, as it does with the folders of --symbols. */
static bool is_root_there(struct us_programs *p)
{
	const struct us_debug_dirs root = { .dir = &p->dirs->root, .n = 1 };
	return us_id_index_there(&p->root, &root, &p->hungry);
}

static struct us_cfi_table *by_id(struct us_programs *p, const struct us_known_file *f,
				  bool *ret_known)
{
	char path[US_DEBUG_PATH];
	const char *other;
	struct us_cfi_table *t = NULL;
	if (!f->build_id_len)
		return NULL;
	*ret_known = !p->dirs->n || us_id_index_there(&p->ids, p->dirs, &p->hungry);
	if (!*ret_known)
		return NULL;
	if (us_debug_file_by_id(f->build_id, f->build_id_len, p->dirs, path))
		t = read_file(path, f, false);
	if (t || !p->dirs->n)
		return t;
	const struct us_id_files *ids = us_id_index_get(&p->ids, p->dirs, &p->hungry);
	*ret_known = ids;
	if (ids)
		tell_limits(p, ids);
	for (unsigned k = 0;
	     ids && !t &&
	     (other = us_id_files_find(ids, f->build_id, f->build_id_len, k));
	     k++)
		t = read_file(other, f, false);
	return t;
}

struct us_cfi_table *us_programs_file_rules(struct us_programs *p,
					    const struct us_known_file *f,
					    bool *ret_known)
{
	char name[64];
	*ret_known = true;
	if (!p->dirs || f->kind != US_PROGRAM_FILE)
		return NULL;
	struct us_cfi_table *t = by_id(p, f, ret_known);
	if (t || !*ret_known || !p->dirs->root || f->deleted)
		return t;
	*ret_known = is_root_there(p);
	if (!*ret_known)
		return NULL;
	_cleanup_close_ int fd = us_root_file_open(p->dirs->root, f->path);
	if (fd < 0)
		return NULL;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	return read_file(name, f, true);
}
