#!/usr/bin/python3
"""size.py [-v]: lengths of functions and files, and the tokens of each room, against the budgets.

clang-format puts the braces of a function, and of nothing else, alone into the first column:
no parser is needed. HACKING.md has a budget for each room: tokens do not change when lines are
made longer. -v shows the percentiles, the longest ones, and the rooms."""

import re
import sys
import tokenize

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


TOKEN = re.compile(r"""\w+|->|\+\+|--|<<=?|>>=?|[-+*/%&|^=!<>]=|&&|\|\||""|[^\w\s]""")
WORDS = (tokenize.NAME, tokenize.NUMBER, tokenize.STRING, tokenize.OP)
BUDGET = re.compile(r"^(\S+)/ +([\d,]+)$", re.MULTILINE)


def python_tokens(file):
    with tokenize.open(source.ROOT / file) as lines:
        return sum(token.type in WORDS for token in tokenize.generate_tokens(lines.readline))


def rooms():
    """{room: (tokens, budget)}: the files of a folder below another room's are its own."""
    section = source.text("HACKING.md").split("\n## Budgets\n")[1].split("\n## ")[0]
    budgets = {name: int(number.replace(",", "")) for name, number in BUDGET.findall(section)}
    tokens = dict.fromkeys(budgets, 0)
    for file in source.files((".c", ".h", ".py"), ("python/foldfs", "tests", *source.FOLDERS)):
        room = next((str(folder) for folder in file.parents if str(folder) in budgets), None)
        if room is None:
            raise SystemExit(f"{file}: HACKING.md has no budget for its room")
        tokens[room] += python_tokens(file) if file.suffix == ".py" else \
            len(TOKEN.findall(source.code(file)))
    return {room: (tokens[room], budgets[room]) for room in budgets}


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
    sums = rooms()
    if verbose:
        for room, (tokens, budget) in sums.items():
            print(f"{room + '/':18} {tokens:7,} of {budget:7,}")
        show("functions", bodies)
        show(".c files", lines[".c"])
        show(".h files", lines[".h"])
    return source.report([f"{name}: {size} lines, at most {limit}"
                          for sizes, limit in ((bodies, FUNCTION_MAX), (lines[".c"], C_MAX),
                                               (lines[".h"], H_MAX))
                          for size, name in sizes if size > limit] +
                         [f"{room}/: {tokens:,} tokens, the budget of HACKING.md is {budget:,}"
                          for room, (tokens, budget) in sums.items() if tokens > budget])


if __name__ == "__main__":
    sys.exit(main("-v" in sys.argv))
