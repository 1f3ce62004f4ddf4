/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * floor.c: a VMM with no more than it takes to boot the demo unikernel by KVM: memory,
 * one vCPU with its local APIC, and a serial port that prints.  There is no firmware
 * and no loader: the kernel's segments are copied to where they belong, and the vCPU
 * begins at its entry in long mode, by 32-bit code (compatibility mode), where its
 * entry leads to as well.  The floor of what a boot can take.
 *
 * usage: floor KERNEL.elf
 */
#include <elf.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define RAM	  (64UL << 20)
#define TABLES	  0x1000 /* gpa of the tables that map the lowest GiB as it is */
#define DIRECTORY 0x2000
#define LARGE	  0x3000
#define STACK	  0x8000
#define TSS	  0xfffbd000 /* where Intel's KVM keeps its own */
#define CPUIDS	  100
#define LA57	  (1U << 16) /* cpuid 7, ecx */

#define COM1	    0x3f8
#define COM_LSR	    5
#define COM_SCRATCH 7
#define LSR_EMPTY   0x60

#define CR0_PE	  1UL
#define CR0_ET	  0x10UL
#define CR0_PG	  (1UL << 31)
#define CR4_PAE	  0x20UL
#define EFER_LONG 0x500UL /* LME, LMA */

static uint8_t *map_kernel(const char *path, size_t *ret_size)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		err(1, "%s", path);
	*ret_size = (size_t)st.st_size;
	void *p = mmap(NULL, *ret_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		err(1, "%s", path);
	close(fd);
	return p;
}

/* Returns its entry. */
static uint64_t load(uint8_t *ram, const char *path)
{
	size_t size;
	const uint8_t *file = map_kernel(path, &size);
	const Elf64_Ehdr *h = (const void *)file;
	if (size < sizeof(*h) || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 ||
	    h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_phoff > size ||
	    h->e_phnum * sizeof(Elf64_Phdr) > size - h->e_phoff)
		errx(1, "%s: no 64-bit ELF file", path);
	for (unsigned i = 0; i < h->e_phnum; i++) {
		Elf64_Phdr p;
		memcpy(&p, file + h->e_phoff + i * sizeof(p), sizeof(p));
		if (p.p_type != PT_LOAD)
			continue;
		if (p.p_paddr > RAM || p.p_filesz > RAM - p.p_paddr ||
		    p.p_offset > size || p.p_filesz > size - p.p_offset)
			errx(1, "%s: a segment does not fit", path);
		memcpy(ram + p.p_paddr, file + p.p_offset, p.p_filesz);
	}
	return h->e_entry;
}

