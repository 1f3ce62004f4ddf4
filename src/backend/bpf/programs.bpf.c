// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * programs.bpf.c: what runs in the host's kernel.  See docs/architecture.md.
 *
 * A timer that counts the CPU time of one vCPU thread calls tick(), which takes a
 * sample of the guest and puts it into the ring.  Two iterators list, on request, the
 * vCPUs of a VMM and its memory slots.
 */
#include "backend/bpf/host_stack.bpf.h"
#if defined(__TARGET_ARCH_x86)
#include "backend/bpf/registers_x86.bpf.h"
#else
#include "backend/bpf/registers_aarch64.bpf.h"
#endif
#include "backend/bpf/pointed.bpf.h"
#include "backend/bpf/stack.bpf.h"

char our_license[] SEC("license") = "GPL";

/* The registers that the timer interrupted, as struct bpf_perf_event_data has them. */
struct tick_context {
	uint64_t word[CONTEXT_WORDS];
};

#define LEAST_CREDIT_NS 16
#define NOTHING_TO_COPY (US_BPF_NESTED | US_BPF_NO_PC | US_BPF_NO_STACK)

/* False: the slots have changed since uniscope read them. */
static __always_inline bool place(struct scratch *s, const struct us_bpf_row *row,
				  const struct us_bpf_guest *g)
{
	struct kvm_memslots *slots = NULL;
	bpf_probe_read_kernel(&slots, sizeof(slots), (const void *)row->slots_at);
	s->generation = BPF_CORE_READ(slots, generation);
	set_space(s);
	if (s->generation == g->slots[g->active & 1].generation)
		return true;
	s->sample.flags |= US_BPF_STALE;
	return false;
}

static __always_inline void copy_stack(struct scratch *s, const struct us_bpf_guest *g)
{
	struct us_bpf_sample *l = &s->sample;
	uint32_t window = g->window & ~7U;
	us_gva sp, fp;
	s->enough = g->enough;
	stack_of(l, &sp, &fp);
	if (window > US_BPF_MAX_WINDOW)
		window = US_BPF_MAX_WINDOW;
	copy_windows(s, g, sp, window);
	if (fp)
		copy_chain(s, fp);
}

/* A sample has told the sums: only ticks behind the last read remain. */
static __noinline int begin_sums(struct us_bpf_row *row)
{
	row->unsent_ran_ns = 0;
	row->unsent_n_tick -= row->read_n_tick;
	row->unsent_n_new -= row->unsent_n_new < row->read_n_new ? row->unsent_n_new
								 : row->read_n_new;
	row->read_n_tick = row->read_n_new = 0;
	return 0;
}

static __always_inline void send(struct scratch *s, struct us_bpf_row *row,
				 uint64_t begin_ns)
{
	struct us_bpf_sample *l = &s->sample;
	l->size = l->frames_at + l->n_frame * sizeof(struct us_bpf_frame);
	uint64_t size = sizeof(*l) + l->size;
	l->cost_ns = (uint32_t)(bpf_ktime_get_ns() - begin_ns);
	barrier_var(size);
	if (size > US_BPF_MAX_SAMPLE)
		return;
	uint64_t waiting = bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA);
	uint64_t flags = waiting > US_BPF_RING_BYTES / 4 ? BPF_RB_FORCE_WAKEUP
							 : BPF_RB_NO_WAKEUP;
	if (bpf_ringbuf_output(&ring, l, size, flags))
		row->full += row->beat_part;
	else if (l->ran_ns)
		begin_sums(row);
}

static __always_inline bool runs_here(struct kvm_vcpu *vcpu)
{
	struct task_struct *task = bpf_get_current_task_btf();
	return BPF_CORE_READ(vcpu, pid) == task->thread_pid;
}

static __always_inline void begin_sample(struct us_bpf_sample *l, uint64_t now,
					 uint32_t row)
{
	l->t_ns = now;
	l->row = row;
	l->flags = 0;
	l->n_frame = 0;
	l->vmm_reason = 0;
	l->n_window = 0;
	l->frames_at = 0;
	l->size = 0;
	l->window[0].len = 0;
	l->pointed.plan = 0;
}

static __always_inline bool has_credit(struct us_bpf_row *row, uint64_t now)
{
	uint64_t most = US_BPF_BURST_NS * row->budget_ppm / 1000000;
	uint64_t passed = now - row->credited_ns;
	if (!row->budget_ppm)
		return true;
	if (passed > US_BPF_SECOND_NS)
		passed = US_BPF_SECOND_NS;
	/* New credit and saved credit together are one second's budget. */
	passed -= passed / (US_BPF_SECOND_NS / US_BPF_BURST_NS);
	int64_t more = (int64_t)(passed * row->budget_ppm / 1000000);
	if (more >= LEAST_CREDIT_NS) { /* of less, too much is lost as a fraction */
		row->credit_ns += more;
		if (row->credit_ns > (int64_t)most)
			row->credit_ns = (int64_t)most;
		row->credited_ns = now;
	}
	if (row->credit_ns >= 0)
		return true;
	row->skipped += row->beat_part;
	return false;
}

