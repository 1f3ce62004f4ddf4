/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ps.c: `uniscope ps`: the guests of this host and how each can be looked into. */
#include "cmd/inside.h"
#include "cmd/options.h"
#include "cmd/record/output.h"
#include "cmd/target.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/text.h"
#include "vmm/proc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct settings {
	bool json, inside;
	const char *target; /* only this guest; NULL: all */
};

struct guests {
	struct us_found *v; /* they point into themselves */
	size_t n;
	struct us_insides *looks; /* NULL: without --inside */
};

/* "512M", "3.5G" */
static const char *memory_text(uint64_t bytes, char *text, size_t size)
{
	if (!bytes)
		snprintf(text, size, "?");
	else if (bytes >= 1ULL << 30)
		snprintf(text, size, "%.3gG", (double)bytes / (1ULL << 30));
	else
		snprintf(text, size, "%.4gM", (double)bytes / (1ULL << 20));
	return text;
}

static void threads_text(const struct us_guest *g, char *text, size_t size)
{
	size_t at = 0;
	text[0] = '\0';
	for (unsigned i = 0; i < g->n_vcpu && at < size; i++) {
		char tid[16] = "?";
		if (g->vcpu[i].tid)
			snprintf(tid, sizeof(tid), "%d", (int)g->vcpu[i].tid);
		int n = snprintf(text + at, size - at, "%s%u:%s", i ? " " : "",
				 g->vcpu[i].index, tid);
		at += n > 0 ? (size_t)n : 0;
	}
}

#define LEAST_KERNEL 16
#define LEAST_WIDTH  74 /* for rows with all of a guest in one line */
#define HEADING                                                                        \
	"    PID NAME             VMM                ACCEL VCPUS  MEMORY  KERNEL"

/* The kernel's path gets the rest of the line; --json has all of it.  A name is never
 * cut, since the user types it. */
static void print_row(const char *row, const char *kernel)
{
	char text[PATH_MAX];
	size_t all = us_output_columns(stdout), used = us_columns(row);
	us_printable(text, sizeof(text), kernel[0] ? kernel : "-");
	us_shorten_left(text, sizeof(text),
			all > used + LEAST_KERNEL ? all - used : LEAST_KERNEL);
	printf("%s%s\n", row, text);
}

static bool is_narrow(void)
{
	return us_output_columns(stdout) < LEAST_WIDTH;
}

/* Sentences stay in one line, for scripts, unless the terminal is narrow. */
static void print_sentence(const char *first, const char *s)
{
	us_output_wrapped(first, s, is_narrow() ? us_output_columns(stdout) : SIZE_MAX);
}

/* A guest with 64 vCPUs needs several lines. */
static void print_threads(const struct us_guest *g)
{
	char threads[US_MAX_VCPUS * 16];
	threads_text(g, threads, sizeof(threads));
	us_output_wrapped("        vCPU threads ", threads, us_output_columns(stdout));
}

/* A row of the table, or of a narrow terminal's list.  number: pid or domain. */
static void print_guest_row(const char *number, const char *name, const char *vmm,
			    const char *accel, unsigned n_vcpu, const char *memory,
			    const char *kernel)
{
	char row[256];
	if (!is_narrow()) {
		snprintf(row, sizeof(row), "%7s %-16s %-18s %-5s %5u %7s  ", number,
			 name, vmm, accel, n_vcpu, memory);
		print_row(row, kernel);
		return;
	}
	printf("%7s %s\n", number, name);
	snprintf(row, sizeof(row), "%s, %s, %u vCPU%s, %s", vmm, accel, n_vcpu,
		 n_vcpu == 1 ? "" : "s", memory);
	print_sentence("        ", row);
	print_row("        ", kernel);
}

/* All but the backends for tests and for Xen domains. */
static bool is_for_process(const struct us_backend_ops *b)
{
	return strcmp(b->name, "fake") != 0 && strcmp(b->name, "xen") != 0;
}

