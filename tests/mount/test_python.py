"""The module `foldfs` of Python: mounts that end with a block, or with the process; stats, orders,
and errors in the words of the tools."""

import contextlib
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import foldfs
import pictures
import server
import trees
from foldfs import BUILD, FOLDFS, FOLDSTAT, NOBODY, PATIENCE, ROOT, as_user, is_root, needs, run
from oracle import needs_torch

HERE = Path(__file__).resolve().parent
SCRIPTS = HERE / "python_scripts"

pytest_plugins = ["everywhere"]

pytestmark = pytest.mark.skipif(not os.access("/dev/fuse", os.R_OK | os.W_OK),
                                reason="no /dev/fuse for this user")


@pytest.fixture
def runtime(place):
    """Where private folders are made; none may be left."""
    path = place / "runtime"
    path.mkdir(mode=0o700)
    yield path
    # A killed multiprocessing leaves folders of its own.
    assert [name for name in os.listdir(path) if not name.startswith("pymp-")] == []


@pytest.fixture
def environment(runtime):
    """XDG_RUNTIME_DIR goes with the last logout: no private mount is there."""
    (runtime.parent / "login").mkdir(mode=0o700)
    return {**os.environ, "PATH": f"{BUILD}:{os.environ['PATH']}", "TMPDIR": str(runtime),
            "XDG_RUNTIME_DIR": str(runtime.parent / "login"),
            "PYTHONPATH": f"{ROOT / 'python'}:{HERE / 'oracle_scripts'}",
            "PYTHONDONTWRITEBYTECODE": "1"}


@pytest.fixture
def python(environment, place):
    """python(code, *words, status=0): runs a program that may import foldfs."""

    def start(code, *words, **options):
        return run(sys.executable, "-c", "import os, sys, foldfs\n" + code, *words, cwd=place,
                   env={**environment, **options.pop("variables", {})}, **options)

    return start


@pytest.fixture
def begin(environment, place):
    """begin(*words): a Python that runs beside the test; foldfs is then its child."""
    with contextlib.ExitStack() as stack:

        def start(*words, **options):
            process = stack.enter_context(subprocess.Popen(
                [sys.executable, *map(os.fspath, words)], env=environment, cwd=place, bufsize=0,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options))
            stack.callback(process.kill)
            return process

        yield start


def line_of(process):
    """Importing torch, in each of its workers too, takes long on a busy machine."""
    assert select.select([process.stdout], [], [], 5 * PATIENCE)[0], "it says nothing"
    return process.stdout.readline().decode().strip()


def foldfs_of(pid):
    [found] = [child for child, words in foldfs.children(pid).items()
               if words and os.path.basename(words[0]) == b"foldfs"]
    return found


def message(code):
    """A program that prints the error of an expression."""
    return f"try:\n    {code}\nexcept foldfs.Error as error:\n    print(error.status, error)"


HOLD = """import foldfs, sys, time
with foldfs.mounted(sys.argv[1]) as path:
    print(path, flush=True)
    time.sleep(1000)
"""


# --- mounts that end ----------------------------------------------------------------------


def test_a_block_has_a_private_mount(small, python, runtime):
    done = python("""
with foldfs.mounted(sys.argv[1]) as path:
    print(path)
    print(os.path.ismount(path), open(path + "/file").read(), end="")
    print(oct(os.lstat(os.path.dirname(path)).st_mode))
print(os.path.exists(path))
""", small[1])
    path, *lines = done.out.splitlines()
    assert Path(path).parent == runtime
    assert lines == ["True content", "0o40700", "False"] and done.err == ""


