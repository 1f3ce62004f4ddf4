/* SPDX-License-Identifier: GPL-2.0-or-later */
/* programs.c: see programs.h. */
#include "cmd/dump/programs.h"

#include "base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define WAIT_US 2000 /* for the folders of --symbols and --root */

static const struct us_programs_time no_time;

static bool is_late(struct us_dump_programs *p)
{
	p->late |= us_now_ns() >= p->until_ns;
	return p->late;
}

/* Each call has a time limit; the next one goes on where it stopped. */
static void read_rules(struct us_dump_programs *p)
{
	struct us_programs *of = p->of;
	unsigned changes;
	bool more;
	do {
		changes = of->waiting.n_change;
		atomic_store(&of->hungry, false);
		us_programs_unwind(of, p->kernel, p->paging);
		bool waits = us_programs_pending(of);
		if (waits)
			usleep(WAIT_US);
		more = waits || atomic_load(&of->hungry) ||
		       changes != of->waiting.n_change;
	} while (more && !is_late(p));
}

static int begin_recording(struct us_dump_programs *p)
{
	struct us_err e;
	p->fd = memfd_create("tasks", MFD_CLOEXEC);
	if (p->fd < 0)
		return -errno;
	int r = us_writer_open(p->fd, &p->writer, &e);
	if (r < 0) {
		close(p->fd);
		return r;
	}
	us_writer_see_programs(p->writer,
			       &(struct us_program_seer){ us_programs_see, p->of });
	return 0;
}

int us_dump_programs_read(struct us_dump_programs *p, struct us_kernel *k,
			  struct us_paging *paging, struct us_linux_tasks *list,
			  bool rules)
{
	struct us_programs *of = &k->processes.programs;
	memset(p, 0, sizeof(*p));
	p->kernel = us_kernel_linux(k);
	if (!p->kernel || !p->kernel->has_mappings)
		return 0;
	p->of = of;
	p->paging = paging;
	p->list = list;
	p->until_ns = us_now_ns() + US_DUMP_PROGRAMS_NS;
	p->pair = us_linux_tasks_isolated(&p->kernel->tasks, paging, list);
	us_programs_read(of, p->kernel, paging, list, p->pair, &no_time);
	for (size_t i = 0; rules && i < list->n; i++)
		(void)us_programs_wait(of, &list->v[i]);
	if (rules)
		read_rules(p);
	const struct us_code_set *set = atomic_load(&of->waiting.offered);
	us_images_programs(k->images, set && set->n ? set->block : NULL);
	return begin_recording(p);
}

/* Names go by page tables: whose the stack is does not matter. */
static int add_waiter(struct us_dump_programs *p)
{
	const struct us_waiter w = { .number = ++p->n, .name = "", .process_name = "" };
	return us_writer_waiter(p->writer, &w, NULL);
}

int us_dump_programs_add(struct us_dump_programs *p, us_gpa root,
			 const struct us_stack *s)
{
	us_gva pc[US_MAX_FRAMES];
	uint8_t flags[US_MAX_FRAMES];
	size_t n = s->n < US_MAX_FRAMES ? s->n : US_MAX_FRAMES - 1;
	if (!p->writer || !root)
		return 0;
	memcpy(pc, s->pc, n * sizeof(*pc));
	memcpy(flags, s->flags, n * sizeof(*flags));
	pc[n] = root & US_ROOT_MASK;
	flags[n++] = US_PC_SPACE;
	int r = add_waiter(p);
	const struct us_wait wait = { .waiter = p->n, .end = s->end };
	return r ? r : us_writer_wait(p->writer, &wait, pc, flags, n, NULL);
}

/* How often, over all files, uniscope has tried to read names. */
static size_t count_tries(const struct us_programs *of)
{
	size_t n = 0;
	for (size_t k = 0; k < of->files.n; k++)
		n += of->files.v[k].tries;
	return n;
}

/* Of a vCPU's program nothing was read before its stack came. */
static void read_sampled(struct us_dump_programs *p)
{
	do {
		atomic_store(&p->of->hungry, false);
		us_programs_read_sampled(p->of, p->kernel, p->paging);
	} while (atomic_load(&p->of->hungry) && !is_late(p));
}

int us_dump_programs_end(struct us_dump_programs *p)
{
	static const struct us_record_stats none;
	size_t tries;
	if (!p->writer)
		return 0;
	int r = us_writer_flush(p->writer, NULL);
	if (r < 0)
		return r;
	read_sampled(p);
	do {
		tries = count_tries(p->of);
		us_programs_read(p->of, p->kernel, p->paging, p->list, p->pair,
				 &no_time);
	} while (tries != count_tries(p->of) && !is_late(p));
	r = us_programs_write(p->of, p->writer);
	return r ? r : us_writer_end(p->writer, &none, US_RECORD_DONE, "", NULL);
}

