#!/usr/bin/python3
"""figures.py [--check] [REPORT.csv...]: the figures of README.md, doc/measured.md and
doc/compare.md, and their charts, made of doc/results.csv, which has the rounds and the machine.

A REPORT.csv is what `make bench` leaves: its figures replace those in doc/results.csv, of what the
pages show. --check changes nothing and prints what does not agree: status 1."""

import argparse
import csv
import dataclasses
import difflib
import re
import statistics
import sys
import textwrap
from pathlib import Path

import cases_cold
import cases_epochs
import cases_foreign
import cases_loaders
import cases_remote
from charts import Bars, Ratios, Row, chart
from harness import SQUASHFUSE
from report import FILES_READ, LOOSE, OURS, between, cell, number, times

ROOT = Path(__file__).resolve().parents[2]
RESULTS = "doc/results.csv"
CHART, CACHED_CHART, LOADERS_CHART = "doc/gain.svg", "doc/measured.svg", "doc/loaders.svg"
COLUMNS = ("section", "measure", "unit", "system", "values", "date", "machine",
           "commit")
DEVICES = {"hdd": "hard disk, 120 requests/s", "gp3": "cloud volume, 3,000 requests/s",
           "net": "network, 0.5 ms a request", "sata": "SSD, 12,000 requests/s",
           "nvme": "NVMe"}
SERVER = "web server 30 ms away, compared with one GET per file"
GPU = "ResNet-50 on an H100, images/s"
BUSY, SLOW = "NVMe, both processors busy", "NVMe, processors half as fast"
DECODED = "NVMe, images decoded"
SIZES = "106 KB", "27 KB", "3 KB"
USUAL = "2 x Intel(R) Xeon(R) Processor, 24 GiB"  # the machine of doc/measured.md


# --- results -------------------------------------------------------------------------------------

@dataclasses.dataclass
class Result:
    values: list  # of the rounds; of old results the lowest, the median and the highest
    when: str  # date, commit, and the machine if it is not the usual one

    @property
    def median(self):
        return statistics.median(self.values)

    def cell(self):
        return cell(self.values).replace(" to ", "–")


