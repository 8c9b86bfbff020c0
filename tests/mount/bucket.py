"""A bucket of loose objects: nginx (server.py), which serves the files of a folder, and lists them
as S3 does (bucket.lua). It asks nobody for keys."""

import os
import time
from pathlib import Path

from server import Server

LISTING = Path(__file__).resolve().with_name("bucket.lua")


def names(folder):
    """Lines for bucket.lua, with the ETags of nginx."""
    for path in sorted((path for path in Path(folder).rglob("*") if path.is_file()),
                       key=lambda path: os.fsencode(path.relative_to(folder))):
        stat = path.stat()
        date = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(stat.st_mtime))
        yield (f"{path.relative_to(folder)}\t{stat.st_size}\t{date}\t"
               f'"{int(stat.st_mtime):x}-{stat.st_size:x}"\n')


def lister(listed, page=1000):
    """Lua for the phase of access; `listed` is the file of names."""
    return f'if ngx.var["arg_list-type"] then return dofile("{LISTING}")("{listed}", {page}) end'


class Bucket(Server):
    """The buckets are the folders in `folder`; NAME's objects are listed by list(NAME) as they are
    then."""

    def __init__(self, folder, place, page=1000, **faults):
        self.page = page
        super().__init__(folder, place, **faults)

    def set_faults(self, access="", *more, **others):
        listed = self.place / "names"
        listed.write_text("")
        super().set_faults(f"{access} {lister(listed, self.page)}", *more, **others)

    def list(self, name):
        (self.place / "names").write_text("".join(names(self.folder / name)))
