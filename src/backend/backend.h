/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * backend.h: how uniscope reaches into a running guest.
 *
 * A backend delivers captures: samples of one vCPU at one instant.  Some backends take
 * a sample when they are asked (kvm, gdb, qmp, xen: they stop the vCPU).  Others send
 * samples by themselves (bpf: a timer in the host kernel).  next() hides the
 * difference.  Paging, unwinding and recording are shared by all of them.
 *
 * A guest's vCPUs are numbered from 0, in the order of us_guest.vcpu.  A vCPU that is
 * added while the guest runs (bpf) gets the next number: n_vcpu may grow in next().  A
 * vCPU that is removed is no error, unless it is the last one.
 *
 * Backends that are open at the same time do not know of each other, and each may be
 * used by another thread.  Whatever they share inside (the programs of bpf) they
 * synchronize themselves.
 *
 * To add a backend: write backend/foo/foo.c with one `const struct us_backend_ops
 * us_backend_foo`, add it to the table in backend.c and to meson.build, and add a row
 * to docs/backends.md.  The conformance tests then run on it unchanged.
 */
#ifndef US_BACKEND_H
#define US_BACKEND_H

#include "backend/exit_reason.h"
#include "base/err.h"
#include "guest/memory.h"
#include "guest/pointed.h"
#include "unwind/unwind.h"
#include "vmm/guest_list.h"

struct us_backend;
struct us_fake_opts; /* backend/fake/fake.h */
struct us_xen_guest; /* vmm/xen/domains.h */
struct us_xen_calls;

/* Where to find the guest.  A backend ignores the members that it does not use. */
struct us_target {
	const struct us_guest *guest; /* NULL: known by its address only */
	char qmp[US_ENDPOINT_SIZE];   /* endpoint without the scheme; "" if none */
	char gdb[US_ENDPOINT_SIZE];
	bool spared; /* these two are for others, who may come: each serves one client
		      */
	bool registers;			 /* the caller wants registers and memory */
	const struct us_xen_guest *xen;	 /* NULL: no Xen domain */
	const struct us_fake_opts *fake; /* NULL except in tests */
	const struct us_xen_calls *xen_calls; /* NULL except in tests: the real ones */
};

/* Stored in files: append only. */
enum us_vcpu_state {
	US_VCPU_GUEST,	/* running guest code */
	US_VCPU_EXIT,	/* in the hypervisor or VMM on the guest's behalf */
	US_VCPU_HALTED, /* idle: waits for an interrupt */
	US_VCPU_READY,	/* ready to run, but has no host CPU (steal) */
	US_VCPU_OFF,	/* not started, unplugged, or the whole guest is paused by its
			   owner */
	US_N_VCPU_STATE,
};

/* What a capture has to unwind from. */
enum us_capture_form {
	US_CAPTURE_NONE,   /* nothing: the state is all there is (halted, off) */
	US_CAPTURE_LIVE,   /* the guest's memory, unchanged until release() */
	US_CAPTURE_WINDOW, /* a copy of the stack. Code is read from memory as it is
			      now; stack that is not in the copy only if window.held is
			      set */
	US_CAPTURE_STACK,  /* program counters: the backend has unwound already */
};

/* What the host did at a sample taken outside the guest: its kernel, on behalf of the
 * VMM, or the VMM itself. */
struct us_host_copy {
	const us_hva *kernel; /* program counters, innermost first */
	unsigned n_kernel;
	bool with_tick; /* the innermost ones belong to the sample's own interrupt */
	/* The VMM's registers and stack where it left its program.  Addresses in them
	 * are us_hva. */
	struct us_regs regs;
	struct us_stack_copy stack;
};

struct us_capture {
	uint64_t t_ns;	  /* CLOCK_MONOTONIC at which the registers were true */
	uint64_t held_ns; /* set by release(): how long the guest was stopped for this
			     capture, from the request to stop until it was resumed,
			     without the time that it waited for a host CPU */
	uint16_t vcpu;	  /* index into us_guest.vcpu */
	uint8_t state;	  /* enum us_vcpu_state */
	uint8_t form;	  /* enum us_capture_form */
	uint32_t weight;  /* how many due samples it stands for; usually 1 */
	uint32_t exit;	  /* us_vm_exit_code(), with US_VCPU_EXIT; 0: not known */
	struct us_regs regs;
	struct us_stack_copy window;
	bool cut; /* set before release(): the stack ends early because the window was
		     too small */
	struct us_stack stack;
	/* With US_VCPU_EXIT, if the schedule asked for it; NULL: not known.  Valid
	 * until the next capture. */
	struct us_host_copy *host;
	/* With US_CAPTURE_WINDOW, what point() asked for; NULL: nothing.  Valid until
	 * the next capture. */
	const struct us_pointed *pointed;
};

