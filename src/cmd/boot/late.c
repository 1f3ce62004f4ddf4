/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd/boot/late.c: see cmd/boot/late.h.  `uniscope dump` runs as a process of its own,
 * so that no failure in it can end the report of the boot.
 */
#include "cmd/boot/late.h"

#include "base/clock.h"
#include "cmd/boot/ways.h"
#include "vmm/qmp.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE (10 * US_NS_PER_SEC)
#define FIXED	 8 /* words besides the images */

#define STUB "gdb:" /* before its path */

/* Of other processors the monitor does not show all that a stack needs. */
static bool is_x86(struct us_qmp *q)
{
	struct us_err e;
	json_t *vcpus = NULL;
	if (us_qmp_run(q, "query-cpus-fast", NULL, &vcpus, &e) < 0)
		return true;
	const char *target = json_string_value(
		json_object_get(json_array_get(vcpus, 0), "target"));
	bool x86 = !target || !strcmp(target, "x86_64") || !strcmp(target, "i386");
	json_decref(vcpus);
	return x86;
}

static bool has_opened(struct us_qmp *q, const char *path)
{
	char line[US_PLUGIN_PATH + 48], said[200];
	struct us_err e;
	snprintf(line, sizeof(line), "gdbserver unix:%s,server=on,wait=off", path);
	return us_qmp_human(q, "gdbserver none", -1, said, sizeof(said), &e) == 0 &&
	       us_qmp_human(q, line, -1, said, sizeof(said), &e) == 0 &&
	       access(path, F_OK) == 0;
}

/* Have QEMU open a stub at this path: only now, since a boot with one would be another
 * boot, and in place of ours if there were breakpoints.  False: the user has one, or
 * there is another way. */
static bool open_stub(const struct us_boot_variant *v, const char *path)
{
	static const char *const own[] = { "gdb", "s", NULL };
	struct us_qmp *q = NULL;
	struct us_err e;
	if (!us_boot_ways_is_emulated(v) || us_boot_variant_has(v->plain, own) ||
	    us_qmp_open(v->monitor, &q, &e) < 0)
		return false;
	bool opened = !is_x86(q) && has_opened(q, path);
	us_qmp_close(q);
	return opened;
}

/* dump -e IMAGE... TARGET: the images that the user named; without any, dump finds them
 * itself. */
static void make_command(const struct us_symbol_files *f, char *target,
			 char *argv[static FIXED + 2 * (US_MAX_IMAGES + US_MAX_DIRS)])
{
	size_t n = 0;
	argv[n++] = (char *)(uintptr_t) "uniscope";
	argv[n++] = (char *)(uintptr_t) "dump";
	for (size_t i = 0; i < f->n_image; i++) {
		argv[n++] = (char *)(uintptr_t) "-e";
		argv[n++] = (char *)(uintptr_t)f->image[i];
	}
	for (size_t i = 0; i < f->dirs.n; i++) {
		argv[n++] = (char *)(uintptr_t) "--symbols";
		argv[n++] = (char *)(uintptr_t)f->dir[i];
	}
	argv[n++] = target;
	argv[n] = NULL;
}

static void become(const struct us_boot_variant *v, char *target)
{
	char *argv[FIXED + 2 * (US_MAX_IMAGES + US_MAX_DIRS)];
	make_command(v->asked.symbols, target, argv);
	if (dup2(STDERR_FILENO, STDOUT_FILENO) >= 0)
		execv("/proc/self/exe", argv);
	_exit(127);
}

void us_boot_late(void *ctx, pid_t vmm)
{
	const struct us_boot_variant *v = ctx;
	char target[sizeof(STUB) + US_PLUGIN_PATH] = STUB;
	char *stub = target + strlen(STUB);
	us_plugin_run_path(&v->run, "late", stub);
	bool opened = open_stub(v, stub);
	if (!opened)
		snprintf(target, sizeof(target), "%d", (int)vmm);
	uint64_t end = us_now_ns() + PATIENCE;
	fflush(stdout);
	pid_t child = fork();
	if (child == 0)
		become(v, target);
	while (child > 0 && waitpid(child, NULL, WNOHANG) == 0) {
		if (us_now_ns() > end)
			kill(child, SIGKILL);
		usleep(10000);
	}
	if (opened)
		unlink(stub);
}
