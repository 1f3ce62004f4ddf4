/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dump_programs.h: the programs of a Linux guest's tasks: by what their stacks are
 * unwound, and their names, without a file that the user names.
 *
 * What each process has mapped, its call frame information and its dynamic symbols are
 * read as while a guest is recorded (record/programs.h), but of all at once; the names
 * of files come by what a report has them by, from a recording of these stacks that
 * only it sees.  What takes longer than US_DUMP_PROGRAMS_NS is left out.
 */
#ifndef US_CMD_DUMP_PROGRAMS_H
#define US_CMD_DUMP_PROGRAMS_H

#include "cmd/record/kernel.h"
#include "profile/naming.h"

#define US_DUMP_PROGRAMS_NS (3 * UINT64_C(1000000000))

struct us_dump_programs {
	struct us_programs *of; /* the kernel's; NULL: nothing was read */
	const struct us_linux *kernel;
	struct us_linux_tasks *list; /* the caller's */
	struct us_paging *paging;    /* likewise, until it is to be named */
	uint64_t until_ns;
	int fd; /* the recording; valid with writer */
	struct us_writer *writer;
	uint32_t n; /* stacks in it */
	struct us_naming *naming;
	bool late; /* something was left out */
};

/* After us_kernel_stop().  Gives the unwinder the rules that there are of the tasks'
 * programs.  0, or -ENOMEM: without. */
US_MUST_CHECK int us_dump_programs_read(struct us_dump_programs *p, struct us_kernel *k,
					struct us_paging *paging,
					struct us_linux_tasks *list);
/* A task's stack, to be named.  0 or -errno. */
US_MUST_CHECK int us_dump_programs_add(struct us_dump_programs *p,
				       const struct us_linux_task *t,
				       const struct us_stack *s);
/* After the last one: read what the guest's memory has of names. */
US_MUST_CHECK int us_dump_programs_end(struct us_dump_programs *p);
/* The guest is not looked at any more: open the files. */
US_MUST_CHECK int us_dump_programs_name(struct us_dump_programs *p,
					const struct us_debug_dirs *dirs,
					bool raw_names, struct us_err *e);
void us_dump_programs_fini(struct us_dump_programs *p); /* accepts a zeroed one */

/* As us_symbols_lookup_at(), of a program by these page tables. */
size_t us_dump_programs_lookup(const struct us_dump_programs *p, us_gpa root, us_gva pc,
			       bool is_return, struct us_frame *ret, size_t max);
/* The file that is mapped there, as the guest calls it, and the address in it; NULL:
 * not known. */
const char *us_dump_programs_file(const struct us_dump_programs *p, us_gpa root,
				  us_gva pc, uint64_t *ret_at);
/* What is to be said of them, in words: the k-th, from 0 on; false: no more. */
bool us_dump_programs_warning(const struct us_dump_programs *p, size_t k, char *dst,
			      size_t size);

#endif
