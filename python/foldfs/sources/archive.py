"""What an archive leaves where it is unpacked: the members of a tar or zip become a tree, one after
the other, as tar -x makes it.

- Paths lose their leading slashes. One that has '..' is left out; of a zip, '..' is passed over, as
  unzip does.
- The last member of a path counts. A folder in which something lies gives way to no file, and two
  folders of a path are one, with the mode and time of the last.
- Folders without a member of their own are made, with the time of what lies in them.
- A member below a symbolic link goes where the link leads, if that is a folder of the archive, and
  its target has neither '..' nor a leading slash; otherwise it is left out.
- Of a file with a label, the folder of its class is in that of its path. For other members it is
  where its path says; only symbolic links to it lead to nothing, and are noted.
- A hard link is another name of a file that came before. Of a link it is one with its target.

What is left out is told to who watches, or else counted, and noted with an example."""

from scan import is_image_name, path_field, pieces_field, to_text

NAME_MOST, PATH_MOST = 255, 4095  # bytes of a name, of a path
FOLLOWED_MOST = 40  # symbolic links on the way to one member, as Linux has it
HOLES_MOST = 16 << 30  # they take no space in an archive, but all would be stored in a pack
JUNK = (b"__MACOSX", b"@eaDir", b"lost+found")
SPECIAL = ("device", "pipe", "socket", "part")
BAD, UNUSUAL, UNWANTED = 0, 1, 2  # enum foreign_flaw
# Reasons to leave a member out, and what else is noted: what who watches is told, and the note.
WORDS = {
    "device": ("a device", "left out: {} device(s)"),
    "pipe": ("a named pipe", "left out: {} named pipe(s)"),
    "socket": ("a socket", "left out: {} socket(s)"),
    "part": ("a part of a file in another volume",
             "left out: {} part(s) of files in other volumes"),
    "dots": ("a path with '..'", "left out: {} member(s) with '..' in their path"),
    "too long": ("a name over 255 bytes or with a NUL, or a path over 4095",
                 "left out: {} member(s) with names or paths that no file can have"),
    "no name": ("no name", "left out: {} member(s) without a name"),
    "stripped": ("--strip-components leaves nothing of its path",
                 "left out: {} member(s) without so many folders"),
    "below file": ("lies below something that is not a folder",
                   "left out: {} member(s) below what is not a folder"),
    "over folder": ("in the place of a folder that has files",
                    "left out: {} member(s) in the place of folders that have files"),
    "no file": ("a hard link to a file that did not come before it",
                "left out: {} hard link(s) to files that did not come before"),
    "no target": ("a symbolic link to nothing", "left out: {} symbolic link(s) to nothing"),
    "all holes": ("a sparse file with over 16 GiB of holes, or in a compressed tar",
                  "left out: {} sparse file(s) with over 16 GiB of holes"),
    "again": (None, "paths that come again, of which the last member counts: {}"),
    "passed": (None, "paths with '..', which is passed over: {}"),
    "damaged": (None, "tars in it that are damaged, and stay files: {}"),
    "junk": (None, "shown, though loaders take them for classes or images: {}"),
    "bad": ("", "left out: {} member(s) that whoever wrote the archive marked as bad"),
    "moved": (None, "symbolic links to files that are in the folder of their class, which lead to "
              "nothing: {}"),
}

# What has a path: the number of its row times ROW, and:
FILE, FOLDER, SYMLINK, KIND = 1, 2, 3, 3
FILLED = 4  # a folder: something is in it
ROWLESS = 8  # a folder that is not in the tree
LABELLED = 16  # a file that has another path in the tree
ROW = 32


class LeftOut(Exception):
    """For a reason of WORDS."""


class Member:
    """`number`: in the archive, from 0 on. `kind`: "file", "folder", "symlink", "hardlink", or of
    SPECIAL, which no tree can hold. `mode`: permission bits with a type; 0: not known. `mtime`:
    nanoseconds. A file lies at [offset, offset + size), or has `pieces` (at, offset, size), and
    bytes of holes between them. `bad`: why it cannot be taken, as who wrote the archive knew.
    `unpacked`: its bytes are in what was unpacked. `implied`: a folder; one that is there stays as
    it is."""

    __slots__ = ("number", "kind", "path", "mode", "mtime", "offset", "size", "target", "label",
                 "class_name", "bad", "pieces", "holes", "unpacked", "implied")

    def __init__(self, number, kind, path, mode, mtime, offset=0, size=0, target=b""):
        self.number, self.kind, self.path, self.mode = number, kind, path, mode
        self.mtime, self.offset, self.size, self.target = mtime, offset, size, target
        self.label = self.pieces = None
        self.class_name = self.bad = b""
        self.holes = 0
        self.unpacked = self.implied = False


