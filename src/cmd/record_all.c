/* SPDX-License-Identifier: GPL-2.0-or-later */
/* record_all.c: see record_all.h. */
#include "cmd/record_all.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/vec.h"
#include "cmd/file_name.h"
#include "cmd/options.h"
#include "vmm/guest_watch.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define DEFAULT_DIR "uniscope-guests"
#define SEARCH_NS   US_NS_PER_SEC	 /* how often it is looked for guests */
#define PAUSE_NS    (200 * US_NS_PER_MS) /* between two wake-ups of a recording */
#define MAX_TRIES   4			 /* of a guest that is only just starting */
#define MAX_NAMES   10000

enum state { TRIES, RECORDS, ENDED };

/* A guest that is, or was, recorded, or that cannot be. */
struct member {
	struct fleet *fleet;
	struct us_recording *r; /* NULL: it has ended */
	pthread_t thread;
	atomic_int state; /* enum state; the thread's, until it has ended */
	bool told;	  /* the user, that it is recorded */
	bool recorded, refused;
	bool first; /* it was there at the beginning */
	unsigned tries;
	pid_t pid;
	uint64_t start_time;
	char name[sizeof(((struct us_guest *)0)->name)];
	char text[US_ENDPOINT_SIZE];
	char path[US_STORE_MAX_PATH];
	struct us_record_stats sums; /* with the fleet's lock */
	struct us_summary summary;
	char end_words[sizeof(((struct us_err *)0)->msg)];
	int code; /* of its thread */
	struct us_err e;
};

struct fleet {
	const struct us_record_settings *set;
	const char *dir;
	struct us_guest_watch watch;
	struct {
		struct member **v;
		size_t n, cap;
	} members;
	unsigned n_running;
	uint64_t begin_ns, end_ns;
	int wake_fd; /* an eventfd: the state of a member has changed */
	pthread_mutex_t lock;
	struct us_progress progress;
	sigset_t sleep_mask;
};

/* Set by a signal handler, so it cannot be anything but global. */
static atomic_bool stop;

static void on_signal(int sig)
{
	(void)sig;
	atomic_store(&stop, true);
}

/* They come to this thread alone, and only while it sleeps. */
static void catch_signals(struct fleet *f)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP };
	const struct sigaction a = { .sa_handler = on_signal };
	sigset_t mask;
	sigemptyset(&mask);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		sigaction(ends[i], &a, NULL);
		sigaddset(&mask, ends[i]);
	}
	signal(SIGPIPE, SIG_IGN);
	pthread_sigmask(SIG_BLOCK, &mask, &f->sleep_mask);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		sigdelset(&f->sleep_mask, ends[i]);
}

/* --- files --- */

static bool is_taken(const struct fleet *f, const char *path)
{
	for (size_t i = 0; i < f->members.n; i++)
		if (!strcmp(f->members.v[i]->path, path))
			return true;
	return false;
}

/* One that no guest of this recording has; that of an earlier recording is kept. */
static int choose_path(struct member *m, struct us_err *e)
{
	struct fleet *f = m->fleet;
	char name[sizeof(m->name) + 48], path[US_STORE_MAX_PATH],
		old[US_STORE_MAX_PATH + 8];
	bool taken = true;
	pthread_mutex_lock(&f->lock);
	for (unsigned i = 0; taken && i < MAX_NAMES; i++) {
		us_file_name(&m->r->found.guest, i, name, sizeof(name));
		if ((size_t)snprintf(path, sizeof(path), "%s/%s", f->dir, name) >=
		    sizeof(path))
			break;
		taken = is_taken(f, path);
	}
	if (!taken)
		memcpy(m->path, path, sizeof(m->path));
	pthread_mutex_unlock(&f->lock);
	if (taken)
		return us_fail(e, -ENAMETOOLONG, "-o %.200s: the name is too long",
			       f->dir);
	snprintf(old, sizeof(old), "%s.old", path);
	if (access(path, F_OK) == 0)
		rename(path, old);
	return 0;
}

static int make_dir(struct fleet *f, struct us_err *e)
{
	struct stat st;
	f->dir = f->set->out ? f->set->out : DEFAULT_DIR;
	if (mkdir(f->dir, 0700) == 0)
		return 0;
	if (errno == EEXIST && stat(f->dir, &st) == 0 && S_ISDIR(st.st_mode))
		return 0;
	int code = errno == EEXIST ? ENOTDIR : errno;
	us_fail(e, -EIO, "create the folder %.200s: %s", f->dir, strerror(code));
	us_hint(e, "-o DIR where you may write");
	return -EIO;
}

