/* SPDX-License-Identifier: GPL-2.0-or-later */
/* qemu_cmdline.c: the command line of QEMU (qemu-options.hx), see cmdline.h. */
#include "vmm/cmdline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB (1ULL << 20)

/* Options that take no argument; all others take one.  Determined with QEMU 7.2, and
 * those that older and newer versions have. */
static const char *const flags[] = {
	"S",
	"alt-grab",
	"async-teardown",
	"audio-help",
	"ctrl-grab",
	"curses",
	"daemonize",
	"enable-fips",
	"enable-kvm",
	"full-screen",
	"h",
	"help",
	"jitdump",
	"localtime",
	"mem-prealloc",
	"no-acpi",
	"no-fd-bootchk",
	"no-frame",
	"no-hpet",
	"no-kvm",
	"no-kvm-irqchip",
	"no-kvm-pit",
	"no-kvm-pit-reinjection",
	"no-quit",
	"no-reboot",
	"no-shutdown",
	"no-user-config",
	"nodefaults",
	"nodefconfig",
	"nographic",
	"old-param",
	"only-migratable",
	"perfmap",
	"portrait",
	"preconfig",
	"rtc-td-hack",
	"s",
	"sdl",
	"semihosting",
	"show-cursor",
	"singlestep",
	"snapshot",
	"std-vga",
	"tdf",
	"usb",
	"version",
	"win2k-hack",
	"xen-attach",
	"xen-create",
	"xen-domid-restrict",
	"enable-sync-profile",
};

static bool is_flag(const char *name)
{
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++)
		if (!strcmp(flags[i], name))
			return true;
	return false;
}

/* A walk over the options: "-name value", "--name value", "-flag", a disk image, which
 * has no name. */
struct walk {
	const char *const *argv;
	unsigned argc, at;
	const char *name, *value; /* value "" of a flag */
};

static bool walk_next(struct walk *w)
{
	while (w->at < w->argc) {
		const char *a = w->argv[w->at++];
		if (a[0] != '-' || !a[1]) {
			w->name = "";
			w->value = a;
			return true;
		}
		w->name = a + (a[1] == '-' ? 2 : 1);
		w->value = "";
		if (is_flag(w->name))
			return true;
		if (w->at == w->argc)
			return false;
		w->value = w->argv[w->at++];
		return true;
	}
	return false;
}

static bool is_on(const char *text, const char *implied, const char *key)
{
	char v[8];
	return us_option_get(text, implied, key, v, sizeof(v)) &&
	       (!strcmp(v, "on") || !strcmp(v, "yes") || !strcmp(v, "true") ||
		!strcmp(v, "y"));
}

/* Convert an address to listen at to one to connect to.  false: that is not
 * possible. */
static bool tcp_endpoint(const char *host, const char *port, char *ret)
{
	if (!*port || strlen(port) > 5 || strspn(port, "0123456789") != strlen(port) ||
	    atoi(port) == 0)
		return false;
	if (!*host || !strcmp(host, "0.0.0.0") || !strcmp(host, "*"))
		host = "127.0.0.1";
	else if (!strcmp(host, "::") || !strcmp(host, "[::]"))
		host = "[::1]";
	bool bare_v6 = host[0] != '[' && strchr(host, ':');
	int n = snprintf(ret, US_ENDPOINT_SIZE, bare_v6 ? "[%s]:%s" : "%s:%s", host,
			 port);
	return n > 0 && n < US_ENDPOINT_SIZE - 4;
}

/* Does the connection carry something other than plain text? */
static bool is_wrapped(const char *opts, const char *implied)
{
	char v[64];
	return is_on(opts, implied, "websocket") || is_on(opts, implied, "telnet") ||
	       is_on(opts, implied, "tn3270") ||
	       us_option_get(opts, implied, "tls-creds", v, sizeof(v));
}

