/* SPDX-License-Identifier: GPL-2.0-or-later */
/* boot.c: see boot.h. */
#include "trace/plugin/boot.h"

#include "trace/plugin/arch.h"
#include "trace/plugin/devices.h"
#include "trace/plugin/phases.h"
#include "trace/plugin/shared_file.h"
#include "trace/plugin/translate.h"
#include "vmm/plugin_boot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000ULL

static struct us_boot_file *file;
static unsigned n_watch, n_vcpu; /* copies: the file's own may change at any time */
static uint64_t insns;		 /* version 1, one vCPU */
static uint64_t first_pc;	 /* of the guest's first block */
static const void *first_code;	 /* in QEMU's memory; NULL: not known */
static bool has_first;
static bool with_devices;
static struct qemu_plugin_scoreboard *score;
static const struct us_plugin_arch *arch; /* NULL: not known */
static unsigned api;

static uint64_t now_of(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static uint64_t executed(void)
{
	uint64_t sum = insns;
	for (unsigned i = 0; us_plugin.boot && i < us_plugin.counts->n_seen; i++)
		sum += *us_plugin.vcpu[i].tracker.insns;
	for (unsigned i = 0; score && i < n_vcpu; i++)
		sum += *(uint64_t *)qemu_plugin_scoreboard_find(score, i);
	return sum;
}

static bool is_seen(const struct us_boot_watch *w)
{
	return __atomic_load_n(&w->wall_ns, __ATOMIC_ACQUIRE);
}

static bool is_behind(const struct us_boot_watch *w)
{
	for (unsigned k = 0; k < n_watch; k++)
		if (file->watch[k].event == US_WATCH_INSN &&
		    file->watch[k].point > w->point && is_seen(&file->watch[k]))
			return true;
	return false;
}

static bool is_due(const struct us_boot_watch *w)
{
	if (is_seen(w) || (w->only_before && is_behind(w)))
		return false;
	if (w->after == US_WATCH_AT_ONCE)
		return true;
	for (unsigned k = 0; k < n_watch; k++)
		if (file->watch[k].point == w->after && is_seen(&file->watch[k]))
			return true;
	return false;
}

/* If two vCPUs reach it at once, the later one may be recorded. */
static void note(struct us_boot_watch *w, unsigned vcpu, uint64_t before)
{
	if (is_seen(w)) /* callbacks come each time, not only the first */
		return;
	uint64_t wall = now_of(CLOCK_MONOTONIC);
	if (!is_due(w))
		return;
	w->cpu_ns = now_of(CLOCK_PROCESS_CPUTIME_ID);
	uint64_t insns_now = executed(); /* 0: nothing counts */
	w->insns = insns_now > before ? insns_now - before : 0;
	if (us_plugin.boot)
		us_phases_mark(w->point, vcpu, before);
	/* In this order: uniscope does not go back behind a point that it sees here. */
	__atomic_store_n(&w->wall_ns, wall, __ATOMIC_RELEASE);
	__atomic_store_n(&file->point, w->point, __ATOMIC_RELEASE);
}

/* ---- Where the kernel's entry leads ---- */

static struct {
	bool on;       /* it is requested, and the entry was executed */
	unsigned vcpu; /* by this one */
	unsigned n_block;
	bool pending, jump; /* the next block is what was called, or jumped to */
} led;

static void note_called(uint64_t to, bool jump)
{
	uint32_t n = file->n_called;
	for (uint32_t i = 0; i < n && i < US_MAX_CALLED; i++)
		if (file->called[i].to == to && file->called[i].jump == jump)
			return;
	if (n >= US_MAX_CALLED)
		return;
	file->called[n] = (struct us_boot_called){ .to = to, .jump = jump };
	__atomic_store_n(&file->n_called, n + 1, __ATOMIC_RELEASE);
}

static void on_block(unsigned i, void *pc)
{
	if (!led.on || i != led.vcpu || !led.pending)
		return;
	led.pending = false;
	note_called((uintptr_t)pc, led.jump);
}

static void pend(unsigned i, bool jump)
{
	if (!led.on || i != led.vcpu)
		return;
	led.pending = true;
	led.jump = jump;
}

static void on_call(unsigned i, void *data)
{
	(void)data;
	pend(i, false);
}

static void on_jump(unsigned i, void *data)
{
	(void)data;
	pend(i, true);
}

static void begin_path(unsigned i, const struct us_boot_watch *w)
{
	if (led.on || file->follow == US_WATCH_AT_ONCE || w->point != file->follow)
		return;
	led.vcpu = i;
	led.on = true;
}

static const uint8_t *code_of(const struct qemu_plugin_insn *insn, uint8_t *copy,
			      size_t n)
{
	if (api < 3) /* it returns a pointer to the bytes */
		return (const uint8_t *)qemu_plugin_insn_data(insn, NULL, 0);
	return qemu_plugin_insn_data(insn, copy, n) >= n ? copy : NULL;
}

static bool has_entry(struct qemu_plugin_tb *tb, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (unsigned k = 0; k < n_watch; k++)
			if (file->watch[k].point == file->follow &&
			    file->watch[k].address ==
				    qemu_plugin_insn_vaddr(
					    qemu_plugin_tb_get_insn(tb, i)))
				return true;
	return false;
}

static bool decode(const struct qemu_plugin_insn *insn, struct us_flow_insn *ret)
{
	size_t size = qemu_plugin_insn_size(insn);
	uint8_t copy[US_MAX_INSN];
	const uint8_t *code = arch && size <= sizeof(copy) ? code_of(insn, copy, size)
							   : NULL;
	if (code)
		arch->flow(code, size, qemu_plugin_insn_vaddr(insn), ret);
	return code;
}

/* A block ends with the instruction that leaves it. */
static void follow_block(struct qemu_plugin_tb *tb, size_t n)
{
	struct us_flow_insn f;
	if (!arch || file->follow == US_WATCH_AT_ONCE ||
	    !(led.on || has_entry(tb, n)) || led.n_block == US_MAX_FOLLOWED)
		return;
	led.n_block++;
	uint64_t start = qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, 0));
	qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_PLUGIN_CB_NO_REGS,
					     (void *)(uintptr_t)start);
	struct qemu_plugin_insn *last = qemu_plugin_tb_get_insn(tb, n - 1);
	if (decode(last, &f) && (f.flow == US_FLOW_CALL || f.flow == US_FLOW_JUMP))
		qemu_plugin_register_vcpu_insn_exec_cb(
			last, f.flow == US_FLOW_CALL ? on_call : on_jump,
			QEMU_PLUGIN_CB_NO_REGS, NULL);
}

