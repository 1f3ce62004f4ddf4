/* SPDX-License-Identifier: GPL-2.0-or-later */
/* watch.c: what the plugin observes of a boot; see booting.h. */
#include "boot/booting.h"

#include "base/cleanup.h"
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096

static struct us_boot_watch *watch(struct us_booting *b, size_t point,
				   enum us_watch_event event, uint64_t address,
				   uint32_t after)
{
	static struct us_boot_watch none;
	if (b->n_watch == US_MAX_WATCH)
		return &none;
	struct us_boot_watch *w = &b->file->watch[b->n_watch++];
	*w = (struct us_boot_watch){ .address = address,
				     .event = event,
				     .point = (uint32_t)point,
				     .after = after };
	return w;
}

static void watch_code(struct us_booting *b, size_t point, uint64_t address,
		       const uint8_t code[static US_WATCH_CODE], uint32_t period,
		       uint32_t unequal)
{
	struct us_boot_watch *w = watch(b, point, US_WATCH_INSN, address,
					US_WATCH_AT_ONCE);
	w->period = period;
	w->unequal = unequal;
	memcpy(w->code, code, sizeof(w->code));
}

static void watch_exactly(struct us_booting *b, size_t point, size_t k)
{
	const struct us_boot_point *p = &b->plan->point[point];
	struct us_boot_watch *w = watch(b, point, US_WATCH_INSN, p->address[k],
					US_WATCH_AT_ONCE);
	w->exact = p->has_expected[k];
	/* A kernel and its programs may execute that address, too. */
	w->only_before = p->kind == US_BOOT_SECTOR;
	w->unequal = US_WATCH_CODE / 2;
	memcpy(w->code, p->expected[k], sizeof(w->code));
}

static void watch_addresses(struct us_booting *b, size_t point)
{
	const struct us_boot_point *p = &b->plan->point[point];
	for (size_t k = 0; k < p->n_address; k++)
		if (p->period)
			watch_code(b, point, p->address[k], p->code, p->period,
				   US_WATCH_CODE / 2);
		else
			watch_exactly(b, point, k);
	if (p->anywhere && p->n_address)
		watch_code(b, point, p->address[0], p->code, PAGE, 0);
	for (size_t k = 0; k < p->n_paged; k++)
		watch_code(b, point, p->paged[k].offset, p->paged[k].code, PAGE, 0);
}

/* A guest counts as idle only after its last function was entered: firmware waits, too.
 */
static void fill_file(struct us_booting *b)
{
	uint32_t after = US_WATCH_AT_ONCE;
	for (size_t i = 0; i < b->plan->n; i++) {
		const struct us_boot_point *p = &b->plan->point[i];
		if (p->kind == US_BOOT_START)
			watch(b, i, US_WATCH_START, 0, US_WATCH_AT_ONCE);
		if (p->kind == US_BOOT_IDLE)
			watch(b, i, US_WATCH_IDLE, 0, after);
		if (p->kind == US_BOOT_START || p->kind == US_BOOT_ENTRY ||
		    p->kind == US_BOOT_SYMBOL)
			after = (uint32_t)i;
		watch_addresses(b, i);
	}
	b->file->n_watch = b->n_watch;
	b->file->follow = b->how->called
				  ? (uint32_t)us_boot_point_of(b->plan, US_BOOT_ENTRY)
				  : US_WATCH_AT_ONCE;
	memcpy(b->file->magic, US_BOOT_MAGIC, sizeof(b->file->magic));
}

int us_booting_watch_open(struct us_booting *b, struct us_err *e)
{
	const char *path = b->how->file;
	if (!path)
		return 0;
	_cleanup_close_ int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC,
				      0600);
	int code = fd < 0 ? errno : posix_fallocate(fd, 0, sizeof(*b->file));
	void *p = code ? MAP_FAILED
		       : mmap(NULL, sizeof(*b->file), PROT_READ | PROT_WRITE,
			      MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return us_fail(e, -(code ? code : errno), "make %s: %s", path,
			       strerror(code ? code : errno));
	b->file = p;
	fill_file(b);
	return 0;
}

static void read_called(struct us_booting *b)
{
	const struct us_boot_how *how = b->how;
	uint32_t n = __atomic_load_n(&b->file->n_called, __ATOMIC_ACQUIRE);
	while (how->called && b->n_called < n && b->n_called < US_MAX_CALLED) {
		const struct us_boot_called *c = &b->file->called[b->n_called++];
		if (how->called(how->called_ctx, c->to, c->jump))
			us_booting_pass_now(b, US_BOOT_SYMBOL, us_now_ns(),
					    US_BOOT_BY_PLUGIN);
	}
}

void us_booting_watch_read(struct us_booting *b)
{
	struct us_boot_file *f = b->file;
	if (!f)
		return;
	uint64_t made = __atomic_load_n(&f->made_ns, __ATOMIC_ACQUIRE);
	if (!b->done_ns) /* what comes behind the goal is no matter */
		b->run->n_start = __atomic_load_n(&f->n_start, __ATOMIC_RELAXED);
	b->run->uncounted = __atomic_load_n(&f->uncounted, __ATOMIC_RELAXED);
	if (made)
		us_booting_pass(b, us_boot_point_of(b->plan, US_BOOT_VCPU),
				&(struct us_boot_moment){ .wall_ns = made,
							  .cpu_ns = f->made_cpu,
							  .way = US_BOOT_BY_PLUGIN });
	for (unsigned i = 0; i < b->n_watch; i++) {
		const struct us_boot_watch *w = &f->watch[i];
		uint64_t wall = __atomic_load_n(&w->wall_ns, __ATOMIC_ACQUIRE);
		if (wall && w->point < b->plan->n)
			us_booting_pass(
				b, w->point,
				&(struct us_boot_moment){ .wall_ns = wall,
							  .cpu_ns = w->cpu_ns,
							  .insns = w->insns,
							  .way = US_BOOT_BY_PLUGIN });
	}
	read_called(b);
}

/*
 * The plugin counts for the last point that was passed.  The guest does not wait for
 * us, so a point behind this one may have been passed by now: then it stays.
 */
void us_booting_watch_mark(struct us_booting *b, size_t point, uint64_t wall_ns)
{
	uint32_t last = __atomic_load_n(&b->file->point, __ATOMIC_ACQUIRE);
	for (unsigned i = 0; i < b->n_watch; i++)
		if (__atomic_load_n(&b->file->watch[i].wall_ns, __ATOMIC_ACQUIRE) >
		    wall_ns)
			return;
	__atomic_compare_exchange_n(&b->file->point, &last, (uint32_t)point, false,
				    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

void us_booting_watch_close(struct us_booting *b)
{
	us_booting_watch_read(b);
	if (!b->file)
		return;
	if (b->how->uses)
		us_boot_uses_read(b->file, b->how->uses);
	munmap(b->file, sizeof(*b->file));
	b->file = NULL;
	unlink(b->how->file);
}
