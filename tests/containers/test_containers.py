"""A folder without a mount (--no-fuse) in containers of Docker, containerd and Podman, as Debian
has them (run.sh). Nothing of them is installed; they have a namespace of mounts and one of networks
of their own, and images are an empty folder with this system's /usr."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import foldfs
import trees
from foldfs import FOLDFS, NOBODY, ROOT, run, wait_until
from test_nofuse import HERE, content, hold_imagefolder

UNPACKED = Path(os.environ["FOLDFS_CONTAINERS"])
PROGRAMS = UNPACKED / "usr/bin"
ENVIRON = {**os.environ, "PATH": f"{PROGRAMS}:{UNPACKED}/usr/sbin:{os.environ['PATH']}",
           "LD_LIBRARY_PATH": f"{UNPACKED}/usr/lib/x86_64-linux-gnu"}
# Of Podman and CRI-O, and so the RuntimeDefault of the latter's pods.
PROFILE = UNPACKED / "usr/share/containers/seccomp.json"
NEW_PRIVILEGES = "--security-opt=no-new-privileges"

KINDS = {
    "root": [],
    "root, no new privileges": [NEW_PRIVILEGES],
    "user": [f"--user={NOBODY}"],
    "restricted pod": [f"--user={NOBODY}", "--cap-drop=all", NEW_PRIVILEGES, "--read-only"],
}


def program(name, *words):
    """With the libraries that are unpacked beside it."""
    return ["env", *(f"{key}={ENVIRON[key]}" for key in ("PATH", "LD_LIBRARY_PATH")),
            PROGRAMS / name, *words]


@pytest.fixture(scope="session")
def image(session_dir):
    """A folder to be the root."""
    root = session_dir / "image"
    for name in ("etc/alternatives", "proc", "sys", "dev", "tmp", "usr", ROOT.relative_to("/"),
                 session_dir.relative_to("/")):
        (root / name).mkdir(parents=True, exist_ok=True)
    for name in ("bin", "sbin", "lib", "lib64"):
        (root / name).symlink_to(f"usr/{name}")
    run("cp", "/etc/passwd", "/etc/group", "/etc/ld.so.cache", root / "etc")
    return root


@pytest.fixture(scope="session")
def options(session_dir):
    """Where all is as outside, but only the folder of the tests can be written to."""
    volumes = [f"--volume={path}:{path}:ro" for path in ("/usr", "/etc/alternatives", ROOT)]
    return ["--rm", "--network=none", f"--env=PYTHONPATH={HERE}", *volumes,
            f"--volume={session_dir}:{session_dir}"]


@pytest.fixture(scope="session")
def docker(session_dir, image, options):
    """What stands before the options and the command of a container."""
    folder = session_dir / "docker"
    socket = folder / "socket"
    folder.mkdir()
    client = program("docker", "-H", f"unix://{socket}")
    with open(folder / "log", "wb") as log, subprocess.Popen(
            ["unshare", "--mount", "--net", UNPACKED / "usr/sbin/dockerd",
             "-H", f"unix://{socket}", "--data-root", folder / "data", "--exec-root",
             folder / "run", "--pidfile", folder / "pid", "--iptables=false", "--bridge=none",
             "--storage-driver=vfs"], stdout=log, stderr=log, env=ENVIRON) as daemon:
        try:
            wait_until(lambda: daemon.poll() is None and
                       run(*client, "version", status=None).returncode == 0)
            run("sh", "-c", 'tar -C "$0" -c . | "$@" import - image', image, *client)
            yield lambda *words: [*client, "run", *options, *words, "image"]
        finally:
            daemon.terminate()
            daemon.wait(foldfs.PATIENCE)


@pytest.fixture(scope="session")
def podman(session_dir, image, options):
    """The same, after the name of a runtime. Podman's hybrid mode of control groups lacks crun."""
    folder = session_dir / "podman"
    folder.mkdir()
    lines = ["[engine]", f'conmon_path=["{PROGRAMS}/conmon"]', 'cgroup_manager="cgroupfs"',
             'events_logger="none"', "[engine.runtimes]"]
    for name in ("crun", "runc"):
        (folder / name).write_text(
            f"#!/bin/sh\nLD_LIBRARY_PATH={ENVIRON['LD_LIBRARY_PATH']} exec {PROGRAMS}/{name} "
            '"$@"\n')
        (folder / name).chmod(0o755)
        lines.append(f'{name}=["{folder / name}"]')
    (folder / "conf").write_text("\n".join(lines) + "\n")
    state = [f"--{name}={folder / name}" for name in ("root", "runroot", "tmpdir")]
    before = ["unshare", "--mount", "sh", "-c",
              'umount /sys/fs/cgroup/unified 2>/dev/null; exec "$@"', "sh", "env",
              f"CONTAINERS_CONF={folder / 'conf'}", *program("podman", *state)]
    limits = ["--ulimit=nofile=1024:1024", "--ulimit=nproc=1000:1000"]  # of who runs the tests
    return lambda runtime, *words: [
        *before, "--storage-driver=vfs", f"--runtime={runtime}", "run", *options, *limits,
        f"--security-opt=seccomp={PROFILE}", *words, "--rootfs", image]


@pytest.fixture(params=["docker", "crun", "runc"])
def begin(request):
    """begin(*words): what stands before the command in a container with its usual profile. That
    of this Docker refuses process_vm_readv(2)."""
    if request.param != "docker":
        podman = request.getfixturevalue("podman")
        return lambda *words: podman(request.param, *words)
    return request.getfixturevalue("docker")


@pytest.fixture(params=KINDS)
def contained(request, begin, point):
    os.chown(point, NOBODY, NOBODY)
    return begin(*KINDS[request.param])


def test_the_job_sees_what_was_packed(contained, images, point):
    source, pack = images
    assert content(pack, point, before=contained) == trees.content(source)


def test_imagefolder_cannot_tell_it_from_the_source(contained, images, point):
    hold_imagefolder(images, point, "fork:2", "spawn:2", before=contained)


def test_a_mount_is_refused_with_the_way_out(begin, small, point):
    assert "foldfs --no-fuse PACK DIR -- COMMAND" in run(*begin(), FOLDFS, small[1], point,
                                                         status=1).err


def test_docker_stop_is_a_signal_to_the_job(docker, small, point):
    script = "trap 'echo got it; exit 5' TERM; echo began; while :; do sleep 0.05; done"
    words = docker("--name=stopped")
    client = words[:words.index("run")]
    with subprocess.Popen([*words, FOLDFS, "--no-fuse", "-q", small[1], point, "--", "sh", "-c",
                           script], stdout=subprocess.PIPE) as container:
        assert container.stdout.readline() == b"began\n"
        run(*client, "stop", "stopped")
        assert container.stdout.read() == b"got it\n"
        assert container.wait(foldfs.PATIENCE) == 5
