"""An object store of this machine: nginx, with as long to the first byte and as much bandwidth a
connection as one far away.

with Store(folder, 30, 50) as store: ... store.url, store.asked()

With `bucket`, a folder in it, it lists that as S3 does."""

import glob
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "mount"))

MODULES = ("ndk_http_module", "ngx_http_lua_module")
CONFIGURATION = """\
{modules}
daemon off;
worker_processes {workers};
pid {place}/pid;
error_log {place}/errors;
worker_rlimit_nofile 8192;
events {{ worker_connections 4096; }}
http {{
    log_format ranges '$body_bytes_sent $http_range';
    access_log {place}/requests ranges buffer=64k flush=1s;
    sendfile on;
    tcp_nopush on;
    keepalive_requests 100000000;
    client_body_temp_path {place}/t1; proxy_temp_path {place}/t2; fastcgi_temp_path {place}/t3;
    uwsgi_temp_path {place}/t4; scgi_temp_path {place}/t5;
    server {{
        listen 127.0.0.1:{port} backlog=1024 reuseport;
        location / {{
            root {folder};
            try_files $uri =404;  # a folder is no object
            limit_rate {rate}m;
            access_by_lua_block {{ {delay} {lister} }}
        }}
    }}
}}
"""


def missing():
    """Why there can be no store, or ""."""
    if not shutil.which("nginx"):
        return "nginx is not installed (nginx-light, libnginx-mod-http-lua)"
    return "" if _modules() else "nginx has no lua module (libnginx-mod-http-lua)"


def _modules():
    return [path for name in MODULES
            for path in glob.glob(f"/usr/lib/nginx/modules/{name}.so")]


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _delaying(ms):
    """(Lua, and how many processes need it): nginx sleeps for whole milliseconds, and a process
    that sleeps by itself answers nobody else."""
    if ms >= 1:
        return f"ngx.sleep({ms / 1000})", 1
    return (f"local ffi = require('ffi') ffi.cdef('int usleep(unsigned);') "
            f"ffi.C.usleep({ms * 1000:.0f})", 64)


class Store:
    def __init__(self, folder, delay_ms, rate_mb, bucket=None):
        self.folder, self.delay_ms, self.rate_mb = folder, delay_ms, rate_mb
        self.bucket = bucket
        self.place = self.process = self.url = None

    def __enter__(self):
        self.place = tempfile.mkdtemp(prefix="foldfs-bench-store-")
        os.chmod(self.place, 0o755)
        port, (delay, workers) = _free_port(), _delaying(self.delay_ms)
        self.url = f"http://127.0.0.1:{port}"
        modules = "\n".join(f"load_module {path};" for path in _modules())
        with open(f"{self.place}/conf", "w") as conf:
            conf.write(CONFIGURATION.format(
                modules=modules, place=self.place, port=port, folder=self.folder,
                rate=self.rate_mb, lister=self._lister(), workers=workers, delay=delay))
        self.process = subprocess.Popen(["nginx", "-p", self.place, "-c", f"{self.place}/conf"],
                                        stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._wait(port)
        return self

    def _lister(self):
        if not self.bucket:
            return ""
        import bucket  # of tests/mount, as pytest is
        with open(f"{self.place}/names", "w") as names:
            names.writelines(bucket.names(os.path.join(self.folder, self.bucket), {}))
        return bucket.lister(f"{self.place}/names")

    def _wait(self, port):
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return
            except ConnectionRefusedError:
                if self.process.poll() is not None:
                    break
                time.sleep(0.05)
        with open(f"{self.place}/errors") as errors:
            raise RuntimeError(f"nginx does not start: {errors.read()}")

    def forget(self):
        """Requests so far do not count."""
        os.truncate(f"{self.place}/requests", 0)

    def asked(self):
        """(bytes sent, range) of each request since forget(), once they are written."""
        time.sleep(1.2)
        with open(f"{self.place}/requests") as lines:
            return [(int(sent), range_.removeprefix("bytes="))
                    for sent, range_, *_ in map(str.split, lines)]

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.place)
