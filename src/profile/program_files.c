/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile/program_files.c: the files that name what a guest's programs did.
 *
 * A file is used if it has the build-id that was seen in the guest's memory.  It is
 * searched for where the user says (--symbols, --root), where the system has debugging
 * information, and on a server if the user asks for that.  If none has it, the recorded
 * dynamic symbols give the names.
 */
#include "profile/profile_priv.h"

#include "base/cleanup.h"
#include "base/vec.h"
#include "store/limits.h"
#include "symbol/elf_file.h"
#include "symbol/made_elf.h"
#include "symbol/root_file.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_MAP_LINES (1U << 20) /* of a perf-PID.map */
#define MOST_TOLD      4	  /* files that a warning names */
#define MOST_DIRS      32
#define ROOT_DEPTH     24 /* levels of folders: containers are deep in it */
#define ROOT_NS	       (4 * UINT64_C(1000000000)) /* to read the build-ids in it */
#define MOST_ASKED     1000			  /* files to request from a server */

struct finder {
	struct us_profile *p;
	struct us_naming_programs *all;
	struct us_naming_program *to;
	const struct us_profile_program *from;
	/* The user's directories, and those of the guest's own files. */
	struct us_debug_dirs dirs;
	const char *dir[MOST_DIRS];
	char of_root[US_DEBUG_PATH];
};

static bool same_id(const struct finder *f, const struct us_elf_image *i)
{
	size_t len;
	const uint8_t *id = us_elf_image_build_id(i, &len);
	return len && len == f->to->build_id_len && !memcmp(id, f->to->build_id, len);
}

/* Take the image if it has more than the current one; otherwise close it. */
static bool take(struct finder *f, struct us_elf_image *i)
{
	size_t n, had = 0;
	us_elf_image_symbols(i, &n);
	if (f->to->image)
		us_elf_image_symbols(f->to->image, &had);
	if (n <= had) {
		us_elf_image_close(i);
		return false;
	}
	us_elf_image_close(f->to->image);
	f->to->image = i;
	f->to->dynamic = !us_elf_image_has_all(i);
	return !f->to->dynamic;
}

/* True: no better file is possible, so the search ends. */
static bool try_path(struct finder *f, const char *path)
{
	struct us_elf_image *i;
	struct us_err e;
	if (us_elf_image_open(path, &i, &e) < 0)
		return false;
	if (!same_id(f, i)) {
		us_elf_image_close(i);
		return false;
	}
	(void)!us_elf_image_find_debug(i, &f->dirs, &e);
	return take(f, i);
}

/* --- where the user and the system have it --- */

static bool find_by_id(struct finder *f)
{
	char path[US_DEBUG_PATH];
	const char *file;
	if (!f->to->build_id_len)
		return false;
	if (us_debug_file_by_id(f->to->build_id, f->to->build_id_len, &f->dirs, path) &&
	    try_path(f, path))
		return true;
	if (us_id_files_read(&f->all->ids, &f->p->opts.dirs, NULL) < 0)
		return false;
	for (unsigned k = 0; (file = us_id_files_find(&f->all->ids, f->to->build_id,
						      f->to->build_id_len, k));
	     k++)
		if (try_path(f, file))
			return true;
	return false;
}

static int open_in_root(const struct finder *f, const char *path)
{
	const char *root = f->p->opts.dirs.root;
	int fd = root ? us_root_file_open(root, path) : -ENOENT;
	if (fd == -ENOSYS)
		snprintf(f->all->why, sizeof(f->all->why),
			 "--root needs Linux 5.6 or later here (openat2)");
	return fd;
}

static struct us_elf_image *open_image_in_root(const struct finder *f, const char *path)
{
	char name[64];
	struct us_elf_image *i;
	struct us_err e;
	_cleanup_close_ int fd = open_in_root(f, path);
	if (fd < 0)
		return NULL;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	return us_elf_image_open(name, &i, &e) < 0 ? NULL : i;
}

