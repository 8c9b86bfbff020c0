"""foldpack report: one page to look at a dataset. Its data is compared with a folder that is made
here, with all that there is to find; what its script shows of it is seen in a browser."""

import base64
import html
import io
import json
import os
import random
import re
import shutil
import tarfile
import tempfile
from html.parser import HTMLParser
from pathlib import Path

import pytest

import limits
from damage import encode, with_size
from foldfs import FOLDPACK, PHOTOS, ROOT, has_photos, is_root, pack, run
from gate import Gate
from test_foldpack import damage
from trees import noise, write

Image = pytest.importorskip("PIL.Image", reason="python3-pil is not installed")
ImageChops = pytest.importorskip("PIL.ImageChops")

CHROMIUM = next(filter(None, map(shutil.which, ["chromium", "google-chrome"])), None)
has_browser = pytest.mark.skipif(not CHROMIUM, reason="no chromium: apt install chromium")

SCRIPT = "<script>alert('class')<"  # a slash cannot be in a name
HOSTILE = [b"\"onerror=\"alert(1)\".jpg", b"<img src=x onerror=alert(1)>.jpg", b"\xff\xfe.jpg",
           b"new\nline.jpg", b"&amp;&#60;b&#62;.jpg", "\u202egpj.exe.jpg".encode(),
           b"http:--elsewhere.example.jpg"]


# --- a dataset with something of everything -----------------------------------------------


def picture(seed, width=64, height=48, kind="JPEG", mode="RGB"):
    chance = random.Random(seed)
    image = Image.linear_gradient("L").resize((width, height)).rotate(chance.randrange(4) * 90)
    bands = [image.point(lambda v, k=chance.randrange(1, 255): (v * k) % 256) for _ in mode]
    image = Image.merge(mode, bands) if len(bands) > 1 else bands[0]
    out = io.BytesIO()
    image.save(out, kind)
    return out.getvalue()


def make_dataset(root):
    """Two splits, with something of everything."""
    train, val = root / "train", root / "val"
    for folder in ("train/cat", "train/dog", "train/bird", "val/cat", "val/dog", "train/void"):
        (root / folder).mkdir(parents=True)
    for number in range(30):
        write(train / "cat" / f"{number:02}.jpg", picture(number, 60 + number, 48))
    for number in range(3):
        write(train / "dog" / f"{number}.jpg", picture(100 + number))
    write(val / "cat" / "new.jpg", picture(200))
    write(val / "cat" / "leaked.jpg", picture(7, 67, 48))
    os.link(train / "dog" / "2.jpg", val / "dog" / "linked.jpg")
    write(train / "dog" / "as a cat.jpg", picture(3, 63, 48))
    write(train / "cat" / "again.jpg", picture(4, 64, 48))
    make_bad(train / "bird")
    make_kinds(train / "bird")
    script = root / "train" / SCRIPT
    script.mkdir()
    for number, name in enumerate(HOSTILE):
        write(os.fsencode(script) + b"/" + name, picture(300 + number))
    write(root / "LICENSE", b"text")
    os.symlink("../../../elsewhere/1.jpg", train / "dog" / "out.jpg")
    os.symlink("nothing.jpg", train / "dog" / "dangling.jpg")
    os.symlink("0.jpg", train / "dog" / "sound.jpg")


def make_bad(folder):
    write(folder / "empty.jpg")
    write(folder / "text.jpg", b"this is no image")
    write(folder / "headless.jpg", picture(1)[:15])
    write(folder / "half.jpg", picture(2, 256, 256)[:1500])
    write(folder / "depth.png", encode("PNG")[:24] + b"\3" + encode("PNG")[25:])
    write(folder / "no rows.jpg", with_size(encode("JPEG"), 96, 0))
    write(folder / "twice.jpg", encode("JPEG")[:4] + noise(1, 100000))  # over HEAD: looked at twice
    write(folder / "long header.jpg", with_long_header(picture(1, 70, 50)))
    write(folder / "misnamed.png", picture(400))
    write(folder / "no suffix", picture(401))
    write(folder / "wide.jpg", picture(402, 400, 40))
    write(folder / "high.jpg", picture(403, 20, 120))
    write(folder / "tiny.jpg", picture(404, 5, 5))
    write(folder / "huge.jpg", picture(405, 1200, 1000))


