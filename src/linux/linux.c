/* SPDX-License-Identifier: GPL-2.0-or-later */
/* linux.c: see linux.h. */
#include "linux/linux.h"

#include "linux/bpf_code.h"
#include "linux/init_code.h"
#include "linux/vmlinux.h"
#include "linux/who_code.h"
#include "symbol/function_part.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BANNER	   "Linux version "
#define INFO_BYTES 4096
#define PAGE	   4096U

/* The guest's memory while it is read. */
struct reader {
	const struct us_linux_source *s;
	struct us_linux_image image;
	struct us_space space;
	struct us_paging paging;
	struct us_linux *l;
	struct us_vmlinux file; /* the kernel's own; sought: it was looked for */
	bool sought;
};

static bool is_stopped(const struct reader *r)
{
	return r->s->stop && atomic_load_explicit(r->s->stop, memory_order_relaxed);
}

/* The image is one piece; anything else is found through the kernel's page tables. */
static bool read_kernel(void *ctx, us_gva va, void *buf, size_t len)
{
	struct reader *r = ctx;
	const struct us_linux_place *p = &r->s->place;
	if (is_stopped(r))
		return false;
	if (!r->s->mem)
		return r->s->virt.read(r->s->virt.ctx, va, buf, len);
	if (p->physical && va >= p->start && va - p->start < p->size &&
	    len <= p->size - (va - p->start))
		return us_mem_read(r->s->mem, p->phys + (va - p->start), buf, len);
	return us_paging_read(&r->paging, &r->space, va, buf, len);
}

/* Open the kernel's own file, if the user named it.  -ENOENT, -ENOMEM. */
static int need_file(struct reader *r)
{
	const struct us_vmlinux_search w = {
		.file = r->s->file,
		.n_file = r->s->n_file,
		.place = &r->s->place,
		.text = r->l->text,
		.p = &r->paging,
		.s = &r->space,
	};
	if (r->sought || !r->s->mem)
		return r->file.image ? 0 : -ENOENT;
	r->sought = true;
	return us_vmlinux_open(&w, &r->file);
}

/* --- what it is --- */

static void take_release(struct us_linux *l, const char *banner)
{
	size_t n = strcspn(banner, " \n");
	if (n >= sizeof(l->release))
		return;
	for (size_t k = 0; k < n; k++)
		if (banner[k] < ' ' || banner[k] >= 0x7f)
			return;
	memcpy(l->release, banner, n);
	l->release[n] = '\0';
}

/* For a kernel whose table has only functions: the first text of that form. */
static us_gva search_banner(struct us_linux_image *i)
{
	for (us_gva page = i->start; page < i->start + i->size; page += PAGE) {
		const char *p = (const char *)us_linux_image_at(i, page, PAGE);
		const char *at = p ? memmem(p, PAGE, BANNER, strlen(BANNER)) : NULL;
		if (at)
			return page + (us_gva)(at - p);
	}
	return 0;
}

static void read_release(struct reader *r)
{
	us_gva at = us_kallsyms_address(&r->l->symbols, "linux_banner");
	char text[sizeof(BANNER) + 80] = "";
	if (!at)
		at = search_banner(&r->image);
	if (!at || !read_kernel(r, at, text, sizeof(text) - 1))
		return;
	if (!strncmp(text, BANNER, strlen(BANNER)))
		take_release(r->l, text + strlen(BANNER));
}

/* The note that the kernel keeps for crash dumps: lines of NAME=value. */
static void read_info(struct reader *r)
{
	static const char key[] = "\nKERNELOFFSET=";
	us_gva at = us_kallsyms_address(&r->l->symbols, "vmcoreinfo_data");
	uint64_t data;
	char text[INFO_BYTES + 1];
	if (!at || !read_kernel(r, at, &data, sizeof(data)) ||
	    !read_kernel(r, data, text, INFO_BYTES))
		return;
	text[INFO_BYTES] = '\0';
	char *line = strstr(text, key), *end;
	if (!line)
		return;
	uint64_t slide = strtoull(line + strlen(key), &end, 16);
	if (*end != '\n' || slide > r->s->place.arch->slide_most)
		return;
	r->l->slide = (int64_t)slide;
	r->l->slide_known = true;
}

/*
 * The kernel's own top table maps all of the kernel, and stays when a process ends.  A
 * processor may use a part of it only: arm64 with 64 KiB pages, built for addresses of
 * 52 bits, where it has 48 (TTBR1_BADDR_4852_OFFSET).  Then the one in use is kept.
 */
