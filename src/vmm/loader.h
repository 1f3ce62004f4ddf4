/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * loader.h: a program that is executed through the dynamic loader (ld.so(8)), such as a
 * QEMU that was unpacked somewhere with libraries of its own.  For the kernel, and so
 * in /proc, the loader is what runs; its command line ends with the program's.
 */
#ifndef US_VMM_LOADER_H
#define US_VMM_LOADER_H

#include <stdbool.h>

/* Is this a loader, judging by the last part of its path? */
bool us_is_loader(const char *path);
/* Which word names the program: 0 if the first is no loader, or executes nothing.  The
 * words may be anything. */
unsigned us_loader_skip(unsigned argc, const char *const argv[]);
/* The same for a command that ends with NULL: returns it from the program on.  It may
 * also begin with programs that become a VMM, such as env or taskset. */
char *const *us_loader_program(char *const *argv);

#endif
