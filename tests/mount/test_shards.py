"""One folder in several packs, made by one run (--shard-size) or by one on each of many machines
(--part): together they are the folder, as one pack of it would be."""

import os
import shutil
import subprocess

import pytest

import foldfs
import trees
from damage import picture, encode
from foldfs import FOLDFS, FOLDPACK, MIB, info, run

PARTS = 8


def shards(source, pack, size, *options, status=0):
    run(FOLDPACK, "create", "-q", f"--shard-size={size}", *options, source, pack, status=status)
    return sorted(pack.parent.glob(f"{pack.stem}-*-of-*.lmdb"))


def parts(source, pack, count=PARTS, *options):
    """All of them at once, as the tasks of a job."""
    tasks = [subprocess.Popen([FOLDPACK, "create", "-q", f"--part={part}/{count}", *options,
                               source, pack]) for part in range(count)]
    assert [task.wait() for task in tasks] == [0] * count
    return sorted(pack.parent.glob(f"{pack.stem}-*-of-*.lmdb"))


def hold_together(source, packs, point):
    """The packs, mounted, are the folder."""
    word = f"{packs[0].parent}/{packs[0].stem.split('-')[0]}-*.lmdb"
    with foldfs.mounted(word, point) as mounted:
        assert trees.state(mounted) == trees.state(source)
    run(FOLDPACK, "diff", source, word)
    return word


# --- --part -------------------------------------------------------------------------------------


def test_a_class_whose_files_other_parts_have_is_not_called_empty(place):
    (place / "src/a").mkdir(parents=True)
    (place / "src/a/0.jpg").write_bytes(encode("JPEG", picture(seed=0)))
    (place / "src/a/1.jpg").write_bytes(bytes((place / "src/a/0.jpg").stat().st_size))
    said = [run(FOLDPACK, "create", "--check=header", "--on-bad=skip", f"--part={part}/2",
                place / "src", place / "x.lmdb", status=status).err
            for part, status in enumerate((0, 4))]
    assert "no file in it" not in said[0]
    assert f"{place}/src: no file in it, in this pack; ImageFolder" in said[1]


@pytest.fixture(scope="module")
def eight(images, session_dir):
    (session_dir / "eight").mkdir()
    return parts(images[0], session_dir / "eight" / "x.lmdb")


def test_eight_parts_are_the_folder(images, eight, point):
    assert [pack.name for pack in eight] == [f"x-{part:05}-of-00008.lmdb" for part in range(PARTS)]
    word = hold_together(images[0], eight, point)
    assert info(word)["content_id"] == info(images[1])["content_id"]
    assert run(FOLDPACK, "list", "-0", word).out == run(FOLDPACK, "list", "-0", images[1]).out


def test_parts_have_about_as_many_bytes_each(images, eight):
    sizes = [info(pack)["bytes"] for pack in eight]
    assert sum(sizes) == info(images[1])["bytes"]
    largest = max(os.path.getsize(os.path.join(os.fsencode(images[0]), path))
                  for path in trees.files(images[0]))
    pages = 4096 * len(list(trees.files(images[0])))
    assert max(sizes) <= (sum(sizes) + pages) / PARTS + largest


@pytest.mark.parametrize("options", [(), ("--order=shuffle:3",), ("--dedup",)])
def test_a_hostile_folder_in_parts_is_that_folder(hostile, place, point, options):
    hold_together(hostile[0], parts(hostile[0], place / "x.lmdb", 3, *options), point)


def test_a_hostile_folder_in_shards_is_that_folder(hostile, place, point):
    hold_together(hostile[0], shards(hostile[0], place / "x.lmdb", "1M"), point)


def test_more_parts_than_files_are_the_folder(small, place, point):
    hold_together(small[0], parts(small[0], place / "x.lmdb", 12), point)


# --- --shard-size -------------------------------------------------------------------------------


def test_shards_are_the_folder_and_none_is_larger(bulk, place, point):
    packs = shards(bulk[0], place / "x.lmdb", "5M")
    assert len(packs) > 5
    assert all(pack.stat().st_size <= 5 * MIB for pack in packs)
    hold_together(bulk[0], packs, point)


