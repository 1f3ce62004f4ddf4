/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the bpf backend does on Intel's VMX, as far as it can be tried without one: the
 * rule with made-up registers, the stack without a stack pointer, the event and the
 * samples on what KVM there is, and the programs against the types of a kernel with
 * kvm_intel: this kernel's with a made-up vcpu_vmx, or those of its own module.
 */
#include "backend/bpf/exit_event.h"
#include "backend/bpf/sample.h"
#include "backend/bpf/programs.h"
#include "backend/bpf/vmx.h"
#include "backend/bpf/vmx_rule.h"
#include "backend/kvm/probe.h"
#include "base/clock.h"

#include "flat-guest.h"
#include "kernel-types.h"
#include "mini-vmm.h"
#include "vmx-types.h"

#include <glob.h>
#include <sys/utsname.h>

#define LONG_MODE   US_BPF_EFER_LMA
#define LOW_PC	    0x401000
#define HIGH_PC	    0xffffffff81000000
#define ROOT	    0x1000
#define OTHER_ROOT  0x2000
#define AR_64	    0xa09b /* 64-bit code, ring 0 */
#define AR_32	    0xc09b
#define AR_STACK    0xc093
#define AR_STACK_3  0xc0f3
#define CS_AR	    US_VMX_SEGMENT_AR(US_VMX_CS)
#define SS_AR	    US_VMX_SEGMENT_AR(US_VMX_SS)
#define ALL_OF_BOTH (CS_AR | SS_AR | US_VMX_SEGMENT_BASE(1) | US_VMX_SEGMENT_BASE(2))

/* --- the rule --- */

/* 64-bit code of a kernel, as KVM has it at a tick; its root of an earlier exit. */
static struct us_bpf_sample look_at(uint64_t pc)
{
	struct us_bpf_sample l = { .cr0 = US_BPF_CR0_PG | 1,
				   .cr3 = 0xdead000,
				   .cr4 = 0x20,
				   .efer = LONG_MODE };
	l.reg[4] = 0xbad;
	l.reg[16] = pc;
	return l;
}

static const struct us_vmx_kept rip_only = { .has_rip = true, .exit_reason = 1 };

static struct us_bpf_seen seen_64(void)
{
	return (struct us_bpf_seen){ .cr3 = ROOT, .cs_l = 1, .n = 1 };
}

static void what_is_stale_is_not_shown(void **state)
{
	struct us_bpf_sample l = look_at(LOW_PC);
	struct us_bpf_seen none = { 0 }, seen = seen_64();
	(void)state;
	us_vmx_rule(&l, &(struct us_vmx_kept){ 0 }, &none);
	assert_int_equal(l.flags, US_BPF_NO_PC | US_BPF_NO_SP | US_BPF_NO_STACK);
	l = look_at(LOW_PC);
	us_vmx_rule(&l, &rip_only, &none);
	assert_int_equal(l.flags, US_BPF_NO_SP | US_BPF_NO_STACK);
	l = look_at(LOW_PC);
	us_vmx_rule(&l, &(struct us_vmx_kept){ .has_rsp = true }, &seen);
	assert_int_equal(l.flags, US_BPF_NO_PC);
	l = look_at(LOW_PC);
	us_vmx_rule(&l, &rip_only, &seen);
	assert_int_equal(l.flags, US_BPF_NO_SP);
	assert_int_equal(l.cr3, ROOT);
	assert_int_equal(l.cs_l, 1);
	assert_int_equal(l.cpl, 0);
	assert_int_equal(l.reason, 1);
}

static void a_root_that_moves_is_found_out(void **state)
{
	struct us_vmx_kept fresh_root = rip_only;
	struct us_bpf_seen seen = seen_64();
	struct us_bpf_sample l = look_at(LOW_PC);
	(void)state;
	fresh_root.has_cr3 = true;
	l.cr3 = ROOT | 0xfff; /* the same, with flags */
	us_vmx_rule(&l, &fresh_root, &seen);
	assert_int_equal(seen.moves, 0);
	l = look_at(LOW_PC);
	l.cr3 = OTHER_ROOT;
	us_vmx_rule(&l, &fresh_root, &seen);
	assert_int_equal(l.cr3, OTHER_ROOT);
	assert_int_equal(l.flags, US_BPF_NO_SP);
	assert_int_equal(seen.moves, US_BPF_MOVES_ROOT);
	l = look_at(LOW_PC);
	us_vmx_rule(&l, &rip_only, &seen); /* either of them: nobody knows */
	assert_int_equal(l.flags, US_BPF_NO_SP | US_BPF_NO_STACK);
	l = look_at(LOW_PC);
	l.cr0 = 1; /* without paging there is none */
	us_vmx_rule(&l, &rip_only, &seen);
	assert_int_equal(l.flags, US_BPF_NO_SP);
}

