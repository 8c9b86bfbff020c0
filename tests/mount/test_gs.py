"""Packs in Google Cloud Storage, as a server of the tests has it (cloud.py): HMAC keys, tokens."""

import pytest

import foreign
from foldfs import FOLDFS, FOLDPACK, run
from server import free_port
from trees import content

pytest_plugins = ["cloud"]

BUCKET, KEY = "photos", "a b/small.lmdb"
PACK, PATH = f"gs://{BUCKET}/{KEY}", f"/{BUCKET}/a%20b/small.lmdb"


@pytest.fixture(autouse=True)
def store(google, small, home, monkeypatch):
    """The server, with a pack in it."""
    monkeypatch.setenv("GCE_METADATA_HOST", f"127.0.0.1:{free_port()}")  # which refuses
    google.objects[PATH] = small[1].read_bytes()
    google.folder = small[0]
    return google


@pytest.fixture
def machine(store, monkeypatch):
    """One of Google's, with a metadata server."""
    monkeypatch.setenv("GCE_METADATA_HOST", store.url.split("//")[1])
    return store


def set_keys(monkeypatch, keys):
    for name, value in keys.environment().items():
        monkeypatch.setenv(name, value)


def info(store, *options, status=0):
    done = run(FOLDPACK, "info", f"--endpoint={store.url}", *options, PACK, status=status)
    return done.err if status else done.out


def test_a_bucket_is_read_with_hmac_keys(store, mount, monkeypatch):
    set_keys(monkeypatch, store.KEYS)
    assert content(mount(PACK, f"--endpoint={store.url}")) == content(store.folder)
    assert not store.refused


def test_keys_of_amazon_do_not_go_to_google(store, monkeypatch, place):
    """Who has them uses both clouds."""
    (place / ".aws").mkdir()
    (place / ".aws/credentials").write_text(
        "[default]\naws_access_key_id = AKIAPROFILE\naws_secret_access_key = secret\n")
    set_keys(monkeypatch, store.KEYS._replace(access="AKIAENVIRONMENT"))
    monkeypatch.setenv("FOLDFS_TOKEN", store.token()["access_token"])
    assert info(store)
    monkeypatch.setenv("FOLDFS_TOKEN", "")
    assert "the keys of the environment are Amazon's" in info(store, status=1)
    assert not [sent for sent in store.sent if sent and "AKIA" in sent]


def test_the_endpoint_of_amazon_is_not_that_of_google(store, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:1")
    set_keys(monkeypatch, store.KEYS)
    assert info(store)


def test_a_token_for_another_host_is_not_sent(store, monkeypatch):
    monkeypatch.setenv("FOLDFS_TOKEN", store.token()["access_token"])
    monkeypatch.setenv("FOLDFS_TOKEN_HOST", "data.example.org")
    assert "FOLDFS_TOKEN is for another server" in info(store, status=1)
    assert set(store.sent) == {None}


def test_a_token_of_a_bucket_is_not_for_another_server(store, other_google, point, monkeypatch):
    monkeypatch.setenv("FOLDFS_TOKEN", store.token()["access_token"])
    run(FOLDFS, "--retry=0", f"--endpoint={store.url}", PACK, other_google.url + "/x", point,
        status=1)
    assert None not in store.sent and set(other_google.sent) == {None}


def test_a_machine_of_google_has_a_token_that_is_renewed(machine, mount):
    mounted = mount(PACK, f"--endpoint={machine.url}")
    assert len(machine.sessions) == 1
    machine.end()
    assert content(mounted) == content(machine.folder)
    assert mounted.stats()["device"]["errors"] == 0


def test_a_token_of_the_machine_goes_to_google_alone(machine):
    run(FOLDPACK, "info", "--retry=0", "--endpoint=https://storage.googleapis.com.invalid", PACK,
        status=1)
    assert not machine.sessions


def test_public_objects_need_nothing(store, mount):
    store.public.add(PATH)
    assert info(store) and info(store, "--anonymous")
    assert set(store.sent) == {None}


def test_no_token_is_in_what_a_mount_says_or_runs_as(machine, mount):
    mounted = mount(PACK, f"--endpoint={machine.url}", "-f", "-v")
    content(mounted)
    shown = mounted.all_said()
    assert PACK in shown
    assert not [token for token in machine.sessions if token in shown]


# --- patterns ------------------------------------------------------------------------------------


@pytest.fixture
def shards(store, small):
    pack = small[1].read_bytes()
    for name in ("train-0.lmdb", "train-1.lmdb", "train-a%20%2B%C3%A4.lmdb", "x-%5B0%5D.lmdb",
                 "x-0.lmdb", "deep/train-2.lmdb", "train-3.txt"):
        store.objects[f"/{BUCKET}/set/{name}"] = pack
    return store


@pytest.mark.parametrize("of", ["keys", "token"])
def test_a_pattern_names_objects_of_a_bucket(shards, monkeypatch, mount, of):
    if of == "keys":
        set_keys(monkeypatch, shards.KEYS)
    else:
        monkeypatch.setenv("FOLDFS_TOKEN", shards.token()["access_token"])
    mounted = mount(*[f"{i}/=gs://{BUCKET}/set/{name}" for i, name in enumerate(
        ("train-0*", "train-a*.lmdb", "x-[0].lmdb"))], f"--endpoint={shards.url}")
    for i in range(3):
        assert content(mounted.path / str(i)) == content(shards.folder)
    assert shards.pages and not shards.refused


def test_a_pattern_that_matches_nothing_is_an_error(shards, monkeypatch):
    set_keys(monkeypatch, shards.KEYS)
    name = f"gs://{BUCKET}/set/tr*"
    assert run(FOLDPACK, "list", f"--endpoint={shards.url}", f"gs://{BUCKET}/none-*",
               status=1).err == f"foldpack: 'gs://{BUCKET}/none-*' matches no object\n"
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "guessed")
    assert "the bucket is not listed, which takes the permission to list it: the secret key" in run(
        FOLDPACK, "list", f"--endpoint={shards.url}", name, status=1).err


def test_the_index_beside_a_file_is_found(store, place, monkeypatch):
    """By its key, which may have any characters."""
    set_keys(monkeypatch, store.KEYS)
    names = ["a #x.tar", "a #x.tar.foldfs-index"]
    foreign.write_tar(place / names[0], {"a.jpg": b"\xff\xd8\xff" + bytes(5 << 20)})
    run(FOLDPACK, "index", place / names[0])
    for name in names:
        path = name.replace(" ", "%20").replace("#", "%23")
        store.objects[f"/{BUCKET}/{path}"] = (place / name).read_bytes()
    said = run(FOLDPACK, "verify", f"--endpoint={store.url}", f"gs://{BUCKET}/{names[0]}").err
    assert "all good" in said
