#!/bin/sh
# portability.sh old|aarch64 [FOLDER]: builds and tests in a root of another system, which is made
# in FOLDER the first time (1 GB; needs root and debootstrap).
#
#   old      Debian 11: gcc 10 and 9, clang 11, libfuse 3.10, libc 2.31, headers of Linux 5.10;
#            unit tests, and the mount tests of what depends on the system
#   aarch64  cross-compiled, static programs too; unit tests by qemu
set -eu

system=${1:?"usage: portability.sh old|aarch64 [FOLDER]"}
root=${2:-/var/tmp/foldfs-$system}
libraries='libfuse3-dev liblmdb-dev libxxhash-dev libjson-c-dev libjpeg-dev libarchive-dev
    zlib1g-dev nettle-dev libncurses-dev libcurl4-openssl-dev libcmocka-dev'
archives='libsnappy-dev libzstd-dev liblz4-dev liblzma-dev libbz2-dev libacl1-dev'

case $system in
old)
    suite=bullseye
    packages="gcc gcc-9 clang make pkg-config fuse3 strace attr acl python3-pytest
        python3-pytest-xdist python3-numpy python3-lmdb python3-pil $libraries"
    ;;
aarch64)
    suite=bookworm
    packages='make pkg-config qemu-user-static gcc-aarch64-linux-gnu g++-aarch64-linux-gnu'
    for name in libc6-dev $libraries $archives; do
        packages="$packages $name:arm64"
    done
    ;;
*)
    echo "portability.sh: neither 'old' nor 'aarch64': $system" >&2
    exit 2
    ;;
esac

make_root() {
    debootstrap --variant=minbase "$suite" "$root"
    [ "$system" = old ] || chroot "$root" dpkg --add-architecture arm64
    chroot "$root" apt-get -q update
    # shellcheck disable=SC2086  # words
    DEBIAN_FRONTEND=noninteractive chroot "$root" apt-get -qy install --no-install-recommends \
        $packages
    touch "$root/made"
}

copy_tree() {
    mkdir -p "$root/src"
    tar -c --exclude='./build*' --exclude=./.git . | tar -x -C "$root/src"
}

# In a mount namespace where the root is a mount, as a container's is.
within() {
    # shellcheck disable=SC2016  # expanded by that shell
    unshare --mount sh -c 'mount --bind "$1" "$1" && cd "$1" && mount -t proc proc proc &&
        mount --rbind /dev dev && exec chroot . sh -c "set -e; cd /src; $2"' sh "$root" "$1"
}

# shellcheck disable=SC2016  # expanded in that root
test_old() {
    within 'make DEPS=no all build/model
        make DEPS=no CC=gcc-9 B=build-gcc-9
        make DEPS=no CC=clang B=build-clang
        units=$(ls tests/unit/test_*.c | sed "s,tests/,build/,; s,[.]c\$,,")
        make DEPS=no $units
        sh tests/unit/run.sh $units
        cd tests/mount; FOLDFS_BUILD=/src/build python3 -B -m pytest -q -p no:cacheprovider \
            -m "not slow and not alone" test_foldstat.py test_lifecycle.py test_model.py \
            test_older.py test_options.py test_sandbox.py test_tree.py test_users.py'
}

# shellcheck disable=SC2016  # expanded in that root
test_aarch64() {
    within 'export PKG_CONFIG_LIBDIR=/usr/lib/aarch64-linux-gnu/pkgconfig
        cross="DEPS=no CC=aarch64-linux-gnu-gcc AR=aarch64-linux-gnu-ar"
        make $cross build/foldfs build/foldpack build/foldstat
        make $cross STATIC=1 all
        units=$(ls tests/unit/test_*.c | sed "s,tests/,build/,; s,[.]c\$,,")
        make $cross $units
        for unit in $units; do qemu-aarch64-static $unit || echo "failed: $unit"; done'
}

[ -e "$root/made" ] || make_root
copy_tree
"test_$system"
