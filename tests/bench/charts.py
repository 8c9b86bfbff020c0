"""Charts as SVG, made of data alone: readable 700 px wide, on dark pages as on light ones. What was
measured is a bar with a whisker from the lowest to the highest round."""

import dataclasses
import math
from xml.sax.saxutils import escape

from report import number, times

WIDTH, MARGIN, GAP = 700, 16, 28
LINE, BAR, CAP = 22, 12, 4  # of a row: its height, that of its bar, half that of a whisker's end
HEAD = 28  # of what is above a group of rows
EM = 7.2  # columns of text: more than most characters take
AXIS = 40  # height
TICKS = [digit * 10.0 ** power for power in range(-3, 7) for digit in (1, 2, 5)]
STYLE = """\
svg{--page:#fff;--text:#24292f;--soft:#636c76;--line:#d5dae0;--ours:#2a6f97;--other:#b3bec7}
@media(prefers-color-scheme:dark){svg{--page:#0d1117;--text:#e6edf3;--soft:#9198a1;--line:#343b44;
--ours:#5aa6d1;--other:#59636e}}
text{font:13px system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;fill:var(--text)}
.page{fill:var(--page)}
.title{font-weight:600;paint-order:stroke;stroke:var(--page);stroke-width:4px}
.soft{fill:var(--soft);font-size:12px}
.ours{fill:var(--ours)}.other{fill:var(--other)}.tick{stroke:var(--line)}
.whisker,.one{stroke:var(--text);stroke-width:1.5}"""


@dataclasses.dataclass
class Row:
    name: str
    median: float
    low: float
    high: float
    ours: bool = True


def columns_of(rows, figures, width):
    """Where bars begin and end: between the names and the figures."""
    return (EM * max(len(row.name) for row in rows) + 8,
            width - EM * max(map(len, figures)) - 16)


class Drawing:
    def __init__(self):
        self.parts = []

    def add(self, tag, content="", **attributes):
        words = "".join(f' {name.rstrip("_").replace("_", "-")}="{value:.4g}"'
                        if isinstance(value, float) else
                        f' {name.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
                        for name, value in attributes.items())
        self.parts.append(f"<{tag}{words}>{content}</{tag}>")

    def text(self, x, y, text, class_="", anchor="start"):
        self.add("text", escape(text), x=float(x), y=float(y), class_=class_, text_anchor=anchor)

    def line(self, x1, y1, x2, y2, class_):
        self.add("line", x1=float(x1), y1=float(y1), x2=float(x2), y2=float(y2), class_=class_)

    def row(self, row, figure, place, origin, x, y, width):
        """A name, a bar from `origin`, its whisker, and the figure at the right end."""
        middle = y + LINE / 2
        left, right = sorted((place(origin), place(row.median)))
        self.text(x, middle + 4.5, row.name)
        self.add("rect", f"<title>{escape(spread(row))}</title>", x=left, y=middle - BAR / 2,
                 width=max(right - left, 1.0), height=float(BAR),
                 class_="ours" if row.ours else "other")
        if row.high > row.low:
            low, high = place(row.low), place(row.high)
            self.line(low, middle, high, middle, "whisker")
            for end in (low, high):
                self.line(end, middle - CAP, end, middle + CAP, "whisker")
        self.text(x + width, middle + 4.5, figure, "title" if row.ours else "", "end")


def spread(row):
    return f"{row.name}: {number(row.median)} ({number(row.low)} to {number(row.high)})"


@dataclasses.dataclass
class Bars:
    """Medians of several systems."""
    title: str
    rows: list

    def height(self):
        return LINE * (1 + len(self.rows))

    def draw(self, drawing, x, y, width):
        figures = [number(row.median) for row in self.rows]
        begin, end = columns_of(self.rows, figures, width)
        most = max(row.high for row in self.rows) or 1

        def place(value):
            return x + begin + value / most * (end - begin)

        drawing.text(x, y + 14, self.title, "title")
        for i, (row, figure) in enumerate(zip(self.rows, figures), 1):
            drawing.row(row, figure, place, 0, x, y + i * LINE, width)


@dataclasses.dataclass
class Ratios:
    """Ratios on a logarithmic axis, in groups: (heading, rows) each. `versus` says what 1 is."""
    groups: list
    versus: str

    def rows(self):
        return [row for _, rows in self.groups for row in rows]

    def height(self):
        return LINE * len(self.rows()) + HEAD * len(self.groups) + AXIS

    def ticks(self):
        """A tick below all, one above, and those between; 1 is among them."""
        low = min([1, *(row.low for row in self.rows())])
        high = max([1, *(row.high for row in self.rows())])
        first = max((tick for tick in TICKS if tick <= low), default=TICKS[0])
        last = min((tick for tick in TICKS if tick >= high and tick > first), default=TICKS[-1])
        return [tick for tick in TICKS if first <= tick <= last]

    def draw(self, drawing, x, y, width):
        figures = [f"{times(row.median)} x" for row in self.rows()]
        begin, end = columns_of(self.rows(), figures, width)
        ticks = self.ticks()
        reach = math.log(ticks[-1] / ticks[0])

        def place(value):
            return x + begin + math.log(max(value, ticks[0]) / ticks[0]) / reach * (end - begin)

        bottom = y + self.height() - AXIS
        for tick in ticks:
            drawing.line(place(tick), y, place(tick), bottom, "one" if tick == 1 else "tick")
            if len(ticks) <= 9 or math.log10(tick).is_integer():
                drawing.text(place(tick), bottom + 16, f"{tick:,g}", "soft", "middle")
        drawing.text(max(place(1), x + EM * len(self.versus) / 2), bottom + 34,
                     f"1: {self.versus}", "soft", "middle")
        figure = iter(figures)
        for heading, rows in self.groups:
            drawing.text(x, y + HEAD - 8, heading, "title")
            y += HEAD
            for row in rows:
                drawing.row(row, next(figure), place, 1, x, y, width)
                y += LINE


def chart(title, panels, columns=1):
    """The panels, row by row, as the text of an SVG."""
    drawing, bottom = Drawing(), MARGIN
    width = (WIDTH - 2 * MARGIN - GAP * (columns - 1)) / columns
    for first in range(0, len(panels), columns):
        beside = panels[first:first + columns]
        for i, panel in enumerate(beside):
            panel.draw(drawing, MARGIN + i * (width + GAP), bottom, width)
        bottom += max(panel.height() for panel in beside) + GAP / 2
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom:.0f}" role="img" '
        f'width="{WIDTH}">', f"<title>{escape(title)}</title>", f"<style>{STYLE}</style>",
        f'<rect class="page" width="{WIDTH}" height="{bottom:.0f}" rx="6"/>',
        *drawing.parts, "</svg>", ""])
