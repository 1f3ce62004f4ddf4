/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ram_layout.c: see ram_layout.h. */
#include "vmm/ram_layout.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define GIB_4	   (1ULL << 32)
#define FAR_HOLE   (256ULL << 30) /* Firecracker's second one */
#define FAR_END	   (512ULL << 30)
#define ALIGN_2M   (2ULL << 20)
#define MAX_RUNS   64
#define MAX_LINEAR 8
#define MIN_GUESS  (256ULL << 10) /* smallest RAM, if its size is only guessed */

bool us_ram_layout_add(struct us_ram_layout *l, us_gpa gpa, uint64_t size, us_hva hva)
{
	uint64_t end;
	if (!size || __builtin_add_overflow(gpa, size, &end) ||
	    __builtin_add_overflow(hva, size, &end))
		return false;
	if (l->n) {
		struct us_ram_piece *last = &l->piece[l->n - 1];
		if (gpa < last->gpa + last->size)
			return false;
		if (hva && gpa == last->gpa + last->size &&
		    hva == last->hva + last->size) {
			last->size += size;
			return true;
		}
	}
	if (l->n == US_RAM_PIECES)
		return false;
	l->piece[l->n++] = (struct us_ram_piece){ gpa, size, hva };
	return true;
}

us_gpa us_ram_base_aarch64(const char *vmm)
{
	/* src/vmm/src/arch/aarch64/layout.rs, aarch64/src/lib.rs,
	 * arm/include/arm-common/kvm-arch.h, arch/src/aarch64/layout.rs */
	if (!strcmp(vmm, "firecracker") || !strcmp(vmm, "crosvm") ||
	    !strcmp(vmm, "lkvm"))
		return 0x80000000;
	return strcmp(vmm, "cloud-hypervisor") ? 0 : 0x40000000;
}

bool us_ram_base_qemu(const char *exe, const char *host, const char *machine,
		      us_gpa *ret)
{
	static const struct {
		const char *kind, *machine;
		us_gpa base;
	} bases[] = {
		{ "x86_64", "", 0 },
		{ "i386", "", 0 },
		{ "aarch64", "virt", 0x40000000 },
		{ "riscv64", "virt", 0x80000000 },
	};
	static const char qemu[] = "qemu-system-";
	const char *told = strstr(exe, qemu);
	const char *kind = told ? told + strlen(qemu) : host;
	for (size_t i = 0; i < sizeof(bases) / sizeof(*bases); i++) {
		*ret = bases[i].base;
		if (!strncmp(kind, bases[i].kind, strlen(bases[i].kind)) &&
		    strstr(machine, bases[i].machine))
			return true;
	}
	return false;
}

uint64_t us_ram_hole(const struct us_ram_query *q)
{
	if (!strcmp(q->vmm, "cloud-hypervisor") || !strcmp(q->vmm, "firecracker"))
		return 0xc0000000;
	if (strcmp(q->vmm, "qemu"))
		return 0xd0000000;
	if (strstr(q->machine, "microvm"))
		return 0xc0000000;
	uint64_t low, limit = q->below_4g;
	if (strstr(q->machine, "q35"))
		low = q->memory >= 0xb0000000 ? 0x80000000 : 0xb0000000;
	else
		low = q->memory >= (limit ? limit : 0xe0000000) ? 0xc0000000
								: 0xe0000000;
	return limit && limit < low ? limit : low;
}

/* One or more adjacent mappings. */
struct run {
	us_hva start;
	uint64_t size;
	unsigned score; /* how much it looks like RAM */
};

static bool may_be_ram(const struct us_map *m, const char *vmm)
{
	static const char *const never[] = { "[heap]", "[stack]", "[vvar]", "[vdso]",
					     "[vsyscall]" };
	for (size_t i = 0; i < sizeof(never) / sizeof(*never); i++)
		if (!strcmp(m->name, never[i]))
			return false;
	/* In QEMU, only TCG's translated code is both writable and executable. */
	return m->read && !(m->exec && m->write && !strcmp(vmm, "qemu"));
}

/* Are these two parts of one memory, although their rights differ? */
static bool goes_on(const struct us_map *a, const struct us_map *b)
{
	return a->end == b->start && a->shared == b->shared && a->inode == b->inode &&
	       a->dev == b->dev &&
	       (!a->inode || a->offset + (a->end - a->start) == b->offset);
}

