"""Measured values, as Markdown and CSV."""

import csv
import dataclasses
import os
import statistics

OURS, LOOSE = "foldfs", "loose files"
FILES_READ = "files read"


@dataclasses.dataclass
class Measure:
    """One quantity, measured for several systems in alternation."""
    section: str
    name: str
    unit: str
    values: dict = dataclasses.field(default_factory=dict)  # system -> one number a round
    absent: dict = dataclasses.field(default_factory=dict)  # system -> why it has no values

    def add(self, system, value):
        self.values.setdefault(system, []).append(value)

    def median(self, system):
        return statistics.median(self.values[system])


def number(value):
    """Three significant digits at least, thousands separated."""
    if value and abs(value) < 100:
        return f"{value:.3g}"
    return f"{value:,.0f}"


def times(ratio):
    return f"{ratio:.2f}" if ratio < 2 else f"{ratio:.1f}" if ratio < 10 else f"{ratio:.0f}"


def between(low, high):
    return " to ".join(dict.fromkeys((times(low), times(high))))


def cell(values):
    """The median, and how far the rounds lie apart."""
    if not values:
        return ""
    low, high = number(min(values)), number(max(values))
    spread = f" ({low} to {high})" if low != high else ""
    return number(statistics.median(values)) + spread


def table(measures):
    """Of a section: a line for each system, a column for each measure."""
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


def markdown(measures, settings, notes):
    lines = ["# foldfs: measured", "", "Medians, in brackets the lowest and highest of a round.",
             "", "## Settings", ""] + [f"- {name}: {value}" for name, value in settings]
    for section in dict.fromkeys(measure.section for measure in measures):
        lines += ["", f"## {section}", ""]
        lines += table([measure for measure in measures if measure.section == section])
    if notes:
        lines += ["", "## Notes", ""] + [f"- {note}" for note in notes]
    return "\n".join(lines) + "\n"


def write_csv(path, measures, settings):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["section", "measure", "unit", "system", "values"]
                        + [name for name, _ in settings])
        for measure in measures:
            for system, values in measure.values.items():
                writer.writerow([measure.section, measure.name, measure.unit, system,
                                 " ".join(f"{value:.6g}" for value in values)]
                                + [value for _, value in settings])


def write(directory, measures, settings, notes):
    """Writes report.md and report.csv, and returns the first one's text."""
    os.makedirs(directory, exist_ok=True)
    text = markdown(measures, settings, notes)
    with open(os.path.join(directory, "report.md"), "w") as file:
        file.write(text)
    write_csv(os.path.join(directory, "report.csv"), measures, settings)
    return text
