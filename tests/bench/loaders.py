#!/usr/bin/python3
"""loaders.py convert|run PEER JOB, loaders.py about

What people train with instead of a folder: each writes the photos of a tree in its own form, and
reads them, in batches of 64, as its documentation has it. Of the photos all have the same bytes,
and do the same with them: nothing, or what training on ImageNet does.

JOB is a JSON object. `convert` writes the photos that `list` names in `root` to `out`. `run` reads
`data`, a path or a URL, in `epochs` epochs of `longest` seconds at most, in `ranks` processes that
are what torchrun starts. It prints a line of JSON when it starts, and when all ranks have imported
their modules, have a batch, and are at the end of an epoch; the last has the numbers of all photos
of the first epoch as they came, by which one sees how well they were shuffled. `about` prints what
each peer is set to, the lines of its code, what cannot be imported, and versions.

It runs in the venv of loaders.sh. A peer is a class: its doc string is what it is set to."""

import contextlib
import functools
import glob
import importlib
import importlib.metadata
import inspect
import io
import itertools
import json
import operator
import os
import pickle
import random
import socket
import subprocess
import sys
import time
import types

from photos import BATCH, DEVIATION, MEAN, Folder2lmdb, Gets, content, transform

BUFFER = 1000
BUCKETS = "s3://"
PACKAGES = ("torch", "torchvision", "webdataset", "mosaicml-streaming", "litdata", "datasets",
            "ffcv", "lmdb", "spdl", "torchdata", "boto3", "pyarrow", "pillow", "numpy")


def read_one(job, number):
    """A photo of the tree, for those who convert."""
    return {"image": content(os.path.join(job.root, job.names[number])), "number": number}


def every_one(job):
    return (read_one(job, number) for number in range(len(job.names)))


def work_of(job):
    """What is done with the bytes of a photo."""
    if not job.decode:
        return len
    from PIL import Image
    steps = transform()
    return lambda data: steps(Image.open(io.BytesIO(data)).convert("RGB"))


def shuffled(dataset, job, photos=lambda batch: batch):
    """DataLoader(shuffle=True), of ranks with a DistributedSampler; `photos` of each batch."""
    from torch.utils.data import DataLoader, DistributedSampler
    sampler = DistributedSampler(dataset) if job.ranks > 1 else None
    loader = DataLoader(dataset, BATCH, shuffle=not sampler, sampler=sampler,
                        num_workers=job.workers)

    def epoch(number):
        if sampler:
            sampler.set_epoch(number)
        return map(photos, loader)
    return epoch


def folder_of(root, job):
    """ImageFolder, as it is, but that a photo goes with its number in the list."""
    from torchvision.datasets import DatasetFolder
    from torchvision.datasets.folder import default_loader
    numbers = {f"{root}/{name}": number for number, name in enumerate(job.names)}
    if job.decode:
        steps = transform()
        return DatasetFolder(root, lambda path: (steps(default_loader(path)), numbers[path]),
                             is_valid_file=lambda _: True)
    return DatasetFolder(root, lambda path: (len(content(path)), numbers[path]),
                         is_valid_file=lambda _: True)


# --- peers ---------------------------------------------------------------------------------------
# convert(job), where there is something to convert; loader(job), a function of the number of an
# epoch, which returns batches of (photos, numbers).

class Folder:
    """ImageFolder and DataLoader(shuffle=True), unmodified"""

    def loader(job):
        return shuffled(folder_of(job.data, job), job, operator.itemgetter(0))


class Module:
    """foldfs.mounted() in the program, DataLoader(shuffle=True, num_workers=0)"""
    modules = ("foldfs",)

    def loader(job):
        import foldfs
        path = job.stack.enter_context(foldfs.mounted(job.data))
        job.workers = 0
        return shuffled(folder_of(path, job), job, operator.itemgetter(0))


