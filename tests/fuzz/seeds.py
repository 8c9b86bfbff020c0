#!/usr/bin/python3
"""seeds.py FOLDPACK DIR: makes DIR/TARGET/NAME, small inputs that are what each parser is for.

They come from the writers of the mount tests and from foldpack itself, so that none is stored in
the repository. Where the first byte of an input chooses how it is read, it is put in front."""

import io
import os
import struct
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "mount"))

# pylint: disable=wrong-import-position
import annotated
import archives
import damage
import lmdb
from formats import arrow_ipc, ffcv, parquet, recordio, tfrecord
from PIL import Image

SMALL = (24, 17)


def pictures():
    image = damage.picture(SMALL)
    for kind, options in (("JPEG", {}), ("JPEG", {"progressive": True}), ("PNG", {}), ("GIF", {}),
                          ("WEBP", {}), ("BMP", {}), ("TIFF", {}), ("PPM", {}),
                          ("TIFF", {"compression": "tiff_lzw"}), ("PNG", {"optimize": True})):
        yield damage.encode(kind, image, **options)
    for mode in "L", "CMYK":
        yield damage.encode("JPEG", image.convert(mode))
    exif = Image.Exif()
    exif[0x0112] = 6
    yield damage.encode("JPEG", image, exif=exif, icc_profile=b"profile")
    for mode in "1", "P", "LA", "RGBA", "I":
        yield damage.encode("PNG", image.convert(mode))
    clear = image.convert("RGBA")
    clear.putalpha(Image.linear_gradient("L").resize(SMALL))
    yield damage.encode("PNG", clear, exif=exif)
    yield damage.encode("WEBP", clear, exif=exif, icc_profile=b"profile")
    yield damage.encode("WEBP", clear, lossless=True)
    yield damage.encode("WEBP", image, save_all=True, append_images=[clear])
    yield b"RIFF\x1a\0\0\0WEBPV\0\0\x9d\1\x2a" + b"\1\x38\x30\x31" + bytes(14)  # no chunk
    data = damage.encode("JPEG", image)
    yield data[:20] + bytes(50) + data[20:]
    yield data[:-2] + bytes(50) + data[-2:]
    data = damage.encode("PNG", image)
    refused = [part for _, _, mode, part in damage.png_refused() if mode == "RGB"]
    for part in (*damage.png_harmless().values(), *refused):
        if len(part) < 8192:
            yield from (damage.in_front(data, part), damage.behind(data, part))
    profile, text = damage.packed(b"iCCP", b"profile"), damage.packed(b"zTXt", b"text")
    yield damage.in_front(data, profile, text, damage.chunk(b"tRNS", bytes(6)))


def damaged():
    with tempfile.TemporaryDirectory() as folder:
        damage.make_damage(Path(folder))
        damage.make_oddities(Path(folder) / "odd")
        for path in sorted(Path(folder).rglob("*.*")):
            if path.stat().st_size < 16384:
                yield path.read_bytes()


# --- packs --------------------------------------------------------------------------------------

def make_tree(root):
    """A file of each kind that an index knows, but for those of more than 1 GiB."""
    for folder in "a", "b/c", "empty":
        (root / folder).mkdir(parents=True)
    for number, data in enumerate(list(pictures())[:3]):
        (root / f"a/{number}.jpg").write_bytes(data)
    (root / "b/copy.jpg").write_bytes((root / "a/0.jpg").read_bytes())
    (root / "b/c/none").touch()
    (root / "train.txt").write_text("a/0.jpg 1\na/1.jpg 0\nb/copy.jpg 2\n")
    (root / "val.json").write_text('{"images": [{"file_name": "a/0.jpg"}, {"file_name": "2.jpg"}]}')
    for name in "IMG10.JPG", "Img_2.png", ".hidden.jpg", "..jpg", "\xe9.jpg", b"\xff.png":
        (root / "a" / os.fsdecode(name)).write_bytes(b"image")
    for name, target in (("up.jpg", "../a/./1.jpg"), ("round.jpg", "round.jpg"),
                         ("out.jpg", "../../x"), ("abs.jpg", "/x"), ("file.jpg", "1.jpg/x")):
        (root / "a" / name).symlink_to(target)
    (root / "link").symlink_to("a/1.jpg")
    (root / "folder").symlink_to("b/c")
    (root / "b/hard").hardlink_to(root / "a/1.jpg")
    deep = root / ("n" * 250) / ("m" * 250)
    deep.mkdir(parents=True)
    (deep / "longer than a key.jpg").write_bytes(b"a path")
    (deep / "longer than a key, too.jpg").write_bytes((root / "a/0.jpg").read_bytes())


