/* SPDX-License-Identifier: GPL-2.0-or-later */
/* devices.c: see devices.h. */
#include "trace/plugin/devices.h"

#include "trace/plugin/image_code.h"
#include "trace/plugin/port_insn.h"
#include "trace/plugin/program_regs.h"
#include "trace/plugin/translate.h"
#include "trace/reserve.h"

#include <pthread.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE	  (~4095ULL)
#define MAX_POINT (1U << 16)
#define NOWHERE	  UINT64_MAX

/* The offsets and size of these in QEMU's processor state before 9.0 (struct
 * CPUX86State in target/i386/cpu.h). */
static const struct layout {
	const char *target;
	size_t size, dx, eip, cs_base, all;
} layouts[] = { { "x86_64", 8, 16, 128, 216, 224 }, { "i386", 4, 8, 32, 88, 96 } };
#define MAX_STATE 224

/* An access to the port in dx. */
struct point {
	uint64_t start, pc; /* address of its block, and its own */
};

static struct us_boot_file *file;
static uint32_t n_use; /* a copy: the file's own may change at any time */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const struct layout *layout; /* NULL: none, or callbacks do not get the state */
static struct vcpu {
	struct us_registers registers;
	const uint8_t *env; /* set once it was read */
	bool pending;	    /* the last instruction of a block has accessed a port */
	/* An instruction that accesses a port several times: */
	struct us_boot_use *row;
	uint64_t gva; /* of the last access's memory; NOWHERE: none yet */
} vcpus[US_COUNTS_MAX_VCPU];
static struct point *points; /* never freed */
static uint32_t n_point;

void us_devices_start(struct us_boot_file *f, const char *target)
{
	file = f;
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		if (US_ENV_IN_REGISTER && us_plugin.api == 1 &&
		    !strcmp(target, layouts[i].target))
			layout = &layouts[i];
	points = us_reserve(MAX_POINT * sizeof(*points));
}

void us_devices_on_vcpu(unsigned vcpu)
{
	static const char *const names[] = { "rdx", "edx" };
	if (us_plugin.arch->ports && vcpu < US_COUNTS_MAX_VCPU)
		(void)us_registers_find(&vcpus[vcpu].registers, names, 2);
}

/* The row of this device and address; the last row counts all that have no room. */
static struct us_boot_use *row_of(const char *device, uint64_t address)
{
	struct us_boot_use *u = file->use;
	for (uint32_t i = 0; i < n_use; i++)
		if (u[i].address == address &&
		    !strncmp(u[i].device, device, sizeof(u[i].device) - 1))
			return &u[i];
	if (n_use == US_MAX_USE)
		return &u[US_MAX_USE - 1];
	u += n_use++;
	if (n_use == US_MAX_USE)
		address = US_USE_UNKNOWN;
	strncpy(u->device, device, sizeof(u->device) - 1);
	u->address = address;
	__atomic_store_n(&file->n_use, n_use, __ATOMIC_RELEASE);
	return u;
}

static void count(struct us_boot_use *u)
{
	uint32_t point = __atomic_load_n(&file->point, __ATOMIC_RELAXED);
	if (point < US_MAX_BOOT_POINT)
		__atomic_add_fetch(&u->n[point], 1, __ATOMIC_RELAXED);
}

static void on_port(unsigned i, void *data)
{
	(void)i;
	count(data);
}

/* ---- What is in dx ---- */

/* Checked the first time: it may not be an address at all. */
static bool can_be_read(const uint8_t *env)
{
	uint8_t copy[MAX_STATE];
	struct iovec to = { copy, layout->all },
		     from = { (void *)(uintptr_t)env, layout->all };
	return env && !((uintptr_t)env % sizeof(uint64_t)) &&
	       process_vm_readv(getpid(), &to, 1, &from, 1, 0) == (ssize_t)layout->all;
}

static uint64_t word_at(const uint8_t *env, size_t offset)
{
	uint64_t value = 0;
	memcpy(&value, env + offset, layout->size);
	return value;
}

/* Is it the processor's state?  Its program counter must be between these. */
static bool is_state(struct vcpu *v, const uint8_t *env, uint64_t first, uint64_t last)
{
	if (!env || !layout || (v->env != env && !can_be_read(env)))
		return false;
	v->env = env;
	uint64_t pc = word_at(env, layout->eip) + word_at(env, layout->cs_base);
	return pc >= first && pc <= last;
}

