/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile/read.c: from the bytes of a recording to the profile. */
#include "profile/profile_priv.h"

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

/* Numbers are dense: the reader has checked it. */
static int on_stack(void *ctx, us_stack_id id, us_stack_id parent, us_gva pc,
		    uint8_t flags)
{
	struct us_profile *p = ctx;
	return id == p->trie.numbers.n ? us_trie_add(&p->trie, parent, pc, flags)
				       : -EBADMSG;
}

static bool is_wanted(const struct us_profile *p, const struct us_sample *s)
{
	const struct us_profile_opts *o = &p->opts;
	if (o->vcpu_mask && (s->vcpu > 63 || !(o->vcpu_mask >> s->vcpu & 1)))
		return false;
	uint64_t end = o->to_ns ? o->to_ns : us_profile_phases_end(p);
	return s->t_ns >= o->from_ns && (!end || s->t_ns < end) &&
	       !p->file[p->file_now].left_out;
}

/* To what is kept sample by sample. */
static int add_one(struct us_profile *p, const struct us_sample *s, uint32_t key)
{
	int rc = p->timeline ? us_profile_add_to_timeline(p, s, key) : 0;
	if (rc)
		return rc;
	if (p->opts.by_time) {
		uint32_t lane = us_profile_lane(p, s->vcpu);
		if (lane == US_PROFILE_NONE ||
		    us_moments_add(&p->moments,
				   &(struct us_moment){ s->t_ns, key, s->weight,
							(uint16_t)lane }))
			return -ENOMEM;
	}
	return us_stretches_add(&p->stretches,
				&(struct us_stretch_sample){ s->t_ns, key, s->vcpu });
}

static int count_running(struct us_profile *p, const struct us_sample *s)
{
	static const uint8_t kind[US_N_VCPU_STATE] = {
		[US_VCPU_GUEST] = US_KIND_GUEST,
		[US_VCPU_EXIT] = US_KIND_EXIT,
		[US_VCPU_READY] = US_KIND_READY,
	};
	struct us_profile_summary *sum = &p->sum;
	uint32_t stack = us_trie_node_of(&p->trie, s->stack);
	if (stack != US_TRIE_NONE)
		stack = us_profile_stack_at(p, stack, s->t_ns - p->shift_ns);
	if (stack != US_TRIE_NONE && s->host && s->state == US_VCPU_EXIT)
		stack = us_profile_with_host(p, stack, s->host);
	if (stack >= US_STRETCH_OFF / US_N_KIND)
		return -EBADMSG;
	sum->running += s->weight;
	p->recording[p->file_now].running += s->weight;
	if (s->state == US_VCPU_EXIT)
		sum->exit += s->weight;
	if (s->state == US_VCPU_READY)
		sum->ready += s->weight;
	uint32_t key = stack * US_N_KIND + kind[s->state];
	if (s->end != US_END_ROOT) {
		uint32_t *ends = us_pair_map_at(&p->key_ends, key, s->end);
		if (!ends)
			return -ENOMEM;
		*ends += s->weight;
	}
	if (p->opts.by_vcpu &&
	    us_profile_add_vcpu(p, key, us_profile_lane(p, s->vcpu), s->weight))
		return -ENOMEM;
	sum->ends[s->end] += s->weight;
	/* What stood in an exit, or waited, did so all the time that it stands for. */
	bool is_point = s->state == US_VCPU_GUEST;
	p->sum_weight_squares += (double)s->weight * (is_point ? s->weight : 1);
	int rc = add_one(p, s, key);
	return rc ? rc
		  : us_slices_add(&p->running, key, s->t_ns - p->opts.from_ns,
				  s->weight);
}

/* Those before it of its vCPU whose stack is not known have this one, or none. */
static int place_late(struct us_profile *p, const struct us_sample *s)
{
	struct us_sample x;
	double placed = 0;
	int rc = 0;
	while (!rc && us_late_take(&p->late, s->vcpu, &x)) {
		if (s->t_ns - x.t_ns < US_LATE_NS) {
			x.stack = s->stack;
			x.end = s->end;
			p->sum.late += x.weight;
			placed += x.weight;
		}
		rc = count_running(p, &x);
	}
	/* They are one observation together. */
	p->sum_weight_squares += placed * (placed + s->weight);
	return rc;
}

