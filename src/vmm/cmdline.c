/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmdline.c: see cmdline.h. */
#include "vmm/cmdline.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB (1ULL << 20)

enum kernel_place {
	KERNEL_OPTION,
	KERNEL_FIRST_WORD, /* the first argument that is not an option */
	KERNEL_LAST_WORD,
};

/* How VMMs other than QEMU spell their options.  A key is looked up in the option's
 * value. */
static const struct dialect {
	const char *vmm; /* begins with */
	const char *name, *name_short;
	const char *kernel, *kernel_short;
	enum kernel_place place;
	const char *memory, *memory_short, *memory_key;
	uint64_t memory_unit;
	const char *cpus, *cpus_short, *cpus_key;
	const char *gdb, *gdb_key; /* a path or a port */
	const char *config;
} dialects[] = {
	{ .vmm = "firecracker", .name = "--id", .config = "--config-file" },
	{ .vmm = "cloud-hypervisor",
	  .kernel = "--kernel",
	  .memory = "--memory",
	  .memory_key = "size",
	  .memory_unit = 1,
	  .cpus = "--cpus",
	  .cpus_key = "boot",
	  .gdb = "--gdb",
	  .gdb_key = "path" },
	{ .vmm = "crosvm",
	  .name = "--name",
	  .place = KERNEL_LAST_WORD,
	  .memory = "--mem",
	  .memory_short = "-m",
	  .memory_key = "size",
	  .memory_unit = MIB,
	  .cpus = "--cpus",
	  .cpus_short = "-c",
	  .cpus_key = "num-cores",
	  .gdb = "--gdb" },
	{ .vmm = "lkvm",
	  .name = "--name",
	  .name_short = "-n",
	  .kernel = "--kernel",
	  .kernel_short = "-k",
	  .memory = "--mem",
	  .memory_short = "-m",
	  .memory_unit = MIB,
	  .cpus = "--cpus",
	  .cpus_short = "-c" },
	{ .vmm = "solo5-hvt",
	  .place = KERNEL_FIRST_WORD,
	  .memory = "--mem",
	  .memory_unit = MIB,
	  .gdb = "--gdb-port" },
};

/* Names that builds and releases use: "lkvm-static", "cloud-hypervisor-static-aarch64",
 * "firecracker-v1.7.0-x86_64". */
static const struct {
	const char *as, *vmm;
} released[] = {
	{ "firecracker", "firecracker" },
	{ "cloud-hypervisor", "cloud-hypervisor" },
	{ "crosvm", "crosvm" },
	{ "lkvm", "lkvm" },
	{ "kvmtool", "lkvm" },
};

static bool is_release(const char *name, const char *as)
{
	size_t n = strlen(as);
	return !strncmp(name, as, n) && (!name[n] || name[n] == '-' || name[n] == '_');
}

void us_vmm_name(const char *exe, char *ret, size_t size)
{
	static const char deleted[] = " (deleted)";
	const char *base = strrchr(exe, '/');
	base = base ? base + 1 : exe;
	size_t n = strlen(base), d = strlen(deleted);
	if (n > d && !strcmp(base + n - d, deleted))
		n -= d;
	char name[64];
	snprintf(name, sizeof(name), "%.*s", (int)(n < sizeof(name) ? n : 0), base);
	/* Wrapped (.qemu-system-x86_64-wrapped) and distribution names too. */
	if (strstr(name, "qemu-system-") || strstr(name, "qemu-kvm") ||
	    !strcmp(name, "kvm"))
		snprintf(name, sizeof(name), "qemu");
	else
		for (size_t i = 0; i < sizeof(released) / sizeof(*released); i++)
			if (is_release(name, released[i].as))
				snprintf(name, sizeof(name), "%s", released[i].vmm);
	us_printable(ret, size, name);
}

bool us_vmm_is_known(const char *vmm)
{
	static const char *const known[] = {
		"qemu", "firecracker", "cloud-hypervisor", "crosvm", "lkvm", "solo5-hvt"
	};
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(vmm, known[i]))
			return true;
	return false;
}

/* ARM processors that run only 32-bit code.  qemu-system-aarch64 has them, too (QEMU:
 * target/arm/cpu_tcg.c). */
static bool is_arm_32(const char *cpu)
{
	static const char *const begins[] = { "arm",	"cortex-m", "cortex-r5",
					      "ti925t", "sa11",	    "pxa" };
	static const char *const whole[] = { "cortex-a7", "cortex-a8", "cortex-a9",
					     "cortex-a15" };
	size_t n = strcspn(cpu, ",");
	for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++)
		if (!strncmp(cpu, begins[i], strlen(begins[i])))
			return true;
	for (size_t i = 0; i < sizeof(whole) / sizeof(*whole); i++)
		if (n == strlen(whole[i]) && !strncmp(cpu, whole[i], n))
			return true;
	return false;
}

