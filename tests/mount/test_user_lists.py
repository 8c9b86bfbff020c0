"""Lists that users give, as editors and programs of other systems write them: all options read them
by one rule (base/lines.h)."""

import pytest

import foldfs
import trees
from foldfs import FOLDFS, FOLDPACK, run
from formats import recordio

JPEG = b"\xff\xd8\xff"


def dressed(*items):
    """With all that is no part of an item."""
    lines = ["# a comment", "", items[0], " \t", *(f"\t{item}" for item in items[1:]), "", ""]
    return b"\xef\xbb\xbf" + "\r\n".join(lines).encode()


def undressed(*items):
    return "".join(f"{item}\n" for item in items).encode()


@pytest.fixture(params=[undressed, dressed], ids=["plain", "dressed"])
def make_list(request, place):
    def make(*items):
        path = place / "list.txt"
        path.write_bytes(request.param(*items))
        return path
    return make


@pytest.fixture
def source(place):
    for name in ("a/1.jpg", "a/2.jpg", "b/#3.jpg"):
        trees.write(place / "source" / name, JPEG + name.encode())
    return place / "source"


def records(place):
    return recordio.write(place / "x.rec", [(0, 7, JPEG + b"0"), (1, 8, JPEG + b"1")])


def shown(mounted):
    return sorted(path.decode() for path in trees.files(mounted.path))


def test_classes(place, mount, make_list):
    mounted = mount(records(place), f"--classes={make_list('./#ant', 'cat')}")
    assert shown(mounted) == ["#ant/x-00000000.JPEG", "cat/x-00000001.JPEG"]


def test_names(place, mount, make_list):
    mounted = mount(records(place), f"--names={make_list('one.jpg', 'c/two.jpg')}")
    assert shown(mounted) == ["0000/one.jpg", "c/two.jpg"]


def test_names_with_a_heading(place, mount, make_list):
    """Which gives each record the name of another."""
    mounted = mount(records(place), f"--names={make_list('path', 'c/one.jpg', 'c/two.jpg')}")
    assert f"1 names in {place}/list.txt are left over: do the others belong to these records?" \
        in mounted.said


@pytest.mark.parametrize("name", ["c/../two.jpg", f"c/{'x' * 256}", "c/" * 2048 + "two.jpg"])
def test_a_name_that_no_file_can_have_is_the_fault_of_the_list(place, make_list, name):
    listed = make_list("one.jpg", name)
    assert run(FOLDPACK, "list", f"--names={listed}", records(place), status=1).err == \
        f"foldpack: {place}/x.rec: record 1: '{name[:80]}' in {listed} is not a name that a file " \
        "can have\n"


def test_patterns(place, mount, source, make_list):
    foldfs.pack(source, place / "x.lmdb")
    mounted = mount(place / "x.lmdb", f"--select=@{make_list('1.jpg', './#3.jpg')}")
    assert shown(mounted) == ["a/1.jpg", "b/#3.jpg"]


@pytest.mark.parametrize("pattern", ["./b/", "b/", "./b", "./b/*", "/b/#*"])
def test_a_pattern_as_shells_complete_it(place, mount, source, pattern):
    """The same for all options."""
    foldfs.pack(source, place / "x.lmdb")
    assert shown(mount(place / "x.lmdb", f"--select={pattern}")) == ["b/#3.jpg"]
    run(FOLDPACK, "create", f"--exclude={pattern}", source, place / "y.lmdb")
    assert run(FOLDPACK, "list", place / "y.lmdb").out.splitlines()[-2:] == ["a/1.jpg", "a/2.jpg"]


def test_packs(place, mount, source, make_list):
    foldfs.pack(source / "a", place / "a.lmdb")
    foldfs.pack(source / "b", place / "#b.lmdb")
    mounted = mount(f"@{make_list('a.lmdb', './#b.lmdb')}")
    assert shown(mounted) == ["#3.jpg", "1.jpg", "2.jpg"]


def test_the_order_of_a_pack(place, source, make_list):
    listed = make_list("b/#3.jpg", "a/2.jpg", "a/1.jpg")
    run(FOLDPACK, "create", "-q", f"--order=list:{listed}", source, place / "x.lmdb")


def test_the_order_of_a_mount(place, mount, source, make_list):
    foldfs.pack(source, place / "x.lmdb")
    listed = make_list("b/#3.jpg", "a/2.jpg")
    assert "2 files" in run(foldfs.FOLDSTAT, f"--order={listed}",
                            mount(place / "x.lmdb", f"--order={listed}").path).out


@pytest.mark.parametrize("option", ["--classes=", "--names=", "--select=@", "@"])
def test_a_list_in_utf_16_is_refused(place, option):
    (place / "list.txt").write_bytes("cat\ndog\n".encode("utf-16"))
    words = [option + str(place / "list.txt")]
    said = run(FOLDFS, *words, *[records(place)] * (option != "@"), place, status=None).err
    assert "list.txt" in said and "is a list in UTF-16; save it as UTF-8" in said
