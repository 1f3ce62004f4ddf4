# SPDX-License-Identifier: GPL-2.0-or-later
# What a sample of a domain costs: tests/bench/bench_xen.py.
# needs: tests/bench/bench-xen
# With a second CPU, dom0 has the first one alone.
set --
[ "$(xl info nr_cpus)" -gt 1 ] && set -- --config 'cpus = "1"'
run python3 $TESTS/conformance/xen.py $BUILD --only "what a look costs" "$@"
