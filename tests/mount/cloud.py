"""A small cloud: objects that only signed requests may read, and the services that give keys for
sessions that end (instance metadata, STS, the endpoint of containers), as Amazon documents them;
and one of Google's kind, with HMAC keys and tokens, as it documents its XML API and its metadata
server. Neither is the real one."""

import json
import re
import threading
import time
import urllib.parse

import pytest

import answers
import sigv4

REGION = "eu-west-9"
FIELDS = re.compile(r"Credential=([^/]+)/([^,]+),\s*SignedHeaders=([^,]+),\s*Signature=(\w+)")
STS = """<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>
<AccessKeyId>{0}</AccessKeyId><SecretAccessKey>{1}</SecretAccessKey><SessionToken>{2}</SessionToken>
<Expiration>{3}</Expiration></Credentials></AssumeRoleWithWebIdentityResult>
</AssumeRoleWithWebIdentityResponse>"""


class Refused(Exception):
    def __init__(self, status, code, more=""):
        self.status, self.code, self.more = status, code, more

    def body(self):
        return (f"<Error><Code>{self.code}</Code><Message>no</Message>{self.more}</Error>"
                .encode())


class Cloud:
    """`objects` has the bytes of each path. Sessions last `life` seconds; end() ends those that
    there are. While `down`, no service gives keys."""

    ROLE, IDENTITY = "arn:aws:iam::123456789012:role/trainer", "the.identity=="

    def __init__(self):
        self.objects, self.sessions = {}, {}  # the latter: token -> keys, and when they end
        self.life, self.down = 3600, False
        self.refused = self.failed = 0  # requests for objects; for keys while down
        self.pages, self.last = 0, None  # of listings; after this one, sessions end
        self.virtual = False  # buckets are in front of localhost, and nowhere else
        self.lock = threading.Lock()

    def session(self):
        """New keys, and when they end."""
        with self.lock:
            number, until = len(self.sessions), time.time() + self.life
            keys = sigv4.Keys(f"ASIA{number}", f"secret/{number}+=", f"token/{number}+==")
            self.sessions[keys.token] = keys, until
        return keys, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(until))

    def end(self):
        with self.lock:
            self.sessions = {token: (keys, 0) for token, (keys, _) in self.sessions.items()}

    def check(self, method, path, headers, query):
        """Raises Refused."""
        fields = FIELDS.search(headers.get("Authorization", ""))
        if not fields:
            raise Refused(403, "AccessDenied")
        access, scope, signed, signature = fields.groups()
        token = headers.get("x-amz-security-token")
        keys, until = self.sessions.get(token, (None, 0))
        if not keys or keys.access != access:
            raise Refused(403, "InvalidAccessKeyId")
        if time.time() > until:
            raise Refused(400, "ExpiredToken")
        if scope.split("/")[1] != REGION:
            raise Refused(400, "AuthorizationHeaderMalformed", f"<Region>{REGION}</Region>")
        names = signed.split(";")
        if not {"host", "x-amz-security-token"} <= set(names) or signature != sigv4.signature(
                keys, scope, headers["x-amz-date"], method, path, query,
                {name: headers[name] for name in names}):
            raise Refused(403, "SignatureDoesNotMatch")


class Google(Cloud):
    """Requests are signed with KEYS or have a token of a session; `public` objects need neither."""

    KEYS = sigv4.Keys("GOOG1EXAMPLE", "hmac/secret+=")
    TOKEN = "/computeMetadata/v1/instance/service-accounts/default/token"

    def __init__(self):
        super().__init__()
        self.public, self.sent = set(), []  # the latter: what authorized requests for objects

    def token(self):
        keys, _ = self.session()
        return {"access_token": keys.token, "expires_in": int(self.life), "token_type": "Bearer"}

    def check(self, method, path, headers, query):
        sent = headers.get("Authorization")
        with self.lock:
            self.sent.append(sent)
        if not sent:
            if path not in self.public:
                raise Refused(403, "AccessDenied")
        elif sent.startswith("Bearer "):
            _, until = self.sessions.get(sent[len("Bearer "):], (None, 0))
            if time.time() > until:
                raise Refused(401, "AuthenticationRequired")
        else:
            self.check_signature(method, path, headers, query, FIELDS.search(sent))

    def check_signature(self, method, path, headers, query, fields):
        access, scope, signed, signature = fields.groups()
        if access != self.KEYS.access:
            raise Refused(403, "InvalidAccessKeyId")
        if scope.split("/")[1:] != ["auto", "s3", "aws4_request"] or signature != sigv4.signature(
                self.KEYS, scope, headers["x-amz-date"], method, path, query,
                {name: headers[name] for name in signed.split(";")}):
            raise Refused(403, "SignatureDoesNotMatch")


