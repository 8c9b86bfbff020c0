#!/usr/bin/python3
"""plot.py REPORT_DIR

Draws a bench report: one picture for each kind of device, with the files read over time and the
rate of each case, one of a first epoch from all of them, one of what is cached, and one of epochs
whose order was found out on the way. Bars are medians with their spread, foldfs first."""

import csv
import os
import sys

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams["svg.fonttype"] = "none"  # text stays text
import matplotlib.pyplot as plt  # noqa: E402  after the choice of backend

# What is cached: (measure's section begins with, measure, title)
PANELS = (
    ("First touch", "files read", "first touch\nfiles/s, more is better"),
    ("Steady", "files read", "read before\nfiles/s, more is better"),
    ("Warm", "files read", "warm, against loose files\nfiles/s, more is better"),
    ("A tree", "find, second time", "find, a second time\ns, less is better"),
    ("Packing", "command", "packing\ns, less is better"),
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
PANELS_A_ROW = 3
LEAST_BARS = 4  # that there is room for, so that two are not thick ones
OURS, OTHERS = "#2a6f97", "#b8c4cc"
OTHER_LINES = ("#c1666b", "#d4a24c", "#7a9e7e", "#8d7b9d", "#6b7a8f")
BETTER = {"files/s": "more is better", "s": "less is better", "MB": "less is better",
          "x": "less is better"}
ORACLE = "oracle"  # not a device, but curves before and after something became known
SMOOTH = 40  # of a curve's length: over how much of it a rate is averaged
COSTS = ("read in the last quarter", "read from the device", "requests to the device",
         "CPU of reader and server", "CPU of the daemon")


def read_csv(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def plain(axes):
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)


def bars(axes, rows, title):
    rows = sorted(rows, key=lambda row: row["system"] != "foldfs")
    medians = [float(row["median"]) for row in rows]
    below = [m - float(row["min"]) for m, row in zip(medians, rows)]
    above = [float(row["max"]) - m for m, row in zip(medians, rows)]
    axes.barh([row["system"] for row in rows], medians, height=0.6, xerr=[below, above],
              ecolor="#555555", capsize=3,
              color=[OURS if row["system"] == "foldfs" else OTHERS for row in rows])
    axes.set_ylim(max(len(rows), LEAST_BARS) - 0.5, -0.5)
    axes.set_title(title, fontsize=9)
    axes.xaxis.set_major_locator(plt.MaxNLocator(4))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.3g}" if value < 100
                                   else f"{value:,.0f}")
    plain(axes)


def curve_of(row):
    """By each tenth of a second, from 0 on."""
    return [0, *map(int, row["by each tenth of a second"].split())]


def lines(axes, rows, title, curve=curve_of):
    """The last round of each system."""
    others = iter(OTHER_LINES)
    for row in rows:
        points = curve(row)
        axes.plot([step / 10 for step in range(len(points))], points, label=row["system"],
                  linewidth=1.6, color=OURS if row["system"] == "foldfs"
                  else next(others, OTHERS))
    axes.set_title(title, fontsize=9)
    axes.set_xlabel("s", fontsize=8)
    axes.legend(fontsize=7, frameon=False)
    plain(axes)


def rate_of(row):
    """Of a second, averaged over the time before."""
    counts = curve_of(row)
    width = max(len(counts) // SMOOTH, 2)
    return [(count - counts[max(step - width, 0)]) / (min(step, width) or 1) * 10
            for step, count in enumerate(counts)]


def rates(axes, rows, title):
    """A line where the order was known."""
    for known in filter(None, (row["order known after s"] for row in rows)):
        axes.axvline(float(known), color="#555555", linestyle="--", linewidth=1,
                     label=f"order known, {float(known):.1f} s")
    lines(axes, rows, title, rate_of)


def picture(out, panels):
    """panels: (function to draw it, rows, title) each."""
    if not panels:
        return
    width = min(len(panels), PANELS_A_ROW)
    height = -(-len(panels) // width)
    figure, grid = plt.subplots(height, width, figsize=(4.2 * width, 2.8 * height),
                                squeeze=False)
    for axes in grid.flat[len(panels):]:
        axes.remove()
    for axes, (draw, rows, title) in zip(grid.flat, panels):
        draw(axes, rows, title)
    figure.tight_layout()
    figure.savefig(out, metadata={"Date": None})
    plt.close(figure)


def profile_panels(profile, rows, curves):
    if profile == ORACLE:
        yield from oracle_panels(curves)
        return
    for section in dict.fromkeys(row["section"] for row in curves
                                 if row["profile"] == profile):
        yield (lines, [row for row in curves if row["section"] == section],
               f"{section}\nfiles read by then")
    cases = dict.fromkeys((row["section"], row["measure"], row["unit"]) for row in rows
                          if row["profile"] == profile and row["measure"] not in COSTS)
    for section, measure, unit in cases:
        found = [row for row in rows if (row["section"], row["measure"]) == (section, measure)]
        if len(found) > 1:
            yield bars, found, f"{section}\n{measure}: {unit}, {BETTER.get(unit, '')}"


def oracle_panels(curves):
    for section, measure in dict.fromkeys((row["section"], row["measure"]) for row in curves
                                          if row["profile"] == ORACLE):
        yield (rates, [row for row in curves
                       if (row["section"], row["measure"]) == (section, measure)],
               f"{section.replace(', memory', chr(10) + 'memory')}\n{measure}, a second")


def cold_panels(rows):
    for section, title in COLD:
        found = [row for row in rows if row["section"] == section
                 and row["measure"] == "files read"]
        if found:
            yield bars, found, f"{title}\nfiles/s, more is better"


def cached_panels(rows):
    for section, measure, title in PANELS:
        found = [row for row in rows if row["section"].startswith(section)
                 and row["measure"] == measure]
        if found:
            yield bars, found, title


def main(directory):
    rows = read_csv(os.path.join(directory, "report.csv"))
    curves = read_csv(os.path.join(directory, "progress.csv"))
    for profile in dict.fromkeys(row["profile"] for row in rows if row["profile"]):
        picture(os.path.join(directory, f"{profile}.svg"),
                list(profile_panels(profile, rows, curves)))
    picture(os.path.join(directory, "cold.svg"), list(cold_panels(rows)))
    picture(os.path.join(directory, "cached.svg"), list(cached_panels(rows)))


if __name__ == "__main__":
    main(*sys.argv[1:])