static bool unix_endpoint(const char *opts, char *ret)
{
	/* Leave room for "qmp:" before it. */
	return us_option_get(opts, "path", "path", ret, US_ENDPOINT_SIZE - 4) && *ret &&
	       !is_on(opts, "path", "abstract") && !is_wrapped(opts, "path");
}

static bool socket_endpoint(const char *opts, char *ret)
{
	char host[64] = "", port[16];
	if (us_option_get(opts, "backend", "path", ret, US_ENDPOINT_SIZE - 4))
		return *ret && !is_on(opts, "backend", "abstract");
	us_option_get(opts, "backend", "host", host, sizeof(host));
	return us_option_get(opts, "backend", "port", port, sizeof(port)) &&
	       tcp_endpoint(host, port, ret);
}

/* The socket that -chardev socket,id=ID,... listens on. */
static bool chardev_endpoint(const struct walk *all, const char *id, char *ret)
{
	struct walk w = { .argv = all->argv, .argc = all->argc };
	while (walk_next(&w)) {
		char v[64];
		if (strcmp(w.name, "chardev") ||
		    !us_option_get(w.value, "backend", "id", v, sizeof(v)) ||
		    strcmp(v, id))
			continue;
		return us_option_get(w.value, "backend", "backend", v, sizeof(v)) &&
		       !strcmp(v, "socket") && is_on(w.value, "backend", "server") &&
		       !is_wrapped(w.value, "backend") && socket_endpoint(w.value, ret);
	}
	return false;
}

/*
 * A character device in its short form (qemu_chr_parse_compat): "unix:PATH,...",
 * "tcp:HOST:PORT,...", "chardev:ID".  Only one that listens is of use.
 */
static bool short_endpoint(const struct walk *w, const char *dev, bool listens,
			   char *ret)
{
	if (!strncmp(dev, "chardev:", 8))
		return chardev_endpoint(w, dev + 8, ret);
	if (!strncmp(dev, "unix:", 5))
		return (listens || is_on(dev + 5, "path", "server")) &&
		       unix_endpoint(dev + 5, ret);
	if (strncmp(dev, "tcp:", 4))
		return false;
	dev += 4;
	const char *options = dev + strcspn(dev, ",");
	size_t n = (size_t)(options - dev);
	char addr[US_ENDPOINT_SIZE];
	if (n >= sizeof(addr) ||
	    !(listens || (*options && is_on(options + 1, NULL, "server"))))
		return false;
	if (*options && is_wrapped(options + 1, NULL))
		return false;
	memcpy(addr, dev, n);
	addr[n] = '\0';
	char *colon = strrchr(addr, ':');
	if (!colon)
		return false;
	*colon = '\0';
	return tcp_endpoint(addr, colon + 1, ret);
}

static void add_monitor(struct us_cmdline *c, const char *endpoint)
{
	if (c->n_qmp < US_CMDLINE_MONITORS)
		snprintf(c->qmp[c->n_qmp++], US_ENDPOINT_SIZE, "%s", endpoint);
}

static void parse_mon(const struct walk *w, struct us_cmdline *c)
{
	char mode[16], id[64], endpoint[US_ENDPOINT_SIZE];
	if (!us_option_get(w->value, "chardev", "mode", mode, sizeof(mode)) ||
	    strcmp(mode, "control") ||
	    !us_option_get(w->value, "chardev", "chardev", id, sizeof(id)))
		return;
	if (!strcmp(id, "charmonitor")) /* libvirt's own name for it */
		c->libvirt = true;
	if (chardev_endpoint(w, id, endpoint))
		add_monitor(c, endpoint);
}

static void parse_gdb(const struct walk *w, struct us_cmdline *c)
{
	/* gdbserver_start() makes a tcp device listen, whatever its options say. */
	bool tcp = !strncmp(w->value, "tcp:", 4);
	char endpoint[US_ENDPOINT_SIZE];
	if (short_endpoint(w, w->value, tcp, endpoint))
		snprintf(c->gdb, sizeof(c->gdb), "%s", endpoint);
}

