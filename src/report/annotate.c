/* SPDX-License-Identifier: GPL-2.0-or-later */
/* annotate.c: samples by instruction and source line. */
#include "report/annotate.h"

#include "base/cleanup.h"
#include "base/pair_map.h"
#include "base/search.h"
#include "base/vec.h"
#include "report/source.h"
#include "symbol/elf_file.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_INLINED 32
#define MAX_BETWEEN 40	 /* lines shown between two with code */
#define MAX_TEXT    1000 /* of a line */

/* State while an annotation is made. */
struct work {
	struct us_annotation *a;
	const struct us_function *f;
	struct us_sources sources;
	struct us_disassembler *dis;
	const uint8_t *code;
	size_t n_code;
	struct us_profile_pc *pc; /* the function's; each address once */
	size_t n_pc;
	struct us_pair_map places, rows; /* to lines */
	uint32_t n_place;
};

static const struct us_profile_module *module_of(const struct us_profile *p,
						 const struct us_function *f)
{
	size_t n;
	const struct us_profile_module *m = us_profile_modules(p, &n);
	const char *path = us_elf_image_path(f->image);
	for (size_t i = 0; i < n; i++)
		if (m[i].used && m[i].m.path && !strcmp(m[i].m.path, path))
			return &m[i];
	return NULL;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static const struct us_profile_func *sampled(const struct us_profile *p,
					     const struct us_function *f)
{
	struct us_frame frame[MAX_INLINED];
	size_t n = us_symbols_lookup_in(us_profile_symbols(p), f, f->start, frame,
					MAX_INLINED);
	return n && frame[n - 1].func ? us_profile_func_of(p, &frame[n - 1]) : NULL;
}

/* How wide the code was that ran there; 0: not known. */
static unsigned bits_of(const struct us_profile *p, const struct us_function *f)
{
	const struct us_profile_func *seen = sampled(p, f);
	bool program = seen && seen->user && !seen->kernel;
	const char *bits = us_profile_fact(p, program ? US_FACT_PROGRAM_BITS
						      : US_FACT_CODE_BITS);
	return bits ? (unsigned)strtoul(bits, NULL, 10) : 0;
}

/* Is most of it 16-bit code, by its samples?  Older recordings have no fact. */
static bool is_16_bit(const struct work *w, uint16_t machine, unsigned bits)
{
	const char *fact = us_profile_fact(w->a->p, US_FACT_MODE_BITS);
	uint64_t self = 0, mode = 0;
	for (size_t i = 0; i < w->n_pc; i++) {
		self += w->pc[i].self;
		mode += w->pc[i].not_unwound;
	}
	if (machine != EM_386 && machine != EM_X86_64)
		return false;
	return self ? mode > self / 2 && (!fact || !strcmp(fact, "16")) : bits == 16;
}

static struct us_disassembler *disassembler_of(const struct work *w, bool is64)
{
	unsigned bits = bits_of(w->a->p, w->f);
	uint16_t machine = us_symbols_machine(us_profile_symbols(w->a->p), w->f, bits);
	return us_disassembler_open(machine, is_16_bit(w, machine, bits) ? 16
					     : is64			 ? 64
									 : 32);
}

/* Find the function's bytes in the image. */
static int find_code(struct work *w, struct us_err *e)
{
	const struct us_elf_file *file = us_elf_image_file(w->f->image);
	uint64_t at = w->f->start - w->f->bias, size = w->f->size;
	const struct us_elf_code *c = us_elf_file_code(file, at);
	const struct us_profile_module *m = module_of(w->a->p, w->f);
	const char *path = us_elf_image_path(w->f->image);
	if (m && m->m.match == US_MATCH_NO)
		return us_fail(e, -ENOEXEC,
			       "annotate %s: %s is NOT what ran in the guest: its code "
			       "would be shown with samples of other code",
			       w->a->name, path);
	if (!c || at - c->start >= c->filesz)
		return us_fail(e, -ENOEXEC,
			       "annotate %s: %s does not contain its code (does the "
			       "file have debugging information only?)",
			       w->a->name, path);
	uint64_t left = c->filesz - (at - c->start);
	size = size < left ? size : left;
	w->a->cut = size > US_ANNOTATE_BYTES || size < w->f->size;
	w->n_code = size < US_ANNOTATE_BYTES ? (size_t)size : US_ANNOTATE_BYTES;
	w->code = file->bytes + c->offset + (at - c->start);
	w->dis = disassembler_of(w, file->is64);
	w->a->bytes_only = !w->dis;
	return 0;
}

/* Each file, inlined function and line has its own row. */
static struct us_annotated_line *row_of(struct work *w, const struct us_frame *f,
					const char *func, uint32_t *ret)
{
	/* Names belong to the symbols: the same text has the same address. */
	uint32_t *place = us_pair_map_at(&w->places, (uintptr_t)f->file,
					 (uintptr_t)func);
	if (!place)
		return NULL;
	if (!*place)
		*place = ++w->n_place;
	uint32_t *row = us_pair_map_at(&w->rows, *place, f->line);
	if (!row)
		return NULL;
	if (*row) {
		*ret = *row - 1;
		return &w->a->lines.v[*ret];
	}
	struct us_annotated_line *l = us_vec_push(&w->a->lines);
	if (!l)
		return NULL;
	*l = (struct us_annotated_line){ .file = f->file, .dir = f->dir, .func = func };
	*row = (uint32_t)w->a->lines.n;
	*ret = *row - 1;
	return l;
}

/* The line of an address; UINT32_MAX: no memory. */
static uint32_t line_of(struct work *w, us_gva pc, uint32_t *ret_call)
{
	struct us_frame f[MAX_INLINED] = { 0 };
	size_t n = us_symbols_lookup_in(us_profile_symbols(w->a->p), w->f, pc, f,
					MAX_INLINED);
	uint32_t index;
	struct us_annotated_line *l = row_of(w, f, n > 1 ? f[0].func : NULL, &index);
	*ret_call = n > 1 ? f[n - 1].line : 0;
	if (!l)
		return UINT32_MAX;
	if (l->has_code)
		return index;
	l->has_code = true;
	l->line = f[0].line;
	if (!l->file || !l->line)
		return index;
	const struct us_source *s = us_source_get(&w->sources, f[0].dir, l->file);
	const char *text = s ? us_source_line(s, l->line) : NULL;
	if (text)
		l->text = strndup(text, MAX_TEXT);
	if (s && !s->text && !w->a->no_source)
		w->a->no_source = strdup(s->name);
	return index;
}

/* The index of the first sampled pc at or above an address. */
static size_t first_pc(const struct work *w, us_gva at)
{
	return us_first_not(w->n_pc, mid, w->pc[mid].pc < at);
}

/* Without a disassembler, a piece ends before the next sampled address, and where the
 * line changes. */
static size_t piece_len(struct work *w, us_gva at, size_t left)
{
	size_t next = first_pc(w, at + 1), len = 1;
	uint32_t call, line;
	if (w->dis)
		return left;
	if (next < w->n_pc && w->pc[next].pc - at < left)
		left = (size_t)(w->pc[next].pc - at);
	if (left > US_INSN_BYTES)
		left = US_INSN_BYTES;
	line = line_of(w, at, &call);
	while (len < left && line_of(w, at + len, &call) == line)
		len++;
	return len;
}

/* A sample counts for the line of its own address, whatever was taken for the
 * instruction there. */
static int add_samples(struct work *w, struct us_annotated_insn *i)
{
	for (size_t k = first_pc(w, i->i.addr);
	     k < w->n_pc && w->pc[k].pc - i->i.addr < i->i.len; k++) {
		uint32_t call, line = line_of(w, w->pc[k].pc, &call);
		if (line == UINT32_MAX)
			return -ENOMEM;
		struct us_annotated_line *l = &w->a->lines.v[line];
		l->self += w->pc[k].self;
		l->called += w->pc[k].called;
		if (l->self > w->a->hottest_line)
			w->a->hottest_line = l->self;
		i->self += w->pc[k].self;
		i->called += w->pc[k].called;
	}
	w->a->self += i->self;
	if (i->self > w->a->hottest)
		w->a->hottest = i->self;
	return 0;
}

static int add_insns(struct work *w)
{
	for (size_t at = 0; at < w->n_code;) {
		us_gva pc = w->f->start + at;
		struct us_annotated_insn *i = us_vec_push(&w->a->insns);
		if (!i)
			return -ENOMEM;
		us_disassemble(w->dis, w->code + at, piece_len(w, pc, w->n_code - at),
			       pc, &i->i);
		i->line = line_of(w, pc, &i->call_line);
		if (i->line == UINT32_MAX)
			return -ENOMEM;
		if (add_samples(w, i) < 0)
			return -ENOMEM;
		at += i->i.len;
	}
	return 0;
}

/* Samples at the start of a block belong to all of its instructions. */
static void mark_blocks(struct us_annotation *a)
{
	uint32_t block = 0, last = 0;
	for (size_t k = 0; k < a->insns.n; k++) {
		struct us_annotated_insn *i = &a->insns.v[k];
		if (i->self)
			block = ++last;
		i->block = block;
		if (i->i.ends_block)
			block = 0;
	}
}

struct ranked {
	struct us_annotated_line l;
	uint32_t was;
	bool own; /* of the function's own file and not inlined */
};

static int compare_lines(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	if (x->own != y->own)
		return x->own ? -1 : 1;
	int c = strcmp(x->l.file ? x->l.file : "", y->l.file ? y->l.file : "");
	c = c ? c : strcmp(x->l.func ? x->l.func : "", y->l.func ? y->l.func : "");
	return c ? c : (x->l.line > y->l.line) - (x->l.line < y->l.line);
}

/* Sort lines in the order of the source, and renumber those of the instructions. */
static int sort_lines(struct us_annotation *a)
{
	size_t n = a->lines.n;
	_cleanup_free_ struct ranked *v = calloc(n + 1, sizeof(*v));
	_cleanup_free_ uint32_t *now = calloc(n + 1, sizeof(*now));
	if (!v || !now)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		v[i].l = a->lines.v[i];
		v[i].was = (uint32_t)i;
		v[i].own = !v[i].l.func && same_text(v[i].l.file, a->file);
	}
	qsort(v, n, sizeof(*v), compare_lines);
	for (size_t i = 0; i < n; i++) {
		a->lines.v[i] = v[i].l;
		now[v[i].was] = (uint32_t)i;
	}
	for (size_t i = 0; i < a->insns.n; i++)
		a->insns.v[i].line = now[a->insns.v[i].line];
	return 0;
}

