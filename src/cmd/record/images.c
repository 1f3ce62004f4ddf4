/* SPDX-License-Identifier: GPL-2.0-or-later */
/* images.c: the files; see images.h. */
#include "cmd/record/images.h"

#include "base/cleanup.h"
#include "linux/orc_elf.h"
#include "symbol/beside.h"
#include "symbol/elf_cfi.h"
#include "symbol/elf_file.h"
#include "symbol/function_starts.h"
#include "vmm/proc.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define ENOUGH_OUTSIDE 10 /* samples */

/* "FILE@0x1000" to a path and a bias; a file whose name has an @ is taken whole. */
static int split_bias(const char *text, char path[US_STORE_MAX_PATH],
		      uint64_t *ret_bias, bool *ret_fixed, struct us_err *e)
{
	size_t len = strlen(text);
	*ret_bias = 0;
	*ret_fixed = false;
	if (len >= US_STORE_MAX_PATH)
		return us_fail(e, -ENAMETOOLONG, "-e %.60s...: the name is too long",
			       text);
	memcpy(path, text, len + 1);
	char *at = strrchr(path, '@');
	if (!at || access(text, F_OK) == 0)
		return 0;
	char *end;
	errno = 0;
	*ret_bias = strtoull(at + 1, &end, 0);
	if (end == at + 1 || *end || errno)
		return us_fail(e, -EINVAL, "-e %s: %s is no bias such as 0x1000000",
			       text, at + 1);
	*at = '\0';
	*ret_fixed = true;
	return 0;
}

static int take_starts(struct us_image *m, struct us_err *e)
{
	struct us_function_starts s;
	size_t n;
	const struct us_elf_symbol *sym = us_elf_image_symbols(m->elf, &n);
	if (us_function_starts_take(&s, sym, n, m->text_end) < 0)
		return us_fail(e, -ENOMEM, "out of memory for %zu function starts", n);
	m->start = s.start;
	m->n_start = s.n;
	m->part = s.part;
	m->n_part = s.n_part;
	return 0;
}

