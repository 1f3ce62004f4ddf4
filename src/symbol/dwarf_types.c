/* SPDX-License-Identifier: GPL-2.0-or-later */
/* dwarf_types.c: see dwarf_types.h. */
#include "symbol/dwarf_types.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/vec.h"
#include "symbol/dwarf_elf.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <string.h>

#define MAX_NAMES   64	 /* that are asked for: a bit each */
#define MAX_DEPTH   16	 /* of structs and arrays in one another */
#define MAX_ALIAS   16	 /* of typedefs and qualifiers in a row */
#define MAX_MEMBERS 4096 /* of one struct */
#define MAX_TYPES   16384
#define MAX_STRINGS (1U << 20) /* bytes */
#define N_SEEN	    (2U * MAX_TYPES)
#define SHORT	    4U	 /* characters; the string of a shorter name is in its entry */
#define STEPS	    256U /* between two looks at the clock */

#define BTF_MAGIC 0x1eb9fU /* and version 1 */
#define BTF_HEAD  24U
enum {
	BTF_INT = 1,
	BTF_PTR,
	BTF_ARRAY,
	BTF_STRUCT,
	BTF_UNION,
	BTF_ENUM,
};

struct maker {
	const char *const *names;
	size_t n;
	uint64_t wanted; /* a bit for each that is still looked for */
	struct {
		uint32_t *v;
		size_t n, cap;
	} types;
	struct {
		char *v;
		size_t n, cap;
	} strings;
	uint32_t n_type;
	struct seen {
		const void *die; /* where its entry is; NULL: free */
		uint32_t type;
	} * seen; /* N_SEEN of them, at most half are used */
	uint64_t began_ns, steps_left;
	bool cut, no_memory;
};

/* --- what is written --- */

static void put(struct maker *m, uint32_t word)
{
	uint32_t *slot = us_vec_push(&m->types);
	if (slot)
		*slot = word;
	else
		m->no_memory = true;
}

static uint32_t put_string(struct maker *m, const char *text)
{
	size_t begin = m->strings.n, n = text ? strlen(text) + 1 : 0;
	if (n <= 1 || n > MAX_STRINGS - begin)
		return 0;
	for (size_t k = 0; k < n; k++) {
		char *slot = us_vec_push(&m->strings);
		if (!slot) {
			m->no_memory = true;
			return 0;
		}
		*slot = text[k];
	}
	return (uint32_t)begin;
}

/* The number of the new type; size is a type's number where the kind has one. */
static uint32_t put_type(struct maker *m, uint32_t name, uint32_t kind, uint32_t n,
			 uint32_t size)
{
	put(m, name);
	put(m, kind << 24 | n);
	put(m, size);
	return ++m->n_type;
}

/* --- one type --- */

static struct seen *seen_at(struct maker *m, const void *die)
{
	size_t k = (size_t)((uintptr_t)die * 0x9e3779b97f4a7c15ULL >> 32) % N_SEEN;
	while (m->seen[k].die && m->seen[k].die != die)
		k = (k + 1) % N_SEEN;
	return &m->seen[k];
}

static bool number(Dwarf_Die *die, unsigned name, uint64_t *ret)
{
	Dwarf_Attribute a;
	Dwarf_Word w;
	if (!dwarf_attr(die, name, &a) || dwarf_formudata(&a, &w) != 0)
		return false;
	*ret = w;
	return true;
}

static bool is_alias(int tag)
{
	switch (tag) {
	case DW_TAG_typedef:
	case DW_TAG_const_type:
	case DW_TAG_volatile_type:
	case DW_TAG_restrict_type:
	case DW_TAG_atomic_type:
		return true;
	default:
		return false;
	}
}

/* Goes to the definition of a struct that is in a unit of its own
 * (-fdebug-types-section). */
static bool follow_signature(Dwarf_Die *die)
{
	Dwarf_Attribute a;
	Dwarf_Die at = *die;
	return !dwarf_attr(&at, DW_AT_signature, &a) || dwarf_formref_die(&a, die);
}

/* The type of a member or an element, without typedefs and qualifiers. */
static bool find_type(Dwarf_Die *of, Dwarf_Die *ret)
{
	Dwarf_Attribute a;
	Dwarf_Die at = *of;
	for (unsigned k = 0; k < MAX_ALIAS; k++) {
		if (!dwarf_attr(&at, DW_AT_type, &a) || !dwarf_formref_die(&a, ret))
			return false;
		if (!is_alias(dwarf_tag(ret)))
			return follow_signature(ret);
		at = *ret;
	}
	return false;
}

static uint32_t make(struct maker *m, Dwarf_Die *die, unsigned depth);

static uint32_t make_type_of(struct maker *m, Dwarf_Die *of, unsigned depth)
{
	Dwarf_Die type;
	return find_type(of, &type) ? make(m, &type, depth) : 0;
}

static bool step(struct maker *m)
{
	if (!m->steps_left)
		m->cut = true;
	else if (--m->steps_left % STEPS == 0 &&
		 us_thread_cpu_ns() - m->began_ns > US_DWARF_TYPES_BUDGET)
		m->cut = true;
	return !m->cut && !m->no_memory;
}

