# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian packages as test guests: downloaded once, unpacked in the build folder, never
installed.  What was unpacked before needs no network."""
import glob
import os
import re
import subprocess
import tempfile

from harness import Skip
from once import alone


def cache_options(folder):
    """For apt: keep what its lists were made into, in that folder.  Containers' apt is told
    to keep nothing, and takes a second of CPU for it at each start."""
    os.makedirs(folder, exist_ok=True)
    return [word for name in ("pkgcache", "srcpkgcache")
            for word in ("-o", f"Dir::Cache::{name}={os.path.abspath(folder)}/{name}.bin")]


def own_cache(build):
    """Of the machine's own lists."""
    return cache_options(os.path.join(build, "packages", "apt"))


def _download(build, packages, where):
    """All by one apt-get."""
    command = ["apt-get", *own_cache(build), "download", "-qq", *packages]
    got = subprocess.run(command, cwd=where, capture_output=True, text=True)
    if got.returncode == 0:
        return
    # A fresh machine has no package lists; only root may fetch them.
    if os.geteuid() == 0:
        subprocess.run(["apt-get", *own_cache(build), "update", "-qq"], capture_output=True)
        got = subprocess.run(command, cwd=where, capture_output=True, text=True)
    if got.returncode:
        raise Skip(f"{' '.join(packages)} cannot be downloaded: {got.stderr.strip()[-100:]}")


def unpack(build, package):
    """The folder with the package's files."""
    return unpack_all(build, [package])[0]


def unpack_all(build, packages):
    """The folders with the files of these packages, of each its own."""
    folder = os.path.join(build, "packages")
    with alone(folder):
        where = [os.path.join(folder, package) for package in packages]
        missing = [one for one in where if not os.path.exists(os.path.join(one, "unpacked"))]
        if missing:
            with tempfile.TemporaryDirectory(dir=folder) as debs:
                _download(build, [os.path.basename(one) for one in missing], debs)
                for one in missing:
                    _unpack(debs, one)
    return where


def _unpack(debs, where):
    """A package that was downloaded there, into the folder that has its name."""
    package = os.path.basename(where)
    deb = glob.glob(os.path.join(debs, package + "_*.deb"))
    if not deb:
        raise Skip(f"{package} cannot be downloaded")
    os.makedirs(where, exist_ok=True)
    subprocess.run(["dpkg-deb", "-x", deb[0], where], check=True)
    open(os.path.join(where, "unpacked"), "w").close()


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
    tells = subprocess.run(["apt-cache", *own_cache(build), "depends", meta],
                           capture_output=True, text=True)
    names = [line.split()[-1] for line in tells.stdout.splitlines() if "Depends:" in line]
    if not names:
        raise Skip(f"{meta} is not known to apt")
    return unpack(build, names[0])
