"""The index that a publisher lays beside a file of another format: what foldpack index writes, how
few requests a mount takes with it, and that nothing in it can show wrong bytes."""

import os
import shutil
import tarfile

import pytest

import foldfs
import foreign
from foldfs import FOLDPACK, run
from foreign import photo
from formats import parquet, tfrecord

pytest_plugins = ["server"]
pytestmark = pytest.mark.usefixtures("indexes")

COUNT = 90


FILES = {f"{number % 5}/{number:04}.jpg": photo(number, 60_000) for number in range(COUNT)}
SWAPPED = {**FILES, "1/0041.jpg": FILES["2/0042.jpg"], "2/0042.jpg": FILES["1/0041.jpg"]}


def write_parquet(path, files):
    foreign.write_parquet(path, files, parquet.SNAPPY)


def write_tfrecord(path, files):
    tfrecord.write(path, [{"image/encoded": data, "image/class/label": int(name[0]),
                           "image/filename": name.partition("/")[2]}
                          for name, data in files.items()], checked=False)


WRITERS = {"tar": foreign.write_tar, "zip": foreign.write_zip, "parquet": write_parquet,
           "tfrecord": write_tfrecord}


@pytest.fixture(params=sorted(WRITERS))
def container(request, place):
    """In the folder where it was made."""
    (place / "made").mkdir()
    path = place / "made" / f"files.{request.param}"
    WRITERS[request.param](path, FILES)
    return path


@pytest.fixture
def tar(place):
    (place / "made").mkdir()
    foreign.write_tar(place / "made/files.tar", FILES)
    return place / "made/files.tar"


def index(*words, status=0):
    return run(FOLDPACK, "index", *words, status=status)


def write_shards(place, count, size):
    """The folder of shards x-N.tar, and these."""
    (place / "made").mkdir()
    for number in range(count):
        foreign.write_tar(place / f"made/x-{number}.tar", {
            name: photo(i, size) for i, name in list(enumerate(FILES))[number::count]})
    return place / "made", [place / f"made/x-{number}.tar" for number in range(count)]


def index_of(path):
    return path.with_name(path.name + ".foldfs-index")


def publish(web, *paths):
    """As by an upload: the time is another."""
    for path in paths:
        (web.folder / path.name).write_bytes(path.read_bytes())
        os.utime(web.folder / path.name, (1, 1_000_000_000))


def names(web):
    return [uri.partition("?")[0].rpartition("/")[2] for _, uri, *_ in web.asked()]


# --- what it saves --------------------------------------------------------------------------------


def test_a_published_file_is_open_after_three_requests(container, web, indexes, shown):
    files = shown(container)
    index(container)
    publish(web, container, index_of(container))
    url = web.url(container.name)
    for again in range(2):
        web.forget()
        assert len(run(FOLDPACK, "list", url).out.split()) == len(files) >= COUNT
        # Its beginning and its end; and the index, unless there is one of our own.
        assert sorted(names(web)) == [container.name] * 2 + [index_of(container).name] * (not again)
    assert len(list(indexes.iterdir())) == 1
    assert shown(url) == files
    assert "all good" in run(FOLDPACK, "verify", url).err


def test_a_copy_on_this_machine_is_not_looked_through(container, place, shown):
    files = shown(container)
    index(container)
    (place / "copy").mkdir()
    for path in container, index_of(container):
        shutil.copy(path, place / "copy")
    copy = place / "copy" / container.name
    assert "all good" in run(FOLDPACK, "verify", copy).err  # which none of ours would be
    assert shown(copy) == files


def test_a_missing_index_costs_one_request(tar, web):
    publish(web, tar)
    run(FOLDPACK, "list", web.url(tar.name))
    assert names(web).count(index_of(tar).name) == 1
    web.forget()
    run(FOLDPACK, "list", web.url(tar.name))
    assert names(web) == [tar.name] * 2


def test_of_a_small_file_none_is_asked_for(web):
    foreign.write_tar(web.folder / "small.tar", dict(list(FILES.items())[:20]))
    run(FOLDPACK, "list", web.url("small.tar"))
    assert set(names(web)) == {"small.tar"}


