"""foldpack create of packs: several become one, some of their files another one."""

import os
import shutil

import pytest

import foldfs
import pictures
import trees
from foldfs import info, pack, run

pytest_plugins = ["server"]


def test_several_packs_become_one(place):
    for number in range(30):
        trees.write(place / f"whole/part{number % 3}/class/{number}.jpg",
                    trees.noise(number, 300 * number))
    for part in range(3):
        pack(place / "whole", place / f"x-{part}.lmdb", f"--include=part{part}/**")
    run(foldfs.FOLDPACK, "create", f"{place}/x-{{0..2}}.lmdb", place / "merged.lmdb")
    run(foldfs.FOLDPACK, "verify", place / "merged.lmdb")
    run(foldfs.FOLDPACK, "diff", place / "whole", place / "merged.lmdb")


def test_a_pack_of_a_pack_is_the_same(hostile, place):
    second = place / "second.lmdb"
    run(foldfs.FOLDPACK, "create", hostile[1], second)
    assert run(foldfs.FOLDPACK, "list", "-l", second).out == \
        run(foldfs.FOLDPACK, "list", "-l", hostile[1]).out
    run(foldfs.FOLDPACK, "diff", hostile[0], second)


@pytest.fixture
def linked(place):
    """A folder whose files have names in raw/ and elsewhere; in the order of a pack, some of raw/
    come first and some last."""
    source = place / "linked"
    for number in range(4):
        trees.write(source / "raw" / f"{number}.jpg", trees.noise(number, 3000 + number))
        for folder in ("a", "val/cat", "val/dog"):
            (source / folder).mkdir(parents=True, exist_ok=True)
            os.link(source / "raw" / f"{number}.jpg", source / folder / f"{number}.jpg")
    trees.write(source / "val" / "cat" / "alone.jpg", b"alone")
    return source


def container(kind, folder, place):
    """The folder as one of these."""
    if kind == "pack":
        return pack(folder, place / "whole.lmdb")
    if kind == "delta":
        older = place / "older"
        shutil.copytree(folder, older)
        os.unlink(older / "raw" / "0.jpg")
        old = pack(older, place / "old.lmdb")
        return f"{{{old},{pack(folder, place / 'new.lmdb', f'--since={old}')}}}"
    run("tar", "cf", place / "whole.tar", "-C", folder, "raw", "a", "val")
    return place / "whole.tar"


@pytest.mark.parametrize("option", ["--include=val/**", "--exclude=raw", "--include=raw/**",
                                    "--exclude=val/cat/0.jpg"])
@pytest.mark.parametrize("kind", ["pack", "delta", "tar"])
def test_of_a_file_with_several_names_those_that_are_wanted_stay(linked, place, kind, option):
    want, got = place / "want.lmdb", place / "got.lmdb"
    run(foldfs.FOLDPACK, "create", option, linked, want)
    run(foldfs.FOLDPACK, "create", option, container(kind, linked, place), got)
    assert run(foldfs.FOLDPACK, "list", got).out == run(foldfs.FOLDPACK, "list", want).out
    run(foldfs.FOLDPACK, "diff", want, got)
    run(foldfs.FOLDPACK, "verify", got)
    counts = [info(one) for one in (want, got)]
    assert counts[0]["hardlinks"] == counts[1]["hardlinks"]
    assert counts[0]["files"] == counts[1]["files"]


@pytest.fixture(scope="module")
def image_folder(session_dir):
    folder = session_dir / "two images"
    for number in range(2):
        trees.write(folder / "c" / f"{number}.jpg",
                    pictures.jpeg(pictures.noise((64, 48), seed=number)))
    return folder


@pytest.mark.parametrize("option", ["--resize=16", "--max-side=20", "--store=bmp", "--optimize",
                                    "--store=jpeg --quality=50", "--resize=16 --transform=0.jpg"])
