"""What `foldpack create` takes out of a folder, and in which order it stores it."""

import json
import os
import re

import pytest

from foldfs import FOLDPACK, MIB, NOBODY, as_user, info, is_root, needs, run
from trees import noise, write


@pytest.fixture
def pack(tmp_path):
    return tmp_path / "x.lmdb"


def fill(src, *paths):
    """Files whose bytes tell them apart."""
    for path in paths:
        write(src / path, noise(path, 3000))


def create(src, pack, *options, **more):
    return run(FOLDPACK, "create", "--force", *options, src, pack, **more)


def create_as_nobody(src, pack, *options, **more):
    """By one who may write beside the source."""
    for path in src.parents:
        path.chmod(path.stat().st_mode | 0o055)
    src.parent.chmod(0o777)
    return run(*as_user(NOBODY), FOLDPACK, "create", *options, src, pack, **more)


def listed(pack):
    """Files and empty directories, the latter with a slash behind."""
    return sorted(run(FOLDPACK, "list", "-0", pack).out.split("\0")[:-1])


def stored(src, pack):
    """The paths that fill() got, in the order of their bytes in the pack."""
    data = pack.read_bytes()
    found = {data.find(noise(path, 3000)): path for path in
             (str(path.relative_to(src)) for path in src.rglob("*") if path.is_file())}
    return [found[at] for at in sorted(found) if at >= 0]


# --- jobs ---------------------------------------------------------------------------------


def test_the_pack_is_the_same_for_every_number_of_jobs(src, pack):
    for n in range(300):
        fill(src, f"{n % 7}/{n}")
    for size in [0, 1, 4096, 1 << 20, (1 << 20) + 1, 5 << 20]:
        write(src / f"size {size}", noise(size, size))
    os.link(src / "3/3", src / "link")
    os.symlink("3/3", src / "symlink")
    packs = []
    for jobs in [1, 2, 3, 32, 256]:
        create(src, pack, "-j", str(jobs))
        packs.append(pack.read_bytes())
    assert all(data == packs[0] for data in packs)


# --- what is taken ------------------------------------------------------------------------


@pytest.mark.parametrize("words, paths, taken", [
    ("--exclude=*.txt --exclude=thumbs",  # by name, wherever it lies
     "a.jpg a.txt d/b.jpg d/b.txt thumbs/t.jpg d/thumbs/t.jpg", "a.jpg d/b.jpg"),
    ("--exclude=train/x --exclude=/x",  # with a slash: the whole path
     "train/x/1 train/y/1 val/x/1 x/1", "train/y/1 val/x/1"),
    ("--exclude=a/*.png", "a/1.png a/b/1.png a/b/c/1.png a/2.jpg",  # one star stays in a folder,
     "a/2.jpg a/b/1.png a/b/c/1.png"),
    ("--exclude=a/**.png", "a/1.png a/b/1.png a/b/c/1.png a/2.jpg", "a/2.jpg"),  # two do not
    ("--include=*.jpg --include=*.png",  # leaves no folder empty that was not
     "train/x/1.jpg train/x/1.json meta/y/2.json top.json", "train/x/1.jpg void/"),
    ("--include=*.jpg --exclude=b", "a/1.jpg b/1.jpg", "a/1.jpg")])
def test_patterns_say_what_is_taken(src, pack, words, paths, taken):
    fill(src, *paths.split())
    if "void/" in taken:
        (src / "void").mkdir()
    create(src, pack, *words.split())
    assert listed(pack) == taken.split()


