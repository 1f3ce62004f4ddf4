/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/record/one.c: see cmd/record/one.h. */
#include "cmd/record/one.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "cmd/record/budget.h"
#include "cmd/record/facts.h"
#include "cmd/record/image_names.h"
#include "cmd/trace/functions.h"
#include "cmd/trace/layers.h"
#include "cmd/rights.h"
#include "record/record.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_RING (256U << 10)
#define MOST_RING  (4U << 20)

/* What the host does for the guest: its kernel and the VMM. */
static int attach_host(struct us_recording *r, struct us_err *e)
{
	const struct us_guest *g = r->found.target.guest;
	if (!r->set->schedule.host)
		return 0;
	if (!(r->backend->caps & US_CAP_HOST) || !g) {
		us_fail(e, -EOPNOTSUPP, "backend %s does not report what the host does",
			r->backend->ops->name);
		us_hint(e, "--backend bpf does, for guests of KVM on this host");
		return -EOPNOTSUPP;
	}
	return us_host_stacks_open(g->pid, &r->set->symbols.dirs, &r->host,
				   r->host_note, sizeof(r->host_note), e);
}

static bool tells_functions(const struct us_recording *r)
{
	return r->backend->caps & US_CAP_FUNCTIONS;
}

/* No budget for a backend that reports functions: its cost is not in the samples. */
static uint32_t choose_budget(const struct us_recording *r)
{
	if (tells_functions(r))
		return 0;
	return r->set->budget_given ? r->set->schedule.budget_ppm
				    : us_budget_default_ppm(r->backend->accel);
}

static int check_tasks(const struct us_recording *r, struct us_err *e)
{
	if (r->set->tasks_hz <= 0 || !tells_functions(r))
		return 0;
	us_fail(e, -EOPNOTSUPP, "--tasks: backend %s does not read the guest's memory",
		r->backend->ops->name);
	us_hint(e, "--backend gdb or qmp does");
	return -EOPNOTSUPP;
}

/* Before the file of an earlier recording is replaced. */
static int check_vcpus(const struct us_recording *r, struct us_err *e)
{
	unsigned n = r->backend->n_vcpu;
	if (!n || us_summary_vcpus(&r->set->schedule, r->backend))
		return 0;
	us_fail(e, -EINVAL,
		"--vcpu: the guest has %u vCPU%s, and none of them is chosen", n,
		n == 1 ? "" : "s");
	us_hint(e, n == 1 ? "it has vCPU 0" : "it has vCPUs 0 to %u", n - 1);
	return -EINVAL;
}

int us_recording_attach(struct us_recording *r, struct us_err *e)
{
	const struct us_record_settings *s = r->set;
	const struct us_guest *g = r->found.target.guest;
	int ret = us_images_open(&r->images, &s->symbols, g, e);
	if (ret == 0)
		ret = us_backend_open(&r->found.target, s->backend, &r->backend, r->why,
				      sizeof(r->why), e);
	if (ret == 0)
		ret = us_images_check_arch(&r->images, r->backend->arch, e);
	if (ret == 0 && tells_functions(r)) {
		us_layers_choose(&r->images);
		ret = us_layers_check(&r->images, r->backend->layers, e);
	}
	if (ret < 0)
		return ret;
	ret = check_tasks(r, e);
	if (ret == 0)
		ret = check_vcpus(r, e);
	if (ret < 0)
		return ret;
	r->budget_ppm = choose_budget(r);
	/* No map yet: it is used once the image was seen in the guest's memory. */
	ret = us_unwinder_new(r->backend->arch, NULL, NULL, &r->unwinder);
	if (ret < 0)
		return us_fail(e, ret, "out of memory for the unwinder");
	r->images.unwinder = r->unwinder;
	return attach_host(r, e);
}

static int write_modules(struct us_recording *r, struct us_err *e)
{
	struct us_place place[US_MAX_PLACES];
	size_t n = us_images_places(&r->images, place);
	int ret = 0;
	for (size_t i = 0; ret == 0 && i < n; i++) {
		struct us_module m;
		if (!us_images_counts(&r->images, &place[i]))
			continue;
		us_images_module(&r->images, &place[i], i, &m);
		ret = us_writer_module(r->writer, &m, e);
	}
	return ret;
}

static const char *resolution(const struct us_backend *b)
{
	return b->caps & US_CAP_FUNCTIONS ? "function"
	       : b->caps & US_CAP_BLOCKS  ? "block"
					  : "";
}

