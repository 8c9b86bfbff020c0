"""Files of other formats on a server: how much of them a scan asks for, tokens in their URLs, and
fetching them into the disk cache, which gives them checksums."""

import gzip
import importlib
import os
import pickle
import shutil
import zipfile

import pytest

import foldfs
import foreign
import trees
from foldfs import FOLDFS, FOLDPACK, MIB, run
from foreign import photo, write_parquet
from formats import parquet

pytest_plugins = ["server"]
pytestmark = pytest.mark.usefixtures("indexes")


FILES = {f"{number % 5}/{number:04}.jpg": photo(number) for number in range(80)}


@pytest.fixture
def cache(place):
    return place / "disk"


def write_beton(path, files):
    ffcv = pytest.importorskip("formats.ffcv", reason="no numpy")
    ffcv.write(path, [(ffcv.JPEG, 1, 1, data, 0) for data in files.values()])


def write_compressed(path, files):
    write_parquet(path, files, parquet.SNAPPY)


def write_pixels(path, files):
    numpy = pytest.importorskip("numpy")
    caffe = importlib.import_module("formats.caffe")
    array = numpy.arange(300 * 200 * 3, dtype="u4").astype("u1").reshape(300, 200, 3)
    foreign.make_lmdb(path, [(caffe.key(number), caffe.pixels(array, number))
                             for number in range(10)], subdir=False)


def write_texts(path, files):
    images = list(files.values())
    foreign.make_lmdb(path, [(b"num-samples", b"%d" % len(images)), *(
        pair for number, image in enumerate(images, 1)
        for pair in ((b"image-%09d" % number, image), (b"label-%09d" % number, b"text")))],
        subdir=False)


WRITERS = {"tar": foreign.write_tar, "zip": foreign.write_zip, "lmdb": foreign.write_lmdb,
           "parquet": write_parquet, "compressed.parquet": write_compressed,
           "caffe.lmdb": write_pixels, "crnn.lmdb": write_texts}


@pytest.fixture
def shown(point):
    """What a mount shows, and its counters of the disk cache."""
    def show(*words):
        with foldfs.mounted(words[0], point, *words[1:]) as mounted:
            return foreign.shown(mounted), mounted.stats().get("disk_cache")
    return show


def fetch(cache, *words, status=0):
    return run(FOLDPACK, "fetch", f"--cache-dir={cache}", *words, status=status)


def copies(cache):
    return sorted(cache.rglob("data"))


def indexes_in(cache):
    return sorted(cache.glob("uid-*/index/*"))


def flip(path, at):
    """As a disk does it: the time of the last write stays, and so does a server's ETag."""
    before = path.stat()
    with open(path, "r+b") as file:
        file.seek(at)
        byte = file.read(1)
        file.seek(at)
        file.write(bytes([byte[0] ^ 1]))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def damage(copy):
    for at in range(20_000, copy.stat().st_size, 60_000):
        flip(copy, at)


# --- scans ----------------------------------------------------------------------------------------


def write_labeled_caffe(path, files):
    caffe = importlib.import_module("formats.caffe")
    foreign.make_lmdb(path, [(caffe.key(number), caffe.encoded(data, number % 7))
                             for number, data in enumerate(files.values())], subdir=False)


def write_labeled_pickles(path, files):
    foreign.make_lmdb(path, [(b"%d" % number, pickle.dumps((data, number % 7), protocol=4))
                             for number, data in enumerate(files.values())], subdir=False)


@pytest.mark.parametrize("write", [foreign.write_zip, foreign.write_lmdb, write_beton,
                                   write_labeled_caffe, write_labeled_pickles])
def test_a_scan_asks_for_little_of_a_large_file(web, write):
    """Of records with labels, a few bytes at both ends of each."""
    path = web.folder / "large"
    write(path, {f"{number % 5}/{number:04}.jpg": photo(number, 200_000) for number in range(200)})
    assert run(FOLDPACK, "list", web.url(path.name)).out.count("\n") == 200
    # Besides its ends, which are asked for before it is known what it is.
    assert web.sent() - MIB - MIB // 16 < path.stat().st_size / 10


@pytest.mark.parametrize("write, most", [(foreign.write_tar, 40), (write_parquet, 60)])
def test_what_lies_everywhere_is_asked_for_once_in_large_pieces(web, write, most):
    """Headers of a tar, and names between the images of two groups of rows."""
    path = web.folder / "large"
    write(path, {f"{number % 5}/{number:04}.jpg": photo(number, 300_000) for number in range(100)})
    assert run(FOLDPACK, "list", web.url(path.name)).out.count("\n") == 100
    assert web.sent() < path.stat().st_size + 8 * MIB
    assert len(web.asked()) < most


def test_an_lmdb_of_three_levels_is_walked_from_far(web):
    """Its leaves are asked for ahead, below the next branch pages as well."""
    files = {f"{number:05}-{'long' * 50}.jpg": photo(number, 3) for number in range(3000)}
    foreign.write_lmdb(web.folder / "deep.lmdb", files)
    listed = run(FOLDPACK, "list", web.url("deep.lmdb")).out.split()
    assert listed == sorted(files)
    assert len(web.asked()) < 150


