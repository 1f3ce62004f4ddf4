/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bench-symbol.c: a million symbols, and lines with inlined calls, beside libdwfl and
 * addr2line on the same file; or, bench-symbol ELF, a large image of the user's. */
#include "bench.h"
#include "symbol/elf_file.h"
#include "symbol/symbol.h"

#include <elf.h>
#include <elfutils/libdwfl.h>
#include <malloc.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define N_SYMBOL  1000000U
#define TEXT	  0xffffffff81000000ULL
#define N_LOOKUP  1000000U
#define N_HOT	  4096U
#define N_FILE	  12
#define N_FUNC	  100
#define LINE_STEP 5 /* bytes between the addresses whose lines are asked for */

/* Symbols of 16 bytes each in the order of a hash table, as ld writes them. */
static void put_symbols(FILE *f, uint64_t *ret_names_at)
{
	uint32_t *name = malloc(N_SYMBOL * sizeof(*name));
	uint32_t at = 1;
	if (!name)
		exit(1);
	*ret_names_at = (uint64_t)ftell(f);
	putc('\0', f);
	for (uint32_t i = 0; i < N_SYMBOL; i++) {
		name[i] = at;
		at += (uint32_t)fprintf(f, "subsystem_function_%u", i) + 1;
		putc('\0', f);
	}
	while (ftell(f) % 8)
		putc('\0', f);
	fwrite(&(Elf64_Sym){ 0 }, sizeof(Elf64_Sym), 1, f);
	for (uint32_t i = 0; i < N_SYMBOL; i++) {
		uint32_t k = (uint32_t)(i * 611953ULL % N_SYMBOL);
		Elf64_Sym s = { .st_name = name[k],
				.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
				.st_shndx = 1,
				.st_value = TEXT + k * 16ULL,
				.st_size = 16 };
		fwrite(&s, sizeof(s), 1, f);
	}
	free(name);
}

static void make_symbols(const char *path)
{
	FILE *f = fopen(path, "w+");
	Elf64_Ehdr h = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB,
				      EV_CURRENT },
			 .e_type = ET_EXEC,
			 .e_machine = EM_X86_64,
			 .e_version = EV_CURRENT,
			 .e_ehsize = sizeof(h),
			 .e_phoff = sizeof(h),
			 .e_phentsize = sizeof(Elf64_Phdr),
			 .e_phnum = 1,
			 .e_shentsize = sizeof(Elf64_Shdr),
			 .e_shnum = 4,
			 .e_shstrndx = 3 };
	Elf64_Phdr p = { .p_type = PT_LOAD,
			 .p_flags = PF_X,
			 .p_vaddr = TEXT,
			 .p_memsz = N_SYMBOL * 16ULL };
	uint64_t names_at;
	if (!f)
		exit(1);
	fwrite(&h, sizeof(h), 1, f);
	fwrite(&p, sizeof(p), 1, f);
	put_symbols(f, &names_at);
	uint64_t table = (N_SYMBOL + 1) * sizeof(Elf64_Sym);
	h.e_shoff = (uint64_t)ftell(f);
	Elf64_Shdr s[4] = { [1] = { .sh_type = SHT_NOBITS,
				    .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
				    .sh_addr = TEXT,
				    .sh_size = N_SYMBOL * 16ULL },
			    [2] = { .sh_type = SHT_SYMTAB,
				    .sh_offset = h.e_shoff - table,
				    .sh_size = table,
				    .sh_link = 3,
				    .sh_info = 1,
				    .sh_addralign = 8,
				    .sh_entsize = sizeof(Elf64_Sym) },
			    [3] = { .sh_type = SHT_STRTAB,
				    .sh_offset = names_at,
				    .sh_size = h.e_shoff - table - names_at } };
	fwrite(s, sizeof(s), 1, f);
	rewind(f);
	fwrite(&h, sizeof(h), 1, f);
	if (fclose(f) != 0)
		exit(1);
}

static uint64_t sum_of_file(const char *path)
{
	struct us_elf_file f;
	uint64_t sum = 0;
	struct us_err e;
	need(us_elf_file_open(path, &f, &e), &e);
	uint64_t begin = us_thread_cpu_ns();
	for (size_t i = 0; i + 8 <= f.size; i += 8) {
		uint64_t word;
		memcpy(&word, f.bytes + i, sizeof(word));
		sum += word;
	}
	uint64_t ns = us_thread_cpu_ns() - begin + (sum == 42);
	us_elf_file_close(&f);
	return ns;
}

static double dwfl_name_ns(const char *path, unsigned n)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_build_id_find_elf,
		.section_address = dwfl_offline_section_address,
		.find_debuginfo = dwfl_standard_find_debuginfo,
	};
	Dwfl *dwfl = dwfl_begin(&callbacks);
	Dwfl_Module *m = dwfl_report_elf(dwfl, path, path, -1, 0, false);
	uint64_t random = 3;
	dwfl_report_end(dwfl, NULL, NULL);
	if (!m || !dwfl_module_addrname(m, TEXT)) {
		dwfl_end(dwfl);
		return 0;
	}
	uint64_t begin = us_thread_cpu_ns();
	for (unsigned i = 0; i < n; i++)
		dwfl_module_addrname(m, TEXT + bench_random(&random) % N_SYMBOL * 16);
	double ns = (double)(us_thread_cpu_ns() - begin) / n;
	dwfl_end(dwfl);
	return ns;
}

