/* SPDX-License-Identifier: GPL-2.0-or-later */
/* line_program.c: see line_program.h. */
#include "symbol/line_program.h"

#include "base/vec.h"
#include "symbol/byte_cursor.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

struct program {
	struct us_cursor c; /* the instructions */
	unsigned word;
	uint8_t min_length, line_range, opcode_base;
	int8_t line_base;
	const uint8_t *lengths; /* of standard opcodes, from opcode 1 on */
	uint64_t addr, line, file;
	size_t began; /* index of the sequence's first row */
	us_line_take *take;
	void *ctx;
	struct us_line_rows *rows;
};

static int read_header(struct program *p, struct us_cursor c)
{
	uint64_t len = us_cursor_fixed(&c, 4);
	size_t offset = len == UINT32_MAX ? 8 : 4;
	if (offset == 8)
		len = us_cursor_fixed(&c, 8);
	c = us_cursor_take(&c, len);
	uint64_t version = us_cursor_fixed(&c, 2);
	if (c.bad)
		return -EBADMSG;
	if (version < 2 || version > 5)
		return -ENOTSUP;
	if (version == 5) {
		p->word = us_cursor_u8(&c);
		us_cursor_u8(&c); /* of a segment selector */
	}
	uint64_t rest = us_cursor_fixed(&c, offset);
	p->c = c;
	us_cursor_take(&p->c, rest);
	p->min_length = us_cursor_u8(&c);
	uint8_t operations = version >= 4 ? us_cursor_u8(&c) : 1;
	us_cursor_u8(&c); /* default_is_stmt */
	p->line_base = (int8_t)us_cursor_u8(&c);
	p->line_range = us_cursor_u8(&c);
	p->opcode_base = us_cursor_u8(&c);
	p->lengths = c.at;
	us_cursor_take(&c, p->opcode_base ? p->opcode_base - 1U : 0);
	if (c.bad || p->c.bad || !p->line_range || !p->opcode_base || !p->word ||
	    p->word > 8)
		return -EBADMSG;
	return operations == 1 ? 0 : -ENOTSUP;
}

static void reset(struct program *p)
{
	p->addr = 0;
	p->line = p->file = 1;
	p->began = p->rows->n;
}

static int add_row(struct program *p, bool end)
{
	struct us_line_row *r = us_vec_push(p->rows);
	if (!r)
		return -ENOMEM;
	*r = (struct us_line_row){
		.addr = p->addr,
		.line = end ? 0 : (uint32_t)p->line,
		.file = end || p->file > US_LINE_NO_FILE ? US_LINE_NO_FILE
							 : (uint16_t)p->file,
		.end = end,
	};
	return 0;
}

/* Rows where the sequence ends cover no code, but would be sorted behind the end. */
static int end_sequence(struct program *p)
{
	struct us_line_rows *rows = p->rows;
	while (rows->n > p->began && rows->v[rows->n - 1].addr == p->addr)
		rows->n--;
	int r = add_row(p, true);
	if (r == 0 && !p->take(p->ctx, rows->v[p->began].addr, p->addr)) {
		rows->n = p->began;
		rows->n_left_out++;
	}
	reset(p);
	return r;
}

static int run_extended(struct program *p)
{
	struct us_cursor c = us_cursor_take(&p->c, us_cursor_uleb(&p->c));
	switch (us_cursor_u8(&c)) {
	case DW_LNE_end_sequence:
		return end_sequence(p);
	case DW_LNE_set_address:
		p->addr = us_cursor_fixed(&c, p->word);
		return c.bad ? -EBADMSG : 0;
	}
	return 0;
}

static int run_standard(struct program *p, uint8_t opcode)
{
	switch (opcode) {
	case DW_LNS_copy:
		return add_row(p, false);
	case DW_LNS_advance_pc:
		p->addr += us_cursor_uleb(&p->c) * p->min_length;
		return 0;
	case DW_LNS_advance_line:
		p->line += (uint64_t)us_cursor_sleb(&p->c);
		return 0;
	case DW_LNS_set_file:
		p->file = us_cursor_uleb(&p->c);
		return 0;
	case DW_LNS_const_add_pc:
		p->addr += (uint64_t)((255 - p->opcode_base) / p->line_range) *
			   p->min_length;
		return 0;
	case DW_LNS_fixed_advance_pc:
		p->addr += us_cursor_fixed(&p->c, 2);
		return 0;
	}
	/* What else it does is of no use here, or not known. */
	for (uint8_t n = p->lengths[opcode - 1]; n; n--)
		us_cursor_uleb(&p->c);
	return 0;
}

static int run_special(struct program *p, uint8_t opcode)
{
	uint8_t by = (uint8_t)(opcode - p->opcode_base);
	p->addr += (uint64_t)(by / p->line_range) * p->min_length;
	p->line += (uint64_t)(int64_t)(p->line_base + by % p->line_range);
	return add_row(p, false);
}

static int run(struct program *p)
{
	int r = 0;
	reset(p);
	while (r == 0 && us_cursor_left(&p->c)) {
		uint8_t opcode = us_cursor_u8(&p->c);
		r = opcode >= p->opcode_base ? run_special(p, opcode)
		    : opcode		     ? run_standard(p, opcode)
					     : run_extended(p);
	}
	p->rows->n = p->began; /* a sequence without end has no size */
	return r == 0 && p->c.bad ? -EBADMSG : r;
}

int us_line_program_read(const uint8_t *bytes, size_t size, unsigned word,
			 us_line_take *take, void *ctx, struct us_line_rows *ret)
{
	struct program p = { .word = word, .take = take, .ctx = ctx, .rows = ret };
	*ret = (struct us_line_rows){ 0 };
	int r = read_header(&p, (struct us_cursor){ bytes, bytes + size, false });
	if (r == 0)
		r = run(&p);
	if (r < 0) {
		free(ret->v);
		*ret = (struct us_line_rows){ 0 };
	}
	return r;
}
