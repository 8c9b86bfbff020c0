#!/usr/bin/python3
"""size.py [-v]: lengths of functions and files against the budget.

clang-format puts the braces of a function, and of nothing else, alone into the first column:
no parser is needed. -v shows the percentiles and the longest ones."""

import re
import sys

import source

FUNCTION_MAX, C_MAX, H_MAX = 70, 650, 180
LONGEST = 5


def functions(file):
    """(lines, "file:line name") of each function, from its first line to its brace."""
    start, names = None, []
    for number, line in enumerate(source.code(file).splitlines(), 1):
        if line == "{" and names:
            start = names[0][0]
        elif line == "}" and start:
            name = re.search(r"(\w+)\(", " ".join(text for _, text in names))
            yield number - start + 1, f"{file}:{start} {name.group(1) if name else '?'}"
            start, names = None, []
        elif start is None:
            ended = not line or line[0] in "#}" or line.endswith(";")
            names = [] if ended else names + [(number, line)]


def show(title, sizes):
    lengths = sorted(size for size, _ in sizes)
    if not lengths:
        return
    median, p90 = lengths[len(lengths) // 2], lengths[len(lengths) * 9 // 10]
    print(f"{title}: {len(lengths)}, median {median}, p90 {p90}, longest {lengths[-1]}")
    for size, name in sorted(sizes, reverse=True)[:LONGEST]:
        print(f"  {size:4} {name}")


def main(verbose):
    bodies = [one for file in source.files() for one in functions(file)]
    lines = {suffix: [(source.text(file).count("\n"), str(file))
                      for file in source.files((suffix,))] for suffix in (".c", ".h")}
    if verbose:
        show("functions", bodies)
        show(".c files", lines[".c"])
        show(".h files", lines[".h"])
    return source.report([f"{name}: {size} lines, at most {limit}"
                          for sizes, limit in ((bodies, FUNCTION_MAX), (lines[".c"], C_MAX),
                                               (lines[".h"], H_MAX))
                          for size, name in sizes if size > limit])


if __name__ == "__main__":
    sys.exit(main("-v" in sys.argv))
