"""Measured values, held against what was promised, as Markdown and CSV."""

import csv
import dataclasses
import os
import statistics

OURS, LOOSE = "foldfs", "loose files"
FILES_READ = "files read"
FLOOR = 0.95  # of loose files, in every case

ASKED = """\
| case | asked | foldfs | against | ratio (lowest to highest) | |
|---|---|---|---|---|---|"""


@dataclasses.dataclass
class Target:
    """What foldfs must reach: against the best median of `versus`, which has a name and may be
    several systems, or as a value where that is empty."""
    limit: float
    versus: tuple = ()
    at_least: bool = True
    text: str = ""  # for a value: what is asked of it

    def reached(self, value):
        return value >= self.limit if self.at_least else value <= self.limit

    def systems(self):
        return (self.versus,) if isinstance(self.versus, str) else self.versus

    def words(self):
        if self.text:
            return self.text
        return f"{'at least' if self.at_least else 'at most'} {self.limit:g} x " + \
            " and ".join(self.systems())


@dataclasses.dataclass
class Measure:
    """One quantity, measured for several systems in alternation."""
    section: str
    name: str
    unit: str
    targets: tuple = ()
    profile: str = ""  # whose plot it belongs in
    values: dict = dataclasses.field(default_factory=dict)  # system -> one number a round
    absent: dict = dataclasses.field(default_factory=dict)  # system -> why it has no values
    curves: dict = dataclasses.field(default_factory=dict)  # system -> how many by each 0.1 s
    known: dict = dataclasses.field(default_factory=dict)  # system -> when its order was, s

    def add(self, system, value):
        self.values.setdefault(system, []).append(value)

    def median(self, system):
        return statistics.median(self.values[system])

    def ratio(self, versus):
        """(of the medians, the lowest of a round, the highest of a round)"""
        pairs = zip(self.values[OURS], self.values[versus])
        ratios = [mine / other for mine, other in pairs]
        return self.median(OURS) / self.median(versus), min(ratios), max(ratios)


def number(value):
    """Three significant digits at least, thousands separated."""
    if value and abs(value) < 100:
        return f"{value:.3g}"
    return f"{value:,.0f}"


def times(ratio):
    return f"{ratio:.2f}" if ratio < 2 else f"{ratio:.1f}" if ratio < 10 else f"{ratio:.0f}"


def between(low, high):
    return " to ".join(dict.fromkeys((times(low), times(high))))


def of_unit(measure, system):
    return f"{number(measure.median(system))} {measure.unit}"


def verdict(reached):
    return "met" if reached else "**missed**"


def case(measure):
    plain = measure.name == FILES_READ
    return measure.section if plain else f"{measure.section}: {measure.name}"


def asked(measure, target):
    """A line of the table of what was asked."""
    line = f"| {case(measure)} | {target.words()} |"
    if OURS not in measure.values:
        return f"{line} not measured: {measure.absent.get(OURS, 'no round ended')} | | | |"
    line = f"{line} {of_unit(measure, OURS)} |"
    if not target.versus:
        values = measure.values[OURS]
        return (f"{line} | {number(min(values))} to {number(max(values))} "
                f"| {verdict(target.reached(measure.median(OURS)))} |")
    others = [system for system in target.systems() if system in measure.values]
    if not others:
        why = measure.absent.get(target.systems()[0], "no round ended")
        return f"{line} not measured: {why} | | |"
    best = (max if target.at_least else min)(others, key=measure.median)
    ratio, low, high = measure.ratio(best)
    return (f"{line} {of_unit(measure, best)} | {ratio:.2f} ({low:.2f} to {high:.2f}) "
            f"| {verdict(target.reached(ratio))} |")


def floor(measures):
    """The line for what holds in any case: the one where foldfs is nearest to loose files."""
    ratios = [(measure.ratio(LOOSE), measure) for measure in measures
              if measure.unit == "files/s" and {OURS, LOOSE} <= measure.values.keys()]
    if not ratios:
        return []
    (ratio, low, high), worst = min(ratios, key=lambda found: found[0][0])
    return [f"| any of {len(ratios)} cases | at least {FLOOR} x {LOOSE} | lowest in: "
            f"{case(worst)} | {of_unit(worst, LOOSE)} "
            f"| {ratio:.2f} ({low:.2f} to {high:.2f}) | {verdict(ratio >= FLOOR)} |"]


def cell(values):
    """The median, and how far the rounds lie apart."""
    if not values:
        return ""
    low, high = number(min(values)), number(max(values))
    spread = f" ({low} to {high})" if low != high else ""
    return number(statistics.median(values)) + spread


def measured(measures):
    """The table of a section: a line for each system, a column for each measure."""
    rounds = max((len(values) for m in measures for values in m.values.values()), default=0)
    head = [f"{rounds} round{'s' * (rounds != 1)}", *(f"{m.name}, {m.unit}" for m in measures)]
    yield f"| {' | '.join(head)} |"
    yield "|---|" + "---|" * len(measures)
    present = dict.fromkeys(system for m in measures for system in m.values)
    absent = {system: why for m in measures for system, why in m.absent.items()
              if system not in present}
    for system in present:
        cells = [cell(m.values.get(system)) for m in measures]
        yield f"| {system} | " + " | ".join(cells) + " |"
    for system, why in absent.items():
        yield f"| {system} | not measured: {why} |" + " |" * (len(measures) - 1)


def asked_table(measures):
    return [ASKED] + [asked(measure, target) for measure in measures
                      for target in measure.targets]


def markdown(measures, settings, notes):
    """The cold cases, which have a profile, come first."""
    cold, other = ([m for m in measures if bool(m.profile) is has] for has in (True, False))
    lines = ["# foldfs: measured", "",
             "Medians; a ratio is that of the medians, in brackets the lowest and highest of a",
             "round. Where nothing else is said: a first epoch, shuffled, nothing in memory.", ""]
    if cold:
        lines += asked_table(cold) + floor(measures) + [""]
    if other:
        lines += ["## Mounts, names, packing", ""] + asked_table(other) + [""]
    lines += ["## Settings", ""] + [f"- {name}: {value}" for name, value in settings]
    for section in dict.fromkeys(measure.section for measure in measures):
        lines += ["", f"## {section}", ""]
        lines += measured([measure for measure in measures if measure.section == section])
    if notes:
        lines += ["", "## Notes", ""] + [f"- {note}" for note in notes]
    return "\n".join(lines) + "\n"


def write_csv(path, measures, settings):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["profile", "section", "measure", "unit", "system", "rounds", "median",
                         "min", "max", "values"] + [name for name, _ in settings])
        for measure in measures:
            for system, values in measure.values.items():
                writer.writerow([measure.profile, measure.section, measure.name, measure.unit,
                                 system, len(values), statistics.median(values), min(values),
                                 max(values), " ".join(f"{value:.6g}" for value in values)]
                                + [value for _, value in settings])


def write_progress(path, measures):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["profile", "section", "measure", "system", "order known after s",
                         "by each tenth of a second"])
        for measure in measures:
            for system, curve in measure.curves.items():
                writer.writerow([measure.profile, measure.section, measure.name, system,
                                 measure.known.get(system, ""), " ".join(map(str, curve))])


def write(directory, measures, settings, notes):
    """Writes report.md, report.csv and progress.csv, and returns the first one's text."""
    os.makedirs(directory, exist_ok=True)
    text = markdown(measures, settings, notes)
    with open(os.path.join(directory, "report.md"), "w") as file:
        file.write(text)
    write_csv(os.path.join(directory, "report.csv"), measures, settings)
    write_progress(os.path.join(directory, "progress.csv"), measures)
    return text
