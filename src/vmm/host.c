/* SPDX-License-Identifier: GPL-2.0-or-later */
/* host.c: see host.h. */
#include "vmm/host.h"
#include "base/cleanup.h"
#include "base/io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#define QEMU	    "qemu-system-"
#define PLUGIN_CALL "qemu_plugin_register_vcpu_tb_trans_cb"
#define QEMU_MOST   (256L << 20) /* bytes of the largest program that is searched */

static bool read_text(const char *path, char *text, size_t size)
{
	return us_read_file(AT_FDCWD, path, text, size) > 0;
}

bool us_host_capable(unsigned capability)
{
	char status[4096];
	const char *at = NULL;
	if (read_text("/proc/self/status", status, sizeof(status)))
		at = strstr(status, "\nCapEff:");
	return at && strtoull(at + strlen("\nCapEff:"), NULL, 16) >> capability & 1;
}

int us_host_ptrace_scope(void)
{
	char text[16];
	return read_text("/proc/sys/kernel/yama/ptrace_scope", text, sizeof(text))
		       ? atoi(text)
		       : 0;
}

int us_host_may_trace(struct us_err *why)
{
	int scope = us_host_ptrace_scope();
	bool capable = us_host_capable(CAP_SYS_PTRACE);
	if (scope >= 3)
		return us_fail(why, -EPERM,
			       "kernel.yama.ptrace_scope is %d: nobody may attach "
			       "until this host reboots",
			       scope);
	if (capable)
		return 0;
	if (scope)
		us_fail(why, -EPERM,
			"kernel.yama.ptrace_scope is %d: only CAP_SYS_PTRACE may "
			"attach",
			scope);
	else
		us_fail(why, -EPERM, "only to guests of uid %u", geteuid());
	us_hint(why, "run uniscope with sudo");
	return scope ? -EPERM : 0;
}

bool us_host_realtime(void)
{
	struct rlimit most;
	return us_host_capable(CAP_SYS_NICE) ||
	       (getrlimit(RLIMIT_RTPRIO, &most) == 0 && most.rlim_cur > 0);
}

/* Checks the first CPU: they are all alike. */
static bool has_flag(const char *cpuinfo, const char *flag)
{
	const char *line = strstr(cpuinfo, "\nflags");
	size_t len = strlen(flag);
	if (!line)
		return false;
	const char *end = strchr(line + 1, '\n');
	for (const char *at = line; (at = strstr(at, flag)) && (!end || at < end);
	     at += len)
		if (at[-1] == ' ' && (at[len] == ' ' || at[len] == '\n' || !at[len]))
			return true;
	return false;
}

static void read_processor(struct us_host *ret)
{
	char text[16384];
	if (!read_text("/proc/cpuinfo", text, sizeof(text)))
		return;
	ret->is_guest = has_flag(text, "hypervisor");
	if (has_flag(text, "vmx"))
		strcpy(ret->wanted, "kvm_intel");
	else if (has_flag(text, "svm"))
		strcpy(ret->wanted, "kvm_amd");
}

/* Where the modules are built in, both have a folder. */
static void read_kvm(struct us_host *ret)
{
	static const char *const modules[] = { "kvm_intel", "kvm_amd", "kvm_pvm" };
	char path[64], text[8];
	ret->has_kvm = access("/dev/kvm", F_OK) == 0;
	ret->may_run = access("/dev/kvm", R_OK | W_OK) == 0;
	for (size_t i = 0; i < sizeof(modules) / sizeof(*modules); i++) {
		snprintf(path, sizeof(path), "/sys/module/%s", modules[i]);
		bool certain = ret->kvm[0] && !strcmp(ret->kvm, ret->wanted);
		if (certain || access(path, F_OK))
			continue;
		snprintf(ret->kvm, sizeof(ret->kvm), "%s", modules[i]);
		snprintf(path, sizeof(path), "/sys/module/%s/parameters/nested",
			 modules[i]);
		ret->is_nested = read_text(path, text, sizeof(text)) &&
				 (*text == 'Y' || *text == '1');
	}
	/* A container may lack the device. */
	bool built_in = ret->has_kvm || access("/sys/module/kvm", F_OK) == 0;
	if (built_in && !strcmp(ret->machine, "aarch64"))
		strcpy(ret->kvm, "kvm");
}