@pytest.mark.parametrize("kind", ["folder", "tar", "packs"])
def test_patterns_that_match_nothing_are_named(src, pack, tmp_path, kind):
    fill(src, "a/1.jpg", "a/b/2.jpg", "c/3.txt")
    run("tar", "-cf", tmp_path / "x.tar", "-C", src, "a", "c")
    source, more = (tmp_path / "x.tar", []) if kind == "tar" else (src, [])
    if kind == "packs":
        more = ["--shard-size=1M"]
    done = create(source, pack, *more, "--include=*.jpg", "--include=*.jpeg", "--include=*.JPG",
                  "--exclude=a/b", "--exclude=b", "--exclude=tmp", "--on-bad=keep",
                  "--transform=*.jpg", "--transform=x/**", "--optimize")
    said = [line for line in done.err.splitlines() if "nothing matches" in line]
    assert said == [f"foldpack: {source}: '--include': nothing matches '*.jpeg', '*.JPG'",
                    f"foldpack: {source}: '--exclude': nothing matches 'tmp'",
                    f"foldpack: {source}: '--transform': nothing matches 'x/**'"]
    done = create(source, pack, *more, "--include=*.png", status=1)
    assert (f"{source}: '--include': nothing matches '*.png'\n"
            f"foldpack: {source}: --include and --exclude leave no file of it\n") in done.err
    assert not list(tmp_path.glob("*.partial*"))


@is_root
def test_an_excluded_directory_need_not_be_readable(src, pack):
    fill(src, "a/1", "lost+found/1")
    (src / "lost+found").chmod(0)
    create_as_nobody(src, pack, "--exclude=lost+found")
    assert listed(pack) == ["a/1"]


@pytest.mark.parametrize("words, options", [
    (["--exclude", "*.txt", "--order=shuffle:7"], "exclude=*.txt\norder=shuffle:7\n"),
    (["--exclude", "x\ndedup=yes", "--include", "\\*.png", "--include=*.jpg"],  # forges none
     "include=\\\\*.png\ninclude=*.jpg\nexclude=x\\ndedup=yes\n")])
def test_the_options_that_shaped_a_pack_are_in_it(src, pack, words, options):
    fill(src, "a/1.jpg", "a/1.txt")
    create(src, pack, *words)
    assert info(pack)["options"] == options


# --- order --------------------------------------------------------------------------------


def test_files_are_stored_as_their_paths_sort(src, pack):
    paths = ["a-b", "a/x", "a/y/z", "ab", "b"]
    fill(src, *reversed(paths))
    create(src, pack, "--order", "path")
    assert stored(src, pack) == paths


def test_a_shuffle_depends_on_its_seed_alone(src, pack):
    fill(src, *(f"{n % 3}/{n}" for n in range(60)))
    orders, ids = [], set()
    for order in ["shuffle:1", "shuffle:1", "shuffle:2", "path"]:
        ids.add(json.loads(create(src, pack, f"--order={order}", "--json").out)["id"])
        orders.append(stored(src, pack))
    assert orders[0] == orders[1] != orders[2] and len(ids) == 1
    assert sorted(orders[0]) == sorted(orders[2])
    assert orders[0] != sorted(orders[0])
    run(FOLDPACK, "verify", pack)


@pytest.mark.parametrize("lines, order", [
    (b"c\nb/1\n", "c b/1 a b/2"), (b"z\ny\nc\na\nb/1\n", "a b/1 c b/2"),  # any name of a file
    (b"c\ny\n", "c b/1 a b/2")])
def test_a_list_says_what_comes_first(src, pack, tmp_path, lines, order):
    fill(src, "a", "b/1", "b/2", "c")
    os.link(src / "a", src / "z")
    os.link(src / "b/1", src / "y")
    write(tmp_path / "list", lines)
    create(src, pack, f"--order=list:{tmp_path}/list")
    assert stored(src, pack) == order.split()
    run(FOLDPACK, "verify", pack)


LEFT_OUT = ("list:2: 'd/1' is left out by --exclude or --include; take the line out, or let "
            "them pass it")


