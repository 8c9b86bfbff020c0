"""Packs in S3: a real server that checks signatures (rgw.py), and a small cloud of our own for what
that cannot show: sessions that end, and the services that renew them (cloud.py)."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import foldfs
from foldfs import FOLDFS, FOLDPACK, run
from trees import content, noise, write

pytest_plugins = ["cloud", "rgw"]

HERE = Path(__file__).resolve().parent
BUCKET, KEY = "photos", "small.lmdb"
PACK = f"s3://{BUCKET}/{KEY}"


@pytest.fixture(autouse=True)
def settings(home, monkeypatch):
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    (home / ".aws").mkdir()


def set_environment(monkeypatch, keys, endpoint):
    for name, value in (keys.environment() | {"AWS_ENDPOINT_URL": endpoint}).items():
        monkeypatch.setenv(name, value)


def same_tree(folder, mounted):
    assert content(mounted) == content(folder)


def failed(*command):
    return run(*command, status=1).err


# --- a real server -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def gateway(rgw, small):
    rgw.store.put(BUCKET, KEY, small[1].read_bytes())
    return rgw


@pytest.fixture
def signed(gateway, monkeypatch):
    set_environment(monkeypatch, gateway.KEYS, gateway.endpoint)
    return gateway


@pytest.mark.alone
def test_a_pack_in_s3_is_read_as_one_on_a_disk(signed, small, mount):
    same_tree(small[0], mount(PACK))
    for command in ("info", "verify"):
        assert run(FOLDPACK, command, "--json", PACK).out
    listed = run(FOLDPACK, "list", "-l", PACK).out
    assert listed == run(FOLDPACK, "list", "-l", small[1]).out


@pytest.mark.alone
def test_a_pattern_names_objects_of_a_real_server(signed):
    assert run(FOLDPACK, "info", f"s3://{BUCKET}/sm[a-z]ll.l*").out
    assert failed(FOLDPACK, "info", f"s3://{BUCKET}/none*") == (
        f"foldpack: 's3://{BUCKET}/none*' matches no object\n")


@pytest.mark.alone
def test_options_say_what_the_environment_may(gateway, small, home, mount):
    (home / ".aws/credentials").write_text(
        f"[here]\naws_access_key_id = {gateway.KEYS.access}\n"
        f"aws_secret_access_key = {gateway.KEYS.secret}\n")
    same_tree(small[0], mount(PACK, "--profile=here", f"--endpoint={gateway.endpoint}",
                              "--region=anywhere"))


@pytest.mark.alone
def test_a_presigned_url_is_an_https_url_that_allows_nothing_but_get(gateway, small, mount):
    url = gateway.store.presigned(BUCKET, KEY)
    same_tree(small[0], mount(url))
    assert "Signature" not in run("ps", "-C", "foldfs", "-o", "args").out.replace(url, "")


@pytest.mark.alone
def test_a_presigned_url_that_has_ended_is_refused(gateway):
    said = failed(FOLDPACK, "info", gateway.store.presigned(BUCKET, KEY, seconds=10, ago=60))
    assert "403" in said and "Signature" not in said


@pytest.mark.alone
def test_keys_that_are_wrong_are_told_apart(signed, monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "guessed")
    said = failed(FOLDPACK, "info", PACK)
    assert "the secret key of the environment does not belong to its access key" in said
    assert "guessed" not in said
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKNOBODY")
    assert "the server does not know the access key of the environment" in failed(
        FOLDPACK, "info", PACK)


@pytest.mark.alone
def test_what_is_not_there_is_said_as_it_is(signed, point):
    assert "there is no such object in this bucket" in failed(
        FOLDPACK, "info", f"s3://{BUCKET}/nothing.lmdb")
    assert "there is no such bucket at this endpoint" in failed(
        FOLDFS, f"s3://nobody/{KEY}", point)


ASCII = "".join(map(chr, range(1, 128)))


@pytest.mark.alone
@pytest.mark.parametrize("key", [
    ASCII.translate({ord("/"): None}), "a/b/" + ASCII, "ä/€/\U0001f4f7.lmdb", "%2B%20", "a//b",
    "./a/../b", "?versionId=1#end", "endpoint=x&y", " "],
    ids=["ascii", "folders", "utf-8", "encoded", "empty folder", "dots", "query", "pairs", "space"])
def test_a_key_is_any_text(signed, small, key):
    signed.store.put(BUCKET, key, small[1].read_bytes())
    assert run(FOLDPACK, "info", "--json", f"s3://{BUCKET}/{key}").out


PUT = """
import os, sys
import sigv4
path, endpoint, bucket, access, secret = sys.argv[1:]
with open(path, "rb") as pack:
    sigv4.Store(endpoint, sigv4.Keys(access, secret)).put(
        bucket, "set/" + os.path.basename(path), pack.read())