static int play(void *ctx, const struct us_reader_ops *ops, void *ops_ctx,
		struct us_reader_result *ret, struct us_err *e)
{
	const struct us_dump_programs *p = ctx;
	if (lseek(p->fd, 0, SEEK_SET) < 0)
		return us_fail(e, -errno, "read the tasks' stacks: %s",
			       strerror(errno));
	return us_read(p->fd, ops, ops_ctx, ret, e);
}

int us_dump_programs_name(struct us_dump_programs *p, const struct us_debug_dirs *dirs,
			  bool raw_names, struct us_err *e)
{
	const struct us_profile_opts o = { .waits = true,
					   .no_intervals = true,
					   .raw_names = raw_names,
					   .dirs = *dirs };
	struct us_profile *profile;
	if (!p->writer)
		return 0;
	int r = us_naming_new(raw_names, &p->naming, e);
	if (r < 0)
		return r;
	const struct us_profile_source source = { play, p, p->naming };
	r = us_profile_make(&source, &o, &profile, e);
	if (r == 0)
		us_profile_free(profile);
	return r;
}

void us_dump_programs_fini(struct us_dump_programs *p)
{
	us_naming_unref(p->naming);
	if (p->writer) {
		us_writer_close(p->writer);
		close(p->fd);
	}
	memset(p, 0, sizeof(*p));
}

size_t us_dump_programs_lookup(const struct us_dump_programs *p, us_gpa root, us_gva pc,
			       bool is_return, struct us_frame *ret, size_t max)
{
	const struct us_symbol_when when = { .root = root & US_ROOT_MASK };
	return p->naming ? us_symbols_lookup_at(us_naming_symbols(p->naming), &when, pc,
						is_return, ret, max)
			 : 0;
}

const char *us_dump_programs_file(const struct us_dump_programs *p, us_gpa root,
				  us_gva pc, uint64_t *ret_at)
{
	return p->of ? us_programs_at(p->of, root & US_ROOT_MASK, pc, ret_at) : NULL;
}

static bool warn_of(const struct us_naming_programs *all,
		    const struct us_naming_program *f, char *dst, size_t size)
{
	bool other = f->other && (!f->image || f->dynamic);
	bool none = all->has_root && !f->image && !f->other && !f->gone &&
		    f->path[0] == '/';
	if (other)
		snprintf(dst, size,
			 "%s: the file in --root is another build than the one that "
			 "runs: its names are not used (a container's file: --symbols "
			 "DIR finds it by build-id)",
			 f->path);
	else if (none)
		snprintf(dst, size,
			 "%s: no symbols were found, neither at this path nor by "
			 "build-id below --root (a container's may be on another "
			 "disk: --symbols DIR, --debuginfod URL)",
			 f->path);
	else if (f->image && f->unverified)
		snprintf(dst, size,
			 "%s: no build-id shows that the file in --root is the one "
			 "that runs: its names are right only if it is",
			 f->path);
	else if (f->gone)
		snprintf(dst, size,
			 "%s: deleted or replaced in the guest while it runs, without "
			 "a build-id: the file in --root may be another one, and its "
			 "names are not used",
			 f->path);
	return other || none || f->gone || (f->image && f->unverified);
}

bool us_dump_programs_warning(const struct us_dump_programs *p, size_t k, char *dst,
			      size_t size)
{
	const struct us_naming_programs *all = p->naming ? us_naming_programs(p->naming)
							 : NULL;
	size_t n = 0;
	for (size_t i = 0; all && i < all->n; i++)
		if (warn_of(all, &all->v[i], dst, size) && n++ == k)
			return true;
	if (all && all->why[0] && n++ == k) {
		snprintf(dst, size, "%s", all->why);
		return true;
	}
	for (unsigned i = 0; p->of && i < US_N_LIMITS; i++) {
		char value[64];
		if (!p->of->limits.hit[i].n || n++ != k)
			continue;
		us_limit_value(&p->of->limits, i, value, sizeof(value));
		return us_limit_words(i, value, dst, size);
	}
	if (!p->late || n != k)
		return false;
	snprintf(dst, size,
		 "not all mappings of programs were read in time: some of their stacks "
		 "may end early and have no names");
	return true;
}
