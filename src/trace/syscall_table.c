/* SPDX-License-Identifier: GPL-2.0-or-later */
/* syscall_table.c: see syscall_table.h. */
#include "trace/syscall_table.h"

#include <stdlib.h>
#include <string.h>

struct signature {
	const char *name, *args;
};

/* By name, sorted.  The arguments are the same in all ABIs, where not said otherwise.
 */
/* clang-format off */
static const struct signature signatures[] = {
	{ "accept", "fpp" }, { "accept4", "fppx" }, { "access", "sd" },
	{ "alarm", "u" }, { "arch_prctl", "xp" }, { "bind", "fpd" }, { "brk", "p" },
	{ "capget", "pp" }, { "capset", "pp" }, { "chdir", "s" }, { "chmod", "so" },
	{ "chown", "sdd" }, { "chroot", "s" }, { "clock_getres", "dp" },
	{ "clock_gettime", "dp" }, { "clock_nanosleep", "dxpp" }, { "clone", "xpppp" },
	{ "clone3", "pu" }, { "close", "f" }, { "close_range", "uux" },
	{ "connect", "fpd" }, { "copy_file_range", "fpfplx" }, { "creat", "so" },
	{ "dup", "f" }, { "dup2", "ff" }, { "dup3", "ffO" }, { "epoll_create", "d" },
	{ "epoll_create1", "x" }, { "epoll_ctl", "fdfp" }, { "epoll_pwait", "fpddpu" },
	{ "epoll_wait", "fpdd" }, { "eventfd", "u" }, { "eventfd2", "ux" },
	{ "execve", "spp" }, { "execveat", "Asppx" }, { "exit", "d" },
	{ "exit_group", "d" }, { "faccessat", "Asd" }, { "faccessat2", "Asdx" },
	{ "fadvise64", "flld" }, { "fallocate", "fxll" }, { "fchdir", "f" },
	{ "fchmod", "fo" }, { "fchmodat", "Aso" }, { "fchown", "fdd" },
	{ "fchownat", "Asddx" }, { "fcntl", "fdx" }, { "fcntl64", "fdx" },
	{ "fdatasync", "f" }, { "fgetxattr", "fspu" }, { "flock", "fx" }, { "fork", "" },
	{ "fremovexattr", "fs" }, { "fstat", "fp" }, { "fstat64", "fp" },
	{ "fstatfs", "fp" }, { "fsync", "f" }, { "ftruncate", "fl" },
	{ "futex", "pxuppu" }, { "futimesat", "Asp" }, { "get_robust_list", "dpp" },
	{ "getcpu", "ppp" }, { "getcwd", "pu" }, { "getdents", "fpu" },
	{ "getdents64", "fpu" }, { "getegid", "" }, { "getegid32", "" },
	{ "geteuid", "" }, { "geteuid32", "" }, { "getgid", "" }, { "getgid32", "" },
	{ "getgroups", "dp" }, { "getitimer", "dp" }, { "getpeername", "fpp" },
	{ "getpgid", "d" }, { "getpgrp", "" }, { "getpid", "" }, { "getppid", "" },
	{ "getpriority", "dd" }, { "getrandom", "Bux" }, { "getresgid", "ppp" },
	{ "getresuid", "ppp" }, { "getrlimit", "dp" }, { "getrusage", "dp" },
	{ "getsid", "d" }, { "getsockname", "fpp" }, { "getsockopt", "fddpp" },
	{ "gettid", "" }, { "gettimeofday", "pp" }, { "getuid", "" },
	{ "getuid32", "" }, { "getxattr", "sspu" }, { "inotify_add_watch", "fsx" },
	{ "inotify_init1", "x" }, { "inotify_rm_watch", "fd" }, { "io_setup", "up" },
	{ "io_uring_enter", "fuuxpu" }, { "io_uring_setup", "up" }, { "ioctl", "fxx" },
	{ "kill", "dS" }, { "lchown", "sdd" }, { "lgetxattr", "sspu" }, { "link", "ss" },
	{ "linkat", "AsAsx" }, { "listen", "fd" }, { "listxattr", "spu" },
	{ "lseek", "flW" }, { "lstat", "sp" }, { "lstat64", "sp" }, { "madvise", "pud" },
	{ "membarrier", "dxd" }, { "memfd_create", "sx" }, { "mkdir", "so" },
	{ "mkdirat", "Aso" }, { "mknod", "sox" }, { "mknodat", "Asox" },
	{ "mlock", "pu" }, { "mmap", "puPMfx" }, { "mmap2", "puPMfx" },
	{ "mount", "sssxp" }, { "mprotect", "puP" }, { "mremap", "puuxp" },
	{ "msync", "pux" }, { "munlock", "pu" }, { "munmap", "pu" },
	{ "name_to_handle_at", "Asppx" }, { "nanosleep", "pp" }, { "newfstatat", "Aspx" },
	{ "open", "sOo" }, { "openat", "AsOo" }, { "openat2", "Aspu" }, { "pause", "" },
	{ "personality", "x" }, { "pidfd_open", "dx" }, { "pipe", "p" },
	{ "pipe2", "pO" }, { "pivot_root", "ss" }, { "poll", "pud" },
	{ "ppoll", "puppu" }, { "prctl", "dxxxx" }, { "pread64", "fBul" },
	{ "preadv", "fpul" }, { "prlimit64", "ddpp" }, { "pselect6", "dppppp" },
	{ "pwrite64", "fbul" }, { "pwritev", "fpul" }, { "read", "fBu" },
	{ "readahead", "flu" }, { "readlink", "sBu" }, { "readlinkat", "AsBu" },
	{ "readv", "fpu" }, { "reboot", "xxxp" }, { "recvfrom", "fBuxpp" },
	{ "recvmsg", "fpx" }, { "rename", "ss" }, { "renameat", "AsAs" },
	{ "renameat2", "AsAsx" }, { "restart_syscall", "" }, { "rmdir", "s" },
	{ "rseq", "puxx" }, { "rt_sigaction", "Sppu" }, { "rt_sigpending", "pu" },
	{ "rt_sigprocmask", "dppu" }, { "rt_sigreturn", "" }, { "rt_sigsuspend", "pu" },
	{ "rt_sigtimedwait", "pppu" }, { "sched_get_priority_max", "d" },
	{ "sched_getaffinity", "dup" }, { "sched_getparam", "dp" },
	{ "sched_getscheduler", "d" }, { "sched_setaffinity", "dup" },
	{ "sched_setscheduler", "ddp" }, { "sched_yield", "" }, { "select", "dpppp" },
	{ "sendfile", "ffpu" }, { "sendfile64", "ffpu" }, { "sendmmsg", "fpux" },
	{ "sendmsg", "fpx" }, { "sendto", "fbuxpd" }, { "set_robust_list", "pu" },
	{ "set_thread_area", "p" }, { "set_tid_address", "p" }, { "setgid", "d" },
	{ "setgroups", "dp" }, { "sethostname", "su" }, { "setitimer", "dpp" },
	{ "setpgid", "dd" }, { "setpriority", "ddd" }, { "setresgid", "ddd" },
	{ "setresuid", "ddd" }, { "setrlimit", "dp" }, { "setsid", "" },
	{ "setsockopt", "fddpd" }, { "setuid", "d" }, { "shutdown", "fd" },
	{ "sigaltstack", "pp" }, { "signalfd4", "fpux" }, { "socket", "ddd" },
	{ "socketpair", "dddp" }, { "splice", "fpfpux" }, { "stat", "sp" },
	{ "stat64", "sp" }, { "statfs", "sp" }, { "statx", "Asxxp" }, { "symlink", "ss" },
	{ "symlinkat", "sAs" }, { "sync", "" }, { "syncfs", "f" }, { "sysinfo", "p" },
	{ "tgkill", "ddS" }, { "time", "p" }, { "timer_create", "dpp" },
	{ "timerfd_create", "dx" }, { "timerfd_settime", "fxpp" }, { "times", "p" },
	{ "tkill", "dS" }, { "truncate", "sl" }, { "umask", "o" }, { "umount2", "sx" },
	{ "uname", "p" }, { "unlink", "s" }, { "unlinkat", "Asx" }, { "unshare", "x" },
	{ "utime", "sp" }, { "utimensat", "Aspx" }, { "utimes", "sp" }, { "vfork", "" },
	{ "vhangup", "" }, { "wait4", "dpxp" }, { "waitid", "ddpxp" },
	{ "waitpid", "dpx" }, { "write", "fbu" }, { "writev", "fpu" },
};
/* Where 32-bit x86 differs: 64-bit numbers take two registers, and some calls have kept
 * an older form.  By name, sorted. */
