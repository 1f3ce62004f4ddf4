/* SPDX-License-Identifier: GPL-2.0-or-later */
/* programs.c: see programs.h. */
#include "cmd/record/programs.h"

#include "base/clock.h"
#include "base/search.h"
#include "base/vec.h"
#include "cmd/record/programs_priv.h"

#include <stdlib.h>
#include <string.h>

#define MOST_AGE  3
#define MOST_HITS 65536U /* for each file */

void us_programs_init(struct us_programs *p)
{
	memset(p, 0, sizeof(*p));
	pthread_mutex_init(&p->lock, NULL);
}

void us_programs_fini(struct us_programs *p)
{
	for (size_t k = 0; k < p->files.n; k++) {
		free(p->files.v[k].path);
		free(p->files.v[k].hits.v);
		free(p->files.v[k].offered.v);
		free(p->files.v[k].names.v);
		us_cfi_table_free(p->files.v[k].rules);
	}
	free(p->files.v);
	free(p->mappings.v);
	free(p->spaces.v);
	us_program_code_fini(&p->code);
	us_program_code_fini(&p->waiting);
	us_id_index_fini(&p->ids);
	us_id_index_fini(&p->root);
	us_pair_map_fini(&p->of_root);
	us_pair_map_fini(&p->of_file);
	pthread_mutex_destroy(&p->lock);
	memset(p, 0, sizeof(*p));
}

/* --- what samples were in --- */

static struct us_known_space *space_of(struct us_programs *p, us_gpa root)
{
	uint32_t *last = us_pair_map_at(&p->of_root, root, 0);
	struct us_known_space *s = last && *last ? &p->spaces.v[*last - 1] : NULL;
	if (s && !s->gone)
		return s;
	last = us_pair_map_at(&p->of_root, root ^ US_ROOT_OF_USER, 0);
	s = last && *last ? &p->spaces.v[*last - 1] : NULL;
	return s && !s->gone && s->pair ? s : NULL;
}

static void note_hit(struct us_known_file *f, uint64_t at)
{
	for (size_t k = f->hits.n; k > 0 && k + 64 > f->hits.n; k--)
		if (f->hits.v[k - 1] == at)
			return;
	uint64_t *slot = f->hits.n < MOST_HITS ? us_vec_push(&f->hits) : NULL;
	if (slot)
		*slot = at;
}

static bool take_hit(struct us_programs *p, us_gpa root, us_gva pc)
{
	struct us_known_space *s = space_of(p, root);
	if (s && !s->sampled) {
		s->sampled = true;
		atomic_store(&p->hungry, true);
	}
	for (uint32_t k = s ? s->first : 0; k; k = p->mappings.v[k - 1].next) {
		struct us_known_mapping *m = &p->mappings.v[k - 1];
		if (m->gone || pc < m->m.start || pc >= m->m.end)
			continue;
		struct us_known_file *f = &p->files.v[m->m.file - 1];
		m->dirty |= !m->wanted;
		m->wanted = f->wanted = true;
		if (m->m.has_bias)
			note_hit(f, pc - m->m.bias);
		else if (f->kind != US_PROGRAM_NONE) {
			/* The program may have brought the file's header into memory by
			 * now. */
			s->again = true;
			s->tries = 0;
		}
		return true;
	}
	return false;
}

/* The same stacks come again and again. */
static void note_unknown(struct us_programs *p, us_gpa root, us_gva pc)
{
	for (unsigned k = p->n_unknown; k > 0 && k + 64 > p->n_unknown; k--)
		if (p->unknown[k - 1].root == root && p->unknown[k - 1].pc == pc)
			return;
	if (p->n_unknown == US_PROGRAMS_UNKNOWN)
		return;
	p->unknown[p->n_unknown].root = root;
	p->unknown[p->n_unknown].pc = pc;
	p->unknown[p->n_unknown++].age = 0;
}

void us_programs_see(void *ctx, us_gpa root, us_gva pc)
{
	struct us_programs *p = ctx;
	if (pc >> 63)
		return;
	pthread_mutex_lock(&p->lock);
	if (!take_hit(p, root, pc))
		note_unknown(p, root, pc);
	pthread_mutex_unlock(&p->lock);
}

/* Until the list is read again, the page tables may be another process's. */
bool us_programs_wait(struct us_programs *p, const struct us_linux_task *t)
{
	pthread_mutex_lock(&p->lock);
	struct us_known_space *s = t->root ? space_of(p, t->root) : NULL;
	if (s && s->mm != t->mm)
		s = NULL;
	if (s && !s->waited) {
		s->waited = true;
		atomic_store(&p->hungry, true);
	}
	bool known = s && s->known;
	pthread_mutex_unlock(&p->lock);
	return known;
}