static int add_running(struct us_profile *p, const struct us_sample *s)
{
	bool no_stack = us_trie_node_of(&p->trie, s->stack) == 0;
	if (s->state != US_VCPU_GUEST)
		return count_running(p, s);
	if (no_stack && us_late_keep(&p->late, s))
		return 0;
	int rc = no_stack || !p->late.n ? 0 : place_late(p, s);
	return rc ? rc : count_running(p, s);
}

static int add_late(struct us_profile *p)
{
	struct us_sample x;
	int rc = 0;
	while (!rc && us_late_take(&p->late, UINT16_MAX, &x))
		rc = count_running(p, &x);
	return rc;
}

static int add_idle(struct us_profile *p, const struct us_sample *s)
{
	p->sum.idle += s->weight;
	p->recording[p->file_now].idle += s->weight;
	if (p->opts.by_vcpu) {
		uint32_t lane = us_profile_lane(p, s->vcpu);
		if (lane == US_PROFILE_NONE)
			return -ENOMEM;
		p->lanes.v[lane].idle += s->weight;
	}
	return add_one(p, s, US_STRETCH_IDLE);
}

static int add_sample(struct us_profile *p, struct us_sample *s)
{
	struct us_profile_summary *sum = &p->sum;
	if (s->t_ns > p->last_t)
		p->last_t = s->t_ns;
	if (!is_wanted(p, s))
		return 0;
	p->file[p->file_now].sampled = true;
	s->t_ns += p->shift_ns;
	if (sum->first_ns > s->t_ns)
		sum->first_ns = s->t_ns;
	if (sum->last_ns < s->t_ns)
		sum->last_ns = s->t_ns;
	sum->vcpu_mask |= 1ULL << (s->vcpu > 63 ? 63 : s->vcpu);
	if (s->state == US_VCPU_OFF || s->state >= US_N_VCPU_STATE) {
		sum->off += s->weight;
		return add_one(p, s, US_STRETCH_OFF);
	}
	bool idle = s->state == US_VCPU_HALTED;
	int rc = idle ? add_idle(p, s) : add_running(p, s);
	return rc ? rc
		  : us_slices_add(&p->idle, idle, s->t_ns - p->opts.from_ns, s->weight);
}

static int add_pending(struct us_profile *p)
{
	int rc = 0;
	for (unsigned i = 0; i < p->n_pending && !rc; i++)
		rc = add_sample(p, &p->pending[i]);
	p->n_pending = 0;
	return rc;
}

static int on_sample(void *ctx, const struct us_sample *s)
{
	struct us_profile *p = ctx;
	if (p->opts.waits)
		return 0;
	if (s->stack < p->trie.numbers.n)
		__builtin_prefetch(&p->trie.numbers.v[s->stack]);
	p->pending[p->n_pending++] = *s;
	return p->n_pending == US_SLICES_QUEUE ? add_pending(p) : 0;
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
			return 0; /* has been told */
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

static int on_early_name(void *ctx, const struct us_named *n)
{
	us_profile_hash_name(ctx, n);
	return 0;
}

/* The images first, and the phases: what a sample is called depends on what is said
 * later. */
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
		.sample = on_sample,
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
	rc = add_pending(p);
	if (!rc)
		rc = add_late(p);
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
	p->sum.slices = p->running.n;
	p->sum.slice_ns = p->running.width_ns;
	return us_profile_join_files(p, e);
}

/* Which of them, where there are several. */
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
	if (!rc && us_profile_cut_time(p))
		rc = us_fail(e, -ENOMEM, "report: out of memory");
	for (size_t i = 0; i < n && !rc; i++) {
		us_profile_begin_file(p, i);
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

/* What was read, with names and figures. */
static int evaluate(struct us_profile *p, struct us_err *e)
{
	bool counted = us_profile_is_counted(p);
	us_naming_settle(p->naming);
	int rc = us_profile_open_modules(p, e);
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

/* A file, or a pipe that is kept in one to be read twice. */
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

/* What reads each of them twice. */
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
	for (; f->n < n; f->n++) {
		struct twice *t = &f->twice[f->n];
		*t = (struct twice){ .fd = in[f->n].fd,
				     .copy = -1,
				     .at = lseek(in[f->n].fd, 0, SEEK_CUR) };
		f->source[f->n] = (struct us_profile_source){ .play = play_file,
							      .ctx = t };
		f->name[f->n] = in[f->n].name ? in[f->n].name : "";
		int rc = t->at < 0 ? keep_pipe(t, e) : 0;
		if (rc)
			return rc;
	}
	return 0;
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
