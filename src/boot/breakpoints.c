/* SPDX-License-Identifier: GPL-2.0-or-later */
/* breakpoints.c: see breakpoints.h. */
#include "boot/breakpoints.h"

#include "backend/gdb/client.h"
#include "base/clock.h"
#include "vmm/socket.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CONNECT_MS   1000
#define PROOF	     (2 * US_NS_PER_SEC)
#define RESET_IP     0xfff0 /* x86's, relative to a code segment that begins high */
#define RESET_VECTOR 0xfffffff0
/* x86's registers behind the program counter, as QEMU's stub numbers them. */
#define TO_CS	      2
#define TO_CR0	      11
#define SEGMENT_SIZE  4
#define CR0_PROTECTED 1
#define PATIENCE      (5 * US_NS_PER_SEC) /* for an answer while the guest is stopped */

struct us_boot_breakpoints {
	struct us_gdb gdb;
	uint64_t ready_ns, start_ns;
	struct breakpoint {
		uint64_t address;
		size_t point;
		bool exact; /* the code there is known */
		uint8_t code[US_WATCH_CODE];
		unsigned n_loader;
	} at[US_MAX_BREAKPOINT];
	size_t n;
	unsigned n_false;
};

static int ask(struct us_boot_breakpoints *b, const char *body, struct us_err *e)
{
	return us_gdb_ask_explain(&b->gdb, body, us_now_ns() + PATIENCE, e);
}

static int change(struct us_boot_breakpoints *b, char what, uint64_t address,
		  struct us_err *e)
{
	char body[40];
	snprintf(body, sizeof(body), "%c1,%" PRIx64 ",1", what, address);
	int r = ask(b, body, e);
	if (r == 0 && !us_gdb_said(&b->gdb, "OK"))
		r = us_fail(e, -ENOTSUP, "the gdb stub sets no hardware breakpoints");
	return r;
}

/* Functions first: earlier points matter less. */
static int set_all(struct us_boot_breakpoints *b, const struct us_boot_plan *p,
		   enum us_boot_kind kind, struct us_err *e)
{
	int r = 0;
	for (size_t i = p->n; r == 0 && i-- > 0;) {
		const struct us_boot_point *x = &p->point[i];
		for (size_t k = 0; r == 0 && x->kind == kind && k < x->n_address; k++) {
			if (b->n == US_MAX_BREAKPOINT)
				return 0;
			r = change(b, 'Z', x->address[k], e);
			if (r < 0)
				break;
			struct breakpoint *at = &b->at[b->n++];
			*at = (struct breakpoint){ .address = x->address[k],
						   .point = i,
						   .exact = x->has_expected[k] };
			memcpy(at->code, x->expected[k], sizeof(at->code));
		}
	}
	return r;
}

static int go_on(struct us_boot_breakpoints *b, uint64_t *ret_ns, struct us_err *e)
{
	int r = us_gdb_put(&b->gdb, "c");
	if (r == 0)
		r = us_gdb_flush(&b->gdb, us_now_ns() + PATIENCE);
	*ret_ns = us_now_ns();
	return r < 0 ? us_fail(e, r, "let the guest run: %s", b->gdb.why) : 0;
}

/* The stub's number of the program counter, for the processors that QEMU emulates or
 * runs here: x86-64; arm64 and riscv; i386. */
#define ARM64_PC 32
static const unsigned pc_numbers[] = { 16, ARM64_PC, 8 };
#define N_PC_NUMBERS (sizeof(pc_numbers) / sizeof(pc_numbers[0]))

/* The register's size in bytes; 0: the stub has none of this number. */
static int read_register(struct us_boot_breakpoints *b, unsigned number, uint64_t *ret,
			 struct us_err *e)
{
	char body[16];
	int size = 0;
	snprintf(body, sizeof(body), "p%x", number);
	int r = ask(b, body, e);
	*ret = 0;
	for (size_t i = 0; r == 0 && i + 1 < b->gdb.parser.len && i < 16; i += 2) {
		int high = us_gdb_hex(b->gdb.parser.body[i]);
		int low = us_gdb_hex(b->gdb.parser.body[i + 1]);
		if (high < 0 || low < 0)
			break;
		*ret |= (uint64_t)(high << 4 | low) << 4 * i;
		size++;
	}
	return r < 0 ? r : size;
}

static int read_pc(struct us_boot_breakpoints *b, unsigned number, uint64_t *ret,
		   struct us_err *e)
{
	int r = read_register(b, number, ret, e);
	return r < 0 ? r : 0;
}

