"""foldpack create from what is compressed gives what the same gives uncompressed."""

import gzip
import os
import re
import resource
import struct
import subprocess
import tarfile
import zipfile

import pytest

import archives
import limits
import trees
from formats import tfrecord
from foldfs import FOLDPACK, MIB, is_root, mounted, needs, run
from gate import Changing

COMPRESSORS = {"gz": ["gzip", "-1"], "zst": ["zstd", "-q"], "xz": ["xz", "-0"],
               "bz2": ["bzip2"], "lz4": ["lz4", "-q"]}
WHEN = 1_600_000_000


def shard(path, members):
    return archives.tar(path, *members, format=tarfile.USTAR_FORMAT)


def compressed(path, suffix, keep=False):
    needs(COMPRESSORS[suffix][0])
    target = path.with_name(f"{path.name}.{suffix}")
    with open(path, "rb") as source, open(target, "wb") as to:
        subprocess.run([*COMPRESSORS[suffix], "-c"], stdin=source, stdout=to, check=True)
    if not keep:
        path.unlink()
    return target


def create(source, pack, *options, **more):
    return run(FOLDPACK, "create", "--check=off", *options, source, pack, **more)


def content(source, folder, *options, **more):
    """The tree of a pack of `source`, and what create said."""
    pack = folder / "made.lmdb"
    done = create(source, pack, "--force", *options, **more)
    run(FOLDPACK, "verify", pack)
    run(FOLDPACK, "extract", pack, folder / "out")
    found = trees.content(folder / "out")
    subprocess.run(["rm", "-r", folder / "out"], check=True)
    return found, done.err


# --- shards of WebDataset -----------------------------------------------------------------------


def samples(count, first=0):
    """As WebDataset's writer has them; samples of two images, of none, and with a folder."""
    for n in range(first, first + count):
        key = f"dir.{n % 2}/s{n:05}" if n % 3 else f"s{n:05}"
        yield f"{key}.cls", b"%d\n" % (n % 7) if n % 5 else b"a name"
        yield f"{key}.json", b"{}"
        if n % 4:
            yield f"{key}.jpg", trees.noise(n, 1000 + 37 * n)
        if n % 6 == 0:
            yield f"{key}.seg.png", trees.noise(n + 10_000, n)
    yield f"__meta__/{first}.txt", b"meta"
    yield f"no_suffix{first}", b""


def make_shards(folder, count):
    for n in range(count):
        shard(folder / f"train-{n:06}.tar", samples(20, 20 * n))
    return folder / f"train-{{000000..{count - 1:06}}}.tar"


@pytest.mark.parametrize("suffix, layout", [("gz", "auto"), ("zst", "tree")])
def test_compressed_shards_are_what_plain_ones_are(suffix, layout, place, point):
    plain = make_shards(place, 3)
    option = f"--layout={layout}"
    expected, said = content(plain, place, option)
    with mounted(plain, point, option) as root:
        assert trees.content(root) == expected
    for n in range(3):
        compressed(place / f"train-{n:06}.tar", suffix)
    found, said_then = content(f"{plain}.{suffix}", place, option)
    assert found == expected
    if layout == "tree":
        assert any(path.endswith(b".cls") for path in found)
        return
    assert sorted({path.split(b"/")[0] for path in found}) == \
        [b"%04d" % n for n in range(7)] + [b"a name"]
    for said_here in said, said_then:
        assert "left out, as neither image nor class: 60 members" in said_here
        assert "left out, as named __NAME__: 3 members" in said_here
        assert "left out, as of no sample: 3 members" in said_here


@pytest.mark.parametrize("way", ["plain", "gz", "pipe", "pipe of gz"])
def test_samples_of_one_tar_are_the_same_in_all_ways(way, place, point):
    plain = shard(place / "x.tar", samples(30))
    option = "--layout=classes"
    with mounted(plain, point, option) as root:
        expected = trees.content(root)
    source = compressed(plain, "gz") if "gz" in way else plain
    if "pipe" not in way:
        found, _ = content(source, place, option)
    else:
        with subprocess.Popen(["cat", source], stdout=subprocess.PIPE) as cat:
            found, _ = content("-", place, option, stdin=cat.stdout)
    assert found == expected