STORIES = {
    "an exception passes and unmounts": ("""
try:
    with foldfs.mounted(PACK) as path:
        open(path + "/file").read()
        raise KeyError("mine")
except KeyError as error:
    print(error, os.path.exists(path))
""", "'mine' False"),
    "it may be kept and closed like a file": ("""
mount = foldfs.mounted(PACK)
print(os.listdir(mount) == os.listdir(mount.path))
mount.close()
mount.close()
print(os.path.exists(mount.path))
""", "True False"),
    "where a cell of a notebook runs again, the mount that the name had ends": ("""
for _ in range(3):
    train = foldfs.mounted(PACK)
print(os.listdir(os.environ["TMPDIR"]) == [os.path.basename(train.path)])
""", "True"),
    "other processes get its path": ("""
import pickle
with foldfs.mounted(PACK) as path:
    mount = foldfs.mounted(PACK)
    other = pickle.loads(pickle.dumps(mount))
    print(other.path == os.fspath(other) == mount.path != path, len(pickle.dumps(mount)) < 200)
    with pickle.loads(pickle.dumps(other)) as again:  # of a handle, too
        print(again == mount.path)
    other.close()
    print(os.path.ismount(mount.path))
""", "True True True True"),
    "a copy keeps the mount and does not end it, as of the attribute of a dataset": ("""
import copy, gc
class Data:
    def __init__(self): self.mount = foldfs.mounted(PACK)
for how in copy.copy, copy.deepcopy:
    data = how(Data().mount)
    gc.collect()
    path = data.path
    data.close()
    print(os.path.ismount(path), open(os.path.join(data, "file")).read())
    del data
    gc.collect()
    print(os.path.exists(path))
""", "True content False True content False"),
    "a file that is still open can be read": ("""
with foldfs.mounted(PACK) as path:
    file = open(path + "/large", "rb")
print(os.path.exists(path), len(file.read()))
""", f"False {2 * foldfs.MIB}"),
    "forked processes use it and do not end it": ("""
with foldfs.mounted(PACK) as path:
    mount = foldfs.mounted(PACK)
    for end in (mount.close, sys.exit):
        if os.fork() == 0:
            open(path + "/file").read()
            end()
            os._exit(0)
        os.wait()
    print(os.path.exists(mount.path + "/file"), os.path.exists(path + "/file"))
""", "True True"),
    "without a standard error it ends as ever, as in a daemon": ("""
os.close(2)
sys.stderr = None  # as Python sets it if there is none when it starts
mount = foldfs.mounted(PACK)
mount.close()
print(os.path.exists(mount.path))
""", "False"),
    "what is refused leaves no file open either": ("""
foldfs.mounted(PACK).close()
try:
    foldfs.mounted("missing")
except foldfs.Error:
    print("refused")
""", "refused"),
    "keywords are options": ("""
with foldfs.mounted(PACK, pool=32 << 20, oracle=False, preload=True, noexec=None,
                    select=["file", "folder"], options=["--readahead=0"]) as path:
    print(*sorted(foldfs.stats(path)["options"]))
""", "oracle=off pool=33554432 preload readahead=0 select=file select=folder"),
    "a mount follows an order": ("""
with foldfs.mounted(PACK) as path:
    for order in [path + "/large", "file", "folder/other"], []:
        foldfs.order(path, order)
        print(foldfs.stats(path)["oracle"]["files"])
""", "3 0"),
    "relative paths begin at the mount and those of datasets here": ("""
class Files:
    samples = [("here/folder/other", 0)]
with foldfs.mounted(PACK, at="here") as path:
    foldfs.order("here", ["folder/other", "./file"])
    foldfs.order("here/", [0, 0], Files())
    print(foldfs.stats(path)["oracle"]["files"])
""", "1"),
    "a loader tells its order before each epoch": ("""
class Loader(list):
    told = 0
with foldfs.mounted(PACK) as path:
    loader = foldfs.ordered(path, Loader(["file", "folder/other"]))
    print(len(loader), *loader, *loader, foldfs.stats(path)["oracle"]["files"])
try:
    list(foldfs.ordered(path, ["file"]))
except foldfs.Error as error:
    print("refused")
""", "2 file folder/other file folder/other 2 refused"),
    "no secret of a URL is shown": ("""
from foldfs._mounts import _shown
for pack in "https://u:p@h/a?sig=1", "val/=HTTP://u:p@h/x", "s3://b/k?y", "a/b?c":
    print(_shown(pack))
""", "'https://h/a' 'val/=HTTP://h/x' 's3://b/k?y' 'a/b?c'"),
    "the module has what it says and no more": ("""
import types
print([name for name in dir(foldfs) if isinstance(getattr(foldfs, name), types.ModuleType)])
print(sorted(foldfs.__all__ + ["__version__"]) == sorted(dir(foldfs)))
""", "[] True"),
}


@pytest.mark.parametrize("story", STORIES)
def test_it_is_so_that(small, python, story):
    code, said = STORIES[story]
    done = python("PACK = sys.argv[1]\n" + code, small[1],
                  variables={"PYTHONWARNINGS": "always::ResourceWarning"})
    assert done.out.split() == said.split()
    assert "unclosed" not in done.err or "open(" in code, "the module has left a file open"


