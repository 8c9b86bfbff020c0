"""--cache-dir: what was read once comes from a local disk, whoever reads it, and whatever happens
to that disk no wrong byte is served."""

import fcntl
import os
import random
import shutil
import signal
import subprocess

import pytest

import foldfs
import trees
import xxh3
from foldfs import MIB, NOBODY, SOMEBODY, is_root, run, wait_until
from gate import Gate


@pytest.fixture
def cache(place):
    """A folder for the cache, on a filesystem with a disk if there is one."""
    path = place / "cache"
    path.mkdir()
    path.chmod(0o1777)
    return path


def option(cache, size=None):
    return f"--cache-dir={cache}" + (f",{size}" if size else "")


def copies(cache):
    """The folders of the copies."""
    return sorted(path.parent for path in cache.rglob("data"))


def disk(mount):
    return mount.stats()["disk_cache"]


def is_complete(mount):
    return lambda: disk(mount)["state"] == "complete"


def used(cache):
    return sum(path.stat().st_blocks * 512 for path in cache.rglob("*") if path.is_file())


# --- what is kept -------------------------------------------------------------------------


def test_a_pack_that_is_mounted_twice_has_one_copy(bulk, cache, place, mount):
    (place / "elsewhere").symlink_to(bulk[1])
    mounted = mount(f"one/={bulk[1]}", f"other/={place / 'elsewhere'}", option(cache),
                    "--readahead=0")
    assert trees.content(mounted / "one") == trees.content(bulk[0])
    wait_until(is_complete(mounted))
    assert len(copies(cache)) == 1
    assert disk(mounted)["size"] == bulk[1].stat().st_size
    assert disk(mounted)["cached"] <= used(cache)
    far = disk(mounted)["far_bytes"]
    assert trees.content(mounted / "other") == trees.content(bulk[0])
    assert disk(mounted)["far_bytes"] == far


# --- damage and accidents -------------------------------------------------------------------


