/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * qmp/reply.h: read what a QEMU monitor sends, in the hot path.
 *
 * vmm/qmp.h parses into objects, which allocates.  A sample needs only three kinds of
 * message, so they are scanned in place.  Everything here works on untrusted bytes: it
 * is bounded and fuzzed.
 */
#ifndef US_BACKEND_QMP_REPLY_H
#define US_BACKEND_QMP_REPLY_H

#include "guest/regs.h"
#include "vmm/qmp_parse.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What kind of message is it, and where is the value of its "return", "error" or
 * "event"?  msg is one whole message (us_qmp_frame()). */
enum us_qmp_kind us_qmp_scan(const char *msg, size_t len, const char **ret_value,
			     size_t *ret_len);

/* Events that tell whether the guest runs. */
enum us_qmp_event {
	US_QMP_OTHER,
	US_QMP_STOP,
	US_QMP_RESUME,
	US_QMP_SUSPEND, /* to S3 */
	US_QMP_WAKEUP,
};

/* value: of an event, quotes included. */
enum us_qmp_event us_qmp_event(const char *value, size_t len);

/* Decode a JSON string, quotes included; what is not ASCII becomes '?'.  Returns the
 * length, cut at size - 1 and NUL-terminated; -EPROTO: it is no string. */
long us_qmp_unquote(const char *json, size_t len, char *buf, size_t size);

/* One vCPU in the text of `info registers`. */
struct us_qmp_vcpu {
	unsigned index; /* "CPU#1" */
	struct us_regs regs;
	uint32_t code_base; /* of the code segment; regs.pc includes it */
	bool halted;
};

/*
 * The next vCPU in the text at *at (NUL-terminated), which moves behind it: 1; 0: no
 * more; -EPROTO: registers are missing or are no numbers.  QEMU 7.2's form for 16, 32
 * and 64 bits: "RIP=..." or "EIP=...", "CS =selector base limit flags", SS likewise,
 * "HLT=1".
 */
int us_qmp_next_vcpu(const char **at, struct us_qmp_vcpu *ret);
/* The text is of this vCPU alone: without its number before QEMU 7.2. */
int us_qmp_only_vcpu(const char *text, unsigned vcpu, struct us_qmp_vcpu *ret);

/* The bytes in the text of `x /Nxg address`: whole words of eight bytes, as they lie
 * in memory.  False if there are fewer than len. */
bool us_qmp_read_dump(const char *text, uint8_t *buf, size_t len);

/* How many vCPUs are in QMP's reply to query-cpus-fast?  Not NUL-terminated. */
unsigned us_qmp_n_vcpus(const char *text, size_t len);

/* Does the guest run, according to QMP's reply to query-status?  Not NUL-terminated. */
bool us_qmp_runs(const char *text, size_t len);

/* Is a migration under way, according to QMP's reply to query-migrate or the text of
 * HMP's `info migrate`?  Not NUL-terminated. */
bool us_qmp_migrates(const char *text, size_t len);

/* The protection that the answer to "info sev" tells, as us_guest.protection; "": none.
 */
const char *us_qemu_says_sev(const char *text);

#endif
