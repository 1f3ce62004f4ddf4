/* SPDX-License-Identifier: GPL-2.0-or-later */
/* guest_inspect.c: one process as a guest, see guest_list.h. */
#include "vmm/guest_list.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"
#include "vmm/cmdline.h"
#include "vmm/guest_threads.h"
#include "vmm/loader.h"
#include "vmm/proc.h"
#include "vmm/qemu_program.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define MAX_FDS	     (1u << 16)
#define MAX_CONFIG   (1u << 20)
#define OPEN_AT_ONCE 4
#define MAX_PARENTS  8

/* Linux may lack kcmp(), and a container's filter may refuse it: then it is not known.
 */
static bool other_file(pid_t pid, int a, int b)
{
	return syscall(SYS_kcmp, pid, pid, KCMP_FILE, a, b) > 0;
}

bool us_vcpu_has_fd(const struct us_vcpu *v, long fd)
{
	bool has = fd >= 0 && v->fd == fd;
	for (unsigned i = 0; i < v->n_more_fd; i++)
		has |= v->more_fd[i] == fd;
	return has;
}

/* A second descriptor of the same vCPU, or a vCPU of another machine. */
static void add_descriptor(struct us_guest *g, struct us_vcpu *v, int fd)
{
	if (other_file(g->pid, v->fd, fd))
		g->several = true;
	else if (v->n_more_fd < US_MORE_FDS)
		v->more_fd[v->n_more_fd++] = fd;
}

static void add_vcpu(struct us_guest *g, unsigned index, int fd)
{
	unsigned at = 0;
	while (at < g->n_vcpu && g->vcpu[at].index < index)
		at++;
	if (at < g->n_vcpu && g->vcpu[at].index == index) {
		add_descriptor(g, &g->vcpu[at], fd);
		return;
	}
	if (g->n_vcpu == US_MAX_VCPUS) {
		g->n_vcpu_beyond++;
		if (at == US_MAX_VCPUS)
			return;
		g->n_vcpu--;
	}
	memmove(&g->vcpu[at + 1], &g->vcpu[at], (g->n_vcpu - at) * sizeof(g->vcpu[0]));
	g->vcpu[at] = (struct us_vcpu){ .index = index, .fd = fd };
	g->n_vcpu++;
}

/* The machines among the open files: a machine has one file, maybe with several
 * descriptors. */
struct machines {
	int fd; /* of one of them; -1: there is none */
	bool more;
};

static void note_machine(pid_t pid, struct machines *m, int fd)
{
	if (m->fd < 0)
		m->fd = fd;
	else
		m->more = m->more || other_file(pid, m->fd, fd);
}

/* Collect the vCPUs among the open files; *ret_kvm: the process has a VM or has
 * /dev/kvm open; *ret_vm: the descriptor of a machine, or -1. */
static int scan_fds(int proc, struct us_guest *g, bool *ret_kvm, int *ret_vm)
{
	DIR *d = us_proc_folder(proc, "fd");
	if (!d)
		return -errno;
	*ret_kvm = false;
	*ret_vm = -1;
	struct machines m = { .fd = -1 };
	int r = 0;
	unsigned n = 0;
	for (struct dirent *ent; n < MAX_FDS && (ent = readdir(d)); n++) {
		char to[64];
		unsigned index;
		if (!isdigit((unsigned char)ent->d_name[0]))
			continue;
		ssize_t len = us_proc_link(dirfd(d), ent->d_name, to, sizeof(to));
		if (len == -EACCES || len == -EPERM)
			r = (int)len;
		if (len <= 0)
			continue;
		if (sscanf(to, "anon_inode:kvm-vcpu:%u", &index) == 1)
			add_vcpu(g, index, atoi(ent->d_name));
		if (!strcmp(to, "anon_inode:kvm-vm"))
			note_machine(g->pid, &m, atoi(ent->d_name));
		*ret_kvm = *ret_kvm || m.fd >= 0 || !strcmp(to, "/dev/kvm");
	}
	closedir(d);
	*ret_vm = m.fd;
	/* No file says whose a vCPU is; one vCPU alone is read rightly in any case. */
	g->several = g->several || (m.more && g->n_vcpu > 1);
	return r;
}

