"""Loose objects of a bucket that are mounted as they are."""

import errno
import hashlib
import json
import os
import re
import shutil
import tarfile
import time

import pytest

import foldfs
import trees
from bucket import Bucket
from foldfs import FOLDFS, FOLDPACK, FOLDSTAT, doctor, is_root, needs, run

pytestmark = needs("nginx")
PREFIX = "s3://b/train/"


class Loose:
    """A bucket with objects below train/, which `folder` has as files."""

    def __init__(self, place):
        self.folder = place / "www/b/train"
        for number in range(40):
            trees.write(self.folder / "abcd"[number % 4] / f"{number:02}",
                        trees.noise(number, number * 977))
        self.server = Bucket(place / "www", place / "server", page=7)
        self.list()
        self.options = "--anonymous", f"--endpoint={self.server.url('').rstrip('/')}"

    def restart(self, **faults):
        self.server.stop()
        self.server.set_faults(**faults)
        self.list()

    def list(self, *odd, tags=None):
        """As it is then, and with these lines; `tags`: ETags of some keys."""
        names = self.server.place / "names"
        self.server.stop()
        self.server.list("b", tags)
        names.write_text("".join(sorted([*names.read_text().splitlines(True), *odd])))
        self.server.start()


@pytest.fixture
def loose(place, home):
    loose = Loose(place)
    yield loose
    loose.server.stop()


def test_it_is_the_folder(loose, mount):
    mounted = mount(PREFIX, *loose.options)
    assert trees.content(mounted) == trees.content(loose.folder)
    listed = len(loose.server.asked()) - 39
    assert f"40 files, listed just now by {listed} requests; '--relist' lists" in mounted.said
    assert mounted.stats()["far"]["listed"] == listed > 5
    assert f"listing     {listed} requests (under $0.01 at $5.00 a million)" in \
        run(FOLDSTAT, mounted).out
    for path in ("a/04", "d/39"):
        assert int(os.stat(mounted / path).st_mtime) == int((loose.folder / path).stat().st_mtime)


def test_without_a_mount(loose, point):
    run(FOLDFS, "--no-fuse", *loose.options, PREFIX, point, "--", "diff", "-r", loose.folder,
        point)


def test_a_bucket_is_a_prefix_too(loose, mount):
    mounted = mount("s3://b/", *loose.options)
    assert trees.content(mounted) == trees.content(loose.folder.parent)


@pytest.mark.parametrize("fault", [
    {"body": "if n > 3 and n % 7 == 0 and range then return ngx.ERROR end"},
    {"access": "if ngx.var.http_if_match then return ngx.exit(501) end"},
], ids=["cut", "no condition"])
def test_what_passes_is_not_noticed(loose, mount, fault):
    loose.restart(**fault)
    mounted = mount(PREFIX, *loose.options)
    assert trees.content(mounted) == trees.content(loose.folder)
    assert mounted.stats()["device"]["errors"] == 0


@is_root
@needs("mount.fuse3", "unshare")
def test_mount_8_mounts_a_prefix(loose, place, point):
    """As test_options.py has it of a pack."""
    (place / "bin").mkdir()
    (place / "bin/foldfs").symlink_to(FOLDFS)
    script = """set -e
        mount --bind "$1" /usr/local/bin
        mount -t fuse.foldfs s3://b/train/ "$2" -o "ro,_netdev,anonymous,endpoint=$3"
        diff -r "$4" "$2"
        umount "$2"
    """
    before = foldfs.children(os.getpid()).keys()
    run("unshare", "--mount", "sh", "-c", script, "sh", place / "bin", point,
        loose.server.url("").rstrip("/"), loose.folder)
    [daemon] = foldfs.children(os.getpid()).keys() - before
    assert foldfs.wait_for(daemon) == 0


@pytest.mark.slow
def test_what_a_server_holds_up_comes_later(loose, mount):
    """A page of the listing, and an object: less than 4 KiB/s for 10 s."""
    loose.restart(access='if n == 2 or (range and not ngx.shared.counts:get("held")) then '
                         'if range then ngx.shared.counts:set("held", 1) end ngx.sleep(60) end')
    mounted = mount(PREFIX, *loose.options)
    assert trees.content(mounted) == trees.content(loose.folder)
    stats = mounted.stats()
    assert stats["device"]["errors"] == 0 and stats["far"]["retries"] == 1


