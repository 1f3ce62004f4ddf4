/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plugin.c: the plugin that QEMU loads: its options, its file, its start.
 *
 *	-plugin FILE,boot=PATH[,devices=on]
 *	-plugin FILE,counts=PATH[,functions=PATH][,nodes=N][,only=calls|functions]
 *		[,boot=PATH,phases=PATH][,unnamed=addresses]
 *		[,trace=PATH[,records=N][,depth=N][,stream=on][,clock=insns][,begin=off]
 *		[,syscalls=on|alone[,text=N][,calls=NAME+NAME...]]]
 *
 * boot: a file that uniscope has created, vmm/plugin_boot.h; devices: report the use of
 * devices in it, which is slow; phases: a file to append the trees at its points to,
 * vmm/plugin_phases.h; counts: a file to create, plugin_counts.h; functions: one to
 * read, functions.h; only: flat counts, enum us_counts_flat; unnamed: identify code
 * without functions, such as firmware, by the addresses that are called; trace: a file
 * to create, events.h; syscalls: put system calls in it, perhaps alone.
 */
#include "trace/plugin/boot.h"
#include "trace/plugin/calls.h"
#include "trace/plugin/entered.h"
#include "trace/plugin/event_file.h"
#include "trace/plugin/shared_file.h"
#include "trace/plugin/space.h"
#include "trace/plugin/syscalls.h"
#include "trace/plugin/translate.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXPORT __attribute__((__visibility__("default")))

/* QEMU refuses a plugin with another version than its own.  It reads this after it has
 * loaded the plugin, so the plugin can choose the version after a look at QEMU. */
EXPORT int qemu_plugin_version = 1;
EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
			       char **argv);

struct options {
	const char *boot; /* without counts all others are useless */
	const char *phases;
	bool addresses, devices;
	const char *counts, *functions;
	uint32_t n_node;
	enum us_counts_flat flat;
	struct us_event_options trace;
	struct us_syscall_options syscalls;
};

/* A constructor is the only way: QEMU reads the version before it calls us. */
__attribute__((__constructor__)) static void choose_version(void)
{
	if (!qemu_plugin_register_vcpu_tb_exec_inline)
		qemu_plugin_version = 2;
}

static int complain(const char *what, const char *path, int code)
{
	const char *why = code == EPROTO ? "the plugin is of another version of "
					   "uniscope; build and install both anew"
					 : strerror(code);
	fprintf(stderr, "uniscope's plugin: %s%s%s: %s\n", what, path ? " " : "",
		path ? path : "", why);
	return -code;
}

static int parse(struct options *o, int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		unsigned long n;
		if (!strncmp(argv[i], "boot=", 5))
			o->boot = argv[i] + 5;
		else if (!strncmp(argv[i], "phases=", 7))
			o->phases = argv[i] + 7;
		else if (!strcmp(argv[i], "devices=on"))
			o->devices = true;
		else if (!strcmp(argv[i], "unnamed=addresses"))
			o->addresses = true;
		else if (!strncmp(argv[i], "counts=", 7))
			o->counts = argv[i] + 7;
		else if (!strncmp(argv[i], "functions=", 10))
			o->functions = argv[i] + 10;
		else if (!strncmp(argv[i], "nodes=", 6) &&
			 (n = strtoul(argv[i] + 6, NULL, 10)) >= 16 &&
			 n <= US_COUNTS_MAX_NODE)
			o->n_node = (uint32_t)n;
		else if (!strcmp(argv[i], "only=calls"))
			o->flat = US_COUNTS_CALLS;
		else if (!strcmp(argv[i], "only=functions"))
			o->flat = US_COUNTS_FUNCTIONS;
		else if (!us_event_option(&o->trace, argv[i]) &&
			 !us_syscall_option(&o->syscalls, argv[i]))
			return complain("option", argv[i], EINVAL);
	}
	if (o->counts && !o->boot != !o->phases)
		return complain("option phases=PATH needs boot=PATH", NULL, EINVAL);
	if (o->flat && (!o->functions || o->trace.path))
		return complain("option only=... needs functions=PATH and excludes "
				"trace=PATH",
				NULL, EINVAL);
	return o->counts || o->boot
		       ? 0
		       : complain("option counts=PATH is missing", NULL, EINVAL);
}

