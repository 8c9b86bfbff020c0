"""foldstat tells of a mount what was done with it, in numbers and in words."""

import contextlib
import errno
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import time
from pathlib import Path

import pytest

import foldfs
import trees
from foldfs import (
    FOLDSTAT, MIB, NOBODY, PATIENCE, SOMEBODY, as_user, is_root, needs, run, stopped, wait_until,
)  # fmt: skip

ROW = re.compile(r"( *[0-9.]+){6} +([0-9.]+|-) +[0-9.]+  \S")


@pytest.fixture
def mounted(small, mount):
    return mount(small[1])


def block(mount):
    """label -> text, of a plain call; the last label, "verdict", has none in the output."""
    text, verdict = run(FOLDSTAT, mount).out.split("\n\n")
    found, label = {"verdict": verdict.rstrip("\n")}, None
    for line in text.splitlines():
        label = line[:12].strip() or label
        found[label] = " ".join(filter(None, [found.get(label), line[12:]]))
    return found


def requests(mount):
    words = block(mount)["requests"].removeprefix("of the kernel:").split()
    return {name: int(count.replace(",", "")) for name, count in zip(words[::2], words[1::2])}


def has_ended(pid):
    try:
        return not Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return True


@contextlib.contextmanager
def watching(*args, **options):
    """foldstat in the background; it ends with the block, whatever happens, and what asks for it
    does, which holds the mount."""
    options.setdefault("stdout", subprocess.PIPE)
    command = [os.fspath(word) for word in (FOLDSTAT, *args)]
    # Unbuffered: select() sees all that has not been taken.
    with subprocess.Popen(command, stderr=subprocess.PIPE, bufsize=0, **options) as process:
        try:
            yield process
        finally:
            askers = []
            with contextlib.suppress(OSError):
                askers = foldfs.children(process.pid)
            process.kill()
            wait_until(lambda: all(map(has_ended, askers)))


def next_line(process):
    assert select.select([process.stdout], [], [], PATIENCE)[0], "foldstat says nothing"
    return process.stdout.readline().decode()


def ended(process):
    """What it says to its end: the rest on stdout, and stderr."""
    out, err = process.communicate(timeout=PATIENCE)
    return out.decode(), err.decode()


def skip_header(process):
    """Up to and with the line that tells of the time before."""
    lines = [next_line(process) for _ in range(3)]
    assert "requests/s" in lines[0] and "verdict" in lines[1] and ROW.match(lines[2])
    return lines[2]


# --- what a plain call says -----------------------------------------------------------------


def test_a_fresh_mount_has_read_nothing(mounted):
    said = block(mounted)
    assert said["verdict"] == "nothing was read yet"
    assert said["served"] == "0 files, 0 bytes"
    assert said["waits"] == "none" and said["bad files"] == "none"
    assert "read" not in requests(mounted)

def test_the_pack_is_described(mounted, small):
    said = block(mounted)
    info = json.loads(run(foldfs.FOLDPACK, "info", "--json", small[1]).out)
    assert said["pack"].startswith(os.fspath(small[1]))
    assert f"{info['files']} files, 2 MiB, id {info['id']}" in said["pack"]
    version = run(foldfs.FOLDFS, "--version").out.split()[1].rstrip(",")  # "0.1.0, static"
    assert re.fullmatch(rf"\d+ s ago, by foldfs {re.escape(version)}; .*", said["mounted"])


def test_reading_is_counted_once_and_then_the_kernels_business(mounted):
    (mounted / "large").read_bytes()
    first = requests(mounted)
    assert first["read"] >= 2 * MIB // (1 << 20) and first["lookup"] == 1
    assert block(mounted)["served"] == "1 file, 2 MiB"
    for _ in range(3):
        (mounted / "large").read_bytes()
    again = requests(mounted)
    assert again["read"] == first["read"]
    assert again["lookup"] == first["lookup"]
    assert again.get("open") == first.get("open") == 1
    assert again["getxattr"] > first["getxattr"]


