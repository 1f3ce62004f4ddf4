/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile/read.c: from the bytes of a recording to the profile. */
#include "profile/profile_priv.h"
#include "profile/scale.h"

#include "base/cleanup.h"
#include "base/vec.h"
#include "profile/timeline.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int on_fact(void *ctx, const char *key, const char *value)
{
	struct us_profile *p = ctx;
	if (p->n_file == 1 && !strcmp(key, "linux_changed"))
		us_kernels_parse(value, &p->kernels_read);
	return us_profile_add_fact(p, key, value);
}

static int on_module(void *ctx, const struct us_module *m)
{
	struct us_profile *p = ctx;
	struct us_profile_module *slot = NULL;
	char *path = strdup(m->path ? m->path : "");
	if (!path)
		return -ENOMEM;
	for (size_t i = 0; i < p->modules.n; i++)
		if (p->modules.v[i].recording == p->file_now &&
		    (m->number ? p->modules.v[i].m.number == m->number
			       : p->modules.v[i].m.start == m->start))
			slot = &p->modules.v[i];
	if (!slot)
		slot = us_vec_push(&p->modules);
	if (!slot) {
		free(path);
		return -ENOMEM;
	}
	free((char *)slot->m.path);
	slot->m = *m;
	slot->m.path = path;
	slot->recording = (uint32_t)p->file_now;
	return 0;
}

/* Numbers are dense; the reader has checked that. */
static int on_stack(void *ctx, us_stack_id id, us_stack_id parent, us_gva pc,
		    uint8_t flags)
{
	struct us_profile *p = ctx;
	return id == p->trie.numbers.n ? us_trie_add(&p->trie, parent, pc, flags)
				       : -EBADMSG;
}

static int on_stacks(void *ctx, us_stack_id first, const struct us_stack_node *v,
		     size_t n)
{
	struct us_profile *p = ctx;
	return first == p->trie.numbers.n ? us_trie_add_all(&p->trie, v, n) : -EBADMSG;
}

static int on_samples(void *ctx, const struct us_sample *s, size_t n)
{
	return us_profile_add_samples(ctx, s, n);
}

static int on_sample(void *ctx, const struct us_sample *s)
{
	return us_profile_add_sample(ctx, s);
}

static int on_stats(void *ctx, const struct us_record_stats *s)
{
	struct us_profile *p = ctx;
	p->file[p->file_now].stats = *s;
	p->file[p->file_now].has_stats = true;
	return 0;
}

static int on_waiter(void *ctx, const struct us_waiter *s)
{
	return us_profile_add_waiter(ctx, s);
}

static int on_wait(void *ctx, const struct us_wait *s)
{
	return us_profile_add_wait(ctx, s);
}

static int on_wait_stats(void *ctx, const struct us_wait_stats *s)
{
	struct us_profile *p = ctx;
	p->waits.stats = *s;
	return 0;
}

static int on_named(void *ctx, const struct us_named *n)
{
	struct us_profile *p = ctx;
	unsigned layout = p->recording[p->file_now].layout;
	for (size_t i = 0; i < p->file_now; i++)
		if (p->recording[i].layout == layout)
			return 0; /* the names were added before */
	return us_naming_add(p->naming, layout + p->kernels_read.n, n, false);
}

static int on_host_stack(void *ctx, us_stack_id id, us_stack_id parent, us_hva pc)
{
	return us_profile_host_stack(ctx, id, parent, pc);
}

static int on_host_named(void *ctx, const struct us_named *n)
{
	struct us_profile *p = ctx;
	return p->opts.host ? us_naming_add(p->naming, 0, n, true) : 0;
}

static int on_counted(void *ctx, unsigned vcpu, uint32_t number,
		      const struct us_counted *c)
{
	struct us_profile *p = ctx;
	if (p->file[p->file_now].left_out)
		return 0;
	p->file[p->file_now].counted = true;
	return us_profile_add_call(p, vcpu, number, c);
}

