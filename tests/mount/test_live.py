"""foldstat -w: a view of mounts on a terminal, which it leaves as it was."""

import contextlib
import os
import re
import signal
import subprocess
import threading

import pytest

import foldfs
import trees
from foldfs import FOLDSTAT, as_user, is_root, run
from terminal import Terminal

SYNC = 4  # a user whose mounts are those of these tests alone


@pytest.fixture
def mounted(small, mount):
    return mount(small[1])


@contextlib.contextmanager
def being_read(path):
    """A reader that reads a file again and again, and has the kernel forget it each time."""
    ended = threading.Event()

    def read():
        while not ended.is_set():
            fd = os.open(path, os.O_RDONLY)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            while os.read(fd, 1 << 20):
                pass
            os.close(fd)

    thread = threading.Thread(target=read)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def first_file(mounted):
    return os.path.join(os.fsencode(mounted), trees.files(mounted)[0])


@contextlib.contextmanager
def live(*args, before=(), **options):
    """It is quit at the end, unless it has ended."""
    with Terminal(*before, FOLDSTAT, "-w", *args, **options) as view:
        yield view
        if view.pid:
            view.press(b"q")
            assert view.end() == 0


def test_it_shows_what_a_reader_reads(bulk, mount):
    mounted = mount(bulk[1], "--cache=pool")
    with live(mounted, "0.1") as view, being_read(first_file(mounted)):
        text = view.wait_for(lambda text: re.search(r"served +[1-9][\d.]* MB/s .*[▁-█]", text))
        assert str(mounted.path) in text.splitlines()[0]
        assert os.fspath(bulk[1]) in text
        for label in ("storage", "files/s", "from memory", "waiting", "waits", "order", "epoch",
                      "pool", "read ahead", "bad files"):
            assert f"\n{label} " in text, label


@pytest.mark.parametrize("rows, columns", [(40, 120), (8, 30), (1, 1), (70, 400)])
def test_it_follows_the_size_of_the_terminal(mounted, rows, columns):
    with live(mounted, "0.1") as view:
        view.wait_for("q quit")
        view.resize(rows, columns)
        view.wait_for(lambda text: text.splitlines()[-1].startswith("q quit"[:columns])
                      and len(text.splitlines()) == rows)


@pytest.mark.parametrize("end", [
    b"q", b"\x03", signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT,
])  # fmt: skip
def test_the_terminal_is_left_as_it_was(mounted, end):
    with live(mounted, TERM="xterm") as view:
        view.wait_for("q quit")
        assert not view.is_restored() and b"\x1b[?1049h" in view.raw
        view.press(end) if isinstance(end, bytes) else view.kill(end)
        assert view.end() == 0
        assert view.is_restored()
        assert view.raw.rindex(b"\x1b[?1049l") > view.raw.rindex(b"q quit")


SHELL = """
set -m
"$1" -w "$2"
echo "it is stopped"
read line
fg
echo "it has ended"
"""


def test_it_can_be_stopped_and_goes_on(mounted):
    with Terminal("bash", "-c", SHELL, "bash", FOLDSTAT, mounted) as view:
        view.wait_for("q quit")
        view.press(b"\x1a")
        view.wait_for("it is stopped")
        assert view.is_restored()
        view.press(b"\n")
        view.wait_for(lambda text: "it is stopped" not in text and "q quit" in text)
        view.press(b"q")
        view.wait_for("it has ended")
        assert view.end() == 0


def test_keys_pause_it_and_show_help(mounted):
    with live(mounted, "0.05") as view:
        view.wait_for("nothing was read yet")
        view.press(b"p")
        view.wait_for("paused")
        asked = mounted.requests()["getxattr"]
        run("cat", mounted / "file")
        view.press(b"?")
        view.wait_for("Ctrl-L")
        view.press(b"x")
        view.wait_for(lambda text: "Ctrl-L" not in text and "nothing was read yet" in text)
        assert mounted.requests()["getxattr"] <= asked + 2  # one may have been under way
        view.press(b" ")
        view.wait_for(lambda text: "paused" not in text and "nothing was read yet" not in text)
        view.press(b"\x0c")


@pytest.fixture
def of_sync(place, small, device_for_users):
    """start(NAME): another mount of the user `sync`."""
    os.chown(place, SYNC, SYNC)
    with contextlib.ExitStack() as stack:

        def start(name):
            (place / name).mkdir()
            os.chown(place / name, SYNC, SYNC)
            return stack.enter_context(foldfs.mounted(small[1], place / name, uid=SYNC))

        yield start


def live_of_sync():
    return live(before=as_user(SYNC))


@is_root
def test_all_mounts_of_a_user_are_shown_as_they_come_and_go(of_sync):
    of_sync("one")
    with live_of_sync() as view:
        view.wait_for(lambda text: text.splitlines()[0].endswith("/one"))
        two = of_sync("two")
        view.wait_for(lambda text: "1 of 2" in text and "/two" in text)
        view.press(b"n")
        view.wait_for(lambda text: "2 of 2" in text and text.splitlines()[0].find("/two") > 0)
        view.press(b"\t")
        view.wait_for("1 of 2")
        view.press(b"N")
        view.wait_for("2 of 2")
        foldfs.unmount(two.path, SYNC)
        assert two.wait() == 0
        view.wait_for(lambda text: "/two: unmounted" in text and "of 2" not in text)