void us_qemu_processor(const char *exe, const char *cpu, char *ret, size_t size)
{
	static const char qemu[] = "qemu-system-";
	static const char *const known[] = {
		"x86_64",      "i386",	   "aarch64",	 "arm",		 "riscv64",
		"riscv32",     "alpha",	   "avr",	 "cris",	 "hppa",
		"loongarch64", "m68k",	   "microblaze", "microblazeel", "mips",
		"mips64",      "mips64el", "mipsel",	 "nios2",	 "or1k",
		"ppc",	       "ppc64",	   "rx",	 "s390x",	 "sh4",
		"sh4eb",       "sparc",	   "sparc64",	 "tricore",	 "xtensa",
		"xtensaeb",
	};
	const char *slash = strrchr(exe, '/');
	const char *at = strstr(slash ? slash + 1 : exe, qemu);
	ret[0] = '\0';
	if (!at)
		return;
	at += strlen(qemu);
	size_t n = strcspn(at, "-. ");
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (n == strlen(known[i]) && !strncmp(at, known[i], n))
			snprintf(ret, size, "%s", known[i]);
	if (!strcmp(ret, "aarch64") && is_arm_32(cpu))
		snprintf(ret, size, "arm");
}

/* Value of "--option value", "--option=value" or "-o value"; NULL if not there. */
static const char *value_of(unsigned argc, const char *const argv[], const char *name,
			    const char *name_short)
{
	size_t n = name ? strlen(name) : 0;
	for (unsigned i = 1; name && i < argc && strcmp(argv[i], "--"); i++) {
		if (!strncmp(argv[i], name, n) && argv[i][n] == '=')
			return argv[i] + n + 1;
		if (i + 1 < argc && (!strcmp(argv[i], name) ||
				     (name_short && !strcmp(argv[i], name_short))))
			return argv[i + 1];
	}
	return NULL;
}

static const char *kernel_of(const struct dialect *d, unsigned argc,
			     const char *const argv[])
{
	if (d->place == KERNEL_OPTION)
		return value_of(argc, argv, d->kernel, d->kernel_short);
	if (d->place == KERNEL_LAST_WORD)
		return argc > 2 && argv[argc - 1][0] != '-' ? argv[argc - 1] : NULL;
	for (unsigned i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--"))
			return i + 1 < argc ? argv[i + 1] : NULL;
		if (argv[i][0] != '-')
			return argv[i];
	}
	return NULL;
}

/* The value itself, or its part under key. */
static bool keyed(const char *value, const char *key, char *ret, size_t size)
{
	if (!value)
		return false;
	if (key)
		return us_option_get(value, key, key, ret, size);
	return (size_t)snprintf(ret, size, "%s", value) < size;
}

static void parse_dialect(const struct dialect *d, unsigned argc,
			  const char *const argv[], struct us_cmdline *c)
{
	char v[US_ENDPOINT_SIZE - 16];
	const char *s = value_of(argc, argv, d->name, d->name_short);
	if (s)
		snprintf(c->name, sizeof(c->name), "%s", s);
	s = kernel_of(d, argc, argv);
	if (s)
		snprintf(c->kernel, sizeof(c->kernel), "%s", s);
	s = value_of(argc, argv, d->config, NULL);
	if (s)
		snprintf(c->config, sizeof(c->config), "%s", s);
	if (keyed(value_of(argc, argv, d->memory, d->memory_short), d->memory_key, v,
		  sizeof(v)) &&
	    !us_option_size(v, d->memory_unit, &c->memory))
		c->memory = 0;
	if (keyed(value_of(argc, argv, d->cpus, d->cpus_short), d->cpus_key, v,
		  sizeof(v)))
		c->cpus = (unsigned)strtoul(v, NULL, 10);
	if (keyed(value_of(argc, argv, d->gdb, NULL), d->gdb_key, v, sizeof(v)))
		snprintf(c->gdb, sizeof(c->gdb), v[0] == '/' ? "%s" : "127.0.0.1:%s",
			 v);
}

/* cloud-hypervisor's --platform tdx=on,sev_snp=on. */
static void parse_platform(const char *value, struct us_cmdline *c)
{
	char v[16];
	if (us_option_get(value, NULL, "tdx", v, sizeof(v)) && !strcmp(v, "on"))
		strcpy(c->protection, "TDX");
	if (us_option_get(value, NULL, "sev_snp", v, sizeof(v)) && !strcmp(v, "on"))
		strcpy(c->protection, "SEV-SNP");
}

bool us_cmdline_parse(const char *vmm, unsigned argc, const char *const argv[],
		      struct us_cmdline *ret)
{
	*ret = (struct us_cmdline){ .accel = US_ACCEL_UNKNOWN };
	if (!strcmp(vmm, "qemu"))
		return us_qemu_cmdline_parse(argc, argv, ret);
	ret->accel = US_ACCEL_KVM;
	for (size_t i = 0; i < sizeof(dialects) / sizeof(*dialects); i++)
		if (!strncmp(vmm, dialects[i].vmm, strlen(dialects[i].vmm)))
			parse_dialect(&dialects[i], argc, argv, ret);
	const char *platform = value_of(argc, argv, "--platform", NULL);
	if (platform && !strcmp(vmm, "cloud-hypervisor"))
		parse_platform(platform, ret);
	return true;
}
