/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A profiler that is killed at any moment leaves the guest running: gdb and qmp. */
#include "remote.h"

extern const struct us_backend_ops us_backend_gdb, us_backend_qmp;

static void survives_sigkill(const struct us_backend_ops *o, bool kvm, unsigned smp,
			     unsigned turns)
{
	struct rig r;
	struct us_target t = { 0 };
	if (!rig_start(&r, kvm, smp, false))
		skip();
	if (o == &us_backend_gdb)
		strcpy(t.gdb, r.gdb);
	else
		strcpy(t.qmp, r.qemu.qmp);
	const char *more = getenv("US_TEST_KILLS"); /* for a longer run by hand */
	if (more)
		turns = (unsigned)atoi(more);
	for (unsigned i = 0; i < turns; i++) {
		profile_and_kill(o, &t, i);
		assert_true(goes_on(&r));
	}
	/* The stub or monitor serves the next one. */
	us_backend_close(open_backend(o, &t));
	assert_true(goes_on(&r));
	rig_stop(&r);
}

static void gdb_tcg(void **state)
{
	(void)state;
	survives_sigkill(&us_backend_gdb, false, 2, 12);
}

static void gdb_kvm(void **state)
{
	(void)state;
	survives_sigkill(&us_backend_gdb, true, 1, 4);
}

static void qmp_tcg(void **state)
{
	(void)state;
	survives_sigkill(&us_backend_qmp, false, 2, 12);
}

static void qmp_kvm(void **state)
{
	(void)state;
	survives_sigkill(&us_backend_qmp, true, 1, 4);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(gdb_tcg),
		cmocka_unit_test(gdb_kvm),
		cmocka_unit_test(qmp_tcg),
		cmocka_unit_test(qmp_kvm),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
