/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench-cfi.c: tables of call frame information: their making, size and look-ups,
 * beside libdw on the same file.
 */
#include "bench.h"
#include "symbol/elf_cfi.h"

#include <elfutils/libdw.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#define N_ADDR	 4096
#define N_LOOKUP 10000000
#define N_LIBDW	 20000

static long peak_kib(void)
{
	struct rusage u;
	getrusage(RUSAGE_SELF, &u);
	return u.ru_maxrss;
}

/* Addresses with rules, spread over the table. */
static void pick(const struct us_cfi_table *t, const struct us_cfi_table_info *info,
		 uint64_t addr[N_ADDR])
{
	uint64_t seed = 1;
	struct us_cfi_row row;
	for (size_t i = 0; i < N_ADDR;) {
		uint64_t at = info->start +
			      bench_random(&seed) % (info->end - info->start);
		if (us_cfi_table_find(t, at, &row))
			addr[i++] = at;
	}
}

/* ns a look-up among n addresses, a power of two; a profile has few. */
static double look_up(const struct us_cfi *c, const uint64_t addr[N_ADDR], unsigned n)
{
	struct us_cfi_row row;
	uint64_t seed = 1, sum = 0, t = us_thread_cpu_ns();
	for (unsigned i = 0; i < N_LOOKUP; i++) {
		/* The next address depends on this look-up, as in a walk. */
		uint64_t k = bench_random(&seed) + (sum & 1);
		if (us_cfi_find(c, 0, addr[k & (n - 1)], &row))
			sum += (uint64_t)row.rule->cfa_off + row.start;
	}
	t = us_thread_cpu_ns() - t;
	return (double)t / N_LOOKUP + (sum == 1); /* sum is used */
}

/* What libdw needs for the same, FDEs interned before. */
static double look_up_libdw(const char *path, const uint64_t addr[N_ADDR])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf *elf = elf_version(EV_CURRENT) ? elf_begin(fd, ELF_C_READ_MMAP, NULL)
					   : NULL;
	Dwarf_CFI *cfi = elf ? dwarf_getcfi_elf(elf) : NULL;
	Dwarf_Frame *f;
	double ns = 0;
	for (unsigned round = 0; cfi && round < 2; round++) {
		uint64_t t = us_thread_cpu_ns();
		for (unsigned i = 0; i < N_LIBDW; i++)
			if (dwarf_cfi_addrframe(cfi, addr[i % N_ADDR], &f) == 0)
				free(f);
		ns = (double)(us_thread_cpu_ns() - t) / N_LIBDW;
	}
	dwarf_cfi_end(cfi);
	elf_end(elf);
	close(fd);
	return ns;
}

static void measure(const char *path)
{
	static uint64_t addr[N_ADDR];
	static struct us_cfi c;
	struct us_elf_file f;
	struct us_elf_cfi_stats stats;
	struct us_cfi_table *t;
	struct us_cfi_table_info info;
	struct us_err e;
	need(us_elf_file_open(path, &f, &e), &e);
	long before = peak_kib();
	uint64_t ns = us_thread_cpu_ns();
	need(us_elf_cfi_read(&f, NULL, &t, &stats, &e), &e);
	ns = us_thread_cpu_ns() - ns;
	us_cfi_table_info(t, &info);
	printf("%s: %zu functions, %zu rows, %zu rules\n", path, stats.n_fde,
	       info.n_row, info.n_rule);
	if (info.n_row < 100)
		return;
	printf("  made in %.1f ms (%.0f ns a row); %zu KiB, %.2f bytes a row; peak "
	       "%ld KiB above what was in use\n",
	       (double)ns / 1e6, (double)ns / (double)info.n_row, info.bytes / 1024,
	       (double)info.bytes / (double)info.n_row, peak_kib() - before);
	pick(t, &info, addr);
	us_cfi_place(&c, t, 0, US_CFI_ANY_ROOT);
	double hot = look_up(&c, addr, 32), cold = look_up(&c, addr, N_ADDR);
	double libdw = look_up_libdw(path, addr);
	printf("  look-up %.0f ns among 32 addresses, %.0f ns among %d", hot, cold,
	       N_ADDR);
	if (libdw > 0)
		printf("; libdw %.0f ns, %.0f times as much", libdw, libdw / cold);
	printf("\n");
	us_cfi_remove(&c, t);
	us_cfi_table_free(t);
	us_elf_file_close(&f);
}

int main(int argc, char **argv)
{
	static const char *const usual[] = { "/proc/self/exe",
					     "/lib/x86_64-linux-gnu/libc.so.6",
					     "/lib/x86_64-linux-gnu/libLLVM-15.so.1",
					     "/lib/x86_64-linux-gnu/libLLVM-14.so.1" };
	for (int i = 1; i < argc; i++)
		measure(argv[i]);
	for (size_t i = 0; argc < 2 && i < sizeof(usual) / sizeof(*usual); i++)
		if (access(usual[i], R_OK) == 0)
			measure(usual[i]);
	return 0;
}
