/* SPDX-License-Identifier: GPL-2.0-or-later */
/* folder.h: is a folder there that the user names?  Its disk may not answer. */
#ifndef US_CMD_FOLDER_H
#define US_CMD_FOLDER_H

#define US_FOLDER_WAIT_S 2

enum us_folder {
	US_FOLDER_THERE,
	US_FOLDER_NONE,	  /* no folder of that name, or it may not be looked at */
	US_FOLDER_SILENT, /* no answer in US_FOLDER_WAIT_S */
};

/* By a process of its own, which alone hangs where the disk does: call it before there
 * are threads. */
enum us_folder us_folder_look(const char *path);

#endif