static bool has_same(pid_t a, pid_t b, int fd)
{
	return syscall(SYS_kcmp, a, b, KCMP_FILE, fd, fd) == 0;
}

static pid_t parent_of(pid_t pid)
{
	struct us_proc_stat s;
	_cleanup_close_ int proc = us_proc_open(pid);
	return proc >= 0 && us_proc_stat(proc, &s) == 0 ? s.parent : 0;
}

/*
 * KVM lets only the memory that made a machine run it.  A process that the VMM forked,
 * and that executes nothing else, has the VMM's files by the same numbers, but a memory
 * of its own.  Returns the VMM; 0: it is this process, or that is not known.  (uniscope
 * takes files of vCPUs for a moment, but none of machines.)
 */
static pid_t maker_of(const struct us_guest *g, int vm)
{
	pid_t pid = parent_of(g->pid);
	for (unsigned i = 0; g->n_vcpu && i < MAX_PARENTS && pid > 1; i++) {
		if (has_same(pid, g->pid, vm) && has_same(pid, g->pid, g->vcpu[0].fd))
			return syscall(SYS_kcmp, pid, g->pid, KCMP_VM, 0, 0) > 0 ? pid
										 : 0;
		pid = parent_of(pid);
	}
	return 0;
}

/* The VMM's working directory, relative to its own root directory. */
static bool find_cwd(int proc, char *ret, size_t size)
{
	char root[PATH_MAX];
	size_t n = 0;
	if (us_proc_link(proc, "cwd", ret, size) <= 0 || ret[0] != '/')
		return false;
	if (us_proc_link(proc, "root", root, sizeof(root)) > 1)
		n = strlen(root);
	if (n && !strncmp(ret, root, n) && (ret[n] == '/' || !ret[n]))
		memmove(ret, ret[n] ? ret + n : "/", strlen(ret + n) + 1 + !ret[n]);
	return true;
}

/* Both end in "/". */
static bool left_folder(const struct us_cmdline *c)
{
	return c->daemon || c->jailed;
}

/* Make a path of the VMM absolute; "" if that is not possible. */
static void make_absolute(int proc, bool daemon, char *path, size_t size)
{
	char cwd[PATH_MAX], joined[2 * PATH_MAX];
	if (!path[0] || path[0] == '/')
		return;
	/* -daemonize and -chroot have changed the working directory to "/". */
	if (daemon || !find_cwd(proc, cwd, sizeof(cwd))) {
		path[0] = '\0';
		return;
	}
	snprintf(joined, sizeof(joined), "%s/%s", strcmp(cwd, "/") ? cwd : "", path);
	size_t n = strlen(joined);
	memcpy(path, joined, n < size ? n + 1 : 0);
	if (n >= size)
		path[0] = '\0';
}

/* Name the VMM after its executable; QEMU may have any name.  Where that is hidden, or
 * is a loader of another program (loader.h), use argv[0]. */
static void name_vmm(int proc, const struct us_proc_args *args, struct us_guest *g)
{
	const char *program = args->argv[0];
	char path[PATH_MAX];
	if (us_proc_link(proc, "exe", g->exe, sizeof(g->exe)) <= 0)
		g->exe[0] = '\0';
	if (g->exe[0] && !us_is_loader(g->exe)) {
		us_vmm_name(g->exe, g->vmm, sizeof(g->vmm));
		if (!us_vmm_is_known(g->vmm) &&
		    us_qemu_program_is(proc, args->argc, args->argv))
			snprintf(g->vmm, sizeof(g->vmm), "qemu");
		us_printable_inplace(g->exe);
		return;
	}
	us_vmm_name(program, g->vmm, sizeof(g->vmm));
	if (!g->exe[0] || us_is_loader(program))
		return;
	snprintf(path, sizeof(path), "%s", program);
	make_absolute(proc, false, path, sizeof(path));
	us_printable(g->exe, sizeof(g->exe), path);
}

