/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The programs on x86 kernels that call members of KVM's structures otherwise than this
 * one: libbpf finds what they need, and the verifier takes them.
 */
#include "kernel-types.h"
#include "vmx-types.h"

#define FAR (64U << 20) /* beyond all that the programs may read */

static bool is_named(const struct btf *b, const struct btf_type *t, const char *name)
{
	return !strcmp(btf__name_by_offset(b, t->name_off), name);
}

/* --- registers --- */

static uint32_t avail_at; /* where a vCPU has its bitmap, in place of its own place */
static uint32_t unsigned_long;

static int rename_registers(struct btf *to, const struct btf *from,
			    const struct btf_type *t)
{
	static const char *const names[][2] = {
		{ "VCPU_REGS_RIP", "VCPU_REG_RIP" },
		{ "VCPU_EXREG_CR3", "VCPU_REG_CR3" },
		{ "VCPU_EXREG_SEGMENTS", "VCPU_REG_SEGMENTS" },
	};
	int id = btf__add_enum(to, "kvm_reg", 4);
	for (unsigned i = 0; i < btf_vlen(t); i++) {
		const char *name = btf__name_by_offset(from, btf_enum(t)[i].name_off);
		for (size_t k = 0; k < sizeof(names) / sizeof(*names); k++)
			if (!strcmp(name, names[k][0]))
				name = names[k][1];
		assert_int_equal(btf__add_enum_value(to, name, btf_enum(t)[i].val), 0);
	}
	return id;
}

/* Its arrays are added when all other types have their numbers: see with_arrays(). */
static int make_bitmap(struct btf *to, const struct btf *from, const struct btf_type *t)
{
	int id = btf__add_struct(to, "kvm_vcpu_arch", t->size + FAR);
	uint32_t array = btf__type_cnt(from);
	for (unsigned i = 0; i < btf_vlen(t); i++) {
		const struct btf_member *m = &btf_members(t)[i];
		const char *name = btf__name_by_offset(from, m->name_off);
		uint32_t at = btf_member_bit_offset(t, i), type = m->type;
		uint32_t bits = btf_member_bitfield_size(t, i);
		if (!strcmp(name, "regs")) {
			assert_int_equal(btf__add_field(to, name, (int)array, at, 0),
					 0);
			assert_int_equal(btf__add_field(to, "rip", (int)unsigned_long,
							at + 16 * 64, 0),
					 0);
			continue;
		}
		if (!strcmp(name, "regs_avail")) {
			type = array + 1;
			at = avail_at ? avail_at * 8 : at;
		}
		assert_int_equal(btf__add_field(to, name, (int)type, at, bits), 0);
	}
	return id;
}

static int change_registers(struct btf *to, const struct btf *from,
			    const struct btf_type *t)
{
	if (btf_is_enum(t) && is_named(from, t, "kvm_reg"))
		return rename_registers(to, from, t);
	if (btf_is_struct(t) && is_named(from, t, "kvm_vcpu_arch"))
		return make_bitmap(to, from, t);
	return 0;
}

static struct btf *with_arrays(const struct btf *kernel)
{
	int found = btf__find_by_name_kind(kernel, "long unsigned int", BTF_KIND_INT);
	if (found < 0)
		found = btf__find_by_name_kind(kernel, "unsigned long", BTF_KIND_INT);
	assert_true(found > 0);
	unsigned_long = (uint32_t)found;
	struct btf *b = changed_copy_of(kernel, change_registers);
	assert_int_equal(btf__add_array(b, found, found, 16), btf__type_cnt(kernel));
	assert_int_equal(btf__add_array(b, found, found, 1), btf__type_cnt(kernel) + 1);
	return b;
}

static void add_vcpu_vmx(struct btf *b)
{
	int vcpu = btf__find_by_name_kind(b, "kvm_vcpu", BTF_KIND_STRUCT);
	uint32_t at = btf__type_by_id(b, (__u32)vcpu)->size;
	int cache = add_segment_cache(b);
	int reason = add_exit_reason(b);
	int vt = btf__add_struct(b, "vcpu_vt", 8);
	member(b, "exit_reason", reason, 4);
	int vmcs = btf__add_struct(b, "loaded_vmcs", 64);
	int pointer = btf__add_ptr(b, vmcs);
	btf__add_struct(b, "vcpu_vmx", at + 512);
	member(b, "vcpu", vcpu, 0);
	member(b, "vmcs01", vmcs, at);
	member(b, "loaded_vmcs", pointer, at + 64);
	member(b, "segment_cache", cache, at + 128);
	member(b, "vt", vt, at + 400);
}

