/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile/files.c: several recordings as one.
 *
 * They are read one after the other into the same trie.  On the time axis each begins
 * where the one before ended.  Recordings whose images and names are at the same
 * addresses share a layout.  A different layout is treated like a time at which images
 * come and go: us_profile_layout_time() keeps its stacks separate, and names them.
 */
#include "profile/profile_priv.h"

#include "base/vec.h"

#include <errno.h>
#include <inttypes.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int no_memory(struct us_err *e)
{
	return us_fail(e, -ENOMEM, "report: out of memory");
}

int us_profile_begin_files(struct us_profile *p, const char *const *name, size_t n,
			   struct us_err *e)
{
	if (!n || n > US_PROFILE_MAX_RECORDINGS)
		return us_fail(e, -EINVAL, "report: at most %d recordings together",
			       US_PROFILE_MAX_RECORDINGS);
	p->recording = calloc(n, sizeof(*p->recording));
	p->file = calloc(n, sizeof(*p->file));
	if (!p->recording || !p->file)
		return no_memory(e);
	p->n_file = n;
	p->n_layout = 1;
	for (size_t i = 0; i < n; i++) {
		p->file[i].name = strdup(name[i]);
		p->file[i].end_words = strdup("");
		p->recording[i].name = p->file[i].name;
		p->recording[i].end_words = p->file[i].end_words;
		if (!p->file[i].name || !p->file[i].end_words)
			return no_memory(e);
	}
	return 0;
}

void us_profile_free_files(struct us_profile *p)
{
	for (size_t i = 0; i < p->n_file; i++) {
		free(p->file[i].name);
		free(p->file[i].guest);
		free(p->file[i].arch);
		free(p->file[i].end_words);
	}
	free(p->recording);
	free(p->file);
	free(p->lanes.v);
	us_profile_free_facts(&p->facts);
	us_profile_free_facts(&p->file_facts);
}

const struct us_profile_recording *us_profile_recordings(const struct us_profile *p,
							 size_t *ret_n)
{
	*ret_n = p->n_file;
	return p->recording;
}

bool us_profile_one_layout(const struct us_profile *p)
{
	return p->n_layout < 2;
}

/* ---- Layouts ---- */

void us_profile_hash_name(struct us_profile *p, const struct us_named *n)
{
	uint64_t *h = &p->file[p->file_now].names;
	const uint64_t part[] = { us_hash_bytes(n->name, strlen(n->name)), n->start,
				  n->size,
				  us_hash_bytes(n->module, strlen(n->module)) };
	for (size_t i = 0; i < sizeof(part) / sizeof(*part); i++)
		*h = (*h ^ part[i]) * 0x9e3779b97f4a7c15 + 1;
}

static bool same_module(const struct us_module *a, const struct us_module *b)
{
	return a->start == b->start && a->end == b->end && a->bias == b->bias &&
	       a->root == b->root && a->from_ns == b->from_ns &&
	       a->until_ns == b->until_ns && a->match == b->match &&
	       a->number == b->number && us_module_same_image(a, b);
}

/* The modules are in the order of their recordings; those of one begin at *ret. */
static size_t modules_of(const struct us_profile *p, size_t file, size_t *ret)
{
	size_t n = 0;
	*ret = 0;
	for (size_t i = 0; i < p->modules.n; i++) {
		*ret += p->modules.v[i].recording < file;
		n += p->modules.v[i].recording == file;
	}
	return n;
}

static bool same_layout(const struct us_profile *p, size_t a, size_t b)
{
	/* Programs are never at the same places in two runs. */
	if (p->file[a].has_mappings || p->file[b].has_mappings)
		return false;
	size_t x, y, n = modules_of(p, a, &x);
	if (p->file[a].names != p->file[b].names || modules_of(p, b, &y) != n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!same_module(&p->modules.v[x + i].m, &p->modules.v[y + i].m))
			return false;
	return true;
}

