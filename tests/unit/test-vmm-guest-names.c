/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every guest has a name, whatever its VMM.  VMMs are copies of this program with a
 * VMM's name and arguments, which hold a KVM vCPU that they inherited.
 */
#include "qemu.h"
#include "toolchain.h"

#include "vmm/guest_list.h"
#include "vmm/ram.h"

#include <errno.h>
#include <linux/kvm.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/syscall.h>

#define IS_VMM "US_TEST_IS_VMM"
#define JAIL   "US_TEST_JAIL" /* a folder */
#define NOBODY 65534

#ifdef __aarch64__
static char loader[] = "/lib/ld-linux-aarch64.so.1";
#else
static char loader[] = "/lib64/ld-linux-x86-64.so.2";
#endif

static const struct vmm {
	const char *exe, *args, *name;
} vmms[] = {
	{ "solo5-hvt", "--mem=32|/srv/app.hvt|--verbose", "app.hvt" },
	{ "solo5-hvt", "app.hvt", "app.hvt" },
	{ "firecracker", "--id|vm-1|--api-sock|/run/fc.sock", "vm-1" },
	{ "firecracker", "--api-sock|/run/fc.sock", "firecracker" },
	{ "cloud-hypervisor", "--kernel|/boot/vmlinux", "vmlinux" },
	{ "crosvm", "run|--mem|256|/boot/bzImage", "bzImage" },
	{ "lkvm", "run|-k|/boot/bz|--name=x", "x" },
	{ "lkvm", "run|-k|/boot/bz", "bz" },
	{ "qemu-system-x86_64", "-name|web,debug-threads=on|-kernel|/k", "web" },
	{ "qemu-system-x86_64", "-kernel|/srv/kernel.elf", "kernel.elf" },
	{ "qemu-system-x86_64", "-drive|file=/disk.img", "qemu" },
	{ "my-own-vmm", "--kernel|/k", "my-own-vmm" },
	{ "a\x1b[2Jb", "x", "a?[2Jb" },
};

static bool by_loader; /* which is told to execute it */

/* A machine with one vCPU, held by descriptors that exec() leaves open. */
static bool hold_vcpu(void)
{
	int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	int vm = kvm < 0 ? -1 : ioctl(kvm, KVM_CREATE_VM, 0);
	int vcpu = vm < 0 ? -1 : ioctl(vm, KVM_CREATE_VCPU, 0);
	return vcpu >= 0 && fcntl(vm, F_SETFD, 0) == 0 && fcntl(vcpu, F_SETFD, 0) == 0;
}

static void become(const struct vmm *v, bool kvm)
{
	char text[256], *argv[16] = { (char *)v->exe }, *rest;
	int n = 1;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	strcpy(text, v->args);
	for (char *w = strtok_r(text, "|", &rest); w && n < 15;
	     w = strtok_r(NULL, "|", &rest))
		argv[n++] = w;
	argv[n] = NULL;
	setenv(IS_VMM, "1", 1);
	if (by_loader) {
		memmove(argv + 2, argv, sizeof(argv) - 2 * sizeof(argv[0]));
		argv[0] = loader;
		argv[1] = (char *)(uintptr_t) "--inhibit-cache";
		argv[2] = (char *)(uintptr_t)in_work_dir(v->exe);
		execv(loader, argv);
	}
	if (!kvm || hold_vcpu())
		execv(in_work_dir("copy"), argv);
	_exit(1);
}

