/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tasks_layout.c: where a kernel's tasks have the members that are read; see
 * tasks.h. */
#include "linux/tasks.h"

#include <string.h>

#define USUAL_STACK (16U << 10)
#define MOST_STACK  (256U << 10)

/* What __switch_to_asm() pushes, in its order (arch/x86/include/asm/switch_to.h).  On
 * other architectures no order is certain. */
static const struct {
	const char *member;
	uint8_t reg;
} pushed[] = {
	{ "r15", US_X86_R15 }, { "r14", US_X86_R14 }, { "r13", US_X86_R13 },
	{ "r12", US_X86_R12 }, { "bx", US_X86_RBX },  { "bp", US_X86_RBP },
};

static bool at(const struct us_btf *b, const char *type, const char *path,
	       uint32_t *ret)
{
	struct us_btf_member m;
	if (!us_btf_path(b, type, path, &m))
		return false;
	*ret = m.offset;
	return true;
}

static bool of_task(const struct us_btf *b, const char *path, uint32_t *ret)
{
	return at(b, "task_struct", path, ret);
}

static bool find_state(const struct us_btf *b, struct us_linux_tasks_layout *l)
{
	struct us_btf_member m;
	if (!us_btf_path(b, "task_struct", "__state", &m) && /* since 5.14 */
	    !us_btf_path(b, "task_struct", "state", &m))
		return false;
	l->state = m.offset;
	l->state_bytes = m.size;
	return (m.size == 4 || m.size == 8) && of_task(b, "exit_state", &l->exit_state);
}

static void save(struct us_linux_tasks_layout *l, uint32_t offset, uint8_t reg)
{
	l->saved[l->n_saved].at = offset;
	l->saved[l->n_saved++].reg = reg;
}

static bool saved_by_x86(const struct us_btf *b, struct us_linux_tasks_layout *l)
{
	uint32_t type = us_btf_struct(b, "inactive_task_frame"), offset;
	for (size_t k = 0; k < sizeof(pushed) / sizeof(*pushed); k++) {
		offset = (uint32_t)(8 * k);
		if (type && !at(b, "inactive_task_frame", pushed[k].member, &offset))
			return false;
		save(l, offset, pushed[k].reg);
	}
	l->pc = 8 * sizeof(pushed) / sizeof(*pushed);
	if (type && !at(b, "inactive_task_frame", "ret_addr", &l->pc))
		return false;
	l->frame = l->pc + 8;
	return of_task(b, "thread.sp", &l->sp);
}

/* arch/arm64/include/asm/processor.h, struct cpu_context. */
static bool saved_by_aarch64(const struct us_btf *b, struct us_linux_tasks_layout *l)
{
	char path[] = "thread.cpu_context.x19";
	uint32_t offset;
	for (uint8_t k = 19; k <= 28; k++) {
		path[sizeof(path) - 3] = (char)('0' + k / 10);
		path[sizeof(path) - 2] = (char)('0' + k % 10);
		if (!of_task(b, path, &offset))
			return false;
		save(l, offset, k);
	}
	if (!of_task(b, "thread.cpu_context.fp", &offset))
		return false;
	save(l, offset, US_AARCH64_FP);
	return of_task(b, "thread.cpu_context.sp", &l->sp) &&
	       of_task(b, "thread.cpu_context.pc", &l->pc);
}

/* arch/riscv/include/asm/processor.h, struct thread_struct: s0 to s11. */
static bool saved_by_riscv(const struct us_btf *b, struct us_linux_tasks_layout *l)
{
	uint32_t s;
	if (!of_task(b, "thread.s", &s))
		return false;
	for (uint8_t k = 0; k < 12; k++)
		save(l, s + 8U * k, k < 2 ? US_RISCV_FP + k : 16 + k);
	return of_task(b, "thread.sp", &l->sp) && of_task(b, "thread.ra", &l->pc);
}

static bool find_saved(const struct us_btf *b, struct us_linux_tasks_layout *l)
{
	switch (l->arch) {
	case US_ARCH_X86_64:
		return saved_by_x86(b, l);
	case US_ARCH_AARCH64:
		return saved_by_aarch64(b, l);
	case US_ARCH_RISCV64:
		return saved_by_riscv(b, l);
	default:
		return false;
	}
}