@pytest.mark.parametrize("text, options, complaint", [
    (b"z\na\nz\n", [], "list:3: 'z' is in line 1 already"),
    (b"a\nnowhere\n", [], "list:2: 'nowhere' is not a file in SOURCE"),
    (b"d\n", [], "list:1: 'd' is not a file in SOURCE"),
    (b"a\n\na\n", [], "list:3: 'a' is in line 1 already"),
    *((b"a\nd/1\n", [option], LEFT_OUT) for option in ("--exclude=d", "--exclude=/d/1",
                                                       "--include=a"))])
def test_a_list_that_does_not_fit_the_source_is_refused(src, pack, tmp_path, text, options,
                                                        complaint):
    fill(src, "a", "d/1")
    os.link(src / "a", src / "z")
    write(tmp_path / "list", text)
    done = create(src, pack, f"--order=list:{tmp_path}/list", *options, status=1)
    assert complaint in done.err
    assert sorted(os.listdir(tmp_path)) == ["list", "src"]


# --- bad inputs ---------------------------------------------------------------------------


@is_root
def test_the_bad_list_names_what_was_left_out(src, pack, tmp_path):
    fill(src, "a", "odd\tname", "secret")
    os.link(src / "secret", src / "the same")
    for name in ["odd\tname", "secret"]:
        (src / name).chmod(0)
    done = create_as_nobody(src, pack, "--on-bad=skip", "--json", f"--bad-list={tmp_path}/bad",
                            status=4)
    assert json.loads(done.out)["skipped"] == 3
    assert (tmp_path / "bad").read_text() == (
        "odd\\tname\tunreadable\tPermission denied\n"
        "secret\tunreadable\tPermission denied\n"
        "the same\tunreadable\tthe same file as secret\n")
    assert listed(pack) == ["a"]


def test_a_bad_list_stays_until_there_is_another_run(src, pack, tmp_path):
    write(src / "broken.jpg", b"\xff\xd8\xff")
    options = ["--check=header", "--on-bad=skip", f"--bad-list={tmp_path}/bad"]
    for _ in range(2):
        create(src, pack, *options, status=4)
        before = (tmp_path / "bad").read_text()
        assert before.startswith("broken.jpg\t") and before.count("\n") == 1
    run(FOLDPACK, "create", *options, src, pack, status=1)
    assert (tmp_path / "bad").read_text() == before
    said = f"{tmp_path}/bad: not written: only the run that made the pack knew the bad inputs"
    assert said not in run(FOLDPACK, "create", "--resume", *options, src, pack, status=4).err
    (tmp_path / "bad").unlink()
    assert said in run(FOLDPACK, "create", "--resume", *options, src, pack, status=4).err


@needs("strace")
@pytest.mark.plain
def test_a_bad_list_is_on_the_disk_before_the_pack_has_its_name(src, pack, tmp_path):
    write(src / "broken.jpg", b"\xff\xd8\xff")
    run("strace", "-qqfyo", tmp_path / "calls", "-e", "fsync,fdatasync,write,?renameat2", FOLDPACK,
        "create", "--check=header", "--on-bad=skip", f"--bad-list={tmp_path}/bad", src, pack,
        status=4)
    calls = (tmp_path / "calls").read_text()
    order = [call.start() for call in (
        re.search(rf"write\(\d+<{tmp_path}/bad>, \"broken", calls),
        re.search(rf"(fsync|fdatasync)\(\d+<{tmp_path}/bad>\) += 0", calls),
        re.search(rf"renameat2\(.*\"{pack}\".*\) = 0", calls))]
    assert order == sorted(order)


OTHERS = {"text": "precious", "table": "a.jpg\tcat\ttrain\n", "word": "empty\n\tempty\n"}


@pytest.mark.parametrize("name, said", [
    *((name, "exists, and is not a list of bad inputs; choose another name") for name in OTHERS),
    *((name, "belongs to the pack; choose another name")
      for name in ("x.lmdb", "x.lmdb.partial", "src/../x.lmdb.partial.journal")),
    ("src/bad", "would lie inside the folder that is packed"),
    ("no/list", "cannot open "), ("pipe", "a named pipe, which may have no reader")])
