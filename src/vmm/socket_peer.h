/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * socket_peer.h: who is at the other end: the process that serves a connection, and
 * the client that a monitor or a stub has already.
 */
#ifndef US_VMM_SOCKET_PEER_H
#define US_VMM_SOCKET_PEER_H

#include <sys/types.h>

/*
 * Pid of the process that serves a connected socket: of a unix socket by SO_PEERCRED
 * (who called listen(2), so a manager that passes sockets on is named instead), of a
 * loopback TCP connection by the owner of the other end in /proc/net/tcp and tcp6.
 * 0 if it cannot be told: a remote peer, another user's process, a closed socket.
 */
pid_t us_socket_peer_pid(int fd);

/*
 * Pid of the process that listens at "/path", or at "host:port" of this host; nothing
 * is connected.  0: none, another host's, or another user's, whose files may not be
 * seen.
 */
pid_t us_socket_server_pid(const char *endpoint);

enum us_socket_client {
	US_SOCKET_FREE,	   /* no client, or one of another host, which is not seen */
	US_SOCKET_TAKEN,   /* a client is connected */
	US_SOCKET_PERHAPS, /* one was; whether it is gone is not known */
};

/*
 * Is a client connected to the server at "/path", or at "host:port" of this host?  One
 * that is gone is none, also as long as a busy server has not noticed.  ret_pid: the
 * client's process, 0: not known (another user's); NULL: not wanted, which is quicker.
 * Sources: sock_diag(7) and proc(5), net/unix and net/tcp.
 */
enum us_socket_client us_socket_find_client(const char *endpoint, pid_t *ret_pid);

#endif