def test_the_block_shows_what_the_mount_counts(mounted):
    def all_is_counted():  # what was answered is so at once, what was answered in full just behind
        stats = mounted.stats()
        distinct = stats["device"]["bytes"] / (stats["amplification"] or 1)
        return round(distinct) == stats["served_bytes"]

    run("cat", mounted / "file", mounted / "folder/other")
    os.listdir(mounted)
    foldfs.wait_until(all_is_counted)
    asked = mounted.requests()["getxattr"]
    said, stats = block(mounted), mounted.stats()
    shown = {name: int(n) for name, n in re.findall(r"(\w+) ([\d,]+)", said["requests"])}
    counted = {name: count for name, count in stats["requests"].items() if count}
    assert shown.pop("getxattr") == asked + 1 < counted.pop("getxattr")
    assert shown == counted
    assert said["served"] == f"2 files, {stats['served_bytes']} bytes"
    reads = f" in {stats['device']['reads']} {stats['io']} reads "
    assert f"{reads}{stats['amplification']:.2f} times what was served" in said["storage"]
    hits, misses = stats["pool"]["hits"], stats["pool"]["misses"]
    assert f"{100 * hits / (hits + misses):.1f} % of reads found their data" in said["pool"]
    assert re.match(r"(readers (never )?waited|the disk is the limit: )", said["verdict"])


@pytest.mark.parametrize("options, keeper", [
    ("cache=kernel", "the kernel keeps what was read"),
    ("cache=pool,policy=lru", "the pool keeps what was read, policy lru"),
])  # fmt: skip
def test_who_keeps_the_data_is_shown(small, mount, options, keeper):
    assert block(mount(small[1], "-o", options))["cache"] == keeper

def wait_for_block(mounted, label, pattern):
    deadline = time.monotonic() + PATIENCE
    while not re.fullmatch(pattern, said := block(mounted).get(label, "")):
        assert time.monotonic() < deadline, f"{label} says {said!r}, not {pattern!r}"
    return said


def test_a_preload_is_followed_to_its_end(bulk, mount):
    mounted = mount(bulk[1], "--preload", "--pool=128M")
    size = block(mounted)["pack"].split(", ")[1]
    wait_for_block(mounted, "preload", f"100 % of {size}")


def test_a_preload_that_does_not_fit_says_what_it_waits_for(bulk, mount):
    mounted = mount(bulk[1], "--preload", "--pool=32M", "--cache=pool")
    said = wait_for_block(mounted, "preload", r"\d+ % of .*; the rest waits for room in the pool")
    assert 30 < int(said.split()[0]) < 70  # of 48 MiB


SHORT_OF_MEMORY = """
mount --bind meminfo /proc/meminfo && exec "$@"
"""

WAIT_FOR_LIMIT = """
until "$1" mnt | grep -q 'shrunk to 8 MiB: memory is short'; do :; done
exec "$1" mnt
"""


@is_root
@needs("unshare")
def test_a_pool_that_was_shrunk_says_why(small, place):
    """In a namespace of its own, on a machine that has next to nothing left."""
    (place / "mnt").mkdir()
    (place / "meminfo").write_text(f"MemTotal: {1 << 20} kB\nMemAvailable: {66 << 10} kB\n")
    out = run("unshare", "--mount", "sh", "-c", SHORT_OF_MEMORY, "sh", "timeout", f"{PATIENCE}",
              foldfs.FOLDFS, "--pool=64M", small[1], "mnt", "--", "sh", "-c", WAIT_FOR_LIMIT,
              "sh", FOLDSTAT, cwd=place).out  # fmt: skip
    at = out.index("\npool  ")
    assert out[at + 1:].splitlines()[:2] == [
        "pool        0 bytes of 64 MiB",
        "            shrunk to 8 MiB: memory is short",
    ]


def test_an_unreadable_file_comes_first_in_the_verdict(place, mount):
    source = place / "source"
    source.mkdir()
    data = trees.noise(1, 100000)
    trees.write(source / "broken", data)
    pack = foldfs.pack(source, place / "p.lmdb")
    content = pack.read_bytes()
    at = content.index(data[50000:50100])
    pack.chmod(0o644)
    with open(pack, "r+b") as file:
        file.seek(at)
        file.write(b"damage")
    mounted = mount(pack)
    run("cat", mounted / "broken", status=1)
    said = block(mounted)
    assert said["bad files"] == "1"
    assert said["verdict"].startswith(
        f"1 file could not be read: 'foldpack verify {pack}' lists all\n"
    )
    # Where there is no syslog, as in containers, this is the only place to look.
    assert said["messages"].replace(" ", "").endswith(":'broken'at0:checksummismatch")
    run(foldfs.FOLDPACK, "verify", pack, status=3)


