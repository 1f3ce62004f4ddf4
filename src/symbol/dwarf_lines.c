/* SPDX-License-Identifier: GPL-2.0-or-later */
/* dwarf_lines.c: see dwarf_lines.h. */
#include "symbol/dwarf_lines.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/vec.h"
#include "symbol/dwarf_elf.h"
#include "symbol/dwarf_priv.h"

#include <dwarf.h>
#include <string.h>

#define MAX_NESTING 64	       /* of blocks, calls and name spaces */
#define MAX_PROGRAM (8U << 20) /* bytes of one unit's line program */
#define MAX_ROWS    (1U << 18) /* of lines, as libdw has them: 56 bytes each */
#define NOT_ENTERED (UINT32_MAX - 1)

/* Work is charged from begin to end; nothing begins once the budget is spent. */
static bool spent(const struct us_dwarf *d)
{
	return d->spent_ns >= US_DWARF_BUDGET;
}

/* To the kernel's tick: the budget is far longer, and this is read for each entry. */
static uint64_t wall_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return (uint64_t)t.tv_sec * US_NS_PER_SEC + (uint64_t)t.tv_nsec;
}

static bool begin(const struct us_dwarf *d, struct us_dwarf_charge *ret)
{
	*ret = (struct us_dwarf_charge){ us_thread_cpu_ns(), wall_ns() };
	return !spent(d);
}

static void end(struct us_dwarf *d, const struct us_dwarf_charge *since)
{
	d->spent_ns += us_thread_cpu_ns() - since->cpu;
}

/* Reading the CPU time is a system call, so do that only if the wall clock exceeds the
 * budget. */
bool us_dwarf_overdue(const struct us_dwarf *d, const struct us_dwarf_charge *since)
{
	uint64_t left = US_DWARF_BUDGET - d->spent_ns;
	return wall_ns() - since->wall > left && us_thread_cpu_ns() - since->cpu > left;
}

bool us_dwarf_exhausted(const struct us_dwarf *d)
{
	return d->cut || spent(d);
}

bool us_dwarf_is_split(const struct us_dwarf *d)
{
	return d->split;
}

/* Code that the linker dropped stays in DWARF at address 0 or so: only ranges in the
 * image's code count. */
static bool add_ranges(struct us_dwarf *d, Dwarf_Die *die, uint32_t value,
		       struct us_dwarf_spans *to, const struct us_dwarf_charge *since,
		       uint64_t *ret_first)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;
	bool some = false;
	while ((at = dwarf_ranges(die, at, &base, &low, &high)) > 0) {
		if (us_dwarf_overdue(d, since))
			return some;
		if (low >= high || !us_elf_file_code(d->file, low))
			continue;
		d->cut |= d->n_span >= d->max_span;
		struct us_span *s = d->cut ? NULL : us_vec_push(to);
		if (!s)
			return some;
		d->n_span++;
		*s = (struct us_span){ low, high, value };
		if (!some || low < *ret_first)
			*ret_first = low;
		some = true;
	}
	return some;
}

/* Scopes of a unit. */

struct level {
	Dwarf_Die die;
	uint32_t scope; /* around it */
};

/* Of an inlined function there is an abstract copy, which has no code; what is declared
 * within it has: g++ puts the code of a lambda there, gcc that of a nested function. */
static uint32_t enter_abstract(struct level *l)
{
	return dwarf_tag(&l->die) == DW_TAG_subprogram &&
			       dwarf_hasattr(&l->die, DW_AT_inline)
		       ? US_DWARF_NO_SCOPE
		       : NOT_ENTERED;
}

static const char *string_of(Dwarf_Attribute *a)
{
	return a ? dwarf_formstring(a) : NULL;
}

/* The scope of a DIE's children; NOT_ENTERED: they do not matter. */
static uint32_t enter(struct us_dwarf *d, struct us_dwarf_unit *u, struct level *l,
		      struct us_dwarf_spans *spans, const struct us_dwarf_charge *since)
{
	int tag = dwarf_tag(&l->die);
	switch (tag) {
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_with_stmt:
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
		return l->scope;
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
		break;
	default:
		return NOT_ENTERED;
	}
	uint64_t first = 0;
	uint32_t index = (uint32_t)u->scopes.n;
	if (index >= NOT_ENTERED || us_dwarf_is_dropped(d, &l->die))
		return NOT_ENTERED;
	if (!add_ranges(d, &l->die, index, spans, since, &first))
		return enter_abstract(l);
	struct us_dwarf_scope *s = us_vec_push(&u->scopes);
	if (!s)
		return NOT_ENTERED;
	s->die = dwarf_dieoffset(&l->die);
	s->entry = first;
	s->outer = l->scope;
	s->inlined = tag == DW_TAG_inlined_subroutine;
	return index;
}