class Handler(answers.Handler):
    def json_session(self):
        keys, until = self.given.session()
        self.answer(200, json.dumps({
            "Code": "Success", "AccessKeyId": keys.access, "SecretAccessKey": keys.secret,
            "Token": keys.token, "Expiration": until}).encode())

    def metadata(self):
        role = "/latest/meta-data/iam/security-credentials/"
        if self.given.down:
            self.given.failed += 1
            self.answer(503)
        elif self.headers["X-aws-ec2-metadata-token"] != "metadata-token==":
            self.answer(401)
        elif self.path == role:
            self.answer(200, b"trainer\n")
        elif self.path == role + "trainer":
            self.json_session()
        else:
            self.answer(404)

    def do_PUT(self):
        ttl = self.headers["X-aws-ec2-metadata-token-ttl-seconds"]
        right = self.path == "/latest/api/token" and 1 <= int(ttl) <= 21600
        self.answer(200 if right else 400, b"metadata-token==")

    def do_POST(self):
        form = dict(urllib.parse.parse_qsl(
            self.rfile.read(int(self.headers["Content-Length"])).decode()))
        keys, until = self.given.session()
        right = (form["Action"], form["RoleArn"], form["WebIdentityToken"]) == (
            "AssumeRoleWithWebIdentity", Cloud.ROLE, Cloud.IDENTITY)
        self.answer(*((200, STS.format(*keys, until).encode()) if right else
                      (400, Refused(400, "InvalidIdentityToken").body())))

    def name_of(self, path):
        """What an object is called: /BUCKET/KEY, or its beginning. Raises Refused."""
        bucket, dot, _ = self.headers["Host"].partition(".localhost")
        if self.given.virtual and not dot:
            raise Refused(403, "SecondLevelDomainForbidden")
        return f"/{bucket}{path}" if dot else path

    def listing(self):
        """Of a bucket: ListObjectsV2, two keys a page."""
        path, _, query = self.path.partition("?")
        query = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        try:
            self.given.check("GET", path, self.headers, query)
            path = self.name_of(path)
        except Refused as refused:
            self.answer(refused.status, refused.body())
            return
        keys = sorted(urllib.parse.unquote(name[len(path):]) for name in self.given.objects
                      if name.startswith(path))
        keys = [key for key in keys if key.startswith(query["prefix"])]
        at = int(query.get("continuation-token", "at 0")[3:])
        more = f"<NextContinuationToken>at {at + 2}</NextContinuationToken>"
        items = "".join(f"<Contents><Key>{urllib.parse.quote_plus(key)}</Key><ETag>&quot;1&quot;"
                        f"</ETag><Size>{len(self.given.objects[path + urllib.parse.quote(key)])}"
                        "</Size></Contents>"
                        for key in keys[at:at + 2])
        self.given.pages += 1
        if self.given.pages == self.given.last:
            self.given.end()
        self.answer(200, f"<ListBucketResult><Prefix/><EncodingType>url</EncodingType>"
                         f"{more if at + 2 < len(keys) else ''}{items}"
                         "</ListBucketResult>".encode())

    def object(self):
        try:
            self.given.check("GET", self.path, self.headers, {})
            name = self.name_of(self.path)
            if name not in self.given.objects:
                raise Refused(404, "NoSuchKey")
        except Refused as refused:
            self.given.refused += 1
            self.answer(refused.status, refused.body())
            return
        self.answer_range(self.given.objects[name])

    def do_GET(self):
        if self.path.startswith("/latest/"):
            self.metadata()
        elif self.path == Google.TOKEN:
            right = self.headers["Metadata-Flavor"] == "Google" and not self.given.down
            self.given.failed += not right
            self.answer(*((200, json.dumps(self.given.token()).encode()) if right else (403, b"")))
        elif self.path == "/container":
            right = self.headers["Authorization"] == Cloud.IDENTITY and not self.given.down
            self.json_session() if right else self.answer(500)
        elif "list-type=2" in self.path:
            self.listing()
        else:
            self.object()


def serve(cloud):
    with answers.serve(Handler, cloud) as cloud.url:
        yield cloud


@pytest.fixture
def cloud():
    yield from serve(Cloud())


@pytest.fixture
def google():
    yield from serve(Google())


@pytest.fixture
def other_google():
    yield from serve(Google())