def packs(foldpack):
    with tempfile.TemporaryDirectory() as folder:
        source, pack = Path(folder) / "source", Path(folder) / "x.lmdb"
        source.mkdir()
        subprocess.run([foldpack, "create", "-q", source, pack], check=True)
        yield pack.read_bytes()
        make_tree(source)
        subprocess.run([foldpack, "create", "-q", "--force", source, pack], check=True)
        yield pack.read_bytes()
        with lmdb.open(str(pack), subdir=False, lock=False, readonly=True) as env:
            env.copy(f"{folder}/moved", compact=True)
        yield Path(folder, "moved").read_bytes()


def deltas(foldpack):
    """As fuzz_delta.c has them: how, the length of the delta, the delta, its base."""
    with tempfile.TemporaryDirectory() as folder:
        source, base, delta = (Path(folder) / name for name in ("root/x", "base", "delta"))
        for number in range(4):
            (source / f"{number}").mkdir(parents=True)
            (source / f"{number}/a.jpg").write_bytes(bytes([number]) * 700)
            (source / f"{number}/link").symlink_to("a.jpg")
        (source / "0/hard").hardlink_to(source / "0/a.jpg")
        (source / "1/copy.jpg").write_bytes((source / "1/a.jpg").read_bytes())
        (source / "none").touch()
        subprocess.run([foldpack, "create", "-q", "--dedup", source, base], check=True)

        def made(how, since, root):
            subprocess.run([foldpack, "create", "-q", "--force", "--dedup", f"--since={since}",
                            root, delta], check=True)
            data = delta.read_bytes()
            return struct.pack("<BH", how, len(data)) + data + base.read_bytes()

        yield made(2, base, source)
        yield made(1, f"x/={base}", source.parent)
        (source / "2/a.jpg").write_bytes(b"changed")
        (source / "new").write_bytes(b"new")
        (source / "1/copy.jpg").rename(source / "renamed.jpg")
        (source / "3/a.jpg").unlink()
        yield made(0, base, source)
        yield made(1, f"x/={base}", source.parent)


def trees():
    """LMDBs that are no packs: of one leaf, and of three levels."""
    for count, size in (3, 5), (70, 500):
        yield lmdb_of([(b"%0*d" % (size, n), b"v" * (n * 37 % 200)) for n in range(count)])
    yield lmdb_of([(b"big", b"v" * 9000), (b"last", b"")])


def lmdb_of(records):
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/x"
        with lmdb.open(path, subdir=False, map_size=1 << 20, lock=False) as env, \
                env.begin(write=True) as txn:
            for key, value in records:
                txn.put(key, value)
        return Path(path).read_bytes()


# --- archives -----------------------------------------------------------------------------------

def tar(style, names=("a/0.jpg", "a/0.cls", "b/1.png", "b/1.json")):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=style) as archive:
        for name in names:
            info = tarfile.TarInfo(name)
            info.size = len(name)
            archive.addfile(info, io.BytesIO(name.encode()))
        for kind, target in (tarfile.SYMTYPE, "a/0.jpg"), (tarfile.LNKTYPE, "a/0.jpg"), \
                (tarfile.DIRTYPE, ""), (tarfile.FIFOTYPE, ""):
            info = tarfile.TarInfo(f"z/{kind.decode()}")
            info.type, info.linkname = kind, target
            archive.addfile(info)
    return out.getvalue().rstrip(b"\0") + bytes(1536 - len(out.getvalue().rstrip(b"\0")) % 512)