/* --- one guest, in its thread --- */

static void set_state(struct member *m, enum state state)
{
	static const uint64_t one = 1;
	atomic_store_explicit(&m->state, state, memory_order_release);
	ssize_t written = write(m->fleet->wake_fd, &one, sizeof(one));
	(void)written; /* fails if it is full: then it is awake */
}

static void note_sums(void *ctx, const struct us_record_stats *s)
{
	struct member *m = ctx;
	pthread_mutex_lock(&m->fleet->lock);
	m->sums = *s;
	pthread_mutex_unlock(&m->fleet->lock);
}

/* For a guest that comes later; 0: until stopped. */
static uint64_t time_left(const struct fleet *f, uint64_t now)
{
	if (f->end_ns == UINT64_MAX)
		return 0;
	return f->end_ns > now ? f->end_ns - now : 1;
}

static int record_member(struct member *m, struct us_err *e)
{
	struct us_recording *r = m->r;
	int ret = us_recording_attach(r, e);
	if (ret == 0)
		ret = choose_path(m, e);
	if (ret == 0)
		ret = us_output_open(&r->output, m->path, e);
	if (ret == 0)
		ret = us_recording_begin(r, e);
	if (ret < 0)
		return ret;
	if (!m->first)
		r->duration_ns = time_left(m->fleet, us_now_ns());
	set_state(m, RECORDS);
	return us_recording_sample(r, e);
}

static void *run_member(void *arg)
{
	struct member *m = arg;
	m->code = record_member(m, &m->e);
	set_state(m, ENDED);
	return NULL;
}

/* --- guests come --- */

static struct member *find_member(const struct fleet *f, const struct us_guest *g)
{
	for (size_t i = 0; i < f->members.n; i++)
		if (f->members.v[i]->pid == g->pid &&
		    f->members.v[i]->start_time == g->start_time)
			return f->members.v[i];
	return NULL;
}

static struct member *add_member(struct fleet *f, const struct us_guest *g)
{
	struct member *m = find_member(f, g), **slot;
	if (m)
		return m;
	m = calloc(1, sizeof(*m));
	pthread_mutex_lock(&f->lock); /* others look for names in it */
	slot = m ? us_vec_push(&f->members) : NULL;
	if (slot)
		*slot = m;
	pthread_mutex_unlock(&f->lock);
	if (!slot) {
		free(m);
		return NULL;
	}
	m->fleet = f;
	m->pid = g->pid;
	m->start_time = g->start_time;
	snprintf(m->name, sizeof(m->name), "%s", g->name);
	return m;
}

static void tell_refused(struct fleet *f, struct member *m)
{
	struct us_err e = m->e;
	m->refused = true;
	us_progress_end(&f->progress);
	us_fail(&e, m->code, "not recorded: %s: %s", m->text, m->e.msg);
	us_complain(&e);
}

/* A stub or a monitor serves one client: nobody's is taken without being asked. */
static void spare_sockets(const struct us_record_settings *s, struct us_target *t)
{
	if (!s->backend || !strcmp(s->backend, "auto"))
		t->gdb[0] = t->qmp[0] = '\0';
}

static int start_member(struct member *m, const struct us_guest *g, bool first,
			struct us_err *e)
{
	const struct us_record_settings *s = m->fleet->set;
	struct us_recording *r = m->r = calloc(1, sizeof(*r));
	m->e = (struct us_err){ 0 };
	if (!r)
		return us_fail(e, -ENOMEM, "out of memory");
	r->set = s;
	r->found.guest = *g;
	us_target_of_guest(&r->found);
	spare_sockets(s, &r->found.target);
	snprintf(m->text, sizeof(m->text), "%s", r->found.text);
	r->begin_ns = us_now_ns();
	r->duration_ns = s->duration_ns;
	m->first = first;
	r->stop = &stop;
	r->sums = note_sums;
	r->sums_ctx = m;
	int ret = us_guest_check(g, e);
	if (ret < 0)
		return ret;
	atomic_store(&m->state, TRIES);
	ret = pthread_create(&m->thread, NULL, run_member, m);
	if (ret)
		return us_fail(e, -ret, "start a thread: %s", strerror(ret));
	m->fleet->n_running++;
	return 0;
}

static void drop_recording(struct member *m)
{
	if (!m->r)
		return;
	us_recording_close(m->r);
	us_output_close(&m->r->output);
	free(us_take(m->r));
}

