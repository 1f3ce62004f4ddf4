# SPDX-License-Identifier: GPL-2.0-or-later
"""uniscope for a rig of another architecture: cross compiled against the libraries of
its packages."""
import os
import shutil
import subprocess

import paths
from harness import Skip
from once import alone, write_new

CROSS_FILE = """[binaries]
c = '{triple}-gcc'
ar = '{triple}-ar'
strip = '{triple}-strip'
pkgconfig = 'pkg-config'

[built-in options]
c_args = ['--sysroot={root}']
c_link_args = ['--sysroot={root}']

[properties]
sys_root = '{root}'
pkg_config_libdir = '{root}/usr/lib/{triple}/pkgconfig:{root}/usr/share/pkgconfig'

[host_machine]
system = 'linux'
cpu_family = '{arch}'
cpu = '{arch}'
endian = 'little'
"""
# What is of the machine this runs on is not made; nobody debugs it there, and to compile
# it takes longer than to run it.
OPTIONS = ("-Dguests=false", "-Dman=disabled", "-Ddebug=false", "-Doptimization=1")


def _run(argv):
    done = subprocess.run(argv, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(argv)}:\n{done.stdout[-20000:]}{done.stderr}")


def _knows(folder, target):
    """Is it made there? Test guests, packages' files and globs are not."""
    return subprocess.run(["ninja", "-C", folder, "-t", "query", target],
                          capture_output=True).returncode == 0


def folder_of(build_folder, arch, root):
    return os.path.join(build_folder, "rigs", f"program-{arch}-{os.path.basename(root)}")


def build(build_folder, arch, root, wanted=("uniscope",)):
    """The build folder for that architecture, with those of the wanted files made anew that
    are made there."""
    triple = arch + "-linux-gnu"
    if not shutil.which(triple + "-gcc"):
        raise Skip(f"{triple}-gcc is not installed")
    folder = folder_of(build_folder, arch, root)
    cross = folder + ".cross"
    with alone(folder + ".lock"):
        write_new(cross, CROSS_FILE.format(triple=triple, root=root, arch=arch))
        if not os.path.exists(os.path.join(folder, "build.ninja")):
            _run(["meson", "setup", "--cross-file", cross, *OPTIONS, folder,
                  os.path.dirname(paths.TESTS)])
        _run(["ninja", "-C", folder, "-k", "0", *(t for t in wanted if _knows(folder, t))])
    return folder
