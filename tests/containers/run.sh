#!/bin/sh
# run.sh [PYTEST OPTION..]: the programs in FOLDFS_BUILD in containers of Docker, containerd and
# Podman. These are Debian's, unpacked in /var/tmp/foldfs-containers (300 MB) the first time, and
# not installed. Needs root, and what tests/deps.sh check names.
set -eu
cd "$(dirname "$0")/../.."

export FOLDFS_CONTAINERS=/var/tmp/foldfs-containers
packages='docker.io containerd runc podman crun conmon golang-github-containers-common libyajl2
    libgpgme11 libsubid4 libassuan0'

unpack() {
    rm -rf "$FOLDFS_CONTAINERS"
    mkdir -p "$FOLDFS_CONTAINERS"
    cd "$FOLDFS_CONTAINERS"
    # shellcheck disable=SC2086  # words
    apt-get -q download $packages
    for package in *.deb; do
        dpkg-deb -x "$package" .
    done
    rm ./*.deb
    touch made
}

[ -e "$FOLDFS_CONTAINERS/made" ] || (unpack)
PYTHONPATH=tests/mount exec "${PYTHON:-/usr/bin/python3}" -B -m pytest -v -p no:cacheprovider \
    -p conftest --rootdir=tests/containers tests/containers "$@"