def make_kinds(folder):
    for kind, mode in {"PNG": "RGB", "GIF": "L", "WEBP": "RGB", "BMP": "RGB", "TIFF": "RGB",
                       "PPM": "RGB"}.items():
        write(folder / f"kind.{kind.lower()}", picture(500, 40, 40, kind, mode))
    write(folder / "cmyk.jpg", picture(501, 40, 40, mode="CMYK"))
    write(folder / "grey.jpg", picture(502, 40, 40, mode="L"))
    out = io.BytesIO()
    Image.frombytes("RGB", (200, 200), noise(1, 120000)).save(out, "PNG")
    write(folder / "large.png", out.getvalue())


def with_long_header(jpeg):
    """Its size comes after what is inspected when it is packed, as profiles and notes cause."""
    segment = b"\xff\xfe\xff\xff" + bytes(65533)
    return jpeg[:2] + 2 * segment + jpeg[2:]


@pytest.fixture(scope="module")
def dataset(session_dir):
    root = session_dir / "report"
    root.mkdir()
    make_dataset(root)
    return pack(root, session_dir / "report.lmdb", "--check=off")


# --- a page -------------------------------------------------------------------------------


def report(packed, *options, status=0):
    return run(FOLDPACK, "report", *options, packed, "-o", "-", status=status).stdout.decode()


def data_of(text):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text,
                                re.DOTALL)[1])


class Page:
    def __init__(self, packed, *options, status=0):
        self.text = report(packed, *options, status=status)
        self.data = data_of(self.text)
        self.findings = {found["kind"]: found for found in self.data["findings"]}
        self.pictures = {one["at"][1]: one for label in self.data["sheet"]["shown"]
                         for one in label["pictures"]}

    def paths(self, kind):
        """What a finding names, each item's paths as a list."""
        found = self.findings[kind]
        assert found["count"] == len(found["items"])
        return [item[1::2] for item in found["items"]]

    def shown(self):
        return {path: one for path, one in self.pictures.items() if "src" in one}


@pytest.fixture(scope="module")
def page(dataset):
    return Page(dataset, "--samples", "100")


@pytest.fixture
def page_of(place):
    """page_of({path: bytes}): of a folder of these files."""
    def make(files, *options):
        for path, data in files.items():
            write(place / "folder" / path, data)
        (place / "folder").mkdir(exist_ok=True)
        return Page(pack(place / "folder", place / "own.lmdb", "--check=off"), *options)
    return make


# --- what it says -------------------------------------------------------------------------


def test_the_figures_are_those_of_info(page, dataset):
    info = json.loads(run(FOLDPACK, "info", "--json", "-v", dataset).out)
    del info["path"]
    assert page.data["info"] == info
    assert info["classes"] == 7 and [each["name"] for each in info["splits"]] == ["train", "val"]
    assert page.data["images"]["count"] == 68 and page.data["name"] == dataset.name


# --- of other formats --------------------------------------------------------------------------


def tar_of(root, target):
    run("tar", "-cf", target, "--sort=name", "-C", root, *sorted(os.listdir(root)))
    return target


def without_copies(page):
    """What of a pack needs its checksums, and of a name that is no image's its content."""
    return {kind: sorted(repr(item) for item in found["items"]
                         if kind != "not-taken" or not item[1].endswith("no suffix"))
            for kind, found in page.findings.items() if "copies" not in kind}


def test_of_a_tar_the_findings_are_those_of_its_pack(session_dir, dataset, page):
    tar = tar_of(session_dir / "report", session_dir / "report.tar")
    found = Page(tar, "--samples", "100")
    assert without_copies(found) == without_copies(page)
    assert found.data["images"]["count"] == page.data["images"]["count"] - 1  # no suffix
    assert found.data["images"]["sides"]["count"] == page.data["images"]["sides"]["count"] - 1
    assert found.shown().keys() >= page.shown().keys() - {"train/bird/no suffix"}


def test_what_was_not_read_is_no_finding(place):
    """Of a container whose images have over 1 GiB, only those that are shown are read."""
    tar = place / "x.tar"
    with open(tar, "wb") as out:  # with holes
        for number in range(20):
            member = tarfile.TarInfo(f"c/{number:02}.jpg")
            member.size = 60 << 20
            out.write(member.tobuf())
            out.seek(member.size, os.SEEK_CUR)
        out.write(bytes(1024))
    page = Page(tar, "--samples=2")
    assert page.paths("not-an-image") == [["c/00.jpg"], ["c/19.jpg"]]
    assert page.data["sheet"]["checked"] == 2


