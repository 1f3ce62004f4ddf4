/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kernel.c: see kernel.h. */
#include "cmd/record/kernel.h"

#include "base/cleanup.h"
#include "base/clock.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Time between two readings of the list of tasks; longer for a guest with so many tasks
 * that a reading takes more than a twentieth of a CPU. */
#define PROCESSES_S    1
#define PROCESSES_PART 20
/* How soon the stacks of a process are unwound after its first sample. */
#define HUNGRY_NS      (100 * US_NS_PER_MS)
#define FIRST_PAUSE_NS (20 * US_NS_PER_MS)
#define MOST_PAUSE_NS  (4 * US_NS_PER_SEC)
#define CHECK_NS       (US_NS_PER_SEC / 5)
#define LIST_NS	       FIRST_PAUSE_NS	   /* between looks at the list of modules */
#define DOUBT_NS       (20 * US_NS_PER_MS) /* after the kernel was not seen */
#define MAX_FAILED     6
/* Before it is certain that there is none: entry code runs by the tables of user mode,
 * which do not map the kernel, and in QEMU's emulation most samples of a busy program
 * that are not in it are there. */
#define LEAST_SEARCHES 24
#define MAX_STARTING   40 /* the same for one that replaces another */
#define MAX_DOUBTS     5
#define MAX_MODULES    8		     /* of US_KERNEL_MAX, for modules */
#define LOST_NS	       US_NS_PER_SEC	     /* unseen for at least this time */
#define USER_BEFORE    (2 * UINT64_C(65536)) /* with pages of 64 KiB */
#define MAX_STACK      16		     /* frames to check for modules */
#define WAIT_S	       20
#define ATTACH_HZ      100
#define ATTACH_SAMPLES 6
#define ATTACH_OTHERS  2 /* samples in kernel code that is not Linux */
#define ATTACH_READS   2 /* without a kernel: a third finds none either */
#define ASK_S	       10

enum {
	ASK_NONE,
	ASK_ASKED,
	ASK_SERVED, /* by the sampler, now */
	ASK_DONE,
};

static int state_of(const struct us_kernel *k)
{
	return atomic_load_explicit(&k->state, memory_order_acquire);
}

static void set_state(struct us_kernel *k, int state)
{
	atomic_store_explicit(&k->state, state, memory_order_release);
}

static bool wait_ns(sem_t *s, uint64_t ns)
{
	struct timespec t;
	clock_gettime(US_WAIT_CLOCK, &t);
	ns += (uint64_t)t.tv_nsec;
	t.tv_sec += (time_t)(ns / US_NS_PER_SEC);
	t.tv_nsec = (long)(ns % US_NS_PER_SEC);
	int r;
	while ((r = us_sem_wait_until(s, &t)) < 0 && errno == EINTR)
		;
	return r == 0;
}

static bool wait_for(sem_t *s, unsigned seconds)
{
	return wait_ns(s, seconds * US_NS_PER_SEC);
}

/* --- the reading thread --- */

/* Read through the sampler: only it may talk to the stub, while it holds the guest. */
static bool ask_sampler(void *ctx, us_gva va, void *buf, size_t len)
{
	struct us_kernel *k = ctx;
	int asked = ASK_ASKED;
	if (atomic_load(&k->quit))
		return false;
	k->ask.va = va;
	k->ask.buf = buf;
	k->ask.len = len;
	k->ask.ok = false;
	atomic_store_explicit(&k->ask.state, ASK_ASKED, memory_order_release);
	while (!wait_for(&k->served, ASK_S) || atomic_load(&k->quit))
		if (atomic_compare_exchange_strong(&k->ask.state, &asked, ASK_NONE))
			return false; /* nobody came */
		else if (asked == ASK_DONE)
			break;
		else
			asked = ASK_ASKED;
	atomic_store_explicit(&k->ask.state, ASK_NONE, memory_order_release);
	return k->ask.ok;
}

/* The kernel was lost; if the same one is there now, it never went away.  Or it was
 * read again for its modules: nobody has checked it meanwhile. */
