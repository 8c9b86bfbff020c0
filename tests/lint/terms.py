#!/usr/bin/python3
"""terms.py: words that are out, and the right ones (doc/glossary.md), in README.md, HACKING.md,
man/, doc/, --help and messages: the strings of C and Python."""

import ast
import re
import sys

import source

# The terms of zip and TIFF, of diff(1), and values in JSON.
DIRECTORY = (
    "doc/glossary.md", "man/foldpack-formats.7", "man/foldpack.1", "pack/tool/image/tiff.c",
    "pack/tool/read/listing.c", "pack/tool/read/summary.c", "python/foldfs/sources/zip.py",
    "python/foldfs/tools/diff.py", "python/foldfs/tools/export.py",
    "python/foldfs/tools/pack.py", "python/foldfs/tools/report.py",
)

# (what is out, what is right, files that may have it); a blank is any white space
RULES = [
    (r"far (?:packs?|files?|readers?|ones?|mounts?|containers?|datasets?|cop(?:y|ies)|storage)",
     "remote", ()),
    (r"a far or|(?:is|are) far(?! (?:from|more|less|away|apart|past|behind|ahead))", "remote", ()),
    (r"(?:is|are|was|were|be) said(?! to)|says? (?:so )?once", "log, print or report", ()),
    (r"who ha(?:s|ve)", "a noun", ()),
    (r"made up", "generated", ()),
    (r"beside (?:others|programs|process\w*|readers?|one another|each other|loose files|a GET|two)",
     "compared with, with or under load of", ()),
    (r"words (?:of|that) (?:mount|fuse|the command|foldfs)|all its words", "options", ()),
    (r"(?<!working\s)(?<!current\s)(?<!\bor\s)director(?:y|ies)(?! buckets?)", "folder",
     DIRECTORY),
    (r"the machine's own|(?:files?|paths?|packs?) of this machine", "local", ()),
    (r"(?:bytes|[KMG]i?B|(?-i:GETs?)|requests?|lines?|times|threads?|one) (?-i:an?) (?:file|pack|"
     r"photo|image|mount|host|worker|server|connection|reader|object|processor)", "per", ()),
    (r"(?:not|never|was|were|been) (?:yet )?tried(?! again)", "tested", ()),
    (r"less (?:bytes|files|requests|lines|packs|images)", "fewer", ()),
    (r"is no (?:pack|token|index|URL|image|folder|list|file|number|program|server)", "is not a",
     ()),
]
OUT = [(re.compile(rf"\b(?:{words})\b".replace(" ", r"\s+"), re.IGNORECASE), right, but)
       for words, right, but in RULES]
MARKUP = re.compile(r'^\.\s*(?:\\".*|[A-Z][a-z]\b(?: [A-Z][a-z]\b)*)|\\f.|\\&|`[^`]*`',
                    re.MULTILINE)
C = re.compile(r"""/\*.*?\*/|//[^\n]*|'(?:\\.|[^'\\\n])*'|"((?:\\.|[^"\\\n])*)"|[^"'/]+|.""",
               re.DOTALL)


def blank(match):
    """As long, and with its lines: what is found later keeps its place."""
    return re.sub(r"[^\n]", " ", match[0])


def string(match):
    return blank(match) if match[1] is None else f" {match[1]} "


def strings_of_python(text):
    """(line, string) of all but docstrings."""
    tree = ast.parse(text)
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return [(node.lineno, node.value) for node in ast.walk(tree) if id(node) not in docs and
            isinstance(node, ast.Constant) and isinstance(node.value, str)]


def texts():
    """(file, line, text) of what people read."""
    for page in ("*.md", "HACKING/*.md", "man/*", "doc/**/*.md"):
        for path in source.ROOT.glob(page):
            yield path.relative_to(source.ROOT), 1, MARKUP.sub(blank, source.text(path))
    for file in source.files():
        yield file, 1, C.sub(string, source.text(file))
    for file in source.files((".py",), ("python/foldfs",)):
        for line, text in strings_of_python(source.text(file)):
            yield file, line, text


def faults():
    for file, start, text in texts():
        for words, right, but in OUT:
            if str(file) not in but:
                for match in words.finditer(text):
                    line = start + text.count("\n", 0, match.start())
                    yield f"{file}:{line}: '{' '.join(match[0].split())}': {right}"


if __name__ == "__main__":
    sys.exit(source.report(sorted(faults())))
