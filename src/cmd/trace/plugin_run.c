/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plugin_run.c: see plugin_run.h. */
#include "cmd/trace/plugin_run.h"

#include "cmd/end_signals.h"
#include "cmd/record/facts.h"
#include "cmd/trace/layers.h"
#include "vmm/cmdline.h"
#include "vmm/loader.h"

#include "base/cleanup.h"
#include "base/clock.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define POLL_US 20000
#define MEMORY	"/dev/shm"
#define SPARE	(8U << 20) /* bytes for functions, and what is not for a vCPU */

static volatile sig_atomic_t stopped;

static void on_signal(int sig)
{
	(void)sig;
	stopped = 1;
}

void us_plugin_run_catch_signals(void)
{
	us_end_signals_catch(on_signal);
}

bool us_plugin_run_is_stopped(void)
{
	return stopped;
}

/* What is needed to find the images, from the command line: there is no process yet. */
static void guest_of_command(struct us_plugin_run *r)
{
	_cleanup_free_ struct us_cmdline *c = calloc(1, sizeof(*c));
	struct us_guest *g = &r->guest;
	unsigned argc = 0;
	char *const *argv = us_loader_program(r->asked->argv);
	while (argv[argc])
		argc++;
	g->pid = getpid();
	if (!c || !argc)
		return;
	us_vmm_name(argv[0], g->vmm, sizeof(g->vmm));
	if (!us_cmdline_parse(g->vmm, argc, (const char *const *)argv, c))
		return;
	snprintf(g->name, sizeof(g->name), "%s", c->name);
	r->n_cpu = c->cpus;
	const char *from[] = { c->kernel, c->boot };
	char *to[] = { g->kernel, g->boot };
	for (int i = 0; i < 2; i++)
		if (!from[i][0] || !realpath(from[i], to[i]))
			to[i][0] = '\0';
	/* If it is not there, who opens it says so.  QEMU has its own folder of
	 * firmware. */
	if (!g->kernel[0])
		snprintf(g->kernel, sizeof(g->kernel), "%s", c->kernel);
}

/* The plugin does not compare images with memory before it counts, so files beside a
 * kernel must be of its build for certain. */
static int open_images(struct us_plugin_run *r, struct us_err *e)
{
	const struct us_plugin_asked *a = r->asked;
	const struct us_images *m = &r->images;
	size_t n = 0;
	int rc = us_images_open(&r->images, a->symbols, a->argv[0] ? &r->guest : NULL,
				e);
	if (rc == 0)
		us_layers_choose(&r->images);
	for (size_t i = 0; rc == 0 && i < m->n; i++) {
		n += m->v[i].unproven;
		if (!m->v[i].unproven &&
		    us_symbols_place(
			    m->symbols, m->v[i].elf,
			    &(struct us_symbol_place){ .bias = m->v[i].bias }) < 0)
			rc = us_fail(e, -ENOMEM, "out of memory");
	}
	if (n && n == m->n)
		snprintf(r->images.note, sizeof(r->images.note),
			 "no symbols: the kernel is no ELF file, and no ELF file "
			 "beside it is certain to be of its build");
	return rc;
}

/* The user's own folder; it is kept. */
static int use_dir(struct us_plugin_run *r, const char *dir, struct us_err *e)
{
	if (mkdir(dir, 0700) < 0 && errno != EEXIST)
		return us_fail(e, -errno, "make the folder %.200s: %s", dir,
			       strerror(errno));
	_cleanup_free_ char *path = realpath(dir, NULL);
	if (!path || strlen(path) >= sizeof(r->dir) || strchr(path, ','))
		return us_fail(
			e, -EINVAL,
			"the folder %.200s: its path is too long, or has a comma", dir);
	strcpy(r->dir, path);
	return 0;
}

/* About what the plugin's files take. */
static uint64_t room_for(const struct us_plugin_run *r)
{
	const struct us_plugin_asked *a = r->asked;
	uint64_t nodes = a->nodes ? a->nodes : US_COUNTS_N_NODE;
	uint64_t vcpu = nodes * sizeof(struct us_counts_node) + a->ring;
	uint64_t room = SPARE + (r->n_cpu ? r->n_cpu : 1) * vcpu;
	for (size_t i = 0; i < r->images.n; i++) {
		const struct us_elf_file *f = us_elf_image_file(r->images.v[i].elf);
		for (size_t k = 0; k < f->n_code; k++)
			room += f->code[k].filesz;
	}
	return room;
}

/* The folder that the user has named; else memory, of which containers may have little.
 * On a disk the guest may have to wait when its dirty pages are written. */