static const struct signature i386_signatures[] = {
	{ "_llseek", "fxupW" }, { "_newselect", "dpppp" }, { "fadvise64", "fLHud" },
	{ "fadvise64_64", "fLHLHd" }, { "fallocate", "fxLHLH" },
	{ "ftruncate64", "fLH" }, { "mmap", "p" }, { "pread64", "fBuLH" },
	{ "preadv", "fpuLH" }, { "preadv2", "fpuLHx" }, { "pwrite64", "fbuLH" },
	{ "pwritev", "fpuLH" }, { "pwritev2", "fpuLHx" }, { "readahead", "fLHu" },
	{ "select", "p" }, { "sync_file_range", "fLHLHx" }, { "truncate64", "sLH" },
};
/* clang-format on */

const char *us_syscall_name(enum us_syscall_abi abi, uint64_t number)
{
	const struct us_syscall_numbers *n = &us_syscall_numbers[abi];
	return number < n->n ? n->name[number] : NULL;
}

bool us_syscall_number(enum us_syscall_abi abi, const char *name, uint64_t *ret)
{
	const struct us_syscall_numbers *n = &us_syscall_numbers[abi];
	char *end;
	*ret = strtoull(name, &end, 0);
	if (end != name && !*end)
		return true;
	for (*ret = 0; *ret < n->n; ++*ret)
		if (n->name[*ret] && !strcmp(n->name[*ret], name))
			return true;
	return false;
}

