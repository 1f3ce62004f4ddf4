/* SPDX-License-Identifier: GPL-2.0-or-later */
/* dump.c: `uniscope dump`: one stack of every vCPU now: where does it hang? */
#include "cmd/dump/samples.h"
#include "cmd/dump/tasks.h"
#include "cmd/record/images.h"
#include "cmd/record/kernel.h"
#include "cmd/options.h"
#include "cmd/record/output.h"
#include "cmd/rights.h"
#include "cmd/target.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/paths.h"
#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define MAX_INLINED 16

struct settings {
	const char *target, *backend;
	struct us_symbol_files symbols;
	uint64_t vcpu_mask;
	bool json, raw_names, full_paths, tasks;
};

struct dump {
	struct us_found found;
	struct us_images images;
	struct us_kernel kernel;
	struct us_dump_tasks tasks;
	struct us_unwinder *unwinder;
	struct us_backend *backend;
	struct us_dump_samples samples;
	struct us_paths paths; /* of the frames' sources */
	bool full_paths;
	char why[512], backend_name[16], hazard[256];
	char no_programs[256]; /* why --root helps nothing; empty: it may */
};

static int attach(struct dump *d, const struct settings *s, struct us_err *e)
{
	int r = us_target_resolve(s->target, &d->found, e);
	d->found.target.registers = true;
	if (r == 0)
		r = us_images_open(&d->images, &s->symbols, d->found.target.guest, e);
	if (r == 0)
		r = us_backend_open(&d->found.target, s->backend, &d->backend, d->why,
				    sizeof(d->why), e);
	if (r == 0)
		r = us_images_check_arch(&d->images, d->backend->arch, e);
	if (r < 0)
		return r;
	us_rights_drop(d->backend);
	snprintf(d->backend_name, sizeof(d->backend_name), "%s", d->backend->ops->name);
	snprintf(d->hazard, sizeof(d->hazard), "%s", d->backend->hazard);
	if (us_dump_samples_init(&d->samples, d->backend->n_vcpu) < 0 ||
	    us_unwinder_new(d->backend->arch, NULL, NULL, &d->unwinder) < 0)
		return us_fail(e, -ENOMEM, "out of memory");
	d->images.unwinder = d->unwinder;
	d->images.hasty = true;
	us_symbols_demangle(d->images.symbols, !s->raw_names);
	us_symbols_set_namer(d->images.symbols,
			     &(struct us_symbol_namer){ us_kernel_name, &d->kernel });
	r = us_kernel_open(&d->kernel, &d->images, d->backend, e);
	if (r == 0)
		d->kernel.processes.programs.dirs = &s->symbols.dirs;
	return r;
}

/* Without registers there are no page tables to find an image by. */
static bool any_registers(const struct dump *d)
{
	for (unsigned i = 0; i < d->samples.n; i++)
		if (d->samples.v[i].has_stack)
			return true;
	return false;
}

static bool compared(const struct dump *d)
{
	for (size_t i = 0; i < d->images.n_place; i++)
		if (d->images.place[i].match == US_MATCH_UNKNOWN &&
		    us_images_counts(&d->images, &d->images.place[i]))
			return false;
	return true;
}

/* The page tables of the program's part of a stack. */
static us_gpa program_root(const struct us_dump_seen *s)
{
	return s->stack.root ? s->stack.root : s->regs.space.root;
}

static size_t name_frame(struct dump *d, const struct us_dump_seen *s, unsigned i,
			 struct us_frame *f)
{
	us_gpa root = s->stack.flags[i] & US_PC_USER ? program_root(s)
						     : s->regs.space.root;
	const struct us_symbol_when when = {
		.root = root & US_ROOT_MASK,
		.user = s->stack.flags[i] & US_PC_USER &&
			s->regs.space.mode != US_PAGING_OFF,
	};
	bool is_return = i > 0 && !(s->stack.flags[i] & US_PC_EXACT);
	size_t n = us_symbols_lookup_at(d->images.symbols, &when, s->stack.pc[i],
					is_return, f, MAX_INLINED);
	if (!n && s->stack.flags[i] & US_PC_USER)
		n = us_dump_programs_lookup(&d->tasks.programs, root, s->stack.pc[i],
					    is_return, f, MAX_INLINED);
	return n;
}

