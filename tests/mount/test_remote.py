"""Packs on web servers: every outcome of a request, outages, and what a mount makes of them."""

import collections
import concurrent.futures
import contextlib
import errno
import itertools
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import threading
import time

import pytest

import answers
import foldfs
from foldfs import FOLDFS, FOLDPACK, FOLDSTAT, MIB, pack, run
from server import Server, make_certificate
from trees import noise, write


@pytest.fixture(scope="module")
def data(session_dir):
    """(folder, folder of packs): 400 files, 24 MiB."""
    source, packs = session_dir / "remote", session_dir / "packs"
    packs.mkdir()
    for label in range(8):
        (source / f"c{label}").mkdir(parents=True)
        for number in range(50):
            size = 60_000 + 37 * number if number else 3 * MIB // 8
            write(source / f"c{label}/{number}", noise(label * 100 + number, size))
    pack(source, packs / "x.lmdb")
    return source, packs


@pytest.fixture
def serve(data, place):
    """serve(**faults): a Server of the packs, which ends with the test."""
    with contextlib.ExitStack() as stack:
        def start(folder=data[1], **faults):
            server = Server(folder, place / f"server{len(list(place.iterdir()))}", **faults)
            stack.callback(server.stop)
            return server.start()
        yield start


def same(data, mounted):
    run("diff", "-r", data[0], mounted.path)


@pytest.fixture(scope="module")
def shards(data):
    for part in range(4):
        run(FOLDPACK, "create", "-q", f"--part={part}/4", data[0], data[1] / "set.lmdb")
    (data[1] / "list").write_text("".join(f"set-{part:05}-of-00004.lmdb\n" for part in range(4)))


def info(server, *options, status=0):
    return run(FOLDPACK, "info", *options, server.url("x.lmdb"), status=status)


def epoch(data, mounted, seed=1, met=lambda: None, pattern="*/*"):
    """The files are read, shuffled, by eight readers. How many came to what: "right", "wrong" or
    the error. met() is called when half of them have."""
    names = [path.relative_to(data[0]) for path in sorted(data[0].glob(pattern))]
    random.Random(seed).shuffle(names)
    begun = iter(range(len(names)))

    def read(name):
        if next(begun) == len(names) // 2:
            met()
        try:
            found = (mounted.path / name).read_bytes()
        except OSError as error:
            return errno.errorcode[error.errno]
        return "right" if found == (data[0] / name).read_bytes() else "wrong"

    with concurrent.futures.ThreadPoolExecutor(8) as readers:
        return dict(collections.Counter(readers.map(read, names)))


ALL_RIGHT = {"right": 400}
FRESH = ("--cache=pool", "--pool=8M", "--oracle=off")  # an epoch finds little of the one before

# --- what works -----------------------------------------------------------------------------


def test_a_mount_shows_what_was_packed(data, serve, mount, point):
    server = serve()
    mounted = mount(server.url("x.lmdb"))
    same(data, mounted)
    assert "already mounted" in run(FOLDFS, server.url("x.lmdb"), point).err
    assert foldfs.mount_lines(mounted.path)[0].source.decode() == server.url("x.lmdb")


@pytest.mark.usefixtures("shards")
@pytest.mark.parametrize("word", ["{}", "@{}"])
def test_packs_on_a_server_are_named_by_braces_or_a_list(data, serve, mount, word):
    server = serve()
    name = "list" if "@" in word else "set-{00000..00003}-of-00004.lmdb"
    mounted = mount(word.format(server.url(name)))
    same(data, mounted)
    assert mounted.said.startswith(
        f"foldfs: {server.url('set-00000-of-00004.lmdb')} and 3 more on ")
    run(FOLDPACK, "diff", data[0], word.format(server.url(name)))


MEET = """  -- the first pack is alone; the others wait for each other
    local counts = ngx.shared.counts
    if counts:add(ngx.var.uri, true) then counts:incr("packs", 1, 0) end
    ngx.sleep(0.05)
    if not ngx.var.uri:find("00000%-of") then
        for _ = 1, 500 do
            if counts:get("packs") == 4 then return end
            ngx.sleep(0.02)
        end
        ngx.exit(404)
    end"""


@pytest.mark.usefixtures("shards")
def test_packs_are_opened_at_once(serve, mount):
    mount(serve(access=MEET).url("set-{00000..00003}-of-00004.lmdb"))


@pytest.mark.usefixtures("shards")
def test_a_pack_of_a_set_that_the_server_has_not_is_named(data, serve, point, place):
    shutil.copytree(data[1], place / "some")
    (place / "some/set-00002-of-00004.lmdb").unlink()
    server = serve(folder=place / "some")
    word = server.url("set-{00000..00003}-of-00004.lmdb")
    assert f"{server.url('set-00002-of-00004.lmdb')}: " in \
        run(FOLDFS, word, point, status=1).err


FIRST = {"bytes=0-65535", "bytes=-1048576"}


def test_a_mount_is_there_after_one_round_trip(serve, mount):
    server = serve()
    mount(server.url("x.lmdb"))
    asked = [range for _, _, range, _, _ in server.asked()]
    assert set(asked[:2]) == FIRST
    assert len(asked) <= 4


def test_commands_read_urls(data, serve):
    server = serve()
    url, local = server.url("x.lmdb"), data[1] / "x.lmdb"
    for words in (["list", "-l"], ["info", "--json"]):
        near, far = run(FOLDPACK, *words, local).out, run(FOLDPACK, *words, url).out
        assert far.replace(url, str(local)) == near
    assert run(FOLDPACK, "cat", url, "c3/7").stdout == (data[0] / "c3/7").read_bytes()
    run(FOLDPACK, "diff", data[0], url)


def test_foldstat_says_what_was_asked_of_the_server(data, serve, mount):
    server = serve(access="if n > 3 and n % 7 == 0 then return ngx.exit(503) end")
    mounted = mount(server.url("x.lmdb"))
    same(data, mounted)
    far = mounted.stats()["far"]
    assert far["requests"] == len(server.asked())
    assert far["bytes"] > 24 * MIB
    assert far["retries"] == far["refused"] == len([a for a in server.asked() if a[0] == "503"])
    said = run(FOLDSTAT, mounted).out
    assert f"in {far['requests']} requests (under $0.01 at" in said
    assert f"{far['retries']} repeated" in said
    asked = {member for member in foldfs.members_asked_for() if member.startswith("/far/")}
    assert asked == {f"/far/{member}" for member in far}