def test_the_layout_is_one_of_the_options_of_a_pack(place):
    """So that a run with another one does not go on with what this one has left."""
    shard(place / "x.tar", samples(3))
    create(place / "x.tar", place / "x.lmdb", "--layout=tree")
    assert "layout=tree" in run(FOLDPACK, "info", place / "x.lmdb").out


def test_a_sample_ends_with_its_shard(place):
    """As in tars that are mounted."""
    shard(place / "0.tar", [("a.cls", b"1"), ("a.jpg", b"a"), ("b.cls", b"2")])
    shard(place / "1.tar", [("b.jpg", b"b"), ("b.cls", b"3")])
    for n in range(2):
        compressed(place / f"{n}.tar", "gz")
    found, _ = content(place / "{0..1}.tar.gz", place, "--layout=classes")
    assert {path for path in found if path.endswith(b"jpg")} == {b"0001/a.jpg", b"0003/b.jpg"}


def test_a_class_that_is_none_is_refused_with_its_member(place):
    shard(place / "x.tar", [("1.cls", b"1"), ("1.jpg", b"1"), ("2.cls", b"x" * 5000)])
    done = create(compressed(place / "x.tar", "gz"), place / "x.lmdb", status=None)
    assert done.returncode == 3 and "member 2 ('2.cls'): too long for a class" in done.err


def test_folders_are_not_taken_off_classes(place):
    shard(place / "x.tar", [("in/1.cls", b"1"), ("in/1.jpg", b"1")])
    done = create(place / "x.tar", place / "x.lmdb", "--strip-components=1", "--layout=classes",
                  status=2)
    assert "classes are not the folders of the tar" in done.err
    found, _ = content(place / "x.tar", place, "--strip-components=1")
    assert set(found) >= {b"1.cls", b"1.jpg"}


def test_tars_in_samples_are_no_folders(place):
    inner = shard(place / "inner.tar", [("x.jpg", b"x")]).read_bytes()
    shard(place / "x.tar", [("1.cls", b"1"), ("1.jpg", b"1"), ("1.tar", inner)])
    found, said = content(compressed(place / "x.tar", "gz"), place)
    assert {path for path in found if path.endswith(b"jpg")} == {b"0001/1.jpg"}
    assert "as neither image nor class: 1 member" in said


# --- several tars, of which some are damaged ----------------------------------------------------


@pytest.mark.parametrize("kinds", ["gz plain", "plain gz", "gz plain plain", "zst gz plain"])
def test_compressed_and_plain_tars_mix(kinds, place):
    names = []
    for n, kind in enumerate(kinds.split()):
        path = shard(place / f"{n}.tar", [(f"c/{n}", trees.noise(n, 50_000))])
        names.append(path if kind == "plain" else compressed(path, kind))
    (place / "list").write_text("".join(f"{name}\n" for name in names))
    found, _ = content(f"@{place}/list", place)
    assert len([path for path in found if path.startswith(b"c/")]) == len(names)


@pytest.mark.parametrize("keep", [0, 512, 30_000, 50_688])
@pytest.mark.parametrize("last", [False, True])
def test_a_plain_tar_that_is_cut_off_behind_a_compressed_one_is_told(keep, last, place):
    """In its first header, behind that, within a file, before its end."""
    names = [shard(place / f"{n}.tar", [(f"{n}", trees.noise(n, 50_000))]) for n in range(4)]
    names[0] = compressed(names[0], "gz")
    os.truncate(names[2 + last], keep)
    names = names[:3 + last]
    (place / "list").write_text("".join(f"{name}\n" for name in names))
    done = create(f"@{place}/list", place / "x.lmdb", status=None)
    assert done.returncode in (1, 3) and not (place / "x.lmdb").exists()
    assert f"{names[2 + last]}: " in done.err


# --- zips whose files are compressed --------------------------------------------------------------


