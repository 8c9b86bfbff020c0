"""Loose objects below a prefix, of servers that fail (bucket.py), of a real one (rgw.py), of a
small cloud whose sessions end (cloud.py), of one like Google's, and of the Hub (hub.py)."""

import concurrent.futures
import os
import re
import urllib.parse

import pytest

import foldfs
from bucket import Bucket
from foldfs import FOLDFS, FOLDPACK, is_root, needs, run
from server import free_port
from trees import content, noise, write

pytest_plugins = ["cloud", "hub", "rgw"]


@pytest.fixture(autouse=True)
def settings(home, monkeypatch):
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    (home / ".aws").mkdir()


@pytest.fixture(scope="module")
def served(session_dir):
    """A folder of buckets; `photos` has 320 files of up to 60 KB in 8 folders below train/."""
    folder = session_dir / "prefix"
    for number in range(320):
        write(folder / f"photos/train/c{number % 8}/{number}.jpg",
              noise(number, 37 * number * (number % 6)))
    write(folder / "photos/train/c0/large", noise(1, 3_000_001))
    write(folder / "photos/other", b"other")
    write(folder / "photos/one/x.jpg", b"one")
    return folder


class Buckets:
    def __init__(self, folder, place, monkeypatch):
        self.server = Bucket(folder, place / "nginx", page=100)
        self.monkeypatch = monkeypatch

    def start(self, **faults):
        self.server.stop()
        self.server.set_faults(**faults)
        self.server.list("photos")
        self.server.start()
        self.monkeypatch.setenv("AWS_ENDPOINT_URL", self.server.url("").rstrip("/"))
        return self.server

    def listings(self):
        return sum("list-type=2" in path for _, path, *_ in self.server.asked())


@pytest.fixture
def buckets(served, place, monkeypatch):
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    buckets = Buckets(served, place, monkeypatch)
    buckets.start()
    yield buckets
    buckets.server.stop()


PREFIX = "s3://photos/train/"


def test_loose_objects_are_the_folder_that_was_uploaded(served, buckets, mount):
    mounted = mount(PREFIX, "--anonymous")
    assert content(mounted.path) == content(served / "photos/train")
    assert 2 < buckets.listings() < 12


def test_a_bucket_is_a_prefix_too(served, buckets, mount):
    mounted = mount("s3://photos/", "--anonymous")
    assert content(mounted.path) == content(served / "photos")


