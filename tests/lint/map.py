#!/usr/bin/python3
"""map.py [-v]: each header begins with a sentence that says what its module is. -v prints them:
the map of the code that HACKING.md speaks of."""

import re
import sys

import source

COMMENT = re.compile(r"/\*(.*?)\*/", re.DOTALL)
SENTENCE = re.compile(r"(.*?[.:])(?:\s|$)", re.DOTALL)


def sentence_of(file):
    """The first one of the comment that a header begins with, or None."""
    text = source.text(file)
    comment = COMMENT.match(text)
    if not comment:
        return None
    words = " ".join(line.strip().lstrip("*").strip() for line in comment.group(1).split("\n"))
    found = SENTENCE.match(words.strip())
    return found.group(1).rstrip(":") if found else None


def main(verbose):
    said = {str(file): sentence_of(file) for file in source.files((".h",))}
    if verbose:
        for name in sorted(said):
            print(f"{name:40} {said[name]}")
    return source.report([f"{name}: does not begin with a sentence that says what it is"
                          for name in sorted(said) if not said[name]])


if __name__ == "__main__":
    sys.exit(main("-v" in sys.argv))
