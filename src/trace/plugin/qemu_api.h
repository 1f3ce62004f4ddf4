/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * qemu_api.h: the part of QEMU's plugin interface that is used
 * (include/qemu/qemu-plugin.h there), declared again: one plugin serves QEMU 7.2 to
 * 10.x and is compiled without QEMU's headers.
 *
 * Interface version 1 is QEMU up to 8.2; 2 is 9.0; 3 (9.1) copies the bytes of
 * instructions; 4 is 9.2 and 10.0; since 5 (10.1) registers can be read only in
 * callbacks that were registered for that.  What some versions lack is a weak symbol.
 */
#ifndef US_TRACE_QEMU_API_H
#define US_TRACE_QEMU_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define US_WEAK __attribute__((__weak__))

typedef uint64_t qemu_plugin_id_t;
typedef uint32_t qemu_plugin_meminfo_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_scoreboard;

typedef struct qemu_info_t {
	const char *target_name;
	struct {
		int min, cur;
	} version;
	bool system_emulation;
	struct {
		int smp_vcpus, max_vcpus;
	} system;
} qemu_info_t;

enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_CB_R_REGS };
enum qemu_plugin_mem_rw { QEMU_PLUGIN_MEM_RW = 3 };
enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 };
typedef struct {
	struct qemu_plugin_scoreboard *score;
	size_t offset;
} qemu_plugin_u64;

typedef void us_vcpu_simple(qemu_plugin_id_t id, unsigned vcpu);
typedef void us_vcpu_exec(unsigned vcpu, void *data);
typedef void us_vcpu_mem(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr,
			 void *data);
typedef void us_tb_trans(qemu_plugin_id_t id, struct qemu_plugin_tb *tb);

void qemu_plugin_uninstall(qemu_plugin_id_t id, void (*done)(qemu_plugin_id_t id));
void qemu_plugin_register_vcpu_init_cb(qemu_plugin_id_t id, us_vcpu_simple *cb);
void qemu_plugin_register_vcpu_idle_cb(qemu_plugin_id_t id, us_vcpu_simple *cb);
void qemu_plugin_register_vcpu_resume_cb(qemu_plugin_id_t id, us_vcpu_simple *cb);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, us_tb_trans *cb);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id,
				    void (*cb)(qemu_plugin_id_t id, void *data),
				    void *data);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, us_vcpu_exec *cb,
					  enum qemu_plugin_cb_flags flags, void *data);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
					    us_vcpu_exec *cb,
					    enum qemu_plugin_cb_flags flags,
					    void *data);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, us_vcpu_mem *cb,
				      enum qemu_plugin_cb_flags flags,
				      enum qemu_plugin_mem_rw rw, void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb,
						 size_t i);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
/* Address in QEMU's own memory (whatever its documentation says); NULL: not in RAM. */
const void *qemu_plugin_insn_haddr(const struct qemu_plugin_insn *insn);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info);
unsigned qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t info);
/* For the access of the current callback, only during that callback; NULL: not
 * known. */
struct qemu_plugin_hwaddr;
struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(qemu_plugin_meminfo_t info,
						  uint64_t vaddr);
bool qemu_plugin_hwaddr_is_io(const struct qemu_plugin_hwaddr *haddr);
uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr *haddr);
/* For device memory; the string stays valid. */
const char *qemu_plugin_hwaddr_device_name(const struct qemu_plugin_hwaddr *haddr);

/* Versions 1 and 2: returns a pointer to the bytes; since 3: returns a size_t and
 * copies them. */
uintptr_t qemu_plugin_insn_data(const struct qemu_plugin_insn *insn, void *dst,
				size_t size);

/* Version 1 only. */
US_WEAK void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *tb,
						      enum qemu_plugin_op op, void *ptr,
						      uint64_t imm);
US_WEAK void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *insn,
							enum qemu_plugin_op op,
							void *ptr, uint64_t imm);

/* Since version 2. */
US_WEAK struct qemu_plugin_scoreboard *qemu_plugin_scoreboard_new(size_t size);
US_WEAK void *qemu_plugin_scoreboard_find(struct qemu_plugin_scoreboard *s,
					  unsigned vcpu);
US_WEAK void
qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(struct qemu_plugin_tb *tb,
						  enum qemu_plugin_op op,
						  qemu_plugin_u64 entry, uint64_t imm);
US_WEAK void qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(
	struct qemu_plugin_insn *insn, enum qemu_plugin_op op, qemu_plugin_u64 entry,
	uint64_t imm);

/* Registers, since version 2: GLib's GArray of descriptors, which the caller owns, and
 * GByteArray, to which the bytes are appended. */
struct qemu_plugin_register;
struct us_register_descriptor {
	struct qemu_plugin_register *handle;
	const char *name, *feature;
};
struct us_array {
	char *data;
	unsigned len;
};
struct us_byte_array {
	uint8_t *data;
	unsigned len;
};
US_WEAK struct us_array *qemu_plugin_get_registers(void);
US_WEAK int qemu_plugin_read_register(struct qemu_plugin_register *handle,
				      struct us_byte_array *buf);
/* Since version 4. */
US_WEAK bool qemu_plugin_read_memory_vaddr(uint64_t addr, struct us_byte_array *data,
					   size_t len);

/* What the latter calls.  Some QEMUs export all symbols (Debian's), so it is available
 * in any version: include/exec/cpu-all.h there.  0: all bytes were read. */
US_WEAK void *qemu_get_cpu(int vcpu);
US_WEAK int cpu_memory_rw_debug(void *cpu, uint64_t addr, void *ptr, size_t len,
				bool is_write);

/* From GLib, which QEMU links. */
US_WEAK struct us_byte_array *g_byte_array_sized_new(unsigned reserved);
US_WEAK struct us_byte_array *g_byte_array_set_size(struct us_byte_array *a,
						    unsigned n);
US_WEAK char *g_array_free(struct us_array *a, int free_segment);

#endif
