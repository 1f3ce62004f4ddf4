#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The first process of a rig: makes the host ready, runs the test, and says its exit
# status on the serial line.  Without a test: a shell.
/bin/busybox mkdir -p /proc /sys /dev /tmp /run /var /sbin /usr/bin /usr/sbin
/bin/busybox --install -s
ln -s /run /var/run
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs shm /dev/shm
mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null
mount -t debugfs debugfs /sys/kernel/debug 2>/dev/null
ln -s /proc/self/fd /dev/fd
ip link set lo up
dmesg -n 1
export PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin HOME=/
export TESTS=/uniscope/tests BUILD=/uniscope/build PATIENCE=4 PYTHONFAULTHANDLER=1
ln -s $BUILD/uniscope /usr/bin/uniscope

say() { # with the seconds since Linux began
	read -r up _ </proc/uptime
	echo "@@ $up $*"
}

# For tests: run a command, remember if it fails.  One that hangs ends (143), and the rest
# is run.
failed=0
limit=3000
run() {
	timeout -k 10 $limit "$@" || {
		status=$?
		echo "# $*: exit $status"
		failed=$status
	}
}

while read -r module; do
	insmod "/modules/$module.ko" || say "no module $module"
done </rig/modules
. /rig/setup
say ready
if [ -e /rig/test ]; then
	(
		set -- $(cat /rig/words)
		. /rig/test
		exit $failed
	)
	say "done status $?"
else
	setsid -c sh -i
fi
poweroff -f
