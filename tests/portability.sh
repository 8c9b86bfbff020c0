#!/bin/sh
# portability.sh SYSTEM [FOLDER]: builds and tests with another system, which is made in FOLDER
# (/var/tmp/foldfs-SYSTEM) the first time: 1 GB; needs root and debootstrap.
#
#   bullseye  Debian 11: gcc 10 and 9, clang 11, libfuse 3.10, libc 2.31, headers of Linux 5.10;
#             unit tests, and the mount tests of what depends on the system
#   focal     Ubuntu 20.04: gcc 8, libfuse 3.9, json-c 0.13, API 8 of libjpeg, headers of Linux 5.4;
#             the same tests. Its xxHash is older than 0.8, and Debian 11's is taken
#   aarch64   cross-compiled, static programs and their wheel, too; unit tests by qemu
#   nfs       Debian 12's kernel as a server of NFS and its own client, by qemu-system-x86:
#             tests/nfs with static programs; TESTS says which, as -k does
#   kernel    Linux 4.18 of Ubuntu 18.04, and those of Debian 11, 12 and its backports, by
#             qemu-system-x86: tests/guest.sh with static programs, and busybox-static of this
#             system; KERNELS says which
set -eu

system=${1:?"usage: portability.sh bullseye|focal|aarch64|kernel|nfs [FOLDER]"}
root=${2:-/var/tmp/foldfs-$system}
debian=http://deb.debian.org/debian
ubuntu=http://archive.ubuntu.com/ubuntu
version=4.18.0-25
libraries='libfuse3-dev liblmdb-dev libxxhash-dev libjson-c-dev libjpeg-dev libarchive-dev
    zlib1g-dev nettle-dev libncurses-dev libcurl4-openssl-dev
    libcmocka-dev'
archives='libsnappy-dev libzstd-dev liblz4-dev liblzma-dev libbz2-dev libacl1-dev libssl-dev
    libc-ares-dev'
tested="make pkg-config fuse3 strace attr acl python3-pytest python3-pytest-xdist python3-numpy
    python3-lmdb python3-pil libsnappy1v5 $libraries"

# fusermount3 reads /etc/mtab, which an installed system has.
make_root() { # SUITE MIRROR COMPONENTS PACKAGES
    debootstrap --variant=minbase --components="$3" "$1" "$root" "$2"
    "prepare_$system"
    chroot "$root" apt-get -q update
    # shellcheck disable=SC2086  # words
    DEBIAN_FRONTEND=noninteractive chroot "$root" apt-get -qy install --no-install-recommends $4
    ln -sf /proc/self/mounts "$root/etc/mtab"
}

# In a mount namespace where the root is a mount, as a container's is.
within() {
    mkdir -p "$root/src"
    tar -c --exclude='./build*' --exclude=./.git . | tar -x -C "$root/src"
    # shellcheck disable=SC2016  # expanded by that shell
    unshare --mount sh -c 'mount --bind "$1" "$1" && cd "$1" && mount -t proc proc proc &&
        mount --rbind /dev dev && exec chroot . sh -c "set -e; cd /src; $2"' sh "$root" "$1"
}

units=$(echo tests/unit/test_*.c | sed 's,tests/,build/,g; s,[.]c,,g')

test_here() { # CC
    within "make -j$(nproc) DEPS=no WERROR=1 CC=$1 all
        make -j$(nproc) DEPS=no CC=$1 $units
        sh tests/unit/run.sh $units
        cd tests/mount; FOLDFS_BUILD=/src/build python3 -B -m pytest -q -p no:cacheprovider \
            -m 'not slow and not alone' test_foldstat.py test_lifecycle.py test_model.py \
            test_older.py test_options.py test_sandbox.py test_tree.py test_users.py"
}

# --- systems ----------------------------------------------------------------------------------

make_bullseye() {
    make_root bullseye $debian main "gcc gcc-9 clang $tested"
}

prepare_bullseye() {
    :
}

