/* SPDX-License-Identifier: GPL-2.0-or-later */
/* boot_events.c: see boot_events.h. */
#include "backend/bpf/boot_events.h"

#include "backend/bpf/programs.h"
#include "base/cleanup.h"

#include "backend/boot.skel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PORTS_SIZE (US_N_EXITS * US_BOOT_PORTS * sizeof(uint64_t))

struct us_boot_events {
	struct us_boot_programs *skeleton;
	struct us_boot_seen *seen;
	uint64_t *ports; /* accesses for each phase and port */
	enum us_bpf_host host;
};

static int keep_quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

/* Attach to KVM's functions, or to all system calls.  The former cost other processes
 * nothing, but not every kernel allows programs there. */
static void choose(struct us_boot_programs *s, bool functions)
{
	bpf_program__set_autoload(s->progs.on_vm, functions);
	bpf_program__set_autoload(s->progs.on_vcpu, functions);
	bpf_program__set_autoload(s->progs.on_run, functions);
	bpf_program__set_autoload(s->progs.on_call, !functions);
	bpf_program__set_autoload(s->progs.on_return, !functions);
}

static void tell_who_we_are(struct us_boot_programs *s)
{
	struct stat st = { 0 };
	(void)stat("/proc/self/ns/pid", &st);
	s->rodata->our_pid = (uint32_t)getpid();
	s->rodata->our_device = st.st_dev;
	s->rodata->our_inode = st.st_ino;
}

static int load(struct us_boot_events *b, bool functions)
{
	struct us_boot_programs *s = us_boot_programs__open();
	if (!s)
		return -errno;
	s->rodata->host_kind = b->host;
	tell_who_we_are(s);
	choose(s, functions);
	int r = us_boot_programs__load(s);
	if (r == 0) /* only this shows whether they may be attached there */
		r = us_boot_programs__attach(s);
	us_boot_programs__detach(s);
	if (r < 0)
		us_boot_programs__destroy(s);
	else
		b->skeleton = s;
	return r;
}

static size_t whole_pages(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	return (size + page - 1) / page * page;
}

static void *map(struct bpf_map *m, size_t size)
{
	void *p = mmap(NULL, whole_pages(size), PROT_READ | PROT_WRITE, MAP_SHARED,
		       bpf_map__fd(m), 0);
	return p == MAP_FAILED ? NULL : p;
}

static int map_both(struct us_boot_events *b)
{
	b->seen = map(b->skeleton->maps.seen, sizeof(*b->seen));
	b->ports = map(b->skeleton->maps.ports, PORTS_SIZE);
	return b->seen && b->ports ? 0 : -errno;
}

static int open_programs(struct us_boot_events *b)
{
	libbpf_print_fn_t before = libbpf_set_print(keep_quiet);
	int r = load(b, true);
	if (r < 0)
		r = load(b, false);
	libbpf_set_print(before);
	return r < 0 ? r : map_both(b);
}

int us_boot_events_open(struct us_boot_events **ret, struct us_err *e)
{
	int r = us_bpf_ready(e);
	*ret = NULL;
	if (r < 0)
		return r;
	struct us_boot_events *b = calloc(1, sizeof(*b));
	if (!b)
		return us_fail(e, -ENOMEM, "out of memory");
	b->host = us_bpf_host_kind(e);
	r = open_programs(b);
	if (r < 0) {
		us_boot_events_close(b);
		return us_fail(e, r, "load programs for KVM's tracepoints: %s",
			       strerror(-r));
	}
	*ret = b;
	return 0;
}

volatile struct us_boot_seen *us_boot_events_seen(struct us_boot_events *b)
{
	return b->seen;
}

static void empty_hash(int fd, void *key)
{
	while (!bpf_map_get_next_key(fd, NULL, key) && !bpf_map_delete_elem(fd, key))
		;
}

static void forget(struct us_boot_events *b)
{
	uint32_t process;
	struct us_boot_page page;
	empty_hash(bpf_map__fd(b->skeleton->maps.family), &process);
	empty_hash(bpf_map__fd(b->skeleton->maps.pages), &page);
	memset(b->ports, 0, PORTS_SIZE);
	memset(b->seen, 0, sizeof(*b->seen));
}

int us_boot_events_begin(struct us_boot_events *b, const struct us_boot_code *code,
			 struct us_err *e)
{
	forget(b);
	b->seen->code = *code;
	libbpf_print_fn_t before = libbpf_set_print(keep_quiet);
	int r = us_boot_programs__attach(b->skeleton);
	libbpf_set_print(before);
	return r < 0 ? us_fail(e, r, "attach programs to KVM's tracepoints: %s",
			       strerror(-r))
		     : 0;
}

void us_boot_events_end(struct us_boot_events *b)
{
	us_boot_programs__detach(b->skeleton);
}

bool us_boot_events_has_exits(const struct us_boot_events *b)
{
	return b->host != US_BPF_HOST_EMULATES;
}

enum us_exit_reason us_boot_events_reason(const struct us_boot_events *b, uint32_t code)
{
	if (b->host == US_BPF_HOST_SVM)
		return us_exit_of_svm(code);
	if (b->host == US_BPF_HOST_ARM64)
		return us_exit_of_arm64(code << 26);
	return us_exit_of_vmx(code);
}

/* ---- What the guest did most ---- */

struct most {
	struct us_boot_access *v;
	size_t n, max;
	uint64_t sum;
};

static void add(struct most *m, uint64_t address, uint64_t n)
{
	size_t i = m->n;
	m->sum += n;
	if (!n)
		return;
	if (m->n < m->max)
		m->n++;
	else if (!m->max || m->v[--i].n >= n)
		return;
	for (; i > 0 && m->v[i - 1].n < n; i--)
		m->v[i] = m->v[i - 1];
	m->v[i] = (struct us_boot_access){ .address = address, .n = n };
}

uint64_t us_boot_events_ports(struct us_boot_events *b, enum us_exit_phase phase,
			      struct us_boot_access *ret, size_t max)
{
	struct most m = { .v = ret, .max = max };
	for (uint32_t port = 0; port < US_BOOT_PORTS; port++)
		add(&m, port, b->ports[(size_t)phase * US_BOOT_PORTS + port]);
	return m.sum;
}

uint64_t us_boot_events_pages(struct us_boot_events *b, enum us_exit_phase phase,
			      struct us_boot_access *ret, size_t max)
{
	struct most m = { .v = ret, .max = max };
	int fd = bpf_map__fd(b->skeleton->maps.pages);
	struct us_boot_page key, *before = NULL;
	for (size_t i = 0; i < US_BOOT_PAGES; i++) {
		uint64_t n = 0;
		if (bpf_map_get_next_key(fd, before, &key))
			break;
		before = &key;
		if (key.phase == phase && !bpf_map_lookup_elem(fd, &key, &n))
			add(&m, key.gpa, n);
	}
	return m.sum;
}

void us_boot_events_close(struct us_boot_events *b)
{
	if (!b)
		return;
	if (b->seen)
		munmap(b->seen, whole_pages(sizeof(*b->seen)));
	if (b->ports)
		munmap(b->ports, whole_pages(PORTS_SIZE));
	us_boot_programs__destroy(b->skeleton);
	free(b);
}
