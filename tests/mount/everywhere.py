"""A pack on a disk and on servers of every kind, each with its own way to know who asks."""

import pytest

import server

pytest_plugins = ["cloud", "hub"]


class Everywhere:
    """`mounts` has keywords of foldfs.mounted(), by kind; `environment` what they need besides."""

    def __init__(self, pack, web, cloud, google, hub):
        keys, _ = cloud.session()
        cloud.objects["/photos/i.lmdb"] = google.objects["/photos/i.lmdb"] = pack.read_bytes()
        hub.add("ORG/in1k", **{"i.lmdb": pack.read_bytes()})
        hub.token = "hf_secret"
        self.mounts = {
            "file": {"pack": str(pack)},
            "https": {"pack": web.url(pack.name), "ca_file": str(web.tls.with_name("ca.crt"))},
            "s3": {"pack": "s3://photos/i.lmdb"},
            "hf": {"pack": "hf://datasets/ORG/in1k/i.lmdb"},
            "gs": {"pack": "gs://photos/i.lmdb", "endpoint": google.url},
        }
        self.environment = keys.environment() | {
            "AWS_ENDPOINT_URL": cloud.url, "AWS_REGION": "eu-west-9", "HF_ENDPOINT": hub.url,
            "HF_TOKEN": hub.token, "GCE_METADATA_HOST": google.url.split("//")[1]}


@pytest.fixture
def everywhere(images, cloud, google, hub, place):
    web = server.Server(images[1].parent, place / "web",
                        tls=server.make_certificate(place, "IP:127.0.0.1"))
    try:
        yield Everywhere(images[1], web.start(), cloud, google, hub)
    finally:
        web.stop()
