/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Registers, as the plugin reads them in callbacks of QEMUs of several versions. */
#include "unit.h"

#include "trace/plugin/block.h"
#include "trace/plugin/space.h"

#define SP	0xffff800000005ff8ULL
#define IN_CR3	0x1234000ULL
#define IN_PAGE 0x7000ULL

/* ---- A QEMU, as far as the plugin sees it here ---- */

static struct {
	enum qemu_plugin_cb_flags exec, mem; /* of the last callbacks registered */
	enum qemu_plugin_cb_flags now;	     /* of the callback that is called */
	struct us_byte_array bytes;
	uint8_t data[64];
} qemu;

void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
					    us_vcpu_exec *cb,
					    enum qemu_plugin_cb_flags flags, void *data)
{
	(void)insn;
	(void)cb;
	(void)data;
	qemu.exec = flags;
}

void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, us_vcpu_mem *cb,
				      enum qemu_plugin_cb_flags flags,
				      enum qemu_plugin_mem_rw rw, void *data)
{
	(void)insn;
	(void)cb;
	(void)rw;
	(void)data;
	qemu.mem = flags;
}

struct us_array *qemu_plugin_get_registers(void)
{
	static struct us_register_descriptor all[] = {
		{ (void *)1, "cr3", NULL },
		{ (void *)2, "cs", NULL },
	};
	static struct us_array array = { (char *)all, 2 };
	return &array;
}

int qemu_plugin_read_register(struct qemu_plugin_register *handle,
			      struct us_byte_array *buf)
{
	uint64_t value = handle == (void *)1 ? IN_CR3 : 0x33 /* of a program */;
	if (us_plugin.api >= 5 && qemu.now == QEMU_PLUGIN_CB_NO_REGS)
		return -1;
	memcpy(buf->data, &value, sizeof(value));
	buf->len = sizeof(value);
	return us_plugin.api >= 6 ? 1 : (int)sizeof(value);
}

struct us_byte_array *g_byte_array_sized_new(unsigned reserved)
{
	(void)reserved;
	qemu.bytes = (struct us_byte_array){ qemu.data, 0 };
	return &qemu.bytes;
}

struct us_byte_array *g_byte_array_set_size(struct us_byte_array *a, unsigned n)
{
	a->len = n;
	return a;
}

struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(qemu_plugin_meminfo_t info,
						  uint64_t vaddr)
{
	(void)info;
	(void)vaddr;
	return (void *)&qemu;
}

bool qemu_plugin_hwaddr_is_io(const struct qemu_plugin_hwaddr *haddr)
{
	(void)haddr;
	return false;
}

uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr *haddr)
{
	(void)haddr;
	return IN_PAGE + 0xff8;
}

/* ---- The tests ---- */

static void begin(unsigned api)
{
	us_plugin.api = api;
	us_plugin.arch = us_plugin_arch_find("x86_64");
	assert_non_null(us_plugin.arch);
	us_space_start(0);
	us_plugin_access(&us_plugin.vcpu[0], 0, SP);
}

static struct us_track_memory memory_in(enum qemu_plugin_cb_flags flags, uint64_t sp)
{
	const struct us_tracker *t = &us_plugin.vcpu[0].tracker;
	qemu.now = flags;
	return t->memory(t, sp);
}

static void nothing_before(unsigned i, void *data)
{
	(void)i;
	(void)data;
}

/* In every callback that may ask whose stack it is. */
static void versions_give_registers(void **state)
{
	(void)state;
	for (unsigned api = 2; api <= 6; api++) {
		struct us_point p = { 0 };
		struct us_block b = { .load = (void *)1, .load_point = &p };
		begin(api);
		us_block_before(&b, nothing_before, &p);
		us_link_flush(&b);
		assert_int_equal(memory_in(qemu.exec, SP).root, IN_CR3);
		assert_int_equal(memory_in(qemu.mem, SP).root, IN_CR3);
		if (api < 5) /* where it would cost time for nothing */
			assert_int_equal(qemu.exec | qemu.mem, QEMU_PLUGIN_CB_NO_REGS);
	}
}

/* The access of the callback still tells programs apart. */
static void without_registers_the_access_tells(void **state)
{
	(void)state;
	begin(5);
	struct us_track_memory m = memory_in(QEMU_PLUGIN_CB_NO_REGS, SP);
	assert_int_equal(m.root, 0);
	assert_int_equal(m.page, IN_PAGE);
	/* It is not that of another address. */
	m = memory_in(QEMU_PLUGIN_CB_NO_REGS, SP + 0x100000);
	assert_int_equal(m.root | m.page, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(versions_give_registers),
		cmocka_unit_test(without_registers_the_access_tells),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