static void take_up(struct fleet *f, const struct us_guest *g, bool first)
{
	struct member *m = add_member(f, g);
	if (!m || m->r)
		return;
	int r = start_member(m, g, first, &m->e);
	if (r == 0)
		return; /* its thread may be through already: the code is that one's */
	m->code = r;
	drop_recording(m);
	tell_refused(f, m);
}

static bool is_over(const struct fleet *f)
{
	return atomic_load(&stop) || us_now_ns() >= f->end_ns;
}

static int look_for_guests(struct fleet *f, bool first, struct us_err *e)
{
	_cleanup_(us_guest_list_fini) struct us_guest_list l = { 0 };
	int r = is_over(f) ? 0 : us_guest_watch_look(&f->watch, us_now_ns(), &l, e);
	for (size_t i = 0; r == 0 && i < l.n && !is_over(f); i++)
		take_up(f, &l.v[i], first);
	return r;
}

/* --- guests end --- */

/* Each line with the guest's name before it. */
static void tell_lines(const struct member *m, char *text)
{
	for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		fprintf(stderr, "%s: %s\n", m->text, line);
	}
}

static void tell_notes(struct member *m)
{
	char *text = NULL;
	size_t size;
	FILE *out = m->fleet->set->json ? NULL : open_memstream(&text, &size);
	if (!out)
		return;
	us_images_tell(&m->r->images, out);
	us_recording_tell_names(m->r, out);
	if (fclose(out) == 0)
		tell_lines(m, text);
	free(text);
}

static void tell_recorded(struct member *m)
{
	tell_notes(m);
	if (m->fleet->set->json)
		return;
	printf("%s: %s: ", m->text, m->path);
	us_summary_print(&m->summary, stdout);
	fflush(stdout);
}

/* One that is only just starting has no memory yet, or a vCPU has not run yet. */
static bool is_worth_a_try(struct member *m)
{
	bool starting = m->code == -ESRCH || m->code == -ENOENT;
	return starting && ++m->tries < MAX_TRIES && !is_over(m->fleet);
}

static void end_member(struct member *m)
{
	struct fleet *f = m->fleet;
	pthread_join(m->thread, NULL);
	f->n_running--;
	m->recorded = m->r->summary.path;
	m->summary = m->r->summary;
	snprintf(m->end_words, sizeof(m->end_words), "%s", m->r->end_words);
	m->summary.path = m->path;
	m->summary.words = m->end_words;
	us_progress_end(&f->progress);
	bool alive = us_guest_alive(&m->r->found.guest);
	if (m->recorded)
		tell_recorded(m);
	if (m->code < 0 && m->recorded)
		us_complain(&m->e);
	drop_recording(m);
	if (m->recorded || !alive)
		return;
	pthread_mutex_lock(&f->lock); /* others look for names in it */
	m->path[0] = '\0';
	pthread_mutex_unlock(&f->lock);
	if (is_worth_a_try(m))
		us_guest_watch_forget(&f->watch, m->pid);
	else
		tell_refused(f, m);
}

static void tell_start(struct member *m)
{
	if (m->told)
		return;
	m->told = true;
	us_progress_end(&m->fleet->progress);
	us_recording_tell_start(m->r);
}

static void look_at_members(struct fleet *f)
{
	for (size_t i = 0; i < f->members.n; i++) {
		struct member *m = f->members.v[i];
		int state = m->r ? atomic_load_explicit(&m->state, memory_order_acquire)
				 : TRIES;
		if (state == RECORDS)
			tell_start(m);
		else if (state == ENDED)
			end_member(m);
	}
}

/* --- all of them --- */

static void show_progress(struct fleet *f)
{
	struct us_record_stats sum = { .elapsed_ns = us_now_ns() - f->begin_ns };
	pthread_mutex_lock(&f->lock);
	for (size_t i = 0; i < f->members.n; i++) {
		const struct us_record_stats *s = &f->members.v[i]->sums;
		sum.running += s->running;
		sum.idle += s->idle;
		sum.off += s->off;
		sum.lost += s->lost;
		sum.failed += s->failed;
		sum.stolen_ns += s->stolen_ns;
		sum.vcpu_ns += s->vcpu_ns;
	}
	pthread_mutex_unlock(&f->lock);
	f->progress.n_guest = f->n_running;
	us_progress_show(&f->progress, &sum);
}