def test_a_pack_may_have_any_name(small, python, place):
    names = ["-x.lmdb", b"\xff.lmdb", "\udcfe.lmdb"]
    for name in names:
        os.link(small[1], os.path.join(os.fsencode(place), os.fsencode(name)))
    done = python(f"""
for name in {names!r}:
    for pack in name, [name]:
        with foldfs.mounted(pack, at=b"at", options="-v") as path:
            print(path, open(path + "/file").read(), end="")
""")
    assert done.out == f"{place}/at content\n" * 6


def test_it_shows_what_it_is(small, images, python):
    done = python("""
import pickle
mount = foldfs.mounted(sys.argv[1:])
print(repr(mount).replace(mount.path, "PATH"))
print(repr(pickle.loads(pickle.dumps(mount))).replace(mount.path, "PATH"))
mount.close()
print(repr(mount).replace(mount.path, "PATH"))
""", small[1], images[1])
    packs = f"'{small[1]}', '{images[1]}'"
    assert done.out.splitlines() == [f"<foldfs.mounted {packs} on 'PATH'>", "<foldfs mount 'PATH'>",
                                     f"<foldfs.mounted {packs} closed, was on 'PATH'>"]


@pytest.mark.parametrize("end", ["pass", "sys.exit(3)", "raise ValueError"])
def test_the_interpreter_s_end_unmounts(small, python, end):
    python(f"foldfs.mounted(sys.argv[1]); keep = foldfs.mounted(sys.argv[1])\n{end}", small[1],
           status=None)


def test_mounts_in_mounts_and_packs_as_one(small, images, python):
    done = python("""
with foldfs.mounted(sys.argv[1]) as one, foldfs.mounted(sys.argv[1:]) as two:
    with foldfs.mounted(sys.argv[1], subdir="folder") as three:
        print(sorted(os.listdir(one)), sorted(os.listdir(two)), os.listdir(three))
""", small[1], images[1])
    names = [sorted(os.listdir(source)) for source in (small[0], images[0])]
    assert done.out == f"{names[0]} {sorted(names[0] + names[1])} ['other']\n"


def test_a_named_folder_is_shared_and_removed(small, place, begin):
    """Closing does not wait for others."""
    hold = """import foldfs, sys, time
mount = foldfs.mounted(sys.argv[1], at="at")
print(mount.path, flush=True)
sys.stdin.readline()
began = time.monotonic()
mount.close()
print(time.monotonic() - began < 2.5, *map(open, sys.argv[2:]), flush=True)
"""
    first = begin("-c", hold, small[1], "at/file", stdin=subprocess.PIPE)
    assert line_of(first) == str(place / "at")
    server = foldfs_of(first.pid)
    second = begin("-c", hold, small[1], stdin=subprocess.PIPE)
    assert line_of(second) == str(place / "at")
    first.stdin.close()
    assert line_of(first).startswith("True <"), "the second still uses it"
    first.wait(PATIENCE)
    assert foldfs.is_mounted(place / "at")
    second.stdin.close()
    assert second.wait(PATIENCE) == 0
    assert foldfs.wait_for(server) == 0
    assert not (place / "at").exists()


# --- what ends it, and what does not ------------------------------------------------------


def test_a_killed_process_takes_its_mount_with_it(small, begin, runtime):
    process = begin("-c", HOLD, small[1])
    path = Path(line_of(process))
    server = foldfs_of(process.pid)
    process.kill()
    process.wait(PATIENCE)  # until then, foldfs is its child
    assert foldfs.wait_for(server) is not None
    assert not foldfs.is_mounted(path) and not path.exists()


def test_signals_for_the_whole_job_leave_the_mount_to_python(small, begin):
    """As Ctrl-C sends them, and batch systems: the job may still need the mount."""
    signals = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT]
    process = begin("-c", """import foldfs, signal, sys, threading
arrived = threading.Event()
for signo in map(int, sys.argv[2:]):
    signal.signal(signo, lambda *_: arrived.set())
with foldfs.mounted(sys.argv[1]) as path:
    print(path, flush=True)
    for _ in sys.argv[2:]:
        while not arrived.wait(0.05):  # a signal may come before the wait begins
            pass
        arrived.clear()
        print(open(path + "/file").read(), end="", flush=True)
    sys.stdin.readline()
""", small[1], *(str(int(signo)) for signo in signals), stdin=subprocess.PIPE)
    path = line_of(process)
    server = foldfs_of(process.pid)
    job = {pid: foldfs.children(pid) for pid in (server, process.pid)}
    for signo in signals:
        for pid in {server, process.pid}.union(*job.values()):
            os.kill(pid, signo)
        assert line_of(process) == "content"
        assert {pid: foldfs.children(pid) for pid in job} == job, "one has ended"
    process.communicate(b"\n", timeout=PATIENCE)
    assert process.returncode == 0
    assert not os.path.exists(path)


