#!/usr/bin/python3
"""make_tree.py PHOTOS DIR [--files N]

A large ImageFolder tree of real photos: copies of those in PHOTOS, each copy made unique by a
JPEG comment behind its first marker, so that nothing can be deduplicated and every copy still
decodes to the same picture. Classes stay as they are; each photo gets the same number of
copies, give or take one. The same arguments give the same tree, modification times included."""

import argparse
import os
import sys

import stamped

SOI = b"\xff\xd8"
TIME = 1_500_000_000  # seconds since 1970, of every file


def photos_of(source):
    """(class, file name) of every photo, sorted."""
    classes = [entry.name for entry in os.scandir(source) if entry.is_dir()]
    found = [(wnid, photo) for wnid in sorted(classes)
             for photo in sorted(os.listdir(os.path.join(source, wnid)))]
    if not found:
        sys.exit(f"{source}: no class folders with photos in it")
    return found


def comment(text):
    """A COM segment."""
    data = text.encode()
    return b"\xff\xfe" + (len(data) + 2).to_bytes(2, "big") + data


def read_photo(path):
    with open(path, "rb") as photo:
        data = photo.read()
    if not data.startswith(SOI):
        sys.exit(f"{path}: not a JPEG")
    return data


def write_copies(source, target, wnid, photo, copies):
    data = read_photo(os.path.join(source, wnid, photo))
    stem, extension = os.path.splitext(photo)
    for copy in range(copies):
        path = os.path.join(target, wnid, f"{stem}_{copy:05d}{extension}")
        with open(path, "wb") as file:
            file.write(SOI + comment(f"copy {copy} of {photo}") + data[len(SOI):])
        os.utime(path, (TIME, TIME))


def fill(source, target, files):
    photos = photos_of(source)
    for index, (wnid, photo) in enumerate(photos):
        os.makedirs(os.path.join(target, wnid), exist_ok=True)
        copies = files // len(photos) + (index < files % len(photos))
        write_copies(source, target, wnid, photo, copies)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("photos", metavar="PHOTOS")
    parser.add_argument("directory", metavar="DIR")
    parser.add_argument("--files", type=int, default=20000)
    args = parser.parse_args()
    recipe = {"tree": args.files, "photos": len(photos_of(args.photos))}
    stamped.make(args.directory, recipe, lambda into: fill(args.photos, into, args.files))


if __name__ == "__main__":
    main()
