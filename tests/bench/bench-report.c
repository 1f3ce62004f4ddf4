/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench-report.c: what reports of a large recording cost, in time and memory,
 * beside reading the same recording and dropping it.
 *
 *	bench-report [MILLIONS [STACKS [FILE]]]		FILE: leave the recording there
 *	bench-report many				only that of many stacks
 *
 * Stacks are drawn evenly, which is the worst case: nearly every stack is in every
 * slice of time.  Their addresses are functions of this program, so names and lines are
 * real.
 */
#include "bench.h"
#include "report/report.h"

#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#define MAX_DEPTH 24

static unsigned depth_of(unsigned k)
{
	return 8 + (k >> 10) * 7 % (MAX_DEPTH - 7);
}

/* Twice as many share a caller as share its callee, up to a thousand. */
static void make_stacks(const struct us_elf_symbol *sym, size_t n_sym, unsigned n_stack,
			us_gva (*pc)[MAX_DEPTH])
{
	for (unsigned k = 0; k < n_stack; k++) {
		for (unsigned i = 0; i < depth_of(k); i++) {
			uint64_t seed = (k >> (i < 10 ? i : 10)) * 977ULL + i + 1;
			bench_random(&seed);
			uint64_t r = bench_random(&seed) >> 7;
			const struct us_elf_symbol *s = &sym[r % n_sym];
			/* A function has many places to be in, and few calls. */
			uint64_t places = i ? 4 : 32;
			pc[k][i] = s->addr + s->size * ((r >> 32) % places) / places +
				   1;
		}
	}
}

static void write_samples(struct us_writer *w, us_gva (*pc)[MAX_DEPTH],
			  unsigned n_stack, uint64_t n)
{
	struct us_err e;
	struct us_sample s = { .weight = 1, .end = US_END_ROOT };
	uint64_t random = 9;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t r = bench_random(&random);
		unsigned k = (unsigned)((r >> 32) * n_stack >> 32);
		s.t_ns += 500000 + r % 1000000;
		s.vcpu = r & 1;
		s.state = r % 8 == 0 ? US_VCPU_HALTED : US_VCPU_GUEST;
		bool idle = s.state == US_VCPU_HALTED;
		need(us_writer_sample(w, &s, pc[k], NULL, idle ? 0 : depth_of(k), &e),
		     &e);
	}
}

static int generate(int fd, uint64_t n, unsigned n_stack)
{
	struct us_err e;
	struct us_elf_image *image;
	struct us_writer *w;
	char self[4096];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (len < 0)
		return 1;
	self[len] = '\0';
	need(us_elf_image_open(self, &image, &e), &e);
	struct us_module m = { .path = self, .match = US_MATCH_YES };
	us_elf_image_text(image, &m.start, &m.end);
	size_t n_sym;
	const struct us_elf_symbol *sym = us_elf_image_symbols(image, &n_sym);
	us_gva(*pc)[MAX_DEPTH] = malloc(n_stack * sizeof(*pc));
	if (!pc || !n_sym)
		return 1;
	make_stacks(sym, n_sym, n_stack, pc);
	need(us_writer_open(fd, &w, &e), &e);
	need(us_writer_module(w, &m, &e), &e);
	write_samples(w, pc, n_stack, n);
	struct us_record_stats stats = { 0 };
	need(us_writer_end(w, &stats, US_RECORD_DONE, "", &e), &e);
	us_writer_close(w);
	us_elf_image_close(image);
	free(pc);
	return 0;
}

static int take_samples(void *ctx, const struct us_sample *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		*(uint64_t *)ctx += s[i].weight;
	return 0;
}

static int take_stack(void *ctx, us_stack_id id, us_stack_id parent, us_gva pc,
		      uint8_t flags)
{
	*(uint64_t *)ctx += id ^ parent ^ pc ^ flags;
	return 0;
}

static int read_only(int fd)
{
	static const struct us_reader_ops ops = { .samples = take_samples,
						  .stack = take_stack };
	struct us_reader_result r;
	struct us_err e;
	uint64_t sum = 0;
	need(us_read(fd, &ops, &sum, &r, &e), &e);
	return sum == 0;
}

/* Each distinct path once, in a plain hash table: the least that can sum samples by
 * their stacks. */
