# SPDX-License-Identifier: GPL-2.0-or-later
# Thin front of meson: `make` leaves the program at build/uniscope.
BUILD ?= build
PREFIX ?= /usr/local
CLANG_FORMAT ?= clang-format-14
NINJA = ninja -C $(BUILD)

.PHONY: all tests demo check check-all rig bench bench-docs boot-experiment oracle fuzz format format-check install clean

all:
	@command -v meson >/dev/null || { echo "meson is missing: run scripts/install-packages build"; exit 1; }
	@scripts/configure $(BUILD) --prefix=$(PREFIX)
	@$(NINJA) program

# And the programs and guests of all tests.
tests: all
	@$(NINJA)

# What a user sees first: installs what is missing, builds, profiles the demo
# unikernel before and after its hot spot is mended, and leaves demo.html.
demo:
	@scripts/install-packages demo
	@$(MAKE) --no-print-directory all
	@scripts/demo $(BUILD)

check:
	@scripts/install-packages check
	@scripts/check $(BUILD)

# And what takes longer: each backend on each guest, and the rigs; hours.
check-all:
	@scripts/install-packages check
	@scripts/check --all $(BUILD)

# A shell in a host with a hypervisor, emulated: make rig RIG=kvm-x86_64.
rig: tests
	@tests/rigs/rig.py $(BUILD) $(RIG)

# Ratios against a floor or a peer measured in the same run.
bench: tests
	meson test -C $(BUILD) --benchmark --verbose

# The same on a machine with nothing else to do, to be written to docs/figures.md.
bench-docs: tests
	@scripts/bench-docs $(BUILD)

# Toro's experiment: the demo unikernel, loaded in all ways there are; writes docs/boot.md's
# tables.  PARTS: those alone (tcg plain kvm rig).
boot-experiment: tests
	@scripts/install-packages check
	@tests/boot/experiment $(BUILD) $(PARTS)

# Stacks against libdwfl's, the test guests in 24 builds: 10,000 captures each.
oracle: tests
	@$(NINJA) oracle-guests
	tests/oracle/run-oracle $(BUILD) --json $(BUILD)/oracle.json

# RUNS inputs for each fuzz target.
fuzz:
	@scripts/fuzz $(RUNS)

format:
	git ls-files '*.c' '*.h' | xargs $(CLANG_FORMAT) -i

format-check:
	@git ls-files '*.c' '*.h' | xargs $(CLANG_FORMAT) --dry-run --Werror

install: all
	@meson install -C $(BUILD) --no-rebuild

clean:
	rm -rf build build-asan build-fuzz