# --- several shards -------------------------------------------------------------------------------


@pytest.fixture
def shards(web):
    """The URL of four."""
    for shard in range(4):
        foreign.write_tar(web.folder / f"train-{shard:06}.tar",
                          dict(list(FILES.items())[shard::4]))
    return web.url("train-{000000..000003}.tar")


@pytest.mark.parametrize("cached", [False, True])
def test_shards_on_a_server_are_one_tree(shards, shown, cache, indexes, cached):
    options = [f"--cache-dir={cache}"] if cached else []
    assert shown(shards, *options)[0] == FILES
    assert len(list(indexes.iterdir())) == 4 and len(indexes_in(cache)) == 4 * cached
    if cached:
        shutil.rmtree(indexes)
    assert shown(shards, *options)[0] == FILES
    assert indexes.exists() != cached  # neither is made anew
    # Without checksums nothing is kept.
    assert copies(cache) == []


def test_fetched_shards_are_mounted_without_the_server(shards, web, shown, cache):
    assert fetch(cache, shards).err.count("all good") == 4
    # Once, with both ends before it is known what it is.
    assert web.sent() < 1.2 * sum(map(len, FILES.values())) + 4 * 2 * MIB
    web.stop()
    tree, disk = shown(shards, f"--cache-dir={cache}", "--retry=0")
    assert tree == FILES
    assert disk["state"] == "alone"


# --- one file -------------------------------------------------------------------------------------


@pytest.fixture
def container(web):
    path = web.folder / "files.tar"
    foreign.write_tar(path, FILES)
    return path


