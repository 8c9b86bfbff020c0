"""The recipe of foldfs-remote(7) by which packs go to a store as they are made, with the tools that
it names. Those that are not installed are skipped. gsutil moves to S3 as well."""

import os
import re

import pytest

import sigv4
import trees
from foldfs import FOLDPACK, ROOT, needs, run
from test_moto import moto  # noqa: F401

PAGE = (ROOT / "man/foldfs-remote.7").read_text().replace(r"\(aq", "'").replace("\\e\n", "")
BOTO = """[Boto]
is_secure = False
[Credentials]
aws_access_key_id = any
aws_secret_access_key = any
s3_host = {0}
s3_port = {1}
[s3]
host = {0}
calling_format = boto.s3.connection.OrdinaryCallingFormat
"""


@pytest.fixture
def cook(moto, place, monkeypatch):
    """Packs a folder by the recipe for a tool, and looks at what the bucket has."""
    url = os.environ["AWS_ENDPOINT_URL"]
    settings = {"AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any",
                "AWS_DEFAULT_REGION": "us-east-1", "BOTO_CONFIG": place / "boto",
                "RCLONE_CONFIG_REMOTE_TYPE": "s3", "RCLONE_CONFIG_REMOTE_PROVIDER": "Other",
                "RCLONE_CONFIG_REMOTE_ENV_AUTH": "true", "RCLONE_CONFIG_REMOTE_ENDPOINT": url}
    for name, value in settings.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.delenv("AWS_CA_BUNDLE", raising=False)  # rclone 1.60 ends for it
    (place / "boto").write_text(BOTO.format(*url.removeprefix("http://").split(":")))
    sigv4.Store(url, sigv4.Keys("any", "any")).create("datasets")
    for number in range(4):
        trees.write(place / f"train/class{number % 2}/{number}.bin", trees.noise(number, 700_000))

    def cook(move, target):
        assert f".Ql {move}" in PAGE
        recipe = re.search(r"^foldpack (create .* --shard-done=)'(aws .*)'$", PAGE, re.M)
        create = recipe[1].replace("=20G", "=1M")
        command = recipe[2] if move == "aws s3 mv" else f"{move} {{}} {target}"
        run("sh", "-c", f"exec {FOLDPACK} {create}'{command}'", cwd=place)
        assert list(place.glob("in1k*")) == []
        run(FOLDPACK, "diff", place / "train", "s3://datasets/in1k/*.lmdb")

    return cook


@pytest.mark.parametrize("move, target", [
    pytest.param(move, target, marks=needs(move.split()[0]))
    for move, target in (("aws s3 mv", "s3://datasets/in1k/"),
                         ("gsutil -q mv", "s3://datasets/in1k/"),
                         ("rclone move", "remote:datasets/in1k"))])
def test_packs_go_to_a_store_as_the_page_says(cook, move, target):
    cook(move, target)