static void use_own_tables(struct reader *r)
{
	const struct us_space before = r->space;
	const struct us_linux_place *p = &r->s->place;
	us_gva top = us_kallsyms_address(&r->l->symbols, p->arch->top_table);
	us_gpa *root = p->arch->upper ? &r->space.root_upper : &r->space.root, at;
	if (top < p->start || top - p->start >= p->size || top % PAGE)
		return;
	if (p->physical)
		*root = p->phys + (top - p->start);
	else if (us_paging_translate(&r->paging, &r->space, top, &at, NULL))
		*root = at;
	if (!us_paging_translate(&r->paging, &r->space, top, &at, NULL))
		r->space = before;
}

static void read_drawn(struct reader *r, const struct us_btf *b)
{
	struct us_linux *l = r->l;
	struct us_btf_member m;
	if (!l->has_tasks || !us_btf_path(b, "task_struct", "stack_canary", &m) ||
	    m.size != sizeof(l->drawn))
		return;
	if (read_kernel(r, l->tasks.init + m.offset, &l->drawn, sizeof(l->drawn)))
		l->drawn_at = l->tasks.init + m.offset;
}

/* Do the types say where tasks are, and does init_task match them? */
static void take_tasks(struct reader *r, const struct us_btf *b,
		       const struct us_linux_memory *m)
{
	struct us_linux *l = r->l;
	bool all = us_linux_tasks_layout(b, &l->symbols, r->s->place.arch, &l->tasks);
	l->has_tasks = all &&
		       us_linux_tasks_find_init(&l->tasks, &l->symbols, &r->image) &&
		       us_linux_tasks_fit(&l->tasks, m);
	l->misfit = all && !l->has_tasks;
	if (!all)
		snprintf(l->no_tasks, sizeof(l->no_tasks),
			 "its types do not describe tasks");
	else if (!l->has_tasks)
		snprintf(l->no_tasks, sizeof(l->no_tasks),
			 "the types of %.60s do not match the running kernel: "
			 "init_task (pid 0, \"swapper\") is not where they say",
			 l->types_from[0] ? l->types_from : "its kernel (BTF)");
}

/* A table of functions alone does not say where a CPU's current task is; the kernel's
 * code does. */
static void find_who_by_code(struct reader *r)
{
	struct us_linux_who_layout *w = &r->l->who;
	const struct us_linux_who_layout before = *w;
	if (w->current || !us_linux_who_by_code(w, &r->l->symbols, &r->image))
		return;
	if (!us_linux_who_fits(w, &r->paging, &r->space))
		*w = before;
}

static int take_types(struct reader *r, const struct us_btf *b,
		      const struct us_linux_memory *m)
{
	const struct us_linux_arch *arch = r->s->place.arch;
	struct us_linux *l = r->l;
	l->has_types = true;
	l->has_who = l->has_tasks &&
		     us_linux_who_layout(b, &l->symbols, &l->tasks, &l->who);
	if (l->has_who)
		find_who_by_code(r);
	if (l->has_who && !l->tasks.has_cpu && !l->who.per_cpu)
		l->tasks.current = l->who.current;
	l->has_mappings = us_linux_mappings_layout(b, &l->mappings);
	l->has_cache = us_page_cache_layout(b, &l->cache);
	read_drawn(r, b);
	int ret = us_linux_modules_read(b, &l->symbols, arch, m, &l->modules);
	if (ret == -ENOMEM)
		return ret;
	/* Either may be there without the other. */
	int bpf = us_linux_bpf_read(b, &l->symbols, arch, m, &l->modules);
	return bpf == -ENOMEM ? bpf : ret;
}

/* For a kernel without types of its own. */
static int open_types_of_file(struct reader *r, struct us_btf *ret, uint8_t **ret_bytes)
{
	struct us_linux *l = r->l;
	const char *why = "is not of this build", *name = NULL;
	int code = need_file(r);
	if (code == 0) {
		name = us_vmlinux_name(r->file.image);
		code = us_vmlinux_types(&r->file, ret, ret_bytes, &why);
	} else {
		name = r->file.another;
	}
	if (code == 0)
		snprintf(l->types_from, sizeof(l->types_from), "%.60s", name);
	else
		snprintf(l->no_types, sizeof(l->no_types),
			 "its kernel has no type information (BTF)%s%.60s%s%s",
			 name ? ", and " : "", name ? name : "", name ? " " : "",
			 name ? why : "");
	return code;
}

/* The kernel's own types do not match it; those of its file may. */
static void take_those_of_file(struct reader *r, const struct us_linux_memory *m,
			       struct us_btf *b, uint8_t **ret_bytes)
{
	struct us_btf other;
	if (open_types_of_file(r, &other, ret_bytes) < 0)
		return;
	us_btf_close(b);
	*b = other;
	take_tasks(r, b, m);
}