struct lines {
	struct us_annotated_line *v;
	size_t n, cap;
};

static int add_between(struct work *w, struct lines *to,
		       const struct us_annotated_line *from, uint32_t until,
		       const char *dir)
{
	const struct us_source *s = us_source_get(&w->sources, dir, from->file);
	if (!s || !s->text || until - from->line > MAX_BETWEEN)
		return 0;
	for (uint32_t line = from->line + 1; line < until; line++) {
		const char *text = us_source_line(s, line);
		struct us_annotated_line *l = text ? us_vec_push(to) : NULL;
		if (!l)
			return text ? -ENOMEM : 0;
		*l = (struct us_annotated_line){ .file = from->file,
						 .dir = from->dir,
						 .func = from->func,
						 .line = line,
						 .text = strndup(text, MAX_TEXT) };
	}
	return 0;
}

static int copy_lines(struct work *w, struct lines *to, uint32_t *now, const char *dir)
{
	struct us_annotation *a = w->a;
	for (size_t i = 0; i < a->lines.n; i++) {
		struct us_annotated_line *l = &a->lines.v[i], *slot;
		const struct us_annotated_line *last = i ? l - 1 : NULL;
		int r = 0;
		if (last && l->file && last->line && same_text(l->file, last->file) &&
		    same_text(l->func, last->func))
			r = add_between(w, to, last, l->line, dir);
		slot = r < 0 ? NULL : us_vec_push(to);
		if (!slot)
			return -ENOMEM;
		*slot = *l;
		l->text = NULL; /* moved */
		now[i] = (uint32_t)to->n - 1;
	}
	return 0;
}