static bool is_stack_size(uint64_t size)
{
	return size && size <= MOST_STACK && size % 4096 == 0;
}

/* THREAD_SIZE, from the stack of init_task (include/asm-generic/vmlinux.lds.h), or from
 * what the kernel declares (include/linux/sched.h). */
static uint64_t stack_size(const struct us_btf *b, const struct us_kallsyms *k)
{
	uint64_t declared = us_btf_size(b, us_btf_struct(b, "thread_union"));
	us_gva start = us_kallsyms_address(k, "init_stack");
	us_gva end = us_kallsyms_address(k, "__end_init_stack");
	if (!start)
		start = us_kallsyms_address(k, "init_thread_union");
	if (!end)
		end = us_kallsyms_address(k, "__end_init_task"); /* before 6.10 */
	if (start && end > start && is_stack_size(end - start))
		return end - start;
	return is_stack_size(declared) ? declared : USUAL_STACK;
}

/* A kernel for one CPU records neither the CPU nor whether a task runs. */
static bool find_cpu(const struct us_btf *b, struct us_linux_tasks_layout *l)
{
	struct us_btf_member on_cpu = { 0 };
	bool where = of_task(b, "thread_info.cpu", &l->cpu) ||
		     of_task(b, "cpu", &l->cpu);
	l->has_cpu = us_btf_path(b, "task_struct", "on_cpu", &on_cpu) && where &&
		     on_cpu.size && on_cpu.size <= 4;
	l->on_cpu = on_cpu.offset;
	l->on_cpu_mask = l->has_cpu ? UINT32_MAX >> (32 - 8 * on_cpu.size) : 0;
	return true;
}

/* Since 5.17; before, names are truncated. */
static bool find_names(const struct us_btf *b, struct us_linux_tasks_layout *l)
{
	return of_task(b, "worker_private", &l->kthread) &&
	       at(b, "kthread", "full_name", &l->full_name);
}

/* false: it is more than a task_struct has before the saved registers. */
static bool find_span(struct us_linux_tasks_layout *l)
{
	const struct {
		uint32_t at, size;
	} all[] = {
		{ l->tasks, 16 },
		{ l->thread_node, 16 },
		{ l->signal, 8 },
		{ l->pid, 4 },
		{ l->tgid, 4 },
		{ l->comm, US_LINUX_COMM },
		{ l->flags, 4 },
		{ l->stack, 8 },
		{ l->mm, 8 },
		{ l->state, l->state_bytes },
		{ l->exit_state, 4 },
		{ l->has_cpu ? l->on_cpu : l->pid, 4 },
		{ l->has_cpu ? l->cpu : l->pid, 4 },
		{ l->start ? l->start : l->mm, 8 },
		{ l->has_names ? l->kthread : l->mm, 8 },
	};
	uint64_t first = UINT64_MAX, end = 0;
	for (size_t k = 0; k < sizeof(all) / sizeof(*all); k++) {
		uint64_t last = (uint64_t)all[k].at + all[k].size;
		first = all[k].at < first ? all[k].at : first;
		end = last > end ? last : end;
	}
	l->first = (uint32_t)first;
	l->span = (uint32_t)(end - first);
	return end - first <= US_LINUX_MOST_OF_TASK;
}

/* --- where the list begins --- */

#define TASK_ALIGNED  64U	  /* ARCH_MIN_TASKALIGN: a cache line, or more */
#define KERNEL_THREAD 0x00200000U /* PF_KTHREAD */

static uint64_t value(const uint8_t *task, const struct us_linux_tasks_layout *l,
		      uint32_t offset, size_t size)
{
	uint64_t v = 0;
	memcpy(&v, task + (offset - l->first), size);
	return v;
}

static bool in_image(const struct us_linux_image *i, us_gva va)
{
	return va >= i->start && va - i->start < i->size;
}

/* init/init_task.c: what is always true of init_task, and only of it. */
static bool is_init(const struct us_linux_tasks_layout *l, struct us_linux_image *i,
		    us_gva at)
{
	const uint8_t *task = us_linux_image_at(i, at + l->first, l->span);
	return task && !value(task, l, l->pid, 4) && !value(task, l, l->tgid, 4) &&
	       value(task, l, l->flags, 4) & KERNEL_THREAD &&
	       !value(task, l, l->mm, 8) && value(task, l, l->tasks, 8) >> 63 &&
	       value(task, l, l->tasks + 8, 8) >> 63 &&
	       in_image(i, value(task, l, l->stack, 8)) &&
	       in_image(i, value(task, l, l->signal, 8));
}