@pytest.mark.parametrize("kind", WRITERS)
def test_a_mount_reads_what_was_fetched_and_damage_is_mended(web, shown, cache, kind):
    """Also files whose bytes are made of those of the container, or are not in it."""
    path = web.folder / f"files.{kind}"
    WRITERS[kind](path, FILES)
    url = web.url(path.name)
    plain, _ = shown(url)
    assert len(plain) > 9
    for _ in range(2):
        assert "all good" in fetch(cache, url).err
    (copy,) = copies(cache)
    assert copy.read_bytes() == path.read_bytes()
    web.forget()
    tree, disk = shown(url, f"--cache-dir={cache}")
    assert tree == plain
    assert disk["state"] == "complete" and disk["far_bytes"] == 0
    assert web.sent() < 2 * MIB
    damage(copy)
    tree, disk = shown(url, f"--cache-dir={cache}")
    assert tree == plain
    assert disk["damaged"] > 0
    flip(copy, copy.stat().st_size // 2)
    assert "all good" in fetch(cache, url).err


def test_verify_compares_once_there_are_checksums(container, web, cache):
    url = web.url(container.name)
    assert "no checksums" in run(FOLDPACK, "verify", url).err
    fetch(cache, url)
    assert "all good" in run(FOLDPACK, "verify", url).err
    flip(container, container.stat().st_size // 2)
    assert "checksum" in run(FOLDPACK, "verify", "--retry=1", url, status=3).out


def test_checksums_are_those_of_the_server_and_not_of_a_torn_copy(container, web, shown, cache,
                                                                  indexes):
    url = web.url(container.name)
    fetch(cache, url)
    (copy,) = copies(cache)
    for path in *indexes.iterdir(), *indexes_in(cache):
        path.unlink()
    damage(copy)
    assert "all good" in fetch(cache, url).err
    assert shown(url, f"--cache-dir={cache}")[0] == FILES
    assert copy.read_bytes() == container.read_bytes()


def test_without_its_index_a_copy_is_not_mounted_alone(container, web, point, cache, indexes):
    """It would be scanned, and nobody would see what is damaged in it."""
    url = web.url(container.name)
    fetch(cache, url)
    for path in *indexes.iterdir(), *indexes_in(cache):
        path.unlink()
    web.stop()
    said = run(FOLDFS, f"--cache-dir={cache}", "--retry=0", url, point, status=1).err
    assert "'foldpack fetch' makes it" in said


def test_what_lies_beside_a_copy_is_not_looked_at_once_it_was_read(place, shown, cache):
    """It was freed; and it is no part of the copy, which is complete without it."""
    images = {f"{number}": b"\x89PNG\r\n\x1a\n" + trees.noise(number, 9000) for number in range(3)}
    pack = foreign.make_lmdb(place / "GT.lmdb", [(k.encode(), v) for k, v in images.items()])
    (pack / "meta_info.txt").write_text("".join(f"{name}.png (48,50,3) 1\n" for name in images))
    fetch(cache, pack)
    tree, disk = shown(pack, f"--cache-dir={cache}")
    assert tree == {f"{name}.png": image for name, image in images.items()}
    assert disk["state"] == "complete"


# --- another object at the URL --------------------------------------------------------------------


CHANGED = FILES | {"1/0041.jpg": photo(1000, 100_100)}
HIDE = {"ETag": 'ngx.header["Last-Modified"] = nil', "Last-Modified": 'ngx.header["ETag"] = nil',
        "neither": 'ngx.header["ETag"] = nil; ngx.header["Last-Modified"] = nil'}


def replace(path, files):
    """By a tar of the same size, with the same ends, of a later time."""
    before = path.stat()
    foreign.write_tar(path, files)
    os.utime(path, (before.st_atime, before.st_mtime + 100))
    assert path.stat().st_size == before.st_size


@pytest.fixture(params=["ETag", "Last-Modified"])
def tar(request, web):
    """On a server that tells one object from another by this alone."""
    web.restart(headers=HIDE[request.param])
    foreign.write_tar(web.folder / "files.tar", FILES)
    return web.folder / "files.tar"


def test_another_object_is_not_shown_by_an_old_index(tar, web, shown, indexes):
    url = web.url(tar.name)
    assert shown(url)[0] == FILES
    (index,) = indexes.iterdir()
    made = index.stat()
    assert shown(url)[0] == FILES
    assert index.stat().st_ino == made.st_ino
    replace(tar, CHANGED)
    assert run(FOLDPACK, "cat", url, "1/0041.jpg").stdout == CHANGED["1/0041.jpg"]
    assert shown(url)[0] == CHANGED


def test_another_object_is_not_shown_from_an_old_copy(tar, web, shown, cache):
    url = web.url(tar.name)
    fetch(cache, url)
    replace(tar, CHANGED)
    assert shown(url, f"--cache-dir={cache}")[0] == CHANGED
    assert "all good" in fetch(cache, url).err
    tree, disk = shown(url, f"--cache-dir={cache}")
    assert tree == CHANGED and disk["state"] == "complete"
    web.stop()
    assert shown(url, f"--cache-dir={cache}", "--retry=0")[0] == CHANGED


def test_only_the_shard_that_was_replaced_is_read_again(shards, web, shown, cache):
    fetch(cache, shards)
    name = "1/0041.jpg"
    at = list(FILES).index(name) % 4
    replace(web.folder / f"train-{at:06}.tar", dict(list(CHANGED.items())[at::4]))
    tree, disk = shown(shards, f"--cache-dir={cache}")
    assert tree == CHANGED
    assert disk["near_bytes"] > 0 and disk["far_bytes"] == 0
    web.forget()
    assert fetch(cache, shards).err.count("all good") == 4
    assert web.sent() < sum(map(len, FILES.values())) / 2 + 4 * 2 * MIB
    web.stop()
    assert shown(shards, f"--cache-dir={cache}", "--retry=0")[0] == CHANGED


def test_nothing_is_kept_of_what_the_server_does_not_tell_apart(web, shown, cache, indexes):
    web.restart(headers=HIDE["neither"])
    foreign.write_tar(web.folder / "files.tar", FILES)
    url = web.url("files.tar")
    assert shown(url, f"--cache-dir={cache}")[0] == FILES
    assert "neither a strong ETag nor" in fetch(cache, url, status=1).err
    assert not indexes.exists() and copies(cache) == []
    replace(web.folder / "files.tar", CHANGED)
    assert shown(url, f"--cache-dir={cache}")[0] == CHANGED


# --- what is secret -------------------------------------------------------------------------------


def test_a_token_is_not_told_and_may_change(container, web, cache, shown, indexes, place):
    for token in "first", "second":
        url = f"{web.url(container.name)}?token={token}-secret/x"
        said = run(FOLDPACK, "list", "-v", url)
        assert "secret" not in said.out + said.err
        assert shown(url)[0] == FILES
        said = fetch(cache, url)
        assert "secret" not in said.out + said.err
        assert shown(url, f"--cache-dir={cache}")[0] == FILES
    for index in *indexes.iterdir(), *indexes_in(cache):
        assert b"secret" not in index.read_bytes() and "secret" not in index.name
    assert len(list(indexes.iterdir())) == len(indexes_in(cache)) == 1
    assert len(copies(cache)) == 1
    web.forget()
    assert shown(f"{web.url(container.name)}?token=third")[0] == FILES
    assert "secret" not in " ".join(os.fspath(path) for path in cache.rglob("*"))


@pytest.mark.parametrize("suffix", ["tgz", "zip"])
def test_what_is_compressed_is_packed_from_its_url(suffix, web, place):
    plain, source, pack = place / "x.tar", web.folder / f"x.{suffix}", place / "x.lmdb"
    foreign.write_tar(plain, FILES)
    if suffix == "zip":
        with zipfile.ZipFile(source, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in FILES.items():
                archive.writestr(name, data)
    else:
        source.write_bytes(gzip.compress(plain.read_bytes()))
    url = f"{web.url(source.name)}?token=secret"
    assert "secret" not in run(FOLDPACK, "create", "-v", "--check=off", url, pack).err
    run(FOLDPACK, "extract", pack, place / "out")
    assert {path: (place / "out" / path).read_bytes() for path in FILES} == FILES