/* What a reader should know about this recording, as names and texts. */
static int write_facts(struct us_recording *r, struct us_err *e)
{
	const struct us_record_settings *s = r->set;
	const struct us_guest *g = r->found.target.guest;
	struct us_common_facts common;
	char hz[32], seed[32], budget[32], vcpus[16], pid[16], tasks[32] = "";
	char warning[512];
	us_common_facts(&common, s->argv);
	us_backend_warning(r->backend, warning, sizeof(warning));
	snprintf(hz, sizeof(hz), "%g", s->schedule.hz);
	snprintf(seed, sizeof(seed), "%" PRIu64, s->schedule.seed);
	if (s->tasks_hz > 0)
		snprintf(tasks, sizeof(tasks), "%g", s->tasks_hz);
	snprintf(budget, sizeof(budget), "%g", r->budget_ppm / 1e4);
	snprintf(vcpus, sizeof(vcpus), "%u", r->backend->n_vcpu);
	snprintf(pid, sizeof(pid), "%d", g ? (int)g->pid : 0);
	const struct {
		const char *key, *value;
	} facts[] = {
		{ "target", s->launch || !s->argc ? r->found.text : s->argv[0] },
		{ "command", common.command },
		{ "backend", r->backend->ops->name },
		{ "why", r->why },
		{ "how", r->backend->how },
		{ "caution", warning },
		{ "resolution", resolution(r->backend) },
		{ "hz", hz },
		{ "tasks_hz", tasks },
		{ "seed", seed },
		{ "budget_percent", budget },
		{ "vcpus", vcpus },
		{ "pid", pid },
		{ "vmm", g ? g->vmm : "" },
		{ "accel", g ? us_accel_name(g->accel) : "" },
		{ "guest", g ? g->name : "" },
		{ "kernel", g ? g->kernel : "" },
		{ "arch", us_arch_name(r->backend->arch) },
		{ "host", common.host },
		{ "started", common.started },
		{ "version", US_VERSION },
	};
	int ret = 0;
	for (size_t i = 0; ret == 0 && i < sizeof(facts) / sizeof(facts[0]); i++)
		if (facts[i].value[0])
			ret = us_writer_fact(r->writer, facts[i].key, facts[i].value,
					     e);
	return ret;
}

static int begin_file(struct us_recording *r, struct us_err *e)
{
	r->vcpus_written = r->backend->n_vcpu;
	int ret = us_writer_open(r->output.fd, &r->writer, e);
	if (ret == 0 && r->host)
		us_writer_name_host_by(
			r->writer, &(struct us_namer){ us_host_stacks_name, r->host });
	if (ret == 0 && tells_functions(r))
		us_functions_name(r->writer);
	if (ret == 0)
		ret = write_facts(r, e);
	if (ret == 0)
		ret = write_modules(r, e);
	if (ret == 0)
		ret = us_writer_flush(r->writer, e);
	return ret < 0 ? us_wrap(e, "write %s", us_output_shown(&r->output)) : 0;
}

/* Find a Linux kernel in the guest; without one the file says why names are missing. */
static int find_kernel(struct us_recording *r, struct us_err *e)
{
	if (tells_functions(r))
		return r->images.note[0] ? us_writer_fact(r->writer, "symbols_note",
							  r->images.note, e)
					 : 0;
	int ret = us_kernel_open(&r->kernel, &r->images, r->backend, e);
	if (ret < 0)
		return ret;
	us_waits_want(&r->kernel.waits, r->set->tasks_hz, r->set->schedule.seed);
	r->kernel.processes.programs.dirs = &r->set->symbols.dirs;
	atomic_store(&r->kernel.processes.wanted, true);
	us_writer_see_programs(
		r->writer, &(struct us_program_seer){ us_programs_see,
						      &r->kernel.processes.programs });
	if (!r->launch && !r->from_start) /* otherwise record its start, too */
		(void)us_kernel_attach(&r->kernel, r->backend,
				       r->set->schedule.vcpu_mask);
	if (us_kernel_linux(&r->kernel) || !r->images.note[0])
		return 0;
	return us_writer_fact(r->writer, "symbols_note", r->images.note, e);
}

