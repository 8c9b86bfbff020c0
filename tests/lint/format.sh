#!/bin/sh
# clang-format would leave every C file as it is.
cd "$(dirname "$0")/../.." || exit 1
command -v clang-format >/dev/null || { echo "clang-format is not installed" && exit 77; }
said=$(find base remote pack cache lists fs tests -name '*.[ch]' -print0 |
    xargs -0 -n 16 -P 2 clang-format --dry-run -Werror 2>&1)
status=$?
printf '%s\n' "$said" |
    sed -n 's/^\([^:]*:[0-9]*\):.* error: .*/\1: clang-format differs/p' | sort -u
exit $status