/* ---- What QEMU calls when the guest reaches a point ---- */

/* The number of a watch, and how many instructions of its block follow: a block's
 * instructions are all counted when it begins. */
#define REST_BITS 16

static void *place(unsigned k, size_t rest)
{
	return (void *)((uintptr_t)k << REST_BITS | (rest & ((1U << REST_BITS) - 1)));
}

static void on_place(unsigned i, void *data)
{
	uintptr_t at = (uintptr_t)data;
	struct us_boot_watch *w = &file->watch[at >> REST_BITS];
	note(w, i, at & ((1U << REST_BITS) - 1));
	begin_path(i, w);
}

/* Called each time the guest reaches its first instruction. */
static void on_start(unsigned i, void *data)
{
	if (i == 0)
		__atomic_add_fetch(&file->n_start, 1, __ATOMIC_RELAXED);
	on_place(i, data);
}

static void note_idle(unsigned i, uint64_t before)
{
	for (unsigned k = 0; k < n_watch; k++)
		if (file->watch[k].event == US_WATCH_IDLE)
			note(&file->watch[k], i, before);
}

/* QEMU also calls this where it stops the vCPUs, as for a reset of the machine.  Where
 * instructions that halt are known, watch_halt() tells. */
void us_boot_on_idle(unsigned i)
{
	if (!arch)
		note_idle(i, 0);
}

static void on_idle(qemu_plugin_id_t id, unsigned i)
{
	(void)id;
	us_boot_on_idle(i);
}

static void on_halt(unsigned i, void *data)
{
	note_idle(i, (uintptr_t)data);
}

