/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Guests are found in /proc: real QEMU, under TCG and under KVM. */
#include "qemu.h"

#include "vmm/guest_list.h"
#include "vmm/guest_threads.h"
#include "vmm/qmp.h"

#include <errno.h>
#include <linux/kvm.h>
#include <pthread.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#define MIB (1ULL << 20)

static void threads_are_told_by_name(void **state)
{
	(void)state;
	static const struct {
		const char *comm;
		int vcpu;
	} t[] = {
		{ "CPU 0/KVM", 0 },
		{ "CPU 12/TCG", 12 },
		{ "ALL CPUs/TCG", US_THREAD_ALL },
		{ "fc_vcpu 3", 3 },
		{ "vcpu0", 0 },
		{ "crosvm_vcpu15", 15 },
		{ "kvm-vcpu-2", 2 },
		{ "CPU x/KVM", -1 },
		{ "CPU 0", -1 },
		{ "CPU 99999/KVM", -1 },
		{ "vcpu", -1 },
		{ "vcpu99999", -1 },
		{ "vcpu1x", -1 },
		{ "qemu-system-x86", -1 },
		{ "", -1 },
	};
	for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++)
		assert_int_equal(us_thread_vcpu(t[i].comm), t[i].vcpu);
}

static void threads_are_told_by_their_call(void **state)
{
	(void)state;
	assert_int_equal(
		us_thread_kvm_run("16 0xf 0xae80 0x0 0x0 0x0 0x0 0x7ff 0x7f2\n"), 15);
	assert_int_equal(us_thread_kvm_run("29 0x10 0xae80 0x0"), 16);
	assert_int_equal(us_thread_kvm_run("running\n"), -1);
	assert_int_equal(us_thread_kvm_run("16 0xf 0xae81"), -1);
	assert_int_equal(us_thread_kvm_run("202 0xf 0xae80"), -1);
	assert_int_equal(us_thread_kvm_run("16 0xffffffff 0xae80"), -1);
	assert_int_equal(us_thread_kvm_run(""), -1);
}

static void we_are_no_guest(void **state)
{
	(void)state;
	static struct us_guest g;
	struct us_err e = { 0 };
	assert_int_equal(us_guest_inspect(getpid(), &g, &e), -ENOENT);
	assert_non_null(strstr(e.msg, "no guest"));
	assert_int_equal(us_guest_inspect(INT_MAX, &g, &e), -ENOENT);
	assert_int_equal(us_guest_inspect(2, &g, &e), -ENOENT);
}

/* With few descriptors left, a guest must not pass for no guest. */
static void too_few_descriptors_are_said(void **state)
{
	(void)state;
	static struct us_guest g;
	struct us_guest_list l = { 0 };
	struct us_err e = { 0 };
	struct rlimit old, few;
	int next = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_true(next >= 0);
	close(next);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	for (unsigned left = 0; left < 5; left++) {
		few = old;
		few.rlim_cur = (rlim_t)next + left;
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
		int one = us_guest_inspect(getppid(), &g, &e);
		int all = us_guest_list_scan(&l, &e);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
		assert_int_equal(one, -EMFILE);
		assert_int_equal(all, -EMFILE);
		assert_non_null(strstr(e.hint, "ulimit -n"));
	}
}

static struct us_guest make(pid_t pid, const char *name)
{
	struct us_guest g = { .pid = pid, .vmm = "qemu", .accel = US_ACCEL_TCG };
	snprintf(g.name, sizeof(g.name), "%s", name);
	return g;
}

