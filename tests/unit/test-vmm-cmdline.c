/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Command lines of VMMs, honest and hostile, and what is taken from them. */
#include "unit.h"

#include "vmm/cmdline.h"

#define MIB (1ULL << 20)
#define GIB (1ULL << 30)

/* Words are separated by '|'. */
static bool parse(const char *vmm, const char *line, struct us_cmdline *c)
{
	static char text[16384];
	static const char *argv[512];
	unsigned argc = 0;
	snprintf(text, sizeof(text), "%s", line);
	for (char *w = text; w && argc < 512;) {
		argv[argc++] = w;
		w = strchr(w, '|');
		if (w)
			*w++ = '\0';
	}
	return us_cmdline_parse(vmm, argc, argv, c);
}

static void qemu_table(void **state)
{
	(void)state;
	static const struct {
		const char *line;
		enum us_accel accel;
		uint64_t memory;
		unsigned cpus;
		const char *name, *kernel, *machine, *qmp, *gdb;
	} t[] = {
#define D US_ACCEL_TCG, 128 * MIB, 1
		{ "q", D, "", "", "", "", "" },
		{ "q|-name|web", D, "web", "", "", "", "" },
		{ "q|-name|guest=a,,b,debug-threads=on", D, "a,b", "", "", "", "" },
		{ "q|-name|x,process=y|--name|guest=z", D, "z", "", "", "", "" },
		/* values that look like options are values */
		{ "q|-append|-name|-kernel|k", D, "", "k", "", "", "" },
		{ "q|-append|-s|-kernel|-S", D, "", "-S", "", "", "" },
		{ "q|disk.img|-no-reboot|-kernel|k|-nographic|-initrd|-s", D, "", "k",
		  "", "", "" },
		{ "q|-device|loader,file=/a/k.elf|-device|e1000", D, "", "/a/k.elf", "",
		  "", "" },
		{ "q|-M|q35", D, "", "", "q35", "", "" },
		{ "q|-machine|type=microvm,rtc=on", D, "", "", "microvm", "", "" },
		{ "q|-machine|pc|-machine|accel=kvm:tcg", US_ACCEL_KVM, 128 * MIB, 1,
		  "", "", "pc", "", "" },
		{ "q|-jitdump|-m|1G|-perfmap|-smp|2", US_ACCEL_TCG, GIB, 2, "", "", "",
		  "", "" },
		{ "q|-enable-kvm|-m|1G|-smp|2", US_ACCEL_KVM, GIB, 2, "", "", "", "",
		  "" },
		{ "q|-accel|kvm|-accel|tcg|-m|size=300,slots=2,maxmem=4G", US_ACCEL_KVM,
		  300 * MIB, 1, "", "", "", "", "" },
		{ "q|-accel|tcg,thread=multi|-enable-kvm|-m|1.5G", US_ACCEL_TCG,
		  1536 * MIB, 1, "", "", "", "", "" },
		{ "q|-accel|xen|-m|1", US_ACCEL_UNKNOWN, MIB, 1, "", "", "", "", "" },
		/* those of other systems, in scripts that run there, too */
		{ "q|-machine|accel=hvf:kvm:tcg|-m|1", US_ACCEL_KVM, MIB, 1, "", "", "",
		  "", "" },
		{ "q|-M|q35,accel=whpx:hax:tcg|-m|1", US_ACCEL_TCG, MIB, 1, "", "",
		  "q35", "", "" },
		{ "q|-accel|hvf|-accel|kvm|-accel|tcg|-m|1", US_ACCEL_KVM, MIB, 1, "",
		  "", "", "", "" },
		/* of older versions */
		{ "q|-nodefconfig|-name|a|-localtime|-kernel|k", D, "a", "k", "", "",
		  "" },
		{ "q|-tdf|-no-kvm-pit-reinjection|-rtc-td-hack|-s", D, "", "", "", "",
		  "127.0.0.1:1234" },
		{ "q|-smp|sockets=2,cores=3,threads=2|-m|0x10k", US_ACCEL_TCG, 16384,
		  12, "", "", "", "", "" },
		{ "q|-smp|4,maxcpus=8", US_ACCEL_TCG, 128 * MIB, 4, "", "", "", "",
		  "" },
		{ "q|-smp|0", D, "", "", "", "", "" },
		{ "q|-smp|4294967297", US_ACCEL_TCG, 128 * MIB, US_MAX_VCPUS, "", "",
		  "", "", "" },
		{ "q|-s", D, "", "", "", "", "127.0.0.1:1234" },
		{ "q|-gdb|tcp::7", D, "", "", "", "", "127.0.0.1:7" },
		{ "q|-gdb|tcp:[::1]:7,ipv6=on", D, "", "", "", "", "[::1]:7" },
		{ "q|-gdb|tcp:0.0.0.0:7", D, "", "", "", "", "127.0.0.1:7" },
		{ "q|-gdb|unix:/g.sock,server=on,wait=off", D, "", "", "", "",
		  "/g.sock" },
		{ "q|-gdb|unix:/client.sock", D, "", "", "", "", "" },
		{ "q|-gdb|stdio", D, "", "", "", "", "" },
		{ "q|-gdb|tcp::99999999", D, "", "", "", "", "" },
		{ "q|-gdb|tcp", D, "", "", "", "", "" },
		{ "q|-gdb|tcp:", D, "", "", "", "", "" },
		{ "q|-gdb|tcp::ssh", D, "", "", "", "", "" },
		{ "q|-qmp|unix:/m.sock,server,nowait", D, "", "", "", "/m.sock", "" },
		{ "q|-qmp|unix:a,,b.sock,server=on,wait=off", D, "", "", "", "a,b.sock",
		  "" },
		{ "q|-qmp|unix:/a,server=off", D, "", "", "", "", "" },
		{ "q|-qmp|unix:/a,noserver", D, "", "", "", "", "" },
		{ "q|-qmp|unix:/a,server=on,abstract=on", D, "", "", "", "", "" },
		{ "q|-qmp|tcp:localhost:4444,server=on,wait=off", D, "", "", "",
		  "localhost:4444", "" },
		{ "q|-qmp-pretty|tcp::4444,server", D, "", "", "", "127.0.0.1:4444",
		  "" },
		{ "q|-qmp|stdio|-qmp|unix:/b,server", D, "", "", "", "/b", "" },
		{ "q|-monitor|unix:/hmp,server,nowait", D, "", "", "", "", "" },
		{ "q|-mon|chardev=c,mode=readline|-chardev|socket,id=c,path=/"
		  "p,server=on",
		  D, "", "", "", "", "" },
		{ "q|-mon|c,mode=control|-chardev|socket,id=c,path=/p,server=on", D, "",
		  "", "", "/p", "" },
		{ "q|-chardev|socket,id=c,host=::,port=5,server|-mon|chardev=c,mode="
		  "control",
		  D, "", "", "", "[::1]:5", "" },
		{ "q|-chardev|socket,id=c,fd=33,server=on|-mon|chardev=c,mode=control",
		  D, "", "", "", "", "" },
		{ "q|-chardev|pty,id=c|-qmp|chardev:c", D, "", "", "", "", "" },
		/* listens, but speaks something else */
		{ "q|-chardev|socket,id=c,host=,port=5,server=on,websocket=on|-mon|"
		  "chardev=c,mode=control",
		  D, "", "", "", "", "" },
		{ "q|-qmp|tcp::5,server=on,telnet=on|-gdb|tcp::6,tls-creds=t", D, "",
		  "", "", "", "" },
		{ "q|-qmp|unix:/p,server=on,tls-creds=t", D, "", "", "", "", "" },
		{ "q|-qmp|tcp::5,server=on,telnet=off,websocket=off", D, "", "", "",
		  "127.0.0.1:5", "" },
		{ "q|-device|{\"driver\":\"loader\",\"file\":\"/k.elf\"}", D, "",
		  "/k.elf", "", "", "" },
		{ "q|-chardev|socket,id=c,path=/"
		  "p,server=on|-qmp|chardev:c|-gdb|chardev:c",
		  D, "", "", "", "/p", "/p" },
		/* damaged ones */
		{ "q|-m|", D, "", "", "", "", "" },
		{ "q|-m|-5", D, "", "", "", "", "" },
		{ "q|-m|99999999999999999999G", D, "", "", "", "", "" },
		{ "q|-m|17592186044416M", D, "", "", "", "", "" },
		{ "q|-m|5Q", D, "", "", "", "", "" },
		{ "q|-name", D, "", "", "", "", "" },
		{ "q|-", D, "", "", "", "", "" },
		{ "q|--", D, "", "", "", "", "" },
		{ "q|-name|,,,,=,=,,x|-object|{|-object|{}|-numa|node,memdev=", D,
		  ",,=", "", "", "", "" },
#undef D
	};
	for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++) {
		static struct us_cmdline c;
		bool ok = parse("qemu", t[i].line, &c);
		if (!ok || c.accel != t[i].accel || c.memory != t[i].memory ||
		    c.cpus != t[i].cpus || strcmp(c.name, t[i].name) ||
		    strcmp(c.kernel, t[i].kernel) || strcmp(c.machine, t[i].machine) ||
		    strcmp(c.n_qmp ? c.qmp[0] : "", t[i].qmp) ||
		    strcmp(c.gdb, t[i].gdb))
			fail_msg("%s: ok %d accel %d memory %llu cpus %u name '%s' "
				 "kernel '%s' machine '%s' qmp '%s' gdb '%s'",
				 t[i].line, ok, c.accel, (unsigned long long)c.memory,
				 c.cpus, c.name, c.kernel, c.machine,
				 c.n_qmp ? c.qmp[0] : "", c.gdb);
	}
}