os.unlink(path)
"""


@pytest.mark.alone
def test_shards_go_to_a_bucket_as_they_are_made(signed, place, point):
    """The server refuses one of them at first: what it has is no set, until all are there."""
    for number in range(4):
        write(place / f"folder/class{number % 2}/{number}.bin", noise(number, 700_000))
    (place / "put.py").write_text(PUT)
    there = f"s3://{BUCKET}/set/x-*.lmdb"

    def create(*options, refuses="none", status=0):
        secret = f"$(case {{}} in *-{refuses}-*) echo wrong;; *) echo {signed.KEYS.secret};; esac)"
        put = f"PYTHONPATH={HERE} {sys.executable} {place}/put.py {{}} {signed.endpoint} " \
            f"{BUCKET} {signed.KEYS.access} {secret}"
        return run(FOLDPACK, "create", "--shard-size=1M", f"--shard-done={put}", *options,
                   place / "folder", place / "x.lmdb", status=status)

    assert create(refuses="00002", status=1).err.endswith("x-00002-of-00004.lmdb\n")
    for command in (FOLDPACK, "info", there), (FOLDFS, there, point):
        assert "missing of a set of 4" in failed(*command)
    create("--resume")
    assert list(place.glob("x*")) == []
    run(FOLDPACK, "diff", place / "folder", there)


# --- sessions ------------------------------------------------------------------------------------


@pytest.fixture
def data(cloud, bulk, monkeypatch, home):
    """The cloud, with a pack in it."""
    cloud.objects[f"/{BUCKET}/{KEY}"] = bulk[1].read_bytes()
    cloud.folder = bulk[0]
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", cloud.url)
    monkeypatch.setenv("AWS_REGION", "eu-west-9")
    (home / "identity").write_text(cloud.IDENTITY + "\n")
    return cloud


def set_metadata(cloud, monkeypatch):
    monkeypatch.delenv("AWS_EC2_METADATA_DISABLED")
    monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", cloud.url)


def set_web_identity(cloud, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", cloud.url + "/")
    monkeypatch.setenv("AWS_ROLE_ARN", cloud.ROLE)
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", os.environ["HOME"] + "/identity")


def set_container(cloud, monkeypatch):
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", cloud.url + "/container")
    monkeypatch.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", os.environ["HOME"] + "/identity")


def set_process(cloud, monkeypatch):
    """Whose output is the metadata service's."""
    home = os.environ["HOME"]
    with open(home + "/.aws/config", "w") as config:
        config.write(f"[default]\ncredential_process = {home}/keys '{cloud.url}/container'\n")
    with open(home + "/keys", "w") as script:
        script.write(f"#!{sys.executable}\nimport sys, urllib.request as u\nprint(u.urlopen("
                     f"u.Request(sys.argv[1], headers={{'Authorization': '{cloud.IDENTITY}'}}))"
                     ".read().decode())\n")
    os.chmod(home + "/keys", 0o700)


def files_of(cloud):
    return sorted(path for path in cloud.folder.rglob("*") if path.is_file())


def reads_right(mounted, cloud, paths):
    for path in paths:
        assert (mounted / path.relative_to(cloud.folder)).read_bytes() == path.read_bytes()


@pytest.mark.parametrize("place_of_keys", [set_metadata, set_web_identity, set_container,
                                           set_process])
def test_a_session_that_ends_in_mid_epoch_is_renewed_and_nobody_notices(
        data, mount, monkeypatch, place_of_keys):
    place_of_keys(data, monkeypatch)
    mounted = mount(PACK)
    files = files_of(data)
    half = len(files) // 2
    reads_right(mounted, data, files[:half])
    assert len(data.sessions) == 1
    data.end()
    reads_right(mounted, data, files[half:])
    assert len(data.sessions) == 2
    assert mounted.stats()["device"]["errors"] == 0


def test_a_pattern_names_objects_of_a_bucket(data, monkeypatch, mount):
    set_metadata(data, monkeypatch)
    monkeypatch.delenv("AWS_REGION")  # the listing is the first to be told
    mounted = mount(f"s3://{BUCKET}/sm*.lmdb")
    reads_right(mounted.path, data, files_of(data)[:1])
    assert data.pages == 1


def test_a_base_that_a_pattern_names_is_listed_once(data, monkeypatch, place):
    set_metadata(data, monkeypatch)
    run(FOLDPACK, "create", "-q", f"--since=s3://{BUCKET}/sm*.lmdb", data.folder,
        place / "delta.lmdb")
    assert data.pages == 1


def test_a_session_is_renewed_before_it_ends(data, mount, monkeypatch):
    data.life = 6  # so short a one is renewed after half of its life
    set_metadata(data, monkeypatch)
    mounted = mount(PACK, "--cache=pool", "--pool=8M")  # which reads most of it each time
    while len(data.sessions) == 1:
        reads_right(mounted, data, files_of(data))
    reads_right(mounted, data, files_of(data))
    assert data.refused == 0


