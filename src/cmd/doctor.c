/* SPDX-License-Identifier: GPL-2.0-or-later */
/* doctor.c: `uniscope doctor`: what this host can do, and what would help. */
#include "cmd/options.h"
#include "cmd/record/output.h"
#include "cmd/record/self_check.h"

#include "backend/backend.h"
#include "base/json.h"
#include "base/text.h"
#include "vmm/host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_QEMUS 64

enum answer {
	YES,
	PARTLY,
	NO,
	N_ANSWER,
};

static const char *const answers[N_ANSWER] = { "yes", "partly", "no" };

/* A question and its answer. */
struct finding {
	const char *name;
	bool is_backend;
	enum answer answer;
	struct us_err why; /* msg: details or "", hint: what would help or "" */
};

struct findings {
	struct finding v[32];
	size_t n;
};

static struct finding *add(struct findings *f, const char *name, enum answer answer)
{
	struct finding *new = &f->v[f->n++];
	*new = (struct finding){ .name = name, .answer = answer };
	return new;
}

/* --- the questions --- */

static void ask_host(struct findings *f, const struct us_host *h)
{
	us_fail(&add(f, "host", YES)->why, 0, "Linux %s, %s, %u CPU%s%s", h->release,
		h->machine, h->n_cpu, h->n_cpu == 1 ? "" : "s",
		h->is_guest ? ", itself a virtual machine" : "");
}

static void ask_backends(struct findings *f)
{
	for (const struct us_backend_ops *const *b = us_backends; *b; b++) {
		if (!strcmp((*b)->name, "fake")) /* only for tests */
			continue;
		struct finding *new = add(f, (*b)->name, YES);
		new->is_backend = true;
		if ((*b)->ready && (*b)->ready(&new->why) < 0)
			new->answer = NO;
		else if (new->why.msg[0])
			new->answer = PARTLY;
		else
			us_fail(&new->why, 0, "%s", (*b)->summary);
	}
}

static void ask_kvm(struct findings *f, const struct us_host *h)
{
	struct finding *new = add(f, "kvm host", NO);
	if (!h->has_kvm) {
		us_fail(&new->why, 0, "there is no /dev/kvm: guests are emulated");
		return;
	}
	new->answer = h->may_run ? YES : PARTLY;
	us_fail(&new->why, 0, "%s%s%s", h->kvm[0] ? h->kvm : "by an unknown module",
		h->is_nested ? ", nested guests are allowed" : "",
		h->may_run ? "" : ", but you may not start guests");
	if (!h->may_run)
		us_hint(&new->why, "sudo usermod -aG kvm $USER, and log in again");
}

static void ask_priority(struct findings *f)
{
	bool may = us_host_realtime();
	struct finding *new = add(f, "priority", may ? YES : PARTLY);
	us_fail(&new->why, 0, "%s",
		may ? "samples get a CPU at once"
		    : "samples wait for a CPU on a busy host, and idle guests look "
		      "more idle");
	if (!may)
		us_hint(&new->why, "run uniscope with sudo");
}

static void ask_qemu(struct findings *f)
{
	static struct us_host_qemu qemu[MAX_QEMUS];
	size_t n = us_host_qemus(getenv("PATH"), qemu, MAX_QEMUS), with = 0;
	const char *plain = NULL;
	for (size_t i = 0; i < n; i++) {
		with += qemu[i].has_plugins;
		plain = qemu[i].has_plugins ? plain : qemu[i].path;
	}
	struct finding *new = add(f, "qemu", n ? YES : PARTLY);
	if (!n)
		us_fail(&new->why, 0,
			"none in PATH: uniscope can use running guests only");
	else if (!plain)
		us_fail(&new->why, 0, "%zu in PATH, all take TCG plugins", n);
	else
		us_fail(&new->why, 0,
			"%zu in PATH, %zu of them take TCG plugins; not %s", n, with,
			plain);
}

static void ask_built(struct findings *f)
{
#ifdef US_HAVE_CAPSTONE
	bool disassembles = true;
#else
	bool disassembles = false;
#endif
#ifdef US_HAVE_LIBIBERTY
	bool demangles = true;
#else
	bool demangles = false;
#endif
	struct finding *new = add(f, "built with",
				  disassembles && demangles ? YES : PARTLY);
	us_fail(&new->why, 0,
		"disassembly (capstone): %s; names of C++, Rust and D "
		"(libiberty): %s",
		answers[disassembles ? YES : NO], answers[demangles ? YES : NO]);
	if (new->answer != YES)
		us_hint(&new->why, "apt install libcapstone-dev libiberty-dev, and "
				   "rebuild uniscope");
}