static void qemu_that_runs_no_guest(void **state)
{
	(void)state;
	static struct us_cmdline c;
	assert_false(parse("qemu", "q|-xen-domid|5|-xen-attach", &c));
	assert_false(parse("qemu", "q|-version", &c));
	assert_false(parse("qemu", "q|-machine|none", &c));
	assert_false(parse("qemu", "q|-cpu|help", &c));
	assert_true(parse("qemu", "q|-append|-version", &c));
}

/* As libvirt 9.0 starts it. */
static void qemu_of_libvirt(void **state)
{
	(void)state;
	static struct us_cmdline c;
	assert_true(parse(
		"qemu",
		"q|-name|guest=web,debug-threads=on|-S|"
		"-blockdev|{\"driver\":\"file\",\"filename\":\"/f.fd\",\"node-name\":"
		"\"libvirt-pflash0-storage\",\"read-only\":true}|-accel|kvm|"
		"-chardev|socket,id=charmonitor,fd=28,server=on,wait=off|"
		"-mon|chardev=charmonitor,id=monitor,mode=control|"
		"-blockdev|{\"driver\":\"file\",\"filename\":\"/d.img\",\"node-name\":"
		"\"libvirt-1-storage\"}|-device|{\"driver\":\"virtio-blk\"}",
		&c));
	assert_true(c.libvirt);
	assert_int_equal(c.n_qmp, 0);
	assert_string_equal(c.name, "web");
	assert_string_equal(c.boot, "/d.img");
	assert_true(parse("qemu", "q|-hda|file:a/d:1.img", &c));
	assert_string_equal(c.boot, "a/d:1.img");
	/* What QEMU makes a disk of, or finds elsewhere. */
	assert_true(parse("qemu", "q|-drive|file=fat:rw:/folder,format=raw", &c));
	assert_string_equal(c.boot, "");
	assert_true(parse("qemu", "q|-hda|nbd:localhost:10809|-hdb|/d.img", &c));
	assert_string_equal(c.boot, "");
	assert_true(parse("qemu", "q|-mon|chardev=c,mode=control", &c));
}