static __always_inline uint16_t in_16_bits(uint64_t n)
{
	return n < UINT16_MAX ? (uint16_t)n : UINT16_MAX;
}

/* A timer that was held up skips ticks: read how long the thread has run.  Not all
 * ticks make a sample that arrives; until one does, sums are kept. */
static __noinline int note_tick(struct tick_context *ctx, struct scratch *s,
				struct us_bpf_row *row, uint64_t now)
{
	/* Not on the stack, of which the programs need nearly all. */
	struct bpf_perf_event_value *v = (void *)s->span;
	uint64_t before = row->tick_ns;
	row->tick_ns = now;
	row->unsent_n_tick++;
	row->unsent_n_new = before ? row->unsent_n_new + 1 : 1;
	if (now - before > row->near_ns &&
	    !bpf_perf_prog_read_value((void *)ctx, v, sizeof(*v))) {
		/* Less than before: the clock of another thread. */
		if (v->counter > row->ran_ns)
			row->unsent_ran_ns += v->counter - row->ran_ns;
		row->ran_ns = v->counter;
		row->read_n_tick = row->unsent_n_tick;
		row->read_n_new = row->unsent_n_new;
	}
	s->sample.ran_ns = row->unsent_ran_ns < UINT32_MAX
				   ? (uint32_t)row->unsent_ran_ns
				   : UINT32_MAX;
	s->sample.n_tick = in_16_bits(row->read_n_tick);
	s->sample.n_new = in_16_bits(row->read_n_new);
	return 0;
}

static __always_inline int count_foreign(struct us_bpf_row *row)
{
	row->foreign += row->beat_part;
	return 0;
}

SEC("perf_event")
int tick(struct tick_context *ctx)
{
	uint64_t now = bpf_ktime_get_ns();
	uint32_t at = (uint32_t)bpf_get_attach_cookie(ctx);
	struct us_bpf_row *row = bpf_map_lookup_elem(&rows, &at);
	struct scratch *s = my_scratch();
	int state = 0;
	if (!row || !row->vcpu || !s)
		return 0;
	struct kvm_vcpu *vcpu = (void *)row->vcpu;
	struct us_bpf_guest *g = bpf_map_lookup_elem(&guests, &row->guest);
	note_tick(ctx, s, row, now);
	if (!g || !runs_here(vcpu))
		return count_foreign(row);
	if (!has_credit(row, now))
		return 0;
	s->guest = row->guest;
	s->number++;
	begin_sample(&s->sample, now, at);
	if (!read_registers(&s->sample, s->span, vcpu, &row->seen, &state))
		return count_foreign(row);
	s->sample.kind = kind_of(&s->sample, vcpu, state, ctx->word[CONTEXT_MODE]);
	if (s->sample.kind == US_BPF_GUEST && s->sample.flags & US_BPF_NO_PC)
		return count_foreign(row);
	if (s->sample.kind == US_BPF_VMM || s->sample.kind == US_BPF_KERNEL)
		s->sample.vmm_reason = BPF_CORE_READ(vcpu, run, exit_reason);
	if (s->sample.kind != US_BPF_OFF && !(s->sample.flags & NOTHING_TO_COPY) &&
	    place(s, row, g)) {
		copy_stack(s, g);
		if (row->pointer_at && s->sample.kind != US_BPF_HALTED)
			copy_pointed(s, g, row->pointer_at);
	}
	if (g->host && is_hosts(s->sample.kind) && send_host(&s->sample, ctx))
		s->sample.flags |= US_BPF_HAS_HOST;
	send(s, row, now);
	row->credit_ns -= (int64_t)(bpf_ktime_get_ns() - now);
	return 0;
}

/* For comparison: what an event costs by itself. */
SEC("perf_event")
int empty(struct tick_context *ctx)
{
	return 0;
}

/* Set before an iterator is read: the process whose files are wanted, as uniscope
 * numbers it. */
int32_t files_of;

static __always_inline struct upid *upid_at(struct pid *pid, uint32_t level)
{
	return (void *)&pid->numbers[0] + level * bpf_core_type_size(struct upid);
}

/* A thread's number in the PID namespace of uniscope, in which iterators run; 0: there
 * is no thread, US_BPF_ELSEWHERE: it is in none that uniscope's contains. */
static __always_inline int32_t number_of(struct pid *pid)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pid *reader = BPF_CORE_READ(task, thread_pid);
	uint32_t level = BPF_CORE_READ(reader, level);
	if (!pid)
		return 0;
	if (BPF_CORE_READ(pid, level) < level)
		return US_BPF_ELSEWHERE;
	struct upid *here = upid_at(pid, level), *ours = upid_at(reader, level);
	if (BPF_CORE_READ(here, ns) != BPF_CORE_READ(ours, ns))
		return US_BPF_ELSEWHERE;
	return BPF_CORE_READ(here, nr);
}