static struct vcpu *vcpu_of(unsigned i)
{
	return &vcpus[i % US_COUNTS_MAX_VCPU];
}

static uint64_t read_dx(struct vcpu *v, const uint8_t *env, uint64_t first,
			uint64_t last)
{
	uint64_t value;
	if (v->registers.bytes)
		return us_register_read(&v->registers, 0, &value) ||
				       us_register_read(&v->registers, 1, &value)
			       ? value & UINT16_MAX
			       : US_USE_UNKNOWN;
	return is_state(v, env, first, last) ? word_at(env, layout->dx) & UINT16_MAX
					     : US_USE_UNKNOWN;
}

static void count_port(uint64_t port)
{
	pthread_mutex_lock(&lock);
	count(row_of("", port));
	pthread_mutex_unlock(&lock);
}

void us_devices_hear_port(unsigned i, void *data, const uint8_t *env);
void us_devices_hear_port(unsigned i, void *data, const uint8_t *env)
{
	const struct point *p = data;
	count_port(read_dx(vcpu_of(i), env, p->start, p->pc));
}

US_ENV_CALLBACK(us_devices_env_port, us_devices_hear_port);

static void on_port_in_dx(unsigned i, void *data)
{
	us_devices_hear_port(i, data, NULL);
}

/* Count an access whose port was not known yet; dx is still unchanged. */
static void settle(struct vcpu *v, const uint8_t *env, uint64_t first, uint64_t last)
{
	if (!v->pending)
		return;
	v->pending = false;
	count_port(read_dx(v, env, first, last));
}

/* The next block may be anywhere, even in an interrupt's handler. */
void us_devices_hear_block(unsigned i, void *data, const uint8_t *env);
void us_devices_hear_block(unsigned i, void *data, const uint8_t *env)
{
	settle(vcpu_of(i), env, (uintptr_t)data, (uintptr_t)data);
}

US_ENV_CALLBACK(us_devices_env_block, us_devices_hear_block);

static void on_last_port(unsigned i, void *data)
{
	(void)data;
	vcpu_of(i)->pending = true;
}

/* ---- Instructions that access a port several times ---- */

/*
 * Each round accesses another address in memory, perhaps twice: first to see whether it
 * is writable.  QEMU since 10.0 executes all rounds at once.  Older versions execute
 * the instruction once for each round and once more without a round, and may also
 * report what a helper accesses later (translate.c).
 */
static void on_round(unsigned i, qemu_plugin_meminfo_t info, uint64_t gva, void *data)
{
	struct vcpu *v = vcpu_of(i);
	bool later = us_plugin.api == 1 && v->gva != NOWHERE;
	(void)info;
	(void)data;
	if (later || gva == v->gva)
		return;
	v->gva = gva;
	if (v->row)
		count(v->row);
	else
		v->pending = true;
}

/* data: the row of a known port; NULL: the port is known only after the instruction. */
static void on_rounds(unsigned i, void *data)
{
	struct vcpu *v = vcpu_of(i);
	v->row = data;
	v->gva = NOWHERE;
}

void us_devices_hear_rounds(unsigned i, void *data, const uint8_t *env);
void us_devices_hear_rounds(unsigned i, void *data, const uint8_t *env)
{
	const struct point *p = data;
	struct vcpu *v = vcpu_of(i);
	uint64_t port = read_dx(v, env, p->start, p->pc);
	pthread_mutex_lock(&lock);
	v->row = row_of("", port);
	pthread_mutex_unlock(&lock);
	v->gva = NOWHERE;
}

US_ENV_CALLBACK(us_devices_env_rounds, us_devices_hear_rounds);

static void on_rounds_in_dx(unsigned i, void *data)
{
	us_devices_hear_rounds(i, data, NULL);
}

void us_devices_hear_behind(unsigned i, void *data, const uint8_t *env);
void us_devices_hear_behind(unsigned i, void *data, const uint8_t *env)
{
	const struct point *p = data;
	settle(vcpu_of(i), env, p->start, p->pc);
}

US_ENV_CALLBACK(us_devices_env_behind, us_devices_hear_behind);

/* ---- Where QEMU should call us ---- */

