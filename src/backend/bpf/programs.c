/* SPDX-License-Identifier: GPL-2.0-or-later */
/* programs.c: see programs.h. */
#include "backend/bpf/programs.h"

#include "backend/bpf/kernel_fit.h"
#include "backend/bpf/rights.h"
#include "backend/bpf/sample.h"
#include "backend/bpf/vmx.h"
#include "base/cleanup.h"
#include "vmm/host.h"

#include "backend/programs.skel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/capability.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

/* The process has only one printer for libbpf, and the iterators have one buffer. */
static pthread_mutex_t setup = PTHREAD_MUTEX_INITIALIZER;

#define LAST_WORDS 240
#define ONE_TAKEN  (-ECANCELED) /* a callback returns this to stop after one sample */

struct us_bpf_programs {
	struct us_programs *skeleton;
	struct ring_buffer *ring;
	struct us_bpf_row *rows;
	struct us_bpf_guest *guests;
	size_t rows_size, guests_size;
	struct us_bpf_sample *to; /* of the current us_bpf_take() */
	bool taken;
	struct us_bpf_host_sample *host; /* the last one of each row; NULL: not kept */
	uint32_t n_host;
};

/* --- what the host is --- */

static int refuse_no_btf(struct us_err *why)
{
	us_fail(why, -EOPNOTSUPP,
		"this kernel's type information, /sys/kernel/btf/vmlinux, cannot be "
		"read");
	us_hint(why, "boot a kernel with CONFIG_DEBUG_INFO_BTF=y");
	return -EOPNOTSUPP;
}

enum us_bpf_host us_bpf_host_kind(struct us_err *why)
{
	static const struct {
		const char *module;
		enum us_bpf_host kind;
	} kinds[] = { { "kvm_intel", US_BPF_HOST_VMX },
		      { "kvm_amd", US_BPF_HOST_SVM },
		      { "kvm_pvm", US_BPF_HOST_EMULATES },
		      { "kvm", US_BPF_HOST_ARM64 } };
	struct us_host h;
	us_host_read(&h);
	if (access("/sys/kernel/btf/vmlinux", R_OK)) {
		refuse_no_btf(why);
		return US_BPF_HOST_UNKNOWN;
	}
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(h.kvm, kinds[i].module))
			return kinds[i].kind;
	us_fail(why, -EOPNOTSUPP,
		"uniscope does not know how %s stores guest registers",
		h.kvm[0] ? h.kvm : "this host's KVM");
	return US_BPF_HOST_UNKNOWN;
}

static int refuse_lockdown(struct us_err *why)
{
	char text[64] = "";
	FILE *f = fopen("/sys/kernel/security/lockdown", "re");
	if (f && !fgets(text, sizeof(text), f))
		text[0] = '\0';
	if (f)
		fclose(f);
	if (!strstr(text, "[confidentiality]"))
		return 0;
	return us_fail(why, -EPERM,
		       "this kernel is locked down (confidentiality): BPF programs "
		       "cannot read its memory");
}

/* The kernel remains the same, and to look takes milliseconds. */
static struct {
	pthread_once_t once;
	int code;
	struct us_err why;
} fit = { .once = PTHREAD_ONCE_INIT };

static void look_at_kernel(void)
{
	fit.code = us_bpf_kernel_fits("/sys/kernel", &fit.why);
}

static int refuse_kernel(struct us_err *why)
{
	pthread_once(&fit.once, look_at_kernel);
	if (fit.code < 0 && why)
		*why = fit.why;
	return fit.code;
}

static int refuse_rights(struct us_err *why)
{
	struct us_bpf_rights has = { .admin = us_host_capable(CAP_SYS_ADMIN),
				     .bpf = us_host_capable(CAP_BPF),
				     .perfmon = us_host_capable(CAP_PERFMON) };
	struct us_host h;
	us_host_read(&h);
	return us_bpf_check_rights(&has, "/sys/kernel", h.kvm, why);
}

int us_bpf_ready(struct us_err *why)
{
	int r = refuse_rights(why);
	if (r < 0)
		return r;
	if (us_bpf_host_kind(why) == US_BPF_HOST_UNKNOWN)
		return -EOPNOTSUPP;
	r = refuse_kernel(why);
	return r < 0 ? r : refuse_lockdown(why);
}

