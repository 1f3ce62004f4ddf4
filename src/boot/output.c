/* SPDX-License-Identifier: GPL-2.0-or-later */
/* output.c: what the VMM writes during a boot; see booting.h. */
#include "boot/booting.h"

#include "base/clock.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static void end_line(struct us_booting *b, uint64_t now)
{
	b->line[b->line_n] = '\0';
	b->line_n = 0;
	for (size_t i = 0; i < b->plan->n; i++) {
		const struct us_boot_point *p = &b->plan->point[i];
		if (p->kind == US_BOOT_TEXT && !b->run->at[i].seen &&
		    !regexec(&p->text, b->line, 0, NULL, 0))
			us_booting_pass_point(b, i, now, US_BOOT_BY_OUTPUT);
	}
}

/* An unfinished line counts, too, such as a prompt. */
static void match(struct us_booting *b, const char *bytes, size_t n, uint64_t now)
{
	for (size_t i = 0; i < n; i++) {
		bool end = bytes[i] == '\n' || bytes[i] == '\r';
		if (!end && b->line_n + 1 < sizeof(b->line))
			b->line[b->line_n++] = bytes[i] ? bytes[i] : ' ';
		if (end)
			end_line(b, now);
	}
	size_t keep = b->line_n;
	if (keep)
		end_line(b, now);
	b->line_n = keep;
}

static void keep_tail(struct us_boot_tail *t, const char *bytes, size_t n)
{
	size_t most = sizeof(t->text) - 1;
	if (n > most) {
		bytes += n - most;
		n = most;
	}
	if (t->n + n > most) {
		size_t drop = t->n + n - most;
		memmove(t->text, t->text + drop, t->n - drop);
		t->n -= drop;
	}
	memcpy(t->text + t->n, bytes, n);
	t->n += n;
	t->text[t->n] = '\0';
}

/* Reads what is available; 0: nothing. */
static size_t read_some(int *fd, char *bytes, size_t size)
{
	ssize_t n = read(*fd, bytes, size);
	if (n > 0)
		return (size_t)n;
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	close(*fd);
	*fd = -1;
	return 0;
}

void us_booting_hear(struct us_booting *b)
{
	char bytes[4096];
	size_t n = read_some(&b->out, bytes, sizeof(bytes));
	uint64_t now = us_now_ns();
	if (!n)
		return;
	us_booting_pass_now(b, US_BOOT_SERIAL, now, US_BOOT_BY_OUTPUT);
	match(b, bytes, n, now);
	keep_tail(&b->run->said, bytes, n);
}

void us_booting_hear_complaints(struct us_booting *b)
{
	char bytes[1024];
	keep_tail(&b->run->complained, bytes,
		  read_some(&b->error, bytes, sizeof(bytes)));
}
