#!/bin/sh
# analyze.sh FLAG...: what clang-tidy (.clang-tidy) and cppcheck find in the program, which is
# compiled with these FLAGs. Takes minutes.
#
# Left out of what cppcheck looks for:
#   memleak, resourceLeak  it does not see that scope guards release (base/scope.h)
#   readdirCalled          a DIR is used by the thread that has opened it
#   uninitvar              it does not follow that a value is written where a function returned 0
#   internalAstError       its parser, in the release 2.10 of Debian 12
#   two in base/huge.c     mmap() of no file, and munmap() of what lies around the memory
set -u
cd "$(dirname "$0")/../.." || exit 1
folders='base cache fs pack remote'
work=$(mktemp -d "${TMPDIR:-/tmp}/foldfs-analyze.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
failed=0

# report NAME STATUS
report() {
    if [ "$2" = 0 ]; then
        echo "ok - $1"
    else
        failed=1
        echo "not ok - $1"
        sed 's/^/#   /' "$work/$1"
    fi
}

# One process a file: from one to the next, clang-tidy 14 forgets what va_start() did. analyze.h
# tells it of errors; but not in the file that defines err_set().
# shellcheck disable=SC2086  # words
{
    clang-tidy --quiet base/err.c -- -x c "$@" &&
        find $folders -name '*.c' ! -path base/err.c -print0 | xargs -0 -P "$(nproc)" -I '{}' \
            clang-tidy --quiet '{}' -- -x c "$@" -include tests/lint/analyze.h
} >"$work/clang-tidy" 2>"$work/counts"
report clang-tidy $?

# shellcheck disable=SC2086
cppcheck -j "$(nproc)" -q --error-exitcode=1 --std=c11 --library=posix --inline-suppr \
    --enable=warning,performance,portability --suppress=memleak --suppress=resourceLeak \
    --suppress=readdirCalled --suppress=uninitvar --suppress=internalAstError \
    --suppress=invalidFunctionArg:base/huge.c --suppress=deallocret:base/huge.c \
    -I. -D_GNU_SOURCE -D__x86_64__ -DXXH_VERSION_NUMBER=800 '-DFOLDFS_VERSION=""' $folders \
    >"$work/cppcheck" 2>&1
report cppcheck $?
exit $failed