def special_tar():
    """A pax header of each kind, GNU's sparse header with its map, and a tar within."""
    out = io.BytesIO()
    inner = tar(tarfile.USTAR_FORMAT)
    for name, pax in (("a.jpg", {"mtime": "1700000000.25", "uname": "x"}),
                      ("b.jpg", {"mtime": "-1.5", "linkpath": "n" * 120}),
                      ("c.jpg", {"GNU.sparse.major": "1", "GNU.sparse.minor": "0",
                                 "GNU.sparse.name": "c", "GNU.sparse.realsize": "9"}),
                      ("d.jpg", {"FOLDFS.label": "-7", "FOLDFS.class": "d/cat"}),
                      ("e.jpg", {"FOLDFS.bad": "none"}), ("t.tar", {})):
        info = tarfile.TarInfo(name)
        info.size, info.pax_headers = len(inner), {**pax, "size": str(len(inner))}
        out.write(info.tobuf(tarfile.PAX_FORMAT) + inner)
    info = tarfile.TarInfo("s.jpg")
    info.type, info.size = tarfile.GNUTYPE_SPARSE, 512
    header = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    header[386:410] = b"%011o\0%011o\0" % (0, 512)
    header[482] = 1  # a block of more pieces follows
    header[148:156] = b"%06o\0 " % sum([*header[:148], *b" " * 8, *header[156:]])
    return out.getvalue() + bytes(header) + bytes(512) + bytes(512) + bytes(1024)


def sparse_tar(pax, before=b""):
    """Of 20,000 bytes, a tar has 5 and 695."""
    info = tarfile.TarInfo("GNUSparseFile.1/x")
    info.size, info.pax_headers = len(before) + 700, {"GNU.sparse.name": "x", **pax}
    return info.tobuf(tarfile.PAX_FORMAT) + before + bytes(1024) + bytes(1024)


def tars():
    yield tar(tarfile.USTAR_FORMAT)
    yield special_tar()
    for name in ("what comes again", "links to folders", "hard links", "old hard links",
                 "times of pax", "global records", "bytes behind the end", "damaged inside"):
        yield made(archives.TARS[name])
    yield sparse_tar({"GNU.sparse.size": "20000", "GNU.sparse.map": "0,5,5000,695"})
    yield sparse_tar({"GNU.sparse.major": "1", "GNU.sparse.minor": "0",
                      "GNU.sparse.realsize": "20000"}, b"2\n0\n5\n5000\n695\n".ljust(512, b"\0"))
    for style in tarfile.GNU_FORMAT, tarfile.PAX_FORMAT:
        yield tar(style, ["d/" + "n" * 150 + ".jpg", "\xe9.jpg"])