loads_libcurl = pytest.mark.skipif(foldfs.is_static(), reason="libcurl is in the program")


@loads_libcurl
def test_local_packs_need_no_libcurl(data, mount):
    mounted = mount(data[1] / "x.lmdb")
    assert "libcurl" not in open(f"/proc/{mounted.daemon}/maps", encoding="utf-8").read()


@loads_libcurl
def test_what_a_missing_libcurl_is_called_is_said(data, place):
    (place / "libcurl.so.4").touch()  # it is found first, and is none
    env = {**os.environ, "LD_LIBRARY_PATH": str(place)}
    said = run(FOLDPACK, "info", "http://127.0.0.1/x.lmdb", env=env, status=1).err
    assert "URLs need libcurl.so.4: install libcurl4" in said
    run(FOLDPACK, "info", data[1] / "x.lmdb", env=env)


def test_all_requests_but_the_first_ones_name_the_object(serve):
    """Both ends are asked for before either answer is there."""
    server = serve(access="if n <= 2 then ngx.sleep(0.5) end")
    run(FOLDPACK, "verify", "-q", server.url("x.lmdb"))
    conditions = [if_match for _, _, _, if_match, _ in server.asked()]
    assert conditions.count("-") == 2
    assert len(set(conditions)) == 2


# --- what is asked again --------------------------------------------------------------------


def test_a_server_that_is_never_ready_is_not_waited_for_longer_than_retry(serve):
    server = serve(access='ngx.header["Retry-After"] = "5"; return ngx.exit(503)')
    began = time.monotonic()
    info(server, "--retry=2", status=1)
    assert 2 <= time.monotonic() - began < 5


def test_an_outage_is_waited_for_and_said_once(data, serve, mount):
    server = serve()
    mounted = mount(server.url("x.lmdb"), "-f")
    server.stop()
    bad = []
    reader = threading.Thread(target=lambda: bad.append(
        run("diff", "-r", data[0], mounted, status=None).returncode))
    reader.start()
    said = foldfs.wait_for_line(mounted.process.stderr, b"asking again")
    server.start()
    reader.join()
    assert bad == [0]
    mounted.close()
    said += mounted.log()
    assert said.count("asking again") == said.count("answers again, after") == 1


def test_an_outage_longer_than_patience_is_an_error(data, serve, mount):
    server = serve()
    mounted = mount(server.url("x.lmdb"), "--retry=1")
    server.stop()
    with pytest.raises(OSError):
        (mounted.path / "c5/3").read_bytes()
    said = run(FOLDSTAT, mounted).out
    assert "1 file could not be read: the server did not deliver" in said
    assert "foldpack verify" not in said
    server.start()
    assert (mounted.path / "c5/3").read_bytes() == (data[0] / "c5/3").read_bytes()


def test_an_outage_keeps_no_mount_alive(serve, mount):
    server = serve()
    mounted = mount(server.url("x.lmdb"), "-f")
    server.stop()
    reader = subprocess.Popen(["cat", mounted / "c4/4"], stdout=subprocess.DEVNULL)
    foldfs.wait_for_line(mounted.process.stderr, b"asking again")
    reader.kill()
    reader.wait()
    foldfs.unmount(mounted.path)
    assert mounted.wait(foldfs.PATIENCE / 2) == 0


@pytest.mark.slow
def test_a_stalled_answer_is_asked_for_again(data, serve, mount):
    server = serve(access="if n == 6 then ngx.sleep(3600) end")
    same(data, mount(server.url("x.lmdb")))


# --- servers that never end -----------------------------------------------------------------

HEADERS = b'HTTP/1.1 206 Partial Content\r\nETag: "1"\r\n'
RANGE = HEADERS + b"Content-Range: bytes 0-65535/9999999\r\nContent-Length: 65536\r\n\r\n"


def slowly(data, rate):
    for byte in range(0, len(data), rate):
        yield data[byte:byte + rate]
        time.sleep(1)


NEVER_ENDING = {
    "a byte a second": lambda: itertools.chain([RANGE], slowly(bytes(65536), 1)),
    "1,100 bytes a second": lambda: itertools.chain([RANGE], slowly(bytes(65536), 1100)),
    "headers a byte a second": lambda: slowly(RANGE, 1),
    "a line of headers a second": lambda: itertools.chain([HEADERS], slowly(b"A: b\r\n" * 99, 6)),
    "continue": lambda: slowly(b"HTTP/1.1 100 Continue\r\n\r\n" * 99, 25),
    "nothing": lambda: slowly(b"", 1),
    "headers": lambda: itertools.chain([HEADERS], itertools.repeat(b"A: b\r\n" * 999)),
    "a header": lambda: itertools.chain([HEADERS], itertools.repeat(b"a" * 9999)),
    "chunks": lambda: itertools.chain(
        [HEADERS + b"Content-Range: bytes 0-65535/9999999\r\nTransfer-Encoding: chunked\r\n\r\n"],
        slowly(b"1;extension\r\na\r\n" * 99, 16)),
    "what is no HTTP": lambda: itertools.repeat(b"SSH-2.0-OpenSSH_9.2p1\r\n"),
}


class Sender:
    """A server that sends pieces to whoever connects, whatever is asked."""

    def __init__(self, pieces):
        self.pieces, self.listening = pieces, socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"http://127.0.0.1:{self.listening.getsockname()[1]}/x.lmdb"
        self.asked = threading.Event()
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                client = self.listening.accept()[0]
                threading.Thread(target=self.send, args=(client,), daemon=True).start()

    def send(self, client):
        with contextlib.suppress(OSError), client:
            client.recv(4096)
            self.asked.set()
            for piece in self.pieces():
                client.sendall(piece)
            client.recv(1)  # until it hangs up


@pytest.fixture
def sender():
    with contextlib.ExitStack() as stack:
        def start(pieces):
            server = Sender(pieces)
            stack.callback(server.listening.close)
            return server
        yield start