/* Convert an endpoint of the VMM to the form that uniscope uses: "SCHEME:/path" or
 * "SCHEME:host:port". */
static void take_endpoint(int proc, const struct us_guest *g, bool daemon,
			  const char *scheme, const char *endpoint, char *ret)
{
	char path[PATH_MAX];
	ret[0] = '\0';
	snprintf(path, sizeof(path), "%s", endpoint);
	const char *colon = strrchr(path, ':');
	if (path[0] != '/' && colon && isdigit((unsigned char)colon[1])) {
		if (us_proc_same_ns(proc, "net"))
			snprintf(ret, US_ENDPOINT_SIZE, "%s:%.*s", scheme,
				 US_ENDPOINT_SIZE - 5, path);
		return;
	}
	make_absolute(proc, daemon, path, sizeof(path));
	char whole[PATH_MAX + 64];
	if (us_proc_same_paths(proc, g->jailed))
		snprintf(whole, sizeof(whole), "%s:%s", scheme, path);
	else
		snprintf(whole, sizeof(whole), "%s:/proc/%d/root%s", scheme, g->pid,
			 path);
	if (path[0] && strlen(whole) < US_ENDPOINT_SIZE)
		memcpy(ret, whole, strlen(whole) + 1);
}

/* Is a client connected to the unix socket that the VMM has bound as path?  The
 * accepted end shows the same path in /proc/PID/net/unix, in state 3. */
static bool unix_busy(int proc, const char *path)
{
	int fd = openat(proc, "net/unix", O_RDONLY | O_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	if (!f) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	bool busy = false;
	char line[512];
	while (!busy && fgets(line, sizeof(line), f)) {
		unsigned state;
		int at = 0;
		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "%*s %*x %*x %*x %*x %x %*u %n", &state, &at) == 1 &&
		    at && state == 3)
			busy = !strcmp(line + at, path);
	}
	fclose(f);
	return busy;
}

static void take_endpoints(int proc, const struct us_cmdline *c, struct us_guest *g)
{
	unsigned pick = 0;
	while (pick + 1 < c->n_qmp && unix_busy(proc, c->qmp[pick]))
		pick++;
	if (c->n_qmp && pick + 1 == c->n_qmp && unix_busy(proc, c->qmp[pick]))
		pick = 0; /* all are busy: take the first, whose owner is known */
	if (c->n_qmp)
		take_endpoint(proc, g, left_folder(c), "qmp", c->qmp[pick], g->qmp);
	if (c->gdb[0])
		take_endpoint(proc, g, left_folder(c), "gdb", c->gdb, g->gdb);
	if (c->n_qmp && !g->qmp[0])
		snprintf(g->lost_qmp, sizeof(g->lost_qmp), "%s", c->qmp[pick]);
	if (c->gdb[0] && !g->gdb[0])
		snprintf(g->lost_gdb, sizeof(g->lost_gdb), "%s", c->gdb);
}

/* Read a regular file of the VMM; NULL if it is not one, or too large. */
static char *read_config(int proc, const char *path)
{
	char inside[PATH_MAX + 8];
	snprintf(inside, sizeof(inside), path[0] == '/' ? "root%s" : "cwd/%s", path);
	/* Check the type before opening for reading: it may be a device or a pipe. */
	_cleanup_close_ int look = openat(proc, inside, O_PATH | O_CLOEXEC);
	struct stat st;
	if (look < 0 || fstat(look, &st) < 0 || !S_ISREG(st.st_mode) ||
	    st.st_size > MAX_CONFIG)
		return NULL;
	char again[32];
	snprintf(again, sizeof(again), "/proc/self/fd/%d", look);
	char *text = malloc(MAX_CONFIG + 1);
	if (text && us_read_file(AT_FDCWD, again, text, MAX_CONFIG + 1) <= 0) {
		free(text);
		return NULL;
	}
	return text;
}

