# SPDX-License-Identifier: GPL-2.0-or-later
# Rows of docs/accuracy.md; the words are real.py's: BACKEND ACCEL GUEST [OPTION...]
limit=7000
if python3 "$TESTS/calibration/real.py" "$BUILD" "$@" >/tmp/rows 2>&1; then ok=ok; else ok="not ok"; fi
sed 's/^/# /' /tmp/rows
echo "$ok 1 - recordings by $1 can be held to what the guest states"
echo 1..1
