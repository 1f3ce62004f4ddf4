/* SPDX-License-Identifier: GPL-2.0-or-later */
/* linux-tasks.h: where an invented kernel's tasks have their members. */
#ifndef US_TEST_LINUX_TASKS_H
#define US_TEST_LINUX_TASKS_H

#include "linux/who.h"

#define TEST_TASKS 0xffff888000000000ULL /* init_task */

static const struct us_linux_tasks_layout test_tasks_layout = {
	.init = TEST_TASKS,
	.stack_size = 0x4000,
	.tasks = 16,
	.thread_node = 32,
	.signal = 48,
	.thread_head = 8,
	.pid = 56,
	.tgid = 60,
	.comm = 64,
	.flags = 80,
	.stack = 88,
	.mm = 96,
	.pgd = 24,
	.state = 104,
	.exit_state = 108,
	.state_bytes = 4,
	.on_cpu = 112,
	.on_cpu_mask = UINT32_MAX,
	.cpu = 116,
	.has_cpu = true,
	.sp = 120,
	.saved = { { 0, US_X86_R15 }, { 40, US_X86_RBP } },
	.n_saved = 2,
	.pc = 48,
	.frame = 56,
	.kthread = 128,
	.full_name = 8,
	.has_names = true,
	.start = 136,
	.first = 16,
	.span = 128,
	.arch = US_ARCH_X86_64,
};

/* The same; what else a task has lies behind. */
static const struct us_linux_who_layout test_who_layout = {
	.per_cpu = TEST_TASKS + 0x7800,
	.current = 0x40,
	.pid = 56,
	.tgid = 60,
	.comm = 64,
	.flags = 80,
	.stack = 88,
	.mm = 96,
	.pgd = 24,
	.leader = 128,
	.start = 136,
	.stack_size = 0x4000,
	.thread_pid = 144,
	.level = 4,
	.numbers = 16,
	.numbers_size = 16,
	.nr = 0,
	.has_inner = true,
	.cgroups = 152,
	.dfl_cgrp = 8,
	.kn = 16,
	.kn_name = 24,
	.kn_parent = 32,
	.has_cgroup = true,
	.subsys = 16,
	.n_subsys = 4,
	.css_cgroup = 8,
	.group_level = 24,
	.has_controllers = true,
	.arch = US_ARCH_X86_64,
};

#endif
