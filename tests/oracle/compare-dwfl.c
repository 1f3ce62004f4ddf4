/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * compare-dwfl.c: unwind each look at a running guest twice, by us_unwind() and by
 * libdwfl with the full tables of the guest's ELF, while the guest is held; count the
 * differences by class.
 *
 *   compare-dwfl [OPTIONS] -e ELF gdb:SOCKET | qmp:SOCKET | PID
 *   compare-dwfl [OPTIONS] -e ELF --replay FILE
 *
 * --captures N, --hz HZ, --examples, --json FILE, --title TEXT; --save FILE keeps
 * --save-count N captures of --save-frames N frames or more; --tail HEX,HEX,... is what
 * each of our stacks has to end with; --min-whole PERCENT of them must be whole.
 *
 * Exit status 1: a difference that no rule explains, or too few whole stacks.
 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "capture-file.h"
#include "tally.h"

#include "backend/backend.h"
#include "symbol/elf_cfi.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>

#define MAX_TAIL      32
#define CODE_MAY_LACK 1			   /* percent of whole stacks, without tables */
#define PATIENCE_NS   (60 * US_NS_PER_SEC) /* without a capture */

struct settings {
	const char *elf, *target, *backend, *save, *replay, *json, *title;
	us_gva tail[MAX_TAIL]; /* what each stack has to end with, outermost last */
	unsigned n_tail;
	unsigned long captures, n_save;
	unsigned min_frames; /* of what is saved */
	double hz, min_whole;
	bool examples, quiet;
};

/* The ways to unwind that are compared, each with an unwinder of its own. */
enum { WAY_ALL, WAY_TABLES, WAY_CODE, WAY_NOTHING, N_WAY };

static const struct {
	const char *name, *words;
	bool tables, map;
	bool blind; /* much may be missing */
} ways[N_WAY] = {
	[WAY_ALL] = { "all", "tables and function starts", true, true, false },
	[WAY_TABLES] = { "tables", "tables, no symbols", true, false, false },
	[WAY_CODE] = { "code", "function starts, no tables", false, true, false },
	[WAY_NOTHING] = { "nothing", "no symbols, no tables", false, false, true },
};

struct oracle {
	struct us_backend *backend;
	struct us_elf_image *image;
	struct us_symbols *symbols;
	us_gva *start;
	struct us_code_map map;
	struct us_cfi_table *table;
	struct us_cfi cfi;
	struct us_unwinder *unwinder[N_WAY];
	struct tally *tally; /* by way */
	struct us_paging paging;
	struct dwfl_walk *walk;
	struct dwfl_stack dwfl;
	struct us_stack ours;
	FILE *save;
	unsigned long n_saved;
};

static int open_symbols(struct oracle *o, const char *elf, struct us_err *e)
{
	int r = us_symbols_new(&o->symbols, e);
	if (r == 0)
		r = us_elf_image_open(elf, &o->image, e);
	if (r == 0)
		r = us_symbols_add(o->symbols, o->image, 0, e);
	if (r < 0)
		return r;
	if (us_symbols_function_starts(o->symbols, &o->start, &o->map.n) < 0)
		return us_fail(e, -ENOMEM, "out of memory");
	o->map.start = o->start;
	us_elf_image_text(o->image, &o->map.text_start, &o->map.text_end);
	return 0;
}

static int open_tables(struct oracle *o, struct us_err *e)
{
	struct us_elf_cfi_stats stats;
	int r = us_elf_cfi_read(us_elf_image_file(o->image), NULL, &o->table, &stats,
				e);
	if (r == 0 && us_cfi_place(&o->cfi, o->table, 0, US_CFI_ANY_ROOT) < 0)
		r = us_fail(e, -ENOSPC, "the tables cannot be placed");
	return r;
}

static int open_ways(struct oracle *o, struct us_err *e)
{
	o->tally = calloc(N_WAY, sizeof(*o->tally));
	if (!o->tally)
		return us_fail(e, -ENOMEM, "out of memory");
	for (unsigned i = 0; i < N_WAY; i++) {
		o->tally[i].name = ways[i].name;
		o->tally[i].words = ways[i].words;
		if (us_unwinder_new(US_ARCH_X86_64, ways[i].map ? &o->map : NULL,
				    ways[i].tables ? &o->cfi : NULL,
				    &o->unwinder[i]) < 0)
			return us_fail(e, -ENOMEM, "out of memory");
	}
	return 0;
}

static int open_all(struct oracle *o, const struct settings *s, struct us_mem *mem,
		    struct us_err *e)
{
	us_paging_init(&o->paging, mem);
	int r = open_symbols(o, s->elf, e);
	if (r == 0)
		r = open_tables(o, e);
	if (r == 0)
		r = open_ways(o, e);
	if (r == 0)
		r = dwfl_walk_open(s->elf, &o->paging, &o->walk, e);
	if (r == 0 && s->save) {
		o->save = fopen(s->save, "wbe");
		if (!o->save)
			r = us_fail(e, -errno, "%s: %s", s->save, strerror(errno));
	}
	return r;
}