static void note_change(struct us_kernel *k, unsigned n)
{
	bool lost = atomic_load(&k->lost);
	uint64_t start_ns = atomic_load(&k->start_ns);
	if (!n || (us_linux_is_same(k->read[n - 1], k->drawn, k->read[n]) &&
		   !(lost && k->replaced)))
		return;
	if (!lost) {
		k->change[0] = k->good_ns;
		k->change[1] = start_ns ? us_now_ns() - start_ns : 0;
		us_processes_end(&k->processes, k->good_ns ? k->good_ns : 1);
	}
	memcpy(k->since[n], k->change, sizeof(k->since[n]));
}

/* Go back to the kernel in use, if there is one. */
static void note_failure(struct us_kernel *k, unsigned n)
{
	k->failed++;
	unsigned most = n ? MAX_STARTING : MAX_FAILED;
	set_state(k, n && !atomic_load(&k->lost) ? US_KERNEL_IN_USE
		     : k->failed < most		 ? US_KERNEL_WANTED
						 : US_KERNEL_NONE);
}

static void read_once(struct us_kernel *k)
{
	struct us_linux *l;
	unsigned n = atomic_load(&k->n);
	struct us_err e;
	if (us_linux_read(&k->source, &l, &e) < 0) {
		note_failure(k, n);
		return;
	}
	k->read[n] = l;
	note_change(k, n);
	atomic_store_explicit(&k->n, n + 1, memory_order_release);
	atomic_store_explicit(&k->lost, false, memory_order_release);
	set_state(k, US_KERNEL_READY);
}

/* Processes found at the start of the recording were running before it.  Returns the
 * seconds to wait until the next time. */
static unsigned read_processes(struct us_kernel *k)
{
	uint64_t began = us_now_ns();
	uint64_t start = atomic_load(&k->start_ns);
	const struct us_linux *l = us_kernel_linux(k);
	if (l && k->source.mem && state_of(k) != US_KERNEL_WANTED)
		us_processes_read(&k->processes, l, k->source.mem, start);
	return PROCESSES_S +
	       (unsigned)(PROCESSES_PART * (us_now_ns() - began) / US_NS_PER_SEC);
}

/* Without a kernel, or after it was lost, there is nothing to see. */
static void look_at_waits(struct us_kernel *k)
{
	bool known = state_of(k) != US_KERNEL_WANTED;
	us_waits_look(&k->waits, known ? us_kernel_linux(k) : NULL, k->images,
		      &k->processes.programs, k->source.mem, atomic_load(&k->start_ns));
}

static void feed(struct us_kernel *k)
{
	const struct us_linux *l = us_kernel_linux(k);
	if (l && k->source.mem && state_of(k) != US_KERNEL_WANTED)
		us_processes_feed(&k->processes, l, atomic_load(&k->start_ns));
}

/* Wait until somebody wakes this thread or something is due; true: it was woken. */
static bool wait_until(struct us_kernel *k, uint64_t next_ns)
{
	uint64_t now_ns = us_now_ns(), waits_ns = us_waits_due(&k->waits);
	uint64_t due_ns = waits_ns < next_ns ? waits_ns : next_ns;
	if (atomic_load(&k->processes.wanted) && now_ns + HUNGRY_NS < due_ns)
		due_ns = now_ns + HUNGRY_NS;
	return wait_ns(&k->wake, due_ns > now_ns ? due_ns - now_ns : 0);
}

static void end_processes(struct us_kernel *k)
{
	uint64_t lost_ns = atomic_exchange(&k->lost_ns, 0);
	if (lost_ns)
		us_processes_end(&k->processes, lost_ns);
}

static void *run(void *arg)
{
	struct us_kernel *k = arg;
	uint64_t next_ns = us_now_ns() + PROCESSES_S * US_NS_PER_SEC;
	for (;;) {
		bool asked = wait_until(k, next_ns);
		if (atomic_load(&k->quit))
			return NULL;
		end_processes(k);
		if (asked && state_of(k) == US_KERNEL_READ)
			read_once(k);
		if (asked || us_now_ns() >= next_ns) {
			unsigned pause = read_processes(k);
			next_ns = us_now_ns() + pause * US_NS_PER_SEC;
		}
		feed(k);
		if (atomic_load(&k->last_time))
			us_programs_tell_pending(&k->processes.programs);
		look_at_waits(k);
		if (asked)
			sem_post(&k->done);
	}
}

/* The thread's own way to read memory: the sampler uses the backend's callbacks. */
static struct us_mem mem_of_thread(const struct us_backend *b)
{
	if (b->other_mem)
		return *b->other_mem;
	struct us_mem m = *b->mem;
	m.read = NULL;
	m.read_gva = NULL;
	m.page = NULL;
	return m;
}

