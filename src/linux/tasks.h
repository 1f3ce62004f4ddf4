/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tasks.h: the tasks of a Linux guest (processes, their threads, kernel threads), read
 * from its memory while it runs.
 *
 * The processes are in a list that begins at init_task, and the threads of each process
 * in a list of its own (include/linux/sched.h, for_each_process_thread).  The guest can
 * change these lists during the walk: if the neighbour of a link does not point back,
 * the list is read again.  The walk is bounded, and nothing in a list is trusted.
 *
 * If a task is not on a CPU, the kernel has saved its registers, and its stack can be
 * unwound like that of a vCPU.
 */
#ifndef US_LINUX_TASKS_H
#define US_LINUX_TASKS_H

#include "guest/paging.h"
#include "linux/arch.h"
#include "linux/kernel_btf.h"

#define US_LINUX_COMM	      16      /* bytes with the NUL */
#define US_LINUX_NAME	      64      /* the same, of a full name */
#define US_LINUX_MAX_TASKS    100000U /* that are read */
#define US_LINUX_MOST_OF_TASK 8192U   /* bytes of a task_struct that are read */

/* Where a kernel keeps what is read; offsets in bytes. */
struct us_linux_tasks_layout {
	us_gva init;	     /* &init_task */
	uint64_t stack_size; /* bytes of each task's stack */
	uint32_t tasks, thread_node, signal, thread_head; /* the last: in its signal */
	uint32_t pid, tgid, comm, flags, stack, mm, pgd;  /* pgd: in its mm */
	uint32_t state, exit_state, state_bytes;
	uint32_t on_cpu, cpu; /* 0: a kernel without SMP */
	uint32_t on_cpu_mask; /* within the 4 bytes there: one byte of them since 7.0 */
	bool has_cpu;
	us_gva current; /* without SMP: where the running task's address is; 0: not
			   known */
	uint32_t start; /* 0: not known */
	uint32_t kthread, full_name; /* full_name: in its struct kthread */
	bool has_names;
	/* These bytes of the task_struct hold all of the above. */
	uint32_t first, span;
	uint32_t switches[2]; /* voluntary and involuntary context switches */
	bool has_switches;
	bool lists_switches; /* first and span cover both */
	/* Where the registers are saved: in the task_struct; on x86 it has only the
	 * stack pointer, which points to the others on the task's stack. */
	uint32_t sp;
	struct {
		uint32_t at;
		uint8_t reg; /* index in us_regs.gpr */
	} saved[16];
	unsigned n_saved;
	uint32_t pc, frame; /* of the return address; size of what is on the stack */
	enum us_arch arch;
};

/* Fill in all but init.  false: this kernel's types lack some of these members. */
bool us_linux_tasks_layout(const struct us_btf *b, const struct us_kallsyms *k,
			   const struct us_linux_arch *arch,
			   struct us_linux_tasks_layout *ret);
/*
 * Set l->init by its symbol, or, if the symbol table has only functions, by searching
 * the image for what init_task looks like: a kernel thread "swapper" with pid 0, whose
 * stack and signal are in the image as well.  false: not found.
 */
bool us_linux_tasks_find_init(struct us_linux_tasks_layout *l,
			      const struct us_kallsyms *k, struct us_linux_image *i);
/*
 * Does the memory at l->init look like init_task?  false: it could not be read, or the
 * kernel's members are in another order (CONFIG_RANDSTRUCT) than its types say.
 */
bool us_linux_tasks_fit(const struct us_linux_tasks_layout *l,
			const struct us_linux_memory *m);

struct us_linux_task {
	us_gva at;	   /* its task_struct */
	us_gva stack;	   /* lowest byte of its kernel stack */
	us_gva mm;	   /* its mm_struct; 0: a kernel thread */
	us_gpa root;	   /* page-table root of its program; 0: a kernel thread */
	int32_t pid, tgid; /* its own, its process's, in the outermost namespace */
	uint32_t cpu;	   /* where it runs, or ran last */
	bool on_cpu, kernel_thread;
	char state;	   /* as ps prints it: R S D T t X Z P I; ? */
	uint64_t start_ns; /* when it started, by the guest's clock; 0: not known */
	uint64_t switches; /* how often it left its CPU, if l->lists_switches */
	char comm[US_LINUX_COMM];
	char name[US_LINUX_NAME]; /* comm, or the full name if comm is cut */
};

struct us_linux_tasks {
	struct us_linux_task *v; /* sorted by tgid, then pid */
	size_t n, cap;
	bool torn; /* the list changed at each try: tasks may be missing */
	bool full; /* there are more than US_LINUX_MAX_TASKS */
};

/*
 * Read all tasks: each task_struct in one piece, and two or three more words.  p: used
 * by this thread only.  -ENOENT: the list does not begin where it should; -ENOMEM.
 */
US_MUST_CHECK int us_linux_tasks_read(const struct us_linux_tasks_layout *l,
				      struct us_paging *p, const struct us_space *s,
				      struct us_linux_tasks *ret);
void us_linux_tasks_fini(struct us_linux_tasks *t); /* accepts a zeroed one */

/*
 * The registers that the kernel saved when the task left the CPU, in the address space
 * of its program.  false: it runs, or what was saved is inconsistent.  Call this again
 * after the stack was unwound: if the result differs, the task has run meanwhile.
 */
bool us_linux_task_regs(const struct us_linux_tasks_layout *l, struct us_paging *p,
			const struct us_space *s, const struct us_linux_task *t,
			struct us_regs *ret);

/*
 * The task that a vCPU runs.  In the kernel: the task whose stack it is on.  In user
 * mode: the only task that is on a CPU with these page tables.  NULL: not known, or
 * several.
 */
const struct us_linux_task *us_linux_task_of(const struct us_linux_tasks_layout *l,
					     const struct us_linux_tasks *t,
					     const struct us_regs *regs);

/*
 * Do the kernel and user mode have separate page tables (x86, page-table isolation)?
 * Then the user's root is the page after the kernel's, and both point to the same
 * tables of the program.  One process is enough to see it; a few are asked.  p: used by
 * this thread only.
 */
bool us_linux_tasks_isolated(const struct us_linux_tasks_layout *l, struct us_paging *p,
			     const struct us_linux_tasks *t);

/* For a kernel without SMP, whose tasks have no on_cpu: is this task running?  One
 * read. */
bool us_linux_task_is_current(const struct us_linux_tasks_layout *l,
			      struct us_paging *p, const struct us_space *s,
			      us_gva task);

/* us_linux_task.state, from the two members of task_struct. */
char us_linux_task_letter(uint64_t state, uint32_t exit_state);

/* "sleeps", "waits (D)", ...: a task's state in words. */
const char *us_linux_task_state(char state);

#endif
