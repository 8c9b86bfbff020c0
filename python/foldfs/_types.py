"""What the functions take as keywords, and what they return."""

from __future__ import annotations

from typing import Any, Dict, List, Sequence, TypedDict, Union

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from ._commands import Path

    Size = Union[int, str]  # bytes, or "8G"
    Words = Union[str, Sequence[str]]
    Folders = Literal["auto", "names", "numbers"]
    Layout = Literal["auto", "tree", "classes"]
    Cache = Literal["auto", "kernel", "pool"]
    Policy = Literal["auto", "lru", "pin"]
    Io = Literal["auto", "direct", "buffered"]
    Missing = Literal["refuse", "ok"]
    Check = Literal["off", "header", "decode"]
    OnBad = Literal["fail", "skip", "keep"]
    Store = Literal["jpeg", "bmp", "ppm"]


class ReadOptions(TypedDict, total=False):
    """Of packs on servers, and of files of other formats: foldfs-remote(7), foldpack-formats(7)."""

    retry: int  # seconds
    endpoint: str
    region: str
    profile: str
    anonymous: bool
    requester_pays: bool
    ca_file: Path
    schema: str
    classes: Path
    class_folders: Folders
    empty_classes: bool
    names: Path
    layout: Layout
    image_key: str
    label_key: str
    name_key: str
    relist: bool


class PackOptions(ReadOptions, total=False):
    """Of `foldpack create`."""

    exclude: Words
    include: Words
    dereference: bool
    strip_components: int
    order: str
    dedup: bool
    check: Check
    on_bad: OnBad
    bad_list: Path
    resize: int  # pixels, as max_side
    max_side: int
    quality: int
    store: Store
    optimize: bool
    filter: str
    transform: Words
    force: bool
    resume: bool
    anyway: bool
    since: Words
    since_checksum: bool
    shard_size: Size
    part: str
    jobs: int


class MountOptions(ReadOptions, total=False):
    """Of foldfs(1)."""

    subdir: str
    select: Words
    missing: Missing
    verify: bool
    verbose: bool
    log: Path
    uid: int
    gid: int
    umask: str
    allow_other: bool
    noexec: bool
    sandbox: bool
    timeout: int  # seconds, as grace and io_timeout
    grace: int
    threads: int
    pool: Size
    cache: Cache
    policy: Policy
    io: Io
    readahead: Size
    preload: bool
    oracle: bool
    oracle_cpu: int
    order: Path
    io_timeout: int
    cache_dir: str
    prefetch: bool


class _Some(TypedDict, total=False):
    """Where there are files, and what only pack() knows."""

    overhead_percent: float
    class_files: Dict[str, float]  # min, median, max
    imbalance: float
    not_resized: int
    class_table: List[Dict[str, Any]]
    bytes_in: int
    bytes_out: int
    skipped: int
    kept: int
    left: int
    masks: int
    seconds: float


class PackInfo(_Some):
    """Of a pack. Sizes are in bytes."""

    path: str
    id: str
    content_id: str
    format_version: int
    files: int
    directories: int
    symlinks: int
    hardlinks: int
    left_out: int
    bytes: int
    pack_bytes: int
    deduped: int
    deduped_bytes: int
    classes: int
    empty_classes: int
    splits: List[str]
    images: Dict[str, Any]
    other_files: int
    options: str
    fragmentation: float
    relocated: bool


class Verified(TypedDict):
    """What was checked of a pack."""

    pack: str
    id: str
    files: int
    bytes: int
    bad: List[Dict[str, Any]]
    bad_files: int
    unreadable_files: int
    seconds: float


class _Seldom(TypedDict, total=False):
    """For whoever mounted it, and for packs on servers."""

    subdir: str
    options: List[str]
    log: List[str]
    far: Dict[str, Any]
    disk_cache: Dict[str, Any]


class Stats(_Seldom):
    """Of a mount since it was made: foldstat(1), JSON. Times are in microseconds or, where a name
    ends so, in seconds (_s); sizes in bytes."""

    version: str
    id: str
    uptime_s: float
    pack: Dict[str, Any]
    labels: Dict[str, Any]
    requests: Dict[str, int]
    served_files: int
    served_bytes: int
    device: Dict[str, int]
    pool: Dict[str, Any]
    prefetch: Dict[str, int]
    preloaded: int
    wait: Dict[str, Any]
    amplification: Union[float, None]
    oracle: Dict[str, Any]
    bad_files: int
    damaged_files: int
    changed: bool
    leaving: bool
    cache_mode: str
    io: str
