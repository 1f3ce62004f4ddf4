/* SPDX-License-Identifier: GPL-2.0-or-later */
/* html_code.c: source and instructions of the hottest functions, with their samples. */
#include "report/html_priv.h"

#include "base/cleanup.h"
#include "base/search.h"
#include "base/text.h"
#include "report/annotate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MOST_FUNCTIONS 24
#define MOST_BYTES     (16U << 10) /* of code of one; larger ones are left out */
#define MOST_INSNS     20000	   /* of all */
#define TAB	       8
#define PER_MILLE      3 /* of the samples, for a function to be in */

struct hot {
	struct us_function f;
	uint64_t self;
};

struct choice {
	const struct us_profile *p;
	const struct us_profile_pc *pc;
	uint64_t *before; /* samples at all before pc[i] */
	size_t n_pc;
	uint64_t least;
	struct hot v[MOST_FUNCTIONS];
	size_t n;
};

static uint64_t samples_of(const struct choice *c, const struct us_function *f)
{
	size_t from = us_first_not(c->n_pc, mid, c->pc[mid].pc < f->start);
	size_t to = us_first_not(c->n_pc, mid,
				 c->pc[mid].pc < f->start ||
					 c->pc[mid].pc - f->start < f->size);
	uint64_t self = 0, most = c->before[to] - c->before[from];
	if (most < c->least)
		return 0;
	for (size_t i = from; i < to; i++)
		if (us_profile_pc_in(c->p, &c->pc[i], f))
			self += c->pc[i].self;
	return self;
}

/* Keep the hottest first; several names of one address are one entry, and so are
 * several places of an image. */
static void consider(void *ctx, const struct us_function *f)
{
	struct choice *c = ctx;
	uint64_t self = f->size <= MOST_BYTES ? samples_of(c, f) : 0;
	size_t at = c->n;
	if (!self || self < c->least)
		return;
	for (size_t i = 0; i < c->n; i++)
		if (c->v[i].f.start == f->start && c->v[i].f.image == f->image)
			return;
	if (at == MOST_FUNCTIONS && self <= c->v[at - 1].self)
		return;
	at = at == MOST_FUNCTIONS ? at - 1 : c->n++;
	for (; at && c->v[at - 1].self < self; at--)
		c->v[at] = c->v[at - 1];
	c->v[at] = (struct hot){ *f, self };
}

static int choose(struct choice *c, const struct us_profile *p)
{
	c->p = p;
	c->least = us_profile_summary(p)->running * PER_MILLE / 1000;
	c->before = calloc(c->n_pc + 1, sizeof(*c->before));
	if (!c->before)
		return -ENOMEM;
	for (size_t i = 0; i < c->n_pc; i++)
		c->before[i + 1] = c->before[i] + c->pc[i].self;
	us_symbols_each_function(us_profile_symbols(p), consider, c);
	return 0;
}

#define EACH_LINE(j, a, key, ...)                                                      \
	do {                                                                           \
		us_json_array(j, key);                                                 \
		for (size_t i = 0; i < (a)->lines.n; i++) {                            \
			const struct us_annotated_line *l = &(a)->lines.v[i];          \
			__VA_ARGS__;                                                   \
		}                                                                      \
		us_json_end(j);                                                        \
	} while (0)

#define EACH_INSN(j, a, key, ...)                                                      \
	do {                                                                           \
		us_json_array(j, key);                                                 \
		for (size_t k = 0; k < (a)->insns.n; k++) {                            \
			const struct us_annotated_insn *i = &(a)->insns.v[k];          \
			__VA_ARGS__;                                                   \
		}                                                                      \
		us_json_end(j);                                                        \
	} while (0)

static void text(struct us_json *j, const char *key, const char *value)
{
	char safe[2048];
	us_json_str(j, key, value ? us_printable(safe, sizeof(safe), value) : NULL);
}

/* A line of a source, with blanks for tabs. */
static void source_text(struct us_json *j, const char *line)
{
	char wide[2048];
	size_t n = 0;
	for (const char *c = line; c && *c && n < sizeof(wide) - 1; c++) {
		size_t to = *c == '\t' ? n + TAB - n % TAB : n + 1;
		while (n < to && n < sizeof(wide) - 1)
			wide[n++] = *c == '\t' ? ' ' : *c;
	}
	wide[n] = '\0';
	text(j, NULL, line ? wide : NULL);
}

/* The instruction, or its bytes if there is no disassembler. */
static void insn_text(struct us_json *j, const struct us_insn *i)
{
	char bytes[3 * US_INSN_BYTES + 1] = "";
	for (unsigned b = 0; b < i->len && !i->text[0]; b++)
		snprintf(bytes + 3 * b, 4, "%02x ", i->bytes[b]);
	text(j, NULL, i->text[0] ? i->text : bytes);
}

static void write_function(struct us_json *j, const struct us_annotation *a)
{
	us_json_object(j, NULL);
	text(j, "name", a->name);
	text(j, "module", a->module);
	us_json_hex(j, "start", a->start);
	us_json_u64(j, "self", a->self);
	us_json_bool(j, "blocks", a->blocks);
	us_json_bool(j, "newer", a->source_newer);
	text(j, "noSource", a->no_source);
	us_json_object(j, "lines");
	EACH_LINE(j, a, "file", text(j, NULL, l->file));
	EACH_LINE(j, a, "inlined", text(j, NULL, l->func));
	EACH_LINE(j, a, "line", us_json_u64(j, NULL, l->line));
	EACH_LINE(j, a, "self", us_json_u64(j, NULL, l->self));
	EACH_LINE(j, a, "text", source_text(j, l->text));
	us_json_end(j);
	us_json_object(j, "code");
	EACH_INSN(j, a, "at", us_json_u64(j, NULL, i->i.addr - a->start));
	EACH_INSN(j, a, "line", us_json_u64(j, NULL, i->line));
	EACH_INSN(j, a, "self", us_json_u64(j, NULL, i->self));
	EACH_INSN(j, a, "text", insn_text(j, &i->i));
	us_json_end(j);
	us_json_end(j);
}

int us_html_code(struct us_json *j, const struct us_profile *p,
		 const struct us_annotate_opts *sources)
{
	_cleanup_free_ struct us_profile_pc *pc = NULL;
	struct choice c = { 0 };
	size_t n_insn = 0;
	if (us_profile_is_counted(p))
		return 0;
	if (us_profile_pcs(p, &pc, &c.n_pc))
		return -ENOMEM;
	c.pc = pc;
	int rc = choose(&c, p);
	struct us_annotate_opts o = sources ? *sources : (struct us_annotate_opts){ 0 };
	o.pc = pc;
	o.n_pc = c.n_pc;
	us_json_array(j, "code");
	for (size_t i = 0; i < c.n && !rc; i++) {
		struct us_annotation *a = NULL;
		rc = us_annotate(p, &c.v[i].f, &o, &a, NULL);
		if (a && n_insn + a->insns.n <= MOST_INSNS) {
			n_insn += a->insns.n;
			write_function(j, a);
		}
		us_annotation_free(a);
		rc = rc == -ENOMEM ? rc : 0; /* else there is nothing to show of it */
	}
	us_json_end(j);
	free(c.before);
	return rc;
}