static void one_code(uint64_t pc, uint32_t segments, uint32_t ar,
		     struct us_bpf_seen seen, int cs_l, uint8_t flags)
{
	struct us_vmx_kept k = rip_only;
	struct us_bpf_sample l = look_at(pc);
	k.segments = segments;
	k.cs_ar = ar;
	us_vmx_rule(&l, &k, &seen);
	assert_int_equal(l.flags, US_BPF_NO_SP | flags);
	if (!flags) {
		assert_int_equal(l.cs_l, cs_l);
		assert_int_equal(l.cs_db, !cs_l);
	}
}

static void the_width_of_code_is_known_or_nothing_is(void **state)
{
	struct us_bpf_seen wide = seen_64(), narrow = seen_64(), both = seen_64();
	(void)state;
	narrow.cs_l = 0;
	both.moves = US_BPF_MOVES_CODE;
	one_code(LOW_PC, CS_AR, AR_64, narrow, 1, 0);
	one_code(LOW_PC, CS_AR, AR_32, wide, 0, 0);
	one_code(LOW_PC, 0, AR_32, wide, 1, 0);
	one_code(LOW_PC, 0, AR_64, narrow, 0, 0);
	one_code(LOW_PC, 0, AR_64, both, 0, US_BPF_NO_STACK);
	one_code(HIGH_PC, 0, AR_32, narrow, 1, 0);
	one_code(HIGH_PC, 0, AR_32, both, 1, 0);
}

static void without_long_mode_segments_count(void **state)
{
	struct us_bpf_seen seen = { .cs_base = 0x10, .ss_base = 0x20, .n = 1 };
	struct us_vmx_kept k = { .has_rip = true,
				 .segments = ALL_OF_BOTH,
				 .cs_base = 0x100,
				 .ss_base = 0x200,
				 .cs_ar = AR_32,
				 .ss_ar = AR_STACK };
	struct us_bpf_sample l = { .cr0 = 1 };
	(void)state;
	us_vmx_rule(&l, &k, &seen);
	assert_int_equal(l.flags, US_BPF_NO_SP);
	assert_int_equal(l.cs_base, 0x100);
	assert_int_equal(l.ss_base, 0x200);
	assert_true(l.cs_db && l.ss_db && !l.cs_l);
	k.segments &= ~SS_AR;
	us_vmx_rule(&l, &k, &seen);
	assert_int_equal(l.flags, US_BPF_NO_SP);
	assert_int_equal(l.cs_base, 0x10);
	assert_int_equal(l.ss_base, 0x20);
	assert_true(!l.cs_db && !l.ss_db);
	seen.moves = US_BPF_MOVES_CODE;
	us_vmx_rule(&l, &k, &seen);
	assert_int_equal(l.flags, US_BPF_NO_SP | US_BPF_NO_PC);
}

static int ring_of(uint64_t pc, uint32_t segments, uint32_t ar, uint8_t moves)
{
	struct us_vmx_kept k = rip_only;
	struct us_bpf_sample l = look_at(pc);
	struct us_bpf_seen seen = seen_64();
	seen.moves = moves;
	k.segments = segments;
	k.ss_ar = ar;
	us_vmx_rule(&l, &k, &seen);
	return l.cpl;
}

static void the_ring_is_told(void **state)
{
	(void)state;
	assert_int_equal(ring_of(LOW_PC, SS_AR, AR_STACK, US_BPF_MOVES_RING), 0);
	assert_int_equal(ring_of(LOW_PC, SS_AR, AR_STACK_3, 0), 3);
	assert_int_equal(ring_of(LOW_PC, 0, AR_STACK_3, 0), 0);
	assert_int_equal(ring_of(LOW_PC, 0, 0, US_BPF_MOVES_RING), 3);
	assert_int_equal(ring_of(HIGH_PC, 0, 0, US_BPF_MOVES_RING), 0);
}

