# SPDX-License-Identifier: GPL-2.0-or-later
# As owners.sh by the backend bpf, on KVM of ARM.
# needs: tests/linux/owners-aarch64/short-a tests/linux/owners-aarch64/short-b
# The program in Go and, if it could be built, threads:
# needs: tests/linux/owners-aarch64/[gt]*
# linux: bookworm:aarch64 trixie:aarch64 trixie-backports:aarch64
for kernel in bookworm:aarch64 trixie:aarch64 trixie-backports:aarch64; do
	run python3 "$TESTS/linux/test_owners.py" "$BUILD" "$kernel" --backend bpf --accel kvm \
		--seconds 60
	run python3 "$TESTS/linux/test_tasks.py" "$BUILD" "$kernel" --backend bpf --accel kvm \
		--only tasks:
done
