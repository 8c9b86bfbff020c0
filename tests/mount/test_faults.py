"""Storage that hangs or fails under a mounted pack: whoever waits can be killed, errors reach
only the readers that they concern, and the mount can always be ended."""

import concurrent.futures
import errno
import os
import signal
import subprocess

import pytest

import foldfs
import trees
from foldfs import MIB, PATIENCE, is_mounted, is_root, wait_until
from gate import Gate

pytestmark = is_root


@pytest.fixture
def behind(gate, mount):
    """A mount of the pack behind the gate. Failures do not pass."""
    return mount(gate.path, "-f", "--readahead=0", "--retry=0", "--grace=0")


def reader(path):
    return subprocess.Popen(["cat", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@pytest.mark.parametrize("most", [1000, 4096, 70000])
def test_short_reads_are_completed(small, gate, mount, most):
    gate.most = most
    assert trees.content(mount(gate.path, "-f", "--retry=0")) == trees.content(small[0])


def test_a_reader_that_is_stopped_holds_up_nobody(small, behind):
    with reader(behind / "large") as stopped:
        stopped.send_signal(signal.SIGSTOP)
        assert trees.content(behind) == trees.content(small[0])
        stopped.send_signal(signal.SIGCONT)
        assert stopped.communicate(timeout=PATIENCE)[0] == (small[0] / "large").read_bytes()


def test_a_daemon_that_was_stopped_goes_on(bulk, mount):
    """As in a machine or a container that is suspended."""
    mounted = mount(bulk[1], "-f")
    with subprocess.Popen(["tar", "-cf", "-", "-C", mounted, "."],
                          stdout=subprocess.PIPE) as tar:
        tar.stdout.read(MIB)
        mounted.process.send_signal(signal.SIGSTOP)
        assert mounted.wait(1) is None
        mounted.process.send_signal(signal.SIGCONT)
        tar.communicate(timeout=PATIENCE)
        assert tar.returncode == 0
    assert trees.content(mounted) == trees.content(bulk[0])
    assert mounted.stats()["bad_files"] == 0


@pytest.mark.parametrize("signo", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_reader_that_waits_can_be_killed(small, gate, behind, signo):
    gate.shut()
    with reader(behind / "file") as waiting:
        gate.wait_for_reader()
        waiting.send_signal(signo)
        assert waiting.wait(PATIENCE) == -signo
    gate.open()
    assert trees.content(behind) == trees.content(small[0])
    assert behind.stats()["bad_files"] == 0


def test_a_reader_with_o_direct_that_waits_can_be_killed(gate, behind):
    gate.shut()
    with subprocess.Popen(["dd", f"if={behind / 'large'}", "of=/dev/null", "iflag=direct", "bs=1M"],
                          stderr=subprocess.DEVNULL) as waiting:
        try:
            gate.wait_for_reader()
            waiting.kill()
            assert waiting.wait(PATIENCE / 6) == -signal.SIGKILL
        finally:
            gate.open()


def test_a_killed_reader_does_not_take_others_along(small, gate, behind):
    gate.shut()
    with reader(behind / "large") as killed, reader(behind / "large") as other:
        gate.wait_for_reader()
        killed.kill()
        assert killed.wait(PATIENCE) == -signal.SIGKILL
        gate.open()
        assert other.communicate(timeout=PATIENCE)[0] == (small[0] / "large").read_bytes()
        assert other.returncode == 0


def look_around(mounted):
    """What needs no storage, if it has "program" in memory."""
    assert mounted.requests()["read"]
    assert not os.path.exists(mounted / "missing")
    assert len(os.listdir(mounted)) == 4
    return (mounted / "program").read_bytes()


@pytest.mark.parametrize("remembered", [True, False])
def test_waiting_readers_do_not_hold_up_the_rest(small, place, mount, remembered):
    """No thread that serves is blocked by reads, nor by storage that does not even give the pack's
    attributes, as a server that died: names, attributes and stats are answered, and what the
    kernel has is served."""
    with Gate(small[1].read_bytes(), place / "gate", remembered) as gate:
        behind = mount(gate.path, "-f", "--readahead=0", "--retry=0", "--threads=2")
        want = (behind / "program").read_bytes()
        gate.shut()
        with concurrent.futures.ThreadPoolExecutor(33) as threads:
            try:
                jobs = [threads.submit((behind / n).read_bytes) for n in ("file", "large") * 16]
                for _ in range(2):
                    gate.wait_for_reader()
                assert threads.submit(look_around, behind).result(PATIENCE / 6) == want
                assert not any(job.done() for job in jobs)
            finally:
                gate.open()
            assert all(job.result(PATIENCE) for job in jobs)
        behind.close()


class GoneOnceMounted(Gate):
    """Storage that hangs from the moment that something is mounted at `point`."""

    point = None

    def is_shut(self):
        if self.point and is_mounted(self.point):
            self.point = None
            self.shut()
        return super().is_shut()


def test_storage_that_hangs_once_the_mount_is_made_does_not_hold_up_the_start(small, place, point):
    with GoneOnceMounted(small[1].read_bytes(), place / "gate", remembered=False) as gate:
        gate.point = point
        mounted = foldfs.Mount(gate.path, point, ["--retry=0"])
        with concurrent.futures.ThreadPoolExecutor(1) as threads:
            try:
                threads.submit(mounted.start).result(PATIENCE / 6)
                want = sorted(os.listdir(small[0]))
                assert sorted(threads.submit(os.listdir, point).result(PATIENCE / 6)) == want
            finally:
                gate.open()
        mounted.close()


def test_a_complete_copy_is_served_whatever_its_storage_does(small, place, mount):
    with Gate(small[1].read_bytes(), place / "gate", remembered=False) as gate:
        mounted = mount(gate.path, "-f", "--readahead=0", "--threads=2",
                        f"--cache-dir={place / 'cache'}")
        (mounted / "program").read_bytes()
        (mounted / "large").read_bytes()
        wait_until(lambda: mounted.stats()["disk_cache"]["state"] == "complete")
        gate.shut()
        with concurrent.futures.ThreadPoolExecutor(1) as threads:
            try:
                want = trees.content(small[0])
                assert threads.submit(trees.content, mounted).result(PATIENCE / 6) == want
            finally:
                gate.open()
        mounted.close()


def test_readers_of_one_file_share_one_read(gate, behind):
    """Ways to the same bytes that miss the kernel's cache: direct I/O."""
    gate.shut()
    before = behind.stats()["device"]["reads"]

    def read_directly():
        fd = os.open(behind / "file", os.O_RDONLY | os.O_DIRECT)
        try:
            return os.pread(fd, 4096, 0)
        finally:
            os.close(fd)

    with concurrent.futures.ThreadPoolExecutor(16) as threads:
        jobs = [threads.submit(read_directly) for _ in range(16)]
        gate.wait_for_reader()
        wait_until(lambda: behind.requests()["read"] >= 16)
        gate.open()
        assert {job.result(PATIENCE) for job in jobs} == {b"content\n"}
    assert behind.stats()["device"]["reads"] - before == 1


def test_a_read_error_is_the_reader_s_and_passes(small, gate, behind):
    gate.error = errno.EIO
    with pytest.raises(OSError) as raised:
        (behind / "large").read_bytes()
    assert raised.value.errno == errno.EIO
    with pytest.raises(OSError):
        (behind / "large").read_bytes()
    stats = behind.stats()
    assert stats["device"]["errors"] >= 1
    assert stats["bad_files"] == 1
    # The disk is well again: an error is not remembered as content.
    gate.error = 0
    assert trees.content(behind) == trees.content(small[0])
    behind.close()
    log = behind.log()
    assert log.count("\n") == 1 and "'large' at 0: Input/output error" in log


def test_a_dying_disk_does_not_fill_the_log(place, mount):
    (place / "many").mkdir()
    for number in range(100):
        (place / "many" / f"{number:03}").write_bytes(trees.noise(number, 5000))
    pack = foldfs.pack(place / "many", place / "many.lmdb").read_bytes()
    with Gate(pack, place / "gate") as gate:
        mounted = mount(gate.path, "-f", "--readahead=0", "--retry=0")
        for name in os.listdir(mounted):
            os.stat(mounted / name)
        gate.error = errno.EIO
        for name in os.listdir(mounted):
            with pytest.raises(OSError):
                (mounted / name).read_bytes()
        assert mounted.stats()["bad_files"] == 100
        mounted.close()
        lines = mounted.log().splitlines()
        assert len(lines) == 18 and sum("Input/output error" in line for line in lines) == 16
        assert lines[-1].endswith(
            ": 64 files could not be read so far; the first 16 were named")


@pytest.mark.parametrize("error", [errno.EIO, errno.ESTALE, errno.ETIMEDOUT, errno.EACCES,
                                   errno.EKEYEXPIRED])
def test_a_failure_of_a_server_is_waited_out(small, gate, mount, error):
    mounted = mount(gate.path, "-f", "--readahead=0")
    gate.error = error
    with reader(mounted / "large") as waiting:
        foldfs.wait_for_line(mounted.process.stderr, rb"; reads are repeated for up to 30 s\n")
        assert waiting.poll() is None
        gate.error = 0
        assert waiting.communicate(timeout=PATIENCE)[0] == (small[0] / "large").read_bytes()
    stats = mounted.stats()
    assert stats["bad_files"] == 0 and not stats["changed"]
    mounted.close()
    log = mounted.log()
    assert log.count("\n") == 1 and "can be read again, after " in log


@pytest.mark.parametrize("retry", [0, 1])
def test_a_server_that_has_lost_the_file_has_not_changed_it(small, place, mount, retry):
    """ESTALE is also what foldfs calls a pack that was written to."""
    with Gate(small[1].read_bytes(), place / "gate", remembered=False) as gate:
        mounted = mount(gate.path, "-f", "--readahead=0", f"--retry={retry}")
        gate.error = errno.ESTALE
        for gate.touched in range(2):
            with pytest.raises(OSError) as raised:
                (mounted / "large").read_bytes()
            assert raised.value.errno == errno.EIO
        assert not mounted.stats()["changed"]
        gate.error = 0
        assert trees.content(mounted) == trees.content(small[0])
        mounted.close()
        assert "'large' at 0: Stale file handle" in mounted.log()


def test_a_filesystem_that_goes_and_comes_back_is_opened_again(small, gate, mount):
    mounted = mount(gate.path, "-f", "--readahead=0")
    gate.close()
    with reader(mounted / "large") as waiting:
        foldfs.wait_for_line(mounted.process.stderr, rb"; reads are repeated")
        with Gate(gate.data, gate.folder):
            assert waiting.communicate(timeout=PATIENCE)[0] == (small[0] / "large").read_bytes()
            mounted.close()


def test_another_pack_that_comes_in_its_place_is_not_read(images, gate, mount):
    mounted = mount(gate.path, "-f", "--readahead=0", "--retry=2")
    gate.close()
    with Gate(images[1].read_bytes(), gate.folder):
        with pytest.raises(OSError) as raised:
            (mounted / "large").read_bytes()
        assert raised.value.errno == errno.EIO
        mounted.close()


def test_a_part_that_fails_is_soon_given_up(small, gate, mount):
    mounted = mount(gate.path, "-f", "--readahead=0", "--retry=3600")
    middle = gate.data.find((small[0] / "large").read_bytes()[:4096])
    gate.dead = range(middle, middle + 4096)
    with pytest.raises(OSError) as raised:
        (mounted / "large").read_bytes()
    assert raised.value.errno == errno.EIO
    assert mounted.stats()["bad_files"] == 1
    mounted.close()
    assert mounted.log().count("\n") == 1


def test_what_cannot_be_read_ahead_is_not_a_bad_file_until_somebody_asks(small, gate, mount):
    middle = gate.data.find((small[0] / "large").read_bytes()[:4096])
    gate.dead = range(middle, middle + 4096)
    mounted = mount(gate.path, "-f", "--preload", "--retry=0")
    wait_until(lambda: mounted.stats()["device"]["errors"])
    assert (mounted / "file").read_bytes() == b"content\n"
    assert mounted.stats()["bad_files"] == 0
    with pytest.raises(OSError):
        (mounted / "large").read_bytes()
    assert mounted.stats()["bad_files"] == 1
    mounted.close()
    assert mounted.log().count("\n") == 1


def test_a_mount_that_is_gone_but_waits_for_storage_leaves_the_next_alone(small, gate, mount,
                                                                          point):
    """The kernel gives the next mount the device number of the one before."""
    before = mount(gate.path, "-f", "--readahead=0", "--retry=0", "--grace=0")
    gate.shut()
    with reader(before / "file") as waiting:
        gate.wait_for_reader()
        waiting.kill()
    foldfs.unmount(point)
    after = mount(small[1], "-f")
    before.process.send_signal(signal.SIGINT)
    assert before.wait() == 0
    assert is_mounted(point)
    assert trees.content(after) == trees.content(small[0])
    gate.open()


def test_storage_that_hangs_is_not_taken_for_silence(gate, behind):
    (behind / "program").read_bytes()
    gate.shut()
    with reader(behind / "file") as waiting:
        gate.wait_for_reader()
        wait_until(lambda: behind.stats()["wait"]["oldest_ms"] >= 2000)
        said = foldfs.run(foldfs.FOLDSTAT, behind, "0.1", "2").out
        gate.open()
        assert waiting.communicate(timeout=PATIENCE)[0] == b"content\n"
    assert said.splitlines()[-2].endswith("  storage hangs")
    assert "storage does not answer: 1 read waiting, the first for " in said.splitlines()[-1]
    assert behind.stats()["wait"]["parked"] == 0


def test_storage_that_does_not_answer_is_given_up_where_that_is_wanted(small, gate, mount):
    mounted = mount(gate.path, "-f", "--readahead=0", "--io-timeout=1")
    gate.shut()
    for name in ("file", "large"):
        with pytest.raises(OSError) as raised:
            (mounted / name).read_bytes()
        assert raised.value.errno == errno.EIO
    stats = mounted.stats()
    wait = stats["wait"]
    assert wait["given_up"] >= 2 and wait["parked"] == 0
    assert wait["reads"] >= wait["given_up"] and wait["total_us"] >= 1e6 * wait["given_up"]
    assert stats["bad_files"] == 0
    gate.open()
    assert trees.content(mounted) == trees.content(small[0])
    mounted.close()
    log = mounted.log()
    assert log.count("\n") == 1 and "does not answer: reads are given up after 1 s" in log


def over_a_mount(gate, point):
    """foldfs with a command that ends with its standard input."""
    return subprocess.Popen([foldfs.FOLDFS, "--readahead=0", "--io-timeout=1", gate.path, point,
                             "--", "cat"], stdin=subprocess.PIPE, stderr=subprocess.PIPE)


def test_storage_is_looked_after_while_commands_of_others_use_the_mount(gate, point):
    """The mount is that of a foldfs whose own command has ended."""
    with over_a_mount(gate, point) as first:
        foldfs.wait_for_line(first.stderr, rb"; until COMMAND ends\n")
        with over_a_mount(gate, point) as second:
            foldfs.wait_for_line(second.stderr, rb": already mounted on ")
            first.stdin.close()
            foldfs.wait_for_line(first.stderr, rb": waiting\n")
            gate.shut()
            with reader(point / "file") as waiting:
                assert b"Input/output error" in waiting.communicate(timeout=PATIENCE)[1]
            foldfs.wait_for_line(first.stderr, rb": reads are given up after 1 s\n")
            gate.open()
            assert (point / "file").read_bytes() == b"content\n"
            second.stdin.close()
            assert second.wait(PATIENCE) == 0
        assert first.wait(PATIENCE) == 0
    assert not is_mounted(point)


@pytest.mark.slow  # half a minute each
def test_storage_that_does_not_answer_is_said_once_and_so_is_its_end(gate, behind):
    gate.shut()
    with reader(behind / "file") as waiting:
        foldfs.wait_for_line(behind.process.stderr,
                             rb": storage does not answer: a read has waited for 30 s\n")
        gate.open()
        assert waiting.communicate(timeout=PATIENCE)[0] == b"content\n"
    foldfs.wait_for_line(behind.process.stderr, rb": no read waits for storage any more\n")
    behind.close()
    assert behind.log() == ""


@pytest.mark.parametrize("hangs", [True, False])
def test_sigterm_ends_a_mount_whose_storage_hangs_or_fails(gate, mount, hangs):
    """Though readers would wait for an hour."""
    mounted = mount(gate.path, "-f", "--readahead=0", "--retry=3600", "--grace=0")
    if hangs:
        gate.shut()
    else:
        gate.error = errno.EIO
    with reader(mounted / "large") as waiting:
        if hangs:
            gate.wait_for_reader()
        else:
            foldfs.wait_for_line(mounted.process.stderr, rb"; reads are repeated")
        for _ in range(2):  # the second does not wait for open files
            mounted.process.terminate()
            wait_until(lambda: not is_mounted(mounted))
        assert mounted.wait(PATIENCE / 2) == 0
        assert waiting.wait(PATIENCE) == 1


@pytest.mark.parametrize("signo", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_mount_over_a_hanging_device_can_be_given_up(gate, place, signo):
    gate.shut()
    with subprocess.Popen([foldfs.FOLDFS, "--mkdir", gate.path, place / "new"]) as process:
        try:
            gate.wait_for_reader()
            process.send_signal(signo)
            assert process.wait(PATIENCE / 6) == -signo
        finally:
            process.kill()
            gate.open()
    assert not (place / "new").exists()


def test_a_mount_over_a_failing_device_is_refused(gate, point):
    gate.error = errno.EIO
    done = foldfs.run(foldfs.FOLDFS, gate.path, point, status=1)
    assert done.err == f"foldfs: {gate.path}: page 0: Input/output error\n"
    assert not is_mounted(point)


def test_extract_leaves_no_part_of_a_file_whose_folder_was_moved(gate, place):
    """Files of several reads, in folders of their own: at the end of the first, the folder that was
    entered last is another."""
    for name in "abcd":
        (place / "src" / name).mkdir(parents=True)
        trees.write(place / "src" / name / "large", trees.noise(1, 6 * MIB))
    gate.data = foldfs.pack(place / "src", place / "large.lmdb").read_bytes()
    gate.held = range(4 * MIB, 20 * MIB)
    gate.shut()
    command = [foldfs.FOLDPACK, "extract", gate.path, place / "out"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as extracting:
        gate.wait_for_reader()
        wait_until((place / "out/b").exists)
        os.rename(place / "out/a", place / "moved")
        gate.error = errno.EIO
        gate.open()
    assert extracting.returncode != 0
    assert os.listdir(place / "moved") == []