/* Firecracker's --config-file. */
static void take_config(int proc, struct us_cmdline *c)
{
	_cleanup_free_ char *text = read_config(proc, c->config);
	json_t *o = text ? json_loads(text, 0, NULL) : NULL;
	const json_t *machine = json_object_get(o, "machine-config");
	const char *kernel = json_string_value(json_object_get(
		json_object_get(o, "boot-source"), "kernel_image_path"));
	json_int_t mib = json_integer_value(json_object_get(machine, "mem_size_mib"));
	if (kernel)
		snprintf(c->kernel, sizeof(c->kernel), "%s", kernel);
	if (mib > 0 && mib < 1LL << 32)
		c->memory = (uint64_t)mib << 20;
	json_decref(o);
}

/* A guest without a name is named after its kernel, else after its VMM. */
static void name_guest(const struct us_cmdline *c, struct us_guest *g)
{
	const char *slash = strrchr(g->kernel, '/');
	const char *kernel = slash ? slash + 1 : g->kernel;
	const char *name = c->name[0] ? c->name : kernel[0] ? kernel : g->vmm;
	us_printable(g->name, sizeof(g->name), name);
}

/* gVisor: the VMM's program is the kernel of its guest, at its own addresses. */
static bool is_own_kernel(const struct us_guest *g)
{
	return !strcmp(g->vmm, "runsc");
}

static void take_cmdline(int proc, struct us_cmdline *c, struct us_guest *g)
{
	if (c->config[0] && !g->limited)
		take_config(proc, c);
	g->memory = c->memory;
	snprintf(g->protection, sizeof(g->protection), "%s", c->protection);
	g->libvirt = c->libvirt;
	g->jailed = c->jailed;
	snprintf(g->kernel, sizeof(g->kernel), "%s", c->kernel);
	make_absolute(proc, left_folder(c), g->kernel, sizeof(g->kernel));
	if (is_own_kernel(g))
		snprintf(g->kernel, sizeof(g->kernel), "%s", g->exe);
	snprintf(g->boot, sizeof(g->boot), "%s", c->boot);
	make_absolute(proc, left_folder(c), g->boot, sizeof(g->boot));
	snprintf(g->counts, sizeof(g->counts), "%s", c->counts);
	make_absolute(proc, left_folder(c), g->counts, sizeof(g->counts));
	if (!strcmp(g->vmm, "qemu"))
		us_qemu_processor(g->exe, c->cpu, g->processor, sizeof(g->processor));
	name_guest(c, g);
	take_endpoints(proc, c, g);
}

/* vCPUs without fds: the command line gives their number. */
static void count_vcpus(const struct us_cmdline *c, struct us_guest *g)
{
	unsigned n = c->cpus ? c->cpus : 1;
	g->n_vcpu = n < US_MAX_VCPUS ? n : US_MAX_VCPUS;
	for (unsigned i = 0; i < g->n_vcpu; i++)
		g->vcpu[i] = (struct us_vcpu){ .index = i, .fd = -1 };
}

/* Judge what was found.  false: it is not a guest. */
static bool judge(bool runs_guest, bool has_kvm, const struct us_cmdline *c,
		  struct us_guest *g)
{
	if (g->n_vcpu) {
		g->accel = US_ACCEL_KVM;
		return true;
	}
	if (!runs_guest || !us_vmm_is_known(g->vmm))
		return false;
	if (g->limited) {
		g->accel = c->accel;
		count_vcpus(c, g);
		return true;
	}
	/* A KVM VMM without vCPUs is still starting, whether it has opened /dev/kvm or
	 * not. */
	bool tcg = c->accel == US_ACCEL_TCG ||
		   (c->accel == US_ACCEL_KVM && c->tcg_fallback && !has_kvm);
	if (!tcg)
		return false;
	g->accel = US_ACCEL_TCG;
	count_vcpus(c, g);
	return true;
}

