#!/bin/sh
# Each header compiles alone, and twice in a row; remote/ also without libcurl.
cd "$(dirname "$0")/../.." || exit 1
# shellcheck disable=SC2046  # words
set -- -std=gnu17 -Wall -Wextra -Werror -I. -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 \
    $(pkg-config --cflags fuse3)
status=0
for header in $(find base remote pack cache fs -name '*.h' | sort); do
    printf '#include "%s"\n#include "%s"\n' "$header" "$header" |
        gcc "$@" -fsyntax-only -x c - || status=1
done
for source in remote/*.c; do
    gcc "$@" -DREMOTE_CURL=0 -fsyntax-only "$source" || status=1
done
exit $status