/* Add the source lines between those with code, so that the text is continuous. */
static int fill_lines(struct work *w, const char *dir)
{
	struct us_annotation *a = w->a;
	struct lines all = { 0 };
	_cleanup_free_ uint32_t *now = calloc(a->lines.n + 1, sizeof(*now));
	int r = now ? copy_lines(w, &all, now, dir) : -ENOMEM;
	for (size_t i = 0; r == 0 && i < a->insns.n; i++)
		a->insns.v[i].line = now[a->insns.v[i].line];
	for (size_t i = 0; i < a->lines.n; i++)
		free(a->lines.v[i].text);
	free(a->lines.v);
	a->lines.v = all.v;
	a->lines.n = all.n;
	a->lines.cap = all.cap;
	return r;
}

/* Sources that changed after the image was made may have other lines. */
static void compare_times(struct work *w)
{
	struct stat st;
	if (stat(us_elf_image_path(w->f->image), &st) < 0)
		return;
	for (size_t i = 0; i < w->sources.files.n; i++)
		w->a->source_newer |= w->sources.files.v[i].text &&
				      w->sources.files.v[i].changed > st.st_mtime;
}

/* Keep the function's program counters out of all. */
static int take_pcs(struct work *w, const struct us_profile_pc *all, size_t n)
{
	size_t i = us_first_not(n, mid, all[mid].pc < w->f->start);
	size_t end = us_first_not(n, mid,
				  all[mid].pc < w->f->start ||
					  all[mid].pc - w->f->start < w->f->size);
	w->pc = calloc(end - i + 1, sizeof(*w->pc));
	if (!w->pc)
		return -ENOMEM;
	for (; i < end; i++) {
		struct us_profile_pc *last = w->n_pc ? &w->pc[w->n_pc - 1] : NULL;
		if (!us_profile_pc_in(w->a->p, &all[i], w->f))
			continue;
		if (last && last->pc == all[i].pc) {
			last->self += all[i].self;
			last->called += all[i].called;
			last->not_unwound += all[i].not_unwound;
		} else {
			w->pc[w->n_pc++] = all[i];
		}
	}
	return 0;
}

