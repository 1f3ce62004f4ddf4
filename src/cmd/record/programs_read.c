/* SPDX-License-Identifier: GPL-2.0-or-later */
/* programs_read.c: what programs have mapped, from the guest's memory: see
 * programs.h. */
#include "cmd/record/programs.h"

#include "base/clock.h"
#include "base/vec.h"
#include "cmd/record/programs_priv.h"
#include "linux/program_go.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_TRIES   4
#define MOST_DENTRY  1024 /* dentries whose file is known */
#define NAME_TRIES   5
#define NEAR	     64U /* in the list, between mappings of one file */
#define MOST_OFFERED 65536U

/* Within one reading: a dentry's file, for all processes that map it. */
struct dentry {
	us_gva at;
	uint32_t file; /* its number; 0: not known */
	bool whole;    /* its header could be read */
	struct us_program_elf elf;
};

struct scan {
	struct us_programs *p;
	const struct us_linux *l;
	struct us_paging *paging;
	bool pair;
	const struct us_programs_time *at;
	uint64_t until_ns;     /* limit of this thread's CPU time */
	struct dentry *dentry; /* hash table */
};

/* --- files --- */

static struct dentry *dentry_slot(struct scan *s, us_gva at)
{
	size_t k = (size_t)(at * 0x9e3779b97f4a7c15 >> 32) % MOST_DENTRY;
	return &s->dentry[k]; /* a dentry that it replaces is read again */
}

static struct us_space space_of(const struct scan *s, us_gpa root)
{
	struct us_space own = s->l->space;
	own.root = root;
	return own;
}

/* Where the first byte of a mapping's file is mapped, shortly before the mapping; 0:
 * nowhere. */
static us_gva header_of(const struct us_linux_mappings *all, size_t of)
{
	const struct us_linux_mapping *m = &all->v[of];
	for (size_t k = of + 1; !m->vdso && m->dentry && k > 0 && of - k + 1 < NEAR;
	     k--)
		if (all->v[k - 1].dentry == m->dentry && !all->v[k - 1].offset)
			return all->v[k - 1].start;
	return m->vdso ? m->start : 0;
}

/* Small files have too few pages of their own to show where the others are.  What was
 * learned from another kernel's pages does not fit this one's. */
static void learn_pages(struct us_programs *p, const struct us_space *own,
			const struct us_known_mapping *m, struct us_page_cache *c)
{
	us_page_cache_expect(c, p->cache_base);
	us_program_pages_learn_mapping(c->p, own, c, m->m.start, m->m.end, m->m.offset);
	if (!c->torn || !p->cache_base)
		return;
	p->cache_base = 0;
	us_page_cache_expect(c, 0);
	us_program_pages_learn_mapping(c->p, own, c, m->m.start, m->m.end, m->m.offset);
}

void us_programs_cache_known(struct us_programs *p, const struct us_page_cache *c)
{
	us_gva base = c ? us_page_cache_base(c) : 0;
	if (base)
		p->cache_base = base;
}

bool us_programs_elf(struct us_programs *p, const struct us_linux *l,
		     struct us_paging *paging, const struct us_space *own,
		     const struct us_known_mapping *m, struct us_page_cache *cache,
		     struct us_page_cache **ret_cache, struct us_program_elf *ret)
{
	bool is_elf = us_program_elf_read(paging, own, m->header, NULL, ret);
	bool cached = l->has_cache && m->at &&
		      us_page_cache_open(cache, &l->cache, paging, &l->space, m->at);
	*ret_cache = cached ? cache : NULL;
	if (!cached || (is_elf && ret->whole))
		return is_elf;
	learn_pages(p, own, m, cache);
	us_programs_cache_known(p, cache);
	return us_program_elf_read(paging, own, m->header, cache, ret);
}

/* false: it is not an ELF file, or its first page is not in memory. */
static bool read_elf(struct scan *s, const struct us_known_space *of,
		     const struct us_linux_mapping *m, us_gva header,
		     struct us_program_elf *ret)
{
	const struct us_known_mapping k = {
		.m = { .start = m->start, .end = m->end, .offset = m->offset },
		.header = header,
		.at = m->vdso ? 0 : m->file
	};
	struct us_space own = space_of(s, of->root);
	struct us_page_cache cache, *cached;
	return header &&
	       us_programs_elf(s->p, s->l, s->paging, &own, &k, &cache, &cached, ret);
}

