"""A web server of this machine that is 30 ms away, for as long as its block runs; of a folder, with
ranges.

with Far(folder) as url: ..."""

import http.server
import os
import re
import threading
import time
import urllib.parse

AWAY_S = 0.03


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_HEAD(self):
        self.answer(body=False)

    def do_GET(self):
        self.answer(body=True)

    def answer(self, body):
        time.sleep(AWAY_S)
        path = os.path.join(self.server.folder, urllib.parse.unquote(self.path).lstrip("/"))
        try:
            with open(path, "rb") as file:
                self.send(file, body)
        except (FileNotFoundError, IsADirectoryError):
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()

    def send(self, file, body):
        status = os.fstat(file.fileno())
        first, last = 0, status.st_size - 1
        asked = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        if asked and asked[1]:
            first, last = int(asked[1]), min(int(asked[2] or last), last)
        elif asked:
            first = max(last + 1 - int(asked[2]), 0)
        self.send_response(206 if asked else 200)
        if asked:
            self.send_header("Content-Range", f"bytes {first}-{last}/{status.st_size}")
        self.send_header("ETag", f'"{status.st_mtime_ns:x}-{status.st_size:x}"')
        self.send_header("Content-Length", str(last + 1 - first))
        self.end_headers()
        while body and first <= last:
            first += os.sendfile(self.connection.fileno(), file.fileno(), first, last + 1 - first)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_):
        """A reader that has gone."""


class Far:
    def __init__(self, folder):
        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.folder = folder

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{self.server.server_port}"

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
