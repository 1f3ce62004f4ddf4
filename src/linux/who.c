/* SPDX-License-Identifier: GPL-2.0-or-later */
/* who.c: see who.h. */
#include "linux/who.h"

#include <stdio.h>
#include <string.h>

#define KERNEL_THREAD 0x00200000U /* include/linux/sched.h, PF_KTHREAD */
#define MOST_PID      (4U << 20)  /* include/linux/threads.h, PID_MAX_LIMIT */
#define MOST_LEVELS   32	  /* of pid namespaces: MAX_PID_NS_LEVEL */
#define MOST_GROUPS   12	  /* of cgroups, one in another */
#define GROUP_NAME    96
#define MOST_SUBSYS   16 /* of controllers: Linux has 14 */

/* --- where --- */

static bool at(const struct us_btf *b, const char *type, const char *path,
	       uint32_t *ret)
{
	struct us_btf_member m;
	if (!us_btf_path(b, type, path, &m))
		return false;
	*ret = m.offset;
	return true;
}

/* include/linux/pid.h: numbers[] has one for each namespace, the outermost first. */
static bool find_inner(const struct us_btf *b, struct us_linux_who_layout *l)
{
	l->numbers_size = us_btf_size(b, us_btf_struct(b, "upid"));
	return l->numbers_size && at(b, "task_struct", "thread_pid", &l->thread_pid) &&
	       at(b, "pid", "level", &l->level) &&
	       at(b, "pid", "numbers", &l->numbers) && at(b, "upid", "nr", &l->nr);
}

static bool find_cgroup(const struct us_btf *b, struct us_linux_who_layout *l)
{
	return at(b, "task_struct", "cgroups", &l->cgroups) &&
	       at(b, "css_set", "dfl_cgrp", &l->dfl_cgrp) &&
	       at(b, "cgroup", "kn", &l->kn) &&
	       at(b, "kernfs_node", "name", &l->kn_name) &&
	       (at(b, "kernfs_node", "parent", &l->kn_parent) ||
		at(b, "kernfs_node", "__parent", &l->kn_parent)); /* since 6.15 */
}

static bool find_controllers(const struct us_btf *b, struct us_linux_who_layout *l)
{
	struct us_btf_member m;
	if (!us_btf_path(b, "css_set", "subsys", &m) ||
	    !at(b, "cgroup_subsys_state", "cgroup", &l->css_cgroup) ||
	    !at(b, "cgroup", "level", &l->group_level))
		return false;
	l->subsys = m.offset;
	l->n_subsys = m.size / 8 < MOST_SUBSYS ? m.size / 8 : MOST_SUBSYS;
	return true;
}

static void find_current(const struct us_btf *b, const struct us_kallsyms *k,
			 struct us_linux_who_layout *l)
{
	uint32_t within = 0;
	l->per_cpu = us_kallsyms_address(k, "__per_cpu_offset");
	switch (l->arch) {
	case US_ARCH_X86_64:
		l->current = us_kallsyms_address(k, "current_task");
		if (!l->current && at(b, "pcpu_hot", "current_task", &within))
			l->current = us_kallsyms_address(k, "pcpu_hot");
		break;
	case US_ARCH_AARCH64: /* arch/arm64/kernel/process.c */
		l->current = us_kallsyms_address(k, "__entry_task");
		break;
	default:
		break;
	}
	if (l->current)
		l->current += within;
}

bool us_linux_who_layout(const struct us_btf *b, const struct us_kallsyms *k,
			 const struct us_linux_tasks_layout *t,
			 struct us_linux_who_layout *l)
{
	memset(l, 0, sizeof(*l));
	l->arch = t->arch;
	l->pid = t->pid;
	l->tgid = t->tgid;
	l->comm = t->comm;
	l->flags = t->flags;
	l->stack = t->stack;
	l->stack_size = t->stack_size;
	l->mm = t->mm;
	l->pgd = t->pgd;
	l->has_inner = find_inner(b, l);
	l->has_cgroup = find_cgroup(b, l);
	l->has_controllers = find_controllers(b, l);
	(void)at(b, "task_struct", "se.sum_exec_runtime", &l->runtime);
	find_current(b, k, l);
	return at(b, "task_struct", "group_leader", &l->leader) &&
	       (at(b, "task_struct", "start_boottime", &l->start) || /* since 5.5 */
		at(b, "task_struct", "real_start_time", &l->start));
}

/* --- what --- */

struct reader {
	const struct us_linux_who_layout *l;
	struct us_paging *p;
	const struct us_space *s;
};

static bool read_at(const struct reader *r, us_gva va, void *buf, size_t len)
{
	return va >> 63 && us_paging_read(r->p, r->s, va, buf, len);
}

static us_gva pointer_at(const struct reader *r, us_gva va)
{
	uint64_t v;
	return read_at(r, va, &v, sizeof(v)) && v >> 63 ? v : 0;
}

