"""What the shells offer: each option and each choice of --help, and nothing else. Shells that are
not installed are not asked."""

import os
import shutil
import subprocess

import source

MOUNT_STYLE = ("-o",)  # takes all options by their names


def questions(commands):
    """(words before the cursor, the word at the cursor, what must be offered)"""
    for command, options in commands:
        named = [option for option in options if option.flags != MOUNT_STYLE]
        flags = {flag for option in options for flag in option.flags}
        yield command.words, "-", flags
        for option in named:
            if "|" in option.value:
                yield command.words, f"{option.flags[-1]}=", set(option.value.split("|"))


def quote(word):
    return "'" + word.replace("'", "'\\''") + "'"


def ask(shell, script, *words, path):
    """A list of words for each question: each ends with a line that has a dot."""
    done = subprocess.run([shell, *script, *words], capture_output=True, text=True, timeout=300,
                          stdin=subprocess.DEVNULL,
                          env={**os.environ, "PATH": f"{path}:{os.environ['PATH']}"})
    answers = [answer.split() for answer in f"\n{done.stdout}".split("\n.\n")]
    return answers[:-1], done.stderr


def ask_bash(asked, path):
    lines = [f". {quote(f'{path}/completion/foldfs.bash')}"]
    for words, current, _ in asked:
        flag, is_value, _ = current.partition("=")
        line = [*words, flag, "=", ""] if is_value else [*words, current]
        lines += [f"COMP_WORDS=({' '.join(map(quote, line))}) COMPREPLY=()",
                  "COMP_CWORD=$((${#COMP_WORDS[@]} - 1))", f"_{words[0]} {words[0]}",
                  'printf "%s\\n" "${COMPREPLY[@]}" .']
    return ask("bash", ["-c", "\n".join(lines)], path=path)


def ask_zsh(asked, path):
    lines = [" ".join([*words, current]) for words, current, _ in asked]
    return ask("zsh", ["-f", source.ROOT / "tests/lint/completion.zsh"],
               path / "completion/foldfs.zsh", *lines, path=path)


def ask_fish(asked, path):
    lines = [f"source {quote(f'{path}/completion/foldfs.fish')}"]
    for words, current, _ in asked:
        value = current if current.endswith("=") else ""
        lines += [f"complete -C {quote(' '.join([*words, current]))} | "
                  f"string replace -r '\\t.*' '' | string replace -- {quote(value)} ''", "echo ."]
    return ask("fish", ["-c", "\n".join(lines)], path=path)


SHELLS = {"bash": ask_bash, "zsh": ask_zsh, "fish": ask_fish}


def check(commands, subcommands, build):
    asked = [(["foldpack"], "", subcommands), *questions(commands)]
    for shell in filter(shutil.which, SHELLS):
        answers, said = SHELLS[shell](asked, build)
        if said or len(answers) != len(asked):
            yield f"foldfs.{shell}: {len(answers)} answers of {len(asked)}: {said.strip()}"
        for (words, current, expected), answer in zip(asked, answers):
            offered = {word.removesuffix("=") for word in answer}
            if not current:  # bash and zsh offer these to begin with, fish after a dash
                offered -= {"--help", "--version"}
            if offered != expected:
                yield (f"foldfs.{shell}: '{' '.join(words)} {current}': missing "
                       f"{sorted(expected - offered)}, too many {sorted(offered - expected)}")
