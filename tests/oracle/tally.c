/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tally.c: see tally.h. */
#include "tally.h"

#include <inttypes.h>
#include <string.h>

static void add_place(struct place *v, us_gva pc)
{
	for (unsigned i = 0; i < N_PLACE; i++) {
		if (v[i].n && v[i].pc != pc)
			continue;
		v[i].pc = pc;
		v[i].n++;
		return;
	}
}

void tally_add(struct tally *t, struct pair *p)
{
	enum us_class class = classify(p);
	uint64_t nth = t->class[class]++;
	t->n++;
	t->whole += p->ours->end == US_END_ROOT;
	t->dwfl_whole += p->dwfl->whole;
	t->end[p->ours->end]++;
	t->frames += p->ours->n;
	for (unsigned i = 0; i < p->ours->n; i++)
		t->how[p->ours->how[i] % N_HOW]++;
	if (p->same)
		add_place(t->place[class], p->ours->pc[p->same - 1]);
	if (nth < N_EXAMPLE)
		t->example[class][nth] = (struct example){ .regs = *p->regs,
							   .ours = *p->ours,
							   .dwfl = *p->dwfl,
							   .same = p->same };
}

double tally_whole(const struct tally *t)
{
	uint64_t n = t->n - t->class[US_CLASS_THREAD_BEGINS];
	return n ? (double)t->whole / (double)n : 1;
}

/* "function+0x12"; good until the fourth call after. */
static const char *name_of(struct us_symbols *names, us_gva pc, bool is_return)
{
	static char text[4][160];
	static unsigned turn;
	char *to = text[turn++ % 4];
	struct us_frame f[16];
	size_t n = us_symbols_lookup(names, pc, is_return, f, 16);
	if (n && f[n - 1].func)
		snprintf(to, sizeof(text[0]), "%.120s+0x%" PRIx64, f[n - 1].func,
			 pc - f[n - 1].start);
	else
		snprintf(to, sizeof(text[0]), "0x%" PRIx64, pc);
	return to;
}

static void print_example(const struct example *x, struct us_symbols *names)
{
	unsigned n = x->ours.n > x->dwfl.n ? x->ours.n : x->dwfl.n;
	unsigned from = x->same > 3 ? x->same - 3 : 0;
	printf("    pc 0x%" PRIx64 " sp 0x%" PRIx64 " rbp 0x%" PRIx64
	       "; %u frames agree; ours ends: %s; dwfl: %s\n",
	       x->regs.pc, x->regs.sp, x->regs.fp, x->same,
	       us_unwind_end_name((enum us_unwind_end)x->ours.end),
	       x->dwfl.whole ? "root"
	       : x->dwfl.why ? x->dwfl.why
			     : "?");
	for (unsigned i = from; i < n && i < from + 12; i++)
		printf("    #%-3u %-34s %-16s %s\n", i,
		       i < x->ours.n ? name_of(names, x->ours.pc[i], i > 0) : "-",
		       i < x->ours.n
			       ? us_frame_how_name((enum us_frame_how)x->ours.how[i])
			       : "",
		       i < x->dwfl.n ? name_of(names, x->dwfl.pc[i], !x->dwfl.exact[i])
				     : "-");
}

static void print_class(const struct tally *t, enum us_class c,
			struct us_symbols *names, bool examples)
{
	printf("  %-26s %8" PRIu64 "  %s\n", us_classes[c].name, t->class[c],
	       us_classes[c].words);
	if (c == US_CLASS_EQUAL)
		return;
	for (unsigned i = 0; i < N_PLACE && t->place[c][i].n; i++)
		printf("    %8" PRIu64 " at %s\n", t->place[c][i].n,
		       name_of(names, t->place[c][i].pc, false));
	for (unsigned i = 0; examples && i < N_EXAMPLE && i < t->class[c]; i++)
		print_example(&t->example[c][i], names);
}

void tally_print(const struct tally *t, struct us_symbols *names, bool examples)
{
	printf("%s: %" PRIu64 " captures, whole: ours %.3f %%, dwfl %.3f %%\n", t->name,
	       t->n, 100 * tally_whole(t),
	       t->n ? 100.0 * (double)t->dwfl_whole / (double)t->n : 0);
	printf("  %.1f frames a stack, found by:", (double)t->frames / (double)t->n);
	for (unsigned i = 0; i < N_HOW; i++)
		if (t->how[i])
			printf(" %s %.2f %%", us_frame_how_name((enum us_frame_how)i),
			       100.0 * (double)t->how[i] / (double)t->frames);
	putchar('\n');
	for (unsigned c = 0; c < US_N_CLASS; c++)
		if (t->class[c])
			print_class(t, (enum us_class)c, names, examples);
}

static void json_stack(struct us_json *j, const char *key, const us_gva *pc, unsigned n,
		       struct us_symbols *names)
{
	us_json_array(j, key);
	for (unsigned i = 0; i < n; i++)
		us_json_str(j, NULL, name_of(names, pc[i], i > 0));
	us_json_end(j);
}

static void json_class(const struct tally *t, enum us_class c, struct us_symbols *names,
		       struct us_json *j)
{
	us_json_object(j, NULL);
	us_json_str(j, "class", us_classes[c].name);
	us_json_u64(j, "captures", t->class[c]);
	us_json_array(j, "places");
	for (unsigned i = 0; i < N_PLACE && t->place[c][i].n; i++) {
		us_json_object(j, NULL);
		us_json_str(j, "at", name_of(names, t->place[c][i].pc, false));
		us_json_u64(j, "captures", t->place[c][i].n);
		us_json_end(j);
	}
	us_json_end(j);
	us_json_array(j, "examples");
	for (unsigned i = 0; i < N_EXAMPLE && i < t->class[c]; i++) {
		const struct example *x = &t->example[c][i];
		us_json_object(j, NULL);
		us_json_hex(j, "pc", x->regs.pc);
		us_json_hex(j, "sp", x->regs.sp);
		us_json_hex(j, "rbp", x->regs.fp);
		us_json_u64(j, "same", x->same);
		json_stack(j, "ours", x->ours.pc, x->ours.n, names);
		json_stack(j, "dwfl", x->dwfl.pc, x->dwfl.n, names);
		us_json_end(j);
	}
	us_json_end(j);
	us_json_end(j);
}

void tally_json(const struct tally *t, struct us_symbols *names, struct us_json *j)
{
	us_json_object(j, NULL);
	us_json_str(j, "way", t->name);
	us_json_u64(j, "captures", t->n);
	us_json_u64(j, "whole", t->whole);
	us_json_double(j, "percent_whole", 100 * tally_whole(t), 4);
	us_json_u64(j, "dwfl_whole", t->dwfl_whole);
	us_json_u64(j, "bad_tail", t->bad_tail);
	us_json_u64(j, "frames", t->frames);
	us_json_object(j, "how");
	for (unsigned i = 0; i < N_HOW; i++)
		if (t->how[i])
			us_json_u64(j, us_frame_how_name((enum us_frame_how)i),
				    t->how[i]);
	us_json_end(j);
	us_json_object(j, "end");
	for (unsigned i = 0; i < US_N_END; i++)
		if (t->end[i])
			us_json_u64(j, us_unwind_end_name((enum us_unwind_end)i),
				    t->end[i]);
	us_json_end(j);
	us_json_array(j, "classes");
	for (unsigned c = 0; c < US_N_CLASS; c++)
		if (t->class[c])
			json_class(t, (enum us_class)c, names, j);
	us_json_end(j);
	us_json_end(j);
}
