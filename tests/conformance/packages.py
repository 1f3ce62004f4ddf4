# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian packages as test guests: downloaded once, unpacked in the build folder, never
installed.  What was unpacked before needs no network."""
import glob
import os
import re
import subprocess

from harness import Skip
from once import alone


def _download(package, where):
    got = subprocess.run(["apt-get", "download", "-qq", package], cwd=where,
                         capture_output=True, text=True)
    if got.returncode == 0:
        return
    # A fresh machine has no package lists; only root may fetch them.
    if os.geteuid() == 0:
        subprocess.run(["apt-get", "update", "-qq"], capture_output=True)
        got = subprocess.run(["apt-get", "download", "-qq", package], cwd=where,
                             capture_output=True, text=True)
    if got.returncode:
        raise Skip(f"{package} cannot be downloaded: {got.stderr.strip()[-100:]}")


def unpack(build, package):
    """The folder with the package's files."""
    folder = os.path.join(build, "packages")
    with alone(folder):
        return _unpack(folder, package)


def _unpack(folder, package):
    where = os.path.join(folder, package)
    done = os.path.join(where, "unpacked")
    if os.path.exists(done):
        return where
    os.makedirs(where, exist_ok=True)
    _download(package, where)
    debs = glob.glob(os.path.join(where, "*.deb"))
    if not debs:
        raise Skip(f"{package} cannot be downloaded")
    subprocess.run(["dpkg-deb", "-x", debs[0], where], check=True)
    os.remove(debs[0])
    open(done, "w").close()
    return where


def unpack_linux(build, meta="linux-image-cloud-amd64"):
    """As unpack(), of the kernel that this package without files depends on.  One that
    was unpacked before is taken, so that a test does not change under its user."""
    name = re.compile(r"linux-image-\d[\d.]*(-\d+)?(\+\w+)?-"
                      + meta.removeprefix("linux-image-"))
    old = [done for done in sorted(glob.glob(os.path.join(build, "packages", "*",
                                                          "unpacked")))
           if name.fullmatch(os.path.basename(os.path.dirname(done)))]
    if old:
        return os.path.dirname(old[-1])
    tells = subprocess.run(["apt-cache", "depends", meta], capture_output=True, text=True)
    names = [line.split()[-1] for line in tells.stdout.splitlines() if "Depends:" in line]
    if not names:
        raise Skip(f"{meta} is not known to apt")
    return unpack(build, names[0])