static int load_functions(const char *path, struct us_functions *ret)
{
	struct stat st;
	*ret = (struct us_functions){ 0 };
	if (!path)
		return 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return complain("open", path, errno);
	const uint8_t *p = mmap(NULL, (size_t)st.st_size + 1, PROT_READ, MAP_PRIVATE,
				fd, 0);
	close(fd);
	if (p == MAP_FAILED)
		return complain("map", path, errno);
	int r = us_functions_parse(p, (size_t)st.st_size, ret);
	return r < 0 ? complain("read", path, -r) : 0;
}

static struct us_counts_head head_of(const struct options *o, const qemu_info_t *info)
{
	struct us_counts_head h = { .version = US_COUNTS_VERSION,
				    .api = (uint32_t)info->version.cur,
				    .n_vcpu = (uint32_t)info->system.max_vcpus,
				    .n_node = o->n_node,
				    .flat = o->flat };
	if (!h.n_vcpu || h.n_vcpu > US_COUNTS_MAX_VCPU)
		h.n_vcpu = US_COUNTS_MAX_VCPU;
	memcpy(h.magic, US_COUNTS_MAGIC, sizeof(h.magic));
	snprintf(h.target, sizeof(h.target), "%s", info->target_name);
	h.vcpu_offset = h.node_offset = US_COUNTS_PAGE;
	h.vcpu_stride = h.node_offset +
			(uint64_t)h.n_node * sizeof(struct us_counts_node);
	h.vcpu_stride = (h.vcpu_stride + US_COUNTS_PAGE - 1) & ~(US_COUNTS_PAGE - 1ULL);
	h.size = h.vcpu_offset + h.n_vcpu * h.vcpu_stride;
	return h;
}

/* less: the option that makes it smaller. */
static int complain_file(const char *path, uint64_t size, int code, const char *less)
{
	complain("make", path, -code);
	if (code == -ENOSPC)
		fprintf(stderr,
			"uniscope's plugin: it needs %" PRIu64 " MiB; less with %s, "
			"or make room: mount -o remount,size=4G /dev/shm; or name a "
			"folder with room: TMPDIR=DIR uniscope ...\n",
			(size >> 20) + 1, less);
	return code;
}

static int make_counts(const struct options *o, const qemu_info_t *info,
		       struct us_counts_head **ret)
{
	struct us_counts_head h = head_of(o, info);
	void *p;
	int r = us_shared_file_make(o->counts, h.size, &p);
	if (r < 0)
		return complain_file(o->counts, h.size, r, "count --nodes");
	*ret = p;
	memcpy(p, &h, sizeof(h));
	return 0;
}

static struct us_counts_vcpu *counts_of(unsigned vcpu)
{
	return (void *)((char *)us_plugin.counts + us_plugin.counts->vcpu_offset +
			vcpu * us_plugin.counts->vcpu_stride);
}

static void forget(qemu_plugin_id_t id)
{
	(void)id;
}

/*
 * If one thread runs all vCPUs, QEMU 10.0 writes the number of the vCPU for which a
 * block is translated into its code (tcg/plugin-gen.c, gen_cpu_index), but other vCPUs
 * execute the block, too.
 */
static bool is_mixed(unsigned i)
{
	static pid_t first;
	pid_t self = gettid();
	if (!first)
		first = self;
	return us_plugin.api >= 4 && i && self == first;
}

/* When a vCPU is added, the counters of the others may move. */
static void find_counters(void)
{
	for (unsigned i = 0; us_plugin.score && i < us_plugin.n_vcpu; i++) {
		struct us_tracker *t = &us_plugin.vcpu[i].tracker;
		if (!us_plugin.vcpu[i].started)
			continue;
		t->insns = qemu_plugin_scoreboard_find(us_plugin.score, i);
		t->vcpu->insns_at = (uintptr_t)t->insns;
	}
}

