/* SPDX-License-Identifier: GPL-2.0-or-later */
/* qmp/probe.c: see qmp/probe.h. */
#include "backend/qmp/probe.h"
#include "backend/peer_ram.h"
#include "backend/qmp/reply.h"
#include "vmm/socket.h"
#include "vmm/socket_peer.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* A client may be about to leave. */
#define LEAVE_TRIES    5
#define LEAVE_AGAIN_US 20000

/* By the name of QEMU's program, before anyone has asked the monitor. */
static bool is_other_processor(const struct us_guest *g)
{
	static const char qemu[] = "qemu-system-";
	const char *name = g ? strrchr(g->exe, '/') : NULL;
	if (!name || strncmp(name + 1, qemu, strlen(qemu)) != 0)
		return false;
	name += strlen(qemu) + 1;
	return strncmp(name, "x86_64", 6) != 0 && strncmp(name, "i386", 4) != 0;
}

/*
 * A connection that waits for the present client to leave would stay in QEMU's queue,
 * and in the way of others.  So do not even try.  What this process holds it lets go.
 */
static bool is_held(const char *endpoint, struct us_err *why)
{
	char who[160];
	pid_t pid;
	for (unsigned i = 0; i < LEAVE_TRIES; i++) {
		if (us_socket_find_client(endpoint, &pid) != US_SOCKET_TAKEN ||
		    pid == getpid())
			return false;
		usleep(LEAVE_AGAIN_US);
	}
	us_fail(why, -EBUSY, "%s has the monitor",
		us_socket_name_client(endpoint, "another client", who, sizeof(who)));
	us_hint(why, "it serves one client at a time: give QEMU one more -qmp, or use "
		     "another --backend");
	return true;
}

int us_qmp_is_offered(const struct us_target *t, struct us_err *why)
{
	if (is_other_processor(t->guest)) {
		us_fail(why, -ENOTSUP,
			"of this processor the monitor does not show all that a walk "
			"of page tables needs");
		return 0;
	}
	if (!t->qmp[0] && t->guest && strcmp(t->guest->vmm, "qemu") != 0) {
		us_fail(why, -ENOTSUP, "%s is no QEMU, which has the monitor",
			t->guest->vmm);
		return 0;
	}
	if (!t->qmp[0] && t->guest && t->guest->libvirt) {
		us_fail(why, -ENODEV, "libvirt has the monitor");
		us_hint(why, "use its GDB stub, --backend gdb");
		return 0;
	}
	if (!t->qmp[0] && t->guest && t->guest->lost_qmp[0])
		return us_guest_fail_lost(t->guest, "qmp", why), 0;
	if (!t->qmp[0]) {
		us_fail(why, -ENODEV, "no QMP monitor is known");
		us_hint(why, "start QEMU with -qmp unix:PATH,server=on,wait=off");
		return 0;
	}
	if (t->spared) {
		us_fail(why, -EBUSY,
			"its monitor is left to managers, since it serves one client "
			"at a time");
		us_hint(why, "to take it all the same: --backend qmp");
		return 0;
	}
	if (t->qmp[0] == '/' && us_socket_find(t->qmp, "the monitor's socket", why) < 0)
		return 0;
	return !us_guest_is_stopped(t->guest, why) && !is_held(t->qmp, why);
}

int us_qmp_probe(const struct us_target *t, struct us_err *why)
{
	if (!us_qmp_is_offered(t, why))
		return 0;
	us_peer_ram_explain(t->guest, "by the monitor", why);
	return 1;
}

int us_qmp_refuse_protected(struct us_qmp *q, struct us_err *e)
{
	char text[512];
	if (us_qmp_human(q, "info sev", -1, text, sizeof(text), NULL) < 0)
		return 0;
	return us_backend_check_protection(us_qemu_says_sev(text), e);
}