@pytest.mark.parametrize("option", ["--oracle=off", "--readahead=0"])
def test_without_the_oracle_there_is_no_word_of_an_order(small, mount, option):
    mounted = mount(small[1], option)
    assert mounted.stats()["oracle"] == {
        "state": "off", "why": "", "search_part": 0, "full_search_s": 0, "sampler": "",
        "list": "", "seed": 0, "epoch": 0, "position": 0, "files": 0, "searches": 0,
        "search_s": 0, "followed": 0, "locks": 0, "unlocks": 0,
        "dropped": 0,
    }  # fmt: skip
    assert "order" not in block(mounted)


@pytest.mark.parametrize("options", [(), ("--preload", "--pool=8M", "--cache=pool")])
def test_it_fits_80_columns(bulk, mount, options):
    mounted = mount(bulk[1], *options)
    trees.content(mounted)
    for args in (["--help"], ["--version"], [mounted], [mounted, "0.01", "3"]):
        for line in run(FOLDSTAT, *args).out.splitlines():
            assert len(line) <= 80 or line.startswith("pack "), line


def test_a_path_cannot_command_the_terminal(place, small, mount):
    pack = os.path.join(os.fsencode(place), b"\x1b[31m\n\xff.lmdb")
    os.link(small[1], pack)
    out = run(FOLDSTAT, mount(os.fsdecode(pack))).out
    assert "\x1b" not in out
    assert out.splitlines()[0].startswith(f"pack        {place}/\\033[31m\\012")


def test_a_pack_that_is_written_to_is_to_be_mounted_anew(small, place, mount):
    pack = place / "p.lmdb"
    pack.write_bytes(small[1].read_bytes())
    mounted = mount(pack, "--readahead=0")
    pack.write_bytes(small[1].read_bytes())
    run("cat", mounted / "file", status=1)
    verdict = block(mounted)["verdict"]
    assert verdict.startswith("the pack was written to while mounted: reads fail until\n"
                              f"'{pack}' is mounted again\n")
    assert "verify" not in verdict
    assert "pack has changed" in run(FOLDSTAT, mounted, "0.1", "1").out


# --- json -----------------------------------------------------------------------------------


def without_clock(stats):
    """Less what changes by being looked at."""
    stats = dict(stats, requests=dict(stats["requests"]))
    del stats["uptime_s"], stats["requests"]["getxattr"]
    return stats


def test_json_is_what_the_mount_gives(mounted):
    run("cat", mounted / "large")
    wait_until(lambda: mounted.stats()["oracle"]["why"] == "too few files read")
    out = run(FOLDSTAT, "--json", mounted).out
    assert out.endswith("}\n") and out.count("\n") == 1
    assert without_clock(json.loads(out)) == without_clock(mounted.stats())
    assert list(json.loads(out)) == list(mounted.stats())


def test_json_with_an_interval_is_an_object_a_line(mounted):
    lines = run(FOLDSTAT, mounted, "0.01", "3", "--json").out.splitlines()
    asked = [json.loads(line)["requests"]["getxattr"] for line in lines]
    assert asked == [asked[0], asked[0] + 1, asked[0] + 2]


# --- with an interval -----------------------------------------------------------------------


def test_count_lines_and_then_the_verdict(mounted):
    lines = run(FOLDSTAT, mounted, "0.05", "4").out.splitlines()
    assert len(lines) == 2 + 4 + 1
    assert all(ROW.match(line) for line in lines[2:6])
    assert lines[6] == "nothing was read yet"


def test_one_line_is_about_the_time_before(mounted):
    run("cat", mounted / "large")
    lines = run(FOLDSTAT, mounted, "1", "1").out.splitlines()
    assert len(lines) == 4
    assert float(lines[2].split()[0]) > 0
    # Shares of a time that goes on: they are not those of the next call.
    assert re.match(r"(readers|the disk) ", lines[3])
    assert re.match(r"(readers|the disk) ", block(mounted)["verdict"])


