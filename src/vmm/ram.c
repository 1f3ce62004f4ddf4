/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ram.c: see ram.h. */
#include "vmm/ram.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/search.h"
#include "guest/paging.h"
#include "vmm/cmdline.h"
#include "vmm/lazy_ram.h"
#include "vmm/qmp.h"
#include "vmm/ram_bundled.h"
#include "vmm/ram_file.h"
#include "vmm/ram_layout.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>

#define MAX_REGIONS   64
#define MAX_FILES     32
#define MTREE_BYTES   (1u << 20)
#define MOST_PAUSE_NS (64 * US_NS_PER_SEC)

struct us_ram {
	struct us_mem mem;
	struct us_region region[MAX_REGIONS];
	struct us_maps maps;
	struct us_lazy_ram lazy;
	uint64_t looked_ns, pause_ns;	    /* for lazy memory */
	struct us_ram_file file[MAX_FILES]; /* by mapping, failed attempts too */
	unsigned n_file;
	struct us_ram_layout layout[US_RAM_LAYOUTS]; /* the likeliest first */
	unsigned n_layout;
	bool from_monitor, lacks_devices;
	char how[128];
};

struct us_mem *us_ram_mem(struct us_ram *r)
{
	return &r->mem;
}

const char *us_ram_how(const struct us_ram *r)
{
	return r->how;
}

bool us_ram_lacks_devices(const struct us_ram *r)
{
	return r->lacks_devices;
}

bool us_ram_is_file(const struct us_ram *r)
{
	for (size_t i = 0; i < r->mem.n_region; i++)
		if (!r->region[i].file)
			return false;
	return r->mem.n_region > 0;
}

/* The mapping of the VMM that holds hva, or NULL. */
static const struct us_map *map_of(const struct us_ram *r, us_hva hva)
{
	size_t next = us_first_not(r->maps.n, mid, r->maps.v[mid].end <= hva);
	return next < r->maps.n && r->maps.v[next].start <= hva ? &r->maps.v[next]
								: NULL;
}

/* The file of a mapping, opened on first use.  NULL: it may not be read. */
static const struct us_ram_file *file_of(struct us_ram *r, const struct us_map *m)
{
	struct us_ram_file *f = NULL;
	for (unsigned i = 0; i < r->n_file; i++)
		if (r->file[i].start == m->start)
			f = &r->file[i];
	if (!f) {
		if (r->n_file == MAX_FILES)
			return NULL;
		f = &r->file[r->n_file++];
		if (us_lazy_ram_has(&r->lazy, m->start, m->end))
			*f = (struct us_ram_file){ .start = m->start, .fd = -1 };
		else
			us_ram_file_open(r->mem.pid, m, f);
	}
	return f->fd > 0 ? f : NULL;
}

static bool add_region(struct us_ram *r, struct us_region next)
{
	struct us_region *last = r->mem.n_region ? &r->region[r->mem.n_region - 1]
						 : NULL;
	bool joins = last && last->start + last->size == next.start &&
		     last->hva + last->size == next.hva && last->lazy == next.lazy &&
		     last->file == next.file &&
		     (!last->file || last->file_at + last->size == next.file_at);
	if (joins) {
		last->size += next.size;
		return true;
	}
	if (r->mem.n_region == MAX_REGIONS)
		return false;
	r->region[r->mem.n_region++] = next;
	return true;
}

/* One piece of a layout as regions, cut where the VMM's mappings are. */
static bool add_piece(struct us_ram *r, const struct us_ram_piece *p)
{
	uint64_t done = 0;
	while (done < p->size) {
		us_hva hva = p->hva + done;
		const struct us_map *m = map_of(r, hva);
		if (!m || !m->read)
			return false;
		uint64_t len = m->end - hva;
		if (len > p->size - done)
			len = p->size - done;
		const struct us_ram_file *f = file_of(r, m);
		struct us_region next = {
			.start = p->gpa + done,
			.size = len,
			.hva = hva,
			.file = f ? f->fd : 0,
			.file_at = f ? f->offset + (hva - f->start) : 0,
			.lazy = us_lazy_ram_has(&r->lazy, hva, hva + len)
		};
		if (!add_region(r, next))
			return false;
		done += len;
	}
	return true;
}

