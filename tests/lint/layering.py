#!/usr/bin/python3
"""layering.py BUILD: the arrows of HACKING.md, by what includes, calls and links what.

A room may include its own headers, and of other rooms those named here. A system header that
is listed may be included by the files it is listed with, and by no other. Neither rooms nor files
reach each other in a circle."""

import fnmatch
import os
import re
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter

import source

# The first pattern that a path matches names its room.
ROOMS = [*((f"fs/{name}.c", "fs/main") for name in ("main", "version")),
         ("pack/foreign/foreign.c", "pack/foreign/open"),
         ("pack/tool/cli/main.c", "pack/tool/main"), *(
    (room + "/*", room) for room in (
    "pack/tool/cli", "pack/tool/create", "pack/tool/import", "pack/tool/image",
    "pack/tool/read", "pack/tool/work", "pack/write",
    "pack/foreign", "pack",
    "cache/plan", "cache/order", "cache", "fs/life", "fs/nofuse/preload", "fs/nofuse",
    "fs/stat", "fs", "lists",
    "remote", "base"))]

# What every command of foldpack may ask: the libraries below it, and what commands share.
TOOL = ["base/*", "remote/settings.h", "remote/remote.h", "pack/dataset.h", "pack/delta.h",
        "pack/filter.h", "pack/labels.h", "pack/options.h", "pack/packs.h", "pack/scan.h",
        "pack/shard.h", "pack/format.h", "pack/image_kind.h",
        "pack/tool/work/*", "pack/tool/image/*", "pack/tool/cli/*"]

MAY_INCLUDE = {
    "base": [],
    "cache": ["base/*", "cache/plan/*", "cache/order/*"],
    "cache/plan": ["base/bits.h", "base/extent.h", "base/math.h", "base/scope.h",
                   "cache/order/forecast.h"],
    "cache/order": ["base/bits.h", "base/math.h", "base/scope.h", "base/search.h"],
    "remote": ["base/*"],
    "pack": ["base/*"],
    "pack/write": ["base/*", "pack/*.h"],
    "pack/foreign": ["base/*", "pack/filter.h", *("pack/%s.h" % name for name in (
        "classes", "dataset", "dataset_open", "environment", "format", "image_kind", "index",
        "index_rows", "labels", "made_names", "scan", "walker", "xxh3"))],
    "pack/foreign/open": ["base/*", "pack/dataset_open.h", "pack/environment.h",
                          "pack/foreign/*.h"],
    "pack/tool/work": ["base/*", "pack/dataset.h", "pack/format.h"],
    "pack/tool/image": ["base/*", "pack/dataset.h", "pack/format.h", "pack/image_kind.h",
                        "pack/tool/work/*"],
    "pack/tool/import": ["base/*", "pack/filter.h", "pack/scan.h", "pack/shard.h",
                         "pack/write/builder.h", "pack/tool/work/*",
                         "pack/tool/image/*"],
    "pack/tool/cli": TOOL,
    "pack/tool/main": TOOL,
    "pack/tool/read": [*TOOL, "pack/write/builder.h", "pack/tool/import/*"],
    "pack/tool/create": [*TOOL, "pack/write/builder.h", "pack/tool/import/*"],
    "lists": ["base/*", "pack/dataset.h"],
    "fs": ["base/*", "remote/settings.h", "remote/remote.h", "fs/life/*"],
    "fs/life": ["base/*"],
    "fs/nofuse": ["base/*", "fs/life/*", "fs/mount.h", "fs/tree.h", "fs/job_socket.h"],
    "fs/nofuse/preload": ["fs/nofuse/preload.h"],  # has names of the C library, and calls nobody
    "fs/main": ["base/*", "fs/*", "fs/life/*", "fs/nofuse/*"],
    "fs/stat": ["base/*", "fs/order_ioctl.h", "fs/job_socket.h", "fs/stats.def"],
}

# One header joins the two halves of the mount: who needs both includes it, who needs one says so.
# What only the cache wants to know is asked where the dataset is turned into its source.
JOINS = {"fs/mount.h": ["cache/cache.h", "pack/packs.h"],
         "fs/mount_internal.h": ["pack/labels.h", "pack/foreign/foreign.h"],
         "fs/options.h": ["pack/foreign/settings.h"],
         "pack/tool/cli/cmd.h": ["pack/foreign/foreign.h"],
         "fs/disk_cache.h": ["remote/reader_blocks.h"],
         "fs/tree.h": ["pack/dataset.h"],
         "fs/source.c": ["lists/lists.h"],
         "fs/notify_store.h": ["cache/cache.h"],
         "fs/order.h": ["cache/cache.h"],
         "fs/mount.c": ["remote/open.h", "remote/prefix.h"],
         "fs/life/mountpoint.c": ["pack/format.h"],
         "pack/tool/read/cmd_index.c": ["remote/open.h"],
         "pack/tool/read/cmd_fetch.c": ["remote/open.h", "remote/reader_blocks.h"],
         "pack/tool/create/source.c": ["pack/environment.h", "pack/foreign/unsupported.h"],
         "pack/tool/create/decompressed.c": ["pack/foreign/unsupported.h"],
         "pack/tool/create/decompressed.h": ["pack/foreign/settings.h"],
         "pack/tool/create/leftovers.c": ["pack/foreign/text.h"],
         "pack/tool/import/unpack.c": ["pack/foreign/unsupported.h", "pack/foreign/window.h"],
         "pack/tool/import/unpack.h": ["pack/foreign/settings.h"],
         "pack/tool/cli/cmd.c": ["remote/open.h", "remote/prefix.h", "pack/write/store.h",
                                 "pack/tool/import/unpack.h"]}

