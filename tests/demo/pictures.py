#!/usr/bin/python3
"""pictures.py: makes the pictures of doc/slurm.md of a real run: doc/live.svg, the terminal of
foldstat -w while a DataLoader reads a pack 30 ms away; doc/report.png, a page of foldpack report,
where chromium is.
Needs python3-pyte; images are those of make demo.

  BUILD=DIR   where the programs are, and what is kept (build)"""

import itertools
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from xml.sax.saxutils import escape

import demo
import epochs
from far import far
from mounts import mount
from PIL import Image

os.environ["FOLDFS_BUILD"] = str(demo.BUILD)
sys.path.append(str(demo.ROOT / "tests/mount"))
from terminal import Terminal  # noqa: E402  it asks for the build

DOC = demo.ROOT / "doc"
COLUMNS, LINES = 80, 24
SECONDS, INTERVAL = 45, 0.2
WIDE, HIGH, COLOURS = 900, 1000, 128  # of the page, in pixels
CELL_X, CELL_Y, MARGIN = 8.4, 18, 14
COLOURS_OF = {"red": "#ff7b72", "green": "#7ee787", "brown": "#e3b341", "blue": "#79c0ff",
              "magenta": "#d2a8ff", "cyan": "#76e3ea", "default": "#e6edf3"}
STYLE = """\
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;
white-space:pre}.bold{font-weight:700}"""


def spans(line):
    """(column, text, colour, bold, reverse) of what looks alike."""
    cells = [(x, line[x]) for x in range(COLUMNS)]
    for (colour, bold, reverse), run in itertools.groupby(
            cells, lambda cell: (cell[1].fg, cell[1].bold, cell[1].reverse)):
        run = list(run)
        text = "".join(cell.data for _, cell in run)
        before = 0 if reverse else len(text) - len(text.lstrip())
        if text.strip() or reverse:
            yield run[0][0] + before, text[before:].rstrip(), colour, bold, reverse


def terminal_svg(screen, title):
    used = max(y for y in range(LINES) if screen.display[y].strip()) + 1
    width, height = COLUMNS * CELL_X + 2 * MARGIN, used * CELL_Y + 2 * MARGIN
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
             f'width="{width:.0f}" role="img">', f"<title>{escape(title)}</title>",
             f"<style>{STYLE}</style>",
             f'<rect width="{width:.0f}" height="{height:.0f}" rx="6" fill="#0d1117"/>']
    for y in range(used):
        for x, text, colour, bold, reverse in spans(screen.buffer[y]):
            left, base = MARGIN + x * CELL_X, MARGIN + y * CELL_Y + 13.5
            fill = COLOURS_OF.get(colour, COLOURS_OF["default"])
            if reverse:
                parts.append(f'<rect x="{left:.1f}" y="{base - 13.5:.1f}" height="{CELL_Y}" '
                             f'width="{len(text) * CELL_X:.1f}" fill="{fill}"/>')
                fill = "#0d1117"
            parts.append(f'<text x="{left:.1f}" y="{base:.1f}" fill="{fill}" '
                         f'textLength="{len(text) * CELL_X:.1f}" class="{"bold" * bold}">'
                         f"{escape(text)}</text>")
    return "\n".join([*parts, "</svg>", ""])


def watched(path, seconds):
    """The screen of `foldstat -w` after so many seconds."""
    until = time.monotonic() + seconds
    with Terminal("foldstat", "-w", path, str(INTERVAL), rows=LINES, columns=COLUMNS) as terminal:
        while time.monotonic() < until:
            terminal.read(INTERVAL)
    return terminal.screen


def read_on(path, over):
    """Epochs of a DataLoader with two workers, in a process of its own."""
    pid = os.fork()
    if pid == 0:
        loader = demo.folder_loader(path, seed=42)
        while True:
            epochs.rate_of(loader)
    over.wait()
    os.kill(pid, 9)
    os.waitpid(pid, 0)


def live(work):
    with far(work) as url, mount(["foldfs", "-q", "--pool=128M", "--cache=pool"],
                                 f"{url}/images.lmdb") as path:
        over = threading.Event()
        reader = threading.Thread(target=read_on, args=(path, over))
        reader.start()
        try:
            screen = watched(path, SECONDS)
        finally:
            over.set()
            reader.join()
    (DOC / "live.svg").write_text(
        terminal_svg(screen, "foldstat -w beside a DataLoader; its pack is 30 ms away"))


def report(data, work):
    demo.copies_across_splits(data, work)
    page, picture = demo.BUILD / "demo-report.html", work / "report.png"
    chromium = shutil.which("chromium")
    if not chromium:
        print("doc/report.png stays: chromium is not installed")
        return
    subprocess.run([chromium, "--headless", "--no-sandbox", "--hide-scrollbars",
                    f"--window-size={WIDE},{HIGH}", f"--screenshot={picture}",
                    "--virtual-time-budget=5000", f"file://{page}"], check=True)
    Image.open(picture).convert("RGB").quantize(COLOURS).save(DOC / "report.png", optimize=True)


def main():
    data = demo.images()
    with tempfile.TemporaryDirectory(prefix="foldfs-demo-") as place:
        work = Path(place)
        work.chmod(0o755)
        demo.run("foldpack", "create", data, work / "images.lmdb")
        live(work)
        report(data, work)


if __name__ == "__main__":
    sys.exit(main())