/* Scripts that also run elsewhere name these, which Linux does not have. */
static bool is_foreign(const char *name, size_t n)
{
	static const char *const foreign[] = { "hax", "hvf", "nvmm", "whpx" };
	for (size_t i = 0; i < sizeof(foreign) / sizeof(*foreign); i++)
		if (strlen(foreign[i]) == n && !strncmp(name, foreign[i], n))
			return true;
	return false;
}

static enum us_accel accel_of(const char *name)
{
	/* "kvm:tcg": the first that works; the open fds later show which one that
	 * was. */
	size_t n = strcspn(name, ":");
	while (name[n] && is_foreign(name, n)) {
		name += n + 1;
		n = strcspn(name, ":");
	}
	if (n == 3 && !strncmp(name, "kvm", n))
		return US_ACCEL_KVM;
	if (n == 3 && !strncmp(name, "tcg", n))
		return US_ACCEL_TCG;
	return US_ACCEL_UNKNOWN;
}

/* What is known only after the whole command line. */
struct later {
	bool accel_option; /* -accel: the first one counts, and beats -machine */
	enum us_accel machine_accel;
	bool machine_fallback;
	bool none; /* a device model, a test or no machine at all */
	struct backend {
		char id[64];
		uint64_t size;
	} backend[US_CMDLINE_PIECES];
	unsigned n_backend;
	char node[US_CMDLINE_PIECES][64]; /* memdev of each -numa node */
	unsigned n_node;
	char machine_backend[64];
	char protected_by[64]; /* the object that -machine names */
	struct protector {
		char id[64], kind[16];
	} protector[US_CMDLINE_PIECES];
	unsigned n_protector;
	uint64_t machine_memory; /* -machine memory.size; 0: not given */
	bool memory_said;	 /* by -m */
	bool cpus_said;		 /* by -smp */
	bool config;		 /* a file may say both: -readconfig */
	bool disk;		 /* one was found */
};

static void parse_machine(const char *value, struct us_cmdline *c, struct later *l)
{
	char v[64];
	us_option_get(value, "type", "type", c->machine, sizeof(c->machine));
	us_option_get(value, "type", "memory-backend", l->machine_backend,
		      sizeof(l->machine_backend));
	/* Until 5.2 the second name. */
	if (us_option_get(value, "type", "confidential-guest-support", v, sizeof(v)) ||
	    us_option_get(value, "type", "memory-encryption", v, sizeof(v)))
		snprintf(l->protected_by, sizeof(l->protected_by), "%s", v);
	if (us_option_get(value, "type", "max-ram-below-4g", v, sizeof(v)) &&
	    !us_option_size(v, 1, &c->below_4g))
		c->below_4g = 0;
	if (us_option_get(value, "type", "memory.size", v, sizeof(v)) &&
	    !us_option_size(v, 1, &l->machine_memory))
		l->machine_memory = 0;
	if (!us_option_get(value, "type", "accel", v, sizeof(v)))
		return;
	l->machine_accel = accel_of(v);
	l->machine_fallback = l->machine_accel == US_ACCEL_KVM && strstr(v, ":tcg");
}

static void parse_accel(const char *value, struct us_cmdline *c, struct later *l)
{
	char v[64];
	if (!us_option_get(value, "accel", "accel", v, sizeof(v)))
		return;
	if (is_foreign(v, strlen(v)))
		return;
	if (!l->accel_option)
		c->accel = accel_of(v);
	else if (c->accel == US_ACCEL_KVM && accel_of(v) == US_ACCEL_TCG)
		c->tcg_fallback = true;
	l->accel_option = true;
}

static void parse_smp(const char *value, struct us_cmdline *c, struct later *l)
{
	static const char *const levels[] = { "sockets", "dies", "clusters", "cores",
					      "threads" };
	char v[16];
	uint64_t n = 1;
	if (us_option_get(value, "cpus", "cpus", v, sizeof(v))) {
		n = strtoul(v, NULL, 0);
	} else {
		for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++)
			if (us_option_get(value, "cpus", levels[i], v, sizeof(v)))
				n *= strtoul(v, NULL, 0) & 0xffff;
	}
	l->cpus_said = true;
	c->cpus = n < 1 ? 1 : n > US_MAX_VCPUS ? US_MAX_VCPUS : (unsigned)n;
}

