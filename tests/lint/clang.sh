#!/bin/sh
# clang.sh FLAG...: clang, too, compiles each C file with these FLAGs, and warns of nothing.
cd "$(dirname "$0")/../.." || exit 1
command -v clang >/dev/null || { echo "clang is not installed" && exit 77; }
find base remote pack cache lists fs tests -name '*.c' -print0 |
    xargs -0 -n 16 -P "$(nproc)" clang -fsyntax-only -Werror "$@"