static void read_dentry(struct scan *s, struct dentry *d,
			const struct us_known_space *of,
			const struct us_linux_mapping *m, us_gva header)
{
	char path[US_LINUX_MAPPED_NAME] = "[vdso]";
	enum us_program_kind kind = m->vdso ? US_PROGRAM_VDSO : US_PROGRAM_FILE;
	memset(d, 0, sizeof(*d));
	d->at = m->dentry;
	if (!m->vdso && !us_linux_mapping_path(&s->l->mappings, s->paging, &s->l->space,
					       m->file, path))
		snprintf(path, sizeof(path), "[no name]");
	bool is_elf = read_elf(s, of, m, header, &d->elf);
	d->whole = is_elf && d->elf.whole;
	bool deleted = !m->vdso && us_linux_mapping_deleted(&s->l->mappings, s->paging,
							    &s->l->space, m->dentry);
	d->file = us_programs_number(s->p, path, kind, is_elf ? &d->elf : NULL,
				     deleted);
}

static uint32_t file_of(struct scan *s, struct us_known_space *of,
			const struct us_linux_mapping *m, us_gva header,
			struct dentry *own, const struct dentry **ret)
{
	*ret = NULL;
	if (m->uprobes)
		return us_programs_number(s->p, "[uprobes]", US_PROGRAM_VDSO, NULL,
					  false);
	if (!m->file && !m->vdso)
		return us_programs_number(s->p, "[jit]", US_PROGRAM_NONE, NULL, false);
	struct dentry *d = m->vdso ? own : dentry_slot(s, m->dentry);
	if (d->at != m->dentry || !d->whole || m->vdso)
		read_dentry(s, d, of, m, header);
	of->again |= !d->whole;
	*ret = d;
	return d->file;
}

/* --- mappings --- */

static struct us_known_mapping *same_mapping(struct us_programs *p,
					     const struct us_known_space *of,
					     const struct us_mapping *m)
{
	for (uint32_t k = of->first; k; k = p->mappings.v[k - 1].next) {
		struct us_known_mapping *old = &p->mappings.v[k - 1];
		if (!old->gone && old->m.start == m->start && old->m.end == m->end &&
		    old->m.offset == m->offset)
			return old;
	}
	return NULL;
}

/* Something else was there at the last reading. */
static bool was_other(const struct us_programs *p, const struct us_known_space *of,
		      const struct us_mapping *m)
{
	for (uint32_t k = of->first; k; k = p->mappings.v[k - 1].next) {
		const struct us_mapping *old = &p->mappings.v[k - 1].m;
		if (!p->mappings.v[k - 1].gone && old->start < m->end &&
		    m->start < old->end)
			return true;
	}
	return false;
}

/* The same mapping of the same file, about which less was known before. */
static bool is_same_file(const struct us_programs *p,
			 const struct us_known_mapping *old, const struct us_mapping *m)
{
	const struct us_known_file *was = &p->files.v[old->m.file - 1];
	return old->m.file == m->file ||
	       (!was->sure && !strcmp(was->path, p->files.v[m->file - 1].path));
}

static uint64_t now(const struct scan *s)
{
	return s->at->start_ns ? us_now_ns() - s->at->start_ns : 0;
}

/* Since when a newly found mapping has been there. */
static uint64_t from_of(const struct scan *s, const struct us_known_space *of,
			const struct us_mapping *m)
{
	if (!of->read_ns)
		return of->same_ns;
	return was_other(s->p, of, m) ? now(s) : of->read_ns - 1;
}