static int by_name(const void *name, const void *signature)
{
	return strcmp(name, ((const struct signature *)signature)->name);
}

static const char *args_in(const struct signature *v, size_t n, const char *name)
{
	const struct signature *s = bsearch(name, v, n, sizeof(*v), by_name);
	return s ? s->args : NULL;
}

const char *us_syscall_args(enum us_syscall_abi abi, uint64_t number)
{
	const char *name = us_syscall_name(abi, number), *args = NULL;
	if (name && abi == US_ABI_I386)
		args = args_in(i386_signatures,
			       sizeof(i386_signatures) / sizeof(i386_signatures[0]),
			       name);
	if (name && !args)
		args = args_in(signatures, sizeof(signatures) / sizeof(signatures[0]),
			       name);
	return args;
}

enum us_syscall_fate us_syscall_fate(enum us_syscall_abi abi, uint64_t number)
{
	static const struct {
		const char *name;
		enum us_syscall_fate fate;
	} fates[] = {
		{ "exit", US_SYSCALL_NEVER },
		{ "exit_group", US_SYSCALL_NEVER },
		{ "fork", US_SYSCALL_FORKS },
		{ "vfork", US_SYSCALL_FORKS },
		{ "clone", US_SYSCALL_FORKS },
		{ "clone3", US_SYSCALL_FORKS },
		{ "execve", US_SYSCALL_EXECS },
		{ "execveat", US_SYSCALL_EXECS },
		{ "sigreturn", US_SYSCALL_RESTORES },
		{ "rt_sigreturn", US_SYSCALL_RESTORES },
	};
	const char *name = us_syscall_name(abi, number);
	for (size_t i = 0; name && i < sizeof(fates) / sizeof(fates[0]); i++)
		if (!strcmp(name, fates[i].name))
			return fates[i].fate;
	return US_SYSCALL_RETURNS;
}