static void select_says_why_not(void **state)
{
	(void)state;
	static struct us_guest v[40], got;
	struct us_guest_list none = { 0 }, l = { .v = v };
	struct us_err e = { 0 };
	assert_int_equal(us_guest_select(&none, NULL, &got, &e), -ENOENT);
	assert_true(e.hint[0]);
	v[l.n++] = make(100, "web");
	assert_int_equal(us_guest_select(&l, NULL, &got, &e), 0);
	assert_int_equal(got.pid, 100);
	v[l.n++] = make(200, "db");
	assert_int_equal(us_guest_select(&l, NULL, &got, &e), -EEXIST);
	assert_string_equal(e.msg, "find the guest: 2 run on this host: "
				   "100 (qemu 'web'), 200 (qemu 'db')");
	assert_string_equal(e.hint, "name one by its pid: uniscope record PID");
	assert_int_equal(us_guest_select(&l, "db", &got, &e), 0);
	assert_int_equal(got.pid, 200);
	assert_int_equal(us_guest_select(&l, "100", &got, &e), 0);
	assert_int_equal(got.pid, 100);
	assert_int_equal(us_guest_select(&l, "x\x1b", &got, &e), -ENOENT);
	assert_non_null(strstr(e.msg, "'x?'"));
	assert_string_equal(e.hint, "one of 100 (qemu 'web'), 200 (qemu 'db') "
				    "('uniscope ps' says more)");
	assert_int_equal(us_guest_select(&l, "wbe", &got, &e), -ENOENT);
	assert_non_null(strstr(e.msg, "did you mean web?"));
	assert_int_equal(us_guest_select(&none, "web", &got, &e), -ENOENT);
	assert_non_null(strstr(e.hint, "no guest runs"));
	assert_int_equal(us_guest_select(&l, "", &got, &e), -ENOENT);
	assert_int_equal(us_guest_select(&l, "1", &got, &e), -ENOENT);
	v[l.n++] = make(300, "web");
	assert_int_equal(us_guest_select(&l, "web", &got, &e), -EEXIST);
	assert_null(strstr(e.msg, "200"));
	v[0].limited = true;
	assert_int_equal(us_guest_select(&l, "100", &got, &e), -EACCES);
	assert_non_null(strstr(e.hint, "sudo uniscope record 100"));
	/* Who may use its stub or its monitor needs no other right. */
	strcpy(v[0].gdb, "gdb:/nonexistent/stub");
	assert_int_equal(us_guest_select(&l, "100", &got, &e), -EACCES);
	strcpy(v[0].qmp, "qmp:/dev/null");
	assert_int_equal(us_guest_select(&l, "100", &got, &e), 0);
	v[0].qmp[0] = '\0';
	strcpy(v[0].gdb, "gdb:localhost:1234");
	assert_int_equal(us_guest_select(&l, "100", &got, &e), 0);
	v[0].gdb[0] = '\0';
	v[0].limited = false;
	v[0].several = true;
	assert_int_equal(us_guest_select(&l, "100", &got, &e), -ENOTSUP);
	for (; l.n < 40; l.n++)
		v[l.n] = make((pid_t)(1000000 + l.n), "a name of some length, to fill");
	assert_int_equal(us_guest_select(&l, NULL, &got, &e), -EEXIST);
	assert_non_null(strstr(e.msg, ", ..."));
}

static bool in_list(const struct us_guest_list *l, pid_t pid)
{
	for (size_t i = 0; i < l->n; i++) {
		if (i)
			assert_true(l->v[i - 1].pid < l->v[i].pid);
		if (l->v[i].pid == pid)
			return true;
	}
	return false;
}

