"""A web server with faults: nginx, whose Lua says of each request what goes wrong.

A fault is Lua for one phase of a request. `n` is its number, from 1 on; `range` the header Range.

    access   before it is answered: ngx.exit(503), ngx.sleep(1), ngx.redirect(URL),
             ngx.req.clear_header("Range")
    headers  of the answer: ngx.header["ETag"] = '"other"'
    body     a piece of the answer's body: return ngx.ERROR breaks the connection"""

import contextlib
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

import foldfs

MODULES = ("ndk_http_module.so", "ngx_http_lua_module.so")
PLACES = [Path("/usr/lib/nginx/modules"), Path("/usr/lib64/nginx/modules")]

CONFIG = """
{modules}
daemon off; master_process off; pid {place}/nginx.pid; error_log {place}/error.log;
events {{ worker_connections 2048; }}
http {{
    log_format asked '$status|$request_uri|$http_range|$http_if_match|$http_authorization';
    access_log {place}/access.log asked;
    client_body_temp_path {place}/t1; proxy_temp_path {place}/t2; fastcgi_temp_path {place}/t3;
    uwsgi_temp_path {place}/t4; scgi_temp_path {place}/t5;
    keepalive_requests 1000000; output_buffers 2 16k; lua_shared_dict counts 1m;
    server {{
        listen {host}:{port};{tls}
        set $n 0;
        location / {{
            root {folder}; {directives}
            access_by_lua_block {{
                ngx.var.n = ngx.shared.counts:incr("n", 1, 0)
                local n, range = tonumber(ngx.var.n), ngx.var.http_range
                {access}
            }}
            header_filter_by_lua_block {{
                local n, range = tonumber(ngx.var.n), ngx.var.http_range
                {headers}
            }}
            body_filter_by_lua_block {{
                local n, range = tonumber(ngx.var.n), ngx.var.http_range
                {body}
            }}
        }}
    }}
}}
"""


def module_lines():
    """Of nginx with Lua, where they are installed."""
    for place in PLACES:
        if all((place / name).exists() for name in MODULES) and foldfs.find_program("nginx"):
            return "\n".join(f"load_module {place / name};" for name in MODULES)
    foldfs.lacks("not installed: nginx with the Lua module (nginx-light, libnginx-mod-http-lua)")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def make_certificate(place, name, *options):
    """`name`, signed by place/ca.crt; place/both.pem is it and its key."""
    key, request, extension = place / "key.pem", place / "request.pem", place / "extension"
    extension.write_text(f"subjectAltName={name}\n")
    new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]  # soon made
    made = [["req", "-x509", *new, "-days", "2", "-subj", "/CN=we", "-keyout", place / "ca.key",
             "-out", place / "ca.crt"],
            ["req", *new, "-subj", "/CN=host", "-keyout", key, "-out", request],
            ["x509", "-req", "-in", request, "-CA", place / "ca.crt", "-CAkey", place / "ca.key",
             "-CAcreateserial", "-extfile", extension, *options, "-out", place / "host.crt"]]
    if any(foldfs.run("openssl", *words, status=None).returncode for words in made):
        pytest.skip("openssl cannot make a certificate here")
    (place / "both.pem").write_bytes(key.read_bytes() + (place / "host.crt").read_bytes())
    return place / "both.pem"


class Server:
    """Serves `folder`; `place` is its own."""

    def __init__(self, folder, place, access="", headers="", body="", directives="", tls=None,
                 address=None):
        self.folder, self.place, self.process, self.tls = folder, place, None, tls
        self.host, self.port = address or ("127.0.0.1", free_port())
        self.place.mkdir(exist_ok=True)
        self.set_faults(access, headers, body, directives)

    def set_faults(self, access="", headers="", body="", directives=""):
        tls = f" ssl_certificate {self.tls}; ssl_certificate_key {self.tls};" if self.tls else ""
        text = CONFIG.format(modules=module_lines(), place=self.place, folder=self.folder,
                             host=self.host, tls=tls,
                             port=f"{self.port}{' ssl' if self.tls else ''}",
                             access=access, headers=headers, body=body, directives=directives)
        (self.place / "nginx.conf").write_text(text)

    def start(self):
        self.process = subprocess.Popen(
            [foldfs.find_program("nginx"), "-c", self.place / "nginx.conf"],
            stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + foldfs.PATIENCE
        while True:
            assert self.process.poll() is None, (self.place / "error.log").read_text()
            assert time.monotonic() < end
            with contextlib.suppress(OSError), \
                    socket.create_connection((self.host, self.port), 1):
                return self
            time.sleep(0.01)

    def stop(self):
        """At once: connections are reset."""
        if self.process:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
        self.process = None

    def restart(self, **faults):
        self.stop()
        self.set_faults(**faults)
        return self.start()

    def url(self, path):
        return f"{'https' if self.tls else 'http'}://{self.host}:{self.port}/{path}"

    def asked(self):
        """What was asked: (status, path, range, if_match, authorization) of each request that has
        been answered."""
        log = self.place / "access.log"
        lines = log.read_text().splitlines() if log.exists() else []
        return [tuple(line.split("|")) for line in lines]

    def sent(self, tails=True):
        """Bytes of ranges that it has given; `tails`: also of those "-N"."""
        wanted = [range.removeprefix("bytes=").split("-") for status, _, range, _, _ in self.asked()
                  if status == "206"]
        return sum(int(end) - int(begin) + 1 if begin else int(end) * tails
                   for begin, end in wanted)

    def forget(self):
        os.truncate(self.place / "access.log", 0)


@pytest.fixture
def web(place):
    """One that serves a folder of the test's own."""
    folder = place / "served"
    folder.mkdir()
    web = Server(folder, place / "nginx").start()
    yield web
    web.stop()