# The dataset is turned into what the cache reads from in one place.
ONLY_IN = {r"\bstruct cache_source\b": ["cache/*", "fs/mount_internal.h", "fs/source.c"]}

# Of what a pure room has none.
EFFECTS = ["pthread.h", "stdatomic.h", "threads.h", "time.h", "sched.h", "unistd.h", "fcntl.h",
           "sys/*"]
IMPURE = {"cache/order": EFFECTS, "cache/plan": EFFECTS}

SYSTEM = {
    "lmdb.h": ["pack/write/store.c"],
    "jpeglib.h": ["pack/tool/image/jpeg*"],
    "jerror.h": ["pack/tool/image/jpeg*"],
    "turbojpeg.h": ["pack/tool/image/jpeg*"],
    "curl/*": ["remote/curl.h"],
    "curses.h": ["fs/stat/screen.c"],
    "nettle/*": ["base/digest.c", "pack/tool/read/etags.c", "remote/sign.c"],
    "setjmp.h": ["pack/tool/image/jpeg*"],
    "fuse*.h": ["fs/fuse.h"],
    "fuse3/*": [],
    "archive.h": ["pack/tool/import/unpack.c"],
    "archive_entry.h": ["pack/tool/import/unpack.c"],
    "json-c/*": ["fs/stat/*"],
    "liburing.h": ["cache/*"],
    "xxhash.h": ["pack/*", "remote/*block*.c", "remote/object*.c", "lists/*.c",
                 "fs/version.c"],
    "zlib.h": ["pack/tool/import/unpack.c", "pack/tool/image/check.c", "pack/foreign/codec*.c"],
    "zstd.h": ["pack/foreign/codec.c"],
    "snappy*.h": ["pack/foreign/codec.c"],
    "xxh_x86dispatch.h": ["pack/xxh3.h"],
}

# The mount must not map damaged files, and training nodes need no packer's libraries.
MAY_NOT_LINK = {"foldfs": ["liblmdb", "libjpeg", "libarchive", "libz", "libjson-c"],
                "foldpack": ["libfuse3", "libcurl*"],
                "foldstat": ["liblmdb", "libjpeg", "libarchive", "libz", "libfuse3", "libxxhash"]}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)

def matches(path, patterns):
    return any(fnmatch.fnmatchcase(path, pattern) for pattern in patterns)

def room_of(path):
    return next((room for pattern, room in ROOMS if fnmatch.fnmatchcase(path, pattern)), None)

def fault_of(path, quote, header):
    if quote == "<":
        for pattern, where in SYSTEM.items():
            if fnmatch.fnmatchcase(header, pattern) and not matches(path, where):
                return f"<{header}> belongs in {' '.join(where) or 'no file'}"
        room = room_of(path)
        return f"{room} is pure" if matches(header, IMPURE.get(room, [])) else None
    if room_of(header) is None:
        return f'"{header}" is not a path from the root of the tree'
    room = room_of(path)
    if room_of(header) == room or matches(header, MAY_INCLUDE[room] + JOINS.get(path, [])):
        return None
    return f"{room} may not include {header}"

def includes():
    for file in source.files():
        path = str(file)
        for match in INCLUDE.finditer(source.text(file)):
            fault = fault_of(path, *match.groups())
            if fault:
                yield f"{path}: {fault}"

def included(file):
    return [header for quote, header in INCLUDE.findall(source.text(file)) if quote == '"']

def named(build):
    """The files whose functions and objects each file names, also those that a header of
    another room declares."""
    objects = {f"{build}/{file.with_suffix('.o')}": str(file) for file in source.files((".c",))}
    done = subprocess.run(["nm", "-gAP", *filter(os.path.exists, objects)], capture_output=True,
                          text=True)
    symbols = [(objects[line[0].rstrip(":")], *line[1:3])
               for line in map(str.split, done.stdout.splitlines())]
    owner = {symbol: file for file, symbol, kind in symbols if kind not in "Uw"}
    for file, symbol, kind in symbols:
        if kind == "U" and symbol in owner:
            yield file, owner[symbol]

def circles(what, arrows, part_of):
    """Parts, as files or rooms, that reach each other, by whatever way."""
    below = {}
    for file, other in arrows:
        part = part_of(file)
        below.setdefault(part, set()).update({part_of(other)} - {part, None})
    try:
        TopologicalSorter(below).prepare()
    except CycleError as error:
        yield f"{what} in a circle: " + " <- ".join(error.args[1])

def words():
    for file in source.files():
        code = source.code(file)
        for pattern, where in ONLY_IN.items():
            if re.search(pattern, code) and not matches(str(file), where):
                yield f"{file}: '{pattern}' belongs in {' '.join(where)}"

def links(build):
    for program, forbidden in MAY_NOT_LINK.items():
        done = subprocess.run(["readelf", "-d", f"{build}/{program}"], capture_output=True,
                              text=True)
        if done.returncode or "NEEDED" not in done.stdout:
            yield f"{build}/{program}: cannot be looked at; build it first"
        for library in re.findall(r"NEEDED.*\[(.*?)\]", done.stdout):
            if matches(library, [name + ".*" for name in forbidden]):
                yield f"{program}: links {library}"

def all_circles(build):
    for what, arrows in (("call", list(named(build))),
                         ("include", [(str(file), header) for file in source.files()
                                      for header in included(file)])):
        for part_of in room_of, str:
            yield from circles(what, arrows, part_of)

if __name__ == "__main__":
    sys.exit(source.report([*includes(), *words(), *links(sys.argv[1]),
                            *all_circles(sys.argv[1])]))