us_gva us_linux_current_at(const struct us_linux_who_layout *l, struct us_paging *p,
			   const struct us_space *s, unsigned cpu)
{
	const struct reader r = { l, p, s };
	uint64_t area = 0;
	if (l->per_cpu && !read_at(&r, l->per_cpu + 8ULL * cpu, &area, sizeof(area)))
		return 0;
	return l->current + area;
}

us_gva us_linux_current(const struct us_linux_who_layout *l, struct us_paging *p,
			const struct us_space *s, unsigned cpu)
{
	const struct reader r = { l, p, s };
	us_gva at = us_linux_current_at(l, p, s, cpu);
	return at ? pointer_at(&r, at) : 0;
}

/* What distinguishes a thread from all others, and from itself with another name. */
struct key {
	uint32_t pid, tgid;
	uint64_t started_ns;
	char comm[US_LINUX_COMM];
};

static bool read_key(const struct reader *r, us_gva task, struct key *k)
{
	const struct us_linux_who_layout *l = r->l;
	bool both = l->tgid == l->pid + 4; /* one read for both */
	memset(k, 0, sizeof(*k));
	return read_at(r, task + l->pid, &k->pid, both ? 8 : 4) &&
	       (both || read_at(r, task + l->tgid, &k->tgid, 4)) &&
	       read_at(r, task + l->start, &k->started_ns, 8) &&
	       read_at(r, task + l->comm, k->comm, US_LINUX_COMM - 1);
}

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0xd6e8feb86659fd93;
	return h ^ h >> 32;
}

static uint64_t id_of(const struct key *k)
{
	uint64_t word[2], h = mix((uint64_t)k->pid << 32 | k->tgid, k->started_ns);
	size_t n = strnlen(k->comm, sizeof(k->comm));
	char comm[US_LINUX_COMM] = "";
	memcpy(comm, k->comm, n); /* without the rest of an earlier name */
	memcpy(word, comm, sizeof(word));
	h = mix(mix(h, word[0]), word[1]) & ~(1ULL << 63);
	return h ? h : 1;
}

uint64_t us_linux_who_id(const struct us_linux_who_layout *l, struct us_paging *p,
			 const struct us_space *s, us_gva task)
{
	const struct reader r = { l, p, s };
	struct key k;
	return read_key(&r, task, &k) ? id_of(&k) : 0;
}

us_gva us_linux_who_stack(const struct us_linux_who_layout *l, struct us_paging *p,
			  const struct us_space *s, us_gva task)
{
	const struct reader r = { l, p, s };
	return pointer_at(&r, task + l->stack);
}

us_gpa us_linux_who_root(const struct us_linux_who_layout *l, struct us_paging *p,
			 const struct us_space *s, us_gva task)
{
	const struct reader r = { l, p, s };
	us_gva mm = pointer_at(&r, task + l->mm);
	us_gva pgd = mm ? pointer_at(&r, mm + l->pgd) : 0;
	us_gpa root = 0;
	return pgd && us_paging_translate(p, s, pgd, &root, NULL) ? root : 0;
}

uint64_t us_linux_who_runtime(const struct us_linux_who_layout *l, struct us_paging *p,
			      const struct us_space *s, us_gva task)
{
	const struct reader r = { l, p, s };
	uint64_t ns;
	return l->runtime && read_at(&r, task + l->runtime, &ns, sizeof(ns)) ? ns : 0;
}

static uint32_t read_inner(const struct reader *r, us_gva task)
{
	const struct us_linux_who_layout *l = r->l;
	us_gva pid = l->has_inner ? pointer_at(r, task + l->thread_pid) : 0;
	uint32_t level, nr;
	if (!pid || !read_at(r, pid + l->level, &level, sizeof(level)) || !level ||
	    level > MOST_LEVELS ||
	    !read_at(r, pid + l->numbers + level * l->numbers_size + l->nr, &nr,
		     sizeof(nr)))
		return 0;
	return nr;
}

/* Put a name before what is already there; false: it is full. */
static bool prepend(char *path, size_t size, const char *name)
{
	size_t have = strlen(path), n = strlen(name);
	if (have + n + 2 > size)
		return false;
	memmove(path + n + 1, path, have + 1);
	path[0] = '/';
	memcpy(path + 1, name, n);
	return true;
}

/* A name may end right before a page that is not mapped. */
static bool read_name(const struct reader *r, us_gva at_name, char *ret, size_t size)
{
	size_t page = 4096 - (at_name & 4095), n = size - 1 < page ? size - 1 : page;
	memset(ret, 0, size);
	if (!at_name || !read_at(r, at_name, ret, n))
		return false;
	return strlen(ret) == n && n < size - 1
		       ? read_at(r, at_name + n, ret + n, size - 1 - n)
		       : true;
}

