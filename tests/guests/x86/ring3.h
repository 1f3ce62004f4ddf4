/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ring3.h: what the kernel and the program of the guest ring3 have in common. */
#ifndef GUEST_RING3_H
#define GUEST_RING3_H

/* The program's addresses: below the kernel, and not those of its own memory. */
#define USER_TEXT	0x10000000
#define USER_STACK	0x20000000 /* its end; of vCPU n, n * USER_SLOT further */
#define USER_PAGE	0x30000000 /* comes only when it is touched; likewise */
#define USER_SLOT	0x100000
#define USER_TEXT_PAGES 4

#define GATE_VECTOR  0x80
#define FAULT_VECTOR 14

/* System calls, in rax; an argument in rdi. */
#define CALL_WORK   0
#define CALL_REPORT 1
#define CALL_UNMAP  2
/* Of a guest that states what calls were made of it: these give back
 * call * CALL_VALUE + argument, those above N_CALL an error; and one that prints it. */
#define CALL_SUM   10
#define N_SUM	   5
#define CALL_GATE  20
#define CALL_STATE 31
#define N_CALL	   32
#define CALL_VALUE 1000
#define NO_CALL	   38 /* the errno */
#define N_ROUND	   400

#define SELECTOR_USER_DATA 0x2b
#define SELECTOR_USER_CODE 0x33
#define SELECTOR_TSS	   0x38

/* Of a vCPU's struct, by which gs points at it in the kernel. */
#define CPU_USER_RSP   0
#define CPU_KERNEL_RSP 8
#define CPU_FRAME      16 /* 8 words */

#endif