/* The modules of a recording with an earlier one's layout add nothing. */
static void drop_modules(struct us_profile *p, size_t file)
{
	size_t first, n = modules_of(p, file, &first);
	for (size_t i = first; i < first + n; i++)
		free((char *)p->modules.v[i].m.path);
	if (n)
		memmove(&p->modules.v[first], &p->modules.v[first + n],
			(p->modules.n - first - n) * sizeof(*p->modules.v));
	p->modules.n -= n;
}

void us_profile_module_times(const struct us_profile *p,
			     const struct us_profile_module *m, uint64_t *ret_from,
			     uint64_t *ret_until)
{
	*ret_from = m->m.from_ns;
	*ret_until = m->m.until_ns;
	if (p->n_layout < 2 || m->recording == US_PROFILE_ANY_RECORDING)
		return;
	unsigned layout = p->recording[m->recording].layout;
	*ret_from = us_profile_layout_time(p, layout, m->m.from_ns);
	*ret_until = m->m.until_ns ? us_profile_layout_time(p, layout, m->m.until_ns)
				   : (layout + 1ULL) << US_LAYOUT_SHIFT;
}

/* ---- Which files are wanted ---- */

static int leave_out(struct us_profile *p, const struct us_profile_filter *f,
		     struct us_err *e)
{
	regex_t re;
	int rc = regcomp(&re, f->regex, REG_EXTENDED | REG_NOSUB);
	if (rc)
		return us_fail(e, -EINVAL, "filter '%s': no regular expression",
			       f->regex);
	for (size_t i = 0; i < p->n_file; i++) {
		const char *text = f->by == US_BY_GUEST ? p->recording[i].guest
							: p->recording[i].name;
		if (regexec(&re, text ? text : "", 0, NULL, 0))
			p->file[i].left_out = true;
	}
	regfree(&re);
	return 0;
}

static int check_arch(const struct us_profile *p, struct us_err *e)
{
	size_t first = 0;
	while (first < p->n_file && !p->file[first].arch)
		first++;
	for (size_t i = first + 1; i < p->n_file; i++) {
		if (!p->file[i].arch || !strcmp(p->file[i].arch, p->file[first].arch))
			continue;
		us_fail(e, -EINVAL,
			"%s is of %.20s, %s of %.20s: they cannot be one profile",
			p->file[first].name, p->file[first].arch, p->file[i].name,
			p->file[i].arch);
		us_hint(e, "report the recordings of each architecture separately");
		return -EINVAL;
	}
	return 0;
}

int us_profile_find_layouts(struct us_profile *p, struct us_err *e)
{
	if (p->n_file > 1 && p->n_phase)
		return us_fail(e, -EINVAL,
			       "cannot show the phases of a boot of several "
			       "recordings: %s is not the only one",
			       p->file[0].name);
	if (p->n_file > 1 && p->opts.waits)
		return us_fail(
			e, -EINVAL,
			"--waits: tasks can be told apart in one recording only");
	if (p->n_file > 1 && p->opts.host)
		return us_fail(e, -EINVAL,
			       "--host takes one recording: the host's functions "
			       "differ between several");
	for (unsigned i = 0; i < p->opts.n_filter; i++) {
		const struct us_profile_filter *f = &p->opts.filter[i];
		if (f->by != US_BY_GUEST && f->by != US_BY_RECORDING)
			continue;
		int rc = leave_out(p, f, e);
		if (rc)
			return rc;
	}
	unsigned n = 1;
	for (size_t i = 1; i < p->n_file; i++) {
		size_t k = 0;
		while (k < i && !(p->recording[k].layout < n && same_layout(p, k, i)))
			k++;
		p->recording[i].layout = k < i ? p->recording[k].layout : n++;
		if (k < i)
			drop_modules(p, i);
	}
	p->n_layout = n;
	return p->n_file > 1 ? check_arch(p, e) : 0;
}

/* ---- One after the other ---- */

void us_profile_begin_file(struct us_profile *p, size_t i)
{
	p->file_now = i;
	p->trie.numbers.n = 1;
	p->host_trie.numbers.n = 1;
	us_pair_map_fini(&p->call_of);
	p->call_of = (struct us_pair_map){ 0 };
	p->shift_ns = 0;
	if (i && p->sum.first_ns <= p->sum.last_ns)
		p->shift_ns = p->sum.last_ns + 1000 - p->opts.from_ns;
	p->recording[i].shift_ns = p->shift_ns;
}