static void add_run(struct run *runs, unsigned *n, struct run r)
{
	unsigned at = *n;
	/* By score, then by size, both descending. */
	while (at && (runs[at - 1].score < r.score ||
		      (runs[at - 1].score == r.score && runs[at - 1].size < r.size)))
		at--;
	if (at == MAX_RUNS)
		return;
	if (*n == MAX_RUNS)
		--*n;
	memmove(&runs[at + 1], &runs[at], (*n - at) * sizeof(*runs));
	runs[at] = r;
	++*n;
}

static unsigned score_of(const struct us_map *first, const struct us_map *after,
			 us_hva end)
{
	/* QEMU and rust-vmm leave a page without rights behind RAM. */
	bool guard = after && after->start == end && !after->read && !after->write;
	bool aligned = first->start % ALIGN_2M == 0;
	return 4 * first->shared + 2 * aligned + guard;
}

static bool joins(const struct us_map *a, const struct us_map *b, const char *vmm)
{
	return may_be_ram(a, vmm) && may_be_ram(b, vmm) && goes_on(a, b);
}

/* Places where a hole may begin: the likely one first. */
struct holes {
	uint64_t at[6];
	unsigned n;
};

static struct holes holes_of(const struct us_ram_query *q)
{
	static const uint64_t others[] = { 0xc0000000, 0xd0000000, 0x80000000,
					   0xb0000000, 0xe0000000 };
	struct holes h = { .at = { q->base ? UINT64_MAX : us_ram_hole(q) }, .n = 1 };
	if (q->base)
		return h;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (others[i] != h.at[0])
			h.at[h.n++] = others[i];
	return h;
}

/* Could a run of this size be RAM, or a part of it? */
static bool has_right_size(const struct us_ram_query *q, const struct holes *h,
			   uint64_t size)
{
	if (!q->memory)
		return size >= MIN_GUESS;
	for (unsigned i = 0; i < q->n_piece; i++)
		if (size == q->piece[i])
			return true;
	for (unsigned i = 0; i < h->n; i++)
		if (size == h->at[i] || size + h->at[i] == q->memory)
			return true;
	return size == q->memory;
}

struct runs {
	struct run v[MAX_RUNS];
	unsigned n;
};

/* Add the maps from first to last as one run, if they can be RAM. */
static void take_run(struct runs *runs, const struct us_ram_query *q,
		     const struct holes *h, const struct us_maps *maps, size_t first,
		     size_t last)
{
	const struct us_map *a = &maps->v[first], *z = &maps->v[last];
	const struct us_map *after = last + 1 < maps->n ? z + 1 : NULL;
	struct run r = { .start = a->start, .size = z->end - a->start };
	bool write = false;
	for (size_t i = first; i <= last; i++)
		write |= maps->v[i].write;
	if (!write || !has_right_size(q, h, r.size))
		return;
	/* If RAM's size is unknown, the largest runs come first; if known, the
	 * likeliest. */
	if (q->memory)
		r.score = score_of(a, after, z->end);
	add_run(runs->v, &runs->n, r);
}

/* All runs that fit: each mapping alone, and joined with those that continue it. */
static void find_runs(const struct us_ram_query *q, const struct holes *h,
		      const struct us_maps *maps, struct runs *ret)
{
	const struct us_map *m = maps->v;
	for (size_t i = 0; i < maps->n; i++) {
		if (!may_be_ram(&m[i], q->vmm))
			continue;
		take_run(ret, q, h, maps, i, i);
		if (i && joins(&m[i - 1], &m[i], q->vmm))
			continue;
		size_t last = i;
		while (last + 1 < maps->n && joins(&m[last], &m[last + 1], q->vmm))
			last++;
		if (last > i)
			take_run(ret, q, h, maps, i, last);
	}
}

/* RAM in the guest's order, as runs of the VMM. */
struct linear {
	struct run run[MAX_LINEAR];
	unsigned n;
};

/* Where RAM that has reached `at` continues. */
static us_gpa skip_holes(us_gpa at, uint64_t hole, bool far)
{
	return at == hole ? GIB_4 : far && at == FAR_HOLE ? FAR_END : at;
}

