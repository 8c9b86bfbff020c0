#!/usr/bin/python3
"""promises.py: promises.txt names the tests of each promise of two pages, and they exist. A promise
is a line of a list that begins in bold."""

import re
import sys

import source

LIST = "tests/lint/promises.txt"
PROMISE = re.compile(r"^- \*\*(.+?):\*\*", re.MULTILINE | re.DOTALL)


def is_there(name):
    file, _, test = name.partition("::")
    folder = "nfs" if file == "test_nfs" else "mount"
    path = source.ROOT / (file if "/" in file else f"tests/{folder}/{file}.py")
    pattern = (r"^(def |static void |(?:TEST|STORY)(?:_OF|_WITH)?\((?:\w+, )*)"
               rf"{re.escape(test)}[(),]")
    return path.exists() and (not test or re.search(pattern, path.read_text(), re.MULTILINE))


def listed():
    """{page: {promise: [test]}}"""
    pages = {}
    for line in source.text(LIST).splitlines():
        if line.startswith("== "):
            promises = pages[line[3:]] = {}
        elif line.startswith("- "):
            tests = promises[line[2:]] = []
        elif line and line[0] != "#":
            tests.append(line)
    return pages


def check(page, promises):
    found = [" ".join(words.split()) for words in PROMISE.findall(source.text(page))]
    yield from (f"{page}: '{one}' is there twice" for one in set(found) if found.count(one) > 1)
    yield from (f"{page}: no test of '{one}' in {LIST}" for one in found if not promises.get(one))
    yield from (f"{LIST}: {page} does not promise '{one}'" for one in promises if one not in found)
    yield from (f"{LIST}: no test {test}" for tests in promises.values() for test in tests
                if not is_there(test))


def main():
    return source.report([fault for page in listed().items() for fault in check(*page)])


if __name__ == "__main__":
    sys.exit(main())