/*
 * Does a breakpoint stop the guest?  One at its current instruction stops it at once,
 * before anything is executed.  We do not know which register is the program counter,
 * so all candidates are tried.
 */
static int prove(struct us_boot_breakpoints *b, struct us_err *e)
{
	uint64_t at[N_PC_NUMBERS], go;
	size_t n = 0;
	int r = 0;
	for (size_t k = 0; r == 0 && k < N_PC_NUMBERS; k++) {
		r = read_pc(b, pc_numbers[k], &at[n], e);
		if (at[n] == RESET_IP)
			at[n] = RESET_VECTOR;
		if (r == 0 && at[n])
			r = change(b, 'Z', at[n++], e);
	}
	if (r == 0 && !n)
		return us_fail(e, -ENOTSUP, "the gdb stub reports no program counter");
	if (r == 0)
		r = go_on(b, &go, e);
	if (r == 0 && us_gdb_get(&b->gdb, us_now_ns() + PROOF) < 0)
		r = us_fail(e, -ENOTSUP,
			    "hardware breakpoints do not stop the guest here");
	for (size_t k = 0; r == 0 && k < n; k++)
		r = change(b, 'z', at[k], e);
	return r;
}

int us_boot_breakpoints_set(struct us_boot_breakpoints *b, const struct us_boot_plan *p,
			    struct us_err *e)
{
	/* QEMU reports single registers only after the client has read the target
	 * description. */
	int r = ask(b, "qXfer:features:read:target.xml:0,ffb", e);
	if (r == 0)
		r = prove(b, e);
	if (r == 0)
		r = set_all(b, p, US_BOOT_SYMBOL, e);
	if (r == 0)
		r = set_all(b, p, US_BOOT_ENTRY, e);
	if (r == 0)
		r = set_all(b, p, US_BOOT_SECTOR, e);
	return r;
}

int us_boot_breakpoints_go(struct us_boot_breakpoints *b, struct us_err *e)
{
	return go_on(b, &b->start_ns, e);
}

int us_boot_breakpoints_open(const char *path, struct us_boot_breakpoints **ret,
			     struct us_err *e)
{
	*ret = NULL;
	if (access(path, F_OK) < 0)
		return -EAGAIN;
	int fd = us_socket_connect(path, CONNECT_MS, e);
	if (fd == -ECONNREFUSED || fd == -ENOENT)
		return -EAGAIN;
	if (fd < 0)
		return fd;
	struct us_boot_breakpoints *b = calloc(1, sizeof(*b));
	if (!b) {
		close(fd);
		return us_fail(e, -ENOMEM, "out of memory");
	}
	us_gdb_init(&b->gdb, fd);
	int r = ask(b, "?", e);
	b->ready_ns = us_now_ns();
	if (r < 0)
		us_boot_breakpoints_close(b);
	else
		*ret = b;
	return r;
}

int us_boot_breakpoints_fd(const struct us_boot_breakpoints *b)
{
	return b->gdb.fd;
}

uint64_t us_boot_breakpoints_ready_ns(const struct us_boot_breakpoints *b)
{
	return b->ready_ns;
}

uint64_t us_boot_breakpoints_start_ns(const struct us_boot_breakpoints *b)
{
	return b->start_ns;
}

/*
 * Of x86, the program counter is relative to the code segment, and breakpoints are not.
 * In real mode the segment's number says where it begins; elsewhere it begins at 0, in
 * all kernels of today.  No other processor has a register of 4 bytes there.
 */
static int add_segment(struct us_boot_breakpoints *b, unsigned pc_number, uint64_t *pc,
		       struct us_err *e)
{
	uint64_t cs, cr0;
	if (*pc > UINT16_MAX || pc_number == ARM64_PC)
		return 0;
	int r = read_register(b, pc_number + TO_CS, &cs, e);
	if (r != SEGMENT_SIZE || cs > UINT16_MAX)
		return r < 0 ? r : 0;
	r = read_register(b, pc_number + TO_CR0, &cr0, e);
	if (r > 0 && !(cr0 & CR0_PROTECTED))
		*pc += cs << 4;
	return r < 0 ? r : 0;
}

