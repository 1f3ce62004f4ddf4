/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fleet.c: see fleet.h. */
#include "cmd/record/fleet.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/vec.h"
#include "cmd/end_signals.h"
#include "cmd/file_name.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define MAX_NAMES 10000
#define MAX_TRIES 4 /* for a guest that is starting */

void us_fleet_catch_signals(sigset_t *ret_mask, void (*handler)(int sig))
{
	sigset_t mask;
	us_end_signals_catch(handler);
	us_end_signals(&mask);
	pthread_sigmask(SIG_BLOCK, &mask, ret_mask);
	sigdelset(ret_mask, SIGINT);
	sigdelset(ret_mask, SIGTERM);
	sigdelset(ret_mask, SIGHUP);
}

/* --- files --- */

static bool is_taken(const struct us_fleet *f, const char *path)
{
	for (size_t i = 0; i < f->members.n; i++)
		if (!strcmp(f->members.v[i]->path, path))
			return true;
	return false;
}

/* A path that no other guest of this recording has.  A file of an earlier recording is
 * kept as ".old". */
static int choose_path(struct us_member *m, const char *dir, struct us_err *e)
{
	struct us_fleet *f = m->fleet;
	char name[sizeof(m->name) + 48], path[US_STORE_MAX_PATH],
		old[US_STORE_MAX_PATH + 8];
	bool taken = true;
	pthread_mutex_lock(&f->lock);
	for (unsigned i = 0; taken && i < MAX_NAMES; i++) {
		us_file_name(&m->r->found.guest, i, name, sizeof(name));
		if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, name) >=
		    sizeof(path))
			break;
		taken = is_taken(f, path);
	}
	if (!taken)
		memcpy(m->path, path, sizeof(m->path));
	pthread_mutex_unlock(&f->lock);
	if (taken)
		return us_fail(e, -ENAMETOOLONG, "-o %.200s: the name is too long",
			       dir);
	snprintf(old, sizeof(old), "%s.old", path);
	if (access(path, F_OK) == 0)
		rename(path, old);
	return 0;
}

int us_fleet_open_in(struct us_member *m, const char *dir, struct us_err *e)
{
	int rc = choose_path(m, dir, e);
	return rc ? rc : us_output_open(&m->r->output, m->path, e);
}

int us_fleet_make_dir(const char *dir, struct us_err *e)
{
	struct stat st;
	if (mkdir(dir, 0700) == 0) {
		_cleanup_close_ int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
							   O_CLOEXEC);
		us_new_file_give_back_folder(fd);
		return 0;
	}
	if (errno == EEXIST && stat(dir, &st) == 0 && S_ISDIR(st.st_mode))
		return 0;
	int code = errno == EEXIST ? ENOTDIR : errno;
	us_fail(e, -EIO, "create the folder %.200s: %s", dir, strerror(code));
	us_hint(e, "-o DIR where you may write");
	return -EIO;
}

/* --- one guest, in its thread --- */

static void set_state(struct us_member *m, enum us_member_state state)
{
	static const uint64_t one = 1;
	atomic_store_explicit(&m->state, state, memory_order_release);
	ssize_t written = write(m->fleet->wake_fd, &one, sizeof(one));
	(void)written; /* fails if the counter is full: then the reader is awake */
}

static void note_sums(void *ctx, const struct us_record_stats *s)
{
	struct us_member *m = ctx;
	pthread_mutex_lock(&m->fleet->lock);
	m->sums = *s;
	pthread_mutex_unlock(&m->fleet->lock);
}

/* The duration for a guest that comes later; 0: until stopped. */
static uint64_t time_left(const struct us_fleet *f, uint64_t now)
{
	if (f->end_ns == UINT64_MAX)
		return 0;
	return f->end_ns > now ? f->end_ns - now : 1;
}

static int record_member(struct us_member *m, struct us_err *e)
{
	struct us_recording *r = m->r;
	int ret = us_recording_attach(r, e);
	if (ret < 0)
		return ret;
	m->backend = *r->backend;
	ret = m->fleet->ops->open(m, e);
	if (ret == 0)
		ret = us_recording_begin(r, e);
	if (ret < 0)
		return ret;
	if (!m->first)
		r->duration_ns = time_left(m->fleet, us_now_ns());
	set_state(m, US_MEMBER_RECORDS);
	return us_recording_sample(r, e);
}