@pytest.mark.slow
def test_a_long_listing_says_how_far_it_is(loose, mount):
    loose.server.page = 100
    loose.restart(access='if ngx.var["arg_list-type"] then ngx.sleep(0.4) end')
    loose.list(*(f'many/{number}\t1\t2020-01-01T00:00:00.000Z\t"x"\n' for number in range(3000)))
    said = mount("s3://b/many/", *loose.options).said
    assert re.search(r"looking for its files, which is done once: (2048|3072) so far", said)
    assert "3,000 files, listed just now by 3" in said


def test_the_listing_is_kept(loose, point):
    with foldfs.mounted(PREFIX, point, *loose.options):
        pass
    trees.write(loose.folder / "e/new", b"new")
    loose.list()
    loose.server.forget()
    with foldfs.mounted(PREFIX, point, *loose.options) as mount:
        assert not (mount / "e").exists()
    assert loose.server.asked() == []
    with foldfs.mounted(PREFIX, point, *loose.options, "--relist") as mount:
        assert trees.content(mount) == trees.content(loose.folder)


def test_a_disk_cache_keeps_the_listing_alone(loose, place, mount):
    (place / "cache").mkdir()
    mounted = mount(PREFIX, f"--cache-dir={place}/cache", *loose.options)
    assert "'--cache-dir' keeps the listing alone" in mounted.said
    assert trees.content(mounted) == trees.content(loose.folder)


def test_an_object_that_changed_is_an_error_that_names_it(loose, mount):
    mounted = mount(PREFIX, "-f", "--retry=1", *loose.options)
    (loose.folder / "a/04").write_bytes(b"other bytes")
    (loose.folder / "c/10").write_bytes(b"")
    (loose.folder / "b/05").unlink()
    for path in ("a/04", "c/10", "b/05"):
        with pytest.raises(OSError) as failure:
            (mounted / path).read_bytes()
        assert failure.value.errno in (errno.EIO, errno.ENOENT)
    assert (mounted / "c/06").read_bytes() == (loose.folder / "c/06").read_bytes()
    mounted.close()
    said = mounted.log()
    for path in ("a/04", "c/10"):
        assert f"'{path}' at 0: it has changed since it was listed; '--relist'" in said
    assert re.search(r"'b/05' at 0: it is gone since it was listed; '--relist'", said)


def test_names_that_are_no_paths_are_counted_and_named(loose, mount):
    odd = ["train/", "train/a//x", "train/../up", "train/dir/", "train/c", "train/.."]
    lines = [f'{name}\t{5 * (not name.endswith("/"))}\t2020-01-01T00:00:00.000Z\t"x"\n'
             for name in odd]
    loose.list(*lines)
    said = mount(PREFIX, *loose.options, "--relist").said
    assert "left out, as no file can have their names: 13, such as" in said


def test_names_over_255_bytes_are_counted_and_named(loose, mount, place):
    loose.list(*(f'train/{name}\t5\t2020-01-01T00:00:00.000Z\t"x"\n'
                 for name in ("n" * 256, "n" * 256 + "/a.jpg")))
    mounted = mount(PREFIX, *loose.options, "--relist")
    left_out = "left out, as no file can have their names: 2, such as"
    assert left_out in mounted.said and "too long for a file" in mounted.said
    assert trees.content(mounted) == trees.content(loose.folder)
    said = run(FOLDPACK, "create", *loose.options, PREFIX, place / "x.lmdb", status=4).err
    assert left_out in said


def test_all_names_of_files_are_mounted(loose, mount):
    """What a console cannot show, and what differs in case alone."""
    odd = [b"new\nline", b"\x01\x1b[31m control", b"\xff\xfe not UTF-8", b"Case", b"case", b"...",
           b" ", b"%41+&<b>", b"n" * 255, b"back\\slash"]
    for number, name in enumerate(odd):
        trees.write(os.fsencode(loose.folder) + b"/" + name + b"/" + name, trees.noise(number, 99))
    loose.list("train/line%0A%1B[31m//x\t1\t2020-01-01T00:00:00.000Z\t\"x\"\n")
    mounted = mount(PREFIX, *loose.options)
    assert trees.content(mounted) == trees.content(loose.folder)
    assert len(mounted.said.splitlines()) == 3 and "\x1b" not in mounted.said