@is_root
def test_it_begins_with_the_mount_that_is_read(of_sync):
    of_sync("one")
    run(*as_user(SYNC), "cat", of_sync("two") / "file")
    of_sync("three")
    with live_of_sync() as view:
        view.wait_for(lambda text: "2 of 3" in text and text.splitlines()[0].find("/two") > 0)


@is_root
def test_without_any_mount_it_ends_with_a_message(of_sync):
    with live_of_sync() as view:
        assert view.end() == 1
        assert b"foldstat: no pack is mounted by this user; 'foldfs PACK MOUNTPOINT'" in view.raw
    one = of_sync("one")
    with live_of_sync() as view:
        view.wait_for("q quit")
        foldfs.unmount(one.path, SYNC)
        assert view.end() == 1
        assert b"foldstat: no pack is mounted any more\r\n" in view.raw
        assert view.is_restored()


def test_a_mount_that_goes_away_ends_it(mounted):
    with live(mounted, "0.05") as view:
        view.wait_for("q quit")
        foldfs.detach(mounted.path)
        assert mounted.wait() == 0
        assert view.end() == 1
        assert view.is_restored()
        assert view.raw.endswith(f"foldstat: {mounted.path}: unmounted meanwhile\r\n".encode())


def test_a_mount_whose_daemon_died_is_said(mounted):
    with live(mounted, "0.05") as view:
        view.wait_for("q quit")
        os.kill(mounted.daemon, signal.SIGKILL)
        view.wait_for("its daemon has died; 'fusermount3 -u")
    mounted.wait()
    foldfs.unmount(mounted.path)


def test_a_daemon_that_does_not_answer_holds_up_nothing(mounted):
    with live(mounted, "0.2") as view:
        view.wait_for("q quit")
        os.kill(mounted.daemon, signal.SIGSTOP)
        try:
            view.wait_for("foldfs does not answer: asked 3 s ago")
            view.press(b"h")
            view.wait_for("Ctrl-L")
            view.press(b"h")
            view.press(b"q")
            assert view.end() == 0 and view.is_restored()
        finally:
            os.kill(mounted.daemon, signal.SIGCONT)


@is_root
def test_storage_that_hangs_is_said(gate, mount):
    mounted = mount(gate.path, "-f", "--readahead=0", "--grace=0")
    os.stat(mounted / "large")
    gate.shut()
    with live(mounted, "0.2") as view, subprocess.Popen(["cat", mounted / "large"],
                                                        stdout=subprocess.DEVNULL) as reader:
        try:
            gate.wait_for_reader()
            text = view.wait_for("storage does not answer: ")
            assert re.search(r"answer: \d reads? waiting, the first for \d+ s", text)
            assert re.search(r"waiting +[1-9][\d.]* % ", text)
            assert re.search(r"waits +\d now, the first for \d", text)
            gate.open()
            assert reader.wait(foldfs.PATIENCE) == 0
            view.wait_for(lambda text: "storage does not answer" not in text)
        finally:
            gate.open()


# --- terminals ------------------------------------------------------------------------------


def test_where_the_locale_has_no_blocks_it_is_ascii(bulk, mount):
    mounted = mount(bulk[1])
    trees.content(mounted)
    with live(mounted, "0.05", LC_ALL="C") as view:
        view.wait_for(lambda text: re.search(r"served .*[.:=+*%#-]{3}", text))
        view.press(b"q")
        assert view.end() == 0
        assert view.raw.isascii()


@pytest.mark.parametrize("options", [{"TERM": "vt100"}, {"NO_COLOR": "1"}])
def test_it_is_as_well_without_colors(mounted, options):
    with live(mounted, **options) as view:
        view.wait_for("q quit")
        view.press(b"q")
        assert view.end() == 0
        assert not re.search(rb"\x1b\[[\d;]*3[1-7][;m]", view.raw)


@pytest.mark.parametrize("term", ["dumb", "nonesuch", ""])
def test_a_terminal_that_cannot_show_pages_is_refused(mounted, term):
    with live(mounted, TERM=term) as view:
        assert view.end() == 1
        assert view.is_restored()
        assert f"the terminal (TERM={term}) is unknown, or cannot show pages" in (
            view.raw.decode())


def test_what_is_no_mount_is_refused_before_there_is_a_screen(place):
    with live(place) as view:
        assert view.end() == 1
        assert view.raw.startswith(f"foldstat: {place}: not the root of a foldfs mount".encode())


def test_without_a_terminal_it_prints_lines(mounted):
    command = [os.fspath(word) for word in (FOLDSTAT, "--watch", mounted, "0.05")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        lines = [process.stdout.readline() for _ in range(5)]
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=foldfs.PATIENCE)[1] == b""
        assert process.returncode == 0
    assert b"requests/s" in lines[0] and lines[4].endswith(b"nothing read yet\n")
    said = run(FOLDSTAT, "-w", status=1).err
    assert said == "foldstat: standard output is not a terminal: name a MOUNTPOINT\n"