static const char *base_dir(const struct us_plugin_run *r)
{
	const char *own = getenv("TMPDIR");
	struct statvfs st;
	/* A comma would end QEMU's option. */
	if (own && own[0] == '/' && strlen(own) <= sizeof(r->dir) - 20 &&
	    !strchr(own, ','))
		return own;
	return access(MEMORY, W_OK) == 0 && statvfs(MEMORY, &st) == 0 &&
			       (uint64_t)st.f_bavail * st.f_frsize >= room_for(r)
		       ? MEMORY
		       : "/tmp";
}

static int make_dir(struct us_plugin_run *r, struct us_err *e)
{
	if (r->asked->dir)
		return use_dir(r, r->asked->dir, e);
	const char *base = base_dir(r);
	snprintf(r->dir, sizeof(r->dir), "%s/uniscope-XXXXXX", base);
	if (mkdtemp(r->dir))
		return 0;
	us_fail(e, -errno, "make a folder in %.200s: %s", base, strerror(errno));
	us_hint(e, "name a folder that you may write to: TMPDIR=DIR uniscope ...");
	r->dir[0] = '\0';
	return e->code;
}

void us_plugin_run_path(const struct us_plugin_run *r, const char *name,
			char ret[static US_PLUGIN_PATH])
{
	snprintf(ret, US_PLUGIN_PATH, "%s/%s", r->dir, name);
}

static void remove_dir(const struct us_plugin_run *r)
{
	static const char *const files[] = { "functions", "counts", "trace", "phases" };
	char path[US_PLUGIN_PATH];
	if (!r->dir[0] || r->asked->dir)
		return;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		us_plugin_run_path(r, files[i], path);
		unlink(path);
	}
	rmdir(r->dir);
}

static int write_functions(struct us_plugin_run *r, struct us_err *e)
{
	char path[US_PLUGIN_PATH];
	us_plugin_run_path(r, "functions", path);
	/* Do not write into a file that a QEMU has mapped. */
	if (r->asked->dir)
		unlink(path);
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
				      0600);
	if (fd < 0)
		return us_fail(e, -errno, "make %s: %s", path, strerror(errno));
	return us_functions_write(r->images.symbols, r->asked->chooser,
				  r->images.layers, fd, &r->n_function, e);
}

int us_plugin_run_prepare(struct us_plugin_run *r, const struct us_plugin_asked *asked,
			  struct us_err *e)
{
	r->asked = asked;
	if (asked->argv[0])
		guest_of_command(r);
	int rc = open_images(r, e);
	if (rc == 0 && !asked->attached)
		rc = make_dir(r, e);
	if (rc == 0 && !asked->attached)
		rc = write_functions(r, e);
	return rc;
}

const char *us_plugin_run_why_unnamed(const struct us_plugin_run *r)
{
	return r->images.note[0] ? r->images.note : "no symbols (-e ELF)";
}

int us_plugin_run_fail_unnamed(const struct us_plugin_run *r, const char *option,
			       struct us_err *e)
{
	us_fail(e, -EINVAL, "%s needs names of functions: %s", option,
		us_plugin_run_why_unnamed(r));
	us_hint(e,
		"-e FILE with symbols; for Linux booted with nokaslr: -e vmlinux, or "
		"-e with a copy of the guest's /proc/kallsyms, made as root");
	return -EINVAL;
}

int us_plugin_run_start(struct us_plugin_run *r, struct us_plugin_command *c,
			struct us_err *e)
{
	c->dir = r->dir;
	c->functions = r->n_function > 0;
	c->deterministic = r->asked->deterministic;
	int rc = us_plugin_command_make(c, r->asked->argv, e);
	if (rc == 0)
		rc = us_launch_start_plain(c->argv, &r->launch, e);
	free(c->argv);
	c->argv = NULL;
	r->begun_ns = us_now_ns();
	r->pid = rc < 0 ? 0 : us_launch_pid(r->launch);
	return rc;
}

/* Has the guest ended, by itself or because the user wants it? */
static bool is_over(struct us_plugin_run *r, uint64_t until)
{
	r->end = US_RECORD_DONE;
	if (us_launch_ended(r->launch, &r->status)) {
		r->end = US_RECORD_GUEST_GONE;
		if (WIFSIGNALED(r->status))
			snprintf(r->end_words, sizeof(r->end_words),
				 "QEMU was killed: %s", strsignal(WTERMSIG(r->status)));
		else if (r->asked->duration_ns) /* else that is what was waited for */
			snprintf(r->end_words, sizeof(r->end_words), "the guest ended");
		return true;
	}
	if (stopped)
		r->end = US_RECORD_INTERRUPTED;
	return stopped || us_now_ns() >= until;
}

