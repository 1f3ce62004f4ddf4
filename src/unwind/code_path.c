/* SPDX-License-Identifier: GPL-2.0-or-later */
/* code_path.c: see code_path.h. */
#include "unwind/code_path.h"

void us_code_path_use(struct us_code_path *p, struct us_paging *paging,
		      const struct us_space *s)
{
	p->paging = paging;
	p->space = s;
	p->window_len = 0;
}

void us_code_path_start(struct us_code_path *p)
{
	for (unsigned i = 0; i < p->n_visited; i++)
		p->visited[p->used[i]] = 0;
	for (unsigned i = 0; i < US_CODE_MAX_PENDING; i++)
		p->pending[i].slot = (uint8_t)i;
	p->n_pending = 0;
	p->n_visited = 0;
	p->lost = p->away = false;
}

/* Read as much as there is, or else only what is in the first page. */
static void fill_window(struct us_code_path *p, us_gva pc)
{
	size_t in_page = 4096 - (pc & 4095);
	p->window = pc;
	p->window_len = sizeof(p->bytes);
	if (us_paging_read(p->paging, p->space, pc, p->bytes, p->window_len))
		return;
	p->window_len = in_page < sizeof(p->bytes) ? in_page : 0;
	if (!us_paging_read(p->paging, p->space, pc, p->bytes, p->window_len))
		p->window_len = 0;
}

const uint8_t *us_code_path_bytes(struct us_code_path *p, us_gva pc, size_t want,
				  size_t *len)
{
	us_gva off = pc - p->window;
	if (off >= p->window_len || p->window_len - off < want) {
		fill_window(p, pc);
		off = 0;
	}
	*len = p->window_len - off;
	return p->bytes + off;
}

/* The slot that holds pc, or the empty slot where it belongs. */
static size_t slot_of(const struct us_code_path *p, us_gva pc)
{
	size_t i = (pc * 0x9e3779b97f4a7c15) >> 52;
	while (p->visited[i % US_CODE_VISIT_SLOTS] &&
	       p->visited[i % US_CODE_VISIT_SLOTS] != pc + 1)
		i++;
	return i % US_CODE_VISIT_SLOTS;
}

bool us_code_path_visited(const struct us_code_path *p, us_gva pc)
{
	return p->visited[slot_of(p, pc)] != 0;
}

bool us_code_path_visit(struct us_code_path *p, us_gva pc)
{
	size_t i = slot_of(p, pc);
	if (p->visited[i])
		return false;
	if (p->n_visited == US_CODE_MAX_VISITED || p->budget == 0) {
		p->lost = true;
		return false;
	}
	p->used[p->n_visited++] = (uint16_t)i;
	p->budget--;
	p->visited[i] = pc + 1;
	return true;
}

bool us_code_path_pend(struct us_code_path *p, us_gva pc, uint64_t order,
		       bool after_call, uint8_t *ret_slot)
{
	if (us_code_path_visited(p, pc))
		return false;
	if (p->n_pending == US_CODE_MAX_PENDING) {
		p->lost = true;
		return false;
	}
	struct us_code_pending *new = &p->pending[p->n_pending++];
	new->pc = pc;
	new->order = order;
	new->after_call = after_call;
	*ret_slot = new->slot;
	return true;
}

/* The last one takes the place of the best one, whose slot becomes the first free
 * one. */
bool us_code_path_take(struct us_code_path *p, struct us_code_pending *ret)
{
	unsigned best = 0;
	if (p->n_pending == 0)
		return false;
	for (unsigned i = 1; i < p->n_pending; i++)
		if (p->pending[i].order < p->pending[best].order)
			best = i;
	*ret = p->pending[best];
	p->pending[best] = p->pending[--p->n_pending];
	p->pending[p->n_pending].slot = ret->slot;
	return true;
}

const struct us_code_pending *us_code_path_find(const struct us_code_path *p, us_gva pc)
{
	for (unsigned i = 0; i < p->n_pending; i++)
		if (p->pending[i].pc == pc)
			return &p->pending[i];
	return NULL;
}

void us_code_ends_add(struct us_code_ends *e, us_gva pc)
{
	if (e->n < US_CODE_MAX_ENDS)
		e->pc[e->n++] = pc;
}

bool us_code_ends_take(struct us_code_ends *e, const struct us_code_path *p,
		       us_gva start, us_gva last, us_gva *ret)
{
	unsigned i = 0;
	*ret = 0;
	while (i < e->n) {
		us_gva pc = e->pc[i];
		if (pc < start || pc > last || us_code_path_visited(p, pc)) {
			e->pc[i] = e->pc[--e->n];
			continue;
		}
		if (*ret == 0 || pc < *ret)
			*ret = pc;
		i++;
	}
	for (i = 0; i < e->n; i++)
		if (e->pc[i] == *ret)
			e->pc[i] = e->pc[--e->n];
	return *ret != 0;
}