static void qemu_in_a_jail(void **state)
{
	(void)state;
	static const struct {
		const char *line;
		bool jailed;
	} t[] = {
		{ "q|-chroot|/jail|-gdb|unix:/s,server=on", true },
		{ "q|-run-with|chroot=/jail|-gdb|unix:/s", true },
		{ "q|-run-with|async-teardown=on,chroot=/jail", true },
		{ "q|-run-with|async-teardown=on", false },
		{ "q|-append|-chroot|-daemonize", false },
	};
	for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++) {
		static struct us_cmdline c;
		assert_true(parse("qemu", t[i].line, &c));
		assert_int_equal(c.jailed, t[i].jailed);
	}
}

static void qemu_memory_pieces(void **state)
{
	(void)state;
	static struct us_cmdline c;
	assert_true(parse("qemu",
			  "q|-m|3G|-object|memory-backend-memfd,id=a,size=1G,share=on|"
			  "-object|{\"qom-type\":\"memory-backend-ram\",\"id\":\"b\","
			  "\"size\":2147483648}|-numa|node,nodeid=0,memdev=b|"
			  "-numa|node,memdev=a",
			  &c));
	assert_int_equal(c.n_piece, 2);
	assert_int_equal(c.piece[0], 2 * GIB);
	assert_int_equal(c.piece[1], GIB);
	assert_true(
		parse("qemu",
		      "q|-m|64|-object|memory-backend-file,id=r,size=64M,mem-path=/x|"
		      "-machine|q35,memory-backend=r",
		      &c));
	assert_int_equal(c.n_piece, 1);
	assert_int_equal(c.piece[0], 64 * MIB);
	/* A backend says how much there is if -m does not. */
	assert_true(parse("qemu",
			  "q|-object|memory-backend-ram,id=r,size=32M|"
			  "-machine|q35,memory-backend=r",
			  &c));
	assert_int_equal(c.memory, 32 * MIB);
	assert_int_equal(c.n_piece, 1);
	/* What does not add up is left out. */
	assert_true(
		parse("qemu",
		      "q|-m|64|-object|memory-backend-file,id=r,size=32M,mem-path=/x|"
		      "-machine|q35,memory-backend=r",
		      &c));
	assert_int_equal(c.n_piece, 0);
	/* Memory in devices is not among the pieces. */
	assert_false(c.memory_devices);
	assert_true(parse("qemu", "q|-m|64,slots=2,maxmem=1G|-device|pc-dimm,memdev=r",
			  &c));
	assert_true(c.memory_devices);
	assert_true(parse("qemu", "q|-device|{\"driver\":\"virtio-mem-pci\"}", &c));
	assert_true(c.memory_devices);
	/* More nodes than there is room for. */
	char line[4096] = "q|-m|1G";
	for (int i = 0; i < 30; i++)
		strcat(line,
		       "|-numa|node,memdev=r|-object|memory-backend-ram,id=r,size=1");
	assert_true(parse("qemu", line, &c));
	assert_int_equal(c.n_piece, 0);
}

