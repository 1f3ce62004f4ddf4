/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench-cfi-step.c: what a step by tables costs, beside one by frame pointer and beside
 * libdwfl, on captures of a real guest.  bench_cfi.py makes them.
 *
 *   bench-cfi-step ELF CAPTURES ELF CAPTURES	without, then with frame pointers
 */
#include "bench.h"

#include "capture-file.h"
#include "dwfl-walk.h"

#include "base/cleanup.h"
#include "symbol/elf_cfi.h"
#include "symbol/symbol.h"
#include "unwind/unwind.h"

#include <string.h>

#define MAX_SAVED  64
#define ROUNDS	   4000 /* unwindings a measurement, over all captures */
#define MAX_CHASED 64
#define N_TRY	   5 /* the best of them: others use this machine too */

/* A guest that stands still, and all that is needed to unwind it. */
struct still {
	const char *elf;
	struct replay *replay;
	struct us_paging paging;
	struct us_symbols *symbols;
	us_gva *start;
	struct us_code_map map;
	struct us_cfi_table *table;
	struct us_cfi cfi;
	struct dwfl_walk *walk;
	struct saved *saved;
	unsigned n_saved;
};

static void load_captures(struct still *s, const char *path)
{
	FILE *f = fopen(path, "rbe");
	s->saved = calloc(MAX_SAVED, sizeof(*s->saved));
	if (!f || !s->saved) {
		perror(path);
		exit(1);
	}
	while (s->n_saved < MAX_SAVED && saved_read(f, &s->saved[s->n_saved]) == 0)
		s->n_saved++;
	fclose(f);
	if (!s->n_saved) {
		fprintf(stderr, "bench: %s holds no capture\n", path);
		exit(1);
	}
}

static void open_still(struct still *s, const char *elf, const char *captures)
{
	struct us_err e;
	struct us_elf_image *image;
	struct us_elf_cfi_stats stats;
	s->elf = elf;
	load_captures(s, captures);
	need(replay_new(elf, &s->replay, &e), &e);
	us_paging_init(&s->paging, replay_mem(s->replay));
	need(us_symbols_new(&s->symbols, &e), &e);
	need(us_elf_image_open(elf, &image, &e), &e);
	need(us_symbols_add(s->symbols, image, 0, &e), &e);
	need(us_symbols_function_starts(s->symbols, &s->start, &s->map.n), NULL);
	s->map.start = s->start;
	us_elf_image_text(image, &s->map.text_start, &s->map.text_end);
	need(us_elf_cfi_read(us_elf_image_file(image), NULL, &s->table, &stats, &e),
	     &e);
	need(us_cfi_place(&s->cfi, s->table, 0, US_CFI_ANY_ROOT), NULL);
	need(dwfl_walk_open(elf, &s->paging, &s->walk, &e), &e);
}

static void close_still(struct still *s)
{
	dwfl_walk_close(s->walk);
	us_cfi_table_free(s->table);
	us_symbols_free(s->symbols);
	replay_free(s->replay);
	free(s->start);
	free(s->saved);
}

/* --- ways to unwind: each returns the number of frames --- */

struct way {
	struct still *still;
	struct us_unwinder *unwinder;
	unsigned (*run)(struct way *w, const struct us_regs *regs);
};

static unsigned by_us(struct way *w, const struct us_regs *regs)
{
	static struct us_stack out;
	us_unwind(w->unwinder, &w->still->paging, regs, &out);
	return out.n;
}

static unsigned by_dwfl(struct way *w, const struct us_regs *regs)
{
	static struct dwfl_stack out;
	dwfl_walk_unwind(w->still->walk, regs, &out);
	return out.n;
}

/* No more than must be: two words a frame, through the page tables; no check at all. */
static unsigned by_chase(struct way *w, const struct us_regs *regs)
{
	static us_gva pc[MAX_CHASED];
	uint64_t pair[2];
	unsigned n = 0;
	pc[n++] = regs->pc;
	for (us_gva fp = regs->fp; fp && n < MAX_CHASED; fp = pair[0]) {
		if (!us_paging_read(&w->still->paging, &regs->space, fp, pair, 16))
			break;
		pc[n++] = pair[1];
	}
	__asm__ volatile("" ::"r"(pc) : "memory");
	return n;
}

/* Nanoseconds for each stack, and the mean number of frames. */
static double measure_once(struct way *w, double *ret_frames)
{
	struct still *s = w->still;
	uint64_t spent = 0, frames = 0, n = 0;
	for (unsigned i = 0; i < s->n_saved; i++) {
		struct us_regs regs;
		if (!replay_load(s->replay, &s->saved[i], &regs))
			continue;
		for (unsigned k = 0; k < 20; k++) /* warm */
			w->run(w, &regs);
		uint64_t t = us_thread_cpu_ns();
		for (unsigned k = 0; k < ROUNDS / s->n_saved; k++, n++) {
			us_paging_new_sample(&s->paging);
			frames += w->run(w, &regs);
		}
		spent += us_thread_cpu_ns() - t;
	}
	*ret_frames = (double)frames / (double)n;
	return (double)spent / (double)n;
}

static double measure(const char *what, struct way *w)
{
	double best = 0, frames = 0;
	for (unsigned i = 0; i < N_TRY; i++) {
		double ns = measure_once(w, &frames);
		if (!i || ns < best)
			best = ns;
	}
	printf("%-44s %8.0f ns a stack of %.1f frames, %6.1f ns a frame\n", what, best,
	       frames, best / frames);
	return best / frames;
}

static double measure_us(const char *what, struct still *s, bool tables)
{
	struct way w = { .still = s, .run = by_us };
	need(us_unwinder_new(US_ARCH_X86_64, &s->map, tables ? &s->cfi : NULL,
			     &w.unwinder),
	     NULL);
	double ns = measure(what, &w);
	us_unwinder_free(w.unwinder);
	return ns;
}

static double measure_other(const char *what, struct still *s,
			    unsigned (*run)(struct way *, const struct us_regs *))
{
	struct way w = { .still = s, .run = run };
	return measure(what, &w);
}

int main(int argc, char **argv)
{
	static struct still none, framed;
	if (argc != 5) {
		fprintf(stderr, "usage: bench-cfi-step ELF CAPTURES ELF CAPTURES\n");
		return 2;
	}
	open_still(&none, argv[1], argv[2]);
	open_still(&framed, argv[3], argv[4]);
	puts("without frame pointers:");
	double tables = measure_us("  tables", &none, true);
	measure_us("  code", &none, false);
	double dwfl = measure_other("  libdwfl", &none, by_dwfl);
	puts("with frame pointers:");
	double both = measure_us("  tables", &framed, true);
	double frames = measure_us("  frame pointers, each confirmed by the code",
				   &framed, false);
	double chase = measure_other("  frame pointers believed", &framed, by_chase);
	double dwfl_framed = measure_other("  libdwfl", &framed, by_dwfl);
	printf("a step by tables: %.2f times one by frame pointer on the same stack "
	       "(%.2f times one that is believed); without frame pointers %.2f "
	       "(%.2f)\n",
	       both / frames, both / chase, tables / frames, tables / chase);
	printf("25 frames by tables: %.2f us\n", tables * 25 / 1000);
	printf("libdwfl: %.1f times as long without, %.1f times with frame pointers\n",
	       dwfl / tables, dwfl_framed / both);
	close_still(&none);
	close_still(&framed);
	return 0;
}