int us_profile_end_file(struct us_profile *p, struct us_err *e)
{
	struct us_profile_file *f = &p->file[p->file_now];
	if (!f->has_stats)
		f->stats.elapsed_ns = p->last_t;
	p->last_t = 0;
	return us_profile_end_vcpus(p) || us_profile_join_facts(p) ? no_memory(e) : 0;
}

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Counts are added up; how long samples stopped the guest is an upper bound. */
static void add_stats(struct us_record_stats *sum, const struct us_record_stats *own)
{
	uint64_t all[sizeof(*sum) / sizeof(uint64_t)], one[sizeof(all) / sizeof(*all)];
	struct us_record_stats held = *sum;
	memcpy(all, sum, sizeof(all));
	memcpy(one, own, sizeof(one));
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		all[i] += one[i];
	memcpy(sum, all, sizeof(*sum));
	sum->held_p50_ns = most(held.held_p50_ns, own->held_p50_ns);
	sum->held_p99_ns = most(held.held_p99_ns, own->held_p99_ns);
	sum->held_max_ns = most(held.held_max_ns, own->held_max_ns);
}

/* Sampled and counted recordings have different units. */
static int check_kinds(const struct us_profile *p, struct us_err *e)
{
	size_t sampled = SIZE_MAX, counted = SIZE_MAX;
	for (size_t i = 0; i < p->n_file; i++) {
		if (p->file[i].sampled)
			sampled = i;
		if (p->file[i].counted)
			counted = i;
	}
	if (counted == SIZE_MAX || p->n_file == 1)
		return 0;
	if (sampled != SIZE_MAX) {
		us_fail(e, -EINVAL,
			"%s was sampled, %s counted: samples and instructions "
			"cannot be added up",
			p->file[sampled].name, p->file[counted].name);
		us_hint(e, "report them separately");
		return -EINVAL;
	}
	if (p->n_layout > 1)
		return us_fail(e, -EINVAL,
			       "%s and the others were counted with images at "
			       "different addresses: they cannot be one profile",
			       p->file[0].name);
	return 0;
}

int us_profile_join_files(struct us_profile *p, struct us_err *e)
{
	struct us_profile_summary *sum = &p->sum;
	sum->has_stats = sum->file.ended = true;
	for (size_t i = 0; i < p->n_file; i++) {
		const struct us_profile_recording *r = &p->recording[i];
		add_stats(&sum->stats, &p->file[i].stats);
		sum->has_stats &= p->file[i].has_stats;
		sum->file.bytes += r->file.bytes;
		sum->file.cut |= r->file.cut;
		sum->file.ended &= r->file.ended;
		if (i == 0 || r->end != US_RECORD_DONE) {
			sum->end = r->end;
			sum->end_words = r->end_words;
		}
	}
	return check_kinds(p, e);
}

/* ---- What they are ---- */

static int set_text(char **to, const char *text)
{
	char *copy = strdup(text);
	if (!copy)
		return -ENOMEM;
	free(*to);
	*to = copy;
	return 0;
}

/* As in us_report_title(): the guest's name, else its image's, else the target's. */
int us_profile_file_fact(struct us_profile *p, const char *key, const char *value)
{
	struct us_profile_file *f = &p->file[p->file_now];
	const char *slash = strrchr(value, '/');
	unsigned rank = !strcmp(key, "guest")	 ? 3
			: !strcmp(key, "kernel") ? 2
			: !strcmp(key, "target") ? 1
						 : 0;
	if (!*value)
		return 0;
	if (!strcmp(key, "hz"))
		f->hz = strtod(value, NULL);
	if (!strcmp(key, "weights"))
		f->independent = !strcmp(value, "independent");
	if (!strcmp(key, "arch"))
		return set_text(&f->arch, value);
	if (rank < f->guest_rank || !rank)
		return 0;
	if (rank == 2 && slash && slash[1])
		value = slash + 1;
	f->guest_rank = rank;
	int rc = set_text(&f->guest, value);
	p->recording[p->file_now].guest = f->guest;
	return rc;
}