static void see_sample(void *ctx, const struct us_live_sample *l)
{
	struct us_recording *r = ctx;
	if (!r->first_ns)
		r->first_ns = us_now_ns();
	r->images.hasty = l->warm_up;
	us_code_bits_add(&r->code_bits, &l->capture->regs, l->stack->end);
	us_images_sample(&r->images, l);
	us_kernel_sample(&r->kernel, l);
	if (r->see)
		r->see(r->see_ctx, l);
}

/* Sums, and progress() with them, come only after the warm-up: until then stacks would
 * be cut, and short recordings have no names. */
static void search_early(void *ctx)
{
	struct us_recording *r = ctx;
	if (atomic_load_explicit(&r->images.search.state, memory_order_acquire) !=
	    US_SEARCH_RUN)
		return;
	us_backend_let_go(r->backend);
	us_images_search(&r->images);
}

static uint64_t find_task(void *ctx, const struct us_live_sample *l)
{
	struct us_recording *r = ctx;
	return us_kernel_task(&r->kernel, l);
}

static size_t take_host(void *ctx, struct us_host_copy *c,
			us_hva pc[US_MAX_HOST_FRAMES])
{
	struct us_recording *r = ctx;
	return us_host_stacks_take(r->host, c, pc);
}

/* Write vCPUs that were plugged in since. */
static void write_vcpus(struct us_recording *r)
{
	unsigned n = __atomic_load_n(&r->backend->n_vcpu, __ATOMIC_RELAXED);
	char text[16];
	if (n == r->vcpus_written)
		return;
	snprintf(text, sizeof(text), "%u", n);
	if (us_writer_fact(r->writer, "vcpus", text, NULL) == 0)
		r->vcpus_written = n;
}

static void write_changed_image(struct us_recording *r)
{
	char text[800];
	if (r->changed_written || !us_images_changed(&r->images, text, sizeof(text)))
		return;
	r->changed_written = !us_writer_fact(r->writer, "image_changed", text, NULL);
}

static void write_missed_image(struct us_recording *r)
{
	char text[800];
	if (us_images_missed(&r->images, text, sizeof(text)))
		(void)!us_writer_fact(r->writer, "image_missed", text, NULL);
}

/* How many threads of the VMM are named for a vCPU; 0: not known. */
static unsigned count_vcpu_threads(const struct us_recording *r)
{
	if (r->found.target.guest != &r->found.guest || !r->found.guest.pid)
		return 0;
	struct us_guest *now = calloc(1, sizeof(*now));
	struct us_err e;
	unsigned n = 0;
	if (now && us_guest_inspect(r->found.guest.pid, now, &e) == 0)
		n = now->n_vcpu;
	free(now);
	return n;
}

static bool threads_came(const struct us_recording *r)
{
	unsigned now = count_vcpu_threads(r);
	return r->vcpu_threads && now > r->vcpu_threads && now > r->backend->n_vcpu;
}

/* QEMU with TCG names its threads only if it was started so; and a guest behind a
 * socket may run on another host. */
static bool asked_late_vcpus(const struct us_recording *r)
{
	const struct us_backend_ops *ops = r->backend->ops;
	return ops->late_vcpus && ops->late_vcpus(r->backend);
}

/* Most backends sample the vCPUs that were there when they attached. */
static void tell_late_vcpus(struct us_recording *r)
{
	struct us_limits *l = &r->summary.limits;
	unsigned had = r->backend->n_vcpu;
	char text[64];
	if (!asked_late_vcpus(r) && !threads_came(r))
		return;
	us_limit_reached(l, US_LIMIT_VCPUS, had);
	us_limit_value(l, US_LIMIT_VCPUS, text, sizeof(text));
	(void)!us_writer_fact(r->writer, us_limit_key(US_LIMIT_VCPUS), text, NULL);
}

/* In the writer's thread, so it may take its time, and write what the sampler found. */
static void progress(void *ctx, const struct us_record_stats *s)
{
	struct us_recording *r = ctx;
	if (tells_functions(r))
		us_functions_judge(r->backend, &r->images);
	else
		us_images_search(&r->images);
	unsigned changes = atomic_load_explicit(&r->images.changes,
						memory_order_acquire);
	if (changes != r->changes_written) {
		r->changes_written = changes;
		(void)write_modules(r, NULL); /* a full disk shows at the next flush */
	}
	write_vcpus(r);
	write_changed_image(r);
	(void)!us_code_bits_write(&r->code_bits, r->writer, NULL);
	if (!tells_functions(r))
		(void)us_kernel_write(&r->kernel, r->writer);
	if (r->sums)
		r->sums(r->sums_ctx, s);
	else
		us_progress_show(&r->progress, s);
}