def test_each_line_is_about_its_interval(mounted):
    """How long intervals are in fact is the machine's affair: what is served must be in one."""
    began = time.monotonic()
    with watching(mounted, "0.05") as process:
        skip_header(process)
        assert next_line(process).split()[0] == "0"
        run("cat", mounted / "large")
        reads = served = 0
        while served * (time.monotonic() - began) < 2 * MIB / 1e6:
            row = next_line(process).split()
            reads, served = reads + float(row[0]), served + float(row[4])
        assert reads > 0
        while not next_line(process).endswith("  cached, or idle\n"):
            pass
        process.send_signal(signal.SIGINT)
        rest, err = ended(process)
    assert process.returncode == 0 and err == ""
    assert re.match(r"(readers|the disk) ", rest.splitlines()[-1])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_it_cleanly(mounted, number):
    with watching(mounted, "3600") as process:
        skip_header(process)
        process.send_signal(number)
        rest, err = ended(process)
    assert (process.returncode, rest, err) == (0, "nothing was read yet\n", "")


@contextlib.contextmanager
def asking(process):
    """Until what asks the mount for it has ended, too: it holds the mount."""
    wait_until(lambda: foldfs.children(process.pid))
    askers = foldfs.children(process.pid)
    yield
    wait_until(lambda: all(map(has_ended, askers)))


@pytest.mark.parametrize("words", [
    ["{}"], ["{}", "3600"], ["--json", "{}", "3600"], ["-w", "{}", "3600"],
    ["--prometheus", "{}"], ["--order={}.order", "{}"]])
def test_a_signal_ends_it_whatever_the_daemon_does(mounted, words):
    mounted.path.with_suffix(".order").write_bytes(b"file\n")
    with stopped(mounted), watching(*(word.format(mounted.path) for word in words)) as process:
        with asking(process):
            process.terminate()
            out, err = ended(process)
    assert process.returncode in (0, -signal.SIGTERM) and (out, err) == ("", "")


def test_a_signal_ends_lines_whose_daemon_stops_meanwhile(mounted):
    with watching(mounted, "0.02") as process:
        skip_header(process)
        with stopped(mounted):
            while select.select([process.stdout], [], [], 0.2)[0]:
                next_line(process)
            process.send_signal(signal.SIGTERM)
            out, err = ended(process)
    assert (process.returncode, out, err) == (0, "nothing was read yet\n", "")

def test_nohup_means_no_hangup(mounted):
    def ignore():
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    with watching(mounted, "0.02", preexec_fn=ignore) as process:
        skip_header(process)
        process.send_signal(signal.SIGHUP)
        for _ in range(3):
            assert ROW.match(next_line(process))


def take_away(mounted):
    """A mount that is just being asked would be busy for umount(8)."""
    foldfs.detach(mounted.path)
    assert mounted.wait() == 0


def test_a_mount_that_goes_away_ends_it(mounted):
    with watching(mounted, "0.02") as process:
        skip_header(process)
        take_away(mounted)
        _, err = ended(process)
    assert process.returncode == 1
    assert err == f"foldstat: {mounted.path}: unmounted meanwhile\n"


def test_watching_does_not_keep_a_mount_busy(mounted):
    with watching(mounted, "3600") as process:
        skip_header(process)
        foldfs.unmount(mounted.path)
        assert mounted.wait() == 0


def test_another_mount_in_its_place_starts_anew(small, mount):
    first = mount(small[1])
    with watching(first, "0.3") as process:
        run("cat", first / "large", first / "file")
        skip_header(process)
        take_away(first)
        again = mount(small[1])
        lines = [next_line(process) for _ in range(3)]
        if process.poll() is not None or not all(lines):
            pytest.skip("too slow: foldstat saw the moment without a mount")
        assert again.path == first.path
    assert all(ROW.match(line) for line in lines)
    assert all(float(line.split()[0]) < 1e6 for line in lines), lines


def test_the_header_comes_again_on_a_terminal_only(mounted):
    leader, follower = pty.openpty()
    with watching(mounted, "0.01", "45", stdout=follower) as process:
        os.close(follower)
        out = b""
        with contextlib.suppress(OSError):  # EIO: the other side is closed
            while data := os.read(leader, 4096):
                out += data
        assert process.wait(PATIENCE) == 0
    os.close(leader)
    assert [number for number, line in enumerate(out.splitlines()) if b"wait%" in line] == [
        1, 1 + 22, 1 + 44,
    ]  # fmt: skip
    assert run(FOLDSTAT, mounted, "0.01", "45").out.count("wait%") == 1