/*
 * Make p ready to unwind the capture; p uses the backend's mem.  False: the capture has
 * nothing to unwind from.
 */
bool us_capture_begin(struct us_capture *c, struct us_paging *p);
/* After s was unwound from c: set c->cut if more of the stack should have been copied.
 */
void us_capture_judge(struct us_capture *c, const struct us_stack *s);

/* When to sample.  The same for backends that are asked and for those that send by
 * themselves. */
struct us_schedule {
	double hz;	     /* samples a second at each vCPU */
	uint64_t seed;	     /* of the jitter, so that a recording can be repeated */
	uint64_t vcpu_mask;  /* 0: all */
	uint32_t budget_ppm; /* guest time that sampling may take; 0: no limit */
	bool host;	     /* report what the host does, too (US_CAP_HOST) */
	bool wake_halted; /* stop a halted vCPU too, to see where it halted (dump); else
			     it may be left alone and has no stack */
	uint64_t pause_ns; /* a backend that sends by itself may deliver samples this
			      late, many at a time, so that a process that observes many
			      guests seldom wakes up; 0: the backend decides */
};

/* What captures do not show.  All but the times count due samples: due = captures taken
 * + late + backed_off + failed + lost. */
struct us_backend_counts {
	uint64_t due;  /* samples that the schedule asked for, all vCPUs */
	uint64_t late; /* of due, not taken: the previous sample was not done yet, or
			  left out to sample busy and idle time alike */
	uint64_t backed_off; /* of due, not taken: the budget forbade it */
	uint64_t failed;     /* of due, not taken: the vCPU could not be read */
	uint64_t lost; /* of due, taken but lost: no buffer space was left to deliver
			  them */
	uint64_t stolen_ns;   /* guest time taken, summed over the vCPUs that lost it */
	uint64_t vcpu_ns;     /* guest time observed: wall time x vCPUs since start() */
	uint64_t held_max_ns; /* the longest hold, if captures do not show it: for a
				 sample that failed; 0: they show it */
};

enum us_backend_caps {
	US_CAP_FREEZE = 1 << 0,	  /* all vCPUs are held still together */
	US_CAP_MAP = 1 << 1,	  /* guest RAM is mapped: reads cost no syscall */
	US_CAP_ALL_GPRS = 1 << 2, /* regs.gpr is filled: CFI can unwind */
	US_CAP_NO_STOP = 1 << 3,  /* a capture never stops the guest */
	US_CAP_BLOCKS = 1 << 4,	  /* PCs fall on translation blocks only (TCG) */
	US_CAP_WATCHDOG = 1 << 5, /* a watchdog process guards the guest */
	US_CAP_HOST = 1 << 6,	  /* captures can tell what the host did */
	/* Captures are US_CAPTURE_STACK.  Their addresses are functions' first
	 * instructions (or a us_counts_special).  There are neither registers nor
	 * memory. */
	US_CAP_FUNCTIONS = 1 << 7,
};

/*
 * Calls of one backend never overlap.  The thread that took a capture also releases it:
 * the kernel accepts ptrace requests only from the thread that attached.
 */
struct us_backend_ops {
	const char *name;
	const char *summary; /* one line for --help and `ps` */

	/* Can it serve this target?  1: yes, and *why says what will be missing, if
	 * anything; 0: no, and *why says why.  Both say what would help.  Must have no
	 * effect on the guest. */
	int (*probe)(const struct us_target *t, struct us_err *why);

	/* Can this process, on this host, serve any guest at all?  0: yes; *why has
	 * words if it can serve only some guests.  Else -errno, and *why as above.
	 * NULL: it can serve every guest that offers what it needs. */
	int (*ready)(struct us_err *why);

	/* Setup path: may allocate, block and explain failure.  open() sets ops, caps,
	 * arch, accel, n_vcpu, mem, other_mem, how, caution and hazard. */
	int (*open)(const struct us_target *t, struct us_backend **ret,
		    struct us_err *e);
	int (*start)(struct us_backend *b, const struct us_schedule *s,
		     struct us_err *e);
	void (*close)(struct us_backend *b); /* accepts NULL; the guest keeps running */

	/*
	 * Hot path: no allocation, no logging, no locks.  next() returns
	 *
	 * - 1 and a capture;
	 * - 0 at the deadline (CLOCK_MONOTONIC, ns) or when a signal interrupts it;
	 * - a negative errno: -ESRCH: the guest is gone; -ECONNRESET: the peer is gone.
	 *
	 * What next() stopped stays stopped until release(), which sets c->held_ns.
	 * Each next() that returned 1 is followed by one release().  Where one stop
	 * gives several captures (US_CAP_FREEZE), the guest may stay stopped until the
	 * last of them is released: see let_go().
	 */
	int (*next)(struct us_backend *b, uint64_t deadline_ns, struct us_capture *c);
	void (*release)(struct us_backend *b, struct us_capture *c);