static bool awaits_idle(void)
{
	for (unsigned k = 0; k < n_watch; k++)
		if (file->watch[k].event == US_WATCH_IDLE && !is_seen(&file->watch[k]))
			return true;
	return false;
}

/* What a vCPU executes tells that it becomes idle: QEMU reports also those that it
 * stops, and none if one thread runs them all (-icount, thread=single).  Firmware
 * halts, too, and its code may be the kernel's later, so this does not ask whether it
 * is time. */
static void watch_halt(struct qemu_plugin_tb *tb, size_t n)
{
	if (!arch || !awaits_idle())
		return;
	for (size_t i = arch->halts_inside ? 0 : n - 1; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		uintptr_t rest = n - 1 - i;
		struct us_flow_insn f;
		if (decode(insn, &f) && f.halts)
			qemu_plugin_register_vcpu_insn_exec_cb(
				insn, on_halt, QEMU_PLUGIN_CB_NO_REGS, (void *)rest);
	}
}

void us_boot_on_vcpu(unsigned i)
{
	if (with_devices)
		us_devices_on_vcpu(i);
	if (i || file->made_ns)
		return;
	file->made_cpu = now_of(CLOCK_PROCESS_CPUTIME_ID);
	file->made_ns = now_of(CLOCK_MONOTONIC);
}

static void on_vcpu(qemu_plugin_id_t id, unsigned i)
{
	(void)id;
	us_boot_on_vcpu(i);
}

/* ---- Where QEMU should call us ---- */

/* QEMU before 9.0 has no counter for each vCPU, and a common one would miss some. */
static bool can_count(void)
{
	return score || n_vcpu == 1;
}

static void count_instructions(struct qemu_plugin_tb *tb, size_t n)
{
	if (score)
		qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(
			tb, QEMU_PLUGIN_INLINE_ADD_U64, (qemu_plugin_u64){ score, 0 },
			n);
	else if (can_count())
		qemu_plugin_register_vcpu_tb_exec_inline(tb, QEMU_PLUGIN_INLINE_ADD_U64,
							 &insns, n);
}

/* The first block that is translated is the first that is executed.  A program's memory
 * may be mapped at its address, too. */
static bool is_start(const struct qemu_plugin_insn *first)
{
	uint64_t pc = qemu_plugin_insn_vaddr(first);
	if (!__atomic_exchange_n(&has_first, true, __ATOMIC_ACQ_REL)) {
		first_pc = pc;
		first_code = qemu_plugin_insn_haddr(first);
		return true;
	}
	if (pc != first_pc)
		return false;
	const void *code = qemu_plugin_insn_haddr(first);
	return !code || !first_code || code == first_code;
}

/* The code of an instruction and of those after it in the block. */
static size_t code_from(struct qemu_plugin_tb *tb, size_t i, size_t n,
			uint8_t ret[static US_WATCH_CODE])
{
	size_t got = 0;
	for (; i < n && got < US_WATCH_CODE; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		size_t size = qemu_plugin_insn_size(insn);
		uint8_t copy[US_MAX_INSN];
		const uint8_t *code = size <= sizeof(copy) ? code_of(insn, copy, size)
							   : NULL;
		if (!code)
			break;
		if (size > US_WATCH_CODE - got)
			size = US_WATCH_CODE - got;
		memcpy(ret + got, code, size);
		got += size;
	}
	return got;
}

/* Does enough of the code match?  Bytes that the block lacks count as equal; at an
 * exact address half of a short block is enough. */
static bool is_code(struct qemu_plugin_tb *tb, size_t i, size_t n,
		    const struct us_boot_watch *w)
{
	uint8_t code[US_WATCH_CODE];
	size_t got = code_from(tb, i, n, code), equal = 0;
	for (size_t k = 0; k < got; k++)
		equal += code[k] == w->code[k];
	if (!w->period && got - equal > got / 2)
		return false;
	return (!w->period || (got >= US_WATCH_LEAST && equal)) &&
	       got - equal <= w->unequal;
}

