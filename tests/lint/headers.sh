#!/bin/sh
# Each header compiles alone, and twice in a row. Where the C file of a header includes it first,
# its object is the proof.
cd "$(dirname "$0")/../.." || exit 1
folders='base remote pack cache lists fs'

# shellcheck disable=SC2086  # words
proved() {
    find $folders -name '*.c' -exec grep -H -m 1 '^#include' {} + |
        sed -n 's/^\(.*\)\.c:#include "\1\.h"$/\1.h/p' | xargs grep -l '^#pragma once'
}

# Flags that make a header the file, one to a line.
# shellcheck disable=SC2086
sources() {
    { proved && find $folders -name '*.h'; } | sort | uniq -u |
        sed 's/.*/-include & -include & -x c \/dev\/null/'
}

# shellcheck disable=SC2046
sources | xargs -L 1 -P "$(nproc)" gcc -std=gnu17 -Wall -Wextra -Werror -I. -D_GNU_SOURCE \
    -D_FILE_OFFSET_BITS=64 $(pkg-config --cflags fuse3) -fsyntax-only
