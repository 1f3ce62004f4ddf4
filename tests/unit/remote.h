/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * remote.h: what the tests of the gdb and qmp backends share: a real guest whose
 * heartbeat on the serial port can be watched, its call tree, and a profiler that is
 * killed at any moment.
 */
#ifndef US_TEST_REMOTE_H
#define US_TEST_REMOTE_H

#include "qemu.h"

#include "backend/backend.h"
#include "base/clock.h"
#include "guest/paging.h"
#include "vmm/qmp.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

/* The guest. */

struct rig {
	struct qemu qemu;
	char serial[64], gdb[64];
	bool kvm;
};

static inline const char *guest_path(const char *name)
{
	static char path[512];
	const char *build = getenv("US_BUILD_ROOT");
	snprintf(path, sizeof(path), "%s/tests/guests/%s", build ? build : "build",
		 name);
	return path;
}

/* Lines "BEAT n" so far: a tenth of a second of the guest's time each. */
static inline unsigned beats(const struct rig *r)
{
	FILE *f = fopen(r->serial, "re");
	unsigned n = 0;
	char line[4096];
	while (f && fgets(line, sizeof(line), f))
		n += strstr(line, "BEAT ") != NULL;
	if (f)
		fclose(f);
	return n;
}

/* Does it go on? Waits for it, long: the host may be busy, and KVM may be slow. */
static inline bool goes_on(const struct rig *r)
{
	unsigned before = beats(r);
	for (int i = 0; i < 1200; i++) {
		if (beats(r) > before)
			return true;
		usleep(50000);
	}
	return false;
}

/* False: skip, it cannot run here. paused: leave it where -S does. */
static inline bool rig_start_with(struct rig *r, bool kvm, unsigned smp, bool paused,
				  const char *more)
{
	char args[900];
	if (!have_program(QEMU)) {
		printf("# SKIP no " QEMU " here\n");
		return false;
	}
	if (kvm && !have_kvm()) {
		printf("# SKIP /dev/kvm may not be used\n");
		return false;
	}
	if (access(guest_path("shares.elf"), R_OK)) {
		printf("# SKIP the test guests are not built\n");
		return false;
	}
	snprintf(
		args, sizeof(args),
		"-accel %s -smp %u -m 64 -no-reboot -kernel %s -serial file:%%s/serial "
		"-gdb unix:%%s/gdb,server=on,wait=off "
		"-qmp unix:%%s/qmp,server=on,wait=off%s%s",
		kvm ? "kvm" : "tcg", smp, guest_path("shares.elf"), paused ? " -S" : "",
		more);
	qemu_start(&r->qemu, args);
	r->kvm = kvm;
	snprintf(r->serial, sizeof(r->serial), "%s/serial", r->qemu.dir);
	snprintf(r->gdb, sizeof(r->gdb), "%s/gdb", r->qemu.dir);
	assert_true(qemu_wait_file(&r->qemu, r->qemu.qmp));
	assert_true(qemu_wait_file(&r->qemu, r->gdb));
	assert_true(paused || goes_on(r));
	return true;
}

static inline bool rig_start(struct rig *r, bool kvm, unsigned smp, bool paused)
{
	return rig_start_with(r, kvm, smp, paused, "");
}

static inline void rig_stop(struct rig *r)
{
	qemu_stop(&r->qemu);
}

/* What QEMU says of itself: "running", "paused", "prelaunch". */
static inline void expect_status(const struct rig *r, const char *status)
{
	struct us_qmp *q;
	struct us_err e;
	json_t *reply;
	assert_int_equal(us_qmp_open(r->qemu.qmp, &q, &e), 0);
	assert_int_equal(us_qmp_run(q, "query-status", NULL, &reply, &e), 0);
	assert_string_equal(json_string_value(json_object_get(reply, "status")),
			    status);
	json_decref(reply);
	us_qmp_close(q);
}

/* Its functions, by nm. */

struct function {
	us_gva start;
	char name[48];
};

static struct function functions[512];
static size_t n_functions;

static inline void load_functions(void)
{
	char cmd[600];
	snprintf(cmd, sizeof(cmd), "nm -n %s", guest_path("shares.elf"));
	FILE *f = popen(cmd, "re");
	unsigned long long at;
	char kind, name[48];
	n_functions = 0;
	while (f && fscanf(f, "%llx %c %47s%*[^\n]", &at, &kind, name) == 3) {
		if ((kind != 't' && kind != 'T') || n_functions == 512)
			continue;
		functions[n_functions].start = at;
		strcpy(functions[n_functions++].name, name);
	}
	assert_true(f && pclose(f) == 0 && n_functions > 0);
}

static inline const char *function_of(us_gva pc)
{
	const char *name = "?";
	for (size_t i = 0; i < n_functions && functions[i].start <= pc; i++)
		name = functions[i].name;
	return name;
}