static void add_backend(struct later *l, const char *id, uint64_t size)
{
	if (l->n_backend == US_CMDLINE_PIECES)
		return;
	struct backend *b = &l->backend[l->n_backend++];
	snprintf(b->id, sizeof(b->id), "%s", id);
	b->size = size;
}

/* Bit 2 of SEV's policy encrypts the registers, too (AMD 55766, "Guest Policy"). */
static const char *sev_kind(const char *value)
{
	char policy[32];
	bool es = us_option_get(value, "qom-type", "policy", policy, sizeof(policy)) &&
		  strtoul(policy, NULL, 0) & 4;
	return es ? "SEV-ES" : "SEV";
}

static void parse_protector(const char *type, const char *value, struct later *l)
{
	static const char *const kinds[][2] = { { "sev-guest", "SEV" },
						{ "sev-snp-guest", "SEV-SNP" },
						{ "tdx-guest", "TDX" },
						{ "rme-guest", "CCA" } };
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (strcmp(type, kinds[i][0]) || l->n_protector == US_CMDLINE_PIECES)
			continue;
		struct protector *p = &l->protector[l->n_protector++];
		snprintf(p->kind, sizeof(p->kind), "%s",
			 i ? kinds[i][1] : sev_kind(value));
		if (!us_option_get(value, "qom-type", "id", p->id, sizeof(p->id)))
			p->id[0] = '\0';
	}
}

/* An object that the machine does not name protects nothing. */
static void set_protection(struct us_cmdline *c, const struct later *l)
{
	const char *kind = l->protected_by[0] ? "encryption" : "";
	for (unsigned i = 0; i < l->n_protector; i++)
		if (l->protected_by[0] && !strcmp(l->protector[i].id, l->protected_by))
			kind = l->protector[i].kind;
	snprintf(c->protection, sizeof(c->protection), "%s", kind);
}

static void parse_object(const char *value, struct later *l)
{
	char type[64], id[64], size[32];
	uint64_t bytes;
	if (!us_option_get(value, "qom-type", "qom-type", type, sizeof(type)))
		return;
	parse_protector(type, value, l);
	if (!strncmp(type, "memory-backend-", 15) &&
	    us_option_get(value, "qom-type", "id", id, sizeof(id)) &&
	    us_option_get(value, "qom-type", "size", size, sizeof(size)) &&
	    us_option_size(size, 1, &bytes))
		add_backend(l, id, bytes);
}

static void parse_numa(const char *value, struct later *l)
{
	char type[16], id[64];
	if (us_option_get(value, "type", "type", type, sizeof(type)) &&
	    !strcmp(type, "node") && l->n_node < US_CMDLINE_PIECES &&
	    us_option_get(value, "type", "memdev", id, sizeof(id)))
		snprintf(l->node[l->n_node++], sizeof(id), "%s", id);
}

/* "nbd:...", "fat:rw:DIR", "json:{...}": a colon goes before any slash. */
static bool has_protocol(const char *path)
{
	return path[strcspn(path, ":/")] == ':';
}

static void take_disk(const char *path, struct us_cmdline *c, struct later *l)
{
	if (!strncmp(path, "file:", 5))
		path += 5;
	if (!l->disk && !has_protocol(path))
		snprintf(c->boot, sizeof(c->boot), "%s", path);
	l->disk = true;
}

