"""Amazon's services as moto speaks them, which was written by others than tests/mount/cloud.py:
keys of the metadata service and of STS. It checks no signatures."""

import subprocess
import sys

import pytest

import foldfs
import sigv4
from foldfs import FOLDPACK, run
from rgw import free_ports, listens

pytest.importorskip("moto", reason="pip has not installed moto")
PACK = "s3://photos/small.lmdb"


@pytest.fixture
def moto(small, place, monkeypatch):
    """Its log."""
    port, log = free_ports(1)[0], place / "log"
    url = f"http://127.0.0.1:{port}"
    with open(log, "wb") as out:
        server = subprocess.Popen([sys.executable, "-m", "moto.server", "-p", str(port)],
                                  stdout=out, stderr=out)
    try:
        foldfs.wait_until(lambda: server.poll() is None and listens(port))
        store = sigv4.Store(url, sigv4.Keys("any", "any"))
        store.create("photos")
        store.put("photos", "small.lmdb", small[1].read_bytes())
        monkeypatch.setenv("HOME", str(place))
        monkeypatch.setenv("AWS_ENDPOINT_URL", url)
        monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", url)
        yield log
    finally:
        server.kill()
        server.wait()


def test_keys_of_a_machine_come_from_its_metadata(moto):
    assert run(FOLDPACK, "info", "--json", PACK).out
    said = moto.read_text()
    assert "PUT /latest/api/token" in said and "security-credentials/default-role" in said


def test_keys_of_a_role_come_from_sts(moto, place, monkeypatch):
    (place / "identity").write_text("a.web.identity")
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(place / "identity"))
    monkeypatch.setenv("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/trainer")
    assert run(FOLDPACK, "info", "--json", PACK).out
    said = moto.read_text()
    assert "POST / " in said and "/latest/" not in said
