/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gdb/session.h: a guest behind a GDB stub: attach, sample its vCPUs, detach.
 *
 * Connecting stops the guest, and while it runs a stub takes any byte for a request to
 * stop it.  Whoever holds the guest therefore tells a watchdog process that shares the
 * connection, and the guest is released however uniscope ends.
 *
 * A guest that its owner had paused stays paused.  QEMU up to 8.0 reports whether the
 * guest ran when we connected.  Otherwise the caller may know (QMP query-status), or
 * the threads of the vCPUs tell (gdb/arrival.h).  If nobody knows, the guest is assumed
 * to have run, and unsure is set.
 */
#ifndef US_BACKEND_GDB_SESSION_H
#define US_BACKEND_GDB_SESSION_H

#include "backend/gdb/arrival.h"
#include "backend/gdb/client.h"
#include "backend/gdb/code.h"
#include "backend/gdb/target.h"
#include "backend/vmm_threads.h"
#include "backend/watchdog.h"
#include "vmm/guest_list.h"

#include <sys/types.h>

#define US_GDB_MAX_LISTS 1024 /* replies with ids of vCPUs; QEMU puts one into each */

enum us_gdb_run {
	US_GDB_RUNS,
	US_GDB_HELD,   /* we have stopped it */
	US_GDB_PAUSED, /* its owner paused it, or it has crashed: not ours to resume */
};

enum us_gdb_vcpu_state {
	US_GDB_RUNNING,
	US_GDB_HALTED,
	US_GDB_OFF,
	US_GDB_UNPLUGGED, /* it has no registers */
};

/* What one stop shows. */
struct us_gdb_sample {
	uint64_t asked_ns; /* when the request to stop went out */
	uint64_t t_ns;	   /* when the guest was known to be stopped */
	uint64_t got;	   /* bit n: vCPU n was read ... */
	uint64_t refused;  /* ... or the stub refused */
	struct us_regs regs[US_MAX_VCPUS];
	struct us_gdb_code code[US_MAX_VCPUS];
	uint8_t state[US_MAX_VCPUS]; /* enum us_gdb_vcpu_state */
	struct us_gdb_apart apart;   /* registers of the vCPU that is being read */
};

struct us_gdb_session {
	struct us_gdb client;
	struct us_gdb_layout layout;
	struct us_watchdog *watchdog;
	struct us_gdb_shared *shared; /* what the watchdog must know */
	struct us_gdb_codes codes;
	char endpoint[US_ENDPOINT_SIZE];

	struct us_gdb_arrival arrival; /* only while attaching */

	uint8_t run;   /* enum us_gdb_run */
	bool detached; /* after an error: nothing more is sent */
	bool ran_on;   /* since the sample, by its owner: its memory is another one's */
	bool qemu;     /* several packets may be sent at once */
	bool extra;    /* qThreadExtraInfo shows whether a vCPU is halted */
	bool unsure;   /* whether it ran before we came is not known */
	bool slept;    /* its threads say that it did not; else somebody said so */
	bool kvm, tcg; /* as QEMU says; neither: not known */
	size_t packet_size; /* the stub's limit */
	const char *resume; /* "c" or "vCont;c" */
	bool migrates; /* a migration is under way: the guest is stopped only to ask
			  whether it is over, at: */
	uint64_t ask_migrate_ns; /* UINT64_MAX: the stub cannot say */
	uint64_t asked_ns;	 /* when the sample that is held, or was last, began */
	struct us_vmm_threads threads;
	uint64_t nap_ns; /* how long the replies of one stop take */
	unsigned n_vcpu;
	unsigned n_beyond; /* vCPUs in other clusters: QEMU's stub shows each cluster as
			      a process, and a debugger the first of them */
	unsigned n_over;   /* vCPUs that the stub lists beyond US_MAX_VCPUS */
	unsigned selected; /* the vCPU that is selected in the stub; US_MAX_VCPUS:
			      unknown */
	char thread[US_MAX_VCPUS][24];
	/* The thread that runs vCPU n, by its id in its own pid namespace, from QEMU's
	 * monitor; 0: not known. */
	pid_t tid[US_MAX_VCPUS];
};

enum us_gdb_before { US_GDB_UNKNOWN_BEFORE, US_GDB_RAN_BEFORE, US_GDB_PAUSED_BEFORE };

/*
 * Wait until no debugger is connected to the stub, for up to 3 s: a guest that a
 * debugger holds is not paused by its owner.  -EBUSY: one is connected.
 */
US_MUST_CHECK int us_gdb_wait_free(const char *endpoint, struct us_err *e);

/*
 * Attach; the guest then continues to run, or is paused as before.  before: what the
 * caller learned since us_gdb_wait_free().  vmm: the process behind the stub; 0: not
 * known.  -EBUSY: another debugger has the stub;
 * -ETIMEDOUT, -EPROTO, -ECONNRESET; -ENOTSUP: an unknown processor.  All within 5 s.
 */
US_MUST_CHECK int us_gdb_session_open(const char *endpoint, enum us_gdb_before before,
				      pid_t vmm, struct us_gdb_session **ret,
				      struct us_err *e);
/* Detach; the guest runs (or is paused as before).  Accepts NULL. */
void us_gdb_session_close(struct us_gdb_session *s);

/*
 * Stop the guest and read the vCPUs in mask.  Afterwards run is HELD, or PAUSED.
 * -ESRCH: the guest has exited; -ECONNRESET; -ETIMEDOUT, -EPROTO; client.why says more.
 * After an error the guest is released, as far as we can.
 */
US_MUST_CHECK int us_gdb_session_sample(struct us_gdb_session *s, uint64_t mask,
					struct us_gdb_sample *ret);
/* End the hold; a guest that is PAUSED stays so.  Errors as above. */
US_MUST_CHECK int us_gdb_session_resume(struct us_gdb_session *s);

/* Read memory as the vCPU sees it; only while it is HELD or PAUSED.  If its owner lets
 * a paused guest go meanwhile, it is HELD afterwards. */
bool us_gdb_session_read(struct us_gdb_session *s, unsigned vcpu, us_gva va, void *buf,
			 size_t len);

/* How many vCPUs the stub lists beyond those of its first list; only while it is HELD
 * or PAUSED.  0: none, or not known. */
unsigned us_gdb_session_late(struct us_gdb_session *s);

/* What an exception interrupted last on a vCPU of this sample; only while it is HELD or
 * PAUSED. */
bool us_gdb_session_left(struct us_gdb_session *s, unsigned vcpu,
			 struct us_gdb_sample *sample, struct us_entered *ret);

/* While the guest runs: sleep until t_ns.  0; -EINTR; or an error as from
 * us_gdb_session_sample(). */
US_MUST_CHECK int us_gdb_session_sleep(struct us_gdb_session *s, uint64_t t_ns);

#endif