/* Depth first.  A sibling reference that leads back into a subtree would multiply the
 * walk, so it is limited: no unit has more entries than bytes. */
static void walk(struct us_dwarf *d, struct us_dwarf_unit *u,
		 struct us_dwarf_spans *spans, const struct us_dwarf_charge *since)
{
	struct level stack[MAX_NESTING];
	size_t depth = 0;
	stack[0] = (struct level){ .scope = US_DWARF_NO_SCOPE };
	if (dwarf_child(&u->die, &stack[0].die) != 0)
		return;
	for (uint64_t left = u->size; left && !us_dwarf_overdue(d, since); left--) {
		uint32_t inner = enter(d, u, &stack[depth], spans, since);
		if (inner != NOT_ENTERED && depth + 1 < MAX_NESTING &&
		    dwarf_child(&stack[depth].die, &stack[depth + 1].die) == 0) {
			stack[++depth].scope = inner;
			continue;
		}
		while (dwarf_siblingof(&stack[depth].die, &stack[depth].die) != 0)
			if (depth-- == 0 || us_dwarf_overdue(d, since))
				return;
	}
}

static void index_scopes(struct us_dwarf *d, struct us_dwarf_unit *u,
			 struct us_dwarf_spans *spans)
{
	struct us_dwarf_charge since;
	if (u->indexed || !begin(d, &since))
		return;
	u->indexed = true;
	walk(d, u, spans, &since);
	end(d, &since);
}

void us_dwarf_need_scopes(struct us_dwarf *d, struct us_dwarf_unit *u)
{
	struct us_dwarf_spans spans = { 0 };
	if (u->indexed)
		return;
	index_scopes(d, u, &spans);
	if (us_span_map_build(spans.v, spans.n, &u->map) < 0)
		memset(&u->map, 0, sizeof(u->map));
	free(spans.v);
}

static const char *name_of(const struct us_dwarf_unit *u, Dwarf_Die *die)
{
	Dwarf_Attribute a;
	const char *linkage = string_of(
		dwarf_attr_integrate(die, DW_AT_linkage_name, &a));
	if (!linkage)
		linkage = string_of(
			dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &a));
	const char *plain = string_of(dwarf_attr_integrate(die, DW_AT_name, &a));
	return linkage && (u->prefer_linkage || !plain) ? linkage : plain;
}

static uint32_t number_of(Dwarf_Attribute *a)
{
	Dwarf_Word w;
	return a && dwarf_formudata(a, &w) == 0 && w <= UINT32_MAX ? (uint32_t)w : 0;
}

/* Lines of a unit. */

static bool has_program(struct us_dwarf *d, const struct us_dwarf_unit *u,
			uint64_t *ret)
{
	Dwarf_Attribute a;
	Dwarf_Word at;
	uint32_t len;
	Dwarf_Die die = u->die;
	if (!dwarf_attr(&die, DW_AT_stmt_list, &a) || dwarf_formudata(&a, &at) != 0 ||
	    at > d->line_size || d->line_size - at < sizeof(len))
		return false;
	*ret = at;
	memcpy(&len, d->line_data + at, sizeof(len));
	/* A program may make 100 bytes of rows from each of its bytes.  UINT32_MAX: a
	 * 64-bit length follows; the program has at most the rest of the section. */
	uint64_t most = len == UINT32_MAX ? d->line_size - at : len;
	d->cut |= most > MAX_PROGRAM;
	return most <= MAX_PROGRAM;
}

/* libdw keeps all lines that it has read, in three times the size of their tables.  So
 * what is needed is copied, and libdw's data is freed now and then. */
static Dwarf *line_reader(struct us_dwarf *d)
{
	if (d->line_dw && d->n_row > MAX_ROWS) {
		dwarf_end(d->line_dw);
		d->line_dw = NULL;
		d->n_row = 0;
	}
	if (!d->line_dw && !d->compressed)
		d->line_dw = dwarf_begin_elf(d->elf, DWARF_C_READ, NULL);
	return d->line_dw ? d->line_dw : d->dw;
}