def test_wildcards_in_its_name_stand_for_themselves(loose, mount):
    for name in ("a*", "a[b]?"):
        trees.write(loose.folder / name / "x", name.encode())
        loose.list()
        mounted = mount(f"{PREFIX}{name}/", *loose.options)
        assert trees.content(mounted) == trees.content(loose.folder / name)
        mounted.close()


def test_a_prefix_of_nothing_is_refused(loose, point):
    done = run(FOLDFS, *loose.options, "s3://b/none/", point, status=1)
    assert "s3://b/none/: no object's name begins with it" in done.err


@pytest.mark.parametrize("command", [[FOLDFS, "s3://b/train", "{place}/at"],
                                     [FOLDPACK, "verify", "s3://b/train"],
                                     [FOLDPACK, "create", "s3://b/train", "{place}/x.lmdb"]])
def test_without_its_slash_it_is_no_folder(loose, place, command):
    loose.restart(access="if ngx.var.uri == '/b/train' then return ngx.exit(404) end")
    words = [str(word).format(place=place) for word in command]
    assert "a folder of objects ends with a '/'" in run(*words, *loose.options, status=1).err
    assert not (place / "x.lmdb").exists()


def test_foldstat_counts_the_requests_of_an_epoch(loose, mount):
    """One of each object of up to 1 MiB."""
    trees.write(loose.folder / "large", trees.noise(99, (4 << 20) + 1))
    loose.list()
    mounted = mount(PREFIX, *loose.options)
    loose.server.forget()
    before = mounted.stats()["far"]["requests"]
    assert trees.content(mounted) == trees.content(loose.folder)
    asked = len(loose.server.asked())
    assert mounted.stats()["far"]["requests"] - before == asked == 39 + 5


def test_the_doctor_tells_what_an_epoch_costs(loose, monkeypatch):
    trees.write(loose.folder / "large", trees.noise(99, (4 << 20) + 1))
    loose.list()
    monkeypatch.setenv("AWS_ENDPOINT_URL", loose.server.url("").rstrip("/"))
    loose.server.forget()
    found = json.loads(doctor(PREFIX, "--json").out)
    assert not any("/b/train/" in path for _, path, *_ in loose.server.asked())
    assert found["measured"]["objects"] == 41
    assert found["measured"]["requests"] == 39 + 5 and found["measured"]["pack_requests"] == 2
    said = doctor(PREFIX).out.replace("\n", " ")
    assert "an epoch takes 44 requests" in said and "under $0.01 at $0.40 a million" in said
    assert "listing takes about 1 request:" in said and "under $0.01 at $5.00 a million" in said
    assert "a folder of objects ends with a '/'" in doctor(PREFIX[:-1], status=1).err
    assert "no object's name begins with it" in doctor("s3://b/none/", status=1).err


def test_commands_read_it(loose, place):
    done = run(FOLDPACK, "list", *loose.options, PREFIX)
    assert len(done.out.splitlines()) == 40
    assert run(FOLDPACK, "cat", *loose.options, PREFIX, "d/39").stdout == \
        (loose.folder / "d/39").read_bytes()
    run(FOLDPACK, "extract", "-q", *loose.options, PREFIX, place / "out")
    assert trees.content(place / "out") == trees.content(loose.folder)


def md5(data):
    return f'"{hashlib.md5(data).hexdigest()}"'


def test_verify_compares_what_is_an_md5(loose):
    trees.write(loose.folder / "large", trees.noise(99, 9_000_001))  # three batches
    trees.write(loose.folder / "long/part", trees.noise(98, 5_000_000))
    tags = {"large": md5((loose.folder / "large").read_bytes()),
            "a/04": md5((loose.folder / "a/04").read_bytes()).upper(),
            "b/05": md5(b"other"), "long/part": md5(b"other"), "c/06": '"0123456789abcdef-3"'}
    loose.list(tags={f"train/{path}": tag for path, tag in tags.items()})
    done = run(FOLDPACK, "verify", *loose.options, PREFIX, status=3)
    assert done.out.splitlines() == [f"{path}: etag: the bytes do not match the MD5 in the ETag"
                                     for path in ("b/05", "long/part")]
    assert "4 objects compared with the MD5 in the ETag; 37 objects with an ETag that" in done.err
    assert "2 objects have other bytes than the MD5 in the ETag is of" in done.err
    said = json.loads(run(FOLDPACK, "verify", "--json", *loose.options, PREFIX, status=3).out)
    assert (said["etags_compared"], said["etags_other"], said["bad_files"]) == (4, 37, 2)