static void put_mapping(struct scan *s, struct us_known_space *of,
			const struct us_mapping *m, us_gva header,
			const struct us_linux_mapping *own)
{
	struct us_programs *p = s->p;
	struct us_known_mapping *to = same_mapping(p, of, m);
	uint64_t from = from_of(s, of, m);
	if (to && to->at == own->file && p->files.v[to->m.file - 1].sure &&
	    !p->files.v[m->file - 1].sure) {
		to->kept = true; /* its headers are no longer in memory */
		return;
	}
	if (to && is_same_file(p, to, m)) {
		to->kept = true;
		to->dirty |= to->m.file != m->file || to->m.has_bias != m->has_bias;
		p->files.v[m->file - 1].wanted |= to->wanted;
		from = to->m.from_ns;
		to->m = *m;
		to->m.from_ns = from;
		to->header = header;
		to->at = own->file;
		to->dentry = own->dentry;
		return;
	}
	to = p->mappings.n < US_PROGRAMS_MOST_MAPPINGS ? us_vec_push(&p->mappings)
						       : NULL;
	if (p->mappings.n >= US_PROGRAMS_MOST_MAPPINGS && !to)
		us_limit_reached(&p->limits, US_LIMIT_MAPPINGS,
				 US_PROGRAMS_MOST_MAPPINGS);
	if (!to)
		return;
	to->m = *m;
	to->m.from_ns = from;
	to->header = header;
	to->at = own->file;
	to->dentry = own->dentry;
	to->kept = true;
	to->next = of->first;
	of->first = (uint32_t)p->mappings.n;
}

static void end_mapping(struct us_known_mapping *m, uint64_t seen_ns)
{
	m->gone = m->dirty = true;
	m->m.until_ns = seen_ns > m->m.from_ns ? seen_ns : m->m.from_ns;
	if (m->m.until_ns < US_NS_PER_US) /* 0 is the end of the recording */
		m->m.until_ns = US_NS_PER_US;
}

static void end_all(struct us_programs *p, struct us_known_space *of)
{
	for (uint32_t k = of->first; k; k = p->mappings.v[k - 1].next)
		if (!p->mappings.v[k - 1].gone)
			end_mapping(&p->mappings.v[k - 1], of->seen_ns);
}

static void take_one(struct scan *s, struct us_known_space *of,
		     const struct us_linux_mappings *all, size_t index)
{
	const struct us_linux_mapping *m = &all->v[index];
	const struct dentry *d;
	struct dentry own = { 0 };
	us_gva header = header_of(all, index);
	struct us_mapping to = { .file = file_of(s, of, m, header, &own, &d),
				 .pid = of->pid,
				 .root = of->root,
				 .pair = of->pair,
				 .start = m->start,
				 .end = m->end,
				 .offset = m->vdso ? 0 : m->offset };
	to.has_bias = d && us_program_elf_slide(&d->elf, m->start, to.offset, &to.bias);
	if (m->uprobes) { /* there is no header to wait for */
		to.has_bias = true;
		to.bias = m->start;
	}
	if (to.file)
		put_mapping(s, of, &to, header, m);
}

/* Mappings that are gone are no longer in the list. */
static void end_others(struct us_programs *p, struct us_known_space *of)
{
	uint32_t *link = &of->first;
	while (*link) {
		struct us_known_mapping *m = &p->mappings.v[*link - 1];
		if (m->kept) {
			link = &m->next;
			continue;
		}
		end_mapping(m, of->read_ns ? of->read_ns - 1 : 0);
		*link = m->next;
	}
}

static void take_all(struct scan *s, struct us_known_space *of,
		     const struct us_linux_mappings *all)
{
	struct us_programs *p = s->p;
	unsigned n = 0;
	of->again = false;
	for (uint32_t k = of->first; k; k = p->mappings.v[k - 1].next)
		p->mappings.v[k - 1].kept = false;
	for (size_t k = 0; k < all->n; k++) {
		if (!all->v[k].code)
			continue;
		if (n++ < US_PROGRAMS_MOST_OF_ONE)
			take_one(s, of, all, k);
	}
	if (n > US_PROGRAMS_MOST_OF_ONE)
		us_limit_reached(&p->limits, US_LIMIT_MAPPINGS_OF_ONE,
				 US_PROGRAMS_MOST_OF_ONE);
	if (all->full)
		us_limit_reached(&p->limits, US_LIMIT_MAPPINGS_OF_ONE,
				 US_LINUX_MOST_MAPPINGS);
	end_others(p, of);
	of->read_ns = s->at->begin_ns + 1;
}

static bool is_read(const struct us_known_space *of)
{
	return of->read_ns && !of->stale;
}

