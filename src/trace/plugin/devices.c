/* SPDX-License-Identifier: GPL-2.0-or-later */
/* devices.c: see devices.h. */
#include "trace/plugin/devices.h"

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

/* struct CPUX86State of QEMU before 9.0, of 64 bits: words of it. */
enum { ENV_RDX = 2, ENV_EIP = 16, ENV_CS_BASE = 27, ENV_WORDS = 28 };

/* An access to the port in dx. */
struct point {
	uint64_t start, pc; /* of its block, and its own */
};

static struct us_boot_file *file;
static uint32_t n_use; /* of the file: it may change below us */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool has_env; /* there is such a state, and a callback finds it */
static struct vcpu {
	struct us_registers registers;
	const uint64_t *env; /* once it was read */
} vcpus[US_COUNTS_MAX_VCPU];
static struct point *points; /* they stay as long as QEMU */
static uint32_t n_point;

void us_devices_start(struct us_boot_file *f, const char *target)
{
	file = f;
	has_env = US_ENV_IN_REGISTER && us_plugin.api == 1 && !strcmp(target, "x86_64");
	points = us_reserve(MAX_POINT * sizeof(*points));
}

void us_devices_on_vcpu(unsigned vcpu)
{
	static const char *const names[] = { "rdx" };
	if (us_plugin.arch->ports && vcpu < US_COUNTS_MAX_VCPU)
		(void)us_registers_find(&vcpus[vcpu].registers, names, 1);
}

/* The row of this device and address; the last one has all that find no room. */
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

/* The first time: it may be no address at all. */
static bool can_be_read(const uint64_t *env)
{
	uint64_t copy[ENV_WORDS];
	struct iovec to = { copy, sizeof(copy) },
		     from = { (void *)(uintptr_t)env, sizeof(copy) };
	return env && !((uintptr_t)env % sizeof(*env)) &&
	       process_vm_readv(getpid(), &to, 1, &from, 1, 0) == sizeof(copy);
}

/* Its program counter is somewhere in this block, as far as it was executed. */
static bool is_state(struct vcpu *v, const uint64_t *env, const struct point *p)
{
	if (!env || (v->env != env && !can_be_read(env)))
		return false;
	v->env = env;
	uint64_t pc = env[ENV_EIP] + env[ENV_CS_BASE];
	return pc >= p->start && pc <= p->pc;
}

static uint64_t read_dx(unsigned vcpu, const uint64_t *env, const struct point *p)
{
	struct vcpu *v = &vcpus[vcpu % US_COUNTS_MAX_VCPU];
	uint64_t value;
	if (v->registers.bytes)
		return us_register_read(&v->registers, 0, &value) ? value & UINT16_MAX
								  : US_USE_UNKNOWN;
	return is_state(v, env, p) ? env[ENV_RDX] & UINT16_MAX : US_USE_UNKNOWN;
}

void us_devices_hear_port(unsigned i, void *data, const uint64_t *env);
void us_devices_hear_port(unsigned i, void *data, const uint64_t *env)
{
	uint64_t port = read_dx(i, env, data);
	pthread_mutex_lock(&lock);
	count(row_of("", port));
	pthread_mutex_unlock(&lock);
}

US_ENV_CALLBACK(us_devices_env_port, us_devices_hear_port);

static void on_port_in_dx(unsigned i, void *data)
{
	us_devices_hear_port(i, data, NULL);
}

static void watch_dx(struct qemu_plugin_insn *insn, bool at_start, uint64_t start)
{
	struct point *p = points && n_point < MAX_POINT ? &points[n_point++] : NULL;
	if (!p) {
		qemu_plugin_register_vcpu_insn_exec_cb(insn, on_port,
						       QEMU_PLUGIN_CB_NO_REGS,
						       row_of("", US_USE_UNKNOWN));
		return;
	}
	*p = (struct point){ start, qemu_plugin_insn_vaddr(insn) };
	bool by_env = has_env && at_start;
	qemu_plugin_register_vcpu_insn_exec_cb(
		insn, by_env ? us_devices_env_port : on_port_in_dx,
		by_env ? QEMU_PLUGIN_CB_NO_REGS : QEMU_PLUGIN_CB_R_REGS, p);
}

/* ---- Where it is to call ---- */

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
	/* QEMU makes a name of its own address for what has none. */
	bool named = name && *name && strncmp(name, "anon", 4) != 0;
	count(row_of(named ? name : "no name", gpa & PAGE));
	pthread_mutex_unlock(&lock);
}

static void watch_port(struct qemu_plugin_insn *insn, uint64_t start, int32_t *dx)
{
	uint8_t copy[US_MAX_INSN] = { 0 };
	size_t n = qemu_plugin_insn_size(insn);
	n = n > US_MAX_INSN ? US_MAX_INSN : n;
	int32_t port = us_port_insn(us_insn_bytes(insn, n, copy), n, dx);
	if (port == US_PORT_NONE)
		return;
	pthread_mutex_lock(&lock);
	if (port >= 0)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, on_port,
						       QEMU_PLUGIN_CB_NO_REGS,
						       row_of("", (uint64_t)port));
	else
		watch_dx(insn, port == US_PORT_AT_START, start);
	pthread_mutex_unlock(&lock);
}

void us_devices_translate(struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb);
	uint64_t start = n ? qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, 0)) : 0;
	int32_t dx = US_PORT_AT_START;
	for (size_t i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		qemu_plugin_register_vcpu_mem_cb(insn, on_access,
						 QEMU_PLUGIN_CB_NO_REGS,
						 QEMU_PLUGIN_MEM_RW, NULL);
		if (us_plugin.arch->ports)
			watch_port(insn, start, &dx);
	}
}