static void read_lines(struct us_dwarf *d, struct us_dwarf_unit *u, uint64_t program,
		       const struct us_dwarf_charge *since)
{
	struct us_line_rows kept;
	bool mixed = us_dwarf_kept_rows(d, &u->die, program, since, &kept);
	Dwarf_Lines *lines = NULL;
	Dwarf_Files *files = NULL;
	size_t n = 0, n_file = 0;
	Dwarf_Die die;
	if (!dwarf_offdie(line_reader(d), dwarf_dieoffset(&u->die), &die)) {
		free(kept.v);
		return;
	}
	if (mixed || dwarf_getsrclines(&die, &lines, &n) != 0)
		lines = NULL;
	if (dwarf_getsrcfiles(&die, &files, &n_file) != 0)
		files = NULL;
	d->n_row += n + n_file;
	d->cut |= us_line_table_build(&u->lines, lines, n, files, n_file, u->comp_dir,
				      &d->files) < 0 ||
		  us_line_table_add_rows(&u->lines, kept.v, kept.n) < 0;
	free(kept.v);
}

void us_dwarf_need_lines(struct us_dwarf *d, struct us_dwarf_unit *u)
{
	struct us_dwarf_charge since;
	uint64_t program;
	if (u->lines_read || !begin(d, &since))
		return;
	u->lines_read = true;
	if (has_program(d, u, &program))
		read_lines(d, u, program, &since);
	end(d, &since);
}

static const char *decl_file_of(const struct us_dwarf_unit *u, Dwarf_Die *die)
{
	Dwarf_Attribute a;
	if (!dwarf_attr_integrate(die, DW_AT_decl_file, &a) || a.cu != u->die.cu)
		return NULL;
	return us_line_table_file(&u->lines, number_of(&a));
}

static void read_scope(const struct us_dwarf *d, const struct us_dwarf_unit *u,
		       struct us_dwarf_scope *s)
{
	Dwarf_Die die;
	Dwarf_Attribute a;
	if (!dwarf_offdie(d->dw, s->die, &die))
		return;
	s->name = name_of(u, &die);
	s->decl_line = number_of(dwarf_attr_integrate(&die, DW_AT_decl_line, &a));
	s->decl_file = decl_file_of(u, &die);
	if (!s->inlined)
		return;
	s->call_line = number_of(dwarf_attr(&die, DW_AT_call_line, &a));
	uint32_t file = number_of(dwarf_attr(&die, DW_AT_call_file, &a));
	s->call_file = us_line_table_file(&u->lines, file);
}

/* This takes a microsecond, and charging it would cost as much again.  So it is charged
 * only after one took long. */
void us_dwarf_need_scope(struct us_dwarf *d, const struct us_dwarf_unit *u,
			 struct us_dwarf_scope *s)
{
	struct us_dwarf_charge since;
	if (s->read || spent(d))
		return;
	s->read = true;
	if (d->slow_scopes) {
		begin(d, &since);
		read_scope(d, u, s);
		end(d, &since);
		return;
	}
	uint64_t wall = us_now_ns();
	read_scope(d, u, s);
	d->slow_scopes = us_now_ns() - wall > US_NS_PER_MS;
}

/* Units. */

static bool is_mangling(int lang)
{
	switch (lang) {
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
	case DW_LANG_Rust:
	case DW_LANG_D:
		return true;
	}
	return false;
}

static void add_unit(struct us_dwarf *d, const Dwarf_Die *die,
		     const struct us_dwarf_charge *since)
{
	Dwarf_Attribute a;
	uint64_t first;
	uint32_t index = (uint32_t)d->units.n;
	struct us_dwarf_unit *u = us_vec_push(&d->units);
	if (!u)
		return;
	u->die = *die;
	u->size = d->info_size;
	u->comp_dir = string_of(dwarf_attr(&u->die, DW_AT_comp_dir, &a));
	d->split |= dwarf_hasattr(&u->die, DW_AT_dwo_name) ||
		    dwarf_hasattr(&u->die, DW_AT_GNU_dwo_name);
	u->prefer_linkage = is_mangling(dwarf_srclang(&u->die));
	size_t n = d->spans.n;
	u->has_ranges = add_ranges(d, &u->die, index, &d->spans, since, &first);
	if (u->has_ranges && first == 0)
		us_dwarf_leave_out_dropped(d, &u->die, n, since);
}

