"""Training scripts that know nothing of foldfs, on mounts whose oracle finds out the order of
their samples: real torch, real loaders, compared with the order that the scripts say they had.

Seeds here are ones that the oracle tries first, but for one. Samplers and ranks are in
tests/unit/test_oracle.c; with real loaders, and searches of all 2^32 seeds, in tests/clients."""

import json
import random
import subprocess
import sys
import time

import pytest

import oracle
from foldfs import FOLDSTAT, is_root, needs, run
from oracle import Epoch, QUICK, Counted, follow, oracle_of, wait_for

pytestmark = [oracle.needs_torch, pytest.mark.plain]
FILES = 4000

# In its first epoch after torch.manual_seed(), DataLoader(shuffle=True) draws this as the seed of
# its order: small, so that a search of all seeds, from 0 on, comes to it soon.
RARE_SEED, ITS_WORD = 2000015400, 8012570


@pytest.fixture(scope="module")
def data(session_dir):
    return oracle.Data(session_dir / "dataset", FILES, 400, masks=True)


# --- found --------------------------------------------------------------------------------


def test_a_shuffled_epoch_after_a_common_manual_seed(mounted, start):
    job = start(mounted / "train", "--workers=2", "--batch-size=32", "--seed=42", "--epochs=2")
    for _ in range(2):
        follow(mounted, [(job, Epoch(FILES))])
    job.finish()


@pytest.mark.slow
def test_a_seed_that_only_a_search_finds(mounted, start):
    job = start(mounted / "train", "--workers=4", "--batch-size=32", "--seed", str(RARE_SEED))
    # It is idle work, which takes minutes where others want the processors.
    said = follow(mounted, [(job, Epoch(FILES))], QUICK._replace(seconds=oracle.FULL.seconds))
    assert said["seed"] == ITS_WORD


@pytest.mark.slow
def test_the_mount_itself_as_the_root_of_the_images(mount, data, start):
    mounted = mount(data.pack, *data.options, "-o", "subdir=train")
    job = start(mounted, "--workers=2", "--batch-size=32", "--seed=42")
    follow(mounted, [(job, Epoch(FILES))])


@is_root
@needs("unshare")
def test_eight_workers_that_have_no_pid_here(data, point):
    with oracle.foreign_mount(data.pack, point, *data.options) as mounted, oracle.jobs() as begin:
        job = begin(mounted / "train", "--workers=8", "--batch-size=4", "--seed=42")
        follow(mounted, [(job, Epoch(FILES))])
        job.kill()

# --- ordinary scripts ---------------------------------------------------------------------


def train_as_usual(mounted, *words):
    """What oracle_scripts/ordinary.py said of each epoch: how many samples were had when the
    oracle first showed its seed; None: never. What is shown is true."""
    command = [sys.executable, "-B", oracle.SCRIPTS / "ordinary.py", mounted.path,
               "--rate=800", "--epochs=2", *words]
    orders, shown = {}, []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as job:
        for line in job.stdout:
            said = json.loads(line)
            if "order" in said:
                orders[said["epoch"]] = said["order"]
            else:
                shown.append((said["epoch"], said["had"], oracle_of(mounted)))
    assert job.returncode == 0
    known = dict.fromkeys(orders)
    for epoch, had, said in shown:
        if said["state"] != "locked":
            continue
        order = oracle.permutations(said["seed"], FILES)[0]
        assert order == orders[said["epoch"]], said
        # Until the next epoch is known, the end of the one before is shown.
        assert said["epoch"] in (epoch, epoch + 1) or (
            said["epoch"] == epoch - 1 and said["position"] > FILES * 0.9), (epoch, had, said)
        if said["epoch"] == epoch and known[epoch] is None:
            known[epoch] = had
    return known


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="Python no longer asks for a terminal")
def test_workers_made_anew_for_each_epoch_over_what_the_kernel_has(mount, data):
    """No READ shows these, only open(). Known within the first half, as the epochs are short."""
    mounted = mount(data.pack, "-o", "cache=kernel")
    run("sh", "-c", f"find '{mounted.path}/train' -type f -exec cat {{}} + >/dev/null")
    read = mounted.requests()["read"]
    known = train_as_usual(mounted, "--seed=42")
    assert len(known) == 2
    assert all(had is not None and had < FILES / 2 for had in known.values()), known
    assert mounted.requests()["read"] - read < FILES / 2  # of twice as many; some are let go of