/* 0: it cannot be known. */
static void qemu_memory_by_other_ways(void **state)
{
	(void)state;
#define RAM "|-object|memory-backend-ram,id=r,size=32M"
	static const struct {
		const char *line;
		uint64_t memory;
		unsigned cpus;
	} t[] = {
		{ "q|-M|pc-i440fx-7.2", 128 * MIB, 1 },
		{ "q|-M|virt,gic-version=3", 128 * MIB, 1 },
		{ "q|-M|sbsa-ref", 0, 1 },
		{ "q|-M|raspi3b|-m|1G", GIB, 1 },
		{ "q|-M|pc,memory.size=300M", 300 * MIB, 1 },
		{ "q|-M|pc,memory.size=300M|-m|64", 64 * MIB, 1 },
		{ "q|-m|64|-M|pc,memory.size=300M", 64 * MIB, 1 },
		{ "q|-M|pc,memory.size=x", 128 * MIB, 1 },
		{ "q|-M|pc,memory-backend=r" RAM, 32 * MIB, 1 },
		{ "q" RAM "|-M|pc|-machine|memory-backend=r", 32 * MIB, 1 },
		/* QEMU refuses nodes that do not add up to what there is. */
		{ "q" RAM "|-object|memory-backend-ram,id=s,size=96M|"
		  "-numa|node,memdev=r|-numa|node,memdev=s",
		  128 * MIB, 1 },
		{ "q|-readconfig|f", 0, 0 },
		{ "q|-m|64|-smp|2|-readconfig|f", 0, 0 },
		{ "q|-readconfig|f|-m|64|-smp|2", 64 * MIB, 2 },
		{ "q|-readconfig|f|-M|pc,memory.size=300M", 0, 0 },
		{ "q|-readconfig|f|-M|pc,memory-backend=r" RAM, 32 * MIB, 0 },
	};
#undef RAM
	for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++) {
		static struct us_cmdline c;
		print_message("# %s\n", t[i].line);
		assert_true(parse("qemu", t[i].line, &c));
		assert_int_equal(c.memory, t[i].memory);
		assert_int_equal(c.cpus, t[i].cpus);
	}
}