static void reasons_are_told(void **state)
{
	static const uint8_t want[][2] = {
		{ 0, US_EXIT_EXCEPTION },  { 1, US_EXIT_INTERRUPT },
		{ 10, US_EXIT_CPUID },	   { 12, US_EXIT_HALT },
		{ 18, US_EXIT_HYPERCALL }, { 28, US_EXIT_CONTROL },
		{ 30, US_EXIT_PORT_IO },   { 31, US_EXIT_MSR },
		{ 32, US_EXIT_MSR },	   { 40, US_EXIT_PAUSE },
		{ 48, US_EXIT_MEMORY },	   { 49, US_EXIT_MEMORY },
		{ 55, US_EXIT_CONTROL },   { 77, US_EXIT_OTHER },
	};
	(void)state;
	for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++)
		assert_int_equal(us_exit_of_vmx(want[i][0] | 1U << 27), want[i][1]);
	assert_true(us_vmx_is_interrupt(1) && us_vmx_is_interrupt(1 | 1U << 27));
	assert_false(us_vmx_is_interrupt(0) || us_vmx_is_interrupt(30));
}

static void looks_find_what_moves(void **state)
{
	struct us_bpf_seen seen = { 0 };
	struct kvm_sregs s = { .cr3 = ROOT, .cs = { .l = 1 } };
	(void)state;
	us_bpf_seen_note(&seen, &s);
	s.cr3 |= 1;
	us_bpf_seen_note(&seen, &s);
	assert_int_equal(seen.n, 2);
	assert_int_equal(seen.moves, 0);
	s.ss.dpl = 3;
	us_bpf_seen_note(&seen, &s);
	assert_int_equal(seen.moves, US_BPF_MOVES_RING);
	s.cs.l = 0;
	us_bpf_seen_note(&seen, &s);
	assert_int_equal(seen.moves, US_BPF_MOVES_RING | US_BPF_MOVES_CODE);
	s.cr3 = OTHER_ROOT;
	us_bpf_seen_note(&seen, &s);
	s.cr3 = ROOT;
	us_bpf_seen_note(&seen, &s); /* once is enough */
	assert_int_equal(seen.moves, 7);
	for (int i = 0; i < 300; i++)
		us_bpf_seen_note(&seen, &s);
	assert_int_equal(seen.n, 255);
}

/* --- stacks --- */

/* From here as the program sends it: rbp is right, rsp is not there. */
static void unwind_without_sp(us_gva pc, us_gva fp)
{
	struct us_bpf_sample l = {
		.cr0 = 1, .efer = LONG_MODE, .cs_l = 1, .flags = US_BPF_NO_SP
	};
	l.reg[4] = 0xbad;
	l.reg[5] = fp;
	l.reg[16] = pc;
	us_bpf_sample_regs(&l, &regs);
	us_unwind(unwinder, &paging, &regs, &out);
}

#define FRAME "\x55\x48\x89\xe5\x90\x90\x5d\xc3" /* push, mov, nop, nop, pop, ret */

/* push %rbp; mov %rsp,%rbp; call to; pop %rbp; ret */
static void framed_calls(us_gva at, us_gva to)
{
	uint8_t code[] = { 0x55, 0x48, 0x89, 0xe5, 0xe8, 0, 0, 0, 0, 0x5d, 0xc3 };
	int32_t off = (int32_t)(to - at - 9);
	memcpy(code + 5, &off, 4);
	function(at, (const char *)code, sizeof(code));
}

static void frames_are_followed_without_a_stack_pointer(void **state)
{
	(void)state;
	framed_calls(0x1000, 0x2000);
	FUNCTION(0x2000, FRAME);
	put(0x9000, 0x9010); /* of the callee: rbp, and the way back */
	put(0x9008, 0x1009);
	put(0x9010, 0);
	put(0x9018, 0);
	unwind_without_sp(0x2005, 0x9000);
	assert_int_equal(out.n, 2);
	assert_int_equal(out.pc[1], 0x1009);
	assert_int_equal(out.end, US_END_ROOT);
	/* Before its first instruction rbp is the caller's: nothing is known. */
	unwind_without_sp(0x2000, 0x9010);
	assert_int_equal(out.n, 1);
	assert_int_not_equal(out.end, US_END_ROOT);
}