	/*
	 * After a release(): resume what is still stopped for captures that next()
	 * would deliver; they are dropped.  The caller asks for no more captures, or
	 * does something else first.  NULL: nothing is stopped between release() and
	 * next().
	 */
	void (*let_go)(struct us_backend *b);

	/*
	 * Hot path, between next() and release(): from now on, captures of this vCPU
	 * with US_CAPTURE_WINDOW also contain what the pointer at leads to (at 0:
	 * nothing).  All vCPUs share one plan.  Captures that were taken before are
	 * delivered as they are.  NULL: the backend cannot do this.
	 */
	void (*point)(struct us_backend *b, unsigned vcpu, us_gva at,
		      const struct us_pointed_plan *plan);

	/* The counts so far; may be called at any time from the thread of next(). */
	void (*counts)(const struct us_backend *b, struct us_backend_counts *ret);

	/* After a negative next(): what happened, in words. May be NULL. */
	void (*explain)(const struct us_backend *b, int code, struct us_err *e);

	/* After the last next(): the places where stops fall more or less often than
	 * the vCPUs are there, in the format of us_running_pc_text().  May be NULL. */
	void (*gathers)(const struct us_backend *b, char *ret, size_t size);

	/* After the last next() and let_go(): how many vCPUs were plugged in since
	 * open() and are not sampled; 0: none, or not known.  It may stop the guest for
	 * a moment, as a sample does.  May be NULL. */
	unsigned (*late_vcpus)(struct us_backend *b);

	/* With US_CAP_FUNCTIONS: does the guest run the code of the images, as far as
	 * was seen?  1: it does; -1: it does not; 0: not known.  Any thread may call
	 * it. */
	int (*runs_images)(const struct us_backend *b);
	/* The same: how far above their addresses in the images it runs functions,
	 * which have no names then; 0: nowhere else, or not known. */
	uint64_t (*slide)(const struct us_backend *b);
};

/* Embedded first in each backend's own struct. */
struct us_backend {
	const struct us_backend_ops *ops;
	unsigned caps;
	enum us_arch arch;
	enum us_accel accel; /* what runs the guest */
	unsigned n_vcpu;    /* up to US_MAX_VCPUS; another thread reads it atomically */
	struct us_mem *mem; /* owned by the backend or its us_ram */
	/* The same memory for one other thread, while the backend is open.  NULL: that
	 * thread has only what is in mem's regions. */
	struct us_mem *other_mem;
	/* With US_CAP_FUNCTIONS: addresses have this choice of layers
	 * (trace/functions.h). */
	uint64_t layers;
	char how[160];	   /* for the facts of a recording: "sync-regs, memfd, 2
			      regions" */
	char caution[256]; /* a warning for readers of the figures; "" if none */
	char hazard[256];  /* a warning for the guest's owner; "" if none */
};

/* Best first, NULL-terminated. */
extern const struct us_backend_ops *const us_backends[];

const struct us_backend_ops *us_backend_by_name(const char *name); /* or NULL */
/* 0; -EINVAL: name is neither "auto" nor a backend; the message suggests the nearest
 * name and lists all. */
US_MUST_CHECK int us_backend_check(const char *name, struct us_err *e);

/* Can uniscope profile guests of this processor?  name: QEMU's name of it; "" if it is
 * not known.  0 or -ENOTSUP. */
US_MUST_CHECK int us_backend_check_processor(const char *name, struct us_err *e);

/* Does something keep this host from reading the guest?  kind: us_guest.protection.  0
 * or -ENOTSUP. */
US_MUST_CHECK int us_backend_check_protection(const char *kind, struct us_err *e);

/* Call o's probe, but only if the guest can be profiled at all. */
int us_backend_probe(const struct us_backend_ops *o, const struct us_target *t,
		     struct us_err *why);

/*
 * Open the backend called name; with NULL or "auto", the first that can serve the
 * target.  why (size bytes, may be NULL) gets the choice in words: "kvm; not bpf: ...".
 */
US_MUST_CHECK int us_backend_open(const struct us_target *t, const char *name,
				  struct us_backend **ret, char *why, size_t size,
				  struct us_err *e);
/* Both warnings of an open backend as one text; "" if there is none. */
void us_backend_warning(const struct us_backend *b, char *ret, size_t size);
void us_backend_let_go(struct us_backend *b); /* let_go(), if there is one */
void us_backend_close(struct us_backend *b);

#endif
