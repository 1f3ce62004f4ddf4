/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What dump does with a vCPU that has no host CPU when it looks: it waits, for a
 * bounded time, until it runs. */
#include "unit.h"

#include "backend/fake/fake.h"
#include "base/clock.h"
#include "cmd/dump/samples.h"

#include <string.h>

static struct us_backend_ops ops;
static const struct us_backend_ops *fake;
static unsigned n_ready; /* captures that find the vCPU without a host CPU */

static int next_ready(struct us_backend *b, uint64_t deadline_ns, struct us_capture *c)
{
	int r = fake->next(b, deadline_ns, c);
	if (r != 1 || !n_ready)
		return r;
	n_ready--;
	c->state = US_VCPU_READY;
	c->form = US_CAPTURE_NONE;
	return r;
}

/* How long it took, in ns. */
static uint64_t take(struct us_dump_seen *ret)
{
	static struct us_images images;
	static struct us_kernel kernel;
	static const struct us_fake_opts invented = { .n_vcpu = 1 };
	const struct us_target target = { .fake = &invented };
	const struct us_symbol_files files = { 0 };
	struct us_dump_samples samples;
	struct us_backend *b;
	struct us_unwinder *u;
	struct us_err e;
	char why[256];
	memset(&images, 0, sizeof(images));
	memset(&kernel, 0, sizeof(kernel));
	assert_int_equal(us_images_open(&images, &files, NULL, &e), 0);
	assert_int_equal(us_backend_open(&target, "fake", &b, why, sizeof(why), &e), 0);
	assert_int_equal(us_unwinder_new(b->arch, NULL, NULL, &u), 0);
	assert_int_equal(us_dump_samples_init(&samples, b->n_vcpu), 0);
	images.unwinder = u;
	images.hasty = true;
	assert_int_equal(us_kernel_open(&kernel, &images, b, &e), 0);
	fake = b->ops;
	ops = *fake;
	ops.next = next_ready;
	b->ops = &ops;
	uint64_t begun_ns = us_now_ns();
	assert_int_equal(us_dump_samples_take(&samples, &images, &kernel, b, 0, &e), 0);
	begun_ns = us_now_ns() - begun_ns;
	*ret = samples.v[0];
	us_dump_samples_fini(&samples);
	us_kernel_stop(&kernel);
	us_kernel_close(&kernel);
	b->ops = fake;
	us_backend_close(b);
	us_unwinder_free(u);
	us_images_fini(&images);
	return begun_ns;
}

static void waits_until_it_runs(void **state)
{
	(void)state;
	static struct us_dump_seen seen;
	n_ready = 10; /* 50 ms */
	take(&seen);
	assert_true(seen.taken && seen.has_stack);
	assert_int_equal(seen.state, US_VCPU_GUEST);
	assert_int_equal(seen.stack.n, 20);
}

static void does_not_wait_for_ever(void **state)
{
	(void)state;
	static struct us_dump_seen seen;
	n_ready = UINT32_MAX;
	assert_true(take(&seen) >= US_NS_PER_SEC / 2);
	assert_true(seen.taken && !seen.has_stack);
	assert_int_equal(seen.state, US_VCPU_READY);
	/* In a second it is given up, after some 200 captures. */
	assert_true(n_ready >= UINT32_MAX - 400);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(waits_until_it_runs),
		cmocka_unit_test(does_not_wait_for_ever),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