struct paths {
	struct path {
		us_gva pc;
		uint32_t parent, weight;
	} * v;
	uint32_t *slot, *number; /* by number in the file: path */
	size_t n, slots, cap;
};

static size_t slot_of(const struct paths *t, const struct path *x)
{
	uint64_t hash = (x->pc ^ (uint64_t)x->parent << 32) * 0x9e3779b97f4a7c15;
	size_t i = (hash ^ hash >> 29) * 0x9e3779b97f4a7c15 >> 32 & (t->slots - 1);
	for (; t->slot[i]; i = (i + 1) & (t->slots - 1))
		if (t->v[t->slot[i]].pc == x->pc &&
		    t->v[t->slot[i]].parent == x->parent)
			break;
	return i;
}

static void grow_paths(struct paths *t)
{
	free(t->slot);
	t->slots = t->slots ? t->slots * 2 : 1024;
	t->v = realloc(t->v, t->slots / 2 * sizeof(*t->v));
	t->slot = calloc(t->slots, sizeof(*t->slot));
	if (!t->v || !t->slot)
		exit(1);
	for (size_t i = 1; i < t->n; i++)
		t->slot[slot_of(t, &t->v[i])] = (uint32_t)i;
}

static int keep_path(void *ctx, us_stack_id id, us_stack_id parent, us_gva pc,
		     uint8_t flags)
{
	struct paths *t = ctx;
	(void)flags;
	if (t->n * 2 >= t->slots)
		grow_paths(t);
	if (id >= t->cap) {
		t->cap *= 2;
		t->number = realloc(t->number, t->cap * sizeof(*t->number));
		if (!t->number)
			exit(1);
	}
	struct path x = { pc, t->number[parent], 0 };
	size_t i = slot_of(t, &x);
	if (!t->slot[i]) {
		t->v[t->n] = x;
		t->slot[i] = (uint32_t)t->n++;
	}
	t->number[id] = t->slot[i];
	return 0;
}

static int add_weights(void *ctx, const struct us_sample *s, size_t n)
{
	struct paths *t = ctx;
	for (size_t i = 0; i < n; i++)
		t->v[t->number[s[i].stack]].weight += s[i].weight;
	return 0;
}

static int sum_only(int fd)
{
	static const struct us_reader_ops ops = { .samples = add_weights,
						  .stack = keep_path };
	struct us_reader_result r;
	struct us_err e;
	struct paths t = { .n = 1, .cap = 1024, .number = calloc(1024, 4) };
	if (!t.number)
		return 1;
	grow_paths(&t);
	need(us_read(fd, &ops, &t, &r, &e), &e);
	return t.n == 1;
}

static int report(int fd, const char *format, FILE *out)
{
	struct us_err e;
	struct us_profile *p;
	struct us_report_opts o = { .limit = 0 };
	const struct us_format *f = us_format_by_name(format);
	struct us_profile_opts po = { .by_vcpu = f->by_vcpu,
				      .by_time = f->by_time,
				      .timeline = f->timeline,
				      .timeline_most = f->timeline_most };
	need(us_profile_read(fd, &po, &p, &e), &e);
	need(us_report(p, f, &o, out, &e), &e);
	us_profile_free(p);
	return fflush(out) != 0;
}

/* What the firefox format's text takes zlib alone, as fast as zlib packs. */
static int pack_alone(const unsigned char *text, size_t n)
{
	unsigned char to[65536];
	z_stream z = { .next_in = (unsigned char *)text, .avail_in = (unsigned)n };
	if (deflateInit2(&z, 1, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY))
		return 1;
	do {
		z.next_out = to;
		z.avail_out = sizeof(to);
		deflate(&z, Z_FINISH);
	} while (!z.avail_out);
	return deflateEnd(&z) != Z_OK;
}

