/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any process may have any command line, and the name of a VMM. */
#include "vmm/cmdline.h"
#include "vmm/guest_threads.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define WORDS 64

static void check(const struct us_cmdline *c)
{
	if (strlen(c->name) >= sizeof(c->name) ||
	    strlen(c->kernel) >= sizeof(c->kernel) ||
	    strlen(c->counts) >= sizeof(c->counts) ||
	    strlen(c->gdb) >= sizeof(c->gdb) || c->n_qmp > US_CMDLINE_MONITORS ||
	    c->n_piece > US_CMDLINE_PIECES)
		abort();
	uint64_t sum = 0;
	for (unsigned i = 0; i < c->n_piece; i++)
		sum += c->piece[i];
	if (c->n_piece && sum != c->memory)
		abort();
}

/* The first byte picks the VMM, newlines end the words. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const vmms[] = { "qemu",   "firecracker", "cloud-hypervisor",
					    "crosvm", "lkvm",	     "solo5-hvt",
					    "other" };
	static struct us_cmdline c;
	const char *argv[WORDS] = { "vmm" };
	unsigned argc = 1;
	if (!size)
		return 0;
	char *text = malloc(size), name[32];
	if (!text)
		return 0;
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	for (char *w = text; w && argc < WORDS;) {
		argv[argc++] = w;
		w = strchr(w, '\n');
		if (w)
			*w++ = '\0';
	}
	const char *vmm = vmms[data[0] % (sizeof(vmms) / sizeof(*vmms))];
	us_cmdline_parse(vmm, argc, argv, &c);
	check(&c);
	us_vmm_name(argv[1], name, sizeof(name));
	us_thread_vcpu(argv[1]);
	us_thread_kvm_run(argv[1]);
	free(text);
	return 0;
}