def set_hanging_process(data, monkeypatch, place):
    """A program that has the keys once, and hangs when it is asked again. Returns a path that is
    there from then on."""
    data.life = 6  # so short a session is renewed after half of its life
    set_process(data, monkeypatch)
    config = os.path.join(os.environ["HOME"], ".aws/config")
    with open(config) as file:
        keys = file.read().split(" = ")[1].strip()
    once, hangs = place / "once", place / "hangs"
    with open(config, "w") as file:
        file.write("[default]\ncredential_process = test -e {0} && touch {1} && exec sleep 600; "
                   "touch {0}; {2}\n".format(once, hangs, keys))
    return hangs


def test_unmounting_does_not_wait_for_a_program_that_has_the_keys(data, mount, monkeypatch, place):
    hangs = set_hanging_process(data, monkeypatch, place)
    mounted = mount(PACK, "--cache=pool", "--pool=8M")  # which reads most of it each time
    while not hangs.exists():
        reads_right(mounted, data, files_of(data)[:20])
    begin = time.monotonic()
    mounted.close()
    assert time.monotonic() - begin < foldfs.PATIENCE / 3


ORPHANS = """
import os, sys, time
top, server = sys.argv[1], str(os.getppid())
def zombies():
    found = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            state, parent = open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[:2]
        except (FileNotFoundError, ProcessLookupError):
            continue
        found += (state, parent) == ("Z", server)
    return found
paths = [os.path.join(at, name) for at, _, names in os.walk(top) for name in sorted(names)]
for number, path in enumerate(paths):
    if os.fork() == 0:
        if os.fork() == 0:
            time.sleep(0.01)
        os._exit(0)
    os.wait()
    open(path, "rb").read()
    if number == len(paths) // 2:
        print("half", flush=True)
        sys.stdin.readline()
deadline = time.time() + 60
while zombies() and time.time() < deadline:
    time.sleep(0.01)
print(zombies())
"""


def test_orphans_of_a_job_are_collected_beside_programs_that_have_keys(data, point, monkeypatch):
    if "seccomp listeners" in run(FOLDFS, "--version").out.partition("lacks")[2]:
        pytest.skip("no seccomp listeners here")
    set_process(data, monkeypatch)
    with subprocess.Popen([FOLDFS, "-q", "--no-fuse", "--pool=8M", PACK, point, "--",
                           sys.executable, "-c", ORPHANS, point], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as job:
        assert job.stdout.readline() == "half\n"
        data.end()
        assert job.communicate("\n", timeout=foldfs.PATIENCE)[0] == "0\n"
    assert job.returncode == 0 and len(data.sessions) > 1


UNTIL_IT_HANGS = """
import os, sys
top, hangs = sys.argv[1:]
while not os.path.exists(hangs):
    for at, _, names in os.walk(top):
        for name in names:
            open(os.path.join(at, name), "rb").read()
"""


def test_a_job_leaves_no_program_that_has_keys_behind(data, point, monkeypatch, place):
    """It is foldfs's, not the job's, and gets no time to end."""
    if "seccomp listeners" in run(FOLDFS, "--version").out.partition("lacks")[2]:
        pytest.skip("no seccomp listeners here")
    hangs = set_hanging_process(data, monkeypatch, place)
    done = run(FOLDFS, "-q", "--no-fuse", "--pool=8M", PACK, point, "--", sys.executable, "-c",
               UNTIL_IT_HANGS, point, hangs)
    assert "left behind" not in done.err


@pytest.mark.slow  # pauses between attempts
def test_a_renewal_that_fails_is_tried_until_it_works(data, mount, monkeypatch):
    set_metadata(data, monkeypatch)
    mounted = mount(PACK)
    data.down = True
    data.end()
    reading = subprocess.Popen(["diff", "-r", data.folder, mounted])
    foldfs.wait_until(lambda: data.failed > 0)
    data.down = False
    assert reading.wait(foldfs.PATIENCE) == 0


def test_no_secret_is_in_what_a_mount_says_or_runs_as(data, mount, monkeypatch):
    set_metadata(data, monkeypatch)
    mounted = mount(PACK, "-f", "-v")
    reads_right(mounted, data, files_of(data)[:1])
    shown = mounted.all_said()
    for keys, _ in data.sessions.values():
        assert keys.secret not in shown and keys.token not in shown


def test_a_bucket_may_be_part_of_the_name_of_any_server(data, monkeypatch, mount):
    """As the server wants it."""
    set_metadata(data, monkeypatch)
    data.virtual = True
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", data.url.replace("127.0.0.1", "localhost"))
    for name in PACK, f"s3://{BUCKET}/sm*.lmdb":
        mounted = mount(name)
        reads_right(mounted.path, data, files_of(data)[:1])
        mounted.close()
    assert data.refused > 0
