"""Loose objects below a prefix of a real server (rgw.py), of a small cloud whose sessions end
(cloud.py), of one like Google's, and of the Hub (hub.py)."""

import concurrent.futures
import os
import urllib.parse

import pytest

from foldfs import FOLDFS, FOLDPACK, run
from server import free_port
from trees import noise

pytest_plugins = ["cloud", "hub", "rgw"]


@pytest.fixture(autouse=True)
def settings(home, monkeypatch):
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    (home / ".aws").mkdir()


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
