#!/usr/bin/python3
"""licenses.py OUT MAP..: collects in the folder OUT the licenses of the libraries that are linked
into programs, by the maps that the linker wrote of them.

README lists the libraries, and where their sources are; SPDX is one expression for all. The texts
are those of the Debian packages that the libraries are from, and what these refer to. A library
that packaging/curl.sh built has its text, and the version of its source, beside it."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

COMMON = "/usr/share/common-licenses/"
OWN = "MIT"
GNU_C = "LGPL-2.1-or-later"
GCC = "GPL-3.0-or-later WITH GCC-exception-3.1"
NCURSES = "X11-distribute-modifications-variant"
# Of the parts that are linked: packages also have programs and tests.
LICENSES = {
    "libacl": GNU_C,
    "libarchive": "BSD-2-Clause AND BSD-3-Clause",
    "libattr": GNU_C,
    "libbz2": "bzip2-1.0.6",
    "libcares": "MIT AND ISC",
    "libc": GNU_C,
    "libcrypto": "Apache-2.0",
    "libcurl": "curl",
    "libfuse3": "LGPL-2.1-only",
    "libgcc": GCC,
    "libgcc_eh": GCC,
    "libjpeg": "IJG AND BSD-3-Clause AND Zlib",
    "libjson-c": "MIT",
    "liblmdb": "OLDAP-2.8",
    "liblz4": "BSD-2-Clause",
    "liblzma": "LicenseRef-Public-Domain",
    "libm": GNU_C,
    "libncursesw": NCURSES,
    "libnettle": "LGPL-3.0-or-later OR GPL-2.0-or-later",
    "libsnappy": "BSD-3-Clause",
    "libssl": "Apache-2.0",
    "libstdc++": GCC,
    "libtinfo": NCURSES,
    "libxxhash": "BSD-2-Clause",
    "libz": "Zlib",
    "libzstd": "BSD-3-Clause OR GPL-2.0-only",
}

README = """\
foldfs has the MIT license: the file LICENSE. Its static programs contain these libraries, each
with a license of its own. The sources of foldfs are all that is needed to link it with others.
This software is based in part on the work of the Independent JPEG Group.

{rows}
The texts are in files with the names of these source packages, as Debian has them; what they call
{common}NAME is the file NAME here. Sources: https://snapshot.debian.org/package/
"""


def linked(path):
    """The archives of which a map says that something was taken."""
    taken = Path(path).read_text().split("\n\n", 2)[1]
    return {Path(archive).resolve() for archive in re.findall(r"(?m)^(/\S+\.a)\(", taken)}


def license_of(archive):
    name = re.sub(r"-[0-9.]+$", "", archive.stem)  # libm-2.36
    if name not in LICENSES:
        sys.exit(f"licenses.py: {archive}: its license is not known; add it to LICENSES")
    return LICENSES[name]


def source_of(archive):
    """The file of its license, and the name and the version of its source."""
    if (archive.parent / "source").exists():
        return archive.parent / "copyright", *(archive.parent / "source").read_text().split()
    owner = subprocess.run(["dpkg-query", "--search", archive], check=True, text=True,
                           stdout=subprocess.PIPE).stdout.rpartition(": ")[0]
    form = "${Package} ${source:Package} ${source:Version}"
    package, *source = subprocess.run(
        ["dpkg-query", "--show", "--showformat", form, owner], check=True, text=True,
        stdout=subprocess.PIPE).stdout.split()
    return Path("/usr/share/doc", package, "copyright"), *source


def collect(out, archives):
    """Copies the texts; rows of (archive, its license, source package, its version)."""
    for archive in sorted(archives, key=lambda path: path.name):
        license = license_of(archive)
        path, source, version = source_of(archive)
        text = path.read_text()
        (out / source).write_text(text)
        for name in re.findall(COMMON + r"([\w.-]*\w)", text):
            shutil.copyfile(COMMON + name, out / name)
        yield archive.name, license, source, version


def expression(licenses):
    parts = sorted({part for text in licenses for part in text.split(" AND ")} - {OWN})
    return " AND ".join([OWN, *(f"({part})" if " OR " in part else part for part in parts)])


def main():
    out, maps = Path(sys.argv[1]), sys.argv[2:]
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    rows = list(collect(out, set().union(*map(linked, maps))))
    table = "".join(f"    {name:13} {source} {version}: {text}\n"
                    for name, text, source, version in rows)
    (out / "README").write_text(README.format(rows=table, common=COMMON))
    (out / "SPDX").write_text(expression(row[1] for row in rows) + "\n")


if __name__ == "__main__":
    main()