test_bullseye() {
    within "make -j$(nproc) DEPS=no CC=gcc-9 B=build-gcc-9
        make -j$(nproc) DEPS=no CC=clang B=build-clang"
    test_here gcc
}

make_focal() {
    make_root focal $ubuntu main,universe "gcc-8 $tested"
}

prepare_focal() {
    keys=/usr/share/keyrings/debian-archive-keyring.gpg
    cp $keys "$root$keys"
    echo "deb [signed-by=$keys] $debian bullseye main" >"$root/etc/apt/sources.list.d/debian.list"
    printf 'Package: %s\nPin: release n=bullseye\nPin-Priority: %s\n\n' '*' -1 'libxxhash*' 900 \
        >"$root/etc/apt/preferences.d/xxhash"
}

test_focal() {
    test_here gcc-8
}

make_aarch64() {
    packages='make pkg-config dpkg-dev python3 qemu-user-static gcc-aarch64-linux-gnu
        g++-aarch64-linux-gnu'
    for name in libc6-dev $libraries $archives; do
        packages="$packages $name:arm64"
    done
    make_root bookworm $debian main "$packages"
}

prepare_aarch64() {
    chroot "$root" dpkg --add-architecture arm64
}

test_aarch64() {
    within "export PKG_CONFIG_LIBDIR=/usr/lib/aarch64-linux-gnu/pkgconfig
        cross='DEPS=no CC=aarch64-linux-gnu-gcc AR=aarch64-linux-gnu-ar
            EMULATOR=qemu-aarch64-static'
        make -j$(nproc) \$cross build/foldfs build/foldpack build/foldstat
        make -j$(nproc) \$cross -o static wheel
        make -j$(nproc) \$cross $units
        for unit in $units; do qemu-aarch64-static \$unit || echo failed: \$unit; done"
}

KERNELS=${KERNELS:-ubuntu bullseye bookworm bookworm-backports}

make_kernel() {
    mkdir -p "$root"
}