# --- not to be found ----------------------------------------------------------------------


def test_an_order_made_by_shuf(mounted):
    script = f"find '{mounted.path}/train' -type f | shuf | xargs cat >/dev/null"
    with subprocess.Popen(["sh", "-c", script]) as shell:
        while shell.poll() is None:
            assert oracle_of(mounted)["state"] != "locked"
            time.sleep(0.01)
    assert shell.returncode == 0


def test_it_says_why_no_order_is_known(mounted, data):
    def order():
        out = " ".join(run(FOLDSTAT, mounted).out.split())
        return out.split(" order ", 1)[1].split(" bad files ")[0]

    assert oracle_of(mounted)["why"] == "idle" and order() == "nothing was read yet"
    for path in sorted(data.paths)[:1000]:
        (mounted / path).read_bytes()
    wait_for(mounted, lambda said: said["why"] == "path order")
    assert order() == "one file after the other, by name: there is nothing to find"


# --- in company, and left -----------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("dataset, share", [("masks", 0.8), ("mosaic", 0.5)])
def test_extras_beside_the_samples(mounted, data, start, dataset, share):
    """Misses are theirs."""
    job = start(mounted / "train", "--workers=2", "--batch-size=16", "--seed=42", "--dataset",
                dataset, "--rate=1000")
    counted = Counted(mounted)
    order = job.hear(False)
    said = wait_for(mounted, lambda said: Epoch(FILES).is_explained(said, order))
    job.go_on()
    assert Epoch(FILES).is_explained(said, job.hear(True), True)
    used, issued = counted("prefetch", "used"), counted("prefetch", "issued")
    assert used >= share * data.bytes, f"{used} of {data.bytes} bytes read ahead, and used"
    assert counted("prefetch", "wasted") <= QUICK.wasted * issued


def test_two_jobs_at_once(mounted, start):
    both = [start(mounted / "train", "--workers=2", "--batch-size=16", "--rate=1000", "--seed",
                  str(seed)) for seed in (3, 4)]
    begun = [job.hear(False) for job in both]
    # Which of the two is shown is the oracle's affair.
    said = wait_for(mounted, lambda said: said["followed"] == 2 and
                    any(Epoch(FILES).is_explained(said, order) for order in begun))
    counted = Counted(mounted)
    for job in both:
        job.go_on()
    ended = [job.hear(True) for job in both]
    assert any(Epoch(FILES).is_explained(said, order, True) for order in ended)
    counted.check(2 * FILES, QUICK)


# --- told ---------------------------------------------------------------------------------


@pytest.fixture
def order(place, data):
    """(paths, file): an order that nobody could find out."""
    paths = random.Random(5).sample(data.paths, len(data.paths))
    file = place / "order.txt"
    file.write_text("".join(f"{path}\n" for path in paths))
    return paths, file


def read_slowly(mounted, paths, rate=3000):
    began = time.monotonic()
    for count, path in enumerate(paths):
        (mounted / path).read_bytes()
        time.sleep(max(0, began + count / rate - time.monotonic()))


@pytest.mark.parametrize("when", ["at mount", "later"])
def test_an_order_that_is_given(mount, data, order, when):
    paths, file = order
    mounted = mount(data.pack, *data.options, *["-o", f"order={file}"] * (when == "at mount"))
    if when == "later":
        run(FOLDSTAT, "--order", file, mounted)
    counted = Counted(mounted)
    read_slowly(mounted, paths)
    counted.check(len(paths), QUICK)
    assert oracle_of(mounted)["state"] == "locked"