static bool find_in_root(struct finder *f)
{
	struct us_err e;
	size_t len;
	struct us_elf_image *i = f->from->f.kind == US_PROGRAM_FILE
					 ? open_image_in_root(f, f->to->path)
					 : NULL;
	if (!i)
		return false;
	/* Where its path leads there may be what took its place. */
	f->to->gone = f->from->f.deleted && !f->to->build_id_len;
	if (f->to->gone) {
		us_elf_image_close(i);
		return false;
	}
	us_elf_image_build_id(i, &len);
	bool known = len && f->to->build_id_len;
	if ((known && !same_id(f, i)) || (!known && f->to->build_id_len)) {
		f->to->other = true;
		us_elf_image_close(i);
		return false;
	}
	f->to->unverified = !known;
	(void)!us_elf_image_find_debug(i, &f->dirs, &e);
	return take(f, i);
}

/* In a container the kernel has a file at another path than it has on the disk: in a
 * layer of an overlay, in another folder.  All files are read once, so only if there is
 * no other way. */
static bool find_below_root(struct finder *f)
{
	struct us_id_files *below = &f->all->below;
	const char *root = f->p->opts.dirs.root, *path;
	const struct us_debug_dirs dirs = { .dir = &root, .n = 1 };
	struct us_err e;
	if (!root || f->to->image || !f->to->build_id_len ||
	    f->from->f.kind != US_PROGRAM_FILE)
		return false;
	below->depth = ROOT_DEPTH;
	below->hidden = true;
	below->limit_ns = ROOT_NS;
	if (us_id_files_read(below, &dirs, NULL) < 0)
		return false;
	for (unsigned k = 0;
	     (path = us_id_files_find(below, f->to->build_id, f->to->build_id_len, k));
	     k++) {
		struct us_elf_image *i = open_image_in_root(f, path + strlen(root));
		if (i && !same_id(f, i))
			us_elf_image_close(us_take(i));
		if (i)
			(void)!us_elf_image_find_debug(i, &f->dirs, &e);
		if (i && take(f, i))
			return true;
	}
	return false;
}

static bool ask_server(struct finder *f)
{
	char path[US_DEBUG_PATH];
	struct us_err e = { 0 };
	if (!us_debuginfod_named() || !f->to->build_id_len ||
	    f->all->asked >= MOST_ASKED ||
	    (!f->all->server && us_debuginfod_new(&f->all->server)))
		return false;
	f->all->asked++;
	int r = us_debuginfod_find(f->all->server, f->to->build_id, f->to->build_id_len,
				   path, sizeof(path), &e);
	if (r < 0 && r != -ENOENT && !f->all->why[0])
		snprintf(f->all->why, sizeof(f->all->why), "%.180s%s%.60s", e.msg,
			 e.hint[0] ? ": " : "", e.hint);
	return r == 0 && try_path(f, path);
}

/* --- what the recording has --- */

static void make_of(struct finder *f, const struct us_made_symbol *v, size_t n)
{
	uint64_t start = UINT64_MAX, end = 0;
	struct us_elf_image *i;
	struct us_err e;
	for (size_t k = 0; k < n; k++) {
		start = v[k].address < start ? v[k].address : start;
		end = v[k].address + v[k].size > end ? v[k].address + v[k].size : end;
	}
	if (n && us_made_elf_open(f->to->path, v, n, start, end, &i, &e) == 0) {
		take(f, i);
		f->to->dynamic = f->from->f.kind == US_PROGRAM_FILE;
	}
}

struct recorded {
	struct us_made_symbol *v;
	size_t n, cap;
};

static int add_names_of(struct us_profile *p, const struct us_profile_program *of,
			struct recorded *all)
{
	size_t n_name;
	const struct us_profile_program_name *v = us_profile_program_names(p, of,
									   &n_name);
	for (size_t k = 0; k < n_name; k++) {
		const struct us_profile_program_name *n = &v[k];
		if (!n->n.size || n->n.address > UINT64_MAX - n->n.size)
			continue;
		struct us_made_symbol *slot = us_vec_push(all);
		if (!slot)
			return -ENOMEM;
		*slot = (struct us_made_symbol){ .address = n->n.address,
						 .size = n->n.size,
						 .name = n->n.name };
	}
	return 0;
}

static bool same_file(const struct us_program_file *a, const struct us_program_file *b)
{
	return a->build_id_len && a->build_id_len == b->build_id_len &&
	       !memcmp(a->build_id, b->build_id, a->build_id_len) &&
	       !strcmp(a->path, b->path);
}

