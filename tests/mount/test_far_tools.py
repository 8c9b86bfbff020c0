"""What the commands of foldpack ask a server for: neighbours come by one request, whichever command
reads them, and what comes of them is the same as of a file here."""

import filecmp
import os
import re
import signal
import subprocess
import threading

import pytest

import answers
import foldfs
import pictures
import trees
from foldfs import FOLDPACK, PATIENCE, run

pytest_plugins = ["server"]
pytestmark = pytest.mark.usefixtures("indexes")

FILES = 300
MOST = 14  # requests: two of 256 files each, and what opening takes

COMMANDS = {
    "verify": ["verify", "PACK"],
    "extract": ["extract", "PACK", "OUT/x"],
    "create": ["create", "PACK", "OUT/x.lmdb"],
    "create-resized": ["create", "--resize=20", "PACK", "OUT/x.lmdb"],
    "export-lmdb": ["export", "--format=lmdb", "PACK", "OUT/x"],
    "export-tfrecord": ["export", "--format=tfrecord", "PACK", "OUT/x"],
    "export-webdataset": ["export", "--format=webdataset", "PACK", "OUT/x"],
    "report": ["report", "PACK", "-o", "OUT/x.html"],
}


@pytest.fixture(scope="module")
def photos(session_dir):
    """Of three classes, some 20 KB each."""
    folder = session_dir / "far_tools"
    for number in range(FILES):
        photo = pictures.jpeg(pictures.noise((48, 40), seed=number))
        trees.write(folder / f"c{number % 3}" / f"{number:03}.jpg",
                    photo + trees.noise(number, 18_000))
    return folder


@pytest.fixture(scope="module")
def packed(photos, session_dir):
    return foldfs.pack(photos, session_dir / "far_tools.lmdb")


def run_in(out, words, pack, **options):
    names = {"PACK": os.fspath(pack), "OUT": os.fspath(out)}
    out.mkdir()
    return run(FOLDPACK, *(re.sub("PACK|OUT", lambda name: names[name[0]], word)
                           for word in words), **options)


def same(one, other):
    comparison = filecmp.dircmp(one, other)
    return not (comparison.left_only or comparison.right_only or comparison.diff_files) and \
        all(same(one / name, other / name) for name in comparison.common_dirs)


@pytest.fixture(scope="module")
def tar(photos, session_dir):
    run("tar", "-cf", session_dir / "far_tools.tar", "--sort=name", "-C", photos, "c0", "c1", "c2")
    return session_dir / "far_tools.tar"


@pytest.mark.parametrize("name, kind", [
    *((name, "packed") for name in COMMANDS),
    *((name, "tar") for name in ("extract", "create", "export-lmdb"))])
def test_neighbours_come_by_one_request(request, place, web, name, kind):
    """A tar is looked through first, by as few requests."""
    source = request.getfixturevalue(kind)
    os.link(source, web.folder / source.name)
    run_in(place / "here", COMMANDS[name], source)
    run_in(place / "far", COMMANDS[name], web.url(source.name))
    assert len(web.asked()) <= MOST * (1 + (kind == "tar"))
    assert same(place / "here", place / "far")


def test_of_a_set_each_pack_is_asked_by_itself(photos, place, web):
    run(FOLDPACK, "create", "-q", "--shard-size=2M", photos, web.folder / "x.lmdb")
    shards = sorted(path.name for path in web.folder.iterdir())
    assert len(shards) == 4
    run(FOLDPACK, "create", "-q", web.url("x-{00000..00003}-of-00004.lmdb"), place / "x.lmdb")
    assert len(web.asked()) <= MOST * len(shards)
    run(FOLDPACK, "diff", photos, place / "x.lmdb")


def test_in_another_order_files_are_asked_for_one_by_one(packed, place, web):
    """But many at once, and nothing is asked for twice."""
    os.link(packed, web.folder / packed.name)
    words = ["export", "--format=webdataset", "--order=shuffle:1", "PACK", "OUT/x"]
    run_in(place / "here", words, packed)
    run_in(place / "far", words, web.url(packed.name))
    assert len(web.asked()) <= FILES + MOST
    assert same(place / "here", place / "far")