def damage(data, seed=0, count=200):
    chosen = random.Random(seed)
    with open(data, "r+b") as file:
        size = os.fstat(file.fileno()).st_size
        for _ in range(count):
            file.seek(chosen.randrange(size // 4096) * 4096)
            file.write(chosen.randbytes(4096))


def lose_half(data):
    """As a power failure does."""
    size = os.stat(data).st_size
    os.truncate(data, size // 2 + 1000)
    os.truncate(data, size)


@pytest.mark.parametrize("harm", [damage, lose_half])
def test_damage_is_fetched_again_and_never_served(bulk, cache, point, harm):
    fetch(cache, bulk[1])
    (copy,) = copies(cache)
    harm(copy / "data")
    for again in range(2):
        with foldfs.mounted(bulk[1], point, option(cache)) as mounted:
            assert trees.content(mounted) == trees.content(bulk[0])
            assert (disk(mounted)["damaged"] > 0) != again
            assert mounted.stats()["bad_files"] == 0


@pytest.mark.parametrize("harm", [lambda copy: os.truncate(copy / "data", 0), shutil.rmtree],
                         ids=["cut off", "removed"])
def test_a_copy_that_is_lost_under_a_mount_does_no_harm(bulk, cache, point, harm):
    fetch(cache, bulk[1])
    for again in range(2):
        with foldfs.mounted(bulk[1], point, option(cache)) as mounted:
            os.listdir(mounted)
            if not again:
                harm(*copies(cache))
            assert trees.content(mounted) == trees.content(bulk[0])


@is_root
def test_nothing_is_kept_where_holes_are_not_told(bulk, place, point):
    """ramfs calls all of a file data."""
    path = place / "ramfs"
    path.mkdir()
    if run("mount", "-t", "ramfs", "none", path, status=None).returncode:
        pytest.skip("no ramfs")
    try:
        with foldfs.mounted(bulk[1], point, option(path)) as mounted:
            assert trees.content(mounted) == trees.content(bulk[0])
            assert disk(mounted)["state"] == "off"
            assert "which parts of a file are holes" in str(mounted.stats()["log"])
        assert used(path) == 0
    finally:
        run("umount", path)


# --- who shares -----------------------------------------------------------------------------


def test_four_mounts_share_one_copy(bulk, cache, place, mount):
    mounts = []
    for number in range(4):
        (place / f"mnt{number}").mkdir()
        mounts.append(mount(bulk[1], option(cache), "--prefetch", at=place / f"mnt{number}"))
    for mounted in mounts:
        wait_until(is_complete(mounted))
    assert len(copies(cache)) == 1
    # What one fetches no other does.
    assert sum(mounted.stats()["device"]["bytes"] for mounted in mounts) < 60 * MIB
    for mounted in mounts:
        assert trees.content(mounted) == trees.content(bulk[0])


@is_root
def test_users_have_caches_of_their_own(bulk, cache, place, mount, device_for_users):
    mounts = []
    for uid in NOBODY, SOMEBODY:
        at = place / f"mnt{uid}"
        at.mkdir()
        os.chown(at, uid, uid)
        mounts.append(mount(bulk[1], option(cache), "--prefetch", at=at, uid=uid))
    wait_until(lambda: len(copies(cache)) == 2)
    for path in copies(cache):
        assert path.parent.stat().st_mode & 0o777 == 0o700
        assert path.parent.name == f"uid-{path.stat().st_uid}"


@is_root
def test_who_is_not_of_the_group_that_shares_a_folder_is_told_so(small, cache, point,
                                                                 device_for_users):
    os.chown(cache, 0, 4242)
    cache.chmod(0o2775)
    assert "its group shares it" in run(*foldfs.as_user(NOBODY), foldfs.FOLDFS, option(cache),
                                        small[1], point, status=1).err


def test_a_lock_that_another_process_keeps_holds_up_no_mount(bulk, cache, point):
    """As one that was stopped; in a shared folder, as any user who may look into it."""
    with foldfs.mounted(bulk[1], point, option(cache), "--readahead=0"):
        (copy,) = copies(cache)
    with open(copy / "data", "rb+") as data:
        for lock, state in (fcntl.flock, "complete"), (fcntl.lockf, "off"):
            lock(data, fcntl.LOCK_EX)
            with foldfs.mounted(bulk[1], point, option(cache), "--prefetch") as mounted:
                wait_until(lambda wanted=state: disk(mounted)["state"] == wanted)
                assert trees.content(mounted) == trees.content(bulk[0])


# --- how large it may become ---------------------------------------------------------------


def test_a_bound_is_kept(bulk, cache, point):
    with foldfs.mounted(bulk[1], point, option(cache, "10M")) as mounted:
        assert trees.content(mounted) == trees.content(bulk[0])
        assert disk(mounted)["state"] == "full"
        assert 8 * MIB < used(cache) <= 10 * MIB
    with foldfs.mounted(bulk[1], point, option(cache, "10M")) as mounted:
        assert trees.content(mounted) == trees.content(bulk[0])
        assert disk(mounted)["near_bytes"] > 4 * MIB
        assert used(cache) <= 10 * MIB


@pytest.fixture
def small_disk(place):
    with foldfs.small_filesystem(place / "small-disk", 24) as path:
        yield path


@is_root
def test_a_part_of_a_small_disk_stays_free(bulk, small_disk, point):
    with foldfs.mounted(bulk[1], point, option(small_disk)) as mounted:
        assert trees.content(mounted) == trees.content(bulk[0])
        room = os.statvfs(small_disk)
        assert room.f_bavail >= room.f_blocks // 20 - 8
        assert used(small_disk) > 10 * MIB
        assert disk(mounted)["state"] == "full"


@is_root
def test_a_disk_that_others_fill_is_no_error(bulk, small_disk, point):
    with foldfs.mounted(bulk[1], point, option(small_disk)) as mounted:
        with open(small_disk / "other", "wb") as other:
            try:
                while True:
                    other.write(bytes(MIB))
                    other.flush()
            except OSError:
                pass
        assert trees.content(mounted) == trees.content(bulk[0])
        assert mounted.stats()["bad_files"] == 0


# --- ahead of a job -------------------------------------------------------------------------


def fetch(cache, pack, *options, size=None, status=0):
    return run(foldfs.FOLDPACK, "fetch", option(cache, size), *options, pack, status=status)


def test_fetch_takes_several_packs_and_none_makes_room_for_the_next(bulk, images, cache, place):
    words = place / "list"
    words.write_text(f"{bulk[1]}\n{images[1]}\n")
    assert fetch(cache, f"@{words}").err.count("all good") == 2
    assert len(copies(cache)) == 2
    for copy in copies(cache):
        shutil.rmtree(copy)
    size = bulk[1].stat().st_size + 100 * 1024
    assert "no room" in run(foldfs.FOLDPACK, "fetch", option(cache, size), bulk[1], images[1],
                            status=1).err
    assert (max(copies(cache), key=used) / "data").read_bytes() == bulk[1].read_bytes()


def test_no_copy_is_removed_for_a_pack_that_does_not_fit_all_the_same(bulk, images, cache):
    fetch(cache, images[1])
    assert "no room" in fetch(cache, bulk[1], size="10M", status=1).err
    assert images[1].read_bytes() in [(copy / "data").read_bytes() for copy in copies(cache)]


def test_fetch_mends_a_damaged_copy(bulk, cache, point):
    fetch(cache, bulk[1])
    (copy,) = copies(cache)
    damage(copy / "data")
    assert "all good" in fetch(cache, bulk[1]).err
    # But for the pages between the files, which a mount reads from the pack itself.
    with foldfs.mounted(bulk[1], point, option(cache)) as mounted:
        assert trees.content(mounted) == trees.content(bulk[0])
        assert disk(mounted)["damaged"] == 0


@is_root
def test_fetch_does_not_take_what_cannot_be_read_for_damage(bulk, cache, place):
    with Gate(bulk[1].read_bytes(), place / "gate") as gate:
        fetch(cache, gate.path)
        (copy,) = copies(cache)
        middle = len(gate.data) // 2 // 4096 * 4096
        gate.dead = range(middle, middle + 4096)
        with open(copy / "data", "r+b") as file:
            file.seek(middle)
            file.write(bytes(4096))
        said = fetch(cache, gate.path, status=1).err
        assert "could not be checked: Input/output error; the same command continues" in said


@pytest.mark.parametrize("signo", [signal.SIGINT, signal.SIGKILL])
def test_fetch_goes_on_where_it_was_ended(bulk, cache, signo):
    with subprocess.Popen([foldfs.FOLDPACK, "fetch", option(cache), bulk[1]],
                          stderr=subprocess.PIPE) as ended:
        wait_until(lambda: used(cache) > MIB)
        ended.send_signal(signo)
        said = ended.stderr.read()
    if ended.returncode == -signal.SIGINT:
        assert b"the same command continues" in said
    before = used(cache)
    fetch(cache, bulk[1])
    assert used(cache) >= before
    (copy,) = copies(cache)
    assert (copy / "data").read_bytes() == bulk[1].read_bytes()


def test_fetch_says_what_it_cannot_do(bulk, cache, place):
    said = fetch(cache, bulk[1], size="10M", status=1).err
    assert "no room for all of its" in said
    assert used(cache) < MIB
    assert "'--cache-dir' is needed" in run(foldfs.FOLDPACK, "fetch", bulk[1], status=2).err
    damaged = place / "damaged"
    data = bytearray(bulk[1].read_bytes())
    data[len(data) // 2] ^= 1
    damaged.write_bytes(data)
    assert "do not match their checksums" in fetch(cache, damaged, status=3).err


# --- a server -------------------------------------------------------------------------------


@pytest.fixture
def server(bulk, place):
    server = pytest.importorskip("server").Server(bulk[1].parent, place / "server")
    server.start()
    yield server
    server.stop()


def test_each_byte_comes_over_the_network_once(bulk, server, cache, point):
    url = server.url(bulk[1].name)
    with foldfs.mounted(url, point, option(cache), "--prefetch") as mounted:
        assert trees.content(mounted) == trees.content(bulk[0])
        wait_until(is_complete(mounted))
    # Twice at most what readers asked for while it was under way.
    assert server.sent(tails=False) < 1.5 * bulk[1].stat().st_size
    server.forget()
    with foldfs.mounted(url, point, option(cache)) as mounted:
        assert trees.content(mounted) == trees.content(bulk[0])
        assert disk(mounted)["far_bytes"] == 0
    assert server.sent(tails=False) < 2 * MIB


def test_a_complete_copy_is_mounted_without_the_server(bulk, server, cache, mount):
    url = server.url(bulk[1].name)
    fetch(cache, url)
    server.stop()
    mounted = mount(url, option(cache), "--retry=0")
    assert "its complete copy in the disk cache is mounted" in mounted.said
    assert disk(mounted)["state"] == "alone"
    assert trees.content(mounted) == trees.content(bulk[0])


def test_a_copy_that_is_not_complete_is_not_mounted_without_the_server(bulk, server, cache, point):
    url = server.url(bulk[1].name)
    with foldfs.mounted(url, point, option(cache)) as mounted:
        os.listdir(mounted)
    server.stop()
    assert "does not answer" in run(foldfs.FOLDFS, option(cache), "--retry=1", url, point,
                                    status=1).err


def test_who_is_refused_by_the_server_gets_no_copy(bulk, server, cache, point):
    url = server.url(bulk[1].name)
    fetch(cache, url)
    server.restart(access="ngx.exit(403)")
    assert "403" in run(foldfs.FOLDFS, option(cache), url, point, status=1).err


# --- what another has given ----------------------------------------------------------------


@pytest.fixture
def forgery(bulk, place):
    """(the path of a file, a pack with other bytes in it, which has all checksums of the first)."""
    name = next(path for path in sorted(bulk[0].rglob("*"))
                if path.is_file() and 100_000 < path.stat().st_size < MIB)
    data, right = bulk[1].read_bytes(), name.read_bytes()
    at, forged = data.index(right), place / "forged" / bulk[1].name
    forged.parent.mkdir()
    forged.write_bytes(data[:at] + xxh3.forged(right, b"forged") + data[at + len(right):])
    shutil.copystat(bulk[1], forged)
    assert "all good" in run(foldfs.FOLDPACK, "verify", forged).err
    return name, forged


@pytest.mark.parametrize("way", ["server", "path on the server", "redirect", "file",
                                 "file at the same path"])
def test_a_copy_is_not_shown_for_what_is_elsewhere(bulk, server, forgery, cache, point, place, way):
    served = place / "served"
    served.mkdir()
    shutil.copy2(bulk[1], served / "right")
    shutil.copy2(bulk[1], served / bulk[1].name)
    shutil.copy2(forgery[1], served / "forged")
    server.folder = served
    server.restart(access="""if ngx.var.uri == "/link" then return ngx.redirect("/forged") end""")
    other = type(server)(forgery[1].parent, place / "other").start()
    first, then = {
        "server": (other.url(bulk[1].name), server.url(bulk[1].name)),
        "path on the server": (server.url("forged"), server.url("right")),
        "redirect": (server.url("link"), server.url("right")),
        "file": (served / "forged", served / "right"),
        "file at the same path": (served / "forged", served / "forged"),
    }[way]
    try:
        fetch(cache, first)
    finally:
        other.stop()
    if first == then:
        shutil.copy2(bulk[1], served / "forged")
        os.utime(then)
    with foldfs.mounted(then, point, option(cache)) as mounted:
        assert (mounted / forgery[0].relative_to(bulk[0])).read_bytes() == forgery[0].read_bytes()


def test_a_link_that_is_signed_anew_finds_the_copy(bulk, server, cache, point):
    fetch(cache, server.url(bulk[1].name) + "?X-Amz-Signature=1")
    url = server.url(bulk[1].name).replace("//", "//ali:sesame@") + "?X-Amz-Signature=2#x"
    with foldfs.mounted(url, point, option(cache)) as mounted:
        assert disk(mounted)["state"] == "complete"


# --- what is refused ------------------------------------------------------------------------


@pytest.mark.parametrize("words, status, why", [
    (["--cache-dir=/proc/nothing"], 1, "cannot be made"),
    (["--cache-dir=/tmp/x,many"], 1, "'many' is not a size"),
    (["--cache-dir=/tmp", "--verify=off"], 2, "do not go together"),
    (["--prefetch"], 2, "'--prefetch' needs '--cache-dir'"),
])
def test_what_makes_no_sense_is_refused(small, point, words, status, why):
    assert why in run(foldfs.FOLDFS, *words, small[1], point, status=status).err


def test_storage_that_others_share_is_refused(small, mount, place):
    mounted = mount(small[1])
    (place / "other").mkdir()
    said = run(foldfs.FOLDFS, option(mounted.path), small[1], place / "other", status=1)
    assert "local disk" in said.err