int us_kernel_open(struct us_kernel *k, struct us_images *i, const struct us_backend *b,
		   struct us_err *e)
{
	sigset_t all, before;
	memset(k, 0, sizeof(*k));
	k->images = i;
	for (size_t n = 0; n < i->n; n++)
		k->file[k->source.n_file++] = i->v[n].elf;
	k->source.file = k->file;
	k->source.stop = &k->quit;
	k->mem = mem_of_thread(b);
	us_mem_init(&k->mem);
	us_processes_init(&k->processes, b->caps & US_CAP_NO_STOP);
	us_waits_init(&k->waits);
	sem_init(&k->wake, 0, 0);
	sem_init(&k->done, 0, 0);
	sem_init(&k->served, 0, 0);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int r = pthread_create(&k->thread, NULL, run, k);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r)
		return us_fail(e, -r, "start a thread: %s", strerror(r));
	k->started = true;
	return 0;
}

void us_kernel_stop(struct us_kernel *k)
{
	if (!k->started)
		return;
	atomic_store(&k->quit, true);
	sem_post(&k->wake);
	sem_post(&k->served);
	pthread_join(k->thread, NULL);
	k->started = false;
}

void us_kernel_close(struct us_kernel *k)
{
	if (!k->images)
		return;
	us_kernel_stop(k);
	us_images_own(k->images, NULL, NULL);
	us_images_programs(k->images, NULL);
	for (unsigned i = 0; i < atomic_load(&k->n); i++)
		us_linux_free(k->read[i]);
	free(k->told);
	us_processes_fini(&k->processes);
	us_waits_fini(&k->waits);
	sem_destroy(&k->wake);
	sem_destroy(&k->done);
	sem_destroy(&k->served);
	k->images = NULL;
}

/* --- the sampler --- */

static uint64_t longer(uint64_t pause_ns)
{
	if (pause_ns < FIRST_PAUSE_NS)
		return FIRST_PAUSE_NS;
	return 2 * pause_ns < MOST_PAUSE_NS ? 2 * pause_ns : MOST_PAUSE_NS;
}

static bool is_due(struct us_kernel *k, const struct us_live_sample *l)
{
	if (l->t_ns < k->next_ns && !k->images->hasty)
		return false;
	k->pause_ns = longer(k->pause_ns);
	k->next_ns = l->t_ns + k->pause_ns;
	return true;
}

static void start_reading(struct us_kernel *k)
{
	bool stub = k->source.place.space.mode == US_PAGING_UNKNOWN;
	k->source.mem = stub ? NULL : &k->mem;
	k->source.virt = (struct us_linux_memory){ ask_sampler, k };
	if (atomic_load(&k->n) == US_KERNEL_MAX) {
		set_state(k, US_KERNEL_NONE);
		return;
	}
	set_state(k, US_KERNEL_READ);
	sem_post(&k->wake);
}

/* Old page tables are the kernel's, or those of user mode, which do not map it. */
static bool may_be_read(const struct us_regs *regs)
{
	return regs->bits == 64 || regs->space_old;
}

static void look_for_it(struct us_kernel *k, const struct us_live_sample *l)
{
	const struct us_regs *regs = &l->capture->regs;
	uint64_t pause_ns = k->pause_ns;
	if (!may_be_read(regs))
		return;
	k->anywhere |= regs->arch != US_ARCH_X86_64;
	if (!us_linux_may_locate(regs) || !is_due(k, l))
		return;
	k->n_searched++;
	if (us_linux_locate(l->paging, regs, &k->source.place)) {
		start_reading(k);
	} else if (regs->arch != US_ARCH_X86_64) { /* maybe by user mode's tables */
		k->pause_ns = pause_ns;
		k->next_ns = l->t_ns + FIRST_PAUSE_NS;
	}
}

static void serve(struct us_kernel *k, const struct us_live_sample *l)
{
	const struct us_regs *regs = &l->capture->regs;
	int asked = ASK_ASKED;
	if (regs->user ||
	    !atomic_compare_exchange_strong(&k->ask.state, &asked, ASK_SERVED))
		return;
	k->ask.ok = us_paging_read(l->paging, &regs->space, k->ask.va, k->ask.buf,
				   k->ask.len);
	atomic_store_explicit(&k->ask.state, ASK_DONE, memory_order_release);
	sem_post(&k->served);
}