class Get:
    """a Dataset that GETs a file at a time, each worker over one connection that it keeps"""
    dataset = Gets

    def loader(job):
        return shuffled(Gets(job.names, job.data, work_of(job)), job)


class WebDataset:
    """tars, shuffled when they are written; shardshuffle=100, shuffle(1000), batched in the
    workers; URLs by its own curl, without cache_dir; of ranks, split_by_node"""
    modules = ("webdataset",)

    def convert(job):
        import webdataset
        random.Random(0).shuffle(job.names)
        with open(f"{job.out}/list", "w") as file:
            file.writelines(f"{name}\n" for name in job.names)
        with webdataset.ShardWriter(f"{job.out}/%06d.tar", maxsize=job.shard, verbose=0) as sink:
            for photo in every_one(job):
                sink.write({"__key__": f"{photo['number']:09}", "jpg": photo["image"],
                            "cls": photo["number"]})

    def loader(job):
        import webdataset
        work, urls = work_of(job), pieces(job, "tar")
        dataset = (webdataset.WebDataset(urls, shardshuffle=100,
                                         nodesplitter=webdataset.split_by_node).shuffle(BUFFER)
                   .to_tuple("jpg", "cls").map_tuple(work, int).batched(BATCH))
        loader = webdataset.WebLoader(dataset, batch_size=None, num_workers=job.workers)
        return lambda _: loader


class Mosaic:
    """MDS of bytes; StreamingDataset(shuffle=True, batch_size=64) with its defaults (py1e,
    predownload); StreamingDataLoader; the client of S3 closed before workers fork, which mixes up
    shards else"""
    modules = ("streaming",)

    def convert(job):
        from streaming import MDSWriter
        with MDSWriter(out=job.out, columns={"image": "bytes", "number": "int"},
                       size_limit=job.shard) as out:
            for photo in every_one(job):
                out.write(photo)

    def loader(job):
        from streaming import StreamingDataLoader, StreamingDataset
        work = work_of(job)

        class Images(StreamingDataset):
            def __getitem__(self, at):
                sample = super().__getitem__(at)
                return work(sample["image"]), sample["number"]
        there = {"local": job.data}
        if job.data.startswith(BUCKETS):
            there = {"remote": job.data, "local": os.path.join(job.place, "mds")}
        dataset = Images(**there, shuffle=True, batch_size=BATCH)
        for stream in dataset.streams:  # else forked workers share its connection to S3, and get
            stream._downloader.clean_up()  # each other's shards
        loader = StreamingDataLoader(dataset, batch_size=BATCH, num_workers=job.workers)
        return lambda _: loader


class LitData:
    """optimize() to bytes; StreamingDataset(shuffle=True) with its defaults; StreamingDataLoader;
    obstore allowed to use http"""
    modules = ("litdata",)

    def convert(job):
        import litdata
        litdata.optimize(functools.partial(read_one, job), list(range(len(job.names))), job.out,
                         num_workers=2, chunk_bytes=job.shard)

    def loader(job):
        import litdata
        work, far = work_of(job), {}
        if job.data.startswith(BUCKETS):
            from litdata.streaming import downloader
            downloader._OBSTORE_CLIENT_OPTIONS["allow_http"] = "true"  # the store has no TLS
            far = {"cache_dir": os.path.join(job.place, "litdata"),
                   "storage_options": {"endpoint_url": os.environ["AWS_ENDPOINT_URL"]}}
        dataset = litdata.StreamingDataset(
            job.data, shuffle=True, drop_last=False, **far,
            transform=lambda sample: (work(sample["image"]), sample["number"]))
        loader = litdata.StreamingDataLoader(dataset, batch_size=BATCH, num_workers=job.workers)
        return lambda _: loader