static bool is_place(struct qemu_plugin_tb *tb, size_t i, size_t n, uint64_t pc,
		     const struct us_boot_watch *w)
{
	if (!w->period)
		return w->address == pc && (!w->exact || is_code(tb, i, n, w));
	return !((w->address ^ pc) & (w->period - 1)) && is_code(tb, i, n, w);
}

static void watch_insn(struct qemu_plugin_tb *tb, size_t i, size_t n)
{
	struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
	uint64_t pc = qemu_plugin_insn_vaddr(insn);
	for (unsigned k = 0; k < n_watch; k++) {
		const struct us_boot_watch *w = &file->watch[k];
		if (w->event == US_WATCH_START && i == 0 && is_start(insn))
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_start,
							       QEMU_PLUGIN_CB_NO_REGS,
							       place(k, n - i));
		if (w->event == US_WATCH_INSN && !is_seen(w) &&
		    is_place(tb, i, n, pc, w))
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_place,
							       QEMU_PLUGIN_CB_NO_REGS,
							       place(k, n - i));
	}
}

/* Most blocks have nothing to watch, and asking QEMU about each instruction is slower.
 */
static bool is_watched(struct qemu_plugin_tb *tb, size_t n)
{
	const struct qemu_plugin_insn *start = qemu_plugin_tb_get_insn(tb, 0);
	uint64_t first = qemu_plugin_insn_vaddr(start);
	uint64_t last = qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, n - 1));
	bool found = is_start(start);
	for (unsigned k = 0; !found && k < n_watch; k++) {
		const struct us_boot_watch *w = &file->watch[k];
		uint64_t far = w->address - first;
		if (w->period)
			far &= w->period - 1;
		found = w->event == US_WATCH_INSN && far <= last - first && !is_seen(w);
	}
	return found;
}

void us_boot_translate(struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb);
	if (!n)
		return;
	bool watched = is_watched(tb, n);
	for (size_t i = 0; watched && i < n; i++)
		watch_insn(tb, i, n);
	watch_halt(tb, n);
	follow_block(tb, n);
}

static void translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	(void)id;
	count_instructions(tb, qemu_plugin_tb_n_insns(tb));
	us_boot_translate(tb);
	if (with_devices)
		us_devices_translate(tb);
}

/* Another version's file may have another size. */
static int check_file(int fd)
{
	char magic[8] = "";
	struct stat st;
	if (pread(fd, magic, sizeof(magic), 0) < 0 || fstat(fd, &st) < 0)
		return -errno;
	int r = us_shared_file_check(magic, US_BOOT_MAGIC);
	return !r && (uint64_t)st.st_size < sizeof(*file) ? -EBADMSG : r;
}

/* uniscope has created the file and filled in what it wants to know. */
static int map_file(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	void *p = MAP_FAILED;
	int r = check_file(fd);
	if (!r) {
		p = mmap(NULL, sizeof(*file), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			 0);
		r = p == MAP_FAILED ? -errno : 0;
	}
	close(fd);
	if (r)
		return r;
	file = p;
	n_watch = file->n_watch;
	return n_watch <= US_MAX_WATCH ? 0 : -EBADMSG;
}

static int begin(const qemu_info_t *info, const char *path)
{
	int r = map_file(path);
	if (r < 0)
		return r;
	api = (unsigned)info->version.cur;
	file->api = api;
	arch = us_plugin_arch_find(info->target_name);
	n_vcpu = (unsigned)info->system.max_vcpus;
	return 0;
}

int us_boot_start_beside(const qemu_info_t *info, const char *path, const char *phases)
{
	int r = begin(info, path);
	return r < 0 ? r : us_phases_start(phases);
}

int us_boot_start(qemu_plugin_id_t id, const qemu_info_t *info, const char *path,
		  bool devices)
{
	int r = begin(info, path);
	if (r < 0)
		return r;
	if (qemu_plugin_scoreboard_new)
		score = qemu_plugin_scoreboard_new(sizeof(uint64_t));
	file->uncounted = !can_count();
	if (devices)
		us_devices_start(file, info->target_name);
	with_devices = devices;
	qemu_plugin_register_vcpu_init_cb(id, on_vcpu);
	qemu_plugin_register_vcpu_idle_cb(id, on_idle);
	qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
	return 0;
}
