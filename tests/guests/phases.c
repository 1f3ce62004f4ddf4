/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * phases.c: spins with one frame pointer after the other.
 */
#include "phases.h"
#include "machine.h"
#include "text.h"
#include "truth.h"

#define FUNCTIONS(X) X(main_loop) X(spin_with_fp)
TRUTH_FUNCTIONS(FUNCTIONS);

void spin_with_fp(u64 fp, u64 iterations);

static const char tree[] = "start_vcpu\n"
			   "  kmain\n"
			   "    main_loop\n"
			   "      spin_with_fp\n"
			   "      announce\n"
			   "        serial_write\n"
			   "      report\n"
			   "        print_truth\n"
			   "          serial_write\n"
			   "        print_beat\n"
			   "          serial_write\n";

static struct truth truths[MAX_VCPUS];
static const struct phase *phases;
static u32 n_phases;
static u64 unit, start;

void phases_set(const struct phase *p, u32 n)
{
	phases = p;
	n_phases = n;
	print_tree(tree);
	unit = measure_iterations(1000, 2500);
	start = read_tsc();
}

static VISIBLE void announce(struct truth *t, const struct phase *p)
{
	static struct text line;

	line.len = 0;
	text_string(&line, "PHASE ");
	text_string(&line, p->name);
	text_char(&line, '\n');
	truth_call(t, IN(serial_write));
	serial_write(line.data, line.len);
	truth_enter(t, IN(main_loop));
}

VISIBLE NORETURN void main_loop(struct truth *t)
{
	u64 announced = ~0ul;

	for (;;) {
		u64 second = (t->last - start) / tsc_second;
		const struct phase *p = &phases[second % n_phases];

		if (t->vcpu == 0 && announced != second)
			announce(t, p);
		announced = second;
		truth_call(t, IN(spin_with_fp));
		spin_with_fp(p->fp, unit);
		__asm__ volatile(".globl after_call\nafter_call:" ::: "memory");
		truth_enter(t, IN(main_loop));
		report(t);
	}
}

NORETURN void kmain(u32 vcpu)
{
	struct truth *t = &truths[vcpu];

	truth_init(t, vcpu, truth_names);
	t->current = IN(main_loop);
	main_loop(t);
}