/* The vCPU behind a VMM's file, if it is one: "anon_inode:kvm-vcpu:N".  A file of its
 * statistics, "anon_inode:kvm-vcpu-stats:N", leads to the same vCPU.  Linux before 6.1
 * lists the files of all processes. */
static __always_inline struct kvm_vcpu *vcpu_of(struct bpf_iter__task_file *ctx)
{
	struct file *file = ctx->file;
	struct task_struct *task = ctx->task;
	if (!file || !task || number_of(BPF_CORE_READ(task, thread_pid)) != files_of)
		return NULL;
	char name[9] = "";
	const unsigned char *at = BPF_CORE_READ(file, f_path.dentry, d_name.name);
	if (bpf_probe_read_kernel(name, sizeof(name), at) || name[0] != 'k' ||
	    name[1] != 'v' || name[2] != 'm' || name[3] != '-' || name[4] != 'v' ||
	    name[5] != 'c' || name[6] != 'p' || name[7] != 'u' || name[8] != ':')
		return NULL;
	return BPF_CORE_READ(file, private_data);
}

SEC("iter/task_file")
int find_vcpus(struct bpf_iter__task_file *ctx)
{
	struct kvm_vcpu *vcpu = vcpu_of(ctx);
	if (!vcpu)
		return 0;
	uint32_t zero = 0;
	struct us_bpf_found_vcpu *f = bpf_map_lookup_elem(&found_vcpu, &zero);
	int state = 0;
	if (!f)
		return 0;
	f->vcpu = (uint64_t)vcpu;
	f->fd = ctx->fd;
	f->vcpu_id = BPF_CORE_READ(vcpu, vcpu_id);
	f->tid = number_of(BPF_CORE_READ(vcpu, pid));
	struct kvm *kvm = BPF_CORE_READ(vcpu, kvm);
	f->machine = (uint64_t)kvm;
	f->slots_at = (uint64_t)&kvm->memslots[0];
	f->protected = is_protected(vcpu);
	begin_sample(&f->sample, bpf_ktime_get_ns(), 0);
	__builtin_memset(&f->seen, 0, sizeof(f->seen));
	f->readable = !f->protected &&
		      read_registers(&f->sample, f->span, vcpu, &f->seen, &state);
	f->mp_state = state;
	bpf_seq_write(ctx->meta->seq, f, sizeof(*f));
	return 0;
}

struct slot_walk {
	struct seq_file *seq;
	struct kvm_memslots *slots;
	struct hlist_node *node;
	uint64_t generation;
	int copy; /* which of a slot's two nodes */
};

static long write_slot(uint32_t i, void *ctx)
{
	struct slot_walk *w = ctx;
	struct hlist_node *node = w->node;
	if (!node)
		return 1;
	/* The node is one of two adjacent ones, of 16 bytes each. */
	void *first = (void *)node -
		      (w->copy & 1) * bpf_core_type_size(struct hlist_node);
	struct kvm_memory_slot *slot = first - bpf_core_field_offset(
						       struct kvm_memory_slot, id_node);
	struct us_bpf_found_slot found = {
		.generation = w->generation,
		.start = BPF_CORE_READ(slot, base_gfn) << (page_shift & 63),
		.size = (uint64_t)BPF_CORE_READ(slot, npages) << (page_shift & 63),
		.hva = BPF_CORE_READ(slot, userspace_addr),
	};
	bpf_seq_write(w->seq, &found, sizeof(found));
	w->node = BPF_CORE_READ(node, next);
	return 0;
}

#define BUCKETS	      128 /* include/linux/kvm_host.h: DECLARE_HASHTABLE(id_hash, 7) */
#define MAX_IN_BUCKET 16

static long write_bucket(uint32_t i, void *ctx)
{
	struct slot_walk *w = ctx;
	struct hlist_head *head = (void *)w->slots +
				  bpf_core_field_offset(struct kvm_memslots, id_hash) +
				  (i & 127) * 8;
	w->node = BPF_CORE_READ(head, first);
	bpf_loop(MAX_IN_BUCKET, write_slot, w, 0);
	return 0;
}

/* Set before the iterator is read: the vCPU whose slots are wanted. */
uint64_t slots_of;

SEC("iter/task_file")
int find_slots(struct bpf_iter__task_file *ctx)
{
	struct kvm_vcpu *vcpu = vcpu_of(ctx);
	if (!vcpu || (uint64_t)vcpu != slots_of)
		return 0;
	struct kvm *kvm = BPF_CORE_READ(vcpu, kvm);
	struct slot_walk w = { .seq = ctx->meta->seq };
	w.slots = BPF_CORE_READ(kvm, memslots[0]);
	struct kvm_memslots *slots = w.slots;
	w.generation = BPF_CORE_READ(slots, generation);
	w.copy = BPF_CORE_READ(slots, node_idx);
	bpf_loop(BUCKETS, write_bucket, &w, 0);
	return 0;
}