/* Started, and past exec(). */
static pid_t start(const struct vmm *v, bool kvm)
{
	int gone[2];
	char byte, self[PATH_MAX] = "";
	assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	assert_true(
		run("rm -f copy '%s' && cp %s '%s' && ln -s '%s' copy && chmod 755 .",
		    v->exe, self, v->exe, v->exe));
	assert_int_equal(pipe2(gone, O_CLOEXEC), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (!pid)
		become(v, kvm);
	close(gone[1]);
	assert_int_equal(read(gone[0], &byte, 1), 0);
	close(gone[0]);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void every_vmm_has_a_name(void **state)
{
	(void)state;
	static struct us_guest g;
	struct us_err e = { 0 };
	if (!have_kvm()) {
		print_message("# SKIP: no /dev/kvm here\n");
		skip();
	}
	for (size_t i = 0; i < sizeof(vmms) / sizeof(vmms[0]); i++) {
		pid_t pid = start(&vmms[i], true);
		int r = us_guest_inspect(pid, &g, &e);
		end(pid);
		if (r < 0 || strcmp(g.name, vmms[i].name) != 0)
			fail_msg("%s %s: %s, not %s (%s)", vmms[i].exe, vmms[i].args,
				 g.name, vmms[i].name, e.msg);
		assert_int_equal(g.n_vcpu, 1);
		assert_int_equal(g.accel, US_ACCEL_KVM);
	}
}

/* To the kernel the loader is what runs. */
static void behind_a_loader(void **state)
{
	(void)state;
	static const struct vmm v = { "qemu-system-aarch64",
				      "-M|virt|-name|far|-kernel|/srv/k", "far" };
	static struct us_guest g;
	struct us_err e = { 0 };
	if (access(loader, X_OK) < 0) {
		print_message("# SKIP: there is no %s\n", loader);
		skip();
	}
	by_loader = true;
	pid_t pid = start(&v, false);
	by_loader = false;
	int r = us_guest_inspect(pid, &g, &e);
	end(pid);
	assert_int_equal(r, 0);
	assert_string_equal(g.name, "far");
	assert_string_equal(g.vmm, "qemu");
	assert_string_equal(g.exe, in_work_dir("qemu-system-aarch64"));
	assert_string_equal(g.kernel, "/srv/k");
}

/* QEMU without KVM, of which /proc shows no more than the command line. */
static void without_kvm_too(void **state)
{
	(void)state;
	static const struct vmm tcg[] = {
		{ "qemu-system-riscv64", "-kernel|/srv/kernel.elf", "kernel.elf" },
		{ "qemu-system-x86_64", "-accel|tcg|-name|guest=db", "db" },
		{ "qemu-system-i386", "-m|64", "qemu" },
	};
	static struct us_guest g;
	struct us_err e = { 0 };
	for (size_t i = 0; i < sizeof(tcg) / sizeof(tcg[0]); i++) {
		pid_t pid = start(&tcg[i], false);
		int r = us_guest_inspect(pid, &g, &e);
		end(pid);
		assert_int_equal(r, 0);
		assert_string_equal(g.name, tcg[i].name);
	}
}

/* As another user, in a process of its own: this one keeps its rights. */
static bool may_read(const struct us_guest *g, uid_t uid)
{
	pid_t pid = fork();
	int status = -1;
	if (!pid) {
		struct us_err e = { 0 };
		if (uid && setresuid(uid, uid, uid) < 0)
			_exit(2);
		int r = us_ram_check_right(g, &e);
		_exit(r == 0 ? 0 : r == -EPERM && e.hint[0] ? 1 : 2);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
	return WEXITSTATUS(status) == 0;
}

static void the_right_to_read_is_asked_for(void **state)
{
	(void)state;
	static const struct vmm v = { "qemu-system-x86_64", "-m|64", "qemu" };
	static struct us_guest g;
	struct us_err e = { 0 };
	if (geteuid()) {
		print_message("# SKIP: needs root to become another user\n");
		skip();
	}
	pid_t pid = start(&v, false);
	assert_int_equal(us_guest_inspect(pid, &g, &e), 0);
	bool root = may_read(&g, 0), nobody = may_read(&g, NOBODY);
	end(pid);
	if (!root) {
		print_message("# SKIP: root may not trace here\n");
		skip();
	}
	assert_false(nobody);
	assert_int_equal(us_ram_check_right(&g, &e), -ESRCH);
}

/* As Firecracker's jailer does, or with chroot alone. */
static void enter_jail(const char *folder)
{
	bool pivot = strstr(folder, "pivot");
	if (pivot && (unshare(CLONE_NEWNS) < 0 ||
		      mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		      mount(folder, folder, NULL, MS_BIND, NULL) < 0))
		_exit(1);
	if (chdir(folder) < 0 ||
	    (pivot &&
	     (syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", MNT_DETACH) < 0)) ||
	    chroot(".") < 0 || chdir("/conf") < 0)
		_exit(1);
}

/* Has it come to the end of that? */
static bool is_jailed(pid_t pid)
{
	char path[32], cwd[PATH_MAX] = "";
	snprintf(path, sizeof(path), "/proc/%d/cwd", pid);
	return readlink(path, cwd, sizeof(cwd) - 1) > 5 &&
	       !strcmp(cwd + strlen(cwd) - 5, "/conf");
}

static bool has_ended(pid_t pid)
{
	siginfo_t info = { 0 };
	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
	       info.si_pid == pid;
}

static void check_jailed(const char *jail)
{
	static const struct vmm v = { "firecracker-v1.12.1-x86_64",
				      "--id|vm-1|--no-api|--config-file|vm.json",
				      "vm-1" };
	static struct us_guest g;
	struct us_err e = { 0 };
	char path[PATH_MAX], want[64], text[16] = "";
	assert_true(run("mkdir -p %s/conf && echo kernel >%s/conf/vmlinux && cat "
			">%s/conf/vm.json <<'X'\n"
			"{\"boot-source\": {\"kernel_image_path\": \"vmlinux\"},"
			" \"machine-config\": {\"vcpu_count\": 1,"
			" \"mem_size_mib\": 4096}}\nX\n",
			jail, jail, jail));
	setenv(JAIL, in_work_dir(jail), 1);
	pid_t pid = start(&v, true);
	unsetenv(JAIL);
	for (int i = 0; i < 1000 && !is_jailed(pid) && !has_ended(pid); i++)
		usleep(10000);
	/* It needs a root directory that is a mount: of a chroot that is none. */
	if (!strcmp(jail, "pivot") && has_ended(pid)) {
		end(pid);
		print_message("# no pivot_root() below this root directory\n");
		return;
	}
	int r = us_guest_inspect(pid, &g, &e);
	bool have = r == 0 && us_guest_kernel_path(&g, path, sizeof(path));
	int fd = have ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	bool got = fd >= 0 && read(fd, text, sizeof(text) - 1) > 0;
	close(fd);
	end(pid);
	assert_int_equal(r, 0);
	assert_string_equal(g.vmm, "firecracker");
	assert_string_equal(g.name, "vm-1");
	assert_int_equal(g.memory, 4096ULL << 20);
	assert_string_equal(g.kernel, "/conf/vmlinux");
	snprintf(want, sizeof(want), "/proc/%d/root/conf/vmlinux", pid);
	assert_string_equal(path, want);
	assert_true(got);
	assert_string_equal(text, "kernel\n");
}

static void in_a_jail(void **state)
{
	(void)state;
	if (!have_kvm() || geteuid()) {
		print_message("# SKIP: no /dev/kvm here, or not root\n");
		skip();
	}
	check_jailed("chroot");
	check_jailed("pivot");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_vmm_has_a_name),
		cmocka_unit_test(without_kvm_too),
		cmocka_unit_test(behind_a_loader),
		cmocka_unit_test(the_right_to_read_is_asked_for),
		cmocka_unit_test(in_a_jail),
	};
	if (getenv(IS_VMM) && getenv(JAIL))
		enter_jail(getenv(JAIL));
	if (getenv(IS_VMM))
		for (;;)
			pause();
	return cmocka_run_group_tests(tests, enter_work_dir, leave_work_dir);
}
