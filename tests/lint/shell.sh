#!/bin/sh
# What shellcheck knows about scripts.
cd "$(dirname "$0")/../.." || exit 1
command -v shellcheck >/dev/null || { echo "shellcheck is not installed" && exit 77; }
{
    find tests -name '*.sh' -print0
    find packaging doc/examples -name '*.sh' -print0
    find completion -name '*.bash' -print0
    [ ! -f .ci/run ] || printf '.ci/run\0'
} | xargs -0 shellcheck -f gcc