/* All dimensions as one; an array without an end has no elements. */
static uint32_t make_array(struct maker *m, Dwarf_Die *die, unsigned depth)
{
	uint64_t n = 1;
	uint32_t element = make_type_of(m, die, depth);
	Dwarf_Die d;
	bool more = dwarf_child(die, &d) == 0;
	for (unsigned k = 0; more && k < MAX_DEPTH && step(m); k++) {
		uint64_t v = 0, last;
		if (number(&d, DW_AT_upper_bound, &last))
			v = last < UINT32_MAX ? last + 1 : 0;
		else
			number(&d, DW_AT_count, &v);
		n = v <= UINT32_MAX / (n ? n : 1) ? n * v : 0;
		more = dwarf_siblingof(&d, &d) == 0;
	}
	if (!element)
		return 0;
	uint32_t type = put_type(m, 0, BTF_ARRAY, 0, 0);
	put(m, element);
	put(m, 0);
	put(m, (uint32_t)n);
	return type;
}

struct members {
	struct {
		uint32_t name, type, bits;
	} * v;
	size_t n, cap;
};

static void add_member(struct maker *m, Dwarf_Die *die, unsigned depth,
		       struct members *to)
{
	Dwarf_Attribute a;
	uint64_t at = 0;
	if (dwarf_tag(die) != DW_TAG_member || dwarf_attr(die, DW_AT_bit_size, &a))
		return;
	if (dwarf_attr(die, DW_AT_data_member_location, &a) &&
	    !number(die, DW_AT_data_member_location, &at))
		return;
	if (at > UINT32_MAX / 8)
		return;
	uint32_t type = make_type_of(m, die, depth);
	uint32_t name = put_string(m, dwarf_diename(die));
	__typeof__(to->v) slot = us_vec_push(to);
	m->no_memory |= !slot;
	if (!slot)
		return;
	slot->name = name;
	slot->type = type;
	slot->bits = (uint32_t)(8 * at);
}

static uint32_t make_struct(struct maker *m, Dwarf_Die *die, unsigned depth)
{
	struct members all = { 0 };
	Dwarf_Die d;
	int size = dwarf_bytesize(die);
	bool more = size >= 0 && dwarf_child(die, &d) == 0;
	while (more && all.n < MAX_MEMBERS && step(m)) {
		add_member(m, &d, depth, &all);
		more = dwarf_siblingof(&d, &d) == 0;
	}
	uint32_t kind = dwarf_tag(die) == DW_TAG_union_type ? BTF_UNION : BTF_STRUCT;
	uint32_t name = put_string(m, dwarf_diename(die));
	uint32_t type =
		size < 0 ? 0 : put_type(m, name, kind, (uint32_t)all.n, (uint32_t)size);
	for (size_t k = 0; type && k < all.n; k++) {
		put(m, all.v[k].name);
		put(m, all.v[k].type);
		put(m, all.v[k].bits);
	}
	free(all.v);
	return type;
}

static uint32_t make_new(struct maker *m, Dwarf_Die *die, unsigned depth)
{
	int size = dwarf_bytesize(die);
	switch (dwarf_tag(die)) {
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
		return make_struct(m, die, depth + 1);
	case DW_TAG_array_type:
		return make_array(m, die, depth + 1);
	case DW_TAG_pointer_type:
		return put_type(m, 0, BTF_PTR, 0, 0);
	case DW_TAG_enumeration_type:
		return size < 0 ? 0 : put_type(m, 0, BTF_ENUM, 0, (uint32_t)size);
	case DW_TAG_base_type:
		if (size < 0)
			return 0;
		size = (int)put_type(m, 0, BTF_INT, 0, (uint32_t)size);
		put(m, 0);
		return (uint32_t)size;
	default:
		return 0;
	}
}

/* Its number; 0: the type is not supported, or is too large. */
static uint32_t make(struct maker *m, Dwarf_Die *die, unsigned depth)
{
	/* Entries in .debug_types and .debug_info may have the same offset, so
	 * addresses are compared. */
	struct seen *s = seen_at(m, die->addr);
	if (s->die)
		return s->type; /* also 0: a type that contains itself */
	if (depth == MAX_DEPTH || m->n_type >= MAX_TYPES - MAX_DEPTH || !step(m))
		return 0;
	s->die = die->addr;
	s->type = make_new(m, die, depth);
	return s->type;
}

/* --- those that are wanted --- */

static void take(struct maker *m, Dwarf_Die *die)
{
	Dwarf_Attribute a;
	const char *name = dwarf_diename(die);
	if (!name || dwarf_attr(die, DW_AT_declaration, &a))
		return;
	for (size_t k = 0; k < m->n; k++)
		if (m->wanted >> k & 1 && !strcmp(name, m->names[k])) {
			if (make(m, die, 0))
				m->wanted &= ~(UINT64_C(1) << k);
			return;
		}
}

