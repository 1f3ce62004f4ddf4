/* SPDX-License-Identifier: GPL-2.0-or-later */
/* count.c: `uniscope count`: every call and every instruction of an emulated guest. */
#include "cmd/facts.h"
#include "cmd/images.h"
#include "cmd/options.h"
#include "cmd/output.h"
#include "cmd/plugin_file.h"
#include "report/report.h"
#include "trace/counts_read.h"
#include "trace/functions_write.h"
#include "vmm/cmdline.h"
#include "vmm/launch.h"

#include "base/cleanup.h"
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define POLL_US 20000
#define ROWS	30

enum {
	OPT_SYMBOLS = US_OPTION_LONG,
	OPT_ATTACH,
	OPT_DETERMINISTIC,
	OPT_NODES,
	OPT_NO_DEMANGLE,
	OPT_FULL_PATHS,
};

struct settings {
	const char *out, *attach;
	const char *image[US_MAX_IMAGES];
	size_t n_image;
	const char *dir[US_MAX_DIRS];
	struct us_debug_dirs dirs;
	uint64_t duration_ns;
	uint32_t nodes;
	bool deterministic, raw_names, full_paths;
	char **argv; /* the command */
};

struct counting {
	const struct settings *set;
	struct us_images images;
	struct us_guest guest; /* as the command line says */
	struct us_output output;
	struct us_launch *launch;
	char dir[64];
	size_t n_function;
	enum us_record_end end;
	char end_words[128];
	pid_t pid;
	int status; /* of QEMU, where it ended by itself */
	uint64_t begun_ns, elapsed_ns;
	struct us_counts_sums sums;
};

static volatile sig_atomic_t stopped;

static void on_signal(int sig)
{
	(void)sig;
	stopped = 1;
}

static void catch_signals(void)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction a = { .sa_handler = on_signal };
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		sigaction(ends[i], &a, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* ---- What the user asks for ---- */

static bool set_option(struct settings *s, int c, const char *value)
{
	double number;
	switch (c) {
	case 'd':
		return us_parse_duration("-d", value, &s->duration_ns);
	case 'o':
		s->out = value;
		return true;
	case 'e':
		if (s->n_image == US_MAX_IMAGES)
			return false;
		s->image[s->n_image++] = value;
		return true;
	case OPT_SYMBOLS:
		return us_parse_dir(&us_cmd_count, value, s->dir, &s->dirs);
	case OPT_ATTACH:
		s->attach = value;
		return true;
	case OPT_DETERMINISTIC:
		s->deterministic = true;
		return true;
	case OPT_NODES:
		if (!us_parse_double("--nodes", value, 16, US_COUNTS_MAX_NODE, &number))
			return false;
		s->nodes = (uint32_t)number;
		return true;
	case OPT_NO_DEMANGLE:
		s->raw_names = true;
		return true;
	case OPT_FULL_PATHS:
		s->full_paths = true;
		return true;
	}
	return false;
}

static int parse(struct settings *s, int argc, char **argv, bool *ret_go)
{
	struct us_options o = { .cmd = &us_cmd_count, .argc = argc, .argv = argv };
	int c;
	*ret_go = false;
	while ((c = us_options_next(&o)) > 0)
		if (!set_option(s, c, o.value))
			return US_EXIT_USAGE;
	if (c < 0)
		return o.help ? US_EXIT_OK : US_EXIT_USAGE;
	bool command = o.rest > 0 && !strcmp(argv[o.rest - 1], "--");
	s->argv = argv + o.rest;
	if (s->attach && s->argv[0])
		return us_usage(&us_cmd_count, "--attach takes no command such as %s",
				s->argv[0]);
	if (!s->attach && (!command || !s->argv[0]))
		return us_usage(&us_cmd_count,
				"-- and a command that starts QEMU, or --attach FILE");
	*ret_go = true;
	return US_EXIT_OK;
}

/* ---- Images and functions ---- */

/* What the images are found by, before there is a process. */
static void guest_of_command(struct counting *n)
{
	_cleanup_free_ struct us_cmdline *c = calloc(1, sizeof(*c));
	struct us_guest *g = &n->guest;
	unsigned argc = 0;
	char *const *argv = n->set->argv;
	while (argv[argc])
		argc++;
	g->pid = getpid();
	if (!c || !argc)
		return;
	us_vmm_name(argv[0], g->vmm, sizeof(g->vmm));
	if (!us_cmdline_parse(g->vmm, argc, (const char *const *)argv, c))
		return;
	snprintf(g->name, sizeof(g->name), "%s", c->name);
	const char *from[] = { c->kernel, c->boot };
	char *to[] = { g->kernel, g->boot };
	for (int i = 0; i < 2; i++)
		if (!from[i][0] || !realpath(from[i], to[i]))
			to[i][0] = '\0';
}

static int open_images(struct counting *n, struct us_err *e)
{
	const struct settings *s = n->set;
	int r = us_images_open(&n->images, s->image, s->n_image, &s->dirs,
			       s->attach ? NULL : &n->guest, e);
	for (size_t i = 0; r == 0 && i < n->images.n; i++)
		if (us_symbols_place(n->images.symbols, n->images.v[i].elf,
				     &(struct us_symbol_place){
					     .bias = n->images.v[i].bias }) < 0)
			r = us_fail(e, -ENOMEM, "out of memory");
	return r;
}

static int make_dir(struct counting *n, struct us_err *e)
{
	const char *base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
	snprintf(n->dir, sizeof(n->dir), "%s/uniscope-XXXXXX", base);
	if (mkdtemp(n->dir))
		return 0;
	us_fail(e, -errno, "make a folder in %s: %s", base, strerror(errno));
	n->dir[0] = '\0';
	return e->code;
}

static void path_in(const struct counting *n, const char *name, char ret[static 96])
{
	snprintf(ret, 96, "%s/%s", n->dir, name);
}

static void remove_dir(const struct counting *n)
{
	char path[96];
	if (!n->dir[0])
		return;
	path_in(n, "functions", path);
	unlink(path);
	path_in(n, "counts", path);
	unlink(path);
	rmdir(n->dir);
}

static int write_functions(struct counting *n, struct us_err *e)
{
	char path[96];
	path_in(n, "functions", path);
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
				      0600);
	if (fd < 0)
		return us_fail(e, -errno, "make %s: %s", path, strerror(errno));
	return us_functions_write(n->images.symbols, NULL, fd, &n->n_function, e);
}

