/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xen/libs.h: Xen's libraries, loaded when the first handle is opened.
 *
 * If they were linked, every machine that runs the program would need them, and most
 * have no Xen.  libxencall and libxenforeignmemory promise a stable interface (soname
 * 1); libxenctrl does not, which is one more reason not to use it.
 */
#ifndef US_VMM_XEN_LIBS_H
#define US_VMM_XEN_LIBS_H

#include "base/err.h"

#include <xencall.h>
#include <xenforeignmemory.h>
#include <xentoollog.h>

struct us_xen_libs {
	typeof(xencall_open) *call_open;
	typeof(xencall_close) *call_close;
	typeof(xencall1) *call1;
	typeof(xencall2) *call2;
	typeof(xencall_alloc_buffer_pages) *alloc_pages;
	typeof(xencall_free_buffer_pages) *free_pages;
	typeof(xenforeignmemory_open) *memory_open;
	typeof(xenforeignmemory_close) *memory_close;
	typeof(xenforeignmemory_map) *memory_map;
	typeof(xenforeignmemory_unmap) *memory_unmap;
	xentoollog_logger silent; /* else they write to standard error */
};

/* Load the libraries; they are never unloaded.  -ENOENT: not on this machine; -ENODEV:
 * no Xen runs here, or this is not the domain that controls the others. */
US_MUST_CHECK int us_xen_libs(struct us_xen_libs **ret, struct us_err *e);

#endif
