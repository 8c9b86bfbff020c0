"""foldpack report: one page to look at a dataset. What it says is held against a folder that is
made here, with all that there is to find; how it looks against a browser."""

import base64
import io
import json
import os
import random
import re
import shutil
import subprocess
import tempfile
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path

import pytest

from foldfs import FOLDPACK, PHOTOS, has_photos, pack, run
from trees import noise, write

Image = pytest.importorskip("PIL.Image", reason="python3-pil is not installed")
ImageChops = pytest.importorskip("PIL.ImageChops")

pytestmark = pytest.mark.tool

CHROMIUM = next(filter(None, map(shutil.which, ["chromium", "google-chrome"])), None)
has_browser = pytest.mark.skipif(not CHROMIUM, reason="no chromium: apt install chromium")

SCRIPT = "<script>alert('class')<"  # a slash cannot be in a name
HOSTILE = [b"\"onerror=\"alert(1)\".jpg", b"<img src=x onerror=alert(1)>.jpg", b"\xff\xfe.jpg",
           b"new\nline.jpg", b"&amp;&#60;b&#62;.jpg", "\u202egpj.exe.jpg".encode(),
           b"http:--elsewhere.example.jpg"]


# --- a dataset to be looked at ------------------------------------------------------------


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


def make_bad(folder):
    write(folder / "empty.jpg")
    write(folder / "text.jpg", b"this is no image")
    write(folder / "headless.jpg", picture(1)[:15])
    write(folder / "half.jpg", picture(2, 256, 256)[:1500])
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
    """Its size behind what is looked at when it is packed, as profiles and notes make it."""
    segment = b"\xff\xfe\xff\xff" + bytes(65533)
    return jpeg[:2] + 2 * segment + jpeg[2:]


@pytest.fixture(scope="module")
def dataset(session_dir):
    root = session_dir / "report"
    root.mkdir()
    make_dataset(root)
    return pack(root, session_dir / "report.lmdb")


# --- a page -------------------------------------------------------------------------------


def report(packed, *options, status=0):
    return run(FOLDPACK, "report", *options, packed, "-o", "-", status=status).stdout.decode()


def tree_of(page):
    """The page, which is XML, too."""
    return ElementTree.fromstring(page.removeprefix("<!DOCTYPE html>"))


def words(element):
    return re.sub(r"\s+", " ", "".join(element.itertext())).strip()


def has_class(element, name):
    return name in element.get("class", "").split()


class Page:
    def __init__(self, packed, *options, status=0):
        self.text = report(packed, *options, status=status)
        self.tree = tree_of(self.text)
        found = [item for item in self.tree.iter("li") if has_class(item, "found")]
        self.findings = {words(item.find("h3")): item for item in found}
        self.images = list(self.tree.iter("img"))

    def paths(self, headline):
        """What a finding names, each item's paths as a list."""
        item = self.findings[headline]
        names = next(each for each in item.iter("ul") if has_class(each, "names"))
        return [[words(name) for name in entry.iter("bdi")] for entry in names.iter("li")]

    def figures(self):
        return {words(div.find("dt")): words(div.find("dd")) for div in self.tree.iter("div")
                if div.find("dt") is not None}

    def rows(self, first):
        """The rows of the table whose first column is called so."""
        table = next(table for table in self.tree.iter("table")
                     if words(table.find("thead/tr/th")) == first)
        return {words(row[0]): [words(cell) for cell in row[1:]]
                for row in table.find("tbody")}

    def placeholders(self):
        return {each.get("title"): words(each) for each in self.tree.iter("span")
                if has_class(each, "none")}


@pytest.fixture(scope="module")
def page(dataset):
    return Page(dataset, "--samples", "100")


# --- what it says -------------------------------------------------------------------------


def test_the_figures_are_those_of_the_folder(page, dataset):
    info = json.loads(run(FOLDPACK, "info", "--json", dataset).out)
    assert page.figures() == {"files": str(info["files"] + info["hardlinks"]),
                              "bytes": page.figures()["bytes"], "images": "64",
                              "classes": "5", "splits": "2"}
    assert info["id"] in page.text
    assert page.rows("split")["train"][:2] == ["5", "61"]
    assert page.rows("split")["val"][:2] == ["2", "3"]
    assert page.rows("content")["PNG"] == ["2", "40 to 200", "200", "40 to 200", "200"]
    assert page.rows("content")["other"][0] == "3"