/* The file that a program has mapped at this address; NULL: not known. */
static const char *file_of(const struct dump *d, const struct us_dump_seen *s,
			   unsigned i, uint64_t *ret_at)
{
	return s->stack.flags[i] & US_PC_USER
		       ? us_dump_programs_file(&d->tasks.programs, program_root(s),
					       s->stack.pc[i], ret_at)
		       : NULL;
}

static const struct us_linux_task *task_of(const struct dump *d,
					   const struct us_dump_seen *s)
{
	return s->has_stack ? us_dump_tasks_of(&d->tasks, &s->regs) : NULL;
}

/* Take the task's stack as if it were a vCPU's; false: it has none. */
static bool take_task_stack(const struct us_dump_tasks *t, size_t number,
			    struct us_dump_seen *ret)
{
	const struct us_dump_task_stack *from = t->stack ? &t->stack[number] : NULL;
	if (!from || !from->n)
		return false;
	ret->has_stack = true;
	ret->regs.space = t->space;
	ret->stack.n = from->n;
	ret->stack.end = from->end;
	ret->stack.root = t->list.v[number].root;
	memcpy(ret->stack.pc, from->pc, from->n * sizeof(*from->pc));
	memcpy(ret->stack.flags, from->flags, from->n * sizeof(*from->flags));
	return true;
}

/* The kernel's part of a task's stack is what the user wants; a program's addresses
 * without names would be most of the output. */
static void leave_out_unnamed(struct dump *d, struct us_dump_seen *s)
{
	struct us_frame f[MAX_INLINED];
	unsigned n = 0;
	uint64_t at;
	while (n < s->stack.n && !(s->stack.flags[n] & US_PC_USER))
		n++;
	if (!n || n == s->stack.n || name_frame(d, s, n, f) || file_of(d, s, n, &at))
		return;
	s->stack.n = (uint16_t)n;
	s->stack.end = US_END_ROOT;
}

#define ADDRESS_COLUMNS 26 /* of a frame's line, before the name */
#define CELL		1024

/* Cut names and paths to what fits in a line. */
static void fit(char name[static CELL], char place[static CELL], size_t fixed)
{
	size_t all = us_output_columns(stdout);
	size_t left = all > fixed ? all - fixed : 1, wide = us_columns(name);
	if (wide + us_columns(place) <= left)
		return;
	size_t rest = wide < left ? left - wide : 0, third = left / 3;
	us_shorten_left(place, CELL, rest > third ? rest : third);
	us_shorten_middle(name, CELL, left - us_columns(place));
}

static void print_frame(const struct dump *d, unsigned number, us_gva pc,
			const struct us_frame *f)
{
	char name[CELL], place[CELL] = "", buffer[US_PATH_SIZE];
	char offset[32] = "", line[32] = "";
	us_printable(name, sizeof(name), f && f->func ? f->func : "?");
	if (f && f->inlined)
		snprintf(offset, sizeof(offset), " (inlined)");
	else if (f && f->start && pc >= f->start)
		snprintf(offset, sizeof(offset), "+0x%" PRIx64, pc - f->start);
	if (f && f->file && f->line) {
		us_printable(place, sizeof(place),
			     d->full_paths ? us_path_full(f->dir, f->file, buffer)
					   : us_paths_show(&d->paths, f->module, f->dir,
							   f->file, buffer));
		snprintf(line, sizeof(line), ":%u", f->line);
	}
	if (!d->full_paths)
		fit(name, place,
		    ADDRESS_COLUMNS + strlen(offset) + strlen(" at ") + strlen(line));
	printf("  #%-3u 0x%016" PRIx64 " %s%s%s%s%s\n", number, pc, name, offset,
	       *place ? " at " : "", place, line);
}

