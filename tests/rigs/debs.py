# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian packages of any suite and architecture, without root: apt with a state of its
own in the build folder.  What was unpacked before needs no network."""
import functools
import glob
import hashlib
import os
import shutil
import subprocess

import paths  # noqa: F401
import packages
from harness import Skip
from once import alone, write_new

KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
DEBIAN_ARCH = {"x86_64": "amd64", "aarch64": "arm64", "i386": "i386",
               "riscv64": "riscv64"}
# What no rig looks at.
_LEFT_OUT = ["./usr/share/doc", "./usr/share/man", "./usr/share/locale",
             "./usr/share/icons", "./usr/share/bug", "./usr/share/lintian"]


def _run(argv, **more):
    done = subprocess.run(argv, capture_output=True, text=True, **more)
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip())[-200:]
        raise Skip(f"{argv[0]} {argv[-1]}: {last}")
    return done.stdout


def unpack(deb, root):
    """As dpkg-deb -x, less what is left out."""
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", deb],
                          stdout=subprocess.PIPE) as tar:
        subprocess.run(["tar", "-x", "-C", root, "--keep-directory-symlink",
                        *(f"--exclude={name}" for name in _LEFT_OUT)],
                       stdin=tar.stdout, check=True)
    if tar.returncode:
        raise Skip(f"{deb} cannot be unpacked")


@functools.cache
def mirror(build):
    """The archive that this machine has its own packages from."""
    said = subprocess.run(["apt-get", *packages.own_cache(build), "indextargets", "--format",
                           "$(REPO_URI) $(CODENAME)", "Created-By: Packages"],
                          capture_output=True, text=True).stdout
    for line in said.splitlines():
        uri, _, name = line.partition(" ")
        if name in ("bookworm", "trixie"):
            return uri
    raise Skip("apt knows no archive of Debian")


class Suite:
    """A suite of Debian's for one architecture."""

    def __init__(self, build, suite, arch):
        self.build, self.name, self.arch = build, suite, DEBIAN_ARCH[arch]
        self.updated = False
        self.where = os.path.join(build, "rigs", f"{suite}-{self.arch}")

    def _options(self):
        """What keeps apt away from the machine's own state."""
        state = os.path.join(self.where, "apt")
        for folder in ("lists/partial", "cache/archives/partial", "etc"):
            os.makedirs(os.path.join(state, folder), exist_ok=True)
        open(os.path.join(state, "status"), "a").close()
        sources = os.path.join(state, "sources.list")
        write_new(sources,
                  f"deb [signed-by={KEYS}] {mirror(self.build)} {self.name} main\n")
        settings = {"APT::Architecture": self.arch, "APT::Architectures": self.arch,
                    "APT::Sandbox::User": "", "Acquire::Languages": "none",
                    "Dir::State": state, "Dir::State::status": f"{state}/status",
                    "Dir::State::lists": f"{state}/lists",
                    "Dir::Cache": f"{state}/cache", "Dir::Etc::sourcelist": sources,
                    "Dir::Etc::sourceparts": f"{state}/etc",
                    "Dir::Etc::preferencesparts": f"{state}/etc"}
        return [*packages.cache_options(f"{state}/cache"),
                *(word for key, value in settings.items()
                  for word in ("-o", f"{key}={value}"))]

    def _apt(self, command, *args, cwd=None):
        return _run([f"apt-{command}", *self._options(), "-qq", *args], cwd=cwd)

    def _once(self, name, make):
        """The folder of this name, made whole by make(folder) or not at all."""
        where = os.path.join(self.where, name)
        with alone(self.where):
            if os.path.exists(where):
                return where
            new = where + ".new"
            shutil.rmtree(new, ignore_errors=True)
            os.makedirs(new)
            if not self.updated:
                self._apt("get", "update")
                self.updated = True
            make(new)
            os.rename(new, where)
        return where

    def closure(self, packages):
        """The folder with the files of these packages and of all they depend on."""
        def make(root):
            self._apt("get", "install", "-y", "--download-only",
                      "--no-install-recommends", *packages)
            for deb in glob.glob(os.path.join(self.where, "apt/cache/archives/*.deb")):
                unpack(deb, root)
                os.remove(deb)
        key = hashlib.sha256(" ".join(packages).encode()).hexdigest()
        return self._once("root-" + key[:8], make)

    def package(self, package):
        """The folder with the files of this package, without what it depends on."""
        def make(root):
            self._apt("get", "download", package, cwd=root)
            deb, = glob.glob(os.path.join(root, "*.deb"))
            unpack(deb, root)
            os.remove(deb)
        return self._once("package-" + package, make)

    def kernel(self, meta):
        """The folder with the kernel that this package without files depends on; since
        7.0 it is in packages of its own."""
        def depends(name, *kinds):
            told = self._apt("cache", "depends", name).splitlines()
            return [line.split()[-1] for line in told if "Depends: " in line
                    and line.split()[-1].startswith(kinds)]

        def make(root):
            image = depends(meta, "linux-image-")[0]
            self._apt("get", "download", image,
                      *depends(image, "linux-base-", "linux-binary-", "linux-modules-"), cwd=root)
            for deb in glob.glob(os.path.join(root, "*.deb")):
                unpack(deb, root)
                os.remove(deb)
        return self._once(meta, make)