def test_each_class_has_its_row_the_largest_first(page):
    rows = page.rows("class")
    assert list(rows)[0] == "cat" and list(rows)[-1] == "void"
    assert rows["cat"][:3] == ["31", "2", "33"]
    assert rows["dog"][:3] == ["4", "1", "5"]
    assert rows["void"][:3] == ["0", "", "0"]


def test_what_is_trained_and_tested_on_is_found(page):
    assert sorted(page.paths("2 images are in more than one split")) == [
        ["train/cat/07.jpg", "val/cat/leaked.jpg"], ["train/dog/2.jpg", "val/dog/linked.jpg"]]


def test_copies_under_other_labels_and_under_the_same_are_found(page):
    assert page.paths("1 image is in more than one class") == [
        ["train/cat/03.jpg", "train/dog/as a cat.jpg"]]
    assert page.paths("1 image is there more than once") == [
        ["train/cat/04.jpg", "train/cat/again.jpg"]]


def test_copies_that_are_stored_once_are_found_and_take_nothing(session_dir, dataset):
    page = Page(pack(session_dir / "report", session_dir / "report-once.lmdb", "--dedup"))
    headline = "1 image is there more than once"
    assert page.paths(headline) == [["train/cat/04.jpg", "train/cat/again.jpg"]]
    assert "2 files of the same size and checksums; the copies take 0 bytes." in words(
        page.findings[headline])


@pytest.mark.parametrize("headline, name", [
    ("1 image is empty", "empty.jpg"),
    ("1 file is named like an image, and is none", "text.jpg"),
    ("1 image has a broken header", "headless.jpg"),
    ("1 image is of another kind than its name says", "misnamed.png"),
    ("1 image is very wide", "wide.jpg"),
    ("1 image is very high", "high.jpg"),
    ("1 image is tiny", "tiny.jpg"),
    ("1 image is huge", "huge.jpg"),
])
def test_bad_and_odd_files_are_named(page, headline, name):
    assert page.paths(headline) == [[f"train/bird/{name}"]]


def test_images_that_imagefolder_does_not_take_are_named(page):
    assert page.paths("2 images are passed over by ImageFolder") == [
        ["train/bird/kind.gif"], ["train/bird/no suffix"]]


def test_classes_without_images_and_labels_that_shift_are_named(page):
    assert page.paths("1 class has no image") == [["train/void"]]
    missing = page.paths("3 classes are not in every split")
    assert [names[0] for names in missing] == [SCRIPT, "bird", "void"]
    assert all(names[1:] == ["train"] for names in missing)


def test_a_size_behind_a_long_header_is_found(place):
    (place / "folder" / "cat").mkdir(parents=True)
    write(place / "folder" / "cat" / "a.jpg", with_long_header(picture(1, 70, 50)))
    page = Page(pack(place / "folder", place / "long.lmdb"))
    assert page.findings == {}
    assert "1 image; width 70 to 70, median 70; height 50 to 50" in page.text
    assert decoded(page.images[0])[1].size == (70, 50)


def test_an_uneven_dataset_is_said_to_be_one(session_dir):
    root = session_dir / "uneven"
    for name, files in {"many": 24, "few": 2}.items():
        (root / name).mkdir(parents=True)
        for number in range(files):
            write(root / name / f"{number}.jpg", picture(number + 100 * files))
    page = Page(pack(root, session_dir / "uneven.lmdb"))
    item = page.findings["the largest class has 12 times the files of the smallest"]
    assert "From 2 to 24 files a class, the median has 24." in words(item)


def test_a_calm_dataset_is_said_to_be_one(session_dir):
    root = session_dir / "calm"
    for name in ("cat", "dog"):
        (root / name).mkdir(parents=True)
        for number in range(4):
            write(root / name / f"{number}.jpg", picture(len(name) * number + ord(name[0])))
    page = Page(pack(root, session_dir / "calm.lmdb"))
    assert page.findings == {} and "Nothing: no copies" in page.text


# --- charts -------------------------------------------------------------------------------


def hovers(page, chart):
    """What each mark of a chart says to a pointer."""
    drawing = next(svg for svg in page.tree.iter("svg")
                   if svg.get("aria-labelledby", "").startswith(f"{chart}-"))
    return [words(mark.find("title")) for mark in drawing.iter("rect")]


def numbers(page, chart):
    return [int(re.search(r": ([\d,]+) ", text)[1].replace(",", "")) for text in
            hovers(page, chart)]