def test_ctrl_c_unmounts(small, begin):
    process = begin("-c", HOLD, small[1], start_new_session=True)
    path = line_of(process)
    os.killpg(process.pid, signal.SIGINT)
    assert b"KeyboardInterrupt" in process.communicate(timeout=PATIENCE)[1]
    assert not os.path.exists(path)


@is_root
def test_ctrl_c_while_it_mounts(begin, gate):
    """The pack's storage does not answer. Nothing may stay."""
    gate.shut()
    process = begin("-c", "import foldfs, sys\nfoldfs.mounted(sys.argv[1])", gate.path,
                    start_new_session=True)
    gate.wait_for_reader()
    os.killpg(process.pid, signal.SIGINT)
    assert b"KeyboardInterrupt" in process.communicate(timeout=PATIENCE)[1]


def begin_and_kill(begin, pack):
    """A program in its block, whose foldfs is dead; and the path of the mount."""
    process = begin("-c", """import foldfs, sys
with foldfs.mounted(sys.argv[1]) as path:
    print(path, flush=True)
    sys.stdin.readline()
""", pack, stdin=subprocess.PIPE)
    path = line_of(process)
    os.kill(foldfs_of(process.pid), signal.SIGKILL)
    return process, path


def test_a_killed_foldfs_leaves_no_dead_mount(small, begin):
    process, path = begin_and_kill(begin, small[1])
    process.stdin.close()
    assert process.wait(PATIENCE) == 0
    assert not foldfs.is_mounted(path)


@is_root
@needs("umount")
def test_nor_where_root_has_no_fusermount3(small, begin, environment, place):
    """Who may mount needs none."""
    (place / "bin").mkdir()
    for name in ("foldfs", "umount"):
        os.symlink(BUILD / name if name == "foldfs" else shutil.which(name), place / "bin" / name)
    environment["PATH"] = str(place / "bin")
    process, path = begin_and_kill(begin, small[1])
    assert process.communicate(b"\n", timeout=PATIENCE)[1] == b""
    assert not foldfs.is_mounted(path)


# --- loaders ------------------------------------------------------------------------------


# A forkserver and its workers are programs of their own, as those that are spawned.
@needs_torch
@needs("openssl")
@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_workers_of_a_loader_read_two_epochs(everywhere, images, environment, start, place):
    mounts = everywhere.mounts.values()
    done = run(sys.executable, SCRIPTS / "epochs.py", f"{start}:2", *map(json.dumps, mounts),
               env={**environment, **everywhere.environment, "HOME": str(place)}, cwd=place)
    first, both = map(json.loads, done.out.splitlines())
    assert both == [list(range(65 * len(mounts)))] * 2
    assert first["stats"]["pack"]["files"] == 64 and first["stats"]["requests"]["open"] > 0
    assert not any(map(os.path.exists, first["mounts"]))


@needs_torch
@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_a_killed_job_and_its_workers_take_the_mount_with_them(images, begin, start):
    process = begin(SCRIPTS / "epochs.py", f"{start}:2", "--pause",
                    json.dumps({"pack": str(images[1])}), start_new_session=True)
    path = Path(json.loads(line_of(process))["mounts"][0])
    server = foldfs_of(process.pid)
    process.kill()
    process.wait(PATIENCE)  # until then, foldfs is its child
    assert foldfs.wait_for(server) is not None
    assert not foldfs.is_mounted(path) and not path.exists()
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


# --- orders -------------------------------------------------------------------------------


@needs_torch
def test_the_order_of_a_loader_is_what_it_reads_next(images, environment, place):
    """A foldstat of the test's own keeps what it is told."""
    (place / "bin").mkdir()
    (place / "bin/foldstat").write_text(f"#!/bin/sh\ncat > {place}/told\n")
    (place / "bin/foldstat").chmod(0o755)
    environment["PATH"] = f"{place}/bin:{environment['PATH']}"
    done = run(sys.executable, SCRIPTS / "orders.py", images[0], place / "told", env=environment)
    kinds = json.loads(done.out)
    assert len(kinds) == 17
    for kind, epochs in kinds.items():
        assert len(epochs) == 3
        for told, read in epochs:
            assert told == read and len(told) > 3 and told != sorted(told), kind