/* Read where structs have their members: first those of tasks, then the others. */
static int read_types(struct reader *r, const struct us_linux_memory *m)
{
	struct us_btf b;
	uint8_t *bytes = NULL; /* the types, if they are from a file */
	int ret = us_btf_of_kernel(&r->image, &r->l->symbols, &b);
	bool own = ret == 0;
	r->l->space = r->space;
	if (ret == -ENOENT)
		ret = open_types_of_file(r, &b, &bytes);
	if (ret < 0)
		return ret;
	take_tasks(r, &b, m);
	if (own && r->l->misfit)
		take_those_of_file(r, m, &b, &bytes);
	ret = take_types(r, &b, m);
	us_btf_close(&b);
	free(bytes);
	return ret;
}

/* --- code --- */

static int add_modules_orc(const struct us_linux *l, const struct us_orc_format *f,
			   struct us_cfi_builder *b)
{
	int r = 0;
	for (size_t k = 0; r == 0 && k < l->modules.n; k++) {
		const struct us_linux_module *m = &l->modules.v[k];
		if (m->number == US_LINUX_NO_ORC)
			continue;
		const struct us_linux_module_orc *o = &l->modules.orc[m->number];
		const struct us_orc orc = {
			.ip = o->bytes,
			.entry = o->bytes + 4 * o->n,
			.ip_at = o->ip_at,
			.n = o->n,
			.only = { { m->start, m->end }, { m->init_start, m->init_end } }
		};
		if (o->n)
			r = us_orc_compile(&orc, f, b);
	}
	return r;
}

/* After boot the kernel has freed its init code (include/linux/kernel.h,
 * system_states).  If its table has only functions, the missing init code shows that it
 * has booted. */
static bool has_booted(struct reader *r)
{
	const struct us_kallsyms *k = &r->l->symbols;
	us_gva at = us_kallsyms_address(k, "system_state");
	uint32_t state;
	if (at)
		return read_kernel(r, at, &state, sizeof(state)) && state >= 2;
	return !us_linux_has_init_code(k, r->s->place.arch->arch, read_kernel, r);
}

/* Some stacks begin in init code.  Once that is freed, its addresses count as the
 * outermost frame. */
static int add_gone(us_gva start, us_gva end, struct us_cfi_builder *b)
{
	const struct us_cfi_rule outermost = { .pc = US_CFI_LOST,
					       .flags = US_CFI_GONE };
	uint32_t id;
	int r = us_cfi_builder_rule(b, &outermost, NULL, &id);
	if (r == 0)
		r = us_cfi_builder_row(b, start, id, 0);
	return r ? r : us_cfi_builder_row(b, end, US_CFI_NO_RULE, 0);
}

static int add_orc(struct us_linux *l, const struct us_orc *o,
		   const struct us_orc_format *f, struct us_cfi_builder *b)
{
	int r = us_orc_compile(o, f, b);
	l->orc = true;
	return r ? r : add_modules_orc(l, f, b);
}

static void note_blank(const struct us_kallsyms *k, struct us_orc *o)
{
	for (size_t i = 0; i < k->n; i++) {
		us_gva end;
		const char *name = us_kallsym_name(k, &k->v[i]);
		if (us_is_return_trampoline(name) &&
		    us_kallsyms_find(k, k->v[i].addr, &end))
			us_orc_blank(o, name, k->v[i].addr, end);
	}
}

static int read_rules(struct reader *r)
{
	struct us_linux *l = r->l;
	struct us_cfi_builder *b;
	struct us_orc_format f;
	struct us_orc o = { 0 };
	bool orc = us_orc_locate(&r->image, &l->symbols, &o, &f) == 0;
	if (has_booted(r)) {
		o.gone_start = us_kallsyms_address(&l->symbols, "_sinittext");
		o.gone_end = us_kallsyms_address(&l->symbols, "_einittext");
	}
	if (!orc && o.gone_start >= o.gone_end)
		return 0;
	note_blank(&l->symbols, &o);
	int ret = us_cfi_builder_new(8, &b);
	if (ret < 0)
		return ret;
	ret = orc ? add_orc(l, &o, &f, b) : add_gone(o.gone_start, o.gone_end, b);
	if (ret == 0)
		ret = us_cfi_builder_finish(b, &l->cfi);
	us_cfi_builder_free(b);
	return ret;
}

static int by_address(const void *a, const void *b)
{
	us_gva x = *(const us_gva *)a, y = *(const us_gva *)b;
	return x < y ? -1 : x > y;
}