static inline bool read_pair(struct us_backend *b, struct us_paging *p,
			     const struct us_regs *regs, us_gva va, uint64_t pair[2])
{
	return regs->space.mode == US_PAGING_UNKNOWN
		       ? us_mem_read_gva(b->mem, va, pair, 16)
		       : us_paging_read(p, &regs->space, va, pair, 16);
}

/* Callers by the chain of frame pointers alone, outermost last; at most max. */
static inline unsigned callers(struct us_backend *b, const struct us_regs *regs,
			       us_gva *ret, unsigned max)
{
	static struct us_paging paging;
	uint64_t pair[2];
	unsigned n = 0;
	us_paging_init(&paging, b->mem);
	us_paging_new_sample(&paging);
	for (us_gva fp = regs->fp; fp && n < max; fp = pair[0]) {
		if (!read_pair(b, &paging, regs, fp, pair) || !pair[1])
			break;
		ret[n++] = pair[1];
	}
	return n;
}

/* The loops of f60, f30 and f10 are called by stage, that by main_loop, kmain and
 * start_vcpu: wherever it stands, main_loop and kmain must follow each other.  By
 * frame pointers alone the caller of a function in its prologue is passed over: in one
 * that main_loop calls, kmain comes next. */
static inline bool stack_is_right(struct us_backend *b, const struct us_capture *c)
{
	us_gva pc[17] = { c->regs.pc };
	unsigned n = 1 + callers(b, &c->regs, pc + 1, 16), at = 0;
	while (at < n && strcmp(function_of(pc[at]), "main_loop") != 0)
		at++;
	if (at == n && n > 1 && strcmp(function_of(pc[0]), "kmain") != 0)
		at = 0;
	return at + 1 < n && !strcmp(function_of(pc[at + 1]), "kmain");
}

/* Take n captures; counts them by state. Returns how many stacks were wrong. */
static inline unsigned sample(struct us_backend *b, double hz, unsigned n,
			      unsigned state[US_N_VCPU_STATE])
{
	struct us_schedule s = { .hz = hz, .seed = 42 };
	struct us_err e;
	static struct us_capture c;
	unsigned wrong = 0;
	uint64_t deadline = us_now_ns() + 60 * US_NS_PER_SEC;
	memset(state, 0, US_N_VCPU_STATE * sizeof(*state));
	assert_int_equal(b->ops->start(b, &s, &e), 0);
	for (unsigned i = 0; i < n;) {
		int r = b->ops->next(b, deadline, &c);
		assert_true(r == 1);
		state[c.state]++;
		if (c.state == US_VCPU_GUEST && !stack_is_right(b, &c)) {
			printf("# wrong: pc %s fp %llx\n", function_of(c.regs.pc),
			       (unsigned long long)c.regs.fp);
			wrong++;
		}
		b->ops->release(b, &c);
		i++;
	}
	struct us_backend_counts k;
	b->ops->counts(b, &k);
	assert_true(k.due >= n);
	return wrong;
}

static inline struct us_backend *open_backend(const struct us_backend_ops *o,
					      const struct us_target *t)
{
	struct us_backend *b = NULL;
	struct us_err e = { 0 };
	int r = o->open(t, &b, &e);
	if (r < 0)
		printf("# open: %s\n", e.msg);
	assert_int_equal(r, 0);
	return b;
}

static inline void command(const struct rig *r, const char *name)
{
	struct us_qmp *q;
	struct us_err e;
	assert_int_equal(us_qmp_open(r->qemu.qmp, &q, &e), 0);
	assert_int_equal(us_qmp_run(q, name, NULL, NULL, &e), 0);
	us_qmp_close(q);
}

/* Captures until one has this state; false: none had. */
static inline bool reaches(struct us_backend *b, enum us_vcpu_state wanted)
{
	static struct us_capture c;
	for (int i = 0; i < 200; i++) {
		assert_int_equal(b->ops->next(b, us_now_ns() + 10 * US_NS_PER_SEC, &c),
				 1);
		b->ops->release(b, &c);
		if (c.state == wanted)
			return true;
	}
	return false;
}

#define PATIENCE_NS (30 * US_NS_PER_SEC) /* for what a busy host does late */

struct owner {
	const struct rig *rig;
	atomic_bool done;
};

static inline void *resume_all_the_time(void *arg)
{
	struct owner *o = arg;
	struct us_qmp *q;
	assert_int_equal(us_qmp_open(o->rig->qemu.qmp, &q, NULL), 0);
	while (!atomic_load(&o->done)) {
		assert_int_equal(us_qmp_run(q, "cont", NULL, NULL, NULL), 0);
		usleep(200);
	}
	us_qmp_close(q);
	return NULL;
}

/* The owner lets the guest go at any moment of a look: such a look is counted as
 * failed, no more, and the guest goes on.  On a busy host nearly all of them are. */