def test_a_bad_list_replaces_nothing_but_a_bad_list(src, pack, tmp_path, name, said):
    for other, text in OTHERS.items():
        (tmp_path / other).write_text(text)
    os.mkfifo(tmp_path / "pipe")
    write(src / "broken.jpg", b"\xff\xd8\xff")
    for old in False, True:
        if old:
            write(pack, b"old")
        done = create(src, pack, "--on-bad=skip", f"--bad-list={tmp_path}/{name}", status=1)
        assert f"{tmp_path}/{name}: {said}" in done.err
        assert pack.exists() == old
    assert pack.read_bytes() == b"old" and os.listdir(src) == ["broken.jpg"]
    assert all((tmp_path / other).read_text() == text for other, text in OTHERS.items())


def test_a_bad_list_may_be_written_to_a_command(src, pack, tmp_path):
    write(src / "a.jpg", b"")
    done = run("bash", "-c", '"$0" create -q --on-bad=skip --check=header --bad-list=>(cat >&2) '
               '"$1" "$2"', FOLDPACK, src, pack, status=4)
    assert done.err.startswith("a.jpg\t")
    create(src, pack, "--bad-list=/dev/stdout")
    run("tar", "-cf", tmp_path / "x.tar", "-C", src, "a.jpg")
    done = create(tmp_path / "x.tar", pack, f"--bad-list={tmp_path}/x.tar", status=1)
    assert "x.tar: would replace its own source; choose another name\n" in done.err


def test_folders_without_a_file_are_named_once_and_of_many_the_first(src, pack):
    fill(src, "train/a/1", "train/b/x/1")
    for path in ["train/c", "train/d/e/f", "val"]:
        (src / path).mkdir(parents=True)
    os.symlink("../a/1", src / "train/c/link")
    err = create(src, pack).err
    for path in ["train/c", "train/d", "val"]:
        assert f"{src}/{path}: no file in it" in err
    assert err.count("no file in it") == 3
    for n in range(22):
        (src / f"{n:02}").mkdir()
    err = create(src, pack).err
    assert err.count("no file in it") == 10
    assert "25 folders without a file in all" in err


# --- options, together --------------------------------------------------------------------


def test_files_over_64_mib_go_through_whatever_is_asked_for(src, pack):
    for name in ["a.jpg", "b.jpg"]:
        with open(src / name, "wb") as file:
            file.truncate(64 * MIB + 1)
    fill(src, "c")
    done = create(src, pack, "--check=decode", "--resize=100", "--dedup", "--json")
    summary = json.loads(done.out)
    assert (summary["files"], summary["deduped"], summary["skipped"]) == (3, 0, 0)
    assert summary["bytes_in"] == 2 * (64 * MIB + 1) + 3000
    run(FOLDPACK, "verify", pack)


@pytest.mark.parametrize("order", ["path", "shuffle:1", "list"])
def test_equal_files_are_found_in_any_order(src, pack, tmp_path, order):
    fill(src, "a", "b", "c/d")
    for name in ["0", "c/e", "z"]:
        write(src / name, noise("a", 3000))
    write(tmp_path / "list", b"z\nc/d\na\n")
    order = f"list:{tmp_path}/list" if order == "list" else order
    one, other = (json.loads(create(src, pack, f"--order={order}", "--json", *options).out)
                  for options in [(), ("--dedup",)])
    assert (one["id"], one["deduped"], other["deduped"]) == (other["id"], 0, 3)
    run(FOLDPACK, "verify", pack)


def test_a_name_does_not_forge_messages(src, pack, tmp_path):
    write(src / "x\nfoldpack: forged.jpg", b"no picture")
    done = create(src, pack, "--check=header", "--on-bad=skip", f"--bad-list={tmp_path}/bad",
                  status=4)
    assert "x\\012foldpack: forged.jpg: " in done.err and "\nfoldpack: forged" not in done.err
    assert (tmp_path / "bad").read_text().startswith("x\\nfoldpack: forged.jpg\tnot-an-image\t")


