/* SPDX-License-Identifier: GPL-2.0-or-later */
/* output.c: what the VMM writes during a boot; see booting.h. */
#include "boot/booting.h"

#include "base/clock.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define ESC  '\033'
#define BELL '\a'

/* In which part of a terminal's control sequence (ECMA-48) the output is. */
enum { TEXT, ESCAPE, CONTROL, STRING };

/* flags: of regexec() */
static void try_line(struct us_booting *b, uint64_t now, int flags)
{
	b->line[b->line_n] = '\0';
	for (size_t i = 0; i < b->plan->n; i++) {
		const struct us_boot_point *p = &b->plan->point[i];
		if (p->kind == US_BOOT_TEXT && !b->run->at[i].seen &&
		    !regexec(&p->text, b->line, 0, NULL,
			     flags | (b->line_cut ? REG_NOTBOL : 0)))
			us_booting_pass_point(b, i, now, US_BOOT_BY_OUTPUT);
	}
}

static void end_line(struct us_booting *b, uint64_t now)
{
	try_line(b, now, 0);
	b->line_n = 0;
	b->line_cut = false;
}

/* A program that writes a screen need not write any end of a line: of a long one, what
 * comes last is kept. */
static void add_byte(struct us_booting *b, char byte, uint64_t now)
{
	const size_t keep = US_BOOTING_LINE / 2;
	if (b->line_n + 1 == sizeof(b->line)) {
		try_line(b, now, REG_NOTEOL);
		memmove(b->line, b->line + b->line_n - keep, keep);
		b->line_n = keep;
		b->line_cut = true;
	}
	b->line[b->line_n++] = byte ? byte : ' ';
}

/* What moves the cursor elsewhere ends a line; colours and the like do not. */
static void end_sequence(struct us_booting *b, const char *moves, char byte,
			 uint64_t now)
{
	b->sequence = TEXT;
	if (b->line_n && strchr(moves, byte))
		end_line(b, now);
}

/* Returns whether the byte belongs to a control sequence. */
static bool is_control(struct us_booting *b, char byte, uint64_t now)
{
	bool printed = byte >= ' ' && byte <= '~';
	if (byte == ESC) {
		b->sequence = ESCAPE;
		return true;
	}
	if (b->sequence == STRING && (byte == BELL || byte == '\n')) {
		b->sequence = TEXT;
		return byte == BELL;
	}
	if (b->sequence == TEXT || b->sequence == STRING)
		return b->sequence == STRING;
	if (!printed) { /* it is broken off */
		b->sequence = TEXT;
		return false;
	}
	if (b->sequence == ESCAPE && (byte == '[' || byte == ']')) {
		b->sequence = byte == '[' ? CONTROL : STRING;
	} else if (b->sequence == ESCAPE && byte >= '0') {
		end_sequence(b, "8cDEM", byte, now);
	} else if (b->sequence == CONTROL && byte >= '@') {
		end_sequence(b, "ABDEFGHJdfu", byte, now);
		if (byte == 'C') /* over blanks */
			add_byte(b, ' ', now);
	}
	return true;
}

/* An unfinished line counts, too, such as a prompt. */
static void match(struct us_booting *b, const char *bytes, size_t n, uint64_t now)
{
	for (size_t i = 0; i < n; i++) {
		if (is_control(b, bytes[i], now))
			continue;
		if (bytes[i] == '\n' || bytes[i] == '\r')
			end_line(b, now);
		else
			add_byte(b, bytes[i], now);
	}
	if (b->line_n)
		try_line(b, now, 0);
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
