/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kernel_btf.c: see kernel_btf.h. */
#include "linux/kernel_btf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PAGE	   4096U
#define MAGIC	   0xeb9fU
#define VERSION	   1U
#define HEADER	   24U /* bytes that are read of the header */
#define TYPE	   12U
#define MAX_TYPES  (4U << 20)
#define MAX_DEPTH  8  /* of nested structs without a name */
#define MAX_ALIAS  16 /* of typedefs and qualifiers in a row */
#define MAX_MEMBER 65536U
#define MAX_HEADS  64 /* headers that are tried */

enum kind {
	KIND_INT = 1,
	KIND_PTR,
	KIND_ARRAY,
	KIND_STRUCT,
	KIND_UNION,
	KIND_ENUM,
	KIND_FWD,
	KIND_TYPEDEF,
	KIND_VOLATILE,
	KIND_CONST,
	KIND_RESTRICT,
	KIND_FUNC,
	KIND_FUNC_PROTO,
	KIND_VAR,
	KIND_DATASEC,
	KIND_FLOAT,
	KIND_DECL_TAG,
	KIND_TYPE_TAG,
	KIND_ENUM64,
	N_KIND,
};

static uint32_t le32(const uint8_t *p)
{
	uint32_t v;
	memcpy(&v, p, sizeof(v));
	return v;
}

static unsigned kind_of(const uint8_t *t)
{
	return le32(t + 4) >> 24 & 31;
}

static unsigned vlen_of(const uint8_t *t)
{
	return le32(t + 4) & 0xffff;
}

/* The bytes behind the first TYPE bytes of a type, or SIZE_MAX. */
static size_t rest_of(const uint8_t *t)
{
	size_t n = vlen_of(t);
	switch (kind_of(t)) {
	case KIND_INT:
	case KIND_VAR:
	case KIND_DECL_TAG:
		return 4;
	case KIND_ARRAY:
		return 12;
	case KIND_STRUCT:
	case KIND_UNION:
	case KIND_DATASEC:
	case KIND_ENUM64:
		return 12 * n;
	case KIND_ENUM:
	case KIND_FUNC_PROTO:
		return 8 * n;
	case KIND_PTR:
	case KIND_FWD:
	case KIND_TYPEDEF:
	case KIND_VOLATILE:
	case KIND_CONST:
	case KIND_RESTRICT:
	case KIND_FUNC:
	case KIND_FLOAT:
	case KIND_TYPE_TAG:
		return 0;
	default:
		return SIZE_MAX;
	}
}

/* Count the types and, if at is not NULL, note where they are.  Stop at a kind of a
 * newer kernel: where the next type begins is not known. */
static size_t pass_types(const struct us_btf *b, uint32_t *at)
{
	size_t n = 1;
	for (size_t off = 0; b->types_size - off >= TYPE && n < MAX_TYPES; n++) {
		size_t rest = rest_of(b->types + off);
		if (rest > b->types_size - off - TYPE)
			break;
		if (at)
			at[n] = (uint32_t)off;
		off += TYPE + rest;
	}
	return n;
}

int us_btf_open(const uint8_t *bytes, size_t size, struct us_btf *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (size < HEADER || size > US_BTF_MOST || (le32(bytes) & 0xffff) != MAGIC)
		return -EBADMSG;
	uint64_t head = le32(bytes + 4);
	uint64_t types = head + le32(bytes + 8), strings = head + le32(bytes + 16);
	uint64_t types_size = le32(bytes + 12), strings_size = le32(bytes + 20);
	if (types > size || types_size > size - types || strings > size ||
	    !strings_size || strings_size > size - strings ||
	    bytes[strings + strings_size - 1])
		return -EBADMSG;
	ret->types = bytes + types;
	ret->types_size = types_size;
	ret->strings = bytes + strings;
	ret->strings_size = strings_size;
	ret->n = pass_types(ret, NULL);
	ret->at = calloc(ret->n, sizeof(*ret->at));
	if (!ret->at)
		return -ENOMEM;
	pass_types(ret, ret->at);
	return 0;
}

/* -ENOENT: there are no types. */
static int open_at(struct us_linux_image *i, us_gva start, uint64_t size,
		   struct us_btf *ret)
{
	const uint8_t *bytes = size <= US_BTF_MOST ? us_linux_image_at(i, start, size)
						   : NULL;
	int r = bytes ? us_btf_open(bytes, size, ret) : -ENOENT;
	return r == 0 || r == -ENOMEM ? r : -ENOENT;
}

/* If a header of types is there, the size that it gives; 0: it is no header. */
static uint64_t size_at(struct us_linux_image *i, us_gva at)
{
	const uint8_t *head = us_linux_image_at(i, at, HEADER);
	if (!head || le32(head) != (MAGIC | VERSION << 16) || le32(head + 4) != HEADER)
		return 0;
	return (uint64_t)HEADER + le32(head + 16) + le32(head + 20);
}

/* The symbol table has only functions, so find the types by their header and
 * contents. */
static int search_of_kernel(struct us_linux_image *i, struct us_btf *ret)
{
	const uint32_t head = MAGIC | VERSION << 16;
	unsigned heads = 0;
	for (us_gva page = i->start; page < i->start + i->size; page += PAGE) {
		const uint8_t *bytes = us_linux_image_at(i, page, PAGE), *at = bytes;
		/* The types are a section, which the linker aligns to at least 4
		 * bytes. */
		while (at && (at = memmem(at, (size_t)(bytes + PAGE - at), &head, 4))) {
			us_gva start = page + (us_gva)(at - bytes);
			uint64_t size = start % 4 ? 0 : size_at(i, start);
			int r = size ? open_at(i, start, size, ret) : -ENOENT;
			if (r != -ENOENT && us_btf_struct(ret, "task_struct"))
				return r;
			us_btf_close(ret);
			if (r == -ENOMEM || ++heads == MAX_HEADS)
				return r == -ENOMEM ? r : -ENOENT;
			at += 4;
		}
	}
	return -ENOENT;
}

