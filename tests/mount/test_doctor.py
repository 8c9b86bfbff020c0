"""foldfs-doctor: what it concludes from measurements, and that it measures. That its verdict is
right of folders that are slow is told by `make check-doctor`, on a machine that is quiet."""

import importlib.util
import json
import re

import pytest

import pictures
from foldfs import ROOT, doctor, is_root
from groups import memory_group
from oracle import needs_torch


def module(name):
    """Of the package of users; here `foldfs` is the module of the tests."""
    spec = importlib.util.spec_from_file_location(name, ROOT / f"python/foldfs/{name}.py")
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


verdict = module("_verdict")


def around(rate):
    return [rate * 0.97, rate * 1.03, rate]


def measured(read, decode, both, **more):
    """Rates by the number of workers, 1 and 2; each has three rounds."""
    rates = {kind: {1: around(rate[0]), 2: around(rate[1])}
             for kind, rate in {"read": read, "decode": decode, "both": both}.items()}
    rates["resized"] = {2: around(2 * decode[1])}
    return {"files": 20020, "folders": 21, "listed_s": 0.16, "complete": True, "bytes": 106e3,
            "processors": 2, "memory": 12e9, "rates": rates,
            "open_share": {1: [0.1, 0.12, 0.1], 2: [0.1, 0.2, 0.15]}, "open_us": [2100, 13],
            "warm": 0.0, "resize": [256, 4.12], "bad": 0, "others": 0.01, **more}


NVME = measured((4900, 5900), (355, 690), (330, 650))
DISK = measured((60, 61), (355, 690), (58, 60))
METADATA = {**measured((90, 95), (900, 1800), (88, 93)),
            "open_share": {1: [0.7, 0.75, 0.72], 2: [0.71, 0.8, 0.75]}}
NETWORK = measured((200, 400), (900, 1800), (170, 330))


def words(*args):
    return "\n".join(verdict.conclude(*args)["words"])


@pytest.mark.parametrize("numbers, asked, wanted, cause, workers", [
    (NVME, None, None, "decoding", 2),
    (NVME, 2, 2000, "decoding", 2),
    (NVME, 1, None, "too few workers", 1),
    (NVME, 1, 300, "nothing", 1),
    (NVME, None, 500, "nothing", 2),
    (DISK, None, None, "storage", 1),  # the second worker brings nothing
    (DISK, 2, None, "storage", 2),
    (DISK, 1, None, "storage", 1),
    (METADATA, None, None, "metadata", 1),
    (METADATA, 2, 1000, "metadata", 2),
    (NETWORK, None, None, "storage", 2),
    (NETWORK, 1, None, "too few workers", 1),
    ({**NVME, "files": 1999}, None, None, "too few to time", None),
    ({**NVME, "files": 1999, "complete": False}, None, None, "metadata", None),
])
def test_the_cause_follows_from_the_rates(numbers, asked, wanted, cause, workers):
    assert verdict.cause(numbers, asked, wanted) == (cause, workers)


def test_rounds_that_overlap_are_no_difference():
    """A machine that is busy: of two workers one round is as slow as those of one."""
    numbers = measured((4900, 5900), (355, 690), (330, 650))
    numbers["rates"]["both"] = {1: [320, 330, 340], 2: [335, 640, 650]}
    assert verdict.cause(numbers, 1) == ("decoding", 1)
    assert verdict.cause(numbers) == ("decoding", 1)


def test_what_a_mount_can_bring_is_bounded_by_decoding():
    found = verdict.conclude(NVME)
    assert found["mount"] == pytest.approx([1, 690 * 1.03 / (650 * 0.97)])
    found = verdict.conclude(DISK)
    assert found["mount"] == pytest.approx([355 * 0.97 / (58 * 1.03), 355 * 1.03 / (58 * 0.97)])
    assert found["resize"][0] > 20
    assert "At most it brings 5.76 to 6.50 times the images" in words(DISK)
    assert "At most 6.66 MB/s came from this storage, of 63 files." in words(DISK)
    assert "came from this storage" not in words(NVME)
    assert "A mount cannot make this faster" in words({**NVME, "rates": {
        **NVME["rates"], "both": NVME["rates"]["decode"]}})


def test_a_ratio_below_one_is_no_gain():
    """Both may be faster than decoding alone, by chance; a mount does not bring 0.9 times."""
    numbers = measured((4900, 5900), (355, 690), (360, 720))
    low, high = verdict.conclude(numbers)["mount"]
    assert low == 1 and high < 1.1


def test_what_the_model_does_not_wait_for_need_not_be_faster():
    said = "\n".join(verdict.conclude(NVME, None, 500)["words"])
    assert "at least 630 images/s come, and 500 are wanted" in said
    assert "Neither a mount nor smaller images" in said and "At most" not in said


def test_neither_is_named_alone_where_both_are_as_slow():
    assert "Neither is clearly slower" in words(measured((355, 690), (350, 685), (180, 350)))
    assert "Neither" not in words(NVME)


