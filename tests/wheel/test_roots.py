"""The wheel in bare roots of other systems, as a user has it who may install nothing: pip, a pack,
and epochs from a disk and from servers of every kind.

The roots are made once, in /var/tmp/foldfs-wheel-SUITE, of 300 to 400 MB each; removed, they are
made anew. Needs root and debootstrap."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

import foldfs
from foldfs import ROOT, is_root, needs, run

pytest_plugins = ["everywhere"]
pytestmark = [is_root, needs("debootstrap"), needs("unshare"),
              pytest.mark.usefixtures("device_for_users")]

DEBIAN, UBUNTU = "http://deb.debian.org/debian", "http://archive.ubuntu.com/ubuntu"
SUITES = {  # the version of Python, where from
    "bullseye": ("3.9", DEBIAN, "main"),
    "bookworm": ("3.11", DEBIAN, "main"),
    "trixie": ("3.13", DEBIAN, "main"),
    "focal": ("3.8", UBUNTU, "main,universe"),
}
USER = 1000
HOME = "home/user"

# In a mount namespace where the root is a mount, as a container's is.
ENTER = f"""cd "$0" && mount --bind . . && cd "$0" && mount -t proc proc proc &&
mount --rbind /dev dev && exec chroot --userspec={USER}:{USER} . env -i HOME=/{HOME} \
PATH=/{HOME}/env/bin:/usr/bin:/bin sh -c 'cd; exec "$@"' sh env "$@"
"""

EPOCHS = """import json, os, random, sys
import foldfs
with foldfs.mounted(**json.loads(sys.argv[1])) as path:
    files = [os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names]
    for epoch in range(2):
        random.shuffle(files)
        read = 0
        for name in files:
            with open(name, "rb") as file:
                read += len(file.read())
    print(len(files), read)
assert not os.path.exists(path)
"""


class Root:
    def __init__(self, suite):
        self.version, self.mirror, self.components = SUITES[suite]
        self.suite, self.path = suite, Path(f"/var/tmp/foldfs-wheel-{suite}")
        self.home = self.path / HOME

    def make(self):
        """fusermount3 reads /etc/mtab, which an installed system has."""
        subprocess.run(["debootstrap", "--variant=minbase", f"--components={self.components}",
                        "--include=python3-venv,fuse3", self.suite, self.path, self.mirror],
                       check=True, stdout=subprocess.DEVNULL)
        (self.path / "etc/mtab").unlink(missing_ok=True)
        (self.path / "etc/mtab").symlink_to("/proc/self/mounts")
        run("chroot", self.path, "useradd", "--uid", str(USER), "user")
        (self.path / "made").touch()

    def clear(self):
        """The user has nothing."""
        shutil.rmtree(self.home, ignore_errors=True)
        self.home.mkdir()
        os.chown(self.home, USER, USER)

    def give(self, *files):
        """Copies files and folders into the home."""
        for file in files:
            run("cp", "-a", "--no-preserve=ownership", file, self.home)
        run("chown", "-R", "-h", f"{USER}:{USER}", self.home)

    def run(self, *words, **environment):
        return run("unshare", "--mount", "sh", "-c", ENTER, self.path,
                   *(f"{name}={value}" for name, value in environment.items()), *words).out


@pytest.fixture(scope="module", params=SUITES)
def root(request):
    root = Root(request.param)
    if not (root.path / "made").exists():
        shutil.rmtree(root.path, ignore_errors=True)
        root.make()
    root.clear()
    return root


@pytest.fixture
def installed(root):
    if not (root.home / "env/bin/foldfs").exists():
        pytest.fail("the wheel is not installed")
    return root


def test_pip_installs_it(root):
    [wheel] = (ROOT / "dist").glob(f"foldfs-*{os.uname().machine}*.whl")
    root.give(wheel)
    root.run("python3", "-m", "venv", "env")
    root.run("env/bin/pip", "install", "--quiet", "--no-index", wheel.name)
    assert root.run("python", "--version").startswith(f"Python {root.version}.")
    assert root.run("foldfs", "--version").startswith("foldfs ")


def test_a_folder_is_packed_and_made_again(installed, images):
    installed.give(images[0])
    installed.run("python", "-c", """import foldfs
assert foldfs.pack("images", "made.lmdb")["files"] == 64
assert foldfs.pack("images", "jpegs.lmdb", check="decode", include=["*.JPEG"])["files"] > 0
assert foldfs.verify("made.lmdb")[0]["bad"] == []
foldfs.extract("made.lmdb", "again")
""")
    assert run("diff", "-r", images[0], installed.home / "again").out == ""


@pytest.mark.parametrize("kind", ["file", "https", "s3", "hf", "gs"])
def test_epochs_are_read(installed, images, everywhere, kind):
    keywords = everywhere.mounts[kind]
    for name in {"file": ["pack"], "https": ["ca_file"]}.get(kind, []):
        installed.give(keywords[name])
        keywords[name] = os.path.basename(keywords[name])
    files = [path for path in images[0].rglob("*") if path.is_file()]
    said = installed.run("python", "-c", EPOCHS, json.dumps(keywords), **everywhere.environment)
    assert said.split() == [str(len(files)), str(sum(path.stat().st_size for path in files))]