/* Flash holds firmware, and a path with a protocol ("nbd:...") is not a file. */
static void parse_drive(const char *value, struct us_cmdline *c, struct later *l)
{
	char kind[16], node[64], path[PATH_MAX];
	if (us_option_get(value, NULL, "if", kind, sizeof(kind)) &&
	    !strcmp(kind, "pflash"))
		return;
	if (us_option_get(value, NULL, "node-name", node, sizeof(node)) &&
	    strstr(node, "pflash"))
		return;
	if (us_option_get(value, NULL, "file", path, sizeof(path)) ||
	    us_option_get(value, NULL, "filename", path, sizeof(path)))
		take_disk(path, c, l);
}

/* "none", "default" and the firmware that comes with QEMU are not the user's files. */
static void parse_bios(const char *value, struct us_cmdline *c, const struct later *l)
{
	if (!l->disk && strchr(value, '/'))
		snprintf(c->boot, sizeof(c->boot), "%s", value);
}

static void parse_device(const char *value, struct us_cmdline *c)
{
	char driver[40];
	if (!us_option_get(value, "driver", "driver", driver, sizeof(driver)))
		return;
	if (!c->kernel[0] && !strcmp(driver, "loader"))
		us_option_get(value, "driver", "file", c->kernel, sizeof(c->kernel));
	if (!strcmp(driver, "pc-dimm") || !strcmp(driver, "nvdimm") ||
	    !strncmp(driver, "virtio-mem-", 11) || !strncmp(driver, "virtio-pmem-", 12))
		c->memory_devices = true;
}

/* Other plugins have other options. */
static void parse_plugin(const char *value, struct us_cmdline *c)
{
	char path[PATH_MAX];
	if (us_option_get(value, "file", "counts", path, sizeof(path)))
		snprintf(c->counts, sizeof(c->counts), "%s", path);
}

static void parse_name(const char *value, struct us_cmdline *c)
{
	us_option_get(value, "guest", "guest", c->name, sizeof(c->name));
	if (is_on(value, "guest", "debug-threads"))
		c->debug_threads = true;
}

/* QEMU rounds up to 8 KiB (set_memory_options). */
static uint64_t whole_pages(uint64_t bytes)
{
	return (bytes + 8191) & ~8191ULL;
}

static void parse_memory(const char *value, struct us_cmdline *c, struct later *l)
{
	char v[32];
	uint64_t bytes;
	if (!us_option_get(value, "size", "size", v, sizeof(v)) ||
	    !us_option_size(v, MIB, &bytes) || bytes >= UINT64_MAX - 8192)
		return;
	c->memory = whole_pages(bytes);
	l->memory_said = true;
}

/* The file is not read: what it may say is not known, unless the command line says it
 * later, which counts then. */
static void parse_config(struct later *l)
{
	l->memory_said = l->cpus_said = false;
	l->config = true;
}

static void parse_run_with(const char *value, struct us_cmdline *c)
{
	char dir[PATH_MAX];
	if (us_option_get(value, NULL, "chroot", dir, sizeof(dir)))
		c->jailed = true;
}

