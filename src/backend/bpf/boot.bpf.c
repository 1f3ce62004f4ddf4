// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * boot.bpf.c: a boot as the host's KVM sees it, at its tracepoints.
 *
 * It observes the processes that uniscope starts, and those that these start.  The
 * tracepoints are those of include/trace/events/kvm.h, arch/x86/kvm/trace.h and
 * arch/arm64/kvm/trace_arm.h; the functions are KVM's on each architecture.
 */
#include "backend/bpf/boot_shared.h"
#include "backend/bpf/host_kind.h"

#define BPF_MAP_TYPE_HASH 1
#define BPF_ANY		  0

#define MAX_PROCESSES	4096
#define EXIT_HLT_OF_KVM 5      /* include/uapi/linux/kvm.h */
#define SVM_HLT		0x78   /* arch/x86/include/uapi/asm/svm.h */
#define VMX_HLT		12     /* arch/x86/include/uapi/asm/vmx.h */
#define ARM_WFX		0x01   /* arch/arm64/include/asm/esr.h */
#define SECTOR		0x7c00 /* where a PC's firmware loads the first sector */
#define SECTOR_END	0x7e00
#define PORT_DATA	0x3f8 /* of a 16550: include/uapi/linux/serial_reg.h */
#define PORT_LINE	0x3fb
#define PORT_MODEM	0x3fc
#define LINE_DIVISOR	0x80	   /* the data port accesses the divisor */
#define MODEM_LOOP	0x10	   /* bytes come back instead of going out */
#define INTERRUPTS	0xfec00000 /* I/O APIC, HPET, local APIC of a PC */
#define INTERRUPTS_END	0xfef00000
#define LEAST_POINTER	0x10000
#define OUT		1

char our_license[] SEC("license") = "GPL";

/* Set before the programs are loaded. */
const volatile uint32_t host_kind; /* enum us_bpf_host */
const volatile uint32_t our_pid;   /* in its namespace: */
const volatile uint64_t our_device, our_inode;

struct raw_context {
	uint64_t arg[5];
};

struct ns_pid { /* bpf_pidns_info */
	uint32_t pid, tgid;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_PROCESSES);
	__type(key, uint32_t);
	__type(value, uint8_t);
} family SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, uint32_t);
	__type(value, struct us_boot_seen);
} seen SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, US_N_EXITS *US_BOOT_PORTS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, uint32_t);
	__type(value, uint64_t);
} ports SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, US_BOOT_PAGES);
	__type(key, struct us_boot_page);
	__type(value, uint64_t);
} pages SEC(".maps");

/* NULL: the current process is not one of those observed. */
static __always_inline struct us_boot_seen *of_family(void)
{
	uint32_t tgid = (uint32_t)(bpf_get_current_pid_tgid() >> 32), zero = 0;
	if (!bpf_map_lookup_elem(&family, &tgid))
		return NULL;
	return bpf_map_lookup_elem(&seen, &zero);
}

static __always_inline void first(uint64_t *at)
{
	if (!*at)
		*at = bpf_ktime_get_ns();
}

static __always_inline uint32_t phase_of(const struct us_boot_seen *s)
{
	uint32_t phase = s->phase;
	return phase < US_N_EXITS ? phase : US_EXITS_KERNEL;
}

static __always_inline bool is_us(void)
{
	struct ns_pid ns = { 0 };
	return !bpf_get_ns_current_pid_tgid(our_device, our_inode, (void *)&ns,
					    sizeof(ns)) &&
	       ns.tgid == our_pid;
}

SEC("raw_tp/sched_process_fork")
int on_fork(struct raw_context *ctx)
{
	struct task_struct *child = (void *)ctx->arg[1];
	uint32_t mine = (uint32_t)(bpf_get_current_pid_tgid() >> 32);
	uint32_t tgid = BPF_CORE_READ(child, tgid);
	uint8_t one = 1;
	if (tgid == mine) /* a thread */
		return 0;
	if (bpf_map_lookup_elem(&family, &mine) || is_us())
		bpf_map_update_elem(&family, &tgid, &one, BPF_ANY);
	return 0;
}

/* ---- What KVM is asked to create ---- */

SEC("fexit/kvm_arch_init_vm")
int on_vm(void *ctx)
{
	struct us_boot_seen *s = of_family();
	if (s)
		first(&s->vm_ns);
	return 0;
}

SEC("fexit/kvm_arch_vcpu_create")
int on_vcpu(void *ctx)
{
	struct us_boot_seen *s = of_family();
	if (s)
		first(&s->vcpu_ns);
	return 0;
}