@pytest.mark.parametrize("size", (300, 1900, 2049))
def test_shards_of_tiny_files_are_no_larger_and_half_full(size, place):
    (place / "tree").mkdir()
    for number in range(9000):
        (place / "tree" / f"{number:06}.png").write_bytes(bytes([number % 251]) * size)
    packs = shards(place / "tree", place / "x.lmdb", "2M")
    assert all(pack.stat().st_size <= 2 * MIB for pack in packs)
    assert all(pack.stat().st_size >= 0.8 * MIB for pack in packs[:-1])


# What else takes room in a pack, and how leaves of LMDB come to be nearly empty.


def files_of(tree, size, names):
    tree.mkdir(parents=True, exist_ok=True)
    for number, name in enumerate(names):
        (tree / name).write_bytes(number.to_bytes(4, "big") + bytes(size - 4))


def backwards(tree):
    names = [f"{number:04}" for number in range(1500)]
    files_of(tree, 1400, names)
    (tree.parent / "list").write_text("".join(f"{name}\n" for name in reversed(names)))
    return f"--order=list:{tree.parent}/list"


def long_names(tree):
    files_of(tree / (85 * "\u65e5"), 1540, (f"{number:04}" + 236 * "a" for number in range(3000)))


def long_paths_of_equal_files(tree):
    (tree / "/".join(9 * ["a" * 200])).mkdir(parents=True)
    for name in ("/".join(9 * ["a" * 200]) + "/a", *(f"b{number}" for number in range(1500))):
        (tree / name).write_bytes(bytes(520))
    return "--dedup"


def deep_folders(tree):
    for number in range(30):
        folder = tree / f"{number:02}" / "/".join(900 * "a")
        folder.mkdir(parents=True)
        (folder / "a").touch()


def empty_folders(tree):
    for number in range(10000):
        (tree / f"{number:040}").mkdir(parents=True)
    files_of(tree, 300, (f"{number}.png" for number in range(3000)))


def symbolic_links(tree):
    files_of(tree, 10, (f"{number:03}" for number in range(300)))
    for number in range(15000):
        (tree / f"{number % 300:03}-{number}").symlink_to("a" * 100)


def hard_links(tree):
    files_of(tree, 10, (f"{number:03}" for number in range(100)))
    for number in range(10000):
        os.link(tree / f"{number % 100:03}", tree / f"{number}-a")


@pytest.mark.parametrize("make, size", [
    (backwards, 1), (long_names, 6), (long_paths_of_equal_files, 1), (deep_folders, 1),
    (empty_folders, 1), (symbolic_links, 1), (hard_links, 1)])
def test_no_shard_is_larger_whatever_is_in_the_folder(make, size, place):
    option = make(place / "tree")
    packs = shards(place / "tree", place / "x.lmdb", f"{size}M", *([option] if option else []))
    assert len(packs) > 1
    assert max(pack.stat().st_size for pack in packs) <= size * MIB


def test_a_file_that_is_larger_has_a_shard_of_its_own(place, point):
    (place / "tree").mkdir()
    for name, size in ("a", 100), ("b", 3 * MIB), ("c", 100):
        (place / "tree" / name).write_bytes(trees.noise(size, size))
    packs = shards(place / "tree", place / "x.lmdb", "1M")
    assert [info(pack)["files"] for pack in packs] == [1, 1, 1]
    hold_together(place / "tree", packs, point)


def test_shards_of_resized_images_are_what_one_pack_has(images, place):
    packs = shards(images[0], place / "x.lmdb", "1M", "--resize=50")
    one = foldfs.pack(images[0], place / "one.lmdb", "--resize=50")
    assert len(packs) > 1
    assert info(f"{place}/x-*.lmdb")["content_id"] == info(one)["content_id"]
    assert info(f"{place}/x-*.lmdb")["options"] == "resize=50\n"


# --- failures -----------------------------------------------------------------------------------


