#!/usr/bin/python3
"""wheel.py VERSION PROGRAMS OUT: makes the wheel of foldfs in the folder OUT, from the static
programs in the folder PROGRAMS, the licenses of what is linked into them, the manual pages, the
completion and the module; prints its name.

No builder of Python's packages takes programs that are built already, so this writes the archive
(packaging.python.org, "Binary distribution format") itself. The same input gives the same bytes:
times are SOURCE_DATE_EPOCH, or those of 1980."""

import base64
import hashlib
import os
import re
import sys
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COMMANDS = ("foldfs", "foldpack", "foldstat")
ZIP_BEGAN = 315532800  # 1980
MACHINES = {62: "x86_64", 183: "aarch64"}  # as ELF has them

METADATA = """\
Metadata-Version: 2.4
Name: foldfs
Version: {version}
Summary: An image dataset as one file, and that file as a folder
License-Expression: {expression}
{files}Keywords: dataset,imagefolder,lmdb,fuse,pytorch
Classifier: Environment :: Console
Classifier: Intended Audience :: Science/Research
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: C
Classifier: Programming Language :: Python :: 3
Classifier: Topic :: Scientific/Engineering :: Artificial Intelligence
Classifier: Topic :: System :: Filesystems
Requires-Python: >=3.8
Provides-Extra: hdf5
Requires-Dist: h5py; extra == "hdf5"
Provides-Extra: images
Requires-Dist: pillow; extra == "images"
Provides-Extra: zarr
Requires-Dist: numcodecs; extra == "zarr"
Description-Content-Type: text/markdown

{description}"""

WHEEL = """\
Wheel-Version: 1.0
Generator: foldfs {version}
Root-Is-Purelib: false
{tags}"""


ENTRY_POINTS = """\
[console_scripts]
foldfs-doctor = foldfs.doctor:main
"""


def platforms(programs):
    """Static programs need no C library: all systems for which pip has a name."""
    with open(programs / "foldfs", "rb") as program:
        machine = MACHINES[int.from_bytes(program.read(20)[18:], "little")]
    return [f"manylinux2014_{machine}", f"manylinux_2_17_{machine}", f"musllinux_1_1_{machine}"]


def description():
    """The README, without what leads to files of the source."""
    text = (ROOT / "README.md").read_text()
    text = re.sub(r"!\[[^]]*\]\((?!https?:)[^)]*\)\n*", "", text)
    return re.sub(r"\[([^]]*)\]\((?!https?:)[^)]*\)", r"\1", text)


def licenses(programs):
    """(expression, {name: text}): packaging/licenses.py made the folder, if they are static."""
    texts = {path.name: path.read_bytes() for path in sorted((programs / "licenses").glob("*"))}
    expression = texts.pop("SPDX", b"MIT").decode().strip()
    return expression, {"LICENSE": (ROOT / "LICENSE").read_bytes(), **texts}


def metadata(version, programs):
    info = f"foldfs-{version}.dist-info"
    tags = "".join(f"Tag: py3-none-{platform}\n" for platform in platforms(programs))
    expression, texts = licenses(programs)
    files = "".join(f"License-File: {name}\n" for name in texts)
    yield f"{info}/METADATA", METADATA.format(
        version=version, expression=expression, files=files, description=description()).encode()
    yield f"{info}/WHEEL", WHEEL.format(version=version, tags=tags).encode()
    yield f"{info}/entry_points.txt", ENTRY_POINTS.encode()
    for name, text in texts.items():
        yield f"{info}/licenses/{name}", text


def files(version, programs):
    """(name in the wheel, bytes) of everything but the record."""
    data = f"foldfs-{version}.data"
    module = ROOT / "python/foldfs"
    for path in [*module.glob("*.py"), module / "py.typed"]:
        yield f"foldfs/{path.name}", path.read_bytes()
    for name in COMMANDS:
        yield f"{data}/scripts/{name}", (programs / name).read_bytes()
        yield (f"{data}/data/share/bash-completion/completions/{name}",
               (programs / "completion/foldfs.bash").read_bytes())
    for kind in ("sources", "tools"):
        for script in (ROOT / "python/foldfs" / kind).glob("*.*"):
            yield f"{data}/data/share/foldfs/{kind}/{script.name}", script.read_bytes()
    preload = "foldfs-preload.so"
    yield f"{data}/data/lib/foldfs/{preload}", (programs / preload).read_bytes()
    for page in (ROOT / "man").glob("*.[1-8]"):
        yield f"{data}/data/share/man/man{page.suffix[1:]}/{page.name}", page.read_bytes()
    yield from metadata(version, programs)


def record(name, contents):
    """Digests and sizes; the record itself has none."""
    lines = []
    for path, data in contents:
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{path},sha256={digest},{len(data)}\n")
    return "".join([*lines, f"{name},,\n"]).encode()


def add(archive, name, data):
    seconds = max(int(os.environ.get("SOURCE_DATE_EPOCH", ZIP_BEGAN)), ZIP_BEGAN)
    entry = zipfile.ZipInfo(name, time.gmtime(seconds)[:6])
    mode = 0o755 if "/scripts/" in name else 0o644
    entry.external_attr = (0o100000 | mode) << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(entry, data, compresslevel=9)


def write(path, version, programs):
    contents = sorted(files(version, programs))
    name = f"foldfs-{version}.dist-info/RECORD"
    with zipfile.ZipFile(path, "w") as archive:
        for entry in [*contents, (name, record(name, contents))]:
            add(archive, *entry)


def main():
    version, programs, out = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    path = out / f"foldfs-{version}-py3-none-{'.'.join(platforms(programs))}.whl"
    out.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    write(partial, version, programs)
    partial.replace(path)
    print(path)


if __name__ == "__main__":
    main()