static uint8_t *make_memory(int vm)
{
	uint8_t *ram = mmap(NULL, RAM, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (ram == MAP_FAILED)
		err(1, "mmap");
	struct kvm_userspace_memory_region m = { .memory_size = RAM,
						 .userspace_addr = (uintptr_t)ram };
	if (ioctl(vm, KVM_SET_USER_MEMORY_REGION, &m))
		err(1, "KVM_SET_USER_MEMORY_REGION");
	return ram;
}

/* Two pages of tables and one of large pages, writable. */
static void map_memory(uint8_t *ram)
{
	uint64_t *table = (uint64_t *)(ram + TABLES);
	uint64_t *directory = (uint64_t *)(ram + DIRECTORY);
	uint64_t *large = (uint64_t *)(ram + LARGE);
	table[0] = DIRECTORY | 3;
	directory[0] = LARGE | 3;
	for (uint64_t i = 0; i < 512; i++)
		large[i] = i << 21 | 0x83;
}

static void set_cpuid(int kvm, int vcpu)
{
	struct kvm_cpuid2 *c = calloc(
		1, sizeof(*c) + CPUIDS * sizeof(struct kvm_cpuid_entry2));
	if (!c)
		err(1, "calloc");
	c->nent = CPUIDS;
	if (ioctl(kvm, KVM_GET_SUPPORTED_CPUID, c))
		err(1, "KVM_GET_SUPPORTED_CPUID");
	/* In long mode nobody can go over to five levels. */
	for (unsigned i = 0; i < c->nent; i++)
		if (c->entries[i].function == 7)
			c->entries[i].ecx &= ~LA57;
	if (ioctl(vcpu, KVM_SET_CPUID2, c))
		err(1, "KVM_SET_CPUID2");
	free(c);
}

static void set_registers(int vcpu, uint64_t entry)
{
	struct kvm_segment code = { .limit = 0xffffffff,
				    .selector = 8,
				    .type = 11,
				    .present = 1,
				    .s = 1,
				    .db = 1,
				    .g = 1 };
	struct kvm_segment data = code;
	struct kvm_sregs s;
	data.selector = 16;
	data.type = 3;
	if (ioctl(vcpu, KVM_GET_SREGS, &s))
		err(1, "KVM_GET_SREGS");
	s.cs = code;
	s.ds = s.es = s.fs = s.gs = s.ss = data;
	s.cr3 = TABLES;
	s.cr4 = CR4_PAE;
	s.cr0 = CR0_PE | CR0_ET | CR0_PG;
	s.efer = EFER_LONG;
	struct kvm_regs r = { .rip = entry, .rsp = STACK, .rflags = 2 };
	if (ioctl(vcpu, KVM_SET_SREGS, &s) || ioctl(vcpu, KVM_SET_REGS, &r))
		err(1, "set the registers");
}

/* A serial port that is always ready; no other port has anything. */
static void serve_port(struct kvm_run *run)
{
	static uint8_t scratch;
	uint8_t *data = (uint8_t *)run + run->io.data_offset;
	size_t n = (size_t)run->io.count * run->io.size;
	unsigned port = run->io.port - COM1;
	if (run->io.direction == KVM_EXIT_IO_IN) {
		memset(data, 0xff, n);
		if (port == COM_LSR)
			memset(data, LSR_EMPTY, n);
		if (port == COM_SCRATCH)
			memset(data, scratch, n);
		return;
	}
	if (port == COM_SCRATCH)
		scratch = *data;
	if (port == 0 && write(STDOUT_FILENO, data, n) < 0)
		err(1, "write");
}

static void run(int vcpu, struct kvm_run *run)
{
	for (;;) {
		if (ioctl(vcpu, KVM_RUN, 0) < 0 && errno != EINTR && errno != EAGAIN)
			err(1, "KVM_RUN");
		if (run->exit_reason == KVM_EXIT_IO)
			serve_port(run);
		else if (run->exit_reason == KVM_EXIT_MMIO)
			memset(run->mmio.data, 0xff, sizeof(run->mmio.data));
		else if (run->exit_reason != KVM_EXIT_INTR)
			errx(1, "the guest ended: exit reason %u", run->exit_reason);
	}
}

int main(int argc, char **argv)
{
	if (argc != 2)
		errx(2, "usage: floor KERNEL.elf");
	int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	int vm = kvm < 0 ? -1 : ioctl(kvm, KVM_CREATE_VM, 0);
	if (vm < 0)
		err(1, "/dev/kvm");
	if (ioctl(vm, KVM_SET_TSS_ADDR, TSS) || ioctl(vm, KVM_CREATE_IRQCHIP, 0))
		err(1, "make a machine");
	uint8_t *ram = make_memory(vm);
	uint64_t entry = load(ram, argv[1]);
	map_memory(ram);
	int vcpu = ioctl(vm, KVM_CREATE_VCPU, 0);
	int size = ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0);
	if (vcpu < 0 || size < 0)
		err(1, "KVM_CREATE_VCPU");
	struct kvm_run *shared = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE,
				      MAP_SHARED, vcpu, 0);
	if (shared == MAP_FAILED)
		err(1, "mmap");
	set_cpuid(kvm, vcpu);
	set_registers(vcpu, entry);
	run(vcpu, shared);
}