def test_the_charts_count_each_image_once(page):
    sized = 64 - 3  # without the empty one, the text and the one without a header
    assert sum(numbers(page, "sizes")) == sized
    assert sum(numbers(page, "aspects")) == sized
    assert sum(numbers(page, "bytes")) == 64 - 1


def test_the_chart_of_classes_has_a_bar_for_each(page):
    assert hovers(page, "classes")[0] == "cat: 33 files"
    assert hovers(page, "classes")[-1] == "void: 0 files"
    assert len(hovers(page, "classes")) == 5


def test_each_chart_has_a_title_and_a_description(page):
    for svg in page.tree.iter("svg"):
        if svg.get("aria-hidden"):
            continue
        ids = {each.get("id"): words(each) for each in svg if each.get("id")}
        assert set(ids) == set(svg.get("aria-labelledby").split()) and all(ids.values())


def test_many_classes_share_bars(session_dir):
    root = session_dir / "many classes"
    for number in range(500):
        (root / f"c{number:03}").mkdir(parents=True)
        for each in range(1 + number % 3):
            write(root / f"c{number:03}" / f"{each}.txt", b"x")
    page = Page(pack(root, session_dir / "many-classes.lmdb"))
    bars = hovers(page, "classes")
    assert len(bars) == 142 and bars[0] == "classes 1 to 3: 3 files"
    assert len(page.rows("class")) == 500


# --- the contact sheet --------------------------------------------------------------------


def decoded(image):
    kind, data = re.fullmatch(r"data:(image/\w+);base64,(.*)", image.get("src")).groups()
    return kind, Image.open(io.BytesIO(base64.b64decode(data, validate=True)))


def test_pictures_are_small_jpegs_of_their_shape(page):
    shown = {image.get("alt"): decoded(image) for image in page.images}
    kind, huge = shown["train/bird/huge.jpg"]
    assert (kind, huge.size) == ("image/jpeg", (160, 133))
    assert shown["train/bird/tiny.jpg"][1].size == (5, 5)
    assert shown["train/bird/grey.jpg"][1].mode == "L"


@pytest.mark.parametrize("kind, mode", [("BMP", "RGB"), ("BMP", "L"), ("BMP", "P"),
                                        ("PPM", "RGB"), ("PPM", "L")])
def test_what_is_stored_decoded_is_shown_as_it_looks(place, kind, mode):
    image = Image.radial_gradient("L").resize((300, 200))
    image = Image.merge("RGB", [image, image.rotate(180), Image.new("L", image.size, 90)])
    image = image.convert(mode)
    (place / "folder").mkdir()
    image.save(place / "folder" / f"a.{kind.lower()}")
    page = Page(pack(place / "folder", place / "bitmap.lmdb"))
    shown = decoded(page.images[0])[1].convert("RGB")
    expected = image.convert("RGB").resize((160, 106), Image.BILINEAR)
    assert shown.size == expected.size
    differences = ImageChops.difference(shown, expected).convert("L").getdata()
    assert sum(differences) / len(differences) < 3


def test_what_browsers_decode_themselves_is_embedded_as_it_is(page):
    kinds = {image.get("alt"): decoded(image)[0] for image in page.images}
    for name, kind in {"kind.png": "png", "kind.gif": "gif", "kind.webp": "webp",
                       "cmyk.jpg": "jpeg"}.items():
        assert kinds[f"train/bird/{name}"] == f"image/{kind}"


def test_what_cannot_be_shown_says_why(page):
    why = {Path(name).name: text for name, text in page.placeholders().items()}
    assert why.pop("half.jpg")
    assert why.pop("headless.jpg")
    assert why == {"empty.jpg": "empty", "text.jpg": "holds no image",
                   "large.png": "PNG: too large to embed",
                   "kind.tiff": "TIFF: no browser shows it"}
    assert ["train/bird/half.jpg"] in page.paths("2 images are broken")


def test_pictures_are_evenly_spaced_over_a_class(dataset):
    page = Page(dataset, "--samples", "4")
    cats = [image.get("alt") for image in page.images if "/cat/" in image.get("alt")]
    assert cats == ["train/cat/00.jpg", "train/cat/10.jpg", "train/cat/21.jpg",
                    "val/cat/new.jpg"]


def test_without_samples_there_is_no_sheet(dataset):
    page = Page(dataset, "--samples", "0")
    assert page.images == [] and "Contact sheet" not in page.text


