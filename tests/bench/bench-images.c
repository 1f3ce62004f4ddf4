/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench-images.c: the memory that a report takes that names functions of many programs
 * of a guest, by the number of their symbols: files with a table of symbols and a
 * build-id each, and a recording with a sample in every one.
 */
#include "bench.h"
#include "profile/profile.h"
#include "store/store.h"

#include <elf.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROOT	0x10000
#define SPACING 0x10000000ULL /* from one file in memory to the next */
#define SIZE	16U	      /* bytes of a function */

static char folder[] = "/tmp/uniscope-images-XXXXXX";

static const char names[] = "\0.text\0.symtab\0.strtab\0.shstrtab";

struct head {
	Elf64_Ehdr e;
	Elf64_Phdr load, notes;
	uint32_t note[3];
	char owner[4];
	uint8_t id[20];
	Elf64_Shdr section[5];
	char name[sizeof(names)];
};

static void path_of(unsigned n, char ret[64])
{
	snprintf(ret, 64, "%s/%u", folder, n);
}

static void set_id(unsigned n, uint8_t id[20])
{
	memset(id, 0xa5, 20);
	memcpy(id, &n, sizeof(n));
}

/* Sections behind one another: .text, .symtab, .strtab. */
static void fill(struct head *h, unsigned n, unsigned n_symbol, size_t text_size)
{
	const size_t at = offsetof(struct head, note), text = sizeof(*h);
	const size_t symbols = text + (size_t)n_symbol * SIZE;
	memset(h, 0, sizeof(*h));
	memcpy(h->e.e_ident, ELFMAG, SELFMAG);
	h->e.e_ident[EI_CLASS] = ELFCLASS64;
	h->e.e_ident[EI_DATA] = ELFDATA2LSB;
	h->e.e_ident[EI_VERSION] = h->e.e_version = EV_CURRENT;
	h->e.e_type = ET_DYN;
	h->e.e_machine = EM_X86_64;
	h->e.e_phoff = offsetof(struct head, load);
	h->e.e_shoff = offsetof(struct head, section);
	h->e.e_ehsize = sizeof(h->e);
	h->e.e_phentsize = sizeof(h->load);
	h->e.e_phnum = 2;
	h->e.e_shentsize = sizeof(h->section[0]);
	h->e.e_shnum = 5;
	h->e.e_shstrndx = 4;
	h->load = (Elf64_Phdr){ .p_type = PT_LOAD,
				.p_flags = PF_R | PF_X,
				.p_filesz = symbols,
				.p_memsz = symbols,
				.p_align = 4096 };
	h->notes = (Elf64_Phdr){ .p_type = PT_NOTE,
				 .p_offset = at,
				 .p_vaddr = at,
				 .p_filesz = 36,
				 .p_memsz = 36,
				 .p_align = 4 };
	memcpy(h->note, (uint32_t[]){ 4, 20, NT_GNU_BUILD_ID }, sizeof(h->note));
	memcpy(h->owner, "GNU", 4);
	set_id(n, h->id);
	h->section[1] = (Elf64_Shdr){ .sh_name = 1,
				      .sh_type = SHT_PROGBITS,
				      .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
				      .sh_addr = text,
				      .sh_offset = text,
				      .sh_size = symbols - text };
	h->section[2] = (Elf64_Shdr){ .sh_name = 7,
				      .sh_type = SHT_SYMTAB,
				      .sh_offset = symbols,
				      .sh_size = (n_symbol + 1) * sizeof(Elf64_Sym),
				      .sh_link = 3,
				      .sh_info = 1,
				      .sh_entsize = sizeof(Elf64_Sym) };
	h->section[3] = (Elf64_Shdr){ .sh_name = 15,
				      .sh_type = SHT_STRTAB,
				      .sh_offset = symbols + h->section[2].sh_size,
				      .sh_size = text_size };
	h->section[4] = (Elf64_Shdr){ .sh_name = 23,
				      .sh_type = SHT_STRTAB,
				      .sh_offset = offsetof(struct head, name),
				      .sh_size = sizeof(names) };
	memcpy(h->name, names, sizeof(names));
}

static void make_file(unsigned n, unsigned n_symbol)
{
	struct head h;
	char path[64], *text = NULL;
	size_t size = 0;
	Elf64_Sym *v = calloc(n_symbol + 1, sizeof(*v));
	FILE *strings = open_memstream(&text, &size);
	if (!v || !strings)
		exit(1);
	putc('\0', strings);
	for (unsigned k = 0; k < n_symbol; k++) {
		v[k + 1] = (Elf64_Sym){ .st_name = (uint32_t)ftell(strings),
					.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
					.st_shndx = 1,
					.st_value = sizeof(h) + k * SIZE,
					.st_size = SIZE };
		fprintf(strings, "function_of_image_%u_%u%c", n, k, '\0');
	}
	fclose(strings);
	fill(&h, n, n_symbol, size);
	path_of(n, path);
	FILE *f = fopen(path, "we");
	if (!f)
		exit(1);
	fwrite(&h, sizeof(h), 1, f);
	for (unsigned k = 0; k < n_symbol * SIZE; k++)
		putc(0x90, f);
	fwrite(v, sizeof(*v), n_symbol + 1, f);
	fwrite(text, size, 1, f);
	if (fclose(f))
		exit(1);
	free(text);
	free(v);
}