static int load_with_bitmap(uint32_t at, struct us_err *e)
{
	struct btf *kernel = kernel_types();
	avail_at = at;
	struct btf *types = with_arrays(kernel);
	add_vcpu_vmx(types);
	int r = load_with(US_BPF_HOST_VMX, types, e);
	btf__free(types);
	btf__free(kernel);
	return r;
}

static void registers_that_are_renamed_are_found(void **state)
{
	struct us_err e;
	(void)state;
	if (load_with_bitmap(0, &e) < 0)
		fail_msg("%s", e.msg);
	/* Where it may not be read, the verifier shows that it is read. */
	assert_true(load_with_bitmap(FAR, &e) < 0);
	print_message("# refused: %s\n", e.msg);
}

/* --- AMD --- */

static int add_saved(struct btf *b, int u64)
{
	static const char *const words[] = { "efer", "cr4", "cr3", "cr0",
					     "rip",  "rsp", NULL };
	int u8 = btf__add_int(b, "unsigned char", 1, 0);
	int u16 = btf__add_int(b, "unsigned short", 2, 0);
	int u32 = btf__add_int(b, "unsigned int", 4, 0);
	int segment = btf__add_struct(b, "vmcb_seg", 16);
	member(b, "selector", u16, 0);
	member(b, "attrib", u16, 2);
	member(b, "limit", u32, 4);
	member(b, "base", u64, 8);
	int saved = btf__add_struct(b, "vmcb_save_area", 512);
	member(b, "cs", segment, 16);
	member(b, "ss", segment, 32);
	member(b, "cpl", u8, 203);
	for (unsigned i = 0; words[i]; i++)
		member(b, words[i], u64, 208 + i * 8);
	return saved;
}

/* AMD APM volume 2, appendix B.  name: of the word with the bit for nested paging. */
static void add_vcpu_svm(struct btf *b, const char *name)
{
	int vcpu = btf__find_by_name_kind(b, "kvm_vcpu", BTF_KIND_STRUCT);
	uint32_t at = btf__type_by_id(b, (__u32)vcpu)->size;
	int u64 = btf__add_int(b, "unsigned long", 8, 0);
	int saved = add_saved(b, u64);
	int control = btf__add_struct(b, "vmcb_control_area", 1024);
	member(b, "exit_code", u64, 0x70);
	member(b, name, u64, 0x90);
	int vmcb = btf__add_struct(b, "vmcb", 4096);
	member(b, "control", control, 0);
	member(b, "save", saved, 1024);
	int pointer = btf__add_ptr(b, vmcb);
	int info = btf__add_struct(b, "kvm_vmcb_info", 64);
	member(b, "ptr", pointer, 0);
	int to_info = btf__add_ptr(b, info);
	btf__add_struct(b, "vcpu_svm", at + 512);
	member(b, "vcpu", vcpu, 0);
	member(b, "vmcb", pointer, at);
	member(b, "vmcb01", info, at + 8);
	member(b, "current_vmcb", to_info, at + 72);
}

static int load_as_svm(const char *name, struct us_err *e)
{
	struct btf *kernel = kernel_types();
	struct btf *types = copy_of(kernel);
	add_vcpu_svm(types, name);
	int r = load_with(US_BPF_HOST_SVM, types, e);
	btf__free(types);
	btf__free(kernel);
	return r;
}

static void the_bit_for_nested_paging_is_found(void **state)
{
	static const char *const names[] = { "nested_ctl", "misc_ctl" };
	struct us_err e;
	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (load_as_svm(names[i], &e) < 0)
			fail_msg("%s: %s", names[i], e.msg);
	assert_true(load_as_svm("another_ctl", &e) < 0);
	print_message("# refused: %s\n", e.msg);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(registers_that_are_renamed_are_found),
		cmocka_unit_test(the_bit_for_nested_paging_is_found),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
