/* SPDX-License-Identifier: GPL-2.0-or-later */
/* table.h: the table of interrupt stubs of counted.S, with -DTABLE. */
#ifndef GUEST_TABLE_H
#define GUEST_TABLE_H

#define TABLE_STRIDE 16
#define TRAP_VECTOR  0x90

#endif