def test_an_item_says_its_class(page):
    classes = page.data["info"]["class_table"]
    leaked = next(item for item in page.findings["copies-in-splits"]["items"] if "07" in item[1])
    assert [classes[number - 1]["split"] for number in leaked[::2]] == ["train", "val"]
    assert {classes[number - 1]["name"] for number in leaked[::2]} == {"cat"}


SIZED = 68 - 5  # without the empty one, the text, those without a header, rows or an end of it
BIRDS = {"empty": "empty.jpg", "not-an-image": "text.jpg", "truncated": "half.jpg",
         "wrong-extension": "misnamed.png", "wide": "wide.jpg", "high": "high.jpg",
         "tiny": "tiny.jpg", "huge": "huge.jpg"}


def test_what_is_bad_or_odd_is_named(page):
    found = {kind: sorted(page.paths(kind)) for kind in page.findings if "link-" not in kind}
    assert found == {
        "copies-in-splits": [["train/cat/07.jpg", "val/cat/leaked.jpg"],
                             ["train/dog/2.jpg", "val/dog/linked.jpg"]],
        "copies-in-classes": [["train/cat/03.jpg", "train/dog/as a cat.jpg"]],
        "copies-in-class": [["train/cat/04.jpg", "train/cat/again.jpg"]],
        "not-taken": [["train/bird/kind.gif"], ["train/bird/no suffix"]],
        "no-size": [["train/bird/headless.jpg"], ["train/bird/no rows.jpg"]],
        "corrupt": [["train/bird/depth.png"], ["train/bird/twice.jpg"]],
        "empty-class": [["train/void"]],
        "missing-class": [[f"train/{SCRIPT}"], ["train/bird"], ["train/void"]],
        **{kind: [[f"train/bird/{name}"]] for kind, name in BIRDS.items()}}
    for kind, name in {"leaves": "out.jpg", "dangles": "dangling.jpg"}.items():
        [(_, path, _)] = page.findings[f"link-{kind}"]["items"]
        assert path == f"train/dog/{name}"


def test_a_size_after_a_long_header_is_found(page):
    assert decoded(page.pictures["train/bird/long header.jpg"])[1].size == (70, 50)
    assert page.data["images"]["sides"]["count"] == SIZED


@pytest.mark.parametrize("samples", ["0", "1"])
def test_truncated_images_are_named_if_few_or_none_are_shown(dataset, samples):
    page = Page(dataset, "--samples", samples)
    assert page.paths("truncated") == [["train/bird/half.jpg"]]
    assert page.data["sheet"]["checked"] == 68
    assert bool(page.data["sheet"]["shown"]) == (samples == "1")


def test_an_uneven_dataset_is_said_to_be_one(page_of):
    page = page_of({f"{name}/{number}.jpg": picture(f"{name} {number}")
                    for name, files in {"many": 24, "few": 2}.items() for number in range(files)})
    assert page.findings["imbalance"]["items"] == [[0, ""]]
    assert page.data["info"]["imbalance"] == 12


def test_of_a_calm_one_nothing_is_found_and_names_of_wordnet_are_told(page_of):
    page = page_of({f"{name}/{number}.jpg": picture(f"{name} {number}") for number in range(4)
                    for name in ("n01440764", "n02124075", "n99999999", "cat")})
    assert page.findings == {}
    assert page.data["synsets"] == {"n01440764": "tench", "n02124075": "Egyptian cat"}


def test_an_empty_pack_makes_a_page(page_of):
    page = page_of({})
    assert page.data["info"]["files"] == 0 and page.findings == {}


def test_copies_that_are_stored_once_are_found_and_take_nothing(session_dir, dataset):
    page = Page(pack(session_dir / "report", session_dir / "report-once.lmdb", "--dedup",
                     "--check=off"))
    assert page.paths("copies-in-class") == [["train/cat/04.jpg", "train/cat/again.jpg"]]
    found = page.findings["copies-in-class"]
    assert found["means"].endswith("2 files of the same size and checksums, stored once.")


def test_the_histograms_count_each_image_once(page):
    images = page.data["images"]
    assert sum(cell[2] for cell in images["sides"]["cells"]) == SIZED
    assert sum(n for _, n in images["sides"]["aspects"]) == SIZED
    assert sum(n for _, n in images["bytes"]["bins"]) == 68 - 1
    octave = images["bins_of_factor_two"]
    assert 2 ** (images["bytes"]["bins"][0][0] / octave) <= images["bytes"]["range"]["min"]
    assert images["bytes"]["range"]["max"] < 2 ** ((images["bytes"]["bins"][-1][0] + 1) / octave)