# --- errors -------------------------------------------------------------------------------


@pytest.mark.parametrize("pack, status", [("missing", 1), ("/etc/passwd", 1), ("damaged", 3)])
def test_an_error_is_what_foldfs_says(small, python, place, point, pack, status):
    damaged = bytearray(small[1].read_bytes())
    damaged[len(damaged) // 2:] = b""
    (place / "damaged").write_bytes(damaged)
    said = run(FOLDFS, pack, point, cwd=place, status=None)
    done = python(message("foldfs.mounted(sys.argv[1])"), pack)
    assert done.out == f"{said.returncode} {said.err.partition('foldfs: ')[2]}"
    assert said.returncode == status


@pytest.mark.parametrize("code, said", [
    ("foldfs.mounted(PACK, pol='8G')",
     "2 unknown option '--pol'; did you mean '--pool'?; see foldfs --help\n"),
    ("path = foldfs.mounted(PACK); foldfs.order(path, ['file', 'nowhere'])",
     "1 /dev/stdin: line 2: 'nowhere' is not in the pack"),
    ("os.environ['PATH'] = '/nowhere'; foldfs.mounted('x')",
     "127 foldfs: not in PATH, and not installed with this module\n"),
    ("foldfs.pack('tree', 'x.lmdb', shard_done='x')",
     "1 shard_done: no pack is left to describe then"),
    ("foldfs.mounted(PACK, at='')",
     "2 an argument is empty, as of a variable that is not set; see foldfs --help\n"),
    ("foldfs.mounted(PACK, umask=0o077)", "2 umask: its octal digits as text, '077'"),
    ("foldfs.mounted(PACK, fuse=False)", "1 a process that runs already cannot get a folder "
     "without FUSE: start it by 'python -m foldfs run --no-fuse"),
    ("foldfs.order('/', [3, 1])", "0 these are indices: give their dataset, too\n"),
])
def test_what_is_wrong_is_said(small, python, code, said):
    done = python("PACK = sys.argv[1]\n" + message(code) +
                  "\nexcept TypeError as error:\n    print(0, error)", small[1])
    assert done.out.startswith(said)


@pytest.mark.parametrize("words, call", [
    (["/"], "stats('/')"),
    (["--order=/dev/stdin", "/"], "order('/', ['file'])"),
])
def test_an_error_is_what_foldstat_says(python, words, call):
    said = run(FOLDSTAT, *words, status=1)
    done = python(message(f"foldfs.{call}"))
    assert done.out == f"1 {said.err.partition('foldstat: ')[2]}"


@is_root
@needs("setpriv")
def test_where_mounting_is_refused_foldfs_says_why(small, place, environment, device_for_users):
    """foldfs would still mount for a command, which a running Python cannot be."""
    own = place / "own"
    own.mkdir(mode=0o700)
    os.chown(own, NOBODY, NOBODY)
    program = "import foldfs, sys\n" + message("foldfs.mounted(sys.argv[1], at=sys.argv[2])")
    done = run(*as_user(NOBODY), "--no-new-privs", sys.executable, "-c", program, small[1], own,
               cwd="/", env=environment)
    assert done.out.startswith(f"1 {own}: fusermount3 cannot become root here")
    assert "or use the form 'foldfs PACK MOUNTPOINT -- COMMAND'" in done.out


def test_messages_of_a_mount_come_out_at_once(small, begin, place):
    damaged = bytearray(small[1].read_bytes())
    at = damaged.index(b"other content\n")
    damaged[at] ^= 1
    (place / "damaged").write_bytes(damaged)
    process = begin("-c", """import foldfs, sys
with foldfs.mounted("damaged") as path:
    try:
        open(path + "/folder/other").read()
    except OSError as error:
        print(error.errno, foldfs.stats(path)["log"], flush=True)
    sys.stdin.readline()
    print("ends")
""", stdin=subprocess.PIPE)
    text = f"{place}/damaged: 'folder/other' at 0: checksum mismatch"
    assert line_of(process) == f"5 {[text]}"
    foldfs.wait_for_line(process.stderr, re.escape(f"foldfs: {text}\n").encode())
    assert process.communicate(b"\n", timeout=PATIENCE) == (b"ends\n", b"")


WITHOUT_AUTHORITIES = """
for folder in /etc/ssl /etc/pki; do
    if [ -d "$folder" ]; then mount -t tmpfs tmpfs "$folder" || exit; fi
done
exec "$@"
"""


@is_root
@needs("openssl", "unshare")
def test_the_authorities_of_certifi_are_trusted_where_the_system_has_none(small, python, place,
                                                                          environment):
    code = """import types
sys.modules["certifi"] = types.SimpleNamespace(where=lambda: sys.argv[2])
with foldfs.mounted(sys.argv[1]) as path:
    print(open(path + "/file").read(), end="")
"""
    far = server.Server(small[1].parent, place / "server",
                        tls=server.make_certificate(place, "IP:127.0.0.1"))
    far.start()
    try:
        words = far.url(small[1].name), place / "ca.crt"
        unset = dict.fromkeys(["AWS_CA_BUNDLE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE",
                               "SSL_CERT_FILE"], "")
        assert python(code, *words, variables=unset, status=1).err
        hidden = run("unshare", "--mount", "sh", "-c", WITHOUT_AUTHORITIES, "sh", sys.executable,
                     "-c", "import sys, foldfs\n" + code, *words, cwd=place,
                     env={**environment, **unset})
        assert hidden.out == "content\n"
        other = {**unset, "SSL_CERT_FILE": str(place / "nothing")}
        assert "cannot be read" in python(code, *words, variables=other, status=1).err
    finally:
        far.stop()


# --- packs -------------------------------------------------------------------------------


def image_tree(place):
    jpegs = [pictures.jpeg(pictures.noise((40 + more, 30))) for more in range(2)]
    for name, content in {"cat/1.jpg": jpegs[0], "dog/1.jpg": jpegs[1],
                          "dog/bad.jpg": b"\xff\xd8\xff\xe0cut off"}.items():
        trees.write(place / "tree" / name, content)
    return place / "tree"


def test_a_folder_is_packed_looked_at_checked_and_made_again(python, place):
    tree = image_tree(place)
    done = python("""
made = foldfs.pack("tree", "t.lmdb", check="header", on_bad="skip", dedup=True, exclude=["*.txt"],
                   progress=lambda done, total: print(done, total))
print(made["files"], made["skipped"], made["options"].split(), made["bytes_in"] > 0)
there = foldfs.info("t.lmdb")
print({name: made[name] for name in there} == there)
print([(one["pack"], one["files"], one["bad"]) for one in foldfs.verify("t.lmdb", "t.lmdb")])
foldfs.extract("t.lmdb", "again", "dog")
""")
    assert done.out.splitlines() == [
        "3 3", "2 1 ['exclude=*.txt', 'dedup=yes', 'check=header'] True", "True",
        "[('t.lmdb', 2, []), ('t.lmdb', 2, [])]"]
    assert "dog/bad.jpg" in done.err and "packed into" not in done.err
    assert os.listdir(place / "again") == ["dog"]
    assert (place / "again/dog/1.jpg").read_bytes() == (tree / "dog/1.jpg").read_bytes()


def test_a_warning_is_passed_on_whatever_its_file_is_called(python, place):
    """Also where that reads like a summary, or like progress."""
    for name in ("a: 3 files, b in 1.0 s", "packing: 3 files, {"):
        (place / "tree" / name).mkdir(parents=True)
        (place / "tree" / name / "x.jpg").write_bytes(b"no picture")
    (place / "tree/text").write_text("good")
    done = python("""
foldfs.pack("tree", "t.lmdb", check="header", on_bad="skip", progress=lambda *at: print(at))
foldfs.verify("t.lmdb", progress=lambda *at: print(at))
""")
    assert done.err.count("x.jpg: ") == 2 and done.out == "(3, 3)\n(1, 1)\n"


def test_shards_and_parts_are_packs_too(python, place):
    image_tree(place)
    done = python("""
foldfs.pack("tree", "[s].lmdb", exclude=["dog"], check="off")
made = foldfs.pack("tree", "[s].lmdb", shard_size=1 << 20, check="off")
print(made["files"], made["path"])
print(foldfs.pack(b"tree", b"p.lmdb", part="1/2", check="off")["path"])
""")
    shards, part = done.out.splitlines()
    assert shards.startswith("3 [[]s]-*-of-0000") and part == "p-00001-of-00002.lmdb"


def test_what_fails_has_the_reason_and_the_status(python, place):
    image_tree(place)
    done = python(message("foldfs.pack('tree', 't.lmdb', check='header')"))
    assert done.out.startswith("1 t.lmdb: not made, as 1 input is damaged") and not done.err.count(
        "not made")
    assert os.listdir(place).count("t.lmdb") == 0
    done = python(message("foldfs.pack('tree', 't.lmdb', dedupe=True)"))
    assert done.out.startswith("2 unknown option '--dedupe'; did you mean '--dedup'?")
    python("foldfs.pack('tree', 't.lmdb', check='off')")
    damaged = bytearray((place / "t.lmdb").read_bytes())
    damaged[damaged.index(b"\xff\xd8\xff") + 4] ^= 1
    (place / "d.lmdb").write_bytes(damaged)
    done = python(message("foldfs.verify('d.lmdb')"))
    assert re.match(r"3 d.lmdb: (cat|dog)/\w+.jpg: ", done.out)


def options_of(name, *words):
    return {found.replace("-", "_") for found in re.findall(
        r"^(?: {2}-\w, | {6})--([a-z_-]+)", run(BUILD / name, *words, "--help").out, re.M)}


def test_the_keywords_are_the_options_of_the_commands(python):
    done = python("""
import json
from foldfs import _types
print(json.dumps({name: sorted(getattr(_types, name).__annotations__) for name in (
    "ReadOptions", "PackOptions", "MountOptions")}))
""")
    keywords = {name: set(names) for name, names in json.loads(done.out).items()}
    talk = {"help", "version", "quiet"}
    shared = options_of("foldpack") - talk
    assert keywords["ReadOptions"] == shared
    assert keywords["PackOptions"] - shared == options_of("foldpack", "create") - talk - {
        "verbose", "json", "progress", "progress_json", "shard_done"}
    assert keywords["MountOptions"] == options_of("foldfs") - talk - {"mkdir", "no_fuse"}


def test_values_of_keywords_are_what_they_say(small, python):
    done = python("""
class Somewhere:
    def __fspath__(self):
        return "file"
for select in (Somewhere(), b"file", [Somewhere(), b"file"], {"file"}, iter(["file"])):
    with foldfs.mounted(sys.argv[1], select=select) as path:
        print(*os.listdir(path))
""", small[1])
    assert done.out == "file\n" * 5


def test_what_is_returned_has_the_members_that_its_type_names(small, python, place):
    far = server.Server(small[1].parent, place / "server").start()
    try:
        done = python("""
def check(value, kind):
    print(*sorted(set(kind.__required_keys__) - set(value)),
          *sorted(set(value) - set(kind.__annotations__)), "none")
for pack, cache in ((sys.argv[1], None), (sys.argv[2], "cache")):
    with foldfs.mounted(pack, cache_dir=cache) as path:
        check(foldfs.stats(path), foldfs.Stats)
check(foldfs.info(sys.argv[1]), foldfs.PackInfo)
check(foldfs.verify(sys.argv[1])[0], foldfs.Verified)
""", small[1], far.url(small[1].name))
    finally:
        far.stop()
    assert done.out == "none\n" * 4


def test_the_module_runs_the_commands(small, python, environment):
    def module(*words, status=0):
        return run(sys.executable, "-m", "foldfs", *words, env=environment, status=status)

    assert "file\n" in module("foldpack", "list", small[1]).out
    said = module("run", "--no-fuse", small[1], "/dev/fd/0", "--", "true", status=2).err
    assert "'--no-fuse' needs a folder" in said
    assert "foldpack|foldfs|foldstat" in module(status=2).err


@needs("mypy")
def test_types_are_strict(place):
    run("mypy", "--strict", "--cache-dir", place / "cache", SCRIPTS / "typed.py",
        env={**os.environ, "MYPYPATH": str(ROOT / "python")})


# --- cost ---------------------------------------------------------------------------------


def test_importing_takes_less_than_20_ms(environment):
    """Of a processor: other tests run beside this one. numpy alone takes more."""
    program = "import time; t = time.process_time(); import foldfs; print(time.process_time() - t)"
    environment.pop("PYTHONDONTWRITEBYTECODE")
    environment["PYTHONPYCACHEPREFIX"] = environment["TMPDIR"] + "/../cache"
    times = [float(run(sys.executable, "-c", program, env=environment).out) for _ in range(5)]
    assert min(times) < 0.02