/* The report warns of these addresses by name: of functions that no sample may be in,
 * for that is the point. */
static void name_gathers(struct us_recording *r, const char *text)
{
	for (const char *at = strchr(text, ';'); at; at = strchr(at + 1, ';'))
		us_writer_name_also(r->writer, strtoull(at + 1, NULL, 16));
}

/* The sampler has ended: its backend may be asked. */
static void write_gathers(struct us_recording *r)
{
	char text[2048] = "";
	if (r->backend->ops->gathers)
		r->backend->ops->gathers(r->backend, text, sizeof(text));
	if (text[0])
		(void)!us_writer_fact(r->writer, "stops_gather", text, NULL);
	name_gathers(r, text);
}

/* Only what was executed shows that the image has moved. */
static void write_slide(struct us_recording *r)
{
	char warning[512], text[sizeof(r->slide) + sizeof(warning) + 2];
	us_functions_tell_slide(r->backend, r->slide, sizeof(r->slide));
	if (!r->slide[0])
		return;
	us_backend_warning(r->backend, warning, sizeof(warning));
	snprintf(text, sizeof(text), "%s%s%s", r->slide, warning[0] ? ". " : "",
		 warning);
	(void)!us_writer_fact(r->writer, "caution", text, NULL);
}

/* Write why no task was read. */
static void write_no_tasks(struct us_recording *r)
{
	const char *why = us_kernel_no_tasks(&r->kernel);
	if (r->summary.waits.looks)
		return;
	r->summary.no_tasks = why ? why : "the recording was over before that";
	(void)!us_writer_fact(r->writer, "tasks_note", r->summary.no_tasks, NULL);
}

static void tell_scans(struct us_recording *r)
{
	struct us_processes *p = &r->kernel.processes;
	us_processes_stats(p, &r->summary.scans);
	us_limits_copy(&r->summary.limits, &p->programs.limits);
}

/* A short recording may be over before the guest's kernel was read. */
static void finish(void *ctx)
{
	struct us_recording *r = ctx;
	if (!tells_functions(r)) {
		us_progress_wait(&r->progress,
				 "sampling has ended; reading the rest of "
				 "the guest's kernel and programs");
		us_kernel_wait(&r->kernel);
		/* For the programs of the last samples, which are read once more. */
		(void)!us_writer_flush(r->writer, NULL);
		us_kernel_finish(&r->kernel);
		/* What it reads later would be reported and not be in the file. */
		us_kernel_stop(&r->kernel);
		(void)us_kernel_write(&r->kernel, r->writer);
	}
	if (!tells_functions(r))
		tell_scans(r);
	tell_late_vcpus(r);
	if (r->set->tasks_hz > 0) {
		us_waits_stats(&r->kernel.waits, &r->summary.waits);
		write_no_tasks(r);
	}
	write_changed_image(r);
	write_missed_image(r);
	write_gathers(r);
	write_slide(r);
	/* First the kernel's names for the last samples. */
	if (!us_writer_flush(r->writer, NULL))
		(void)!us_images_write_names(&r->images, r->writer, NULL);
	if (r->finish)
		r->finish(r->finish_ctx, r->writer);
}

int us_recording_begin(struct us_recording *r, struct us_err *e)
{
	/* Not permitted later, in another user's folder. */
	int ret = us_output_keep(&r->output, e);
	if (ret < 0)
		return ret;
	/* This thread must take these samples when they are due: nothing buffers them
	 * for it. */
	if (!(r->backend->caps & US_CAP_NO_STOP) || tells_functions(r))
		us_rights_prefer_thread();
	us_rights_drop(r->backend);
	r->vcpu_threads = count_vcpu_threads(r);
	/* The backend may have missed vCPUs that came while it attached. */
	if (r->vcpu_threads > r->found.guest.n_vcpu)
		r->vcpu_threads = r->found.guest.n_vcpu;
	ret = begin_file(r, e);
	return ret == 0 ? find_kernel(r, e) : ret;
}

