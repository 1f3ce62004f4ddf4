/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * firefox.c: for profiler.firefox.com: a "processed profile" of version 48, packed with
 * gzip.  Each thread has its own tables, and all later versions can read it
 * (docs-developer of firefox-devtools/profiler).
 *
 * A vCPU is a thread: its samples with their times, and what else it did, idle and
 * exits, as markers.  The busiest threads of a Linux guest are additional threads, in
 * processes of their own.  A profile without times has one thread for all, with
 * weights.
 */
#include "report/report.h"

#include "base/clock.h"
#include "base/gzip.h"
#include "base/json.h"
#include "base/pair_map.h"
#include "profile/timeline.h"
#include "report/away.h"
#include "report/owner_lanes.h"
#include "report/shown.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define VERSION	      48
#define GECKO_VERSION 27 /* that has the same markers */
#define NO_INDEX      UINT32_MAX
#define LIBRARY	      1	    /* type of a resource */
#define INTERVAL      1	    /* phase of a marker */
#define OWNERS_MOST   32    /* threads of a Linux guest, the busiest */
#define MARKERS_MOST  50000 /* of a thread; the shortest are left out */

enum category { KERNEL, USER, HOST, VMM, IDLE, OTHER, N_CATEGORY };
static const struct {
	const char *name, *color;
} categories[N_CATEGORY] = {
	[KERNEL] = { "Kernel", "orange" },  [USER] = { "User", "yellow" },
	[HOST] = { "Host", "blue" },	    [VMM] = { "Exit", "red" },
	[IDLE] = { "Idle", "transparent" }, [OTHER] = { "Other", "grey" },
};

struct firefox {
	struct us_json j;
	struct us_gzip *zip; /* the stream that j writes to */
	const struct us_profile *p;
	const struct us_profile_func *func;
	const struct us_profile_node *node;
	size_t n_func, n_node;
	uint8_t *code; /* enum us_profile_code, by function */
	/* For the current thread; NO_INDEX: not in it. */
	uint32_t *stack_of; /* by node */
	bool *used;	    /* by node: some samples are in it */
	uint32_t *func_of;  /* by function */
	uint32_t *frame_of; /* by node */
	struct {
		uint32_t *node; /* the first that has it */
		size_t n;
	} frames;
	uint32_t *funcs; /* in their order */
	size_t n_own_func;
	struct us_shown samples; /* of its samples, those that are in the tree */
};

static void firefox_fini(struct firefox *x)
{
	free(x->code);
	free(x->stack_of);
	free(x->used);
	free(x->func_of);
	free(x->frame_of);
	free(x->frames.node);
	free(x->funcs);
	us_shown_fini(&x->samples);
}

static int firefox_init(struct firefox *x, const struct us_profile *p)
{
	x->p = p;
	x->func = us_profile_funcs(p, &x->n_func);
	x->node = us_profile_nodes(p, &x->n_node);
	x->stack_of = calloc(x->n_node + 1, sizeof(*x->stack_of));
	x->used = calloc(x->n_node + 1, sizeof(*x->used));
	x->frame_of = calloc(x->n_node + 1, sizeof(*x->frame_of));
	x->frames.node = calloc(x->n_node + 1, sizeof(*x->frames.node));
	x->func_of = calloc(x->n_func + 1, sizeof(*x->func_of));
	x->funcs = calloc(x->n_func + 1, sizeof(*x->funcs));
	if (!x->stack_of || !x->used || !x->frame_of || !x->frames.node ||
	    !x->func_of || !x->funcs)
		return -ENOMEM;
	return us_profile_code(p, &x->code);
}

static enum category category_of(const struct firefox *x, uint32_t func)
{
	const struct us_profile_func *f = &x->func[func];
	uint8_t code = x->code[func];
	if (code & US_CODE_HOST)
		return HOST;
	if (code)
		return code & US_CODE_KERNEL ? KERNEL : USER;
	return !strncmp(f->name, US_FRAME_EXIT, strlen("[vm exit")) ? VMM : OTHER;
}

/* ---- The tables of a thread ---- */