int us_btf_of_kernel(struct us_linux_image *i, const struct us_kallsyms *k,
		     struct us_btf *ret)
{
	us_gva start = us_kallsyms_address(k, "__start_BTF");
	us_gva stop = us_kallsyms_address(k, "__stop_BTF");
	memset(ret, 0, sizeof(*ret));
	if (!start && !us_kallsyms_address(k, "init_task"))
		return search_of_kernel(i, ret);
	return start && stop > start ? open_at(i, start, stop - start, ret) : -ENOENT;
}

void us_btf_close(struct us_btf *b)
{
	free(b->at);
	b->at = NULL;
	b->n = 0;
}

static const uint8_t *type_at(const struct us_btf *b, uint32_t type)
{
	return type && type < b->n ? b->types + b->at[type] : NULL;
}

static const char *string_at(const struct us_btf *b, uint32_t at)
{
	return at < b->strings_size ? (const char *)b->strings + at : "";
}

uint32_t us_btf_struct(const struct us_btf *b, const char *name)
{
	for (uint32_t k = 1; k < b->n; k++) {
		const uint8_t *t = b->types + b->at[k];
		if ((kind_of(t) == KIND_STRUCT || kind_of(t) == KIND_UNION) &&
		    !strcmp(string_at(b, le32(t)), name))
			return k;
	}
	return 0;
}

/* Resolve typedefs and qualifiers to the type itself, or 0. */
static uint32_t bare(const struct us_btf *b, uint32_t type)
{
	for (unsigned k = 0; k < MAX_ALIAS; k++) {
		const uint8_t *t = type_at(b, type);
		if (!t)
			return 0;
		switch (kind_of(t)) {
		case KIND_TYPEDEF:
		case KIND_VOLATILE:
		case KIND_CONST:
		case KIND_RESTRICT:
		case KIND_TYPE_TAG:
			type = le32(t + 8);
			break;
		default:
			return type;
		}
	}
	return 0;
}

uint32_t us_btf_element(const struct us_btf *b, uint32_t type, uint32_t *ret_n)
{
	const uint8_t *t = type_at(b, bare(b, type));
	if (!t || kind_of(t) != KIND_ARRAY)
		return 0;
	*ret_n = le32(t + TYPE + 8);
	return le32(t + TYPE);
}

uint32_t us_btf_size(const struct us_btf *b, uint32_t type)
{
	uint64_t times = 1;
	for (unsigned k = 0; k < MAX_DEPTH; k++) {
		uint32_t n, element = us_btf_element(b, type, &n);
		const uint8_t *t = type_at(b, bare(b, type));
		if (element) {
			times *= n;
			type = element;
			if (times > UINT32_MAX)
				return 0;
			continue;
		}
		if (!t)
			return 0;
		switch (kind_of(t)) {
		case KIND_PTR:
			times *= 8;
			break;
		case KIND_INT:
		case KIND_STRUCT:
		case KIND_UNION:
		case KIND_ENUM:
		case KIND_FLOAT:
		case KIND_ENUM64:
			times *= le32(t + 8);
			break;
		default:
			return 0;
		}
		return times <= UINT32_MAX ? (uint32_t)times : 0;
	}
	return 0;
}

/* left: how many members the search may still visit, so that nested types cannot make
 * it long. */
struct search {
	const struct us_btf *b;
	const char *name;
	unsigned left;
};

/* A member's offset in bits; a bit field has its size from bit 24 up. */
static uint32_t bits_of(const uint8_t *type, const uint8_t *member)
{
	uint32_t v = le32(member + 8);
	return le32(type + 4) >> 31 ? v & 0xffffff : v;
}

static bool find_member(struct search *s, uint32_t type, uint64_t base, unsigned depth,
			struct us_btf_member *ret)
{
	const uint8_t *t = type_at(s->b, bare(s->b, type));
	if (!t || (kind_of(t) != KIND_STRUCT && kind_of(t) != KIND_UNION) ||
	    depth == MAX_DEPTH)
		return false;
	for (unsigned k = 0; k < vlen_of(t); k++) {
		if (!s->left)
			return false;
		s->left--;
		const uint8_t *m = t + TYPE + 12 * (size_t)k;
		const char *name = string_at(s->b, le32(m));
		uint64_t bits = base + bits_of(t, m);
		if (!*name && find_member(s, le32(m + 4), bits, depth + 1, ret))
			return true;
		if (strcmp(name, s->name) || bits % 8 || bits / 8 > UINT32_MAX)
			continue;
		ret->offset = (uint32_t)(bits / 8);
		ret->type = le32(m + 4);
		ret->size = us_btf_size(s->b, ret->type);
		return true;
	}
	return false;
}

bool us_btf_member(const struct us_btf *b, uint32_t type, const char *name,
		   struct us_btf_member *ret)
{
	struct search s = { b, name, MAX_MEMBER };
	return find_member(&s, type, 0, 0, ret);
}

bool us_btf_path(const struct us_btf *b, const char *type, const char *path,
		 struct us_btf_member *ret)
{
	uint32_t in = us_btf_struct(b, type), base = 0;
	char name[64];
	while (in) {
		size_t n = strcspn(path, ".");
		if (n >= sizeof(name))
			return false;
		memcpy(name, path, n);
		name[n] = '\0';
		if (!us_btf_member(b, in, name, ret) || ret->offset > UINT32_MAX - base)
			return false;
		base = ret->offset += base;
		in = ret->type;
		if (!path[n])
			return true;
		path += n + 1;
	}
	return false;
}
