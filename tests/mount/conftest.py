"""Fixtures of the mount tests: a folder for each test, mounts that never outlive it, and a net
under all that: at the end of the session nothing may be mounted below its folder. Sessions side by
side do not see each other's mounts."""

import contextlib
import os
import shutil
import signal
import stat
import subprocess
import tempfile
from pathlib import Path

import pytest

import foldfs
import foreign
import oracle
import trees
from gate import Gate


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: of `make soak`, not of `make check`")
    config.addinivalue_line("markers", "plain: of the plain build; others of the sanitized one")
    config.addinivalue_line("markers", "alone: what else the machine does may change its verdict")
    foldfs.become_subreaper()
    config.alone_with_mounts = os.geteuid() == 0 and foldfs.leave_mounts_of_others()
    # A shell lets what it starts in the background ignore these, nohup the last one, and so would
    # all daemons here.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    # So that fixtures end what they began, whoever ends the tests.
    signal.signal(signal.SIGTERM, lambda *_: pytest.exit("terminated", 1))


def remove(folder):
    """Also what its owner may not write to."""
    shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        subprocess.run(["chmod", "-R", "u+rwX", folder], check=False)
        shutil.rmtree(folder, ignore_errors=True)


def spread(path):
    """Each folder made in it has a part of the disk to itself. ext4 without a journal passes over
    every inode of a part that was freed within minutes, for each file that is made there."""
    if foldfs.find_program("chattr"):
        subprocess.run(["chattr", "+T", path], check=False, capture_output=True)


@pytest.fixture(scope="session", autouse=True)
def tmp_paths(tmp_path_factory):
    spread(tmp_path_factory.getbasetemp())


@pytest.fixture(scope="session")
def session_dir():
    """Everyone may enter, unlike pytest's own folders: some tests are other users."""
    path = Path(tempfile.mkdtemp(prefix="foldfs-test-"))
    path.chmod(0o755)
    spread(path)
    yield path
    left = [line.path for line in foldfs.mount_lines(path)]
    for mounted in reversed(left):
        foldfs.detach(mounted)
    remove(path)
    if left:
        foldfs.fail_for_good()
    assert not left, f"left mounted: {left}"


@pytest.fixture(scope="session", autouse=True)
def sanitizer_reports(session_dir):
    """A daemon's stderr is /dev/null: what a sanitizer has to say about it goes to files."""
    reports = session_dir / "reports"
    reports.mkdir()
    reports.chmod(0o1777)
    for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS"):
        before = os.environ.get(name)
        os.environ[name] = f"{before}:" * bool(before) + f"log_path={reports}/report"
    # What jobs load (foldfs-preload.so) comes before its library.
    os.environ["ASAN_OPTIONS"] += ":verify_asan_link_order=0"
    # A second signal ends foldfs without waiting for threads that readers keep busy.
    os.environ["TSAN_OPTIONS"] += ":report_thread_leaks=0"
    return reports


@pytest.fixture(autouse=True)
def no_sanitizer_report(sanitizer_reports):
    yield
    said = [report.read_text() for report in sanitizer_reports.iterdir()]
    for report in sanitizer_reports.iterdir():
        report.unlink()
    if said:
        foldfs.fail_for_good()
    assert not said, "\n".join(said)


@pytest.fixture(scope="module")
def fast():
    """A folder in memory, where there is enough of it: for packs that are large, and many."""
    shm = Path("/dev/shm")
    enough = shm.is_dir() and shutil.disk_usage(shm).free > 2 << 30
    with tempfile.TemporaryDirectory(prefix="foldfs-fast-", dir=shm if enough else None) as path:
        yield Path(path)


@pytest.fixture
def place(session_dir):
    """A folder of the test's own, which all users may enter and none but its owner may change."""
    path = Path(tempfile.mkdtemp(prefix="test-", dir=session_dir))
    path.chmod(0o755)
    yield path
    for line in reversed(foldfs.mount_lines(path)):
        foldfs.detach(line.path)
    remove(path)


@pytest.fixture
def point(place):
    path = place / "mnt"
    path.mkdir()
    return path


