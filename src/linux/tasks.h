/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tasks.h: the tasks of a Linux guest - processes, their threads, threads of the kernel
 * - from its memory, while it runs.
 *
 * All processes hang in a list that begins at init_task, and the threads of each in one
 * of their own (include/linux/sched.h, for_each_process_thread).  Nothing keeps the
 * guest from changing them meanwhile: a link whose neighbour does not point back was
 * seen in mid change, and the list is read again.  A list is walked a bounded number of
 * steps, and nothing in it is trusted.
 *
 * Where a task is not on a CPU, the kernel has saved its registers: its stack can be
 * unwound as that of a vCPU.
 */
#ifndef US_LINUX_TASKS_H
#define US_LINUX_TASKS_H

#include "guest/paging.h"
#include "linux/arch.h"
#include "linux/kernel_btf.h"

#define US_LINUX_COMM	      16      /* bytes with the NUL */
#define US_LINUX_NAME	      64      /* the same of a full name */
#define US_LINUX_MAX_TASKS    100000U /* that are read */
#define US_LINUX_MOST_OF_TASK 8192U   /* bytes of a task_struct that are read */

/* Where a kernel has what is read; offsets in bytes. */
struct us_linux_tasks_layout {
	us_gva init;	     /* &init_task */
	uint64_t stack_size; /* bytes of each task's stack */
	uint32_t tasks, thread_node, signal, thread_head; /* the last: in its signal */
	uint32_t pid, tgid, comm, flags, stack, mm, pgd;  /* pgd: in its mm */
	uint32_t state, exit_state, state_bytes;
	uint32_t on_cpu, cpu; /* 0: a kernel for one CPU */
	uint32_t on_cpu_mask; /* of the 4 bytes there: since 7.0 it is one of them */
	bool has_cpu;
	us_gva current; /* of such a kernel: where the running task's address is; 0: not
			   known */
	uint32_t start; /* 0: not known */
	uint32_t kthread, full_name; /* the last: in its struct kthread */
	bool has_names;
	/* All of the above is in these bytes of the task_struct. */
	uint32_t first, span;
	uint32_t switches[2]; /* how often it left its CPU: by itself, and not so */
	bool has_switches;
	bool lists_switches; /* both are in those bytes, too */
	/* What was saved: in the task; on x86 the stack pointer, below which the
	 * others lie on its stack. */
	uint32_t sp;
	struct {
		uint32_t at;
		uint8_t reg; /* of us_regs.gpr */
	} saved[16];
	unsigned n_saved;
	uint32_t pc, frame; /* of the return address; bytes that lie on the stack */
	enum us_arch arch;
};

/* All but init.  false: this kernel's types do not say all of it. */
bool us_linux_tasks_layout(const struct us_btf *b, const struct us_kallsyms *k,
			   const struct us_linux_arch *arch,
			   struct us_linux_tasks_layout *ret);
/*
 * Set l->init: by the symbol, or, where the symbol table has only functions, by what
 * init_task looks like in the image: the task "swapper" with the number 0, a thread of
 * the kernel, whose stack and signal are in the image as well.  false: not found.
 */
bool us_linux_tasks_find_init(struct us_linux_tasks_layout *l,
			      const struct us_kallsyms *k, struct us_linux_image *i);
/*
 * Is at l->init what init_task is at all times?  false: it could not be read, or the
 * kernel has its members in another order (CONFIG_RANDSTRUCT) than its types say.
 */
bool us_linux_tasks_fit(const struct us_linux_tasks_layout *l,
			const struct us_linux_memory *m);

struct us_linux_task {
	us_gva at;	   /* its task_struct */
	us_gva stack;	   /* lowest byte of its kernel stack */
	us_gva mm;	   /* its mm_struct; 0: a thread of the kernel */
	us_gpa root;	   /* of its program's page tables; 0: a thread of the kernel */
	int32_t pid, tgid; /* its own number, its process's: the guest's outermost */
	uint32_t cpu;	   /* on which it runs, or ran last */
	bool on_cpu, kernel_thread;
	char state;	   /* as ps prints it: R S D T t X Z P I; ? */
	uint64_t start_ns; /* when it began, by the guest's clock; 0: not known */
	uint64_t switches; /* times that it left its CPU, if l->lists_switches */
	char comm[US_LINUX_COMM];
	char name[US_LINUX_NAME]; /* comm, or all of it where that is cut */
};

struct us_linux_tasks {
	struct us_linux_task *v; /* sorted by process and number */
	size_t n, cap;
	bool torn; /* the list changed at each try: some may be missing */
	bool full; /* there are more than US_LINUX_MAX_TASKS */
};

/*
 * Read them: each task_struct in one piece, and two or three words besides.  p: of this
 * thread.  -ENOENT: the list does not begin where it should; -ENOMEM.
 */
US_MUST_CHECK int us_linux_tasks_read(const struct us_linux_tasks_layout *l,
				      struct us_paging *p, const struct us_space *s,
				      struct us_linux_tasks *ret);
void us_linux_tasks_fini(struct us_linux_tasks *t); /* accepts a zeroed one */

/*
 * The registers that the kernel saved when the task left the CPU, in the address space
 * of its program.  false: it runs, or
 * nothing that holds together was saved.  Ask again after its stack was unwound: if it
 * says other, the task has run meanwhile.
 */
bool us_linux_task_regs(const struct us_linux_tasks_layout *l, struct us_paging *p,
			const struct us_space *s, const struct us_linux_task *t,
			struct us_regs *ret);

/*
 * Which task a vCPU runs: in the kernel that on whose stack it is; in user mode the one
 * on a CPU with these page tables, if it is the only one.  NULL: not known.
 */
const struct us_linux_task *us_linux_task_of(const struct us_linux_tasks_layout *l,
					     const struct us_linux_tasks *t,
					     const struct us_regs *regs);

/* Does a kernel for one CPU, whose tasks do not say so, run it?  One read. */
bool us_linux_task_is_current(const struct us_linux_tasks_layout *l,
			      struct us_paging *p, const struct us_space *s,
			      us_gva task);

/* As struct us_linux_task has it, by task_struct's two members. */
char us_linux_task_letter(uint64_t state, uint32_t exit_state);

/* "sleeps", "waits (D)", ...: a task's state in words. */
const char *us_linux_task_state(char state);

#endif