/* ---- While the guest runs ---- */

static void tell_start(const struct counting *n)
{
	if (n->n_function)
		fprintf(stderr, "uniscope: counting the calls of %zu functions\n",
			n->n_function);
	else
		fprintf(stderr,
			"uniscope: no symbols%s%s: functions are known by their "
			"addresses (-e ELF)\n",
			n->images.note[0] ? ": " : "", n->images.note);
}

static int fail_mixed(struct us_err *e)
{
	us_fail(e, -ENOTSUP,
		"count: all vCPUs are in one thread (thread=single, -icount), and this "
		"QEMU does not say which of them executes what");
	us_hint(e, "use one vCPU, or thread=multi, or a QEMU before 10.0");
	return -ENOTSUP;
}

static int wait_for_end(struct counting *n, const char *path, struct us_err *e)
{
	uint64_t until = n->set->duration_ns ? n->begun_ns + n->set->duration_ns
					     : UINT64_MAX;
	n->end = US_RECORD_DONE;
	while (us_now_ns() < until) {
		if (us_launch_ended(n->launch, &n->status)) {
			n->end = US_RECORD_GUEST_GONE;
			snprintf(n->end_words, sizeof(n->end_words), "the guest ended");
			break;
		}
		if (stopped) {
			n->end = US_RECORD_INTERRUPTED;
			break;
		}
		if (us_counts_are_mixed(path))
			return fail_mixed(e);
		usleep(POLL_US);
	}
	n->elapsed_ns = us_now_ns() - n->begun_ns;
	return 0;
}

static int start(struct counting *n, struct us_err *e)
{
	struct us_plugin_command c = { .dir = n->dir,
				       .nodes = n->set->nodes,
				       .functions = n->n_function > 0,
				       .deterministic = n->set->deterministic };
	int r = us_plugin_command_make(&c, n->set->argv, e);
	if (r == 0)
		r = us_launch_start_plain(c.argv, &n->launch, e);
	free(c.argv);
	n->begun_ns = us_now_ns();
	n->pid = r < 0 ? 0 : us_launch_pid(n->launch);
	return r;
}