static inline void sample_while_resumed(const struct rig *r, struct us_backend *b)
{
	struct owner o = { .rig = r };
	struct us_schedule s = { .hz = 1000, .seed = 1 };
	struct us_err e;
	static struct us_capture c;
	pthread_t thread;
	uint64_t now_ns = us_now_ns();
	uint64_t end_ns = now_ns + 3 * US_NS_PER_SEC, limit_ns = now_ns + PATIENCE_NS;
	unsigned n = 0;
	int got = 0;
	assert_int_equal(b->ops->start(b, &s, &e), 0);
	assert_int_equal(pthread_create(&thread, NULL, resume_all_the_time, &o), 0);
	for (; got >= 0 && (now_ns < end_ns || (n <= 20 && now_ns < limit_ns));
	     now_ns = us_now_ns()) {
		got = b->ops->next(b, now_ns + US_NS_PER_SEC / 4, &c);
		if (got == 1) {
			n++;
			b->ops->release(b, &c);
		}
	}
	atomic_store(&o.done, true);
	pthread_join(thread, NULL);
	if (got < 0) {
		b->ops->explain(b, got, &e);
		fail_msg("after %u samples: %s", n, e.msg);
	}
	assert_true(n > 20);
	assert_true(goes_on(r));
	assert_true(reaches(b, US_VCPU_GUEST));
}

/* The profiler, in a process of its own that is killed. */

static inline void profile_forever(const struct us_backend_ops *o,
				   const struct us_target *t, atomic_bool *up)
{
	struct us_backend *b;
	struct us_schedule s = { .hz = 5000, .seed = (uint64_t)getpid() };
	static struct us_capture c;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (o->open(t, &b, NULL) || o->start(b, &s, NULL))
		_exit(1);
	atomic_store(up, true);
	for (;;) {
		int r = b->ops->next(b, us_now_ns() + US_NS_PER_SEC, &c);
		if (r < 0)
			usleep(10000);
		if (r == 1) {
			us_gva pc[16];
			callers(b, &c.regs, pc, 16);
			b->ops->release(b, &c);
		}
	}
}

/* early: perhaps it still attaches. */
static inline pid_t profile_in_child(const struct us_backend_ops *o,
				     const struct us_target *t, bool early)
{
	atomic_bool *up = mmap(NULL, sizeof(*up), PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(up != MAP_FAILED);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (!pid)
		profile_forever(o, t, up);
	for (int i = 0; !early && !atomic_load(up) && i < 5000; i++)
		usleep(1000);
	munmap(up, sizeof(*up));
	usleep((useconds_t)(rand() % 20000));
	return pid;
}

/* Kill it at some moment. */
static inline void profile_and_kill(const struct us_backend_ops *o,
				    const struct us_target *t, unsigned turn)
{
	pid_t pid = profile_in_child(o, t, turn % 3 == 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Allocations, counted by the linker's --wrap. */
static atomic_uint allocations;

void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_malloc(size_t n)
{
	atomic_fetch_add(&allocations, 1);
	return __real_malloc(n);
}

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size)
{
	atomic_fetch_add(&allocations, 1);
	return __real_calloc(n, size);
}

void *__real_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n)
{
	atomic_fetch_add(&allocations, 1);
	return __real_realloc(p, n);
}

/* A peer that is a process: it listens at dir/peer, and what it does can be seen. */

struct peer_page {
	atomic_bool running; /* the invented guest */
	atomic_uint stops, conts, detaches, spoilt;
	atomic_uint served; /* connections that are over */
};

struct peer {
	struct peer_page *page;
	pid_t pid;
	char dir[32], path[64];
};

static inline void peer_start(struct peer *p,
			      void (*serve)(int fd, struct peer_page *, int),
			      int behaviour)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	strcpy(p->dir, "/tmp/us-peer-XXXXXX");
	assert_non_null(mkdtemp(p->dir));
	snprintf(p->path, sizeof(p->path), "%s/peer", p->dir);
	strcpy(a.sun_path, p->path);
	p->page = mmap(NULL, sizeof(*p->page), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(p->page != MAP_FAILED);
	atomic_store(&p->page->running, true);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(fd, 4), 0);
	p->pid = fork();
	assert_true(p->pid >= 0);
	if (p->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;) {
			int client = accept(fd, NULL, NULL);
			serve(client, p->page, behaviour);
			close(client);
			atomic_fetch_add(&p->page->served, 1);
		}
	}
	close(fd);
}

static inline void peer_stop(struct peer *p)
{
	kill(p->pid, SIGKILL);
	waitpid(p->pid, NULL, 0);
	unlink(p->path);
	rmdir(p->dir);
	munmap(p->page, sizeof(*p->page));
}

/* Wait until the invented guest runs, as seen by the peer itself. */
static inline bool peer_runs(const struct peer *p)
{
	for (int i = 0; i < 200 && !atomic_load(&p->page->running); i++)
		usleep(10000);
	return atomic_load(&p->page->running);
}

#endif