static int find_pcs(struct work *w, const struct us_annotate_opts *o)
{
	struct us_profile_pc *all;
	size_t n;
	if (o->pc)
		return take_pcs(w, o->pc, o->n_pc);
	int r = us_profile_pcs(w->a->p, &all, &n);
	if (r < 0)
		return r;
	r = take_pcs(w, all, n);
	free(all);
	return r;
}

static int begin(struct work *w, const char **ret_dir)
{
	struct us_frame f[MAX_INLINED] = { 0 };
	struct us_annotation *a = w->a;
	size_t n = us_symbols_lookup_in(us_profile_symbols(a->p), w->f, w->f->start, f,
					MAX_INLINED);
	const struct us_frame *outer = n ? &f[n - 1] : NULL;
	const char *resolution = us_profile_fact(a->p, "resolution");
	const char *caution = us_profile_fact(a->p, "caution");
	const char *name = outer && outer->func ? outer->func : w->f->raw;
	const struct us_profile_func *seen = sampled(a->p, w->f);
	a->name = strdup(seen ? seen->name : name);
	a->raw = w->f->raw;
	a->module = w->f->module;
	a->start = w->f->start;
	a->size = w->f->size;
	a->file = !outer ? NULL : outer->decl_file ? outer->decl_file : outer->file;
	a->line = outer ? outer->decl_line : 0;
	*ret_dir = outer ? outer->dir : NULL;
	/* Older recordings do not state the resolution. */
	a->blocks = (resolution && !strcmp(resolution, "block")) ||
		    (caution && !strncmp(caution, "TCG stops", 9));
	return a->name ? find_pcs(w, w->sources.opts) : -ENOMEM;
}

static int make(struct work *w, struct us_err *e)
{
	const char *dir;
	const char *resolution = us_profile_fact(w->a->p, "resolution");
	if (resolution && !strcmp(resolution, "function")) {
		us_fail(e, -ENOTSUP,
			"annotate: this recording has the functions that the guest was "
			"in, but not the addresses in them");
		us_hint(e, "record --backend gdb records program counters");
		return -ENOTSUP;
	}
	int r = begin(w, &dir);
	if (r == 0) {
		r = find_code(w, e);
		if (r < 0)
			return r;
		r = add_insns(w);
	}
	if (r == 0)
		r = sort_lines(w->a);
	if (r == 0)
		r = fill_lines(w, dir);
	if (r < 0)
		return us_fail(e, r, "annotate: out of memory");
	if (w->a->blocks)
		mark_blocks(w->a);
	compare_times(w);
	return 0;
}

int us_annotate(const struct us_profile *p, const struct us_function *f,
		const struct us_annotate_opts *o, struct us_annotation **ret,
		struct us_err *e)
{
	struct work w = { .a = calloc(1, sizeof(*w.a)), .f = f };
	if (!w.a)
		return us_fail(e, -ENOMEM, "annotate: out of memory");
	w.a->p = p;
	w.sources.opts = o;
	int r = make(&w, e);
	us_disassembler_close(w.dis);
	us_sources_fini(&w.sources);
	us_pair_map_fini(&w.places);
	us_pair_map_fini(&w.rows);
	free(w.pc);
	if (r < 0)
		us_annotation_free(w.a);
	else
		*ret = w.a;
	return r;
}

/* The first of these functions that begins behind pc. */
static size_t first_behind(const struct us_function *f, size_t n, us_gva pc)
{
	size_t low = 0, high = n;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (f[mid].start <= pc)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

int us_annotate_samples(const struct us_profile *p, const struct us_function *f,
			size_t n, uint64_t *ret)
{
	struct us_profile_pc *pc;
	size_t n_pc;
	uint64_t largest = 0;
	int r = us_profile_pcs(p, &pc, &n_pc);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++) {
		ret[i] = 0;
		largest = f[i].size > largest ? f[i].size : largest;
	}
	for (size_t k = 0; k < n_pc; k++)
		for (size_t i = pc[k].self ? first_behind(f, n, pc[k].pc) : 0;
		     i > 0 && pc[k].pc - f[i - 1].start < largest; i--)
			if (us_profile_pc_in(p, &pc[k], &f[i - 1]))
				ret[i - 1] += pc[k].self;
	free(pc);
	return 0;
}

void us_annotation_free(struct us_annotation *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < a->lines.n; i++)
		free(a->lines.v[i].text);
	free(a->lines.v);
	free(a->insns.v);
	free(a->name);
	free(a->no_source);
	free(a);
}