/* --- load --- */

/* libbpf reports what went wrong line by line; the last ones matter. */
static __thread char last_words[LAST_WORDS];

static int __attribute__((__format__(__printf__, 2, 0)))
hear(enum libbpf_print_level level, const char *format, va_list args)
{
	char line[1024];
	if (level == LIBBPF_DEBUG)
		return 0;
	vsnprintf(line, sizeof(line), format, args);
	/* The verifier's log comes as one text of many lines; its end says why. */
	size_t len = strlen(line);
	while (len && (line[len - 1] == '\n' || line[len - 1] == ' '))
		line[--len] = '\0';
	const char *from = len >= LAST_WORDS ? line + len - LAST_WORDS + 1 : line;
	if (!last_words[0] && *from)
		snprintf(last_words, sizeof(last_words), "%.*s", LAST_WORDS - 1, from);
	return 0;
}

/* The last line of the verifier's log that gives a reason. */
static void verdict_of(const char *log, char *ret, size_t size)
{
	const char *end = log + strlen(log), *best = NULL;
	size_t best_len = 0;
	while (end > log && !best) {
		const char *line = end;
		while (line > log && line[-1] != '\n')
			line--;
		size_t len = (size_t)(end - line);
		if (len && strncmp(line, "processed ", 10)) {
			best = line;
			best_len = len;
		}
		end = line > log ? line - 1 : log;
	}
	snprintf(ret, size, "%.*s", (int)(best_len < size ? best_len : size - 1),
		 best ? best : "");
}

static int explain_load(int code, const char *log, struct us_err *e)
{
	struct utsname name = { 0 };
	char verdict[LAST_WORDS] = "";
	uname(&name);
	verdict_of(log, verdict, sizeof(verdict));
	us_fail(e, code, "load programs into Linux %s: %s%s%s", name.release,
		strerror(-code), verdict[0] || last_words[0] ? ": " : "",
		verdict[0] ? verdict : last_words);
	if (code == -EPERM)
		us_hint(e, us_host_capable(CAP_SYS_ADMIN) ? "run uniscope with sudo"
							  : US_BPF_RIGHTS_HINT);
	return code;
}

#define LOG_SIZE (1U << 20)

/* libbpf refuses options if bytes behind the last member are not 0.  LIBBPF_OPTS copies
 * a literal over them, whose padding may contain anything (gcc -O0). */
#define OPTIONS(type, name)                                                            \
	struct type name;                                                              \
	memset(&name, 0, sizeof(name));                                                \
	name.sz = sizeof(name)

static int load(struct us_bpf_programs *p, enum us_bpf_host kind, const char *types,
		struct us_err *e)
{
	_cleanup_free_ char *log = calloc(1, LOG_SIZE);
	if (!log)
		return us_fail(e, -ENOMEM, "load programs: out of memory");
	OPTIONS(bpf_object_open_opts, opts);
	opts.kernel_log_buf = log;
	opts.kernel_log_size = LOG_SIZE;
	opts.btf_custom_path = types;
	last_words[0] = '\0';
	libbpf_print_fn_t before = libbpf_set_print(hear);
	int r = -EINVAL;
	struct us_programs *s = us_programs__open_opts(&opts);
	p->skeleton = s;
	if (s) {
		s->rodata->host_kind = kind;
		s->rodata->shadow_paging = us_bpf_shadow_paging();
		s->rodata->page_shift = (uint32_t)__builtin_ctzl(
			(unsigned long)sysconf(_SC_PAGESIZE));
		r = us_programs__load(s);
	} else if (errno) {
		r = -errno;
	}
	libbpf_set_print(before);
	return r ? explain_load(r, log, e) : 0;
}

static size_t whole_pages(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	return (size + page - 1) / page * page;
}

static void *map_array(struct bpf_map *m, size_t *ret_size)
{
	size_t one = (bpf_map__value_size(m) + 7U) / 8 * 8;
	*ret_size = whole_pages(one * bpf_map__max_entries(m));
	void *at = mmap(NULL, *ret_size, PROT_READ | PROT_WRITE, MAP_SHARED,
			bpf_map__fd(m), 0);
	return at == MAP_FAILED ? NULL : at;
}

