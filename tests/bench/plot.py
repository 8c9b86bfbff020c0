#!/usr/bin/python3
"""plot.py REPORT_DIR

Draws a bench report: one picture for each kind of device, with the files read over time and the
rate of each case, one of a first epoch from all of them, one of what is cached, and one of epochs
whose order was found out on the way. Bars are medians with their spread, foldfs first."""

import csv
import os
import sys

from charts import Bars, Curve, Curves, Row, chart
from report import FILES_READ, OURS

# What is cached: (measure's section begins with, measure, title)
PANELS = (
    ("First touch", FILES_READ, "first touch, files/s"),
    ("Steady", FILES_READ, "read before, files/s"),
    ("Warm", FILES_READ, "warm, files/s"),
    ("A tree", "find, second time", "find, a second time, s"),
    ("Packing", "command", "packing, s"),
)
# A first epoch: the case that stands for each kind of device, and what that is
COLD = (
    ("hdd, 4 threads", "hard disk, 120 requests/s, 180 MB/s"),
    ("gp3, 4 threads", "cloud volume, 3,000 requests/s, 125 MB/s"),
    ("sata, 4 threads", "SSD, 12,000 requests/s, 500 MB/s"),
    ("nvme, 2 threads", "this machine's disk, no limit"),
    ("net (emulated), 8 threads", "network filesystem, emulated"),
    ("sata, 4 threads, memory for 57% of the data, epochs 2 to 3",
     "SSD, memory for 57 % of the data"),
)
ORACLE = "oracle"  # not a device, but curves before and after something became known
SMOOTH = 40  # of a curve's length: over how much of it a rate is averaged
COSTS = ("read in the last quarter", "read from the device", "requests to the device",
         "CPU of reader and server", "CPU of the daemon")


def read_csv(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def bars(title, rows):
    return Bars(title, [Row(row["system"], float(row["median"]), float(row["min"]),
                            float(row["max"]), row["system"] == OURS)
                        for row in sorted(rows, key=lambda row: row["system"] != OURS)])


def curve_of(row):
    """By each tenth of a second, from 0 on."""
    return [0, *map(int, row["by each tenth of a second"].split())]


def rate_of(row):
    """Of a second, averaged over the time before."""
    counts = curve_of(row)
    width = max(len(counts) // SMOOTH, 2)
    return [(count - counts[max(step - width, 0)]) / (min(step, width) or 1) * 10
            for step, count in enumerate(counts)]


def curves(title, rows, values=curve_of):
    """The last round of each system."""
    return Curves(title, [Curve(row["system"],
                                [(step / 10, value) for step, value in enumerate(values(row))],
                                row["system"] == OURS) for row in rows])


def rates(title, rows):
    """A line where the order was known."""
    panel = curves(title, rows, rate_of)
    known = [float(row["order known after s"]) for row in rows if row["order known after s"]]
    panel.marks = tuple((at, f"order known, {at:.1f} s") for at in known)
    return panel


def grouped(rows, *names):
    """(those values, its rows) of each group with the same values."""
    found = {}
    for row in rows:
        found.setdefault(tuple(row[name] for name in names), []).append(row)
    return found.items()


def profile_panels(profile, rows, progress):
    if profile == ORACLE:
        for (section, measure), found in grouped(progress, "section", "measure"):
            yield rates(f"{section}: {measure}, a second", found)
        return
    for (section,), found in grouped(progress, "section"):
        yield curves(f"{section}: files read by then", found)
    for (section, measure, unit), found in grouped(rows, "section", "measure", "unit"):
        if measure not in COSTS and len(found) > 1:
            yield bars(f"{section}: {measure}, {unit}", found)


def chosen(rows, choices):
    """Bars of (whether a row belongs to it, title) each."""
    for belongs, title in choices:
        found = [row for row in rows if belongs(row)]
        if found:
            yield bars(title, found)


def cold_panels(rows):
    return chosen(rows, [(lambda row, section=section: (row["section"], row["measure"]) ==
                          (section, FILES_READ), f"{title}: files/s") for section, title in COLD])


def cached_panels(rows):
    return chosen(rows, [(lambda row, section=section, measure=measure:
                          row["section"].startswith(section) and row["measure"] == measure, title)
                         for section, measure, title in PANELS])


def picture(path, panels):
    panels = list(panels)
    if panels:
        with open(path, "w") as file:
            file.write(chart(os.path.basename(path), panels))


def main(directory):
    rows = read_csv(os.path.join(directory, "report.csv"))
    progress = read_csv(os.path.join(directory, "progress.csv"))
    for (profile,), found in grouped(rows, "profile"):
        if profile:
            picture(os.path.join(directory, f"{profile}.svg"), profile_panels(
                profile, found, [row for row in progress if row["profile"] == profile]))
    picture(os.path.join(directory, "cold.svg"), cold_panels(rows))
    picture(os.path.join(directory, "cached.svg"), cached_panels(rows))


if __name__ == "__main__":
    main(*sys.argv[1:])
