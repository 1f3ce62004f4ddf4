/* SPDX-License-Identifier: GPL-2.0-or-later */
/* device_trace.c: see device_trace.h. */
#include "boot/device_trace.h"

#include "base/clock.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int us_boot_trace_open(struct us_boot_trace *t, const char *path, struct us_err *e)
{
	*t = (struct us_boot_trace){ .fd = -1 };
	if (mkfifo(path, 0600) < 0)
		return us_fail(e, -errno, "make %s: %s", path, strerror(errno));
	t->fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	return t->fd < 0 ? us_fail(e, -errno, "open %s: %s", path, strerror(errno)) : 0;
}

#define LATE (60 * US_NS_PER_SEC) /* more is not a delay, but a different clock */

/* "virtio_set_status vdev 0x561097938980 val 3", perhaps after "4711@1732.000123:". */
static bool is_use(const char *line)
{
	const char *event = strstr(line, US_BOOT_TRACE_EVENT " "), *value;
	value = event ? strstr(event, " val ") : NULL;
	if (!value)
		return false;
	value += strlen(" val ");
	return *value >= '1' && *value <= '9';
}

/* The place for the block that begins here: its own, a new one, or the oldest's. */
static struct us_boot_block *begin_block(struct us_boot_trace *t, uint64_t pc)
{
	size_t i = 0;
	while (i < t->n_block && i < US_BOOT_BLOCKS && t->block[i].pc != pc)
		i++;
	if (i == t->n_block || i == US_BOOT_BLOCKS)
		i = t->n_block++ % US_BOOT_BLOCKS;
	t->current = i;
	t->block[i] = (struct us_boot_block){ .pc = pc };
	return &t->block[i];
}

/*
 * "0x0010000c:  89 c3                    movl     %eax, %ebx", after a line "IN: " that
 * begins a block.  A long instruction has several such lines.
 */
static void take_code(struct us_boot_trace *t, const char *line)
{
	uint64_t pc;
	unsigned byte;
	int used = 0;
	if (!strncmp(line, "IN:", 3)) {
		t->begins = true;
		return;
	}
	if (sscanf(line, "0x%" SCNx64 ": %n", &pc, &used) != 1 || !used ||
	    (!t->begins && !t->n_block))
		return;
	struct us_boot_block *b = t->begins ? begin_block(t, pc)
					    : &t->block[t->current];
	t->begins = false;
	if (pc != b->pc + b->n)
		return;
	for (const char *p = line + used; b->n < sizeof(b->code); p += 3) {
		if (!isxdigit((unsigned char)p[0]) || !isxdigit((unsigned char)p[1]) ||
		    (p[2] && p[2] != ' ') || sscanf(p, "%2x", &byte) != 1)
			return;
		b->code[b->n++] = (uint8_t)byte;
		if (!p[2])
			return;
	}
}

/* "Trace 0: 0x7f0f4c000100 [00000000/0000000000100000/00000010/ff000000] kmain": the
 * vCPU, address of QEMU's code, base of the code segment, address, and more. */
static void take_block(const struct us_boot_trace *t, const char *line)
{
	uint64_t host, base, pc;
	unsigned vcpu;
	if (!t->executed ||
	    sscanf(line, "Trace %u: 0x%" SCNx64 " [%" SCNx64 "/%" SCNx64 "/", &vcpu,
		   &host, &base, &pc) != 4)
		return;
	struct us_boot_block unknown = { .pc = pc };
	const struct us_boot_block *b = &unknown;
	for (size_t i = 0; i < t->n_block && i < US_BOOT_BLOCKS; i++)
		if (t->block[i].pc == pc)
			b = &t->block[i];
	t->executed(t->ctx, b);
}

/* CLOCK_REALTIME in ns; 0: the line has no time. */
static uint64_t time_of(const char *line)
{
	unsigned pid;
	uint64_t s, us;
	if (sscanf(line, "%u@%" SCNu64 ".%" SCNu64 ":", &pid, &s, &us) != 3 ||
	    s > UINT32_MAX || us >= 1000000)
		return 0;
	return s * US_NS_PER_SEC + us * 1000;
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
		take_code(t, t->line);
		take_block(t, t->line);
		if (use || !is_use(t->line))
			continue;
		use = true;
		t->real_ns = time_of(t->line);
	}
	return use;
}

static uint64_t moment(const struct us_boot_trace *t)
{
	struct timespec real;
	uint64_t now = us_now_ns();
	clock_gettime(CLOCK_REALTIME, &real);
	uint64_t real_ns = (uint64_t)real.tv_sec * US_NS_PER_SEC +
			   (uint64_t)real.tv_nsec;
	bool good = t->real_ns && t->real_ns <= real_ns && real_ns - t->real_ns < LATE;
	return good ? now - (real_ns - t->real_ns) : now;
}

bool us_boot_trace_hear(struct us_boot_trace *t, uint64_t *ret_ns)
{
	char bytes[4096];
	ssize_t n = read(t->fd, bytes, sizeof(bytes));
	if (n > 0) {
		bool use = us_boot_trace_bytes(t, bytes, (size_t)n);
		*ret_ns = moment(t);
		return use;
	}
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