static void read_units(struct us_dwarf *d)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Half version;
	Dwarf_Die die;
	uint8_t type;
	struct us_dwarf_charge since;
	if (!begin(d, &since))
		return;
	while (dwarf_get_units(d->dw, cu, &cu, &version, &type, &die, NULL) == 0 &&
	       !us_dwarf_overdue(d, &since)) {
		/* DWARF 4 has types in a section of their own, with its own offsets. */
		if (type == DW_UT_type && version < 5)
			continue;
		if (d->units.n) {
			struct us_dwarf_unit *last = &d->units.v[d->units.n - 1];
			Dwarf_Off begun = dwarf_dieoffset(&last->die);
			Dwarf_Off now = dwarf_dieoffset(&die);
			if (last->size == d->info_size && now > begun)
				last->size = now - begun;
		}
		if (type == DW_UT_compile || type == DW_UT_skeleton)
			add_unit(d, &die, &since);
	}
	end(d, &since);
}

/* Free Pascal has no entries with ranges for methods of an "object". */
static void add_sequences(struct us_dwarf *d, uint32_t index)
{
	struct us_dwarf_unit *u = &d->units.v[index];
	struct us_dwarf_charge since;
	uint64_t program;
	if (!begin(d, &since))
		return;
	if (has_program(d, u, &program))
		us_dwarf_add_sequences(d, &u->die, program, index, &since);
	end(d, &since);
}

/* Units without ranges, which some compilers make: use the ranges of their scopes and
 * of the sequences of their lines. */
static void add_rangeless_units(struct us_dwarf *d)
{
	for (size_t i = 0; i < d->units.n; i++) {
		struct us_dwarf_unit *u = &d->units.v[i];
		struct us_dwarf_spans spans = { 0 };
		if (u->has_ranges || u->indexed)
			continue;
		index_scopes(d, u, &spans);
		for (size_t k = 0; k < spans.n; k++) {
			struct us_span *s = us_vec_push(&d->spans);
			if (s)
				*s = (struct us_span){ spans.v[k].start, spans.v[k].end,
						       (uint32_t)i };
		}
		if (us_span_map_build(spans.v, spans.n, &u->map) < 0)
			memset(&u->map, 0, sizeof(u->map));
		free(spans.v);
		add_sequences(d, (uint32_t)i);
	}
}

static void build_map(struct us_dwarf *d)
{
	us_span_map_fini(&d->map);
	if (us_span_map_build(d->spans.v, d->spans.n, &d->map) < 0)
		memset(&d->map, 0, sizeof(d->map));
}

static struct us_dwarf_unit *unit_at(struct us_dwarf *d, uint64_t addr)
{
	uint32_t i = us_span_map_find(&d->map, addr);
	if (i == US_SPAN_NONE && !d->rangeless_done &&
	    us_elf_file_code(d->file, addr)) {
		d->rangeless_done = true;
		add_rangeless_units(d);
		build_map(d);
		i = us_span_map_find(&d->map, addr);
	}
	return i == US_SPAN_NONE ? NULL : &d->units.v[i];
}

static bool is_named(const char *name, const char *what)
{
	if (!name || name[0] != '.')
		return false;
	return !strcmp(name + (name[1] == 'z' ? 2 : 1), what);
}

/* The sections as libdw has them, uncompressed. */
static void find_sections(struct us_dwarf *d)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr h;
	size_t names;
	if (elf_getshdrstrndx(d->elf, &names) != 0)
		return;
	while ((scn = elf_nextscn(d->elf, scn))) {
		const char *name = gelf_getshdr(scn, &h)
					   ? elf_strptr(d->elf, names, h.sh_name)
					   : NULL;
		Elf_Data *data = elf_rawdata(scn, NULL);
		if (!data || !data->d_buf)
			continue;
		/* An entry with code has 8 bytes or more, a range of a list 2. */
		if (is_named(name, "debug_info")) {
			d->info_size = data->d_size;
			d->max_span += data->d_size / 8;
		}
		if (is_named(name, "debug_ranges") || is_named(name, "debug_rnglists"))
			d->max_span += data->d_size / 2;
		if (is_named(name, "debug_line")) {
			d->line_data = data->d_buf;
			d->line_size = data->d_size;
		}
	}
}