def test_each_shard_has_its_own(place, web, shown):
    made, shards = write_shards(place, 3, 160_000)
    said = index(made / "x-{0..2}.tar").err
    assert said.count("written") == 3
    publish(web, *shards, *map(index_of, shards))
    assert run(FOLDPACK, "list", web.url("x-{0..2}.tar")).out.split() == sorted(FILES)
    assert sorted(names(web)) == sorted(path.name for path in [*shards, *shards,
                                                                *map(index_of, shards)])
    # One that is missing is made.
    index_of(web.folder / "x-1.tar").unlink()
    shutil.rmtree(place / "cache-home")
    assert len(shown(web.url("x-{0..2}.tar"))) == COUNT


def test_what_was_read_stays_in_the_disk_cache(tar, web, place, point):
    """Since its checksums tell what is damaged there."""
    index(tar)
    publish(web, tar, index_of(tar))
    cache, url = place / "disk", web.url(tar.name)
    with foldfs.mounted(url, point, f"--cache-dir={cache}") as mounted:
        assert foreign.shown(mounted) == FILES
    assert len(list(cache.glob("uid-*/index/*"))) == 1
    run(FOLDPACK, "fetch", f"--cache-dir={cache}", url)
    web.stop()
    with foldfs.mounted(url, point, f"--cache-dir={cache}", "--retry=0") as mounted:
        assert foreign.shown(mounted) == FILES


# --- what it would save ---------------------------------------------------------------------------


def write_sparse(path, size):
    """A tar of two members, of which a scan reads the headers."""
    with open(path, "wb") as file:
        for name in "a.jpg", "b.jpg":
            member = tarfile.TarInfo(name)
            member.size = size // 1024 * 512
            file.write(member.tobuf())
            file.seek(member.size - 2, os.SEEK_CUR)
            file.write(b"\xff\xd9")  # the end of a JPEG
        file.truncate(file.tell() + 1024)


def test_what_is_read_to_find_images_is_said_before_and_once(web, place, monkeypatch):
    for number in range(3):
        write_sparse(web.folder / f"x-{number}.tar", 300 << 20)
    foreign.write_tar(web.folder / "small.tar", FILES)
    said = run(FOLDPACK, "list", web.url("x-{0..2}.tar"), "--schema=tar", status=1).err
    assert said.count("to find its images") == 1
    said = run(FOLDPACK, "list", web.url("x-0.tar")).err
    assert "x-0.tar: to find its images, up to 300 MiB are read once, and as much" in said
    assert run(FOLDPACK, "list", web.url("x-0.tar")).err == ""
    assert run(FOLDPACK, "list", web.url("small.tar")).err == ""
    assert run(FOLDPACK, "list", web.folder / "x-0.tar").err == ""
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("HOME", raising=False)
    assert "read each time, unless '--cache-dir' keeps" in run(FOLDPACK, "list",
                                                               web.url("x-1.tar")).err
    web.restart(headers='ngx.header["ETag"] = nil; ngx.header["Last-Modified"] = nil')
    assert "read each time, and as" in run(FOLDPACK, "list", web.url("x-1.tar")).err


# --- a signature in the query ---------------------------------------------------------------------


def test_a_signature_goes_with_each_request_and_is_shown_nowhere(place, web, point):
    """As in the SAS URLs of Azure, which are for a container: a token of all that lies there."""
    web.restart(access='if ngx.var.arg_sig ~= "sesame%3D" then return ngx.exit(403) end')
    made, _ = write_shards(place, 2, 120_000)
    index(made / "x-{0..1}.tar")
    publish(web, *made.iterdir())
    url, cache = web.url("x-{0..1}.tar") + "?sv=2022-11-02&sp=r&sig=sesame%3D", place / "disk"
    with foldfs.mounted(url, point, "-v", f"--cache-dir={cache}") as mounted:
        assert len(foreign.shown(mounted)) == COUNT
        words = open(f"/proc/{mounted.daemon}/cmdline", encoding="utf-8").read()
        shown = str(mounted.stats()) + words + str(foldfs.mount_lines(mounted.path))
    said = run(FOLDPACK, "fetch", "-v", f"--cache-dir={cache}", url)
    shown += said.out + said.err
    said = run(FOLDPACK, "list", url.replace("sig=", "sig=sesame"), status=1).err
    assert "refuses it (403): a link may have expired" in said
    shown += said
    assert "sesame" not in shown + " ".join(os.fspath(path) for path in place.rglob("*"))
    asked = [uri for status, uri, *_ in web.asked() if status == "206"]
    assert all(uri.endswith("?sv=2022-11-02&sp=r&sig=sesame%3D") for uri in asked)
    assert sum("foldfs-index" in uri for uri in asked) == 2


# --- what does not belong to the file -------------------------------------------------------------