int us_plugin_run_wait(struct us_plugin_run *r,
		       int (*each)(void *ctx, struct us_err *e), void *ctx,
		       struct us_err *e)
{
	uint64_t duration = r->asked->duration_ns;
	uint64_t until = duration ? r->begun_ns + duration : UINT64_MAX;
	int rc = 0;
	while (!rc && !is_over(r, until)) {
		rc = each(ctx, e);
		usleep(POLL_US);
	}
	r->elapsed_ns = us_now_ns() - r->begun_ns;
	us_launch_close(r->launch);
	r->launch = NULL;
	return rc;
}

/* The plugin writes the file's magic number last. */
static bool is_made(const char *path)
{
	char magic = 0;
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	return fd >= 0 && pread(fd, &magic, 1, 0) == 1 && magic;
}

int us_plugin_run_check_mixed(const struct us_plugin_run *r, const char *verb,
			      struct us_err *e)
{
	char counts[US_PLUGIN_PATH];
	us_plugin_run_path(r, "counts", counts);
	if (!us_counts_are_mixed(counts))
		return 0;
	us_fail(e, -ENOTSUP,
		"%s: all vCPUs are in one thread (thread=single, -icount), and this "
		"QEMU does not report which vCPU executes what",
		verb);
	us_hint(e, "use one vCPU, or thread=multi, or a QEMU before 10.0");
	return -ENOTSUP;
}

int us_plugin_run_check_images(const struct us_plugin_run *r, const char *counts,
			       struct us_err *e)
{
	struct us_counts c;
	int rc = us_counts_open(counts, &c, e);
	if (rc == 0)
		rc = us_layers_check(&r->images, c.head.layers, e);
	us_counts_close(&c);
	return rc;
}

bool us_plugin_run_has_begun(const struct us_plugin_run *r)
{
	char counts[US_PLUGIN_PATH];
	us_plugin_run_path(r, "counts", counts);
	return us_counts_have_begun(counts);
}

/* QEMU loads the plugin before the guest's devices and images, which it may refuse. */
int us_plugin_run_check(const struct us_plugin_run *r, struct us_err *e)
{
	int status = r->status;
	char counts[US_PLUGIN_PATH];
	us_plugin_run_path(r, "counts", counts);
	bool ended = r->end == US_RECORD_GUEST_GONE;
	if (ended ? us_counts_have_begun(counts) : is_made(counts))
		return 0;
	if (!ended) {
		us_fail(e, -ECHILD, "QEMU had not loaded the plugin yet");
		us_hint(e, "give it more time; its output is above");
	} else if (WIFSIGNALED(status)) {
		us_fail(e, -ECHILD, "QEMU was killed at its start: %s",
			strsignal(WTERMSIG(status)));
	} else {
		us_fail(e, -ECHILD, "QEMU ended with status %d at its start",
			WEXITSTATUS(status));
		/* From here a plugin that refused looks like one that QEMU lacks. */
		us_hint(e, "its output above says why; if it does not know the option "
			   "-plugin, it was built without plugins");
	}
	return -ECHILD;
}

int us_plugin_run_verdict(const struct us_plugin_run *r, struct us_err *e)
{
	if (r->end != US_RECORD_GUEST_GONE || !WIFSIGNALED(r->status))
		return 0;
	us_fail(e, -ECHILD, "%s", r->end_words);
	us_hint(e, "what the guest executed until then is recorded");
	return -ECHILD;
}

void us_plugin_caution(char text[static US_PLUGIN_CAUTION], const char *fmt, ...)
{
	size_t n = strlen(text);
	if (n)
		n += (size_t)snprintf(text + n, US_PLUGIN_CAUTION - n, "; ");
	if (n >= US_PLUGIN_CAUTION)
		return;
	va_list args;
	va_start(args, fmt);
	vsnprintf(text + n, US_PLUGIN_CAUTION - n, fmt, args);
	va_end(args);
}

