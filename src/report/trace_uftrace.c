/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trace_uftrace.c: a folder as `uftrace record` makes it, for uftrace's replay, report,
 * graph, tui and dump (format version 4; utils/data-file.c and uftrace.h there).
 *
 * A stack is a task.  uftrace keeps 48 bits of an address and finds the name in a
 * symbol table, so functions get made-up addresses from their numbers.
 */
#include "report/report.h"
#include "report/trace_format.h"

#include "base/io.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUFFERED      1024 /* records of a task */
#define MAX_DEPTH     1023 /* a record has 10 bits for it */
#define MODULE_AT     UINT64_C(0x400000)
#define FUNCTION_SIZE UINT64_C(16)
#define SESSION	      "756e6973636f7065"
#define MODULE	      "guest"

struct record {
	uint64_t time;
	uint64_t what; /* type 2 bits, more 1, magic 3, depth 10, address 48 */
};

enum {
	TYPE_ENTRY,
	TYPE_EXIT,
	RECORD_MAGIC = 5 << 3,
	DEPTH_SHIFT = 6,
	ADDRESS_SHIFT = 16,
};

struct info_header {
	char magic[8];
	uint32_t version;
	uint16_t size;
	uint8_t endian, elf_class;
	uint64_t features, info;
	uint16_t max_stack, unused[3];
};

enum {
	HAS_TASK_SESSION = 1 << 1,
	HAS_RELATIVE_SYMBOLS = 1 << 5,
	HAS_MAX_STACK = 1 << 6,
	INFO_EXE_NAME = 1 << 0,
	INFO_COMMAND = 1 << 3,
	INFO_TASKS = 1 << 7,
};

#define MAX_GUESTS 8	      /* on a stack at once */
#define NO_HOME	   UINT16_MAX /* it has ended there already */

/*
 * A function that continues on another stack stays on the one where it was entered: a
 * second entry would be another call.
 */
struct task {
	struct record *record; /* not written yet; NULL: the task never ran */
	unsigned n;
	uint64_t last_ns;
	bool away; /* the innermost function continues elsewhere: */
	struct us_replay_span gone;
	/* Functions on this stack that were entered on another one, their home. */
	unsigned n_guest;
	struct guest {
		uint32_t depth;
		uint16_t home;
	} guest[MAX_GUESTS];
};

struct folder {
	struct task task[US_REPLAY_STACKS];
	struct us_replay_span moving; /* between two stacks, if moved is set */
	uint16_t home;		      /* home of moving */
};

static int begin(struct us_trace_out *o)
{
	o->state = calloc(1, sizeof(struct folder));
	return o->state ? 0 : -ENOMEM;
}

/* Task 0 does not exist. */
static unsigned task_of(unsigned stack)
{
	return stack + 1;
}

