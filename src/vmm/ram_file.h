/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ram_file.h: the file that a VMM has mapped as memory of its guest. */
#ifndef US_VMM_RAM_FILE_H
#define US_VMM_RAM_FILE_H

#include "vmm/proc.h"

struct us_ram_file {
	us_hva start, end; /* of the mapping in the VMM */
	int fd;		   /* to read; -1: not possible, which is no error */
	uint64_t offset;   /* of the mapping in the file */
	char kind[16];	   /* "memfd", "hugetlbfs", "file" */
};

/* Open the file of a shared mapping of the process read-only, if that is safe (ram.h).
 */
void us_ram_file_open(pid_t pid, const struct us_map *m, struct us_ram_file *ret);
void us_ram_file_close(struct us_ram_file *f);

/* Is the file still as long as its mapping? */
bool us_ram_file_is_whole(const struct us_ram_file *f);

#endif