def test_a_server_that_never_ends_is_given_up(sender):
    """After --retry, and ten seconds more for each try."""
    asking = {name: subprocess.Popen([FOLDPACK, "info", "--retry=3", sender(pieces).url],
                                     stderr=subprocess.PIPE, text=True)
              for name, pieces in NEVER_ENDING.items()}
    end = time.monotonic() + 60
    for name, process in asking.items():
        said = process.communicate(timeout=end - time.monotonic())[1]
        assert process.returncode == 1 and "x.lmdb: " in said, name
        assert "damaged" not in said and "memory" not in said, said


@pytest.mark.parametrize("said, pieces", [
    ("the headers of the answer have over 64 KiB", NEVER_ENDING["headers"]),
    ("the answer has over 4096 KiB", lambda: itertools.chain(
        [b"HTTP/1.1 200 OK\r\n\r\n"], itertools.repeat(b"[" * 9999))),
])
@pytest.mark.parametrize("name", ["hf://datasets/o/n/*.tar", "s3://b/*.tar"])
def test_a_listing_that_never_ends_is_given_up_at_once(sender, home, monkeypatch, name, said,
                                                       pieces):
    server = sender(pieces).url.rpartition("/")[0]
    monkeypatch.setenv("HF_ENDPOINT", server)
    began = time.monotonic()
    assert run(FOLDPACK, "info", "--anonymous", f"--endpoint={server}", name, status=1).err == (
        f"foldpack: {name}: {said}\n")
    assert time.monotonic() - began < 10


def test_a_list_that_is_too_long_is_not_read(serve, place):
    """By the size that the server says."""
    (place / "lists").mkdir()
    with open(place / "lists/long", "wb") as file:
        file.truncate(1 << 40)
    (place / "x.tar").write_bytes(bytes(1024))
    server = serve(folder=place / "lists")
    url = server.url("long")
    for said, *words in (("a list: over 64 MiB", FOLDPACK, "info", f"@{url}"),
                         ("a list: over 64 MiB", FOLDFS, f"--select=@{url}", url, place / "mnt"),
                         ("a list of names: over 256 MiB", FOLDPACK, "list", f"--classes={url}",
                          place / "x.tar")):
        server.forget()
        assert f"too long for {said}\n" in run(*words, status=1).err
        assert [range for _, _, range, _, _ in server.asked()] == ["bytes=0-8388607"]


@pytest.mark.parametrize("command", ["info", "list", "verify", "cat", "diff", "extract", "export",
                                     "report", "fetch", "create", "mount"])
def test_a_signal_ends_the_opening_at_once(sender, place, point, command):
    server = sender(NEVER_ENDING["a byte a second"])
    url = server.url
    words = {"cat": [url, "x"], "diff": [place, url], "extract": [url, place / "out"],
             "export": ["--format=lmdb", url, place / "out"], "report": [url, "-o", place / "out"],
             "fetch": [f"--cache-dir={place}", url], "create": [url, place / "out"]}
    begun = [FOLDFS, url, point] if command == "mount" else \
        [FOLDPACK, command, *words.get(command, [url])]
    with subprocess.Popen(begun, stderr=subprocess.PIPE) as process:
        assert server.asked.wait(foldfs.PATIENCE)
        began = time.monotonic()
        process.send_signal(signal.SIGTERM if command in ("mount", "list") else signal.SIGINT)
        process.wait(foldfs.PATIENCE)
        assert time.monotonic() - began < 3
    assert not (place / "out").exists()


# --- what is final --------------------------------------------------------------------------


@pytest.mark.parametrize("access, said", [
    ('ngx.req.clear_header("Range")', "the server ignores ranges"),
    ('ngx.req.set_header("Range", "bytes=0-99")', "another range"),
    ("return ngx.exit(400)", "(400)"),
    ("return ngx.exit(401)", "FOLDFS_TOKEN"),
    ("return ngx.exit(403)", "FOLDFS_TOKEN"),
    ("return ngx.exit(404)", "not found"),
    ("return ngx.exit(410)", "no longer there"),
    ("return ngx.exit(416)", "empty"),
    ("return ngx.exit(405)", "(405)"),
    ("return ngx.redirect(ngx.var.request_uri)", "it leads nowhere"),
    ('return ngx.redirect("ftp://127.0.0.1/")', "another kind of server"),
])
def test_what_cannot_work_is_said_at_once(serve, access, said):
    server = serve(access=access)
    began = time.monotonic()
    assert said in info(server, status=1).err
    assert time.monotonic() - began < 10


def test_an_encoded_object_is_refused(serve):
    server = serve(headers='ngx.header["Content-Encoding"] = "gzip"')
    assert "encodes it (gzip)" in info(server, status=1).err


def test_what_is_no_pack_is_said(serve, place):
    (place / "served").mkdir()
    (place / "served/x.lmdb").write_bytes(b"no pack" * 10000)
    server = serve(folder=place / "served")
    assert "not an LMDB file" in info(server, status=1).err
    (place / "served/x.lmdb").write_bytes(b"")
    assert "empty" in info(server, status=1).err


def test_no_server_is_said(place):
    said = run(FOLDPACK, "info", "--retry=0", "http://127.0.0.1:9/x.lmdb", status=1).err
    assert "http://127.0.0.1:9/x.lmdb: the server does not answer" in said
    said = run(FOLDPACK, "info", "--retry=0", "http://host.invalid/x.lmdb", status=1).err
    assert "the address of the server is not found" in said and "--endpoint" not in said
    said = run(FOLDPACK, "info", "--retry=0", "--endpoint=http://host.invalid", "--anonymous",
               "gs://bucket/x.lmdb", status=1).err
    assert "is not found" in said and "; '--endpoint' names another" in said
    for name in "x.lmdb", "d/", "*.tar":
        said = run("env", "HF_ENDPOINT=http://host.invalid", FOLDPACK, "info", "--retry=0",
                   f"hf://datasets/o/n/{name}", status=1).err
        assert "is not found" in said and "; HF_ENDPOINT names another" in said