static void close_all(struct oracle *o)
{
	for (unsigned i = 0; i < N_WAY; i++)
		us_unwinder_free(o->unwinder[i]);
	dwfl_walk_close(o->walk);
	us_cfi_table_free(o->table);
	us_symbols_free(o->symbols);
	free(o->start);
	free(o->tally);
	if (o->save)
		fclose(o->save);
}

/* Does our stack end as the guest itself says? */
static bool tail_is_right(const struct oracle *o, const struct settings *s)
{
	const struct us_stack *ours = &o->ours;
	return ours->n >= s->n_tail && !memcmp(ours->pc + ours->n - s->n_tail, s->tail,
					       s->n_tail * sizeof(*s->tail));
}

/* One moment of the guest. */
static void compare(struct oracle *o, const struct settings *s,
		    const struct us_regs *regs)
{
	us_paging_new_sample(&o->paging);
	dwfl_walk_unwind(o->walk, regs, &o->dwfl);
	for (unsigned i = 0; i < N_WAY; i++) {
		struct pair p = { .ours = &o->ours,
				  .dwfl = &o->dwfl,
				  .walk = o->walk,
				  .paging = &o->paging,
				  .regs = regs,
				  .map = &o->map };
		us_unwind(o->unwinder[i], &o->paging, regs, &o->ours);
		tally_add(&o->tally[i], &p);
		o->tally[i].bad_tail += !tail_is_right(o, s);
	}
}

static void keep(struct oracle *o, const struct settings *s, const struct us_regs *regs)
{
	static struct saved saved;
	if (!o->save || o->n_saved == s->n_save || o->dwfl.n < s->min_frames)
		return;
	saved_take(&saved, &o->paging, regs);
	if (saved_write(o->save, &saved) == 0)
		o->n_saved++;
}

static volatile sig_atomic_t stopped;

static void on_signal(int signal)
{
	(void)signal;
	stopped = 1;
}

static int run_live(struct oracle *o, const struct settings *s, struct us_err *e)
{
	const struct us_schedule schedule = { .hz = s->hz, .seed = us_now_ns() };
	static struct us_capture c;
	struct us_backend *b = o->backend;
	uint64_t last = us_now_ns();
	int r = b->ops->start(b, &schedule, e);
	if (r < 0)
		return r;
	while (o->tally[0].n < s->captures && !stopped) {
		r = b->ops->next(b, us_now_ns() + US_NS_PER_SEC, &c);
		if (r < 0)
			return us_fail(e, r, "the guest went away");
		if (r > 0) {
			bool use = c.form == US_CAPTURE_LIVE && c.regs.bits == 64;
			if (use) {
				compare(o, s, &c.regs);
				keep(o, s, &c.regs);
				last = us_now_ns();
			}
			b->ops->release(b, &c);
		}
		if (us_now_ns() - last > PATIENCE_NS)
			return us_fail(e, -ETIMEDOUT, "no capture for a minute");
	}
	return 0;
}

static int run_replay(struct oracle *o, const struct settings *s, struct replay *replay,
		      struct us_err *e)
{
	static struct saved saved;
	struct us_regs regs;
	FILE *f = fopen(s->replay, "rbe");
	if (!f)
		return us_fail(e, -errno, "%s: %s", s->replay, strerror(errno));
	while (o->tally[0].n < s->captures && saved_read(f, &saved) == 0)
		if (replay_load(replay, &saved, &regs))
			compare(o, s, &regs);
	fclose(f);
	return 0;
}

static int set_target(const char *text, struct us_target *t, struct us_guest *g,
		      struct us_err *e)
{
	bool gdb = !strncmp(text, "gdb:", 4), qmp = !strncmp(text, "qmp:", 4);
	memset(t, 0, sizeof(*t));
	if (gdb || qmp) {
		snprintf(gdb ? t->gdb : t->qmp, US_ENDPOINT_SIZE, "%s", text + 4);
		return 0;
	}
	t->guest = g;
	return us_guest_inspect((pid_t)atoi(text), g, e);
}

static int live(struct oracle *o, const struct settings *s, struct us_err *e)
{
	static struct us_target target;
	static struct us_guest guest;
	int r = set_target(s->target, &target, &guest, e);
	if (r == 0)
		r = us_backend_open(&target, s->backend, &o->backend, NULL, 0, e);
	if (r == 0)
		r = open_all(o, s, o->backend->mem, e);
	if (r == 0)
		r = run_live(o, s, e);
	us_backend_close(us_take(o->backend));
	return r;
}

static int replayed(struct oracle *o, const struct settings *s, struct us_err *e)
{
	struct replay *replay;
	int r = replay_new(s->elf, &replay, e);
	if (r < 0)
		return r;
	r = open_all(o, s, replay_mem(replay), e);
	if (r == 0)
		r = run_replay(o, s, replay, e);
	replay_free(replay);
	return r;
}