SEC("fentry/kvm_arch_vcpu_ioctl_run")
int on_run(void *ctx)
{
	struct us_boot_seen *s = of_family();
	if (s)
		first(&s->run_ns);
	return 0;
}

/* If the kernel does not let us attach there: at the system calls of all processes. */
#define CREATE_VM   0xae01 /* include/uapi/linux/kvm.h */
#define CREATE_VCPU 0xae41
#define RUN	    0xae80

#if defined(__TARGET_ARCH_x86)
#define IOCTL		      16
#define NUMBER_OF_CALL(regs)  (uint32_t) BPF_CORE_READ(regs, orig_ax)
#define REQUEST_OF_CALL(regs) (uint32_t) BPF_CORE_READ(regs, si)
#else
#define IOCTL		      29
#define NUMBER_OF_CALL(regs)  (uint32_t) BPF_CORE_READ(regs, syscallno)
#define REQUEST_OF_CALL(regs) (uint32_t) BPF_CORE_READ(regs, regs[1])
#endif

static __always_inline uint32_t request(const struct raw_context *ctx)
{
	struct pt_regs *regs = (void *)ctx->arg[0];
	return NUMBER_OF_CALL(regs) == IOCTL ? REQUEST_OF_CALL(regs) : 0;
}

SEC("raw_tp/sys_enter")
int on_call(struct raw_context *ctx)
{
	struct us_boot_seen *s = ctx->arg[1] == IOCTL ? of_family() : NULL;
	if (s && !s->run_ns && request(ctx) == RUN)
		first(&s->run_ns);
	return 0;
}

SEC("raw_tp/sys_exit")
int on_return(struct raw_context *ctx)
{
	struct us_boot_seen *s = of_family();
	if (!s || s->vcpu_ns)
		return 0;
	uint32_t what = request(ctx);
	if (what == CREATE_VM)
		first(&s->vm_ns);
	else if (what == CREATE_VCPU)
		first(&s->vcpu_ns);
	return 0;
}

/* ---- What the guest does ---- */

SEC("raw_tp/kvm_entry")
int on_entry(void *ctx)
{
	struct us_boot_seen *s = of_family();
	if (s)
		first(&s->entry_ns);
	return 0;
}

static __always_inline void halt(struct us_boot_seen *s, uint64_t at)
{
	uint64_t i = __sync_fetch_and_add(&s->n_halt, 1);
	if (i < US_BOOT_HALTS)
		s->halt_ns[i] = at;
}

/* Was the guest at one of its kernel's addresses, or in a disk's first sector? */
static __always_inline void see_place(struct us_boot_seen *s, uint64_t at)
{
	bool kernel = false;
	for (int i = 0; i < US_BOOT_RANGES; i++)
		kernel |= at >= s->code.range[i].start && at < s->code.range[i].end;
	if (s->phase < US_EXITS_KERNEL && kernel) {
		s->phase = US_EXITS_KERNEL;
		first(&s->kernel_ns);
	} else if (s->phase < US_EXITS_LOADER && at >= SECTOR && at < SECTOR_END) {
		s->phase = US_EXITS_LOADER;
	}
}

static __always_inline void count(struct us_boot_seen *s, uint32_t code)
{
	uint32_t phase = phase_of(s);
	__sync_fetch_and_add(&s->exits[phase][code & (US_BOOT_CODES - 1)], 1);
	__sync_fetch_and_add(&s->n_exit, 1);
}

#if defined(__TARGET_ARCH_x86)

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
union vmx_exit_reason {
	uint32_t full;
};
struct vcpu_vmx {
	union vmx_exit_reason exit_reason;
};
struct vcpu_vt { /* since 6.16 */
	union vmx_exit_reason exit_reason;
};
struct vcpu_vmx___vt {
	struct vcpu_vt vt;
};
#pragma clang attribute pop

static __always_inline uint32_t vmx_code(void *vcpu)
{
	struct vcpu_vmx___vt *vt = vcpu;
	struct vcpu_vmx *vmx = vcpu;
	if (!bpf_core_type_exists(struct vcpu_vmx))
		return 0;
	if (bpf_core_field_exists(vt->vt))
		return (uint16_t)BPF_CORE_READ(vt, vt.exit_reason.full);
	return (uint16_t)BPF_CORE_READ(vmx, exit_reason.full);
}

