#!/bin/sh
# demo.sh: packs a folder of images, mounts the pack, and runs training's reading side over the
# folder and over the mount, by the same script.
#
#   DATA=DIR     the folder: DIR/CLASS/IMAGE. Default: images made for this, kept in the build
#   BUILD=DIR    where the programs are (build)
#   TMPDIR=DIR   where the pack is for as long as the demo runs (/tmp)
set -eu

here=$(dirname "$0")
build=$(cd "${BUILD:-build}" && pwd)
python=${PYTHON:-/usr/bin/python3}
PATH=$build:$PATH
work=$(mktemp -d "${TMPDIR:-/tmp}/foldfs-demo-XXXXXX")
pack=$work/images.lmdb
mount=$work/images

mounted() {
    grep -qF " $mount fuse" /proc/self/mounts
}

cleanup() {
    status=$?
    trap - EXIT
    if mounted; then
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

# Two epochs over DIR, the first with nothing of the images in memory. Results go to FILE.
epochs() {
    "$python" -B "$here/forget.py" "$data" "$pack"
    run "$python" -B "$here/epoch.py" "$1" | tee "$2"
    grep -q '^epoch 2:' "$2" # the status of a pipe is tee's
}

rate() {
    sed -n "s|^epoch $2: .* \([0-9]*\) images/s|\1|p" "$1"
}

table() {
    printf '%-28s %14s %14s\n' 'images/s' 'the folder' 'the mount'
    printf '%-28s %14s %14s\n' 'epoch 1, cold: from storage' "$(rate "$work/folder" 1)" \
        "$(rate "$work/mount" 1)"
    printf '%-28s %14s %14s\n' 'epoch 2, warm: from memory' "$(rate "$work/folder" 2)" \
        "$(rate "$work/mount" 2)"
}

data=${DATA:-}
if [ -z "$data" ]; then
    data=$build/demo-data
    step "No DATA=dir given: 2,000 images of ImageNet's sizes will do (made once)"
    run "$python" -B "$here/../data/make_images.py" "$data" --files 2000 --classes 20
fi

step "1. The folder becomes one file"
run foldpack create "$data" "$pack"
run ls -lh "$pack"

step "2. The file becomes the folder again"
mkdir "$mount"
run foldfs "$pack" "$mount"
printf '$ ls %s | head -n 5\n' "$mount"
# shellcheck disable=SC2012  # what a user types
ls "$mount" | head -n 5
printf '$ find %s -type f | wc -l\n' "$mount"
printf '%s files on the mount, %s in the folder\n' "$(find "$mount" -type f | wc -l)" \
    "$(find "$data" -type f | wc -l)"

step "3. Training reads it: ImageFolder, DataLoader(shuffle=True, num_workers=2), first the folder"
epochs "$data" "$work/folder"
step "4. The same script, not a letter changed, on the mount"
epochs "$mount" "$work/mount"

step "5. Side by side"
table
echo
echo "Cold: the kernel was asked to forget the images' and the pack's bytes before epoch 1 (names"
echo "of the folder's files stay in memory). Decoding JPEGs takes most of the time here, so both"
echo "can be equal; 'make bench' measures the reading alone."

step "6. What the mount did"
run foldstat "$mount"

step "7. Gone without a trace"
run fusermount3 -u "$mount"
