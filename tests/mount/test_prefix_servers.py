"""Loose objects below a prefix, of servers that fail (bucket.py), of a real one (rgw.py), and of a
small cloud whose sessions end (cloud.py)."""

import concurrent.futures

import pytest

from bucket import Bucket
from foldfs import FOLDFS, run
from trees import content, noise, write

pytest_plugins = ["cloud", "rgw"]


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
    "overload": {"access": "if n > 3 and n % 5 == 0 then return ngx.exit(503) end"},
    "cut": {"body": "if n > 3 and n % 7 == 0 and range then return ngx.ERROR end"},
    "errors": {"access": "if n > 3 and n % 4 == 0 then return ngx.exit(500) end"},
    "no condition": {"access": "if ngx.var.http_if_match then return ngx.exit(501) end"},
    "too many": {"access": "if n == 3 then return ngx.exit(429) end"},
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


def test_servers_without_listings_are_said_to_be_none(point):
    assert "s3://BUCKET/FOLDER/" in run(FOLDFS, "https://host/train/", point, status=1).err


def test_one_object_is_a_prefix(served, buckets, mount):
    mounted = mount("s3://photos/one/", "--anonymous")
    assert content(mounted.path) == content(served / "photos/one")


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
    """By many requests at once, also where the listing is known and has not asked before."""
    (home / "identity").write_text(cloud.IDENTITY)
    for name, value in {"AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{cloud.url}/container",
                        "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": str(home / "identity"),
                        "AWS_ENDPOINT_URL": cloud.url}.items():
        monkeypatch.setenv(name, value)
    data = {f"c{number % 4}/{number}": noise(number, 500) for number in range(64)}
    for name, value in data.items():
        cloud.objects[f"/photos/train/{name}"] = value
    for _ in range(2):
        mounted, ended = mount("s3://photos/train/"), False
        for names in (sorted(data)[:32], sorted(data)[32:]):
            with concurrent.futures.ThreadPoolExecutor(32) as readers:
                assert list(readers.map(lambda name: (mounted.path / name).read_bytes(), names)) \
                    == [data[name] for name in names]
            if not ended:
                cloud.end()
            ended = True
        assert mounted.stats()["device"]["errors"] == 0, mounted.stats()["log"]
        mounted.close()