const struct us_linux *us_kernel_linux(const struct us_kernel *k)
{
	bool lost = atomic_load_explicit(&k->lost, memory_order_acquire);
	unsigned n = atomic_load_explicit(&k->n, memory_order_acquire);
	return n && !lost ? k->read[n - 1] : NULL;
}

/* Call it only after a kernel was read. */
static const struct us_linux *current(const struct us_kernel *k)
{
	return k->read[atomic_load_explicit(&k->n, memory_order_acquire) - 1];
}

static void take(struct us_kernel *k, const struct us_live_sample *l)
{
	const struct us_linux *tables = current(k);
	k->map = (struct us_code_map){
		.start = tables->start,
		.n = tables->n_start,
		.part = tables->part,
		.n_part = tables->n_part,
		.text_start = tables->code,
		.text_end = tables->text_end,
		.narrow_cs = US_LINUX_CS_OF_32,
	};
	us_images_own(k->images, &k->map, tables->cfi);
	if (!atomic_load(&k->ready_ns))
		atomic_store(&k->ready_ns, l->t_ns ? l->t_ns : 1);
	k->check_ns = l->t_ns + CHECK_NS;
	k->next_ns = l->t_ns + FIRST_PAUSE_NS;
	k->good_ns = l->t_ns;
	k->drawn = tables->drawn;
	k->doubts = 0;
	set_state(k, US_KERNEL_IN_USE);
}

void us_kernel_use(struct us_kernel *k)
{
	static const struct us_live_sample none;
	if (state_of(k) == US_KERNEL_READY)
		take(k, &none);
}

/* Another kernel runs, or none: what was read is obsolete. */
static void drop(struct us_kernel *k, uint64_t t_ns, bool replaced)
{
	k->replaced = replaced;
	us_images_own(k->images, NULL, NULL);
	k->change[0] = k->good_ns;
	k->change[1] = t_ns;
	k->pause_ns = k->next_ns = k->failed = 0;
	atomic_store_explicit(&k->lost, true, memory_order_release);
	atomic_store(&k->lost_ns, k->good_ns ? k->good_ns : 1);
	set_state(k, US_KERNEL_WANTED);
}

/* With page-table isolation the kernel's first instructions still use the tables of
 * user mode, which map little of the kernel; its own are in the page before them. */
static bool read_by_its_tables(struct us_paging *p, const struct us_regs *regs,
			       us_gva va, void *buf, size_t len)
{
	struct us_space s = regs->space;
	if (us_paging_read(p, &s, va, buf, len))
		return true;
	if (regs->arch != US_ARCH_X86_64 || !(s.root & US_ROOT_OF_USER))
		return false;
	s.root &= ~(us_gpa)US_ROOT_OF_USER;
	return us_paging_read(p, &s, va, buf, len);
}

/* The same on aarch64: tramp_pg_dir (arch/arm64/kernel/vmlinux.lds.S) is right before
 * the kernel's own tables. */
static bool is_of_user(const struct us_regs *regs, const struct us_space *own)
{
	us_gpa before = own->root_upper - regs->space.root_upper;
	bool aarch64 = regs->arch == US_ARCH_AARCH64;
	return regs->user || (aarch64 && before && before <= USER_BEFORE);
}

/* Has the same kernel booted again?  Early in a boot its random number is still 0. */
static bool is_drawn_anew(struct us_kernel *k, const struct us_live_sample *l)
{
	us_gva at = current(k)->drawn_at;
	uint64_t now;
	if (!at ||
	    !read_by_its_tables(l->paging, &l->capture->regs, at, &now, sizeof(now)))
		return false;
	if (!k->drawn)
		k->drawn = now;
	return now != k->drawn;
}