/* Collect the paths of all frames' sources, to see what they share. */
static void collect_paths(struct dump *d)
{
	struct us_frame f[MAX_INLINED];
	for (unsigned v = 0; v < d->samples.n; v++) {
		const struct us_dump_seen *s = &d->samples.v[v];
		for (unsigned i = 0; s->has_stack && i < s->stack.n; i++) {
			size_t n = name_frame(d, s, i, f);
			for (size_t k = 0; k < n; k++)
				/* Out of memory: show whole paths. */
				if (f[k].file && us_paths_add(&d->paths, f[k].module,
							      f[k].dir, f[k].file) < 0)
					d->full_paths = true;
		}
	}
}

/* As an offset in its file, if that is known. */
static void print_unnamed(const struct dump *d, unsigned number,
			  const struct us_dump_seen *s, unsigned i)
{
	char text[CELL];
	uint64_t at;
	const char *file = file_of(d, s, i, &at);
	const struct us_frame f = { .func = text };
	if (file)
		snprintf(text, sizeof(text), "%s+0x%" PRIx64, file, at);
	print_frame(d, number, s->stack.pc[i], file ? &f : NULL);
}

static void print_stack(struct dump *d, const struct us_dump_seen *seen)
{
	const struct us_stack *s = &seen->stack;
	struct us_frame f[MAX_INLINED];
	unsigned number = 0;
	for (unsigned i = 0; i < s->n; i++) {
		size_t n = name_frame(d, seen, i, f);
		if (!n)
			print_unnamed(d, number++, seen, i);
		for (size_t k = 0; k < n; k++)
			print_frame(d, number++, s->pc[i], &f[k]);
	}
	if (s->end != US_END_ROOT)
		printf("  the stack is cut here, %s\n",
		       us_unwind_end_words((enum us_unwind_end)s->end));
}

static const char *const state_words[US_N_VCPU_STATE] = {
	[US_VCPU_GUEST] = "running",
	[US_VCPU_EXIT] = "in the VMM on the guest's behalf",
	[US_VCPU_HALTED] = "halted: waits for an interrupt",
	[US_VCPU_READY] = "ready: has no host CPU",
	[US_VCPU_OFF] = "off or paused",
};

static void print_task_of(const struct dump *d, const struct us_dump_seen *s)
{
	const struct us_linux_task *t = task_of(d, s);
	char name[4 * US_LINUX_NAME];
	if (!t)
		return;
	us_printable(name, sizeof(name), t->name);
	printf(", task %d %s", t->pid, name);
}

/* What a task does, in words and as ps's letter, and on which CPU. */
static void print_task_state(const struct us_linux_task *t)
{
	if (t->on_cpu)
		printf("on CPU %u", t->cpu);
	else
		printf("%s (%c)", us_linux_task_state(t->state), t->state);
	if (t->kernel_thread)
		fputs(", thread of the kernel", stdout);
	else if (t->pid != t->tgid)
		printf(", thread of process %d", t->tgid);
}

static void print_tasks(struct dump *d)
{
	static struct us_dump_seen seen; /* too large for comfort on a stack */
	const struct us_dump_tasks *all = &d->tasks;
	char name[4 * US_LINUX_NAME];
	for (size_t k = 0; k < all->list.n; k++) {
		const struct us_linux_task *t = &all->list.v[k];
		us_printable(name, sizeof(name), t->name);
		printf("task %d %s: ", t->pid, name);
		print_task_state(t);
		putchar('\n');
		if (take_task_stack(all, k, &seen)) {
			leave_out_unnamed(d, &seen);
			print_stack(d, &seen);
		}
	}
	if (all->list.torn)
		puts("warning: the list of tasks changed at each try: some are "
		     "missing");
	if (all->list.full)
		printf("warning: only the first %zu tasks were read\n", all->list.n);
}

/* The k-th warning of programs' names, from 0; false: no more. */
static bool warning_of(const struct dump *d, size_t k, char *dst, size_t size)
{
	if (!d->no_programs[0])
		return us_dump_programs_warning(&d->tasks.programs, k, dst, size);
	snprintf(dst, size, "--root names no programs: %s", d->no_programs);
	return k == 0;
}