@pytest.fixture
def pictures(place):
    for number in range(40):
        folder = place / "pictures" / f"class{number // 10}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number:02}.jpg").write_bytes(
            encode("JPEG", picture(seed=number)) + trees.noise(number, 90000))
    return place / "pictures"


def test_a_failure_leaves_whole_shards_and_resume_makes_the_rest(pictures, place, point):
    bad = pictures / "class2" / "25.jpg"
    data = bad.read_bytes()
    bad.write_bytes(b"no image" + data[8:])
    made = shards(pictures, place / "x.lmdb", "1M", "--check=header", status=1)
    names = sorted(os.listdir(place))
    assert made and all(info(pack)["files"] for pack in made)
    assert names == sorted(["pictures", "mnt", *(pack.name for pack in made)])
    bad.write_bytes(data)
    packs = shards(pictures, place / "x.lmdb", "1M", "--check=header", "--resume")
    assert len(packs) > len(made)
    hold_together(pictures, packs, point)


def test_resume_refuses_a_folder_that_is_cut_otherwise_now(pictures, place):
    packs = shards(pictures, place / "x.lmdb", "1M")
    packs[-1].unlink()
    (pictures / "class0" / "00.jpg").write_bytes(b"smaller")
    said = run(FOLDPACK, "create", "--shard-size=1M", "--resume", pictures, place / "x.lmdb",
               status=1).err
    assert "finished already, but" in said


def test_bad_inputs_are_listed_by_shard(pictures, place):
    for name in "class0/03.jpg", "class3/33.jpg":
        (pictures / name).write_bytes(b"no image")
    packs = shards(pictures, place / "x.lmdb", "1M", "--check=header", "--on-bad=skip",
                   f"--bad-list={place}/bad.txt", status=4)
    lists = sorted(place.glob("bad-*.txt"))
    assert len(lists) == len(packs)
    assert [line.split("\t")[0] for file in lists for line in file.read_text().splitlines()] == \
        ["class0/03.jpg", "class3/33.jpg"]


def test_a_tar_is_not_cut(small, place):
    run("tar", "-C", small[0], "-cf", place / "small.tar", ".")
    assert "are for folders only" in run(FOLDPACK, "create", "--part=0/2", place / "small.tar",
                                     place / "x.lmdb", status=2).err


# --- what is no set -------------------------------------------------------------------------------


@pytest.mark.parametrize("change, options", [("class3/39.jpg", ()), (None, ("--dedup",))])
def test_a_shard_of_another_set_is_refused(pictures, place, point, change, options):
    packs = parts(pictures, place / "x.lmdb", 3)
    (place / "other").mkdir()
    if change:
        (pictures / change).write_bytes(b"smaller")
    shutil.copy(parts(pictures, place / "other" / "x.lmdb", 3, *options)[2], packs[2])
    said = run(FOLDFS, *packs, point, status=1).err
    assert f"{packs[1]}: shard 2 of 3 is not here, or was made from the folder in another state" \
        in said
    assert "'--missing=ok' does without" in said
    with foldfs.mounted(packs[2], point, *packs[:2], "--missing=ok"):
        pass


def test_a_shard_that_is_lost_is_told_by_names_or_by_what_they_hold(eight, place, point):
    lost = f"{eight[5].name} is missing of a set of 8"
    others = [*eight[:5], *eight[6:]]
    assert lost in run(FOLDFS, *others, point, status=1).err
    for pack in others:
        os.link(pack, place / pack.name)
    for command in "list", "info", "verify":
        assert lost in run(FOLDPACK, command, f"{place}/x-*.lmdb", status=1).err
    (place / "one").mkdir()
    os.link(eight[0], place / "one" / eight[0].name)
    run(FOLDPACK, "list", place / "one" / eight[0].name)
    assert "are missing of a set of 8" in run(FOLDPACK, "list", f"{place}/one/*.lmdb", status=1).err
    for number, pack in enumerate(others):
        (place / pack.name).rename(place / f"{number}.lmdb")
    assert f"{place}/4.lmdb: shard 5 of 8 is not here" in \
        run(FOLDPACK, "list", f"{place}/?.lmdb", status=1).err