/* ---- What becomes of it ---- */

/* Kernels patch the first instructions of some of their functions. */
static enum us_match match_of(const struct us_counts_head *h)
{
	if (!h->n_same && !h->n_differ)
		return US_MATCH_UNKNOWN;
	return h->n_same >= h->n_differ ? US_MATCH_YES : US_MATCH_NO;
}

static int write_facts(const struct counting *n, const struct us_counts *c,
		       struct us_writer *w, struct us_err *e)
{
	char vcpus[16], pid[16], caution[200] = "";
	struct us_common_facts common;
	us_common_facts(&common, n->set->argv);
	snprintf(vcpus, sizeof(vcpus), "%u", n->sums.n_vcpu);
	snprintf(pid, sizeof(pid), "%d", (int)n->pid);
	if (n->sums.lost || n->sums.too_deep)
		snprintf(caution, sizeof(caution),
			 "%" PRIu64 " calls found no room in the tree (count --nodes), "
			 "%" PRIu64
			 " were too deep: their instructions count for others",
			 n->sums.lost, n->sums.too_deep);
	const struct {
		const char *key, *value;
	} facts[] = {
		{ "target", n->set->attach ? n->set->attach : n->set->argv[0] },
		{ "command", common.command },
		{ "backend", "count" },
		{ "how", "QEMU's plugin: each call, each instruction" },
		{ "caution", caution },
		{ "vcpus", vcpus },
		{ "pid", pid },
		{ "vmm", n->guest.vmm },
		{ "accel", "tcg" },
		{ "guest", n->guest.name },
		{ "kernel", n->guest.kernel },
		{ "arch", c->head.target },
		{ "host", common.host },
		{ "started", common.started },
		{ "version", US_VERSION },
		{ "symbols_note", n->images.note },
	};
	int r = 0;
	for (size_t i = 0; r == 0 && i < sizeof(facts) / sizeof(facts[0]); i++)
		if (facts[i].value[0])
			r = us_writer_fact(w, facts[i].key, facts[i].value, e);
	for (size_t i = 0; r == 0 && i < n->images.n; i++) {
		struct us_module m;
		struct us_place place = { .image = (uint8_t)i,
					  .match = (uint8_t)match_of(&c->head),
					  .bias = n->images.v[i].bias };
		us_images_module(&n->images, &place, i, &m);
		r = us_writer_module(w, &m, e);
	}
	return r;
}

static int write_recording(struct counting *n, const char *path, struct us_err *e)
{
	struct us_counts c;
	struct us_writer *w = NULL;
	int r = us_counts_open(path, &c, e);
	if (r < 0)
		return r;
	r = us_writer_open(n->output.fd, &w, e);
	if (r == 0)
		r = us_counts_record(&c, w, &n->sums, e);
	if (r == 0)
		r = write_facts(n, &c, w, e);
	struct us_record_stats stats = { .elapsed_ns = n->elapsed_ns };
	if (r == 0)
		r = us_writer_end(w, &stats, n->end, n->end_words, e);
	us_writer_close(w);
	us_counts_close(&c);
	return r;
}

/* A table at once, where no other format was asked for. */
static int show(struct counting *n, struct us_err *e)
{
	struct us_profile_opts all = { .raw_names = n->set->raw_names,
				       .dirs = n->set->dirs };
	struct us_report_opts plain = { .sort = US_SORT_SELF,
					.limit = ROWS,
					.colour = isatty(STDOUT_FILENO) &&
						  !getenv("NO_COLOR"),
					.width = us_output_columns(stdout),
					.full_paths = n->set->full_paths,
					.file = n->output.path };
	struct us_profile *p = NULL;
	if (n->output.format || n->output.is_stdout)
		return us_output_convert(&n->output, false, e);
	if (lseek(n->output.fd, 0, SEEK_SET) < 0)
		return us_fail(e, -errno, "rewind %s: %s", n->output.path,
			       strerror(errno));
	int r = us_profile_read(n->output.fd, &all, &p, e);
	if (r == 0)
		r = us_report(p, us_format_by_name("text"), &plain, stdout, e);
	us_profile_free(p);
	return r;
}