static void print_backends(const struct us_found *f)
{
	for (const struct us_backend_ops *const *b = us_backends; *b; b++) {
		struct us_err why = { 0 };
		char text[sizeof(why.msg)], first[32], words[sizeof(text) + 16];
		if (!is_for_process(*b))
			continue;
		bool serves = us_backend_probe(*b, &f->target, &why);
		snprintf(first, sizeof(first), "        %-6s ", (*b)->name);
		snprintf(words, sizeof(words), "%s%s%s", serves ? "yes" : "no",
			 why.msg[0] ? (serves ? ", but " : ": ") : "",
			 us_printable(text, sizeof(text), why.msg));
		print_sentence(first, words);
		if (why.hint[0])
			print_sentence("              try: ",
				       us_printable(text, sizeof(text), why.hint));
	}
}

/* The kernel and the busiest process of a Linux guest. */
static void print_inside(const struct us_inside *in)
{
	char text[sizeof(in->why)], words[3 * sizeof(text)] = "";
	if (in->release[0])
		us_append(words, sizeof(words), "Linux %s%s",
			  us_printable(text, sizeof(text), in->release),
			  in->why[0] ? ", " : "");
	if (in->process[0])
		us_append(words, sizeof(words), ", busiest: %s (%u), %.0f %% of a CPU",
			  us_printable(text, sizeof(text), in->process), in->pid,
			  100 * in->share);
	else if (!in->why[0])
		us_append(words, sizeof(words), ", no process was busy");
	us_append(words, sizeof(words), "%s",
		  us_printable(text, sizeof(text), in->why));
	print_sentence("        inside ", words);
	if (in->hint[0])
		print_sentence("              try: ",
			       us_printable(text, sizeof(text), in->hint));
}

static void print_guest(const struct guests *all, size_t i)
{
	const struct us_found *f = &all->v[i];
	const struct us_guest *g = &f->guest;
	char name[sizeof(g->name)], pid[16], memory[32];
	us_printable(name, sizeof(name), g->name[0] ? g->name : "-");
	snprintf(pid, sizeof(pid), "%d", (int)g->pid);
	print_guest_row(pid, name, g->vmm, us_accel_name(g->accel), g->n_vcpu,
			memory_text(g->memory, memory, sizeof(memory)), g->kernel);
	if (g->limited)
		print_sentence("        ",
			       "another user's guest: some of it cannot be read");
	print_threads(g);
	print_backends(f);
	if (all->looks)
		print_inside(us_insides_wait(all->looks, i));
	fflush(stdout); /* the next one may take a while */
}

static void json_backends(struct us_json *j, const struct us_found *f)
{
	us_json_array(j, "backends");
	for (const struct us_backend_ops *const *b = us_backends; *b; b++) {
		struct us_err why = { 0 };
		if (!is_for_process(*b))
			continue;
		us_json_object(j, NULL);
		us_json_str(j, "name", (*b)->name);
		bool serves = us_backend_probe(*b, &f->target, &why);
		us_json_bool(j, "serves", serves);
		us_json_str(j, "why_not", !serves && why.msg[0] ? why.msg : NULL);
		us_json_str(j, "caution", serves && why.msg[0] ? why.msg : NULL);
		us_json_str(j, "hint", why.hint[0] ? why.hint : NULL);
		us_json_end(j);
	}
	us_json_end(j);
}

static void json_inside(struct us_json *j, const struct us_inside *in)
{
	us_json_object(j, "inside");
	us_json_str(j, "kernel", in->release[0] ? in->release : NULL);
	us_json_str(j, "process", in->process[0] ? in->process : NULL);
	if (in->process[0]) {
		us_json_u64(j, "pid", in->pid);
		us_json_double(j, "cpu_share", in->share, 4);
	}
	us_json_str(j, "why_not", in->why[0] ? in->why : NULL);
	us_json_str(j, "hint", in->hint[0] ? in->hint : NULL);
	us_json_end(j);
}