/* ---- Lanes ---- */

uint32_t us_profile_new_lane(struct us_profile *p, unsigned vcpu)
{
	uint16_t *known = p->file[p->file_now].lane_of;
	if (p->lanes.n < US_MAX_LANES) {
		struct us_profile_lane *lane = us_vec_push(&p->lanes);
		if (!lane)
			return US_PROFILE_NONE;
		lane->recording = (uint16_t)p->file_now;
		lane->vcpu = (uint16_t)vcpu;
	}
	if (p->lanes.n == US_MAX_LANES)
		p->lanes.v[US_MAX_LANES - 1].others++;
	known[vcpu] = (uint16_t)p->lanes.n;
	return known[vcpu] - 1U;
}

const struct us_profile_lane *us_profile_lanes(const struct us_profile *p,
					       size_t *ret_n)
{
	*ret_n = p->lanes.n;
	return p->lanes.v;
}

/* Of one recording; the lane of the others is the last. */
static bool is_before(const struct us_profile_lane *a, const struct us_profile_lane *b)
{
	return !a->others != !b->others ? !a->others : a->vcpu < b->vcpu;
}

size_t us_profile_lane_at(const struct us_profile *p, size_t place)
{
	const struct us_profile_lane *v = p->lanes.v;
	size_t first = place, end = place;
	if (place >= p->lanes.n)
		return SIZE_MAX;
	/* Recordings are read one after another. */
	while (first && v[first - 1].recording == v[place].recording)
		first--;
	while (end < p->lanes.n && v[end].recording == v[place].recording)
		end++;
	for (size_t i = first; i < end; i++) {
		size_t before = first;
		for (size_t k = first; k < end; k++)
			before += is_before(&v[k], &v[i]);
		if (before == place)
			return i;
	}
	return SIZE_MAX;
}

const char *us_profile_lane_guest(const struct us_profile *p, size_t lane)
{
	const struct us_profile_lane *l = &p->lanes.v[lane];
	const char *guest = p->recording[l->recording].guest;
	return l->others ? "other guests" : guest ? guest : "a guest";
}

char *us_profile_lane_name(const struct us_profile *p, size_t lane, char *dst,
			   size_t size)
{
	const struct us_profile_lane *l = &p->lanes.v[lane];
	const char *guest = p->recording[l->recording].guest;
	bool others = false, again = false;
	guest = guest ? guest : "a guest";
	if (l->others) {
		snprintf(dst, size, "other vCPUs");
		return dst;
	}
	for (size_t i = 0; i < p->n_file; i++) {
		const char *other = p->recording[i].guest;
		bool same = !strcmp(other ? other : "a guest", guest);
		others |= !same;
		again |= same && i != l->recording;
	}
	snprintf(dst, size, "%.100s%svCPU %u%s%.100s%s", others ? guest : "",
		 others ? " " : "", l->vcpu, again ? " (" : "",
		 again ? p->recording[l->recording].name : "", again ? ")" : "");
	return dst;
}

uint64_t us_profile_period_ns(const struct us_profile *p)
{
	const struct us_record_stats *r = &p->sum.stats;
	uint64_t looks = r->running + r->idle + r->off;
	const char *vcpus = us_profile_fact(p, "vcpus");
	unsigned long n = vcpus ? strtoul(vcpus, NULL, 10) : 0;
	n = n && n <= US_MAX_VCPUS ? n : 1;
	if (p->opts.waits)
		return p->waits.stats.looks ? r->elapsed_ns / p->waits.stats.looks : 0;
	if (us_profile_is_counted(p) || !p->sum.has_stats || !looks)
		return 0;
	if (p->scaled_ns > 0)
		return (uint64_t)p->scaled_ns;
	if (p->n_file > 1)
		return r->vcpu_ns / looks;
	return r->elapsed_ns / looks * n;
}
