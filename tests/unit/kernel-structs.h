/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kernel-structs.h: the structs that are read of a Linux kernel, with the members that
 * are asked for among others, in the ways in which kernels write them down: in structs
 * and unions without a name, behind other names of a type, in arrays of arrays.
 * A compiler says where they are, and its debug information has to say the same.
 */
#ifndef US_TEST_KERNEL_STRUCTS_H
#define US_TEST_KERNEL_STRUCTS_H

typedef unsigned int u32;
typedef unsigned long long u64;
typedef int pid_t_;
struct path_of_nobody;

struct list_head {
	struct list_head *next, *prev;
};
struct thread_info {
	unsigned long flags;
	u32 status, cpu;
};
struct thread_struct {
	struct {
		unsigned short limit : 5, type : 4;
		u32 base;
	} tls_array[3];
	unsigned long sp;
	const volatile unsigned short es, ds;
};
struct sched_entity {
	u64 load[2][3];
	u64 sum_exec_runtime;
};
struct signal_struct {
	u32 sigcnt;
	struct list_head thread_head;
};
union thread_union {
	struct thread_info info;
	unsigned long stack[2048];
};
struct inactive_task_frame {
	unsigned long r15, r14, r13, r12, bx;
	unsigned long bp, ret_addr;
};
struct task_struct {
	struct thread_info thread_info;
	volatile u32 __state;
	void *stack;
	u32 flags;
	int on_cpu;
	struct sched_entity se;
	struct list_head tasks;
	struct mm_struct *mm;
	int exit_state;
	unsigned sched_reset_on_fork : 1, in_execve : 1;
	pid_t_ pid, tgid;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	struct list_head thread_node;
	void *worker_private;
	unsigned long nvcsw, nivcsw;
	u64 start_time, start_boottime;
	char comm[16];
	struct signal_struct *signal;
	struct css_set *cgroups;
	struct thread_struct thread;
};
struct maple_tree {
	union {
		u32 ma_lock;
		struct path_of_nobody *ma_external_lock;
	};
	void *ma_root;
};
struct mm_struct {
	struct {
		struct maple_tree mm_mt;
		unsigned long *pgd;
		int map_count;
		struct {
			u64 ctx_id;
			void *vdso;
		} context;
	} __attribute__((__aligned__(64)));
	unsigned long cpu_bitmap[];
};
struct kthread {
	unsigned long flags;
	int (*threadfn)(void *);
	char *full_name;
};
struct upid {
	int nr;
	void *ns;
};
struct pid {
	int count;
	u32 level;
	struct upid numbers[1];
};
struct css_set {
	struct cgroup_subsys_state *subsys[14];
	struct cgroup *dfl_cgrp;
};
struct cgroup_subsys_state {
	struct cgroup *cgroup;
	void *ss;
};
struct cgroup {
	u64 self[20];
	int level;
	struct kernfs_node *kn;
};
struct kernfs_node {
	int count, active;
	struct kernfs_node *parent;
	const char *name;
};
struct maple_range_64 {
	void *parent;
	unsigned long pivot[15];
	union {
		void *slot[16];
		struct {
			void *pad[15];
			u64 meta;
		};
	};
};
struct maple_arange_64 {
	void *parent;
	unsigned long pivot[9];
	void *slot[10];
	unsigned long gap[10];
};
struct file;
struct vm_area_struct {
	unsigned long vm_start, vm_end;
	struct mm_struct *vm_mm;
	union {
		const unsigned long vm_flags;
		unsigned long __vm_flags;
	};
	unsigned long vm_pgoff;
	struct file *vm_file;
};
struct vfsmount {
	struct dentry *mnt_root;
	void *mnt_sb;
};
struct mount {
	struct list_head mnt_hash;
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
};
struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};
struct qstr {
	union {
		struct {
			u32 hash, len;
		};
		u64 hash_len;
	};
	const unsigned char *name;
};
struct dentry {
	u32 d_flags;
	struct dentry *d_parent;
	struct qstr d_name;
};
struct xarray {
	u32 xa_lock;
	void *xa_head;
};
struct address_space {
	void *host;
	struct xarray i_pages;
};
struct file {
	struct path f_path;
	struct address_space *f_mapping;
};
struct xa_node {
	unsigned char shift, offset;
	void *slots[64];
};
struct page {
	unsigned long flags;
	union {
		struct {
			struct list_head lru;
			unsigned long index;
		};
		u64 pad[6];
	};
};
struct folio {
	union {
		struct {
			unsigned long flags;
			struct list_head lru;
			void *mapping;
			unsigned long index;
		};
		struct page page;
	};
};
struct module_layout {
	void *base;
	u32 size, text_size;
};
struct mod_kallsyms {
	void *symtab;
	u32 num_symtab;
	char *strtab;
};
struct mod_arch_specific {
	u32 num_orcs;
	int *orc_unwind_ip;
	void *orc_unwind;
};
struct module {
	int state;
	struct list_head list;
	char name[56];
	struct module_layout core_layout;
	struct mod_arch_specific arch;
	struct mod_kallsyms *kallsyms;
};

#endif
