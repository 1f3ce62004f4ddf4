/* SPDX-License-Identifier: GPL-2.0-or-later */
/* devices.c: see devices.h. */
#include "trace/plugin/devices.h"

#include "trace/plugin/port_insn.h"
#include "trace/plugin/translate.h"

#include <pthread.h>
#include <string.h>

#define PAGE (~4095ULL)

static struct us_boot_file *file;
static uint32_t n_use; /* of the file: it may change below us */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void us_devices_start(struct us_boot_file *f)
{
	file = f;
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
	count(row_of(name && *name ? name : "memory", gpa & PAGE));
	pthread_mutex_unlock(&lock);
}

static void watch_port(struct qemu_plugin_insn *insn, int32_t *dx)
{
	uint8_t copy[US_MAX_INSN] = { 0 };
	size_t n = qemu_plugin_insn_size(insn);
	n = n > US_MAX_INSN ? US_MAX_INSN : n;
	int32_t port = us_port_insn(us_insn_bytes(insn, n, copy), n, dx);
	if (port == US_PORT_NONE)
		return;
	pthread_mutex_lock(&lock);
	struct us_boot_use *u = row_of("", port < 0 ? US_USE_UNKNOWN : (uint64_t)port);
	pthread_mutex_unlock(&lock);
	qemu_plugin_register_vcpu_insn_exec_cb(insn, on_port, QEMU_PLUGIN_CB_NO_REGS,
					       u);
}

void us_devices_translate(struct qemu_plugin_tb *tb)
{
	int32_t dx = US_PORT_UNKNOWN;
	for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		qemu_plugin_register_vcpu_mem_cb(insn, on_access,
						 QEMU_PLUGIN_CB_NO_REGS,
						 QEMU_PLUGIN_MEM_RW, NULL);
		if (us_plugin.arch->ports)
			watch_port(insn, &dx);
	}
}
