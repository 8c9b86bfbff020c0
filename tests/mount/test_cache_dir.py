"""--cache-dir: what was read once comes from a local disk, whoever reads it, and whatever happens
to that disk no wrong byte is served."""

import fcntl
import os
import random
import shutil
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

import foldfs
import trees
import xxh3
from foldfs import MIB, NOBODY, SOMEBODY, is_root, needs, run, wait_until
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


def test_what_was_read_is_on_the_disk_and_serves_the_next_mount(bulk, cache, mount, point):
    with foldfs.mounted(bulk[1], point, option(cache)) as first:
        assert trees.content(first) == trees.content(bulk[0])
        wait_until(is_complete(first))
    with foldfs.mounted(bulk[1], point, option(cache)) as second:
        assert trees.content(second) == trees.content(bulk[0])
        assert disk(second)["far_bytes"] == 0
        assert disk(second)["near_bytes"] > 40 * MIB


def test_a_complete_copy_is_the_pack(bulk, cache, mount):
    mounted = mount(bulk[1], option(cache), "--prefetch")
    wait_until(is_complete(mounted))
    (copy,) = copies(cache)
    assert (copy / "data").read_bytes() == bulk[1].read_bytes()
    run(foldfs.FOLDPACK, "verify", copy / "data")


def test_one_small_file_does_not_fetch_the_rest(bulk, cache, point):
    smallest = min(trees.files(bulk[0]), key=lambda path: os.stat(
        os.path.join(os.fsencode(bulk[0]), path)).st_size)
    with foldfs.mounted(bulk[1], point, option(cache), "--readahead=0") as mounted:
        with open(os.path.join(os.fsencode(mounted), smallest), "rb") as file:
            file.read()
        assert disk(mounted)["state"] == "growing"
    assert used(cache) < 8 * MIB


def test_another_pack_of_that_name_has_a_copy_of_its_own(place, cache, point):
    source, target = place / "source", place / "pack"
    source.mkdir()
    for content in b"one", b"two":
        trees.write(source / "file", content * 10000)
        foldfs.pack(source, target, "--force")
        with foldfs.mounted(target, point, option(cache)) as mounted:
            assert (mounted / "file").read_bytes() == content * 10000
    assert len(copies(cache)) == 2


@pytest.mark.parametrize("how", ["--readahead=0", "--prefetch"])
def test_a_pack_that_is_mounted_twice_has_one_copy(bulk, cache, place, mount, how):
    (place / "elsewhere").symlink_to(bulk[1])
    mounted = mount(f"one/={bulk[1]}", f"other/={place / 'elsewhere'}", option(cache), how)
    if how != "--prefetch":
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


def test_damage_is_fetched_again_and_never_served(bulk, cache, point):
    with foldfs.mounted(bulk[1], point, option(cache), "--prefetch") as mounted:
        wait_until(is_complete(mounted))
    (copy,) = copies(cache)
    damage(copy / "data")
    with foldfs.mounted(bulk[1], point, option(cache)) as mounted:
        assert trees.content(mounted) == trees.content(bulk[0])
        assert disk(mounted)["damaged"] > 0
        assert mounted.stats()["bad_files"] == 0
    with foldfs.mounted(bulk[1], point, option(cache)) as mounted:
        assert trees.content(mounted) == trees.content(bulk[0])
        assert disk(mounted)["damaged"] == 0


