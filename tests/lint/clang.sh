#!/bin/sh
# clang.sh FLAG...: clang, too, compiles each C file with these FLAGs, and warns of nothing.
cd "$(dirname "$0")/../.." || exit 1
command -v clang >/dev/null || { echo "clang is not installed" && exit 77; }
without=
pkg-config --exists hdf5-serial || pkg-config --exists hdf5 || without=pack/tool/hdf5
find base remote pack cache fs tests -name '*.c' -not -path "$without/*" -print0 |
    xargs -0 -n 16 -P "$(nproc)" clang -fsyntax-only -Werror "$@"
