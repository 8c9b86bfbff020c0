"""Texts beside images that are resized: those with boxes or points in pixels stop it, others do
not. annotated.py has them."""

import itertools
import json
import re
import tarfile
import zipfile

import pytest

import trees
from annotated import HARMLESS, IMAGES, PLACES, encoded, lines
from foldfs import FOLDPACK, run

pytest.importorskip("PIL", reason="python3-pil is not installed")
pytest.importorskip("numpy", reason="python3-numpy is not installed")

from pictures import jpeg, noise, png

BOX = lines("a.jpg,dog,100,120,470,350")


@pytest.fixture(name="pictures", scope="module")
def fixture_pictures():
    image = noise((60, 48))
    return {name: png(image) if name.endswith("png") else jpeg(image) for name in IMAGES}


@pytest.fixture(name="source")
def fixture_source(tmp_path, pictures):
    for name, data in pictures.items():
        trees.write(tmp_path / "source/images" / name, data)
    return tmp_path / "source"


def put(source, path, text):
    trees.write(source / path, encoded(text))


def resize(source, pack, *options, status=0, **more):
    return run(FOLDPACK, "create", "--resize=32", *options, source, pack, status=status, **more)


def refuse(source, pack, *options, path, images=1, **more):
    noun = "image" if images == 1 else "images"
    done = resize(source, pack, *options, status=2, **more)
    assert f"{path}: boxes or points in it would no longer fit {images} {noun}" in done.err
    assert "; --anyway resizes all the same" in done.err
    assert not pack.exists()
    return done


# --- which ----------------------------------------------------------------------------------


def test_a_text_with_places_in_images_stops_it(source, tmp_path):
    """Each by itself: all are counted."""
    for number, (path, text) in enumerate(PLACES.values()):
        put(source, f"{number:02}/{path}", text)
    said = resize(source, tmp_path / "pack", status=2).err
    assert f"00/{PLACES['labelme'][0]}: boxes or points in it would no longer fit" in said
    assert f", and so it is with {len(PLACES) - 1} other files; " in said
    assert not (tmp_path / "pack").exists()


def test_a_text_without_them_does_not(source, tmp_path):
    for number, (path, text) in enumerate(HARMLESS.values()):
        put(source, f"{number:02}/{path}", text)
    resize(source, tmp_path / "pack")


def test_of_other_images_or_in_bytes_that_are_no_text_they_do_not(source, tmp_path, pictures):
    trees.write(source / "boxes.npy", b"\x93NUMPY\1\0" + BOX.encode())
    put(source, "other.csv", BOX.replace("a.jpg", "another.jpg"))
    trees.write(source / "whole/x.jpg", pictures["a.jpg"])
    put(source, "boxes.csv", BOX.replace("a.jpg", "x.jpg"))
    refuse(source, tmp_path / "pack", path="boxes.csv")
    resize(source, tmp_path / "pack", "--transform=images/*")


@pytest.mark.parametrize("option", ["--anyway", "--optimize"])
def test_who_says_so_or_does_not_resize_is_not_stopped(source, tmp_path, option):
    put(source, "boxes.csv", BOX)
    how = ["--resize=32", option] if option == "--anyway" else [option]
    run(FOLDPACK, "create", *how, source, tmp_path / "pack")


def test_the_first_is_named_and_the_others_are_counted(source, tmp_path):
    for path in ("1.csv", "2.csv", "3.csv"):
        put(source, path, BOX + BOX.replace("a.jpg", "0001.jpg"))
    done = refuse(source, tmp_path / "pack", path="1.csv", images=2)
    assert ", and so it is with 2 other files; " in done.err


# --- where ----------------------------------------------------------------------------------


def tarred(source, path):
    with tarfile.open(path, "w:gz" if path.suffix == ".tgz" else "w") as tar:
        tar.add(source, arcname="")
    return path


def zipped(source, path):
    with zipfile.ZipFile(path, "w") as file:
        for one in sorted(source.rglob("*")):
            file.write(one, one.relative_to(source))
    return path


def packed(source, path):
    run(FOLDPACK, "create", "-q", source, path)
    return path


SOURCES = {"x.tar": tarred, "x.tgz": tarred, "x.zip": zipped, "x.lmdb": packed}


@pytest.mark.parametrize("name", SOURCES)
def test_it_is_so_from_other_sources(source, tmp_path, name):
    put(source, "boxes/boxes.csv", BOX)
    made = SOURCES[name](source, tmp_path / name)
    refuse(made, tmp_path / "pack", path="boxes/boxes.csv")


def test_it_is_so_from_a_pipe(source, tmp_path):
    with tarred(source, tmp_path / "harmless.tar").open("rb") as tar:
        resize("-", tmp_path / "harmless", stdin=tar)
    put(source, "boxes.csv", BOX)
    with tarred(source, tmp_path / "x.tar").open("rb") as tar:
        refuse("-", tmp_path / "pack", path="-/boxes.csv", stdin=tar)


def test_it_is_so_before_the_first_shard(source, tmp_path):
    put(source, "boxes.csv", BOX)
    refuse(source, tmp_path / "pack.lmdb", "--shard-size=1M", path="boxes.csv")
    assert list(tmp_path.glob("pack*")) == []


# Of 1500 texts every second one is looked into before anything is packed.
@pytest.mark.parametrize("number", [700, 701])
def test_one_that_is_only_found_as_it_is_packed_leaves_no_pack(source, tmp_path, number):
    for other in range(1500):
        put(source, f"texts/{other}", BOX if other == number else "no place\n")
    refuse(source, tmp_path / "pack", path=f"texts/{number}")


@pytest.mark.slow
def test_a_place_behind_64_mib_is_found_in_little_memory(source, tmp_path):
    row = '{"text": "%s"},\n' % ("no place " * 12)
    with (source / "large.json").open("w") as file:
        file.writelines(itertools.repeat(row, (80 << 20) // len(row)))
        file.write(json.dumps({"file_name": "a.jpg", "bbox": [1, 2, 30, 40]}) + "\n")
    refuse(source, tmp_path / "pack", path="large.json")