/* Describe what was found, with the backing of the largest region. */
static void describe(struct us_ram *r)
{
	const struct us_region *big = &r->region[0];
	const char *kind = "";
	for (size_t i = 1; i < r->mem.n_region; i++)
		if (r->region[i].size > big->size)
			big = &r->region[i];
	for (unsigned i = 0; i < r->n_file; i++)
		if (r->file[i].fd > 0 && big->hva >= r->file[i].start &&
		    big->hva < r->file[i].end)
			kind = r->file[i].kind;
	snprintf(r->how, sizeof(r->how), "%s, %zu region%s, layout from the %s",
		 *kind ? kind : "process_vm_readv", r->mem.n_region,
		 r->mem.n_region == 1 ? "" : "s", r->from_monitor ? "monitor" : "maps");
}

/* Use this layout.  false: it does not fit the process. */
static bool apply(struct us_ram *r, const struct us_ram_layout *l)
{
	r->mem.n_region = 0;
	bool fits = true;
	for (unsigned i = 0; fits && i < l->n; i++)
		fits = add_piece(r, &l->piece[i]);
	us_mem_init(&r->mem);
	if (fits)
		describe(r);
	else
		r->mem.n_region = 0;
	return fits;
}

/* Ask the monitor: where RAM is in guest-physical space, and each piece in QEMU. */
static bool ask_monitor(struct us_ram *r, struct us_qmp *monitor)
{
	_cleanup_free_ char *text = malloc(MTREE_BYTES);
	struct us_ram_layout found, *l = &r->layout[0];
	if (!text ||
	    us_qmp_human(monitor, "info mtree -f", -1, text, MTREE_BYTES, NULL) < 0 ||
	    !us_ram_parse_mtree(text, &found))
		return false;
	*l = (struct us_ram_layout){ 0 };
	for (unsigned i = 0; i < found.n; i++) {
		char line[64], reply[160];
		snprintf(line, sizeof(line), "gpa2hva 0x%llx",
			 (unsigned long long)found.piece[i].gpa);
		us_hva hva = 0;
		if (us_qmp_human(monitor, line, -1, reply, sizeof(reply), NULL) == 0)
			hva = us_ram_parse_hva(reply);
		if (hva)
			(void)us_ram_layout_add(l, found.piece[i].gpa,
						found.piece[i].size, hva);
	}
	return l->n > 0;
}

#ifdef __aarch64__
#define HOST "aarch64"
#elif defined(__riscv)
#define HOST "riscv64"
#else
#define HOST "x86_64"
#endif

/* Where the guest's RAM begins; false: not known. */
static bool find_base(const struct us_guest *g, const char *machine, us_gpa *ret)
{
	if (!strcmp(g->vmm, "qemu"))
		return us_ram_base_qemu(g->exe, HOST, machine, ret);
	*ret = 0;
#ifdef __aarch64__
	*ret = us_ram_base_aarch64(g->vmm);
#endif
	return true;
}

/* -ENOTSUP: a machine whose RAM can be at any address. */
static int look_at_maps(struct us_ram *r, const struct us_guest *g)
{
	_cleanup_free_ struct us_cmdline *c = calloc(1, sizeof(*c));
	_cleanup_close_ int proc = us_proc_open(g->pid);
	struct us_proc_args args = { 0 };
	if (!c || proc < 0)
		return 0;
	if (us_proc_args(proc, &args))
		us_cmdline_parse(g->vmm, args.argc, args.argv, c);
	struct us_ram_query q = { .vmm = g->vmm,
				  .machine = c->machine,
				  .memory = g->memory,
				  .below_4g = c->below_4g,
				  .piece = c->piece,
				  .n_piece = c->n_piece };
	bool known = find_base(g, c->machine, &q.base);
	if (known && !q.memory)
		r->n_layout = us_ram_bundled(g->pid, &r->maps, r->layout);
	if (known && !r->n_layout)
		r->n_layout = us_ram_guess(&q, &r->maps, r->layout);
	us_proc_args_fini(&args);
	r->lacks_devices = c->memory_devices;
	return known ? 0 : -ENOTSUP;
}

