/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/boot/variant.c: see cmd/boot/variant.h. */
#include "cmd/boot/variant.h"

#include "boot/linux_file.h"
#include "cmd/boot/virtio.h"
#include "cmd/boot/first.h"
#include "cmd/boot/late.h"
#include "cmd/boot/samples.h"
#include "cmd/boot/unfinished.h"
#include "cmd/boot/ways.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "vmm/cmdline.h"
#include "vmm/loader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINGER (500 * US_NS_PER_MS)
#define SEARCH (2 * US_NS_PER_SEC) /* for the first function, from the entry on */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* ---- The command ---- */

bool us_boot_variant_has(char *const *argv, const char *const *options)
{
	for (; *argv; argv++)
		for (const char *const *o = options; *o; o++)
			if ((*argv)[0] == '-' &&
			    !strcmp(*argv + 1 + ((*argv)[1] == '-'), *o))
				return true;
	return false;
}

/* Does an option's value have this part, as in mon:stdio or stdio,id=x? */
static bool has_part(char *const *argv, const char *part)
{
	static const char between[] = ",:=";
	for (; *argv; argv++)
		for (const char *at = *argv; *at; at += strspn(at, between)) {
			size_t n = strcspn(at, between);
			if (n == strlen(part) && !memcmp(at, part, n))
				return true;
			at += n;
		}
	return false;
}

/* Does the command say where the serial port is, or use the standard output for
 * something else? */
static bool is_decided(char *const *argv)
{
	static const char *const decided[] = { "serial", "nographic", "nodefaults",
					       NULL };
	return us_boot_variant_has(argv, decided) || has_part(argv, "stdio") ||
	       has_part(argv, "isa-serial");
}

/* Is nothing of QEMU's guest connected to the standard output?  A monitor is no part of
 * the guest. */
static bool is_elsewhere(char *const *argv)
{
	static const char *const monitors[] = { "monitor", "mon", "qmp", "qmp-pretty",
						NULL };
	static const char *const serial[] = { "serial", NULL };
	static const char *const by_itself[] = { "nographic", "semihosting",
						 "semihosting-config", NULL };
	if (!is_decided(argv))
		return false;
	for (size_t i = 1; argv[0] && argv[i]; i++) {
		char *const option[] = { argv[i - 1], NULL };
		char *const value[] = { argv[i], NULL };
		if (has_part(value, "stdio") && !us_boot_variant_has(option, monitors))
			return false;
	}
	return us_boot_variant_has(argv, serial) ||
	       !us_boot_variant_has(argv, by_itself);
}

/* The points are addresses, registers and code of processors that uniscope knows; what
 * a guest writes is the same for all. */
static int check_processor(struct us_boot_variant *v, const char *program,
			   const char *cpu, struct us_err *e)
{
	char processor[16];
	us_qemu_processor(program, cpu, processor, sizeof(processor));
	v->is_pc = !processor[0] || !strcmp(processor, "x86_64") ||
		   !strcmp(processor, "i386");
	if ((v->by && !strcmp(v->by, "output")) ||
	    us_backend_check_processor(processor, e) == 0)
		return 0;
	us_hint(e, "--by output shows what the guest writes, whatever its processor");
	return us_wrap(e, "boot");
}

/* Refuse what nothing can come of, before a boot is waited for. */
static int check_command(struct us_boot_variant *v, char *const *argv, struct us_err *e)
{
	static const char *const leaves[] = { "daemonize", NULL };
	_cleanup_free_ struct us_cmdline *line = calloc(1, sizeof(*line));
	unsigned argc = 0;
	if (us_boot_variant_has(v->asked.argv, leaves))
		return us_fail(
			e, -EINVAL,
			"boot: with -daemonize %s cannot be watched: leave it out",
			v->vmm);
	if (!line)
		return us_fail(e, -ENOMEM, "out of memory");
	while (argv[argc])
		argc++;
	(void)!us_cmdline_parse(v->vmm, argc, (const char *const *)argv, line);
	if (line->stopped)
		return us_fail(e, -EINVAL,
			       "boot: with -S the guest waits for a debugger: "
			       "leave it out");
	v->is_pc = true; /* of what is no QEMU it is not known */
	return strcmp(v->vmm, "qemu") != 0 ? 0
					   : check_processor(v, argv[0], line->cpu, e);
}