/* Is it still the same process?  Then its page tables and its mm are the same, too. */
static bool is_there(const struct scan *s, const struct us_known_space *of)
{
	const struct us_linux_tasks_layout *l = &s->l->tasks;
	uint64_t mm;
	uint32_t tgid;
	return us_paging_read(s->paging, &s->l->space, of->task + l->mm, &mm,
			      sizeof(mm)) &&
	       us_paging_read(s->paging, &s->l->space, of->task + l->tgid, &tgid,
			      sizeof(tgid)) &&
	       mm == of->mm && tgid == of->pid;
}

/* Read the mark of the mappings, which shows how many there are and where.  A change
 * makes the space stale, since since_ns. */
static bool look_at_mark(const struct scan *s, struct us_known_space *of,
			 uint64_t since_ns)
{
	uint64_t mark[2];
	if (!us_linux_mappings_mark(&s->l->mappings, s->paging, &s->l->space, of->mm,
				    mark))
		return false;
	if (of->mark[0] == mark[0] && of->mark[1] == mark[1])
		return true;
	memcpy(of->mark, mark, sizeof(mark));
	of->same_ns = since_ns;
	of->stale = true;
	return true;
}

/* Takes the lock only for what the writer's thread reads: only this thread changes
 * spaces. */
static void read_space(struct scan *s, struct us_known_space *of)
{
	struct us_linux_mappings m;
	us_paging_new_sample(s->paging);
	if (!is_there(s, of) || !look_at_mark(s, of, now(s)) ||
	    us_linux_mappings_read(&s->l->mappings, s->paging, &s->l->space, of->mm,
				   &m) < 0)
		return;
	if (!m.torn && is_there(s, of)) {
		pthread_mutex_lock(&s->p->lock);
		of->tries = is_read(of) ? of->tries + 1 : 0;
		of->stale = false;
		us_gva known = s->p->cache_base;
		take_all(s, of, &m);
		if (of->again && s->p->cache_base != known)
			take_all(s, of, &m); /* small files, with what was learned */
		pthread_mutex_unlock(&s->p->lock);
	}
	us_linux_mappings_fini(&m);
}

/* --- spaces --- */

/* Threads of a process share a space, and so does a child of vfork() with its
 * parent. */
static void see_task(struct scan *s, const struct us_linux_task *t)
{
	struct us_programs *p = s->p;
	uint32_t *last = t->mm >> 63 ? us_pair_map_at(&p->of_root, t->root, 0) : NULL;
	struct us_known_space *of = last && *last ? &p->spaces.v[*last - 1] : NULL;
	if (!last || (of && !of->gone && of->seen == p->readings))
		return;
	if (of && !of->gone && of->mm == t->mm && of->pid == (uint32_t)t->tgid) {
		of->seen_ns = s->at->begin_ns;
		of->seen = p->readings;
		return;
	}
	if (of && !of->gone) {
		of->gone = true;
		end_all(p, of);
	}
	of = p->spaces.n < US_PROGRAMS_MOST_SPACES ? us_vec_push(&p->spaces) : NULL;
	if (!of && p->spaces.n >= US_PROGRAMS_MOST_SPACES)
		us_limit_reached(&p->limits, US_LIMIT_SPACES, US_PROGRAMS_MOST_SPACES);
	if (!of)
		return;
	*last = (uint32_t)p->spaces.n;
	*of = (struct us_known_space){ .root = t->root,
				       .mm = t->mm,
				       .task = t->at,
				       .pid = (uint32_t)t->tgid,
				       .pair = s->pair,
				       .stale = true,
				       .from_ns = s->at->end_ns,
				       .seen_ns = s->at->begin_ns,
				       .seen = p->readings };
}

static void see_tasks(struct scan *s, const struct us_linux_tasks *t)
{
	struct us_programs *p = s->p;
	pthread_mutex_lock(&p->lock);
	for (size_t k = 0; k < t->n; k++)
		if (t->v[k].root && t->v[k].pid == t->v[k].tgid)
			see_task(s, &t->v[k]);
	for (size_t k = 0; !t->torn && !t->full && k < p->spaces.n; k++) {
		struct us_known_space *of = &p->spaces.v[k];
		if (!of->gone && of->seen != p->readings) {
			of->gone = true;
			end_all(p, of);
		}
	}
	us_programs_see_unknown(p, false);
	pthread_mutex_unlock(&p->lock);
}

