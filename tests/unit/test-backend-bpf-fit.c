/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which kernels the programs fit, by made-up type information of theirs, and who may
 * load them. */
#include "unit.h"

#include "backend/bpf/kernel_fit.h"
#include "backend/bpf/rights.h"

#include <bpf/btf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* As /sys/kernel. */
static char sys[] = "/tmp/uniscope-sys-XXXXXX";

struct kernel {
	bool loop;	  /* bpf_loop() */
	bool hash;	  /* memory slots are hashed */
	bool module;	  /* KVM is one */
	const char *lock; /* the struct in the ring's lock; NULL: there is no ring */
};

static void path_of(const char *name, char *ret, size_t size)
{
	snprintf(ret, size, "%s/btf/%s", sys, name);
}

static void write_types(const char *name, const struct btf *b)
{
	char path[128];
	__u32 size;
	const void *bytes = btf__raw_data(b, &size);
	path_of(name, path, sizeof(path));
	int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
	assert_true(bytes && fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	close(fd);
}

static void add_member(struct btf *b, const char *name, int type)
{
	assert_int_equal(btf__add_field(b, name, type, 0, 0), 0);
}

static void add_helpers(struct btf *b, bool loop)
{
	assert_true(btf__add_enum(b, "bpf_func_id", 4) > 0);
	assert_int_equal(btf__add_enum_value(b, "BPF_FUNC_find_vma", 180), 0);
	if (loop)
		assert_int_equal(btf__add_enum_value(b, "BPF_FUNC_loop", 181), 0);
}

static void add_slot(struct btf *b, bool hash)
{
	int word = btf__find_by_name(b, "long");
	assert_true(btf__add_struct(b, "kvm_memory_slot", 8) > 0);
	add_member(b, hash ? "id_node" : "base_gfn", word);
}

/* As kernel/bpf/ringbuf.c and include/linux/spinlock_types.h have it. */
static void add_ring(struct btf *b, const char *lock)
{
	int inner = btf__add_struct(b, lock, 8);
	add_member(b, "word", btf__find_by_name(b, "long"));
	int outer = btf__add_struct(b, "spinlock", 8);
	add_member(b, "lock", inner);
	int type = btf__add_typedef(b, "spinlock_t", outer);
	assert_true(inner > 0 && outer > 0 && type > 0);
	assert_true(btf__add_struct(b, "bpf_ringbuf", 8) > 0);
	add_member(b, "spinlock", type);
}

static int fits(struct kernel k, struct us_err *e)
{
	struct btf *b = btf__new_empty(), *kvm = NULL;
	char path[128];
	assert_true(btf__add_int(b, "long", 8, BTF_INT_SIGNED) > 0);
	add_helpers(b, k.loop);
	if (k.lock)
		add_ring(b, k.lock);
	if (k.module)
		kvm = btf__new_empty_split(b);
	add_slot(kvm ? kvm : b, k.hash);
	write_types("vmlinux", b);
	path_of("kvm", path, sizeof(path));
	unlink(path);
	if (kvm)
		write_types("kvm", kvm);
	btf__free(kvm);
	btf__free(b);
	return us_bpf_kernel_fits(sys, e);
}

static void old_kernels_are_refused(void **state)
{
	static const struct kernel good = { .loop = true, .hash = true };
	struct us_err e = { 0 };
	(void)state;
	for (int module = 0; module < 2; module++) {
		struct kernel k = good;
		k.module = module;
		assert_int_equal(fits(k, &e), 0);
		k.loop = false;
		assert_int_equal(fits(k, &e), -EOPNOTSUPP);
		assert_non_null(strstr(e.msg, "Linux 5.17 or newer is needed"));
		k = (struct kernel){ .loop = true, .module = module };
		assert_int_equal(fits(k, &e), -EOPNOTSUPP);
		assert_non_null(strstr(e.msg, "Linux 5.17 or newer is needed"));
	}
}

static void a_ring_that_may_sleep_is_refused(void **state)
{
	static const char *const mutexes[] = { "rt_mutex_base", "rt_mutex" };
	struct kernel k = { .loop = true, .hash = true, .lock = "raw_spinlock" };
	struct us_err e = { 0 };
	(void)state;
	assert_int_equal(fits(k, &e), 0);
	for (size_t i = 0; i < sizeof(mutexes) / sizeof(*mutexes); i++) {
		k.lock = mutexes[i];
		assert_int_equal(fits(k, &e), -EOPNOTSUPP);
		assert_non_null(strstr(e.msg, "PREEMPT_RT"));
	}
}

/* Then loading them tells. */
static void unknown_types_are_no_reason(void **state)
{
	struct us_err e;
	char path[128];
	struct btf *b = btf__new_empty();
	(void)state;
	assert_true(btf__add_int(b, "long", 8, BTF_INT_SIGNED) > 0);
	write_types("vmlinux", b);
	btf__free(b);
	assert_int_equal(us_bpf_kernel_fits(sys, &e), 0);
	path_of("vmlinux", path, sizeof(path));
	assert_int_equal(truncate(path, 20), 0);
	assert_int_equal(us_bpf_kernel_fits(sys, &e), 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(us_bpf_kernel_fits(sys, &e), 0);
}

static void types_of_modules_take_more_rights(void **state)
{
	struct us_bpf_rights has = { .bpf = true };
	struct btf *b = btf__new_empty();
	struct us_err e;
	(void)state;
	write_types("kvm", b);
	btf__free(b);
	assert_int_equal(us_bpf_check_rights(&has, sys, "kvm_amd", &e), -EPERM);
	assert_non_null(strstr(e.msg, "CAP_PERFMON"));
	has.perfmon = true;
	assert_int_equal(us_bpf_check_rights(&has, sys, "kvm", &e), -EPERM);
	assert_non_null(strstr(e.msg, "CAP_SYS_ADMIN"));
	assert_non_null(strstr(e.hint, "cap_sys_admin"));
	assert_int_equal(us_bpf_check_rights(&has, sys, "kvm_amd", &e), 0);
	assert_int_equal(us_bpf_check_rights(&has, sys, "", &e), 0);
	has = (struct us_bpf_rights){ .admin = true };
	assert_int_equal(us_bpf_check_rights(&has, sys, "kvm", &e), 0);
}

static int make_folder(void **state)
{
	char path[128];
	(void)state;
	if (!mkdtemp(sys))
		return -1;
	path_of("", path, sizeof(path));
	return mkdir(path, 0700);
}

static int remove_folder(void **state)
{
	static const char *const names[] = { "vmlinux", "kvm" };
	char path[128];
	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		path_of(names[i], path, sizeof(path));
		unlink(path);
	}
	path_of("", path, sizeof(path));
	rmdir(path);
	return rmdir(sys);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(old_kernels_are_refused),
		cmocka_unit_test(a_ring_that_may_sleep_is_refused),
		cmocka_unit_test(unknown_types_are_no_reason),
		cmocka_unit_test(types_of_modules_take_more_rights),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