/* Its caller is where rsp points: not even the caller's caller is shown for it. */
static void a_leaf_without_a_frame_is_alone(void **state)
{
	(void)state;
	framed_calls(0x1000, 0x2000);
	framed_calls(0x2000, 0x3000);
	FUNCTION(0x3000, "\x90\x90\xc3");
	put(0x8ff8, 0x2009);
	put(0x9000, 0x9010);
	put(0x9008, 0x1009);
	unwind_without_sp(0x3001, 0x9000);
	assert_int_equal(out.n, 1);
	assert_int_equal(out.end, US_END_NO_RULE);
}

static void without_a_root_nothing_is_read(void **state)
{
	struct us_bpf_sample l = look_at(LOW_PC);
	(void)state;
	l.cs_l = 1;
	l.flags = US_BPF_NO_SP | US_BPF_NO_STACK;
	us_bpf_sample_regs(&l, &regs);
	assert_int_equal(regs.space.mode, US_PAGING_UNKNOWN);
	assert_int_equal(regs.pc, LOW_PC);
	us_unwind(unwinder, &paging, &regs, &out);
	assert_int_equal(out.n, 1);
}

/* --- what the host has --- */

/* again: mov cx, 0x1000; loop $; out 0x10, al; jmp again */
static const uint8_t outs[] = { 0xb9, 0x00, 0x10, 0xe2, 0xfe, 0xe6, 0x10, 0xeb, 0xf7 };

static void start_vmm(struct mini_vmm *vmm, struct us_guest *g)
{
	struct us_err e;
	mini_start(vmm, outs, sizeof(outs));
	if (us_guest_inspect(vmm->pid, g, &e))
		fail_msg("%s", e.msg);
}

static void exits_are_counted(void **state)
{
	struct us_exit_event x;
	struct mini_vmm vmm;
	struct us_guest g;
	struct us_err e;
	(void)state;
	assert_true(us_exit_event_needed("5.10.0") && us_exit_event_needed("6.1.0-56"));
	assert_true(us_exit_event_needed("6.2.16") && us_exit_event_needed("what"));
	assert_false(us_exit_event_needed("6.3.0") || us_exit_event_needed("6.18.1"));
	assert_false(us_exit_event_needed("7.0"));
	skip_unless(access("/dev/kvm", R_OK | W_OK) == 0, "no /dev/kvm");
	start_vmm(&vmm, &g);
	bool open = us_exit_event_open(&x, vmm.pid, &e) == 0;
	/* What counts none of a thousand that the VMM has seen will count no more. */
	int exits = vmm.shared->exits;
	for (int i = 0; open && i < 20000 && vmm.shared->exits - exits < 1000 &&
			us_exit_event_count(&x) < 5;
	     i++)
		usleep(1000);
	bool counted = open && us_exit_event_count(&x) >= 5;
	if (open)
		us_exit_event_close(&x);
	mini_stop(&vmm);
	skip_unless(open, e.msg);
	/* A host that emulates its guests has no such exits. */
	skip_unless(counted || us_bpf_host_kind(NULL) != US_BPF_HOST_EMULATES,
		    "guests do not exit here");
	assert_true(counted);
}

static void stopped_vcpus_tell_the_rest(void **state)
{
	static struct us_bpf_row one;
	struct us_bpf_row *row = &one;
	struct us_bpf_vmx *x;
	struct mini_vmm vmm;
	struct us_guest g;
	struct us_err e;
	uint64_t taken = 0;
	(void)state;
	skip_unless(access("/dev/kvm", R_OK | W_OK) == 0, "no /dev/kvm");
	start_vmm(&vmm, &g);
	int pidfd = us_kvm_open_process(&g, &e);
	bool open = pidfd >= 0 && us_bpf_vmx_open(&g, pidfd, &row, &x, &e) == 0;
	for (int i = 0; open && i < 20000 && one.seen.n < US_VMX_FIRST_SAMPLES; i++) {
		taken += us_bpf_vmx_refresh(x, us_now_ns());
		usleep(1000);
	}
	if (open)
		us_bpf_vmx_close(x);
	close(pidfd);
	int exits = vmm.shared->exits;
	for (int i = 0; i < 20000 && vmm.shared->exits == exits; i++)
		usleep(1000);
	bool runs_on = vmm.shared->exits != exits;
	mini_stop(&vmm);
	skip_unless(open, e.msg);
	assert_true(one.seen.n >= US_VMX_FIRST_SAMPLES && runs_on && taken);
	assert_int_equal(one.seen.moves, 0);
	assert_int_equal(one.seen.cs_base, 0);
	assert_int_equal(one.seen.cs_l, 0);
}