/* Count them, with v NULL; else fill v. */
static size_t find_parts(const struct us_linux *l, us_gva *v)
{
	const struct us_kallsyms *k = &l->symbols;
	const struct us_linux_modules *m = &l->modules;
	us_gva none, *to = v ? v : &none;
	size_t n = 0;
	for (size_t i = 0; i < k->n; i++) {
		to[v ? n : 0] = k->v[i].addr;
		n += us_is_function_part(us_kallsym_name(k, &k->v[i]));
	}
	for (size_t i = 0; i < m->functions.n; i++) {
		to[v ? n : 0] = m->functions.v[i].start;
		n += us_is_function_part(m->names.v + m->functions.v[i].name);
	}
	return n;
}

static int collect_parts(struct us_linux *l)
{
	size_t n = find_parts(l, NULL);
	l->part = calloc(n + 1, sizeof(*l->part));
	if (!l->part)
		return -ENOMEM;
	l->n_part = find_parts(l, l->part);
	qsort(l->part, n, sizeof(*l->part), by_address);
	return 0;
}

static int collect_starts(struct us_linux *l)
{
	const struct us_kallsyms *k = &l->symbols;
	size_t n = 0, kept = 0;
	l->start = calloc(k->n + l->modules.functions.n + 1, sizeof(*l->start));
	if (!l->start)
		return -ENOMEM;
	for (size_t i = 0; i < k->n; i++)
		if (us_kallsym_is_code(&k->v[i]))
			l->start[n++] = k->v[i].addr;
	for (size_t i = 0; i < l->modules.functions.n; i++)
		l->start[n++] = l->modules.functions.v[i].start;
	qsort(l->start, n, sizeof(*l->start), by_address);
	for (size_t i = 0; i < n; i++)
		if (!kept || l->start[kept - 1] != l->start[i])
			l->start[kept++] = l->start[i];
	l->n_start = kept;
	l->code = us_kallsyms_code(k, l->text);
	l->text_end = kept ? l->start[kept - 1] : 0;
	if (l->modules.n && l->modules.v[l->modules.n - 1].end > l->text_end)
		l->text_end = l->modules.v[l->modules.n - 1].end;
	return 0;
}

/* --- all of it --- */

static void find_text(struct us_linux *l)
{
	l->text = us_kallsyms_address(&l->symbols, "_text");
	if (!l->text)
		l->text = us_kallsyms_address(&l->symbols, "_stext");
}

/* Use the file's symbols at the kernel's addresses, and set how the kernel is
 * recognized again. */
static void take_symbols_of_file(struct reader *r)
{
	struct us_linux *l = r->l;
	us_gva kallsyms_at = l->symbols.at;
	us_kallsyms_fini(&l->symbols);
	l->symbols = r->file.symbols;
	memset(&r->file.symbols, 0, sizeof(r->file.symbols));
	l->symbols.at = kallsyms_at ? kallsyms_at
				    : us_kallsyms_address(&l->symbols, "linux_banner");
	snprintf(l->symbols_from, sizeof(l->symbols_from), "%.60s",
		 us_vmlinux_name(r->file.image));
	find_text(l);
}

/* Read the kernel's own table; or its file's, if the kernel has none or only
 * functions. */
static int read_symbols(struct reader *r, struct us_err *e)
{
	struct us_linux *l = r->l;
	int ret = us_kallsyms_read(&r->image, &l->symbols, e);
	if (ret == -ENOMEM)
		return ret;
	find_text(l);
	if (ret == 0 && us_kallsyms_address(&l->symbols, "init_task"))
		return 0;
	int file = need_file(r);
	if (file == 0)
		take_symbols_of_file(r);
	return file == -ENOENT ? ret : file;
}

static int read_all(struct reader *r, struct us_err *e)
{
	struct us_linux *l = r->l;
	const struct us_linux_memory m = { read_kernel, r };
	int ret = read_symbols(r, e);
	if (ret < 0)
		return ret;
	l->slide_known = r->s->place.arch->linked_at != 0;
	if (l->slide_known) /* a header may precede the text */
		l->slide = (int64_t)((l->text - r->s->place.arch->linked_at) &
				     ~(US_LINUX_MAP_STEP - 1));
	l->check_at = l->symbols.at;
	if (!read_kernel(r, l->check_at, l->check, sizeof(l->check)))
		return us_fail(
			e, -EFAULT,
			"read the guest's kernel: its memory can no longer be read");
	read_release(r);
	if (r->s->mem) {
		use_own_tables(r);
		read_info(r);
		ret = read_types(r, &m);
	}
	if (r->file.image) {
		l->slide = (int64_t)r->file.bias;
		l->slide_known = true;
	}
	if (ret == 0 || ret == -ENOENT)
		ret = read_rules(r);
	if (ret == 0)
		ret = collect_starts(l);
	if (ret == 0)
		ret = collect_parts(l);
	l->unfinished = is_stopped(r);
	return ret < 0 ? us_fail(e, ret, "read the guest's kernel: %s", strerror(-ret))
		       : 0;
}