FAULTS = {
    "cut": {"body": "if n > 3 and n % 7 == 0 and range then return ngx.ERROR end"},
    "no condition": {"access": "if ngx.var.http_if_match then return ngx.exit(501) end"},
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_passes_is_not_noticed(served, buckets, mount, fault):
    buckets.start(**FAULTS[fault])
    mounted = mount(PREFIX, "--anonymous")
    with concurrent.futures.ThreadPoolExecutor(8) as readers:
        paths = sorted((served / "photos/train").rglob("*.jpg"))
        inside = [mounted.path / path.relative_to(served / "photos/train") for path in paths]
        assert list(readers.map(lambda path: path.read_bytes(), inside)) == \
            [path.read_bytes() for path in paths]
    assert mounted.stats()["device"]["errors"] == 0


@is_root
@needs("mount.fuse3", "unshare")
def test_mount_8_mounts_a_prefix(served, buckets, place, point):
    """As test_options.py has it of a pack."""
    (place / "bin").mkdir()
    (place / "bin/foldfs").symlink_to(FOLDFS)
    script = """set -e
        mount --bind "$1" /usr/local/bin
        mount -t fuse.foldfs s3://photos/train/ "$2" -o "ro,_netdev,anonymous,endpoint=$3"
        diff -r "$4" "$2"
        umount "$2"
    """
    before = foldfs.children(os.getpid()).keys()
    run("unshare", "--mount", "sh", "-c", script, "sh", place / "bin", point,
        buckets.server.url("").rstrip("/"), served / "photos/train")
    [daemon] = foldfs.children(os.getpid()).keys() - before
    assert foldfs.wait_for(daemon) == 0


@pytest.mark.slow
def test_what_a_server_holds_up_comes_later(served, buckets, mount):
    """A page of the listing, and an object: less than 4 KiB/s for 10 s."""
    buckets.start(access='if n == 2 or (range and not ngx.shared.counts:get("held")) then '
                         'if range then ngx.shared.counts:set("held", 1) end ngx.sleep(60) end')
    mounted = mount(PREFIX, "--anonymous")
    assert content(mounted.path) == content(served / "photos/train")
    stats = mounted.stats()
    assert stats["device"]["errors"] == 0 and stats["far"]["retries"] == 1


@pytest.mark.slow
def test_a_long_listing_says_how_far_it_is(buckets, mount):
    server = buckets.start(access='if ngx.var["arg_list-type"] then ngx.sleep(0.4) end')
    server.stop()
    with open(server.place / "names", "a") as names:
        names.writelines(f'many/{number}\t1\t2020-01-01T00:00:00.000Z\t"x"\n'
                         for number in range(3000))
    server.start()
    said = mount("s3://photos/many/", "--anonymous").said
    assert re.search(r"looking for its files, which is done once: (2048|3072) so far", said)
    assert "3,000 files, listed just now by 3" in said


# --- the Hub, and Google -------------------------------------------------------------------------


def test_a_folder_on_the_hub_is_mounted(hub, point, mount, monkeypatch):
    """By a redirect of each file, and without the token where that leads."""
    data = {f"data/c{number % 3}/{number} ä€.jpg": noise(number, 999 * number)
            for number in range(20)}
    hub.add("ORG/in1k", **data, **{"README.md": b"#", "database/x": b"x", "a/data/x": b"x"})
    hub.token = "hf_secret"
    monkeypatch.setenv("HF_ENDPOINT", hub.url)
    monkeypatch.setenv("HF_TOKEN", hub.token)
    for name, above in (("hf://datasets/ORG/in1k/data/", "data/"), ("hf://datasets/ORG/in1k/", "")):
        mounted = mount(name)
        for path, bytes_ in data.items():
            assert (mounted.path / path.removeprefix(above)).read_bytes() == bytes_
        assert len(os.listdir(mounted.path)) == 3 + (not above)
        mounted.close()
    done = run(FOLDFS, "--no-fuse", "hf://datasets/ORG/in1k/data/", point, "--", "cat",
               point / "c1/19 ä€.jpg")
    assert done.stdout == data["data/c1/19 ä€.jpg"]
    assert set(hub.sent) == {"Bearer hf_secret"} and set(hub.sent_to_store) == {None}
    hub.token = None
    assert "no such dataset, revision or folder (404)" in run(
        FOLDFS, "hf://datasets/ORG/in1k/none/", point, status=1).err


@pytest.mark.parametrize("option, packed", [([], 20), (["--since-checksum"], 1)])
def test_since_a_pack_of_the_hub_nothing_is_missed(hub, place, mount, monkeypatch, option, packed):
    """Which lists no times: a size tells nothing."""
    monkeypatch.setenv("HF_ENDPOINT", hub.url)
    hub.page = 20
    hub.add("ORG/in1k", **{f"data/{number}": noise(number, 9000) for number in range(20)})
    name, old = "hf://datasets/ORG/in1k/data/", place / "old.lmdb"
    run(FOLDPACK, "create", "-q", name, old)
    hub.add("ORG/in1k", **{"data/7": noise(77, 9000)})
    run(FOLDPACK, "create", "-q", *option, f"--since={old}", name, place / "delta.lmdb")
    mounted = mount(place / "delta.lmdb", old)
    assert (mounted.path / "7").read_bytes() == noise(77, 9000)
    assert abs((place / "delta.lmdb").stat().st_size - packed * 12288) < 60_000  # whole pages


def test_a_bucket_of_google_is_mounted(google, place, mount, monkeypatch):
    """A token that ends is read again."""
    monkeypatch.setenv("GCE_METADATA_HOST", f"127.0.0.1:{free_port()}")  # which refuses
    data = {f"c{number % 3}/{number} +ä.jpg": noise(number, 999 * number) for number in range(20)}
    for path, bytes_ in data.items():
        google.objects[f"/photos/train/{urllib.parse.quote(path)}"] = bytes_
    (place / "token").write_text(google.token()["access_token"])
    monkeypatch.setenv("FOLDFS_TOKEN_FILE", str(place / "token"))
    mounted = mount("gs://photos/train/", f"--endpoint={google.url}", "--readahead=0")
    google.end()
    (place / "token").write_text(google.token()["access_token"])
    for path, bytes_ in data.items():
        assert (mounted.path / path).read_bytes() == bytes_
    assert mounted.stats()["device"]["errors"] == 0 and google.pages == 10


# --- a real server -------------------------------------------------------------------------------


@pytest.mark.alone
def test_objects_of_a_real_server_are_mounted(rgw, small, mount, monkeypatch):
    for name, value in (rgw.KEYS.environment() | {"AWS_ENDPOINT_URL": rgw.endpoint}).items():
        monkeypatch.setenv(name, value)
    files = [path for path in small[0].rglob("*") if path.is_file() and not path.is_symlink()]
    for path in files:
        rgw.store.put(rgw.BUCKET, f"small/{path.relative_to(small[0])}", path.read_bytes())
    many = {f"many/c{number % 30:02}/{number}": noise(number, 100) for number in range(1500)}
    with concurrent.futures.ThreadPoolExecutor(8) as writers:
        list(writers.map(lambda key: rgw.store.put(rgw.BUCKET, key, many[key]), many))
    mounted = mount(f"s3://{rgw.BUCKET}/small/")
    for path in files:
        assert (mounted.path / path.relative_to(small[0])).read_bytes() == path.read_bytes()
    mounted.close()
    assert "ends with a '/'" in run(FOLDFS, f"s3://{rgw.BUCKET}/many", mounted.path, status=1).err
    mounted = mount(f"s3://{rgw.BUCKET}/many/")
    assert {f"many/{path.relative_to(mounted.path)}": path.read_bytes()
            for path in mounted.path.glob("*/*")} == many


# --- sessions that end ---------------------------------------------------------------------------


def test_a_session_that_ends_is_renewed_and_a_region_is_believed(cloud, home, mount, monkeypatch):
    """Amid the listing, and then, where that is known and has not asked before, by many requests at
    once. Not twice within 10 s: keys are taken for good for so long."""
    cloud.last = 5
    (home / "identity").write_text(cloud.IDENTITY)
    for name, value in {"AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{cloud.url}/container",
                        "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": str(home / "identity"),
                        "AWS_ENDPOINT_URL": cloud.url}.items():
        monkeypatch.setenv(name, value)
    data = {f"c{number % 4}/{number}": noise(number, 500) for number in range(64)}
    for name, value in data.items():
        cloud.objects[f"/photos/train/{name}"] = value
    for ends in (False, True):
        mounted = mount("s3://photos/train/", "--readahead=0")
        for names in (sorted(data)[:32], sorted(data)[32:]):
            with concurrent.futures.ThreadPoolExecutor(32) as readers:
                assert list(readers.map(lambda name: (mounted.path / name).read_bytes(), names)) \
                    == [data[name] for name in names]
            if ends:
                cloud.end()
        assert mounted.stats()["device"]["errors"] == 0, mounted.stats()["log"]
        mounted.close()