const char *us_programs_at(struct us_programs *p, us_gpa root, us_gva pc,
			   uint64_t *ret_at)
{
	const char *path = NULL;
	pthread_mutex_lock(&p->lock);
	const struct us_known_space *s = space_of(p, root);
	for (uint32_t k = s ? s->first : 0; k && !path; k = p->mappings.v[k - 1].next) {
		const struct us_mapping *m = &p->mappings.v[k - 1].m;
		if (p->mappings.v[k - 1].gone || pc < m->start || pc >= m->end)
			continue;
		path = p->files.v[m->file - 1].path;
		*ret_at = m->has_bias ? pc - m->bias : pc - m->start + m->offset;
	}
	pthread_mutex_unlock(&p->lock);
	return path;
}

void us_programs_see_unknown(struct us_programs *p, bool older)
{
	unsigned n = 0;
	for (unsigned k = 0; k < p->n_unknown; k++) {
		if (take_hit(p, p->unknown[k].root, p->unknown[k].pc))
			continue;
		p->unknown[k].age += older;
		if (p->unknown[k].age < MOST_AGE)
			p->unknown[n++] = p->unknown[k];
	}
	p->n_unknown = n;
}

/* --- writing --- */

static int write_file(struct us_programs *p, uint32_t number, struct us_writer *w)
{
	struct us_known_file *f = &p->files.v[number - 1];
	struct us_program_file out = { .number = number,
				       .kind = f->kind,
				       .build_id_len = f->build_id_len,
				       .deleted = f->deleted,
				       .path = f->path };
	if (f->written)
		return 0;
	memcpy(out.build_id, f->build_id, f->build_id_len);
	f->written = true;
	return us_writer_program_file(w, &out, NULL);
}

static int write_mapping(struct us_programs *p, struct us_known_mapping *m,
			 struct us_writer *w)
{
	m->dirty = false;
	if (m->gone && m->m.until_ns - m->m.from_ns < US_NS_PER_US)
		return 0; /* it was seen only once */
	int r = write_file(p, m->m.file, w);
	return r ? r : us_writer_mapping(w, &m->m, NULL);
}

/* The function at an address of the file, if it was not written yet. */
static struct us_offered_name *new_name(struct us_known_file *f, uint64_t at)
{
	size_t next = us_first_not(f->offered.n, mid, f->offered.v[mid].address <= at);
	struct us_offered_name *o = next ? &f->offered.v[next - 1] : NULL;
	return o && !o->told && at - o->address < o->size ? o : NULL;
}

static int write_name(struct us_known_file *f, uint32_t number, uint64_t at,
		      struct us_writer *w)
{
	struct us_offered_name *o = new_name(f, at);
	if (!o)
		return 0;
	o->told = true;
	return us_writer_program_names(
		w,
		&(struct us_program_name){ number, o->address, o->size,
					   f->names.v + o->name },
		1, NULL);
}

/* Look up each address and the one before it, which has the call of a return
 * address. */
static int write_names(struct us_programs *p, uint32_t number, struct us_writer *w)
{
	struct us_known_file *f = &p->files.v[number - 1];
	int r = 0;
	for (; f->offered.n && f->named < f->hits.n && r == 0; f->named++) {
		r = write_name(f, number, f->hits.v[f->named], w);
		if (r == 0)
			r = write_name(f, number, f->hits.v[f->named] - 1, w);
	}
	return r;
}

/* Write a limit the first time, and again whenever its count has doubled. */
static int write_limits(struct us_programs *p, struct us_writer *w)
{
	char text[64];
	int r = 0;
	for (unsigned k = 0; k < US_N_LIMITS && r == 0; k++) {
		uint64_t n = atomic_load(&p->limits.hit[k].n);
		if (!n || n < 2 * p->limit_told[k])
			continue;
		us_limit_value(&p->limits, k, text, sizeof(text));
		r = us_writer_fact(w, us_limit_key(k), text, NULL);
		p->limit_told[k] = n;
	}
	return r;
}

int us_programs_write(struct us_programs *p, struct us_writer *w)
{
	int r = 0;
	pthread_mutex_lock(&p->lock);
	for (size_t k = 0; r == 0 && k < p->mappings.n; k++)
		if (p->mappings.v[k].dirty && p->mappings.v[k].wanted)
			r = write_mapping(p, &p->mappings.v[k], w);
	for (uint32_t k = 0; r == 0 && k < p->files.n; k++)
		r = write_names(p, k + 1, w);
	pthread_mutex_unlock(&p->lock);
	return r ? r : write_limits(p, w);
}