static void ask_all(struct findings *f)
{
	struct us_host h;
	us_host_read(&h);
	ask_host(f, &h);
	ask_kvm(f, &h);
	ask_priority(f);
	ask_qemu(f);
	ask_built(f);
	ask_backends(f);
}

/* --- the answers --- */

static void print_one(const struct finding *f)
{
	char text[sizeof(f->why.msg)], first[40];
	size_t all = isatty(STDOUT_FILENO) ? us_output_columns(stdout) : SIZE_MAX;
	snprintf(first, sizeof(first), "  %-10s %-6s ", f->name, answers[f->answer]);
	us_output_wrapped(first, us_printable(text, sizeof(text), f->why.msg), all);
	snprintf(first, sizeof(first), "  %-10s %-6s try: ", "", "");
	if (f->why.hint[0])
		us_output_wrapped(first, us_printable(text, sizeof(text), f->why.hint),
				  all);
}

static void print_part(const struct findings *f, bool backends)
{
	puts(backends ? "ways into guests" : "this host");
	for (size_t i = 0; i < f->n; i++)
		if (f->v[i].is_backend == backends)
			print_one(&f->v[i]);
}

static void json_all(const struct findings *f)
{
	struct us_json j = us_json_to(stdout);
	j.pretty = true;
	us_json_array(&j, NULL);
	for (size_t i = 0; i < f->n; i++) {
		const struct finding *one = &f->v[i];
		us_json_object(&j, NULL);
		us_json_str(&j, "name", one->name);
		us_json_bool(&j, "backend", one->is_backend);
		us_json_str(&j, "answer", answers[one->answer]);
		us_json_str(&j, "details", one->why.msg[0] ? one->why.msg : NULL);
		us_json_str(&j, "hint", one->why.hint[0] ? one->why.hint : NULL);
		us_json_end(&j);
	}
	us_json_end(&j);
}

struct settings {
	bool json, bpf;
	const char *check; /* a backend; NULL: none */
};

/* False: exit with *ret_exit. */
static bool parse(struct settings *s, int argc, char **argv, int *ret_exit)
{
	struct us_options o = {
		.cmd = &us_cmd_doctor, .argc = argc, .argv = argv, .settings = s
	};
	if (!us_options_read(&o, ret_exit) || !us_options_none(&o, ret_exit))
		return false;
	if (s->bpf)
		s->check = "bpf";
	if (s->check && strcmp(s->check, "bpf") && strcmp(s->check, "kvm"))
		*ret_exit = us_usage(o.cmd, "only bpf and kvm can be checked, not %s",
				     s->check);
	else if (s->check && s->json)
		*ret_exit = us_usage(o.cmd, "--bpf and --check have no --json");
	else
		return true;
	return false;
}

static int run_doctor(int argc, char **argv)
{
	static struct findings f;
	struct settings s = { 0 };
	int code;
	if (!parse(&s, argc, argv, &code))
		return code;
	if (s.check)
		return us_self_check(s.check);
	f.n = 0;
	ask_all(&f);
	if (s.json) {
		json_all(&f);
		return US_EXIT_OK;
	}
	print_part(&f, false);
	print_part(&f, true);
	puts("\nuniscope ps shows the same for each running guest");
	return US_EXIT_OK;
}

static const struct us_option options[] = {
	{ 0, "json", NULL, "print JSON", US_FLAG(struct settings, json) },
	{ 0, "bpf", NULL,
	  "verify bpf on a guest of uniscope's own: pass, or what differs",
	  US_FLAG(struct settings, bpf) },
	{ 0, "check", "BACKEND", "the same for bpf or kvm",
	  US_TEXT(struct settings, check) },
	{ 0 },
};

static const char *const examples[] = {
	"uniscope doctor\0what works on this host, what does not, and what would help",
	"sudo uniscope doctor --bpf\0are the results of bpf right on this host?",
	NULL,
};

const struct us_cmd us_cmd_doctor = {
	.name = "doctor",
	.args = "[--json | --bpf | --check BACKEND]",
	.summary = "show what works on this host and what is missing",
	.options = options,
	.examples = examples,
	.run = run_doctor,
};
