/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * linux.h: what a Linux guest's memory says about its kernel.
 *
 * uniscope reads it once, from the host, without any file: where the kernel is
 * (image.h), its version, its symbols (kallsyms.h), how to unwind it (orc.h), and the
 * loaded modules (modules.h).  If some of that is missing, the kernel's ELF file may
 * have it (vmlinux.h).
 *
 * Setup path: it takes some 100 to 300 ms.  The guest need not be held, because what is
 * read does not change while the kernel runs.
 */
#ifndef US_LINUX_H
#define US_LINUX_H

#include "linux/kallsyms.h"
#include "linux/mappings.h"
#include "linux/page_cache.h"
#include "linux/modules.h"
#include "linux/tasks.h"
#include "linux/who.h"
#include "unwind/cfi.h"

#include <stdatomic.h>

#define US_LINUX_KERNEL "linux" /* the kernel itself, as a module's name */

/* __USER32_CS of arch/x86/include/asm/segment.h: of 32-bit programs. */
#define US_LINUX_CS_OF_32 0x23

struct us_linux_source {
	struct us_linux_place place;
	/* Guest-physical memory, used by this thread only; NULL: read virtual
	 * addresses. */
	struct us_mem *mem;
	struct us_linux_memory virt; /* used if mem is NULL */
	const atomic_bool *stop;     /* once set, all reads fail; may be NULL */
	/* The user's ELF files; one may be the kernel (vmlinux.h).  No other thread may
	 * read their DWARF meanwhile. */
	const struct us_elf_image *const *file;
	size_t n_file;
};

struct us_linux {
	char release[65]; /* "6.1.0-56-cloud-amd64"; "" if it was not found */
	us_gva text;	  /* _text */
	int64_t slide;	  /* text minus its address without KASLR */
	bool slide_known; /* from the architecture, or from the kernel's VMCOREINFO */
	struct us_kallsyms symbols;
	struct us_linux_modules modules;
	struct us_cfi_table *cfi; /* of kernel and modules, by gva; or NULL */
	bool orc;      /* cfi holds ORC rules; else it only says where stacks begin */
	us_gva *start; /* of all functions, sorted */
	size_t n_start;
	us_gva *part; /* those that no caller enters: struct us_code_map */
	size_t n_part;
	us_gva code;	 /* where the code begins: us_kallsyms_code() */
	us_gva text_end; /* end of the code, modules included */
	/* The kernel's own page tables, and how to read its tasks; not through a
	 * stub. */
	struct us_space space;
	struct us_linux_tasks_layout tasks;
	bool has_types, has_tasks; /* types were found; they describe all of tasks */
	char types_from[64];	   /* the file that has them; "": the kernel (BTF) */
	char no_types[192];	   /* why there are none: "its kernel has no ..." */
	char no_tasks[192]; /* why !has_tasks, if has_types: "its types do not ..." */
	bool misfit;	    /* ... because its structs have another member order */
	bool unfinished; /* it was stopped: the kernel may have what is missing here */
	char symbols_from[64];		/* the file that has them; "": the kernel */
	struct us_linux_who_layout who; /* which task a CPU runs */
	bool has_who;
	struct us_linux_mappings_layout mappings; /* of programs */
	bool has_mappings;
	struct us_page_cache_layout cache; /* of files' pages */
	bool has_cache;
	/* Bytes that no other kernel has at this address: the start of its symbols. */
	us_gva check_at;
	uint8_t check[64];
	/* A random number that the kernel chooses when it starts (init_task's stack
	 * canary).  drawn_at: its address, 0 if not known.  drawn: its value, 0 if the
	 * kernel had not chosen it yet. */
	us_gva drawn_at;
	uint64_t drawn;
};

/* -ENOENT: no Linux kernel that uniscope understands; -ENOMEM.  Only the symbols are
 * required; anything else may be missing in *ret. */
US_MUST_CHECK int us_linux_read(const struct us_linux_source *s, struct us_linux **ret,
				struct us_err *e);
void us_linux_free(struct us_linux *l); /* accepts NULL */

struct us_linux_name {
	us_gva start, end;
	const char *name, *module; /* name NULL: in a module without symbols */
};
/* The function at pc; false: none. */
bool us_linux_find(const struct us_linux *l, us_gva pc, struct us_linux_name *ret);

/* Could both be from the same boot of the same kernel?  drawn: the last random number
 * (us_linux.drawn) seen in `before`, 0 if none. */
bool us_linux_is_same(const struct us_linux *before, uint64_t drawn,
		      const struct us_linux *after);

/* "Linux 6.1.0-56-cloud-amd64 (from its memory): 87,347 symbols, ORC, ..." */
void us_linux_describe(const struct us_linux *l, char *ret, size_t size);

#endif