/* Number the used stacks and their callers; callers come first. */
static int number_stacks(struct firefox *x)
{
	struct us_pair_map known = { 0 };
	uint32_t n = 0;
	for (size_t i = x->n_node; i-- > 1;)
		if (x->used[i])
			x->used[x->node[i].parent] = true;
	memset(x->func_of, 0xff, x->n_func * sizeof(*x->func_of));
	x->frames.n = x->n_own_func = 0;
	x->stack_of[0] = NO_INDEX;
	for (uint32_t i = 1; i < x->n_node; i++) {
		uint32_t func = x->node[i].func;
		if (!x->used[i]) {
			x->stack_of[i] = NO_INDEX;
			continue;
		}
		x->stack_of[i] = n++;
		uint32_t *frame = us_pair_map_at(&known, func, x->node[i].line);
		if (!frame) {
			us_pair_map_fini(&known);
			return -ENOMEM;
		}
		if (!*frame) {
			x->frames.node[x->frames.n] = i;
			*frame = (uint32_t)++x->frames.n;
		}
		x->frame_of[i] = *frame - 1;
		if (x->func_of[func] == NO_INDEX) {
			x->funcs[x->n_own_func] = func;
			x->func_of[func] = (uint32_t)x->n_own_func++;
		}
	}
	us_pair_map_fini(&known);
	return 0;
}

/* Columns of a table: a value for each row. */
#define COLUMN(x, key, first, end, ...)                                                \
	do {                                                                           \
		us_json_array(&(x)->j, key);                                           \
		for (size_t i = (first); i < (end); i++)                               \
			__VA_ARGS__;                                                   \
		us_json_end(&(x)->j);                                                  \
	} while (0)

static void put(struct firefox *x, uint64_t value)
{
	us_json_u64(&x->j, NULL, value);
}

static void put_null(struct firefox *x)
{
	us_json_str(&x->j, NULL, NULL);
}

static void put_or_null(struct firefox *x, bool known, uint64_t value)
{
	known ? put(x, value) : put_null(x);
}

static bool has(const struct firefox *x, size_t node)
{
	return x->stack_of[node] != NO_INDEX;
}

static void stack_table(struct firefox *x)
{
	size_t n = 0;
	us_json_object(&x->j, "stackTable");
	for (size_t i = 1; i < x->n_node; i++)
		n += has(x, i);
	us_json_u64(&x->j, "length", n);
	COLUMN(x, "frame", 1, x->n_node, if (has(x, i)) put(x, x->frame_of[i]));
	COLUMN(
		x, "prefix", 1, x->n_node, if (has(x, i)) {
			uint32_t parent = x->node[i].parent;
			put_or_null(x, parent != 0, x->stack_of[parent]);
		});
	COLUMN(x, "category", 1, x->n_node,
	       if (has(x, i)) put(x, category_of(x, x->node[i].func)));
	COLUMN(x, "subcategory", 1, x->n_node, if (has(x, i)) put(x, 0));
	us_json_end(&x->j);
}

static const struct us_profile_func *func_of_frame(const struct firefox *x,
						   size_t frame)
{
	return &x->func[x->node[x->frames.node[frame]].func];
}

static void frame_table(struct firefox *x)
{
	size_t n = x->frames.n;
	us_json_object(&x->j, "frameTable");
	us_json_u64(&x->j, "length", n);
	COLUMN(x, "address", 0, n, fputs(i ? ",-1" : "-1", x->j.out));
	COLUMN(x, "inlineDepth", 0, n, put(x, func_of_frame(x, i)->inlined));
	COLUMN(x, "category", 0, n,
	       put(x, category_of(x, x->node[x->frames.node[i]].func)));
	COLUMN(x, "subcategory", 0, n, put(x, 0));
	COLUMN(x, "func", 0, n, put(x, x->func_of[x->node[x->frames.node[i]].func]));
	COLUMN(x, "nativeSymbol", 0, n, put_null(x));
	COLUMN(x, "innerWindowID", 0, n, put(x, 0));
	COLUMN(x, "implementation", 0, n, put_null(x));
	COLUMN(x, "line", 0, n, {
		uint32_t line = x->node[x->frames.node[i]].line;
		put_or_null(x, line != 0, line);
	});
	COLUMN(x, "column", 0, n, put_null(x));
	us_json_end(&x->j);
}

