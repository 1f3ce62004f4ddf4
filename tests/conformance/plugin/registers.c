/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * registers.c: a plugin for QEMU that compares what trace/plugin/registers.h reads with
 * what QEMU says otherwise: at each call, where it stores its return address, and what
 * its code is.  At the end a line of JSON on stderr.
 */
#include "trace/plugin/qemu_api.h"
#include "trace/plugin/registers.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define EXPORT	  __attribute__((__visibility__("default")))
#define MAX_VCPU  64
#define MAX_CALL  65536
#define CALL	  0xe8
#define CALL_SIZE 5

EXPORT int qemu_plugin_version = 1;
EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
			       char **argv);

enum { RSP, CS, MISSING, N_NAME };
static const char *const names[N_NAME] = { "RSP", "cs", "no such register" };

struct call {
	uint64_t pc;
	uint8_t code[CALL_SIZE];
};

static struct {
	struct us_registers registers;
	uint64_t sp; /* before the call */
	bool known;
} vcpus[MAX_VCPU];
static struct call calls[MAX_CALL];
static unsigned n_call, api;
static int found;
static uint64_t n_sp, n_sp_wrong, n_cs_wrong, n_missing_wrong;
static uint64_t n_code, n_code_wrong, n_no_code, n_nowhere_wrong;

__attribute__((__constructor__)) static void choose_version(void)
{
	if (!qemu_plugin_register_vcpu_tb_exec_inline)
		qemu_plugin_version = 2;
}

static void count(uint64_t *n)
{
	__atomic_fetch_add(n, 1, __ATOMIC_RELAXED);
}

static void compare_code(const struct us_registers *r, const struct call *c)
{
	uint8_t code[CALL_SIZE], nowhere[8];
	if (!us_memory_read(r, c->pc, code, sizeof(code)))
		count(&n_no_code);
	else
		count(memcmp(code, c->code, sizeof(code)) ? &n_code_wrong : &n_code);
	if (us_memory_read(r, 1ULL << 62, nowhere, sizeof(nowhere)))
		count(&n_nowhere_wrong); /* that is no address of x86's */
}

static void before_call(unsigned i, void *data)
{
	struct us_registers *r = &vcpus[i % MAX_VCPU].registers;
	uint64_t value;
	vcpus[i % MAX_VCPU].known = us_register_read(r, RSP, &vcpus[i % MAX_VCPU].sp);
	if (us_registers_can_be_read() &&
	    (!us_register_read(r, CS, &value) || value & 3))
		count(&n_cs_wrong);
	if (us_register_read(r, MISSING, &value) || us_register_read(r, N_NAME, &value))
		count(&n_missing_wrong);
	if (us_memory_can_be_read())
		compare_code(r, data);
}

static void on_call(unsigned i, qemu_plugin_meminfo_t info, uint64_t gva, void *data)
{
	(void)data;
	if (!vcpus[i % MAX_VCPU].known || !qemu_plugin_mem_is_store(info))
		return;
	count(gva + 8 == vcpus[i % MAX_VCPU].sp ? &n_sp : &n_sp_wrong);
	vcpus[i % MAX_VCPU].known = false;
}

/* The guest's own code alone, which is 64 bits wide and in the higher half. */
static void translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	(void)id;
	for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		struct call c = { .pc = qemu_plugin_insn_vaddr(insn) };
		if (qemu_plugin_insn_size(insn) != CALL_SIZE || !(c.pc >> 63))
			continue;
		uintptr_t got = qemu_plugin_insn_data(insn, c.code, CALL_SIZE);
		if (api < 3)
			memcpy(c.code, (const void *)got, CALL_SIZE);
		unsigned at = __atomic_fetch_add(&n_call, 1, __ATOMIC_RELAXED);
		if (c.code[0] != CALL || at >= MAX_CALL)
			continue;
		calls[at] = c;
		qemu_plugin_register_vcpu_insn_exec_cb(
			insn, before_call, QEMU_PLUGIN_CB_R_REGS, &calls[at]);
		qemu_plugin_register_vcpu_mem_cb(insn, on_call, QEMU_PLUGIN_CB_NO_REGS,
						 QEMU_PLUGIN_MEM_RW, NULL);
	}
}

static void start_vcpu(qemu_plugin_id_t id, unsigned i)
{
	(void)id;
	found = us_registers_find(&vcpus[i % MAX_VCPU].registers, names, N_NAME);
}

static void at_exit(qemu_plugin_id_t id, void *data)
{
	(void)id;
	(void)data;
	fprintf(stderr,
		"{\"api\": %u, \"found\": %d, \"registers\": %d, \"memory\": %d, "
		"\"sp\": %lu, \"sp_wrong\": %lu, \"cs_wrong\": %lu, "
		"\"missing_wrong\": %lu, \"code\": %lu, \"code_wrong\": %lu, "
		"\"no_code\": %lu, \"nowhere_wrong\": %lu}\n",
		api, found, us_registers_can_be_read(), us_memory_can_be_read(), n_sp,
		n_sp_wrong, n_cs_wrong, n_missing_wrong, n_code, n_code_wrong,
		n_no_code, n_nowhere_wrong);
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
			char **argv)
{
	(void)argc;
	(void)argv;
	api = qemu_plugin_version == 1 ? 1 : (unsigned)info->version.cur;
	qemu_plugin_register_vcpu_init_cb(id, start_vcpu);
	qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
	qemu_plugin_register_atexit_cb(id, at_exit, NULL);
	return 0;
}