static int keep_sample(void *ctx, void *data, size_t size);

static int share(struct us_bpf_programs *p, struct us_err *e)
{
	struct us_programs *s = p->skeleton;
	p->rows = map_array(s->maps.rows, &p->rows_size);
	p->guests = map_array(s->maps.guests, &p->guests_size);
	p->ring = ring_buffer__new(bpf_map__fd(s->maps.ring), keep_sample, p, NULL);
	if (p->rows && p->guests && p->ring)
		return 0;
	return us_fail(e, -ENOMEM, "map the programs' shared memory: %s",
		       strerror(errno));
}

int us_bpf_load(struct us_bpf_programs **ret, struct us_err *e)
{
	enum us_bpf_host kind = us_bpf_host_kind(e);
	if (kind == US_BPF_HOST_UNKNOWN)
		return -EOPNOTSUPP;
	return us_bpf_load_as(kind, NULL, ret, e);
}

int us_bpf_load_as(enum us_bpf_host kind, const char *types,
		   struct us_bpf_programs **ret, struct us_err *e)
{
	struct us_bpf_programs *p = calloc(1, sizeof(*p));
	if (!p)
		return us_fail(e, -ENOMEM, "load programs: out of memory");
	pthread_mutex_lock(&setup);
	int r = load(p, kind, types, e);
	pthread_mutex_unlock(&setup);
	if (!r)
		r = share(p, e);
	if (r < 0) {
		us_bpf_unload(p);
		return r;
	}
	*ret = p;
	return 0;
}

void us_bpf_unload(struct us_bpf_programs *p)
{
	if (!p)
		return;
	ring_buffer__free(p->ring);
	if (p->rows)
		munmap(p->rows, p->rows_size);
	if (p->guests)
		munmap(p->guests, p->guests_size);
	us_programs__destroy(p->skeleton);
	free(p->host);
	free(p);
}

struct us_bpf_row *us_bpf_rows(struct us_bpf_programs *p)
{
	return p->rows;
}

struct us_bpf_guest *us_bpf_guests(struct us_bpf_programs *p)
{
	return p->guests;
}

/* --- attach --- */

int us_bpf_attach(struct us_bpf_programs *p, int event_fd, uint32_t row,
		  struct us_bpf_link **ret, struct us_err *e)
{
	OPTIONS(bpf_perf_event_opts, opts);
	opts.bpf_cookie = row;
	pthread_mutex_lock(&setup);
	last_words[0] = '\0';
	libbpf_print_fn_t before = libbpf_set_print(hear);
	struct bpf_link *l = bpf_program__attach_perf_event_opts(
		row == US_BPF_NO_ROW ? p->skeleton->progs.empty
				     : p->skeleton->progs.tick,
		event_fd, &opts);
	int code = l ? 0 : -errno;
	libbpf_set_print(before);
	pthread_mutex_unlock(&setup);
	if (!l)
		return us_fail(e, code, "attach to the timer of a vCPU thread: %s",
			       last_words[0] ? last_words : strerror(-code));
	*ret = (struct us_bpf_link *)l;
	return 0;
}

void us_bpf_detach(struct us_bpf_link *l)
{
	if (l)
		bpf_link__destroy((struct bpf_link *)l);
}

/* --- iterators --- */

/* A file descriptor to read from. */
static int open_iterator(struct bpf_program *program, pid_t pid, struct us_err *e)
{
	union bpf_iter_link_info info;
	memset(&info, 0, sizeof(info));
	info.task.tid = (__u32)pid;
	OPTIONS(bpf_iter_attach_opts, opts);
	opts.link_info = &info;
	opts.link_info_len = sizeof(info);
	last_words[0] = '\0';
	libbpf_print_fn_t before = libbpf_set_print(hear);
	struct bpf_link *l = bpf_program__attach_iter(program, &opts);
	int fd = l ? bpf_iter_create(bpf_link__fd(l)) : -errno;
	int code = l && fd < 0 ? -errno : fd;
	libbpf_set_print(before);
	bpf_link__destroy(l);
	if (code < 0)
		return us_fail(e, code, "inspect the files of pid %d: %s", pid,
			       last_words[0] ? last_words : strerror(-code));
	return fd;
}

