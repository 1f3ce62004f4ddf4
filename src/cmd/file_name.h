/* SPDX-License-Identifier: GPL-2.0-or-later */
/* file_name.h: the file name of a guest's recording, so that users find it. */
#ifndef US_CMD_FILE_NAME_H
#define US_CMD_FILE_NAME_H

#include "vmm/guest_list.h"

/*
 * The n-th choice, from 0, of a file name for a guest's recording: "web.data",
 * "web-4711.data", "web-4711-2.data", ...; without a name "4711.data", "4711-2.data".
 * '_' replaces everything but letters, digits, '.', '-' and '_', and also a leading
 * '.'.
 */
void us_file_name(const struct us_guest *g, unsigned n, char *ret, size_t size);

#endif