static int fail_none(const struct us_guest *g, struct us_err *e)
{
	if (g->memory)
		us_fail(e, -ENOENT,
			"find the RAM of guest %d (%s): no mapping of %llu KiB in "
			"/proc/%d/maps",
			g->pid, g->vmm, (unsigned long long)(g->memory >> 10), g->pid);
	else
		us_fail(e, -ENOENT,
			"find the RAM of guest %d (%s): no mapping in /proc/%d/maps "
			"looks like it",
			g->pid, g->vmm, g->pid);
	if (!strcmp(g->vmm, "qemu"))
		us_hint(e, "start QEMU with -qmp unix:PATH,server=on,wait=off: its "
			   "monitor shows where RAM is");
	return -ENOENT;
}

static int fail_read(const struct us_guest *g, int code, struct us_err *e)
{
	us_fail(e, code, "read the memory of guest %d (%s): %s", g->pid, g->vmm,
		strerror(-code));
	if (code == -EPERM || code == -EACCES)
		us_hint(e, "run as root, or as the user of the VMM after 'sysctl "
			   "kernel.yama.ptrace_scope=0'");
	return code;
}

int us_ram_check_right(const struct us_guest *g, struct us_err *e)
{
	char byte;
	struct iovec here = { &byte, 1 };
	/* No page is there.  The kernel checks rights first
	 * (mm/process_vm_access.c). */
	struct iovec there = { NULL, 1 };
	if (process_vm_readv(g->pid, &here, 1, &there, 1, 0) == 1 || errno == EFAULT)
		return 0;
	return fail_read(g, -errno, e);
}

/* May the process be read?  Better to know now than at the first sample. */
static int probe(const struct us_ram *r, const struct us_guest *g, struct us_err *e)
{
	return us_ram_is_file(r) ? 0 : us_ram_check_right(g, e);
}

static int find(struct us_ram *r, const struct us_guest *g, struct us_qmp *monitor,
		struct us_err *e)
{
	int code = us_maps_read(g->pid, &r->maps, e);
	if (code < 0)
		return code;
	us_lazy_ram_open(g->pid, &r->lazy);
	r->mem.pagemap = r->lazy.pagemap;
	if (monitor && ask_monitor(r, monitor)) {
		r->n_layout = 1;
		r->from_monitor = true;
		if (apply(r, &r->layout[0]))
			return probe(r, g, e);
		/* The process does not have these addresses: the monitor is another
		 * guest's. */
		r->from_monitor = false;
		r->n_layout = 0;
	}
	if (look_at_maps(r, g) < 0) {
		us_fail(e, -ENOTSUP,
			"find the RAM of guest %d: where %s puts it is known only for "
			"x86 and for the machine \"virt\" of aarch64 and riscv64",
			g->pid, g->exe);
		us_hint(e, "give it a monitor (-qmp), or use its gdb stub: --backend "
			   "gdb");
		return -ENOTSUP;
	}
	for (unsigned i = 0; i < r->n_layout; i++)
		if (apply(r, &r->layout[i]))
			return probe(r, g, e);
	return fail_none(g, e);
}

int us_ram_open(const struct us_guest *g, struct us_qmp *monitor, struct us_ram **ret,
		struct us_err *e)
{
	struct us_ram *r = calloc(1, sizeof(*r));
	if (!r)
		return us_fail(e, -ENOMEM, "find the RAM of guest %d: out of memory",
			       g->pid);
	r->mem.region = r->region;
	r->mem.pid = g->pid;
	r->lazy.pagemap = -1;
	r->pause_ns = US_NS_PER_SEC;
	int code = find(r, g, monitor, e);
	/* All that was read may belong to a later process with the same pid. */
	if (code == 0 && !us_guest_alive(g))
		code = us_fail(e, -ESRCH, "find the RAM of guest %d: it has ended",
			       g->pid);
	if (code < 0)
		us_ram_close(r);
	else
		*ret = r;
	return code;
}

