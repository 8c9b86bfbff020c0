"""Who may look into a mount; and a writable layer over it, for frameworks that write beside
their images."""

import contextlib
import json
import os
import subprocess
import sys

import pytest

import foldfs
import trees
from foldfs import FOLDFS, NOBODY, PATIENCE, SOMEBODY, as_user, is_mounted, is_root, needs, run

pytestmark = [is_root, needs("setpriv", "unshare")]

READ_ALL = 'cd "$0" && find . -type f -print0 | sort -z | xargs -0 cat | sha256sum'


def test_others_are_denied(small, mount):
    mounted = mount(small[1])
    done = run(*as_user(SOMEBODY), "ls", mounted, status=2)
    assert "Permission denied" in done.err


@needs("fusermount3")
def test_even_root_is_denied_a_user_s_mount(small, place, mount, device_for_users):
    (place / "own").mkdir()
    os.chown(place / "own", SOMEBODY, SOMEBODY)
    mounted = mount(small[1], at=place / "own", uid=SOMEBODY)
    with pytest.raises(PermissionError):
        os.listdir(mounted)
    run(*as_user(SOMEBODY), "ls", mounted)


NO_PROCESS = "a process: Resource temporarily unavailable; allow more tasks ('ulimit -u')"
NO_THREADS = "threads: Resource temporarily unavailable; allow more tasks ('ulimit -u') or " \
             "address space ('ulimit -v'), or where this job got its limits"


def has_no_tasks(uid):
    """A zombie is one: of this process, as a daemon that could not start, or of another."""
    tasks = run("ps", "-o", "pid=", "-u", str(uid), status=None).out.split()
    for pid in tasks:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(int(pid), os.WNOHANG)
    return not tasks


@pytest.fixture
def no_tasks():
    foldfs.wait_until(lambda: has_no_tasks(SOMEBODY))
    yield
    foldfs.wait_until(lambda: has_no_tasks(SOMEBODY))


@pytest.mark.alone  # others run as that user, too
@needs("fusermount3", "prlimit")
@pytest.mark.parametrize("tasks, said", [
    # LeakSanitizer needs one when the program ends.
    pytest.param(1, NO_PROCESS, marks=pytest.mark.plain),
    pytest.param(3, NO_THREADS, marks=pytest.mark.plain),  # none for fusermount3, either
    (8, NO_THREADS)])
def test_a_limit_of_tasks_is_named_with_the_way_out(small, place, device_for_users, no_tasks,
                                                    tasks, said):
    (place / "own").mkdir()
    os.chown(place / "own", SOMEBODY, SOMEBODY)
    done = run(*as_user(SOMEBODY), "prlimit", f"--nproc={tasks}", FOLDFS, small[1], place / "own",
               status=1)
    assert done.err == f"foldfs: {place}/own: cannot start {said}\n"
    assert not is_mounted(place / "own")


def test_two_users_read_the_same_at_once(bulk, mount):
    source, pack = bulk
    mounted = mount(pack, "--allow_other", "--pool=8M")
    want = run("sh", "-c", READ_ALL, source).out
    readers = [subprocess.Popen([*as_user(uid), "sh", "-c", READ_ALL, mounted],
                                stdout=subprocess.PIPE, text=True)
               for uid in (NOBODY, SOMEBODY) * 4]
    assert [reader.communicate(timeout=PATIENCE)[0] for reader in readers] == [want] * 8


def test_others_see_counters_but_no_paths_seeds_and_messages(small, mount):
    mounted = mount(small[1], "-o", "allow_other", "--subdir=folder")
    done = run(*as_user(SOMEBODY), sys.executable, "-c",
               "import os, sys; print(os.getxattr(sys.argv[1], 'user.foldfs.stats').decode())",
               mounted)
    seen, whole = json.loads(done.out), mounted.stats()
    assert whole.keys() - seen.keys() == {"subdir", "options", "log"}
    assert whole["oracle"].keys() - seen["oracle"].keys() == {"list", "seed"}
    assert seen["id"] == whole["id"] and seen["requests"]["getxattr"] > 0
    assert run(*as_user(SOMEBODY), foldfs.FOLDSTAT, mounted).out.startswith("pack")


def test_others_change_nothing(small, mount):
    mounted = mount(small[1], "--allow_other", "--umask=0", f"--uid={SOMEBODY}")
    done = run(*as_user(SOMEBODY), "touch", mounted / "new", status=1)
    assert "Read-only file system" in done.err


# --- a writable layer ---------------------------------------------------------------------

# A framework's label cache beside the images, a changed label, a removed image, a new one.
WRITE = """set -e
cd "$1"
echo cached > folder/labels.cache
echo changed > file
rm program
mkdir new && cp large new/copy
cmp large new/copy
test "$(cat folder/other)" = "other content"
ls -R . | sha256sum
"""


def layers(place):
    for name in ("upper", "work", "merged"):
        (place / name).mkdir()
    return f"upperdir={place}/upper,workdir={place}/work"


def check_layers(source, mounted, upper):
    assert (upper / "folder/labels.cache").read_text() == "cached\n"
    assert (upper / "file").read_text() == "changed\n"
    assert trees.content(mounted) == trees.content(source)


def test_a_writable_overlay(small, place, mount):
    source, pack = small
    mounted = mount(pack)
    options = f"lowerdir={mounted.path},{layers(place)}"
    run("mount", "-t", "overlay", "-o", options, "none", place / "merged")
    try:
        run("sh", "-c", WRITE, "sh", place / "merged")
        assert (place / "merged/new/copy").read_bytes() == (source / "large").read_bytes()
        assert not (place / "merged/program").exists()
        check_layers(source, mounted, place / "upper")
    finally:
        run("umount", place / "merged")

def test_an_overlay_in_a_user_namespace(small, place, device_for_users):
    """Without root: foldfs and the overlay in one namespace, which both end with."""
    probe = run(*as_user(SOMEBODY), "unshare", "--user", "--map-root-user", "--mount", "true",
                status=None)
    if probe.returncode != 0:
        pytest.skip("users may not make user namespaces here")
    options = f"lowerdir={place}/mnt,{layers(place)},userxattr"
    (place / "mnt").mkdir()
    for name in ("mnt", "upper", "work", "merged"):
        os.chown(place / name, SOMEBODY, SOMEBODY)
    script = f"""mount -t overlay -o "$0" none "$1" || exit 66
        {WRITE}
        cd / && umount "$1" """
    # The command form. Were the overlay left mounted, foldfs would wait for it for a while.
    done = run(*as_user(SOMEBODY), "unshare", "--user", "--map-root-user", "--mount",
               foldfs.FOLDFS, "-q", small[1], place / "mnt", "--", "sh", "-c", script, options,
               place / "merged", status=None)
    if done.returncode == 66:
        pytest.skip(f"no overlay in a user namespace: {done.err.strip()}")
    assert done.returncode == 0, done.err
    assert (place / "upper/folder/labels.cache").read_text() == "cached\n"
    assert not foldfs.mount_lines(place)
