"""columns.py: a table of Hugging Face's datasets, as Parquet and Arrow hold it: which of its
columns have the images, their labels and their names, and what its rows become."""

import json
import re

from scan import (IMAGE_KEY, LABEL_KEY, NAME_KEY, Failed, class_field, name_field, to_text,
                  unsupported)

TAKES = IMAGE_KEY | LABEL_KEY | NAME_KEY
USUAL = ("label", "labels", "fine_label")
TOLD = 8  # columns that may be of labels
BYTES, TEXTS, INTEGERS, LISTS = "bytes", "texts", "integers", "lists"


class Leaf:
    """A column: "image.bytes", and what it has, in words."""

    def __init__(self, name, has):
        self.name, self.has = name, has


def features_of(text):
    """What datasets notes of the columns: {"info": {"features": {"label": {"names": [...]}}}}. An
    escape of JSON that means nothing is half a pair of surrogates, which is no text."""
    text = re.sub(r'\\(["\\/bfnrt]|u[0-9a-fA-F]{4})|\\',
                  lambda found: found.group() if found.group(1) else "\\ud800",
                  to_text(text))
    try:
        found = json.loads(text, strict=False, parse_int=str)
        return found["info"]["features"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None


def names_of(features, path):
    """The names of classes for a column. A path has dots, as the name of a field may."""
    while isinstance(features, dict) and path not in features:
        first, dot, path = path.partition(".")
        features = features.get(first) if dot else None
    found = features[path] if isinstance(features, dict) else None
    found = found.get("names") if isinstance(found, dict) else None
    return found if isinstance(found, list) and all(isinstance(n, str) for n in found) else []


def is_text(name):
    """A half of a pair of surrogates is the byte that surrogateescape means by it, or nothing."""
    return all(not "\ud800" <= c <= "\udfff" or "\udc80" <= c <= "\udcff" for c in name)


class Columns:
    """`image`, `label` and `path` are leaves; the last two may be None."""

    def __init__(self, source, tree, leaves, note):
        self.option, self.tree, self.leaves = source.option, tree, leaves
        self.features = features_of(note)
        self.named = {leaf.name: leaf for leaf in reversed(leaves)}
        self.record = self.nulls = 0
        self.find_image()
        key = self.option["name_key"]
        self.path = self.named.get(key or self.name + ".path")
        if key and not self.path:
            raise Failed("option", f"--name-key: no column '{key}'")
        self.find_label()
        self.check_label()
        self.check_bytes(self.image, (BYTES,), "image")
        if self.path and self.path.has not in (BYTES, TEXTS) and not key:
            # pandas writes a column of None as integers.
            tree.note(f"the column '{self.path.name}' has {self.path.has}, and no names")
            self.path = None
        if self.path:
            self.check_bytes(self.path, (BYTES, TEXTS), "name")
        self.note_others()

    def image_of(self, leaf):
        """ "image" of "image.bytes", beside which there is "image.path"."""
        name, dot, last = leaf.name.rpartition(".")
        return name if dot and last == "bytes" and name + ".path" in self.named else None

    def classes_of(self, leaf):
        names = names_of(self.features, leaf.name) if leaf.has == INTEGERS else []
        return names if all(map(is_text, names)) else []

    def find_image(self):
        name = self.option["image_key"] or "image"
        self.image = self.named.get(name + ".bytes") or self.named.get(name)
        if not self.image and not self.option["image_key"]:
            found = [leaf for leaf in self.leaves if self.image_of(leaf)]
            if len(found) > 1:
                raise unsupported(f"images in '{found[0].name}' and in '{found[1].name}': "
                                  "--image-key names one of them")
            if found:
                self.image, name = found[0], self.image_of(found[0])
        if not self.image:
            raise unsupported(f"no column '{name}' of images; --image-key names another")
        self.name = name

    def find_label(self):
        key = self.option["label_key"]
        if key and key not in self.named:
            raise Failed("option", f"--label-key: no column '{key}'")
        # At the top, or beside the image.
        beside = self.name.rpartition(".")[0]
        usual = [*USUAL, *(f"{beside}.{name}" for name in USUAL if beside),
                 *(name + ".list.element" for name in USUAL)]
        found = [self.named[name] for name in ([key] if key else usual) if name in self.named]
        if not found:  # the one column of which the file has names of classes
            found = [leaf for leaf in self.leaves if self.classes_of(leaf)]
            found = found if len(found) == 1 else []
        self.label = found[0] if found else None
        others = [leaf.name for leaf in self.leaves
                  if leaf.has in (INTEGERS, TEXTS) and leaf is not self.path]
        if self.label and self.option["classes"] == "0":
            self.name_classes()
        elif not self.label and others:
            self.tree.note("no column 'label', so that all images are in images: --label-key names "
                           "another of: " + ", ".join(others[:TOLD]))

    def name_classes(self):
        names = names_of(self.features, self.label.name)
        for number, name in enumerate(names):
            if not is_text(name):
                raise unsupported(f"the name of class {number} has escapes that mean no text: name "
                                  "the classes by --classes")
        if names:
            self.tree.name_classes([name.replace("\0", "_") for name in names])

    def check_label(self):
        """What is no label, and was not asked for, is not one."""
        label = self.label
        if not label or label.has in (INTEGERS, BYTES, TEXTS):
            return
        if self.option["label_key"]:
            raise unsupported(f"--label-key: the column '{label.name}' has {label.has}")
        self.tree.note(f"the column '{label.name}' has {label.has}, and no labels: --label-key "
                       "names another")
        self.label = None

    def check_bytes(self, leaf, wanted, key):
        if leaf.has not in wanted:
            raise unsupported(f"the column '{leaf.name}' has {leaf.has}: --{key}-key names another")

    def note_others(self):
        """Names the columns that could be meant as well."""
        for leaf in self.leaves:
            image = self.image_of(leaf)
            if image and leaf is not self.image and not self.option["image_key"]:
                self.tree.note(f"the column '{image}' has images, too, which are left out: "
                               f"--image-key={image} shows them instead")
            if (leaf is not self.label and not self.option["label_key"] and
                    self.classes_of(leaf)):
                self.tree.note(f"the column '{leaf.name}' has labels, too: --label-key={leaf.name} "
                               "takes them instead")

    def add(self, offset, size, label, path, *more):
        """The next row. A label is a number, or bytes, which are the class; either may be None."""
        number = label if isinstance(label, int) else None
        if label and number is None:
            more += class_field(label),
        name = path.rpartition(b"/")[2] if path else b""
        if name:
            more += name_field(name, self.record, plain=b"." not in name),
        self.tree.add(self.record, offset, size, number, *more)
        self.record += 1

    def pass_over(self, count):
        """Rows without an image."""
        self.nulls += count
        self.record += count

    def end(self):
        if self.nulls and self.nulls == self.record:
            raise unsupported(f"none of its {self.nulls} records has the bytes of an image: they "
                              "may name files that lie elsewhere")
        self.tree.note("{} records without an image are left out", self.nulls)
