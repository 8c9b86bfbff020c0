"""Samples of WebDataset as folders of classes, CLASS/KEY.jpg: what becomes of the members of a tar,
which come one after the other.

A sample is what follows each other and has one key: the path up to the first dot of its last part.
Its class is what the member KEY.cls says: a label, as "17", or a name. Without that member it is
the folder of the key. A folder of the key is one in the class, too: keys are different, the last
parts of them need not be.

Only images become files; one that comes again replaces the one before it, as where the tar is
unpacked. What else there is (.json, .txt, masks as .npy) is noted, and left out, and so are members
named __x__, of which WebDataset says that they are no samples, and samples called so."""

from archive import shown
from scan import Failed, class_field, damaged, is_image_name, label_number, name_field

CLASS_MOST = 4096  # bytes of a .cls member
LOOKED_AT = 1000  # members, for a sample with a class,
LOOKED_FAR = 4 << 20  # and of a far file no further than this
NOTES = {"other": "left out, as neither image nor class: {} member(s)",
         "unfit": "left out, as of no sample: {} member(s)",
         "meta": "left out, as named __NAME__: {} member(s)",
         "again": "images that come again, of which the last counts: {}"}


def is_meta(name):
    return len(name) >= 4 and name[:2] == b"__" == name[-2:]


def split(member, left_out):
    """(key, suffix) of a file of a sample; None, and counts why, for others."""
    path = member.path
    if path[:2] == b"./" and len(path) > 2:  # as `tar .` begins its paths
        path = path[2:]
    folder, slash, name = path.rpartition(b"/")
    stem, dot, suffix = name.partition(b".")
    if member.kind == "folder":
        return None
    if is_meta(path.partition(b"/")[0]):
        left_out["meta"] += 1
    elif member.kind != "file" or member.pieces is not None or not dot or not stem:
        left_out["unfit"] += 1
    elif is_meta(stem):
        left_out["meta"] += 1
    else:
        return folder + slash + stem, suffix
    return None


def no_counts():
    return dict.fromkeys(NOTES, 0)


class Look:
    """For a sample that has both an image and a class with it."""

    def __init__(self):
        self.key, self.image, self.class_, self.ignored = None, False, False, no_counts()

    def sees(self, member):
        """Whether the member makes it one."""
        found = split(member, self.ignored)
        if not found:
            return False
        key, suffix = found
        if key != self.key:
            self.key, self.image, self.class_ = key, False, False
        before = self.image and self.class_
        self.image = self.image or is_image_name(suffix)
        self.class_ = self.class_ or suffix.lower() == b"cls"
        return self.image and self.class_ and not before


def has_classes(source, members):
    """Whether one of the first samples has a class. More than some MB are not asked of a server for
    that, which a scan would ask for again."""
    look = Look()
    try:
        for number, member in enumerate(members, 1):
            if look.sees(member):
                return True
            if number == LOOKED_AT or (source.far and member.offset + member.size > LOOKED_FAR):
                return False
    except Failed as error:
        if error.what != "damaged":
            raise
    return False


def bad(member, reason):
    return damaged(f"member {member.number} ('{shown(member.path)}'): {reason}")


class Sample:
    """`label`, `name`: its class; None: none."""

    def __init__(self, key):
        self.key, self.images, self.label, self.name = key, [], None, None

    def has_class(self):
        return self.label is not None or self.name is not None

    def read_class(self, source, member):
        """A number is a label, anything else a name."""
        if self.has_class():
            raise bad(member, "the sample has a class already")
        if member.size > CLASS_MOST:
            raise bad(member, "too long for a class")
        said = source.get(member.offset, member.size).strip(b" \t\r\n")
        if not said:
            raise bad(member, "no class in it")
        self.label = label_number(said)
        if self.label is None:
            self.name = said

    def fields(self, member, path):
        """Of its image: what class and name it has."""
        folder, slash, _ = self.key.rpartition(b"/")
        name = name_field(path, member.number)
        if self.has_class():
            return [name] + ([] if self.name is None else [class_field(self.name)])
        return [b"n" + path[len(folder) + len(slash):], b"C" + (folder if slash else b"images")]


class Samples:
    def __init__(self, source, tree):
        self.source, self.tree, self.sample = source, tree, None
        self.named = source.option["names"] == "0"  # by their keys
        self.rows, self.count, self.unclassed = 0, 0, 0
        self.places, self.left_out = {}, no_counts()  # places: path -> its row

    def take(self, member):
        found = split(member, self.left_out)
        if not found:
            return
        key, suffix = found
        if not self.sample or self.sample.key != key:
            self.end_sample()
            self.sample = Sample(key)
        if is_image_name(suffix):
            self.sample.images.append((member, key + b"." + suffix))
        elif suffix.lower() == b"cls":
            self.sample.read_class(self.source, member)
        else:
            self.left_out["other"] += 1

    def end_sample(self):
        sample, self.sample = self.sample, None
        if not sample or not sample.images:
            return
        for member, path in sample.images:
            self.add(sample, member, path)
        self.count += 1
        self.unclassed += not sample.has_class()

    def add(self, sample, member, path):
        if self.named and path in self.places:
            self.tree.drop(self.places[path])
            self.left_out["again"] += 1
        self.places[path] = self.rows
        self.rows += 1
        fields = sample.fields(member, path)
        if member.mode:
            fields.append(b"m%d" % member.mode)
        self.tree.add(member.number, member.offset, member.size, sample.label,
                      b"M%d" % member.mtime, *fields)


def scan_samples(source, tree, members):
    samples = Samples(source, tree)
    for member in tree.until_broken(members):
        samples.take(member)
    samples.end_sample()
    for reason, text in NOTES.items():
        tree.note(text, samples.left_out[reason])
    tree.note("{} of {} samples have no class, as .cls is one, and are in the folders of their "
              "keys, or in images", samples.unclassed, samples.count)