/* Common to both accelerators: QEMU with two vCPUs, named threads and a monitor. */
static void finds_qemu(const char *args, enum us_accel accel)
{
	static struct us_guest g;
	struct qemu vm;
	struct us_err e = { 0 };
	char want[96];
	qemu_start(&vm, args);
	assert_true(qemu_wait_file(&vm, vm.qmp));
	struct us_qmp *q;
	assert_int_equal(us_qmp_open(vm.qmp, &q, &e), 0);
	assert_int_equal(us_guest_inspect(vm.pid, &g, &e), 0);
	assert_int_equal(g.pid, vm.pid);
	assert_int_equal(g.accel, accel);
	assert_string_equal(g.vmm, "qemu");
	assert_string_equal(g.name, "t,1");
	assert_int_equal(g.uid, getuid());
	assert_int_equal(g.memory, 48 * MIB);
	assert_false(g.limited);
	assert_false(g.several);
	assert_int_equal(g.n_vcpu, 2);
	/* The first monitor is held by us: the other one is offered. */
	snprintf(want, sizeof(want), "qmp:%s/second", vm.dir);
	assert_string_equal(g.qmp, want);
	snprintf(want, sizeof(want), "gdb:%s/gdb", vm.dir);
	assert_string_equal(g.gdb, want);

	struct us_guest named = g;
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(g.vcpu[i].index, i);
		assert_true(g.vcpu[i].tid > 0);
		assert_int_equal(g.vcpu[i].fd >= 0, accel == US_ACCEL_KVM);
		g.vcpu[i].tid = 0;
	}
	assert_int_equal(us_guest_vcpus_from_monitor(&g, q, &e), 0);
	assert_int_equal(g.n_vcpu, 2);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(g.vcpu[i].tid, named.vcpu[i].tid);
	/* The monitor of this machine does not speak for another process. */
	g.pid = getpid();
	assert_int_equal(us_guest_vcpus_from_monitor(&g, q, &e), -EPROTO);
	g.pid = vm.pid;

	struct us_guest_list l;
	assert_int_equal(us_guest_list_scan(&l, &e), 0);
	assert_true(in_list(&l, vm.pid));
	assert_true(us_guest_alive(&g));
	us_guest_list_fini(&l);
	us_qmp_close(q);
	kill(vm.pid, SIGKILL);
	siginfo_t info;
	assert_int_equal(waitid(P_PID, (id_t)vm.pid, &info, WEXITED | WNOWAIT), 0);
	assert_false(us_guest_alive(&g)); /* a zombie by now */
	qemu_stop(&vm);
	assert_false(us_guest_alive(&g));
	assert_int_equal(us_guest_inspect(g.pid, &g, &e), -ENOENT);
}

#define COMMON                                                                         \
	" -S -smp 2 -m 48 -name t,,1,debug-threads=on"                                 \
	" -gdb unix:%s/gdb,server=on,wait=off"                                         \
	" -qmp unix:%s/qmp,server=on,wait=off -qmp unix:%s/second,server=on,wait=off"

static void finds_qemu_tcg(void **state)
{
	(void)state;
	if (!have_program(QEMU)) {
		print_message("# SKIP: no " QEMU " here\n");
		skip();
	}
	finds_qemu("-accel tcg" COMMON, US_ACCEL_TCG);
}

static void finds_qemu_kvm(void **state)
{
	(void)state;
	if (!have_program(QEMU) || !have_kvm()) {
		print_message("# SKIP: no " QEMU " or no /dev/kvm here\n");
		skip();
	}
	finds_qemu("-accel kvm" COMMON, US_ACCEL_KVM);
}

static void makes_paths_absolute(void **state)
{
	(void)state;
	if (!have_program(QEMU)) {
		print_message("# SKIP: no " QEMU " here\n");
		skip();
	}
	/* The loader device takes any file. */
	struct qemu vm;
	static struct us_guest g;
	struct us_err e;
	char here[PATH_MAX], path[PATH_MAX + 32], want[64];
	char folder[] = "/tmp/us-test-XXXXXX";
	assert_non_null(getcwd(here, sizeof(here)));
	assert_non_null(mkdtemp(folder));
	assert_int_equal(chdir(folder), 0);
	FILE *f = fopen("kernel.bin", "w");
	assert_non_null(f);
	fputs("raw bytes", f);
	fclose(f);
	qemu_start(&vm, "-S -qmp unix:%s/qmp,server=on,wait=off "
			"-device loader,file=kernel.bin,addr=0x100000");
	bool up = qemu_wait_file(&vm, vm.qmp);
	int r = up ? us_guest_inspect(vm.pid, &g, &e) : -1;
	bool have = r == 0 && us_guest_kernel_path(&g, path, sizeof(path));
	qemu_stop(&vm);
	unlink("kernel.bin");
	assert_int_equal(chdir(here), 0);
	rmdir(folder);
	assert_int_equal(r, 0);
	assert_true(have);
	snprintf(want, sizeof(want), "%s/kernel.bin", folder);
	assert_string_equal(g.kernel, want);
	assert_string_equal(path, want);
}

