# Copyright 2026 the foldfs authors
# SPDX-License-Identifier: MIT
#
# A Spack package: copy this to packages/foldfs/ of a repository of your own, and run
# `spack dev-build foldfs@0.1.0` in the sources.
# Not tested with Spack. Tested: that it is Python, and that make takes these words.
from spack.package import *


class Foldfs(MakefilePackage):
    """Packs a folder of images into one file, and mounts that file as the folder."""

    maintainers("foldfs")

    license("MIT")

    # No release is on a server yet: version() takes a checksum once there is one.
    version("0.1.0")

    depends_on("c", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("libfuse@3.3:")
    depends_on("lmdb")
    depends_on("jpeg")
    depends_on("libarchive")
    depends_on("zlib-api")
    depends_on("json-c")
    depends_on("ncurses")
    depends_on("xxhash")
    depends_on("nettle")
    depends_on("python", type=("build", "run"))
    depends_on("curl")  # loaded, by the rpath, when a pack is on a server
    depends_on("python@3.8:", type="run")  # for files of other formats

    requires("platform=linux")

    @property
    def install_targets(self):
        return ["install", f"PREFIX={self.prefix}",
                f"PYTHON={self.spec['python'].command.path}"]