def test_lines_tell_of_an_order_when_it_changes(place, mounted, small):
    give(place, mounted, trees.files(small[0]))
    (mounted / "file").read_bytes()
    with watching(mounted, "0.05") as process:
        lines = [next_line(process) for _ in range(8)]
    orders = [line for line in lines if line.startswith("order ")]
    assert len(orders) == 1 and "given" in orders[0], lines


# --- handing over an order ------------------------------------------------------------------


def give(place, mount, lines, status=0, command=()):
    """foldstat --order with a file of these lines (bytes); what it says on stdout, or stderr."""
    (place / "order").write_bytes(b"".join(line + b"\n" for line in lines))
    done = run(*command, FOLDSTAT, "--order", place / "order", mount, status=status)
    assert not (done.err if status == 0 else done.out)
    return done.out or done.err


def test_an_order_is_taken_and_taken_back(place, mounted, small):
    paths = trees.files(small[0])
    assert give(place, mounted, paths) == "order: given for 4 files\n"
    assert give(place, mounted, reversed(paths)) == "order: given for 4 files\n"
    assert give(place, mounted, [b"file"]) == "order: given for 1 file\n"
    assert give(place, mounted, []) == "order: dropped\n"
    out = run(FOLDSTAT, "--order=/dev/null", mounted).out
    assert out == "order: dropped\n"
    assert trees.content(mounted) == trees.content(small[0])


def test_paths_may_be_written_in_several_ways(place, mounted):
    lines = [b"file", b"./file", b"/file", b"folder//other", b"./folder/./other", b"", b"program"]
    assert give(place, mounted, lines) == "order: given for 6 files\n"

def test_files_of_any_name_are_taken_but_empty_ones_do_not_count(place, hostile, mount):
    source, pack = hostile
    paths = [path for path in trees.files(source) if b"\n" not in path]
    full = [path for path in paths if os.path.getsize(os.path.join(os.fsencode(source), path))]
    assert len(full) < len(paths)
    said = give(place, mount(pack), paths)
    assert said == f"order: given for {len(full)} files\n"


def test_an_order_is_as_long_as_it_takes(place, bulk, mount):
    """It goes over in pieces of 16 KiB."""
    mounted = mount(bulk[1])
    paths = trees.files(bulk[0]) * 100
    assert sum(map(len, paths)) > 5 * 16384
    assert give(place, mounted, paths) == "order: given for 9,600 files\n"
    paths[7777] = b"class1/none"
    assert f"{place}/order: line 7778: 'class1/none' is not" in give(place, mounted, paths, 1)


def test_paths_begin_at_the_root_of_the_mount(place, small, mount):
    mounted = mount(small[1], "--subdir=folder")
    assert give(place, mounted, [b"other"]) == "order: given for 1 file\n"
    assert "line 1: 'folder/other' is not" in give(place, mounted, [b"folder/other"], 1)


def test_an_order_with_a_wrong_path_is_refused_whole(place, mount):
    (place / "source/folder").mkdir(parents=True)
    trees.write(place / "source/file", b"content\n")
    os.symlink("file", place / "source/link")
    mounted = mount(foldfs.pack(place / "source", place / "p.lmdb"))
    before = mounted.stats()["oracle"]
    missing = "is not in the pack; paths begin below the root of the mount"
    for line, reason in {
            b"none": f"'none' {missing}", b"file/below": f"'file/below' {missing}",
            b"../file": f"'../file' {missing}", b".": "'.' is a folder",
            b"folder": "'folder' is a folder", b"file\0": "no path", b"x" * 20000: "no path",
            b"link": "'link' is a symbolic link; name the file that it leads to"}.items():
        said = give(place, mounted, [b"file", b"", line, b"other"], 1)
        assert said == f"foldstat: {place}/order: line 3: {reason}\n"
        assert mounted.stats()["oracle"] == before