static int prepare(struct us_image *m, struct us_err *e)
{
	uint64_t most = 0, held = 0;
	if (!us_elf_image_text(m->elf, &m->text_start, &m->text_end))
		m->text_start = m->text_end = 0;
	int r = take_starts(m, e);
	if (r < 0)
		return r;
	const struct us_elf_file *f = us_elf_image_file(m->elf);
	m->lowest = f->n_code ? f->code[0].start : 0;
	for (size_t k = 0; k < f->n_code; k++) {
		uint64_t size = f->code[k].end - f->code[k].start;
		held |= f->code[k].filesz;
		if (f->code[k].start < m->lowest)
			m->lowest = f->code[k].start;
		if (size > most) {
			most = size;
			m->home = f->code[k].start;
		}
	}
	m->names_alone = f->n_code && !held;
	size_t n_sym;
	const struct us_elf_symbol *sym = us_elf_image_symbols(m->elf, &n_sym);
	/* vmlinux has ORC rules, which are better than its DWARF's. */
	r = us_orc_elf_read(f, sym, n_sym, &m->cfi);
	if (r != -ENOENT)
		return r < 0 ? us_fail(e, r, "out of memory for unwind tables") : 0;
	const struct us_elf_file *debug = us_elf_image_dwarf(m->elf);
	return us_elf_cfi_read(f, debug == f ? NULL : debug, &m->cfi, NULL, e);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* A missing debug file is no error.  One of another build deserves a note, and so does
 * one that nothing named. */
static void find_debug(struct us_images *i, struct us_elf_image *elf)
{
	struct us_err why = { 0 };
	char damage[400];
	size_t n;
	us_elf_image_symbols(elf, &n);
	int r = us_elf_image_find_debug(elf, i->dirs, &why);
	const char *how = us_elf_image_debug_beside(elf);
	if (r < 0 && r != -ENOENT)
		snprintf(i->note, sizeof(i->note), "%.250s", why.msg);
	else if (how)
		snprintf(i->note, sizeof(i->note),
			 "%.60s has no %s: taken from %.130s (%s)",
			 base_name(us_elf_image_path(elf)),
			 n ? "source lines" : "symbols", us_elf_image_debug_path(elf),
			 how);
	us_elf_image_symbols(elf, &n);
	if (us_elf_image_damage(elf, damage, sizeof(damage)))
		snprintf(i->note, sizeof(i->note), "%.200s: it was left out", damage);
	else if (r == -ENOENT && !n)
		snprintf(i->note, sizeof(i->note),
			 "no symbols: %.100s is stripped, and no file with its "
			 "symbols was found: addresses only; -e FILE names one",
			 base_name(us_elf_image_path(elf)));
}

/* A file of names alone fits any processor; an x86-64 kernel may be packed as a 32-bit
 * ELF file. */
static bool is_for(const struct us_elf_image *elf, uint16_t guest)
{
	uint16_t machine = us_elf_image_file(elf)->machine;
	return machine == guest || machine == EM_NONE ||
	       (guest == EM_X86_64 && machine == EM_386);
}

/* A kernel that the guest has loaded is older than its VMM.  Both times are rounded,
 * and one in the future says nothing. */
static bool is_younger(const struct us_images *i, const char *path)
{
	struct stat st;
	return i->begun && stat(path, &st) == 0 && st.st_mtime > i->begun + 1 &&
	       st.st_mtime <= time(NULL) + 1;
}

static int add(struct us_images *i, const char *path, const struct us_image *how,
	       struct us_err *e)
{
	struct us_image m = *how;
	if (i->n == US_MAX_IMAGES)
		return us_fail(e, -E2BIG, "open %s: more than %d images", path,
			       US_MAX_IMAGES);
	int r = us_elf_image_open(path, &m.elf, e);
	if (r < 0)
		return r;
	/* us_images_check_arch() reports what is wrong with files that the user
	 * gave. */
	if (m.guessed && i->machine && !is_for(m.elf, i->machine)) {
		us_elf_image_close(m.elf);
		return us_fail(e, -EINVAL, "%s is for another processor", path);
	}
	m.younger = is_younger(i, path);
	find_debug(i, m.elf);
	r = us_symbols_add_image(i->symbols, m.elf, e);
	if (r == 0)
		r = prepare(&m, e);
	if (r < 0) {
		free(m.start);
		free(m.part);
		return r;
	}
	i->place[i->n_place++] = (struct us_place){ .image = (uint8_t)i->n,
						    .bias = m.bias };
	i->v[i->n++] = m;
	return 0;
}

/* The note on files that were guessed. */
static void note_beside(struct us_images *i, const char *path,
			const struct us_beside *b, size_t first, size_t n)
{
	const char *name = base_name(path);
	char more[40] = "";
	if (n > 1)
		snprintf(more, sizeof(more), " and %zu more", n - 1);
	if (n)
		snprintf(i->note, sizeof(i->note),
			 "%.60s is no ELF file; compared with the guest: %.100s (%s)%s",
			 name, b->v[first].path,
			 us_beside_match_name(b->v[first].match), more);
	else
		snprintf(i->note, sizeof(i->note),
			 "no symbols: %.60s is no ELF file, and no ELF file with "
			 "symbols of its build is beside it; -e ELF names one",
			 name);
}

/* Add files with symbols beside one that is no ELF file.  Returns how many there are;
 * none is no error. */
static size_t add_beside(struct us_images *i, const char *path, bool given)
{
	struct us_image how = { .given = given, .guessed = true };
	struct us_beside b;
	struct us_err e;
	size_t n = 0, first = 0;
	int r = us_beside_find(path, NULL, &b);
	for (size_t k = 0; r == 0 && k < b.n; k++) {
		how.unproven = b.v[k].match == US_BESIDE_UNKNOWN;
		if (add(i, b.v[k].path, &how, &e) < 0)
			continue;
		first = n++ ? first : k;
	}
	note_beside(i, path, &b, first, n);
	us_beside_fini(&b);
	return n;
}

static int add_given(struct us_images *i, const char *text, struct us_err *e)
{
	char path[US_STORE_MAX_PATH];
	struct us_image how = { .given = true };
	int r = split_bias(text, path, &how.bias, &how.fixed, e);
	if (r < 0)
		return r;
	_cleanup_free_ char *whole = realpath(path, NULL); /* reports run elsewhere */
	r = add(i, whole ? whole : path, &how, e);
	if (r == -ENOEXEC && add_beside(i, path, true))
		return 0;
	if (r == 0)
		return 0;
	us_wrap(e, "-e %s", text);
	/* Avoid the codes that stand for the guest (us_exit_code): a file is at
	 * fault. */
	return r == -ENOENT || r == -EACCES || r == -EPERM ? -EIO : r;
}

/* Add the kernel that the VMM was started with; a missing one is no error. */
static void add_kernel(struct us_images *i, const struct us_guest *g)
{
	static const struct us_image how;
	struct us_err e = { 0 };
	char path[US_STORE_MAX_PATH];
	if (!g || (!us_guest_kernel_path(g, path, sizeof(path)) &&
		   !us_guest_boot_path(g, path, sizeof(path)))) {
		snprintf(i->note, sizeof(i->note),
			 "no kernel image is known: addresses only; -e ELF names it");
		return;
	}
	int r = add(i, path, &how, &e);
	if (r == -ENOEXEC)
		add_beside(i, path, false);
	else if (r < 0)
		snprintf(i->note, sizeof(i->note),
			 "no symbols: %.150s; -e ELF names another file", e.msg);
}

/* The guest's ELF machine, from the name of its QEMU; 0: not known. */
static uint16_t machine_of(const struct us_guest *g)
{
	static const struct {
		const char *exe;
		uint16_t machine;
	} all[] = { { "qemu-system-x86_64", EM_X86_64 },
		    { "qemu-system-i386", EM_X86_64 },
		    { "qemu-system-aarch64", EM_AARCH64 },
		    { "qemu-system-riscv64", EM_RISCV } };
	for (size_t k = 0; g && k < sizeof(all) / sizeof(*all); k++)
		if (strstr(g->exe, all[k].exe))
			return all[k].machine;
	return 0;
}

int us_images_open(struct us_images *i, const struct us_symbol_files *f,
		   const struct us_guest *g, struct us_err *e)
{
	memset(i, 0, sizeof(*i));
	i->dirs = &f->dirs;
	i->machine = machine_of(g);
	i->begun = g && g->start_time ? us_proc_began(g->start_time) : 0;
	int r = us_symbols_new(&i->symbols, e);
	for (size_t k = 0; r == 0 && k < f->n_image; k++)
		r = add_given(i, f->image[k], e);
	if (r == 0 && !f->n_image)
		add_kernel(i, g);
	if (r < 0)
		us_images_fini(i);
	return r;
}

static const char *machine_name(uint16_t machine)
{
	switch (machine) {
	case EM_X86_64:
		return "x86-64";
	case EM_386:
		return "i386";
	case EM_AARCH64:
		return "aarch64";
	case EM_RISCV:
		return "RISC-V";
	default:
		return NULL;
	}
}

static int not_for(const struct us_elf_image *elf, uint16_t guest, struct us_err *e)
{
	uint16_t machine = us_elf_image_file(elf)->machine;
	char number[48];
	snprintf(number, sizeof(number), "ELF machine %u", machine);
	const char *name = machine_name(machine);
	return us_fail(e, -EINVAL, "-e %s: the file is for %s, but the guest is %s",
		       us_elf_image_path(elf), name ? name : number,
		       machine_name(guest));
}

int us_images_check_arch(const struct us_images *i, enum us_arch arch, struct us_err *e)
{
	static const uint16_t machines[US_N_ARCH] = { [US_ARCH_X86_64] = EM_X86_64,
						      [US_ARCH_AARCH64] = EM_AARCH64,
						      [US_ARCH_RISCV64] = EM_RISCV };
	for (size_t k = 0; k < i->n; k++) {
		const struct us_elf_image *elf = i->v[k].elf;
		if (i->v[k].given && !i->v[k].guessed && !is_for(elf, machines[arch]))
			return not_for(elf, machines[arch], e);
	}
	return 0;
}

void us_images_fini(struct us_images *i)
{
	us_symbols_free(i->symbols);
	for (size_t k = 0; k < i->n; k++) {
		free(i->v[k].start);
		free(i->v[k].part);
		us_cfi_table_free(i->v[k].cfi);
	}
	i->symbols = NULL;
	i->n = i->n_place = 0;
}

bool us_images_counts(const struct us_images *i, const struct us_place *p)
{
	return !i->v[p->image].guessed || p->match == US_MATCH_YES;
}

static void tell_of(const struct us_images *i, size_t image, FILE *out)
{
	const char *path = us_elf_image_path(i->v[image].elf);
	uint64_t until = 0;
	bool seen = false, differs = false;
	for (size_t k = 0; k < i->n_place; k++) {
		const struct us_place *p = &i->place[k];
		if (p->image != image || p->end || !us_images_counts(i, p))
			continue;
		if (p->match == US_MATCH_YES && !p->until_ns)
			return;
		seen |= p->match == US_MATCH_YES;
		differs |= p->match == US_MATCH_NO;
		if (p->until_ns > until)
			until = p->until_ns;
	}
	if (seen)
		fprintf(out,
			"warning: %s was in the guest only until %.1f s: after that "
			"its memory differs, and the report gives addresses\n",
			path, (double)until / 1e9);
	else if (differs)
		fprintf(out,
			"warning: the guest does not run %s: its memory differs; the "
			"report gives addresses only\n",
			path);
}

bool us_images_guessed_wrong(const struct us_images *i)
{
	bool guessed = false;
	if (i->own_names)
		return false;
	for (size_t k = 0; k < i->n_place; k++) {
		guessed |= i->v[i->place[k].image].guessed;
		if (us_images_counts(i, &i->place[k]))
			return false;
	}
	return guessed;
}

void us_images_judge(struct us_images *i, enum us_match match)
{
	bool news = false;
	for (size_t k = 0; k < i->n_place; k++)
		news |= i->place[k].match != match;
	if (!news)
		return;
	atomic_fetch_add(&i->changes, 1);
	for (size_t k = 0; k < i->n_place; k++)
		i->place[k].match = (uint8_t)match;
	atomic_fetch_add(&i->changes, 1);
}

void us_image_note_patched(struct us_image *m, uint64_t bias,
			   const struct us_live_sample *l)
{
	if (m->younger && !m->changed &&
	    !us_elf_image_is_build(m->elf, bias, l->paging, &l->capture->regs.space))
		__atomic_store_n(&m->changed, true, __ATOMIC_RELAXED);
}

bool us_images_changed(const struct us_images *i, char *ret, size_t size)
{
	const char *path = NULL;
	char more[40] = "";
	size_t n = 0;
	for (size_t k = 0; k < i->n; k++) {
		if (!__atomic_load_n(&i->v[k].changed, __ATOMIC_RELAXED))
			continue;
		path = n++ ? path : us_elf_image_path(i->v[k].elf);
	}
	if (n > 1)
		snprintf(more, sizeof(more), " (and %zu more)", n - 1);
	if (n)
		snprintf(ret, size,
			 "%.500s%s was written after the guest started, and bytes of "
			 "its code differ from the guest's: names may be of another "
			 "build (start the guest again, or name the file that it "
			 "runs: -e FILE)",
			 path, more);
	return n;
}

/* A list has no code to search for, so it is right only where it says. */
void us_images_note_missed(struct us_images *i, const struct us_live_sample *l)
{
	const struct us_stack *s = l->stack;
	for (size_t k = 0; k < i->n; k++) {
		struct us_image *m = &i->v[k];
		unsigned outside = 0;
		for (unsigned f = 0; m->names_alone && !m->hit && f < s->n; f++) {
			if (s->flags[f] & (US_PC_USER | US_PC_SPACE | US_PC_TASK))
				continue;
			m->hit = us_elf_file_code(us_elf_image_file(m->elf),
						  s->pc[f] - m->bias);
			outside = 1;
		}
		m->n_outside += outside;
	}
}

bool us_images_missed(const struct us_images *i, char *ret, size_t size)
{
	for (size_t k = 0; k < i->n; k++) {
		const struct us_image *m = &i->v[k];
		if (!m->names_alone || m->hit || m->n_outside < ENOUGH_OUTSIDE)
			continue;
		snprintf(ret, size,
			 "no sample is in %.500s, at the addresses that it lists: it "
			 "gives no names; if its kernel runs at other addresses "
			 "(KASLR), -e FILE@BIAS says how far off, and an ELF file in "
			 "place of the list is found by its code",
			 us_elf_image_path(m->elf));
		return true;
	}
	return false;
}

void us_images_tell(const struct us_images *i, FILE *out)
{
	char text[800];
	if (us_images_missed(i, text, sizeof(text)))
		fprintf(out, "warning: %s\n", text);
	if (us_images_changed(i, text, sizeof(text)))
		fprintf(out, "warning: %s\n", text);
	if (us_images_guessed_wrong(i))
		fputs("warning: the guest runs none of the files with symbols beside "
		      "the kernel's; -e ELF names the right one\n",
		      out);
	for (size_t k = 0; k < i->n; k++)
		tell_of(i, k, out);
	if (i->full)
		fprintf(out,
			"note: the files given run at more than %d places: for the "
			"last of these the report gives addresses\n",
			US_MAX_PLACES);
	if (i->search.ambiguous)
		fputs("note: code of an image was seen in two places at once; neither "
		      "was used: -e ELF@BIAS says where it is\n",
		      out);
}

bool us_images_is_kernels(const struct us_images *i, const struct us_place *p)
{
	return p->match == US_MATCH_YES && !p->root &&
	       !((i->v[p->image].lowest + p->bias) >> 63);
}

bool us_images_found_one(const struct us_images *i)
{
	for (size_t k = 0; k < i->n_place; k++)
		if (i->place[k].match != US_MATCH_NO)
			return true;
	return false;
}

int us_images_name_places(struct us_images *i)
{
	int r = 0;
	for (size_t k = 0; r == 0 && k < i->n_place; k++) {
		const struct us_place *p = &i->place[k];
		const struct us_symbol_place at = { .bias = p->bias,
						    .root = p->root,
						    .is_kernels = us_images_is_kernels(
							    i, p),
						    .start = p->start,
						    .end = p->end };
		if (p->match != US_MATCH_NO && !p->until_ns && us_images_counts(i, p))
			r = us_symbols_place(i->symbols, i->v[p->image].elf, &at);
	}
	return r;
}

void us_images_module(const struct us_images *i, const struct us_place *p, size_t index,
		      struct us_module *ret)
{
	const struct us_image *m = &i->v[p->image];
	size_t len;
	const uint8_t *id = us_elf_image_build_id(m->elf, &len);
	*ret = (struct us_module){ .start = p->end ? p->start : m->text_start + p->bias,
				   .end = p->end ? p->end : m->text_end + p->bias,
				   .bias = p->bias,
				   .match = p->match,
				   .path = us_elf_image_path(m->elf),
				   .number = (uint32_t)index + 1,
				   .root = p->root,
				   .from_ns = p->from_ns,
				   .until_ns = p->until_ns };
	if (len > sizeof(ret->build_id))
		len = sizeof(ret->build_id);
	if (len)
		memcpy(ret->build_id, id, len);
	ret->build_id_len = (uint8_t)len;
	ret->code_hash = len ? 0 : us_elf_image_code_hash(m->elf);
}
