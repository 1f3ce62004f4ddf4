/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * floor-plugin.c: a plugin for QEMU that asks to be called where uniscope's is while it
 * counts a tree of calls, and then does nothing: what is left of the slowdown when all
 * work of the plugin's own is taken away.
 *
 *	-plugin FILE,functions=PATH
 *
 * For x86 guests with one vCPU.  functions: trace/functions.h.
 */
#include "trace/functions.h"
#include "trace/plugin/arch.h"
#include "trace/plugin/qemu_api.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXPORT __attribute__((__visibility__("default")))

EXPORT int qemu_plugin_version = 1;
EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
			       char **argv);

static struct us_functions functions;
static struct qemu_plugin_scoreboard *score; /* version 2; version 1 has these: */
static uint64_t insns;

__attribute__((__constructor__)) static void choose_version(void)
{
	if (!qemu_plugin_register_vcpu_tb_exec_inline)
		qemu_plugin_version = 2;
}

static void on_access(unsigned i, qemu_plugin_meminfo_t info, uint64_t gva, void *data)
{
	(void)i;
	(void)info;
	(void)gva;
	(void)data;
}

static void on_insn(unsigned i, void *data)
{
	(void)i;
	(void)data;
}

static void count_block(struct qemu_plugin_tb *tb, size_t n)
{
	if (score)
		qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(
			tb, QEMU_PLUGIN_INLINE_ADD_U64, (qemu_plugin_u64){ score, 0 },
			n);
	else
		qemu_plugin_register_vcpu_tb_exec_inline(tb, QEMU_PLUGIN_INLINE_ADD_U64,
							 &insns, n);
}

static void add_access(struct qemu_plugin_insn *insn, uint64_t pc)
{
	qemu_plugin_register_vcpu_mem_cb(insn, on_access, QEMU_PLUGIN_CB_NO_REGS,
					 QEMU_PLUGIN_MEM_RW, (void *)(uintptr_t)pc);
}

static bool begins_function(uint64_t pc)
{
	const struct us_function_range *r = us_functions_find(&functions, pc);
	return !r || r->entry == pc;
}

static void add_insn(struct qemu_plugin_insn *insn)
{
	uint64_t pc = qemu_plugin_insn_vaddr(insn);
	size_t n = qemu_plugin_insn_size(insn);
	uint8_t copy[US_MAX_INSN] = { 0 };
	uintptr_t got = n > US_MAX_INSN ? 0 : qemu_plugin_insn_data(insn, copy, n);
	struct us_flow_insn f;
	if (n > US_MAX_INSN)
		return;
	us_x86_flow(qemu_plugin_version == 1 ? (const uint8_t *)got : copy, n, pc, &f);
	bool jumps = f.flow == US_FLOW_JUMP || f.flow == US_FLOW_BRANCH;
	if (f.flow == US_FLOW_CALL || f.flow == US_FLOW_RETURN)
		add_access(insn, pc);
	else if (f.loads_stack ||
		 (jumps && (!f.has_target || begins_function(f.target))))
		qemu_plugin_register_vcpu_insn_exec_cb(
			insn, on_insn, QEMU_PLUGIN_CB_NO_REGS, (void *)(uintptr_t)pc);
	if (us_functions_find(&functions, pc) && begins_function(pc))
		qemu_plugin_register_vcpu_insn_exec_cb(
			insn, on_insn, QEMU_PLUGIN_CB_NO_REGS, (void *)(uintptr_t)pc);
}

static void translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb);
	(void)id;
	count_block(tb, n);
	for (size_t i = 0; i < n; i++)
		add_insn(qemu_plugin_tb_get_insn(tb, i));
}

static int load_functions(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_size < 16)
		return -1;
	const uint8_t *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd,
				0);
	close(fd);
	return p != MAP_FAILED && us_functions_parse(p, (size_t)st.st_size,
						     &functions) == 0
		       ? 0
		       : -1;
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
			char **argv)
{
	(void)info;
	if (argc != 1 || strncmp(argv[0], "functions=", 10) != 0 ||
	    load_functions(argv[0] + 10) < 0) {
		fputs("floor-plugin: functions=PATH\n", stderr);
		return -1;
	}
	if (qemu_plugin_version > 1)
		score = qemu_plugin_scoreboard_new(sizeof(uint64_t));
	qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
	return 0;
}
