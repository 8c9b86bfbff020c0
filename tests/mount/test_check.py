"""What foldpack create --check finds, held against PIL: see damage.py."""

import json

import pytest

import damage
import foldfs


@pytest.fixture(scope="module")
def bad(session_dir):
    folder = session_dir / "damage"
    return folder, damage.make_damage(folder)


@pytest.fixture(scope="module")
def odd(session_dir):
    folder = session_dir / "oddities"
    return folder, damage.make_oddities(folder)


class Made:
    """A pack made with --check: what is in it, and what its bad list says."""

    def __init__(self, folder, tmp_path, level, status, on_bad="skip"):
        target, bad_list = tmp_path / f"{level}.lmdb", tmp_path / f"{level}.tsv"
        done = foldfs.run(foldfs.FOLDPACK, "create", f"--check={level}", f"--on-bad={on_bad}",
                          f"--bad-list={bad_list}", folder, target, status=status)
        self.said = done.err
        self.packed = set(foldfs.run(foldfs.FOLDPACK, "list", target).out.splitlines())
        rows = [line.split("\t") for line in bad_list.read_text().splitlines()]
        self.found = {path: damage for path, damage, _ in rows}
        self.sentences = {path: sentence for path, _, sentence in rows}
        assert len(self.found) == len(rows), "a path is listed twice"


def by_name(cases):
    return {case.name: case for case in cases}


def test_the_folder_holds_what_pil_refuses_and_what_it_does_not_see(bad, odd):
    for case in bad[1]:
        refused = damage.pil(case.data)
        assert not (case.usable and refused), f"{case.name}: {refused}"
    for case in odd[1]:
        assert damage.pil(case.data) is None, case.name
    assert len(bad[1]) >= 40


def test_chunks_of_a_png_are_bad_if_pil_says_so():
    """Not each version refuses each of them: 9.4, and 13.0, both know most."""
    refused = [bool(damage.pil(case.data)) for case in damage.png_refused_cases()]
    assert sum(refused) > len(refused) * 0.9


def test_a_png_with_many_chunks_is_bad_if_pil_says_so(tmp_path):
    some = foldfs.chance()
    refused = [part for _, _, mode, part in damage.png_refused() if mode == "RGB"]
    harmless, data = list(damage.png_harmless().values()), damage.encode("PNG")
    (tmp_path / "some").mkdir()
    good, bad = set(), set()
    for number in range(80):
        image, parts = data, some.choices(harmless, k=3)
        parts[:number % 2] = some.choices(refused, k=number % 2)
        for part in parts:
            image = some.choice(list(damage.PLACES.values()))(image, part)
        name = f"{number}.png"
        (tmp_path / "some" / name).write_bytes(image)
        if number % 2 == 0:
            good.add(name)
        if damage.pil(image):
            bad.add(name)
    packed = Made(tmp_path / "some", tmp_path, "header", status=4).packed
    assert good <= packed and not bad & packed and len(bad) > 20


def test_each_damage_is_found_when_decoded_and_what_is_usable_is_packed(bad, tmp_path):
    folder, cases = bad
    made = Made(folder, tmp_path, "decode", status=4)
    assert made.found == {case.name: case.damage for case in cases}
    assert all(made.sentences.values())
    assert made.packed == {case.name for case in cases if case.usable}
    assert all(name in made.said for name in set(by_name(cases)) - made.packed)


def test_what_a_header_shows_is_found_without_decoding(bad, tmp_path):
    folder, cases = bad
    made = Made(folder, tmp_path, "header", status=4)
    for case in cases:
        if case.decode:
            assert case.name in made.packed
        else:
            assert made.found.get(case.name) == case.damage, case.name
            assert (case.name in made.packed) == case.usable, case.name


def test_oddities_are_no_damage(odd, tmp_path):
    folder, cases = odd
    made = Made(folder, tmp_path, "decode", status=0)
    assert made.found == {}
    assert made.packed == set(by_name(cases))


def test_damage_can_be_kept(bad, tmp_path):
    folder, cases = bad
    made = Made(folder, tmp_path, "decode", status=0, on_bad="keep")
    assert made.found == {case.name: case.damage for case in cases}
    assert made.packed == set(by_name(cases))


# --- what create does where nothing is asked ---------------------------------------------------


@pytest.fixture
def mixed(tmp_path):
    """Good ones, damaged ones from the first to the last, and what is no image."""
    folder = tmp_path / "mixed"
    folder.mkdir()
    data = damage.encode("JPEG")
    for number in range(30):
        (folder / f"{number:02} good.jpg").write_bytes(data)
        (folder / f"{number:02} bad.jpg").write_bytes(data[:-40 - number])
    for name, text in (("labels.txt", b"0 1 2"), ("scan.nef", b"II*\0raw"),
                       ("P5.txt", b"P5 7 8 9 1"), ("thumbs.bin", b"BM" + bytes(60)),
                       ("empty.txt", b""), ("some", b"\xff\xd8"),
                       ("model.avif.part", b"\0\0\0\x14ftypavif\0\0\0\0")):
        (folder / name).write_bytes(text)
    return folder