void us_host_read(struct us_host *ret)
{
	struct utsname name;
	memset(ret, 0, sizeof(*ret));
	if (uname(&name) == 0) {
		snprintf(ret->release, sizeof(ret->release), "%s", name.release);
		snprintf(ret->machine, sizeof(ret->machine), "%s", name.machine);
	}
	long n = sysconf(_SC_NPROCESSORS_ONLN);
	ret->n_cpu = n > 0 ? (unsigned)n : 1;
	read_processor(ret);
	read_kvm(ret);
}

/* --- QEMU --- */

/* Plugins call functions of QEMU, so a QEMU with plugins exports these. */
static bool has_plugins(int fd, size_t size)
{
	void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return false;
	bool found = memmem(bytes, size, PLUGIN_CALL, strlen(PLUGIN_CALL)) != NULL;
	munmap(bytes, size);
	return found;
}

static bool lacks_plugins(const char *path, bool *ret_there)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat s;
	char magic[4];
	*ret_there = fd >= 0 && fstat(fd, &s) == 0 && S_ISREG(s.st_mode);
	return *ret_there && s.st_size <= QEMU_MOST &&
	       pread(fd, magic, sizeof(magic), 0) == sizeof(magic) &&
	       !memcmp(magic, "\177ELF", sizeof(magic)) &&
	       !has_plugins(fd, (size_t)s.st_size);
}

bool us_host_takes_plugins(const char *program)
{
	const char *folders = getenv("PATH");
	bool there = false;
	if (strchr(program, '/'))
		return !lacks_plugins(program, &there);
	for (const char *at = folders ? folders : ""; *at && !there;) {
		char path[PATH_MAX];
		int n = (int)strcspn(at, ":");
		snprintf(path, sizeof(path), "%.*s/%s", n, at, program);
		if (lacks_plugins(path, &there))
			return false;
		at += n + (at[n] == ':');
	}
	return true;
}

/* /bin and /usr/bin may be one folder, and one program may have several names. */
static bool is_new(const struct us_host_qemu *q, size_t n, const struct stat *s)
{
	for (size_t i = 0; i < n; i++)
		if (q[i].device == s->st_dev && q[i].inode == s->st_ino)
			return false;
	return true;
}

static bool add_qemu(int dir, const char *folder, const char *name,
		     struct us_host_qemu *q, size_t n)
{
	_cleanup_close_ int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat s;
	if (fd < 0 || faccessat(dir, name, X_OK, 0) || fstat(fd, &s) < 0 ||
	    !S_ISREG(s.st_mode) || s.st_size <= 0 || s.st_size > QEMU_MOST ||
	    !is_new(q, n, &s))
		return false;
	int len = snprintf(q[n].path, sizeof(q[n].path), "%s/%s", folder, name);
	if (len < 0 || (size_t)len >= sizeof(q[n].path))
		return false;
	q[n].device = s.st_dev;
	q[n].inode = s.st_ino;
	q[n].has_plugins = has_plugins(fd, (size_t)s.st_size);
	return true;
}

static size_t add_folder(const char *folder, struct us_host_qemu *q, size_t n,
			 size_t max)
{
	DIR *d = opendir(folder);
	if (!d)
		return n;
	for (struct dirent *f; n < max && (f = readdir(d));)
		if (!strncmp(f->d_name, QEMU, strlen(QEMU)))
			n += add_qemu(dirfd(d), folder, f->d_name, q, n);
	closedir(d);
	return n;
}

static int by_path(const void *a, const void *b)
{
	const struct us_host_qemu *x = a, *y = b;
	return strcmp(x->path, y->path);
}

size_t us_host_qemus(const char *folders, struct us_host_qemu *ret, size_t max)
{
	size_t n = 0;
	for (const char *at = folders, *end; at && *at && n < max;
	     at = *end ? end + 1 : end) {
		char folder[256];
		end = strchrnul(at, ':');
		if (end - at > 0 && (size_t)(end - at) < sizeof(folder)) {
			memcpy(folder, at, (size_t)(end - at));
			folder[end - at] = '\0';
			n = add_folder(folder, ret, n, max);
		}
	}
	qsort(ret, n, sizeof(*ret), by_path);
	return n;
}
