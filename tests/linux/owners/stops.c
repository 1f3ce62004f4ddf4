/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Preloaded into uniscope: for how long each stop by ptrace() holds a thread, for it
 * and the guest count that differently.  Written to $STOPS when it is over: when it
 * began, in ns of CLOCK_MONOTONIC, and how long it was. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <time.h>
#include <unistd.h>

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

long ptrace(enum __ptrace_request request, ...)
{
	static long (*real)(enum __ptrace_request, ...);
	static uint64_t stop[2];
	static int fd = -1;
	va_list args;
	va_start(args, request);
	pid_t pid = va_arg(args, pid_t);
	void *addr = va_arg(args, void *);
	void *data = va_arg(args, void *);
	va_end(args);
	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "ptrace");
	if (request == PTRACE_INTERRUPT)
		stop[0] = now_ns();
	long r = real(request, pid, addr, data);
	if (request == PTRACE_DETACH && !r && getenv("STOPS")) {
		stop[1] = now_ns() - stop[0];
		if (fd < 0)
			fd = open(getenv("STOPS"),
				  O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		if (write(fd, stop, sizeof(stop)) != sizeof(stop))
			abort();
	}
	return r;
}