/* QEMU shows the serial port in a window unless an option says otherwise. */
static int make_plain(struct us_boot_variant *v, struct us_err *e)
{
	char *const *argv = v->asked.argv, *const *program = us_loader_program(argv);
	size_t n = 0;
	while (argv[n])
		n++;
	v->plain = calloc(n + 5, sizeof(*v->plain));
	if (!v->plain)
		return us_fail(e, -ENOMEM, "out of memory");
	memcpy(v->plain, argv, n * sizeof(*argv));
	us_vmm_name(program[0], v->vmm, sizeof(v->vmm));
	int r = check_command(v, program, e);
	if (r < 0 || strcmp(v->vmm, "qemu") != 0)
		return r;
	v->elsewhere = is_elsewhere(program);
	if (!is_decided(argv)) {
		v->plain[n++] = (char *)(uintptr_t) "-serial";
		v->plain[n++] = (char *)(uintptr_t) "stdio";
	}
	us_plugin_run_path(&v->run, "monitor", v->monitor);
	snprintf(v->monitor_word, sizeof(v->monitor_word), "unix:%s,server=on,wait=off",
		 v->monitor);
	v->plain[n++] = (char *)(uintptr_t) "-qmp";
	v->plain[n++] = v->monitor_word;
	return us_boot_virtio_command(v, e);
}

/* Does the command have this word, on its own or as part of one? */
static bool says(char *const *argv, const char *word)
{
	for (; *argv; argv++)
		if (strstr(*argv, word))
			return true;
	return false;
}

/* A kernel packed in a boot image: it has its own symbol table and may move. */
static void open_linux(struct us_boot_variant *v)
{
	struct us_err e = { 0 };
	const char *path = v->run.guest.kernel;
	if (!path[0] || us_boot_linux_open(path, !says(v->plain, "nokaslr"),
					   &v->linux_kernel, &e) < 0)
		return;
	if (us_boot_linux_why(v->linux_kernel)[0] && !us_boot_variant_kernel(v, NULL))
		snprintf(v->first, sizeof(v->first),
			 "no function of %.80s is known: %s", base_name(path),
			 us_boot_linux_why(v->linux_kernel));
}

