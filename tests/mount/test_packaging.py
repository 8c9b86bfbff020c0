"""What is installed, how it is built, and the examples of doc/examples, as far as they can be tried
here: each says at its top how far."""

import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import foldfs
import trees
from foldfs import FOLDFS, NOBODY, ROOT, as_user, is_root, needs, run

EXAMPLES = ROOT / "doc/examples"


@pytest.fixture
def tools(place, monkeypatch):
    """The programs, as if they were installed: examples call them by their names."""
    (place / "bin").mkdir()
    for name in ("foldfs", "foldstat"):
        os.symlink(foldfs.BUILD / name, place / "bin" / name)
    monkeypatch.setenv("PATH", f"{place / 'bin'}:{os.environ['PATH']}")
    return place / "bin"


# --- how it is built ----------------------------------------------------------------------


@pytest.mark.plain
@needs("readelf")
@pytest.mark.parametrize("name", ["foldfs", "foldpack", "foldstat"])
def test_programs_are_hardened_and_have_a_stack_for_musl(name):
    """The search for seeds needs 8 MiB in each thread, and musl gives 128 KiB. glibc does not look
    at this."""
    said = run("readelf", "--wide", "--file-header", "--program-headers", "--dynamic",
               "--dyn-syms", foldfs.BUILD / name).out
    assert re.search(r"GNU_STACK(?: +\S+){4} +0x800000 ", said)
    if "CFLAGS" in os.environ or "LDFLAGS" in os.environ:
        pytest.skip("whoever sets CFLAGS or LDFLAGS chooses")
    assert re.search(r"Type: +DYN", said), "not position-independent"
    assert "GNU_RELRO" in said and "BIND_NOW" in said, "no full RELRO"
    assert "__stack_chk_fail" in said, "no stack protector"
    assert re.search(r"__\w+_chk\b(?<!stack_chk)", said), "no _FORTIFY_SOURCE"
    assert not re.search(r"GNU_STACK.* RWE", said), "an executable stack"


VERSIONS = {"NEWS": r"^(\S+)", "packaging/debian/changelog": r"^foldfs \((.*)-\d+\)",
            "packaging/rpm/foldfs.spec": r"(?m)^Version: +(\S+)",
            "python/foldfs/__init__.py": r'(?m)^__version__ = "(.*)"',
            "packaging/conda/recipe.yaml": r'(?m)^  version: "(.*)"',
            "packaging/spack/package.py": r'(?m)^    version\("(.*)"\)'}


@pytest.mark.parametrize("file", VERSIONS)
def test_all_say_the_same_version(file):
    [version] = re.findall(r"(?m)^VERSION +:= (\S+)", (ROOT / "Makefile").read_text())
    assert re.search(VERSIONS[file], (ROOT / file).read_text())[1] == version


# --- what is installed --------------------------------------------------------------------


@pytest.mark.plain
def test_uninstall_removes_what_install_made(place):
    words = ["make", "-C", ROOT, "-o", "all", f"DESTDIR={place}", "PREFIX=/opt"]
    env = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    run(*words, "install", env=env)
    made = {os.fspath(path.relative_to(place / "opt")) for path in place.rglob("*")
            if not path.is_dir()}
    assert {"bin/foldfs", "bin/foldpack", "bin/foldstat", "share/man/man1/foldfs.1",
            "share/doc/foldfs/LICENSE", "share/doc/foldfs/examples/slurm/prolog.sh",
            "share/bash-completion/completions/foldpack", "share/zsh/site-functions/_foldfs",
            "share/fish/vendor_completions.d/foldstat.fish",
            "lib/foldfs/foldfs-preload.so", "lib/systemd/system/foldfs@.service",
            "bin/foldfs-doctor"} <= made
    assert any(name.endswith("-packages/foldfs/doctor.py") for name in made)
    assert "share/doc/foldfs/results.csv" not in made
    run(*words, "uninstall", env=env)
    assert not [path for path in place.rglob("*") if not path.is_dir()]


@pytest.mark.plain
def test_install_brings_the_module_and_the_doctor(place):
    """Of the Python that make is told; below a prefix where that looks for none, the doctor knows
    where it is."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    run("make", "-C", ROOT, "-o", "all", f"PREFIX={place}", f"PYTHON={sys.executable}", "install",
        env=env)
    [module] = place.glob("lib/python3*/*-packages")
    assert run(place / "bin/foldfs-doctor", "--help").out.startswith("usage: foldfs-doctor")
    env |= {"PYTHONPATH": str(module), "PATH": f"{place / 'bin'}:{env['PATH']}"}
    said = run(sys.executable, "-B", "-c", "import foldfs._commands as made\n"
               "print(made.__file__, made.command('foldpack'))", env=env).out
    assert said == f"{module}/foldfs/_commands.py {place}/bin/foldpack\n"


def map_of(place, archive):
    """As the linker writes it: an archive is not linked because it was looked at."""
    path = place / "program.map"
    path.write_text(f"""Archive member included to satisfy reference by file (symbol)

{archive}(some.o)
                              build/base/io.o (some)

Discarded input sections