def create(*words, **more):
    return foldfs.run(foldfs.FOLDPACK, "create", *words, **more)


def test_all_damaged_files_are_named_at_the_end_and_there_is_no_pack(mixed, tmp_path):
    pack, bad = tmp_path / "x.lmdb", tmp_path / "bad"
    done = create("-q", f"--bad-list={bad}", mixed, pack, status=1)
    lines = done.err.splitlines()
    assert lines[:20] == [f"foldpack: {mixed}/{number:02} bad.jpg: {text}" for number, text in
                          ((n, line.split("\t")[2]) for n, line in
                           enumerate(bad.read_text().splitlines()[:20]))]
    assert lines[20:] == [f"foldpack: {pack}: not made, as 30 inputs are damaged; --on-bad=skip "
                          "leaves such files out, --on-bad=keep packs them"]
    assert len(bad.read_text().splitlines()) == 30
    assert not list(tmp_path.glob("x.lmdb*"))
    assert create("-q", mixed, pack, status=1).err.endswith(", --bad-list=FILE lists them\n")


def test_of_a_tar_too_and_what_is_large_is_passed_over(mixed, tmp_path):
    with open(mixed / "large.bin", "wb") as large:
        large.truncate(65 << 20)
    foldfs.run("tar", "-cf", tmp_path / "x.tar", "-C", mixed, "--sort=name", ".")
    done = create("-q", tmp_path / "x.tar", tmp_path / "x.lmdb", status=1)
    assert "as 30 inputs are damaged" in done.err
    assert not list(tmp_path.glob("x.lmdb*"))


def test_a_run_that_failed_is_gone_on_with_where_damage_is_left_out(mixed, tmp_path):
    pack, whole = tmp_path / "x.lmdb", tmp_path / "whole.lmdb"
    for number in range(70):
        (mixed / f"-{number}.bin").write_bytes(bytes([number]) * (1 << 20))
    err = create(mixed, pack, status=1).err
    assert "--resume continues after" in err and not pack.exists()
    assert "resuming after" in create("--resume", "--on-bad=skip", mixed, pack, status=4).err
    create("--on-bad=skip", mixed, whole, status=4)
    assert pack.read_bytes() == whole.read_bytes()


def test_a_text_that_begins_as_an_image_does_is_packed_and_said(tmp_path):
    source = tmp_path / "texts"
    source.mkdir()
    for number, begin in enumerate(["GIF89a", "GIF87a", "BM", "P6", "RIFF", "II*", "MM"]):
        (source / f"README{number}").write_text(f"{begin} is how some files begin.\n" * 9)
    assert "packed anyway" in create(source, tmp_path / "x.lmdb").err


def test_what_only_its_name_calls_an_image_is_packed_and_said(mixed, tmp_path):
    for path in mixed.glob("* bad.jpg"):
        path.unlink()
    pack, bad = tmp_path / "x.lmdb", tmp_path / "bad"
    assert create("-q", mixed, pack).err == ""
    for name in ("a.jpg", "b.png", "._c.jpg"):
        (mixed / name).write_bytes(b"" if name == "b.png" else b"words")
    done = create("--force", f"--bad-list={bad}", mixed, pack)
    assert (f"foldpack: {mixed}: 3 files have the name of an image but not the header of one, such "
            "as ._c.jpg (holds no image); packed anyway; --check=header refuses such files"
            ) in done.err
    assert [line.split("\t")[1] for line in bad.read_text().splitlines()] == [
        "not-an-image", "not-an-image", "empty"]
    options = foldfs.info(pack)["options"]
    assert "check" not in options
    assert "as 3 inputs are damaged" in create("-q", "--force", "--check=header", mixed, pack,
                                               status=1).err
    create("-q", "--force", "--check=off", mixed, pack)
    options = foldfs.info(pack)["options"]
    assert options == "check=off\n"


@foldfs.has_photos
def test_photographs_are_good_until_their_end_is_gone(tmp_path):
    """PIL refuses nearly all of them when the end-of-image marker is missing."""
    cut = tmp_path / "cut"
    cut.mkdir()
    for number, path in enumerate(sorted(foldfs.PHOTOS.glob("*/*"))[:40]):
        data = path.read_bytes()
        (cut / f"{number}.jpg").write_bytes(data[:-2])
        (cut / f"{number} half.jpg").write_bytes(data[:len(data) // 2])
    assert Made(foldfs.PHOTOS, tmp_path, "decode", status=0).found == {}
    found = Made(cut, tmp_path, "header", status=4).found
    assert all(found[f"{number}.jpg"] == "no-eoi" for number in range(40))
    assert all(found[f"{number} half.jpg"] == "truncated" for number in range(40))