/* It opens its files and sockets before it enters the jail. */
static void finds_files_outside_a_jail(void **state)
{
	(void)state;
	if (!have_program(QEMU) || getuid() != 0) {
		print_message("# SKIP: no " QEMU " here, or not root\n");
		skip();
	}
	struct qemu vm;
	static struct us_guest g;
	struct us_err e;
	char jail[] = "/tmp/us-jail-XXXXXX", args[256], want[96], path[PATH_MAX + 32];
	char inside[32] = "";
	assert_non_null(mkdtemp(jail));
	snprintf(args, sizeof(args),
		 "-S -qmp unix:%%s/qmp,server=on,wait=off -chroot %s "
		 "-device loader,file=/bin/true,addr=0x100000,force-raw=on",
		 jail);
	qemu_start(&vm, args);
	bool up = qemu_wait_file(&vm, vm.qmp);
	char link[32];
	snprintf(link, sizeof(link), "/proc/%d/root", vm.pid);
	for (int i = 0; up && i < 500 && strcmp(inside, jail); i++) {
		ssize_t n = readlink(link, inside, sizeof(inside) - 1);
		inside[n > 0 ? n : 0] = '\0';
		usleep(10000);
	}
	int r = up ? us_guest_inspect(vm.pid, &g, &e) : -1;
	bool have = r == 0 && us_guest_kernel_path(&g, path, sizeof(path));
	qemu_stop(&vm);
	rmdir(jail);
	assert_int_equal(r, 0);
	assert_string_equal(inside, jail);
	assert_true(have);
	assert_string_equal(path, "/bin/true");
	snprintf(want, sizeof(want), "qmp:%s", vm.qmp);
	assert_string_equal(g.qmp, want);
}

/* A VMM that nobody knows: it makes machines as it is told and waits. */
struct own_vmm {
	pid_t pid, runner; /* runner: the thread that is in KVM_RUN of vCPU 1 */
};

static void *run_vcpu(void *arg)
{
	const int *work = arg; /* the vCPU, and where to tell who we are */
	pid_t tid = (pid_t)syscall(SYS_gettid);
	if (write(work[1], &tid, sizeof(tid)) == sizeof(tid))
		/* A second vCPU waits to be started by the first: for ever. */
		ioctl(work[0], KVM_RUN, 0);
	return NULL;
}

static pid_t *helper; /* shared with the VMM; NULL: it has none */

static void fork_helper(void)
{
	pid_t pid = fork();
	if (pid) {
		*helper = pid;
		return;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		pause();
}

/* vcpus: of each machine; negative: with numbers that no other machine uses. */
static void be_own_vmm(int machines, int vcpus, int report)
{
	int step = vcpus < 0 ? -vcpus : 0;
	int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC), second = -1;
	for (int m = 0; m < machines; m++) {
		int vm = ioctl(kvm, KVM_CREATE_VM, 0);
		if (vm < 0 || ioctl(vm, KVM_CREATE_IRQCHIP, 0) < 0)
			_exit(1);
		for (int i = 0; i < (step ? step : vcpus); i++) {
			int fd = ioctl(vm, KVM_CREATE_VCPU, m * step + i);
			if (fd < 0)
				_exit(1);
			if (i == 1)
				second = fd;
		}
		/* One vCPU, one machine, two descriptors of each: no second machine. */
		if (dup(second) < 0 || dup(vm) < 0)
			_exit(1);
	}
	if (helper)
		fork_helper();
	int work[2] = { second, report };
	pthread_t t;
	if (pthread_create(&t, NULL, run_vcpu, work))
		_exit(1);
	for (;;)
		pause();
}

static struct own_vmm start_own_vmm(int machines, int vcpus)
{
	struct own_vmm v = { 0 };
	int report[2];
	assert_int_equal(pipe2(report, O_CLOEXEC), 0);
	v.pid = fork();
	assert_true(v.pid >= 0);
	if (v.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		be_own_vmm(machines, vcpus, report[1]);
	}
	close(report[1]);
	assert_int_equal(read(report[0], &v.runner, sizeof(v.runner)),
			 sizeof(v.runner));
	close(report[0]);
	return v;
}

static void end_own_vmm(const struct own_vmm *v)
{
	kill(v->pid, SIGKILL);
	waitpid(v->pid, NULL, 0);
}

