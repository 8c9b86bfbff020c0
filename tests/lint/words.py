#!/usr/bin/python3
"""words.py prints|banned: words that must not stand in the code.

prints: libraries return, tools speak. banned: functions that are never the right ones."""

import fnmatch
import re
import sys

import source

# (files, without, words, why)
RULES = {
    "prints": [
        (["base/*.c", "remote/*.c", "pack/*.c", "cache/*.c"],
         ["base/log.c", "base/exit.c", "base/opt_help.c", "pack/tool/*"],
         r"v?f?printf|v?dprintf|puts|fputs|putchar|f?putc|perror|v?syslog|err|warn|log_\w+",
         "libraries do not print"),
        (["base/*.[ch]", "remote/*.[ch]", "pack/*.[ch]", "cache/*.[ch]"],
         ["pack/tool/*", "pack/foreign/maker_process.c"],  # which forks
         r"_?exit|_Exit|abort", "libraries return"),
    ],
    "banned": [
        (["*"], [], r"strcpy|stpcpy|strcat|strncpy|strncat|v?sprintf|gets|strdupa|strndupa|alloca",
         "has no bound; memcpy, snprintf and base/buf.h have"),
        (["*"], [], r"ato[ifl]|atoll", "hides errors; base/size.h and strtoull show them"),
        (["*"], [], r"strtok|asctime|ctime|gmtime|localtime|tmpnam|mktemp|rand|srand",
         "keeps state, or is guessable"),
        (["*"], [], r"system|popen", "runs a shell"),
        (["*"], ["pack/tool/image/jpeg*.c"], r"longjmp|setjmp|sigsetjmp", "belongs in jpeg*.c"),
    ],
}


def covers(path, patterns):
    return any(fnmatch.fnmatchcase(path, pattern) for pattern in patterns)


def faults(rules):
    for file in source.files():
        path, code = str(file), source.code(file)
        for where, without, words, why in rules:
            if not covers(path, where) or covers(path, without):
                continue
            for match in re.finditer(rf"(?<![\w.>])({words})\s*\(", code):
                line = code.count("\n", 0, match.start()) + 1
                yield f"{path}:{line}: {match.group(1)}(): {why}"


def marks():
    """Things that were put off, and names for structs that hide what they are."""
    for file in source.files():
        for number, line in enumerate(source.text(file).splitlines(), 1):
            mark = re.search(r"\b(TODO|FIXME|XXX)\b|\btypedef\s+(struct|union|enum)\b", line)
            if mark:
                yield f"{file}:{number}: {mark.group(0)}"


if __name__ == "__main__":
    rule = sys.argv[1]
    sys.exit(source.report([*faults(RULES[rule]), *(marks() if rule == "banned" else ())]))