static void write_json(struct oracle *o, const struct settings *s)
{
	FILE *f = fopen(s->json, "we");
	if (!f) {
		perror(s->json);
		return;
	}
	struct us_json j = us_json_to(f);
	us_json_object(&j, NULL);
	us_json_str(&j, "title", s->title ? s->title : s->elf);
	us_json_array(&j, "ways");
	for (unsigned i = 0; i < N_WAY; i++)
		tally_json(&o->tally[i], o->symbols, &j);
	us_json_end(&j);
	us_json_end(&j);
	fputc('\n', f);
	fclose(f);
}

/* Captures of one way whose class must not be. */
static uint64_t n_wrong(const struct tally *t, bool blind)
{
	uint64_t n = 0;
	for (unsigned i = 0; i < US_N_CLASS; i++)
		if (us_classes[i].fault > (blind ? US_FAULT_BLIND : US_FAULT_CUT))
			n += t->class[i];
	return n;
}

static int judge(const struct tally *t, unsigned way, const struct settings *s)
{
	bool blind = ways[way].blind;
	uint64_t wrong = n_wrong(t, blind);
	double must = ways[way].tables ? s->min_whole : s->min_whole - CODE_MAY_LACK;
	bool cut = !blind && 100 * tally_whole(t) < must - 1e-9;
	bool tail = !blind && t->bad_tail;
	if (wrong || !t->n)
		printf("# %s: %" PRIu64 " of %" PRIu64 " are wrong or unexplained\n",
		       t->name, wrong, t->n);
	if (tail)
		printf("# %s: %" PRIu64 " do not end as the guest says\n", t->name,
		       t->bad_tail);
	if (cut)
		printf("# %s: %.3f %% are whole, %.3f must be\n", t->name,
		       100 * tally_whole(t), must);
	return wrong || !t->n || tail || cut;
}

static int verdict(const struct oracle *o, const struct settings *s)
{
	int bad = 0;
	for (unsigned i = 0; i < N_WAY; i++)
		bad |= judge(&o->tally[i], i, s);
	return bad;
}

static const struct option options[] = {
	{ "elf", 1, NULL, 'e' },
	{ "backend", 1, NULL, 'b' },
	{ "captures", 1, NULL, 'n' },
	{ "hz", 1, NULL, 'h' },
	{ "save", 1, NULL, 's' },
	{ "save-count", 1, NULL, 'c' },
	{ "save-frames", 1, NULL, 'f' },
	{ "replay", 1, NULL, 'r' },
	{ "json", 1, NULL, 'j' },
	{ "title", 1, NULL, 't' },
	{ "min-whole", 1, NULL, 'w' },
	{ "examples", 0, NULL, 'x' },
	{ "quiet", 0, NULL, 'q' },
	{ "tail", 1, NULL, 'a' },
	{ 0 },
};

/* Addresses, with commas between them. */
static void parse_tail(struct settings *s, const char *text)
{
	char *end;
	for (s->n_tail = 0; *text && s->n_tail < MAX_TAIL; text = end + (*end == ',')) {
		s->tail[s->n_tail++] = strtoull(text, &end, 16);
		if (*end && *end != ',')
			break;
	}
}

static bool set_option(struct settings *s, int c)
{
	const char **text = c == 'e'   ? &s->elf
			    : c == 'b' ? &s->backend
			    : c == 's' ? &s->save
			    : c == 'r' ? &s->replay
			    : c == 'j' ? &s->json
			    : c == 't' ? &s->title
				       : NULL;
	if (text)
		*text = optarg;
	else if (c == 'n')
		s->captures = strtoul(optarg, NULL, 10);
	else if (c == 'c')
		s->n_save = strtoul(optarg, NULL, 10);
	else if (c == 'f')
		s->min_frames = (unsigned)strtoul(optarg, NULL, 10);
	else if (c == 'h')
		s->hz = strtod(optarg, NULL);
	else if (c == 'w')
		s->min_whole = strtod(optarg, NULL);
	else if (c == 'a')
		parse_tail(s, optarg);
	else if (c == 'x')
		s->examples = true;
	else if (c == 'q')
		s->quiet = true;
	else
		return false;
	return true;
}

static bool parse(int argc, char **argv, struct settings *s)
{
	int c;
	while ((c = getopt_long(argc, argv, "e:n:", options, NULL)) >= 0)
		if (!set_option(s, c))
			return false;
	s->target = optind < argc ? argv[optind] : NULL;
	return s->elf && (s->target || s->replay);
}

int main(int argc, char **argv)
{
	struct settings s = { .captures = 1000, .n_save = 64, .hz = 3000 };
	static struct oracle o;
	struct us_err e = { 0 };
	if (!parse(argc, argv, &s)) {
		fprintf(stderr, "usage: compare-dwfl [OPTIONS] -e ELF TARGET\n");
		return 2;
	}
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	int r = s.replay ? replayed(&o, &s, &e) : live(&o, &s, &e);
	if (r < 0)
		fprintf(stderr, "compare-dwfl: %s\n", e.msg);
	for (unsigned i = 0; o.tally && !s.quiet && i < N_WAY; i++)
		if (o.tally[i].n)
			tally_print(&o.tally[i], o.symbols, s.examples);
	if (r == 0 && s.json)
		write_json(&o, &s);
	int bad = r < 0 ? 2 : verdict(&o, &s);
	close_all(&o);
	return bad;
}