static bool is_late(const struct scan *s)
{
	return us_thread_cpu_ns() >= s->until_ns;
}

/* First the new spaces, from when they began; then the others, in turn. */
static void look_at_marks(struct scan *s, size_t n_old)
{
	struct us_programs *p = s->p;
	for (size_t k = n_old; k < p->spaces.n && !is_late(s); k++)
		look_at_mark(s, &p->spaces.v[k], p->spaces.v[k].from_ns);
	for (size_t k = 0; k < n_old && !is_late(s); k++) {
		struct us_known_space *of = &p->spaces.v[p->turn++ % n_old];
		if (!of->gone && look_at_mark(s, of, now(s)) && is_read(of))
			of->read_ns = s->at->begin_ns + 1;
	}
}

/* Spaces where tasks only wait leave half of the limits to those with samples. */
static bool has_room(struct us_programs *p, const struct us_known_space *of)
{
	if (of->sampled)
		return true;
	bool mappings = p->mappings.n < US_PROGRAMS_MOST_MAPPINGS / 2;
	bool files = p->files.n < US_PROGRAMS_MOST_FILES / 2;
	if (!mappings)
		us_limit_reached(&p->limits, US_LIMIT_MAPPINGS,
				 US_PROGRAMS_MOST_MAPPINGS / 2);
	if (!files)
		us_limit_reached(&p->limits, US_LIMIT_FILES,
				 US_PROGRAMS_MOST_FILES / 2);
	return mappings && files;
}

/* The next space to read, from number at on; the number of all spaces: none. */
static size_t next_to_read(struct us_programs *p, size_t at)
{
	pthread_mutex_lock(&p->lock);
	for (; at < p->spaces.n; at++) {
		const struct us_known_space *of = &p->spaces.v[at];
		if (!of->gone && (of->sampled || of->waited) &&
		    (!is_read(of) || (of->again && of->tries < MOST_TRIES)) &&
		    has_room(p, of))
			break;
	}
	pthread_mutex_unlock(&p->lock);
	return at;
}

/* Spaces that could not be read are tried again after the next reading of the list. */
static void read_spaces(struct scan *s)
{
	struct us_programs *p = s->p;
	size_t k = 0;
	while ((k = next_to_read(p, k)) < p->spaces.n) {
		if (!s->dentry)
			s->dentry = calloc(MOST_DENTRY, sizeof(*s->dentry));
		if (!s->dentry)
			return;
		if (is_late(s)) {
			atomic_store(&p->hungry, true);
			return;
		}
		read_space(s, &p->spaces.v[k++]);
	}
}

/* --- names --- */

struct names {
	struct us_known_file f; /* only offered and names are used */
	size_t room;
	bool full;
};

static int take_name(void *ctx, const struct us_program_symbol *sym)
{
	struct names *n = ctx;
	size_t len = strlen(sym->name) + 1;
	n->full |= n->f.names.n + len > n->room;
	if (n->f.offered.n == MOST_OFFERED || n->full)
		return 1;
	struct us_offered_name *o = us_vec_push(&n->f.offered);
	if (!o)
		return 1;
	*o = (struct us_offered_name){ sym->address, sym->size, (uint32_t)n->f.names.n,
				       false };
	for (size_t k = 0; k < len; k++) {
		char *slot = us_vec_push(&n->f.names);
		if (!slot) {
			n->f.offered.n--;
			return 1;
		}
		*slot = sym->name[k];
	}
	return 0;
}