# --- the contact sheet --------------------------------------------------------------------


def decoded(image):
    kind, data = re.fullmatch(r"data:(image/\w+);base64,(.*)", image["src"]).groups()
    return kind, Image.open(io.BytesIO(base64.b64decode(data, validate=True)))


def test_pictures_are_small_or_as_they_are_or_say_why_not(page):
    """What browsers decode themselves is embedded as it is."""
    birds = {Path(path).name: one for path, one in page.pictures.items() if "/bird/" in path}
    shown = {name: decoded(one) for name, one in birds.items() if "src" in one}
    for name, kind in {"kind.png": "png", "kind.gif": "gif", "kind.webp": "webp",
                       "cmyk.jpg": "jpeg", "huge.jpg": "jpeg"}.items():
        assert shown[name][0] == f"image/{kind}"
    assert shown["huge.jpg"][1].size == (160, 133) and shown["tiny.jpg"][1].size == (5, 5)
    assert shown["grey.jpg"][1].mode == "L"
    why = {name: one["why"] for name, one in birds.items() if "why" in one}
    assert all(why.pop(name) for name in ("half.jpg", "headless.jpg", "no rows.jpg", "twice.jpg"))
    assert why == {"empty.jpg": "empty", "text.jpg": "holds no image",
                   "depth.png": "PNG: the CRC of its chunk IHDR is wrong",
                   "large.png": "PNG: too large to embed",
                   "kind.tiff": "TIFF: no browser shows it"}


@pytest.mark.parametrize("kind, mode", [("BMP", "RGB"), ("BMP", "L"), ("BMP", "P"),
                                        ("PPM", "RGB"), ("PPM", "L")])
def test_what_is_stored_decoded_is_shown_as_it_looks(page_of, kind, mode):
    image = Image.radial_gradient("L").resize((300, 200))
    image = Image.merge("RGB", [image, image.rotate(180), Image.new("L", image.size, 90)])
    image = image.convert(mode)
    page = page_of({f"a.{kind.lower()}": encode(kind, image)})
    shown = decoded(*page.shown().values())[1].convert("RGB")
    expected = image.convert("RGB").resize((160, 106), Image.BILINEAR)
    assert shown.size == expected.size
    differences = ImageChops.difference(shown, expected).convert("L").getdata()
    assert sum(differences) / len(differences) < 3


def test_pictures_are_evenly_spaced_over_a_class(dataset):
    page = Page(dataset, "--samples", "4")
    cats = [path for path in page.pictures if "/cat/" in path]
    assert cats == ["train/cat/00.jpg", "train/cat/10.jpg", "train/cat/20.jpg",
                    "val/cat/new.jpg"]


def test_no_two_pictures_of_a_class_are_the_same(page):
    cats = {path for path in page.pictures if "/cat/" in path}
    assert len(cats) == 31
    assert not cats & {"train/cat/again.jpg", "val/cat/leaked.jpg"}
    assert {"train/cat/03.jpg", "train/dog/as a cat.jpg"} <= set(page.pictures)


def test_many_classes_are_shown_from_the_largest_to_the_smallest(page_of):
    pixel = picture(0, 1, 1, "GIF", "L")
    page = page_of({f"c{number:02}/{each}.gif": pixel + b"%d" % each for number in range(30)
                    for each in range(26 + number)}, "--samples", "100")
    labels = [label["name"] for label in page.data["sheet"]["shown"]]
    assert page.data["sheet"]["labels"] == 30
    assert len(labels) == 12 and labels == sorted(labels) and len(page.pictures) <= 1200
    assert (labels[0], labels[-1]) == ("c00", "c29")


# --- safe, and the same each time ---------------------------------------------------------


