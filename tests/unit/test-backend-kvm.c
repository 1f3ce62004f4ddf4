/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kvm backend on a real QEMU: what it says is true, and the guest runs on. */
#include "unit.h"

#include "backend/backend.h"
#include "backend/kvm/match.h"
#include "backend/kvm/probe.h"
#include "base/clock.h"
#include "base/io.h"
#include "qemu.h"
#include "symbol/elf_image.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/ptrace.h>

struct rig {
	struct qemu qemu;
	struct us_guest guest;
	struct us_target target;
	struct us_elf_image *image;
	char serial[64];
};

static long serial_size(const struct rig *r)
{
	struct stat s;
	return stat(r->serial, &s) ? 0 : (long)s.st_size;
}

static bool serial_says(const struct rig *r, const char *word)
{
	static char text[65536];
	ssize_t n = us_read_file(AT_FDCWD, r->serial, text, sizeof(text));
	return n > 0 && strstr(text, word);
}

/* The guest writes a line about ten times a second. */
static void assert_runs_on(const struct rig *r)
{
	long size = serial_size(r);
	for (int i = 0; i < 3000 && serial_size(r) == size; i++)
		usleep(10000);
	assert_true(serial_size(r) > size);
}

/* Fewer of so many times, if asked for: on an emulated host a look takes milliseconds
 * (kvm.sh; kvm-all.sh does not ask, and runs by night). */
static unsigned times(unsigned n)
{
	return getenv("US_FEWER") ? n / 3 : n;
}

static struct rig shared; /* for the tests that leave it running; two vCPUs */

static void rig_start(struct rig *r, const char *guest)
{
	char args[512], path[256];
	struct us_err e;
	const char *build = getenv("US_BUILD_ROOT");
	memset(r, 0, sizeof(*r));
	snprintf(path, sizeof(path), "%s/tests/guests/%s.elf", build ? build : ".",
		 guest);
	if (!have_kvm() || !have_program(QEMU) || access(path, R_OK)) {
		print_message("SKIP: needs /dev/kvm, " QEMU " and the test guests\n");
		skip();
	}
	snprintf(args, sizeof(args),
		 "-M microvm -accel kvm -smp 2 -m 64 -monitor none -serial "
		 "file:%%s/serial "
		 "-name g,debug-threads=on -kernel %s",
		 path);
	qemu_start(&r->qemu, args);
	snprintf(r->serial, sizeof(r->serial), "%s/serial", r->qemu.dir);
	for (int i = 0; i < 6000 && !serial_says(r, "READY"); i++)
		usleep(10000);
	assert_true(serial_says(r, "READY"));
	assert_int_equal(us_elf_image_open(path, &r->image, &e), 0);
	if (us_guest_inspect(r->qemu.pid, &r->guest, &e))
		fail_msg("%s", e.msg);
	r->target.guest = &r->guest;
}

static void rig_stop(struct rig *r)
{
	us_elf_image_close(r->image);
	qemu_stop(&r->qemu);
}

/* The shared guest, started by the first who wants it. */
static struct rig *running(void)
{
	if (!shared.qemu.pid)
		rig_start(&shared, "shares");
	return &shared;
}

static int stop_shared(void **state)
{
	(void)state;
	if (shared.qemu.pid)
		rig_stop(&shared);
	return 0;
}

static struct us_backend *open_schedule(const struct rig *r, struct us_schedule s)
{
	struct us_backend *b = NULL;
	struct us_err e;
	if (us_backend_open(&r->target, "kvm", &b, NULL, 0, &e))
		fail_msg("%s", e.msg);
	assert_int_equal(b->ops->start(b, &s, &e), 0);
	return b;
}

static struct us_backend *open_kvm(const struct rig *r, double hz)
{
	return open_schedule(r, (struct us_schedule){ .hz = hz, .seed = 1 });
}

/* The bytes at the pc, read through the guest's page tables, are those of the file. */
static void assert_true_look(const struct rig *r, struct us_backend *b,
			     const struct us_capture *c)
{
	struct us_paging p;
	uint8_t code[8];
	assert_int_equal(c->form, US_CAPTURE_LIVE);
	assert_int_equal(c->regs.bits, 64);
	assert_int_equal(c->regs.space.mode, US_PAGING_X86_4);
	assert_false(c->regs.user);
	const struct us_elf_symbol *s = us_elf_image_find(r->image, c->regs.pc);
	assert_non_null(s);
	us_paging_init(&p, b->mem);
	us_mem_new_sample(b->mem);
	assert_true(us_paging_read(&p, &c->regs.space, c->regs.pc, code, sizeof(code)));
	assert_true(us_paging_read(&p, &c->regs.space, c->regs.sp, code, sizeof(code)));
}