static int by_address(const void *a, const void *b)
{
	const struct us_offered_name *x = a, *y = b;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

/* Keep one name for each address, and end functions without a size at the next one. */
static void settle(struct us_known_file *f)
{
	size_t n = 0;
	if (f->offered.n)
		qsort(f->offered.v, f->offered.n, sizeof(*f->offered.v), by_address);
	for (size_t k = 0; k < f->offered.n; k++)
		if (!n || f->offered.v[n - 1].address != f->offered.v[k].address)
			f->offered.v[n++] = f->offered.v[k];
	f->offered.n = n;
	for (size_t k = 0; k + 1 < n; k++)
		if (!f->offered.v[k].size)
			f->offered.v[k].size = f->offered.v[k + 1].address -
					       f->offered.v[k].address;
}

static void replace_names(struct us_programs *p, uint32_t number, struct names *n,
			  size_t missing)
{
	struct us_known_file *f = &p->files.v[number];
	pthread_mutex_lock(&p->lock);
	p->name_bytes += n->f.names.n - f->names.n;
	free(f->offered.v);
	free(f->names.v);
	memcpy(&f->offered, &n->f.offered, sizeof(f->offered));
	memcpy(&f->names, &n->f.names, sizeof(f->names));
	f->missing = missing;
	f->named = 0;
	pthread_mutex_unlock(&p->lock);
}

/* The names that the file exports, and those of Go. */
static void collect_names(struct scan *s, const struct us_known_mapping *at,
			  struct names *n, size_t *ret_missing)
{
	struct us_space own = space_of(s, at->m.root);
	struct us_program_elf elf;
	struct us_page_cache cache;
	struct us_program_pages pages = { s->paging, &own, &elf, NULL };
	size_t missing = 0;
	*ret_missing = 0;
	if (!us_programs_elf(s->p, s->l, s->paging, &own, at, &cache, &pages.cache,
			     &elf))
		return;
	if (us_program_elf_symbols(&pages, take_name, n, ret_missing) < 0)
		n->f.offered.n = 0;
	if (us_program_go_symbols(&pages, take_name, n, &missing) >= 0)
		*ret_missing += missing;
}

static void read_names(struct scan *s, uint32_t number,
		       const struct us_known_mapping *at)
{
	struct us_programs *p = s->p;
	struct us_known_file *f = &p->files.v[number];
	struct names n = { .room = US_PROGRAMS_MOST_NAMES - p->name_bytes };
	size_t missing;
	f->tries++;
	collect_names(s, at, &n, &missing);
	if (n.full)
		us_limit_reached(&p->limits, US_LIMIT_NAMES, US_PROGRAMS_MOST_NAMES);
	settle(&n.f);
	if (n.f.offered.n && (!f->offered.n || missing < f->missing)) {
		replace_names(p, number, &n, missing);
		if (!missing)
			f->tries = NAME_TRIES;
		return;
	}
	free(n.f.offered.v);
	free(n.f.names.v);
}

/* For files with samples, through any program that maps them. */
static void read_all_names(struct scan *s)
{
	struct us_programs *p = s->p;
	for (size_t k = 0; k < p->mappings.n && us_thread_cpu_ns() < s->until_ns; k++) {
		const struct us_known_mapping *m = &p->mappings.v[k];
		const struct us_known_file *f = &p->files.v[m->m.file - 1];
		if (!m->gone && m->header && f->wanted && f->tries < NAME_TRIES)
			read_names(s, m->m.file - 1, m);
	}
}

static struct scan begin_scan(struct us_programs *p, const struct us_linux *l,
			      struct us_paging *paging)
{
	return (struct scan){ .p = p,
			      .l = l,
			      .paging = paging,
			      .pair = p->pair,
			      .at = &p->last,
			      .until_ns = us_thread_cpu_ns() + US_PROGRAMS_TURN_NS };
}

void us_programs_read(struct us_programs *p, const struct us_linux *l,
		      struct us_paging *paging, const struct us_linux_tasks *t,
		      bool pair, const struct us_programs_time *at)
{
	size_t n_old = p->spaces.n;
	if (!l->has_mappings || !l->has_tasks)
		return;
	p->pair = pair;
	p->last = *at;
	p->readings++;
	struct scan s = begin_scan(p, l, paging);
	see_tasks(&s, t);
	look_at_marks(&s, n_old);
	us_programs_see_deleted(p, l, paging, s.until_ns);
	read_spaces(&s);
	pthread_mutex_lock(&p->lock);
	us_programs_see_unknown(p, true);
	pthread_mutex_unlock(&p->lock);
	read_all_names(&s);
	free(s.dentry);
}

void us_programs_read_sampled(struct us_programs *p, const struct us_linux *l,
			      struct us_paging *paging)
{
	struct scan s = begin_scan(p, l, paging);
	read_spaces(&s);
	pthread_mutex_lock(&p->lock);
	us_programs_see_unknown(p, false);
	pthread_mutex_unlock(&p->lock);
	free(s.dentry);
}