/*
 * The innermost group that a task is in.  With cgroup v2, it is the one of the default
 * hierarchy, and those of controllers are that or around it.  With v1, each controller
 * may have its own hierarchy, and the default one is not used; or systemd uses it, and
 * what it started puts its containers only into those of v1, maybe at the same level.
 */
static us_gva find_group(const struct reader *r, us_gva set)
{
	const struct us_linux_who_layout *l = r->l;
	us_gva first = pointer_at(r, set + l->dfl_cgrp), group = first;
	uint64_t css[MOST_SUBSYS];
	uint32_t most = 0, level;
	if (!l->has_controllers ||
	    !read_at(r, set + l->subsys, css, 8 * (size_t)l->n_subsys) ||
	    (group && !read_at(r, group + l->group_level, &most, sizeof(most))))
		return group;
	for (unsigned k = 0; k < l->n_subsys; k++) {
		us_gva own = css[k] >> 63 ? pointer_at(r, css[k] + l->css_cgroup) : 0;
		if (!own || own == group ||
		    !read_at(r, own + l->group_level, &level, sizeof(level)) ||
		    level < most || (level == most && group != first))
			continue;
		group = own;
		most = level;
	}
	return group;
}

/* From the innermost outwards to the one without a name, which is the root. */
static void read_cgroup(const struct reader *r, us_gva task, char *ret, size_t size)
{
	const struct us_linux_who_layout *l = r->l;
	char name[GROUP_NAME];
	ret[0] = '\0';
	if (!l->has_cgroup)
		return;
	us_gva set = pointer_at(r, task + l->cgroups);
	us_gva group = set ? find_group(r, set) : 0;
	us_gva node = group ? pointer_at(r, group + l->kn) : 0;
	for (unsigned n = 0; node && n < MOST_GROUPS; n++) {
		us_gva parent = pointer_at(r, node + l->kn_parent);
		if (!parent)
			return;
		if (!read_name(r, pointer_at(r, node + l->kn_name), name,
			       sizeof(name)) ||
		    !prepend(ret, size, name))
			return;
		node = parent;
	}
}

bool us_linux_who_read(const struct us_linux_who_layout *l, struct us_paging *p,
		       const struct us_space *s, us_gva task, struct us_linux_who *ret)
{
	const struct reader r = { l, p, s };
	struct key k;
	uint32_t flags;
	memset(ret, 0, sizeof(*ret));
	us_gva leader = pointer_at(&r, task + l->leader);
	if (!leader || !read_key(&r, task, &k) ||
	    !read_at(&r, task + l->flags, &flags, sizeof(flags)) ||
	    !read_at(&r, leader + l->comm, ret->process, US_LINUX_COMM - 1))
		return false;
	ret->id = id_of(&k);
	ret->at = task;
	ret->stack = us_linux_who_stack(l, p, s, task);
	ret->root = us_linux_who_root(l, p, s, task);
	ret->started_ns = k.started_ns;
	ret->pid = k.pid;
	ret->tgid = k.tgid;
	ret->kernel_thread = flags & KERNEL_THREAD;
	memcpy(ret->comm, k.comm, sizeof(ret->comm));
	ret->inner = read_inner(&r, task);
	read_cgroup(&r, task, ret->cgroup, sizeof(ret->cgroup));
	return ret->stack != 0;
}

static bool is_text(const char *comm)
{
	for (; *comm; comm++)
		if (*comm < ' ')
			return false;
	return true;
}

/* A stack begins where a page does, and a process is its own leader. */
bool us_linux_who_fits(const struct us_linux_who_layout *l, struct us_paging *p,
		       const struct us_space *s)
{
	const struct reader r = { l, p, s };
	us_gva task = us_linux_current(l, p, s, 0);
	us_gva leader = task ? pointer_at(&r, task + l->leader) : 0;
	struct us_linux_who who;
	if (!task)
		return true;
	return us_linux_who_read(l, p, s, task, &who) && who.pid <= MOST_PID &&
	       who.tgid <= MOST_PID && who.stack % 4096 == 0 && is_text(who.comm) &&
	       pointer_at(&r, leader + l->leader) == leader;
}

/* --- of a copy --- */

enum part {
	PART_PID,
	PART_TGID, /* if PART_PID does not include it */
	PART_START,
	PART_COMM,
	PART_STACK,
	PART_FLAGS, /* if PART_STACK does not include it */
	PART_LEADER,
	PART_PROCESS, /* the leader's comm */
	PART_MM,      /* kernel threads have none */
	PART_PGD,
	N_PART,
};

#define PART_BYTES (8 * US_POINTED_WORDS)

_Static_assert(N_PART <= US_POINTED_PARTS && US_LINUX_COMM <= PART_BYTES,
	       "all parts fit");