/* Each recording has the names of what ran while it was made. */
static int take_recorded(struct finder *f)
{
	struct recorded all = { 0 };
	int r = f->to->image ? 0 : add_names_of(f->p, f->from, &all);
	for (size_t k = 0; k < f->p->programs.n && !f->to->image && r == 0; k++) {
		const struct us_profile_program *of = &f->p->programs.v[k];
		if (of != f->from && same_file(&of->f, &f->from->f))
			r = add_names_of(f->p, of, &all);
	}
	if (r == 0 && all.n)
		make_of(f, all.v, us_made_symbols_sort(all.v, all.n));
	free(all.v);
	return r;
}

/* "START SIZE NAME", both in hexadecimal (tools/perf/Documentation/jit-interface.txt).
 */
static bool read_line(char *line, struct us_made_symbol *ret)
{
	char *end;
	ret->address = strtoull(line, &end, 16);
	ret->size = *end == ' ' ? strtoull(end + 1, &end, 16) : 0;
	if (*end != ' ' || !ret->size || ret->address > UINT64_MAX - ret->size)
		return false;
	end[1 + strcspn(end + 1, "\n")] = '\0';
	ret->name = strdup(end + 1);
	return ret->name && *ret->name;
}

/* The pid that a process itself sees.  In a pid namespace, as in a container, it
 * differs. */
static uint32_t own_number(struct us_profile *p, size_t recording, uint32_t pid)
{
	const uint32_t *inner = us_pair_map_at(&p->tasks.inner, recording, pid);
	return inner && *inner ? *inner : pid;
}

/* Does another process that has code without a file have the same number?  Then the
 * perf map of that number may be from either. */
static bool shares_number(struct us_profile *p, uint32_t pid, uint32_t number)
{
	uint32_t last = pid;
	for (size_t k = 0; k < p->mappings.n; k++) {
		const struct us_profile_mapping *m = &p->mappings.v[k];
		if (m->m.pid == pid || m->m.pid == last)
			continue;
		const struct us_profile_program *of = us_profile_program_of(p, m);
		if (!of || of->f.kind != US_PROGRAM_NONE)
			continue;
		last = m->m.pid;
		if (own_number(p, m->recording, last) == number)
			return true;
	}
	return false;
}

static int take_perf_map(struct finder *f)
{
	uint32_t number = own_number(f->p, f->from->recording, f->to->pid);
	bool shared = shares_number(f->p, f->to->pid, number);
	char path[64];
	snprintf(path, sizeof(path), "/tmp/perf-%u.map", number);
	int fd = shared ? -1 : open_in_root(f, path);
	if (shared && f->p->opts.dirs.root)
		snprintf(f->all->why, sizeof(f->all->why),
			 "several processes have pid %u in their pid namespaces: which "
			 "of them wrote %s is not known, so it is not used",
			 number, path);
	FILE *in = fd < 0 ? NULL : fdopen(fd, "r");
	struct {
		struct us_made_symbol *v;
		size_t n, cap;
	} all = { 0 };
	char *line = NULL;
	size_t size = 0;
	while (in && all.n < MOST_MAP_LINES && getline(&line, &size, in) >= 0) {
		struct us_made_symbol one = { 0 }, *slot = NULL;
		if (read_line(line, &one))
			slot = us_vec_push(&all);
		if (slot)
			*slot = one;
		else
			free((char *)one.name);
	}
	make_of(f, all.v, all.n);
	for (size_t k = 0; k < all.n; k++)
		free((char *)all.v[k].name);
	free(all.v);
	free(line);
	if (in)
		fclose(in);
	else if (fd >= 0)
		close(fd);
	return 0;
}

/* --- one file --- */

static void set_dirs(struct finder *f)
{
	const struct us_debug_dirs *own = &f->p->opts.dirs;
	f->dirs = (struct us_debug_dirs){ .dir = f->dir, .not_beside = true };
	for (size_t k = 0; k < own->n && k < MOST_DIRS - 1; k++)
		f->dir[f->dirs.n++] = own->dir[k];
	if (own->root && snprintf(f->of_root, sizeof(f->of_root), "%s/usr/lib/debug",
				  own->root) < (int)sizeof(f->of_root))
		f->dir[f->dirs.n++] = f->of_root;
}