static int on_end(void *ctx, enum us_record_end end, const char *words)
{
	struct us_profile *p = ctx;
	char *copy = strdup(words ? words : "");
	if (!copy)
		return -ENOMEM;
	free(p->file[p->file_now].end_words);
	p->file[p->file_now].end_words = copy;
	p->recording[p->file_now].end_words = copy;
	p->recording[p->file_now].end = end;
	return 0;
}

static int on_early_fact(void *ctx, const char *key, const char *value)
{
	struct us_profile *p = ctx;
	us_profile_phase_fact(p, key, value);
	if (p->n_file == 1 && !strcmp(key, "linux_changed"))
		us_kernels_parse(value, &p->kernels);
	return us_profile_file_fact(p, key, value);
}

static int on_process(void *ctx, const struct us_process *s)
{
	return us_profile_add_process(ctx, s);
}

static int on_task(void *ctx, const struct us_task *t)
{
	return us_profile_add_task(ctx, t);
}

static int on_program_file(void *ctx, const struct us_program_file *f)
{
	return us_profile_add_program_file(ctx, f);
}

static int on_mapping(void *ctx, const struct us_mapping *m)
{
	return us_profile_add_mapping(ctx, m);
}

static int on_program_name(void *ctx, const struct us_program_name *n)
{
	return us_profile_add_program_name(ctx, n);
}

static int on_image_name(void *ctx, const struct us_program_name *n)
{
	return us_profile_add_image_name(ctx, n);
}

static int on_busy_at(void *ctx, uint64_t t_ns)
{
	struct us_profile *p = ctx;
	if (p->busy_ns < t_ns)
		p->busy_ns = t_ns;
	return 0;
}

static int on_early_name(void *ctx, const struct us_named *n)
{
	us_profile_hash_name(ctx, n);
	return 0;
}

/* First the images and the phases: records later in the file decide how samples are
 * named. */
static int read_modules(struct us_profile *p, const struct us_profile_source *s,
			struct us_err *e)
{
	const struct us_reader_ops ops = { .module = on_module,
					   .fact = on_early_fact,
					   .process = on_process,
					   .task = on_task,
					   .program_file = on_program_file,
					   .mapping = on_mapping,
					   .program_name = on_program_name,
					   .image_name = on_image_name,
					   .busy_at = on_busy_at,
					   .stats = on_stats,
					   .named = p->n_file > 1 ? on_early_name
								  : NULL };
	struct us_reader_result r;
	return s->play(s->ctx, &ops, p, &r, e);
}

static int too_many(struct us_err *e)
{
	us_fail(e, -EOVERFLOW,
		"there are more than %u million samples, too many to show one by one",
		US_TIMELINE_MOST >> 20);
	us_hint(e, "--time FROM,TO for a part of the recording, or --vcpu N");
	return -EOVERFLOW;
}

static int read_samples(struct us_profile *p, const struct us_profile_source *s,
			struct us_err *e)
{
	static const struct us_reader_ops ops = {
		.fact = on_fact,
		.stack = on_stack,
		.stacks = on_stacks,
		.sample = on_sample,
		.samples = on_samples,
		.stats = on_stats,
		.end = on_end,
		.named = on_named,
		.host_stack = on_host_stack,
		.host_named = on_host_named,
		.counted = on_counted,
		.waiter = on_waiter,
		.wait = on_wait,
		.wait_stats = on_wait_stats,
	};
	int rc = s->play(s->ctx, &ops, p, &p->recording[p->file_now].file, e);
	if (rc == -EOVERFLOW)
		return too_many(e);
	if (rc)
		return rc;
	rc = us_profile_end_samples(p);
	if (rc == -EOVERFLOW)
		return too_many(e);
	return rc ? us_fail(e, rc, "report: %s",
			    rc == -E2BIG || rc == -EBADMSG
				    ? "the recording has too many stacks"
				    : "out of memory")
		  : us_profile_end_file(p, e);
}