static void finds_any_vmm(void **state)
{
	(void)state;
	if (!have_kvm()) {
		print_message("# SKIP: no /dev/kvm here\n");
		skip();
	}
	static struct us_guest g;
	struct us_err e = { 0 };
	struct own_vmm v = start_own_vmm(1, 2);
	/* It is about to sleep in KVM_RUN: until then its thread cannot be told. */
	for (int i = 0; i < 500; i++) {
		assert_int_equal(us_guest_inspect(v.pid, &g, &e), 0);
		if (g.vcpu[1].tid)
			break;
		usleep(10000);
	}
	assert_int_equal(g.vcpu[1].tid, v.runner);
	assert_int_equal(g.vcpu[0].tid, 0);
	assert_int_equal(g.n_vcpu, 2);
	assert_int_equal(g.accel, US_ACCEL_KVM);
	assert_string_equal(g.vmm, "test-vmm-guest-list");
	assert_int_equal(g.memory, 0);
	assert_false(g.several);
	assert_int_not_equal(g.vcpu[0].fd, g.vcpu[1].fd);
	end_own_vmm(&v);

	v = start_own_vmm(2, 2);
	assert_int_equal(us_guest_inspect(v.pid, &g, &e), 0);
	assert_true(g.several);
	end_own_vmm(&v);

	/* ... also if all vCPUs have numbers of their own. */
	v = start_own_vmm(2, -2);
	assert_int_equal(us_guest_inspect(v.pid, &g, &e), 0);
	assert_int_equal(g.n_vcpu, 4);
	assert_true(g.several);
	assert_int_equal(us_guest_check(&g, &e), -ENOTSUP);
	end_own_vmm(&v);

	v = start_own_vmm(1, US_MAX_VCPUS + 6);
	assert_int_equal(us_guest_inspect(v.pid, &g, &e), 0);
	assert_int_equal(g.n_vcpu, US_MAX_VCPUS);
	assert_int_equal(g.n_vcpu_beyond, 6);
	for (unsigned i = 0; i < g.n_vcpu; i++)
		assert_int_equal(g.vcpu[i].index, i);
	end_own_vmm(&v);
}

/* It has the files of its VMM, and cannot run the guest. */
static void a_forked_helper_is_no_guest(void **state)
{
	(void)state;
	if (!have_kvm()) {
		print_message("# SKIP: no /dev/kvm here\n");
		skip();
	}
	static struct us_guest g;
	struct us_guest_list l;
	struct us_err e = { 0 };
	char vmm[32];
	helper = mmap(NULL, sizeof(*helper), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(helper != MAP_FAILED);
	struct own_vmm v = start_own_vmm(1, 2);
	assert_true(*helper > 0);
	assert_int_equal(us_guest_inspect(v.pid, &g, &e), 0);
	assert_int_equal(us_guest_inspect(*helper, &g, &e), -ENOENT);
	snprintf(vmm, sizeof(vmm), "that pid %d runs", v.pid);
	assert_non_null(strstr(e.msg, vmm));
	assert_int_equal(us_guest_list_scan(&l, &e), 0);
	assert_true(in_list(&l, v.pid));
	assert_false(in_list(&l, *helper));
	us_guest_list_fini(&l);
	kill(*helper, SIGKILL);
	munmap(helper, sizeof(*helper));
	helper = NULL;
	end_own_vmm(&v);
}

/* Look at pid as user nobody, in a child; true if it sees what it may. */
static bool nobody_sees(pid_t pid)
{
	static struct us_guest g;
	int status;
	pid_t child = fork();
	if (child == 0) {
		struct us_guest_list l;
		struct us_err e = { 0 };
		if (setresuid(65534, 65534, 65534) < 0 ||
		    us_guest_inspect(pid, &g, &e) < 0 || us_guest_list_scan(&l, &e) < 0)
			_exit(1);
		bool found = in_list(&l, pid) && g.limited && !g.exe[0] &&
			     g.accel == US_ACCEL_TCG && g.n_vcpu == 2 &&
			     !strcmp(g.vmm, "qemu") && !strcmp(g.name, "hidden") &&
			     g.uid == 0 && g.memory == 48 * MIB && !g.kernel[0];
		char target[16];
		snprintf(target, sizeof(target), "%d", pid);
		found = found && us_guest_select(&l, target, &g, &e) == -EACCES;
		_exit(found ? 0 : 2);
	}
	return waitpid(child, &status, 0) == child && WIFEXITED(status) &&
	       WEXITSTATUS(status) == 0;
}

static void sees_little_of_another_user(void **state)
{
	(void)state;
	if (!have_program(QEMU) || getuid() != 0) {
		print_message("# SKIP: no " QEMU " here, or not root\n");
		skip();
	}
	struct qemu vm;
	qemu_start(&vm, "-S -smp 2 -m 48 -name hidden "
			"-qmp unix:%s/qmp,server=on,wait=off");
	assert_true(qemu_wait_file(&vm, vm.qmp));
	bool seen = nobody_sees(vm.pid);
	qemu_stop(&vm);
	assert_true(seen);
}

/* QEMU as the first process of namespaces of its own, where /tmp is its own too. */
static pid_t start_inside(void)
{
	pid_t outer = fork();
	assert_true(outer >= 0);
	if (outer)
		return outer;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWPID) < 0 ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", "/tmp", "tmpfs", 0, NULL) < 0 || chdir("/tmp") < 0)
		_exit(77);
	pid_t inner = fork();
	if (inner == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execlp(QEMU, QEMU, "-display", "none", "-nodefaults", "-S", "-name",
		       "inside", "-gdb", "tcp:127.0.0.1:1", "-qmp",
		       "unix:qmp,server=on,wait=off", NULL);
		_exit(127);
	}
	waitpid(inner, NULL, 0);
	_exit(0);
}

