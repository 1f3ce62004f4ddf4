/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The points of a boot, as the plugin recognizes them in translated code. */
#include "unit.h"

#include "trace/plugin/boot.h"
#include "vmm/plugin_boot.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#define ENTRY 0x10000cULL

/* ---- A QEMU with one block of code, whose instructions have two bytes ---- */

static struct {
	uint64_t pc;
	const uint8_t *code;
	size_t n; /* instructions */
	us_vcpu_exec *called;
	void *data;
} block;

void qemu_plugin_register_vcpu_init_cb(qemu_plugin_id_t id, us_vcpu_simple *cb)
{
	(void)id;
	(void)cb;
}

void qemu_plugin_register_vcpu_idle_cb(qemu_plugin_id_t id, us_vcpu_simple *cb)
{
	(void)id;
	(void)cb;
}

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, us_tb_trans *cb)
{
	(void)id;
	(void)cb;
}

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb)
{
	(void)tb;
	return block.n;
}

struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb,
						 size_t i)
{
	(void)tb;
	return (void *)(block.code + 2 * i);
}

uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn)
{
	return block.pc + (uint64_t)((const uint8_t *)insn - block.code);
}

size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn)
{
	(void)insn;
	return 2;
}

const void *qemu_plugin_insn_haddr(const struct qemu_plugin_insn *insn)
{
	return insn;
}

uintptr_t qemu_plugin_insn_data(const struct qemu_plugin_insn *insn, void *dst,
				size_t size)
{
	memcpy(dst, insn, size);
	return size;
}

void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
					    us_vcpu_exec *cb,
					    enum qemu_plugin_cb_flags flags, void *data)
{
	(void)insn;
	(void)flags;
	block.called = cb;
	block.data = data;
}

/* ---- The tests ---- */

static const uint8_t kernel[US_WATCH_CODE] = { 0x89, 0xc3, 0x31, 0xc0, 0x31, 0xd2,
					       0x89, 0xd6, 0x89, 0xd7, 0x89, 0xd5,
					       0x0f, 0xa2, 0x39, 0xc1 };
static const uint8_t loader[US_WATCH_CODE] = { 0x57, 0x56, 0x53, 0x55, 0x50, 0x51,
					       0x52, 0xfc, 0x8e, 0xd8, 0x8e, 0xc0,
					       0x39, 0xca, 0x77, 0x12 };

static int n_vcpu = 1;

static struct us_boot_file *start_with(bool exact, unsigned n_watch)
{
	char path[] = "/tmp/uniscope-boot-XXXXXX";
	int fd = mkstemp(path);
	const qemu_info_t info = { .target_name = "x86_64",
				   .version = { .min = 0, .cur = 4 },
				   .system_emulation = true,
				   .system = { .smp_vcpus = 1, .max_vcpus = n_vcpu } };
	assert_true(fd >= 0 && ftruncate(fd, sizeof(struct us_boot_file)) == 0);
	struct us_boot_file *f = mmap(NULL, sizeof(*f), PROT_READ | PROT_WRITE,
				      MAP_SHARED, fd, 0);
	assert_ptr_not_equal(f, MAP_FAILED);
	f->follow = US_WATCH_AT_ONCE;
	f->n_watch = n_watch;
	f->watch[0] = (struct us_boot_watch){ .address = ENTRY,
					      .event = US_WATCH_INSN,
					      .after = US_WATCH_AT_ONCE,
					      .exact = exact,
					      .unequal = US_WATCH_CODE / 2 };
	f->watch[1] = (struct us_boot_watch){ .event = US_WATCH_IDLE,
					      .point = 1,
					      .after = f->watch[0].point };
	memcpy(f->watch[0].code, kernel, sizeof(kernel));
	memcpy(f->magic, US_BOOT_MAGIC, sizeof(f->magic));
	assert_int_equal(us_boot_start(1, &info, path, false), 0);
	close(fd);
	unlink(path);
	return f;
}

static struct us_boot_file *start(bool exact)
{
	return start_with(exact, 1);
}

static void execute(uint64_t pc, const uint8_t *code, size_t n)
{
	block.pc = pc;
	block.code = code;
	block.n = n;
	block.called = NULL;
	us_boot_translate(NULL);
	if (block.called)
		block.called(0, block.data);
}

/* Is the point seen in a block of n instructions of this code? */
static bool is_seen(struct us_boot_file *f, uint64_t pc, const uint8_t *code, size_t n)
{
	f->watch[0].wall_ns = 0;
	execute(pc, code, n);
	return f->watch[0].wall_ns;
}

/* A loader decompresses itself to where the kernel will be, and runs there. */
static void a_loader_is_not_the_kernel(void **state)
{
	(void)state;
	struct us_boot_file *f = start(true);
	assert_false(is_seen(f, ENTRY, loader, 8));
	assert_false(is_seen(f, ENTRY, loader, 1));
	assert_true(is_seen(f, ENTRY, kernel, 8));
	/* In the middle of a block; at another address. */
	assert_true(is_seen(f, ENTRY - 0x20,
			    (const uint8_t[0x30]){ [0x20] = 0x89,
						   0xc3,
						   0x31,
						   0xc0,
						   0x31,
						   0xd2,
						   0x89,
						   0xd6,
						   0x89,
						   0xd7,
						   0x89,
						   0xd5,
						   0x0f,
						   0xa2,
						   0x39,
						   0xc1 },
			    24));
	assert_false(is_seen(f, ENTRY + 0x1000, kernel, 8));
	munmap(f, sizeof(*f));
}

