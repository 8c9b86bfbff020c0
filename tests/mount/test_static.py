"""What `make static` makes, in a root that holds nothing else."""

import contextlib
import os
import re
import shutil
import socket
import stat
import subprocess
import threading

import pytest

import nameservers
import trees
from foldfs import BUILD, PATIENCE, ROOT, is_mounted, is_root, is_static, needs, run, wait_for_line
from server import Server, make_certificate

LIMIT = 10_000_000  # bytes of each program
PROGRAMS = ["foldfs", "foldpack", "foldstat"]
AUTHORITIES = ["etc/ssl/certs/ca-certificates.crt", "etc/pki/tls/certs/ca-bundle.crt",
               "etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "etc/ssl/ca-bundle.pem",
               "etc/ssl/cert.pem"]


pytestmark = [is_root, pytest.mark.skipif(not is_static(), reason="not the static build")]


@pytest.fixture
def root(place, images):
    """A root with the programs, a device, /proc and a folder of images."""
    for folder in ("bin", "dev", "mnt", "proc"):
        (place / folder).mkdir()
    for name in PROGRAMS:
        shutil.copy2(BUILD / name, place / "bin")
    os.mknod(place / "dev/fuse", stat.S_IFCHR | 0o666, os.makedev(10, 229))
    shutil.copytree(images[0], place / "images", symlinks=True)
    run("mount", "-t", "proc", "proc", place / "proc")
    yield place
    run("umount", place / "proc")


def within(root, *command, **options):
    return run("chroot", root, *command, **options)


def test_programs_are_small():
    for name in PROGRAMS:
        assert os.path.getsize(BUILD / name) < LIMIT


@contextlib.contextmanager
def mounted_within(root, pack):
    with subprocess.Popen(["chroot", root, "/bin/foldfs", "-f", pack, "/mnt"],
                          stderr=subprocess.PIPE) as daemon:
        wait_for_line(daemon.stderr, rb": .* on .*\n")
        yield root / "mnt"
        daemon.terminate()
        assert daemon.wait(PATIENCE) == 0
    assert not is_mounted(root / "mnt")


def test_everything_works_in_an_empty_root(root, images):
    within(root, "/bin/foldpack", "create", "/images", "/pack")
    assert "all good" in within(root, "/bin/foldpack", "verify", "/pack").err
    with mounted_within(root, "/pack") as path:
        assert trees.content(path) == trees.content(images[0])
        assert within(root, "/bin/foldstat", "/mnt").out.startswith("pack")


@needs("make")
def test_an_installation_has_the_licenses_of_what_is_linked(place):
    run("make", "-C", ROOT, "-o", "all", "-o", f"{BUILD}/licenses", "STATIC=1", f"B={BUILD}",
        f"DESTDIR={place}", "PREFIX=", "install")
    texts = place / "share/doc/foldfs/licenses"
    rows = re.findall(r"(?m)^    (\S+)\.a +(\S+) \S+: (.*)", (texts / "README").read_text())
    linked = {library: license for library, _, license in rows}
    assert linked["libfuse3"] == "LGPL-2.1-only" and linked["liblmdb"] == "OLDAP-2.8"
    assert {"libarchive", "libc", "libjpeg", "libjson-c", "libncursesw", "libnettle", "libxxhash",
            "libz", "libzstd", "libcurl", "libssl", "libcrypto", "libcares"} <= linked.keys()
    for _, source, license in rows:
        assert "Copyright" in (texts / source).read_text()
        assert all(part.strip("()") in (texts / "SPDX").read_text()
                   for part in license.split(" AND "))
    assert "GNU LESSER GENERAL PUBLIC LICENSE" in (texts / "LGPL-2.1").read_text()


def test_the_wheel_is_small():
    for wheel in (ROOT / "dist").glob("foldfs-*.whl"):
        assert os.path.getsize(wheel) < 9_000_000


# --- packs on servers -------------------------------------------------------------------------


@pytest.fixture
def resolver():
    """The address of a server of names."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        try:
            server.bind(("127.0.0.153", 53))
        except OSError:
            pytest.skip("something else answers there")
        threading.Thread(target=nameservers.answer_names, args=(server,), daemon=True).start()
        yield server.getsockname()[0]


@pytest.fixture
def serve(images, place):
    """serve(**options): a server of the pack of images."""
    with contextlib.ExitStack() as stack:

        def start(**options):
            (place / "server").mkdir()
            server = Server(images[1].parent, place / "server", **options)
            stack.callback(server.stop)
            return server.start()

        yield start


def test_a_server_is_found_by_its_name_and_read_in_an_empty_root(root, images, serve, resolver):
    server = serve()
    (root / "etc").mkdir()
    (root / "etc/resolv.conf").write_text(f"nameserver {resolver}\n")
    with mounted_within(root, f"http://data.test:{server.port}/{images[1].name}") as path:
        assert trees.content(path) == trees.content(images[0])


@needs("openssl")
def test_authorities_are_those_of_the_distribution_or_of_the_environment(root, images, serve,
                                                                         place):
    server = serve(tls=make_certificate(place, "IP:127.0.0.1"))
    nothing = {"PATH": os.environ["PATH"]}
    info = ["/bin/foldpack", "info", "--retry=0", server.url(images[1].name)]
    assert "is not trusted" in within(root, *info, env=nothing, status=1).err
    for where in AUTHORITIES:
        (root / where).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(place / "ca.crt", root / where)
        within(root, *info, env=nothing)
        (root / where).unlink()
    shutil.copyfile(place / "ca.crt", root / "authorities")
    within(root, *info, env={**nothing, "SSL_CERT_FILE": "/authorities"})