class Way:
    """Where a path leads. `make`: folders that are not there are made, of this member; None: they
    must be there."""

    def __init__(self, dots, make):
        self.path, self.dots, self.make, self.followed, self.passed = b"", dots, make, 0, False


def until_nul(text):
    return text.partition(b"\0")[0]


def shown(path):
    """For a message."""
    return to_text(until_nul(path)[:200])


def above(path):
    return path.rpartition(b"/")[0]


def is_junk(path, folder):
    name = path.rpartition(b"/")[2]
    if folder:
        return name[:1] == b"." or name in JUNK
    return name[:2] == b"._" and is_image_name(name)


class Archive:
    def __init__(self, source, tree, passes_dots=False):
        option = source.option
        self.tree, self.channel, self.passes_dots = tree, tree.channel, passes_dots
        self.strip, self.watched = int(option["strip"]), option["watch"] == "1"
        self.rowless = ROWLESS if option["names"] == "1" else 0  # files lie elsewhere, folders stay
        self.rows, self.labelled = 0, False                      # empty with --names
        self.places, self.targets, self.counts = {}, {}, {}
        self.folders = {}  # as members have them -> their paths, while no place changes hands

    # --- what is told -------------------------------------------------------------------------

    def count(self, reason, path, why=None):
        if reason not in self.counts:
            example = b"'" + until_nul(path)[:400] + b"'" + (b" (" + why + b")" if why else b"")
            self.counts[reason] = [0, example]
        self.counts[reason][0] += 1

    def leave_out(self, member, reason):
        if reason == "stripped" and member.kind == "folder":
            return
        if not self.watched:
            self.count(reason, member.path, until_nul(member.bad) if reason == "bad" else None)
            return
        what = until_nul(member.bad) if reason == "bad" else WORDS[reason][0].encode()
        flaw = UNUSUAL if reason in SPECIAL else UNWANTED if reason == "stripped" else BAD
        self.channel.say(b"O", until_nul(member.path), what, b"%d" % flaw)

    def note_junk(self, path, folder):
        """Who watches looks for it himself."""
        if not self.watched and is_junk(path, folder):
            self.count("junk", path)

    def note(self):
        """At the end: what was left out."""
        if self.labelled:
            self.count_moved()
        for reason, (one, many) in WORDS.items():
            count, example = self.counts.get(reason, (0, b""))
            self.tree.note(many, count, example=example, lacks=one is not None)

    # --- paths --------------------------------------------------------------------------------

    def fill(self, path):
        """Something lies in the folder."""
        place = self.places.get(path)
        if place and not place & FILLED:
            self.places[path] = place | FILLED

    def make_folder(self, way):
        member, path = way.make, way.path
        self.places[path] = self.rows * ROW | FOLDER | self.rowless
        self.fill(above(path))
        if self.rowless:
            return
        self.rows += 1
        self.channel.say(b"F", b"r%d" % member.number, b"p" + path, b"d", b"M%d" % member.mtime)
        self.note_junk(path, True)

    def follow(self, way):
        """Goes where the symbolic link leads that the path ends with."""
        target, make, dots = self.targets[way.path], way.make, way.dots
        way.followed += 1
        if way.followed > FOLLOWED_MOST or target[:1] == b"/":
            raise LeftOut("below file")
        way.make, way.dots, way.path = None, False, above(way.path)
        try:
            self.go_along(way, target, 0)
            if way.path:
                self.go_into(way)
        except LeftOut:
            raise LeftOut("below file")
        way.make, way.dots = make, dots

    def go_into(self, way):
        """Goes into what the path ends with, which is to be a folder."""
        place = self.places.get(way.path)
        if place is None:
            if not way.make:
                raise LeftOut("no file")
            self.make_folder(way)
        elif place & KIND == SYMLINK:
            self.follow(way)
        elif place & KIND != FOLDER:
            raise LeftOut("below file")

    def go_along(self, way, text, strip):
        """Goes on along a path; what its last part names is not looked at."""
        parts = []
        for part in text.split(b"/"):
            if part == b"..":
                if not way.dots:
                    raise LeftOut("dots")
                way.passed = True
            elif part and part != b".":
                if len(part) > NAME_MOST or b"\0" in part:
                    raise LeftOut("too long")
                parts.append(part)
        del parts[:strip]
        if sum(map(len, parts)) + len(parts) > PATH_MOST + 1:
            raise LeftOut("too long")
        for number, part in enumerate(parts):
            if number:
                self.go_into(way)
            way.path = way.path + b"/" + part if way.path else part
        if len(way.path) > PATH_MOST:
            raise LeftOut("too long")

    def find_way(self, text, make=None):
        """The path of a member, or of what a hard link names."""
        folder, _, name = text.rpartition(b"/")
        known = self.folders.get(folder)
        if known is not None and name not in (b"", b".", b"..") and len(name) <= NAME_MOST and (
                b"\0" not in name and len(known) + len(name) < PATH_MOST):
            return known + b"/" + name if known else name
        way = Way(self.passes_dots, make)
        self.go_along(way, text, self.strip)
        if not way.path:
            raise LeftOut("stripped" if self.strip else "no name")
        if way.passed:
            self.count("passed", text)
        elif make and name not in (b"", b"."):
            self.folders[folder] = above(way.path)
        return way.path

    # --- members ------------------------------------------------------------------------------

    def make_room(self, path):
        place = self.places.get(path)
        if place is None:
            return
        if place & (KIND | FILLED) == FOLDER | FILLED:
            raise LeftOut("over folder")
        if not place & ROWLESS:
            self.tree.drop(place // ROW)
        self.folders.clear()
        if place & KIND != FOLDER:
            self.count("again", path)

    def add_row(self, member, path, kind, *fields, labelled=False):
        """Adds it in the place that is free for it: that of its own path, also if it has a
        label."""
        fields = [b"r%d" % member.number, b"M%d" % member.mtime, *fields]
        if member.mode:
            fields.append(b"m%d" % member.mode)
        if labelled:
            folder, slash, name = path.rpartition(b"/")
            fields += b"n" + name, b"a" + folder + slash, b"l%d" % member.label
            if member.class_name:
                fields.append(path_field(member.class_name, member.number, b"C"))
            self.labelled = True
        else:
            fields.append(b"p" + path)
        self.channel.say(b"F", *fields)
        self.places[path] = self.rows * ROW | kind | (LABELLED if labelled else 0)
        self.rows += 1
        self.fill(above(path))
        self.note_junk(path, kind == FOLDER)

    def add_file(self, member, path):
        if member.holes > HOLES_MOST or (member.pieces is not None and member.unpacked):
            raise LeftOut("all holes")
        self.make_room(path)
        fields = [b"o%d" % member.offset, b"s%d" % member.size]
        if member.unpacked:
            fields.append(b"u")
        if member.pieces is not None:
            fields.append(pieces_field(member.pieces))
        self.add_row(member, path, FILE, *fields, labelled=member.label is not None)

    def add_symlink(self, member, path, target):
        if not target:
            raise LeftOut("no target")
        self.make_room(path)
        self.targets[path] = target
        self.add_row(member, path, SYMLINK, b"t" + target)

    def add_folder(self, member, path):
        place = self.places.get(path)
        if place is None or place & KIND != FOLDER:
            self.make_room(path)
            self.add_row(member, path, FOLDER, b"d")
        elif not member.implied and not place & ROWLESS:
            self.channel.say(b"M", b"%d" % (place // ROW), b"%d" % member.mode,
                             b"%d" % member.mtime)

    def add_second_name(self, member, path):
        """A second name of a symbolic link is another one with its target."""
        try:
            target = self.find_way(member.target)
        except LeftOut:
            raise LeftOut("no file")
        place = self.places.get(target, FOLDER)
        if place & KIND == FOLDER:
            raise LeftOut("no file")
        if target == path:
            return
        if place & KIND == SYMLINK:
            self.add_symlink(member, path, self.targets[target])
            return
        self.make_room(path)
        self.add_row(member, path, FILE, b"2%d" % (place // ROW),
                     labelled=member.label is not None)

    def place(self, member):
        try:
            path = self.find_way(member.path, member)
        except LeftOut as reason:
            if str(reason) != "no name" or member.kind != "folder" or not member.path:
                raise
            path = b""  # the root is there: its member says its mode and time
        if member.kind == "file":
            self.add_file(member, path)
        elif member.kind == "folder":
            self.add_folder(member, path)
        elif member.kind == "symlink":
            self.add_symlink(member, path, until_nul(member.target))
        else:
            self.add_second_name(member, path)

    def add(self, member):
        """Adds a member, or leaves it out."""
        if member.kind in SPECIAL:
            self.leave_out(member, member.kind)
        elif member.bad:
            self.leave_out(member, "bad")
        else:
            try:
                self.place(member)
            except LeftOut as reason:
                self.leave_out(member, str(reason))

    # --- at the end ---------------------------------------------------------------------------

    def count_moved(self):
        """Links to a file that its label has moved. Links on the way are not followed."""
        for path, place in self.places.items():
            target = self.targets.get(path, b"/") if place & KIND == SYMLINK else b"/"
            if target[:1] == b"/":
                continue
            parts = path.split(b"/")[:-1]
            for part in target.split(b"/"):
                if part == b"..":
                    del parts[-1:]
                elif part and part != b".":
                    parts.append(part)
            if self.places.get(b"/".join(parts), 0) & LABELLED:
                self.count("moved", path)
