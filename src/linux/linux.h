/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * linux.h: what a Linux guest's memory says about its kernel.
 *
 * Read from the host, once, without any file: where the kernel is (image.h), its
 * version, the symbols (kallsyms.h), how to unwind it (orc.h), the modules that are
 * loaded (modules.h).  What it lacks of that, its ELF file may have (vmlinux.h).  Setup
 * path: takes some 100 to 300 ms, does not need the guest to be held, for what is read
 * does not change while the kernel runs.
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

/* __USER32_CS of arch/x86/include/asm/segment.h: what 32-bit programs run by. */
#define US_LINUX_CS_OF_32 0x23

struct us_linux_source {
	struct us_linux_place place;
	/* Guest-physical memory, for this thread alone; NULL: by virtual addresses. */
	struct us_mem *mem;
	struct us_linux_memory virt; /* used if mem is NULL */
	const atomic_bool *stop; /* once set, nothing can be read any more; or NULL */
	/* The user's, of which one may be the kernel (vmlinux.h).  Nobody else reads
	 * their DWARF meanwhile. */
	const struct us_elf_image *const *file;
	size_t n_file;
};

struct us_linux {
	char release[65]; /* "6.1.0-56-cloud-amd64"; "" if it was not found */
	us_gva text;	  /* _text */
	int64_t slide;	  /* text minus where it lies without KASLR */
	bool slide_known; /* by the architecture, or told by the kernel (VMCOREINFO) */
	struct us_kallsyms symbols;
	struct us_linux_modules modules;
	struct us_cfi_table *cfi; /* kernel and modules, at their addresses; or NULL */
	bool orc;      /* it is of them; else it only says where stacks begin */
	us_gva *start; /* of all functions, sorted */
	size_t n_start;
	us_gva code;	 /* where code begins: us_kallsyms_code() */
	us_gva text_end; /* of the code, modules included */
	/* Its own page tables, and how its tasks are read; not by a stub. */
	struct us_space space;
	struct us_linux_tasks_layout tasks;
	bool has_types, has_tasks; /* types were found; they say all of it */
	char types_from[64];	   /* the file that has them; "": the kernel (BTF) */
	char no_types[192];	   /* why there are none: "its kernel has no ..." */
	char no_tasks[192]; /* why not, where it has types: "its types do not ..." */
	bool misfit;	    /* that is since they are of another order of members */
	bool unfinished; /* it was stopped: what is not here it may have nevertheless */
	char symbols_from[64];		/* the file that has them; "": the kernel */
	struct us_linux_who_layout who; /* which of them a CPU runs */
	bool has_who;
	struct us_linux_mappings_layout mappings; /* of programs */
	bool has_mappings;
	struct us_page_cache_layout cache; /* of files' pages */
	bool has_cache;
	/* Bytes that no other kernel has there: the start of its symbols. */
	us_gva check_at;
	uint8_t check[64];
	/* A number that the kernel draws by lot when it starts (init_task's stack
	 * canary): where it is, 0 if that is not known, and what it was, 0 if it was
	 * too early. */
	us_gva drawn_at;
	uint64_t drawn;
};

/* -ENOENT: no Linux that is understood; -ENOMEM.  What is missing besides the symbols
 * is left out. */
US_MUST_CHECK int us_linux_read(const struct us_linux_source *s, struct us_linux **ret,
				struct us_err *e);
void us_linux_free(struct us_linux *l); /* accepts NULL */

struct us_linux_name {
	us_gva start, end;
	const char *name, *module; /* NULL name: in a module without symbols */
};
/* The function at pc; false: none. */
bool us_linux_find(const struct us_linux *l, us_gva pc, struct us_linux_name *ret);

/* Could both be of one start of one kernel?  drawn: the number that the one before was
 * seen to have drawn last, 0 if none. */
bool us_linux_is_same(const struct us_linux *before, uint64_t drawn,
		      const struct us_linux *after);

/* "Linux 6.1.0-56-cloud-amd64 (from its memory): 87,347 symbols, ORC, ..." */
void us_linux_describe(const struct us_linux *l, char *ret, size_t size);

#endif