/* Is it in the part that begins at the other one? */
static bool follows(uint32_t first, uint32_t second)
{
	return second >= first && second - first <= PART_BYTES - 4;
}

void us_linux_who_plan(const struct us_linux_who_layout *l, struct us_pointed_plan *ret)
{
	*ret = (struct us_pointed_plan){
		.number = ret->number,
		.n = N_PART,
		.part = {
			[PART_PID] = { .offset = l->pid },
			[PART_TGID] = { .offset = l->tgid },
			[PART_START] = { .offset = l->start },
			[PART_COMM] = { .offset = l->comm },
			[PART_STACK] = { .offset = l->stack },
			[PART_FLAGS] = { .offset = l->flags },
			[PART_LEADER] = { .offset = l->leader },
			[PART_PROCESS] = { .offset = l->comm, .of = PART_LEADER + 1 },
			[PART_MM] = { .offset = l->mm },
			[PART_PGD] = { .offset = l->pgd, .of = PART_MM + 1 },
		},
	};
	if (follows(l->pid, l->tgid))
		ret->part[PART_TGID].of = US_POINTED_NOT;
	if (follows(l->stack, l->flags))
		ret->part[PART_FLAGS].of = US_POINTED_NOT;
}

static bool has_all(const struct us_linux_who_layout *l, const struct us_pointed *of)
{
	uint32_t needed = (1U << PART_PGD) - 1;
	if (follows(l->pid, l->tgid))
		needed &= ~(1U << PART_TGID);
	if (follows(l->stack, l->flags))
		needed &= ~(1U << PART_FLAGS);
	return (of->has & needed) == needed && of->at >> 63;
}

static uint32_t number_in(const struct us_pointed *of, enum part n, uint32_t offset)
{
	uint32_t v;
	memcpy(&v, (const uint8_t *)of->part[n] + offset, sizeof(v));
	return v;
}

/* A member that the part before may include. */
static uint32_t second_in(const struct us_pointed *of, enum part n, uint32_t first,
			  uint32_t second)
{
	return follows(first, second) ? number_in(of, n - 1, second - first)
				      : number_in(of, n, 0);
}

static void text_in(const struct us_pointed *of, enum part n, char ret[US_LINUX_COMM])
{
	memcpy(ret, of->part[n], US_LINUX_COMM - 1);
	ret[US_LINUX_COMM - 1] = '\0';
}

/* false: it has page tables, but which is not known. */
static bool root_of_copy(struct us_paging *p, const struct us_space *s,
			 const struct us_pointed *of, us_gpa *ret)
{
	*ret = 0;
	if (!of->part[PART_MM][0])
		return true;
	us_gva pgd = of->has >> PART_PGD & 1 ? of->part[PART_PGD][0] : 0;
	return pgd >> 63 && us_paging_translate(p, s, pgd, ret, NULL);
}

bool us_linux_who_pointed(const struct us_linux_who_layout *l, struct us_paging *p,
			  const struct us_space *s, const struct us_pointed *of,
			  struct us_linux_who *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (!has_all(l, of) || !root_of_copy(p, s, of, &ret->root))
		return false;
	struct key k = { .pid = number_in(of, PART_PID, 0),
			 .tgid = second_in(of, PART_TGID, l->pid, l->tgid),
			 .started_ns = of->part[PART_START][0] };
	text_in(of, PART_COMM, k.comm);
	text_in(of, PART_PROCESS, ret->process);
	memcpy(ret->comm, k.comm, sizeof(ret->comm));
	ret->id = id_of(&k);
	ret->at = of->at;
	ret->stack = of->part[PART_STACK][0];
	ret->started_ns = k.started_ns;
	ret->pid = k.pid;
	ret->tgid = k.tgid;
	ret->kernel_thread = second_in(of, PART_FLAGS, l->stack, l->flags) &
			     KERNEL_THREAD;
	return ret->stack >> 63;
}

void us_linux_who_complete(const struct us_linux_who_layout *l, struct us_paging *p,
			   const struct us_space *s, struct us_linux_who *who)
{
	const struct reader r = { l, p, s };
	who->inner = read_inner(&r, who->at);
	read_cgroup(&r, who->at, who->cgroup, sizeof(who->cgroup));
	/* Check this last: what was read belongs to the thread if it is still there. */
	if (us_linux_who_id(l, p, s, who->at) == who->id)
		return;
	who->inner = 0;
	snprintf(who->cgroup, sizeof(who->cgroup), "%s", US_LINUX_CGROUP_UNKNOWN);
}

bool us_linux_is_root(enum us_arch arch, us_gpa root, us_gpa of)
{
	us_gpa ignored = arch == US_ARCH_X86_64 ? US_ROOT_OF_USER : 0;
	return of && ((root ^ of) & US_ROOT_MASK & ~ignored) == 0;
}