NOT_USED = "files.tar: the index that lies beside it is not used: "


def test_an_index_of_another_file_or_for_other_options_is_said_and_not_used(tar, web, shown):
    index(tar)
    publish(web, index_of(tar))
    foreign.write_tar(web.folder / tar.name, FILES | {"9/last.jpg": photo(1000, 61_000)})
    url = web.url(tar.name)
    said = run(FOLDPACK, "list", url)
    assert said.out.count("\n") == COUNT + 1
    assert said.err.count(NOT_USED + "it is of another file, or was made with other") == 1
    assert run(FOLDPACK, "list", url).err == ""
    publish(web, tar)
    (tar.parent / "names").write_text("".join(f"{number}\n" for number in range(5)))
    said = run(FOLDPACK, "list", f"--classes={tar.parent / 'names'}", url)
    assert said.err.count(NOT_USED) == 1 and said.out.count("\n") == COUNT


CHANGED = FILES | {"1/0041.jpg": photo(2000, 60_000)}


def test_bytes_of_another_file_with_the_same_ends_are_not_served(tar, web, point):
    """Only checksums tell, where the server has no more than a size to compare."""
    index(tar)
    foreign.write_tar(tar, CHANGED)
    publish(web, tar, index_of(tar))
    with foldfs.mounted(web.url(tar.name), point, "--retry=0") as mounted:
        for name, data in CHANGED.items():
            if name != "1/0041.jpg":
                assert (mounted.path / name).read_bytes() == data
        with pytest.raises(OSError):
            (mounted.path / "1/0041.jpg").read_bytes()
        assert "checksum" in str(mounted.stats()["log"])


def test_an_index_that_is_older_than_the_file_is_not_used(tar, web, shown):
    """Two images with each other's labels give a file of the same size and ends."""
    index(tar)
    publish(web, index_of(tar))
    foreign.write_tar(web.folder / tar.name, SWAPPED)
    said = run(FOLDPACK, "list", web.url(tar.name)).err
    assert said.count(NOT_USED + "it is older than the file") == 1
    assert shown(web.url(tar.name)) == SWAPPED
    foreign.write_tar(tar, SWAPPED)
    assert shown(tar) == SWAPPED


def test_a_taken_index_is_not_published_again(tar, place, shown):
    """What a publisher's index says of another file must not become that of this one."""
    index(tar)
    (place / "copy").mkdir()
    copy = place / "copy" / tar.name
    foreign.write_tar(copy, SWAPPED)
    os.utime(copy, (1, 1_000_000_000))
    shutil.copy(index_of(tar), copy.parent)
    run(FOLDPACK, "list", copy)
    index_of(copy).rename(place / "gone")
    assert shown(copy) == SWAPPED
    (place / "gone").rename(index_of(copy))
    run(FOLDPACK, "list", copy)
    index(copy)
    assert shown(copy) == SWAPPED


def test_an_index_of_a_file_that_was_replaced_here_is_not_used(tar, shown):
    index(tar)
    foreign.write_tar(tar, SWAPPED)
    os.utime(tar, (1, 1_000_000_000))
    assert NOT_USED in run(FOLDPACK, "list", tar).err
    assert shown(tar) == SWAPPED


def test_an_index_of_a_url_belongs_to_the_object_there(tar, web, place, shown):
    publish(web, tar)
    index("-o", place, web.url(tar.name))
    publish(web, index_of(place / tar.name))
    foreign.write_tar(web.folder / tar.name, CHANGED)
    shutil.rmtree(place / "cache-home")
    assert NOT_USED in run(FOLDPACK, "list", web.url(tar.name)).err
    assert shown(web.url(tar.name)) == CHANGED


def test_an_index_of_a_url_may_be_older_than_the_object(tar, web, place):
    publish(web, tar)
    index("-o", place, web.url(tar.name))
    shutil.copy(place / index_of(tar).name, web.folder)
    os.utime(web.folder / index_of(tar).name, (1, 900_000_000))
    shutil.rmtree(place / "cache-home")
    said = run(FOLDPACK, "list", web.url(tar.name))
    assert said.out.split() == sorted(FILES) and said.err == ""