static void print_warnings(const struct dump *d)
{
	char text[512], safe[1024];
	for (size_t k = 0; warning_of(d, k, text, sizeof(text)); k++) {
		us_printable(safe, sizeof(safe), text);
		printf("warning: %s\n", safe);
	}
}

static void json_warnings(struct us_json *j, const struct dump *d)
{
	char text[512];
	us_json_array(j, "warnings");
	for (size_t k = 0; warning_of(d, k, text, sizeof(text)); k++)
		us_json_str(j, NULL, text);
	us_json_end(j);
}

static void print_vcpu(struct dump *d, unsigned i)
{
	const struct us_guest *g = d->found.target.guest;
	const struct us_dump_seen *s = &d->samples.v[i];
	printf("vCPU %u", i);
	if (g && i < g->n_vcpu && g->vcpu[i].tid)
		printf(" (thread %d)", (int)g->vcpu[i].tid);
	if (!s->taken) {
		puts(": could not be sampled");
		return;
	}
	printf(": %s", state_words[s->state]);
	if (s->has_stack)
		printf(", %u-bit%s", s->regs.bits, s->regs.user ? ", user mode" : "");
	print_task_of(d, s);
	putchar('\n');
	if (s->has_stack)
		print_stack(d, s);
	else if (s->state == US_VCPU_READY && !strcmp(d->backend_name, "bpf"))
		puts("  try again, or with --backend kvm, which waits until it runs");
}

static void json_frame(struct us_json *j, const struct dump *d,
		       const struct us_dump_seen *s, unsigned i,
		       const struct us_frame *f)
{
	uint64_t at;
	us_json_object(j, NULL);
	us_json_hex(j, "pc", s->stack.pc[i]);
	us_json_bool(j, "user", s->stack.flags[i] & US_PC_USER);
	us_json_str(j, "mapped", file_of(d, s, i, &at));
	us_json_str(j, "function", f ? f->func : NULL);
	us_json_str(j, "raw", f ? f->raw : NULL);
	us_json_str(j, "file", f ? f->file : NULL);
	us_json_str(j, "dir", f ? f->dir : NULL);
	us_json_u64(j, "line", f ? f->line : 0);
	us_json_bool(j, "inlined", f && f->inlined);
	us_json_end(j);
}

static void json_stack(struct us_json *j, struct dump *d, const struct us_dump_seen *s)
{
	struct us_frame f[MAX_INLINED];
	us_json_str(j, "end",
		    s->has_stack ? us_unwind_end_name((enum us_unwind_end)s->stack.end)
				 : NULL);
	us_json_array(j, "frames");
	for (unsigned k = 0; s->has_stack && k < s->stack.n; k++) {
		size_t n = name_frame(d, s, k, f);
		if (!n)
			json_frame(j, d, s, k, NULL);
		for (size_t m = 0; m < n; m++)
			json_frame(j, d, s, k, &f[m]);
	}
	us_json_end(j);
}

static void json_task(struct us_json *j, const struct us_linux_task *t)
{
	us_json_u64(j, "pid", (uint64_t)t->pid);
	us_json_u64(j, "process", (uint64_t)t->tgid);
	us_json_str(j, "name", t->name);
	us_json_bool(j, "kernel_thread", t->kernel_thread);
}

static void json_vcpu(struct us_json *j, struct dump *d, unsigned i)
{
	struct us_dump_seen *s = &d->samples.v[i];
	const struct us_linux_task *t = task_of(d, s);
	us_json_object(j, NULL);
	us_json_u64(j, "vcpu", i);
	us_json_str(j, "state", s->taken ? state_words[s->state] : NULL);
	if (t) {
		us_json_object(j, "task");
		json_task(j, t);
		us_json_end(j);
	}
	json_stack(j, d, s);
	us_json_end(j);
}

