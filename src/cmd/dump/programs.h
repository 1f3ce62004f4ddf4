/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * programs.h: the programs of a Linux guest's tasks: rules to unwind their stacks,
 * and names of these and of the vCPUs' stacks, without files from the user.
 *
 * The mappings of each process, their call frame information and their dynamic symbols
 * are read as for a recording (record/programs.h), but for all processes at once.
 * Names are found as in a report, from a temporary recording of these stacks that is
 * private to the command.  What takes longer than US_DUMP_PROGRAMS_NS is left out.
 */
#ifndef US_CMD_DUMP_PROGRAMS_H
#define US_CMD_DUMP_PROGRAMS_H

#include "cmd/record/kernel.h"
#include "profile/naming.h"

#define US_DUMP_PROGRAMS_NS (3 * UINT64_C(1000000000))

struct us_dump_programs {
	struct us_programs *of; /* owned by the kernel; NULL: nothing was read */
	const struct us_linux *kernel;
	struct us_linux_tasks *list; /* owned by the caller */
	/* Owned by the caller; used until names are looked up. */
	struct us_paging *paging;
	uint64_t until_ns;
	int fd; /* the temporary recording; valid with writer */
	struct us_writer *writer;
	uint32_t n; /* stacks in it */
	struct us_naming *naming;
	bool pair; /* each program has two page-table roots */
	bool late; /* something was left out */
};

/* Call it after us_kernel_stop().  rules: give the unwinder the available rules of all
 * tasks' programs.  0, or -ENOMEM: without rules. */
US_MUST_CHECK int us_dump_programs_read(struct us_dump_programs *p, struct us_kernel *k,
					struct us_paging *paging,
					struct us_linux_tasks *list, bool rules);
/* Add a stack, to be named later: of a task, or of what a vCPU ran with these page
 * tables.  0 or -errno. */
US_MUST_CHECK int us_dump_programs_add(struct us_dump_programs *p, us_gpa root,
				       const struct us_stack *s);
/* After the last stack: read the mappings of programs that have one, and the names that
 * the guest's memory has. */
US_MUST_CHECK int us_dump_programs_end(struct us_dump_programs *p);
/* The guest is no longer needed: open the files. */
US_MUST_CHECK int us_dump_programs_name(struct us_dump_programs *p,
					const struct us_debug_dirs *dirs,
					bool raw_names, struct us_err *e);
void us_dump_programs_fini(struct us_dump_programs *p); /* accepts a zeroed one */

/* As us_symbols_lookup_at(), for a program with these page tables. */
size_t us_dump_programs_lookup(const struct us_dump_programs *p, us_gpa root, us_gva pc,
			       bool is_return, struct us_frame *ret, size_t max);
/* The file mapped at pc, with its path in the guest, and the address in it; NULL: not
 * known. */
const char *us_dump_programs_file(const struct us_dump_programs *p, us_gpa root,
				  us_gva pc, uint64_t *ret_at);
/* The k-th warning, from 0; false: no more. */
bool us_dump_programs_warning(const struct us_dump_programs *p, size_t k, char *dst,
			      size_t size);

#endif
