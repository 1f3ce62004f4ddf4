/* SPDX-License-Identifier: GPL-2.0-or-later */
/* file_name.h: how the file of a guest's recording is called, so that it is found. */
#ifndef US_CMD_FILE_NAME_H
#define US_CMD_FILE_NAME_H

#include "vmm/guest_list.h"

/*
 * The n-th choice of a name for the file of a guest's recording, from 0: "web.data",
 * "web-4711.data", "web-4711-2.data", ...; without a name "4711.data", "4711-2.data".
 * What is no letter, digit, '.', '-' or '_' is '_', and so is a '.' that it begins
 * with.
 */
void us_file_name(const struct us_guest *g, unsigned n, char *ret, size_t size);

#endif