/* The index of an image in the profile; NO_INDEX: not one of its images. */
static uint32_t library_of(const struct firefox *x, const char *module)
{
	size_t n;
	const struct us_profile_module *m = us_profile_modules(x->p, &n);
	for (uint32_t i = 0; module && i < n; i++) {
		const char *slash = strrchr(m[i].m.path, '/');
		if (!strcmp(slash ? slash + 1 : m[i].m.path, module))
			return i;
	}
	return NO_INDEX;
}

/*
 * The strings of a thread: name, file and image of each function, then those of
 * markers.  Each function has its own resource, which is its image: the viewer shows it
 * as such.
 */
enum { NAME_OF_FUNC, FILE_OF_FUNC, IMAGE_OF_FUNC, STRINGS_OF_FUNC };

static uint64_t string_of(size_t func, unsigned which)
{
	return func * STRINGS_OF_FUNC + which;
}

static void func_tables(struct firefox *x)
{
	size_t n = x->n_own_func;
	us_json_object(&x->j, "funcTable");
	us_json_u64(&x->j, "length", n);
	COLUMN(x, "name", 0, n, put(x, string_of(i, NAME_OF_FUNC)));
	COLUMN(x, "isJS", 0, n, us_json_bool(&x->j, NULL, false));
	COLUMN(x, "relevantForJS", 0, n, us_json_bool(&x->j, NULL, false));
	COLUMN(x, "resource", 0, n, {
		if (x->func[x->funcs[i]].module)
			put(x, i);
		else
			fputs(i ? ",-1" : "-1", x->j.out);
		x->j.some[x->j.depth] = true;
	});
	COLUMN(x, "fileName", 0, n,
	       put_or_null(x, x->func[x->funcs[i]].file, string_of(i, FILE_OF_FUNC)));
	COLUMN(x, "lineNumber", 0, n, {
		const struct us_profile_func *f = &x->func[x->funcs[i]];
		put_or_null(x, f->file && f->line, f->line);
	});
	COLUMN(x, "columnNumber", 0, n, put_null(x));
	us_json_end(&x->j);
	us_json_object(&x->j, "resourceTable");
	us_json_u64(&x->j, "length", n);
	COLUMN(x, "lib", 0, n, {
		uint32_t lib = library_of(x, x->func[x->funcs[i]].module);
		put_or_null(x, lib != NO_INDEX, lib);
	});
	COLUMN(x, "name", 0, n, put(x, string_of(i, IMAGE_OF_FUNC)));
	COLUMN(x, "host", 0, n, put_null(x));
	COLUMN(x, "type", 0, n, put(x, LIBRARY));
	us_json_end(&x->j);
}

static void no_symbols(struct firefox *x)
{
	static const char *const keys[] = { "libIndex", "address", "name",
					    "functionSize" };
	us_json_object(&x->j, "nativeSymbols");
	us_json_u64(&x->j, "length", 0);
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		us_json_array(&x->j, keys[i]);
		us_json_end(&x->j);
	}
	us_json_end(&x->j);
}

static void strings(struct firefox *x, const struct us_away_runs *runs)
{
	char words[96];
	us_json_array(&x->j, "stringArray");
	for (size_t i = 0; i < x->n_own_func; i++) {
		const struct us_profile_func *f = &x->func[x->funcs[i]];
		us_json_str(&x->j, NULL, f->name);
		us_json_str(&x->j, NULL, f->file ? f->path : "");
		us_json_str(&x->j, NULL, f->module ? f->module : "");
	}
	for (size_t i = 0; runs && i < runs->n_kind; i++)
		us_json_str(&x->j, NULL,
			    us_away_words(&runs->kind[i], words, sizeof(words)));
	us_json_end(&x->j);
}

static void put_ms(struct firefox *x, uint64_t ns)
{
	us_json_fixed(&x->j, NULL, ns / US_NS_PER_US, 3);
}

/* ---- Samples and markers ---- */

static void markers(struct firefox *x, const struct us_away_runs *runs)
{
	size_t n = runs ? runs->n : 0;
	us_json_object(&x->j, "markers");
	us_json_u64(&x->j, "length", n);
	COLUMN(x, "name", 0, n,
	       put(x, x->n_own_func * STRINGS_OF_FUNC + runs->v[i].kind));
	COLUMN(x, "startTime", 0, n, put_ms(x, runs->v[i].from_ns));
	COLUMN(x, "endTime", 0, n, put_ms(x, runs->v[i].to_ns));
	COLUMN(x, "phase", 0, n, put(x, INTERVAL));
	COLUMN(x, "category", 0, n, {
		uint8_t state = runs->kind[runs->v[i].kind].state;
		put(x, state == US_VCPU_EXIT ? VMM : IDLE);
	});
	COLUMN(x, "data", 0, n, {
		us_json_object(&x->j, NULL);
		us_json_str(&x->j, "type", "vCPU");
		us_json_u64(&x->j, "samples", runs->v[i].samples);
		us_json_end(&x->j);
	});
	us_json_end(&x->j);
}