static int count(struct counting *n, struct us_err *e)
{
	char path[96];
	int r = us_output_open(&n->output, n->set->out, e);
	if (r == 0 && n->set->attach) {
		r = open_images(n, e);
		n->end = US_RECORD_DONE;
		return r < 0 ? r : write_recording(n, n->set->attach, e);
	}
	guest_of_command(n);
	if (r == 0)
		r = open_images(n, e);
	if (r == 0)
		r = make_dir(n, e);
	if (r == 0)
		r = write_functions(n, e);
	if (r < 0)
		return r;
	tell_start(n);
	r = start(n, e);
	if (r < 0)
		return r;
	path_in(n, "counts", path);
	r = wait_for_end(n, path, e);
	us_launch_close(n->launch);
	n->launch = NULL;
	if (r < 0)
		return r;
	if (n->end == US_RECORD_GUEST_GONE && access(path, F_OK) < 0) {
		us_fail(e, -ECHILD, "count: QEMU ended with status %d at its start",
			WIFEXITED(n->status) ? WEXITSTATUS(n->status) : n->status);
		us_hint(e, "it says why above; a QEMU without plugins cannot count");
		return -ECHILD;
	}
	return write_recording(n, path, e);
}

static int run_count(int argc, char **argv)
{
	static struct counting n; /* large: paths and tables */
	struct settings s = { 0 };
	struct us_err e = { 0 };
	bool go;
	int code = parse(&s, argc, argv, &go);
	if (!go)
		return code;
	n.set = &s;
	catch_signals();
	int r = count(&n, &e);
	n.output.raw_names = s.raw_names;
	n.output.full_paths = s.full_paths;
	n.output.dirs = &s.dirs;
	if (r == 0)
		r = show(&n, &e);
	us_launch_close(n.launch);
	us_output_close(&n.output);
	us_images_fini(&n.images);
	remove_dir(&n);
	if (r < 0)
		us_complain(&e);
	return us_exit_code(r);
}

static const struct us_option options[] = {
	{ 'd', "duration", "TIME", "stop after 5, 2.5s, 300ms ... (until Ctrl-C)" },
	{ 'o', "output", "FILE",
	  "uniscope.data; .html, .callgrind ... convert at once" },
	{ 'e', "elf", "ELF[@BIAS]", "symbol file of the guest; may be repeated" },
	{ OPT_SYMBOLS, "symbols", "DIR",
	  "search it for separate debug files; repeatable" },
	{ OPT_DETERMINISTIC, "deterministic", NULL,
	  "instructions are the guest's clock: two runs are the same" },
	{ OPT_ATTACH, "attach", "FILE",
	  "what the plugin of a QEMU has counted in this file until now" },
	{ OPT_NODES, "nodes", "N", "room for paths of calls, each vCPU (524288)" },
	{ OPT_FULL_PATHS, "full-paths", NULL,
	  "of sources, with the folders that all share" },
	{ OPT_NO_DEMANGLE, "no-demangle", NULL, "names as the symbol file has them" },
	{ 0 },
};

static const char *const examples[] = {
	"uniscope count -- qemu-system-x86_64 -kernel k.elf\0"
	"each call and instruction until the guest ends, or Ctrl-C",
	"uniscope count -d 10 -o calls.html -- qemu-system-x86_64 -kernel k.elf\0"
	"ten seconds, as a flame graph",
	"uniscope count -o calls.callgrind -- qemu-system-x86_64 -kernel k.elf\0"
	"for KCachegrind and callgrind_annotate",
	"uniscope count --deterministic -- qemu-system-x86_64 -kernel k.elf\0"
	"a second run counts the same",
	NULL,
};

const struct us_cmd us_cmd_count = {
	.name = "count",
	.args = "[OPTIONS] {-- QEMU ARGS... | --attach FILE}",
	.summary = "count each call and instruction of an emulated guest",
	.options = options,
	.examples = examples,
	.run = run_count,
};
