/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ram_file.h: map the memory file of a VMM into our own address space. */
#ifndef US_VMM_RAM_FILE_H
#define US_VMM_RAM_FILE_H

#include "vmm/proc.h"

struct us_ram_file {
	us_hva start, end;   /* of the mapping in the VMM */
	const uint8_t *host; /* our mapping; NULL: not possible, which is no error */
	int fd;		     /* -1 if host is NULL */
	uint64_t offset;
	char kind[16]; /* "memfd", "hugetlbfs", "file" */
};

/* Map one shared file mapping of the process read-only, if that is safe (ram.h). */
void us_ram_file_open(pid_t pid, const struct us_map *m, struct us_ram_file *ret);
void us_ram_file_close(struct us_ram_file *f);

/* Is the file still as long as its mapping? */
bool us_ram_file_is_whole(const struct us_ram_file *f);

#endif
