/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile-recording.h: recordings sample by sample, and the profiles that they become.
 */
#ifndef US_TEST_PROFILE_RECORDING_H
#define US_TEST_PROFILE_RECORDING_H

#include "unit.h"

#include "base/clock.h"
#include "profile/profile.h"
#include "store/store.h"

#include <sys/mman.h>
#include <unistd.h>

#define MS US_NS_PER_MS

/* Code without a name: functions of US_UNKNOWN_CODE_BYTES each. */
#define MAIN 0x1000
#define LOOP 0x2000
#define COPY 0x3000

struct recording {
	int fd;
	struct us_writer *w;
};

static inline void begin(struct recording *r)
{
	struct us_err e;
	r->fd = memfd_create("recording", MFD_CLOEXEC);
	assert_true(r->fd >= 0);
	assert_int_equal(us_writer_open(r->fd, &r->w, &e), 0);
}

static inline void add(struct recording *r, uint64_t t_ns, enum us_vcpu_state state,
		       uint32_t weight, size_t n, const us_gva *pc)
{
	struct us_err e;
	struct us_sample s = { .t_ns = t_ns,
			       .vcpu = (uint16_t)(t_ns / MS % 2),
			       .state = (uint8_t)state,
			       .end = n ? US_END_ROOT : US_END_NONE,
			       .weight = weight };
	assert_int_equal(us_writer_sample(r->w, &s, pc, NULL, n, &e), 0);
}

static inline void add_flagged(struct recording *r, uint64_t t_ns, size_t n,
			       const us_gva *pc, const uint8_t *flags)
{
	struct us_err e;
	struct us_sample s = { .t_ns = t_ns, .end = US_END_ROOT, .weight = 1 };
	assert_int_equal(us_writer_sample(r->w, &s, pc, flags, n, &e), 0);
}

static inline void add_cut(struct recording *r, uint64_t t_ns, size_t n,
			   const us_gva *pc, const uint8_t *flags)
{
	struct us_err e;
	struct us_sample s = { .t_ns = t_ns, .end = US_END_NO_RULE, .weight = 1 };
	assert_int_equal(us_writer_sample(r->w, &s, pc, flags, n, &e), 0);
}

static inline void end(struct recording *r, enum us_record_end how, const char *words)
{
	struct us_err e;
	struct us_record_stats s = { .elapsed_ns = 100 * MS };
	assert_int_equal(us_writer_end(r->w, &s, how, words, &e), 0);
	us_writer_close(r->w);
	assert_int_equal(lseek(r->fd, 0, SEEK_SET), 0);
}

static inline struct us_profile *profile_of(struct recording *r,
					    const struct us_profile_opts *o)
{
	struct us_profile *p = NULL;
	struct us_err e = { 0 };
	assert_int_equal(lseek(r->fd, 0, SEEK_SET), 0);
	if (us_profile_read(r->fd, o, &p, &e))
		fail_msg("%s", e.msg);
	return p;
}

static const struct us_profile_func no_func;

static inline const struct us_profile_func *func_at(const struct us_profile *p,
						    us_gva start)
{
	size_t n;
	const struct us_profile_func *f = us_profile_funcs(p, &n);
	for (size_t i = 0; i < n; i++)
		if (f[i].start == start)
			return &f[i];
	fail_msg("no function at %#lx", (unsigned long)start);
	return &no_func;
}

static inline const struct us_profile_func *func_named(const struct us_profile *p,
						       const char *name)
{
	size_t n;
	const struct us_profile_func *f = us_profile_funcs(p, &n);
	for (size_t i = 0; i < n; i++)
		if (!strcmp(f[i].name, name))
			return &f[i];
	fail_msg("no function %s", name);
	return &no_func;
}

static inline bool warned(const struct us_profile *p, const char *part)
{
	for (size_t i = 0; i < us_profile_n_warning(p); i++)
		if (strstr(us_profile_warning(p, i), part))
			return true;
	return false;
}

/* Children lie within their parents and come after them; sums hold everywhere. */
static inline void check_tree(const struct us_profile *p)
{
	size_t n, n_func;
	const struct us_profile_node *v = us_profile_nodes(p, &n);
	const struct us_profile_func *f = us_profile_funcs(p, &n_func);
	uint64_t self = 0, total = 0;
	for (size_t i = 0; i < n; i++) {
		uint64_t below = v[i].self, last = UINT64_MAX;
		for (uint32_t c = v[i].child; c; c = v[c].next) {
			assert_true(c > i && c < n);
			assert_int_equal(v[c].parent, i);
			assert_true(v[c].total <= last && v[c].total > 0);
			last = v[c].total;
			below += v[c].total;
		}
		assert_int_equal(v[i].total, below);
		assert_true(v[i].low >= 0 && v[i].low <= v[i].high && v[i].high <= 1);
		self += v[i].self;
	}
	for (size_t i = 0; i < n_func; i++) {
		assert_true(f[i].self <= f[i].total);
		total += f[i].self;
	}
	assert_int_equal(self, us_profile_summary(p)->running);
	assert_int_equal(total, self);
	assert_int_equal(v[0].total, self);
}

static inline void module(struct recording *r, const char *path, enum us_match match)
{
	struct us_err e;
	struct us_module m = { .start = 0x400000,
			       .end = 0x500000,
			       .match = (uint8_t)match,
			       .path = path };
	assert_int_equal(us_writer_module(r->w, &m, &e), 0);
}

#endif