#define AHEAD 32 /* samples; nodes of several are read at a time */

static int add_sample(struct firefox *x, uint64_t t_ns, uint32_t node, uint32_t weight)
{
	x->used[node] = true;
	return us_shown_add(&x->samples, t_ns / US_NS_PER_US, node, weight);
}

static int samples_of(struct firefox *x, size_t lane, struct us_away_runs *runs)
{
	struct us_timeline_cursor c = us_timeline_of(x->p, lane);
	struct us_timeline_sample m;
	if (us_shown_begin(&x->samples, us_timeline_count(x->p, lane)))
		return -ENOMEM;
	while (us_timeline_next(&c, &m)) {
		if (us_away_add(runs, &m) ||
		    (m.node && add_sample(x, m.t_ns, m.node, m.weight)))
			return -ENOMEM;
	}
	us_away_end(runs, MARKERS_MOST);
	return 0;
}

static void stack_numbers(void *ctx, size_t from, size_t n, uint64_t *ret)
{
	const struct firefox *x = ctx;
	const struct us_shown_sample *v = x->samples.v + from;
	size_t more = x->samples.n - from;
	for (size_t i = 0; i < n; i++) {
		if (i + AHEAD < more)
			__builtin_prefetch(&x->stack_of[v[i + AHEAD].node]);
		ret[i] = x->stack_of[v[i].node];
	}
}

static void time_deltas(void *ctx, size_t from, size_t n, uint64_t *ret)
{
	us_shown_deltas(&((struct firefox *)ctx)->samples, from, n, ret);
}

static void weights(void *ctx, size_t from, size_t n, uint64_t *ret)
{
	us_shown_weights(&((struct firefox *)ctx)->samples, from, n, ret);
}

static void put_samples(struct firefox *x)
{
	const struct us_shown *s = &x->samples;
	us_json_object(&x->j, "samples");
	us_json_str(&x->j, "weightType", "samples");
	us_json_u64(&x->j, "length", s->n);
	fflush(x->j.out);
	us_gzip_numbers(x->zip, true);
	us_json_column(&x->j, "stack", s->n, 0, stack_numbers, x);
	us_json_column(&x->j, "timeDeltas", s->n, 3, time_deltas, x);
	if (s->weight)
		us_json_column(&x->j, "weight", s->n, 0, weights, x);
	else
		us_json_str(&x->j, "weight", NULL);
	fflush(x->j.out);
	us_gzip_numbers(x->zip, false);
	us_json_end(&x->j);
}

/* Without times, each path is one sample. */
static void samples_of_tree(struct firefox *x)
{
	uint64_t n = 0;
	for (size_t i = 1; i < x->n_node; i++)
		n += x->node[i].self != 0;
	us_json_u64(&x->j, "length", n);
	COLUMN(x, "stack", 1, x->n_node, if (x->node[i].self) put(x, x->stack_of[i]));
	n = 0;
	COLUMN(x, "time", 1, x->n_node, if (x->node[i].self) put(x, n++));
	COLUMN(x, "weight", 1, x->n_node, if (x->node[i].self) put(x, x->node[i].self));
}

static void thread_head(struct firefox *x, const char *name, const char *process,
			const char *pid, unsigned tid)
{
	us_json_object(&x->j, NULL);
	us_json_str(&x->j, "processType", "default");
	us_json_str(&x->j, "processName", process);
	us_json_u64(&x->j, "processStartupTime", 0);
	us_json_str(&x->j, "processShutdownTime", NULL);
	us_json_u64(&x->j, "registerTime", 0);
	us_json_str(&x->j, "unregisterTime", NULL);
	us_json_array(&x->j, "pausedRanges");
	us_json_end(&x->j);
	us_json_str(&x->j, "name", name);
	us_json_bool(&x->j, "isMainThread", tid == 0);
	us_json_str(&x->j, "pid", pid);
	us_json_u64(&x->j, "tid", tid);
}