static void other_vmms(void **state)
{
	(void)state;
	static struct us_cmdline c;
	assert_true(parse("firecracker",
			  "fc|--id|vm-1|--api-sock|/run/fc.sock|--config-file|c.json",
			  &c));
	assert_string_equal(c.name, "vm-1");
	assert_string_equal(c.config, "c.json");
	assert_int_equal(c.accel, US_ACCEL_KVM);
	assert_true(parse("cloud-hypervisor",
			  "ch|--kernel|/v|--memory|size=512M,shared=on|--cpus|boot=2|"
			  "--gdb|path=/tmp/g",
			  &c));
	assert_string_equal(c.kernel, "/v");
	assert_int_equal(c.memory, 512 * MIB);
	assert_int_equal(c.cpus, 2);
	assert_string_equal(c.gdb, "/tmp/g");
	assert_true(parse("lkvm", "lkvm|run|-k|bz|-m|96|-c|3|--name=x", &c));
	assert_string_equal(c.kernel, "bz");
	assert_int_equal(c.memory, 96 * MIB);
	assert_int_equal(c.cpus, 3);
	assert_string_equal(c.name, "x");
	assert_true(parse("solo5-hvt",
			  "solo5-hvt|--mem=32|--net:a=tap0|--|k.hvt|-v|--mem=9", &c));
	assert_string_equal(c.kernel, "k.hvt");
	assert_int_equal(c.memory, 32 * MIB);
	assert_true(parse("solo5-hvt", "solo5-hvt|k.hvt|--mem=9", &c));
	assert_string_equal(c.kernel, "k.hvt");
	assert_true(parse("crosvm", "crosvm|run|--mem|256|--cpus|2|bz", &c));
	assert_string_equal(c.kernel, "bz");
	assert_int_equal(c.memory, 256 * MIB);
	assert_true(parse("my-vmm", "my-vmm|--kernel|x", &c));
	assert_string_equal(c.kernel, "");
	/* An option at the very end has no value. */
	assert_true(parse("firecracker", "fc|--id", &c));
	assert_string_equal(c.name, "");
}

static void vmm_names(void **state)
{
	(void)state;
	static const char *const t[][2] = {
		{ "/usr/bin/qemu-system-x86_64", "qemu" },
		{ "/usr/bin/qemu-system-aarch64 (deleted)", "qemu" },
		{ "/nix/store/x/bin/.qemu-system-x86_64-wrapped", "qemu" },
		{ "/usr/libexec/qemu-kvm", "qemu" },
		{ "/usr/bin/qemu-img", "qemu-img" },
		{ "/opt/lkvm", "lkvm" },
		{ "firecracker", "firecracker" },
		/* As their releases call them. */
		{ "/firecracker-v1.12.1-x86_64", "firecracker" },
		{ "/opt/cloud-hypervisor-static", "cloud-hypervisor" },
		{ "/opt/lkvm-static", "lkvm" },
		{ "/opt/firecrackers", "firecrackers" },
		{ "/x/a\x1b[2Jb", "a?[2Jb" },
		{ "", "" },
	};
	for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++) {
		char name[32];
		us_vmm_name(t[i][0], name, sizeof(name));
		assert_string_equal(name, t[i][1]);
	}
}

static void processors(void **state)
{
	(void)state;
	static const char *const t[][3] = {
		{ "/usr/bin/qemu-system-x86_64", "max", "x86_64" },
		{ "/usr/bin/qemu-system-x86_64-microvm", "", "x86_64" },
		{ "/nix/store/x/bin/.qemu-system-riscv64-wrapped", "", "riscv64" },
		{ "/usr/bin/qemu-system-arm (deleted)", "", "arm" },
		{ "qemu-system-aarch64", "cortex-a72", "aarch64" },
		{ "qemu-system-aarch64", "cortex-a7,pmu=off", "arm" },
		{ "qemu-system-aarch64", "arm1176", "arm" },
		{ "/opt/qemu-system-mips64el", "", "mips64el" },
		{ "/opt/qemu-system-s390x", "", "s390x" },
		{ "/opt/qemu-system-mine", "", "" },
		{ "/usr/libexec/qemu-kvm", "host", "" },
		{ "/qemu-system-arm/firecracker", "", "" },
		{ "", "", "" },
	};
	for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++) {
		char name[16];
		us_qemu_processor(t[i][0], t[i][1], name, sizeof(name));
		assert_string_equal(name, t[i][2]);
	}
}