static void *run_member(void *arg)
{
	struct us_member *m = arg;
	m->code = record_member(m, &m->e);
	set_state(m, US_MEMBER_ENDED);
	return NULL;
}

/* --- guests come --- */

bool us_fleet_is_over(const struct us_fleet *f)
{
	return atomic_load(f->stop) || us_now_ns() >= f->end_ns;
}

/* A guest that was recorded and comes back in the same process is another member. */
static struct us_member *find_member(const struct us_fleet *f, const struct us_guest *g)
{
	for (size_t i = 0; i < f->members.n; i++) {
		struct us_member *m = f->members.v[i];
		if (m->pid == g->pid && m->start_time == g->start_time && !m->recorded)
			return m;
	}
	return NULL;
}

static struct us_member *new_member(struct us_fleet *f)
{
	struct us_member *m = calloc(1, sizeof(*m)), **slot;
	pthread_mutex_lock(&f->lock); /* other threads search it for names */
	slot = m ? us_vec_push(&f->members) : NULL;
	if (slot)
		*slot = m;
	pthread_mutex_unlock(&f->lock);
	if (!slot) {
		free(m);
		return NULL;
	}
	m->fleet = f;
	return m;
}

static struct us_member *add_member(struct us_fleet *f, const struct us_guest *g)
{
	struct us_member *m = find_member(f, g);
	if (m)
		return m;
	m = new_member(f);
	if (!m)
		return NULL;
	m->pid = g->pid;
	m->start_time = g->start_time;
	snprintf(m->name, sizeof(m->name), "%s", g->name);
	return m;
}

/* A stub or a monitor serves one client: take none unless the user names the
 * backend. */
static void spare_sockets(const struct us_record_settings *s, struct us_target *t)
{
	if (!s->backend || !strcmp(s->backend, "auto"))
		t->spared = true;
}

static int new_recording(struct us_member *m, bool first, struct us_err *e)
{
	const struct us_fleet *f = m->fleet;
	struct us_recording *r = m->r = calloc(1, sizeof(*r));
	m->e = (struct us_err){ 0 };
	if (!r)
		return us_fail(e, -ENOMEM, "out of memory");
	m->first = first;
	r->set = f->set;
	r->begin_ns = us_now_ns();
	r->duration_ns = f->set->duration_ns;
	r->stop = f->stop;
	r->sums = note_sums;
	r->sums_ctx = m;
	return 0;
}

/* Its target is found. */
static int start_member(struct us_member *m, struct us_err *e)
{
	snprintf(m->text, sizeof(m->text), "%s", m->r->found.text);
	atomic_store(&m->state, US_MEMBER_TRIES);
	int ret = pthread_create(&m->thread, NULL, run_member, m);
	if (ret)
		return us_fail(e, -ret, "start a thread: %s", strerror(ret));
	m->fleet->n_running++;
	return 0;
}

static void drop_recording(struct us_member *m)
{
	if (!m->r)
		return;
	us_recording_close(m->r);
	us_output_close(&m->r->output);
	free(us_take(m->r));
}

static void refuse(struct us_member *m)
{
	m->refused = true;
	m->fleet->ops->refused(m);
}

static int start_found(struct us_member *m, const struct us_guest *g, bool first,
		       struct us_err *e)
{
	int ret = new_recording(m, first, e);
	if (ret < 0)
		return ret;
	m->r->found.guest = *g;
	us_target_of_guest(&m->r->found);
	spare_sockets(m->fleet->set, &m->r->found.target);
	ret = us_guest_check(g, e);
	return ret < 0 ? ret : start_member(m, e);
}

static void take_up(struct us_fleet *f, const struct us_guest *g, bool first)
{
	struct us_member *m = add_member(f, g);
	if (!m || m->r)
		return;
	int r = start_found(m, g, first, &m->e);
	if (r == 0)
		return; /* its thread may have ended already and set the code */
	m->code = r;
	drop_recording(m);
	refuse(m);
}

int us_fleet_look(struct us_fleet *f, bool first, struct us_err *e)
{
	_cleanup_(us_guest_list_fini) struct us_guest_list l = { 0 };
	int r = us_fleet_is_over(f)
			? 0
			: us_guest_watch_look(&f->watch, us_now_ns(), &l, e);
	for (size_t i = 0; r == 0 && i < l.n && !us_fleet_is_over(f); i++)
		take_up(f, &l.v[i], first);
	return r;
}

