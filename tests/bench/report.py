"""Measured values, held against what was promised, as Markdown and CSV."""

import csv
import dataclasses
import os
import statistics


HEADER = """\
| what | of | median | lowest to highest | rounds | compared, target | reached |
|---|---|---|---|---|---|---|"""


@dataclasses.dataclass
class Target:
    """What foldfs must reach: against `versus`'s median, or as a value where that is None."""
    text: str
    limit: float
    versus: str = None
    at_least: bool = False

    def reached(self, value):
        return value >= self.limit if self.at_least else value <= self.limit


@dataclasses.dataclass
class Measure:
    """One quantity, measured for several systems in alternation."""
    section: str
    name: str
    unit: str
    target: Target = None
    values: dict = dataclasses.field(default_factory=dict)  # system -> one number a round

    def add(self, system, value):
        self.values.setdefault(system, []).append(value)

    def median(self, system):
        return statistics.median(self.values[system])

    def compared(self):
        """foldfs's median, or its ratio to the other's; None without a target or values."""
        if not self.target or "foldfs" not in self.values:
            return None
        if not self.target.versus:
            return self.median("foldfs")
        return self.median("foldfs") / self.median(self.target.versus)

    def spread(self):
        """The lowest and highest ratio of one round."""
        pairs = zip(self.values["foldfs"], self.values[self.target.versus])
        ratios = [mine / other for mine, other in pairs]
        return min(ratios), max(ratios)


def number(value):
    """Three significant digits at least, thousands separated."""
    if value and abs(value) < 100:
        return f"{value:.3g}"
    return f"{value:,.0f}"


def verdict(measure):
    value = measure.compared()
    if value is None:
        return "", ""
    reached = "yes" if measure.target.reached(value) else "NO"
    if not measure.target.versus:
        return measure.target.text, reached
    low, high = measure.spread()
    return (f"{value:.2f} x {measure.target.versus} ({low:.2f} to {high:.2f}); "
            f"{measure.target.text}", reached)


def rows(measure):
    """Lines of a Markdown table, one a system."""
    for system, values in measure.values.items():
        target, reached = verdict(measure) if system == "foldfs" else ("", "")
        yield (f"| {measure.name} | {system} | {number(statistics.median(values))} "
               f"{measure.unit} | {number(min(values))} to {number(max(values))} "
               f"| {len(values)} | {target} | {reached} |")


def markdown(measures, settings, notes):
    lines = ["# foldfs: measured", ""]
    lines += [f"- {name}: {value}" for name, value in settings]
    for section in dict.fromkeys(measure.section for measure in measures):
        lines += ["", f"## {section}", "", HEADER]
        lines += [row for measure in measures if measure.section == section
                  for row in rows(measure)]
    if notes:
        lines += ["", "## Notes", ""] + [f"- {note}" for note in notes]
    return "\n".join(lines) + "\n"


def write_csv(path, measures, settings):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["section", "measure", "unit", "system", "rounds", "median", "min", "max",
                         "values"] + [name for name, _ in settings])
        for measure in measures:
            for system, values in measure.values.items():
                writer.writerow([measure.section, measure.name, measure.unit, system, len(values),
                                 statistics.median(values), min(values), max(values),
                                 " ".join(f"{value:.6g}" for value in values)]
                                + [value for _, value in settings])


def write(directory, measures, settings, notes):
    """Writes report.md and report.csv and returns the former's text."""
    os.makedirs(directory, exist_ok=True)
    text = markdown(measures, settings, notes)
    with open(os.path.join(directory, "report.md"), "w") as file:
        file.write(text)
    write_csv(os.path.join(directory, "report.csv"), measures, settings)
    return text