LOAD /usr/lib/libelsewhere.a
""")
    return path


@needs("dpkg-query", "gcc")
def test_licenses_of_what_is_linked_are_those_of_its_package(place):
    archive = run("gcc", "-print-file-name=libc.a").out.strip()
    run(sys.executable, ROOT / "packaging/licenses.py", place / "out", map_of(place, archive))
    assert {path.name for path in (place / "out").iterdir()} >= {"README", "SPDX", "glibc"}
    assert (place / "out/SPDX").read_text() == "MIT AND LGPL-2.1-or-later\n"
    assert re.search(r"\n    libc.a +glibc \S+: LGPL-2.1-or-later\n",
                     (place / "out/README").read_text())
    assert "GNU C Library" in (place / "out/glibc").read_text()


def test_a_library_that_was_built_here_has_its_text_beside_it(place):
    built = place / "built"
    built.mkdir()
    for name, text in (("libcurl.a", ""), ("copyright", "as is"), ("source", "curl 7.88-1\n")):
        (built / name).write_text(text)
    run(sys.executable, ROOT / "packaging/licenses.py", place / "out",
        map_of(place, built / "libcurl.a"))
    assert "    libcurl.a     curl 7.88-1: curl\n" in (place / "out/README").read_text()
    assert (place / "out/SPDX").read_text() == "MIT AND curl\n"
    assert (place / "out/curl").read_text() == "as is"


def test_a_library_whose_license_nobody_has_looked_at_is_refused(place):
    (place / "libnew-1.2.a").write_bytes(b"")
    done = run(sys.executable, ROOT / "packaging/licenses.py", place / "out",
               map_of(place, place / "libnew-1.2.a"), status=1)
    assert f"{place}/libnew-1.2.a: its license is not known" in done.err


def test_the_service_takes_names_with_dashes():
    """%I would make imagenet/1k of imagenet-1k."""
    unit = (ROOT / "packaging/systemd/foldfs@.service").read_text()
    assert "%I" not in unit and "${PACKS}/%i.lmdb ${MOUNTS}/%i" in unit


@needs("systemd-analyze")
def test_the_service_is_understood(tools, place):
    """systemd 252 also wants to see the programs and the manual page where it looks for them."""
    unit = (ROOT / "packaging/systemd/foldfs@.service").read_text()
    unit = re.sub("(?m)^Documentation=.*\n", "", unit)
    unit = unit.replace("ExecStart=foldfs", f"ExecStart={tools}/foldfs")
    (place / "foldfs@.service").write_text(unit)
    done = run("systemd-analyze", "verify", place / "foldfs@.service", status=None)
    if "Failed to initialize manager" in done.err:
        pytest.skip("systemd-analyze needs more than there is here")
    assert (done.returncode, done.err) == (0, "")


# --- Slurm --------------------------------------------------------------------------------


@pytest.fixture
def job(monkeypatch):
    """The variables of a job of nobody, and its folder."""
    number = f"test.{os.getpid()}"
    folder = Path("/run/foldfs", number)
    monkeypatch.setenv("SLURM_JOB_ID", number)
    monkeypatch.setenv("SLURM_JOB_UID", str(NOBODY))
    yield folder
    for line in foldfs.mount_lines(folder):
        foldfs.detach(line.path)
    shutil.rmtree(folder, ignore_errors=True)
    with contextlib.suppress(OSError):
        folder.parent.rmdir()


def script_for(tools, name, place):
    """It sets PATH by itself; foldfs is not there."""
    text = (EXAMPLES / "slurm" / name).read_text()
    script = place / name
    script.write_text(re.sub(r"(?m)^(export PATH=)", rf"\1{tools}:", text))
    return script


@is_root
@needs("setpriv", "bash", "fusermount3")
def test_prolog_mounts_and_epilog_unmounts(small, place, tools, job, monkeypatch,
                                           device_for_users):
    source, pack = small
    monkeypatch.setenv("SLURM_JOB_COMMENT", f"foldfs:{pack},{place}/missing.lmdb")
    run("bash", script_for(tools, "prolog.sh", place))
    done = run(*as_user(NOBODY), "cat", job / "small/file")
    assert done.out == "content\n" and not (job / "missing").exists()
    run("bash", script_for(tools, "epilog.sh", place))
    assert not job.exists()


@is_root
@needs("setpriv", "bash", "fusermount3")
def test_epilog_unmounts_nothing_that_the_user_put_in_the_way(small, place, tools, job, point,
                                                              monkeypatch, device_for_users):
    """root would follow a link to a mount that is not of this job."""
    monkeypatch.setenv("SLURM_JOB_COMMENT", f"foldfs:{small[1]}")
    run("bash", script_for(tools, "prolog.sh", place))
    with foldfs.mounted(small[1], point):
        script = """cd "$1" && fusermount3 -u small && while ! ln -sT "$2" small 2>&-; do :; done
            touch -- -x "a b" && mkdir sub && touch sub/file"""
        run(*as_user(NOBODY), "sh", "-c", script, "sh", job, point)
        run("bash", script_for(tools, "epilog.sh", place))
        assert foldfs.is_mounted(point) and (point / "file").exists()
    assert not job.exists()


@needs("bash")
def test_prolog_and_epilog_leave_other_jobs_alone(place, tools, job, monkeypatch):
    monkeypatch.setenv("SLURM_JOB_COMMENT", "something else")
    for name in ("prolog.sh", "epilog.sh"):
        run("bash", script_for(tools, name, place))
    assert not job.exists()


@needs("bash")
def test_a_job_step_has_its_mount(small, place, tools, monkeypatch):
    (tools / "srun").write_text('#!/bin/sh\nexec "$@"\n')
    (tools / "srun").chmod(0o755)
    (place / "train.py").write_text(
        "import sys, os\nprint(open(os.path.join(sys.argv[2], 'file')).read(), end='')\n")
    monkeypatch.setenv("TRAIN", os.fspath(place / "train.py"))
    monkeypatch.setenv("TMPDIR", os.fspath(place))
    monkeypatch.setenv("SLURM_JOB_ID", "1")
    assert run("bash", EXAMPLES / "slurm/job.sh", small[1]).out == "content\n"
    assert not (place / "foldfs.1").exists()


# --- containers ---------------------------------------------------------------------------

RECEIVE_DEVICE = """import os, socket, sys
with socket.socket(fileno=int(sys.argv[1])) as parent:
    _, [fd], _, _ = socket.recv_fds(parent, 1, 1)
