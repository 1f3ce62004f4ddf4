/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * who.h: which task a CPU of a Linux guest runs at this moment, and what identifies it.
 *
 * Each CPU has a pointer to its current task in its per-CPU area (current_task;
 * pcpu_hot from 6.2 to 6.14; on aarch64 __entry_task, which entries from programs use).
 * While the vCPU is stopped, that pointer and the task's own data are exact, in the
 * kernel, in a program and on interrupt stacks alike.  A task list that is read once a
 * second is not needed for this.
 *
 * Hot path: nothing here allocates, and all work is bounded.
 */
#ifndef US_LINUX_WHO_H
#define US_LINUX_WHO_H

#include "guest/pointed.h"
#include "linux/tasks.h"

#define US_LINUX_CGROUP		256 /* bytes with the NUL */
#define US_LINUX_CGROUP_UNKNOWN "[not known]"

/* Where a kernel keeps what is read; offsets in bytes. */
struct us_linux_who_layout {
	us_gva per_cpu; /* &__per_cpu_offset; 0: a kernel without SMP */
	us_gva current; /* address of the pointer, less the CPU's per-CPU offset; 0: not
			   known */
	uint32_t pid, tgid, comm, flags, stack, mm, pgd, leader, start;
	uint64_t stack_size;
	/* Members that not all kernels have. */
	uint32_t thread_pid, level, numbers, numbers_size,
		nr; /* level, ...: in a struct pid */
	bool has_inner;
	uint32_t cgroups, dfl_cgrp, kn, kn_name, kn_parent;
	bool has_cgroup;
	/* The controllers' states in a css_set, the group in a state, the level in a
	 * group. */
	uint32_t subsys, n_subsys, css_cgroup, group_level;
	bool has_controllers;
	uint32_t runtime; /* how long it has run; 0: not known */
	enum us_arch arch;
};

/* t: of the same kernel.  false: this kernel's types lack some required members;
 * l->current may be 0 in any case. */
bool us_linux_who_layout(const struct us_btf *b, const struct us_kallsyms *k,
			 const struct us_linux_tasks_layout *t,
			 struct us_linux_who_layout *ret);

/* Does the current pointer of the first CPU lead to a task, or is it not set yet?
 * Checks what was not found by name.  p, s: of the kernel. */
bool us_linux_who_fits(const struct us_linux_who_layout *l, struct us_paging *p,
		       const struct us_space *s);

struct us_linux_who {
	uint64_t id; /* of this thread under this name; never 0, top bit clear */
	us_gva at, stack;
	us_gpa root;	     /* page-table root of its program; 0: a kernel thread */
	uint64_t started_ns; /* since the guest's boot */
	uint32_t pid, tgid, inner; /* inner: 0 if it has only one pid */
	bool kernel_thread;
	char comm[US_LINUX_COMM], process[US_LINUX_COMM]; /* its own, its leader's */
	char cgroup[US_LINUX_CGROUP]; /* "": the root, or not known; or
					 US_LINUX_CGROUP_UNKNOWN */
};

/* The task_struct of the task that a CPU runs; 0: could not be read. */
us_gva us_linux_current(const struct us_linux_who_layout *l, struct us_paging *p,
			const struct us_space *s, unsigned cpu);
/* The address of that pointer; 0: could not be read. */
us_gva us_linux_current_at(const struct us_linux_who_layout *l, struct us_paging *p,
			   const struct us_space *s, unsigned cpu);
/* us_linux_who.id of a task; 0: could not be read.  Three or four reads. */
uint64_t us_linux_who_id(const struct us_linux_who_layout *l, struct us_paging *p,
			 const struct us_space *s, us_gva task);
/* The lowest byte of its kernel stack; 0: could not be read. */
us_gva us_linux_who_stack(const struct us_linux_who_layout *l, struct us_paging *p,
			  const struct us_space *s, us_gva task);
/* The root of its page tables; 0: a kernel thread, or it could not be read. */
us_gpa us_linux_who_root(const struct us_linux_who_layout *l, struct us_paging *p,
			 const struct us_space *s, us_gva task);
/* How long it has run so far, in ns; 0: not known. */
uint64_t us_linux_who_runtime(const struct us_linux_who_layout *l, struct us_paging *p,
			      const struct us_space *s, us_gva task);
/* Fill in all of *ret; false: its pid, name, stack or process could not be read.  At
 * most some eighty reads. */
bool us_linux_who_read(const struct us_linux_who_layout *l, struct us_paging *p,
		       const struct us_space *s, us_gva task, struct us_linux_who *ret);

/* What to copy of a CPU's current task to identify it later. */
void us_linux_who_plan(const struct us_linux_who_layout *l,
		       struct us_pointed_plan *ret);
/* Identify it from the copy, without `inner` and `cgroup`; false: not all was
 * copied. */
bool us_linux_who_pointed(const struct us_linux_who_layout *l, struct us_paging *p,
			  const struct us_space *s, const struct us_pointed *of,
			  struct us_linux_who *ret);
/* Add these two as they are now; unknown if the task has ended since. */
void us_linux_who_complete(const struct us_linux_who_layout *l, struct us_paging *p,
			   const struct us_space *s, struct us_linux_who *who);

/* Do the page tables `root` belong to the task root `of`?  With x86's page-table
 * isolation, the user-mode tables are in the page after the kernel's. */
bool us_linux_is_root(enum us_arch arch, us_gpa root, us_gpa of);

#endif
