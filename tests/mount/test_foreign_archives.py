"""Tars, shards of WebDataset, zips and .beton files, mounted as they are."""

import io
import os
import random
import re
import shutil
import stat
import tarfile
import zipfile

import pytest

import archives
import trees
from foldfs import FOLDFS, FOLDPACK, NOBODY, is_root, needs, run
from formats import ffcv

MOMENT = 1_500_000_000


def refusal(path, point, *options):
    done = run(FOLDFS, *options, path, point, status=None)
    assert done.returncode != 0
    return done.err


# --- tars -------------------------------------------------------------------------------------


def test_all_that_copy_what_is_left_out_of_end_with_4(place):
    """Also by the index of a scan that has said what."""
    for name in "ab":
        archives.tar(place / f"{name}.tar", (f"{name}/1.jpg", archives.PHOTO),
                     ("pipe", tarfile.FIFOTYPE, ""), ("../up", b"up"))
    path = place / "a.tar"
    said = [run(FOLDPACK, "extract", path, place / f"out{n}", status=4).err for n in range(2)]
    assert ["left out: 1 named pipe" in text for text in said] == [True, False]
    for text in said:
        assert text.splitlines()[-1] == f"foldpack: {path}: 2 of its members left out"
    both = f"{place}/{{a,b}}.tar"
    assert "4 of its members left out" in run(FOLDPACK, "extract", both, place / "2", status=4).err
    run(FOLDPACK, "export", "-q", "--format=lmdb", path, place / "x", status=4)
    run(FOLDPACK, "extract", path, place / "part", "a")
    run(FOLDPACK, "export", "-q", "--format=lmdb", "--root=/", path, place / "y")
    assert re.search("^left out +2$", run(FOLDPACK, "info", path).out, re.M)
    run(FOLDPACK, "verify", path)
    run(FOLDPACK, "create", "-q", "--on-bad=skip", path, place / "a.lmdb", status=4)
    run(FOLDPACK, "extract", place / "a.lmdb", place / "of the pack")


@pytest.mark.parametrize("kind", ["tar", "zip"])
def test_what_programs_leave_in_folders_is_shown_and_said(place, mount, kind):
    paths = [".ipynb_checkpoints/a.jpg", "__MACOSX/._b.jpg", "c/._d.jpg", "c/d.jpg", "c/._notes"]
    for path in paths:
        trees.write(place / "x" / path, b"x")
    if kind == "tar":
        run("tar", "-cf", place / "x.tar", "-C", place / "x", *paths)
    else:
        with zipfile.ZipFile(place / "x.zip", "w") as archive:
            for path in paths:
                archive.write(place / "x" / path, path)
    mounted = mount(place / f"x.{kind}")
    assert trees.content(mounted) == trees.content(place / "x")
    assert ("shown, though loaders take them for classes or images: 4, such as "
            "'.ipynb_checkpoints'") in mounted.said


@pytest.mark.parametrize("kind", ["tar", "zip"])
def test_what_nobody_may_read_is_not_shown_to_all(kind, place, mount):
    """A mount shows at least what its user may do, as of a pack of these."""
    (place / "x" / "d").mkdir(parents=True)
    (place / "x" / "a").write_bytes(b"a")
    if kind == "tar":
        with tarfile.open(place / "x.tar", "w") as tar:
            tar.add(place / "x", "x", filter=lambda info: setattr(info, "mode", 0) or info)
    else:
        with zipfile.ZipFile(place / "x.zip", "w") as packed:
            for name, mode in ("x/d/", stat.S_IFDIR), ("x/a", stat.S_IFREG):
                info = zipfile.ZipInfo(name)
                info.create_system, info.external_attr = 3, mode << 16
                packed.writestr(info, b"a" if name == "x/a" else b"")
    mounted = mount(place / f"x.{kind}")
    assert stat.S_IMODE((mounted / "x/a").stat().st_mode) == 0o400
    assert stat.S_IMODE((mounted / "x/d").stat().st_mode) == 0o500


def with_ends(path, *names):
    """A tar that begins and ends as another one of these, and is as old."""
    ends = b"x" * 100_000
    archives.tar(path, ("first", ends), *((name, name.encode()) for name in names), ("last", ends))
    os.utime(path, (MOMENT, MOMENT))


@is_root
@pytest.mark.parametrize("mode, owner, known", [(0o1777, NOBODY, False), (0o1777, 0, True),
                                                (0o755, NOBODY, True)])
def test_an_index_that_another_user_laid_in_a_folder_as_tmp_is_not_read(mode, owner, known, place,
                                                                        mount):
    """There, nobody but its owner can replace a tar; beside it anybody can lay an index, as that of
    another tar that begins and ends as this one does. Elsewhere whoever could do that could replace
    the tar."""
    for folder, names in ("mine", ["cat", "dog"]), ("theirs", ["dog", "cat"]):
        (place / folder / "tmp").mkdir(parents=True)
        with_ends(place / folder / "tmp/x.tar", *names)
    run(FOLDPACK, "list", place / "theirs/tmp/x.tar")
    index = place / "mine/tmp/.x.tar.foldfs-index"
    os.rename(place / "theirs/tmp" / index.name, index)
    os.chown(index, owner, owner)
    (place / "mine/tmp").chmod(mode)
    mounted = mount(place / "mine/tmp/x.tar")
    assert (mounted / "cat").read_bytes() == (b"dog" if known else b"cat")


