# SPDX-License-Identifier: GPL-2.0-or-later
# dom0 of a Xen host: what xl needs.  XEN is the folder of Xen's programs.
XEN=$(echo /usr/lib/xen-*/bin)
export PATH=$PATH:$XEN
mkdir -p /run/xen /run/xenstored /run/lock /var/lib/xenstored /var/lib/xen /var/log/xen/console /etc/xen
ln -s /run/lock /var/lock
: >/etc/xen/xl.conf
mount -t xenfs xenfs /proc/xen
xenstored --pid-file /run/xenstored.pid
# For 300 s, unless it has ended: a rig is slow.
for _ in $(seq 3000); do
	[ ! -S /run/xenstored/socket ] && pidof xenstored >/dev/null || break
	usleep 100000
done
xen-init-dom0 >/dev/null || say "no dom0"
# What a domain writes: to guest-NAME.log, of an arm64 one guest-NAME-vuart0.log.
xenconsoled --pid-file=/run/xenconsoled.pid --log=guest
# A domain that is busy would else have as much of the one processor as all tools of dom0.
xl sched-credit2 -d 0 -w 1024 || say "no weight for dom0"
