"""A Hugging Face Hub of the tests: files of datasets, as its documentation says that they are
served. A file is redirected to a store of another server by a signed link, without the token. It is
not the real one."""

import http.server
import json
import re
import threading
import urllib.parse

import pytest


class Hub:
    """`files` has the bytes of each (repository, revision, path). Only who has `token` sees what is
    there; None: everybody does."""

    def __init__(self):
        self.files, self.token = {}, None
        # Entries on a page of a listing, answers 503 before the first, and where it goes on.
        self.page, self.busy, self.elsewhere = 2, 0, None
        self.listed = []  # the paths of listings that were asked for
        self.sent = []  # what authorized requests to the hub
        self.sent_to_store = []

    def add(self, repository, revision="main", **files):
        self.files.update({(repository, revision, path): data for path, data in files.items()})


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub = None

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def resolve(self, path):
        """The key of a file."""
        found = re.fullmatch(r"/datasets/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path)
        return tuple(map(urllib.parse.unquote, found.groups())) if found else None

    def entries(self, repository, revision, folder):
        """Of a folder and those below it, in the order of their paths."""
        inside = folder + "/" if folder else ""
        files = {path: data for (name, at, path), data in self.hub.files.items()
                 if (name, at) == (repository, revision) and path.startswith(inside)}
        folders = {path[:i] for path in files for i in range(len(inside), len(path))
                   if path[i] == "/"}
        return [{"type": "directory", "oid": "0", "size": 0, "path": path}
                if path in folders else
                {"type": "file", "oid": "0", "size": len(files[path]), "path": path,
                 "lfs": {"oid": "\"}]", "pointerSize": 1, "more": [{"path": "none.tar"}]}}
                for path in sorted(folders | set(files))]

    def tree(self):
        path, _, query = self.path.partition("?")
        found = re.fullmatch(r"/api/datasets/([^/]+/[^/]+)/tree/([^/]+)(?:/(.*))?", path)
        query = urllib.parse.parse_qs(query)
        at = int(query.get("cursor", ["0"])[0])
        repository, revision, folder = (urllib.parse.unquote(part or "") for part in found.groups())
        entries = self.entries(repository, revision, folder)
        self.hub.listed.append(folder)
        if self.hub.busy:
            self.hub.busy -= 1
            self.answer(503)
        elif query["recursive"] != ["true"] or not entries:
            self.answer(404, X_Error_Code="RepoNotFound")
        else:
            more = {}
            if at + self.hub.page < len(entries):
                more["Link"] = (f'<{self.hub.elsewhere or self.hub.url}{path}?recursive=true&'
                                f'cursor={at + self.hub.page}>; rel="next"')
            page = json.dumps(entries[at:at + self.hub.page], ensure_ascii=False)
            self.answer(200, page.encode(), **more)

    def do_GET(self):
        self.hub.sent.append(self.headers["Authorization"])
        path = self.path.partition("?")[0]
        key = self.resolve(path)
        if self.hub.token and self.headers["Authorization"] != f"Bearer {self.hub.token}":
            self.answer(401, X_Error_Code="RepoNotFound")
        elif path.startswith("/api/"):
            self.tree()
        elif key not in self.hub.files:
            self.answer(404, X_Error_Code="EntryNotFound")
        else:
            self.answer(302, Location=f"{self.hub.store}{path}?X-Amz-Signature=5e5a3e")


class Store(Handler):
    """Where the files are."""

    def do_GET(self):
        self.hub.sent_to_store.append(self.headers["Authorization"])
        path, _, query = self.path.partition("?")
        if query != "X-Amz-Signature=5e5a3e":
            self.answer(403)
            return
        data = self.hub.files[self.resolve(path)]
        first, last = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers["Range"]).groups()
        first, last = ((int(first), int(last or len(data) - 1)) if first else
                       (max(0, len(data) - int(last)), len(data) - 1))
        part = data[first:last + 1]
        self.answer(206, part, ETag='"1"',
                    Content_Range=f"bytes {first}-{first + len(part) - 1}/{len(data)}")


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True


@pytest.fixture
def hub():
    hub = Hub()
    servers = [Server(("127.0.0.1", 0), type("HubHandler", (handler,), {"hub": hub}))
               for handler in (Handler, Store)]
    hub.url, hub.store = (f"http://127.0.0.1:{server.server_port}" for server in servers)
    threads = [threading.Thread(target=server.serve_forever) for server in servers]
    for thread in threads:
        thread.start()
    yield hub
    for server, thread in zip(servers, threads):
        server.shutdown()
        thread.join()
        server.server_close()