def test_a_copy_knows_that_its_files_were_changed(image_folder, place, option):
    """However often it was copied, and whatever it was put together with."""
    (place / "more").mkdir()
    trees.write(place / "more" / "d" / "1.jpg", b"not changed")
    plain = pack(place / "more", place / "plain.lmdb", "--check=off")
    made = pack(image_folder, place / "made.lmdb", *option.split())
    lines = info(made)["options"].splitlines()
    assert lines
    copies = [place / f"{name}.lmdb" for name in ("copy", "again", "both", "front")]
    for source, copy in zip([made, copies[0], f"{place}/{{made,plain}}.lmdb",
                             f"{place}/{{plain,made}}.lmdb"], copies):
        run(foldfs.FOLDPACK, "create", "--check=off", source, copy)
    for source in [made, *copies, f"{place}/{{plain,made}}.lmdb"]:
        assert set(lines) <= set(info(source)["options"].splitlines())
        done = run(foldfs.FOLDPACK, "create", f"--since={source}", image_folder, place / "x.lmdb",
                   status=1)
        assert f"made with {lines[0]}, so its files are not those of the folder" in done.err


def test_a_copy_knows_what_all_of_its_packs_were_made_with(image_folder, place):
    """Not what one of them has alone, nor what is of a file and not of what it holds."""
    for name, options in (("a", ["--exclude=1.jpg", "--dedup", "--order=shuffle:1"]),
                          ("b", ["--exclude=1.jpg", "--check=header"])):
        trees.write(place / name / f"{name}.jpg", (image_folder / "c" / "0.jpg").read_bytes())
        pack(place / name, place / f"{name}.lmdb", *options)
    both = place / "both.lmdb"
    run(foldfs.FOLDPACK, "create", "--include=*.jpg", f"{place}/{{a,b}}.lmdb", both)
    assert info(both)["options"].splitlines() == ["include=*.jpg", "exclude=1.jpg"]
    create = [foldfs.FOLDPACK, "create", "--resume", "--include=*.jpg"]
    assert "nothing to resume" in run(*create, f"{place}/{{a,b}}.lmdb", both).err
    assert "other options" in run(*create, place / "b.lmdb", both, status=1).err


def test_a_damaged_file_of_a_pack_is_named(place):
    source = place / "source"
    (source / "a").mkdir(parents=True)
    for number in range(5):
        trees.write(source / "a" / f"{number}.jpg", trees.noise(number, 5000))
    first = pack(source, place / "first.lmdb")
    bytes_ = bytearray(first.read_bytes())
    at = bytes_.find(trees.noise(3, 5000))
    bytes_[at + 100] ^= 1
    first.write_bytes(bytes_)
    done = run(foldfs.FOLDPACK, "create", first, place / "second.lmdb", status=None)
    assert done.returncode != 0
    assert "a/3.jpg: damaged in the pack: checksum mismatch; --on-bad=skip" in done.err
    assert not (place / "second.lmdb").exists()


def test_the_source_is_not_replaced(place):
    source = place / "source"
    source.mkdir()
    trees.write(source / "x", b"x")
    first = pack(source, place / "first.lmdb")
    done = run(foldfs.FOLDPACK, "create", "--force", first, first, status=None)
    assert done.returncode == 1 and "its own source" in done.err
    run(foldfs.FOLDPACK, "verify", first)


# --- the order of reading ----------------------------------------------------------------------


@pytest.fixture
def shuffled(place, web):
    """Three packs that each have files of all classes, at random places: the order of the tree is
    that of no pack, and goes from one to the other with each file."""
    for number in range(3):
        for file in range(40):
            picture = pictures.jpeg(pictures.noise((40 + file, 50), seed=number * 100 + file))
            trees.write(place / f"of{number}/class{file % 4}/{file}-{number}.jpg",
                        picture + trees.noise(file, 90_000))
        pack(place / f"of{number}", web.folder / f"x-{number}.lmdb", f"--order=shuffle:{number}")
    return web


@pytest.mark.parametrize("option, most", [("--resize=20", 3), ("--include=class2/*", 30),
                                          ("--include=*7-*", 12)], ids=["all", "more", "few"])
