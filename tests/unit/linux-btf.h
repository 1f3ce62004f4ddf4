/* SPDX-License-Identifier: GPL-2.0-or-later */
/* linux-btf.h: type information as a kernel has it, of the structs that are looked for.
 */
#ifndef US_TEST_LINUX_BTF_H
#define US_TEST_LINUX_BTF_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define TEST_BTF_HEAD 24

struct test_btf {
	uint8_t types[4096], strings[2048], all[8192];
	uint32_t n_types, n_strings, n;
};

static inline uint32_t btf_string(struct test_btf *b, const char *text)
{
	uint32_t at = b->n_strings;
	memcpy(b->strings + at, text, strlen(text) + 1);
	b->n_strings += (uint32_t)strlen(text) + 1;
	return at;
}

static inline void btf_put(struct test_btf *b, uint32_t v)
{
	memcpy(b->types + b->n_types, &v, 4);
	b->n_types += 4;
}

/* The number of the new type; size is a type's number where the kind has one. */
static inline uint32_t btf_type(struct test_btf *b, const char *name, uint32_t kind,
				uint32_t n, uint32_t size)
{
	btf_put(b, *name ? btf_string(b, name) : 0);
	btf_put(b, kind << 24 | n);
	btf_put(b, size);
	return ++b->n;
}

static inline void btf_member(struct test_btf *b, const char *name, uint32_t type,
			      uint32_t byte)
{
	btf_put(b, *name ? btf_string(b, name) : 0);
	btf_put(b, type);
	btf_put(b, 8 * byte);
}

static inline void btf_begin(struct test_btf *b)
{
	memset(b, 0, sizeof(*b));
	b->n_strings = 1;
}

/* The bytes are in b->all. */
static inline size_t btf_end(struct test_btf *b)
{
	uint32_t head[6] = { 0x1eb9f,	 TEST_BTF_HEAD, 0,
			     b->n_types, b->n_types,	b->n_strings };
	memcpy(b->all, head, sizeof(head));
	memcpy(b->all + TEST_BTF_HEAD, b->types, b->n_types);
	memcpy(b->all + TEST_BTF_HEAD + b->n_types, b->strings, b->n_strings);
	return TEST_BTF_HEAD + b->n_types + b->n_strings;
}

/* Offsets of the struct module below. */
#define TEST_LIST     8
#define TEST_NAME     24
#define TEST_CODE     96
#define TEST_INIT     120 /* before 6.4 */
#define TEST_KALLSYMS 160
#define TEST_ARCH     200
/* Of struct bpf_ksym. */
#define TEST_KSYM_NAME 16
#define TEST_KSYM_NODE 80

/* struct module as of 6.4 (its pieces in an array) or before. */
static inline size_t btf_module(struct test_btf *b, int pieces)
{
	btf_begin(b);
	uint32_t u32 = btf_type(b, "unsigned int", 1, 0, 4);
	btf_put(b, 32);
	uint32_t chr = btf_type(b, "char", 1, 0, 1);
	btf_put(b, 8);
	uint32_t ptr = btf_type(b, "", 2, 0, 0);
	uint32_t name = btf_type(b, "", 3, 0, 0);
	btf_put(b, chr);
	btf_put(b, u32);
	btf_put(b, 56);
	uint32_t list = btf_type(b, "list_head", 4, 2, 16);
	btf_member(b, "next", ptr, 0);
	btf_member(b, "prev", ptr, 8);
	uint32_t layout = btf_type(b, pieces ? "module_memory" : "module_layout", 4,
				   pieces ? 2 : 3, 24);
	btf_member(b, "base", ptr, 0);
	btf_member(b, "size", u32, 8);
	if (!pieces)
		btf_member(b, "text_size", u32, 12);
	uint32_t array = btf_type(b, "", 3, 0, 0);
	btf_put(b, layout);
	btf_put(b, u32);
	btf_put(b, 2);
	uint32_t inner = btf_type(b, "", 4, 3, 24);
	btf_member(b, "num_orcs", u32, 0);
	btf_member(b, "orc_unwind_ip", ptr, 8);
	btf_member(b, "orc_unwind", ptr, 16);
	uint32_t arch = btf_type(b, "mod_arch_specific", 4, 1, 24);
	btf_member(b, "", inner, 0);
	btf_type(b, "mod_kallsyms", 4, 3, 24);
	btf_member(b, "symtab", ptr, 0);
	btf_member(b, "num_symtab", u32, 8);
	btf_member(b, "strtab", ptr, 16);
	uint32_t alias = btf_type(b, "", 10, 0, ptr); /* const */
	btf_type(b, "module", 4, pieces ? 5 : 6, 256);
	btf_member(b, "list", list, TEST_LIST);
	btf_member(b, "name", name, TEST_NAME);
	btf_member(b, pieces ? "mem" : "core_layout", pieces ? array : layout,
		   TEST_CODE);
	if (!pieces)
		btf_member(b, "init_layout", layout, TEST_INIT);
	btf_member(b, "kallsyms", alias, TEST_KALLSYMS);
	btf_member(b, "arch", arch, TEST_ARCH);
	uint32_t symbol = btf_type(b, "", 3, 0, 0);
	btf_put(b, chr);
	btf_put(b, u32);
	btf_put(b, 64);
	btf_type(b, "bpf_ksym", 4, 4, 96);
	btf_member(b, "start", ptr, 0);
	btf_member(b, "end", ptr, 8);
	btf_member(b, "name", symbol, TEST_KSYM_NAME);
	btf_member(b, "lnode", list, TEST_KSYM_NODE);
	return btf_end(b);
}

#endif