@pytest.fixture
def own_point(place):
    """A mount point of somebody who is not root."""
    path = place / "own"
    path.mkdir()
    if os.geteuid() == 0:
        os.chown(path, foldfs.SOMEBODY, foldfs.SOMEBODY)
    return path


@pytest.fixture
def home(place, monkeypatch):
    """A home of the test's own. No settings of whoever runs the tests count: no keys, no proxy."""
    for name in list(os.environ):
        if (name.startswith(("AWS_", "FOLDFS_TOKEN", "HF_", "XDG_")) or
                name.lower().endswith("_proxy")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(place))
    return place


@pytest.fixture
def src(tmp_path):
    (tmp_path / "src").mkdir()
    return tmp_path / "src"


@pytest.fixture
def mount(point):
    """mount(pack, *options, at=point, uid=None): a Mount, which ends with the test."""
    with contextlib.ExitStack() as stack:

        def start(pack, *options, at=None, uid=None):
            return stack.enter_context(foldfs.mounted(pack, at or point, *options, uid=uid))

        yield start


@pytest.fixture(scope="session")
def hostile(session_dir):
    """(folder, pack) of everything that a filesystem may hold."""
    return trees.packed(session_dir / "hostile", trees.make_hostile)


@pytest.fixture(scope="session")
def small(session_dir):
    """(folder, pack) of a few files, one of them a program."""
    return trees.packed(session_dir / "small", trees.make_small)


@pytest.fixture
def gate(small, place):
    """The small pack, behind a gate."""
    with Gate(small[1].read_bytes(), place / "gate") as gate:
        yield gate


@pytest.fixture(scope="session")
def images(session_dir):
    """(folder, pack) of an ImageFolder tree."""
    return trees.packed(session_dir / "images", trees.make_images)


@pytest.fixture(scope="session")
def bulk(session_dir):
    """(folder, pack) of 48 MiB of noise: more than the smallest pool holds."""
    return trees.packed(session_dir / "bulk", trees.make_bulk)


@pytest.fixture(scope="session")
def device_for_users(session_dir, pytestconfig):
    """/dev/fuse as nearly every system has it: open to all. Where it is not, another takes its
    place, for the tests only."""
    try:
        found = os.stat("/dev/fuse")
    except FileNotFoundError:
        foldfs.lacks("no /dev/fuse")
    if found.st_mode & 0o666 == 0o666:
        yield
        return
    if not pytestconfig.alone_with_mounts:
        foldfs.lacks(f"/dev/fuse has mode {stat.S_IMODE(found.st_mode):o}, and there is no place "
                     "to make another that others would not see")
    devices = session_dir / "devices"
    devices.mkdir()
    foldfs.run("mount", "-t", "tmpfs", "none", devices)  # /tmp may be mounted without devices
    os.mknod(devices / "fuse", stat.S_IFCHR, found.st_rdev)
    (devices / "fuse").chmod(0o666)
    foldfs.run("mount", "--bind", devices / "fuse", "/dev/fuse")
    yield
    foldfs.detach("/dev/fuse")
    foldfs.detach(devices)


@pytest.fixture
def shown(point):
    """shown(pack, *options): what a mount shows, path -> bytes."""
    def show(*words):
        with foldfs.mounted(words[0], point, *words[1:]) as mounted:
            return foreign.shown(mounted)
    return show


@pytest.fixture
def indexes(place, monkeypatch):
    """The folder of our own index files, where they do not fit beside; not in the user's home."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(place / "cache-home"))
    return place / "cache-home/foldfs/index"


@pytest.fixture
def mounted(mount, data):
    """A mount of what the module says is its `data`."""
    return mount(data.pack, *data.options)


@pytest.fixture
def start():
    """start(*words): a training job, which ends with the test."""
    with oracle.jobs() as start:
        yield start


@pytest.fixture(scope="session")
def photos_pack(session_dir):
    """The photos, packed; skips where there are none."""
    if not foldfs.PHOTOS.is_dir():
        pytest.skip(f"no photos in {foldfs.PHOTOS}")
    return foldfs.pack(foldfs.PHOTOS, session_dir / "photos.lmdb")