class Markup(HTMLParser):
    """What a browser's parser makes of it: the tags, every address, what is run."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.addresses, self.handlers, self.words = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        for name, value in attributes:
            if name in ("src", "href", "action", "srcset", "data", "xlink:href", "poster"):
                self.addresses.append(value)
            if name.startswith("on"):
                self.handlers.append(name)

    def handle_data(self, data):
        self.words.extend(filter(None, [data.strip()]))


PLAIN = re.compile("<noscript>.*?</noscript>", re.DOTALL)


def test_names_are_text_whatever_they_say(page, page_of):
    """Names are in the JSON, which has no "<" by which its element could end, and in what is shown
    where no script runs, as text."""
    plain = Markup(PLAIN.sub("", page_of({}).text))
    markup = Markup(PLAIN.sub("", page.text))
    assert markup.tags == plain.tags and markup.tags.count("script") == 2
    assert markup.handlers == markup.addresses == []
    markup = Markup(page.text)
    assert markup.handlers == markup.addresses == []
    names = {os.fsencode(path.rpartition("/")[2]) for path in page.pictures if SCRIPT in path}
    assert names == set(HOSTILE)


def test_what_is_worth_a_look_is_told_without_a_script(page):
    markup = Markup(PLAIN.search(page.text)[0])
    assert set(markup.tags) == {"noscript", "h1", "h2", "h3", "p", "div", "article", "span", "ol",
                                "li"}
    name, figures, heading = markup.words[:3]
    assert (name, heading) == ("report.lmdb", "Worth a look")
    assert re.fullmatch(r"69 files, \d+ KiB; 68 images in 5 classes", figures)
    told = [found["title"] for found in page.data["findings"]]
    assert [word for word in markup.words if word in told] == told
    at = markup.words.index("2 images are in more than one split")
    assert markup.words[at + 1:at + 7] == [
        "problem", page.findings["copies-in-splits"]["means"], "train/cat/07.jpg",
        "val/cat/leaked.jpg", "train/dog/2.jpg", "val/dog/linked.jpg"]
    assert {"train/void", "train/dog/out.jpg"} <= set(markup.words)


def test_of_many_items_the_first_are_told_without_a_script(page_of):
    page = page_of({f"a/<{number:02}>.jpg": b"" for number in range(23)})
    words = Markup(PLAIN.search(page.text)[0]).words
    assert "23 images are empty" in words and "and 3 more" in words
    assert "a/<19>.jpg" in words and "a/<20>.jpg" not in words


def test_the_page_needs_nothing_from_elsewhere(page):
    """Its policy forbids that, and no script that a name would smuggle in could run."""
    assert "content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'; " \
        "script-src 'nonce-page'\"" in page.text
    assert not re.search(r"url\(|@import|innerHTML|outerHTML|insertAdjacent|document.write|eval",
                         page.text)


def test_the_same_pack_gives_the_same_page(dataset, page, place):
    copy = place / "elsewhere" / dataset.name
    copy.parent.mkdir()
    shutil.copy(dataset, copy)
    environment = {**os.environ, "LC_ALL": "de_DE.UTF-8", "TZ": "Asia/Tokyo"}
    again = run(FOLDPACK, "report", "--samples", "100", copy, "-o", "-", env=environment)
    assert again.stdout.decode() == page.text


def test_a_folder_of_everything_makes_a_page(hostile):
    assert Page(hostile[1]).data["info"]["files"] > 0


# --- damage -------------------------------------------------------------------------------


def test_damage_in_the_pack_is_named_and_the_page_is_written(dataset, place):
    damaged = place / "damaged.lmdb"
    shutil.copy(dataset, damaged)
    damage(damaged, picture(101))
    out = place / "page.html"
    done = run(FOLDPACK, "report", damaged, "-o", out, status=3)
    assert "the report was written" in done.err
    found = data_of(out.read_text())["findings"][0]
    assert (found["kind"], found["count"]) == ("damaged", 1)
    assert [item[1:] for item in found["items"]] == [["train/dog/1.jpg"]]


@is_root
def test_bytes_that_the_disk_does_not_give_are_not_called_damaged(dataset, place):
    out = place / "page.html"
    with Gate(dataset.read_bytes(), place / "gate") as gate:
        at = gate.data.index(picture(101))
        gate.dead = range(at, at + 1)
        done = run(FOLDPACK, "report", gate.path, "-o", out, status=1)
    assert "cannot be read" in done.err and "the report was written" in done.err
    found = {each["kind"]: each for each in data_of(out.read_text())["findings"]}
    assert [item[1] for item in found["unreadable"]["items"]] == ["train/dog/1.jpg"]
    assert "damaged" not in found


# --- the file -----------------------------------------------------------------------------


def test_an_earlier_report_is_replaced_and_other_files_are_not(dataset, place):
    out = place / "page.html"
    run(FOLDPACK, "report", "--samples=0", dataset, "-o", out)
    first = out.stat().st_ino
    run("sh", "-c", 'umask 027 && exec "$@"', "sh", FOLDPACK, "report", "--samples=0", dataset,
        "-o", out)
    assert out.stat().st_ino != first and out.stat().st_mode & 0o777 == 0o640
    write(place / "thesis.html", b"<!DOCTYPE html>\n<html>years of work</html>")
    for target in (place / "thesis.html", dataset):
        before = target.read_bytes()
        done = run(FOLDPACK, "report", dataset, "-o", target, status=1)
        assert "is not a report of foldpack" in done.err and target.read_bytes() == before
    assert sorted(path.name for path in place.iterdir()) == ["page.html", "thesis.html"]


def test_where_to_must_be_said_and_must_be_a_file(dataset, place):
    assert "'-o FILE' is missing" in run(FOLDPACK, "report", dataset, status=2).err
    os.symlink("elsewhere", place / "link")
    os.mkfifo(place / "fifo")
    for name, said in ("link", "a symbolic link, which is not followed; name what it leads to, or "
                               "'-o -' writes to standard output"), ("fifo", ""), \
            ("no/such/folder", ""):
        assert said in run(FOLDPACK, "report", dataset, "-o", place / name, status=1).err
    assert os.readlink(place / "link") == "elsewhere"


def test_a_page_that_does_not_fit_leaves_nothing(dataset, place):
    done = run(FOLDPACK, "report", dataset, "-o", place / "page.html", status=1,
               preexec_fn=limits.file_size(8 << 10))
    assert "File too large" in done.err
    assert list(place.iterdir()) == []


# --- in a browser -------------------------------------------------------------------------

PROBE = """<script nonce="page">
addEventListener("load", () => {
  const all = selector => [...document.querySelectorAll(selector)];
  const wide = all("body *").filter(each =>
    each.getBoundingClientRect().right > innerWidth + 1 && !each.closest(".wide"));
  const text = each => each.innerText;
  ACT
  document.body.textContent = "PROBE" + JSON.stringify({
    width: innerWidth,
    overflow: document.documentElement.scrollWidth - innerWidth,
    wide: wide.map(each => each.tagName),
    scripts: all("script").length,
    images: document.images.length,
    alts: [...document.images].map(each => each.alt),
    broken: [...document.images].filter(each => !each.naturalWidth).map(each => each.alt),
    fetched: performance.getEntriesByType("resource").map(each => each.name)
      .filter(name => !name.startsWith("data:")),
    figures: Object.fromEntries(all(".figures div").map(each =>
      [text(each.querySelector("dt")), text(each.querySelector("dd"))])),
    cards: all(".card").map(each => [each.dataset.kind, text(each.querySelector("h3")),
      [...each.querySelectorAll("li")].map(text)]),
    tables: all("table").map(each => [...each.rows].map(row => [...row.cells].map(text))),
    charts: all("figure svg").map(each => [each.getAttribute("aria-label"), each.clientHeight,
      [...each.querySelectorAll("rect title")].map(title => title.textContent)]),
    calm: all(".calm").map(text),
    sheet: all(".label h3").map(text),
    paragraphs: all("p").map(text),
    pagers: all(".pager").map(text),
    elements: all("*").length,
    text: getComputedStyle(document.body).color,
    page: getComputedStyle(document.body).backgroundColor,
  }) + "END";
});
</script>"""


def browse(page, *options):
    with tempfile.TemporaryDirectory() as home:
        done = run(CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                   f"--user-data-dir={home}", *options, f"file://{page}",
                   env={**os.environ, "HOME": home})
    return done.out


FRAME = """<!DOCTYPE html><body style="margin: 0"><iframe id="frame" width="WIDTH" height="900"
style="border: 0" srcdoc="PAGE"></iframe><script>addEventListener("load", () => {
  document.body.textContent = document.getElementById("frame").contentDocument.body.textContent;
});</script></body>"""


def probe(text, place, *options, act="", width=1280):
    """What the page shows, after `act` was done to it; in a frame, as no window is narrow."""
    page = place / "probed.html"
    text = text.replace("</body>", PROBE.replace("ACT", act) + "</body>")
    page.write_text(FRAME.replace("WIDTH", str(width)).replace("PAGE", html.escape(text)))
    seen = browse(page, "--dump-dom", "--window-size=1300,900", *options)
    return json.loads(re.search(r"PROBE(.*)END", seen, re.DOTALL)[1].replace("&gt;", ">")
                      .replace("&lt;", "<").replace("&amp;", "&"))


DARK = "--blink-settings=preferredColorScheme=0"
LIGHT = "--blink-settings=preferredColorScheme=1"


def brightness(color):
    return sum(map(int, re.findall(r"\d+", color)[:3])) / 3


@has_browser
@pytest.mark.parametrize("width", [1280, 500, 400])
def test_a_browser_shows_all_of_it_at_any_width(page, place, width):
    seen = probe(page.text, place, width=width)
    assert seen["width"] == width and seen["overflow"] <= 0 and seen["wide"] == []
    assert seen["images"] == len(page.shown()) and seen["broken"] == []
    assert seen["fetched"] == [] and seen["scripts"] == 3
    assert len(seen["charts"]) == 4 and all(chart[1] > 150 for chart in seen["charts"])


@pytest.fixture(scope="module")
def seen(page, session_dir):
    return probe(page.text, session_dir)


@has_browser
def test_a_browser_shows_the_figures_and_findings(page, seen):
    assert seen["figures"] == {"files": "69", "bytes": seen["figures"]["bytes"], "images": "68",
                               "classes": "5", "splits": "2"}
    shown = {kind: (title, items) for kind, title, items in seen["cards"]}
    assert set(shown) == set(page.findings)
    assert re.search(r"; the copies take 1\.\d+ KiB\.$", page.findings["copies-in-class"]["means"])
    assert shown["copies-in-splits"] == (
        "2 images are in more than one splitproblem",
        ["train/cat/07.jpg\nval/cat/leaked.jpg", "train/dog/2.jpg\nval/dog/linked.jpg"])
    assert shown["tiny"] == ("1 image is tinynote", ["train/bird/tiny.jpg"])
    assert shown["link-leaves"][1] == ["train/dog/out.jpg\n\u2192 ../../../elsewhere/1.jpg"]
    content, splits, classes = seen["tables"]
    assert ["PNG", "3", "40 to 200", "96", "40 to 200", "72"] in content
    assert splits[1][:3] == ["train", "5", "68"] and splits[2][:3] == ["val", "2", "3"]
    assert classes[1][:4] == ["cat", "31", "2", "33"] and classes[-1][:4] == ["void", "0", "", "0"]
    assert seen["sheet"][0].startswith(SCRIPT)
    bars = seen["charts"][0][2]
    assert (bars[0], bars[-1]) == ("cat: 33 files", "void: 0 files")


@has_browser
def test_a_browser_shows_hostile_names_as_text(seen):
    assert {f"train/{SCRIPT}/{name}" for name in (
        "\"onerror=\"alert(1)\".jpg", "<img src=x onerror=alert(1)>.jpg", "\\377\\376.jpg",
        "new\\012line.jpg", "\\342\\200\\256gpj.exe.jpg",
        "&amp;&#60;b&#62;.jpg")} <= set(seen["alts"])
    assert seen["scripts"] == 3 and seen["fetched"] == []


def choose(label, text):
    """Sets a filter as a user would."""
    return f"""
  const select = all(".filters label").find(each => each.innerText.startsWith("{label}"))
    .querySelector("select");
  select.selectedIndex = [...select.options].findIndex(each => each.text.startsWith("{text}"));
  select.dispatchEvent(new Event("change"));"""


@has_browser
def test_findings_are_filtered_by_kind_and_by_class(page, place):
    kind = probe(page.text, place, act=choose("kind", "1 image is tiny"))
    assert [card[0] for card in kind["cards"]] == ["tiny"]
    dogs = probe(page.text, place, act=choose("class", "dog"))
    assert [card[0] for card in dogs["cards"]] == [
        "copies-in-splits", "copies-in-classes", "link-leaves", "link-dangles"]
    assert dogs["cards"][0][2] == ["train/dog/2.jpg\nval/dog/linked.jpg"]


@has_browser
def test_classes_that_are_all_alike_are_a_line_of_words(place):
    for split, files in {"train": 3, "val": 1}.items():
        for name in ("n01440764", "n02124075", "constructor"):
            for number in range(files):
                write(place / "folder" / split / name / f"{number}.jpg",
                      picture(f"{split} {name} {number}"))
    page = Page(pack(place / "folder", place / "even.lmdb"))
    assert page.findings == {}
    seen = probe(page.text, place)
    assert "Nothing found: no byte-identical copies" in seen["calm"][0]
    assert "only look the same are not compared" in seen["calm"][0]
    assert "3 classes, each with 4 files: 3 in train, 1 in val." in seen["paragraphs"]
    assert "constructor, n01440764 tench, n02124075 Egyptian cat" in seen["paragraphs"]
    assert seen["sheet"] == ["constructor4 images", "n01440764 tench4 images",
                             "n02124075 Egyptian cat4 images"]
    assert len(seen["tables"]) == 2 and len(seen["charts"]) == 3


@has_browser
def test_many_classes_share_bars(page_of, place):
    page = page_of({f"c{number:03}/{each}.txt": b"x" for number in range(500)
                    for each in range(1 + number % 3)})
    seen = probe(page.text, place, act='all("details").forEach(each => each.open = true);')
    bars = seen["charts"][0][2]
    assert len(bars) == 142 and bars[0] == "classes 1 to 3: 3 files"


@has_browser
def test_a_hundred_thousand_findings_do_not_freeze_it(page, place):
    """Each is there, 100 at a time."""
    data = {**page.data, "findings": [
        {"kind": "empty", "bad": True, "title": "150,000 images are empty", "means": "",
         "count": 150000, "items": [
            [1 + number % 5, f"train/cat/{number:060}.jpg"] for number in range(100000)]}]}
    text = re.sub(r'(id="data">).*?(</script>)', lambda found: found[1] + json.dumps(data).replace(
        "<", "\\u003c") + found[2], page.text, count=1, flags=re.DOTALL)
    seen = probe(text, place, act="""
  document.querySelector(".card summary").click();
  document.querySelector(".card details").dispatchEvent(new Event("toggle"));
  [...document.querySelectorAll(".card .pager button")][1].click();""")
    (kind, title, items), = seen["cards"]
    assert title.startswith("150,000 images are empty") and len(items) == 100
    assert items[0].endswith("100.jpg") and "101 to 200 of 100,000" in seen["pagers"][0]
    assert seen["elements"] < 3000


@has_browser
def test_it_is_dark_where_the_reader_wants_that(page, place):
    light, dark = (probe(page.text, place, option) for option in (LIGHT, DARK))
    assert brightness(light["page"]) > 230 and brightness(light["text"]) < 60
    assert brightness(dark["page"]) < 40 and brightness(dark["text"]) > 200


@has_photos
def test_the_photos_are_calm(photos_pack):
    page = Page(photos_pack)
    assert len(page.text) < 3_000_000
    assert page.findings == {} and page.data["sheet"]["checked"] == 260
    assert page.data["info"]["classes"] == len(list(PHOTOS.iterdir()))


def test_where_the_python_in_path_has_no_pillow_that_of_the_system_is_asked(place, monkeypatch):
    """As where pyenv, conda or a venv is in front of a distribution's."""
    if run("/usr/bin/python3", "-c", "import PIL", status=None).returncode != 0:
        pytest.skip("the python3 of the system has no Pillow")
    run("/usr/bin/python3", "-m", "venv", "--without-pip", place / "env")
    monkeypatch.setenv("PATH", f"{place}/env/bin:{os.environ['PATH']}")
    monkeypatch.delenv("FOLDFS_PYTHON")
    write(place / "src/a/1.jpg", encode("JPEG"))
    packed = pack(place / "src", place / "x.lmdb")
    run(FOLDPACK, "report", packed, "-o", place / "page")
    assert "base64" in (place / "page").read_text()
    asked = [f"{place}/env/bin/python3", "-c", "import sys; sys.path.insert(0, sys.argv[1]); "
             "import system; system.PYTHON = sys.argv[2]; system.find('PIL')",
             ROOT / "python/foldfs/tools", place / "old"]
    for says in "import sys; sys.version_info = (3, 6)", "import sys; sys.path = []":
        write(place / "old", f"#!/bin/sh\n[ \"$1\" = -c ] || exec echo began in it\n"
              f"exec /usr/bin/python3 -c '{says}'\"\n$2\" \"$3\"\n".encode())
        (place / "old").chmod(0o755)
        assert run(*asked).out == "", "it lacks the module, or is too old"
    monkeypatch.setenv("FOLDFS_PYTHON", f"{place}/env/bin/python3")
    assert "Pillow, which makes the pictures, is not in" in run(
        FOLDPACK, "report", packed, "-o", place / "page", status=1).err