def test_where_all_is_bad_an_empty_pack_is_left(src, pack):
    (src / "a").mkdir()
    write(src / "a/x.jpg", b"no picture")
    os.link(src / "a/x.jpg", src / "y")
    done = create(src, pack, "--check=header", "--on-bad=skip", "--json", status=4)
    assert (json.loads(done.out)["files"], json.loads(done.out)["skipped"]) == (0, 2)
    assert f"{src}: no file in it" in done.err
    assert listed(pack) == ["a/"]


def test_no_message_gets_into_a_pack_where_standard_descriptors_are_closed(src, pack, tmp_path):
    fill(src, "a.jpg", "b/c.jpg")
    (src / "empty").mkdir()  # which is said
    create(src, pack)
    for number, closed in enumerate(["2>&-", "1>&- 2>&-", "0<&- 2>&-", "0<&- 1>&- 2>&-"]):
        other = tmp_path / f"{number}.lmdb"
        run("sh", "-c", f'exec "$@" {closed}', "sh", FOLDPACK, "create", src, other)
        assert other.read_bytes() == pack.read_bytes()


def test_folders_in_folders_without_end_are_refused_by_name(src, pack):
    """What walks down would run out of stack some time."""
    fill(src, "a.jpg")
    top = os.open(src, os.O_RDONLY)
    for _ in range(4200):
        os.mkdir("d", dir_fd=top)
        below = os.open("d", os.O_RDONLY, dir_fd=top)
        os.close(top)
        top = below
    os.close(top)
    try:
        assert "src/d/d/d" in create(src, pack, status=1).err
        create(src, pack, "--on-bad=skip", status=4)
        assert run(FOLDPACK, "diff", src, pack, status=1).out == ""
        assert listed(pack) == ["a.jpg", "/".join("d" * 4096) + "/"]
    finally:
        run("rm", "-rf", src)  # shutil runs out of descriptors


def test_quiet_says_nothing_and_verbose_more(src, pack):
    fill(src, "a")
    write(src / "x.jpg", b"no picture")
    options = ["--check=header", "--on-bad=skip"]
    done = create(src, pack, "-q", "--json", *options, status=4)
    assert done.err == "" and json.loads(done.out)["skipped"] == 1
    quiet = create(src, pack, *options, status=4).err
    verbose = create(src, pack, "-v", *options, status=4).err
    assert len(verbose.splitlines()) > len(quiet.splitlines()) > 0


def test_what_is_bad_is_said_and_counted_once_beside_the_announcement(src, pack, tmp_path):
    fill(src, "a")
    write(src / "broken.jpg", b"\xff\xd8\xff")
    os.mkfifo(src / "pipe")
    done = create(src, pack, "--store=ppm", "--check=header", "--on-bad=skip", "--json",
                  f"--bad-list={tmp_path}/bad", status=4)
    assert "torchvision.io and TurboJPEG cannot read them" in done.err
    assert json.loads(done.out)["skipped"] == 2
    assert done.err.count("pipe: ") == done.err.count("broken.jpg: ") == 1
    assert (tmp_path / "bad").read_text().count("\n") == 1


# --- transforms, beside what test_transform.py has ----------------------------------------


def test_only_what_matches_is_transformed(src, pack):
    image = pytest.importorskip("PIL.Image", reason="PIL is not installed")
    for path in ["train/a.jpg", "val/a.jpg", "train/mask.jpg"]:
        (src / path).parent.mkdir(exist_ok=True)
        image.frombytes("RGB", (40, 30), noise(1, 3600)).save(src / path)
    create(src, pack, "--store=bmp", "--transform=train/*", "--transform=*.none")
    kinds = {path: run(FOLDPACK, "cat", pack, path).stdout[:2]
             for path in ["train/a.jpg", "val/a.jpg", "train/mask.jpg"]}
    assert kinds == {"train/a.jpg": b"BM", "val/a.jpg": b"\xff\xd8", "train/mask.jpg": b"BM"}
    options = info(pack)["options"]
    assert options == "store=bmp\ntransform=train/*\ntransform=*.none\n"


