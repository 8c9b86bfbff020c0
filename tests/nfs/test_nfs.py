"""A pack on a real NFS: the kernel's server and client, of one machine (guest.sh). What a server
does that restarts, or withdraws an export, is what it does here."""

import contextlib
import errno
import os
import random
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import foldfs
import trees
from foldfs import FOLDPACK, MIB, run, wait_until

VERSIONS = ["4.2", "3"]
ANSWERS_SOON = "timeo=10,retrans=2"  # a soft mount fails after some seconds


class Data:
    """More than the smallest pool holds, packed."""

    def __init__(self, folder):
        self.folder = folder
        for number in range(96):
            noise = trees.noise(number, number * MIB // 192)
            trees.write(folder / f"c{number % 8}/{number}", noise)
        self.pack = foldfs.pack(folder, folder.with_suffix(".lmdb"))
        self.right = trees.content(folder)
        self.name = "c7/95"

    def wrong(self, mounted, seed):
        """Reads all files, shuffled; those that are not right."""
        order = sorted(trees.files(self.folder))
        random.Random(seed).shuffle(order)
        return [path for path in order
                if trees.digest(os.path.join(os.fsencode(mounted), path)) != self.right[path][1]]

    def is_read(self, mounted):
        """As soon as reads succeed again."""
        with contextlib.suppress(OSError):
            return self.wrong(mounted, 0) == []


@pytest.fixture(scope="module")
def data(session_dir):
    return Data(session_dir / "data")


class Server:
    """Exports `folder`; begins and ends as an administrator has it."""

    def __init__(self, folder):
        self.folder = folder
        self.mounts = []

    def start(self):
        run("rpc.nfsd", "--grace-time", "10", "--lease-time", "10", "4")

    def stop(self):
        run("rpc.nfsd", "0")

    def grant(self):
        run("exportfs", "-o", "rw,no_root_squash,no_subtree_check,fsid=1", f"*:{self.folder}")

    def withdraw(self, others):
        """With no other exports, clients are refused (EACCES); otherwise the file is (ESTALE)."""
        if others:
            run("exportfs", "-o", "ro,no_subtree_check,fsid=2", "*:/usr")
        run("exportfs", "-u", f"*:{self.folder}")
        run("exportfs", "-f")

    def mount(self, point, version, options):
        point.mkdir()
        run("mount", "-t", "nfs", "-o", f"vers={version},{options}",
            f"127.0.0.1:{self.folder}", point)
        self.mounts.append(point)
        return point

    def close(self):
        self.grant()
        self.start()
        for point in self.mounts:
            run("umount", "-f", "-l", point)
        run("exportfs", "-ua")
        self.stop()


@pytest.fixture
def server(place):
    """Not below /tmp, which is memory."""
    folder = Path("/srv") / place.name
    folder.mkdir()
    server = Server(folder)
    server.grant()
    server.start()
    yield server
    server.close()


@pytest.fixture(params=VERSIONS)
def version(request):
    return request.param


@pytest.fixture
def far(server, data, place, version, request):
    """A pack on NFS: hard, or as the test says."""
    run("cp", data.pack, server.folder / "x.lmdb")
    options = getattr(request, "param", "hard")
    return server.mount(place / "nfs", version, options) / "x.lmdb"


def forget():
    """What the kernel has of files."""
    run("sh", "-c", "echo 3 >/proc/sys/vm/drop_caches")


def read_error(path):
    with pytest.raises(OSError) as raised:
        path.read_bytes()
    return raised.value.errno


@pytest.mark.parametrize("far", ["hard", "soft"], indirect=True)
@pytest.mark.parametrize("io", ["direct", "buffered"])
def test_epochs_are_right(far, data, mount, io):
    mounted = mount(far, "--pool=16M", f"--io={io}")
    for seed in range(2):
        forget()
        assert data.wrong(mounted, seed) == []


@pytest.mark.parametrize("far", ["hard", f"soft,{ANSWERS_SOON}"], indirect=True)
def test_a_server_that_restarts_is_not_noticed(far, server, data, mount):
    mounted = mount(far, "--pool=16M")
    with ThreadPoolExecutor(4) as pool:
        reading = [pool.submit(data.wrong, mounted, seed) for seed in range(4)]
        for _ in range(2):
            server.stop()
            forget()
            wait_until(lambda: mounted.stats()["wait"]["parked"] or all(r.done() for r in reading))
            server.start()
        assert [one.result() for one in reading] == [[]] * 4


def test_a_dead_server_is_waited_for_and_the_rest_is_answered(far, server, data, mount):
    mounted = mount(far, "-f", "--pool=16M", "--readahead=0")
    server.stop()
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit((mounted / data.name).read_bytes)
        foldfs.wait_for_line(mounted.process.stderr, b"storage does not answer")
        assert (mounted / data.name).stat().st_size and len(list(mounted.path.iterdir())) == 8
        assert mounted.stats()["wait"]["parked"] >= 1
        server.start()
        assert reading.result() == (data.folder / data.name).read_bytes()


def test_a_dead_server_is_given_up_where_that_is_wanted(far, server, data, mount):
    mounted = mount(far, "--pool=16M", "--readahead=0", "--io-timeout=2")
    server.stop()
    assert read_error(mounted / data.name) == errno.EIO
    server.start()
    wait_until(lambda: data.is_read(mounted))


@pytest.mark.parametrize("far", [f"soft,{ANSWERS_SOON}"], indirect=True)
def test_a_soft_mount_fails_once_patience_ends(far, server, data, mount):
    mounted = mount(far, "-f", "--pool=16M", "--readahead=0", "--retry=3")
    server.stop()
    assert read_error(mounted / data.name) == errno.EIO
    server.start()
    wait_until(lambda: data.is_read(mounted))
    assert not mounted.stats()["changed"]


@pytest.mark.parametrize("others", [False, True])
def test_an_export_that_comes_back_in_time_is_read_on(far, server, data, mount, others):
    mounted = mount(far, "-f", "--pool=16M", "--readahead=0")
    server.withdraw(others)
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit((mounted / data.name).read_bytes)
        foldfs.wait_for_line(mounted.process.stderr, b"; reads are repeated")
        server.grant()
        assert reading.result() == (data.folder / data.name).read_bytes()
    assert data.wrong(mounted, 0) == []


@pytest.mark.parametrize("others", [False, True])
def test_an_export_that_is_gone_is_an_error_until_it_is_back(far, server, data, mount, others):
    mounted = mount(far, "-f", "--pool=16M", "--readahead=0", "--retry=2")
    server.withdraw(others)
    assert read_error(mounted / data.name) == errno.EIO
    assert (mounted / data.name).stat().st_size
    server.grant()
    wait_until(lambda: data.is_read(mounted))
    assert not mounted.stats()["changed"]


def test_a_pack_that_another_machine_replaced_is_never_mixed(far, server, data, small, mount):
    mounted = mount(far, "-f", "--pool=16M", "--readahead=0", "--retry=2")
    run("cp", small[1], server.folder / "new")
    os.replace(server.folder / "new", server.folder / "x.lmdb")
    server.stop()
    server.start()
    forget()
    try:
        assert (mounted / data.name).read_bytes() == (data.folder / data.name).read_bytes()
    except OSError as error:
        assert error.errno == errno.EIO


def test_a_disk_cache_on_it_is_refused(far, data, place):
    (far.parent / "cache").mkdir()
    said = run(foldfs.FOLDFS, f"--cache-dir={far.parent / 'cache'}", far, place, status=1).err
    assert "the disk cache must be on a local disk" in said


def test_a_copy_is_read_while_the_server_is_dead(far, server, data, mount, place):
    option = f"--cache-dir={place / 'cache'}"
    run(FOLDPACK, "fetch", "-q", option, far)
    mounted = mount(far, "--pool=16M", option)
    server.stop()
    assert data.wrong(mounted, 0) == []
    server.start()  # for NFS 4 the daemon, which closes the pack, waits for it


def test_packing_goes_on_once_the_server_is_back(far, server, data):
    made = far.parent / "made.lmdb"
    server.stop()
    with subprocess.Popen([FOLDPACK, "create", "-q", data.folder, made]) as packing:
        with pytest.raises(subprocess.TimeoutExpired):
            packing.wait(3)
        server.start()
    assert packing.returncode == 0 and made.read_bytes() == data.pack.read_bytes()


def test_packs_are_made_and_verified_there(far, data, place):
    made = far.parent / "made.lmdb"
    run(FOLDPACK, "create", "-q", data.folder, made)
    run(FOLDPACK, "verify", "-q", made)
    assert made.read_bytes() == data.pack.read_bytes()
    run(FOLDPACK, "extract", "-q", made, far.parent / "out")
    assert trees.content(far.parent / "out") == data.right
    assert sorted(os.listdir(far.parent)) == ["made.lmdb", "out", "x.lmdb"]


def test_the_index_of_an_archive_is_kept_there(far, data, mount, place):
    run("tar", "-C", data.folder, "-cf", far.parent / "x.tar", ".")
    for number in range(2):
        (place / f"mnt{number}").mkdir()
        assert trees.content(mount(far.parent / "x.tar", at=place / f"mnt{number}")) == data.right
    assert sorted(os.listdir(far.parent)) == [".x.tar.foldfs-index", "x.lmdb", "x.tar"]