static void million_symbols(const char *path)
{
	struct us_elf_image *i;
	struct us_err e;
	uint64_t random = 3;
	size_t hit = 0;
	make_symbols(path);
	uint64_t begin = us_thread_cpu_ns();
	need(us_elf_image_open(path, &i, &e), &e);
	double load = (double)(us_thread_cpu_ns() - begin);
	double floor = (double)sum_of_file(path);
	printf("load %u symbols: %.0f ms, %.1f times reading the file's words\n",
	       N_SYMBOL, load / 1e6, load / floor);
	begin = us_thread_cpu_ns();
	for (unsigned k = 0; k < N_LOOKUP; k++)
		hit += us_elf_image_find(i, TEXT + bench_random(&random) % N_SYMBOL *
							    16) != NULL;
	double ns = (double)(us_thread_cpu_ns() - begin) / N_LOOKUP;
	double dwfl = dwfl_name_ns(path, 20);
	printf("find a symbol at random: %.0f ns (%zu found); libdwfl %.0f ns, "
	       "%.0f times as long\n",
	       ns, hit, dwfl, dwfl / ns);
	us_elf_image_close(i);
	unlink(path);
}

/* Functions with calls inlined into each other, as kernels have them. */
static void make_source(const char *path, int file)
{
	FILE *f = fopen(path, "w");
	if (!f)
		exit(1);
	fprintf(f, "#define I static inline __attribute__((always_inline)) int\n"
		   "extern volatile int sink;\n"
		   "I a(int x) {\n\treturn sink + x;\n}\n"
		   "I b(int x) {\n\treturn x ? a(x) * a(x + 1) : a(x - 2);\n}\n"
		   "I c(int x) {\n\tint s = 0;\n\twhile (x--)\n\t\ts += b(x);\n"
		   "\treturn s;\n}\n");
	for (int i = 0; i < N_FUNC; i++)
		fprintf(f,
			"int f%d_%d(int x);\nint f%d_%d(int x) {\n"
			"\tif (x > %d)\n\t\tsink = c(x);\n\telse\n\t\tsink = b(x);\n"
			"\treturn c(x + 1) + b(x);\n}\n",
			file, i, file, i, i);
	if (file == 0)
		fprintf(f, "volatile int sink;\nint main(void) { return 0; }\n");
	fclose(f);
}

static bool make_program(const char *dir, const char *path)
{
	char source[128], command[1024];
	for (int i = 0; i < N_FILE; i++) {
		snprintf(source, sizeof(source), "%s/s%d.c", dir, i);
		make_source(source, i);
	}
	snprintf(command, sizeof(command), "cc -O2 -g -no-pie -o %s %s/s*.c", path,
		 dir);
	return system(command) == 0;
}

static double addr2line_ns(const char *dir, const char *path,
			   const struct us_elf_file *f)
{
	char name[128], command[512];
	struct rusage before, after;
	snprintf(name, sizeof(name), "%s/addrs", dir);
	FILE *out = fopen(name, "w");
	if (!out)
		exit(1);
	for (size_t i = 0; i < f->n_code; i++)
		for (uint64_t at = f->code[i].start; at < f->code[i].end;
		     at += LINE_STEP)
			fprintf(out, "%llx\n", (unsigned long long)at);
	fclose(out);
	snprintf(command, sizeof(command), "addr2line -if -e %s < %s > /dev/null", path,
		 name);
	getrusage(RUSAGE_CHILDREN, &before);
	int r = system(command);
	getrusage(RUSAGE_CHILDREN, &after);
	return r ? 0
		 : (double)(after.ru_utime.tv_sec - before.ru_utime.tv_sec) * 1e9 +
			       (double)(after.ru_utime.tv_usec -
					before.ru_utime.tv_usec) *
				       1e3;
}

static size_t look_up_all(struct us_symbols *s, const struct us_elf_file *f,
			  size_t *ret_frames)
{
	struct us_frame frames[16];
	size_t n = 0;
	*ret_frames = 0;
	for (size_t i = 0; i < f->n_code; i++)
		for (uint64_t at = f->code[i].start; at < f->code[i].end;
		     at += LINE_STEP, n++)
			*ret_frames += us_symbols_lookup(s, at, false, frames, 16);
	return n;
}

static double again_ns(struct us_symbols *s, const struct us_elf_file *f)
{
	struct us_frame frames[16];
	const struct us_elf_code *c = f->code;
	for (size_t i = 1; i < f->n_code; i++)
		if (f->code[i].end - f->code[i].start > c->end - c->start)
			c = &f->code[i];
	uint64_t random = 3;
	uint64_t begin = us_thread_cpu_ns();
	for (unsigned k = 0; k < N_LOOKUP; k++)
		us_symbols_lookup(s, c->start + bench_random(&random) % N_HOT, false,
				  frames, 16);
	return (double)(us_thread_cpu_ns() - begin) / N_LOOKUP;
}

