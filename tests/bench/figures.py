#!/usr/bin/python3
"""figures.py [--check] [REPORT.csv...]: the figures of README.md and doc/measured.md and their
chart, made of doc/results.csv, which has the rounds; and README's table of others, that of
doc/compare.md.

A REPORT.csv is what `make bench` leaves: of what is shown, its figures take the place of those in
doc/results.csv. --check changes nothing, and says what does not agree: status 1."""

import argparse
import csv
import dataclasses
import difflib
import re
import statistics
import sys
from pathlib import Path

import cases_epochs
import cases_foreign
import cases_gain
import cases_remote
from charts import Ratios, Row, chart
from report import FILES_READ, LOOSE, OURS, between, number, times

ROOT = Path(__file__).resolve().parents[2]
RESULTS, CHART = "doc/results.csv", "doc/gain.svg"
COLUMNS = ("section", "measure", "unit", "system", "values", "date", "commit")
DEVICES = {"hdd": "hard disk, 120 requests/s", "gp3": "cloud volume, 3,000 requests/s",
           "net": "network, 0.5 ms a request", "sata": "SSD, 12,000 requests/s",
           "nvme": "NVMe, as it is"}
FAR = "web server, 30 ms away, 8 workers, beside a GET a file"
GPU = "ResNet-50 on an H100, 16 processors, images/s"


# --- results -------------------------------------------------------------------------------------

@dataclasses.dataclass
class Result:
    values: list  # of the rounds; of old results the lowest, the median and the highest
    when: str  # date, commit

    @property
    def median(self):
        return statistics.median(self.values)

    def cell(self):
        low, high = number(min(self.values)), number(max(self.values))
        return number(self.median) + (f" ({low} to {high})" if low != high else "")