class Parquet:
    """Image() in Parquet; load_dataset(), whose Arrow cache is written before the first batch, and
    so in memory; DataLoader(shuffle=True); far, streaming=True and shuffle(buffer_size=1000), of
    ranks split_dataset_by_node()"""
    modules = ("datasets",)

    def convert(job):
        from datasets import Dataset, Features, Image, Value
        features = Features({"image": Image(), "number": Value("int64")})

        def rows():
            for photo in every_one(job):
                yield {"image": {"bytes": photo["image"], "path": None}, "number": photo["number"]}
        table = Dataset.from_generator(rows, features)
        size = sum(os.path.getsize(os.path.join(job.root, name)) for name in job.names)
        count = -(-size // job.shard // 8) * 8  # else ranks read the shards of others, too
        for at in range(count):
            table.shard(count, at, contiguous=True).to_parquet(f"{job.out}/{at:05}.parquet")

    def loader(job):
        from datasets import Image, load_dataset
        from datasets.distributed import split_dataset_by_node
        from torch.utils.data import DataLoader
        work, far = work_of(job), "://" in job.data
        table = load_dataset("parquet", data_files=pieces(job, "parquet"), split="train",
                             streaming=far, cache_dir=os.path.join(job.place, "datasets"))
        table = table.cast_column("image", Image(decode=False))

        def change(rows):
            return {"image": [work(image["bytes"]) for image in rows["image"]],
                    "number": rows["number"]}
        photos = operator.itemgetter("image", "number")
        if not far:
            return shuffled(table.with_transform(change), job, photos)
        table = table.shuffle(seed=0, buffer_size=BUFFER)
        if job.ranks > 1:
            table = split_dataset_by_node(table, int(os.environ["RANK"]), job.ranks)
        table = table.map(change, batched=True, batch_size=BATCH)
        loader = DataLoader(table, BATCH, num_workers=job.workers)

        def epoch(number):
            table.set_epoch(number)
            return map(photos, loader)
        return epoch


class HuggingFolder:
    """load_dataset("imagefolder"), DataLoader(shuffle=True)"""
    modules = ("datasets",)

    def loader(job):
        from datasets import Image, load_dataset
        work = work_of(job)
        numbers = {f"{job.data}/{name}": number for number, name in enumerate(job.names)}
        table = load_dataset("imagefolder", data_dir=job.data, split="train",
                             cache_dir=os.path.join(job.place, "datasets"))
        table = table.cast_column("image", Image(decode=False)).with_transform(
            lambda rows: {"image": [work(content(image["path"])) for image in rows["image"]],
                          "number": [numbers[image["path"]] for image in rows["image"]]})
        return shuffled(table, job, operator.itemgetter("image", "number"))


class Ffcv:
    """bytes in a BytesField; or RGBImageField(write_mode="jpg"), which encodes anew, and its own
    decoder and crop; OrderOption.RANDOM with os_cache, QUASI_RANDOM where memory is short;
    distributed=True of ranks"""
    modules = ("ffcv", "ffcv.loader", "ffcv.fields", "ffcv.fields.decoders", "ffcv.transforms")

    def convert(job):
        import numpy
        from ffcv.fields import BytesField, IntField, RGBImageField
        from ffcv.writer import DatasetWriter
        from PIL import Image

        class Images:
            def __len__(self):
                return len(job.names)

            def __getitem__(self, number):
                data = read_one(job, number)["image"]
                image = numpy.asarray(Image.open(io.BytesIO(data)).convert("RGB")) if job.decode \
                    else numpy.frombuffer(data, numpy.uint8)
                return image, number
        image = RGBImageField(write_mode="jpg") if job.decode else BytesField()
        os.rmdir(job.out)
        DatasetWriter(job.out, {"image": image, "number": IntField()},
                      num_workers=2).from_indexed_dataset(Images())

    def loader(job):
        import numpy
        from ffcv.fields.decoders import (BytesDecoder, IntDecoder,
                                          RandomResizedCropRGBImageDecoder)
        from ffcv.loader import Loader, OrderOption
        from ffcv.transforms import (NormalizeImage, RandomHorizontalFlip, Squeeze, ToTensor,
                                     ToTorchImage)
        scaled = (numpy.array(numbers) * 255 for numbers in (MEAN, DEVIATION))
        image = [RandomResizedCropRGBImageDecoder((224, 224)), RandomHorizontalFlip(),
                 NormalizeImage(*scaled, numpy.float32), ToTensor(), ToTorchImage()] \
            if job.decode else [BytesDecoder(), ToTensor()]
        order = OrderOption.QUASI_RANDOM if job.short else OrderOption.RANDOM
        threads = min(job.workers, os.cpu_count())  # it takes no more
        loader = Loader(job.data, batch_size=BATCH, num_workers=threads, order=order,
                        os_cache=not job.short, drop_last=False, seed=0,
                        distributed=job.ranks > 1, pipelines={
                            "image": image, "number": [IntDecoder(), ToTensor(), Squeeze()]})
        if job.decode:
            return lambda _: loader
        return lambda _: ((photos[:, :0].sum(1), numbers) for photos, numbers in loader)


class Lmdb:
    """Efficient-PyTorch's script and Dataset: an LMDB of pickled (bytes, label), readahead=False"""
    modules, dataset = ("lmdb",), Folder2lmdb

    def convert(job):
        import lmdb
        os.rmdir(job.out)
        keys = [f"{number}".encode("ascii") for number in range(len(job.names))]
        with lmdb.open(job.out, subdir=False, lock=False, map_size=1 << 40, meminit=False,
                       map_async=True) as env:
            txn = env.begin(write=True)
            for key, photo in zip(keys, every_one(job)):
                txn.put(key, pickle.dumps((photo["image"], photo["number"])))
                if photo["number"] % 5000 == 4999:
                    txn.commit()
                    txn = env.begin(write=True)
            txn.put(b"__keys__", pickle.dumps(keys))
            txn.put(b"__len__", pickle.dumps(len(keys)))
            txn.commit()

    def loader(job):
        return shuffled(Folder2lmdb(job.data, work_of(job)), job)


class Spdl:
    """loose files in the threads of spdl's DataLoader, one for each worker of others, the
    transforms those of torchvision"""
    modules = ("spdl.dataloader",)

    def loader(job):
        from spdl.dataloader import DataLoader
        from torch.utils.data import default_collate
        work = work_of(job)

        class Order:
            def __iter__(self):
                return iter(random.sample(range(len(job.names)), len(job.names)))
        loader = DataLoader(
            Order(), batch_size=BATCH, num_threads=job.workers, aggregator=default_collate,
            preprocessor=lambda at: (work(content(f"{job.data}/{job.names[at]}")), at))
        return lambda _: loader


class Nodes:
    """ImageFolder in torchdata.nodes: ParallelMapper(method="thread"), Batcher, Prefetcher"""
    modules = ("torchdata.nodes",)

    def loader(job):
        from torch.utils.data import DistributedSampler, RandomSampler, default_collate
        from torchdata.nodes import (Batcher, Loader, Mapper, ParallelMapper, Prefetcher,
                                     SamplerWrapper)
        dataset = folder_of(job.data, job)
        node = SamplerWrapper((DistributedSampler if job.ranks > 1 else RandomSampler)(dataset))
        node = ParallelMapper(node, dataset.__getitem__, num_workers=job.workers, in_order=False,
                              method="thread")
        node = Mapper(Batcher(node, BATCH, drop_last=False), default_collate)
        loader = Loader(Prefetcher(node, 2))
        return lambda _: (photos for photos, _ in loader)


PEERS = {one.__name__: one for one in (Folder, Module, Get, WebDataset, Mosaic, LitData, Parquet,
                                       HuggingFolder, Ffcv, Lmdb, Spdl, Nodes)}


# --- the command ---------------------------------------------------------------------------------

def pieces(job, end):
    """The shards below job.data, or of that name on the server, which has what `local` has."""
    found = sorted(glob.glob(f"{glob.escape(job.local)}/*.{end}"))
    return [os.path.join(job.data, os.path.basename(path)) for path in found]


def everywhere(job, one):
    """What the ranks have, once all are here."""
    if job.ranks == 1:
        return [one]
    import torch.distributed
    found = [None] * job.ranks
    torch.distributed.all_gather_object(found, one)
    return found


def run(peer, job, say):
    import torch
    load(peer)
    torch.set_num_threads(1)  # as in workers, where a peer has threads
    if job.ranks > 1:
        torch.distributed.init_process_group("gloo")
    everywhere(job, None)
    say(at="imported", time=time.monotonic())
    epoch, order = peer.loader(job), []
    for number in range(job.epochs):
        began, batches, size = time.monotonic(), [], 0
        for photos, numbers in epoch(number):
            if not (number or batches):
                everywhere(job, None)
                say(at="first", time=time.monotonic())
            batches.append(numbers.tolist() if hasattr(numbers, "tolist") else numbers)
            if not job.decode:
                size += int(torch.as_tensor(photos).sum())
            if time.monotonic() > began + job.longest:
                break
        found, sizes = zip(*everywhere(job, (batches, size)))
        steps = itertools.zip_longest(*found, fillvalue=())
        seen = [photo for step in steps for batch in step for photo in batch]
        seconds = time.monotonic() - began
        say(at="epoch", seconds=seconds, files=len(seen), different=len(set(seen)),
            bytes=sum(sizes), whole=seconds <= job.longest)
        order = order or seen
    say(at="end", order=order)


def run_ranks(count):
    """This command once for each rank."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "GLOO_SOCKET_IFNAME": "lo",
              "WORLD_SIZE": count, "LOCAL_WORLD_SIZE": count}
    ranks = [subprocess.Popen([sys.executable, "-B", *sys.argv], env={
        **os.environ, **{name: str(word) for name, word in
                         {**shared, "RANK": rank, "LOCAL_RANK": rank}.items()}})
             for rank in range(count)]
    return max(abs(rank.wait()) for rank in ranks)


def load(peer):
    for name in ("torchvision.datasets", "PIL.JpegImagePlugin", *getattr(peer, "modules", ())):
        importlib.import_module(name)


def why_missing(peer):
    """Whatever a library raises where it cannot be imported."""
    try:
        load(peer)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def version(name):
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "-"


def about(say):
    say(at="end", versions={name: version(name) for name in PACKAGES},
        missing={name: why_missing(peer) for name, peer in PEERS.items()},
        settings={name: " ".join(peer.__doc__.split()) for name, peer in PEERS.items()},
        lines={name: sum(len(inspect.getsource(code).splitlines()) for code in
                         (peer.loader, getattr(peer, "dataset", None)) if code) - 1
               for name, peer in PEERS.items()})


def main():
    """What the libraries print goes to standard error."""
    job = types.SimpleNamespace(**json.loads((sys.argv[3:] or ["{}"])[0]))
    answers, rank = os.fdopen(os.dup(1), "w"), os.environ.get("RANK")

    def say(**words):
        if not int(rank or 0):
            answers.write(json.dumps(words) + "\n")
            answers.flush()
    if not rank:
        say(at="started", time=time.monotonic())
        if vars(job).get("ranks", 1) > 1:
            return run_ranks(job.ranks)
    os.dup2(2, 1)
    if sys.argv[1] == "about":
        return about(say)
    with open(job.list) as lines:
        job.names = lines.read().splitlines()
    peer = PEERS[sys.argv[2]]
    if sys.argv[1] == "convert":
        os.makedirs(job.out)
        load(peer)
        began = time.monotonic()
        peer.convert(job)
        return say(at="end", seconds=time.monotonic() - began)
    with contextlib.ExitStack() as job.stack:
        return run(peer, job, say)


if __name__ == "__main__":
    sys.exit(main())