def make_tree(root):
    for number, size in enumerate((0, 1, 5000, 300_000, 2 * MIB + 7)):
        folder = root / f"class {number % 2}" / ("long" * 20)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{number}{'é' * number}.jpg"
        path.write_bytes(trees.noise(number, size // 2) + bytes(size - size // 2))
        path.chmod(0o600 | number)
        os.utime(path, (WHEN, WHEN + 2 * number))
    os.symlink("../class 0", root / "class 1" / "link")
    (root / "empty").mkdir(mode=0o711)


@needs("zip")
@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo"])
@pytest.mark.parametrize("times", ["-q", "-X"])
def test_a_compressed_zip_is_what_a_stored_one_is(times, zone, place, point, monkeypatch):
    """Whether it is packed or mounted. -X leaves times out that have a zone."""
    root = place / "src"
    root.mkdir()
    make_tree(root)
    found = []
    for level in ("-0", "-6"):
        archive, pack, out = (place / f"x{level}{end}" for end in (".zip", ".lmdb", ""))
        run("zip", level, times, "-q", "-r", "--symlinks", archive, ".", cwd=root)
        monkeypatch.setenv("TZ", zone)
        create(archive, pack)
        if level == "-0":
            with mounted(archive, point) as shown:
                found.append((trees.content(shown), trees.attributes(shown)))
        monkeypatch.delenv("TZ")
        run(FOLDPACK, "extract", pack, out, umask=0)
        found.append((trees.content(out), trees.attributes(out)))
    assert found[0] == found[1] == found[2] and found[0][0] == trees.content(root)
    if times == "-q":
        assert found[0][1] == trees.attributes(root)


@pytest.mark.plain
def test_a_dictionary_of_lzma_takes_no_more_than_the_bytes_need(place):
    create(archives.ZIPS["lzma, a vast dictionary"](place / "x.zip"), place / "x.lmdb",
           preexec_fn=limits.limit(resource.RLIMIT_AS, 2 << 30))


def test_a_tar_in_a_zip_stays_a_file(place):
    shard(place / "x.tar", [("a", b"a")])
    with zipfile.ZipFile(place / "x.zip", "w", zipfile.ZIP_DEFLATED) as out:
        out.write(place / "x.tar", "x.tar")
    found, _ = content(place / "x.zip", place)
    assert set(found) == {b"x.tar"}


@needs("zip")
@pytest.mark.parametrize("level", ["-0", "-6"])
def test_an_encrypted_zip_is_refused_by_name(level, place):
    (place / "photo.jpg").write_bytes(bytes(1000))
    run("zip", level, "-q", "-P", "secret", "x.zip", "photo.jpg", cwd=place)
    done = create(place / "x.zip", place / "x.lmdb", status=1)
    assert "('photo.jpg'): encrypted" in done.err and not (place / "x.lmdb").exists()


@pytest.mark.parametrize("damage", ["flip", "cut"])
def test_a_damaged_zip_is_no_pack(damage, place):
    with zipfile.ZipFile(place / "x.zip", "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("a.jpg", trees.noise(1, 5000))
        out.writestr("b.jpg", trees.noise(2, 5000))
    data = bytearray((place / "x.zip").read_bytes())
    if damage == "flip":
        data[3000] ^= 1
    (place / "x.zip").write_bytes(data if damage == "flip" else data[:-3000])
    done = create(place / "x.zip", place / "x.lmdb", status=3)
    assert not (place / "x.lmdb").exists()
    assert damage == "cut" or "('a.jpg'): a wrong checksum" in done.err


def test_deflate_in_a_zip_is_not_called_gzip(place):
    with zipfile.ZipFile(place / "x.zip", "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("a.jpg", bytes(range(64)) * 100)
    data = bytearray((place / "x.zip").read_bytes())
    data[30 + len("a.jpg")] |= 6
    (place / "x.zip").write_bytes(data)
    done = create(place / "x.zip", place / "x.lmdb", status=3)
    assert "('a.jpg'): deflate: invalid block type" in done.err


# --- what is compressed as a whole ----------------------------------------------------------------


def make_records(path, first, count=20):
    tfrecord.write(path, [{"image/encoded": b"\xff\xd8\xff" + trees.noise(n, 500 * (n % 9)),
                           "image/class/label": 1 + n % 5} for n in range(first, first + count)])
    return path


@pytest.mark.parametrize("suffix", ["gz", "zst", "xz", "bz2", "lz4"])
def test_compressed_records_are_what_plain_ones_are(suffix, place):
    plain = make_records(place / "train-00000.tfrecord", 0)
    expected, _ = content(plain, place)
    source = compressed(plain, suffix)
    before = sorted(os.listdir(place))
    found, said = content(source, place, "-v")
    assert found == expected and "decompressed, " in said
    assert sorted(os.listdir(place)) == before, "nothing is left"


def test_a_plain_one_after_a_compressed_one_keeps_its_index(place):
    for n in range(2):
        make_records(place / f"train-{n:05}.tfrecord", 20 * n)
    compressed(place / "train-00000.tfrecord", "gz")
    create(place / "train-*", place / "made.lmdb")
    assert [path.name for path in place.glob(".*-index")] == [".train-00001.tfrecord.foldfs-index"]


def test_options_of_records_count_for_compressed_ones(place):
    (place / "names").write_text("".join(f"n{n}\n" for n in range(6)))
    plain = make_records(place / "x.tfrecord", 0)
    options = ["--schema=tfrecord", f"--classes={place}/names"]
    expected, _ = content(plain, place, *options)
    assert b"n1" in {path.split(b"/")[0] for path in expected}
    found, _ = content(compressed(plain, "gz"), place, *options)
    assert found == expected


def test_a_compressed_pack_is_one(place):
    root = place / "src"
    root.mkdir()
    make_tree(root)
    create(root, place / "x.lmdb")
    found, _ = content(compressed(place / "x.lmdb", "zst"), place)
    assert found == trees.content(root)


@pytest.mark.parametrize("suffix", ["zst", "lz4"])
def test_frames_that_hold_nothing_are_passed_over(suffix, place):
    """pzstd writes one in front of each other."""
    plain = make_records(place / "x.tfrecord", 0)
    expected, _ = content(plain, place)
    source = compressed(plain, suffix)
    empty = b"\x5a\x2a\x4d\x18\4\0\0\0....", b"\x50\x2a\x4d\x18" + struct.pack("<I", 300_000)
    source.write_bytes(empty[0] + empty[1] + bytes(300_000) + empty[0] + source.read_bytes())
    assert content(source, place)[0] == expected
    (place / "x.tfrecord.zst").write_bytes(empty[0])
    assert "empty" in create(place / "x.tfrecord.zst", place / "x.lmdb", status=1).err


@needs("zstd")
def test_a_window_that_is_too_large_is_no_damage(place):
    plain = make_records(place / "x.tfrecord", 0)
    with open(place / "x.tfrecord.zst", "wb") as to:
        subprocess.run(["zstd", "-qc", "--long=28"], input=plain.read_bytes(), stdout=to,
                       check=True)
    said = create(place / "x.tfrecord.zst", place / "x.lmdb", status=1).err
    assert "a window of over 128 MiB: pipe what 'zstd -dc --long=31' writes" in said


def test_methods_of_zip_that_are_not_read_are_named(place):
    for method, name in (9, "Deflate64, method 9"), (98, "PPMd, method 98"):
        archives.zip_of(place / "x.zip", archives.Entry(b"x", b"text", method))
        assert f"compressed by {name}, which is not read" in \
            create(place / "x.zip", place / "x.lmdb", status=1).err


@pytest.mark.parametrize("damage", ["flip", "cut"])
@pytest.mark.parametrize("suffix", ["gz", "xz", "zst"])
def test_damage_to_compressed_records_is_noticed(suffix, damage, place):
    source = compressed(make_records(place / "x.tfrecord", 0, 100), suffix)
    data = bytearray(source.read_bytes())
    data[len(data) // 2] ^= damage == "flip"
    source.write_bytes(data if damage == "flip" else data[:-100])
    done = create(source, place / "x.lmdb", status=3)
    assert not (place / "x.lmdb").exists() and done.err


# --- what changes while it is read --------------------------------------------------------------


def old_and_new(path, make):
    """Two containers that differ in the bytes of their three files, and a byte of the second."""
    both = []
    for seed in (0, 10):
        files = [(f"c/{n}.jpg", trees.noise(seed + n, 3 * MIB)) for n in range(3)]
        both.append(make(path, files).read_bytes())
    path.unlink()
    return *both, both[0].index(trees.noise(1, 3 * MIB)) + 2 * MIB


def stored_zip(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as out:
        for name, data in members:
            out.writestr(zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0)), data)
    return path


def refused(source, place, *options):
    said = create(source, place / "made.lmdb", *options, status=1).err
    assert not [path.name for path in place.iterdir() if path.name.startswith("made.lmdb")]
    return said


@is_root
def test_a_tar_that_changes_while_it_is_packed_is_refused(place):
    old, new, at = old_and_new(place / "x", shard)
    with Changing(old, place / "gate", at, new) as gate:
        said = refused(gate.path, place)
        assert re.search(rf"{gate.path}/c/\d\.jpg: changed while it was being packed", said)
        found, _ = content(gate.path, place)
    assert found == content(shard(place / "y.tar", [
        (f"c/{n}.jpg", trees.noise(10 + n, 3 * MIB)) for n in range(3)]), place)[0]


@is_root
def test_a_tar_that_looks_damaged_since_it_changes_is_said_to_change(place):
    old, _, at = old_and_new(place / "x", shard)
    with Changing(old, place / "gate", at, trees.noise(99, len(old))) as gate:
        said = refused(gate.path, place)
        assert re.search(rf"{gate.path}/c/\d\.jpg: changed while it was being packed", said)


@is_root
def test_one_of_several_tars_that_changes_while_it_is_packed_is_named(place):
    compressed(shard(place / "x-0.tar", [("a.jpg", b"first")]), "gz")
    old, new, at = old_and_new(place / "x", shard)
    with Changing(old, place / "gate", at, new) as gate:
        (place / "x-1.tar.gz").symlink_to(gate.path)
        said = refused(f"{place}/x-{{0..1}}.tar.gz", place)
    assert re.search(r"c/\d\.jpg: changed while it was being packed", said) or \
        f"{place}/x-1.tar.gz: changed while" in said


@is_root
@pytest.mark.plain
def test_what_was_packed_of_a_file_that_changed_is_not_gone_on_with(place):
    """Over a batch of it, where names, sizes and times of the new one are the same."""
    old, new = (shard(place / "x", [(f"c/{n:03}.jpg", bytes([first + n]) * 2 * MIB)
                                   for n in range(130)]).read_bytes() for first in (0, 100))
    with Changing(old, place / "gate", 230 * MIB, new) as gate:
        said = refused(gate.path, place)
        create(gate.path, place / "made.lmdb", "--resume")
        resumed = (place / "made.lmdb").read_bytes()
        content(gate.path, place)
    assert "--resume" not in said
    assert resumed == (place / "made.lmdb").read_bytes()


@is_root
@pytest.mark.parametrize("options", [(), ("--on-bad=skip",)])
def test_a_zip_that_changes_while_it_is_packed_is_refused(place, options):
    old, new, at = old_and_new(place / "x", stored_zip)
    with Changing(old, place / "gate", at, new) as gate:
        said = refused(gate.path, place, *options)
    assert f"{gate.path}/c/" in said
    assert ".jpg: changed while it was being packed; pack it again when nothing" in said


def zstd_unchecked(data):
    return run("zstd", "-q", "--no-check", "-c", input=data, stdin=None).stdout


@is_root
@needs("zstd")
@pytest.mark.parametrize("compress", [zstd_unchecked, gzip.compress])
def test_what_changes_while_it_is_decompressed_is_refused(compress, place):
    """Whether the compression has a checksum, which the two halves do not match, or none."""
    old, new = (compress(tfrecord.write(place / "x", [
        {"image/encoded": b"\xff\xd8\xff" + trees.noise(seed + n, MIB), "image/class/label": n + 1}
        for n in range(3)], checked=False).read_bytes()) for seed in (0, 10))
    with Changing(old, place / "gate", len(old) // 2, new[:len(old)].ljust(len(old))) as gate:
        said = refused(gate.path, place)
    assert (f"{gate.path}: changed while it was decompressed; try again when nothing writes to "
            "it") in said