class Results:
    def __init__(self, path):
        with open(path, newline="") as file:
            self.rows = {self.key(row): row for row in csv.DictReader(file)}

    @staticmethod
    def key(row):
        return row["section"], row["measure"], row["system"]

    def take(self, path, wanted):
        """Of what is shown, what a report has."""
        with open(path, newline="") as file:
            for row in csv.DictReader(file):
                if row["quick"] == "yes":
                    sys.exit(f"figures: {path}: of a quick run")
                if self.key(row) in wanted:
                    self.rows[self.key(row)] = row

    def write(self, path):
        with open(path, "w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, extrasaction="ignore", lineterminator="\n")
            writer.writeheader()
            writer.writerows(sorted(self.rows.values(), key=self.key))

    def get(self, section, measure, system):
        row = self.rows.get((section, measure, system))
        return row and Result([float(value) for value in row["values"].split()],
                              f"{row['date'].split()[0]}, {row['commit']}")


# --- what is shown -------------------------------------------------------------------------------

@dataclasses.dataclass(frozen=True)
class Line:
    """Of a measure, whose section begins with a device, or which has a heading of its own."""
    section: str
    measure: str = "epoch 0"
    more: str = ""  # behind the label
    heading: str = ""
    label: str = ""
    other: str = LOOSE  # what a mount is compared with

    def head(self):
        return self.heading or DEVICES[self.section.split(", ")[0]]

    def words(self):
        return (self.label or self.section.split(", ", 1)[1]) + self.more


FRONT = (
    *(Line(row.title(), heading="NVMe, images decoded" if row.decode else "")
      for row in cases_epochs.FRONT),
    Line("a GPU, 14 workers", "trained", heading=GPU),
    Line(cases_remote.KNOWN, "epoch", heading=FAR, label="106 KB, seed 42",
         other=cases_remote.GETS))


def known_orders():
    for row in cases_epochs.ROWS:
        for epoch in range(row.epochs):
            yield Line(row.title(), f"epoch {epoch}",
                       f", epoch {epoch + 1}" if row.epochs > 1 else "")


def gains():
    for device, threads in cases_gain.THREADS.items():
        for size in (*cases_gain.SIDES, cases_gain.RESIZED):
            yield Line(f"{device}, {size}, {threads} threads", FILES_READ)


# block of doc/measured.md: (lines, systems beside foldfs)
TABLES = {
    "known orders": ([*known_orders()], (cases_epochs.OFF, LOOSE)),
    "C reader": ([*gains()], (LOOSE,)),
    "foreign": ([Line(cases_foreign.title(device), "bytes only")
                 for device in cases_foreign.DEVICES], (cases_foreign.READER,)),
    "far": ([Line(cases_remote.KNOWN, "epoch", heading="from the server", label="first epoch")],
            (cases_remote.OFF, cases_remote.GETS, cases_remote.CURL)),
    "disk cache": ([Line(cases_remote.WITH_CACHE, "first epoch", heading="from the server",
                         label="first epoch"),
                    Line(cases_remote.WITH_CACHE, cases_remote.AGAIN, heading="from the disk cache",
                         label="second epoch")],
                   (cases_remote.GETS, cases_remote.LOCAL)),
}


def shown():
    """The keys of all that is shown."""
    found = [(line, (OURS, line.other)) for line in FRONT]
    found += [(line, (OURS, *others)) for lines, others in TABLES.values() for line in lines]
    return {(line.section, line.measure, system) for line, systems in found for system in systems}


# --- as Markdown and as a chart ------------------------------------------------------------------

def ratio_of(ours, other):
    """(of the medians, lowest / highest, highest / lowest) of the rounds"""
    return (ours.median / other.median, min(ours.values) / max(other.values),
            max(ours.values) / min(other.values))


def grouped(results, lines, others=None):
    """{heading: [(line, foldfs, [the others])]} of what was measured."""
    found = {}
    for line in lines:
        ours, *theirs = (results.get(line.section, line.measure, system)
                         for system in (OURS, *(others or [line.other])))
        if ours:
            found.setdefault(line.head(), []).append((line, ours, theirs))
    return found


def summary(results):
    """README's: the medians of each kind of storage, and how far its rounds lie apart."""
    for heading, lines in grouped(results, FRONT).items():
        medians, low, high = zip(*(ratio_of(ours, other) for _, ours, (other,) in lines))
        rounds, middle = between(min(low), max(high)), between(min(medians), max(medians))
        yield f"- {heading}: **{middle} x**" + (f" ({rounds})" if rounds != middle else "")


def table(results, lines, others=None):
    """A column for each of the others, or for what each line is compared with and the ratio."""
    names = others or ["loose files, or as stated", "foldfs / that"]
    yield f"| | foldfs | {' | '.join(names)} | measured |"
    yield "|---|" + "---|" * (len(names) + 2)
    for heading, found in grouped(results, lines, others).items():
        yield f"| **{heading}** |" + " |" * (len(names) + 2)
        for line, ours, theirs in found:
            cells = [other.cell() if other else "" for other in theirs]
            if not others:
                middle, low, high = ratio_of(ours, *theirs)
                rounds = between(low, high)
                cells.append(times(middle) + (f" ({rounds})" if rounds != times(middle) else ""))
            yield f"| {line.words()} | {ours.cell()} | {' | '.join(cells)} | {ours.when} |"


def picture(results):
    groups = [(heading, [Row(line.words(), *ratio_of(ours, other))
                         for line, ours, (other,) in lines])
              for heading, lines in grouped(results, FRONT).items()]
    return chart("epochs of a DataLoader over foldfs, compared", [Ratios(groups, "the same rate")])


def filled(text, blocks):
    """The text, with each block between its two marks."""
    for name, lines in blocks.items():
        begin, end = f"<!-- {name}: by make figures -->\n", "<!-- end -->"
        text, count = re.subn(f"{re.escape(begin)}.*?{end}",
                              lambda _: begin + "\n" + "\n".join(lines) + "\n\n" + end, text,
                              flags=re.DOTALL)
        if count != 1:
            sys.exit(f"figures: {count} places for '{name}'")
    return text


def made(results):
    """{file: what it should be}"""
    tables = {name: table(results, *content) for name, content in TABLES.items()}
    others = [line for line in (ROOT / "doc/compare.md").read_text().splitlines()
              if line.startswith("|")]
    blocks = {"README.md": {"gain": summary(results), "others": others},
              "doc/measured.md": {"front": table(results, FRONT), **tables}}
    return {CHART: picture(results),
            **{file: filled((ROOT / file).read_text(), found) for file, found in blocks.items()}}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("reports", metavar="REPORT.csv", nargs="*")
    args = parser.parse_args()
    results = Results(ROOT / RESULTS)
    for report in args.reports:
        results.take(report, shown())
    if args.reports:
        results.write(ROOT / RESULTS)
    differ = False
    for file, text in made(results).items():
        path = ROOT / file
        before = path.read_text() if path.exists() else ""
        if args.check and text != before:
            differ = True
            print(*difflib.unified_diff(before.splitlines(), text.splitlines(), file,
                                        f"{file}, of {RESULTS}: make figures", lineterm="", n=0),
                  sep="\n")
        elif not args.check:
            path.write_text(text)
    return differ


if __name__ == "__main__":
    sys.exit(main())