static void json_guest(struct us_json *j, const struct guests *all, size_t i)
{
	const struct us_found *f = &all->v[i];
	const struct us_guest *g = &f->guest;
	us_json_object(j, NULL);
	us_json_u64(j, "pid", (uint64_t)g->pid);
	us_json_u64(j, "uid", g->uid);
	us_json_str(j, "name", g->name[0] ? g->name : NULL);
	us_json_str(j, "vmm", g->vmm);
	us_json_str(j, "executable", g->exe[0] ? g->exe : NULL);
	us_json_str(j, "accelerator", us_accel_name(g->accel));
	us_json_u64(j, "memory_bytes", g->memory);
	us_json_str(j, "kernel", g->kernel[0] ? g->kernel : NULL);
	us_json_str(j, "qmp", g->qmp[0] ? g->qmp : NULL);
	us_json_str(j, "gdb", g->gdb[0] ? g->gdb : NULL);
	us_json_bool(j, "limited", g->limited);
	us_json_array(j, "vcpus");
	for (unsigned k = 0; k < g->n_vcpu; k++) {
		us_json_object(j, NULL);
		us_json_u64(j, "index", g->vcpu[k].index);
		us_json_u64(j, "thread", (uint64_t)g->vcpu[k].tid);
		us_json_end(j);
	}
	us_json_end(j);
	json_backends(j, f);
	if (all->looks)
		json_inside(j, us_insides_wait(all->looks, i));
	us_json_end(j);
	fflush(stdout);
}

static void print_domain(const struct us_xen_guest *g)
{
	char name[sizeof(g->name)], id[16], memory[32];
	const struct us_xen_domain *d = &g->domain;
	us_printable(name, sizeof(name), g->name[0] ? g->name : "-");
	snprintf(id, sizeof(id), "%u", d->id);
	print_guest_row(id, name,
			us_xen_has_ended(d) ? "xen, has ended"
			: d->shut_down	    ? "xen, suspended"
			: d->paused	    ? "xen, paused"
					    : "xen",
			us_xen_kind_name(d->kind), d->n_vcpu,
			memory_text(d->memory, memory, sizeof(memory)), g->kernel);
	printf("        xen   yes: TARGET is xen:%u%s%s\n", d->id,
	       g->name[0] ? " or xen:" : "", g->name[0] ? name : "");
}

static void json_domain(struct us_json *j, const struct us_xen_guest *g)
{
	const struct us_xen_domain *d = &g->domain;
	char target[32];
	snprintf(target, sizeof(target), "xen:%u", d->id);
	us_json_object(j, NULL);
	us_json_u64(j, "domain", d->id);
	us_json_str(j, "name", g->name[0] ? g->name : NULL);
	us_json_str(j, "vmm", "xen");
	us_json_str(j, "kind", us_xen_kind_name(d->kind));
	us_json_str(j, "target", target);
	us_json_u64(j, "memory_bytes", d->memory);
	us_json_str(j, "kernel", g->kernel[0] ? g->kernel : NULL);
	us_json_bool(j, "paused", d->paused);
	us_json_bool(j, "ended", us_xen_has_ended(d));
	us_json_u64(j, "n_vcpu", d->n_vcpu);
	us_json_end(j);
}

static void show_domains(const struct us_xen_list *domains)
{
	if (domains->n)
		puts(is_narrow() ? " DOMAIN NAME"
				 : " DOMAIN NAME             VMM                KIND  "
				   "VCPUS  MEMORY  KERNEL");
	for (size_t i = 0; i < domains->n; i++)
		print_domain(&domains->v[i]);
}

static void guests_fini(struct guests *g)
{
	us_insides_end(g->looks);
	free(g->v);
}