static void looks_are_true(void **state)
{
	(void)state;
	struct rig *r = running();
	struct us_backend *b = open_kvm(r, 500);
	assert_int_equal(b->n_vcpu, 2);
	assert_true(b->caps & US_CAP_ALL_GPRS);
	unsigned looks = times(600);
	uint64_t n[2] = { 0 }, of[2] = { 0 }, taken = 0, in_guest = 0, spins = 0,
		 prints = 0, last = 0;
	struct us_backend_counts k = { 0 };
	struct us_capture c;
	/* On a slow host all of them may fall into what the guest prints, and a thread
	 * may have to wait for a CPU before it stops. */
	while (n[0] + n[1] < looks ||
	       ((!spins || k.failed) && n[0] + n[1] < 10 * looks)) {
		int got = b->ops->next(b, us_now_ns() + 10 * US_NS_PER_SEC, &c);
		assert_int_equal(got, 1);
		assert_true(c.t_ns >= last);
		last = c.t_ns;
		assert_in_range(c.vcpu, 0, 1);
		n[c.vcpu]++;
		of[c.vcpu] += c.weight;
		taken += c.weight;
		/* Without registers it waited for a CPU because of the last sample. */
		assert_true(c.state != US_VCPU_GUEST || c.form == US_CAPTURE_LIVE);
		if (c.form == US_CAPTURE_LIVE &&
		    (c.state == US_VCPU_GUEST || c.state == US_VCPU_READY)) {
			assert_true_look(r, b, &c);
			const char *f = us_elf_image_find(r->image, c.regs.pc)->name;
			spins += !strcmp(f, "f60") || !strcmp(f, "f30") ||
				 !strcmp(f, "f10") || !strcmp(f, "spin");
			/* On an emulated host an exit takes as long as a spin. */
			prints += !strcmp(f, "serial_write");
			in_guest++;
		}
		b->ops->release(b, &c);
		assert_true(c.form == US_CAPTURE_NONE || c.held_ns > 0);
		b->ops->counts(b, &k);
	}
	/* One look stands for all that came due while a thread waited for a CPU. */
	assert_true(of[0] > taken / 3 && of[1] > taken / 3);
	assert_true(in_guest > looks / 6);
	print_message("# %lu of %lu spin, %lu print\n", spins, in_guest, prints);
	assert_true(spins > (in_guest - prints) / 3);
	assert_int_equal(k.due, taken + k.late + k.backed_off + k.failed);
	assert_int_equal(k.failed, 0);
	us_backend_close(b);
	assert_runs_on(r);
}

static void threads_are_found_without_names(void **state)
{
	(void)state;
	struct rig *r = running();
	struct us_kvm_match match = { 0 };
	struct us_err e;
	struct us_guest *nameless = malloc(sizeof(*nameless));
	*nameless = r->guest;
	for (unsigned i = 0; i < 2; i++) {
		assert_true(r->guest.vcpu[i].tid > 0);
		nameless->vcpu[i].tid = 0;
	}
	assert_int_equal(us_kvm_match_threads(&match, nameless, &e), 0);
	us_kvm_match_close(&match, nameless);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(nameless->vcpu[i].tid, r->guest.vcpu[i].tid);
	/* The wrong way round is noticed, and put right. */
	nameless->vcpu[0].tid = r->guest.vcpu[1].tid;
	nameless->vcpu[1].tid = r->guest.vcpu[0].tid;
	struct us_target t = { .guest = nameless };
	struct us_backend *b = NULL;
	struct us_schedule s = { .hz = 1000 };
	assert_int_equal(us_backend_open(&t, "kvm", &b, NULL, 0, &e), 0);
	assert_int_equal(b->ops->start(b, &s, &e), 0);
	struct us_capture c;
	unsigned seen[2] = { 0 };
	uint64_t end = us_now_ns() + 60 * US_NS_PER_SEC;
	while ((seen[0] < 100 || seen[1] < 100) && us_now_ns() < end) {
		int got = b->ops->next(b, end, &c);
		assert_true(got >= 0);
		if (got != 1)
			continue;
		seen[c.vcpu] += c.form == US_CAPTURE_LIVE && c.state == US_VCPU_GUEST;
		b->ops->release(b, &c);
	}
	assert_true(seen[0] >= 100 && seen[1] >= 100);
	us_backend_close(b);
	assert_runs_on(r);
	free(nameless);
}

static void a_killed_profiler_leaves_the_guest_running(void **state)
{
	(void)state;
	struct rig *r = running();
	srand(1);
	for (unsigned i = 0; i < times(10); i++) {
		pid_t profiler = fork();
		if (!profiler) {
			struct us_backend *b = open_kvm(r, 4000);
			struct us_capture c;
			for (;;)
				if (b->ops->next(b, UINT64_MAX, &c) == 1)
					b->ops->release(b, &c);
		}
		usleep(1000 + (unsigned)rand() % 60000);
		kill(profiler, SIGKILL);
		assert_int_equal(waitpid(profiler, NULL, 0), profiler);
		assert_runs_on(r);
	}
	struct us_backend *b = open_kvm(r, 1000);
	struct us_capture c;
	assert_int_equal(b->ops->next(b, UINT64_MAX, &c), 1);
	b->ops->release(b, &c);
	us_backend_close(b);
}

