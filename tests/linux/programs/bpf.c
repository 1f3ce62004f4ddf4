/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bpf: run two BPF programs for ever, one three times as long as the other.
 *
 * They have no loop: that is all that a kernel of any version accepts.
 */
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LONG 3000 /* instructions */

static struct bpf_insn insn[LONG + 2];

static int load(const char *name, unsigned n)
{
	union bpf_attr a = { 0 };
	for (unsigned k = 0; k < n; k++)
		insn[k] = (struct bpf_insn){ BPF_ALU64 | BPF_ADD | BPF_K, 0, 0, 0, 7 };
	insn[0] = (struct bpf_insn){ BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 1 };
	insn[n] = (struct bpf_insn){ BPF_JMP | BPF_EXIT, 0, 0, 0, 0 };
	a.prog_type = BPF_PROG_TYPE_SOCKET_FILTER;
	a.insns = (uintptr_t)insn;
	a.insn_cnt = n + 1;
	a.license = (uintptr_t) "GPL";
	snprintf(a.prog_name, sizeof(a.prog_name), "%s", name);
	return (int)syscall(SYS_bpf, BPF_PROG_LOAD, &a, sizeof(a));
}

static int run(int fd)
{
	static uint8_t packet[64];
	union bpf_attr a = { 0 };
	a.test.prog_fd = (uint32_t)fd;
	a.test.data_in = (uintptr_t)packet;
	a.test.data_size_in = sizeof(packet);
	a.test.repeat = 1000;
	return (int)syscall(SYS_bpf, BPF_PROG_TEST_RUN, &a, sizeof(a));
}

int main(void)
{
	int much = load("much_work", LONG), less = load("less_work", LONG / 3);
	if (much < 0 || less < 0) {
		perror("BPF_PROG_LOAD");
		return 1;
	}
	puts("loaded");
	fflush(stdout);
	while (run(much) == 0 && run(less) == 0)
		;
	perror("BPF_PROG_TEST_RUN");
	return 1;
}