/* Twice what the longest stacks need while the writer sleeps. */
static size_t ring_bytes(const struct us_recording *r)
{
	const struct us_schedule *s = &r->set->schedule;
	double samples = s->hz * r->backend->n_vcpu * (double)s->pause_ns / 1e9;
	double bytes = 2 * samples * US_MAX_FRAMES * (sizeof(us_gva) + 1);
	if (!s->pause_ns || bytes > MOST_RING)
		return MOST_RING;
	return bytes < LEAST_RING ? LEAST_RING : (size_t)bytes;
}

int us_recording_sample(struct us_recording *r, struct us_err *e)
{
	struct us_record_opts o = {
		.schedule = r->set->schedule,
		.duration_ns = r->duration_ns,
		.stop = r->stop,
		.ring_bytes = ring_bytes(r),
		.warm_up = !r->launch &&
			   !r->from_start, /* otherwise record its start, too */
		.sample = see_sample,
		.search = search_early,
		.task = find_task,
		.host = r->host ? take_host : NULL,
		.progress = progress,
		.finish = finish,
		.ctx = r,
	};
	struct us_summary *s = &r->summary;
	o.schedule.budget_ppm = r->budget_ppm;
	if (!r->sums)
		us_progress_begin(&r->progress, r->found.text, r->duration_ns);
	int ret = us_record(r->backend, r->unwinder, r->writer, &o, &s->stats, &s->end,
			    e);
	us_progress_end(&r->progress);
	snprintf(r->end_words, sizeof(r->end_words), "%s", ret == 0 ? e->msg : "");
	*s = (struct us_summary){ .path = r->output.path,
				  .backend = r->backend->ops->name,
				  .hz = o.schedule.hz,
				  .budget_ppm = o.schedule.budget_ppm,
				  .n_vcpu = us_summary_vcpus(&o.schedule, r->backend),
				  .bytes = us_writer_bytes(r->writer),
				  .end = s->end,
				  .words = r->end_words,
				  .attach_ns = r->first_ns ? r->first_ns - r->begin_ns
							   : 0,
				  .tasks_hz = r->set->tasks_hz,
				  .waits = s->waits,
				  .no_tasks = s->no_tasks,
				  .scans = s->scans,
				  .limits = s->limits,
				  .stats = s->stats };
	if (ret < 0)
		us_output_cut(&r->output, us_writer_good_bytes(r->writer));
	/* Detach from the guest before doing anything slow with the recording. */
	us_kernel_stop(&r->kernel);
	us_backend_close(us_take(r->backend));
	return ret;
}

void us_recording_tell_start(const struct us_recording *r)
{
	if (r->set->json)
		return;
	fprintf(stderr, "recording %s by %s\n", r->found.text, r->why);
	const char *why = us_budget_why(r->backend->accel);
	if (!r->set->budget_given && why && r->budget_ppm)
		fprintf(stderr,
			"budget: up to %g %% of the guest's time, since %s (--budget "
			"PERCENT)\n",
			r->budget_ppm / 1e4, why);
	char warning[512];
	us_backend_warning(r->backend, warning, sizeof(warning));
	if (warning[0])
		fprintf(stderr, "caution: %s\n", warning);
	if (r->host_note[0])
		fprintf(stderr, "note: %s\n", r->host_note);
}

void us_recording_tell_names(struct us_recording *r, FILE *out)
{
	const struct us_linux *tables = us_kernel_linux(&r->kernel);
	char text[256];
	if (r->set->json || (tables && tables == r->tables_told))
		return;
	if (tables) {
		us_linux_describe(tables, text, sizeof(text));
		fprintf(out, "note: %s\n", text);
	} else if (r->images.note[0] && !r->names_told) {
		fprintf(out, "note: %s\n", r->images.note);
	}
	r->tables_told = tables;
	r->names_told = true;
}

void us_recording_tell_end(struct us_recording *r)
{
	FILE *out = r->output.is_stdout ? stderr : stdout;
	us_images_tell(&r->images, stderr);
	us_recording_tell_names(r, stderr);
	if (r->slide[0])
		fprintf(stderr, "caution: %s\n", r->slide);
	if (r->set->json)
		us_summary_json(&r->summary, out);
	else
		us_summary_print(&r->summary, out);
}

void us_recording_close(struct us_recording *r)
{
	us_kernel_stop(&r->kernel);
	us_backend_close(r->backend);
	us_kernel_close(&r->kernel);
	us_writer_close(r->writer);
	us_unwinder_free(r->unwinder);
	us_host_stacks_close(r->host);
	us_images_fini(&r->images);
	us_launch_close(r->launch);
}
