"""The charts of the documents: what they show of the data."""

import re
import sys
import xml.etree.ElementTree as xml

import pytest

import foldfs

sys.path.append(str(foldfs.ROOT / "tests/bench"))
import charts  # noqa: E402  its folder is no package

SVG = "{http://www.w3.org/2000/svg}"
ROWS = [charts.Row("foldfs", 1500, 1400, 1600), charts.Row("loose files", 25, 24, 27, ours=False)]


def drawn(*panels, **options):
    return xml.fromstring(charts.chart("a <chart>", list(panels), **options))


def lines(svg, kind):
    """(left, right) of each, in the order of the data."""
    found = [line.attrib for line in svg.iter(f"{SVG}line") if line.get("class") == kind]
    return [(float(line["x1"]), float(line["x2"])) for line in found]


def bars(svg):
    return [(float(bar.get("x")), float(bar.get("x")) + float(bar.get("width")))
            for bar in svg.iter(f"{SVG}rect") if bar.get("class") != "page"]


def words(svg):
    return [text.text for text in svg.iter(f"{SVG}text")]


def test_a_whisker_goes_from_the_lowest_to_the_highest_round():
    svg = drawn(charts.Bars("hard disk", ROWS))
    (begin, end), _ = bars(svg)
    low, high = lines(svg, "whisker")[0]
    assert (low - begin) / (end - begin) == pytest.approx(1400 / 1500, abs=0.01)
    assert (high - begin) / (end - begin) == pytest.approx(1600 / 1500, abs=0.01)
    assert words(svg) == ["hard disk", "foldfs", "1,500", "loose files", "25"]
    assert "foldfs: 1,500 (1,400 to 1,600)" in (title.text for title in svg.iter(f"{SVG}title"))


def test_ratios_begin_at_a_line_at_one():
    slower, faster = charts.Row("106 KB", 0.5, 0.4, 0.6), charts.Row("3 KB", 2, 1.5, 2.5)
    svg = drawn(charts.Ratios([("NVMe", [slower]), ("network", [faster])], "loose files"))
    (one, _), = lines(svg, "one")
    (left, to_one), (from_one, right) = bars(svg)
    assert to_one == pytest.approx(one, abs=0.1) and from_one == pytest.approx(one, abs=0.1)
    assert one - left == pytest.approx(right - one, abs=0.1)  # a half is as far as twice
    assert {"0.50 x", "2.0 x", "1: loose files", "NVMe", "network"} <= set(words(svg))


@pytest.mark.parametrize("panel", [
    charts.Bars("b" * 40, [charts.Row("x" * 30, 1e6, 1e6, 3e6)]),
    charts.Ratios([("g", [charts.Row("x" * 30, 730, 0.02, 900)])], "loose files, read as they are"),
])
def test_all_is_within_700_columns_of_pixels(panel):
    svg = drawn(panel)
    left, top, width, height = map(float, svg.get("viewBox").split())
    assert (left, top, width) == (0, 0, 700)
    for text in svg.iter(f"{SVG}text"):
        long, at = 6.5 * len(text.text), float(text.get("x"))
        begin = at - {"start": 0, "middle": long / 2, "end": long}[text.get("text-anchor")]
        assert begin >= 0 and begin + long <= width and 0 < float(text.get("y")) < height
    for begin, end in bars(svg) + lines(svg, "whisker"):
        assert 0 <= begin <= end <= width


def test_it_is_legible_on_dark_pages_and_needs_nothing_from_elsewhere():
    text = charts.chart("a <chart>", [charts.Bars("b", ROWS)])
    assert "prefers-color-scheme:dark" in text and "a &lt;chart&gt;" in text
    sizes = [float(size) for size in re.findall(r"font(?:-size)?:(\d+)px", text)]
    assert sizes and min(sizes) >= 12
    assert not re.search(r"href|url\(|@import|<script", text)
