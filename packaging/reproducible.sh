#!/bin/sh
# reproducible.sh [GOAL..]: builds the last commit twice, in folders of other names, with other
# numbers of jobs, and compares the programs, or GOALs. Status 1 if they differ.
set -eu
cd "$(dirname "$0")/.."
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
mkdir "$place/first" "$place/a-second-with-a-much-longer-name"

# build FOLDER JOBS [GOAL..]
build() {
    git archive HEAD | tar -x -C "$1"
    (
        cd "$1"
        shift
        jobs=$1
        shift
        unset MAKEFLAGS MAKELEVEL
        export CCACHE_DISABLE=1 # it would answer from the first build
        make -s -j"$jobs" "$@"
        find build -maxdepth 1 -type f -name 'fold*' -exec sha256sum {} + | sort -k 2
    )
}

build "$place/first" 1 "$@" >"$place/1"
build "$place/a-second-with-a-much-longer-name" 2 "$@" >"$place/2"
diff "$place/1" "$place/2"
echo "the same, twice:"
cat "$place/1"