void us_ram_look_again(struct us_ram *r, uint64_t now_ns)
{
	if (r->lazy.n || r->lazy.all || now_ns - r->looked_ns < r->pause_ns)
		return;
	us_lazy_ram_open(r->mem.pid, &r->lazy);
	/* Reading smaps takes the longer, the more memory there is, and the VMM waits
	 * for some of it. */
	r->pause_ns = r->lazy.asked && r->pause_ns < MOST_PAUSE_NS ? 2 * r->pause_ns
								   : r->pause_ns;
	r->looked_ns = now_ns;
	if (!r->lazy.n && !r->lazy.all)
		return;
	r->mem.pagemap = r->lazy.pagemap;
	/* Other threads may be reading: they have no pagemap, and go without. */
	for (size_t i = 0; i < r->mem.n_region; i++) {
		struct us_region *g = &r->region[i];
		bool lazy = us_lazy_ram_has(&r->lazy, g->hva, g->hva + g->size);
		__atomic_store_n(&g->lazy, lazy, __ATOMIC_RELAXED);
	}
}

void us_ram_close(struct us_ram *r)
{
	if (!r)
		return;
	for (unsigned i = 0; i < r->n_file; i++)
		us_ram_file_close(&r->file[i]);
	us_maps_fini(&r->maps);
	us_lazy_ram_close(&r->lazy);
	free(r);
}

static bool leads_to_ram(struct us_ram *r, struct us_paging *p,
			 const struct us_space *s, us_gva va, bool is_code)
{
	uint8_t bytes[16];
	us_gpa pa;
	if (!us_paging_translate(p, s, va, &pa, NULL) ||
	    !us_mem_read(&r->mem, pa, bytes, 1))
		return false;
	/* Code that is all zeros is memory that was never written. */
	if (is_code && us_paging_read(p, s, va, bytes, sizeof(bytes)))
		for (size_t i = 0; i < sizeof(bytes); i++)
			if (bytes[i])
				return true;
	return !is_code;
}

static bool holds(struct us_ram *r, const struct us_regs *regs)
{
	struct us_paging p;
	us_paging_init(&p, &r->mem);
	us_mem_new_sample(&r->mem);
	/* A guest that has jumped astray has no code at pc, but still a stack. */
	return leads_to_ram(r, &p, &regs->space, regs->pc, true) ||
	       leads_to_ram(r, &p, &regs->space, regs->sp, false);
}

int us_ram_verify(struct us_ram *r, const struct us_regs *regs, bool *ret_tried,
		  struct us_err *e)
{
	*ret_tried = false;
	for (unsigned i = 0; i < r->n_file; i++)
		if (r->file[i].fd > 0 && !us_ram_file_is_whole(&r->file[i]))
			return us_fail(e, -EILSEQ,
				       "check the RAM of guest %d: its memory file was "
				       "cut short",
				       r->mem.pid);
	if (regs->space.mode == US_PAGING_OFF || regs->space.mode == US_PAGING_UNKNOWN)
		return 0;
	*ret_tried = true;
	if (holds(r, regs))
		return 0;
	for (unsigned i = 0; i < r->n_layout; i++)
		if (apply(r, &r->layout[i]) && holds(r, regs))
			return 0;
	apply(r, &r->layout[0]);
	us_fail(e, -EILSEQ,
		"check the RAM of guest %d (%s): the page tables of its vCPU (root "
		"0x%llx) do not lead to its code at 0x%llx in any layout",
		r->mem.pid, r->how, (unsigned long long)regs->space.root,
		(unsigned long long)regs->pc);
	us_hint(e, "try again; if that does not help, give a monitor (-qmp) or use "
		   "--backend gdb");
	return -EILSEQ;
}