static bool is_same_file(const char *a, const char *b)
{
	struct stat x, y;
	return a[0] && stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

/*
 * Of several images take the one that the command boots, if it has symbols.  Otherwise
 * take the one with the first function asked for, or with a usual name, since a
 * firmware or a program may be among them.  Otherwise take the first.
 */
static void choose_kernel(struct us_boot_variant *v)
{
	const struct us_images *m = &v->run.images;
	const struct us_elf_image *with = us_boot_image_with(m->symbols, v->until,
							     v->n_until);
	bool named = false;
	v->kernel = m->n;
	for (size_t i = m->n; i-- > 0;) {
		const struct us_image *x = &m->v[i];
		if (x->unproven)
			continue;
		bool booted = x->n_start && is_same_file(v->run.guest.kernel,
							 us_elf_image_path(x->elf));
		if (booted || !named)
			v->kernel = i;
		if (booted)
			return;
		named |= x->elf == with;
	}
}

const struct us_elf_image *us_boot_variant_kernel(const struct us_boot_variant *v,
						  uint64_t *ret_bias)
{
	const struct us_images *m = &v->run.images;
	if (v->kernel == m->n)
		return NULL;
	if (ret_bias)
		*ret_bias = m->v[v->kernel].bias;
	return m->v[v->kernel].elf;
}

static int make_plan(struct us_boot_variant *v, struct us_err *e)
{
	struct us_boot_known first = { 0 };
	int r = 0;
	choose_kernel(v);
	open_linux(v);
	if (!v->n_until)
		r = us_boot_first_find(v, &first, e);
	if (r < 0)
		return r;
	const struct us_boot_names names = {
		.symbols = v->run.images.symbols,
		.kernel = us_boot_variant_kernel(v, NULL),
		.first = first.n_address ? &first : NULL,
		.linux_kernel = v->linux_kernel,
		.no_image = v->run.images.n ? NULL : v->run.images.note,
		.is_pc = v->is_pc,
	};
	r = us_boot_plan_make(&v->plan, v->until, v->n_until, &names, v->way, e);
	us_boot_ways_filter(v, &v->plan);
	if (v->linux_kernel && us_boot_linux_moves(v->linux_kernel) &&
	    !(v->way & US_BOOT_BY_PLUGIN))
		snprintf(
			v->unseen_code, sizeof(v->unseen_code),
			"this Linux loads at a random address (nokaslr prevents that)");
	return r;
}

/* A boot that waits for output of which there will be none ends at its timeout. */
static void warn_of_elsewhere(const struct us_boot_variant *v)
{
	for (size_t i = 0; v->elsewhere && i < v->plan.n; i++) {
		const struct us_boot_point *p = &v->plan.point[i];
		char name[US_BOOT_NAME];
		if (!p->wanted || !us_boot_is_output(p->kind))
			continue;
		fprintf(stderr,
			"uniscope: %s may not be seen; try " US_BOOT_ELSEWHERE "\n",
			us_printable(name, sizeof(name), p->name));
		return;
	}
}

int us_boot_variant_prepare(struct us_boot_variant *v, size_t n, struct us_err *e)
{
	int r = us_plugin_run_prepare(&v->run, &v->asked, e);
	if (r == 0)
		r = make_plain(v, e);
	if (r == 0)
		r = us_boot_ways_choose(v, e);
	if (r < 0)
		return r;
	us_symbols_demangle(v->run.images.symbols, true);
	r = make_plan(v, e);
	if (r == -ENOTSUP)
		us_hint(e, "use --until serial:REGEX, because: %s",
			v->unseen_code[0] ? v->unseen_code : v->unseen);
	if (r == 0)
		warn_of_elsewhere(v);
	v->seen = calloc(n, sizeof(*v->seen));
	if (r == 0 && !v->seen)
		r = us_fail(e, -ENOMEM, "out of memory for %zu runs", n);
	return r;
}

/* ---- A run ---- */

/* Is there any point that stacks can show? */
static bool has_code(const struct us_boot_plan *p)
{
	return us_boot_point_of(p, US_BOOT_ENTRY) != SIZE_MAX ||
	       us_boot_point_of(p, US_BOOT_SYMBOL) != SIZE_MAX;
}

static void unlink_sockets(const struct us_boot_variant *v)
{
	if (v->stub[0])
		unlink(v->stub);
	if (v->monitor[0])
		unlink(v->monitor);
	if (v->trace[0])
		unlink(v->trace);
}

static int boot_sampled(struct us_boot_variant *v, const struct us_boot_plan *plan,
			struct us_boot_how *how,
			const struct us_boot_recorded *recorded,
			struct us_boot_run *ret, struct us_err *e)
{
	char path[US_PLUGIN_PATH];
	struct us_boot_samples *s;
	us_plugin_run_path(&v->run, "samples", path);
	const struct us_boot_sampled what = {
		.plan = plan,
		.code = how->code,
		.symbols = v->run.images.symbols,
		.files = v->asked.symbols,
		.argv = v->asked.argv,
		.monitor = how->stub ? v->monitor : NULL,
		.path = path,
		.finish = recorded ? recorded->finish : NULL,
		.finish_ctx = recorded ? recorded->ctx : NULL
	};
	int r = us_boot_samples_new(&what, &s, e);
	if (r < 0)
		return r;
	how->sampler = us_boot_samples_sampler(s);
	r = us_boot_run(plan, how, ret, e);
	us_boot_samples_free(s);
	if (r == 0 && recorded)
		r = recorded->take(recorded->ctx, path, e);
	unlink(path);
	unlink_sockets(v);
	return r;
}

static struct us_boot_how make_how(struct us_boot_variant *v,
				   const struct us_boot_plan *plan, unsigned ways,
				   const struct us_boot_recorded *recorded)
{
	struct us_boot_how how = {
		.ways = ways,
		.argv = v->plain,
		.monitor = v->monitor[0] ? v->monitor : NULL,
		.timeout_ns = v->timeout_ns,
		.linger_ns = LINGER,
		.stopped = us_plugin_run_is_stopped,
		.late = plan == &v->plan ? us_boot_late : NULL,
		.late_ctx = v,
		.passed = recorded ? recorded->passed : NULL,
		.passed_ctx = recorded ? recorded->ctx : NULL,
		.check = recorded ? recorded->check : NULL,
		.uses = recorded ? recorded->uses : NULL,
		.done = us_boot_virtio_ask,
		.done_ctx = v,
	};
	const struct us_elf_image *kernel = us_boot_variant_kernel(v, NULL);
	if (v->linux_kernel)
		how.code = us_boot_linux_code_of(v->linux_kernel);
	else if (kernel)
		how.code = us_boot_code_of(us_elf_image_file(kernel));
	if (ways & US_BOOT_BY_EVENTS)
		how.events = v->events;
	if (ways & US_BOOT_BY_PLUGIN) {
		how.argv = recorded ? recorded->argv : v->with.argv;
		how.file = v->file;
	} else if (ways & US_BOOT_BY_BREAKPOINTS) {
		how.argv = v->stubbed;
		how.stub = v->stub;
	} else if (ways & US_BOOT_BY_LOG) {
		how.argv = v->logged;
	}
	if (how.argv != v->plain && v->traced)
		how.trace = v->trace;
	return how;
}

static int boot(struct us_boot_variant *v, const struct us_boot_plan *plan,
		unsigned ways, const struct us_boot_recorded *recorded,
		struct us_boot_run *ret, struct us_err *e)
{
	struct us_boot_how how = make_how(v, plan, ways, recorded);
	if (ways & US_BOOT_BY_SAMPLES && (has_code(plan) || recorded)) {
		if (v->stubbed) {
			how.argv = v->stubbed;
			how.stub = v->stub;
			how.trace = v->traced ? v->trace : NULL;
		}
		return boot_sampled(v, plan, &how, recorded, ret, e);
	}
	int r = us_boot_run(plan, &how, ret, e);
	unlink_sockets(v);
	return r;
}

int us_boot_variant_boot(struct us_boot_variant *v, struct us_err *e)
{
	struct us_boot_run *run = &v->seen[v->n_seen];
	int r = boot(v, &v->plan, v->way, NULL, run, e);
	if (r == -ENOTSUP && us_boot_ways_fall_back(v, e))
		r = boot(v, &v->plan, v->way, NULL, run, e);
	if (r == 0)
		r = us_boot_variant_check(v, run, e);
	v->n_seen += r == 0;
	return r;
}

int us_boot_variant_boot_alone(struct us_boot_variant *v,
			       const struct us_boot_plan *plan, struct us_boot_run *ret,
			       struct us_err *e)
{
	return boot(v, plan, US_BOOT_BY_OUTPUT, NULL, ret, e);
}

int us_boot_variant_boot_recorded(struct us_boot_variant *v,
				  const struct us_boot_recorded *recorded,
				  struct us_boot_run *ret, struct us_err *e)
{
	unsigned ways = US_BOOT_BY_SAMPLES | (v->way & US_BOOT_BY_EVENTS);
	if (recorded->argv) {
		ways = US_BOOT_BY_PLUGIN;
		us_plugin_run_path(&v->run, "boot", v->file);
	}
	return boot(v, &v->plan, ways, recorded, ret, e);
}

int us_boot_variant_check(const struct us_boot_variant *v,
			  const struct us_boot_run *run, struct us_err *e)
{
	return run->whole ? 0 : us_boot_unfinished(v, &v->plan, run, e);
}

int us_boot_variant_boot_to_search(struct us_boot_variant *v,
				   const struct us_boot_plan *plan,
				   bool (*called)(void *ctx, uint64_t to, bool jump),
				   void *ctx, struct us_err *e)
{
	struct us_boot_run *run = calloc(1, sizeof(*run));
	struct us_boot_how how = make_how(v, plan, US_BOOT_BY_PLUGIN, NULL);
	if (!run)
		return us_fail(e, -ENOMEM, "out of memory");
	how.called = called;
	how.called_ctx = ctx;
	how.linger_ns = SEARCH;
	how.late = us_boot_late;
	int r = us_boot_run(plan, &how, run, e);
	unlink_sockets(v);
	if (r == 0 && !run->whole)
		r = us_boot_unfinished(v, plan, run, e);
	free(run);
	return r;
}

void us_boot_variant_fini(struct us_boot_variant *v)
{
	us_boot_linux_close(v->linux_kernel);
	us_boot_plan_fini(&v->plan);
	us_boot_events_close(v->events);
	us_plugin_run_fini(&v->run);
	free(v->with.argv);
	free(v->plain);
	free(v->traced);
	free(v->stubbed);
	free(v->logged);
	free(v->seen);
}
