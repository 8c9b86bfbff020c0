"""A bucket of loose objects: nginx (server.py), which serves the files of a folder, and lists them
as S3 does (bucket.lua). It asks nobody for keys."""

import os
import time
import urllib.parse
from pathlib import Path

from server import Server

LISTING = Path(__file__).resolve().with_name("bucket.lua")


def names(folder, tags):
    """Lines for bucket.lua, with the ETags of nginx, or these, by key. Keys are written as in a
    URL."""
    for path in sorted((path for path in Path(folder).rglob("*") if path.is_file()),
                       key=lambda path: os.fsencode(path.relative_to(folder))):
        stat = path.stat()
        date = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(stat.st_mtime))
        key = urllib.parse.quote(os.fsencode(path.relative_to(folder)))
        tag = tags.get(key, f'"{int(stat.st_mtime):x}-{stat.st_size:x}"')
        yield f"{key}\t{stat.st_size}\t{date}\t{tag}\n"


def lister(listed, page=1000):
    """Lua for the phase of access; `listed` is the file of names."""
    return f'if ngx.var["arg_list-type"] then return dofile("{LISTING}")("{listed}", {page}) end'


def tagger(name, tags):
    """Lua for the phases of access and headers."""
    table = ",".join(f"['/{name}/{key}']='{tag}'" for key, tag in tags.items())
    return (f"local tag = ({{{table}}})[ngx.var.uri] if tag then "
            "local asked = ngx.req.get_headers()['If-Match'] "
            "if asked and asked ~= tag then return ngx.exit(412) end "
            "ngx.req.clear_header('If-Match') ngx.ctx.tag = tag end",
            "if ngx.ctx.tag then ngx.header.ETag = ngx.ctx.tag end")


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

    def list(self, name, tags=None):
        """`tags`: ETags of keys, instead of those of nginx. It is stopped."""
        if tags:
            self.set_faults(*tagger(name, tags))
        (self.place / "names").write_text("".join(names(self.folder / name, tags or {})))