bool us_linux_tasks_find_init(struct us_linux_tasks_layout *l,
			      const struct us_kallsyms *k, struct us_linux_image *i)
{
	static const char name[] = "swapper";
	l->init = us_kallsyms_address(k, "init_task");
	/* From the top down, as data is above the code. */
	for (uint64_t at = i->size & ~(uint64_t)(TASK_ALIGNED - 1);
	     !l->init && at >= TASK_ALIGNED;) {
		at -= TASK_ALIGNED;
		us_gva task = i->start + at;
		const uint8_t *comm = us_linux_image_at(i, task + l->comm,
							sizeof(name) - 1);
		if (comm && !memcmp(comm, name, sizeof(name) - 1) &&
		    is_init(l, i, task))
			l->init = task;
	}
	return l->init;
}

static uint64_t word_at(const struct us_linux_tasks_layout *l,
			const struct us_linux_memory *m, uint32_t offset, size_t size,
			bool *ok)
{
	uint64_t v = 0;
	*ok = *ok && m->read(m->ctx, l->init + offset, &v, size);
	return v;
}

/* "swapper" until the scheduler has begun, then "swapper/0". */
static bool is_swapper(const struct us_linux_tasks_layout *l,
		       const struct us_linux_memory *m)
{
	char comm[US_LINUX_COMM];
	return m->read(m->ctx, l->init + l->comm, comm, sizeof(comm)) &&
	       (!strncmp(comm, "swapper", sizeof(comm)) ||
		!strncmp(comm, "swapper/0", sizeof(comm)));
}

bool us_linux_tasks_fit(const struct us_linux_tasks_layout *l,
			const struct us_linux_memory *m)
{
	bool ok = is_swapper(l, m);
	bool zero = !word_at(l, m, l->pid, 4, &ok) && !word_at(l, m, l->tgid, 4, &ok) &&
		    !word_at(l, m, l->mm, 8, &ok);
	bool kernel = word_at(l, m, l->flags, 4, &ok) & KERNEL_THREAD &&
		      word_at(l, m, l->tasks, 8, &ok) >> 63 &&
		      word_at(l, m, l->tasks + 8, 8, &ok) >> 63 &&
		      word_at(l, m, l->stack, 8, &ok) >> 63 &&
		      word_at(l, m, l->signal, 8, &ok) >> 63;
	return ok && zero && kernel;
}

/* Both are between members that are read anyway; otherwise they are not read. */
static void find_switches(const struct us_btf *b, struct us_linux_tasks_layout *l)
{
	const uint32_t *at = l->switches;
	l->has_switches = of_task(b, "nvcsw", &l->switches[0]) &&
			  of_task(b, "nivcsw", &l->switches[1]);
	l->lists_switches = l->has_switches;
	for (unsigned k = 0; k < 2; k++)
		l->lists_switches &= at[k] >= l->first &&
				     at[k] - l->first + UINT64_C(8) <= l->span;
}

bool us_linux_tasks_layout(const struct us_btf *b, const struct us_kallsyms *k,
			   const struct us_linux_arch *arch,
			   struct us_linux_tasks_layout *l)
{
	memset(l, 0, sizeof(*l));
	l->arch = arch->arch;
	l->stack_size = stack_size(b, k);
	l->has_names = find_names(b, l);
	if (!of_task(b, "start_time", &l->start))
		l->start = 0;
	bool ok = of_task(b, "tasks", &l->tasks) &&
		  of_task(b, "thread_node", &l->thread_node) &&
		  of_task(b, "signal", &l->signal) &&
		  at(b, "signal_struct", "thread_head", &l->thread_head) &&
		  of_task(b, "pid", &l->pid) && of_task(b, "tgid", &l->tgid) &&
		  of_task(b, "comm", &l->comm) && of_task(b, "flags", &l->flags) &&
		  of_task(b, "mm", &l->mm) && at(b, "mm_struct", "pgd", &l->pgd) &&
		  find_state(b, l) && of_task(b, "stack", &l->stack) &&
		  find_cpu(b, l) && find_saved(b, l) && find_span(l);
	find_switches(b, l);
	return ok;
}
