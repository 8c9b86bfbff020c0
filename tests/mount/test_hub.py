"""Packs on the Hugging Face Hub, as a server of the tests has it (hub.py)."""

import os

import pytest

import foreign
from foldfs import FOLDFS, FOLDPACK, run
from trees import content

pytest_plugins = ["hub"]

DATASET = "ORG/in1k"
PACK = f"hf://datasets/{DATASET}/data/a b.lmdb"


@pytest.fixture(autouse=True)
def datasets(hub, small, home, monkeypatch):
    """The server, with a pack in it."""
    monkeypatch.setenv("HF_ENDPOINT", hub.url + "/")
    hub.pack = small[1].read_bytes()
    hub.add(DATASET, **{"data/a b.lmdb": hub.pack})
    hub.folder = small[0]
    return hub


def set_login(place, token):
    (place / ".cache/huggingface").mkdir(parents=True, exist_ok=True)
    (place / ".cache/huggingface/token").write_text(token)


def test_a_pack_of_a_public_dataset_is_mounted(datasets, mount):
    assert content(mount(PACK)) == content(datasets.folder)
    assert set(datasets.sent) == {None}


@pytest.mark.parametrize("revision, path", [
    ("refs/convert/parquet", "ä/€.lmdb"), ("v1.0", "a%20b?c#d@e.lmdb"), ("refs/pr/7", "a//b")])
def test_a_revision_is_named_and_a_path_is_any_text(datasets, revision, path):
    datasets.add(DATASET, revision, **{path: datasets.pack})
    assert run(FOLDPACK, "info", f"hf://datasets/{DATASET}@{revision}/{path}").out


@pytest.mark.parametrize("where", ["HF_TOKEN", "HF_TOKEN_PATH", "HF_HOME", "login"])
def test_a_token_goes_to_the_hub_and_not_to_its_store(datasets, mount, place, monkeypatch, where):
    datasets.token = "hf_secret"
    (place / "token").write_text("hf_secret")
    if where == "login":
        set_login(place, "hf_secret")
    else:
        monkeypatch.setenv(where, {"HF_TOKEN": "hf_secret", "HF_HOME": str(place)}.get(
            where, str(place / "token")))
    mounted = mount(PACK, "-f", "-v")
    assert content(mounted) == content(datasets.folder)
    assert set(datasets.sent) == {"Bearer hf_secret"} and set(datasets.sent_to_store) == {None}
    said = str(mounted.stats()) + mounted.said
    mounted.close()
    said += mounted.log()
    assert PACK in said and "hf_secret" not in said and "5e5a3e" not in said


@pytest.mark.parametrize("text, sent", [(" \n\n", None), ("\n hf_secret\r\n", "Bearer hf_secret")])
def test_a_login_is_what_is_left_without_blanks(datasets, place, text, sent):
    """Without any, it keeps no public dataset closed."""
    set_login(place, text)
    assert run(FOLDPACK, "info", PACK).out
    assert set(datasets.sent) == {sent}


def test_what_asks_for_a_token_is_said_so(datasets, point):
    datasets.token = "hf_secret"
    said = (f"{PACK}: the server refuses it (401): there is no such dataset, or it asks for a "
            "token: 'hf auth login', or HF_TOKEN\n")
    assert run(FOLDPACK, "info", PACK, status=1).err == f"foldpack: {said}"
    assert run(FOLDFS, PACK, point, status=1).err == f"foldfs: {said}"


def test_a_file_that_is_not_there_is_said_as_it_is():
    name = f"hf://datasets/{DATASET}/none.lmdb"
    assert run(FOLDPACK, "info", name, status=1).err == f"foldpack: {name}: not found (404)\n"


def test_what_one_hub_has_is_not_shown_for_another(datasets, other_hub, place, monkeypatch, mount):
    """Of a name that both have, with an ETag, a size, a beginning and an end that are the same."""
    name, ends = f"hf://datasets/{DATASET}/x.tar", {"1.jpg": bytes(99_999), "3.jpg": bytes(99_998)}
    for server, label in (datasets, "cat"), (other_hub, "dog"):
        photos = {"1.jpg": ends["1.jpg"], f"{label}/2.jpg": b"2", "3.jpg": ends["3.jpg"]}
        foreign.write_tar(place / "x", photos)
        server.add(DATASET, **{"x.tar": (place / "x").read_bytes()})
    for server, label in (other_hub, "dog"), (datasets, "cat"), (other_hub, "dog"):
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        assert f"{label}/2.jpg\n" in run(FOLDPACK, "list", name).out
        run(FOLDPACK, "fetch", f"--cache-dir={place}/cache", name)
        mounted = mount(name, f"--cache-dir={place}/cache")
        assert mounted.stats()["disk_cache"]["state"] == "complete"
        assert (mounted.path / label / "2.jpg").read_bytes() == b"2"
        mounted.close()