/* As uniscope and not the VMM's parent: its death has to be seen from outside. */
static void a_killed_vmm_is_noticed(void **state)
{
	(void)state;
	stop_shared(NULL);
	for (int held = 0; held < 2; held++) {
		struct rig r;
		rig_start(&r, "shares");
		pid_t profiler = fork();
		if (!profiler) {
			struct us_backend *b = open_kvm(&r, 1000);
			struct us_capture c;
			int got = 0, n = 0;
			while ((got = b->ops->next(b, UINT64_MAX, &c)) == 1) {
				if (++n == 20)
					kill(r.qemu.pid, SIGKILL);
				if (held && n == 20)
					usleep(1000);
				b->ops->release(b, &c);
			}
			struct us_err e;
			b->ops->explain(b, got, &e);
			us_backend_close(b);
			_exit(got == -ESRCH && strstr(e.msg, "ended") ? 42 : 1);
		}
		int status = 0;
		assert_int_equal(waitpid(profiler, &status, 0), profiler);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 42);
		assert_int_equal(waitpid(r.qemu.pid, &status, 0), r.qemu.pid);
		r.qemu.pid = 0;
		rig_stop(&r);
	}
}

static void a_paused_vmm_is_off_and_goes_on(void **state)
{
	(void)state;
	struct rig *r = running();
	int status;
	struct us_backend *b = open_kvm(r, 200);
	kill(r->qemu.pid, SIGSTOP);
	assert_int_equal(waitpid(r->qemu.pid, &status, WUNTRACED), r->qemu.pid);
	struct us_capture c;
	for (int i = 0; i < 20; i++) {
		assert_int_equal(b->ops->next(b, UINT64_MAX, &c), 1);
		assert_int_equal(c.state, US_VCPU_OFF);
		assert_int_equal(c.form, US_CAPTURE_NONE);
		b->ops->release(b, &c);
	}
	kill(r->qemu.pid, SIGCONT);
	assert_runs_on(r);
	us_backend_close(b);
}

static bool is_behind_hlt(struct us_backend *b, const struct us_capture *c)
{
	struct us_paging p;
	uint8_t byte = 0;
	us_paging_init(&p, b->mem);
	us_mem_new_sample(b->mem);
	return us_paging_read(&p, &c->regs.space, c->regs.pc - 1, &byte, 1) &&
	       byte == 0xf4;
}

/* A guest that is halted nearly always: left alone, or woken to see where.  Also while
 * KVM polls for its next interrupt it does not count as running. */
static void halted_vcpus_have_stacks_if_asked(void **state)
{
	(void)state;
	struct rig r;
	rig_start(&r, "idle");
	for (int wake = 0; wake < 2; wake++) {
		struct us_backend *b = open_schedule(
			&r, (struct us_schedule){ .hz = 300, .wake_halted = wake });
		struct us_capture c;
		int halted = 0, with_stack = 0;
		for (int i = 0; i < 10000 && halted < 50; i++) {
			assert_int_equal(b->ops->next(b, UINT64_MAX, &c), 1);
			halted += c.state == US_VCPU_HALTED;
			if (c.state == US_VCPU_HALTED && c.form == US_CAPTURE_LIVE) {
				assert_true_look(&r, b, &c);
				with_stack++;
			}
			if (c.state == US_VCPU_GUEST && c.form == US_CAPTURE_LIVE)
				assert_false(is_behind_hlt(b, &c));
			b->ops->release(b, &c);
		}
		assert_int_equal(halted, 50);
		assert_int_equal(with_stack > 0, wake);
		us_backend_close(b);
		assert_runs_on(&r);
	}
	rig_stop(&r);
}

static void a_deadline_ends_the_wait(void **state)
{
	(void)state;
	struct rig *r = running();
	struct us_backend *b = open_kvm(r, 0.01);
	struct us_capture c;
	uint64_t deadline = us_now_ns() + 20 * US_NS_PER_MS;
	assert_int_equal(b->ops->next(b, deadline, &c), 0);
	assert_true(us_now_ns() >= deadline);
	us_backend_close(b);
}

