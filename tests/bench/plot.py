#!/usr/bin/python3
"""plot.py REPORT.csv OUT.svg

Draws the rates and times of a bench report as bars, each system's median with its spread, one
panel a measure, foldfs first."""

import csv
import sys

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams["svg.fonttype"] = "none"  # text stays text
import matplotlib.pyplot as plt  # noqa: E402  after the choice of backend

# (measure's section begins with, measure, title)
PANELS = (
    ("First touch", "files read", "first touch\nfiles/s, more is better"),
    ("Steady", "files read", "read before\nfiles/s, more is better"),
    ("Warm", "files read", "warm, against loose files\nfiles/s, more is better"),
    ("A tree", "find, second time", "find, a second time\ns, less is better"),
    ("Packing", "command", "packing\ns, less is better"),
)
OURS, OTHERS = "#2a6f97", "#b8c4cc"


def panel(axes, rows, title):
    rows.sort(key=lambda row: row["system"] != "foldfs")
    medians = [float(row["median"]) for row in rows]
    below = [m - float(row["min"]) for m, row in zip(medians, rows)]
    above = [float(row["max"]) - m for m, row in zip(medians, rows)]
    axes.bar([row["system"] for row in rows], medians, width=0.6, yerr=[below, above],
             ecolor="#555555", capsize=3,
             color=[OURS if row["system"] == "foldfs" else OTHERS for row in rows])
    axes.set_title(title, fontsize=9)
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.3g}" if value < 100
                                   else f"{value:,.0f}")


def main(report, out):
    with open(report, newline="") as file:
        rows = list(csv.DictReader(file))
    panels = [(title, found) for section, measure, title in PANELS
              if (found := [row for row in rows if row["section"].startswith(section)
                            and row["measure"] == measure])]
    if not panels:
        return
    figure, axes = plt.subplots(1, len(panels), figsize=(2.6 * len(panels), 2.8), squeeze=False)
    for at, (title, found) in zip(axes[0], panels):
        panel(at, found, title)
    figure.tight_layout()
    figure.savefig(out, metadata={"Date": None})
    plt.close(figure)


if __name__ == "__main__":
    main(*sys.argv[1:])