static void thread_tables(struct firefox *x, const struct us_away_runs *runs)
{
	markers(x, runs);
	stack_table(x);
	frame_table(x);
	func_tables(x);
	no_symbols(x);
	strings(x, runs);
	us_json_end(&x->j);
}

static void put_lane(struct firefox *x, size_t lane, unsigned tid,
		     const struct us_away_runs *runs)
{
	size_t n;
	char name[256], pid[16];
	const struct us_profile_lane *l = us_profile_lanes(x->p, &n);
	unsigned number = l[lane].recording + 1U + (l[lane].others > 0);
	snprintf(pid, sizeof(pid), "%u", number);
	thread_head(x, us_profile_lane_name(x->p, lane, name, sizeof(name)),
		    us_profile_lane_guest(x->p, lane), pid, tid);
	put_samples(x);
	thread_tables(x, runs);
}

static int thread_of_lane(struct firefox *x, size_t lane, unsigned tid)
{
	struct us_away_runs runs = { 0 };
	memset(x->used, 0, x->n_node * sizeof(*x->used));
	int rc = samples_of(x, lane, &runs);
	if (!rc)
		rc = number_stacks(x);
	if (!rc)
		put_lane(x, lane, tid, &runs);
	us_away_runs_fini(&runs);
	return rc;
}

static int thread_of_tree(struct firefox *x)
{
	for (size_t i = 0; i < x->n_node; i++)
		x->used[i] = x->node[i].self != 0;
	int rc = number_stacks(x);
	if (rc)
		return rc;
	thread_head(x, "all vCPUs", us_report_title(x->p), "1", 0);
	us_json_object(&x->j, "samples");
	us_json_str(&x->j, "weightType", "samples");
	samples_of_tree(x);
	us_json_end(&x->j);
	thread_tables(x, NULL);
	return 0;
}

/* A thread of the guest, on all vCPUs that it ran on, in a process with its own number.
 */
static int thread_of_owner(struct firefox *x, const struct us_owner_lane *l,
			   unsigned tid)
{
	char pid[32];
	memset(x->used, 0, x->n_node * sizeof(*x->used));
	int rc = us_shown_begin(&x->samples, l->n);
	for (size_t i = 0; i < l->n && !rc; i++)
		rc = add_sample(x, l->v[i].t_ns, l->v[i].node, l->v[i].weight);
	if (!rc)
		rc = number_stacks(x);
	if (rc)
		return rc;
	snprintf(pid, sizeof(pid), "guest %u", l->tgid);
	thread_head(x, l->name, l->process, pid, tid);
	put_samples(x);
	thread_tables(x, NULL);
	return 0;
}

static int threads_of_owners(struct firefox *x, unsigned tid)
{
	struct us_owner_lanes lanes;
	int rc = us_owner_lanes(x->p, OWNERS_MOST, &lanes);
	for (size_t i = 0; i < lanes.n && !rc; i++)
		rc = thread_of_owner(x, &lanes.v[i], tid++);
	us_owner_lanes_fini(&lanes);
	return rc;
}

static int threads(struct firefox *x)
{
	unsigned tid = 0;
	int rc = 0;
	us_json_array(&x->j, "threads");
	for (size_t place = 0; !rc; place++) {
		size_t lane = us_profile_lane_at(x->p, place);
		if (lane == SIZE_MAX)
			break;
		if (us_timeline_count(x->p, lane))
			rc = thread_of_lane(x, lane, tid++);
	}
	if (!rc && tid)
		rc = threads_of_owners(x, tid);
	if (!rc && !tid)
		rc = thread_of_tree(x);
	us_json_end(&x->j);
	return rc;
}

/* ---- The profile ---- */

static void put_categories(struct firefox *x)
{
	us_json_array(&x->j, "categories");
	for (size_t i = 0; i < N_CATEGORY; i++) {
		us_json_object(&x->j, NULL);
		us_json_str(&x->j, "name", categories[i].name);
		us_json_str(&x->j, "color", categories[i].color);
		us_json_array(&x->j, "subcategories");
		us_json_str(&x->j, NULL, "Other");
		us_json_end(&x->j);
		us_json_end(&x->j);
	}
	us_json_end(&x->j);
}