def zipped(files, how=zipfile.ZIP_STORED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", how) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


def zips():
    files = {"a/0.jpg": b"0", "a/": b"", "b/\xe9.png": b"12", "b/none": b""}
    yield zipped(files)
    yield zipped(files, zipfile.ZIP_DEFLATED)
    link = zipfile.ZipInfo("link")
    link.external_attr = 0o120777 << 16
    yield zipped({**files, link: b"a/0.jpg"})
    for name in ("bytes in front", "what comes again", "names of a FAT host", "names in CP437",
                 "the Unicode path field", "paths that lead out", "bzip2", "lzma",
                 "lzma, a vast dictionary", "a link that is deflated"):
        yield made(archives.ZIPS[name])


def made(write, *args):
    """What a writer of a file writes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x"
        write(path, *args)
        return path.read_bytes()


def scripts():
    """(format, bytes) of what index.py reads, for tests/mount/test_index_makers.py. Of a TFRecord
    one Example, around which a record comes later, as its checksum would hide what changes."""
    yield "tfrecord", tfrecord.example({"image/encoded": b"jpeg", "image/filename": b"a.jpg",
                                        "image/class/text": b"cat", "image/class/label": 3})
    yield "tfrecord", tfrecord.example({"image/encoded": b"jpeg", "image/class/label": [0, 1, 0]})
    yield "tfrecord", tfrecord.example({"jpg": b"jpeg", "cls": "cat", "v": 1.5})
    yield "recordio", b"".join(recordio.image(n % 2, n, b"jpeg" + recordio.MAGIC) for n in range(3))
    yield "recordio", recordio.image([1.0, 2.0], 7, b"jpeg")
    ffcv.PAGE = 4096
    images = [(ffcv.JPEG, 1, 1, b"jpeg", 0), (ffcv.PIXELS, 2, 2, bytes(12), 1)]
    yield "ffcv", made(ffcv.write, images)
    for data in zips():
        yield "zip", data
    for data in tars():
        yield "tar", data
    rows = [(bytes([n]) * 40, f"a/{n}.jpg".encode(), n % 3) for n in range(7)]
    for codec in parquet.NONE, parquet.GZIP:
        for version in 1, 2:
            yield "parquet", made(parquet.write, rows, ["x", "y", "z"], (codec,) * 3, version, 5)
    yield "arrow", made(arrow_ipc.write, rows, ["x", "y", "z"], 3)
    yield "arrow", made(arrow_ipc.write, rows, None, 9, True, True)
    rows = [(None, None, None), *rows]
    yield "arrow", made(arrow_ipc.write, rows)
    yield "parquet", made(parquet.write, rows, None, (parquet.NONE,) * 3, 1, 100, False)


def pages():
    """Compressed by themselves, as fuzz_codec.c reads them; a copy in the second one of snappy."""
    text = b"one, two, one, two" * 9
    for codec, packed in ((parquet.SNAPPY, parquet.snappy(text)),
                          (parquet.SNAPPY, b"\x0c\x08abc\x15\x03"),
                          (parquet.GZIP, parquet.gzip(text)), (6, text), (7, text)):
        size = 12 if len(packed) < 12 else len(text)
        yield bytes([codec]) + struct.pack("<H", size) + packed


# --- rows ----------------------------------------------------------------------------------------

def rows():
    """As fuzz_rows.c has messages: a file of each kind, and what else a script says."""
    def said(letter, *fields):
        text = b"".join(field + b"\0" for field in fields)
        return letter + struct.pack("<H", len(text)) + text
    tree = said(b"P") + said(b"C", b"cat", b"dog") + (
        said(b"G", b"1", b"2") + said(b"L", b"{} left out", b"'x'", b"3"))
    for fields in ((b"r7", b"o1", b"s9", b"l1"), (b"cx/y", b"na.jpg", b"o0", b"s3", b"m420", b"M5"),
                   (b"aup/", b"Cx/y", b"Nb", b"s4"), (b"pd/./e.png", b"o2", b"s1"),
                   (b"pf", b"s9000", b"h0 0 4 8192 4 3"), (b"pg", b"s6", b"x1 2 bgr"),
                   (b"cx_y", b"o9", b"s1"), (b"cx", b"l-2", b"s1"), (b"qh", b"s4", b"bGIF8"),
                   (b"s9", b"BBM")):
        yield (said(b"F", *fields) + tree + said(b"N", b"{} of {}", b"", b"1", b"2") +
               said(b"F", *fields) * 2)
    yield tree + said(b"T", b"labels.tsv", b"a\tb") + said(b"Z") + said(b"F", b"l1", b"s1")
    yield (said(b"F", b"pd", b"d", b"m493") + said(b"F", b"pa", b"o0", b"s3") +
           said(b"F", b"pb", b"21") + said(b"F", b"pl", b"ta") + said(b"X", b"1") +
           said(b"M", b"0", b"448", b"-5") + said(b"O", b"a", b"no name", b"0"))
    yield tree + said(b"H", b"cut off")
    for what in b"damaged", b"unsupported", b"option", b"memory", b"odd":
        yield tree + said(b"E", what, b"a sentence")


# --- what others say ----------------------------------------------------------------------------

def answer(status, headers=(), body=b"", end=0, unit=4):
    """As fake_http.h has them; the status by its place there."""
    head = "".join(f"{line}\r\n" for line in headers).encode()
    head += b" " * (-len(head) % 4)
    body += b" " * (-len(body) % unit)
    return bytes([status, end, len(head) // 4, len(body) // unit]) + head + body


def answers():
    tags = 'ETag: "1"', "Last-Modified: Mon, 01 Jan 2024 00:00:00 GMT"
    whole = answer(0, ["Content-Range: bytes 0-7/8", *tags], b"12345678")
    part = answer(0, ["Content-Range: bytes 0-7/80", 'ETag: W/"2"'], b"1234")
    error = b"<Error><Code>%s</Code><Message>&lt;no&gt;</Message><Region>eu-x</Region></Error>"
    yield b"\0" + whole * 2
    yield b"\2" + whole + answer(0, tags) + whole + part * 3 + answer(0, end=199) + whole
    yield b"\2" + answer(2, ["Location: https://other/x"]) + whole * 2 + answer(6) + whole * 3
    yield b"\2" + answer(13, ["Retry-After: 1"]) + whole * 2 + answer(9) + answer(10)
    yield b"\0" + answer(1, ["Content-Length: 0"]) + answer(10, ["Content-Range: bytes */0"])
    for how in b"\x04\x08\x0c\x10\x14\x18\x1c\x20\x30\x34":
        yield bytes([how]) + answer(5) + whole * 4
    for code in (b"AuthorizationHeaderMalformed", b"ExpiredToken", b"RequestTimeTooSkewed",
                 b"InvalidAccessKeyId", b"SignatureDoesNotMatch", b"NoSuchBucket", b"x"):
        for how, status in (3, 2), (3, 4), (3, 5), (19, 6), (3, 6), (19, 7):
            head = ["x-amz-bucket-region: a", "Date: Mon, 01 Jan 2024 00:00:00 GMT"]
            yield bytes([how]) + answer(status, head, error % code) + whole * 2


def listing():
    def page(*parts, headers=()):
        return answer(1, headers, b"".join(parts), unit=64)

    def bucket(*parts):
        return page(b"<ListBucketResult>", *parts, b"</ListBucketResult>")

    def keys(*names):
        return b"".join(b"<Contents><Key>%s</Key><LastModified>2026-01-02T03:04:05.500Z"
                        b"</LastModified><ETag>&quot;%d&quot;</ETag><Size>4</Size></Contents>"
                        % (name, number) for number, name in enumerate(names))

    more = b"<NextContinuationToken>t</NextContinuationToken>"
    folder = b"<CommonPrefixes><Prefix>a/%s</Prefix></CommonPrefixes>"
    got = answer(0, ["Content-Range: bytes 0-3/4", 'ETag: "0"'], b"1234", unit=64)
    many = keys(*(b"a/b/c/%02d" % number for number in range(16)))
    yield b"\0" + bucket(keys(b"a/x", b"a/b/y")) + got * 2
    yield b"\4" + bucket(keys(b"a//x", b"a/", b"./b", b"../c", b"d/..", b"e" * 300, b"a" * 64))
    yield b"\1" + bucket(many, more) + bucket(folder % b"d/") * 3 + bucket(keys(b"a/d/1"))
    yield b"\0" + bucket(b"<EncodingType>url</EncodingType>", keys(b"a/+%2B", b"%00"), more) * 9
    yield b"\0" + bucket(folder % b"", more) + got
    yield b"\0" + bucket(b"<IsTruncated>true</IsTruncated>")
    yield b"\0" + answer(6, (), b"<Error><Code>NoSuchKey</Code></Error>", unit=64)
    files = (b'[{"type":"file","path":"a/b","size":4,"oid":"0"},{"type":"directory","path":"a"},'
             b'{"type":"file","path":"a/c","size":4,"oid":"1","lfs":{"oid":"2","size":4}}]')
    link = ['Link: <https://huggingface.co/api/x>; rel="next"']
    yield b"\2" + page(files, headers=link) + page(files) + got * 4
    yield b"\6" + page(files, headers=['Link: <https://other/x>; rel="next"'])
    yield b"\2" + answer(7, unit=64) + page(b"[") + page(b"{}")


def credentials():
    keys = b"aws_access_key_id = A # a\naws_secret_access_key=S\naws_session_token=T\n"
    found = b'{"AccessKeyId": "A", "SecretAccessKey": "\\u0041", "SessionToken": "T", ' \
        b'"Expiration": "2030-01-01T00:00:00+01:00", "Version": 1}'
    sts = b"<AccessKeyId>A</AccessKeyId><SecretAccessKey>S</SecretAccessKey>" \
        b"<SessionToken>T</SessionToken><Expiration>2030-01-01T00:00:00.5Z</Expiration>"
    yield b"\40[default]\n" + keys
    yield b"\40[x]\n" + keys
    yield b"\140[profile x]\n" + keys + b"s3 =\n  a = b\nservices = y\n[services y]\n"
    yield b"\40[default]\ncredential_process = x 'y z'\0" + found
    yield b"\40[default]\nsso_session = x\nrole_arn=a\nsource_profile=default\0" + found
    yield b"\40[default]\nweb_identity_token_file = /x\nrole_arn = y\0\6" + sts
    yield b"\3token\n\0\6" + sts
    for places in b"\4", b"\10", b"\30":
        yield places + b"token\0\6" + found
    yield b"\0\0\6token\0\6role\0\6" + found
    yield b'\0[{"type": "file", "path": "a\\"]", "lfs": {"b": [1, "}"]}}, {}, {"path": null}]'
    yield b"\240\0\6" + b'{"access_token": "A", "expires_in": 3599, "token_type": "Bearer"}'


def options():
    for words in (["x.lmdb", "/mnt"], ["a=b.lmdb", "b/=@x", "x-{00000..00003}.lmdb", "/m"],
                  ["--pool=1G", "-o", "ro,cache=pool,uid=3,umask=022,order=a\\,b", "x", "/m"],
                  ["x-00001-of-00003.lmdb", "x-{a,b{1,2}}", "/m", "--", "ls"],
                  ["-fq", "--select", "a/*", "--select=b", "--threads", "3", "x", "/m"],
                  ["--plo=3"], ["--help"], ["--version"], ["--verify=of", "x", "/m"],
                  ["/tmp", "/proc/self/status"], ["/tmp", "x", "/m"], ["x", "/dev/fd/3"],
                  ["--mkdir", "a{1..3}", "b", "/m"],
                  ["--no-fuse", "-o", "context=x", "x", "/m", "--", "ls"],
                  *[[*words.split(), "x", "/m"] for words in (
                      "--pool=1", "--threads=65", "--oracle-cpu=0", "--oracle-cpu=2000",
                      "--order=x --readahead=0", "--cache-dir=x --verify=off", "--prefetch",
                      "--umask=7777", "--uid=4294967295", "--timeout=4294967295", "-q=1",
                      "--pool=2000B", "--pool=16E", "--pool=1.5G", "-o ro=vfs,user", "-o bind",
                      "-o umask=999999999999999999999999")]):
        yield "\0".join(words).encode()


def requests():
    """One of each, as fuzz_requests.c has them."""
    def request(which, inode, args=b""):
        return bytes([which, inode, -(-len(args) // 4)]) + args + b"\0" * (-len(args) % 4)
    read = struct.pack("<QQI", 0, 0, 131072)
    late = struct.pack("<QQI", 0, 1 << 20, 700000)
    terminal = struct.pack("<QIIQII", 0, 0, 0x802C542A, 0, 0, 0)  # TCGETS2
    text = b"a/1.jpg\nb//2.jpg\n"
    order = struct.pack("<QIIQIIIII", 0, 0, 1, 0, 0, 0, 3, len(text), 0) + text
    for text in text, b"", b"a/1.jpg", b"\n\na/link\n", b"a/up.jpg\n", b"x\0", b"a/" + b"n" * 3000:
        yield b"\x10" + text
    for flags in 0, 1, 2, 3, 5, 13:
        yield bytes([flags]) + b"".join([
            request(0, 0, b"a"), request(0, 1, b"1.jpg"), request(0, 1, b"n" * 300),
            request(1, 0, read), request(2, 1, read), request(3, 0), request(4, 3, read),
            request(4, 9, late), request(14, 0, bytes(8)), request(5, 3), request(6, 0),
            request(7, 2), request(8, 0, b"\5"), request(9, 0, bytes(8) + b"user.foldfs.stats"),
            request(9, 0, b"\xff\xff\0\0" + bytes(4) + b"user.foldfs.stats"),
            request(10, 0, order), request(10, 4, terminal),
            request(11, 0), request(12, 2), request(13, 2, bytes(24)),
            request(15, 0, bytes(8)), request(15, 3, b"\xff\xff" + bytes(6)), request(16, 1)])


def journals():
    """As fuzz_journal.c has them: records that get the rest around them, or a header of what is
    none."""
    def record(kind, note=b"", checksums=()):
        head = struct.pack("<BxHIQQ", kind, len(note), len(checksums), 7, 9) + bytes(16)
        return head + struct.pack(f"<{len(checksums)}Q", *checksums) + note + bytes(-len(note) % 8)
    records = [record(kind, b"a/b.jpg" * (kind % 3), range(kind % 4)) for kind in range(1, 6)]
    for flags in 2, 14, 14 | 4 << 4:
        yield bytes([flags]) + b"".join(records) + records[0] * 40
    for version in 1, 1 << 20:
        for options in 0, 1 << 30:
            yield b"\0" + struct.pack("<8sII", b"foldjrn\n", version, options) + bytes(80)


def published(foldpack):
    """As fuzz_published.c has them: the length of a tar, the tar, its index; or 0, and the
    listing of a folder."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.tar"
        for data in tar(tarfile.USTAR_FORMAT), made(archives.TARS["hard links"]):
            path.write_bytes(data)
            subprocess.run([foldpack, "index", "-q", path], check=True)
            yield struct.pack("<H", len(data)) + data + Path(f"{path}.foldfs-index").read_bytes()
        make_tree(Path(folder) / "in/x.tar")
        subprocess.run([foldpack, "list", "-q", f"{folder}/in/x.tar"], check=True,
                       stdout=subprocess.DEVNULL)
        listing = Path(folder) / "in/.x.tar.foldfs-index"
        yield b"\0\0" + listing.read_bytes()


def all_seeds(foldpack):
    made_packs = list(packs(foldpack))
    start = made_packs[1].index(b"foldfs\r\n")
    yield "dataset", made_packs
    yield "delta", deltas(foldpack)
    yield "walker", [*made_packs, *trees()]
    yield "format", [made_packs[1][start:start + 4096], b"\0foldfs.parts", b"a/b.jpg" * 80]
    yield "codec", pages()
    yield "check", [bytes([level]) + data for data in [*pictures(), *damaged()] for level in (0, 1)]
    yield "annotations", [b"\7" + annotated.encoded(text)
                          for _, text in (*annotated.PLACES.values(), *annotated.HARMLESS.values())]
    yield "transform", [bytes([how]) + data for data in pictures() for how in (1, 0x16, 0xE3)]
    yield "journal", journals()
    yield "published", published(foldpack)
    for make in answers, credentials, listing, options, requests, rows:
        yield make.__name__, make()


def main(foldpack, folder):
    for name, datas in all_seeds(foldpack):
        into = Path(folder) / name
        into.mkdir(parents=True, exist_ok=True)
        for number, data in enumerate(datas):
            (into / f"{number:03}").write_bytes(data)


if __name__ == "__main__":
    os.environ["LLVM_PROFILE_FILE"] = os.devnull  # foldpack of the fuzzers' build
    main(*sys.argv[1:])