/* *ret_maker: the process that runs the machine whose files this one has, or 0. */
static bool inspect(int proc, const struct us_proc_args *args, struct us_guest *g,
		    pid_t *ret_maker)
{
	_cleanup_free_ struct us_cmdline *c = calloc(1, sizeof(*c));
	if (!c)
		return false;
	bool kvm = false;
	int vm = -1;
	name_vmm(proc, args, g);
	g->limited = scan_fds(proc, g, &kvm, &vm) < 0;
	*ret_maker = maker_of(g, vm);
	if (*ret_maker)
		return false;
	if (!g->n_vcpu && !us_vmm_is_known(g->vmm))
		return false;
	bool runs = us_cmdline_parse(g->vmm, args->argc, args->argv, c);
	if (!judge(runs, kvm, c, g))
		return false;
	take_cmdline(proc, c, g);
	if (!g->limited)
		us_guest_find_threads(proc, g);
	return true;
}

/* A file that cannot be opened for want of descriptors would pass for one that is not
 * there: ask for as many as an inspection has open at once. */
static int ask_for_descriptors(int proc)
{
	int more[OPEN_AT_ONCE], n = 0, r = 0;
	while (r == 0 && n < OPEN_AT_ONCE) {
		more[n] = fcntl(proc, F_DUPFD_CLOEXEC, 0);
		if (more[n] < 0)
			r = -errno;
		else
			n++;
	}
	while (n)
		close(more[--n]);
	return r;
}

static int open_proc(pid_t pid, struct us_err *e)
{
	_cleanup_close_ int proc = us_proc_open(pid);
	int r = proc < 0 ? proc : ask_for_descriptors(proc);
	if (r == -EMFILE || r == -ENFILE) {
		us_fail(e, r, "inspect pid %d: %s", pid, strerror(-r));
		us_hint(e, r == -EMFILE ? "raise 'ulimit -n'"
					: "raise the sysctl fs.file-max");
		return r;
	}
	if (r < 0)
		return us_fail(e, -ENOENT, "inspect pid %d: there is no such process",
			       pid);
	return us_take_fd(proc);
}

int us_guest_inspect(pid_t pid, struct us_guest *ret, struct us_err *e)
{
	int r = us_proc_check(e);
	if (r < 0)
		return r;
	_cleanup_close_ int proc = open_proc(pid, e);
	if (proc < 0)
		return proc;
	struct us_proc_stat before, after;
	struct us_proc_args args;
	if (us_proc_stat(proc, &before) < 0 || !us_proc_args(proc, &args))
		return us_fail(e, -ENOENT,
			       "inspect pid %d: it has no command line: it is a kernel "
			       "thread, or it has ended",
			       pid);
	_cleanup_free_ struct us_guest *g = calloc(1, sizeof(*g));
	bool found = g;
	pid_t maker = 0;
	if (found) {
		g->pid = pid;
		g->start_time = before.start_time;
		found = us_proc_uid(proc, &g->uid) == 0 &&
			inspect(proc, &args, g, &maker) &&
			us_proc_stat(proc, &after) == 0 && after.state != 'Z';
	}
	us_proc_args_fini(&args);
	char comm[64];
	if (maker) {
		us_fail(e, -ENOENT,
			"inspect pid %d (%s): it has the files of a guest that pid %d "
			"runs, from which it was forked",
			pid, us_printable(comm, sizeof(comm), before.comm), maker);
		us_hint(e, "name pid %d", maker);
		return -ENOENT;
	}
	if (!found) {
		us_fail(e, -ENOENT,
			"inspect pid %d (%s): this is no guest that uniscope knows: it "
			"has no KVM vCPU, and is not known as a QEMU with TCG",
			pid, us_printable(comm, sizeof(comm), before.comm));
		us_hint(e, "'uniscope ps' lists the guests of this host");
		return -ENOENT;
	}
	*ret = *g;
	return 0;
}