def test_verify_says_what_a_folder_has_not(loose):
    done = run(FOLDPACK, "verify", loose.folder)
    assert "all can be read; the format has no checksums to compare with" in done.err
    assert "ETag" not in done.err


@pytest.fixture(params=["folder", "prefix"])
def source(request, loose):
    """What is mounted as it is, with the options that it takes."""
    return [loose.folder] if request.param == "folder" else [*loose.options, PREFIX]


@pytest.mark.parametrize("options", [["--select=a"], ["--order={order}"],
                                     ["-o", "ro,noatime,_netdev,x-systemd.automount,relist"]])
def test_options_of_mounts_work_on_it(loose, source, place, point, options):
    paths = [f"{'abcd'[number % 4]}/{number:02}" for number in range(40)]
    (place / "order").write_text("".join(f"{path}\n" for path in reversed(paths)))
    words = [word.format(order=place / "order") for word in options]
    with foldfs.mounted(source[-1], point, *source[:-1], *words) as mount:
        select = "a" if "--select=a" in options else ""
        assert trees.content(mount / select) == trees.content(loose.folder / select)
        assert os.listdir(mount) == ["a"] or not select


def test_it_is_exported(loose, source, place):
    for folder in "abcd":
        trees.write(loose.folder / folder / "x.jpg", trees.noise(1, 5000))
    loose.list()
    run(FOLDPACK, "export", "--format=webdataset", "--skip-others", *source, place / "out",
        status=4)
    with tarfile.open(place / "out-000000.tar") as tar:
        assert [tar.extractfile(member).read() for member in tar if member.name.endswith("jpg")] \
            == 4 * [trees.noise(1, 5000)]


def test_parts_are_of_folders_only(loose, place):
    done = run(FOLDPACK, "create", "--part=0/2", *loose.options, PREFIX, place / "x.lmdb",
               status=None)
    assert done.returncode in (1, 2) and "are for folders only" in done.err
    for part in range(2):
        run(FOLDPACK, "create", "-q", f"--part={part}/2", loose.folder, place / "x.lmdb")


def packed_files(pack):
    done = run(FOLDPACK, "info", "--json", pack)
    return re.search(r'"content[_ ]id": *"(\w+)"', done.out)[1]


@pytest.mark.parametrize("command", [["index", "-o", "{place}/x"],
                                     ["fetch", "--cache-dir={place}/cache"]])
def test_no_checksums_are_made_of_it(loose, place, command):
    words = [word.format(place=place) for word in command]
    done = run(FOLDPACK, *words, *loose.options, PREFIX, status=1)
    assert f"{PREFIX}: a prefix: what is kept of files needs checksums" in done.err


def test_its_pack_is_that_of_the_folder(loose, place):
    run(FOLDPACK, "create", "-q", *loose.options, PREFIX, place / "far.lmdb")
    run(FOLDPACK, "create", "-q", loose.folder, place / "near.lmdb")
    assert packed_files(place / "far.lmdb") == packed_files(place / "near.lmdb")
    run(FOLDPACK, "verify", place / "far.lmdb")


def test_since_packs_only_what_is_new(loose, place, point):
    run(FOLDPACK, "create", "-q", *loose.options, PREFIX, place / "old.lmdb")
    time.sleep(1.1)  # times of a bucket are seconds
    (loose.folder / "a/04").write_bytes(b"other bytes")
    trees.write(loose.folder / "e/new", b"new")
    shutil.rmtree(loose.folder / "d")
    loose.list()
    run(FOLDPACK, "create", "-q", *loose.options, f"--since={place}/old.lmdb", PREFIX,
        place / "delta.lmdb")
    assert (place / "delta.lmdb").stat().st_size < (place / "old.lmdb").stat().st_size / 4
    with foldfs.mounted(place / "delta.lmdb", point, place / "old.lmdb") as mount:
        assert trees.content(mount) == trees.content(loose.folder)