static void start_vcpu(qemu_plugin_id_t id, unsigned i)
{
	if (i >= us_plugin.n_vcpu)
		return;
	if (is_mixed(i) && !us_plugin.counts->mixed) {
		us_plugin.counts->mixed = 1;
		qemu_plugin_uninstall(id, forget);
	}
	us_plugin.vcpu[i].started = true;
	if (us_plugin.boot)
		us_boot_on_vcpu(i);
	find_counters();
	if (!us_plugin.counts->flat)
		us_space_start(i);
	if (!us_plugin.counts->flat)
		us_entered_start(i);
	if (us_plugin.syscalls)
		us_syscalls_start(i);
	us_event_file_started(us_plugin.events, i);
	if (i >= us_plugin.counts->n_seen)
		us_plugin.counts->n_seen = i + 1;
}

/* Execution is recorded, in addition to being counted. */
static int trace_vcpus(const struct us_event_options *o)
{
	uint64_t size;
	int code = us_event_file_make(o, us_plugin.n_vcpu, &us_plugin.events, &size);
	if (code < 0)
		return complain_file(o->path, size, code, "trace --ring");
	us_plugin.points.table = us_event_file_table(us_plugin.events,
						     &us_plugin.points.n_table);
	for (unsigned i = 0; i < us_plugin.n_vcpu; i++) {
		struct us_plugin_vcpu *v = &us_plugin.vcpu[i];
		us_event_file_vcpu(us_plugin.events, o, i, &v->events);
		v->tracker.events = &v->events;
	}
	return 0;
}

static int trace_syscalls(const struct us_syscall_options *o, const qemu_info_t *info)
{
	int code = us_syscalls_init(o, info->target_name, us_plugin.n_vcpu);
	us_plugin.syscalls = true;
	us_plugin.syscalls_alone = o->alone;
	if (code == -ENOTSUP)
		fputs("uniscope's plugin: only system calls of x86_64 guests can be "
		      "traced, and with QEMU 9.0 or later those of aarch64 guests\n",
		      stderr);
	return code < 0
		       ? complain("trace the system calls of", info->target_name, -code)
		       : 0;
}

/* Made before any vCPU exists, so that errors are reported now. */
static int make_vcpus(void)
{
	us_plugin.n_vcpu = us_plugin.counts->n_vcpu;
	if (us_track_stacks_init(&us_plugin.stacks) < 0 ||
	    us_entered_init(us_plugin.n_vcpu) < 0)
		return -ENOMEM;
	for (unsigned i = 0; i < us_plugin.n_vcpu; i++) {
		struct us_counts_vcpu *c = counts_of(i);
		us_plugin.vcpu[i].halted_at = UINT64_MAX;
		struct us_counts_node *node = (void *)((char *)c +
						       us_plugin.counts->node_offset);
		struct us_tracker *t = &us_plugin.vcpu[i].tracker;
		int r = 0;
		if (us_plugin.counts->flat)
			us_calls_init(t, c, node);
		else
			r = us_tracker_init(t, &us_plugin.stacks, (uint16_t)i, c, node,
					    us_plugin.counts->n_node, &c->insns);
		if (r < 0)
			return r;
		t->link = us_plugin.arch->link;
	}
	return 0;
}

static void at_exit(qemu_plugin_id_t id, void *data)
{
	(void)id;
	(void)data;
	for (unsigned i = 0; i < us_plugin.n_vcpu; i++)
		if (us_plugin.vcpu[i].started && !us_plugin.counts->flat)
			us_track_settle(&us_plugin.vcpu[i].tracker);
	__atomic_store_n(&us_plugin.counts->ended, 1, __ATOMIC_RELEASE);
	if (us_plugin.events)
		__atomic_store_n(&us_plugin.events->ended, 1, __ATOMIC_RELEASE);
}

