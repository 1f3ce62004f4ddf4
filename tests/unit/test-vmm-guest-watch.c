/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Guests that come to this host are given once; skipped without KVM. */
#include "vmm/guest_watch.h"

#include "base/clock.h"

#include "mini-vmm.h"

static bool is_given(struct us_guest_watch *w, uint64_t now_ns, pid_t pid)
{
	struct us_guest_list l;
	bool given = false;
	assert_int_equal(us_guest_watch_look(w, now_ns, &l, NULL), 0);
	for (size_t i = 0; i < l.n; i++)
		given = given || l.v[i].pid == pid;
	us_guest_list_fini(&l);
	return given;
}

static bool is_known(const struct us_guest_watch *w, pid_t pid)
{
	for (size_t i = 0; i < w->n; i++)
		if (w->v[i].pid == pid)
			return true;
	return false;
}

static void a_guest_is_given_once(void **state)
{
	static const uint8_t halts[] = { 0xfb, 0xf4, 0xeb, 0xfd };
	struct us_guest_watch w = { 0 };
	struct mini_vmm vmm;
	(void)state;
	if (access("/dev/kvm", R_OK | W_OK))
		skip();
	assert_false(is_given(&w, 1, getpid()));
	assert_true(is_known(&w, getpid()));
	mini_start(&vmm, halts, sizeof(halts));
	assert_true(is_given(&w, 2, vmm.pid));
	assert_false(is_given(&w, 3, vmm.pid));
	assert_false(is_given(&w, 3 + 100 * US_NS_PER_SEC, vmm.pid));
	us_guest_watch_forget(&w, vmm.pid);
	assert_true(is_given(&w, 4 + 100 * US_NS_PER_SEC, vmm.pid));
	pid_t pid = vmm.pid;
	mini_stop(&vmm);
	assert_false(is_given(&w, 5 + 100 * US_NS_PER_SEC, pid));
	assert_false(is_known(&w, pid));
	us_guest_watch_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_guest_is_given_once),
	};
	return cmocka_run_group_tests_name("vmm-guest-watch", tests, NULL, NULL);
}