/* How much RAM fits from there on. */
static uint64_t room_at(us_gpa at, uint64_t hole, bool far)
{
	uint64_t end = at < hole ? hole : UINT64_MAX;
	return (far && at < FAR_HOLE && end > FAR_HOLE ? FAR_HOLE : end) - at;
}

/* Lay RAM out from its base up to the hole, then from 4 GiB. */
static bool lay_out(const struct linear *ram, us_gpa at, uint64_t hole, bool far,
		    struct us_ram_layout *ret)
{
	*ret = (struct us_ram_layout){ 0 };
	for (unsigned i = 0; i < ram->n; i++) {
		us_hva hva = ram->run[i].start;
		uint64_t left = ram->run[i].size;
		while (left) {
			at = skip_holes(at, hole, far);
			uint64_t room = room_at(at, hole, far);
			uint64_t n = left < room ? left : room;
			if (!us_ram_layout_add(ret, at, n, hva))
				return false;
			hva += n;
			left -= n;
			at += n;
		}
	}
	return ret->n > 0;
}

/* One run that has its parts in reverse order: the last one first. */
static struct linear from_above(const struct run *r, us_gpa at, uint64_t hole, bool far)
{
	struct linear ram = { 0 };
	uint64_t left = r->size;
	while (left) {
		at = skip_holes(at, hole, far);
		uint64_t room = room_at(at, hole, far);
		uint64_t n = left < room ? left : room;
		left -= n;
		at += n;
		ram.run[ram.n++] = (struct run){ .start = r->start + left, .size = n };
	}
	return ram;
}

struct guesses {
	struct us_ram_layout *v;
	unsigned n;
	const struct us_ram_query *q;
};

static bool same_layout(const struct us_ram_layout *a, const struct us_ram_layout *b)
{
	return a->n == b->n && !memcmp(a->piece, b->piece, a->n * sizeof(a->piece[0]));
}

/* Firecracker moved the first hole and added the second one at the same time. */
static bool has_far_hole(const struct us_ram_query *q, uint64_t hole)
{
	return !strcmp(q->vmm, "firecracker") && (q->base || hole == 0xc0000000);
}

static void guess(struct guesses *g, const struct linear *ram, uint64_t hole)
{
	if (g->n == US_RAM_LAYOUTS ||
	    !lay_out(ram, g->q->base, hole, has_far_hole(g->q, hole), &g->v[g->n]))
		return;
	for (unsigned i = 0; i < g->n; i++)
		if (same_layout(&g->v[i], &g->v[g->n]))
			return;
	g->n++;
}

/* One run, in both orders. */
static void guess_run(struct guesses *g, const struct run *r, uint64_t hole)
{
	struct linear ram = { .run = { *r }, .n = 1 };
	guess(g, &ram, hole);
	if (!strcmp(g->q->vmm, "qemu"))
		return;
	ram = from_above(r, g->q->base, hole, has_far_hole(g->q, hole));
	guess(g, &ram, hole);
}

/* RAM in one run. */
static void guess_whole(struct guesses *g, const struct us_ram_query *q,
			const struct holes *h, const struct runs *runs)
{
	for (unsigned k = 0; k < h->n; k++)
		for (unsigned i = 0; i < runs->n; i++)
			if (runs->v[i].size == q->memory)
				guess_run(g, &runs->v[i], h->at[k]);
}

/* RAM in two runs: one fills the space below the hole, the other is above. */
static void guess_halves(struct guesses *g, const struct us_ram_query *q, uint64_t hole,
			 const struct runs *runs)
{
	for (unsigned i = 0; i < runs->n; i++) {
		if (runs->v[i].size != hole)
			continue;
		for (unsigned j = 0; j < runs->n; j++) {
			struct linear ram = { .run = { runs->v[i], runs->v[j] },
					      .n = 2 };
			uint64_t high = runs->v[j].size;
			bool fits = q->memory ? hole + high == q->memory
					      : high >= ALIGN_2M;
			if (i != j && fits)
				guess(g, &ram, hole);
		}
	}
}

/* Of the runs of this size that are not used, and look most like RAM, the one at the
 * highest address, or at the lowest; runs->n: there is none. */
