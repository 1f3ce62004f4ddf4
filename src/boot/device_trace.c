/* SPDX-License-Identifier: GPL-2.0-or-later */
/* device_trace.c: see device_trace.h. */
#include "boot/device_trace.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int us_boot_trace_open(struct us_boot_trace *t, const char *path, struct us_err *e)
{
	*t = (struct us_boot_trace){ .fd = -1 };
	if (mkfifo(path, 0600) < 0)
		return us_fail(e, -errno, "make %s: %s", path, strerror(errno));
	t->fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	return t->fd < 0 ? us_fail(e, -errno, "open %s: %s", path, strerror(errno)) : 0;
}

/* "virtio_set_status vdev 0x561097938980 val 3", perhaps behind a time. */
static bool is_use(const char *line)
{
	const char *event = strstr(line, US_BOOT_TRACE_EVENT " "), *value;
	value = event ? strstr(event, " val ") : NULL;
	if (!value)
		return false;
	value += strlen(" val ");
	return *value >= '1' && *value <= '9';
}

bool us_boot_trace_bytes(struct us_boot_trace *t, const char *bytes, size_t n)
{
	bool use = false;
	for (size_t i = 0; i < n; i++) {
		if (bytes[i] != '\n') {
			if (t->n + 1 < sizeof(t->line))
				t->line[t->n++] = bytes[i];
			continue;
		}
		t->line[t->n] = '\0';
		t->n = 0;
		use |= is_use(t->line);
	}
	return use;
}

bool us_boot_trace_hear(struct us_boot_trace *t)
{
	char bytes[4096];
	ssize_t n = read(t->fd, bytes, sizeof(bytes));
	if (n > 0)
		return us_boot_trace_bytes(t, bytes, (size_t)n);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	us_boot_trace_close(t); /* QEMU has closed it */
	return false;
}

void us_boot_trace_close(struct us_boot_trace *t)
{
	if (t->fd >= 0)
		close(t->fd);
	t->fd = -1;
}