/* Until a member's state changes, a signal comes, or it is time. */
static void sleep_until(struct fleet *f, uint64_t until_ns)
{
	struct pollfd p = { .fd = f->wake_fd, .events = POLLIN };
	uint64_t now = us_now_ns(), left = until_ns > now ? until_ns - now : 0, n;
	struct timespec t = { .tv_sec = (time_t)(left / US_NS_PER_SEC),
			      .tv_nsec = (long)(left % US_NS_PER_SEC) };
	if (ppoll(&p, 1, &t, &f->sleep_mask) > 0 && read(f->wake_fd, &n, sizeof(n)) < 0)
		return;
}

static int record_until_over(struct fleet *f, struct us_err *e)
{
	uint64_t search_ns = f->begin_ns + SEARCH_NS;
	int r = look_for_guests(f, true, e);
	if (r < 0)
		return r;
	if (!f->n_running && !f->set->json)
		fputs("no guest runs on this host yet: waiting for one\n", stderr);
	while (f->n_running || !is_over(f)) {
		sleep_until(f, search_ns);
		look_at_members(f);
		if (us_now_ns() < search_ns)
			continue;
		show_progress(f);
		search_ns = us_now_ns() + SEARCH_NS;
		if (look_for_guests(f, false, NULL) < 0)
			continue; /* the next time */
	}
	return 0;
}

static void print_json(const struct fleet *f)
{
	struct us_json j = us_json_to(stdout);
	j.pretty = true;
	us_json_object(&j, NULL);
	for (int recorded = 1; recorded >= 0; recorded--) {
		us_json_array(&j, recorded ? "recordings" : "not_recorded");
		for (size_t i = 0; i < f->members.n; i++) {
			const struct member *m = f->members.v[i];
			if (m->recorded != recorded || (!recorded && !m->refused))
				continue;
			us_json_object(&j, NULL);
			us_json_str(&j, "guest", m->name);
			us_json_u64(&j, "pid", (uint64_t)m->pid);
			if (m->code < 0)
				us_json_str(&j, "why", m->e.msg);
			if (recorded)
				us_summary_json_members(&m->summary, &j);
			us_json_end(&j);
		}
		us_json_end(&j);
	}
	us_json_end(&j);
}

/* What the user wants to know last; an error if no guest was recorded. */
static int conclude(const struct fleet *f, struct us_err *e)
{
	const struct member *first = NULL, *failed = NULL;
	unsigned n = 0;
	for (size_t i = 0; i < f->members.n; i++) {
		const struct member *m = f->members.v[i];
		if (m->recorded && m->code == 0 && !n++)
			first = m;
		else if (m->code < 0)
			failed = m;
	}
	if (f->set->json)
		print_json(f);
	if (n && !f->set->json)
		printf("%u guest%s recorded in %s; next: uniscope report %s\n", n,
		       n == 1 ? "" : "s", f->dir, first->path);
	if (n)
		return 0;
	int code = failed ? failed->code : -ENOENT;
	return us_fail(e, code,
		       failed ? "no guest was recorded"
			      : "no guest was seen on this host");
}

/* A guest takes some ten files, and as many for each vCPU. */
static void allow_many_files(void)
{
	struct rlimit l;
	if (getrlimit(RLIMIT_NOFILE, &l) == 0 && l.rlim_cur < l.rlim_max) {
		l.rlim_cur = l.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &l);
	}
}

static void free_fleet(struct fleet *f)
{
	for (size_t i = 0; i < f->members.n; i++)
		free(f->members.v[i]);
	free(f->members.v);
	us_guest_watch_fini(&f->watch);
	us_closep(&f->wake_fd);
	pthread_mutex_destroy(&f->lock);
}

int us_record_all(const struct us_record_settings *s, struct us_err *e)
{
	struct us_record_settings set = *s;
	struct fleet f = { .set = &set, .begin_ns = us_now_ns() };
	bool bounded = s->duration_ns && s->duration_ns < UINT64_MAX - f.begin_ns;
	f.end_ns = bounded ? f.begin_ns + s->duration_ns : UINT64_MAX;
	set.schedule.pause_ns = PAUSE_NS;
	f.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&f.lock, NULL);
	allow_many_files();
	int r = f.wake_fd < 0
			? us_fail(e, -errno, "create an event: %s", strerror(errno))
			: make_dir(&f, e);
	if (r == 0) {
		catch_signals(&f);
		us_progress_begin(&f.progress, "all guests", s->duration_ns);
		r = record_until_over(&f, e);
		us_progress_end(&f.progress);
	}
	if (r == 0)
		r = conclude(&f, e);
	free_fleet(&f);
	return r;
}
