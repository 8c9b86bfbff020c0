#!/bin/sh
# demo.sh: packs a folder of images, mounts the pack, and reads both by the same script: reading
# alone, on this storage and on slower devices, and training's decoding.
#
#   DATA=DIR     the folder: DIR/CLASS/IMAGE. Default: images made for this, kept in the build
#   BUILD=DIR    where the programs are (build)
#   TMPDIR=DIR   where the packs are for as long as the demo runs (/tmp)
set -eu

here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${BUILD:-build}" && pwd)
python=${PYTHON:-/usr/bin/python3}
PATH=$build:$PATH
work=$(mktemp -d "${TMPDIR:-/tmp}/foldfs-demo-XXXXXX")
mount=$work/images
SLOW_SECONDS=5 # for a folder on a slow device; the mount's epoch is read to its end

cleanup() {
    status=$?
    trap - EXIT
    if grep -qF " $mount fuse" /proc/self/mounts; then
        fusermount3 -u "$mount" || fusermount3 -uz "$mount"
    fi
    rm -rf --one-file-system "$work"
    exit "$status"
}
trap cleanup EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

step() {
    printf '\n--- %s\n' "$*"
}

# Shows a command as one would type it, and runs it.
run() {
    printf '$ %s\n' "$*"
    "$@"
}

# Nothing of the images or the packs in memory; names and inodes neither, where root asks. Torch is
# read again before the device is slow: it is not what is measured, and would take most of the time.
forget() {
    "$python" -B "$here/forget.py" "$data" "$work"
    if [ "$(id -u)" = 0 ]; then
        sync
        echo 3 >/proc/sys/vm/drop_caches 2>/dev/null || :
        "$python" -B -c 'import torchvision'
    fi
}

# on DEVICE COMMAND..: as if the disk were another one; "this" is the disk as it is.
on() {
    device=$1
    shift
    if [ "$device" = this ]; then
        "$@"
    else
        "$python" -B "$here/../bench/profiles.py" --path "$work" "$device" -- "$@" \
            2>>"$work/profiles"
    fi
}

# folder DEVICE WHAT, mount DEVICE WHAT PACK: images a second, cold, or "-".
folder() {
    limit=$([ "$1" = this ] || echo $SLOW_SECONDS)
    forget
    # shellcheck disable=SC2086  # no word where there is no limit
    on "$1" "$python" -B "$here/epoch.py" "$data" "$2" $limit || echo -
}

mount() {
    forget
    on "$1" foldfs -q --mkdir "$3" "$mount" -- "$python" -B "$here/epoch.py" "$mount" "$2" ||
        echo -
}

row() {
    printf '%-46s %10s %10s %12s\n' "$@"
}

# rates TITLE DEVICE WHAT
rates() {
    row "$1" "$(folder "$2" "$3")" "$(mount "$2" "$3" "$work/images.lmdb")" \
        "$(mount "$2" "$3" "$work/small.lmdb")"
}

can_limit() {
    on "$1" true 2>/dev/null
}

data=${DATA:-}
if [ -z "$data" ]; then
    data=$build/demo-data
    step "No DATA=dir given: 2,000 images of ImageNet's sizes will do (made once)"
    run "$python" -B "$here/../data/make_images.py" "$data" --files 2000 --classes 20
fi

step "1. The folder becomes one file, and another one with smaller images"
run foldpack create "$data" "$work/images.lmdb"
run foldpack create -q --resize 256 "$data" "$work/small.lmdb"

step "2. The file becomes the folder again"
run foldfs --mkdir "$work/images.lmdb" "$mount"
printf '%s files on the mount, %s in the folder\n' "$(find "$mount" -type f | wc -l)" \
    "$(find "$data" -type f | wc -l)"
run diff -r "$data" "$mount" && echo "not a byte differs"
run foldstat "$mount"
run fusermount3 -u "$mount"

step "3. ImageFolder and DataLoader(shuffle=True, num_workers=2), not a letter changed"
row "images/s, cold" "folder" "mount" "--resize 256"
rates "reading, on this storage" this read
if can_limit gp3; then
    rates "reading, cloud volume (3,000 requests/s)" gp3 read
    rates "reading, hard disk (120 requests/s)" hdd read
else
    echo "(slower devices are left out: limiting one takes root and control groups)"
fi
rates "training: decode, crop, flip; this storage" this train

step "4. What the numbers say"
cat <<'TEXT'
Reading is what foldfs makes faster: most where a request is slow, as on a hard disk, nothing
where loose files already take all that a fast disk gives. Training also decodes, here on all
processors: where that is the limit, a mount of the same images cannot be faster than the folder;
smaller images (--resize 256) take less reading and less decoding. `make bench` measures all this
with larger trees, other programs beside it, and little memory.
TEXT