static unsigned choose_run(const struct runs *runs, const bool *used, uint64_t size,
			   bool highest)
{
	unsigned best = runs->n;
	for (unsigned i = 0; i < runs->n; i++) {
		const struct run *r = &runs->v[i], *b = &runs->v[best];
		if (used[i] || r->size != size)
			continue;
		bool better = best == runs->n || (r->score == b->score &&
						  (r->start > b->start) == highest);
		best = better ? i : best;
	}
	return best;
}

/* RAM in the pieces that the command line lists, each in a run of its size. */
static void guess_pieces(struct guesses *g, const struct us_ram_query *q,
			 const struct holes *h, const struct runs *runs, bool downwards)
{
	struct linear ram = { 0 };
	bool used[MAX_RUNS] = { false };
	for (unsigned p = 0; p < q->n_piece && p < MAX_LINEAR; p++) {
		unsigned i = choose_run(runs, used, q->piece[p], downwards);
		if (i == runs->n)
			return;
		used[i] = true;
		ram.run[ram.n++] = runs->v[i];
	}
	for (unsigned k = 0; ram.n && k < h->n; k++)
		guess(g, &ram, h->at[k]);
}

/* The size of RAM is unknown: take the largest runs. */
static void guess_largest(struct guesses *g, const struct holes *h,
			  const struct runs *runs)
{
	for (unsigned i = 0; i < runs->n && i < 4; i++)
		for (unsigned k = 0; k < h->n; k++)
			guess_run(g, &runs->v[i], h->at[k]);
}

unsigned us_ram_guess(const struct us_ram_query *q, const struct us_maps *maps,
		      struct us_ram_layout ret[US_RAM_LAYOUTS])
{
	struct runs runs = { .n = 0 };
	struct guesses g = { .v = ret, .q = q };
	struct holes h = holes_of(q);
	find_runs(q, &h, maps, &runs);
	/* Pieces are mapped in their order, and Linux maps downwards. */
	for (unsigned i = 0; i < 2 && q->n_piece; i++)
		guess_pieces(&g, q, &h, &runs, i == 0);
	if (q->memory)
		guess_whole(&g, q, &h, &runs);
	for (unsigned k = 0; k < h.n; k++)
		guess_halves(&g, q, h.at[k], &runs);
	if (!q->memory)
		guess_largest(&g, &h, &runs);
	return g.n;
}

/* "  0000000000000000-00000000000bffff (prio 0, ram): pc.ram @...": RAM or ROM? */
static bool parse_range(const char *line, us_gpa *ret_start, uint64_t *ret_size)
{
	uint64_t start, end;
	int prio;
	char kind[8];
	if (sscanf(line, " %" SCNx64 "-%" SCNx64 " (prio %d, %7[a-z/])", &start, &end,
		   &prio, kind) != 4 ||
	    end <= start || end == UINT64_MAX ||
	    (strcmp(kind, "ram") && strcmp(kind, "rom") && strcmp(kind, "romd")))
		return false;
	*ret_start = start;
	*ret_size = end - start + 1;
	return true;
}

unsigned us_ram_parse_mtree(const char *text, struct us_ram_layout *ret)
{
	*ret = (struct us_ram_layout){ 0 };
	bool ours = false;
	while (*text) {
		size_t n = strcspn(text, "\n");
		char line[160];
		snprintf(line, sizeof(line), "%.*s", (int)(n < 159 ? n : 159), text);
		text += n + (text[n] == '\n');
		if (!strncmp(line, "FlatView", 8)) {
			if (ours)
				break;
		} else if (!strncmp(line, " AS \"memory\"", 12)) {
			ours = true;
		}
		us_gpa start;
		uint64_t size;
		if (ours && parse_range(line, &start, &size) &&
		    !us_ram_layout_add(ret, start, size, 0))
			break;
	}
	return ret->n;
}

us_hva us_ram_parse_hva(const char *text)
{
	const char *at = strstr(text, " is 0x");
	uint64_t hva;
	if (strncmp(text, "Host virtual address for ", 25) || !at ||
	    sscanf(at, " is %" SCNx64, &hva) != 1)
		return 0;
	return hva;
}
