/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd/boot/late.c: see cmd/boot/late.h.  `uniscope dump` runs as a process of its own,
 * so that no failure in it can end the report of the boot.
 */
#include "cmd/boot/late.h"

#include "base/clock.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE (10 * US_NS_PER_SEC)
#define FIXED	 8 /* words besides the images */

/* dump -e IMAGE... PID: the images that the user named; without any, dump finds them
 * itself. */
static void make_command(const struct us_symbol_files *f, char *pid,
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
	argv[n++] = pid;
	argv[n] = NULL;
}

static void become(const struct us_boot_variant *v, pid_t vmm)
{
	char *argv[FIXED + 2 * (US_MAX_IMAGES + US_MAX_DIRS)], pid[16];
	snprintf(pid, sizeof(pid), "%d", (int)vmm);
	make_command(v->asked.symbols, pid, argv);
	if (dup2(STDERR_FILENO, STDOUT_FILENO) >= 0)
		execv("/proc/self/exe", argv);
	_exit(127);
}

void us_boot_late(void *ctx, pid_t vmm)
{
	const struct us_boot_variant *v = ctx;
	uint64_t end = us_now_ns() + PATIENCE;
	fflush(stdout);
	pid_t child = fork();
	if (child == 0)
		become(v, vmm);
	while (child > 0 && waitpid(child, NULL, WNOHANG) == 0) {
		if (us_now_ns() > end)
			kill(child, SIGKILL);
		usleep(10000);
	}
}
