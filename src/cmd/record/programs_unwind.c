/* SPDX-License-Identifier: GPL-2.0-or-later */
/* programs_unwind.c: the rules that unwind the stacks of programs: see programs.h. */
#include "cmd/record/programs.h"

#include "base/clock.h"
#include "cmd/record/programs_priv.h"
#include "linux/program_frames.h"

#include <errno.h>
#include <time.h>

#define MOST_NS (100 * US_NS_PER_MS) /* of CPU time; the next call goes on */

/* What is missing may be in memory later, or in another process. */
#define MOST_TRIES 5

struct unwind {
	struct us_programs *p;
	const struct us_linux *l;
	struct us_paging *paging;
	uint64_t until_ns; /* of this thread's CPU time: begin nothing after it */
};

static size_t bytes_of(const struct us_cfi_table *t)
{
	struct us_cfi_table_info info = { 0 };
	if (t)
		us_cfi_table_info(t, &info);
	return info.bytes;
}

/* Replace the rules that were there, if these are better. */
static void take_rules(struct us_programs *p, struct us_known_file *f,
		       struct us_cfi_table *t, size_t missing)
{
	struct us_program_code *c = &p->code;
	size_t bytes = c->bytes - bytes_of(f->rules) + bytes_of(t);
	bool better = !f->rules || missing < f->rules_missing;
	if (better && bytes > US_CODE_MOST_TABLES)
		us_limit_reached(&p->limits, US_LIMIT_RULES, US_CODE_MOST_TABLES);
	if (!better || bytes > US_CODE_MOST_TABLES) {
		us_cfi_table_free(t);
		return;
	}
	if (f->rules)
		us_program_code_retire(c, f->rules);
	c->bytes = bytes;
	f->rules = t;
	f->rules_missing = missing;
	if (!missing)
		f->rule_tries = MOST_TRIES;
}

static void read_rules(struct unwind *u, const struct us_known_mapping *m,
		       struct us_known_file *f)
{
	struct us_space own = u->l->space;
	struct us_program_elf elf;
	struct us_page_cache cache, *cached;
	struct us_cfi_table *t;
	size_t missing;
	own.root = m->m.root;
	f->rule_tries++;
	if (!us_programs_elf(u->p, u->l, u->paging, &own, m, &cache, &cached, &elf))
		return;
	int r = us_program_frames_read(u->paging, &own, &elf, cached, &t, &missing);
	us_programs_cache_known(u->p, cached);
	if (r == 0)
		take_rules(u->p, f, t, missing);
	else if (r == -ENOENT && !missing)
		f->rule_tries = MOST_TRIES;
}

/* A host's file has all rules; it is opened once, when it is known which file it is. */
static void read_file(struct unwind *u, struct us_known_file *f)
{
	struct us_cfi_table *t = us_programs_file_rules(u->p, f, &f->file_tried);
	if (t)
		take_rules(u->p, f, t, 0);
}

/* A waiting task is unwound with the kernel's page tables for it; samples may also have
 * those of user mode. */
static void add_place(struct us_programs *p, struct us_known_space *s,
		      const struct us_known_mapping *m, bool sampled)
{
	const struct us_cfi_table *t = p->files.v[m->m.file - 1].rules;
	bool room = true;
	if (sampled)
		room = us_program_code_add(&p->code, t, m->m.bias, s->root);
	if (s->waited)
		room &= us_program_code_add(&p->waiting, t, m->m.bias, s->root);
	if (sampled && s->pair)
		room &= us_program_code_add(&p->code, t, m->m.bias,
					    s->root ^ US_ROOT_OF_USER);
	if (!room)
		us_limit_reached(&p->limits, US_LIMIT_PLACES, US_CODE_MOST_PLACES);
}

static bool may_read(const struct unwind *u, bool sampled)
{
	return us_thread_cpu_ns() < u->until_ns &&
	       (sampled || u->p->code.bytes < US_CODE_MOST_TABLES / 2);
}

/* Several mappings of a file's code with one bias are one place. */
static void see_space(struct unwind *u, struct us_known_space *s, bool sampled)
{
	struct us_programs *p = u->p;
	const struct us_known_mapping *last = NULL;
	for (uint32_t k = s->first; k; k = p->mappings.v[k - 1].next) {
		const struct us_known_mapping *m = &p->mappings.v[k - 1];
		struct us_known_file *f = &p->files.v[m->m.file - 1];
		if (m->gone || !m->m.has_bias)
			continue;
		if (m->header && f->rule_tries < MOST_TRIES && may_read(u, sampled))
			read_rules(u, m, f);
		if (!f->file_tried && f->rule_tries && may_read(u, sampled) &&
		    (!f->rules || f->rules_missing))
			read_file(u, f);
		if (f->rules &&
		    (!last || last->m.file != m->m.file || last->m.bias != m->m.bias))
			add_place(p, s, m, sampled);
		last = m;
	}
	s->known = s->waited && s->read_ns;
}

/* A space with samples, or (sampled is false) one where tasks only wait. */
static bool is_such(const struct us_known_space *s, bool sampled)
{
	return !s->gone && (sampled ? s->sampled : s->waited && !s->sampled);
}

/* The next such space, from number at on. */
static size_t next_space(struct us_programs *p, size_t at, bool sampled)
{
	pthread_mutex_lock(&p->lock);
	while (at < p->spaces.n && !is_such(&p->spaces.v[at], sampled))
		at++;
	pthread_mutex_unlock(&p->lock);
	return at;
}

static void see_spaces(struct unwind *u, bool sampled)
{
	struct us_programs *p = u->p;
	for (size_t k = 0; (k = next_space(p, k, sampled)) < p->spaces.n; k++)
		see_space(u, &p->spaces.v[k], sampled);
}

void us_programs_unwind(struct us_programs *p, const struct us_linux *l,
			struct us_paging *paging)
{
	struct unwind u = { .p = p,
			    .l = l,
			    .paging = paging,
			    .until_ns = us_thread_cpu_ns() + MOST_NS };
	if (!l->has_mappings)
		return;
	us_programs_read_sampled(p, l, paging);
	us_paging_new_sample(paging);
	us_program_code_begin(&p->code);
	us_program_code_begin(&p->waiting);
	see_spaces(&u, true);
	see_spaces(&u, false);
	us_program_code_replace(&p->waiting);
	us_program_code_offer(&p->code);
}