static int make_recording(unsigned n_image, unsigned n_symbol)
{
	const struct us_record_stats stats = { .elapsed_ns = n_image * US_NS_PER_MS,
					       .vcpu_ns = n_image * US_NS_PER_MS,
					       .due = n_image,
					       .running = n_image };
	const uint8_t flags[] = { US_PC_USER | US_PC_EXACT, US_PC_SPACE };
	int fd = memfd_create("recording", MFD_CLOEXEC);
	struct us_writer *w;
	need(us_writer_open(fd, &w, NULL), NULL);
	for (unsigned k = 0; k < n_image; k++) {
		char path[64];
		snprintf(path, sizeof(path), "/bin/program-%u", k);
		struct us_program_file f = { .number = k + 1,
					     .build_id_len = 20,
					     .path = path };
		set_id(k, f.build_id);
		const uint64_t base = SPACING * (k + 1);
		const struct us_mapping m = { .file = k + 1,
					      .pid = 7,
					      .root = ROOT,
					      .start = base,
					      .end = base + SPACING / 2,
					      .bias = base,
					      .has_bias = true };
		const us_gva pc[] = { base + sizeof(struct head) + n_symbol / 2 * SIZE,
				      ROOT };
		const struct us_sample s = { .t_ns = k * US_NS_PER_MS,
					     .weight = 1,
					     .end = US_END_ROOT,
					     .state = US_VCPU_GUEST };
		need(us_writer_program_file(w, &f, NULL), NULL);
		need(us_writer_mapping(w, &m, NULL), NULL);
		need(us_writer_sample(w, &s, pc, flags, 2, NULL), NULL);
	}
	need(us_writer_end(w, &stats, US_RECORD_DONE, "", NULL), NULL);
	us_writer_close(w);
	lseek(fd, 0, SEEK_SET);
	return fd;
}

/* KiB of a line of /proc/self/status. */
static long status(const char *key)
{
	char line[128];
	long kib = 0;
	FILE *f = fopen("/proc/self/status", "re");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)))
			kib = strtol(line + strlen(key), NULL, 10);
	if (f)
		fclose(f);
	return kib;
}

struct taken {
	long own_kib, peak_kib;
	unsigned named;
};

static void report(int fd, struct taken *ret)
{
	const char *dir[] = { folder };
	const struct us_profile_opts o = { .dirs = { .dir = dir, .n = 1 } };
	struct us_profile *p;
	struct us_err e;
	size_t n;
	need(us_profile_read(fd, &o, &p, &e), &e);
	const struct us_profile_func *f = us_profile_funcs(p, &n);
	for (size_t k = 0; k < n; k++)
		ret->named += f[k].known && !strncmp(f[k].name, "function_of", 11);
	ret->own_kib = status("RssAnon:");
	ret->peak_kib = status("VmHWM:");
}

/* In a process of its own, whose memory is this report's alone. */
static struct taken measure(unsigned n_image, unsigned n_symbol)
{
	struct taken *t = mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char path[64];
	int code;
	if (t == MAP_FAILED)
		exit(1);
	for (unsigned k = 0; k < n_image; k++)
		make_file(k, n_symbol);
	int fd = make_recording(n_image, n_symbol);
	pid_t child = fork();
	if (child == 0) {
		report(fd, t);
		_exit(0);
	}
	if (waitpid(child, &code, 0) < 0 || code)
		exit(1);
	close(fd);
	for (unsigned k = 0; k < n_image; k++) {
		path_of(k, path);
		unlink(path);
	}
	struct taken copy = *t;
	munmap(t, sizeof(*t));
	return copy;
}

int main(void)
{
	static const unsigned rows[][2] = { { 1, 1000 },    { 100, 1000 },
					    { 1000, 100 },  { 1000, 1000 },
					    { 100, 10000 }, { 1, 100000 } };
	struct taken one = { 0 };
	if (!mkdtemp(folder))
		exit(1);
	for (unsigned k = 0; k < sizeof(rows) / sizeof(*rows); k++) {
		struct taken t = measure(rows[k][0], rows[k][1]);
		double symbols = (double)rows[k][0] * rows[k][1];
		if (!k)
			one = t;
		printf("%4u images of %6u symbols, %u named: %6.1f MiB at most, %.1f "
		       "of it "
		       "its own",
		       rows[k][0], rows[k][1], t.named, (double)t.peak_kib / 1024,
		       (double)t.own_kib / 1024);
		if (k)
			printf(": %.0f bytes a symbol more than the first row",
			       (double)(t.own_kib - one.own_kib) * 1024 / symbols);
		putchar('\n');
		fflush(stdout);
	}
	rmdir(folder);
	return 0;
}
