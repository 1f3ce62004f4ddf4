/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tasks.c: see tasks.h. */
#include "cmd/dump/tasks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TRIES 3

static bool is_same(const struct us_regs *a, const struct us_regs *b)
{
	return a->pc == b->pc && a->sp == b->sp &&
	       !memcmp(a->gpr, b->gpr, sizeof(a->gpr));
}

/* If the state is the same before and after, the task did not run meanwhile, or it is
 * back in the same place with the same stack. */
static bool unwind(const struct us_dump_tasks *t, const struct us_linux_task *task,
		   struct us_paging *p, struct us_unwinder *u, struct us_stack *ret)
{
	const struct us_linux_tasks_layout *l = &t->kernel->tasks;
	struct us_regs before, after;
	for (unsigned k = 0; k < TRIES; k++) {
		if (!us_linux_task_regs(l, p, &t->space, task, &before))
			return false;
		us_unwind(u, p, &before, ret);
		if (us_linux_task_regs(l, p, &t->space, task, &after) &&
		    is_same(&before, &after))
			return true;
	}
	return false;
}

static int keep(struct us_dump_task_stack *s, const struct us_stack *from)
{
	s->pc = calloc(from->n, sizeof(*s->pc));
	s->flags = calloc(from->n, sizeof(*s->flags));
	if (!s->pc || !s->flags)
		return -ENOMEM;
	memcpy(s->pc, from->pc, from->n * sizeof(*s->pc));
	memcpy(s->flags, from->flags, from->n * sizeof(*s->flags));
	s->n = from->n;
	s->end = from->end;
	return 0;
}

static int read_stacks(struct us_dump_tasks *t, struct us_paging *p,
		       struct us_unwinder *u)
{
	static struct us_stack stack; /* too large for comfort on a stack */
	int r = 0;
	t->stack = calloc(t->list.n ? t->list.n : 1, sizeof(*t->stack));
	if (!t->stack)
		return -ENOMEM;
	for (size_t k = 0; r == 0 && k < t->list.n; k++)
		if (unwind(t, &t->list.v[k], p, u, &stack)) {
			r = keep(&t->stack[k], &stack);
			if (r == 0)
				r = us_dump_programs_add(&t->programs,
							 t->list.v[k].root, &stack);
		}
	return r;
}

static int explain(const struct us_kernel *k, struct us_err *e)
{
	static const char what[] = "list the guest's tasks";
	const struct us_linux *l = us_kernel_linux(k);
	if (l && k->source.mem && us_kernel_unfinished(l)) {
		us_fail(e, -ETIMEDOUT, "%s: %s", what, us_kernel_unfinished(l));
		us_hint(e, "the host is busy: try again");
		return -ETIMEDOUT;
	}
	if (!l)
		us_fail(e, -ENOENT,
			"%s: no 64-bit Linux kernel was found in its memory", what);
	else if (!k->source.mem)
		us_fail(e, -ENOENT,
			"%s: its memory can be read only through a GDB stub, which "
			"stops the guest",
			what);
	else if (!l->has_types)
		us_fail(e, -ENOENT, "%s: %s", what, l->no_types);
	else
		us_fail(e, -ENOENT, "%s: %s", what, l->no_tasks);
	if (us_kernel_unseen(k))
		us_hint(e, "try again");
	else if (!l)
		us_hint(e, "a kernel without a symbol table (CONFIG_KALLSYMS) needs "
			   "its own ELF file: -e vmlinux");
	if (l && k->source.mem && !l->has_types)
		us_hint(e, "-e vmlinux, the kernel's own ELF file with debug "
			   "information (DWARF), has the types; so has a kernel built "
			   "with CONFIG_DEBUG_INFO_BTF");
	if (l && k->source.mem && l->misfit)
		us_hint(e, "a kernel built with CONFIG_RANDSTRUCT has the members of "
			   "its types in random order: -e vmlinux of the same build "
			   "helps if its debug information (DWARF) has that order");
	return -ENOENT;
}

int us_dump_tasks_read(struct us_dump_tasks *t, struct us_kernel *k,
		       struct us_unwinder *u, bool stacks, struct us_err *e)
{
	static struct us_paging paging; /* too large for comfort on a stack */
	const struct us_linux *l = us_kernel_linux(k);
	memset(t, 0, sizeof(*t));
	if (!l || !k->source.mem || !l->has_tasks)
		return explain(k, e);
	t->kernel = l;
	t->space = l->space;
	us_paging_init(&paging, k->source.mem);
	int r = us_linux_tasks_read(&l->tasks, &paging, &t->space, &t->list);
	if (r == 0)
		r = us_dump_programs_read(&t->programs, k, &paging, &t->list, stacks);
	if (r == 0 && stacks)
		r = read_stacks(t, &paging, u);
	if (r < 0)
		us_dump_tasks_fini(t);
	return r < 0 ? us_fail(e, r, "list the guest's tasks: %s", strerror(-r)) : 0;
}

static bool has_program(const struct us_stack *s)
{
	for (unsigned i = 0; i < s->n; i++)
		if (s->flags[i] & US_PC_USER)
			return true;
	return false;
}

static int cannot_name(struct us_err *e, int r)
{
	return r < 0 ? us_fail(e, r, "name the guest's programs: %s", strerror(-r)) : 0;
}

int us_dump_tasks_add(struct us_dump_tasks *t, us_gpa root, const struct us_stack *s,
		      struct us_err *e)
{
	return has_program(s)
		       ? cannot_name(e, us_dump_programs_add(&t->programs, root, s))
		       : 0;
}

int us_dump_tasks_end(struct us_dump_tasks *t, struct us_err *e)
{
	return cannot_name(e, us_dump_programs_end(&t->programs));
}

void us_dump_tasks_fini(struct us_dump_tasks *t)
{
	for (size_t k = 0; t->stack && k < t->list.n; k++) {
		free(t->stack[k].pc);
		free(t->stack[k].flags);
	}
	free(t->stack);
	us_dump_programs_fini(&t->programs);
	us_linux_tasks_fini(&t->list);
	memset(t, 0, sizeof(*t));
}

const struct us_linux_task *us_dump_tasks_of(const struct us_dump_tasks *t,
					     const struct us_regs *regs)
{
	return t->kernel ? us_linux_task_of(&t->kernel->tasks, &t->list, regs) : NULL;
}
