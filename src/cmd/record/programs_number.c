/* SPDX-License-Identifier: GPL-2.0-or-later */
/* programs_number.c: which files are the same, and which of them are no longer where
 * their path leads: see programs.h. */
#include "cmd/record/programs_priv.h"

#include "base/clock.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

/* Distinguishes files of one path.  A deleted file is not the one that replaced it,
 * though their headers may be the same. */
static uint64_t identity(enum us_program_kind kind, const struct us_program_elf *e,
			 bool deleted)
{
	if (e && e->build_id_len)
		return us_hash_bytes(e->build_id, e->build_id_len);
	return (e ? e->mark : kind) ^ (deleted ? UINT64_C(1) << 63 : 0);
}

static uint32_t new_file(struct us_programs *p, const char *path)
{
	char *copy = strdup(path);
	struct us_known_file *f = copy && p->files.n < US_PROGRAMS_MOST_FILES
					  ? us_vec_push(&p->files)
					  : NULL;
	if (!f) {
		free(copy);
		if (p->files.n >= US_PROGRAMS_MOST_FILES)
			us_limit_reached(&p->limits, US_LIMIT_FILES,
					 US_PROGRAMS_MOST_FILES);
		return 0;
	}
	f->path = copy;
	return (uint32_t)p->files.n;
}

uint32_t us_programs_number(struct us_programs *p, const char *path,
			    enum us_program_kind kind, const struct us_program_elf *e,
			    bool deleted)
{
	uint64_t by_path = us_hash_bytes(path, strlen(path));
	bool has_id = e && e->build_id_len;
	uint32_t *slot = us_pair_map_at(&p->of_file, by_path,
					identity(kind, e, deleted));
	/* One that was deleted meanwhile keeps its number. */
	if (!slot || (*slot && p->files.v[*slot - 1].deleted == (deleted && !has_id)))
		return slot ? *slot : 0;
	uint32_t number = new_file(p, path);
	if (!number)
		return 0;
	struct us_known_file *f = &p->files.v[number - 1];
	f->kind = (uint8_t)kind;
	f->deleted = deleted && !has_id;
	if (e) {
		f->sure = e->whole || e->build_id_len;
		f->build_id_len = e->build_id_len;
		memcpy(f->build_id, e->build_id, e->build_id_len);
	}
	return *slot = number;
}

/* A struct file whose memory is used for another one has another dentry. */
static bool is_deleted(const struct us_known_mapping *m, const struct us_linux *l,
		       struct us_paging *paging)
{
	us_gva dentry;
	return us_paging_read(paging, &l->space, m->at + l->mappings.dentry, &dentry,
			      sizeof(dentry)) &&
	       dentry == m->dentry &&
	       us_linux_mapping_deleted(&l->mappings, paging, &l->space, dentry);
}

void us_programs_see_deleted(struct us_programs *p, const struct us_linux *l,
			     struct us_paging *paging, uint64_t until_ns)
{
	for (size_t k = 0; k < p->mappings.n && us_thread_cpu_ns() < until_ns; k++) {
		struct us_known_mapping *m = &p->mappings.v[k];
		struct us_known_file *f = &p->files.v[m->m.file - 1];
		if (m->gone || !m->wanted || !m->at || f->deleted || f->build_id_len ||
		    !is_deleted(m, l, paging))
			continue;
		pthread_mutex_lock(&p->lock);
		f->deleted = m->dirty = true;
		f->written = false;
		pthread_mutex_unlock(&p->lock);
	}
}
