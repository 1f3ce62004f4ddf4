/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kvm/vcpu_file.c: see kvm/vcpu_file.h. */
#include "backend/kvm/vcpu_file.h"
#include "base/cleanup.h"

#include <errno.h>
#include <linux/kcmp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

union control {
	char room[CMSG_SPACE(sizeof(int))];
	struct cmsghdr head;
};

/* Send it to a socket that nobody reads. */
static int keep(int fd)
{
	int pair[2];
	union control control = { 0 };
	struct iovec one = { .iov_base = "", .iov_len = 1 };
	struct msghdr m = { .msg_iov = &one,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof(control) };
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return -1;
	struct cmsghdr *c = &control.head;
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	bool sent = sendmsg(pair[0], &m, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
	close(pair[0]);
	if (sent)
		return pair[1];
	close(pair[1]);
	return -1;
}

/* A descriptor of the file, which stays in the queue; or -1. */
static int look_at(int kept)
{
	char byte;
	int fd = -1;
	union control control = { 0 };
	struct iovec one = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr m = { .msg_iov = &one,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof(control) };
	int flags = MSG_PEEK | MSG_DONTWAIT | MSG_CMSG_CLOEXEC;
	if (kept < 0 || recvmsg(kept, &m, flags) != 1)
		return -1;
	const struct cmsghdr *c = &control.head;
	if (c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(fd)))
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

int us_kvm_vcpu_file_open(struct us_kvm_vcpu_file *f, int pidfd, pid_t pid,
			  const struct us_vcpu *which)
{
	*f = (struct us_kvm_vcpu_file){
		.kept = -1, .self = getpid(), .pid = pid, .vcpu = *which
	};
	int fd = (int)syscall(SYS_pidfd_getfd, pidfd, which->fd, 0);
	if (fd < 0)
		return -errno;
	f->kept = keep(fd);
	return fd;
}

void us_kvm_vcpu_file_close(struct us_kvm_vcpu_file *f)
{
	if (f->self && f->kept >= 0)
		close(f->kept);
	*f = (struct us_kvm_vcpu_file){ .kept = -1 };
}

/* There is another file, or none. */
static bool is_other(const struct us_kvm_vcpu_file *f, int ours, pid_t tid, int fd)
{
	long r = syscall(SYS_kcmp, f->self, tid, KCMP_FILE, ours, fd);
	return r > 0 || (r < 0 && errno == EBADF);
}

static bool lacks(const struct us_kvm_vcpu_file *f, int ours, pid_t tid)
{
	bool other = is_other(f, ours, tid, f->vcpu.fd);
	for (unsigned i = 0; other && i < f->vcpu.n_more_fd; i++)
		other = is_other(f, ours, tid, f->vcpu.more_fd[i]);
	return other;
}

bool us_kvm_vcpu_file_is_closed(const struct us_kvm_vcpu_file *f, pid_t tid)
{
	_cleanup_close_ int ours = f->self ? look_at(f->kept) : -1;
	if (ours < 0)
		return false;
	/* A thread that ends has no files any more, while the others have. */
	return lacks(f, ours, tid ? tid : f->pid) && (!tid || lacks(f, ours, f->pid));
}
