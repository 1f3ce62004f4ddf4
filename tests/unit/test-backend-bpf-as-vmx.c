/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bpf backend as on Intel's VMX, on a host that is none.
 *
 * The types that libbpf is told of are this kernel's, but for two: vcpu_vmx lies over
 * members of kvm_vcpu that have such values (the interrupt that is handled for the
 * exit's reason; for the VMCS a pointer that points to its neighbour while no guest of
 * the guest runs), and kvm_reg has no rsp, CR3 and segments, so that no bit tells of
 * them. So the program takes these for old although they are right, and looks at the
 * stopped vCPU, by ptrace, are what it has; the guest is the one that states its truth.
 */
#include "backend/backend.h"
#include "backend/bpf/programs.h"
#include "base/clock.h"
#include "vmm/demo_guest.h"

#include "bpf-possible.h"
#include "vmx-types.h"

#include <unistd.h>

#define HZ	 1000
#define RIP_BIT	 16
#define LOOKS	 1500
#define LIMIT_NS (20 * US_NS_PER_SEC)

static char types_path[] = "/tmp/uniscope-types-XXXXXX";

int __wrap_us_bpf_load(struct us_bpf_programs **ret, struct us_err *e);
int __wrap_us_bpf_load(struct us_bpf_programs **ret, struct us_err *e)
{
	return us_bpf_load_as(US_BPF_HOST_VMX, types_path, ret, e);
}

enum us_bpf_host __wrap_us_bpf_host_kind(struct us_err *why);
enum us_bpf_host __wrap_us_bpf_host_kind(struct us_err *why)
{
	(void)why;
	return US_BPF_HOST_VMX;
}

/* --- types --- */

static uint32_t offset_of(const struct btf *b, const char *in, const char *name)
{
	int id = btf__find_by_name_kind(b, in, BTF_KIND_STRUCT);
	assert_true(id > 0);
	const struct btf_type *t = btf__type_by_id(b, (__u32)id);
	for (unsigned i = 0; i < btf_vlen(t); i++)
		if (!strcmp(btf__name_by_offset(b, btf_members(t)[i].name_off), name))
			return btf_member_bit_offset(t, i) / 8;
	fail_msg("%s has no %s", in, name);
	return 0;
}

static int add_registers(struct btf *b)
{
	int id = btf__add_enum(b, "kvm_reg", 4);
	btf__add_enum_value(b, "VCPU_REGS_RIP", RIP_BIT);
	return id;
}

/* In the same order all keep their numbers. */
static struct btf *types_of(const struct btf *kernel)
{
	struct btf *b = btf__new_empty();
	int id = 1;
	for (__u32 i = 1; b && id > 0 && i < btf__type_cnt(kernel); i++) {
		const struct btf_type *t = btf__type_by_id(kernel, i);
		bool mine = btf_is_enum(t) &&
			    !strcmp(btf__name_by_offset(kernel, t->name_off),
				    "kvm_reg");
		id = mine ? add_registers(b) : btf__add_type(b, kernel, t);
	}
	assert_true(b && id > 0);
	return b;
}

static void add_vcpu_vmx(struct btf *b, const struct btf *kernel)
{
	uint32_t arch = offset_of(kernel, "kvm_vcpu", "arch");
	uint32_t mmu = arch + offset_of(kernel, "kvm_vcpu_arch", "root_mmu");
	uint32_t pointer = arch + offset_of(kernel, "kvm_vcpu_arch", "walk_mmu");
	uint32_t handling = arch + offset_of(kernel, "kvm_vcpu_arch",
					     "handling_intr_from_guest");
	int vcpu = btf__find_by_name_kind(b, "kvm_vcpu", BTF_KIND_STRUCT);
	uint32_t end = (uint32_t)btf__type_by_id(b, (__u32)vcpu)->size;
	int cache = add_segment_cache(b);
	int reason = add_exit_reason(b);
	int vmcs = btf__add_struct(b, "loaded_vmcs", 8);
	int to_vmcs = btf__add_ptr(b, vmcs);
	btf__add_struct(b, "vcpu_vmx", end + 512);
	member(b, "vcpu", vcpu, 0);
	member(b, "vmcs01", vmcs, mmu);
	member(b, "loaded_vmcs", to_vmcs, pointer);
	member(b, "exit_reason", reason, handling);
	member(b, "segment_cache", cache, end);
}