static int temporary(void)
{
	const char *dir = getenv("TMPDIR");
	return open(dir ? dir : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

static unsigned char *firefox_text(int fd, size_t *ret_n)
{
	int to = temporary();
	FILE *out = to < 0 ? NULL : fdopen(dup(to), "w");
	size_t most = (size_t)1 << 30;
	unsigned char *text = malloc(most);
	lseek(fd, 0, SEEK_SET);
	if (!out || !text || report(fd, "firefox", out))
		exit(1);
	fclose(out);
	lseek(to, 0, SEEK_SET);
	gzFile in = gzdopen(to, "r");
	int n = in ? gzread(in, text, (unsigned)most - 1) : -1;
	if (n <= 0)
		exit(1);
	gzclose(in);
	*ret_n = (size_t)n;
	return text;
}

struct cost {
	double seconds, mebibytes;
};

#define SUM_ONLY "" /* in place of a format */

/* In a child, so that each starts with an empty heap.  text: that is packed, alone. */
static struct cost measure(int fd, const char *format, const unsigned char *text,
			   size_t n)
{
	struct rusage u;
	int status;
	lseek(fd, 0, SEEK_SET);
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0)
		_exit(text		   ? pack_alone(text, n)
		      : format && !*format ? sum_only(fd)
		      : format		   ? report(fd, format, fopen("/dev/null", "w"))
					   : read_only(fd));
	if (pid < 0 || wait4(pid, &status, 0, &u) != pid || status)
		exit(1);
	return (struct cost){
		(double)u.ru_utime.tv_sec + (double)u.ru_stime.tv_sec +
			(double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6,
		(double)u.ru_maxrss / 1024
	};
}

/* In a child: our own memory stays small, as children inherit its peak. */
static int generate_apart(int fd, uint64_t n, unsigned n_stack)
{
	int status;
	pid_t pid = fork();
	if (pid == 0)
		_exit(generate(fd, n, n_stack));
	return pid < 0 || waitpid(pid, &status, 0) != pid || status;
}

/* Most samples have a stack of their own. */
static int many_stacks(void)
{
	static const char *const formats[] = { "text",	 "html",  "json",
					       "folded", "pprof", "tree" };
	int fd = temporary();
	if (fd < 0 || generate_apart(fd, 2000000, 1000000))
		return 1;
	struct cost floor = measure(fd, SUM_ONLY, NULL, 0);
	printf("2 M samples, 1000000 stacks: reading and summing by a hash table alone "
	       "%.2f s, %.0f MiB\n",
	       floor.seconds, floor.mebibytes);
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		struct cost c = measure(fd, formats[i], NULL, 0);
		printf("report, %-10s %.2f s (%.1f times that), %.0f MiB\n", formats[i],
		       c.seconds, c.seconds / floor.seconds, c.mebibytes);
	}
	close(fd);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "many"))
		return many_stacks();
	uint64_t n = (argc > 1 ? strtoull(argv[1], NULL, 0) : 10) * 1000000;
	unsigned n_stack = argc > 2 ? (unsigned)atoi(argv[2]) : 100000;
	int fd = argc > 3 ? open(argv[3], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)
			  : temporary();
	if (fd < 0 || !n || !n_stack || generate_apart(fd, n, n_stack))
		return 1;
	if (argc > 3)
		return 0;
	struct cost floor = measure(fd, NULL, NULL, 0), text = floor;
	printf("%.0f M samples, %u stacks, %.0f MiB: reading alone %.2f s, %.0f MiB\n",
	       (double)n / 1e6, n_stack, (double)lseek(fd, 0, SEEK_END) / (1 << 20),
	       floor.seconds, floor.mebibytes);
	static const char *const formats[] = { "text",	     "html",	  "json",
					       "folded",     "callgrind", "pprof",
					       "speedscope", "firefox",	  "chrome",
					       "perf" };
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		struct cost c = measure(fd, formats[i], NULL, 0);
		text = i ? text : c;
		printf("report, %-10s %.2f s (%.1f times reading, %.1f times text), "
		       "%.0f MiB\n",
		       formats[i], c.seconds, c.seconds / floor.seconds,
		       c.seconds / text.seconds, c.mebibytes);
	}
	size_t n_text;
	unsigned char *packed = firefox_text(fd, &n_text);
	struct cost c = measure(fd, NULL, packed, n_text);
	printf("what firefox writes (%zu MiB), packed by zlib at its fastest level "
	       "alone: "
	       "%.2f s (%.1f times text)\n",
	       n_text >> 20, c.seconds, c.seconds / text.seconds);
	free(packed);
	return argc > 1 ? 0 : many_stacks();
}