static void options_that_are_too_long(void **state)
{
	(void)state;
	static char line[3 * PATH_MAX];
	static struct us_cmdline c;
	char v[8];
	memset(line, 'a', sizeof(line) - 1);
	assert_false(us_option_get(line, "x", "x", v, sizeof(v)));
	memcpy(line, "q|-name|", 8);
	assert_true(parse("qemu", line, &c));
	assert_string_equal(c.name, "");
	memcpy(line, "q|-kernel|", 10);
	assert_true(parse("qemu", line, &c));
	assert_true(strlen(c.kernel) < sizeof(c.kernel));
	assert_true(us_option_get("toolongvalue=1,x=12345678,x=12", NULL, "x", v,
				  sizeof(v)));
	assert_string_equal(v, "12");
	assert_true(us_option_get("nowait", NULL, "wait", v, sizeof(v)));
	assert_string_equal(v, "off");
	assert_true(us_option_get("{\"a\":true,\"x\":12345}", "x", "x", v, sizeof(v)));
	assert_string_equal(v, "12345");
	assert_true(us_option_get("{\"a\":true}", NULL, "a", v, sizeof(v)));
	assert_string_equal(v, "on");
	assert_false(us_option_get("{\"x\":\"12345678\"}", NULL, "x", v, sizeof(v)));
	assert_false(us_option_get("{\"x\":[1]}", NULL, "x", v, sizeof(v)));
	assert_false(us_option_get("{\"x\":1", NULL, "x", v, sizeof(v)));
}

/* What no host can read must not be shown as if it could. */
static void protection_is_known(void **state)
{
	(void)state;
#define SNP "{\"qom-type\":\"sev-snp-guest\",\"id\":\"lsec0\",\"policy\":196608}"
	static const struct {
		const char *vmm, *line, *protection;
	} t[] = {
		{ "qemu", "q|-machine|q35", "" },
		{ "qemu", "q|-object|sev-guest,id=s", "" },
		{ "qemu",
		  "q|-machine|q35,confidential-guest-support=s|-object|sev-guest,id=s",
		  "SEV" },
		{ "qemu",
		  "q|-object|sev-guest,id=s,policy=0x5|-machine|memory-encryption=s",
		  "SEV-ES" },
		{ "qemu",
		  "q|-object|sev-guest,policy=0x3,id=s|-machine|memory-encryption=s",
		  "SEV" },
		{ "qemu",
		  "q|-object|" SNP "|-machine|q35,confidential-guest-support=lsec0",
		  "SEV-SNP" },
		{ "qemu",
		  "q|-object|{\"qom-type\":\"tdx-guest\",\"id\":\"tdx\"}|-M|"
		  "q35,kernel-irqchip=split,confidential-guest-support=tdx",
		  "TDX" },
		{ "qemu",
		  "q|-M|confidential-guest-support=rme0,virt|-object|rme-guest,id=rme0",
		  "CCA" },
		{ "qemu", "q|-M|confidential-guest-support=a|-object|tdx-guest,id=b",
		  "encryption" },
		{ "qemu", "q|-M|confidential-guest-support=|-object|tdx-guest", "" },
		{ "cloud-hypervisor", "c|--platform|tdx=on", "TDX" },
		{ "cloud-hypervisor", "c|--platform|num_pci_segments=2,sev_snp=on",
		  "SEV-SNP" },
		{ "cloud-hypervisor", "c|--platform|tdx=off", "" },
		{ "crosvm", "c|--platform|tdx=on", "" },
	};
	for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++) {
		static struct us_cmdline c;
		parse(t[i].vmm, t[i].line, &c);
		if (strcmp(c.protection, t[i].protection))
			fail_msg("%s: %s, not %s", t[i].line, c.protection,
				 t[i].protection);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(qemu_table),
		cmocka_unit_test(protection_is_known),
		cmocka_unit_test(qemu_that_runs_no_guest),
		cmocka_unit_test(qemu_of_libvirt),
		cmocka_unit_test(qemu_in_a_jail),
		cmocka_unit_test(qemu_memory_pieces),
		cmocka_unit_test(qemu_memory_by_other_ways),
		cmocka_unit_test(other_vmms),
		cmocka_unit_test(vmm_names),
		cmocka_unit_test(processors),
		cmocka_unit_test(options_that_are_too_long),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
