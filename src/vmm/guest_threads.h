/* SPDX-License-Identifier: GPL-2.0-or-later */
/* guest_threads.h: which thread of a VMM runs which vCPU. */
#ifndef US_VMM_GUEST_THREADS_H
#define US_VMM_GUEST_THREADS_H

#include "vmm/guest_list.h"

#define US_THREAD_ALL (-2) /* one thread for all vCPUs */

/* The vCPU that a thread is named for, US_THREAD_ALL, or -1. */
int us_thread_vcpu(const char *comm);

/* The fd in "16 0xFD 0xae80 ...": the thread sleeps in ioctl(FD, KVM_RUN) on x86-64
 * or (syscall 29) arm64 and riscv64; -1 if it does not. */
int us_thread_kvm_run(const char *syscall);

/* Set the tid of each vCPU whose thread can be found; proc is us_proc_open() of the
 * guest. */
void us_guest_find_threads(int proc, struct us_guest *g);

/* The thread of the process with this id in its own pid namespace; 0: none. */
pid_t us_thread_by_inner_id(int proc, pid_t inner);

#endif