def test_a_list_on_the_hub_names_files_beside_it(datasets):
    datasets.token = "hf_secret"
    datasets.add(DATASET, **{"data/list": b"a b.lmdb\n"})
    run(FOLDPACK, "info", f"@hf://datasets/{DATASET}/data/list",
        env={**os.environ, "HF_TOKEN": "hf_secret"})


# --- several files -------------------------------------------------------------------------------


@pytest.fixture
def shards(datasets, place):
    for i in range(5):
        foreign.write_tar(place / "x", {f"{c}{i}.jpg": b"%d" % i * 9 for c in "ab"})
        datasets.add("ORG/tars", **{f"data/train-{i}.tar": (place / "x").read_bytes()})
    datasets.shard = (place / "x").read_bytes()
    datasets.add("ORG/tars", **{"README.md": b"x", "data/deep/train-9.tar": b"no tar"})
    return datasets


def files_in(mounted):
    return sorted(path.name for path in mounted.path.rglob("*.jpg"))


def names(*shards):
    return sorted(f"{c}{i}.jpg" for c in "ab" for i in shards)


@pytest.mark.parametrize("pattern, found", [
    ("data/train-*.tar", range(5)), ("data/train-[13].tar", (1, 3)), ("d*/train-?.tar", range(5)),
    ("data/train-{0..1}*.tar", (0, 1))])
def test_a_pattern_names_files_of_a_repository(shards, mount, pattern, found):
    assert files_in(mount(f"hf://datasets/ORG/tars/{pattern}")) == names(*found)


def test_only_the_folder_of_a_pattern_is_listed(shards):
    run(FOLDPACK, "list", "hf://datasets/ORG/tars/data/train-*.tar")
    assert set(shards.listed) == {"data"} and len(shards.listed) > 2  # pages


def test_a_token_goes_to_the_listing_too(shards, monkeypatch):
    shards.token = "hf_secret"
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    run(FOLDPACK, "list", "hf://datasets/ORG/tars/data/train-*.tar")
    monkeypatch.delenv("HF_TOKEN")
    said = run(FOLDPACK, "list", "hf://datasets/ORG/tars/data/train-*.tar", status=1).err
    assert "the Hub refuses to list it (401): there is no such dataset, or it asks for a" in said


def test_a_listing_does_not_go_on_at_another_server(shards, monkeypatch):
    shards.elsewhere = shards.store
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    assert "goes on at another server" in run(
        FOLDPACK, "list", "hf://datasets/ORG/tars/data/train-*.tar", status=1).err
    assert not shards.sent_to_store


def test_a_file_that_has_the_name_of_a_pattern_is_that_file(shards, mount):
    shards.add("ORG/tars", **{"data/train-[1].tar": shards.shard})
    assert files_in(mount("hf://datasets/ORG/tars/data/train-[1].tar")) == names(4)


@pytest.mark.parametrize("pattern", ["", "/x*"])
def test_an_index_beside_a_file_is_no_file_of_a_pattern(datasets, place, pattern):
    foreign.write_tar(place / "x", {"a.jpg": b"\xff\xd8\xff"})
    files = {"x.tfrecord-1-of-1.foldfs-index": b"", "x.tar": (place / "x").read_bytes()}
    datasets.add("ORG/indexed", **files)
    assert run(FOLDPACK, "list", f"hf://datasets/ORG/indexed{pattern}").out == "a.jpg\n"


def test_a_pattern_that_matches_nothing_is_an_error(shards):
    for name in ("hf://datasets/ORG/tars/data/test-*.tar", "hf://datasets/ORG/tars/train-*"):
        assert run(FOLDPACK, "list", name, status=1).err == (
            f"foldpack: '{name}' matches no file\n")
    assert "no such dataset, revision or folder (404)" in run(
        FOLDPACK, "list", "hf://datasets/ORG/none/*.tar", status=1).err


def test_a_repository_is_all_of_its_files_of_one_kind(shards, mount):
    del shards.files["ORG/tars", "main", "data/deep/train-9.tar"]
    assert files_in(mount("hf://datasets/ORG/tars")) == names(*range(5))
    assert run(FOLDPACK, "list", "hf://datasets/ORG/tars@main").out


def test_a_repository_of_several_kinds_is_said_to_be_one(shards):
    shards.add("ORG/tars", **{"x.parquet": b"x"})
    assert run(FOLDPACK, "list", "hf://datasets/ORG/tars", status=1).err == (
        "foldpack: 'hf://datasets/ORG/tars' has 6 tar, 1 parquet, 1 other files, and not one kind "
        "to mount: name them, as hf://datasets/ORG/tars/data/*.tar\n")
    shards.add("ORG/text", **{"x.txt": b"x"})
    assert "has 1 other files, and not one kind to mount" in run(
        FOLDPACK, "list", "hf://datasets/ORG/text", status=1).err
