/* SPDX-License-Identifier: GPL-2.0-or-later */
/* folder.h: does a folder that the user named exist?  Its disk may not answer. */
#ifndef US_CMD_FOLDER_H
#define US_CMD_FOLDER_H

#define US_FOLDER_WAIT_S 2

enum us_folder {
	US_FOLDER_THERE,
	US_FOLDER_NONE,	  /* no such folder, or no permission */
	US_FOLDER_SILENT, /* no answer in US_FOLDER_WAIT_S */
};

/* Checks with a child process, so that only that hangs if the disk does.  Call it
 * before there are threads. */
enum us_folder us_folder_look(const char *path);

#endif
