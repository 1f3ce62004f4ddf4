/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * who.h: which task a CPU of a Linux guest runs at this moment, and all that names it.
 *
 * Each CPU has a pointer to its current task in an area of its own (current_task;
 * pcpu_hot from 6.2 to 6.14; on aarch64 __entry_task, for entries from programs). While
 * the vCPU is held still what is read there is true, in the kernel, in a program and on
 * stacks of interrupts alike; and so is what the task says of itself.  A list that is
 * read once a second is not needed for that.
 *
 * Nothing here allocates, and all is bounded: it is of the hot path.
 */
#ifndef US_LINUX_WHO_H
#define US_LINUX_WHO_H

#include "guest/pointed.h"
#include "linux/tasks.h"

#define US_LINUX_CGROUP		256 /* bytes with the NUL */
#define US_LINUX_CGROUP_UNKNOWN "[not known]"

/* Where a kernel has what is read; offsets in bytes. */
struct us_linux_who_layout {
	us_gva per_cpu; /* &__per_cpu_offset; 0: a kernel for one CPU */
	us_gva current; /* of the pointer, less what the CPU's area lies at; 0: not
			   known */
	uint32_t pid, tgid, comm, flags, stack, mm, pgd, leader, start;
	uint64_t stack_size;
	/* What not all have. */
	uint32_t thread_pid, level, numbers, numbers_size,
		nr; /* level, ...: of a pid */
	bool has_inner;
	uint32_t cgroups, dfl_cgrp, kn, kn_name, kn_parent;
	bool has_cgroup;
	uint32_t runtime; /* that it ran so far; 0: not known */
	enum us_arch arch;
};

/* t: of the same kernel.  false: this kernel's types do not say all of it, current
 * aside.
 */
bool us_linux_who_layout(const struct us_btf *b, const struct us_kallsyms *k,
			 const struct us_linux_tasks_layout *t,
			 struct us_linux_who_layout *ret);

/* Does the first CPU have there what it is to have: a task, or nothing as yet?  For
 * what was not found by name.  p, s: of the kernel. */
bool us_linux_who_fits(const struct us_linux_who_layout *l, struct us_paging *p,
		       const struct us_space *s);

struct us_linux_who {
	uint64_t id; /* of this thread by this name; never 0, the top bit is not set */
	us_gva at, stack;
	us_gpa root; /* of its program's page tables; 0: a thread of the kernel */
	uint64_t started_ns;	   /* since the guest's boot */
	uint32_t pid, tgid, inner; /* inner: 0 if it has but one number */
	bool kernel_thread;
	char comm[US_LINUX_COMM], process[US_LINUX_COMM]; /* its own, its leader's */
	char cgroup[US_LINUX_CGROUP]; /* "": the root, or not known; or
					 US_LINUX_CGROUP_UNKNOWN */
};

/* The task that a CPU runs: its task_struct; 0: could not be read. */
us_gva us_linux_current(const struct us_linux_who_layout *l, struct us_paging *p,
			const struct us_space *s, unsigned cpu);
/* Where that pointer lies; 0: could not be read. */
us_gva us_linux_current_at(const struct us_linux_who_layout *l, struct us_paging *p,
			   const struct us_space *s, unsigned cpu);
/* Who a task is, as us_linux_who.id; 0: could not be read.  Three or four reads. */
uint64_t us_linux_who_id(const struct us_linux_who_layout *l, struct us_paging *p,
			 const struct us_space *s, us_gva task);
/* The lowest byte of its kernel stack; 0: could not be read. */
us_gva us_linux_who_stack(const struct us_linux_who_layout *l, struct us_paging *p,
			  const struct us_space *s, us_gva task);
/* The root of its page tables; 0: a thread of the kernel, or it could not be read. */
us_gpa us_linux_who_root(const struct us_linux_who_layout *l, struct us_paging *p,
			 const struct us_space *s, us_gva task);
/* For how long it has run so far, in ns; 0: not known. */
uint64_t us_linux_who_runtime(const struct us_linux_who_layout *l, struct us_paging *p,
			      const struct us_space *s, us_gva task);
/* All of it; false: its number, name, stack or process could not be read.  Some forty
 * reads at most. */
bool us_linux_who_read(const struct us_linux_who_layout *l, struct us_paging *p,
		       const struct us_space *s, us_gva task, struct us_linux_who *ret);

/* What to copy of a CPU's current task, so as to know who it was. */
void us_linux_who_plan(const struct us_linux_who_layout *l,
		       struct us_pointed_plan *ret);
/* Who that was, but for its inner number and its cgroup; false: not all was copied. */
bool us_linux_who_pointed(const struct us_linux_who_layout *l, struct us_paging *p,
			  const struct us_space *s, const struct us_pointed *of,
			  struct us_linux_who *ret);
/* These two, as they are by now, if the task has not ended since. */
void us_linux_who_complete(const struct us_linux_who_layout *l, struct us_paging *p,
			   const struct us_space *s, struct us_linux_who *who);

/* Are these the page tables of that root?  On x86 those of user mode may lie behind
 * those of the kernel (page-table isolation). */
bool us_linux_is_root(enum us_arch arch, us_gpa root, us_gpa of);

#endif