/* A short block tells less, and some bytes may have changed since. */
static void some_of_the_code_is_enough(void **state)
{
	(void)state;
	struct us_boot_file *f = start(true);
	uint8_t patched[US_WATCH_CODE];
	memcpy(patched, kernel, sizeof(patched));
	memset(patched + 4, 0x90, 5);
	assert_true(is_seen(f, ENTRY, kernel, 1));
	assert_true(is_seen(f, ENTRY, patched, 8));
	munmap(f, sizeof(*f));
}

static void without_code_the_address_is_enough(void **state)
{
	(void)state;
	struct us_boot_file *f = start(false);
	assert_true(is_seen(f, ENTRY, loader, 8));
	munmap(f, sizeof(*f));
}

/* An old QEMU counts for one vCPU only. */
static void what_is_not_counted_is_not_known(void **state)
{
	(void)state;
	struct us_boot_file *f = start(true);
	assert_true(is_seen(f, ENTRY, kernel, 8));
	assert_int_equal(f->watch[0].insns, 0);
	assert_int_equal(f->uncounted, 0);
	munmap(f, sizeof(*f));
	n_vcpu = 2;
	f = start(true);
	n_vcpu = 1;
	assert_true(f->uncounted);
	munmap(f, sizeof(*f));
}

/* A kernel, or a program, may execute the address of a boot sector. */
static void no_boot_sector_behind_the_entry(void **state)
{
	(void)state;
	struct us_boot_file *f = start_with(true, 2);
	f->watch[0].point = 1;
	f->watch[1] = (struct us_boot_watch){ .address = 0x7c00,
					      .event = US_WATCH_INSN,
					      .after = US_WATCH_AT_ONCE,
					      .only_before = true };
	execute(ENTRY, kernel, 8);
	execute(0x7c00, loader, 8);
	assert_true(f->watch[0].wall_ns);
	assert_false(f->watch[1].wall_ns);
	f->watch[0].wall_ns = 0;
	execute(0x7c00, loader, 8);
	assert_true(f->watch[1].wall_ns);
	munmap(f, sizeof(*f));
}

/* QEMU calls nobody if one thread runs all vCPUs. */
static void a_halt_is_idle(void **state)
{
	static const uint8_t halts[] = { 0x31, 0xc0, 0x66, 0xf4, 0x31, 0xd2 };
	(void)state;
	struct us_boot_file *f = start_with(true, 2);
	execute(0xf0000, halts, 2); /* the firmware's */
	assert_false(f->watch[1].wall_ns);
	void (*in_firmware)(unsigned, void *) = block.called;
	assert_non_null(in_firmware);
	execute(ENTRY, kernel, 8);
	execute(ENTRY + 0x20, halts, 1);
	assert_false(f->watch[1].wall_ns);
	us_boot_on_idle(0); /* as for a reset of the machine */
	assert_false(f->watch[1].wall_ns);
	execute(ENTRY + 0x20, halts, 2);
	assert_in_range(f->watch[1].wall_ns, f->watch[0].wall_ns, UINT64_MAX);
	/* Known code is not translated again. */
	f->watch[1].wall_ns = 0;
	in_firmware(0, NULL);
	assert_true(f->watch[1].wall_ns);
	/* It is enough to know the first time. */
	execute(ENTRY + 0x40, halts, 2);
	assert_null(block.called);
	munmap(f, sizeof(*f));
}

/* What QEMU's plugin says of a file that begins so and has this size. */
static int refused(const char *magic, off_t size)
{
	char path[] = "/tmp/uniscope-boot-XXXXXX";
	const qemu_info_t info = { .target_name = "x86_64" };
	int fd = mkstemp(path);
	assert_true(fd >= 0 && ftruncate(fd, size) == 0);
	assert_int_equal(pwrite(fd, magic, strlen(magic), 0), strlen(magic));
	int r = us_boot_start(1, &info, path, false);
	close(fd);
	unlink(path);
	return r;
}

static void another_version_is_told_apart(void **state)
{
	(void)state;
	const off_t whole = sizeof(struct us_boot_file);
	assert_int_equal(refused("USBOOT00", whole), -EPROTO);
	assert_int_equal(refused("USBOOT99", 100), -EPROTO);
	assert_int_equal(refused("USFUNCS4", whole), -EBADMSG);
	assert_int_equal(refused(US_BOOT_MAGIC, whole - 1), -EBADMSG);
	assert_int_equal(refused("", 0), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_loader_is_not_the_kernel),
		cmocka_unit_test(some_of_the_code_is_enough),
		cmocka_unit_test(without_code_the_address_is_enough),
		cmocka_unit_test(what_is_not_counted_is_not_known),
		cmocka_unit_test(no_boot_sector_behind_the_entry),
		cmocka_unit_test(a_halt_is_idle),
		cmocka_unit_test(another_version_is_told_apart),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