static void parse_one(const struct walk *w, struct us_cmdline *c, struct later *l)
{
	char endpoint[US_ENDPOINT_SIZE];
	const char *o = w->name, *v = w->value;
	if (!strcmp(o, "cpu"))
		snprintf(c->cpu, sizeof(c->cpu), "%s", v);
	if (!strcmp(o, "name"))
		parse_name(v, c);
	else if (!strcmp(o, "m"))
		parse_memory(v, c, l);
	else if (!strcmp(o, "readconfig"))
		parse_config(l);
	else if (!strcmp(o, "smp"))
		parse_smp(v, c, l);
	else if (!strcmp(o, "machine") || !strcmp(o, "M"))
		parse_machine(v, c, l);
	else if (!strcmp(o, "accel"))
		parse_accel(v, c, l);
	else if (!strcmp(o, "enable-kvm"))
		parse_accel("kvm", c, l);
	else if (!strcmp(o, "kernel"))
		snprintf(c->kernel, sizeof(c->kernel), "%s", v);
	else if (!strcmp(o, "drive") || !strcmp(o, "blockdev"))
		parse_drive(v, c, l);
	else if (!strcmp(o, "bios"))
		parse_bios(v, c, l);
	else if (!strcmp(o, "cdrom") || !strcmp(o, "hda") || !strcmp(o, "fda") || !*o)
		take_disk(v, c, l);
	else if (!strcmp(o, "device"))
		parse_device(v, c);
	else if (!strcmp(o, "object"))
		parse_object(v, l);
	else if (!strcmp(o, "numa"))
		parse_numa(v, l);
	else if (!strcmp(o, "mon"))
		parse_mon(w, c);
	else if (!strcmp(o, "plugin"))
		parse_plugin(v, c);
	else if (!strcmp(o, "gdb"))
		parse_gdb(w, c);
	else if (!strcmp(o, "s"))
		tcp_endpoint("", "1234", c->gdb);
	else if (!strcmp(o, "S"))
		c->stopped = true;
	else if (!strcmp(o, "daemonize"))
		c->daemon = true;
	else if (!strcmp(o, "chroot"))
		c->jailed = true;
	else if (!strcmp(o, "run-with"))
		parse_run_with(v, c);
	else if (!strcmp(o, "qmp") || !strcmp(o, "qmp-pretty")) {
		if (short_endpoint(w, v, false, endpoint))
			add_monitor(c, endpoint);
	} else if (!strcmp(o, "xen-domid") || !strcmp(o, "xen-attach") ||
		   !strcmp(o, "version") || !strcmp(o, "help") || !strcmp(o, "h") ||
		   !strcmp(v, "help"))
		l->none = true;
}

static uint64_t backend_size(const struct later *l, const char *id)
{
	for (unsigned i = 0; i < l->n_backend; i++)
		if (!strcmp(l->backend[i].id, id))
			return l->backend[i].size;
	return 0;
}

/* Boards that have 128 MiB if nobody says how much; others have a size of their own. */
static bool is_common(const char *machine)
{
	static const char *const known[] = { "pc", "q35", "microvm", "virt" };
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strncmp(machine, known[i], strlen(known[i])))
			return true;
	return !*machine;
}

/* What nobody said. */
static void set_defaults(struct us_cmdline *c, const struct later *l)
{
	if (!l->cpus_said)
		c->cpus = l->config ? 0 : 1;
	if (l->memory_said)
		return;
	if (l->config)
		c->memory = 0;
	else if (l->machine_memory && l->machine_memory < UINT64_MAX - 8192)
		c->memory = whole_pages(l->machine_memory);
	else
		c->memory = is_common(c->machine) ? 128 * MIB : 0;
}

static void set_pieces(struct us_cmdline *c, const struct later *l)
{
	for (unsigned i = 0; i < l->n_node; i++)
		c->piece[c->n_piece++] = backend_size(l, l->node[i]);
	if (!c->n_piece && l->machine_backend[0])
		c->piece[c->n_piece++] = backend_size(l, l->machine_backend);
	uint64_t sum = 0;
	bool known = true;
	for (unsigned i = 0; i < c->n_piece; i++)
		known &= c->piece[i] && !__builtin_add_overflow(sum, c->piece[i], &sum);
	if (!known)
		sum = UINT64_MAX;
	else if (!l->memory_said && c->n_piece)
		c->memory = sum;
	/* Pieces that do not add up to the guest's memory are of no use. */
	if (c->n_piece && sum != c->memory)
		c->n_piece = 0;
}

bool us_qemu_cmdline_parse(unsigned argc, const char *const argv[],
			   struct us_cmdline *ret)
{
	struct later l = { .machine_accel = US_ACCEL_TCG };
	struct walk w = { .argv = argv, .argc = argc, .at = 1 };
	while (walk_next(&w))
		parse_one(&w, ret, &l);
	if (!l.accel_option) {
		ret->accel = l.machine_accel;
		ret->tcg_fallback = l.machine_fallback;
	}
	set_defaults(ret, &l);
	set_pieces(ret, &l);
	set_protection(ret, &l);
	return !l.none && strcmp(ret->machine, "none");
}
