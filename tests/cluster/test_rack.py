"""Eight nodes, the proxy of their rack and a store, each in a network of its own, with the
configuration of doc/examples/nginx. What the store has sent is what its interface has counted."""

import contextlib
import http.client
import json
import os
import random
import re
import signal
import socket
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import answers
import cloud
import foldfs
import server
import trees
from foldfs import FOLDFS, FOLDPACK, MIB, NOBODY, ROOT, is_root, libc, needs, run

pytestmark = [is_root, needs("ip", "nginx", "openssl"), pytest.mark.usefixtures("home")]

NODES = 8
STORE, RACK, PORT = ("10.98.0.2", 443), "10.97.0.1", 8080
NAME = "store.example.org"
CLONE_NEWNET = 0x40000000  # linux/sched.h


# --- networks -----------------------------------------------------------------------------------


class Network:
    """A network namespace, for as long as it is open."""

    def __init__(self):
        thread = threading.Thread(target=self.make)
        thread.start()
        thread.join()
        with self.inside():
            run("ip", "link", "set", "lo", "up")

    def make(self):
        assert libc.unshare(CLONE_NEWNET) == 0
        self.fd = os.open("/proc/thread-self/ns/net", os.O_RDONLY)

    def close(self):
        os.close(self.fd)

    @contextlib.contextmanager
    def inside(self):
        """What this thread does, and what it starts, happens there."""
        with open("/proc/thread-self/ns/net") as home:
            assert libc.setns(self.fd, CLONE_NEWNET) == 0
            try:
                yield
            finally:
                assert libc.setns(home.fileno(), CLONE_NEWNET) == 0

    def connect(self, other, name, here, there):
        """By a wire whose end has this name in both."""
        with self.inside():
            run("ip", "link", "add", name, "type", "veth", "peer", "name", name,
                "netns", f"/proc/{os.getpid()}/fd/{other.fd}")
        for network, address in ((self, here), (other, there)):
            with network.inside():
                run("ip", "address", "add", f"{address}/30", "dev", name)
                run("ip", "link", "set", name, "up")

    def sent(self, name):
        """Bytes, ever."""
        with self.inside():
            [link] = json.loads(run("ip", "-json", "-stats", "link", "show", name).out)
        return link["stats64"]["tx"]["bytes"]


class Cluster:
    """The rack is connected with each node and the store, which do not see each other."""

    def __init__(self):
        self.store, self.rack = Network(), Network()
        self.nodes = [Network() for _ in range(NODES)]
        with self.rack.inside():
            run("ip", "address", "add", f"{RACK}/32", "dev", "lo")
        self.rack.connect(self.store, "store", "10.98.0.1", STORE[0])
        for number, node in enumerate(self.nodes):
            gateway = f"10.99.{number}.1"
            self.rack.connect(node, f"node{number}", gateway, f"10.99.{number}.2")
            with node.inside():
                run("ip", "route", "add", "default", "via", gateway)

    def sent(self):
        return self.store.sent("store")

    def close(self):
        for network in (self.store, self.rack, *self.nodes):
            network.close()


@pytest.fixture(scope="module")
def cluster():
    cluster = Cluster()
    yield cluster
    cluster.close()


# --- the store and the proxy --------------------------------------------------------------------


@pytest.fixture(scope="module")
def data(session_dir):
    """(folder, pack): 50 MiB, most files as large as photos."""
    folder, chance = session_dir / "photos", random.Random(1)
    for number in range(450):
        size = 5 * MIB if number == 7 else chance.randrange(20_000, 200_000)
        trees.write(folder / f"c{number % 9}/{number}", trees.noise(number, size))
    (session_dir / "store").mkdir()
    return folder, foldfs.pack(folder, session_dir / "store/x.lmdb")


@pytest.fixture(scope="module")
def certificate(session_dir):
    return server.make_certificate(session_dir, f"DNS:{NAME}", "-days", "2")


@pytest.fixture
def store(cluster, data, place, certificate):
    store = server.Server(data[1].parent, place / "origin", tls=certificate, address=STORE)
    with cluster.store.inside():
        store.start()
    yield store
    store.stop()