static void put_marker_schema(struct firefox *x)
{
	static const char *const places[] = { "marker-chart", "marker-table",
					      "timeline-overview" };
	us_json_array(&x->j, "markerSchema");
	us_json_object(&x->j, NULL);
	us_json_str(&x->j, "name", "vCPU");
	us_json_array(&x->j, "display");
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		us_json_str(&x->j, NULL, places[i]);
	us_json_end(&x->j);
	us_json_array(&x->j, "data");
	us_json_object(&x->j, NULL);
	us_json_str(&x->j, "key", "samples");
	us_json_str(&x->j, "label", "Samples");
	us_json_str(&x->j, "format", "integer");
	us_json_end(&x->j);
	us_json_end(&x->j);
	us_json_end(&x->j);
	us_json_end(&x->j);
}

static void put_meta(struct firefox *x)
{
	uint64_t period = us_profile_period_ns(x->p);
	us_json_object(&x->j, "meta");
	us_json_double(&x->j, "interval", period ? (double)period / 1e6 : 1, 6);
	us_json_u64(&x->j, "startTime", us_report_started(x->p) * 1000);
	us_json_u64(&x->j, "processType", 0);
	us_json_str(&x->j, "product", us_report_title(x->p));
	us_json_str(&x->j, "importedFrom", "uniscope " US_VERSION);
	us_json_u64(&x->j, "stackwalk", 1);
	us_json_u64(&x->j, "version", GECKO_VERSION);
	us_json_u64(&x->j, "preprocessedProfileVersion", VERSION);
	us_json_bool(&x->j, "symbolicated", true);
	us_json_bool(&x->j, "debug", false);
	us_json_bool(&x->j, "usesOnlyOneStackType", true);
	us_json_bool(&x->j, "doesNotUseFrameImplementation", true);
	us_json_bool(&x->j, "sourceCodeIsNotOnSearchfox", true);
	put_categories(x);
	put_marker_schema(x);
	us_json_end(&x->j);
}

static void put_libraries(struct firefox *x)
{
	size_t n;
	const struct us_profile_module *m = us_profile_modules(x->p, &n);
	us_json_array(&x->j, "libs");
	for (size_t i = 0; i < n; i++) {
		const char *path = m[i].m.path, *slash = strrchr(path, '/');
		char id[2 * US_BUILD_ID_MAX + 1] = "";
		for (unsigned k = 0; k < m[i].m.build_id_len && k < US_BUILD_ID_MAX;
		     k++)
			snprintf(id + 2 * k, 3, "%02x", m[i].m.build_id[k]);
		us_json_object(&x->j, NULL);
		us_json_str(&x->j, "arch", us_profile_fact(x->p, "arch"));
		us_json_str(&x->j, "name", slash ? slash + 1 : path);
		us_json_str(&x->j, "path", path);
		us_json_str(&x->j, "debugName", slash ? slash + 1 : path);
		us_json_str(&x->j, "debugPath", path);
		us_json_str(&x->j, "breakpadId", "");
		us_json_str(&x->j, "codeId", *id ? id : NULL);
		us_json_end(&x->j);
	}
	us_json_end(&x->j);
}

static int write_profile(struct firefox *x)
{
	us_json_object(&x->j, NULL);
	put_meta(x);
	put_libraries(x);
	us_json_array(&x->j, "pages");
	us_json_end(&x->j);
	int rc = threads(x);
	us_json_end(&x->j);
	return rc;
}

static int write_firefox(const struct us_profile *p, const struct us_report_opts *o,
			 FILE *out, struct us_err *e)
{
	struct firefox x = { 0 };
	(void)o;
	FILE *zip = us_gzip_stream(out, &x.zip);
	int rc = zip ? firefox_init(&x, p) : -ENOMEM;
	x.j = us_json_to(zip);
	if (!rc)
		rc = write_profile(&x);
	firefox_fini(&x);
	if (zip)
		fclose(zip);
	return rc ? us_fail(e, rc, "report: out of memory") : 0;
}

const struct us_format us_format_firefox = {
	.name = "firefox",
	.suffix = ".json.gz",
	.summary =
		"for profiler.firefox.com: vCPUs over time, idle and exits as markers",
	.timeline = true,
	.owners = true,
	.binary = true,
	.write = write_firefox,
};
