"""All of the module, for type checkers."""

import os
from typing import Iterator, List, Union

import foldfs


class Loader:
    def __iter__(self) -> Iterator[bytes]:
        return iter([b"batch"])

    def __len__(self) -> int:
        return 1


def show(done: int, total: Union[int, None]) -> None:
    print(done, total)


def main(folder: "os.PathLike[str]") -> int:
    made = foldfs.pack(folder, "train.lmdb", resize=256, check="decode", on_bad="skip",
                       exclude=["*.txt"], progress=show, shard_size="1G", jobs=4)
    there: foldfs.PackInfo = foldfs.info("https://example.org/train.lmdb", anonymous=True)
    checked: List[foldfs.Verified] = foldfs.verify("train.lmdb", "val.lmdb", jobs=2, progress=True)
    foldfs.extract("train.lmdb", "again", "cat", "dog/1.jpg", schema="tar")
    with foldfs.mounted(["a.lmdb", "b.lmdb"], pool="8G", select="cat*", oracle=False,
                        cache_dir="/scratch", at="mnt", options=["--grace=0"]) as path:
        stats: foldfs.Stats = foldfs.stats(path)
        foldfs.order(path, Loader())
        batches: List[bytes] = list(foldfs.ordered(path, Loader()))
    mount = foldfs.mounted("s3://bucket/train.lmdb", region="eu-central-1")
    mount.close()
    try:
        os.listdir(mount)
    except foldfs.Error as error:
        return error.status
    return made["files"] + there["files"] + checked[0]["files"] + len(batches) + len(
        stats["options"] if "options" in stats else stats["wait"]) + len(foldfs.__version__)