def test_an_order_that_cannot_be_read_or_given_is_refused(place, mounted):
    (place / "order").write_text("file\n")
    for file, path, reason in [
        (place / "none", mounted.path, f"{place}/none: No such file or directory"),
        (place, mounted.path, f"{place}: Is a directory"),
        (place / "order", mounted / "folder",
         f"{mounted.path}/folder: not the root of a foldfs mount; its root is {mounted.path}"),
        (place / "order", mounted / "file",
         f"{mounted.path}/file: not the root of a foldfs mount; its root is {mounted.path}"),
        (place / "order", place, f"{place}: not the root of a foldfs mount; mounts: "),
        (place / "order", place / "none", f"{place}/none: no such folder; mounts: "),
    ]:  # fmt: skip
        said = run(FOLDSTAT, "--order", file, path, status=1).err
        assert said.startswith(f"foldstat: {reason}") and said.count("\n") == 1


@is_root
def test_only_root_and_who_mounted_give_orders(place, small, mount, device_for_users):
    """Whoever files are shown to belong to."""
    mounted = mount(small[1], "--allow_other", "--umask=022", f"--uid={SOMEBODY}")
    assert give(place, mounted, [b"file"], 1, as_user(SOMEBODY)) == (
        f"foldstat: {mounted.path}: only root and the user who mounted it may give an order\n"
    )
    give(place, mounted, [b"file"])
    mounted.close()
    os.chown(mounted.path, SOMEBODY, SOMEBODY)
    mounted = mount(small[1], uid=SOMEBODY)
    assert give(place, mounted, [b"file"], 0, as_user(SOMEBODY)) == "order: given for 1 file\n"
    assert "allow_other" in give(place, mounted, [b"file"], 1, as_user(NOBODY))


ORDER_FIRST, ORDER_LAST = 1, 2
ORDER_HEAD = struct.Struct("III")
ORDER_SIZE = ORDER_HEAD.size + 16320
ORDER_IOCTL = 3 << 30 | ORDER_SIZE << 16 | ord("F") << 8 | 0x70


def send(path, flags, text=b"", length=None, number=ORDER_IOCTL):
    """One batch of an order: (flags, length of the refusal, files) of the answer."""
    length = len(text) if length is None else length
    batch = bytearray(ORDER_HEAD.pack(flags, length, 0) + text)
    batch += bytes(ORDER_SIZE - len(batch))
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        assert fcntl.ioctl(fd, number, batch) == 0
    finally:
        os.close(fd)
    return ORDER_HEAD.unpack_from(batch)


def refusal(*args, **words):
    """The error of a batch that is refused."""
    with pytest.raises(OSError) as refused_with:
        send(*args, **words)
    return refused_with.value.errno


def send_from_another_process(*args):
    child = os.fork()
    if child == 0:
        send(*args)
        os._exit(0)
    assert foldfs.wait_for(child) == 0


def test_an_order_whose_sender_dies_changes_nothing(place, mounted):
    before = mounted.stats()["oracle"]
    assert send(mounted, ORDER_FIRST, b"file\nfolder/other\n")[1:] == (0, 2)
    assert mounted.stats()["oracle"] == before
    assert give(place, mounted, [b"program"]) == "order: given for 1 file\n"


def test_of_two_orders_at_once_the_one_that_began_last_is_taken(place, mounted):
    send_from_another_process(mounted, ORDER_FIRST, b"large\n")
    for flags in (0, ORDER_LAST):
        assert refusal(mounted, flags, b"large\n") == errno.EBUSY
    send(mounted, ORDER_FIRST)
    assert send(mounted, 0, b"file\npro")[2] == 1
    assert send(mounted, ORDER_LAST, b"gram")[2] == 2
    assert refusal(mounted, ORDER_LAST) == errno.EBUSY


@pytest.mark.parametrize("batch", [
    {"flags": 4}, {"length": 16321}, {"length": 2**32 - 1},
])  # fmt: skip
def test_what_is_no_batch_of_an_order_is_refused(mounted, batch):
    assert refusal(mounted, **{"flags": ORDER_FIRST, **batch}) == errno.EINVAL


def test_other_questions_are_those_of_a_terminal(mounted):
    for path, number in ((mounted, ORDER_IOCTL + 1), (mounted / "folder", ORDER_IOCTL)):
        assert refusal(path, ORDER_FIRST, number=number) == errno.ENOTTY
    with open(mounted / "file") as file:
        assert not file.isatty()


# --- where there is nothing to tell ---------------------------------------------------------