static int end_samples(struct us_profile *p, struct us_err *e)
{
	int rc = us_slices_end(&p->running);
	if (!rc)
		rc = us_slices_end(&p->idle);
	if (rc)
		return us_fail(e, rc, "report: %s",
			       rc == -E2BIG ? "the recording has too many stacks"
					    : "out of memory");
	if (p->sum.first_ns > p->sum.last_ns)
		p->sum.first_ns = p->sum.last_ns;
	us_slices_seal(&p->running);
	us_trie_seal(&p->trie);
	us_trie_seal(&p->host_trie);
	p->sum.slices = p->running.n;
	p->sum.slice_ns = p->running.width_ns;
	return us_profile_join_files(p, e);
}

/* Add the name of the file to an error if there are several. */
static int of_file(struct us_profile *p, int rc, struct us_err *e)
{
	return rc && p->n_file > 1 ? us_wrap(e, "%s", p->file[p->file_now].name) : rc;
}

static int read_recordings(struct us_profile *p, const struct us_profile_source *s,
			   size_t n, struct us_err *e)
{
	int rc = 0;
	for (size_t i = 0; i < n && !rc; i++) {
		p->file_now = i;
		rc = of_file(p, read_modules(p, &s[i], e), e);
	}
	if (!rc)
		rc = us_profile_find_layouts(p, e);
	us_profile_find_scales(p);
	if (!rc && us_profile_cut_time(p))
		rc = us_fail(e, -ENOMEM, "report: out of memory");
	for (size_t i = 0; i < n && !rc; i++) {
		us_profile_begin_file(p, i);
		us_profile_begin_samples(p);
		rc = of_file(p, read_samples(p, &s[i], e), e);
	}
	return rc ? rc : end_samples(p, e);
}

static int prepare(struct us_profile *p, struct us_naming *naming, struct us_err *e)
{
	us_slices_init(&p->running);
	us_slices_init(&p->idle);
	us_stretches_init(&p->stretches);
	us_moments_init(&p->moments);
	p->sum.first_ns = UINT64_MAX;
	if (p->opts.timeline)
		p->timeline = calloc(US_MAX_LANES, sizeof(*p->timeline));
	if (us_trie_init(&p->trie) || us_trie_init(&p->host_trie) ||
	    (p->opts.timeline && !p->timeline))
		return us_fail(e, -ENOMEM, "report: out of memory");
	int rc = 0;
	if (naming)
		p->naming = us_naming_ref(naming);
	else
		rc = us_naming_new(p->opts.raw_names, &p->naming, e);
	if (!rc)
		p->symbols = us_naming_symbols(p->naming);
	return rc;
}

/* From what was read to names and figures. */
static int evaluate(struct us_profile *p, struct us_err *e)
{
	bool counted = us_profile_is_counted(p);
	us_naming_settle(p->naming);
	int rc = counted ? us_profile_check_counted(p, e) : 0;
	if (!rc)
		rc = us_profile_open_modules(p, e);
	if (!rc)
		rc = us_profile_open_programs(p, e);
	if (!rc && !p->opts.waits)
		rc = us_profile_find_idle(p, e);
	if (!rc) {
		if (!p->opts.waits)
			us_profile_sum_time(p);
		rc = counted ? us_profile_build_calls(p, e)
			     : us_profile_build_tree(p, e);
	}
	if (!rc)
		rc = us_profile_shorten_paths(p, e);
	if (!rc)
		rc = us_profile_tell_apart(p, e);
	if (!rc)
		rc = us_profile_apply_filters(p, e);
	if (!rc)
		rc = counted ? us_profile_count_calls(p, e) : us_profile_count(p, e);
	if (!rc && !counted)
		rc = us_profile_count_lines(p, e);
	if (!rc && !counted)
		us_profile_add_idle(p);
	return rc;
}