static void refusals_say_why(void **state)
{
	(void)state;
	struct us_err e;
	struct us_target none = { .guest = NULL };
	assert_true(us_kvm_probe(&none, &e) < 0);
	assert_string_equal(e.msg, "the target names no process");
	struct us_guest *g = calloc(1, sizeof(*g));
	struct us_target t = { .guest = g };
	g->pid = getpid();
	g->accel = US_ACCEL_TCG;
	assert_true(us_kvm_probe(&t, &e) < 0);
	assert_non_null(strstr(e.msg, "without KVM"));
	g->accel = US_ACCEL_KVM;
	assert_true(us_kvm_probe(&t, &e) < 0);
	assert_non_null(strstr(e.msg, "no KVM vCPU"));
	g->n_vcpu = 2;
	g->several = true;
	assert_int_equal(us_kvm_probe(&t, &e), -ENOTUNIQ);
	g->several = false;
	g->limited = true;
	g->uid = 4242;
	assert_int_equal(us_kvm_probe(&t, &e), -EPERM);
	assert_string_equal(e.hint, "run uniscope with sudo");
	free(g);
}

/* A process with these words on its command line, until *ret_end is closed. */
static pid_t say(const char *words, int *ret_end)
{
	int out[2], in[2];
	char c;
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	pid_t pid = fork();
	if (!pid) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		execlp("sh", "sh", "-c", "echo; read x", words, NULL);
		_exit(1);
	}
	close(in[0]);
	close(out[1]);
	/* It has no command line yet when execve(2) closes its files. */
	assert_int_equal(read(out[0], &c, 1), 1);
	close(out[0]);
	*ret_end = in[1];
	return pid;
}

static void protected_guests_are_recognized(void **state)
{
	static const struct {
		const char *vmm, *protection, *words;
		bool refused;
	} cases[] = {
		{ "qemu", "", "-drive file=/vm/sev-test.qcow2", false },
		{ "qemu", "", "-name tdx", false },
		{ "qemu", "SEV-ES", "-machine q35", true },
		{ "qemu", "TDX", "-machine q35", true },
		{ "cloud-hypervisor", "", "--kernel vmlinux", false },
		{ "cloud-hypervisor", "", "--platform tdx=on", true },
		{ "stranger", "", "--sev-es", true },
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct us_guest *g = calloc(1, sizeof(*g));
		struct us_err e;
		strcpy(g->vmm, cases[i].vmm);
		strcpy(g->protection, cases[i].protection);
		int end;
		g->pid = say(cases[i].words, &end);
		int r = us_kvm_refuse_protected(g, &e);
		close(end);
		waitpid(g->pid, NULL, 0);
		free(g);
		if (r != (cases[i].refused ? -EOPNOTSUPP : 0))
			fail_msg("%s %s: %d", cases[i].vmm, cases[i].words, r);
	}
}

/* Only its files may tell, as of a guest that was configured through a socket. */
static void guest_memory_is_a_sign_of_protection(void **state)
{
	struct us_guest *g = calloc(1, sizeof(*g));
	struct us_err e;
	(void)state;
	strcpy(g->vmm, "cloud-hypervisor");
	g->pid = getpid();
	assert_int_equal(us_kvm_refuse_protected(g, &e), 0);
	int fd = memfd_create("[kvm-gmem]", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(us_kvm_refuse_protected(g, &e), -EOPNOTSUPP);
	assert_non_null(strstr(e.msg, "may be a protected guest"));
	close(fd);
	assert_int_equal(us_kvm_refuse_protected(g, &e), 0);
	free(g);
}

static void a_tracer_is_named(void **state)
{
	(void)state;
	struct rig *r = running();
	struct us_err e;
	pid_t tid = r->guest.vcpu[0].tid;
	assert_int_equal(ptrace(PTRACE_SEIZE, tid, NULL, NULL), 0);
	assert_int_equal(us_kvm_probe(&r->target, &e), -EBUSY);
	char mine[32];
	snprintf(mine, sizeof(mine), "pid %d (", getpid());
	assert_non_null(strstr(e.msg, mine));
	assert_int_equal(ptrace(PTRACE_INTERRUPT, tid, NULL, NULL), 0);
	assert_int_equal(waitpid(tid, NULL, __WALL), tid);
	assert_int_equal(ptrace(PTRACE_DETACH, tid, NULL, NULL), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(looks_are_true),
		cmocka_unit_test(threads_are_found_without_names),
		cmocka_unit_test(a_killed_profiler_leaves_the_guest_running),
		cmocka_unit_test(a_paused_vmm_is_off_and_goes_on),
		cmocka_unit_test(a_deadline_ends_the_wait),
		cmocka_unit_test(refusals_say_why),
		cmocka_unit_test(protected_guests_are_recognized),
		cmocka_unit_test(guest_memory_is_a_sign_of_protection),
		cmocka_unit_test(a_tracer_is_named),
		cmocka_unit_test(halted_vcpus_have_stacks_if_asked),
		cmocka_unit_test(a_killed_vmm_is_noticed),
	};
	return cmocka_run_group_tests(tests, NULL, stop_shared);
}