int us_linux_read(const struct us_linux_source *s, struct us_linux **ret,
		  struct us_err *e)
{
	struct reader *r = calloc(1, sizeof(*r));
	struct us_linux *l = calloc(1, sizeof(*l));
	int code = -ENOMEM;
	if (r && l) {
		const struct us_linux_memory m = { read_kernel, r };
		r->s = s;
		r->l = l;
		r->space = s->place.space;
		us_paging_init(&r->paging, s->mem);
		code = us_linux_image_init(&r->image, s->place.start, s->place.size,
					   &m);
	}
	if (code < 0)
		us_fail(e, code, "read the guest's kernel: %s", strerror(-code));
	else
		code = read_all(r, e);
	if (r) {
		us_linux_image_fini(&r->image);
		us_vmlinux_close(&r->file);
	}
	free(r);
	if (code < 0)
		us_linux_free(l);
	else
		*ret = l;
	return code == -EBADMSG || code == -E2BIG || code == -EFAULT ? -ENOENT : code;
}

void us_linux_free(struct us_linux *l)
{
	if (!l)
		return;
	us_kallsyms_fini(&l->symbols);
	us_linux_modules_fini(&l->modules);
	us_cfi_table_free(l->cfi);
	free(l->start);
	free(l->part);
	free(l);
}

static bool find_in_module(const struct us_linux *l, us_gva pc,
			   struct us_linux_name *ret)
{
	const struct us_linux_module *m = us_linux_module_at(&l->modules, pc);
	if (!m)
		return false;
	const struct us_linux_function *f = us_linux_module_function(&l->modules, m,
								     pc);
	*ret = (struct us_linux_name){ m->start, m->end, NULL, m->name };
	if (f)
		*ret = (struct us_linux_name){ f->start, f->end,
					       l->modules.names.v + f->name, m->name };
	return true;
}

bool us_linux_find(const struct us_linux *l, us_gva pc, struct us_linux_name *ret)
{
	us_gva end;
	const struct us_kallsym *s = us_kallsyms_find(&l->symbols, pc, &end);
	if (!s)
		return find_in_module(l, pc, ret);
	*ret = (struct us_linux_name){ s->addr, end, us_kallsym_name(&l->symbols, s),
				       US_LINUX_KERNEL };
	return true;
}

bool us_linux_is_same(const struct us_linux *before, uint64_t drawn,
		      const struct us_linux *after)
{
	/* The random number does not change during a boot.  If there was one and now
	 * there is none, this is another boot, too. */
	return before->text == after->text && before->check_at == after->check_at &&
	       !memcmp(before->check, after->check, sizeof(before->check)) &&
	       (!drawn || !after->drawn_at || drawn == after->drawn);
}

static void group(char *ret, size_t size, size_t n)
{
	if (n >= 1000)
		snprintf(ret, size, "%zu,%03zu", n / 1000, n % 1000);
	else
		snprintf(ret, size, "%zu", n);
}

void us_linux_describe(const struct us_linux *l, char *ret, size_t size)
{
	const char *file = l->types_from[0] ? l->types_from : l->symbols_from;
	char symbols[32], bpf[40] = "";
	if (l->modules.n_bpf)
		snprintf(bpf, sizeof(bpf), ", %zu BPF program%s", l->modules.n_bpf,
			 l->modules.n_bpf > 1 ? "s" : "");
	group(symbols, sizeof(symbols), l->symbols.n);
	int n = snprintf(
		ret, size,
		"Linux %s (from its memory%s%s): %s symbols, %zu modules%s, "
		"%s, %s",
		l->release[0] ? l->release : "of unknown version",
		file[0] ? " and " : "", file, symbols, l->modules.n - l->modules.n_bpf,
		bpf, l->orc ? "ORC" : "no ORC", l->has_types ? "" : "no types (BTF), ");
	if (n < 0 || (size_t)n >= size)
		return;
	snprintf(ret + n, size - (size_t)n,
		 l->slide_known ? "KASLR slide 0x%" PRIx64 : "at 0x%" PRIx64,
		 l->slide_known ? (uint64_t)l->slide : l->text);
}