static void check(struct us_kernel *k, const struct us_live_sample *l)
{
	const struct us_regs *regs = &l->capture->regs;
	const struct us_linux *tables = current(k);
	uint8_t now[sizeof(tables->check)];
	if (l->t_ns < k->check_ns || !may_be_read(regs))
		return;
	k->check_ns = l->t_ns + CHECK_NS;
	if (!read_by_its_tables(l->paging, regs, tables->check_at, now, sizeof(now))) {
		k->doubts += !is_of_user(regs, &tables->space);
		k->check_ns = l->t_ns + DOUBT_NS;
		if (k->doubts >= MAX_DOUBTS && l->t_ns - k->good_ns >= LOST_NS)
			drop(k, l->t_ns, false);
	} else if (memcmp(now, tables->check, sizeof(now)) || is_drawn_anew(k, l)) {
		drop(k, l->t_ns, true);
	} else {
		k->doubts = 0;
		k->good_ns = l->t_ns;
	}
}

/* Where modules are.  There are also compiled BPF programs and trampolines, and a
 * module may be where another one was. */
static bool is_module_code(const struct us_kernel *k, us_gva pc)
{
	const struct us_linux_place *p = &k->source.place;
	bool kernel = pc >= p->start && pc - p->start < p->size;
	return pc >= p->arch->modules_start && pc < p->arch->modules_end && !kernel;
}

/* Has a module come or gone since the list was read? */
static bool is_list_changed(const struct us_kernel *k, const struct us_live_sample *l)
{
	const struct us_linux_modules *m = &current(k)->modules;
	uint64_t now[2];
	return read_by_its_tables(l->paging, &l->capture->regs, m->head, now,
				  sizeof(now)) &&
	       memcmp(now, m->links, sizeof(now)) != 0;
}

/* Read the kernel again for the modules that a sample is in, if its list of modules is
 * known, and has changed. */
static void look_for_modules(struct us_kernel *k, const struct us_live_sample *l)
{
	const struct us_stack *s = l->stack;
	unsigned i = 0;
	if (!k->source.mem || l->t_ns < k->list_ns || !current(k)->modules.orc ||
	    k->failed >= MAX_FAILED)
		return;
	while (i < s->n && i < MAX_STACK && !is_module_code(k, s->pc[i]))
		i++;
	if (i == s->n || i == MAX_STACK)
		return;
	k->list_ns = l->t_ns + LIST_NS;
	if (is_list_changed(k, l) && is_due(k, l) && atomic_load(&k->n) < MAX_MODULES)
		start_reading(k);
}

static void take_programs(struct us_kernel *k)
{
	struct us_program_code *c = &k->processes.programs.code;
	struct us_code_set *s = us_program_code_next(c);
	if (!s)
		return;
	us_images_programs(k->images, s->n ? s->block : NULL);
	us_program_code_taken(c, s);
}

void us_kernel_sample(struct us_kernel *k, const struct us_live_sample *l)
{
	if (l->t_ns && !atomic_load_explicit(&k->start_ns, memory_order_relaxed))
		atomic_store(&k->start_ns, l->capture->t_ns - l->t_ns);
	take_programs(k);
	switch (state_of(k)) {
	case US_KERNEL_WANTED:
		look_for_it(k, l);
		break;
	case US_KERNEL_READ:
		serve(k, l);
		break;
	case US_KERNEL_READY:
		take(k, l);
		break;
	case US_KERNEL_IN_USE:
		check(k, l);
		if (state_of(k) != US_KERNEL_IN_USE)
			break;
		look_for_modules(k, l);
		us_kernel_look_for_alias(k, l);
		break;
	}
}

uint64_t us_kernel_task(struct us_kernel *k, const struct us_live_sample *l)
{
	struct us_owners *o = k->processes.owners;
	/* Not through a stub: each read would hold the guest for a round trip. */
	return o && k->source.mem && state_of(k) != US_KERNEL_WANTED
		       ? us_owners_of(o, us_kernel_linux(k), l)
		       : 0;
}

bool us_kernel_unseen(const struct us_kernel *k)
{
	return state_of(k) == US_KERNEL_WANTED && k->anywhere &&
	       k->n_searched < LEAST_SEARCHES;
}

bool us_kernel_pending(const struct us_kernel *k)
{
	int state = state_of(k);
	return state == US_KERNEL_READ || state == US_KERNEL_READY;
}

static bool is_reading(const struct us_kernel *k)
{
	return k->started && state_of(k) == US_KERNEL_READ && k->source.mem;
}

static void wait_for_reading(struct us_kernel *k, uint64_t ns)
{
	if (is_reading(k))
		wait_ns(&k->done, ns);
}