def test_pages_that_a_power_failure_lost_are_fetched_again(bulk, cache, point):
    with foldfs.mounted(bulk[1], point, option(cache), "--prefetch") as mounted:
        wait_until(is_complete(mounted))
    (copy,) = copies(cache)
    with open(copy / "data", "r+b") as data:
        size = os.fstat(data.fileno()).st_size
        data.truncate(size // 2 + 1000)
        data.truncate(size)
    with foldfs.mounted(bulk[1], point, option(cache)) as mounted:
        assert trees.content(mounted) == trees.content(bulk[0])
        assert disk(mounted)["damaged"] > 0


def test_a_copy_that_is_cut_off_under_a_mount_does_no_harm(bulk, cache, point):
    with foldfs.mounted(bulk[1], point, option(cache), "--prefetch") as mounted:
        wait_until(is_complete(mounted))
        (copy,) = copies(cache)
        os.truncate(copy / "data", 0)
        assert trees.content(mounted) == trees.content(bulk[0])
    with foldfs.mounted(bulk[1], point, option(cache)) as mounted:
        assert trees.content(mounted) == trees.content(bulk[0])


def test_a_copy_that_is_removed_under_a_mount_does_no_harm(bulk, cache, point):
    with foldfs.mounted(bulk[1], point, option(cache)) as mounted:
        os.listdir(mounted)
        for copy in copies(cache):
            shutil.rmtree(copy)
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


def killed_mount(pack, cache, point, moment):
    """A mount whose daemon is killed once it has kept so many bytes."""
    mounted = foldfs.Mount(pack, point, (option(cache),))
    reader = None
    try:
        mounted.start()
        reader = subprocess.Popen(["grep", "-rc", "nothing", point], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        wait_until(lambda: used(cache) >= moment)
        mounted.kill()
    finally:
        mounted.destroy()
        if reader:
            reader.wait()


def check_kills(bulk, pack, cache, point, times):
    chosen = foldfs.chance()
    for number in range(times):
        if number % 5 == 0:
            for copy in copies(cache):
                shutil.rmtree(copy)
        killed_mount(pack, cache, point, used(cache) + chosen.randrange(6 * MIB)
                     if used(cache) < 30 * MIB else 0)
        if number % 5 == 4 or number == times - 1:
            check_copy(bulk, pack, cache, point)


def check_copy(bulk, pack, cache, point):
    """All that is in it, and all that is not."""
    with foldfs.mounted(pack, point, option(cache)) as mounted:
        assert trees.content(mounted) == trees.content(bulk[0])
        assert disk(mounted)["damaged"] == 0


@foldfs.kills(10)
def test_a_mount_killed_at_any_moment_leaves_no_wrong_byte(bulk, cache, point, kills):
    check_kills(bulk, bulk[1], cache, point, kills)


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
@pytest.mark.parametrize("mode", [0o1777, 0o3777, 0o777], ids=oct)
def test_users_have_caches_of_their_own(bulk, cache, place, mount, device_for_users, mode):
    mounts = []
    cache.chmod(mode)
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
def test_a_group_shares_a_folder_that_is_set_up_for_it(bulk, place, mount, device_for_users):
    cache = place / "shared"
    cache.mkdir()
    os.chown(cache, 0, 4242)
    cache.chmod(0o2770)
    first = mount(bulk[1], option(cache), "--prefetch")
    wait_until(is_complete(first))
    point = place / "theirs"
    point.mkdir()
    os.chown(point, SOMEBODY, 4242)
    member = ["setpriv", f"--reuid={SOMEBODY}", "--regid=4242", "--clear-groups"]
    run(*member, foldfs.FOLDFS, option(cache), bulk[1], point, "--", "diff", "-r", bulk[0], point)
    (copy,) = copies(cache)
    assert copy.parent == cache
    stranger = run(*foldfs.as_user(NOBODY), foldfs.FOLDFS, option(cache), bulk[1], point,
                   status=1)
    assert "shared" in stranger.err


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


def test_what_nobody_has_mounted_makes_room(bulk, images, cache, point):
    size = bulk[1].stat().st_size + 100 * 1024
    for source, pack in (bulk, images, bulk):
        with foldfs.mounted(pack, point, option(cache, size), "--prefetch") as mounted:
            wait_until(is_complete(mounted))
            assert trees.content(mounted) == trees.content(source)
            assert used(cache) <= size
    assert len(copies(cache)) == 1


@pytest.fixture
def small_disk(place):
    """A filesystem of 24 MiB."""
    path = place / "small-disk"
    path.mkdir()
    image = place / "image"
    image.touch()
    os.truncate(image, 24 * MIB)
    run("mkfs.ext4", "-q", "-m", "0", image)
    done = run("mount", "-o", "loop", image, path, status=None)
    if done.returncode:
        pytest.skip(f"no loop device: {done.err}")
    path.chmod(0o1777)
    yield path
    run("umount", "-l", path)


@is_root
@needs("mkfs.ext4")
def test_a_part_of_a_small_disk_stays_free(bulk, small_disk, point):
    with foldfs.mounted(bulk[1], point, option(small_disk)) as mounted:
        assert trees.content(mounted) == trees.content(bulk[0])
        room = os.statvfs(small_disk)
        assert room.f_bavail >= room.f_blocks // 20 - 8
        assert used(small_disk) > 10 * MIB
        assert disk(mounted)["state"] == "full"


@is_root
@needs("mkfs.ext4")
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


def test_fetch_fills_the_cache_that_a_mount_reads(bulk, cache, mount):
    assert "all good" in fetch(cache, bulk[1]).err
    mounted = mount(bulk[1], option(cache))
    assert disk(mounted)["state"] == "complete"
    assert trees.content(mounted) == trees.content(bulk[0])
    assert disk(mounted)["far_bytes"] == 0


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


def test_what_lies_between_the_files_that_are_read_is_right_in_the_copy(server, cache, point):
    source = point.parent / "small"
    pack = server.folder / "between.lmdb"
    source.mkdir()
    names = [f"{number:04}" for number in range(2000)]
    chosen = random.Random(1)
    for name in names:
        trees.write(source / name, chosen.randbytes(chosen.randrange(3000, 6000)))
    foldfs.pack(source, pack)
    wanted = names[::2]
    chosen.shuffle(wanted)
    (point.parent / "order").write_text("\n".join(wanted))
    with foldfs.mounted(server.url(pack.name), point, option(cache)) as mounted:
        run(foldfs.FOLDSTAT, "--order", point.parent / "order", mounted)
        with ThreadPoolExecutor(8) as pool:
            read = list(pool.map(lambda name: (mounted.path / name).read_bytes(), wanted))
    assert read == [(source / name).read_bytes() for name in wanted]
    (copy,) = copies(cache)
    right, kept = ([data[at:at + 4096] for at in range(0, len(data), 4096)]
                   for data in (pack.read_bytes(), (copy / "data").read_bytes()))
    pairs = list(zip(right, kept, strict=True))
    assert not [page for page, (good, one) in enumerate(pairs)
                if one not in (good, bytes(len(one)))]
    assert sum(good == one for good, one in pairs) > len(pairs) / 2


@foldfs.kills(5)
def test_a_mount_killed_while_it_fetches_leaves_no_wrong_byte(bulk, server, cache, point, kills):
    check_kills(bulk, server.url(bulk[1].name), cache, point, kills)


def test_a_complete_copy_is_mounted_without_the_server(bulk, server, cache, mount):
    url = server.url(bulk[1].name)
    fetch(cache, url)
    server.stop()
    mounted = mount(url, option(cache))
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


def forge(pack, target, name):
    """A pack with other bytes in a file, which has all checksums of the first."""
    data, right = pack.read_bytes(), name.read_bytes()
    at = data.index(right)
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(data[:at] + xxh3.forged(right, b"forged") + data[at + len(right):])
    os.utime(target, ns=(pack.stat().st_atime_ns, pack.stat().st_mtime_ns))
    return target


@pytest.fixture
def forgery(bulk, place):
    """(the path of a file in the pack, a forged pack)."""
    name = next(path for path in sorted(bulk[0].rglob("*"))
                if path.is_file() and 100_000 < path.stat().st_size < MIB)
    forged = forge(bulk[1], place / "forged" / bulk[1].name, name)
    assert "all good" in run(foldfs.FOLDPACK, "verify", forged).err
    return name.relative_to(bulk[0]), forged


def shows_right(mounted, bulk, name):
    return (mounted.path / name).read_bytes() == (bulk[0] / name).read_bytes()


def test_a_copy_of_one_server_is_not_shown_for_another(bulk, server, forgery, cache, point, place):
    other = type(server)(forgery[1].parent, place / "other").start()
    try:
        fetch(cache, other.url(bulk[1].name))
    finally:
        other.stop()
    with foldfs.mounted(server.url(bulk[1].name), point, option(cache)) as mounted:
        assert shows_right(mounted, bulk, forgery[0])
    server.stop()
    assert "does not answer" in run(foldfs.FOLDFS, option(cache), "--retry=0",
                                    server.url("other"), point, status=1).err


@pytest.mark.parametrize("way", ["path on the server", "redirect", "file", "file at the same path"])
def test_a_copy_is_not_shown_for_what_is_elsewhere(bulk, server, forgery, cache, point, place, way):
    served = place / "served"
    served.mkdir()
    shutil.copy2(bulk[1], served / "right")
    shutil.copy2(forgery[1], served / "forged")
    server.folder = served
    server.restart(access="""if ngx.var.uri == "/link" then return ngx.redirect("/forged") end""")
    first, then = {
        "path on the server": (server.url("forged"), server.url("right")),
        "redirect": (server.url("link"), server.url("right")),
        "file": (served / "forged", served / "right"),
        "file at the same path": (served / "forged", served / "forged"),
    }[way]
    fetch(cache, first)
    if first == then:
        shutil.copy2(bulk[1], served / "forged")
        os.utime(then)
    with foldfs.mounted(then, point, option(cache)) as mounted:
        assert shows_right(mounted, bulk, forgery[0])


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