static int make_all(const struct us_profile_source *s, const char *const *name,
		    size_t n, const struct us_profile_opts *o, struct us_profile **ret,
		    struct us_err *e)
{
	struct us_err sink;
	struct us_profile *p = calloc(1, sizeof(*p));
	if (!p)
		return us_fail(e, -ENOMEM, "report: out of memory");
	e = e ? e : &sink;
	if (o)
		p->opts = *o;
	p->waits.shown = p->opts.waits;
	int rc = us_profile_begin_files(p, name, n, e);
	if (!rc)
		rc = prepare(p, s[0].naming, e);
	if (!rc)
		rc = read_recordings(p, s, n, e);
	if (!rc)
		rc = us_profile_name_filters(p, e);
	if (!rc)
		rc = evaluate(p, e);
	if (rc) {
		us_profile_free(p);
		return rc;
	}
	us_profile_warn_of_quality(p);
	p->opts = (struct us_profile_opts){ .part = p->opts.part,
					    .waits = p->opts.waits };
	*ret = p;
	return 0;
}

int us_profile_make(const struct us_profile_source *s, const struct us_profile_opts *o,
		    struct us_profile **ret, struct us_err *e)
{
	static const char *const unnamed = "";
	return make_all(s, &unnamed, 1, o, ret, e);
}

/* A file, or a copy of a pipe in a file so that it can be read twice. */
struct twice {
	int fd, copy; /* -1: none */
	off_t at;     /* where it begins; negative: fd is a pipe */
	bool again;
};

static int keep_pipe(struct twice *t, struct us_err *e)
{
	t->copy = open(P_tmpdir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (t->copy < 0)
		t->copy = memfd_create("recording", MFD_CLOEXEC);
	return t->copy < 0 ? us_fail(e, -errno, "keep the recording in a file: %s",
				     strerror(errno))
			   : 0;
}

static int play_file(void *ctx, const struct us_reader_ops *ops, void *ops_ctx,
		     struct us_reader_result *ret, struct us_err *e)
{
	struct twice *t = ctx;
	int from = t->copy < 0 ? t->fd : t->copy;
	if (!t->again) {
		t->again = true;
		return us_read_copy(t->fd, t->copy, ops, ops_ctx, ret, e);
	}
	if (lseek(from, t->at < 0 ? 0 : t->at, SEEK_SET) < 0)
		return us_fail(e, -errno, "read the recording again: %s",
			       strerror(errno));
	return us_read(from, ops, ops_ctx, ret, e);
}

/* The files, each of which is read twice. */
struct files {
	struct twice *twice;
	struct us_profile_source *source;
	const char **name;
	size_t n;
};

static void files_fini(struct files *f)
{
	for (size_t i = 0; f->twice && i < f->n; i++)
		us_closep(&f->twice[i].copy);
	free(f->twice);
	free(f->source);
	free(f->name);
}

static int files_init(struct files *f, const struct us_profile_input *in, size_t n,
		      struct us_err *e)
{
	*f = (struct files){ calloc(n, sizeof(*f->twice)),
			     calloc(n, sizeof(*f->source)), calloc(n, sizeof(*f->name)),
			     0 };
	if (!f->twice || !f->source || !f->name) {
		us_fail(e, -ENOMEM, "report: out of memory");
		return -ENOMEM;
	}
	f->n = n;
	for (size_t i = 0; i < n; i++) {
		f->twice[i] = (struct twice){ .fd = in[i].fd,
					      .copy = -1,
					      .at = lseek(in[i].fd, 0, SEEK_CUR) };
		f->source[i] = (struct us_profile_source){ .play = play_file,
							   .ctx = &f->twice[i] };
		f->name[i] = in[i].name ? in[i].name : "";
	}
	int rc = 0;
	for (size_t i = 0; i < n && !rc; i++)
		rc = f->twice[i].at < 0 ? keep_pipe(&f->twice[i], e) : 0;
	return rc;
}

int us_profile_read_all(const struct us_profile_input *in, size_t n,
			const struct us_profile_opts *o, struct us_profile **ret,
			struct us_err *e)
{
	struct files f;
	int rc = files_init(&f, in, n, e);
	if (!rc)
		rc = make_all(f.source, f.name, n, o, ret, e);
	files_fini(&f);
	return rc;
}

int us_profile_read(int fd, const struct us_profile_opts *o, struct us_profile **ret,
		    struct us_err *e)
{
	return us_profile_read_all(&(struct us_profile_input){ "", fd }, 1, o, ret, e);
}