class Rack:
    """nginx as the example has it, but for where things are."""

    def __init__(self, network, place, text):
        self.network, self.place, self.process = network, place, None
        place.mkdir(exist_ok=True)
        (place / "nginx.conf").write_text(text)

    def start(self):
        with self.network.inside():
            self.process = subprocess.Popen(
                [foldfs.find_program("nginx"), "-c", self.place / "nginx.conf",
                 "-e", self.place / "error.log", "-g", f"daemon off; pid {self.place}/pid;"],
                stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            foldfs.wait_until(self.answers)
        return self

    def answers(self):
        assert self.process.poll() is None, self.said()
        with contextlib.suppress(OSError), socket.create_connection((RACK, PORT), 1):
            return True

    def said(self):
        return (self.place / "error.log").read_text()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


@pytest.fixture
def rack(cluster, place, certificate):
    authority = certificate.with_name("ca.crt")
    text = (ROOT / "doc/examples/nginx/nginx.conf").read_text()
    for theirs, ours in {f"server {NAME}:443": f"server {STORE[0]}:443",
                         "/etc/ssl/certs/ca-certificates.crt": os.fspath(authority),
                         "/srv/": f"{place}/"}.items():
        assert theirs in text
        text = text.replace(theirs, ours)
    rack = Rack(cluster.rack, place / "rack", text).start()
    yield rack
    rack.stop()


@pytest.fixture
def proxied(rack, monkeypatch):
    monkeypatch.setenv("http_proxy", f"http://{RACK}:{PORT}")
    return rack


# --- epochs -------------------------------------------------------------------------------------

BY_PROXY, BY_URL = f"http://{NAME}/x.lmdb", f"http://{RACK}:{PORT}/x.lmdb"


def mount_on_all(cluster, mount, place, name, *options):
    mounts = []
    for number, node in enumerate(cluster.nodes):
        (place / f"mnt{number}").mkdir()
        with node.inside():
            mounts.append(mount(name, "--pool=64M", *options, at=place / f"mnt{number}"))
    return mounts


def read_all(mounts, folder, seed_of):
    """An epoch of each, side by side, shuffled by its seed."""
    right = {path: trees.digest(os.path.join(os.fsencode(folder), path))
             for path in trees.files(folder)}

    def epoch(number):
        order = sorted(right)
        random.Random(seed_of(number)).shuffle(order)
        root = os.fsencode(mounts[number])
        return [path for path in order
                if trees.digest(os.path.join(root, path)) != right[path]]
    with ThreadPoolExecutor(NODES) as pool:
        assert not any(pool.map(epoch, range(len(mounts))))


ORDERS = {"the same": lambda number: 1, "different": lambda number: number}


@pytest.mark.parametrize("orders", ORDERS)
@pytest.mark.parametrize("name", [BY_PROXY, BY_URL], ids=["http_proxy", "URL"])
def test_the_store_sends_each_byte_once(cluster, data, store, proxied, mount, place, monkeypatch,
                                        name, orders):
    if name == BY_URL:
        monkeypatch.delenv("http_proxy")
    before = cluster.sent()
    mounts = mount_on_all(cluster, mount, place, name)
    read_all(mounts, data[0], ORDERS[orders])
    size = data[1].stat().st_size
    sent = cluster.sent() - before
    asked = [range_ for status, _, range_, _, _ in store.asked() if range_ != "bytes=0-0"]
    print(f"{orders} orders, {name}: {sent / size:.4f} of the pack, {len(asked)} requests")
    assert sent <= 1.02 * size
    assert len(set(asked)) == len(asked)


def test_disk_caches_are_filled_once_for_all(cluster, data, store, proxied, place):
    def fetch(number):
        with cluster.nodes[number].inside():
            return run(FOLDPACK, "fetch", "-q", f"--cache-dir={place}/cache{number}", BY_PROXY)
    before = cluster.sent()
    with ThreadPoolExecutor(NODES) as pool:
        list(pool.map(fetch, range(NODES)))
    assert cluster.sent() - before <= 1.02 * data[1].stat().st_size


def test_jobs_of_a_node_fetch_once(cluster, data, store, proxied, place):
    before = cluster.rack.sent("node0")
    with cluster.nodes[0].inside():
        command = [FOLDPACK, "fetch", "-q", f"--cache-dir={place}/cache", BY_PROXY]
        jobs = [subprocess.Popen(command) for _ in range(2)]
    assert [job.wait() for job in jobs] == [0, 0]
    assert cluster.rack.sent("node0") - before <= 1.05 * data[1].stat().st_size


def info(cluster, name, number=0, status=0, **env):
    with cluster.nodes[number].inside():
        return run(FOLDPACK, "info", name, status=status, env=os.environ | env)


def test_a_proxy_that_restarts_has_what_it_had(cluster, data, store, proxied, mount, place):
    mounts = mount_on_all(cluster, mount, place, BY_PROXY)
    read_all(mounts[:1], data[0], ORDERS["the same"])
    proxied.stop()
    proxied.start()
    before = cluster.sent()
    read_all(mounts[1:], data[0], ORDERS["different"])
    assert cluster.sent() - before <= 0.02 * data[1].stat().st_size


def test_an_object_that_is_replaced_is_not_mixed(cluster, data, store, proxied, mount, place,
                                                 images, point):
    """The condition of each request holds for what the cache has, and for what the store sends."""
    (place / "served").mkdir()
    served = place / "served/x.lmdb"
    served.write_bytes(data[1].read_bytes())
    with cluster.store.inside():
        store.folder = served.parent
        store.restart()
    with cluster.nodes[0].inside():
        mounted = mount(BY_PROXY, "-f", "--readahead=0", "--pool=64M")
    (place / "new").write_bytes(images[1].read_bytes() + bytes(60 * MIB))
    os.replace(place / "new", served)
    with pytest.raises(OSError):
        read_all([mounted], data[0], ORDERS["the same"])
    mounted.close()
    assert "was written to while mounted; reads fail" in mounted.log()


def test_only_nodes_may_read_and_nobody_may_write(cluster, store, rack):
    def asked(host, method):
        connection = http.client.HTTPConnection(host, PORT)
        connection.request(method, "/x.lmdb", headers={"Range": "bytes=0-9"})
        return connection.getresponse().status
    with cluster.nodes[0].inside():
        assert [asked(RACK, method) for method in ("GET", "PUT", "HEAD")] == [206, 405, 405]
    with cluster.rack.inside():
        assert asked("127.0.0.1", "GET") == 403


def test_the_proxy_has_no_tunnel(cluster, store, rack):
    """Through one, nothing could be kept."""
    done = info(cluster, f"https://{NAME}/x.lmdb", https_proxy=f"http://{RACK}:{PORT}", status=1)
    assert "https_proxy" in done.err


# --- jobs ---------------------------------------------------------------------------------------


@pytest.fixture
def slurm(place, monkeypatch):
    """The programs, as if they were installed, and stand-ins for those of Slurm."""
    tools = place / "bin"
    tools.mkdir()
    for name in ("foldfs", "foldpack"):
        os.symlink(foldfs.BUILD / name, tools / name)
    for name, does in {"srun": '"$@"', "sbcast": 'cp "$2" "$3"'}.items():
        (tools / name).write_text(f"#!/bin/sh\nexec {does}\n")
        (tools / name).chmod(0o755)
    (place / "train.py").write_text("import os, sys\nprint(len(os.listdir(sys.argv[2])))\n")
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    monkeypatch.setenv("SLURM_JOB_ID", f"test.{os.getpid()}")
    monkeypatch.chdir(place)
    return tools


@needs("setpriv", "bash")
def test_what_prologs_stage_is_there_without_the_store(cluster, data, store, proxied, point, place,
                                                       slurm, monkeypatch, device_for_users):
    cache = place / "scratch"
    cache.mkdir()
    cache.chmod(0o1777)
    os.chown(point, NOBODY, NOBODY)
    for name, value in {"FOLDFS_CACHE": cache, "SLURM_JOB_UID": NOBODY,
                        "SLURM_JOB_COMMENT": f"stage:{BY_PROXY},http://{NAME}/none"}.items():
        monkeypatch.setenv(name, str(value))
    text = (ROOT / "doc/examples/slurm/stage.sh").read_text()
    (place / "stage.sh").write_text(re.sub("(?m)^(export PATH=)", rf"\1{slurm}:", text))
    before = cluster.rack.sent("node0")
    with cluster.nodes[0].inside():
        jobs = [subprocess.Popen(["bash", place / "stage.sh"]) for _ in range(2)]
    assert [job.wait() for job in jobs] == [0, 0]
    assert cluster.rack.sent("node0") - before <= 1.05 * data[1].stat().st_size
    store.stop()
    with cluster.nodes[0].inside():
        run(*foldfs.as_user(NOBODY), FOLDFS, f"--cache-dir={cache}", BY_PROXY, point, "--",
            "diff", "-r", data[0], point)


@pytest.mark.parametrize("number", [0, 1], ids=["disk cache", "sbcast"])
@needs("bash", "curl")
def test_scripts_of_jobs(cluster, data, store, proxied, place, slurm, number):
    script = re.findall("```sh\n(.*?)```", (ROOT / "doc/slurm.md").read_text(), re.S)[number]
    for theirs, ours in {"/scratch/$USER": f"{place}", "http://rack:8080": os.environ["http_proxy"],
                         "in1k.lmdb\n": "x.lmdb\n", "https://": "http://"}.items():
        script = script.replace(theirs, ours)
    with cluster.nodes[0].inside():
        assert run("bash", "-ec", script).out == "9\n"


# --- S3 -----------------------------------------------------------------------------------------

OBJECT = "s3://sets/x.lmdb"


@pytest.fixture
def bucket(cluster, data, certificate, monkeypatch):
    """Objects that only signed requests may read."""
    bucket = cloud.Cloud()
    bucket.objects["/sets/x.lmdb"] = data[1].read_bytes()
    keys, _ = bucket.session()
    for name, value in (keys.environment() | {"AWS_ENDPOINT_URL": f"http://{NAME}",
                                              "AWS_EC2_METADATA_DISABLED": "true"}).items():
        monkeypatch.setenv(name, value)
    with contextlib.ExitStack() as stack:
        with cluster.store.inside():
            stack.enter_context(answers.serve(cloud.Handler, bucket, STORE, certificate))
        yield bucket


@pytest.mark.parametrize("orders", ORDERS)
def test_signed_requests_go_through_it(cluster, data, bucket, proxied, mount, place, orders):
    """The region is the one that the store names."""
    before = cluster.sent()
    read_all(mount_on_all(cluster, mount, place, OBJECT), data[0], ORDERS[orders])
    sent = cluster.sent() - before
    print(f"{orders} orders, {OBJECT}: {sent / data[1].stat().st_size:.4f} of the pack")
    assert sent <= 1.02 * data[1].stat().st_size


def test_what_is_kept_is_only_for_those_whom_the_store_allows_it(cluster, bucket, proxied):
    info(cluster, OBJECT)
    said = info(cluster, OBJECT, 1, status=1, AWS_SECRET_ACCESS_KEY="x").err
    assert "the secret key of the environment does not belong to its access key" in said
    with cluster.nodes[2].inside():
        said = run(FOLDPACK, "info", "--anonymous", OBJECT, status=1).err
    assert "access denied (403)" in said


def test_what_the_store_says_arrives(cluster, bucket, proxied):
    assert "no such object in this bucket" in info(cluster, "s3://sets/none", status=1).err
    assert info(cluster, "s3://sets/x*").out
    bucket.end()
    ended = int(time.time())
    foldfs.wait_until(lambda: time.time() >= ended + 1)  # the signature is then another
    assert "the session of the credentials" in info(cluster, OBJECT, status=1).err
