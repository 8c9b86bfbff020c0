"""A web server of this machine that is 30 ms away, for as long as its block runs; of a folder, with
ranges.

with far(folder) as url: ..."""

import contextlib
import http.server
import mmap
import os
import sys
import threading
import time
import urllib.parse
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "mount"))
import answers

AWAY_S = 0.03


class Handler(answers.Handler):
    disable_nagle_algorithm = True

    def do_GET(self):
        time.sleep(AWAY_S)
        path = os.path.join(self.server.folder, urllib.parse.unquote(self.path).lstrip("/"))
        try:
            with open(path, "rb") as file:
                if "Range" in self.headers:
                    with mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as data:
                        self.answer_range(data)
                else:
                    self.answer(200, file.read())
        except (FileNotFoundError, IsADirectoryError):
            self.answer(404)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_):
        """A reader that has gone."""


@contextlib.contextmanager
def far(folder):
    with Server(("127.0.0.1", 0), Handler) as server:
        server.folder = folder
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