@pytest.mark.parametrize("words, complaint", [
    (["--transform=*.jpg"], "nothing is asked for"), (["--resize=70000"], "65500"),
    (["--resize=100", "--quality=101"], "quality"), (["--store=png"], "jpeg, bmp, ppm"),
    *(([f"--jobs={jobs}"], "--jobs") for jobs in ("0", "257", "-1", "many")),
    *(([f"--order={order}"], "--order")
      for order in ("random", "shuffle:", "shuffle:x", "list:", "shuffle:-1")),
    (["--part=8/8"], "'--part': K/N, with K from 0 to N - 1"),
    *(([f"--part={part}"], "'--part': K/N") for part in ("1", "-1/8", "0/100000")),
    (["--part=0/2", "--shard-size=1G"], "do not go together"),
    (["--shard-size=1000"], "at least 1M"),
    (["--shard-done=true {}"], "'--shard-done' goes with '--shard-size' only"),
    (["--shard-done=true {}", "--part=0/2"], "'--shard-done' goes with '--shard-size' only"),
    (["--shard-done=true", "--shard-size=1M"], "no {}, where the path of a pack goes"),
    (["--shard-done=echo '{}' \\' && sh -c 'cp {} /x'", "--shard-size=1M"], "within quotes"),
])
def test_an_option_that_makes_no_sense_is_refused(src, pack, words, complaint):
    assert complaint in create(src, pack, *words, status=2).err
    assert not pack.exists()


# --- symbolic links -----------------------------------------------------------------------


@pytest.fixture
def pool(tmp_path):
    """Files outside of what is packed."""
    fill(tmp_path / "pool", "1.jpg", "2.jpg", "d/3.jpg")
    return tmp_path / "pool"


def test_links_that_lead_out_are_counted_with_an_example(src, pack, pool):
    fill(src, "real", "a/real")
    os.symlink(pool / "1.jpg", src / "a/1.jpg")
    os.symlink("../../pool/2.jpg", src / "a/2.jpg")
    os.symlink("../real", src / "a/stays")
    done = create(src, pack)
    assert (f"{src}: 2 symbolic links lead out of it, such as {src}/a/1.jpg -> {pool}/1.jpg"
            in done.err)
    assert "--dereference" in done.err
    assert "out of it" not in create(src, pack, "--exclude=*.jpg").err
    err = create(src, pack, "--exclude=real").err
    assert "no file, only symbolic links (3); --dereference packs what they lead to" in err


def test_dereference_packs_what_links_lead_to(src, pack, pool, tmp_path):
    fill(src, "a/real")
    os.symlink(pool / "1.jpg", src / "a/1.jpg")
    os.symlink(pool, src / "b")
    os.symlink("a/real", src / "same")
    done = create(src, pack, "--dereference")
    assert "out of it" not in done.err
    assert listed(pack) == ["a/1.jpg", "a/real", "b/1.jpg", "b/2.jpg", "b/d/3.jpg", "same"]
    run(FOLDPACK, "extract", pack, tmp_path / "out")
    for path in listed(pack):
        assert not (tmp_path / "out" / path).is_symlink()
        assert (tmp_path / "out" / path).read_bytes() == (src / path).read_bytes()
    assert "dereference=yes" in run(FOLDPACK, "info", pack).out


def test_dereference_takes_only_what_is_wanted_behind_a_link(src, pack, pool):
    os.symlink(pool, src / "b")
    create(src, pack, "--dereference", "--include=d/*", "--include=2.jpg", "--exclude=**/d")
    assert listed(pack) == ["b/2.jpg"]


