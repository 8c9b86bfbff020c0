#!/usr/bin/python3
"""options.py BUILD: --help, the manual pages and the completion say the same, and it is true.

Each option in --help is in the page with the same value and the same "not yet", and the other
way round; what is "not yet" is refused and not completed; all else is completed. Other pages
name no option that there is not. --help goes to standard output, at most 80 columns wide; an
unknown option is status 2."""

import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import source

WIDTH = 80
MAN = source.ROOT / "man"
COMPLETION = source.ROOT / "completion/foldfs.bash"
COMMON = "Options of all commands"
LATER_COMMANDS = "Commands of later versions"
ALL = "all"  # of an option is "not yet"


class Option(NamedTuple):
    flags: tuple  # ("-q", "--quiet")
    value: str    # "SIZE", "auto|kernel|pool"; empty: takes none
    later: tuple  # the choices that are refused, or (ALL,)

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


def paragraphs(text):
    """The entries of the list of options: what is behind "options:", joined to one line each."""
    _, _, options = text.partition("\noptions:\n")
    return [re.sub(r"\s*\n\s+(?=\S)", "  ", entry.strip())
            for entry in re.split(r"\n(?= {2}-| {6}--)", options)]


def help_option(entry):
    label, _, text = entry.partition("  ")
    flags = tuple(re.findall(r"(?<!\S)-\w|--[a-z][a-z_-]*", label))
    value = re.search(r"(?:=| (?=[A-Z]))([A-Za-z].*)$", label)
    text = re.sub(r"\s+", " ", text)
    later = re.search(r"\(not yet(?:: (.*?))?\)", text)
    return Option(flags, value.group(1) if value else "",
                  tuple(later.group(1).split(", ")) if later and later.group(1)
                  else (ALL,) if later else ())


def usage_lines(text):
    lines = re.match(r"usage: (.*(?:\n {7}.*)*)", text).group(1).splitlines()
    return [line.strip() for line in lines]


# --- what the page says -----------------------------------------------------------------


def page_option(line, body):
    words = line.split()[1:]
    flags, value = [], []
    while words:
        word = words.pop(0)
        if word == "Fl":
            flags.append("-" + words.pop(0))
        elif word not in (",", "Ns", "Ar", "Cm"):
            value.append({"Bo": "[", "Bc": "]"}.get(word, word))
    later = re.search(r"^\.Em Not yet :\n\.Cm (.*) \.$", body, re.MULTILINE)
    whole = re.search(r"^\.Em Not yet \.$", body, re.MULTILINE)
    return Option(tuple(flags), "".join(value).removeprefix("="),
                  tuple(later.group(1).split(" , ")) if later else (ALL,) if whole else ())


def page_sections(text):
    """{sub-section: [(line of the item, its body)]}; "" is what comes before the first one."""
    sections, name = {}, ""
    for block in re.split(r"^(?=\.(?:Sh|Ss|It|El)\b)", text, flags=re.MULTILINE):
        line, _, body = block.partition("\n")
        if line.startswith((".Sh", ".Ss")):
            name = line[4:] if line.startswith(".Ss") else ""
            sections.setdefault(name, [])
        elif line.startswith(".It"):
            sections[name].append((line, body))
    return sections


def page_options(items):
    return [page_option(line, body) for line, body in items if line.startswith(".It Fl")]


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
        elif there.later != option.later:
            yield (f"{name}: {option.written} not yet: {option.later} in --help, "
                   f"{there.later} in the page")
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


def check_refusals(command, options):
    refused = [("--no-such-option", "unknown option")]
    for option in options:
        for later in option.later:
            value = "1" if later == ALL and option.value else "" if later == ALL else later
            refused.append((f"{option.flags[-1]}={value}".rstrip("="), "not yet"))
    for word, reason in refused:
        done = command.run(word)
        if done.returncode != 2 or done.stdout or reason not in done.stderr:
            yield (f"{command.name} {word}: status {done.returncode}, not 2 and "
                   f"'{reason}': {done.stderr.strip()}")


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


# --- completion -------------------------------------------------------------------------


def questions(commands):
    """(words to complete, what must be offered)"""
    for command, options in commands:
        there = [option for option in options
                 if option.later != (ALL,) and "-o" not in option.flags]
        yield ([*command.words, "-"],
               {flag + ("=" if option.value and flag.startswith("--") else "")
                for option in there for flag in option.flags} |
               {flag for option in options if "-o" in option.flags for flag in option.flags})
        for option in there:
            if "|" in option.value:
                yield ([*command.words, option.flags[-1], "=", ""],
                       set(option.value.split("|")) - set(option.later))


def quote(word):
    return "'" + word.replace("'", "'\\''") + "'"


def check_completion(asked, programs):
    asked = list(asked)
    lines = [f". {quote(str(COMPLETION))}"]
    for words, _ in asked:
        lines += [f"COMP_WORDS=({' '.join(map(quote, words))}) COMPREPLY=()",
                  "COMP_CWORD=$((${#COMP_WORDS[@]} - 1))",
                  f"_{words[0]} {quote(str(programs[words[0]]))}",
                  'echo "${COMPREPLY[@]}"']
    done = subprocess.run(["bash", "-c", "\n".join(lines)], capture_output=True, text=True)
    answers = done.stdout.splitlines()
    if len(answers) != len(asked):
        yield f"{COMPLETION.name}: {done.stderr.strip()}"
        return
    for (words, expected), answer in zip(asked, answers):
        offered = set(answer.split())
        if offered != expected:
            yield (f"completion of '{' '.join(words)}': missing {sorted(expected - offered)}, "
                   f"too many {sorted(offered - expected)}")


# --- the programs -----------------------------------------------------------------------


def help_commands(text):
    """{sub-command: whether it is "not yet"}"""
    _, _, rest = text.partition("\ncommands:\n")
    return {line.split()[0]: line.endswith("(not yet)")
            for line in rest.partition("\n\n")[0].splitlines()}


def check_command(command, paged, shown, known):
    help_text = command.run("--help").stdout
    options = [help_option(entry) for entry in paragraphs(help_text)]
    known.append((command, options))
    yield from check_help(command)
    yield from compare(command.name, options, paged)
    yield from check_refusals(command, options)
    yield from check_synopsis(command, help_text, shown)


def check_foldpack(build, known):
    page = MAN / "foldpack.1"
    sections, shown = page_sections(page.read_text()), synopsis(page)
    main = Command(build, "foldpack")
    commands = help_commands(main.run("--help").stdout)
    later = {line.split()[2] for line, _ in sections[LATER_COMMANDS] if ".It Ic" in line}
    described = {name for name in sections if name.islower()}
    for name, is_later in commands.items():
        if name not in (later if is_later else described):
            yield f"foldpack {name}: is in --help and not in its place in the page"
        if not is_later:
            paged = page_options(sections.get(name, []) + sections[COMMON])
            yield from check_command(Command(build, "foldpack", name), paged, shown, known)
        elif Command(build, "foldpack", name).run().returncode != 2:
            yield f"foldpack {name}: not yet, but not refused with status 2"
    for name in (later | described) - set(commands):
        yield f"foldpack {name}: is in the page and not in --help"
    yield from check_help(main)
    yield from check_refusals(main, [])


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
    asked = [(["foldpack", ""],
              {name for name in names if not names[name]} | {"--help", "--version"}),
             *questions(known)]
    programs = {command.words[0]: command.program for command, _ in known}
    return source.report(found + list(check_completion(asked, programs)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
