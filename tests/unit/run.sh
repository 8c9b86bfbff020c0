#!/bin/sh
# Runs unit test programs, two for each processor at once since many wait, each in a directory of
# its own; shows what failed, and one line for each program that passed. With AGAIN=1, as CI has it,
# one that failed without a word of a sanitizer is run once more, alone.
set -u
if [ "$1" = --one ]; then
    touch "$3.failed"
    mkdir "$3" && cd "$3" && "$2" >"$3.log" 2>&1 && rm "$3.failed"
    exit 0
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/foldfs-unit.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
# Each folder in it has a part of the disk to itself: see spread() of tests/mount/conftest.py.
chattr +T "$work" 2>/dev/null

# Freed memory is overwritten, so that its use shows.
MALLOC_PERTURB_=$(($$ % 254 + 1))
export MALLOC_PERTURB_

for program in "$@"; do
    printf '%s\n%s\n' "$(realpath "$program")" "$work/$(basename "$program")"
done | xargs -n 2 -P $(($(nproc) * 2)) sh "$0" --one

for program in "$@"; do
    name=$(basename "$program")
    if [ -z "${AGAIN:-}" ] || [ ! -e "$work/$name.failed" ] ||
        grep -q 'Sanitizer\|runtime error' "$work/$name.log"; then
        continue
    fi
    printf '  %-16s once more, since it failed:\n' "$name"
    cat "$work/$name.log"
    rm -rf "${work:?}/$name" "$work/$name.failed"
    sh "$0" --one "$(realpath "$program")" "$work/$name"
done

failed=0
for program in "$@"; do
    name=$(basename "$program")
    log=$work/$name.log
    if [ ! -e "$work/$name.failed" ] && grep -q "^\[  PASSED  \]" "$log"; then
        printf '  %-16s %s\n' "$name" "$(sed -n 's/^\[  PASSED  \] //p' "$log" | tail -n 1)"
    else
        failed=$((failed + 1))
        printf '  %-16s FAILED (MALLOC_PERTURB_=%s)\n' "$name" "$MALLOC_PERTURB_"
        cat "$log"
    fi
done
[ "$failed" = 0 ] || echo "$failed unit test programs failed"
[ "$failed" = 0 ]
