/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * truth.c: prints the guest's truth twice a second and a heartbeat ten times a second.
 */
#include "truth.h"
#include "machine.h"
#include "text.h"

#define TREE_MAX_DEPTH 128
/* A stretch of work is at least as long as so many reads of the counter, which takes
 * 25 us where a hypervisor emulates it. */
#define READS_PER_STRETCH 200
#define TRIAL		  2000 /* iterations */

volatile u64 heartbeat;

static const char *const own_names[] = { TRUTH_OWN_FUNCTIONS(TRUTH_NAME_) };
static struct text lines[MAX_VCPUS];

void truth_init(struct truth *t, u32 vcpu, const char *const *names)
{
	t->vcpu = vcpu;
	t->n = 1;
	t->function[TRUTH_IDLE].name = "idle";
	for (u32 i = 0; i < ARRAY_LEN(own_names); i++)
		t->function[t->n++].name = own_names[i];
	for (u32 i = 0; names[i] && t->n < TRUTH_MAX_FUNCTIONS; i++)
		t->function[t->n++].name = names[i];
	for (u32 i = 0; i < t->n; i++)
		t->function[i].best = ~(u64)0;
	t->current = IN(report);
	t->start = t->last = read_tsc();
	t->next_beat = t->start;
	t->next_truth = t->start + (vcpu + 1) * tsc_second / 8;
}

void truth_with_callees(struct truth *t, u32 function)
{
	t->function[function].with_callees = true;
}

/* The time to put out a line belongs to serial_write. */
HIDDEN void put_line(struct truth *t, struct text *line, u32 back_in)
{
	text_char(line, '\n');
	truth_call(t, IN(serial_write));
	serial_write(line->data, line->len);
	truth_enter(t, back_in);
}

HIDDEN void text_member(struct text *line, const char *name, u64 value)
{
	text_string(line, name);
	text_number(line, value);
}

HIDDEN void text_function(struct text *line, const struct truth_function *f, bool first)
{
	text_string(line, first ? "\"" : ",\"");
	text_string(line, f->name);
	text_member(line, "\":{\"calls\":", f->calls);
	text_member(line, ",\"self\":", f->self);
	text_member(line, ",\"best\":", f->best == ~(u64)0 ? 0 : f->best);
	if (f->with_callees)
		text_string(line, ",\"with_callees\":true");
	text_char(line, '}');
}

static VISIBLE void print_truth(struct truth *t)
{
	struct text *line = &lines[t->vcpu];

	line->len = 0;
	text_member(line, "TRUTH {\"vcpu\":", t->vcpu);
	text_member(line, ",\"seq\":", t->seq++);
	text_member(line, ",\"tsc\":", t->last);
	text_member(line, ",\"tsc_hz\":", tsc_hz);
	text_string(line, ",\"fn\":{");
	for (u32 i = 1; i < t->n; i++)
		text_function(line, &t->function[i], i == 1);
	text_member(line, "},\"idle\":", t->function[TRUTH_IDLE].self);
	text_member(line, ",\"total\":", t->last - t->start);
	text_char(line, '}');
	put_line(t, line, IN(print_truth));
}

static VISIBLE void print_beat(struct truth *t)
{
	struct text *line = &lines[t->vcpu];

	line->len = 0;
	text_member(line, "BEAT ", heartbeat);
	put_line(t, line, IN(print_beat));
}

/* Where each byte on the serial port is dear, less is printed: it shall take 1/20 of
 * the time.  But whoever waits for a sign of life gets it in four intervals at the
 * latest. */
HIDDEN u64 next_due(struct truth *t, u64 started, u64 interval)
{
	u64 pause = 20 * (t->last - started);

	pause = pause > interval ? pause : interval;
	return t->last + (pause < 4 * interval ? pause : 4 * interval);
}

VISIBLE void report(struct truth *t)
{
	u32 caller = t->current;

	if (t->vcpu == 0)
		heartbeat++;
	if (t->vcpu == 0 && t->last >= t->next_beat) {
		u64 started = t->last;

		truth_call(t, IN(print_beat));
		print_beat(t);
		truth_enter(t, caller);
		t->next_beat = next_due(t, started, part(tsc_second, 10));
	}
	if (t->last >= t->next_truth) {
		u64 started = t->last;

		truth_call(t, IN(print_truth));
		print_truth(t);
		truth_enter(t, caller);
		t->next_truth = next_due(t, started, part(tsc_second, 2));
	}
}

/* A line of the tree: its name up to the end of the line. */
HIDDEN const char *text_line(struct text *line, const char *name)
{
	while (*name && *name != '\n')
		text_char(line, *name++);
	return name;
}

void print_tree(const char *tree)
{
	const char *path[TREE_MAX_DEPTH];
	struct text *line = &lines[0];

	while (*tree) {
		const char *name = tree;
		u32 depth;

		while (*name == ' ')
			name++;
		depth = (u32)(name - tree) / 2;
		path[depth] = name;
		line->len = 0;
		text_string(line, "TREE ");
		for (u32 i = 0; i < depth; i++) {
			text_line(line, path[i]);
			text_char(line, ';');
		}
		tree = text_line(line, name) + 1;
		text_char(line, '\n');
		serial_write(line->data, line->len);
	}
}

u64 measure_iterations(u32 fraction, u64 min)
{
	u64 read = ~(u64)0, loop = ~(u64)0, n, least;

	for (u32 round = 0; round < 4; round++) {
		u64 before = read_tsc(), start = read_tsc(), x = start, end;

		for (u32 i = 0; i < TRIAL; i++)
			keep(x = x * 3 + i);
		end = read_tsc();
		read = start - before < read ? start - before : read;
		loop = end - start < loop ? end - start : loop;
	}
	loop = loop > read ? loop - read : 1;
	n = TRIAL * (tsc_second / fraction) / loop;
	least = TRIAL * READS_PER_STRETCH * read / loop;
	n = n > least ? n : least;
	return n > min ? n : min;
}
