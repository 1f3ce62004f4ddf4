/* SPDX-License-Identifier: GPL-2.0-or-later */
/* qmp/probe.c: see qmp/probe.h. */
#include "backend/qmp/probe.h"
#include "backend/peer_ram.h"
#include "vmm/socket.h"

#include <errno.h>
#include <string.h>

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
		us_fail(why, -EBUSY, "libvirt has the monitor");
		us_hint(why, "use its GDB stub, --backend gdb");
		return 0;
	}
	if (!t->qmp[0]) {
		us_fail(why, -ENODEV, "no QMP monitor is known");
		us_hint(why, "start QEMU with -qmp unix:PATH,server=on,wait=off");
		return 0;
	}
	return t->qmp[0] != '/' ||
	       us_socket_find(t->qmp, "the monitor's socket", why) == 0;
}

int us_qmp_probe(const struct us_target *t, struct us_err *why)
{
	if (!us_qmp_is_offered(t, why))
		return 0;
	us_peer_ram_explain(t->guest, "by the monitor", why);
	return 1;
}