def test_a_damaged_index_is_said_and_not_used(tar, web, place):
    index(tar)
    publish(web, tar)
    good = index_of(tar).read_bytes()
    broken = [good[:-1], b"", b"<html>", good[:4000], good + bytes(1 << 20)]
    for at in (3, 40, 4096, 4096 + 700, len(good) // 2, len(good) - 30, len(good) - 400):
        broken.append(good[:at] + bytes([good[at] ^ 1]) + good[at + 1:])
    for data in broken:
        index_of(web.folder / tar.name).write_bytes(data)
        shutil.rmtree(place / "cache-home", ignore_errors=True)
        said = run(FOLDPACK, "list", web.url(tar.name))
        assert said.out.split() == sorted(FILES)
        assert NOT_USED + "it is damaged" in said.err or not data


def test_what_is_no_index_is_not_read_to_its_end(web):
    """Of a file as large as its server says."""
    write_sparse(web.folder / "x.tar", 9 << 30)
    beside = index_of(web.folder / "x.tar")
    beside.touch()
    os.truncate(beside, 2 << 30)
    said = run(FOLDPACK, "list", web.url("x.tar"))
    assert said.out == "a.jpg\nb.jpg\n" and "beside it is not used: it is damaged" in said.err
    assert names(web).count(beside.name) == 1


@pytest.mark.parametrize("answers", ['ngx.status = 200; ngx.say("hello"); return ngx.exit(200)',
                                     "return ngx.exit(429)", "return ngx.exit(500)"])
def test_a_server_that_fails_for_the_index_or_has_all_names_is_asked_once(tar, web, answers):
    web.restart(access=f'if ngx.var.uri:find("foldfs%-index") then {answers} end')
    publish(web, tar)
    assert run(FOLDPACK, "list", web.url(tar.name)).out.split() == sorted(FILES)
    assert names(web).count(index_of(tar).name) == 1


# --- foldpack index -------------------------------------------------------------------------------


def test_only_an_index_is_replaced(tar, place):
    index(tar)
    first = index_of(tar).read_bytes()
    index(tar)
    assert index_of(tar).read_bytes() == first
    for other in b"a text", tar.read_bytes():
        index_of(tar).write_bytes(other)
        assert "exists and is not an index; nothing was written" in index(tar, status=1).err
        assert index_of(tar).read_bytes() == other
    index_of(tar).unlink()
    index_of(tar).symlink_to(place / "elsewhere")
    assert "is not an index" in index(tar, status=1).err
    assert not (place / "elsewhere").exists()


def test_it_goes_where_the_output_says(tar, web, place):
    publish(web, tar)
    (place / "out").mkdir()
    assert "give a local '--output'" in index(web.url(tar.name), status=1).err
    index("-o", place / "out", web.url(tar.name) + "?token=secret")
    index("--output", place / "one", tar)
    assert (place / "out" / index_of(tar).name).exists() and (place / "one").exists()
    assert "a folder for several files" in index("-o", place / "one", tar, tar, status=2).err
    assert "a URL" in index("-o", "s3://b/k", tar, status=2).err


def test_none_of_our_own_need_be_kept(tar, web, place, monkeypatch, shown):
    index(tar)
    first = shown(tar)
    publish(web, tar)
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("HOME", raising=False)
    index("-o", place, web.url(tar.name))
    publish(web, index_of(place / tar.name))
    assert "all good" in run(FOLDPACK, "verify", web.url(tar.name)).err
    assert shown(web.url(tar.name)) == first


def test_two_files_of_one_name_are_refused(tar, place):
    for folder in "other", "out":
        (place / folder).mkdir()
    shutil.copy(tar, place / "other")
    said = index("-o", f"{place}/out/", tar, place / "other" / tar.name, status=1).err
    assert said == f"foldpack: {place}/out/{index_of(tar).name} would be that of two files\n"
    assert list((place / "out").iterdir()) == []


def test_what_has_no_index_of_its_own_is_refused(small, place):
    assert "a pack, which has its index in it" in index(small[1], status=1).err
    (place / "text").write_text("no container")
    assert "nor of another format" in index(place / "text", status=1).err
    assert sorted(place.glob("*foldfs-index")) == []


def test_it_is_made_of_the_file_and_of_no_older_index(tar):
    """One with the same ends lies there already."""
    index(tar)
    old = index_of(tar).read_bytes()
    foreign.write_tar(tar, CHANGED)
    index(tar)
    assert index_of(tar).read_bytes() != old
    assert "all good" in run(FOLDPACK, "verify", tar).err


def test_no_pattern_names_an_index(tar):
    index(tar)
    assert run(FOLDPACK, "list", tar.with_name("files*")).out.split() == sorted(FILES)
    assert "matches no file" in run(FOLDPACK, "list", tar.with_name("*x"), status=1).err