static void lines(const char *dir, const char *path)
{
	struct us_elf_image *i;
	struct us_symbols *s;
	struct us_err e;
	size_t frames;
	if (!make_program(dir, path)) {
		printf("SKIP: no compiler for the lines\n");
		return;
	}
	uint64_t begin = us_thread_cpu_ns();
	need(us_elf_image_open(path, &i, &e), &e);
	need(us_symbols_new(&s, &e), &e);
	need(us_symbols_add(s, i, 0, &e), &e);
	const struct us_elf_file *f = us_elf_image_file(i);
	size_t n = look_up_all(s, f, &frames);
	double all = (double)(us_thread_cpu_ns() - begin);
	double theirs = addr2line_ns(dir, path, f);
	printf("lines of %zu addresses, %.2f frames each: %.0f ns with opening and "
	       "indexing; addr2line -if %.0f ns, %.1f times as long\n",
	       n, (double)frames / (double)n, all / (double)n, theirs / (double)n,
	       theirs / all);
	again_ns(s, f);
	printf("again, %u hot addresses: %.0f ns\n", N_HOT, again_ns(s, f));
	us_symbols_free(s);
}

static bool is_table(const struct us_elf_section *s)
{
	static const char *const names[] = {
		".debug_abbrev",      ".debug_addr",   ".debug_info",	  ".debug_line",
		".debug_line_str",    ".debug_ranges", ".debug_rnglists", ".debug_str",
		".debug_str_offsets", ".symtab",       ".strtab"
	};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(s->name, names[i]))
			return true;
	return false;
}

static size_t allocated(void)
{
	struct mallinfo2 m = mallinfo2();
	return m.uordblks + m.hblkhd;
}

/* n addresses spread evenly over the code. */
static void look_up_spread(struct us_symbols *s, const struct us_elf_file *f, size_t n,
			   const char *what, double opened)
{
	struct us_frame frames[16];
	uint64_t total = 0;
	size_t n_frame = 0, n_line = 0;
	for (size_t i = 0; i < f->n_code; i++)
		total += f->code[i].end - f->code[i].start;
	const struct us_elf_code *c = f->code;
	uint64_t begin = us_thread_cpu_ns(), before = 0; /* code before *c */
	for (size_t i = 0; i < n; i++) {
		uint64_t at = (uint64_t)((double)total / (double)n * (double)i);
		while (at - before >= c->end - c->start) {
			before += c->end - c->start;
			c++;
		}
		size_t k = us_symbols_lookup(s, c->start + at - before, false, frames,
					     16);
		n_frame += k;
		n_line += k && frames[0].line;
	}
	printf("%s: %.3f s, %.2f frames each, %.1f %% with lines\n", what,
	       (opened + (double)(us_thread_cpu_ns() - begin)) / 1e9,
	       (double)n_frame / (double)n, 100 * (double)n_line / (double)n);
}

/* A large image of the user's: the time to its first report, a million addresses, and
 * the memory that both take. */
static void large_image(const char *path)
{
	static const struct us_debug_dirs none;
	struct us_elf_image *i;
	struct us_symbols *s;
	struct us_err e;
	size_t before = allocated(), tables = 0;
	uint64_t begin = us_thread_cpu_ns();
	need(us_elf_image_open(path, &i, &e), &e);
	if (us_elf_image_find_debug(i, &none, &e) < 0)
		printf("# %s\n", e.msg);
	need(us_symbols_new(&s, &e), &e);
	need(us_symbols_add(s, i, 0, &e), &e);
	double opened = (double)(us_thread_cpu_ns() - begin);
	const struct us_elf_file *f = us_elf_image_dwarf(i);
	for (size_t k = 0; k < f->n_section; k++)
		tables += is_table(&f->section[k]) ? f->section[k].size : 0;
	printf("%s: %.1f MB, tables %.1f MB\n", path, (double)f->size / 1e6,
	       (double)tables / 1e6);
	f = us_elf_image_file(i);
	look_up_spread(s, f, 1000, "open, and 1000 addresses all over it", opened);
	look_up_spread(s, f, 1000000, "a million addresses", 0);
	printf("memory: %.1f MB, %.2f times the tables\n",
	       (double)(allocated() - before) / 1e6,
	       (double)(allocated() - before) / (double)tables);
	us_symbols_free(s);
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		large_image(argv[1]);
		return 0;
	}
	char dir[] = "/tmp/uniscope-bench-XXXXXX", path[64], clean[64];
	if (!mkdtemp(dir))
		return 1;
	snprintf(path, sizeof(path), "%s/elf", dir);
	million_symbols(path);
	lines(dir, path);
	snprintf(clean, sizeof(clean), "rm -rf %s", dir);
	return system(clean) != 0;
}