os.set_inheritable(fd, True)
os.execv(sys.argv[2], [*sys.argv[2:], f"/dev/fd/{fd}"])
"""


@is_root
@needs("unshare", "setpriv")
def test_a_sidecar_takes_the_device_from_its_parent(small, point):
    """As with Apptainer and CSI drivers: the parent mounts, and sends the descriptor to a foldfs
    that has no privileges, and namespaces of its own where neither the mount nor /dev/fuse is."""
    source, pack = small
    fd = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={fd},rootmode=40000,user_id=0,group_id=0,default_permissions,allow_other"
    assert foldfs.libc.mount(b"pack", os.fsencode(point), b"fuse.foldfs", 7,
                             options.encode()) == 0
    parent, child = socket.socketpair()
    script = f'umount -l {point}; mount --bind /dev/null /dev/fuse; exec "$@"'
    command = ["unshare", "--mount", "--ipc", "--uts", "sh", "-c", script, "sh",
               *as_user(NOBODY), "--no-new-privs", "--bounding-set=-all", sys.executable, "-c",
               RECEIVE_DEVICE, str(child.fileno()), FOLDFS, "-f", "--umask=022", pack]
    with parent, subprocess.Popen(command, pass_fds=[child.fileno()],
                                  stderr=subprocess.PIPE) as sidecar:
        child.close()
        socket.send_fds(parent, [b"x"], [fd])
        os.close(fd)
        try:
            foldfs.wait_for_line(sidecar.stderr, rb"mounted by the caller")
            assert trees.content(point) == trees.content(source)
            run(*as_user(NOBODY), "cat", point / "file")
        finally:
            foldfs.detach(point)
        assert sidecar.wait(foldfs.PATIENCE) == 0


@is_root
@needs("unshare", "nsenter")
def test_a_mount_of_one_container_is_seen_in_another(small, place):
    """The folder between them is shared, as with rshared and Bidirectional."""
    packs = place / "packs"
    packs.mkdir()
    script = f"""set -e
        mount --bind {packs} {packs} && mount --make-shared {packs}
        unshare --mount --propagation unchanged \
            {FOLDFS} -q --mkdir -o allow_other,umask=022 {small[1]} {packs}/small
        unshare --mount --propagation slave cat {packs}/small/file
        umount {packs}/small
    """
    assert run("unshare", "--mount", "sh", "-c", script).out == "content\n"


# --- what make needs ----------------------------------------------------------------------


@needs("dpkg-query", "apt-get")
@pytest.mark.parametrize("words", [{}, {"DEPS": "no"}, {"DEPS": ""}])
def test_nothing_is_installed_unless_that_is_said(place, words):
    """What is missing is named, with both ways out."""
    (place / "bin").mkdir()
    for name in ("dpkg-query", "apt-get", "sudo"):
        (place / "bin" / name).write_text(f"#!/bin/sh\n: >{place}/{name}-was-run\n")
        (place / "bin" / name).chmod(0o755)
    env = {name: value for name, value in os.environ.items() if name != "DEPS"}
    env["PATH"] = f"{place / 'bin'}:{env['PATH']}"
    done = run("sh", ROOT / "tests/deps.sh", "demo", status=1, env=env | words)
    assert "missing: gcc make " in done.err and "'make demo DEPS=yes' installs them" in done.err
    assert "apt-get install --no-install-recommends gcc make " in done.err
    assert [path.name for path in place.glob("*-was-run")] == ["dpkg-query-was-run"]


def test_make_is_silent_about_a_compiler_that_is_yet_to_be_installed():
    """A bare system has none when DEPS=yes is said."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    assert run("make", "-C", ROOT, "-n", "CC=no-such-compiler", "help", env=env).err == ""