static int check_version(const qemu_info_t *info)
{
	bool lacks = qemu_plugin_version > 1 &&
		     (!qemu_plugin_scoreboard_new || !qemu_plugin_scoreboard_find ||
		      !qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu);
	if (!lacks && info->version.min <= qemu_plugin_version &&
	    info->version.cur >= qemu_plugin_version)
		return 0;
	fprintf(stderr,
		"uniscope's plugin: this QEMU loads plugins of versions %d to %d%s; "
		"this plugin has version %d\n",
		info->version.min, info->version.cur,
		lacks ? " but lacks some of their functions" : "", qemu_plugin_version);
	return -ENOTSUP;
}

/* The QEMUs that we know compare versions before they call us. */
static int check_qemu(const qemu_info_t *info)
{
	int r = check_version(info);
	if (r < 0)
		return r;
	if (!info->system_emulation) {
		fputs("uniscope's plugin: this QEMU runs a program (linux-user); only "
		      "whole machines can be counted (qemu-system-...)\n",
		      stderr);
		return -ENOTSUP;
	}
	us_plugin.api = qemu_plugin_version == 1 ? 1 : (unsigned)info->version.cur;
	us_plugin.arch = us_plugin_arch_find(info->target_name);
	if (us_plugin.arch)
		return 0;
	return complain("count a guest of the architecture", info->target_name,
			ENOTSUP);
}

static int make_files(const struct options *o, const struct us_functions *functions,
		      const qemu_info_t *info)
{
	int r = make_counts(o, info, &us_plugin.counts);
	if (r < 0)
		return r;
	us_plugin.one_counter = us_plugin.api == 1 && us_plugin.counts->n_vcpu == 1;
	us_plugin.counts->in_turns = us_plugin.counts->n_vcpu > 1;
	if (us_points_init(&us_plugin.points, functions) < 0 ||
	    us_slide_init(&us_plugin.slide, functions) < 0 || make_vcpus() < 0)
		r = complain("start", NULL, ENOMEM);
	us_plugin.points.addresses |= o->addresses;
	us_plugin.counts->layers = functions->layers;
	if (r == 0 && o->trace.path && o->syscalls.on)
		r = trace_syscalls(&o->syscalls, info);
	if (r == 0 && o->trace.path)
		r = trace_vcpus(&o->trace);
	/* Whoever waits for the counts must not take them for those of a running guest.
	 */
	if (r < 0)
		unlink(o->counts);
	return r;
}

static int mark_phases(const struct options *o, const qemu_info_t *info)
{
	int r = us_boot_start_beside(info, o->boot, o->phases);
	us_plugin.boot = r == 0;
	if (r == 0)
		return 0;
	unlink(o->counts); /* as above */
	return complain("use", o->boot, -r);
}

static void register_callbacks(qemu_plugin_id_t id, bool flat)
{
	if (us_plugin.api > 1)
		us_plugin.score = qemu_plugin_scoreboard_new(sizeof(uint64_t));
	us_translate_init();
	qemu_plugin_register_vcpu_init_cb(id, start_vcpu);
	if (!flat) {
		qemu_plugin_register_vcpu_idle_cb(id, us_on_idle);
		qemu_plugin_register_vcpu_resume_cb(id, us_on_resume);
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id,
					      flat ? us_calls_translate : us_translate);
	qemu_plugin_register_atexit_cb(id, at_exit, NULL);
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
			char **argv)
{
	struct options o = { .n_node = US_COUNTS_N_NODE,
			     .trace = US_EVENT_OPTIONS_DEFAULT,
			     .syscalls = { .text = 32 } };
	struct us_functions functions;
	int ret = check_qemu(info);
	if (ret == 0)
		ret = parse(&o, argc, argv);
	if (ret == 0 && o.boot && !o.counts) {
		ret = us_boot_start(id, info, o.boot, o.devices);
		return ret < 0 ? complain("use", o.boot, -ret) : 0;
	}
	if (ret == 0)
		ret = load_functions(o.functions, &functions);
	if (ret == 0 && o.flat)
		o.n_node = us_calls_n_node(&functions);
	if (ret == 0)
		ret = make_files(&o, &functions, info);
	if (ret == 0 && o.boot)
		ret = mark_phases(&o, info);
	if (ret == 0)
		register_callbacks(id, o.flat);
	return ret;
}
