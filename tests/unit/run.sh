#!/bin/sh
# Runs unit test programs, each in a directory of its own; shows what failed, and one line for
# each program that passed.
set -u
failed=0
work=$(mktemp -d "${TMPDIR:-/tmp}/foldfs-unit.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

# Freed memory is overwritten, so that its use shows.
MALLOC_PERTURB_=$(($$ % 254 + 1))
export MALLOC_PERTURB_

for program in "$@"; do
    name=$(basename "$program")
    path=$(realpath "$program")
    mkdir "$work/$name"
    if (cd "$work/$name" && "$path" >"$work/log" 2>&1); then
        printf '  %-16s %s\n' "$name" "$(sed -n 's/^\[  PASSED  \] //p' "$work/log" | tail -n 1)"
    else
        failed=$((failed + 1))
        printf '  %-16s FAILED (MALLOC_PERTURB_=%s)\n' "$name" "$MALLOC_PERTURB_"
        cat "$work/log"
    fi
done
[ "$failed" = 0 ] || echo "$failed unit test programs failed"
[ "$failed" = 0 ]