static void write_types(void)
{
	__u32 size;
	struct btf *kernel = btf__load_vmlinux_btf();
	assert_non_null(kernel);
	struct btf *types = types_of(kernel);
	add_vcpu_vmx(types, kernel);
	const void *bytes = btf__raw_data(types, &size);
	int fd = mkstemp(types_path);
	assert_true(bytes && fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	close(fd);
	btf__free(types);
	btf__free(kernel);
}

/* --- a recording of the guest --- */

struct seen {
	unsigned samples, framed, whole, frameless, wrong, outside;
};

static void judge(struct seen *seen, const struct us_stack *s)
{
	const struct us_demo_function *f = us_demo_find(s->pc[0]);
	seen->samples++;
	seen->outside += !f;
	if (!f)
		return;
	bool good = s->n <= f->n_caller + 1;
	for (unsigned i = 1; good && i < s->n; i++)
		good = s->pc[i] == f->caller[i - 1];
	seen->wrong += !good;
	seen->framed += f->has_frame && f->chain >= 0;
	seen->whole += f->has_frame && f->chain >= 0 && good &&
		       s->n == f->n_caller + 1 && s->end == US_END_ROOT;
	/* Of that one there is the program counter alone. */
	seen->frameless += !f->has_frame;
	seen->wrong += !f->has_frame && s->n > 1;
}

static void look(struct us_backend *b, struct us_unwinder *u, struct seen *seen)
{
	static struct us_capture c;
	struct us_stack stack;
	struct us_paging p;
	uint64_t end = us_now_ns() + LIMIT_NS;
	us_paging_init(&p, b->mem);
	while (us_now_ns() < end && seen->samples < LOOKS) {
		int r = b->ops->next(b, end, &c);
		assert_true(r >= 0);
		if (r != 1)
			continue;
		if (us_capture_begin(&c, &p)) {
			us_unwind(u, &p, &c.regs, &stack);
			us_capture_judge(&c, &stack);
			judge(seen, &stack);
		}
		b->ops->release(b, &c);
	}
}

static void record(bool two_spaces, struct seen *seen)
{
	const struct us_schedule s = { .hz = HZ, .seed = 1 };
	struct us_code_map map = { 0 };
	struct us_unwinder *u = NULL;
	struct us_backend *b = NULL;
	struct us_demo_guest d;
	struct us_guest g;
	struct us_err e;
	assert_int_equal(us_demo_start(&d, two_spaces, &e), 0);
	map.n = us_demo_starts(&map.start);
	int r = us_guest_inspect(d.pid, &g, &e);
	if (!r)
		r = us_backend_open(&(struct us_target){ .guest = &g }, "bpf", &b, NULL,
				    0, &e);
	if (!r)
		r = us_unwinder_new(b->arch, &map, NULL, &u);
	if (!r)
		r = b->ops->start(b, &s, &e);
	if (!r) {
		assert_non_null(strstr(b->caution, "not verified on Intel"));
		look(b, u, seen);
	}
	us_unwinder_free(u);
	us_backend_close(b);
	unsigned long rounds = us_demo_rounds(&d);
	for (int i = 0; i < 20000 && us_demo_rounds(&d) == rounds; i++)
		usleep(1000);
	bool runs_on = us_demo_rounds(&d) != rounds;
	us_demo_stop(&d);
	if (r < 0)
		fail_msg("%s", e.msg);
	assert_true(runs_on);
	print_message("# %u looks, %u outside, %u wrong; %u of %u whole with a frame, "
		      "%u without\n",
		      seen->samples, seen->outside, seen->wrong, seen->whole,
		      seen->framed, seen->frameless);
}

static void must_be_possible_as_vmx(void)
{
	must_be_possible();
	if (strstr(types_path, "XXXXXX"))
		write_types();
}

/* The first looks at the stopped vCPU tell the root, and then all stacks are whole. */
static void one_address_space_is_followed(void **state)
{
	struct seen seen = { 0 };
	(void)state;
	must_be_possible_as_vmx();
	record(false, &seen);
	assert_true(seen.samples > LOOKS / 10);
	assert_int_equal(seen.outside, 0);
	assert_int_equal(seen.wrong, 0);
	assert_true(seen.whole > seen.framed * 0.8);
	assert_true(seen.frameless > 0);
}

/* Nobody knows which of the two it is: then it is not shown. */
static void of_two_none_is_wrong(void **state)
{
	struct seen seen = { 0 };
	(void)state;
	must_be_possible_as_vmx();
	record(true, &seen);
	assert_true(seen.samples > LOOKS / 10);
	assert_int_equal(seen.outside, 0);
	assert_int_equal(seen.wrong, 0);
	assert_true(seen.whole < seen.framed * 0.8);
}

static int remove_types(void **state)
{
	(void)state;
	if (!strstr(types_path, "XXXXXX"))
		unlink(types_path);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_address_space_is_followed),
		cmocka_unit_test(of_two_none_is_wrong),
	};
	return cmocka_run_group_tests(tests, NULL, remove_types);
}
