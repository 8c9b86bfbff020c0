"""A Hugging Face Hub of the tests: files of datasets, as its documentation says that they are
served. A file is redirected to a store of another server by a signed link, without the token. It is
not the real one."""

import json
import re
import urllib.parse

import pytest

import answers


class Hub:
    """`files` has the bytes of each (repository, revision, path). Only who has `token` sees what is
    there; None: everybody does."""

    def __init__(self):
        self.files, self.token = {}, None
        self.page, self.elsewhere = 2, None  # entries on a page of a listing, and where it goes on
        self.listed = []  # the paths of listings that were asked for
        self.sent = []  # what authorized requests to the hub
        self.sent_to_store = []

    def add(self, repository, revision="main", **files):
        self.files.update({(repository, revision, path): data for path, data in files.items()})


class Handler(answers.Handler):
    def resolve(self, path):
        """The key of a file."""
        found = re.fullmatch(r"/datasets/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path)
        return tuple(map(urllib.parse.unquote, found.groups())) if found else None

    def entries(self, repository, revision, folder):
        """Of a folder and those below it, in the order of their paths."""
        inside = folder + "/" if folder else ""
        files = {path: data for (name, at, path), data in self.given.files.items()
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
        self.given.listed.append(folder)
        if query["recursive"] != ["true"] or not entries:
            self.answer(404, X_Error_Code="RepoNotFound")
        else:
            more = {}
            if at + self.given.page < len(entries):
                more["Link"] = (f'<{self.given.elsewhere or self.given.url}{path}?recursive=true&'
                                f'cursor={at + self.given.page}>; rel="next"')
            page = json.dumps(entries[at:at + self.given.page], ensure_ascii=False)
            self.answer(200, page.encode(), **more)

    def do_GET(self):
        self.given.sent.append(self.headers["Authorization"])
        path = self.path.partition("?")[0]
        key = self.resolve(path)
        if self.given.token and self.headers["Authorization"] != f"Bearer {self.given.token}":
            self.answer(401, X_Error_Code="RepoNotFound")
        elif path.startswith("/api/"):
            self.tree()
        elif key not in self.given.files:
            self.answer(404, X_Error_Code="EntryNotFound")
        else:
            self.answer(302, Location=f"{self.given.store}{path}?X-Amz-Signature=5e5a3e")


class Store(Handler):
    """Where the files are."""

    def do_GET(self):
        self.given.sent_to_store.append(self.headers["Authorization"])
        path, _, query = self.path.partition("?")
        if query != "X-Amz-Signature=5e5a3e":
            self.answer(403)
            return
        self.answer_range(self.given.files[self.resolve(path)])


def serve(hub):
    with answers.serve(Handler, hub) as hub.url, answers.serve(Store, hub) as hub.store:
        yield hub


@pytest.fixture
def hub():
    yield from serve(Hub())


@pytest.fixture
def other_hub():
    yield from serve(Hub())