/* Read what the program writes for a process's files: records of a fixed size. */
static int iterate(struct us_bpf_programs *p, struct bpf_program *program, pid_t pid,
		   void *to, size_t size, size_t max, struct us_err *e)
{
	p->skeleton->bss->files_of = pid;
	_cleanup_close_ int fd = open_iterator(program, pid, e);
	if (fd < 0)
		return fd;
	size_t done = 0;
	for (;;) {
		ssize_t n = read(fd, (char *)to + done, size * max - done);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < 0)
			return us_fail(e, -errno, "inspect the files of pid %d: %s",
				       pid, strerror(errno));
		done += (size_t)n;
		if (n == 0 || done == size * max)
			return (int)(done / size);
	}
}

int us_bpf_find_vcpus(struct us_bpf_programs *p, pid_t pid,
		      struct us_bpf_found_vcpu *ret, size_t max, struct us_err *e)
{
	pthread_mutex_lock(&setup);
	int n = iterate(p, p->skeleton->progs.find_vcpus, pid, ret, sizeof(*ret), max,
			e);
	pthread_mutex_unlock(&setup);
	return n;
}

int us_bpf_find_slots(struct us_bpf_programs *p, pid_t pid, uint64_t vcpu,
		      struct us_bpf_found_slot *ret, size_t max, struct us_err *e)
{
	pthread_mutex_lock(&setup);
	p->skeleton->bss->slots_of = vcpu;
	int n = iterate(p, p->skeleton->progs.find_slots, pid, ret, sizeof(*ret), max,
			e);
	pthread_mutex_unlock(&setup);
	return n;
}

/* --- the ring --- */

int us_bpf_keep_hosts(struct us_bpf_programs *p, uint32_t n_row)
{
	if (p->n_host >= n_row)
		return 0;
	struct us_bpf_host_sample *host = calloc(n_row, sizeof(*host));
	if (!host)
		return -ENOMEM;
	free(p->host);
	p->host = host;
	p->n_host = n_row;
	return 0;
}

const struct us_bpf_host_sample *us_bpf_host_of(const struct us_bpf_programs *p,
						const struct us_bpf_sample *l)
{
	if (!(l->flags & US_BPF_HAS_HOST) || l->row >= p->n_host)
		return NULL;
	const struct us_bpf_host_sample *h = &p->host[l->row];
	return h->t_ns == l->t_ns && h->row == l->row ? h : NULL;
}

/* It arrives before the sample that it belongs to. */
static void keep_host(struct us_bpf_programs *p, const struct us_bpf_host_sample *h)
{
	if (h->row < p->n_host && h->n_kernel <= US_BPF_HOST_FRAMES &&
	    h->n_bytes <= US_BPF_HOST_BYTES)
		p->host[h->row] = *h;
}

static int keep_sample(void *ctx, void *data, size_t size)
{
	struct us_bpf_programs *p = ctx;
	const struct us_bpf_host_sample *h = data;
	if (size == sizeof(*h) && !h->no_sample) {
		keep_host(p, h);
		return 0;
	}
	if (!us_bpf_sample_fits(data, size))
		return 0;
	memcpy(p->to, data, size);
	p->taken = true;
	return ONE_TAKEN;
}

bool us_bpf_take(struct us_bpf_programs *p, struct us_bpf_sample *to)
{
	p->to = to;
	p->taken = false;
	ring_buffer__consume(p->ring);
	return p->taken;
}

int us_bpf_ring_fd(const struct us_bpf_programs *p)
{
	return ring_buffer__epoll_fd(p->ring);
}

int us_bpf_run_time(const struct us_bpf_programs *p, bool empty, uint64_t *ret_runs,
		    uint64_t *ret_ns)
{
	struct bpf_prog_info info = { 0 };
	__u32 size = sizeof(info);
	const struct bpf_program *program = empty ? p->skeleton->progs.empty
						  : p->skeleton->progs.tick;
	if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size))
		return -errno;
	*ret_runs = info.run_cnt;
	*ret_ns = info.run_time_ns;
	return 0;
}
