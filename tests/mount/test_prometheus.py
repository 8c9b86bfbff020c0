"""foldstat --prometheus: what node_exporter reads, and the dashboard that shows it."""

import json
import os
import re
import shutil
import subprocess

import pytest

import foldfs
from foldfs import FOLDSTAT, as_user, needs, run, stopped

GAMES = 5  # a user for whom no test mounts anything
EXAMPLES = foldfs.ROOT / "doc/monitoring"
COMMENT = re.compile(r"# (HELP [a-z_]+ \S.*\.|TYPE [a-z_]+ (counter|gauge|summary))")
SAMPLE = re.compile(r'([a-z_]+)(?:\{((?:[a-z]+="(?:[^"\\\n]|\\["\\n])*",?)*)\})? (\S+)')


@pytest.fixture
def mounted(small, mount):
    return mount(small[1])


def samples(text):
    """(name, labels) -> value, of lines that are all as the format has them."""
    found = {}
    for line in text.splitlines():
        if line.startswith("#"):
            assert COMMENT.fullmatch(line)
            continue
        name, labels, value = SAMPLE.fullmatch(line).groups()
        assert (name, labels) not in found
        found[name, labels] = float(value)
    return found


def test_metrics_are_the_counts_of_the_mount(mounted):
    run("cat", mounted / "large", mounted / "file")
    found = samples(run(FOLDSTAT, "--prometheus", mounted).out)
    stats, label = mounted.stats(), f'mount="{mounted.path}"'
    assert found["foldfs_up", label] == 1
    assert found["foldfs_served_bytes_total", label] == stats["served_bytes"] > 0
    assert found["foldfs_device_read_bytes_total", label] == stats["device"]["bytes"]
    assert found["foldfs_wait_seconds_sum", label] == stats["wait"]["total_us"] / 1e6
    assert found["foldfs_wait_seconds", f'{label},quantile="0.99"'] > 0
    for operation in ("read", "lookup", "notify"):
        sample = "foldfs_requests_total", f'{label},operation="{operation}"'
        assert found[sample] == stats["requests"][operation]


def test_all_mounts_of_the_user_are_told_of(small, mount, place):
    (place / "other").mkdir()
    paths = [mount(small[1]).path, mount(small[1], at=place / "other").path]
    found = samples(run(FOLDSTAT, "--prometheus").out)
    assert all(("foldfs_up", f'mount="{path}"') in found for path in paths)


def test_another_user_has_none(mounted):
    done = run(*as_user(GAMES), FOLDSTAT, "--prometheus")
    assert samples(done.out) == {}


def test_a_mount_that_does_not_answer_is_down(mounted):
    with stopped(mounted):
        found = samples(run(FOLDSTAT, "--prometheus", mounted).out)
    assert found == {("foldfs_up", f'mount="{mounted.path}"'): 0}


def test_what_is_no_mount_is_refused(place):
    done = run(FOLDSTAT, "--prometheus", place, status=1)
    assert done.err.startswith(f"foldstat: {place}: not the root of a foldfs mount")
    assert done.out == ""


@needs("promtool")
def test_promtool_finds_no_fault(mounted):
    text = run(FOLDSTAT, "--prometheus", mounted).out
    done = subprocess.run(["promtool", "check", "metrics"], input=text, text=True,
                          capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


# --- examples -------------------------------------------------------------------------------


def test_the_dashboard_shows_metrics_that_there_are_and_says_what_they_mean(mounted):
    dashboard = json.loads((EXAMPLES / "grafana-dashboard.json").read_text())
    printed = {name for name, _ in samples(run(FOLDSTAT, "--prometheus", mounted).out)}
    queries = [dashboard["templating"]["list"][1]["query"]["query"],
               *(target["expr"] for panel in dashboard["panels"] for target in panel["targets"])]
    for query in queries:
        shown = set(re.findall(r"foldfs_\w+", query))
        assert shown and shown <= printed, query
    for panel in dashboard["panels"]:
        assert re.search(r"\w{3}.*[.]$", panel["description"]), panel["title"]
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])


def test_the_cron_line_writes_the_whole_file(mounted, place):
    lines = (EXAMPLES / "foldfs.cron").read_text().splitlines()
    command = next(line for line in lines if line.startswith("* ")).split(" root ")[1]
    environment = {"PATH": f"{foldfs.BUILD}:{os.environ['PATH']}", "DIR": os.fspath(place)}
    run(shutil.which("sh"), "-c", command, env={**os.environ, **environment})
    assert ("foldfs_up", f'mount="{mounted.path}"') in samples((place / "foldfs.prom").read_text())
    assert not (place / "foldfs.new").exists()