@is_root
@pytest.mark.parametrize("owner, known", [(NOBODY, False), (0, True)])
def test_an_index_that_another_user_laid_in_a_cache_is_not_read(owner, known, place, mount,
                                                                monkeypatch):
    """As with XDG_CACHE_HOME=/tmp, where anybody can make the folder foldfs."""
    cache = place / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    (place / ".x.tar.foldfs-index").mkdir()  # none can lie beside it
    with_ends(place / "x.tar", "dog", "cat")
    run(FOLDPACK, "list", place / "x.tar")
    assert [path.name for path in place.glob(".x*")] == [".x.tar.foldfs-index"]
    [index] = (cache / "foldfs/index").iterdir()
    os.chown(index, owner, owner)
    os.chown(index.parent, NOBODY, NOBODY)
    with_ends(place / "x.tar", "cat", "dog")
    mounted = mount(place / "x.tar")
    assert (mounted / "cat").read_bytes() == (b"dog" if known else b"cat")


@pytest.mark.parametrize("mode, name", [("w:gz", "gzip"), ("w:xz", "xz"), ("w:bz2", "bzip2")])
def test_a_compressed_tar_is_refused_with_the_way_out(mode, name, place, point):
    archives.tar(place / "x.tar.z", ("a.jpg", b"x"), mode=mode)
    said = refusal(place / "x.tar.z", point)
    assert f"compressed with {name}" in said and "foldpack create" in said


# --- shards of WebDataset ---------------------------------------------------------------------


def make_shards(place, count, images):
    """Images are (name, label, content), and go round the shards, as WebDataset's writer has it:
    members of a sample by suffix."""
    for n in range(count):
        archives.tar(place / f"train-{n:06}.tar", *(
            (f"{name}.{suffix}", data) for name, label, content in images[n::count]
            for suffix, data in (("cls", str(label).encode()), ("jpg", content), ("json", b"{}"))),
            format=tarfile.USTAR_FORMAT)
    return place / f"train-{{000000..{count - 1:06}}}.tar"


def test_labels_of_samples_are_what_python_reads_as_a_number(place, mount):
    labels = [" 0", "+1\n", "\t2 ", "03", "4"]
    mounted = mount(make_shards(place, 1, [(f"s{n}", label, b"x" * n)
                                           for n, label in enumerate(labels)]))
    assert sorted(os.listdir(mounted)) == [f"{label:04}" for label in range(5)]
    assert (mounted / "0002/s2.jpg").read_bytes() == b"xx"


def test_shards_are_one_folder_of_classes(place, mount):
    images = [(f"sample{n:04}", n % 5, random.Random(n).randbytes(1000 + n)) for n in range(100)]
    mounted = mount(make_shards(place, 4, images))
    assert sorted(os.listdir(mounted)) == [f"{label:04}" for label in range(5)]
    for name, label, content in images:
        assert (mounted / f"{label:04}/{name}.jpg").read_bytes() == content
    assert len(trees.files(mounted)) == 100
    assert "left out, as neither image nor class: 100 members" in mounted.said


def test_a_member_without_a_name_is_left_out(place, mount):
    archives.tar(place / "x.tar", ("", b"nothing"), ("a.jpg", b"jpeg"), ("a.cls", b"3"))
    mounted = mount(place / "x.tar", "--layout=classes")
    assert trees.files(mounted) == [b"0003/a.jpg"]


# --- zeros in place of members ----------------------------------------------------------------

SEEMS_CUT = "perhaps cut by a crash: zeros in place of members begin in or behind "


def jpeg(number, size):
    """What a cut is known by: how it ends."""
    return b"\xff\xd8\xff" + random.Random(number).randbytes(size - 5) + b"\xff\xd9"


def in_own_folders(place):
    """As foldfs wants several that have equal paths."""
    return [f"{path.stem}/={path}" for path in sorted(place.glob("x-*.tar"))]


def test_zeros_that_writers_of_tars_leave_are_no_cut(place, mount):
    """With records of all sizes, through dd, and several tars one after the other; also where the
    last member ends in zeros."""
    root = place / "src"
    for name, last in (("a.npy", bytes(9000)), ("b.txt", b"1\n"),
                       ("c.jpg", jpeg(1, 5000) + bytes(3000)), ("d.png", b"IEND\xaeB`\x82")):
        trees.write(root / name, last)
        archives.tar(place / f"x-{name}.tar", (name, last))
        for blocks in (1, 3, 7, 20, 31, 113, 512, 1000, 1999, 2048):
            for program in filter(shutil.which, ("tar", "bsdtar")):
                made = place / f"x-{name}-{blocks}-{program}.tar"
                run(program, "-b", f"{blocks}", "-cf", made, "-C", root, name)
                size = random.Random(blocks).choice([4096, 10_240, 65536, 1 << 20])
                run("dd", f"if={made}", f"of={made.with_suffix('.dd.tar')}", "conv=sync",
                    f"bs={size}")
    (place / "x-two.tar").write_bytes(b"".join(
        (place / f"x-a.npy-{blocks}-tar.tar").read_bytes() for blocks in (1, 20, 7)))
    assert SEEMS_CUT not in mount(*in_own_folders(place)).said


