/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * load.c: as QEMU loads a plugin, of any version and for any guest.
 *
 * usage: load PLUGIN TARGET MIN-VERSION VERSION MACHINE OPTION...
 *
 * MACHINE: 1 a whole machine, 0 a program.  What the plugin's install function returns
 * is the exit status, 0 or 1.
 */
#include "trace/plugin/qemu_api.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

typedef int install_fn(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
		       char **argv);

/* The one by which a plugin knows version 1; nothing is translated here. */
__attribute__((__visibility__("default"))) void
qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *tb,
					 enum qemu_plugin_op op, void *ptr,
					 uint64_t imm)
{
	(void)tb;
	(void)op;
	(void)ptr;
	(void)imm;
}

/* Whose address a plugin takes, so that it is wanted as soon as it is loaded. */
__attribute__((__visibility__("default"))) bool
qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info)
{
	(void)info;
	return false;
}

int main(int argc, char **argv)
{
	if (argc < 6)
		return 2;
	const qemu_info_t info = {
		.target_name = argv[2],
		.version = { .min = atoi(argv[3]), .cur = atoi(argv[4]) },
		.system_emulation = atoi(argv[5]),
		.system = { .smp_vcpus = 1, .max_vcpus = 1 },
	};
	void *plugin = dlopen(argv[1], RTLD_LAZY);
	void *install = plugin ? dlsym(plugin, "qemu_plugin_install") : NULL;
	if (!install) {
		fprintf(stderr, "%s\n", dlerror());
		return 2;
	}
	int code = ((install_fn *)(uintptr_t)install)(1, &info, argc - 6, argv + 6);
	return code ? 1 : 0;
}
