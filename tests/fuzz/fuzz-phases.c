/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz-phases.c: any bytes as what QEMU's plugin leaves of a boot: the trees that it
 * counts in, and how they were at the points.  What is made of them is a recording, and
 * a profile of it is the whole of its phases.
 */
#include "profile/profile.h"
#include "report/report.h"
#include "trace/phases_read.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NODES 16
#define VCPUS 2
#define VCPU  (2 * US_COUNTS_PAGE)
#define WHOLE (US_COUNTS_PAGE + VCPUS * VCPU)
/* The input: 1 byte, each vCPU with its nodes, the file of phases. */
#define COUNTED (sizeof(struct us_counts_vcpu) + NODES * sizeof(struct us_counts_node))

static void must(bool holds)
{
	if (!holds)
		__builtin_trap();
}

static int make_file(const void *bytes, size_t size, char path[static 32])
{
	int fd = memfd_create("fuzz-phases", MFD_CLOEXEC);
	must(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
	snprintf(path, 32, "/proc/self/fd/%d", fd);
	return fd;
}

static int make_counts(const uint8_t *data, size_t size, char path[static 32])
{
	static uint8_t file[WHOLE];
	struct us_counts_head head = { .magic = US_COUNTS_MAGIC,
				       .version = US_COUNTS_VERSION,
				       .n_vcpu = VCPUS,
				       .n_node = NODES,
				       .vcpu_offset = US_COUNTS_PAGE,
				       .vcpu_stride = VCPU,
				       .node_offset = US_COUNTS_PAGE,
				       .size = WHOLE,
				       .n_seen = VCPUS,
				       .target = "x86_64" };
	memset(file, 0, sizeof(file));
	memcpy(file, &head, sizeof(head));
	for (unsigned i = 0; i < VCPUS && size >= COUNTED; i++) {
		uint8_t *vcpu = file + US_COUNTS_PAGE + i * VCPU;
		memcpy(vcpu, data, sizeof(struct us_counts_vcpu));
		memcpy(vcpu + US_COUNTS_PAGE, data + sizeof(struct us_counts_vcpu),
		       COUNTED - sizeof(struct us_counts_vcpu));
		data += COUNTED;
		size -= COUNTED;
	}
	return make_file(file, sizeof(file), path);
}

static bool any(void *ctx, uint32_t point)
{
	(void)ctx;
	return point % 7;
}

/* Its phases are the whole. */
static void check(int fd, uint64_t insns)
{
	struct us_profile *p = NULL;
	struct us_err e;
	size_t n, n_node;
	uint64_t sum = 0;
	lseek(fd, 0, SEEK_SET);
	if (us_profile_read(fd, NULL, &p, &e) < 0)
		return;
	const struct us_profile_phase *phase = us_profile_phases(p, &n);
	const struct us_profile_node *node = us_profile_nodes(p, &n_node);
	must(n <= US_PROFILE_MAX_PHASE);
	for (size_t i = 0; i < n; i++) {
		must(phase[i].node < n_node);
		sum += phase[i].node ? node[phase[i].node].total : 0;
	}
	must(sum == us_profile_summary(p)->running && sum == insns);
	FILE *null = fopen("/dev/null", "w");
	must(null && us_report(p, us_format_by_name("phases"), NULL, null, &e) == 0);
	fclose(null);
	us_profile_free(p);
}

static void record(const char *counts, const char *phases, bool to_end)
{
	struct us_counts_sums sums;
	struct us_record_stats stats = { 0 };
	struct us_symbols *s = NULL;
	struct us_writer *w = NULL;
	struct us_phases p = { 0 };
	struct us_counts c;
	struct us_err e;
	int fd = memfd_create("fuzz-phases", MFD_CLOEXEC);
	must(us_counts_open(counts, &c, &e) == 0 && us_symbols_new(&s, &e) == 0 &&
	     us_writer_open(fd, &w, &e) == 0 &&
	     us_phases_open(phases, any, NULL, &p, &e) == 0);
	must(us_writer_fact(w, "phase:1", "0 31000000 firmware", &e) == 0);
	if (us_phases_record(&p, &c, to_end, s, w, &sums, &e) == 0 &&
	    us_writer_end(w, &stats, US_RECORD_DONE, "", &e) == 0)
		check(fd, sums.insns);
	us_writer_close(w);
	us_symbols_free(s);
	us_counts_close(&c);
	us_phases_close(&p);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char counts[32], phases[32];
	if (!size)
		return 0;
	size_t head = size - 1 < VCPUS * COUNTED ? size - 1 : VCPUS * COUNTED;
	int of_counts = make_counts(data + 1, head, counts);
	int of_phases = make_file(data + 1 + head, size - 1 - head, phases);
	record(counts, phases, data[0] & 1);
	close(of_counts);
	close(of_phases);
	return 0;
}