static size_t most_symbols(const struct us_profile *p)
{
	return p->opts.most_symbols ? p->opts.most_symbols : US_PROFILE_MOST_SYMBOLS;
}

static int look_for_file(struct finder *f)
{
	bool full = f->all->symbols >= most_symbols(f->p);
	f->all->full |= full;
	f->all->has_root = f->p->opts.dirs.root;
	if (!full && f->from->f.kind == US_PROGRAM_NONE)
		return take_perf_map(f);
	return !full && (find_by_id(f) || find_in_root(f) || find_below_root(f) ||
			 ask_server(f))
		       ? 0
		       : take_recorded(f);
}

static int find_file(struct finder *f, struct us_err *e)
{
	struct us_symbols *symbols = f->p->symbols;
	size_t n = 0;
	set_dirs(f);
	int r = look_for_file(f);
	if (r == 0 && f->to->image && us_elf_image_call(f->to->image, f->to->path))
		r = -ENOMEM;
	if (r < 0) {
		us_elf_image_close(us_take(f->to->image));
		return us_fail(e, r, "report: out of memory");
	}
	if (!f->to->image)
		return 0;
	struct us_elf_image *i = f->to->image;
	us_elf_image_symbols(i, &n);
	f->all->symbols += n;
	r = us_symbols_add_image(symbols, i, e);
	if (r < 0)
		f->to->image = NULL;
	else
		us_symbols_call(symbols, i, us_elf_image_path(i));
	return r;
}

/* The slot of a file, which is searched for on first use; NULL: out of memory. */
static struct us_naming_program *open_file(struct us_profile *p,
					   const struct us_profile_program *from,
					   uint32_t pid, struct us_err *e)
{
	struct us_naming_programs *all = us_naming_programs(p->naming);
	const struct us_program_file *f = &from->f;
	pid = f->kind == US_PROGRAM_NONE ? pid : 0;
	/* Without a build-id, only the recorder can tell files of one path apart. */
	uint64_t own[] = { pid, from->recording, f->number };
	uint64_t by_path = us_hash_bytes(f->path, strlen(f->path));
	uint32_t *slot = us_pair_map_at(
		&all->known, by_path,
		f->build_id_len ? us_hash_bytes(f->build_id, f->build_id_len)
				: us_hash_bytes(own, sizeof(own)));
	if (slot && *slot)
		return &all->v[*slot - 1];
	char *path = slot ? strdup(f->path) : NULL;
	struct us_naming_program *to = path ? us_vec_push(all) : NULL;
	if (!to) {
		free(path);
		us_fail(e, -ENOMEM, "report: out of memory");
		return NULL;
	}
	*slot = (uint32_t)all->n;
	to->path = path;
	to->pid = pid;
	to->build_id_len = f->build_id_len;
	memcpy(to->build_id, f->build_id, f->build_id_len);
	struct finder finder = { .p = p, .all = all, .to = to, .from = from };
	return find_file(&finder, e) < 0 ? NULL : to;
}

/* --- places --- */

/* From the segments of the file, if the guest's header could not be read. */
static bool bias_of(const struct us_mapping *m, const struct us_elf_image *i,
		    bool no_file, uint64_t *ret)
{
	const struct us_elf_file *f = us_elf_image_file(i);
	*ret = no_file ? 0 : m->bias;
	if (m->has_bias || no_file)
		return true;
	for (size_t k = 0; k < f->n_segment; k++) {
		const struct us_elf_segment *s = &f->segment[k];
		/* Guests have pages of up to 64 KiB. */
		uint64_t page = s->offset & ~(m->offset % 65536 ? 4095ULL : 65535ULL);
		if (s->type != PT_LOAD || !(s->flags & PF_X) || m->offset < page ||
		    m->offset - page >= s->memsz + (s->offset - page))
			continue;
		*ret = m->start - (s->vaddr - s->offset + m->offset);
		return true;
	}
	return false;
}

