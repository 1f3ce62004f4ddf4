/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tasks_layout.c: where a kernel's tasks have what is read of them: see tasks.h. */
#include "linux/tasks.h"

#include <string.h>

#define USUAL_STACK (16U << 10)
#define MOST_STACK  (256U << 10)

/* The order of no version is known for sure, but for this of x86: what
 * __switch_to_asm() pushes (arch/x86/include/asm/switch_to.h). */
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

/* THREAD_SIZE, by the stack of init_task (include/asm-generic/vmlinux.lds.h). */
static uint64_t stack_size(const struct us_kallsyms *k)
{
	us_gva start = us_kallsyms_address(k, "init_stack");
	us_gva end = us_kallsyms_address(k, "__end_init_stack");
	if (!start)
		start = us_kallsyms_address(k, "init_thread_union");
	if (!end)
		end = us_kallsyms_address(k, "__end_init_task"); /* before 6.10 */
	return start && end > start && end - start <= MOST_STACK &&
			       (end - start) % 4096 == 0
		       ? end - start
		       : USUAL_STACK;
}

/* A kernel for one CPU says neither which nor whether. */
static bool find_cpu(const struct us_btf *b, struct us_linux_tasks_layout *l)
{
	bool where = of_task(b, "thread_info.cpu", &l->cpu) ||
		     of_task(b, "cpu", &l->cpu);
	l->has_cpu = of_task(b, "on_cpu", &l->on_cpu) && where;
	return true;
}

bool us_linux_tasks_layout(const struct us_btf *b, const struct us_kallsyms *k,
			   const struct us_linux_arch *arch,
			   struct us_linux_tasks_layout *l)
{
	memset(l, 0, sizeof(*l));
	l->init = us_kallsyms_address(k, "init_task");
	l->arch = arch->arch;
	l->stack_size = stack_size(k);
	return l->init && of_task(b, "tasks", &l->tasks) &&
	       of_task(b, "thread_node", &l->thread_node) &&
	       of_task(b, "signal", &l->signal) &&
	       at(b, "signal_struct", "thread_head", &l->thread_head) &&
	       of_task(b, "pid", &l->pid) && of_task(b, "tgid", &l->tgid) &&
	       of_task(b, "comm", &l->comm) && of_task(b, "flags", &l->flags) &&
	       of_task(b, "mm", &l->mm) && at(b, "mm_struct", "pgd", &l->pgd) &&
	       find_state(b, l) && of_task(b, "stack", &l->stack) && find_cpu(b, l) &&
	       find_saved(b, l);
}