@pytest.mark.parametrize("name", ["create", "export-webdataset", "report", "extract"])
def test_a_file_that_is_damaged_there_is_named_alone(packed, place, web, name):
    data = bytearray(packed.read_bytes())
    victim = data.find(trees.noise(7, 18_000))
    data[victim + 100] ^= 1
    (web.folder / "bad.lmdb").write_bytes(data)
    words = COMMANDS[name][:1] + ["--on-bad=skip"] * (name == "create") + COMMANDS[name][1:]
    done = run_in(place / "far", words, web.url("bad.lmdb"), status=4 if name == "create" else 3)
    if name != "report":
        assert "c1/007.jpg: damaged in the pack: checksum mismatch" in done.err
    if name == "create":
        listed = run(FOLDPACK, "list", place / "far/x.lmdb").out.split()
        assert len(listed) == FILES - 1 and "c1/007.jpg" not in listed


class Hanging(answers.Handler):
    """Answers what opening asks for, and none that asks for a megabyte."""

    def do_GET(self):
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers["Range"])
        data, hangs, ended = self.given
        if asked and int(asked[2]) - int(asked[1]) > foldfs.MIB:
            hangs.set()
            ended.wait(PATIENCE)
            return
        self.answer_range(data)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["create", "export-webdataset", "report"])
def test_a_signal_ends_it_while_the_server_hangs(packed, place, name):
    hangs, ended = threading.Event(), threading.Event()
    with answers.serve(Hanging, (packed.read_bytes(), hangs, ended)) as url:
        (place / "out").mkdir()
        words = [re.sub("PACK|OUT", lambda found: {"PACK": f"{url}/x.lmdb",
                                                   "OUT": f"{place}/out"}[found[0]], word)
                 for word in COMMANDS[name]]
        process = subprocess.Popen([FOLDPACK, *words], stderr=subprocess.PIPE, text=True)
        assert hangs.wait(PATIENCE)
        process.send_signal(signal.SIGINT)
        err = process.communicate(timeout=PATIENCE)[1]
        ended.set()
    assert process.returncode == -signal.SIGINT, err
    assert "interrupted" in err and os.listdir(place / "out") == []


# --- a file that must be read to know what is in it -----------------------------------------------


OPENING = 2 * foldfs.MIB


def test_a_tar_on_a_server_is_read_once(place, web, photos, tar):
    os.link(tar, web.folder / tar.name)
    run(FOLDPACK, "create", "-q", web.url(tar.name), place / "x.lmdb")
    assert web.sent() <= tar.stat().st_size + OPENING
    run(FOLDPACK, "diff", photos, place / "x.lmdb")


def test_so_are_records(place, web, packed):
    run(FOLDPACK, "export", "-q", "--format=tfrecord", packed, web.folder / "x.tfrecord")
    name = "x.tfrecord-00000-of-00001"
    run(FOLDPACK, "create", "-q", web.url(name), place / "far.lmdb")
    assert web.sent() <= (web.folder / name).stat().st_size + OPENING
    run(FOLDPACK, "create", "-q", web.folder / name, place / "here.lmdb")
    assert filecmp.cmp(place / "here.lmdb", place / "far.lmdb", shallow=False)


class Refusing(answers.Handler):
    """What begins behind 4 MiB."""

    def do_GET(self):
        if re.match(r"bytes=4194304-", self.headers["Range"]):
            self.send_error(403)
        else:
            self.answer_range(self.given)


def test_nothing_is_left_of_one_that_the_server_does_not_give(place, tar):
    (place / "out").mkdir()
    with answers.serve(Refusing, tar.read_bytes()) as url:
        err = run(FOLDPACK, "create", f"{url}/x.tar", place / "out/x.lmdb", status=1).err
    assert "x.tar: copying it into the folder of " in err and "403" in err
    assert os.listdir(place / "out") == []


def test_where_there_is_no_room_for_both_it_is_read_where_it_is(web, photos, tar, place):
    os.link(tar, web.folder / tar.name)
    with foldfs.small_filesystem(place / "small", 9) as small:
        run(FOLDPACK, "create", "-q", web.url(tar.name), small / "x.lmdb")
        run(FOLDPACK, "diff", photos, small / "x.lmdb")
        assert web.sent() > 1.8 * tar.stat().st_size


def test_what_is_left_out_of_it_is_not_copied(web, place, photos):
    """Tar headers are far apart where files are large, and only they are read."""
    big = web.folder / "big"
    for name in "abc":
        trees.write(big / name / "x.jpg", trees.noise(ord(name), 5 * foldfs.MIB))
    run("tar", "-cf", web.folder / "big.tar", "-C", big, "a", "b", "c")
    run(FOLDPACK, "create", "-q", "--include=b/**", web.url("big.tar"), place / "x.lmdb")
    assert web.sent() < 1.5 * 5 * foldfs.MIB
    assert run(FOLDPACK, "list", place / "x.lmdb").out.split() == ["b/x.jpg"]
