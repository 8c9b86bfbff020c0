"""Ceph's object gateway (RGW) with a store in memory: a real server of S3 that checks signatures.

Needs no root and no installation: Debian's packages are downloaded once, and unpacked below
${XDG_CACHE_HOME:-~/.cache}/foldfs/rgw. Where they cannot be had, tests skip."""

import contextlib
import fcntl
import os
import platform
import shutil
import signal
import socket
import subprocess
import uuid
from pathlib import Path

import pytest

import foldfs
import sigv4

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "foldfs/rgw"
ROOT = CACHE / "root"
LIBRARIES = ROOT / f"usr/lib/{platform.machine()}-linux-gnu"
PACKAGES = """radosgw ceph-mon ceph-osd ceph-common ceph-base librados2 librgw2 librbd1 libcephfs2
    libradosstriper1 libboost-thread1.74.0 libboost-context1.74.0 libboost-python1.74.0
    libtcmalloc-minimal4 libgoogle-perftools4 liblua5.3-0 liboath0 libaio1 libdaxctl1 libndctl6
    libpmem1 libfuse2 python3-rados python3-ceph-argparse python3-ceph-common python3-prettytable
    python3-wcwidth""".split()

CONFIG = """[global]
fsid = {fsid}
mon host = [v2:127.0.0.1:{ports[0]}/0,v1:127.0.0.1:{ports[1]}/0]
public addr = 127.0.0.1
auth cluster required = none
auth service required = none
auth client required = none
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 8
osd pool default pgp num = 8
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
mon allow pool size one = true
paxos propose interval = 0.05
paxos min wait = 0.01
osd objectstore = memstore
memstore device bytes = 2147483648
osd class dir = {libraries}/rados-classes
erasure code dir = {libraries}/ceph/erasure-code
plugin dir = {libraries}/ceph
run dir = {place}
admin socket = {place}/$name.asok
log file = {place}/$name.log
pid file = {place}/$name.pid
mon data = {place}/mon
osd data = {place}/osd
[client.rgw]
rgw frontends = beast endpoint=127.0.0.1:{ports[2]}
rgw data = {place}/rgw
rgw dns name = localhost
"""


def install():
    """Downloads and unpacks, unless it was done before. One session does it, others wait."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if ROOT.is_dir():
            return
        debs, unpacked = CACHE / "debs", CACHE / "unpacked"
        for folder in (debs, unpacked):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        subprocess.run(["apt-get", "-qq", "download", *PACKAGES], cwd=debs, check=True,
                       capture_output=True, timeout=300)
        for deb in debs.iterdir():
            subprocess.run(["dpkg", "-x", deb, unpacked], check=True)
        shutil.rmtree(debs)
        unpacked.rename(ROOT)


def free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def libraries_missing():
    found = subprocess.run(["ldd", ROOT / "usr/bin/radosgw"], env=environment(), text=True,
                           capture_output=True, check=True)
    return [line.split()[0] for line in found.stdout.splitlines() if "not found" in line]


def environment():
    return os.environ | {
        "LD_LIBRARY_PATH": f"{LIBRARIES}:{LIBRARIES}/ceph:{ROOT}/lib/{LIBRARIES.name}",
        "PATH": f"{ROOT}/usr/bin:{os.environ['PATH']}",
        "PYTHONPATH": f"{ROOT}/usr/lib/python3/dist-packages"}


class Gateway:
    """A server with one user, KEYS, and one bucket."""

    KEYS = sigv4.Keys("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
    BUCKET = "photos"

    def __init__(self, place):
        self.place, self.ports = place, free_ports(3)
        self.endpoint = f"http://127.0.0.1:{self.ports[2]}"
        self.store = sigv4.Store(self.endpoint, self.KEYS)

    def run(self, program, *words):
        return foldfs.run(ROOT / "usr/bin" / program, "-c", self.place / "ceph.conf", *words,
                          env=environment())

    def start(self):
        cluster, disk = str(uuid.uuid4()), str(uuid.uuid4())
        for name in ("mon", "osd", "rgw"):
            (self.place / name).mkdir(parents=True)
        (self.place / "ceph.conf").write_text(CONFIG.format(
            fsid=cluster, ports=self.ports, libraries=LIBRARIES, place=self.place))
        monmap = self.place / "monmap"
        addresses = f"[v2:127.0.0.1:{self.ports[0]},v1:127.0.0.1:{self.ports[1]}]"
        self.run("monmaptool", "--create", "--addv", "a", addresses, "--fsid", cluster, monmap)
        self.run("ceph-mon", "--mkfs", "-i", "a", "--monmap", monmap)
        self.run("ceph-mon", "-i", "a")
        self.run("ceph", "osd", "new", disk)
        self.run("ceph-osd", "-i", "0", "--mkfs", "--osd-uuid", disk)
        self.run("ceph-osd", "-i", "0")
        gateway = ("-n", "client.rgw", "--ms_mon_client_mode=crc")
        self.run("radosgw", *gateway)
        self.run("radosgw-admin", *gateway, "user", "create", "--uid=t", "--display-name=t",
                 f"--access-key={self.KEYS.access}", f"--secret-key={self.KEYS.secret}")
        foldfs.wait_until(lambda: listens(self.ports[2]))
        self.store.create(self.BUCKET)

    def stop(self):
        for file in self.place.glob("*.pid"):
            pid = int(file.read_text())
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            foldfs.wait_for(pid)


@pytest.fixture(scope="session")
def rgw(session_dir):
    """A Gateway, which ends with the session."""
    try:
        install()
    except (OSError, subprocess.SubprocessError) as error:
        pytest.skip(f"Ceph's packages cannot be downloaded: {error}")
    if libraries_missing():
        pytest.skip(f"Ceph's gateway needs {' '.join(libraries_missing())}")
    gateway = Gateway(session_dir / "rgw")
    try:
        gateway.start()
        yield gateway
    finally:
        gateway.stop()
