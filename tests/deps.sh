#!/bin/sh
# deps.sh [build|static|check|cluster|demo|bench|analyze]: whether all is there for that purpose.
#
# Silent when nothing is missing. With DEPS=yes in the environment, what is missing is installed.
# Otherwise it is named, with the command that installs it, and the status is 1.
# Package names are Debian 12's; elsewhere the libraries are looked for by pkg-config and
# import, and named where they are missing.
set -eu

purpose=${1:-build}

build='gcc make pkg-config libc6-dev libfuse3-dev fuse3 liblmdb-dev libxxhash-dev libjson-c-dev
    libjpeg-dev libarchive-dev zlib1g-dev nettle-dev libcurl4-openssl-dev
    libncurses-dev python3'
static='g++ libsnappy-dev libzstd-dev liblz4-dev liblzma-dev libbz2-dev libacl1-dev libssl-dev
    libc-ares-dev dpkg-dev debian-archive-keyring'
demo='python3-torch python3-torchvision python3-pil python3-numpy'
check="$demo libcmocka-dev clang clang-format lmdb-utils mandoc python3-pytest python3-pytest-xdist
    python3-pyte python3-lmdb python3-h5py python3-numcodecs libsnappy1v5 rsync
    acl attr tar findutils util-linux nginx-light libnginx-mod-http-lua python3-venv strace zip
    zsh fish exfatprogs exfat-fuse"
cluster="python3-pytest nginx-light libnginx-mod-http-lua iproute2 openssl"
analyze='clang-tidy cppcheck'
bench="$demo squashfuse squashfs-tools python3-lmdb s3fs rclone"

case $purpose in
build) packages="$build" ;;
check) packages="$build $check" ;;
cluster) packages="$build $cluster" ;;
static) packages="$build $static" ;;
demo) packages="$build $demo" ;;
analyze) packages="$build $analyze" ;;
bench) packages="$build $bench" ;;
*)
    echo "usage: deps.sh [build|static|check|cluster|demo|bench|analyze]" >&2
    exit 2
    ;;
esac
# shellcheck disable=SC2086  # words, to be joined in one line
set -- $packages
packages=$*

say() {
    printf 'deps: %s\n' "$*" >&2
}

# The packages that are not installed, one a line. dpkg-query leaves out names it never met
# and lists removed ones, so the installed names are taken away from the wanted ones.
missing() {
    # shellcheck disable=SC2016,SC2086  # the format is dpkg-query's, the list is words
    { dpkg-query -W -f '${Package} ${db:Status-Status}\n' $packages 2>/dev/null || :; } |
        awk -v wanted="$packages" '
            $2 == "installed" { have[$1] = 1 }
            END {
                n = split(wanted, name)
                for (i = 1; i <= n; i++)
                    if (!(name[i] in have))
                        print name[i]
            }'
}

libraries() {
    echo fuse3 lmdb libxxhash json-c libjpeg libarchive zlib nettle ncursesw
    [ "$purpose" != check ] || echo cmocka
}

modules() {
    case $purpose in build | static | analyze | cluster) return ;; esac
    echo torch torchvision PIL numpy
    [ "$purpose" != check ] || echo pytest xdist pyte lmdb
}

# On a system without apt: what cannot be found, in the words of its own author.
elsewhere() {
    lacking=
    for library in $(libraries); do
        pkg-config --exists "$library" 2>/dev/null || lacking="$lacking $library"
    done
    for module in $(modules); do
        "${PYTHON:-/usr/bin/python3}" -c "import $module" 2>/dev/null ||
            lacking="$lacking python:$module"
    done
    [ -n "$lacking" ] || exit 0
    say "this is not a Debian-like system, so nothing can be installed for you"
    say "install the development files of:$lacking"
    say "(on Debian, all that '$purpose' uses: $packages)"
    exit 1
}

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    elsewhere
fi

lacking=$(missing | tr '\n' ' ')
lacking=${lacking% }
[ -n "$lacking" ] || exit 0

install="apt-get update && apt-get install --no-install-recommends $lacking"
if [ "${DEPS:-no}" != yes ]; then
    say "missing: $lacking"
    say "'make $purpose DEPS=yes' installs them, and so does, as root:"
    say "$install"
    exit 1
fi

as_root=
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        say "missing, and neither root nor sudo is at hand: $lacking"
        say "as root: $install"
        exit 1
    fi
    as_root=sudo
fi

say "installing $lacking"
say "(with what they need in turn; this can take some minutes)"
# Only what goes wrong is shown. sudo drops the environment, so it goes through env.
apt() {
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 \
        -o Dpkg::Use-Pty=0 "$@" >/dev/null
}
if ! apt update; then
    say "the package lists cannot be updated; is the network there?"
    exit 1
fi
# shellcheck disable=SC2086
if ! apt install -y --no-install-recommends $lacking; then
    say "not installed: $lacking; the reason is above"
    exit 1
fi
