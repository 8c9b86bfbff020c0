"""Packs on the Hugging Face Hub, as a server of the tests has it (hub.py)."""

import os

import pytest

from foldfs import FOLDFS, FOLDPACK, run
from trees import content

pytest_plugins = ["hub"]

DATASET = "ORG/in1k"
PACK = f"hf://datasets/{DATASET}/data/a b.lmdb"


@pytest.fixture(autouse=True)
def datasets(hub, small, place, monkeypatch):
    """The server, with a pack in it. No settings of whoever runs the tests count."""
    for name in list(os.environ):
        if name.startswith(("FOLDFS_TOKEN", "HF_", "XDG_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(place))
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


@pytest.mark.parametrize("revision", ["v1.0", "refs/convert/parquet", "refs/pr/7", "a/b"])
def test_a_revision_is_named(datasets, revision):
    datasets.add(DATASET, revision, **{"x.lmdb": datasets.pack})
    named = revision.replace("/", "%2F") if revision == "a/b" else revision
    assert run(FOLDPACK, "info", f"hf://datasets/{DATASET}@{named}/x.lmdb").out


@pytest.mark.parametrize("path", ["ä/€.lmdb", "a%20b?c#d@e.lmdb", "a//b"])
def test_a_path_is_any_text(datasets, path):
    datasets.add(DATASET, **{path: datasets.pack})
    assert run(FOLDPACK, "info", f"hf://datasets/{DATASET}/{path}").out


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


def test_what_asks_for_a_token_is_said_so(datasets, point):
    datasets.token = "hf_secret"
    said = (f"{PACK}: the server refuses it (401): there is no such dataset, or it asks for a "
            "token: 'hf auth login', or HF_TOKEN\n")
    assert run(FOLDPACK, "info", PACK, status=1).err == f"foldpack: {said}"
    assert run(FOLDFS, PACK, point, status=1).err == f"foldfs: {said}"


def test_a_token_is_not_sent_in_clear(place, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://example.invalid")
    set_login(place, "hf_secret")
    said = run(FOLDPACK, "info", PACK, status=1).err
    assert said == f"foldpack: {PACK}: tokens are sent by https only\n"


def test_a_file_that_is_not_there_is_said_as_it_is():
    name = f"hf://datasets/{DATASET}/none.lmdb"
    assert run(FOLDPACK, "info", name, status=1).err == f"foldpack: {name}: not found (404)\n"


@pytest.mark.parametrize("name", [
    "hf://", "hf://ORG/in1k/x", "hf://datasets/in1k", "hf://datasets/ORG/in1k",
    "hf://datasets/ORG/in1k/", "hf://datasets/ORG/in1k@/x", "hf://datasets/ORG/../x",
    "hf://datasets//in1k/x", "hf://spaces/ORG/in1k/x"])
def test_what_names_no_file_is_refused(name):
    assert "no file of a dataset on the Hub: hf://datasets/OWNER/NAME/PATH" in run(
        FOLDPACK, "info", name, status=1).err


def test_a_list_on_the_hub_names_files_beside_it(datasets):
    datasets.token = "hf_secret"
    datasets.add(DATASET, **{"data/list": b"a b.lmdb\n"})
    run(FOLDPACK, "info", f"@hf://datasets/{DATASET}/data/list",
        env={**os.environ, "HF_TOKEN": "hf_secret"})
