"""What foldpack create --check finds, held against PIL: see damage.py."""

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


def test_each_damage_is_found_and_named_when_decoded(bad, tmp_path):
    folder, cases = bad
    made = Made(folder, tmp_path, "decode", status=4)
    assert made.found == {case.name: case.damage for case in cases}
    assert all(made.sentences.values())


def test_nothing_is_left_out_that_is_not_listed_and_what_is_usable_is_packed(bad, tmp_path):
    folder, cases = bad
    made = Made(folder, tmp_path, "decode", status=4)
    assert made.packed == {case.name for case in cases if case.usable}
    for name in set(by_name(cases)) - made.packed:
        assert name in made.said, "left out, and not said"


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


def test_files_that_are_no_images_are_left_alone(tmp_path):
    folder = tmp_path / "files"
    folder.mkdir()
    for name, data in (("labels.txt", b""), ("coco.json", b"{}"), ("notes.md", b"P6 is a book"),
                       (".DS_Store", b"\0\0\0\1Bud1"), ("jpg", b"no extension")):
        (folder / name).write_bytes(data)
    made = Made(folder, tmp_path, "decode", status=0)
    assert made.found == {}


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
