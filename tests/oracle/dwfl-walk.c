/* SPDX-License-Identifier: GPL-2.0-or-later */
/* dwfl-walk.c: see dwfl-walk.h. */
#include "dwfl-walk.h"

#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define TID	  1
#define N_REG	  17 /* the sixteen, and the return address */
#define DWARF_RBP 6  /* System V psABI for x86-64, figure 3.36 */

struct dwfl_walk {
	Dwfl *dwfl;
	struct us_paging *paging;
	const struct us_regs *regs;
	struct dwfl_stack *out;
};

/* What the ELF itself does not hold is not looked for elsewhere. */
static int no_debuginfo(Dwfl_Module *mod, void **data, const char *name,
			Dwarf_Addr base, const char *file, const char *link,
			GElf_Word crc, char **found)
{
	(void)mod, (void)data, (void)name, (void)base, (void)file, (void)link;
	(void)crc, (void)found;
	return -1;
}

static const Dwfl_Callbacks callbacks = { .find_debuginfo = no_debuginfo };

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread_arg)
{
	(void)dwfl;
	if (*thread_arg)
		return 0;
	*thread_arg = arg;
	return TID;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *arg, void **thread_arg)
{
	(void)dwfl;
	*thread_arg = arg;
	return tid == TID;
}

static bool memory_read(Dwfl *dwfl, Dwarf_Addr at, Dwarf_Word *ret, void *arg)
{
	struct dwfl_walk *w = arg;
	uint64_t word;
	(void)dwfl;
	if (!us_paging_read(w->paging, &w->regs->space, at, &word, sizeof(word)))
		return false;
	*ret = word;
	return true;
}

static bool set_registers(Dwfl_Thread *thread, void *arg)
{
	const struct us_regs *r = ((struct dwfl_walk *)arg)->regs;
	Dwarf_Word reg[N_REG];
	for (unsigned i = 0; i < 16; i++)
		reg[i] = r->gpr[i];
	reg[US_X86_RSP] = r->sp;
	reg[US_X86_RBP] = r->fp;
	reg[16] = r->pc;
	return dwfl_thread_state_registers(thread, 0, N_REG, reg);
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
	.next_thread = next_thread,
	.get_thread = get_thread,
	.memory_read = memory_read,
	.set_initial_registers = set_registers,
};

static int add_frame(Dwfl_Frame *frame, void *arg)
{
	struct dwfl_stack *out = arg;
	Dwarf_Addr pc;
	bool exact;
	if (out->n == DWFL_MAX_FRAMES || !dwfl_frame_pc(frame, &pc, &exact))
		return DWARF_CB_ABORT;
	out->pc[out->n] = pc;
	out->exact[out->n++] = exact;
	return DWARF_CB_OK;
}

void dwfl_walk_unwind(struct dwfl_walk *w, const struct us_regs *regs,
		      struct dwfl_stack *out)
{
	w->regs = regs;
	out->n = 0;
	out->why = NULL;
	int r = dwfl_getthread_frames(w->dwfl, TID, add_frame, out);
	out->whole = r == 0;
	if (r < 0)
		out->why = dwfl_errmsg(-1);
	else if (r > 0)
		out->why = "too many frames";
}

/* NULL: it says nothing of that address.  To be freed. */
static Dwarf_Frame *table_row(Dwarf_CFI *cfi, Dwarf_Addr at)
{
	Dwarf_Frame *frame;
	return cfi && dwarf_cfi_addrframe(cfi, at, &frame) == 0 ? frame : NULL;
}

static Dwarf_Frame *row_of(struct dwfl_walk *w, us_gva pc)
{
	Dwfl_Module *mod = dwfl_addrmodule(w->dwfl, pc);
	Dwarf_Addr bias;
	if (!mod)
		return NULL;
	Dwarf_CFI *eh = dwfl_module_eh_cfi(mod, &bias);
	Dwarf_Frame *row = table_row(eh, pc - bias);
	if (row)
		return row;
	Dwarf_CFI *debug = dwfl_module_dwarf_cfi(mod, &bias);
	return table_row(debug, pc - bias);
}

bool dwfl_walk_has_cfi(struct dwfl_walk *w, us_gva pc)
{
	Dwarf_Frame *row = row_of(w, pc);
	free(row);
	return row;
}

bool dwfl_walk_saves_rbp(struct dwfl_walk *w, us_gva pc)
{
	Dwarf_Frame *row = row_of(w, pc);
	Dwarf_Op room[3], *ops = NULL;
	size_t n = 0;
	bool known = row && dwarf_frame_register(row, DWARF_RBP, room, &ops, &n) == 0;
	free(row);
	return known && n > 0; /* elfutils: 0 for the same value, or none */
}

int dwfl_walk_open(const char *elf, struct us_paging *p, struct dwfl_walk **ret,
		   struct us_err *e)
{
	struct dwfl_walk *w = calloc(1, sizeof(*w));
	if (!w)
		return us_fail(e, -ENOMEM, "out of memory");
	w->paging = p;
	w->dwfl = dwfl_begin(&callbacks);
	bool ok = w->dwfl && dwfl_report_elf(w->dwfl, "guest", elf, -1, 0, true) &&
		  dwfl_report_end(w->dwfl, NULL, NULL) == 0 &&
		  dwfl_attach_state(w->dwfl, NULL, TID, &thread_callbacks, w);
	if (!ok) {
		us_fail(e, -EIO, "libdwfl cannot use %s: %s", elf, dwfl_errmsg(-1));
		dwfl_walk_close(w);
		return -EIO;
	}
	*ret = w;
	return 0;
}

void dwfl_walk_close(struct dwfl_walk *w)
{
	if (!w)
		return;
	dwfl_end(w->dwfl);
	free(w);
}
