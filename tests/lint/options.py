#!/usr/bin/python3
"""options.py BUILD: --help, the manual pages and the completion say the same, and it is true.

Each option in --help is in the page with the same value, and the other way round; each is
completed. Those of foldpack that read packs on servers, or files of other formats, are in pages of
their own. Other pages name no option that there is not. --help goes to standard output, at most
80 columns wide; an unknown option is status 2."""

import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import completion
import source

WIDTH = 80
MAN = source.ROOT / "man"
COMMON = "Options of all commands"
LONG = "Options of long commands"
READERS = MAN / "foldfs-remote.7", MAN / "foldpack-formats.7"


class Option(NamedTuple):
    flags: tuple  # ("-q", "--quiet")
    value: str    # "SIZE", "auto|kernel|pool"; empty: takes none

    @property
    def written(self):
        return ", ".join(self.flags) + (f"={self.value}" if self.value else "")


# --- what --help says -------------------------------------------------------------------


class Command:
    def __init__(self, build, *words):
        self.words, self.program = words, Path(build).resolve() / words[0]
        self.name = " ".join(words)

    def run(self, *args):
        return subprocess.run([self.program, *self.words[1:], *args], text=True, timeout=20,
                              capture_output=True, stdin=subprocess.DEVNULL)


def labels(text):
    """What begins the entries of the list of options: "-p, --pool=SIZE"."""
    return re.findall(r"^(?: {2}| {6}(?=--))(-.*?)(?= {2}|$)", text, re.MULTILINE)


def help_option(label):
    flags = tuple(re.findall(r"(?<!\S)-\w|--[a-z][a-z_-]*", label))
    value = re.search(r"(?:=| (?=[A-Z]))([A-Za-z].*)$", label)
    return Option(flags, value.group(1) if value else "")


def usage_lines(text):
    lines = re.match(r"usage: (.*(?:\n {7}.*)*)", text).group(1).splitlines()
    return [line.strip() for line in lines]


# --- what the page says -----------------------------------------------------------------


def page_option(line):
    words = line.split()[1:]
    flags, value = [], []
    while words:
        word = words.pop(0)
        if word == "Fl":
            flags.append("-" + words.pop(0))
        elif word not in ("Ns", "Ar", "Cm") and (value or word != ","):
            value.append({"Bo": "[", "Bc": "]"}.get(word, word))
    return Option(tuple(flags), "".join(value).removeprefix("="))


def page_sections(text):
    """{sub-section: the lines of its items}; "" is what comes before the first one."""
    sections, name = {}, ""
    for line in text.splitlines():
        if line.startswith((".Sh", ".Ss")):
            name = line[4:] if line.startswith(".Ss") else ""
            sections.setdefault(name, [])
        elif line.startswith(".It"):
            sections[name].append(line)
    return sections


def section(page, title):
    """The lines of the items between .Sh TITLE and the next one."""
    text = page.read_text().partition(f".Sh {title}\n")[2].partition("\n.Sh ")[0]
    return [line for line in text.splitlines() if line.startswith(".It")]


def page_options(items):
    return [page_option(line) for line in items if line.startswith(".It Fl")]


def synopsis(page):
    try:
        done = subprocess.run(["mandoc", "-Tascii", "-Owidth=300", page], capture_output=True,
                              text=True)
    except FileNotFoundError:
        return None
    plain = re.sub(".\x08", "", done.stdout)  # overstrikes
    return re.search(r"SYNOPSIS\n(.*?)\n\n", plain, re.DOTALL).group(1)


# --- comparing --------------------------------------------------------------------------


def compare(name, helped, paged):
    by_flags = {option.flags: option for option in paged}
    for option in helped:
        there = by_flags.pop(option.flags, None)
        if there is None:
            yield f"{name}: {option.written} is in --help and not in the page"
        elif there.value != option.value:
            yield f"{name}: {option.written} in --help, {there.written} in the page"
    for option in by_flags.values():
        yield f"{name}: {option.written} is in the page and not in --help"


def check_help(command):
    done = command.run("--help")
    if done.returncode or done.stderr:
        yield f"{command.name} --help: status {done.returncode}, on stderr: {done.stderr!r}"
    for line in done.stdout.splitlines():
        if len(line) > WIDTH:
            yield f"{command.name} --help: {len(line)} columns: {line}"
    done = command.run("--version")
    if done.returncode or done.stderr or not done.stdout:
        yield f"{command.name} --version: status {done.returncode}"


def check_refusal(command):
    done = command.run("--no-such-option")
    if done.returncode != 2 or done.stdout or "unknown option" not in done.stderr:
        yield (f"{command.name} --no-such-option: status {done.returncode}, not 2 and "
               f"'unknown option': {done.stderr.strip()}")


def check_synopsis(command, help_text, shown):
    shown = re.sub(r"[ \t]+", " ", shown) if shown else None
    for line in usage_lines(help_text):
        if shown is not None and line not in shown:
            yield f"{command.name}: '{line}' is in the usage and not in the page's synopsis"


def check_mentions(known):
    flags = {flag for _, options in known for option in options for flag in option.flags}
    for page in sorted(MAN.glob("*.[2-8]")):
        for name in sorted(set(re.findall(r"\bFl (\S+)", page.read_text()))):
            if f"-{name}" not in flags:
                yield f"{page.name}: there is no option -{name}"


# --- the programs -----------------------------------------------------------------------


def help_commands(text):
    """The sub-commands."""
    _, _, rest = text.partition("\ncommands:\n")
    return {line.split()[0] for line in rest.partition("\n\n")[0].splitlines()}


def check_command(command, paged, shown, known, some=()):
    """`some`: options of the page that not all commands have."""
    help_text = command.run("--help").stdout
    options = [help_option(label) for label in labels(help_text)]
    if help_text.endswith(": foldpack --help.\n"):
        shared = Command(command.program.parent, "foldpack").run("--help").stdout
        options += [option for option in map(help_option, labels(shared)) if option not in options]
    known.append((command, options))
    yield from check_help(command)
    flags = {option.flags for option in options}
    yield from compare(command.name, options, paged + [one for one in some if one.flags in flags])
    yield from check_refusal(command)
    yield from check_synopsis(command, help_text, shown)


def check_foldpack(build, known):
    page = MAN / "foldpack.1"
    sections, shown = page_sections(page.read_text()), synopsis(page)
    main = Command(build, "foldpack")
    commands = help_commands(main.run("--help").stdout)
    for name in sorted(commands ^ {name for name in sections if name.islower()}):
        yield f"foldpack {name}: is in --help or in the page only"
    shared = sections[COMMON] + [item for read in READERS for item in section(read, "OPTIONS")]
    some = page_options(sections[LONG])
    for name in sorted(commands):
        paged = page_options(sections.get(name, []) + shared)
        yield from check_command(Command(build, "foldpack", name), paged, shown, known, some)
    for option in some:
        if not any(option in options for _, options in known):
            yield f"foldpack: {option.written} is in the page and not in --help"
    yield from check_help(main)
    yield from check_refusal(main)


def check_single(build, name, known):
    page = MAN / f"{name}.1"
    items = [item for items in page_sections(page.read_text()).values() for item in items]
    yield from check_command(Command(build, name), page_options(items), synopsis(page), known)


def main(build):
    known, found = [], []
    found += check_foldpack(build, known)
    for name in ("foldfs", "foldstat"):
        found += check_single(build, name, known)
    found += check_mentions(known)
    names = help_commands(Command(build, "foldpack").run("--help").stdout)
    found += completion.check(known, names, Path(build).resolve())
    return source.report(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
