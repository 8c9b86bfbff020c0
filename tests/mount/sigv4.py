"""Signatures of S3, written from Amazon's documentation alone: for the servers and uploads of the
tests, to hold foldfs's own against. Only what they need."""

import hashlib
import hmac
import time
import urllib.parse
import urllib.request
from typing import NamedTuple

UNSIGNED = "UNSIGNED-PAYLOAD"


class Keys(NamedTuple):
    access: str
    secret: str
    token: str = ""

    def environment(self):
        names = {"AWS_ACCESS_KEY_ID": self.access, "AWS_SECRET_ACCESS_KEY": self.secret}
        return names | ({"AWS_SESSION_TOKEN": self.token} if self.token else {})


def quote(text, safe=""):
    return urllib.parse.quote(text, safe=safe + "-._~")


def signature(keys, scope, date, method, path, query, headers, payload=UNSIGNED):
    """`query` and `headers` are dicts of what is signed; the path is encoded."""
    canonical = "\n".join([
        method, path, "&".join(f"{quote(k)}={quote(v)}" for k, v in sorted(query.items())),
        *(f"{name}:{value}" for name, value in sorted(headers.items())), "",
        ";".join(sorted(headers)), payload])
    text = "\n".join(["AWS4-HMAC-SHA256", date, scope,
                      hashlib.sha256(canonical.encode()).hexdigest()])
    key = b"AWS4" + keys.secret.encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    return hmac.digest(key, text.encode(), "sha256").hex()


class Store:
    """Buckets of a server, in path style."""

    def __init__(self, endpoint, keys, region="us-east-1"):
        self.endpoint, self.keys, self.region = endpoint, keys, region
        self.host = urllib.parse.urlsplit(endpoint).netloc

    def request(self, method, path, body=None):
        date = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        scope = f"{date[:8]}/{self.region}/s3/aws4_request"
        headers = {"host": self.host, "x-amz-content-sha256": UNSIGNED, "x-amz-date": date}
        signed = signature(self.keys, scope, date, method, path, {}, headers)
        headers["Authorization"] = (
            f"AWS4-HMAC-SHA256 Credential={self.keys.access}/{scope}, "
            f"SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature={signed}")
        headers["Content-Type"] = "application/octet-stream"  # else it would be a form
        request = urllib.request.Request(self.endpoint + path, body, headers, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read()

    def create(self, bucket):
        self.request("PUT", f"/{bucket}")

    def put(self, bucket, key, data):
        self.request("PUT", f"/{bucket}/{quote(key, '/')}", data)

    def presigned(self, bucket, key, seconds=600, ago=0):
        """A URL of this object for GET; `ago` seconds ago it was made."""
        date = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(time.time() - ago))
        scope = f"{date[:8]}/{self.region}/s3/aws4_request"
        path = f"/{bucket}/{quote(key, '/')}"
        query = {"X-Amz-Algorithm": "AWS4-HMAC-SHA256",
                 "X-Amz-Credential": f"{self.keys.access}/{scope}", "X-Amz-Date": date,
                 "X-Amz-Expires": str(seconds), "X-Amz-SignedHeaders": "host"}
        query["X-Amz-Signature"] = signature(self.keys, scope, date, "GET", path, query,
                                             {"host": self.host})
        return f"{self.endpoint}{path}?" + "&".join(
            f"{quote(k)}={quote(v)}" for k, v in query.items())