void us_kernel_wait(struct us_kernel *k)
{
	wait_for_reading(k, WAIT_S * US_NS_PER_SEC);
}

void us_kernel_finish(struct us_kernel *k)
{
	atomic_store(&k->last_time, true);
	if (!k->started || !k->source.mem || !us_kernel_linux(k))
		return;
	sem_post(&k->wake);
	wait_for(&k->done, WAIT_S);
}

const char *us_kernel_unfinished(const struct us_linux *l)
{
	return l->unfinished ? "its kernel was not read to its end in time" : NULL;
}

const char *us_kernel_no_tasks(const struct us_kernel *k)
{
	const struct us_linux *l = us_kernel_linux(k);
	if (!l)
		return us_kernel_unseen(k)
			       ? "only programs and the kernel's entry ran when it "
				 "was sampled, which do not show where the kernel is"
			       : "no 64-bit Linux kernel was found in its memory";
	if (!k->source.mem)
		return "its memory can be read only through a GDB stub, which stops "
		       "the guest";
	if (!l->has_tasks && us_kernel_unfinished(l))
		return us_kernel_unfinished(l);
	if (!l->has_types)
		return l->no_types;
	return l->has_tasks ? NULL : l->no_tasks;
}

/* Too large for comfort on a stack. */
struct attach {
	struct us_capture capture;
	struct us_paging paging;
	struct us_stack none;
	/* Other vCPUs' turn, in the first stop after a reading. */
	bool skips;
	uint16_t after;	  /* up to this one they are left out ... */
	uint64_t stop_ns; /* ... in this stop; 0: it is still to come */
};

/* While the kernel is read from what one vCPU has shown, the guest runs on. */
static void read_kernel(struct us_kernel *k, struct us_backend *b, struct attach *a,
			uint64_t ns)
{
	if (!is_reading(k))
		return;
	us_backend_let_go(b);
	a->skips = true;
	a->after = a->capture.vcpu;
	a->stop_ns = 0;
	wait_for_reading(k, ns);
}

static bool is_left_out(struct attach *a)
{
	const struct us_capture *c = &a->capture;
	if (!a->stop_ns)
		a->stop_ns = c->t_ns;
	a->skips &= c->vcpu <= a->after && c->t_ns == a->stop_ns;
	return a->skips;
}

/* Kernel code ran, and there is nothing where Linux would be. */
static bool is_another(const struct us_kernel *k, const struct us_regs *regs)
{
	return state_of(k) == US_KERNEL_WANTED && regs->bits == 64 && !regs->user;
}

static bool attach(struct us_kernel *k, struct us_backend *b, uint64_t vcpu_mask)
{
	const struct us_schedule schedule = {
		.hz = ATTACH_HZ, .seed = 1, .vcpu_mask = vcpu_mask, .wake_halted = true
	};
	_cleanup_free_ struct attach *a = calloc(1, sizeof(*a));
	uint64_t limit = us_now_ns() + US_KERNEL_ATTACH_NS, now;
	unsigned others = 0;
	if (!a || b->ops->start(b, &schedule, NULL) < 0)
		return true;
	const struct us_live_sample sample = { .capture = &a->capture,
					       .stack = &a->none,
					       .paging = &a->paging };
	us_paging_init(&a->paging, b->mem);
	for (unsigned samples = 0;
	     samples < ATTACH_SAMPLES && (now = us_now_ns()) < limit; samples++) {
		int r = b->ops->next(b, limit, &a->capture);
		if (r < 0)
			return true;
		if (r == 0)
			continue;
		bool readable = !is_left_out(a) &&
				us_capture_begin(&a->capture, &a->paging);
		k->next_ns = k->pause_ns = 0;
		if (readable)
			us_kernel_sample(k, &sample);
		b->ops->release(b, &a->capture);
		read_kernel(k, b, a, limit - now);
		others += readable && !k->failed && is_another(k, &a->capture.regs);
		if (state_of(k) == US_KERNEL_IN_USE || k->failed == ATTACH_READS ||
		    others == ATTACH_OTHERS)
			return true;
	}
	return us_now_ns() < limit && state_of(k) != US_KERNEL_READ;
}

bool us_kernel_attach(struct us_kernel *k, struct us_backend *b, uint64_t vcpu_mask)
{
	bool whole = attach(k, b, vcpu_mask);
	us_backend_let_go(b);
	return whole;
}