# An address that is late may be found by chance.
SEVERAL = """for _ in 1 2 3 4; do "$0" info "$1" >/dev/null & all="$all $!"; done
    for pid in $all; do wait $pid || exit; done"""


@foldfs.is_root
@foldfs.needs("unshare")
@pytest.mark.parametrize("command", ["info", pytest.param("foldfs", marks=pytest.mark.slow)])
def test_a_nameserver_that_says_nothing_keeps_no_name_from_being_found(small, place, point,
                                                                       command):
    pack = shutil.copy(small[1], place / "x.lmdb")
    words = {"info": ["sh", "-c", SEVERAL, FOLDPACK, "{}"],
             "foldfs": [FOLDFS, "{}", point, "--", "diff", "-r", small[0], point]}[command]
    run("unshare", "--net", "--mount", sys.executable, foldfs.ROOT / "tests/mount/nameservers.py",
        pack, *words)


BUNDLES = "AWS_CA_BUNDLE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"

SYSTEM = 'mount --bind "$0" /etc/ssl/certs && exec "$@"'


@pytest.fixture
def no_authorities(monkeypatch):
    """Nothing is said of authorities."""
    for name in (*BUNDLES, "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)


@foldfs.needs("openssl")
@pytest.mark.parametrize("name, options, trusted, said", [
    ("IP:127.0.0.1", ["-days", "2"], "ca.crt", None),
    ("IP:127.0.0.1", ["-days", "2"], None, "is not trusted; '--ca-file' names"),
    ("DNS:example.org", ["-days", "2"], "ca.crt", "is for another host; is the name in the URL"),
    ("IP:127.0.0.1", ["-days", "-1"], "ca.crt", "has expired, or the clock"),
    ("IP:127.0.0.1", ["-days", "2"], "nothing", "the certificates of '--ca-file' (or AWS_CA_BUNDL"),
    ("IP:127.0.0.1", ["-days", "2"], "key.pem", "the certificates of '--ca-file' (or AWS_CA_BUNDL"),
])
def test_what_is_wrong_with_a_certificate_is_said(serve, place, name, options, trusted, said):
    server = serve(tls=make_certificate(place, name, *options))
    words = [f"--ca-file={place / trusted}"] if trusted else []
    began = time.monotonic()
    err = info(server, *words, status=1 if said else 0).err
    assert (said or "") in err and time.monotonic() - began < 10


@pytest.mark.usefixtures("no_authorities")
@foldfs.is_root
@foldfs.needs("openssl", "unshare")
def test_who_names_authorities_trusts_no_others(serve, place):
    """Nor those that the system trusts, by its file or its folder."""
    for name in ("of-system", "own", "system"):
        (place / name).mkdir()
    server = serve(tls=make_certificate(place / "of-system", "IP:127.0.0.1"))
    make_certificate(place / "own", "IP:127.0.0.1")
    shutil.copy(place / "of-system/ca.crt", place / "system/ca-certificates.crt")
    run("openssl", "rehash", place / "system")
    info = ["unshare", "--mount", "sh", "-c", SYSTEM, place / "system", FOLDPACK, "info",
            "--retry=0", server.url("x.lmdb")]
    if run(*info, status=None).returncode:
        pytest.skip("this libcurl looks for authorities elsewhere")
    for name, status in ("own", 1), ("of-system", 0):
        file = place / name / "ca.crt"
        said = [run(*info, f"--ca-file={file}", status=status).err]
        for variable in BUNDLES:
            said.append(run(*info, env={**os.environ, variable: str(file)}, status=status).err)
        assert [line for line in said if "is not trusted" in line] == said * status


def test_https_at_a_port_of_http_is_said(serve):
    url = serve().url("x.lmdb").replace("http:", "https:")
    assert "the server does not encrypt at this port; is it an http:// one?" in \
        run(FOLDPACK, "info", url, status=1).err


ALLOWS_NO = "does not allow this server (403); no_proxy"
HAS_NO_CONNECT = "the proxy that https_proxy names connects nobody"  # as nginx


@pytest.mark.parametrize("status, url, said", [
    (407, "https", "http://USER:PASSWORD@HOST"), (407, "http", "http://USER:PASSWORD@HOST"),
    (403, "https", ALLOWS_NO), (400, "https", HAS_NO_CONNECT), (405, "https", HAS_NO_CONNECT),
    (501, "https", HAS_NO_CONNECT),
])
def test_what_a_proxy_refuses_is_said(sender, status, url, said):
    proxy = sender(lambda: [b"HTTP/1.1 %d No\r\nProxy-Authenticate: Basic realm=x\r\n"
                            b"Content-Length: 0\r\n\r\n" % status]).url
    env = {**os.environ, "https_proxy": proxy, "http_proxy": proxy}
    err = run(FOLDPACK, "info", f"{url}://192.0.2.1/x", env=env, status=1).err
    assert said in err and ("PASSWORD" in err) == (status == 407)


# --- the object is replaced -----------------------------------------------------------------


def is_replaced(data, mounted):
    """Reads fail but for what was read ahead, and that is said once."""
    outcomes = set(epoch(data, mounted))
    return outcomes in ({"right", "EIO"}, {"EIO"}) and said_once(mounted, "while mounted")


def test_files_of_an_object_that_changes_are_said_to_change(serve, place):
    server = serve(headers="""ngx.header["ETag"] = '"' .. ngx.var.request_id .. '"'""")
    done = run(FOLDPACK, "extract", server.url("x.lmdb"), place / "out", status=1)
    assert ": changed, or was replaced, meanwhile\n" in done.err


@pytest.mark.parametrize("status, tag", [(200, "ETag"), (400, "Last-Modified"), (412, "ETag"),
                                         (501, "Last-Modified")])
def test_a_server_that_refuses_conditions_is_asked_without(data, serve, mount, status, tag):
    refuses = 'ngx.req.clear_header("Range")' if status == 200 else f"return ngx.exit({status})"
    server = serve(directives="etag off;" if tag == "Last-Modified" else "", access=f"""
        if ngx.var.http_if_match or ngx.var.http_if_unmodified_since then {refuses} end""")
    mounted = mount(server.url("x.lmdb"), *FRESH)
    assert epoch(data, mounted) == ALL_RIGHT
    refused = [asked for asked in server.asked() if asked[0] == str(status)]
    assert 0 < len(refused) < len(server.asked()) / 4


@pytest.mark.parametrize("tag", ["another", "none"])
def test_a_server_that_refuses_conditions_mixes_no_objects(data, serve, mount, tag):
    refuses = "if ngx.var.http_if_match then return ngx.exit(412) end"
    server = serve(access=refuses)
    mounted = mount(server.url("x.lmdb"), *FRESH)
    assert epoch(data, mounted, pattern="c0/*") == {"right": 50}
    other = '\'"other"\'' if tag == "another" else "nil"
    server.restart(access=refuses, headers=f'ngx.header["ETag"] = {other}')
    assert is_replaced(data, mounted)


class Plain(answers.Handler):
    """Says of a range that it is all, as gofakes3 does (rclone serve s3); or sends another one."""

    def do_GET(self):
        data, right = self.given
        if not right:
            self.headers.replace_header("Range", "bytes=7-99")
        self.answer_range(data, status=200)


def test_a_range_that_is_said_to_be_all_is_a_range(data, mount):
    with answers.serve(Plain, ((data[1] / "x.lmdb").read_bytes(), True)) as url:
        same(data, mount(url + "/x.lmdb"))


def test_a_range_that_is_said_to_be_all_must_be_the_right_one(data):
    with answers.serve(Plain, ((data[1] / "x.lmdb").read_bytes(), False)) as url:
        said = run(FOLDPACK, "info", url + "/x.lmdb", status=1).err
        assert "the server sends another range (bytes 7-99/" in said


# --- redirects and credentials --------------------------------------------------------------


def test_redirects_are_followed_and_remembered(data, serve, mount):
    behind = serve()
    front = serve(access=f'return ngx.redirect("{behind.url("x.lmdb")}", 307)')
    same(data, mount(front.url("x.lmdb")))
    assert len(front.asked()) == 2


def write_tar(data, path):
    with tarfile.open(path, "w") as tar:
        for name in sorted(data[0].glob("*/*")):
            tar.add(name, name.relative_to(data[0]))


@pytest.fixture(params=["x.lmdb", "x.tar"])
def copied(data, place, request):
    """The name of a file that several servers have, and its folder."""
    (place / "copied").mkdir()
    path = place / "copied" / request.param
    if path.suffix == ".tar":
        write_tar(data, path)
    else:
        shutil.copy(data[1] / "x.lmdb", path)
    return path


@pytest.mark.parametrize("refused", sorted(FIRST))
def test_what_another_link_brought_before_the_object_is_known_is_asked_for_again(serve, refused):
    """The first requests are sent together: one is refused, so that another link is asked for."""
    behind = serve(access=f"""
        if range == "{refused}" and ngx.var.arg_link == "1" then return ngx.exit(403) end
        if n < 6 then ngx.sleep(ngx.var.arg_link == "1" and 0.3 or 0.6) end""")
    front = serve(access=f"""return ngx.redirect(
        "{behind.url("x.lmdb")}?link=" .. (n <= 2 and 1 or 2))""")
    info(front)
    assert FIRST <= {range for _, path, range, _, _ in behind.asked() if path.endswith("link=2")}


class Edges:
    """Of a CDN: a link to one of them ends after some requests, and the next is to the other. Each
    has its own ETag. What the front says of the object is `linked`."""

    ENDS = "if ngx.shared.counts:incr(ngx.var.arg_link, 1, 0) > 30 then return ngx.exit(403) end"

    def __init__(self, serve, path, linked):
        self.path = path
        self.edges = [serve(folder=path.parent, access=self.ENDS,
                            headers=f'ngx.header["ETag"] = \'"edge-{edge}"\'') for edge in "ab"]
        self.front = serve(access=self.redirects(linked))

    def redirects(self, linked):
        a, b = (edge.url(self.path.name) for edge in self.edges)
        says = f'ngx.header["X-Linked-ETag"] = "{linked}"; ' if linked else ""
        return f'{says}return ngx.redirect((n % 2 == 0 and "{a}" or "{b}") .. "?link=" .. n, 302)'


@pytest.mark.parametrize("linked", [None, "sha"])
def test_edges_of_a_cdn_need_not_agree_on_an_etag(data, serve, mount, copied, linked):
    edges = Edges(serve, copied, linked)
    mounted = mount(edges.front.url(copied.name), *FRESH, "--readahead=0")  # a request a file
    assert epoch(data, mounted) == ALL_RIGHT
    looks = [[range for _, _, range, _, _ in edge.asked()].count("bytes=0-20479")
             for edge in edges.edges]
    assert all("206" in {status for status, *_ in edge.asked()} for edge in edges.edges)
    assert sum(looks) > 0 or linked
    assert not linked or sum(looks) == 0
    assert not mounted.stats()["changed"]


def test_edges_of_a_cdn_that_differ_are_not_mixed(data, serve, mount, copied):
    """Size and ETag are the same."""
    edges = Edges(serve, copied, None)
    mounted = mount(edges.front.url(copied.name), *FRESH)
    assert epoch(data, mounted, pattern="c0/*") == {"right": 50}
    other = copied.parent / "other"
    other.mkdir()
    changed = bytearray(copied.read_bytes())
    changed[16000] ^= 1  # of the superblock, or of the first file
    (other / copied.name).write_bytes(changed)
    used, unused = sorted(edges.edges, key=lambda edge: -len(edge.asked()))
    used.restart(access="return ngx.exit(403)")
    unused.folder = other
    unused.restart(access=Edges.ENDS, headers="""ngx.header["ETag"] = '"other"'""")
    edges.front.restart(access=f'return ngx.redirect("{unused.url(copied.name)}?link=9")')
    assert is_replaced(data, mounted)


def test_a_server_that_links_to_another_object_has_replaced_it(data, serve, mount, copied):
    edges = Edges(serve, copied, "sha")
    mounted = mount(edges.front.url(copied.name), *FRESH)
    edges.front.restart(access=edges.redirects("other"))
    assert is_replaced(data, mounted)


@pytest.mark.usefixtures("no_authorities")
@foldfs.needs("openssl")
def test_no_redirect_leads_from_https_to_http(serve, place):
    behind = serve()
    (place / "first").mkdir()
    to_http = f'return ngx.redirect("{behind.url("x.lmdb")}")'
    front = serve(tls=make_certificate(place / "first", "IP:127.0.0.1"), access=to_http)
    trusted = f"--ca-file={place}/first/ca.crt"
    assert "redirects to another kind of server: only https" in info(front, trusted, status=1).err
    assert not behind.asked()
    run(FOLDPACK, "info", trusted, serve(
        access=f'return ngx.redirect("{front.url("x.lmdb")}")').url("x.lmdb"))
    assert behind.asked()


def test_a_redirect_to_what_refuses_is_not_followed_for_ever(serve):
    behind = serve(access="return ngx.exit(403)")
    front = serve(access=f'return ngx.redirect("{behind.url("x.lmdb")}?link=" .. n)')
    assert "the server does not allow it (403)" in info(front, status=1).err
    assert len(behind.asked()) <= 8 and len(front.asked()) <= 8


@pytest.fixture
def guarded(serve):
    return serve(access="""
        if ngx.var.http_authorization ~= "Bearer sesame" then return ngx.exit(401) end""")


def with_token(token, *words, name="FOLDFS_TOKEN", status=0):
    return run(*words, env={**os.environ, name: str(token)}, status=status)


def test_a_token_opens_what_it_should(guarded):
    url = guarded.url("x.lmdb")
    with_token("sesame", FOLDPACK, "info", url)
    said = with_token("wrong-token", FOLDPACK, "info", url, status=1).err
    assert "the server refuses the token" in said and "wrong-token" not in said


def test_a_token_goes_to_no_other_server(serve):
    behind = serve()
    front = serve(access=f'return ngx.redirect("{behind.url("x.lmdb")}")')
    with_token("sesame", FOLDPACK, "info", front.url("x.lmdb"))
    assert {asked[4] for asked in front.asked()} == {"Bearer sesame"}
    assert {asked[4] for asked in behind.asked()} == {"-"}


def sent_to(server):
    return {asked[4] for asked in server.asked()}


@pytest.fixture
def listing(serve, place):
    """listing(line..): a server whose x.list has these lines, beside x.lmdb."""
    def start(*lines):
        folder = place / "listing"
        folder.mkdir()
        (folder / "x.list").write_text("".join(f"{line}\n" for line in lines))
        return serve(folder=folder)
    return start


def test_a_token_goes_to_no_server_that_a_list_names(serve, listing, place):
    other = serve()
    own = listing("a/=x.lmdb", f"b/={other.url('x.lmdb')}")
    shutil.copy(other.folder / "x.lmdb", own.folder)
    with_token("sesame", FOLDPACK, "info", "@" + own.url("x.list"))
    assert sent_to(own) == {"Bearer sesame"} and sent_to(other) == {"-"}
    other.forget()
    (place / "list").write_text(other.url("x.lmdb"))
    with_token("sesame", FOLDPACK, "info", f"@{place}/list")
    assert sent_to(other) == {"-"}


def test_a_token_is_for_the_first_server_or_the_one_that_is_named(serve, mount, monkeypatch):
    first, second = serve(), serve()
    monkeypatch.setenv("FOLDFS_TOKEN", "sesame")
    words = [f"a/={first.url('x.lmdb')}", f"b/={second.url('x.lmdb')}"]
    mount(words[1], words[0]).close()
    assert sent_to(first) == {"Bearer sesame"} and sent_to(second) == {"-"}
    first.forget()
    monkeypatch.setenv("FOLDFS_TOKEN_HOST", f"127.0.0.1:{second.port}")
    mount(words[1], words[0]).close()
    assert sent_to(first) == {"-"} and "Bearer sesame" in sent_to(second)


def test_who_gets_no_token_or_password_hears_why(guarded, listing):
    env = {**os.environ, "FOLDFS_TOKEN": "sesame", "FOLDFS_TOKEN_HOST": "elsewhere"}
    said = run(FOLDPACK, "info", guarded.url("x.lmdb"), env=env, status=1).err
    assert "FOLDFS_TOKEN is for another server: FOLDFS_TOKEN_HOST names" in said
    own = listing(guarded.url("x.lmdb"))
    assert "name it on the command line" in \
        run(FOLDPACK, "info", "@" + own.url("x.list"), status=1).err


def test_what_is_meant_for_this_machine_goes_through_no_proxy(data, guarded, serve):
    proxy = serve()
    env = {**os.environ, "FOLDFS_TOKEN": "sesame", "http_proxy": proxy.url(""), "no_proxy": ""}
    run(FOLDPACK, "info", guarded.url("x.lmdb"), env=env)
    assert not proxy.asked()
    run(FOLDPACK, "info", "http://192.0.2.1/x.lmdb", env={**env, "FOLDFS_TOKEN": ""})
    assert sent_to(proxy) == {"-"}
    assert proxy.asked()


def test_a_proxy_is_asked_for_what_this_machine_redirects_to(serve):
    proxy = serve()
    front = serve(access='return ngx.redirect("http://192.0.2.1/x.lmdb")')
    env = {**os.environ, "http_proxy": proxy.url(""), "no_proxy": ""}
    run(FOLDPACK, "info", "--retry=0", front.url("x.lmdb"), env=env)
    assert {asked[0] for asked in front.asked()} == {"302"}
    assert {asked[0] for asked in proxy.asked()} == {"206"}


def test_a_token_is_not_sent_in_the_clear():
    said = with_token("sesame", FOLDPACK, "info", "http://192.0.2.1/x.lmdb", status=1).err
    assert "https only" in said


def test_a_password_goes_to_no_server_that_a_server_names(serve, listing, place):
    """~/.netrc may have an entry for all hosts."""
    (place / ".netrc").write_text("default login ali password sesame\n")
    env = {**os.environ, "HOME": str(place)}
    behind = serve()
    front = serve(access=f'return ngx.redirect("{behind.url("x.lmdb")}")')
    own = listing(behind.url("x.lmdb"))
    for url in (front.url("x.lmdb"), "@" + own.url("x.list"),
                front.url("x.lmdb").replace("//", "//ali:sesame@")):
        run(FOLDPACK, "info", url, env=env)
    assert sent_to(front) == sent_to(own) == {"Basic YWxpOnNlc2FtZQ=="}
    assert sent_to(behind) == {"-"}
    (place / "list").write_text(behind.url("x.lmdb"))
    run(FOLDPACK, "info", f"@{place}/list", env=env)
    assert "Basic YWxpOnNlc2FtZQ==" in sent_to(behind)


def test_a_signed_request_follows_no_redirect(serve):
    behind = serve()
    front = serve(access=f'return ngx.redirect("{behind.url("x.lmdb")}", 302)')
    env = {**os.environ, "AWS_ACCESS_KEY_ID": "A", "AWS_SECRET_ACCESS_KEY": "S",
           "AWS_ENDPOINT_URL": front.url("")}
    assert "refuses: 302" in run(FOLDPACK, "info", "s3://b/x.lmdb", env=env, status=1).err
    assert front.asked() and not behind.asked()


@pytest.mark.parametrize("line", ["{}", "{}*", "file://{}", "a/={}", "{{{},x.lmdb}}",
                                  "s3://bucket/x.lmdb", "https://127.0.0.1/x.lmdb"])
def test_a_list_on_a_server_names_what_is_on_that_kind_of_server(data, listing, point, line):
    word = "@" + listing(line.format(data[1] / "x.lmdb")).url("x.list")
    for command in ([FOLDPACK, "list"], [FOLDFS, "--retry=0"]):
        said = run(*command, word, *[point] * (command[0] == FOLDFS), status=1)
        assert not said.out
        assert "a list on a server names packs by" in said.err or "not found (404)" in said.err


@pytest.mark.parametrize("url, said", [
    *((url, "no URL") for url in ("http://", "https:///x", "http://user@/x")),
    ("hf://datasets/x", "hf://datasets/x: no file of a dataset on the Hub: hf://datasets/OWNER/"),
    ("file://host/tmp/x.lmdb", "file://host/tmp/x.lmdb: not a local file: that is file:///"),
    ("file:///tmp/100%.lmdb", "not a local file: that is file:///PATH, with %25 for a perc"),
    ("ftp://ali:sesame@host/x", "ftp://host/x: ftp:// is not read: https://, http://, s3://, gs"),
    ("https:/host/x", "no such file; a URL begins with https://"),
    ("S3:/bucket/x", "no such file; a URL begins with s3://"),
    ("gs:/bucket/x", "no such file; a URL begins with gs://"),
    ("hf:/datasets/a/b/x", "no such file; a URL begins with hf://"),
])
def test_what_is_no_url_that_can_be_read_is_said(url, said):
    err = run(FOLDPACK, "list", url, status=1).err
    assert said in err and "sesame" not in err


def test_what_is_no_url_that_can_be_read_is_said_at_each_door(place, point):
    url = "ftp://ali:sesame@host/x"
    (place / "list").write_text(f"{url}\n")
    for door in ([FOLDFS, url, point], [FOLDFS, f"@{place}/list", point],
                 [FOLDPACK, "list", f"@{place}/list"], [FOLDPACK, "diff", place, url],
                 [FOLDPACK, "create", url, place / "x.lmdb"],
                 [FOLDPACK, "extract", url, place / "o"],
                 [FOLDPACK, "fetch", f"--cache-dir={place}", url],
                 [FOLDPACK, "report", "-o", place / "x.html", url]):
        err = run(*door, status=1).err
        assert "ftp://host/x: ftp:// is not read" in err and "sesame" not in err, door


def test_a_url_of_this_machine_is_a_path_at_each_door(place, mount):
    def url(path):
        return f"file://localhost{path}".replace(" ", "%20")

    folder, pack, out = place / "a set", place / "a pack.lmdb", place / "an out"
    (folder / "x").mkdir(parents=True)
    (folder / "x/1.jpg").write_bytes(b"one")
    run(FOLDPACK, "create", "--check=off", url(folder), url(pack))
    (place / "a list").write_text(f"{url(place)}/a%20p*.lmdb\n")
    for word in url(pack), "@" + url(place / "a list"), f"y/={url(pack)}":
        assert "x/1.jpg\n" in run(FOLDPACK, "list", word).out
    run(FOLDPACK, "diff", url(folder), url(pack))
    run(FOLDPACK, "extract", url(pack), url(out))
    run(FOLDPACK, "fetch", f"--cache-dir={url(place)}", url(pack))
    assert (out / "x/1.jpg").read_bytes() == b"one"
    (place / "an order").write_text("x/1.jpg\n")
    mounted = mount(url(pack), "-o", f"ro,order={url(place / 'an order')}")
    assert (mounted.path / "x/1.jpg").read_bytes() == b"one"


def test_secrets_of_a_url_are_shown_nowhere(serve, mount):
    server = serve()
    url = server.url("x.lmdb").replace("//", "//ali:sesame@") + "?X-Amz-Signature=5e5a3e"
    mounted = mount(url)
    line = foldfs.mount_lines(mounted.path)[0]
    words = open(f"/proc/{mounted.daemon}/cmdline", encoding="utf-8").read()
    shown = json.dumps(mounted.stats()) + line.source.decode() + words + \
        run(FOLDPACK, "info", url).out
    assert "127.0.0.1" in words
    assert "sesame" not in shown and "5e5a3e" not in shown
    server.stop()
    said = run(FOLDPACK, "info", "--retry=0", url, status=1).err
    assert "sesame" not in said and "5e5a3e" not in said


@pytest.mark.parametrize("command", [
    lambda url, point: [FOLDPACK, "info", url], lambda url, point: [FOLDFS, url, point],
    lambda url, point: [FOLDFS, "-o", f"select=@{url}", url, point],
    lambda url, point: [FOLDPACK, "list", f"--classes={url}", url],
], ids=["foldpack", "foldfs", "-o", "--classes"])
def test_the_command_line_shows_no_secrets_while_packs_are_opened(sender, point, command):
    server = sender(NEVER_ENDING["nothing"])
    url = server.url.replace("//", "//ali:sesame@") + "?sig=5e5a3e"
    with subprocess.Popen(command(url, point), stderr=subprocess.DEVNULL) as process:
        assert server.asked.wait(foldfs.PATIENCE)
        words = open(f"/proc/{process.pid}/cmdline").read()
        process.kill()
    assert "127.0.0.1" in words and "sesame" not in words and "5e5a3e" not in words


# --- a training under way -------------------------------------------------------------------

def said_once(mounted, words):
    return len([line for line in mounted.stats()["log"] if words in line]) == 1


@pytest.mark.parametrize("status, said", [
    (403, "refuses it"), (404, "not found"),
])
def test_what_is_refused_in_mid_epoch_is_an_error_until_it_is_not(data, serve, mount, status, said):
    server = serve()
    mounted = mount(server.url("x.lmdb"), "-f", *FRESH)
    outcomes = epoch(data, mounted,
                     met=lambda: server.restart(access=f"return ngx.exit({status})"))
    assert set(outcomes) == {"right", "EIO"}
    server.restart()
    assert epoch(data, mounted, seed=2) == ALL_RIGHT
    mounted.close()
    assert mounted.log().count(said) == 1


def test_a_server_that_refuses_every_second_request_does_not_fill_the_log(data, serve, mount):
    server = serve(access="if n > 3 and n % 2 == 0 then return ngx.exit(404) end")
    mounted = mount(server.url("x.lmdb"), "-f", *FRESH)
    assert set(epoch(data, mounted, pattern="c0/*")) == {"right", "EIO"}
    mounted.close()
    log = mounted.log()
    assert log.count("not found") == log.count("answers again") == 1


@pytest.mark.parametrize("older", [100, 0], ids=["ETag", "checksums"])
def test_an_object_replaced_in_mid_epoch_is_never_mixed(data, serve, mount, place, older):
    """nginx makes the ETag of size and second; without a difference, checksums see it."""
    served, source = place / "served", place / "source"
    served.mkdir()
    for name in data[0].glob("*/*"):
        (source / name.parent.name).mkdir(parents=True, exist_ok=True)
        write(source / name.relative_to(data[0]), noise(7, name.stat().st_size))
    pack(source, served / "y.lmdb")
    shutil.copy(data[1] / "x.lmdb", served / "x.lmdb")
    written = (served / "y.lmdb").stat()
    assert (served / "x.lmdb").stat().st_size == written.st_size
    os.utime(served / "x.lmdb", (written.st_mtime, written.st_mtime - older))
    url = serve(folder=served).url("x.lmdb")
    mounted = mount(url, *FRESH)
    outcomes = epoch(data, mounted, met=lambda: os.replace(served / "y.lmdb", served / "x.lmdb"))
    assert set(outcomes) == {"right", "EIO"}
    if older:
        assert len(mounted.stats()["log"]) == 1 and said_once(mounted, "while mounted")
        assert mounted.stats()["changed"]
        mounted.close()
        run("diff", "-r", source, mount(url).path)
    else:
        assert any("checksum" in line for line in mounted.stats()["log"])


def test_a_token_that_ends_in_mid_epoch_is_read_anew(data, serve, mount, place, monkeypatch):
    guard = 'if ngx.var.http_authorization ~= "Bearer {}" then return ngx.exit(401) end'
    server, token = serve(access=guard.format("open")), place / "token"
    token.write_text("open\n")
    monkeypatch.setenv("FOLDFS_TOKEN_FILE", str(token))
    mounted = mount(server.url("x.lmdb"), *FRESH)

    def renew():
        token.write_text("sesame\n")
        server.restart(access=guard.format("sesame"))

    assert epoch(data, mounted, met=renew) == ALL_RIGHT


LIES = {
    "all of it": ("access", 'if {} then ngx.req.clear_header("Range") end'),
    "another range": ("access", 'if {} then ngx.req.set_header("Range", "bytes=0-99") end'),
    "wrong bytes": ("body", 'if {} then ngx.arg[1] = string.rep("x", #ngx.arg[1]) end'),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_server_that_lies_is_never_believed(data, serve, mount, lie):
    phase, text = LIES[lie]
    server = serve(**{phase: text.format("n > 8 and n % 20 == 0")})
    mounted = mount(server.url("x.lmdb"), *FRESH)
    assert epoch(data, mounted) == ALL_RIGHT
    server.restart(**{phase: text.format("true")})
    assert "EIO" in epoch(data, mounted, pattern="c0/1*").keys() <= {"right", "EIO"}
    server.restart()
    assert epoch(data, mounted, pattern="c0/*") == {"right": 50}


def test_the_page_says_how_much_a_server_may_say():
    """As the sources have it."""
    sources = "".join((foldfs.ROOT / name).read_text() for name in (
        "remote/bounds.h", "remote/http.h", "base/name.h", "pack/packs.c", "pack/foreign/source.c"))
    page = (foldfs.ROOT / "man/foldfs-remote.7").read_text()
    text = page.partition(".Ss How much a server may say")[2].partition(".El")[0]
    table = dict(re.findall(r"^\.It (.+) Ta (.+)$", text, re.MULTILINE))
    for row, bound in {
            "headers of an answer": "BOUND_HEADERS", "redirects of a request": "BOUND_REDIRECTS",
            "an answer with credentials": "BOUND_ANSWER", "a page of a listing": "BOUND_PAGE",
            "pages of a listing": "BOUND_PAGES", "names that match a pattern": "NAMES_MOST",
            "objects below a folder": "BOUND_OBJECTS",
            "pages of their listing": "BOUND_OBJECT_PAGES",
            "one of these names": "BOUND_NAME", "what names the next page": "BOUND_NEXT",
            "a list of packs or patterns": "LIST_MOST", "a list of classes or names": "TEXT_MOST",
    }.items():
        number, unit = re.search(rf"define {bound}\s+\(?(\d+)(?: \* ([KM])IB)?", sources).groups()
        assert table[row] == f"{int(number):,}" + (f" {unit}iB" if unit else "")
    most = re.search(r"HTTP_MOST\s+(\d+)", sources)[1]
    assert f"at most {most} ranges at a time" in page