/* Without it, only names are missing. */
static void join_alt(struct us_dwarf *d, const struct us_elf_file *alt)
{
	d->alt_elf = us_dwarf_elf(alt);
	if (d->alt_elf)
		d->alt_dw = dwarf_begin_elf(d->alt_elf, DWARF_C_READ, NULL);
	if (d->alt_dw)
		dwarf_setalt(d->dw, d->alt_dw);
}

static bool is_compressed(const struct us_elf_file *f)
{
	for (size_t i = 0; i < f->n_section; i++)
		if (f->section[i].flags & SHF_COMPRESSED ||
		    !strncmp(f->section[i].name, ".zdebug", 7))
			return true;
	return false;
}

struct us_dwarf *us_dwarf_open(const struct us_elf_file *f,
			       const struct us_elf_file *alt)
{
	struct us_dwarf *d = calloc(1, sizeof(*d));
	if (!d)
		return NULL;
	d->file = f;
	d->elf = us_dwarf_elf(f);
	if (d->elf)
		d->dw = dwarf_begin_elf(d->elf, DWARF_C_READ, NULL);
	if (!d->dw) {
		us_dwarf_close(d);
		return NULL;
	}
	if (alt)
		join_alt(d, alt);
	d->compressed = is_compressed(f);
	d->max_span = 1024;
	find_sections(d);
	read_units(d);
	build_map(d);
	return d;
}

void us_dwarf_close(struct us_dwarf *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->units.n; i++) {
		free(d->units.v[i].scopes.v);
		us_span_map_fini(&d->units.v[i].map);
		us_line_table_fini(&d->units.v[i].lines);
	}
	free(d->units.v);
	free(d->spans.v);
	us_span_map_fini(&d->map);
	dwarf_end(d->line_dw);
	us_string_set_fini(&d->files);
	dwarf_end(d->dw);
	elf_end(d->elf);
	dwarf_end(d->alt_dw);
	elf_end(d->alt_elf);
	free(d);
}

static bool line_of(struct us_dwarf *d, struct us_dwarf_unit *u, uint64_t addr,
		    const char **ret_file, uint32_t *ret_line)
{
	us_dwarf_need_lines(d, u);
	const struct us_line_row *row = us_line_table_find(&u->lines, addr);
	if (!row)
		return false;
	*ret_file = us_line_table_file(&u->lines, row->file);
	*ret_line = row->line;
	return true;
}

bool us_dwarf_line(struct us_dwarf *d, uint64_t addr, const char **ret_file,
		   uint32_t *ret_line)
{
	struct us_dwarf_unit *u = unit_at(d, addr);
	return u && line_of(d, u, addr, ret_file, ret_line);
}

unsigned us_dwarf_address_size(struct us_dwarf *d, uint64_t addr)
{
	struct us_dwarf_unit *u = unit_at(d, addr);
	Dwarf_Die die;
	uint8_t size;
	return u && dwarf_diecu(&u->die, &die, &size, NULL) ? size : 0;
}

size_t us_dwarf_lookup(struct us_dwarf *d, uint64_t addr, struct us_frame *ret,
		       size_t max)
{
	struct us_dwarf_unit *u = unit_at(d, addr);
	const char *file = NULL;
	uint32_t line = 0;
	size_t n = 0;
	if (!u || !max)
		return 0;
	bool some = line_of(d, u, addr, &file, &line);
	us_dwarf_need_scopes(d, u);
	uint32_t i = us_span_map_find(&u->map, addr);
	while (i != US_DWARF_NO_SCOPE && n < max) {
		struct us_dwarf_scope *s = &u->scopes.v[i];
		us_dwarf_need_scope(d, u, s);
		ret[n++] = (struct us_frame){
			.func = s->name,
			.file = file,
			.dir = u->comp_dir,
			.start = s->entry,
			.line = line,
			.decl_file = s->decl_file,
			.decl_line = s->decl_line,
			.inlined = s->inlined,
		};
		if (!s->inlined)
			return n;
		file = s->call_file;
		line = s->call_line;
		i = s->outer;
	}
	/* Only a line is known, or calls inlined into a function that DWARF does not
	 * have. */
	if ((some || n) && n < max)
		ret[n++] = (struct us_frame){ .file = file,
					      .dir = u->comp_dir,
					      .line = line };
	return n;
}