static int start_named(struct us_member *m, const char *text, struct us_err *e)
{
	int rc = new_recording(m, true, e);
	if (rc == 0)
		rc = us_target_resolve(text, &m->r->found, e);
	if (rc < 0)
		return rc;
	const struct us_guest *g = m->r->found.target.guest;
	m->named = true;
	m->pid = g ? g->pid : 0;
	m->start_time = g ? g->start_time : 0;
	snprintf(m->name, sizeof(m->name), "%.63s", g ? g->name : m->r->found.text);
	return start_member(m, e);
}

int us_fleet_target(struct us_fleet *f, const char *text, struct us_member **ret,
		    struct us_err *e)
{
	struct us_member *m = new_member(f);
	if (!m)
		return us_fail(e, -ENOMEM, "out of memory");
	int rc = start_named(m, text, e);
	if (rc < 0)
		drop_recording(m);
	else
		*ret = m;
	return rc;
}

/* --- guests end --- */

/* A guest that is starting has no memory yet, or a vCPU that has not run yet. */
static bool is_worth_a_try(struct us_member *m)
{
	bool starting = m->code == -ESRCH || m->code == -ENOENT;
	return !m->named && starting && ++m->tries < MAX_TRIES &&
	       !us_fleet_is_over(m->fleet);
}

static void end_member(struct us_member *m)
{
	struct us_fleet *f = m->fleet;
	pthread_join(m->thread, NULL);
	f->n_running--;
	m->recorded = m->r->summary.path;
	m->summary = m->r->summary;
	snprintf(m->end_words, sizeof(m->end_words), "%s", m->r->end_words);
	m->summary.path = m->path;
	m->summary.words = m->end_words;
	bool alive = m->named || us_guest_alive(&m->r->found.guest);
	if (m->recorded)
		f->ops->ended(m);
	drop_recording(m);
	/* Some VMMs make a new machine when the guest reboots. */
	if (m->recorded && alive && !m->named && m->summary.end == US_RECORD_GUEST_GONE)
		us_guest_watch_forget(&f->watch, m->pid);
	if (m->recorded || !alive)
		return;
	pthread_mutex_lock(&f->lock); /* other threads search it for names */
	m->path[0] = '\0';
	pthread_mutex_unlock(&f->lock);
	if (is_worth_a_try(m))
		us_guest_watch_forget(&f->watch, m->pid);
	else
		refuse(m);
}

void us_fleet_heed(struct us_fleet *f)
{
	for (size_t i = 0; i < f->members.n; i++) {
		struct us_member *m = f->members.v[i];
		int state = m->r ? atomic_load_explicit(&m->state, memory_order_acquire)
				 : US_MEMBER_TRIES;
		if (state == US_MEMBER_RECORDS && !m->told) {
			m->told = true;
			f->ops->begun(m);
		} else if (state == US_MEMBER_ENDED) {
			end_member(m);
		}
	}
}

bool us_fleet_wait(struct us_fleet *f, uint64_t until_ns, int fd)
{
	struct pollfd p[] = { { .fd = f->wake_fd, .events = POLLIN },
			      { .fd = fd, .events = POLLIN } };
	uint64_t now = us_now_ns(), left = until_ns > now ? until_ns - now : 0, n;
	struct timespec t = { .tv_sec = (time_t)(left / US_NS_PER_SEC),
			      .tv_nsec = (long)(left % US_NS_PER_SEC) };
	if (ppoll(p, 2, &t, &f->sleep_mask) <= 0)
		return false;
	if (p[0].revents && read(f->wake_fd, &n, sizeof(n)) < 0)
		return p[1].revents != 0;
	return p[1].revents != 0;
}

/* A guest needs about ten files, and as many again for each vCPU. */
static void allow_many_files(void)
{
	struct rlimit l;
	if (getrlimit(RLIMIT_NOFILE, &l) == 0 && l.rlim_cur < l.rlim_max) {
		l.rlim_cur = l.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &l);
	}
}

int us_fleet_init(struct us_fleet *f, struct us_err *e)
{
	f->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&f->lock, NULL);
	allow_many_files();
	return f->wake_fd < 0
		       ? us_fail(e, -errno, "create an event: %s", strerror(errno))
		       : 0;
}

void us_fleet_fini(struct us_fleet *f)
{
	for (size_t i = 0; i < f->members.n; i++)
		free(f->members.v[i]);
	free(f->members.v);
	us_guest_watch_fini(&f->watch);
	us_closep(&f->wake_fd);
	pthread_mutex_destroy(&f->lock);
}
