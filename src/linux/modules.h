/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * modules.h: the modules that a Linux kernel has loaded, and their symbols.
 *
 * They are in a list (kernel/module/main.c, "modules").  The member offsets of struct
 * module differ from build to build; they come from the kernel's type information
 * (BTF).  Without it the list is not read.  The walk of the list is bounded, and module
 * addresses outside of the region for modules are rejected.
 */
#ifndef US_LINUX_MODULES_H
#define US_LINUX_MODULES_H

#include "linux/kallsyms.h"
#include "linux/kernel_btf.h"
#include "linux/orc.h"

#define US_LINUX_MODULE_NAME 64 /* bytes with the NUL */
#define US_LINUX_MAX_MODULES 2048
#define US_LINUX_NO_ORC	     SIZE_MAX /* a BPF program: a module of one function */

struct us_linux_modules {
	struct us_linux_module {
		char name[US_LINUX_MODULE_NAME];
		us_gva start, end; /* its code */
		/* Its init code, which the kernel frees once it has run; 0, 0: none. */
		us_gva init_start, init_end;
		size_t first, n; /* index and number of its functions */
		size_t number;	 /* index in orc, or US_LINUX_NO_ORC */
	} * v;			 /* sorted by start */
	size_t n, cap;
	size_t n_bpf; /* so many of them are BPF programs: bpf_code.h */
	struct {
		struct us_linux_function {
			us_gva start, end;
			uint32_t name; /* offset in names */
		} * v;
		size_t n, cap;
	} functions; /* sorted by start within each module */
	struct {
		char *v;
		size_t n, cap;
	} names;
	struct us_linux_module_orc {
		uint8_t *bytes; /* places, then entries */
		us_gva ip_at;
		size_t n;
	} * orc; /* by us_linux_module.number; n 0: none */
	/* The list's head, and what was there before the list was read: it differs once
	 * a module comes or goes. */
	us_gva head;
	uint64_t links[2];
};

/* 0; -ENOENT: no list, or the types are not known; -ENOMEM. */
US_MUST_CHECK int us_linux_modules_read(const struct us_btf *b,
					const struct us_kallsyms *k,
					const struct us_linux_arch *arch,
					const struct us_linux_memory *m,
					struct us_linux_modules *ret);
void us_linux_modules_fini(struct us_linux_modules *m); /* accepts a zeroed one */

/* The module whose code contains pc, or NULL. */
const struct us_linux_module *us_linux_module_at(const struct us_linux_modules *m,
						 us_gva pc);
/* Its function at pc, or NULL. */
const struct us_linux_function *
us_linux_module_function(const struct us_linux_modules *m,
			 const struct us_linux_module *module, us_gva pc);

#endif