/* Open the file each time: there may be more tasks than a process may open files. */
static int flush(struct us_trace_out *o, struct task *t, unsigned stack)
{
	char name[24];
	snprintf(name, sizeof(name), "%u.dat", task_of(stack));
	int fd = openat(o->folder, name,
			O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return o->failed = -errno;
	int rc = us_write_all(fd, t->record, t->n * sizeof(*t->record));
	t->n = 0;
	rc = close(fd) && !rc ? -errno : rc;
	o->failed = o->failed ? o->failed : rc;
	return rc;
}

static int put(struct us_trace_out *o, const struct us_replay_span *s, unsigned type,
	       uint64_t ns)
{
	struct folder *f = o->state;
	struct task *t = &f->task[s->stack];
	uint32_t depth = s->depth - t->n_guest;
	if (depth > MAX_DEPTH)
		return 0;
	if (!t->record)
		t->record = calloc(BUFFERED, sizeof(*t->record));
	if (!t->record)
		return -ENOMEM;
	/* A function that began before it was seen would go back in time. */
	t->last_ns = ns > t->last_ns ? ns : t->last_ns;
	uint64_t address = MODULE_AT + s->function * FUNCTION_SIZE;
	t->record[t->n++] = (struct record){ .time = t->last_ns,
					     .what = type | RECORD_MAGIC |
						     (uint64_t)depth << DEPTH_SHIFT |
						     address << ADDRESS_SHIFT };
	return t->n == BUFFERED ? flush(o, t, s->stack) : 0;
}

static bool is_guest(const struct task *t, const struct us_replay_span *s)
{
	return t->n_guest && t->guest[t->n_guest - 1].depth == s->depth;
}

/* End the function that continued elsewhere. */
static int end_away(struct us_trace_out *o, struct task *t, uint64_t ns)
{
	if (!t->away)
		return 0;
	t->away = false;
	return put(o, &t->gone, TYPE_EXIT, ns);
}

/* A function leaves this stack for another one, which comes next. */
static int move_out(struct us_trace_out *o, const struct us_replay_span *s)
{
	struct folder *f = o->state;
	struct task *t = &f->task[s->stack];
	int rc = 0;
	f->moving = *s;
	if (is_guest(t, s)) {
		f->home = t->guest[--t->n_guest].home;
	} else {
		rc = end_away(o, t, s->end_ns);
		f->home = s->stack;
		t->away = true;
		t->gone = *s;
	}
	return rc;
}

/* False: its move is not known, or there is no room; treat it like any other function.
 */
static bool move_in(struct folder *f, const struct us_replay_span *s)
{
	struct task *t = &f->task[s->stack];
	bool known = f->moving.moved && f->moving.function == s->function &&
		     f->moving.begin_ns == s->begin_ns;
	f->moving.moved = false;
	if (!known)
		return false;
	if (f->home == s->stack && t->away) {
		t->away = false;
		return true;
	}
	if (t->n_guest == MAX_GUESTS)
		return false;
	uint16_t home = f->home == s->stack ? NO_HOME : f->home;
	t->guest[t->n_guest++] = (struct guest){ s->depth, home };
	return true;
}

/* A call is written once, where it began.  False: there is no room. */
static bool goes_on(struct folder *f, const struct us_replay_span *s)
{
	struct task *t = &f->task[s->stack];
	if (t->n_guest == MAX_GUESTS)
		return false;
	t->guest[t->n_guest++] = (struct guest){ s->depth, NO_HOME };
	return true;
}

static int enter(void *ctx, const struct us_replay_span *s)
{
	struct us_trace_out *o = ctx;
	struct folder *f = o->state;
	if (s->moved ? move_in(f, s) : s->again && goes_on(f, s))
		return 0;
	int rc = end_away(o, &f->task[s->stack], s->begin_ns);
	return rc ? rc : put(o, s, TYPE_ENTRY, s->begin_ns);
}

static int leave(void *ctx, const struct us_replay_span *s)
{
	struct us_trace_out *o = ctx;
	struct folder *f = o->state;
	struct task *t = &f->task[s->stack];
	if (s->moved)
		return move_out(o, s);
	if (is_guest(t, s)) {
		uint16_t home = t->guest[--t->n_guest].home;
		bool there = home != NO_HOME && f->task[home].away &&
			     f->task[home].gone.begin_ns == s->begin_ns;
		return there ? end_away(o, &f->task[home], s->end_ns) : 0;
	}
	int rc = end_away(o, t, s->end_ns);
	return rc ? rc : put(o, s, TYPE_EXIT, s->end_ns);
}

/* ---- The files next to the records ---- */

static FILE *create(const struct us_trace_out *o, const char *name)
{
	int fd = openat(o->folder, name,
			O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
	if (fd >= 0 && !file)
		close(fd);
	return file;
}

/* A write that fails before the last one leaves no reason behind. */
static int finish(FILE *file)
{
	int rc = fflush(file) ? -errno : ferror(file) ? -EIO : 0;
	return fclose(file) && !rc ? -errno : rc;
}

static int write_symbols(const struct us_trace_out *o)
{
	char safe[2048];
	FILE *file = create(o, MODULE ".sym");
	if (!file)
		return -errno;
	fprintf(file, "# symbols: %" PRIu32 "\n# path name: /" MODULE "\n",
		o->n_name + 1);
	for (uint32_t i = 0; i < o->n_name; i++)
		fprintf(file, "%016" PRIx64 " T %s\n", i * FUNCTION_SIZE,
			us_printable(safe, sizeof(safe), o->name[i]));
	fprintf(file, "%016" PRIx64 " ? __sym_end\n", o->n_name * FUNCTION_SIZE);
	return finish(file);
}

static int write_map(const struct us_trace_out *o)
{
	FILE *file = create(o, "sid-" SESSION ".map");
	if (!file)
		return -errno;
	fprintf(file, "%" PRIx64 "-%" PRIx64 " r-xp 00000000 00:00 0  /" MODULE "\n",
		MODULE_AT, MODULE_AT + (o->n_name + 1) * FUNCTION_SIZE);
	fputs("7ffffffde000-7ffffffff000 rw-p 00000000 00:00 0  [stack]\n", file);
	return finish(file);
}

static int write_tasks(const struct us_trace_out *o)
{
	const struct folder *f = o->state;
	unsigned first = 0;
	FILE *file = create(o, "task.txt");
	if (!file)
		return -errno;
	for (unsigned i = 0; i < US_REPLAY_STACKS; i++) {
		if (!f->task[i].record)
			continue;
		if (!first) {
			first = task_of(i);
			fprintf(file,
				"SESS timestamp=0.000000000 pid=%u sid=" SESSION
				" exename=\"/" MODULE "\"\n",
				first);
		}
		fprintf(file, "TASK timestamp=0.000000000 tid=%u pid=%u\n", task_of(i),
			first);
	}
	return finish(file);
}

static void list_tasks(const struct folder *f, FILE *file)
{
	unsigned n = 0;
	for (unsigned i = 0; i < US_REPLAY_STACKS; i++)
		n += f->task[i].record ? 1 : 0;
	fprintf(file, "taskinfo:lines=2\ntaskinfo:nr_tid=%u\ntaskinfo:tids=", n);
	const char *comma = "";
	for (unsigned i = 0; i < US_REPLAY_STACKS; i++)
		if (f->task[i].record) {
			fprintf(file, "%s%u", comma, task_of(i));
			comma = ",";
		}
	fputc('\n', file);
}

static int write_info(const struct us_trace_out *o)
{
	char safe[2048];
	const char *command = o->profile ? us_profile_fact(o->profile, "command")
					 : NULL;
	const struct info_header h = {
		.magic = "Ftrace!",
		.version = 4,
		.size = sizeof(h),
		.endian = 1,
		.elf_class = 2,
		.features = HAS_TASK_SESSION | HAS_RELATIVE_SYMBOLS | HAS_MAX_STACK,
		.info = INFO_EXE_NAME | INFO_COMMAND | INFO_TASKS,
		.max_stack = MAX_DEPTH + 1,
	};
	FILE *file = create(o, "info");
	if (!file)
		return -errno;
	fwrite(&h, sizeof(h), 1, file);
	fprintf(file, "exename:/" MODULE "\ncmdline:%s\n",
		us_printable(safe, sizeof(safe), command ? command : "uniscope trace"));
	list_tasks(o->state, file);
	return finish(file);
}

static int end(struct us_trace_out *o)
{
	struct folder *f = o->state;
	int rc = f ? 0 : -ENOMEM;
	for (unsigned i = 0; f && i < US_REPLAY_STACKS; i++) {
		if (!rc && f->task[i].n)
			rc = flush(o, &f->task[i], i);
	}
	int (*const write[])(const struct us_trace_out *) = {
		write_symbols, write_map, write_tasks,
		write_info, /* last: without it, uftrace rejects the folder */
	};
	for (size_t i = 0; i < sizeof(write) / sizeof(write[0]) && !rc; i++)
		rc = o->failed = write[i](o);
	for (unsigned i = 0; f && i < US_REPLAY_STACKS; i++)
		free(f->task[i].record);
	free(f);
	o->state = NULL;
	return rc;
}

static void remove_files(int folder)
{
	static const char *const named[] = { MODULE ".sym", "sid-" SESSION ".map",
					     "task.txt", "info" };
	char name[24];
	for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++)
		unlinkat(folder, named[i], 0);
	for (unsigned i = 0; i < US_REPLAY_STACKS; i++) {
		snprintf(name, sizeof(name), "%u.dat", task_of(i));
		unlinkat(folder, name, 0);
	}
}

const struct us_trace_format us_trace_format_uftrace = {
	.name = "uftrace",
	.suffix = ".uftrace",
	.summary = "a folder for uftrace replay, report, graph, tui and dump",
	.is_folder = true,
	.remove = remove_files,
	.begin = begin,
	.ops = { .enter = enter, .leave = leave },
	.end = end,
};