# The kernel of a suite of Debian, and FUSE where that is a module, without touching this system's
# lists.
fetch_debian() { # SUITE FOLDER
    mkdir -p "$2/apt/lists/partial" "$2/apt/cache/archives/partial"
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $debian $1 main" \
        >"$2/apt/list"
    from="-qq -o Dir::Etc::SourceList=$2/apt/list -o Dir::Etc::SourceParts=/dev/null
        -o Dir::State::Lists=$2/apt/lists -o Dir::Cache=$2/apt/cache"
    # shellcheck disable=SC2086  # words
    (cd "$2" && apt-get $from update &&
        apt-get $from download "$(apt-cache $from depends linux-image-amd64 |
            sed -n 's/.*Depends: //p')")
    dpkg-deb --fsys-tarfile "$2"/*.deb |
        tar -x -C "$2" --wildcards './boot/vmlinuz-*' '*/fs/fuse/*'
    find "$2" -name 'fuse.ko*' -exec mv {} "$2" \;
    [ ! -e "$2/fuse.ko.xz" ] || xz -d "$2/fuse.ko.xz"
}

fetch_ubuntu() { # FOLDER
    image=linux-image-unsigned-$version-generic_$version.26~18.04.1_amd64.deb
    wget -q -O "$1/image.deb" $ubuntu/pool/main/l/linux-hwe/$image
    dpkg-deb -x "$1/image.deb" "$1"
}

fetch_kernel() { # NAME FOLDER
    rm -rf "$2"
    mkdir -p "$2"
    if [ "$1" = ubuntu ]; then fetch_ubuntu "$2"; else fetch_debian "$1" "$2"; fi
    touch "$2/made"
}

# FUSE may be a module.
make_guest() { # FOLDER
    rm -rf "$1/guest"
    mkdir -p "$1/guest/bin" "$1/guest/proc"
    cp build-static/foldfs build-static/foldpack build-static/foldstat /bin/busybox "$1/guest/bin/"
    ln -s busybox "$1/guest/bin/sh"
    cp tests/guest.sh "$1/guest/init"
    [ ! -e "$1/fuse.ko" ] || cp "$1/fuse.ko" "$1/guest/"
    (cd "$1/guest" && find . | busybox cpio -o -H newc | gzip -1) >"$1/guest.gz"
}

test_kernel() {
    make static
    for kernel in $KERNELS; do
        [ -e "$root/$kernel/made" ] || fetch_kernel "$kernel" "$root/$kernel"
        make_guest "$root/$kernel"
        truncate -s 0 "$root/$kernel/disk"
        truncate -s 1G "$root/$kernel/disk"
        boot "$root/$kernel"/boot/vmlinuz-* "$root/$kernel/guest.gz" "$root/$kernel/disk" ide
    done
}

# The console says how it ended.
boot() { # KERNEL INITRD DISK INTERFACE
    qemu-system-x86_64 -accel tcg -cpu max -smp 2 -m 2G -nodefaults -nographic -serial stdio \
        -no-reboot -kernel "$1" -initrd "$2" -append 'console=ttyS0 quiet panic=-1 no_timer_check' \
        -drive "file=$3,format=raw,if=$4,cache=unsafe" | tee "$3.log"
    grep -q 'guest: all good' "$3.log"
}

make_nfs() {
    make_root bookworm $debian main 'nfs-kernel-server kmod iproute2 fuse3 acl attr python3-pytest
        busybox-static'
    # Without its scripts, which would make an initrd of their own.
    # shellcheck disable=SC2016  # expanded by that shell
    chroot "$root" sh -ec 'cd /root
        apt-get -q download "$(apt-cache depends linux-image-amd64 | sed -n "s/.*Depends: //p")"
        dpkg-deb --fsys-tarfile linux-image-*.deb | tar -x --keep-directory-symlink -C /
        depmod "$(basename /lib/modules/*)"'
}

prepare_nfs() {
    :
}

# The first steps of a kernel whose disk is a module.
make_initrd() { # VERSION
    rm -rf "$root.initrd"
    mkdir -p "$root.initrd/bin" "$root.initrd/dev" "$root.initrd/new"
    cp "$root/bin/busybox" "$root.initrd/bin/"
    chroot "$root" modprobe -a -D -S "$1" virtio_pci virtio_blk ext4 crc32c_generic |
        awk '$1 == "insmod" && !seen[$2]++ { print substr($2, 2) }' >"$root.initrd/modules"
    tar -C "$root" -c -T "$root.initrd/modules" --transform='s,^.*/,,' | tar -C "$root.initrd" -x
    cat >"$root.initrd/init" <<'END'
#!/bin/busybox sh
while read -r module; do
    /bin/busybox insmod "/${module##*/}"
done </modules
/bin/busybox mount -t devtmpfs dev /dev
/bin/busybox mount -t ext4 /dev/vda /new
exec /bin/busybox switch_root /new /src/tests/nfs/guest.sh
END
    chmod +x "$root.initrd/init"
    (cd "$root.initrd" && find . | busybox cpio -o -H newc | gzip -1) >"$root.initrd.gz"
}

test_nfs() {
    make static
    rm -rf "$root/src"
    mkdir -p "$root/src"
    cp -r Makefile python tests man doc build-static "$root/src/"
    echo "${TESTS:-}" >"$root/src/TESTS"
    kernel=$(basename "$root"/lib/modules/*)
    make_initrd "$kernel"
    rm -f "$root.disk"
    mke2fs -q -t ext4 -d "$root" "$root.disk" 3G
    boot "$root/boot/vmlinuz-$kernel" "$root.initrd.gz" "$root.disk" virtio
}

case $system in
bullseye | focal | aarch64 | kernel | nfs) ;;
*)
    echo "portability.sh: neither bullseye, focal, aarch64, kernel nor nfs: $system" >&2
    exit 2
    ;;
esac
[ -e "$root/made" ] || "make_$system"
touch "$root/made"
"test_$system"