/* The slot of a placed file, and whether it is new. */
static struct us_naming_placed *placed(struct us_naming_programs *all,
				       const struct us_symbol_place *at, size_t program,
				       bool *ret_new)
{
	const uint64_t key[] = { at->start, at->end, at->from_ns, program };
	uint32_t *slot = us_pair_map_at(&all->placed, at->root,
					us_hash_bytes(key, sizeof(key)));
	if (!slot)
		return NULL;
	*ret_new = !*slot;
	if (*slot)
		return &all->places.v[*slot - 1];
	struct us_naming_placed *to = us_vec_push(&all->places);
	if (!to)
		return NULL;
	*slot = (uint32_t)all->places.n;
	*to = (struct us_naming_placed){ .program = program, .at = *at };
	return to;
}

static int place(struct us_profile *p, const struct us_profile_mapping *m, us_gpa root,
		 struct us_err *e)
{
	struct us_naming_programs *all = us_naming_programs(p->naming);
	const struct us_profile_program *from = us_profile_program_of(p, m);
	struct us_naming_program *of = from ? open_file(p, from, m->m.pid, e) : NULL;
	struct us_symbol_place at = { .root = root,
				      .from_ns = m->m.from_ns,
				      .until_ns = m->m.until_ns,
				      .start = m->m.start,
				      .end = m->m.end };
	bool fresh;
	if (!of)
		return from ? -ENOMEM : 0;
	if (!of->image || !bias_of(&m->m, of->image, of->pid, &at.bias))
		return 0;
	struct us_naming_placed *to = placed(all, &at, (size_t)(of - all->v), &fresh);
	if (to && fresh)
		to->number = us_symbols_n_place(p->symbols);
	if (!to || (fresh && us_symbols_place(p->symbols, of->image, &at)))
		return us_fail(e, -ENOMEM, "report: out of memory");
	if (!fresh && to->at.until_ns != at.until_ns) {
		to->at = at;
		us_symbols_end_place(p->symbols, to->number, at.until_ns);
	}
	return 0;
}

/* --- warnings --- */

/* The paths of the files for which is_so() is true; false: there are none. */
static bool list(const struct us_naming_programs *all, char *dst, size_t size,
		 bool (*is_so)(const struct us_naming_program *))
{
	size_t n = 0, at = 0;
	dst[0] = '\0';
	for (size_t k = 0; k < all->n; k++) {
		if (!is_so(&all->v[k]))
			continue;
		if (n++ < MOST_TOLD && at < size)
			at += (size_t)snprintf(dst + at, size - at, "%s%.100s",
					       at ? ", " : "", all->v[k].path);
	}
	if (n > MOST_TOLD && at < size)
		snprintf(dst + at, size - at, " and %zu more", n - MOST_TOLD);
	return n;
}

static bool is_dynamic(const struct us_naming_program *f)
{
	return f->image && f->dynamic && !f->named;
}

static bool is_unverified(const struct us_naming_program *f)
{
	return f->image && f->unverified;
}

static bool is_other(const struct us_naming_program *f)
{
	return f->other && (!f->image || f->dynamic) && !f->named;
}

static bool is_gone(const struct us_naming_program *f)
{
	return f->gone;
}

static bool is_nameless(const struct us_naming_program *f)
{
	return !f->image && !f->other && !f->gone && !f->named && f->path[0] == '/';
}

static void warn_of_bound(struct us_profile *p, enum us_limit k, size_t bound)
{
	char text[640], value[32];
	snprintf(value, sizeof(value), "1 %zu", bound);
	if (us_limit_words(k, value, text, sizeof(text)))
		us_profile_warn(p, "%s", text);
}