@pytest.mark.parametrize("more, said", [
    ({"files": 260, "folders": 1}, "Too few to time: 260 files"),
    ({"files": 260, "folders": 1}, "261 inodes (260 files, 1 folder) would be one"),
    ({"files": 340, "complete": False, "listed_s": 30},
     "Metadata hold the training back: the listing found 340 images in 30 s"),
    ({"complete": False}, "More than 20,041 inodes, where a pack is one"),
    ({}, "20,041 inodes (20,020 files, 21 folders) would be one. Listing them took 0.2 s."),
    ({}, "To open a file took 2,100 us, and again 13 us."),
    ({"open_us": [14, 13]}, "Most were known already"),
    ({}, "about 2.12 GB, stays in 12 GB of memory"),
    ({"memory": 3e9}, "about 2.12 GB, does not stay in 3 GB of memory"),
    ({}, "All reading was cold"),
    ({"warm": None}, "the kernel does not say"),
    ({"warm": 0.4}, "40 % of the bytes were in memory in spite of all"),
    ({"others": 0.6}, "Other programs had 60 % of the processors meanwhile"),
    ({"bad": 0.005}, "0.5 % of the images could not be read or decoded."),
    ({"resize": [256, 1.0]}, "--resize 256 would change little"),
    ({}, "of 4.1 times fewer bytes; they decode 1.88 to 2.12 times as fast"),
])
def test_it_says(more, said):
    assert said in words({**NVME, **more})


# --- rates ---------------------------------------------------------------------------------------

def rows(worker, began, steps, forgetting=0.0):
    """A worker's images, each of which takes so long, and in vain so long to be forgotten."""
    for step in steps:
        read = began + step + forgetting
        yield [worker, began, began + step / 4, began + step / 4 + forgetting, read, read, -1, 0]
        began = read


@pytest.fixture(scope="module")
def measure():
    pytest.importorskip("torchvision")
    return module("_measure")


def test_rates_of_workers_add_up(measure):
    two = [*rows(0, 100, [0.5] * 9), *rows(1, 100, [0.25] * 17)]
    assert measure.rate_of(two) == pytest.approx(2 + 4)
    assert measure.open_share(two) == pytest.approx(0.25)


def test_what_makes_it_cold_does_not_count(measure):
    assert measure.rate_of(list(rows(0, 100, [0.5] * 9, forgetting=3))) == pytest.approx(2)


def test_a_rate_begins_when_all_workers_have(measure):
    """Alone, the first was twice as fast."""
    early = [*rows(0, 90, [0.25] * 40), *rows(0, 100, [0.5] * 9), *rows(1, 100, [0.5] * 9)]
    assert measure.rate_of(early) == pytest.approx(2 + 2)


def test_one_image_is_a_rate(measure):
    assert measure.rate_of(list(rows(0, 100, [4.0]))) == pytest.approx(1 / 4)


# --- the program ---------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def folder(session_dir):
    """2,000 names of a few small images, one of which is none."""
    root = session_dir / "doctor"
    for number in range(4):
        (root / str(number)).mkdir(parents=True)
    images = [pictures.jpeg(pictures.noise((300, 280), seed=seed)) for seed in range(8)]
    for number in range(2000):
        data = images[number % 8] if number else b"no image"
        (root / str(number % 4) / f"{number}.jpg").write_bytes(data)
    return root


@needs_torch
@pytest.mark.plain
def test_it_measures_and_concludes(folder):
    done = doctor(folder, "--seconds", "2", "--workers", "2", "--json")
    found = json.loads(done.out)
    numbers = found["measured"]
    assert re.fullmatch(r"foldfs-doctor: takes up to [12] s\n", done.err)
    assert (numbers["files"], numbers["folders"], numbers["complete"]) == (2000, 5, True)
    assert numbers["open_us"][0] > 0 and 0 <= numbers["open_share"]["2"][0] <= 1
    rates = numbers["rates"]
    assert set(rates["read"]) == set(rates["decode"]) == set(rates["both"]) >= {"1", "2"}
    assert all(len(rounds) in (2, 3) and min(rounds) > 0
               for kind in rates.values() for rounds in kind.values())
    assert found["verdict"]["workers"] == 2
    assert found["verdict"]["words"][0].endswith(".")


@is_root
@needs_torch
def test_the_memory_is_that_of_the_job(place):
    """A step of a job, as Slurm has them: the limit is of a group above its own."""
    (place / "1.jpg").write_bytes(b"x")
    with memory_group() as (group, limit):
        (group / limit).write_text(str(1 << 30))
        step = group / "step"
        step.mkdir()
        try:
            into = ["sh", "-c", f'echo 0 > {step}/cgroup.procs && exec "$@"', "sh"]
            found = json.loads(doctor(place, "--json", prefix=into).out)
        finally:
            step.rmdir()
    assert 1 << 28 < found["measured"]["memory"] <= 1 << 30
    assert found["verdict"]["words"][0].startswith("Too few to time: 1 file.")


def test_it_says_what_it_needs(place):
    assert "foldfs-doctor: /nonexistent: not a folder" in doctor("/nonexistent", status=1).err
    assert "usage: foldfs-doctor" in doctor("--help").out
    assert "invalid positive value: '0'" in doctor("--seconds", "0", place, status=2).err
    (place / "torch.py").write_text("raise ImportError('No module named torch')")
    said = doctor(place, status=1, PYTHONPATH=f"{place}:{ROOT / 'python'}").err
    assert "needs torch and torchvision, as the training has them: No module named torch" in said