static void json_tasks(struct us_json *j, struct dump *d)
{
	static struct us_dump_seen seen; /* too large for comfort on a stack */
	const struct us_dump_tasks *all = &d->tasks;
	us_json_array(j, "tasks");
	for (size_t k = 0; k < all->list.n; k++) {
		const struct us_linux_task *t = &all->list.v[k];
		us_json_object(j, NULL);
		json_task(j, t);
		us_json_str(j, "state", (char[]){ t->state, '\0' });
		us_json_bool(j, "on_cpu", t->on_cpu);
		us_json_u64(j, "cpu", t->cpu);
		if (take_task_stack(all, k, &seen)) {
			leave_out_unnamed(d, &seen);
			json_stack(j, d, &seen);
		}
		us_json_end(j);
	}
	us_json_end(j);
	us_json_bool(j, "tasks_missing", all->list.torn || all->list.full);
}

static void show_json(struct dump *d, const struct settings *s)
{
	uint64_t mask = s->vcpu_mask;
	struct us_json j = us_json_to(stdout);
	j.pretty = true;
	us_json_object(&j, NULL);
	us_json_str(&j, "target", d->found.text);
	us_json_str(&j, "backend", d->backend_name);
	us_json_str(&j, "caution", d->hazard[0] ? d->hazard : NULL);
	us_json_bool(&j, "image_matches",
		     us_images_found_one(&d->images) && d->images.n);
	us_json_array(&j, "vcpus");
	for (unsigned i = 0; i < d->samples.n; i++)
		if (!mask || mask >> i & 1)
			json_vcpu(&j, d, i);
	us_json_end(&j);
	if (s->tasks)
		json_tasks(&j, d);
	json_warnings(&j, d);
	us_json_end(&j);
}

/* Warn if the files with symbols are not the guest's; true: it did. */
static bool tell_match(const struct dump *d)
{
	bool found = !d->images.n || us_images_found_one(&d->images);
	if (found && compared(d))
		return false;
	if (found)
		printf("warning: the symbol file could not be compared with the "
		       "guest's memory: %s\n",
		       any_registers(d) ? "little or nothing of it is mapped there"
					: "no vCPU's registers could be read, and so "
					  "not its page tables");
	else if (!d->images.v[0].guessed)
		printf("warning: the symbol file is not the one that the guest runs: "
		       "its memory differs%s\n",
		       d->images.own_names ? "" : "; addresses only");
	else if (us_images_guessed_wrong(&d->images))
		puts("warning: the guest runs none of the files with symbols beside "
		     "its image; addresses only (-e FILE)");
	else
		return false;
	return true;
}

static void show(struct dump *d, const struct settings *s)
{
	char text[256];
	if (s->json) {
		show_json(d, s);
		return;
	}
	d->full_paths = s->full_paths;
	collect_paths(d);
	printf("%s by %s\n", d->found.text, d->why);
	if (d->hazard[0])
		printf("caution: %s\n", d->hazard);
	if (!tell_match(d) && d->images.note[0] && !us_kernel_linux(&d->kernel))
		printf("note: %s\n", d->images.note);
	if (us_kernel_linux(&d->kernel)) {
		us_linux_describe(us_kernel_linux(&d->kernel), text, sizeof(text));
		printf("note: %s\n", text);
	}
	for (unsigned i = 0; i < d->samples.n; i++)
		if (!s->vcpu_mask || s->vcpu_mask >> i & 1)
			print_vcpu(d, i);
	if (s->tasks)
		print_tasks(d);
	print_warnings(d);
}

static void dump_fini(struct dump *d)
{
	us_backend_close(d->backend);
	us_dump_tasks_fini(&d->tasks);
	us_kernel_close(&d->kernel);
	us_unwinder_free(d->unwinder);
	us_images_fini(&d->images);
	us_paths_fini(&d->paths);
	us_dump_samples_fini(&d->samples);
}

/* Without --tasks the list is optional: it names each vCPU's task and its program. With
 * --tasks it is required. */