static int guests_of(const struct us_guest_list *l, struct guests *ret,
		     struct us_err *e)
{
	ret->v = calloc(l->n + 1, sizeof(*ret->v));
	if (!ret->v)
		return us_fail(e, -ENOMEM, "out of memory");
	ret->n = l->n;
	for (size_t i = 0; i < l->n; i++) {
		ret->v[i].guest = l->v[i];
		us_target_of_guest(&ret->v[i]);
	}
	return 0;
}

static int guest_named(const char *target, struct guests *ret, struct us_err *e)
{
	ret->v = calloc(1, sizeof(*ret->v));
	if (!ret->v)
		return us_fail(e, -ENOMEM, "out of memory");
	ret->n = 1;
	int r = us_target_resolve(target, ret->v, e);
	if (r == 0 && !ret->v->target.guest)
		r = us_fail(e, -ENOENT,
			    "%s is an address: ps lists guests by their process",
			    target);
	return r;
}

static void show(const struct guests *g, const struct us_xen_list *domains,
		 const struct settings *s)
{
	bool json = s->json;
	struct us_json j = us_json_to(stdout);
	j.pretty = true;
	if (json)
		us_json_array(&j, NULL);
	else if (g->n)
		puts(is_narrow() ? "    PID NAME" : HEADING);
	for (size_t i = 0; i < g->n; i++)
		if (json)
			json_guest(&j, g, i);
		else
			print_guest(g, g->looks ? us_insides_order(g->looks, i) : i);
	for (size_t i = 0; json && i < domains->n; i++)
		json_domain(&j, &domains->v[i]);
	if (json)
		us_json_end(&j);
	else
		show_domains(domains);
	if (!json && !g->n && !domains->n)
		puts(us_proc_shows_others()
			     ? "no guest runs on this host"
			     : "no guest that you may see runs on this host: /proc "
			       "hides the processes of other users (hidepid)");
}

static int find(const struct settings *s, struct guests *g, struct us_xen_list *domains,
		struct us_err *e)
{
	_cleanup_(us_guest_list_fini) struct us_guest_list l = { 0 };
	if (s->target)
		return guest_named(s->target, g, e);
	if (us_guest_list_scan(&l, e) < 0)
		return -EIO; /* not -ENOENT, which says that there is no such guest */
	/* No Xen, or no permission: there are no domains to list. */
	(void)!us_xen_list_scan(domains, NULL);
	return guests_of(&l, g, e);
}

static int run_ps(int argc, char **argv)
{
	_cleanup_(us_xen_list_fini) struct us_xen_list domains = { 0 };
	_cleanup_(guests_fini) struct guests g = { 0 };
	struct us_err e = { 0 };
	struct settings s = { 0 };
	struct us_options o = {
		.cmd = &us_cmd_ps, .argc = argc, .argv = argv, .settings = &s
	};
	int code;
	if (!us_options_read(&o, &code) ||
	    !us_options_one(&o, "TARGET", &s.target, &code))
		return code;
	int r = find(&s, &g, &domains, &e);
	if (r == 0 && s.inside)
		r = us_insides_begin(g.v, g.n, &g.looks, &e);
	if (r < 0) {
		us_complain(&e);
		return us_exit_code(r);
	}
	show(&g, &domains, &s);
	return US_EXIT_OK;
}

static const struct us_option options[] = {
	{ 0, "json", NULL, "print JSON", US_FLAG(struct settings, json) },
	{ 0, "inside", NULL,
	  "show the kernel and the busiest process of each Linux guest",
	  US_FLAG(struct settings, inside) },
	{ 0 },
};

static const char *const examples[] = {
	"uniscope ps\0every guest, its vCPU threads, and which backends can serve it",
	"uniscope ps --inside web\0"
	"and which Linux this guest runs, and its busiest process",
	"uniscope ps --json\0as JSON, for scripts",
	NULL,
};

const struct us_cmd us_cmd_ps = {
	.name = "ps",
	.args = "[--json] [--inside] [TARGET]",
	.summary = "list the guests of this host and the backends that can sample them",
	.options = options,
	.examples = examples,
	.run = run_ps,
};