void us_plugin_caution_of_trees(char text[static US_PLUGIN_CAUTION],
				const struct us_counts_sums *s, bool deterministic)
{
	if (s->n_beyond)
		us_plugin_caution(text,
				  "%u more vCPUs are left out: uniscope supports %d at "
				  "most",
				  s->n_beyond, US_MAX_VCPUS);
	if (s->lost)
		us_plugin_caution(text,
				  "%" PRIu64
				  " calls did not fit in the tree (--nodes): they and "
				  "what they call are [tree is full]",
				  s->lost);
	if (s->n_full)
		us_plugin_caution(
			text,
			"the guest had too much code: %" PRIu64
			" times there was no room to follow more of it, and calls "
			"there are missing",
			s->n_full);
	if (s->too_deep)
		us_plugin_caution(text,
				  "%" PRIu64 " calls were too deep: their instructions "
				  "count for their callers",
				  s->too_deep);
	if (s->resets)
		us_plugin_caution(text,
				  "the machine was reset %" PRIu64
				  " times: this covers all its %" PRIu64 " boots%s",
				  s->resets, s->resets + 1,
				  deterministic ? ", and a second run differs, since "
						  "QEMU resets it a little later "
						  "each time"
						: "");
}

void us_plugin_caution_of_places(char text[static US_PLUGIN_CAUTION],
				 const struct us_counts_sums *s)
{
	if (s->n_other)
		us_plugin_caution(
			text,
			"at the addresses of %" PRIu64
			" functions other code ran, too, and is [no symbols]: a "
			"program that -e does not name?",
			s->n_other);
	if (s->slide)
		us_plugin_caution(
			text,
			"the image's code ran %#" PRIx64
			" above where it was linked, without names: next time -e "
			"ELF@%#" PRIx64 " -e ELF, if it is there each time; "
			"else have it so, both times, by --deterministic or nokaslr",
			s->slide, s->slide);
	else if (s->unnamed > s->insns / 10 * 9)
		us_plugin_caution(
			text, "nearly all instructions ran where the images have no "
			      "code: programs, firmware, or a kernel that is not "
			      "where it was linked (-e ELF@BIAS)");
}

/* Linked for Linux's loader, or with glibc's mark. */
static bool is_program(const struct us_elf_file *f)
{
	for (size_t k = 0; k < f->n_segment; k++)
		if (f->segment[k].type == PT_INTERP)
			return true;
	return us_elf_file_section(f, ".note.ABI-tag");
}

void us_plugin_caution_of_programs(char text[static US_PLUGIN_CAUTION],
				   const struct us_images *i)
{
	for (size_t k = 0; k < i->n; k++) {
		if (!is_program(us_elf_image_file(i->v[k].elf)))
			continue;
		us_plugin_caution(text,
				  "%.80s: functions are known by their addresses: what "
				  "other programs run at the same ones counts as this "
				  "program's",
				  us_elf_image_path(i->v[k].elf));
		return;
	}
}

int us_plugin_run_facts(const struct us_plugin_run *r, const struct us_plugin_facts *f,
			struct us_writer *w, struct us_err *e)
{
	char *const *argv = r->asked->argv;
	char vcpus[16] = "", pid[16] = "";
	struct us_common_facts common;
	us_common_facts(&common, argv);
	if (f->n_vcpu)
		snprintf(vcpus, sizeof(vcpus), "%u", f->n_vcpu);
	if (r->pid)
		snprintf(pid, sizeof(pid), "%d", (int)r->pid);
	const struct {
		const char *key, *value;
	} facts[] = {
		{ "target", r->asked->attached ? r->asked->attached : argv[0] },
		{ "command", common.command },
		{ "backend", f->backend },
		{ "how", f->how },
		{ "caution", f->caution },
		{ "unit", f->unit ? f->unit : "" },
		{ "vcpus", vcpus },
		{ "pid", pid },
		{ "vmm", r->guest.vmm },
		{ "accel", "tcg" },
		{ "guest", r->guest.name },
		{ "kernel", r->guest.kernel },
		{ "arch", f->arch ? f->arch : "" },
		{ "host", common.host },
		{ "started", common.started },
		{ "version", US_VERSION },
		{ "symbols_note", r->images.note },
	};
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < sizeof(facts) / sizeof(facts[0]); i++)
		if (facts[i].value[0])
			rc = us_writer_fact(w, facts[i].key, facts[i].value, e);
	for (size_t i = 0; rc == 0 && i < r->images.n; i++) {
		struct us_module m;
		if (r->images.v[i].unproven)
			continue;
		struct us_place place = { .image = (uint8_t)i,
					  .match = (uint8_t)f->match,
					  .bias = r->images.v[i].bias };
		us_images_module(&r->images, &place, i, &m);
		m.number = us_plugin_run_module(i);
		rc = us_writer_module(w, &m, e);
	}
	return rc;
}

void us_plugin_run_fini(struct us_plugin_run *r)
{
	us_launch_close(r->launch);
	r->launch = NULL;
	us_images_fini(&r->images);
	remove_dir(r);
}
