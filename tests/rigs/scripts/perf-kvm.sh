# SPDX-License-Identifier: GPL-2.0-or-later
# What perf kvm --guest record takes of a guest, imported.  On one CPU, as those by bpf.
# needs: /usr/bin/perf
run python3 "$TESTS/conformance/perf_kvm.py" "$BUILD"