static bool is_c(Dwarf_Die *unit)
{
	switch (dwarf_srclang(unit)) {
	case DW_LANG_C:
	case DW_LANG_C89:
	case DW_LANG_C99:
	case DW_LANG_C11:
		return true;
	default:
		return false;
	}
}

static void look_into(struct maker *m, Dwarf_Die *unit)
{
	Dwarf_Die d;
	bool more = is_c(unit) && dwarf_child(unit, &d) == 0;
	while (more && m->wanted && step(m)) {
		int tag = dwarf_tag(&d);
		if (tag == DW_TAG_structure_type || tag == DW_TAG_union_type)
			take(m, &d);
		more = dwarf_siblingof(&d, &d) == 0;
	}
}

static void look_for_all(struct maker *m, Dwarf *dw)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Half version;
	Dwarf_Die die;
	uint8_t type;
	while (m->wanted && step(m) &&
	       dwarf_get_units(dw, cu, &cu, &version, &type, &die, NULL) == 0)
		look_into(m, &die);
}

/* A section's bytes, as libdw has unpacked them. */
static Elf_Data *section(Elf *elf, const char *what)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr h;
	size_t names;
	if (elf_getshdrstrndx(elf, &names) != 0)
		return NULL;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *name = gelf_getshdr(scn, &h)
					   ? elf_strptr(elf, names, h.sh_name)
					   : NULL;
		if (name && name[0] == '.' &&
		    !strcmp(name + 1 + (name[1] == 'z'), what))
			return elf_rawdata(scn, NULL);
	}
	return NULL;
}

/* A name that is no longer than its offset would be is in its entry instead. */
static size_t offset_size(const Elf_Data *info)
{
	static const uint8_t wide[] = { 0xff, 0xff, 0xff, 0xff };
	return info && info->d_buf && info->d_size >= sizeof(wide) &&
			       !memcmp(info->d_buf, wide, sizeof(wide))
		       ? 8
		       : 4;
}

/* Drops names that this kernel does not have: all of DWARF would be searched for
 * them. */
static void drop_absent(struct maker *m, Elf *elf, const Elf_Data *info)
{
	const Elf_Data *all = section(elf, "debug_str");
	size_t least = offset_size(info);
	if (!all || !all->d_buf)
		return;
	for (size_t k = 0; k < m->n; k++) {
		const char *name = m->names[k];
		size_t n = strlen(name);
		if (n >= least && !memmem(all->d_buf, all->d_size, name, n + 1))
			m->wanted &= ~(UINT64_C(1) << k);
	}
}

static int join(const struct maker *m, struct us_dwarf_types *ret)
{
	size_t types = 4 * m->types.n;
	uint32_t head[BTF_HEAD / 4] = {
		BTF_MAGIC,	 BTF_HEAD,	  0,
		(uint32_t)types, (uint32_t)types, (uint32_t)m->strings.n
	};
	ret->size = BTF_HEAD + types + m->strings.n;
	ret->bytes = malloc(ret->size);
	if (!ret->bytes)
		return -ENOMEM;
	memcpy(ret->bytes, head, BTF_HEAD);
	memcpy(ret->bytes + BTF_HEAD, m->types.v, types);
	memcpy(ret->bytes + BTF_HEAD + types, m->strings.v, m->strings.n);
	return 0;
}

static int read_all(struct maker *m, Elf *elf, Dwarf *dw, struct us_dwarf_types *ret)
{
	const Elf_Data *info = section(elf, "debug_info");
	const Elf_Data *more = section(elf, "debug_types");
	char *none = us_vec_push(&m->strings); /* the name of types without one */
	m->seen = calloc(N_SEEN, sizeof(*m->seen));
	if (!m->seen || !none)
		return -ENOMEM;
	/* No two entries share a byte, so more steps than bytes mean a reference that
	 * leads back. */
	m->steps_left = (info ? info->d_size : 0) + (more ? more->d_size : 0);
	m->began_ns = us_thread_cpu_ns();
	drop_absent(m, elf, info);
	uint64_t present = m->wanted;
	look_for_all(m, dw);
	if (m->no_memory)
		return -ENOMEM;
	ret->n_found = (size_t)__builtin_popcountll(present & ~m->wanted);
	ret->cut = m->cut;
	return ret->n_found ? join(m, ret) : -ENOENT;
}

int us_dwarf_types_read(const struct us_elf_file *f, const char *const *names, size_t n,
			struct us_dwarf_types *ret)
{
	struct maker m = { .names = names, .n = n < MAX_NAMES ? n : MAX_NAMES };
	memset(ret, 0, sizeof(*ret));
	m.wanted = m.n < MAX_NAMES ? (UINT64_C(1) << m.n) - 1 : UINT64_MAX;
	Elf *elf = us_dwarf_elf(f);
	Dwarf *dw = elf ? dwarf_begin_elf(elf, DWARF_C_READ, NULL) : NULL;
	int r = dw ? read_all(&m, elf, dw, ret) : -ENOENT;
	free(m.types.v);
	free(m.strings.v);
	free(m.seen);
	dwarf_end(dw);
	elf_end(elf);
	return r;
}