def test_many_classes_are_shown_from_the_largest_to_the_smallest(session_dir):
    root = session_dir / "classes"
    for number in range(300):
        (root / f"c{number:03}").mkdir(parents=True)
        for each in range(1 + number // 10):
            write(root / f"c{number:03}" / f"{each}.gif", picture(0, 1, 1, "GIF", "L"))
    page = Page(pack(root, session_dir / "classes.lmdb"), "--samples", "10")
    labels = [words(section.find("h3/bdi")) for section in page.tree.iter("section")
              if has_class(section, "label")]
    assert "120 of 300 classes, from the largest to the smallest" in page.text
    assert len(labels) == 120 and labels == sorted(labels) and len(page.images) <= 1200
    assert labels[0] < "c010" and labels[-1] >= "c290"


# --- safe, and the same each time ---------------------------------------------------------


class Markup(HTMLParser):
    """What a browser's parser makes of it: the tags, and every address."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.addresses, self.handlers = set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        for name, value in attributes:
            if name in ("src", "href", "action", "srcset", "data", "xlink:href", "poster"):
                self.addresses.append(value)
            if name.startswith("on"):
                self.handlers.append(name)


def test_names_are_text_whatever_they_say(page):
    markup = Markup(page.text)
    assert not markup.tags & {"script", "iframe", "object", "embed", "link", "base", "form"}
    assert markup.handlers == []
    assert "<script" not in page.text
    assert "&lt;script&gt;alert(&#39;class&#39;)" in page.text
    shown = {image.get("alt") for image in page.images}
    assert {f"train/{SCRIPT}/{name}" for name in (
        "\"onerror=\"alert(1)\".jpg", "\\377\\376.jpg", "new\\012line.jpg",
        "\\342\\200\\256gpj.exe.jpg", "&amp;&#60;b&#62;.jpg")} <= shown


def test_the_page_needs_nothing_from_elsewhere(page):
    markup = Markup(page.text)
    assert markup.addresses and all(src.startswith("data:image/") for src in markup.addresses)
    assert not re.search(r"https?://|url\(|@import|//[a-z]", re.sub(r"base64,[^\"]*", "",
                                                                    page.text))


def test_the_same_pack_gives_the_same_page(dataset, page, place):
    copy = place / "elsewhere" / dataset.name
    copy.parent.mkdir()
    shutil.copy(dataset, copy)
    environment = {**os.environ, "LC_ALL": "de_DE.UTF-8", "TZ": "Asia/Tokyo"}
    again = run(FOLDPACK, "report", "--samples", "100", copy, "-o", "-", env=environment)
    assert again.stdout.decode() == page.text


def test_a_folder_of_everything_makes_a_page(hostile):
    page = Page(hostile[1])
    assert "images" in page.figures()


def test_an_empty_pack_makes_a_page(place):
    (place / "nothing").mkdir()
    page = Page(pack(place / "nothing", place / "nothing.lmdb"))
    assert page.figures()["files"] == "0" and page.findings == {}


# --- damage -------------------------------------------------------------------------------


def spoil(packed, content):
    """Changes bytes in the middle of a file of that content."""
    data = bytearray(packed.read_bytes())
    at = data.index(content) + len(content) // 2
    data[at] ^= 0x55
    packed.write_bytes(data)


def test_damage_in_the_pack_is_named_and_the_page_is_written(dataset, place):
    damaged = place / "damaged.lmdb"
    shutil.copy(dataset, damaged)
    spoil(damaged, picture(101))
    out = place / "page.html"
    done = run(FOLDPACK, "report", damaged, "-o", out, status=3)
    assert "the report was written" in done.err
    tree = tree_of(out.read_text())
    assert "1 file is damaged in the pack" in words(tree) and "train/dog/1.jpg" in words(tree)


def test_without_an_index_there_is_no_page(dataset, place):
    damaged = place / "damaged.lmdb"
    shutil.copy(dataset, damaged)
    with open(damaged, "r+b") as file:
        file.truncate(8192)
    run(FOLDPACK, "report", damaged, "-o", place / "page.html", status=3)
    assert not (place / "page.html").exists()


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
        assert "is no report of foldpack" in done.err and target.read_bytes() == before
    assert sorted(path.name for path in place.iterdir()) == ["page.html", "thesis.html"]


def test_where_to_must_be_said_and_must_be_a_file(dataset, place):
    assert "'-o FILE' is missing" in run(FOLDPACK, "report", dataset, status=2).err
    os.symlink("elsewhere", place / "link")
    os.mkfifo(place / "fifo")
    for name in ("link", "fifo", "no/such/folder"):
        run(FOLDPACK, "report", dataset, "-o", place / name, status=1)
    assert os.readlink(place / "link") == "elsewhere"


def test_a_page_that_does_not_fit_leaves_nothing(dataset, place):
    done = run("sh", "-c", 'ulimit -f 8 && trap "" XFSZ && exec "$@"', "sh", FOLDPACK, "report",
               dataset, "-o", place / "page.html", status=1)
    assert "File too large" in done.err
    assert list(place.iterdir()) == []


# --- in a browser -------------------------------------------------------------------------

PROBE = """<script>
addEventListener("load", () => {
  const wide = [...document.querySelectorAll("body *")].filter(each =>
    each.getBoundingClientRect().right > innerWidth + 1 && !each.closest(".wide"));
  document.body.textContent = "PROBE" + JSON.stringify({
    width: innerWidth,
    overflow: document.documentElement.scrollWidth - innerWidth,
    wide: wide.map(each => each.tagName),
    images: document.images.length,
    broken: [...document.images].filter(each => !each.naturalWidth).map(each => each.alt),
    fetched: performance.getEntriesByType("resource").map(each => each.name)
      .filter(name => !name.startsWith("data:")),
    charts: [...document.querySelectorAll("figure svg")].map(each => each.clientHeight),
    text: getComputedStyle(document.body).color,
    page: getComputedStyle(document.body).backgroundColor,
    font: getComputedStyle(document.querySelector("svg text")).fontSize,
  }) + "END";
});
</script>"""


def browse(page, *options):
    with tempfile.TemporaryDirectory() as home:
        done = run(CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                   f"--user-data-dir={home}", *options, f"file://{page}",
                   env={**os.environ, "HOME": home})
    return done.out


def probe(text, place, *options):
    page = place / "probed.html"
    page.write_text(text.replace("</body>", PROBE + "</body>"))
    seen = browse(page, "--dump-dom", *options)
    return json.loads(re.search(r"PROBE(.*)END", seen, re.DOTALL)[1].replace("&gt;", ">")
                      .replace("&lt;", "<").replace("&amp;", "&"))


DARK = "--blink-settings=preferredColorScheme=0"
LIGHT = "--blink-settings=preferredColorScheme=1"


def brightness(color):
    return sum(map(int, re.findall(r"\d+", color)[:3])) / 3


@has_browser
@pytest.mark.parametrize("width", [1280, 500])
def test_a_browser_shows_all_of_it_at_any_width(page, place, width):
    seen = probe(page.text, place, f"--window-size={width},900")
    assert seen["width"] == width and seen["overflow"] <= 0 and seen["wide"] == []
    assert seen["images"] == len(page.images) and seen["broken"] == []
    assert seen["fetched"] == []
    assert len(seen["charts"]) == 4 and all(height > 150 for height in seen["charts"])


@has_browser
def test_it_is_dark_where_the_reader_wants_that(page, place):
    light, dark = (probe(page.text, place, option) for option in (LIGHT, DARK))
    assert brightness(light["page"]) > 230 and brightness(light["text"]) < 60
    assert brightness(dark["page"]) < 40 and brightness(dark["text"]) > 200


@has_browser
def test_a_screenshot_has_page_text_and_charts(page, place):
    (place / "page.html").write_text(page.text)
    browse(place / "page.html", LIGHT, "--window-size=1280,3000",
           f"--screenshot={place / 'page.png'}")
    shot = Image.open(place / "page.png").convert("RGB")
    assert shot.size == (1280, 3000)
    colors = {color for count, color in shot.getcolors(1 << 24) if count > 100}
    for wanted in [(0xfc, 0xfb, 0xf9), (0x2a, 0x6f, 0x97), (0xb3, 0x39, 0x2f)]:
        assert wanted in colors


@has_browser
@has_photos
def test_the_photos_in_a_browser(photos_pack, place):
    text = report(photos_pack)
    assert len(text) < 3_000_000
    seen = probe(text, place)
    assert seen["images"] == 260 and seen["broken"] == [] and seen["overflow"] <= 0


@has_photos
def test_the_photos_are_calm(photos_pack):
    page = Page(photos_pack)
    assert page.findings == {}
    assert page.figures()["classes"] == str(len(list(PHOTOS.iterdir())))