static void warn_of_programs(struct us_profile *p)
{
	const struct us_naming_programs *all = us_naming_programs(p->naming);
	char text[640];
	if (all->full)
		warn_of_bound(p, US_LIMIT_SYMBOLS, most_symbols(p));
	if (all->ids.full)
		warn_of_bound(p, US_LIMIT_SYMBOL_FILES, US_ID_FILES_MOST);
	if (all->ids.deep)
		warn_of_bound(p, US_LIMIT_SYMBOL_DEPTH, US_ID_FILES_DEPTH);
	if (us_profile_fact(p, "programs_full")) /* recorded by an earlier version */
		us_profile_warn(p, "the guest has more files or mappings of code than "
				   "are recorded: some programs have no names");
	if (list(all, text, sizeof(text), is_unverified))
		us_profile_warn(p,
				"%s: no build-id shows that the file in --root is the "
				"one that ran: its names are right only if it is",
				text);
	if (list(all, text, sizeof(text), is_other))
		us_profile_warn(p,
				"%s: the file in --root is another build than the one "
				"that ran: its names are not used (a container's file: "
				"--symbols DIR finds it by build-id)",
				text);
	if (list(all, text, sizeof(text), is_gone))
		us_profile_warn(p,
				"%s: deleted or replaced in the guest while it ran, "
				"without a build-id: the file in --root may be another "
				"one, and its names are not used",
				text);
	if (list(all, text, sizeof(text), is_dynamic))
		us_profile_warn(
			p,
			"%s: named only from the guest's memory, with its dynamic "
			"symbols or Go's table: functions in neither have no name "
			"(--symbols DIR, --root DIR or --debuginfod URL may have more)",
			text);
	if (list(all, text, sizeof(text), is_nameless))
		us_profile_warn(p,
				all->has_root
					? "%s: no symbols were found, neither at this "
					  "path nor by build-id below --root (a "
					  "container's may be on another disk: "
					  "--symbols DIR, --debuginfod URL)"
					: "%s: no symbols were found (by build-id: "
					  "--symbols DIR, --debuginfod URL; by path: "
					  "--root DIR)",
				text);
	if (all->below.full || all->below.deep || all->below.late)
		us_profile_warn(p,
				"--root has too many files: not all were searched by "
				"build-id (--symbols DIR takes its time for a folder)");
	if (all->why[0])
		us_profile_warn(p, "%s", all->why);
}

/* Does a frame of this file have a name that is not from the file found here? */
static bool is_named(struct us_profile *p, const struct us_naming_program *f,
		     const struct us_symbol_when *when, us_gva pc)
{
	struct us_frame frame;
	if ((f->image && !f->dynamic) || f->named ||
	    !us_symbols_lookup_at(p->symbols, when, pc, false, &frame, 1))
		return f->named;
	return frame.func && (!f->image || frame.module != us_elf_image_path(f->image));
}

/* Where a node is, if it is a program's; *m NULL: in no file. */
static int find_mapping(struct us_profile *p, uint32_t node,
			const struct us_symbol_when **when,
			const struct us_profile_mapping **m, struct us_err *e)
{
	struct us_trie_node n = p->trie.nodes.v[node];
	*m = NULL;
	if (!(n.flags & US_PC_USER) || n.flags & US_PROFILE_NO_FRAME)
		return 0;
	uint32_t view = us_profile_view(p, node);
	if (view == US_PROFILE_NONE)
		return us_fail(e, -ENOMEM, "report: out of memory");
	*when = &p->views.v[view];
	*m = us_profile_mapping_at(p, *when, n.pc);
	return 0;
}

/* A file that -e names needs no other.  The images of the recording are open by now. */
static int note_named(struct us_profile *p, struct us_err *e)
{
	const struct us_profile_mapping *m;
	const struct us_symbol_when *when;
	for (uint32_t node = 1; p->mappings.n && node < p->trie.nodes.n; node++) {
		int r = find_mapping(p, node, &when, &m, e);
		if (r < 0)
			return r;
		const struct us_profile_program *from = m ? us_profile_program_of(p, m)
							  : NULL;
		struct us_naming_program *f = from ? open_file(p, from, m->m.pid, e)
						   : NULL;
		if (from && !f)
			return -ENOMEM;
		if (f)
			f->named = is_named(p, f, when, p->trie.nodes.v[node].pc);
	}
	return 0;
}

int us_profile_open_programs(struct us_profile *p, struct us_err *e)
{
	const struct us_profile_mapping *m, *last = NULL;
	const struct us_symbol_when *when;
	us_gva last_root = 0;
	int r = 0;
	for (uint32_t node = 1; p->mappings.n && r == 0 && node < p->trie.nodes.n;
	     node++) {
		r = find_mapping(p, node, &when, &m, e);
		if (r < 0 || !m || (m == last && when->root == last_root))
			continue;
		last = m;
		last_root = when->root;
		r = place(p, m, last_root, e);
	}
	if (r == 0)
		r = note_named(p, e);
	if (r == 0)
		warn_of_programs(p);
	return r;
}