static int read_tasks(struct dump *d, const struct settings *s, struct us_err *e)
{
	int r = us_dump_tasks_read(&d->tasks, &d->kernel, d->unwinder, s->tasks, e);
	if (r < 0 && !s->tasks && r != -ENOMEM) {
		if (s->symbols.dirs.root)
			snprintf(d->no_programs, sizeof(d->no_programs), "%.250s",
				 e->msg);
		return 0;
	}
	for (unsigned i = 0; r == 0 && i < d->samples.n; i++) {
		const struct us_dump_seen *seen = &d->samples.v[i];
		if (seen->has_stack)
			r = us_dump_tasks_add(&d->tasks, program_root(seen),
					      &seen->stack, e);
	}
	return r < 0 ? r : us_dump_tasks_end(&d->tasks, e);
}

static bool parse(struct settings *s, int argc, char **argv, int *ret_exit)
{
	struct us_options o = {
		.cmd = &us_cmd_dump, .argc = argc, .argv = argv, .settings = s
	};
	struct us_err e;
	if (!us_options_read(&o, ret_exit) ||
	    !us_options_one(&o, "TARGET", &s->target, ret_exit))
		return false;
	if (!s->backend || us_backend_check(s->backend, &e) == 0)
		return true;
	*ret_exit = us_usage(&us_cmd_dump, "%s (%s)", e.msg, e.hint);
	return false;
}

static int run_dump(int argc, char **argv)
{
	struct settings s = { 0 };
	static struct dump d; /* large: paths and tables */
	struct us_err e = { 0 };
	int code;
	if (!parse(&s, argc, argv, &code))
		return code;
	signal(SIGPIPE, SIG_IGN);
	int r = attach(&d, &s, &e);
	if (r == 0)
		r = us_dump_samples_take(&d.samples, &d.images, &d.kernel, d.backend,
					 s.vcpu_mask, &e);
	us_kernel_wait(&d.kernel);
	us_kernel_stop(&d.kernel);
	us_kernel_use(&d.kernel);
	if (r == 0)
		r = read_tasks(&d, &s, &e);
	us_backend_close(us_take(d.backend)); /* the guest runs on while we look up */
	if (r == 0)
		r = us_dump_programs_name(&d.tasks.programs, &s.symbols.dirs,
					  s.raw_names, &e);
	if (r == 0 && us_images_name_places(&d.images) < 0)
		r = us_fail(&e, -ENOMEM, "out of memory for symbols");
	if (r == 0)
		show(&d, &s);
	else
		us_complain(&e);
	dump_fini(&d);
	return us_exit_code(r);
}

static const struct us_option options[] = {
	US_SYMBOL_ROWS(struct settings, symbols),
	US_PROGRAM_ROWS(struct settings, symbols),
	{ 0, "backend", "NAME", "bpf, kvm, gdb, qmp or xen (auto: the best that works)",
	  US_TEXT(struct settings, backend) },
	{ 0, "vcpu", "LIST", "only these vCPUs, such as 0,2-3",
	  US_VCPUS(struct settings, vcpu_mask) },
	{ 0, "no-demangle", NULL, "show names as the symbol file has them",
	  US_FLAG(struct settings, raw_names) },
	{ 0, "full-paths", NULL, "show sources with their whole paths",
	  US_FLAG(struct settings, full_paths) },
	{ 0, "tasks", NULL, "also every task of a Linux guest, with its stack",
	  US_FLAG(struct settings, tasks) },
	{ 0, "json", NULL, "print JSON", US_FLAG(struct settings, json) },
	{ 0 },
};

static const char *const examples[] = {
	"uniscope dump\0where every vCPU of the one guest on this host is",
	"uniscope dump --root /mnt\0the same, with names of a Linux guest's programs",
	"uniscope dump --tasks\0what each task of a Linux guest waits for",
	"uniscope dump --tasks --root /mnt\0"
	"with the guest's files, to name its programs",
	"uniscope dump --tasks -e vmlinux\0"
	"the same for a kernel without types (BTF), using DWARF",
	"uniscope dump -e kernel.elf qmp:/run/vm.sock\0"
	"through the monitor of a paused guest",
	NULL,
};

const struct us_cmd us_cmd_dump = {
	.name = "dump",
	.args = "[OPTIONS] [TARGET]",
	.summary = "print one stack of every vCPU now",
	.options = options,
	.examples = examples,
	.run = run_dump,
};