def test_dereference_ends_at_links_to_nothing_and_to_folders_above(src, pack, tmp_path):
    fill(src, "a/1", "a/b/2")
    os.symlink("..", src / "a/b/up")
    os.symlink("nowhere", src / "a/gone")
    done = create(src, pack, "--dereference", "--on-bad=skip", status=4)
    loop = "(Too many levels of symbolic links|Symbolic link loop)"  # glibc, musl
    assert re.search(f"{re.escape(str(src))}/a/b/up: {loop}; left out", done.err)
    assert f"{src}/a/gone: No such file or directory; left out" in done.err
    assert listed(pack) == ["a/1", "a/b/2"]
    create(src, pack, "--dereference", status=1)
    run("tar", "-cf", tmp_path / "x.tar", "-T", "/dev/null")
    assert "--dereference" in create(tmp_path / "x.tar", pack, "--dereference", status=2).err


def test_links_to_what_is_left_out_are_named(src, pack):
    fill(src, "a/good")
    (src / "a/cut.jpg").write_bytes(b"\xff\xd8\xff")
    os.symlink("cut.jpg", src / "a/link")
    os.symlink("../a/./good", src / "a/other")
    done = create(src, pack, "--check=header", "--on-bad=skip", status=4)
    assert f"{src}/a/link: a link to a/cut.jpg, which was left out" in done.err
    assert "other" not in done.err


# --- what nobody means as a class -----------------------------------------------------------


def test_what_foldfs_keeps_beside_others_is_packed_and_said(src, pack):
    fill(src, "c/1.jpg")
    for name in (".x.tar.foldfs-index", "x.lmdb.partial", "x.lmdb.partial.journal",
                 "not.foldfs-index"):
        write(src / "c" / name, b"x")
    done = create(src, pack)
    assert (f"{src}/c/.x.tar.foldfs-index: packed, though foldfs keeps it beside a container or an "
            "unfinished pack (2 files of that kind); '--exclude=*.foldfs-index' and "
            "'--exclude=*.partial*' leave them out\n") in done.err
    run(FOLDPACK, "diff", src, pack)
    done = create(src, pack, "--force", "--exclude=*.foldfs-index", "--exclude=*.partial*")
    assert "foldfs keeps" not in done.err


@pytest.mark.parametrize("kind", ["folder", "tar"])
def test_folders_that_no_one_means_as_classes_are_packed_and_said(src, pack, tmp_path, kind):
    paths = [".ipynb_checkpoints/a.jpg", "__MACOSX/._b.jpg", "c/b.jpg", "c/._b.jpg", "c/.hidden"]
    for path in paths:
        (src / path).parent.mkdir(exist_ok=True)
        write(src / path, b"x")
    source = src
    if kind == "tar":
        source = tmp_path / "x.tar"
        run("tar", "-cf", source, "-C", src, ".")
    done = create(source, pack)
    said = re.search(r"/([^/]+): packed, though loaders take it for a class or image \(2 folders "
                     r"and 2 files of that kind\); '--exclude=(.+)' leaves it out", done.err)
    assert said and said[1] == said[2] in paths[0] + paths[1] + paths[3]
    assert listed(pack) == sorted(paths)
    if kind == "folder":
        run(FOLDPACK, "diff", src, pack)
    out = create(source, pack, "--force", "--exclude=.*", "--exclude=__MACOSX")
    assert "though loaders" not in out.err and listed(pack) == ["c/b.jpg"]


def test_of_a_folder_of_containers_it_is_said_how_the_images_in_them_are_packed(src, pack):
    for name in ("a-0.tar", "a-1.tar", "README.md"):
        write(src / name, b"x")
    said = create(src, pack).err
    assert ("a-0.tar: packed as the file that it is (2 containers of that kind); as SOURCE, such a "
            "file, or several by a pattern, is packed as the images in it\n") in said
    for name in ("b.jpg", "c.jpg"):
        write(src / name, b"x")
    assert "containers of that kind" not in create(src, pack, "--force").err