/* Wait until the guest called "inside" is listed and its monitor answers. */
static bool meet_inside(pid_t outer, struct us_guest *g, struct us_qmp **q)
{
	for (int i = 0; i < 1000 && waitpid(outer, NULL, WNOHANG) == 0; i++) {
		struct us_guest_list l;
		bool met = false;
		usleep(10000);
		if (us_guest_list_scan(&l, NULL) < 0)
			return false;
		for (size_t k = 0; k < l.n && !met; k++)
			if (!strcmp(l.v[k].name, "inside")) {
				*g = l.v[k];
				met = us_qmp_open(g->qmp, q, NULL) == 0;
			}
		us_guest_list_fini(&l);
		if (met)
			return true;
	}
	return false;
}

static void reaches_into_namespaces(void **state)
{
	(void)state;
	if (!have_program(QEMU) || getuid() != 0) {
		print_message("# SKIP: no " QEMU " here, or not root\n");
		skip();
	}
	static struct us_guest g;
	struct us_err e = { 0 };
	struct us_qmp *q = NULL;
	char want[64];
	pid_t outer = start_inside();
	bool met = meet_inside(outer, &g, &q);
	int learnt = met ? us_guest_vcpus_from_monitor(&g, q, &e) : -1;
	us_qmp_close(q);
	bool ended = waitpid(outer, NULL, WNOHANG) != 0;
	if (!ended) {
		kill(outer, SIGKILL);
		waitpid(outer, NULL, 0);
	}
	if (ended && !met) {
		print_message("# SKIP: no new namespaces may be made here\n");
		skip();
	}
	assert_true(met);
	snprintf(want, sizeof(want), "qmp:/proc/%d/root/tmp/qmp", g.pid);
	assert_string_equal(g.qmp, want);
	assert_string_equal(g.gdb, ""); /* port 1 here is another's */
	assert_string_equal(g.lost_gdb, "127.0.0.1:1");
	assert_int_equal(us_guest_fail_lost(&g, "gdb", &e), -ENODEV);
	assert_non_null(strstr(e.msg, "another network namespace"));
	assert_int_equal(learnt, 0);
	assert_int_equal(g.n_vcpu, 1);
	assert_true(g.vcpu[0].tid > 2); /* as we number it, not as QEMU does */
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_are_told_by_name),
		cmocka_unit_test(threads_are_told_by_their_call),
		cmocka_unit_test(we_are_no_guest),
		cmocka_unit_test(too_few_descriptors_are_said),
		cmocka_unit_test(select_says_why_not),
		cmocka_unit_test(finds_qemu_tcg),
		cmocka_unit_test(finds_qemu_kvm),
		cmocka_unit_test(makes_paths_absolute),
		cmocka_unit_test(finds_files_outside_a_jail),
		cmocka_unit_test(finds_any_vmm),
		cmocka_unit_test(a_forked_helper_is_no_guest),
		cmocka_unit_test(sees_little_of_another_user),
		cmocka_unit_test(reaches_into_namespaces),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