static __always_inline uint32_t svm_code(struct us_boot_seen *s, struct vcpu_svm *svm)
{
	struct vmcb *vmcb;
	if (!bpf_core_type_exists(struct vcpu_svm))
		return 0;
	vmcb = BPF_CORE_READ(svm, vmcb);
	see_place(s, BPF_CORE_READ(vmcb, save.rip) + BPF_CORE_READ(vmcb, save.cs.base));
	return BPF_CORE_READ(vmcb, control.exit_code);
}

/* Before 5.17 the first argument is the code. */
SEC("raw_tp/kvm_exit")
int on_exit(struct raw_context *ctx)
{
	struct us_boot_seen *s = of_family();
	bool svm = host_kind == US_BPF_HOST_SVM;
	uint32_t code;
	if (!s)
		return 0;
	if (ctx->arg[0] < LEAST_POINTER)
		code = (uint16_t)ctx->arg[0];
	else if (svm)
		code = svm_code(s, (void *)ctx->arg[0]);
	else
		code = vmx_code((void *)ctx->arg[0]);
	count(s, code);
	if (code == (svm ? SVM_HLT : VMX_HLT))
		halt(s, bpf_ktime_get_ns());
	return 0;
}

#else

SEC("raw_tp/kvm_exit")
int on_exit(struct raw_context *ctx)
{
	struct us_boot_seen *s = of_family();
	uint32_t class = (uint32_t)ctx->arg[1] & 63;
	if (!s)
		return 0;
	see_place(s, ctx->arg[2]);
	count(s, class);
	if (class == ARM_WFX)
		halt(s, bpf_ktime_get_ns());
	return 0;
}

#endif

/* On a host that emulates its guests, only this shows a HLT: when it is over. */
SEC("raw_tp/kvm_vcpu_wakeup")
int on_wakeup(struct raw_context *ctx)
{
	struct us_boot_seen *s = of_family();
	if (s && host_kind == US_BPF_HOST_EMULATES)
		halt(s, bpf_ktime_get_ns() - ctx->arg[0]);
	return 0;
}

/* If the VMM has the interrupt controllers, the VMM waits itself. */
SEC("raw_tp/kvm_userspace_exit")
int on_userspace(struct raw_context *ctx)
{
	struct us_boot_seen *s = of_family();
	if (s && (uint32_t)ctx->arg[0] == EXIT_HLT_OF_KVM)
		halt(s, bpf_ktime_get_ns());
	return 0;
}

static __always_inline void see_serial(struct us_boot_seen *s, uint32_t port,
				       const void *data)
{
	uint8_t byte = 0;
	if (port < PORT_DATA || port > PORT_MODEM)
		return;
	bpf_probe_read_kernel(&byte, sizeof(byte), data);
	if (port == PORT_LINE)
		s->line_control = byte;
	else if (port == PORT_MODEM)
		s->modem_control = byte;
	else if (port == PORT_DATA && !(s->line_control & LINE_DIVISOR) &&
		 !(s->modem_control & MODEM_LOOP))
		first(&s->port_ns);
}

/* rw, port, size, count, data */
SEC("raw_tp/kvm_pio")
int on_port(struct raw_context *ctx)
{
	struct us_boot_seen *s = of_family();
	uint32_t port = (uint32_t)ctx->arg[1] & (US_BOOT_PORTS - 1);
	if (!s)
		return 0;
	uint32_t key = phase_of(s) * US_BOOT_PORTS + port;
	uint64_t *n = bpf_map_lookup_elem(&ports, &key);
	if (n)
		__sync_fetch_and_add(n, 1);
	if ((uint32_t)ctx->arg[0] == OUT)
		see_serial(s, port, (const void *)ctx->arg[4]);
	return 0;
}

/* type, len, gpa, value */
SEC("raw_tp/kvm_mmio")
int on_memory(struct raw_context *ctx)
{
	struct us_boot_seen *s = of_family();
	uint64_t gpa = ctx->arg[2], one = 1;
	if (!s)
		return 0;
	struct us_boot_page key = { .gpa = gpa & ~0xfffULL, .phase = phase_of(s) };
	uint64_t *n = bpf_map_lookup_elem(&pages, &key);
	if (n)
		__sync_fetch_and_add(n, 1);
	else
		bpf_map_update_elem(&pages, &key, &one, BPF_ANY);
	if (!s->device_ns && (gpa < INTERRUPTS || gpa >= INTERRUPTS_END)) {
		s->device_gpa = gpa;
		first(&s->device_ns);
	}
	return 0;
}
