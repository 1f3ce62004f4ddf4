/* SPDX-License-Identifier: GPL-2.0-or-later */
/* launch_args.c: see launch_args.h. */
#include "vmm/launch_args.h"

#include "base/cleanup.h"
#include "vmm/cmdline.h"
#include "vmm/loader.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MAX_ADDED 8

static void add(struct us_launch_args *a, unsigned *n, const char *option,
		const char *value)
{
	/* execve() takes them as char *, but writes to none. */
	a->argv[(*n)++] = (char *)(uintptr_t)option;
	if (value)
		a->argv[(*n)++] = (char *)(uintptr_t)value;
	a->argv[*n] = NULL;
}

static void name_socket(char *word, size_t size, const char *dir, const char *name)
{
	snprintf(word, size, "unix:%s/%s,server=on,wait=off", dir, name);
}

static void add_for_qemu(struct us_launch_args *a, unsigned n, const char *dir,
			 const struct us_cmdline *c, bool wrapper)
{
	a->qemu = true;
	a->daemon = c->daemon;
	a->owned = c->n_qmp > 0;
	name_socket(a->qmp_word, sizeof(a->qmp_word), dir, "qmp.sock");
	name_socket(a->start_word, sizeof(a->start_word), dir, "start.sock");
	add(a, &n, "-qmp", a->qmp_word);
	add(a, &n, "-qmp", a->start_word);
	/* QEMU has one stub: a second -gdb would take it away from the user. */
	a->gdb = !c->gdb[0] && !wrapper &&
		 (c->accel == US_ACCEL_TCG || c->tcg_fallback);
	if (a->gdb) {
		name_socket(a->gdb_word, sizeof(a->gdb_word), dir, "gdb.sock");
		add(a, &n, "-gdb", a->gdb_word);
	}
	a->stop = !c->stopped;
	if (a->stop)
		add(a, &n, "-S", NULL);
}

int us_launch_args_make(char *const argv[], const char *dir, struct us_launch_args *ret)
{
	unsigned argc = 0;
	while (argv[argc])
		argc++;
	*ret = (struct us_launch_args){
		.argv = calloc(argc + MAX_ADDED + 1, sizeof(*argv)),
	};
	_cleanup_free_ struct us_cmdline *c = calloc(1, sizeof(*c));
	if (!ret->argv || !c) {
		us_launch_args_fini(ret);
		return -ENOMEM;
	}
	memcpy(ret->argv, argv, argc * sizeof(*argv));
	char vmm[32];
	char *const *program = us_loader_program(argv);
	us_vmm_name(program[0], vmm, sizeof(vmm));
	if (!strcmp(vmm, "qemu") &&
	    us_cmdline_parse(vmm, argc - (unsigned)(program - argv),
			     (const char *const *)program, c)) {
		/* The scripts "kvm" and "qemu-kvm" add -enable-kvm. */
		bool wrapper = !strstr(program[0], "qemu-system-");
		add_for_qemu(ret, argc, dir, c, wrapper);
	}
	return 0;
}

void us_launch_args_fini(struct us_launch_args *a)
{
	free(a->argv);
	a->argv = NULL;
}
