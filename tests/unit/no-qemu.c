/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * no-qemu.c: what of QEMU the plugin is linked with, for tests that call little of it
 * and have that themselves.  Without QEMU's declarations, as all are the same here.
 */
#include <stdlib.h>

#define NOT_CALLED(name)                                                               \
	__attribute__((__weak__)) void name(void);                                     \
	void name(void)                                                                \
	{                                                                              \
		abort();                                                               \
	}

NOT_CALLED(qemu_plugin_get_hwaddr)
NOT_CALLED(qemu_plugin_hwaddr_device_name)
NOT_CALLED(qemu_plugin_hwaddr_is_io)
NOT_CALLED(qemu_plugin_hwaddr_phys_addr)
NOT_CALLED(qemu_plugin_insn_data)
NOT_CALLED(qemu_plugin_insn_haddr)
NOT_CALLED(qemu_plugin_insn_size)
NOT_CALLED(qemu_plugin_insn_vaddr)
NOT_CALLED(qemu_plugin_mem_is_store)
NOT_CALLED(qemu_plugin_mem_size_shift)
NOT_CALLED(qemu_plugin_register_atexit_cb)
NOT_CALLED(qemu_plugin_register_vcpu_idle_cb)
NOT_CALLED(qemu_plugin_register_vcpu_init_cb)
NOT_CALLED(qemu_plugin_register_vcpu_insn_exec_cb)
NOT_CALLED(qemu_plugin_register_vcpu_mem_cb)
NOT_CALLED(qemu_plugin_register_vcpu_resume_cb)
NOT_CALLED(qemu_plugin_register_vcpu_tb_exec_cb)
NOT_CALLED(qemu_plugin_register_vcpu_tb_trans_cb)
NOT_CALLED(qemu_plugin_tb_get_insn)
NOT_CALLED(qemu_plugin_tb_n_insns)
NOT_CALLED(qemu_plugin_uninstall)