/* --- the programs --- */

/* Some of what arch/x86/kvm/vmx/vmx.h says, elsewhere than any kernel has it. */
enum form { OLD, NEW, ANOTHER, N_FORM };

static void add_vcpu_vmx(struct btf *b, enum form form)
{
	int vcpu = btf__find_by_name_kind(b, "kvm_vcpu", BTF_KIND_STRUCT);
	uint32_t at = (uint32_t)btf__type_by_id(b, (__u32)vcpu)->size;
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
	member(b, form == ANOTHER ? "segments" : "segment_cache", cache, at + 128);
	if (form == NEW)
		member(b, "vt", vt, at + 400);
	else
		member(b, "exit_reason", reason, at + 400);
}

/* Old and new: the kernel's verifier takes them, and libbpf finds all names.  Where it
 * does not, nothing is guessed. */
static void the_kernel_takes_the_programs(void **state)
{
	struct btf *kernel = kernel_types();
	struct us_err e;
	(void)state;
	for (enum form form = OLD; form < N_FORM; form++) {
		struct btf *types = copy_of(kernel);
		assert_non_null(types);
		add_vcpu_vmx(types, form);
		int r = load_with(US_BPF_HOST_VMX, types, &e);
		btf__free(types);
		if (form != ANOTHER && r < 0)
			fail_msg("%s", e.msg);
		assert_int_equal(form == ANOTHER, r < 0);
	}
	print_message("# refused: %s\n", e.msg);
	btf__free(kernel);
}

/* kvm_intel of the kernel that runs, which need not be loaded. */
static bool find_module(char *ret, size_t size)
{
	struct utsname u;
	char pattern[400];
	glob_t found = { 0 };
	const char *root = getenv("US_BUILD_ROOT");
	uname(&u);
	snprintf(pattern, sizeof(pattern),
		 "{%s/packages/*,%s/rigs/*/*/usr,}/lib/modules/%s/kernel/arch/x86/kvm/"
		 "kvm-intel.ko",
		 root ? root : "", root ? root : "", u.release);
	bool ok = glob(pattern, GLOB_BRACE, NULL, &found) == 0;
	if (ok)
		snprintf(ret, size, "%s", found.gl_pathv[0]);
	globfree(&found);
	return ok;
}

static void its_own_module_has_the_types(void **state)
{
	char path[512];
	(void)state;
	skip_unless(find_module(path, sizeof(path)),
		    "kvm-intel.ko of this kernel is not there");
	struct btf *kernel = kernel_types();
	struct btf *module = btf__parse_split(path, kernel);
	assert_non_null(module);
	struct btf *types = copy_of(module);
	assert_non_null(types);
	assert_true(btf__find_by_name_kind(types, "vcpu_vmx", BTF_KIND_STRUCT) > 0);
	struct us_err e;
	if (load_with(US_BPF_HOST_VMX, types, &e) < 0)
		fail_msg("%s", e.msg);
	btf__free(types);
	btf__free(module);
	btf__free(kernel);
}

#define STACK_TEST(f) cmocka_unit_test_setup_teardown(f, fresh, done)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_stale_is_not_shown),
		cmocka_unit_test(a_root_that_moves_is_found_out),
		cmocka_unit_test(the_width_of_code_is_known_or_nothing_is),
		cmocka_unit_test(without_long_mode_segments_count),
		cmocka_unit_test(the_ring_is_told),
		cmocka_unit_test(reasons_are_told),
		cmocka_unit_test(looks_find_what_moves),
		STACK_TEST(frames_are_followed_without_a_stack_pointer),
		STACK_TEST(a_leaf_without_a_frame_is_alone),
		STACK_TEST(without_a_root_nothing_is_read),
		cmocka_unit_test(exits_are_counted),
		cmocka_unit_test(stopped_vcpus_tell_the_rest),
		cmocka_unit_test(the_kernel_takes_the_programs),
		cmocka_unit_test(its_own_module_has_the_types),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
