"""foldpack create --filter: images go through a program of the user's: foldpack-images(7)."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys

import pytest

pytest.importorskip("PIL", reason="python3-pil is not installed")
pytest.importorskip("numpy", reason="python3-numpy is not installed")

import damage
import foldfs
from foldfs import FOLDPACK, run
from pictures import jpeg, noise, opened, png, resized, same
from test_transform import records
from trees import write

PAGE = foldfs.ROOT / "man/foldpack-images.7"
LISTENS = """
import sys
def part():
    size = int.from_bytes(sys.stdin.buffer.read(8), "little")
    return sys.stdin.buffer.read(size)
def say(verdict, data=b""):
    for one in (verdict, data):
        sys.stdout.buffer.write(len(one).to_bytes(8, "little") + one)
    sys.stdout.buffer.flush()
while path := part().decode():
    data = part()
"""


def filter_of(tmp_path, text):
    """The words of --filter: the text runs for each image, with its path and data."""
    script = tmp_path / "filter.py"
    script.write_text(LISTENS + "".join(f"    {line}\n" for line in text.strip().splitlines()))
    return f"--filter={shlex.quote(sys.executable)} {shlex.quote(str(script))}"


@pytest.fixture(name="source")
def fixture_source(tmp_path):
    source = tmp_path / "source"
    write(source / "a.jpg", jpeg(noise((90, 64))))
    write(source / "b/b.png", png(noise((64, 90))))
    write(source / "c.txt", b"no image")
    return source


def test_the_filter_of_the_page_makes_squares(source, tmp_path):
    text = PAGE.read_text().split("This filter makes squares", 1)[1]
    script = tmp_path / "squares.py"
    script.write_text(re.search(r"\.Bd .*?\n(.*?)\.Ed", text, re.S)[1].replace("\\e", "\\"))
    run(FOLDPACK, "create", f"--filter={sys.executable} {script}", source, tmp_path / "x.lmdb")
    made = records(tmp_path / "x.lmdb")
    assert {name: (opened(data).format, opened(data).size) for name, data in made.items()
            if name != "c.txt"} == {"a.jpg": ("JPEG", (224, 224)), "b/b.png": ("PNG", (224, 224))}
    assert made["c.txt"] == b"no image"


def test_what_it_makes_is_checked_transformed_and_packed_as_if_it_were_there(source, tmp_path):
    image = png(noise((200, 150)))
    (tmp_path / "made.png").write_bytes(image)
    words = filter_of(tmp_path, f"say(b'made', open('{tmp_path}/made.png', 'rb').read())")
    done = run(FOLDPACK, "create", "--json", words, "--transform=b/*", "--resize=64", source,
               tmp_path / "x.lmdb")
    made = records(tmp_path / "x.lmdb")
    assert same(opened(made["b/b.png"]), resized(image, 64))
    assert made["a.jpg"] == (source / "a.jpg").read_bytes()
    assert json.loads(done.out)["left"] == 1
    options = json.loads(run(FOLDPACK, "info", "--json", tmp_path / "x.lmdb").out)["options"]
    assert words[2:] in options.splitlines()
    words = filter_of(tmp_path, f"say(b'made', open('{tmp_path}/made.png', 'rb').read()[:99])")
    done = run(FOLDPACK, "create", words, source, tmp_path / "y.lmdb", status=1)
    assert "b/b.png: PNG: ends in its chunk IDAT" in done.err


def test_it_keeps_images_and_says_that_they_are_bad(source, tmp_path):
    words = filter_of(tmp_path, "say(b'kept as it is fine' if 'png' in path else b'corrupt blue')")
    done = run(FOLDPACK, "create", words, "--on-bad=skip", f"--bad-list={tmp_path}/bad", source,
               tmp_path / "x.lmdb", status=4)
    assert "1 image left as it is: 1 (as it is fine)" in done.err
    assert (tmp_path / "bad").read_text() == "a.jpg\tcorrupt\tblue\n"
    assert records(tmp_path / "x.lmdb") == {
        name: (source / name).read_bytes() for name in ("b/b.png", "c.txt")}


def test_it_may_answer_before_it_has_read_everything(tmp_path):
    large = jpeg(noise((2000, 1500)), quality=100)
    write(tmp_path / "source/a.jpg", large)
    script = tmp_path / "early.py"
    early = "    say(b'made', bytes(9 << 20))\n    part()\n"
    script.write_text(LISTENS.replace("    data = part()\n", early))
    run(FOLDPACK, "create", "-q", "--check=off", f"--filter={sys.executable} {script}",
        tmp_path / "source", tmp_path / "x.lmdb")
    assert records(tmp_path / "x.lmdb")["a.jpg"] == bytes(9 << 20)


BROKEN = {
    "exit 7": "filter 'exit 7' ended with status 7 while processing a.jpg",
    "true": "filter 'true' ended with status 0 while processing a.jpg",
    "no-such-command-at-all 2>/dev/null": "ended with status 127 while processing a.jpg",
    "kill -9 $$": "was killed, perhaps for lack of memory, at a.jpg",
    "kill -SEGV $$": "a.jpg: filter 'kill -SEGV $$' crashes on it (Segmentation fault)",
    "echo Hello, world":
        "gave an answer that foldpack-images(7) does not allow while processing a.jpg",
    "cat": "filter 'cat' answered 'a.jpg' for a.jpg, which foldpack-images(7) does not define",
    r"printf '\16\0\0\0\0\0\0\0failed no eggs\0\0\0\0\0\0\0\0'; cat >&2": "x.lmdb: no eggs\n",
}


@pytest.mark.parametrize("command", BROKEN)
def test_one_that_fails_leaves_no_pack(source, tmp_path, command):
    (source / "b/b.png").unlink()
    done = run(FOLDPACK, "create", f"--filter={command}", source, tmp_path / "x.lmdb", status=1)
    assert BROKEN[command] in done.err
    assert not (tmp_path / "x.lmdb").exists()


def test_a_run_goes_on_where_its_filter_failed(source, tmp_path):
    pack, now = tmp_path / "x.lmdb", tmp_path / "now"
    for number in range(70):
        write(source / f"-{number}.bin", bytes([number]) * (1 << 20))
    words = filter_of(tmp_path, f"say(b'made', open('{now}', 'rb').read())")
    done = run(FOLDPACK, "create", words, source, pack, status=1)
    assert "--resume continues after" in done.err and not pack.exists()
    now.write_bytes(png(noise((7, 7))))
    run(FOLDPACK, "create", "--resume", words, source, pack)
    assert records(pack)["a.jpg"] == now.read_bytes()


def test_one_that_is_silent_ends_with_foldpack(source, tmp_path):
    said = tmp_path / "said"
    with subprocess.Popen([FOLDPACK, "create", f"--filter=echo $$ >{said}; exec sleep 1000", source,
                           tmp_path / "x.lmdb"], stderr=subprocess.PIPE) as process:
        foldfs.wait_until(lambda: said.exists() and said.read_text().endswith("\n"))
        process.send_signal(signal.SIGINT)
        assert b"interrupted" in process.communicate(timeout=foldfs.PATIENCE)[1]
    assert process.returncode == -signal.SIGINT
    with pytest.raises(ProcessLookupError):
        os.kill(int(said.read_text()), 0)


# --- where PIL is not ---------------------------------------------------------------------------


@pytest.fixture(name="without_pil")
def fixture_without_pil(tmp_path):
    """The environment of a python3 that has only its own library."""
    python = tmp_path / "python3"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    python.chmod(0o755)
    return {**os.environ, "FOLDFS_PYTHON": str(python)}


def create(source, pack, *options, env, status=0):
    return run(FOLDPACK, "create", *options, source, pack, env=env, status=status)


def test_without_pil_jpegs_go_on_and_others_say_what_is_missing(source, tmp_path, without_pil):
    for options in (["--resize=32"], ["--check=decode"]):
        done = create(source, tmp_path / "x", *options, env=without_pil, status=1)
        assert re.search(r"x: PIL, which is needed for images other than JPEGs, is not in \S+ "
                         r"\(No module named 'PIL'\): 'pip install pillow', or let FOLDFS_PYTHON "
                         "name a python3 that has it\n", done.err)
        assert not (tmp_path / "x").exists()
        none = {**without_pil, "FOLDFS_PYTHON": "/none"}
        done = create(source, tmp_path / "x", *options, env=none, status=1)
        assert ("does not start: /none: No such file or directory; install python3, or let "
                "FOLDFS_PYTHON name one") in done.err
    create(source, tmp_path / "whole", env=without_pil)
    (source / "b/b.png").unlink()
    create(source, tmp_path / "small", "--resize=32", "--check=decode", env=without_pil)
    assert opened(records(tmp_path / "small")["a.jpg"]).size == (45, 32)


def test_pil_is_found_where_python_looks_for_nothing_beside_a_script(source, tmp_path):
    create(source, tmp_path / "x", "--resize=32", env={**os.environ, "PYTHONSAFEPATH": "1"})
    assert opened(records(tmp_path / "x")["b/b.png"]).size == (32, 45)


def test_without_pil_what_it_alone_can_judge_is_packed_and_said(source, tmp_path, without_pil):
    data = damage.in_front(damage.encode("PNG"), damage.packed(b"zTXt", bytes(2 << 20)))
    write(source / "text.png", data)
    done = create(source, tmp_path / "x", env=without_pil)
    assert "PIL, which is not there, may refuse 1 image that foldpack cannot judge" in done.err
    done = create(source, tmp_path / "y", env=os.environ, status=1)
    assert "text.png: PIL: Decompressed Data Too Large" in done.err


def test_an_image_on_which_pil_crashes_is_bad(source, tmp_path):
    python = tmp_path / "python3"
    python.write_text("#!/bin/sh\nkill -SEGV $$\n")
    python.chmod(0o755)
    env = {**os.environ, "FOLDFS_PYTHON": str(python)}
    done = create(source, tmp_path / "x", "--resize=32", "--on-bad=skip", env=env, status=4)
    assert "b/b.png: Python, which foldpack needs for" in done.err
    assert "crashes on it (Segmentation fault)" in done.err
    assert set(records(tmp_path / "x")) == {"a.jpg", "c.txt"}
