/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cost-plugin.c: a plugin for QEMU that does a part of what uniscope's does while it
 * watches a boot, and nothing else: what that part costs (tests/boot/agree).
 *
 *	-plugin FILE,part=loaded	nothing
 *	-plugin FILE,part=told		it is told of each block that is translated
 *	-plugin FILE,part=counted	and has its instructions counted
 */
#include "trace/plugin/qemu_api.h"

#include <stdio.h>
#include <string.h>

#define EXPORT __attribute__((__visibility__("default")))

EXPORT int qemu_plugin_version = 1;
EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
			       char **argv);

static struct qemu_plugin_scoreboard *score; /* version 2; version 1 has this: */
static uint64_t insns;
static bool counts;

__attribute__((__constructor__)) static void choose_version(void)
{
	if (!qemu_plugin_register_vcpu_tb_exec_inline)
		qemu_plugin_version = 2;
}

static void translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb);
	(void)id;
	if (counts && score)
		qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(
			tb, QEMU_PLUGIN_INLINE_ADD_U64, (qemu_plugin_u64){ score, 0 },
			n);
	else if (counts)
		qemu_plugin_register_vcpu_tb_exec_inline(tb, QEMU_PLUGIN_INLINE_ADD_U64,
							 &insns, n);
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
			char **argv)
{
	const char *part = argc == 1 ? strchr(argv[0], '=') : NULL;
	(void)info;
	if (!part) {
		fputs("cost-plugin: part=loaded, told or counted\n", stderr);
		return -1;
	}
	counts = !strcmp(part, "=counted");
	if (counts && qemu_plugin_version > 1)
		score = qemu_plugin_scoreboard_new(sizeof(uint64_t));
	if (strcmp(part, "=loaded") != 0)
		qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
	return 0;
}
