/* SPDX-License-Identifier: GPL-2.0-or-later */
/* exit_event.c: see exit_event.h. */
#include "backend/bpf/exit_event.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

bool us_exit_event_needed(const char *release)
{
	unsigned major = 0, minor = 0;
	if (sscanf(release, "%u.%u", &major, &minor) != 2)
		return true;
	return major < 6 || (major == 6 && minor < 3);
}

static int find_id(uint64_t *ret, struct us_err *e)
{
	static const char *const folders[] = { "/sys/kernel/tracing",
					       "/sys/kernel/debug/tracing" };
	char path[96], text[24];
	ssize_t n = -ENOENT;
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		snprintf(path, sizeof(path), "%s/events/kvm/kvm_exit/id", folders[i]);
		n = us_read_file(AT_FDCWD, path, text, sizeof(text));
		if (n <= 0)
			continue;
		*ret = strtoull(text, NULL, 10);
		return 0;
	}
	us_fail(e, n < 0 ? (int)n : -ENOENT, "read %s/events/kvm/kvm_exit/id: %s",
		folders[0], strerror(n < 0 ? (int)-n : ENOENT));
	if (n == -EACCES || n == -EPERM)
		us_hint(e, "run uniscope with sudo");
	else
		us_hint(e, "mount -t tracefs tracefs %s", folders[0]);
	return n < 0 ? (int)n : -ENOENT;
}

int us_exit_event_open(struct us_exit_event *x, pid_t tid, struct us_err *e)
{
	uint64_t id = 0;
	memset(x, 0, sizeof(*x));
	int r = find_id(&id, e);
	if (r < 0)
		return r;
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.config = id,
	};
	x->event_fd = (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1,
				   PERF_FLAG_FD_CLOEXEC);
	if (x->event_fd < 0)
		return us_fail(e, -errno, "count the exits of thread %d: %s", tid,
			       strerror(errno));
	x->open = true;
	return 0;
}

void us_exit_event_close(struct us_exit_event *x)
{
	if (x->open)
		close(x->event_fd);
	x->open = false;
}

uint64_t us_exit_event_count(const struct us_exit_event *x)
{
	uint64_t n = 0;
	if (!x->open || read(x->event_fd, &n, sizeof(n)) != sizeof(n))
		return 0;
	return n;
}
