/* SPDX-License-Identifier: GPL-2.0-or-later */
/* unit.h: cmocka and the headers that it wants before it. */
#ifndef US_TEST_UNIT_H
#define US_TEST_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#endif