def test_packs_are_read_from_front_to_back(shuffled, place, option, most):
    """So that one request brings what lies beside each other, and nothing is asked for twice."""
    run(foldfs.FOLDPACK, "create", option, shuffled.url("x-{0..2}.lmdb"), place / "merged.lmdb")
    asked = [(path, *map(int, range.split("=")[1].split("-")))
             for _, path, range, _, _ in shuffled.asked() if range.split("=")[1][0] != "-"]
    opening = max(number for number, (_, at, _) in enumerate(asked) if at == 0) + 1
    bytes_asked = sorted(asked[opening:])
    assert 3 <= len(bytes_asked) <= most
    page = 4096  # that neighbours may share
    assert all(one[0] != next_[0] or one[2] < next_[1] + page
               for one, next_ in zip(bytes_asked, bytes_asked[1:]))


def test_of_a_mount_it_is_said_that_its_packs_are_the_better_source(shuffled, place, mount):
    mounted = mount(f"{shuffled.folder}/x-*.lmdb")
    done = run(foldfs.FOLDPACK, "create", mounted / "class1", place / "merged.lmdb")
    assert f"class1: in a mount of {shuffled.folder}/x-0.lmdb and 2 more; " in done.err
    assert listed(place / "merged.lmdb") == {
        f"{file}-{number}.jpg" for file in range(1, 40, 4) for number in range(3)}


# --- an LMDB environment --------------------------------------------------------------------


def environment(place, *beside):
    """A folder with a pack as its data.mdb, and files of these names."""
    (place / "old/k").mkdir(parents=True)
    trees.write(place / "old/k/x.jpg", b"old")
    folder = place / "env"
    folder.mkdir()
    pack(place / "old", folder / "data.mdb")
    for name in beside:
        trees.write(folder / name, b"beside")
    return folder


def listed(path):
    return set(run(foldfs.FOLDPACK, "list", path).out.splitlines())


ALONE = "env: an LMDB environment, packed as what is in its data.mdb; 2 files beside it left out: '"
FOLDER = "env: has a data.mdb, and is packed as the folder that it is; '"


@pytest.mark.parametrize("beside, said, found", [
    ([], "", {"k/x.jpg"}), (["lock.mdb"], "", {"k/x.jpg"}), (["meta_info.txt"], "", {"k/x.jpg"}),
    (["README.md", "notes.txt"], ALONE, {"k/x.jpg"}),
    *(([photo], FOLDER, {"data.mdb", photo}) for photo in ("c/1.jpg", "1.PNG", "c/d/notes"))])
def test_an_environment_is_its_lmdb_unless_it_is_a_folder_of_photos(place, beside, said, found):
    done = run(foldfs.FOLDPACK, "create", "--check=off", environment(place, *beside),
               place / "x.lmdb")
    assert said in done.err and ("env" in done.err) == bool(said)
    assert listed(place / "x.lmdb") == found


def test_a_text_called_data_mdb_makes_no_environment(place):
    trees.write(place / "env/data.mdb", b"no LMDB")
    run(foldfs.FOLDPACK, "create", place / "env", place / "x.lmdb")
    assert listed(place / "x.lmdb") == {"data.mdb"}


@pytest.mark.parametrize("photo", ["c/1.jpg", "1.PNG", None])
def test_a_mount_of_an_environment_says_which_photos_it_does_not_show(place, mount, photo):
    folder = environment(place, *([photo] if photo else []), "README.md")
    mounted = mount(folder)
    assert os.listdir(mounted) == ["k"]
    left = photo and photo.partition("/")[0]
    said = (f"{folder}: an LMDB environment, shown as what is in its data.mdb; images and folders "
            f"beside that are left out: 1, such as '{left}'; 'foldpack create' packs the folder\n")
    assert (said in mounted.said) == bool(photo)
    assert ("data.mdb" in mounted.said) == bool(photo)
    assert ("as what is in its data.mdb" in run(foldfs.FOLDPACK, "list", folder).err) == bool(photo)
