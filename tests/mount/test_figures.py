"""The figures of README.md and doc/measured.md: what is made of the rounds in doc/results.csv."""

import csv
import sys

import pytest

import foldfs

sys.path.append(str(foldfs.ROOT / "tests/bench"))
import figures  # noqa: E402  its folder is no package

ROW = "nvme, 106 KB, 2 workers, seed drawn"


def write(path, *rows):
    """Rows of (section, measure, system, values)."""
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*figures.COLUMNS, "quick"])
        writer.writerows([section, measure, "files/s", system, values,
                          "2026-11-27 10:00 UTC", figures.USUAL, "abc1234", "no"]
                         for section, measure, system, values in rows)


@pytest.fixture
def results(place):
    write(place / "results.csv", (ROW, "epoch 0", "foldfs", "90 120 100"),
          (ROW, "epoch 0", "loose files", "200 250 160"))
    return figures.Results(place / "results.csv")


def test_a_ratio_is_that_of_medians_and_goes_from_lowest_to_highest(results):
    line = "106 KB, 2 workers, seed drawn"
    assert list(figures.summary(results))[2:] == ["| NVMe | **0.50** (0.36–0.75) |  |  |"]
    assert list(figures.table(results, figures.FRONT))[2:] == [
        "| **NVMe** | | | | |",
        f"| {line} | 100 (90–120) | 200 (160–250) | 0.50 (0.36–0.75) | 2026-11-27, abc1234 |"]
    assert f">{line}<" in figures.picture(results)


def test_a_report_takes_the_place_of_what_is_shown(results, place):
    write(place / "report.csv", (ROW, "epoch 0", "foldfs", "300 300"),
          (ROW, "epoch 0", "another build", "7"), ("nvme, 3 threads", "files read", "foldfs", "7"))
    results.take(place / "report.csv", figures.shown())
    results.write(place / "results.csv")
    again = figures.Results(place / "results.csv")
    assert again.get(ROW, "epoch 0", "foldfs").values == [300, 300]
    assert again.get(ROW, "epoch 0", "loose files").values == [200, 250, 160]
    assert len(again.rows) == 2


def test_blocks_are_filled_between_their_marks():
    text = "before\n<!-- gain: by make figures -->\nold\n<!-- end -->\nafter\n"
    filled = figures.filled(text, {"gain": ["new"]})
    assert filled == "before\n<!-- gain: by make figures -->\n\nnew\n\n<!-- end -->\nafter\n"
    with pytest.raises(SystemExit, match="0 places for 'server'"):
        figures.filled(text, {"server": []})


def test_loaders_have_a_table_once_they_were_measured(results, place):
    assert not list(figures.loaders(results))
    few, many = next(iter(figures.LOADERS[0].values()))
    write(place / "report.csv", (*few, "LitData", "90 120 100"), (*few, "another", "7"),
          (*few, "foldfs", "80"), (*many, "foldfs", "70"))
    results.take(place / "report.csv", figures.shown())
    when, _, _, _, *lines = figures.loaders(results)
    assert when == "Measured 2026-11-27, abc1234."
    assert lines[0].startswith("|foldfs|80 / 70|– / –|")
    assert lines[1].startswith("|LitData|100 / –|– / –|")
    assert lines[-1] == "  this disk, 2 workers: epoch 1 (LitData);"
