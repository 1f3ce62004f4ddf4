/* SPDX-License-Identifier: GPL-2.0-or-later */
/* own_names.c: see own_names.h. */
#include "http/own_names.h"

#include "http/origin.h"

#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#define SIZE 256 /* of a name */

static char canonical[SIZE]; /* written once, before this: */
static atomic_bool is_known;

static bool host_name(char name[static SIZE])
{
	name[SIZE - 1] = '\0';
	return gethostname(name, SIZE - 1) == 0 && *name;
}

static void *ask(void *unused)
{
	const struct addrinfo hints = { .ai_flags = AI_CANONNAME,
					.ai_socktype = SOCK_STREAM };
	struct addrinfo *found = NULL;
	char own[SIZE];
	(void)unused;
	if (!host_name(own) || getaddrinfo(own, NULL, &hints, &found))
		return NULL;
	if (found->ai_canonname) {
		snprintf(canonical, sizeof(canonical), "%s", found->ai_canonname);
		atomic_store(&is_known, true);
	}
	freeaddrinfo(found);
	return NULL;
}

static void start(void)
{
	pthread_t thread;
	sigset_t all, old;
	sigfillset(&all); /* signals are for the main thread */
	pthread_sigmask(SIG_SETMASK, &all, &old);
	if (pthread_create(&thread, NULL, ask, NULL) == 0)
		pthread_detach(thread);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

void us_own_names_ask(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, start);
}

bool us_own_names_have(const char *host)
{
	char own[SIZE];
	return (host_name(own) && us_http_host_is_named(host, own)) ||
	       (atomic_load(&is_known) && us_http_host_is_named(host, canonical));
}