@pytest.mark.parametrize("layout", ["--layout=classes", "--layout=tree"])
def test_a_shard_that_a_crash_cut_and_filled_up_with_zeros_is_told(layout, place, mount):
    """Wherever the bytes of a file end early: one that becomes no shorter than it was."""
    shard = archives.tar(place / "whole", *(
        member for number in range(12)
        for member in ((f"{number}.jpg", jpeg(number, 5000 + 700 * number)),
                       (f"{number}.cls", b"%d" % (number % 3)))))
    with tarfile.open(shard) as tar:
        parts = [(one.offset_data, one.offset_data + one.size - 16) for one in tar]
    whole, told = shard.read_bytes(), 0
    for cut in range(1024, len(whole) - 12_000, 512):
        if any(begin <= cut < max(end, begin + 1) for begin, end in parts):
            (place / f"x-{told:03}.tar").write_bytes(whole[:cut] + bytes(len(whole) - cut))
            told += 1
    assert told > 100
    assert f"{SEEMS_CUT}{told} members, such as '0.jpg'" in mount(*in_own_folders(place),
                                                                  layout).said


def test_more_zeros_than_any_record_has_are_told(place, mount):
    """Where a crash cut it between two members. Of two tars one after the other, each counts."""
    def tar_of(blocks, name):
        path = archives.tar(place / "tar", (name, jpeg(1, 60_000)))
        data = path.read_bytes().rstrip(b"\0")
        return data.ljust(512 * blocks, b"\0")

    (place / "x-1.tar").write_bytes(tar_of(2063, "a/1.jpg"))
    (place / "x-2.tar").write_bytes(tar_of(2063, "a/2.jpg") + tar_of(140, "a/3.jpg"))
    (place / "x-3.tar").write_bytes(tar_of(140, "a/4.jpg") + tar_of(2063, "a/5.jpg"))
    assert f"{SEEMS_CUT}3 members, such as 'a/1.jpg'" in mount(place / "x-*.tar").said


# --- zips -------------------------------------------------------------------------------------


@needs("zip")
@pytest.mark.parametrize("command", ["list", "create"])
def test_the_last_of_several_volumes_of_a_zip_is_known(place, command):
    trees.write(place / "a.jpg", os.urandom(100000))
    run("zip", "-0", "-q", "-s", "64k", place / "x.zip", "a.jpg", cwd=place)
    words = [command, place / "x.zip"] + [place / "x.lmdb"] * (command == "create")
    assert "x.zip: one of several volumes of a zip: 'zip -s 0 OLD --out NEW' makes one of all" in \
        run(FOLDPACK, *words, status=1).err


def test_a_zip64_from_a_pipe(place, mount):
    """Its local headers have no sizes."""

    class Pipe(io.RawIOBase):
        def __init__(self, file):
            self.file = file

        def writable(self):
            return True

        def write(self, data):
            return self.file.write(data)

    with open(place / "x.zip", "wb") as out, zipfile.ZipFile(Pipe(out), "w") as file:
        for number in range(3):
            with file.open(f"{number}.jpg", "w", force_zip64=True) as member:
                member.write(b"%d" % number * 1000)
    mounted = mount(place / "x.zip")
    assert [(mounted / f"{n}.jpg").read_bytes() for n in range(3)] == \
        [b"%d" % n * 1000 for n in range(3)]


# --- FFCV -------------------------------------------------------------------------------------


def test_a_beton_of_jpegs_and_of_pixels(place, mount):
    image = pytest.importorskip("PIL.Image")
    samples = []
    for number in range(20):
        picture = image.effect_noise((30 + number, 20), 50).convert("RGB")
        file = io.BytesIO()
        picture.save(file, "JPEG")
        mode = number % 2
        content = picture.tobytes() if mode == ffcv.PIXELS else file.getvalue()
        samples.append((mode, *picture.size, content, number % 3))
    ffcv.write(place / "x.beton", samples)
    mounted = mount(place / "x.beton")
    for number, (mode, width, height, content, label) in enumerate(samples):
        path = mounted / f"{label:04}/{number:08}"
        if mode == ffcv.JPEG:
            assert path.with_suffix(".JPEG").read_bytes() == content
        else:
            picture = image.open(path.with_suffix(".ppm"))
            assert picture.size == (width, height) and picture.tobytes() == content
    assert len(trees.files(mounted)) == len(samples)
