/* SPDX-License-Identifier: GPL-2.0-or-later */
/* serving.c: see serving.h. */
#include "cmd/serving.h"

#include "cmd/browser.h"
#include "cmd/rights.h"

#include "base/text.h"
#include "http/address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool us_serving_port(struct us_serving *s, const struct us_cmd *cmd, const char *value)
{
	size_t n = strspn(value, "0123456789");
	if (!n || value[n] || n > 5 || atoi(value) > UINT16_MAX) {
		us_usage(cmd, "--port %s: must be from 0 to 65535", value);
		return false;
	}
	snprintf(s->address, sizeof(s->address), ":%s", value);
	return true;
}

bool us_serving_is_address(const struct us_cmd *cmd, const char *option,
			   const char *value)
{
	struct us_http_address address;
	struct us_err e;
	if (!value || us_http_address_parse(value, &address, &e) == 0)
		return true;
	us_usage(cmd, "%s %s: must be an address with a port such as %s", option, value,
		 e.hint);
	return false;
}

int us_serving_open(struct us_serving *s, const struct us_serve_opts *o,
		    struct us_err *e)
{
	struct us_serve_opts with = *o;
	with.host_name = s->host_name;
	with.address = s->listen       ? s->listen
		       : s->address[0] ? s->address
				       : ":" US_SERVE_PORT;
	signal(SIGPIPE, SIG_IGN); /* browsers may disconnect */
	return us_serve_open(&with, &s->serve, e);
}

/* rest: from the port on.  Link-local addresses need a zone, which no URL has. */
static void print_url(const struct ifaddrs *a, bool v4, bool v6, const char *rest,
		      FILE *out)
{
	char text[INET6_ADDRSTRLEN];
	const struct sockaddr_in *in = (const void *)a->ifa_addr;
	const struct sockaddr_in6 *in6 = (const void *)a->ifa_addr;
	if (v4 && in && in->sin_family == AF_INET &&
	    inet_ntop(AF_INET, &in->sin_addr, text, sizeof(text)))
		fprintf(out, "http://%s%s\n", text, rest);
	else if (v6 && in6 && in6->sin6_family == AF_INET6 &&
		 !IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr) &&
		 inet_ntop(AF_INET6, &in6->sin6_addr, text, sizeof(text)))
		fprintf(out, "http://[%s]%s\n", text, rest);
}

/* Do sockets for IPv6 take IPv4 connections, too?  The server does not change it. */
static bool v6_takes_v4(void)
{
	int only = 1, fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t n = sizeof(only);
	if (fd < 0)
		return false;
	if (getsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, &n))
		only = 1;
	close(fd);
	return !only;
}

/* No browser takes 0.0.0.0 or [::], which stand for all addresses of this machine. */
static void tell_urls(const char *url, FILE *out)
{
	static const char *const any[] = { "http://0.0.0.0:", "http://[::]:" };
	struct ifaddrs *all = NULL;
	const char *rest = NULL;
	bool v6 = false;
	for (size_t i = 0; i < 2; i++)
		if (!strncmp(url, any[i], strlen(any[i]))) {
			rest = url + strlen(any[i]) - 1;
			v6 = i == 1;
		}
	if (rest && getifaddrs(&all) == 0) {
		bool v4 = !v6 || v6_takes_v4();
		for (const struct ifaddrs *a = all; a; a = a->ifa_next)
			print_url(a, v4, v6, rest, out);
		freeifaddrs(all);
	} else {
		fprintf(out, "%s\n", url);
	}
}

static void tell(const struct us_serving *s, FILE *out)
{
	const char *url = us_serve_url(s->serve);
	const char *here = strncmp(url, "http://[::1]", 12) ? "127.0.0.1" : "[::1]";
	char host[65] = "HOST", shown[64];
	unsigned port = us_serve_port(s->serve);
	tell_urls(url, out);
	if (!us_serve_is_loopback(s->serve)) {
		fputs("uniscope: anyone who reaches this address and knows the token "
		      "can see everything, and nothing is encrypted\n",
		      stderr);
	} else if (s->no_open || !us_browser_is_there()) {
		gethostname(host, sizeof(host) - 1);
		fprintf(out,
			"from another machine: ssh -L %u:%s:%u %s, and the same "
			"URL there\n",
			port, here, port, us_printable(shown, sizeof(shown), host));
	}
	fputs("Ctrl-C ends it\n", out);
	fflush(out);
}

void us_serving_tell(const struct us_serving *s, FILE *out)
{
	tell(s, out);
	if (!s->no_open && us_browser_is_there() &&
	    !us_browser_open(us_serve_once(s->serve)))
		fputs("uniscope: cannot start a browser: xdg-open is not installed\n",
		      stderr);
}

/* Threads inherit the rights of the one that starts them. */
static void *run(void *arg)
{
	struct us_serving *s = arg;
	us_rights_read_only();
	s->code = us_serve_run(s->serve, &s->e);
	return NULL;
}

int us_serving_begin(struct us_serving *s, struct us_err *e)
{
	pthread_t thread;
	sigset_t all, old;
	sigfillset(&all); /* another thread waits for signals */
	pthread_sigmask(SIG_SETMASK, &all, &old);
	int rc = pthread_create(&thread, NULL, run, s);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc)
		return us_fail(e, -rc, "start a thread: %s", strerror(rc));
	pthread_join(thread, NULL);
	if (s->code)
		*e = s->e;
	return s->code;
}

struct us_serve_guest *us_serving_add(struct us_serving *s,
				      const struct us_recording *r)
{
	const struct us_symbol_files *f = &r->set->symbols;
	const struct us_live_opts o = { .images = f->image,
					.n_image = f->n_image,
					.dirs = f->dirs,
					.raw_names = r->set->raw_names,
					.host = r->set->schedule.host };
	const struct us_guest *g = r->found.target.guest;
	struct us_serve_guest *ret = NULL;
	struct us_err e = { 0 };
	const char *name = g && g->name[0] ? g->name : r->found.text;
	if (us_serve_add(s->serve, name, r->output.fd, &o, &ret, &e) == 0)
		return ret;
	us_wrap(&e, "not served: %s", r->found.text);
	us_complain(&e);
	return NULL;
}

void us_serving_renew(struct us_fleet *f)
{
	for (size_t i = 0; i < f->members.n; i++) {
		struct us_member *m = f->members.v[i];
		if (!m->user)
			continue;
		us_vmm_cpu_renew(&m->cpu, m->pid, m->start_time);
		us_serve_host_cpu(m->user, m->cpu.ticks_ns ? m->cpu.share : -1);
	}
}

void us_serving_close(struct us_serving *s)
{
	us_serve_close(s->serve);
	s->serve = NULL;
}