def refused(path, command=(), **options):
    done = run(*command, FOLDSTAT, path, status=1, **options)
    assert done.out == ""
    [line] = done.err.splitlines()
    begin = f"foldstat: {path}: "
    assert line.startswith(begin)
    return line[len(begin):]


@pytest.mark.parametrize("name", ["folder", "file", "folder/other"])
def test_below_the_root_the_root_is_named(mounted, name):
    assert refused(mounted / name) == (
        f"not the root of a foldfs mount; its root is {mounted.path}"
    )


def test_elsewhere_the_mounts_are_named(mounted, place):
    (place / "file").write_text("x")
    for path, reason in {
        place: "not the root of a foldfs mount",
        place / "file": "not the root of a foldfs mount",
        place / "file/below": "not the root of a foldfs mount",
        place / "missing": "no such folder",
        "/proc/self": "not the root of a foldfs mount",
        "/dev/null": "not the root of a foldfs mount",
    }.items():
        assert re.fullmatch(rf"{reason}; mounts: /.*", refused(path))


@is_root
def test_without_any_mount_it_says_how_to_make_one(place):
    alone = 'umount --all --lazy --types fuse.foldfs; exec "$@"'  # in a namespace of its own
    said = refused(place, ["unshare", "--mount", "--net", "sh", "-c", alone, "sh"])
    assert said == (
        "not the root of a foldfs mount; no pack is mounted here, 'foldfs PACK MOUNTPOINT' "
        "mounts one"
    )


def test_a_dead_daemon_is_called_dead(mounted):
    os.kill(mounted.daemon, signal.SIGKILL)
    mounted.wait()
    try:
        assert refused(mounted.path) == (
            f"its daemon has died; 'fusermount3 -u {mounted.path}' (or umount) removes the mount"
        )
    finally:
        foldfs.unmount(mounted.path)


@is_root
def test_the_mount_of_another_user_is_closed(mounted):
    assert "allow_other" in refused(mounted.path, as_user(NOBODY))


def test_a_link_to_the_mount_is_as_good(mounted, place):
    (place / "link").symlink_to(mounted.path)
    assert block(place / "link")["pack"] == block(mounted)["pack"]
    assert run(FOLDSTAT, "mnt/", cwd=place).out


def test_output_that_cannot_be_written_is_a_failure(mounted):
    for args in ([mounted], [mounted, "--json"], [mounted, "0.01", "2"], ["--help"]):
        with open("/dev/full", "w") as full:
            command = [os.fspath(word) for word in (FOLDSTAT, *args)]
            done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
        assert done.returncode == 1
        assert done.stderr == "foldstat: standard output: No space left on device\n"


# --- the command line -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "args, reason",
    [
        ([], "MOUNTPOINT is missing"),
        (["/m", "1", "2", "3"], "unexpected argument '3'"),
        (["/m", "0"], "INTERVAL '0' is not a number of seconds, from 0.01 to 86400"),
        (["/m", ""], "an argument is empty"),
        (["/m", "."], "INTERVAL '.' is not"),
        (["/m", "nan"], "INTERVAL 'nan' is not"),
        (["/m", "1e3"], "INTERVAL '1e3' is not"),
        (["/m", "86401"], "INTERVAL '86401' is not"),
        (["/m", "1", "0"], "COUNT '0' is not a number of lines, from 1 up"),
        (["/m", "1", "1.5"], "COUNT '1.5' is not"),
        (["/m", "1", "99999999999999999999"], "COUNT '99999999999999999999' is not"),
        (["--order", "f"], "MOUNTPOINT is missing"),
        (["--order", "f", "/m", "1"], "'--order' takes no INTERVAL"),
        (["--prometheus", "/m", "1"], "'--prometheus' takes no INTERVAL"),
        (["-w", "/m", "1", "2"], "'--watch' takes no COUNT"),
        (["--order", "f", "--json", "/m"], "only one of '--watch', '--json', '--prometheus' and"),
        (["-w", "--prometheus"], "only one of '--watch', '--json', '--prometheus' and '--order'"),
    ],
)
def test_wrong_words_are_usage_errors(args, reason):
    done = run(FOLDSTAT, *args, status=2)
    assert done.out == ""
    assert done.err.startswith(f"foldstat: {reason}")
    assert done.err.endswith("; see 'foldstat --help'\n")