static int find_hit(struct us_boot_breakpoints *b, size_t *ret, struct us_err *e)
{
	*ret = b->n;
	for (size_t k = 0; k < N_PC_NUMBERS; k++) {
		uint64_t pc;
		int r = read_pc(b, pc_numbers[k], &pc, e);
		if (r == 0)
			r = add_segment(b, pc_numbers[k], &pc, e);
		if (r < 0)
			return r;
		for (size_t i = 0; i < b->n; i++)
			if (b->at[i].address == pc) {
				*ret = i;
				return 0;
			}
	}
	return 0;
}

/* Is half of the code the image's?  Half, because a kernel may have changed some of it
 * by then, as with the plugin.  What cannot be read says nothing against it. */
static int is_kernel(struct us_boot_breakpoints *b, const struct breakpoint *at,
		     bool *ret, struct us_err *e)
{
	char body[40];
	const char *hex = b->gdb.parser.body;
	unsigned unequal = 0;
	*ret = true;
	if (!at->exact)
		return 0;
	snprintf(body, sizeof(body), "m%" PRIx64 ",%x", at->address, US_WATCH_CODE);
	int r = ask(b, body, e);
	if (r < 0 || b->gdb.parser.len != 2 * US_WATCH_CODE)
		return r;
	for (size_t i = 0; i < US_WATCH_CODE; i++) {
		int high = us_gdb_hex(hex[2 * i]), low = us_gdb_hex(hex[2 * i + 1]);
		unequal += (high << 4 | low) != at->code[i];
	}
	*ret = unequal <= US_WATCH_CODE / 2;
	return 0;
}

/* A loader runs at the address.  Wait for the kernel there: a breakpoint at the current
 * instruction would stop the guest again at once. */
static int pass_loader(struct us_boot_breakpoints *b, struct breakpoint *at,
		       struct us_err *e)
{
	int r = change(b, 'z', at->address, e);
	if (r < 0 || ++at->n_loader >= US_BREAKPOINT_MAX_LOADER)
		return r;
	r = us_gdb_put(&b->gdb, "s");
	if (r == 0)
		r = us_gdb_flush(&b->gdb, us_now_ns() + PATIENCE);
	if (r == 0)
		r = us_gdb_get(&b->gdb, us_now_ns() + PATIENCE);
	if (r < 0)
		return us_fail(e, r, "step over a loader's instruction: %s",
			       b->gdb.why);
	return change(b, 'Z', at->address, e);
}

static void forget(struct us_boot_breakpoints *b, size_t i)
{
	b->at[i] = b->at[--b->n];
}

/* The guest stands at a breakpoint.  A loader that comes by too often would cost more
 * than the point is worth: it then counts as not seen. */
static int take_hit(struct us_boot_breakpoints *b, size_t i, struct us_boot_hit *ret,
		    struct us_err *e)
{
	struct breakpoint *at = &b->at[i];
	bool kernel;
	int r = is_kernel(b, at, &kernel, e);
	if (r < 0)
		return r;
	if (kernel) {
		ret->point = at->point;
		r = change(b, 'z', at->address, e);
	} else {
		r = pass_loader(b, at, e);
	}
	if (r == 0 && (kernel || at->n_loader >= US_BREAKPOINT_MAX_LOADER))
		forget(b, i);
	return r;
}

int us_boot_breakpoints_hear(struct us_boot_breakpoints *b, struct us_boot_hit *ret,
			     struct us_err *e)
{
	size_t i;
	int r = us_gdb_get(&b->gdb, 0);
	*ret = (struct us_boot_hit){ .point = SIZE_MAX, .at_ns = us_now_ns() };
	if (r == -ETIMEDOUT)
		return 0;
	if (r < 0)
		return us_fail(e, r, "read from the gdb stub: %s", b->gdb.why);
	if (us_gdb_stop_kind(b->gdb.parser.body, b->gdb.parser.len) != US_GDB_STOPPED)
		return 0;
	r = find_hit(b, &i, e);
	if (r == 0 && i == b->n && ++b->n_false > US_BREAKPOINT_MAX_FALSE)
		r = us_fail(e, -ENOTSUP,
			    "the guest stops where no breakpoint is known to be: in a "
			    "code segment that does not begin at 0, or this KVM does "
			    "not support hardware breakpoints properly");
	if (r == 0 && i < b->n)
		r = take_hit(b, i, ret, e);
	if (r == 0)
		r = go_on(b, &ret->go_ns, e);
	return r < 0 ? r : 1;
}

void us_boot_breakpoints_close(struct us_boot_breakpoints *b)
{
	if (!b)
		return;
	us_gdb_fini(&b->gdb);
	free(b);
}