class Results:
    def __init__(self, path):
        with open(path, newline="") as file:
            self.rows = {self.key(row): row for row in csv.DictReader(file)}

    @staticmethod
    def key(row):
        return row["section"], row["measure"], row["system"]

    def take(self, path, wanted):
        """What a report has of what is shown, and of what is there."""
        with open(path, newline="") as file:
            for row in csv.DictReader(file):
                if row["quick"] == "yes":
                    sys.exit(f"figures: {path}: of a quick run")
                if self.key(row) in wanted | self.rows.keys():
                    self.rows[self.key(row)] = row

    def write(self, path):
        with open(path, "w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, extrasaction="ignore", lineterminator="\n")
            writer.writeheader()
            writer.writerows(sorted(self.rows.values(), key=self.key))

    def get(self, section, measure, system):
        row = self.rows.get((section, measure, system))
        if not row:
            return None
        where = "" if row["machine"] == USUAL else f"; {row['machine']}"
        return Result([float(value) for value in row["values"].split()],
                      f"{row['date'].split()[0]}, {row['commit']}{where}")


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

    def size(self):
        return next((size for size in SIZES if size in self.section), SIZES[0])


def of_row(row, epoch=0):
    heading = BUSY if row.busy else DECODED if row.decode else ""
    return Line(row.title(), f"epoch {epoch}", f", epoch {epoch + 1}" if row.epochs > 1 else "",
                heading)


FRONT = (
    *map(of_row, (*cases_epochs.FRONT, *cases_epochs.MORE_OF_FRONT)),
    Line("nvme, 106 KB, 1 worker, seed drawn, processors half as fast", heading=SLOW,
         label="106 KB, 1 worker, seed drawn"),
    Line("a GPU, 14 workers", "trained", heading=GPU),
    Line(cases_remote.KNOWN, "epoch", heading=SERVER, label="106 KB, 8 workers, seed 42",
         other=cases_remote.GETS))


KNOWN = [of_row(row, epoch) for row in cases_epochs.KNOWN for epoch in range(row.epochs)]
OTHERS = [Line(title, FILES_READ, heading="106 KB, files/s",
               label=title.replace(f"{device}, ", f"{DEVICES[device]}; "))
          for device, title in ((case[0], cases_cold.title(*case)) for case in cases_cold.CASES)]
CACHED = [Line(f"{name}, shuffled, 2 threads", FILES_READ, heading="files/s, 2 threads",
               label=name, other=other)
          for name, other in (("First touch, pack or image in memory", SQUASHFUSE),
                              ("Steady state", SQUASHFUSE), ("Warm", LOOSE))] + [
    *(Line("A tree of 1,281,167 small files", f"find, {time} time", heading="seconds",
           label=f"find, 1,281,167 files, {time} time", other=SQUASHFUSE)
      for time in ("first", "second")),
    Line("Packing 20,000 photos, 2.1 GB, source in memory", "command", heading="seconds",
         label="packing 2.1 GB", other="mksquashfs")]


# block of doc/measured.md: (lines, systems compared with foldfs)
TABLES = {
    "known orders": (KNOWN, (cases_epochs.OFF, LOOSE)),
    "others": (OTHERS, cases_cold.SYSTEMS[1:]),
    "cached": (CACHED, ()),
    "foreign": ([Line(cases_foreign.title(device), "bytes only", heading="106 KB, 2 workers",
                      label=DEVICES[device])
                 for device in cases_foreign.DEVICES], (cases_foreign.READER,)),
    "server": ([Line(cases_remote.KNOWN, "epoch", heading="from the server", label="first epoch")],
            (cases_remote.OFF, cases_remote.GETS, cases_remote.CURL)),
    "loose objects": ([Line(title, cases_remote.EPOCH, heading="30 ms away, 8 workers",
                            label=f"seed {seed}") for seed, title in cases_remote.OBJECTS.items()],
                      (cases_remote.PACKED, cases_remote.GETS, "s3fs", "rclone")),
    "folders": ([Line(title, measure, heading=f"{DEVICES[device]}, 2 workers", label=label)
                 for device, title in cases_remote.FOLDERS.items()
                 for measure, label in ((cases_remote.EPOCH, "seed 42"),
                                        (cases_remote.NOT_KNOWN, "oracle=off"))],
                (LOOSE,)),
    "packing": ([Line(cases_remote.PACKING, "command", heading="30 ms away",
                      label="foldpack create")], (cases_remote.CURL_ALL,)),
    "disk cache": ([Line(cases_remote.WITH_CACHE, "first epoch", heading="from the server",
                         label="first epoch"),
                    Line(cases_remote.WITH_CACHE, cases_remote.AGAIN, heading="from the disk cache",
                         label="second epoch")],
                   (cases_remote.GETS, cases_remote.LOCAL)),
}


def of_loaders():
    """Columns of doc/compare.md, of two tables: (heading, [(section, measure)])."""
    rates, more = {}, {}
    for cell in cases_loaders.CELLS:
        rates.setdefault(cell.where() + ", decoded" * cell.decode, []).append(cell)
    few, many = cases_loaders.FEW, cases_loaders.MANY
    for where, section, figures in (
            (few.where(), few.title(), ("first batch", "epoch 2", "processors", "peak memory",
                                        "neighbours apart", "classes in 256")),
            (many.where(), many.title(), ("first batch", "epoch 2", "fetched")),
            ("all", cases_loaders.CONVERSION, cases_loaders.OF_CONVERSION)):
        more.update({f"{where}: {figure}, {cases_loaders.FIGURES[figure][0]}": [(section, figure)]
                     for figure in figures})
    return {f"{where}, {' / '.join(str(cell.workers) for cell in cells)} workers":
            [(cell.title(), "epoch 1") for cell in cells] for where, cells in rates.items()}, more


LOADERS = of_loaders()
OF_LOADERS = [key for columns in LOADERS for keys in columns.values() for key in keys]
PICTURED = [(cases_loaders.CELLS[i].title(), "epoch 1") for i in (0, 2)] + [
    (cases_loaders.MANY.title(), figure) for figure in ("epoch 1", "epoch 2")]


def shown():
    """The keys of all that is shown."""
    found = [(line, (OURS, line.other)) for line in FRONT]
    found += [(line, (OURS, *(names or [line.other]))) for lines, names in TABLES.values()
              for line in lines]
    return {(line.section, line.measure, system) for line, systems in found
            for system in systems} | {(*key, system) for key in OF_LOADERS
                                      for system in cases_loaders.SYSTEMS}


# --- as Markdown and as a chart ------------------------------------------------------------------

def span(low, high):
    return between(low, high).replace(" to ", "–")


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
    """README's: a row for each kind of storage, the medians, and how far the rounds lie apart."""
    yield f"| storage | {' | '.join(SIZES)} |"
    yield "|---|" + "---|" * len(SIZES)
    for heading, lines in grouped(results, FRONT).items():
        cells = []
        for size in SIZES:
            found = [ratio_of(ours, other) for line, ours, (other,) in lines if line.size() == size]
            cells.append("")
            if found:
                medians, low, high = zip(*found)
                middle, rounds = span(min(medians), max(medians)), span(min(low), max(high))
                cells[-1] = f"**{middle}**" + (f" ({rounds})" if rounds != middle else "")
        yield f"| {heading} | {' | '.join(cells)} |"


def table(results, lines, others=None):
    """A column for each of the others, or for what each line is compared with and the ratio."""
    names = others or ["compared with", "ratio"]
    yield f"| | foldfs | {' | '.join(names)} | measured |"
    yield "|---|" + "---|" * (len(names) + 2)
    for heading, found in grouped(results, lines, others).items():
        yield f"| **{heading}** |" + " |" * (len(names) + 2)
        for line, ours, theirs in found:
            cells = [other.cell() + (f"; {other.when}" if other.when != ours.when else "")
                     if other else "" for other in theirs]
            if not others and line.other != LOOSE:
                cells[0] = f"{line.other}: {cells[0]}"
            if not others:
                middle, low, high = ratio_of(ours, *theirs)
                rounds = span(low, high)
                cells.append(times(middle) + (f" ({rounds})" if rounds != times(middle) else ""))
            yield f"| {line.words()} | {ours.cell()} | {' | '.join(cells)} | {ours.when} |"


def loaders(results):
    """When they were measured, medians of each that has read anything, and what bounds foldfs."""
    found = {key: {system: one for system in cases_loaders.SYSTEMS
                   if (one := results.get(*key, system))} for key in OF_LOADERS}
    if not any(found.values()):
        return
    whens = sorted({one.when for systems in found.values() for one in systems.values()})
    yield from textwrap.wrap(f"Measured {'; '.join(whens)}.", 100)
    for head, columns in zip(("epoch 1, images/s", ""), LOADERS):
        yield ""
        yield f"|{head}|{'|'.join(columns)}|"
        yield "|---|" + "---|" * len(columns)
        for system in cases_loaders.SYSTEMS:
            cells = [" / ".join(number(found[key][system].median) if system in found[key] else "–"
                                for key in keys) for keys in columns.values()]
            if any(system in systems for (section, _), systems in found.items()
                   if section != cases_loaders.CONVERSION):
                yield f"|{system}|{'|'.join(cells)}|"
    yield from not_first({key: {system: one.median for system, one in systems.items()}
                          for key, systems in found.items()})


def not_first(medians):
    """Why, and in which cells."""
    reasons = {}
    for (section, figure), systems in medians.items():
        first = cases_loaders.behind(figure, systems)
        if first:
            cells = reasons.setdefault(cases_loaders.bound(section, figure), {})
            cells.setdefault(words_of(section), []).append(f"{figure} ({first})")
    if reasons:
        yield from ("", "Where foldfs is not first (who is), and what bounds it:", "")
    for why, cells in reasons.items():
        yield f"- {why}:"
        for cell, found in cells.items():
            yield from textwrap.wrap(f"{cell}: {', '.join(found)};", 98, initial_indent="  ",
                                     subsequent_indent="  ")


def words_of(section):
    return section.removeprefix("loaders, ").removesuffix(", bytes only")


def row_of(name, result, ours):
    return Row(name, result.median, min(result.values), max(result.values), ours)


def cached_picture(results):
    panels = [Bars(f"{line.label}: files/s",
                   [row_of(system, results.get(line.section, line.measure, system), system == OURS)
                    for system in (OURS, line.other)]) for line in CACHED[:3]]
    return chart("first touch, steady state and warm: foldfs against others", panels)


def picture(results):
    groups = [(heading, [Row(line.words(), *ratio_of(ours, other))
                         for line, ours, (other,) in lines])
              for heading, lines in grouped(results, FRONT).items()]
    return chart("epochs of a DataLoader over foldfs, compared", [Ratios(groups, "the same rate")])


def loaders_picture(results):
    panels = []
    for section, figure in PICTURED:
        found = {system: results.get(section, figure, system) for system in cases_loaders.SYSTEMS}
        rows = [row_of(system, one, system in cases_loaders.OF_FOLDFS)
                for system, one in found.items() if one]
        if rows:
            panels.append(Bars(f"{words_of(section)}: {figure}",
                               sorted(rows, key=lambda row: -row.median)))
    return chart("images/s of foldfs and of other loaders", panels, columns=2)


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
    blocks = {"README.md": {"gain": summary(results)},
              "doc/compare.md": {"loaders": loaders(results)},
              "doc/measured.md": {"front": table(results, FRONT), **tables}}
    return {CHART: picture(results), CACHED_CHART: cached_picture(results),
            LOADERS_CHART: loaders_picture(results),
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