static void on_access(unsigned i, qemu_plugin_meminfo_t info, uint64_t gva, void *data)
{
	const struct qemu_plugin_hwaddr *at = qemu_plugin_get_hwaddr(info, gva);
	(void)i;
	(void)data;
	if (!at || !qemu_plugin_hwaddr_is_io(at))
		return;
	const char *name = qemu_plugin_hwaddr_device_name(at);
	uint64_t gpa = qemu_plugin_hwaddr_phys_addr(at);
	pthread_mutex_lock(&lock);
	/* For a device without a name, QEMU makes one from its own address. */
	bool named = name && *name && strncmp(name, "anon", 4) != 0;
	count(row_of(named ? name : "no name", gpa & PAGE));
	pthread_mutex_unlock(&lock);
}

/* An access; next: the instruction after it in its block, NULL: it is the last. */
struct access {
	struct qemu_plugin_insn *insn, *next;
	uint64_t start; /* of its block */
};

/* NULL: too many. */
static struct point *point_of(const struct access *a)
{
	struct point *p = points && n_point < MAX_POINT ? &points[n_point++] : NULL;
	if (p)
		*p = (struct point){ a->start, qemu_plugin_insn_vaddr(a->insn) };
	return p;
}

static void before(struct qemu_plugin_insn *insn, us_vcpu_exec *cb, void *data)
{
	qemu_plugin_register_vcpu_insn_exec_cb(insn, cb, QEMU_PLUGIN_CB_R_REGS, data);
}

/*
 * At the start of a block, QEMU's state has the value of dx; within a block the value
 * may be in a host register.  For the access, QEMU stores it in the state, so it can be
 * read after the access, which does not change it.
 */
static void watch_in_state(const struct access *a, bool at_start, struct point *p)
{
	if (at_start || a->next)
		before(at_start ? a->insn : a->next, us_devices_env_port, p);
	else
		before(a->insn, on_last_port, NULL);
}

static void watch_dx(const struct access *a, bool at_start)
{
	struct point *p = point_of(a);
	if (!p)
		before(a->insn, on_port, row_of("", US_USE_UNKNOWN));
	else if (layout)
		watch_in_state(a, at_start, p);
	else
		before(a->insn, on_port_in_dx, p);
}

static void watch_rounds(const struct access *a, int32_t port)
{
	struct point *p = port < 0 ? point_of(a) : NULL;
	qemu_plugin_register_vcpu_mem_cb(a->insn, on_round, QEMU_PLUGIN_CB_NO_REGS,
					 QEMU_PLUGIN_MEM_RW, NULL);
	if (!p)
		before(a->insn, on_rounds,
		       row_of("", port < 0 ? US_USE_UNKNOWN : (uint64_t)port));
	else if (!layout)
		before(a->insn, on_rounds_in_dx, p);
	else if (port == US_PORT_AT_START)
		before(a->insn, us_devices_env_rounds, p);
	else
		before(a->insn, on_rounds, NULL);
	if (p && layout && a->next)
		before(a->next, us_devices_env_behind, p);
}

static void watch_port(const struct access *a, int32_t *dx)
{
	uint8_t copy[US_MAX_INSN] = { 0 };
	size_t n = qemu_plugin_insn_size(a->insn);
	n = n > US_MAX_INSN ? US_MAX_INSN : n;
	const uint8_t *code = us_insn_bytes(a->insn, n, copy);
	int32_t port = us_port_insn(code, n, dx);
	if (port == US_PORT_NONE)
		return;
	pthread_mutex_lock(&lock);
	if (us_port_has_rounds(code, n))
		watch_rounds(a, port);
	else if (port >= 0)
		before(a->insn, on_port, row_of("", (uint64_t)port));
	else
		watch_dx(a, port == US_PORT_AT_START);
	pthread_mutex_unlock(&lock);
}

void us_devices_translate(struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb);
	struct access a = { .next = n ? qemu_plugin_tb_get_insn(tb, 0) : NULL };
	int32_t dx = US_PORT_AT_START;
	if (n)
		a.start = qemu_plugin_insn_vaddr(a.next);
	if (n && layout)
		qemu_plugin_register_vcpu_tb_exec_cb(tb, us_devices_env_block,
						     QEMU_PLUGIN_CB_NO_REGS,
						     (void *)(uintptr_t)a.start);
	for (size_t i = 0; i < n; i++) {
		a.insn = a.next;
		a.next = i + 1 < n ? qemu_plugin_tb_get_insn(tb, i + 1) : NULL;
		qemu_plugin_register_vcpu_mem_cb(a.insn, on_access,
						 QEMU_PLUGIN_CB_NO_REGS,
						 QEMU_PLUGIN_MEM_RW, NULL);
		if (us_plugin.arch->ports)
			watch_port(&a, &dx);
	}
}
