#!/bin/sh
# Each header compiles alone, and twice in a row, those of libhdf5 where it is; remote/ also without
# libcurl.
cd "$(dirname "$0")/../.." || exit 1
without=
hdf5=$(pkg-config --cflags hdf5-serial 2>/dev/null || pkg-config --cflags hdf5 2>/dev/null) ||
    without=pack/tool/hdf5
# shellcheck disable=SC2046,SC2086  # words
set -- -std=gnu17 -Wall -Wextra -Werror -I. -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 \
    $(pkg-config --cflags fuse3) $hdf5
status=0
for header in $(find base remote pack cache fs -name '*.h' -not -path "$without/*" | sort); do
    printf '#include "%s"\n#include "%s"\n' "$header" "$header" |
        gcc "$@" -fsyntax-only -x c - || status=1
done
for source in remote/*.c; do
    gcc "$@" -DREMOTE_CURL=0 -fsyntax-only "$source" || status=1
done
exit $status
